//! A linear code over F_2 whose every word's bit is the sum of twelve bits of the message: the matrix of LPN
//! in primal form (Yang, Weng, Lan, Zhang, Wang, *Ferret*, CCS 2020).

use crate::vector::{Task, Vector};
use crate::{Aes128, Kernel};

/// Where the places of a row are in two blocks: in which half of one, and from which bit on.
const PLACES: [(usize, u32); CODE_ONES] =
    [(0, 0), (0, 21), (0, 42), (1, 0), (1, 21), (1, 42), (2, 0), (2, 21), (2, 42), (3, 0), (3, 21), (3, 42)];
/// Ones of a row of the code's matrix: as many places as two blocks hold.
pub const CODE_ONES: usize = 12;
/// Bits of a place, at most.
const PLACE_BITS: u32 = 21;
/// Rows whose places are made at a time: two blocks each.
const ROWS: usize = 32;

/// Adds to each of these words the sum of twelve of `message`. Their choice is public: row `r`, of which the
/// first is number `first`, has its places in the encryptions of 2r and 2r + 1. The words are secret: nothing
/// depends on them.
///
/// # Panics
/// If the message is not a power of two long, of at most 2^21 words.
pub fn add_encoded(kernel: Kernel, key: &Aes128, first: u64, message: &[u128], words: &mut [u128]) {
    let length = message.len();
    assert!(length.is_power_of_two() && length <= 1 << PLACE_BITS, "a power of two");
    kernel.run(AddEncoded { kernel, key, first, message, words });
}

struct AddEncoded<'a> {
    kernel: Kernel,
    key: &'a Aes128,
    first: u64,
    message: &'a [u128],
    words: &'a mut [u128],
}

impl Task for AddEncoded<'_> {
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
                // SAFETY: the caller vouches for the features of `V`; a place is in the message, whose length
                // is a power of two.
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
