//! The protocols of the family, as the command plays them. One that comes brings a file of this folder, its name
//! among [`Protocol`] and its line in [`played`].

mod compgc;
mod duplo;
mod seam;
mod semi_honest;

use brickwork::compgc::CompGc;
use brickwork::duplo::Duplo;
use brickwork::semi_honest::SemiHonest;

use crate::arguments::Protocol;

pub use duplo::Proposed;
pub use seam::{Done, Only, Played, Ready};

/// The protocol of this name.
pub fn played(protocol: Protocol) -> &'static dyn Played {
    match protocol {
        Protocol::Duplo => &Duplo,
        Protocol::SemiHonest => &SemiHonest,
        Protocol::CompGc => &CompGc,
    }
}
