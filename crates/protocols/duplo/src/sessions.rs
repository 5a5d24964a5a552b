//! The phases as values. A session after its setup fills its stock; [`Garbler::build`] takes what a program
//! needs out of it, and what was built is evaluated and decoded once. Every step consumes the value before
//! it, so an error destroys the session and all that was derived from its secrets, and nothing that was used
//! can be used again.

use std::sync::Arc;

use rayon::ThreadPool;
use zeroize::Zeroizing;

use super::authenticators::{
    EvaluatorAuthenticators, EvaluatorComponent, GarblerAuthenticators, GarblerComponent,
};
use super::build::{self, EvaluatorReady, GarblerReady, Joined};
use super::hooks::Hooks;
use super::instance::{Commitments, CotReceiver, CotSender};
use super::ots::{self, EvaluatorOts, GarblerOts};
use super::preprocessed::{EvaluatorCommitted, EvaluatorOpenings, GarblerCommitted, GarblerOpenings};
use super::report::Duplo;
use super::setup::SetupRequest;
use super::steps::{Secret, Step};
use super::stock::{Counters, ProgramMaterial, Request, Stock};
use super::{Error, Parameters, decode, evaluate, setup};
use crate::SecurityReport;
use brickwork_base::digest::Digest;
use brickwork_base::label::{Delta, Label};
use brickwork_base::random::Rng;
use brickwork_circuit::Party;
use brickwork_primitives::commit::{self, Claimed, Claims, Committed, Receiver, Sender, Shares};
use brickwork_session::{Metered, Observer, PhaseReport, SessionId, Terms, agree};
use brickwork_stock::Writers;
use brickwork_wire::Channel;

/// What a program of the garbler's took from the stock.
pub(super) type GarblerMaterial = ProgramMaterial<GarblerComponent, GarblerAuthenticators, GarblerOts>;

/// The garbler of a session, between two programs.
pub struct Garbler<C: commit::Scheme = Commitments> {
    pub(super) run: Metered,
    pub(super) pool: Arc<ThreadPool>,
    pub(super) session: SessionId,
    pub(super) security: u32,
    pub(super) sender: C::Sender,
    pub(super) cot: CotSender,
    /// The commitments to Δ_ka and Δ_ot.
    pub(super) ka: Committed,
    pub(super) ot: Committed,
    pub(super) rng: Rng,
    pub(super) hooks: Hooks,
    /// Committed values that are made again at a time, to be brought into another order.
    pub(super) window: usize,
    /// Combinations that bind each batch of OTs.
    pub(super) binding: usize,
    pub(super) counters: Counters,
    /// Whether an input has been used: after that nothing new may be preprocessed.
    pub(super) used: bool,
    pub(super) stock: Stock<GarblerComponent, GarblerAuthenticators, GarblerOts>,
}

impl Garbler {
    /// Setup: base OTs, and the offsets that last for the session.
    ///
    /// # Errors
    /// [`Error::Mismatch`] if the peer wants something else, [`Error::Peer`] if it cheats, [`Error::Io`] if
    /// it goes away.
    pub fn setup(channel: Channel, terms: &Terms, observer: impl Observer + 'static) -> Result<Self, Error> {
        Self::set_up(Metered::new::<Duplo>(channel, Party::Garbler, Box::new(observer)), terms, Hooks::none())
    }

    pub(super) fn set_up(run: Metered, terms: &Terms, hooks: Hooks) -> Result<Self, Error> {
        let (mut party, _) = setup::garbler(run, &SetupRequest::stock(terms), hooks)?;
        GarblerCommitted::default().prove(&mut party, true)?;
        Ok(party)
    }
}

impl<C: commit::Scheme> Garbler<C> {
    /// The offset of all plain authenticators.
    pub(super) fn delta_ka(&self) -> Delta {
        Delta::new(self.ka.values[0].bits())
    }

    /// What the stock lacks for a step, or for a program that is one.
    pub fn missing(&self, step: impl Into<Step>) -> Request {
        self.stock.missing(&step.into())
    }

    /// What the last step kept, in the order of its outputs.
    pub fn kept(&self) -> &[Secret] {
        self.stock.kept.last()
    }

    /// Forgets what a step kept; no step can carry it on any more.
    pub fn forget(&mut self, secret: &Secret) {
        self.stock.kept.forget(secret);
    }

    /// Preprocesses and prepares what is asked for, and puts it into the stock.
    ///
    /// # Errors
    /// As [`Garbler::setup`]; [`Error::Usage`] after the session's first input: the components that a session
    /// may use exist before it (the restriction of Theorem 5.1), so a new session must be set up.
    pub fn fill(mut self, request: &Request) -> Result<Self, Error> {
        if self.used {
            return Err(Error::Usage(
                "a session makes nothing new after its first input; begin another one".into(),
            ));
        }
        let parameters = Parameters::for_stock(request, self.security)?;
        agree(
            &mut self.run.channel,
            &filling(request, &parameters),
            "the peer is asked to preprocess something else",
        )?;
        self.fill_agreed(request, &parameters)?;
        Ok(self)
    }

    /// What both parties have agreed to preprocess.
    pub(super) fn fill_agreed(&mut self, request: &Request, parameters: &Parameters) -> Result<(), Error> {
        in_pool(self, |party| {
            let ots = request
                .ots
                .map(|count| ots::garbler_random_cots(&mut party.run, &mut party.cot, count, party.binding))
                .transpose()?;
            let committed = GarblerCommitted::to_all(party, request, parameters, ots)?;
            committed.prove(party, false)?;
            let (preprocessed, openings) = committed.open(party)?;
            let Garbler { run, sender, ka, ot, .. } = &mut *party;
            let mut claims = Claims::new();
            openings.claims(
                [&ka.shares, &ot.shares],
                &preprocessed.components,
                &preprocessed.pools,
                &mut claims,
            );
            sender.prove(&mut run.channel, &[], &claims)?;
            drop(claims);
            party.stock.put(preprocessed.gathered()?);
            Ok(())
        })
    }

    /// Takes what a step, or a program that is one, needs out of the stock and joins it.
    ///
    /// # Errors
    /// As [`Garbler::setup`]; [`Error::Stock`] if there is not enough, which [`Garbler::missing`] tells
    /// beforehand.
    pub fn build(mut self, step: impl Into<Step>) -> Result<GarblerBuilt<C>, Error> {
        let step = step.into();
        step.check_session(Some(&self.session))?;
        self.stock.kept.check(&step)?;
        let program = step.program();
        agree(&mut self.run.channel, &step.digest(), "the peer's program is another one")?;
        let report = self
            .stock
            .take(&step)
            .and_then(|material| Ok((material.report(program, self.security)?, material)));
        let (security, material) = report?;
        in_pool(self, |mut party| {
            let (material, openings) = party.with_ots(material)?;
            let (ready, solderings) = build::garbler(&mut party, program, material)?;
            build::garbler_proves(&mut party, program, &ready, &solderings, &openings)?;
            Ok(GarblerBuilt { party, step: step.clone(), ready, security })
        })
    }

    /// Makes the OTs that the material lacks, and tells what is still to be proven of them.
    pub(super) fn with_ots(
        &mut self,
        mut material: GarblerMaterial,
    ) -> Result<(GarblerMaterial, GarblerOpenings), Error> {
        if material.ots.is_some() {
            return Ok((material, GarblerOpenings::default()));
        }
        let cots = ots::garbler_random_cots(
            &mut self.run,
            &mut self.cot,
            material.layout.evaluator_inputs.len(),
            self.binding,
        )?;
        let committed = GarblerCommitted::to_ots(self, cots)?;
        committed.prove(self, false)?;
        let (preprocessed, openings) = committed.open(self)?;
        material.ots = Some(preprocessed.ots.into_iter().collect());
        Ok((material, openings))
    }

    /// Ends the session. Returns what each phase took.
    ///
    /// # Errors
    /// [`Error::Io`] if the peer went away.
    pub fn close(self) -> Result<Vec<PhaseReport>, Error> {
        self.run.finish()
    }
}

/// A program, joined and ready to be evaluated once.
pub struct GarblerBuilt<C: commit::Scheme = Commitments> {
    party: Garbler<C>,
    step: Step,
    ready: GarblerReady,
    security: SecurityReport,
}

impl<C: commit::Scheme> GarblerBuilt<C> {
    /// What is promised.
    pub fn security(&self) -> &SecurityReport {
        &self.security
    }

    /// Gives this party's input and serves the evaluator's.
    ///
    /// # Errors
    /// As [`Garbler::setup`]; [`Error::Input`] if `input` has the wrong length.
    pub fn evaluate(self, input: &[bool]) -> Result<GarblerEvaluated<C>, Error> {
        self.step.check_input(Party::Garbler, input)?;
        in_pool(self, |mut built| {
            built.party.used = true;
            let masked = evaluate::garbler_receives(&mut built.party, &built.ready)?;
            evaluate::garbler(&mut built.party, &built.ready, None, input, &masked)?;
            Ok(GarblerEvaluated(built))
        })
    }
}

/// An evaluated program, whose outputs are not known yet.
pub struct GarblerEvaluated<C: commit::Scheme = Commitments>(GarblerBuilt<C>);

impl<C: commit::Scheme> GarblerEvaluated<C> {
    /// The bits of the garbler's outputs, and the session for the next program.
    ///
    /// # Errors
    /// As [`Garbler::setup`].
    pub fn decode(self) -> Result<(Vec<bool>, Garbler<C>), Error> {
        in_pool(self, |GarblerEvaluated(GarblerBuilt { mut party, step, ready, .. })| {
            let outputs = decode::garbler(&mut party, step.program(), &ready)?;
            Ok((outputs, party))
        })
    }
}

/// What a program of the evaluator's took from the stock.
pub(super) type EvaluatorMaterial =
    ProgramMaterial<EvaluatorComponent, EvaluatorAuthenticators, EvaluatorOts>;

/// What an evaluator has of a session before anything is proven.
pub(super) struct EvaluatorCore<C: commit::Scheme> {
    pub run: Metered,
    pub pool: Arc<ThreadPool>,
    pub session: SessionId,
    pub security: u32,
    pub receiver: C::Receiver,
    pub cot: CotReceiver,
    pub rng: Rng,
    pub hooks: Hooks,
    /// Bytes of tables that may still be kept in memory.
    pub table_memory: u64,
    /// Bytes of the openings of copies and authenticators in one go that may be kept in memory.
    pub openings_memory: u64,
    /// Makes the segments that tables go into, while a store is filled.
    pub segments: Option<Writers>,
    /// Combinations that bind each batch of OTs.
    pub binding: usize,
    pub counters: Counters,
}

/// The evaluator of a session, between two programs.
pub struct Evaluator<C: commit::Scheme = Commitments> {
    pub(super) core: EvaluatorCore<C>,
    /// The commitments to Δ_ka and Δ_ot.
    pub(super) ka: Shares,
    pub(super) ot: Shares,
    /// S_ot = Δ_ot ⊕ Δ_ka.
    pub(super) ot_delta_difference: Label,
    /// Δ_ka if two valid labels of one wire came out of a bucket, in this step or in an earlier one of which
    /// something is kept: what the garbler's cheating gave away. Else zero.
    pub(super) delta_ka: Zeroizing<Label>,
    /// Whether an input has been used: after that nothing new may be preprocessed.
    pub(super) used: bool,
    pub(super) stock: Stock<EvaluatorComponent, EvaluatorAuthenticators, EvaluatorOts>,
}

impl Evaluator {
    /// Setup: base OTs, and the offsets that last for the session.
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
        let begun = setup::evaluator(run, &SetupRequest::stock(terms), hooks, |_, _, answer| {
            setup::no_proposal(answer)
        })?;
        Ok(EvaluatorCommitted::to_nothing().verify_first(begun.core, begun.offsets)?.0)
    }
}

impl<C: commit::Scheme> Evaluator<C> {
    /// What the stock lacks for a step, or for a program that is one.
    pub fn missing(&self, step: impl Into<Step>) -> Request {
        self.stock.missing(&step.into())
    }

    /// What the last step kept, in the order of its outputs.
    pub fn kept(&self) -> &[Secret] {
        self.stock.kept.last()
    }

    /// Forgets what a step kept; no step can carry it on any more.
    pub fn forget(&mut self, secret: &Secret) {
        self.stock.kept.forget(secret);
    }

    /// Preprocesses and prepares what is asked for, and puts it into the stock.
    ///
    /// # Errors
    /// As [`Evaluator::setup`]; [`Error::Usage`] after the session's first input: the components that a
    /// session may use exist before it (the restriction of Theorem 5.1), so a new session must be set up.
    pub fn fill(mut self, request: &Request) -> Result<Self, Error> {
        if self.used {
            return Err(Error::Usage(
                "a session makes nothing new after its first input; begin another one".into(),
            ));
        }
        let parameters = Parameters::for_stock(request, self.core.security)?;
        agree(
            &mut self.core.run.channel,
            &filling(request, &parameters),
            "the peer is asked to preprocess something else",
        )?;
        self.fill_agreed(request, &parameters)?;
        Ok(self)
    }

    /// What both parties have agreed to preprocess.
    pub(super) fn fill_agreed(&mut self, request: &Request, parameters: &Parameters) -> Result<(), Error> {
        in_pool(self, |party| {
            let EvaluatorCore { run, cot, rng, binding, .. } = &mut party.core;
            let ots = request
                .ots
                .map(|count| ots::evaluator_random_cots(run, cot, rng, count, *binding))
                .transpose()?;
            let committed = EvaluatorCommitted::to_all(&mut party.core, request, parameters, ots)?
                .verify(&mut party.core)?;
            let (preprocessed, opened) = committed.open(&mut party.core)?;
            let Evaluator { core: EvaluatorCore { run, receiver, .. }, ka, ot, .. } = &mut *party;
            let mut claims = Claims::new();
            claims.about(&preprocessed, |preprocessed, claims| {
                opened.claims([ka, ot], &preprocessed.components, &preprocessed.pools, claims);
            });
            let proof = receiver.verify(&mut run.channel, &[], &claims)?;
            drop(claims);
            party.stock.put(preprocessed.proven(&proof).gathered()?);
            Ok(())
        })
    }

    /// Takes what a step, or a program that is one, needs out of the stock and joins it.
    ///
    /// # Errors
    /// As [`Evaluator::setup`]; [`Error::Stock`] if there is not enough, which [`Evaluator::missing`] tells
    /// beforehand.
    pub fn build(mut self, step: impl Into<Step>) -> Result<EvaluatorBuilt<C>, Error> {
        let step = step.into();
        step.check_session(Some(&self.core.session))?;
        self.stock.kept.check(&step)?;
        let program = step.program();
        agree(&mut self.core.run.channel, &step.digest(), "the peer's program is another one")?;
        let report = self
            .stock
            .take(&step)
            .and_then(|material| Ok((material.report(program, self.core.security)?, material)));
        let (security, material) = report?;
        in_pool(self, |mut party| {
            let (material, opened) = party.with_ots(material)?;
            let ready = build::evaluator(&mut party, material)?;
            let ready = build::evaluator_verifies(&mut party, program, ready, opened)?;
            Ok(EvaluatorBuilt { party, step: step.clone(), ready, security })
        })
    }

    /// Makes the OTs that the material lacks, and what was opened of them.
    pub(super) fn with_ots(
        &mut self,
        material: EvaluatorMaterial,
    ) -> Result<(Claimed<EvaluatorMaterial>, EvaluatorOpenings), Error> {
        if material.ots.is_some() {
            return Ok((self.core.receiver.claimed(material), EvaluatorOpenings::default()));
        }
        let EvaluatorCore { run, cot, rng, binding, .. } = &mut self.core;
        let cots =
            ots::evaluator_random_cots(run, cot, rng, material.layout.evaluator_inputs.len(), *binding)?;
        let committed = EvaluatorCommitted::to_ots(&mut self.core, cots)?.verify(&mut self.core)?;
        let (preprocessed, opened) = committed.open(&mut self.core)?;
        Ok((
            preprocessed.map(|preprocessed| ProgramMaterial {
                ots: Some(preprocessed.ots.into_iter().collect()),
                ..material
            }),
            opened,
        ))
    }

    /// Ends the session. Returns what each phase took.
    ///
    /// # Errors
    /// [`Error::Io`] if the peer went away.
    pub fn close(self) -> Result<Vec<PhaseReport>, Error> {
        self.core.run.finish()
    }
}

/// A program, joined and ready to be evaluated once.
pub struct EvaluatorBuilt<C: commit::Scheme = Commitments> {
    party: Evaluator<C>,
    step: Step,
    ready: EvaluatorReady,
    security: SecurityReport,
}

impl<C: commit::Scheme> EvaluatorBuilt<C> {
    /// What is promised.
    pub fn security(&self) -> &SecurityReport {
        &self.security
    }

    /// Gives this party's input and evaluates every slot.
    ///
    /// # Errors
    /// As [`Evaluator::setup`]; [`Error::Input`] if `input` has the wrong length.
    pub fn evaluate(self, input: &[bool]) -> Result<EvaluatorEvaluated<C>, Error> {
        self.step.check_input(Party::Evaluator, input)?;
        in_pool(self, |mut built| {
            built.party.used = true;
            let masked = evaluate::evaluator_sends(&mut built.party, &built.ready.ots, input)?;
            let EvaluatorBuilt { mut party, step, ready, security } = built;
            let (ready, evaluated) =
                evaluate::evaluator(&mut party, step.program(), Joined::Proven(ready), input, masked)?;
            let built = EvaluatorBuilt { party, step, ready, security };
            Ok(EvaluatorEvaluated { built, evaluated, input: Zeroizing::new(input.to_vec()) })
        })
    }
}

/// An evaluated program, whose outputs are not known yet.
pub struct EvaluatorEvaluated<C: commit::Scheme = Commitments> {
    built: EvaluatorBuilt<C>,
    evaluated: evaluate::Evaluated,
    input: Zeroizing<Vec<bool>>,
}

impl<C: commit::Scheme> EvaluatorEvaluated<C> {
    /// The bits of the evaluator's outputs, whether they had to be recovered from a cheating garbler, and the
    /// session for the next program. The second depends on the evaluator's input, where the garbler cheats:
    /// do not behave differently ([`Aside::recovered`](crate::Aside::recovered)).
    ///
    /// # Errors
    /// As [`Evaluator::setup`].
    pub fn decode(self) -> Result<(Vec<bool>, bool, Evaluator<C>), Error> {
        in_pool(
            self,
            |EvaluatorEvaluated {
                 built: EvaluatorBuilt { mut party, step, ready, .. },
                 evaluated,
                 input,
             }| {
                let (outputs, recovered) =
                    decode::evaluator(&mut party, step.program(), &ready, &evaluated, &input)?;
                Ok((outputs, recovered, party))
            },
        )
    }
}

/// Names what is preprocessed, and how: both must mean the same.
fn filling(request: &Request, parameters: &Parameters) -> [u8; 32] {
    Digest::of("brickwork 2026-11 duplo filling")
        .digest(&request.digest())
        .digest(&parameters.digest())
        .done()
}

/// A value of a phase, which knows the threads that work for its session.
pub(super) trait Pooled: Send {
    fn pool(&self) -> &Arc<ThreadPool>;
}

impl<P: Pooled> Pooled for &mut P {
    fn pool(&self) -> &Arc<ThreadPool> {
        (**self).pool()
    }
}

impl<C: commit::Scheme> Pooled for Garbler<C> {
    fn pool(&self) -> &Arc<ThreadPool> {
        &self.pool
    }
}

impl<C: commit::Scheme> Pooled for GarblerBuilt<C> {
    fn pool(&self) -> &Arc<ThreadPool> {
        &self.party.pool
    }
}

impl<C: commit::Scheme> Pooled for GarblerEvaluated<C> {
    fn pool(&self) -> &Arc<ThreadPool> {
        &self.0.party.pool
    }
}

impl<C: commit::Scheme> Pooled for Evaluator<C> {
    fn pool(&self) -> &Arc<ThreadPool> {
        &self.core.pool
    }
}

impl<C: commit::Scheme> Pooled for EvaluatorBuilt<C> {
    fn pool(&self) -> &Arc<ThreadPool> {
        &self.party.core.pool
    }
}

impl<C: commit::Scheme> Pooled for EvaluatorEvaluated<C> {
    fn pool(&self) -> &Arc<ThreadPool> {
        &self.built.party.core.pool
    }
}

/// The threads of a session.
pub(super) fn threads(terms: &Terms) -> Result<Arc<ThreadPool>, Error> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(terms.threads.max(1)).build();
    Ok(Arc::new(pool.map_err(|error| Error::Resource(format!("no threads: {error}")))?))
}

/// Runs a phase on the session's threads.
pub(super) fn in_pool<P: Pooled, T: Send>(
    value: P,
    phase: impl FnOnce(P) -> Result<T, Error> + Send,
) -> Result<T, Error> {
    let pool = value.pool().clone();
    pool.install(|| phase(value))
}
