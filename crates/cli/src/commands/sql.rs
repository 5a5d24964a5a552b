//! `brickwork sql`: starts the program of the Python package that computes queries in SQL.

use std::ffi::OsString;

use crate::commands::beside::{Companion, Origin};
use crate::render::failure::Failure;

/// The program that computes queries.
const PROGRAM: Companion = Companion {
    name: "brickwork-sql",
    does: "computes queries in SQL",
    from: Origin::Python { extras: "sql" },
};

/// Compute a query in SQL over a table of each party
///
/// The program `brickwork-sql` of the Python package does this. `brickwork sql --help` lists its flags.
#[derive(clap::Args)]
#[command(disable_help_flag = true)]
pub struct SqlFlags {
    /// A query, and flags of `brickwork-sql`
    #[arg(value_name = "QUERY", trailing_var_arg = true, allow_hyphen_values = true)]
    words: Vec<OsString>,
}

/// Runs the other program with these arguments, with its output and exit code; returns only if that program
/// is missing.
pub fn run(arguments: &SqlFlags, flags: Vec<OsString>) -> Failure {
    PROGRAM.take_over(flags.iter().chain(&arguments.words))
}
