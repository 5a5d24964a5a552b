//! The messages on stderr, and the output on stdout.

use std::io::Write;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};

use brickwork::{Error, system};

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

/// Prints on stderr the address of a listener; with port 0 only the listener knows it.
pub fn announce(address: SocketAddr, quiet: bool) {
    tracing::info!("waiting for the peer at {address}");
    if !quiet {
        // If stderr is closed, the text is lost.
        let _ = writeln!(std::io::stderr(), "waiting for the peer at {address}");
    }
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
