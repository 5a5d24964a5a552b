//! SCD, the Simple Circuit Description of JustGarble (Bellare, Hoang, Keelveedhi, Rogaway, IEEE S&P 2013,
//! section V): one flat MessagePack array of integers, as JustGarble itself writes files.
//!
//! ```text
//!   n, m, q, A[q], B[q], G[q], O[m]
//! ```
//!
//! Inputs are wires 0 to n - 1, and gate i drives wire n + 1 + i: JustGarble leaves wire n out. G holds truth
//! tables (bit 2a + b): 8 is AND, 14 OR, 6 XOR, 5 the negation of the second input (JustGarble names the same
//! wire twice), 0 and 15 the constants. O names the wires of the outputs. Without G, the array has 3 + 2q + m
//! numbers and describes a topological circuit, the part that an evaluator of the scheme Ga needs. JustGarble
//! does not write the wires of its constants, so nobody can read a file whose gates name them.
//!
//! SCD does not assign inputs to parties. Without a map all inputs belong to the garbler, as one integer
//! `in0`; a map assigns ranges of wires to parties (`in0-63` and `in64-127`), and the ranges become the
//! inputs `in0`, `in1` and so on.

use brickwork_base::Error;

use super::InputMap;
use super::bristol::program;
use super::lines::FREE_WIRES;
use crate::{Circuit, Gate, Party, Program, Wire};

/// The contents of an SCD file. Every gate reads earlier wires and every output is a wire, which [`Scd::new`]
/// and [`Scd::read`] check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scd {
    inputs: u32,
    gates: Vec<[u32; 2]>,
    functions: Option<Vec<u8>>,
    outputs: Vec<u32>,
}

impl Scd {
    /// Makes a circuit, or a topological circuit without functions. `gates` are the wires that each gate
    /// reads, `functions` its truth table, bit 2a + b.
    ///
    /// # Errors
    /// [`Error::Input`] if a gate reads a later wire or an output reads a wire that does not exist, if a
    /// table has more than four bits, or if there are too many wires. The same if tables and gates differ in
    /// number.
    pub fn new(
        inputs: u32,
        gates: Vec<[u32; 2]>,
        functions: Option<Vec<u8>>,
        outputs: Vec<u32>,
    ) -> Result<Self, Error> {
        let wires = u64::from(inputs) + gates.len() as u64;
        // The numbers of wires in the file are higher by one, because SCD leaves a wire out.
        if wires >= u64::from(u32::MAX) {
            return fail("an SCD circuit must have fewer than 2^32 - 1 wires".into());
        }
        for (k, (gate, driven)) in gates.iter().zip(u64::from(inputs)..).enumerate() {
            if gate.iter().any(|&wire| u64::from(wire) >= driven) {
                return fail(format!("gate {k} reads a wire that no input and no earlier gate drives"));
            }
        }
        if let Some(functions) = &functions {
            if functions.iter().any(|&table| table > 15) {
                return fail("the function of a gate must be a number of four bits".into());
            }
            if functions.len() != gates.len() {
                return fail(format!(
                    "the file has {} functions for {} gates; both numbers must be equal",
                    functions.len(),
                    gates.len()
                ));
            }
        }
        if outputs.iter().any(|&wire| u64::from(wire) >= wires) {
            return fail("an output reads a wire that does not exist".into());
        }
        Ok(Scd { inputs, gates, functions, outputs })
    }

    /// Reads a file. Gates and outputs are bounded by the file's bytes, and inputs have a bound of their own,
    /// so a small file cannot ask for much memory.
    ///
    /// # Errors
    /// [`Error::Input`] if the array is malformed or a number is out of bounds.
    pub fn read(bytes: &[u8]) -> Result<Self, Error> {
        let mut numbers = Numbers::new(bytes)?;
        let [inputs, outputs, gates] = [numbers.next("n")?, numbers.next("m")?, numbers.next("q")?];
        if u64::from(inputs) > FREE_WIRES + bytes.len() as u64 {
            return fail(format!(
                "the file announces {inputs} inputs, more than an SCD file of this size can \
                 have"
            ));
        }
        let expected = |arrays: u64| 3 + arrays * u64::from(gates) + u64::from(outputs);
        let has_functions = match numbers.count {
            count if count == expected(3) => true,
            count if count == expected(2) => false,
            count => {
                return fail(format!(
                    "the file announces {gates} gates and {outputs} outputs, but its {count} numbers fit \
                     neither such a circuit nor such a topological circuit"
                ));
            }
        };
        let mut row =
            |what, count: u32| (0..count).map(|_| numbers.next(what)).collect::<Result<Vec<_>, _>>();
        let (first, second) = (row("A", gates)?, row("B", gates)?);
        let tables = if has_functions { Some(row("G", gates)?) } else { None };
        let driven = row("O", outputs)?;
        numbers.end()?;
        // Wire n of the file does not exist.
        let wire = |number: u32| match number {
            number if number < inputs => Ok(number),
            number if number > inputs => Ok(number - 1),
            number => fail(format!("wire {number} must not be used: SCD leaves out this number")),
        };
        let pairs = first.into_iter().zip(second).map(|(a, b)| Ok([wire(a)?, wire(b)?]));
        let pairs = pairs.collect::<Result<_, Error>>()?;
        let outputs = driven.into_iter().map(wire).collect::<Result<_, _>>()?;
        // A number that does not fit into a byte becomes an invalid table, too.
        let tables = tables
            .map(|tables| tables.into_iter().map(|table| u8::try_from(table).unwrap_or(u8::MAX)).collect());
        Scd::new(inputs, pairs, tables, outputs)
    }

    /// Returns the bytes of a file.
    pub fn write(&self) -> Vec<u8> {
        let wire = |wire: u32| if wire < self.inputs { wire } else { wire + 1 };
        let header = [self.inputs, self.outputs.len() as u32, self.gates.len() as u32];
        let numbers: Vec<u32> = header
            .into_iter()
            .chain(self.gates.iter().map(|gate| wire(gate[0])))
            .chain(self.gates.iter().map(|gate| wire(gate[1])))
            .chain(self.functions.iter().flatten().map(|&table| u32::from(table)))
            .chain(self.outputs.iter().map(|&output| wire(output)))
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

    /// Returns n, the number of inputs.
    pub fn inputs(&self) -> u32 {
        self.inputs
    }

    /// Returns A and B: the wires that each gate reads.
    pub fn gates(&self) -> &[[u32; 2]] {
        &self.gates
    }

    /// Returns G, the truth table of each gate, bit 2a + b; a topological circuit has none.
    pub fn functions(&self) -> Option<&[u8]> {
        self.functions.as_deref()
    }

    /// Returns the wires of the outputs.
    pub fn outputs(&self) -> &[u32] {
        &self.outputs
    }

    /// Returns the topological circuit, the part that an evaluator of the scheme Ga knows.
    pub fn topology(&self) -> Self {
        Scd { functions: None, ..self.clone() }
    }

    /// Returns the same circuit of AND, XOR and INV gates, with one AND for each function that is not linear.
    ///
    /// # Errors
    /// [`Error::Input`] if it is a topological circuit, or too large.
    pub fn circuit(&self) -> Result<Circuit, Error> {
        let Some(functions) = &self.functions else {
            return fail(
                "this SCD file holds a topological circuit, which has no functions of gates, so it cannot \
                 run; give the SCD file with the array G"
                    .into(),
            );
        };
        let mut made = Made { inputs: self.inputs, gates: Vec::new() };
        let mut wires: Vec<Wire> = (0..self.inputs).collect();
        for (&[a, b], &function) in self.gates.iter().zip(functions) {
            let driven = made.gate(wires[a as usize], wires[b as usize], function);
            wires.push(driven);
        }
        let outputs = self.outputs.iter().map(|&wire| wires[wire as usize]).collect();
        Circuit::new(self.inputs, made.gates, outputs)
    }
}

impl From<&Circuit> for Scd {
    /// Converts each gate to one gate; a negation names one wire twice, as JustGarble writes it.
    fn from(circuit: &Circuit) -> Self {
        let (gates, functions) = circuit
            .gates()
            .map(|gate| match gate {
                Gate::And(a, b) => ([a, b], 8),
                Gate::Xor(a, b) => ([a, b], 6),
                Gate::Inv(a) => ([a, a], 5),
            })
            .unzip();
        let outputs = circuit.outputs().to_vec();
        Scd { inputs: circuit.inputs() as u32, gates, functions: Some(functions), outputs }
    }
}

/// The gates so far.
struct Made {
    inputs: u32,
    gates: Vec<Gate>,
}

impl Made {
    fn push(&mut self, gate: Gate) -> Wire {
        self.gates.push(gate);
        // If the numbers of wires saturate, the circuit is refused in the end.
        self.inputs.saturating_add(self.gates.len() as u32 - 1)
    }

    fn inverted(&mut self, wire: Wire, is_inverted: bool) -> Wire {
        if is_inverted { self.push(Gate::Inv(wire)) } else { wire }
    }

    /// Returns the wire of a function of two wires.
    fn gate(&mut self, a: Wire, b: Wire, table: u8) -> Wire {
        let value = |place: u8| table >> place & 1 == 1;
        // The function is a sum: a constant, a, b, and a times b.
        let constant = value(0);
        let (of_a, of_b) = (value(2) ^ constant, value(1) ^ constant);
        let product = value(0) ^ value(1) ^ value(2) ^ value(3);
        if product {
            // ab + ia + jb + c = (a + j)(b + i) + ij + c
            let (a, b) = (self.inverted(a, of_b), self.inverted(b, of_a));
            let and = self.push(Gate::And(a, b));
            return self.inverted(and, (of_a && of_b) ^ constant);
        }
        let sum = match (of_a, of_b) {
            (true, true) => self.push(Gate::Xor(a, b)),
            (true, false) => a,
            (false, true) => b,
            (false, false) => self.push(Gate::Xor(a, a)),
        };
        self.inverted(sum, constant)
    }
}

/// Reads a circuit as a program of one component.
pub(super) fn read(bytes: &[u8], file: &str, name: &str, map: &InputMap) -> Result<Program, Error> {
    let within = |error: Error| Error::Input(format!("{file}: {error}"));
    let scd = Scd::read(bytes).map_err(within)?;
    let circuit = scd.circuit().map_err(within)?;
    let (widths, owners) = ranges(scd.inputs, map).map_err(within)?;
    program(name, &widths, &[scd.outputs.len() as u32], circuit, &owners)
}

/// Returns the widths of the inputs, and the party of each.
fn ranges(inputs: u32, map: &InputMap) -> Result<(Vec<u32>, InputMap), Error> {
    // One port has all inputs.
    if map.is_empty() || map.len() == 1 && map.contains_key("in0") {
        return Ok((vec![inputs], map.clone()));
    }
    let range = |name: &str| {
        let (first, last) = name.strip_prefix("in")?.split_once('-')?;
        let number = |digits: &str| digits.bytes().all(|c| c.is_ascii_digit()).then(|| digits.parse().ok());
        Some((number(first)??, number(last)??))
    };
    let mut parts: Vec<(u32, u32, Party)> = Vec::new();
    for (name, &party) in map {
        let Some((first, last)) = range(name) else {
            return fail(format!(
                "{name} is not a range of inputs; write it as in0-{}",
                inputs.saturating_sub(1)
            ));
        };
        parts.push((first, last, party));
    }
    parts.sort_unstable_by_key(|part| part.0);
    let mut next = 0;
    let mut widths = Vec::new();
    let mut owners = InputMap::new();
    for (k, (first, last, party)) in parts.into_iter().enumerate() {
        if first != next || last < first || last >= inputs {
            return fail(format!(
                "the ranges of --map must cover the inputs 0 to {}, each once and in order; {first}-{last} \
                 does not follow {next}",
                inputs.saturating_sub(1)
            ));
        }
        widths.push(last - first + 1);
        owners.insert(format!("in{k}"), party);
        next = last + 1;
    }
    match next == inputs {
        true => Ok((widths, owners)),
        false => fail(format!("no range of --map covers input {next}; the circuit has {inputs} inputs")),
    }
}

/// Returns the whole program in SCD: the garbler's inputs, the evaluator's, and the outputs in order. The
/// format does not assign inputs to parties.
///
/// # Errors
/// [`Error::Input`] if the program is too large for one circuit, or an output goes to nobody: a reader of the
/// file would give it to both parties.
pub fn write(program: &Program) -> Result<Vec<u8>, Error> {
    program.refuse_kept_outputs()?;
    Ok(Scd::from(&program.flatten()?).write())
}

fn fail<T>(why: String) -> Result<T, Error> {
    Err(Error::Input(why))
}

/// The numbers of a MessagePack array.
struct Numbers<'b> {
    rest: &'b [u8],
    /// The number of elements in the array's header.
    count: u64,
}

impl<'b> Numbers<'b> {
    fn new(bytes: &'b [u8]) -> Result<Self, Error> {
        let mut numbers = Numbers { rest: bytes, count: 0 };
        numbers.count = match numbers.byte()? {
            short @ 0x90..=0x9f => u64::from(short & 15),
            0xdc => numbers.big_endian(2)?,
            0xdd => numbers.big_endian(4)?,
            _ => return fail("an SCD file must be an array in MessagePack".into()),
        };
        match numbers.count <= numbers.rest.len() as u64 {
            true => Ok(numbers),
            false => fail("the SCD array is longer than its file".into()),
        }
    }

    fn byte(&mut self) -> Result<u8, Error> {
        let Some((&first, rest)) = self.rest.split_first() else {
            return fail("the SCD file ends too early".into());
        };
        self.rest = rest;
        Ok(first)
    }

    fn big_endian(&mut self, bytes: usize) -> Result<u64, Error> {
        (0..bytes).try_fold(0, |number, _| Ok(number << 8 | u64::from(self.byte()?)))
    }

    /// Reads the next number, which fits into 32 bits and is not negative.
    fn next(&mut self, what: &str) -> Result<u32, Error> {
        let number = match self.byte()? {
            small @ 0..=0x7f => u64::from(small),
            // Unsigned numbers, and positive signed numbers.
            0xcc => self.big_endian(1)?,
            0xcd => self.big_endian(2)?,
            0xce => self.big_endian(4)?,
            0xcf => self.big_endian(8)?,
            0xd0 => self.positive(1)?,
            0xd1 => self.positive(2)?,
            0xd2 => self.positive(4)?,
            0xd3 => self.positive(8)?,
            _ => return fail(format!("{what} in an SCD file must be a number")),
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
        if self.rest.is_empty() { Ok(()) } else { fail("the SCD file continues after its array".into()) }
    }
}
