//! Making stock, one step after another.

use super::epochs::{Epochs, digest};
use super::intent::peer_makes_nothing;
use super::meeting::meet;
use super::records::{Keeper, NewItemsPlace};
use super::side::{Preprocessed, PreprocessingStep, StockProtocol, StockSession};
use super::stocked::{Stocked, burn_if_cheated, over};
use crate::{Metered, exchange};
use brickwork_base::Error;
use brickwork_base::digest::Digest;
use brickwork_store::{EpochEntry, EpochId, FillStep, Ranges, Store, TakenEntry};

impl<P: StockProtocol> Stocked<P> {
    /// Makes stock in an existing or a new epoch, one step after another. Steps that an interrupted run of
    /// the same list has completed are not made again.
    ///
    /// # Errors
    /// As [`Stocked::open`]; [`Error::Peer`] if the peer cheats, and then the epoch is burned.
    pub fn fill(
        self,
        epoch: Option<EpochId>,
        steps: &[P::FillStep<'_>],
    ) -> Result<(Preprocessed, Self), Error> {
        let shares: Vec<&[P::FillStep<'_>]> = steps.iter().map(std::slice::from_ref).collect();
        self.fill_shares(epoch, &shares, |making, shares| {
            shares.iter().try_for_each(|share| making.by_this_session(share))
        })
    }

    /// Does the same as [`Stocked::fill`], for steps that may have several shares. `make` is called when both
    /// parties have begun a step. When it returns, this party has all shares of the step on disk.
    pub(super) fn fill_shares<'s>(
        self,
        epoch: Option<EpochId>,
        steps: &[&[P::FillStep<'s>]],
        mut make: impl FnMut(&mut BegunStep<'_, P>, &[P::FillStep<'s>]) -> Result<(), Error>,
    ) -> Result<(Preprocessed, Self), Error> {
        if epoch.is_some_and(|id| self.held.lease.as_ref().is_none_or(|lease| *lease.epoch() != id)) {
            let why = "new stock can be added only to the epoch that `open_epoch` has just leased, but the \
                 caller gave another epoch";
            return Err(Error::Usage(why.into()));
        }
        let (held, mut session) = self.session(epoch)?;
        let (job, of) = (job_digest(steps), steps.len() as u32);
        let epoch = *session.id();
        let resumed = held.store.state(&epoch)?.progress(&job, of);
        let left = || steps.iter().skip(resumed as usize);
        let bytes = left().copied().flatten().map(|step| step.stored_bytes(held.role)).sum();
        held.store.check_room(bytes).or_else(|why| refuses(session.run(), why))?;
        session.run().expect(left().copied().flatten().map(PreprocessingStep::bytes).sum());
        for (number, shares) in (0..of).zip(steps).skip(resumed as usize) {
            held.goes_on().or_else(|why| refuses(session.run(), why))?;
            let risk = shares.iter().fold(0, |risk: u128, share| risk.saturating_add(session.risk(share)));
            held.may_try::<P>(risk).or_else(|why| refuses(session.run(), why))?;
            let step = FillStep { job, number, of, risk, workers: shares.len() as u32 };
            let made = fill_step(&held, &mut *session, &epoch, step, shares, &mut make);
            over(&held.store, &epoch, burn_if_cheated(&held.store, &epoch, made))?;
        }
        // The entry is written only if a step follows. Without a step, it would mean that the program before
        // it has ended.
        if resumed < of {
            let _ = held.store.append(&epoch, &EpochEntry::Confirmed)?;
        }
        Ok((Preprocessed { steps: of, resumed }, held.with(session)))
    }
}

/// Returns the digest of a list of steps. Each step is a list of requests, one for each worker.
pub(super) fn job_digest<A: PreprocessingStep>(steps: &[&[A]]) -> [u8; 32] {
    let mut digest = Digest::of("brickwork 2026-11 stock job");
    digest.length(steps.len());
    for shares in steps {
        digest.length(shares.len());
        shares.iter().for_each(|share| _ = digest.digest(&share.request()));
    }
    digest.done()
}

/// A step that both parties have begun.
pub(super) struct BegunStep<'m, P: StockProtocol> {
    pub store: &'m Store,
    /// The session of the connection on which the parties agree on steps.
    pub session: &'m mut dyn StockSession<P>,
    pub epoch: &'m EpochId,
    /// The log entry that began the step.
    pub begun: TakenEntry,
}

impl<P: StockProtocol> BegunStep<'_, P> {
    /// Makes the whole step on the connection on which the parties agreed.
    pub fn by_this_session(&mut self, asked: &P::FillStep<'_>) -> Result<(), Error> {
        make_share(&NewItemsPlace::Here(self.store, self.epoch), self.session, self.begun.ranges()?, asked)
    }
}

/// Makes a share of a step, in number ranges of its own, and stores it.
pub(super) fn make_share<P: StockProtocol>(
    shelf: &NewItemsPlace<'_>,
    session: &mut dyn StockSession<P>,
    ranges: Ranges,
    asked: &P::FillStep<'_>,
) -> Result<(), Error> {
    session.enter(ranges)?;
    session.run().before_exposing(shelf.before_exposing());
    session.fill(asked, shelf.writers())?;
    session.run().before_exposing(None);
    session.keep(asked, &mut Keeper::new(shelf))
}

/// Returns the message that replaces the digest of the next step if this party begins no more steps.
fn refusal() -> [u8; 32] {
    digest("brickwork 2026-11 stock refusal of a step", &[])
}

/// Tells the peer that this party begins no step. Returns the reason, for this party's user.
fn refuses(run: &mut Metered, why: Error) -> Result<(), Error> {
    // The peer's digest is read before this connection closes. If unread bytes were left, closing could
    // destroy the refusal on its way.
    exchange(&mut run.channel, &refusal())?;
    Err(why)
}

/// Agrees with the peer on a step.
///
/// # Errors
/// [`Error::Mismatch`] if the peer names another step, [`Error::Stock`] if the peer refuses to begin one.
fn begins(run: &mut Metered, next: &[u8; 32]) -> Result<(), Error> {
    let theirs = exchange(&mut run.channel, next)?;
    if theirs == refusal() {
        return Err(peer_makes_nothing());
    }
    match theirs == *next {
        true => Ok(()),
        false => Err(Error::Mismatch(
            "the peer was asked to preprocess something else; give the same \
             components and counts on both sides"
                .into(),
        )),
    }
}

fn fill_step<'s, P: StockProtocol>(
    held: &Epochs,
    session: &mut dyn StockSession<P>,
    epoch: &EpochId,
    step: FillStep,
    shares: &[P::FillStep<'s>],
    make: &mut impl FnMut(&mut BegunStep<'_, P>, &[P::FillStep<'s>]) -> Result<(), Error>,
) -> Result<(), Error> {
    let (store, entry) = (&held.store, EpochEntry::Fill(step));
    let asked = shares.iter().flat_map(|share| [share.request(), share.parameters()]);
    let asked: Vec<[u8; 32]> = [*epoch, entry.digest()].into_iter().chain(asked).collect();
    let next = digest("brickwork 2026-11 stock fill", &asked.iter().collect::<Vec<_>>());
    begins(session.run(), &next)?;
    let begun = store.append(epoch, &entry)?;
    meet(session.run(), store.state(epoch)?.head())?;
    make(&mut BegunStep { store, session, epoch, begun }, shares)?;
    let _ = store.append(epoch, &EpochEntry::Stored)?;
    meet(session.run(), &digest("brickwork 2026-11 stock stored", &[store.state(epoch)?.head()]))?;
    let _ = store.append(epoch, &EpochEntry::Made)?;
    meet(session.run(), store.state(epoch)?.head())
}

#[cfg(test)]
mod tests {
    // Rows are those of the table of attacks (docs/concepts/security.md, section 14).

    use super::*;
    use crate::tests::Empty;
    use crate::{Unobserved, announce};
    use brickwork_base::Party;
    use brickwork_wire::memory_pair;

    /// Row 19 of the table of attacks: a step begins only if both parties name the same step. The other party
    /// can tell a refusal from another step.
    #[test]
    fn row_19_only_the_step_of_both_is_begun() {
        let (step, other) = ([1; 32], [2; 32]);
        for (theirs, why) in
            [(step, ""), (other, "something else"), (refusal(), "refuses to make more stock")]
        {
            let (left, mut right) = memory_pair();
            let mut run = Metered::new::<Empty>(left, Party::Garbler, Box::new(Unobserved));
            announce(&mut right, &theirs).unwrap();
            right.flush().unwrap();
            let begun = begins(&mut run, &step).map_err(|why| why.to_string());
            assert!(begun.map_or_else(|said| !why.is_empty() && said.contains(why), |()| why.is_empty()));
        }
    }
}
