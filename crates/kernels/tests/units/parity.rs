//! Parities of rows, compared with their definition.

use brickwork_kernels::{Aes128, Kernel, parity_rows, parity_rows_with};
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(30))]
    #[test]
    fn kernels_agree_with_the_definition(
        masks in prop::collection::vec(any::<u128>(), 0..20), blocks in 1usize..10, seed: u128,
    ) {
        let mut message = vec![0; 128 * blocks];
        Aes128::new(seed).ctr(0, &mut message);
        let expected: Vec<u128> = masks.iter().flat_map(|mask| {
            let rows = message.chunks_exact(blocks).enumerate().filter(|(r, _)| mask >> r & 1 == 1);
            rows.fold(vec![0; blocks], |sum, (_, row)| sum.iter().zip(row).map(|(a, b)| a ^ b).collect())
        }).collect();
        for kernel in Kernel::all_available() {
            let mut parity = vec![u128::MAX; expected.len()];
            parity_rows_with(kernel, &masks, &message, &mut parity, blocks);
            assert_eq!(parity, expected, "{kernel:?}");
        }
    }
}

#[test]
fn sizes_that_do_not_fit_are_refused() {
    for (masks, message, parity, blocks) in [(1, 127, 1, 1), (1, 128, 2, 1), (2, 256, 2, 2)] {
        let call = || parity_rows(&vec![0; masks], &vec![0; message], &mut vec![0; parity], blocks);
        assert!(std::panic::catch_unwind(call).is_err());
    }
}
