//! The symbols that a receiver watches.

use brickwork_base::random::{Rng, Seed};
use subtle::{ConstantTimeEq, ConstantTimeLess};
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

use super::parameters::HashParameters;

/// The symbols that a receiver watches.
#[derive(Zeroize, ZeroizeOnDrop)]
pub struct WatchedSymbols {
    /// One element for each symbol: 1 if it is watched, 0 if not.
    choices: Vec<u8>,
    /// For each symbol, the number of watched symbols before it.
    numbers: Vec<u8>,
}

impl WatchedSymbols {
    /// Draws a uniform set of w of n symbols: the positions of the w smallest of n random numbers.
    pub fn draw(parameters: &HashParameters, rng: &mut Rng) -> Self {
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

    /// Restores the watched symbols of a session. Returns `None` unless `choices` are w of n. Takes constant
    /// time.
    pub(super) fn restored(parameters: &HashParameters, choices: &[u8]) -> Option<Self> {
        let bits = choices.iter().fold(0, |all, choice| all | choice) <= 1;
        let watched = choices.iter().map(|&choice| usize::from(choice)).sum::<usize>();
        let fits = bits && (choices.len(), watched) == (parameters.n(), parameters.w());
        fits.then(|| Self::of(choices.to_vec()))
    }

    /// Returns the set with these choices, 1 or 0 for each symbol.
    pub(super) fn of(choices: Vec<u8>) -> Self {
        let number = |before: &mut u8, choice: &u8| {
            let number = *before;
            *before += choice;
            Some(number)
        };
        let numbers = choices.iter().scan(0, number).collect();
        WatchedSymbols { choices, numbers }
    }

    /// Returns the choices in the OTs of the seeds: 1 where a symbol is watched.
    pub fn choices(&self) -> &[u8] {
        &self.choices
    }

    /// Returns all ones if symbol `i` is the watched symbol number `o`, and zero otherwise. Takes constant
    /// time.
    pub(super) fn is_number(&self, i: usize, o: usize) -> u8 {
        let here = self.numbers[i].ct_eq(&(o as u8)).unwrap_u8() & self.choices[i];
        here.wrapping_neg()
    }

    /// Returns the position of the watched symbol number `o`. Takes constant time.
    pub(super) fn place(&self, o: usize) -> u8 {
        (0..self.choices.len()).fold(0, |place, i| place | i as u8 & self.is_number(i, o))
    }

    /// Selects the seeds of the watched symbols, in their order, from the seeds of all symbols. Takes
    /// constant time.
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
