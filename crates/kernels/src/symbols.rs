//! Multiplication of words of symbols by matrices over a small field.
//!
//! A symbol is a byte. A *word* is a number of symbols in whole blocks, with zeros after the last symbol. An
//! entry of a matrix is a [`Factor`]: multiplication by an element of a field of characteristic 2, as a map
//! of a byte's bits. The field itself does not matter here.
//!
//! Time and memory accesses depend on sizes alone, because words and factors may be secret.

use std::hint::black_box;

use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

use crate::erase::erase;
use crate::factors::{Factor, Factors};
use crate::vector::{Vector, VectorLoop};
use crate::{Kernel, SecretBlocks};

/// The number of symbols in a block.
const BLOCK: usize = 16;

/// The number of products that are added up side by side.
const GROUP: usize = 8;

/// A matrix that maps words to words. Erased when dropped.
#[derive(Clone)]
pub struct Matrix {
    inputs: usize,
    outputs: usize,
    /// The entries, `[group of outputs][input][output in the group]`.
    factors: Factors,
}

impl Matrix {
    /// Returns the matrix with these entries. `factor(i, j)` is the contribution of symbol `j` of a word to
    /// symbol `i` of its product.
    pub fn new(outputs: usize, inputs: usize, factor: impl Fn(usize, usize) -> Factor) -> Self {
        let of = |k: usize| {
            let (i, j) = (k / (inputs * GROUP) * GROUP + k % GROUP, k / GROUP % inputs);
            if i < outputs { factor(i, j) } else { Factor::default() }
        };
        let factors = Factors::of((0..outputs.next_multiple_of(GROUP) * inputs).map(of));
        Matrix { inputs, outputs, factors }
    }

    /// Returns the number of symbols of a word before multiplication.
    pub fn inputs(&self) -> usize {
        self.inputs
    }

    /// Returns the number of symbols of a product.
    pub fn outputs(&self) -> usize {
        self.outputs
    }
}

impl std::fmt::Debug for Matrix {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Matrix({} × {})", self.outputs, self.inputs)
    }
}

/// Adds the product of each word with the matrix to the sum at the same index. `words` and `sums` have one
/// word after another, each in whole blocks.
///
/// # Panics
/// If the numbers of words and sums differ.
pub fn add_products(matrix: &Matrix, words: &[u128], sums: &mut [u128]) {
    add_products_with(Kernel::best(), matrix, words, sums);
}

/// Does the same as [`add_products`] with a kernel of the caller's choice.
///
/// # Panics
/// As [`add_products`].
pub fn add_products_with(kernel: Kernel, matrix: &Matrix, words: &[u128], sums: &mut [u128]) {
    let [blocks, sum_blocks] = [matrix.inputs, matrix.outputs].map(|symbols| symbols.div_ceil(BLOCK));
    let count = words.len().checked_div(blocks).unwrap_or(0);
    assert_eq!((count * blocks, count * sum_blocks), (words.len(), sums.len()), "each word must have a sum");
    if count > 0 && sum_blocks > 0 {
        kernel.run(Multiply { matrix, words, sums, blocks, sum_blocks });
    }
}

struct Multiply<'a> {
    matrix: &'a Matrix,
    words: &'a [u128],
    sums: &'a mut [u128],
    blocks: usize,
    sum_blocks: usize,
}

impl VectorLoop for Multiply<'_> {
    type Output = ();
    #[inline(always)]
    unsafe fn run<V: Vector>(self) {
        const { assert!(V::BLOCKS <= 4) };
        let Multiply { matrix, words, sums, blocks, sum_blocks } = self;
        let tile = BLOCK * V::BLOCKS;
        // If the remaining words are too few for a tile, they are processed in eights, if the machine
        // supports this.
        let count = words.len() / blocks;
        let by_eights = V::EIGHTS && blocks.max(sum_blocks) <= EIGHT_BLOCKS;
        let few = if by_eights && count % tile <= MOST_BY_EIGHTS { count % tile } else { 0 };
        let (words, few_words) = words.split_at((count - few) * blocks);
        let (sums, few_sums) = sums.split_at_mut((count - few) * sum_blocks);
        // SAFETY: the caller guarantees the features of `V`. Eights are used only for words of a few blocks,
        // and only if the machine supports them.
        unsafe {
            if !words.is_empty() {
                multiply_tiles::<V>(matrix, words, sums, [blocks, sum_blocks]);
            }
            for (words, sums) in few_words.chunks(8 * blocks).zip(few_sums.chunks_mut(8 * sum_blocks)) {
                multiply_eight::<V>(matrix, words, sums, [blocks, sum_blocks]);
            }
        }
    }
}

/// Adds products, for 16 words per block of a register at a time.
///
/// # Safety
/// The machine has the features of `V`.
#[inline(always)]
unsafe fn multiply_tiles<V: Vector>(
    matrix: &Matrix,
    words: &[u128],
    sums: &mut [u128],
    [blocks, sum_blocks]: [usize; 2],
) {
    let tile = BLOCK * V::BLOCKS;
    // `rows` has a register for each symbol: this symbol of all words of a tile. `products` is for 16 symbols
    // of the products.
    let mut rows = SecretBlocks::<u128>::zeros(blocks * BLOCK * V::BLOCKS);
    let mut products = Zeroizing::new([0_u128; 4 * BLOCK]);
    // `black_box` hides the destinations from the compiler, which would otherwise split the products into
    // machine words.
    let [rows, products] = [rows.as_mut_ptr(), products.as_mut_ptr()].map(black_box);
    for (words, sums) in words.chunks(tile * blocks).zip(sums.chunks_mut(tile * sum_blocks)) {
        // SAFETY: the caller guarantees the features of `V`. `rows` has a register for each symbol of a word,
        // and `products` has sixteen registers.
        unsafe {
            for block in 0..blocks {
                let columns = read_tile::<V>(words, block, blocks);
                for (k, column) in columns.into_iter().enumerate() {
                    column.store(rows.add((block * BLOCK + k) * V::BLOCKS));
                }
            }
            for block in 0..sum_blocks {
                for half in 0..2 {
                    let sum = group_products::<V>(matrix, rows, 2 * block + half, [V::splat(0); GROUP]);
                    for (k, sum) in sum.into_iter().enumerate() {
                        sum.store(products.add((half * GROUP + k) * V::BLOCKS));
                    }
                }
                let mut columns = [V::splat(0); BLOCK];
                for (k, column) in columns.iter_mut().enumerate() {
                    *column = V::load(products.add(k * V::BLOCKS));
                }
                write_tile::<V, true>(transposed(columns), sums, block, sum_blocks);
            }
        }
    }
}

/// Adds a group of outputs to `sum`, as many as the matrix has. `rows` has a register for each input.
///
/// # Safety
/// The machine has the features of `V`.
#[inline(always)]
unsafe fn group_products<V: Vector>(
    Matrix { inputs, factors, .. }: &Matrix,
    rows: *const u128,
    group: usize,
    mut sum: [V; GROUP],
) -> [V; GROUP] {
    if group < factors.rows.len() / (GROUP * inputs) {
        for j in 0..*inputs {
            // SAFETY: the caller guarantees the features of `V` and the rows; there is a factor for each
            // input of each group of outputs.
            unsafe {
                let bytes = V::load(rows.add(j * V::BLOCKS)).bytes();
                let first = (group * inputs + j) * GROUP;
                for (k, sum) in sum.iter_mut().enumerate() {
                    *sum = sum.xor(V::times(&bytes, factors, first + k));
                }
            }
        }
    }
    sum
}

/// The number of blocks in the widest register. Rows are padded to a multiple of it.
pub const ROW_BLOCKS: usize = 4;

/// Adds products like [`add_products`], for words in rows. Row `i` has symbol `i` of all words or sums, in
/// `row_blocks` blocks, a multiple of [`ROW_BLOCKS`].
///
/// # Panics
/// If the number of rows is wrong.
pub fn add_row_products(matrix: &Matrix, rows: &[u128], sums: &mut [u128], row_blocks: usize) {
    add_row_products_with(Kernel::best(), matrix, rows, sums, row_blocks);
}

/// Does the same as [`add_row_products`] with a kernel of the caller's choice.
///
/// # Panics
/// As [`add_row_products`].
pub fn add_row_products_with(
    kernel: Kernel,
    matrix: &Matrix,
    rows: &[u128],
    sums: &mut [u128],
    row_blocks: usize,
) {
    assert!(row_blocks.is_multiple_of(ROW_BLOCKS), "each row must consist of whole registers");
    let [inputs, outputs] = [matrix.inputs, matrix.outputs].map(|symbols| symbols * row_blocks);
    assert_eq!((rows.len(), sums.len()), (inputs, outputs), "each symbol must have a row");
    kernel.run(MultiplyRows { matrix, rows, sums, row_blocks });
}

struct MultiplyRows<'a> {
    matrix: &'a Matrix,
    rows: &'a [u128],
    sums: &'a mut [u128],
    row_blocks: usize,
}

impl VectorLoop for MultiplyRows<'_> {
    type Output = ();
    #[inline(always)]
    unsafe fn run<V: Vector>(self) {
        const { assert!(ROW_BLOCKS.is_multiple_of(V::BLOCKS)) };
        let MultiplyRows { matrix, rows, sums, row_blocks } = self;
        // The buffer holds one register from each row.
        let mut here = SecretBlocks::<u128>::zeros(matrix.inputs * V::BLOCKS);
        let here = here.as_mut_ptr();
        for first in (0..row_blocks).step_by(V::BLOCKS) {
            // SAFETY: the caller guarantees the features of `V`; rows and sums fit the matrix, and have whole
            // registers.
            unsafe {
                for j in 0..matrix.inputs {
                    V::load(rows.as_ptr().add(j * row_blocks + first)).store(here.add(j * V::BLOCKS));
                }
                for group in 0..matrix.outputs.div_ceil(GROUP) {
                    let outputs = GROUP.min(matrix.outputs - group * GROUP);
                    let at = sums.as_mut_ptr().add(group * GROUP * row_blocks + first);
                    let products = group_products::<V>(matrix, here, group, [V::splat(0); GROUP]);
                    for (k, product) in products.into_iter().enumerate() {
                        if k < outputs {
                            let at = at.add(k * row_blocks);
                            V::load(at).xor(product).store(at);
                        }
                    }
                }
            }
        }
    }
}

/// The largest number of blocks of words, and of products, that are processed in eights.
const EIGHT_BLOCKS: usize = 4;

/// The largest number of words that are processed in eights. More words are as fast in a tile.
const MOST_BY_EIGHTS: usize = 40;

/// Adds the products of at most eight words. A register has the same symbol of all words in each of eight
/// places, and is multiplied by the factors of eight outputs at a time.
///
/// # Safety
/// The machine has the features of `V`, which supports [`Vector::EIGHTS`]. There are at most eight words, and
/// at most [`EIGHT_BLOCKS`] blocks of words and of sums.
#[inline(always)]
unsafe fn multiply_eight<V: Vector>(
    matrix: &Matrix,
    words: &[u128],
    sums: &mut [u128],
    [blocks, sum_blocks]: [usize; 2],
) {
    let Matrix { inputs, factors, .. } = matrix;
    let (count, groups) = (words.len() / blocks, factors.rows.len() / (GROUP * inputs));
    // Eight registers for each block. Block `k` of them has the symbols `2·k` and `2·k + 1` of all words.
    let mut room = [[0_u128; 8 * EIGHT_BLOCKS]; 2];
    let [symbols, products] = room.each_mut().map(|room| black_box(room.as_mut_ptr()));
    let (zero, mut nowhere) = (0_u128, 0);
    let nowhere = &raw mut nowhere;
    // SAFETY: the caller guarantees the features of `V`, and the numbers of words and of blocks; an existing
    // word has its blocks. There is a factor for each input of each group of outputs. The groups fill all
    // blocks of the sums, or all blocks but one.
    unsafe {
        let mut registers = [V::splat(0); 8];
        for (word, register) in registers.iter_mut().enumerate().take(count) {
            let at = words.as_ptr().add(word * blocks);
            *register = V::gather(|k| if k < blocks { at.add(k) } else { &raw const zero });
        }
        // The position of a byte has seven bits: three for the register and four within a block. Each step
        // rotates the first bit to the end: three steps here, and four on the way back.
        for (k, register) in turned::<V, 3>(registers).into_iter().enumerate() {
            register.scatter(|block| symbols.add(8 * block + k));
        }
        let symbols = symbols.cast::<u64>();
        for block in 0..sum_blocks {
            // The last block may have only one group; then the second result is discarded.
            let [first, second] = [2 * block, (2 * block + 1).min(groups - 1)].map(|group| group * inputs);
            let mut sums = [V::splat(0); 2];
            for j in 0..*inputs {
                let symbol = symbols.add(j).read();
                sums[0] = sums[0].xor(V::times_eight(symbol, factors, (first + j) * GROUP));
                sums[1] = sums[1].xor(V::times_eight(symbol, factors, (second + j) * GROUP));
            }
            sums[0].store(products.add(8 * block));
            let second = if first == second { V::splat(0) } else { sums[1] };
            second.store(products.add(8 * block + 4));
        }
        for (k, register) in registers.iter_mut().enumerate() {
            *register = V::gather(|block| products.add(8 * block + k).cast_const());
        }
        for (word, register) in turned::<V, 4>(registers).into_iter().enumerate().take(count) {
            let at = sums.as_mut_ptr().add(word * sum_blocks);
            let place = |k: usize| if k < sum_blocks { at.add(k) } else { nowhere };
            V::gather(|k| place(k).cast_const()).xor(register).scatter(place);
        }
        nowhere.write_volatile(0);
    }
    erase(room.as_flattened_mut());
}

/// Rotates the seven bits of each byte's position N times: three bits for the register and four within its
/// block. Each rotation moves the first bit to the end.
///
/// # Safety
/// The machine has the features of `V`.
#[inline(always)]
unsafe fn turned<V: Vector, const N: usize>(mut registers: [V; 8]) -> [V; 8] {
    for _ in 0..N {
        let mut next = registers;
        for k in 0..4 {
            // SAFETY: the caller guarantees the features of `V`.
            (next[2 * k], next[2 * k + 1]) = unsafe { registers[k].interleave8(registers[k + 4]) };
        }
        registers = next;
    }
    registers
}

/// Transposes the 16 × 16 bytes that the registers have in each block.
///
/// # Safety
/// The machine has the features of `V`.
#[inline(always)]
unsafe fn transposed<V: Vector>(mut rows: [V; BLOCK]) -> [V; BLOCK] {
    // The position of a byte has eight bits: four for the row and four within the row. Each step rotates the
    // first bit to the end.
    for _ in 0..4 {
        let mut next = rows;
        for k in 0..BLOCK / 2 {
            // SAFETY: the caller guarantees the features of `V`.
            (next[2 * k], next[2 * k + 1]) = unsafe { rows[k].interleave8(rows[k + BLOCK / 2]) };
        }
        rows = next;
    }
    rows
}

/// Reads one block of each word of a tile, and transposes it. Register `k` has symbol `k` of that block, for
/// one word after the other. Missing words are zeros.
///
/// # Safety
/// The machine has the features of `V`; there are at most 16 words for each block of a register.
#[inline(always)]
unsafe fn read_tile<V: Vector>(words: &[u128], block: usize, blocks: usize) -> [V; BLOCK] {
    let (count, zero) = (words.len() / blocks, 0);
    // SAFETY: the caller guarantees the features of `V`; every existing word has this block.
    unsafe {
        let mut rows = [V::splat(0); BLOCK];
        for (r, row) in rows.iter_mut().enumerate() {
            *row = V::gather(|k| match BLOCK * k + r {
                word if word < count => words.as_ptr().add(word * blocks + block),
                _ => &raw const zero,
            });
        }
        transposed(rows)
    }
}

/// Writes one block of each word of a tile, or adds to it. Register `r` has this block of every 16th word.
///
/// # Safety
/// As [`read_tile`].
#[inline(always)]
unsafe fn write_tile<V: Vector, const ADD: bool>(
    rows: [V; BLOCK],
    words: &mut [u128],
    block: usize,
    blocks: usize,
) {
    let (count, at) = (words.len() / blocks, words.as_mut_ptr());
    let mut nowhere = 0;
    let nowhere = &raw mut nowhere;
    for (r, row) in rows.into_iter().enumerate() {
        // SAFETY: the caller guarantees the features of `V`; every existing word has this block.
        unsafe {
            let place = |k: usize| match BLOCK * k + r {
                word if word < count => at.add(word * blocks + block),
                _ => nowhere,
            };
            let row = if ADD { V::gather(|k| place(k).cast_const()).xor(row) } else { row };
            row.scatter(place);
        }
    }
    // SAFETY: `nowhere` is the variable above.
    unsafe { nowhere.write_volatile(0) };
}

/// A selection of symbols of words, in a new order. Erased when dropped.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
pub struct Picks {
    inputs: usize,
    outputs: usize,
    /// For each target block and each source block, the position of each symbol in the source block, or 128
    /// if it is in another block.
    places: Vec<u128>,
}

impl Picks {
    /// Selects `outputs` of `inputs` symbols. Symbol `i` is the one with the number `number(i)`, or 0 if this
    /// number does not exist. The time does not depend on the numbers.
    pub fn new(outputs: usize, inputs: usize, number: impl Fn(usize) -> u8) -> Self {
        let blocks = inputs.div_ceil(BLOCK);
        let mut places = vec![u128::MAX / 0xff * 0x80; outputs.div_ceil(BLOCK) * blocks];
        for i in 0..outputs {
            let number = number(i);
            for block in 0..blocks {
                // A difference below 0 has its highest bit set.
                let in_block = ((u16::from(number >> 4) ^ block as u16).wrapping_sub(1) >> 15) as u8;
                let before = (u16::from(number).wrapping_sub(inputs as u16) >> 15) as u8;
                let place = (number & 15) | ((in_block & before) ^ 1) << 7;
                let shift = 8 * (i % BLOCK);
                let at = &mut places[i / BLOCK * blocks + block];
                *at = *at & !(0xff << shift) | u128::from(place) << shift;
            }
        }
        Picks { inputs, outputs, places }
    }
}

impl std::fmt::Debug for Picks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Picks({} of {})", self.outputs, self.inputs)
    }
}

/// Adds the selected symbols of each word to the sum at the same index. `words` and `sums` are as in
/// [`add_products`]. Takes constant time with respect to the words and the selection.
///
/// # Panics
/// If the numbers of words and sums differ.
pub fn add_picked(picks: &Picks, words: &[u128], sums: &mut [u128]) {
    add_picked_with(Kernel::best(), picks, words, sums);
}

/// Does the same as [`add_picked`] with a kernel of the caller's choice.
///
/// # Panics
/// As [`add_picked`].
pub fn add_picked_with(kernel: Kernel, picks: &Picks, words: &[u128], sums: &mut [u128]) {
    let [blocks, sum_blocks] = [picks.inputs, picks.outputs].map(|symbols| symbols.div_ceil(BLOCK));
    let count = words.len().checked_div(blocks).unwrap_or(0);
    assert_eq!((count * blocks, count * sum_blocks), (words.len(), sums.len()), "each word must have a sum");
    if count > 0 && sum_blocks > 0 {
        kernel.run(AddPicked { picks, words, sums, blocks, sum_blocks });
    }
}

struct AddPicked<'a> {
    picks: &'a Picks,
    words: &'a [u128],
    sums: &'a mut [u128],
    blocks: usize,
    sum_blocks: usize,
}

impl VectorLoop for AddPicked<'_> {
    type Output = ();
    #[inline(always)]
    unsafe fn run<V: Vector>(self) {
        const { assert!(V::BLOCKS <= 4) };
        let AddPicked { picks, words, sums, blocks, sum_blocks } = self;
        let zero = 0;
        let mut nowhere = 0;
        let nowhere = &raw mut nowhere;
        for (words, sums) in words.chunks(V::BLOCKS * blocks).zip(sums.chunks_mut(V::BLOCKS * sum_blocks)) {
            let (count, at) = (words.len() / blocks, sums.as_mut_ptr());
            for (to, places) in picks.places.chunks_exact(blocks).enumerate() {
                // SAFETY: the caller guarantees the features of `V`; every existing word has these blocks.
                unsafe {
                    let place = |k: usize| if k < count { at.add(k * sum_blocks + to) } else { nowhere };
                    let mut sum = V::gather(|k| place(k).cast_const());
                    for (block, &places) in places.iter().enumerate() {
                        let word = V::gather(|k| {
                            if k < count { words.as_ptr().add(k * blocks + block) } else { &raw const zero }
                        });
                        sum = sum.xor(word.pick(V::splat(places)));
                    }
                    sum.scatter(place);
                }
            }
        }
        // SAFETY: `nowhere` is the variable above.
        unsafe { nowhere.write_volatile(0) };
    }
}

/// Converts rows into words. Row `i` has symbol `i` of all words, in `row_blocks` blocks. The first of these
/// words are written to `words`, each in as many blocks as its symbols fill.
///
/// # Panics
/// If there are no whole rows, or `words` has a wrong length.
pub fn words_of_rows(rows: &[u128], row_blocks: usize, words: &mut [u128]) {
    words_of_rows_with(Kernel::best(), rows, row_blocks, words);
}

/// Does the same as [`words_of_rows`] with a kernel of the caller's choice.
///
/// # Panics
/// As [`words_of_rows`].
pub fn words_of_rows_with(kernel: Kernel, rows: &[u128], row_blocks: usize, words: &mut [u128]) {
    let symbols = rows.len().checked_div(row_blocks).unwrap_or(0);
    let blocks = symbols.div_ceil(BLOCK);
    let count = words.len().checked_div(blocks).unwrap_or(0);
    assert_eq!(
        (rows.len(), words.len()),
        (symbols * row_blocks, count * blocks),
        "all rows must have the same length"
    );
    assert!(count <= BLOCK * row_blocks, "the number of words must not exceed those of a row");
    if count > 0 {
        kernel.run(WordsOfRows { rows, row_blocks, words, blocks });
    }
}

struct WordsOfRows<'a> {
    rows: &'a [u128],
    row_blocks: usize,
    words: &'a mut [u128],
    blocks: usize,
}

impl VectorLoop for WordsOfRows<'_> {
    type Output = ();
    #[inline(always)]
    unsafe fn run<V: Vector>(self) {
        let WordsOfRows { rows, row_blocks, words, blocks } = self;
        let zeros = [0; 4];
        let mut padded = Zeroizing::new([0; 4]);
        for (tile, words) in words.chunks_mut(BLOCK * V::BLOCKS * blocks).enumerate() {
            let first = tile * V::BLOCKS;
            for (block, rows) in rows.chunks(BLOCK * row_blocks).enumerate() {
                // SAFETY: the caller guarantees the features of `V`; a row has a whole register from `first`
                // on, or its rest is copied.
                unsafe {
                    let mut columns = [V::splat(0); BLOCK];
                    for (k, column) in columns.iter_mut().enumerate() {
                        let row = rows.get(k * row_blocks + first..(k + 1) * row_blocks).unwrap_or(&zeros);
                        *column = if row.len() >= V::BLOCKS {
                            V::load(row.as_ptr())
                        } else {
                            padded[..row.len()].copy_from_slice(row);
                            V::load(padded.as_ptr())
                        };
                    }
                    write_tile::<V, false>(transposed(columns), words, block, blocks);
                }
            }
        }
    }
}

/// The factors of all coefficients that a byte can hold.
#[derive(Clone)]
pub struct SymbolFactors(Factors);

impl SymbolFactors {
    /// Returns the table in which coefficient `c` has the factor `factor(c)`.
    pub fn new(factor: impl Fn(u8) -> Factor) -> Self {
        SymbolFactors(Factors::of((0..256_usize).map(|c| factor(c as u8))))
    }
}

/// The number of chunks of data that are added to sums at a time.
const CHUNKS: usize = 8;

/// Adds up chunks of data. Each chunk has `chunk` blocks, but the last one may be shorter. Chunk `c` times
/// the factor of `coefficients[v][c]` is added to `sums[v]`, which has `chunk` blocks. Takes constant time
/// with respect to the data; the coefficients are public.
///
/// # Panics
/// If the numbers of sums, coefficients and chunks do not match, or `chunk` is not a multiple of 4.
pub fn add_scaled(
    scale: &SymbolFactors,
    coefficients: &[Vec<u8>],
    data: &[u128],
    chunk: usize,
    sums: &mut [u128],
) {
    add_scaled_with(Kernel::best(), scale, coefficients, data, chunk, sums);
}

/// Does the same as [`add_scaled`] with a kernel of the caller's choice.
///
/// # Panics
/// As [`add_scaled`].
pub fn add_scaled_with(
    kernel: Kernel,
    scale: &SymbolFactors,
    coefficients: &[Vec<u8>],
    data: &[u128],
    chunk: usize,
    sums: &mut [u128],
) {
    assert!(chunk > 0 && chunk.is_multiple_of(4), "each chunk must consist of whole registers");
    assert_eq!(sums.len(), coefficients.len() * chunk, "each list of coefficients must have a sum");
    let chunks = data.len().div_ceil(chunk);
    assert!(coefficients.iter().all(|list| list.len() == chunks), "each chunk must have a coefficient");
    let (whole, rest) = data.split_at(data.len() / chunk * chunk);
    kernel.run(AddScaled { scale, coefficients, first: 0, data: whole, chunk, sums });
    if !rest.is_empty() {
        let mut padded = Zeroizing::new(vec![0; chunk]);
        padded[..rest.len()].copy_from_slice(rest);
        let first = chunks - 1;
        kernel.run(AddScaled { scale, coefficients, first, data: &padded, chunk, sums });
    }
}

struct AddScaled<'a> {
    scale: &'a SymbolFactors,
    coefficients: &'a [Vec<u8>],
    /// The index of the coefficient of the first chunk.
    first: usize,
    data: &'a [u128],
    chunk: usize,
    sums: &'a mut [u128],
}

impl VectorLoop for AddScaled<'_> {
    type Output = ();
    #[inline(always)]
    unsafe fn run<V: Vector>(self) {
        let AddScaled { scale: SymbolFactors(factors), coefficients, first, data, chunk, sums } = self;
        let whole = data.len() / (CHUNKS * chunk) * CHUNKS;
        for c in (0..whole).step_by(CHUNKS) {
            // SAFETY: the caller guarantees the features of `V`; chunks and sums are whole registers long.
            unsafe { add_chunks::<V, CHUNKS>(factors, coefficients, first + c, &data[c * chunk..], sums) };
        }
        for c in whole..data.len() / chunk {
            // SAFETY: as above.
            unsafe { add_chunks::<V, 1>(factors, coefficients, first + c, &data[c * chunk..], sums) };
        }
    }
}

/// Adds `N` chunks to the sums, with the coefficients from number `first` on.
///
/// # Safety
/// The machine has the features of `V`. A sum has whole registers, and the data has `N` chunks of this
/// length.
#[inline(always)]
unsafe fn add_chunks<V: Vector, const N: usize>(
    factors: &Factors,
    coefficients: &[Vec<u8>],
    first: usize,
    data: &[u128],
    sums: &mut [u128],
) {
    let chunk = sums.len() / coefficients.len().max(1);
    for place in (0..chunk).step_by(V::BLOCKS) {
        // SAFETY: the caller guarantees the features of `V` and the lengths; every byte has a factor.
        unsafe {
            let mut bytes = [V::splat(0).bytes(); N];
            for (c, bytes) in bytes.iter_mut().enumerate() {
                *bytes = V::load(data.as_ptr().add(c * chunk + place)).bytes();
            }
            for (v, coefficients) in coefficients.iter().enumerate() {
                let at = sums.as_mut_ptr().add(v * chunk + place);
                let coefficients =
                    coefficients[first..].first_chunk::<N>().expect("each chunk must have a coefficient");
                let mut sum = V::load(at);
                for (bytes, coefficient) in bytes.iter().zip(coefficients) {
                    sum = sum.xor(V::times(bytes, factors, usize::from(*coefficient)));
                }
                sum.store(at);
            }
        }
    }
}
