//! Tests of the kernels beyond this machine: on another architecture, and under tools that check every access
//! to memory.

use std::path::Path;
use std::process::Command;

use brickwork_kernels::KERNEL_VARIABLE;

use crate::test::cargo_with;

const AARCH64: &str = "aarch64-unknown-linux-gnu";
/// The kernels' tests that Miri runs.
const EDGES: &str = "seeds::edges";
const HERE: &str = "x86_64-unknown-linux-gnu";

/// Checks that a program is installed; the error tells how to install it.
pub fn needs(program: &str, how: &str) -> Result<(), String> {
    let found = Command::new(program).arg("--version").output().is_ok_and(|output| output.status.success());
    if found { Ok(()) } else { Err(format!("{program} is not there: {how}")) }
}

/// Returns whether a toolchain has a target's standard library.
pub fn has_target(toolchain: &str, target: &str) -> bool {
    let arguments = [toolchain, "--print", "target-libdir", "--target", target];
    let output = Command::new("rustc").args(arguments).output();
    output.is_ok_and(|output| {
        output.status.success() && Path::new(String::from_utf8_lossy(&output.stdout).trim()).is_dir()
    })
}

/// Runs `cargo xtask aarch64`: the kernels' tests, erasure with each kernel of that machine, and the
/// protocol, under an emulator.
pub fn aarch64(root: &Path) -> Result<(), String> {
    needs(
        "aarch64-linux-gnu-gcc",
        "install a cross compiler (Debian: gcc-aarch64-linux-gnu libc6-dev-arm64-cross)",
    )?;
    needs("qemu-aarch64", "install an emulator of programs (Debian: qemu-user)")?;
    if !has_target("+stable", AARCH64) {
        return Err(format!("Rust's library for the target is not there: rustup target add {AARCH64}"));
    }
    let environment = [
        ("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER", "aarch64-linux-gnu-gcc"),
        ("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER", "qemu-aarch64 -L /usr/aarch64-linux-gnu"),
        ("CC_aarch64_unknown_linux_gnu", "aarch64-linux-gnu-gcc"),
        // An emulator is slow, so these tests run few cases.
        ("PROPTEST_CASES", "24"),
    ];
    let kernels = ["test", "--release", "--target", AARCH64, "-p", "brickwork-kernels"];
    cargo_with(root, &[&kernels[..], &["--test", "units"]].concat(), &environment)?;
    // These tests check that secrets are erased, and that the requested kernel is used. The emulator starts
    // no other process.
    for kernel in ["neon-aes", "portable"] {
        let tests =
            ["--test", "erased", "--test", "chosen", "--", "--skip", "every_kernel", "--skip", "no_other"];
        cargo_with(
            root,
            &[&kernels[..], &tests[..]].concat(),
            &[&environment[..], &[(KERNEL_VARIABLE, kernel)]].concat(),
        )?;
    }
    let protocol = [
        "test",
        "--release",
        "--target",
        AARCH64,
        "-p",
        "brickwork",
        "--features",
        "adversary",
        "--test",
        "duplo",
    ];
    cargo_with(root, &protocol, &environment)
}

/// Runs `cargo xtask memory-checks`: the kernels' tests and the seeds of their fuzz target under
/// AddressSanitizer and under valgrind, and the edges of their loops under Miri.
pub fn memory_checks(root: &Path) -> Result<(), String> {
    if !has_target("+nightly", HERE) {
        return Err("AddressSanitizer takes a nightly compiler: rustup toolchain install nightly".into());
    }
    needs("valgrind", "install it (Debian: valgrind)")?;
    let sanitizer =
        [("RUSTFLAGS", "-Zsanitizer=address"), ("RUSTUP_TOOLCHAIN", "nightly"), ("PROPTEST_CASES", "100")];
    let kernels = ["test", "--release", "--target", HERE, "-p", "brickwork-kernels", "--test", "units"];
    cargo_with(root, &kernels, &sanitizer)?;
    if !Command::new("cargo")
        .args(["+nightly", "miri", "--version"])
        .output()
        .is_ok_and(|output| output.status.success())
    {
        return Err("Miri is not there: rustup component add miri rust-src --toolchain nightly".into());
    }
    // Miri has no AVX-512, supports other features only if they are enabled at compile time, and lacks some
    // that the aes crate uses.
    let flags = "-Ctarget-feature=+aes,+pclmulqdq,+ssse3,+avx2,+vaes,+vpclmulqdq --cfg aes_backend=\"soft\"";
    let miri =
        [("RUSTUP_TOOLCHAIN", "nightly"), ("RUSTFLAGS", flags), ("MIRIFLAGS", "-Zmiri-disable-isolation")];
    cargo_with(
        root,
        &["miri", "test", "-p", "brickwork-kernels", "--test", "units", "--", "--exact", EDGES],
        &miri,
    )?;
    // Valgrind's machine has AES-NI and AVX2 but neither AVX-512 nor VAES, so the kernels of the latter are
    // skipped.
    let runner = [
        ("CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUNNER", "valgrind -q --error-exitcode=9"),
        ("PROPTEST_CASES", "4"),
    ];
    cargo_with(root, &kernels, &runner)
}
