//! Pages show everything that they should, and no secret.

use brickwork_report::{Unknown, page, page_with_outputs};
use serde_json::{Value, json};

/// Texts of hostile names.
const HOSTILE: [&str; 5] = [
    "<script>alert(1)</script>",
    "\"><img src=x onerror=alert(1)>",
    "' onmouseover='alert(1)",
    "</style></title><b>&lt;",
    "url(http://example.org/) \u{202e}txt.exe\u{7}",
];

fn phase(name: &str, k: u64) -> Value {
    json!({
        "name": name,
        "seconds": 0.25 + k as f64,
        "garbler_sent_bytes": 1_000_001 + k,
        "evaluator_sent_bytes": 2_000_003 + k,
        "spans": [{
            "began_seconds": 0.125 + 2.0 * k as f64,
            "ended_seconds": 0.375 + 3.0 * k as f64,
            "flights": [
                {"from": "garbler", "began_seconds": 0.13 + k as f64, "ended_seconds": 0.2 + k as f64,
                 "waited_seconds": 0.0625, "bytes": 1_000_001 + k},
                {"from": "evaluator", "began_seconds": 0.21 + k as f64, "ended_seconds": 0.3 + k as f64,
                 "waited_seconds": 0, "bytes": 2_000_003 + k},
            ],
        }],
    })
}

fn program(name: &str) -> Value {
    json!({
        "name": name,
        "digest": "00ff".repeat(16),
        "garbler_inputs": [{"name": name, "type": "u32", "width": 32}],
        "evaluator_inputs": [{"name": "b", "type": "u33", "width": 33}],
        "outputs": [{"name": "c", "type": "u1", "width": 1, "to": "both"}],
        "components": [{
            "name": name, "inputs": 65, "outputs": 4, "and_gates": 31, "gates": 101, "wires": 166,
            "and_depth": 30, "slots": 2, "input_ports": [], "output_ports": [],
        }],
        "solderings": [
            {"from": "garbler", "to": 0, "wires": 64}, {"from": "evaluator", "to": 0, "wires": 66},
            {"from": 0, "to": 0, "wires": 5}, {"from": 0, "to": "both", "wires": 3},
        ],
        "slots": 2, "and_gates": 62, "gates": 202, "wires": 73, "and_depth": 60,
        "input_map": [], "output_map": [],
    })
}

fn promise(name: &str) -> Value {
    json!({
        "model": "malicious", "statistical_bits": 40, "bound_log2": -40.0625, "epoch_bound_log2": -39.5,
        "budget": [{"check": name, "bound_log2": -41.5}, {"check": "another", "bound_log2": -60.25}],
        "computational_bits": 111.0, "commitments": {"scheme": name, "code": [275, 128, 42]},
        "batches": [
            {"kind": "component", "name": name, "slots": 2, "bucket_size": 9, "copies": 71, "opened": 53},
            {"kind": "key-authenticator", "name": "keys", "slots": 129, "bucket_size": 17, "copies": 3046,
             "opened": 870},
        ],
        "triples": {"used": 333, "leaky_ands": 777, "bucket_size": 5, "cot": name},
    })
}

fn cost() -> Value {
    json!({
        "phases": [{"name": "setup", "seconds": 0.75, "garbler_sent_bytes": 9_001,
            "evaluator_sent_bytes": 9_002, "crossings": 3}],
        "seconds": 7.75, "cpu_seconds": 6.5, "round_trips": 5.5,
        "memory_bytes": {"garbler": 55_555, "evaluator": 66_666},
        "disk_bytes": {"garbler": 12_345, "evaluator": 23_456},
    })
}

/// A record of a run, with the same name everywhere.
fn run(name: &str) -> Value {
    json!({
        "role": "evaluator",
        "outputs": {"evaluator": "0xdeadbeefcafe"},
        "output_bits": {"evaluator": "110011101110001"},
        "phases": [phase("setup", 0), phase(name, 1)],
        "predicted": cost(),
        "promise": promise(name),
        "cut": name, "and_gates": 62, "protocol": name, "made_on_the_spot": name,
        "cpu_seconds": 0.515_625, "peak_rss_bytes": 7_654_321,
        "program": program(name),
        // No record has these fields. If a record had them, no page may show their values.
        "inputs": {"evaluator": "secret-input"}, "recovered": true, "aside": {"recovered": "yes-recovered"},
    })
}

/// A record of a run without predictions, like the runs that take from stock.
fn unpredicted(name: &str) -> Value {
    let mut record = run(name);
    record["predicted"] = Value::Null;
    record
}

fn plan(name: &str) -> Value {
    let memory = json!({"garbler": 4_141, "evaluator": 4_242});
    let mut plan = json!({
        "cut": name, "cut_reason": name, "buckets_reason": null, "promise": promise(name),
        "alternatives": [
            {"component": name, "bucket_size": 6, "opened": 387, "copies": 393, "chosen": false,
             "seconds": 0.1, "bytes": 7_032_863, "memory_bytes": memory},
            {"component": name, "bucket_size": 7, "opened": 216, "copies": 223, "chosen": true,
             "seconds": 0.0625, "bytes": 4_982_822, "memory_bytes": memory},
        ],
        "decompositions": [
            {"cut": name, "flags": "", "given": true, "chosen": true, "components": 1, "slots": 11,
             "and_gates_a_slot": 640.5, "seconds": 0.5, "bytes": 87_654, "memory_bytes": memory},
            {"cut": "whole", "flags": "", "given": false, "chosen": false, "components": 3, "slots": 12,
             "and_gates_a_slot": 6400.25, "seconds": 0.625, "bytes": 87_655, "memory_bytes": memory},
        ],
        "executions": 13, "and_gates": 62,
        "link": {"bits_per_second": 1e9, "rtt_seconds": 0.015_625, "lanes": 3},
        "machine": {"kernel": name, "probe_seconds": 0.031, "seconds": {"garble": 1.5e-8}, "threads": 19,
                    "message_seconds": 1e-6, "send_seconds_a_byte": 2e-9, "receive_seconds_a_byte": 3e-9},
        "program": program(name),
    });
    let fields = plan.as_object_mut().expect("an object");
    fields.extend(cost().as_object().expect("an object").clone());
    plan
}

fn proposal(name: &str) -> Value {
    let span =
        json!({"garbler_sent_bytes": 171, "evaluator_sent_bytes": 172, "round_trips": 1.5, "seconds": 0.3});
    json!({
        "model": "malicious", "proposed": name, "reason": name,
        "candidates": [{"protocol": name, "way": name, "model": "malicious", "bound_log2": -40.5,
            "cost": cost(), "online": span, "promise": promise(name)}],
        "executions": 13, "and_gates": 62,
        "link": {"bits_per_second": null, "rtt_seconds": 0.0, "lanes": 1},
        "machine": {"kernel": name, "threads": 19, "seconds": {}},
    })
}

fn comparison(name: &str) -> Value {
    let span = |k: u64| {
        json!({"garbler_sent_bytes": 181 + k, "evaluator_sent_bytes": 191 + k, "round_trips": 1.5 + k as f64,
               "seconds": 0.3 + k as f64})
    };
    json!({
        "program": name, "and_gates": 62, "executions": 13, "rounds": 3, "kernel": name, "threads": 19,
        "link": {"bits_per_second": 123_456, "rtt_seconds": 0.015_625},
        "rows": [
            {"protocol": name, "way": name, "model": "malicious", "bound_log2": -40.5, "cut": name,
             "all": span(1), "online": span(2), "cpu_seconds": {"garbler": 0.11, "evaluator": 0.12},
             "peak_rss_bytes": {"garbler": 1_111, "evaluator": null}, "promise": promise(name)},
            {"protocol": name, "way": name, "model": "semi-honest", "bound_log2": null, "cut": name,
             "all": span(3), "online": span(4), "cpu_seconds": {"garbler": 0.13, "evaluator": 0.14},
             "peak_rss_bytes": {"garbler": 1_112, "evaluator": 1_113},
             "promise": {"model": "semi-honest", "computational_bits": 111.0, "warning": name}},
        ],
    })
}

/// Records of all kinds, with the same name everywhere.
fn records(name: &str) -> [(&'static str, Value); 6] {
    [
        ("run", run(name)),
        ("unpredicted run", unpredicted(name)),
        ("plan", plan(name)),
        ("proposal", proposal(name)),
        ("comparison", comparison(name)),
        ("program", program(name)),
    ]
}

/// Gathers all numbers below these fields, with their places.
fn numbers(value: &Value, at: &str, into: &mut Vec<(String, String)>) {
    match value {
        Value::Number(number) => into.push((at.into(), number.to_string())),
        Value::Array(all) => all.iter().for_each(|value| numbers(value, at, into)),
        Value::Object(fields) => fields.iter().for_each(|(name, value)| {
            // Only `info` has the places of wires; places of components appear as names.
            if !["input_map", "output_map", "input_ports", "output_ports", "from", "to"].contains(&&**name) {
                numbers(value, &format!("{at}.{name}"), into);
            }
        }),
        _ => {}
    }
}

#[test]
fn all_numbers_are_there_exactly() {
    for (kind, record) in records("name") {
        let html = page(&record).unwrap();
        let mut all = Vec::new();
        numbers(&record, kind, &mut all);
        assert!(all.len() > 10, "{kind}: {all:?}");
        let missing: Vec<_> = all
            .into_iter()
            .filter(|(_, number)| !html.contains(&format!("<data value=\"{number}\">")))
            .collect();
        assert!(missing.is_empty(), "{kind}: {missing:?}");
    }
}

#[test]
fn hostile_names_are_text() {
    // The tags of the page do not depend on the names.
    let tags = |html: &str| {
        let mut tags: Vec<String> = html
            .split('<')
            .skip(1)
            .map(|tag| {
                let name = tag.split(|c: char| c == '>' || c.is_whitespace()).next().unwrap_or_default();
                name.trim_end_matches('/').to_owned()
            })
            .collect();
        tags.sort();
        tags
    };
    for (kind, honest) in records("name") {
        let honest = tags(&page(&honest).unwrap());
        for name in HOSTILE {
            let (_, record) = records(name).into_iter().find(|(other, _)| *other == kind).unwrap();
            let html = page(&record).unwrap();
            assert_eq!(tags(&html), honest, "{kind}, {name}");
            assert!(
                !html.contains("<script") && !html.contains("<img") && !html.contains("<b>"),
                "{kind}, {name}"
            );
            assert!(!html.chars().any(|c| c == '\u{202e}' || c == '\u{7}'), "{kind}, {name}");
            // No name ends an attribute, because quotes are escaped within a tag.
            for tag in html.split('<').skip(1).map(|tag| tag.split('>').next().unwrap_or_default()) {
                assert!(!tag.contains("onerror") || tag.contains("&quot;"), "{kind}: {tag}");
                assert!(tag.matches('"').count() % 2 == 0, "{kind}: {tag}");
                assert!(!tag.contains("onmouseover='"), "{kind}: {tag}");
            }
        }
    }
}

#[test]
fn nothing_runs_and_nothing_is_loaded() {
    for (kind, record) in records("name") {
        let html = page(&record).unwrap();
        assert!(html.contains("content=\"default-src 'none'; style-src 'unsafe-inline'\""), "{kind}");
        for word in [
            "<script",
            "javascript:",
            "http:",
            "https:",
            " src=",
            " href=",
            "@import",
            "<link",
            "<iframe",
            " on",
        ] {
            // `on` begins an attribute only within a tag.
            let found = html.split('<').skip(1).any(|tag| {
                let tag = format!("<{}", tag.split('>').next().unwrap_or_default());
                match word {
                    " on" => tag.split('"').step_by(2).any(|part| part.contains(" on")),
                    word => tag.contains(word),
                }
            });
            assert!(!found, "{kind}: {word}");
        }
        // References to patterns lead into the page.
        assert!(html.match_indices("url(").all(|(at, _)| html[at..].starts_with("url(#bw-")), "{kind}");
    }
}

#[test]
fn what_is_secret_is_in_no_page() {
    for word in ["secret-input", "recovered", "yes-recovered"] {
        assert!(!page_with_outputs(&run("name")).unwrap().contains(word), "{word}");
    }
    let (without, with) = (page(&run("name")).unwrap(), page_with_outputs(&run("name")).unwrap());
    for word in ["deadbeef", "110011101110001"] {
        assert!(!without.contains(word), "{word}");
    }
    assert!(with.contains("deadbeef") && !with.contains("110011101110001"));
}

/// Each picture has a title, a description and a table, and no two elements have the same name.
#[test]
fn pictures_are_described() {
    for (kind, record) in records("name") {
        let html = page(&record).unwrap();
        let figures =
            html.split("<figure>").skip(1).map(|rest| rest.split("</figure>").next().unwrap_or_default());
        let mut seen = 0;
        for figure in figures {
            seen += 1;
            let labels = figure.split("aria-labelledby=\"").nth(1).and_then(|rest| rest.split('"').next());
            let [title, about] = labels.expect("labels").split(' ').collect::<Vec<_>>()[..] else {
                panic!("{figure}")
            };
            assert!(figure.contains(&format!("<title id=\"{title}\">")), "{kind}: {figure}");
            assert!(figure.contains(&format!("<desc id=\"{about}\">")), "{kind}: {figure}");
            assert!(figure.contains("<details>") && figure.contains("<tbody>\n<tr>"), "{kind}: {figure}");
        }
        assert!(seen > 0, "{kind}");
        let mut ids: Vec<_> =
            html.split(" id=\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
        let all = ids.len();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), all, "{kind}");
    }
    // Two pages in one document share only the names of the patterns, which are the same.
    let ids = |record| {
        let html = page(&record).unwrap();
        let ids = html.split(" id=\"b").skip(1).filter_map(|rest| rest.split('"').next());
        ids.filter(|id| !id.starts_with("w-")).map(str::to_owned).collect::<Vec<_>>()
    };
    let (one, other) = (ids(run("one")), ids(run("other")));
    assert!(!one.is_empty() && one.iter().all(|id| !other.contains(id)));
}

#[test]
fn what_is_no_record_is_refused() {
    for record in [json!(null), json!([]), json!({}), json!({"phases": []}), json!({"error": {"code": 3}})] {
        assert_eq!(page(&record), Err(Unknown), "{record}");
    }
}

/// Records with missing fields, or with other values, give a page: no field can cause a panic.
#[test]
fn odd_records_give_pages() {
    let odd =
        [json!(null), json!(-1), json!(1e300), json!("x"), json!([]), json!([[]]), json!({}), json!([{}, 3])];
    for (kind, record) in records("name") {
        let fields: Vec<String> = record.as_object().unwrap().keys().cloned().collect();
        for field in fields {
            for value in &odd {
                let mut changed = record.clone();
                changed[&field] = value.clone();
                let html = page(&changed).unwrap();
                assert!(html.ends_with("</html>\n"), "{kind}.{field}");
                assert!(!html.contains("NaN") && !html.contains("=\"inf"), "{kind}.{field} {value}");
            }
        }
        // The same for fields one level deeper.
        for (field, inner) in record.as_object().unwrap() {
            let Some(inner) = inner.as_object() else { continue };
            for (deep, value) in inner.keys().flat_map(|deep| odd.iter().map(move |value| (deep, value))) {
                let mut changed = record.clone();
                changed[field][deep] = value.clone();
                assert!(page(&changed).unwrap().ends_with("</html>\n"), "{kind}.{field}.{deep}");
            }
        }
    }
}

/// If there are many kinds of component, the chart has the busiest ones, and the table has all of them.
#[test]
fn sixty_kinds_are_drawn_at_most() {
    let mut program = program("name");
    let kind = |k: usize| json!({"name": format!("kind {k}"), "slots": 1, "and_gates": 1});
    program["components"] = (0..200).map(kind).collect();
    let soldering = |k: usize| json!({"from": k, "to": (k + 1) % 200, "wires": 1 + k});
    program["solderings"] = (0..200).map(soldering).collect();
    let html = page(&program).unwrap();
    let arcs = html.split("class=\"arcs\"").nth(1).and_then(|rest| rest.split("</svg>").next()).unwrap();
    assert_eq!(arcs.matches("<circle").count(), 60);
    assert!(arcs.contains("141 other kinds") && arcs.contains("kind 199") && !arcs.contains(">kind 3<"));
    assert!(html.contains("<th scope=\"row\">kind 3</th><td>kind 4</td>"));
}

/// The record of a long session keeps only the first spans, and the page mentions the others.
#[test]
fn what_is_not_drawn_is_said() {
    let mut record = run("name");
    assert!(!page(&record).unwrap().contains("are not drawn"), "all is drawn");
    record["phases"][0]["seconds"] = json!(3.25);
    assert!(page(&record).unwrap().contains("3.00 s more are not drawn"));
    for phase in record["phases"].as_array_mut().unwrap() {
        phase.as_object_mut().unwrap().remove("spans");
    }
    assert!(!page(&record).unwrap().contains("Timeline"), "a record without times has no timeline");
}
