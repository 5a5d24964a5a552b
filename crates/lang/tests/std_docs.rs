//! Compiles the examples of the documentation, and checks that they give the results in their comments.

mod common;

use brickwork_lang::{CompileOptions, Diagnostics, NoFiles, compile, std_library};
use common::run;

fn page(name: &str) -> String {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// Returns the blocks of a page whose fence is "```wir" with further words, and these words.
fn blocks(page: &str) -> Vec<(String, String)> {
    let mut blocks: Vec<(String, String)> = Vec::new();
    let mut inside = false;
    for line in page.lines() {
        match line.strip_prefix("```") {
            Some(_) if inside => inside = false,
            Some(words) if words.starts_with("wir") => {
                inside = true;
                blocks.push((words["wir".len()..].trim().to_owned(), String::new()));
            }
            _ if inside => {
                let text = &mut blocks.last_mut().expect("the block that is open").1;
                text.push_str(line);
                text.push('\n');
            }
            _ => {}
        }
    }
    assert!(!inside, "a block is not closed");
    blocks
}

/// Returns the texts of an example's comments.
fn comments(source: &str) -> Vec<&str> {
    source.split("/*").skip(1).map(|rest| rest.split("*/").next().unwrap_or(rest).trim()).collect()
}

fn has_code(diagnostics: &Diagnostics, code: &str) -> bool {
    diagnostics.list().iter().any(|d| d.code == code)
}

/// Compiles an example, and returns how many of its comments were checked.
fn check(source: &str, shown: &str) -> usize {
    let result = compile("example.wir", source, &NoFiles, &CompileOptions::default());
    let refusal = comments(shown).into_iter().find_map(|c| c.strip_prefix("refused: "));
    if let Some(code) = refusal {
        let errors = result.err().unwrap_or_else(|| panic!("this compiles:\n{shown}"));
        assert!(has_code(&errors, code), "not {code}:\n{}", errors.render(false));
        return 1;
    }
    let compiled = result.unwrap_or_else(|e| panic!("{}\n{shown}", e.render(false)));
    let (program, mut checked, mut warned) = (compiled.program, 0, false);
    for comment in comments(shown) {
        if let Some(code) = comment.strip_prefix("warned: ") {
            assert!(
                has_code(&compiled.warnings, code),
                "no {code}:\n{}\n{shown}",
                compiled.warnings.render(false)
            );
            warned = true;
        } else if let Some(gates) = comment.strip_prefix("ANDs: ") {
            assert_eq!(program.and_gates().to_string(), gates, "{shown}");
        } else if let Some(cut) = comment.strip_prefix("components: ") {
            let slots = program.slots_by_component();
            let found: Vec<String> =
                program.components().iter().zip(slots).map(|(c, n)| format!("{} {n}", c.name)).collect();
            assert_eq!(found.join(", "), cut, "{shown}");
        } else if let Some((inputs, output)) = comment.split_once(" -> ") {
            let number =
                |text: &str| text.trim().parse::<u128>().unwrap_or_else(|e| panic!("{text}: {e}\n{shown}"));
            let (garbler, evaluator) =
                inputs.split_once(',').unwrap_or_else(|| panic!("two inputs: {comment}"));
            assert_eq!(
                run(&program, number(garbler), number(evaluator)),
                number(output),
                "{comment}\n{shown}"
            );
        } else {
            continue;
        }
        checked += 1;
    }
    assert!(warned || compiled.warnings.is_empty(), "{}\n{shown}", compiled.warnings.render(false));
    checked
}

#[test]
fn examples_of_the_language_reference() {
    let page = page("reference/language.md");
    let blocks = blocks(&page);
    let header = &blocks.iter().find(|(words, _)| words == "header").expect("the header").1;
    let mut checked = 0;
    for (words, text) in &blocks {
        let here = match words.as_str() {
            "header" => continue,
            "program" => check(text, text),
            "" => check(
                &format!("{header}function void main() {{ u8 x = input1; u8 y = input2;\n{text}\n}}"),
                text,
            ),
            other => panic!("a block of an unknown kind: {other}"),
        };
        assert!(here > 0, "nothing is checked in\n{text}");
        checked += here;
    }
    assert!(checked >= 30, "{checked}");
}

#[test]
fn examples_of_the_tutorial_and_of_the_libraries() {
    for (name, least) in [("getting-started/tutorial.md", 4), ("reference/library.md", 3)] {
        let page = page(name);
        let blocks = blocks(&page);
        assert!(blocks.len() >= least);
        for (words, text) in &blocks {
            assert_eq!(words, "program");
            assert!(check(text, text) > 0, "nothing is checked in\n{text}");
        }
    }
}

#[test]
fn every_file_of_the_library_is_described() {
    let page = page("reference/language.md");
    for file in std_library() {
        let row = format!(
            "| `{}` | {} | {} |",
            file.name,
            if file.example.is_some() { "program" } else { "library" },
            file.summary
        );
        assert!(page.contains(&row), "docs/reference/language.md lacks the row\n{row}");
    }
}
