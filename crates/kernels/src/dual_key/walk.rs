//! The part that both parties' walks through a script share.

use super::cipher::{DualKey, Gates};
use super::double::Double;
use crate::Aes128;
use crate::garble::Hash;
use crate::script::{And, Xor};
use crate::vector::Vector;

/// The registers of both walks. Tokens are read and written through `tokens`, which has `EACH` registers for
/// a slot.
#[derive(Clone, Copy)]
pub(super) struct Walk<'a, V: Vector, D: Double, const EACH: usize> {
    pub gates: Gates<'a>,
    pub tokens: *mut u128,
    /// Round keys of π, those of each copy for its block.
    pub permutations: V::Keys,
    pub doubling: D::Constants<V>,
    pub token: V,
    pub last: V,
    pub byte_of_last: V,
    /// Bit 0 of every byte.
    pub ones: V,
}

impl<'a, V: Vector, D: Double, const EACH: usize> Walk<'a, V, D, EACH> {
    /// Loads the constants of the cipher into all lanes of the registers.
    ///
    /// # Safety
    /// The machine has the features of `V`; so for all methods.
    #[inline(always)]
    pub unsafe fn new(
        gates: Gates<'a>,
        cipher: DualKey,
        doubling: D,
        tokens: *mut u128,
        permutations: [&Aes128; 4],
    ) -> Self {
        // SAFETY: as the caller vouches.
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

    /// Returns where the tokens of a slot are.
    ///
    /// # Safety
    /// The slot is one of the script's; so for all methods.
    #[inline(always)]
    pub unsafe fn slot(&self, slot: u32) -> *mut u128 {
        // SAFETY: as the caller vouches.
        unsafe { self.tokens.add(slot as usize * EACH * V::BLOCKS) }
    }

    #[inline(always)]
    pub unsafe fn load(&self, slot: u32) -> V {
        // SAFETY: as the caller vouches.
        unsafe { V::load(self.slot(slot)) }
    }

    /// Loads both tokens of a slot.
    #[inline(always)]
    pub unsafe fn load_both(&self, slot: u32) -> [V; 2] {
        const { assert!(EACH == 2) };
        // SAFETY: as the caller vouches.
        unsafe {
            let at = self.slot(slot);
            [V::load(at), V::load(at.add(V::BLOCKS))]
        }
    }

    #[inline(always)]
    pub unsafe fn types(&self, tokens: V) -> V::Mask {
        // SAFETY: as the caller vouches.
        unsafe { tokens.colours_at(self.byte_of_last, self.ones) }
    }

    #[inline(always)]
    pub unsafe fn xors(&self, steps: &[Xor]) {
        for step in steps {
            // SAFETY: as the caller vouches.
            unsafe { self.load(step.a).xor(self.load(step.b)).store(self.slot(step.out)) }
        }
    }

    #[inline(always)]
    pub unsafe fn tweak(&self, gate: usize) -> V {
        // SAFETY: as the caller vouches; `check` has seen that there is a tweak for each gate.
        unsafe { V::load_splat(self.gates.tweaks.as_ptr().add(gate)) }
    }

    #[inline(always)]
    pub unsafe fn function(&self, gate: usize) -> usize {
        // SAFETY: `check` has seen that there is a function for each gate.
        unsafe { usize::from(*self.gates.functions.get_unchecked(gate)) }
    }

    /// Returns the token's part of a block.
    #[inline(always)]
    pub unsafe fn token(&self, block: V) -> V {
        // SAFETY: as the caller vouches.
        if D::IS_LONG { block } else { unsafe { block.and(self.token) } }
    }

    /// Masks of `H` keys: ρ(K) = π(K) ⊕ K, of which a token is cut off.
    #[inline(always)]
    pub unsafe fn masks<const H: usize>(&self, keys: [V; H]) -> [V; H] {
        // SAFETY: as the caller vouches.
        unsafe {
            let mut masks = V::encrypt(&self.permutations, keys);
            for (mask, key) in masks.iter_mut().zip(keys) {
                *mask = self.token(mask.xor(key));
            }
            masks
        }
    }
}

/// The dual-key cipher with an empty second key, as half-gates hash a label.
impl<V: Vector, D: Double, const EACH: usize> Hash<V> for &Walk<'_, V, D, EACH> {
    #[inline(always)]
    unsafe fn prepare(self, label: V) -> V {
        // SAFETY: as the caller vouches.
        unsafe { D::double(&self.doubling, label) }
    }

    #[inline(always)]
    unsafe fn cut(self, sum: V) -> V {
        // SAFETY: as the caller vouches.
        unsafe { self.token(sum) }
    }

    #[inline(always)]
    unsafe fn colours(self, labels: V) -> V::Mask {
        // SAFETY: as the caller vouches.
        unsafe { self.types(labels) }
    }
}

/// Takes `N` items off the front, if there are as many.
#[inline(always)]
pub(super) fn take<'a, const N: usize>(items: &mut &'a [And]) -> Option<&'a [And; N]> {
    let (first, rest) = items.split_first_chunk()?;
    *items = rest;
    Some(first)
}

/// Writes a function that is not linear as an AND of its inputs with some of them and the result negated:
/// f(a, b) = (a ⊕ y)(b ⊕ x) ⊕ z. Returns y, x and z.
#[inline(always)]
pub(super) fn negations(function: usize) -> [usize; 3] {
    let (c, x, y) = (function & 1, (function ^ function >> 2) & 1, (function ^ function >> 1) & 1);
    [y, x, x & y ^ c]
}
