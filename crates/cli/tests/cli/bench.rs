//! `bench`, and the imitated link.

use super::*;

#[test]
fn garbling_is_timed() {
    let (human, json) = good(&["bench", "garbling", "--rounds", "1", "--copies", "2"]);
    assert!(human.contains("6 400 AND gates, 2 copies"), "{human}");
    for field in ["garble_ns_per_and", "evaluate_ns_per_and", "check_ns_per_and", "seconds"] {
        assert!(json[field].as_f64().is_some_and(|ns| ns > 0.1), "{field}: {json}");
    }
    assert_eq!((json["and_gates"].as_u64(), json["copies"].as_u64()), (Some(6400), Some(2)));
    assert!(json["kernel"].is_string());
    bad(&["bench", "garbling", "--copies", "0"], 2, "--copies");
    bad(&["bench", "garbling", &example("alice.json")], 3, "alice.json");
}

#[test]
fn a_protocol_is_timed() {
    let file = example("millionaires.bwp");
    let (human, json) = good(&["bench", "protocol", &file, "--executions", "3", "--rounds", "2"]);
    assert!(human.contains("3 executions, each checked"), "{human}");
    let names: Vec<&str> = json["phases"].as_array().unwrap().iter().map(|phase| phase["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["setup", "preprocess", "prepare", "build", "evaluate", "decode"]);
    let one = good(&["info", &file]).1;
    assert_eq!(json["and_gates"].as_u64(), one["and_gates"].as_u64().map(|gates| 3 * gates));
    for field in ["seconds", "and_per_second", "cpu_us_per_and"] {
        assert!(json[field].as_f64().is_some_and(|value| value > 0.0), "{field}: {json}");
    }
    if cfg!(target_os = "linux") {
        for party in ["garbler", "evaluator"] {
            assert!(json["peak_rss_bytes"][party].as_u64().is_some_and(|bytes| bytes > 1 << 20), "{json}");
        }
    }
    bad(&["bench", "protocol", &file, "--rounds", "0"], 2, "--rounds");
}

/// The phases that take a reply of the peer cannot be faster than the link, and bytes need their time.
#[test]
fn a_link_is_imitated() {
    let file = example("millionaires.bwp");
    let arguments =
        ["run", &file, "--garbler", "5", "--evaluator", "6", "--rtt", "30ms", "--bandwidth", "4Mbit", "--timeout", "30", "--json"];
    let json = object(&run(&arguments));
    assert_eq!(json["outputs"]["evaluator"], serde_json::json!({ "alice": 0, "bob": 1 }), "{json}");
    for phase in json["phases"].as_array().unwrap() {
        let seconds = phase["seconds"].as_f64().unwrap();
        let bits = 8.0 * phase["garbler_sent_bytes"].as_f64().unwrap();
        let name = phase["name"].as_str().unwrap();
        if name != "decode" {
            assert!(seconds >= 0.9 * 0.03f64.max(bits / 4e6), "{name}: {phase}");
        }
    }
    bad(&["run", &file, "--garbler", "5", "--evaluator", "6", "--rtt", "30"], 2, "--rtt");
    bad(&["run", &file, "--garbler", "5", "--evaluator", "6", "--bandwidth", "fast"], 2, "--bandwidth");
}
