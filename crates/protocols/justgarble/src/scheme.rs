//! The garbling schemes of figure 3: Gb, En, Ev and De of Ga, GaX and GaXR.
//!
//! The printed figure has two mistakes in the scheme GaXR. The token that the removed row would encrypt is
//! E(A, B, g, 0), with the gate's number g as the tweak instead of T. The other token of the wire belongs to
//! the other bit, not to T.
//!
//! For comparison, there are also half-gates and half-gates without privacy (Zahur, Rosulek, Evans, *Two
//! Halves Make a Whole*, EUROCRYPT 2015). These schemes' hash of one token is the dual-key cipher with an
//! empty second key. For A2, this is their H(A, T) = π(K) ⊕ K with K = 2A ⊕ T.

use std::sync::Arc;

use brickwork_base::Error;
use subtle::{Choice, ConstantTimeEq};
use zeroize::Zeroizing;

use crate::cipher::{Cipher, Doubling, Length};
use crate::circuit::{BitCoefficients, GateFunction, NormalCircuit};

/// The method of garbling gates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Each gate has four rows. Only the topology of the circuit is public.
    Ga,
    /// XOR gates have no rows. The set of XOR gates is public.
    GaX,
    /// Like GaX, but with three rows instead of four.
    GaXR,
    /// A gate that is not linear has two rows, a linear gate has none. The set of linear gates and of their
    /// inputs is public.
    HalfGates,
    /// A gate that is not linear has one row. There is no privacy: the evaluator knows the circuit, and the
    /// last bit of a token is the wire's bit, even for inputs. The only promise is *aut*.
    PrivacyFree,
}

/// The public part of a gate, which the evaluator knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PublicGate {
    /// The gate has rows. Its function is not public.
    Rows,
    /// The gate has no rows. Its token is the sum of the tokens of these inputs.
    Sum {
        /// True if the first input is part of the sum.
        first: bool,
        /// True if the second input is part of the sum.
        second: bool,
    },
    /// The function of the gate, without privacy. The gate has a row if the function is not linear.
    Known(GateFunction),
}

impl PublicGate {
    /// Returns whether the gate has rows.
    pub fn has_rows(self) -> bool {
        match self {
            PublicGate::Rows => true,
            PublicGate::Sum { .. } => false,
            PublicGate::Known(function) => function.has_product(),
        }
    }
}

impl Method {
    /// Returns whether XOR gates have no rows.
    pub fn has_free_xor(self) -> bool {
        self != Method::Ga
    }

    /// Returns the number of rows of a gate with rows.
    pub fn rows(self) -> usize {
        match self {
            Method::Ga | Method::GaX => 4,
            Method::GaXR => 3,
            Method::HalfGates => 2,
            Method::PrivacyFree => 1,
        }
    }

    /// Returns whether the method hides the wires' bits from the evaluator (*prv* and *obv*).
    pub fn is_private(self) -> bool {
        self != Method::PrivacyFree
    }

    /// Returns the public part of a gate with this function.
    pub fn opening(self, function: GateFunction) -> PublicGate {
        let BitCoefficients { first, second, .. } = function.terms();
        match self {
            Method::GaX | Method::GaXR if function == GateFunction::XOR => {
                PublicGate::Sum { first: true, second: true }
            }
            Method::HalfGates if !function.has_product() => {
                PublicGate::Sum { first: first == 1, second: second == 1 }
            }
            Method::PrivacyFree => PublicGate::Known(function),
            Method::Ga | Method::GaX | Method::GaXR | Method::HalfGates => PublicGate::Rows,
        }
    }

    /// Returns whether a gate of this method can have this public part.
    pub(crate) fn has(self, opening: PublicGate) -> bool {
        (0..16).filter_map(GateFunction::of_table).any(|function| self.opening(function) == opening)
    }
}

/// A garbling scheme: a method with a cipher that is secure for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scheme {
    method: Method,
    cipher: Cipher,
}

impl Scheme {
    /// Makes the scheme of this method with this cipher.
    ///
    /// # Errors
    /// [`Error::Usage`] if the pair is insecure.
    pub fn new(method: Method, cipher: Cipher) -> Result<Self, Error> {
        let is_half = matches!(method, Method::HalfGates | Method::PrivacyFree);
        if is_half && matches!(cipher, Cipher::A2(d) | Cipher::A4(d) if d != Doubling::D1) {
            return Err(Error::Usage(format!(
                "{method:?} is defined and proven only with multiplication in the field (doubling D1); \
                 choose D1, or another method"
            )));
        }
        match method.has_free_xor() && !cipher.bears_free_xor() {
            false => Ok(Scheme { method, cipher }),
            true => Err(Error::Usage(format!(
                "{method:?} with {cipher:?} is insecure: its cipher adds the two keys, so the common offset \
                 of all wires cancels out and anybody can read the tables; choose A2 or A4 with this \
                 method, or Ga with {cipher:?}"
            ))),
        }
    }

    /// Returns the scheme with this name: a method, a cipher and a doubling, as in `gaxr-a2-d7`,
    /// `half-gates-a2` or `ga-sha-1`. Without a doubling, the name means the doubling of the paper's
    /// measurements: D7 for A2 and D3 for A4. For half-gates it means D1.
    ///
    /// # Errors
    /// [`Error::Usage`] if there is no scheme with this name, or the scheme is insecure.
    pub fn named(name: &str) -> Result<Self, Error> {
        let unknown = || {
            Error::Usage(format!(
                "there is no scheme {name:?}; a scheme is the name of a method (ga, gax, gaxr, half-gates, \
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

    /// Returns the method.
    pub fn method(self) -> Method {
        self.method
    }

    /// Returns the cipher.
    pub fn cipher(self) -> Cipher {
        self.cipher
    }
}

/// The public part of a circuit, which the evaluator knows. Each gate reads two earlier wires.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublicCircuit {
    method: Method,
    inputs: u32,
    gates: Vec<(u32, u32, PublicGate)>,
    outputs: Vec<u32>,
    with_rows: usize,
}

impl PublicCircuit {
    /// Makes a shape from its gates: for each gate, the two wires that it reads, and its public part.
    ///
    /// # Errors
    /// [`Error::Input`] if a gate cannot have this public part, or reads a wire that is not before it, or an
    /// output is not a wire of the circuit.
    pub fn new(
        method: Method,
        inputs: u32,
        gates: Vec<(u32, u32, PublicGate)>,
        outputs: Vec<u32>,
    ) -> Result<Self, Error> {
        let fail = |why: &str| Err(Error::Input(why.into()));
        let wires = u64::from(inputs) + gates.len() as u64;
        if wires > u64::from(u32::MAX) {
            return fail("a circuit must have fewer than 2^32 wires");
        }
        for (driven, &(first, second, opening)) in (u64::from(inputs)..).zip(&gates) {
            if first >= second || u64::from(second) >= driven {
                return fail("a gate reads a wire that no input and no earlier gate drives");
            }
            if !method.has(opening) {
                return fail("a gate has a type that the scheme does not have");
            }
        }
        if outputs.iter().any(|&wire| u64::from(wire) >= wires) {
            return fail("an output reads a wire that does not exist");
        }
        let with_rows = gates.iter().filter(|(.., opening)| opening.has_rows()).count();
        Ok(PublicCircuit { method, inputs, gates, outputs, with_rows })
    }

    /// Returns the shape of a circuit for this method.
    pub fn of(method: Method, circuit: &NormalCircuit) -> Self {
        let opened =
            circuit.gates().iter().map(|gate| (gate.first, gate.second, method.opening(gate.function)));
        let gates: Vec<_> = opened.collect();
        let with_rows = gates.iter().filter(|(.., opening)| opening.has_rows()).count();
        // The conditions of `circuit` are stricter, so there is nothing to check.
        PublicCircuit {
            method,
            inputs: circuit.inputs(),
            gates,
            outputs: circuit.outputs().to_vec(),
            with_rows,
        }
    }

    /// Returns the method.
    pub fn method(&self) -> Method {
        self.method
    }

    /// Returns the number of inputs.
    pub fn inputs(&self) -> u32 {
        self.inputs
    }

    /// Returns, for each gate, the two wires that it reads, and its public part.
    pub fn gates(&self) -> &[(u32, u32, PublicGate)] {
        &self.gates
    }

    /// Returns the wires of the outputs.
    pub fn outputs(&self) -> &[u32] {
        &self.outputs
    }

    /// Returns the number of rows of a garbling.
    pub fn rows(&self) -> usize {
        self.with_rows * self.method.rows()
    }
}

const METHODS: [(&str, Method); 5] = [
    ("gaxr", Method::GaXR),
    ("gax", Method::GaX),
    ("ga", Method::Ga),
    ("half-gates", Method::HalfGates),
    ("privacy-free", Method::PrivacyFree),
];

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

/// F: the garbled circuit. The garbled circuit reveals the public part of the circuit, and nothing about the
/// input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GarbledCircuit {
    pub(crate) cipher: Cipher,
    pub(crate) key: u128,
    pub(crate) shape: Arc<PublicCircuit>,
    pub(crate) rows: Vec<u128>,
}

impl GarbledCircuit {
    /// Makes a garbled circuit from its scheme, the key of the permutation, the public part of the circuit,
    /// and all rows in the order of the gates.
    ///
    /// # Errors
    /// [`Error::Input`] if the number of rows is wrong, a row is longer than a token, or the shape has
    /// another method.
    pub fn new(scheme: Scheme, key: u128, shape: Arc<PublicCircuit>, rows: Vec<u128>) -> Result<Self, Error> {
        let fail = |why: &str| Err(Error::Input(format!("the garbled circuit is damaged: {why}")));
        if shape.method != scheme.method() {
            return fail("its gates belong to another method");
        }
        if rows.len() != shape.rows() {
            return fail("the number of rows does not fit its gates");
        }
        let cut = !scheme.cipher().length().mask();
        if rows.iter().any(|row| row & cut != 0) {
            return fail("one of its rows is longer than a token");
        }
        Ok(GarbledCircuit { cipher: scheme.cipher(), key, shape, rows })
    }

    /// Returns the scheme.
    pub fn scheme(&self) -> Scheme {
        Scheme { method: self.shape.method, cipher: self.cipher }
    }

    /// Returns the key of the permutation.
    pub fn key(&self) -> u128 {
        self.key
    }

    /// Returns the public part of the circuit.
    pub fn shape(&self) -> &Arc<PublicCircuit> {
        &self.shape
    }

    /// Returns the rows in the order of the gates. A row has the length of a token, and begins with bit 127.
    pub fn rows(&self) -> &[u128] {
        &self.rows
    }
}

/// e: both tokens of each input. A party with both tokens of an input can evaluate the circuit for both
/// values.
pub struct Encoding(pub(crate) Zeroizing<Vec<[u128; 2]>>);

/// d: for each output, the bit whose token has the type 0, and the length of tokens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutputDecoding(pub(crate) Vec<u8>, pub(crate) Length);

/// Both tokens of each output, with which the garbler checks that output tokens come from an evaluation
/// (*aut*). Any other party that has these tokens can forge outputs.
pub struct Checking(pub(crate) Zeroizing<Vec<[u128; 2]>>);

/// The result of garbling a circuit. A holder of F, X and d learns only the output (*prv*), a holder of F and
/// X learns nothing (*obv*).
pub struct GarbledResult {
    /// F: the garbled circuit.
    pub garbled: GarbledCircuit,
    /// e: the tokens of the inputs.
    pub encoding: Encoding,
    /// d: the bits of the outputs' tokens.
    pub decoding: OutputDecoding,
    /// The two tokens of each output, for the garbler's check.
    pub checking: Checking,
}

/// Returns one of two tokens, in a time that does not depend on `bit`.
#[inline]
pub(crate) fn select([zero, one]: [u128; 2], bit: u8) -> u128 {
    zero ^ (zero ^ one) & u128::from(bit & 1).wrapping_neg()
}

impl Encoding {
    /// Encodes an input: En of the paper. Returns the tokens of these bits.
    ///
    /// # Errors
    /// [`Error::Input`] if the number of bits is wrong.
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

impl OutputDecoding {
    /// Returns, for each output, the bit whose token has the type 0.
    pub fn bits(&self) -> &[u8] {
        &self.0
    }

    /// Decodes output tokens: De of the paper. Returns their bits, even if the tokens do not come from an
    /// evaluation.
    ///
    /// # Errors
    /// [`Error::Input`] if the number of tokens is wrong.
    pub fn decode(&self, outputs: &[u128]) -> Result<Vec<bool>, Error> {
        same_number(self.0.len(), outputs.len())?;
        Ok(self.0.iter().zip(outputs).map(|(bit, token)| bit ^ self.1.type_of(*token) == 1).collect())
    }
}

impl Checking {
    /// Checks output tokens, and returns their bits.
    ///
    /// # Errors
    /// [`Error::Input`] if the number of tokens is wrong, or a token is none of the two tokens of its output.
    pub fn decode(&self, outputs: &[u128]) -> Result<Vec<bool>, Error> {
        same_number(self.0.len(), outputs.len())?;
        let is = |[zero, one]: &[u128; 2], token: &u128| (zero.ct_eq(token), one.ct_eq(token));
        let found: Vec<_> = self.0.iter().zip(outputs).map(|(pair, token)| is(pair, token)).collect();
        let all = found.iter().fold(Choice::from(1), |all, (zero, one)| all & (*zero | *one));
        match bool::from(all) {
            true => Ok(found.into_iter().map(|(_, one)| one.into()).collect()),
            false => Err(Error::Input("an output has a token that no evaluation can give".into())),
        }
    }
}

fn same_number(outputs: usize, given: usize) -> Result<(), Error> {
    match outputs == given {
        true => Ok(()),
        false => {
            Err(Error::Input(format!("the circuit has {outputs} outputs, but {given} tokens were given")))
        }
    }
}
