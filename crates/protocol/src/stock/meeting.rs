//! Compares the stores of both parties at the start of a connection: they must belong together, and their
//! logs must agree.
//!
//! ```text
//!   each, the garbler first    the pair that the store is of, and whether it holds anything;
//!                of each epoch that may still be used: where its log stands, or that another session has it
//!                who knows another pair, and has something to lose, leaves;  a new pair is kept, durably
//!   each, the garbler first    when the log of whoever was one entry behind has been completed:
//!                a hash over where all stand now
//! ```
//!
//! Before both parties have agreed on the state of their stores, no message depends on an input or on stock.
//! Stores that do not belong together are a user's mistake: they are refused and stay unchanged. Stores of a
//! pair may differ by a crash between two writes. Any other difference means that one party has restored an
//! old copy, or lies. Then the differing epochs are burned, and the run is refused.
//!
//! A pair's identifier is a hash over the identifier of the session in which the stores first met. Both
//! parties contribute random numbers to this session identifier. A party stores the identifier on disk before
//! it reports the positions of its logs. So no stock is ever made for a pair that only one party knows.
//!
//! **Several sessions.** Another session of either party may lease an epoch. This connection then treats the
//! epoch as busy: it does not compare, change or use the epoch. From such an epoch, it also does not conclude
//! that a store is an old copy. An epoch that neither party calls busy does not change during the comparison.
//! This follows from the order of the steps: The garbler holds its [`PeerLock`](brickwork_store::PeerLock)
//! while it reads its logs, and until it has the evaluator's answer. So none of its sessions begins to write
//! in that time. No session of the evaluator writes either, because the garbler must first name the epoch.
//! The evaluator reads its logs under its own lock, after it has received the garbler's message. It compares
//! them only after the garbler has answered, because the garbler may have gone away in the meantime, and then
//! its message proves nothing. If both sent at the same time, one party could report a log before a program,
//! and the other party the same log after it. Only the garbler has its lock while it waits for the peer, so
//! the two parties cannot wait for each other.

use std::collections::HashSet;
use std::num::NonZeroU64;

use serde::{Deserialize, Serialize};

use super::msg;
use crate::{Metered, PROTOCOL_VERSION, SessionId, Terms};
use brickwork_base::digest::Digest;
use brickwork_base::{Error, Malformed, Security};
use brickwork_circuit::Party;
use brickwork_store::{
    ACQUAINTANCE_BYTES, Account, Acquaintance, Epoch, EpochEntry, EpochId, EpochReport, EpochState,
    EpochVerdict, Loss, PAIR_BYTES, Relation, Store, StorePairing, Strangers, short,
};
use brickwork_wire::Channel;

/// The owner of stock: a protocol in one role, with these terms.
#[derive(Clone, Copy)]
pub struct StockOwner<'t> {
    /// The protocol's name in a store.
    pub protocol: &'static str,
    /// This party's role.
    pub role: Party,
    /// The security level, and the keys of both parties.
    pub terms: &'t Terms,
}

impl StockOwner<'_> {
    /// Returns the relation between the parties to which a pair of stores belongs.
    pub(super) fn relation(&self) -> Relation {
        Relation { role: self.role, identities: self.terms.identities }
    }

    /// Returns the account in which attempts of the peer are counted.
    pub fn account(&self) -> Account {
        let (relation, protocol) = (self.relation(), self.protocol.into());
        Account { relation, protocol, security: self.terms.security }
    }
}

/// The largest number of epochs that may be in use between two parties.
const MAX_EPOCHS: usize = 1024;

/// The number of burned epochs that are kept for `stock ls`.
const KEPT: usize = 8;

/// The reason for burning an epoch that has no items left.
const USED_UP: &str = "all its items are used";

/// The reason for burning an epoch that is too old.
const OVER: &str = "it is older than its maximum age";

/// The reason if this party's user has burned an epoch. The peer gets a message with this reason.
pub const BY_USER: &str = brickwork_store::BY_USER;

/// The reason if the peer's user has burned an epoch.
const BY_PEER: &str = "the peer's user burned it";

/// The largest number of bytes of one party's list of log positions.
const MAX_BYTES: usize = 1 << 20;

#[derive(Serialize, Deserialize)]
struct EpochStanding {
    epoch: EpochId,
    stands: Stands,
}

/// A party's report about one of its epochs.
#[derive(Serialize, Deserialize)]
enum Stands {
    /// The number of shared entries, and the position of the epoch's log. The number is only shown to users.
    /// The number has a fixed width, so that the length of the message is known before a run.
    At(#[serde(with = "postcard::fixint::le")] u64, EpochReport),
    /// Another session has leased the epoch.
    Busy,
    /// The party's user has burned the epoch.
    Burned,
}

/// Returns the seconds since 1970.
pub(super) fn now() -> u64 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |age| age.as_secs())
}

/// Returns whether an epoch is too old.
pub(super) fn is_over(store: &Store, id: &EpochId) -> Result<bool, Error> {
    Ok(store.epochs()?.iter().any(|(other, epoch)| other == id && epoch.is_over(now())))
}

/// Burns the epochs shared with a peer that are too old, except those that a session holds. The peer does the
/// same, by its own clock.
fn retire_old(store: &Store, owner: &StockOwner) -> Result<(), Error> {
    for (id, epoch, state) in of_relation(store, owner)? {
        if state.burned().is_none() && epoch.is_over(now()) && !store.is_busy(&id) {
            match state.is_new() {
                true => store.forget(&id)?,
                false => end(store, &id)?,
            }
        }
    }
    Ok(())
}

/// Burns an epoch that is too old. If the age is shorter than this party's limit because the peer asked for
/// it, steps that no program has used count as failed attempts. Otherwise a cheater whose cheat did not
/// succeed could let the step expire.
fn end(store: &Store, id: &EpochId) -> Result<(), Error> {
    let all = store.epochs()?;
    let shortened = all.iter().any(|(other, epoch)| other == id && epoch.max_age < store.max_age());
    match shortened {
        true => store.lose(id, Loss::Log, OVER.into()).map(drop),
        false => store.append(id, &EpochEntry::Burned(OVER.into())).map(drop),
    }
}

/// Returns the epochs of a store that belong to these terms, oldest first.
fn ours(store: &Store, owner: &StockOwner) -> Result<Vec<(EpochId, EpochState)>, Error> {
    let ours = of_relation(store, owner)?.into_iter();
    let is_ours = |epoch: &Epoch| epoch.security == owner.terms.security && epoch.version == PROTOCOL_VERSION;
    Ok(ours.filter(|(_, epoch, _)| is_ours(epoch)).map(|(id, _, state)| (id, state)).collect())
}

/// Returns all epochs that were made with the peer, oldest first.
fn of_relation(store: &Store, owner: &StockOwner) -> Result<Vec<(EpochId, Epoch, EpochState)>, Error> {
    let all = store.epochs()?.into_iter();
    all.filter(|(_, epoch)| epoch.protocol == owner.protocol && epoch.relation() == owner.relation())
        .map(|(id, epoch)| {
            let state = store.state(&id)?;
            Ok((id, epoch, state))
        })
        .collect()
}

/// Returns the epochs made with the peer that are neither burned nor used up. Epochs in which no step was
/// ever begun are left out.
fn held(store: &Store, owner: &StockOwner) -> Result<Vec<(EpochId, Epoch)>, Error> {
    let mut held = Vec::new();
    for (id, epoch, state) in of_relation(store, owner)? {
        if state.burned().is_none() && !state.is_new() && !is_used_up(store, &id, &state)? {
            held.push((id, epoch));
        }
    }
    Ok(held)
}

/// Returns whether a store is the peer's own: it has stock of these two parties in the other role. If the
/// folders of the two parties were exchanged, neither store would have a pair. New stock would then be made
/// in the wrong folders.
fn is_the_peers(store: &Store, owner: &StockOwner) -> Result<bool, Error> {
    for (id, epoch) in store.epochs()? {
        if epoch.identities == owner.terms.identities && epoch.role != owner.role {
            let state = store.state(&id)?;
            if state.burned().is_none() && !state.is_new() && !is_used_up(store, &id, &state)? {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

/// Describes the stock that exists instead of the requested stock: for other security levels with this peer,
/// or of other owners.
///
/// # Errors
/// [`Error::Stock`] if the store cannot be read or was altered.
pub fn other_levels(store: &Store, owner: &StockOwner) -> Result<String, Error> {
    let mut levels: Vec<Security> = held(store, owner)?.iter().map(|(_, epoch)| epoch.security).collect();
    levels.sort_unstable();
    levels.dedup();
    levels.retain(|level| *level != owner.terms.security);
    let names: Vec<String> = levels.iter().map(|level| level.flag()).collect();
    if !names.is_empty() {
        return Ok(format!("; the store has stock for {}", names.join(" and ")));
    }
    let mut all = store.epochs()?.into_iter().map(|(_, epoch)| epoch.relation());
    Ok(match all.all(|other| other == owner.relation()) {
        true => String::new(),
        false => "; the stock in this store was made with other keys, or in the other role".into(),
    })
}

/// Refuses a store with stock that another protocol made with this peer. A pair contains the whole contents
/// of both stores. This protocol would not see the other protocol's stock, and would make a new pair. When
/// the other protocol is used next, its stock would be mistaken for an old copy.
fn of_this_protocol(store: &Store, owner: &StockOwner) -> Result<(), Error> {
    for (id, epoch) in store.epochs()? {
        if epoch.relation() != owner.relation() || epoch.protocol == owner.protocol {
            continue;
        }
        let state = store.state(&id)?;
        if state.burned().is_none() && !state.is_new() {
            return Err(Error::Stock(format!(
                "part {} of this store was made for the protocol {}, but this run uses {}; give another \
                 --store on both sides, or burn that part (`brickwork stock burn --epoch {0}`)",
                short(&id),
                epoch.protocol,
                owner.protocol
            )));
        }
    }
    Ok(())
}

/// Refuses stock that another release made, because this release does not know its format and its bounds.
fn of_this_version(held: &[(EpochId, Epoch)]) -> Result<(), Error> {
    match held.iter().find(|(_, epoch)| epoch.version != PROTOCOL_VERSION) {
        None => Ok(()),
        Some((id, epoch)) => Err(Error::Stock(format!(
            "part {} of this store was made by version {} of the protocol, but this release has version \
             {PROTOCOL_VERSION}; use the release that made it on both sides, or burn that part (`brickwork \
             stock burn --epoch {0}`) and make new stock",
            short(id),
            epoch.version
        ))),
    }
}

/// Makes the two stores a new pair, if neither contains stock that could be lost. Epochs in which nothing was
/// ever begun are forgotten, and used ones are burned.
fn get_to_know(store: &Store, owner: &StockOwner, session: &SessionId) -> Result<(), Error> {
    for (id, _, state) in of_relation(store, owner)? {
        match state.burned() {
            Some(_) => {}
            None if state.is_new() => store.forget(&id)?,
            None => drop(store.append(&id, &EpochEntry::Burned(USED_UP.into()))?),
        }
    }
    store.set_pair(&owner.relation(), &blake3::derive_key("brickwork 2026-11 pair of stores", session))
}

/// Returns the epochs that still have items to use, oldest first.
///
/// # Errors
/// [`Error::Stock`] if the store cannot be read or was altered, or there are too many.
pub fn living(store: &Store, owner: &StockOwner) -> Result<Vec<(EpochId, EpochState)>, Error> {
    let mut living = ours(store, owner)?;
    living.retain(|(_, state)| state.burned().is_none());
    match living.len() {
        ..=MAX_EPOCHS => Ok(living),
        n => Err(too_many(n)),
    }
}

fn too_many(n: usize) -> Error {
    Error::Stock(format!(
        "this store has {n} unfinished parts for this peer, which is too many; burn the parts that you do \
         not need, on both sides (`brickwork stock ls` lists them, `brickwork stock burn` burns them)"
    ))
}

/// Checks that one more epoch may begin besides these. Existing epochs can be used in any case.
///
/// # Errors
/// [`Error::Stock`] if there are too many.
pub(super) fn room_for_one_more(living: usize) -> Result<(), Error> {
    if living < MAX_EPOCHS { Ok(()) } else { Err(too_many(living)) }
}

/// Forgets burned epochs that the peer does not report either, except the last few. If an old copy of the
/// peer's store reports one of them later, this epoch is refused like any unknown epoch.
fn forget_burned(store: &Store, owner: &StockOwner, theirs: &[EpochStanding]) -> Result<(), Error> {
    let mut burned = ours(store, owner)?;
    burned.retain(|(id, state)| state.burned().is_some() && theirs.iter().all(|stand| stand.epoch != *id));
    burned.truncate(burned.len().saturating_sub(KEPT));
    burned.iter().try_for_each(|(id, _)| store.forget(id))
}

/// Returns whether an epoch has no items left and can get no new ones.
fn is_used_up(store: &Store, id: &EpochId, state: &EpochState) -> Result<bool, Error> {
    Ok(state.is_used() && store.batches(id)?.iter().all(|batch| batch.left == 0))
}

/// Returns whether this party has burned an epoch because it was used up or too old, or because a user wanted
/// it.
fn was_retired(store: &Store, id: &EpochId) -> bool {
    let reasons = [USED_UP, OVER, BY_USER, BY_PEER].map(Some);
    store.state(id).is_ok_and(|state| reasons.contains(&state.burned()))
}

/// Returns a harmless reason why the peer may have burned an epoch that it does not report: the epoch is used
/// up or too old. `None` if there is no such reason.
fn may_be_retired(store: &Store, id: &EpochId, state: &EpochState) -> Result<Option<&'static str>, Error> {
    if is_used_up(store, id, state)? {
        return Ok(Some(USED_UP));
    }
    let mut all = store.epochs()?.into_iter();
    Ok(all.any(|(other, epoch)| other == *id && epoch.is_nearly_over(now())).then_some(OVER))
}

/// Returns whether the peer does not report this epoch, or reports a log without shared entries.
fn is_nothing(stand: &EpochStanding) -> bool {
    match &stand.stands {
        Stands::At(_, standing) => standing.head == *EpochState::new(&stand.epoch).head(),
        Stands::Busy | Stands::Burned => true,
    }
}

/// The result of comparing an epoch of this store with the peer's report.
enum Compared {
    /// Another session of one of the parties holds the epoch.
    Busy,
    /// The peer does not report the epoch.
    Unnamed,
    /// The peer's user has burned the epoch.
    Burned,
    /// No session has leased the epoch. These are the number of entries in the peer's log, and the result of
    /// the comparison.
    Idle(u64, EpochVerdict),
}

fn compare(busy: bool, id: &EpochId, state: &EpochState, theirs: &[EpochStanding]) -> Compared {
    match theirs.iter().find(|stand| stand.epoch == *id) {
        _ if busy => Compared::Busy,
        None => Compared::Unnamed,
        Some(EpochStanding { stands, .. }) => match stands {
            Stands::Busy => Compared::Busy,
            Stands::Burned => Compared::Burned,
            Stands::At(entries, standing) => Compared::Idle(*entries, state.compare(standing)),
        },
    }
}

/// Reads the peer's report about its logs. The report must have a limited number of epochs, each only once.
///
/// # Errors
/// [`Malformed::UnexpectedMessage`] for any other bytes.
fn read(bytes: &[u8]) -> Result<Vec<EpochStanding>, Malformed> {
    let stands: Vec<EpochStanding> = postcard::from_bytes(bytes).map_err(|_| Malformed::UnexpectedMessage)?;
    let mut seen = HashSet::new();
    match stands.len() <= MAX_EPOCHS + KEPT && stands.iter().all(|stand| seen.insert(stand.epoch)) {
        true => Ok(stands),
        false => Err(Malformed::UnexpectedMessage),
    }
}

/// Compares a state with each epoch in a peer's report, for the fuzz targets.
///
/// # Errors
/// [`Malformed::UnexpectedMessage`] if the report is malformed.
pub fn compared(state: &EpochState, bytes: &[u8]) -> Result<Vec<EpochVerdict>, Malformed> {
    let compared = |stand: &EpochStanding| match &stand.stands {
        Stands::At(_, standing) => Some(state.compare(standing)),
        Stands::Busy | Stands::Burned => None,
    };
    Ok(read(bytes)?.iter().filter_map(compared).collect())
}

/// The peer's report about its store.
struct Received {
    acquaintance: Acquaintance,
    /// The maximum age of new epochs that the peer asks for, in seconds; `None` if its store cannot be used.
    max_age: Option<NonZeroU64>,
    standings: Vec<u8>,
}

impl Received {
    /// Returns the maximum age of new epochs that the peer asks for, in seconds.
    ///
    /// # Errors
    /// [`Error::Stock`] if the peer's store cannot be used.
    fn max_age(&self) -> Result<u64, Error> {
        let max_age = self.max_age.map(NonZeroU64::get);
        max_age.ok_or_else(|| {
            Error::Stock(
                "the peer cannot use its store; the peer's own output says why and what to do. Nothing was \
                 burned or changed in this store. Run again when the peer's store is repaired"
                    .into(),
            )
        })
    }
}

/// Sends the pair of this party's store, and the positions of its logs. Rounds: half of one.
///
/// # Errors
/// [`Error::Stock`] if some stock is of another protocol or version; then nothing is sent.
fn send(
    channel: &mut Channel,
    store: Option<&Store>,
    owner: &StockOwner,
    mine: &[Mine],
) -> Result<Acquaintance, Error> {
    store.map_or(Ok(()), |store| of_this_protocol(store, owner))?;
    let held = store.map_or(Ok(Vec::new()), |store| held(store, owner))?;
    of_this_version(&held)?;
    let pair = store.map_or(Ok(None), |store| store.pair(&owner.relation()))?;
    let exchanged = store.map_or(Ok(false), |store| is_the_peers(store, owner))?;
    // Stock that another session is about to make must not be lost either, so an epoch that is busy counts as
    // stock.
    let busy = mine.iter().any(|mine| mine.busy);
    let acquaintance = Acquaintance { pair, holds: !held.is_empty() || busy || exchanged };
    let stand = |Mine { id, state, busy }: &Mine| EpochStanding {
        epoch: *id,
        stands: if *busy { Stands::Busy } else { Stands::At(state.shared(), state.standing()) },
    };
    let mut burned = store.map_or(Ok(Vec::new()), |store| ours(store, owner))?;
    burned.retain(|(_, state)| state.burned() == Some(BY_USER));
    let last = burned.split_off(burned.len().saturating_sub(KEPT)).into_iter();
    let burned = last.map(|(epoch, _)| EpochStanding { epoch, stands: Stands::Burned });
    // A party without a store makes no stock, so it sets no limit.
    let max_age = store.map_or(u64::MAX, Store::max_age);
    let stands: Vec<EpochStanding> = mine.iter().map(stand).chain(burned).collect();
    let bytes = postcard::to_stdvec(&stands)
        .map_err(|_| Error::Stock("the positions of the logs cannot be encoded".into()))?;
    if bytes.len() > MAX_BYTES {
        return Err(Error::Stock(
            "the last programs took items from too many batches, so the stores cannot be compared; burn the \
             parts that they used (`brickwork stock burn`)"
                .into(),
        ));
    }
    channel.send(msg::PAIR, &pair_message(&acquaintance, max_age))?;
    channel.send(msg::STANDINGS, &bytes)?;
    channel.flush()?;
    Ok(acquaintance)
}

/// Tells the peer that this store cannot be used now. The message replaces the positions of the logs.
fn refuse(channel: &mut Channel) -> Result<(), Error> {
    channel.send(msg::PAIR, &pair_message(&Acquaintance { pair: None, holds: false }, 0))?;
    channel.send(msg::STANDINGS, &[])?;
    channel.flush()
}

/// Encodes the pair of a store, and its maximum age of new epochs in seconds: 0 if the store cannot be used.
fn pair_message(acquaintance: &Acquaintance, max_age: u64) -> Vec<u8> {
    [&acquaintance.to_bytes()[..], &max_age.to_le_bytes()].concat()
}

/// Receives the peer's message about its store.
fn receive(channel: &mut Channel) -> Result<Received, Error> {
    let pair = channel.receive(msg::PAIR, PAIR_BYTES)?;
    let (pair, max_age) = pair.split_at(ACQUAINTANCE_BYTES);
    let acquaintance = Acquaintance::from_bytes(pair).ok_or(Malformed::UnexpectedMessage)?;
    let max_age = u64::from_le_bytes(max_age.try_into().map_err(|_| Malformed::UnexpectedMessage)?);
    // This message is read in any case. If unread bytes were left, closing could destroy the refusal that
    // this party has sent.
    let standings = channel.receive_up_to(msg::STANDINGS, MAX_BYTES)?;
    let max_age = NonZeroU64::new(max_age);
    Ok(Received { acquaintance, max_age, standings })
}

/// Returns the positions of the peer's logs, or `None` if the stores have not met before and contain no stock
/// that could be lost.
///
/// # Errors
/// [`Error::Strangers`] if the stores do not belong together.
fn met(acquaintance: &Acquaintance, peer: &Received) -> Result<Option<Vec<EpochStanding>>, Error> {
    match acquaintance.meets(&peer.acquaintance) {
        StorePairing::Known => Ok(Some(read(&peer.standings)?)),
        StorePairing::Strangers => {
            Err(Strangers { mine: acquaintance.pair, theirs: peer.acquaintance.pair }.into())
        }
        StorePairing::New => Ok(None),
    }
}

/// An epoch that may still be used, and whether another session here leases it.
struct Mine {
    id: EpochId,
    state: EpochState,
    busy: bool,
}

impl Mine {
    /// Returns the usable epochs of a store, oldest first.
    fn all(store: &Store, owner: &StockOwner) -> Result<Vec<Self>, Error> {
        let all = living(store, owner)?.into_iter();
        Ok(all.map(|(id, state)| Mine { id, state, busy: store.is_busy(&id) }).collect())
    }
}

/// The result of the comparison, on which both parties agree.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Reconciled {
    /// The epochs that both may use, oldest first.
    pub epochs: Vec<EpochId>,
    /// True if other sessions have leased further epochs.
    pub busy: bool,
    /// The maximum age of new epochs in seconds: the smaller of both parties' limits.
    pub max_age: u64,
}

/// Compares all epochs of these two parties that no other session has leased. When it returns, both parties
/// have the same list of usable epochs.
///
/// # Errors
/// [`Error::Strangers`] if the stores do not belong together; [`Error::Stock`] if they differ, and then the
/// differing epochs are burned.
pub(super) fn reconcile(
    run: &mut Metered,
    store: &Store,
    owner: &StockOwner,
    session: &SessionId,
) -> Result<Reconciled, Error> {
    // The evaluator reads its logs after it has the garbler's message.
    let received = match owner.role {
        Party::Garbler => None,
        Party::Evaluator => Some(receive(&mut run.channel)?),
    };
    let _lock = store.lock_peer(&owner.relation())?;
    // This party tells the peer that this store is at fault, because the peer's user could not find that out.
    let mut mine = usable(store, owner).inspect_err(|_| {
        if let Err(gone) = refuse(&mut run.channel) {
            tracing::debug!("this party could not tell the peer that its store cannot be used: {gone}");
        }
    })?;
    // If the peer has refused to run, this party does not answer.
    received.iter().try_for_each(|peer| peer.max_age().map(drop))?;
    let acquaintance = send(&mut run.channel, Some(store), owner, &mine)?;
    let peer = received.map_or_else(|| receive(&mut run.channel), Ok)?;
    let theirs_max_age = peer.max_age()?;
    let met = met(&acquaintance, &peer)?;
    // If a garbler has gone away, its message may be out of date. It is up to date only if the garbler has
    // received the evaluator's message, because the garbler held its lock until then. So the evaluator
    // decides nothing before the garbler has answered.
    let stands = match owner.role {
        Party::Garbler => None,
        Party::Evaluator => Some(run.channel.receive(msg::STAND, 32)?),
    };
    let theirs = match met {
        Some(theirs) => theirs,
        // The stores are a new pair now, so they have no epoch in common, even if one of them had old epochs.
        None => {
            get_to_know(store, owner, session)?;
            mine.clear();
            Vec::new()
        }
    };

    // No step was ever begun here in a new epoch. The peer may not know yet that this party has burned its
    // used epochs.
    let unknown =
        |stand: &EpochStanding| mine.iter().all(|mine| mine.id != stand.epoch) && !is_nothing(stand);
    let mut differs = Differences {
        here: theirs.iter().any(|stand| unknown(stand) && !was_retired(store, &stand.epoch)),
        there: false,
    };
    let mut shared = Vec::new();
    for Mine { id, state, busy } in &mine {
        let compared = compare(*busy, id, state, &theirs);
        match compared {
            Compared::Busy => {}
            Compared::Burned => {
                tracing::warn!(
                    "the peer's user burned part {} of both stores, so this party burned it too",
                    short(id)
                );
                drop(store.lose(id, Loss::Log, BY_PEER.into())?);
            }
            Compared::Idle(_, EpochVerdict::Same | EpochVerdict::Ahead) => shared.push(*id),
            Compared::Idle(_, EpochVerdict::Behind(entry)) => {
                let _ = store.append_named(id, &entry)?;
                shared.push(*id);
            }
            // The peer crashed before it had this epoch.
            Compared::Unnamed if state.is_new() => store.forget(id)?,
            // The peer has burned this epoch before this party did.
            Compared::Unnamed if let Some(why) = may_be_retired(store, id, state)? => match why {
                OVER => end(store, id)?,
                _ => drop(store.append(id, &EpochEntry::Burned(why.into()))?),
            },
            Compared::Idle(_, EpochVerdict::Apart) | Compared::Unnamed => {
                let theirs = if let Compared::Idle(entries, _) = compared { entries } else { 0 };
                let why = "the peer has a different log of it, or none";
                let _ = store.lose(id, Loss::Log, why.into())?;
                differs.here |= theirs >= state.shared();
                differs.there |= theirs <= state.shared();
            }
        }
    }
    // Both parties take the garbler's order, because their clocks may differ.
    if owner.role == Party::Evaluator {
        shared.sort_by_key(|id| theirs.iter().position(|stand| stand.epoch == *id));
    }
    let mut digest = Digest::of("brickwork 2026-11 stock standings");
    digest.number(differs.any()).length(shared.len());
    for id in &shared {
        digest.digest(id).digest(store.state(id)?.head());
    }
    let mine_stands = digest.done();
    let agreed = match stands {
        None => meet(run, &mine_stands),
        Some(theirs) => {
            run.channel.send(msg::STAND, &mine_stands)?;
            run.channel.flush()?;
            same_stand(&mine_stands, &theirs)
        }
    };
    match (differs.any(), agreed) {
        (false, Ok(())) => {
            forget_burned(store, owner, &theirs)?;
            let is_busy = |stand: &EpochStanding| matches!(stand.stands, Stands::Busy);
            let busy = mine.iter().any(|mine| mine.busy) || theirs.iter().any(is_busy);
            Ok(Reconciled {
                epochs: retired(store, shared)?,
                busy,
                max_age: store.max_age().min(theirs_max_age),
            })
        }
        (false, Err(error)) => Err(error),
        (true, _) => Err(differs.error()),
    }
}

/// The stores that lack entries or epochs.
#[derive(Clone, Copy)]
struct Differences {
    /// This store lacks some.
    here: bool,
    /// The peer's store lacks some.
    there: bool,
}

impl Differences {
    fn any(self) -> bool {
        self.here || self.there
    }

    /// Returns an error that names the outdated store, as far as this party can tell, with a hint.
    fn error(self) -> Error {
        let who = match (self.here, self.there) {
            (true, false) => {
                "this store lacks entries that the peer's store has, because somebody restored an old copy \
                 of it, or a"
            }
            (false, true) => {
                "the peer's store lacks entries that this store has, because somebody restored an old copy \
                 of it, or a"
            }
            _ => {
                "each store lacks entries that the other has, because somebody restored an old copy of one, \
                 or a"
            }
        };
        Error::Stock(format!(
            "the logs of this store and of the peer's store differ: {who} part of it was lost. Both parties \
             burned the parts that differ, so that no item is used twice. Run again: the missing stock is \
             then made anew"
        ))
    }
}

/// Burns epochs that are too old. Returns the usable epochs of the store, which must be complete and of this
/// protocol and version.
///
/// # Errors
/// [`Error::Stock`] otherwise.
fn usable(store: &Store, owner: &StockOwner) -> Result<Vec<Mine>, Error> {
    of_this_protocol(store, owner)?;
    of_this_version(&held(store, owner)?)?;
    retire_old(store, owner)?;
    let mine = Mine::all(store, owner)?;
    mine.iter().filter(|mine| !mine.busy).try_for_each(|mine| store.present(&mine.id))?;
    Ok(mine)
}

/// Exchanges the pairs and the positions of the logs with the peer for a comparison without a run. It changes
/// nothing at either party. A party without a store has no pair and no log. Returns the number of epochs that
/// both may use.
///
/// # Errors
/// [`Error::Strangers`] if the stores do not belong together: a run would be refused. [`Error::Stock`] if
/// their logs do not agree: a run would burn the differing epochs.
pub fn compare_stores(
    channel: &mut Channel,
    store: Option<&Store>,
    owner: &StockOwner,
) -> Result<usize, Error> {
    let received = match owner.role {
        Party::Garbler => None,
        Party::Evaluator => Some(receive(channel)?),
    };
    received.iter().try_for_each(|peer| peer.max_age().map(drop))?;
    let mine = store.map_or(Ok(Vec::new()), |store| Mine::all(store, owner))?;
    let acquaintance = send(channel, store, owner, &mine)?;
    let peer = received.map_or_else(|| receive(channel), Ok)?;
    let _ = peer.max_age()?;
    let Some(theirs) = met(&acquaintance, &peer)? else { return Ok(0) };
    let is_mine = |stand: &&EpochStanding| mine.iter().any(|mine| mine.id == stand.epoch);
    let was_retired = |stand: &&EpochStanding| store.is_some_and(|store| was_retired(store, &stand.epoch));
    let unknown = theirs.iter().filter(|s| !is_mine(s) && !is_nothing(s) && !was_retired(s)).count();
    let (mut shared, mut missing, mut apart) = (0, 0, 0);
    for (store, Mine { id, state, busy }) in store.into_iter().cycle().zip(&mine) {
        match compare(*busy, id, state, &theirs) {
            Compared::Busy | Compared::Burned => continue,
            Compared::Idle(_, EpochVerdict::Same | EpochVerdict::Ahead | EpochVerdict::Behind(_)) => {
                shared += 1
            }
            Compared::Idle(_, EpochVerdict::Apart) => apart += 1,
            Compared::Unnamed if state.is_new() || may_be_retired(store, id, state)?.is_some() => {}
            Compared::Unnamed => missing += 1,
        }
        store.present(id)?;
    }
    if unknown + missing + apart == 0 {
        return Ok(shared);
    }
    Err(Error::Stock(format!(
        "one of the two stores is an old copy, or has lost a part: {shared} parts are the same in both, \
         {missing} are only in this store, {unknown} only in the peer's, and {apart} differ; a run would \
         burn all parts that are not the same"
    )))
}

/// Burns the epochs from which a program took items, and which are the same at both parties. Returns the
/// others.
fn retired(store: &Store, shared: Vec<EpochId>) -> Result<Vec<EpochId>, Error> {
    let mut living = Vec::new();
    for id in shared {
        if is_used_up(store, &id, &store.state(&id)?)? {
            let _ = store.append(&id, &EpochEntry::Burned(USED_UP.into()))?;
        } else {
            living.push(id);
        }
    }
    Ok(living)
}

/// Checks that both logs are at the same position. Rounds: half of one.
///
/// # Errors
/// [`Error::Stock`] if they are not.
pub(super) fn meet(run: &mut Metered, mine: &[u8; 32]) -> Result<(), Error> {
    run.channel.send(msg::STAND, mine)?;
    same_stand(mine, &run.channel.receive(msg::STAND, mine.len())?)
}

pub(super) fn same_stand(mine: &[u8; 32], theirs: &[u8]) -> Result<(), Error> {
    match theirs == mine {
        true => Ok(()),
        false => Err(Error::Stock(
            "the log of the peer's store is at another position than the log of this store".into(),
        )),
    }
}

#[cfg(test)]
mod tests {
    // Rows are those of the table of attacks (docs/concepts/security.md, section 14).

    use super::*;
    use crate::Unobserved;
    use crate::tests::Empty;
    use brickwork_store::{Batch, Chain, EpochSecrets, FillStep, PairId, StoreKey, serial};
    use brickwork_wire::memory_pair;

    /// Existing epochs can be used even if no new epoch can begin.
    #[test]
    fn as_many_epochs_as_fit_a_message() {
        assert!(room_for_one_more(MAX_EPOCHS - 1).is_ok());
        assert!(
            matches!(room_for_one_more(MAX_EPOCHS), Err(Error::Stock(why)) if why.contains("stock burn"))
        );
    }

    const TERMS: Terms = Terms {
        security: Security::of(40),
        threads: 1,
        table_memory: 1 << 20,
        identities: [[1; 32], [2; 32]],
        post_quantum: false,
    };

    fn epoch(role: Party) -> Epoch {
        Epoch {
            protocol: "test".into(),
            version: PROTOCOL_VERSION,
            role,
            security: Security::of(40),
            identities: TERMS.identities,
            created: 0,
            max_age: u64::MAX,
            fixed: 0,
            early: 0,
            counted: brickwork_store::Counted::Nothing,
        }
    }

    fn owner(role: Party) -> StockOwner<'static> {
        StockOwner { protocol: "test", role, terms: &TERMS }
    }

    fn relation(role: Party) -> Relation {
        owner(role).relation()
    }

    /// The pair of the stores in these tests.
    const PAIR: PairId = [6; 32];

    /// Makes a party's store with these epochs: the time when each began, and the number of events in it.
    fn store(
        role: Party,
        epochs: impl IntoIterator<Item = (u8, u64)>,
        entries: &[EpochEntry],
    ) -> (tempfile::TempDir, Store) {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path(), &StoreKey::from_bytes([7; 32])).unwrap();
        store.set_pair(&relation(role), &PAIR).unwrap();
        for (id, created) in epochs {
            let epoch = Epoch { created, ..epoch(role) };
            store.begin(&[id; 32], &epoch, &EpochSecrets::fixed(b"secrets")).unwrap();
            entries.iter().for_each(|entry| drop(store.append(&[id; 32], entry).unwrap()));
        }
        (folder, store)
    }

    const SESSION: SessionId = [8; 32];

    const BEGUN: [EpochEntry; 1] =
        [EpochEntry::Fill(FillStep { job: [1; 32], number: 0, of: 1, risk: 0, workers: 1 })];

    /// Makes a batch of one item in the current step, and completes the step.
    fn make(store: &Store, id: &EpochId) {
        let mut writer = store.writer(id, serial(1, 0)).unwrap();
        writer.record(0, 1, vec![1].into()).unwrap();
        let batch = Batch { kind: 0, name: "batch".into(), component: [0; 32], header: Vec::new() };
        store.put(id, serial(1, 0), &batch, writer, &Chain::of(&[1; 32])).unwrap();
        for entry in [EpochEntry::Stored, EpochEntry::Made] {
            let _ = store.append(id, &entry).unwrap();
        }
    }

    /// Makes a batch, and takes all its items.
    fn use_up(store: &Store, id: &EpochId) {
        make(store, id);
        let _ =
            store.append(id, &EpochEntry::Use { program: [1; 32], taken: vec![(serial(1, 0), 1)] }).unwrap();
    }

    /// Returns the results of both parties.
    fn agreed(stores: [&Store; 2]) -> [Result<Vec<EpochId>, Error>; 2] {
        let ([garblers, evaluators], (left, right)) = (stores, memory_pair());
        let one = |role: Party, channel, store| {
            let observer = Box::new(Unobserved);
            reconcile(&mut Metered::new::<Empty>(channel, role, observer), store, &owner(role), &SESSION)
                .map(|met| met.epochs)
        };
        std::thread::scope(|scope| {
            let garbler = scope.spawn(|| one(Party::Garbler, left, garblers));
            let evaluator = one(Party::Evaluator, right, evaluators);
            [garbler.join().unwrap(), evaluator]
        })
    }

    /// Returns the results of comparing two stores with these epochs; each epoch has some stock.
    fn reconciled(epochs: [&[(u8, u64)]; 2]) -> [Result<Vec<EpochId>, Error>; 2] {
        let of = |role: Party| store(role, epochs[role as usize].iter().copied(), &BEGUN);
        let [(_one, garblers), (_other, evaluators)] = [Party::Garbler, Party::Evaluator].map(of);
        agreed([&garblers, &evaluators])
    }

    /// If the clocks differ, both parties take the garbler's order.
    #[test]
    fn epochs_have_one_order() {
        for created in [[1, 2, 3], [3, 2, 1], [2, 3, 1]] {
            let [mine, theirs] =
                [[(1, 1), (2, 2), (3, 3)], [(1, created[0]), (2, created[1]), (3, created[2])]];
            let agreed = reconciled([&mine, &theirs]).map(Result::unwrap);
            assert_eq!(agreed, [(); 2].map(|()| vec![[1; 32], [2; 32], [3; 32]]));
        }
    }

    /// Row 25 of the table of attacks: an epoch in which something was made, and that the peer does not know,
    /// is refused.
    #[test]
    fn row_25_what_the_peer_does_not_know_is_refused() {
        let (all, some) = ([(1, 1), (2, 2)], [(1, 1)]);
        for epochs in [[&all[..], &some], [&some, &all], [&all, &[]]] {
            let refused = reconciled(epochs);
            assert!(
                refused.iter().all(
                    |result| matches!(result, Err(Error::Stock(why)) if why.contains("the logs of this \
                         store and of the peer's store differ"))
                ),
                "{refused:?}"
            );
        }
    }

    /// Row 25 of the table of attacks: each party learns whose store is the old copy. A party reports the
    /// epochs that its user has burned, and both continue with the others.
    #[test]
    fn row_25_each_party_hears_what_happened() {
        let both = || [Party::Garbler, Party::Evaluator].map(|role| store(role, [(1, 1), (2, 2)], &BEGUN));
        for old in [0, 1] {
            let stores = both();
            let ahead = &stores[1 - old].1;
            make(ahead, &[1; 32]);
            let _ = ahead.append(&[1; 32], &BEGUN[0]).unwrap();
            let met = agreed([&stores[0].1, &stores[1].1]).map(|met| met.unwrap_err().to_string());
            assert!(met[old].contains("this store lacks entries that the peer's store has"), "{met:?}");
            assert!(met[1 - old].contains("the peer's store lacks entries that this store has"), "{met:?}");
            let met = agreed([&stores[0].1, &stores[1].1]);
            assert!(met.iter().all(|met| matches!(met, Ok(epochs) if *epochs == [[2; 32]])), "{met:?}");
        }
        for burns in [0, 1] {
            let stores = both();
            let _ = stores[burns].1.append(&[1; 32], &EpochEntry::Burned(BY_USER.into())).unwrap();
            for _ in 0..2 {
                let met = agreed([&stores[0].1, &stores[1].1]);
                assert!(met.iter().all(|met| matches!(met, Ok(epochs) if *epochs == [[2; 32]])), "{met:?}");
                assert_eq!(stores[1 - burns].1.state(&[1; 32]).unwrap().burned(), Some(BY_PEER));
            }
        }
    }

    /// If a party's store cannot be used, the peer is told, and nothing is burned at either party.
    #[test]
    fn a_peer_hears_that_a_store_cannot_be_used() {
        for broken in [0, 1] {
            let stores = [Party::Garbler, Party::Evaluator].map(|role| store(role, [(1, 1)], &BEGUN));
            stores.iter().for_each(|(_, store)| make(store, &[1; 32]));
            let segments = stores[broken].0.path().join("segments");
            let segment = std::fs::read_dir(&segments).unwrap().next().unwrap().unwrap().path();
            let moved = stores[broken].0.path().join("moved");
            std::fs::rename(&segment, &moved).unwrap();
            let before = stores.each_ref().map(|(_, store)| contents(store));
            let met = agreed([&stores[0].1, &stores[1].1]).map(|met| met.unwrap_err().to_string());
            assert!(met[1 - broken].contains("the peer cannot use its store"), "{met:?}");
            assert!(met[broken].starts_with("stock: ") && met[broken] != met[1 - broken], "{met:?}");
            assert_eq!(stores.each_ref().map(|(_, store)| contents(store)), before);
            std::fs::rename(&moved, &segment).unwrap();
            assert!(agreed([&stores[0].1, &stores[1].1]).iter().all(Result::is_ok));
        }
    }

    /// Row 25 of the table of attacks: this party remembers a burned epoch as long as the peer reports it,
    /// however many are burned after it. If the peer crashes before it has burned the epoch, it reports the
    /// epoch again. No user has to burn anything for that.
    #[test]
    fn row_25_what_the_peer_still_names_is_remembered() {
        let all = || (0..=KEPT as u8).map(|id| (id, id.into()));
        let (_folder, garblers) = store(Party::Garbler, all(), &BEGUN);
        for (id, _) in all() {
            use_up(&garblers, &[id; 32]);
            let _ = garblers.append(&[id; 32], &EpochEntry::Burned(USED_UP.into())).unwrap();
        }
        let oldest = [0; 32];
        let peer = || {
            let (folder, peers) = store(Party::Evaluator, [(0, 0)], &BEGUN);
            use_up(&peers, &oldest);
            (folder, peers)
        };
        let [(_dies, dies), (_lives, lives)] = [peer(), peer()];
        for evaluators in [&dies, &lives] {
            let agreed = agreed([&garblers, evaluators]);
            assert!(
                agreed.iter().all(|epochs| matches!(epochs, Ok(epochs) if epochs.is_empty())),
                "{agreed:?}"
            );
            assert!(was_retired(&garblers, &oldest) && was_retired(evaluators, &oldest));
        }
        // When the peer has burned the epoch, it does not report it any more, and this party forgets it.
        assert!(agreed([&garblers, &lives]).iter().all(Result::is_ok));
        assert!(garblers.state(&oldest).is_err() && garblers.epochs().unwrap().len() == KEPT);
    }

    /// Makes a party's store with an epoch that may be used for 800 seconds and is `age` seconds old.
    fn aged(role: Party, age: u64) -> (tempfile::TempDir, Store) {
        let (folder, store) = store(role, [], &[]);
        let epoch = Epoch { created: now() - age, max_age: 800, ..epoch(role) };
        store.begin(&[9; 32], &epoch, &EpochSecrets::fixed(b"secrets")).unwrap();
        let _ = store.append(&[9; 32], &BEGUN[0]).unwrap();
        make(&store, &[9; 32]);
        (folder, store)
    }

    /// An epoch ends at both parties when it is too old. If a party's clock is slightly late, it notices that
    /// the peer does not report the epoch. If the clocks differ more, the peer's store is mistaken for an old
    /// copy.
    #[test]
    fn an_epoch_ends_with_its_time() {
        let cases = [
            ([0, 600], Some(1)),
            ([900, 900], Some(0)),
            ([900, 750], Some(0)),
            ([750, 900], Some(0)),
            ([900, 600], None),
            ([600, 900], None),
        ];
        for (ages, left) in cases {
            let stores = [Party::Garbler, Party::Evaluator].map(|role| aged(role, ages[role as usize]));
            let met = agreed([&stores[0].1, &stores[1].1]);
            match left {
                Some(left) => {
                    assert!(met.iter().all(|met| matches!(met, Ok(all) if all.len() == left)), "{met:?}")
                }
                None => assert!(met.iter().all(|met| matches!(met, Err(Error::Stock(_)))), "{met:?}"),
            }
            for (_, store) in &stores {
                assert_eq!(store.state(&[9; 32]).unwrap().burned().is_none(), left == Some(1), "{ages:?}");
                assert_eq!(store.secrets(&[9; 32]).is_ok(), left == Some(1), "{ages:?}");
            }
            // Both parties continue. Neither has forgotten an epoch that the other one could still report.
            let met = agreed([&stores[0].1, &stores[1].1]);
            assert!(met.iter().all(Result::is_ok), "{ages:?} {met:?}");
        }
    }

    /// If the peer asks for a shorter age than this party, it gets no additional challenge: steps that no
    /// program has used count as attempts when the epoch ends. If this party asked for the age, the end of
    /// the epoch costs the peer nothing.
    #[test]
    fn row_04_a_time_that_the_peer_shortened_counts() {
        for (own, vain) in [(800, 0), (801, 7)] {
            let (_folder, store) = store(Party::Evaluator, [], &[]);
            let counted = brickwork_store::Counted::BrokenOffOrThrownAway;
            let epoch = Epoch { created: now() - 900, max_age: 800, counted, ..epoch(Party::Evaluator) };
            store.begin(&[9; 32], &epoch, &EpochSecrets::fixed(b"secrets")).unwrap();
            let step = FillStep { job: [1; 32], number: 0, of: 1, risk: 7, workers: 1 };
            let _ = store.append(&[9; 32], &EpochEntry::Fill(step)).unwrap();
            make(&store, &[9; 32]);
            store.set_max_age(own);
            retire_old(&store, &owner(Party::Evaluator)).unwrap();
            assert_eq!(store.state(&[9; 32]).unwrap().burned(), Some(OVER));
            let sum: u128 = store.accounts().unwrap().iter().map(|(_, sum)| sum).sum();
            assert_eq!(sum, vain, "asked for {own}");
        }
    }

    /// A session keeps its epoch until the session ends, however long it takes.
    #[test]
    fn an_epoch_that_a_session_has_does_not_end() {
        let (_folder, store) = aged(Party::Garbler, 900);
        let lock = store.lock_peer(&relation(Party::Garbler)).unwrap();
        let lease = lock.lease(&[9; 32]).unwrap();
        retire_old(&store, &owner(Party::Garbler)).unwrap();
        assert!(store.state(&[9; 32]).unwrap().burned().is_none());
        drop(lease);
        retire_old(&store, &owner(Party::Garbler)).unwrap();
        assert_eq!(store.state(&[9; 32]).unwrap().burned(), Some(OVER));
    }

    /// Both parties agree on the smaller of their maximum ages.
    #[test]
    fn the_smaller_age_counts() {
        for ages in [[5, 9], [9, 5], [u64::MAX, 9]] {
            let stores = [Party::Garbler, Party::Evaluator].map(|role| store(role, [], &[]));
            stores.iter().zip(ages).for_each(|((_, store), age)| store.set_max_age(age));
            let (left, right) = memory_pair();
            let one = |role: Party, channel| {
                let mut run = Metered::new::<Empty>(channel, role, Box::new(Unobserved));
                reconcile(&mut run, &stores[role as usize].1, &owner(role), &SESSION).unwrap().max_age
            };
            let met = std::thread::scope(|scope| {
                let garbler = scope.spawn(|| one(Party::Garbler, left));
                let evaluator = one(Party::Evaluator, right);
                [garbler.join().unwrap(), evaluator]
            });
            assert_eq!(met, [*ages.iter().min().unwrap(); 2]);
        }
    }

    /// The content of an epoch in these tests.
    #[derive(Clone, Copy, Debug, PartialEq)]
    enum Holds {
        Nothing,
        /// The epoch was set up, and the peer may not know it.
        New,
        /// A step has begun.
        Begun,
        /// The epoch has an item.
        Stock,
        /// The epoch had an item, which was taken.
        UsedUp,
        Burned,
    }

    /// Makes a store with an epoch, which belongs to a pair or to none.
    fn of_pair(role: Party, pair: Option<PairId>, holds: Holds) -> (tempfile::TempDir, Store) {
        let epochs = if holds == Holds::Nothing { vec![] } else { vec![(9, 0)] };
        let entries = if [Holds::Nothing, Holds::New].contains(&holds) { &[][..] } else { &BEGUN };
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path(), &StoreKey::from_bytes([7; 32])).unwrap();
        if let Some(pair) = pair {
            store.set_pair(&relation(role), &pair).unwrap();
        }
        for (id, created) in epochs {
            store
                .begin(&[id; 32], &Epoch { created, ..epoch(role) }, &EpochSecrets::fixed(b"secrets"))
                .unwrap();
            entries.iter().for_each(|entry| drop(store.append(&[id; 32], entry).unwrap()));
        }
        match holds {
            Holds::Stock => make(&store, &[9; 32]),
            Holds::UsedUp => use_up(&store, &[9; 32]),
            Holds::Burned => drop(store.append(&[9; 32], &EpochEntry::Burned("test".into())).unwrap()),
            _ => {}
        }
        (folder, store)
    }

    /// Returns everything that a store can tell about its content.
    fn contents(store: &Store) -> Vec<(EpochId, Vec<EpochEntry>, Option<Vec<u8>>)> {
        let all = store.epochs().unwrap().into_iter();
        all.map(|(id, _)| (id, store.log(&id).unwrap(), store.secrets(&id).ok().map(|s| s.fixed.clone())))
            .collect()
    }

    /// Rows 24 and 25 of the table of attacks: stores that do not belong together are refused by both parties
    /// and stay unchanged, whatever they hold. They become a pair only if nothing could be lost.
    #[test]
    fn rows_24_and_25_strangers_stay_as_they_are() {
        let all = [Holds::Nothing, Holds::New, Holds::Begun, Holds::Stock, Holds::UsedUp, Holds::Burned];
        let some = |holds| [Holds::Begun, Holds::Stock].contains(&holds);
        for (mine, theirs) in [(Some([1; 32]), Some([2; 32])), (Some([1; 32]), None), (None, Some([1; 32]))] {
            for (here, there) in all.iter().flat_map(|here| all.map(|there| (*here, there))) {
                let (_one, garblers) = of_pair(Party::Garbler, mine, here);
                let (_other, evaluators) = of_pair(Party::Evaluator, theirs, there);
                let before = [contents(&garblers), contents(&evaluators)];
                let met = agreed([&garblers, &evaluators]);
                let pairs = [(Party::Garbler, &garblers), (Party::Evaluator, &evaluators)]
                    .map(|(role, store)| store.pair(&relation(role)).unwrap());
                if some(here) || some(there) {
                    assert!(
                        met.iter().all(|met| matches!(met, Err(Error::Strangers(_)))),
                        "{here:?} {there:?}: {met:?}"
                    );
                    assert_eq!(
                        (pairs, [contents(&garblers), contents(&evaluators)]),
                        ([mine, theirs], before)
                    );
                } else {
                    assert!(met.iter().all(|met| matches!(met, Ok(epochs) if epochs.is_empty())), "{met:?}");
                    assert!(
                        pairs[0].is_some() && pairs[0] == pairs[1] && ![mine, theirs].contains(&pairs[0])
                    );
                    let alive = |store: &Store| living(store, &owner(Party::Garbler)).unwrap().len();
                    assert_eq!(alive(&garblers), 0);
                }
            }
        }
    }

    /// Rows 24 and 25 of the table of attacks: a party that lies about its pair is refused, and the other
    /// party loses nothing. If a party names the right pair but does not have its log, its store is treated
    /// as an old copy.
    #[test]
    fn rows_24_and_25_lies_about_a_pair_gain_nothing() {
        for liar in [Party::Garbler, Party::Evaluator] {
            for (pair, holds, lost) in [
                (Some([7; 32]), true, false),
                (Some([7; 32]), false, false),
                (None, true, false),
                (None, false, false),
                (Some(PAIR), false, true),
            ] {
                let honest = if liar == Party::Garbler { Party::Evaluator } else { Party::Garbler };
                let (_folder, mine) = of_pair(honest, Some(PAIR), Holds::Stock);
                let before = contents(&mine);
                let (channel, mut peer) = memory_pair();
                let result = std::thread::scope(|scope| {
                    // The thread keeps the connection open until the other party has sent its message.
                    let _peer = scope.spawn(move || {
                        peer.send(msg::PAIR, &pair_message(&Acquaintance { pair, holds }, 5)).unwrap();
                        peer.send(msg::STANDINGS, &[0]).unwrap();
                        peer.send(msg::STAND, &[0; 32]).unwrap();
                        peer.flush().unwrap();
                        peer
                    });
                    let observer = Box::new(Unobserved);
                    reconcile(
                        &mut Metered::new::<Empty>(channel, honest, observer),
                        &mine,
                        &owner(honest),
                        &SESSION,
                    )
                });
                assert_eq!(contents(&mine) != before, lost, "{pair:?} {holds}");
                assert_eq!(matches!(result, Err(Error::Strangers(_))), !lost, "{result:?}");
                assert_eq!(mine.pair(&relation(honest)).unwrap(), Some(PAIR));
            }
        }
    }

    /// A peer with another key, and the same two parties in exchanged roles, have pairs of their own.
    #[test]
    fn a_store_knows_several_peers() {
        let (_folder, store) = of_pair(Party::Garbler, Some(PAIR), Holds::Nothing);
        let others = [
            Relation { role: Party::Evaluator, identities: TERMS.identities },
            Relation { role: Party::Garbler, identities: [[1; 32], [3; 32]] },
        ];
        for (k, other) in others.iter().enumerate() {
            assert_eq!(store.pair(other).unwrap(), None);
            store.set_pair(other, &[k as u8; 32]).unwrap();
        }
        assert_eq!(store.pair(&relation(Party::Garbler)).unwrap(), Some(PAIR));
        assert!((0..2).all(|k| store.pair(&others[k]).unwrap() == Some([k as u8; 32])));
        assert_eq!(store.pairs().unwrap().len(), 3);
    }

    /// Compares a garbler's store with that of a peer that goes away before it sends anything.
    fn meet_nobody(store: &Store) -> Result<(), Error> {
        let (channel, peer) = memory_pair();
        drop(peer);
        let mut line = Metered::new::<Empty>(channel, Party::Garbler, Box::new(Unobserved));
        reconcile(&mut line, store, &owner(Party::Garbler), &SESSION).map(drop)
    }

    /// Stock of another protocol is refused before any message, because a new pair would cost that protocol
    /// its stock.
    #[test]
    fn row_19_stock_of_another_protocol_is_refused() {
        let (_folder, mine) = of_pair(Party::Garbler, Some(PAIR), Holds::Nothing);
        let other = Epoch { protocol: "another".into(), ..epoch(Party::Garbler) };
        mine.begin(&[9; 32], &other, &EpochSecrets::fixed(b"secrets")).unwrap();
        assert!(matches!(meet_nobody(&mine), Err(Error::Io(_))), "what was never begun is nothing");
        let _ = mine.append(&[9; 32], &BEGUN[0]).unwrap();
        let refused = meet_nobody(&mine);
        assert!(
            matches!(&refused, Err(Error::Stock(why))
                if why.contains("made for the protocol another") && why.contains("stock burn")),
            "{refused:?}"
        );
        assert_eq!(mine.pair(&owner(Party::Garbler).relation()).unwrap(), Some(PAIR), "nothing was changed");
        let _ = mine.append(&[9; 32], &EpochEntry::Burned("test".into())).unwrap();
        assert!(matches!(meet_nobody(&mine), Err(Error::Io(_))));
    }

    /// Stock of another release is refused before any message, until it is burned.
    #[test]
    fn row_19_stock_of_another_version_is_refused() {
        let (_folder, mine) = of_pair(Party::Garbler, Some(PAIR), Holds::Nothing);
        let old = Epoch { version: PROTOCOL_VERSION - 1, ..epoch(Party::Garbler) };
        mine.begin(&[9; 32], &old, &EpochSecrets::fixed(b"secrets")).unwrap();
        let _ = mine.append(&[9; 32], &BEGUN[0]).unwrap();
        let refused = meet_nobody(&mine);
        assert!(
            matches!(&refused, Err(Error::Stock(why))
                if why.contains("part 090909090909") && why.contains("stock burn")),
            "{refused:?}"
        );
        let _ = mine.append(&[9; 32], &EpochEntry::Burned("test".into())).unwrap();
        assert!(matches!(meet_nobody(&mine), Err(Error::Io(_))));
    }
}
