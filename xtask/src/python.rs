//! Builds the Python package, installs it into an environment of its own, and tests it.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The package needs at least this version of Python.
const OLDEST: &str = "import sys; sys.exit(sys.version_info < (3, 10))";

/// The usage of the command.
pub const USAGE: &str = "python [PYTHON …]";

/// Builds one wheel, and tests it with each of these interpreters: all tests with the oldest interpreter, the
/// [`QUICK`] tests with the others. Without names, one interpreter of each installed version is used, found
/// as `python3.10`, `python3.11` and so on, or as `python3`. If there are several interpreters, each has a
/// fresh environment, which is removed after its tests have passed.
///
/// # Errors
/// The failure, or the reason why nothing was tested.
pub fn run(root: &Path, pythons: &[&str]) -> Result<(), String> {
    let mut found = match pythons {
        [] => found(),
        named => named.iter().map(|name| Interpreter::new(name)).collect::<Result<_, _>>()?,
    };
    found.sort_by_key(|interpreter| interpreter.minor);
    let Some(first) = found.first() else { return Err(format!("{NOT_HERE}{PYTHON}; install it")) };
    // The environment of a single interpreter remains, so that it need not be downloaded again.
    let clear = |name: &str| {
        if found.len() > 1 {
            let _ = std::fs::remove_dir_all(folder(root, name));
        }
    };
    found.iter().for_each(|interpreter| clear(&interpreter.name));
    let wheel = wheel(root, &first.name)?;
    for (place, Interpreter { name, minor }) in found.iter().enumerate() {
        let (tests, which) = match place {
            0 => (&[][..], "all tests"),
            _ => (QUICK, "quick tests"),
        };
        eprintln!("xtask: {} with Python 3.{minor} ({name}), {which}", wheel.display());
        let python = install(root, name, Some(&wheel), &crate::test::succeeds_in_time)?;
        test(root, &python, tests, &crate::test::succeeds_in_time)?;
        clear(name);
    }
    Ok(())
}

/// Tests that may depend on the version of Python: values, programs in Python, runs and sessions, stock,
/// errors. Other tests give the same results with every version (pages, type checks), or are about another
/// program (Ray, notebooks).
const QUICK: &[&str] = &[
    "python/tests/test_errors.py",
    "python/tests/test_random_programs.py",
    "python/tests/test_runs.py",
    "python/tests/test_sessions.py",
    "python/tests/test_stock.py",
    "python/tests/test_tables.py",
    "python/tests/test_traced.py",
    "python/tests/test_values.py",
];

/// An interpreter of Python 3.
struct Interpreter {
    name: String,
    minor: u32,
}

impl Interpreter {
    /// Returns the interpreter of this name.
    fn new(name: &str) -> Result<Self, String> {
        let told = Command::new(name)
            .args(["-c", "import sys; print(sys.version_info[1] if sys.version_info >= (3, 10) else '')"])
            .stderr(Stdio::null())
            .output();
        let minor = told.ok().and_then(|told| String::from_utf8_lossy(&told.stdout).trim().parse().ok());
        let minor = minor.ok_or_else(|| format!("{NOT_HERE}{name}, 3.10 or later; install it"))?;
        Ok(Interpreter { name: name.to_owned(), minor })
    }
}

/// Returns an interpreter of each installed version that the package supports, the oldest first.
fn found() -> Vec<Interpreter> {
    let names = (10..30).map(|minor| format!("python3.{minor}")).chain([PYTHON.to_owned()]);
    let mut found: Vec<Interpreter> = Vec::new();
    for interpreter in names.filter_map(|name| Interpreter::new(&name).ok()) {
        if found.iter().all(|known| known.minor != interpreter.minor) {
            found.push(interpreter);
        }
    }
    found
}

/// Builds a wheel. Returns its path.
fn wheel(root: &Path, interpreter: &str) -> Result<PathBuf, String> {
    let python = environment(root, interpreter)?;
    let folder = root.join("target/wheels");
    // A wheel of another commit must not be used.
    let _ = std::fs::remove_dir_all(&folder);
    let mut build = pip(root, &python, &["wheel", "--no-deps", "--wheel-dir"]);
    succeeds(&crate::test::succeeds_in_time, build.arg(&folder).arg("."), "pip wheel")?;
    let built = std::fs::read_dir(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let mut built = built.flatten().map(|entry| entry.path());
    built.next().ok_or_else(|| "pip wheel has built none".to_owned())
}

const PYTHON: &str = "python3";

/// Runs a command; returns whether it succeeded, or why it did not start.
pub type RunCommand<'a> = &'a dyn Fn(&mut Command) -> Result<bool, String>;

/// If this variable is set and not empty, a test that lacks a tool on the machine fails instead of being
/// skipped.
const CI: &str = "BRICKWORK_CI";

/// Does the same as [`run`] if Python and its packages can be installed; otherwise it prints why nothing was
/// tested, which is an error in CI.
pub fn run_if_possible(root: &Path, call: RunCommand) -> Result<(), String> {
    let may_skip = std::env::var_os(CI).is_none_or(|set| set.is_empty());
    let python = match install(root, PYTHON, None, call) {
        Ok(python) => python,
        Err(why) if may_skip && why.starts_with(NOT_HERE) => {
            eprintln!("xtask: the Python package is NOT TESTED: {why}");
            return Ok(());
        }
        Err(why) => return Err(why),
    };
    test(root, &python, &[], call)
}

/// Runs the tests in these files, or all of them. The tests build the programs that they call.
fn test(root: &Path, python: &Path, files: &[&str], call: RunCommand) -> Result<(), String> {
    let mut pytest = Command::new(python);
    pytest.args(["-m", "pytest"]).args(files).current_dir(root);
    succeeds(call, &mut pytest, "pytest")
}

/// Installs the packages for the tests into their environment, as far as they are available, for other users
/// of the environment. This mostly waits for the network, so it runs while something else is compiled.
pub fn fetch(root: &Path) {
    const FETCH: &str = "
import subprocess, sys
try: import tomllib
except ImportError: from pip._vendor import tomli as tomllib
with open('pyproject.toml', 'rb') as file: project = tomllib.load(file)['project']
pip = [sys.executable, '-m', 'pip', '-q', '--disable-pip-version-check', 'install']
sys.exit(subprocess.call(pip + project['dependencies'] + project['optional-dependencies']['test']))
";
    if let Ok(python) = environment(root, PYTHON) {
        // If the command fails, the test that needs its result reports the reason.
        quiet(Command::new(python).args(["-c", FETCH]).current_dir(root));
    }
}

/// The prefix of an error that is about this machine, and not about the package.
const NOT_HERE: &str = "not to be had here: ";

/// Runs a command without output. Returns whether the command succeeds.
fn quiet(command: &mut Command) -> bool {
    let status = command.stdout(Stdio::null()).stderr(Stdio::null()).status();
    status.is_ok_and(|status| status.success())
}

/// Returns the Python of this interpreter's environment, below `target/python`, which can install packages.
fn environment(root: &Path, interpreter: &str) -> Result<PathBuf, String> {
    if !quiet(Command::new(interpreter).args(["-c", OLDEST])) {
        return Err(format!("{NOT_HERE}{interpreter}, 3.10 or later; install it"));
    }
    let folder = folder(root, interpreter);
    let python = folder.join("bin/python");
    if !quiet(Command::new(&python).args(["-c", OLDEST]))
        && !quiet(Command::new(interpreter).args(["-m", "venv", "--clear"]).arg(&folder))
    {
        return Err(format!("{NOT_HERE}{interpreter} -m venv; install it (python3-venv)"));
    }
    // The build needs maturin anyway, so this tells whether packages can be installed.
    if !quiet(&mut pip(root, &python, &["install", "maturin>=1.9,<2"])) {
        return Err(format!("{NOT_HERE}packages for pip; is there a network, or a mirror of them?"));
    }
    Ok(python)
}

/// Returns the folder of an interpreter's environment.
fn folder(root: &Path, interpreter: &str) -> PathBuf {
    root.join("target/python").join(interpreter.replace(['/', '\\'], "_"))
}

/// Installs the package, from the sources or from this wheel, and the packages for its tests into an
/// environment of this interpreter. Returns the environment's Python.
fn install(
    root: &Path,
    interpreter: &str,
    wheel: Option<&Path>,
    call: RunCommand,
) -> Result<PathBuf, String> {
    let python = environment(root, interpreter)?;
    let Some(wheel) = wheel else {
        succeeds(call, &mut pip(root, &python, &["install", ".[test]"]), "pip install '.[test]'")?;
        return Ok(python);
    };
    // Another wheel of the same version may be installed already.
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

fn succeeds(call: RunCommand, command: &mut Command, name: &str) -> Result<(), String> {
    match call(command)? {
        true => Ok(()),
        false => Err(format!("failed: {name}")),
    }
}
