//! Tests that a type that several modules see has a name of its own in the workspace.
//!
//! Private types of one file are left out, because their name can mean nothing else there.

mod files;

use std::collections::{BTreeMap, BTreeSet};

use syn::visit::Visit;
use syn::{Attribute, Ident, Visibility};

/// Names that several types share because they mean the same, with the reason.
const SHARED: [(&str, &str); 7] = [
    (
        "each protocol has one, and the reader of two protocols finds the same thing under it",
        "Aside Assignment Begun Case Context Counts Execution Filling Forced \
         FromStock Garbled Header Hooks Joined Layout Made Material OnDisk Origin Outcome Parameters Point \
         Ran Received Report Request Role Session Shape Sizes StepReport Stocked Stored",
    ),
    (
        "each protocol has one for each of its two parties",
        "Evaluator EvaluatorCommittedOts EvaluatorCopies EvaluatorGates EvaluatorInputs EvaluatorMaterial \
         EvaluatorOts EvaluatorReady Garbler GarblerCommittedOts GarblerCopies GarblerMaterial GarblerOts \
         GarblerReady",
    ),
    (
        "each scheme of commitments, hashes or OTs has two ends, and each protocol names its choice",
        "CommitmentSender Commitments Committing CotReceiver CotSender Receiver Sender SenderState",
    ),
    ("the Python package wraps the type of the library", "Identity Program"),
    ("the library wraps the error of a protocol", "Error"),
    ("the library's party plays one of the two parties of a protocol", "Party"),
    ("each catalogue of attacks has its own", "Doubling"),
];

/// The types that a file lets other modules see.
#[derive(Default)]
struct Types(BTreeSet<String>);

impl Types {
    fn add(&mut self, visibility: &Visibility, name: &Ident) {
        if !matches!(visibility, Visibility::Inherited) {
            self.0.insert(name.to_string());
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

impl<'a> Visit<'a> for Types {
    fn visit_item_struct(&mut self, item: &'a syn::ItemStruct) {
        self.add(&item.vis, &item.ident);
    }

    fn visit_item_enum(&mut self, item: &'a syn::ItemEnum) {
        self.add(&item.vis, &item.ident);
    }

    fn visit_item_union(&mut self, item: &'a syn::ItemUnion) {
        self.add(&item.vis, &item.ident);
    }

    fn visit_item_trait(&mut self, item: &'a syn::ItemTrait) {
        self.add(&item.vis, &item.ident);
    }

    fn visit_item_type(&mut self, item: &'a syn::ItemType) {
        self.add(&item.vis, &item.ident);
    }

    fn visit_item_mod(&mut self, item: &'a syn::ItemMod) {
        if !is_test(&item.attrs) {
            syn::visit::visit_item_mod(self, item);
        }
    }
}

fn types(text: &str) -> BTreeSet<String> {
    let mut types = Types::default();
    types.visit_file(&syn::parse_file(text).expect("Rust"));
    types.0
}

/// A name that two files give to a type is in the list, and the list has no other names.
#[test]
fn each_type_has_its_own_name() {
    let mut places = BTreeMap::<String, Vec<String>>::new();
    for (path, text) in files::texts("rs") {
        let path = path.display().to_string();
        let beside = ["tests", "examples", "benches", "fuzz"].iter().any(|folder| path.contains(folder));
        for name in if beside { BTreeSet::new() } else { types(&text) } {
            places.entry(name).or_default().push(path.clone());
        }
    }
    assert!(places.len() > 800, "{} types", places.len());
    places.retain(|_, places| places.len() > 1);
    for name in SHARED.iter().flat_map(|(_, names)| names.split_whitespace()) {
        assert!(places.remove(name).is_some(), "{name} is one type's alone: remove it from the list");
    }
    assert!(places.is_empty(), "give each type a name of its own: {places:#?}");
}

/// Only types that other modules see count, and tests do not.
#[test]
fn visible_types_are_found() {
    let text = "pub struct A; enum B {} pub(crate) trait C {} mod d { pub(super) type E = u8; }
                #[cfg(test)] mod tests { pub struct F; }";
    assert_eq!(types(text).into_iter().collect::<String>(), "ACE");
}
