//! A second, slow implementation of the schemes, written from figure 3 with strings of bits. With the same
//! random tokens, it must give the same rows and tokens. Half-gates are written from figure 2 of Zahur,
//! Rosulek and Evans (2015), and from their section on garbling without privacy.

use brickwork_kernels::{Aes128, Kernel};
use zeroize::Zeroizing;

use super::*;
use crate::draws::TokenDraws;
use crate::plain::garble_with;

/// A string of bits, beginning with the first bit.
type Bits = Vec<u8>;

fn bits(number: u128, length: usize) -> Bits {
    (0..length).rev().map(|i| (number >> i) as u8 & 1).collect()
}

/// Returns the block that begins with these bits.
fn number(bits: &[u8]) -> u128 {
    (0..128).fold(0, |number, i| number << 1 | u128::from(bits.get(i).copied().unwrap_or(0)))
}

fn add(a: &[u8], b: &[u8]) -> Bits {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).map(|(a, b)| a ^ b).collect()
}

/// Doubles a string. Shifts and rotations are written as in the paper.
fn double(doubling: Doubling, a: &[u8]) -> Bits {
    let k = a.len();
    let (upper, lower) = a.split_at(k / 2);
    let left = |a: &[u8], new: u8| [&a[1..], &[new]].concat();
    let right = |a: &[u8], new: u8| [&[new], &a[..a.len() - 1]].concat();
    match doubling {
        Doubling::D1 if a[0] == 1 => {
            let constant = if k == 128 { 0b1000_0111 } else { 0b10_0001_0101 };
            add(&left(a, 0), &bits(constant, k))
        }
        Doubling::D1 | Doubling::D2 => left(a, 0),
        Doubling::D3 => right(a, 0),
        Doubling::D4 => left(a, a[0]),
        Doubling::D5 => right(a, a[k - 1]),
        Doubling::D6 => [left(upper, 0), left(lower, 0)].concat(),
        Doubling::D7 => [right(upper, 0), right(lower, 0)].concat(),
    }
}

/// Encrypts a string, by the formulas in the second columns of figures 1 and 8.
fn encrypted(cipher: Cipher, key: u128, a: &[u8], b: &[u8], tweak: u64, plain: &[u8]) -> Bits {
    let permuted = |block: &[u8]| {
        let mut blocks = [number(block)];
        Aes128::new(key).encrypt(&mut blocks);
        bits(blocks[0], 128)
    };
    let twice = |doubling, a: &[u8]| double(doubling, &double(doubling, a));
    let first = |bits: Bits| bits[..plain.len()].to_vec();
    let mask = match cipher {
        Cipher::A1 => {
            let sum = add(&add(a, b), &bits(tweak.into(), 128));
            add(&permuted(&sum), &sum)
        }
        Cipher::A2(d) => {
            let sum = add(&add(&double(d, a), &twice(d, b)), &bits(tweak.into(), 128));
            add(&permuted(&sum), &sum)
        }
        Cipher::A3 => {
            let sum = add(a, b);
            add(&first(permuted(&[sum.clone(), bits(tweak.into(), 48)].concat())), &sum)
        }
        Cipher::A4(d) => {
            let sum = add(&double(d, a), &twice(d, b));
            add(&first(permuted(&[sum.clone(), bits(tweak.into(), 48)].concat())), &sum)
        }
        // Other tests compare these two with published vectors.
        Cipher::Aes256 | Cipher::Sha1 => {
            let [mask] = cipher.keyed(key).masks([(number(a), number(b), tweak)]);
            bits(mask, 128)
        }
    };
    add(&mask, plain)
}

/// Garbles a circuit: Gb of figure 3. Returns all rows in order, and both tokens of each wire.
fn garbled(
    scheme: Scheme,
    key: u128,
    circuit: &NormalCircuit,
    draw: impl Fn(u64) -> u128,
) -> (Vec<Bits>, Vec<[Bits; 2]>) {
    let k = scheme.cipher().length().bits() as usize;
    let string = |number| bits(draw(number), 128)[..k].to_vec();
    let mut offset = string(0);
    offset[k - 1] = 1;
    let free = scheme.method() != Method::Ga;
    // Returns the tokens of wire `w`. The first wire has the number 1.
    let fresh = |w: u64| {
        let mut zero = if free { string(w) } else { string(2 * w) };
        if scheme.method() == Method::PrivacyFree {
            zero[k - 1] = 0;
        }
        let one = if free {
            add(&zero, &offset)
        } else {
            let mut one = string(2 * w + 1);
            one[k - 1] = 1 - zero[k - 1];
            one
        };
        [zero, one]
    };
    let mut tokens: Vec<[Bits; 2]> = (1..=u64::from(circuit.inputs())).map(fresh).collect();
    let mut rows = Vec::new();
    for (g, gate) in (u64::from(circuit.inputs()) + 1..).zip(circuit.gates()) {
        let (a, b) = (tokens[gate.first as usize].clone(), tokens[gate.second as usize].clone());
        if matches!(scheme.method(), Method::HalfGates | Method::PrivacyFree) {
            let hash = |x: &Bits, tweak| encrypted(scheme.cipher(), key, x, &vec![0; k], tweak, &vec![0; k]);
            let garbler =
                HalfGarbler { offset: &offset, is_private: scheme.method() == Method::HalfGates, hash };
            let (made, zero) = garbler.gate(gate.function.table(), &a[0], &b[0], g);
            rows.extend(made);
            tokens.push([zero.clone(), add(&zero, &offset)]);
            continue;
        }
        if free && gate.function == GateFunction::XOR {
            tokens.push([add(&a[0], &b[0]), add(&add(&a[0], &b[0]), &offset)]);
            continue;
        }
        // Returns the bit whose token has this type.
        let of_type = |pair: &[Bits; 2], t: u8| if pair[0][k - 1] == t { 0usize } else { 1 };
        let row = |ta: u8, tb: u8| {
            let (i, j) = (of_type(&a, ta), of_type(&b, tb));
            (i, j, gate.function.apply(i as u8, j as u8) as usize)
        };
        let driven = if scheme.method() == Method::GaXR {
            let (i, j, r) = row(0, 0);
            let one = encrypted(scheme.cipher(), key, &a[i], &b[j], g, &vec![0; k]);
            let other = add(&one, &offset);
            if r == 0 { [one, other] } else { [other, one] }
        } else {
            fresh(g)
        };
        for (ta, tb) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
            let (i, j, r) = row(ta, tb);
            let cipher = encrypted(scheme.cipher(), key, &a[i], &b[j], g, &driven[r]);
            match scheme.method() {
                Method::GaXR if (ta, tb) == (0, 0) => assert_eq!(number(&cipher), 0, "the first row is 0"),
                _ => rows.push(cipher),
            }
        }
        tokens.push(driven);
    }
    (rows, tokens)
}

/// The procedure GbAnd of Zahur, Rosulek and Evans, with negations.
struct HalfGarbler<'a, H: Fn(&Bits, u64) -> Bits> {
    offset: &'a Bits,
    is_private: bool,
    hash: H,
}

impl<H: Fn(&Bits, u64) -> Bits> HalfGarbler<'_, H> {
    fn if_one(&self, bit: u8, x: &Bits) -> Bits {
        if bit == 1 { x.clone() } else { vec![0; x.len()] }
    }

    /// Returns the false label of the negation, which is the true label of `x`. Without privacy its last bit
    /// is inverted, because false labels end in 0.
    fn not(&self, x: &Bits) -> Bits {
        let mut true_label = add(x, self.offset);
        if !self.is_private {
            *true_label.last_mut().unwrap() ^= 1;
        }
        true_label
    }

    fn and(&self, a: &Bits, b: &Bits, g: u64) -> (Vec<Bits>, Bits) {
        let (pa, pb) = (*a.last().unwrap(), *b.last().unwrap());
        if !self.is_private {
            assert_eq!((pa, pb), (0, 0));
            let of = |x: &Bits| {
                let mut hashed = (self.hash)(x, g);
                *hashed.last_mut().unwrap() = 0;
                hashed
            };
            let row = add(&add(&of(a), &of(&add(a, self.offset))), b);
            return (vec![row], of(a));
        }
        let (j, j_prime) = (2 * g, 2 * g + 1);
        let hashes = |x: &Bits, j| ((self.hash)(x, j), (self.hash)(&add(x, self.offset), j));
        let (a0, a1) = hashes(a, j);
        let t_g = add(&add(&a0, &a1), &self.if_one(pb, self.offset));
        let w_g = add(&a0, &self.if_one(pa, &t_g));
        let (b0, b1) = hashes(b, j_prime);
        let t_e = add(&add(&b0, &b1), a);
        let w_e = add(&b0, &self.if_one(pb, &add(&t_e, a)));
        (vec![t_g, t_e], add(&w_g, &w_e))
    }

    /// Garbles any gate: an AND with negated inputs or output, or a sum.
    fn gate(&self, table: u8, a: &Bits, b: &Bits, g: u64) -> (Vec<Bits>, Bits) {
        let negated = |x: &Bits, not: u8| if not == 1 { self.not(x) } else { x.clone() };
        for (i, j, n) in (0..8).map(|k: u8| (k & 1, k >> 1 & 1, k >> 2)) {
            let is = |f: &dyn Fn(u8, u8) -> u8| (0..4).all(|p| f(p >> 1, p & 1) == table >> p & 1);
            if is(&|x, y| (x ^ i) & (y ^ j) ^ n) {
                let (rows, zero) = self.and(&negated(a, i), &negated(b, j), g);
                return (rows, negated(&zero, n));
            }
            if is(&|x, y| x & i ^ y & j ^ n) {
                return (vec![], negated(&add(&self.if_one(i, a), &self.if_one(j, b)), n));
            }
        }
        panic!("every function is an AND with negations, or a sum");
    }
}

/// Rows, tokens and outputs of half-gates are right for every function.
#[test]
fn half_gates_are_those_of_their_figure() {
    for table in 0..16 {
        let function = GateFunction::of_table(table).unwrap();
        let gates = vec![
            NormalGate { first: 0, second: 1, function: GateFunction::OR },
            NormalGate { first: 2, second: 3, function },
            NormalGate { first: 2, second: 4, function: GateFunction::of_table(0b1101).unwrap() },
        ];
        let circuit = NormalCircuit::new(3, gates, vec![5]).unwrap();
        for scheme in
            schemes().into_iter().filter(|s| matches!(s.method(), Method::HalfGates | Method::PrivacyFree))
        {
            same_as_figure(scheme, &circuit);
            let GarbledResult { garbled, encoding, decoding, checking } = garble(scheme, &circuit).unwrap();
            for input in (0..8).map(|k| [k & 1 == 1, k & 2 == 2, k & 4 == 4]) {
                let outputs = garbled.evaluate(&encoding.encode(&input).unwrap()).unwrap();
                assert_eq!(
                    decoding.decode(&outputs).unwrap(),
                    circuit.evaluate(&input),
                    "{scheme:?} {table}"
                );
                assert_eq!(
                    checking.decode(&outputs).unwrap(),
                    circuit.evaluate(&input),
                    "{scheme:?} {table}"
                );
            }
        }
    }
}

#[test]
fn rows_and_tokens_are_those_of_the_figure() {
    let gates = vec![
        (0, 1, GateFunction::AND),
        (1, 2, GateFunction::XOR),
        (3, 4, GateFunction::OR),
        (0, 4, GateFunction::of_table(0b0010).unwrap()),
        (5, 6, GateFunction::XOR),
        (2, 6, GateFunction::AND),
    ];
    let circuit = NormalCircuit::normalised(3, gates, &[7, 8]).unwrap();
    for scheme in schemes() {
        same_as_figure(scheme, &circuit);
    }
}

fn same_as_figure(scheme: Scheme, circuit: &NormalCircuit) {
    let mut rng = draws();
    let (key, secret) = (rng.block(), rng.block());
    let length = scheme.cipher().length();
    let draws = TokenDraws::new(secret, length, Kernel::best());
    let (rows, tokens) = garble_with(scheme.method(), &scheme.cipher().keyed(key), circuit, &draws);
    let counted = |number: u64| {
        let mut blocks = [number.into()];
        Aes128::new(secret).encrypt(&mut blocks);
        blocks[0]
    };
    let (by_figure, tokens_by_figure) = garbled(scheme, key, circuit, counted);
    assert_eq!(rows, by_figure.iter().map(|row| number(row)).collect::<Vec<_>>(), "{scheme:?}");
    let numbers: Vec<[u128; 2]> =
        tokens_by_figure.iter().map(|pair| [number(&pair[0]), number(&pair[1])]).collect();
    assert_eq!(*tokens, numbers, "{scheme:?}");
    for kernel in Kernel::all_available() {
        let mut garbler = Garbler::with_kernel(kernel, scheme, circuit).unwrap();
        let mut garblings = garbler.garble(1);
        garbler.with_keys(&mut garblings, &[[key, secret].map(Zeroizing::new)]);
        let GarbledResult { garbled, encoding, checking, .. } = &garblings[0];
        assert_eq!(garbled.rows, rows, "{kernel:?} {scheme:?}");
        assert_eq!(*encoding.0, numbers[..circuit.inputs() as usize], "{kernel:?} {scheme:?}");
        let of_outputs: Vec<_> = circuit.outputs().iter().map(|&wire| numbers[wire as usize]).collect();
        assert_eq!(*checking.0, of_outputs, "{kernel:?} {scheme:?}");
    }
}
