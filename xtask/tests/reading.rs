//! What is read easily: lines that fit, and documentation of functions that says first what they do.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use syn::visit::Visit;
use syn::{Attribute, Expr, Lit, Meta, Visibility};

/// Columns of the longest line.
const COLUMNS: usize = 110;

/// Folders that are not ours, or made by a program.
const FOREIGN: [&str; 6] = [".git", "target", "corpus", "corpora", "artifacts", "node_modules"];

/// Words with which no documentation of a function begins, though they end as verbs of the third person do.
const NO_VERBS: [&str; 34] = [
    "AES",
    "As",
    "Authenticators",
    "Bits",
    "Blocks",
    "Bytes",
    "Columns",
    "Commitments",
    "Components",
    "Copies",
    "Digits",
    "Does",
    "Errors",
    "Gates",
    "Has",
    "Inputs",
    "Is",
    "Items",
    "Its",
    "Keys",
    "Labels",
    "OTs",
    "Outputs",
    "Parts",
    "Places",
    "Rows",
    "Seconds",
    "Shares",
    "Solderings",
    "Tables",
    "This",
    "Values",
    "Wires",
    "Words",
];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the workspace")
}

/// The files of the project with this extension, as paths from its root, in order.
fn files(extension: &str) -> Vec<PathBuf> {
    let (mut found, mut open) = (Vec::new(), vec![root().to_owned()]);
    while let Some(folder) = open.pop() {
        for path in std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path())
        {
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            if path.is_dir() && !FOREIGN.contains(&name) {
                open.push(path);
            } else if path.extension().is_some_and(|of| of == extension) {
                found.push(path.strip_prefix(root()).expect("it lies there").to_owned());
            }
        }
    }
    found.sort();
    found
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// Whether a line is too long, links and what cannot be broken before them left out.
fn is_long(line: &str) -> bool {
    let own = line.split(' ').filter(|word| !word.contains("://"));
    own.map(|word| word.chars().count() + 1).sum::<usize>() > COLUMNS + 1
}

/// The numbers of the lines of a source that are too long; rows of tables in its documentation may be.
fn long_lines_of_rust(text: &str) -> Vec<usize> {
    let of_table = |line: &str| {
        let words = line.trim_start().trim_start_matches(['/', '!']).trim_start();
        line.trim_start().starts_with("//") && words.starts_with('|')
    };
    numbered(text).filter(|(_, line)| is_long(line) && !of_table(line)).map(|(number, _)| number).collect()
}

/// The numbers of the lines of a page that are too long; rows of tables and what stands between fences may be.
fn long_lines_of_markdown(text: &str) -> Vec<usize> {
    let mut fenced = false;
    let mut found = Vec::new();
    for (number, line) in numbered(text) {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        } else if !fenced && is_long(line) && !line.trim_start().starts_with('|') {
            found.push(number);
        }
    }
    found
}

fn numbered(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines().zip(1..).map(|(line, number)| (number, line))
}

/// Asserts that no file has more faults than these folders are still allowed, and that none has less: what was
/// put right stays so. A file has the allowance of the first folder here that it lies in.
fn holds(found: BTreeMap<PathBuf, Vec<String>>, allowed: &[(&str, usize)], what: &str) {
    let mut of_folder = vec![0; allowed.len()];
    let mut others = String::new();
    for (path, faults) in &found {
        match allowed.iter().position(|(folder, _)| path.starts_with(folder)) {
            Some(folder) => of_folder[folder] += faults.len(),
            None => faults.iter().for_each(|fault| others += &format!("{}:{fault}\n", path.display())),
        }
    }
    assert!(others.is_empty(), "{what}:\n{others}");
    for (&(folder, allowed), found_there) in allowed.iter().zip(of_folder) {
        assert!(found_there <= allowed, "{folder} has {found_there} {what}, and {allowed} before");
        assert!(found_there == allowed, "{folder} has only {found_there} {what}: write that into the list");
    }
}

/// Folders in which lines are still too long, with their number.
const LONG: &[(&str, usize)] = &[];

/// No line is too long to be read without scrolling.
#[test]
fn lines_fit() {
    let mut found = BTreeMap::new();
    for (extension, of) in
        [("rs", long_lines_of_rust as fn(&str) -> Vec<usize>), ("md", long_lines_of_markdown)]
    {
        let files = files(extension);
        assert!(files.len() > 20, "{files:?}");
        for path in files {
            let lines = of(&read(&path));
            found.insert(path, lines.iter().map(usize::to_string).collect());
        }
    }
    holds(found, LONG, &format!("lines of more than {COLUMNS} columns"));
}

/// A long line is found; a link, a table and what is fenced are no prose.
#[test]
fn a_long_line_is_found() {
    let (fits, long) = ("ä".repeat(COLUMNS), "ä".repeat(COLUMNS + 1));
    let link = format!("see https://example.org/{long} there");
    for of in [long_lines_of_rust, long_lines_of_markdown] {
        assert_eq!(of(&format!("{fits}\n{long}\n{link}\n{long}")), [2, 4]);
    }
    assert_eq!(long_lines_of_rust(&format!("    /// | {long}\n//! | {long}\n| {long}")), [3]);
    assert_eq!(long_lines_of_markdown(&format!("| {long}\n```text\n{long}\n```\n{long}")), [5]);
}

/// Functions whose documentation does not begin with what they do.
#[derive(Default)]
struct Undone {
    seen: usize,
    /// Line and first words.
    found: Vec<String>,
    /// Whether what is visited belongs to a trait, all functions of which are for others.
    of_trait: bool,
}

/// The first paragraph of documentation, and its line.
fn documentation(attributes: &[Attribute]) -> Option<(usize, String)> {
    let first = attributes.iter().find(|attribute| attribute.path().is_ident("doc"))?;
    let Meta::NameValue(value) = &first.meta else { return None };
    let Expr::Lit(literal) = &value.value else { return None };
    let Lit::Str(text) = &literal.lit else { return None };
    Some((text.span().start().line, text.value().trim().to_owned()))
}

/// Whether documentation begins with a verb of the third person: "Returns", "Sends".
fn begins_with_a_verb(text: &str) -> bool {
    let word = text.split([' ', ',', ':']).next().unwrap_or_default();
    let letters = |word: &str| {
        let mut letters = word.chars();
        letters.next().is_some_and(|first| first.is_ascii_uppercase())
            && letters.all(|l| l.is_ascii_lowercase())
    };
    letters(word) && word.ends_with('s') && !NO_VERBS.contains(&word)
}

impl Undone {
    fn function(&mut self, visible: bool, attributes: &[Attribute]) {
        let Some((line, text)) = documentation(attributes).filter(|_| visible) else { return };
        self.seen += 1;
        if !begins_with_a_verb(&text) {
            self.found.push(format!("{line}: {text}"));
        }
    }
}

impl<'a> Visit<'a> for Undone {
    fn visit_item_fn(&mut self, item: &'a syn::ItemFn) {
        self.function(!matches!(item.vis, Visibility::Inherited), &item.attrs);
        syn::visit::visit_item_fn(self, item);
    }

    fn visit_impl_item_fn(&mut self, item: &'a syn::ImplItemFn) {
        self.function(!matches!(item.vis, Visibility::Inherited), &item.attrs);
        syn::visit::visit_impl_item_fn(self, item);
    }

    fn visit_trait_item_fn(&mut self, item: &'a syn::TraitItemFn) {
        self.function(self.of_trait, &item.attrs);
        syn::visit::visit_trait_item_fn(self, item);
    }

    fn visit_item_trait(&mut self, item: &'a syn::ItemTrait) {
        let outer = std::mem::replace(&mut self.of_trait, !matches!(item.vis, Visibility::Inherited));
        syn::visit::visit_item_trait(self, item);
        self.of_trait = outer;
    }
}

fn undone(text: &str) -> Undone {
    let mut undone = Undone::default();
    undone.visit_file(&syn::parse_file(text).expect("Rust"));
    undone
}

/// Folders in which documentation still begins otherwise, with the number of functions.
const OTHERWISE: &[(&str, usize)] = &[];

/// What is written about a function that others call begins with what it does.
#[test]
fn documentation_of_functions_begins_with_a_verb() {
    let (mut seen, mut found) = (0, BTreeMap::new());
    for path in files("rs").into_iter().filter(|path| !path.starts_with("fuzz")) {
        let undone = undone(&read(&path));
        seen += undone.seen;
        found.insert(path, undone.found);
    }
    assert!(seen > 1500, "{seen} functions");
    holds(found, OTHERWISE, "functions whose documentation begins with no verb");
}

/// Of a module, a type and a trait alike; what others do not see may be described as it likes.
#[test]
fn documentation_without_a_verb_is_found() {
    for (around, visible) in
        [(["", ""], "pub"), (["mod a {", "}"], "pub(crate)"), (["impl A {", "}"], "pub(super)")]
    {
        let begins = |doc: &str, visible: &str| {
            undone(&format!("{}/// {doc}\n{visible} fn f() {{}} {}", around[0], around[1])).found.is_empty()
        };
        for verb in ["Returns it.", "Sends, and waits.", "Says: yes."] {
            assert!(begins(verb, visible), "{verb}");
        }
        for other in
            ["The number.", "Whether it is.", "Bytes of it.", "`x` it is.", "MD5 of it.", "returns it."]
        {
            assert!(!begins(other, visible) && begins(other, ""), "{other}");
        }
    }
    assert_eq!(undone("pub trait A { /// The number.\n fn f(); }").found, ["1: The number."]);
    assert!(undone("trait A { /// The number.\n fn f(); }").found.is_empty());
}
