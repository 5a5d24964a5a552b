//! The project's own files, for tests that read all of them.

use std::path::{Path, PathBuf};

/// Folders of other projects, or of files that a program makes.
const FOREIGN: [&str; 7] = [".git", "target", "corpus", "corpora", "artifacts", "node_modules", "seeds"];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the workspace")
}

/// Returns the path from the project's root and the text of each file with this extension, in order.
pub fn texts(extension: &str) -> Vec<(PathBuf, String)> {
    let (mut found, mut open) = (Vec::new(), vec![root().to_owned()]);
    while let Some(folder) = open.pop() {
        let entries = std::fs::read_dir(folder).expect("a folder");
        for path in entries.map(|entry| entry.expect("an entry").path()) {
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            if path.is_dir() && !FOREIGN.contains(&name) {
                open.push(path);
            } else if path.is_file() && path.extension().is_some_and(|of| of == extension) {
                let text = std::fs::read_to_string(&path);
                let text = text.unwrap_or_else(|e| panic!("{}: {e}", path.display()));
                found.push((path.strip_prefix(root()).expect("it lies there").to_owned(), text));
            }
        }
    }
    found.sort();
    assert!(found.len() > 20, "{} files with .{extension}", found.len());
    found
}
