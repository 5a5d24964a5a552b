//! The flags that name a store, and the key that opens it.

use std::path::PathBuf;

use brickwork::StoreRequest;
use clap::Args;

/// The flag for a store's key.
#[derive(Args)]
pub struct KeyArguments {
    /// A file with the store's key, 64 hexadecimal digits; by default the key is in the environment variable
    /// BRICKWORK_STORE_KEY
    #[arg(long, value_name = "FILE")]
    pub store_key: Option<PathBuf>,
}

impl KeyArguments {
    /// Names a store in this folder, which this key opens.
    pub fn of(&self, store: impl Into<PathBuf>) -> StoreRequest {
        StoreRequest { store_key: self.store_key.clone(), ..StoreRequest::new(store) }
    }
}

/// The flag for the maximum age of stock.
#[derive(Args)]
pub struct MaxAge {
    /// Days for which new stock may be used; then its secrets are erased together with its unused items. The
    /// peer may ask for fewer
    #[arg(long, value_name = "DAYS", requires = "store", default_value_t = StoreRequest::default_max_age(),
        value_parser = clap::value_parser!(u32).range(1..=36_500))]
    pub max_age: u32,
}

/// The flags for running from stock.
#[derive(Args)]
pub struct StoreArguments {
    /// Use stock from the store in this folder; missing items are made during the run
    #[arg(long, value_name = "DIR")]
    store: Option<PathBuf>,
    #[command(flatten)]
    key: KeyArguments,
    /// Refuse a program for which the stock is not enough
    #[arg(long, requires = "store")]
    no_top_up: bool,
    #[command(flatten)]
    max_age: MaxAge,
}

impl StoreArguments {
    /// Returns the store that these flags name, if they name one.
    pub fn request(&self) -> Option<StoreRequest> {
        let (no_top_up, max_age) = (self.no_top_up, self.max_age.max_age);
        self.store.as_ref().map(|store| StoreRequest { no_top_up, max_age, ..self.key.of(store) })
    }
}
