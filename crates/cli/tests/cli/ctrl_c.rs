//! Tests that Ctrl-C or SIGKILL at any time leaves no process and no file.
//!
//! Rows are those of the table of attacks (docs/concepts/security.md, section 14).
#![cfg(target_os = "linux")]

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use super::parties::Side;
use super::*;

/// Returns the command lines of all processes that contain this path.
fn processes_about(path: &str) -> Vec<String> {
    let line = |entry: fs::DirEntry| fs::read(entry.path().join("cmdline")).ok();
    let lines = fs::read_dir("/proc").unwrap().filter_map(|entry| line(entry.ok()?));
    lines
        .map(|line| String::from_utf8_lossy(&line).replace('\0', " "))
        .filter(|line| line.contains(path))
        .collect()
}

/// Returns all files below a folder.
fn files_below(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries
        .flat_map(|path| if path.is_dir() { files_below(&path) } else { vec![path.display().to_string()] })
        .collect()
}

/// Row 20 of the table of attacks: the signal goes to the process that the user started, whose children are
/// the two parties.
#[test]
fn row_20_ctrl_c_leaves_no_process_and_no_file() {
    let mut in_time = 0;
    for (signal, delays) in [
        (interrupt(), [0, 40, 150, 400, 900]),
        ("TERM", [10, 80, 200, 500, 1200]),
        ("KILL", [20, 60, 250, 600, 1500]),
    ] {
        for delay in delays {
            let folder = tempfile::tempdir().unwrap();
            let (program, temporary) = (folder.path().join("cut-short.bwp"), folder.path().join("tmp"));
            fs::copy(example("aes-128.bwp"), &program).unwrap();
            fs::create_dir(&temporary).unwrap();
            let program = program.display().to_string();
            let inputs = ["garbler", "evaluator"]
                .map(|party| format!("@{}", example(&format!("aes-128.{party}.json"))));
            let arguments = ["run", &program, "--garbler", &inputs[0], "--evaluator", &inputs[1]];
            let mut child =
                Child::spawn(brickwork(&arguments).env("TMPDIR", &temporary).current_dir(folder.path()));
            std::thread::sleep(Duration::from_millis(delay));
            let id = child.id().to_string();
            in_time += usize::from(child.try_wait().unwrap().is_none());
            // The process may have ended by itself.
            let _ =
                std::process::Command::new("kill").args(["-s", signal, &id]).stderr(Stdio::null()).status();
            child.wait().unwrap();
            // A child notices the end of its pipe, and ends.
            let patience = Instant::now() + Duration::from_secs(20);
            while !processes_about(&program).is_empty() && Instant::now() < patience {
                std::thread::sleep(Duration::from_millis(20));
            }
            assert_eq!(processes_about(&program), Vec::<String>::new(), "after SIG{signal} at {delay} ms");
            assert_eq!(files_below(folder.path()), [program], "after SIG{signal} at {delay} ms");
        }
    }
    assert!(in_time > 0, "every run had ended before its signal");
}

/// Makers without a caller wait forever, so a failing test must kill them.
#[test]
fn a_test_that_fails_leaves_no_process() {
    let keys = Keys::new();
    let (identity, mut waiting) = (keys.file("garbler.key"), Vec::new());
    let fixed = ["maker", "--listen", "127.0.0.1:0", "--identity", &identity, "--party", &keys.evaluator];
    let test = std::panic::AssertUnwindSafe(|| {
        let mut maker = start(&fixed);
        let (party, _) = Side::garbler(&keys).listen(&[]);
        address(&mut maker);
        waiting.extend([&maker, &party].map(|child| format!("/proc/{}", child.id())));
        assert!(waiting.iter().all(|process| Path::new(process).exists()));
        std::panic::resume_unwind(Box::new("a test fails"));
    });
    std::panic::catch_unwind(test).expect_err("it fails");
    assert_eq!(waiting.len(), 2);
    assert!(!waiting.iter().any(|process| Path::new(process).exists()), "{waiting:?}");
}
