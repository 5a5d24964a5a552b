//! The portable kernel: `u128` arithmetic without tables and without branches on data.
//!
//! AES is bitsliced over eight blocks. *Plane* `b` contains bit `b` of each byte of the eight blocks; byte
//! `j` of block `i` is at bit `8 j + i`. The S-box inverts in a tower field (Rijmen 2000): GF(2^8) is
//! GF(2^4)[t]/(t² + t + λ) with GF(2^4) = GF(2)[z]/(z⁴ + z + 1). The compiler computes the maps between the
//! two representations.

use crate::factors::Factors;
use crate::swap::swap_bits;
use crate::vector::Vector;

/// One block.
#[derive(Clone, Copy)]
pub(crate) struct Portable(u128);

type Planes = [u128; 8];

/// Returns a byte repeated sixteen times.
const fn bytes(byte: u8) -> u128 {
    u128::from_le_bytes([byte; 16])
}

/// Converts eight blocks into eight planes and back: transposes 8 × 8 bits for each byte position.
#[inline(always)]
fn bitslice(m: &mut Planes) {
    for i in 0..4 {
        swap_bits(m, i, i + 4, 4, bytes(0x0f));
    }
    for i in [0, 1, 4, 5] {
        swap_bits(m, i, i + 2, 2, bytes(0x33));
    }
    for i in [0, 2, 4, 6] {
        swap_bits(m, i, i + 1, 1, bytes(0x55));
    }
}

/// The arithmetic of the tower field on numbers, with which the compiler computes the maps.
mod tower {
    /// `t² = t + λ`, which is irreducible because λ has trace 1.
    const LAMBDA: u8 = 0b1000;

    const fn multiply4(a: u8, b: u8) -> u8 {
        let (mut product, mut i) = (0, 0);
        while i < 4 {
            product ^= (a << i) * (b >> i & 1);
            i += 1;
        }
        product ^= (product >> 4) ^ (product >> 4 << 1);
        product & 0xf
    }

    const fn multiply8(a: u8, b: u8) -> u8 {
        let high = multiply4(a >> 4, b >> 4);
        let middle = multiply4(a >> 4, b & 0xf) ^ multiply4(a & 0xf, b >> 4) ^ high;
        middle << 4 | multiply4(a & 0xf, b & 0xf) ^ multiply4(high, LAMBDA)
    }

    /// Returns the powers of a root of the AES polynomial x⁸ + x⁴ + x³ + x + 1: the images of the basis of
    /// the AES field.
    const fn basis() -> [u8; 8] {
        let mut root = 2;
        loop {
            let (mut powers, mut i) = ([1u8; 9], 1);
            while i < 9 {
                powers[i] = multiply8(powers[i - 1], root);
                i += 1;
            }
            if powers[8] ^ powers[4] ^ powers[3] ^ powers[1] ^ 1 == 0 {
                let [a, b, c, d, e, f, g, h, _] = powers;
                return [a, b, c, d, e, f, g, h];
            }
            root += 1;
        }
    }

    const fn apply(columns: &[u8; 8], x: u8) -> u8 {
        let (mut y, mut i) = (0, 0);
        while i < 8 {
            y ^= columns[i] * (x >> i & 1);
            i += 1;
        }
        y
    }

    /// Returns the rows of a matrix given by columns. Bit `j` of row `i` says whether plane `j` contributes
    /// to plane `i`.
    const fn rows(columns: &[u8; 8]) -> [u8; 8] {
        let (mut rows, mut i) = ([0; 8], 0);
        while i < 64 {
            rows[i / 8] |= (columns[i % 8] >> (i / 8) & 1) << (i % 8);
            i += 1;
        }
        rows
    }

    /// The map from the AES field to the tower field.
    pub(super) const ENTER: [u8; 8] = rows(&basis());

    /// The map from the tower field to the AES field, followed by the linear part of the S-box.
    pub(super) const LEAVE: [u8; 8] = {
        let (mut columns, mut x) = ([0; 8], 0);
        while x < 256 {
            let image = apply(&basis(), x as u8);
            if image.is_power_of_two() {
                let x = x as u8;
                let affine = x ^ x.rotate_left(1) ^ x.rotate_left(2) ^ x.rotate_left(3) ^ x.rotate_left(4);
                columns[image.trailing_zeros() as usize] = affine;
            }
            x += 1;
        }
        rows(&columns)
    };
}

#[inline(always)]
fn linear(rows: &[u8; 8], x: &Planes) -> Planes {
    std::array::from_fn(|i| (0..8).fold(0, |sum, j| if rows[i] >> j & 1 == 1 { sum ^ x[j] } else { sum }))
}

type Nibble = [u128; 4];

#[inline(always)]
fn multiply4(a: Nibble, b: Nibble) -> Nibble {
    let mut product = [0; 7];
    for i in 0..4 {
        for j in 0..4 {
            product[i + j] ^= a[i] & b[j];
        }
    }
    let [p0, p1, p2, p3, p4, p5, p6] = product;
    [p0 ^ p4, p1 ^ p4 ^ p5, p2 ^ p5 ^ p6, p3 ^ p6]
}

#[inline(always)]
fn square4([a, b, c, d]: Nibble) -> Nibble {
    [a ^ c, c, b ^ d, d]
}

#[inline(always)]
fn add4(a: Nibble, b: Nibble) -> Nibble {
    std::array::from_fn(|i| a[i] ^ b[i])
}

#[inline(always)]
fn sub_bytes(state: &mut Planes) {
    let [l0, l1, l2, l3, h0, h1, h2, h3] = linear(&tower::ENTER, state);
    let (low, high) = ([l0, l1, l2, l3], [h0, h1, h2, h3]);
    let square = square4(high);
    // λ is z³, so λ·x is x multiplied by z three times.
    let scaled = [square[1], square[1] ^ square[2], square[2] ^ square[3], square[0] ^ square[3]];
    let norm = add4(scaled, multiply4(add4(high, low), low));
    // norm⁻¹ is norm¹⁴, which maps 0 to 0 as AES requires.
    let (n2, n4) = (square4(norm), square4(square4(norm)));
    let inverse = multiply4(multiply4(n2, n4), square4(n4));
    let [l0, l1, l2, l3] = multiply4(add4(high, low), inverse);
    let [h0, h1, h2, h3] = multiply4(high, inverse);
    *state = linear(&tower::LEAVE, &[l0, l1, l2, l3, h0, h1, h2, h3]);
    for b in [0, 1, 5, 6] {
        state[b] = !state[b];
    }
}

/// Row `r` of the state consists of the bytes `r`, `4 + r`, `8 + r`, `12 + r`, and is rotated by `r` columns.
#[inline(always)]
fn shift_rows(state: &mut Planes) {
    const ROW: u128 = u128::from_le_bytes([255, 0, 0, 0, 255, 0, 0, 0, 255, 0, 0, 0, 255, 0, 0, 0]);
    for plane in state {
        let x = *plane;
        *plane = (x & ROW)
            | (x.rotate_right(32) & ROW << 8)
            | (x.rotate_right(64) & ROW << 16)
            | (x.rotate_right(96) & ROW << 24);
    }
}

#[inline(always)]
fn mix_columns(state: &mut Planes) {
    const TOP: u128 = u128::from_le_bytes([0, 0, 0, 255, 0, 0, 0, 255, 0, 0, 0, 255, 0, 0, 0, 255]);
    const LOW_HALF: u128 =
        u128::from_le_bytes([255, 255, 0, 0, 255, 255, 0, 0, 255, 255, 0, 0, 255, 255, 0, 0]);
    // Byte r of a column becomes 2·(s_r + s_{r+1}) + s_{r+1} + (s_{r+2} + s_{r+3}).
    let next: Planes = std::array::from_fn(|b| (state[b] >> 8 & !TOP) | (state[b] << 24 & TOP));
    let sum: Planes = std::array::from_fn(|b| state[b] ^ next[b]);
    let far = |b: usize| (sum[b] >> 16 & LOW_HALF) | (sum[b] << 16 & !LOW_HALF);
    for b in 0..8 {
        let doubled =
            if b == 0 { 0 } else { sum[b - 1] } ^ if matches!(b, 0 | 1 | 3 | 4) { sum[7] } else { 0 };
        state[b] = doubled ^ next[b] ^ far(b);
    }
}

#[inline(always)]
fn add_round_key(state: &mut Planes, key: &Planes) {
    for (s, k) in state.iter_mut().zip(key) {
        *s ^= k;
    }
}

/// Encrypts eight blocks with AES-128, after their whitening. It is not inlined, because it is long and the
/// cost of a call is negligible.
#[inline(never)]
fn encrypt8(keys: &[Planes; 10], blocks: &mut Planes) {
    bitslice(blocks);
    for key in &keys[..9] {
        sub_bytes(blocks);
        shift_rows(blocks);
        mix_columns(blocks);
        add_round_key(blocks, key);
    }
    sub_bytes(blocks);
    shift_rows(blocks);
    add_round_key(blocks, &keys[9]);
    bitslice(blocks);
}

/// Returns the carry-less product of 64-bit polynomials. Takes constant time if the machine's multiplication
/// does.
///
/// Each factor is split into five parts of every fifth bit. In the integer product of two parts, at most 13
/// ones meet in one place. So carries reach at most three places further, and every fifth bit of the product
/// is right.
#[inline(always)]
fn multiply64(a: u64, b: u64) -> u128 {
    const FIFTH: u128 = {
        let (mut mask, mut i) = (0u128, 0);
        while i < 128 {
            mask |= 1 << i;
            i += 5;
        }
        mask
    };
    let part = |x: u64, i: u32| u128::from(x & (FIFTH << i) as u64);
    let mut product = 0;
    for place in 0..5 {
        let mut sum = 0;
        for i in 0..5 {
            sum ^= part(a, i) * part(b, (place + 5 - i) % 5);
        }
        // Keeps the positions that are `place` modulo 5. FIFTH << place includes all of them.
        product ^= sum & FIFTH << place;
    }
    product
}

/// Returns the unreduced carry-less product of two blocks by Karatsuba's method: low and high half.
#[inline(always)]
fn multiply128(a: u128, b: u128) -> (u128, u128) {
    let (a0, a1, b0, b1) = (a as u64, (a >> 64) as u64, b as u64, (b >> 64) as u64);
    let (low, high) = (multiply64(a0, b0), multiply64(a1, b1));
    let middle = multiply64(a0 ^ a1, b0 ^ b1) ^ low ^ high;
    (low ^ middle << 64, high ^ middle >> 64)
}

#[inline(always)]
fn words(block: u128) -> [u32; 4] {
    bytemuck::cast(block)
}

#[inline(always)]
fn block(words: [u32; 4]) -> u128 {
    bytemuck::cast(words)
}

/// Applies a function to each half of a block.
#[inline(always)]
fn halves(block: u128, of: impl Fn(u64) -> u64) -> u128 {
    u128::from(of((block >> 64) as u64)) << 64 | u128::from(of(block as u64))
}

/// The first round key unchanged, and the other ones bitsliced: each byte of a plane is for eight blocks.
#[derive(Clone, Copy)]
pub(crate) struct RoundKeys {
    whitening: u128,
    planes: [Planes; 10],
}

/// Returns 255 times the 0 or 1 in each byte.
#[inline(always)]
fn spread(bits: u128) -> u128 {
    (bits << 8).wrapping_sub(bits)
}

impl Vector for Portable {
    const BLOCKS: usize = 1;
    type One = Self;
    type Keys = RoundKeys;
    type Mask = u128;
    type Bytes = Planes;

    #[inline(always)]
    unsafe fn load(from: *const u128) -> Self {
        // SAFETY: the caller guarantees a block at `from`.
        Portable(unsafe { from.read_unaligned() })
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut u128) {
        // SAFETY: the caller guarantees a block at `to`.
        unsafe { to.write_unaligned(self.0) }
    }

    #[inline(always)]
    unsafe fn gather(from: impl Fn(usize) -> *const u128) -> Self {
        // SAFETY: the caller guarantees a block at `from(0)`.
        unsafe { Self::load(from(0)) }
    }

    #[inline(always)]
    unsafe fn scatter(self, to: impl Fn(usize) -> *mut u128) {
        // SAFETY: the caller guarantees a block at `to(0)`.
        unsafe { self.store(to(0)) }
    }

    #[inline(always)]
    unsafe fn splat(block: u128) -> Self {
        Portable(block)
    }

    #[inline(always)]
    unsafe fn xor(self, other: Self) -> Self {
        Portable(self.0 ^ other.0)
    }

    #[inline(always)]
    unsafe fn and(self, other: Self) -> Self {
        Portable(self.0 & other.0)
    }

    #[inline(always)]
    unsafe fn left64<const N: u32>(self) -> Self {
        Portable(halves(self.0, |half| half << N))
    }

    #[inline(always)]
    unsafe fn right64<const N: u32>(self) -> Self {
        Portable(halves(self.0, |half| half >> N))
    }

    #[inline(always)]
    unsafe fn shuffle(self, places: Self) -> Self {
        let (from, places) = (self.0.to_le_bytes(), places.0.to_le_bytes());
        Portable(u128::from_le_bytes(places.map(|place| from[usize::from(place % 16)])))
    }

    #[inline(always)]
    unsafe fn if_any(self, test: Self, value: Self) -> Self {
        // The top bit of `-x | x` is set exactly if x is not zero.
        let any = halves(self.0 & test.0, |half| ((half.wrapping_neg() | half) >> 63).wrapping_neg());
        Portable(any & value.0)
    }

    #[inline(always)]
    unsafe fn choose<const REDUCED: bool>(
        first: Self,
        second: Self,
        bit: Self,
        from: impl Fn(usize) -> *const u128,
    ) -> Self {
        let number = usize::from(first.0 & bit.0 != 0) << 1 | usize::from(second.0 & bit.0 != 0);
        // SAFETY: the caller guarantees the blocks at `from(0)`.
        unsafe {
            match REDUCED {
                // If there is no block for number 0, another block is read and masked out.
                true => {
                    let any = u128::from(number > 0).wrapping_neg();
                    Portable(Self::load(from(0).add(number.saturating_sub(1))).0 & any)
                }
                false => Self::load(from(0).add(number)),
            }
        }
    }

    #[inline(always)]
    unsafe fn add_low(self, count: u64) -> Self {
        Portable(self.0 >> 64 << 64 | u128::from((self.0 as u64).wrapping_add(count)))
    }

    #[inline(always)]
    unsafe fn sigma(self) -> Self {
        let (high, low) = (self.0 >> 64, self.0 << 64 >> 64);
        Portable((high ^ low) << 64 | high)
    }

    #[inline(always)]
    unsafe fn colours(self) -> Self::Mask {
        (self.0 & 1).wrapping_neg()
    }

    #[inline(always)]
    unsafe fn xor_if(self, colours: Self::Mask, other: Self) -> Self {
        Portable(self.0 ^ (colours & other.0))
    }

    #[inline(always)]
    unsafe fn multiply(self, other: Self) -> (Self, Self) {
        let (low, high) = multiply128(self.0, other.0);
        (Portable(low), Portable(high))
    }

    #[inline(always)]
    unsafe fn multiply_halves(self, other: Self) -> [Self; 3] {
        let [(a0, a1), (b0, b1)] = [self, other].map(|x| (x.0 as u64, (x.0 >> 64) as u64));
        [multiply64(a0, b0), multiply64(a1, b1), multiply64(a0 ^ a1, b0 ^ b1)].map(Portable)
    }

    #[inline(always)]
    unsafe fn store_pairs(first: Self, second: Self, to: impl Fn(usize) -> *mut u128) {
        // SAFETY: the caller guarantees two blocks at `to(0)`.
        unsafe {
            first.store(to(0));
            second.store(to(0).add(1));
        }
    }

    #[inline(always)]
    unsafe fn load_pairs(from: impl Fn(usize) -> *const u128) -> (Self, Self) {
        // SAFETY: the caller guarantees two blocks at `from(0)`.
        unsafe { (Self::load(from(0)), Self::load(from(0).add(1))) }
    }

    #[inline(always)]
    unsafe fn add32(self, other: Self) -> Self {
        let (a, b) = (words(self.0), words(other.0));
        Portable(block(std::array::from_fn(|i| a[i].wrapping_add(b[i]))))
    }

    #[inline(always)]
    unsafe fn rotate32<const N: u32>(self) -> Self {
        Portable(block(words(self.0).map(|word| word.rotate_right(N))))
    }

    /// It is not inlined: each task would contain it 56 times, and compiling that takes longer than compiling
    /// all other loops.
    #[inline(never)]
    unsafe fn mix32<const D: u32, const B: u32>([a, b, c, d]: &mut [[Self; 4]; 4], m: [&Self; 4]) {
        for k in 0..4 {
            let [mut x, mut y, mut z, mut w] = [a[k], b[k], c[k], d[k]].map(|v| words(v.0));
            let m = words(m[k].0);
            for i in 0..4 {
                x[i] = x[i].wrapping_add(m[i]).wrapping_add(y[i]);
                w[i] = (w[i] ^ x[i]).rotate_right(D);
                z[i] = z[i].wrapping_add(w[i]);
                y[i] = (y[i] ^ z[i]).rotate_right(B);
            }
            [a[k], b[k], c[k], d[k]] = [x, y, z, w].map(|v| Portable(block(v)));
        }
    }

    #[inline(always)]
    unsafe fn transpose32(rows: [Self; 4]) -> [Self; 4] {
        let rows = rows.map(|row| words(row.0));
        std::array::from_fn(|i| Portable(block(std::array::from_fn(|j| rows[j][i]))))
    }

    #[inline(always)]
    unsafe fn interleave8(self, other: Self) -> (Self, Self) {
        let spread = |half: u128| {
            // Moves eight bytes to every second one of sixteen positions.
            let x = (half | half << 32) & 0x00000000ffffffff_00000000ffffffff;
            let x = (x | x << 16) & 0x0000ffff0000ffff_0000ffff0000ffff;
            (x | x << 8) & 0x00ff00ff00ff00ff_00ff00ff00ff00ff
        };
        let halves = |x: u128| [spread(x << 64 >> 64), spread(x >> 64)];
        let ([a, b], [c, d]) = (halves(self.0), halves(other.0));
        (Portable(a | c << 8), Portable(b | d << 8))
    }

    #[inline(always)]
    unsafe fn pick(self, places: Self) -> Self {
        let (from, places) = (self.0.to_le_bytes(), places.0.to_le_bytes());
        let mut picked = [0; 16];
        for (place, byte) in from.into_iter().enumerate() {
            for (to, at) in picked.iter_mut().zip(places) {
                // The factor is all ones if the place is this one.
                *to |= byte & ((u16::from(at ^ place as u8).wrapping_sub(1) >> 8) as u8);
            }
        }
        Portable(u128::from_le_bytes(picked))
    }

    /// Returns all ones in the bytes whose bit is set.
    #[inline(always)]
    unsafe fn bytes(self) -> Self::Bytes {
        std::array::from_fn(|b| (self.0 >> b & bytes(1)) * 255)
    }

    #[inline(always)]
    unsafe fn times(planes: &Self::Bytes, factors: &Factors, k: usize) -> Self {
        // SAFETY: the caller guarantees factor `k`.
        let nibbles = unsafe { factors.nibbles.get_unchecked(k) };
        let mut product = 0;
        for (b, plane) in planes.iter().enumerate() {
            // The images of bits 0 to 3, and of bits 4 to 7.
            product ^= plane & bytes((nibbles[b / 4] >> (8 << (b % 4))) as u8);
        }
        Portable(product)
    }

    #[inline(always)]
    unsafe fn keys(round_keys: &[u128; 11]) -> Self::Keys {
        let planes = |key: u128| std::array::from_fn(|b| spread(key >> b & bytes(1)));
        let [whitening, others @ ..] = *round_keys;
        RoundKeys { whitening, planes: others.map(planes) }
    }

    #[inline(always)]
    unsafe fn keys_of_blocks<'a>(round_keys: impl Fn(usize) -> &'a [u128; 11]) -> Self::Keys {
        // SAFETY: guaranteed by the caller.
        unsafe { Self::keys(round_keys(0)) }
    }

    #[inline(always)]
    unsafe fn whitening(keys: &Self::Keys) -> Self {
        Portable(keys.whitening)
    }

    #[inline(always)]
    unsafe fn rounds<const M: usize>(keys: &Self::Keys, mut blocks: [Self; M]) -> [Self; M] {
        for run in blocks.chunks_mut(8) {
            let mut planes = [0; 8];
            for (p, x) in planes.iter_mut().zip(run.iter()) {
                *p = x.0;
            }
            encrypt8(&keys.planes, &mut planes);
            for (x, p) in run.iter_mut().zip(planes) {
                x.0 = p;
            }
        }
        blocks
    }

    #[inline(always)]
    unsafe fn next_round_key(self, round_constant: u8) -> Self {
        let word = sub_word(((self.0 >> 96) as u32).rotate_right(8)) ^ u32::from(round_constant);
        // Word i of the next key is the sum of words 0..=i of this key and of `word`.
        let twice = self.0 ^ self.0 << 32;
        let everywhere = u128::from(word) * (u128::MAX / u128::from(u32::MAX));
        Portable(twice ^ twice << 64 ^ everywhere)
    }
}

/// Applies the S-box to each of four bytes.
fn sub_word(word: u32) -> u32 {
    let mut state = [u128::from(word), 0, 0, 0, 0, 0, 0, 0];
    bitslice(&mut state);
    sub_bytes(&mut state);
    bitslice(&mut state);
    state[0] as u32
}
