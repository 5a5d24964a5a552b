//! Tests that a function of a protocol fits on a screen or two: one step of the paper, at most [`LINES`]
//! lines.

use std::path::{Path, PathBuf};

use proc_macro2::Span;
use syn::visit::Visit;
use syn::{Attribute, Signature};

/// The largest number of lines of a function, from its signature to its closing brace.
const LINES: usize = 80;

/// A function that is too long: its name and its number of lines. Tests are left out.
#[derive(Default)]
struct Long {
    seen: usize,
    found: Vec<(String, usize)>,
}

impl Long {
    fn function(&mut self, signature: &Signature, end: Span) {
        let lines = end.end().line - signature.fn_token.span.start().line + 1;
        self.seen += 1;
        if lines > LINES {
            self.found.push((signature.ident.to_string(), lines));
        }
    }
}

/// Returns whether an item is compiled only in tests.
fn is_test(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let only_tests = |list: &syn::MetaList| list.tokens.to_string() == "test";
        attribute.path().is_ident("cfg") && attribute.meta.require_list().is_ok_and(only_tests)
    })
}

impl<'a> Visit<'a> for Long {
    fn visit_item_fn(&mut self, item: &'a syn::ItemFn) {
        if !is_test(&item.attrs) {
            self.function(&item.sig, item.block.brace_token.span.close());
            syn::visit::visit_item_fn(self, item);
        }
    }

    fn visit_impl_item_fn(&mut self, item: &'a syn::ImplItemFn) {
        if !is_test(&item.attrs) {
            self.function(&item.sig, item.block.brace_token.span.close());
            syn::visit::visit_impl_item_fn(self, item);
        }
    }

    fn visit_trait_item_fn(&mut self, item: &'a syn::TraitItemFn) {
        if let Some(block) = &item.default {
            self.function(&item.sig, block.brace_token.span.close());
        }
        syn::visit::visit_trait_item_fn(self, item);
    }

    fn visit_item_mod(&mut self, item: &'a syn::ItemMod) {
        if !is_test(&item.attrs) {
            syn::visit::visit_item_mod(self, item);
        }
    }
}

fn long(text: &str) -> Long {
    let mut long = Long::default();
    long.visit_file(&syn::parse_file(text).expect("Rust"));
    long
}

/// Returns the files of all protocols' `src`, without test modules.
fn sources() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the workspace");
    let (mut found, mut open) = (Vec::new(), vec![root.join("crates/protocols")]);
    while let Some(folder) = open.pop() {
        for path in std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path())
        {
            let is_test = path.file_stem().is_some_and(|name| name == "tests");
            match path.extension() {
                _ if is_test => {}
                None if path.is_dir() => open.push(path),
                Some(extension) if extension == "rs" => found.push(path),
                _ => {}
            }
        }
    }
    found
}

/// No function of a protocol is too long to be read at once.
#[test]
fn no_function_of_a_protocol_is_long() {
    let (mut seen, mut found) = (0, String::new());
    for path in sources() {
        let text = std::fs::read_to_string(&path).expect("a source");
        let long = long(&text);
        seen += long.seen;
        for (name, lines) in long.found {
            found += &format!("{}: {name}: {lines} lines\n", path.display());
        }
    }
    assert!(seen > 500, "{seen} functions");
    assert!(found.is_empty(), "functions of more than {LINES} lines:\n{found}");
}

/// A long function is found in a type, a trait and a module, but not in a test.
#[test]
fn a_long_function_is_found() {
    let of_lines = |lines: usize| format!("fn f() {{{}}}", "\n".repeat(lines - 1));
    let [fits, long_one] = [LINES, LINES + 1].map(of_lines);
    for around in [["", ""], ["impl A {", "}"], ["trait A {", "}"], ["mod a {", "}"], ["fn g() { h(); ", "}"]]
    {
        let inside = |text: &str| long(&format!("{}{text}{}", around[0], around[1]));
        assert!(inside(&fits).found.is_empty(), "{around:?}");
        assert!(inside(&long_one).found.contains(&("f".into(), LINES + 1)), "{around:?}");
    }
    assert!(long(&format!("#[cfg(test)] mod tests {{ {long_one} }}")).found.is_empty());
    assert!(long(&format!("#[cfg(not(test))] mod a {{ {long_one} }}")).found.len() == 1);
}
