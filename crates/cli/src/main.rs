//! The `brickwork` command.
#![forbid(unsafe_code)]

use std::process::ExitCode;

/// Commitments and tables fill hundreds of megabytes.
#[global_allocator]
static ALLOCATOR: brickwork_kernels::LargePages = brickwork_kernels::LargePages;

fn main() -> ExitCode {
    brickwork_cli::main()
}
