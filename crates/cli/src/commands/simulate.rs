//! `brickwork simulate`: runs the program without cryptography, for both parties at once.

use std::sync::Arc;

use brickwork::circuit::{Party, Program};
use brickwork::program::repeated;
use brickwork::reading;
use brickwork_kernels::SecretBlocks;
use serde::Serialize;
use zeroize::Zeroizing;

use crate::commands::programs;
use crate::flags::arguments::{ExecutionsFlag, ProgramArguments, ReadingFlags, secret};
use crate::render::failure::Failure;
use crate::render::outcome::ShownOutputs;
use crate::render::report::Report;

/// Evaluate a program without any protocol.
#[derive(clap::Args)]
pub struct SimulateFlags {
    #[command(flatten)]
    pub program: ProgramArguments,
    #[command(flatten)]
    executions: ExecutionsFlag,
    #[command(flatten)]
    values: BothInputs,
}

/// The inputs of both parties.
#[derive(clap::Args)]
pub struct BothInputs {
    /// The garbler's input: JSON, @file, @table.csv, csv:FILE for a table with any file name, or - for stdin
    #[arg(long, value_name = "VALUE", allow_negative_numbers = true, value_parser = secret)]
    pub garbler: Option<Zeroizing<String>>,
    /// The evaluator's input: JSON, @file, @table.csv, csv:FILE for a table with any file name, or - for
    /// stdin
    #[arg(long, value_name = "VALUE", allow_negative_numbers = true, value_parser = secret)]
    pub evaluator: Option<Zeroizing<String>>,
    #[command(flatten)]
    pub reading: ReadingFlags,
}

impl BothInputs {
    /// Returns the bits of both values, including tables that they name.
    pub fn bits(
        &self,
        program: &Program,
        executions: Option<u32>,
    ) -> Result<[SecretBlocks<bool>; 2], Failure> {
        let texts = [&self.garbler, &self.evaluator].map(|text| text.as_ref().map(|text| text.as_str()));
        Ok(reading::bits_of_both(texts, program, executions, &self.reading.given())?)
    }
}

pub fn run(arguments: &SimulateFlags) -> Result<Report, Failure> {
    #[derive(Serialize)]
    struct SimulatedFields {
        #[serde(flatten)]
        outputs: ShownOutputs,
        and_gates: u64,
    }
    let Simulated { program, bits: [garbler, evaluator], and_gates } = simulated(arguments)?;
    let bits = [(Party::Garbler, &garbler[..]), (Party::Evaluator, &evaluator[..])];
    let outputs = ShownOutputs::of(&program, arguments.executions.executions, &bits);
    let human = outputs.to_string();
    Report::new(&SimulatedFields { outputs, and_gates }, human)
}

/// The outputs of both parties, and the program.
struct Simulated {
    program: Arc<Program>,
    bits: [Vec<bool>; 2],
    and_gates: u64,
}

fn simulated(arguments: &SimulateFlags) -> Result<Simulated, Failure> {
    let program = programs::program(&arguments.program)?.given().clone();
    let executions = arguments.executions.executions;
    let [garbler, evaluator] = arguments.values.bits(&program, executions)?;
    let repeated = repeated(&program, executions)?;
    let outputs = repeated.simulate(&garbler, &evaluator);
    let bits = [Party::Garbler, Party::Evaluator].map(|party| repeated.output_bits(party, &outputs));
    Ok(Simulated { program, bits, and_gates: repeated.and_gates() })
}
