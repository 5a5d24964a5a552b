//! Crossing 1: the greeting, and 128 base OTs in which the garbler chooses by the bits of its offset.

use zeroize::Zeroizing;

use crate::batch::Layout;
use crate::report::SemiHonest;
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
    /// Δ: the offset of every wire and of the OTs.
    pub delta: Zeroizing<Delta>,
    pub cot: extension::Sender,
    /// Of each component that is used.
    pub plans: Vec<Option<Schedule>>,
    /// The start of each component's hash keys, once they are drawn.
    pub starts: Vec<u128>,
    /// Slots garbled so far, of each component, each for several executions.
    pub garbled: Vec<u32>,
}

/// The evaluator of a run.
pub(super) struct Evaluator {
    pub run: Metered,
    pub cot: extension::Receiver,
    /// Of each component that is used.
    pub plans: Vec<Option<Schedule>>,
    /// The start of each component's hash keys, once they are told.
    pub starts: Vec<u128>,
    /// Slots evaluated so far, of each component, each for several executions.
    pub evaluated: Vec<u32>,
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

/// What both parties must agree on: the program, how often, and that it is this protocol.
fn digests(job: &Job, layout: &Layout) -> Digests {
    let mut hasher = blake3::Hasher::new_derive_key("brickwork 2026-11 semi-honest program");
    hasher.update(&job.program.digest()).update(&(layout.executions() as u64).to_le_bytes());
    Digests { stock: false, program: *hasher.finalize().as_bytes(), parameters: [0; 32] }
}

fn plans(job: &Job) -> Vec<Option<Schedule>> {
    let used = job.program.slots_by_component().into_iter().map(|slots| slots > 0);
    let components = job.program.components().iter().zip(used);
    components.map(|(component, used)| used.then(|| Schedule::new(&component.circuit))).collect()
}

pub(super) fn garbler(mut run: Metered, job: &Job, layout: &Layout) -> Result<Garbler, Error> {
    run.phase("setup");
    let mut rng = Rng::new("brickwork semi-honest garbler")?;
    let delta = Zeroizing::new(rng.delta());
    let choices: Zeroizing<Vec<u8>> =
        Zeroizing::new((0..BASE_OTS).map(|i| (delta.bits() >> i) as u8 & 1).collect());
    let greeting =
        Greeting::send::<SemiHonest>(&mut run.channel, Party::Garbler, &job.terms(), &digests(job, layout))?;
    let begun = base::Begun::send(
        &mut run.channel,
        Direction::GarblerSends,
        &greeting.digest(),
        &choices,
        job.threads,
    )?;
    let plans = plans(job);
    let answer = greeting.answered(&mut run.channel)?;
    let keys = begun.receive(&mut run.channel, &answer.digest, &answer.session, 0)?;
    let series = Series::new(&answer.session, Direction::GarblerSends);
    let cot = extension::Sender::set_up(&mut run.channel, &series, *delta, &keys.received)?;
    let garbled = vec![0; plans.len()];
    Ok(Garbler { run, rng, delta, cot, plans, starts: Vec::new(), garbled })
}

pub(super) fn evaluator(mut run: Metered, job: &Job, layout: &Layout) -> Result<Evaluator, Error> {
    run.phase("setup");
    let greeting = Greeting::send::<SemiHonest>(
        &mut run.channel,
        Party::Evaluator,
        &job.terms(),
        &digests(job, layout),
    )?;
    let begun =
        base::Begun::send(&mut run.channel, Direction::EvaluatorSends, &greeting.digest(), &[], job.threads)?;
    let plans = plans(job);
    let answer = greeting.answered(&mut run.channel)?;
    let keys = begun.receive(&mut run.channel, &answer.digest, &answer.session, BASE_OTS)?;
    let series = Series::new(&answer.session, Direction::GarblerSends);
    let cot = extension::Receiver::set_up(&mut run.channel, &series, &keys.sent)?;
    let evaluated = vec![0; plans.len()];
    Ok(Evaluator { run, cot, plans, starts: Vec::new(), evaluated })
}
