//! Tests that the modules of a crate have no cyclic dependencies. (Between crates, cargo refuses cycles.)
//!
//! A module depends on another module if it imports or names an item that is defined there. An item that a
//! module re-exports (`pub use`) is followed to its definition. Code of cheaters counts, too, and so does
//! code in calls and definitions of macros; tests do not count.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use proc_macro2::{TokenStream, TokenTree};
use syn::visit::Visit;
use syn::{Attribute, Item, UseTree, Visibility};

/// The path of a module from its crate's root.
type Module = Vec<String>;

/// A crate's modules.
#[derive(Default)]
struct Crate {
    modules: BTreeMap<Module, Contents>,
}

/// The contents of a module.
#[derive(Default)]
struct Contents {
    /// Names that are defined here, without child modules.
    defines: BTreeSet<String>,
    /// Imported names, and the paths of their items.
    imports: BTreeMap<String, Module>,
    /// The modules of glob imports.
    globs: Vec<Module>,
    /// All paths in the module's code, absolute.
    names: BTreeSet<Module>,
}

/// Returns whether an item is compiled only in tests.
fn is_test(attributes: &[Attribute]) -> bool {
    attributes.iter().filter(|attribute| attribute.path().is_ident("cfg")).any(|attribute| {
        let text = match &attribute.meta {
            syn::Meta::List(list) => list.tokens.to_string(),
            _ => String::new(),
        };
        text == "test" || text.replace(' ', "").starts_with("all(test")
    })
}

impl Crate {
    fn read(source: &Path) -> Self {
        let mut all = Crate::default();
        all.file(&source.join("lib.rs"), source, Vec::new());
        all
    }

    /// Reads a module's file, whose children are in `folder`.
    fn file(&mut self, file: &Path, folder: &Path, module: Module) {
        let text = std::fs::read_to_string(file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
        let parsed = syn::parse_file(&text).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
        self.items(&parsed.items, folder, module);
    }

    fn items(&mut self, items: &[Item], folder: &Path, module: Module) {
        self.modules.entry(module.clone()).or_default();
        for item in items {
            let (attributes, name) = match item {
                Item::Mod(item) => {
                    if is_test(&item.attrs) {
                        continue;
                    }
                    let child = [&module[..], &[item.ident.to_string()]].concat();
                    let inner = folder.join(item.ident.to_string());
                    match &item.content {
                        Some((_, items)) => self.items(items, &inner, child),
                        None => {
                            let file: PathBuf = folder.join(format!("{}.rs", item.ident));
                            let file = if file.exists() { file } else { inner.join("mod.rs") };
                            self.file(&file, &inner, child);
                        }
                    }
                    continue;
                }
                Item::Use(item) => {
                    if !is_test(&item.attrs) {
                        self.import(
                            &item.tree,
                            &module,
                            Vec::new(),
                            matches!(item.vis, Visibility::Inherited),
                        );
                    }
                    continue;
                }
                Item::Const(item) => (&item.attrs, item.ident.to_string()),
                Item::Static(item) => (&item.attrs, item.ident.to_string()),
                Item::Enum(item) => (&item.attrs, item.ident.to_string()),
                Item::Struct(item) => (&item.attrs, item.ident.to_string()),
                Item::Trait(item) => (&item.attrs, item.ident.to_string()),
                Item::Type(item) => (&item.attrs, item.ident.to_string()),
                Item::Fn(item) => (&item.attrs, item.sig.ident.to_string()),
                Item::Impl(item) => (&item.attrs, String::new()),
                Item::Macro(item) => {
                    // `cheats!` defines an enum; other macros define no items that are imported.
                    let tokens: Vec<String> =
                        item.mac.tokens.clone().into_iter().map(|token| token.to_string()).collect();
                    let name =
                        tokens.iter().position(|t| t == "enum").and_then(|k| tokens.get(k + 1)).cloned();
                    (&item.attrs, name.unwrap_or_default())
                }
                _ => continue,
            };
            if is_test(attributes) {
                continue;
            }
            self.modules.entry(module.clone()).or_default().defines.insert(name);
            let mut paths = Paths(Vec::new());
            paths.visit_item(item);
            for path in paths.0 {
                if let Some(path) = absolute(&path, &module) {
                    self.modules.entry(module.clone()).or_default().names.insert(path);
                } else {
                    // The path begins with a name in scope: an import, or a child module.
                    self.modules
                        .entry(module.clone())
                        .or_default()
                        .names
                        .insert([&module[..], &path].concat());
                }
            }
        }
    }

    fn import(&mut self, tree: &UseTree, module: &Module, so_far: Module, private: bool) {
        match tree {
            UseTree::Path(path) => {
                let next = [&so_far[..], &[path.ident.to_string()]].concat();
                self.import(&path.tree, module, next, private);
            }
            UseTree::Group(group) => {
                group.items.iter().for_each(|tree| self.import(tree, module, so_far.clone(), private));
            }
            UseTree::Name(_) | UseTree::Rename(_) => {
                let (name, known_as) = match tree {
                    UseTree::Name(name) => (name.ident.to_string(), name.ident.to_string()),
                    UseTree::Rename(rename) => (rename.ident.to_string(), rename.rename.to_string()),
                    _ => unreachable!("one of these two"),
                };
                let path = if name == "self" { so_far.clone() } else { [&so_far[..], &[name]].concat() };
                let known_as =
                    if known_as == "self" { so_far.last().cloned().unwrap_or_default() } else { known_as };
                let path = absolute(&path, module).unwrap_or_else(|| [&module[..], &path].concat());
                let contents = self.modules.entry(module.clone()).or_default();
                if private {
                    contents.names.insert(path.clone());
                }
                contents.imports.insert(known_as, path);
            }
            UseTree::Glob(_) => {
                let path = absolute(&so_far, module).unwrap_or_else(|| [&module[..], &so_far].concat());
                self.modules.entry(module.clone()).or_default().globs.push(path);
            }
        }
    }

    /// Returns the module that defines the item of a path; none if the item belongs to another crate.
    fn home(&self, path: &[String], depth: usize) -> Option<Module> {
        if depth > 16 {
            return None;
        }
        // The module is the longest beginning of the path that is a module.
        let length = (0..=path.len()).rev().find(|&k| self.modules.contains_key(&path[..k]))?;
        let (module, rest) = path.split_at(length);
        let contents = &self.modules[module];
        let Some(name) = rest.first() else { return Some(module.to_vec()) };
        if contents.defines.contains(name) {
            return Some(module.to_vec());
        }
        if let Some(import) = contents.imports.get(name) {
            if import == path {
                return None;
            }
            return self.home(&[&import[..], &rest[1..]].concat(), depth + 1);
        }
        contents.globs.iter().find_map(|glob| {
            let path = [&glob[..], rest].concat();
            let home = self.home(&path, depth + 1)?;
            self.modules[&home].defines.contains(name).then_some(home)
        })
    }

    /// Returns whether a path is only the name of a child module. Such a path is no dependency: a variable
    /// may have the same name, and an item of the child has a longer path.
    fn is_child(&self, module: &Module, path: &Module) -> bool {
        path.len() == module.len() + 1 && path.starts_with(module) && self.modules.contains_key(path)
    }

    /// Returns the modules on which each module depends.
    fn arrows(&self) -> BTreeMap<&Module, BTreeSet<Module>> {
        let of = |(module, contents): (&Module, &Contents)| -> BTreeSet<Module> {
            contents
                .names
                .iter()
                .filter(|path| !self.is_child(module, path))
                .filter_map(|path| self.home(path, 0))
                .filter(|home| home != module)
                .collect()
        };
        self.modules.iter().map(|(module, contents)| (module, of((module, contents)))).collect()
    }
}

/// All paths in an item.
struct Paths(Vec<Module>);

impl Paths {
    /// Adds the items of an import inside a function.
    fn import(&mut self, tree: &UseTree, so_far: &[String]) {
        let with = |name: &syn::Ident| match name == "self" {
            true => so_far.to_vec(),
            false => [so_far, &[name.to_string()]].concat(),
        };
        match tree {
            UseTree::Path(path) => self.import(&path.tree, &with(&path.ident)),
            UseTree::Group(group) => group.items.iter().for_each(|tree| self.import(tree, so_far)),
            UseTree::Name(name) => self.0.push(with(&name.ident)),
            UseTree::Rename(rename) => self.0.push(with(&rename.ident)),
            UseTree::Glob(_) => self.0.push(so_far.to_vec()),
        }
    }

    /// Adds the paths of at least two segments among a macro's tokens; a single word may have any meaning.
    fn tokens(&mut self, tokens: TokenStream) {
        let (mut path, mut colons) = (Vec::new(), 0);
        for token in tokens {
            match &token {
                TokenTree::Punct(punct) if punct.as_char() == ':' && !path.is_empty() && colons < 2 => {
                    colons += 1;
                    continue;
                }
                TokenTree::Ident(ident) if colons == 2 => path.push(ident.to_string()),
                TokenTree::Ident(ident) => {
                    self.segments(std::mem::replace(&mut path, vec![ident.to_string()]));
                }
                TokenTree::Group(group) => {
                    self.segments(std::mem::take(&mut path));
                    self.tokens(group.stream());
                }
                _ => self.segments(std::mem::take(&mut path)),
            }
            colons = 0;
        }
        self.segments(path);
    }

    fn segments(&mut self, path: Module) {
        if path.len() > 1 {
            self.0.push(path);
        }
    }
}

impl<'a> Visit<'a> for Paths {
    fn visit_path(&mut self, path: &'a syn::Path) {
        let segments: Module = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        if path.leading_colon.is_none() {
            self.0.push(segments);
        }
        syn::visit::visit_path(self, path);
    }

    fn visit_item_use(&mut self, item: &'a syn::ItemUse) {
        self.import(&item.tree, &[]);
    }

    fn visit_macro(&mut self, call: &'a syn::Macro) {
        self.tokens(call.tokens.clone());
        syn::visit::visit_macro(self, call);
    }

    fn visit_item_mod(&mut self, _: &'a syn::ItemMod) {}

    /// The scope of a visibility (`pub(super)`) is no dependency.
    fn visit_visibility(&mut self, _: &'a Visibility) {}
}

/// Returns the absolute form of a path that begins with `crate`, `self` or `super`.
fn absolute(path: &[String], module: &Module) -> Option<Module> {
    let mut base = match path.first()?.as_str() {
        "crate" => Vec::new(),
        "self" => module.clone(),
        "super" => module[..module.len().saturating_sub(1)].to_vec(),
        _ => return None,
    };
    let mut rest = &path[1..];
    while rest.first().is_some_and(|part| part == "super") {
        base.pop();
        rest = &rest[1..];
    }
    base.extend_from_slice(rest);
    Some(base)
}

/// Returns the cycles: groups of modules that depend on each other.
fn circles(arrows: &BTreeMap<&Module, BTreeSet<Module>>) -> Vec<BTreeSet<String>> {
    let reach = |start: &Module| {
        let (mut seen, mut open) = (BTreeSet::new(), vec![start.clone()]);
        while let Some(module) = open.pop() {
            for next in arrows.get(&module).into_iter().flatten() {
                if seen.insert(next.clone()) {
                    open.push(next.clone());
                }
            }
        }
        seen
    };
    let reached: BTreeMap<&Module, BTreeSet<Module>> = arrows.keys().map(|&m| (m, reach(m))).collect();
    let mut groups: Vec<BTreeSet<String>> = Vec::new();
    for (module, reached_from) in &reached {
        if reached_from.contains(*module) {
            let together = reached
                .iter()
                .filter(|(other, from)| reached_from.contains(**other) && from.contains(*module));
            let group: BTreeSet<String> = together.map(|(other, _)| name(other)).collect();
            if !groups.contains(&group) {
                groups.push(group);
            }
        }
    }
    groups
}

fn name(module: &Module) -> String {
    if module.is_empty() { "lib".into() } else { module.join("::") }
}

/// Returns the folders of the sources of all crates.
fn crates() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the workspace");
    let mut found = Vec::new();
    let mut open = vec![root.join("crates")];
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path())
        {
            if entry.join("src/lib.rs").exists() {
                found.push(entry.join("src"));
            } else if entry.is_dir() && !entry.join("Cargo.toml").exists() {
                open.push(entry);
            }
        }
    }
    found.sort();
    found
}

/// No module is in a cycle.
#[test]
fn no_circle_between_modules() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the workspace");
    let mut found = String::new();
    let all = crates();
    assert!(all.len() > 10, "{all:?}");
    for source in all {
        let name_of_crate = source.parent().and_then(|path| path.strip_prefix(root.join("crates")).ok());
        let name_of_crate = name_of_crate.expect("a crate").display().to_string();
        let modules = Crate::read(&source);
        let arrows = modules.arrows();
        for circle in circles(&arrows) {
            found += &format!("{name_of_crate}: {}\n", circle.iter().cloned().collect::<Vec<_>>().join(", "));
            for (module, to) in &arrows {
                let within: Vec<String> = to.iter().map(name).filter(|to| circle.contains(to)).collect();
                if circle.contains(&name(module)) {
                    found += &format!("    {} -> {}\n", name(module), within.join(", "));
                }
            }
        }
    }
    assert!(found.is_empty(), "modules in a circle:\n{found}");
}

/// The code that all protocols share names no protocol.
#[test]
fn the_session_names_no_protocol() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the workspace");
    let folders = std::fs::read_dir(root.join("crates/protocols")).expect("a folder");
    let protocols: Vec<String> = folders
        .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
        .flat_map(|name| [name.replace('-', "_"), name])
        .collect();
    assert!(protocols.len() > 10 && protocols.contains(&"semi_honest".into()), "{protocols:?}");
    let (mut seen, mut open) = (0, vec![root.join("crates/protocol/src")]);
    while let Some(path) = open.pop() {
        if path.is_dir() {
            open.extend(
                std::fs::read_dir(path).expect("a folder").map(|entry| entry.expect("an entry").path()),
            );
            continue;
        }
        seen += 1;
        let text = std::fs::read_to_string(&path).expect("a source").to_lowercase();
        // "authenticated" is also an ordinary word.
        let named = protocols.iter().find(|name| *name != "authenticated" && text.contains(*name));
        assert!(named.is_none(), "{} names {}", path.display(), named.expect("one"));
    }
    assert!(seen > 5, "{seen} files");
}

/// A cycle is found, also through the re-exports of a parent.
#[test]
fn a_circle_is_found() {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).expect("a file");
    write("lib.rs", "mod a; mod b; mod c; pub use b::B; pub fn all() { a::a(); c::c(); }");
    write("a.rs", "use super::B; pub fn a() { B::new(); }");
    write("b.rs", "pub struct B; impl B { pub fn new() -> B { B } }");
    write("c.rs", "pub fn c() { crate::a::a() }");
    assert!(circles(&Crate::read(folder.path()).arrows()).is_empty());
    write("b.rs", "pub struct B; impl B { pub fn new() -> B { crate::c::c(); B } }");
    let found = circles(&Crate::read(folder.path()).arrows());
    let expected: BTreeSet<String> = ["a", "b", "c"].map(String::from).into();
    assert_eq!(found, [expected]);
    write("c.rs", "pub(super) fn c() { crate::a::a() } pub(in crate) struct C;");
    write("b.rs", "pub struct B; impl B { pub(super) fn new() -> B { B } }");
    assert!(circles(&Crate::read(folder.path()).arrows()).is_empty(), "who may see an item is no arrow");
    write("b.rs", "mod c; pub struct B; impl B { pub fn new(c: u8) -> u8 { c } }");
    std::fs::create_dir(folder.path().join("b")).expect("a folder");
    write("b/c.rs", "pub fn c() -> super::B { super::B }");
    assert!(circles(&Crate::read(folder.path()).arrows()).is_empty(), "a variable is no child module");
    write("b.rs", "mod c; pub struct B; impl B { pub fn new() -> B { c::c() } }");
    assert_eq!(circles(&Crate::read(folder.path()).arrows()).len(), 1);
    write("b.rs", "pub struct B; impl B { pub fn new() -> B { B } }");
    // Each of these dependencies makes a cycle: in calls and definitions of macros, in imports inside
    // functions, and in code of cheaters.
    for arrow in [
        "pub fn c() { drop(vec![(1, crate::a::a())]) }",
        "pub fn c() { assert!(super::a::a() == ()) }",
        "macro_rules! c { () => { $crate::a::a() } } pub fn c() {}",
        "pub fn c() { use crate::{a}; a::a() }",
        "#[cfg(any(test, feature = \"adversary\"))] pub fn c() { crate::a::a() }",
        "#[cfg(feature = \"adversary\")] use crate::a::a; pub fn c() {}",
    ] {
        write("a.rs", "use super::B; pub fn a() { B::new(); crate::c::c(); }");
        write("c.rs", arrow);
        assert_eq!(circles(&Crate::read(folder.path()).arrows()).len(), 1, "{arrow}");
    }
    for none in ["#[cfg(test)] use crate::a::a; pub fn c() {}", "pub fn c() { println!(\"crate::a::a\") }"] {
        write("c.rs", none);
        assert!(circles(&Crate::read(folder.path()).arrows()).is_empty(), "{none}");
    }
    write("a.rs", "use super::B; pub fn a() { B::new(); }");
    write("c.rs", "pub fn c() { crate::a::a() }");
    // An item of the root, which depends on all modules, makes a cycle, too.
    write("b.rs", "pub struct B; impl B { pub fn new() -> B { crate::all(); B } }");
    assert_eq!(circles(&Crate::read(folder.path()).arrows()).len(), 1);
}
