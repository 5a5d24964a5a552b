//! What the two roles have in common where their stock lies on disk: a session that is set up or restored, is
//! filled, and runs programs.

use std::sync::Arc;

use zeroize::Zeroizing;

use super::pieces::Stored;
use crate::authenticators::{
    EvaluatorAuthenticators, EvaluatorComponent, GarblerAuthenticators, GarblerComponent,
};
use crate::build::{GarblerClaims, Joined};
use crate::hooks::Hooks;
use crate::instance::CommitmentSender;
use crate::ots::{EvaluatorOts, GarblerOts};
use crate::parameters::Parameters;
use crate::sessions::{EvaluatorCore, Pooled, in_pool};
use crate::stock::{CUTS_OF_AN_ENTRY, ComponentItems, Request, Stock};
use crate::{Evaluator, Garbler, SecurityReport, build, decode, evaluate};
use brickwork_base::Error;
use brickwork_circuit::{Party, Program};
use brickwork_primitives::commit::{Receiver as _, Sender as _};
use brickwork_primitives::ot::{CotReceiver as _, CotSender as _};
use brickwork_session::{Run, SessionId, Terms};
use brickwork_stock::Writers;

/// What a program gave: the bits of a party's outputs, whether they had to be recovered, and what was
/// promised.
pub(super) struct Outcome {
    pub outputs: Vec<bool>,
    pub recovered: bool,
    pub security: SecurityReport,
}

/// A role's session. After an error nothing more is done with it, but it has the connection: that must not
/// close before what a cheat was about is burned.
pub(super) trait Side<'o>: Sized + Pooled {
    const ROLE: Party;
    type Component: Stored + ComponentItems;
    type Gadgets: Stored;
    type Ots: Stored;

    fn setup(run: Run<'o>, terms: &Terms, hooks: Hooks) -> Result<Self, Error>;
    /// The session that [`Side::secrets`] are of.
    fn restore(run: Run<'o>, terms: &Terms, secrets: &[u8], hooks: Hooks) -> Result<Self, Error>;
    fn secrets(&self) -> Zeroizing<Vec<u8>>;
    fn id(&self) -> &SessionId;
    fn security(&self) -> u32;
    fn run(&mut self) -> &mut Run<'o>;
    fn line(&self) -> &Run<'o>;
    /// The connection and the hooks, for the next session.
    fn release(self: Box<Self>) -> (Run<'o>, Hooks);
    fn stock(&mut self) -> &mut Stock<Self::Component, Self::Gadgets, Self::Ots>;
    /// The garbler's, which makes its commitments again.
    fn committer(&self) -> Option<&CommitmentSender> {
        None
    }

    /// Goes on with the ranges of all counters that belong to this entry of the log. No two entries have the
    /// same.
    fn enter(&mut self, number: u64);
    /// Makes what is asked for; what need not wait goes into segments as it comes.
    fn fill(&mut self, request: &Request, parameters: &Parameters, segments: Writers) -> Result<(), Error>;
    /// Runs a program on what is in [`Side::stock`].
    fn evaluate(&mut self, program: &Arc<Program>, input: &[bool]) -> Result<Outcome, Error>;
}

/// Authenticators that belong to one range, as a power of two.
const GADGETS_OF_A_RANGE: u32 = 36;

impl<'o> Side<'o> for Garbler<'o> {
    const ROLE: Party = Party::Garbler;
    type Component = GarblerComponent;
    type Gadgets = GarblerAuthenticators;
    type Ots = GarblerOts;

    fn setup(run: Run<'o>, terms: &Terms, hooks: Hooks) -> Result<Self, Error> {
        Garbler::set_up(run, terms, hooks)
    }

    fn restore(run: Run<'o>, terms: &Terms, secrets: &[u8], hooks: Hooks) -> Result<Self, Error> {
        Garbler::restored(run, terms, secrets, hooks)
    }

    fn secrets(&self) -> Zeroizing<Vec<u8>> {
        Garbler::secrets(self)
    }

    fn id(&self) -> &SessionId {
        &self.session
    }

    fn security(&self) -> u32 {
        self.security
    }

    fn run(&mut self) -> &mut Run<'o> {
        &mut self.run
    }

    fn line(&self) -> &Run<'o> {
        &self.run
    }

    fn release(self: Box<Self>) -> (Run<'o>, Hooks) {
        // What is not moved out is dropped where it is, and erased.
        let Garbler { run, hooks, .. } = *self;
        (run, hooks)
    }

    fn stock(&mut self) -> &mut Stock<GarblerComponent, GarblerAuthenticators, GarblerOts> {
        &mut self.stock
    }

    fn committer(&self) -> Option<&CommitmentSender> {
        Some(&self.sender)
    }

    fn enter(&mut self, number: u64) {
        self.sender.enter(number);
        self.cot.enter(number);
        self.authenticators = number << GADGETS_OF_A_RANGE;
        self.serial = number << CUTS_OF_AN_ENTRY;
    }

    fn fill(&mut self, request: &Request, parameters: &Parameters, _: Writers) -> Result<(), Error> {
        self.fill_agreed(request, parameters)
    }

    fn evaluate(&mut self, program: &Arc<Program>, input: &[bool]) -> Result<Outcome, Error> {
        let parts = self.stock.take(program)?;
        let security = parts.report(program, self.security)?;
        let outputs = in_pool(self, |party| {
            let (parts, told) = party.with_ots(parts)?;
            let (ready, joints) = build::garbler(party, program, parts)?;
            let masked = evaluate::garbler_receives(party, &ready)?;
            // The joints are proven with the inputs: nothing that E sends before it has evaluated depends on
            // them.
            let unproven = GarblerClaims { program, solderings: &joints, openings: &told };
            evaluate::garbler(party, &ready, Some(&unproven), input, &masked)?;
            decode::garbler(party, program, &ready)
        })?;
        Ok(Outcome { outputs, recovered: false, security })
    }
}

impl<'o> Side<'o> for Evaluator<'o> {
    const ROLE: Party = Party::Evaluator;
    type Component = EvaluatorComponent;
    type Gadgets = EvaluatorAuthenticators;
    type Ots = EvaluatorOts;

    fn setup(run: Run<'o>, terms: &Terms, hooks: Hooks) -> Result<Self, Error> {
        Evaluator::set_up(run, terms, hooks)
    }

    fn restore(run: Run<'o>, terms: &Terms, secrets: &[u8], hooks: Hooks) -> Result<Self, Error> {
        Evaluator::restored(run, terms, secrets, hooks)
    }

    fn secrets(&self) -> Zeroizing<Vec<u8>> {
        Evaluator::secrets(self)
    }

    fn id(&self) -> &SessionId {
        &self.core.session
    }

    fn security(&self) -> u32 {
        self.core.security
    }

    fn run(&mut self) -> &mut Run<'o> {
        &mut self.core.run
    }

    fn line(&self) -> &Run<'o> {
        &self.core.run
    }

    fn release(self: Box<Self>) -> (Run<'o>, Hooks) {
        let Evaluator { core: EvaluatorCore { run, hooks, .. }, .. } = *self;
        (run, hooks)
    }

    fn stock(&mut self) -> &mut Stock<EvaluatorComponent, EvaluatorAuthenticators, EvaluatorOts> {
        &mut self.stock
    }

    fn enter(&mut self, number: u64) {
        self.core.receiver.enter(number);
        self.core.cot.enter(number);
        self.core.authenticators = number << GADGETS_OF_A_RANGE;
        self.core.serial = number << CUTS_OF_AN_ENTRY;
    }

    fn fill(&mut self, request: &Request, parameters: &Parameters, segments: Writers) -> Result<(), Error> {
        self.core.segments = Some(segments);
        self.fill_agreed(request, parameters)?;
        self.core.segments = None;
        Ok(())
    }

    fn evaluate(&mut self, program: &Arc<Program>, input: &[bool]) -> Result<Outcome, Error> {
        let parts = self.stock.take(program)?;
        let security = parts.report(program, self.core.security)?;
        let (outputs, recovered) = in_pool(self, |party| {
            let (parts, opened) = party.with_ots(parts)?;
            let ready = build::evaluator(party, parts)?;
            let masked = evaluate::evaluator_sends(party, &ready.received().ots, input)?;
            let (ready, evaluated) =
                evaluate::evaluator(party, program, Joined::Claimed(ready, opened), input, masked)?;
            decode::evaluator(party, program, &ready, &evaluated, input)
        })?;
        Ok(Outcome { outputs, recovered, security })
    }
}
