//! Tests the `.bwp` format.

use brickwork::ProtocolError as Error;
use brickwork::circuit::{Circuit, Component, Gate, Port, Program, ProgramBuilder, Recipient, Type, library};
use proptest::prelude::*;

use crate::random;

proptest! {
    #[test]
    fn programs_come_back(program in random::program()) {
        let bytes = program.to_bytes();
        let back = Program::from_bytes(&bytes).unwrap();
        prop_assert_eq!(&back, &program);
        prop_assert_eq!(back.digest(), program.digest());
        prop_assert_eq!(&bytes[bytes.len() - 32..], program.digest());
    }

    #[test]
    fn every_truncation_and_every_flipped_bit_is_refused(
        program in random::program(), at in any::<prop::sample::Index>(), bit in 0..8u8,
    ) {
        let mut bytes = program.to_bytes();
        let at = at.index(bytes.len());
        prop_assert!(matches!(Program::from_bytes(&bytes[..at]), Err(Error::Input(_))));
        bytes[at] ^= 1 << bit;
        prop_assert!(matches!(Program::from_bytes(&bytes), Err(Error::Input(_))));
    }

    /// The digest detects only accidents, because an attacker can recompute it. So the reader itself must
    /// refuse malformed bytes.
    #[test]
    fn mutations_with_a_matching_digest_give_well_formed_programs_or_errors(
        program in random::program(),
        edits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0..3u8), 1..6),
    ) {
        let mut bytes = program.to_bytes();
        bytes.truncate(bytes.len() - 32);
        for (at, value, how) in edits {
            let at = 8 + at.index(bytes.len() - 8);
            match how {
                0 => bytes[at] = value,
                1 => bytes.insert(at, value),
                _ => drop(bytes.remove(at)),
            }
            bytes.resize(bytes.len().max(16), 0);
        }
        let bytes = seal(bytes);
        match Program::from_bytes(&bytes) {
            Ok(program) => prop_assert_eq!(program.to_bytes(), bytes),
            Err(e) => prop_assert!(matches!(e, Error::Input(_))),
        }
    }

    #[test]
    fn noise_is_refused(mut bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        prop_assert!(Program::from_bytes(&bytes).is_err());
        bytes.splice(..0, *b"brickwp\x01");
        prop_assert!(Program::from_bytes(&bytes).is_err());
        // These bytes are almost certainly not a program, but the reader must not panic even if their digest
        // is right.
        let _ = Program::from_bytes(&seal(bytes));
    }
}

/// Appends the digest, as the description of the format demands.
fn seal(mut encoding: Vec<u8>) -> Vec<u8> {
    let digest = blake3::derive_key("brickwork program encoding 1", &encoding);
    encoding.extend_from_slice(&digest);
    encoding
}

fn refused(body: &[u8]) -> String {
    let mut bytes = b"brickwp\x01".to_vec();
    bytes.extend_from_slice(body);
    Program::from_bytes(&seal(bytes)).unwrap_err().to_string()
}

/// Returns a body: the name `p`, no garbler input, one evaluator bit `x`, and then `rest`.
fn body(rest: &[u8]) -> Vec<u8> {
    [&[1, b'p', 0, 1, 1, b'x', 0, 1], rest].concat()
}

/// A component `c` that inverts one bit `x` into one bit `y`.
const INVERTER: &[u8] = &[1, b'c', 1, 1, b'x', 0, 1, 1, 1, b'y', 0, 1, 1, 6, 1, 0];
const OUTPUT: &[u8] = &[1, 1, b'o', 0, 1, 2, 2, 0];

#[test]
fn the_reader_names_what_is_wrong() {
    let good = body(&[&[1], INVERTER, &[1, 0, 1, 0], OUTPUT].concat());
    let mut file = b"brickwp\x01".to_vec();
    file.extend_from_slice(&good);
    let program = Program::from_bytes(&seal(file)).unwrap();
    assert_eq!(program.simulate(&[], &[false]), [[true]]);

    for (rest, expected) in [
        // The slot reads its own output, or the output of a later slot.
        (
            &[&[1], INVERTER, &[1, 0, 0, 0], OUTPUT].concat()[..],
            "reads wire 1, which no input and no earlier slot drives",
        ),
        (&[&[1], INVERTER, &[1, 0, 2, 0], OUTPUT].concat(), "reads wire 2"),
        (&[&[1], INVERTER, &[1, 0, 3, 0], OUTPUT].concat(), "wires that do not exist"),
        (&[&[1], INVERTER, &[1, 0, 1, 1], OUTPUT].concat(), "is too long"),
        (&[&[1], INVERTER, &[1, 1, 1, 0], OUTPUT].concat(), "component 1, which does not exist"),
        (&[&[1], INVERTER, &[1, 0, 1, 0], &[1, 1, b'o', 0, 1, 2, 4, 0]].concat(), "reads wire 2"),
        (
            &[&[1], INVERTER, &[1, 0, 1, 0], &[1, 1, b'o', 0, 1, 4, 2, 0]].concat(),
            "not the number of a recipient",
        ),
        (&[&[1], INVERTER, &[1, 0, 1, 0], OUTPUT, &[0]].concat(), "1 bytes too many"),
        (&[&[1], INVERTER, &[1, 0, 1, 0], &[0]].concat(), "no output"),
        (&[&[0x81, 0], INVERTER, &[1, 0, 1, 0], OUTPUT].concat(), "that the compiler writes"),
        (&[&[2], INVERTER, INVERTER, &[1, 0, 1, 0], OUTPUT].concat(), "two components are called c"),
        (&[0xff, 0xff, 0xff, 0xff, 0x0f], "ends too early"),
        (&[0xff, 0xff, 0xff, 0xff, 0xff, 0x0f], "a number of more than 35 bits"),
        (&[], "ends too early"),
    ] {
        let message = refused(&body(rest));
        assert!(message.contains(expected), "{message:?} should say {expected:?}");
    }
    // A deeply nested type must not exhaust the stack, and a wide one must not exhaust the memory.
    let deep: Vec<u8> = [&[1, b'p', 0, 1, 1, b'x'][..], &[2, 1].repeat(100_000)].concat();
    assert!(refused(&deep).contains("levels deep"));
    let wide = [1, b'p', 0, 1, 1, b'x', 0, 0xff, 0xff, 0xff, 0xff, 0x07];
    assert!(refused(&wide).contains("more wires than a file of this size"));
    let hollow = [1, b'p', 0, 1, 1, b'x', 2, 0xff, 0xff, 0xff, 0xff, 0x07, 0, 0, 0, 0, 0];
    assert!(refused(&hollow).contains("integer of 0 bits"));
    assert!(
        Program::from_bytes(b"brickwp\x02________________________________")
            .unwrap_err()
            .to_string()
            .contains("version 2")
    );
}

/// A small file must not describe a huge number of wires.
#[test]
fn runs_do_not_blow_up() {
    // The program has one component of 2^20 inputs in a hundred slots; one run of wires solders each slot.
    let mut program = ProgramBuilder::new("wide", vec![], vec![Port::new("x", Type::Uint(1 << 20))]).unwrap();
    let circuit = Circuit::new(1 << 20, [Gate::Inv(0)], vec![1 << 20]).unwrap().into();
    let (inputs, outputs) = (vec![Port::new("x", Type::Uint(1 << 20))], vec![Port::new("y", Type::Uint(1))]);
    let wide = program.component(Component { name: "wide".into(), inputs, outputs, circuit }).unwrap();
    let all: Vec<u32> = (0..1 << 20).collect();
    let mut last = 0;
    for _ in 0..100 {
        last = program.slot(wide, &all).unwrap();
    }
    program.output(Port::new("y", Type::Uint(1)), Recipient::Both, vec![last]).unwrap();
    let bytes = program.finish().unwrap().to_bytes();
    assert!(bytes.len() < 2000);
    assert!(Program::from_bytes(&bytes).unwrap_err().to_string().contains("more wires"));
}

#[test]
fn a_million_slots_stay_small() {
    let program = library::millionaires().unwrap().repeat(1_000_000).unwrap();
    let start = std::time::Instant::now();
    let bytes = program.to_bytes();
    assert!(bytes.len() < 14_000_000, "{} bytes", bytes.len());
    assert_eq!(Program::from_bytes(&bytes).unwrap(), program);
    println!("a million slots: {} bytes, written and read in {:?}", bytes.len(), start.elapsed());
}

#[test]
fn the_examples_are_what_the_library_builds() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    for example in library::examples().unwrap() {
        let name = format!("{}.bwp", example.program.name());
        let hint = "run `cargo xtask examples` and commit the result";
        assert!(
            std::fs::read(folder.join(&name)).unwrap() == example.program.to_bytes(),
            "{name} differs; {hint}"
        );
        for (name, text) in example.input_files() {
            assert!(std::fs::read_to_string(folder.join(name)).unwrap() == text, "{name} differs; {hint}");
        }
    }
}
