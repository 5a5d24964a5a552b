//! A few seconds of measurements show no time that depends on a secret.

use std::process::Command;

use brickwork_kernels::Kernel;

/// The quick form of `cargo xtask constant-time` finds the deliberate leaks, and no other leak.
#[test]
fn no_time_depends_on_secrets() {
    let output = Command::new(env!("CARGO_BIN_EXE_constant-time")).arg("--quick").output().unwrap();
    let [stdout, stderr] = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap());
    assert!(output.status.success(), "{stdout}{stderr}");
    assert_eq!(stdout.matches("leaks, as it must").count(), 2, "{stdout}");
    assert_eq!(stdout.matches("nothing |").count(), 36, "{stdout}");
    // Only the loops of the chosen kernel are measured.
    let of = |kernel: &Kernel| stdout.contains(&format!("garble, {} for 16", kernel.name()));
    let measured: Vec<Kernel> = Kernel::all_available().into_iter().filter(of).collect();
    assert_eq!(measured, [Kernel::best()], "{stdout}");
}
