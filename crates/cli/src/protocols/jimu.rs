//! JIMU at the command line: it holds against a cheater, with gates in buckets under one offset, or
//! components in buckets under offsets of their own.

use brickwork::circuit::Program;
use brickwork::cut_and_choose::at_most;
use brickwork::jimu::{self, Jimu, Unit};
use brickwork::session::Protocol;
use serde_json::Value;

use super::seam::{Member, Model, Only, Played, Ready, promise, says_nothing};
use crate::arguments::Buckets;
use crate::cut::{Cut, Wish};
use crate::failure::Failure;
use crate::outcome::cost_json;
use crate::programs;
use crate::report::plural;
use crate::work::{Choices, Estimate, Work, fits_memory};

/// What is cut and chosen: both parties say it, or take what sends fewer bytes.
fn unit(wish: &Wish, program: &Program, security: u32) -> Result<Unit, Failure> {
    match wish {
        Wish::Fixed(Cut::Gates) => Ok(Unit::Gates),
        Wish::Fixed(_) => Ok(Unit::Components),
        Wish::Fastest => Ok(jimu::cost::choose(program, security)?),
    }
}

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
                !matches!(choices.cut, Wish::Fastest | Wish::Fixed(Cut::Given | Cut::Gates)),
                "--cut",
                "it cuts by the components of the file (given) or by AND gates (gates)",
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
        let unit = unit(choices.cut, &program, security)?;
        let (cost, security) =
            jimu::cost::predict(&program, unit, security, &estimate.machine, &estimate.link)?;
        Ok(Some(Only { cost, security: promise(&security)? }))
    }

    fn program(&self, given: &Program, executions: Option<u32>) -> Result<Program, Failure> {
        programs::repeated(given, executions)
    }

    fn ready<'w>(&self, work: &'w Work<'w>) -> Result<Box<dyn Ready + 'w>, Failure> {
        let Estimate { machine, link } = Estimate::of(&work.flags)?;
        let (program, security) = (&work.job.program, work.job.security);
        let unit = unit(work.flags.cut, program, security)?;
        let (cost, _) = jimu::cost::predict(program, unit, security, &machine, &link)?;
        fits_memory(cost.memory_bytes(work.party), work.flags.resources.max_ram)?;
        Ok(Box::new(Member::<Jimu, Unit> {
            work,
            proposal: unit,
            limits: unit,
            cut: if unit == Unit::Gates { Cut::Gates } else { Cut::Given },
            executions: 1,
            predicted: cost_json(&cost),
            stock: None,
            recovered: |aside| aside.recovered,
        }))
    }

    fn promise_text(&self, security: &Value) -> String {
        let amount = |of: &Value| {
            let [slots, made, opened, bucket] =
                ["slots", "made", "opened", "bucket"].map(|field| of[field].as_u64().unwrap_or_default());
            format!("{} of {bucket}, {made} made, {opened} of them opened", plural(slots, "bucket"))
        };
        let copies: String = security["copies"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|kind| format!("  {}: {}\n", kind["name"].as_str().unwrap_or_default(), amount(kind)))
            .collect();
        format!(
            "Security: a cheater succeeds with probability at most 2^-{}; everything together at most {}; \
             {:.0}-bit computational security\n{copies}  input authenticators: {}\n",
            security["statistical_bits"],
            at_most(security["bound_log2"].as_f64().unwrap_or_default()),
            security["computational_bits"].as_f64().unwrap_or_default(),
            amount(&security["authenticators"]),
        )
    }
}
