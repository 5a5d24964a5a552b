//! The upkeep of a store: reading everything, burning a part, and forgiving failed attempts.

use std::fmt;
use std::time::{Duration, Instant};

use brickwork_base::at_most;
use brickwork_protocol::stock::meeting::BY_USER;
use brickwork_store::{Account, EpochEntry, EpochId, Store, UnreadableItems};
use brickwork_wire::tls::PublicKey;
use serde::Serialize;

use crate::damage::{DamagedItems, Verified};
use crate::engine::hex;
use crate::failure::{Error, ErrorKind};
use crate::inventory::{FailedAttempts, peer_of};
use crate::store::StoreRequest;
use crate::system;

impl Verified {
    /// Reads everything in a store, and looks for what was altered or is missing. With `repair`, it also
    /// repairs a damaged index and gives up the items that cannot be read.
    ///
    /// # Errors
    /// An error of the stock if the store cannot be opened, or if something is damaged and must not be given
    /// up; [`Error::damage`] then lists it.
    pub fn read(request: &StoreRequest, repair: bool) -> Result<Self, Error> {
        let (store, lost) = match request.open_existing() {
            Err(failure) if repair => match request.rebuild()? {
                lost @ Some(_) => (request.open_existing()?, lost),
                None => return Err(failure),
            },
            opened => (opened?, None),
        };
        let start = Instant::now();
        let (read, damage) = store.examine()?;
        let seconds = start.elapsed().as_secs_f64();
        let verified = Verified {
            bytes: read,
            seconds,
            bytes_per_second: (read as f64 / seconds.max(1e-9)) as u64,
            damaged: damage.iter().map(described).collect(),
            burned: lost.as_ref().map(|lost| lost.burned.iter().map(|id| hex(id)).collect()),
            runs_may_be_lost: lost.is_some_and(|lost| lost.notes_may_be_lost),
        };
        match damage.is_empty() {
            true => Ok(verified),
            false if repair => {
                store.give_up(&damage)?;
                Ok(verified)
            }
            false => Err(Error::damaged(verified)),
        }
    }
}

/// Describes items that cannot be read.
fn described(damage: &UnreadableItems) -> DamagedItems {
    DamagedItems {
        epoch: hex(&damage.epoch),
        batch: damage.serial,
        name: damage.name.clone(),
        items: damage.items.iter().map(|items| items.end - items.start).sum(),
        why: system::translated(&damage.why.to_string()),
    }
}

/// The epochs that a user has burned.
#[derive(Clone, Debug, Serialize)]
pub struct BurnedEpochs {
    /// Their identifiers, in hexadecimal digits.
    pub burned: Vec<String>,
}

impl BurnedEpochs {
    /// Makes stock unusable for good: everything, or the epoch whose identifier begins with these digits. The
    /// peer is told when the stores next meet, and burns its part as well.
    ///
    /// # Errors
    /// An error of usage if several epochs begin with the digits; an error of the stock if there is nothing
    /// to burn, or the store cannot be opened.
    pub fn burn(request: &StoreRequest, epoch: Option<&str>) -> Result<Self, Error> {
        let store = request.open_existing()?;
        let mut wanted: Vec<EpochId> = store.epochs()?.into_iter().map(|(id, _)| id).collect();
        if let Some(start) = epoch {
            wanted.retain(|id| hex(id).starts_with(start));
            // Burned stock cannot be restored, so the empty value of a script's variable must not mean
            // everything.
            if wanted.len() > 1 || start.is_empty() {
                let hint =
                    "give more characters of the identifier that `brickwork stock ls` shows, or give --all";
                return Err(Error::usage(
                    format!("the identifiers of {} parts begin with '{start}'", wanted.len()),
                    hint,
                ));
            }
        }
        let mut burned = Vec::new();
        for id in wanted {
            if store.state(&id)?.burned().is_none() {
                store.append(&id, &EpochEntry::Burned(BY_USER.into())).map(drop)?;
                burned.push(hex(&id));
            }
        }
        if burned.is_empty() {
            let hint = "`brickwork stock ls` shows the stock";
            return Err(Error::new(ErrorKind::Stock, "the store has no stock to burn", hint));
        }
        Ok(BurnedEpochs { burned })
    }
}

impl fmt::Display for BurnedEpochs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.burned.iter().try_for_each(|id| writeln!(f, "burned {}", &id[..12]))
    }
}

/// The failed attempts that are not counted any more.
#[derive(Clone, Debug, Serialize)]
pub struct ForgivenAttempts {
    pub forgiven: Vec<FailedAttempts>,
}

/// The time in which a service must answer the request to forgive.
const HEARD: Duration = Duration::from_secs(10);

impl ForgivenAttempts {
    /// Allows a peer, or all peers, to make stock again after too many failed attempts. If a service has
    /// opened the store, the service does it.
    ///
    /// # Errors
    /// An error of the stock if there is nothing to forgive, or the store cannot be opened; an error of this
    /// machine if another process uses the store and does not forgive.
    pub fn forgive(request: &StoreRequest, peer: Option<PublicKey>) -> Result<Self, Error> {
        let own = request.open_if_free()?;
        let store = own.clone().map_or_else(|| request.view(), Ok)?;
        let mut accounts = store.accounts()?;
        accounts.retain(|(account, _)| peer.is_none_or(|peer| peer_of(&account.relation) == peer));
        if accounts.is_empty() {
            let hint = "`brickwork stock ls` shows the failed attempts with each peer";
            return Err(Error::new(
                ErrorKind::Stock,
                "no failed attempts are recorded, so there is nothing to forgive",
                hint,
            ));
        }
        let forgiven = accounts.iter().map(FailedAttempts::of).collect();
        let names: Vec<Account> = accounts.into_iter().map(|(account, _)| account).collect();
        match own {
            Some(store) => names.iter().try_for_each(|account| store.forgive(account))?,
            None => ask_to_forgive(request, &store, &names)?,
        }
        Ok(ForgivenAttempts { forgiven })
    }
}

/// Asks the process that has opened the store to forgive, and waits until it has.
fn ask_to_forgive(request: &StoreRequest, store: &Store, accounts: &[Account]) -> Result<(), Error> {
    let (asked, until) = (store.ask_to_forgive(accounts)?, Instant::now() + HEARD);
    while !asked.is_heard() {
        if Instant::now() >= until {
            return Err(Error::machine(
                format!(
                    "another process uses the store {}, and this process cannot forgive attempts",
                    request.store.display()
                ),
                "only a running service can forgive; end any other command that uses the store, and try \
                 again",
            ));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    let now = request.view()?;
    for account in accounts {
        if now.vain(account)? > 0 {
            return Err(Error::machine(
                "another attempt has begun in the meantime, so nothing was forgiven",
                "check `brickwork stock ls`, and try again",
            ));
        }
    }
    Ok(())
}

impl fmt::Display for ForgivenAttempts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.forgiven.iter().try_for_each(|FailedAttempts { peer, protocol, bound_log2, .. }| {
            writeln!(f, "forgiven {peer}: {}, with {protocol}", at_most(*bound_log2))
        })
    }
}
