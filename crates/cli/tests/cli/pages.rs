//! Tests that `brickwork` knows the commands in the documentation.

use super::*;

/// Returns the pages of the project: the README, and all files below `docs`.
fn pages() -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let (mut found, mut open) = (vec![root.join("README.md")], vec![root.join("docs")]);
    while let Some(folder) = open.pop() {
        for path in std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path())
        {
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|extension| extension == "md") {
                found.push(path);
            }
        }
    }
    let read = |page: &std::path::PathBuf| std::fs::read_to_string(page).expect("a page");
    found.iter().map(|page| (path(page), read(page))).collect()
}

/// Returns the arguments of each `brickwork` command in a fenced block, with or without a prompt, and without
/// comments. A line that ends in a backslash continues on the next one.
fn commands(page: &str) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    for (place, block) in page.split("\n```").enumerate() {
        let Some((word, block)) = block.split_once('\n').filter(|_| place % 2 == 1) else { continue };
        if !matches!(word, "" | "sh") {
            continue;
        }
        for line in block.replace("\\\n", " ").lines() {
            let line = line.split_once("$ ").map_or(line, |(_, behind)| behind);
            let line = line.split(" #").next().and_then(|line| line.split(" > ").next());
            let line = line.unwrap_or_default().trim();
            let own = ["brickwork ", "cargo run --release -- "];
            if let Some(words) = own.iter().find_map(|start| line.strip_prefix(start)) {
                let words = words.split_whitespace().filter(|word| *word != "…");
                found.push(words.map(|word| word.trim_matches('\'').to_owned()).collect());
            }
        }
    }
    found
}

/// The command knows all flags in each command of a page: with `--help` at the end, it prints its help only
/// if it knows the flags before.
#[test]
fn commands_of_the_pages_are_known() {
    let (mut wrong, mut checked) = (Vec::new(), 0);
    for (page, text) in pages() {
        for words in commands(&text) {
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
