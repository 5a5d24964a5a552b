//! The garbling schemes of figure 3: Gb, En, Ev and De of Ga, GaX and GaXR.
//!
//! The figure as printed has two slips in GaXR. The token that a row stands for is E(A, B, g, 0) with the
//! gate's number for a tweak, not T, and the other token of the wire belongs to the other bit, not to T.
//!
//! For comparison there are half-gates, and half-gates without privacy (Zahur, Rosulek, Evans, *Two Halves
//! Make a Whole*, EUROCRYPT 2015). Their hash of one token is the dual-key cipher with an empty second key:
//! for A2 that is their H(A, T) = π(K) ⊕ K with K = 2A ⊕ T.

use std::sync::Arc;

use brickwork_base::Error;
use subtle::{Choice, ConstantTimeEq};
use zeroize::Zeroizing;

use crate::cipher::{Cipher, Doubling, Length};
use crate::circuit::{Circuit, Function, Terms};

/// Returns how gates are garbled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Four rows for every gate; only the topology of the circuit shows.
    Ga,
    /// XOR is free; which gates are XORs shows.
    GaX,
    /// As GaX, with one row less.
    GaXR,
    /// Two rows for a gate that is not linear, none for the others; which gates are linear shows, and in
    /// which of their inputs.
    HalfGates,
    /// One row for a gate that is not linear, and no privacy: the evaluator sees the circuit and every bit,
    /// including the inputs, as the last bit of its token. All that is promised is *aut*.
    PrivacyFree,
}

/// The part of a gate that an evaluator is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opening {
    /// It has rows.
    Rows,
    /// It is free: its token is the sum of those of these inputs.
    Sum {
        /// For the first input.
        first: bool,
        /// For the second input.
        second: bool,
    },
    /// Its function, without privacy; it has a row if the function is not linear.
    Known(Function),
}

impl Opening {
    /// Returns whether the gate has rows.
    pub fn has_rows(self) -> bool {
        match self {
            Opening::Rows => true,
            Opening::Sum { .. } => false,
            Opening::Known(function) => function.has_product(),
        }
    }
}

impl Method {
    /// Returns whether XOR gates have no rows.
    pub fn has_free_xor(self) -> bool {
        self != Method::Ga
    }

    /// Returns the number of rows of a gate that is not free.
    pub fn rows(self) -> usize {
        match self {
            Method::Ga | Method::GaX => 4,
            Method::GaXR => 3,
            Method::HalfGates => 2,
            Method::PrivacyFree => 1,
        }
    }

    /// Returns whether it hides the wires' bits from the evaluator (*prv* and *obv*).
    pub fn is_private(self) -> bool {
        self != Method::PrivacyFree
    }

    /// Returns the evaluator's knowledge of a gate with this function.
    pub fn opening(self, function: Function) -> Opening {
        let Terms { first, second, .. } = function.terms();
        match self {
            Method::GaX | Method::GaXR if function == Function::XOR => {
                Opening::Sum { first: true, second: true }
            }
            Method::HalfGates if !function.has_product() => {
                Opening::Sum { first: first == 1, second: second == 1 }
            }
            Method::PrivacyFree => Opening::Known(function),
            Method::Ga | Method::GaX | Method::GaXR | Method::HalfGates => Opening::Rows,
        }
    }

    /// Returns whether an evaluator of this method can be told this of a gate.
    pub(crate) fn has(self, opening: Opening) -> bool {
        (0..16).filter_map(Function::of_table).any(|function| self.opening(function) == opening)
    }
}

/// A garbling scheme: a method and its cipher, which go together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scheme {
    method: Method,
    cipher: Cipher,
}

impl Scheme {
    /// Makes the scheme of this method with this cipher.
    ///
    /// # Errors
    /// [`Error::Usage`] if the two together are insecure.
    pub fn new(method: Method, cipher: Cipher) -> Result<Self, Error> {
        let is_half = matches!(method, Method::HalfGates | Method::PrivacyFree);
        if is_half && matches!(cipher, Cipher::A2(d) | Cipher::A4(d) if d != Doubling::D1) {
            return Err(Error::Usage(format!(
                "{method:?} is defined, and its security shown, with multiplication in the field, which is \
                 D1; take that, or another method"
            )));
        }
        match method.has_free_xor() && !cipher.bears_free_xor() {
            false => Ok(Scheme { method, cipher }),
            true => Err(Error::Usage(format!(
                "{method:?} with {cipher:?} can be read by anybody: the keys of its cipher add up, so the \
                 offset that all wires have in common cancels out; take A2 or A4 with it, or Ga with \
                 {cipher:?}"
            ))),
        }
    }

    /// Returns the scheme with this name: a method, a cipher and a doubling, as in `gaxr-a2-d7`,
    /// `half-gates-a2` or `ga-sha-1`. Without a doubling it is that of the paper's measurements, D7 for A2
    /// and D3 for A4, and with half-gates D1.
    ///
    /// # Errors
    /// [`Error::Usage`] if there is no scheme with this name, or it is insecure.
    pub fn named(name: &str) -> Result<Self, Error> {
        let unknown = || {
            Error::Usage(format!(
                "there is no scheme {name:?}; a scheme is a method (ga, gax, gaxr, half-gates, \
                 privacy-free), a cipher (a1, a2, a3, a4, aes-256, sha-1) and, with a2 and a4, a doubling \
                 (d1 to d7), such as gaxr-a2-d7"
            ))
        };
        let (method, rest) = METHODS
            .iter()
            .find_map(|&(word, method)| Some((method, name.strip_prefix(word)?.strip_prefix('-')?)))
            .ok_or_else(unknown)?;
        let is_half = matches!(method, Method::HalfGates | Method::PrivacyFree);
        let doubled = |word: &str, of_paper: Doubling| match rest.strip_prefix(word)? {
            "" => Some(if is_half { Doubling::D1 } else { of_paper }),
            doubling => Doubling::named(doubling.strip_prefix('-')?),
        };
        let cipher = match rest {
            "a1" => Some(Cipher::A1),
            "a3" => Some(Cipher::A3),
            "aes-256" => Some(Cipher::Aes256),
            "sha-1" => Some(Cipher::Sha1),
            _ => {
                let long = doubled("a2", Doubling::D7).map(Cipher::A2);
                long.or_else(|| doubled("a4", Doubling::D3).map(Cipher::A4))
            }
        };
        Scheme::new(method, cipher.ok_or_else(unknown)?)
    }

    /// Returns how gates are garbled.
    pub fn method(self) -> Method {
        self.method
    }

    /// Returns the cipher.
    pub fn cipher(self) -> Cipher {
        self.cipher
    }
}

/// The part of a circuit that the evaluator sees. In every instance a gate reads two wires before it, and an
/// output is a wire.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shape {
    method: Method,
    inputs: u32,
    gates: Vec<(u32, u32, Opening)>,
    outputs: Vec<u32>,
    with_rows: usize,
}

impl Shape {
    /// Makes the shape of these gates: for each the wires that it reads, and its other public data.
    ///
    /// # Errors
    /// [`Error::Input`] if the method has no such gate, a gate reads a wire that is not before it, or an
    /// output is no wire.
    pub fn new(
        method: Method,
        inputs: u32,
        gates: Vec<(u32, u32, Opening)>,
        outputs: Vec<u32>,
    ) -> Result<Self, Error> {
        let fail = |why: &str| Err(Error::Input(why.into()));
        let wires = u64::from(inputs) + gates.len() as u64;
        if wires > u64::from(u32::MAX) {
            return fail("a circuit has fewer than 2^32 wires");
        }
        for (driven, &(first, second, opening)) in (u64::from(inputs)..).zip(&gates) {
            if first >= second || u64::from(second) >= driven {
                return fail("a gate reads a wire that is not before it");
            }
            if !method.has(opening) {
                return fail("a gate is none that the scheme has");
            }
        }
        if outputs.iter().any(|&wire| u64::from(wire) >= wires) {
            return fail("an output is no wire");
        }
        let with_rows = gates.iter().filter(|(.., opening)| opening.has_rows()).count();
        Ok(Shape { method, inputs, gates, outputs, with_rows })
    }

    /// Returns the shape of a circuit, garbled with this method.
    pub fn of(method: Method, circuit: &Circuit) -> Self {
        let opened =
            circuit.gates().iter().map(|gate| (gate.first, gate.second, method.opening(gate.function)));
        let gates: Vec<_> = opened.collect();
        let with_rows = gates.iter().filter(|(.., opening)| opening.has_rows()).count();
        // The circuit's conditions are stricter.
        Shape { method, inputs: circuit.inputs(), gates, outputs: circuit.outputs().to_vec(), with_rows }
    }

    /// Returns how gates are garbled.
    pub fn method(&self) -> Method {
        self.method
    }

    /// Returns how many inputs there are.
    pub fn inputs(&self) -> u32 {
        self.inputs
    }

    /// Returns for each gate the wires that it reads, and its other public data.
    pub fn gates(&self) -> &[(u32, u32, Opening)] {
        &self.gates
    }

    /// Returns the wires of the outputs.
    pub fn outputs(&self) -> &[u32] {
        &self.outputs
    }

    /// Returns how many rows a garbling of it has.
    pub fn rows(&self) -> usize {
        self.with_rows * self.method.rows()
    }
}

/// The methods by their names.
const METHODS: [(&str, Method); 5] = [
    ("gaxr", Method::GaXR),
    ("gax", Method::GaX),
    ("ga", Method::Ga),
    ("half-gates", Method::HalfGates),
    ("privacy-free", Method::PrivacyFree),
];

/// The name of a scheme, which [`Scheme::named`] takes.
impl std::fmt::Display for Scheme {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let method = METHODS.iter().find(|(_, method)| *method == self.method).map_or("", |(word, _)| word);
        match self.cipher {
            Cipher::A1 => write!(f, "{method}-a1"),
            Cipher::A2(doubling) => write!(f, "{method}-a2-{doubling}"),
            Cipher::A3 => write!(f, "{method}-a3"),
            Cipher::A4(doubling) => write!(f, "{method}-a4-{doubling}"),
            Cipher::Aes256 => write!(f, "{method}-aes-256"),
            Cipher::Sha1 => write!(f, "{method}-sha-1"),
        }
    }
}

/// F: the garbled circuit. It reveals the part of the circuit that its method shows, and nothing of the
/// input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Garbled {
    pub(crate) cipher: Cipher,
    pub(crate) key: u128,
    pub(crate) shape: Arc<Shape>,
    pub(crate) rows: Vec<u128>,
}

impl Garbled {
    /// Makes the garbled circuit from its parts: a scheme, the key of the permutation, the public part of the
    /// circuit, and the rows of the gates that are not free, gate after gate.
    ///
    /// # Errors
    /// [`Error::Input`] if there are not as many rows as its gates have, or the shape is another method's.
    pub fn new(scheme: Scheme, key: u128, shape: Arc<Shape>, rows: Vec<u128>) -> Result<Self, Error> {
        let fail = |why: &str| Err(Error::Input(format!("the garbled circuit is damaged: {why}")));
        if shape.method != scheme.method() {
            return fail("its gates are another method's");
        }
        if rows.len() != shape.rows() {
            return fail("there are not as many rows as its gates have");
        }
        let cut = !scheme.cipher().length().mask();
        if rows.iter().any(|row| row & cut != 0) {
            return fail("a row is longer than a token");
        }
        Ok(Garbled { cipher: scheme.cipher(), key, shape, rows })
    }

    /// Returns its scheme.
    pub fn scheme(&self) -> Scheme {
        Scheme { method: self.shape.method, cipher: self.cipher }
    }

    /// Returns the key of the permutation.
    pub fn key(&self) -> u128 {
        self.key
    }

    /// Returns the public part of the circuit.
    pub fn shape(&self) -> &Arc<Shape> {
        &self.shape
    }

    /// Returns the rows of the gates that are not free, gate after gate; each is as long as a token, from bit
    /// 127 on.
    pub fn rows(&self) -> &[u128] {
        &self.rows
    }
}

/// e: both tokens of each input. A party that has both of one can evaluate for both of its bits.
pub struct Encoding(pub(crate) Zeroizing<Vec<[u128; 2]>>);

/// d: which bit the tokens of each output stand for; and how long tokens are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decoding(pub(crate) Vec<u8>, pub(crate) Length);

/// Both tokens of each output, by which the garbler sees that an output was evaluated and not made up
/// (*aut*). Anybody else who has them can forge outputs.
pub struct Checking(pub(crate) Zeroizing<Vec<[u128; 2]>>);

/// The result of garbling a circuit: each part is of use by itself (*prv* needs F, X and d; *obv* is without
/// d).
pub struct Garbling {
    /// F.
    pub garbled: Garbled,
    /// e.
    pub encoding: Encoding,
    /// d.
    pub decoding: Decoding,
    /// For the garbler to check outputs by.
    pub checking: Checking,
}

/// Returns the one of two tokens that is chosen, in time that does not depend on which.
#[inline]
pub(crate) fn select([zero, one]: [u128; 2], bit: u8) -> u128 {
    zero ^ (zero ^ one) & u128::from(bit & 1).wrapping_neg()
}

impl Encoding {
    /// Encodes an input: En of the paper. Returns its tokens.
    ///
    /// # Errors
    /// [`Error::Input`] if there is not a bit for each input.
    pub fn encode(&self, inputs: &[bool]) -> Result<Zeroizing<Vec<u128>>, Error> {
        if inputs.len() != self.0.len() {
            return Err(Error::Input(format!(
                "the circuit has {} input bits, not {}",
                self.0.len(),
                inputs.len()
            )));
        }
        let tokens = self.0.iter().zip(inputs);
        Ok(Zeroizing::new(tokens.map(|(&pair, &bit)| select(pair, bit.into())).collect()))
    }
}

impl Decoding {
    /// Returns the bit of each output whose token has the type 0.
    pub fn bits(&self) -> &[u8] {
        &self.0
    }

    /// Decodes, De of the paper: returns the bits that tokens of the outputs stand for, whether or not they
    /// were evaluated.
    ///
    /// # Errors
    /// [`Error::Input`] if there is not a token for each output.
    pub fn decode(&self, outputs: &[u128]) -> Result<Vec<bool>, Error> {
        same_number(self.0.len(), outputs.len())?;
        Ok(self.0.iter().zip(outputs).map(|(bit, token)| bit ^ self.1.type_of(*token) == 1).collect())
    }
}

impl Checking {
    /// Returns the bits that tokens of the outputs stand for.
    ///
    /// # Errors
    /// [`Error::Input`] if there is not a token for each output, or one of them is neither of the two that
    /// the circuit has there: nobody evaluated it.
    pub fn decode(&self, outputs: &[u128]) -> Result<Vec<bool>, Error> {
        same_number(self.0.len(), outputs.len())?;
        let is = |[zero, one]: &[u128; 2], token: &u128| (zero.ct_eq(token), one.ct_eq(token));
        let found: Vec<_> = self.0.iter().zip(outputs).map(|(pair, token)| is(pair, token)).collect();
        let all = found.iter().fold(Choice::from(1), |all, (zero, one)| all & (*zero | *one));
        match bool::from(all) {
            true => Ok(found.into_iter().map(|(_, one)| one.into()).collect()),
            false => Err(Error::Input("an output holds a token that no evaluation gives".into())),
        }
    }
}

fn same_number(outputs: usize, given: usize) -> Result<(), Error> {
    match outputs == given {
        true => Ok(()),
        false => {
            Err(Error::Input(format!("the circuit has {outputs} outputs, and {given} tokens are given")))
        }
    }
}
