//! SCD, the paper's Simple Circuit Description: one flat MessagePack array of integers, as its program writes it.
//!
//! ```text
//!   n, m, q, A[q], B[q], G[q], O[m]
//! ```
//!
//! Inputs are wires 0 to n - 1 and gate i drives wire n + 1 + i: the program leaves wire n out. G holds truth
//! tables (bit 2a + b), O the wires of the outputs. Without G the array is 3 + 2q + m long and describes a
//! topological circuit, which is what an evaluator of Ga needs to know. Fixed wires, which the paper's program
//! numbers and does not write, are not in such a file: one that has them cannot be read by anybody.

use brickwork_base::Error;

use crate::circuit::{Circuit, Function};

/// A topological circuit: who reads whom.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Topology {
    /// n: how many inputs.
    pub inputs: u32,
    /// A and B: the wires that each gate reads. Inputs come first, then a wire for each gate.
    pub gates: Vec<[u32; 2]>,
    /// The wires of the outputs.
    pub outputs: Vec<u32>,
}

/// What an SCD file holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Described {
    /// A circuit.
    Circuit(Circuit),
    /// A topological circuit, without functions.
    Topology(Topology),
}

/// Reads an SCD file. Gates of other forms are brought into the paper's ([`Circuit::normalised`]).
///
/// # Errors
/// [`Error::Input`] if it is no such array, or a number is out of its bounds.
pub fn read(bytes: &[u8]) -> Result<Described, Error> {
    let mut numbers = Numbers::new(bytes)?;
    let [inputs, outputs, gates] = [numbers.next("n")?, numbers.next("m")?, numbers.next("q")?];
    // Every number takes at least a byte, so that a length cannot ask for more memory than the file has bytes.
    let expected = |arrays: u64| 3 + arrays * u64::from(gates) + u64::from(outputs);
    let functions = match numbers.count {
        count if count == expected(3) => true,
        count if count == expected(2) => false,
        count => {
            return fail(format!(
                "an SCD array of {count} numbers is neither a circuit nor a topological circuit of {gates} gates and {outputs} outputs"
            ));
        }
    };
    let mut row = |what, count: u32| (0..count).map(|_| numbers.next(what)).collect::<Result<Vec<_>, _>>();
    let (first, second) = (row("A", gates)?, row("B", gates)?);
    let tables = if functions { row("G", gates)? } else { Vec::new() };
    let driven = row("O", outputs)?;
    numbers.end()?;
    // Wire n of the file is nobody's.
    let wire = |number: u32| match number {
        number if number < inputs => Ok(number),
        number if number > inputs => Ok(number - 1),
        number => fail(format!("wire {number} is the one that SCD leaves out")),
    };
    let outputs = driven.into_iter().map(wire).collect::<Result<Vec<_>, _>>()?;
    let mut pairs = Vec::with_capacity(first.len());
    for (k, (a, b)) in first.into_iter().zip(second).enumerate() {
        let pair = [wire(a)?, wire(b)?];
        if pair.iter().any(|&wire| u64::from(wire) >= u64::from(inputs) + k as u64) {
            return fail(format!("gate {k} reads a wire that is not before it"));
        }
        pairs.push(pair);
    }
    if !functions {
        if outputs.iter().any(|&wire| u64::from(wire) >= u64::from(inputs) + pairs.len() as u64) {
            return fail("an output is no wire".into());
        }
        return Ok(Described::Topology(Topology { inputs, gates: pairs, outputs }));
    }
    let functions = tables.into_iter().map(|table| u8::try_from(table).ok().and_then(Function::of_table));
    let functions: Option<Vec<Function>> = functions.collect();
    let Some(functions) = functions else { return fail("the function of a gate has four bits".into()) };
    let gates = pairs.iter().zip(functions).map(|(&[a, b], function)| (a, b, function));
    Ok(Described::Circuit(Circuit::normalised(inputs, gates, &outputs)?))
}

/// Writes a circuit.
pub fn write(circuit: &Circuit) -> Vec<u8> {
    let functions = circuit.gates().iter().map(|gate| u32::from(gate.function.table())).collect();
    written(circuit, functions)
}

/// Writes what of a circuit an evaluator of Ga knows: all but its functions.
pub fn write_topology(circuit: &Circuit) -> Vec<u8> {
    written(circuit, Vec::new())
}

fn written(circuit: &Circuit, functions: Vec<u32>) -> Vec<u8> {
    let (gates, outputs) = (circuit.gates(), circuit.outputs());
    let wire = |wire: u32| if wire < circuit.inputs() { wire } else { wire + 1 };
    let header = [circuit.inputs(), outputs.len() as u32, gates.len() as u32];
    let numbers: Vec<u32> = header
        .into_iter()
        .chain(gates.iter().map(|gate| wire(gate.first)))
        .chain(gates.iter().map(|gate| wire(gate.second)))
        .chain(functions)
        .chain(outputs.iter().map(|&output| wire(output)))
        .collect();
    let mut bytes = match numbers.len() {
        count @ 0..=15 => vec![0x90 | count as u8],
        count @ 16..=0xffff => [&[0xdc][..], &(count as u16).to_be_bytes()].concat(),
        count => [&[0xdd][..], &(count as u32).to_be_bytes()].concat(),
    };
    for number in numbers {
        match number {
            0..=0x7f => bytes.push(number as u8),
            0x80..=0xff => bytes.extend([0xcc, number as u8]),
            0x100..=0xffff => {
                bytes.push(0xcd);
                bytes.extend((number as u16).to_be_bytes());
            }
            _ => {
                bytes.push(0xce);
                bytes.extend(number.to_be_bytes());
            }
        }
    }
    bytes
}

fn fail<T>(why: String) -> Result<T, Error> {
    Err(Error::Input(why))
}

/// The numbers of a MessagePack array.
struct Numbers<'b> {
    rest: &'b [u8],
    /// How many the array says that it has.
    count: u64,
}

impl<'b> Numbers<'b> {
    fn new(bytes: &'b [u8]) -> Result<Self, Error> {
        let mut numbers = Numbers { rest: bytes, count: 0 };
        numbers.count = match numbers.byte()? {
            short @ 0x90..=0x9f => u64::from(short & 15),
            0xdc => numbers.big_endian(2)?,
            0xdd => numbers.big_endian(4)?,
            _ => return fail("an SCD file is a MessagePack array".into()),
        };
        match numbers.count <= numbers.rest.len() as u64 {
            true => Ok(numbers),
            false => fail("the SCD array is longer than its file".into()),
        }
    }

    fn byte(&mut self) -> Result<u8, Error> {
        let Some((&first, rest)) = self.rest.split_first() else {
            return fail("the SCD file ends early".into());
        };
        self.rest = rest;
        Ok(first)
    }

    fn big_endian(&mut self, bytes: usize) -> Result<u64, Error> {
        (0..bytes).try_fold(0, |number, _| Ok(number << 8 | u64::from(self.byte()?)))
    }

    /// The next one, which fits into 32 bits and is not negative.
    fn next(&mut self, what: &str) -> Result<u32, Error> {
        let number = match self.byte()? {
            small @ 0..=0x7f => u64::from(small),
            // Unsigned, and what is signed and positive.
            0xcc => self.big_endian(1)?,
            0xcd => self.big_endian(2)?,
            0xce => self.big_endian(4)?,
            0xcf => self.big_endian(8)?,
            0xd0 => self.positive(1)?,
            0xd1 => self.positive(2)?,
            0xd2 => self.positive(4)?,
            0xd3 => self.positive(8)?,
            _ => return fail(format!("{what} in an SCD file is no number")),
        };
        u32::try_from(number)
            .or_else(|_| fail(format!("{what} in an SCD file is {number}, which is too large")))
    }

    fn positive(&mut self, bytes: usize) -> Result<u64, Error> {
        let number = self.big_endian(bytes)?;
        match number >> (8 * bytes - 1) {
            0 => Ok(number),
            _ => fail("a number in an SCD file is negative".into()),
        }
    }

    fn end(&self) -> Result<(), Error> {
        if self.rest.is_empty() { Ok(()) } else { fail("something follows the SCD array".into()) }
    }
}
