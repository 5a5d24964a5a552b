//! The garbling schemes of figure 3: Gb, En, Ev and De of Ga, GaX and GaXR.
//!
//! The figure as printed has two slips in GaXR: the token that a row stands for is E(A, B, g, 0) with the
//! gate's number for a tweak, not T, and the other token of the wire belongs to the other bit, not to T.
//!
//! For comparison there are half-gates, and half-gates without privacy (Zahur, Rosulek, Evans, *Two Halves
//! Make a Whole*, EUROCRYPT 2015). Their hash of one token is the dual-key cipher with an empty second key:
//! for A2 that is their H(A, T) = π(K) ⊕ K with K = 2A ⊕ T.

use brickwork_base::Error;
use brickwork_base::random::Rng;
use subtle::{Choice, ConstantTimeEq};
use zeroize::Zeroizing;

use crate::cipher::{Cipher, Doubling, DualKeyCipher, Keyed};
use crate::circuit::{Circuit, Function, Gate, Terms};

/// How gates are garbled.
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
    /// One row for a gate that is not linear, and no privacy: whoever evaluates sees the circuit and every
    /// bit, also of the inputs, as the last bit of its token. All that is promised is *aut*.
    PrivacyFree,
}

/// What an evaluator is told of a gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opening {
    /// It has rows.
    Rows,
    /// It is free: its token is the sum of those of these inputs.
    Sum {
        /// Of the first input.
        first: bool,
        /// Of the second input.
        second: bool,
    },
    /// Its function, where there is no privacy; it has a row if that is not linear.
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

    /// Returns whether it hides the wires' bits from whoever evaluates (*prv* and *obv*).
    pub fn is_private(self) -> bool {
        self != Method::PrivacyFree
    }

    /// Returns what an evaluator is told of a gate with this function.
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

    /// Returns how gates are garbled.
    pub fn method(self) -> Method {
        self.method
    }

    /// Returns the cipher.
    pub fn cipher(self) -> Cipher {
        self.cipher
    }
}

/// F: the garbled circuit. It tells of the circuit what its method lets show, and nothing of the input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Garbled {
    /// With what it was garbled.
    pub scheme: Scheme,
    /// The key of the permutation.
    pub key: u128,
    /// How many inputs.
    pub inputs: u32,
    /// Of each gate the wires that it reads, and what else of it shows.
    pub gates: Vec<(u32, u32, Opening)>,
    /// The wires of the outputs.
    pub outputs: Vec<u32>,
    /// Rows of the gates that are not free, gate after gate.
    pub rows: Vec<u128>,
}

/// e: both tokens of each input. Whoever has both of one can evaluate for both of its bits.
pub struct Encoding(pub(crate) Zeroizing<Vec<[u128; 2]>>);

/// d: which bit the tokens of each output stand for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decoding(pub Vec<u8>);

/// Both tokens of each output, by which the garbler sees that an output was evaluated and not made up
/// (*aut*). Whoever else has them can make up outputs.
pub struct Checking(pub(crate) Zeroizing<Vec<[u128; 2]>>);

/// What garbling a circuit gives: each part is of use by itself (*prv* needs F, X and d; *obv* is without d).
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

/// Garbles a circuit: Gb of the paper.
///
/// # Errors
/// [`Error::Resource`] without randomness.
pub fn garble(scheme: Scheme, circuit: &Circuit) -> Result<Garbling, Error> {
    let mut rng = Rng::new("brickwork justgarble tokens")?;
    let key = Rng::new("brickwork justgarble permutation")?.block();
    let (rows, tokens) = garble_with(scheme.method, &scheme.cipher.keyed(key), circuit, &mut rng);
    let opened = |gate: &Gate| (gate.first, gate.second, scheme.method.opening(gate.function));
    let garbled = Garbled {
        scheme,
        key,
        inputs: circuit.inputs(),
        gates: circuit.gates().iter().map(opened).collect(),
        outputs: circuit.outputs().to_vec(),
        rows,
    };
    let of_outputs: Vec<[u128; 2]> = circuit.outputs().iter().map(|&wire| tokens[wire as usize]).collect();
    Ok(Garbling {
        garbled,
        encoding: Encoding(Zeroizing::new(tokens[..circuit.inputs() as usize].to_vec())),
        decoding: Decoding(of_outputs.iter().map(|[zero, _]| *zero as u8 & 1).collect()),
        checking: Checking(Zeroizing::new(of_outputs)),
    })
}

/// The one of two tokens that is chosen, in time that does not depend on which.
#[inline]
fn select([zero, one]: [u128; 2], bit: u8) -> u128 {
    zero ^ (zero ^ one) & u128::from(bit & 1).wrapping_neg()
}

/// Garbles with any cipher, secure or not. Returns the rows, and of each wire both tokens.
pub(crate) fn garble_with(
    method: Method,
    cipher: &impl DualKeyCipher,
    circuit: &Circuit,
    rng: &mut Rng,
) -> (Vec<u128>, Zeroizing<Vec<[u128; 2]>>) {
    let mask = cipher.length().mask();
    // Room for all, so that no copy stays behind.
    let wires = circuit.inputs() as usize + circuit.gates().len();
    let mut tokens: Zeroizing<Vec<[u128; 2]>> = Zeroizing::new(Vec::with_capacity(wires));
    let mut rows = Vec::with_capacity(circuit.gates().len() * method.rows());
    // R, with a last bit of 1: tokens of a wire are of opposite types.
    let offset = Zeroizing::new(rng.block() & mask | 1);
    let mut fresh = || {
        let zero = rng.block() & mask;
        match method {
            Method::Ga => [zero, rng.block() & mask & !1 | !zero & 1],
            Method::GaX | Method::GaXR | Method::HalfGates => [zero, zero ^ *offset],
            // The last bit of a token is the wire's.
            Method::PrivacyFree => [zero & !1, (zero & !1) ^ *offset],
        }
    };
    tokens.extend((0..circuit.inputs()).map(|_| fresh()));
    for (number, gate) in (u64::from(circuit.inputs()) + 1..).zip(circuit.gates()) {
        let (first, second) = (tokens[gate.first as usize], tokens[gate.second as usize]);
        let zero = match (method.opening(gate.function), method) {
            (Opening::Sum { .. }, _) => Some(sum_of(gate.function, first[0], second[0], *offset)),
            (Opening::Known(function), _) => {
                let (row, zero) = without_privacy(cipher, function, [first[0], second[0]], *offset, number);
                rows.extend(row);
                Some(zero)
            }
            (Opening::Rows, Method::HalfGates) => {
                let (both, zero) = halves(cipher, gate.function, [first, second], *offset, number);
                rows.extend(both);
                Some(zero)
            }
            (Opening::Rows, _) => None,
        };
        if let Some(zero) = zero {
            tokens.push([zero, zero ^ *offset]);
            continue;
        }
        // By type: the row for tokens that end in a and b, and which bits these stand for.
        let types = [(0, 0), (0, 1), (1, 0), (1, 1)];
        let bits = types.map(|(a, b)| (a ^ first[0] as u8 & 1, b ^ second[0] as u8 & 1));
        let keys = bits.map(|(i, j)| (select(first, i), select(second, j), number));
        let masks = Zeroizing::new(cipher.masks(keys));
        let values = bits.map(|(i, j)| gate.function.apply(i, j));
        let driven = match method {
            Method::Ga | Method::GaX => fresh(),
            // The token of the first row is its mask.
            _ => {
                let zero = select([masks[0], masks[0] ^ *offset], values[0]);
                [zero, zero ^ *offset]
            }
        };
        let all = masks.iter().zip(values).map(|(mask, value)| mask ^ select(driven, value));
        rows.extend(all.skip(4 - method.rows()));
        tokens.push(driven);
    }
    (rows, tokens)
}

/// The token for 0 of a linear function of two wires, of which these are the tokens for 0.
fn sum_of(function: Function, first: u128, second: u128, offset: u128) -> u128 {
    let Terms { constant, first: x, second: y, .. } = function.terms();
    select([0, first], x) ^ select([0, second], y) ^ select([0, offset], constant)
}

/// The tweaks of a gate's two halves.
fn tweaks(number: u64) -> [u64; 2] {
    [2 * number, 2 * number + 1]
}

/// A gate in half-gates: its rows, and its token for 0. With t the type of the second token, f(a, b) is a
/// function of a that the garbler knows, and t times a + y: one half each.
fn halves(
    cipher: &impl DualKeyCipher,
    function: Function,
    [first, second]: [[u128; 2]; 2],
    offset: u128,
    number: u64,
) -> ([u128; 2], u128) {
    // The bit whose token has the type 0.
    let (i, j) = (first[0] as u8 & 1, second[0] as u8 & 1);
    let times = |bit: u8| select([0, offset], bit);
    let [of_garbler, of_evaluator] = tweaks(number);
    let masks = Zeroizing::new(cipher.masks([
        (select(first, i), 0, of_garbler),
        (select(first, i ^ 1), 0, of_garbler),
        (select(second, j), 0, of_evaluator),
        (select(second, j ^ 1), 0, of_evaluator),
    ]));
    let value = |a: u8| function.apply(a, j);
    let generated = masks[0] ^ masks[1] ^ times(value(0) ^ value(1));
    let evaluated = masks[2] ^ masks[3] ^ first[0] ^ times(function.terms().second);
    ([generated, evaluated], masks[0] ^ masks[2] ^ times(value(i)))
}

/// A gate without privacy: its row, if it has one, and its token for 0, which ends in 0, as those of its
/// inputs do. A negation adds 1 to a token, so that its last bit stays the wire's.
fn without_privacy(
    cipher: &impl DualKeyCipher,
    function: Function,
    [first, second]: [u128; 2],
    offset: u128,
    number: u64,
) -> (Option<u128>, u128) {
    let negated = |zero: u128, not: u8| zero ^ select([0, offset ^ 1], not);
    let Terms { constant, first: x, second: y, product } = function.terms();
    if product == 0 {
        let zero = select([0, first], x) ^ select([0, second], y);
        return (None, negated(zero, constant));
    }
    // f(a, b) = (a + y)(b + x) + xy + c
    let (first, second) = (negated(first, y), negated(second, x));
    let masks = Zeroizing::new(cipher.masks([(first, 0, number), (first ^ offset, 0, number)]));
    let [zero, one] = masks.map(|mask| mask & !1);
    (Some(zero ^ one ^ second), negated(zero, x & y ^ constant))
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

impl Garbled {
    /// Evaluates: Ev of the paper. Returns the tokens of the outputs, for those of the inputs.
    ///
    /// # Errors
    /// [`Error::Input`] if there is not a token for each input, or the garbled circuit is not one: a gate
    /// that reads what is not before it, or other rows than its gates have.
    pub fn evaluate(&self, inputs: &[u128]) -> Result<Zeroizing<Vec<u128>>, Error> {
        let cipher = self.scheme.cipher.keyed(self.key);
        evaluate_with(self, &cipher, inputs)
    }
}

fn evaluate_with(garbled: &Garbled, cipher: &Keyed, inputs: &[u128]) -> Result<Zeroizing<Vec<u128>>, Error> {
    let damaged = |why: &str| Error::Input(format!("the garbled circuit is damaged: {why}"));
    if inputs.len() != garbled.inputs as usize {
        return Err(Error::Input(format!(
            "the garbled circuit has {} inputs, and {} tokens are given",
            garbled.inputs,
            inputs.len()
        )));
    }
    let method = garbled.scheme.method;
    let mut tokens = Zeroizing::new(Vec::with_capacity(inputs.len() + garbled.gates.len()));
    tokens.extend_from_slice(inputs);
    let mut rows = garbled.rows.chunks_exact(method.rows());
    for (number, &(first, second, opening)) in (u64::from(garbled.inputs) + 1..).zip(&garbled.gates) {
        let of = |wire: u32| tokens.get(wire as usize).copied();
        let (Some(first), Some(second)) = (of(first), of(second)) else {
            return Err(damaged("a gate reads a wire that is not before it"));
        };
        let given: &[u128] = match opening.has_rows() {
            true => rows.next().ok_or_else(|| damaged("rows are missing"))?,
            false => &[],
        };
        let driven = match (opening, given) {
            (Opening::Sum { first: x, second: y }, _) => {
                select([0, first], x.into()) ^ select([0, second], y.into())
            }
            (Opening::Known(function), row) => {
                let Terms { constant, first: x, second: y, product } = function.terms();
                match row {
                    [row] if product == 1 => {
                        let (first, second) = (first ^ u128::from(y), second ^ u128::from(x));
                        let [mask] = cipher.masks([(first, 0, number)]);
                        mask & !1 ^ select([0, row ^ second], first as u8 & 1) ^ u128::from(x & y ^ constant)
                    }
                    _ => select([0, first], x) ^ select([0, second], y) ^ u128::from(constant),
                }
            }
            (Opening::Rows, &[generated, evaluated]) => {
                let [of_garbler, of_evaluator] = tweaks(number);
                let masks = cipher.masks([(first, 0, of_garbler), (second, 0, of_evaluator)]);
                let halves = select([0, generated], first as u8 & 1)
                    ^ select([0, evaluated ^ first], second as u8 & 1);
                masks[0] ^ masks[1] ^ halves
            }
            (Opening::Rows, rows) => {
                let [mask] = cipher.masks([(first, second, number)]);
                // The types are all that an evaluator sees of a wire, and say nothing to it.
                let place = 2 * (first as usize & 1) + (second as usize & 1);
                mask ^ (place + method.rows()).checked_sub(4).map_or(0, |row| rows[row])
            }
        };
        tokens.push(driven);
    }
    if rows.next().is_some() || !rows.remainder().is_empty() {
        return Err(damaged("there are more rows than gates have"));
    }
    let outputs = garbled.outputs.iter().map(|&wire| tokens.get(wire as usize).copied());
    let outputs: Option<Vec<u128>> = outputs.collect();
    outputs.map(Zeroizing::new).ok_or_else(|| damaged("an output is no wire"))
}

impl Decoding {
    /// Decodes: De of the paper. Returns the bits that tokens of the outputs stand for, whether or not they
    /// were evaluated.
    ///
    /// # Errors
    /// [`Error::Input`] if there is not a token for each output.
    pub fn decode(&self, outputs: &[u128]) -> Result<Vec<bool>, Error> {
        same_number(self.0.len(), outputs.len())?;
        Ok(self.0.iter().zip(outputs).map(|(bit, token)| bit ^ *token as u8 & 1 == 1).collect())
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
