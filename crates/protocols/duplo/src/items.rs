//! The preprocessed items: buckets of components and authenticators, and OTs. Each item contains the
//! cut-and-choose that made it, and the place of the garbler's commitments to it.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::Error;
use brickwork_circuit::ComponentDigest;
use brickwork_primitives::cut_and_choose::{BatchKind, Bucketing};
use brickwork_store::{GivenUp, Serial};

/// The cut-and-choose that made a list of items.
#[derive(Clone, Copy, Serialize, Deserialize)]
pub struct Origin {
    /// Unique in a session.
    pub serial: Serial,
    pub kind: BatchKind,
    pub bucketing: Bucketing,
    /// The risk of the epoch's given-up steps: each of them may have given a cheater one more challenge.
    #[serde(skip)]
    pub given_up: GivenUp,
}

impl Origin {
    /// Makes the origin for a session without given-up steps.
    pub fn new(serial: Serial, kind: BatchKind, bucketing: Bucketing) -> Self {
        Origin { serial, kind, bucketing, given_up: GivenUp::default() }
    }
}

/// A list of buckets or OTs that all have the same shape.
pub(super) trait Items: Sized {
    fn len(&self) -> usize;

    /// Returns the origin of the items. For a component this includes the origin of its authenticators.
    fn origins(&self) -> Vec<Origin>;

    /// Returns copies of some items. The stock ensures that no item is copied twice.
    fn slice(&self, items: Range<usize>) -> Self;

    /// Gathers the data that programs need, so that a program can take a few items at a time.
    ///
    /// # Errors
    /// [`Error::Resource`] if a temporary file cannot be read.
    fn gathered(self) -> Result<Self, Error>;
}

/// A list of a component's buckets, with the authenticators of its outputs.
pub(super) trait ComponentItems: Items {
    fn digest(&self) -> &ComponentDigest;

    /// Returns the number of output wires of a copy.
    fn outputs(&self) -> usize;
}

/// Items that were made together: components, input authenticators and OTs.
pub(super) struct PreprocessedItems<B, G, O> {
    pub components: Vec<B>,
    pub input_authenticators: Vec<G>,
    pub ots: Option<O>,
}

impl<B: Items, G: Items, O: Items> PreprocessedItems<B, G, O> {
    /// Gathers the data of all items, for a stock.
    ///
    /// # Errors
    /// As [`Items::gathered`].
    pub fn gathered(self) -> Result<Self, Error> {
        Ok(PreprocessedItems {
            components: self.components.into_iter().map(Items::gathered).collect::<Result<_, _>>()?,
            input_authenticators: self
                .input_authenticators
                .into_iter()
                .map(Items::gathered)
                .collect::<Result<_, _>>()?,
            ots: self.ots.map(Items::gathered).transpose()?,
        })
    }
}
