//! Tests that the documentation of a visible function begins with a verb: "Returns", "Sends".

mod files;

use syn::visit::Visit;
use syn::{Attribute, Expr, Lit, Meta, Visibility};

/// Words that end like a verb, but are not verbs.
const NO_VERBS: [&str; 31] = [
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
    "Errors",
    "Gates",
    "Has",
    "Inputs",
    "Is",
    "Items",
    "Its",
    "Keys",
    "Labels",
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

/// Functions whose documentation does not begin with a verb.
#[derive(Default)]
struct Undone {
    /// The number of documented, visible functions.
    seen: usize,
    /// For each such function, the line and the first paragraph of its documentation.
    found: Vec<String>,
    /// True if the visited item belongs to a visible trait.
    of_trait: bool,
}

/// Returns the first line of documentation, and its number.
fn documentation(attributes: &[Attribute]) -> Option<(usize, String)> {
    let first = attributes.iter().find(|attribute| attribute.path().is_ident("doc"))?;
    let Meta::NameValue(value) = &first.meta else { return None };
    let Expr::Lit(literal) = &value.value else { return None };
    let Lit::Str(text) = &literal.lit else { return None };
    Some((text.span().start().line, text.value().trim().to_owned()))
}

/// Returns whether documentation begins with a verb of the third person.
fn begins_with_a_verb(text: &str) -> bool {
    let word = text.split([' ', ',', ':']).next().unwrap_or_default();
    let mut letters = word.chars();
    letters.next().is_some_and(|first| first.is_ascii_uppercase())
        && letters.all(|letter| letter.is_ascii_lowercase())
        && word.ends_with('s')
        && !NO_VERBS.contains(&word)
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

/// The documentation of all visible functions begins with a verb.
#[test]
fn documentation_begins_with_a_verb() {
    let (mut seen, mut found) = (0, String::new());
    for (path, text) in files::texts("rs") {
        let undone = undone(&text);
        seen += undone.seen;
        undone.found.iter().for_each(|fault| found += &format!("{}:{fault}\n", path.display()));
    }
    assert!(seen > 1500, "{seen} functions");
    assert!(found.is_empty(), "documentation of functions that begins with no verb:\n{found}");
}

/// Other beginnings are found in a module, a type and a trait; the documentation of private functions may
/// begin otherwise.
#[test]
fn documentation_without_a_verb_is_found() {
    let places = [(["", ""], "pub"), (["mod a {", "}"], "pub(crate)"), (["impl A {", "}"], "pub(super)")];
    for ([before, behind], visible) in places {
        let begins = |doc: &str, visible: &str| {
            undone(&format!("{before}/// {doc}\n{visible} fn f() {{}} {behind}")).found.is_empty()
        };
        for verb in ["Returns it.", "Sends, and waits.", "Says: yes."] {
            assert!(begins(verb, visible), "{verb}");
        }
        for other in ["The number.", "Whether it is.", "Bytes of it.", "`x` it is.", "MD5s.", "returns it."] {
            assert!(!begins(other, visible) && begins(other, ""), "{other}");
        }
    }
    assert_eq!(undone("pub trait A { /// The number.\n fn f(); }").found, ["1: The number."]);
    assert!(undone("trait A { /// The number.\n fn f(); }").found.is_empty());
}
