//! The attacks on JIMU, row by row. The protocol is described in docs/protocols/jimu.md.

mod attacks;
mod rates;
mod runs;

use brickwork::jimu::Cheat;
use brickwork::{ihash, ot};

use crate::family;
pub use attacks::catalogue;
use runs::PROTOCOL;

/// Returns the content of JIMU's page.
pub fn page() -> family::ProtocolPage {
    let of_ots = ot::Cheat::ALL.iter().map(|&check| check.into());
    let of_hashes = ihash::Cheat::ALL.iter().map(|&check| check.into());
    let all = of_ots.chain(of_hashes).chain(Cheat::ALL.iter().map(|&check| check.into()));
    family::ProtocolPage {
        protocol: PROTOCOL,
        attacks: catalogue(),
        checks: family::distinct(all),
        unprovoked: Vec::new(),
    }
}
