//! The `brickwork` command.
#![forbid(unsafe_code)]

use std::process::ExitCode;

/// The allocator uses large pages, because commitments and tables fill hundreds of megabytes. It can also
/// erase freed memory, because libraries that read inputs and keys do not.
#[global_allocator]
static ALLOCATOR: brickwork_kernels::LargePages = brickwork_kernels::LargePages::new();

fn main() -> ExitCode {
    brickwork_cli::main().into()
}
