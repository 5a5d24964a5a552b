//! Makers, played by threads that share only a connection with their coordinator (rows 4, 16 and 21).
//!
//! Rows are those of the table of attacks (docs/concepts/security.md, section 14).

use std::path::Path;

use super::workers::{TERMS, WORKERS, Worker, alters, burned, chain, entries, request, run, store, workers};
use crate::hooks::Point;
use crate::stored::{Maker, Stocked};
use crate::{Cheat, Request};
use brickwork_base::Error;
use brickwork_circuit::Party;
use brickwork_protocol::Unobserved;
use brickwork_wire::memory_pair;

/// The result of a coordinator and the results of its makers.
type Ended = (Result<(), Error>, Vec<Result<u32, Error>>);

/// Makes the request at both parties. The last `makers` workers of each party are makers.
fn make(root: &Path, request: Request, workers: [Vec<Worker>; 2], makers: [usize; 2]) -> [Ended; 2] {
    let (left, right) = memory_pair();
    let steps = &[request];
    let one = |party: Party, channel, mut here: Vec<Worker>| {
        let away = here.split_off(WORKERS - makers[party as usize]);
        std::thread::scope(|scope| {
            let (lines, makers): (Vec<_>, Vec<_>) = away
                .into_iter()
                .map(|(peer, hooks)| {
                    let (mine, its) = memory_pair();
                    let works = move || {
                        let maker = Maker::hear(its)?;
                        assert_eq!(maker.role(), party);
                        maker.works_with(peer, 1, hooks)
                    };
                    (mine, scope.spawn(works))
                })
                .unzip();
            let made = || {
                let line = Stocked::open(party, channel, &store(root, party), &TERMS, Unobserved)?;
                let (done, phases, line) = line.preprocess_by_with(steps, here, lines)?;
                assert_eq!((done.steps, phases.len()), (1, WORKERS));
                // The makers' costs are reported, too.
                assert!(phases.iter().flatten().all(|phase| phase.garbler_sent_bytes > 0));
                line.close().map(drop)
            };
            let made = made();
            (made, makers.into_iter().map(|maker| maker.join().unwrap()).collect())
        })
    };
    let ([garblers, evaluators], one) = (workers, &one);
    std::thread::scope(|scope| {
        let garbler = scope.spawn(move || one(Party::Garbler, left, garblers));
        let evaluator = one(Party::Evaluator, right, evaluators);
        [garbler.join().unwrap(), evaluator]
    })
}

/// Rows 4 and 16 of the table of attacks: a program solders the items of all workers, makers or not. Its
/// result is right, and its bound covers the batches of all workers.
#[test]
fn rows_04_and_16_a_program_solders_what_makers_made() {
    let program = chain();
    for makers in [[1, 0], [0, 2], [2, 1], [3, 3]] {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        for (made, makers) in make(root, request(&program), workers(), makers) {
            made.unwrap();
            makers.into_iter().for_each(|maker| assert_eq!(maker.unwrap(), 1));
        }
        for party in [Party::Garbler, Party::Evaluator] {
            assert_eq!(entries(root, party), [1, 2, 3], "{party:?}");
            store(root, party).verify().unwrap();
        }
        let reports = run(root, &program, 3, 2).map(Result::unwrap);
        assert!(reports[0].bound_log2 == reports[1].bound_log2 && reports[0].bound_log2 <= -40.0);
    }
}

/// Makers send the same bytes to the peer as worker threads, so the peer cannot tell them apart.
#[test]
fn the_peer_sees_no_maker() {
    let program = chain();
    let sent = |makers| {
        let folder = tempfile::tempdir().unwrap();
        let counts: Vec<_> =
            (0..2 * WORKERS).map(|_| std::sync::Arc::<std::sync::Mutex<Vec<_>>>::default()).collect();
        let mut all = workers();
        for ((channel, _), count) in all.iter_mut().flatten().zip(&counts) {
            let count = count.clone();
            channel.set_tamper(Box::new(move |tag, bytes| count.lock().unwrap().push((tag.0, bytes.len()))));
        }
        make(folder.path(), request(&program), all, makers).into_iter().for_each(|(made, _)| made.unwrap());
        counts.iter().map(|count| count.lock().unwrap().clone()).collect::<Vec<_>>()
    };
    let threads = sent([0, 0]);
    assert!(threads.iter().all(|sent| !sent.is_empty()));
    assert_eq!(sent([3, 2]), threads);
}

/// Row 16 of the table of attacks: a maker detects the peer's cheat like any worker, and the epoch burns for
/// all workers. Both parties can then begin a new epoch.
#[test]
fn row_16_a_check_that_fails_at_a_maker_burns_for_all() {
    let program = chain();
    for (cheater, worker, point, cheat) in [
        (Party::Garbler, 0, Point::DeltaDifferences(0), Cheat::Opening),
        (Party::Garbler, 2, Point::DeltaDifferences(0), Cheat::Opening),
        (Party::Evaluator, 1, Point::OtBinding, Cheat::OtBinding),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let (root, honest) = (folder.path(), 1 - cheater as usize);
        let mut makers = [0; 2];
        makers[honest] = WORKERS;
        let mut all = workers();
        all[cheater as usize][worker].1 = alters(point, 3, 4);
        let ended = make(root, request(&program), all, makers);
        let (made, workers_ended) = &ended[honest];
        assert!(made.as_ref().is_err_and(|error| error.is_cheat(cheat)), "{made:?}");
        assert_eq!(workers_ended.iter().filter(|end| matches!(end, Err(Error::Peer(_)))).count(), 1);
        assert!(burned(root)[honest], "a failed check of one maker burns the epoch");
        let _ = run(root, &program, 1, 2);
        assert_eq!(burned(root), [true; 2]);
        make(root, request(&program), workers(), [WORKERS; 2])
            .into_iter()
            .for_each(|(made, _)| made.unwrap());
        assert!(run(root, &program, 1, 2).iter().all(Result::is_ok));
    }
}
