//! A step of a standing session in the fewest crossings: what build, evaluate and decode do one after another,
//! with the messages of all three in as few flights as their order allows.
//!
//! ```text
//!   both at once             what each means to run;   E: f   G: the solderings                       crossing 1
//!   garbler -> evaluator     labels of both inputs, indicator bits                                             2
//!   evaluator -> garbler     seed                                                                              3
//!   garbler -> evaluator     proof of the solderings, the inputs, and what else was opened                     4
//!   evaluator -> garbler     the garbler's outputs                                                             5
//! ```
//!
//! So the evaluator has its outputs after two round trips, the garbler half of one later. Where the step's OTs
//! are not in stock, they are made between the first two.
//!
//! Neither message of the first crossing waits for the peer's, and neither tells anything if the peer means
//! another step: f is the input masked with choice bits that nobody else knows, and solderings are sums of
//! labels of which the other party has none. What was taken for it is not used again, as the session ends
//! there. Everything else that is said stands before the one proof, so the gate before the first output is the
//! only one (docs/reactive.md).

use super::build::{self, GarblerClaims, Joined};
use super::party::{EvaluatorMaterial, GarblerMaterial};
use super::steps::Step;
use super::{Aside, Error, Evaluator, Garbler, StepReport, decode, evaluate};
use brickwork_base::Party;
use brickwork_primitives::commit;
use brickwork_session::{announce, confirm};

/// What to say where the parties mean different steps.
pub(super) const OTHER_STEP: &str = "the peer's program is another one";

/// Whether both parties are known to mean this step.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Agreement {
    /// They have said so, before anything was taken.
    Reached,
    /// They say so with the first flight.
    ToCome,
}

/// Runs a step on this material.
pub(super) fn garbler<C: commit::Scheme>(
    party: &mut Garbler<C>,
    step: &Step,
    mut agreement: Agreement,
    material: GarblerMaterial,
    input: &[bool],
) -> Result<StepReport, Error> {
    step.check_input(Party::Garbler, input)?;
    let (program, digest) = (step.program(), step.digest());
    let security = material.report(program, party.security)?;
    party.used = true;
    if agreement == Agreement::ToCome {
        announce(&mut party.run.channel, &digest)?;
        if material.ots.is_none() {
            confirm(&mut party.run.channel, &digest, OTHER_STEP)?;
            agreement = Agreement::Reached;
        }
    }
    let (material, openings) = party.with_ots(material)?;
    let (ready, solderings) = build::garbler(party, program, material)?;
    if agreement == Agreement::ToCome {
        confirm(&mut party.run.channel, &digest, OTHER_STEP)?;
    }
    let masked = evaluate::garbler_receives(party, &ready)?;
    // The solderings are proven with the inputs: nothing that E sends before it has evaluated depends on them.
    let unproven = GarblerClaims { program, solderings: &solderings, openings: &openings };
    evaluate::garbler(party, &ready, Some(&unproven), input, &masked)?;
    let outputs = decode::garbler(party, program, &ready)?;
    Ok(StepReport { outputs, kept: party.kept().to_vec(), security, aside: Aside::default() })
}

/// Runs a step on this material.
pub(super) fn evaluator<C: commit::Scheme>(
    party: &mut Evaluator<C>,
    step: &Step,
    mut agreement: Agreement,
    material: EvaluatorMaterial,
    input: &[bool],
) -> Result<StepReport, Error> {
    step.check_input(Party::Evaluator, input)?;
    let (program, digest) = (step.program(), step.digest());
    let security = material.report(program, party.core.security)?;
    party.used = true;
    if agreement == Agreement::ToCome {
        announce(&mut party.core.run.channel, &digest)?;
        if material.ots.is_none() {
            confirm(&mut party.core.run.channel, &digest, OTHER_STEP)?;
            agreement = Agreement::Reached;
        }
    }
    let (material, opened) = party.with_ots(material)?;
    let ots = material.received().ots.as_deref().unwrap_or_default();
    let masked = evaluate::evaluator_sends(party, ots, input)?;
    party.core.run.channel.flush()?;
    if agreement == Agreement::ToCome {
        confirm(&mut party.core.run.channel, &digest, OTHER_STEP)?;
    }
    let ready = build::evaluator(party, material)?;
    let (ready, evaluated) =
        evaluate::evaluator(party, program, Joined::Claimed(ready, opened), input, masked)?;
    let (outputs, recovered) = decode::evaluator(party, program, &ready, &evaluated, input)?;
    Ok(StepReport { outputs, kept: party.kept().to_vec(), security, aside: Aside { recovered } })
}
