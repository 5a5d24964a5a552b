//! Compares ciphers and hashes with well-kept libraries on random inputs, and DES with published vectors,
//! too.

use aes::Aes128;
use aws_lc_rs::digest;
use brickwork::circuit::Party;
use des::cipher::{Block, BlockCipherEncrypt, KeyInit};
use des::{Des, TdesEde3};
use serde_json::json;

use super::{assert_cut, build, example, hex, load, numbers, random, run};

/// Known answers from NIST SP 800-17: variable plaintext (the first and the last), variable key, permutation,
/// substitution.
const VECTORS: [(&str, &str, &str); 5] = [
    ("0101010101010101", "8000000000000000", "95f8a5e5dd31d900"),
    ("0101010101010101", "0000000000000001", "166b40b44aba4bd6"),
    ("8001010101010101", "0000000000000000", "95a8d72813daa94d"),
    ("1046913489980131", "0000000000000000", "88d55e54f54c97b4"),
    ("7ca110454a1a6e57", "01a1d6d039776742", "690f5b0d9a26939b"),
];

fn block(bytes: &[u64]) -> String {
    json!({ "bytes": bytes }).to_string()
}

fn random_bytes<const N: usize>(state: &mut u64) -> [u8; N] {
    std::array::from_fn(|_| random(state) as u8)
}

#[test]
fn des_encrypt() {
    let (program, file) = load("des_encrypt.wir");
    assert_cut(&program, &[("des_round", 16)]);
    assert_eq!(program.and_gates(), 16 * 170);
    let (garbler, evaluator) = example(file);
    assert_eq!(numbers(&run(&program, Party::Evaluator, garbler, evaluator), 8), hex(VECTORS[4].2));
    assert!(run(&program, Party::Garbler, garbler, evaluator).is_empty(), "the garbler learns nothing");
    for (key, plain, cipher) in VECTORS {
        let out = run(&program, Party::Evaluator, &block(&hex(key)), &block(&hex(plain)));
        assert_eq!(numbers(&out, 8), hex(cipher), "{key} {plain}");
    }
    let mut state = 23;
    for _ in 0..50 {
        let (key, plain): ([u8; 8], [u8; 8]) = (random_bytes(&mut state), random_bytes(&mut state));
        let mut expected = Block::<Des>::from(plain);
        Des::new(&key.into()).encrypt_block(&mut expected);
        let out = run(&program, Party::Evaluator, &block(&key.map(u64::from)), &block(&plain.map(u64::from)));
        assert_eq!(numbers(&out, 8), expected.map(u64::from).to_vec());
    }
}

#[test]
fn triple_des_and_decryption() {
    let program = build(
        "#parties 2 #include \"des.wir\" typedef struct_t three { des_block keys[3]; } typedef struct_t \
         both { des_block there; des_block back; }
        #input 1 three #input 2 des_block #output 2 both
        function void main() {
            des_keys a = des_schedule(input1.keys[0]); des_keys b = des_schedule(input1.keys[1]); des_keys c \
         = des_schedule(input1.keys[2]);
            output2.there = des3_encrypt(a, b, c, input2);
            output2.back = des_decrypt(a, des_encrypt(a, input2));
        }",
    )
    .program;
    assert_cut(&program, &[("des_round", 48 + 32)]);
    let mut state = 29;
    for _ in 0..10 {
        let (key, plain): ([u8; 24], [u8; 8]) = (random_bytes(&mut state), random_bytes(&mut state));
        let mut expected = Block::<TdesEde3>::from(plain);
        TdesEde3::new(&key.into()).encrypt_block(&mut expected);
        let keys: Vec<_> = key.chunks(8).map(|k| json!({ "bytes": k })).collect();
        let out = run(
            &program,
            Party::Evaluator,
            &json!({ "keys": keys }).to_string(),
            &block(&plain.map(u64::from)),
        );
        let expected: Vec<u64> = expected.iter().chain(&plain).map(|b| u64::from(*b)).collect();
        assert_eq!(numbers(&out, 8), expected);
    }
}

#[test]
fn aes_on_random_inputs() {
    let [(encrypt, _), (mac, _)] = ["aes128_encrypt.wir", "cbc_mac.wir"].map(load);
    let mut state = 61;
    for _ in 0..10 {
        let key: [u8; 16] = random_bytes(&mut state);
        let blocks: [[u8; 16]; 4] = std::array::from_fn(|_| random_bytes(&mut state));
        let cipher = Aes128::new(&key.into());
        let mut tag = Block::<Aes128>::default();
        for (i, plain) in blocks.iter().enumerate() {
            tag.iter_mut().zip(plain).for_each(|(t, p)| *t ^= p);
            cipher.encrypt_block(&mut tag);
            if i == 0 {
                let out = run(
                    &encrypt,
                    Party::Evaluator,
                    &block(&key.map(u64::from)),
                    &block(&plain.map(u64::from)),
                );
                assert_eq!(numbers(&out, 8), tag.map(u64::from).to_vec());
            }
        }
        let message = json!({ "blocks": blocks.map(|b| json!({ "bytes": b })) }).to_string();
        let out = run(&mac, Party::Evaluator, &block(&key.map(u64::from)), &message);
        assert_eq!(numbers(&out, 8), tag.map(u64::from).to_vec());
    }
}

#[test]
fn sha256_on_random_inputs() {
    let (program, _) = load("sha256_shares.wir");
    let mut state = 67;
    for length in (0..56).step_by(5) {
        let message: [u8; 64] = random_bytes(&mut state);
        let mut padded = [0; 64];
        padded[..length].copy_from_slice(&message[..length]);
        padded[length] = 0x80;
        padded[56..].copy_from_slice(&(8 * length as u64).to_be_bytes());
        let share: [u8; 64] = random_bytes(&mut state);
        let words = |f: &dyn Fn(usize) -> u8| {
            let bytes: [u8; 64] = std::array::from_fn(f);
            let words = bytes.chunks(4).map(|c| u32::from_be_bytes(c.try_into().unwrap()));
            json!({ "words": words.collect::<Vec<_>>() }).to_string()
        };
        let out = run(&program, Party::Garbler, &words(&|i| share[i]), &words(&|i| share[i] ^ padded[i]));
        let expected = digest::digest(&digest::SHA256, &message[..length]);
        let expected = expected
            .as_ref()
            .chunks(4)
            .map(|c| u64::from(u32::from_be_bytes(c.try_into().unwrap())))
            .collect::<Vec<_>>();
        assert_eq!(numbers(&out, 32), expected, "{length} bytes");
    }
}
