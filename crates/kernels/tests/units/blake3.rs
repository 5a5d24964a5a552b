//! Short keyed hashes, compared with the `blake3` crate.

use brickwork_kernels::{Kernel, keyed_hashes, keyed_hashes_with};
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(30))]
    #[test]
    fn short_messages_hash_as_blake3_has_it(
        key: [u8; 32], messages in prop::collection::vec(any::<[u128; 2]>(), 0..100),
    ) {
        let expected: Vec<u128> = messages.iter().map(|[a, b]| {
            let hash = ::blake3::keyed_hash(&key, &[a.to_le_bytes(), b.to_le_bytes()].concat());
            u128::from_le_bytes(*hash.as_bytes().first_chunk().unwrap())
        }).collect();
        for kernel in Kernel::all_available() {
            let mut hashes = vec![0; messages.len()];
            keyed_hashes_with(kernel, &key, &messages, &mut hashes);
            assert_eq!(hashes, expected, "{kernel:?}");
        }
    }
}

#[test]
fn a_place_for_each_hash() {
    assert!(std::panic::catch_unwind(|| keyed_hashes(&[0; 32], &[[0; 2]], &mut [])).is_err());
}
