//! How often each program has run: a budget that outlives the process, as every output tells something about
//! the inputs. A run is written down before it begins.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use super::config::Allowed;
use crate::failure::Failure;
use crate::report::hex;

/// Seconds of the window of `per_hour`.
const HOUR: u64 = 3600;

/// The book of all runs, in a file: a line `SECONDS DIGEST` for each.
pub struct Book {
    file: File,
    path: PathBuf,
    runs: BTreeMap<String, Runs>,
}

#[derive(Default)]
struct Runs {
    all: u64,
    /// When the runs of the last hour were, oldest first.
    recent: Vec<u64>,
}

/// Why a program may not run now.
#[derive(Debug, PartialEq, Eq)]
pub enum Spent {
    /// All of its runs are used up.
    Total,
    /// Those of this hour; in so many seconds there is another one.
    ForNow(u64),
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

impl Book {
    /// Opens the book, or begins it.
    pub fn open(path: &Path) -> Result<Self, Failure> {
        let failed = |e: &io::Error| Failure::cannot_write(path, e);
        let mut file =
            OpenOptions::new().create(true).read(true).append(true).open(path).map_err(|e| failed(&e))?;
        let mut text = String::new();
        file.read_to_string(&mut text).map_err(|e| Failure::cannot_read(&path.display().to_string(), &e))?;
        if !text.is_empty() && !text.ends_with('\n') {
            // The last line was cut off by a crash: its run counts, as it may have begun.
            file.write_all(b"\n").map_err(|e| failed(&e))?;
        }
        file.seek(io::SeekFrom::End(0)).map_err(|e| failed(&e))?;
        let mut book = Book { file, path: path.to_owned(), runs: BTreeMap::new() };
        for line in text.lines() {
            let parsed = line.split_once(' ').and_then(|(time, digest)| Some((time.parse().ok()?, digest)));
            // What cannot be read may be any program's run: then it is everyone's.
            let Some((time, digest)) = parsed.filter(|(_, digest): &(u64, &str)| digest.len() == 64) else {
                return Err(Failure::input(
                    format!("{}: a line of it is no run", path.display()),
                    "the file counts how often programs have run; take a copy of it back, or, if all \
                     budgets may begin anew, remove it",
                ));
            };
            book.runs.entry(digest.to_owned()).or_default().note(time);
        }
        Ok(book)
    }

    /// Checks that the program may run once more now.
    pub fn may(&mut self, allowed: &Allowed) -> Result<(), Spent> {
        self.may_at(allowed, now())
    }

    fn may_at(&mut self, allowed: &Allowed, now: u64) -> Result<(), Spent> {
        let runs = self.runs.entry(hex(&allowed.digest)).or_default();
        if allowed.total.is_some_and(|total| runs.all >= total) {
            return Err(Spent::Total);
        }
        runs.recent.retain(|&time| time + HOUR > now);
        match allowed.per_hour {
            Some(0) => Err(Spent::Total),
            Some(most) if runs.recent.len() as u64 >= most => {
                // A clock that was set back makes nobody wait longer than the hour.
                let frees = runs.recent[runs.recent.len() - most as usize].saturating_add(HOUR);
                Err(Spent::ForNow(frees.saturating_sub(now).clamp(1, HOUR)))
            }
            _ => Ok(()),
        }
    }

    /// Writes down a run that is about to begin. If the program has a budget, it is on the disk when this
    /// returns; otherwise the system writes it soon, as nothing depends on the number.
    pub fn charge(&mut self, allowed: &Allowed) -> Result<(), Failure> {
        let (time, digest) = (now(), hex(&allowed.digest));
        let mut written = self.file.write_all(format!("{time} {digest}\n").as_bytes());
        if allowed.total.is_some() || allowed.per_hour.is_some() {
            written = written.and_then(|()| self.file.sync_data());
        }
        written.map_err(|e| Failure::cannot_write(&self.path, &e))?;
        self.runs.entry(digest).or_default().note(time);
        Ok(())
    }

    /// Returns how often the program has run, ever.
    pub fn runs(&self, digest: &[u8; 32]) -> u64 {
        self.runs.get(&hex(digest)).map_or(0, |runs| runs.all)
    }
}

impl Runs {
    fn note(&mut self, time: u64) {
        self.all += 1;
        self.recent.push(time);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    fn allowed(total: Option<u64>, per_hour: Option<u64>) -> Allowed {
        let program = Arc::new(brickwork::circuit::library::aes::aes_128().expect("a program"));
        Allowed {
            name: "aes".into(),
            digest: program.digest(),
            program,
            input: None,
            outputs: None,
            low: 0,
            high: 0,
            total,
            per_hour,
        }
    }

    /// What ran before a restart counts after it, also a run whose line was cut off; what is no run is
    /// refused.
    #[test]
    fn a_budget_outlives_the_process() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("runs");
        let program = allowed(Some(3), None);
        for before in 0..3 {
            let mut book = Book::open(&path).unwrap();
            assert_eq!(book.runs(&program.digest), before);
            book.may(&program).unwrap();
            book.charge(&program).unwrap();
        }
        assert_eq!(Book::open(&path).unwrap().may(&program), Err(Spent::Total));
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, text.trim_end()).unwrap();
        let mut book = Book::open(&path).unwrap();
        assert_eq!(book.may(&program), Err(Spent::Total));
        book.charge(&program).unwrap();
        assert_eq!(Book::open(&path).unwrap().runs(&program.digest), 4);
        std::fs::write(&path, &text[..text.len() - 9]).unwrap();
        assert!(Book::open(&path).is_err());
    }

    #[test]
    fn an_hour_gives_so_many_runs() {
        let folder = tempfile::tempdir().unwrap();
        let program = allowed(None, Some(2));
        let mut book = Book::open(&folder.path().join("runs")).unwrap();
        let runs = book.runs.entry(hex(&program.digest)).or_default();
        runs.note(1000);
        runs.note(1600);
        assert_eq!(book.may_at(&program, 1700), Err(Spent::ForNow(2900)));
        assert_eq!(book.may_at(&program, 4599), Err(Spent::ForNow(1)));
        assert_eq!(book.may_at(&program, 4600), Ok(()));
        assert_eq!(book.may(&allowed(None, Some(0))), Err(Spent::Total));
    }
}
