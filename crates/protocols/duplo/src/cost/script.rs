//! The script of a run: the protocol's messages and work, in an order that suits both parties.
//!
//! Every message is listed with its length; `docs/reference/formats.md` gives the same lengths as formulas.
//! Work is counted in units whose price the machine knows. Work that takes almost no time is left out.

use super::work::{BEYOND, BOUND, COMBINE_OT, KEEP, SIMULATE};
use crate::instance::level;
use crate::memory::openings_memory;
use crate::report::Duplo;
use crate::{Parameters, memory};
use brickwork_circuit::{Circuit, Party, Program, Recipient};
use brickwork_plan::{MANY, READ_BACK, SLICES, SPILL, Script, TOUCH, WorkKind, share};
use brickwork_primitives::commit::CommitmentLevel;
use brickwork_primitives::cost::work::*;
use brickwork_primitives::cost::{CommitmentCost, DIMENSION, LABEL, base_ots, extend};
use brickwork_primitives::cut_and_choose::Bucketing;
use brickwork_protocol::{GREETING_BYTES, SessionProtocol, TABLE_MEMORY};

use Party::{Evaluator, Garbler};

/// The number of chosen copies whose tables are sent together.
const COPIES_A_MESSAGE: u64 = 16;

pub(super) struct ScriptWriter {
    pub script: Script,
    commitments: CommitmentCost,
    /// The number of bytes of tables that the evaluator can still keep in memory.
    room: u64,
    /// For each used component, in order: true if its tables are in the temporary file.
    pub spilled: Vec<bool>,
    /// True if the openings of copies and authenticators are in files.
    openings_in_files: bool,
}

/// Returns the script of a run of `program` with these parameters.
///
/// # Panics
/// If the parameters' security is not one that commitments support.
pub fn script(program: &Program, parameters: &Parameters) -> Script {
    let level = level(parameters.security).expect("the parameters have a supported security");
    let openings =
        parameters.openings_bytes(program.components().iter().map(|component| &*component.circuit));
    let mut writer = ScriptWriter::new(&level, TABLE_MEMORY, openings > openings_memory(TABLE_MEMORY));
    let private = wires(program, |to| to == Recipient::Garbler);
    let (binding, own) = (parameters.ot_binding as u64, width(program, Evaluator));
    let ots = own + binding;

    let proposal =
        [32 + parameters.decomposition.len(), Parameters::proposal_bytes(program)].map(|bytes| bytes as u64);
    writer.setup(&proposal, Some(ots)); // 1, 2, 3
    let copies = writer.commit_copies(program, parameters); // 3
    let authenticators = writer.commit_authenticators(parameters);
    writer.commit(ots, true);
    writer.commit(own, false);
    let all = 2 + copies + authenticators + ots + own;
    writer.again(all);
    writer.prove(Some(all), Some(1), Some(1)); // 4, 5
    writer.challenge(program, parameters, ots, binding); // 6
    let of_copies = writer.open_copies(program, parameters); // 7
    let of_authenticators = writer.open_authenticators(program, parameters);
    let solderings = writer.join(program, parameters, private);
    writer.script.phase("evaluate");
    writer.script.message(Evaluator, own.div_ceil(8)); // 8
    writer.script.phase("build");
    writer.again(all);
    writer.prove(None, None, Some(all.max(of_copies + of_authenticators + binding + solderings))); // 8, 9
    writer.filed(&READ_BACK, openings - 32 * (parameters.plain.kept() + parameters.input.kept()), MANY);
    writer.evaluate(program, parameters, 0); // 9, 10, 11
    writer.decode(program, parameters); // 12
    writer.beyond(parameters, Duplo::PHASES);
    let mut script = writer.script;
    script.memory_bytes = memory::peaks(program, parameters);
    script.disk_bytes = memory::files(program, parameters);
    script
}

pub(super) fn wires(program: &Program, to: impl Fn(Recipient) -> bool) -> u64 {
    program.outputs().iter().filter(|o| to(o.to)).map(|o| o.wires.len() as u64).sum()
}

/// Returns the used components, and the bucketing of each.
pub(super) fn used<'a>(
    program: &'a Program,
    parameters: &'a Parameters,
) -> impl Iterator<Item = (&'a Circuit, Bucketing)> {
    let components =
        program.components().iter().zip(&parameters.components).filter(|(_, bucketing)| bucketing.slots > 0);
    components.map(|(component, bucketing)| (&*component.circuit, *bucketing))
}

pub(super) fn width(program: &Program, party: Party) -> u64 {
    program.input_width(party) as u64
}

impl ScriptWriter {
    /// Begins a script. The evaluator has `room` bytes of memory for tables.
    pub fn new(level: &CommitmentLevel, room: u64, openings_in_files: bool) -> Self {
        ScriptWriter {
            script: Script::new(Duplo::PHASES),
            commitments: CommitmentCost::of(level),
            room,
            spilled: Vec::new(),
            openings_in_files,
        }
    }

    /// Adds work that writes or reads this many bytes of openings, if openings are in files.
    fn filed(&mut self, work: &'static WorkKind, bytes: u64, tasks: u64) {
        self.script.work(Evaluator, work, if self.openings_in_files { bytes } else { 0 }, tasks);
    }

    pub fn commit(&mut self, count: u64, chosen: bool) {
        self.commitments.commit(&mut self.script, count, chosen);
    }

    pub fn again(&mut self, commitments: u64) {
        self.commitments.again(&mut self.script, commitments);
    }

    pub fn prove(&mut self, new: Option<u64>, bits: Option<u64>, known: Option<u64>) {
        self.commitments.prove(&mut self.script, new, bits, known);
    }

    /// Adds, for each phase, the measured time that no predicted work explains. Components are preprocessed
    /// one after another.
    pub fn beyond(&mut self, parameters: &Parameters, phases: &[&str]) {
        let components =
            parameters.components.iter().filter(|bucketing| bucketing.slots > 0).count().max(1) as u64;
        let all = Duplo::PHASES.iter().zip(&BEYOND);
        for (&name, work) in all.filter(|(name, _)| phases.contains(*name)) {
            self.script.phase(name);
            self.script.beyond(work, if name == "preprocess" { components } else { 1 });
        }
    }

    /// Adds the greeting and the setup. `proposal` has the sizes of the garbler's messages after its
    /// greeting, `ots` the number of OTs if the program is known.
    pub fn setup(&mut self, proposal: &[u64], ots: Option<u64>) {
        self.script.phase("setup");
        self.script.work(Garbler, &CHOOSE, DIMENSION, DIMENSION);
        let hello = GREETING_BYTES as u64;
        [&[hello], proposal].concat().iter().for_each(|&payload| self.script.message(Garbler, payload));
        self.script.exchange([base_ots(DIMENSION)], [hello, base_ots(0)]);
        self.script.work(Evaluator, &BOUND, proposal.len().min(1) as u64, 1);
        self.script.work(Evaluator, &OFFER, DIMENSION, DIMENSION);
        self.script.work(Garbler, &CHOSEN, DIMENSION, DIMENSION);
        extend(&mut self.script, Evaluator, self.commitments.ots());
        ots.into_iter().for_each(|ots| self.extend(ots));
        self.script.phase("setup");
        self.commit(1, false);
        self.commit(1, true);
        self.script.message(Garbler, LABEL);
    }

    /// Adds the extension of the evaluator's OTs.
    pub fn extend(&mut self, ots: u64) {
        self.script.phase("prepare");
        extend(&mut self.script, Evaluator, ots);
    }

    fn garble(&mut self, by: Party, circuit: &Circuit, copies: u64) {
        let (ands, tasks) = (circuit.and_gates() as u64, copies.div_ceil(16));
        self.script.work(by, &GARBLE_AND, ands * copies, tasks);
        self.script.work(by, &GARBLE_XOR, (circuit.gate_count() as u64 - ands) * copies, tasks);
    }

    /// Adds the commitments to all copies. Returns their number.
    pub fn commit_copies(&mut self, program: &Program, parameters: &Parameters) -> u64 {
        self.script.phase("preprocess");
        let mut new = 0;
        for (circuit, bucketing) in used(program, parameters) {
            let (inputs, outputs, ands) =
                (circuit.inputs() as u64, circuit.outputs().len() as u64, circuit.and_gates() as u64);
            let copies = bucketing.copies();
            for by in [Garbler, Evaluator] {
                self.script.work(by, &SCHEDULE, circuit.gate_count() as u64, 1);
            }
            self.commit(copies * inputs, false);
            self.commit(copies, false);
            self.garble(Garbler, circuit, copies);
            self.script.work(Garbler, &HASH_TABLE, ands * copies, copies.div_ceil(16));
            self.commit(copies * outputs, true);
            self.script.message(Garbler, 16 + 32 * copies);
            new += copies * (inputs + outputs + 1);
        }
        new
    }

    /// Adds the commitments to all authenticators. Returns their number.
    pub fn commit_authenticators(&mut self, parameters: &Parameters) -> u64 {
        self.script.phase("prepare");
        let (plain, input) = (parameters.plain, parameters.input);
        self.commit(plain.copies(), false);
        self.script.work(Garbler, &HASH_LABEL, 2 * plain.copies(), MANY);
        self.script.message(Garbler, 32 * plain.copies());
        self.filed(&SPILL, 32 * plain.copies(), 1);
        self.commit(input.copies(), false);
        self.script.work(Garbler, &HASH_LABEL, input.copies(), MANY);
        self.commit(input.copies(), true);
        self.script.work(Garbler, &HASH_LABEL, 2 * input.copies(), MANY);
        self.script.message(Garbler, 32 * input.copies());
        self.filed(&SPILL, 32 * input.copies(), 1);
        plain.copies() + 2 * input.copies()
    }

    /// Adds the challenges of all batches, and the request for random combinations of the OTs.
    pub fn challenge(&mut self, program: &Program, parameters: &Parameters, ots: u64, binding: u64) {
        self.script.phase("preprocess");
        self.script.message(Evaluator, 16 * used(program, parameters).count() as u64);
        self.script.phase("prepare");
        self.script.message(Evaluator, 2 * LABEL);
        for by in [Evaluator, Garbler] {
            self.script.work(by, &COMBINE_OT, ots * binding, ots.div_ceil(4096));
        }
        self.script.message(Evaluator, LABEL + binding * (LABEL + 1));
    }

    /// Adds the openings of copies. Returns the number of claims.
    pub fn open_copies(&mut self, program: &Program, parameters: &Parameters) -> u64 {
        self.script.phase("preprocess");
        let mut known = 0;
        for (circuit, bucketing) in used(program, parameters) {
            let (inputs, outputs, ands) =
                (circuit.inputs() as u64, circuit.outputs().len() as u64, circuit.and_gates() as u64);
            let (kept, opened) = (bucketing.kept(), u64::from(bucketing.opened));
            let solderings = (kept - u64::from(bucketing.slots)) * inputs;
            known += opened * (1 + inputs + outputs) + kept + solderings;
            for by in [Garbler, Evaluator] {
                self.script.work(by, &DRAW, bucketing.copies(), 1);
                self.script.work(by, &KEEP, bucketing.copies() * (inputs + outputs + 1), 1);
            }
            self.script.work(Garbler, &SOLDER, solderings, MANY);
            self.script.message(Garbler, LABEL * opened * (1 + inputs));
            self.script.message(Garbler, LABEL * kept);
            self.script.message(Garbler, LABEL * solderings);
            self.filed(&SPILL, LABEL * (opened * (inputs + outputs) + solderings), 1);
            self.filed(&READ_BACK, LABEL * opened * inputs, MANY);
            let tables = 32 * ands * kept;
            let spills = tables > self.room;
            self.room -= if spills { 0 } else { tables };
            self.spilled.push(spills);
            let full = kept / COPIES_A_MESSAGE;
            let slices = SLICES.min(full).max(1);
            for k in 0..slices {
                let last = if k + 1 == slices { kept % COPIES_A_MESSAGE } else { 0 };
                let messages = share(full, k, slices);
                self.garble(Garbler, circuit, messages * COPIES_A_MESSAGE + last);
                for (copies, times) in [(COPIES_A_MESSAGE, messages), (last, u64::from(last > 0))] {
                    if times > 0 {
                        let payload = 32 * ands * copies;
                        self.script.work(Garbler, &TOUCH, payload * times, times);
                        self.script.bulk(Garbler, payload, times);
                        self.script.work(Evaluator, &HASH_TABLE, ands * copies * times, times);
                        match spills {
                            true => self.script.work(Evaluator, &SPILL, payload * times, times),
                            false => self.script.work(Evaluator, &TOUCH, payload * times, 1),
                        }
                    }
                }
                let checked = share(opened, k, slices);
                self.garble(Evaluator, circuit, checked);
                self.script.work(Evaluator, &HASH_TABLE, ands * checked, checked.div_ceil(16));
            }
        }
        known
    }

    /// Adds the openings of authenticators. Returns the number of claims.
    pub fn open_authenticators(&mut self, program: &Program, parameters: &Parameters) -> u64 {
        self.script.phase("prepare");
        let (plain, input) = (parameters.plain, parameters.input);
        let mut known = 0;
        for (bucketing, delta_differences, hashes) in [(plain, 0, 1), (input, input.kept(), 3)] {
            let (opened, solderings) =
                (u64::from(bucketing.opened), bucketing.kept() - u64::from(bucketing.slots));
            for by in [Garbler, Evaluator] {
                self.script.work(by, &DRAW, bucketing.copies(), 1);
                self.script.work(
                    by,
                    &KEEP,
                    bucketing.copies() * if delta_differences > 0 { 2 } else { 1 },
                    1,
                );
            }
            self.script.work(Garbler, &SOLDER, solderings, MANY);
            self.script.message(Garbler, LABEL * opened);
            self.script.message(Garbler, LABEL * delta_differences);
            self.script.message(Garbler, LABEL * solderings);
            // Authenticators are sorted into the order of buckets. The sort uses temporary files.
            self.filed(&READ_BACK, 32 * bucketing.copies() + 36 * bucketing.kept(), 1);
            self.filed(
                &SPILL,
                (36 + 32 + 4) * bucketing.kept() + LABEL * (delta_differences + solderings),
                1,
            );
            self.script.work(Evaluator, &HASH_LABEL, hashes * opened, MANY);
            known += opened * if delta_differences > 0 { 2 } else { 1 } + delta_differences + solderings;
        }
        for (circuit, bucketing) in used(program, parameters) {
            let solderings = bucketing.kept() * circuit.outputs().len() as u64;
            self.script.work(Garbler, &SOLDER, solderings, MANY);
            self.script.message(Garbler, LABEL * solderings);
            self.filed(&SPILL, LABEL * solderings, 1);
            known += solderings;
        }
        known
    }

    /// Adds the solderings of the program. Returns the number of claims.
    pub fn join(&mut self, program: &Program, parameters: &Parameters, private: u64) -> u64 {
        self.script.phase("build");
        let mut all = private;
        for (circuit, bucketing) in used(program, parameters) {
            let solderings = u64::from(bucketing.slots) * circuit.inputs() as u64;
            self.script.work(Garbler, &SOLDER, solderings, MANY);
            self.script.message(Garbler, LABEL * solderings);
            all += solderings;
        }
        self.script.message(Garbler, LABEL * private);
        all
    }

    /// Adds the evaluation of the program. `solderings` are proven together with the inputs.
    pub fn evaluate(&mut self, program: &Program, parameters: &Parameters, solderings: u64) {
        self.script.phase("evaluate");
        let (x, y) = (width(program, Garbler), width(program, Evaluator));
        let bits = wires(program, |to| to.includes(Evaluator));
        self.script.message(Garbler, LABEL * (x + y) + bits.div_ceil(8));
        self.prove(None, Some(bits), Some(y + solderings));
        let votes = |bucketing: Bucketing| u64::from(bucketing.bucket);
        self.script.work(Evaluator, &HASH_LABEL, x * votes(parameters.input), 1);
        for (place, (circuit, bucketing)) in used(program, parameters).enumerate() {
            let kept = bucketing.kept();
            let (ands, outputs) = (circuit.and_gates() as u64, circuit.outputs().len() as u64);
            let tasks = kept.div_ceil(COPIES_A_MESSAGE);
            self.script.work(Evaluator, &SOLDER, kept * (circuit.inputs() as u64 + outputs), tasks);
            self.script.work(
                Evaluator,
                &READ_BACK,
                if self.spilled[place] { 32 * ands * kept } else { 0 },
                tasks,
            );
            let solderings = (kept - u64::from(bucketing.slots)) * circuit.inputs() as u64 + kept * outputs;
            self.filed(&READ_BACK, LABEL * solderings, tasks);
            let authenticators = u64::from(bucketing.slots) * outputs * votes(parameters.plain);
            self.filed(&READ_BACK, (32 + 4 + LABEL) * authenticators, MANY);
            self.script.work(Evaluator, &EVALUATE_AND, ands * kept, tasks);
            self.script.work(Evaluator, &EVALUATE_XOR, (circuit.gate_count() as u64 - ands) * kept, tasks);
            self.script.work(
                Evaluator,
                &HASH_LABEL,
                u64::from(bucketing.slots) * outputs * votes(parameters.plain),
                MANY,
            );
        }
    }

    pub fn decode(&mut self, program: &Program, parameters: &Parameters) {
        self.script.phase("decode");
        let outputs = wires(program, |to| to.includes(Garbler));
        // Recovery always takes place: it hashes once for each input bit of the garbler and evaluates in
        // plaintext.
        let gates =
            program.slots().map(|slot| program.component(slot.component).circuit.gate_count() as u64).sum();
        let recovered = u64::from(parameters.input.bucket) * u64::from(parameters.input.slots);
        self.script.work(Evaluator, &HASH_LABEL, recovered, MANY);
        self.script.work(Evaluator, &SIMULATE, gates, 1);
        self.script.message(Evaluator, outputs.div_ceil(8) + 32);
    }
}
