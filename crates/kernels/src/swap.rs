//! Transposition of bits by swapping pairs, without tables and without branches on data.

/// Swaps bits of `a` and `b`: the bits of `a` under `mask << shift` with the bits of `b` under `mask`.
#[inline(always)]
pub(crate) fn swap_bits(m: &mut [u128], a: usize, b: usize, shift: u32, mask: u128) {
    let t = ((m[a] >> shift) ^ m[b]) & mask;
    m[b] ^= t;
    m[a] ^= t << shift;
}

/// Transposes like [`Vector::transpose64`](crate::vector::Vector::transpose64), in words, because no bit
/// moves between the halves of a block.
#[inline(always)]
pub(crate) fn transpose64(m: &mut [u128; 64]) {
    let mut words = [0; 128];
    for (words, block) in words.as_chunks_mut::<2>().0.iter_mut().zip(m.iter()) {
        *words = [*block as u64, (*block >> 64) as u64];
    }
    swap_rows::<32>(&mut words);
    swap_rows::<16>(&mut words);
    swap_rows::<8>(&mut words);
    swap_rows::<4>(&mut words);
    swap_rows::<2>(&mut words);
    swap_rows::<1>(&mut words);
    for (words, block) in words.as_chunks::<2>().0.iter().zip(m) {
        *block = u128::from(words[0]) | u128::from(words[1]) << 64;
    }
}

/// Swaps bits of all pairs of rows that are `D` rows apart. A row has two words.
#[inline(always)]
fn swap_rows<const D: usize>(words: &mut [u64; 128]) {
    // D ones, D zeros, and so on.
    let mask = u64::MAX / ((1 << D) + 1);
    for rows in words.chunks_exact_mut(4 * D) {
        let (first, second) = rows.split_at_mut(2 * D);
        for (a, b) in first.iter_mut().zip(second) {
            let t = ((*a >> D) ^ *b) & mask;
            *b ^= t;
            *a ^= t << D;
        }
    }
}
