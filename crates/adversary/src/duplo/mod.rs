//! The attacks on DUPLO, row by row.

mod attacks;
mod disk;
mod line;
mod stores;

use brickwork::duplo::Cheat;
use brickwork_harness::Ending;

use crate::page::{AttackPage, CheckLine, lines};
pub use attacks::catalogue;

/// Returns the tables of DUPLO.
pub fn page() -> AttackPage {
    let mut checks = lines(Cheat::ALL.iter().map(|&check| check.into()));
    let endings = [Ending::Refused, Ending::Stopped, Ending::Recovered];
    checks.extend(endings.map(|ending| CheckLine { ending, tests: &[], unprovoked: None }));
    for line in &mut checks {
        line.tests = match line.ending {
            Ending::Caught(check) if check == Cheat::OtExtension => &[1, 16, 19],
            Ending::Caught(check) if check == Cheat::Commitment || check == Cheat::OpenedCopy => &[11],
            Ending::Caught(check) if check == Cheat::Indicator => &[13],
            Ending::Caught(check) if check == Cheat::Opening => &[3],
            Ending::Caught(check) if check == Cheat::ThirdLabel => &[29],
            Ending::Stopped => &[20, 21],
            _ => &[],
        };
        // Two labels of one colour need a collision of BLAKE3.
        line.unprovoked = (line.ending == Ending::caught(Cheat::ThirdLabel)).then_some("by unit tests");
    }
    AttackPage { protocol: "duplo", file: "concepts/security.md", attacks: catalogue(), checks }
}
