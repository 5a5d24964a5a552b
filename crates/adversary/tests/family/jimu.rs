//! JIMU.

use brickwork_adversary::family::Attack;
use brickwork_adversary::jimu;

/// Two runs where the ending is certain, and 30 elsewhere; `cargo xtask attacks` plays thousands.
fn runs(attack: &Attack) -> usize {
    if attack.endings.len() == 1 { 2 } else { 30 }
}

crate::tests!(jimu, runs, ["one_symbol", "whole_bucket"]);
