//! Errors as the user sees them: an exit code, a message, and a hint what to do.

use std::io;
use std::path::Path;
use std::process::ExitCode;

use brickwork::stop::Stopped;
use brickwork::{Cheat, Error};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use serde_json::{Value, json};

use crate::words;

/// Why the command failed.
#[derive(Debug)]
pub struct Failure {
    code: u8,
    message: String,
    hint: String,
    /// What replaces the human form, and further fields of the JSON form.
    details: Option<Box<(String, Value)>>,
    /// The check that the peer failed.
    check: Option<Cheat>,
}

/// The exit codes, apart from 0.
pub mod code {
    pub const OTHER: u8 = 1;
    pub const USAGE: u8 = 2;
    pub const INPUT: u8 = 3;
    pub const NETWORK: u8 = 4;
    pub const PEER: u8 = 5;
    /// The stock is exhausted or refused.
    pub const STOCK: u8 = 6;
    pub const MISMATCH: u8 = 7;
}

/// Every exit code, what it means and what causes it, as `--help` and `docs/reference/cli.md` list them.
pub const CODES: [(u8, &str, &str); 8] = [
    (0, "done", "the command did all that it was asked to do"),
    (
        code::OTHER,
        "this machine",
        "too little memory, or more needed than is allowed; a file that cannot be written, or must not be \
         overwritten; no threads; stdout closed; a fault of brickwork, which says so",
    ),
    (
        code::USAGE,
        "wrong usage",
        "a command or flag that is unknown, missing or out of range, or excludes another one; more at once \
         than fits; something that this version does not have",
    ),
    (
        code::INPUT,
        "bad input",
        "a program, source, value, table, list or key that is malformed or does not fit the others; a file \
         that cannot be read, or a key that others can read",
    ),
    (
        code::NETWORK,
        "network",
        "a port in use, or an address that is none; a peer that is absent, silent for longer than \
         `--timeout`, holds another key, or closed the connection: its own message says why",
    ),
    (
        code::PEER,
        "the peer cheated",
        "a message that the protocol forbids, or a check that failed; the other party sees a closed \
         connection, and ends with 4",
    ),
    (
        code::STOCK,
        "stock",
        "too little is left under `--no-top-up`, or nothing to burn; stores that are no pair; a store that \
         is an old copy, damaged or incomplete, another version's, belongs to another key, or is in use",
    ),
    (
        code::MISMATCH,
        "the parties differ",
        "in version, program, cut, parameters or executions, in whether they use a store, or in that both \
         have the same role",
    ),
];

/// Lists [`CODES`] for the help.
pub fn codes_text() -> String {
    let line = |(code, meaning, causes): &(u8, &str, &str)| format!("  {code}  {meaning}: {causes}\n");
    format!("Exit codes:\n{}", CODES.iter().map(line).collect::<String>())
}

/// Commands and flags of the design that this version lacks: to ask for one is an error that says so.
const NOT_BUILT: [&str; 1] = ["vole"];

impl Failure {
    pub fn new(code: u8, message: impl Into<String>, hint: impl Into<String>) -> Self {
        Failure { code, message: message.into(), hint: hint.into(), details: None, check: None }
    }

    /// Adds a longer human form, and further fields for the JSON form.
    pub fn with_details(mut self, human: String, fields: Value) -> Self {
        self.details = Some(Box::new((human, fields)));
        self
    }

    /// Adds further fields for the JSON form.
    pub fn with_fields(self, fields: Value) -> Self {
        let human = self.human();
        self.with_details(human, fields)
    }

    pub fn code(&self) -> u8 {
        self.code
    }

    pub fn usage(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Failure::new(code::USAGE, message, hint)
    }

    pub fn input(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Failure::new(code::INPUT, message, hint)
    }

    /// Makes a failure about this machine.
    pub fn other(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Failure::new(code::OTHER, message, hint)
    }

    pub fn cannot_write(path: &Path, why: &io::Error) -> Self {
        let (what, hint) = words::of(why);
        Failure::other(format!("cannot write {}: {what}", path.display()), hint)
    }

    /// Makes a failure about an input. The name is that of a file, or `stdin`.
    pub fn cannot_read(name: &str, why: &io::Error) -> Self {
        let (what, hint) = words::of(why);
        Failure::input(format!("cannot read {name}: {what}"), hint)
    }

    pub fn cannot_start(program: &str, why: &io::Error) -> Self {
        let (what, hint) = words::of(why);
        Failure::other(format!("cannot start {program}: {what}"), hint)
    }

    /// Makes a failure for what was asked to end before it was done.
    pub fn stopped(stopped: Stopped) -> Self {
        brickwork::Error::Io(stopped.into()).into()
    }

    /// Makes a failure for what cannot happen, and has.
    pub fn fault(message: impl Into<String>) -> Self {
        Failure::other(
            message,
            "this is a fault of brickwork: please report it, with the command and all that it said",
        )
    }

    /// Gives other advice, where more is known than the kind of the error.
    pub fn advise(mut self, hint: impl Into<String>) -> Self {
        self.hint = hint.into();
        self
    }

    /// Returns whether it has this exit code.
    pub fn is(&self, code: u8) -> bool {
        self.code == code
    }

    pub fn exit_code(&self) -> ExitCode {
        ExitCode::from(self.code)
    }

    /// Returns what stands on stdout with `--json`.
    pub fn json(&self) -> String {
        format!("{}\n", json!({ "error": self.value() }))
    }

    /// Returns the fields of the JSON form.
    pub fn value(&self) -> Value {
        let mut value = json!({ "code": self.code, "message": self.message, "hint": self.hint });
        if let (Some(fields), Some(details)) = (value.as_object_mut(), &self.details) {
            fields.extend(details.1.as_object().cloned().unwrap_or_default());
        }
        if let Some(cheat) = &self.check {
            value["check"] = json!({ "part": cheat.part(), "name": cheat.check() });
        }
        value
    }

    pub fn message(&self) -> &str {
        &self.message
    }

    pub fn hint(&self) -> &str {
        &self.hint
    }

    /// Returns what stands on stderr otherwise.
    pub fn human(&self) -> String {
        if let Some(details) = &self.details {
            return details.0.clone();
        }
        format!("error: {}\nhint: {}\n", self.message, self.hint)
    }

    /// Says where the failure happened.
    pub fn within(mut self, place: &str) -> Self {
        self.message = format!("{place}: {}", self.message);
        self
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let (code, hint) = match &error {
            Error::Peer(_) => (
                code::PEER,
                "do not run again with this peer before the cause is known; what this session used is not \
                 used again",
            ),
            Error::Io(e) => (code::NETWORK, network_hint(e.kind())),
            Error::Mismatch(_) | Error::Refused(_) => (
                code::MISMATCH,
                "both parties need the same version, program and parameters, and one each of the two roles",
            ),
            Error::Input(_) => (code::INPUT, "`brickwork info FILE` shows what a program expects"),
            Error::Usage(_) => (
                code::USAGE,
                "correct what the message names; `brickwork COMMAND --help` says what each flag takes",
            ),
            Error::Limit(_) => (
                code::USAGE,
                "ask for less at once, fewer --executions or a lower count for `preprocess`, and run more \
                 often; or use a smaller program",
            ),
            Error::Incomplete(_) => (
                code::STOCK,
                "put back what is missing, from where it was moved to or from where it is restored; nothing \
                 was removed. If it is lost, name another folder, and burn what the peer still holds",
            ),
            Error::Strangers(_) => (
                code::STOCK,
                "give --store the folders of one pair, as `brickwork stock ls` names it on either side; to \
                 begin afresh, `brickwork stock burn` what is left, on each side that has something",
            ),
            Error::Stock(_) => (
                code::STOCK,
                "`brickwork stock ls` shows what there is; `brickwork preprocess` on both sides makes more",
            ),
            Error::Busy(_) => (
                code::STOCK,
                "wait until the other session with this peer is over, and run again; nothing was taken or \
                 burned",
            ),
            Error::Vain(_) => (
                code::STOCK,
                "find out why connections broke or checks failed; if it was not the peer's will, `brickwork \
                 stock forgive --all` on each side lets both begin again; what is made can be \
                 used in any case",
            ),
            Error::Resource(_) => (
                code::OTHER,
                "free what the message names; a smaller program, fewer --executions and fewer --threads \
                 need less",
            ),
        };
        let check = match &error {
            Error::Peer(cheat) => Some(*cheat),
            _ => None,
        };
        Failure { check, ..Failure::new(code, words::translated(&error.to_string()), hint) }
    }
}

fn network_hint(kind: io::ErrorKind) -> &'static str {
    match kind {
        io::ErrorKind::AddrInUse => "another program listens at this port; choose another one",
        io::ErrorKind::AddrNotAvailable => {
            "--listen needs an address of this machine, or 0.0.0.0 for all of them"
        }
        io::ErrorKind::ConnectionRefused => {
            "start the listening side first, or raise --timeout; is the address right?"
        }
        io::ErrorKind::PermissionDenied => {
            "--peer must be the key that the other side's `brickwork keygen` printed, on both sides"
        }
        io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock => {
            "is the peer still there? if the line is slow, raise --timeout"
        }
        io::ErrorKind::UnexpectedEof
        | io::ErrorKind::ConnectionReset
        | io::ErrorKind::ConnectionAborted
        | io::ErrorKind::BrokenPipe => "the peer ended the connection; its own message says why",
        io::ErrorKind::InvalidData => {
            "is it the right address? something between the parties may alter the data"
        }
        _ => "check the address and the network",
    }
}

impl From<clap::Error> for Failure {
    fn from(error: clap::Error) -> Self {
        if let Some(name) = not_built(&error) {
            return Failure::usage(
                format!("{name} is not built yet"),
                "leave it out; `brickwork --help` lists what there is",
            );
        }
        if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
            return Failure::usage(
                "a command is missing",
                "`brickwork --help` lists them; `brickwork examples` has programs to begin with",
            );
        }
        let text = error.render().to_string();
        let text = text.strip_prefix("error: ").unwrap_or(&text).trim_end();
        // The first paragraph says what is wrong, the rest is advice; the last line of that is always the
        // same.
        let (message, advice) = text.split_once("\n\n").unwrap_or((text, ""));
        let advice = advice
            .trim()
            .strip_suffix("For more information, try '--help'.")
            .unwrap_or(advice)
            .trim()
            .replace("\n\n", "\n");
        let help = "`--help` behind the command says what each flag takes";
        Failure::usage(message, if advice.is_empty() { help.to_owned() } else { format!("{advice}\n{help}") })
    }
}

/// Returns whether clap's own message would say less than ours.
pub fn is_special(error: &clap::Error) -> bool {
    not_built(error).is_some()
}

/// What was asked for, if it belongs to the design but not to this version.
fn not_built(error: &clap::Error) -> Option<String> {
    let context = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.as_str()),
        _ => None,
    };
    let argument = context(ContextKind::InvalidArg).unwrap_or_default();
    let name = match error.kind() {
        ErrorKind::InvalidSubcommand => context(ContextKind::InvalidSubcommand)?,
        ErrorKind::UnknownArgument => argument,
        ErrorKind::InvalidValue
            if argument.starts_with("--protocol") || argument.starts_with("--commitments") =>
        {
            context(ContextKind::InvalidValue)?
        }
        _ => return None,
    };
    NOT_BUILT.contains(&name).then(|| format!("`{name}`"))
}

#[cfg(test)]
mod tests {
    use brickwork::stock::Strangers;

    use super::*;

    #[test]
    fn every_kind_of_error_has_its_code_and_a_hint() {
        let cases = [
            (brickwork::Malformed::UnexpectedMessage.into(), 5),
            (Error::Io(io::ErrorKind::TimedOut.into()), 4),
            (Error::Mismatch(String::new()), 7),
            (Error::Refused(String::new()), 7),
            (Error::Input(String::new()), 3),
            (Error::Usage(String::new()), 2),
            (Error::Limit(String::new()), 2),
            (Error::Stock(String::new()), 6),
            (Error::Strangers(Strangers { mine: None, theirs: None }), 6),
            (Error::Busy(String::new()), 6),
            (Error::Vain(String::new()), 6),
            (Error::Resource(String::new()), 1),
        ];
        for (error, code) in cases {
            let failure = Failure::from(error);
            assert_eq!(failure.code, code, "{failure:?}");
            assert!(!failure.hint.is_empty());
            assert!(CODES.iter().any(|(listed, ..)| *listed == code), "{code} is not listed");
        }
    }

    /// The page, the schema and the help list the codes of this file, and no other one.
    #[test]
    fn the_page_lists_every_exit_code() {
        let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference");
        let page = std::fs::read_to_string(docs.join("cli.md")).expect("the page");
        let (_, section) =
            page.split_once("| code | meaning | causes |\n| --- | --- | --- |\n").expect("a table");
        let rows: Vec<&str> = section.lines().take_while(|line| line.starts_with('|')).collect();
        let own = CODES.map(|(code, meaning, causes)| format!("| {code} | {meaning} | {causes} |"));
        assert_eq!(rows, own);
        let schema = std::fs::read_to_string(docs.join("cli.schema.json")).expect("the schema");
        let schema: Value = serde_json::from_str(&schema).expect("JSON");
        let codes: Vec<u8> = CODES.iter().map(|(code, ..)| *code).filter(|code| *code != 0).collect();
        assert_eq!(schema["$defs"]["failure"]["properties"]["code"]["enum"], json!(codes));
        // Each is a code of its own, and each constant is among them.
        let text = include_str!("failure.rs");
        let (_, constants) = text.split_once("pub mod code {").expect("the constants");
        let (constants, _) = constants.split_once("\n}").expect("their end");
        let mut values: Vec<u8> = constants
            .lines()
            .filter_map(|line| line.split_once(": u8 = ")?.1.strip_suffix(';')?.parse().ok())
            .collect();
        values.sort_unstable();
        assert_eq!(values, codes);
        assert!(CODES.iter().all(|(code, ..)| codes_text().contains(&format!("\n  {code}  "))));
    }
}
