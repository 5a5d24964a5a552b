//! The attacks on components with authenticated masks, row by row. The protocol is described in
//! docs/protocols/authenticated.md.

mod attacks;
mod list;
mod stock;

use brickwork::authenticated::Cheat;
use brickwork::ot::{self, pcg, softspoken};

use crate::family;
pub use attacks::catalogue;
use list::PROTOCOL;

/// Returns the content of this protocol's page.
pub fn page() -> family::ProtocolPage {
    let of_ots = ot::Cheat::ALL.iter().map(|&check| check.into());
    let of_trees = softspoken::Cheat::ALL.iter().map(|&check| check.into());
    let of_pcg = pcg::Cheat::ALL.iter().map(|&check| check.into());
    let all = of_ots.chain(of_trees).chain(of_pcg).chain(Cheat::ALL.iter().map(|&check| check.into()));
    family::ProtocolPage {
        protocol: PROTOCOL,
        attacks: catalogue(),
        checks: family::distinct(all),
        unprovoked: Vec::new(),
    }
}
