//! Garbling with dual-key ciphers from a fixed-key permutation (Bellare, Hoang, Keelveedhi, Rogaway 2013):
//! Ga, GaX and GaXR of their figure 3, and half-gates with and without privacy by the same ciphers.
//!
//! A register contains a token of a wire for as many copies as it has blocks. Every copy has its own key of
//! π, so its result does not depend on other copies. Here the AND gates of a [`GateList`] are the gates with
//! rows, which may have any function, and its XORs are the gates without rows. The independent gates of a
//! layer are processed together, so that several AES computations run side by side.
//!
//! A token is the first 128 or 80 bits of a block, where bit 127 is the first one. All other bits are zero.
//! The last bit of a token is its type. The ciphers are `E(A, B, T, X) = π(K)[1:k] ⊕ K[1:k] ⊕ X` with `K = 2A
//! ⊕ 4B ⊕ T` or `K = A ⊕ B ⊕ T`, where T is added to the last bits of the block.

mod cipher;
mod double;
mod evaluate;
mod garble;
mod walk;

use std::marker::PhantomData;

use crate::lines::AlignedBlocks;
use crate::script::GateList;
use crate::vector::{Vector, VectorLoop};
use crate::{Aes128, Kernel};
pub use cipher::{Carry, CopyKeys, Doubling, DualKey, LoopGates, Style};
use double::{HalvesRight, LeftDoubling, Right, Same};
use evaluate::{EvaluateLoop, EvaluatedRows};
use garble::{Free, Ga, GarbleLoop, HalfGatesRows, PrivacyFree};

/// The tokens of a few copies while a circuit is garbled or evaluated, erased when dropped.
pub struct Tokens {
    kernel: Kernel,
    style: Style,
    cipher: DualKey,
    /// The tokens of all lanes, slot after slot. For [`Style::Ga`], the tokens for 0 come before those for 1.
    lines: AlignedBlocks,
    slots: usize,
    lanes: usize,
    /// The number of tokens of a slot and a lane.
    each: usize,
}

impl Tokens {
    /// Allocates a garbler's tokens, for as many copies as a register of this kernel has blocks.
    ///
    /// # Panics
    /// If a token does not have 80 or 128 bits.
    pub fn of_garbler(kernel: Kernel, style: Style, cipher: DualKey, script: &GateList) -> Self {
        Self::new(kernel, style, cipher, script, style.tokens())
    }

    /// Allocates an evaluator's tokens, one for each wire, for as many copies as a register has blocks.
    ///
    /// # Panics
    /// If a token does not have 80 or 128 bits.
    pub fn of_evaluator(kernel: Kernel, style: Style, cipher: DualKey, script: &GateList) -> Self {
        Self::new(kernel, style, cipher, script, 1)
    }

    fn new(kernel: Kernel, style: Style, cipher: DualKey, script: &GateList, each: usize) -> Self {
        let is_known = cipher.bits == 128 || cipher.bits == 80 && cipher.doubling != Doubling::HalvesRight;
        assert!(is_known, "tokens cannot have {} bits", cipher.bits);
        let lanes = kernel.run(Lanes);
        let lines = AlignedBlocks::new(script.slots() * each * lanes);
        Tokens { kernel, style, cipher, lines, slots: script.slots(), lanes, each }
    }

    /// Returns the number of copies that are processed side by side.
    pub fn lanes(&self) -> usize {
        self.lanes
    }

    /// Sets the tokens of all lanes in `slots` slots from `first` on. `token` returns the token for a lane, a
    /// slot (counted from 0) and a bit. A garbler with [`Style::Ga`] has tokens for both bits, and other
    /// garblers only for 0. For an evaluator, the token of bit 0 is the active one.
    ///
    /// # Panics
    /// If the slots do not exist.
    #[inline]
    pub fn set(&mut self, first: u32, slots: usize, token: impl Fn(usize, usize, usize) -> u128) {
        let (each, first) = (self.each, first as usize);
        assert!(
            first + slots <= self.slots,
            "the range of {slots} slots from {first} on must lie in the array"
        );
        let row = each * self.lanes;
        let rows = self.lines.blocks_mut()[first * row..(first + slots) * row].chunks_exact_mut(row);
        for (slot, row) in rows.enumerate() {
            for (bit, lanes) in row.chunks_exact_mut(row.len() / each).enumerate() {
                lanes.iter_mut().enumerate().for_each(|(lane, to)| *to = token(lane, slot, bit));
            }
        }
    }

    /// Returns the token in a slot of a copy. `bit` is 1 for the second token of a garbler with
    /// [`Style::Ga`], and otherwise 0.
    ///
    /// # Panics
    /// If the slot does not exist.
    #[inline]
    pub fn get(&self, slot: u32, lane: usize, bit: usize) -> u128 {
        assert!((slot as usize) < self.slots && lane < self.lanes && bit < self.each);
        self.lines.blocks()[(slot as usize * self.each + bit) * self.lanes + lane]
    }

    /// Garbles all gates of the copies, and writes the rows of each copy into its own list of `rows`. Slot
    /// [`ONE`](crate::ONE) must contain the offset, or without privacy the offset without its last bit. Lanes
    /// without a copy must have the tokens of the first copy.
    ///
    /// # Panics
    /// If the numbers of slots, tweaks, functions, keys or rows do not fit the script.
    pub fn garble(&mut self, gates: LoopGates<'_>, keys: &[CopyKeys], rows: &mut [&mut [u128]]) {
        let lengths = rows.iter().map(|rows| rows.len());
        assert_eq!(
            self.each,
            self.style.tokens(),
            "the array must have as many tokens for each slot as a garbler needs"
        );
        self.check(gates, keys.len(), lengths, true);
        let of_lane = |lane: usize| if lane < keys.len() { lane } else { 0 };
        let task = GarbleLoop {
            gates,
            cipher: self.cipher,
            permutations: std::array::from_fn(|lane| &keys[of_lane(lane)].permutation),
            draws: std::array::from_fn(|lane| &keys[of_lane(lane)].tokens),
            tokens: self.lines.blocks_mut().as_mut_ptr(),
            rows: std::array::from_fn(|lane| rows[of_lane(lane)].as_mut_ptr()),
            doubling: (),
            style: PhantomData::<()>,
        };
        match (self.cipher.doubling, self.style) {
            (Doubling::None, Style::Ga) => self.kernel.run(task.of(Same, Ga)),
            (Doubling::HalvesRight, Style::Ga) => self.kernel.run(task.of(HalvesRight, Ga)),
            (Doubling::Left(carry), Style::Ga) => self.kernel.run(task.of(LeftDoubling(carry), Ga)),
            (Doubling::Right(carry), Style::Ga) => self.kernel.run(task.of(Right(carry), Ga)),
            (Doubling::None, _) => panic!("a cipher that adds its keys is insecure with an offset"),
            (Doubling::HalvesRight, Style::GaX) => self.kernel.run(task.of(HalvesRight, Free::<false>)),
            (Doubling::Left(carry), Style::GaX) => {
                self.kernel.run(task.of(LeftDoubling(carry), Free::<false>))
            }
            (Doubling::Right(carry), Style::GaX) => self.kernel.run(task.of(Right(carry), Free::<false>)),
            (Doubling::HalvesRight, Style::GaXR) => self.kernel.run(task.of(HalvesRight, Free::<true>)),
            (Doubling::Left(carry), Style::GaXR) => {
                self.kernel.run(task.of(LeftDoubling(carry), Free::<true>))
            }
            (Doubling::Right(carry), Style::GaXR) => self.kernel.run(task.of(Right(carry), Free::<true>)),
            (Doubling::Left(carry), Style::HalfGates) => {
                self.kernel.run(task.of(LeftDoubling(carry), HalfGatesRows))
            }
            (Doubling::Left(carry), Style::PrivacyFree) => {
                self.kernel.run(task.of(LeftDoubling(carry), PrivacyFree))
            }
            (_, Style::HalfGates | Style::PrivacyFree) => {
                panic!("half-gates need a doubling by multiplication in the field")
            }
        }
    }

    /// Evaluates all gates of the copies on active tokens. Slot [`ONE`](crate::ONE) must contain zero, or
    /// without privacy the last bit of a token.
    ///
    /// # Panics
    /// As [`Tokens::garble`], but functions exist only without privacy.
    pub fn evaluate(&mut self, gates: LoopGates<'_>, permutations: &[&Aes128], rows: &[&[u128]]) {
        let lengths = rows.iter().map(|rows| rows.len());
        assert_eq!(self.each, 1, "an evaluator's array must have one token for each slot");
        self.check(gates, permutations.len(), lengths, self.style == Style::PrivacyFree);
        let of_lane = |lane: usize| if lane < permutations.len() { lane } else { 0 };
        let task = EvaluateLoop {
            gates,
            cipher: self.cipher,
            permutations: std::array::from_fn(|lane| permutations[of_lane(lane)]),
            tokens: self.lines.blocks_mut().as_mut_ptr(),
            rows: std::array::from_fn(|lane| rows[of_lane(lane)].as_ptr()),
            doubling: (),
            style: PhantomData::<()>,
        };
        match (self.cipher.doubling, self.style) {
            (Doubling::None, Style::Ga) => self.kernel.run(task.of(Same, EvaluatedRows::<false>)),
            (Doubling::HalvesRight, Style::Ga | Style::GaX) => {
                self.kernel.run(task.of(HalvesRight, EvaluatedRows::<false>))
            }
            (Doubling::Left(carry), Style::Ga | Style::GaX) => {
                self.kernel.run(task.of(LeftDoubling(carry), EvaluatedRows::<false>))
            }
            (Doubling::Right(carry), Style::Ga | Style::GaX) => {
                self.kernel.run(task.of(Right(carry), EvaluatedRows::<false>))
            }
            (Doubling::None, _) => panic!("a cipher that adds its keys is insecure with an offset"),
            (Doubling::HalvesRight, Style::GaXR) => {
                self.kernel.run(task.of(HalvesRight, EvaluatedRows::<true>))
            }
            (Doubling::Left(carry), Style::GaXR) => {
                self.kernel.run(task.of(LeftDoubling(carry), EvaluatedRows::<true>))
            }
            (Doubling::Right(carry), Style::GaXR) => {
                self.kernel.run(task.of(Right(carry), EvaluatedRows::<true>))
            }
            (Doubling::Left(carry), Style::HalfGates) => {
                self.kernel.run(task.of(LeftDoubling(carry), HalfGatesRows))
            }
            (Doubling::Left(carry), Style::PrivacyFree) => {
                self.kernel.run(task.of(LeftDoubling(carry), PrivacyFree))
            }
            (_, Style::HalfGates | Style::PrivacyFree) => {
                panic!("half-gates need a doubling by multiplication in the field")
            }
        }
    }

    /// Checks all preconditions of the loops other than the invariant of [`GateList`].
    fn check(
        &self,
        gates: LoopGates<'_>,
        copies: usize,
        mut rows: impl ExactSizeIterator<Item = usize>,
        has_functions: bool,
    ) {
        let count = gates.script.and_gates();
        assert_eq!(
            self.slots,
            gates.script.slots(),
            "the array must have one slot for each slot of the script"
        );
        assert!((1..=self.lanes).contains(&copies), "{copies} copies do not fit into {} lanes", self.lanes);
        assert!(
            rows.len() == copies && rows.all(|rows| rows == self.style.rows() * count),
            "each of the {copies} copies must have the rows of {count} gates"
        );
        assert_eq!(gates.tweaks.len(), count, "each gate must have a tweak");
        if has_functions {
            assert_eq!(gates.functions.len(), count, "each gate must have a function");
        }
    }
}

/// Returns the number of blocks of a register.
struct Lanes;

impl VectorLoop for Lanes {
    type Output = usize;
    #[inline(always)]
    unsafe fn run<V: Vector>(self) -> usize {
        V::BLOCKS
    }
}
