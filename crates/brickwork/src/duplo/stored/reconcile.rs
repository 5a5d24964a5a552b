//! At the start of a connection: do both parties' stores tell the same story?
//!
//! ```text
//!   both ways    of each epoch that may still be used: where its log stands
//!   both ways    after the log of whoever was one entry behind was completed: a hash over where all stand now
//! ```
//!
//! Nothing that depends on an input or on stock is sent before. If anything differs in a way that a crash
//! between two writes does not explain, somebody brought back an old copy, lost a folder, or lies: what
//! differs is burned, and the run is refused.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};

use super::msg;
use crate::circuit::Party;
use crate::digest::Digest;
use crate::session::{Run, Terms};
use crate::stock::{Entry, Epoch, EpochId, Standing, State, Store, Verdict};
use crate::wire::Channel;
use crate::{Cheat, Error};

/// The name of this protocol in a store.
pub(super) const PROTOCOL: &str = "duplo";

/// Epochs that may be alive between two parties.
const MAX_EPOCHS: usize = 1024;

/// Burned epochs that stay to be seen in `stock ls`.
const KEPT: usize = 8;

/// Why an epoch is burned of which nothing is left.
const USED_UP: &str = "it is used up";

/// Most bytes of one party's standings.
const MAX_BYTES: usize = 1 << 20;

#[derive(Serialize, Deserialize)]
struct Stand {
    epoch: EpochId,
    standing: Standing,
}

/// The epochs of a store that belong to these terms, oldest first.
fn ours(store: &Store, role: Party, terms: &Terms) -> Result<Vec<(EpochId, State)>, Error> {
    let is_ours = |epoch: &Epoch| {
        epoch.protocol == PROTOCOL
            && epoch.role == role
            && epoch.security == terms.security
            && epoch.identities == terms.identities
    };
    let ours = store.epochs()?.into_iter().filter(|(_, epoch)| is_ours(epoch));
    ours.map(|(id, _)| Ok((id, store.state(&id)?))).collect()
}

/// Those of which something may still be used.
pub(super) fn living(store: &Store, role: Party, terms: &Terms) -> Result<Vec<(EpochId, State)>, Error> {
    let mut living = ours(store, role, terms)?;
    living.retain(|(_, state)| state.burned().is_none());
    match living.len() {
        ..=MAX_EPOCHS => Ok(living),
        n => Err(too_many(n)),
    }
}

fn too_many(n: usize) -> Error {
    Error::Stock(format!(
        "{n} parts of this store belong to this peer, of each of which a little is left; burn those that nobody needs, on both sides \
         (`brickwork stock ls` shows them, `brickwork stock burn` burns)"
    ))
}

/// Whether there may be one more living epoch than these. What is there can be used in any case.
///
/// # Errors
/// [`Error::Stock`] if there are too many.
pub(super) fn room_for_one_more(living: usize) -> Result<(), Error> {
    if living < MAX_EPOCHS { Ok(()) } else { Err(too_many(living)) }
}

/// Removes what is known of burned epochs that the peer does not name either, but for the last ones: should a
/// copy name one of them again, it is as unknown as any other, and refused.
fn forget_burned(store: &mut Store, role: Party, terms: &Terms, theirs: &[Stand]) -> Result<(), Error> {
    let mut burned = ours(store, role, terms)?;
    burned.retain(|(id, state)| state.burned().is_some() && theirs.iter().all(|stand| stand.epoch != *id));
    burned.truncate(burned.len().saturating_sub(KEPT));
    burned.iter().try_for_each(|(id, _)| store.forget(id))
}

/// Whether nothing is left of an epoch, nor can be added to it.
fn is_used_up(store: &Store, id: &EpochId, state: &State) -> Result<bool, Error> {
    Ok(state.is_used() && store.batches(id)?.iter().all(|batch| batch.left == 0))
}

/// Whether this party has burned an epoch because nothing was left.
fn was_used_up(store: &Store, id: &EpochId) -> bool {
    store.state(id).is_ok_and(|state| state.burned() == Some(USED_UP))
}

/// Whether the peer stands where this epoch began.
fn is_new(stand: &Stand) -> bool {
    stand.standing.head == *State::new(&stand.epoch).head()
}

/// What a peer says of its logs: not too many, and of each epoch once.
///
/// # Errors
/// [`Cheat::UnexpectedMessage`] if it is anything else.
fn read(bytes: &[u8]) -> Result<Vec<Stand>, Cheat> {
    let stands: Vec<Stand> = postcard::from_bytes(bytes).map_err(|_| Cheat::UnexpectedMessage)?;
    let mut seen = HashSet::new();
    match stands.len() <= MAX_EPOCHS && stands.iter().all(|stand| seen.insert(stand.epoch)) {
        true => Ok(stands),
        false => Err(Cheat::UnexpectedMessage),
    }
}

/// How a state goes together with each of those that a peer's message tells of, for the fuzz targets.
///
/// # Errors
/// As [`read`].
#[cfg(any(test, feature = "adversary"))]
pub(in crate::duplo) fn compared(state: &State, bytes: &[u8]) -> Result<Vec<Verdict>, Cheat> {
    Ok(read(bytes)?.iter().map(|stand| state.compare(&stand.standing)).collect())
}

/// Compares all epochs that these parties share; both know the same ones, in the same order, when it returns.
///
/// # Errors
/// [`Error::Stock`] if the stores differ; what differs is burned.
pub(super) fn reconcile(run: &mut Run, store: &mut Store, terms: &Terms) -> Result<Vec<EpochId>, Error> {
    let mine = living(store, run.role, terms)?;
    // A part of it that is missing shows before anything is sent.
    mine.iter().try_for_each(|(id, _)| store.present(id))?;
    let stands: Vec<Stand> =
        mine.iter().map(|(epoch, state)| Stand { epoch: *epoch, standing: state.standing() }).collect();
    let bytes =
        postcard::to_stdvec(&stands).map_err(|_| Error::Stock("the logs cannot be encoded".into()))?;
    if bytes.len() > MAX_BYTES {
        return Err(Error::Stock(
            "the last programs took from too many batches to be compared; burn them".into(),
        ));
    }
    run.channel.send(msg::STANDINGS, &bytes)?;
    let theirs = run.channel.receive_up_to(msg::STANDINGS, MAX_BYTES)?;
    let theirs = read(&theirs)?;

    // What is new was never begun here, and of what is used up the peer may not know yet that this party
    // knows.
    let unknown = |stand: &Stand| mine.iter().all(|(id, _)| *id != stand.epoch) && !is_new(stand);
    let mut differs = theirs.iter().any(|stand| unknown(stand) && !was_used_up(store, &stand.epoch));
    let mut shared = Vec::new();
    for (id, state) in &mine {
        match theirs.iter().find(|stand| stand.epoch == *id).map(|stand| state.compare(&stand.standing)) {
            Some(Verdict::Same | Verdict::Ahead) => shared.push(*id),
            Some(Verdict::Behind(entry)) => {
                let _ = store.append(id, &entry)?;
                shared.push(*id);
            }
            // The peer died before it had begun.
            None if state.is_new() => store.forget(id)?,
            // The peer knew first.
            None if is_used_up(store, id, state)? => drop(store.append(id, &Entry::Burned(USED_UP.into()))?),
            Some(Verdict::Apart) | None => {
                let _ = store.append(
                    id,
                    &Entry::Burned("the peer's log of it is another one, or the peer has none".into()),
                )?;
                differs = true;
            }
        }
    }
    // Both take the garbler's order: clocks need not agree.
    if run.role == Party::Evaluator {
        shared.sort_by_key(|id| theirs.iter().position(|stand| stand.epoch == *id));
    }
    let mut digest = Digest::of("brickwork 2026-11 stock standings");
    digest.number(differs).length(shared.len());
    for id in &shared {
        digest.digest(id).digest(store.state(id)?.head());
    }
    let agreed = meet(run, &digest.done());
    match (differs, agreed) {
        (false, Ok(())) => {
            forget_burned(store, run.role, terms, &theirs)?;
            retired(store, shared)
        }
        (false, Err(error)) => Err(error),
        (true, _) => Err(Error::Stock(
            "this store and the peer's do not tell the same story; an old copy of one was brought back, or a part was lost or burned. \
             What differs is burned now"
                .into(),
        )),
    }
}

/// Says where this party's logs stand and hears where the peer's do, as [`reconcile`] would begin, and
/// changes nothing at either side: for those who only look. A party without a store has no log. Returns how
/// many epochs both may use.
///
/// # Errors
/// [`Error::Stock`] if the stores do not tell the same story: a run would burn what differs.
pub fn compare_stores(
    channel: &mut Channel,
    store: Option<&Store>,
    role: Party,
    terms: &Terms,
) -> Result<usize, Error> {
    let mine = store.map_or(Ok(Vec::new()), |store| living(store, role, terms))?;
    let stands: Vec<Stand> =
        mine.iter().map(|(epoch, state)| Stand { epoch: *epoch, standing: state.standing() }).collect();
    let bytes =
        postcard::to_stdvec(&stands).map_err(|_| Error::Stock("the logs cannot be encoded".into()))?;
    channel.send(msg::STANDINGS, &bytes)?;
    let theirs = read(&channel.receive_up_to(msg::STANDINGS, MAX_BYTES)?)?;
    let is_mine = |stand: &&Stand| mine.iter().any(|(id, _)| *id == stand.epoch);
    let was_used_up = |stand: &&Stand| store.is_some_and(|store| was_used_up(store, &stand.epoch));
    let unknown = theirs.iter().filter(|s| !is_mine(s) && !is_new(s) && !was_used_up(s)).count();
    let (mut shared, mut missing, mut apart) = (0, 0, 0);
    for (store, (id, state)) in store.into_iter().cycle().zip(&mine) {
        store.present(id)?;
        match theirs.iter().find(|stand| stand.epoch == *id).map(|stand| state.compare(&stand.standing)) {
            Some(Verdict::Same | Verdict::Ahead | Verdict::Behind(_)) => shared += 1,
            Some(Verdict::Apart) => apart += 1,
            None if state.is_new() || is_used_up(store, id, state)? => {}
            None => missing += 1,
        }
    }
    if unknown + missing + apart == 0 {
        return Ok(shared);
    }
    Err(Error::Stock(format!(
        "this store and the peer's do not belong together, or one is an old copy: of their parts {shared} \
         are the same, {missing} are here alone, {unknown} at the peer alone, and {apart} differ; a run would \
         burn all but those that are the same"
    )))
}

/// Burns those epochs of which nothing is left: both parties know the same of them. Returns the others.
fn retired(store: &mut Store, shared: Vec<EpochId>) -> Result<Vec<EpochId>, Error> {
    let mut living = Vec::new();
    for id in shared {
        if is_used_up(store, &id, &store.state(&id)?)? {
            let _ = store.append(&id, &Entry::Burned(USED_UP.into()))?;
        } else {
            living.push(id);
        }
    }
    Ok(living)
}

/// Makes sure that both stand alike. Rounds: half of one.
///
/// # Errors
/// [`Error::Stock`] if they do not.
pub(super) fn meet(run: &mut Run, mine: &[u8; 32]) -> Result<(), Error> {
    run.channel.send(msg::STAND, mine)?;
    let theirs = run.channel.receive(msg::STAND, mine.len())?;
    if theirs == mine {
        Ok(())
    } else {
        Err(Error::Stock("the peer's store stands elsewhere; it is refused".into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::Unobserved;
    use crate::stock::{Step, StoreKey};
    use crate::wire::memory_pair;

    /// What is there can be used even where nothing more is begun.
    #[test]
    fn as_many_epochs_as_fit_a_message() {
        assert!(room_for_one_more(MAX_EPOCHS - 1).is_ok());
        assert!(
            matches!(room_for_one_more(MAX_EPOCHS), Err(Error::Stock(why)) if why.contains("stock burn"))
        );
    }

    const TERMS: Terms =
        Terms { security: 40, threads: 1, table_memory: 1 << 20, identities: [[1; 32], [2; 32]] };

    /// A party's store with these epochs, by when they were begun, and what happened in each of them.
    fn store(
        role: Party,
        epochs: impl IntoIterator<Item = (u8, u64)>,
        entries: &[Entry],
    ) -> (tempfile::TempDir, Store) {
        let folder = tempfile::tempdir().unwrap();
        let mut store = Store::open(folder.path(), &StoreKey::from_bytes([7; 32])).unwrap();
        for (id, created) in epochs {
            let epoch = Epoch {
                protocol: PROTOCOL.into(),
                role,
                security: 40,
                identities: TERMS.identities,
                created,
            };
            store.begin(&[id; 32], &epoch, b"secrets").unwrap();
            entries.iter().for_each(|entry| drop(store.append(&[id; 32], entry).unwrap()));
        }
        (folder, store)
    }

    /// What both agree on.
    fn agreed(stores: [&mut Store; 2]) -> [Result<Vec<EpochId>, Error>; 2] {
        let ([garblers, evaluators], (left, right)) = (stores, memory_pair());
        let one = |role: Party, channel, store| {
            let mut observer = Unobserved;
            reconcile(&mut Run::new(channel, role, &mut observer), store, &TERMS)
        };
        std::thread::scope(|scope| {
            let garbler = scope.spawn(|| one(Party::Garbler, left, garblers));
            let evaluator = one(Party::Evaluator, right, evaluators);
            [garbler.join().unwrap(), evaluator]
        })
    }

    /// What they agree on that have these epochs, in each of which something has happened.
    fn reconciled(epochs: [&[(u8, u64)]; 2]) -> [Result<Vec<EpochId>, Error>; 2] {
        let begun = [Entry::Fill(Step { job: [1; 32], number: 0, of: 1 })];
        let of = |role: Party| store(role, epochs[role as usize].iter().copied(), &begun);
        let [(_one, mut garblers), (_other, mut evaluators)] = [Party::Garbler, Party::Evaluator].map(of);
        agreed([&mut garblers, &mut evaluators])
    }

    /// Clocks need not agree, and both take the garbler's order.
    #[test]
    fn epochs_have_one_order() {
        for created in [[1, 2, 3], [3, 2, 1], [2, 3, 1]] {
            let [mine, theirs] =
                [[(1, 1), (2, 2), (3, 3)], [(1, created[0]), (2, created[1]), (3, created[2])]];
            let agreed = reconciled([&mine, &theirs]).map(Result::unwrap);
            assert_eq!(agreed, [(); 2].map(|()| vec![[1; 32], [2; 32], [3; 32]]));
        }
    }

    /// Row 25: an epoch in which something has happened and that the peer does not know.
    #[test]
    fn row_25_what_the_peer_does_not_know_is_refused() {
        let (all, some) = ([(1, 1), (2, 2)], [(1, 1)]);
        for epochs in [[&all[..], &some], [&some, &all], [&all, &[]]] {
            let refused = reconciled(epochs);
            assert!(
                refused
                    .iter()
                    .all(|result| matches!(result, Err(Error::Stock(why)) if why.contains("same story"))),
                "{refused:?}"
            );
        }
    }

    /// Row 25: what the peer still names is not forgotten, however much was burned after it. If the peer dies
    /// before it has burned it, too, it will name it again, and nobody has to burn anything for that.
    #[test]
    fn row_25_what_the_peer_still_names_is_remembered() {
        let used = Entry::Use { program: [1; 32], taken: Vec::new() };
        let burned = [used.clone(), Entry::Burned(USED_UP.into())];
        let (_folder, mut garblers) =
            store(Party::Garbler, (0..=KEPT as u8).map(|id| (id, id.into())), &burned);
        let oldest = [0; 32];
        let peer = || store(Party::Evaluator, [(0, 0)], std::slice::from_ref(&used));
        let [(_dies, mut dies), (_lives, mut lives)] = [peer(), peer()];
        for evaluators in [&mut dies, &mut lives] {
            let agreed = agreed([&mut garblers, evaluators]);
            assert!(
                agreed.iter().all(|epochs| matches!(epochs, Ok(epochs) if epochs.is_empty())),
                "{agreed:?}"
            );
            assert!(was_used_up(&garblers, &oldest) && was_used_up(evaluators, &oldest));
        }
        // Who has lived on does not name it any more.
        assert!(agreed([&mut garblers, &mut lives]).iter().all(Result::is_ok));
        assert!(garblers.state(&oldest).is_err() && garblers.epochs().unwrap().len() == KEPT);
    }
}
