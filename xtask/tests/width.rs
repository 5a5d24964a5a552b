//! Tests that a line has at most [`COLUMNS`] columns, in code, comments, strings and prose.

mod files;

/// The largest number of columns of a line.
const COLUMNS: usize = 110;

/// Returns whether a line is too long, without addresses, which cannot be broken.
fn is_long(line: &str) -> bool {
    let own = line.split(' ').filter(|word| !word.contains("://"));
    own.map(|word| word.chars().count() + 1).sum::<usize>() > COLUMNS + 1
}

/// Returns the numbers of the long lines of a source; rows of tables in the documentation may be long.
fn long_lines_of_rust(text: &str) -> Vec<usize> {
    let of_table = |line: &str| {
        let line = line.trim_start();
        line.starts_with("//") && line.trim_start_matches(['/', '!']).trim_start().starts_with('|')
    };
    numbered(text).filter(|(_, line)| is_long(line) && !of_table(line)).map(|(number, _)| number).collect()
}

/// Returns the numbers of the long lines of a page; rows of tables and fenced lines may be long.
fn long_lines_of_markdown(text: &str) -> Vec<usize> {
    let (mut fenced, mut found) = (false, Vec::new());
    for (number, line) in numbered(text) {
        let start = line.trim_start();
        if start.starts_with("```") {
            fenced = !fenced;
        } else if !fenced && is_long(line) && !start.starts_with('|') {
            found.push(number);
        }
    }
    found
}

/// Returns the numbers of the lines of a Wir program that are too long.
fn long_lines_of_wir(text: &str) -> Vec<usize> {
    numbered(text).filter(|(_, line)| is_long(line)).map(|(number, _)| number).collect()
}

fn numbered(text: &str) -> impl Iterator<Item = (usize, &str)> {
    (1..).zip(text.lines())
}

/// Lists the long lines of all files with this extension.
fn too_long(extension: &str, of: fn(&str) -> Vec<usize>) -> String {
    let lines = files::texts(extension).into_iter().flat_map(|(path, text)| {
        of(&text).into_iter().map(move |number| format!("{}:{number}\n", path.display()))
    });
    lines.collect()
}

/// No source or page has a long line.
#[test]
fn lines_fit() {
    let found = too_long("rs", long_lines_of_rust)
        + &too_long("md", long_lines_of_markdown)
        + &too_long("wir", long_lines_of_wir);
    assert!(found.is_empty(), "lines of more than {COLUMNS} columns:\n{found}");
}

/// A long line is found; an address, a table and a fenced line may be long.
#[test]
fn a_long_line_is_found() {
    let (fits, long) = ("ä".repeat(COLUMNS), "ä".repeat(COLUMNS + 1));
    let address = format!("see https://example.org/{long} there");
    for of in [long_lines_of_rust, long_lines_of_markdown, long_lines_of_wir] {
        assert_eq!(of(&format!("{fits}\n{long}\n{address}\n{long}")), [2, 4]);
    }
    assert_eq!(long_lines_of_rust(&format!("    // {long}\n    \"{long}\"\nlet x = {long};")), [1, 2, 3]);
    assert_eq!(long_lines_of_rust(&format!("    /// | {long}\n//! | {long}\n| {long}")), [3]);
    assert_eq!(long_lines_of_markdown(&format!("| {long}\n```text\n{long}\n```\n{long}")), [5]);
}
