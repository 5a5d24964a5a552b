//! Checks the dependencies of the project, their licences and their sources, by the rules in `deny.toml`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// The part of `deny.toml` that is checked without `cargo deny`.
struct Allowed {
    licences: BTreeSet<String>,
    sources: BTreeSet<String>,
    /// For each banned crate the crates that may still depend on it.
    banned: BTreeMap<String, BTreeSet<String>>,
}

impl Allowed {
    fn read(root: &Path) -> Result<Self, String> {
        let path = root.join("deny.toml");
        let text = std::fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        let deny: toml::Table = text.parse().map_err(|e| format!("{}: {e}", path.display()))?;
        let list = |table: &str, key: &str| -> Result<BTreeSet<String>, String> {
            let list = deny.get(table).and_then(|t| t.get(key)).and_then(|l| l.as_array());
            let list = list.ok_or(format!("{}: no list {table}.{key}", path.display()))?;
            Ok(list.iter().filter_map(|entry| entry.as_str().map(String::from)).collect())
        };
        let bans = deny.get("bans").and_then(|t| t.get("deny")).and_then(|l| l.as_array());
        let bans = bans.ok_or(format!("{}: no list bans.deny", path.display()))?;
        let names = |list: &toml::Value| -> BTreeSet<String> {
            list.as_array().into_iter().flatten().filter_map(|name| name.as_str().map(String::from)).collect()
        };
        let banned = bans.iter().filter_map(|ban| {
            let name = ban.get("name")?.as_str()?.to_owned();
            Some((name, ban.get("wrappers").map(names).unwrap_or_default()))
        });
        Ok(Allowed {
            licences: list("licenses", "allow")?,
            sources: list("sources", "allow-registry")?,
            banned: banned.collect(),
        })
    }

    /// Returns the dependencies on banned crates, in cargo's resolved graph of packages.
    fn banned_uses(&self, metadata: &Value) -> Vec<String> {
        let packages = metadata["packages"].as_array().into_iter().flatten();
        let names: BTreeMap<String, String> =
            packages.map(|package| (text(package, "id"), text(package, "name"))).collect();
        let mut faults = Vec::new();
        for node in metadata["resolve"]["nodes"].as_array().into_iter().flatten() {
            let name = &names[&text(node, "id")];
            for used in node["deps"].as_array().into_iter().flatten().map(|used| &names[&text(used, "pkg")]) {
                if self.banned.get(used).is_some_and(|wrappers| !wrappers.contains(name)) {
                    faults.push(format!("{name} depends on {used}, which is banned"));
                }
            }
        }
        faults
    }

    /// Returns the fault of a package, if there is one.
    fn fault(&self, package: &Value) -> Option<String> {
        let name = format!("{} {}", text(package, "name"), text(package, "version"));
        // A package without a source is a crate of the workspace.
        let source = package["source"].as_str()?;
        if !source.strip_prefix("registry+").is_some_and(|registry| self.sources.contains(registry)) {
            return Some(format!("{name} comes from {source}"));
        }
        let licence = text(package, "license");
        match satisfied(&licence, &self.licences) {
            Some(true) => None,
            Some(false) => Some(format!("{name} has the licence {licence}")),
            None => Some(format!("{name} has a licence expression that is not understood: {licence:?}")),
        }
    }
}

fn text(package: &Value, key: &str) -> String {
    package[key].as_str().unwrap_or_default().to_owned()
}

/// Returns whether the allowed licences fulfil an SPDX expression; `None` if the text is no expression. `/`
/// is an old spelling of OR.
fn satisfied(expression: &str, allowed: &BTreeSet<String>) -> Option<bool> {
    let spaced = expression.replace('(', " ( ").replace(')', " ) ").replace('/', " OR ");
    let tokens: Vec<&str> = spaced.split_whitespace().collect();
    let mut at = 0;
    let result = either(&tokens, &mut at, allowed)?;
    (at == tokens.len()).then_some(result)
}

fn either(tokens: &[&str], at: &mut usize, allowed: &BTreeSet<String>) -> Option<bool> {
    let mut result = both(tokens, at, allowed)?;
    while tokens.get(*at) == Some(&"OR") {
        *at += 1;
        result |= both(tokens, at, allowed)?;
    }
    Some(result)
}

fn both(tokens: &[&str], at: &mut usize, allowed: &BTreeSet<String>) -> Option<bool> {
    let mut result = single(tokens, at, allowed)?;
    while tokens.get(*at) == Some(&"AND") {
        *at += 1;
        result &= single(tokens, at, allowed)?;
    }
    Some(result)
}

fn single(tokens: &[&str], at: &mut usize, allowed: &BTreeSet<String>) -> Option<bool> {
    let token = *tokens.get(*at)?;
    *at += 1;
    match token {
        "(" => {
            let result = either(tokens, at, allowed)?;
            let closed = tokens.get(*at) == Some(&")");
            *at += 1;
            closed.then_some(result)
        }
        ")" | "OR" | "AND" | "WITH" => None,
        licence if tokens.get(*at) == Some(&"WITH") => {
            let exception = tokens.get(*at + 1)?;
            *at += 2;
            Some(allowed.contains(&format!("{licence} WITH {exception}")))
        }
        licence => Some(allowed.contains(licence)),
    }
}

/// Returns the faults of all packages in the lock file, for every platform and feature.
fn faults(root: &Path) -> Result<Vec<String>, String> {
    let allowed = Allowed::read(root)?;
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let metadata = Command::new(cargo)
        .args(["metadata", "--format-version", "1", "--locked", "--all-features"])
        .current_dir(root)
        .output()
        .map_err(|e| format!("cargo metadata does not start: {e}"))?;
    if !metadata.status.success() {
        return Err(format!("cargo metadata: {}", String::from_utf8_lossy(&metadata.stderr)));
    }
    let metadata: Value =
        serde_json::from_slice(&metadata.stdout).map_err(|e| format!("cargo metadata: {e}"))?;
    let packages = metadata["packages"].as_array().ok_or("cargo metadata names no packages")?;
    if packages.iter().filter(|package| package["source"].is_string()).count() == 0 {
        return Err("cargo metadata names no dependencies".into());
    }
    let faults = packages.iter().filter_map(|package| allowed.fault(package));
    Ok(faults.chain(allowed.banned_uses(&metadata)).collect())
}

/// Checks licences, sources and banned crates, and everything in `deny.toml` if `cargo deny` is installed.
pub fn run(root: &Path) -> Result<(), String> {
    let faults = faults(root)?;
    if !faults.is_empty() {
        return Err(faults.join("\n"));
    }
    println!("licences and sources of all dependencies are as deny.toml allows, and none is banned");
    let deny = |arguments: &[&str]| Command::new("cargo-deny").args(arguments).current_dir(root).output();
    if deny(&["--version"]).is_err() {
        println!(
            "cargo deny is not installed: ADVISORIES ARE NOT CHECKED (cargo install cargo-deny --locked)"
        );
        return Ok(());
    }
    for check in ["bans", "licenses", "sources", "advisories"] {
        let output = deny(&["--all-features", "check", check]).map_err(|e| format!("cargo deny: {e}"))?;
        let said = String::from_utf8_lossy(&output.stderr);
        if output.status.success() {
            println!("cargo deny: {check} ok");
        } else if check == "advisories" && said.contains(NO_DATABASE) {
            println!("cargo deny: the advisories cannot be had, there is no network; they are not checked");
        } else {
            return Err(format!("cargo deny: {check}\n{said}"));
        }
    }
    Ok(())
}

/// The output of `cargo deny` without a network.
const NO_DATABASE: &str = "failed to fetch advisory database";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dependencies_are_allowed() {
        assert_eq!(faults(crate::root()).unwrap(), Vec::<String>::new());
    }

    #[test]
    fn expressions_mean_what_they_say() {
        let allowed = ["MIT", "ISC", "Apache-2.0 WITH LLVM-exception"].map(String::from).into();
        let satisfied = |expression| satisfied(expression, &allowed);
        for fine in [
            "MIT",
            "GPL-3.0 OR MIT",
            "MIT/GPL-3.0",
            "ISC AND (GPL-3.0 OR MIT)",
            "Apache-2.0 WITH LLVM-exception",
        ] {
            assert_eq!(satisfied(fine), Some(true), "{fine}");
        }
        for refused in [
            "GPL-3.0",
            "MIT AND GPL-3.0",
            "Apache-2.0",
            "(MIT OR ISC) AND GPL-3.0",
            "MIT WITH LLVM-exception",
        ] {
            assert_eq!(satisfied(refused), Some(false), "{refused}");
        }
        for nonsense in ["", "MIT OR", "(MIT", "MIT ISC", "AND MIT", "MIT)", "MIT WITH"] {
            assert_eq!(satisfied(nonsense), None, "{nonsense}");
        }
    }

    #[test]
    fn faults_are_named() {
        let allowed = Allowed {
            licences: ["MIT".to_string()].into(),
            sources: ["here".to_string()].into(),
            banned: [("evil".to_string(), ["face".to_string()].into())].into(),
        };
        let uses = |name: &str, used: &str| {
            allowed.banned_uses(&serde_json::json!({
                "packages": [{ "id": "1", "name": name }, { "id": "2", "name": used }],
                "resolve": { "nodes": [{ "id": "1", "deps": [{ "pkg": "2" }] }, { "id": "2", "deps": [] }] }
            }))
        };
        assert!(uses("face", "evil").is_empty() && uses("core", "good").is_empty());
        assert_eq!(uses("core", "evil"), ["core depends on evil, which is banned"]);
        let fault = |source: Value, licence: &str| {
            allowed.fault(
                &serde_json::json!({ "name": "x", "version": "1", "source": source, "license": licence }),
            )
        };
        assert_eq!(fault("registry+here".into(), "MIT"), None);
        assert_eq!(fault(Value::Null, ""), None, "a crate of the workspace");
        assert!(fault("registry+there".into(), "MIT").unwrap().contains("comes from"));
        assert!(fault("git+https://here".into(), "MIT").unwrap().contains("comes from"));
        assert!(fault("registry+here".into(), "GPL-3.0").unwrap().contains("licence"));
        assert!(fault("registry+here".into(), "").unwrap().contains("not understood"));
    }
}
