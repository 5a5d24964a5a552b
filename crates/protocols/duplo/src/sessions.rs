//! The phases of a session as values. After its setup a session fills its stock. [`Garbler::build`] takes the
//! items of a program from the stock, and the built program is evaluated and decoded once. Every step
//! consumes the previous value. So after an error the session and all its secrets are gone, and used items
//! cannot be used again.

use super::hooks::Hooks;
use super::ots;
use super::party::{Evaluator, EvaluatorCore, Garbler, Pooled, entered};
use super::phases::{self, Agreement, Flights, OTHER_STEP};
use super::report::Duplo;
use super::request::Request;
use super::setup::SetupRequest;
use super::steps::{Secret, Step};
use super::{Error, Parameters, setup};
use crate::StepReport;
use brickwork_base::digest::Digest;
use brickwork_base::pool::Pool;
use brickwork_circuit::Party;
use brickwork_primitives::commit::{Claims, Receiver, Sender};
use brickwork_protocol::{Metered, Observer, PhaseReport, Promise, Terms, agree};
use brickwork_wire::Channel;

impl Garbler {
    /// Sets up a session: base OTs, and the offsets of the whole session.
    ///
    /// # Errors
    /// [`Error::Mismatch`] if the peer wants something else, [`Error::Peer`] if it cheats, [`Error::Io`] if
    /// it goes away.
    pub fn setup(channel: Channel, terms: &Terms, observer: impl Observer + 'static) -> Result<Self, Error> {
        Self::set_up(Metered::new::<Duplo>(channel, Party::Garbler, Box::new(observer)), terms, Hooks::none())
    }

    pub(super) fn set_up(run: Metered, terms: &Terms, hooks: Hooks) -> Result<Self, Error> {
        let (mut party, _) = setup::garbler(run, &SetupRequest::stock(terms), hooks)?;
        phases::garbler::preprocess(&mut party, None, None, true)?;
        Ok(party)
    }
}

impl Garbler {
    /// Returns the items that the stock lacks for a step, or for a program as a step.
    pub fn missing(&self, step: impl Into<Step>) -> Request {
        self.stock.missing(&step.into())
    }

    /// Returns the secrets that the last step kept, in the order of its outputs.
    pub fn kept(&self) -> &[Secret] {
        self.stock.kept.last()
    }

    /// Forgets a kept secret; no step can use it any more.
    pub fn forget(&mut self, secret: &Secret) {
        self.stock.kept.forget(secret);
    }

    /// Preprocesses and prepares the request, and puts it into the stock.
    ///
    /// # Errors
    /// As [`Garbler::setup`]; [`Error::Usage`] after the session's first input: the components of a session
    /// must exist before its inputs (the restriction of Theorem 5.1), so a new session must be set up.
    pub fn fill(mut self, request: &Request) -> Result<Self, Error> {
        if self.used {
            return Err(Error::Usage(
                "a session cannot make new items after its first input; begin another session".into(),
            ));
        }
        let parameters = Parameters::for_stock(request, self.security)?;
        agree(
            &mut self.run.channel,
            &filling(request, &parameters),
            "the two parties have different requests to preprocess",
        )?;
        self.fill_agreed(request, &parameters)?;
        Ok(self)
    }

    /// Preprocesses a request on which both parties have agreed, and puts it into the stock.
    pub(super) fn fill_agreed(&mut self, request: &Request, parameters: &Parameters) -> Result<(), Error> {
        entered(self, |party| {
            let ots = request
                .ots
                .map(|count| ots::garbler_random_cots(&mut party.run, &mut party.cot, count, party.binding))
                .transpose()?;
            let (preprocessed, openings) =
                phases::garbler::preprocess(party, Some((request, parameters)), ots, false)?;
            let Garbler { run, sender, ka, ot, .. } = &mut *party;
            let mut claims = Claims::new();
            openings.claims(
                [&ka.shares, &ot.shares],
                &preprocessed.components,
                &preprocessed.input_authenticators,
                &mut claims,
            );
            sender.prove(&mut run.channel, &[], &claims)?;
            drop(claims);
            party.stock.put(preprocessed.gathered()?);
            Ok(())
        })
    }

    /// Takes the items of a step, or of a program as a step, from the stock and solders them.
    ///
    /// # Errors
    /// As [`Garbler::setup`]; [`Error::Stock`] if there are too few items, which [`Garbler::missing`] tells
    /// beforehand.
    pub fn build(self, step: impl Into<Step>) -> Result<GarblerBuilt, Error> {
        self.build_step(step.into())
    }

    fn build_step(mut self, step: Step) -> Result<GarblerBuilt, Error> {
        step.check_session(Some(&self.session))?;
        self.stock.kept.check(&step)?;
        let program = step.program();
        self.run.program();
        agree(&mut self.run.channel, &step.digest(), OTHER_STEP)?;
        let taken = self
            .stock
            .take(&step)
            .and_then(|material| Ok((material.promise(program, self.security)?, material)));
        let (promise, material) = taken?;
        entered(self, |mut party| {
            let material = phases::garbler::make_lacking_ots(&mut party, material)?;
            let built = phases::garbler::Built::build(&mut party, program, material, Flights::Apart)?;
            Ok(GarblerBuilt { party, step: step.clone(), built, promise })
        })
    }

    /// Runs a step, or a program as a step, with the fewest crossings: `build`, `evaluate` and `decode` at
    /// once. `input` has this party's input bits. Returns the step's result, and the session for the next
    /// step. The evaluator has its outputs after two round trips, and the garbler half a round trip later.
    ///
    /// # Errors
    /// As [`Garbler::build`]; [`Error::Input`] if `input` has the wrong length.
    pub fn run(self, step: impl Into<Step>, input: &[bool]) -> Result<(StepReport, Self), Error> {
        self.run_step(step.into(), input)
    }

    fn run_step(mut self, step: Step, input: &[bool]) -> Result<(StepReport, Self), Error> {
        step.check_input(Party::Garbler, input)?;
        step.check_session(Some(&self.session))?;
        let material = self.stock.take(&step)?;
        entered(self, |mut party| {
            let report = phases::garbler::step(&mut party, &step, Agreement::Steps, material, input)?;
            Ok((report, party))
        })
    }

    /// Closes the session. Returns the time and the bytes of each phase.
    ///
    /// # Errors
    /// [`Error::Io`] if the peer went away.
    pub fn close(self) -> Result<Vec<PhaseReport>, Error> {
        self.run.finish()
    }
}

/// A program at one party whose components are soldered together. It can be evaluated once.
pub struct GarblerBuilt {
    party: Garbler,
    step: Step,
    built: phases::garbler::Built,
    promise: Promise,
}

impl GarblerBuilt {
    /// Returns the promise of this program, for the batches that its items come from.
    pub fn promise(&self) -> &Promise {
        &self.promise
    }

    /// Sends the labels of both parties' inputs.
    ///
    /// # Errors
    /// As [`Garbler::setup`]; [`Error::Input`] if `input` has the wrong length.
    pub fn evaluate(self, input: &[bool]) -> Result<GarblerEvaluated, Error> {
        self.step.check_input(Party::Garbler, input)?;
        entered(self, |GarblerBuilt { mut party, step, built, .. }| {
            let evaluated = built.evaluate(&mut party, step.program(), input)?;
            Ok(GarblerEvaluated { party, step, evaluated })
        })
    }
}

/// An evaluated program whose outputs must still be decoded.
pub struct GarblerEvaluated {
    party: Garbler,
    step: Step,
    evaluated: phases::garbler::Evaluated,
}

impl GarblerEvaluated {
    /// Returns the bits of the garbler's outputs, and the session for the next program.
    ///
    /// # Errors
    /// As [`Garbler::setup`].
    pub fn decode(self) -> Result<(Vec<bool>, Garbler), Error> {
        entered(self, |GarblerEvaluated { mut party, step, evaluated }| {
            let outputs = evaluated.decode(&mut party, step.program())?;
            Ok((outputs, party))
        })
    }
}

impl Evaluator {
    /// Sets up a session: base OTs, and the offsets of the whole session.
    ///
    /// # Errors
    /// [`Error::Mismatch`] if the peer wants something else, [`Error::Peer`] if it cheats, [`Error::Io`] if
    /// it goes away.
    pub fn setup(channel: Channel, terms: &Terms, observer: impl Observer + 'static) -> Result<Self, Error> {
        Self::set_up(
            Metered::new::<Duplo>(channel, Party::Evaluator, Box::new(observer)),
            terms,
            Hooks::none(),
        )
    }

    pub(super) fn set_up(run: Metered, terms: &Terms, hooks: Hooks) -> Result<Self, Error> {
        let mut begun = setup::evaluator(run, &SetupRequest::stock(terms), hooks, |_, _, answer| {
            answer.proposes_nothing()
        })?;
        let (offsets, ..) = phases::evaluator::preprocess(&mut begun.core, None, None, begun.offsets)?;
        Ok(offsets.of_session(begun.core))
    }
}

impl Evaluator {
    /// Returns the items that the stock lacks for a step, or for a program as a step.
    pub fn missing(&self, step: impl Into<Step>) -> Request {
        self.stock.missing(&step.into())
    }

    /// Returns the secrets that the last step kept, in the order of its outputs.
    pub fn kept(&self) -> &[Secret] {
        self.stock.kept.last()
    }

    /// Forgets a kept secret; no step can use it any more.
    pub fn forget(&mut self, secret: &Secret) {
        self.stock.kept.forget(secret);
    }

    /// Preprocesses and prepares the request, and puts it into the stock.
    ///
    /// # Errors
    /// As [`Evaluator::setup`]; [`Error::Usage`] after the session's first input: the components of a session
    /// must exist before its inputs (the restriction of Theorem 5.1), so a new session must be set up.
    pub fn fill(mut self, request: &Request) -> Result<Self, Error> {
        if self.used {
            return Err(Error::Usage(
                "a session cannot make new items after its first input; begin another session".into(),
            ));
        }
        let parameters = Parameters::for_stock(request, self.core.security)?;
        agree(
            &mut self.core.run.channel,
            &filling(request, &parameters),
            "the two parties have different requests to preprocess",
        )?;
        self.fill_agreed(request, &parameters)?;
        Ok(self)
    }

    /// Preprocesses a request on which both parties have agreed, and puts it into the stock.
    pub(super) fn fill_agreed(&mut self, request: &Request, parameters: &Parameters) -> Result<(), Error> {
        entered(self, |party| {
            let EvaluatorCore { run, cot, rng, binding, .. } = &mut party.core;
            let ots = request
                .ots
                .map(|count| ots::evaluator_random_cots(run, cot, rng, count, *binding))
                .transpose()?;
            let ((), preprocessed, opened) =
                phases::evaluator::preprocess(&mut party.core, Some((request, parameters)), ots, ())?;
            let Evaluator { core: EvaluatorCore { run, receiver, .. }, ka, ot, .. } = &mut *party;
            let mut claims = Claims::new();
            claims.about(&preprocessed, |preprocessed, claims| {
                opened.claims([ka, ot], &preprocessed.components, &preprocessed.input_authenticators, claims);
            });
            let proof = receiver.verify(&mut run.channel, &[], &claims)?;
            drop(claims);
            party.stock.put(preprocessed.proven(&proof).gathered()?);
            Ok(())
        })
    }

    /// Takes the items of a step, or of a program as a step, from the stock and receives their solderings.
    ///
    /// # Errors
    /// As [`Evaluator::setup`]; [`Error::Stock`] if there are too few items, which [`Evaluator::missing`]
    /// tells beforehand.
    pub fn build(self, step: impl Into<Step>) -> Result<EvaluatorBuilt, Error> {
        self.build_step(step.into())
    }

    fn build_step(mut self, step: Step) -> Result<EvaluatorBuilt, Error> {
        step.check_session(Some(&self.core.session))?;
        self.stock.kept.check(&step)?;
        let program = step.program();
        self.core.run.program();
        agree(&mut self.core.run.channel, &step.digest(), OTHER_STEP)?;
        let taken = self
            .stock
            .take(&step)
            .and_then(|material| Ok((material.promise(program, self.core.security)?, material)));
        let (promise, material) = taken?;
        entered(self, |mut party| {
            let material = phases::evaluator::make_lacking_ots(&mut party, material)?;
            let built = phases::evaluator::Built::build(&mut party, program, material, Flights::Apart)?;
            Ok(EvaluatorBuilt { party, step: step.clone(), built, promise })
        })
    }

    /// Runs a step, or a program as a step, with the fewest crossings: `build`, `evaluate` and `decode` at
    /// once. `input` has this party's input bits. Returns the step's result, and the session for the next
    /// step. The evaluator has its outputs after two round trips, and the garbler half a round trip later.
    ///
    /// # Errors
    /// As [`Evaluator::build`]; [`Error::Input`] if `input` has the wrong length.
    pub fn run(self, step: impl Into<Step>, input: &[bool]) -> Result<(StepReport, Self), Error> {
        self.run_step(step.into(), input)
    }

    fn run_step(mut self, step: Step, input: &[bool]) -> Result<(StepReport, Self), Error> {
        step.check_input(Party::Evaluator, input)?;
        step.check_session(Some(&self.core.session))?;
        let material = self.stock.take(&step)?;
        entered(self, |mut party| {
            let report = phases::evaluator::step(&mut party, &step, Agreement::Steps, material, input)?;
            Ok((report, party))
        })
    }

    /// Closes the session. Returns the time and the bytes of each phase.
    ///
    /// # Errors
    /// [`Error::Io`] if the peer went away.
    pub fn close(self) -> Result<Vec<PhaseReport>, Error> {
        self.core.run.finish()
    }
}

/// A program at one party whose components are soldered together. It can be evaluated once.
pub struct EvaluatorBuilt {
    party: Evaluator,
    step: Step,
    built: phases::evaluator::Built,
    promise: Promise,
}

impl EvaluatorBuilt {
    /// Returns the promise of this program, for the batches that its items come from.
    pub fn promise(&self) -> &Promise {
        &self.promise
    }

    /// Sends this party's masked input and evaluates every slot.
    ///
    /// # Errors
    /// As [`Evaluator::setup`]; [`Error::Input`] if `input` has the wrong length.
    pub fn evaluate(self, input: &[bool]) -> Result<EvaluatorEvaluated, Error> {
        self.step.check_input(Party::Evaluator, input)?;
        entered(self, |EvaluatorBuilt { mut party, step, built, .. }| {
            let evaluated = built.evaluate(&mut party, step.program(), input)?;
            Ok(EvaluatorEvaluated { party, step, evaluated })
        })
    }
}

/// An evaluated program whose outputs must still be decoded.
pub struct EvaluatorEvaluated {
    party: Evaluator,
    step: Step,
    evaluated: phases::evaluator::Evaluated,
}

impl EvaluatorEvaluated {
    /// Returns the bits of the evaluator's outputs, true if they were recovered from a cheating garbler, and
    /// the session for the next program. The second value can depend on the evaluator's input: do not behave
    /// differently if it is true ([`Aside::recovered`](crate::Aside::recovered)).
    ///
    /// # Errors
    /// As [`Evaluator::setup`].
    pub fn decode(self) -> Result<(Vec<bool>, bool, Evaluator), Error> {
        entered(self, |EvaluatorEvaluated { mut party, step, evaluated }| {
            let (outputs, recovered) = evaluated.decode(&mut party, step.program())?;
            Ok((outputs, recovered, party))
        })
    }
}

/// Returns a digest of the request and its parameters. It must be the same at both parties.
fn filling(request: &Request, parameters: &Parameters) -> [u8; 32] {
    Digest::of("brickwork 2026-11 duplo filling")
        .digest(&request.digest())
        .digest(&parameters.digest())
        .done()
}

impl Pooled for GarblerBuilt {
    fn pool(&self) -> &Pool {
        &self.party.pool
    }
}

impl Pooled for GarblerEvaluated {
    fn pool(&self) -> &Pool {
        &self.party.pool
    }
}

impl Pooled for EvaluatorBuilt {
    fn pool(&self) -> &Pool {
        &self.party.core.pool
    }
}

impl Pooled for EvaluatorEvaluated {
    fn pool(&self) -> &Pool {
        &self.party.core.pool
    }
}
