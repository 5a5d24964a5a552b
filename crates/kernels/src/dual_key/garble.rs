//! Gb: garbles a circuit gate by gate.

use std::marker::PhantomData;

use super::cipher::{DualKey, LoopGates};
use super::double::Double;
use super::walk::{Walk, negations, take};
use crate::Aes128;
use crate::garble;
use crate::script::{And, ONE, SECTION};
use crate::vector::{Vector, VectorLoop};

pub(super) struct GarbleLoop<'a, D, S, const EACH: usize> {
    pub gates: LoopGates<'a>,
    pub cipher: DualKey,
    pub permutations: [&'a Aes128; 4],
    pub draws: [&'a Aes128; 4],
    pub tokens: *mut u128,
    pub rows: [*mut u128; 4],
    pub doubling: D,
    pub style: PhantomData<S>,
}

impl<'a> GarbleLoop<'a, (), (), 0> {
    /// Returns the same loop for a doubling and a style.
    pub fn of<D, S: GarbleStyle<EACH>, const EACH: usize>(
        self,
        doubling: D,
        _: S,
    ) -> GarbleLoop<'a, D, S, EACH> {
        let GarbleLoop { gates, cipher, permutations, draws, tokens, rows, .. } = self;
        GarbleLoop { gates, cipher, permutations, draws, tokens, rows, doubling, style: PhantomData }
    }
}

/// The registers of a garbler, in addition to [`Walk`].
pub(super) struct GarblerRegisters<'a, V: Vector, D: Double, const EACH: usize> {
    walk: Walk<'a, V, D, EACH>,
    /// The round keys for drawing tokens.
    draws: V::Keys,
    rows: [*mut u128; 4],
    /// A register of zeros, and the offset as it is in slot [`ONE`].
    offsets: [V; 2],
    /// The offset, by which the tokens of a wire differ.
    offset: V,
    /// The offset, doubled once and twice.
    doubled: V,
    quadrupled: V,
    /// [`GarblerRegisters::offsets`], each plus the offset that was doubled once, and twice.
    with_doubled: [V; 2],
    with_quadrupled: [V; 2],
}

pub(super) trait GarbleStyle<const EACH: usize> {
    /// The number of gates that are processed together if each has four keys.
    const FOUR: usize = 1;
    /// Draws the tokens of gates of a layer, in the section that begins with gate `first`.
    ///
    /// # Safety
    /// The machine has the features of `V`; the gates are those of a layer of the script.
    #[inline(always)]
    unsafe fn draw<V: Vector, D: Double>(_: &GarblerRegisters<'_, V, D, EACH>, _: &[And], _: usize) {}
    /// Garbles gates of a layer: as many as have four keys together, or twice as many.
    ///
    /// # Safety
    /// As for [`GarbleStyle::draw`].
    unsafe fn garble<V: Vector, D: Double>(
        garbler: &GarblerRegisters<'_, V, D, EACH>,
        ands: &[And],
        first: usize,
    );
}

impl<D: Double, S: GarbleStyle<EACH>, const EACH: usize> VectorLoop for GarbleLoop<'_, D, S, EACH> {
    type Output = ();
    #[inline(always)]
    unsafe fn run<V: Vector>(self) {
        let GarbleLoop { gates, cipher, permutations, draws, tokens, rows, doubling, style: _ } = self;
        // SAFETY: the caller guarantees the features of `V`. Slot `ONE` exists in every script, and its
        // tokens are set.
        unsafe {
            let walk = Walk::<V, D, EACH>::new(gates, cipher, doubling, tokens, permutations);
            let one = walk.load(ONE);
            // In the style without privacy, the last bit in the slot is 0. The last bit of an offset is
            // always 1.
            let offset = one.xor(one.and(walk.last)).xor(walk.last);
            let (doubled, quadrupled) =
                (D::double(&walk.doubling, offset), D::quadruple(&walk.doubling, offset));
            let garbler = GarblerRegisters {
                walk,
                draws: V::keys_of_blocks(|block| draws[block].round_keys()),
                rows,
                offsets: [V::splat(0), one],
                offset,
                doubled,
                quadrupled,
                with_doubled: [doubled, doubled.xor(one)],
                with_quadrupled: [quadrupled, quadrupled.xor(one)],
            };
            for section in 0..gates.script.sections() {
                for layer in gates.script.layers(section) {
                    S::draw(&garbler, layer.ands, section * SECTION);
                    // Four AES chains fill the unit if a register has four blocks, otherwise eight.
                    for (xors, ands) in layer.shares(if V::BLOCKS == 4 { S::FOUR } else { 2 * S::FOUR }) {
                        garbler.walk.xors(xors);
                        S::garble(&garbler, ands, section * SECTION);
                    }
                }
            }
        }
    }
}

impl<V: Vector, D: Double, const EACH: usize> GarblerRegisters<'_, V, D, EACH> {
    /// Draws the tokens of gates into their slots. The tokens of gate T are the blocks `EACH`·T, `EACH`·T +
    /// 1, … of counter mode.
    ///
    /// # Safety
    /// As for [`GarbleStyle::draw`].
    #[inline(always)]
    unsafe fn draw(&self, ands: &[And], first: usize) {
        // SAFETY: guaranteed by the caller.
        unsafe {
            for ands in ands.chunks(4 / EACH) {
                let mut blocks = [V::splat(0); 4];
                for (k, both) in blocks.chunks_exact_mut(EACH).enumerate() {
                    // If there are too few gates, the last one is repeated, and the repeated results are
                    // discarded.
                    let and = ands.get_unchecked(k.min(ands.len() - 1));
                    let tweak = self.walk.tweak(first + and.gate as usize);
                    if EACH == 2 {
                        both[0] = tweak.left64::<1>();
                        both[1] = both[0].xor(V::splat(1));
                    } else {
                        both[0] = tweak;
                    }
                }
                let drawn = V::encrypt(&self.draws, blocks);
                for (k, and) in ands.iter().enumerate() {
                    let (at, zero) = (self.walk.slot(and.out), self.walk.token(drawn[EACH * k]));
                    zero.store(at);
                    if EACH == 2 {
                        // The two tokens of a wire have different types.
                        let (one, last) = (self.walk.token(drawn[2 * k + 1]), self.walk.last);
                        one.xor(one.xor(zero).and(last)).xor(last).store(at.add(V::BLOCKS));
                    }
                }
            }
        }
    }

    /// Returns the position of a gate's rows for the copy in a lane.
    #[inline(always)]
    unsafe fn rows_of<const ROWS: usize>(&self, gate: usize) -> impl Fn(usize) -> *mut u128 {
        let rows = self.rows;
        // SAFETY: `check` has verified that there are rows for each gate.
        move |lane| unsafe { rows[lane].add(ROWS * gate) }
    }
}

pub(super) struct Ga;

impl GarbleStyle<2> for Ga {
    #[inline(always)]
    unsafe fn draw<V: Vector, D: Double>(
        garbler: &GarblerRegisters<'_, V, D, 2>,
        ands: &[And],
        first: usize,
    ) {
        // SAFETY: guaranteed by the caller.
        unsafe { garbler.draw(ands, first) }
    }

    #[inline(always)]
    unsafe fn garble<V: Vector, D: Double>(
        garbler: &GarblerRegisters<'_, V, D, 2>,
        ands: &[And],
        first: usize,
    ) {
        // SAFETY: guaranteed by the caller.
        unsafe {
            let mut rest = ands;
            if const { V::BLOCKS < 4 }
                && let Some(two) = take::<2>(&mut rest)
            {
                Self::gates::<V, D, 2, 8>(garbler, two, first);
            }
            while let Some(one) = take::<1>(&mut rest) {
                Self::gates::<V, D, 1, 4>(garbler, one, first);
            }
        }
    }
}

impl Ga {
    /// Garbles `N` gates whose tokens are drawn. `H` is 4 · `N`.
    ///
    /// # Safety
    /// As for [`GarbleStyle::draw`].
    #[inline(always)]
    unsafe fn gates<V: Vector, D: Double, const N: usize, const H: usize>(
        garbler: &GarblerRegisters<'_, V, D, 2>,
        ands: &[And; N],
        first: usize,
    ) {
        const { assert!(H == 4 * N) };
        let walk = &garbler.walk;
        // SAFETY: guaranteed by the caller.
        unsafe {
            let none = walk.types(V::splat(0));
            let (mut keys, mut types) = ([V::splat(0); H], [[none; 2]; N]);
            for (n, and) in ands.iter().enumerate() {
                let ([a0, a1], [b0, b1]) = (walk.load_both(and.a), walk.load_both(and.b));
                types[n] = [walk.types(a0), walk.types(b0)];
                let tweak = walk.tweak(first + and.gate as usize);
                let (a0, a1) = (D::double(&walk.doubling, a0), D::double(&walk.doubling, a1));
                let (b0, b1) = (
                    D::quadruple(&walk.doubling, b0).xor(tweak),
                    D::quadruple(&walk.doubling, b1).xor(tweak),
                );
                (keys[n], keys[N + n]) = (a0.xor(b0), a0.xor(b1));
                (keys[2 * N + n], keys[3 * N + n]) = (a1.xor(b0), a1.xor(b1));
            }
            let masks = walk.masks(keys);
            for (n, and) in ands.iter().enumerate() {
                let gate = first + and.gate as usize;
                let function = walk.function(gate);
                let at = walk.slot(and.out);
                let value = |k: usize| at.add((function >> k & 1) * V::BLOCKS).cast_const();
                // The rows are computed in the order of the input bits, and then exchanged where the token
                // for 0 has type 1. (Each register has its own name, because an array of them would go
                // through memory.)
                let row_00 = masks[n].xor(V::load(value(0)));
                let row_01 = masks[N + n].xor(V::load(value(1)));
                let row_10 = masks[2 * N + n].xor(V::load(value(2)));
                let row_11 = masks[3 * N + n].xor(V::load(value(3)));
                let [type_a, type_b] = types[n];
                let (row_00, row_10) = V::exchange_if(type_a, row_00, row_10);
                let (row_01, row_11) = V::exchange_if(type_a, row_01, row_11);
                let (row_00, row_01) = V::exchange_if(type_b, row_00, row_01);
                let (row_10, row_11) = V::exchange_if(type_b, row_10, row_11);
                let rows = [row_00, row_01, row_10, row_11];
                V::store_rows::<4>(rows, garbler.rows_of::<4>(gate));
            }
        }
    }
}

/// Implements [`Style::GaX`], and with one row less [`Style::GaXR`].
pub(super) struct Free<const REDUCED: bool>;

impl<const REDUCED: bool> GarbleStyle<1> for Free<REDUCED> {
    #[inline(always)]
    unsafe fn draw<V: Vector, D: Double>(
        garbler: &GarblerRegisters<'_, V, D, 1>,
        ands: &[And],
        first: usize,
    ) {
        if !REDUCED {
            // SAFETY: guaranteed by the caller.
            unsafe { garbler.draw(ands, first) }
        }
    }

    #[inline(always)]
    unsafe fn garble<V: Vector, D: Double>(
        garbler: &GarblerRegisters<'_, V, D, 1>,
        ands: &[And],
        first: usize,
    ) {
        // SAFETY: guaranteed by the caller.
        unsafe {
            let mut rest = ands;
            if const { V::BLOCKS < 4 }
                && let Some(two) = take::<2>(&mut rest)
            {
                Self::gates::<V, D, 2, 8>(garbler, two, first);
            }
            while let Some(one) = take::<1>(&mut rest) {
                Self::gates::<V, D, 1, 4>(garbler, one, first);
            }
        }
    }
}

impl<const REDUCED: bool> Free<REDUCED> {
    /// Garbles `N` gates. `H` is 4 · `N`.
    ///
    /// # Safety
    /// As for [`GarbleStyle::draw`].
    #[inline(always)]
    unsafe fn gates<V: Vector, D: Double, const N: usize, const H: usize>(
        garbler: &GarblerRegisters<'_, V, D, 1>,
        ands: &[And; N],
        first: usize,
    ) {
        const { assert!(H == 4 * N) };
        let walk = &garbler.walk;
        // SAFETY: guaranteed by the caller.
        unsafe {
            let none = walk.types(V::splat(0));
            let (mut keys, mut types) = ([V::splat(0); H], [[none; 2]; N]);
            for (n, and) in ands.iter().enumerate() {
                let (a, b) = (walk.load(and.a), walk.load(and.b));
                types[n] = [walk.types(a), walk.types(b)];
                // The tokens of type 0 of both inputs.
                let (a, b) = (a.xor_if(types[n][0], garbler.offset), b.xor_if(types[n][1], garbler.offset));
                let key = D::combine(&walk.doubling, a, b).xor(walk.tweak(first + and.gate as usize));
                (keys[n], keys[N + n]) = (key, key.xor(garbler.quadrupled));
                (keys[2 * N + n], keys[3 * N + n]) =
                    (key.xor(garbler.doubled), key.xor3(garbler.doubled, garbler.quadrupled));
            }
            let encrypted = V::encrypt(&walk.permutations, keys);
            for (n, and) in ands.iter().enumerate() {
                let gate = first + and.gate as usize;
                // The function is a sum c ⊕ xa ⊕ yb ⊕ pab, and each term is multiplied by the offset.
                let f = walk.function(gate);
                let times = |bit: usize| garbler.offsets[bit & 1];
                let (c, x, y) = (times(f), f ^ f >> 2, f ^ f >> 1);
                let p = times(f ^ f >> 1 ^ f >> 2 ^ f >> 3);
                let [e_00, e_01, e_10, e_11] =
                    [encrypted[n], encrypted[N + n], encrypted[2 * N + n], encrypted[3 * N + n]];
                // The terms that rows 01 and 10 have in addition to row 00, by type: for the tokens, and for
                // the keys that are added to π's results. Row 11 has both terms, and p.
                let [type_a, type_b] = types[n];
                let in_01 = garbler.with_quadrupled[y & 1].xor_if(type_a, p);
                let in_10 = garbler.with_doubled[x & 1].xor_if(type_b, p);
                // The sum of row 00's token and the token for 0.
                let beyond = c.xor_if(type_a, times(x)).xor_if(type_b, in_01.xor(garbler.quadrupled));
                // The token of row 00, and its key.
                let masked = if REDUCED {
                    let mask = walk.token(e_00.xor(keys[n]));
                    mask.xor(beyond).store(walk.slot(and.out));
                    e_00
                } else {
                    walk.load(and.out).xor3(beyond, keys[n])
                };
                let row_01 = walk.token(e_01.xor3(masked, in_01));
                let row_10 = walk.token(e_10.xor3(masked, in_10));
                let row_11 = walk.token(e_11.xor3(masked, in_01.xor3(in_10, p)));
                if REDUCED {
                    V::store_rows::<3>([row_01, row_10, row_11, row_11], garbler.rows_of::<3>(gate));
                } else {
                    let row_00 = walk.token(e_00.xor(masked));
                    V::store_rows::<4>([row_00, row_01, row_10, row_11], garbler.rows_of::<4>(gate));
                }
            }
        }
    }
}

pub(super) struct HalfGatesRows;

impl GarbleStyle<1> for HalfGatesRows {
    #[inline(always)]
    unsafe fn garble<V: Vector, D: Double>(
        garbler: &GarblerRegisters<'_, V, D, 1>,
        ands: &[And],
        first: usize,
    ) {
        // SAFETY: guaranteed by the caller.
        unsafe {
            let mut rest = ands;
            if const { V::BLOCKS < 4 }
                && let Some(two) = take::<2>(&mut rest)
            {
                Self::gates::<V, D, 2, 8>(garbler, two, first);
            }
            while let Some(one) = take::<1>(&mut rest) {
                Self::gates::<V, D, 1, 4>(garbler, one, first);
            }
        }
    }
}

impl HalfGatesRows {
    /// # Safety
    /// As for [`GarbleStyle::draw`].
    #[inline(always)]
    unsafe fn gates<V: Vector, D: Double, const N: usize, const H: usize>(
        garbler: &GarblerRegisters<'_, V, D, 1>,
        ands: &[And; N],
        first: usize,
    ) {
        let walk = &garbler.walk;
        // SAFETY: guaranteed by the caller.
        unsafe {
            let gate = |n: usize| first + ands[n].gate as usize;
            let negations = |n: usize| negations(walk.function(gate(n)));
            garble::garble_gates::<V, N, H>(
                walk,
                &walk.permutations,
                |n| {
                    garble::tweaks::<V>(
                        &walk.permutations,
                        *walk.gates.tweaks.get_unchecked(gate(n)) as usize,
                    )
                },
                |n| {
                    let [not_a, not_b, _] = negations(n);
                    let (a, b) = (walk.load(ands[n].a), walk.load(ands[n].b));
                    [a.xor(garbler.offsets[not_a]), b.xor(garbler.offsets[not_b])]
                },
                |_| [garbler.offset, garbler.doubled],
                |n, label| {
                    let [_, _, not] = negations(n);
                    label.xor(garbler.offsets[not]).store(walk.slot(ands[n].out));
                },
                |n, lane| garbler.rows_of::<2>(gate(n))(lane),
            );
        }
    }
}

pub(super) struct PrivacyFree;

impl GarbleStyle<1> for PrivacyFree {
    const FOUR: usize = 2;
    #[inline(always)]
    unsafe fn garble<V: Vector, D: Double>(
        garbler: &GarblerRegisters<'_, V, D, 1>,
        ands: &[And],
        first: usize,
    ) {
        // SAFETY: guaranteed by the caller.
        unsafe {
            let mut rest = ands;
            if const { V::BLOCKS < 4 }
                && let Some(four) = take::<4>(&mut rest)
            {
                Self::gates::<V, D, 4, 8>(garbler, four, first);
            }
            if const { V::BLOCKS == 4 }
                && let Some(two) = take::<2>(&mut rest)
            {
                Self::gates::<V, D, 2, 4>(garbler, two, first);
            }
            while let Some(one) = take::<1>(&mut rest) {
                Self::gates::<V, D, 1, 2>(garbler, one, first);
            }
        }
    }
}

impl PrivacyFree {
    /// Garbles `N` gates. `H` is 2 · `N`.
    ///
    /// # Safety
    /// As for [`GarbleStyle::draw`].
    #[inline(always)]
    unsafe fn gates<V: Vector, D: Double, const N: usize, const H: usize>(
        garbler: &GarblerRegisters<'_, V, D, 1>,
        ands: &[And; N],
        first: usize,
    ) {
        const { assert!(H == 2 * N) };
        let walk = &garbler.walk;
        // SAFETY: guaranteed by the caller.
        unsafe {
            let mut keys = [V::splat(0); H];
            for (n, and) in ands.iter().enumerate() {
                let gate = first + and.gate as usize;
                let [not_a, ..] = negations(walk.function(gate));
                let a = walk.load(and.a).xor(garbler.offsets[not_a]);
                let key = D::double(&walk.doubling, a).xor(walk.tweak(gate));
                (keys[n], keys[N + n]) = (key, key.xor(garbler.doubled));
            }
            let masks = walk.masks(keys);
            for (n, and) in ands.iter().enumerate() {
                let gate = first + and.gate as usize;
                let [_, not_b, not] = negations(walk.function(gate));
                // The masks without their last bits.
                let (zero, one) = (masks[n].xor(masks[n].and(walk.last)), masks[N + n]);
                let b = walk.load(and.b).xor(garbler.offsets[not_b]);
                zero.xor3(one.xor(one.and(walk.last)), b).scatter(garbler.rows_of::<1>(gate));
                zero.xor(garbler.offsets[not]).store(walk.slot(and.out));
            }
        }
    }
}
