//! The files of a garbling (JustGarble) and the two formats of circuits of that family: any bytes are either
//! read or refused; a file that is read is written the same again, and can be used.
//!
//! Used by the fuzz target and, with the seeds, by the tests.
#![allow(dead_code)]

use std::sync::Arc;

use brickwork::circuit::formats::{compgc, scd::Scd};
use brickwork::circuit::{Circuit, Component, Gate, Party, Port, Type};
use brickwork::justgarble::files::{
    read_checking, read_decoding, read_encoding, read_garbled, read_inputs, read_outputs, write_checking,
    write_decoding, write_encoding, write_garbled, write_inputs, write_outputs,
};
use brickwork::justgarble::{Evaluator, GarbledResult, NormalCircuit, Scheme, garble};
use brickwork_base::Error;
use brickwork_base::digest::Digest;

/// Larger circuits are not evaluated, because fuzzing needs many runs.
const EVALUATED: u32 = 1 << 12;

/// Reads a file, whose type is selected by the first byte: 0 to 5 stand for the files F, e, d, c, X, Y. Their
/// header and digest are computed here, because no fuzzer would guess the digest. 6 stands for a circuit in
/// SCD, which is garbled by the scheme of the upper bits. Other values stand for a function of CompGC.
/// Returns whether the file was accepted.
pub fn garbling(data: &[u8]) -> bool {
    let Some((&kind, body)) = data.split_first() else { return false };
    match kind & 7 {
        6 => circuit(body, usize::from(kind >> 3)),
        7 => function(body),
        kind => part(kind, body),
    }
    .is_ok()
}

/// Returns a well-formed file with this body, as an attacker would write it. Kinds are counted from 0.
fn file(kind: u8, body: &[u8]) -> Vec<u8> {
    let mut file = [b"brickwg", &[kind + 1, 2][..], body].concat();
    let digest = Digest::of("brickwork garbling file 2").bytes(&file).done();
    file.extend(digest);
    file
}

fn part(kind: u8, body: &[u8]) -> Result<(), Error> {
    let file = file(kind, body);
    let again = match kind {
        0 => {
            let garbled = read_garbled(&file)?;
            if garbled.shape().inputs() <= EVALUATED {
                let token = u128::MAX << (128 - 8 * garbled.scheme().cipher().length().bytes());
                let inputs = vec![token; garbled.shape().inputs() as usize];
                let alone = garbled.evaluate(&inputs)?;
                let mut evaluator = Evaluator::new(&garbled)?;
                let together = evaluator.evaluate(&[&garbled; 3], &[&inputs[..]; 3])?;
                assert!(together.iter().all(|outputs| *outputs == alone), "kernels give what is given alone");
            }
            write_garbled(&garbled)
        }
        1 => {
            let (mark, program, encoding) = read_encoding(&file)?;
            write_encoding(&mark, &program, &encoding).to_vec()
        }
        2 => {
            let (mark, program, decoding) = read_decoding(&file)?;
            let bits = decoding.decode(&vec![0; decoding.bits().len()])?;
            assert!(bits.iter().map(|&bit| u8::from(bit)).eq(decoding.bits().iter().copied()));
            write_decoding(&mark, &program, &decoding)
        }
        3 => {
            let (mark, program, checking) = read_checking(&file)?;
            write_checking(&mark, &program, &checking).to_vec()
        }
        4 => {
            let (mark, tokens) = read_inputs(&file)?;
            write_inputs(&mark, &tokens).to_vec()
        }
        _ => {
            let (mark, tokens) = read_outputs(&file)?;
            write_outputs(&mark, &tokens).to_vec()
        }
    };
    assert_eq!(again, file);
    Ok(())
}

/// Schemes with each cipher that fits them, and some combinations that do not fit.
const SCHEMES: [&str; 11] = [
    "half-gates-a2",
    "half-gates-a4",
    "ga-a1",
    "ga-a3",
    "gax-a2",
    "gax-a4",
    "gaxr-a2",
    "gaxr-a4",
    "privacy-free-a2",
    "ga-aes-256",
    "ga-sha-1",
];

/// Reading a circuit gives the circuit that was written, in topological order or not. If the circuit has
/// functions, the circuit for protocols computes the same as the circuit for garbling and its garbling.
fn circuit(file: &[u8], scheme: usize) -> Result<(), Error> {
    let scd = Scd::read(file)?;
    let again = Scd::read(&scd.write()).expect("what was written is read");
    assert!(again == scd && again.topology().functions().is_none());
    if scd.inputs() <= EVALUATED && scd.gates().len() <= EVALUATED as usize {
        let (plain, garbled) = (scd.circuit(), NormalCircuit::of_scd(&scd));
        assert_eq!(plain.is_err(), scd.functions().is_none());
        if let (Ok(plain), Ok(garbled)) = (plain, garbled) {
            let input: Vec<bool> = (0..scd.inputs()).map(|wire| wire % 3 == 0).collect();
            let outputs = plain.evaluate(&input);
            assert_eq!(outputs, garbled.evaluate(&input));
            let scheme = Scheme::named(SCHEMES[scheme % SCHEMES.len()]).expect("a scheme");
            let GarbledResult { garbled, encoding, decoding, checking } =
                garble(scheme, &garbled).expect("randomness");
            let file = write_garbled(&garbled);
            assert_eq!(write_garbled(&read_garbled(&file).expect("what was written is read")), file);
            let tokens = encoding.encode(&input).and_then(|x| garbled.evaluate(&x)).expect("tokens");
            assert_eq!(decoding.decode(&tokens).expect("tokens"), outputs);
            assert_eq!(checking.decode(&tokens).expect("tokens of its outputs"), outputs);
        }
    }
    Ok(())
}

/// The components that functions can use here. Both take two words of two bits. One gives a sum of one bit
/// and a product of one bit, the other gives them in the opposite order.
fn component(name: &str) -> Result<Component, Error> {
    let outputs = match name {
        "a" => vec![4, 5],
        "b" => vec![5, 4],
        _ => return Err(Error::Input(format!("there is no component {name}"))),
    };
    let word = |name| Port::new(name, Type::Uint(2));
    let circuit = Circuit::new(4, vec![Gate::Xor(0, 2), Gate::And(1, 3)], outputs)?;
    Ok(Component {
        name: name.into(),
        inputs: vec![word("x"), word("y")],
        outputs: vec![word("z")],
        circuit: Arc::new(circuit),
    })
}

/// A circuit that is read, written, and read again is the same, and its program computes the same.
fn function(file: &[u8]) -> Result<(), Error> {
    let program = compgc::read(file, component)?;
    let written = compgc::write(&program).expect("what was read is written");
    let again = compgc::read(&written, component).expect("what was written is read");
    assert_eq!(compgc::write(&again).expect("once more"), written);
    let [garbler, evaluator] = [Party::Garbler, Party::Evaluator]
        .map(|party| (0..program.input_width(party)).map(|i| i % 3 != 1).collect::<Vec<bool>>());
    assert_eq!(
        again.simulate(&garbler, &evaluator).concat(),
        program.simulate(&garbler, &evaluator).concat()
    );
    Ok(())
}
