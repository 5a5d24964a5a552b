//! Figures 1, 8 and 9 of the paper on the circuits of this project: `cargo run --release -p
//! brickwork-justgarble --example figures [-- ROUNDS]`.
//!
//! Nanoseconds for each gate of the circuit, XOR gates counted, on one thread: the median of so many rounds,
//! 21 by default. Beside them stands what the AES calls alone take, as many as the scheme makes, in wide
//! batches under one key, measured in the same round; and the ratio of the two.

use std::hint::black_box;
use std::time::Instant;

use brickwork_base::Error;
use brickwork_circuit::{self as plain, Bit, Builder, library};
use brickwork_justgarble::{Cipher, Circuit, Doubling, Garbling, Method, Scheme, garble};
use brickwork_kernels::{Aes128, Kernel};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let rounds = std::env::args().nth(1).map_or(Ok(21), |rounds| rounds.parse::<usize>())?;
    println!("kernel {}, one thread, median of {rounds} rounds, ns a gate", Kernel::chosen()?.name());
    let (d3, d7) = (Doubling::D3, Doubling::D7);
    let aes = whole(&library::aes::aes_128_expanded()?)?;
    print_circuit("AES-128, expanded key", &aes);
    for (method, cipher) in [
        (Method::Ga, Cipher::A1),
        (Method::Ga, Cipher::A2(d7)),
        (Method::Ga, Cipher::A3),
        (Method::Ga, Cipher::A4(d3)),
        (Method::GaX, Cipher::A2(d7)),
        (Method::GaX, Cipher::A4(d3)),
        (Method::GaXR, Cipher::A2(d7)),
        (Method::GaXR, Cipher::A4(d3)),
        (Method::GaXR, Cipher::A2(Doubling::D1)),
        (Method::HalfGates, Cipher::A2(Doubling::D1)),
        (Method::PrivacyFree, Cipher::A2(Doubling::D1)),
        (Method::Ga, Cipher::Aes256),
        (Method::GaX, Cipher::Aes256),
        (Method::GaXR, Cipher::Aes256),
        (Method::Ga, Cipher::Sha1),
        (Method::GaX, Cipher::Sha1),
        (Method::GaXR, Cipher::Sha1),
    ] {
        measure(Scheme::new(method, cipher)?, &aes, rounds)?;
    }
    for (name, circuit) in [
        ("MEXP-8", exponentiation(8)?),
        ("MEXP-16", exponentiation(16)?),
        ("EDT-63", whole(&library::compgc::levenshtein([63, 63], 1)?)?),
    ] {
        print_circuit(name, &circuit);
        measure(Scheme::new(Method::GaX, Cipher::A2(d7))?, &circuit, rounds)?;
    }
    Ok(())
}

fn whole(program: &plain::Program) -> Result<Circuit, Error> {
    Circuit::of(&program.flatten()?)
}

fn print_circuit(name: &str, circuit: &Circuit) {
    println!("\n{name}: {} gates, {} of them XORs", circuit.gates().len(), circuit.xor_gates());
    println!(
        "{:28} {:>9} {:>9} {:>7} {:>9} {:>9} {:>7} {:>8}",
        "", "garble", "AES", "ratio", "evaluate", "AES", "ratio", "bytes"
    );
}

/// Nanoseconds of a piece of work.
fn nanoseconds<T>(work: impl FnOnce() -> T) -> (T, f64) {
    let start = Instant::now();
    let made = work();
    (made, start.elapsed().as_nanos() as f64)
}

fn median(mut all: Vec<f64>) -> f64 {
    all.sort_by(f64::total_cmp);
    all[all.len() / 2]
}

fn measure(scheme: Scheme, circuit: &Circuit, rounds: usize) -> Result<(), Error> {
    let gates = circuit.gates().len() as f64;
    let has_rows = |function| scheme.method().opening(function).has_rows();
    let with_rows = circuit.gates().iter().filter(|gate| has_rows(gate.function)).count();
    let calls = match scheme.method() {
        Method::HalfGates => [4, 2],
        Method::PrivacyFree => [2, 1],
        Method::Ga | Method::GaX | Method::GaXR => [4, 1],
    };
    let uses_aes_128 = !matches!(scheme.cipher(), Cipher::Aes256 | Cipher::Sha1);
    let aes = Aes128::new(1);
    let mut blocks: [Vec<u128>; 2] = calls.map(|calls| vec![0; calls * with_rows]);
    let input: Vec<bool> = (0..circuit.inputs()).map(|i| i % 3 == 1).collect();
    let expected = circuit.evaluate(&input);
    let [mut garbles, mut evaluates, mut alone_garbles, mut alone_evaluates] = [(); 4].map(|()| Vec::new());
    let mut bytes = 0;
    for _ in 0..rounds {
        let (garbling, time) = nanoseconds(|| garble(scheme, circuit));
        garbles.push(time / gates);
        let Garbling { garbled, encoding, decoding, .. } = garbling?;
        bytes = garbled.rows.len() * scheme.cipher().length().bytes();
        let tokens = encoding.encode(&input)?;
        let (outputs, time) = nanoseconds(|| garbled.evaluate(&tokens));
        evaluates.push(time / gates);
        assert_eq!(decoding.decode(&outputs?)?, expected, "{scheme:?}");
        for (blocks, times) in blocks.iter_mut().zip([&mut alone_garbles, &mut alone_evaluates]) {
            times.push(nanoseconds(|| aes.encrypt(black_box(blocks))).1 / gates);
        }
    }
    let [garble, evaluate, alone_garble, alone_evaluate] =
        [garbles, evaluates, alone_garbles, alone_evaluates].map(median);
    let beside = |time: f64, alone: f64| match uses_aes_128 {
        true => format!("{time:9.2} {alone:9.2} {:7.2}", time / alone),
        false => format!("{time:9.2} {:>9} {:>7}", "", ""),
    };
    println!(
        "{:28} {} {} {:8.2}",
        format!("{:?} {:?}", scheme.method(), scheme.cipher()),
        beside(garble, alone_garble),
        beside(evaluate, alone_evaluate),
        bytes as f64 / gates
    );
    Ok(())
}

/// a^b modulo the number of eight ones, n - 9 zeros and a one, as figure 9 has it, of numbers of n bits (at
/// least 8): squarings and products, each by doubling and adding.
fn exponentiation(width: usize) -> Result<Circuit, Error> {
    let zeros = width.saturating_sub(9);
    let modulus: u128 = (1 << width) - (1 << (zeros + 1).min(width - 1)) + 1;
    let mut b = Builder::new(2 * width as u32);
    let inputs = b.all_inputs();
    let (base, exponent) = inputs.split_at(width);
    let constant = |number: u128, width: usize| -> Vec<Bit> {
        (0..width).map(|i| if number >> i & 1 == 1 { Bit::ONE } else { Bit::ZERO }).collect()
    };
    let modulus_bits = constant(modulus, width + 1);
    // A word below twice the modulus, reduced.
    let reduced = |b: &mut Builder, x: &[Bit]| {
        let less = library::less_than(b, x, &modulus_bits);
        let difference = library::subtract(b, x, &modulus_bits);
        library::select(b, less, &x[..width], &difference[..width])
    };
    let product = |b: &mut Builder, x: &[Bit], y: &[Bit]| {
        y.iter().rev().fold(constant(0, width), |sum, &bit| {
            let doubled = [&[Bit::ZERO], &sum[..]].concat();
            let doubled = reduced(b, &doubled);
            let addend: Vec<Bit> = x.iter().map(|&x| b.and(x, bit)).chain([Bit::ZERO]).collect();
            let sum = library::add(b, &[&doubled[..], &[Bit::ZERO]].concat(), &addend);
            reduced(b, &sum)
        })
    };
    let base = reduced(&mut b, &[base, &[Bit::ZERO]].concat());
    let mut power = constant(1, width);
    for &bit in exponent.iter().rev() {
        power = product(&mut b, &power, &power);
        let times = product(&mut b, &power, &base);
        power = library::select(&mut b, bit, &times, &power);
    }
    let circuit = b.finish(&power)?;
    // It is what it is called.
    for (a, e) in [(3u128, 5u32), (200, 255), (7, 0), (modulus - 1, 3)] {
        let bits = |x: u128| (0..width).map(move |i| x >> i & 1 == 1);
        let got = circuit.evaluate(&bits(a).chain(bits(e.into())).collect::<Vec<_>>());
        let expected = (0..e).fold(1 % modulus, |power, _| power * a % modulus);
        assert!(got.into_iter().eq(bits(expected)), "{a}^{e} modulo {modulus}");
    }
    Circuit::of(&circuit)
}
