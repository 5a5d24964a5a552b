//! Cheats with gates from a store: if a party notices a cheat, it has burned the epoch, so it refuses a
//! retry.

use std::path::Path;

use brickwork::circuit::Party::{self, Evaluator, Garbler};
use brickwork::circuit::Program;
use brickwork::disk::{Store, StoreKey};
use brickwork::lego::adversary::{Hooks, Point, SEED, chosen, stocked, toy};
use brickwork::lego::{Cheat, FromStock, Lacking, Lego, Request};
use brickwork::protocol::stock::inventory::inventory;
use brickwork::protocol::{TABLE_MEMORY, Terms};
use brickwork::random::Rng;
use brickwork::wire::{Channel, memory_pair};
use brickwork::{ProtocolError as Error, Security};
use brickwork_harness::{Ending, flip_all};

use crate::attack::{Catalogue, Name, Played, caught, certain};

const KEY: StoreKey = StoreKey::from_bytes([7; 32]);
const BOTH: [Party; 2] = [Garbler, Evaluator];

/// The purpose of a connection.
#[derive(Clone, Copy, PartialEq, Eq)]
enum StoreAction {
    Fill,
    Build,
    Run,
}

fn terms() -> Terms {
    Terms {
        security: Security::of(40),
        threads: 1,
        table_memory: TABLE_MEMORY,
        identities: [[1; 32], [2; 32]],
        post_quantum: false,
    }
}

fn open(folder: &Path, party: Party) -> Result<Store, Error> {
    Store::open(&folder.join(format!("{party:?}")), &KEY)
}

fn one(
    folder: &Path,
    party: Party,
    channel: Channel,
    hooks: Hooks,
    (what, program, input): (StoreAction, &Program, &[bool]),
) -> Result<Option<FromStock>, Error> {
    let store = open(folder, party)?;
    let line = stocked(party, channel, &store, &terms(), hooks)?;
    let (done, line) = match what {
        StoreAction::Fill => (None, line.preprocess(&Request::of(program)?.times(2)?)?.1),
        StoreAction::Build => (None, line.build(program, Lacking::Refuse)?.1),
        StoreAction::Run => {
            let (done, line) = line.run(program, input, Lacking::Refuse)?;
            (Some(done), line)
        }
    };
    line.close()?;
    Ok(done)
}

fn honest_parties() -> [Hooks; 2] {
    [Hooks::none(), Hooks::none()]
}

/// Runs both parties over a connection, with hooks into their state.
fn both(
    folder: &Path,
    what: StoreAction,
    [garblers, evaluators]: [Hooks; 2],
    inputs: &[[bool; 2]; 2],
) -> [Result<Option<FromStock>, Error>; 2] {
    let program = toy();
    let (left, right) = memory_pair();
    std::thread::scope(|scope| {
        let job = |party: Party| (what, &program, &inputs[party as usize][..]);
        let garbler = scope.spawn(move || one(folder, Garbler, left, garblers, job(Garbler)));
        let evaluator = one(folder, Evaluator, right, evaluators, job(Evaluator));
        [garbler.join().expect("no panic"), evaluator]
    })
}

/// Makes stock for two programs honestly, and builds the programs if `built`.
fn honest(folder: &Path, built: bool) -> Result<(), String> {
    let filled = [StoreAction::Fill].into_iter().chain(built.then_some(StoreAction::Build));
    for what in filled {
        for end in both(folder, what, honest_parties(), &[[false; 2]; 2]) {
            end.map_err(|error| format!("honest stock: {error}"))?;
        }
    }
    Ok(())
}

/// A party cheats once. The other party notices the cheat and burns all stock, so a retry finds none.
fn noticed(cheater: Party, what: StoreAction, built: bool, lies: Hooks, rng: &mut Rng) -> Played {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    honest(folder.path(), built)?;
    let mut bits = || [rng.below(2) == 1, rng.below(2) == 1];
    let inputs = [bits(), bits()];
    let mut cheats = honest_parties();
    cheats[cheater as usize] = lies;
    let ends = both(folder.path(), what, cheats, &inputs);
    let honest = BOTH[1 - cheater as usize];
    let Err(Error::Peer(check)) = &ends[honest as usize] else {
        return Err(format!("the {honest:?} ended with {:?}", ends[honest as usize].as_ref().map(drop)));
    };
    let parts = inventory::<Lego>(&open(folder.path(), honest).map_err(|error| error.to_string())?);
    let parts = parts.map_err(|error| error.to_string())?;
    if !parts.iter().all(|part| part.state.burned().is_some_and(|why| why.contains("cheated"))) {
        return Err("the epoch is not burned".into());
    }
    for again in both(folder.path(), StoreAction::Run, honest_parties(), &inputs) {
        if !matches!(again, Err(Error::Stock(_))) {
            return Err("what was burned was used again".into());
        }
    }
    Ok(Ending::Caught(*check))
}

/// While stock was made, the garbler made a gate of each program's first bucket compute NAND. Both programs
/// give the right results, and nothing is burned.
fn recovered(built: bool, rng: &mut Rng) -> Played {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let asked = Request::of(&toy()).and_then(|once| once.times(2)).map_err(|error| error.to_string())?;
    let sizes = asked.buckets(40).map_err(|error| error.to_string())?;
    let assigned = chosen(8, sizes);
    let bad = [1, 4 * sizes[0] as usize + 1].map(|place| assigned[place]);
    let nand = Hooks::at(Point::GateOutputs, move |bytes| bad.iter().for_each(|gate| bytes[16 * gate] ^= 1));
    let known = Hooks::at(Point::Challenge, |seeds| seeds.fill(SEED));
    let fails = |end: Result<Option<FromStock>, Error>| end.map_err(|error| error.to_string());
    for end in both(folder.path(), StoreAction::Fill, [nand, known], &[[false; 2]; 2]) {
        let _ = fails(end)?;
    }
    for _ in 0..if built { 2 } else { 0 } {
        for end in both(folder.path(), StoreAction::Build, honest_parties(), &[[false; 2]; 2]) {
            let _ = fails(end)?;
        }
    }
    let program = toy();
    for _ in 0..2 {
        let mut bits = || [rng.below(2) == 1, rng.below(2) == 1];
        let inputs = [bits(), bits()];
        let clear = program.simulate(&inputs[0], &inputs[1]);
        let ends = both(folder.path(), StoreAction::Run, honest_parties(), &inputs);
        for (party, end) in BOTH.into_iter().zip(ends) {
            let done = fails(end)?.ok_or("no outputs")?;
            if done.outputs != program.output_bits(party, &clear) {
                return Ok(Ending::Fooled);
            }
            if done.recovered != (party == Evaluator) {
                return Err(format!("the {party:?} recovered: {}", done.recovered));
            }
        }
    }
    for party in BOTH {
        let store = open(folder.path(), party).map_err(|error| error.to_string())?;
        let parts = inventory::<Lego>(&store).map_err(|error| error.to_string())?;
        if parts.iter().any(|part| part.state.burned().is_some()) {
            return Err("a recovery burned something".into());
        }
    }
    Ok(Ending::Recovered)
}

type Cheats = (Name, Cheat, Party, StoreAction, bool, &'static str, fn() -> Hooks);

fn of_fillings() -> [Cheats; 5] {
    [
        (
            (5, "another_function_in_stock"),
            Cheat::Opening,
            Garbler,
            StoreAction::Fill,
            false,
            "Every gate that goes into stock computes NAND: noticed before any of the new stock is kept, and \
             the old stock is burned.",
            || Hooks::at(Point::GateOutputs, flip_all(0)),
        ),
        (
            (8, "all_refuse_in_stock"),
            Cheat::WireAuthenticator,
            Garbler,
            StoreAction::Fill,
            false,
            "Every wire authenticator that goes into stock refuses the honest label.",
            || Hooks::at(Point::WireHashes, flip_all(24)),
        ),
        (
            (9, "all_refuse_in_stock"),
            Cheat::InputAuthenticator,
            Garbler,
            StoreAction::Fill,
            false,
            "Every input authenticator that goes into stock refuses the honest label.",
            || Hooks::at(Point::InputHashes, flip_all(24)),
        ),
        (
            (12, "poisoned_label_in_stock"),
            Cheat::Opening,
            Garbler,
            StoreAction::Fill,
            false,
            "The garbler commits to a label that differs from the label of an OT that goes into stock.",
            || Hooks::at(Point::OtLabels, |labels| labels[16 + 9] ^= 1),
        ),
        (
            (27, "other_bit_burns"),
            Cheat::OtBinding,
            Evaluator,
            StoreAction::Fill,
            false,
            "The evaluator names the other choice bit of a sum of OTs that go into stock: the garbler \
             burns its own.",
            || Hooks::at(Point::OtBinding, |message| *message.last_mut().expect("bits") ^= 1),
        ),
    ]
}

fn of_programs() -> [Cheats; 7] {
    [
        (
            (10, "wrong_soldering_from_stock"),
            Cheat::Opening,
            Garbler,
            StoreAction::Run,
            false,
            "The garbler solders gates from stock wrongly, in the run that takes them.",
            || Hooks::at(Point::Solderings, |solderings| solderings[7] ^= 1),
        ),
        (
            (13, "flipped_input_from_stock"),
            Cheat::Opening,
            Garbler,
            StoreAction::Run,
            false,
            "The garbler flips the bit of an input of the evaluator, in a run from stock.",
            || Hooks::at(Point::InputLabels, |labels| labels[16 * 4] ^= 1),
        ),
        (
            (15, "forged_outputs_burn"),
            Cheat::ForgedOutput,
            Evaluator,
            StoreAction::Run,
            false,
            "The evaluator forges an output of a run from stock: the garbler burns its own.",
            || Hooks::at(Point::OutputLabels, |message| message[0] ^= 1),
        ),
        (
            (35, "wrong_soldering_while_it_is_built"),
            Cheat::Opening,
            Garbler,
            StoreAction::Build,
            false,
            "The garbler solders a program wrongly that is built for later use: noticed before the built \
             program is stored.",
            || Hooks::at(Point::Solderings, |solderings| *solderings.last_mut().expect("labels") ^= 1),
        ),
        (
            (35, "wrong_label_for_a_built_program"),
            Cheat::InputLabel,
            Garbler,
            StoreAction::Run,
            true,
            "The garbler sends an invalid label for its own input of a built program.",
            || Hooks::at(Point::InputLabels, |labels| labels[5] ^= 1),
        ),
        (
            (35, "flipped_input_of_a_built_program"),
            Cheat::Opening,
            Garbler,
            StoreAction::Run,
            true,
            "The garbler flips the bit of an input of the evaluator, of a program that was built long ago.",
            || Hooks::at(Point::InputLabels, |labels| labels[16 * 4] ^= 1),
        ),
        (
            (35, "indicator_bit_of_a_built_program"),
            Cheat::Indicator,
            Garbler,
            StoreAction::Run,
            true,
            "The garbler flips an output of a built program by its indicator bit.",
            || Hooks::at(Point::Indicators, |bits| bits[3] ^= 1),
        ),
    ]
}

/// Adds the attacks on LEGO's stock.
pub(super) fn add(all: &mut Catalogue<Lego>) {
    let cheats = of_fillings().into_iter().chain(of_programs());
    for (name, check, cheater, what, built, story, lies) in cheats {
        let _ = all.played(name, story, Some(cheater), caught(check), move |rng| {
            noticed(cheater, what, built, lies(), rng)
        });
    }
    for (built, variant, story) in [
        (
            false,
            "opposite_label_from_stock",
            "A gate of each of two programs from one stock computes NAND: Δ is known after the first run, \
             and the second run is right as well. Nothing is burned, and the messages are as in an honest \
             run.",
        ),
        (true, "opposite_label_of_built_programs", "A gate of each of two built programs computes NAND."),
    ] {
        let recovers = certain(Ending::Recovered);
        let _ = all.played((14, variant), story, Some(Garbler), recovers, move |rng| recovered(built, rng));
    }
}
