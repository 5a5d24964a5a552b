//! Compares each scheme with a plain computation, and with a second implementation of the same scheme. Runs
//! the attacks of figures 4 and 5, which show why other ciphers are not offered.

mod attacks;
mod files;
mod library;
mod lockstep;
mod naive;

use brickwork_base::Error;
use brickwork_base::random::{Rng, Seed};
use brickwork_circuit::library as circuits;
use proptest::prelude::*;

use crate::*;

/// Returns a random generator for a test. A replayed test gets the same numbers.
fn draws() -> Rng {
    Rng::expand(&Seed::from_bytes(brickwork_testing::seed()), "test")
}

fn schemes() -> Vec<Scheme> {
    let doubled = Doubling::ALL.into_iter().flat_map(|d| [Cipher::A2(d), Cipher::A4(d)]);
    let ciphers: Vec<Cipher> =
        [Cipher::A1, Cipher::A3, Cipher::Aes256, Cipher::Sha1].into_iter().chain(doubled).collect();
    let methods = [Method::Ga, Method::GaX, Method::GaXR, Method::HalfGates, Method::PrivacyFree];
    methods
        .iter()
        .flat_map(|&method| ciphers.iter().filter_map(move |&c| Scheme::new(method, c).ok()))
        .collect()
}

/// Circuits with arbitrary gates: negations, constants, wires that are read twice, and outputs that are also
/// inputs or read by gates.
fn circuits() -> impl Strategy<Value = (u32, Vec<(u32, u32, GateFunction)>, Vec<u32>)> {
    (2..6u32, prop::collection::vec((any::<u32>(), any::<u32>(), 0..16u8), 0..40)).prop_flat_map(
        |(inputs, gates)| {
            let wires = inputs + gates.len() as u32;
            let gates: Vec<_> = (inputs..)
                .zip(gates)
                .map(|(wire, (a, b, table))| (a % wire, b % wire, GateFunction::of_table(table).unwrap()))
                .collect();
            (Just(inputs), Just(gates), prop::collection::vec(0..wires, 1..6))
        },
    )
}

fn plain(gates: &[(u32, u32, GateFunction)], outputs: &[u32], input: &[bool]) -> Vec<bool> {
    let mut bits: Vec<u8> = input.iter().map(|&bit| bit.into()).collect();
    for &(a, b, function) in gates {
        bits.push(function.apply(bits[a as usize], bits[b as usize]));
    }
    outputs.iter().map(|&wire| bits[wire as usize] == 1).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Any circuit has the same outputs in the paper's form, and also when it is garbled with any scheme.
    #[test]
    fn every_scheme_gives_what_the_circuit_gives(
        (inputs, gates, outputs) in circuits(),
        bits in prop::collection::vec(any::<bool>(), 6),
    ) {
        let input = &bits[..inputs as usize];
        let expected = plain(&gates, &outputs, input);
        let circuit = NormalCircuit::normalised(inputs, gates, &outputs).unwrap();
        prop_assert_eq!(&circuit.evaluate(input), &expected);
        let scd = circuit.to_scd().unwrap();
        prop_assert_eq!(&Scd::read(&scd.write()).unwrap(), &scd);
        prop_assert_eq!(NormalCircuit::of_scd(&scd).unwrap(), circuit.clone());
        let topology = scd.topology();
        prop_assert_eq!(&Scd::read(&topology.write()).unwrap(), &topology);
        prop_assert!(NormalCircuit::of_scd(&topology).is_err());
        for scheme in schemes() {
            let GarbledResult { garbled, encoding, decoding, checking } = garble(scheme, &circuit).unwrap();
            let tokens = garbled.evaluate(&encoding.encode(input).unwrap()).unwrap();
            prop_assert_eq!(&decoding.decode(&tokens).unwrap(), &expected);
            prop_assert_eq!(&checking.decode(&tokens).unwrap(), &expected);
            let (each, has_rows): (usize, fn(u8) -> bool) = match scheme.method() {
                Method::Ga => (4, |_| true),
                Method::GaX => (4, |table| table != 6),
                Method::GaXR => (3, |table| table != 6),
                Method::HalfGates => (2, |table| table.count_ones() % 2 == 1),
                Method::PrivacyFree => (1, |table| table.count_ones() % 2 == 1),
            };
            let rows = each * circuit.gates().iter().filter(|gate| has_rows(gate.function.table())).count();
            prop_assert_eq!(garbled.rows().len(), rows);
            let mask = scheme.cipher().length().mask();
            prop_assert!(garbled.rows().iter().chain(&*tokens).all(|block| block & !mask == 0));
        }
    }
}

#[test]
fn insecure_pairs_are_refused() {
    for method in [Method::GaX, Method::GaXR] {
        for cipher in [Cipher::A1, Cipher::A3] {
            let Err(Error::Usage(why)) = Scheme::new(method, cipher) else { panic!("{method:?} {cipher:?}") };
            assert!(why.contains("A2 or A4"), "{why}");
        }
    }
    for method in [Method::HalfGates, Method::PrivacyFree] {
        for cipher in [Cipher::A1, Cipher::A3] {
            assert!(Scheme::new(method, cipher).is_err(), "{method:?} {cipher:?}");
        }
        for doubling in &Doubling::ALL[1..] {
            let Err(Error::Usage(why)) = Scheme::new(method, Cipher::A2(*doubling)) else {
                panic!("refused")
            };
            assert!(why.contains("D1"), "{why}");
        }
    }
    assert_eq!(schemes().len(), 4 + 3 * 14 + 2 * 2 + 2 * 4);
}

/// Without privacy, the last bits of tokens are the wires' bits. With privacy, they are random.
#[test]
fn privacy_is_what_a_method_says() {
    let gates = vec![(0, 1, GateFunction::AND), (2, 3, GateFunction::OR)];
    let circuit = NormalCircuit::normalised(4, gates, &[4, 5]).unwrap();
    let input = [true, false, true, true];
    for scheme in schemes().into_iter().filter(|scheme| scheme.cipher().length() == Length::Long) {
        let shown = |tokens: &[u128]| tokens.iter().map(|token| token & 1 == 1).collect::<Vec<_>>();
        let said = (0..40).filter(|_| {
            let GarbledResult { garbled, encoding, decoding, .. } = garble(scheme, &circuit).unwrap();
            let inputs = encoding.encode(&input).unwrap();
            let outputs = garbled.evaluate(&inputs).unwrap();
            let is_known = shown(&inputs) == input && shown(&outputs) == [false, true];
            assert!(scheme.method().is_private() || is_known && decoding.bits() == [0, 0], "{scheme:?}");
            is_known
        });
        let said = said.count();
        // In a private scheme, all six last bits equal the wires' bits only by chance, with probability 1/64
        // in each of the forty garblings.
        assert!(said < 15 || !scheme.method().is_private(), "{scheme:?}: {said}");
        assert_eq!(scheme.method().is_private(), scheme.method() != Method::PrivacyFree);
    }
}

#[test]
fn schemes_have_names() {
    for scheme in schemes() {
        assert_eq!(Scheme::named(&scheme.to_string()).unwrap(), scheme);
    }
    let named = |name| Scheme::named(name).map(|scheme| scheme.to_string());
    for (short, whole) in [
        ("gax-a2", "gax-a2-d7"),
        ("ga-a4", "ga-a4-d3"),
        ("half-gates-a2", "half-gates-a2-d1"),
        ("privacy-free-a4", "privacy-free-a4-d1"),
    ] {
        assert_eq!(named(short).unwrap(), whole);
    }
    for name in [
        "",
        "ga",
        "ga-",
        "gaxr-a2-d8",
        "gaxr-a2-",
        "gaxr-a2d7",
        "ga-a1-d1",
        "gar-a2",
        "half-gates",
        "ga-a2-d1-d1",
    ] {
        let Err(Error::Usage(why)) = Scheme::named(name) else { panic!("{name}") };
        assert!(why.contains("there is no scheme"), "{why}");
    }
    assert!(named("gax-a1").unwrap_err().to_string().contains("cancels out"));
}

/// The public part of a gate reveals no more than its method allows.
#[test]
fn what_is_told_of_a_gate_is_what_the_method_shows() {
    let both = PublicGate::Sum { first: true, second: true };
    for function in (0..16).filter_map(GateFunction::of_table) {
        assert_eq!(Method::Ga.opening(function), PublicGate::Rows);
        assert_eq!(Method::PrivacyFree.opening(function), PublicGate::Known(function));
        for method in [Method::GaX, Method::GaXR] {
            let expected = if function == GateFunction::XOR { both } else { PublicGate::Rows };
            assert_eq!(method.opening(function), expected);
        }
        // For a linear function, the public part shows which inputs it depends on, but no negation.
        let negated = GateFunction::of_table(15 - function.table()).unwrap();
        assert_eq!(Method::HalfGates.opening(function), Method::HalfGates.opening(negated));
        let is_rows = Method::HalfGates.opening(function) == PublicGate::Rows;
        assert_eq!(is_rows, function.table().count_ones() % 2 == 1);
    }
}

/// Only the garbler can detect an output token that no evaluation gives. The evaluator has no data to check
/// outputs (*aut* does not follow from *prv*).
#[test]
fn made_up_outputs_are_seen() {
    let gates = vec![(0, 1, GateFunction::AND), (2, 3, GateFunction::OR)];
    let circuit = NormalCircuit::normalised(4, gates, &[4, 5]).unwrap();
    for scheme in schemes() {
        let GarbledResult { garbled, encoding, decoding, checking } = garble(scheme, &circuit).unwrap();
        let tokens = garbled.evaluate(&encoding.encode(&[true; 4]).unwrap()).unwrap();
        let length = scheme.cipher().length();
        for bit in [length.last(), 2 * length.last(), 1 << 127] {
            let mut made_up = tokens.clone();
            made_up[1] ^= bit;
            assert!(checking.decode(&made_up).is_err(), "{scheme:?}");
            assert_eq!(decoding.decode(&made_up).unwrap(), [true, bit != length.last()]);
        }
        assert!(checking.decode(&tokens[..1]).is_err() && decoding.decode(&tokens[..1]).is_err());
        assert!(encoding.encode(&[true; 3]).is_err() && garbled.evaluate(&tokens).is_err());
    }
}

#[test]
fn damaged_garbled_circuits_are_refused() {
    let gates = vec![(0, 1, GateFunction::AND), (1, 2, GateFunction::XOR)];
    let circuit = NormalCircuit::normalised(3, gates, &[3, 4]).unwrap();
    let scheme = Scheme::new(Method::GaXR, Cipher::A4(Doubling::D1)).unwrap();
    let garbled = garble(scheme, &circuit).unwrap().garbled;
    let (shape, rows) = (garbled.shape().clone(), garbled.rows().to_vec());
    let of = |shape, rows| GarbledCircuit::new(scheme, garbled.key(), shape, rows);
    assert_eq!(of(shape.clone(), rows.clone()).unwrap(), garbled);
    let other = PublicCircuit::of(Method::GaX, &circuit);
    for (shape, rows, why) in [
        (shape.clone(), rows[..2].to_vec(), "the number of rows"),
        (shape.clone(), [&rows[..], &[0]].concat(), "the number of rows"),
        (shape, vec![1, 0, 0], "longer than a token"),
        (other.into(), vec![0; 4], "another method"),
    ] {
        let error = of(shape, rows).unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    }
    let sum = PublicGate::Sum { first: true, second: true };
    for (gates, outputs, why) in [
        (vec![(0, 3, PublicGate::Rows)], vec![3], "no earlier gate drives"),
        (vec![(0, u32::MAX, PublicGate::Rows)], vec![3], "no earlier gate drives"),
        (vec![(1, 1, sum)], vec![3], "no earlier gate drives"),
        (vec![(2, 1, sum)], vec![3], "no earlier gate drives"),
        (vec![(0, 1, PublicGate::Known(GateFunction::AND))], vec![3], "type that the scheme does not have"),
        (
            vec![(0, 1, PublicGate::Sum { first: true, second: false })],
            vec![3],
            "type that the scheme does not have",
        ),
        (vec![(0, 1, sum)], vec![4], "a wire that does not exist"),
    ] {
        let error = PublicCircuit::new(Method::GaXR, 3, gates, outputs).unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    }
    assert!(
        PublicCircuit::new(Method::GaXR, u32::MAX, vec![(0, 1, sum)], vec![0]).is_err(),
        "too many wires"
    );
}

#[test]
fn circuits_keep_the_paper_s_conditions() {
    let gate = |first, second| NormalGate { first, second, function: GateFunction::AND };
    assert!(NormalCircuit::new(2, vec![gate(0, 1)], vec![2]).is_ok());
    for (inputs, gates, outputs) in [
        (1, vec![gate(0, 1)], vec![1]),
        (2, vec![gate(0, 1)], vec![]),
        (2, vec![gate(1, 0)], vec![2]),
        (2, vec![gate(0, 0)], vec![2]),
        (2, vec![gate(0, 2)], vec![2]),
        (2, vec![gate(0, 1)], vec![0]),
        (2, vec![gate(0, 1)], vec![2, 2]),
        (2, vec![gate(0, 1), gate(1, 2)], vec![2]),
        (2, vec![gate(0, 1)], vec![3]),
    ] {
        assert!(
            NormalCircuit::new(inputs, gates.clone(), outputs.clone()).is_err(),
            "{inputs} {gates:?} {outputs:?}"
        );
    }
    assert!(NormalCircuit::normalised(2, [(0, 2, GateFunction::AND)], &[2]).is_err());
    assert!(NormalCircuit::normalised(2, [(0, 1, GateFunction::AND)], &[3]).is_err());
}

/// The doublings agree with their definitions in section III. The first bit of the paper's strings is the
/// highest bit here.
#[test]
fn doublings_are_the_paper_s() {
    let string = |a: u128, k: u32| -> Vec<u8> { (0..k).map(|i| (a >> (127 - i)) as u8 & 1).collect() };
    let mut rng = draws();
    for length in [Length::Short, Length::Long] {
        let k = length.bits() as usize;
        for a in [0, length.last(), 1 << 127, length.mask()]
            .into_iter()
            .chain((0..20).map(|_| rng.block() & length.mask()))
        {
            let of = |doubling: Doubling| {
                let doubled = doubling.double(a, length);
                assert_eq!(doubled & !length.mask(), 0, "{doubling:?}");
                string(doubled, k as u32)
            };
            let bits = string(a, k as u32);
            let left = |bits: &[u8]| [&bits[1..], &[0]].concat();
            let right = |bits: &[u8]| [&[0], &bits[..bits.len() - 1]].concat();
            let (upper, lower) = bits.split_at(k / 2);
            assert_eq!(of(Doubling::D2), left(&bits));
            assert_eq!(of(Doubling::D3), right(&bits));
            assert_eq!(of(Doubling::D4), [&bits[1..], &bits[..1]].concat());
            assert_eq!(of(Doubling::D5), [&bits[k - 1..], &bits[..k - 1]].concat());
            assert_eq!(of(Doubling::D6), [left(upper), left(lower)].concat());
            assert_eq!(of(Doubling::D7), [right(upper), right(lower)].concat());
            let mut multiplied = left(&bits);
            let terms: &[usize] = if length == Length::Long { &[0, 1, 2, 7] } else { &[0, 2, 4, 9] };
            terms.iter().for_each(|term| multiplied[k - 1 - term] ^= bits[0]);
            assert_eq!(of(Doubling::D1), multiplied);
        }
        // A polynomial of degree k is irreducible if x^(2^k) = x modulo it, and x^(2^(k / p)) + x has no
        // common factor with it for every prime p that divides k.
        assert!(is_irreducible(length));
    }
}

/// Rabin's test for the polynomial of D1.
fn is_irreducible(length: Length) -> bool {
    let k = length.bits();
    // The highest bit is the coefficient of x^(k - 1), and `one` is the constant term.
    let (one, x) = (length.last(), 2 * length.last());
    let times = |mut a: u128, mut b: u128| {
        let mut product = 0;
        while b != 0 {
            if b & one != 0 {
                product ^= a;
            }
            a = Doubling::D1.double(a, length);
            b = b >> 1 & length.mask();
        }
        product
    };
    let power = |squarings: u32| (0..squarings).fold(x, |x, _| times(x, x));
    // If the product of a and a^(2^k - 2) is 1, a has no common factor with the polynomial. If the polynomial
    // is irreducible, the product is 1 for every a except 0.
    let is_unit = |a: u128| {
        let mut inverse = one;
        let mut square = a;
        for _ in 1..k {
            square = times(square, square);
            inverse = times(inverse, square);
        }
        times(a, inverse) == one
    };
    let primes: &[u32] = if length == Length::Long { &[2] } else { &[2, 5] };
    power(k) == x && primes.iter().all(|p| is_unit(power(k / p) ^ x))
}

#[test]
fn ciphers_of_figure_8_are_those() {
    let halves = [0x00010203_04050607_08090a0b_0c0d0e0f_u128, 0x10111213_14151617_18191a1b_1c1d1e1f];
    // The block of zeros under this key, computed by another implementation of AES-256. The block of FIPS 197
    // is longer than a tweak.
    let [mask] = Cipher::Aes256.keyed(0).masks([(halves[0], halves[1], 0)]);
    assert_eq!(mask, 0xf29000b6_2a499fd0_a9f39a6a_dd2e7780);
    let [mask] = Cipher::Sha1.keyed(0).masks([(0, 0, 0)]);
    // The first 16 bytes of SHA-1 of 48 zero bytes.
    assert_eq!(mask, 0xc17fd926_82ca5b30_4ac71074_b558dda9);
}
