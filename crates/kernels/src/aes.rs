//! AES-128 for many blocks: encryption and counter mode.

use zeroize::{Zeroize, ZeroizeOnDrop};

use crate::Kernel;
use crate::vector::{Vector, VectorLoop};

/// An expanded AES-128 key, erased when dropped.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
#[repr(transparent)]
pub struct Aes128 {
    round_keys: [u128; 11],
}

impl Aes128 {
    /// Expands a key.
    pub fn new(key: u128) -> Self {
        Self::with_kernel(Kernel::best(), key)
    }

    /// Does the same as [`Aes128::new`] with a kernel of the caller's choice.
    pub fn with_kernel(kernel: Kernel, key: u128) -> Self {
        let mut expanded = Aes128 { round_keys: [0; 11] };
        kernel.run(Expand { keys: &[key], expanded: std::slice::from_mut(&mut expanded) });
        expanded
    }

    /// Expands several keys at once, which is faster than one by one; `expanded` is overwritten.
    pub fn expand_many(kernel: Kernel, keys: &[u128], expanded: &mut Vec<Aes128>) {
        expanded.resize(keys.len(), Aes128 { round_keys: [0; 11] });
        kernel.run(Expand { keys, expanded });
    }

    pub(crate) fn round_keys(&self) -> &[u128; 11] {
        &self.round_keys
    }

    pub(crate) fn four(keys: &[Aes128; 4]) -> &[[u128; 11]; 4] {
        // SAFETY: an `Aes128` consists of its round keys only.
        unsafe { &*std::ptr::from_ref(keys).cast() }
    }

    /// Encrypts every block in place.
    pub fn encrypt(&self, blocks: &mut [u128]) {
        self.encrypt_with(Kernel::best(), blocks);
    }

    /// Does the same as [`Aes128::encrypt`] with a kernel of the caller's choice.
    pub fn encrypt_with(&self, kernel: Kernel, blocks: &mut [u128]) {
        kernel.run(Encrypt { key: self, blocks });
    }

    /// Writes the encryptions of `counter`, `counter + 1`, … (modulo 2^128): counter mode.
    pub fn ctr(&self, counter: u128, out: &mut [u128]) {
        self.ctr_with(Kernel::best(), counter, out);
    }

    /// Does the same as [`Aes128::ctr`] with a kernel of the caller's choice.
    pub fn ctr_with(&self, kernel: Kernel, counter: u128, out: &mut [u128]) {
        let blocks_per_row = out.len();
        if blocks_per_row > 0 {
            ctr_rows_with(kernel, std::slice::from_ref(self), counter, out, blocks_per_row);
        }
    }
}

impl std::fmt::Debug for Aes128 {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Aes128(secret)")
    }
}

/// Encrypts in counter mode under many keys. Row `r` of `out` has `blocks_per_row` blocks, which are counter
/// mode under `keys[r]` from `counter` on.
///
/// # Panics
/// If `out` does not have `blocks_per_row` blocks for each key.
pub fn ctr_rows(keys: &[Aes128], counter: u128, out: &mut [u128], blocks_per_row: usize) {
    ctr_rows_with(Kernel::best(), keys, counter, out, blocks_per_row);
}

/// Does the same as [`ctr_rows`] with a kernel of the caller's choice.
///
/// # Panics
/// As [`ctr_rows`].
pub fn ctr_rows_with(
    kernel: Kernel,
    keys: &[Aes128],
    counter: u128,
    out: &mut [u128],
    blocks_per_row: usize,
) {
    assert_eq!(
        Some(out.len()),
        keys.len().checked_mul(blocks_per_row),
        "each key must have {blocks_per_row} output blocks"
    );
    if blocks_per_row > 0 {
        kernel.run(CtrRows { keys, counter, out, blocks_per_row });
    }
}

/// Encrypts lists of at most four blocks in place. The key of `blocks[k]` is `key_of(k)`.
pub fn encrypt_each<'a, const N: usize>(blocks: &mut [[u128; N]], key_of: impl Fn(usize) -> &'a Aes128) {
    encrypt_each_with(Kernel::best(), blocks, key_of);
}

/// Does the same as [`encrypt_each`] with a kernel of the caller's choice.
pub fn encrypt_each_with<'a, const N: usize>(
    kernel: Kernel,
    blocks: &mut [[u128; N]],
    key_of: impl Fn(usize) -> &'a Aes128,
) {
    const { assert!(N <= 4, "N must be at most the number of blocks of the widest register") };
    kernel.run(EncryptEach { blocks, key_of });
}

struct EncryptEach<'b, K, const N: usize> {
    blocks: &'b mut [[u128; N]],
    key_of: K,
}

impl<'a, K: Fn(usize) -> &'a Aes128, const N: usize> VectorLoop for EncryptEach<'_, K, N> {
    type Output = ();
    #[inline(always)]
    unsafe fn run<V: Vector>(self) {
        let zero = 0;
        let mut nowhere = 0;
        let nowhere = &raw mut nowhere;
        for (k, blocks) in self.blocks.iter_mut().enumerate() {
            let round_keys = (self.key_of)(k).round_keys();
            let at = blocks.as_mut_ptr();
            // SAFETY: the caller guarantees the features of `V`; there are `N` blocks.
            unsafe {
                let keys = V::keys(round_keys);
                for first in (0..N).step_by(V::BLOCKS) {
                    let from = |i: usize| if first + i < N { at.add(first + i).cast_const() } else { &zero };
                    let to = |i: usize| if first + i < N { at.add(first + i) } else { nowhere };
                    let [encrypted] = V::encrypt(&keys, [V::gather(from)]);
                    encrypted.scatter(to);
                }
            }
        }
        // SAFETY: `nowhere` is the variable above. The write erases an encryption of 0.
        unsafe { nowhere.write_volatile(0) };
    }
}

struct Expand<'a> {
    keys: &'a [u128],
    expanded: &'a mut [Aes128],
}

impl VectorLoop for Expand<'_> {
    type Output = ();
    #[inline(always)]
    unsafe fn run<V: Vector>(self) {
        // Two registers of keys are expanded at a time, because a key schedule is a chain of dependent steps.
        let keys = self.keys.chunks(2 * V::BLOCKS);
        for (keys, expanded) in keys.zip(self.expanded.chunks_mut(2 * V::BLOCKS)) {
            let mut lanes = [[0u128; 8]; 11];
            lanes[0][..keys.len()].copy_from_slice(keys);
            // SAFETY: the caller guarantees the features of `V`; two registers have at most eight blocks.
            unsafe {
                let at = lanes[0].as_ptr();
                let mut pair = [V::load(at), V::load(at.add(V::BLOCKS))];
                let mut round_constant = 1u8;
                for lanes in &mut lanes[1..] {
                    let to = lanes.as_mut_ptr();
                    for (i, keys) in pair.iter_mut().enumerate() {
                        *keys = keys.next_round_key(round_constant);
                        keys.store(to.add(i * V::BLOCKS));
                    }
                    round_constant = (round_constant << 1) ^ ((round_constant >> 7) * 0x1b);
                }
            }
            for (k, key) in expanded.iter_mut().enumerate() {
                key.round_keys = std::array::from_fn(|r| lanes[r][k]);
            }
            lanes.zeroize();
        }
    }
}

struct Encrypt<'a> {
    key: &'a Aes128,
    blocks: &'a mut [u128],
}

/// Encrypts `M` registers at a time, so that independent chains fill the AES unit. Returns the rest.
#[inline(always)]
unsafe fn encrypt_runs<'a, V: Vector, const M: usize>(
    keys: &V::Keys,
    blocks: &'a mut [u128],
) -> &'a mut [u128] {
    let mut runs = blocks.chunks_exact_mut(M * V::BLOCKS);
    for run in &mut runs {
        let at = run.as_mut_ptr();
        // SAFETY: the caller guarantees the features of `V`; a run has `M * V::BLOCKS` blocks.
        unsafe {
            let encrypted =
                V::encrypt(keys, std::array::from_fn::<V, M, _>(|i| V::load(at.add(i * V::BLOCKS))));
            for (i, x) in encrypted.into_iter().enumerate() {
                x.store(at.add(i * V::BLOCKS));
            }
        }
    }
    runs.into_remainder()
}

impl VectorLoop for Encrypt<'_> {
    type Output = ();
    #[inline(always)]
    unsafe fn run<V: Vector>(self) {
        // SAFETY: the caller guarantees the features of `V`; `padded` has at least `V::BLOCKS` blocks.
        unsafe {
            let keys = V::keys(&self.key.round_keys);
            let rest = encrypt_runs::<V, 8>(&keys, self.blocks);
            let rest = encrypt_runs::<V, 1>(&keys, rest);
            if !rest.is_empty() {
                let mut padded = [0; 8];
                padded[..rest.len()].copy_from_slice(rest);
                encrypt_runs::<V, 1>(&keys, &mut padded[..V::BLOCKS]);
                rest.copy_from_slice(&padded[..rest.len()]);
                padded.zeroize();
            }
        }
    }
}

struct CtrRows<'a> {
    keys: &'a [Aes128],
    counter: u128,
    out: &'a mut [u128],
    blocks_per_row: usize,
}

/// Writes the encryptions of `counters` and advances these, `M` registers at a time. Returns the rest.
#[inline(always)]
unsafe fn ctr_runs<'a, V: Vector, const M: usize>(
    keys: &V::Keys,
    counters: &mut V,
    out: &'a mut [u128],
) -> &'a mut [u128] {
    let mut runs = out.chunks_exact_mut(M * V::BLOCKS);
    for run in &mut runs {
        let at = run.as_mut_ptr();
        // SAFETY: the caller guarantees the features of `V`; a run has `M * V::BLOCKS` blocks.
        unsafe {
            let mut blocks = [*counters; M];
            for block in &mut blocks {
                *block = *counters;
                *counters = counters.add_low(V::BLOCKS as u64);
            }
            for (i, x) in V::encrypt(keys, blocks).into_iter().enumerate() {
                x.store(at.add(i * V::BLOCKS));
            }
        }
    }
    runs.into_remainder()
}

/// Fills `out` with the encryptions of `counters` and of the numbers after them.
#[inline(always)]
unsafe fn ctr_stretch<V: Vector>(keys: &V::Keys, mut counters: V, out: &mut [u128]) {
    // SAFETY: the caller guarantees the features of `V`; `padded` has at least `V::BLOCKS` blocks.
    unsafe {
        let rest = ctr_runs::<V, 8>(keys, &mut counters, out);
        let rest = ctr_runs::<V, 2>(keys, &mut counters, rest);
        let rest = ctr_runs::<V, 1>(keys, &mut counters, rest);
        if !rest.is_empty() {
            let mut padded = [0; 8];
            ctr_runs::<V, 1>(keys, &mut counters, &mut padded[..V::BLOCKS]);
            rest.copy_from_slice(&padded[..rest.len()]);
            padded.zeroize();
        }
    }
}

impl VectorLoop for CtrRows<'_> {
    type Output = ();
    #[inline(always)]
    unsafe fn run<V: Vector>(self) {
        // A stretch ends where the low half of the counter wraps around, because `add_low` has no carry.
        let until_wrap = (1u128 << 64) - u128::from(self.counter as u64);
        let first = usize::try_from(until_wrap).map_or(self.blocks_per_row, |n| n.min(self.blocks_per_row));
        let wrapped = self.counter.wrapping_add(until_wrap);
        let lanes = |counter: u128| std::array::from_fn::<u128, 8, _>(|i| counter.wrapping_add(i as u128));
        let (before, after) = (lanes(self.counter), lanes(wrapped));
        // SAFETY: the caller guarantees the features of `V`; the arrays have at least `V::BLOCKS` blocks.
        unsafe {
            let (before, after) = (V::load(before.as_ptr()), V::load(after.as_ptr()));
            for (key, row) in self.keys.iter().zip(self.out.chunks_exact_mut(self.blocks_per_row)) {
                let keys = V::keys(&key.round_keys);
                let (stretch, wrapped) = row.split_at_mut(first);
                ctr_stretch(&keys, before, stretch);
                if !wrapped.is_empty() {
                    ctr_stretch(&keys, after, wrapped);
                }
            }
        }
    }
}
