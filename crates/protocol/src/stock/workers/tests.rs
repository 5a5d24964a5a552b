//! Tests workers with the toy protocol: one party's worker fails or cheats, and the test looks at both
//! parties.
//!
//! Rows are those of the table of attacks (docs/concepts/security.md, section 14).

use std::collections::BTreeSet;

use super::*;
use crate::Unobserved;
use crate::stock::tests::{Asks, Carried, Fate, TERMS, Together, runs};
use crate::stock::{Lacking, Stocked};
use crate::tests::Empty;
use brickwork_store::{Serial, serial};
use brickwork_wire::{Channel, memory_pair};

/// The session identifier of the main connection's greeting.
const MET: SessionId = [9; 32];

/// The setup of the workers' connections.
#[derive(Clone)]
struct Crew {
    /// The behaviour of each worker, by party.
    fates: [Vec<Fate>; 2],
    /// The order in which the evaluator gets the garbler's connections.
    order: Vec<usize>,
}

impl Crew {
    fn of(count: usize) -> Self {
        Crew { fates: [vec![Fate::Lives; count], vec![Fate::Lives; count]], order: (0..count).collect() }
    }

    fn with(mut self, role: usize, worker: usize, fate: Fate) -> Self {
        self.fates[role][worker] = fate;
        self
    }
}

fn greets(
    role: Party,
    channels: Vec<Channel>,
    fates: &[Fate],
    session: &SessionId,
    both: &Together,
) -> Result<Workers<Empty>, Error> {
    let lines = channels.into_iter().zip(fates).map(|(channel, &fate)| {
        let run = Metered::new::<Empty>(channel, role, Box::new(Unobserved));
        (run, Carried { fate, sent: both.world.sent })
    });
    Workers::greet(role, lines.collect(), Vec::new(), &TERMS, session)
}

fn fills(
    mut line: Stocked<Empty>,
    channels: Vec<Channel>,
    crew: &Crew,
    steps: &[Vec<usize>],
    both: &Together,
) -> Result<Preprocessed, Error> {
    let role = line.role();
    let mut workers = greets(role, channels, &crew.fates[role as usize], &MET, both)?;
    let epoch = line.open_epoch()?;
    let steps: Vec<Vec<Asks>> =
        steps.iter().map(|shares| shares.iter().map(|&count| Asks(count)).collect()).collect();
    let (done, line) = line.fill_by(&mut workers, epoch, &steps)?;
    assert_eq!(workers.close()?.len(), crew.order.len());
    line.close()?;
    Ok(done)
}

/// Makes both ends of the workers' connections.
fn connections(crew: &Crew) -> [Vec<Channel>; 2] {
    let (garblers, evaluators): (Vec<_>, Vec<_>) = crew.order.iter().map(|_| memory_pair()).unzip();
    let mut evaluators: Vec<Option<Channel>> = evaluators.into_iter().map(Some).collect();
    [garblers, crew.order.iter().filter_map(|&k| evaluators[k].take()).collect()]
}

/// Makes stock with workers at both parties, over a new connection.
fn fill(both: &Together, crew: &Crew, steps: &[Vec<usize>]) -> [Result<Preprocessed, Error>; 2] {
    let (garbler, evaluator) = both.open([Fate::Lives; 2]);
    let [left, right] = connections(crew);
    std::thread::scope(|scope| {
        let garbler = scope.spawn(|| fills(garbler, left, crew, steps, both));
        let evaluator = fills(evaluator, right, crew, steps, both);
        [garbler.join().unwrap(), evaluator]
    })
}

/// Returns the numbers of the entries in whose ranges a party's first epoch has items left.
fn entries(both: &Together, role: usize) -> BTreeSet<u64> {
    let store = &both.stores[role];
    let (id, _) = store.epochs().unwrap()[0];
    let number = |of: Serial| (0..).find(|&entry| of < serial(entry + 1, 0)).unwrap();
    store.batches(&id).unwrap().iter().filter(|b| b.left > 0).map(|b| number(b.serial)).collect()
}

/// A worker whose connection has the other role is refused before anything is sent. Its peer is gone, so a
/// message would cause another error.
#[test]
fn a_worker_of_the_other_role_is_refused() {
    let both = Together::new(0, 0);
    let lines = [Party::Evaluator, Party::Garbler].map(|role| {
        let run = Metered::new::<Empty>(memory_pair().0, role, Box::new(Unobserved));
        (run, Carried { fate: Fate::Lives, sent: both.world.sent })
    });
    let refused = Workers::<Empty>::greet(Party::Evaluator, lines.into(), Vec::new(), &TERMS, &MET);
    assert!(matches!(refused, Err(Error::Usage(why)) if why.contains("another role")));
}

/// Row 16 of the table of attacks: several workers make a step, in consecutive ranges. Then a program takes
/// items of different workers, more than any one of them made.
#[test]
fn row_16_a_program_takes_what_several_workers_made() {
    let both = Together::new(0, 0);
    let mut crew = Crew::of(3);
    // The evaluator gets the connections in another order. Each one belongs to the worker that the garbler
    // names.
    crew.order = vec![2, 0, 1];
    let filled = fill(&both, &crew, &[vec![4, 5, 6], vec![3], vec![2, 2]]).map(Result::unwrap);
    assert_eq!(filled, [Preprocessed { steps: 3, resumed: 0 }; 2]);
    // Numbers 1 to 3 belong to the first step, 4 to the entry that completes it, 5 to the second step, 7 and
    // 8 to the third.
    for role in 0..2 {
        assert_eq!(entries(&both, role), BTreeSet::from([1, 2, 3, 5, 7, 8]));
        assert_eq!(both.left(role), [(None, 22)]);
        let (id, _) = both.stores[role].epochs().unwrap()[0];
        assert_eq!(both.stores[role].state(&id).unwrap().shared(), 9);
        both.stores[role].verify().unwrap();
    }
    let message = b"more items than any worker made";
    for part in [&message[..13], &message[13..20]] {
        let heard = runs(both.open([Fate::Lives; 2]), part, Lacking::Refuse).map(Result::unwrap);
        assert_eq!(heard[1].0, part);
    }
    // After a program the epoch gets no more stock, so the next filling begins another epoch.
    let _ = fill(&both, &Crew::of(2), &[vec![1, 1]]).map(Result::unwrap);
    assert_eq!(both.stores[0].epochs().unwrap().len(), 2);
}

/// Rows 16 and 21 of the table of attacks: one worker of either party is lost, at any point. The step ends at
/// both parties with an error that names a worker. None of its items is used, no range is used again, and the
/// next connection repeats the step.
#[test]
fn rows_16_and_21_a_worker_that_is_lost_ends_the_step() {
    for (role, worker) in [(0, 0), (0, 2), (1, 0), (1, 1)] {
        for fate in [Fate::DiesBehindTheChallenge, Fate::DiesAfterFilling] {
            let both = Together::new(0, 0);
            let steps = [vec![4, 5, 6]];
            let ended = fill(&both, &Crew::of(3).with(role, worker, fate), &steps);
            let named = |result: &Result<_, Error>| {
                matches!(result, Err(Error::Io(why))
                if why.to_string().contains("of 3") && why.to_string().contains("given up"))
            };
            assert!(ended.iter().all(named), "{role} {worker} {fate:?}: {ended:?}");
            for role in 0..2 {
                assert_eq!(
                    both.left(role),
                    [(None, 0)],
                    "the items that the other workers stored are \
                    not used"
                );
            }
            let again = fill(&both, &Crew::of(3), &steps).map(Result::unwrap);
            assert_eq!(again, [Preprocessed { steps: 1, resumed: 0 }; 2]);
            for role in 0..2 {
                assert_eq!(
                    entries(&both, role),
                    BTreeSet::from([4, 5, 6]),
                    "no program may use the \
                    ranges 1 to 3"
                );
                let (id, _) = both.stores[role].epochs().unwrap()[0];
                let given_up = both.stores[role].state(&id).unwrap().given_up();
                assert_eq!(
                    (given_up.steps, given_up.risk),
                    (1, 3),
                    "the step counts as an attempt with \
                    its full risk"
                );
                both.stores[role].verify().unwrap();
            }
            let heard = runs(both.open([Fate::Lives; 2]), b"eleven byte", Lacking::Refuse);
            assert_eq!(heard.map(Result::unwrap)[1].0, b"eleven byte");
        }
    }
}

/// Row 16 of the table of attacks: a worker that makes another worker's share is refused, and the epoch is
/// burned at once for all workers, on disk.
#[test]
fn row_16_a_worker_in_the_range_of_another_burns_the_epoch() {
    for (cheater, worker) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
        let both = Together::new(0, 0);
        let ended = fill(&both, &Crew::of(2).with(cheater, worker, Fate::FillsAnother), &[vec![4, 4]]);
        let honest = 1 - cheater;
        assert!(matches!(ended[honest], Err(Error::Peer(_))), "{ended:?}");
        let left = both.left(honest);
        assert!(matches!(&left[..], [(Some(why), 0)] if why.contains("cheated")), "{left:?}");
        let (id, _) = both.stores[honest].epochs().unwrap()[0];
        assert!(both.stores[honest].secrets(&id).is_err(), "its secrets are gone");
        // If the other party has not seen the failed check itself, its store burns the epoch in the next
        // connection.
        drop(both.try_open([Fate::Lives; 2]));
        assert!(both.left(cheater).iter().all(|(burned, _)| burned.is_some()));
    }
}

/// Row 24 of the table of attacks: connections are refused before a range is used in three cases: an attacker
/// has exchanged them, they belong to another session, or two have the same worker.
#[test]
fn row_24_workers_of_others_are_refused() {
    // One party's connections belong to another session.
    for other in 0..2 {
        let both = Together::new(0, 0);
        let [left, right] = connections(&Crew::of(2));
        let session = |role: usize| if role == other { [8; 32] } else { MET };
        let met = std::thread::scope(|scope| {
            let garbler =
                scope.spawn(|| greets(Party::Garbler, left, &[Fate::Lives; 2], &session(0), &both).map(drop));
            let evaluator = greets(Party::Evaluator, right, &[Fate::Lives; 2], &session(1), &both).map(drop);
            [garbler.join().unwrap(), evaluator]
        });
        assert!(met.iter().any(|met| matches!(met, Err(Error::Mismatch(_)))), "{met:?}");
    }
    // The garbler names a worker twice, names an unknown worker, or changes the number later.
    for name in [0u32, 2, u32::MAX] {
        let both = Together::new(0, 0);
        let [mut left, right] = connections(&Crew::of(2));
        left[1].set_tamper(Box::new(move |tag, bytes| {
            if tag == msg::WORKER {
                bytes.copy_from_slice(&name.to_le_bytes());
            }
        }));
        let met = std::thread::scope(|scope| {
            let garbler =
                scope.spawn(|| greets(Party::Garbler, left, &[Fate::Lives; 2], &MET, &both).map(drop));
            let evaluator = greets(Party::Evaluator, right, &[Fate::Lives; 2], &MET, &both).map(drop);
            [garbler.join().unwrap(), evaluator]
        });
        assert!(matches!(met[1], Err(Error::Peer(_))), "{name}: {met:?}");
    }
    let both = Together::new(0, 0);
    let crew = Crew::of(2);
    let (garbler, evaluator) = both.open([Fate::Lives; 2]);
    let [mut left, right] = connections(&crew);
    // A tampered message exchanges the numbers of the first and the second worker.
    for (k, channel) in (0u32..).zip(&mut left) {
        channel.set_tamper(Box::new(move |tag, bytes| {
            if tag == msg::WORKER {
                bytes.copy_from_slice(&(1 - k).to_le_bytes());
            }
        }));
    }
    let steps = [vec![4, 4]];
    let ended = std::thread::scope(|scope| {
        let garbler = scope.spawn(|| fills(garbler, left, &crew, &steps, &both));
        let evaluator = fills(evaluator, right, &crew, &steps, &both);
        [garbler.join().unwrap(), evaluator]
    });
    let says = "at another position";
    let elsewhere = |ended: &Result<_, Error>| matches!(ended, Err(Error::Stock(why)) if why.contains(says));
    assert!(ended.iter().any(elsewhere), "{ended:?}");
    assert_eq!([both.left(0), both.left(1)], [(); 2].map(|()| vec![(None, 0)]));
}

/// A step with too few workers, too many workers, or more shares than workers is refused.
#[test]
fn as_many_workers_as_there_are() {
    let both = Together::new(0, 0);
    for count in [0, 1, MAX_WORKERS as usize + 1] {
        let [left, _right] = connections(&Crew::of(count));
        let refused = greets(Party::Garbler, left, &vec![Fate::Lives; count], &MET, &both).map(drop);
        assert!(matches!(refused, Err(Error::Usage(_))), "{count}");
    }
    for steps in [vec![vec![1, 1, 1]], vec![vec![1, 1], vec![]]] {
        let ended = fill(&both, &Crew::of(2), &steps);
        assert!(ended.iter().all(|ended| matches!(ended, Err(Error::Usage(_)))), "{ended:?}");
    }
}
