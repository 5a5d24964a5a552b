//! Compares several copies on each kernel with the same copies, garbled and evaluated gate by gate.

use std::sync::Arc;

use brickwork_kernels::Kernel;
use zeroize::Zeroizing;

use super::*;
use crate::draws::TokenDraws;
use crate::plain::{evaluate_with, garble_with};

/// Garbles and evaluates copies on this kernel, and compares all results with those of module `plain`.
fn same_as_plain(kernel: Kernel, scheme: Scheme, circuit: &NormalCircuit, inputs: &[Vec<bool>]) {
    let mut rng = draws();
    let length = scheme.cipher().length();
    let keys: Vec<[Zeroizing<u128>; 2]> =
        inputs.iter().map(|_| [0; 2].map(|_| Zeroizing::new(rng.block()))).collect();
    let mut garbler = Garbler::with_kernel(kernel, scheme, circuit).unwrap();
    let mut garblings = garbler.garble(inputs.len());
    // Garbling again overwrites all earlier contents.
    garbler.with_keys(&mut garblings, &keys);
    for (GarbledResult { garbled, encoding, decoding, checking }, [key, secret]) in
        garblings.iter().zip(&keys)
    {
        let draws = TokenDraws::new(**secret, length, kernel);
        let (rows, tokens) = garble_with(scheme.method(), &scheme.cipher().keyed(**key), circuit, &draws);
        assert_eq!(garbled.rows, rows, "{kernel:?} {scheme:?}");
        assert_eq!(*encoding.0, tokens[..circuit.inputs() as usize], "{kernel:?} {scheme:?}");
        let of_outputs: Vec<_> = circuit.outputs().iter().map(|&wire| tokens[wire as usize]).collect();
        assert_eq!(*checking.0, of_outputs, "{kernel:?} {scheme:?}");
        let bits: Vec<u8> = of_outputs.iter().map(|pair| length.type_of(pair[0])).collect();
        assert_eq!(decoding.bits(), bits);
    }
    let garbled: Vec<&GarbledCircuit> = garblings.iter().map(|garbling| &garbling.garbled).collect();
    let encoded: Vec<_> = garblings.iter().zip(inputs).map(|(g, i)| g.encoding.encode(i).unwrap()).collect();
    let mut evaluator = Evaluator::with_kernel(kernel, garbled[0]).unwrap();
    let outputs = evaluator.evaluate(&garbled, &encoded.iter().map(|x| &x[..]).collect::<Vec<_>>()).unwrap();
    assert_eq!(outputs.len(), inputs.len());
    for (((garbled, encoded), outputs), (garbling, input)) in
        garbled.iter().zip(&encoded).zip(&outputs).zip(garblings.iter().zip(inputs))
    {
        let cipher = scheme.cipher().keyed(garbled.key());
        assert_eq!(*outputs, evaluate_with(garbled.shape(), &cipher, garbled.rows(), encoded));
        assert_eq!(garbling.decoding.decode(outputs).unwrap(), circuit.evaluate(input));
        assert_eq!(garbling.checking.decode(outputs).unwrap(), circuit.evaluate(input));
    }
}

/// Circuits in the paper's form, with gates of arbitrary functions.
fn any_gates() -> impl Strategy<Value = NormalCircuit> {
    (2..6u32, prop::collection::vec((any::<u32>(), any::<u32>(), 0..16u8), 1..120)).prop_map(
        |(inputs, gates)| {
            let gates: Vec<NormalGate> = (inputs..)
                .zip(gates)
                .map(|(wire, (a, b, table))| {
                    // The two inputs of a gate differ.
                    let (a, b) = (a % wire, b % (wire - 1));
                    let b = b + u32::from(b >= a);
                    NormalGate {
                        first: a.min(b),
                        second: a.max(b),
                        function: GateFunction::of_table(table).unwrap(),
                    }
                })
                .collect();
            let mut is_read = vec![false; inputs as usize + gates.len()];
            gates.iter().for_each(|gate| {
                is_read[gate.first as usize] = true;
                is_read[gate.second as usize] = true;
            });
            let wires = inputs..inputs + gates.len() as u32;
            let outputs = wires.filter(|&wire| !is_read[wire as usize]).collect();
            NormalCircuit::new(inputs, gates, outputs).unwrap()
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn copies_are_what_each_is_alone(
        circuit in any_gates(),
        inputs in prop::collection::vec(prop::collection::vec(any::<bool>(), 6), 1..10),
    ) {
        let inputs: Vec<Vec<bool>> =
            inputs.into_iter().map(|bits| bits[..circuit.inputs() as usize].to_vec()).collect();
        for kernel in Kernel::all_available() {
            for scheme in schemes() {
                same_as_plain(kernel, scheme, &circuit, &inputs);
            }
        }
    }
}

/// AES has long chains of dependent gates, and large groups of independent gates.
#[test]
fn aes_side_by_side_is_aes_alone() {
    let circuit = NormalCircuit::of(&circuits::aes::aes_128().unwrap().flatten().unwrap()).unwrap();
    let mut rng = draws();
    let inputs: Vec<Vec<bool>> =
        (0..5).map(|_| (0..circuit.inputs()).map(|_| rng.below(2) == 1).collect()).collect();
    for scheme in [
        Scheme::new(Method::Ga, Cipher::A4(Doubling::D3)).unwrap(),
        Scheme::new(Method::GaX, Cipher::A2(Doubling::D7)).unwrap(),
        Scheme::new(Method::GaXR, Cipher::A4(Doubling::D5)).unwrap(),
        Scheme::new(Method::HalfGates, Cipher::A2(Doubling::D1)).unwrap(),
        Scheme::new(Method::PrivacyFree, Cipher::A4(Doubling::D1)).unwrap(),
    ] {
        for kernel in Kernel::all_available() {
            same_as_plain(kernel, scheme, &circuit, &inputs);
        }
    }
}

/// An evaluator refuses garbled circuits of another shape or scheme, and wrong numbers of inputs.
#[test]
fn evaluators_take_what_they_are_for() {
    let circuit = |function| {
        let gates = vec![NormalGate { first: 0, second: 1, function }];
        NormalCircuit::new(2, gates, vec![2]).unwrap()
    };
    let scheme = Scheme::new(Method::GaX, Cipher::A2(Doubling::D1)).unwrap();
    let one = garble(scheme, &circuit(GateFunction::AND)).unwrap();
    let inputs = one.encoding.encode(&[true, true]).unwrap();
    let mut evaluator = Evaluator::new(&one.garbled).unwrap();
    // A garbling of another circuit with the same public part is accepted.
    let same = garble(scheme, &circuit(GateFunction::OR)).unwrap();
    assert!(evaluator.evaluate(&[&one.garbled, &same.garbled], &[&inputs, &inputs]).is_ok());
    let other = garble(scheme, &circuit(GateFunction::XOR)).unwrap();
    let cipher =
        garble(Scheme::new(Method::GaX, Cipher::A2(Doubling::D2)).unwrap(), &circuit(GateFunction::AND));
    for garbled in [&other.garbled, &cipher.unwrap().garbled] {
        assert!(evaluator.evaluate(&[&one.garbled, garbled], &[&inputs, &inputs]).is_err());
    }
    assert!(evaluator.evaluate(&[&one.garbled], &[&inputs, &inputs]).is_err());
    assert!(evaluator.evaluate(&[&one.garbled], &[&inputs[..1]]).is_err());
    assert!(evaluator.evaluate(&[], &[]).unwrap().is_empty());
}

/// A short file can claim a large number of inputs. If no gate reads them, the file is refused before memory
/// is allocated for them.
#[test]
fn inputs_that_nothing_reads_are_bounded() {
    let scheme = Scheme::new(Method::GaX, Cipher::A2(Doubling::D1)).unwrap();
    let of = |inputs| {
        let shape = PublicCircuit::new(Method::GaX, inputs, vec![(0, 1, PublicGate::Rows)], vec![2]).unwrap();
        GarbledCircuit::new(scheme, 1, Arc::new(shape), vec![0; 4]).unwrap()
    };
    for inputs in [u32::MAX - 1, 1 << 31, (1 << 20) + 4] {
        assert!(matches!(Evaluator::new(&of(inputs)), Err(Error::Input(_))), "{inputs}");
        assert!(matches!(of(inputs).evaluate(&[0; 2]), Err(Error::Input(_))), "{inputs}");
    }
    assert!(Evaluator::new(&of((1 << 20) + 3)).is_ok());
}
