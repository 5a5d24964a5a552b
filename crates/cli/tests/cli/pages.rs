//! Tests that `brickwork` knows the commands in the documentation.

use brickwork_testing::pages::{all, commands};

use super::*;

/// The command knows all flags in each command of a page: with `--help` at the end, it prints its help only
/// if it knows the flags before.
#[test]
fn commands_of_the_pages_are_known() {
    let (mut wrong, mut checked) = (Vec::new(), 0);
    for (page, text) in all() {
        // The programs behind `bench` and `sql` know their own commands.
        let others = ["bench", "sql"];
        for words in commands(&text).into_iter().filter(|words| !others.contains(&&*words[0])) {
            let words: Vec<&str> = words.iter().map(String::as_str).chain(["--help"]).collect();
            let output = run(&words);
            // The files that pages mention do not exist here.
            let said = super::text(&output.stderr);
            if output.status.code() != Some(0) && !said.contains("there is no such file") {
                wrong.push(format!("{page}: {words:?}: {said}"));
            }
            checked += 1;
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(checked > 40, "{checked}");
}

#[test]
fn commands_are_found() {
    let page = "a\n```\nalice$ brickwork run a \\\n  --json > b  # says it\n\
                $ cargo run --release -- info … 'b'\nbrick\n```\n`brickwork x`\n\
                ```text\nbrickwork y\n```\n```sh\nbrickwork z\n```\n";
    assert_eq!(commands(page), [&["run", "a", "--json"][..], &["info", "b"], &["z"]]);
    assert_eq!(run(&["run", "--no-such-flag", "--help"]).status.code(), Some(2));
}

/// The README's first command runs a program on real inputs, and prints what the README shows, except for the
/// numbers. The second command runs all tests.
#[test]
fn the_readme_shows_what_a_run_prints() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let readme = std::fs::read_to_string(root.join("README.md")).expect("the README");
    let (_, block) = readme.split_once("\n```\n").expect("a block of commands");
    let (block, behind) = block.split_once("\n```\n").expect("its end");
    assert_eq!(block.lines().nth(1), Some("cargo xtask test"));

    let words = commands(&readme).swap_remove(0);
    assert!(block.starts_with("cargo run ") && block.contains(&words.join(" ")), "{words:?}");
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let output = brickwork(&words).current_dir(&root).output().expect("the command starts");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));

    let (_, shown) = behind.split_once("\n```text\n").expect("a block of output");
    let (shown, _) = shown.split_once("\n```").expect("its end");
    let words = |line: &str| line.replace(|c: char| c.is_ascii_digit() || c == '.', "");
    let printed = text(&output.stdout);
    assert!(printed.lines().count() >= shown.lines().count(), "{printed}");
    for (shown, printed) in shown.lines().zip(printed.lines()) {
        let (shown, printed) = (words(shown), words(printed));
        match shown.strip_suffix('…') {
            Some(begin) => assert!(printed.starts_with(begin), "{printed}"),
            None => assert_eq!(shown, printed),
        }
    }
    assert!(shown.contains("learns {\"alice\":1,\"bob\":0}\n") && printed.contains("alice\":1,\"bob\":0}\n"));
}
