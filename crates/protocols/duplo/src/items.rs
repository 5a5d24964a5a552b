//! The preprocessed items: buckets of components and authenticators, and OTs. Each item knows the
//! cut-and-choose that made it, and the position of the garbler's commitments to it.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::Error;
use brickwork_circuit::ComponentDigest;
use brickwork_primitives::cut_and_choose::{BatchKind, Bucketing};
use brickwork_stock::{GivenUp, Serial};

/// The cut-and-choose that made some items.
#[derive(Clone, Copy, Serialize, Deserialize)]
pub(super) struct Origin {
    /// Unique in a session.
    pub serial: Serial,
    pub kind: BatchKind,
    pub bucketing: Bucketing,
    /// The risk of the given-up steps of its epoch: a party that broke the connection after a challenge got
    /// another challenge.
    #[serde(skip)]
    pub given_up: GivenUp,
}

impl Origin {
    /// Makes the origin for a session in which nothing was given up.
    pub fn new(serial: Serial, kind: BatchKind, bucketing: Bucketing) -> Self {
        Origin { serial, kind, bucketing, given_up: GivenUp::default() }
    }
}

/// Buckets or OTs that have the same shape.
pub(super) trait Items: Sized {
    fn len(&self) -> usize;

    /// Returns the cut-and-choose of the items, and for a component also that of its authenticators.
    fn origins(&self) -> Vec<Origin>;

    /// Returns a copy of some of them. The stock ensures that no item is copied twice.
    fn slice(&self, items: Range<usize>) -> Self;

    /// Returns the items in a form from which a few can be taken at a time: the data that programs need is
    /// brought together.
    ///
    /// # Errors
    /// [`Error::Resource`] if a temporary file cannot be read.
    fn gathered(self) -> Result<Self, Error>;
}

/// A batch of a component's copies, with the authenticators of its outputs.
pub(super) trait ComponentItems: Items {
    fn digest(&self) -> &ComponentDigest;

    /// Returns the number of output wires of a copy.
    fn outputs(&self) -> usize;
}

/// Items that were made together: components, input authenticators, OTs.
pub(super) struct PreprocessedItems<B, G, O> {
    pub components: Vec<B>,
    pub input_authenticators: Vec<G>,
    pub ots: Option<O>,
}

impl<B: Items, G: Items, O: Items> PreprocessedItems<B, G, O> {
    /// Brings all data together for a stock.
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
