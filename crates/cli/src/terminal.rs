//! What a command says on its way, on stderr, and what it prints.

use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};

use brickwork::wire::tls::Listener;

use crate::failure::Failure;
use brickwork::system;

/// Whether the user wants no warnings on stderr.
static QUIET: AtomicBool = AtomicBool::new(false);

/// Returns whether it was [set](be_quiet).
pub fn is_quiet() -> bool {
    QUIET.load(Ordering::Relaxed)
}

/// Sets whether there are to be no warnings.
pub fn be_quiet(quiet: bool) {
    QUIET.store(quiet, Ordering::Relaxed);
}

/// Says on stderr where a listener waits; with port 0 only it knows.
pub fn announce(listener: &Listener, quiet: bool) -> Result<(), Failure> {
    let address = listener.local_addr()?;
    tracing::info!("waiting for the peer at {address}");
    if !quiet {
        // A closed stderr is no reason to stop.
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
