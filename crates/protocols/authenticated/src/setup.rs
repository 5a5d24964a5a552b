//! Sets up a session: the greeting, the offsets of both parties, and correlated OTs in both directions.

use brickwork_base::label::{Delta, Label};
use brickwork_base::random::Rng;
use brickwork_base::{Error, Party};
use brickwork_primitives::ot::base::{self, Direction, SeriesKeys};
use brickwork_primitives::ot::chosen::{self, Receiver, Sender};
use brickwork_primitives::ot::{BASE_OTS, Cot, Series};
use brickwork_protocol::steps::kept;
use brickwork_protocol::{Digests, Greeting, Metered, PhaseReport, SessionId, Terms};
use brickwork_store::{EpochSecrets, Forward, Range, Ranges, SERIALS};
use serde::{Deserialize, Serialize};
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

use crate::cheat::Cheat;
use crate::hash::{HashNumber, PLACES};
use crate::hooks::{Hooks, Point, offset};
use crate::keep::{Computed, KeptWires, StepValues};
use crate::layout::Layout;
use crate::parameters::StatisticalLengths;
use crate::report::Authenticated;
use crate::share::OffsetOwner;

/// The state of a party in a session. One offset serves the whole session.
pub(super) struct SessionState {
    pub run: Metered,
    pub rng: Rng,
    pub own: OffsetOwner,
    pub level: StatisticalLengths,
    pub hooks: Hooks,
    pub keep: StepValues,
    pub id: SessionId,
    /// The key of all hashes of this session.
    pub key: [u8; 32],
    /// The serial numbers of batches for a store.
    pub serials: Range,
    places: Range,
    sender: Sender,
    receiver: Receiver,
}

impl SessionState {
    pub fn close(self) -> Result<Vec<PhaseReport>, Error> {
        self.run.finish()
    }

    /// Returns the number of the next hash. Both parties draw the same numbers.
    ///
    /// # Errors
    /// [`Error::Limit`] if the counter is used up.
    pub fn place(&mut self) -> Result<HashNumber, Error> {
        HashNumber::next(&mut self.places)
    }

    /// Makes OTs for this many masks in advance, if the kind of OTs allows it. Both parties call this at the
    /// same time, and no unread message may be waiting.
    pub fn provide(&mut self, count: usize) -> Result<(), Error> {
        chosen::provide(&mut self.run.channel, &mut self.sender, &mut self.receiver, count)
    }

    /// Chooses random bits for masks, writes their MACs to `macs`, and sends the message from which the peer
    /// computes its keys.
    pub fn choose(&mut self, macs: &mut [Label]) -> Result<(), Error> {
        self.receiver.random_bits(&mut self.run.channel, &mut self.rng, macs)
    }

    /// Receives and checks the peer's message about its random bits, and writes the keys of its masks to
    /// `keys`.
    pub fn accept(&mut self, keys: &mut [Label]) -> Result<(), Error> {
        self.sender.random_bits(&mut self.run.channel, keys)
    }

    /// Ends the run if a check failed. All checks of this protocol call this function.
    ///
    /// # Errors
    /// [`Error::Peer`] with this cheat if the check fails.
    pub fn require(&self, holds: impl Into<bool>, cheat: Cheat) -> Result<(), Error> {
        if holds.into() || self.hooks.settings().is_some_and(|forced| forced.looks_away) {
            Ok(())
        } else {
            Err(cheat.into())
        }
    }

    /// Keeps the outputs of a step that no party learns. `wires` has all wires of the step.
    ///
    /// # Errors
    /// [`Error::Limit`] if all numbers of kept values are used up, [`Error::Resource`] if the wires are in a
    /// file that cannot be read.
    pub fn keep_of(&mut self, layout: &Layout, wires: &mut Computed) -> Result<(), Error> {
        let kept = kept(layout.program).map(|output| wires.some(&output.wires));
        let mut kept = kept.collect::<Result<Vec<KeptWires>, _>>()?.into_iter();
        self.keep.keep(&self.id, layout.program, |_| kept.next().expect("one value for each kept output"))
    }

    /// Returns the kind of OTs that the masks come from.
    pub fn cot(&self) -> Cot {
        self.sender.cot()
    }

    pub fn peer(&self) -> Party {
        match self.own.role {
            Party::Garbler => Party::Evaluator,
            Party::Evaluator => Party::Garbler,
        }
    }
}

/// Returns the direction of the OT series in which this role is the sender.
fn sends(role: Party) -> Direction {
    match role {
        Party::Garbler => Direction::GarblerSends,
        Party::Evaluator => Direction::EvaluatorSends,
    }
}

/// Greets the peer. Returns the keys of the base OTs of both directions, and the session's identifier.
fn base_ots(
    run: &mut Metered,
    hooks: &Hooks,
    terms: &Terms,
    digests: &Digests,
    choices: &[u8],
) -> Result<(SeriesKeys, SessionId), Error> {
    let role = run.role;
    let greeting = Greeting::send::<Authenticated>(&mut run.channel, role, terms, digests)?;
    if let Some(keys) = hooks.dealt(role, choices.len(), choices) {
        run.channel.flush()?;
        return Ok((keys, run.answer(greeting)?.session));
    }
    let digest = greeting.digest();
    let begun = base::BegunSeries::send(
        &mut run.channel,
        sends(role),
        &digest,
        choices,
        terms.post_quantum,
        terms.threads,
    )?;
    let answer = run.answer(greeting)?;
    let keys = begun.receive(&mut run.channel, &answer.digest, &answer.session, BASE_OTS)?;
    Ok((keys, answer.session))
}

/// Sets up a party. Both parties call this, and must agree on `digests`.
pub(super) fn member(
    mut run: Metered,
    terms: &Terms,
    digests: &Digests,
    level: StatisticalLengths,
    cot: Cot,
    mut hooks: Hooks,
) -> Result<SessionState, Error> {
    run.phase("setup");
    let mut rng = Rng::new("brickwork authenticated components")?;
    let offset = Zeroizing::new(offset(&mut hooks, Point::Offset, rng.delta()));
    let choices: Zeroizing<Vec<u8>> =
        Zeroizing::new((0..BASE_OTS).map(|i| (offset.bits() >> i) as u8 & 1).collect());
    let (keys, id) = base_ots(&mut run, &hooks, terms, digests, &choices)?;
    let role = run.role;
    let (own, other) = (Series::new(&id, sends(role)), Series::new(&id, sends(role).other()));
    // Both parties send the receiver's message first. If both waited for the other's message first, neither
    // would continue.
    let receiver = Receiver::set_up(cot, &mut run.channel, &other, &keys.sent)?;
    let sender = Sender::set_up(cot, &mut run.channel, &own, *offset, &keys.received)?;
    let own = OffsetOwner { role, delta: Delta::new(offset.bits()) };
    let places = Ranges::of_setup().take(&PLACES)?;
    let (key, serials) = (key_of(&id), SERIALS.none());
    let keep = StepValues::default();
    Ok(SessionState { run, rng, own, level, hooks, keep, id, key, serials, places, sender, receiver })
}

/// Returns the key of all hashes of a session.
fn key_of(id: &SessionId) -> [u8; 32] {
    blake3::derive_key("brickwork 2026-11 hashes of authenticated masks", id)
}

const VERSION: u32 = 1;

/// The stored state from which another process resumes a session, without the keys of the OTs.
#[derive(Serialize, Deserialize, Zeroize, ZeroizeOnDrop)]
struct Fixed {
    version: u32,
    session: SessionId,
    #[zeroize(skip)]
    cot: Cot,
    offset: u128,
}

impl SessionState {
    /// Returns the secrets from which [`SessionState::restored`] resumes this session.
    pub fn secrets(&self) -> EpochSecrets {
        let (cot, offset) = (self.cot(), self.sender.offset().bits());
        let fixed = Fixed { version: VERSION, session: self.id, cot, offset };
        EpochSecrets::new(&fixed, Forward::join([self.sender.keys_behind(), self.receiver.keys_behind()]))
    }

    /// Resumes a session. It draws from no counter before [`SessionState::enter`].
    ///
    /// # Errors
    /// [`Error::Stock`] if the secrets are malformed.
    pub fn restored(
        run: Metered,
        level: StatisticalLengths,
        secrets: &EpochSecrets,
        hooks: Hooks,
    ) -> Result<Self, Error> {
        let malformed = || {
            Error::Stock(
                "the stored secrets of this session are malformed, or another version wrote them".into(),
            )
        };
        let fixed: Fixed = postcard::from_bytes(&secrets.fixed).map_err(|_| malformed())?;
        let (id, cot, role) = (fixed.session, fixed.cot, run.role);
        let offset = Zeroizing::new(Delta::checked(fixed.offset).ok_or_else(malformed)?);
        if fixed.version != VERSION {
            return Err(malformed());
        }
        let (own, other) = (Series::new(&id, sends(role)), Series::new(&id, sends(role).other()));
        let [sends, receives] = cot.keys();
        let mut keys = secrets.forward.split(&[sends, receives])?.into_iter();
        let mut next = || keys.next().expect("there are keys for two series");
        let sender = Sender::restored(cot, &own, *offset, next())?;
        let receiver = Receiver::restored(cot, &other, next())?;
        let rng = Rng::new("brickwork authenticated components from stock")?;
        let own = OffsetOwner { role, delta: Delta::new(offset.bits()) };
        let (key, serials, places) = (key_of(&id), SERIALS.none(), PLACES.none());
        let keep = StepValues::default();
        Ok(SessionState { run, rng, own, level, hooks, keep, id, key, serials, places, sender, receiver })
    }

    /// Enters the ranges of an entry of the log: for OTs of both directions, and for hash numbers. The peer
    /// uses the same ranges.
    ///
    /// # Errors
    /// [`Error::Usage`] if a range was taken before.
    pub fn enter(&mut self, ranges: &mut Ranges) -> Result<(), Error> {
        self.keep.enter(ranges)?;
        self.places = ranges.take(&PLACES)?;
        self.serials = ranges.take(&SERIALS)?;
        self.sender.enter(ranges)?;
        self.receiver.enter(ranges)
    }
}
