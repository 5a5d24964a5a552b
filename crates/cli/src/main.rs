//! The `brickwork` command.
#![forbid(unsafe_code)]

use std::process::ExitCode;

/// Commitments and tables fill hundreds of megabytes, and libraries that read inputs and keys do not erase
/// them.
#[global_allocator]
static ALLOCATOR: brickwork_kernels::LargePages = brickwork_kernels::LargePages::new();

fn main() -> ExitCode {
    brickwork_cli::main()
}
