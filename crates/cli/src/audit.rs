//! `--audit FILE`: a local note that tells whether the evaluator had to recover from a cheat.
//!
//! A garbler can cheat so that this depends on the evaluator's input. Therefore nothing else shows it: no
//! output, JSON, log or exit code. With the flag, every run writes a note of the same length after the
//! connection is closed.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use brickwork::wire::tls::PublicKey;
use clap::Args;
use serde_json::json;

use crate::failure::Failure;
use crate::files;
use crate::report::hex;

/// The flag for the file with the evaluator's notes.
#[derive(Args, Clone, Default)]
pub struct AuditArguments {
    /// Append a line to this file that says whether the garbler cheated and the evaluator recovered from it
    ///
    /// A line is a JSON object: time in seconds since 1970, the garbler's key, the program's digest, and
    /// `recovered`, 0 or 1. 1 means that the garbler cheated; the output is correct all the same. But a
    /// garbler can cheat so that it is 1 only if the evaluator's input has some property. If you react in a
    /// way that the garbler can notice, such as a complaint, a refusal to run again, or a delay, you reveal
    /// that property to the garbler. So nothing else reports it: not the output, not --json, no warning, not
    /// the exit code. Only its owner may be able to read the file; keep it away from programs and people that
    /// act on it.
    #[arg(long, value_name = "FILE")]
    pub audit: Option<PathBuf>,
}

/// A file of notes that is open for one line.
pub struct Audit {
    path: PathBuf,
    file: File,
}

impl Audit {
    /// Opens the file before the run begins.
    pub fn open(path: &Path) -> Result<Self, Failure> {
        Ok(Audit { path: path.to_owned(), file: files::append_private(path)? })
    }

    /// Writes the note about a run whose connection is closed. If the file cannot be written, this only
    /// warns, with the same warning for both values, and the output is still printed.
    pub fn note(mut self, garbler: PublicKey, program: &[u8; 32], recovered: bool) {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |age| age.as_secs());
        if let Err(e) = self
            .file
            .write_all(line(now, garbler, program, recovered).as_bytes())
            .and_then(|()| self.file.sync_data())
        {
            tracing::warn!(
                "{}: {}; this run is not noted there",
                self.path.display(),
                brickwork::system::explained(&e).0
            );
        }
    }
}

/// Returns the line, which has the same length for both values of `recovered`.
fn line(now: u64, garbler: PublicKey, program: &[u8; 32], recovered: bool) -> String {
    let line = json!({
        "time": now,
        "garbler": garbler.to_string(),
        "program": hex(program),
        "recovered": u8::from(recovered),
    });
    format!("{line}\n")
}

#[cfg(test)]
mod tests {
    use brickwork::wire::tls::Identity;

    use super::*;

    #[test]
    fn both_lines_are_alike_but_for_a_digit() {
        let garbler = Identity::generate().unwrap().0.public_key();
        let [no, yes] = [false, true].map(|recovered| line(1, garbler, &[7; 32], recovered));
        assert_eq!((no.len(), no.replace(r#""recovered":0"#, r#""recovered":1"#)), (yes.len(), yes));
    }

    /// Every run appends a line, and only the owner can read the file.
    #[test]
    fn every_run_is_noted_behind_the_others() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("audit");
        let garbler = Identity::generate().unwrap().0.public_key();
        for recovered in [false, true, false] {
            Audit::open(&path)
                .unwrap_or_else(|e| panic!("{}", e.message()))
                .note(garbler, &[7; 32], recovered);
        }
        let text = std::fs::read_to_string(&path).unwrap();
        let noted =
            |line: &str| serde_json::from_str::<serde_json::Value>(line).unwrap()["recovered"].clone();
        assert_eq!(text.lines().map(noted).collect::<Vec<_>>(), [json!(0), json!(1), json!(0)]);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
            assert!(Audit::open(&path).is_err_and(|e| e.message().contains("other users can read")));
        }
    }
}
