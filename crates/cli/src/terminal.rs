//! The messages of a command on stderr, and its output.

use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};

use brickwork::wire::tls::Listener;

use crate::failure::Failure;
use brickwork::system;

/// True if warnings are not printed on stderr.
static QUIET: AtomicBool = AtomicBool::new(false);

/// Returns whether it was [set](be_quiet).
pub fn is_quiet() -> bool {
    QUIET.load(Ordering::Relaxed)
}

/// Sets whether there are to be no warnings.
pub fn be_quiet(quiet: bool) {
    QUIET.store(quiet, Ordering::Relaxed);
}

/// Prints on stderr the address of a listener; with port 0 only the listener knows it.
pub fn announce(listener: &Listener, quiet: bool) -> Result<(), Failure> {
    let address = listener.local_addr()?;
    tracing::info!("waiting for the peer at {address}");
    if !quiet {
        // If stderr is closed, the command goes on.
        let _ = writeln!(std::io::stderr(), "waiting for the peer at {address}");
    }
    Ok(())
}

/// Prints a result.
pub fn print(text: &str) -> Result<(), Failure> {
    let mut stdout = std::io::stdout().lock();
    stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()).map_err(|e| {
        Failure::other(
            format!("cannot write the output: {}", system::explained(&e).0),
            "what reads it must stay, and a file for it needs space on its disk",
        )
    })
}
