//! A linear code over F_2 in which every bit of a word is the sum of twelve bits of the message. The code is
//! the matrix of LPN in primal form (Yang, Weng, Lan, Zhang, Wang, *Ferret*, CCS 2020).

use crate::vector::{Vector, VectorLoop};
use crate::{Aes128, Kernel};

/// For each of the twelve positions in a row: the half of two blocks that has it, and its first bit.
const PLACES: [(usize, u32); CODE_ONES] =
    [(0, 0), (0, 21), (0, 42), (1, 0), (1, 21), (1, 42), (2, 0), (2, 21), (2, 42), (3, 0), (3, 21), (3, 42)];
/// The number of ones in a row of the matrix. Two AES blocks determine a row, and have room for twelve
/// positions of 21 bits.
pub const CODE_ONES: usize = 12;
/// The largest number of bits of a position.
const PLACE_BITS: u32 = 21;
/// The number of rows whose positions are computed at a time; each row needs two blocks.
const ROWS: usize = 32;

/// Adds to each of `words` the sum of twelve words of `message`. Everybody knows which twelve words are
/// added: the encryptions of 2r and 2r + 1 determine them for row `r`. The first of `words` belongs to row
/// `first`. The words are secret, and neither time nor addresses depend on them.
///
/// # Panics
/// If the length of the message is not a power of two, or more than 2^21.
pub fn add_encoded(kernel: Kernel, key: &Aes128, first: u64, message: &[u128], words: &mut [u128]) {
    let length = message.len();
    assert!(
        length.is_power_of_two() && length <= 1 << PLACE_BITS,
        "the length must be a power of two that fits a place"
    );
    kernel.run(AddEncoded { kernel, key, first, message, words });
}

struct AddEncoded<'a> {
    kernel: Kernel,
    key: &'a Aes128,
    first: u64,
    message: &'a [u128],
    words: &'a mut [u128],
}

impl VectorLoop for AddEncoded<'_> {
    type Output = ();
    #[inline(always)]
    unsafe fn run<V: Vector>(self) {
        let AddEncoded { kernel, key, first, message, words } = self;
        let (from, mask) = (message.as_ptr(), message.len() - 1);
        let mut places = [0u128; 2 * ROWS];
        for (n, words) in words.chunks_mut(ROWS).enumerate() {
            let row = u128::from(first) + (n * ROWS) as u128;
            key.ctr_with(kernel, 2 * row, &mut places);
            for (word, places) in words.iter_mut().zip(places.as_chunks::<2>().0) {
                let [low, high] = *places;
                let halves = [low as u64, (low >> 64) as u64, high as u64, (high >> 64) as u64];
                // SAFETY: the caller guarantees the features of `V`. A place is within the message, whose
                // length is a power of two.
                unsafe {
                    let at = |(half, bit): (usize, u32)| {
                        V::One::load(from.add((halves[half] >> bit) as usize & mask))
                    };
                    let mut sum = V::One::load(word);
                    for two in PLACES.as_chunks::<2>().0 {
                        sum = sum.xor3(at(two[0]), at(two[1]));
                    }
                    sum.store(word);
                }
            }
        }
    }
}
