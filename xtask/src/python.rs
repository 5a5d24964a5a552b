//! The Python package: built, installed into an environment of its own, and tested.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Versions of Python that the package is for start with this one.
const OLDEST: &str = "import sys; sys.exit(sys.version_info < (3, 10))";

/// How it is called.
pub const USAGE: &str = "python [PYTHON …]";

/// Builds and installs the package with all that its tests need, and runs them: with `python3`, or one after
/// another with these.
///
/// # Errors
/// What failed, or why nothing was tested.
pub fn run(root: &Path, pythons: &[&str]) -> Result<(), String> {
    let pythons = if pythons.is_empty() { &[PYTHON] } else { pythons };
    pythons.iter().try_for_each(|python| {
        eprintln!("xtask: the Python package with {python}");
        test(root, &install(root, python, &aloud)?, &aloud)
    })
}

const PYTHON: &str = "python3";

/// How a command is run: whether it succeeded, or why it did not start.
pub type Call<'a> = &'a dyn Fn(&mut Command) -> Result<bool, String>;

/// Where this variable is set, and not empty, a test that lacks what it needs of the machine fails instead of
/// being skipped.
const CI: &str = "BRICKWORK_CI";

/// Does what [`run`] does, where Python and its packages can be had; elsewhere it says why nothing was
/// tested, which is an error in CI.
pub fn run_if_possible(root: &Path, call: Call) -> Result<(), String> {
    let may_skip = std::env::var_os(CI).is_none_or(|set| set.is_empty());
    let python = match install(root, PYTHON, call) {
        Ok(python) => python,
        Err(why) if may_skip && why.starts_with(NOT_HERE) => {
            eprintln!("xtask: the Python package is NOT TESTED: {why}");
            return Ok(());
        }
        Err(why) => return Err(why),
    };
    test(root, &python, call)
}

/// Runs the tests, which build the programs that some of them call.
fn test(root: &Path, python: &Path, call: Call) -> Result<(), String> {
    let mut pytest = Command::new(python);
    pytest.args(["-m", "pytest"]).current_dir(root);
    succeeds(call, &mut pytest, "pytest")
}

/// Runs a command that says what it says to whoever looks.
fn aloud(command: &mut Command) -> Result<bool, String> {
    let status = command.status();
    status
        .map(|status| status.success())
        .map_err(|e| format!("{:?} does not start: {e}", command.get_program()))
}

/// How an error begins that is about this machine, and not about the package.
const NOT_HERE: &str = "not to be had here: ";

/// Installs the package and what its tests need into an environment of this interpreter, below
/// `target/python`; the interpreter there.
fn install(root: &Path, interpreter: &str, call: Call) -> Result<PathBuf, String> {
    let quiet = |command: &mut Command| {
        let status = command.stdout(Stdio::null()).stderr(Stdio::null()).status();
        status.is_ok_and(|status| status.success())
    };
    if !quiet(Command::new(interpreter).args(["-c", OLDEST])) {
        return Err(format!("{NOT_HERE}{interpreter}, 3.10 or later; install it"));
    }
    let folder = root.join("target/python").join(interpreter.replace(['/', '\\'], "_"));
    let python = folder.join("bin/python");
    if !quiet(Command::new(&python).args(["-c", OLDEST]))
        && !quiet(Command::new(interpreter).args(["-m", "venv", "--clear"]).arg(&folder))
    {
        return Err(format!("{NOT_HERE}{interpreter} -m venv; install it (python3-venv)"));
    }
    let pip = |what: &[&str]| {
        let mut command = Command::new(&python);
        command.args(["-m", "pip", "install", "-q", "--disable-pip-version-check"]).args(what);
        command.current_dir(root);
        command
    };
    // What is built needs it anyway, so this tells whether packages can be had at all.
    if !quiet(&mut pip(&["maturin>=1.9,<2"])) {
        return Err(format!("{NOT_HERE}packages for pip; is there a network, or a mirror of them?"));
    }
    succeeds(call, &mut pip(&[".[test]"]), "pip install '.[test]'")?;
    Ok(python)
}

fn succeeds(call: Call, command: &mut Command, name: &str) -> Result<(), String> {
    match call(command)? {
        true => Ok(()),
        false => Err(format!("failed: {name}")),
    }
}
