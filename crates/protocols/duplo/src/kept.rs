//! The values that the steps of a session have kept at one party.

use std::ops::Range;

use super::Error;
use super::items::{Items, Origin};
use brickwork_base::label::Label;
use brickwork_circuit::Program;
use brickwork_primitives::Labels;
use brickwork_protocol::SessionId;
use brickwork_protocol::steps::{self, Secret, Step};
use brickwork_store::Ranges;

/// Kept wires at one party: their authenticators, and at the evaluator also their labels.
struct Wires<A> {
    authenticators: Vec<A>,
    labels: Labels,
    /// The batches that the bits depend on: those of the step itself, and those of the kept values that it
    /// used.
    origins: Vec<(String, Origin)>,
}

pub(super) struct KeptCommitments<A>(steps::KeptSecrets<Wires<A>>);

impl<A> Default for KeptCommitments<A> {
    fn default() -> Self {
        KeptCommitments(steps::KeptSecrets::default())
    }
}

impl<A: Items> KeptCommitments<A> {
    /// Continues with the numbers of kept values that a log entry reserves.
    ///
    /// # Errors
    /// [`Error::Usage`] if the numbers were taken before.
    pub fn enter(&mut self, ranges: &mut Ranges) -> Result<(), Error> {
        self.0.enter(ranges)
    }

    /// Returns the authenticators of a secret's wires.
    ///
    /// # Errors
    /// [`Error::Usage`] if the secret was forgotten.
    pub fn authenticators(&self, secret: &Secret) -> Result<impl Iterator<Item = A>, Error> {
        let wires = &self.0.wires(secret)?.authenticators;
        Ok(wires.iter().map(|some| some.slice(0..some.len())))
    }

    /// Returns the evaluator's labels of all kept values that a step uses, in the order of the step's wires.
    ///
    /// # Errors
    /// [`Error::Usage`] if a secret was forgotten.
    pub fn labels(&self, step: &Step) -> Result<Labels, Error> {
        // Allocates room for all labels at once: a growing vector would leave copies of secrets in freed
        // memory.
        let mut labels = Labels::new(Vec::with_capacity(step.carried().count()));
        for secret in step.secrets() {
            labels.extend_from_slice(&self.0.wires(secret)?.labels);
        }
        Ok(labels)
    }

    /// Returns the batches, with their names, that the kept values of a step depend on.
    ///
    /// # Errors
    /// [`Error::Usage`] if a secret was forgotten.
    pub fn origins(&self, step: &Step) -> Result<Vec<(String, Origin)>, Error> {
        let mut origins = Vec::new();
        for secret in step.secrets() {
            origins.extend_from_slice(&self.0.wires(secret)?.origins);
        }
        Ok(origins)
    }

    /// Checks that all kept values that a step uses still exist.
    ///
    /// # Errors
    /// [`Error::Usage`] if a value was forgotten.
    pub fn check(&self, step: &Step) -> Result<(), Error> {
        self.0.check(step)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the secrets that the last step kept, in the order of its outputs.
    pub fn last(&self) -> &[Secret] {
        self.0.last()
    }

    pub fn forget(&mut self, secret: &Secret) {
        self.0.forget(secret);
    }

    /// Keeps the outputs of a program that no party learns. Their authenticators are the last ones of
    /// `input_authenticators`. `labels` has the labels of their wires, at the evaluator. `origins` are the
    /// batches that the step depends on.
    ///
    /// # Errors
    /// [`Error::Limit`] if all numbers of kept values are used up.
    pub fn keep(
        &mut self,
        session: &SessionId,
        program: &Program,
        input_authenticators: &[A],
        mut labels: &[Label],
        origins: &[(String, Origin)],
    ) -> Result<(), Error> {
        let total: usize = steps::kept(program).map(|output| output.wires.len()).sum();
        let mut first = input_authenticators.iter().map(A::len).sum::<usize>() - total;
        self.0.keep(session, program, |output| {
            let width = output.wires.len();
            let (own, rest) = labels.split_at(width.min(labels.len()));
            labels = rest;
            first += width;
            Wires {
                authenticators: sliced(input_authenticators, first - width..first),
                labels: Labels::new(own.to_vec()),
                origins: origins.to_vec(),
            }
        })
    }
}

/// Returns a range of the items of several batches, with items counted batch after batch.
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
