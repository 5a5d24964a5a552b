//! What the steps of a session have kept, at one party.

use std::collections::BTreeMap;
use std::ops::Range;

use super::Error;
use super::items::Items;
use super::steps::{Secret, Step};
use brickwork_base::label::Label;
use brickwork_circuit::{OutputPort, Program, Recipient};
use brickwork_primitives::Labels;
use brickwork_session::SessionId;

/// Wires that were kept, at one party: their authenticators, and at the evaluator their labels.
struct Wires<A> {
    authenticators: Vec<A>,
    labels: Labels,
}

/// What the steps of a session have kept, at one party.
pub(super) struct Kept<A> {
    wires: BTreeMap<u64, Wires<A>>,
    /// Numbers are given once, alike at both parties.
    next: u64,
    /// Of the last step.
    last: Vec<Secret>,
}

impl<A> Default for Kept<A> {
    fn default() -> Self {
        Kept { wires: BTreeMap::new(), next: 0, last: Vec::new() }
    }
}

impl<A: Items> Kept<A> {
    /// Returns the authenticators of a secret's wires.
    ///
    /// # Errors
    /// [`Error::Usage`] if it was forgotten.
    pub fn authenticators(&self, secret: &Secret) -> Result<impl Iterator<Item = A>, Error> {
        let wires = &self.known(secret)?.authenticators;
        Ok(wires.iter().map(|some| some.slice(0..some.len())))
    }

    /// Returns the labels of all that a step carries on, in the order of its wires: at the evaluator.
    ///
    /// # Errors
    /// [`Error::Usage`] if something was forgotten.
    pub fn labels(&self, step: &Step) -> Result<Labels, Error> {
        // Room for all at once: what grows leaves copies behind.
        let mut labels = Labels::new(Vec::with_capacity(step.carried().count()));
        for secret in step.secrets() {
            labels.extend_from_slice(&self.known(secret)?.labels);
        }
        Ok(labels)
    }

    /// Checks that nothing was forgotten that a step carries on.
    ///
    /// # Errors
    /// [`Error::Usage`] if it was.
    pub fn check(&self, step: &Step) -> Result<(), Error> {
        step.secrets().try_for_each(|secret| self.known(secret).map(drop))
    }

    fn known(&self, secret: &Secret) -> Result<&Wires<A>, Error> {
        self.wires.get(&secret.number()).ok_or_else(|| Error::Usage("the secret was forgotten".into()))
    }

    /// Returns whether nothing is kept.
    pub fn is_empty(&self) -> bool {
        self.wires.is_empty()
    }

    /// Returns the secrets that the last step kept, in the order of its outputs.
    pub fn last(&self) -> &[Secret] {
        &self.last
    }

    /// Forgets a secret's wires.
    pub fn forget(&mut self, secret: &Secret) {
        self.wires.remove(&secret.number());
    }

    /// Keeps the outputs of a program that nobody learns. Their authenticators are the last ones of
    /// `input_authenticators`; `labels` are those of their wires, at the evaluator.
    pub fn keep(
        &mut self,
        session: &SessionId,
        program: &Program,
        input_authenticators: &[A],
        labels: &[Label],
    ) {
        let kept = |output: &&OutputPort| output.to == Recipient::Nobody;
        let total: usize = program.outputs().iter().filter(kept).map(|output| output.wires.len()).sum();
        let mut first = input_authenticators.iter().map(A::len).sum::<usize>() - total;
        let mut labels = labels;
        self.last.clear();
        for output in program.outputs().iter().filter(kept) {
            let width = output.wires.len();
            let (own, rest) = labels.split_at(width.min(labels.len()));
            labels = rest;
            let wires = Wires {
                authenticators: sliced(input_authenticators, first..first + width),
                labels: Labels::new(own.to_vec()),
            };
            first += width;
            self.wires.insert(self.next, wires);
            self.last.push(Secret::new(session, self.next, &output.port.ty));
            self.next += 1;
        }
    }
}

/// Returns some of the items of several batches, counted batch after batch.
fn sliced<A: Items>(batches: &[A], items: Range<usize>) -> Vec<A> {
    let mut first = 0;
    let of_batch = |batch: &A| {
        let here = items.start.max(first)..items.end.min(first + batch.len());
        let slice = (here.start < here.end).then(|| batch.slice(here.start - first..here.end - first));
        first += batch.len();
        slice
    };
    batches.iter().filter_map(of_batch).collect()
}
