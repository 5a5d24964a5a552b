//! The greeting, both offsets, and correlated OTs both ways.

use brickwork_base::label::{Delta, Label};
use brickwork_base::random::Rng;
use brickwork_base::{Error, Party};
use brickwork_primitives::ot::base::{self, Direction, Keys};
use brickwork_primitives::ot::chosen::{Receiver, Sender};
use brickwork_primitives::ot::{BASE_OTS, Series};
use brickwork_session::{Digests, Greeting, Job, Metered, PhaseReport};
use brickwork_stock::{Range, Ranges};
use zeroize::Zeroizing;

use crate::cheat::Cheat;
use crate::hash::{PLACES, Place};
use crate::hooks::{Hooks, Point};
use crate::layout::Layout;
use crate::parameters::Level;
use crate::report::Authenticated;
use crate::share::Owner;
use brickwork_kernels::Secrets;

/// Either party of a session: what lasts as long as its offset.
pub(super) struct Member {
    pub run: Metered,
    pub rng: Rng,
    pub own: Owner,
    pub level: Level,
    pub hooks: Hooks,
    /// Keys the hashes of this session.
    pub key: [u8; 32],
    places: Range,
    sender: Sender,
    receiver: Receiver,
}

impl Member {
    pub fn close(self) -> Result<Vec<PhaseReport>, Error> {
        self.run.finish()
    }

    /// Returns the place of what is hashed next; the peer draws the same.
    ///
    /// # Errors
    /// [`Error::Limit`] if there is none left.
    pub fn place(&mut self) -> Result<Place, Error> {
        Place::next(&mut self.places)
    }

    /// Chooses the bits of this many masks at random, and sends what the peer's keys follow from. Returns the
    /// macs.
    pub fn choose(&mut self, count: usize) -> Result<Secrets<Label>, Error> {
        let mut macs = Secrets::zeros(count);
        self.receiver.random_bits(&mut self.run.channel, &mut self.rng, &mut macs)?;
        Ok(macs)
    }

    /// Receives what the peer has sent as it chose, and checks it. Returns the keys.
    pub fn accept(&mut self, count: usize) -> Result<Secrets<Label>, Error> {
        let mut keys = Secrets::zeros(count);
        self.sender.random_bits(&mut self.run.channel, &mut keys)?;
        Ok(keys)
    }

    /// Ends the run if a check does not hold: every check of this protocol is made here.
    ///
    /// # Errors
    /// [`Error::Peer`] with this cheat, unless it holds.
    pub fn require(&self, holds: impl Into<bool>, cheat: Cheat) -> Result<(), Error> {
        if holds.into() || self.hooks.look_away() { Ok(()) } else { Err(cheat.into()) }
    }

    /// Returns the other party.
    pub fn peer(&self) -> Party {
        match self.own.role {
            Party::Garbler => Party::Evaluator,
            Party::Evaluator => Party::Garbler,
        }
    }
}

/// Which series a party sends in.
fn sends(role: Party) -> Direction {
    match role {
        Party::Garbler => Direction::GarblerSends,
        Party::Evaluator => Direction::EvaluatorSends,
    }
}

fn digests(layout: &Layout) -> Digests {
    Digests { stock: false, program: layout.digest(), parameters: [0; 32] }
}

/// Greets the peer. Returns the keys of the base OTs, as many each way, and the session.
fn base_ots(
    run: &mut Metered,
    hooks: &Hooks,
    job: &Job,
    layout: &Layout,
    choices: &[u8],
) -> Result<(Keys, [u8; 32]), Error> {
    let role = run.role;
    let greeting = Greeting::send::<Authenticated>(&mut run.channel, role, &job.terms(), &digests(layout))?;
    if let Some(keys) = hooks.dealt(role, choices) {
        run.channel.flush()?;
        return Ok((keys, greeting.answered(&mut run.channel)?.session));
    }
    let digest = greeting.digest();
    let begun =
        base::Begun::send(&mut run.channel, sends(role), &digest, choices, job.post_quantum, job.threads)?;
    let answer = greeting.answered(&mut run.channel)?;
    let keys = begun.receive(&mut run.channel, &answer.digest, &answer.session, BASE_OTS)?;
    Ok((keys, answer.session))
}

/// Sets up a party: both do the same.
pub(super) fn member(
    mut run: Metered,
    job: &Job,
    layout: &Layout,
    mut hooks: Hooks,
) -> Result<Member, Error> {
    run.phase("setup");
    let mut rng = Rng::new("brickwork authenticated components")?;
    let offset = Zeroizing::new(hooks.offset(Point::Offset, rng.delta()));
    let choices: Zeroizing<Vec<u8>> =
        Zeroizing::new((0..BASE_OTS).map(|i| (offset.bits() >> i) as u8 & 1).collect());
    let (keys, session) = base_ots(&mut run, &hooks, job, layout, &choices)?;
    let role = run.role;
    let (own, other) = (Series::new(&session, sends(role)), Series::new(&session, sends(role).other()));
    // The receiver's message comes first, or both would wait.
    let receiver = Receiver::set_up(layout.cot, &mut run.channel, &other, &keys.sent)?;
    let sender = Sender::set_up(layout.cot, &mut run.channel, &own, *offset, &keys.received)?;
    let key = blake3::derive_key("brickwork 2026-11 hashes of authenticated masks", &session);
    let own = Owner { role, delta: Delta::new(offset.bits()) };
    let places = Ranges::of_setup().take(&PLACES)?;
    Ok(Member { run, rng, own, level: layout.level, hooks, key, places, sender, receiver })
}
