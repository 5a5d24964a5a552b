//! How a program is compiled.

use std::collections::{BTreeMap, BTreeSet};

/// How to compile.
#[derive(Clone, Debug)]
pub struct Options {
    /// Functions whose calls from `main` are computed as part of `main`; `*` stands for all.
    pub inline: BTreeSet<String>,
    /// Functions that are to be components, also where other functions call them.
    pub component: BTreeSet<String>,
    /// Functions that are replaced by built-in circuits: function, circuit.
    pub builtins: BTreeMap<String, String>,
    /// The first function of the file is the AES S-box, as in old programs.
    pub aes: bool,
    /// The last field of a struct comes first, as in files of the old compiler.
    pub reverse_structs: bool,
    /// Warnings are errors.
    pub warnings_as_errors: bool,
    /// Rounds of one loop.
    pub unroll_limit: u64,
    /// Statements executed for one function.
    pub max_steps: u64,
    /// Gates of one function.
    pub max_gates: u64,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            inline: BTreeSet::new(),
            component: BTreeSet::new(),
            builtins: BTreeMap::new(),
            aes: false,
            reverse_structs: false,
            warnings_as_errors: false,
            unroll_limit: 1 << 22,
            max_steps: 1 << 27,
            max_gates: 1 << 28,
        }
    }
}
