//! Compares the circuits for words, AES and matrices with independent models.

use aes::cipher::{Array, BlockCipherEncrypt, KeyInit};
use brickwork::circuit::library::aes::{self as circuits, KeySize};
use brickwork::circuit::library::{self, matrix};
use brickwork::circuit::{Bit, Builder, Circuit, Party, Program, value};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::{models, random};

/// Makes a circuit on two words.
fn on_words(width: usize, f: impl FnOnce(&mut Builder, &[Bit], &[Bit]) -> Vec<Bit>) -> Circuit {
    let mut builder = Builder::new(2 * width as u32);
    let inputs = builder.all_inputs();
    let outputs = f(&mut builder, &inputs[..width], &inputs[width..]);
    builder.finish(&outputs).unwrap()
}

fn evaluate(circuit: &Circuit, x: u128, y: u128) -> u128 {
    let width = circuit.inputs() / 2;
    let inputs: Vec<bool> = [x, y].iter().flat_map(|v| (0..width).map(move |i| v >> i & 1 == 1)).collect();
    circuit.evaluate(&inputs).iter().rev().fold(0, |word, &b| word << 1 | u128::from(b))
}

proptest! {
    #[test]
    fn words(x: u64, y: u64, width in 1usize..=64) {
        let mask = u64::MAX >> (64 - width);
        let (x, y) = (u128::from(x & mask), u128::from(y & mask));
        let mask = u128::from(mask);
        let n = width;
        type Word = fn(&mut Builder, &[Bit], &[Bit]) -> Vec<Bit>;
        let cases: [(Word, usize, u128); 7] = [
            (library::add, n - 1, (x + y) & mask),
            (library::subtract, n - 1, x.wrapping_sub(y) & mask),
            (library::multiply, n * n - n + 1, (x * y) & mask),
            (library::xor, 0, x ^ y),
            (|b, x, y| vec![library::less_than(b, x, y)], n, u128::from(x < y)),
            (|b, x, y| vec![library::equal(b, x, y)], n - 1, u128::from(x == y)),
            (|b, x, y| library::select(b, x[0], x, y), n, if x & 1 == 1 { x } else { y }),
        ];
        for (index, (word, and_gates, expected)) in cases.into_iter().enumerate() {
            let circuit = on_words(n, word);
            prop_assert_eq!(evaluate(&circuit, x, y), expected, "case {}", index);
            prop_assert_eq!(circuit.and_gates(), and_gates, "case {}", index);
        }
    }

    /// Folding constants and sharing gates do not change the function.
    #[test]
    fn the_builder_computes_what_it_is_told(
        ops in prop::collection::vec((0..5u8, any::<[prop::sample::Index; 3]>()), 1..200), seed: u64,
    ) {
        let inputs = random::bits(6, seed);
        let mut builder = Builder::new(6);
        let mut bits = builder.all_inputs();
        let mut values = inputs.clone();
        bits.extend([Bit::ZERO, Bit::ONE]);
        values.extend([false, true]);
        let mut ands = 0;
        for (op, [i, j, k]) in ops {
            let (i, j, k) = (i.index(bits.len()), j.index(bits.len()), k.index(bits.len()));
            let (x, y, z) = (bits[i], bits[j], bits[k]);
            let (vx, vy, vz) = (values[i], values[j], values[k]);
            let (bit, value) = match op {
                0 => (builder.xor(x, y), vx ^ vy),
                1 => (builder.and(x, y), vx & vy),
                2 => (builder.or(x, y), vx | vy),
                3 => (builder.mux(x, y, z), if vx { vy } else { vz }),
                _ => (!x, !vx),
            };
            ands += usize::from((1..4).contains(&op));
            prop_assert!(builder.and_gates() <= ands);
            bits.push(bit);
            values.push(value);
        }
        let counted = builder.and_gates();
        let circuit = builder.finish(&bits).unwrap();
        prop_assert_eq!(circuit.and_gates(), counted);
        prop_assert_eq!(circuit.evaluate(&inputs), values);
    }
}

#[test]
fn equal_gates_are_built_once() {
    let circuit = on_words(1, |b, x, y| {
        let outputs = [
            b.and(x[0], y[0]),
            b.and(y[0], x[0]),
            b.and(!x[0], y[0]),
            b.and(y[0], !x[0]),
            b.xor(x[0], y[0]),
            b.xor(!y[0], x[0]),
        ];
        outputs.to_vec()
    });
    // There are two ANDs, an XOR, and two inversions: one for an AND and one for the last output.
    assert_eq!((circuit.and_gates(), circuit.gate_count()), (2, 5));
}

#[test]
fn the_s_box_is_that_of_the_standard() {
    let mut builder = Builder::new(8);
    let input = builder.all_inputs();
    let output = circuits::sub_byte(&mut builder, &input);
    let circuit = builder.finish(&output).unwrap();
    assert_eq!(circuit.and_gates(), 32);
    // The S-box from its definition: the inverse in GF(2^8), then an affine map (FIPS 197, section 5.1.1).
    let times = |x: u8, y: u8| {
        (0..8).rev().fold(0u8, |product, i| (product << 1) ^ (0x1b * (product >> 7)) ^ (x * (y >> i & 1)))
    };
    for x in 0..=255u8 {
        let inverse = (0..=255).find(|&y| times(x, y) == 1).unwrap_or(0);
        let expected = (0..5).fold(0x63, |sum, i| sum ^ inverse.rotate_left(i));
        let bits: Vec<bool> = (0..8).map(|i| x >> i & 1 == 1).collect();
        let result = circuit.evaluate(&bits).iter().rev().fold(0, |byte, &b| byte << 1 | u8::from(b));
        assert_eq!(result, expected, "{x:02x}");
    }
}

fn hex(bytes: &[u8]) -> Value {
    let digits: String = bytes.iter().map(|b| format!("{b:02x}")).collect();
    json!(format!("0x{digits}"))
}

fn run(program: &Program, garbler: &Value, evaluator: &Value) -> Value {
    let input = |party, value| value::encode(program.input_ports(party), value).unwrap();
    let outputs = program.simulate(&input(Party::Garbler, garbler), &input(Party::Evaluator, evaluator));
    value::decode(&program.output_ports(Party::Evaluator), &program.output_bits(Party::Evaluator, &outputs))
}

fn noise<const N: usize>(seed: u64) -> [u8; N] {
    let bits = random::bits(8 * N, seed);
    std::array::from_fn(|i| bits[8 * i..8 * i + 8].iter().fold(0, |byte, &b| byte << 1 | u8::from(b)))
}

#[test]
fn aes_in_one_component() {
    let (whole, expanded) = (circuits::aes_128().unwrap(), circuits::aes_128_expanded().unwrap());
    assert_eq!((whole.and_gates(), expanded.and_gates(), whole.slot_count()), (6400, 5120, 1));
    // The vector is from FIPS 197, appendix B.
    let key = hex(&0x2b7e1516_28aed2a6_abf71588_09cf4f3c_u128.to_be_bytes());
    assert_eq!(
        run(&whole, &key, &json!("0x3243f6a8885a308d313198a2e0370734")),
        "0x3925841d02dc09fbdc118597196a0b32"
    );
    for seed in 0..20 {
        let (key, block) = (noise::<16>(seed), noise::<16>(!seed));
        let expected = hex(&models::aes128(key, block));
        assert_eq!(run(&whole, &hex(&key), &hex(&block)), expected);
        let bits = value::encode(whole.input_ports(Party::Garbler), &hex(&key)).unwrap();
        let round_keys =
            value::decode(expanded.input_ports(Party::Garbler), &circuits::round_keys(&bits).unwrap());
        assert_eq!(run(&expanded, &round_keys, &hex(&block)), expected);
    }
}

#[test]
fn aes_from_one_stock_of_rounds() {
    let mut programs = Vec::new();
    for (size, and_gates, ciphertext) in [
        (KeySize::Aes128, 6400, "0x69c4e0d86a7b0430d8cdb78070b4c55a"),
        (KeySize::Aes192, 7168, "0xdda97ca4864cdfe06eaf70a0ec0d7191"),
        (KeySize::Aes256, 8832, "0x8ea2b7ca516745bfeafc49904b496089"),
    ] {
        let program = circuits::aes_from_rounds(size).unwrap();
        assert_eq!(program.and_gates(), and_gates);
        // The vector is from FIPS 197, appendix C.
        let key: Vec<u8> = (0..(program.input_width(Party::Garbler) / 8) as u8).collect();
        assert_eq!(run(&program, &hex(&key), &json!("0x00112233445566778899aabbccddeeff")), ciphertext);
        for seed in 0..10 {
            let (key, block) = (noise::<32>(seed), noise::<16>(!seed));
            let key = &key[..program.input_width(Party::Garbler) / 8];
            let mut expected = Array::from(block);
            match size {
                KeySize::Aes128 => aes::Aes128::new_from_slice(key).unwrap().encrypt_block(&mut expected),
                KeySize::Aes192 => aes::Aes192::new_from_slice(key).unwrap().encrypt_block(&mut expected),
                KeySize::Aes256 => aes::Aes256::new_from_slice(key).unwrap().encrypt_block(&mut expected),
            }
            assert_eq!(run(&program, &hex(key), &hex(&block)), hex(&expected));
        }
        programs.push(program);
    }
    // A name that occurs in two programs is the same circuit in both, and every component of the first
    // program is in all of them.
    for program in &programs {
        for component in programs[0].components() {
            assert!(program.components().contains(component), "{}", component.name);
        }
        assert!(program.slots_by_component().iter().all(|&slots| slots > 0));
    }
    assert_eq!(programs[2].components(), programs[0].components());
    assert_eq!(programs[1].components().len(), programs[0].components().len() + 1);
}

#[test]
fn cbc_mac() {
    for blocks in [1u32, 2, 16] {
        let program = circuits::cbc_mac(blocks).unwrap();
        assert_eq!(program.and_gates(), 6400 * u64::from(blocks));
        let key = noise::<16>(3);
        let message: Vec<[u8; 16]> = (0..u64::from(blocks)).map(|i| noise(99 + i)).collect();
        let tag = message
            .iter()
            .fold([0; 16], |tag, block| models::aes128(key, std::array::from_fn(|i| tag[i] ^ block[i])));
        let message: Vec<Value> = message.iter().map(|block| hex(block)).collect();
        let message = if blocks == 1 { json!([message[0]]) } else { json!(message) };
        assert_eq!(run(&program, &hex(&key), &message), hex(&tag));
    }
    assert!(circuits::cbc_mac(0).is_err());
}

#[test]
fn matrix_products() {
    for (size, width, block) in
        [(1u32, 1, 1), (2, 8, 1), (4, 32, 2), (6, 13, 3), (4, 5, 4), (16, 32, 2), (16, 32, 4)]
    {
        let program = matrix::product(size, width, block).unwrap();
        let (n, w) = (u64::from(size), u64::from(width));
        assert_eq!(program.and_gates(), n * n * n * (w * w - w + 1) + (n * n * n - n * n) * (w - 1));
        let bits = random::bits((2 * n * n * w) as usize, n * w);
        let numbers: Vec<u64> =
            bits.chunks(width as usize).map(|b| b.iter().fold(0, |x, &b| x << 1 | u64::from(b))).collect();
        let (a, b) = numbers.split_at((n * n) as usize);
        let rows = |m: &[u64]| json!(m.chunks(size as usize).collect::<Vec<_>>());
        let n = size as usize;
        let cell = |e: usize| {
            (0..n).fold(0u64, |sum, k| sum.wrapping_add(a[e / n * n + k].wrapping_mul(b[k * n + e % n])))
        };
        let expected: Vec<u64> = (0..n * n).map(|e| cell(e) & (u64::MAX >> (64 - width))).collect();
        assert_eq!(run(&program, &rows(a), &rows(b)), rows(&expected), "{size} {width} {block}");
    }
    assert_eq!(matrix::product(16, 32, 2).unwrap().and_gates(), 4_186_368);
    assert!(matrix::product(16, 32, 3).is_err() && matrix::product(0, 32, 1).is_err());
}

#[test]
fn every_example_runs_on_its_inputs() {
    for example in library::examples().unwrap() {
        let (garbler, evaluator) = (&example.garbler.1, &example.evaluator.1);
        let result = run(&example.program, garbler, evaluator);
        assert!(!result.is_null(), "{}", example.program.name());
        if example.program.name().starts_with("aes-128") {
            assert_eq!(result, "0x69c4e0d86a7b0430d8cdb78070b4c55a", "{}", example.program.name());
        }
    }
}
