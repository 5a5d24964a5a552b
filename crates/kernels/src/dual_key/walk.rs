//! The code that both parties share for processing a circuit.

use super::cipher::{DualKey, LoopGates};
use super::double::Double;
use crate::Aes128;
use crate::garble::Hash;
use crate::script::{And, Xor};
use crate::vector::Vector;

/// The registers of a walk. Tokens are read and written through `tokens`, in which each slot has `EACH`
/// registers.
#[derive(Clone, Copy)]
pub(super) struct Walk<'a, V: Vector, D: Double, const EACH: usize> {
    pub gates: LoopGates<'a>,
    pub tokens: *mut u128,
    /// The round keys of π; each block of a register has the key of its own copy.
    pub permutations: V::Keys,
    pub doubling: D::Constants<V>,
    pub token: V,
    pub last: V,
    pub byte_of_last: V,
    /// A register with bit 0 of every byte set.
    pub ones: V,
}

impl<'a, V: Vector, D: Double, const EACH: usize> Walk<'a, V, D, EACH> {
    /// Loads the constants of the cipher into all blocks of registers.
    ///
    /// # Safety
    /// The machine has the features of `V`. This holds for all methods.
    #[inline(always)]
    pub unsafe fn new(
        gates: LoopGates<'a>,
        cipher: DualKey,
        doubling: D,
        tokens: *mut u128,
        permutations: [&Aes128; 4],
    ) -> Self {
        // SAFETY: guaranteed by the caller.
        unsafe {
            Walk {
                gates,
                tokens,
                permutations: V::keys_of_blocks(|block| permutations[block].round_keys()),
                doubling: doubling.constants(),
                token: V::splat(cipher.token()),
                last: V::splat(cipher.last()),
                byte_of_last: V::splat(cipher.byte_of_last()),
                ones: V::splat(std::hint::black_box(u128::MAX / 255)),
            }
        }
    }

    /// Returns the position of a slot's tokens.
    ///
    /// # Safety
    /// The slot belongs to the script. This holds for all methods.
    #[inline(always)]
    pub unsafe fn slot(&self, slot: u32) -> *mut u128 {
        // SAFETY: guaranteed by the caller.
        unsafe { self.tokens.add(slot as usize * EACH * V::BLOCKS) }
    }

    #[inline(always)]
    pub unsafe fn load(&self, slot: u32) -> V {
        // SAFETY: guaranteed by the caller.
        unsafe { V::load(self.slot(slot)) }
    }

    /// Loads both tokens of a slot.
    #[inline(always)]
    pub unsafe fn load_both(&self, slot: u32) -> [V; 2] {
        const { assert!(EACH == 2) };
        // SAFETY: guaranteed by the caller.
        unsafe {
            let at = self.slot(slot);
            [V::load(at), V::load(at.add(V::BLOCKS))]
        }
    }

    #[inline(always)]
    pub unsafe fn types(&self, tokens: V) -> V::Mask {
        // SAFETY: guaranteed by the caller.
        unsafe { tokens.colours_at(self.byte_of_last, self.ones) }
    }

    #[inline(always)]
    pub unsafe fn xors(&self, steps: &[Xor]) {
        for step in steps {
            // SAFETY: guaranteed by the caller.
            unsafe { self.load(step.a).xor(self.load(step.b)).store(self.slot(step.out)) }
        }
    }

    #[inline(always)]
    pub unsafe fn tweak(&self, gate: usize) -> V {
        // SAFETY: guaranteed by the caller; `check` has verified that there is a tweak for each gate.
        unsafe { V::load_splat(self.gates.tweaks.as_ptr().add(gate)) }
    }

    #[inline(always)]
    pub unsafe fn function(&self, gate: usize) -> usize {
        // SAFETY: `check` has verified that there is a function for each gate.
        unsafe { usize::from(*self.gates.functions.get_unchecked(gate)) }
    }

    /// Clears the bits of a block that do not belong to a token.
    #[inline(always)]
    pub unsafe fn token(&self, block: V) -> V {
        // SAFETY: guaranteed by the caller.
        if D::IS_LONG { block } else { unsafe { block.and(self.token) } }
    }

    /// Returns the masks of `H` keys: the token's bits of ρ(K) = π(K) ⊕ K.
    #[inline(always)]
    pub unsafe fn masks<const H: usize>(&self, keys: [V; H]) -> [V; H] {
        // SAFETY: guaranteed by the caller.
        unsafe {
            let mut masks = V::encrypt(&self.permutations, keys);
            for (mask, key) in masks.iter_mut().zip(keys) {
                *mask = self.token(mask.xor(key));
            }
            masks
        }
    }
}

/// The dual-key cipher with an empty second key, with which half-gates hash a label.
impl<V: Vector, D: Double, const EACH: usize> Hash<V> for &Walk<'_, V, D, EACH> {
    #[inline(always)]
    unsafe fn prepare(self, label: V) -> V {
        // SAFETY: guaranteed by the caller.
        unsafe { D::double(&self.doubling, label) }
    }

    #[inline(always)]
    unsafe fn cut(self, sum: V) -> V {
        // SAFETY: guaranteed by the caller.
        unsafe { self.token(sum) }
    }

    #[inline(always)]
    unsafe fn colours(self, labels: V) -> V::Mask {
        // SAFETY: guaranteed by the caller.
        unsafe { self.types(labels) }
    }
}

/// Removes `N` items from the front, if there are as many.
#[inline(always)]
pub(super) fn take<'a, const N: usize>(items: &mut &'a [And]) -> Option<&'a [And; N]> {
    let (first, rest) = items.split_first_chunk()?;
    *items = rest;
    Some(first)
}

/// Returns a function that is not linear in the form of an AND gate with negations: f(a, b) = (a ⊕ y)(b ⊕ x)
/// ⊕ z. Returns y, x and z.
#[inline(always)]
pub(super) fn negations(function: usize) -> [usize; 3] {
    let (c, x, y) = (function & 1, (function ^ function >> 2) & 1, (function ^ function >> 1) & 1);
    [y, x, x & y ^ c]
}
