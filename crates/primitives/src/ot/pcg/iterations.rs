//! The state of the PCG iterations, of the same form at sender and receiver.

use brickwork_base::Error;
use brickwork_base::label::Label;
use brickwork_kernels::SecretBlocks;

use super::{Cheat, PcgParameters, Pool};

/// The iterations of a party: the OTs reserved for the next iteration, and the OTs that are ready.
pub(super) struct Iterations {
    pub parameters: PcgParameters,
    /// The OTs for the next iteration. Empty before the first iteration.
    pub reserve: SecretBlocks<Label>,
    pool: Pool,
    /// False from the beginning of an iteration until its check has passed.
    sound: bool,
}

impl Iterations {
    /// Returns a state before the first iteration, which takes its OTs from another construction.
    pub fn new(parameters: PcgParameters) -> Self {
        Iterations { parameters, reserve: SecretBlocks::default(), pool: Pool::default(), sound: true }
    }

    /// Returns the number of OTs that are ready.
    pub fn left(&self) -> usize {
        self.pool.left()
    }

    /// Begins enough iterations that `count` OTs will be ready, and returns the OTs with which each iteration
    /// begins. `outside` makes the OTs of the first iteration of all.
    ///
    /// # Errors
    /// [`Cheat::PcgTrees`] if an earlier iteration has not finished, and the errors of `outside`.
    pub fn begin(
        &mut self,
        count: usize,
        outside: impl FnOnce(&mut [Label]) -> Result<(), Error>,
    ) -> Result<Vec<SecretBlocks<Label>>, Error> {
        if !std::mem::replace(&mut self.sound, false) {
            return Err(Cheat::PcgTrees.into());
        }
        let each = self.parameters.reserve();
        if self.reserve.is_empty() {
            let mut reserve = SecretBlocks::zeros(each);
            outside(&mut reserve)?;
            self.reserve = reserve;
        }
        let others = 1..self.parameters.at_once(self.pool.left(), count);
        let mut taken = vec![std::mem::take(&mut self.reserve)];
        taken.extend(others.map(|_| self.pool.take(each)));
        Ok(taken)
    }

    /// Adds the OTs of the finished iterations, and reserves the OTs for the next one.
    pub fn end(&mut self, made: impl IntoIterator<Item = SecretBlocks<Label>>) {
        made.into_iter().for_each(|labels| self.pool.put(labels));
        self.reserve = self.pool.take(self.parameters.reserve());
        self.sound = true;
    }

    /// Writes the next OTs. The caller must make sure that there are enough.
    pub fn draw(&mut self, to: &mut [Label]) {
        self.pool.draw(to);
    }

    /// Forgets all OTs: the next iteration takes its OTs from another construction again.
    pub fn forget(&mut self) {
        (self.reserve, self.pool) = (SecretBlocks::default(), Pool::default());
    }
}
