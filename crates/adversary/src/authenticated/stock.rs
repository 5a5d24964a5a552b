//! Cheats about stock: a cheater breaks the connection before its cheat is detected (row 6), or uses items
//! twice (row 20). Both parties are real, with stores on disk.

use std::path::Path;

use brickwork::authenticated::adversary::{Hooks, Point, chain, stocked};
use brickwork::authenticated::{Authenticated, Lacking, Request, msg};
use brickwork::circuit::Party::{self, Evaluator, Garbler};
use brickwork::circuit::Recipient;
use brickwork::ot::Cot;
use brickwork::protocol::stock::inventory::{Inventory, inventory};
use brickwork::protocol::stock::msg::INTENT;
use brickwork::random::Rng;
use brickwork::wire::{Tag, memory_pair};
use brickwork::{ProtocolError as Error, wire};
use brickwork_harness::Ending;
use brickwork_harness::stores::{BOTH, ConnectionEnds, SeenMessages, Stores, dying, terms};

use crate::attack::{Catalogue, Played, certain};

/// The number of runs for which the stock is enough.
const RUNS: usize = 3;

/// The purpose of a connection.
#[derive(Clone, Copy, PartialEq, Eq)]
enum StoreAction {
    Fill,
    Run,
}

/// The program's inputs are zeros, so the bits that a party sends about them are masks.
const ZEROS: [&[bool]; 2] = [&[false], &[false; 2]];

/// Changes a cheater's state at a point.
type Lie = fn(Point, &mut [u8]);

/// Connects both parties over these channels. A cheater may change its state. A party may die at a chosen
/// message.
fn meet(
    stores: &Stores,
    lines: ConnectionEnds,
    what: StoreAction,
    cheats: [Option<Lie>; 2],
    dealer: [u8; 32],
) -> [Result<Vec<bool>, Error>; 2] {
    stores.meet(lines, cheats, |party, store, channel, cheat| {
        let hooks = cheat.map_or_else(Hooks::none, Hooks::lying).dealt_by(dealer);
        let line = stocked(party, channel, store, &terms(), Cot::default(), hooks)?;
        let program = chain(Recipient::Both);
        let (outputs, line) = match what {
            StoreAction::Fill => (Vec::new(), line.preprocess(&Request::of(&program.repeat(RUNS)?)?)?.1),
            StoreAction::Run => {
                let (done, line) = line.run(&program, ZEROS[party as usize], Lacking::Refuse)?;
                (done.outputs, line)
            }
        };
        line.close().map(|_| outputs)
    })
}

/// Checks that an honest run succeeds.
fn honest(stores: &Stores, what: StoreAction, rng: &mut Rng) -> Result<(), String> {
    for (party, end) in BOTH.into_iter().zip(meet(stores, memory_pair(), what, [None; 2], seed(rng))) {
        let outputs = end.map_err(|error| format!("the honest {party:?} ends with {error}"))?;
        must(outputs.iter().all(|bit| !bit), "the outputs of zeros are zeros")?;
    }
    Ok(())
}

fn seed(rng: &mut Rng) -> [u8; 32] {
    let mut seed = [0; 32];
    rng.fill(&mut seed);
    seed
}

fn must(holds: bool, what: &str) -> Result<(), String> {
    if holds { Ok(()) } else { Err(format!("it does not hold that {what}")) }
}

/// Returns the ending for a party.
fn ending(end: &Result<Vec<bool>, Error>) -> Played {
    match end {
        Ok(_) => Ok(Ending::Survived),
        Err(Error::Peer(check)) => Ok(Ending::Caught(*check)),
        Err(Error::Io(_)) => Ok(Ending::Gone),
        Err(Error::Mismatch(_) | Error::Stock(_)) => Ok(Ending::Refused),
        Err(other) => Err(format!("it ends with {other}")),
    }
}

fn parts(stores: &Stores, party: Party) -> Result<Vec<Inventory>, String> {
    inventory::<Authenticated>(&stores.store(party)).map_err(|error| error.to_string())
}

/// Returns the other party.
fn other(party: Party) -> Party {
    BOTH[1 - party as usize]
}

/// The evaluator bets on the garbler's share of an x. If the garbler's answer shows that it lost the bet, it
/// closes the connection before it opens its coin. If the evaluator lost, the garbler counts an attempt. If
/// it won, it has gained nothing yet, because the items are right.
fn bets_and_goes(rng: &mut Rng) -> Played {
    let stores = Stores::empty();
    // The bet assumes that the garbler's share is 1.
    let bet: Lie = |point, words| {
        if matches!(point, Point::Ciphertexts | Point::Compared) {
            words[0] ^= 2;
        }
    };
    let [end, _] = meet(&stores, memory_pair(), StoreAction::Fill, [None, Some(bet)], seed(rng));
    let parts = parts(&stores, Garbler)?;
    must(parts.iter().all(|part| part.state.burned().is_none()), "nobody was caught")?;
    let counted: u32 = parts.iter().map(|part| part.given_up.steps).sum();
    let risked: Vec<f64> = parts.iter().filter_map(|part| part.given_up.bound_log2).collect();
    match ending(&end)? {
        Ending::Gone => {
            must(counted == 1 && risked.len() == 1, "an attempt counts")?;
            must(risked[0] <= -46.4, "64 attempts have a risk of three fourths of 2^-s at most")?;
        }
        _ => {
            must(counted == 0, "what was made is no attempt")?;
            honest(&stores, StoreAction::Run, rng)?;
        }
    }
    ending(&end)
}

/// A party closes the connection when it knows the coin, three times. The other party counts each attempt
/// with the same risk.
fn goes_with_the_coin(cheater: Party, instead_of: Tag, rng: &mut Rng) -> Played {
    let (stores, seed) = (Stores::empty(), seed(rng));
    let (mut first, mut last) = (None, Ok(Ending::Survived));
    for attempt in 1..=3 {
        let lines = dying(cheater, instead_of, 1, &[], &SeenMessages::default());
        let ends = meet(&stores, lines, StoreAction::Fill, [None; 2], seed);
        last = ending(&ends[other(cheater) as usize]);
        stores.forgive();
        let parts = parts(&stores, other(cheater))?;
        let [part] = &parts[..] else { return Err(format!("{} epochs", parts.len())) };
        must(part.state.burned().is_none(), "nobody was caught")?;
        must(part.given_up.steps == attempt, "every attempt counts once")?;
        let risked = part.given_up.bound_log2.ok_or("an attempt without a bound")?;
        let first = *first.get_or_insert(risked);
        must((risked - first - f64::from(attempt).log2()).abs() < 1e-6, "attempts count alike")?;
    }
    honest(&stores, StoreAction::Fill, rng)?;
    last
}

/// A party continues with a copy of its folder from before a run, to run on the same items again. Both
/// parties refuse, and burn the stock.
fn old_copy(cheater: Party, rng: &mut Rng) -> Played {
    let (stores, copy) = (Stores::empty(), tempfile::tempdir().map_err(|error| error.to_string())?);
    honest(&stores, StoreAction::Fill, rng)?;
    let place = stores.folder(cheater);
    copied(&place, copy.path()).map_err(|error| error.to_string())?;
    honest(&stores, StoreAction::Run, rng)?;
    std::fs::remove_dir_all(&place).map_err(|error| error.to_string())?;
    copied(copy.path(), &place).map_err(|error| error.to_string())?;
    let ends = meet(&stores, memory_pair(), StoreAction::Run, [None; 2], seed(rng));
    for party in BOTH {
        let burned = parts(&stores, party)?.iter().all(|part| part.state.burned().is_some());
        must(burned, "what does not tell one story is burned")?;
    }
    ending(&ends[other(cheater) as usize])
}

fn copied(from: &Path, to: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(to)?;
    for entry in std::fs::read_dir(from)? {
        let (path, target) =
            (entry.as_ref().map(|entry| entry.path()), entry.as_ref().map(|e| e.file_name()));
        let (Ok(path), Ok(target)) = (path, target.map(|name| to.join(name))) else { continue };
        if path.is_dir() {
            copied(&path, &target)?;
        } else if path.is_file() {
            let _ = std::fs::copy(&path, target)?;
        }
    }
    Ok(())
}

/// A party closes the connection in the middle of a run, to run on the same items again. Both parties have
/// burned the items, so the next run uses other items.
fn breaks_off(cheater: Party, instead_of: Tag, rng: &mut Rng) -> Played {
    let (stores, seen) = (Stores::empty(), SeenMessages::default());
    honest(&stores, StoreAction::Fill, rng)?;
    let noted = [msg::SOLDERINGS, msg::INPUT_LABELS];
    let ends =
        meet(&stores, dying(cheater, instead_of, 1, &noted, &seen), StoreAction::Run, [None; 2], seed(rng));
    let again =
        meet(&stores, dying(cheater, Tag(0), 1, &noted, &seen), StoreAction::Run, [None; 2], seed(rng));
    must(again.iter().all(Result::is_ok), "the outputs of the next run are right")?;
    let mut seen = seen.lock().map_err(|_| "a party died together with its peer")?.clone();
    let all = seen.len();
    seen.sort();
    seen.dedup();
    must(all >= 3 && seen.len() == all, "nothing was sent twice")?;
    for party in BOTH {
        let left = |part: &Inventory| part.batches.iter().map(|batch| batch.left).min();
        let left: Vec<_> = parts(&stores, party)?.iter().filter_map(left).collect();
        must(left.iter().sum::<u64>() <= RUNS as u64, "the items of both runs are used up")?;
    }
    ending(&ends[other(cheater) as usize])
}

/// A party names items that are not the next ones, such as items of the previous run.
fn names_others(cheater: Party, rng: &mut Rng) -> Played {
    let stores = Stores::empty();
    honest(&stores, StoreAction::Fill, rng)?;
    honest(&stores, StoreAction::Run, rng)?;
    let (mut left, mut right): (wire::Channel, wire::Channel) = memory_pair();
    [&mut left, &mut right][cheater as usize].set_tamper(Box::new(|tag, bytes| {
        if tag == INTENT {
            bytes[7] ^= 1;
        }
    }));
    let ends = meet(&stores, (left, right), StoreAction::Run, [None; 2], seed(rng));
    honest(&stores, StoreAction::Run, rng)?;
    ending(&ends[other(cheater) as usize])
}

/// Adds all attacks on stock.
pub(super) fn stock(all: &mut Catalogue<Authenticated>) {
    let story = "While stock is made the evaluator bets on the garbler's share of an x, and closes the \
                 connection when the answer shows that it has lost the bet. No check failed, but the attempt \
                 counts.";
    let endings = vec![(Ending::Gone, 0.5), (Ending::Survived, 0.5)];
    let _ = all.played((6, "lost_bet_in_stock"), story, Some(Evaluator), endings, bets_and_goes);
    let gone = || certain(Ending::Gone);
    let story = "The evaluator closes the connection when it knows the coin, three times. It knows earlier \
                 than the garbler if all its bets are in one bucket.";
    let _ = all.played((6, "evaluator_goes_with_the_coin"), story, Some(Evaluator), gone(), |rng| {
        goes_with_the_coin(Evaluator, msg::COIN, rng)
    });
    let story = "The garbler closes the connection when it knows the coin, three times.";
    let _ = all.played((6, "garbler_goes_with_the_coin"), story, Some(Garbler), gone(), |rng| {
        goes_with_the_coin(Garbler, msg::OPENED, rng)
    });
    let refused = || certain(Ending::Refused);
    for (cheater, copy, broken, instead_of, others, stories) in [
        (
            Garbler,
            "garblers_old_copy",
            "garbler_breaks_off",
            msg::INPUT_LABELS,
            "garbler_names_others",
            [
                "The garbler comes back with a copy of its store from before a run, to solder the same ports \
                 again: two solderings of a port would disclose its offset.",
                "The garbler closes the connection in the middle of a run, to use the same items a second \
                 time.",
                "The garbler names items of the stock that are not the next ones.",
            ],
        ),
        (
            Evaluator,
            "evaluators_old_copy",
            "evaluator_breaks_off",
            msg::REPORT,
            "evaluator_names_others",
            [
                "The evaluator comes back with a copy of its store from before a run, to get the other \
                 labels of the same wires.",
                "The evaluator closes the connection when it has its labels, to get the other labels of the \
                 same wires, too.",
                "The evaluator names items of the stock that are not the next ones.",
            ],
        ),
    ] {
        let [of_copy, of_broken, of_others] = stories;
        let _ = all.played((20, copy), of_copy, Some(cheater), refused(), move |rng| old_copy(cheater, rng));
        let _ = all.played((20, broken), of_broken, Some(cheater), gone(), move |rng| {
            breaks_off(cheater, instead_of, rng)
        });
        let _ = all
            .played((20, others), of_others, Some(cheater), refused(), move |rng| names_others(cheater, rng));
    }
}
