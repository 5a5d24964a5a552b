//! A step of a standing session in the fewest crossings: what build, evaluate and decode do one after
//! another, with the messages of all three in as few flights as their order allows.
//!
//! ```text
//!   both at once             what each means to run;   E: f   G: the solderings               crossing 1
//!   garbler -> evaluator     labels of both inputs, indicator bits                                  2
//!   evaluator -> garbler     seed                                                                   3
//!   garbler -> evaluator     proof of the solderings, the inputs, and what else was opened          4
//!   evaluator -> garbler     the garbler's outputs                                                  5
//! ```
//!
//! So the evaluator has its outputs after two round trips, the garbler half of one later. Where the step's
//! OTs are not in stock, they are made between the first two.
//!
//! Neither message of the first crossing waits for the peer's, and neither tells anything if the peer means
//! another step: f is the input masked with choice bits that nobody else knows, and solderings are sums of
//! labels of which the other party has none. What was taken for it is not used again, as the session ends
//! there. Everything else that is said stands before the one proof, so the gate before the first output is
//! the only one (docs/reactive.md).

use super::build::{self, GarblerClaims, Joined};
use super::party::{EvaluatorMaterial, GarblerMaterial};
use super::steps::Step;
use super::{Aside, Error, Evaluator, Garbler, StepReport, decode, evaluate};
use brickwork_base::Party;
use brickwork_primitives::commit;
use brickwork_session::stock::Stand;
use brickwork_session::{Metered, announce, confirm};

/// What to say where the parties mean different steps.
pub(super) const OTHER_STEP: &str = "the peer's program is another one";

/// How the parties make sure that they mean the same: each announces it at the beginning of the first flight,
/// and confirms the peer's before the second.
pub(super) enum Agreement {
    /// They compare the step.
    Steps,
    /// They have agreed on the step and on what it takes, and have yet to confirm that the other's store has
    /// burned it, too.
    Stores(Stand),
}

/// What the peer has yet to confirm.
enum Unconfirmed {
    Step([u8; 32]),
    Stand(Stand),
}

impl Agreement {
    fn announce(self, run: &mut Metered, step: &Step) -> Result<Unconfirmed, Error> {
        match self {
            Agreement::Stores(stand) => Ok(Unconfirmed::Stand(stand)),
            Agreement::Steps => {
                let digest = step.digest();
                announce(&mut run.channel, &digest)?;
                Ok(Unconfirmed::Step(digest))
            }
        }
    }
}

impl Unconfirmed {
    fn confirm(self, run: &mut Metered) -> Result<(), Error> {
        match self {
            Unconfirmed::Stand(stand) => stand.confirm(run),
            Unconfirmed::Step(digest) => confirm(&mut run.channel, &digest, OTHER_STEP),
        }
    }
}

/// Runs a step on this material.
pub(super) fn garbler<C: commit::Scheme>(
    party: &mut Garbler<C>,
    step: &Step,
    agreement: Agreement,
    material: GarblerMaterial,
    input: &[bool],
) -> Result<StepReport, Error> {
    step.check_input(Party::Garbler, input)?;
    let program = step.program();
    let security = material.report(program, party.security)?;
    party.used = true;
    let mut unconfirmed = Some(agreement.announce(&mut party.run, step)?);
    if material.ots.is_none() {
        unconfirmed.take().map_or(Ok(()), |unconfirmed| unconfirmed.confirm(&mut party.run))?;
    }
    let (material, openings) = party.with_ots(material)?;
    let (ready, solderings) = build::garbler(party, program, material)?;
    unconfirmed.map_or(Ok(()), |unconfirmed| unconfirmed.confirm(&mut party.run))?;
    let masked = evaluate::garbler_receives(party, &ready)?;
    // The solderings are proven with the inputs: nothing that E sends before it has evaluated depends on
    // them.
    let claims = GarblerClaims { program, solderings: &solderings, openings: &openings };
    evaluate::garbler(party, &ready, Some(&claims), input, &masked)?;
    let outputs = decode::garbler(party, program, &ready)?;
    Ok(StepReport { outputs, kept: party.kept().to_vec(), security, aside: Aside::default() })
}

/// Runs a step on this material.
pub(super) fn evaluator<C: commit::Scheme>(
    party: &mut Evaluator<C>,
    step: &Step,
    agreement: Agreement,
    material: EvaluatorMaterial,
    input: &[bool],
) -> Result<StepReport, Error> {
    step.check_input(Party::Evaluator, input)?;
    let program = step.program();
    let security = material.report(program, party.core.security)?;
    party.used = true;
    let mut unconfirmed = Some(agreement.announce(&mut party.core.run, step)?);
    if material.ots.is_none() {
        unconfirmed.take().map_or(Ok(()), |unconfirmed| unconfirmed.confirm(&mut party.core.run))?;
    }
    let (material, opened) = party.with_ots(material)?;
    let ots = material.received().ots.as_deref().unwrap_or_default();
    let masked = evaluate::evaluator_sends(party, ots, input)?;
    party.core.run.channel.flush()?;
    unconfirmed.map_or(Ok(()), |unconfirmed| unconfirmed.confirm(&mut party.core.run))?;
    let ready = build::evaluator(party, material)?;
    let (ready, evaluated) =
        evaluate::evaluator(party, program, Joined::Claimed(ready, opened), input, masked)?;
    let (outputs, recovered) = decode::evaluator(party, program, &ready, &evaluated, input)?;
    Ok(StepReport { outputs, kept: party.kept().to_vec(), security, aside: Aside { recovered } })
}
