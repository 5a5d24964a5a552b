//! Builds a copy of the workspace that contains all mutants, and the copy's test programs.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use super::find::Mutant;
use super::weave::{SourceChange, Woven, weave};

/// The crates with mutants; the first crate has the switch, which the others re-export.
pub const PACKAGES: [&str; 13] = [
    "base",
    "wire",
    "store",
    "primitives",
    "protocol",
    "jobs",
    "protocols/duplo",
    "protocols/lego",
    "protocols/jimu",
    "protocols/authenticated",
    "protocols/compgc",
    "protocols/semi-honest",
    "protocols/justgarble",
];

/// Returns the tests that try the mutants: those of the libraries and, if all packages are tried, those of
/// the store.
fn tests(packages: &[&str]) -> Vec<String> {
    let of = packages.iter().flat_map(|place| ["--package".into(), package(place)]);
    let store: &[&str] = match packages.len() == PACKAGES.len() {
        true => &["--package", "brickwork", "--lib", "--test", "stock"],
        false => &["--lib"],
    };
    of.chain(store.iter().map(ToString::to_string)).collect()
}

/// Returns the name of the crate in this folder of `crates`.
pub fn package(place: &str) -> String {
    format!("brickwork-{}", place.rsplit('/').next().unwrap_or(place))
}

/// The largest number of rounds of compiling and removing mutants that do not compile.
const ROUNDS: usize = 40;

/// Test programs with all mutants that compile.
pub struct BuiltTests {
    pub programs: Vec<PathBuf>,
    /// The working folder of the test programs.
    pub directory: PathBuf,
    /// For each mutant that does not compile, by number, the compiler's error.
    pub unviable: HashMap<usize, String>,
}

/// Weaves the mutants into a copy of the workspace and compiles the copy, without the mutants that do not
/// compile.
pub fn build(root: &Path, work: &Path, packages: &[&str], mutants: &[Mutant]) -> Result<BuiltTests, String> {
    let tree = work.join("tree");
    let known = Unviable::read(root, work);
    let mut unviable: HashMap<usize, String> = mutants
        .iter()
        .enumerate()
        .filter_map(|(number, mutant)| Some((number, known.why(mutant)?.clone())))
        .collect();
    for round in 1..=ROUNDS {
        let woven = copy(root, &tree, mutants, &unviable)?;
        let (finished, messages) = compile(&tree, &work.join("build"), packages)?;
        if finished {
            let directory = tree.join("crates/brickwork");
            known.write(unviable.iter().map(|(number, why)| (&mutants[*number], why.as_str())))?;
            return Ok(BuiltTests { programs: programs(&messages), directory, unviable });
        }
        let before = unviable.len();
        let mut unexplained = String::new();
        for error in messages.iter().filter(|m| m["message"]["level"] == "error") {
            let message = &error["message"];
            let mut culprits = culprits(message, &woven);
            if culprits.is_empty() {
                culprits = between(message, &woven);
                culprits.retain(|&mutant| mutants[mutant].change.as_ref().is_some_and(SourceChange::deletes));
            }
            if culprits.is_empty() {
                unexplained += message["rendered"].as_str().unwrap_or_default();
                continue;
            }
            let code = message["code"]["code"].as_str().unwrap_or("error");
            let text = format!("{code}: {}", message["message"].as_str().unwrap_or_default());
            unviable.extend(culprits.into_iter().map(|mutant| (mutant, text.clone())));
        }
        eprintln!("xtask: round {round}: {} mutants do not compile", unviable.len());
        if unviable.len() == before {
            return Err(format!(
                "the copy in {} does not compile; cargo test there tells more:\n{unexplained}",
                tree.display()
            ));
        }
    }
    Err(format!("after {ROUNDS} rounds the copy in {} does not compile", tree.display()))
}

/// The mutants that did not compile in the last build, as long as their file is unchanged.
struct Unviable<'a> {
    root: &'a Path,
    path: PathBuf,
    /// The error, by the mutant's name and the hash of its file.
    why: HashMap<(String, String), String>,
}

impl<'a> Unviable<'a> {
    fn read(root: &'a Path, work: &Path) -> Self {
        let path = work.join("unviable.txt");
        let known = std::fs::read_to_string(&path).unwrap_or_default();
        let why = known.lines().filter_map(|line| {
            let mut fields = line.splitn(3, '\t').map(String::from);
            Some(((fields.next()?, fields.next()?), fields.next()?))
        });
        Unviable { root, path, why: why.collect() }
    }

    /// Returns a mutant's name, and a hash of its file.
    fn key(&self, mutant: &Mutant) -> (String, String) {
        let mut hasher = DefaultHasher::new();
        std::fs::read(self.root.join(&mutant.file)).unwrap_or_default().hash(&mut hasher);
        (mutant.name.clone(), hasher.finish().to_string())
    }

    fn why(&self, mutant: &Mutant) -> Option<&String> {
        self.why.get(&self.key(mutant))
    }

    fn write<'m>(&self, unviable: impl Iterator<Item = (&'m Mutant, &'m str)>) -> Result<(), String> {
        let line = |(mutant, why): (&Mutant, &str)| {
            let (name, hash) = self.key(mutant);
            format!("{name}\t{hash}\t{}\n", why.replace(['\n', '\t'], " "))
        };
        std::fs::write(&self.path, unviable.map(line).collect::<String>())
            .map_err(|e| format!("{}: {e}", self.path.display()))
    }
}

/// Writes the changed files of the copy; returns the woven files by path.
fn copy(
    root: &Path,
    tree: &Path,
    mutants: &[Mutant],
    unviable: &HashMap<usize, String>,
) -> Result<HashMap<String, Woven>, String> {
    let listed = Command::new("git")
        .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
        .current_dir(root)
        .output();
    let listed = listed.map_err(|e| format!("git does not start: {e}"))?.stdout;
    let mut woven = HashMap::new();
    for file in String::from_utf8_lossy(&listed).split_terminator('\0') {
        let Ok(mut bytes) = std::fs::read(root.join(file)) else { continue };
        let here: Vec<_> = (mutants.iter().enumerate())
            .filter(|(number, mutant)| mutant.file == file && !unviable.contains_key(number))
            .filter_map(|(number, mutant)| Some((number, mutant.change.as_ref()?)))
            .collect();
        if !here.is_empty() {
            let result = weave(&String::from_utf8_lossy(&bytes), here);
            bytes = result.text.clone().into_bytes();
            woven.insert(file.to_owned(), result);
        }
        if let Some(k) = PACKAGES.iter().position(|place| file == format!("crates/{place}/src/lib.rs")) {
            let switch = if k == 0 { "pub mod mutants;" } else { "pub use brickwork_base::mutants;" };
            bytes.extend_from_slice(format!("\n#[doc(hidden)]\n{switch}\n").as_bytes());
        }
        write(&tree.join(file), &bytes)?;
    }
    let count = format!("\nconst COUNT: usize = {};\n", mutants.len());
    write(
        &tree.join("crates/base/src/mutants.rs"),
        [include_str!("switch.rs.in"), &count].concat().as_bytes(),
    )?;
    Ok(woven)
}

/// Writes a file only if its contents change, so that cargo compiles only changed files.
fn write(path: &Path, bytes: &[u8]) -> Result<(), String> {
    if std::fs::read(path).is_ok_and(|old| old == bytes) {
        return Ok(());
    }
    let failed = |e: std::io::Error| format!("{}: {e}", path.display());
    std::fs::create_dir_all(path.parent().expect("a file lies in a folder")).map_err(failed)?;
    std::fs::write(path, bytes).map_err(failed)
}

/// Compiles the tests; returns whether that succeeded, and cargo's messages.
fn compile(tree: &Path, target: &Path, packages: &[&str]) -> Result<(bool, Vec<Value>), String> {
    let mut command = Command::new("cargo");
    command.args(["test", "--release", "--no-run", "--message-format=json"]).args(tests(packages));
    let output = command
        .env("CARGO_TARGET_DIR", target)
        .current_dir(tree)
        .stderr(std::process::Stdio::null())
        .output();
    let output = output.map_err(|e| format!("cargo does not start: {e}"))?;
    let messages = String::from_utf8_lossy(&output.stdout)
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect();
    Ok((output.status.success(), messages))
}

/// Returns the mutants at the main places of an error, or else the mutants at all its places.
fn culprits(message: &Value, woven: &HashMap<String, Woven>) -> Vec<usize> {
    let at = |span: &Value| {
        let woven = woven.get(span["file_name"].as_str()?)?;
        // The compiler counts bytes from the file's start.
        woven.mutant_at(span["byte_start"].as_u64()? as usize)
    };
    let spans: Vec<&Value> = message["spans"].as_array().into_iter().flatten().collect();
    let main: Vec<usize> = spans.iter().filter(|s| s["is_primary"] == true).filter_map(|s| at(s)).collect();
    if main.is_empty() { spans.into_iter().filter_map(at).collect() } else { main }
}

/// Returns the mutants between the first and the last place of an error. If a mutant deletes a statement that
/// would have moved a value, the compiler names only other places of that value.
fn between(message: &Value, woven: &HashMap<String, Woven>) -> Vec<usize> {
    let spans: Vec<&Value> = message["spans"].as_array().into_iter().flatten().collect();
    let Some(file) = spans.iter().find(|span| span["is_primary"] == true).map(|span| &span["file_name"])
    else {
        return Vec::new();
    };
    let here = spans.iter().filter(|span| span["file_name"] == *file);
    let bytes = here.filter_map(|span| Some([span["byte_start"].as_u64()?, span["byte_end"].as_u64()?]));
    let bytes: Vec<usize> = bytes.flatten().map(|byte| byte as usize).collect();
    let range = bytes.iter().min().zip(bytes.iter().max()).map_or(0..0, |(first, last)| *first..*last);
    file.as_str().and_then(|file| woven.get(file)).map_or_else(Vec::new, |woven| woven.mutants_in(range))
}

/// Returns the test programs that cargo built, in a fixed order.
fn programs(messages: &[Value]) -> Vec<PathBuf> {
    let tests =
        messages.iter().filter(|m| m["reason"] == "compiler-artifact" && m["profile"]["test"] == true);
    let mut programs: Vec<PathBuf> =
        tests.filter_map(|m| m["executable"].as_str().map(PathBuf::from)).collect();
    programs.sort();
    programs
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The compiler names the binding, the borrow and the move of a value, but not the deleted statement in
    /// between.
    #[test]
    fn mutants_between_the_places_of_an_error_are_found() {
        let text = "fn f(a: A) { let b = a.b(); g(b)?; h(a) }";
        let at = |part: &str| text.find(part).unwrap()..text.find(part).unwrap() + part.len();
        let changes = [
            SourceChange::Statement(at("g(b)?;"), String::new()),
            SourceChange::Expression(at("h(a)"), "1".into()),
        ];
        let woven = weave(text, changes.iter().enumerate());
        let place = |part: &str, primary: bool| {
            let start = woven.text.find(part).unwrap();
            let span = [("byte_start", start), ("byte_end", start + part.len())];
            let mut span: Value =
                span.map(|(name, byte)| (name.to_owned(), Value::from(byte))).into_iter().collect();
            span["file_name"] = "a.rs".into();
            span["is_primary"] = primary.into();
            span
        };
        let message = serde_json::json!({"spans": [place("a: A", false), place("h(a)", true)]});
        let woven = HashMap::from([("a.rs".to_owned(), woven)]);
        assert!(culprits(&message, &woven).is_empty());
        assert_eq!(between(&message, &woven), [0, 1]);
        assert_eq!(changes.each_ref().map(SourceChange::deletes), [true, false]);
    }
}
