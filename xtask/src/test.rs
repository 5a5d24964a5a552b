//! Everything that must pass before a change lands.

use std::path::Path;
use std::process::Command;

/// The crates that the command is made of, and the chores. They are linted and tested by themselves: cargo
/// builds whatever is chosen together with all features that any of it asks for, and the others ask for hooks
/// into the protocol, which the command that people use does not have.
const SHIPPED: [&str; 4] = ["brickwork", "brickwork-cli", "brickwork-lang", "xtask"];

/// Which crates a step is for.
enum Crates {
    All,
    Shipped,
    Others,
}

impl Crates {
    fn arguments(&self) -> Vec<&'static str> {
        match self {
            Crates::All => vec!["--workspace"],
            Crates::Shipped => SHIPPED.iter().flat_map(|name| ["-p", name]).collect(),
            Crates::Others => ["--workspace"]
                .into_iter()
                .chain(SHIPPED.iter().flat_map(|name| ["--exclude", name]))
                .collect(),
        }
    }
}

/// Name, cargo's command, the crates, and what comes behind.
type Step = (&'static str, &'static [&'static str], Crates, &'static [&'static str]);

const LINTS: &[&str] = &["--", "-D", "warnings"];

const STEPS: [Step; 5] = [
    ("lints of what is shipped", &["clippy", "--release", "--all-targets"], Crates::Shipped, LINTS),
    ("lints", &["clippy", "--release", "--all-targets"], Crates::All, LINTS),
    ("documentation", &["doc", "--no-deps"], Crates::All, &[]),
    ("tests of what is shipped", &["test", "--release", "--no-fail-fast"], Crates::Shipped, &[]),
    // Last, so that its summary ends the output.
    ("tests", &["test", "--release", "--no-fail-fast"], Crates::Others, &[]),
];

/// Runs the steps in order; the first that fails ends it.
pub fn run(root: &Path) -> Result<(), String> {
    step(root, "format", &["fmt", "--all", "--check"])?;
    for (name, command, crates, behind) in STEPS {
        step(root, name, &[command, &crates.arguments(), behind].concat())?;
    }
    Ok(())
}

fn step(root: &Path, name: &str, arguments: &[&str]) -> Result<(), String> {
    eprintln!("xtask: {name}: cargo {}", arguments.join(" "));
    cargo(root, arguments).map_err(|e| format!("{name}: {e}"))
}

/// Runs cargo; its failure is an error.
pub fn cargo(root: &Path, arguments: &[&str]) -> Result<(), String> {
    cargo_with(root, arguments, &[])
}

/// [`cargo`] in this environment.
pub fn cargo_with(root: &Path, arguments: &[&str], environment: &[(&str, &str)]) -> Result<(), String> {
    // Where a toolchain is asked for, it is not this one's cargo that runs.
    let cargo = match environment.iter().any(|(name, _)| *name == "RUSTUP_TOOLCHAIN") {
        true => "cargo".into(),
        false => std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()),
    };
    let command = &mut Command::new(cargo);
    let status = command
        .args(arguments)
        .env("RUSTDOCFLAGS", "-D warnings")
        .envs(environment.iter().copied())
        .current_dir(root)
        .status();
    match status.map_err(|e| format!("cargo does not start: {e}"))?.success() {
        true => Ok(()),
        false => Err(format!("failed: cargo {}", arguments.join(" "))),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// What `cargo tree` says of these crates, line by line.
    fn tree(arguments: &[&str]) -> BTreeSet<String> {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let output = Command::new(cargo)
            .args(["tree", "--locked", "--prefix", "none"])
            .args(arguments)
            .current_dir(crate::root())
            .output()
            .expect("cargo starts");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8(output.stdout).expect("text");
        text.lines().map(|line| line.trim_end_matches(" (*)").to_owned()).collect()
    }

    #[test]
    fn no_hook_is_part_of_the_command() {
        let names = |package| {
            let tree = tree(&["-e", "features,normal,build", "-p", package]);
            // The folders of the workspace are no names.
            tree.iter().map(|line| line.split(" (").next().unwrap_or_default().to_owned()).collect()
        };
        let shipped: BTreeSet<String> = names("brickwork-cli");
        assert!(shipped.iter().any(|name| name.starts_with("brickwork v")), "{shipped:?}");
        let hooks: Vec<_> = shipped.iter().filter(|name| name.contains("adversary")).collect();
        assert!(hooks.is_empty(), "{hooks:?}");
        let others: BTreeSet<String> = names("brickwork-adversary");
        assert!(others.contains("brickwork feature \"adversary\""), "{others:?}");
    }

    /// Tests come with libraries of their own; none of those gives what the command is made of a feature that
    /// it does not have where it is shipped.
    #[test]
    fn what_is_tested_is_what_is_shipped() {
        let features = ["--format", "{p} {f}"];
        let shipped = tree(&[&["-p", "brickwork-cli", "-e", "normal,build"], &features[..]].concat());
        let tested =
            tree(&[&Crates::Shipped.arguments()[..], &["-e", "normal,build,dev"], &features].concat());
        assert!(shipped.len() > 50, "{shipped:?}");
        let other: Vec<_> = shipped.difference(&tested).collect();
        assert!(
            other.is_empty(),
            "these are tested with other features than they are shipped with: {other:#?}"
        );
    }
}
