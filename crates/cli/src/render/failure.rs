//! The errors that users see: an exit code, a message, and a hint about the remedy.

use std::io::{self, IsTerminal};
use std::path::Path;

use brickwork::damage::Verified;
use brickwork::stop::Stopped;
use brickwork::{Error, ErrorKind, ProtocolError};
use clap::error::{ContextKind, ContextValue, ErrorKind as ClapError};
use serde::Serialize;
use serde_json::{Value, json};

/// The error of a command: an error of the library, or of the command itself.
#[derive(Debug)]
pub struct Failure {
    error: Error,
    /// A longer text for people, and further fields of the JSON form.
    details: Option<Box<(String, Value)>>,
}

/// The kinds of error by the names of their exit codes, apart from 0.
pub mod code {
    use brickwork::ErrorKind;

    pub const OTHER: ErrorKind = ErrorKind::Machine;
    pub const USAGE: ErrorKind = ErrorKind::Usage;
    pub const INPUT: ErrorKind = ErrorKind::Input;
    pub const NETWORK: ErrorKind = ErrorKind::Network;
    pub const PEER: ErrorKind = ErrorKind::Peer;
    /// The stock is exhausted or refused.
    pub const STOCK: ErrorKind = ErrorKind::Stock;
    pub const MISMATCH: ErrorKind = ErrorKind::Mismatch;
}

/// Every exit code, its meaning and its causes, as `--help` and `docs/reference/cli.md` list them.
pub const CODES: [(u8, &str, &str); 8] = [
    (0, "done", "the command did all that it was asked to do"),
    (
        code::OTHER.exit_code(),
        "this machine",
        "too little memory, or more needed than is allowed; a file that cannot be written, or must not be \
         overwritten; no threads; stdout closed; a fault of brickwork, which says so",
    ),
    (
        code::USAGE.exit_code(),
        "wrong usage",
        "a command or flag that is unknown, missing or out of range, or excludes another one; more at once \
         than fits; something that this version does not have",
    ),
    (
        code::INPUT.exit_code(),
        "bad input",
        "a program, source, value, table, list or key that is malformed or does not fit the others; a file \
         that cannot be read, or a key that others can read",
    ),
    (
        code::NETWORK.exit_code(),
        "network",
        "a port in use, or an invalid address; a peer that is absent, silent for longer than \
         `--timeout`, holds another key, or ended the connection; a broken connection",
    ),
    (
        code::PEER.exit_code(),
        "the peer cheated",
        "a message that the protocol forbids, or a check that failed; the other party sees a closed \
         connection, and ends with 4",
    ),
    (
        code::STOCK.exit_code(),
        "stock",
        "too little is left under `--no-top-up`, or nothing to burn; stores that are no pair; a store that \
         is an old copy, damaged or incomplete, another version's, belongs to another key, or is in use",
    ),
    (
        code::MISMATCH.exit_code(),
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

/// Commands and flags of the design that this version lacks. Using one is an error with this reason.
const NOT_BUILT: [&str; 1] = ["vole"];

impl Failure {
    pub fn new(kind: ErrorKind, message: impl Into<String>, hint: impl Into<String>) -> Self {
        Error::new(kind, message, hint.into()).into()
    }

    /// Adds a longer text for people, and further fields for the JSON form.
    pub fn with_details(mut self, human: String, fields: &impl Serialize) -> Self {
        self.details = Some(Box::new((human, json!(fields))));
        self
    }

    /// Returns the error of the library, without further fields.
    pub fn into_error(self) -> Error {
        self.error
    }

    pub fn kind(&self) -> ErrorKind {
        self.error.kind()
    }

    pub fn usage(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Failure::new(ErrorKind::Usage, message, hint)
    }

    pub fn input(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Failure::new(ErrorKind::Input, message, hint)
    }

    /// Makes a failure about this machine.
    pub fn other(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Failure::new(ErrorKind::Machine, message, hint)
    }

    pub fn cannot_write(path: &Path, why: &io::Error) -> Self {
        Error::cannot_write(path, why).into()
    }

    /// Makes a failure about an input. The name is that of a file, or `stdin`.
    pub fn cannot_read(name: &str, why: &io::Error) -> Self {
        Error::cannot_read(name, why).into()
    }

    pub fn cannot_start(program: &str, why: &io::Error) -> Self {
        Error::cannot_start(program, why).into()
    }

    /// Makes a failure for work that was stopped before it was done.
    pub fn stopped(stopped: Stopped) -> Self {
        Error::stopped(stopped).into()
    }

    /// Makes a failure for a state that must never occur.
    pub fn fault(message: impl Into<String>) -> Self {
        Error::fault(message).into()
    }

    /// Replaces the hint, for cases where more is known than the kind of the error.
    pub fn advise(self, hint: impl Into<String>) -> Self {
        Failure { error: self.error.advise(hint.into()), ..self }
    }

    /// Adds the place where the failure happened.
    pub fn within(self, place: &str) -> Self {
        Failure { error: self.error.within(place), ..self }
    }

    /// Returns whether the failure is of this kind.
    pub fn is(&self, kind: ErrorKind) -> bool {
        self.kind() == kind
    }

    pub fn exit_code(&self) -> u8 {
        self.error.exit_code()
    }

    /// Returns the JSON text for stdout with `--json`.
    pub fn json(&self) -> String {
        format!("{}\n", json!({ "error": self.value() }))
    }

    /// Returns the fields of the JSON form.
    pub fn value(&self) -> Value {
        let mut value = json!(self.error);
        if let (Some(fields), Some(details)) = (value.as_object_mut(), &self.details) {
            fields.extend(details.1.as_object().cloned().unwrap_or_default());
        }
        value
    }

    pub fn message(&self) -> &str {
        self.error.message()
    }

    pub fn hint(&self) -> &str {
        self.error.hint()
    }

    /// Returns the text for stderr without `--json`.
    pub fn human(&self) -> String {
        match (&self.details, self.error.diagnostics()) {
            (Some(details), _) => details.0.clone(),
            (None, Some(diagnostics)) => {
                format!("{}error: the source has errors\n", diagnostics.render(io::stderr().is_terminal()))
            }
            (None, None) => {
                let found = self.error.damage().map_or(String::new(), Verified::findings);
                format!("{found}error: {}\nhint: {}\n", self.message(), self.hint())
            }
        }
    }
}

impl brickwork::control::Kinded for Failure {
    fn kind(&self) -> ErrorKind {
        self.error.kind()
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Failure { error, details: None }
    }
}

impl From<ProtocolError> for Failure {
    fn from(error: ProtocolError) -> Self {
        Error::from(error).into()
    }
}

impl From<clap::Error> for Failure {
    fn from(error: clap::Error) -> Self {
        if let Some(name) = not_built(&error) {
            return Failure::usage(
                format!("{name} is not implemented yet"),
                "leave it out; `brickwork --help` lists all commands",
            );
        }
        if error.kind() == ClapError::DisplayHelpOnMissingArgumentOrSubcommand {
            return Failure::usage(
                "the name of a command is missing",
                "`brickwork --help` lists the commands; `brickwork examples` has programs to begin with",
            );
        }
        let text = error.render().to_string();
        let text = text.strip_prefix("error: ").unwrap_or(&text).trim_end();
        // The first paragraph names the error, and the rest is advice, whose last line is always the same.
        let (message, advice) = text.split_once("\n\n").unwrap_or((text, ""));
        let advice = advice
            .trim()
            .strip_suffix("For more information, try '--help'.")
            .unwrap_or(advice)
            .trim()
            .replace("\n\n", "\n");
        let help = "add `--help` to the command to see the values of each flag";
        Failure::usage(message, if advice.is_empty() { help.to_owned() } else { format!("{advice}\n{help}") })
    }
}

/// Returns whether the message of this module tells more than clap's.
pub fn is_special(error: &clap::Error) -> bool {
    not_built(error).is_some()
}

/// Returns the requested feature, if the design has it and this version does not.
fn not_built(error: &clap::Error) -> Option<String> {
    let context = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.as_str()),
        _ => None,
    };
    let argument = context(ContextKind::InvalidArg).unwrap_or_default();
    let name = match error.kind() {
        ClapError::InvalidSubcommand => context(ContextKind::InvalidSubcommand)?,
        ClapError::UnknownArgument => argument,
        ClapError::InvalidValue
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
    use brickwork::disk::Strangers;

    use super::*;

    #[test]
    fn every_kind_of_error_has_its_code_and_a_hint() {
        let cases = [
            (brickwork::Malformed::UnexpectedMessage.into(), 5),
            (ProtocolError::Io(io::ErrorKind::TimedOut.into()), 4),
            (ProtocolError::Mismatch(String::new()), 7),
            (ProtocolError::Refused(String::new()), 7),
            (ProtocolError::Input(String::new()), 3),
            (ProtocolError::Usage(String::new()), 2),
            (ProtocolError::Limit(String::new()), 2),
            (ProtocolError::Stock(String::new()), 6),
            (ProtocolError::Strangers(Strangers { mine: None, theirs: None }), 6),
            (ProtocolError::Busy(String::new()), 6),
            (ProtocolError::Vain(String::new()), 6),
            (ProtocolError::Resource(String::new()), 1),
        ];
        for (error, code) in cases {
            let failure = Failure::from(error);
            assert_eq!(failure.kind().exit_code(), code, "{failure:?}");
            assert!(!failure.hint().is_empty());
            assert!(CODES.iter().any(|(listed, ..)| *listed == code), "{code} is not listed");
        }
    }

    /// The page, the schema and the help list exactly the codes of this file.
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
        assert_eq!(codes, ErrorKind::ALL.map(ErrorKind::exit_code));
        assert!(CODES.iter().all(|(code, ..)| codes_text().contains(&format!("\n  {code}  "))));
    }
}
