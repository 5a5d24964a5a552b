//! The environment selects the kernel. `cargo xtask test` relies on this to run the tests once for each
//! kernel.

use std::process::{Command, Output};

use brickwork_kernels::{KERNEL_VARIABLE, Kernel};

/// The named kernel is used, and without a name the fastest one.
#[test]
fn the_kernel_is_the_one_that_is_asked_for() {
    let asked = std::env::var(KERNEL_VARIABLE).ok();
    let fastest = Kernel::all_available()[0].name();
    assert_eq!(Kernel::best().name(), asked.as_deref().unwrap_or(fastest));
    println!("the kernel is {}", Kernel::best().name());
}

/// Runs the test above in another process.
fn with_kernel(name: Option<&str>) -> Output {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "the_kernel_is_the_one_that_is_asked_for", "--nocapture"]);
    command.env_remove(KERNEL_VARIABLE).envs(name.map(|name| (KERNEL_VARIABLE, name)));
    command.output().unwrap()
}

#[test]
fn every_kernel_of_this_machine_can_be_asked_for() {
    let available = Kernel::all_available();
    for (asked, kernel) in available.iter().map(|k| (Some(k.name()), k)).chain([(None, &available[0])]) {
        let output = with_kernel(asked);
        let stdout = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success(), "{stdout}");
        assert!(stdout.contains(&format!("the kernel is {}\n", kernel.name())), "{asked:?}: {stdout}");
    }
}

/// The refused values are an unknown name, a name in the wrong case, an empty name, and a kernel of another
/// architecture.
#[test]
fn no_other_kernel_stands_in_for_one_that_is_not_there() {
    let elsewhere = if cfg!(target_arch = "aarch64") { "aes-ni" } else { "neon-aes" };
    for name in ["abacus", "PORTABLE", "portable ", "", elsewhere] {
        let output = with_kernel(Some(name));
        let said = [output.stdout, output.stderr].concat();
        let said = String::from_utf8_lossy(&said);
        assert!(!output.status.success(), "{name:?}: {said}");
        let message =
            format!("BRICKWORK_KERNEL is {name:?}, but this machine does not have this kernel; it has ");
        assert!(said.contains(&message), "{name:?}: {said}");
        assert!(Kernel::all_available().iter().all(|kernel| said.contains(kernel.name())), "{said}");
    }
}
