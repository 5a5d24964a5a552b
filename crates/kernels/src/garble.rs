//! Half-gates garbling (Zahur, Rosulek, Evans 2015) of several copies of one circuit in lockstep.
//!
//! A [`Script`] is a circuit whose wires have been given *slots*; [`Wires`] holds the labels of `L` copies, those of one
//! slot side by side, so that every step is the same few operations on full registers. The script is walked in
//! *pieces* of [`PIECE`] AND gates, so that tables can be passed on while they are in the cache.
//!
//! The hash is `H(x, i) = AES_k(y) ⊕ y` with `y = σ(x) ⊕ i` (Guo, Katz, Wang, Weng, Yu 2020), `i` the index of the half
//! gate: `2j` and `2j + 1` for AND gate `j`. As σ is linear, `H(x, i) ⊕ H(x ⊕ Δ, i)` has both `y` cancel to `σ(Δ)`.

use std::ops::Range;

use zeroize::Zeroize;

use crate::vector::{Task, Vector};
use crate::{Aes128, Kernel};

/// AND gates in a piece: 16 KiB of tables for each copy.
pub const PIECE: usize = 512;

/// What a step does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// Exclusive or of two slots.
    Xor,
    /// Conjunction of two slots.
    And,
    /// Negation of the first slot; the second is ignored.
    Inv,
}

/// One gate: reads slots `a` and `b`, writes slot `out`, which may be one of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// What to do.
    pub op: Op,
    /// First operand.
    pub a: u32,
    /// Second operand.
    pub b: u32,
    /// Where the result goes.
    pub out: u32,
}

/// A step in 12 bytes: the top bit of `a` marks AND, the top bit of `b` marks INV.
#[derive(Clone, Copy)]
struct Packed {
    a: u32,
    b: u32,
    out: u32,
}

const MARK: u32 = 1 << 31;

/// The steps of a circuit over slots.
pub struct Script {
    /// Every slot in here is below `slots`; the loops rely on it.
    steps: Vec<Packed>,
    slots: usize,
    and_gates: usize,
    /// Where in `steps` each piece ends.
    piece_ends: Vec<usize>,
}

impl Script {
    /// Checks and packs the steps.
    ///
    /// # Panics
    /// If a step names a slot that is not below `slots`, or `slots` is more than 2^31.
    pub fn new(slots: usize, steps: impl IntoIterator<Item = Step>) -> Self {
        assert!(slots <= MARK as usize, "{slots} slots");
        let mut script = Script { steps: Vec::new(), slots, and_gates: 0, piece_ends: Vec::new() };
        for Step { op, a, b, out } in steps {
            let b = if op == Op::Inv { a } else { b };
            assert!([a, b, out].iter().all(|&s| (s as usize) < slots), "a step reads {a} and {b} and writes {out} of {slots} slots");
            if op == Op::And {
                if script.and_gates > 0 && script.and_gates.is_multiple_of(PIECE) {
                    script.piece_ends.push(script.steps.len());
                }
                script.and_gates += 1;
            }
            script.steps.push(match op {
                Op::Xor => Packed { a, b, out },
                Op::And => Packed { a: a | MARK, b, out },
                Op::Inv => Packed { a, b: MARK, out },
            });
        }
        script.piece_ends.push(script.steps.len());
        script
    }

    /// Number of slots.
    pub fn slots(&self) -> usize {
        self.slots
    }

    /// Number of AND gates.
    pub fn and_gates(&self) -> usize {
        self.and_gates
    }

    /// Number of pieces, at least 1. Each but the last has [`PIECE`] AND gates.
    pub fn pieces(&self) -> usize {
        self.piece_ends.len()
    }

    /// The AND gates of a piece.
    pub fn piece_gates(&self, piece: usize) -> Range<usize> {
        piece * PIECE..self.and_gates.min((piece + 1) * PIECE)
    }

    fn piece_steps(&self, piece: usize) -> &[Packed] {
        let start = if piece == 0 { 0 } else { self.piece_ends[piece - 1] };
        &self.steps[start..self.piece_ends[piece]]
    }
}

/// The labels of one slot in `L` copies.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Row<const L: usize>([u128; L]);

/// The labels of `L` copies that go through a [`Script`] together; wiped when dropped. `L` is 4, 8 or 16.
pub struct Wires<const L: usize> {
    rows: Vec<Row<L>>,
    deltas: Row<L>,
}

impl<const L: usize> Wires<L> {
    /// Room for the slots of a script.
    pub fn new(script: &Script) -> Self {
        const { assert!(L == 4 || L == 8 || L == 16) };
        Wires { rows: vec![Row([0; L]); script.slots], deltas: Row([0; L]) }
    }

    /// Sets the free-XOR offset of a copy, of which bit 0 must be 1.
    pub fn set_delta(&mut self, lane: usize, delta: u128) {
        self.deltas.0[lane] = delta;
    }

    /// Sets the label in a slot of a copy.
    pub fn set(&mut self, slot: u32, lane: usize, label: u128) {
        self.rows[slot as usize].0[lane] = label;
    }

    /// The label in a slot of a copy.
    pub fn get(&self, slot: u32, lane: usize) -> u128 {
        self.rows[slot as usize].0[lane]
    }

    /// Walks through a piece with false labels and writes the tables: for each AND gate of the piece, in order, the
    /// 32 bytes of `T_G` and `T_E`, of each copy to its own of `tables`. The keys are those of the piece, each for
    /// `gates_per_key` gates.
    ///
    /// # Panics
    /// If the wires are not those of the script, a table is not of the right length or there are too few keys.
    pub fn garble(&mut self, kernel: Kernel, script: &Script, piece: usize, keys: &Keys<'_>, tables: [&mut [u8]; L]) {
        let gates = self.check(script, piece, keys);
        assert!(tables.iter().all(|t| t.len() == 32 * gates.len()), "tables of {} gates", gates.len());
        let tables = tables.map(<[u8]>::as_mut_ptr);
        kernel.run(Garble { wires: self, steps: script.piece_steps(piece), first: gates.start, keys, tables });
    }

    /// Walks through a piece with active labels; the counterpart of [`Wires::garble`].
    ///
    /// # Panics
    /// Like [`Wires::garble`].
    pub fn evaluate(&mut self, kernel: Kernel, script: &Script, piece: usize, keys: &Keys<'_>, tables: [&[u8]; L]) {
        let gates = self.check(script, piece, keys);
        assert!(tables.iter().all(|t| t.len() == 32 * gates.len()), "tables of {} gates", gates.len());
        let tables = tables.map(<[u8]>::as_ptr);
        kernel.run(Evaluate { wires: self, steps: script.piece_steps(piece), first: gates.start, keys, tables });
    }

    fn check(&self, script: &Script, piece: usize, keys: &Keys<'_>) -> Range<usize> {
        assert_eq!(self.rows.len(), script.slots, "wires of this script");
        let gates = script.piece_gates(piece);
        assert!(keys.gates_per_key > 0 && gates.len().div_ceil(keys.gates_per_key) <= keys.keys.len(), "keys for {} gates", gates.len());
        gates
    }
}

impl<const L: usize> Drop for Wires<L> {
    fn drop(&mut self) {
        for row in &mut self.rows {
            row.0.zeroize();
        }
        self.deltas.0.zeroize();
    }
}

/// The hash keys of a piece.
pub struct Keys<'a> {
    /// In the order of the gates.
    pub keys: &'a [Aes128],
    /// How many AND gates a key serves.
    pub gates_per_key: usize,
}

/// `y` of the two halves of AND gate `gate`, before the label is added, with the first round key.
#[inline(always)]
unsafe fn tweaks<V: Vector>(gate: usize) -> (V, V) {
    let index = 2 * gate as u128;
    // SAFETY: the caller vouches for the features of `V`.
    unsafe { (V::splat(index), V::splat(index + 1)) }
}

struct Garble<'a, const L: usize> {
    wires: &'a mut Wires<L>,
    steps: &'a [Packed],
    first: usize,
    keys: &'a Keys<'a>,
    tables: [*mut u8; L],
}

impl<const L: usize> Task for Garble<'_, L> {
    type Output = ();
    #[inline(always)]
    unsafe fn run<V: Vector>(self) {
        let rows: *mut u128 = self.wires.rows.as_mut_ptr().cast();
        let deltas: *const u128 = self.wires.deltas.0.as_ptr();
        let registers = L / V::BLOCKS;
        let (mut gate, mut keys) = (0, self.keys.keys.chunks(1));
        let mut key: Option<V::Keys> = None;
        for &Packed { a, b, out } in self.steps {
            // SAFETY: the caller vouches for the features of `V`. `Script::new` checked that the slots are below the
            // number of rows, and a row is `L` blocks, a multiple of `V::BLOCKS`. The tables were checked to hold 32
            // bytes for each gate of the piece.
            unsafe {
                let at = |slot: u32| rows.add((slot & !MARK) as usize * L);
                let (a, b, out, op) = (at(a), at(b), at(out), (a & MARK, b & MARK));
                if op == (0, 0) {
                    for z in 0..registers {
                        let z = z * V::BLOCKS;
                        V::load(a.add(z)).xor(V::load(b.add(z))).store(out.add(z));
                    }
                } else if op.0 == 0 {
                    for z in 0..registers {
                        let z = z * V::BLOCKS;
                        V::load(a.add(z)).xor(V::load(deltas.add(z))).store(out.add(z));
                    }
                } else {
                    if gate % self.keys.gates_per_key == 0 {
                        key = keys.next().map(|k| V::keys(k[0].round_keys()));
                    }
                    let key = key.as_ref().expect("checked to be enough");
                    let tweaks = tweaks::<V>(self.first + gate);
                    let table = |k: usize| self.tables[k].add(32 * gate).cast::<u128>();
                    let mut z = 0;
                    while z + 2 <= registers {
                        garble_gate::<V, 2, 8>(key, tweaks, [a, b, out], deltas, z * V::BLOCKS, table);
                        z += 2;
                    }
                    if z < registers {
                        garble_gate::<V, 1, 4>(key, tweaks, [a, b, out], deltas, z * V::BLOCKS, table);
                    }
                    gate += 1;
                }
            }
        }
    }
}

/// One AND gate in `N` registers of copies from lane `from` on; `H` is the number of hashes, `4 N`.
#[inline(always)]
unsafe fn garble_gate<V: Vector, const N: usize, const H: usize>(
    key: &V::Keys,
    (tweak_g, tweak_e): (V, V),
    [a, b, out]: [*mut u128; 3],
    deltas: *const u128,
    from: usize,
    table: impl Fn(usize) -> *mut u128,
) {
    const { assert!(H == 4 * N) };
    // SAFETY: the caller vouches for the features of `V`, for `N` registers behind each pointer plus `from`, and for 32
    // bytes of table of each of those copies.
    unsafe {
        let read = |p: *const u128| -> [V; N] { std::array::from_fn(|n| V::load(p.add(from + n * V::BLOCKS))) };
        let (a, b, delta) = (read(a), read(b), read(deltas));
        let ya: [V; N] = std::array::from_fn(|n| a[n].sigma().xor(tweak_g));
        let yb: [V; N] = std::array::from_fn(|n| b[n].sigma().xor(tweak_e));
        let y: [V; H] = std::array::from_fn(|i| match (i / N, i % N) {
            (0, n) => ya[n],
            (1, n) => ya[n].xor(delta[n].sigma()),
            (2, n) => yb[n],
            (_, n) => yb[n].xor(delta[n].sigma()),
        });
        let e = V::encrypt(key, y);
        for n in 0..N {
            let (a, b, delta) = (a[n], b[n], delta[n]);
            let (e0, e1, e2, e3) = (e[n], e[N + n], e[2 * N + n], e[3 * N + n]);
            let (colour_a, colour_b) = (a.colours(), b.colours());
            // T_G = H(A) ⊕ H(A ⊕ Δ) ⊕ lsb(B)·Δ and T_E = H(B) ⊕ H(B ⊕ Δ) ⊕ A.
            let t_g = e0.xor3(e1, delta.sigma().xor_if(colour_b, delta));
            let t_e_without_a = e2.xor3(e3, delta.sigma());
            // C = H(A) ⊕ lsb(A)·T_G ⊕ H(B) ⊕ lsb(B)·(T_E ⊕ A).
            let c = e0.xor3(e2, ya[n].xor(yb[n])).xor_if(colour_a, t_g).xor_if(colour_b, t_e_without_a);
            c.store(out.add(from + n * V::BLOCKS));
            V::store_pairs(t_g, t_e_without_a.xor(a), |k| table(from + n * V::BLOCKS + k));
        }
    }
}

struct Evaluate<'a, const L: usize> {
    wires: &'a mut Wires<L>,
    steps: &'a [Packed],
    first: usize,
    keys: &'a Keys<'a>,
    tables: [*const u8; L],
}

impl<const L: usize> Task for Evaluate<'_, L> {
    type Output = ();
    #[inline(always)]
    unsafe fn run<V: Vector>(self) {
        let rows: *mut u128 = self.wires.rows.as_mut_ptr().cast();
        let registers = L / V::BLOCKS;
        let (mut gate, mut keys) = (0, self.keys.keys.chunks(1));
        let mut key: Option<V::Keys> = None;
        for &Packed { a, b, out } in self.steps {
            // SAFETY: as in `Garble`.
            unsafe {
                let at = |slot: u32| rows.add((slot & !MARK) as usize * L);
                let (a, b, out, op) = (at(a), at(b), at(out), (a & MARK, b & MARK));
                if op == (0, 0) {
                    for z in 0..registers {
                        let z = z * V::BLOCKS;
                        V::load(a.add(z)).xor(V::load(b.add(z))).store(out.add(z));
                    }
                } else if op.0 == 0 {
                    for z in 0..registers {
                        let z = z * V::BLOCKS;
                        V::load(a.add(z)).store(out.add(z));
                    }
                } else {
                    if gate % self.keys.gates_per_key == 0 {
                        key = keys.next().map(|k| V::keys(k[0].round_keys()));
                    }
                    let key = key.as_ref().expect("checked to be enough");
                    let tweaks = tweaks::<V>(self.first + gate);
                    let table = |k: usize| self.tables[k].add(32 * gate).cast::<u128>();
                    let mut z = 0;
                    while z + 4 <= registers {
                        evaluate_gate::<V, 4, 8>(key, tweaks, [a, b, out], z * V::BLOCKS, table);
                        z += 4;
                    }
                    if z + 2 <= registers {
                        evaluate_gate::<V, 2, 4>(key, tweaks, [a, b, out], z * V::BLOCKS, table);
                        z += 2;
                    }
                    if z < registers {
                        evaluate_gate::<V, 1, 2>(key, tweaks, [a, b, out], z * V::BLOCKS, table);
                    }
                    gate += 1;
                }
            }
        }
    }
}

/// The evaluator's side of [`garble_gate`]; `H` is `2 N`.
#[inline(always)]
unsafe fn evaluate_gate<V: Vector, const N: usize, const H: usize>(
    key: &V::Keys,
    (tweak_g, tweak_e): (V, V),
    [a, b, out]: [*mut u128; 3],
    from: usize,
    table: impl Fn(usize) -> *const u128,
) {
    const { assert!(H == 2 * N) };
    // SAFETY: as in `garble_gate`.
    unsafe {
        let read = |p: *const u128| -> [V; N] { std::array::from_fn(|n| V::load(p.add(from + n * V::BLOCKS))) };
        let (a, b) = (read(a), read(b));
        let y: [V; H] = std::array::from_fn(|i| if i < N { a[i].sigma().xor(tweak_g) } else { b[i - N].sigma().xor(tweak_e) });
        let e = V::encrypt(key, y);
        for n in 0..N {
            let (t_g, t_e) = V::load_pairs(|k| table(from + n * V::BLOCKS + k));
            // C = H(A) ⊕ lsb(A)·T_G ⊕ H(B) ⊕ lsb(B)·(T_E ⊕ A).
            let c = e[n].xor3(e[N + n], y[n].xor(y[N + n]));
            let c = c.xor_if(a[n].colours(), t_g).xor_if(b[n].colours(), t_e.xor(a[n]));
            c.store(out.add(from + n * V::BLOCKS));
        }
    }
}
