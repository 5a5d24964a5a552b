//! Comments, pages and texts of messages are plain: no sentence begins with a free relative ("What a store
//! holds is …"), and none has more than [`WORDS`] words. `words.exceptions` lists the files that still have
//! such sentences, with their number. The number must be exact, and the sum is at most [`EXCEPTIONS`], so the
//! list only shrinks.

mod files;

use std::collections::BTreeMap;
use std::path::Path;

use proc_macro2::{TokenStream, TokenTree};

/// The longest sentence, in words.
const WORDS: usize = 35;

/// The sum of all exceptions. Lower it when the list has become shorter.
const EXCEPTIONS: usize = 73;

/// Words that begin a free relative. A question may begin with them.
const RELATIVES: [&str; 9] =
    ["What", "Whatever", "Who", "Whoever", "Whom", "Whose", "Whether", "Whichever", "Which"];

/// Prepositions before a relative: "Of which", "From what".
const PREPOSITIONS: [&str; 9] = ["At", "By", "For", "From", "In", "Of", "On", "To", "With"];

/// Abbreviations whose point ends no sentence.
const ABBREVIATIONS: [&str; 8] = ["e.g.", "i.e.", "cf.", "vs.", "Fig.", "Sec.", "al.", "no."];

/// A sentence, and the line on which its paragraph begins.
#[derive(Clone)]
struct Sentence {
    line: usize,
    text: String,
}

impl Sentence {
    /// Returns the reason why a newcomer would have to read this twice, if there is one.
    fn fault(&self) -> Option<String> {
        let mut words = self.text.split_whitespace().filter(|word| word.chars().any(char::is_alphanumeric));
        let count = words.clone().count();
        let bare = |word: &str| word.trim_matches(|c: char| !c.is_alphanumeric()).to_owned();
        let (first, second) = (words.next().map(bare)?, words.next().map(bare).unwrap_or_default());
        let relative = RELATIVES.contains(&first.as_str())
            || PREPOSITIONS.contains(&first.as_str())
                && RELATIVES.iter().any(|word| word.eq_ignore_ascii_case(&second))
                && second.starts_with(char::is_lowercase);
        // A word alone is a name.
        if relative && count > 1 && !self.text.trim_end().ends_with('?') {
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
        // Such a word with a capital letter begins a sentence even after a colon or an unfinished line.
        let relative = words.peek().is_some_and(|next| RELATIVES.contains(next));
        if ends && begins || relative {
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

/// Returns the sentences of comments that begin with one of these marks. A comment has its own lines, or
/// comes after code on a line.
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
        let behind = || marks.iter().find_map(|mark| line.rsplit_once(&format!(" {mark} ")));
        if let Some(mark) = mark {
            prose.line(number, &line[mark.len()..]);
        } else if let Some((_, comment)) = behind() {
            prose.line(number, comment);
            prose.end();
        }
    }
    prose.end();
    prose.found
}

/// Returns the sentences of the documentation, the comments and the texts of a Rust file.
fn of_rust(text: &str) -> Vec<Sentence> {
    let mut found = of_comments(text, &["///", "//!", "//"]);
    of_literals(text.parse().expect("Rust"), &mut found);
    found
}

/// Adds the sentences of the strings among these tokens. Documentation, which is a string to the compiler, is
/// left out.
fn of_literals(tokens: TokenStream, found: &mut Vec<Sentence>) {
    let mut documents = false;
    for token in tokens {
        match &token {
            TokenTree::Group(group) => of_literals(group.stream(), found),
            TokenTree::Literal(literal) if !documents => {
                let line = literal.span().start().line;
                if let Ok(text) = syn::parse_str::<syn::LitStr>(&literal.to_string()) {
                    found.extend(of_markdown(&text.value()).into_iter().map(|s| Sentence { line, ..s }));
                }
            }
            _ => {}
        }
        documents = match token {
            TokenTree::Ident(name) => name == "doc",
            TokenTree::Punct(sign) => documents && sign.as_char() == '=',
            _ => false,
        };
    }
}

/// Returns the sentences of every second part between these marks, for comments and strings of several lines.
fn of_parts(text: &str, open: &str, close: &str) -> Vec<Sentence> {
    let (mut found, mut line, mut rest) = (Vec::new(), 0, text);
    while let Some((before, part)) = rest.split_once(open) {
        let (part, behind) = part.split_once(close).unwrap_or((part, ""));
        line += before.matches('\n').count();
        found.extend(of_markdown(part).into_iter().map(|s| Sentence { line: s.line + line, ..s }));
        line += part.matches('\n').count();
        rest = behind;
    }
    found
}

/// Returns the sentences of the comments of a program in Wir.
fn of_wir(text: &str) -> Vec<Sentence> {
    [of_comments(text, &["//"]), of_parts(text, "/*", "*/")].concat()
}

/// Returns the sentences of a Python file: comments, and strings between three quotes.
fn of_python(text: &str) -> Vec<Sentence> {
    [of_comments(text, &["#"]), of_parts(text, "\"\"\"", "\"\"\"")].concat()
}

/// Returns the sentences of the comments of a configuration or a script.
fn of_hashes(text: &str) -> Vec<Sentence> {
    of_comments(text, &["#"])
}

/// A reader of the sentences of one kind of file.
type Reader = fn(&str) -> Vec<Sentence>;

/// Lists each fault, with the file and its line.
fn faults() -> BTreeMap<String, Vec<String>> {
    let kinds: [(&str, Reader); 5] =
        [("rs", of_rust), ("md", of_markdown), ("py", of_python), ("toml", of_hashes), ("wir", of_wir)];
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

/// Reads the list of exceptions, whose lines have a number and a path.
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

/// Each file has as many unclear sentences as the list of exceptions says, and the list does not grow.
#[test]
fn sentences_are_plain() {
    let allowed = exceptions();
    let sum: usize = allowed.values().sum();
    assert!(sum <= EXCEPTIONS, "{sum} exceptions, at most {EXCEPTIONS} are allowed: mend the sentences");
    let (mut failed, found) = (String::new(), faults());
    for (path, rows) in &found {
        let most = allowed.get(path).copied().unwrap_or_default();
        if rows.len() > most {
            failed +=
                &format!("{path}: {} sentences, {most} are allowed\n  {}\n", rows.len(), rows.join("\n  "));
        }
    }
    assert!(failed.is_empty(), "name the subject, then the verb; one idea a sentence:\n{failed}");
    for (path, most) in &allowed {
        let left = found.get(path).map_or(0, Vec::len);
        assert_eq!(left, *most, "{path} has fewer than words.exceptions says: lower its number there");
    }
}

/// Each kind of unclear sentence is found, and plain ones are not. (`~` stands for "Wh", so this file has
/// none itself.)
#[test]
fn unclear_sentences_are_found() {
    let long = "word ".repeat(WORDS + 1);
    let page = format!(
        "# ~at this is\n\nA run ends. ~at it\ntook is gone.\n\n- Of which one\n  is good.\n\
         - Plain, e.g. this. ~o asks?\n\n\
         ```\n~at\n```\n| ~at |\n{long}"
    );
    let found = |reader: Reader, text: &str| {
        let sentences = reader(&text.replace('~', "Wh"));
        sentences.iter().filter(|s| s.fault().is_some()).map(|s| s.line).collect::<Vec<_>>()
    };
    assert_eq!(found(of_markdown, &page), [1, 3, 6, 14]);
    let rust = "/// Runs.\n/// ~ether it ran.\nfn f() {}\n// ~ose it is.\nlet x = 1;";
    assert_eq!(found(of_rust, rust), [1, 4]);
    assert_eq!(found(of_rust, "// Ends: ~at it\n// holds\n// ~ich is.\nx(1); // ~o it is."), [1, 1, 4]);
    let text = "#[doc = \"~ose\"]\nfn f() {\n    g(\"It ran. ~at \\\n  ran is gone\")\n}";
    assert_eq!(found(of_rust, text), [3]);
    assert_eq!(found(of_python, "\"\"\"Runs.\n\n~at for.\"\"\"\nx = 1\n# ~o it is for.\n"), [5, 3]);
    assert_eq!(found(of_hashes, "# ~ich one.\nx = 1 # fine\n"), [1]);
    let wir = "/* Runs. ~oever\n   runs. */\nu8 a; // ~ose it is.\n/*@ x */ /* ~at for. */";
    assert_eq!(found(of_wir, wir), [3, 1, 4]);
}
