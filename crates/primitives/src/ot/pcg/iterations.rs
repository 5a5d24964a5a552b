//! The parts of iterations that sender and receiver keep.

use brickwork_base::Error;
use brickwork_base::label::Label;
use brickwork_kernels::Secrets;

use super::{Cheat, Parameters, Pool};

/// The iterations of a party: OTs that are kept for the next one, and those that are ready.
pub(super) struct Iterations {
    pub parameters: Parameters,
    /// OTs of the next iteration; none before the first one.
    pub reserve: Secrets<Label>,
    pool: Pool,
    /// False from the beginning of an iteration until it is done, and its check has passed.
    sound: bool,
}

impl Iterations {
    /// Makes those that begin with OTs from outside.
    pub fn new(parameters: Parameters) -> Self {
        Iterations { parameters, reserve: Secrets::default(), pool: Pool::default(), sound: true }
    }

    /// Returns how many OTs are ready.
    pub fn left(&self) -> usize {
        self.pool.left()
    }

    /// Begins iterations towards `count` OTs: takes the OTs of each. `outside` makes those of the first one,
    /// if nothing was made before.
    ///
    /// # Errors
    /// [`Cheat::PcgTrees`] if one before has not ended; those of `outside`.
    pub fn begin(
        &mut self,
        count: usize,
        outside: impl FnOnce(&mut [Label]) -> Result<(), Error>,
    ) -> Result<Vec<Secrets<Label>>, Error> {
        if !std::mem::replace(&mut self.sound, false) {
            return Err(Cheat::PcgTrees.into());
        }
        let each = self.parameters.reserve();
        if self.reserve.is_empty() {
            let mut reserve = Secrets::zeros(each);
            outside(&mut reserve)?;
            self.reserve = reserve;
        }
        let others = 1..self.parameters.at_once(self.pool.left(), count);
        let mut taken = vec![std::mem::take(&mut self.reserve)];
        taken.extend(others.map(|_| self.pool.take(each)));
        Ok(taken)
    }

    /// Adds the results of the iterations in progress, and keeps the OTs for the next one.
    pub fn end(&mut self, made: impl IntoIterator<Item = Secrets<Label>>) {
        made.into_iter().for_each(|labels| self.pool.put(labels));
        self.reserve = self.pool.take(self.parameters.reserve());
        self.sound = true;
    }

    /// Writes the next OTs, of which there are enough.
    pub fn draw(&mut self, to: &mut [Label]) {
        self.pool.draw(to);
    }

    /// Forgets all of them: the next iteration begins with OTs from outside.
    pub fn forget(&mut self) {
        (self.reserve, self.pool) = (Secrets::default(), Pool::default());
    }
}
