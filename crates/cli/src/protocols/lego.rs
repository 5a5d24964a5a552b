//! LEGO at the command line: it holds against a cheater, and garbles AND gates that fit any program.

use brickwork::circuit::Program;
use brickwork::lego::{self, Lego};
use brickwork::session::Protocol;
use serde_json::Value;

use super::seam::{
    Model, Only, Played, Ready, WithinTheRun, batch_text, malicious_text, promise, says_nothing,
};
use crate::arguments::Buckets;
use crate::cut::{Cut, Wish};
use crate::failure::Failure;
use crate::outcome::cost_json;
use crate::programs;
use crate::work::{Choices, Estimate, Work, fits_memory};

impl Played for Lego {
    fn model(&self) -> Model {
        Model::Malicious
    }

    fn online_from(&self) -> &'static str {
        "evaluate"
    }

    fn allows(&self, choices: &Choices) -> Result<(), Failure> {
        let nothing = [
            (choices.parameters.linking.is_some(), "--linking", "it solders wires that are committed to"),
            (
                choices.buckets.buckets == Buckets::Standard,
                "--buckets",
                "its buckets are those with the fewest bytes",
            ),
            (
                !matches!(choices.cut, Wish::Fastest | Wish::Fixed(Cut::Given)),
                "--cut",
                "every AND gate is garbled by itself, in whatever component it lies",
            ),
            (choices.stored, "--store", "it makes its gates within the run, and has no stock yet"),
            (choices.lanes > 1, "--lanes", "it sends over one connection"),
            (choices.drawn, "--svg", "there is nothing to choose"),
        ];
        says_nothing(Lego::NAME, &nothing)
    }

    fn only_way(
        &self,
        program: &Program,
        executions: u32,
        choices: &Choices,
        estimate: &Estimate,
    ) -> Result<Option<Only>, Failure> {
        let program = program.repeat(executions as usize)?;
        let parameters = lego::parameters(&program, choices.parameters.security())?;
        let cost = lego::cost::predict(&program, &parameters, &estimate.machine, &estimate.link)?;
        Ok(Some(Only { cost, security: promise(&parameters.report())? }))
    }

    fn program(&self, given: &Program, executions: Option<u32>) -> Result<Program, Failure> {
        programs::repeated(given, executions)
    }

    fn ready<'w>(&self, work: &'w Work<'w>) -> Result<Box<dyn Ready + 'w>, Failure> {
        let Estimate { machine, link } = Estimate::of(&work.flags)?;
        let parameters = lego::parameters(&work.job.program, work.job.security)?;
        let cost = lego::cost::predict(&work.job.program, &parameters, &machine, &link)?;
        fits_memory(cost.memory_bytes(work.party), work.flags.resources.max_ram)?;
        Ok(Box::new(WithinTheRun::<Lego> {
            work,
            proposal: parameters,
            predicted: cost_json(&cost),
            recovered: |aside| aside.recovered,
        }))
    }

    fn promise_text(&self, security: &Value) -> String {
        let batches = ["gates", "wire_authenticators", "input_authenticators"];
        let batches = batches.map(|kind| batch_text(&security[kind]));
        malicious_text(security) + &batches.concat()
    }
}
