//! Programs that are written in Python: `auction.py:auction`, or `auction.py` if it has only one program.
//! Python traces such a program into a source (docs/guides/python-programs.md), which is then used like any
//! other source.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::failure::Error;

/// A program in a Python file.
pub(crate) struct Traced<'p> {
    file: &'p str,
    name: Option<&'p str>,
}

impl<'p> Traced<'p> {
    /// Returns the program that a path names, if it is one in Python.
    pub(crate) fn named(path: &'p Path) -> Option<Self> {
        let text = path.to_str()?;
        match text.rsplit_once(':') {
            Some((file, name)) if file.ends_with(".py") => Some(Traced { file, name: Some(name) }),
            _ => text.ends_with(".py").then_some(Traced { file: text, name: None }),
        }
    }

    /// Returns the Python file.
    pub(crate) fn file(&self) -> &'p Path {
        Path::new(self.file)
    }

    /// Returns the path for the source, beside the Python file.
    pub(crate) fn path(&self) -> PathBuf {
        let path = Path::new(self.file);
        match self.name {
            Some(name) => path.with_file_name(format!("{name}.wir")),
            None => path.with_extension("wir"),
        }
    }

    /// Runs Python, which prints the source.
    pub(crate) fn source(&self) -> Result<String, Error> {
        let hint = "the Python package is needed for programs in Python: `pip install .` in Brickwork's \
                    folder, and `python3` of that environment first in PATH";
        let mut python = Command::new("python3");
        python.args(["-m", "brickwork", self.file]).args(self.name);
        let output = python.output().map_err(|e| Error::cannot_start("python3", &e).advise(hint))?;
        if output.status.success() {
            return String::from_utf8(output.stdout)
                .map_err(|_| Error::input(format!("{}: python3 gave no text", self.file), hint));
        }
        // Python's last lines are the error and a hint. If the package is missing, there is only the error.
        let said = String::from_utf8_lossy(&output.stderr);
        let (said, advice) = match said.trim_end().rsplit_once("\nhint: ") {
            Some((said, advice)) => (said, advice),
            None => (said.trim_end(), hint),
        };
        let last = said.lines().next_back().unwrap_or("python3 said nothing");
        let message = match last.starts_with(self.file) {
            true => last.to_owned(),
            false => format!("{}: {last}", self.file),
        };
        Err(Error::input(message, advice.to_owned()))
    }
}
