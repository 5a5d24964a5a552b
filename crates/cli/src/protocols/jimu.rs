//! JIMU at the command line: it holds against a cheater, with gates in buckets and one offset.

use brickwork::circuit::Program;
use brickwork::cut_and_choose::at_most;
use brickwork::jimu::{self, Jimu};
use brickwork::session::Protocol;
use serde_json::Value;

use super::seam::{Model, Only, Played, Ready, WithinTheRun, promise, says_nothing};
use crate::arguments::Buckets;
use crate::cut::{Cut, Wish};
use crate::failure::Failure;
use crate::outcome::cost_json;
use crate::programs;
use crate::work::{Choices, Estimate, Work, fits_memory};

impl Played for Jimu {
    fn model(&self) -> Model {
        Model::Malicious
    }

    fn online_from(&self) -> &'static str {
        "prepare"
    }

    fn allows(&self, choices: &Choices) -> Result<(), Failure> {
        let parameters = choices.parameters;
        let nothing = [
            (parameters.commitments.is_some(), "--commitments", "wires are hashed, not committed to"),
            (parameters.linking.is_some(), "--linking", "wires are soldered"),
            (
                choices.buckets.buckets == Buckets::Standard,
                "--buckets",
                "the buckets follow from the program and the security",
            ),
            (
                !matches!(choices.cut, Wish::Fastest | Wish::Fixed(Cut::Given)),
                "--cut",
                "every AND gate is made by itself, in whatever component it lies",
            ),
            (choices.stored, "--store", "it has no stock: it makes its gates within the run"),
            (choices.lanes > 1, "--lanes", "it sends over one connection"),
            (choices.drawn, "--svg", "there is nothing to choose"),
        ];
        says_nothing(Jimu::NAME, &nothing)
    }

    fn only_way(
        &self,
        program: &Program,
        executions: u32,
        choices: &Choices,
        estimate: &Estimate,
    ) -> Result<Option<Only>, Failure> {
        let program = program.repeat(executions as usize)?;
        let security = choices.parameters.security();
        let (cost, security) = jimu::cost::predict(&program, security, &estimate.machine, &estimate.link)?;
        Ok(Some(Only { cost, security: promise(&security)? }))
    }

    fn program(&self, given: &Program, executions: Option<u32>) -> Result<Program, Failure> {
        programs::repeated(given, executions)
    }

    fn ready<'w>(&self, work: &'w Work<'w>) -> Result<Box<dyn Ready + 'w>, Failure> {
        let Estimate { machine, link } = Estimate::of(&work.flags)?;
        let (cost, _) = jimu::cost::predict(&work.job.program, work.job.security, &machine, &link)?;
        fits_memory(cost.memory_bytes(work.party), work.flags.resources.max_ram)?;
        Ok(Box::new(WithinTheRun::<Jimu> {
            work,
            proposal: (),
            predicted: cost_json(&cost),
            recovered: |aside| aside.recovered,
        }))
    }

    fn promise_text(&self, security: &Value) -> String {
        let amount = |what: &str| {
            let [made, opened, bucket] =
                ["made", "opened", "bucket"].map(|of| security[what][of].as_u64().unwrap_or_default());
            format!("{made} made, {opened} opened, buckets of {bucket}")
        };
        format!(
            "Security: a cheater succeeds with probability at most 2^-{}; everything together at most {}; \
             {:.0}-bit computational security\nGates: {}; input authenticators: {}\n",
            security["statistical_bits"],
            at_most(security["bound_log2"].as_f64().unwrap_or_default()),
            security["computational_bits"].as_f64().unwrap_or_default(),
            amount("gates"),
            amount("authenticators"),
        )
    }
}
