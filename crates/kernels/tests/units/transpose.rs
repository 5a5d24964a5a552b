//! Transposition of bits, compared with its definition.

use brickwork_kernels::{
    Aes128, Kernel, transpose, transpose_back, transpose_back_with, transpose_with, words_for_rows,
};
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn kernels_agree_with_the_definition(rows in 0usize..513, blocks in 1usize..5, seed: u128) {
        let mut matrix = vec![0; rows * blocks];
        Aes128::new(seed).ctr(0, &mut matrix);
        let words = words_for_rows(rows);
        let mut expected = vec![0u64; 128 * blocks * words];
        for c in 0..128 * blocks {
            for r in 0..rows {
                let bit = matrix[r * blocks + c / 128] >> (c % 128) & 1;
                expected[c * words + r / 64] |= (bit as u64) << (r % 64);
            }
        }
        for kernel in Kernel::all_available() {
            let mut columns = vec![u64::MAX; expected.len()];
            transpose_with(kernel, &matrix, blocks, &mut columns);
            assert_eq!(columns, expected, "{kernel:?}");
            for b in 0..blocks {
                let mut back = vec![u128::MAX; rows];
                transpose_back_with(kernel, &columns[b * 128 * words..][..128 * words], words, &mut back);
                assert!(back.iter().enumerate().all(|(r, &x)| x == matrix[r * blocks + b]), "{kernel:?}");
                let wider: Vec<u64> = columns[b * 128 * words..][..128 * words]
                    .chunks_exact(words.max(1))
                    .flat_map(|column| column.iter().copied().chain([u64::MAX; 3]))
                    .collect();
                if rows > 0 {
                    transpose_back_with(kernel, &wider, words + 3, &mut back);
                    assert!(back.iter().enumerate().all(|(r, &x)| x == matrix[r * blocks + b]), "{kernel:?}");
                }
            }
        }
    }
}

#[test]
fn sizes_that_do_not_fit_are_refused() {
    for (rows, blocks, columns) in [(3, 2, 256), (4, 2, 255), (4, 0, 0), (0, 1, 1)] {
        let call = || transpose(&vec![0; rows], blocks, &mut vec![0; columns]);
        assert!(std::panic::catch_unwind(call).is_err(), "{rows} {blocks} {columns}");
    }
    assert!(std::panic::catch_unwind(|| transpose_back(&[0; 127], 1, &mut [0])).is_err());
    assert!(std::panic::catch_unwind(|| transpose_back(&[0; 128], 1, &mut [0; 65])).is_err());
}
