//! Compares the library's programs about tables and figures of companies with models.

use std::collections::BTreeMap;

use brickwork::circuit::{Party, value};
use serde_json::{Value, json};

use super::{assert_cut, decode, example, list, load, number, random, run};

/// Returns a table of 16 rows, of which these are filled.
fn table(rows: &[(u64, u64)]) -> String {
    let mut all: Vec<_> = rows.iter().map(|(key, amount)| json!({"key": key, "amount": amount})).collect();
    all.resize(16, json!({"key": 0, "amount": 0}));
    json!({"count": rows.len(), "rows": all}).to_string()
}

#[test]
fn join() {
    let (program, _) = load("join.wir");
    assert_cut(&program, &[("constants", 1), ("next_row", 32), ("look", 256), ("add_up", 16), ("settle", 1)]);
    assert_eq!(program.and_gates(), 32 * 10 + 256 * 69 + 16 * 165 + 86);
    let check = |a: &[(u64, u64)], b: &[(u64, u64)]| {
        let others: BTreeMap<u64, u64> = b.iter().copied().collect();
        let found: Vec<_> = a.iter().map(|(key, _)| others.get(key).copied()).collect();
        let both: Vec<_> =
            a.iter().zip(&found).filter_map(|(own, other)| other.map(|other| (own.1, other))).collect();
        let sum = |f: fn(&(u64, u64)) -> u64| both.iter().map(f).sum::<u64>();
        let sums = json!({
            "matches": both.len(), "a": sum(|r| r.0), "b": sum(|r| r.1), "a_twice": 0, "b_twice": 0
        });
        let mut rows: Vec<_> = found
            .iter()
            .map(|f| json!({"found": u64::from(f.is_some()), "amount": f.unwrap_or(0)}))
            .collect();
        rows.resize(16, json!({"found": 0, "amount": 0}));
        let learned = |party| decode(&program, party, &run(&program, party, &table(a), &table(b)));
        assert_eq!(learned(Party::Garbler), json!({"all": sums, "rows": rows}), "{a:?} {b:?}");
        assert_eq!(learned(Party::Evaluator), sums, "{a:?} {b:?}");
    };
    check(&[], &[]);
    // A key of 0 is an ordinary key, and unused rows do not match it.
    check(&[(0, 5)], &[(7, 3)]);
    check(&[(7, 3)], &[(0, 5)]);
    check(&[(0, 5)], &[(0, 6)]);
    let full: Vec<_> = (0..16).map(|i| (u64::from(u32::MAX) - i, u64::from(u32::MAX))).collect();
    check(&full, &full);
    let mut state = 47;
    for keys in [16, 20, 40] {
        for _ in 0..15 {
            let mut rows = || {
                let all: BTreeMap<u64, u64> = (0..random(&mut state) % 17)
                    .map(|_| (random(&mut state) % keys, random(&mut state) >> 32))
                    .collect();
                // The rows are sorted by a field that is not the key.
                let mut rows: Vec<_> = all.into_iter().collect();
                rows.sort_by_key(|row| row.1);
                rows
            };
            check(&rows(), &rows());
        }
    }
}

/// A party that has a key twice in its table gets an error with the rows. If the party uses such a table
/// anyway, both parties learn of it, whichever table it is, and the other sums stay hidden.
#[test]
fn a_key_that_is_there_twice() {
    let (program, _) = load("join.wir");
    let bits = |rows: &[(u64, u64)]| {
        let mut all: Vec<_> = rows.iter().flat_map(|(key, amount)| [*key, *amount]).collect();
        all.resize(32, 0);
        let wires = |n: u64, width: u32| (0..width).map(move |i| n >> i & 1 == 1);
        wires(rows.len() as u64, 5).chain(all.into_iter().flat_map(|n| wires(n, 32))).collect::<Vec<bool>>()
    };
    let once: Vec<_> = (0..16).map(|i| (500 + 7 * i, 1 + 3 * i)).collect();
    let twice = [(900, 1), (521, 5), (7, 7), (521, 6)];
    for (of_a, a, b) in [(true, &twice[..], &once[..]), (false, &once, &twice)] {
        for (party, rows) in [(Party::Garbler, a), (Party::Evaluator, b)] {
            let read = value::parse(&table(rows))
                .and_then(|value| value::encode(program.input_ports(party), &value));
            match read {
                Ok(read) => assert_eq!(read, bits(rows)),
                Err(e) => {
                    let message = e.to_string();
                    assert!(rows == twice && message.contains("rows 2 and 4 have the same key"), "{message}");
                    assert!(!message.contains("521"), "{message}");
                }
            }
        }
        let outputs = program.simulate(&bits(a), &bits(b));
        let flags = json!({
            "matches": 0, "a": 0, "b": 0, "a_twice": u64::from(of_a), "b_twice": u64::from(!of_a)
        });
        assert_eq!(
            decode(&program, Party::Evaluator, &program.output_bits(Party::Evaluator, &outputs)),
            flags
        );
        let garbler = decode(&program, Party::Garbler, &program.output_bits(Party::Garbler, &outputs));
        assert_eq!(garbler["all"], flags);
    }
    // The key occurs twice, but not in the other table or only in unused rows, so the sums are right.
    let unmatched = program.simulate(&bits(&[(1, 2), (8, 3), (1, 4)]), &bits(&[(8, 9), (2, 1)]));
    let right = json!({ "matches": 1, "a": 3, "b": 9, "a_twice": 0, "b_twice": 0 });
    assert_eq!(decode(&program, Party::Evaluator, &program.output_bits(Party::Evaluator, &unmatched)), right);
    for (file, wrong, words) in [
        ("accounts.wir", json!({ "customer": 5, "balance": 1 }), "rows 1 and 2 have the same customer"),
        (
            "intersection.wir",
            json!({ "items": [1, 2, 4, 3, 5, 6, 7, 8] }),
            "items 4 is not larger than items 3",
        ),
    ] {
        let (program, _) = load(file);
        let value = match file {
            "accounts.wir" => json!({ "count": 2, "rows": vec![wrong; 16] }),
            _ => wrong,
        };
        for party in [Party::Garbler, Party::Evaluator] {
            let refused = value::encode(program.input_ports(party), &value).unwrap_err().to_string();
            assert!(refused.contains(words), "{refused}");
        }
    }
}

#[test]
fn credit() {
    let (program, _) = load("credit.wir");
    assert_cut(&program, &[("rate", 8), ("reaches", 1)]);
    assert_eq!(program.and_gates(), 8 * 207 + 16);
    let mut state = 53;
    let mut approvals = 0;
    for round in 0..60 {
        let bounds = [0; 8].map(|_: u32| {
            let mut four = [0; 4].map(|_: u32| random(&mut state) as u32 >> (round % 8));
            four.sort_unstable();
            four
        });
        let worth = [0; 8].map(|_: u32| [0; 5].map(|_: i64| random(&mut state) as i64 % 200));
        // Every third number is exactly at a bound.
        let values: [u32; 8] = std::array::from_fn(|i| {
            if i % 3 == 0 { bounds[i][round % 4] } else { random(&mut state) as u32 >> (round % 8) }
        });
        let (base, cutoff) = (300, if round == 0 { -32768 } else { 280 + random(&mut state) as i64 % 100 });
        let score = base
            + (0..8).map(|i| worth[i][bounds[i].iter().filter(|b| **b <= values[i]).count()]).sum::<i64>();
        let card: Vec<_> = (0..8).map(|i| json!({"bounds": bounds[i], "worth": worth[i]})).collect();
        let policy = json!({"base": base, "cutoff": cutoff, "card": card}).to_string();
        let applicant = json!({"values": values}).to_string();
        let approved = u64::from(score >= cutoff);
        let decision = decode(&program, Party::Garbler, &run(&program, Party::Garbler, &policy, &applicant));
        assert_eq!(decision, json!({"approved": approved, "score": score}));
        assert_eq!(number(&run(&program, Party::Evaluator, &policy, &applicant)), u128::from(approved));
        approvals += approved;
    }
    assert!((5..55).contains(&approvals), "both answers occur: {approvals}");
}

const FIGURES: [&str; 4] = ["turnover_per_head", "margin", "satisfaction", "retention"];

fn company(figures: [u32; 4]) -> Value {
    FIGURES
        .iter()
        .zip(figures)
        .map(|(name, figure)| ((*name).to_owned(), json!(figure)))
        .collect::<serde_json::Map<_, _>>()
        .into()
}

#[test]
fn benchmarking() {
    let (program, _) = load("benchmarking.wir");
    assert_cut(&program, &[("constants", 1), ("count_better", 124), ("place", 4)]);
    assert_eq!(program.and_gates(), 124 * 39 + 4 * 38);
    let mut state = 59;
    let mut quartiles = [0; 5];
    for count in (0..32).chain([31, 31, 30, 23]) {
        // The numbers have few different values, so many are equal.
        let range = if count % 2 == 0 { 1 << 32 } else { 12 };
        let mut figures = || [0; 4].map(|_: u32| (random(&mut state) % range) as u32);
        let others: Vec<[u32; 4]> = (0..count).map(|_| figures()).collect();
        let own = figures();
        let mut companies: Vec<_> = others.iter().map(|f| company(*f)).collect();
        companies.resize(31, company([0; 4]));
        let expected: serde_json::Map<_, _> = (0..4)
            .map(|i| {
                let better = others.iter().filter(|other| other[i] > own[i]).count();
                // Each company is in the quartile that follows from the number of companies ahead of it.
                let quartile = 1 + 4 * better / (count + 1);
                quartiles[quartile] += 1;
                (FIGURES[i].to_owned(), json!({"rank": better + 1, "quartile": quartile}))
            })
            .collect();
        let sample = json!({"count": count, "companies": companies}).to_string();
        let out = run(&program, Party::Evaluator, &sample, &company(own).to_string());
        assert_eq!(decode(&program, Party::Evaluator, &out), Value::Object(expected), "{count}");
        assert!(
            run(&program, Party::Garbler, &sample, &company(own).to_string()).is_empty(),
            "the garbler learns nothing"
        );
    }
    assert!(quartiles[1..].iter().all(|n| *n > 0), "{quartiles:?}");
}

/// Returns a table with this many rows, of which some are filled.
fn filled(size: usize, rows: &[Value], none: &Value) -> String {
    let mut all = rows.to_vec();
    all.resize(size, none.clone());
    json!({"count": rows.len(), "rows": all}).to_string()
}

#[test]
fn accounts() {
    let (program, _) = load("accounts.wir");
    assert_cut(&program, &[("constants", 1), ("look", 256), ("over_limit", 32), ("count", 16)]);
    assert_eq!(program.and_gates(), 256 * 95 + 32 * 128 + 16 * 4);
    let mut state = 71;
    let mut found = 0;
    for round in 0..40u64 {
        let range = [8, 16, 40][round as usize % 3];
        let mut bank = || -> BTreeMap<u64, u64> {
            (0..random(&mut state) % 17)
                .map(|_| {
                    (
                        1 + random(&mut state) % range,
                        [0, 50_000, 100_000, random(&mut state) % 120_000, u64::from(u32::MAX)]
                            [(random(&mut state) % 5) as usize],
                    )
                })
                .take(16)
                .collect()
        };
        let (a, b) = (bank(), bank());
        let over = |own: &BTreeMap<u64, u64>, other: &BTreeMap<u64, u64>| -> Vec<u64> {
            let mut flags: Vec<u64> = own
                .iter()
                .map(|(customer, balance)| {
                    let held = other.get(customer).copied().unwrap_or(0);
                    u64::from(held != 0 && balance + held > 100_000)
                })
                .collect();
            flags.resize(16, 0);
            flags
        };
        let text = |bank: &BTreeMap<u64, u64>| {
            let rows: Vec<_> = bank.iter().map(|(c, b)| json!({"customer": c, "balance": b})).collect();
            filled(16, &rows, &json!({"customer": 0, "balance": 0}))
        };
        let (first, second) = (over(&a, &b), over(&b, &a));
        let count: u64 = first.iter().sum();
        found += count;
        for (party, flags) in [(Party::Garbler, first), (Party::Evaluator, second)] {
            let out = decode(&program, party, &run(&program, party, &text(&a), &text(&b)));
            assert_eq!(out, json!({"over": count, "accounts": flags}), "{a:?} {b:?}");
        }
    }
    assert!(found > 20, "{found}");
}

#[test]
fn salaries() {
    let (program, _) = load("salaries.wir");
    assert_cut(&program, &[("constants", 1), ("add", 48), ("mean_of", 5)]);
    let mut state = 73;
    let mut hidden = 0;
    for _ in 0..25 {
        let largest = (1 << 20) - 1;
        let mut company = || -> Vec<(u64, u64)> {
            (0..random(&mut state) % 25)
                .map(|i| {
                    (
                        1 + random(&mut state) % 5,
                        if i % 7 == 0 { largest } else { random(&mut state) & largest },
                    )
                })
                .collect()
        };
        let (a, b) = (company(), company());
        let levels: Vec<_> = (1..=5)
            .map(|level| {
                let all: Vec<u64> = a.iter().chain(&b).filter(|e| e.0 == level).map(|e| e.1).collect();
                let people = all.len() as u64;
                hidden += u64::from(people > 0 && people < 3);
                let mean = if people < 3 { 0 } else { all.iter().sum::<u64>() / people };
                json!({"people": people, "mean": mean})
            })
            .collect();
        let text = |company: &[(u64, u64)]| {
            let rows: Vec<_> = company.iter().map(|(l, s)| json!({"level": l, "salary": s})).collect();
            filled(24, &rows, &json!({"level": 0, "salary": 0}))
        };
        for party in [Party::Garbler, Party::Evaluator] {
            let out = decode(&program, party, &run(&program, party, &text(&a), &text(&b)));
            assert_eq!(out, json!({ "levels": levels }), "{a:?} {b:?}");
        }
    }
    assert!(hidden > 0, "levels of one or two people occur");
}

#[test]
fn auction() {
    let (program, file) = load("auction.wir");
    assert_cut(&program, &[("constants", 1), ("max.uint32", 7), ("look", 8)]);
    assert_eq!(program.and_gates(), 7 * 64 + 8 * 66);
    let check = |garbler: &str, evaluator: &str| {
        let [a, b]: [Vec<u64>; 2] = [garbler, evaluator].map(|text| {
            let list: Value = serde_json::from_str(text).unwrap();
            list["amounts"].as_array().unwrap().iter().map(|v| v.as_u64().unwrap()).collect()
        });
        let price = *a.iter().chain(&b).max().unwrap();
        let won = |bids: &[u64]| -> Vec<u64> {
            bids.iter().map(|bid| u64::from(*bid == price && price != 0)).collect()
        };
        let winners: u64 = won(&a).iter().chain(&won(&b)).sum();
        for (party, bids) in [(Party::Garbler, &a), (Party::Evaluator, &b)] {
            let out = decode(&program, party, &run(&program, party, garbler, evaluator));
            assert_eq!(out, json!({"price": price, "winners": winners, "won": won(bids)}), "{a:?} {b:?}");
        }
        winners
    };
    let (garbler, evaluator) = example(file);
    assert_eq!(check(garbler, evaluator), 2, "the example has a tie");
    assert_eq!(check(&list("amounts", [0; 4]), &list("amounts", [0; 4])), 0);
    let mut state = 79;
    for mask in [1, 7, u32::MAX] {
        for _ in 0..20 {
            let mut amounts = || list("amounts", [0; 4].map(|_: u32| random(&mut state) as u32 & mask));
            check(&amounts(), &amounts());
        }
    }
}

#[test]
fn order() {
    let (program, file) = load("order.wir");
    let names: Vec<String> = program.components().iter().map(|c| c.name.clone()).collect();
    assert!(
        names.contains(&"fixed_multiply.32".into()) && names.contains(&"fixed_divide.32".into()),
        "{names:?}"
    );
    let check = |garbler: &str, evaluator: &str| {
        let [g, e]: [Value; 2] = [garbler, evaluator].map(|text| serde_json::from_str(text).unwrap());
        let number = |v: &Value| v.as_i64().unwrap();
        let times = |a: i64, b: i64| (a * b + (1 << 15)) >> 16;
        let price = times(number(&g["price"]), (1 << 16) - number(&g["discount"]));
        let (total, budget) = (times(price, number(&e["quantity"])), number(&e["budget"]));
        let fits = total <= budget;
        let offer = json!({"fits": u64::from(fits), "total": if fits { total } else { 0 }});
        let most = ((budget << 16) / price) >> 16;
        let learned = |party| decode(&program, party, &run(&program, party, garbler, evaluator));
        assert_eq!(learned(Party::Garbler), offer, "{garbler} {evaluator}");
        assert_eq!(learned(Party::Evaluator), json!({"order": offer, "most": most}), "{garbler} {evaluator}");
        fits
    };
    let (garbler, evaluator) = example(file);
    assert!(check(garbler, evaluator));
    let mut state = 83;
    let mut fitting = 0;
    for _ in 0..40 {
        let mut below = |n: u64| random(&mut state) % n;
        // Prices are from 1 to 100, quantities up to 100, and budgets up to 10 000.
        let terms = json!({"price": 65_536 + below(99 << 16), "discount": below(1 << 15)});
        let demand = json!({"quantity": below(100 << 16), "budget": below(10_000 << 16)});
        fitting += usize::from(check(&terms.to_string(), &demand.to_string()));
    }
    assert!((5..40).contains(&fitting), "both answers occur: {fitting}");
}
