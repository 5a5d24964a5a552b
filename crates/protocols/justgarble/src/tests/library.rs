//! Tests the circuits of the paper's figures, and published vectors with every scheme.

use super::*;
use crate::library;

/// Key, block and ciphertext. Two vectors are from FIPS 197, appendices B and C.1. The vector of zeros is
/// from NIST's AESAVS, and the page of the Bristol circuits has it, too.
const VECTORS: [[u128; 3]; 3] = [
    [
        0x2b7e1516_28aed2a6_abf71588_09cf4f3c,
        0x3243f6a8_885a308d_313198a2_e0370734,
        0x3925841d_02dc09fb_dc118597_196a0b32,
    ],
    [
        0x00010203_04050607_08090a0b_0c0d0e0f,
        0x00112233_44556677_8899aabb_ccddeeff,
        0x69c4e0d8_6a7b0430_d8cdb780_70b4c55a,
    ],
    [0, 0, 0x66e94bd4_ef8a2c3b_884cfa59_ca342b2e],
];

fn bits(number: u128) -> Vec<bool> {
    (0..128).map(|i| number >> i & 1 == 1).collect()
}

/// Returns the input bits of [`library::aes`].
fn expanded(key: u128, block: u128) -> Vec<bool> {
    [circuits::aes::round_keys(&bits(key)).unwrap(), bits(block)].concat()
}

#[test]
fn published_vectors_come_out_of_every_scheme() {
    let with_schedule = NormalCircuit::of(&circuits::aes::aes_128().unwrap().flatten().unwrap()).unwrap();
    let of_paper = library::aes().unwrap();
    let given: Vec<Vec<bool>> =
        VECTORS.iter().map(|&[key, block, _]| [bits(key), bits(block)].concat()).collect();
    let with_round_keys: Vec<Vec<bool>> =
        VECTORS.iter().map(|&[key, block, _]| expanded(key, block)).collect();
    for scheme in schemes() {
        for (circuit, inputs) in [(&with_schedule, &given), (&of_paper, &with_round_keys)] {
            let mut garbler = Garbler::new(scheme, circuit).unwrap();
            let side_by_side = garbler.garble(VECTORS.len());
            let alone = garble(scheme, circuit).unwrap();
            for (k, (input, [.., ciphertext])) in inputs.iter().zip(VECTORS).enumerate() {
                // A garbling must be used for one input only.
                let garblings = [Some(&side_by_side[k]), (k == 0).then_some(&alone)];
                for GarbledResult { garbled, encoding, decoding, checking } in garblings.into_iter().flatten()
                {
                    let tokens = garbled.evaluate(&encoding.encode(input).unwrap()).unwrap();
                    assert_eq!(decoding.decode(&tokens).unwrap(), bits(ciphertext), "{scheme}");
                    assert_eq!(checking.decode(&tokens).unwrap(), bits(ciphertext), "{scheme}");
                }
            }
        }
    }
}

/// The circuit has the paper's numbers of gates and of XORs, and computes AES. An SCD file preserves it, with
/// or without functions.
#[test]
fn aes_has_the_paper_s_shape() {
    let circuit = library::aes().unwrap();
    assert_eq!((circuit.gates().len(), circuit.xor_gates()), (36_480, 29_820));
    assert_eq!((circuit.inputs(), circuit.outputs().len()), (1536, 128));
    let reference = circuits::aes::aes_128().unwrap().flatten().unwrap();
    let mut rng = draws();
    let random = (0..20).map(|_| [rng.block(), rng.block()]);
    for [key, block] in VECTORS.iter().map(|&[key, block, _]| [key, block]).chain(random) {
        let expected = reference.evaluate(&[bits(key), bits(block)].concat());
        assert_eq!(circuit.evaluate(&expanded(key, block)), expected);
    }
    for [key, block, ciphertext] in VECTORS {
        assert_eq!(circuit.evaluate(&expanded(key, block)), bits(ciphertext));
    }
    let scd = circuit.to_scd().unwrap();
    let file = scd.write();
    assert_eq!(Scd::read(&file).unwrap(), scd);
    assert_eq!(NormalCircuit::of_scd(&scd).unwrap(), circuit);
    let topology = Scd::read(&scd.topology().write()).unwrap();
    assert_eq!((topology.functions(), topology.gates()), (None, scd.gates()));
    // The paper's sizes in figure 1 are 64, 11.5 and 8.64 bytes per gate, and 40, 7.20 and 5.40 with short
    // tokens. The paper computed the sizes with free XOR from a rounded share of 18%.
    for (name, bytes) in
        [("ga-a2", 64.0), ("gax-a2", 11.68), ("gaxr-a2", 8.76), ("ga-a4", 40.0), ("gax-a4", 7.30)]
    {
        let scheme = Scheme::named(name).unwrap();
        let rows = PublicCircuit::of(scheme.method(), &circuit).rows() * scheme.cipher().length().bytes();
        assert!((rows as f64 / 36_480.0 - bytes).abs() < 0.01, "{name}");
    }
}

#[test]
fn larger_circuits_compute_what_they_are_called_after() {
    for width in [10, 16, 32] {
        let circuit = library::modular_exponentiation(width).unwrap();
        let modulus = library::modulus(width);
        let bits = |number: u128| (0..width).map(move |i| number >> i & 1 == 1);
        let largest = (1 << width) - 1;
        for (a, e) in [(3, 5), (200, 255), (7, 0), (modulus - 1, 3), (0, 9), (largest, largest), (modulus, 1)]
        {
            let got = circuit.evaluate(&bits(a).chain(bits(e)).collect::<Vec<_>>());
            let square = |x: u128| x * x % modulus;
            let expected = (0..width).rev().fold(1 % modulus, |power, i| match e >> i & 1 {
                1 => square(power) * (a % modulus) % modulus,
                _ => square(power),
            });
            assert!(got.into_iter().eq(bits(expected)), "{a}^{e} modulo {modulus}");
        }
    }
    assert_eq!(library::modulus(16), 0b1111_1111_0000_0001, "eight ones, seven zeros and a one");
    assert!(library::modular_exponentiation(9).is_err() && library::modular_exponentiation(65).is_err());
    let circuit = library::edit_distance(15).unwrap();
    let mut rng = draws();
    for _ in 0..20 {
        let [a, b]: [Vec<bool>; 2] = [0; 2].map(|_| (0..15).map(|_| rng.below(2) == 1).collect());
        let got = circuit.evaluate(&[&a[..], &b].concat());
        let number = got.iter().rev().fold(0, |number, &bit| number << 1 | usize::from(bit));
        assert_eq!(number, edit_distance(&a, &b));
    }
    assert!(library::edit_distance(0).is_err());
}

/// Computes the edit distance by the table of Wagner and Fischer.
fn edit_distance(a: &[bool], b: &[bool]) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, y) in b.iter().enumerate() {
            let best = (diagonal + usize::from(x != y)).min(row[j] + 1).min(row[j + 1] + 1);
            diagonal = std::mem::replace(&mut row[j + 1], best);
        }
    }
    row[b.len()]
}
