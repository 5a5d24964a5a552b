//! Garbling with dual-key ciphers made of a fixed-key permutation (Bellare, Hoang, Keelveedhi, Rogaway 2013): Ga,
//! GaX and GaXR of their figure 3, and half-gates with and without privacy with the same ciphers.
//!
//! A register holds the tokens of a wire in as many copies as it has blocks; every copy has a key of π of its own,
//! so a copy is what it would be alone. The AND gates of a [`Script`] are the gates with rows here, whatever their
//! function is, its XORs the gates without. The independent gates of a batch are in flight together.
//!
//! A token is the first 128 or 80 bits of a block, of which bit 127 is the first one; the others are zero. The
//! last bit of a token is its type. The ciphers are `E(A, B, T, X) = π(K)[1:k] ⊕ K[1:k] ⊕ X` with `K = 2A ⊕ 4B ⊕ T`
//! or `K = A ⊕ B ⊕ T`, where T is added to the last bits of the block.

use std::marker::PhantomData;

use crate::garble::{self, Hash};
use crate::lines::Lines;
use crate::script::{And, ONE, PIECE, Script, Xor};
use crate::vector::{Task, Vector};
use crate::{Aes128, Kernel};

/// How gates are garbled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// Four rows, and two tokens for a wire that have nothing to do with each other.
    Ga,
    /// Four rows, and tokens that differ by the copy's offset, as in all that follow.
    GaX,
    /// Three rows.
    GaXR,
    /// Two rows.
    HalfGates,
    /// One row; the type of a token is the wire's bit.
    PrivacyFree,
}

impl Style {
    /// Rows of a gate.
    pub const fn rows(self) -> usize {
        match self {
            Style::Ga | Style::GaX => 4,
            Style::GaXR => 3,
            Style::HalfGates => 2,
            Style::PrivacyFree => 1,
        }
    }

    /// Tokens that a garbler keeps of a wire: both, or that for 0 alone.
    pub const fn tokens(self) -> usize {
        match self {
            Style::Ga => 2,
            _ => 1,
        }
    }
}

/// What 2A is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doubling {
    /// A itself: keys add up.
    None,
    /// Each half of the block shifted to the right by one bit; for tokens of 128 bits.
    HalvesRight,
    /// The halves shifted to the left, and what is carried.
    Left(Carry),
    /// The halves shifted to the right, and what is carried.
    Right(Carry),
}

/// What goes on where the halves of a block are shifted: each half gets its half of `value` if the other half has
/// a bit of what `test` has in the place of this one; then bits that are not in `keep` go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Carry {
    /// Bits that are looked for in the other half.
    pub test: u128,
    /// What is added where there is one.
    pub value: u128,
    /// What remains.
    pub keep: u128,
}

/// A dual-key cipher.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DualKey {
    /// How the keys go into K.
    pub doubling: Doubling,
    /// Bits of a token: 128 or 80.
    pub bits: u32,
}

impl DualKey {
    /// The bits of a block that are a token's.
    fn token(self) -> u128 {
        u128::MAX << (128 - self.bits)
    }

    /// The last bit of a token.
    fn last(self) -> u128 {
        1 << (128 - self.bits)
    }

    /// For [`Vector::colours_at`]: the byte with the last bit of a token.
    fn byte_of_last(self) -> u128 {
        u128::from((128 - self.bits) / 8) * (u128::MAX / 255)
    }
}

/// A circuit as the loops take it.
#[derive(Clone, Copy)]
pub struct Gates<'a> {
    /// Its steps: gates with rows in the place of AND gates.
    pub script: &'a Script,
    /// The tweak of each gate with rows, in order; a block each, as that is read into all blocks of a register at
    /// once.
    pub tweaks: &'a [u128],
    /// The function of each gate with rows, for the garbler, and for the evaluator where there is no privacy: bit
    /// 2a + b is its value. It must not be linear with half-gates and without privacy.
    pub functions: &'a [u8],
}

/// The keys of a copy.
pub struct CopyKeys {
    /// Of π, which everybody may know.
    pub permutation: Aes128,
    /// Of the copy's tokens, which are the garbler's secret: counter mode of the number of what is drawn.
    pub tokens: Aes128,
}

/// The tokens of a few copies on their way through a [`Script`]; wiped when dropped.
pub struct Tokens {
    kernel: Kernel,
    style: Style,
    cipher: DualKey,
    /// Slot after slot the tokens of all lanes, for [`Style::Ga`] those for 0 before those for 1.
    lines: Lines,
    slots: usize,
    lanes: usize,
    /// Tokens of a slot and a lane.
    each: usize,
}

impl Tokens {
    /// Makes room for a garbler's tokens of as many copies as a register of this kernel has blocks.
    ///
    /// # Panics
    /// If tokens have neither 80 nor 128 bits.
    pub fn of_garbler(kernel: Kernel, style: Style, cipher: DualKey, script: &Script) -> Self {
        Self::new(kernel, style, cipher, script, style.tokens())
    }

    /// Makes room for an evaluator's tokens, of which each wire has one, as [`Tokens::of_garbler`] does.
    ///
    /// # Panics
    /// Like it.
    pub fn of_evaluator(kernel: Kernel, style: Style, cipher: DualKey, script: &Script) -> Self {
        Self::new(kernel, style, cipher, script, 1)
    }

    fn new(kernel: Kernel, style: Style, cipher: DualKey, script: &Script, each: usize) -> Self {
        let is_known = cipher.bits == 128 || cipher.bits == 80 && cipher.doubling != Doubling::HalvesRight;
        assert!(is_known, "tokens of {} bits", cipher.bits);
        let lanes = kernel.run(Lanes);
        let lines = Lines::new(script.slots() * each * lanes);
        Tokens { kernel, style, cipher, lines, slots: script.slots(), lanes, each }
    }

    /// Returns how many copies go side by side.
    pub fn lanes(&self) -> usize {
        self.lanes
    }

    /// Sets the tokens of all lanes in so many slots from a first one on: `token` gives for a lane, a slot, counted
    /// from 0, and a bit the token; a garbler with [`Style::Ga`] gives those of both bits, and others that for 0. The
    /// evaluator's, for bit 0, are the active ones.
    ///
    /// # Panics
    /// If there are no such slots.
    #[inline]
    pub fn set(&mut self, first: u32, slots: usize, token: impl Fn(usize, usize, usize) -> u128) {
        let (each, first) = (self.each, first as usize);
        assert!(first + slots <= self.slots, "{slots} slots from {first} on");
        let row = each * self.lanes;
        let rows = self.lines.blocks_mut()[first * row..(first + slots) * row].chunks_exact_mut(row);
        for (slot, row) in rows.enumerate() {
            for (bit, lanes) in row.chunks_exact_mut(row.len() / each).enumerate() {
                lanes.iter_mut().enumerate().for_each(|(lane, to)| *to = token(lane, slot, bit));
            }
        }
    }

    /// Returns the token in a slot of a copy, as [`Tokens::set`] sets it; `bit` is 1 for the second one of a garbler
    /// with [`Style::Ga`].
    ///
    /// # Panics
    /// If there is no such slot.
    #[inline]
    pub fn get(&self, slot: u32, lane: usize, bit: usize) -> u128 {
        assert!((slot as usize) < self.slots && lane < self.lanes && bit < self.each);
        self.lines.blocks()[(slot as usize * self.each + bit) * self.lanes + lane]
    }

    /// Garbles copies: walks through all gates with the tokens of both bits, and writes the rows of each gate of
    /// each copy into its own of `rows`. Slot [`ONE`] is to hold the offset, or without privacy the offset without
    /// its last bit. Lanes without a copy are to have the tokens of the first one.
    ///
    /// # Panics
    /// If the slots are not those of the script, there is not a tweak and a function for each gate with rows, or
    /// not a place for each row of a copy.
    pub fn garble(&mut self, gates: Gates<'_>, keys: &[CopyKeys], rows: &mut [&mut [u128]]) {
        let lengths = rows.iter().map(|rows| rows.len());
        assert_eq!(self.each, self.style.tokens(), "tokens of a garbler");
        self.check(gates, keys.len(), lengths, true);
        let of_lane = |lane: usize| if lane < keys.len() { lane } else { 0 };
        let task = Garble {
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
            (Doubling::Left(carry), Style::Ga) => self.kernel.run(task.of(Left(carry), Ga)),
            (Doubling::Right(carry), Style::Ga) => self.kernel.run(task.of(Right(carry), Ga)),
            (Doubling::None, _) => panic!("keys that add up do not bear an offset"),
            (Doubling::HalvesRight, Style::GaX) => self.kernel.run(task.of(HalvesRight, Free::<false>)),
            (Doubling::Left(carry), Style::GaX) => self.kernel.run(task.of(Left(carry), Free::<false>)),
            (Doubling::Right(carry), Style::GaX) => self.kernel.run(task.of(Right(carry), Free::<false>)),
            (Doubling::HalvesRight, Style::GaXR) => self.kernel.run(task.of(HalvesRight, Free::<true>)),
            (Doubling::Left(carry), Style::GaXR) => self.kernel.run(task.of(Left(carry), Free::<true>)),
            (Doubling::Right(carry), Style::GaXR) => self.kernel.run(task.of(Right(carry), Free::<true>)),
            (Doubling::Left(carry), Style::HalfGates) => self.kernel.run(task.of(Left(carry), HalfGates)),
            (Doubling::Left(carry), Style::PrivacyFree) => self.kernel.run(task.of(Left(carry), PrivacyFree)),
            (_, Style::HalfGates | Style::PrivacyFree) => panic!("half-gates double in the field"),
        }
    }

    /// Evaluates copies: walks through all gates with active tokens; the counterpart of [`Tokens::garble`]. Slot
    /// [`ONE`] is to hold zero, or without privacy the last bit of a token.
    ///
    /// # Panics
    /// Like [`Tokens::garble`], but that there are functions only where there is no privacy.
    pub fn evaluate(&mut self, gates: Gates<'_>, permutations: &[&Aes128], rows: &[&[u128]]) {
        let lengths = rows.iter().map(|rows| rows.len());
        assert_eq!(self.each, 1, "tokens of an evaluator");
        self.check(gates, permutations.len(), lengths, self.style == Style::PrivacyFree);
        let of_lane = |lane: usize| if lane < permutations.len() { lane } else { 0 };
        let task = Evaluate {
            gates,
            cipher: self.cipher,
            permutations: std::array::from_fn(|lane| permutations[of_lane(lane)]),
            tokens: self.lines.blocks_mut().as_mut_ptr(),
            rows: std::array::from_fn(|lane| rows[of_lane(lane)].as_ptr()),
            doubling: (),
            style: PhantomData::<()>,
        };
        match (self.cipher.doubling, self.style) {
            (Doubling::None, Style::Ga) => self.kernel.run(task.of(Same, Rows::<false>)),
            (Doubling::HalvesRight, Style::Ga | Style::GaX) => {
                self.kernel.run(task.of(HalvesRight, Rows::<false>))
            }
            (Doubling::Left(carry), Style::Ga | Style::GaX) => {
                self.kernel.run(task.of(Left(carry), Rows::<false>))
            }
            (Doubling::Right(carry), Style::Ga | Style::GaX) => {
                self.kernel.run(task.of(Right(carry), Rows::<false>))
            }
            (Doubling::None, _) => panic!("keys that add up do not bear an offset"),
            (Doubling::HalvesRight, Style::GaXR) => self.kernel.run(task.of(HalvesRight, Rows::<true>)),
            (Doubling::Left(carry), Style::GaXR) => self.kernel.run(task.of(Left(carry), Rows::<true>)),
            (Doubling::Right(carry), Style::GaXR) => self.kernel.run(task.of(Right(carry), Rows::<true>)),
            (Doubling::Left(carry), Style::HalfGates) => self.kernel.run(task.of(Left(carry), HalfGates)),
            (Doubling::Left(carry), Style::PrivacyFree) => self.kernel.run(task.of(Left(carry), PrivacyFree)),
            (_, Style::HalfGates | Style::PrivacyFree) => panic!("half-gates double in the field"),
        }
    }

    /// Checks everything that the loops take for granted besides the invariant of [`Script`].
    fn check(
        &self,
        gates: Gates<'_>,
        copies: usize,
        mut rows: impl ExactSizeIterator<Item = usize>,
        has_functions: bool,
    ) {
        let count = gates.script.and_gates();
        assert_eq!(self.slots, gates.script.slots(), "tokens of this script");
        assert!((1..=self.lanes).contains(&copies), "{copies} copies in {} lanes", self.lanes);
        assert!(
            rows.len() == copies && rows.all(|rows| rows == self.style.rows() * count),
            "rows of {count} gates for {copies} copies"
        );
        assert_eq!(gates.tweaks.len(), count, "a tweak for each gate");
        if has_functions {
            assert_eq!(gates.functions.len(), count, "a function for each gate");
        }
    }
}

/// Blocks of a register.
struct Lanes;

impl Task for Lanes {
    type Output = usize;
    #[inline(always)]
    unsafe fn run<V: Vector>(self) -> usize {
        V::BLOCKS
    }
}

/// How 2A is computed.
trait Double: Copy {
    /// Whether a token is known to fill its block, so that nothing of a mask is cut off.
    const IS_LONG: bool = false;
    /// Constants in registers.
    type Constants<V: Vector>: Copy;
    /// # Safety
    /// The machine has the features of `V`; so for all methods.
    unsafe fn constants<V: Vector>(self) -> Self::Constants<V>;
    /// Returns 2A.
    unsafe fn double<V: Vector>(constants: &Self::Constants<V>, a: V) -> V;
    /// Returns 4A.
    #[inline(always)]
    unsafe fn quadruple<V: Vector>(constants: &Self::Constants<V>, a: V) -> V {
        // SAFETY: as the caller vouches.
        unsafe { Self::double(constants, Self::double(constants, a)) }
    }
    /// Returns 2A ⊕ 4B.
    #[inline(always)]
    unsafe fn combine<V: Vector>(constants: &Self::Constants<V>, a: V, b: V) -> V {
        // SAFETY: as the caller vouches. Doubling is linear.
        unsafe { Self::double(constants, a.xor(Self::double(constants, b))) }
    }
}

/// [`Doubling::None`].
#[derive(Clone, Copy)]
struct Same;

impl Double for Same {
    type Constants<V: Vector> = ();
    #[inline(always)]
    unsafe fn constants<V: Vector>(self) {}
    #[inline(always)]
    unsafe fn double<V: Vector>((): &(), a: V) -> V {
        a
    }
}

/// [`Doubling::HalvesRight`].
#[derive(Clone, Copy)]
struct HalvesRight;

impl Double for HalvesRight {
    const IS_LONG: bool = true;
    type Constants<V: Vector> = ();
    #[inline(always)]
    unsafe fn constants<V: Vector>(self) {}
    #[inline(always)]
    unsafe fn double<V: Vector>((): &(), a: V) -> V {
        // SAFETY: as the caller vouches.
        unsafe { a.right64::<1>() }
    }
    #[inline(always)]
    unsafe fn quadruple<V: Vector>((): &(), a: V) -> V {
        // SAFETY: as the caller vouches.
        unsafe { a.right64::<2>() }
    }
}

/// [`Carry`] in registers, and what exchanges the halves of a block.
#[derive(Clone, Copy)]
struct CarryOf<V> {
    exchange: V,
    test: V,
    value: V,
    keep: V,
}

impl<V: Vector> CarryOf<V> {
    /// # Safety
    /// The machine has the features of `V`; so for all methods.
    #[inline(always)]
    unsafe fn new(carry: Carry) -> Self {
        const EXCHANGE: u128 = 0x0706_0504_0302_0100_0f0e_0d0c_0b0a_0908;
        // SAFETY: as the caller vouches.
        unsafe {
            CarryOf {
                exchange: V::splat(EXCHANGE),
                test: V::splat(carry.test),
                value: V::splat(carry.value),
                keep: V::splat(carry.keep),
            }
        }
    }

    /// Adds to what was shifted what `a` carries.
    #[inline(always)]
    unsafe fn add(&self, a: V, shifted: V) -> V {
        // SAFETY: as the caller vouches.
        unsafe { shifted.xor(a.shuffle(self.exchange).if_any(self.test, self.value)).and(self.keep) }
    }
}

/// [`Doubling::Left`].
#[derive(Clone, Copy)]
struct Left(Carry);

impl Double for Left {
    type Constants<V: Vector> = CarryOf<V>;
    #[inline(always)]
    unsafe fn constants<V: Vector>(self) -> CarryOf<V> {
        // SAFETY: as the caller vouches.
        unsafe { CarryOf::new(self.0) }
    }
    #[inline(always)]
    unsafe fn double<V: Vector>(carry: &CarryOf<V>, a: V) -> V {
        // SAFETY: as the caller vouches.
        unsafe { carry.add(a, a.left64::<1>()) }
    }
}

/// [`Doubling::Right`].
#[derive(Clone, Copy)]
struct Right(Carry);

impl Double for Right {
    type Constants<V: Vector> = CarryOf<V>;
    #[inline(always)]
    unsafe fn constants<V: Vector>(self) -> CarryOf<V> {
        // SAFETY: as the caller vouches.
        unsafe { CarryOf::new(self.0) }
    }
    #[inline(always)]
    unsafe fn double<V: Vector>(carry: &CarryOf<V>, a: V) -> V {
        // SAFETY: as the caller vouches.
        unsafe { carry.add(a, a.right64::<1>()) }
    }
}

/// What both walks have in registers. Tokens are read and written through `tokens`, which has `EACH` registers for a
/// slot.
#[derive(Clone, Copy)]
struct Walk<'a, V: Vector, D: Double, const EACH: usize> {
    gates: Gates<'a>,
    tokens: *mut u128,
    /// Round keys of π, those of each copy for its block.
    permutations: V::Keys,
    doubling: D::Constants<V>,
    token: V,
    last: V,
    byte_of_last: V,
}

impl<'a, V: Vector, D: Double, const EACH: usize> Walk<'a, V, D, EACH> {
    /// # Safety
    /// The machine has the features of `V`; so for all methods.
    #[inline(always)]
    unsafe fn new(
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
            }
        }
    }

    /// Where the tokens of a slot are.
    ///
    /// # Safety
    /// The slot is one of the script's; so for all methods.
    #[inline(always)]
    unsafe fn slot(&self, slot: u32) -> *mut u128 {
        // SAFETY: as the caller vouches.
        unsafe { self.tokens.add(slot as usize * EACH * V::BLOCKS) }
    }

    #[inline(always)]
    unsafe fn load(&self, slot: u32) -> V {
        // SAFETY: as the caller vouches.
        unsafe { V::load(self.slot(slot)) }
    }

    #[inline(always)]
    unsafe fn types(&self, tokens: V) -> V::Mask {
        // SAFETY: as the caller vouches.
        unsafe { tokens.colours_at(self.byte_of_last) }
    }

    #[inline(always)]
    unsafe fn xors(&self, steps: &[Xor]) {
        for step in steps {
            // SAFETY: as the caller vouches.
            unsafe { self.load(step.a).xor(self.load(step.b)).store(self.slot(step.out)) }
        }
    }

    #[inline(always)]
    unsafe fn tweak(&self, gate: usize) -> V {
        // SAFETY: as the caller vouches; `check` has seen that there is a tweak for each gate.
        unsafe { V::load_splat(self.gates.tweaks.as_ptr().add(gate)) }
    }

    #[inline(always)]
    unsafe fn function(&self, gate: usize) -> usize {
        // SAFETY: `check` has seen that there is a function for each gate.
        unsafe { usize::from(*self.gates.functions.get_unchecked(gate)) }
    }

    /// What of a block is a token's.
    #[inline(always)]
    unsafe fn token(&self, block: V) -> V {
        // SAFETY: as the caller vouches.
        if D::IS_LONG { block } else { unsafe { block.and(self.token) } }
    }

    /// Masks of `H` keys: ρ(K) = π(K) ⊕ K, of which a token is cut off.
    #[inline(always)]
    unsafe fn masks<const H: usize>(&self, keys: [V; H]) -> [V; H] {
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

/// Takes `N` items off the front, if there are so many.
#[inline(always)]
fn take<'a, const N: usize>(items: &mut &'a [And]) -> Option<&'a [And; N]> {
    let (first, rest) = items.split_first_chunk()?;
    *items = rest;
    Some(first)
}

struct Garble<'a, D, S, const EACH: usize> {
    gates: Gates<'a>,
    cipher: DualKey,
    permutations: [&'a Aes128; 4],
    draws: [&'a Aes128; 4],
    tokens: *mut u128,
    rows: [*mut u128; 4],
    doubling: D,
    style: PhantomData<S>,
}

impl<'a> Garble<'a, (), (), 0> {
    /// Returns the same for a doubling and a style.
    fn of<D, S: GarbleStyle<EACH>, const EACH: usize>(self, doubling: D, _: S) -> Garble<'a, D, S, EACH> {
        let Garble { gates, cipher, permutations, draws, tokens, rows, .. } = self;
        Garble { gates, cipher, permutations, draws, tokens, rows, doubling, style: PhantomData }
    }
}

/// What a garbler has in registers besides [`Walk`].
struct Garbler<'a, V: Vector, D: Double, const EACH: usize> {
    walk: Walk<'a, V, D, EACH>,
    /// Round keys of the tokens.
    draws: V::Keys,
    rows: [*mut u128; 4],
    /// Zero, and the offset of slot [`ONE`].
    offsets: [V; 2],
    /// The offset, by which the tokens of a wire differ.
    offset: V,
    /// The offset doubled once and twice.
    doubled: V,
    quadrupled: V,
    /// [`Garbler::offsets`], each with the offset doubled once, and twice.
    with_doubled: [V; 2],
    with_quadrupled: [V; 2],
}

/// A style at the garbler.
trait GarbleStyle<const EACH: usize> {
    /// Gates that have four keys together.
    const FOUR: usize = 1;
    /// Draws the tokens of gates of a batch, of a piece that begins with gate `first`.
    ///
    /// # Safety
    /// The machine has the features of `V`; the gates are those of a batch of the script.
    #[inline(always)]
    unsafe fn draw<V: Vector, D: Double>(_: &Garbler<'_, V, D, EACH>, _: &[And], _: usize) {}
    /// Garbles such gates, as many as have four keys together, or twice as many.
    ///
    /// # Safety
    /// As for [`GarbleStyle::draw`].
    unsafe fn garble<V: Vector, D: Double>(garbler: &Garbler<'_, V, D, EACH>, ands: &[And], first: usize);
}

impl<D: Double, S: GarbleStyle<EACH>, const EACH: usize> Task for Garble<'_, D, S, EACH> {
    type Output = ();
    #[inline(always)]
    unsafe fn run<V: Vector>(self) {
        let Garble { gates, cipher, permutations, draws, tokens, rows, doubling, style: _ } = self;
        // SAFETY: the caller vouches for the features of `V`. A slot is one of the script's, whose tokens are there.
        unsafe {
            let walk = Walk::<V, D, EACH>::new(gates, cipher, doubling, tokens, permutations);
            let one = walk.load(ONE);
            // Without privacy the slot's last bit is missing; an offset always has it.
            let offset = one.xor(one.and(walk.last)).xor(walk.last);
            let (doubled, quadrupled) =
                (D::double(&walk.doubling, offset), D::quadruple(&walk.doubling, offset));
            let garbler = Garbler {
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
            for piece in 0..gates.script.pieces() {
                for batch in gates.script.batches(piece) {
                    S::draw(&garbler, batch.ands, piece * PIECE);
                    // Four chains of AES fill the unit where a register has four blocks, eight elsewhere.
                    for (xors, ands) in batch.shares(if V::BLOCKS == 4 { S::FOUR } else { 2 * S::FOUR }) {
                        garbler.walk.xors(xors);
                        S::garble(&garbler, ands, piece * PIECE);
                    }
                }
            }
        }
    }
}

impl<V: Vector, D: Double, const EACH: usize> Garbler<'_, V, D, EACH> {
    /// Draws the tokens of gates into their slots: of each the blocks `EACH`·T, `EACH`·T + 1, … of counter mode.
    ///
    /// # Safety
    /// As for [`GarbleStyle::draw`].
    #[inline(always)]
    unsafe fn draw(&self, ands: &[And], first: usize) {
        // SAFETY: as the caller vouches.
        unsafe {
            for ands in ands.chunks(4 / EACH) {
                let mut blocks = [V::splat(0); 4];
                for (k, block) in blocks.iter_mut().enumerate() {
                    // What is too much is not kept.
                    let and = ands.get_unchecked((k / EACH).min(ands.len() - 1));
                    let tweak = *self.walk.gates.tweaks.get_unchecked(first + and.gate as usize);
                    *block = V::splat(EACH as u128 * tweak + (k % EACH) as u128);
                }
                let drawn = V::encrypt(&self.draws, blocks);
                for (k, and) in ands.iter().enumerate() {
                    let (at, zero) = (self.walk.slot(and.out), self.walk.token(drawn[EACH * k]));
                    zero.store(at);
                    if EACH == 2 {
                        // Types of a wire's tokens are different.
                        let (one, last) = (self.walk.token(drawn[2 * k + 1]), self.walk.last);
                        one.xor(one.xor(zero).and(last)).xor(last).store(at.add(V::BLOCKS));
                    }
                }
            }
        }
    }

    /// Where the rows of a gate go, of the copy in a lane.
    #[inline(always)]
    unsafe fn rows_of<const ROWS: usize>(&self, gate: usize) -> impl Fn(usize) -> *mut u128 {
        let rows = self.rows;
        // SAFETY: `check` has seen that there are rows for each gate.
        move |lane| unsafe { rows[lane].add(ROWS * gate) }
    }
}

/// [`Style::Ga`].
struct Ga;

impl GarbleStyle<2> for Ga {
    #[inline(always)]
    unsafe fn draw<V: Vector, D: Double>(garbler: &Garbler<'_, V, D, 2>, ands: &[And], first: usize) {
        // SAFETY: as the caller vouches.
        unsafe { garbler.draw(ands, first) }
    }

    #[inline(always)]
    unsafe fn garble<V: Vector, D: Double>(garbler: &Garbler<'_, V, D, 2>, ands: &[And], first: usize) {
        // SAFETY: as the caller vouches.
        unsafe {
            let mut rest = ands;
            if V::BLOCKS < 4
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
    /// `N` gates, whose tokens are drawn; `H` is `4 N`.
    ///
    /// # Safety
    /// As for [`GarbleStyle::draw`].
    #[inline(always)]
    unsafe fn gates<V: Vector, D: Double, const N: usize, const H: usize>(
        garbler: &Garbler<'_, V, D, 2>,
        ands: &[And; N],
        first: usize,
    ) {
        const { assert!(H == 4 * N) };
        let walk = &garbler.walk;
        // SAFETY: as the caller vouches.
        unsafe {
            let none = walk.types(V::splat(0));
            let (mut keys, mut types) = ([V::splat(0); H], [[none; 2]; N]);
            for (n, and) in ands.iter().enumerate() {
                let tokens = |slot| {
                    let at = walk.slot(slot);
                    [V::load(at), V::load(at.add(V::BLOCKS))]
                };
                let ([a0, a1], [b0, b1]) = (tokens(and.a), tokens(and.b));
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
                let value = |k: usize| V::load(at.add((function >> k & 1) * V::BLOCKS));
                // By the bits of the inputs, then by types: where the token for 0 has the type 1, rows change places.
                // (Registers by their names: an array of them would go through memory.)
                let (row_00, row_01) = (masks[n].xor(value(0)), masks[N + n].xor(value(1)));
                let (row_10, row_11) = (masks[2 * N + n].xor(value(2)), masks[3 * N + n].xor(value(3)));
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

/// [`Style::GaX`], and with a row less [`Style::GaXR`].
struct Free<const REDUCED: bool>;

impl<const REDUCED: bool> GarbleStyle<1> for Free<REDUCED> {
    #[inline(always)]
    unsafe fn draw<V: Vector, D: Double>(garbler: &Garbler<'_, V, D, 1>, ands: &[And], first: usize) {
        if !REDUCED {
            // SAFETY: as the caller vouches.
            unsafe { garbler.draw(ands, first) }
        }
    }

    #[inline(always)]
    unsafe fn garble<V: Vector, D: Double>(garbler: &Garbler<'_, V, D, 1>, ands: &[And], first: usize) {
        // SAFETY: as the caller vouches.
        unsafe {
            let mut rest = ands;
            if V::BLOCKS < 4
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
    /// `N` gates; `H` is `4 N`.
    ///
    /// # Safety
    /// As for [`GarbleStyle::draw`].
    #[inline(always)]
    unsafe fn gates<V: Vector, D: Double, const N: usize, const H: usize>(
        garbler: &Garbler<'_, V, D, 1>,
        ands: &[And; N],
        first: usize,
    ) {
        const { assert!(H == 4 * N) };
        let walk = &garbler.walk;
        // SAFETY: as the caller vouches.
        unsafe {
            let none = walk.types(V::splat(0));
            let (mut keys, mut types) = ([V::splat(0); H], [[none; 2]; N]);
            for (n, and) in ands.iter().enumerate() {
                let (a, b) = (walk.load(and.a), walk.load(and.b));
                types[n] = [walk.types(a), walk.types(b)];
                // Of type 0, both.
                let (a, b) = (a.xor_if(types[n][0], garbler.offset), b.xor_if(types[n][1], garbler.offset));
                let key = D::combine(&walk.doubling, a, b).xor(walk.tweak(first + and.gate as usize));
                (keys[n], keys[N + n]) = (key, key.xor(garbler.quadrupled));
                (keys[2 * N + n], keys[3 * N + n]) =
                    (key.xor(garbler.doubled), key.xor3(garbler.doubled, garbler.quadrupled));
            }
            let encrypted = V::encrypt(&walk.permutations, keys);
            for (n, and) in ands.iter().enumerate() {
                let gate = first + and.gate as usize;
                // The function as a sum c ⊕ xa ⊕ yb ⊕ pab, each times the offset.
                let f = walk.function(gate);
                let times = |bit: usize| garbler.offsets[bit & 1];
                let (c, x, y) = (times(f), f ^ f >> 2, f ^ f >> 1);
                let p = times(f ^ f >> 1 ^ f >> 2 ^ f >> 3);
                let [e_00, e_01, e_10, e_11] =
                    [encrypted[n], encrypted[N + n], encrypted[2 * N + n], encrypted[3 * N + n]];
                // By types: what row 01 and row 10 have beyond row 00, of the tokens and of the keys that are added to
                // π's results; row 11 has both, and p.
                let [type_a, type_b] = types[n];
                let in_01 = garbler.with_quadrupled[y & 1].xor_if(type_a, p);
                let in_10 = garbler.with_doubled[x & 1].xor_if(type_b, p);
                // What the token of row 00 has beyond that for 0.
                let beyond = c.xor_if(type_a, times(x)).xor_if(type_b, in_01.xor(garbler.quadrupled));
                // The token of row 00, and key.
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

/// [`Style::HalfGates`].
struct HalfGates;

/// A function that is not linear as an AND of its inputs with some of them and the result negated: f(a, b) = (a ⊕
/// y)(b ⊕ x) ⊕ z. Returns y, x and z.
#[inline(always)]
fn negations(function: usize) -> [usize; 3] {
    let (c, x, y) = (function & 1, (function ^ function >> 2) & 1, (function ^ function >> 1) & 1);
    [y, x, x & y ^ c]
}

impl GarbleStyle<1> for HalfGates {
    #[inline(always)]
    unsafe fn garble<V: Vector, D: Double>(garbler: &Garbler<'_, V, D, 1>, ands: &[And], first: usize) {
        // SAFETY: as the caller vouches.
        unsafe {
            let mut rest = ands;
            if V::BLOCKS < 4
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

impl HalfGates {
    /// # Safety
    /// As for [`GarbleStyle::draw`].
    #[inline(always)]
    unsafe fn gates<V: Vector, D: Double, const N: usize, const H: usize>(
        garbler: &Garbler<'_, V, D, 1>,
        ands: &[And; N],
        first: usize,
    ) {
        let walk = &garbler.walk;
        // SAFETY: as the caller vouches.
        unsafe {
            let gate = |n: usize| first + ands[n].gate as usize;
            let negations = |n: usize| negations(walk.function(gate(n)));
            garble::garble_gates::<V, N, H>(
                walk,
                &walk.permutations,
                |n| garble::tweaks::<V>(&walk.permutations, *walk.gates.tweaks.get_unchecked(gate(n)) as usize),
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

/// [`Style::PrivacyFree`].
struct PrivacyFree;

impl GarbleStyle<1> for PrivacyFree {
    const FOUR: usize = 2;
    #[inline(always)]
    unsafe fn garble<V: Vector, D: Double>(garbler: &Garbler<'_, V, D, 1>, ands: &[And], first: usize) {
        // SAFETY: as the caller vouches.
        unsafe {
            let mut rest = ands;
            if V::BLOCKS < 4
                && let Some(four) = take::<4>(&mut rest)
            {
                Self::gates::<V, D, 4, 8>(garbler, four, first);
            }
            if let Some(two) = take::<2>(&mut rest) {
                Self::gates::<V, D, 2, 4>(garbler, two, first);
            }
            if let Some(one) = take::<1>(&mut rest) {
                Self::gates::<V, D, 1, 2>(garbler, one, first);
            }
        }
    }
}

impl PrivacyFree {
    /// `N` gates; `H` is `2 N`.
    ///
    /// # Safety
    /// As for [`GarbleStyle::draw`].
    #[inline(always)]
    unsafe fn gates<V: Vector, D: Double, const N: usize, const H: usize>(
        garbler: &Garbler<'_, V, D, 1>,
        ands: &[And; N],
        first: usize,
    ) {
        const { assert!(H == 2 * N) };
        let walk = &garbler.walk;
        // SAFETY: as the caller vouches.
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
                // Without their last bits.
                let (zero, one) = (masks[n].xor(masks[n].and(walk.last)), masks[N + n]);
                let b = walk.load(and.b).xor(garbler.offsets[not_b]);
                zero.xor3(one.xor(one.and(walk.last)), b).scatter(garbler.rows_of::<1>(gate));
                zero.xor(garbler.offsets[not]).store(walk.slot(and.out));
            }
        }
    }
}

struct Evaluate<'a, D, S> {
    gates: Gates<'a>,
    cipher: DualKey,
    permutations: [&'a Aes128; 4],
    tokens: *mut u128,
    rows: [*const u128; 4],
    doubling: D,
    style: PhantomData<S>,
}

impl<'a> Evaluate<'a, (), ()> {
    /// The same for a doubling and a style.
    fn of<D, S>(self, doubling: D, _: S) -> Evaluate<'a, D, S> {
        let Evaluate { gates, cipher, permutations, tokens, rows, .. } = self;
        Evaluate { gates, cipher, permutations, tokens, rows, doubling, style: PhantomData }
    }
}

/// What an evaluator has in registers besides [`Walk`].
struct Evaluator<'a, V: Vector, D: Double> {
    walk: Walk<'a, V, D, 1>,
    rows: [*const u128; 4],
}

/// A style at the evaluator.
trait EvaluateStyle {
    /// `N` gates of a batch, of a piece that begins with gate `first`; `H` is `2 N`.
    ///
    /// # Safety
    /// The machine has the features of `V`; the gates are those of a batch of the script.
    unsafe fn gates<V: Vector, D: Double, const N: usize, const H: usize>(
        evaluator: &Evaluator<'_, V, D>,
        ands: &[And; N],
        first: usize,
    );
}

impl<D: Double, S: EvaluateStyle> Task for Evaluate<'_, D, S> {
    type Output = ();
    #[inline(always)]
    unsafe fn run<V: Vector>(self) {
        let Evaluate { gates, cipher, permutations, tokens, rows, doubling, style: _ } = self;
        // SAFETY: as in `Garble`.
        unsafe {
            let walk = Walk::<V, D, 1>::new(gates, cipher, doubling, tokens, permutations);
            let evaluator = Evaluator { walk, rows };
            for piece in 0..gates.script.pieces() {
                let first = piece * PIECE;
                for batch in gates.script.batches(piece) {
                    // As many chains of AES as fill the unit.
                    for (xors, ands) in batch.shares(if V::BLOCKS == 4 { 4 } else { 8 }) {
                        evaluator.walk.xors(xors);
                        let mut rest = ands;
                        if V::BLOCKS < 4
                            && let Some(eight) = take::<8>(&mut rest)
                        {
                            S::gates::<V, D, 8, 16>(&evaluator, eight, first);
                        }
                        if let Some(four) = take::<4>(&mut rest) {
                            S::gates::<V, D, 4, 8>(&evaluator, four, first);
                        }
                        if let Some(two) = take::<2>(&mut rest) {
                            S::gates::<V, D, 2, 4>(&evaluator, two, first);
                        }
                        if let Some(one) = take::<1>(&mut rest) {
                            S::gates::<V, D, 1, 2>(&evaluator, one, first);
                        }
                    }
                }
            }
        }
    }
}

/// Ga and GaX at the evaluator, and with a row less GaXR.
struct Rows<const REDUCED: bool>;

impl<const REDUCED: bool> EvaluateStyle for Rows<REDUCED> {
    #[inline(always)]
    unsafe fn gates<V: Vector, D: Double, const N: usize, const H: usize>(
        evaluator: &Evaluator<'_, V, D>,
        ands: &[And; N],
        first: usize,
    ) {
        let walk = &evaluator.walk;
        // SAFETY: as the caller vouches.
        unsafe {
            let (mut keys, mut rows) = ([V::splat(0); N], [V::splat(0); N]);
            for (n, and) in ands.iter().enumerate() {
                let gate = first + and.gate as usize;
                let (a, b) = (walk.load(and.a), walk.load(and.b));
                let key = D::combine(&walk.doubling, a, b).xor(walk.tweak(gate));
                // The types are all that an evaluator sees of a wire, and say nothing to it.
                let from = |lane: usize| evaluator.rows[lane].add((4 - usize::from(REDUCED)) * gate);
                (keys[n], rows[n]) = (key, V::choose::<REDUCED>(a, b, walk.last, from).xor(walk.token(key)));
            }
            let encrypted = V::encrypt(&walk.permutations, keys);
            for (n, and) in ands.iter().enumerate() {
                // π(K) ⊕ K, and the row.
                walk.token(encrypted[n]).xor(rows[n]).store(walk.slot(and.out));
            }
        }
    }
}

impl EvaluateStyle for HalfGates {
    #[inline(always)]
    unsafe fn gates<V: Vector, D: Double, const N: usize, const H: usize>(
        evaluator: &Evaluator<'_, V, D>,
        ands: &[And; N],
        first: usize,
    ) {
        let walk = &evaluator.walk;
        // SAFETY: as the caller vouches.
        unsafe {
            let gate = |n: usize| first + ands[n].gate as usize;
            garble::evaluate_gates::<V, N, H>(
                walk,
                &walk.permutations,
                |n| garble::tweaks::<V>(&walk.permutations, *walk.gates.tweaks.get_unchecked(gate(n)) as usize),
                |n| [walk.load(ands[n].a), walk.load(ands[n].b)],
                |n, label| label.store(walk.slot(ands[n].out)),
                |n, lane| evaluator.rows[lane].add(2 * gate(n)),
            );
        }
    }
}

impl EvaluateStyle for PrivacyFree {
    #[inline(always)]
    unsafe fn gates<V: Vector, D: Double, const N: usize, const H: usize>(
        evaluator: &Evaluator<'_, V, D>,
        ands: &[And; N],
        first: usize,
    ) {
        let walk = &evaluator.walk;
        // SAFETY: as the caller vouches.
        unsafe {
            // A negation adds the last bit, so that it stays the wire's.
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
