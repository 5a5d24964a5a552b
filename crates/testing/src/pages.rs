//! The commands that the project's pages show.

use std::path::{Path, PathBuf};

/// Returns the path and the text of each page of the project: the README, and all files below `docs`.
///
/// # Panics
/// If a page cannot be read.
pub fn all() -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let (mut found, mut open) = (vec![root.join("README.md")], vec![root.join("docs")]);
    while let Some(folder) = open.pop() {
        for path in std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path())
        {
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|extension| extension == "md") {
                found.push(path);
            }
        }
    }
    let read = |page: &PathBuf| std::fs::read_to_string(page).expect("a page");
    found.iter().map(|page| (page.display().to_string(), read(page))).collect()
}

/// Returns the arguments of each `brickwork` command in a fenced block, with or without a prompt, and without
/// comments. A line that ends in a backslash continues on the next one.
pub fn commands(page: &str) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    for (place, block) in page.split("\n```").enumerate() {
        let Some((word, block)) = block.split_once('\n').filter(|_| place % 2 == 1) else { continue };
        if !matches!(word, "" | "sh") {
            continue;
        }
        for line in block.replace("\\\n", " ").lines() {
            let line = line.split_once("$ ").map_or(line, |(_, behind)| behind);
            let line = line.split(" #").next().and_then(|line| line.split(" > ").next());
            let line = line.unwrap_or_default().trim();
            let own = ["brickwork ", "cargo run --release -- "];
            if let Some(words) = own.iter().find_map(|start| line.strip_prefix(start)) {
                let words = words.split_whitespace().filter(|word| *word != "…");
                found.push(words.map(|word| word.trim_matches('\'').to_owned()).collect());
            }
        }
    }
    found
}
