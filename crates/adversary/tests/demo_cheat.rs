//! The program that `brickwork demo-cheat` starts, tested as another process.

use std::process::{Command, Output};

use brickwork_testing::schema;
use serde_json::Value;

fn run(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_brickwork-demo-cheat")).args(arguments).output().expect("it starts")
}

fn object(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).expect("one JSON object on stdout")
}

/// Runs the program with and without `--json`; both runs must succeed.
fn good(arguments: &[&str]) -> (String, Value) {
    let human = run(arguments);
    assert_eq!(human.status.code(), Some(0), "{}", String::from_utf8_lossy(&human.stderr));
    let json = run(&[arguments, &["--json"]].concat());
    assert_eq!(json.status.code(), Some(0));
    let printed = object(&json);
    schema::holds(schema::of_the_command(), "demo-cheat", &printed);
    (String::from_utf8(human.stdout).expect("text"), printed)
}

#[test]
fn attacks_are_listed_and_played() {
    let (human, json) = good(&[]);
    let attacks = json["attacks"].as_array().unwrap();
    assert!(attacks.len() > 30);
    for attack in attacks {
        let (id, story) = (attack["attack"].as_str().unwrap(), attack["story"].as_str().unwrap());
        assert!(human.contains(id) && human.contains(story));
        let alike = attacks.iter().filter(|other| other["story"] == story).count();
        assert_eq!(alike, 1, "each has a description of its own: {id}");
    }
    let (human, json) = good(&["row_05_flipped_table", "--runs", "3"]);
    let line = "100.00 %, predicted 100.00 %: the evaluator stops: an opened copy is garbled wrongly";
    assert!(human.contains(line), "{human}");
    assert_eq!(json["endings"][0]["ending"], "OpenedCopy");
    assert_eq!((json["endings"][0]["observed"].as_u64(), json["runs"].as_u64()), (Some(3), Some(3)));
    let (human, json) = good(&["row_15_flipped_colour", "--runs", "2"]);
    assert!(human.contains("the garbler stops: the evaluator sent forged labels"), "{human}");
    assert_eq!(json["cheater"], "evaluator");
    let (_, json) = good(&["row_14_opposite_label_among_4", "--runs", "20"]);
    let rates = json["endings"].as_array().unwrap().iter().map(|e| e["predicted_rate"].as_f64().unwrap());
    assert!((rates.sum::<f64>() - 1.0).abs() < 1e-9);
}

#[test]
fn what_is_no_attack_is_refused() {
    for (arguments, words) in [
        (&["row_99_magic"][..], "there is no attack called row_99_magic"),
        (&["row_05_flipped_table", "--runs", "0"], "--runs takes a number from 1"),
    ] {
        let human = run(arguments);
        let stderr = String::from_utf8_lossy(&human.stderr).into_owned();
        assert_eq!(human.status.code(), Some(2));
        assert!(stderr.contains(words) && stderr.contains("\nhint: ") && human.stdout.is_empty(), "{stderr}");
        let json = run(&[arguments, &["--json"]].concat());
        assert_eq!(json.status.code(), Some(2));
        let error = &object(&json)["error"];
        assert_eq!(error["code"], 2);
        assert!(error["message"].as_str().unwrap().contains(words), "{error}");
    }
}
