//! Crossing 1: the greeting, and 128 base OTs. The garbler's choices are the bits of its offset.

use zeroize::Zeroizing;

use crate::layout::Layout;
use crate::report::SemiHonest;
use brickwork_base::label::Delta;
use brickwork_base::random::Rng;
use brickwork_base::{Error, Party};
use brickwork_circuit::Program;
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
    pub(crate) components: Components,
}

/// The garbler. Its OTs and all wires have the same offset.
pub(super) type Garbler = Session<extension::Sender>;

pub(super) type Evaluator = Session<extension::Receiver>;

impl Garbler {
    pub fn delta(&self) -> Zeroizing<Delta> {
        Zeroizing::new(Delta::new(self.cot.offset().bits()))
    }
}

impl<C> Session<C> {
    pub fn close(self) -> Result<Vec<PhaseReport>, Error> {
        self.run.finish()
    }
}

/// The data of a run for each component of its program.
#[derive(Default)]
pub(super) struct Components {
    /// The schedule of each used component.
    pub schedules: Vec<Option<Schedule>>,
    /// The start of each component's hash keys. The list is empty until the garbler has drawn and sent the
    /// starts.
    pub starts: Vec<u128>,
    /// The number of garbled or evaluated slots of each component. Executions that are processed together
    /// count as one.
    pub visits: Vec<u32>,
}

impl Components {
    /// Makes the data for a program before its first slot.
    pub fn of(program: &Program) -> Self {
        let used = program.slots_by_component().into_iter().map(|slots| slots > 0);
        let components = program.components().iter().zip(used);
        let schedules: Vec<_> =
            components.map(|(component, used)| used.then(|| Schedule::new(&component.circuit))).collect();
        Components { visits: vec![0; schedules.len()], schedules, starts: Vec::new() }
    }
}

/// Returns the digest of this protocol, a program and its number of executions.
pub(super) fn digest(layout: &Layout) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new_derive_key("brickwork 2026-11 semi-honest program");
    hasher.update(&layout.program.digest()).update(&(layout.executions() as u64).to_le_bytes());
    *hasher.finalize().as_bytes()
}

/// Returns the digests on which both parties must agree. For a run this is the digest of the program and its
/// number of executions. A session that makes stock does not know the program yet.
fn digests(layout: Option<&Layout>) -> Digests {
    Digests { stock: layout.is_none(), program: layout.map_or([0; 32], digest), parameters: [0; 32] }
}

fn components(layout: Option<&Layout>) -> Components {
    layout.map_or_else(Components::default, |layout| Components::of(layout.program))
}

/// Sets up the garbler of a run, or, without a layout, of a session that makes stock.
pub(super) fn garbler(mut run: Metered, terms: &Terms, layout: Option<&Layout>) -> Result<Garbler, Error> {
    run.phase("setup");
    let mut rng = Rng::new("brickwork semi-honest garbler")?;
    let delta = Zeroizing::new(rng.delta());
    let choices: Zeroizing<Vec<u8>> =
        Zeroizing::new((0..BASE_OTS).map(|i| (delta.bits() >> i) as u8 & 1).collect());
    let greeting = Greeting::send::<SemiHonest>(&mut run.channel, Party::Garbler, terms, &digests(layout))?;
    let begun = base::BegunSeries::send(
        &mut run.channel,
        Direction::GarblerSends,
        &greeting.digest(),
        &choices,
        terms.post_quantum,
        terms.threads,
    )?;
    let components = components(layout);
    let answer = run.answer(greeting)?;
    let keys = begun.receive(&mut run.channel, &answer.digest, &answer.session, 0)?;
    let series = Series::new(&answer.session, Direction::GarblerSends);
    let cot = extension::Sender::set_up(&mut run.channel, &series, *delta, &keys.received)?;
    Ok(Garbler { run, id: answer.session, rng, cot, components })
}

/// Sets up the evaluator of a run, or, without a layout, of a session that makes stock.
pub(super) fn evaluator(
    mut run: Metered,
    terms: &Terms,
    layout: Option<&Layout>,
) -> Result<Evaluator, Error> {
    run.phase("setup");
    let rng = Rng::new("brickwork semi-honest evaluator")?;
    let greeting = Greeting::send::<SemiHonest>(&mut run.channel, Party::Evaluator, terms, &digests(layout))?;
    let begun = base::BegunSeries::send(
        &mut run.channel,
        Direction::EvaluatorSends,
        &greeting.digest(),
        &[],
        terms.post_quantum,
        terms.threads,
    )?;
    let components = components(layout);
    let answer = run.answer(greeting)?;
    let keys = begun.receive(&mut run.channel, &answer.digest, &answer.session, BASE_OTS)?;
    let series = Series::new(&answer.session, Direction::GarblerSends);
    let cot = extension::Receiver::set_up(&mut run.channel, &series, &keys.sent)?;
    Ok(Evaluator { run, id: answer.session, rng, cot, components })
}
