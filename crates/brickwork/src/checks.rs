//! The checks that a peer can fail.

use std::collections::HashSet;

use crate::engine::protocols::FAMILY;
use crate::{Cheat, Malformed, commit, ihash, ot};

/// Returns every check that a peer can fail.
pub fn all() -> Vec<Cheat> {
    fn of<C: Copy + Into<Cheat>>(checks: &[C]) -> impl Iterator<Item = Cheat> {
        checks.iter().map(|&check| check.into())
    }
    let mut checks: Vec<Cheat> = of(Malformed::ALL)
        .chain(of(ot::Cheat::ALL))
        .chain(of(ot::softspoken::Cheat::ALL))
        .chain(of(ot::pcg::Cheat::ALL))
        .chain(of(commit::Cheat::ALL))
        .chain(of(ihash::Cheat::ALL))
        .chain(FAMILY.iter().flat_map(|protocol| protocol.checks()))
        .collect();
    // Several protocols and primitives may have checks of the same name.
    let mut seen = HashSet::new();
    checks.retain(|cheat| seen.insert((cheat.part(), cheat.check())));
    checks
}
