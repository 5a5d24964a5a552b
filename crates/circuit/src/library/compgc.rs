//! The programs of CompGC's measurements: small components, each used many times, whose ports are linked.

use super::aes::{chain, double, round, sub_bytes};
use super::{add, component, equal, less_than, select, uint, xor};
use crate::{Bit, Builder, Component, ComponentId, Port, Program, ProgramBuilder, Recipient, Type, Wire};
use brickwork_base::Error;

/// Returns `width` wires from `first` on.
fn wires(first: Wire, width: u32) -> std::ops::Range<Wire> {
    first..first + width
}

/// Returns the next round key: 128 AND gates.
fn next_key(b: &mut Builder, key: &[Bit], constant: &[Bit]) -> Vec<Bit> {
    let mut last = key[..32].to_vec();
    last.rotate_right(8);
    let mut previous = sub_bytes(b, &last);
    let top = xor(b, &previous[24..], constant);
    previous.splice(24.., top);
    chain(b, key, previous)
}

/// The components of AES-128: its first round, the eight in the middle, the last one. Each one also computes
/// its round key.
struct Rounds {
    first: ComponentId,
    middle: ComponentId,
    last: ComponentId,
}

impl Rounds {
    fn new(program: &mut ProgramBuilder) -> Result<Self, Error> {
        let between = || vec![uint("state", 128), uint("key", 128), uint("constant", 8)];
        let given = vec![uint("block", 128), uint("key", 128)];
        let first = component("aes_first", given, between(), |b, w| {
            let one: Vec<Bit> = (0..8).map(|i| Bit::constant(i == 0)).collect();
            let (state, key) = (xor(b, w[0], w[1]), next_key(b, w[1], &one));
            vec![round(b, &state, &key, false), key, double(b, &one)]
        })?;
        let middle = component("aes_middle", between(), between(), |b, w| {
            let key = next_key(b, w[1], w[2]);
            vec![round(b, w[0], &key, false), key, double(b, w[2])]
        })?;
        let last = component("aes_last", between(), vec![uint("block", 128)], |b, w| {
            let key = next_key(b, w[1], w[2]);
            vec![round(b, w[0], &key, true)]
        })?;
        Ok(Rounds {
            first: program.component(first)?,
            middle: program.component(middle)?,
            last: program.component(last)?,
        })
    }

    /// Encrypts a block under a key; takes and returns the first of 128 wires.
    fn encrypt(&self, program: &mut ProgramBuilder, block: Wire, key: Wire) -> Result<Wire, Error> {
        let inputs: Vec<Wire> = wires(block, 128).chain(wires(key, 128)).collect();
        let mut state = program.slot(self.first, &inputs)?;
        for _ in 0..8 {
            state = program.slot(self.middle, &wires(state, 264).collect::<Vec<_>>())?;
        }
        program.slot(self.last, &wires(state, 264).collect::<Vec<_>>())
    }
}

/// Returns AES-128 in ten components, one a round, with 6400 AND gates in all: the garbler's key, the
/// evaluator's block, the ciphertext for both.
///
/// # Errors
/// Only if a circuit exceeds its limits.
pub fn aes() -> Result<Program, Error> {
    let mut program = ProgramBuilder::new("compgc-aes", vec![uint("key", 128)], vec![uint("block", 128)])?;
    let rounds = Rounds::new(&mut program)?;
    let last = rounds.encrypt(&mut program, 128, 0)?;
    program.output(uint("ciphertext", 128), Recipient::Both, wires(last, 128).collect())?;
    program.finish()
}

/// Returns CBC mode with AES-128, an XOR and ten rounds a block: the garbler's key and initial value, the
/// evaluator's message, all blocks of ciphertext for both.
///
/// # Errors
/// [`Error::Usage`] if there is no block.
pub fn cbc(blocks: u32) -> Result<Program, Error> {
    if blocks == 0 {
        return Err(Error::Usage("CBC mode needs at least one block".into()));
    }
    let all = Type::Array(Box::new(Type::Uint(128)), blocks);
    let mut program = ProgramBuilder::new(
        format!("compgc-cbc-{blocks}"),
        vec![uint("key", 128), uint("iv", 128)],
        vec![Port::new("message", all.clone())],
    )?;
    let rounds = Rounds::new(&mut program)?;
    let sum = component("xor_128", vec![uint("x", 128), uint("y", 128)], vec![uint("sum", 128)], |b, w| {
        vec![xor(b, w[0], w[1])]
    })?;
    let sum = program.component(sum)?;
    let (mut last, mut ciphertext) = (128, Vec::new());
    for k in 0..blocks {
        let inputs: Vec<Wire> = wires(last, 128).chain(wires(256 + 128 * k, 128)).collect();
        let block = program.slot(sum, &inputs)?;
        last = rounds.encrypt(&mut program, block, 0)?;
        ciphertext.extend(wires(last, 128));
    }
    program.output(Port::new("ciphertext", all), Recipient::Both, ciphertext)?;
    program.finish()
}

/// Returns a component of [`cbc`] by its name, for functions that name their components: `aes_first`,
/// `aes_middle`, `aes_last`, `xor_128`.
///
/// # Errors
/// [`Error::Input`] if there is none of this name.
pub fn component_named(name: &str) -> Result<Component, Error> {
    let found = cbc(1)?.components().iter().find(|component| component.name == name).cloned();
    found.ok_or_else(|| Error::Input(format!("there is no component {name}")))
}

/// Makes a step of the Levenshtein distance, for words and symbols of these widths: the least of three
/// neighbours, plus 1 unless it is the diagonal one and the symbols agree (Huang, Evans, Katz, Malka 2011).
fn step(width: u32, symbol: u32) -> Result<Component, Error> {
    let word = |name| uint(name, width);
    let given = vec![word("diagonal"), word("above"), word("left"), uint("x", symbol), uint("y", symbol)];
    component("levenshtein", given, vec![word("distance")], |b, w| {
        let above = less_than(b, w[1], w[2]);
        let side = select(b, above, w[1], w[2]);
        // If two neighbours are equal, the diagonal one is taken, because it may cost nothing.
        let beside = less_than(b, &side, w[0]);
        let least = select(b, beside, &side, w[0]);
        let same = equal(b, w[3], w[4]);
        let costs = b.or(beside, !same);
        let one: Vec<Bit> = std::iter::once(costs).chain((1..width).map(|_| Bit::ZERO)).collect();
        vec![add(b, &least, &one)]
    })
}

/// Returns the Levenshtein distance of two texts with these numbers of symbols and bits per symbol: a
/// component for each pair of symbols. The garbler's text, the evaluator's, the distance for both.
///
/// # Errors
/// [`Error::Usage`] if a text or a symbol is empty.
pub fn levenshtein(symbols: [u32; 2], bits: u32) -> Result<Program, Error> {
    let [rows, columns] = symbols;
    if rows == 0 || columns == 0 || bits == 0 {
        return Err(Error::Usage(
            "each text must have at least one symbol, and each symbol at least one bit".into(),
        ));
    }
    let longest = rows.max(columns);
    let width = 32 - longest.leading_zeros();
    let text = |count| vec![Port::new("text", Type::Array(Box::new(Type::Uint(bits)), count))];
    let name = format!("compgc-levenshtein-{rows}-{columns}-{bits}");
    let mut program = ProgramBuilder::new(name, text(rows), text(columns))?;
    // A constant is derived from any input wire.
    let borders: Vec<Port> = (0..=longest).map(|k| uint(&format!("d{k}"), width)).collect();
    let borders = component("borders", vec![uint("any", 1)], borders, |_, _| {
        (0..=longest).map(|k| (0..width).map(|i| Bit::constant(k >> i & 1 == 1)).collect()).collect()
    })?;
    let (borders, step) = (program.component(borders)?, program.component(step(width, bits)?)?);
    let constants = program.slot(borders, &[0])?;
    let border = |k: u32| constants + k * width;
    let mut above: Vec<Wire> = (0..=columns).map(border).collect();
    for row in 0..rows {
        let (mut diagonal, mut left) = (above[0], border(row + 1));
        above[0] = left;
        for column in 0..columns {
            let words = [diagonal, above[column as usize + 1], left];
            let inputs = words.into_iter().flat_map(|word| wires(word, width));
            let symbols = [row * bits, (rows + column) * bits].map(|symbol| wires(symbol, bits));
            left = program.slot(step, &inputs.chain(symbols.into_iter().flatten()).collect::<Vec<_>>())?;
            diagonal = std::mem::replace(&mut above[column as usize + 1], left);
        }
    }
    let last = above[columns as usize];
    program.output(uint("distance", width), Recipient::Both, wires(last, width).collect())?;
    program.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::library::aes;
    use brickwork_base::random::Rng;
    use brickwork_testing::Replayable as _;

    fn bits(count: usize, rng: &mut Rng) -> Vec<bool> {
        (0..count).map(|_| rng.below(2) == 1).collect()
    }

    #[test]
    fn rounds_are_aes() {
        let mut rng = Rng::replayable("test");
        let (program, whole) = (aes().unwrap(), aes::aes_128().unwrap());
        assert_eq!((program.slot_count(), program.and_gates()), (10, 6400));
        for _ in 0..5 {
            let (key, block) = (bits(128, &mut rng), bits(128, &mut rng));
            assert_eq!(program.simulate(&key, &block), whole.simulate(&key, &block));
        }
    }

    #[test]
    fn blocks_are_chained() {
        let mut rng = Rng::replayable("test");
        let (program, whole) = (cbc(3).unwrap(), aes::aes_128().unwrap());
        let (given, message) = (bits(256, &mut rng), bits(3 * 128, &mut rng));
        let (key, mut last) = (&given[..128], given[128..].to_vec());
        let mut expected: Vec<bool> = Vec::new();
        for block in message.chunks(128) {
            let sum: Vec<bool> = block.iter().zip(&last).map(|(a, b)| a ^ b).collect();
            last = whole.simulate(key, &sum).concat();
            expected.extend(&last);
        }
        assert_eq!(program.simulate(&given, &message).concat(), expected);
        assert!(cbc(0).is_err());
    }

    /// The textbook algorithm.
    fn distance(x: &[u64], y: &[u64]) -> usize {
        let mut row: Vec<usize> = (0..=y.len()).collect();
        for (i, a) in x.iter().enumerate() {
            let mut diagonal = std::mem::replace(&mut row[0], i + 1);
            for (j, b) in y.iter().enumerate() {
                let next = (diagonal + usize::from(a != b)).min(row[j] + 1).min(row[j + 1] + 1);
                diagonal = std::mem::replace(&mut row[j + 1], next);
            }
        }
        row[y.len()]
    }

    /// Distances are right for several alphabets and any two lengths, and for texts that have much in common.
    #[test]
    fn distances_are_right() {
        let mut rng = Rng::replayable("test");
        for (rows, columns, symbol) in
            [(1, 1, 1), (3, 3, 1), (4, 7, 2), (7, 4, 2), (8, 8, 8), (15, 16, 3), (30, 30, 8), (1, 20, 5)]
        {
            let program = levenshtein([rows, columns], symbol).unwrap();
            for few in [2, 1 << symbol] {
                let mut text = |count: u32| -> Vec<u64> { (0..count).map(|_| rng.below(few)).collect() };
                let (x, mut y) = (text(rows), text(columns));
                if few > 2 && rows < columns {
                    y[1..=rows as usize].copy_from_slice(&x);
                }
                let encoded = |text: &[u64]| -> Vec<bool> {
                    text.iter().flat_map(|s| (0..symbol).map(move |i| s >> i & 1 == 1)).collect()
                };
                let found = program.simulate(&encoded(&x), &encoded(&y)).concat();
                let found: usize = found.iter().rev().fold(0, |n, &bit| 2 * n + usize::from(bit));
                assert_eq!(found, distance(&x, &y), "{x:?} {y:?}");
            }
        }
        assert!(levenshtein([0, 1], 8).is_err() && levenshtein([1, 1], 0).is_err());
    }
}
