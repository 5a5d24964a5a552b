//! The tutorial, command for command, as somebody who reads it does it.

use super::*;

/// A page, cut at its fences: what stands before a block, the word after the fence, and the block.
fn blocks(page: &str) -> Vec<(&str, &str, &str)> {
    let mut parts = page.split("```");
    let mut blocks = Vec::new();
    while let (Some(before), Some(block)) = (parts.next(), parts.next()) {
        let (word, text) = block.split_once('\n').expect("a fence ends its line");
        blocks.push((before, word, text));
    }
    blocks
}

/// The last name in backquotes with this ending.
fn name<'t>(text: &'t str, ending: &str) -> &'t str {
    text.split('`')
        .rfind(|word| word.ends_with(ending))
        .unwrap_or_else(|| panic!("no name of a {ending} in\n{text}"))
}

#[test]
fn every_command_of_the_tutorial_works() {
    let page = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/tutorial.md"))
        .expect("the page");
    let folder = TempDir::new().expect("a folder");
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).expect("a file");
    let command = |arguments: &[&str]| {
        let mut command = brickwork(arguments);
        command.current_dir(folder.path());
        command
    };
    let done = |arguments: &[&str]| {
        let output = command(arguments).output().expect("the command starts");
        assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", text(&output.stderr));
        text(&output.stdout)
    };
    for (name, value) in [("one.json", "{\"at\": [1, 2, 3, 4]}"), ("two.json", "{\"at\": [2, 2, 1, 1]}")] {
        assert!(page.contains(&format!("`{value}` into `{name}`")), "{name}");
        write(name, value);
    }

    let mut shown = String::new();
    let mut parties = Vec::new();
    for (before, word, block) in blocks(&page) {
        match word {
            "wir program" => write(name(before, ".wir"), block),
            "csv" => write("one.csv", block),
            // What the last command prints begins so.
            "" if !block.contains("$ ") => assert!(shown.starts_with(block), "{shown}"),
            "" => {
                for line in block.lines() {
                    let (who, words) = line.split_once('$').expect("a prompt");
                    let words: Vec<_> = words.split_whitespace().skip(1).collect();
                    match who {
                        "" => shown = done(&words),
                        _ => parties.push(words),
                    }
                }
            }
            other => panic!("a block of an unknown kind: {other}"),
        }
    }
    assert_eq!(
        done(&["run", "inner.wir", "--garbler", "@one.csv", "--evaluator", "@two.json"]).lines().next(),
        Some("The garbler learns 13")
    );

    let [keygen_alice, keygen_bob, alice, bob] = &parties[..] else { panic!("four commands: {parties:?}") };
    let keys = [keygen_alice, keygen_bob]
        .map(|words| done(words).split_whitespace().last().expect("a key").to_owned());
    let changed = |words: &[&str], changes: &[(&str, &str)]| {
        let change = |word: &&str| {
            changes.iter().find(|(from, _)| from == word).map_or(*word, |(_, to)| to).to_owned()
        };
        words.iter().map(change).collect::<Vec<_>>()
    };
    let alice = changed(alice, &[("0.0.0.0:7000", "127.0.0.1:0"), ("brickwork1:BOB…", &keys[1])]);
    let mut alice =
        command(&alice.iter().map(String::as_str).collect::<Vec<_>>()).spawn().expect("the command starts");
    let address = address(&mut alice);
    let bob = changed(bob, &[("alice.example:7000", &address), ("brickwork1:ALICE…", &keys[0])]);
    assert!(
        done(&bob.iter().map(String::as_str).collect::<Vec<_>>()).starts_with("The evaluator learns nothing")
    );
    let alice = finish(alice);
    assert!(text(&alice.stdout).starts_with("The garbler learns 13\n"), "{}", text(&alice.stderr));
}
