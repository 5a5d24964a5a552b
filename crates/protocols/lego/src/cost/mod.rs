//! The predicted cost of a run: the protocol as a list of steps, in an order in which both parties execute
//! it. Bytes and crossings are exact; times are estimates.

mod measure;
mod work;

use brickwork_base::Error;
use brickwork_base::Party::{Evaluator, Garbler};
use brickwork_circuit::Program;
use brickwork_plan::{self as plan, Cost, Link, MANY, Machine, PROCESS_BYTES, Script, TOUCH};
use brickwork_primitives::binding::RevealedCombinations;
use brickwork_primitives::commit;
use brickwork_primitives::commit::CommittedValues::{Chosen, Random};
use brickwork_primitives::cost::work::*;
use brickwork_primitives::cost::{
    CommitmentCost, DIGEST, DIMENSION, GATE_BYTES, LABEL, agree_to_take, base_ots, extend, meet,
};
use brickwork_primitives::cut_and_choose::Bucketing;
use brickwork_protocol::{GREETING_BYTES, SessionProtocol, TABLE_MEMORY};

use crate::instance::level;
use crate::layout::Layout;
use crate::parameters::{PROPOSAL_BYTES, Parameters};
use crate::report::Lego;
use work::{BEYOND, GROWS};

/// Returns the cost of a run of a program between two parties of this machine.
///
/// # Errors
/// As [`script`].
pub fn predict(
    program: &Program,
    parameters: &Parameters,
    machine: &Machine,
    link: &Link,
) -> Result<Cost, Error> {
    Ok(plan::predict(&script(program, parameters)?, machine, link))
}

/// Returns the bytes that the garbler and the evaluator send in a run: payload and framing. Exact.
///
/// # Errors
/// As [`script`].
pub fn sent_bytes(program: &Program, parameters: &Parameters) -> Result<[u64; 2], Error> {
    // No message is distributed over several connections.
    Ok(script(program, parameters)?.sent_bytes(1))
}

/// The origin of the gates in a run with a store. Both parties share this many unused epochs, and have given
/// up nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GateSource {
    /// The stock has gates, inputs and OTs.
    Gates {
        /// The number of epochs.
        epochs: u64,
    },
    /// The stock has the program in built form.
    Built {
        /// The number of epochs.
        epochs: u64,
    },
}

/// Returns the cost of a run from stock between two parties of this machine.
///
/// # Errors
/// As [`script`].
pub fn predict_from_stock(
    program: &Program,
    stock: GateSource,
    security: u32,
    machine: &Machine,
    link: &Link,
) -> Result<Cost, Error> {
    Ok(plan::predict(&script_from_stock(program, stock, security)?, machine, link))
}

/// Returns the steps of a run from stock, if one preprocessing for this program made all its batches.
///
/// # Errors
/// As [`script`].
pub fn script_from_stock(program: &Program, stock: GateSource, security: u32) -> Result<Script, Error> {
    let layout = Layout::new(program)?;
    let (ands, wires) = (layout.ands as u64, layout.garbler as u64);
    let parameters = Parameters::of_step((ands, 1.0), (wires, 1.0), security)?;
    let commitments = CommitmentCost::of(&level(security)?);
    let (from_gates, epochs) = match stock {
        GateSource::Gates { epochs } => (true, epochs),
        GateSource::Built { epochs } => (false, epochs),
    };
    let script = Script::new(Lego::PHASES);
    let mut writer = Writer { script, commitments, layout, parameters: &parameters };
    meet(&mut writer.script, ([GREETING_BYTES as u64], GREETING_BYTES as u64), epochs);
    agree_to_take(&mut writer.script, "build");
    let ([garbler, evaluator, outputs], solderings) = (writer.wires(), writer.layout.solderings() as u64);
    // The confirmation of the burn. The message after it does not wait for it.
    writer.script.message(Garbler, DIGEST);
    if from_gates {
        writer.again(3 * ands + 2 * garbler + 2 * evaluator);
        writer.commitments.commit(&mut writer.script, outputs, false);
        writer.solder();
    }
    writer.script.exchange([], [DIGEST]);
    writer.script.phase("evaluate");
    writer.script.exchange([], [evaluator.div_ceil(8)]);
    writer.script.message(Garbler, LABEL * (garbler + evaluator) + outputs.div_ceil(8));
    match from_gates {
        true => writer.prove(Some(outputs), Some(outputs), Some(solderings + evaluator)),
        false => writer.prove(None, Some(outputs), Some(evaluator)),
    }
    writer.evaluate();
    writer.decode();
    writer.beyond(&["build", "evaluate", "decode"]);
    let memory = writer.memory();
    let mut script = writer.script;
    script.memory_bytes = memory;
    Ok(script)
}

/// Returns the steps of a run, as a script.
///
/// # Errors
/// [`Error::Limit`] if the program has too many AND gates, [`Error::Usage`] if the security of the parameters
/// is not offered.
pub fn script(program: &Program, parameters: &Parameters) -> Result<Script, Error> {
    let layout = Layout::new(program)?;
    let commitments = CommitmentCost::of(&level(parameters.security)?);
    let mut writer = Writer { script: Script::new(Lego::PHASES), commitments, layout, parameters };
    writer.setup(); // 1, 2, 3
    let new = writer.commit(); // 3
    writer.prove(Some(new), Some(1), None); // 4, 5
    writer.challenge(); // 6
    writer.open(); // 7
    writer.script.phase("evaluate");
    let [_, evaluator, outputs] = writer.wires();
    writer.script.message(Evaluator, evaluator.div_ceil(8)); // 8
    writer.script.phase("build");
    writer.again(new);
    writer.prove(None, None, Some(new)); // 8, 9
    writer.script.phase("evaluate");
    let [garbler, ..] = writer.wires();
    writer.script.message(Garbler, LABEL * (garbler + evaluator) + outputs.div_ceil(8)); // 9
    writer.prove(None, Some(outputs), Some(evaluator)); // 9, 10, 11
    writer.evaluate();
    writer.decode(); // 12
    writer.beyond(Lego::PHASES);
    let (memory, files) = (writer.memory(), [writer.garblers_files(), writer.evaluators_files()]);
    let mut script = writer.script;
    script.memory_bytes = memory;
    script.disk_bytes = files;
    Ok(script)
}

/// Returns the number of items in buckets that are not heads.
fn others(cut: &Bucketing) -> u64 {
    cut.kept() - u64::from(cut.slots)
}

struct Writer<'a> {
    script: Script,
    commitments: CommitmentCost,
    layout: Layout<'a>,
    parameters: &'a Parameters,
}

impl Writer<'_> {
    /// Returns the numbers of both parties' inputs and of outputs.
    fn wires(&self) -> [u64; 3] {
        [self.layout.garbler, self.layout.evaluator, self.layout.outputs.len()].map(|count| count as u64)
    }

    fn prove(&mut self, new: Option<u64>, bits: Option<u64>, known: Option<u64>) {
        self.commitments.prove(&mut self.script, new, bits, known);
    }

    fn again(&mut self, commitments: u64) {
        self.commitments.again(&mut self.script, commitments);
    }

    /// Returns the number of OTs: those of the evaluator's inputs, and those that mask combinations.
    fn ots(&self) -> u64 {
        (self.layout.evaluator + self.parameters.ot_binding) as u64
    }

    fn setup(&mut self) {
        let ots = self.ots();
        let Writer { script, commitments, .. } = self;
        script.phase("setup");
        script.work(Garbler, &CHOOSE, DIMENSION, DIMENSION);
        let hello = GREETING_BYTES as u64;
        script.exchange([hello, PROPOSAL_BYTES as u64, base_ots(DIMENSION)], [hello, base_ots(0)]);
        script.work(Evaluator, &OFFER, DIMENSION, DIMENSION);
        script.work(Garbler, &CHOSEN, DIMENSION, DIMENSION);
        extend(script, Evaluator, commitments.ots());
        script.phase("prepare");
        extend(script, Evaluator, ots);
        script.phase("setup");
        commitments.commit(script, 1, true);
    }

    /// Adds the commitments, and returns their number.
    fn commit(&mut self) -> u64 {
        let ([garbler, evaluator, outputs], ots) = (self.wires(), self.ots());
        let Writer { script, commitments, parameters, .. } = self;
        let [gates, wires, inputs] =
            [parameters.gates, parameters.authenticators, parameters.inputs].map(|cut| cut.copies());
        script.phase("preprocess");
        commitments.commit(script, 2 * gates, false);
        script.message(Garbler, LABEL);
        script.work(Garbler, &GARBLE_AND, gates, MANY);
        script.work(Garbler, &TOUCH, 64 * gates, MANY);
        script.message(Garbler, 32 * gates);
        script.work(Evaluator, &TOUCH, 32 * gates, MANY);
        commitments.commit(script, gates, true);
        commitments.commit(script, wires, false);
        script.work(Garbler, &HASH_LABEL, 2 * wires, MANY);
        script.message(Garbler, 32 * wires);
        script.phase("prepare");
        commitments.commit(script, inputs, false);
        script.work(Garbler, &HASH_LABEL, 3 * inputs, MANY);
        commitments.commit(script, inputs, true);
        script.message(Garbler, 32 * inputs);
        commitments.commit(script, garbler, false);
        commitments.commit(script, ots, true);
        commitments.commit(script, evaluator, false);
        script.phase("build");
        commitments.commit(script, outputs, false);
        1 + 3 * gates + wires + 2 * inputs + ots + garbler + evaluator + outputs
    }

    fn challenge(&mut self) {
        let Writer { script, parameters, .. } = self;
        script.phase("preprocess");
        script.message(Evaluator, 3 * LABEL);
        script.phase("prepare");
        script.message(Evaluator, RevealedCombinations::bytes(parameters.ot_binding) as u64);
        for cut in [parameters.gates, parameters.authenticators, parameters.inputs] {
            for by in [Garbler, Evaluator] {
                script.work(by, &DRAW, cut.copies(), 1);
            }
        }
    }

    fn open(&mut self) {
        let Writer { script, parameters: Parameters { gates, authenticators, inputs, .. }, .. } = self;
        script.phase("preprocess");
        script.message(Garbler, 2 * LABEL * u64::from(gates.opened));
        script.work(Evaluator, &EVALUATE_AND, gates.opened.into(), MANY);
        script.message(Garbler, LABEL * u64::from(authenticators.opened));
        script.work(Evaluator, &HASH_LABEL, authenticators.opened.into(), MANY);
        script.work(Garbler, &SOLDER, 3 * others(gates) + authenticators.kept(), 1);
        script.message(Garbler, 3 * LABEL * others(gates));
        script.message(Garbler, LABEL * authenticators.kept());
        script.phase("prepare");
        script.message(Garbler, LABEL * u64::from(inputs.opened));
        script.work(Evaluator, &HASH_LABEL, 3 * u64::from(inputs.opened), MANY);
        script.message(Garbler, LABEL * inputs.kept());
        script.message(Garbler, LABEL * inputs.kept());
        self.solder();
    }

    fn solder(&mut self) {
        let solderings = self.layout.solderings() as u64;
        self.script.phase("build");
        self.script.work(Garbler, &SOLDER, solderings, 1);
        self.script.message(Garbler, LABEL * solderings);
    }

    fn evaluate(&mut self) {
        let Writer { script, parameters: Parameters { gates, authenticators, inputs, .. }, .. } = self;
        script.work(Evaluator, &HASH_LABEL, inputs.kept(), 1);
        script.work(Evaluator, &EVALUATE_AND, gates.kept(), MANY);
        script.work(Evaluator, &SOLDER, 3 * gates.kept(), MANY);
        script.work(Evaluator, &HASH_LABEL, authenticators.kept() * u64::from(gates.bucket), MANY);
    }

    fn decode(&mut self) {
        let outputs = self.layout.outputs.iter().filter(|output| output.to.includes(Garbler)).count() as u64;
        let Writer { script, parameters, .. } = self;
        script.phase("decode");
        script.work(Evaluator, &HASH_LABEL, parameters.inputs.kept(), MANY);
        script.message(Evaluator, outputs.div_ceil(8) + 32);
    }

    /// Adds the time by which these phases exceed their work and messages. For some phases it is counted per
    /// AND gate of the program.
    fn beyond(&mut self, phases: &[&str]) {
        let all = Lego::PHASES.iter().zip(&BEYOND).zip(GROWS);
        for ((name, work), grows) in all.filter(|((name, _), _)| phases.contains(name)) {
            self.script.phase(name);
            self.script.beyond(work, if grows { self.parameters.gates.slots.into() } else { 1 });
        }
    }

    /// Returns the peak memory of the garbler and of the evaluator in bytes.
    fn memory(&self) -> [u64; 2] {
        let Parameters { gates, authenticators, .. } = self.parameters;
        let program = self.layout.program;
        let circuits: u64 = program.components().iter().map(|c| c.circuit.gate_count() as u64).sum();
        let wires = program.wires() as u64;
        let common = PROCESS_BYTES + circuits * GATE_BYTES + 8 * wires;
        let (made, wires_made) = (gates.copies(), authenticators.copies());
        // The memory of the assignment, and of the random values from which it is made.
        let drawn = 8 * (made + wires_made);
        let heads = u64::from(gates.slots);
        let solderings = LABEL * self.layout.solderings() as u64;
        // The memory of the kept values, which are all in memory when some are opened, and of data that waits
        // to be sent.
        let values = LABEL * (3 * made + wires_made);
        let garbler = values * 5 / 4 + values.min(commit::values_memory(TABLE_MEMORY)) + 3 * LABEL * heads;
        let told = 3 * LABEL * others(gates) + LABEL * (authenticators.kept() + 3 * u64::from(gates.opened));
        // If there are many tables and hashes, they are in a file between the challenge and the evaluation.
        let [[corrections, _], [tables, _]] = self.kept();
        let proven = 2 * corrections + tables;
        let joined = 36 * (gates.kept() + authenticators.kept()) + solderings;
        // Some freed memory is not returned to the system.
        let evaluator = (told + proven.max(joined)) * 17 / 16 + LABEL * wires;
        [common + garbler + drawn + solderings, common + evaluator + drawn + solderings]
    }

    /// Returns the bytes of the garbler's files: corrections of committed values that memory has no room for.
    fn garblers_files(&self) -> u64 {
        let (made, memory) = (self.parameters.gates.copies(), commit::values_memory(TABLE_MEMORY));
        let wires = self.parameters.authenticators.copies();
        commit::kept_values(memory, [(2 * made, Random), (made, Chosen), (wires, Random)]).1
    }

    /// Returns the bytes of the evaluator's files.
    fn evaluators_files(&self) -> u64 {
        self.kept().iter().map(|[_, in_file]| in_file).sum()
    }

    /// Returns the size of the corrections, and of the tables and hashes, that the evaluator keeps: in
    /// memory, and in files.
    fn kept(&self) -> [[u64; 2]; 2] {
        let Parameters { gates, authenticators, inputs, .. } = self.parameters;
        let (made, guards) = (gates.copies(), authenticators.copies());
        let n = self.commitments.ots();
        let (mut left, mut corrections) = (TABLE_MEMORY, [0, 0]);
        // The corrections of one row of commitments go to a file if they do not fit into the remaining
        // memory.
        let rows = [
            (2 * made, n - DIMENSION),
            (made, n),
            (guards, n - DIMENSION),
            (inputs.copies(), n - DIMENSION),
            (inputs.copies(), n),
        ];
        for bytes in rows.map(|(count, corrected)| count.div_ceil(DIMENSION) * LABEL * corrected) {
            let in_file = bytes > left;
            corrections[usize::from(in_file)] += bytes;
            left -= if in_file { 0 } else { bytes };
        }
        let tables = 2 * LABEL * (made + guards);
        [corrections, if tables > TABLE_MEMORY { [0, tables] } else { [tables, 0] }]
    }
}
