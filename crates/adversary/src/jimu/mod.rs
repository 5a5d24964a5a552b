//! The attacks on JIMU, row by row. What is not here its page says: docs/jimu.md.

mod attacks;
mod rates;
pub mod table;

use std::sync::Arc;

use brickwork::circuit::{Party, Program, Recipient};
use brickwork::duplo::adversary::harness::{ands, toy};
use brickwork::jimu::adversary::{Case, Ending, small};
use brickwork::jimu::parameters::{Level, Sizes, Unit};
use brickwork::random::Rng;

use crate::trials::{Result, Title, repeat};
pub use attacks::catalogue;

/// How an attack was played once: how it ended for the party that does not cheat, or which rule did not hold.
pub type Played = std::result::Result<Ending, String>;

/// One thing that a cheater tries.
pub struct Attack {
    /// Row of the catalogue.
    pub row: u8,
    /// Its name within the row.
    pub variant: &'static str,
    /// What the cheater does, and what it would gain.
    pub story: &'static str,
    /// Who cheats; nobody where it is only looked at.
    pub cheater: Option<Party>,
    /// Every way in which a run may end for the other party, with its exact probability.
    pub endings: Vec<(Ending, f64)>,
    /// Runs that tell the rates from their neighbours; few where the ending is certain.
    pub trials: usize,
    /// Plays it once.
    pub play: Box<dyn Fn(&mut Rng) -> Played + Send + Sync>,
}

impl Attack {
    /// Plays it so many times.
    ///
    /// # Panics
    /// If the operating system has no randomness, or a party panics or hangs.
    pub fn played(&self, trials: usize) -> Result {
        let Attack { row, variant, cheater, .. } = *self;
        repeat(&Title { protocol: "jimu", row, variant, cheater }, &self.endings, name, trials, &*self.play)
    }
}

/// An ending, for people and machines.
pub fn name(ending: &Ending) -> String {
    match ending {
        Ending::Caught(cheat) => cheat.check().into(),
        other => format!("{other:?}").to_lowercase(),
    }
}

/// Ten gates between three bits of each party, in two kinds of components, with outputs to both, in buckets of
/// three.
struct Toy {
    program: Arc<Program>,
    sizes: Sizes,
}

impl Toy {
    fn new(unit: Unit) -> Self {
        let program = toy();
        let sizes = small(&program, unit, [3, 12], [2, 4]);
        Toy { program, sizes }
    }

    /// A run with a challenge that the garbler knows beforehand.
    fn case(&self, rng: &mut Rng) -> Case {
        Case::new(&self.program, self.sizes.clone(), rng).dealt(rng)
    }
}

/// `slots` components of an AND gate, each of a bit of either party, all results to both, with a challenge that
/// nobody knows.
fn products(slots: u32, unit: Unit, copies: [u32; 2], authenticators: [u32; 2], rng: &mut Rng) -> Case {
    let program = ands(slots, Recipient::Both);
    Case::new(&program, small(&program, unit, copies, authenticators), rng).cheap(rng)
}

/// One AND gate, where the labels' hash is another one.
fn weakly_hashed(level: Level, rng: &mut Rng) -> Case {
    let program = ands(1, Recipient::Both);
    let sizes = Sizes { level, ..small(&program, Unit::Gates, [3, 12], [2, 4]) };
    Case::new(&program, sizes, rng).cheap(rng)
}
