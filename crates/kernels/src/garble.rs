//! Half-gates garbling (Zahur, Rosulek, Evans 2015) of several copies of one circuit in lockstep.
//!
//! [`Wires`] holds the labels of the copies, those of one slot side by side, so that every step of the
//! [`Script`] is the same few operations on full registers. A single copy has nothing to stand side by side;
//! there the AND gates of a batch do.
//!
//! The hash is `H(x, i) = AES_k(y) ⊕ y` with `y = σ(x) ⊕ i` (Guo, Katz, Wang, Weng, Yu 2020), `i` the index
//! of the half gate: `2j` and `2j + 1` for AND gate `j`. As σ is linear, the two `y` of `H(x, i) ⊕ H(x ⊕ Δ,
//! i)` add up to `σ(Δ)`.

use crate::script::{And, BATCH, Batch, ONE, Script, Xor};
use crate::vector::{Task, Vector};
use crate::{Aes128, Kernel};

/// Numbers of copies that can go through a script together.
pub const LANES: [usize; 4] = [1, 4, 8, 16];

/// Four labels in one line of the cache.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Line([u128; 4]);

/// The labels of a few copies on their way through a [`Script`]; wiped when dropped.
pub struct Wires {
    /// Slot after slot, the labels of all lanes.
    lines: Vec<Line>,
    slots: usize,
    lanes: usize,
}

/// The hash keys of a piece.
#[derive(Clone, Copy)]
pub struct Keys<'a> {
    /// In the order of the gates.
    pub keys: &'a [Aes128],
    /// How many AND gates a key serves.
    pub gates_per_key: usize,
}

impl Wires {
    /// Room for the labels of `lanes` copies.
    pub fn new(script: &Script, lanes: usize) -> Self {
        let mut wires = Wires {
            lines: vec![Line([0; 4]); (script.slots() * lanes).div_ceil(4)],
            slots: script.slots(),
            lanes: 0,
        };
        wires.set_lanes(lanes);
        wires
    }

    /// Sets the number of copies, one of [`LANES`] and not more than [`Wires::new`] made room for. All labels
    /// are void after it.
    ///
    /// # Panics
    /// If there cannot be so many.
    pub fn set_lanes(&mut self, lanes: usize) {
        assert!(LANES.contains(&lanes) && self.slots * lanes <= 4 * self.lines.len(), "{lanes} lanes");
        self.lanes = lanes;
    }

    fn labels(&mut self) -> &mut [u128] {
        // SAFETY: a line is four blocks without padding, as `repr(C)` has it; the slice is borrowed from the
        // lines.
        unsafe { std::slice::from_raw_parts_mut(self.lines.as_mut_ptr().cast(), 4 * self.lines.len()) }
    }

    /// Sets the label in a slot of a copy; in slot [`ONE`] the garbler's offset, of which bit 0 must be 1.
    #[inline]
    pub fn set(&mut self, slot: u32, lane: usize, label: u128) {
        assert!(lane < self.lanes, "lane {lane} of {}", self.lanes);
        let at = slot as usize * self.lanes + lane;
        self.lines[at / 4].0[at % 4] = label;
    }

    /// The label in a slot of a copy.
    #[inline]
    pub fn get(&self, slot: u32, lane: usize) -> u128 {
        assert!(lane < self.lanes, "lane {lane} of {}", self.lanes);
        let at = slot as usize * self.lanes + lane;
        self.lines[at / 4].0[at % 4]
    }

    /// Walks through a piece with false labels and writes the tables: for each AND gate of the piece, in
    /// order, the 32 bytes of `T_G ‖ T_E`, of each copy into its own of `tables`.
    ///
    /// # Panics
    /// If the wires are not those of the script, a table is not of the right length, there are too few keys,
    /// or more than one for a single copy.
    pub fn garble(
        &mut self,
        kernel: Kernel,
        script: &Script,
        piece: usize,
        keys: Keys<'_>,
        tables: &mut [&mut [u8]],
    ) {
        self.check(script, piece, keys, tables.iter().map(|t| t.len()));
        let (lanes, rows) = (self.lanes, self.labels().as_mut_ptr());
        match lanes {
            16 => kernel.run(Garble { script, piece, keys, rows, tables: pointers::<16>(tables) }),
            8 => kernel.run(Garble { script, piece, keys, rows, tables: pointers::<8>(tables) }),
            4 => kernel.run(Garble { script, piece, keys, rows, tables: pointers::<4>(tables) }),
            _ => kernel.run(GarbleOne { script, piece, keys, rows, tables: tables[0].as_mut_ptr().cast() }),
        }
    }

    /// Walks through a piece with active labels; the counterpart of [`Wires::garble`].
    ///
    /// # Panics
    /// Like [`Wires::garble`].
    pub fn evaluate(
        &mut self,
        kernel: Kernel,
        script: &Script,
        piece: usize,
        keys: Keys<'_>,
        tables: &[&[u8]],
    ) {
        self.check(script, piece, keys, tables.iter().map(|t| t.len()));
        let lanes = self.lanes;
        for lane in 0..lanes {
            self.set(ONE, lane, 0);
        }
        let rows = self.labels().as_mut_ptr();
        match lanes {
            16 => kernel.run(Evaluate {
                script,
                piece,
                keys,
                rows,
                tables: std::array::from_fn::<_, 16, _>(|l| tables[l].as_ptr()),
            }),
            8 => kernel.run(Evaluate {
                script,
                piece,
                keys,
                rows,
                tables: std::array::from_fn::<_, 8, _>(|l| tables[l].as_ptr()),
            }),
            4 => kernel.run(Evaluate {
                script,
                piece,
                keys,
                rows,
                tables: std::array::from_fn::<_, 4, _>(|l| tables[l].as_ptr()),
            }),
            _ => kernel.run(EvaluateOne { script, piece, keys, rows, tables: tables[0].as_ptr().cast() }),
        }
    }

    /// Everything that the loops take for granted besides the invariant of [`Script`].
    fn check(
        &self,
        script: &Script,
        piece: usize,
        keys: Keys<'_>,
        mut tables: impl ExactSizeIterator<Item = usize>,
    ) {
        let gates = script.piece_gates(piece).len();
        assert_eq!(self.slots, script.slots(), "wires of this script");
        assert!(
            tables.len() == self.lanes && tables.all(|bytes| bytes == 32 * gates),
            "tables of {gates} gates for {} copies",
            self.lanes
        );
        assert!(self.lanes > 1 || keys.keys.len() == 1, "a single copy takes one key for a piece");
        assert!(
            keys.gates_per_key > 0 && gates.div_ceil(keys.gates_per_key) <= keys.keys.len(),
            "keys for {gates} gates"
        );
    }
}

fn pointers<const L: usize>(tables: &mut [&mut [u8]]) -> [*mut u8; L] {
    std::array::from_fn(|lane| tables[lane].as_mut_ptr())
}

impl Drop for Wires {
    fn drop(&mut self) {
        crate::erase(self.labels());
    }
}

/// Labels are read and written through `rows`, which has `L` blocks for each slot.
///
/// # Safety
/// The machine has the features of `V`, and `rows` has as many slots as the script, of which the steps are.
#[inline(always)]
unsafe fn xor_steps<V: Vector, const L: usize>(rows: *mut u128, steps: &[Xor]) {
    for step in steps {
        // SAFETY: as the caller vouches; `L` is a multiple of `V::BLOCKS`.
        unsafe {
            let [a, b, out] = [step.a, step.b, step.out].map(|slot| rows.add(slot as usize * L));
            for z in (0..L).step_by(V::BLOCKS) {
                V::load(a.add(z)).xor(V::load(b.add(z))).store(out.add(z));
            }
        }
    }
}

struct Garble<'a, const L: usize> {
    script: &'a Script,
    piece: usize,
    keys: Keys<'a>,
    rows: *mut u128,
    tables: [*mut u8; L],
}

impl<const L: usize> Task for Garble<'_, L> {
    type Output = ();
    #[inline(always)]
    unsafe fn run<V: Vector>(self) {
        let first = self.script.piece_gates(self.piece).start;
        let mut chunk = 0;
        // SAFETY: the caller vouches for the features of `V`.
        let mut key = unsafe { V::keys(self.keys.keys[0].round_keys()) };
        for Batch { xors, ands } in self.script.batches(self.piece) {
            // SAFETY: the caller vouches for the features of `V`. The script's slots are below the number of
            // rows, and a row is `L` blocks, a multiple of `V::BLOCKS`. Gates are below the number of gates
            // of the piece, for each of which the tables have 32 bytes.
            unsafe {
                xor_steps::<V, L>(self.rows, xors);
                for &And { a, b, out, gate } in ands {
                    let gate = gate as usize;
                    if gate / self.keys.gates_per_key != chunk {
                        chunk = gate / self.keys.gates_per_key;
                        key = V::keys(self.keys.keys[chunk].round_keys());
                    }
                    let wires = [a, b, out, ONE].map(|slot| self.rows.add(slot as usize * L));
                    let table = |lane: usize| self.tables[lane].add(32 * gate).cast::<u128>();
                    let mut from = 0;
                    while from + 2 * V::BLOCKS <= L {
                        garble_gate::<V, 2, 8>(&key, first + gate, wires, from, table);
                        from += 2 * V::BLOCKS;
                    }
                    if from < L {
                        garble_gate::<V, 1, 4>(&key, first + gate, wires, from, table);
                    }
                }
            }
        }
    }
}

/// One AND gate in `N` registers of copies, from lane `from` on; `H` is the number of hashes, `4 N`.
///
/// # Safety
/// The machine has the features of `V`; there are `N` registers behind each of the wires plus `from`, and 32
/// bytes of table of each of those copies.
#[inline(always)]
unsafe fn garble_gate<V: Vector, const N: usize, const H: usize>(
    key: &V::Keys,
    gate: usize,
    [a, b, out, delta]: [*mut u128; 4],
    from: usize,
    table: impl Fn(usize) -> *mut u128,
) {
    const { assert!(H == 4 * N) };
    // SAFETY: as the caller vouches.
    unsafe {
        let (tweak_g, tweak_e) = (V::splat(2 * gate as u128), V::splat(2 * gate as u128 + 1));
        let read = |p: *mut u128| -> [V; N] { std::array::from_fn(|n| V::load(p.add(from + n * V::BLOCKS))) };
        let (a, b, delta) = (read(a), read(b), read(delta));
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
    script: &'a Script,
    piece: usize,
    keys: Keys<'a>,
    rows: *mut u128,
    tables: [*const u8; L],
}

impl<const L: usize> Task for Evaluate<'_, L> {
    type Output = ();
    #[inline(always)]
    unsafe fn run<V: Vector>(self) {
        let first = self.script.piece_gates(self.piece).start;
        let mut chunk = 0;
        // SAFETY: the caller vouches for the features of `V`.
        let mut key = unsafe { V::keys(self.keys.keys[0].round_keys()) };
        for Batch { xors, ands } in self.script.batches(self.piece) {
            // SAFETY: as in `Garble`.
            unsafe {
                xor_steps::<V, L>(self.rows, xors);
                for &And { a, b, out, gate } in ands {
                    let gate = gate as usize;
                    if gate / self.keys.gates_per_key != chunk {
                        chunk = gate / self.keys.gates_per_key;
                        key = V::keys(self.keys.keys[chunk].round_keys());
                    }
                    let wires = [a, b, out].map(|slot| self.rows.add(slot as usize * L));
                    let table = |lane: usize| self.tables[lane].add(32 * gate).cast::<u128>();
                    let mut from = 0;
                    while from + 4 * V::BLOCKS <= L {
                        evaluate_gate::<V, 4, 8>(&key, first + gate, wires, from, table);
                        from += 4 * V::BLOCKS;
                    }
                    if from + 2 * V::BLOCKS <= L {
                        evaluate_gate::<V, 2, 4>(&key, first + gate, wires, from, table);
                        from += 2 * V::BLOCKS;
                    }
                    if from < L {
                        evaluate_gate::<V, 1, 2>(&key, first + gate, wires, from, table);
                    }
                }
            }
        }
    }
}

/// The evaluator's side of [`garble_gate`]; `H` is `2 N`.
///
/// # Safety
/// As for [`garble_gate`].
#[inline(always)]
unsafe fn evaluate_gate<V: Vector, const N: usize, const H: usize>(
    key: &V::Keys,
    gate: usize,
    [a, b, out]: [*mut u128; 3],
    from: usize,
    table: impl Fn(usize) -> *const u128,
) {
    const { assert!(H == 2 * N) };
    // SAFETY: as the caller vouches.
    unsafe {
        let (tweak_g, tweak_e) = (V::splat(2 * gate as u128), V::splat(2 * gate as u128 + 1));
        let read = |p: *mut u128| -> [V; N] { std::array::from_fn(|n| V::load(p.add(from + n * V::BLOCKS))) };
        let (a, b) = (read(a), read(b));
        let y: [V; H] = std::array::from_fn(|i| {
            if i < N { a[i].sigma().xor(tweak_g) } else { b[i - N].sigma().xor(tweak_e) }
        });
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

/// `x` if the colour of `label` is set, else 0.
#[inline(always)]
fn if_coloured(label: u128, x: u128) -> u128 {
    (label & 1).wrapping_neg() & x
}

#[inline(always)]
fn sigma(x: u128) -> u128 {
    (x ^ x << 64) & u128::MAX << 64 | x >> 64
}

/// The XORs of a single copy.
///
/// # Safety
/// `rows` has a block for each slot of the script, of which the steps are.
#[inline(always)]
unsafe fn xor_single(rows: *mut u128, steps: &[Xor]) {
    for &Xor { a, b, out } in steps {
        // SAFETY: as the caller vouches.
        unsafe { *rows.add(out as usize) = *rows.add(a as usize) ^ *rows.add(b as usize) };
    }
}

/// Encrypts the `used` gates' blocks of a batch, `B` of them in all: full registers, some of them idle in
/// small batches.
///
/// # Safety
/// The machine has the features of `V`.
#[inline(always)]
unsafe fn encrypt_batch<V: Vector, const B: usize>(key: &V::Keys, used: usize, blocks: &mut [u128; B]) {
    let mut done = 0;
    while done < used {
        // SAFETY: the caller vouches for the features; eight registers, or all blocks that there are, are in
        // `blocks`.
        unsafe {
            let at = blocks.as_mut_ptr().add(done);
            if done + 8 * V::BLOCKS <= B {
                let mut registers = [V::splat(0); 8];
                for (i, x) in registers.iter_mut().enumerate() {
                    *x = V::load(at.add(i * V::BLOCKS));
                }
                for (i, x) in V::encrypt(key, registers).into_iter().enumerate() {
                    x.store(at.add(i * V::BLOCKS));
                }
                done += 8 * V::BLOCKS;
            } else {
                let mut registers = [V::splat(0); 4];
                for (i, x) in registers.iter_mut().enumerate() {
                    *x = V::load(at.add(i * V::BLOCKS));
                }
                for (i, x) in V::encrypt(key, registers).into_iter().enumerate() {
                    x.store(at.add(i * V::BLOCKS));
                }
                done += 4 * V::BLOCKS;
            }
        }
    }
}

struct GarbleOne<'a> {
    script: &'a Script,
    piece: usize,
    keys: Keys<'a>,
    rows: *mut u128,
    tables: *mut u128,
}

impl Task for GarbleOne<'_> {
    type Output = ();
    #[inline(always)]
    unsafe fn run<V: Vector>(self) {
        let first = self.script.piece_gates(self.piece).start;
        // SAFETY: as in `Garble`, with `L` = 1. The tables are written unaligned.
        unsafe {
            let key = V::keys(self.keys.keys[0].round_keys());
            let delta = *self.rows.add(ONE as usize);
            let (sigma_delta, mut y) = (sigma(delta), [0; 4 * BATCH]);
            for Batch { xors, ands } in self.script.batches(self.piece) {
                xor_single(self.rows, xors);
                for (i, g) in ands.iter().enumerate() {
                    let index = 2 * (first + g.gate as usize) as u128;
                    let ya = sigma(*self.rows.add(g.a as usize)) ^ index;
                    let yb = sigma(*self.rows.add(g.b as usize)) ^ (index + 1);
                    y[4 * i..4 * i + 4].copy_from_slice(&[ya, ya ^ sigma_delta, yb, yb ^ sigma_delta]);
                }
                let inputs = y;
                encrypt_batch::<V, { 4 * BATCH }>(&key, 4 * ands.len(), &mut y);
                for (i, g) in ands.iter().enumerate() {
                    let (a, b) = (*self.rows.add(g.a as usize), *self.rows.add(g.b as usize));
                    let [e0, e1, e2, e3] = [y[4 * i], y[4 * i + 1], y[4 * i + 2], y[4 * i + 3]];
                    let t_g = e0 ^ e1 ^ sigma_delta ^ if_coloured(b, delta);
                    let t_e_without_a = e2 ^ e3 ^ sigma_delta;
                    let c = e0
                        ^ inputs[4 * i]
                        ^ e2
                        ^ inputs[4 * i + 2]
                        ^ if_coloured(a, t_g)
                        ^ if_coloured(b, t_e_without_a);
                    *self.rows.add(g.out as usize) = c;
                    self.tables.add(2 * g.gate as usize).write_unaligned(t_g);
                    self.tables.add(2 * g.gate as usize + 1).write_unaligned(t_e_without_a ^ a);
                }
            }
        }
    }
}

struct EvaluateOne<'a> {
    script: &'a Script,
    piece: usize,
    keys: Keys<'a>,
    rows: *mut u128,
    tables: *const u128,
}

impl Task for EvaluateOne<'_> {
    type Output = ();
    #[inline(always)]
    unsafe fn run<V: Vector>(self) {
        let first = self.script.piece_gates(self.piece).start;
        // SAFETY: as in `Evaluate`, with `L` = 1. The tables are read unaligned.
        unsafe {
            let key = V::keys(self.keys.keys[0].round_keys());
            let mut y = [0; 2 * BATCH];
            for Batch { xors, ands } in self.script.batches(self.piece) {
                xor_single(self.rows, xors);
                for (i, g) in ands.iter().enumerate() {
                    let index = 2 * (first + g.gate as usize) as u128;
                    y[2 * i] = sigma(*self.rows.add(g.a as usize)) ^ index;
                    y[2 * i + 1] = sigma(*self.rows.add(g.b as usize)) ^ (index + 1);
                }
                let inputs = y;
                encrypt_batch::<V, { 2 * BATCH }>(&key, 2 * ands.len(), &mut y);
                for (i, g) in ands.iter().enumerate() {
                    let (a, b) = (*self.rows.add(g.a as usize), *self.rows.add(g.b as usize));
                    let t_g = self.tables.add(2 * g.gate as usize).read_unaligned();
                    let t_e = self.tables.add(2 * g.gate as usize + 1).read_unaligned();
                    let hashes = y[2 * i] ^ inputs[2 * i] ^ y[2 * i + 1] ^ inputs[2 * i + 1];
                    *self.rows.add(g.out as usize) = hashes ^ if_coloured(a, t_g) ^ if_coloured(b, t_e ^ a);
                }
            }
        }
    }
}
