//! The attacks on LEGO, row by row. Rows up to 30 are those of every protocol here; LEGO's own follow:
//!
//! * 31: a gate that is wrong at two of its four rows, of which an opened one is seen at one;
//! * 32: a wire authenticator with a wrong hash for one colour, when the other colour is challenged;
//! * 33: a bad gate and bad wire authenticators in one bucket, which vote together;
//! * 34: a garbler that gave Δ away, read through input authenticators that are bad as well;
//! * 35: a program that is built wrongly, or from items that are not in both stores.
//!
//! The protocol's page describes the rest: docs/protocols/lego.md.

mod attacks;
mod runs;
mod stock;

use brickwork::lego::Cheat;

use crate::family;
pub use attacks::catalogue;
use runs::PROTOCOL;

/// Returns the content of LEGO's page.
pub fn page() -> family::Page {
    let checks = family::distinct(Cheat::ALL.iter().map(|&check| check.into()));
    let third = "no cheater can: each gate and each authenticator has one vote for a colour, so two labels \
                 of one colour do not both have more than half, unless hashes collide; what answers it is \
                 tested by itself";
    family::Page {
        protocol: PROTOCOL,
        attacks: catalogue(),
        checks,
        unprovoked: vec![(Cheat::ThirdLabel.into(), third)],
    }
}
