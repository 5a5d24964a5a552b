//! Tests the formats of other projects.

use std::io::Write;

use brickwork::circuit::formats::{self, FileKind, bristol, duplo};
use brickwork::circuit::{Gate, Party, Program, Recipient, library, value};
use proptest::prelude::*;
use serde_json::json;

use crate::{models, random};

/// Returns a well-known circuit, if the shared folder is there.
fn shared(path: &str) -> Option<Program> {
    let folder = std::env::var_os("BRICKWORK_SHARED").map(std::path::PathBuf::from);
    let folder =
        folder.unwrap_or_else(|| std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared"));
    let file = folder.join("circuits").join(path);
    match std::fs::read(&file) {
        Ok(bytes) => Some(formats::load(&bytes, file.file_name().unwrap().to_str().unwrap()).unwrap()),
        Err(e) => {
            // This does not use `eprintln!`, because the test harness hides its output if the test passes.
            let hint = "set BRICKWORK_SHARED to the folder that holds circuits/";
            let _ = writeln!(std::io::stderr(), "SKIPPED: {}: {e}; {hint}", file.display());
            None
        }
    }
}

/// Runs a program whose inputs are single integers.
fn run(program: &Program, inputs: &[&serde_json::Value]) -> serde_json::Value {
    let input = |i: usize, party| match inputs.get(i) {
        Some(value) => value::encode(program.input_ports(party), value).unwrap(),
        None => Vec::new(),
    };
    let outputs = program.simulate(&input(0, Party::Garbler), &input(1, Party::Evaluator));
    value::decode(&program.output_ports(Party::Evaluator), &program.output_bits(Party::Evaluator, &outputs))
}

fn hex(bytes: &[u8]) -> serde_json::Value {
    let digits: String = bytes.iter().map(|b| format!("{b:02x}")).collect();
    json!(format!("0x{digits}"))
}

fn words() -> Vec<u64> {
    let mut words =
        vec![0, 1, 2, 3, u64::MAX, u64::MAX - 1, 1 << 63, (1 << 63) - 1, 1 << 31, 1 << 32, 0xffff_ffff, 7];
    let noise = random::bits(64 * 20, 5);
    words.extend(noise.chunks(64).map(|bits| bits.iter().fold(0, |w, &b| w << 1 | u64::from(b))));
    words
}

fn check_pairs(path: &str, and_gates: u64, width: u32, model: impl Fn(u64, u64) -> Option<u128>) {
    let Some(program) = shared(path) else { return };
    assert_eq!(program.and_gates(), and_gates, "{path}");
    let mask = u64::MAX >> (64 - width);
    let result = program.outputs()[0].port.clone();
    for x in words() {
        for y in words() {
            let (x, y) = (x & mask, y & mask);
            let Some(expected) = model(x, y) else { continue };
            let bits = (0..result.width()).map(|i| expected >> i & 1 == 1).collect::<Vec<_>>();
            assert_eq!(
                run(&program, &[&json!(x), &json!(y)]),
                value::decode(std::slice::from_ref(&result), &bits),
                "{path}: {x} {y}"
            );
        }
    }
}

#[test]
fn arithmetic_in_bristol_fashion() {
    check_pairs("adder64.txt", 63, 64, |x, y| Some(x.wrapping_add(y).into()));
    check_pairs("sub64.txt", 63, 64, |x, y| Some(x.wrapping_sub(y).into()));
    check_pairs("mult64.txt", 4033, 64, |x, y| Some(x.wrapping_mul(y).into()));
    // The file has 4285 AND gates, of which 64 have a constant operand.
    check_pairs("udivide64.txt", 4221, 64, |x, y| x.checked_div(y).map(u128::from));
    let signed = |x: u64, y: u64| (x as i64).checked_div(y as i64).map(|q| u128::from(q as u64));
    check_pairs("divide64.txt", 4664, 64, signed);
    for (path, model) in
        [("neg64.txt", (|x| x.wrapping_neg()) as fn(u64) -> u64), ("zero_equal.txt", |x| u64::from(x == 0))]
    {
        let Some(program) = shared(path) else { return };
        for x in words() {
            let result = run(&program, &[&json!(x)]);
            let expected =
                if path == "neg64.txt" { json!(format!("{:#018x}", model(x))) } else { json!(model(x)) };
            assert_eq!(result, expected, "{path}: {x}");
        }
    }
}

#[test]
fn arithmetic_in_old_bristol() {
    check_pairs("old-bristol/adder_32bit.txt", 127, 32, |x, y| Some(u128::from(x) + u128::from(y)));
    check_pairs("old-bristol/adder_64bit.txt", 265, 64, |x, y| Some(u128::from(x) + u128::from(y)));
    check_pairs("old-bristol/mult_32x32.txt", 5926, 32, |x, y| Some(u128::from(x) * u128::from(y)));
    check_pairs("old-bristol/comparator_32bit_unsigned_lt.txt", 150, 32, |x, y| Some(u128::from(x < y)));
    check_pairs("old-bristol/comparator_32bit_signed_lteq.txt", 150, 32, |x, y| {
        Some(u128::from(x as i32 <= y as i32))
    });
}

#[test]
fn aes_in_bristol_fashion() {
    let Some(program) = shared("aes_128.txt") else { return };
    assert_eq!(
        (program.name(), program.and_gates(), program.components()[0].name.as_str()),
        ("aes_128", 6400, "aes_128")
    );
    let (key, block) = ("0x000102030405060708090a0b0c0d0e0f", "0x00112233445566778899aabbccddeeff");
    assert_eq!(run(&program, &[&json!(key), &json!(block)]), "0x69c4e0d86a7b0430d8cdb78070b4c55a");
    for i in 0..20u8 {
        let (key, block) = (
            std::array::from_fn(|k| i.wrapping_mul(77) ^ k as u8),
            std::array::from_fn(|k| i.wrapping_mul(31) + 3 * k as u8),
        );
        assert_eq!(run(&program, &[&hex(&key), &hex(&block)]), hex(&models::aes128(key, block)));
    }
}

/// Reverses the bits of each byte: the older files keep the order of bytes, but put the most significant bit
/// first.
fn old_order(bytes: &[u8]) -> serde_json::Value {
    let bits: String = bytes.iter().map(|b| format!("{b:08b}")).collect();
    json!(format!("bits:{bits}"))
}

fn run_old(program: &Program, inputs: &[&[u8]], expected: &[u8]) {
    let inputs: Vec<_> = inputs.iter().map(|bytes| old_order(bytes)).collect();
    let result = run(program, &inputs.iter().collect::<Vec<_>>());
    let ports = program.output_ports(Party::Garbler);
    assert_eq!(value::encode(&ports, &result).unwrap(), value::encode(&ports, &old_order(expected)).unwrap());
}

#[test]
fn aes_in_old_bristol() {
    let Some(program) = shared("old-bristol/AES-non-expanded.txt") else { return };
    assert_eq!(program.and_gates(), 6800);
    for i in 0..20u8 {
        let key = std::array::from_fn(|k| i.wrapping_mul(91) ^ k as u8);
        let block = std::array::from_fn(|k| i.wrapping_mul(29).wrapping_add(5 * k as u8));
        run_old(&program, &[&block, &key], &models::aes128(key, block));
    }
}

#[test]
fn sha256_in_bristol_fashion() {
    let Some(program) = shared("sha256.txt") else { return };
    assert_eq!(program.and_gates(), 22573);
    let start = [
        0x6a09_e667,
        0xbb67_ae85,
        0x3c6e_f372,
        0xa54f_f53a,
        0x510e_527f,
        0x9b05_688c,
        0x1f83_d9ab,
        0x5be0_cd19,
    ];
    let bytes = |state: [u32; 8]| hex(&state.map(u32::to_be_bytes).concat());
    // The block is "abc" with its padding, the example of FIPS 180-4.
    let mut abc = [0; 64];
    abc[..4].copy_from_slice(b"abc\x80");
    abc[63] = 24;
    let digest = "0xba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    assert_eq!(bytes(models::sha256(start, abc)), digest);
    assert_eq!(run(&program, &[&hex(&abc), &bytes(start)]), digest);
    for i in 0..10u32 {
        let block = std::array::from_fn(|k| (i * 37 + k as u32 * 11) as u8);
        let state = start.map(|w| w.wrapping_mul(2 * i + 3));
        assert_eq!(run(&program, &[&hex(&block), &bytes(state)]), bytes(models::sha256(state, block)));
    }
}

#[test]
fn md5_in_old_bristol() {
    let Some(program) = shared("old-bristol/md5.txt") else { return };
    assert_eq!(program.and_gates(), 29084);
    let mut empty = [0; 64];
    empty[0] = 0x80;
    assert_eq!(hex(&models::md5(empty)), "0xd41d8cd98f00b204e9800998ecf8427e");
    for i in 0..10u32 {
        let block: [u8; 64] = std::array::from_fn(|k| (i * 37 + k as u32 * 11) as u8);
        let block = if i == 0 { empty } else { block };
        run_old(&program, &[&block], &models::md5(block));
    }
}

/// Returns a party's output bits, for a file that keeps no types.
fn learned(program: &Program, garbler: &[bool], evaluator: &[bool], order: &[Recipient]) -> Vec<bool> {
    let outputs = program.simulate(garbler, evaluator);
    let of = |to: &Recipient| {
        program
            .outputs()
            .iter()
            .zip(&outputs)
            .filter(|(o, _)| o.to == *to)
            .flat_map(|(_, b)| b.clone())
            .collect()
    };
    order.iter().flat_map(|to| -> Vec<bool> { of(to) }).collect()
}

proptest! {
    #[test]
    fn programs_survive_bristol_fashion(program in random::program(), seed: u64) {
        let text = bristol::write(&program).unwrap();
        prop_assert_eq!(formats::kind(text.as_bytes()), Some(FileKind::BristolFashion));
        let back = formats::load(text.as_bytes(), "back.txt").unwrap();
        // In one piece, constants and dead gates can appear that the components did not have, so there may be
        // fewer AND gates.
        prop_assert!(back.and_gates() <= program.and_gates());
        let (garbler, evaluator) = inputs(&program, seed);
        prop_assert_eq!(back.simulate(&garbler, &evaluator), program.simulate(&garbler, &evaluator));
    }

    #[test]
    fn programs_survive_duplo(program in random::program(), seed: u64) {
        let text = duplo::write(&program).unwrap();
        prop_assert_eq!(formats::kind(text.as_bytes()), Some(FileKind::Duplo));
        let back = formats::load(text.as_bytes(), "back.GC_duplo").unwrap();
        let (garbler, evaluator) = inputs(&program, seed);
        let outputs = back.simulate(&garbler, &evaluator);
        let g = learned(&program, &garbler, &evaluator, &[Recipient::Garbler, Recipient::Both]);
        let e = learned(&program, &garbler, &evaluator, &[Recipient::Both, Recipient::Evaluator]);
        prop_assert_eq!(back.output_bits(Party::Garbler, &outputs), g);
        prop_assert_eq!(back.output_bits(Party::Evaluator, &outputs), e);
        // A file that was read and written again stays the same.
        let again = formats::load(duplo::write(&back).unwrap().as_bytes(), "back.GC_duplo").unwrap();
        prop_assert_eq!(again.simulate(&garbler, &evaluator), outputs);
    }

    #[test]
    fn mutated_files_are_read_or_refused(
        program in random::program(),
        format in 0..3u8,
        edits in prop::collection::vec(
            (any::<prop::sample::Index>(), prop::sample::select(&b"0123456789 -\nFN{\x00\x80"[..]), 0..4u8),
            1..5,
        ),
    ) {
        let mut bytes = match format {
            0 => bristol::write(&program).unwrap(),
            1 => duplo::write(&program).unwrap(),
            _ => OLD.into(),
        }.into_bytes();
        for (at, value, how) in edits {
            if bytes.is_empty() {
                break;
            }
            let at = at.index(bytes.len());
            match how {
                0 => bytes[at] = value,
                1 => bytes.insert(at, value),
                2 => drop(bytes.remove(at)),
                _ => bytes.truncate(at.max(1)),
            }
        }
        if let Ok(program) = formats::load(&bytes, "mutated") {
            prop_assert_eq!(&Program::from_bytes(&program.to_bytes()).unwrap(), &program);
        }
    }

    #[test]
    fn noise_is_refused(
        bytes in prop::collection::vec(any::<u8>(), 0..100),
        numbers in prop::collection::vec(0u32..9, 0..40),
        breaks: u64,
    ) {
        prop_assert!(formats::load(&bytes, "noise").is_err());
        let end = |i: usize| if breaks >> i & 1 == 1 { '\n' } else { ' ' };
        let text: String = numbers.iter().enumerate().map(|(i, n)| format!("{n}{}", end(i))).collect();
        if let Ok(program) = formats::load(text.as_bytes(), "noise") {
            prop_assert_eq!(program.and_gates(), 0);
        }
    }
}

fn inputs(program: &Program, seed: u64) -> (Vec<bool>, Vec<bool>) {
    (
        random::bits(program.input_width(Party::Garbler), seed),
        random::bits(program.input_width(Party::Evaluator), !seed),
    )
}

/// A file with every gate of the old format on two bits.
const OLD: &str = "8 10\n1 1 6\n\n2 1 0 1 2 XOR\n2 1 0 1 3 AND\n2 1 0 1 4 OR\n2 1 0 1 5 NAND\n2 1 0 1 6 \
                   NOR\n2 1 0 1 7 XNOR\n2 1 0 1 8 NXOR\n1 1 0 9 INV\n";

#[test]
fn every_gate() {
    let program = formats::load(OLD.as_bytes(), "old.txt").unwrap();
    let fashion = "7 11\r\n2 1 2\r\n2 6 2\r\n \t\r\n 1 1 1 3 EQ \n1 1 0 4 EQ\n1 1 2 5 EQW\n4 2 0 1 3 2 6 7 \
                   MAND\n\n1 1 2 8 INV\n2 1 0 1 9 XOR\n1 1 9 10 EQW";
    let fashion = formats::load(fashion.as_bytes(), "gates.of.all.kinds.txt").unwrap();
    // One of the two products has a constant factor, so it needs no AND gate.
    assert_eq!((fashion.name(), fashion.and_gates()), ("gates", 1));
    for (a, b) in [(false, false), (false, true), (true, false), (true, true)] {
        let outputs = program.simulate(&[a], &[b]);
        assert_eq!(outputs[0], [a | b, !(a & b), !(a | b), a == b, a == b, !a]);
        for c in [false, true] {
            let outputs = fashion.simulate(&[a], &[b, c]);
            assert_eq!(outputs, [vec![true, false, c, a, b & c, !c], vec![a ^ b, a ^ b]]);
        }
    }
}

/// A Bristol Fashion file may have the gates of the old format, and their names in small letters. A byte
/// order mark, and comments before and between the lines, have no effect.
#[test]
fn files_as_others_write_them() {
    let fashion = "3 5\n2 1 1\n1 3\n\n2 1 0 1 2 or\n2 1 0 1 3 Nand\n1 1 2 4 inv\n";
    let plain = formats::load(fashion.as_bytes(), "f").unwrap();
    for (a, b) in [(false, false), (false, true), (true, false), (true, true)] {
        assert_eq!(plain.simulate(&[a], &[b])[0], [a | b, !(a & b), !(a | b)]);
    }
    let meet = formats::load(MEET.as_bytes(), "f").unwrap();
    let old = formats::load(OLD.as_bytes(), "f").unwrap();
    for (text, program) in [(fashion, &plain), (MEET, &meet), (OLD, &old)] {
        let commented = format!("# made by a tool, 5 gates\n#\n#1 2\n{text}# the end\n");
        for text in [format!("\u{feff}{text}"), format!("\u{feff}{commented}"), commented] {
            assert_eq!(formats::load(text.as_bytes(), "f").unwrap(), *program, "{text}");
            assert!(formats::load_component(text.as_bytes(), "f").is_ok());
        }
    }
    // Error messages count the comment lines, too.
    let wrong = format!("# one\n\n{}", fashion.replace("Nand", "NUND"));
    let message = formats::load(wrong.as_bytes(), "f").unwrap_err().to_string();
    assert!(message.contains("f, line 8: there is no gate \"NUND\""), "{message}");
}

/// Tests the sixteen truth tables of the DUPLO format.
#[test]
fn every_truth_table() {
    for table in 0..16u8 {
        let text = format!(
            "1 1\n1 1 1 1 1\n\nFN 1 2 1 3 0 1 \n0 1 2 {table:04b}\n--end FN 1 -- \n\nFN 2\n\nFN 1\n0 1 \n2 \
             \n\n"
        );
        let program = formats::load(text.as_bytes(), "table.GC_duplo").unwrap();
        for (l, r) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
            assert_eq!(
                program.simulate(&[l == 1], &[r == 1]),
                [[table >> (2 * l + r) & 1 == 1]],
                "{table:04b}"
            );
        }
        let costs = program.components()[0].circuit.gates().filter(|g| matches!(g, Gate::And(..))).count();
        assert_eq!(costs, usize::from(table.count_ones() % 2 == 1));
    }
}

/// A program that was written by hand, independently of the writer.
const MEET: &str = "1 1\n2 2 2 2 2\n\nFN 1 4 2 8 2 4 \n0 0 6 1001\n0 0 7 0110\n0 2 4 1000\n1 3 5 \
                    1000\n--end FN 1-- \n\nFN 2\n\nFN 1\n0 1 2 3 \n4 5 \n\n";

#[test]
fn duplo_as_duplo_writes_it() {
    let program = formats::load(MEET.as_bytes(), "meet.GC_duplo").unwrap();
    assert_eq!((program.name(), program.and_gates(), program.outputs().len()), ("meet", 2, 1));
    assert_eq!(program.simulate(&[true, true], &[true, false]), [[true, false]]);
    assert_eq!(duplo::write(&program).unwrap(), MEET);
    // The file drives a temporary wire twice, as files of the old compiler do.
    let twice = MEET.replace("8 2 4", "9 2 6").replace("0 2 4 1000", "0 0 8 1100\n2 0 8 1100\n0 8 4 1000");
    assert_eq!(
        formats::load(twice.as_bytes(), "meet").unwrap().simulate(&[true, true], &[false, true]),
        [[false, true]]
    );
}

#[test]
fn parties_of_bristol_inputs() {
    let text = "2 5\n3 1 1 1\n1 1\n\n2 1 0 1 3 AND\n2 1 3 2 4 XOR\n";
    let message = formats::load(text.as_bytes(), "three.txt").unwrap_err().to_string();
    assert!(message.contains("--map in2=garbler"), "{message}");
    let map = |entries: &[(&str, Party)]| {
        entries.iter().map(|(n, p)| (n.to_string(), *p)).collect::<formats::InputMap>()
    };
    let load = |entries: &[(&str, Party)]| formats::load_mapped(text.as_bytes(), "three.txt", &map(entries));
    let program = load(&[("in2", Party::Garbler)]).unwrap();
    assert_eq!(program.simulate(&[true, false], &[true]), [[true]]);
    assert_eq!(program.simulate(&[true, true], &[true]), [[false]]);
    let names = |party| program.input_ports(party).iter().map(|p| p.name.clone()).collect::<Vec<_>>();
    assert_eq!(
        (names(Party::Garbler), names(Party::Evaluator)),
        (vec!["in0".to_string(), "in2".into()], vec!["in1".to_string()])
    );
    let swapped =
        load(&[("in0", Party::Evaluator), ("in1", Party::Garbler), ("in2", Party::Garbler)]).unwrap();
    assert_eq!(swapped.simulate(&[true, false], &[true]), [[true]]);
    assert_eq!(swapped.simulate(&[false, true], &[true]), [[true]]);
    assert!(
        load(&[("in2", Party::Garbler), ("in7", Party::Garbler)])
            .unwrap_err()
            .to_string()
            .contains("no input in7")
    );
    let bwp = library::millionaires().unwrap().to_bytes();
    assert!(
        formats::load_mapped(&bwp, "m.bwp", &map(&[("in2", Party::Garbler)]))
            .unwrap_err()
            .to_string()
            .contains("--map is only for")
    );
}

#[test]
fn kinds_are_told_by_content() {
    let bwp = library::millionaires().unwrap().to_bytes();
    assert_eq!(formats::load(&bwp, "x").unwrap(), library::millionaires().unwrap());
    for (bytes, kind, message) in [
        (&b"#parties 2\nfunction void main() {}"[..], Some(FileKind::Wir), ".wir source"),
        (b"/* a program */\n#define W 3", Some(FileKind::Wir), ".wir source"),
        (b"#parties 2", Some(FileKind::Wir), ".wir source"),
        (b"\xef\xbb\xbf# a program\n#parties 2", Some(FileKind::Wir), ".wir source"),
        (b"\n {\"components\": []}", Some(FileKind::CompGc), "CompGC"),
        (b"\xdc\x10\x00\x01", Some(FileKind::Scd), "the SCD array is longer than its file"),
        (
            b"\x94\x01\x02\x03\x04",
            Some(FileKind::Scd),
            "neither such a circuit nor such a topological \
             circuit",
        ),
        (b"\xff\x00", None, "format of this file is unknown"),
        (b"", None, "format of this file is unknown"),
        (b"hello", None, "format of this file is unknown"),
        (b"Error! in function main", Some(FileKind::Duplo), "could not translate"),
    ] {
        assert_eq!(formats::kind(bytes), kind);
        let error = formats::load(bytes, "file").unwrap_err().to_string();
        assert!(error.contains(message), "{error:?} should say {message:?}");
    }
}

#[test]
fn messages_say_what_is_wrong_and_where() {
    const FASHION: &str = "2 5\n2 1 2\n1 2\n\n2 1 0 1 3 AND\n2 1 3 2 4 XOR\n";
    formats::load(FASHION.as_bytes(), "f").unwrap();
    for (from, to, expected) in [
        ("3 2 4 XOR", "4 2 4 XOR", "f, line 6: wire 4 is read before any gate drives it"),
        ("3 2 4 XOR", "5 2 4 XOR", "f, line 6: there is no wire 5"),
        ("3 2 4 XOR", "3 2 3 XOR", "f, line 6: wire 3 is driven twice"),
        ("3 2 4 XOR", "3 2 1 XOR", "f, line 6: wire 1 is driven twice"),
        ("3 2 4 XOR", "3 2 4 ORR", "no gate \"ORR\""),
        ("3 2 4 XOR", "3 2 4 5 XOR", "but 4 follow"),
        ("2 1 3 2 4 XOR", "1 1 2 4 EQ", "a constant must be 0 or 1"),
        ("2 1 3 2 4 XOR", "4294967295 1 3 2 4 MAND", "announces 4294967295"),
        ("2 1 3 2 4 XOR\n", "", "ends too early, before gate 2 of 2"),
        ("2 1 3 2 4 XOR\n", "2 1 3 2 4 XOR\n1\n", "should end before"),
        ("2 1 3 2 4 XOR", "1 1 2 +4 INV", "is not a decimal number"),
        ("2 5\n2 1 2", "2 4000000000\n2 1 2", "more wires than a file of this size"),
        ("2 1 2\n", "2 1 2 3\n", "announces 2 inputs, but 3 widths follow"),
        ("2 1 2\n", "2 1 5\n", "fewer than its inputs"),
        ("2 1 2\n", "2 1 4294967295\n", "fewer than its inputs"),
        ("2 5\n2 1 2\n", "2 6\n2 1 2\n", "no gate drives wire 5"),
        ("1 2\n\n", "1 0\n\n", "and one output"),
    ] {
        let text = FASHION.replace(from, to);
        assert_ne!(text, FASHION);
        let message = formats::load(text.as_bytes(), "f").unwrap_err().to_string();
        assert!(message.contains(expected), "{message:?} should say {expected:?}");
    }
    for (from, to, expected) in [
        ("0 2 4 1000", "0 2 8 1000", "drives wire 8, but the component"),
        ("0 2 4 1000", "0 5 4 1000", "reads wire 5 before"),
        ("0 2 4 1000", "0 2 4 100", "four digits"),
        ("0 2 4 1000", "0 2 4", "must be a gate"),
        ("0 2 4 1000\n", "", "must be a gate"),
        ("0 2 4 1000\n", "0 2 4 1000\n0 2 4 1000\n", "must end with --end FN 1-- after its 4 gates"),
        ("0 2 4 1000", "0 2 6 1000", "drives its output 0"),
        ("--end FN 1--", "--end FN 2--", "must end with --end"),
        ("FN 2\n", "FN 3\n", "beginning of main"),
        ("FN 1\n", "FN 4\n", "a component that the file does not have"),
        ("0 1 2 3 \n", "0 1 2 \n", "must have 4 wires"),
        ("0 1 2 3 \n", "0 1 2 6 \n", "reads wire 6 before any call"),
        ("\n4 5 \n", "\n4 3 \n", "an input and cannot be driven"),
        ("\n4 5 \n", "\n4 6 \n", "no call drives wire 5"),
        ("\n4 5 \n", "\n4 5 \n\nFN 1\n", "should end before"),
        ("2 2 2 2 2", "2 2 2 3 2", "cannot learn more"),
        ("2 2 2 2 2", "4000000000 2 2 2 2", "more wires"),
        ("FN 1 4 2 8", "FN 1 4 2 4000000000", "more wires"),
        ("FN 1 4 2 8", "FN 1 0 2 8", "needs an input"),
        ("1 1\n2", "2 1\n2", "six numbers"),
        ("1 1\n2", "4294967295 1\n2", "six numbers"),
        ("1 1\n2", "1 2\n2", "before call 2 of 2"),
    ] {
        let text = MEET.replacen(from, to, 1);
        assert_ne!(text, MEET);
        let message = formats::load(text.as_bytes(), "meet").unwrap_err().to_string();
        assert!(message.contains(expected), "{from:?}: {message:?} should say {expected:?}");
    }
}
