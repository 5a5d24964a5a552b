//! The result of reading everything in a store, which an error may carry.

use std::fmt;

use brickwork_report::words::{bytes, plural};
use serde::Serialize;

/// The result of reading everything in a store.
#[derive(Clone, Debug, Serialize)]
pub struct Verified {
    /// The bytes that were read.
    pub bytes: u64,
    pub seconds: f64,
    pub bytes_per_second: u64,
    /// The items that cannot be read. No program takes these items any more.
    pub damaged: Vec<DamagedItems>,
    /// The epochs that were burned, if the index was damaged and made anew.
    pub burned: Option<Vec<String>>,
    /// True if the note about the runs of a service may be lost.
    pub runs_may_be_lost: bool,
}

/// Items of a store that cannot be read.
#[derive(Clone, Debug, Serialize)]
pub struct DamagedItems {
    /// The epoch, in hexadecimal digits.
    pub epoch: String,
    /// The number of the batch in the epoch.
    pub batch: u64,
    /// The name of the component or of another kind of item.
    pub name: String,
    /// The number of items.
    pub items: u64,
    /// The reason why they cannot be read.
    pub why: String,
}

impl Verified {
    /// Returns a line for each fault and for each consequence of a damaged index.
    pub fn findings(&self) -> String {
        let remade = self.burned.iter().map(|_| "The index was damaged and was made anew.\n".to_owned());
        let runs = self.runs_may_be_lost.then(|| RUNS_MAY_BE_LOST.to_owned());
        let burned = self.burned.iter().flatten().map(|id| format!("{} is burned\n", &id[..12]));
        let damaged = self.damaged.iter().map(|DamagedItems { epoch, name, items, why, .. }| {
            format!("{}, {} of {name}: {why}\n", &epoch[..12], plural(*items, "item"))
        });
        remade.chain(runs).chain(burned).chain(damaged).collect()
    }
}

/// The warning if the note about a service's runs may be lost.
const RUNS_MAY_BE_LOST: &str = "Nobody can tell how many runs a service has done with this store. Its \
                                budgets count only the runs that the logs still have: lower `total` in its \
                                configuration by all other runs.\n";

impl fmt::Display for Verified {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rest = if self.damaged.is_empty() { "The whole stock" } else { "The rest of the stock" };
        let (size, speed) = (bytes(self.bytes), bytes(self.bytes_per_second));
        writeln!(f, "{}{rest} is undamaged: {size}, read with {speed}/s.", self.findings())
    }
}
