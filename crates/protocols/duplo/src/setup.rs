//! Setup: base OTs, the seeds of the commitments, and commitments to the two offsets of the session.
//!
//! ```text
//!   both ways               greetings; 128 base OTs: G gets the extension's seeds by the bits of Δ_ot
//!   evaluator -> garbler    OT extension: the commitments' seeds by E's watch bits,
//!                           and the OTs that are made at once
//!   garbler -> evaluator    commitments to Δ_ka (random, lowest bit 1) and Δ_ot;  S_ot = Δ_ot ⊕ Δ_ka
//! ```
//!
//! The session's first proof shows that both commitments and S_ot are valid. In a whole run this proof also
//! covers the other commitments; a session that fills a stock proves the offsets at once.
//!
//! DEVIATION: FJNT16 take the commitments' seeds from base OTs, 275 to 429 of them. In Brickwork the seeds
//! come from the OT extension, which is needed anyway, so they cost almost nothing, and setup takes a third
//! of the time (measured: docs/project/benchmarks.md).
//!
//! With the delta difference S_ot, whose lowest bit must be 0, the evaluator turns its OT labels into labels
//! for authenticators. The lowest bit also binds `lsb(Δ_ot)`.

use zeroize::Zeroizing;

use super::hooks;
use super::instance::{CotReceiver, CotSender};
use super::memory::openings_memory;
use super::ots::{self, EvaluatorRandomCots, GarblerRandomCots};
use super::parameters::stock_ot_binding;
use super::party::EvaluatorCore;
use super::report::Duplo;
use super::stock::PartyStock;
use super::{Cheat, Error, Evaluator, Garbler, Hooks, Point, Proposal, Terms, msg};
use brickwork_base::label::{Delta, LABEL_BYTES, Label};
use brickwork_base::pool::Pool;
use brickwork_base::random::Rng;
use brickwork_circuit::{Party, Program};
use brickwork_primitives::commit::{
    self, Claimed, Claims, Committed, Lsb, Pending, Proof, Receiver as _, Sender as _, Shares,
};
use brickwork_primitives::counters::Counters;
use brickwork_primitives::ot::base::{self, Direction};
use brickwork_primitives::ot::{BASE_OTS, CotReceiver as _, CotSender as _, Series};
use brickwork_primitives::receive;
use brickwork_protocol::{AgreedJob, Answer, Digests, Greeting, Metered};

/// The settings for a session's setup.
pub(super) struct SetupRequest<'a> {
    pub digests: Digests,
    pub terms: &'a Terms,
    /// The number of OTs that are made at once, without masking OTs. With `None`, no OTs are made at once.
    pub ots: Option<usize>,
    /// The number of masking OTs in each batch of OTs.
    pub binding: usize,
    /// The garbler's message right after its greeting.
    proposal: Option<&'a Proposal>,
}

impl<'a> SetupRequest<'a> {
    /// Returns the settings for the garbler of one run, whose OTs are made at once.
    pub fn proposed(job: &AgreedJob, proposal: &'a Proposal, terms: &'a Terms) -> Self {
        let (ots, binding) =
            (Some(job.program.input_width(Party::Evaluator)), proposal.parameters.ot_binding);
        SetupRequest { digests: proposal.digests(job), terms, ots, binding, proposal: Some(proposal) }
    }

    /// Returns the settings for the evaluator of one run, before it knows the proposal.
    pub fn open(program: &Program, binding: usize, terms: &'a Terms) -> Self {
        let digests = Digests { stock: false, program: program.digest(), parameters: [0; 32] };
        SetupRequest {
            digests,
            terms,
            ots: Some(program.input_width(Party::Evaluator)),
            binding,
            proposal: None,
        }
    }

    /// Returns the settings for a session of two parties that do not know their programs yet.
    pub fn stock(terms: &'a Terms) -> Self {
        SetupRequest {
            digests: Digests { stock: true, program: [0; 32], parameters: [0; 32] },
            terms,
            ots: None,
            binding: stock_ot_binding(terms.security),
            proposal: None,
        }
    }
}

/// Makes the claims that the commitments to Δ_ot and Δ_ka add up to S_ot, and that Δ_ka ends in 1. Without
/// the second claim one guessed watch bit would be enough to forge this bit, which is in one coordinate of
/// the commitment only. `delta_ka` is the value at the garbler, and the expected bit at the evaluator.
fn claims<'a>(
    claims: &mut Claims<'a>,
    ka: &'a Shares,
    ot: &'a Shares,
    delta_difference: Label,
    delta_ka: impl Fn() -> Label + Sync + 'a,
) {
    claims.known(1, move |_, sum| {
        ka.add(0, sum);
        ot.add(0, sum);
        delta_difference
    });
    claims.bits(1, move |_, sum| {
        ka.add(0, sum);
        delta_ka()
    });
}

/// The base OTs that this party has begun, or keys from a dealer.
enum BaseOts {
    Begun(base::BegunSeries),
    Dealt(base::SeriesKeys),
}

impl BaseOts {
    /// Sends this party's base OT message, bound to `greeting`. The party will be the sender of `send` OTs.
    fn begin(
        run: &mut Metered,
        request: &SetupRequest,
        hooks: &Hooks,
        greeting: &Greeting,
        send: usize,
        choices: &[u8],
    ) -> Result<Self, Error> {
        if let Some(dealt) = hooks.dealt(run.role, send, choices) {
            return Ok(BaseOts::Dealt(dealt));
        }
        let sends =
            if run.role == Party::Garbler { Direction::GarblerSends } else { Direction::EvaluatorSends };
        Ok(BaseOts::Begun(base::BegunSeries::send(
            &mut run.channel,
            sends,
            &greeting.digest(),
            choices,
            request.terms.post_quantum,
            request.terms.threads,
        )?))
    }

    fn finish(self, run: &mut Metered, answer: &Answer, send: usize) -> Result<base::SeriesKeys, Error> {
        match self {
            BaseOts::Begun(begun) => begun.receive(&mut run.channel, &answer.digest, &answer.session, send),
            BaseOts::Dealt(keys) => Ok(keys),
        }
    }
}

/// Sets the garbler up; returns its session, whose first proof is still to come and must include
/// [`offset_claims`].
pub(super) fn garbler<C: commit::CommitmentScheme>(
    mut run: Metered,
    request: &SetupRequest,
    mut hooks: Hooks,
) -> Result<(Garbler<C>, Option<GarblerRandomCots>), Error> {
    #[cfg(test)]
    brickwork_primitives::commit::keep_columns(0);
    let pool = Pool::entered_or_new(request.terms.threads)?;
    run.phase("setup");
    let mut rng = Rng::new("brickwork garbler")?;
    let delta_ot = rng.delta();
    let in_ots = Delta::new(hooks::altered(&mut hooks, Point::OtOffset, &[delta_ot.label()])[0].bits());
    let choices: Zeroizing<Vec<u8>> =
        Zeroizing::new((0..BASE_OTS).map(|i| (in_ots.bits() >> i) as u8 & 1).collect());
    let greeting =
        Greeting::send::<Duplo>(&mut run.channel, Party::Garbler, request.terms, &request.digests)?;
    if let Some(proposal) = request.proposal {
        proposal.send(&mut run.channel)?;
    }
    let base_ots = BaseOts::begin(&mut run, request, &hooks, &greeting, 0, &choices)?;
    let answer = run.answer(greeting)?;
    answer.proposes_nothing()?;
    let keys = base_ots.finish(&mut run, &answer, 0)?;
    let session = answer.session;
    let series = Series::new(&session, Direction::GarblerSends);
    let mut cot = CotSender::set_up(&mut run.channel, &series, in_ots, &keys.received)?;
    // The rows of the OT extension are checked before any commitment is made.
    let (security, memory) = (request.terms.security, commit::values_memory(request.terms.table_memory));
    let mut sender = C::Sender::set_up(&mut run.channel, &mut cot, security.level(), memory)?;
    let binding = request.binding;
    let cots =
        request.ots.map(|count| ots::garbler_random_cots(&mut run, &mut cot, count, binding)).transpose()?;

    run.phase("setup");
    let mut ka = sender.commit_random(&mut run.channel, 1, Lsb::One)?;
    hooks.alter(Point::KaOffset, &mut ka.values);
    let ot = sender.commit(
        &mut run.channel,
        &hooks::altered(&mut hooks, Point::CommittedOtOffset, &[delta_ot.label()]),
    )?;
    run.channel.send(msg::OT_DELTA_DIFFERENCE, &(ka.values[0] ^ ot.values[0]).to_bytes())?;
    let garbler = Garbler {
        run,
        pool,
        session,
        security,
        sender,
        rng,
        hooks,
        window: window(request.terms),
        cot,
        ka,
        ot,
        binding,
        counters: Counters::of_setup()?,
        used: false,
        stock: PartyStock::new(),
    };
    Ok((garbler, cots))
}

/// Returns the number of values that the garbler recomputes at a time: as many as fit into the memory for
/// tables, which the garbler does not need.
pub(super) fn window(terms: &Terms) -> usize {
    usize::try_from(terms.table_memory / LABEL_BYTES as u64).unwrap_or(usize::MAX).max(1 << 12)
}

/// Makes the claims about the garbler's offsets for the session's first proof.
pub(super) fn offset_claims<'a>(ka: &'a Committed, ot: &'a Committed, all: &mut Claims<'a>) {
    claims(all, &ka.shares, &ot.shares, ka.values[0] ^ ot.values[0], move || ka.values[0]);
}

/// The offsets as the evaluator received them; the proof is still to come.
pub(super) struct PendingOffsets {
    ka: Pending,
    ot: Pending,
    ot_delta_difference: Claimed<Label>,
}

/// Claims that a proof of new items covers as well: [the offsets](PendingOffsets) in a session's first proof,
/// none in later proofs.
pub(super) trait Alongside {
    type Proven;
    fn pending(&self) -> Vec<&Pending>;
    fn claims<'a>(&'a self, all: &mut Claims<'a>);
    fn accept(self, proof: &Proof) -> Self::Proven;
}

impl Alongside for () {
    type Proven = ();

    fn pending(&self) -> Vec<&Pending> {
        Vec::new()
    }

    fn claims<'a>(&'a self, _: &mut Claims<'a>) {}

    fn accept(self, _: &Proof) {}
}

impl Alongside for PendingOffsets {
    type Proven = Offsets;

    fn pending(&self) -> Vec<&Pending> {
        vec![&self.ka, &self.ot]
    }

    fn claims<'a>(&'a self, all: &mut Claims<'a>) {
        all.about(&self.ot_delta_difference, |&delta_difference, all| {
            claims(all, self.ka.shares(), self.ot.shares(), delta_difference, || Label::from_bits(1));
        });
    }

    fn accept(self, proof: &Proof) -> Offsets {
        Offsets {
            ka: self.ka.accept(proof),
            ot: self.ot.accept(proof),
            ot_delta_difference: self.ot_delta_difference.proven(proof),
        }
    }
}

/// The evaluator's shares of the offsets, after the proof.
pub(super) struct Offsets {
    ka: Shares,
    ot: Shares,
    ot_delta_difference: Label,
}

impl Offsets {
    /// Makes a session with these offsets.
    pub fn of_session<C: commit::CommitmentScheme>(self, core: EvaluatorCore<C>) -> Evaluator<C> {
        let Offsets { ka, ot, ot_delta_difference } = self;
        Evaluator {
            core,
            ka,
            ot,
            ot_delta_difference,
            delta_ka: Zeroizing::default(),
            used: false,
            stock: PartyStock::new(),
        }
    }
}

/// The evaluator's state in a session before its first proof.
pub(super) struct Begun<C: commit::CommitmentScheme, P> {
    pub core: EvaluatorCore<C>,
    pub offsets: PendingOffsets,
    pub ots: Option<EvaluatorRandomCots>,
    /// The garbler's proposal.
    pub agreed: P,
}

/// Sets up the evaluator. `accept` checks the garbler's proposal before anything depends on it.
pub(super) fn evaluator<C: commit::CommitmentScheme, P>(
    mut run: Metered,
    request: &SetupRequest,
    hooks: Hooks,
    accept: impl FnOnce(&mut Metered, &Hooks, &Answer) -> Result<P, Error>,
) -> Result<Begun<C, P>, Error> {
    #[cfg(test)]
    brickwork_primitives::commit::keep_columns(0);
    let pool = Pool::entered_or_new(request.terms.threads)?;
    run.phase("setup");
    let mut rng = Rng::new("brickwork evaluator")?;
    let greeting =
        Greeting::send::<Duplo>(&mut run.channel, Party::Evaluator, request.terms, &request.digests)?;
    let base_ots = BaseOts::begin(&mut run, request, &hooks, &greeting, BASE_OTS, &[])?;
    let answer = run.answer(greeting)?;
    let agreed = accept(&mut run, &hooks, &answer)?;
    let keys = base_ots.finish(&mut run, &answer, BASE_OTS)?;
    let session = answer.session;
    let series = Series::new(&session, Direction::GarblerSends);
    let mut cot = CotReceiver::set_up(&mut run.channel, &series, &keys.sent)?;
    let (security, table_memory) = (request.terms.security, request.terms.table_memory);
    let mut receiver =
        C::Receiver::set_up(&mut run.channel, &mut cot, &mut rng, security.level(), table_memory)?;
    let binding = request.binding;
    let ots = request
        .ots
        .map(|count| ots::evaluator_random_cots(&mut run, &mut cot, &mut rng, count, binding))
        .transpose()?;

    run.phase("setup");
    // LOAD-BEARING: a random commitment, so that G cannot choose the second label of a plain authenticator,
    // either (`prepare::evaluator_receives`).
    let ka = receiver.receive_random(&mut run.channel, 1, Lsb::One)?;
    let ot = receiver.receive(&mut run.channel, 1)?;
    let ot_delta_difference = receive::label(&mut run.channel, msg::OT_DELTA_DIFFERENCE)?;
    if ot_delta_difference.colour() != 0 {
        return Err(Cheat::DeltaDifferenceColour.into());
    }
    let ot_delta_difference = receiver.claimed(ot_delta_difference);
    let core = EvaluatorCore {
        run,
        pool,
        session,
        security,
        receiver,
        rng,
        hooks,
        cot,
        table_memory,
        openings_memory: openings_memory(table_memory),
        segments: None,
        binding,
        counters: Counters::of_setup()?,
    };
    Ok(Begun { core, offsets: PendingOffsets { ka, ot, ot_delta_difference }, ots, agreed })
}
