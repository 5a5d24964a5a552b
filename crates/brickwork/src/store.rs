//! Opening a store: its folder, its key, and what runs may do with it.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use brickwork_base::Error as ProtocolError;
use brickwork_kernels::Erasing;
use brickwork_protocol::stock::Lacking;
use brickwork_store::{MAX_AGE, Rebuilt, Store, StoreKey};
use serde::{Deserialize, Serialize};

use crate::failure::{Error, ErrorKind};
use crate::files;

/// The environment variable with the store's key, if no file is given.
const KEY_VARIABLE: &str = "BRICKWORK_STORE_KEY";

/// The hint if a store cannot be opened: another process uses it, the key is wrong, or the store was altered.
const OPEN_HINT: &str = "end the other process or wait for it, and give the key of this store; if the store \
                         was altered, burn its stock or make a new store";

/// Seconds in a day.
const DAY: u64 = 24 * 60 * 60;

/// A store that a command or a run opens.
///
/// ```
/// use brickwork::StoreRequest;
///
/// let request = StoreRequest { no_top_up: true, ..StoreRequest::new("no/such/folder") };
/// assert_eq!(request.open().unwrap_err().exit_code(), 6, "no store is made there");
/// ```
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StoreRequest {
    /// The folder of the store.
    pub store: PathBuf,
    /// A file with the store's key. Without it, the variable `BRICKWORK_STORE_KEY` holds the key.
    #[serde(default)]
    pub store_key: Option<PathBuf>,
    /// True to refuse a run for which the stock is not enough, and to make no new store.
    #[serde(default)]
    pub no_top_up: bool,
    /// Days for which new stock may be used.
    #[serde(default = "StoreRequest::default_max_age")]
    pub max_age: u32,
}

impl StoreRequest {
    /// Names a store in this folder, whose key is in the environment.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        let max_age = Self::default_max_age();
        StoreRequest { store: folder.into(), store_key: None, no_top_up: false, max_age }
    }

    /// Returns the days for which new stock may be used, unless a user names fewer or more.
    #[doc(hidden)]
    pub const fn default_max_age() -> u32 {
        (MAX_AGE / DAY) as u32
    }

    /// Returns the same request for the store of a party, in a folder with the stores of both.
    #[doc(hidden)]
    pub fn within(&self, role: &str) -> Self {
        StoreRequest { store: self.store.join(role), ..self.clone() }
    }

    /// Returns the reaction of a run to items that are missing in the store.
    pub fn lacking(&self) -> Lacking {
        if self.no_top_up { Lacking::Refuse } else { Lacking::Make }
    }

    fn key(&self) -> Result<StoreKey, Error> {
        let _erasing = Erasing::begin();
        match &self.store_key {
            Some(path) => files::store_key(path),
            None => match std::env::var(KEY_VARIABLE) {
                Ok(text) => StoreKey::from_hex(&text)
                    .map_err(|e| Error::usage(format!("{KEY_VARIABLE}: {e}"), files::STORE_KEY_HINT)),
                Err(_) => Err(Error::usage(
                    format!("the key of the store is missing: give --store-key FILE or set {KEY_VARIABLE}"),
                    files::STORE_KEY_HINT,
                )),
            },
        }
    }

    /// Opens the store. Creates it if it does not exist, unless nothing may be made.
    ///
    /// # Errors
    /// An error of usage without a key; an error of the stock if another process uses the store, the key is
    /// wrong, the store was altered, or there is none and none may be made.
    pub fn open(&self) -> Result<Store, Error> {
        self.may_be_made()?;
        self.opened(&self.key()?).map_err(not_opened)
    }

    /// Refuses a folder without a store if none may be created.
    ///
    /// # Errors
    /// An error of the stock.
    pub fn may_be_made(&self) -> Result<(), Error> {
        match !Store::exists(&self.store)? && self.no_top_up {
            false => Ok(()),
            true => Err(Error::new(
                ErrorKind::Stock,
                format!("{} is not a store, and --no-top-up forbids to make one", self.store.display()),
                "check the folder; `brickwork preprocess` makes a store, and so does a run without \
                 --no-top-up",
            )),
        }
    }

    /// Opens the store or creates it. If another process uses it, waits this long.
    ///
    /// # Errors
    /// As [`StoreRequest::open`]; an error of this machine if the store stays in use.
    #[doc(hidden)]
    pub fn open_when_free(&self, patience: Duration) -> Result<Store, Error> {
        let (key, end) = (self.key()?, Instant::now() + patience);
        loop {
            match self.opened(&key) {
                Err(ProtocolError::Busy(_)) if Instant::now() < end => {
                    brickwork_base::stop::check().map_err(ProtocolError::from)?;
                    std::thread::sleep(Duration::from_millis(50));
                }
                // Another process uses the store; it may end before the time is over.
                Err(ProtocolError::Busy(why)) => return Err(Error::machine(why, OPEN_HINT)),
                opened => return opened.map_err(not_opened),
            }
        }
    }

    /// Opens an existing store.
    ///
    /// # Errors
    /// As [`StoreRequest::open`]; an error of input if there is no store.
    #[doc(hidden)]
    pub fn open_existing(&self) -> Result<Store, Error> {
        self.must_exist()?;
        self.opened(&self.key()?).map_err(not_opened)
    }

    /// Opens a store that must exist. Returns none if another process has opened it.
    ///
    /// # Errors
    /// As [`StoreRequest::open_existing`].
    #[doc(hidden)]
    pub fn open_if_free(&self) -> Result<Option<Store>, Error> {
        self.must_exist()?;
        match self.opened(&self.key()?) {
            Err(ProtocolError::Busy(_)) => Ok(None),
            opened => opened.map(Some).map_err(not_opened),
        }
    }

    /// Opens an existing store for viewing, even while another process uses it.
    ///
    /// # Errors
    /// As [`StoreRequest::open_existing`].
    #[doc(hidden)]
    pub fn view(&self) -> Result<Store, Error> {
        self.must_exist()?;
        Store::view(&self.store, &self.key()?).map_err(not_opened)
    }

    /// Returns an existing store for viewing, and `None` if the first run would make the store.
    ///
    /// # Errors
    /// As [`StoreRequest::open`].
    #[doc(hidden)]
    pub fn view_if_made(&self) -> Result<Option<Store>, Error> {
        match Store::exists(&self.store)? {
            true => self.view().map(Some),
            false => self.may_be_made().and(self.key()).map(|_| None),
        }
    }

    /// Repairs the index of a store. Returns none if it was not damaged.
    pub(crate) fn rebuild(&self) -> Result<Option<Rebuilt>, Error> {
        Store::rebuild(&self.store, &self.key()?).map_err(not_opened)
    }

    fn opened(&self, key: &StoreKey) -> Result<Store, ProtocolError> {
        let store = Store::open(&self.store, key)?;
        store.set_max_age(u64::from(self.max_age) * DAY);
        Ok(store)
    }

    fn must_exist(&self) -> Result<(), Error> {
        match Store::exists(&self.store)? {
            true => Ok(()),
            false => Err(Error::input(
                format!("{} is not a store", self.store.display()),
                "`brickwork preprocess` makes one",
            )),
        }
    }
}

fn not_opened(error: ProtocolError) -> Error {
    match error {
        ProtocolError::Incomplete(_) => error.into(),
        _ => Error::from(error).advise(OPEN_HINT),
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
        let file = folder.path().join("store.key");
        std::fs::write(&file, "01".repeat(32)).unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
        let request =
            StoreRequest { store_key: Some(file), ..StoreRequest::new(folder.path().join("store")) };
        let held = request.open().unwrap();
        let in_use = request.open_when_free(Duration::from_millis(60)).unwrap_err();
        assert!(
            in_use.kind() == ErrorKind::Machine
                && in_use.message().contains("another process uses the store"),
            "{in_use:?}"
        );
        assert_eq!(request.open().unwrap_err().kind(), ErrorKind::Stock);
        assert!(request.open_if_free().unwrap().is_none());
        let ends = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(150));
            drop(held);
        });
        request.open_when_free(Duration::from_secs(60)).unwrap();
        ends.join().unwrap();
    }

    /// The request in a text may leave out fields with a default, and must not contain unknown names.
    #[test]
    fn unknown_names_are_refused() {
        let request: StoreRequest = serde_json::from_str(r#"{ "store": "stock", "max_age": 7 }"#).unwrap();
        assert_eq!((request.max_age, request.no_top_up, request.store_key), (7, false, None));
        assert!(serde_json::from_str::<StoreRequest>(r#"{ "store": "stock", "max_ages": 7 }"#).is_err());
    }
}
