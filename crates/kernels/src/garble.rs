//! Half-gates garbling (Zahur, Rosulek, Evans 2015) of several copies of one circuit in lockstep.
//!
//! [`WalkLabels`] stores the labels of one slot side by side for all copies. So each step of the [`GateList`]
//! consists of a few operations on full registers. For a single copy, the AND gates of a layer are processed
//! side by side instead.
//!
//! The hash is `H(x, i) = AES_k(y) ⊕ y` with `y = σ(x) ⊕ i` (Guo, Katz, Wang, Weng, Yu 2020). The index of
//! the half gate is `i`: `2j` and `2j + 1` for AND gate `j`. Since σ is linear, the two `y` of `H(x, i) ⊕
//! H(x ⊕ Δ, i)` add up to `σ(Δ)`.

use crate::lines::AlignedBlocks;
use crate::script::{And, GateList, ONE, ScriptLayer, Xor};
use crate::vector::{Vector, VectorLoop, prefetch};
use crate::{Aes128, Kernel};

/// The possible numbers of copies that are processed together.
pub const LANES: [usize; 4] = [1, 4, 8, 16];

/// The number of AND gates by which the evaluator prefetches tables.
pub(crate) const AHEAD: usize = 16;

/// The number of rows of labels that follow the slots.
const BEHIND: usize = 2;

/// The possible numbers of copies that one call processes, if each AND gate has a word to add to its result.
pub const WORD_LANES: [usize; 2] = [4, 16];

/// The tables of each copy, and the words that are added to the results of its AND gates.
pub struct MaskedTables<'a, 'b> {
    /// The tables to write, 32 bytes a gate.
    pub tables: &'a mut [&'b mut [u8]],
    /// A word for each gate, which the sum overwrites.
    pub words: &'a mut [&'b mut [u128]],
}

/// The labels of a few copies while a [`GateList`] is garbled or evaluated, erased when dropped.
pub struct WalkLabels {
    /// The labels of all lanes, slot after slot. While garbling, two more rows follow: σ(Δ), and Δ if no slot
    /// contains it.
    lines: AlignedBlocks,
    slots: usize,
    lanes: usize,
}

/// The hash keys of a section.
#[derive(Clone, Copy)]
pub struct HashKeys<'a> {
    /// The keys in the order of the gates.
    pub keys: &'a [Aes128],
    /// The number of AND gates under one key.
    pub gates_per_key: usize,
}

impl WalkLabels {
    /// Allocates the labels of `lanes` copies.
    pub fn new(script: &GateList, lanes: usize) -> Self {
        let mut wires = WalkLabels {
            lines: AlignedBlocks::new((script.slots() + BEHIND) * lanes),
            slots: script.slots(),
            lanes: 0,
        };
        wires.set_lanes(lanes);
        wires
    }

    /// Sets the number of copies: one of [`LANES`], at most the number given to [`WalkLabels::new`]. All
    /// labels become invalid.
    ///
    /// # Panics
    /// If this number is not allowed.
    pub fn set_lanes(&mut self, lanes: usize) {
        let fits = (self.slots + BEHIND) * lanes <= self.lines.blocks().len();
        assert!(LANES.contains(&lanes) && fits, "{lanes} lanes");
        self.lanes = lanes;
    }

    /// Sets the label in a slot of a copy. Slot [`ONE`] contains the garbler's offset, whose bit 0 must be 1.
    #[inline]
    pub fn set(&mut self, slot: u32, lane: usize, label: u128) {
        assert!(lane < self.lanes, "there is no lane {lane}; the array has {} lanes", self.lanes);
        self.lines.blocks_mut()[slot as usize * self.lanes + lane] = label;
    }

    /// Returns the label in a slot of a copy.
    #[inline]
    pub fn get(&self, slot: u32, lane: usize) -> u128 {
        assert!(lane < self.lanes, "there is no lane {lane}; the array has {} lanes", self.lanes);
        self.lines.blocks()[slot as usize * self.lanes + lane]
    }

    /// Garbles a section with false labels, and writes the tables: for each AND gate of the section, in
    /// order, the 32 bytes of `T_G ‖ T_E`. Each copy has its own list of `tables`.
    ///
    /// # Panics
    /// If the slots do not fit the script, a table has the wrong length, there are too few keys, or a single
    /// copy has several keys.
    pub fn garble(
        &mut self,
        kernel: Kernel,
        script: &GateList,
        section: usize,
        keys: HashKeys<'_>,
        tables: &mut [&mut [u8]],
    ) {
        self.check(script, section, keys, tables.iter().map(|t| t.len()));
        let (lanes, rows) = (self.lanes, self.lines.blocks_mut().as_mut_ptr());
        let (delta, results) = (ONE, Plain);
        match lanes {
            16 => kernel.run(Garble {
                script,
                section,
                keys,
                rows,
                delta,
                tables: pointers::<_, 16>(tables),
                results,
            }),
            8 => kernel.run(Garble {
                script,
                section,
                keys,
                rows,
                delta,
                tables: pointers::<_, 8>(tables),
                results,
            }),
            4 => kernel.run(Garble {
                script,
                section,
                keys,
                rows,
                delta,
                tables: pointers::<_, 4>(tables),
                results,
            }),
            _ => kernel.for_one_copy().run(GarbleOne {
                script,
                section,
                keys,
                rows,
                tables: tables[0].as_mut_ptr().cast(),
            }),
        }
    }

    /// Evaluates a section with active labels.
    ///
    /// # Panics
    /// As [`WalkLabels::garble`].
    pub fn evaluate(
        &mut self,
        kernel: Kernel,
        script: &GateList,
        section: usize,
        keys: HashKeys<'_>,
        tables: &[&[u8]],
    ) {
        self.check(script, section, keys, tables.iter().map(|t| t.len()));
        let lanes = self.lanes;
        for lane in 0..lanes {
            self.set(ONE, lane, 0);
        }
        let (rows, results) = (self.lines.blocks_mut().as_mut_ptr(), Plain);
        match lanes {
            16 => {
                kernel.run(Evaluate { script, section, keys, rows, tables: starts::<_, 16>(tables), results })
            }
            8 => {
                kernel.run(Evaluate { script, section, keys, rows, tables: starts::<_, 8>(tables), results })
            }
            4 => {
                kernel.run(Evaluate { script, section, keys, rows, tables: starts::<_, 4>(tables), results })
            }
            _ => kernel.for_one_copy().run(EvaluateOne {
                script,
                section,
                keys,
                rows,
                tables: tables[0].as_ptr().cast(),
            }),
        }
    }

    /// Does the same as [`WalkLabels::garble`], with a word for each AND gate of each copy, which is added to
    /// the label of its result. The sum overwrites the word. For the next gates, the last bit of the sum is
    /// cleared. All copies have the offset `delta`, which ends in 1, and input labels end in 0. A negation
    /// adds the label in slot [`ONE`].
    ///
    /// # Panics
    /// As [`WalkLabels::garble`]. [`WalkLabels::garble_with_words`] also panics if the number of copies is
    /// not one of [`WORD_LANES`], or the number of words is wrong.
    pub fn garble_with_words(
        &mut self,
        kernel: Kernel,
        script: &GateList,
        section: usize,
        keys: HashKeys<'_>,
        delta: u128,
        MaskedTables { tables, words }: MaskedTables<'_, '_>,
    ) {
        self.check(script, section, keys, tables.iter().map(|t| t.len()));
        self.check_words(script, section, words.iter().map(|w| w.len()));
        let behind = script.slots() as u32 + 1;
        (0..self.lanes).for_each(|lane| self.set(behind, lane, delta));
        let (lanes, rows, delta) = (self.lanes, self.lines.blocks_mut().as_mut_ptr(), behind);
        if lanes == 16 {
            let (tables, results) = (pointers::<_, 16>(tables), Words::<16, true>::new(words));
            kernel.run(Garble { script, section, keys, rows, delta, tables, results });
        } else {
            let (tables, results) = (pointers::<_, 4>(tables), Words::<4, true>::new(words));
            kernel.run(Garble { script, section, keys, rows, delta, tables, results });
        }
    }

    /// Does the same as [`WalkLabels::evaluate`], with a word for each AND gate of each copy, which is added
    /// to the label of its result. The sum overwrites the word, and is the label of the result.
    ///
    /// # Panics
    /// As [`WalkLabels::garble_with_words`].
    pub fn evaluate_with_words(
        &mut self,
        kernel: Kernel,
        script: &GateList,
        section: usize,
        keys: HashKeys<'_>,
        tables: &[&[u8]],
        words: &mut [&mut [u128]],
    ) {
        self.check(script, section, keys, tables.iter().map(|t| t.len()));
        self.check_words(script, section, words.iter().map(|w| w.len()));
        for lane in 0..self.lanes {
            self.set(ONE, lane, 0);
        }
        let (lanes, rows) = (self.lanes, self.lines.blocks_mut().as_mut_ptr());
        if lanes == 16 {
            let results = Words::<16, false>::new(words);
            kernel.run(Evaluate { script, section, keys, rows, tables: starts::<_, 16>(tables), results });
        } else {
            let results = Words::<4, false>::new(words);
            kernel.run(Evaluate { script, section, keys, rows, tables: starts::<_, 4>(tables), results });
        }
    }

    /// Computes the words of a section's wires by additions only. `results` gives the words of the AND gates'
    /// results, and `operands` receives the words of their operands, two for each gate.
    ///
    /// # Panics
    /// If the slots do not fit the script, the number of copies is not one of [`WORD_LANES`], or the number
    /// of results or operands is wrong.
    pub fn carry(
        &mut self,
        kernel: Kernel,
        script: &GateList,
        section: usize,
        results: &[&[u128]],
        operands: &mut [&mut [u128]],
    ) {
        assert_eq!(self.slots, script.slots(), "the array must have one slot for each slot of the script");
        self.check_words(script, section, results.iter().map(|w| w.len()));
        let twice = 2 * script.section_gates(section).len();
        assert!(
            operands.len() == self.lanes && operands.iter().all(|words| words.len() == twice),
            "each of the {} copies must have {twice} operands",
            self.lanes
        );
        let (lanes, rows) = (self.lanes, self.lines.blocks_mut().as_mut_ptr());
        if lanes == 16 {
            let (results, operands) = (starts::<_, 16>(results), pointers::<_, 16>(operands));
            kernel.run(Carry { script, section, rows, results, operands });
        } else {
            let (results, operands) = (starts::<_, 4>(results), pointers::<_, 4>(operands));
            kernel.run(Carry { script, section, rows, results, operands });
        }
    }

    fn check_words(
        &self,
        script: &GateList,
        section: usize,
        mut words: impl ExactSizeIterator<Item = usize>,
    ) {
        let gates = script.section_gates(section).len();
        assert!(WORD_LANES.contains(&self.lanes), "words cannot have {} lanes", self.lanes);
        assert!(
            words.len() == self.lanes && words.all(|words| words == gates),
            "each of the copies must have the words of {gates} gates; there are {} copies",
            self.lanes
        );
    }

    /// Checks all preconditions of the loops other than the invariant of [`GateList`].
    fn check(
        &self,
        script: &GateList,
        section: usize,
        keys: HashKeys<'_>,
        mut tables: impl ExactSizeIterator<Item = usize>,
    ) {
        let gates = script.section_gates(section).len();
        assert_eq!(self.slots, script.slots(), "the array must have one slot for each slot of the script");
        assert!(
            tables.len() == self.lanes && tables.all(|bytes| bytes == 32 * gates),
            "each of the copies must have the tables of {gates} gates; there are {} copies",
            self.lanes
        );
        assert!(
            self.lanes > 1 || keys.keys.len() == 1,
            "a single copy must have exactly one key for a section"
        );
        assert!(
            keys.gates_per_key > 0 && gates.div_ceil(keys.gates_per_key) <= keys.keys.len(),
            "the keys must be enough for {gates} gates"
        );
    }
}

fn pointers<T, const L: usize>(lists: &mut [&mut [T]]) -> [*mut T; L] {
    std::array::from_fn(|lane| lists[lane].as_mut_ptr())
}

fn starts<T, const L: usize>(lists: &[&[T]]) -> [*const T; L] {
    std::array::from_fn(|lane| lists[lane].as_ptr())
}

/// The functions that the hash of a label applies before and after π.
pub(crate) trait Hash<V: Vector>: Copy {
    /// Returns the label's part of π's input, a linear map of the label.
    ///
    /// # Safety
    /// The machine has the features of `V`. This holds for all methods.
    unsafe fn prepare(self, label: V) -> V;
    /// Returns the part of a sum of hashes that becomes part of a label.
    unsafe fn cut(self, sum: V) -> V;
    /// Returns the colours of labels.
    unsafe fn colours(self, labels: V) -> V::Mask;
}

/// The hash of the protocols: σ, all 128 bits, and colours in bit 0.
#[derive(Clone, Copy)]
struct Sigma;

impl<V: Vector> Hash<V> for Sigma {
    #[inline(always)]
    unsafe fn prepare(self, label: V) -> V {
        // SAFETY: guaranteed by the caller.
        unsafe { label.sigma() }
    }

    #[inline(always)]
    unsafe fn cut(self, sum: V) -> V {
        sum
    }

    #[inline(always)]
    unsafe fn colours(self, labels: V) -> V::Mask {
        // SAFETY: guaranteed by the caller.
        unsafe { labels.colours() }
    }
}

/// Computes XORs. Labels are read and written through `rows`, which has `L` blocks for each slot.
///
/// # Safety
/// The machine has the features of `V`. `rows` has `L` blocks for each slot of the script that contains
/// `steps`.
#[inline(always)]
unsafe fn xor_steps<V: Vector, const L: usize>(rows: *mut u128, steps: &[Xor]) {
    for step in steps {
        // SAFETY: guaranteed by the caller; `L` is a multiple of `V::BLOCKS`.
        unsafe {
            let at = |slot: u32| rows.add(slot as usize * L);
            let (a, b, out) = (at(step.a), at(step.b), at(step.out));
            for z in (0..L).step_by(V::BLOCKS) {
                V::load(a.add(z)).xor(V::load(b.add(z))).store(out.add(z));
            }
        }
    }
}

/// A change of the labels of AND gates' results.
trait Results {
    /// Changes the labels of copies from number `from` on.
    ///
    /// # Safety
    /// The machine has the features of `V`; the gate and the copies belong to the walk.
    unsafe fn of<V: Vector>(&self, gate: usize, from: usize, label: V) -> V;
}

/// Leaves labels as they are.
struct Plain;

impl Results for Plain {
    #[inline(always)]
    unsafe fn of<V: Vector>(&self, _: usize, _: usize, label: V) -> V {
        label
    }
}

/// Adds a word of each gate to its label, and overwrites the word with the sum. While garbling, the last bit
/// of the label is then cleared.
struct Words<const L: usize, const GARBLED: bool>([*mut u128; L]);

impl<const L: usize, const GARBLED: bool> Words<L, GARBLED> {
    fn new(words: &mut [&mut [u128]]) -> Self {
        Words(pointers(words))
    }
}

impl<const L: usize, const GARBLED: bool> Results for Words<L, GARBLED> {
    #[inline(always)]
    unsafe fn of<V: Vector>(&self, gate: usize, from: usize, label: V) -> V {
        // SAFETY: guaranteed by the caller; there is a word for each gate of each copy.
        unsafe {
            let at = |lane: usize| self.0.get_unchecked(from + lane).add(gate);
            let sum = label.xor(V::gather(|lane| at(lane).cast_const()));
            sum.scatter(at);
            if GARBLED { sum.xor_if(sum.colours(), V::splat(1)) } else { sum }
        }
    }
}

struct Garble<'a, const L: usize, R> {
    script: &'a GateList,
    section: usize,
    keys: HashKeys<'a>,
    rows: *mut u128,
    /// The position of Δ: a slot, or a row after the slots.
    delta: u32,
    tables: [*mut u8; L],
    results: R,
}

impl<const L: usize, R: Results> VectorLoop for Garble<'_, L, R> {
    type Output = ();
    #[inline(always)]
    unsafe fn run<V: Vector>(self) {
        let first = self.script.section_gates(self.section).start;
        let mut chunk = 0;
        // SAFETY: the caller guarantees the features of `V`, the row of Δ, and the row after all slots.
        let (mut key, delta, sigma_delta) = unsafe {
            let sigma_delta = self.rows.add(self.script.slots() * L);
            let delta = self.rows.add(self.delta as usize * L);
            for z in (0..L).step_by(V::BLOCKS) {
                V::load(delta.add(z)).sigma().store(sigma_delta.add(z));
            }
            (V::keys(self.keys.keys[0].round_keys()), delta, sigma_delta)
        };
        for (xors, ands) in self.script.layers(self.section).flat_map(|layer| layer.shares(1)) {
            // SAFETY: the caller guarantees the features of `V`. The script's slots are below the number of
            // rows, and a row has `L` blocks, a multiple of `V::BLOCKS`. Gates are below the number of gates
            // of the section, and the tables have 32 bytes for each.
            unsafe {
                xor_steps::<V, L>(self.rows, xors);
                for and in ands {
                    if and.gate as usize / self.keys.gates_per_key != chunk {
                        chunk = and.gate as usize / self.keys.gates_per_key;
                        key = V::keys(self.keys.keys[chunk].round_keys());
                    }
                    let tweak = tweaks::<V>(&key, first + and.gate as usize);
                    // Processes two registers at a time if a row has an even number of them, to keep the AES
                    // unit busy.
                    if const { L.is_multiple_of(2 * V::BLOCKS) } {
                        self.gate::<V, 2, 8>(&key, tweak, [delta, sigma_delta], and);
                    } else {
                        self.gate::<V, 1, 4>(&key, tweak, [delta, sigma_delta], and);
                    }
                }
            }
        }
    }
}

impl<const L: usize, R: Results> Garble<'_, L, R> {
    /// Garbles a gate of all copies, `N` registers at a time.
    ///
    /// # Safety
    /// As for [`garble_gates`]. The gate belongs to the section, `offset` are rows, and `L` is a multiple of
    /// the blocks in `N` registers.
    #[inline(always)]
    unsafe fn gate<V: Vector, const N: usize, const H: usize>(
        &self,
        key: &V::Keys,
        tweak: [V; 2],
        [delta, sigma_delta]: [*mut u128; 2],
        and: &And,
    ) {
        // SAFETY: as in `run`.
        unsafe {
            let row = |slot: u32| self.rows.add(slot as usize * L);
            let (a, b, out, gate) = (row(and.a), row(and.b), row(and.out), and.gate as usize);
            for from in (0..L).step_by(N * V::BLOCKS) {
                let at = |n: usize| from + n * V::BLOCKS;
                garble_gates::<V, N, H>(
                    Sigma,
                    key,
                    |_| tweak,
                    |n| [V::load(a.add(at(n))), V::load(b.add(at(n)))],
                    |n| [V::load(delta.add(at(n))), V::load(sigma_delta.add(at(n)))],
                    |n, label| self.results.of(gate, at(n), label).store(out.add(at(n))),
                    |n, lane| self.tables[at(n) + lane].add(32 * gate).cast(),
                );
            }
        }
    }
}

/// Returns the tweaks of both half gates of gate `gate`, plus the whitening of the key.
///
/// # Safety
/// The machine has the features of `V`.
#[inline(always)]
pub(crate) unsafe fn tweaks<V: Vector>(key: &V::Keys, gate: usize) -> [V; 2] {
    // SAFETY: guaranteed by the caller.
    unsafe {
        let even = V::splat(2 * gate as u128).xor(V::whitening(key));
        [even, even.xor(V::splat(1))]
    }
}

/// Garbles AND gates in `N` registers. `H` is the number of hashes, 4 · `N`. For register `n`, `tweaks`
/// returns the tweaks plus the key's whitening, and `labels` the false labels of both operands. The `offset`
/// is Δ, and Δ prepared by `hash`. The false label of the result goes to `store`, and each block's table to
/// the position that `table` returns.
///
/// # Safety
/// The machine has the features of `V`; there are 32 bytes at each position that `table` returns.
#[inline(always)]
pub(crate) unsafe fn garble_gates<V: Vector, const N: usize, const H: usize>(
    hash: impl Hash<V>,
    key: &V::Keys,
    tweaks: impl Fn(usize) -> [V; 2],
    labels: impl Fn(usize) -> [V; 2],
    offset: impl Fn(usize) -> [V; 2],
    store: impl Fn(usize, V),
    table: impl Fn(usize, usize) -> *mut u128,
) {
    const { assert!(H == 4 * N) };
    // SAFETY: guaranteed by the caller.
    unsafe {
        let mut hashes = [V::splat(0); H];
        let mut forwards = [V::splat(0); N];
        for n in 0..N {
            let ([tweak_g, tweak_e], [a, b], [_, prepared]) = (tweaks(n), labels(n), offset(n));
            let (ya, yb) = (hash.prepare(a).xor(tweak_g), hash.prepare(b).xor(tweak_e));
            (hashes[n], hashes[N + n]) = (ya, ya.xor(prepared));
            (hashes[2 * N + n], hashes[3 * N + n]) = (yb, yb.xor(prepared));
            forwards[n] = ya.xor(yb);
        }
        let e = V::rounds(key, hashes);
        for n in 0..N {
            let ([a, b], [delta, prepared]) = (labels(n), offset(n));
            let (e0, e1, e2, e3) = (e[n], e[N + n], e[2 * N + n], e[3 * N + n]);
            let (colour_a, colour_b) = (hash.colours(a), hash.colours(b));
            // T_G = H(A) ⊕ H(A ⊕ Δ) ⊕ lsb(B)·Δ and T_E = H(B) ⊕ H(B ⊕ Δ) ⊕ A.
            let t_g = hash.cut(e0.xor3(e1, prepared)).xor_if(colour_b, delta);
            let t_e_without_a = hash.cut(e2.xor3(e3, prepared));
            // C = H(A) ⊕ lsb(A)·T_G ⊕ H(B) ⊕ lsb(B)·(T_E ⊕ A).
            let c = hash.cut(e0.xor3(e2, forwards[n])).xor_if(colour_a, t_g).xor_if(colour_b, t_e_without_a);
            store(n, c);
            V::store_pairs(t_g, t_e_without_a.xor(a), |lane| table(n, lane));
        }
    }
}

struct Evaluate<'a, const L: usize, R> {
    script: &'a GateList,
    section: usize,
    keys: HashKeys<'a>,
    rows: *mut u128,
    tables: [*const u8; L],
    results: R,
}

impl<const L: usize, R: Results> VectorLoop for Evaluate<'_, L, R> {
    type Output = ();
    #[inline(always)]
    unsafe fn run<V: Vector>(self) {
        let first = self.script.section_gates(self.section).start;
        let mut chunk = 0;
        // SAFETY: the caller guarantees the features of `V`.
        let mut key = unsafe { V::keys(self.keys.keys[0].round_keys()) };
        // The tables are prefetched, because they are read in an order that the machine does not foresee, and
        // may not be in the cache.
        let fetch = |and: &And| {
            self.tables.iter().for_each(|table| prefetch(table.wrapping_add(32 * and.gate as usize)))
        };
        let (soon, later) =
            self.script.section_ands(self.section).split_at_checked(AHEAD).unwrap_or_default();
        soon.iter().for_each(fetch);
        let mut later = later.iter();
        for (xors, ands) in self.script.layers(self.section).flat_map(|layer| layer.shares(1)) {
            // SAFETY: as in `Garble`.
            unsafe {
                xor_steps::<V, L>(self.rows, xors);
                for and in ands {
                    later.next().map(fetch);
                    if and.gate as usize / self.keys.gates_per_key != chunk {
                        chunk = and.gate as usize / self.keys.gates_per_key;
                        key = V::keys(self.keys.keys[chunk].round_keys());
                    }
                    let tweak = tweaks::<V>(&key, first + and.gate as usize);
                    if const { L.is_multiple_of(4 * V::BLOCKS) } {
                        self.gate::<V, 4, 8>(&key, tweak, and);
                    } else if const { L.is_multiple_of(2 * V::BLOCKS) } {
                        self.gate::<V, 2, 4>(&key, tweak, and);
                    } else {
                        self.gate::<V, 1, 2>(&key, tweak, and);
                    }
                }
            }
        }
    }
}

impl<const L: usize, R: Results> Evaluate<'_, L, R> {
    /// Evaluates a gate of all copies, `N` registers at a time.
    ///
    /// # Safety
    /// As for [`evaluate_gates`]. The gate belongs to the section, and `L` is a multiple of the blocks in `N`
    /// registers.
    #[inline(always)]
    unsafe fn gate<V: Vector, const N: usize, const H: usize>(
        &self,
        key: &V::Keys,
        tweak: [V; 2],
        and: &And,
    ) {
        // SAFETY: as in `run`.
        unsafe {
            let row = |slot: u32| self.rows.add(slot as usize * L);
            let (a, b, out, gate) = (row(and.a), row(and.b), row(and.out), and.gate as usize);
            for from in (0..L).step_by(N * V::BLOCKS) {
                let at = |n: usize| from + n * V::BLOCKS;
                evaluate_gates::<V, N, H>(
                    Sigma,
                    key,
                    |_| tweak,
                    |n| [V::load(a.add(at(n))), V::load(b.add(at(n)))],
                    |n, label| self.results.of(gate, at(n), label).store(out.add(at(n))),
                    |n, lane| self.tables[at(n) + lane].add(32 * gate).cast(),
                );
            }
        }
    }
}

/// Evaluates the gates that [`garble_gates`] garbles. `labels` returns the active labels, and `H` is `2 N`.
///
/// # Safety
/// As for [`garble_gates`].
#[inline(always)]
pub(crate) unsafe fn evaluate_gates<V: Vector, const N: usize, const H: usize>(
    hash: impl Hash<V>,
    key: &V::Keys,
    tweaks: impl Fn(usize) -> [V; 2],
    labels: impl Fn(usize) -> [V; 2],
    store: impl Fn(usize, V),
    table: impl Fn(usize, usize) -> *const u128,
) {
    const { assert!(H == 2 * N) };
    // SAFETY: guaranteed by the caller.
    unsafe {
        let mut hashes = [V::splat(0); H];
        for n in 0..N {
            let ([tweak_g, tweak_e], [a, b]) = (tweaks(n), labels(n));
            hashes[n] = hash.prepare(a).xor(tweak_g);
            hashes[N + n] = hash.prepare(b).xor(tweak_e);
        }
        let mut forwards = [V::splat(0); N];
        for n in 0..N {
            forwards[n] = hashes[n].xor(hashes[N + n]);
        }
        let e = V::rounds(key, hashes);
        for n in 0..N {
            let [a, b] = labels(n);
            let (t_g, t_e) = V::load_pairs(|lane| table(n, lane));
            // C = H(A) ⊕ lsb(A)·T_G ⊕ H(B) ⊕ lsb(B)·(T_E ⊕ A).
            let c = hash.cut(e[n].xor3(e[N + n], forwards[n]));
            store(n, c.xor_if(hash.colours(a), t_g).xor_if(hash.colours(b), t_e.xor(a)));
        }
    }
}

struct Carry<'a, const L: usize> {
    script: &'a GateList,
    section: usize,
    rows: *mut u128,
    results: [*const u128; L],
    operands: [*mut u128; L],
}

impl<const L: usize> VectorLoop for Carry<'_, L> {
    type Output = ();
    #[inline(always)]
    unsafe fn run<V: Vector>(self) {
        for ScriptLayer { xors, ands } in self.script.layers(self.section) {
            // SAFETY: as in `Garble`; there are a result and two operands for each gate of each copy.
            unsafe {
                xor_steps::<V, L>(self.rows, xors);
                for &And { a, b, out, gate } in ands {
                    let row = |slot: u32| self.rows.add(slot as usize * L);
                    let (a, b, out) = (row(a), row(b), row(out));
                    for from in (0..L).step_by(V::BLOCKS) {
                        let operand = |lane: usize| self.operands[from + lane].add(2 * gate as usize);
                        V::store_pairs(V::load(a.add(from)), V::load(b.add(from)), operand);
                        let result = V::gather(|lane| self.results[from + lane].add(gate as usize));
                        result.store(out.add(from));
                    }
                }
            }
        }
    }
}

/// AND gates of a layer, one in each block of a few registers. If there are too few gates, the last one is
/// repeated.
#[derive(Clone, Copy)]
struct Few<'a> {
    ands: &'a [And],
    /// The number of the section's first gate.
    first: usize,
}

impl<'a> Few<'a> {
    /// Removes the next gates of a layer for `N` registers, each of which has at least one gate. A register
    /// without a gate of its own would repeat a gate whose result may have overwritten an operand.
    #[inline(always)]
    fn take<V: Vector, const N: usize>(ands: &mut &'a [And], first: usize) -> Option<Self> {
        if ands.len() <= (N - 1) * V::BLOCKS {
            return None;
        }
        let (taken, rest) = ands.split_at(ands.len().min(N * V::BLOCKS));
        *ands = rest;
        Some(Few { ands: taken, first })
    }

    #[inline(always)]
    fn gate<V: Vector>(self, n: usize, lane: usize) -> &'a And {
        // SAFETY: `take` takes at least one gate.
        unsafe { self.ands.get_unchecked((n * V::BLOCKS + lane).min(self.ands.len() - 1)) }
    }

    /// Returns the [`tweaks`] of the gates in register `n`.
    ///
    /// # Safety
    /// The machine has the features of `V`.
    #[inline(always)]
    unsafe fn tweaks<V: Vector>(self, key: &V::Keys, n: usize) -> [V; 2] {
        let mut even = [0; 4];
        for (lane, tweak) in even[..V::BLOCKS].iter_mut().enumerate() {
            *tweak = 2 * (self.first + self.gate::<V>(n, lane).gate as usize) as u128;
        }
        // SAFETY: guaranteed by the caller; a register has at most four blocks.
        unsafe {
            let even = V::gather(|lane| &raw const even[lane]).xor(V::whitening(key));
            [even, even.xor(V::splat(1))]
        }
    }

    /// Returns the labels of both operands of the gates in register `n`.
    ///
    /// # Safety
    /// The machine has the features of `V`, and `rows` has a block for each slot.
    #[inline(always)]
    unsafe fn labels<V: Vector>(self, rows: *const u128, n: usize) -> [V; 2] {
        // SAFETY: guaranteed by the caller.
        unsafe {
            [
                V::gather(|lane| rows.add(self.gate::<V>(n, lane).a as usize)),
                V::gather(|lane| rows.add(self.gate::<V>(n, lane).b as usize)),
            ]
        }
    }
}

struct GarbleOne<'a> {
    script: &'a GateList,
    section: usize,
    keys: HashKeys<'a>,
    rows: *mut u128,
    tables: *mut u128,
}

impl GarbleOne<'_> {
    /// Garbles gates in `N` registers.
    ///
    /// # Safety
    /// The conditions of [`garble_gates`] hold. In addition, all gates of `few` belong to `section`.
    #[inline(always)]
    unsafe fn gates<V: Vector, const N: usize, const H: usize>(
        &self,
        key: &V::Keys,
        offset: [V; 2],
        few: Few<'_>,
    ) {
        // SAFETY: as in `Garble`, with `L` = 1.
        unsafe {
            garble_gates::<V, N, H>(
                Sigma,
                key,
                |n| few.tweaks::<V>(key, n),
                |n| few.labels::<V>(self.rows, n),
                |_| offset,
                |n, label| label.scatter(|k| self.rows.add(few.gate::<V>(n, k).out as usize)),
                |n, k| self.tables.add(2 * few.gate::<V>(n, k).gate as usize),
            );
        }
    }
}

impl VectorLoop for GarbleOne<'_> {
    type Output = ();
    #[inline(always)]
    unsafe fn run<V: Vector>(self) {
        let first = self.script.section_gates(self.section).start;
        // SAFETY: as in `Garble`, with `L` = 1.
        unsafe {
            let key = V::keys(self.keys.keys[0].round_keys());
            let delta = V::splat(*self.rows.add(ONE as usize));
            let offset = [delta, delta.sigma()];
            for (xors, mut ands) in
                self.script.layers(self.section).flat_map(|layer| layer.shares(2 * V::BLOCKS))
            {
                xor_steps::<V::One, 1>(self.rows, xors);
                if let Some(few) = Few::take::<V, 2>(&mut ands, first) {
                    self.gates::<V, 2, 8>(&key, offset, few);
                }
                if let Some(few) = Few::take::<V, 1>(&mut ands, first) {
                    self.gates::<V, 1, 4>(&key, offset, few);
                }
            }
        }
    }
}

struct EvaluateOne<'a> {
    script: &'a GateList,
    section: usize,
    keys: HashKeys<'a>,
    rows: *mut u128,
    tables: *const u128,
}

impl EvaluateOne<'_> {
    /// Evaluates gates in `N` registers.
    ///
    /// # Safety
    /// The conditions of [`evaluate_gates`] hold. In addition, all gates of `few` belong to `section`.
    #[inline(always)]
    unsafe fn gates<V: Vector, const N: usize, const H: usize>(&self, key: &V::Keys, few: Few<'_>) {
        // SAFETY: as in `Evaluate`, with `L` = 1.
        unsafe {
            evaluate_gates::<V, N, H>(
                Sigma,
                key,
                |n| few.tweaks::<V>(key, n),
                |n| few.labels::<V>(self.rows, n),
                |n, label| label.scatter(|k| self.rows.add(few.gate::<V>(n, k).out as usize)),
                |n, k| self.tables.add(2 * few.gate::<V>(n, k).gate as usize),
            );
        }
    }
}

impl VectorLoop for EvaluateOne<'_> {
    type Output = ();
    #[inline(always)]
    unsafe fn run<V: Vector>(self) {
        let first = self.script.section_gates(self.section).start;
        // SAFETY: as in `Evaluate`, with `L` = 1.
        unsafe {
            let key = V::keys(self.keys.keys[0].round_keys());
            for (xors, mut ands) in
                self.script.layers(self.section).flat_map(|layer| layer.shares(4 * V::BLOCKS))
            {
                xor_steps::<V::One, 1>(self.rows, xors);
                if let Some(few) = Few::take::<V, 4>(&mut ands, first) {
                    self.gates::<V, 4, 8>(&key, few);
                }
                if let Some(few) = Few::take::<V, 2>(&mut ands, first) {
                    self.gates::<V, 2, 4>(&key, few);
                }
                if let Some(few) = Few::take::<V, 1>(&mut ands, first) {
                    self.gates::<V, 1, 2>(&key, few);
                }
            }
        }
    }
}
