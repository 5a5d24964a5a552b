//! Gb and Ev gate by gate, with any dual-key cipher. This is for the ciphers of figure 8, which are not made
//! of π, and for circuits that are garbled or evaluated only once.

use zeroize::Zeroizing;

use crate::cipher::DualKeyCipher;
use crate::circuit::{BitCoefficients, GateFunction, NormalCircuit};
use crate::draws::TokenDraws;
use crate::scheme::{Method, PublicCircuit, PublicGate, select};

/// Garbles with any cipher, secure or not. Returns the rows, and both tokens of each wire.
pub(crate) fn garble_with(
    method: Method,
    cipher: &impl DualKeyCipher,
    circuit: &NormalCircuit,
    draws: &TokenDraws,
) -> (Vec<u128>, Zeroizing<Vec<[u128; 2]>>) {
    let length = cipher.length();
    // The memory is allocated at once, because growing would leave a copy of secrets behind.
    let wires = circuit.inputs() as usize + circuit.gates().len();
    let mut tokens: Zeroizing<Vec<[u128; 2]>> = Zeroizing::new(Vec::with_capacity(wires));
    let mut rows = Vec::with_capacity(circuit.gates().len() * method.rows());
    let offset = Zeroizing::new(draws.offset());
    tokens.extend(draws.of_inputs(method, circuit.inputs()).iter());
    for (number, gate) in (u64::from(circuit.inputs()) + 1..).zip(circuit.gates()) {
        let (first, second) = (tokens[gate.first as usize], tokens[gate.second as usize]);
        let zero = match (method.opening(gate.function), method) {
            (PublicGate::Sum { .. }, _) => Some(sum_of(gate.function, first[0], second[0], *offset)),
            (PublicGate::Known(function), _) => {
                let (row, zero) = without_privacy(cipher, function, [first[0], second[0]], *offset, number);
                rows.extend(row);
                Some(zero)
            }
            (PublicGate::Rows, Method::HalfGates) => {
                let (both, zero) = halves(cipher, gate.function, [first, second], *offset, number);
                rows.extend(both);
                Some(zero)
            }
            (PublicGate::Rows, _) => None,
        };
        if let Some(zero) = zero {
            tokens.push([zero, zero ^ *offset]);
            continue;
        }
        // The bits that tokens of types a and b stand for. Row (a, b) is encrypted under these tokens.
        let types = [(0, 0), (0, 1), (1, 0), (1, 1)];
        let bits = types.map(|(a, b)| (a ^ length.type_of(first[0]), b ^ length.type_of(second[0])));
        let keys = bits.map(|(i, j)| (select(first, i), select(second, j), number));
        let masks = Zeroizing::new(cipher.masks(keys));
        let values = bits.map(|(i, j)| gate.function.apply(i, j));
        let driven = match method {
            Method::Ga | Method::GaX => draws.of_wire(method, number),
            // The first row is not sent. The row would be 0, because the token equals its mask.
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

/// Returns the token for 0 of a linear gate, from its inputs' tokens for 0.
fn sum_of(function: GateFunction, first: u128, second: u128, offset: u128) -> u128 {
    let BitCoefficients { constant, first: x, second: y, .. } = function.terms();
    select([0, first], x) ^ select([0, second], y) ^ select([0, offset], constant)
}

/// Returns the tweaks of the two halves of a gate.
fn tweaks(number: u64) -> [u64; 2] {
    [2 * number, 2 * number + 1]
}

/// Garbles a gate with half-gates, and returns its rows and its token for 0. Let t be the type of the second
/// token. Then f(a, b) is the sum of a function of a that the garbler knows, and of t times a + y. Each of
/// the two summands is one half.
fn halves(
    cipher: &impl DualKeyCipher,
    function: GateFunction,
    [first, second]: [[u128; 2]; 2],
    offset: u128,
    number: u64,
) -> ([u128; 2], u128) {
    // For each input, the bit whose token has the type 0.
    let (i, j) = (cipher.length().type_of(first[0]), cipher.length().type_of(second[0]));
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

/// Garbles a gate without privacy, and returns its row, if it has one, and its token for 0. Tokens for 0 end
/// in the bit 0. A negation inverts the last bit of a token, so that this bit remains the wire's bit.
fn without_privacy(
    cipher: &impl DualKeyCipher,
    function: GateFunction,
    [first, second]: [u128; 2],
    offset: u128,
    number: u64,
) -> (Option<u128>, u128) {
    let last = cipher.length().last();
    let negated = |zero: u128, not: u8| zero ^ select([0, offset ^ last], not);
    let BitCoefficients { constant, first: x, second: y, product } = function.terms();
    if product == 0 {
        let zero = select([0, first], x) ^ select([0, second], y);
        return (None, negated(zero, constant));
    }
    // The function is f(a, b) = (a + y)(b + x) + xy + c.
    let (first, second) = (negated(first, y), negated(second, x));
    let masks = Zeroizing::new(cipher.masks([(first, 0, number), (first ^ offset, 0, number)]));
    let [zero, one] = masks.map(|mask| mask & !last);
    (Some(zero ^ one ^ second), negated(zero, x & y ^ constant))
}

/// Evaluates with any cipher: returns the tokens of the outputs.
pub(crate) fn evaluate_with(
    shape: &PublicCircuit,
    cipher: &impl DualKeyCipher,
    rows: &[u128],
    inputs: &[u128],
) -> Zeroizing<Vec<u128>> {
    let (method, length) = (shape.method(), cipher.length());
    let last = |bit: u8| u128::from(bit) * length.last();
    let mut tokens = Zeroizing::new(Vec::with_capacity(inputs.len() + shape.gates().len()));
    tokens.extend_from_slice(inputs);
    let mut rows = rows.chunks_exact(method.rows());
    for (number, &(first, second, opening)) in (u64::from(shape.inputs()) + 1..).zip(shape.gates()) {
        let (first, second) = (tokens[first as usize], tokens[second as usize]);
        let given: &[u128] = if opening.has_rows() { rows.next().unwrap_or_default() } else { &[] };
        let driven = match (opening, given) {
            (PublicGate::Sum { first: x, second: y }, _) => {
                select([0, first], x.into()) ^ select([0, second], y.into())
            }
            (PublicGate::Known(function), row) => {
                let BitCoefficients { constant, first: x, second: y, .. } = function.terms();
                match row {
                    [row] => {
                        let (first, second) = (first ^ last(y), second ^ last(x));
                        let [mask] = cipher.masks([(first, 0, number)]);
                        mask & !length.last()
                            ^ select([0, row ^ second], length.type_of(first))
                            ^ last(x & y ^ constant)
                    }
                    _ => select([0, first], x) ^ select([0, second], y) ^ last(constant),
                }
            }
            (PublicGate::Rows, &[generated, evaluated]) => {
                let [of_garbler, of_evaluator] = tweaks(number);
                let masks = cipher.masks([(first, 0, of_garbler), (second, 0, of_evaluator)]);
                let halves = select([0, generated], length.type_of(first))
                    ^ select([0, evaluated ^ first], length.type_of(second));
                masks[0] ^ masks[1] ^ halves
            }
            (PublicGate::Rows, rows) => {
                let [mask] = cipher.masks([(first, second, number)]);
                // The index depends only on the types of tokens, which the evaluator sees, and which reveal
                // nothing.
                let place = usize::from(2 * length.type_of(first) + length.type_of(second));
                mask ^ (place + method.rows()).checked_sub(4).map_or(0, |row| rows[row])
            }
        };
        tokens.push(driven);
    }
    Zeroizing::new(shape.outputs().iter().map(|&wire| tokens[wire as usize]).collect())
}
