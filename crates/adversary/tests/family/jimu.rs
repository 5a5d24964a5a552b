//! JIMU.

use brickwork_adversary::family::Attack;
use brickwork_adversary::jimu;

/// Returns two runs for a certain ending, and 30 for a rate; `cargo xtask attacks` plays thousands.
fn runs(attack: &Attack) -> usize {
    if attack.endings.len() == 1 { 2 } else { 30 }
}

crate::tests!(jimu, runs, ["one_symbol", "whole_bucket"]);
