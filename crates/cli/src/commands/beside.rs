//! Other programs that this command starts in its place. Each is in the command's own folder or, if it is not
//! there, in a folder of `PATH`.

use std::ffi::OsStr;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use crate::render::failure::Failure;

/// A program of the project that is installed separately.
pub struct Companion {
    pub name: &'static str,
    /// Describes the program in the error message, after "which".
    pub does: &'static str,
    pub from: Origin,
}

/// The place from which a program is installed.
pub enum Origin {
    /// A crate of this folder and name.
    Crate { folder: &'static str, package: &'static str },
    /// The Python package, with these of its extras.
    Python { extras: &'static str },
}

impl Origin {
    /// Returns how to install the program.
    fn advice(&self, name: &str) -> String {
        match self {
            Origin::Crate { folder, package } => format!(
                "in the project's folder, run `cargo install --locked --path {folder} --bin {name}` to \
                 install it, or `cargo build --release -p {package}` to build it beside \
                 target/release/brickwork"
            ),
            Origin::Python { extras } => format!(
                "in the project's folder, run `pip install '.[{extras}]'`; then the folder of {name} must be \
                 in PATH, as in an active environment of Python"
            ),
        }
    }
}

impl Companion {
    /// Replaces this process by the program with these arguments, so that its output and exit code are those
    /// of this command. Returns only if the program cannot be started, with the reason.
    pub fn take_over(&self, arguments: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Failure {
        let beside = brickwork::system::own_program().ok().map(|own| own.with_file_name(self.name));
        // If the program is not in this folder, the system searches for it in PATH.
        let program = beside.filter(|path| path.is_file()).unwrap_or_else(|| self.name.into());
        let why = Command::new(program).args(arguments).exec();
        let Companion { name, does, from } = self;
        match why.kind() {
            std::io::ErrorKind::NotFound => Failure::usage(
                format!("the program {name}, which {does}, is not installed"),
                from.advice(name),
            ),
            _ => Failure::cannot_start(name, &why),
        }
    }
}
