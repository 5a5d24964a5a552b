//! The flags that name a store, and the key that opens it.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use brickwork::ProtocolError as Error;
use brickwork::duplo::Lacking;
use brickwork::stock::{MAX_AGE, Rebuilt, Store, StoreKey};
use brickwork_kernels::Erasing;
use clap::Args;
use serde::{Deserialize, Serialize};

use crate::failure::{Failure, code};
use crate::files;

/// The environment variable with the store's key, if no file is given.
const KEY_VARIABLE: &str = "BRICKWORK_STORE_KEY";

/// The hint if a store cannot be opened: another process uses it, the key is wrong, or the store was altered.
const OPEN_HINT: &str = "end the other process or wait for it, and give the key that the store was made \
                         with; what was altered stays refused, then burn it or make a new store";

/// The flag for a store's key.
#[derive(Args, Clone, Serialize, Deserialize)]
pub struct KeyArguments {
    /// A file with the store's key, 64 hexadecimal digits; by default the variable BRICKWORK_STORE_KEY holds
    /// them
    #[arg(long, value_name = "FILE")]
    pub store_key: Option<PathBuf>,
}

impl KeyArguments {
    fn key(&self) -> Result<StoreKey, Failure> {
        let _erasing = Erasing::begin();
        match &self.store_key {
            Some(path) => Ok(files::store_key(path)?),
            None => match std::env::var(KEY_VARIABLE) {
                Ok(text) => StoreKey::from_hex(&text)
                    .map_err(|e| Failure::usage(format!("{KEY_VARIABLE}: {e}"), files::STORE_KEY_HINT)),
                Err(_) => Err(Failure::usage(
                    format!("a store needs its key: give --store-key FILE or set {KEY_VARIABLE}"),
                    files::STORE_KEY_HINT,
                )),
            },
        }
    }

    /// Opens an existing store, or creates it.
    pub fn open(&self, directory: &Path) -> Result<Store, Failure> {
        Store::open(directory, &self.key()?).map_err(not_opened)
    }

    /// Opens an existing store or creates it. If another process uses it, waits this long.
    pub fn open_when_free(&self, directory: &Path, patience: Duration) -> Result<Store, Failure> {
        let (key, end) = (self.key()?, Instant::now() + patience);
        loop {
            match Store::open(directory, &key) {
                Err(Error::Busy(_)) if Instant::now() < end => {
                    brickwork::stop::check().map_err(Error::from)?;
                    std::thread::sleep(Duration::from_millis(50));
                }
                // Another process uses the store; this may end before the time is over.
                Err(Error::Busy(why)) => return Err(Failure::other(why, OPEN_HINT)),
                opened => return opened.map_err(not_opened),
            }
        }
    }

    /// Checks whether a store could be opened or created.
    pub fn check(&self, directory: &Path) -> Result<String, Failure> {
        if Store::exists(directory)? {
            self.open(directory)?;
            return Ok(format!("{} opens with its key", directory.display()));
        }
        self.key()?;
        Ok(format!("{} is made by the first run", directory.display()))
    }

    /// Opens an existing store.
    pub fn open_existing(&self, directory: &Path) -> Result<Store, Failure> {
        must_exist(directory)?;
        self.open(directory)
    }

    /// Opens a store that must exist. Returns none if another process has opened it.
    pub fn open_if_free(&self, directory: &Path) -> Result<Option<Store>, Failure> {
        must_exist(directory)?;
        match Store::open(directory, &self.key()?) {
            Err(Error::Busy(_)) => Ok(None),
            opened => opened.map(Some).map_err(not_opened),
        }
    }

    /// Repairs the index of a store, if it is damaged.
    pub fn rebuild(&self, directory: &Path) -> Result<Option<Rebuilt>, Failure> {
        Store::rebuild(directory, &self.key()?).map_err(not_opened)
    }

    /// Opens an existing store for viewing, even while another process uses it.
    pub fn view(&self, directory: &Path) -> Result<Store, Failure> {
        must_exist(directory)?;
        Store::view(directory, &self.key()?).map_err(not_opened)
    }
}

fn not_opened(error: Error) -> Failure {
    match error {
        Error::Incomplete(_) => error.into(),
        _ => Failure::from(error).advise(OPEN_HINT),
    }
}

fn must_exist(directory: &Path) -> Result<(), Failure> {
    match Store::exists(directory)? {
        true => Ok(()),
        false => Err(Failure::input(
            format!("{} is no store", directory.display()),
            "`brickwork preprocess` makes one",
        )),
    }
}

/// The flag for the maximum age of stock.
#[derive(Args, Clone, Copy, Serialize, Deserialize)]
pub struct MaxAge {
    /// Days for which new stock may be used; then its secrets are erased together with its unused items. The
    /// peer may ask for fewer
    #[arg(long, value_name = "DAYS", requires = "store", default_value_t = (MAX_AGE / DAY) as u32,
        value_parser = clap::value_parser!(u32).range(1..=36_500))]
    max_age: u32,
}

/// Seconds in a day.
const DAY: u64 = 24 * 60 * 60;

impl MaxAge {
    /// Sets the maximum age of new stock in a store.
    pub fn limits(self, store: Store) -> Store {
        store.set_max_age(u64::from(self.max_age) * DAY);
        store
    }
}

/// The flags for running from stock.
#[derive(Args, Clone, Serialize, Deserialize)]
pub struct StoreArguments {
    /// Use stock from the store in this folder; missing items are made during the run
    #[arg(long, value_name = "DIR")]
    pub store: Option<PathBuf>,
    #[command(flatten)]
    pub key: KeyArguments,
    /// Refuse a program for which the stock is not enough
    #[arg(long, requires = "store")]
    pub no_top_up: bool,
    #[command(flatten)]
    pub max_age: MaxAge,
}

impl StoreArguments {
    /// Opens the store. Creates it unless `--no-top-up` is given.
    pub fn open(&self, directory: &Path) -> Result<Store, Failure> {
        self.may_be_made(directory)?;
        Ok(self.max_age.limits(self.key.open(directory)?))
    }

    /// Refuses a folder without a store if none may be created.
    pub fn may_be_made(&self, directory: &Path) -> Result<(), Failure> {
        match !Store::exists(directory)? && self.no_top_up {
            false => Ok(()),
            true => Err(Failure::new(
                code::STOCK,
                format!("{} is no store, and with --no-top-up none is made", directory.display()),
                "is it the right folder? `brickwork preprocess` makes a store, and so does a run without \
                 --no-top-up",
            )),
        }
    }

    pub fn lacking(&self) -> Lacking {
        if self.no_top_up { Lacking::Refuse } else { Lacking::Make }
    }

    /// Returns the same flags for a store in this folder.
    pub fn at(&self, directory: PathBuf) -> Self {
        StoreArguments { store: Some(directory), ..self.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// If another process uses a store, opening it waits. If the store stays in use, the error is one of this
    /// machine, because the stock is not damaged.
    #[cfg(unix)]
    #[test]
    fn a_store_in_use_is_waited_for() {
        use std::os::unix::fs::PermissionsExt as _;

        let folder = tempfile::tempdir().unwrap();
        let (file, directory) = (folder.path().join("store.key"), folder.path().join("store"));
        std::fs::write(&file, "01".repeat(32)).unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
        let key = KeyArguments { store_key: Some(file) };
        let held = key.open(&directory).unwrap();
        let in_use = key.open_when_free(&directory, Duration::from_millis(60)).unwrap_err();
        assert!(in_use.is(code::OTHER) && in_use.message().contains("in use"), "{in_use:?}");
        assert!(key.open(&directory).unwrap_err().is(code::STOCK));
        let ends = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(150));
            drop(held);
        });
        key.open_when_free(&directory, Duration::from_secs(60)).unwrap();
        ends.join().unwrap();
    }
}
