//! How often each program has run: a budget that outlives the process, as every output tells something about
//! the inputs. A run is written down before it begins.
//!
//! The file has a line `SECONDS DIGEST` for each run. Now and then those that are older than the hour of
//! `per_hour` become one line for each program, `+COUNT DIGEST`: the new file is complete and on the disk
//! before it takes the old one's place, so that a crash leaves one of the two. Whoever has the store open has
//! the file for itself.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use brickwork::private;

use super::config::Allowed;
use crate::failure::Failure;
use crate::report::hex;

/// Seconds of the window of `per_hour`.
pub const HOUR: u64 = 3600;

/// Lines below which nothing is made shorter.
const LONG: usize = 4096;

/// The book of all runs, in a file.
pub struct Book {
    file: File,
    path: PathBuf,
    runs: BTreeMap<String, Runs>,
    /// Lines of the file, and how many there must be before it is made shorter.
    lines: usize,
    long: usize,
    /// Why nothing more can be written down until the next start.
    broken: Option<String>,
}

#[derive(Default)]
struct Runs {
    all: u64,
    /// When the runs of the last hour were, in the order of the file.
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

/// Makes what happened in a file's folder durable.
fn sync_folder(path: &Path) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    File::open(folder)?.sync_all()
}

/// A line of the book: how many runs of which program, and when if it is one.
struct Line<'a> {
    count: u64,
    time: Option<u64>,
    digest: &'a str,
}

impl<'a> Line<'a> {
    fn parse(line: &'a str) -> Option<Self> {
        let (number, digest) = line.split_once(' ')?;
        if digest.len() != 64 || !digest.bytes().all(|b| b.is_ascii_hexdigit()) {
            return None;
        }
        Some(match number.strip_prefix('+') {
            Some(count) => Line { count: count.parse().ok()?, time: None, digest },
            None => Line { count: 1, time: Some(number.parse().ok()?), digest },
        })
    }
}

impl Book {
    /// Opens the book, or begins it.
    ///
    /// # Errors
    /// If it cannot be read or written, or if a line of it is no run.
    pub fn open(path: &Path) -> Result<Self, Failure> {
        let failed = |e: &io::Error| Failure::cannot_write(path, e);
        let mut file =
            private::options().create(true).read(true).append(true).open(path).map_err(|e| failed(&e))?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(|e| Failure::cannot_read(&path.display().to_string(), &e))?;
        // A last line that a crash has cut off is of a run that had not begun: it begins when its line is on
        // the disk. One that lacks its end alone may be.
        let whole = bytes.iter().rposition(|&b| b == b'\n').map_or(0, |last| last + 1);
        let tail = std::str::from_utf8(&bytes[whole..]).ok().filter(|tail| Line::parse(tail).is_some());
        match tail {
            Some(_) => file.write_all(b"\n").map_err(|e| failed(&e))?,
            None if whole < bytes.len() => {
                tracing::warn!(path = %path.display(), "the last line was cut off: its run had not begun");
                bytes.truncate(whole);
                file.set_len(whole as u64).map_err(|e| failed(&e))?;
            }
            None => {}
        }
        file.seek(io::SeekFrom::End(0)).map_err(|e| failed(&e))?;
        file.sync_all().and_then(|()| sync_folder(path)).map_err(|e| failed(&e))?;
        let mut book =
            Book { file, path: path.to_owned(), runs: BTreeMap::new(), lines: 0, long: LONG, broken: None };
        for line in bytes.split(|&b| b == b'\n').filter(|line| !line.is_empty()) {
            // What cannot be read may be any program's run: then it is everyone's.
            let Some(Line { count, time, digest }) = std::str::from_utf8(line).ok().and_then(Line::parse)
            else {
                return Err(Failure::input(
                    format!("{}: a line of it is no run", path.display()),
                    "the file counts how often programs have run; take a copy of it back, or, if all budgets \
                     may begin anew, remove it",
                ));
            };
            book.lines += 1;
            let runs = book.runs.entry(digest.to_owned()).or_default();
            runs.all = runs.all.saturating_add(count);
            runs.recent.extend(time);
        }
        book.shorten(now())?;
        Ok(book)
    }

    /// Checks whether the program may run once more now.
    pub fn may(&mut self, allowed: &Allowed) -> Result<(), Spent> {
        self.may_at(allowed, now())
    }

    fn may_at(&mut self, allowed: &Allowed, now: u64) -> Result<(), Spent> {
        let runs = self.runs.entry(hex(&allowed.digest)).or_default();
        if allowed.total.is_some_and(|total| runs.all >= total) {
            return Err(Spent::Total);
        }
        runs.forget_before(now);
        match allowed.per_hour {
            Some(0) => Err(Spent::Total),
            Some(most) if runs.recent.len() as u64 >= most => {
                let frees = runs.recent[runs.recent.len() - most as usize].saturating_add(HOUR);
                Err(Spent::ForNow(frees.saturating_sub(now).clamp(1, HOUR)))
            }
            _ => Ok(()),
        }
    }

    /// Writes down a run that is about to begin. If the program has a budget, it is on the disk when this
    /// returns; otherwise the system writes it soon, as nothing depends on the number.
    ///
    /// # Errors
    /// If it cannot be written down; then the run must not begin.
    pub fn charge(&mut self, allowed: &Allowed) -> Result<(), Failure> {
        self.charge_at(allowed, now())
    }

    fn charge_at(&mut self, allowed: &Allowed, time: u64) -> Result<(), Failure> {
        if let Some(why) = &self.broken {
            return Err(Failure::other(why.clone(), "what is written there is not sure: start again"));
        }
        self.shorten(time)?;
        let digest = hex(&allowed.digest);
        let mut written = self.file.write_all(format!("{time} {digest}\n").as_bytes());
        if allowed.total.is_some() || allowed.per_hour.is_some() {
            written = written.and_then(|()| self.file.sync_data());
        }
        if let Err(e) = written {
            // A part of a line may be there: what came behind it would be no run.
            return Err(self.breaks(&e));
        }
        self.lines += 1;
        let runs = self.runs.entry(digest).or_default();
        runs.all = runs.all.saturating_add(1);
        runs.recent.push(time);
        Ok(())
    }

    /// Returns how often the program has run, ever.
    pub fn runs(&self, digest: &[u8; 32]) -> u64 {
        self.runs.get(&hex(digest)).map_or(0, |runs| runs.all)
    }

    fn breaks(&mut self, e: &io::Error) -> Failure {
        let failure = Failure::cannot_write(&self.path, e);
        self.broken = Some(failure.message().to_owned());
        failure
    }

    /// Writes the book anew, without what needs no line of its own any more, if it is long.
    fn shorten(&mut self, now: u64) -> Result<(), Failure> {
        if self.lines < self.long {
            return Ok(());
        }
        let mut text = String::new();
        for (digest, runs) in &mut self.runs {
            runs.forget_before(now);
            let before = runs.all.saturating_sub(runs.recent.len() as u64);
            if before > 0 {
                text.push_str(&format!("+{before} {digest}\n"));
            }
            runs.recent.iter().for_each(|time| text.push_str(&format!("{time} {digest}\n")));
        }
        self.lines = text.lines().count();
        self.long = LONG.max(2 * self.lines);
        let new = self.path.with_extension("new");
        let opened = private::options().create(true).truncate(true).open(&new);
        let written = opened.and_then(|mut file| {
            file.write_all(text.as_bytes())?;
            file.sync_all()?;
            std::fs::rename(&new, &self.path)
        });
        // From here on the old file may be gone.
        let opened = written.and_then(|()| {
            sync_folder(&self.path)?;
            OpenOptions::new().append(true).open(&self.path)
        });
        match opened {
            Ok(file) => self.file = file,
            Err(e) => return Err(self.breaks(&e)),
        }
        Ok(())
    }
}

impl Runs {
    /// Forgets when the runs before the last hour were. Those of a clock that was set back since are of now,
    /// so that nobody waits longer than the hour.
    fn forget_before(&mut self, now: u64) {
        self.recent.iter_mut().for_each(|time| *time = (*time).min(now));
        self.recent.retain(|&time| time.saturating_add(HOUR) > now);
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

    /// What ran before a restart counts after it. A last line that was cut off is of a run that had not
    /// begun, one that lacks its end alone counts; what is no run elsewhere is refused.
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
        for (cut, left) in [(1, 3), (2, 2), (9, 2), (text.len() / 3 - 1, 2), (text.len() / 3, 2), (0, 3)] {
            std::fs::write(&path, &text[..text.len() - cut]).unwrap();
            let mut book = Book::open(&path).unwrap();
            assert_eq!(book.runs(&program.digest), left, "{cut} bytes are lost");
            book.charge(&program).unwrap();
            assert_eq!(Book::open(&path).unwrap().runs(&program.digest), left + 1, "{cut} bytes are lost");
        }
        std::fs::write(&path, text.replacen(' ', "  ", 1)).unwrap();
        assert!(Book::open(&path).is_err());
    }

    #[test]
    fn an_hour_gives_so_many_runs() {
        let folder = tempfile::tempdir().unwrap();
        let program = allowed(None, Some(2));
        let mut book = Book::open(&folder.path().join("runs")).unwrap();
        book.charge_at(&program, 1000).unwrap();
        book.charge_at(&program, 1600).unwrap();
        assert_eq!(book.may_at(&program, 1700), Err(Spent::ForNow(2900)));
        assert_eq!(book.may_at(&program, 4599), Err(Spent::ForNow(1)));
        assert_eq!(book.may_at(&program, 4600), Ok(()));
        assert_eq!(book.may(&allowed(None, Some(0))), Err(Spent::Total));
        // A clock that was set back: the hour begins then, and ends.
        book.charge_at(&program, 1_000_000).unwrap();
        book.charge_at(&program, 1_000_000).unwrap();
        assert_eq!(book.may_at(&program, 5000), Err(Spent::ForNow(3600)));
        assert_eq!(book.may_at(&program, 8600), Ok(()));
    }

    /// However often programs run, the file stays short; all of their runs count, before and after a restart,
    /// and those of the last hour as such.
    #[test]
    fn a_long_book_is_made_shorter() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("runs");
        let unlimited = allowed(None, None);
        let mut book = Book::open(&path).unwrap();
        let runs = 3 * LONG as u64;
        for run in 0..runs {
            book.charge_at(&unlimited, 10 * run).unwrap();
        }
        let last = 10 * (runs - 1);
        let limited = allowed(Some(runs + 1), Some(360));
        for mut book in [book, Book::open(&path).unwrap()] {
            let lines = std::fs::read_to_string(&path).unwrap().lines().count();
            assert!(lines <= LONG + 1, "{lines} lines");
            assert_eq!(book.runs(&limited.digest), runs);
            assert_eq!(book.may_at(&limited, last), Err(Spent::ForNow(10)));
            assert_eq!(book.may_at(&limited, last + 10), Ok(()));
        }
        let mut book = Book::open(&path).unwrap();
        book.charge_at(&limited, last + 10).unwrap();
        assert_eq!(Book::open(&path).unwrap().may(&limited), Err(Spent::Total));
    }

    /// A crash at any point of making it shorter leaves the old file or the new one; what lies beside it is
    /// not looked at.
    #[test]
    fn a_crash_while_it_is_made_shorter() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("runs");
        let program = allowed(None, None);
        let digest = hex(&program.digest);
        let old: String = (0..LONG).map(|run| format!("{run} {digest}\n")).collect();
        let new = format!("+{LONG} {digest}\n");
        for (there, beside) in [(&old, ""), (&old, &new[..10]), (&old, &new), (&new, "")] {
            std::fs::write(&path, there).unwrap();
            std::fs::write(path.with_extension("new"), beside).unwrap();
            let mut book = Book::open(&path).unwrap();
            assert_eq!(book.runs(&program.digest), LONG as u64);
            assert_eq!(std::fs::read_to_string(&path).unwrap(), new);
            book.charge(&program).unwrap();
            assert_eq!(Book::open(&path).unwrap().runs(&program.digest), LONG as u64 + 1);
        }
    }

    /// What cannot be written down is not run, now and later.
    #[test]
    fn a_book_that_cannot_be_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("runs");
        let program = allowed(Some(5), None);
        let mut book = Book::open(&path).unwrap();
        book.file = File::open(&path).unwrap();
        assert!(book.charge(&program).is_err());
        book.file = OpenOptions::new().append(true).open(&path).unwrap();
        assert!(book.charge(&program).is_err(), "a part of a line may be there");
        assert!(Book::open(&path).unwrap().charge(&program).is_ok());
    }
}
