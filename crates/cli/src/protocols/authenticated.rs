//! Components with authenticated masks at the command line: they hold against a cheater, and each is garbled
//! once.

use brickwork::authenticated::{self, Authenticated};
use brickwork::circuit::Program;
use brickwork::cut_and_choose::at_most;
use brickwork::ot::Cot;
use brickwork::session::Protocol;
use serde_json::Value;

use super::seam::{Member, Model, Only, Played, Ready, promise, says_nothing};
use crate::arguments::{Buckets, Parameters};
use crate::cut::{Cut, Wish};
use crate::failure::Failure;
use crate::outcome::cost_json;
use crate::programs;
use crate::work::{Choices, Estimate, Work, fits_memory};

impl Played for Authenticated {
    fn model(&self) -> Model {
        Model::Malicious
    }

    fn online_from(&self) -> &'static str {
        "build"
    }

    fn ways(&self, wishes: &Parameters) -> Vec<Parameters> {
        Cot::ALL.map(|cot| Parameters { cot: Some(cot), ..wishes.clone() }).into()
    }

    fn allows(&self, choices: &Choices) -> Result<(), Failure> {
        let parameters = choices.parameters;
        let cut = !matches!(choices.cut, Wish::Fastest | Wish::Fixed(Cut::Given));
        let buckets = choices.buckets.buckets == Buckets::Standard;
        says_nothing(
            Authenticated::NAME,
            &[
                (
                    parameters.commitments.is_some(),
                    "--commitments",
                    "masks have macs, nothing is committed to",
                ),
                (parameters.linking.is_some(), "--linking", "it solders wires by their masks"),
                (buckets, "--buckets", "its buckets are the cheapest that the security allows"),
                (cut, "--cut", "a component is garbled once, whatever its size"),
                (choices.stored, "--store", "it makes its components within the run, and has no stock yet"),
                (choices.lanes > 1, "--lanes", "it sends over one connection"),
                (choices.drawn, "--svg", "there is nothing to choose"),
            ],
        )
    }

    fn only_way(
        &self,
        program: &Program,
        executions: u32,
        choices: &Choices,
        estimate: &Estimate,
    ) -> Result<Option<Only>, Failure> {
        let (program, parameters) = (program.repeat(executions as usize)?, choices.parameters);
        let (security, cot) = (parameters.security(), parameters.cot());
        let (cost, security) =
            authenticated::cost::predict(&program, security, cot, &estimate.machine, &estimate.link)?;
        Ok(Some(Only { cost, security: promise(&security)? }))
    }

    fn program(&self, given: &Program, executions: Option<u32>) -> Result<Program, Failure> {
        programs::repeated(given, executions)
    }

    fn ready<'w>(&self, work: &'w Work<'w>) -> Result<Box<dyn Ready + 'w>, Failure> {
        let Estimate { machine, link } = Estimate::of(&work.flags)?;
        let (job, proposal) = (&work.job, work.flags.parameters.cot());
        let (cost, _) = authenticated::cost::predict(&job.program, job.security, proposal, &machine, &link)?;
        fits_memory(cost.memory_bytes(work.party), work.flags.resources.max_ram)?;
        Ok(Box::new(Member::<Authenticated, _> {
            work,
            proposal,
            limits: proposal,
            cut: Cut::Given,
            executions: 1,
            predicted: cost_json(&cost),
            stock: None,
            recovered: |()| false,
        }))
    }

    fn promise_text(&self, security: &Value) -> String {
        format!(
            "Security: a cheater succeeds with probability at most 2^-{}; everything together at most {}; \
             {:.0}-bit computational security\nTriples: {} of {} leaky ANDs, in buckets of {}; correlated \
             OTs: {}\n",
            security["statistical_bits"],
            at_most(security["bound_log2"].as_f64().unwrap_or_default()),
            security["computational_bits"].as_f64().unwrap_or_default(),
            security["triples"],
            security["leaky_ands"],
            security["bucket"],
            security["cot"].as_str().unwrap_or_default(),
        )
    }
}
