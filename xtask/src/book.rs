//! The book: the pages of `docs`, which mdBook makes into a site with search.
//!
//! `cargo xtask book` calls [`run`]. Some links lead to files outside `docs`, such as examples; the book gets
//! a copy of each such file, so that the site is complete.

use std::collections::BTreeSet;
use std::ops::Range;
use std::path::{Component, Path, PathBuf};
use std::process::{Command, Stdio};

/// The folder of the pages, from the project's root.
const PAGES: &str = "docs";

/// The folder for copies of other files, inside the book.
const FILES: &str = "files";

/// Builds the book into `target/book`.
///
/// # Errors
/// mdBook is not installed or fails, or a file cannot be read or written.
pub fn run(root: &Path) -> Result<(), String> {
    let copy = root.join("target/book-pages");
    let _ = std::fs::remove_dir_all(&copy);
    write(&copy.join("book.toml"), &read(&root.join("book.toml"))?)?;
    for path in files(&root.join(PAGES))? {
        let inside = path.strip_prefix(root).map_err(|e| e.to_string())?;
        if inside.extension().is_some_and(|extension| extension == "md") {
            let text = String::from_utf8(read(&path)?).map_err(|e| format!("{}: {e}", path.display()))?;
            let (text, linked) = by_itself(&text, inside, |file| root.join(file).is_file());
            write(&copy.join(inside), text.as_bytes())?;
            for file in linked {
                write(&copy.join(PAGES).join(FILES).join(&file), &read(&root.join(&file))?)?;
            }
        } else {
            write(&copy.join(inside), &read(&path)?)?;
        }
    }
    let book = root.join("target/book");
    let status = mdbook()?.arg("build").arg(&copy).arg("--dest-dir").arg(&book).status();
    if !status.map_err(|e| format!("mdbook: {e}"))?.success() {
        return Err("mdbook failed".into());
    }
    eprintln!("xtask: the book is {}", book.join("index.html").display());
    Ok(())
}

/// Returns mdBook, from `PATH` or from the folder of cargo's programs.
fn mdbook() -> Result<Command, String> {
    let cargo = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let cargo = cargo.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cargo")));
    let places = [Some("mdbook".into()), cargo.map(|folder| folder.join("bin/mdbook"))];
    let starts = |program: &PathBuf| {
        let asked = Command::new(program).arg("--version").stdout(Stdio::null()).status();
        asked.is_ok_and(|status| status.success())
    };
    let found = places.into_iter().flatten().find(starts).map(Command::new);
    found.ok_or_else(|| "mdBook is not here; install it: cargo install mdbook --locked".into())
}

/// Returns a page whose links all stay inside the book, and the files that must be copied for that.
///
/// A link to another page of the project, or to a folder, becomes plain text.
fn by_itself(page: &str, path: &Path, is_file: impl Fn(&Path) -> bool) -> (String, BTreeSet<PathBuf>) {
    let (mut text, mut linked) = (page.to_owned(), BTreeSet::new());
    let depth = path.components().count() - 2;
    for link in links(page).into_iter().rev() {
        let Some((file, _)) = link.leads_to(path) else { continue };
        if file.starts_with(PAGES) {
            // mdBook makes `index.md` the page of a folder.
            let target = page[link.target.clone()].replace("README.md", "index.md");
            text.replace_range(link.target, &target);
            continue;
        }
        if file.extension().is_none_or(|extension| extension == "md") || !is_file(&file) {
            text.replace_range(link.all, &page[link.text]);
        } else {
            text.replace_range(link.target, &format!("{}{FILES}/{}", "../".repeat(depth), file.display()));
            linked.insert(file);
        }
    }
    (text, linked)
}

/// A link of a page in Markdown, as ranges of the page's text.
struct Link<'t> {
    all: Range<usize>,
    text: Range<usize>,
    target: Range<usize>,
    page: &'t str,
}

impl Link<'_> {
    /// Returns the file and the place in it, for a link on the page at this path; `None` for an address.
    fn leads_to(&self, page: &Path) -> Option<(PathBuf, &str)> {
        let target = &self.page[self.target.clone()];
        if target.contains(':') {
            return None;
        }
        let (file, place) = target.split_once('#').unwrap_or((target, ""));
        if file.is_empty() {
            return Some((page.to_owned(), place));
        }
        let mut found = PathBuf::new();
        for part in page.parent()?.join(file).components() {
            match part {
                Component::ParentDir => drop(found.pop()),
                part => found.push(part),
            }
        }
        Some((found, place))
    }
}

/// Returns the links of a page, in order.
fn links(page: &str) -> Vec<Link<'_>> {
    let plain = without_code(page);
    let mut found = Vec::new();
    for (middle, _) in plain.match_indices("](") {
        let (Some(begin), Some(length)) = (plain[..middle].rfind('['), plain[middle..].find(')')) else {
            continue;
        };
        let end = middle + length;
        found.push(Link { all: begin..end + 1, text: begin + 1..middle, target: middle + 2..end, page });
    }
    found
}

/// Returns a page of the same length with blanks in place of all code.
fn without_code(page: &str) -> String {
    let (mut plain, mut fenced, mut quoted) = (String::new(), false, false);
    for line in page.split_inclusive('\n') {
        let fence = line.trim_start().starts_with("```");
        fenced ^= fence;
        // A backquote without its counterpart ends with its paragraph.
        quoted &= !line.trim().is_empty();
        for byte in line.bytes() {
            let tick = byte == b'`' && !fenced && !fence;
            quoted ^= tick;
            let code = fenced || fence || quoted || tick;
            plain.push(if byte == b'\n' {
                '\n'
            } else if code || !byte.is_ascii() {
                ' '
            } else {
                byte.into()
            });
        }
    }
    plain
}

/// Returns all files below a folder, in order.
fn files(folder: &Path) -> Result<BTreeSet<PathBuf>, String> {
    let entries = std::fs::read_dir(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let mut found = BTreeSet::new();
    for path in entries.flatten().map(|entry| entry.path()) {
        match path.is_dir() {
            true => found.extend(files(&path)?),
            false => drop(found.insert(path)),
        }
    }
    Ok(found)
}

fn read(path: &Path) -> Result<Vec<u8>, String> {
    std::fs::read(path).map_err(|e| format!("{}: {e}", path.display()))
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), String> {
    let folder = path.parent().map_or(Ok(()), std::fs::create_dir_all);
    folder.and_then(|()| std::fs::write(path, bytes)).map_err(|e| format!("{}: {e}", path.display()))
}

#[cfg(test)]
#[path = "../tests/files/mod.rs"]
mod all;

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// The languages that may follow a fence. Blocks of `sh` and blocks without a language are commands or
    /// their output.
    const KINDS: [&str; 12] = [
        "",
        "csv",
        "json",
        "python",
        "rust",
        "sh",
        "sql",
        "text",
        "toml",
        "wir",
        "wir header",
        "wir program",
    ];

    fn pages() -> BTreeMap<PathBuf, String> {
        all::texts("md").into_iter().collect()
    }

    /// Returns the lines of a page outside of fences.
    fn prose(page: &str) -> impl Iterator<Item = &str> {
        let mut fenced = false;
        page.lines().filter(move |line| {
            let fence = line.trim_start().starts_with("```");
            fenced ^= fence;
            !fenced && !fence
        })
    }

    /// Returns the names by which links can point to the headings of a page, as code hosts and mdBook make
    /// them.
    fn places(page: &str) -> Vec<String> {
        let name = |heading: &str| {
            let kept = |c: &char| c.is_alphanumeric() || matches!(c, '-' | '_' | ' ');
            let kept: String = heading.to_lowercase().chars().filter(kept).collect();
            kept.replace(' ', "-")
        };
        let headings = prose(page).filter_map(|line| line.strip_prefix('#'));
        headings.map(|line| name(line.trim_start_matches('#').trim())).collect()
    }

    /// Every link within the project leads to a file and, if it names a place there, to a heading.
    #[test]
    fn links_lead_somewhere() {
        let (pages, mut dead, mut checked) = (pages(), Vec::new(), 0);
        for (path, page) in &pages {
            for link in links(page) {
                let Some((file, place)) = link.leads_to(path) else { continue };
                let heading = |page: &String| place.is_empty() || places(page).iter().any(|p| p == place);
                if !crate::root().join(&file).exists() || !pages.get(&file).is_none_or(heading) {
                    dead.push(format!("{}: {}", path.display(), &page[link.target]));
                }
                checked += 1;
            }
        }
        assert!(dead.is_empty(), "dead links:\n{}", dead.join("\n"));
        assert!(checked > 300, "{checked}");
    }

    /// The book has each page once.
    #[test]
    fn every_page_is_in_the_book() {
        let mut pages: Vec<PathBuf> = pages().into_keys().filter(|path| path.starts_with(PAGES)).collect();
        let summary = Path::new(PAGES).join("SUMMARY.md");
        pages.retain(|path| *path != summary);
        let text = std::fs::read_to_string(crate::root().join(&summary)).expect("the summary");
        let listed = links(&text).into_iter().filter_map(|link| Some(link.leads_to(&summary)?.0));
        let mut listed: Vec<PathBuf> = listed.collect();
        listed.sort();
        assert_eq!(listed, pages);
    }

    /// Each page has a title, and its next paragraph names its purpose.
    #[test]
    fn every_page_begins_with_its_purpose() {
        let pages = pages().into_iter().filter(|(path, _)| path.starts_with(PAGES));
        let begins = |page: &str| {
            let mut lines = page.lines();
            let title = lines.next().is_some_and(|line| line.starts_with("# "));
            let purpose = lines.find(|line| !line.is_empty()).unwrap_or_default();
            title && purpose.starts_with(|c: char| c.is_alphabetic() || c == '`')
        };
        let wrong: Vec<PathBuf> = pages
            .filter(|(path, page)| !path.ends_with("SUMMARY.md") && !begins(page))
            .map(|page| page.0)
            .collect();
        assert!(wrong.is_empty(), "{wrong:?}");
    }

    /// Every code block is closed, and names its language.
    #[test]
    fn blocks_of_code_are_of_known_kinds() {
        let mut wrong = Vec::new();
        for (path, page) in pages() {
            let fences = page.lines().filter_map(|line| line.trim_start().strip_prefix("```"));
            let fences: Vec<&str> = fences.collect();
            for pair in fences.chunks(2) {
                if !KINDS.contains(&pair[0]) || pair.get(1) != Some(&"") {
                    wrong.push(format!("{}: {pair:?}", path.display()));
                }
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }

    #[test]
    fn links_that_leave_the_book_do_not() {
        let page = "See [a](README.md#c), [the file](../../examples/x.toml), [more](../../README.md),\n\
                    [all](../../examples), [it](https://example.org/d) and `[no](../../link)`.\n\
                    ```\n[neither](../../e)\n```\n";
        let found: Vec<&str> = links(page).iter().map(|link| &page[link.target.clone()]).collect();
        let outside = ["../../examples/x.toml", "../../README.md", "../../examples"];
        assert_eq!(found, [&["README.md#c"], &outside[..], &["https://example.org/d"]].concat());
        let (text, linked) =
            by_itself(page, Path::new("docs/guides/page.md"), |file| file.ends_with("x.toml"));
        assert!(text.starts_with(
            "See [a](index.md#c), [the file](../files/examples/x.toml), more,\nall, [it](https://example.org/d)"
        ));
        assert_eq!(linked, BTreeSet::from(["examples/x.toml".into()]));
    }

    #[test]
    fn headings_have_names() {
        let page = "# What it's `for`\ntext\n```\n# no\n```\n## 8. Bits: \u{394}, a_b\n";
        assert_eq!(places(page), ["what-its-for", "8-bits-\u{3b4}-a_b"]);
    }
}
