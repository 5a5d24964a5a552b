//! Programs that this command starts in its place: the one in its own folder or, if there is none, the first
//! in `PATH`.

use std::ffi::OsStr;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use crate::render::failure::Failure;

/// A program of the project that is built and installed by itself.
pub struct Companion {
    pub name: &'static str,
    /// Says what it does, after "which".
    pub does: &'static str,
    /// The folder of its crate.
    pub folder: &'static str,
    /// The name of its crate.
    pub package: &'static str,
}

impl Companion {
    /// Replaces this process by the program with these arguments, so that its output and exit code are those
    /// of this command. Returns only if that fails, with the reason.
    pub fn take_over(&self, arguments: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Failure {
        let beside = std::env::current_exe().ok().map(|own| own.with_file_name(self.name));
        // If it is not beside this program, the system searches for it in PATH.
        let program = beside.filter(|path| path.is_file()).unwrap_or_else(|| self.name.into());
        let why = Command::new(program).args(arguments).exec();
        let Companion { name, does, folder, package } = self;
        match why.kind() {
            std::io::ErrorKind::NotFound => Failure::usage(
                format!("the program {name}, which {does}, is not installed"),
                format!(
                    "in the project's folder, run `cargo install --locked --path {folder} --bin {name}` to \
                     install it, or `cargo build --release -p {package}` to build it beside \
                     target/release/brickwork"
                ),
            ),
            _ => Failure::cannot_start(name, &why),
        }
    }
}
