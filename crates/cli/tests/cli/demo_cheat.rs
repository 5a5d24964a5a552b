//! Tests the commands of other programs, and that the command contains no hook for a cheater.

use std::os::unix::fs::PermissionsExt;

use super::*;

/// This test is about the command that people install, which is not built together with the adversary's
/// crate.
#[test]
fn the_command_has_no_hooks() {
    let hint =
        "`cargo test -p brickwork-cli` builds the command as it is shipped; `cargo xtask test` does that";
    let printed = object(&run(&["--version", "--json"]));
    let commit = printed["commit"].as_str().unwrap_or("unknown");
    let protocol = brickwork::protocol::PROTOCOL_VERSION;
    let version = format!("brickwork {} (commit {commit}, protocol {protocol})\n", env!("CARGO_PKG_VERSION"));
    assert_eq!(text(&run(&["--version"]).stdout), version, "{hint}");
    schema::holds_for("--version", &printed);
    assert_eq!(printed["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(printed["protocol"], brickwork::protocol::PROTOCOL_VERSION);
    assert_eq!(printed["hooks"], false, "{hint}");
}

/// Makes the command in a folder of its own.
fn alone(folder: &Path) -> Command {
    let own = folder.join("brickwork");
    if !own.exists() {
        std::fs::copy(env!("CARGO_BIN_EXE_brickwork"), &own).expect("a copy");
    }
    let mut command = Command::new(own);
    command.env("PATH", folder.join("path")).stdin(Stdio::null());
    command
}

/// Writes a program that prints its place and its arguments, and ends with code 9.
fn pretend(folder: &Path, program: &str, name: &str) {
    std::fs::create_dir_all(folder).expect("a folder");
    let path = folder.join(program);
    std::fs::write(&path, format!("#!/bin/sh\necho \"{name}: $*\"\nexit 9\n")).expect("a program");
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).expect("permissions");
}

#[test]
fn attacks_are_played_by_another_program() {
    let folder = TempDir::new().expect("a folder");
    let demo = |arguments: &[&str]| {
        alone(folder.path()).arg("demo-cheat").args(arguments).output().expect("the command starts")
    };
    let refused = demo(&[]);
    assert_eq!(refused.status.code(), Some(2));
    let stderr = text(&refused.stderr);
    assert!(
        stderr.contains("the program brickwork-demo-cheat, which plays the attacks, is not installed"),
        "{stderr}"
    );
    assert!(stderr.contains("cargo install --locked --path crates/adversary --bin brickwork-demo-cheat"));
    is_error(&demo(&["--json"]), 2, "is not installed");

    pretend(&folder.path().join("path"), "brickwork-demo-cheat", "in PATH");
    let played = demo(&["row_05", "--runs", "3", "--json"]);
    assert_eq!(played.status.code(), Some(9), "{}", text(&played.stderr));
    assert_eq!(text(&played.stdout), "in PATH: row_05 --runs=3 --json\n");
    pretend(folder.path(), "brickwork-demo-cheat", "beside");
    assert_eq!(text(&demo(&[]).stdout), "beside: --runs=100\n");

    let broken = folder.path().join("brickwork-demo-cheat");
    std::fs::set_permissions(&broken, PermissionsExt::from_mode(0o644)).expect("permissions");
    let stopped = demo(&[]);
    assert_eq!(stopped.status.code(), Some(1));
    let stderr = text(&stopped.stderr);
    assert!(
        stderr.contains("cannot start brickwork-demo-cheat: the permissions do not allow this"),
        "{stderr}"
    );
}

#[test]
fn wrong_numbers_of_runs_are_refused() {
    bad(&["demo-cheat", "row_05_flipped_table", "--runs", "0"], 2, "0");
}

/// `bench` passes its arguments, also `--help`, and the flags before them to another program. If that program
/// is missing, the error says how to install it.
#[test]
fn another_program_measures() {
    let folder = TempDir::new().expect("a folder");
    let bench = |arguments: &[&str]| {
        let mut command = alone(folder.path());
        command.args(arguments).current_dir(folder.path()).output().expect("the command starts")
    };
    for missing in [&["bench", "garbling"][..], &["bench"], &["bench", "--help"]] {
        let refused = bench(missing);
        assert_eq!(refused.status.code(), Some(2), "{missing:?}");
        let stderr = text(&refused.stderr);
        assert!(
            stderr.contains("error: the program brickwork-bench, which measures, is not installed\n"),
            "{stderr}"
        );
        for way in [
            "cargo install --locked --path tools/bench --bin brickwork-bench",
            "cargo build --release -p brickwork-bench",
        ] {
            assert!(stderr.contains(&format!("`{way}`")), "{stderr}");
        }
    }
    for place in [&["--json", "bench", "garbling"][..], &["bench", "garbling", "--json"]] {
        is_error(&bench(place), 2, "is not installed");
    }

    pretend(&folder.path().join("path"), "brickwork-bench", "in PATH");
    let told = bench(&["bench", "garbling", "--rounds", "3", "--json"]);
    assert_eq!(
        (told.status.code(), text(&told.stdout)),
        (Some(9), "in PATH: garbling --rounds 3 --json\n".into())
    );
    pretend(folder.path(), "brickwork-bench", "beside");
    assert_eq!(text(&bench(&["bench", "--help"]).stdout), "beside: --help\n");
    let flags = ["--log", "bench", "--quiet", "--log-format=json", "bench", "--json", "garbling", "-h"];
    let stdout = text(&bench(&flags).stdout);
    assert_eq!(stdout, "beside: --json --quiet --log bench --log-format=json garbling -h\n");
}

/// `sql` passes its arguments, also `--help`, to the program of the Python package. If that program is
/// missing, the error says how to install it.
#[test]
fn another_program_computes_queries() {
    let folder = TempDir::new().expect("a folder");
    let sql = |arguments: &[&str]| {
        let mut command = alone(folder.path());
        command.args(arguments).current_dir(folder.path()).output().expect("the command starts")
    };
    for missing in [&["sql", "SELECT 1", "--explain"][..], &["sql"], &["sql", "--help"]] {
        let refused = sql(missing);
        assert_eq!(refused.status.code(), Some(2), "{missing:?}");
        let stderr = text(&refused.stderr);
        assert!(
            stderr.contains(
                "error: the program brickwork-sql, which computes queries in SQL, is not installed\n"
            ),
            "{stderr}"
        );
        assert!(stderr.contains("`pip install '.[sql]'`"), "{stderr}");
    }
    is_error(&sql(&["--json", "sql", "SELECT 1"]), 2, "is not installed");

    pretend(&folder.path().join("path"), "brickwork-sql", "in PATH");
    let told = sql(&["sql", "SELECT 1", "--garbler-table=a=a.csv", "--json"]);
    assert_eq!(
        (told.status.code(), text(&told.stdout)),
        (Some(9), "in PATH: SELECT 1 --garbler-table=a=a.csv --json\n".into())
    );
    assert_eq!(text(&sql(&["--quiet", "sql", "--help"]).stdout), "in PATH: --quiet --help\n");
}
