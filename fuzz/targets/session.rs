//! Whole sessions with a peer that sends anything: its messages are altered on their way.
//!
//! Used by the fuzz target and, with the seeds, by the tests.
#![allow(dead_code)]

use std::path::Path;
use std::sync::{Arc, LazyLock};

use brickwork::ProtocolError as Error;
use brickwork::authenticated::adversary as authenticated;
use brickwork::circuit::{Party, Program, Recipient};
use brickwork::duplo::adversary::harness::{ands, small};
use brickwork::duplo::adversary::{Hooks, evaluator, garbler, stocked};
use brickwork::duplo::{Lacking, Parameters, Request};
use brickwork::ot::Cot;
use brickwork::protocol::{AgreedJob, TABLE_MEMORY, Unobserved};

use super::altered::{Edits, IDENTITIES, Stores, TERMS, both, open};

/// A program with one AND gate, whose result both parties learn. Buckets have three copies or authenticators,
/// and two of each are opened.
static RUN: LazyLock<(Arc<Program>, Parameters)> = LazyLock::new(|| {
    let program = ands(1, Recipient::Both);
    let parameters = small(&program, [3, 2], [3, 2], [3, 2]);
    (program, parameters)
});

/// Lets the fuzzer choose the messages of one party's peer. Bit 0 of the first byte selects the party that
/// gets altered bytes, bits 1 and 2 are the inputs, and bit 3 selects whether the stock was made before and
/// is in stores. Without stock, bit 4 selects authenticated masks. For these, bits 5 and 6 select a PCG,
/// which takes long. For any bytes, this party ends with the right output or a typed error. Returns whether
/// it has an output.
pub fn session(data: &[u8]) -> bool {
    let Some((&first, edits)) = data.split_first() else { return false };
    let edits = Edits::parse(edits);
    let victim = if first & 1 == 0 { Party::Garbler } else { Party::Evaluator };
    let (x, y) = (first & 2 != 0, first & 4 != 0);
    let ended = match first & 0x78 {
        stocked if stocked & 8 != 0 => from_stock(victim, [x, y], &edits),
        0x70 => with_masks(Cot::Pcg, victim, [x, y], &edits),
        masks if masks & 0x10 != 0 => with_masks(Cot::default(), victim, [x, y], &edits),
        _ => on_the_spot(victim, [x, y], &edits),
    };
    match ended {
        Ok(outputs) => {
            assert_eq!(outputs, [x && y]);
            true
        }
        Err(Error::Peer(_) | Error::Io(_) | Error::Mismatch(_) | Error::Refused(_)) => false,
        Err(Error::Stock(_) | Error::Strangers(_) | Error::Busy(_)) if first & 8 != 0 => false,
        Err(other) => panic!("{other}"),
    }
}

/// Returns the run, which is the same for both parties.
fn job() -> AgreedJob {
    AgreedJob {
        program: RUN.0.clone(),
        security: 40,
        threads: 1,
        table_memory: TABLE_MEMORY,
        identities: IDENTITIES,
        post_quantum: false,
    }
}

/// Runs the program with authenticated masks, which are made of these OTs; the base OTs come from a dealer.
fn with_masks(cot: Cot, victim: Party, [x, y]: [bool; 2], edits: &Edits) -> Result<Vec<bool>, Error> {
    let job = job();
    let pool = Some(authenticated::TriplePool { size: 2, bucket: 3 });
    let forced = authenticated::Forced { pool, ..Default::default() };
    let hooks = || authenticated::Hooks::none().with(forced).dealt_by([7; 32]);
    both(victim, edits, |party, channel| {
        let ran = match party {
            Party::Garbler => authenticated::garbler(channel, &job, cot, &[x], hooks()),
            Party::Evaluator => authenticated::evaluator(channel, &job, cot, &[y], hooks()),
        };
        ran.map(|report| report.outputs)
    })
}

/// All items are made for this run. The base OTs come from a dealer.
fn on_the_spot(victim: Party, [x, y]: [bool; 2], edits: &Edits) -> Result<Vec<bool>, Error> {
    let (job, parameters) = (job(), &RUN.1);
    let hooks = || Hooks::none().with(parameters.clone().into()).dealt_by([7; 32]);
    both(victim, edits, |party, channel| {
        let ran = match party {
            Party::Garbler => garbler(channel, &job, &[x], hooks()),
            Party::Evaluator => evaluator(channel, &job, &[y], hooks()),
        };
        ran.map(|report| report.outputs)
    })
}

/// Both parties' stores, filled for one run.
static FILLED: LazyLock<Stores> = LazyLock::new(|| {
    Stores::filled(|folder| meet(folder, Party::Evaluator, None, &Edits::default()).map(drop))
});

/// Connects both parties' stores, to fill them, or to run the program on these inputs. Returns the result of
/// the victim.
fn meet(folder: &Path, victim: Party, inputs: Option<[bool; 2]>, edits: &Edits) -> Result<Vec<bool>, Error> {
    let program = &RUN.0;
    both(victim, edits, |party, channel| {
        let store = open(folder, party)?;
        let observer = Unobserved;
        let session = stocked(party, channel, &store, &TERMS, observer, Hooks::none())?;
        let (outputs, session) = match inputs {
            None => (Vec::new(), session.preprocess(&[Request { ots: Some(1), ..Request::of(program) }])?.1),
            Some(inputs) => {
                let (done, session) = session.run(program, &[inputs[party as usize]], Lacking::Refuse)?;
                (done.outputs, session)
            }
        };
        session.close()?;
        Ok(outputs)
    })
}

/// The run takes its items from stock. The victim's store is undamaged afterwards. If items were taken from
/// it before the peer was caught, its stock is burned. If the stores were no pair, nothing is burned.
fn from_stock(victim: Party, inputs: [bool; 2], edits: &Edits) -> Result<Vec<bool>, Error> {
    FILLED.taken_from(victim, |folder| meet(folder, victim, Some(inputs), edits))
}
