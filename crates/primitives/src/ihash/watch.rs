//! The symbols that a receiver watches.

use brickwork_base::random::{Rng, Seed};
use subtle::{ConstantTimeEq, ConstantTimeLess};
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

use super::parameters::Parameters;

/// The symbols that a receiver watches.
#[derive(Zeroize, ZeroizeOnDrop)]
pub struct Watch {
    /// For each symbol 1 or 0.
    choices: Vec<u8>,
    /// How many watched ones are before it.
    numbers: Vec<u8>,
}

impl Watch {
    /// Draws w of n symbols, each set as likely as any other: those of the least of n random numbers.
    pub fn draw(parameters: &Parameters, rng: &mut Rng) -> Self {
        let numbers: Zeroizing<Vec<u128>> =
            Zeroizing::new((0..parameters.n()).map(|_| rng.block()).collect());
        let watched = |i: usize| {
            let smaller = numbers
                .iter()
                .fold(0_u32, |smaller, other| smaller + u32::from(other.ct_lt(&numbers[i]).unwrap_u8()));
            smaller.ct_lt(&(parameters.w() as u32)).unwrap_u8()
        };
        Self::of((0..parameters.n()).map(watched).collect())
    }

    /// Returns those of a session that is restored, if they are w of n choices. In constant time.
    pub(super) fn restored(parameters: &Parameters, choices: &[u8]) -> Option<Self> {
        let bits = choices.iter().fold(0, |all, choice| all | choice) <= 1;
        let watched = choices.iter().map(|&choice| usize::from(choice)).sum::<usize>();
        let fits = bits && (choices.len(), watched) == (parameters.n(), parameters.w());
        fits.then(|| Self::of(choices.to_vec()))
    }

    /// Returns those with these choices, 1 or 0 for each symbol.
    pub(super) fn of(choices: Vec<u8>) -> Self {
        let number = |before: &mut u8, choice: &u8| {
            let number = *before;
            *before += choice;
            Some(number)
        };
        let numbers = choices.iter().scan(0, number).collect();
        Watch { choices, numbers }
    }

    /// Returns the choices, 1 where a symbol is watched, in the OTs that the seeds come from.
    pub fn choices(&self) -> &[u8] {
        &self.choices
    }

    /// Returns all ones if symbol `i` is watched and has number `o` of those that are. In constant time.
    pub(super) fn is_number(&self, i: usize, o: usize) -> u8 {
        let here = self.numbers[i].ct_eq(&(o as u8)).unwrap_u8() & self.choices[i];
        here.wrapping_neg()
    }

    /// Returns which symbol has number `o` of those that are watched. In constant time.
    pub(super) fn place(&self, o: usize) -> u8 {
        (0..self.choices.len()).fold(0, |place, i| place | i as u8 & self.is_number(i, o))
    }

    /// Returns the seeds of the watched symbols, in their order, of seeds for all. In constant time.
    pub(super) fn seeds(&self, keys: &[Seed], w: usize) -> Vec<Seed> {
        let seed = |o: usize| {
            let bits = keys.iter().enumerate().fold(0, |bits, (i, key)| {
                bits | key.bits() & (u128::from(self.is_number(i, o)) & 1).wrapping_neg()
            });
            Seed::from_bytes(bits.to_le_bytes())
        };
        (0..w).map(seed).collect()
    }
}
