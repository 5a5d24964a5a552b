//! The options of the compiler.

use std::collections::{BTreeMap, BTreeSet};

/// The options with which a source is compiled.
#[derive(Clone, Debug)]
pub struct CompileOptions {
    /// Functions whose calls from `main` are computed as part of `main`; `*` stands for all.
    pub inline: BTreeSet<String>,
    /// Functions that are components even if other functions call them.
    pub component: BTreeSet<String>,
    /// For each function that a built-in circuit replaces, the name of the circuit.
    pub builtins: BTreeMap<String, String>,
    /// True if the first function of the file is the AES S-box, as in old programs.
    pub aes: bool,
    /// True if the last field of a struct comes first on the wires, as in files of the old compiler.
    pub reverse_structs: bool,
    /// True if warnings are errors.
    pub warnings_as_errors: bool,
    /// The largest number of rounds of a loop.
    pub unroll_limit: u64,
    /// The largest number of statements that are executed for a function.
    pub max_steps: u64,
    /// The largest number of gates of a function.
    pub max_gates: u64,
}

impl Default for CompileOptions {
    fn default() -> Self {
        CompileOptions {
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
