//! The protocol as a list of steps, in an order in which both parties go through it.
//!
//! Every message stands here with its length; `docs/formats.md` has the same lengths as formulas. Work is
//! counted in units whose price the machine knows; what takes no time worth mentioning is left out.

use brickwork_circuit::{Circuit, Party, Program, Recipient};
use brickwork_duplo::Parameters;
use brickwork_primitives::commit::code::Code;
use brickwork_primitives::cut_and_choose::Bucketing;
use brickwork_session::{TABLE_MEMORY, openings_memory};

use Party::{Evaluator, Garbler};

/// What takes time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Work {
    /// A base OT, on the side that chooses: before the exchange.
    Choose,
    /// A base OT, on the side that chooses: after it.
    Chosen,
    /// A base OT, on the side that offers.
    Offer,
    /// A block of 128 commitments to random values, for each of the code's coordinates.
    CommitRandom,
    /// A block of 128 commitments to chosen values.
    CommitChosen,
    /// A block of 128 commitments, received.
    Receive,
    /// A block of 128 claims in a proof, for each combined row: a coordinate, or a bit of the values.
    Combine,
    /// An OT in one of the random combinations: its label and its share.
    CombineOt,
    /// A committed value that goes to its place.
    Keep,
    /// Drawing an item's place by the challenge.
    Draw,
    /// An AND gate, garbled.
    GarbleAnd,
    /// Another gate, garbled.
    GarbleXor,
    /// An AND gate, evaluated.
    EvaluateAnd,
    /// Another gate, evaluated.
    EvaluateXor,
    /// The tables of an AND gate, hashed.
    HashTable,
    /// A label, hashed for an authenticator.
    HashLabel,
    /// A soldering, made or used.
    Solder,
    /// A gate, computed in the clear.
    Simulate,
    /// The exact bound of what is proposed.
    Bound,
    /// A gate of a component, brought into the order in which it is garbled.
    Schedule,
    /// A byte of tables, written to the temporary file.
    Spill,
    /// A byte of tables, read from there.
    ReadBack,
    /// A byte of memory, had of the system and written for the first time.
    Touch,
}

/// One step.
#[derive(Clone, Copy, Debug)]
pub(super) enum Step {
    /// A phase begins, or goes on.
    Phase(&'static str),
    /// So many units of work, which at most `tasks` threads can share.
    Work { by: Party, work: Work, units: f64, tasks: u64 },
    /// `times` messages of `payload` bytes. Bulk messages use all lanes. A crossing one does not wait for the
    /// messages that the peer sent last.
    Message { from: Party, payload: u64, times: u64, bulk: bool, crossing: bool },
}

/// Bytes of a label, a soldering, a seed, half an authenticator.
const LABEL: u64 = 16;
/// Commitments whose corrections travel together, and those in a block.
const COMMITMENTS_A_MESSAGE: u64 = 1 << 15;
const BLOCK: u64 = 128;
/// Blocks of the rows of an OT extension that travel together.
const BLOCKS_OF_ROWS: u64 = 64;
/// Chosen copies whose tables travel together.
const COPIES_A_MESSAGE: u64 = 16;
/// Dimension of the code; also the base OTs of the extension.
const DIMENSION: u64 = 128;
/// The greeting.
const HELLO: u64 = 144;
/// A long stretch in which both parties work and the line is busy is cut into so many pieces.
const PIECES: u64 = 16;
/// As many tasks as there could be threads.
const MANY: u64 = 1 << 20;

struct Script {
    steps: Vec<Step>,
    /// n: length of the code.
    n: u64,
    /// Bytes of tables for which the evaluator still has memory.
    room: u64,
    /// Whether the tables of a component in use, in their order, lie in the temporary file.
    spilled: Vec<bool>,
    /// Whether the openings of copies and authenticators do, at the evaluator.
    openings_in_files: bool,
}

/// The steps of a run.
pub(super) fn script(program: &Program, parameters: &Parameters) -> Vec<Step> {
    let n = Code::for_security(parameters.security).map_or(0, |code| code.length() as u64);
    let openings =
        parameters.openings_bytes(program.components().iter().map(|component| &*component.circuit));
    let openings_in_files = openings > openings_memory(TABLE_MEMORY);
    let mut script =
        Script { steps: Vec::new(), n, room: TABLE_MEMORY, spilled: Vec::new(), openings_in_files };
    let private = wires(program, |to| to == Recipient::Garbler);
    let (binding, own) = (parameters.ot_binding as u64, width(program, Evaluator));
    let ots = own + binding;

    let proposal =
        [32 + parameters.decomposition.len(), Parameters::proposal_bytes(program)].map(|bytes| bytes as u64);
    script.setup(proposal, ots); // 1, 2, 3
    let copies = script.commit_copies(program, parameters); // 3
    let authenticators = script.commit_authenticators(parameters);
    script.commit(ots, true);
    script.commit(own, false);
    let all = 2 + copies + authenticators + ots + own;
    script.again(all);
    script.prove(Some(all), Some(1), Some(1)); // 4, 5
    script.challenge(program, parameters, ots, binding); // 6
    let of_copies = script.open_copies(program, parameters); // 7
    let of_authenticators = script.open_authenticators(program, parameters);
    let solderings = script.join(program, parameters, private);
    script.phase("evaluate");
    script.message(Evaluator, own.div_ceil(8)); // 8
    script.phase("build");
    script.again(all);
    script.prove(None, None, Some(all.max(of_copies + of_authenticators + binding + solderings))); // 8, 9
    script.filed(Work::ReadBack, openings - 32 * (parameters.plain.kept() + parameters.input.kept()), MANY);
    script.evaluate(program, parameters); // 9, 10, 11
    script.decode(program, parameters); // 12
    script.steps
}

fn wires(program: &Program, to: impl Fn(Recipient) -> bool) -> u64 {
    program.outputs().iter().filter(|o| to(o.to)).map(|o| o.wires.len() as u64).sum()
}

/// The components that are used, and the cut of each.
fn used<'a>(
    program: &'a Program,
    parameters: &'a Parameters,
) -> impl Iterator<Item = (&'a Circuit, Bucketing)> {
    let components = program.components().iter().zip(&parameters.components).filter(|(_, cut)| cut.slots > 0);
    components.map(|(component, cut)| (&*component.circuit, *cut))
}

fn width(program: &Program, party: Party) -> u64 {
    program.input_width(party) as u64
}

impl Script {
    fn phase(&mut self, name: &'static str) {
        self.steps.push(Step::Phase(name));
    }

    fn work(&mut self, by: Party, work: Work, units: u64, tasks: u64) {
        if units > 0 {
            self.steps.push(Step::Work { by, work, units: units as f64, tasks });
        }
    }

    /// So many bytes of openings are written by the evaluator or read, if they lie in files.
    fn filed(&mut self, work: Work, bytes: u64, tasks: u64) {
        self.work(Evaluator, work, if self.openings_in_files { bytes } else { 0 }, tasks);
    }

    fn message(&mut self, from: Party, payload: u64) {
        self.steps.push(Step::Message { from, payload, times: 1, bulk: false, crossing: false });
    }

    /// Both send at once: the lengths of the garbler's and the evaluator's messages.
    fn exchange<const G: usize, const E: usize>(&mut self, garbler: [u64; G], evaluator: [u64; E]) {
        garbler.into_iter().for_each(|payload| self.message(Garbler, payload));
        let crossing =
            |payload| Step::Message { from: Evaluator, payload, times: 1, bulk: false, crossing: true };
        self.steps.extend(evaluator.map(crossing));
    }

    /// Commitments to `count` random or chosen values.
    fn commit(&mut self, count: u64, chosen: bool) {
        let (corrected, work) =
            if chosen { (self.n, Work::CommitChosen) } else { (self.n - DIMENSION, Work::CommitRandom) };
        let piece = |this: &mut Self, commitments: u64, times: u64| {
            let blocks = commitments.div_ceil(BLOCK);
            let share = 8 * this.n.div_ceil(64);
            this.work(Garbler, Work::Touch, times * commitments * (share + LABEL), 1);
            this.work(Evaluator, Work::Touch, times * commitments * share, 1);
            this.work(Garbler, work, blocks * times * this.n, blocks.div_ceil(16) * times);
            this.steps.push(Step::Message {
                from: Garbler,
                payload: 16 * corrected * blocks,
                times,
                bulk: false,
                crossing: false,
            });
            this.work(Evaluator, Work::Receive, blocks * times * this.n, blocks.div_ceil(16) * times);
        };
        let full = count / COMMITMENTS_A_MESSAGE;
        for k in 0..PIECES.min(full) {
            piece(self, COMMITMENTS_A_MESSAGE, share(full, k, PIECES.min(full)));
        }
        if !count.is_multiple_of(COMMITMENTS_A_MESSAGE) {
            piece(self, count % COMMITMENTS_A_MESSAGE, 1);
        }
    }

    /// A proof about so many new commitments, claimed bits and claimed values. A kind of claim that is listed
    /// is combined even if it has no members in this program.
    fn prove(&mut self, new: Option<u64>, bits: Option<u64>, known: Option<u64>) {
        let hidden = u64::from(new.is_some()) + u64::from(bits.is_some());
        (0..hidden).for_each(|_| self.commit(BLOCK, false));
        self.message(Evaluator, LABEL);
        let (shares, all) = (self.n, self.n + DIMENSION);
        for (count, rows) in [(new, [all, shares]), (bits, [all, all]), (known, [shares, all])] {
            let blocks = count.unwrap_or(0).div_ceil(BLOCK);
            self.work(Garbler, Work::Combine, blocks * rows[0], blocks.div_ceil(64));
            self.work(Evaluator, Work::Combine, blocks * rows[1], blocks.div_ceil(64));
        }
        self.message(Garbler, LABEL * (hidden * all + u64::from(known.is_some()) * shares));
    }

    /// For a proof both parties make all commitments again, in the order in which they were made.
    fn again(&mut self, commitments: u64) {
        let blocks = commitments.div_ceil(BLOCK);
        for by in [Garbler, Evaluator] {
            self.work(by, Work::CommitRandom, blocks * self.n, blocks.div_ceil(16));
        }
    }

    /// So many OTs of the extension.
    fn extend(&mut self, ots: u64) {
        let blocks = ots.div_ceil(BLOCK) + 1;
        for (blocks, times) in [(BLOCKS_OF_ROWS, blocks / BLOCKS_OF_ROWS), (blocks % BLOCKS_OF_ROWS, 1)] {
            if blocks * times > 0 {
                let payload = DIMENSION * 16 * blocks;
                self.steps.push(Step::Message {
                    from: Evaluator,
                    payload,
                    times,
                    bulk: false,
                    crossing: false,
                });
            }
        }
        self.message(Evaluator, LABEL * (1 + DIMENSION));
    }

    fn setup(&mut self, [cut, batches]: [u64; 2], ots: u64) {
        self.phase("setup");
        self.work(Garbler, Work::Choose, DIMENSION, DIMENSION);
        self.exchange([HELLO, cut, batches, 32 + 64 * DIMENSION], [HELLO, 32]);
        self.work(Evaluator, Work::Bound, 1, 1);
        self.work(Evaluator, Work::Offer, DIMENSION, DIMENSION);
        self.work(Garbler, Work::Chosen, DIMENSION, DIMENSION);
        self.extend(self.n);
        self.phase("prepare");
        self.extend(ots);
        self.phase("setup");
        self.commit(1, false);
        self.commit(1, true);
        self.message(Garbler, LABEL);
    }

    fn garble(&mut self, by: Party, circuit: &Circuit, copies: u64) {
        let (ands, tasks) = (circuit.and_gates() as u64, copies.div_ceil(16));
        self.work(by, Work::GarbleAnd, ands * copies, tasks);
        self.work(by, Work::GarbleXor, (circuit.gate_count() as u64 - ands) * copies, tasks);
    }

    /// Returns the number of commitments.
    fn commit_copies(&mut self, program: &Program, parameters: &Parameters) -> u64 {
        self.phase("preprocess");
        let mut new = 0;
        for (circuit, cut) in used(program, parameters) {
            let (inputs, outputs, ands) =
                (circuit.inputs() as u64, circuit.outputs().len() as u64, circuit.and_gates() as u64);
            let copies = cut.copies();
            for by in [Garbler, Evaluator] {
                self.work(by, Work::Schedule, circuit.gate_count() as u64, 1);
            }
            self.commit(copies * inputs, false);
            self.commit(copies, false);
            self.garble(Garbler, circuit, copies);
            self.work(Garbler, Work::HashTable, ands * copies, copies.div_ceil(16));
            self.commit(copies * outputs, true);
            self.message(Garbler, 16 + 32 * copies);
            new += copies * (inputs + outputs + 1);
        }
        new
    }

    /// Returns the number of commitments.
    fn commit_authenticators(&mut self, parameters: &Parameters) -> u64 {
        self.phase("prepare");
        let (plain, input) = (parameters.plain, parameters.input);
        self.commit(plain.copies(), false);
        self.work(Garbler, Work::HashLabel, 2 * plain.copies(), MANY);
        self.message(Garbler, 32 * plain.copies());
        self.filed(Work::Spill, 32 * plain.copies(), 1);
        self.commit(input.copies(), false);
        self.work(Garbler, Work::HashLabel, input.copies(), MANY);
        self.commit(input.copies(), true);
        self.work(Garbler, Work::HashLabel, 2 * input.copies(), MANY);
        self.message(Garbler, 32 * input.copies());
        self.filed(Work::Spill, 32 * input.copies(), 1);
        plain.copies() + 2 * input.copies()
    }

    /// Of all batches, and random combinations of the OTs.
    fn challenge(&mut self, program: &Program, parameters: &Parameters, ots: u64, binding: u64) {
        self.phase("preprocess");
        self.message(Evaluator, 16 * used(program, parameters).count() as u64);
        self.phase("prepare");
        self.message(Evaluator, 2 * LABEL);
        for by in [Evaluator, Garbler] {
            self.work(by, Work::CombineOt, ots * binding, ots.div_ceil(4096));
        }
        self.message(Evaluator, LABEL + binding * (LABEL + 1));
    }

    /// Returns the number of claims.
    fn open_copies(&mut self, program: &Program, parameters: &Parameters) -> u64 {
        self.phase("preprocess");
        let mut known = 0;
        for (circuit, cut) in used(program, parameters) {
            let (inputs, outputs, ands) =
                (circuit.inputs() as u64, circuit.outputs().len() as u64, circuit.and_gates() as u64);
            let (kept, opened) = (cut.kept(), u64::from(cut.opened));
            let solderings = (kept - u64::from(cut.slots)) * inputs;
            known += opened * (1 + inputs + outputs) + kept + solderings;
            for by in [Garbler, Evaluator] {
                self.work(by, Work::Draw, cut.copies(), 1);
                self.work(by, Work::Keep, cut.copies() * (inputs + outputs + 1), 1);
            }
            self.work(Garbler, Work::Solder, solderings, MANY);
            self.message(Garbler, LABEL * opened * (1 + inputs));
            self.message(Garbler, LABEL * kept);
            self.message(Garbler, LABEL * solderings);
            self.filed(Work::Spill, LABEL * (opened * (inputs + outputs) + solderings), 1);
            self.filed(Work::ReadBack, LABEL * opened * inputs, MANY);
            let tables = 32 * ands * kept;
            let spills = tables > self.room;
            self.room -= if spills { 0 } else { tables };
            self.spilled.push(spills);
            let full = kept / COPIES_A_MESSAGE;
            let pieces = PIECES.min(full).max(1);
            for k in 0..pieces {
                let last = if k + 1 == pieces { kept % COPIES_A_MESSAGE } else { 0 };
                let messages = share(full, k, pieces);
                self.garble(Garbler, circuit, messages * COPIES_A_MESSAGE + last);
                for (copies, times) in [(COPIES_A_MESSAGE, messages), (last, u64::from(last > 0))] {
                    if times > 0 {
                        let payload = 32 * ands * copies;
                        self.work(Garbler, Work::Touch, payload * times, times);
                        self.steps.push(Step::Message {
                            from: Garbler,
                            payload,
                            times,
                            bulk: true,
                            crossing: false,
                        });
                        self.work(Evaluator, Work::HashTable, ands * copies * times, times);
                        match spills {
                            true => self.work(Evaluator, Work::Spill, payload * times, times),
                            false => self.work(Evaluator, Work::Touch, payload * times, 1),
                        }
                    }
                }
                let checked = share(opened, k, pieces);
                self.garble(Evaluator, circuit, checked);
                self.work(Evaluator, Work::HashTable, ands * checked, checked.div_ceil(16));
            }
        }
        known
    }

    /// Returns the number of claims.
    fn open_authenticators(&mut self, program: &Program, parameters: &Parameters) -> u64 {
        self.phase("prepare");
        let (plain, input) = (parameters.plain, parameters.input);
        let mut known = 0;
        for (cut, delta_differences, hashes) in [(plain, 0, 1), (input, input.kept(), 3)] {
            let (opened, solderings) = (u64::from(cut.opened), cut.kept() - u64::from(cut.slots));
            for by in [Garbler, Evaluator] {
                self.work(by, Work::Draw, cut.copies(), 1);
                self.work(by, Work::Keep, cut.copies() * if delta_differences > 0 { 2 } else { 1 }, 1);
            }
            self.work(Garbler, Work::Solder, solderings, MANY);
            self.message(Garbler, LABEL * opened);
            self.message(Garbler, LABEL * delta_differences);
            self.message(Garbler, LABEL * solderings);
            // Authenticators come into the order of buckets, by way of bins with their places.
            self.filed(Work::ReadBack, 32 * cut.copies() + 36 * cut.kept(), 1);
            self.filed(Work::Spill, (36 + 32 + 4) * cut.kept() + LABEL * (delta_differences + solderings), 1);
            self.work(Evaluator, Work::HashLabel, hashes * opened, MANY);
            known += opened * if delta_differences > 0 { 2 } else { 1 } + delta_differences + solderings;
        }
        for (circuit, cut) in used(program, parameters) {
            let solderings = cut.kept() * circuit.outputs().len() as u64;
            self.work(Garbler, Work::Solder, solderings, MANY);
            self.message(Garbler, LABEL * solderings);
            self.filed(Work::Spill, LABEL * solderings, 1);
            known += solderings;
        }
        known
    }

    /// Returns the number of claims.
    fn join(&mut self, program: &Program, parameters: &Parameters, private: u64) -> u64 {
        self.phase("build");
        let mut all = private;
        for (circuit, cut) in used(program, parameters) {
            let solderings = u64::from(cut.slots) * circuit.inputs() as u64;
            self.work(Garbler, Work::Solder, solderings, MANY);
            self.message(Garbler, LABEL * solderings);
            all += solderings;
        }
        self.message(Garbler, LABEL * private);
        all
    }

    fn evaluate(&mut self, program: &Program, parameters: &Parameters) {
        self.phase("evaluate");
        let (x, y) = (width(program, Garbler), width(program, Evaluator));
        let bits = wires(program, |to| to.includes(Evaluator));
        self.message(Garbler, LABEL * (x + y) + bits.div_ceil(8));
        self.prove(None, Some(bits), Some(y));
        let votes = |cut: Bucketing| u64::from(cut.bucket);
        self.work(Evaluator, Work::HashLabel, x * votes(parameters.input), 1);
        for (place, (circuit, cut)) in used(program, parameters).enumerate() {
            let kept = cut.kept();
            let (ands, outputs) = (circuit.and_gates() as u64, circuit.outputs().len() as u64);
            let tasks = kept.div_ceil(COPIES_A_MESSAGE);
            self.work(Evaluator, Work::Solder, kept * (circuit.inputs() as u64 + outputs), tasks);
            self.work(
                Evaluator,
                Work::ReadBack,
                if self.spilled[place] { 32 * ands * kept } else { 0 },
                tasks,
            );
            let solderings = (kept - u64::from(cut.slots)) * circuit.inputs() as u64 + kept * outputs;
            self.filed(Work::ReadBack, LABEL * solderings, tasks);
            let authenticators = u64::from(cut.slots) * outputs * votes(parameters.plain);
            self.filed(Work::ReadBack, (32 + 4 + LABEL) * authenticators, MANY);
            self.work(Evaluator, Work::EvaluateAnd, ands * kept, tasks);
            self.work(Evaluator, Work::EvaluateXor, (circuit.gate_count() as u64 - ands) * kept, tasks);
            self.work(
                Evaluator,
                Work::HashLabel,
                u64::from(cut.slots) * outputs * votes(parameters.plain),
                MANY,
            );
        }
    }

    fn decode(&mut self, program: &Program, parameters: &Parameters) {
        self.phase("decode");
        let outputs = wires(program, |to| to.includes(Garbler));
        // Recovery always takes place: it hashes for each of the garbler's inputs, and computes in the clear.
        let gates =
            program.slots().map(|slot| program.component(slot.component).circuit.gate_count() as u64).sum();
        let recovered = u64::from(parameters.input.bucket) * u64::from(parameters.input.slots);
        self.work(Evaluator, Work::HashLabel, recovered, MANY);
        self.work(Evaluator, Work::Simulate, gates, 1);
        self.message(Evaluator, outputs.div_ceil(8) + 32);
    }
}

/// Part `k` of `parts` about equal parts of a number.
fn share(whole: u64, k: u64, parts: u64) -> u64 {
    (k + 1) * whole / parts - k * whole / parts
}
