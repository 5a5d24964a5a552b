//! The messages on stderr, and the output on stdout.

use std::io::Write;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};

use brickwork::{Error, system};
use serde::Serialize;
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::time::{FormatTime, SystemTime};

/// True if warnings are not printed on stderr.
static QUIET: AtomicBool = AtomicBool::new(false);

/// Returns whether warnings are [off](be_quiet).
pub fn is_quiet() -> bool {
    QUIET.load(Ordering::Relaxed)
}

/// Turns warnings on stderr off or on.
pub fn be_quiet(quiet: bool) {
    QUIET.store(quiet, Ordering::Relaxed);
}

/// True if each line on stderr is a JSON object.
static JSON: AtomicBool = AtomicBool::new(false);

/// Returns whether each line on stderr is a JSON object.
pub fn is_json() -> bool {
    JSON.load(Ordering::Relaxed)
}

/// Makes each line on stderr a JSON object (`--log-format json`).
pub fn write_json() {
    JSON.store(true, Ordering::Relaxed);
}

/// A line on stderr with `--log-format json`.
#[derive(Serialize)]
struct TerminalLine<'a> {
    timestamp: String,
    level: &'static str,
    message: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<u8>,
}

/// Returns the time in UTC, in the form of the log.
pub fn now() -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = SystemTime.format_time(&mut Writer::new(&mut text));
    text
}

/// Returns a line of JSON, as `--log-format json` writes it.
pub fn json_line(text: &str, level: &'static str, hint: Option<&str>, code: Option<u8>) -> String {
    let line = TerminalLine { timestamp: now(), level, message: text.trim_end(), hint, code };
    serde_json::to_string(&line).unwrap_or_default() + "\n"
}

/// Prints a text on stderr, as it is or as a line of JSON. If stderr is closed, the text is lost.
fn write(text: &str, level: &'static str) {
    let line = if is_json() { json_line(text, level, None, None) } else { text.to_owned() };
    let _ = std::io::stderr().lock().write_all(line.as_bytes());
}

/// Prints a message for the user on stderr.
pub fn say(text: &str) {
    write(text, "INFO");
}

/// Prints a warning of a compiler on stderr.
pub fn warn(text: &str) {
    write(text, "WARN");
}

/// Prints on stderr the address of a listener; with port 0 only the listener knows it.
pub fn announce(address: SocketAddr, quiet: bool) {
    tracing::info!("waiting for the peer at {address}");
    if !quiet {
        say(&format!("waiting for the peer at {address}\n"));
    }
}

/// Writes a value to stdout as one line of JSON.
pub fn print_json(value: &impl Serialize) -> Result<(), Error> {
    print(&(serde_json::to_string(value).map_err(|e| Error::fault(format!("no JSON: {e}")))? + "\n"))
}

/// Prints a result.
pub fn print(text: &str) -> Result<(), Error> {
    let mut stdout = std::io::stdout().lock();
    stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()).map_err(|e| {
        Error::machine(
            format!("cannot write the output: {}", system::explained(&e).0),
            "the program that reads the output must not end early; a file for the output needs space on its \
             disk",
        )
    })
}
