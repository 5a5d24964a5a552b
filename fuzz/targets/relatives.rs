//! Whole sessions of LEGO, JIMU and the protocols against curious peers, with a peer that sends anything: its
//! messages are altered on their way.
//!
//! Used by the fuzz target and, with the seeds, by the tests.
#![allow(dead_code)]

use std::path::Path;
use std::sync::{Arc, LazyLock};

use brickwork::circuit::{Party, Program, Recipient};
use brickwork::duplo::adversary::harness::ands;
use brickwork::jimu::Unit;
use brickwork::protocol::stock::Lacking;
use brickwork::protocol::{AgreedJob, TABLE_MEMORY, Unobserved};
use brickwork::{ProtocolError as Error, compgc, jimu, lego, semi_honest};

use super::altered::{Edits, IDENTITIES, Stores, TERMS, both, open};

/// A program with one AND gate, which is a component. Both parties learn the result.
static PROGRAM: LazyLock<Arc<Program>> = LazyLock::new(|| ands(1, Recipient::Both));

/// A protocol besides DUPLO; for some also the items that it puts into buckets.
#[derive(Clone, Copy)]
enum Relative {
    Jimu(Unit),
    Lego,
    SemiHonest,
    CompGc,
}

use Relative::{CompGc, Jimu, Lego, SemiHonest};

const ALL: [Relative; 5] = [Jimu(Unit::Gates), Jimu(Unit::Components), Lego, SemiHonest, CompGc];

impl Relative {
    /// Returns whether the protocol promises right outputs against any peer.
    fn is_robust(self) -> bool {
        !matches!(self, SemiHonest | CompGc)
    }
}

/// The stores of both parties for each protocol, with items for one run.
static FILLED: LazyLock<[Stores; 5]> = LazyLock::new(|| {
    ALL.map(|relative| {
        Stores::filled(|folder| met(relative, folder, Party::Evaluator, None, &Edits::default()).map(drop))
    })
});

/// Lets the fuzzer choose the messages of one party's peer. Bit 0 of the first byte names the party that gets
/// altered bytes, and bits 1 and 2 are the inputs. If bit 3 is set, the items come from stores. The remaining
/// bits select the protocol. In each case this party ends with an output or a typed error. The output is
/// right, unless the protocol promises that only for honest peers. Returns whether there is an output.
pub fn relatives(data: &[u8]) -> bool {
    let Some((&first, edits)) = data.split_first() else { return false };
    let edits = Edits::parse(edits);
    let victim = if first & 1 == 0 { Party::Garbler } else { Party::Evaluator };
    let (x, y, stored) = (first & 2 != 0, first & 4 != 0, first & 8 != 0);
    let which = usize::from(first >> 4) % ALL.len();
    let ended = match stored {
        true => {
            FILLED[which].taken_from(victim, |folder| met(ALL[which], folder, victim, Some([x, y]), &edits))
        }
        false => on_the_spot(ALL[which], victim, [x, y], &edits),
    };
    match ended {
        Ok(outputs) => {
            let may_differ = !ALL[which].is_robust() && !edits.is_empty();
            assert!(outputs == [x && y] || may_differ && outputs.len() == 1, "{outputs:?}");
            true
        }
        Err(Error::Peer(_) | Error::Io(_) | Error::Mismatch(_) | Error::Refused(_)) => false,
        Err(Error::Stock(_) | Error::Strangers(_) | Error::Busy(_)) if stored => false,
        Err(other) => panic!("{other}"),
    }
}

/// All items are made for this run, with few copies. The base OTs come from a dealer.
fn on_the_spot(
    relative: Relative,
    victim: Party,
    inputs: [bool; 2],
    edits: &Edits,
) -> Result<Vec<bool>, Error> {
    let job = AgreedJob {
        table_memory: TABLE_MEMORY,
        threads: 1,
        ..AgreedJob::new(PROGRAM.clone(), 40, IDENTITIES)
    };
    both(victim, edits, |party, channel| {
        let input = [inputs[party as usize]];
        match relative {
            Jimu(unit) => {
                let sizes = jimu::adversary::small(&PROGRAM, unit, [3, 2]);
                let hooks = jimu::adversary::Hooks::none().with(sizes).dealt_by([7; 32]);
                match party {
                    Party::Garbler => jimu::adversary::garbler(channel, &job, unit, &input, hooks),
                    Party::Evaluator => jimu::adversary::evaluator(channel, &job, unit, &input, hooks),
                }
                .map(|report| report.outputs)
            }
            Lego => {
                let (gates, authenticators, inputs) = ([3, 2], [3, 2], [3, 2]);
                let cuts = lego::adversary::Bucketings { gates, authenticators, inputs };
                let hooks = lego::adversary::Hooks::none().with(cuts).dealt_by([7; 32]);
                match party {
                    Party::Garbler => lego::adversary::garbler(channel, &job, &input, hooks),
                    Party::Evaluator => lego::adversary::evaluator(channel, &job, &input, hooks),
                }
                .map(|report| report.outputs)
            }
            SemiHonest => match party {
                Party::Garbler => semi_honest::garbler(channel, &job, 1, &input, Unobserved),
                Party::Evaluator => semi_honest::evaluator(channel, &job, 1, &input, Unobserved),
            }
            .map(|report| report.outputs),
            CompGc => match party {
                Party::Garbler => {
                    compgc::garbler(channel, &job, compgc::Linking::Standard, &input, Unobserved)
                }
                Party::Evaluator => {
                    compgc::evaluator(channel, &job, compgc::Linking::Standard, &input, Unobserved)
                }
            }
            .map(|report| report.outputs),
        }
    })
}

/// Connects both parties' stores, to fill them, or to run the program on these inputs.
fn met(
    relative: Relative,
    folder: &Path,
    victim: Party,
    inputs: Option<[bool; 2]>,
    edits: &Edits,
) -> Result<Vec<bool>, Error> {
    let program = &*PROGRAM;
    both(victim, edits, |party, channel| {
        let store = open(folder, party)?;
        let input = inputs.map(|inputs| [inputs[party as usize]]);
        match relative {
            Jimu(unit) => {
                let line = jimu::Stocked::open(party, channel, &store, &TERMS, Unobserved)?;
                let (outputs, line) = match input {
                    None => (Vec::new(), line.preprocess(&jimu::Request::of(program, unit)?)?.1),
                    Some(input) => {
                        let (done, line) = line.run(program, Some(unit), &input, Lacking::Refuse)?;
                        (done.outputs, line)
                    }
                };
                line.close().map(|_| outputs)
            }
            Lego => {
                let line = lego::Stocked::open(party, channel, &store, &TERMS, Unobserved)?;
                let (outputs, line) = match input {
                    None => (Vec::new(), line.preprocess(&lego::Request::of(program)?)?.1),
                    Some(input) => {
                        let (done, line) = line.run(program, &input, Lacking::Refuse)?;
                        (done.outputs, line)
                    }
                };
                line.close().map(|_| outputs)
            }
            SemiHonest => {
                let line = semi_honest::Stocked::open(party, channel, &store, &TERMS, Unobserved)?;
                let (outputs, line) = match input {
                    None => (Vec::new(), line.preprocess(1)?.1),
                    Some(input) => {
                        let (done, line) = line.run(program, 1, &input, Lacking::Refuse)?;
                        (done.outputs, line)
                    }
                };
                line.close().map(|_| outputs)
            }
            CompGc => {
                let line = compgc::Stocked::open(party, channel, &store, &TERMS, Unobserved)?;
                let (outputs, line) = match input {
                    None => (Vec::new(), line.preprocess(&compgc::Request::of(program)?)?.1),
                    Some(input) => {
                        let (done, line) = line.run(program, &input, Lacking::Refuse)?;
                        (done.outputs, line)
                    }
                };
                line.close().map(|_| outputs)
            }
        }
    })
}
