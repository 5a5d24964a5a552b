//! `brickwork simulate`: the program in the clear, for both parties at once.

use brickwork::circuit::{Party, Program};
use brickwork_kernels::Erasing;
use serde_json::json;

use crate::arguments::{Executions, ProgramArguments, Reading};
use crate::failure::Failure;
use crate::outcome::outputs_text;
use crate::report::{Report, bit_string};
use crate::{programs, values};

/// Evaluate a program in the clear, without any protocol.
#[derive(clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    program: ProgramArguments,
    #[command(flatten)]
    executions: Executions,
    #[command(flatten)]
    values: Values,
}

impl Arguments {
    /// Puts these in the place of the values that its flags name.
    pub fn give(&mut self, inputs: [Option<String>; 2]) {
        self.values.give(inputs);
    }
}

/// The inputs of both parties.
#[derive(clap::Args)]
pub struct Values {
    /// The garbler's input: JSON, @file, @table.csv, csv:table of any name, or - for stdin
    #[arg(long, value_name = "VALUE", allow_negative_numbers = true)]
    pub garbler: Option<String>,
    /// The evaluator's input: JSON, @file, @table.csv, csv:table of any name, or - for stdin
    #[arg(long, value_name = "VALUE", allow_negative_numbers = true)]
    pub evaluator: Option<String>,
    #[command(flatten)]
    pub reading: Reading,
}

impl Values {
    /// Puts these in the place of what the flags name.
    pub fn give(&mut self, [garbler, evaluator]: [Option<String>; 2]) {
        (self.garbler, self.evaluator) = (garbler, evaluator);
    }

    /// Returns both values, with everything that they name.
    pub fn read(
        &self,
        program: &Program,
        executions: Option<u32>,
    ) -> Result<[serde_json::Value; 2], Failure> {
        let texts = [self.garbler.as_deref(), self.evaluator.as_deref()];
        values::values(texts, program, executions, &self.reading)
    }
}

pub fn run(arguments: &Arguments) -> Result<Report, Failure> {
    let _erasing = Erasing::begin();
    let program = programs::program(&arguments.program)?;
    let executions = arguments.executions.executions;
    let values = arguments.values.read(&program, executions)?;
    let garbler = values::input_bits(&program, Party::Garbler, executions, &values[0])?;
    let evaluator = values::input_bits(&program, Party::Evaluator, executions, &values[1])?;
    let repeated = programs::repeated(&program, executions)?;
    let outputs = repeated.simulate(&garbler, &evaluator);
    let bits = [Party::Garbler, Party::Evaluator].map(|party| repeated.output_bits(party, &outputs));
    let [garbler, evaluator] = [(Party::Garbler, &bits[0]), (Party::Evaluator, &bits[1])]
        .map(|(party, bits)| values::output_value(&program, party, executions, bits));
    let human = outputs_text(&[("garbler", &garbler), ("evaluator", &evaluator)]);
    let json = json!({
        "outputs": { "garbler": garbler, "evaluator": evaluator },
        "output_bits": { "garbler": bit_string(&bits[0]), "evaluator": bit_string(&bits[1]) },
        "and_gates": repeated.and_gates(),
    });
    Ok(Report::new(json, human))
}
