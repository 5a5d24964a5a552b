//! Transpositions of bits by swapping them, without tables and without branches on data.

/// Swaps bits of `a` and `b`: those of `a` under `mask << shift` with those of `b` under `mask`.
#[inline(always)]
pub(crate) fn swap_bits(m: &mut [u128], a: usize, b: usize, shift: u32, mask: u128) {
    let t = ((m[a] >> shift) ^ m[b]) & mask;
    m[b] ^= t;
    m[a] ^= t << shift;
}

/// Transposes as [`Vector::transpose64`](crate::vector::Vector::transpose64).
pub(crate) fn transpose64(m: &mut [u128; 64]) {
    let mut mask = 0x0000_0000_ffff_ffffu64;
    let mut distance = 32;
    while distance > 0 {
        let both = u128::from(mask) << 64 | u128::from(mask);
        for start in (0..64).step_by(2 * distance) {
            for i in start..start + distance {
                swap_bits(m, i, i + distance, distance as u32, both);
            }
        }
        distance /= 2;
        mask ^= mask << distance;
    }
}
