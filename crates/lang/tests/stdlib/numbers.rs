//! Compares modular arithmetic, statistics and fixed-point numbers with models that use wide integers.

use brickwork::circuit::Party;
use num_bigint::BigUint;
use serde_json::json;

use super::{assert_cut, decode, example, load, number, numbers, random, run};

#[test]
fn modexp() {
    let (program, file) = load("modexp.wir");
    assert_cut(&program, &[("mod_reduce", 1), ("mod_factor", 64), ("mod_multiply", 126)]);
    assert_eq!(program.and_gates(), 3_325 + 64 * 64 + 126 * 9_736);
    let power = |garbler: &str, evaluator: &str| number(&run(&program, Party::Evaluator, garbler, evaluator));
    let (garbler, evaluator) = example(file);
    assert_eq!(power(garbler, evaluator), 0x0683_1fa8_d586_d145);
    assert!(run(&program, Party::Garbler, garbler, evaluator).is_empty(), "the garbler learns nothing");
    let mut state = 31;
    let mut cases = vec![
        (0, 0, 1),
        (0, 5, 7),
        (5, 0, 7),
        (0, 0, 2),
        (u64::MAX, u64::MAX, u64::MAX),
        (u64::MAX, u64::MAX, 1),
        (9, 10, 3),
    ];
    cases.extend((0..12).map(|i| {
        (random(&mut state) >> (5 * i), random(&mut state), (random(&mut state) >> (5 * i)).max(1))
    }));
    for (exponent, base, modulus) in cases {
        let expected = BigUint::from(base).modpow(&exponent.into(), &modulus.into());
        let out = power(&exponent.to_string(), &json!({"base": base, "modulus": modulus}).to_string());
        assert_eq!(BigUint::from(out), expected, "{base}^{exponent} mod {modulus}");
    }
}

/// Returns the values of one party as JSON, filled up with zeros.
fn measured(values: &[u64]) -> String {
    let mut all = values.to_vec();
    all.resize(32, 0);
    json!({"count": values.len(), "values": all}).to_string()
}

#[test]
fn mean_variance() {
    let (program, _) = load("mean_variance.wir");
    assert_cut(&program, &[("constants", 1), ("glue1", 1), ("stat_add", 64), ("stat_summarise", 1)]);
    assert_eq!(program.and_gates(), 7 + 64 * 821 + 3_741);
    let largest = (1 << 27) - 1;
    let mut state = 37;
    let mut cases = vec![
        (vec![7], vec![]),
        (vec![0, 0], vec![1]),
        (vec![largest; 32], vec![0; 32]),
        (vec![largest; 32], vec![largest; 32]),
        (vec![0; 3], vec![largest; 17]),
    ];
    cases.extend((0..20).map(|i| {
        let mut some = |n: u64| (0..n).map(|_| (random(&mut state) & largest) >> i).collect::<Vec<_>>();
        (some(1 + i), some(32 - i))
    }));
    for (a, b) in cases {
        let all: Vec<u128> = a.iter().chain(&b).map(|v| u128::from(*v)).collect();
        let n = all.len() as u128;
        let (sum, squares) = (all.iter().sum::<u128>(), all.iter().map(|v| v * v).sum::<u128>());
        let variance = (n * squares - sum * sum) / (n * n);
        for party in [Party::Garbler, Party::Evaluator] {
            let out = decode(&program, party, &run(&program, party, &measured(&a), &measured(&b)));
            assert_eq!(
                out,
                json!({"count": n as u64, "mean": (sum / n) as u64, "variance": variance as u64}),
                "{a:?} {b:?}"
            );
        }
    }
}

#[test]
fn regression() {
    let (program, _) = load("regression.wir");
    assert_cut(&program, &[("constants", 1), ("stat_add_point", 24), ("stat_fit", 1)]);
    assert_eq!(program.and_gates(), 24 * 902 + 8_775);
    let mut state = 41;
    let mut cases = vec![
        // The lines are y = 2 x + 1 and y = -3 x - 100.
        ([0; 24].map(|_: i64| random(&mut state) as i64 % 1000), 2, 1, 0),
        ([0; 24].map(|_: i64| random(&mut state) as i64 % 1000), -3, -100, 0),
        // The line is as steep as possible: all points except one have the same x.
        (std::array::from_fn(|i| i64::from(i == 5)), 0, 0, 16),
    ];
    cases.extend(
        (0..15).map(|i| ([0; 24].map(|_: i64| i64::from(random(&mut state) as i16)), 0, i - 7, 1 + i)),
    );
    for (x, factor, offset, noise) in cases {
        let y = x.map(|x| {
            factor * x
                + offset
                + if noise == 0 { 0 } else { i64::from(random(&mut state) as i16) >> (16 - noise) }
        });
        let n = 24;
        let sum = |f: &dyn Fn(usize) -> i64| (0..24).map(f).sum::<i64>();
        let (sx, sy, sxx, sxy) =
            (sum(&|i| x[i]), sum(&|i| y[i]), sum(&|i| x[i] * x[i]), sum(&|i| x[i] * y[i]));
        let slope = 1000 * (n * sxy - sx * sy) / (n * sxx - sx * sx);
        let intercept = (1000 * sy - slope * sx) / n;
        if noise == 0 {
            assert_eq!((slope, intercept), (1000 * factor, 1000 * offset), "the model");
        }
        let [a, b] = [x, y].map(|values| json!({ "values": values.to_vec() }).to_string());
        let out = decode(&program, Party::Evaluator, &run(&program, Party::Evaluator, &a, &b));
        assert_eq!(out, json!({"slope": slope, "intercept": intercept}), "{x:?} {y:?}");
    }
}

#[test]
fn neural() {
    let (program, _) = load("neural.wir");
    assert_cut(&program, &[("constants", 1), ("fixed_add_product", 128), ("fixed_positive", 8)]);
    assert_eq!(program.and_gates(), 128 * 535 + 8 * 76);
    let mut state = 43;
    let mut seen = [false; 3];
    // The numbers have this many bits fewer than 16.
    for smaller in [0, 0, 3, 5, 6, 7, 7] {
        let mut fixed = || i64::from(random(&mut state) as i16) >> smaller;
        let inputs: Vec<i64> = (0..16).map(|_| fixed()).collect();
        let neurons: Vec<(i64, Vec<i64>)> =
            (0..8).map(|_| (fixed(), (0..16).map(|_| fixed()).collect())).collect();
        let expected: Vec<u64> = neurons
            .iter()
            .map(|(bias, weights)| {
                let sum = 256 * bias + weights.iter().zip(&inputs).map(|(w, x)| w * x).sum::<i64>();
                let rounded = (sum + 128).div_euclid(256);
                seen[if rounded < 0 { 0 } else { 1 + usize::from(rounded > 32767) }] = true;
                rounded.clamp(0, 32767) as u64
            })
            .collect();
        let layer: Vec<_> =
            neurons.iter().map(|(bias, weights)| json!({"bias": bias, "weights": weights})).collect();
        let out = run(
            &program,
            Party::Evaluator,
            &json!({ "neurons": layer }).to_string(),
            &json!({ "values": inputs }).to_string(),
        );
        assert_eq!(numbers(&out, 16), expected);
    }
    assert_eq!(seen, [true; 3], "negative, in range, too large");
    // The smallest numbers have the largest product.
    let layer = json!({"neurons": vec![json!({"bias": -32768, "weights": vec![-32768; 16]}); 8]}).to_string();
    let out = run(&program, Party::Evaluator, &layer, &json!({"values": vec![-32768; 16]}).to_string());
    assert_eq!(numbers(&out, 16), [32767; 8]);
}
