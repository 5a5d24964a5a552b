//! What the operating system says, in words that say what to do: the same ones wherever a file is read,
//! written or made, and without numbers that one would have to look up.

use std::io::{self, ErrorKind};

/// Too many open files, which has no kind of its own.
const TOO_MANY_FILES: [i32; 2] = [23, 24];

/// The device itself failed.
const DEVICE: i32 = 5;

/// Returns what is wrong, and what to do about it.
pub fn of(why: &io::Error) -> (String, &'static str) {
    let (what, hint) = match why.kind() {
        ErrorKind::NotFound => (
            "there is no such file or folder",
            "check the path: it starts from the folder that the command is called in, and folders must exist",
        ),
        ErrorKind::AlreadyExists => (
            "a file of this name is there already",
            "choose another name, or move that file away if nobody needs it",
        ),
        ErrorKind::PermissionDenied => {
            ("permission is denied", "this user must be allowed to do that: `ls -l` shows who is")
        }
        ErrorKind::IsADirectory => ("it is a folder", "name a file; a folder does not do"),
        ErrorKind::NotADirectory => ("part of its path is a file, not a folder", "check the path"),
        ErrorKind::DirectoryNotEmpty => ("the folder is not empty", "empty it, or choose another one"),
        ErrorKind::StorageFull => ("the disk is full", "make room there, or choose a place on another disk"),
        ErrorKind::QuotaExceeded => {
            ("this user's share of the disk is used up", "remove files, or ask for a larger share")
        }
        ErrorKind::FileTooLarge => {
            ("the file would be too large", "`ulimit -f` may limit it, or the kind of disk")
        }
        ErrorKind::ReadOnlyFilesystem => (
            "the disk can only be read",
            "choose a place on another disk, or mount it so that it can be written",
        ),
        ErrorKind::InvalidFilename => {
            ("no file can have such a name", "choose another name, or a shorter one")
        }
        ErrorKind::ResourceBusy | ErrorKind::ExecutableFileBusy => {
            ("another program uses it", "end that program, or wait for it")
        }
        ErrorKind::OutOfMemory => ("there is no memory left", "close other programs"),
        ErrorKind::BrokenPipe => ("what reads it has ended", "it must read to the end"),
        ErrorKind::InvalidData => ("it is not a text file", "is it the right file?"),
        ErrorKind::UnexpectedEof => ("it ends too early", "is the file complete?"),
        ErrorKind::ConnectionRefused => ("nobody listens there", "is the address right?"),
        ErrorKind::ConnectionReset | ErrorKind::ConnectionAborted => {
            ("the other side cut the connection", "its own message says why")
        }
        ErrorKind::NetworkUnreachable | ErrorKind::HostUnreachable | ErrorKind::NetworkDown => {
            ("no way through the network leads there", "is this machine connected, and the address right?")
        }
        ErrorKind::AddrInUse => ("another program listens there", "choose another port"),
        ErrorKind::AddrNotAvailable => ("this machine has no such address", "choose one that it has"),
        ErrorKind::TimedOut => ("nothing happened in time", "try again"),
        _ => match why.raw_os_error() {
            Some(code) if TOO_MANY_FILES.contains(&code) => {
                ("too many files are open", "close other programs, or raise `ulimit -n`")
            }
            Some(DEVICE) => ("the device failed", "is the disk in order? its cable, its network?"),
            _ => return (without_number(&why.to_string()), "check the path, its permissions and its disk"),
        },
    };
    // Words that were written for the occasion know more than the kind.
    let own = why.raw_os_error().is_none() && why.get_ref().is_some();
    (if own { why.to_string() } else { what.to_owned() }, hint)
}

/// Returns a message in which what the system said is in words.
pub fn translated(message: &str) -> String {
    let number = |text: &str| text.split_once(NUMBER)?.1.split_once(')')?.0.parse().ok();
    let Some(error) = number(message).map(io::Error::from_raw_os_error) else { return message.to_owned() };
    message.replace(&error.to_string(), &of(&error).0)
}

/// What stands before the number that the standard library appends.
const NUMBER: &str = " (os error ";

fn without_number(text: &str) -> String {
    text.split(NUMBER).next().unwrap_or_default().to_owned()
}

/// Returns where a TOML text is wrong, and in which way, without a word of it: it may hold a secret.
pub fn of_toml(text: &str, why: &toml::de::Error) -> String {
    let before = why.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
    let line = before.matches('\n').count() + 1;
    let column = before.chars().rev().take_while(|c| *c != '\n').count() + 1;
    placed(line, column, why.message())
}

/// Returns where a JSON text is wrong, and in which way, without a word of it: it may hold a secret.
pub fn of_json(why: &serde_json::Error) -> String {
    let (text, line, column) = (why.to_string(), why.line(), why.column());
    let place = format!(" at line {line} column {column}");
    placed(line, column, text.strip_suffix(&place).unwrap_or(&text))
}

/// Shows of a parser's message only its end, which says what our types expect: the rest may repeat the text.
fn placed(line: usize, column: usize, message: &str) -> String {
    let what = match (message.strip_prefix("missing field "), message.rsplit_once(", expected ")) {
        (Some(name), _) => format!("{name} is missing"),
        (_, Some((_, expected))) if message.starts_with("unknown field ") => {
            format!("this name is not known; expected {expected}")
        }
        (_, Some((_, expected))) if ["invalid ", "unknown "].iter().any(|kind| message.starts_with(kind)) => {
            format!("expected {expected}")
        }
        _ => "this is malformed, or a name is there twice".into(),
    };
    format!("line {line}, column {column}: {what}")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every error that a file or a connection is likely to meet on Linux.
    #[test]
    fn no_error_of_the_system_shows_its_number() {
        let mut unknown = Vec::new();
        for code in 1..134 {
            let error = io::Error::from_raw_os_error(code);
            let (what, hint) = of(&error);
            assert!(!what.is_empty() && !what.contains("os error") && !hint.is_empty(), "{code}: {what}");
            assert!(!what.contains(hint) && !hint.contains(&what), "{code}: {what}: {hint}");
            assert_eq!(translated(&format!("a.key: {error}; so")), format!("a.key: {what}; so"));
            if without_number(&error.to_string()) == what {
                unknown.push(code);
            }
        }
        // Of permissions, paths, disks, descriptors and connections.
        let common = [
            2, 5, 13, 17, 20, 21, 23, 24, 26, 27, 28, 30, 32, 36, 39, 98, 99, 100, 101, 103, 104, 110, 111,
            113, 122,
        ];
        let missing: Vec<_> = common.iter().filter(|code| unknown.contains(code)).collect();
        assert!(missing.is_empty(), "{missing:?}");
    }

    /// Nothing of a text is repeated, wherever a secret stands in it.
    #[test]
    fn parsers_repeat_no_text() {
        #[derive(Debug, serde::Deserialize)]
        #[serde(deny_unknown_fields)]
        #[expect(dead_code, reason = "it is only parsed")]
        struct File {
            input: String,
            high: Option<u64>,
            at: Option<std::net::SocketAddr>,
        }
        const SECRET: &str = "4711999";
        for (text, words) in [
            ("input = 4711999", "line 1, column 9: expected a string"),
            (
                "input = \"x\"\n\n  4711999 = 1",
                "line 3, column 3: this name is not known; expected one of `input`, `high`, `at`",
            ),
            (
                "input = \"x\"\n\", expected 4711999\" = 1",
                "line 2, column 1: this name is not known; expected one of `input`",
            ),
            ("input = \"x\"\nhigh = \"4711999\"", "line 2, column 8: expected u64"),
            ("input = \"x\"\nhigh = \", expected 4711999\"", "line 2, column 8: expected u64"),
            ("input = \"x\"\nhigh = -4711999", "line 2, column 8: expected u64"),
            ("input = \"x\"\nat = \"4711999\"", "line 2, column 6: this is malformed"),
            ("input = 4711999x", "line 1, column"),
            ("input = \"4711999", "line 1, column"),
            ("4711999", "line 1, column"),
            ("input = \"4711999\"\ninput = \"4711999\"", "line 2, column 1: this is malformed"),
            ("", "`input` is missing"),
        ] {
            let shown = of_toml(text, &toml::from_str::<File>(text).expect_err(text));
            assert!(shown.contains(words) && !shown.contains(SECRET), "{text}: {shown}");
        }
        for (text, words) in [
            (r#"{"input": 4711999}"#, "line 1, column 17: expected a string"),
            (r#"{"input": "x", "4711999": 1}"#, "expected one of `input`, `high`, `at`"),
            (r#"{"input": "x", "high": ", expected 4711999"}"#, "expected u64"),
            (r#"{"input": "4711999"#, "this is malformed"),
            ("{}", "`input` is missing"),
        ] {
            let shown = of_json(&serde_json::from_str::<File>(text).expect_err(text));
            assert!(shown.contains(words) && !shown.contains(SECRET), "{text}: {shown}");
        }
    }

    #[test]
    fn words_of_our_own_stay() {
        let error = io::Error::new(ErrorKind::TimedOut, "the peer sends nothing, or too slowly");
        assert_eq!(of(&error).0, "the peer sends nothing, or too slowly");
        assert_eq!(of(&ErrorKind::NotFound.into()).0, "there is no such file or folder");
        assert_eq!(translated("nothing to say"), "nothing to say");
    }
}
