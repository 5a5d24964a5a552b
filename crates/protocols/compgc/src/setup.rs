//! Crossing 1: the greeting, and 128 base OTs in which the garbler chooses by the bits of its offset.

use zeroize::Zeroizing;

use crate::layout::Layout;
use crate::report::CompGc;
use brickwork_base::label::Delta;
use brickwork_base::random::Rng;
use brickwork_base::{Error, Party};
use brickwork_primitives::garbling::Schedule;
use brickwork_primitives::ot::base::{self, Direction};
use brickwork_primitives::ot::{BASE_OTS, CotReceiver as _, CotSender as _, Series, extension};
use brickwork_protocol::{Digests, Greeting, Metered, PhaseReport, SessionId, Terms};

/// A party's session, in which `C` is its part of the correlated OTs.
pub struct Session<C> {
    pub(crate) run: Metered,
    pub(crate) id: SessionId,
    pub(crate) rng: Rng,
    pub(crate) cot: C,
    /// The schedule of each used component. There are none in a session that makes stock.
    pub(crate) schedules: Vec<Option<Schedule>>,
}

/// The garbler. The offset of its OTs, R in the paper, is also the offset of every wire of every component.
pub(super) type Garbler = Session<extension::Sender>;
pub(super) type Evaluator = Session<extension::Receiver>;

impl Garbler {
    /// Returns the offset R of all labels.
    pub fn delta(&self) -> Zeroizing<Delta> {
        Zeroizing::new(Delta::new(self.cot.offset().bits()))
    }
}

impl<C> Session<C> {
    pub fn close(self) -> Result<Vec<PhaseReport>, Error> {
        self.run.finish()
    }
}

/// Hashes the program and the name of its linking. The hash has a domain separator of its own.
pub(super) fn digest(layout: &Layout) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new_derive_key("brickwork 2026-11 compgc program");
    hasher.update(&layout.program.digest()).update(layout.linking.name().as_bytes());
    *hasher.finalize().as_bytes()
}

/// Returns the digests that both parties must agree on: of the program and its linking. A session that makes
/// stock does not know the program yet.
fn digests(layout: Option<&Layout>) -> Digests {
    Digests { stock: layout.is_none(), program: layout.map_or([0; 32], digest), parameters: [0; 32] }
}

pub(super) fn schedules(layout: &Layout) -> Vec<Option<Schedule>> {
    let used = layout.program.slots_by_component().into_iter().map(|slots| slots > 0);
    let components = layout.program.components().iter().zip(used);
    components.map(|(component, used)| used.then(|| Schedule::new(&component.circuit))).collect()
}

/// Sets up the garbler. Without a layout, the session makes stock.
pub(super) fn garbler(mut run: Metered, terms: &Terms, layout: Option<&Layout>) -> Result<Garbler, Error> {
    run.phase("setup");
    let mut rng = Rng::new("brickwork compgc garbler")?;
    let delta = Zeroizing::new(rng.delta());
    let choices: Zeroizing<Vec<u8>> =
        Zeroizing::new((0..BASE_OTS).map(|i| (delta.bits() >> i) as u8 & 1).collect());
    let greeting = Greeting::send::<CompGc>(&mut run.channel, Party::Garbler, terms, &digests(layout))?;
    let side = Direction::GarblerSends;
    let begun = base::BegunSeries::send(
        &mut run.channel,
        side,
        &greeting.digest(),
        &choices,
        terms.post_quantum,
        terms.threads,
    )?;
    let schedules = layout.map(schedules).unwrap_or_default();
    let answer = run.answer(greeting)?;
    let keys = begun.receive(&mut run.channel, &answer.digest, &answer.session, 0)?;
    let series = Series::new(&answer.session, side);
    let cot = extension::Sender::set_up(&mut run.channel, &series, *delta, &keys.received)?;
    Ok(Garbler { run, id: answer.session, rng, cot, schedules })
}

/// Sets up the evaluator. Without a layout, the session makes stock.
pub(super) fn evaluator(
    mut run: Metered,
    terms: &Terms,
    layout: Option<&Layout>,
) -> Result<Evaluator, Error> {
    run.phase("setup");
    let rng = Rng::new("brickwork compgc evaluator")?;
    let greeting = Greeting::send::<CompGc>(&mut run.channel, Party::Evaluator, terms, &digests(layout))?;
    let side = Direction::EvaluatorSends;
    let begun = base::BegunSeries::send(
        &mut run.channel,
        side,
        &greeting.digest(),
        &[],
        terms.post_quantum,
        terms.threads,
    )?;
    let schedules = layout.map(schedules).unwrap_or_default();
    let answer = run.answer(greeting)?;
    let keys = begun.receive(&mut run.channel, &answer.digest, &answer.session, BASE_OTS)?;
    let series = Series::new(&answer.session, Direction::GarblerSends);
    let cot = extension::Receiver::set_up(&mut run.channel, &series, &keys.sent)?;
    Ok(Evaluator { run, id: answer.session, rng, cot, schedules })
}
