//! Compares the standard library with standards, and with models in Rust.

mod any_width;
mod business;

mod ciphers;
#[path = "../common/mod.rs"]
mod common;
mod floats;
mod keys;
mod numbers;

use brickwork::circuit::{Party, Program, value};
use brickwork_lang::{CompileOptions, NoFiles, Sample, StdFile, compile, std_library};
use common::{build, number};
use serde_json::{Value, json};

/// Compiles a program of the library, which must cause no warning.
fn load(name: &str) -> (Program, &'static StdFile) {
    let file = std_library().iter().find(|f| f.name == name).expect("a file of the library");
    let compiled = compile(name, file.text, &NoFiles, &CompileOptions::default())
        .unwrap_or_else(|e| panic!("{}", e.render(false)));
    assert_eq!(compiled.warnings.render(false), "", "{name}");
    (compiled.program, file)
}

/// Returns the example inputs of a program.
fn example(file: &StdFile) -> (&'static str, &'static str) {
    let example = file.example.expect("a program that runs by itself");
    (example.garbler.text, example.evaluator.text)
}

/// Returns whether a sample has no tables. Samples with tables are tested with the command.
fn is_plain(sample: &Sample) -> bool {
    sample.name.ends_with(".json") && !sample.text.contains('@')
}

fn bits(program: &Program, party: Party, text: &str) -> Vec<bool> {
    value::encode(program.input_ports(party), &value::parse(text).unwrap()).unwrap()
}

/// Returns the output bits of a party.
fn run(program: &Program, party: Party, garbler: &str, evaluator: &str) -> Vec<bool> {
    let inputs =
        [(Party::Garbler, garbler), (Party::Evaluator, evaluator)].map(|(p, text)| bits(program, p, text));
    program.output_bits(party, &program.simulate(&inputs[0], &inputs[1]))
}

/// Returns the value of a party's output bits.
fn decode(program: &Program, party: Party, bits: &[bool]) -> Value {
    value::decode(&program.output_ports(party), bits)
}

fn numbers(bits: &[bool], width: usize) -> Vec<u64> {
    bits.chunks(width).map(|c| number(c) as u64).collect()
}

/// Returns the components' names and numbers of slots.
fn cut(program: &Program) -> Vec<(String, usize)> {
    program.components().iter().map(|c| c.name.clone()).zip(program.slots_by_component()).collect()
}

fn assert_cut(program: &Program, expected: &[(&str, usize)]) {
    assert_eq!(cut(program), expected.iter().map(|(n, s)| ((*n).to_string(), *s)).collect::<Vec<_>>());
}

/// Returns the next number of a fixed generator (xorshift).
fn random(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

/// Returns a struct of one array, as JSON.
fn list<const N: usize>(field: &str, values: [u32; N]) -> String {
    json!({ field: values.to_vec() }).to_string()
}

fn hex(text: &str) -> Vec<u64> {
    (0..text.len()).step_by(2).map(|i| u64::from_str_radix(&text[i..i + 2], 16).unwrap()).collect()
}

#[test]
fn every_program_compiles_and_takes_its_example() {
    for file in std_library() {
        assert!(file.text.is_ascii() && !file.summary.is_empty(), "{}", file.name);
        if file.example.is_some_and(|example| [example.garbler, example.evaluator].iter().all(is_plain)) {
            let (program, _) = load(file.name);
            let (garbler, evaluator) = example(file);
            for party in [Party::Garbler, Party::Evaluator] {
                let learned = run(&program, party, garbler, evaluator);
                let output = decode(&program, party, &learned);
                assert_eq!(
                    value::encode(&program.output_ports(party), &output).unwrap(),
                    learned,
                    "{}",
                    file.name
                );
            }
        }
    }
}

#[test]
fn integers() {
    let main = "#parties 2 #include \"integers.wir\"
        typedef struct_t all { uint32 u[8]; int32 s[2]; bit b[2]; }
        #input 1 uint32 #input 2 uint32 #output 1 all
        function void main() {
            uint32 a = input1; uint32 b = input2;
            output1.u[0] = min(a, b); output1.u[1] = max(a, b);
            int32 sa; sa{0:32} = a{0:32}; int32 sb; sb{0:32} = b{0:32};
            output1.u[2] = abs(sa); output1.u[3] = distance(a, b); output1.u[4] = popcount(a);
            division d = divide(a, b); output1.u[5] = d.quotient; output1.u[6] = d.remainder; output1.u[7] = \
                popcount(a ^ b);
            output1.s[0] = min_signed(sa, sb); output1.s[1] = max_signed(sa, sb);
            output1.b[0] = less(a, b); output1.b[1] = less_signed(sa, sb);
        }";
    let program = build(main).program;
    let mut state = 7;
    let mut cases = vec![
        (0, 0),
        (0, 1),
        (1, 0),
        (u32::MAX, 1),
        (1 << 31, u32::MAX),
        (u32::MAX, u32::MAX),
        (5, 1 << 31),
        (1 << 31, 0),
    ];
    cases.extend((0..40).map(|i| (random(&mut state) as u32, (random(&mut state) as u32) >> (i % 32))));
    for (a, b) in cases {
        let (s, t) = (a as i32, b as i32);
        let expected = [
            a.min(b),
            a.max(b),
            s.unsigned_abs(),
            a.abs_diff(b),
            a.count_ones(),
            a.checked_div(b).unwrap_or(u32::MAX),
            a.checked_rem(b).unwrap_or(a),
            (a ^ b).count_ones(),
            s.min(t) as u32,
            s.max(t) as u32,
        ];
        let out = run(&program, Party::Garbler, &a.to_string(), &b.to_string());
        assert_eq!(numbers(&out[..320], 32), expected.map(u64::from), "{a} {b}");
        assert_eq!((out[320], out[321]), (a < b, s < t), "{a} {b}");
    }
}

#[test]
fn millionaires() {
    let (program, _) = load("millionaires.wir");
    assert_cut(&program, &[("compare", 1)]);
    assert_eq!(program.and_gates(), 63);
    for (a, b) in [(0u32, 0u32), (5, 6), (6, 5), (u32::MAX, 0), (0, u32::MAX), (77, 77)] {
        for party in [Party::Garbler, Party::Evaluator] {
            assert_eq!(run(&program, party, &a.to_string(), &b.to_string()), [a > b, a == b], "{a} {b}");
        }
    }
}

/// The vectors are examples of FIPS 180-4 and of appendix B of its predecessor: "abc" and the message of 448
/// bits.
#[test]
fn sha256() {
    let (program, file) = load("sha256_shares.wir");
    let (garbler, evaluator) = example(file);
    let abc =
        [0xba7816bfu64, 0x8f01cfea, 0x414140de, 0x5dae2223, 0xb00361a3, 0x96177a9c, 0xb410ff61, 0xf20015ad];
    for party in [Party::Garbler, Party::Evaluator] {
        assert_eq!(numbers(&run(&program, party, garbler, evaluator), 32), abc);
    }
    assert_cut(
        &program,
        &[("constants", 1), ("combine", 1), ("sha256_schedule", 48), ("sha256_round", 64), ("sha256_add", 1)],
    );

    let two = "#parties 2 #include \"sha256.wir\" typedef struct_t block { sha256_word w[16]; } typedef \
               struct_t digest { sha256_word h[8]; }
        #input 1 block #input 2 block #output 2 digest
        function void main() { output2.h = sha256_block(sha256_block(sha256_start(), input1.w), input2.w); }";
    let mut message = b"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq\x80".to_vec();
    message.resize(126, 0);
    message.extend(448u16.to_be_bytes());
    let words: Vec<u32> = message.chunks(4).map(|c| u32::from_be_bytes(c.try_into().unwrap())).collect();
    let digest = run(
        &build(two).program,
        Party::Evaluator,
        &json!({"w": words[..16]}).to_string(),
        &json!({"w": words[16..]}).to_string(),
    );
    let expected =
        [0x248d6a61u64, 0xd20638b8, 0xe5c02693, 0x0c3e6039, 0xa33ce459, 0x64ff2167, 0xf6ecedd4, 0x19db06c1];
    assert_eq!(numbers(&digest, 32), expected);
}

/// The vectors are from FIPS 197, appendix C.1 (the example) and B.
#[test]
fn aes128() {
    let (program, file) = load("aes128_encrypt.wir");
    assert_cut(
        &program,
        &[
            ("constants", 1),
            ("aes_next_key", 10),
            ("aes_add_key", 1),
            ("aes_round", 9),
            ("aes_last_round", 1),
        ],
    );
    assert_eq!(program.and_gates(), 200 * 32);
    let (garbler, evaluator) = example(file);
    let out = run(&program, Party::Evaluator, garbler, evaluator);
    assert_eq!(numbers(&out, 8), hex("69c4e0d86a7b0430d8cdb78070b4c55a"));
    assert!(run(&program, Party::Garbler, garbler, evaluator).is_empty(), "the garbler learns nothing");
    let block = |text: &str| json!({"bytes": hex(text)}).to_string();
    let out = run(
        &program,
        Party::Evaluator,
        &block("2b7e151628aed2a6abf7158809cf4f3c"),
        &block("3243f6a8885a308d313198a2e0370734"),
    );
    assert_eq!(numbers(&out, 8), hex("3925841d02dc09fbdc118597196a0b32"));
}

/// The result is the last block of NIST SP 800-38A, F.2.1 (CBC-AES128), whose initial value is XORed into the
/// first block.
#[test]
fn cbc_mac() {
    let (program, file) = load("cbc_mac.wir");
    assert_cut(
        &program,
        &[
            ("constants", 1),
            ("aes_next_key", 10),
            ("aes_add_key", 7),
            ("aes_round", 36),
            ("aes_last_round", 4),
        ],
    );
    assert_eq!(program.and_gates(), (40 + 4 * 160) * 32);
    let (garbler, evaluator) = example(file);
    let out = run(&program, Party::Evaluator, garbler, evaluator);
    assert_eq!(numbers(&out, 8), hex("3ff1caa1681fac09120eca307586e1a7"));
}

#[test]
fn hamming() {
    let (program, _) = load("hamming.wir");
    assert_cut(&program, &[("constants", 1), ("count_word", 4)]);
    let mut state = 3;
    for _ in 0..20 {
        let [a, b] = [0; 2].map(|_| [0; 4].map(|_: u32| random(&mut state) as u32));
        let expected: u32 = a.iter().zip(&b).map(|(x, y)| (x ^ y).count_ones()).sum();
        let out = run(&program, Party::Garbler, &list("words", a), &list("words", b));
        assert_eq!(number(&out), u128::from(expected));
    }
    let all = run(&program, Party::Evaluator, &list("words", [u32::MAX; 4]), &list("words", [0; 4]));
    assert_eq!(number(&all), 128);
}

fn levenshtein(a: &[u8], b: &[u8]) -> u128 {
    match (a, b) {
        ([], rest) | (rest, []) => rest.len() as u128,
        ([x, a1 @ ..], [y, b1 @ ..]) if x == y => levenshtein(a1, b1),
        ([_, a1 @ ..], [_, b1 @ ..]) => {
            1 + levenshtein(a1, b).min(levenshtein(a, b1)).min(levenshtein(a1, b1))
        }
    }
}

#[test]
fn edit_distance() {
    let (program, _) = load("edit_distance.wir");
    assert_cut(&program, &[("constants", 1), ("cell", 64)]);
    for (a, b) in [
        ("kitten  ", "sitting "),
        ("abcdefgh", "abcdefgh"),
        ("abcdefgh", "ijklmnop"),
        ("abcdefgh", "habcdefg"),
        ("saturday", "sundays "),
        ("aaaaaaab", "baaaaaaa"),
        ("abababab", "babababa"),
    ] {
        let word = |w: &str| json!({"letters": w.as_bytes()}).to_string();
        let expected = levenshtein(a.as_bytes(), b.as_bytes());
        assert_eq!(number(&run(&program, Party::Garbler, &word(a), &word(b))), expected, "{a} {b}");
    }
}

#[test]
fn sort() {
    let (program, file) = load("sort.wir");
    assert_cut(&program, &[("sort_pair.uint32", 63)]);
    let check = |garbler: &str, evaluator: &str| {
        let mut expected: Vec<u64> = Vec::new();
        for text in [garbler, evaluator] {
            let list: Value = serde_json::from_str(text).unwrap();
            expected.extend(list["items"].as_array().unwrap().iter().map(|v| v.as_u64().unwrap()));
        }
        expected.sort_unstable();
        for party in [Party::Garbler, Party::Evaluator] {
            assert_eq!(numbers(&run(&program, party, garbler, evaluator), 32), expected);
        }
    };
    let (garbler, evaluator) = example(file);
    check(garbler, evaluator);
    let mut state = 5;
    for mask in [1, u32::MAX] {
        for _ in 0..30 {
            // The numbers have few different values, so many are equal.
            let mut items = || list("items", [0; 8].map(|_: u32| random(&mut state) as u32 & mask));
            check(&items(), &items());
        }
    }
}

#[test]
fn vickrey() {
    let (program, file) = load("vickrey.wir");
    assert_cut(&program, &[("constants", 1), ("place_bid", 7)]);
    let check = |garbler: &str, evaluator: &str| {
        let mut bids: Vec<(u64, u64)> = Vec::new();
        for text in [garbler, evaluator] {
            let list: Value = serde_json::from_str(text).unwrap();
            for amount in list["amounts"].as_array().unwrap() {
                bids.push((amount.as_u64().unwrap(), bids.len() as u64));
            }
        }
        bids.sort_by_key(|&(amount, who)| (std::cmp::Reverse(amount), who));
        let out = run(&program, Party::Evaluator, garbler, evaluator);
        assert_eq!(
            (number(&out[..3]) as u64, number(&out[3..]) as u64),
            (bids[0].1, bids[1].0),
            "{garbler} {evaluator}"
        );
    };
    let (garbler, evaluator) = example(file);
    check(garbler, evaluator);
    let mut state = 11;
    for mask in [1, 7, u32::MAX] {
        for _ in 0..20 {
            let mut amounts = || list("amounts", [0; 4].map(|_: u32| random(&mut state) as u32 & mask));
            check(&amounts(), &amounts());
        }
    }
}

#[test]
fn intersection() {
    let (program, file) = load("intersection.wir");
    assert_cut(&program, &[("constants", 1), ("sort_pair.uint32", 32), ("count_equal", 15)]);
    let (garbler, evaluator) = example(file);
    assert_eq!(number(&run(&program, Party::Garbler, garbler, evaluator)), 4);
    let mut state = 13;
    for range in [8, 12, 20, u64::from(u32::MAX)] {
        for _ in 0..20 {
            let [a, b] = [0; 2].map(|_| {
                let mut set = std::collections::BTreeSet::new();
                while set.len() < 8 {
                    set.insert((random(&mut state) % range) as u32);
                }
                set
            });
            let items = |set: &std::collections::BTreeSet<u32>| json!({ "items": set }).to_string();
            let out = run(&program, Party::Evaluator, &items(&a), &items(&b));
            assert_eq!(number(&out), a.intersection(&b).count() as u128, "{a:?} {b:?}");
        }
    }
}

#[test]
fn matrix() {
    let (program, _) = load("matrix.wir");
    assert_cut(&program, &[("inner", 16)]);
    let mut state = 17;
    for _ in 0..10 {
        let [a, b] = [0; 2].map(|_| [[0; 4]; 4].map(|row| row.map(|_: i32| random(&mut state) as i32)));
        let mut expected = Vec::new();
        for row in &a {
            for j in 0..4 {
                let sum =
                    row.iter().zip(&b).fold(0i32, |sum, (x, line)| sum.wrapping_add(x.wrapping_mul(line[j])));
                expected.push(u64::from(sum as u32));
            }
        }
        let out =
            run(&program, Party::Garbler, &json!({ "at": a }).to_string(), &json!({ "at": b }).to_string());
        assert_eq!(numbers(&out, 32), expected);
    }
}

#[test]
fn satellites() {
    let (program, file) = load("satellites.wir");
    // Bit 1 of a square is always 0, so a component makes this constant.
    assert_cut(&program, &[("constants", 1), ("area", 1), ("closer", 8)]);
    let closer = |garbler: &str, evaluator: &str| {
        let [g, e]: [Value; 2] = [garbler, evaluator].map(|text| serde_json::from_str(text).unwrap());
        let limit = g["limit"].as_i64().unwrap() as i128;
        let expected = (0..8).any(|t| {
            let axis = |v: &Value, i: usize| v["at"][t]["axis"][i].as_i64().unwrap() as i128;
            (0..3).map(|i| (axis(&g["path"], i) - axis(&e, i)).pow(2)).sum::<i128>() < limit * limit
        });
        assert_eq!(run(&program, Party::Garbler, garbler, evaluator), [expected], "{garbler} {evaluator}");
        expected
    };
    let (garbler, evaluator) = example(file);
    assert!(closer(garbler, evaluator), "the example");
    let mut state = 19;
    let (mut near, bound) = (0, (1i64 << 30) - 1);
    for _ in 0..40 {
        let mut place = || {
            let axes = (0..3).map(|_| random(&mut state) as i64 % (1 << 30));
            json!({ "axis": axes.collect::<Vec<_>>() })
        };
        let mut orbit = || {
            let places: Vec<Value> = (0..8).map(|_| place()).collect();
            json!({ "at": places })
        };
        let (own, other) = (orbit(), orbit());
        let limit = 300_000_000 + random(&mut state) % 500_000_000;
        near += usize::from(closer(&json!({"path": own, "limit": limit}).to_string(), &other.to_string()));
    }
    assert!(near > 0 && near < 40, "both answers occur: {near}");
    // The satellites are as far apart as possible, and then exactly at the limit.
    let at = |x: i64, y: i64, z: i64| json!({"at": vec![json!({"axis": [x, y, z]}); 8]});
    let all = |x: i64| at(x, x, x);
    assert!(!closer(
        &json!({"path": all(bound), "limit": 3_700_000_000u64}).to_string(),
        &all(-bound).to_string()
    ));
    assert!(closer(&json!({"path": all(bound), "limit": u32::MAX}).to_string(), &all(-bound).to_string()));
    assert!(!closer(&json!({"path": at(3, 0, 4), "limit": 5}).to_string(), &all(0).to_string()));
    assert!(closer(&json!({"path": at(3, 0, 4), "limit": 6}).to_string(), &all(0).to_string()));
}
