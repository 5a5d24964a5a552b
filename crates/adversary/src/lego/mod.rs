//! The attacks on LEGO, row by row. All protocols share the rows up to 30; LEGO's own rows follow:
//!
//! * * 31: a gate that is wrong in two of its four rows, so that an opened gate shows it half of the time;
//! * 32: a wire authenticator with a wrong hash for one colour, when the other colour is challenged;
//! * 33: a bad gate and bad wire authenticators in one bucket, which vote together;
//! * * 34: a garbler that disclosed Δ, and whose input is read by bad input authenticators;
//! * * 35: a program that is built wrongly, or from items that are missing in one store.
//!
//! The protocol is described in docs/protocols/lego.md.

mod attacks;
mod runs;
mod stock;

use brickwork::lego::Cheat;

use crate::family;
pub use attacks::catalogue;
use runs::PROTOCOL;

/// Returns the content of LEGO's page.
pub fn page() -> family::ProtocolPage {
    let checks = family::distinct(Cheat::ALL.iter().map(|&check| check.into()));
    let third = "no cheater can: each gate and each authenticator has one vote for a colour, so two labels \
                 of one colour do not both have more than half, unless hashes collide; what answers it is \
                 tested by itself";
    family::ProtocolPage {
        protocol: PROTOCOL,
        attacks: catalogue(),
        checks,
        unprovoked: vec![(Cheat::ThirdLabel.into(), third)],
    }
}
