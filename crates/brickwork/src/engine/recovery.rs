//! A local note that tells whether the evaluator had to recover from a cheat.
//!
//! A garbler can cheat so that this depends on the evaluator's input. Therefore nothing else shows it: no
//! output, report, log or exit code. A run that is asked for notes writes one of the same length each time,
//! after the connection is closed.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use brickwork_wire::tls::PublicKey;
use serde::Serialize;

use super::hex;
use crate::failure::Error;
use crate::{files, system};

/// A file of notes that is open for one line.
pub struct Notes {
    path: PathBuf,
    file: File,
}

/// A note. All its forms have the same length for both values of `recovered`.
#[derive(Serialize)]
struct Note {
    /// Seconds since 1970.
    time: u64,
    garbler: String,
    program: String,
    /// 0 or 1.
    recovered: u8,
}

impl Notes {
    /// Opens the file before the run begins.
    ///
    /// # Errors
    /// If the file cannot be opened, or other users can read or change it.
    pub fn open(path: &Path) -> Result<Self, Error> {
        Ok(Notes { path: path.to_owned(), file: files::append_private(path)? })
    }

    /// Writes the note about a run whose connection is closed. If the file cannot be written, this only
    /// warns, with the same warning for both values, and the output is still returned.
    pub fn note(mut self, garbler: PublicKey, program: &[u8; 32], recovered: bool) {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |age| age.as_secs());
        let line = line(now, garbler, program, recovered);
        if let Err(e) = self.file.write_all(line.as_bytes()).and_then(|()| self.file.sync_data()) {
            let path = self.path.display();
            tracing::warn!("{path}: {}; this run is not noted there", system::explained(&e).0);
        }
    }
}

fn line(time: u64, garbler: PublicKey, program: &[u8; 32], recovered: bool) -> String {
    let (garbler, program) = (garbler.to_string(), hex(program));
    let note = Note { time, garbler, program, recovered: recovered.into() };
    // Numbers and hexadecimal digits always have a JSON form.
    serde_json::to_string(&note).unwrap_or_default() + "\n"
}

#[cfg(test)]
mod tests {
    use brickwork_wire::tls::Identity;

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
        let path = folder.path().join("notes");
        let garbler = Identity::generate().unwrap().0.public_key();
        for recovered in [false, true, false] {
            Notes::open(&path).unwrap().note(garbler, &[7; 32], recovered);
        }
        let text = std::fs::read_to_string(&path).unwrap();
        let noted = |line: &str| line.contains(r#""recovered":1"#);
        assert_eq!(text.lines().map(noted).collect::<Vec<_>>(), [false, true, false]);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
            assert!(Notes::open(&path).is_err_and(|e| e.message().contains("other users can read")));
        }
    }
}
