//! Ways to double a block in registers.

use super::cipher::Carry;
use crate::vector::Vector;

/// The computation of 2A.
pub(super) trait Double: Copy {
    /// True if a token is known to fill its block, so that masks need not be cut off.
    const IS_LONG: bool = false;
    /// Constants in registers.
    type Constants<V: Vector>: Copy;
    /// Loads the constants into all blocks of registers.
    ///
    /// # Safety
    /// The machine has the features of `V`. This holds for all methods.
    unsafe fn constants<V: Vector>(self) -> Self::Constants<V>;
    /// Returns 2A.
    unsafe fn double<V: Vector>(constants: &Self::Constants<V>, a: V) -> V;
    /// Returns 4A.
    #[inline(always)]
    unsafe fn quadruple<V: Vector>(constants: &Self::Constants<V>, a: V) -> V {
        // SAFETY: guaranteed by the caller.
        unsafe { Self::double(constants, Self::double(constants, a)) }
    }
    /// Returns 2A ⊕ 4B.
    #[inline(always)]
    unsafe fn combine<V: Vector>(constants: &Self::Constants<V>, a: V, b: V) -> V {
        // SAFETY: guaranteed by the caller. Doubling is linear.
        unsafe { Self::double(constants, a.xor(Self::double(constants, b))) }
    }
}

/// Implements [`Doubling::None`].
#[derive(Clone, Copy)]
pub(super) struct Same;

impl Double for Same {
    type Constants<V: Vector> = ();
    #[inline(always)]
    unsafe fn constants<V: Vector>(self) {}
    #[inline(always)]
    unsafe fn double<V: Vector>((): &(), a: V) -> V {
        a
    }
}

#[derive(Clone, Copy)]
pub(super) struct HalvesRight;

impl Double for HalvesRight {
    const IS_LONG: bool = true;
    type Constants<V: Vector> = ();
    #[inline(always)]
    unsafe fn constants<V: Vector>(self) {}
    #[inline(always)]
    unsafe fn double<V: Vector>((): &(), a: V) -> V {
        // SAFETY: guaranteed by the caller.
        unsafe { a.right64::<1>() }
    }
    #[inline(always)]
    unsafe fn quadruple<V: Vector>((): &(), a: V) -> V {
        // SAFETY: guaranteed by the caller.
        unsafe { a.right64::<2>() }
    }
}

/// A [`Carry`] in registers, and the permutation that exchanges the halves of a block.
#[derive(Clone, Copy)]
pub(super) struct CarryOf<V> {
    exchange: V,
    test: V,
    value: V,
    keep: V,
}

impl<V: Vector> CarryOf<V> {
    /// # Safety
    /// The machine has the features of `V`. This holds for all methods.
    #[inline(always)]
    unsafe fn new(carry: Carry) -> Self {
        const EXCHANGE: u128 = 0x0706_0504_0302_0100_0f0e_0d0c_0b0a_0908;
        // SAFETY: guaranteed by the caller.
        unsafe {
            CarryOf {
                exchange: V::splat(EXCHANGE),
                test: V::splat(carry.test),
                value: V::splat(carry.value),
                keep: V::splat(carry.keep),
            }
        }
    }

    /// Adds the carries from `a` to the shifted value.
    #[inline(always)]
    unsafe fn add(&self, a: V, shifted: V) -> V {
        // SAFETY: guaranteed by the caller.
        unsafe { shifted.xor(a.shuffle(self.exchange).if_any(self.test, self.value)).and(self.keep) }
    }
}

#[derive(Clone, Copy)]
pub(super) struct LeftDoubling(pub Carry);

impl Double for LeftDoubling {
    type Constants<V: Vector> = CarryOf<V>;
    #[inline(always)]
    unsafe fn constants<V: Vector>(self) -> CarryOf<V> {
        // SAFETY: guaranteed by the caller.
        unsafe { CarryOf::new(self.0) }
    }
    #[inline(always)]
    unsafe fn double<V: Vector>(carry: &CarryOf<V>, a: V) -> V {
        // SAFETY: guaranteed by the caller.
        unsafe { carry.add(a, a.left64::<1>()) }
    }
}

#[derive(Clone, Copy)]
pub(super) struct Right(pub Carry);

impl Double for Right {
    type Constants<V: Vector> = CarryOf<V>;
    #[inline(always)]
    unsafe fn constants<V: Vector>(self) -> CarryOf<V> {
        // SAFETY: guaranteed by the caller.
        unsafe { CarryOf::new(self.0) }
    }
    #[inline(always)]
    unsafe fn double<V: Vector>(carry: &CarryOf<V>, a: V) -> V {
        // SAFETY: guaranteed by the caller.
        unsafe { carry.add(a, a.right64::<1>()) }
    }
}
