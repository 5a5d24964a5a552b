//! The loops of leaky ANDs. They compute a party's ciphertexts from its words of authenticated masks, and
//! sums that must be equal at both parties (`brickwork-authenticated`, module `leaky`).
//!
//! Masks are two arrays, keys K and macs M. K ends in 0, and M ends in the party's bit b. The hash is `H(v) =
//! AES_k(q) ⊕ q` with `q = σ(v) ⊕ i`, where i is the tweak at the value's place; ⌊Δ⌋ is the offset without
//! its last bit. A mask's *word* is `K ⊕ M ⊕ b·⌊Δ⌋`, which ends in b.

use crate::vector::{Vector, VectorLoop};
use crate::{Aes128, Kernel};

/// The number of registers that are processed together. There are two AES computations for each register of
/// ciphertexts.
const FLIGHT: usize = 4;

/// The keys and macs of some masks.
#[derive(Clone, Copy)]
pub struct MaskWords<'a> {
    /// The keys K.
    pub keys: &'a [u128],
    /// The macs M.
    pub macs: &'a [u128],
}

/// The parameters of one hash of leaky ANDs.
#[derive(Clone, Copy)]
pub struct LeakyHash<'a> {
    /// The key of all hashes.
    pub key: &'a Aes128,
    /// The tweak of each hash.
    pub tweaks: &'a [u128],
}

/// Computes a party's ciphertexts `H(K_x) ⊕ H(K_x ⊕ Δ) ⊕ word(y)`, and the words `H(K_x) ⊕ word(r)`, which
/// the party keeps. `delta` ends in 1.
///
/// # Panics
/// Panics if the lists differ in length.
pub fn leaky_ciphertexts(
    kernel: Kernel,
    hash: LeakyHash<'_>,
    delta: u128,
    x_keys: &[u128],
    [y, r]: [MaskWords<'_>; 2],
    ciphertexts: &mut [u128],
    kept: &mut [u128],
) {
    let count = hash.tweaks.len();
    let of_masks = [y.keys, y.macs, r.keys, r.macs, x_keys].iter().all(|words| words.len() == count);
    assert!(
        of_masks && ciphertexts.len() == count && kept.len() == count,
        "each list must have {count} elements"
    );
    kernel.run(Ciphertexts { hash, delta, x_keys, y, r, ciphertexts, kept });
}

/// Computes a party's sums from its kept words: `H(M_x) ⊕ kept ⊕ b_x·(theirs ⊕ word(y))`. H is the peer's
/// hash, and `theirs` has the peer's ciphertexts. The sums overwrite the kept words.
///
/// # Panics
/// As [`leaky_ciphertexts`].
pub fn leaky_sums(
    kernel: Kernel,
    hash: LeakyHash<'_>,
    delta: u128,
    x_macs: &[u128],
    y: MaskWords<'_>,
    theirs: &[u128],
    kept: &mut [u128],
) {
    let count = hash.tweaks.len();
    let of_masks = [y.keys, y.macs, x_macs, theirs].iter().all(|words| words.len() == count);
    assert!(of_masks && kept.len() == count, "each list must have {count} elements");
    kernel.run(Sums { hash, delta, x_macs, y, theirs, kept });
}

/// Returns the words of the masks from number `at` on.
///
/// # Safety
/// The machine has the features of `V`, and there are `V::BLOCKS` masks from there on.
#[inline(always)]
unsafe fn word<V: Vector>(masks: MaskWords<'_>, at: usize, floor: V) -> V {
    // SAFETY: guaranteed by the caller.
    unsafe {
        let (key, mac) = (V::load(masks.keys.as_ptr().add(at)), V::load(masks.macs.as_ptr().add(at)));
        key.xor(mac).xor_if(mac.colours(), floor)
    }
}

struct Ciphertexts<'a> {
    hash: LeakyHash<'a>,
    delta: u128,
    x_keys: &'a [u128],
    y: MaskWords<'a>,
    r: MaskWords<'a>,
    ciphertexts: &'a mut [u128],
    kept: &'a mut [u128],
}

impl Ciphertexts<'_> {
    /// Computes the ciphertexts of `N` registers from number `at` on. `H` is 2 · `N`.
    ///
    /// # Safety
    /// The machine has the features of `V`, and all lists have `N * V::BLOCKS` elements from `at` on.
    #[inline(always)]
    unsafe fn some<V: Vector, const N: usize, const H: usize>(&mut self, at: usize, key: &V::Keys) {
        const { assert!(H == 2 * N) };
        // SAFETY: guaranteed by the caller.
        unsafe {
            let (sigma_delta, floor) = (V::splat(self.delta).sigma(), V::splat(self.delta & !1));
            let mut inputs = [V::splat(0); H];
            for n in 0..N {
                let at = at + n * V::BLOCKS;
                let q = V::load(self.x_keys.as_ptr().add(at)).sigma();
                let q = q.xor(V::load(self.hash.tweaks.as_ptr().add(at)));
                (inputs[n], inputs[N + n]) = (q, q.xor(sigma_delta));
            }
            let outputs = V::encrypt(key, inputs);
            for n in 0..N {
                let at = at + n * V::BLOCKS;
                let (y, r) = (word(self.y, at, floor), word(self.r, at, floor));
                let ciphertext = outputs[n].xor3(outputs[N + n], sigma_delta).xor(y);
                ciphertext.store(self.ciphertexts.as_mut_ptr().add(at));
                outputs[n].xor3(inputs[n], r).store(self.kept.as_mut_ptr().add(at));
            }
        }
    }
}

impl VectorLoop for Ciphertexts<'_> {
    type Output = ();
    #[inline(always)]
    unsafe fn run<V: Vector>(mut self) {
        let (count, mut at) = (self.hash.tweaks.len(), 0);
        // SAFETY: the caller guarantees the features of `V`; all slices have `count` elements.
        unsafe {
            let key = V::keys(self.hash.key.round_keys());
            while at + FLIGHT * V::BLOCKS <= count {
                self.some::<V, FLIGHT, { 2 * FLIGHT }>(at, &key);
                at += FLIGHT * V::BLOCKS;
            }
            let key = V::One::keys(self.hash.key.round_keys());
            while at < count {
                self.some::<V::One, 1, 2>(at, &key);
                at += 1;
            }
        }
    }
}

struct Sums<'a> {
    hash: LeakyHash<'a>,
    delta: u128,
    x_macs: &'a [u128],
    y: MaskWords<'a>,
    theirs: &'a [u128],
    kept: &'a mut [u128],
}

impl Sums<'_> {
    /// Computes the sums of `N` registers from number `at` on.
    ///
    /// # Safety
    /// As for [`Ciphertexts::some`].
    #[inline(always)]
    unsafe fn some<V: Vector, const N: usize>(&mut self, at: usize, key: &V::Keys) {
        // SAFETY: guaranteed by the caller.
        unsafe {
            let floor = V::splat(self.delta & !1);
            let mut inputs = [V::splat(0); N];
            for (n, input) in inputs.iter_mut().enumerate() {
                let at = at + n * V::BLOCKS;
                let q = V::load(self.x_macs.as_ptr().add(at)).sigma();
                *input = q.xor(V::load(self.hash.tweaks.as_ptr().add(at)));
            }
            let outputs = V::encrypt(key, inputs);
            for n in 0..N {
                let at = at + n * V::BLOCKS;
                let kept = self.kept.as_mut_ptr().add(at);
                let chosen = V::load(self.theirs.as_ptr().add(at)).xor(word(self.y, at, floor));
                let bits = V::load(self.x_macs.as_ptr().add(at)).colours();
                outputs[n].xor3(inputs[n], V::load(kept)).xor_if(bits, chosen).store(kept);
            }
        }
    }
}

impl VectorLoop for Sums<'_> {
    type Output = ();
    #[inline(always)]
    unsafe fn run<V: Vector>(mut self) {
        let (count, mut at) = (self.hash.tweaks.len(), 0);
        // SAFETY: as for `Ciphertexts`.
        unsafe {
            let key = V::keys(self.hash.key.round_keys());
            while at + 2 * FLIGHT * V::BLOCKS <= count {
                self.some::<V, { 2 * FLIGHT }>(at, &key);
                at += 2 * FLIGHT * V::BLOCKS;
            }
            let key = V::One::keys(self.hash.key.round_keys());
            while at < count {
                self.some::<V::One, 1>(at, &key);
                at += 1;
            }
        }
    }
}
