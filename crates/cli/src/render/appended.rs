//! Files to which lines are only appended: the log and the audit trail. When such a file reaches a size or an
//! age, it is renamed, and a new file is begun.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::{Duration, SystemTime};

use brickwork::engine::request::size;
use rustix::fs::OFlags;
use rustix::io::Errno;

use crate::commands::files;
use crate::render::failure::Failure;
use crate::render::terminal::now;

/// The limits of a file; when it reaches one of them, a new file is begun.
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

/// The hint for a file that another user may have replaced.
const ONLY_HERE: &str = "remove it, and let only the user of this command write to the folder";

/// Opens a file to append to it. A new file can be read only by its owner.
fn opened(path: &Path, linked: bool, private: bool) -> Result<File, Failure> {
    let mut options = brickwork::private::options();
    if !linked {
        options.custom_flags(OFlags::NOFOLLOW.bits() as i32);
    }
    let file = options.create(true).append(true).open(path).map_err(|e| match Errno::from_io_error(&e) {
        Some(Errno::LOOP) => {
            Failure::input(format!("{}: a symbolic link has replaced this file", path.display()), ONLY_HERE)
        }
        _ => Failure::cannot_write(path, &e),
    })?;
    if private {
        files::check_private(&file, path)?;
    }
    Ok(file)
}

/// A file of lines that is open.
pub struct Appended {
    path: PathBuf,
    file: File,
    /// True if the user named a symbolic link, such as /dev/stderr. Only then are links followed.
    linked: bool,
    /// True if other users must not be able to read the file.
    private: bool,
    /// The time when this process opened the file, for file systems that do not tell a file's age.
    opened: SystemTime,
    rotation: Rotation,
}

impl Appended {
    /// Opens a file. If there is none, it creates one that only its owner can read.
    ///
    /// # Errors
    /// If this process cannot append to the file, or the file must be private and is not.
    pub fn open(path: &Path, rotation: Rotation, private: bool) -> Result<Self, Failure> {
        let linked = fs::symlink_metadata(path).is_ok_and(|there| there.is_symlink());
        let file = opened(path, linked, private)?;
        Ok(Appended { path: path.to_owned(), file, linked, private, opened: SystemTime::now(), rotation })
    }

    /// Opens the file again, because another program may have renamed it. Another user who can write to the
    /// folder may have put a link or another file there; both are refused.
    ///
    /// # Errors
    /// If this process cannot append to the file, or another user owns the file. After an error the old file
    /// stays in use.
    pub fn reopen(&mut self) -> Result<(), Failure> {
        let file = opened(&self.path, self.linked, self.private)?;
        let [old, new] = [&self.file, &file].map(File::metadata);
        let [old, new] = [old, new].map(|data| data.map_err(|e| Failure::cannot_write(&self.path, &e)));
        let (old, new) = (old?, new?);
        let owners = [old.uid(), rustix::process::geteuid().as_raw()];
        if !self.linked && (!owners.contains(&new.uid()) || new.nlink() != 1) {
            return Err(Failure::input(
                format!("{}: this file belongs to another user, or has a second name", self.path.display()),
                ONLY_HERE,
            ));
        }
        (self.file, self.opened) = (file, SystemTime::now());
        Ok(())
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns whether the file has reached a limit. An empty file has reached none.
    fn is_full(&self) -> io::Result<bool> {
        let file = self.file.metadata()?;
        let begun = file.created().unwrap_or(self.opened);
        let age = SystemTime::now().duration_since(begun).unwrap_or_default();
        let Rotation { bytes, age: oldest } = self.rotation;
        Ok(file.len() > 0
            && (bytes.is_some_and(|most| file.len() >= most) || oldest.is_some_and(|most| age >= most)))
    }

    /// Renames the file to a name with the time, unless another process has done so, and begins a new file.
    fn set_aside(&mut self) -> Result<(), Failure> {
        let is_own = |there: &fs::Metadata| {
            self.file.metadata().is_ok_and(|own| (own.dev(), own.ino()) == (there.dev(), there.ino()))
        };
        if fs::symlink_metadata(&self.path).is_ok_and(|there| is_own(&there)) {
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
            // If the file cannot be renamed, this line still goes into it, and the next line tries again.
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
        let open = |limit: &str| Appended::open(&path, limit.parse().expect("a limit"), true);
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
        let open = || {
            Appended::open(&path, "1s".parse().expect("an age"), false).unwrap_or_else(|_| panic!("a file"))
        };
        let mut file = open();
        file.write_all(b"first\n").expect("it is written");
        std::thread::sleep(Duration::from_millis(1100));
        file.write_all(b"second\n").expect("it is written");
        assert_eq!(fs::read_to_string(&path).expect("a text"), "second\n");
        assert_eq!(fs::read_dir(&folder).expect("a folder").count(), 2);
    }

    /// Another user of the folder cannot make lines go into another file: neither with a link at rotation,
    /// nor with a link before a signal. A link that the user has named is followed.
    #[test]
    fn links_are_not_followed() {
        let folder = tempfile::tempdir().expect("a folder");
        let [path, victim, link] = ["audit", "victim", "link"].map(|name| folder.path().join(name));
        let open = |path: &Path, limit: &str| {
            let file = Appended::open(path, limit.parse().expect("a limit"), true);
            file.unwrap_or_else(|_| panic!("a file"))
        };
        fs::write(&victim, "").expect("a file");
        fs::set_permissions(&victim, std::os::unix::fs::PermissionsExt::from_mode(0o600)).expect("a mode");
        let mut file = open(&path, "1B");
        let planted: [&dyn Fn(); 2] =
            [&|| std::os::unix::fs::symlink(&victim, &path).expect("a link"), &|| {
                fs::hard_link(&victim, &path).expect("a second name")
            }];
        for plant in planted {
            fs::remove_file(&path).expect("it is removed");
            plant();
            file.write_all(b"line\n").expect("it is written to the old file");
            assert!(file.reopen().is_err());
        }
        assert_eq!(fs::read(&victim).expect("a file"), b"");
        std::os::unix::fs::symlink(&victim, &link).expect("a link");
        let mut file = open(&link, "1B");
        file.write_all(b"line\n").and_then(|()| file.write_all(b"line\n")).expect("it is written");
        assert!(file.reopen().is_ok());
        assert_eq!(fs::read(&victim).expect("a file"), b"line\nline\n");
    }
}
