//! Files of lines that are only appended to: the log and the audit trail. At a size or an age the file is set
//! aside, and a new one is begun.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::{Duration, SystemTime};

use brickwork::engine::request::size;

use crate::render::failure::Failure;
use crate::render::terminal::now;

/// The limits of a file, beyond which a new one is begun.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rotation {
    bytes: Option<u64>,
    age: Option<Duration>,
}

/// The units of an age, in seconds.
const UNITS: [(char, u64); 4] = [('s', 1), ('m', 60), ('h', 3600), ('d', 24 * 3600)];

impl FromStr for Rotation {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut rotation = Rotation::default();
        for part in text.split(',') {
            let unit = part.chars().last().and_then(|last| UNITS.into_iter().find(|(unit, _)| *unit == last));
            let age = unit.and_then(|(unit, seconds)| {
                part.strip_suffix(unit)?.parse::<u64>().ok()?.checked_mul(seconds).filter(|age| *age > 0)
            });
            match age {
                Some(seconds) => rotation.age = Some(Duration::from_secs(seconds)),
                None => {
                    let bytes =
                        size(part).map_err(|_| "expected a size such as 100MiB, or an age such as 24h")?;
                    rotation.bytes = Some(bytes);
                }
            }
        }
        Ok(rotation)
    }
}

/// A file of lines that is open.
pub struct Appended {
    path: PathBuf,
    file: File,
    /// The time when this process opened the file, for file systems that do not tell a file's age.
    opened: SystemTime,
    rotation: Rotation,
}

impl Appended {
    /// Opens a file. If there is none, it creates one that only its owner can read.
    ///
    /// # Errors
    /// If this process cannot append to the file.
    pub fn open(path: &Path, rotation: Rotation) -> Result<Self, Failure> {
        let file = brickwork::private::options().create(true).append(true).open(path);
        let file = file.map_err(|e| Failure::cannot_write(path, &e))?;
        Ok(Appended { path: path.to_owned(), file, opened: SystemTime::now(), rotation })
    }

    /// Opens the file again, because another program may have renamed it.
    ///
    /// # Errors
    /// As [`Appended::open`]. After an error the old file stays in use.
    pub fn reopen(&mut self) -> Result<(), Failure> {
        *self = Appended::open(&self.path, self.rotation)?;
        Ok(())
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns whether the file has reached a limit. An empty file never has.
    fn is_full(&self) -> io::Result<bool> {
        let file = self.file.metadata()?;
        let begun = file.created().unwrap_or(self.opened);
        let age = SystemTime::now().duration_since(begun).unwrap_or_default();
        let Rotation { bytes, age: oldest } = self.rotation;
        Ok(file.len() > 0
            && (bytes.is_some_and(|most| file.len() >= most) || oldest.is_some_and(|most| age >= most)))
    }

    /// Gives the file a name with the time, unless another process has done so, and begins a new file.
    fn set_aside(&mut self) -> Result<(), Failure> {
        let is_own = |there: &fs::Metadata| {
            self.file.metadata().is_ok_and(|own| (own.dev(), own.ino()) == (there.dev(), there.ino()))
        };
        if fs::metadata(&self.path).is_ok_and(|there| is_own(&there)) {
            let mut old = self.path.clone().into_os_string();
            old.push(format!(".{}", now().replace(':', "-")));
            if Path::new(&old).exists() {
                return Ok(());
            }
            fs::rename(&self.path, &old).map_err(|e| Failure::cannot_write(&self.path, &e))?;
        }
        self.reopen()
    }
}

impl Write for Appended {
    /// Writes a whole line in one piece, so that lines of other processes stay whole.
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        if self.is_full()? {
            // A file that cannot be set aside is used on, and the next line tries again.
            let _ = self.set_aside();
        }
        self.file.write_all(line).map(|()| line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_read() {
        let of = |bytes, seconds: Option<u64>| Rotation { bytes, age: seconds.map(Duration::from_secs) };
        assert_eq!("100MiB".parse(), Ok(of(Some(100 << 20), None)));
        assert_eq!("24h".parse(), Ok(of(None, Some(86_400))));
        assert_eq!("7d,1GB".parse(), Ok(of(Some(1_000_000_000), Some(604_800))));
        for bad in ["", "0h", "x", "1w", "1h,", "-1d"] {
            assert!(bad.parse::<Rotation>().is_err(), "{bad}");
        }
    }

    /// No line is lost, and no file grows much beyond the limit. Two processes may write to one file.
    #[test]
    fn a_full_file_is_set_aside() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("audit");
        let open = |limit: &str| Appended::open(&path, limit.parse().expect("a limit"));
        let open = |limit: &str| open(limit).unwrap_or_else(|_| panic!("a file"));
        let mut both = [open("100B"), open("100B")];
        for line in 0..100 {
            let line = format!("{line:09}\n");
            both.iter_mut().for_each(|file| file.write_all(line.as_bytes()).expect("it is written"));
        }
        let mut all = Vec::new();
        for entry in fs::read_dir(&folder).expect("a folder") {
            let text = fs::read_to_string(entry.expect("an entry").path()).expect("a text");
            assert!(text.len() <= 110, "{}", text.len());
            all.extend(text.lines().map(|line| line.parse::<u32>().expect(line)));
        }
        all.sort_unstable();
        assert_eq!(all, (0..100).flat_map(|line| [line, line]).collect::<Vec<_>>());
    }

    #[test]
    fn an_old_file_is_set_aside() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("log");
        let open =
            || Appended::open(&path, "1s".parse().expect("an age")).unwrap_or_else(|_| panic!("a file"));
        let mut file = open();
        file.write_all(b"first\n").expect("it is written");
        std::thread::sleep(Duration::from_millis(1100));
        file.write_all(b"second\n").expect("it is written");
        assert_eq!(fs::read_to_string(&path).expect("a text"), "second\n");
        assert_eq!(fs::read_dir(&folder).expect("a folder").count(), 2);
    }
}
