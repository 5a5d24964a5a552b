//! Errors of the operating system in words that help the user, without error numbers. The words are the same
//! for every read, write and creation of a file.

use std::ffi::OsString;
use std::io::{self, ErrorKind};
use std::path::PathBuf;
use std::sync::OnceLock;

/// The error numbers for too many open files, for which the standard library has no kind.
const TOO_MANY_FILES: [i32; 2] = [23, 24];

/// The error number for a failure of the device itself.
const DEVICE: i32 = 5;

/// Returns a text for the error, and a hint.
pub fn explained(why: &io::Error) -> (String, &'static str) {
    let (what, hint) = match why.kind() {
        ErrorKind::NotFound => (
            "there is no such file or folder",
            "check the path: it starts from the current folder, and all its folders must exist",
        ),
        ErrorKind::AlreadyExists => {
            ("a file with this name already exists", "choose another name, or move the existing file away")
        }
        ErrorKind::PermissionDenied => {
            ("the permissions do not allow this", "give this user the permission; `ls -l` shows who has it")
        }
        ErrorKind::IsADirectory => ("the path is a folder, not a file", "name a file instead"),
        ErrorKind::NotADirectory => ("a part of the path is a file, not a folder", "check the path"),
        ErrorKind::DirectoryNotEmpty => {
            ("the folder is not empty", "empty the folder, or choose another one")
        }
        ErrorKind::StorageFull => {
            ("the disk is full", "free space on this disk, or choose a folder on another disk")
        }
        ErrorKind::QuotaExceeded => {
            ("this user has no space left on the disk (quota)", "remove files, or ask for a larger quota")
        }
        ErrorKind::FileTooLarge => {
            ("the file would become too large", "`ulimit -f` or the file system may limit the size of files")
        }
        ErrorKind::ReadOnlyFilesystem => (
            "the disk is mounted read-only",
            "choose a folder on another disk, or mount this disk for writing",
        ),
        ErrorKind::InvalidFilename => ("a file cannot have this name", "choose another or a shorter name"),
        ErrorKind::ResourceBusy | ErrorKind::ExecutableFileBusy => {
            ("another program uses the file", "end that program, or wait for it")
        }
        ErrorKind::OutOfMemory => ("the machine has no memory left", "close other programs"),
        ErrorKind::BrokenPipe => {
            ("the program that reads the output has ended", "that program must read the output to its end")
        }
        ErrorKind::InvalidData => ("the file is not text", "check that this is the right file"),
        ErrorKind::UnexpectedEof => ("the file ends too early", "check that the file is complete"),
        ErrorKind::ConnectionRefused => ("no program listens at this address", "check the address"),
        ErrorKind::ConnectionReset | ErrorKind::ConnectionAborted => {
            ("the connection broke", "the network failed, or the peer's process was killed")
        }
        ErrorKind::NetworkUnreachable | ErrorKind::HostUnreachable | ErrorKind::NetworkDown => {
            ("the network has no route to this address", "check the address and this machine's network")
        }
        ErrorKind::AddrInUse => ("another program already listens at this address", "choose another port"),
        ErrorKind::AddrNotAvailable => {
            ("this machine does not have this address", "choose an address of this machine")
        }
        ErrorKind::TimedOut => ("the operation did not finish in time", "try again"),
        _ => match why.raw_os_error() {
            Some(code) if TOO_MANY_FILES.contains(&code) => {
                ("this process has too many open files", "close other programs, or raise `ulimit -n`")
            }
            Some(DEVICE) => ("the disk or device failed", "check the disk, its cable and its network"),
            _ => return (without_number(&why.to_string()), "check the path, its permissions and its disk"),
        },
    };
    // The error has a message of its own, which tells more than the text for its kind.
    let own = why.raw_os_error().is_none() && why.get_ref().is_some();
    (if own { why.to_string() } else { what.to_owned() }, hint)
}

/// Returns the message with the system's words replaced by this module's.
pub fn translated(message: &str) -> String {
    let number = |text: &str| text.split_once(NUMBER)?.1.split_once(')')?.0.parse().ok();
    let Some(error) = number(message).map(io::Error::from_raw_os_error) else { return message.to_owned() };
    message.replace(&error.to_string(), &explained(&error).0)
}

/// The text before the number that the standard library appends.
const NUMBER: &str = " (os error ";

fn without_number(text: &str) -> String {
    text.split(NUMBER).next().unwrap_or_default().to_owned()
}

/// The words of this command, if another program, such as Python, runs it in its process.
static WORDS: OnceLock<Vec<OsString>> = OnceLock::new();

/// Sets the words of this command: the path of a program that runs it, and the arguments.
pub fn set_words(words: Vec<OsString>) {
    let _ = WORDS.set(words);
}

/// Returns the path of this program and its arguments.
pub fn words() -> Vec<OsString> {
    WORDS.get().cloned().unwrap_or_else(|| std::env::args_os().collect())
}

/// Returns the path of the program to start for another process of this command.
///
/// # Errors
/// If the operating system does not tell it.
pub fn own_program() -> io::Result<PathBuf> {
    WORDS.get().and_then(|words| words.first()).map_or_else(std::env::current_exe, |own| Ok(own.into()))
}

/// Keeps the memory of this process private, because it holds inputs, keys and offsets. It is not dumped when
/// the process dies, and no other process of this user may read it.
#[doc(hidden)]
pub fn keep_memory_private() {
    let none = rustix::process::Rlimit { current: Some(0), maximum: Some(0) };
    let limited = rustix::process::setrlimit(rustix::process::Resource::Core, none);
    #[cfg(target_os = "linux")]
    let limited =
        limited.and(rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable));
    if let Err(error) = limited {
        tracing::warn!(
            "this process cannot switch off core dumps ({}): if it crashes, secrets may reach the disk",
            explained(&error.into()).0
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every error that a file or a connection is likely to meet on Linux has a translation.
    #[test]
    fn no_error_of_the_system_shows_its_number() {
        let mut unknown = Vec::new();
        for code in 1..134 {
            let error = io::Error::from_raw_os_error(code);
            let (what, hint) = explained(&error);
            assert!(!what.is_empty() && !what.contains("os error") && !hint.is_empty(), "{code}: {what}");
            assert!(!what.contains(hint) && !hint.contains(&what), "{code}: {what}: {hint}");
            assert_eq!(translated(&format!("a.key: {error}; so")), format!("a.key: {what}; so"));
            if without_number(&error.to_string()) == what {
                unknown.push(code);
            }
        }
        // These are errors of permissions, paths, disks, descriptors and connections.
        let common = [
            2, 5, 13, 17, 20, 21, 23, 24, 26, 27, 28, 30, 32, 36, 39, 98, 99, 100, 101, 103, 104, 110, 111,
            113, 122,
        ];
        let missing: Vec<_> = common.iter().filter(|code| unknown.contains(code)).collect();
        assert!(missing.is_empty(), "{missing:?}");
    }

    #[test]
    fn words_of_our_own_stay() {
        let error = io::Error::new(ErrorKind::TimedOut, "the peer sends no data, or sends too slowly");
        assert_eq!(explained(&error).0, "the peer sends no data, or sends too slowly");
        assert_eq!(explained(&ErrorKind::NotFound.into()).0, "there is no such file or folder");
        assert_eq!(translated("nothing to say"), "nothing to say");
    }
}
