//! `demo-cheat`, and that cheating stays there.

use std::path::Path;

use super::*;

#[test]
fn attacks_are_listed_and_played() {
    let (human, json) = good(&["demo-cheat"]);
    let attacks = json["attacks"].as_array().unwrap();
    assert!(attacks.len() > 30);
    for attack in attacks {
        let (id, story) = (attack["attack"].as_str().unwrap(), attack["story"].as_str().unwrap());
        assert!(human.contains(id) && human.contains(story));
        let alike = attacks.iter().filter(|other| other["story"] == story).count();
        assert_eq!(alike, 1, "each has a description of its own: {id}");
    }
    let (human, json) = good(&["demo-cheat", "row_05_flipped_table", "--runs", "3"]);
    assert!(
        human
            .contains("100.00 %, predicted 100.00 %: the evaluator stops: an opened copy is garbled wrongly"),
        "{human}"
    );
    assert_eq!(json["endings"][0]["ending"], "OpenedCopy");
    assert_eq!((json["endings"][0]["observed"].as_u64(), json["runs"].as_u64()), (Some(3), Some(3)));
    let (human, json) = good(&["demo-cheat", "row_15_flipped_colour", "--runs", "2"]);
    assert!(human.contains("the garbler stops: forged labels"), "{human}");
    assert_eq!(json["cheater"], "evaluator");
    let (_, json) = good(&["demo-cheat", "row_14_opposite_label_among_4", "--runs", "20"]);
    let predicted: f64 =
        json["endings"].as_array().unwrap().iter().map(|e| e["predicted_rate"].as_f64().unwrap()).sum();
    assert!((predicted - 1.0).abs() < 1e-9);
}

#[test]
fn what_is_no_attack_is_refused() {
    bad(&["demo-cheat", "row_99_magic"], 2, "there is no attack called row_99_magic");
    bad(&["demo-cheat", "row_05_flipped_table", "--runs", "0"], 2, "0");
}

/// The hooks are part of this build. The other commands cannot reach them: no other file names them.
#[test]
fn only_demo_cheat_knows_the_adversary() {
    fn search(folder: &Path, found: &mut Vec<String>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                search(&path, found);
            } else if std::fs::read_to_string(&path).unwrap().contains("adversary") {
                found.push(path.file_name().unwrap().to_string_lossy().into());
            }
        }
    }
    let mut found = Vec::new();
    search(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/src")), &mut found);
    assert_eq!(found, ["demo_cheat.rs"]);
}
