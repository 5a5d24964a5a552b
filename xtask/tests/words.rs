//! Comments and pages are understood at first sight: no sentence begins with a free relative ("What a store
//! holds is …"), and none has more than [`WORDS`] words. The files that still have such sentences are listed
//! in `words.exceptions` with their number, which may only go down.

mod files;

use std::collections::BTreeMap;
use std::path::Path;

/// The longest sentence, in words.
const WORDS: usize = 40;

/// Words that begin a free relative. A question may begin with them.
const RELATIVES: [&str; 9] =
    ["What", "Whatever", "Who", "Whoever", "Whom", "Whose", "Whether", "Whichever", "Which"];

/// Prepositions before a relative: "Of which", "From what".
const PREPOSITIONS: [&str; 9] = ["At", "By", "For", "From", "In", "Of", "On", "To", "With"];

/// Abbreviations whose point ends no sentence.
const ABBREVIATIONS: [&str; 8] = ["e.g.", "i.e.", "cf.", "vs.", "Fig.", "Sec.", "al.", "no."];

/// A sentence, and the line on which its paragraph begins.
struct Sentence {
    line: usize,
    text: String,
}

impl Sentence {
    /// Says why a newcomer would have to read this twice, if there is a reason.
    fn fault(&self) -> Option<String> {
        let mut words = self.text.split_whitespace().filter(|word| word.chars().any(char::is_alphanumeric));
        let count = words.clone().count();
        let bare = |word: &str| word.trim_matches(|c: char| !c.is_alphanumeric()).to_owned();
        let (first, second) = (words.next().map(bare)?, words.next().map(bare).unwrap_or_default());
        let relative = RELATIVES.contains(&first.as_str())
            || PREPOSITIONS.contains(&first.as_str())
                && RELATIVES.iter().any(|word| word.eq_ignore_ascii_case(&second))
                && second.starts_with(char::is_lowercase);
        if relative && !self.text.trim_end().ends_with('?') {
            return Some("begins with a free relative".into());
        }
        (count > WORDS).then(|| format!("has {count} words"))
    }
}

/// Splits a paragraph into sentences.
fn sentences(line: usize, paragraph: &str) -> Vec<Sentence> {
    let (mut found, mut text) = (Vec::new(), String::new());
    let mut words = paragraph.split_whitespace().peekable();
    while let Some(word) = words.next() {
        text.push_str(word);
        text.push(' ');
        let closed = word.trim_end_matches(['"', '”', ')', '*', '_', '`']);
        let ends = closed.ends_with(['.', '!', '?']) && !ABBREVIATIONS.contains(&closed);
        let begins = words.peek().is_none_or(|next| {
            let next = next.trim_start_matches(['"', '“', '(', '*', '_', '[', '`']);
            next.starts_with(|c: char| c.is_uppercase() || c.is_numeric()) || next.is_empty()
        });
        if ends && begins {
            found.push(Sentence { line, text: std::mem::take(&mut text) });
        }
    }
    found.push(Sentence { line, text });
    found
}

/// Gathers the paragraphs of prose: a blank line, an item of a list, a heading, a row of a table and a fence
/// end one.
#[derive(Default)]
struct Prose {
    fenced: bool,
    begun: usize,
    paragraph: String,
    found: Vec<Sentence>,
}

impl Prose {
    fn line(&mut self, number: usize, line: &str) {
        let start = line.trim_start();
        if start.starts_with("```") || start.starts_with("~~~") {
            self.fenced = !self.fenced;
            return self.end();
        }
        if self.fenced || start.is_empty() || start.starts_with(['|', '<']) {
            return self.end();
        }
        let item = start.trim_start_matches(|c: char| c.is_ascii_digit());
        let (bullet, rest) = match start.split_once(' ') {
            Some((mark, rest)) if ["-", "*", "+"].contains(&mark) || mark.chars().all(|c| c == '#') => {
                (true, rest)
            }
            _ if item.len() < start.len() && item.starts_with(". ") => (true, &item[2..]),
            _ => (false, start),
        };
        if bullet {
            self.end();
        }
        if self.paragraph.is_empty() {
            self.begun = number;
        }
        self.paragraph.push_str(rest.trim_start_matches("> "));
        self.paragraph.push(' ');
        if start.starts_with('#') {
            self.end();
        }
    }

    fn end(&mut self) {
        let paragraph = std::mem::take(&mut self.paragraph);
        self.found.extend(sentences(self.begun, &paragraph));
    }
}

/// Returns the sentences of a page.
fn of_markdown(text: &str) -> Vec<Sentence> {
    let mut prose = Prose::default();
    for (number, line) in (1..).zip(text.lines()) {
        prose.line(number, line);
    }
    prose.end();
    prose.found
}

/// Returns the sentences of comments that fill their lines, which begin with this mark.
fn of_comments(text: &str, marks: &[&str]) -> Vec<Sentence> {
    let (mut prose, mut last) = (Prose::default(), None);
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.trim_start();
        let mark = marks.iter().find(|mark| line.starts_with(**mark));
        if mark != last {
            prose.end();
            prose.fenced = false;
            last = mark;
        }
        if let Some(mark) = mark {
            prose.line(number, &line[mark.len()..]);
        }
    }
    prose.end();
    prose.found
}

/// Returns the sentences of the documentation and the comments of a Rust file.
fn of_rust(text: &str) -> Vec<Sentence> {
    of_comments(text, &["///", "//!", "//"])
}

/// Returns the sentences of a Python file: comments, and strings between three quotes.
fn of_python(text: &str) -> Vec<Sentence> {
    let mut found = of_comments(text, &["#"]);
    let mut line = 1;
    for (place, part) in text.split("\"\"\"").enumerate() {
        if place % 2 == 1 {
            found.extend(of_markdown(part).into_iter().map(|s| Sentence { line: s.line + line - 1, ..s }));
        }
        line += part.matches('\n').count();
    }
    found
}

/// Returns the sentences of the comments of a configuration or a script.
fn of_hashes(text: &str) -> Vec<Sentence> {
    of_comments(text, &["#"])
}

/// A reader of the sentences of one kind of file.
type Reader = fn(&str) -> Vec<Sentence>;

/// Lists each fault, with the file and its line.
fn faults() -> BTreeMap<String, Vec<String>> {
    let kinds: [(&str, Reader); 4] =
        [("rs", of_rust), ("md", of_markdown), ("py", of_python), ("toml", of_hashes)];
    let mut found = BTreeMap::<String, Vec<String>>::new();
    for (extension, of) in kinds {
        for (path, text) in files::texts(extension) {
            let path = path.display().to_string();
            for sentence in of(&text) {
                if let Some(fault) = sentence.fault() {
                    let start: String = sentence.text.chars().take(70).collect();
                    let row = format!("{path}:{}: {fault}: {}", sentence.line, start.trim_end());
                    found.entry(path.clone()).or_default().push(row);
                }
            }
        }
    }
    found
}

/// Reads the list of exceptions: a number and a path a line.
fn exceptions() -> BTreeMap<String, usize> {
    let list = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/words.exceptions");
    let text = std::fs::read_to_string(list).expect("the list is there");
    let rows = text.lines().filter(|line| !line.starts_with('#'));
    rows.map(|row| {
        let (count, path) = row.split_once(' ').expect("a number and a path");
        (path.to_owned(), count.parse().expect("a number"))
    })
    .collect()
}

/// No file has more unclear sentences than the list of exceptions allows.
#[test]
fn sentences_are_plain() {
    let allowed = exceptions();
    let mut failed = String::new();
    for (path, rows) in faults() {
        let most = allowed.get(&path).copied().unwrap_or_default();
        if rows.len() > most {
            failed +=
                &format!("{path}: {} sentences, {most} are allowed\n  {}\n", rows.len(), rows.join("\n  "));
        }
    }
    assert!(failed.is_empty(), "name the subject, then the verb; one idea a sentence:\n{failed}");
}

/// Each kind of unclear sentence is found, and plain ones are not.
#[test]
fn unclear_sentences_are_found() {
    let long = "word ".repeat(WORDS + 1);
    let page = format!(
        "# What this is\n\nA run ends. What it\ntook is gone.\n\n- Of which one\n  is good.\n\
         - Plain, e.g. this. Who asks?\n\n\
         ```\nWhat\n```\n| What |\n{long}"
    );
    let found =
        |all: Vec<Sentence>| all.iter().filter(|s| s.fault().is_some()).map(|s| s.line).collect::<Vec<_>>();
    assert_eq!(found(of_markdown(&page)), [1, 3, 6, 14]);
    assert_eq!(
        found(of_rust("/// Runs.\n/// Whether it ran.\nfn f() {}\n// Whose it is.\nlet x = 1;")),
        [1, 4]
    );
    assert_eq!(found(of_python("\"\"\"Runs.\n\nWhat for.\"\"\"\nx = 1\n# Who it is for.\n")), [5, 3]);
    assert_eq!(found(of_hashes("# Which one.\nx = 1 # fine\n")), [1]);
}
