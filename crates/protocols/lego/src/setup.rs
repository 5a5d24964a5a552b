//! Setup: greetings and base OTs, the commitments' seeds, and the commitment to Δ, the offset of all wires.
//!
//! ```text
//!   both ways               greetings; the garbler's proposal;
//!                           128 base OTs: the extension's seeds by the bits of Δ
//!   evaluator -> garbler    OT extension: the commitments' seeds by E's watch bits
//!                           OTs: those of a run, and those that bind
//!   garbler -> evaluator    commitment to Δ
//!
//!   a session that fills a stock goes on:
//!   garbler -> evaluator    commitments to the OTs that bind
//!   both ways               proof: all of these are commitments, Δ ends in 1
//!   evaluator -> garbler    sums of the OTs
//!   both ways               proof: the committed ones are the same
//! ```
//!
//! Δ is also the offset of the OTs. This binds the committed value: the evaluator's labels from the OTs must
//! match the commitments ([`crate::ots`]). The session's first proof claims that Δ ends in 1; otherwise both
//! labels of a wire would have the same colour. A run proves all its other commitments in the same proof. A
//! session that fills a stock proves Δ and binds it to the OTs in the setup, because some of its steps make
//! no OTs. The garbler must not choose the labels of wire authenticators, so the offset is fixed before the
//! commitments' seeds (docs/protocols/lego.md).

use zeroize::Zeroizing;

use crate::hooks::{Hooks, Point};
use crate::instance::{Commitments, CotReceiver, CotSender};
use crate::layout::Layout;
use crate::msg;
use crate::ots::{EvaluatorRandomOts, GarblerRandomOts};
use crate::parameters::{PROPOSAL_BYTES, Parameters, stock_ot_binding};
use crate::report::Lego;
use brickwork_base::label::{Delta, Label};
use brickwork_base::pool::Pool;
use brickwork_base::random::Rng;
use brickwork_base::{Error, Party};
use brickwork_primitives::commit::{
    self, Claims, Committed, New, Pending, Proof, Receiver as _, Sender as _,
};
use brickwork_primitives::counters::Counters;
use brickwork_primitives::ot::base::{self, Direction};
use brickwork_primitives::ot::{BASE_OTS, CotReceiver as _, CotSender as _, Series};
use brickwork_protocol::{Answer, Digests, Greeting, Metered, SessionId, Terms};

pub(super) struct Garbler<C: commit::CommitmentScheme = Commitments> {
    pub run: Metered,
    pub pool: Pool,
    pub session: SessionId,
    pub sender: C::Sender,
    pub cot: CotSender,
    pub rng: Rng,
    pub hooks: Hooks,
    pub delta: Zeroizing<Delta>,
    /// The commitment to Δ.
    pub offset: Committed,
    /// The number of OTs of random choices that bind each batch of other OTs.
    pub binding: usize,
    pub counters: Counters,
}

pub(super) struct Evaluator<C: commit::CommitmentScheme = Commitments> {
    pub run: Metered,
    pub pool: Pool,
    pub session: SessionId,
    pub receiver: C::Receiver,
    pub cot: CotReceiver,
    pub rng: Rng,
    pub hooks: Hooks,
    /// The number of OTs of random choices that bind each batch of other OTs.
    pub binding: usize,
    pub counters: Counters,
    /// The bytes of the tables and hashes of a step that stay in memory until the evaluation. A larger amount
    /// goes to a file.
    pub table_memory: u64,
}

/// The purpose of a session.
#[derive(Clone, Copy)]
pub(super) enum For<'a> {
    /// A run of a program, whose OTs are made in the setup. The garbler has a proposal.
    Run(&'a Layout<'a>, Option<&'a Parameters>),
    /// A stock for unknown programs.
    Stock,
}

impl For<'_> {
    /// Returns the digests on which both parties must agree.
    fn digests(&self) -> Digests {
        match self {
            For::Run(layout, proposed) => Digests {
                stock: false,
                program: layout.program.digest(),
                parameters: proposed.map_or([0; 32], |parameters| digest(&parameters.proposal())),
            },
            For::Stock => Digests { stock: true, program: [0; 32], parameters: [0; 32] },
        }
    }
}

fn digest(proposal: &[u8; PROPOSAL_BYTES]) -> [u8; 32] {
    blake3::derive_key("brickwork 2026-11 lego proposal", proposal)
}

/// Base OTs that are in progress, or that a dealer provided.
enum BaseOts {
    Begun(base::BegunSeries),
    Dealt(base::SeriesKeys),
}

impl BaseOts {
    /// Sends this party's message of the base OTs after its greeting. This party will be the sender of `send`
    /// OTs.
    fn begin(
        run: &mut Metered,
        terms: &Terms,
        hooks: &Hooks,
        greeting: &Greeting,
        (send, choices): (usize, &[u8]),
    ) -> Result<Self, Error> {
        if let Some(dealt) = hooks.dealt(run.role, send, choices) {
            return Ok(BaseOts::Dealt(dealt));
        }
        let side =
            if run.role == Party::Garbler { Direction::GarblerSends } else { Direction::EvaluatorSends };
        let (channel, digest) = (&mut run.channel, greeting.digest());
        let begun =
            base::BegunSeries::send(channel, side, &digest, choices, terms.post_quantum, terms.threads)?;
        Ok(BaseOts::Begun(begun))
    }

    fn finish(self, run: &mut Metered, answer: &Answer, send: usize) -> Result<base::SeriesKeys, Error> {
        match self {
            BaseOts::Begun(begun) => begun.receive(&mut run.channel, &answer.digest, &answer.session, send),
            BaseOts::Dealt(keys) => Ok(keys),
        }
    }
}

/// Sets up the garbler's session, and its OTs: those of a run, and those that bind. The caller makes the
/// first proof, which must include [`offset_claim`].
pub(super) fn garbler<C: commit::CommitmentScheme>(
    mut run: Metered,
    terms: &Terms,
    purpose: For,
    mut hooks: Hooks,
) -> Result<(Garbler<C>, GarblerRandomOts), Error> {
    run.phase("setup");
    let pool = Pool::entered_or_new(terms.threads)?;
    let mut rng = Rng::new("brickwork lego garbler")?;
    let delta = Zeroizing::new(rng.delta());
    let choices: Zeroizing<Vec<u8>> =
        Zeroizing::new((0..BASE_OTS).map(|i| (delta.bits() >> i) as u8 & 1).collect());
    let greeting = Greeting::send::<Lego>(&mut run.channel, Party::Garbler, terms, &purpose.digests())?;
    if let For::Run(_, Some(parameters)) = purpose {
        run.channel.send(msg::PROPOSAL, &parameters.proposal())?;
    }
    let base_ots = BaseOts::begin(&mut run, terms, &hooks, &greeting, (0, &choices))?;
    let answer = run.answer(greeting)?;
    answer.proposes_nothing()?;
    let keys = base_ots.finish(&mut run, &answer, 0)?;
    let series = Series::new(&answer.session, Direction::GarblerSends);
    let mut cot = CotSender::set_up(&mut run.channel, &series, *delta, &keys.received)?;
    // Before the garbler commits to anything, it checks the rows of all OTs.
    let memory = commit::values_memory(terms.table_memory);
    let mut sender = C::Sender::set_up(&mut run.channel, &mut cot, terms.security.whole()?, memory)?;
    let (count, binding) = match purpose {
        For::Run(layout, Some(parameters)) => (layout.evaluator, parameters.ot_binding),
        _ => (0, stock_ot_binding(terms.security.whole()?)),
    };
    let ots = GarblerRandomOts::draw(&mut run, &mut cot, count, binding)?;
    run.phase("setup");
    let mut committed = [delta.label()];
    hooks.alter(Point::CommittedOffset, &mut committed);
    let offset = sender.commit(&mut run.channel, &committed)?;
    let party = Garbler {
        run,
        pool,
        session: answer.session,
        sender,
        cot,
        rng,
        hooks,
        delta,
        offset,
        binding,
        counters: Counters::of_setup()?,
    };
    Ok((party, ots))
}

/// The evaluator's state after the setup, before the session's first proof.
pub(super) struct Begun<C: commit::CommitmentScheme> {
    pub party: Evaluator<C>,
    pub offset: Pending,
    /// The OTs of a run, and the binding OTs.
    pub ots: EvaluatorRandomOts,
    /// In a run, the garbler's proposal.
    pub proposed: Option<Parameters>,
}

/// Sets up the evaluator's session, as [`garbler`] does for the garbler.
pub(super) fn evaluator<C: commit::CommitmentScheme>(
    mut run: Metered,
    terms: &Terms,
    purpose: For,
    hooks: Hooks,
) -> Result<Begun<C>, Error> {
    run.phase("setup");
    let pool = Pool::entered_or_new(terms.threads)?;
    let mut rng = Rng::new("brickwork lego evaluator")?;
    let greeting = Greeting::send::<Lego>(&mut run.channel, Party::Evaluator, terms, &purpose.digests())?;
    let base_ots = BaseOts::begin(&mut run, terms, &hooks, &greeting, (BASE_OTS, &[]))?;
    let answer = run.answer(greeting)?;
    let security = terms.security.whole()?;
    let (count, binding, proposed) = match purpose {
        For::Run(layout, _) => {
            let proposed = accept(&mut run, terms, layout, &answer, &hooks)?;
            (layout.evaluator, proposed.ot_binding, Some(proposed))
        }
        For::Stock => {
            answer.proposes_nothing()?;
            (0, stock_ot_binding(security), None)
        }
    };
    let keys = base_ots.finish(&mut run, &answer, BASE_OTS)?;
    let series = Series::new(&answer.session, Direction::GarblerSends);
    let mut cot = CotReceiver::set_up(&mut run.channel, &series, &keys.sent)?;
    let memory = terms.table_memory;
    let mut receiver = C::Receiver::set_up(&mut run.channel, &mut cot, &mut rng, security, memory)?;
    let ots = EvaluatorRandomOts::draw(&mut run, &mut cot, &mut rng, count, binding)?;
    run.phase("setup");
    run.channel.flush()?;
    let offset = receiver.receive(&mut run.channel, 1)?;
    let (session, counters) = (answer.session, Counters::of_setup()?);
    let party =
        Evaluator { run, pool, session, receiver, cot, rng, hooks, binding, counters, table_memory: memory };
    Ok(Begun { party, offset, ots, proposed })
}

/// Sets up the garbler's session of a stock, in which Δ is proven and bound to the OTs.
pub(super) fn garbler_of_stock(run: Metered, terms: &Terms, hooks: Hooks) -> Result<Garbler, Error> {
    let (mut party, ots) = garbler::<Commitments>(run, terms, For::Stock, hooks)?;
    let ots = ots.commit(&mut party)?;
    party.proves_new(ots.new_commitments(), true)?;
    let (_, revealed) = ots.checks_revealed(&mut party)?;
    let Garbler { run, sender, offset, .. } = &mut party;
    let mut claims = Claims::new();
    revealed.claims(&offset.shares, &mut claims);
    sender.prove(&mut run.channel, &[], &claims)?;
    drop(claims);
    run.phase("setup");
    Ok(party)
}

/// Sets up the evaluator's session of a stock. Returns also its share of the commitment to Δ.
pub(super) fn evaluator_of_stock(
    run: Metered,
    terms: &Terms,
    hooks: Hooks,
) -> Result<(Evaluator, commit::Shares), Error> {
    let Begun { mut party, offset, ots, .. } = evaluator::<Commitments>(run, terms, For::Stock, hooks)?;
    let ots = ots.receive(&mut party)?;
    let proof = party.verifies_new(ots.pending(), Some(&offset))?;
    let (offset, ots) = (offset.accept(&proof).gathered(), ots.accept(&proof));
    let (_, revealed) = ots.reveal(&mut party)?;
    let Evaluator { run, receiver, .. } = &mut party;
    let mut claims = Claims::new();
    revealed.claims(&offset, &mut claims);
    let _ = receiver.verify(&mut run.channel, &[], &claims)?;
    drop(claims);
    run.phase("setup");
    Ok((party, offset))
}

/// Receives the garbler's proposal, and computes its bound. Tests accept insecure proposals.
fn accept(
    run: &mut Metered,
    terms: &Terms,
    layout: &Layout,
    answer: &Answer,
    hooks: &Hooks,
) -> Result<Parameters, Error> {
    let mut proposal = [0; PROPOSAL_BYTES];
    run.channel.receive_into(msg::PROPOSAL, &mut proposal)?;
    let (ands, wires) = (layout.ands as u64, layout.garbler as u64);
    let parameters = match hooks.settings() {
        Some(cuts) => Parameters::of_bucketings(ands, wires, terms.security.whole()?, cuts)?,
        None => Parameters::proposed(ands, wires, terms.security.whole()?, &proposal)?,
    };
    // The greeting contains the digest of the proposal, which therefore enters the session's identifier.
    if parameters.proposal() != proposal || digest(&proposal) != answer.parameters {
        return Err(Error::Mismatch("the two parties have different cut-and-choose parameters".into()));
    }
    Ok(parameters)
}

/// States the claim about the offset in the session's first proof: it ends in 1. (The commitment itself could
/// enforce this, but one guessed watch bit would be enough to break it.)
pub(super) fn offset_claim<'a>(
    claims: &mut Claims<'a>,
    offset: &'a commit::Shares,
    value: impl Fn() -> Label + Sync + 'a,
) {
    claims.bits(1, move |_, sum| {
        offset.add(0, sum);
        value()
    });
}

impl<C: commit::CommitmentScheme> Garbler<C> {
    /// Proves that these commitments are valid. The first proof of a session also proves the claim about the
    /// offset. Rounds: 1.
    pub fn proves_new<'n>(
        &mut self,
        new: impl IntoIterator<Item = New<'n>>,
        first: bool,
    ) -> Result<(), Error> {
        let Garbler { run, sender, offset, .. } = self;
        let mut claims = Claims::new();
        let mut all: Vec<New> = Vec::new();
        if first {
            offset_claim(&mut claims, &offset.shares, || offset.values[0]);
            all.push(New::from(&*offset));
        }
        for one in new {
            all.push(one);
        }
        sender.prove(&mut run.channel, &all, &claims)
    }
}

impl<C: commit::CommitmentScheme> Evaluator<C> {
    /// Checks that these commitments are valid. The first proof of a session also proves that the offset ends
    /// in 1. Rounds: 1.
    pub fn verifies_new<'n>(
        &mut self,
        new: impl IntoIterator<Item = &'n Pending>,
        offset: Option<&'n Pending>,
    ) -> Result<Proof, Error> {
        let Evaluator { run, receiver, .. } = self;
        let mut claims = Claims::new();
        if let Some(offset) = offset {
            offset_claim(&mut claims, offset.shares(), || Label::from_bits(1));
        }
        let all: Vec<&Pending> = offset.into_iter().chain(new).collect();
        receiver.verify(&mut run.channel, &all, &claims)
    }
}
