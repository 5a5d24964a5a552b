//! Kinds of work, and the time of a unit of each.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The kernels with which the reference machine was measured: two cores (AMD Zen 4, 2.6 GHz).
pub const KNOWN_KERNELS: [&str; 4] = ["vaes-avx512", "vaes-avx2", "aes-ni", "portable"];

/// The index of the kernel whose constants are used for unknown kernels. Like these, it processes one AES
/// block at a time.
const LIKE_OTHERS: usize = 2;

/// Returns the index in [`KNOWN_KERNELS`] of a kernel, or of the most similar one.
pub(crate) fn known_as(kernel: &str) -> usize {
    KNOWN_KERNELS.iter().position(|known| *known == kernel).unwrap_or(LIKE_OTHERS)
}

/// A kind of work, for which a machine has a constant. The code that does the work declares the kind as a
/// static.
#[derive(Debug)]
pub struct WorkKind {
    /// The unique name of the work in files, `part.unit`.
    pub name: &'static str,
    /// Seconds of one thread for a unit, measured once with each of [`KNOWN_KERNELS`]. `brickwork plan FILE
    /// --calibrate --json` prints the constants of any machine.
    pub known: [f64; KNOWN_KERNELS.len()],
}

/// The first write to a byte of memory that the system has just given.
pub static TOUCH: WorkKind =
    WorkKind { name: "memory.touch", known: [8.94e-11, 8.33e-11, 9.05e-11, 9.05e-11] };
/// A byte that is written to a temporary file.
pub static SPILL: WorkKind = WorkKind { name: "file.write", known: [2.45e-10, 2.13e-10, 2.22e-10, 1.98e-10] };
/// A byte that is read from a temporary file.
pub static READ_BACK: WorkKind =
    WorkKind { name: "file.read", known: [1.39e-10, 1.28e-10, 1.26e-10, 1.31e-10] };

/// The measured seconds of one thread for a unit of work, by the name of its kind.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct MeasuredWork(BTreeMap<String, f64>);

impl MeasuredWork {
    /// Sets the seconds of a unit.
    pub fn set(&mut self, work: &WorkKind, seconds: f64) {
        self.0.insert(work.name.to_owned(), seconds);
    }

    /// Returns the seconds for a unit, if they were measured.
    pub fn get(&self, work: &WorkKind) -> Option<f64> {
        self.0.get(work.name).copied()
    }

    /// Returns the measured kinds of work with their seconds.
    pub fn iter(&self) -> impl Iterator<Item = (&str, f64)> {
        self.0.iter().map(|(name, &seconds)| (&**name, seconds))
    }

    /// Adds another measurement, which replaces older values.
    pub fn extend(&mut self, other: MeasuredWork) {
        self.0.extend(other.0);
    }

    /// Makes the mean of several measurements of the same kinds.
    pub(crate) fn mean(all: &[MeasuredWork]) -> MeasuredWork {
        let mean = |name: &str| all.iter().filter_map(|one| one.0.get(name)).sum::<f64>() / all.len() as f64;
        let names = all.first().into_iter().flat_map(|one| one.0.keys());
        MeasuredWork(names.map(|name| (name.clone(), mean(name))).collect())
    }
}
