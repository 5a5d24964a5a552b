//! Carry-less multiplication, compared with shifting and adding.

use brickwork_kernels::{Aes128, Kernel, gf128_reduce, hash_accumulate_with, hash_rows_with};

fn product(a: u128, b: u128) -> [u128; 2] {
    (0..128).fold([0, 0], |[low, high], i| {
        let bit = (b >> i & 1).wrapping_neg();
        [low ^ (a << i & bit), high ^ (if i == 0 { 0 } else { a >> (128 - i) } & bit)]
    })
}

/// Returns a product in GF(2^128), computed bit by bit.
fn field_product(a: u128, b: u128) -> u128 {
    (0..128).rev().fold(0, |sum: u128, i| {
        sum << 1 ^ if sum >> 127 == 1 { 0x87 } else { 0 } ^ if b >> i & 1 == 1 { a } else { 0 }
    })
}

proptest::proptest! {
    #[test]
    fn kernels_agree(rows: Vec<u128>, start: [u128; 2], chi: u128) {
        let expected: Vec<[u128; 2]> =
            rows.iter().map(|&r| product(r, chi)).map(|p| [start[0] ^ p[0], start[1] ^ p[1]]).collect();
        for kernel in Kernel::all_available() {
            let mut acc = vec![start; rows.len()];
            hash_accumulate_with(kernel, &mut acc, &rows, chi);
            assert_eq!(acc, expected, "{kernel:?}");
        }
    }

    #[test]
    fn rows_of_several_blocks(
        rows in 0usize..6, chis in proptest::collection::vec(proptest::num::u128::ANY, 0..9), seed: u128,
    ) {
        let mut matrix = vec![0; rows * chis.len()];
        Aes128::new(seed).ctr(0, &mut matrix);
        let start = [seed, !seed];
        let row = |r: usize| &matrix[r * chis.len()..(r + 1) * chis.len()];
        let expected: Vec<[u128; 2]> = (0..rows).map(|r| {
            let products = row(r).iter().zip(&chis).map(|(&x, &chi)| product(x, chi));
            products.fold(start, |sum, p| [sum[0] ^ p[0], sum[1] ^ p[1]])
        }).collect();
        for kernel in Kernel::all_available() {
            let mut acc = vec![start; rows];
            hash_rows_with(kernel, &mut acc, &matrix, &chis);
            assert_eq!(acc, expected, "{kernel:?}");
        }
    }

    #[test]
    fn reduction_is_that_of_the_field(a: u128, b: u128) {
        assert_eq!(gf128_reduce(product(a, b)), field_product(a, b));
    }
}

#[test]
fn reduction_at_the_edges() {
    for (a, b) in [(u128::MAX, u128::MAX), (1 << 127, 1 << 127), (1 << 127, 2), (0, 5)] {
        assert_eq!(gf128_reduce(product(a, b)), field_product(a, b));
    }
    assert_eq!(gf128_reduce([0, 1]), 0x87);
}

/// Tests halves that are 0, all ones, a single bit, or a pattern, and some that look random.
#[test]
fn products_at_the_edges() {
    let mut x = 0x9e37_79b9_7f4a_7c15u64;
    let mut halves = vec![0, 1, u64::MAX, 1 << 63, 0x5555_5555_5555_5555, 0x1084_2108_4210_8421];
    for _ in 0..30 {
        x = x.wrapping_mul(0xd134_2543_de82_ef95).wrapping_add(1);
        halves.push(x ^ x >> 29);
    }
    for (i, &chi) in halves.iter().enumerate() {
        let chi = u128::from(chi) | u128::from(halves[(i + 7) % halves.len()]) << 64;
        let rows: Vec<u128> = (0..halves.len())
            .map(|k| u128::from(halves[k]) | u128::from(halves[(k * 5 + 1) % 36]) << 64)
            .collect();
        let expected: Vec<[u128; 2]> = rows.iter().map(|&row| product(row, chi)).collect();
        for kernel in Kernel::all_available() {
            let mut acc = vec![[0; 2]; rows.len()];
            hash_accumulate_with(kernel, &mut acc, &rows, chi);
            assert_eq!(acc, expected, "{chi:#x}, {kernel:?}");
        }
    }
}
