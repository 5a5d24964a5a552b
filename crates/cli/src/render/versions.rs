//! The versions of this build, of its protocols and of its files.

use std::fmt;

use serde::Serialize;

/// The versions that `--version --json` prints. Two parties whose numbers differ may refuse each other.
#[derive(Serialize)]
pub struct Versions {
    pub version: &'static str,
    /// The commit from which the command was built, if `BRICKWORK_COMMIT` was set for the compiler.
    pub commit: Option<&'static str>,
    hooks: bool,
    /// The version of the protocols' messages.
    pub protocol: u32,
    transport: u16,
    formats: Formats,
}

/// Versions of files.
#[derive(Serialize)]
struct Formats {
    program: u8,
    store: u32,
    garbling: u8,
    ledger: u8,
}

impl Versions {
    /// The versions of this build.
    pub const HERE: Versions = Versions {
        version: env!("CARGO_PKG_VERSION"),
        commit: option_env!("BRICKWORK_COMMIT"),
        hooks: brickwork::HAS_HOOKS,
        protocol: brickwork::protocol::PROTOCOL_VERSION,
        transport: brickwork::wire::tls::VERSION,
        formats: Formats {
            program: brickwork::circuit::FILE_VERSION,
            store: brickwork::disk::FORMAT_VERSION,
            garbling: brickwork::justgarble::files::VERSION,
            ledger: brickwork::jobs::ledger_file::FILE_VERSION,
        },
    };
}

impl fmt::Display for Versions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let commit = self.commit.map_or_else(|| "commit unknown".into(), |commit| format!("commit {commit}"));
        write!(f, "brickwork {} ({commit}, protocol {})", self.version, self.protocol)?;
        // If Cargo builds this program together with the adversary's programs, this one has the hooks, too.
        f.write_str(if self.hooks { ", with hooks for a cheater: for tests alone" } else { "" })
    }
}
