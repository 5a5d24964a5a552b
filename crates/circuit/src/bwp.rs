//! The `.bwp` file: a program in its canonical encoding, followed by its digest.
//!
//! ```text
//! file      = "brickwp" version:u8 body digest:[u8; 32]    digest = BLAKE3-derive(context, all before it)
//! body      = name ports(garbler) ports(evaluator) n component^n n slot^n n output^n
//! component = name ports(inputs) ports(outputs) n gate^n wires(origin = number of wires)
//! gate      = (distance to a) * 4 + kind  [distance to b]  kind 0 XOR, 1 AND, 2 INV; distances are from the
//!                                                          driven wire
//! slot      = component wires(origin = its first output)   as many as the component has inputs
//! output    = name type recipient wires(origin = 0)        as many as the type has bits
//! wires     = (zigzag(first - expected), length - 1)*      runs of consecutive wires; expected is the wire
//!                                                          after the run before, at first the origin
//! ports     = n (name rule* type)^n                        rule: 6 field (unique) | 7 field (ascending) |
//!                                                                8 (sorted) | 9 (grouped) | 10 (keyed)
//!                                                          type: 0 w | 1 w | 2 n type | 3 n (name type)^n |
//!                                                          4 w point | 5 w point (fixed point; 5 is signed)
//! ```
//!
//! All numbers are LEB128 with as few bytes as possible; a name is its length and its UTF-8 bytes. A program
//! has exactly one file: the reader refuses any other encoding of it, so the digest of the bytes is the
//! digest of the program.

use std::sync::Arc;

use super::port::{MAX_TYPE_DEPTH, total_width};
use super::value::write_bits;
use super::{
    Circuit, Component, ComponentDigest, ComponentId, Gate, OutputPort, Party, Port, Program, ProgramBuilder,
    Recipient, RowOrder, Rule, Type, Wire,
};
use brickwork_base::Error;

/// The first bytes of a `.bwp` file, of which the last one is the version.
pub(super) const MAGIC: &[u8; 8] = b"brickwp\x01";

/// Version of `.bwp` files.
pub const FILE_VERSION: u8 = MAGIC[7];

const DIGEST_CONTEXT: &str = "brickwork program encoding 1";
const DIGEST_LEN: usize = 32;

/// Any file may name this many wires, and [`WIRES_PER_BYTE`] more for each of its bytes. Wires are stored as
/// ranges, so without a bound a small file could exhaust the memory.
const FREE_WIRES: u64 = 1 << 26;
const WIRES_PER_BYTE: u64 = 1 << 10;

impl Program {
    /// Returns the program as a `.bwp` file.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Writer(MAGIC.to_vec());
        out.string(self.name());
        for party in [Party::Garbler, Party::Evaluator] {
            out.ports(self.input_ports(party));
        }
        out.number(self.components().len() as u64);
        for (component, circuit) in self.components().iter().zip(self.given_circuits()) {
            out.string(&component.name);
            out.ports(&component.inputs);
            out.ports(&component.outputs);
            out.circuit(circuit);
        }
        out.number(self.slot_count() as u64);
        for slot in self.slots() {
            out.number(u64::from(slot.component.0));
            out.wires(slot.inputs, slot.first_output);
        }
        out.number(self.outputs().len() as u64);
        for OutputPort { port, to, wires } in self.outputs() {
            out.string(&port.name);
            out.ty(&port.ty);
            out.0.push(match to {
                Recipient::Garbler => 0,
                Recipient::Evaluator => 1,
                Recipient::Both => 2,
                Recipient::Nobody => 3,
            });
            out.wires(wires, 0);
        }
        let digest = digest(&out.0);
        out.0.extend_from_slice(&digest);
        out.0
    }

    /// Returns the digest of the bytes of [`Program::to_bytes`].
    pub(super) fn encoded_digest(&self) -> [u8; 32] {
        let bytes = self.to_bytes();
        bytes[bytes.len() - DIGEST_LEN..].try_into().expect("32 bytes")
    }

    /// Reads a `.bwp` file.
    ///
    /// # Errors
    /// [`Error::Input`] if the bytes are not an output of [`Program::to_bytes`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Program, Error> {
        Self::read(bytes).map_err(|e| Error::Input(format!("not a valid .bwp program: {e}")))
    }

    fn read(bytes: &[u8]) -> Result<Program, Error> {
        let Some(rest) = bytes.strip_prefix(&MAGIC[..7]) else {
            return bad("the first bytes are not those of a .bwp file");
        };
        match rest.first() {
            None => return bad(TRUNCATED),
            Some(version) if *version != MAGIC[7] => {
                return bad(format!(
                    "the file has format version {version}, but this release reads version {}; compile the \
                     program again",
                    MAGIC[7]
                ));
            }
            Some(_) => {}
        }
        if rest.len() < 1 + DIGEST_LEN {
            return bad(TRUNCATED);
        }
        let (encoding, stored) = bytes.split_at(bytes.len() - DIGEST_LEN);
        if digest(encoding) != stored {
            return bad("the digest at the end does not fit the content; the file is damaged or truncated");
        }
        let mut reader = Reader {
            bytes: &encoding[8..],
            wires: FREE_WIRES + WIRES_PER_BYTE.saturating_mul(bytes.len() as u64),
        };
        let program = reader.program()?;
        if !reader.bytes.is_empty() {
            return bad(format!("the file has {} bytes too many at its end", reader.bytes.len()));
        }
        if program.to_bytes() != bytes {
            return bad("the file does not have the encoding that the compiler writes");
        }
        Ok(program)
    }
}

impl Component {
    /// Returns a digest of the component's function: its circuit and the widths of its ports, without names.
    pub fn digest(&self) -> ComponentDigest {
        let mut out = Writer(Vec::new());
        for ports in [&self.inputs, &self.outputs] {
            out.number(ports.len() as u64);
            ports.iter().for_each(|port| out.number(port.width()));
        }
        out.circuit(&self.circuit);
        blake3::derive_key("brickwork component encoding 1", &out.0)
    }
}

/// The tag of a rule with the first order of rows; the tags of types are smaller.
const RULE: u8 = 6;
/// The tag of an input that is drawn, after the tags of all rules.
const DRAWN: u8 = RULE + RowOrder::ALL.len() as u8;

const TRUNCATED: &str = "the file ends too early";

fn bad<T>(why: impl Into<String>) -> Result<T, Error> {
    Err(Error::Input(why.into()))
}

fn digest(encoding: &[u8]) -> [u8; 32] {
    blake3::derive_key(DIGEST_CONTEXT, encoding)
}

struct Writer(Vec<u8>);

impl Writer {
    fn number(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    fn string(&mut self, text: &str) {
        self.number(text.len() as u64);
        self.0.extend_from_slice(text.as_bytes());
    }

    fn ports(&mut self, ports: &[Port]) {
        self.number(ports.len() as u64);
        for port in ports {
            self.string(&port.name);
            for rule in &port.rules {
                let order = RowOrder::ALL.iter().position(|order| *order == rule.order).unwrap_or_default();
                self.0.push(RULE + order as u8);
                self.string(&rule.field);
            }
            if let Some(largest) = &port.drawn {
                self.0.push(DRAWN);
                let mut digits = String::new();
                write_bits(largest, &mut digits);
                self.string(&digits);
            }
            self.ty(&port.ty);
        }
    }

    fn ty(&mut self, ty: &Type) {
        match ty {
            Type::Uint(w) => {
                self.0.push(0);
                self.number(u64::from(*w));
            }
            Type::Int(w) => {
                self.0.push(1);
                self.number(u64::from(*w));
            }
            Type::Fixed { width, point, signed } => {
                self.0.push(4 + u8::from(*signed));
                self.number(u64::from(*width));
                self.number(u64::from(*point));
            }
            Type::Array(element, n) => {
                self.0.push(2);
                self.number(u64::from(*n));
                self.ty(element);
            }
            Type::Struct(fields) => {
                self.0.push(3);
                self.number(fields.len() as u64);
                for (name, ty) in fields {
                    self.string(name);
                    self.ty(ty);
                }
            }
        }
    }

    fn circuit(&mut self, circuit: &Circuit) {
        self.number(circuit.gate_count() as u64);
        for (driven, gate) in (circuit.inputs() as u64..).zip(circuit.gates()) {
            let (kind, a, b) = match gate {
                Gate::Xor(a, b) => (0, a, Some(b)),
                Gate::And(a, b) => (1, a, Some(b)),
                Gate::Inv(a) => (2, a, None),
            };
            self.number((driven - u64::from(a)) << 2 | kind);
            if let Some(b) = b {
                self.number(driven - u64::from(b));
            }
        }
        self.wires(circuit.outputs(), circuit.wires() as Wire);
    }

    fn wires(&mut self, wires: &[Wire], origin: Wire) {
        let mut expected = i64::from(origin);
        for run in wires.chunk_by(|a, b| a + 1 == *b) {
            let delta = i64::from(run[0]) - expected;
            self.number((delta << 1 ^ delta >> 63) as u64);
            self.number(run.len() as u64 - 1);
            expected = i64::from(run[0]) + run.len() as i64;
        }
    }
}

struct Reader<'b> {
    bytes: &'b [u8],
    /// The number of wires that the rest of the file may still name.
    wires: u64,
}

impl<'b> Reader<'b> {
    fn take(&mut self, len: usize) -> Result<&'b [u8], Error> {
        let Some((head, tail)) = self.bytes.split_at_checked(len) else { return bad(TRUNCATED) };
        self.bytes = tail;
        Ok(head)
    }

    fn byte(&mut self) -> Result<u8, Error> {
        Ok(self.take(1)?[0])
    }

    /// Reads a number of at most 35 bits; a valid file has no larger one.
    fn number(&mut self) -> Result<u64, Error> {
        let mut value = 0;
        for shift in (0..35).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        bad("the file contains a number of more than 35 bits")
    }

    fn number32(&mut self) -> Result<u32, Error> {
        let value = self.number()?;
        u32::try_from(value).or_else(|_| {
            bad(format!(
                "the file contains the number {value}, which is too \
             large for its place"
            ))
        })
    }

    /// Reads the length of a list whose elements take at least `bytes` bytes each.
    fn count(&mut self, bytes: usize) -> Result<usize, Error> {
        let count = self.number()?;
        if count > (self.bytes.len() / bytes) as u64 { bad(TRUNCATED) } else { Ok(count as usize) }
    }

    fn string(&mut self) -> Result<String, Error> {
        let len = self.count(1)?;
        let text = std::str::from_utf8(self.take(len)?).or_else(|_| {
            bad("the file contains a name that is \
             not UTF-8")
        })?;
        Ok(text.to_owned())
    }

    fn allow_wires(&mut self, count: u64) -> Result<(), Error> {
        match self.wires.checked_sub(count) {
            Some(rest) => {
                self.wires = rest;
                Ok(())
            }
            None => bad("the program has more wires than a file of this size can have"),
        }
    }

    fn ports(&mut self) -> Result<Vec<Port>, Error> {
        let count = self.count(4)?;
        let ports: Vec<Port> = (0..count).map(|_| self.port()).collect::<Result<_, Error>>()?;
        self.allow_wires(total_width(&ports))?;
        Ok(ports)
    }

    fn port(&mut self) -> Result<Port, Error> {
        let name = self.string()?;
        let mut rules = Vec::new();
        let order = |tag: u8| RowOrder::ALL.get(usize::from(tag.checked_sub(RULE)?)).copied();
        while let Some(order) = self.bytes.first().and_then(|tag| order(*tag)) {
            self.byte()?;
            rules.push(Rule { field: self.string()?, order });
        }
        let mut drawn = None;
        if self.bytes.first() == Some(&DRAWN) {
            self.byte()?;
            drawn = Some(self.string()?.chars().map(|digit| digit == '1').collect());
        }
        Ok(Port { name, ty: self.ty(0)?, rules, drawn })
    }

    fn ty(&mut self, depth: usize) -> Result<Type, Error> {
        if depth == MAX_TYPE_DEPTH {
            return bad(format!("a type is nested more than {MAX_TYPE_DEPTH} levels deep"));
        }
        match self.byte()? {
            0 => Ok(Type::Uint(self.number32()?)),
            1 => Ok(Type::Int(self.number32()?)),
            2 => {
                let n = self.number32()?;
                Ok(Type::Array(Box::new(self.ty(depth + 1)?), n))
            }
            3 => {
                let count = self.count(4)?;
                let fields = (0..count).map(|_| Ok((self.string()?, self.ty(depth + 1)?)));
                Ok(Type::Struct(fields.collect::<Result<_, Error>>()?))
            }
            tag @ (4 | 5) => {
                Ok(Type::Fixed { width: self.number32()?, point: self.number32()?, signed: tag == 5 })
            }
            tag => bad(format!("{tag} is not the number of a type")),
        }
    }

    fn circuit(&mut self, inputs: u64, outputs: u64) -> Result<Circuit, Error> {
        let count = self.count(1)?;
        let mut gates = Vec::with_capacity(count);
        // The caller has bounded the number of gates, and `Circuit::new` checks the exact limit.
        for driven in inputs..inputs + count as u64 {
            let first = self.number()?;
            let mut operand = |distance: Option<u64>| {
                let distance = distance.map_or_else(|| self.number(), Ok)?;
                match driven.checked_sub(distance).map(Wire::try_from) {
                    Some(Ok(wire)) if distance > 0 => Ok(wire),
                    _ => bad(format!(
                        "gate {} reads a wire that no input and no earlier gate drives",
                        driven - inputs
                    )),
                }
            };
            let a = operand(Some(first >> 2))?;
            gates.push(match first & 3 {
                0 => Gate::Xor(a, operand(None)?),
                1 => Gate::And(a, operand(None)?),
                2 => Gate::Inv(a),
                kind => return bad(format!("{kind} is not the number of a kind of gate")),
            });
        }
        let inputs = u32::try_from(inputs).or_else(|_| bad("a component has too many inputs"))?;
        let origin = u64::from(inputs) + count as u64;
        let outputs = self.wires(outputs, origin)?;
        Circuit::new(inputs, gates, outputs)
    }

    /// Reads `count` wires, stored as ranges.
    fn wires(&mut self, count: u64, origin: u64) -> Result<Vec<Wire>, Error> {
        let mut wires = Vec::new();
        self.append_wires(&mut wires, count, origin)?;
        Ok(wires)
    }

    fn append_wires(&mut self, wires: &mut Vec<Wire>, count: u64, origin: u64) -> Result<(), Error> {
        self.allow_wires(count)?;
        let (mut missing, mut expected) = (count, origin as i64);
        while missing > 0 {
            let delta = self.number()?;
            let first = expected + ((delta >> 1) as i64 ^ -((delta & 1) as i64));
            let len = self.number()? + 1;
            let end = first + len as i64;
            match (u32::try_from(first), u32::try_from(end)) {
                (Ok(first), Ok(end)) if len <= missing => wires.extend(first..end),
                _ => {
                    return bad("a list of wires is too long, or contains wires that do not exist");
                }
            }
            missing -= len;
            expected = end;
        }
        Ok(())
    }

    fn program(&mut self) -> Result<Program, Error> {
        let name = self.string()?;
        let mut program = ProgramBuilder::new(name, self.ports()?, self.ports()?)?;
        let mut widths = Vec::new();
        for _ in 0..self.count(8)? {
            let (name, inputs, outputs) = (self.string()?, self.ports()?, self.ports()?);
            let (width, results) = (total_width(&inputs), total_width(&outputs));
            let circuit = Arc::new(self.circuit(width, results)?);
            widths.push((width, results));
            program.component(Component { name, inputs, outputs, circuit })?;
        }
        let mut solderings = Vec::new();
        for index in 0..self.count(3)? {
            let component = self.number32()?;
            let Some(&(width, _)) = widths.get(component as usize) else {
                return bad(format!("slot {index} names component {component}, which does not exist"));
            };
            solderings.clear();
            self.append_wires(&mut solderings, width, u64::from(program.wires()))?;
            program.slot(ComponentId(component), &solderings)?;
        }
        for _ in 0..self.count(6)? {
            let port = Port::new(self.string()?, self.ty(0)?);
            let to = match self.byte()? {
                0 => Recipient::Garbler,
                1 => Recipient::Evaluator,
                2 => Recipient::Both,
                3 => Recipient::Nobody,
                tag => return bad(format!("{tag} is not the number of a recipient")),
            };
            let wires = self.wires(port.width(), 0)?;
            program.output(port, to, wires)?;
        }
        program.finish()
    }
}
