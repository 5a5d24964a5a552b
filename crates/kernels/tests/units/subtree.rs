//! Subtrees of BLAKE3's tree, compared with the `blake3` crate.

use ::blake3::hazmat::HasherExt;
use brickwork_kernels::{
    Aes128, CHUNK_BYTES, Kernel, SUBTREE_BYTES, Subtree, parent_values, parent_values_with, subtree_values,
    subtree_values_with,
};

#[test]
fn values_are_those_of_the_blake3_crate() {
    let mut bytes = vec![0u128; 37 * SUBTREE_BYTES / 16];
    Aes128::new(9).ctr(0, &mut bytes);
    let bytes: Vec<u8> = bytes.iter().flat_map(|block| block.to_le_bytes()).collect();
    // Tests chunk numbers at the start of the input, across 2^32, and at the end of the longest input.
    let numbers = [0, 16, (1u64 << 32) - 32, 1 << 32, (1 << 54) - 16];
    for size in [1, 2, 4, 8, 16].map(|chunks| chunks * CHUNK_BYTES) {
        let subtrees: Vec<Subtree> = bytes
            .chunks(size)
            .zip(numbers.iter().cycle())
            .map(|(bytes, &first_chunk)| Subtree { bytes, first_chunk })
            .collect();
        let value = |s: &Subtree| {
            ::blake3::Hasher::new().set_input_offset(s.first_chunk * 1024).update(s.bytes).finalize_non_root()
        };
        let expected: Vec<[u8; 32]> = subtrees[..37].iter().map(value).collect();
        for kernel in Kernel::all_available() {
            for count in [0, 1, 2, 3, 15, 16, 17, 33, 37] {
                let mut values = vec![[0; 32]; count];
                subtree_values_with(kernel, &subtrees[..count], &mut values);
                assert_eq!(values, expected[..count], "{kernel:?}, {count} of {size} bytes");
            }
        }
    }
}

#[test]
fn parents_are_those_of_the_blake3_crate() {
    use ::blake3::hazmat::{Mode, merge_subtrees_non_root};
    let children: Vec<[[u8; 32]; 2]> =
        (0..77u8).map(|k| [0, 100].map(|side| std::array::from_fn(|i| k ^ (side + i as u8)))).collect();
    let expected: Vec<[u8; 32]> =
        children.iter().map(|[left, right]| merge_subtrees_non_root(left, right, Mode::Hash)).collect();
    for kernel in Kernel::all_available() {
        for count in [0, 1, 2, 7, 8, 9, 16, 31, 32, 33, 77] {
            let mut values = vec![[0; 32]; count];
            parent_values_with(kernel, &children[..count], &mut values);
            assert_eq!(values, expected[..count], "{kernel:?}, {count}");
        }
    }
}

#[test]
fn other_sizes_are_refused() {
    let bytes = [0; 2 * SUBTREE_BYTES];
    for sizes in [[0, 0], [1023, 1023], [3072, 3072], [2 * SUBTREE_BYTES, 2 * SUBTREE_BYTES], [1024, 2048]] {
        let subtrees = sizes.map(|size| Subtree { bytes: &bytes[..size], first_chunk: 0 });
        let call = || subtree_values(&subtrees, &mut [[0; 32]; 2]);
        assert!(std::panic::catch_unwind(call).is_err(), "{sizes:?}");
    }
}

#[test]
fn a_place_for_each_value() {
    let subtree = Subtree { bytes: &[0; SUBTREE_BYTES], first_chunk: 0 };
    assert!(std::panic::catch_unwind(|| subtree_values(&[subtree], &mut [])).is_err());
    assert!(std::panic::catch_unwind(|| parent_values(&[[[0; 32]; 2]], &mut [])).is_err());
}
