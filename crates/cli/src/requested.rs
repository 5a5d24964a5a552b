//! Components that flags and lists request.

use std::path::{Path, PathBuf};

use brickwork::circuit::formats::InputMap;
use brickwork::engine::stocked;
use serde::Deserialize;

use crate::failure::Failure;
use crate::programs;

/// A component of a file, or all of them, and the number of uses.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Requested {
    pub file: PathBuf,
    /// The name of the component; all components of the program if none.
    pub name: Option<String>,
    pub count: u32,
}

impl Requested {
    /// Reads `FILE:NAME=COUNT` or `FILE=COUNT`.
    ///
    /// # Errors
    /// If the text has neither form.
    pub fn parse(text: &str) -> Result<Self, Failure> {
        let bad = || {
            Failure::usage(
                format!("--component {text}: expected FILE:NAME=COUNT or FILE=COUNT"),
                "COUNT is the number of uses of the component, or of runs of the program; `brickwork info \
                 FILE` lists the names",
            )
        };
        let (what, count) = text.rsplit_once('=').ok_or_else(bad)?;
        let count = count.parse().map_err(|_| bad())?;
        // The file's own name may contain a colon.
        match what.rsplit_once(':') {
            Some((file, name)) if !Path::new(what).is_file() && !file.is_empty() => {
                Ok(Requested { file: file.into(), name: Some(name.into()), count })
            }
            _ if what.is_empty() => Err(bad()),
            _ => Ok(Requested { file: what.into(), name: None, count }),
        }
    }

    /// Reads the program.
    ///
    /// # Errors
    /// As [`programs::load`].
    pub fn load(self, map: &InputMap) -> Result<stocked::Requested, Failure> {
        let Requested { file, name, count } = self;
        let program = programs::circuit(&file, map)?;
        Ok(stocked::Requested { file: file.display().to_string(), program, name, count })
    }
}
