//! The folder of tests' temporary files.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The variable that names the folder of temporary files.
const VARIABLE: &str = "TMPDIR";

/// The folder of files in memory, on systems that have it.
const MEMORY: &str = "/dev/shm";

/// The beginning of the folder's name; the number of the process follows.
const NAME: &str = "brickwork-tests-";

/// The space that must be free in memory: several times the space that all tests use at once.
const ROOM: u64 = 8 << 30;

/// The folder of temporary files of all commands during this value's life; its files are removed with it.
///
/// Stores write durably all the time. With files in memory, their tests take less than half of the time that
/// they take on a disk. If there is no space, or [`VARIABLE`] names a folder, nothing changes.
pub struct Scratch(Option<PathBuf>);

impl Scratch {
    /// Makes the folder, if there is enough space.
    pub fn new() -> Self {
        let named = std::env::var_os(VARIABLE).is_some_and(|folder| !folder.is_empty());
        if named || free(Path::new(MEMORY)).is_none_or(|free| free < ROOM) {
            return Scratch(None);
        }
        remove_left_behind();
        let folder = Path::new(MEMORY).join(format!("{NAME}{}", std::process::id()));
        Scratch(std::fs::create_dir(&folder).is_ok().then_some(folder))
    }

    /// Makes a command keep its temporary files in this folder.
    pub fn lend(&self, command: &mut Command) {
        if let Some(folder) = &self.0 {
            command.env(VARIABLE, folder);
        }
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if let Some(folder) = &self.0 {
            let _ = std::fs::remove_dir_all(folder);
        }
    }
}

/// Removes folders of processes that have ended: a killed process leaves its files in memory.
fn remove_left_behind() {
    for entry in std::fs::read_dir(MEMORY).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let process = name.to_str().and_then(|name| name.strip_prefix(NAME)).map(|id| format!("/proc/{id}"));
        if process.is_some_and(|process| !Path::new(&process).exists()) {
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

/// Returns the number of free bytes in a folder.
fn free(folder: &Path) -> Option<u64> {
    let room = rustix::fs::statvfs(folder).ok()?;
    room.f_bavail.checked_mul(room.f_frsize)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A child gets a folder that exists as long as this value; without space it gets none.
    #[test]
    fn a_folder_lasts_as_long_as_it_is_needed() {
        assert_eq!(free(Path::new("/no/such/folder")), None);
        let scratch = Scratch::new();
        let folder = scratch.0.clone();
        let mut command = Command::new("true");
        scratch.lend(&mut command);
        let given = command.get_envs().find(|(name, _)| *name == VARIABLE).and_then(|(_, folder)| folder);
        assert_eq!(given, folder.as_ref().map(|folder| folder.as_os_str()));
        if let Some(folder) = folder {
            std::fs::write(folder.join("left behind"), "by a test").expect("it is a folder");
            drop(scratch);
            assert!(!folder.exists());
        }
    }
}
