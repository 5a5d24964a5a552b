//! Runs the tutorial, command after command, as a reader would.

use super::*;

/// Splits a page at its code blocks: the text before a block, the word after the fence, and the block.
fn blocks(page: &str) -> Vec<(&str, &str, &str)> {
    let mut parts = page.split("```");
    let mut blocks = Vec::new();
    while let (Some(before), Some(block)) = (parts.next(), parts.next()) {
        let (word, text) = block.split_once('\n').expect("a fence ends its line");
        blocks.push((before, word, text));
    }
    blocks
}

/// Returns the last name in backquotes with this ending.
fn name<'t>(text: &'t str, ending: &str) -> &'t str {
    text.split('`')
        .rfind(|word| word.ends_with(ending))
        .unwrap_or_else(|| panic!("no name of a {ending} in\n{text}"))
}

fn page() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/getting-started/tutorial.md");
    std::fs::read_to_string(path).expect("the page")
}

/// Checks that a command printed the text of a page. In the page, a line of dots stands for any lines, and
/// dots at the end of a line for its rest.
fn is_shown(printed: &str, shown: &str) -> bool {
    fn all(printed: &[&str], shown: &[&str]) -> bool {
        match shown.split_first() {
            None => printed.is_empty(),
            Some((&"…", rest)) => (0..=printed.len()).any(|skipped| all(&printed[skipped..], rest)),
            Some((line, rest)) => {
                let Some((first, others)) = printed.split_first() else { return false };
                let is_it = match line.strip_suffix('…') {
                    Some(start) => first.strip_prefix(start).is_some_and(|numbers| !numbers.is_empty()),
                    None => first == line,
                };
                is_it && all(others, rest)
            }
        }
    }
    all(&printed.lines().collect::<Vec<_>>(), &shown.lines().collect::<Vec<_>>())
}

#[test]
fn dots_stand_for_numbers_and_for_lines() {
    let printed = "a 1\nb 2\nc 3\n";
    for shown in ["a 1\nb 2\nc 3", "a …\nb …\nc …", "a 1\n…", "…\nc 3\n", "…", "a …\n…\nc …", "…\nb …\n…"]
    {
        assert!(is_shown(printed, shown), "{shown}");
    }
    for shown in
        ["", "a 1", "b 2\nc 3", "a 1\nb 3\nc 3", "a 1\nb 2\nc 3…", "a …\nc …", "…\nb …", "a 1\n…\nd …"]
    {
        assert!(!is_shown(printed, shown), "{shown}");
    }
}

/// The page's advice on larger programs, and on operators in `main`, is right.
#[test]
fn the_advice_on_components_holds() {
    let page = page();
    let blocks = blocks(&page);
    let (.., inner) = blocks
        .iter()
        .find(|(before, word, _)| *word == "wir program" && name(before, ".wir") == "inner.wir")
        .expect("the program");
    let keys = Keys::new();
    let changed = |changes: &[(&str, &str)]| {
        changes.iter().fold((*inner).to_owned(), |text, (from, to)| {
            assert!(text.contains(from), "{from}");
            text.replace(from, to)
        })
    };
    let run = |text: &str, numbers: usize, more: &[&str]| {
        let source = keys.write("changed.wir", text.as_bytes());
        let value = format!("{{\"at\": {:?}}}", vec![3; numbers]);
        let value = format!("@{}", keys.write("value.json", value.as_bytes()));
        let fixed = ["run", &source, "--garbler", &value, "--evaluator", &value, "--timeout", "60"];
        let fixed = [&fixed[..], &["--protocol", "duplo"]].concat();
        good(&[&fixed[..], more].concat()).1
    };
    let batch = |json: &Value, name: &str| {
        let all = components_of(json);
        let number = |batch: &Value, field: &str| batch[field].as_u64().expect("a number");
        let of =
            all.iter().find(|batch| batch["name"] == name).unwrap_or_else(|| panic!("no {name}: {json}"));
        (number(of, "slots"), number(of, "bucket_size"))
    };

    // A large program whose function is called often runs with this function as a component, without any
    // flag.
    assert!(page.contains("200 numbers of 16 bits in place of 4 numbers of 4 bits"));
    let larger = changed(&[
        ("at[4]", "at[200]"),
        ("i < 4", "i < 200"),
        ("uint_t 4 digit", "uint_t 16 digit"),
        ("uint_t 8 byte", "uint_t 32 byte"),
    ]);
    let json = run(&larger, 200, &[]);
    assert_eq!((&json["cut"], &json["outputs"]["garbler"]), (&"given".into(), &1800.into()));
    assert_eq!(batch(&json, "multiply_add").0, 200);
    let planned = good(&["plan", &keys.file("changed.wir"), "--protocol", "duplo"]).1;
    let cuts = planned["decompositions"].as_array().expect("cuts");
    let seconds = |slots: u64| {
        let cut = cuts.iter().find(|cut| cut["slots"] == slots).unwrap_or_else(|| panic!("{planned}"));
        cut["seconds"].as_f64().expect("a number")
    };
    assert!(seconds(1) > 1.5 * seconds(201), "{planned}");

    // For a small program, every cut has the same result as the given one.
    let glued = changed(&[
        ("multiply_add(sum, input1.at[i], input2.at[i])", "sum + multiply(input1.at[i], input2.at[i])"),
        (
            "byte multiply_add(byte sum, digit a, digit b) { return sum + a ** b; }",
            "byte multiply(digit a, digit b) { return a ** b; }",
        ),
    ]);
    let json = run(&glued, 4, &["--cut", "given"]);
    assert_eq!(json["outputs"]["garbler"], 36);
    let (multiply, glue) = (batch(&json, "multiply"), batch(&json, "glue1"));
    assert_eq!((multiply.0, glue.0), (4, 1));
    assert!(glue.1 > multiply.1, "{json}");
    assert_eq!(run(&glued, 4, &[])["outputs"]["garbler"], 36);
}

#[test]
fn every_command_of_the_tutorial_works() {
    let page = page();
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
    let (mut parties, mut checked) = (Vec::new(), 0);
    for (before, word, block) in blocks(&page) {
        match word {
            "wir program" => write(name(before, ".wir"), block),
            "csv" => write("one.csv", block),
            // This block is the output of the last command.
            "" if !block.contains("$ ") => {
                assert!(is_shown(&shown, block), "{shown}");
                checked += 1;
            }
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
    assert_eq!(checked, 2, "outputs that the page shows");
    // Without a flag the run uses the cut of the file, or another cut, which the run then names.
    let default = done(&[
        "run",
        "inner.wir",
        "--garbler",
        "@one.json",
        "--evaluator",
        "@two.json",
        "--protocol",
        "duplo",
    ]);
    assert!(default.starts_with("The garbler learns 13\nThe evaluator learns nothing.\n"), "{default}");
    let (named, in_one_piece) = (default.contains("\nCut: "), default.contains("\n  main: 1 bucket of "));
    assert_eq!(
        (named, in_one_piece),
        (!default.contains("\n  multiply_add: 4 buckets of "), named),
        "{default}"
    );
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
    let mut alice = Child::spawn(&mut command(&alice.iter().map(String::as_str).collect::<Vec<_>>()));
    let address = address(&mut alice);
    let bob = changed(bob, &[("alice.example:7000", &address), ("brickwork1:ALICE…", &keys[0])]);
    assert!(
        done(&bob.iter().map(String::as_str).collect::<Vec<_>>()).starts_with("The evaluator learns nothing")
    );
    let alice = finish(alice);
    assert!(text(&alice.stdout).starts_with("The garbler learns 13\n"), "{}", text(&alice.stderr));
}
