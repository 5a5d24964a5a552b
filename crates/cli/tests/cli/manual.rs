//! Tests completions, manual pages, and the texts for errors of the system.

use std::collections::BTreeSet;

use super::*;

/// Returns the flags in a text.
fn flags(text: &str) -> BTreeSet<String> {
    let word = |word: &str| {
        let end = word.find(|c: char| !c.is_ascii_lowercase() && c != '-').unwrap_or(word.len());
        word[..end].trim_end_matches('-').to_owned()
    };
    let flags = text.match_indices("--").map(|(at, _)| word(&text[at..]));
    flags.filter(|flag| flag.len() > 2).collect()
}

/// Returns the commands that `brickwork --help` lists.
fn commands() -> Vec<String> {
    let help = text(&run(&["--help"]).stdout);
    let list = help.split("Commands:\n").nth(1).and_then(|list| list.split("\n\n").next()).expect("a list");
    let names: Vec<String> =
        list.lines().filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect();
    assert!(names.len() > 12 && names.iter().any(|name| name == "run"), "{help}");
    names.into_iter().filter(|name| name != "help").collect()
}

#[test]
fn shells_complete_every_command_and_flag() {
    for shell in ["bash", "zsh", "fish"] {
        let (script, json) = good(&["completions", shell]);
        assert_eq!((json["shell"].as_str(), json["script"].as_str()), (Some(shell), Some(&script[..])));
        for command in commands() {
            assert!(script.contains(&command), "{shell}: {command}");
        }
        // The script for fish writes flags without dashes.
        for flag in flags(&text(&run(&["garbler", "--help"]).stdout)) {
            assert!(script.contains(flag.trim_start_matches('-')), "{shell}: {flag}");
        }
    }
    bad(&["completions", "no-shell"], 2, "no-shell");

    // If bash is installed, it completes a command with the script.
    let line =
        "COMP_WORDS=(brickwork st); COMP_CWORD=1; _brickwork brickwork st brickwork; echo ${COMPREPLY[*]}";
    let script = format!("{}\n{line}", text(&run(&["completions", "bash"]).stdout));
    if let Ok(output) = Command::new("bash").args(["--norc", "-c", &script]).output() {
        assert_eq!(text(&output.stdout), "stock\n", "{}", text(&output.stderr));
    }
}

#[test]
fn pages_say_what_help_says() {
    let folder = TempDir::new().expect("a folder");
    let (_, json) = good(&["man", "-o", &path(&folder.path().join("man1"))]);
    assert!(json["written"].as_array().unwrap().len() > commands().len());
    let page = |name: &str| {
        let page = std::fs::read_to_string(folder.path().join("man1").join(name)).expect("a page");
        assert!(page.contains(&format!(".TH {} 1", name.trim_end_matches(".1"))), "{page}");
        page.replace("\\-", "-")
    };
    let main = page("brickwork.1");
    assert_eq!(text(&run(&["man"]).stdout).replace("\\-", "-"), main);
    for command in commands() {
        assert!(main.contains(&format!("brickwork-{command}(1)")), "{command}: {main}");
        let page = page(&format!("brickwork-{command}.1"));
        if command == "bench" || command == "sql" {
            // The help of this command is that of another program, which the page names.
            assert!(page.contains(&format!("`brickwork-{command}`")), "{page}");
            continue;
        }
        let (help, page) = (flags(&text(&run(&[&command[..], "--help"]).stdout)), flags(&page));
        assert!(help.contains("--json"));
        let missing: Vec<_> = help.difference(&page).collect();
        assert!(missing.is_empty(), "{command}: {missing:?}");
    }
    assert!(page("brickwork-stock-ls.1").contains("brickwork stock ls"));
}

#[test]
fn the_systems_errors_are_in_words() {
    let keys = Keys::new();
    let (file, own) = (example("millionaires.bwp"), keys.file("garbler.key"));
    let below = format!("{own}/below");
    let long = keys.file(&"x".repeat(300));
    let cases: [(&[&str], i32, &str); 9] = [
        (&["keygen", "-o", &own], 1, "a file with this name already exists"),
        (&["keygen", "-o", &keys.file("no/such")], 1, "there is no such file or folder"),
        (&["keygen", "-o", &below], 1, "a part of the path is a file, not a folder"),
        (&["keygen", "-o", &long], 1, "a file cannot have this name"),
        (&["compile", &file, "-o", &keys.file("")], 1, "the path is a folder"),
        (&["man", "-o", &own], 1, "a file with this name already exists"),
        (&["info", &keys.file("absent")], 3, "there is no such file or folder"),
        (&["info", &keys.file("")], 3, "the path is a folder"),
        (&["info", &below], 3, "a part of the path is a file, not a folder"),
    ];
    for (arguments, code, words) in cases {
        bad(arguments, code, words);
    }
    #[cfg(target_os = "linux")]
    bad(&["compile", &file, "-o", "/dev/full"], 1, "cannot write /dev/full: the disk is full");
}
