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
use brickwork_session::{Digests, Greeting, Job, Metered, PhaseReport};

/// The garbler of a run.
pub(super) struct Garbler {
    pub run: Metered,
    pub rng: Rng,
    /// R in the paper: the offset of every wire of every component, and of the OTs.
    pub delta: Zeroizing<Delta>,
    pub cot: extension::Sender,
    /// Of each component that is used.
    pub plans: Vec<Option<Schedule>>,
}

/// The evaluator of a run.
pub(super) struct Evaluator {
    pub run: Metered,
    pub rng: Rng,
    pub cot: extension::Receiver,
    /// Of each component that is used.
    pub plans: Vec<Option<Schedule>>,
}

impl Garbler {
    pub fn close(self) -> Result<Vec<PhaseReport>, Error> {
        self.run.finish()
    }
}

impl Evaluator {
    pub fn close(self) -> Result<Vec<PhaseReport>, Error> {
        self.run.finish()
    }
}

/// What both parties must agree on: the program, and how it is linked.
fn digests(layout: &Layout) -> Digests {
    let mut hasher = blake3::Hasher::new_derive_key("brickwork 2026-11 compgc program");
    hasher.update(&layout.program.digest()).update(layout.linking.name().as_bytes());
    Digests { stock: false, program: *hasher.finalize().as_bytes(), parameters: [0; 32] }
}

fn plans(layout: &Layout) -> Vec<Option<Schedule>> {
    let used = layout.program.slots_by_component().into_iter().map(|slots| slots > 0);
    let components = layout.program.components().iter().zip(used);
    components.map(|(component, used)| used.then(|| Schedule::new(&component.circuit))).collect()
}

pub(super) fn garbler(mut run: Metered, job: &Job, layout: &Layout) -> Result<Garbler, Error> {
    run.phase("setup");
    let mut rng = Rng::new("brickwork compgc garbler")?;
    let delta = Zeroizing::new(rng.delta());
    let choices: Zeroizing<Vec<u8>> =
        Zeroizing::new((0..BASE_OTS).map(|i| (delta.bits() >> i) as u8 & 1).collect());
    let greeting =
        Greeting::send::<CompGc>(&mut run.channel, Party::Garbler, &job.terms(), &digests(layout))?;
    let side = Direction::GarblerSends;
    let begun = base::Begun::send(&mut run.channel, side, &greeting.digest(), &choices, job.threads)?;
    let plans = plans(layout);
    let answer = greeting.answered(&mut run.channel)?;
    let keys = begun.receive(&mut run.channel, &answer.digest, &answer.session, 0)?;
    let series = Series::new(&answer.session, side);
    let cot = extension::Sender::set_up(&mut run.channel, &series, *delta, &keys.received)?;
    Ok(Garbler { run, rng, delta, cot, plans })
}

pub(super) fn evaluator(mut run: Metered, job: &Job, layout: &Layout) -> Result<Evaluator, Error> {
    run.phase("setup");
    let rng = Rng::new("brickwork compgc evaluator")?;
    let greeting =
        Greeting::send::<CompGc>(&mut run.channel, Party::Evaluator, &job.terms(), &digests(layout))?;
    let side = Direction::EvaluatorSends;
    let begun = base::Begun::send(&mut run.channel, side, &greeting.digest(), &[], job.threads)?;
    let plans = plans(layout);
    let answer = greeting.answered(&mut run.channel)?;
    let keys = begun.receive(&mut run.channel, &answer.digest, &answer.session, BASE_OTS)?;
    let series = Series::new(&answer.session, Direction::GarblerSends);
    let cot = extension::Receiver::set_up(&mut run.channel, &series, &keys.sent)?;
    Ok(Evaluator { run, rng, cot, plans })
}
