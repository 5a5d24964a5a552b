//! The preprocessed items: buckets of components and authenticators, and OTs. Each knows the cut-and-choose
//! that it came out of, and where the garbler's commitments to it lie.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::Error;
use brickwork_circuit::ComponentDigest;
use brickwork_primitives::cut_and_choose::{BatchKind, Bucketing};
use brickwork_stock::{GivenUp, Serial};

/// The cut-and-choose that items came out of.
#[derive(Clone, Copy, Serialize, Deserialize)]
pub(super) struct Origin {
    /// Unique in a session.
    pub serial: Serial,
    pub kind: BatchKind,
    pub bucketing: Bucketing,
    /// The risk by the steps of its epoch that were given up: a party that broke the connection off after a
    /// challenge got another one.
    #[serde(skip)]
    pub given_up: GivenUp,
}

impl Origin {
    /// Makes one in a session in which nothing was given up.
    pub fn new(serial: Serial, kind: BatchKind, bucketing: Bucketing) -> Self {
        Origin { serial, kind, bucketing, given_up: GivenUp::default() }
    }
}

/// A number of buckets or OTs that share a shape.
pub(super) trait Items: Sized {
    fn len(&self) -> usize;

    /// Returns the cut-and-choose of the items, and that of a component's authenticators.
    fn origins(&self) -> Vec<Origin>;

    /// Returns a copy of some of them. The stock sees to it that no item is copied twice.
    fn slice(&self, items: Range<usize>) -> Self;

    /// Returns these, ready to be taken a few at a time: what programs are joined to is brought together from
    /// among all items.
    ///
    /// # Errors
    /// [`Error::Resource`] if something lies in a file that cannot be read.
    fn gathered(self) -> Result<Self, Error>;
}

/// A batch of a component's copies, with the authenticators of its outputs.
pub(super) trait ComponentItems: Items {
    fn digest(&self) -> &ComponentDigest;

    /// Returns the number of output wires of a copy.
    fn outputs(&self) -> usize;
}

/// Items that were made together: components, the input authenticators, OTs.
pub(super) struct PreprocessedItems<B, G, O> {
    pub components: Vec<B>,
    pub input_authenticators: Vec<G>,
    pub ots: Option<O>,
}

impl<B: Items, G: Items, O: Items> PreprocessedItems<B, G, O> {
    /// Gathers everything for a stock.
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
