//! Tests the meaning of SCD files, and each way in which a file is invalid.

use brickwork::circuit::formats::scd::{self, Scd};
use brickwork::circuit::formats::{self, InputMap};
use brickwork::circuit::{Party, library};
use proptest::prelude::*;

use crate::random;

fn map(entries: &[(&str, Party)]) -> InputMap {
    entries.iter().map(|(name, party)| (name.to_string(), *party)).collect()
}

fn refused(bytes: &[u8], entries: &[(&str, Party)]) -> String {
    formats::load_mapped(bytes, "c.scd", &map(entries)).unwrap_err().to_string()
}

/// Each function of two wires, and of one wire that is read twice, computes its truth table with at most one
/// AND.
#[test]
fn every_function_is_its_table() {
    for table in 0..16u8 {
        let scd = Scd::new(2, vec![[0, 1], [1, 1], [1, 0]], Some(vec![table; 3]), vec![2, 3, 4, 0]).unwrap();
        let circuit = Scd::read(&scd.write()).unwrap().circuit().unwrap();
        for (a, b) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
            let value = |a: u8, b: u8| table >> (2 * a + b) & 1 == 1;
            let expected = [value(a, b), value(b, b), value(b, a), a == 1];
            assert_eq!(circuit.evaluate(&[a == 1, b == 1]), expected, "{table} of {a} and {b}");
        }
        let ands = if table.count_ones() % 2 == 1 { 3 } else { 0 };
        assert_eq!(circuit.and_gates(), ands, "{table}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// A circuit that is written and read again computes the same with the same AND gates.
    #[test]
    fn circuits_come_back(
        circuit in random::circuit(5, 4, 300), bits in prop::array::uniform5(any::<bool>()),
    ) {
        let bytes = Scd::from(&circuit).write();
        let read = Scd::read(&bytes).unwrap();
        prop_assert_eq!(&read, &Scd::from(&circuit));
        let again = read.circuit().unwrap();
        prop_assert_eq!(again.evaluate(&bits), circuit.evaluate(&bits));
        prop_assert_eq!(again.and_gates(), circuit.and_gates());
        let topology = Scd::read(&read.topology().write()).unwrap();
        // A circuit without gates has the same file with and without its functions.
        prop_assert_eq!(topology.functions().is_none(), circuit.gate_count() > 0);
        prop_assert_eq!((topology.gates(), topology.outputs()), (read.gates(), read.outputs()));
    }

    /// Any bytes give an error or a circuit, and never a panic.
    #[test]
    fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        for bytes in [bytes.clone(), [&[0xdc, 0, 40][..], &bytes].concat(), [&[0x97][..], &bytes].concat()] {
            judge(&bytes);
        }
    }
}

/// Reads bytes; checks that a circuit is the same after writing and reading, and that its program runs.
/// Returns whether the bytes were a valid file.
fn judge(bytes: &[u8]) -> bool {
    let read = Scd::read(bytes);
    if let Ok(scd) = &read {
        assert_eq!(&Scd::read(&scd.write()).unwrap(), scd);
    }
    match formats::load(bytes, "c.scd") {
        Ok(program) => {
            let bits = vec![true; program.input_width(Party::Garbler)];
            assert!(read.is_ok() && !program.simulate(&bits, &[]).is_empty());
            true
        }
        Err(error) => {
            assert!(matches!(error, brickwork::ProtocolError::Input(_)), "{error}");
            false
        }
    }
}

/// A file with a changed bit or byte gives an error or another valid circuit. A file that is cut or longer
/// gives an error.
#[test]
fn damaged_files_do_no_harm() {
    let program = library::millionaires().unwrap();
    let bytes = scd::write(&program).unwrap();
    assert!(judge(&bytes));
    let mut refused = 0;
    for at in 0..bytes.len() {
        for byte in (0..8).map(|bit| bytes[at] ^ 1 << bit).chain([0, 0x7f, 0xcc, 0xce, 0xcf, 0xd3, 0xff]) {
            let mut other = bytes.clone();
            other[at] = byte;
            refused += usize::from(!judge(&other));
        }
        assert!(Scd::read(&bytes[..at]).is_err(), "{at}");
    }
    assert!(Scd::read(&[&bytes[..], &[0]].concat()).is_err());
    assert!(refused > 5 * bytes.len(), "{refused} of {} bytes", bytes.len());
}

/// Compares files with bytes that were written by hand, and tests each way in which a file is invalid.
#[test]
fn files_are_what_the_paper_s_program_writes() {
    let and = Scd::new(2, vec![[0, 1]], Some(vec![8]), vec![2]).unwrap();
    let bytes = [0x97, 2, 1, 1, 0, 1, 8, 3];
    assert_eq!(and.write(), bytes);
    assert_eq!(Scd::read(&bytes).unwrap(), and);
    assert_eq!(and.topology().write(), [0x96, 2, 1, 1, 0, 1, 3]);
    // The negation of the circuit reads one wire twice. The same numbers can also be encoded in more bytes.
    let negated = [0x97, 2, 1, 0xcc, 1, 0xd0, 1, 1, 5, 0xcd, 0, 3];
    let negated = Scd::read(&negated).unwrap().circuit().unwrap();
    assert_eq!(negated.evaluate(&[true, true]), [false]);
    assert_eq!(negated.evaluate(&[true, false]), [true]);
    for (bytes, why) in [
        (&[][..], "ends too early"),
        (&[0x81, 1], "must be an array in MessagePack"),
        (&[0x97, 2, 1, 1, 0, 1, 8], "longer than its file"),
        (&[0xdd, 0xff, 0xff, 0xff, 0xff, 2], "longer than its file"),
        (&[0x98, 2, 1, 1, 0, 1, 8, 3, 0], "neither such a circuit"),
        (&[0x97, 2, 1, 1, 0, 1, 8, 3, 0], "continues after its array"),
        (&[0x97, 2, 1, 1, 0, 2, 8, 3], "leaves out"),
        (&[0x97, 2, 1, 1, 0, 3, 8, 3], "no earlier gate drives"),
        (&[0x97, 2, 1, 1, 0, 1, 16, 3], "four bits"),
        (&[0x98, 2, 1, 1, 0, 1, 0xcd, 1, 8, 3], "neither such a circuit"),
        (&[0x97, 2, 1, 1, 0, 1, 0xcd, 1, 8, 3], "four bits"),
        (&[0x97, 2, 1, 1, 0, 1, 8, 4], "a wire that does not exist"),
        (&[0x97, 2, 1, 1, 0, 1, 0xff, 3], "must be a number"),
        (&[0x97, 2, 1, 1, 0, 1, 0xd0, 0xff, 3], "negative"),
        (&[0x97, 2, 1, 1, 0, 1, 0xcf, 1, 0, 0, 0, 0, 0, 0, 0, 3], "too large"),
        (&[0x97, 2, 1, 1, 0, 1, 0xce, 0, 0], "ends too early"),
        (&[0x96, 2, 1, 1, 0, 1, 4], "a wire that does not exist"),
        (&[0x94, 0xce, 0xff, 0, 0, 0, 1, 0, 0], "more than an SCD file of this size"),
    ] {
        let error = Scd::read(bytes).unwrap_err().to_string();
        assert!(error.contains(why), "{bytes:?}: {error}");
    }
    assert!(Scd::new(2, vec![[0, 1]], Some(vec![]), vec![2]).is_err());
}

/// The error for a topological circuit explains why it is not a program.
#[test]
fn topological_circuits_are_no_programs() {
    let why = refused(&[0x96, 2, 1, 1, 0, 1, 3], &[]);
    assert!(why.starts_with("c.scd: ") && why.contains("which has no functions of gates"), "{why}");
}

/// Ranges that cover all inputs assign them to the parties.
#[test]
fn inputs_are_mapped() {
    let bytes = scd::write(&library::millionaires().unwrap()).unwrap();
    let alone = formats::load(&bytes, "c.scd").unwrap();
    let width = alone.input_width(Party::Garbler);
    assert_eq!((alone.name(), alone.input_width(Party::Evaluator)), ("c", 0));
    assert_eq!(
        formats::load_mapped(&bytes, "c.scd", &map(&[("in0", Party::Evaluator)]))
            .unwrap()
            .input_width(Party::Evaluator),
        width
    );
    let half = width / 2;
    let (low, high) = (format!("in0-{}", half - 1), format!("in{half}-{}", width - 1));
    let whole = library::millionaires().unwrap();
    for owners in [[Party::Garbler, Party::Evaluator], [Party::Evaluator, Party::Garbler]] {
        let both = map(&[(&low, owners[0]), (&high, owners[1])]);
        let program = formats::load_mapped(&bytes, "c.scd", &both).unwrap();
        for (a, b) in [(7u32, 3), (3, 7), (5, 5)] {
            let bits = |x: u32| (0..half).map(|i| i < 32 && x >> i & 1 == 1).collect::<Vec<bool>>();
            let expected = whole.simulate(&bits(a), &bits(b)).concat();
            let given = match owners[0] {
                Party::Garbler => program.simulate(&bits(a), &bits(b)),
                Party::Evaluator => program.simulate(&bits(b), &bits(a)),
            };
            assert_eq!(given.concat(), expected);
        }
    }
    let garbler = Party::Garbler;
    for (entries, why) in [
        (&[(&*low, garbler)][..], "no range of --map covers input"),
        (&[(&*high, garbler)], "does not follow 0"),
        (&[(&*low, garbler), ("in0-0", garbler)], "does not follow"),
        (&[("in3-1", garbler)], "does not follow"),
        (&[("in0-4294967295", garbler)], "does not follow"),
        (&[("in0-99999999999", garbler)], "not a range"),
        (&[("in0-+1", garbler)], "not a range"),
        (&[("in1", garbler)], "not a range"),
        (&[("all", garbler)], "not a range"),
    ] {
        let error = refused(&bytes, entries);
        assert!(error.contains(why), "{entries:?}: {error}");
    }
}
