//! The log: warnings on stderr, and all events of a listener in a file.

use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use clap::ValueEnum;
use tracing::Level;
use tracing_subscriber::fmt::writer::{BoxMakeWriter, MakeWriterExt};

use super::appended::{Appended, Rotation};
use super::failure::Failure;
use super::terminal;

/// The form of log lines.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    Text,
    Json,
}

/// The log file, if there is one.
static LOG: OnceLock<Mutex<Appended>> = OnceLock::new();

/// Returns the log file, if there is one.
fn log_file() -> Option<MutexGuard<'static, Appended>> {
    LOG.get().map(|log| log.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Opens the log file again, because another program may have renamed it.
///
/// # Errors
/// If this process cannot append to the file. Then the old file stays in use.
pub fn reopen_log() -> Result<(), Failure> {
    log_file().map_or(Ok(()), |mut log| log.reopen())
}

/// Writes to the log file, if there is one.
pub struct LogFile;

impl Write for LogFile {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        log_file().map_or(Ok(line.len()), |mut log| log.write(line))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Prints an error. If the user asked for JSON on stdout, it goes there. Otherwise it goes to stderr, as text
/// for people or as a line of JSON. The log file, if there is one, also gets a line.
pub fn fail(printed: &str, on_stdout: bool, (message, hint): (&str, &str), code: u8) {
    let line = || terminal::json_line(message, "ERROR", Some(hint), Some(code));
    let (of_stderr, logged) = match terminal::is_json() {
        true => (line(), line()),
        false => (printed.to_owned(), format!("{} ERROR {message}\n", terminal::now())),
    };
    // If this cannot be written, nothing more can be done.
    let _ = match on_stdout {
        true => terminal::print(printed).is_ok(),
        false => std::io::stderr().lock().write_all(of_stderr.as_bytes()).is_ok(),
    };
    let _ = LogFile.write_all(logged.as_bytes());
}

/// Starts the log: warnings, for example about refused connections, go to stderr. If there is a log file, it
/// gets the warnings and the other events of a listener. Each line has its time; only terminals get colours.
pub fn start_log(
    quiet: bool,
    file: Option<&Path>,
    format: LogFormat,
    rotation: Rotation,
) -> Result<(), Failure> {
    terminal::be_quiet(quiet);
    if format == LogFormat::Json {
        terminal::write_json();
    }
    let level = if quiet { Level::ERROR } else { Level::WARN };
    let stderr = std::io::stderr.with_max_level(level);
    let (lowest, colours, writer) = match file {
        None => (level, std::io::stderr().is_terminal(), BoxMakeWriter::new(stderr)),
        Some(path) => {
            let file = Mutex::new(Appended::open(path, rotation, false)?);
            let _ = LOG.set(file);
            (Level::INFO, false, BoxMakeWriter::new(stderr.and(|| LogFile)))
        }
    };
    // A warning that cannot be written must not cause a panic.
    let log = tracing_subscriber::fmt().log_internal_errors(false).with_target(false);
    let log = log.with_max_level(lowest).with_writer(writer);
    match format {
        LogFormat::Text => log.with_ansi(colours).init(),
        LogFormat::Json => log.json().flatten_event(true).init(),
    }
    Ok(())
}
