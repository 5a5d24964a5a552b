//! Leaky ANDs.

use brickwork_kernels::{Aes128, Kernel, LeakyHash, MaskWords, leaky_ciphertexts, leaky_sums};

#[test]
fn words_are_those_of_the_formulas() {
    let mut state = 1u128;
    let mut next = || {
        state = state.wrapping_mul(0x2d99_787f_926d_4693_2da9_42f9_b2a5_3d5d).wrapping_add(0x9e37_79b9);
        state ^ state >> 61
    };
    let sigma = |v: u128| ((v >> 64) ^ v & u128::from(u64::MAX)) << 64 | v >> 64;
    for count in [0, 1, 7, 16, 33, 100] {
        let delta = next() | 1;
        let mut words = |keep: u128| -> Vec<u128> { (0..count).map(|_| next() & keep).collect() };
        let [tweaks, x_macs, y_macs, r_macs, theirs] = [(); 5].map(|()| words(u128::MAX));
        let [x_keys, y_keys, r_keys] = [(); 3].map(|()| words(!1));
        let (y, r) = (MaskWords { keys: &y_keys, macs: &y_macs }, MaskWords { keys: &r_keys, macs: &r_macs });
        let key = Aes128::new(next());
        let h = |v: u128, j: usize| {
            let q = sigma(v) ^ tweaks[j];
            let mut block = [q];
            key.encrypt_with(Kernel::PORTABLE, &mut block);
            block[0] ^ q
        };
        let word = |masks: MaskWords<'_>, j: usize| {
            masks.keys[j] ^ masks.macs[j] ^ ((masks.macs[j] & 1) * (delta & !1))
        };
        for kernel in Kernel::all_available() {
            let hash = LeakyHash { key: &key, tweaks: &tweaks };
            let (mut ciphertexts, mut kept) = (vec![0; count], vec![0; count]);
            leaky_ciphertexts(kernel, hash, delta, &x_keys, [y, r], &mut ciphertexts, &mut kept);
            let before = kept.clone();
            leaky_sums(kernel, hash, delta, &x_macs, y, &theirs, &mut kept);
            for j in 0..count {
                let zero = h(x_keys[j], j);
                assert_eq!(ciphertexts[j], zero ^ h(x_keys[j] ^ delta, j) ^ word(y, j), "{kernel:?} {j}");
                assert_eq!(before[j], zero ^ word(r, j), "{kernel:?} {j}");
                let chosen = (x_macs[j] & 1) * (theirs[j] ^ word(y, j));
                assert_eq!(kept[j], h(x_macs[j], j) ^ before[j] ^ chosen, "{kernel:?} {j}");
            }
        }
    }
}
