//! Setup: greetings and base OTs, the commitments' seeds, and the commitment to the offset of all wires.
//!
//! ```text
//!   both ways               greetings; the garbler's proposal; 128 base OTs: the extension's seeds by the bits of Δ
//!   evaluator -> garbler    OT extension: the commitments' seeds by E's watch bits; OTs of random choices
//!   garbler -> evaluator    commitment to Δ
//! ```
//!
//! Δ is the offset of the OTs, too, which binds it: what the evaluator gets of them is what the commitments
//! say (`preprocess`). That it ends in 1 is claimed; were it 0, both labels of a wire would have one colour.

use zeroize::Zeroizing;

use crate::hooks::{Hooks, Point};
use crate::layout::Layout;
use crate::msg;
use crate::parameters::{PROPOSAL_BYTES, Parameters};
use crate::report::Lego;
use brickwork_base::label::{Delta, Label, Labels};
use brickwork_base::pool::Pool;
use brickwork_base::random::Rng;
use brickwork_base::{Error, Party};
use brickwork_primitives::commit::{self, Committed, Pending, Receiver as _, Sender as _};
use brickwork_primitives::ot::base::{self, Direction};
use brickwork_primitives::ot::{BASE_OTS, CotReceiver as _, CotSender as _, Series, extension};
use brickwork_session::{Digests, Greeting, Job, Metered, SessionId};

/// The garbler of a run.
pub(super) struct Garbler {
    pub run: Metered,
    pub pool: Pool,
    pub session: SessionId,
    pub sender: commit::split::Sender,
    pub rng: Rng,
    pub hooks: Hooks,
    pub delta: Zeroizing<Delta>,
    /// The commitment to Δ.
    pub offset: Committed,
    /// Of its OTs the labels for choice 0: of the evaluator's inputs, then of those that mask.
    pub ots: Labels,
}

/// The evaluator of a run.
pub(super) struct Evaluator {
    pub run: Metered,
    pub pool: Pool,
    pub session: SessionId,
    pub receiver: commit::split::Receiver,
    pub rng: Rng,
    pub hooks: Hooks,
    /// Of its OTs the choices and labels: of its inputs, then of those that mask.
    pub choices: Zeroizing<Vec<u8>>,
    pub ots: Labels,
}

/// What both parties must agree on. The garbler names what it proposes.
fn digests(layout: &Layout, proposal: Option<&[u8; PROPOSAL_BYTES]>) -> Digests {
    let parameters = proposal.map_or([0; 32], digest);
    Digests { stock: false, program: layout.program.digest(), parameters }
}

fn digest(proposal: &[u8; PROPOSAL_BYTES]) -> [u8; 32] {
    blake3::derive_key("brickwork 2026-11 lego proposal", proposal)
}

pub(super) fn garbler(
    mut run: Metered,
    job: &Job,
    layout: &Layout,
    parameters: &Parameters,
    mut hooks: Hooks,
) -> Result<Garbler, Error> {
    run.phase("setup");
    let pool = Pool::entered_or_new(job.threads)?;
    let mut rng = Rng::new("brickwork lego garbler")?;
    let delta = Zeroizing::new(rng.delta());
    let choices: Zeroizing<Vec<u8>> =
        Zeroizing::new((0..BASE_OTS).map(|i| (delta.bits() >> i) as u8 & 1).collect());
    let proposal = parameters.proposal();
    let (terms, digests) = (job.terms(), digests(layout, Some(&proposal)));
    let greeting = Greeting::send::<Lego>(&mut run.channel, Party::Garbler, &terms, &digests)?;
    run.channel.send(msg::PROPOSAL, &proposal)?;
    let side = Direction::GarblerSends;
    let begun = base::Begun::send(
        &mut run.channel,
        side,
        &greeting.digest(),
        &choices,
        job.post_quantum,
        job.threads,
    )?;
    let answer = greeting.answered(&mut run.channel)?;
    if answer.parameters != [0; 32] {
        return Err(Error::Mismatch("the peer's greeting is malformed".into()));
    }
    let keys = begun.receive(&mut run.channel, &answer.digest, &answer.session, 0)?;
    let series = Series::new(&answer.session, side);
    let mut cot = extension::Sender::set_up(&mut run.channel, &series, *delta, &keys.received)?;
    // All rows are checked before anything is committed to.
    // Committed values that are kept; the garbler keeps no tables.
    let memory = job.table_memory.saturating_mul(2);
    let mut sender = commit::split::Sender::set_up(&mut run.channel, &mut cot, job.security, memory)?;
    let ots = Labels::new(cot.draw(&mut run.channel, layout.evaluator + parameters.ot_binding)?);
    let mut committed = [delta.label()];
    hooks.alter(Point::CommittedOffset, &mut committed);
    let offset = sender.commit(&mut run.channel, &committed)?;
    Ok(Garbler { run, pool, session: answer.session, sender, rng, hooks, delta, offset, ots })
}

/// What the evaluator has of a session whose first proof is still to come.
pub(super) struct Begun {
    pub party: Evaluator,
    pub offset: Pending,
    pub parameters: Parameters,
}

pub(super) fn evaluator(
    mut run: Metered,
    job: &Job,
    layout: &Layout,
    unsafe_ones: Option<&Parameters>,
    hooks: Hooks,
) -> Result<Begun, Error> {
    run.phase("setup");
    let pool = Pool::entered_or_new(job.threads)?;
    let mut rng = Rng::new("brickwork lego evaluator")?;
    let (terms, digests) = (job.terms(), digests(layout, None));
    let greeting = Greeting::send::<Lego>(&mut run.channel, Party::Evaluator, &terms, &digests)?;
    let side = Direction::EvaluatorSends;
    let begun =
        base::Begun::send(&mut run.channel, side, &greeting.digest(), &[], job.post_quantum, job.threads)?;
    let answer = greeting.answered(&mut run.channel)?;
    let mut proposal = [0; PROPOSAL_BYTES];
    run.channel.receive_into(msg::PROPOSAL, &mut proposal)?;
    let parameters = accept(job, layout, &proposal, unsafe_ones)?;
    // The greeting names it, and with it the session's identifier.
    if digest(&proposal) != answer.parameters {
        return Err(Error::Mismatch("the peer's cut-and-choose parameters are others".into()));
    }
    let keys = begun.receive(&mut run.channel, &answer.digest, &answer.session, BASE_OTS)?;
    let series = Series::new(&answer.session, Direction::GarblerSends);
    let mut cot = extension::Receiver::set_up(&mut run.channel, &series, &keys.sent)?;
    let mut receiver = commit::split::Receiver::set_up(
        &mut run.channel,
        &mut cot,
        &mut rng,
        job.security,
        job.table_memory,
    )?;
    let (choices, ots) = cot.draw(&mut run.channel, &mut rng, layout.evaluator + parameters.ot_binding)?;
    run.channel.flush()?;
    let offset = receiver.receive(&mut run.channel, 1)?;
    let session = answer.session;
    let party = Evaluator { run, pool, session, receiver, rng, hooks, choices, ots: Labels::new(ots) };
    Ok(Begun { party, offset, parameters })
}

/// Finds out what the proposal is worth; tests accept what nobody should.
fn accept(
    job: &Job,
    layout: &Layout,
    proposal: &[u8; PROPOSAL_BYTES],
    unsafe_ones: Option<&Parameters>,
) -> Result<Parameters, Error> {
    match unsafe_ones {
        Some(given) if given.proposal() == *proposal => Ok(given.clone()),
        Some(_) => Err(Error::Mismatch("the peer's cut-and-choose parameters are others".into())),
        None => Parameters::proposed(layout.ands as u64, layout.garbler as u64, job.security, proposal),
    }
}

/// What the session's first proof says of the offset: it ends in 1. (That a commitment ends in 1 could be
/// built into it, but one guessed watch bit gets around that.)
pub(super) fn offset_claim<'a>(
    claims: &mut commit::Claims<'a>,
    offset: &'a commit::Shares,
    value: impl Fn() -> Label + Sync + 'a,
) {
    claims.bits(1, move |_, sum| {
        offset.add(0, sum);
        value()
    });
}
