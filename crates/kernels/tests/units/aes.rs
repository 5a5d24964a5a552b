//! AES: compared with FIPS 197, and every kernel with the `aes` crate.

use ::aes::cipher::{BlockCipherEncrypt, KeyInit};
use brickwork_kernels::{Aes128, Kernel, ctr_rows, ctr_rows_with, encrypt_each_with};

fn reference(key: u128, block: u128) -> u128 {
    let cipher = ::aes::Aes128::new(&key.to_le_bytes().into());
    let mut bytes = block.to_le_bytes().into();
    cipher.encrypt_block(&mut bytes);
    u128::from_le_bytes(bytes.into())
}

/// The example of FIPS 197, appendix C.1.
#[test]
fn known_answer() {
    let key = u128::from_le_bytes(std::array::from_fn(|i| i as u8));
    let plain = u128::from_le_bytes(std::array::from_fn(|i| i as u8 * 0x11));
    for kernel in Kernel::all_available() {
        let mut block = [plain];
        Aes128::with_kernel(kernel, key).encrypt_with(kernel, &mut block);
        assert_eq!(block[0].to_be(), 0x69c4_e0d8_6a7b_0430_d8cd_b780_70b4_c55a, "{kernel:?}");
    }
}

/// Every byte value passes through the S-box at every position.
#[test]
fn every_byte_is_substituted() {
    let blocks: Vec<u128> =
        (0..=255u8).map(|x| u128::from_le_bytes(std::array::from_fn(|i| x ^ (17 * i as u8)))).collect();
    for key in [0, u128::MAX, 0x0f0e_0d0c_0b0a_0908_0706_0504_0302_0100] {
        let expected: Vec<u128> = blocks.iter().map(|&block| reference(key, block)).collect();
        for kernel in Kernel::all_available() {
            let mut out = blocks.clone();
            Aes128::with_kernel(kernel, key).encrypt_with(kernel, &mut out);
            assert_eq!(out, expected, "{kernel:?}");
        }
    }
}

/// Every byte value passes through the key schedule, at each of the four bytes of a word.
#[test]
fn every_byte_of_a_key_is_substituted() {
    for x in 0..=255u8 {
        let key = u128::from_le_bytes(std::array::from_fn(|i| {
            if i < 12 { i as u8 } else { x ^ (85 * (i as u8 - 12)) }
        }));
        for kernel in Kernel::all_available() {
            let mut block = [0];
            Aes128::with_kernel(kernel, key).encrypt_with(kernel, &mut block);
            assert_eq!(block[0], reference(key, 0), "{x:#x}, {kernel:?}");
        }
    }
}

proptest::proptest! {
    #[test]
    fn kernels_agree(key: u128, counter: u128, near_wrap: u8, len in 0usize..150) {
        let wraps_soon = counter | u128::from(u64::MAX - u64::from(near_wrap));
        let counter = if near_wrap < 64 { wraps_soon } else { counter };
        let expected: Vec<u128> = (0..len).map(|i| reference(key, counter.wrapping_add(i as u128))).collect();
        for kernel in Kernel::all_available() {
            let aes = Aes128::with_kernel(kernel, key);
            let mut out = vec![0; len];
            aes.ctr_with(kernel, counter, &mut out);
            assert_eq!(out, expected, "{kernel:?}");
            for (i, x) in out.iter_mut().enumerate() {
                *x = counter.wrapping_add(i as u128);
            }
            aes.encrypt_with(kernel, &mut out);
            assert_eq!(out, expected, "{kernel:?}");
        }
    }

    #[test]
    fn rows_are_counter_mode_each(keys: Vec<u128>, counter: u128, blocks in 0usize..40) {
        let expected: Vec<u128> =
            keys.iter()
                .flat_map(|&k| (0..blocks).map(move |i| reference(k, counter.wrapping_add(i as u128))))
                .collect();
        for kernel in Kernel::all_available() {
            let mut expanded = Vec::new();
            Aes128::expand_many(kernel, &keys, &mut expanded);
            let mut out = vec![0; expected.len()];
            ctr_rows_with(kernel, &expanded, counter, &mut out, blocks);
            assert_eq!(out, expected, "{kernel:?}");
        }
    }
}

/// The kernel for a few blocks exists on this machine, and gives the same bits.
#[test]
fn few_blocks_are_encrypted_alike() {
    for kernel in Kernel::all_available() {
        let few = kernel.for_few_blocks();
        assert!(Kernel::all_available().contains(&few), "{kernel:?}");
        assert_eq!(few.for_few_blocks(), few);
        assert_eq!(kernel == Kernel::PORTABLE, few == Kernel::PORTABLE, "a wide kernel is no portable one");
        for blocks in 1..=5u128 {
            let mut out: Vec<u128> = (0..blocks).collect();
            Aes128::with_kernel(kernel, 7).encrypt_with(few, &mut out);
            assert_eq!(out, (0..blocks).map(|block| reference(7, block)).collect::<Vec<_>>(), "{kernel:?}");
        }
    }
}

#[test]
#[should_panic(expected = "each key must have")]
fn rows_of_the_wrong_size_are_refused() {
    ctr_rows(&[Aes128::new(1)], 0, &mut [0; 7], 8);
}

#[test]
fn lists_are_encrypted_each_under_its_key() {
    fn of<const N: usize>() {
        let keys: Vec<Aes128> = (0..5).map(Aes128::new).collect();
        let key_of = |k: usize| &keys[k * 3 % 5];
        for count in [0, 1, 2, 7, 30] {
            let blocks: Vec<[u128; N]> =
                (0..count).map(|k| std::array::from_fn(|i| (k * N + i) as u128 * 0x0123_4567_89ab)).collect();
            let mut expected = blocks.clone();
            expected.iter_mut().enumerate().for_each(|(k, list)| key_of(k).encrypt(list));
            for kernel in Kernel::all_available() {
                let mut lists = blocks.clone();
                encrypt_each_with(kernel, &mut lists, key_of);
                assert_eq!(lists, expected, "{kernel:?}");
            }
        }
    }
    of::<1>();
    of::<2>();
    of::<3>();
    of::<4>();
}
