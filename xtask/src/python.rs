//! The Python package: built, installed into an environment of its own, and tested.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Versions of Python that the package is for start with this one.
const OLDEST: &str = "import sys; sys.exit(sys.version_info < (3, 10))";

/// How it is called.
pub const USAGE: &str = "python [PYTHON …]";

/// Builds and installs the package with all that its tests need, and runs them: with `python3`, or one after
/// another with these, which all get the wheel that the first of them has built.
///
/// # Errors
/// What failed, or why nothing was tested.
pub fn run(root: &Path, pythons: &[&str]) -> Result<(), String> {
    let pythons = if pythons.is_empty() { &[PYTHON] } else { pythons };
    if let [python] = pythons {
        return test(root, &install(root, python, None, &aloud)?, &aloud);
    }
    let wheel = wheel(root, pythons[0])?;
    pythons.iter().try_for_each(|python| {
        eprintln!("xtask: {} with {python}", wheel.display());
        test(root, &install(root, python, Some(&wheel), &aloud)?, &aloud)
    })
}

/// Builds a wheel. Returns its path.
fn wheel(root: &Path, interpreter: &str) -> Result<PathBuf, String> {
    let python = environment(root, interpreter)?;
    let folder = root.join("target/wheels");
    // What another commit has built is not taken for it.
    let _ = std::fs::remove_dir_all(&folder);
    let mut build = pip(root, &python, &["wheel", "--no-deps", "--wheel-dir"]);
    succeeds(&aloud, build.arg(&folder).arg("."), "pip wheel")?;
    let built = std::fs::read_dir(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let mut built = built.flatten().map(|entry| entry.path());
    built.next().ok_or_else(|| "pip wheel has built none".to_owned())
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
    let python = match install(root, PYTHON, None, call) {
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

/// Runs it without a word. Returns whether it succeeds.
fn quiet(command: &mut Command) -> bool {
    let status = command.stdout(Stdio::null()).stderr(Stdio::null()).status();
    status.is_ok_and(|status| status.success())
}

/// Returns the Python of an environment of this interpreter, below `target/python`, that can install
/// packages.
fn environment(root: &Path, interpreter: &str) -> Result<PathBuf, String> {
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
    // What is built needs it anyway, so this tells whether packages can be had at all.
    if !quiet(&mut pip(root, &python, &["install", "maturin>=1.9,<2"])) {
        return Err(format!("{NOT_HERE}packages for pip; is there a network, or a mirror of them?"));
    }
    Ok(python)
}

/// Installs the package and what its tests need into an environment of this interpreter: built of the
/// sources, or this wheel. Returns the Python there.
fn install(root: &Path, interpreter: &str, wheel: Option<&Path>, call: Call) -> Result<PathBuf, String> {
    let python = environment(root, interpreter)?;
    let Some(wheel) = wheel else {
        succeeds(call, &mut pip(root, &python, &["install", ".[test]"]), "pip install '.[test]'")?;
        return Ok(python);
    };
    // Another one of this version may be there.
    let mut anew = pip(root, &python, &["install", "--force-reinstall", "--no-deps"]);
    succeeds(call, anew.arg(wheel), "pip install WHEEL")?;
    let with_tests = format!("{}[test]", wheel.display());
    succeeds(call, &mut pip(root, &python, &["install", &with_tests]), "pip install 'WHEEL[test]'")?;
    Ok(python)
}

fn pip(root: &Path, python: &Path, what: &[&str]) -> Command {
    let mut command = Command::new(python);
    command.args(["-m", "pip", "-q", "--disable-pip-version-check"]).args(what).current_dir(root);
    command
}

fn succeeds(call: Call, command: &mut Command, name: &str) -> Result<(), String> {
    match call(command)? {
        true => Ok(()),
        false => Err(format!("failed: {name}")),
    }
}
