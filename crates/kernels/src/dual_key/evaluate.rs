//! Ev: evaluates a circuit gate by gate.

use std::marker::PhantomData;

use super::cipher::{DualKey, LoopGates};
use super::double::Double;
use super::garble::{HalfGatesRows, PrivacyFree};
use super::walk::{Walk, negations, take};
use crate::Aes128;
use crate::garble::{self, AHEAD};
use crate::script::{And, SECTION};
use crate::vector::{Vector, VectorLoop, prefetch};

pub(super) struct EvaluateLoop<'a, D, S> {
    pub gates: LoopGates<'a>,
    pub cipher: DualKey,
    pub permutations: [&'a Aes128; 4],
    pub tokens: *mut u128,
    pub rows: [*const u128; 4],
    pub doubling: D,
    pub style: PhantomData<S>,
}

impl<'a> EvaluateLoop<'a, (), ()> {
    /// Returns the same loop for a doubling and a style.
    pub fn of<D, S>(self, doubling: D, _: S) -> EvaluateLoop<'a, D, S> {
        let EvaluateLoop { gates, cipher, permutations, tokens, rows, .. } = self;
        EvaluateLoop { gates, cipher, permutations, tokens, rows, doubling, style: PhantomData }
    }
}

/// The registers of an evaluator, in addition to [`Walk`].
pub(super) struct EvaluatorRegisters<'a, V: Vector, D: Double> {
    walk: Walk<'a, V, D, 1>,
    rows: [*const u128; 4],
}

pub(super) trait EvaluateStyle {
    /// The number of rows of a gate, as in [`Style::rows`].
    const ROWS: usize;
    /// Evaluates `N` gates of a layer, in the section that begins with gate `first`. `H` is `2 N`.
    ///
    /// # Safety
    /// The machine has the features of `V`; the gates are those of a layer of the script.
    unsafe fn gates<V: Vector, D: Double, const N: usize, const H: usize>(
        evaluator: &EvaluatorRegisters<'_, V, D>,
        ands: &[And; N],
        first: usize,
    );
}

impl<D: Double, S: EvaluateStyle> VectorLoop for EvaluateLoop<'_, D, S> {
    type Output = ();
    #[inline(always)]
    unsafe fn run<V: Vector>(self) {
        let EvaluateLoop { gates, cipher, permutations, tokens, rows, doubling, style: _ } = self;
        // The rows are prefetched, because they are read in an order that the machine does not foresee, and
        // may not be in the cache.
        let fetch = |gate: usize| {
            rows[..V::BLOCKS].iter().for_each(|rows| prefetch(rows.wrapping_add(S::ROWS * gate).cast()))
        };
        // SAFETY: as in `Garble`.
        unsafe {
            let walk = Walk::<V, D, 1>::new(gates, cipher, doubling, tokens, permutations);
            let evaluator = EvaluatorRegisters { walk, rows };
            for section in 0..gates.script.sections() {
                let first = section * SECTION;
                let ands = gates.script.section_ands(section);
                let (soon, later) = ands.split_at_checked(AHEAD).unwrap_or((ands, &[]));
                soon.iter().for_each(|and| fetch(first + and.gate as usize));
                let mut later = later.iter();
                for layer in gates.script.layers(section) {
                    // The number of gates at a time, so that independent AES chains fill the unit.
                    for (xors, ands) in layer.shares(if V::BLOCKS == 4 { 4 } else { 8 }) {
                        later.by_ref().take(ands.len()).for_each(|and| fetch(first + and.gate as usize));
                        evaluator.walk.xors(xors);
                        let mut rest = ands;
                        if const { V::BLOCKS < 4 }
                            && let Some(eight) = take::<8>(&mut rest)
                        {
                            S::gates::<V, D, 8, 16>(&evaluator, eight, first);
                        }
                        if const { V::BLOCKS == 4 }
                            && let Some(four) = take::<4>(&mut rest)
                        {
                            S::gates::<V, D, 4, 8>(&evaluator, four, first);
                        }
                        while let Some(one) = take::<1>(&mut rest) {
                            S::gates::<V, D, 1, 2>(&evaluator, one, first);
                        }
                    }
                }
            }
        }
    }
}

/// Evaluates Ga and GaX, and with one row less GaXR.
pub(super) struct EvaluatedRows<const REDUCED: bool>;

impl<const REDUCED: bool> EvaluateStyle for EvaluatedRows<REDUCED> {
    const ROWS: usize = 4 - REDUCED as usize;
    #[inline(always)]
    unsafe fn gates<V: Vector, D: Double, const N: usize, const H: usize>(
        evaluator: &EvaluatorRegisters<'_, V, D>,
        ands: &[And; N],
        first: usize,
    ) {
        let walk = &evaluator.walk;
        // SAFETY: guaranteed by the caller.
        unsafe {
            let (mut keys, mut rows) = ([V::splat(0); N], [V::splat(0); N]);
            for (n, and) in ands.iter().enumerate() {
                let gate = first + and.gate as usize;
                let (a, b) = (walk.load(and.a), walk.load(and.b));
                let key = D::combine(&walk.doubling, a, b).xor(walk.tweak(gate));
                // The types of tokens may select an address. An evaluator sees only the type of a wire, which
                // reveals nothing about its bit.
                let from = |lane: usize| evaluator.rows[lane].add((4 - usize::from(REDUCED)) * gate);
                (keys[n], rows[n]) = (key, V::choose::<REDUCED>(a, b, walk.last, from).xor(walk.token(key)));
            }
            let encrypted = V::encrypt(&walk.permutations, keys);
            for (n, and) in ands.iter().enumerate() {
                // The mask π(K) ⊕ K, plus the row.
                walk.token(encrypted[n]).xor(rows[n]).store(walk.slot(and.out));
            }
        }
    }
}

impl EvaluateStyle for HalfGatesRows {
    const ROWS: usize = 2;
    #[inline(always)]
    unsafe fn gates<V: Vector, D: Double, const N: usize, const H: usize>(
        evaluator: &EvaluatorRegisters<'_, V, D>,
        ands: &[And; N],
        first: usize,
    ) {
        let walk = &evaluator.walk;
        // SAFETY: guaranteed by the caller.
        unsafe {
            let gate = |n: usize| first + ands[n].gate as usize;
            garble::evaluate_gates::<V, N, H>(
                walk,
                &walk.permutations,
                |n| {
                    garble::tweaks::<V>(
                        &walk.permutations,
                        *walk.gates.tweaks.get_unchecked(gate(n)) as usize,
                    )
                },
                |n| [walk.load(ands[n].a), walk.load(ands[n].b)],
                |n, label| label.store(walk.slot(ands[n].out)),
                |n, lane| evaluator.rows[lane].add(2 * gate(n)),
            );
        }
    }
}

impl EvaluateStyle for PrivacyFree {
    const ROWS: usize = 1;
    #[inline(always)]
    unsafe fn gates<V: Vector, D: Double, const N: usize, const H: usize>(
        evaluator: &EvaluatorRegisters<'_, V, D>,
        ands: &[And; N],
        first: usize,
    ) {
        let walk = &evaluator.walk;
        // SAFETY: guaranteed by the caller.
        unsafe {
            // A negation adds the last bit, so that the type stays the wire's bit.
            let negation = [V::splat(0), walk.last];
            let (mut keys, mut firsts) = ([V::splat(0); N], [V::splat(0); N]);
            for (n, and) in ands.iter().enumerate() {
                let gate = first + and.gate as usize;
                let [not_a, ..] = negations(walk.function(gate));
                firsts[n] = walk.load(and.a).xor(negation[not_a]);
                keys[n] = D::double(&walk.doubling, firsts[n]).xor(walk.tweak(gate));
            }
            let masks = walk.masks(keys);
            for (n, and) in ands.iter().enumerate() {
                let gate = first + and.gate as usize;
                let [_, not_b, not] = negations(walk.function(gate));
                let row = V::gather(|lane| evaluator.rows[lane].add(gate));
                let b = walk.load(and.b).xor(negation[not_b]);
                let mask = masks[n].xor(masks[n].and(walk.last)).xor(negation[not]);
                mask.xor_if(walk.types(firsts[n]), row.xor(b)).store(walk.slot(and.out));
            }
        }
    }
}
