//! CPU time of a task in each round, and the CPU time of its AES calls alone.

use std::hint::black_box;

use brickwork::resources;
use brickwork_cli::parts::Failure;
use brickwork_kernels::{Aes128, Kernel};

use crate::runs::median;

/// The minimum number of seconds for which a round measures each task.
const ROUND_SECONDS: f64 = 0.01;

/// The number of blocks that are encrypted at a time when AES calls are measured alone. They easily fit into
/// the first-level cache.
const BLOCKS: usize = 512;

/// Returns the nanoseconds of an AES call alone. At most this many are made at a time.
pub fn aes_ns(kernel: Kernel, calls: usize) -> Result<f64, Failure> {
    let (aes, mut blocks) = (Aes128::with_kernel(kernel, 1), vec![0; BLOCKS]);
    let runs = calls.div_ceil(BLOCKS).clamp(1, 1 << 12);
    time((runs * BLOCKS) as f64, || {
        (0..runs).for_each(|_| aes.encrypt_with(kernel, black_box(&mut blocks)));
        Ok(())
    })
}

/// The time of a task in each round per gate of a copy, and the time of its AES calls in the same round, all
/// in nanoseconds.
#[derive(Default)]
pub struct GarblingTimes {
    pub ns: Vec<f64>,
    aes: Vec<f64>,
}

impl GarblingTimes {
    pub fn add(&mut self, aes: f64, ns: f64) {
        self.ns.push(ns);
        self.aes.push(aes);
    }

    pub fn medians(self) -> Figure {
        let ratios = self.ns.iter().zip(&self.aes).map(|(ns, aes)| ns / aes).collect();
        Figure { ns: median(self.ns), aes: median(self.aes), ratio: median(ratios) }
    }
}

/// The median of the ratios is not always the ratio of the medians, so both are kept.
pub struct Figure {
    pub ns: f64,
    pub aes: f64,
    pub ratio: f64,
}

/// Returns the nanoseconds of CPU time that a call of `work` takes for each of `cells`.
pub fn time(
    cells: f64,
    mut work: impl FnMut() -> Result<(), brickwork::ProtocolError>,
) -> Result<f64, Failure> {
    work()?;
    let (start, mut calls) = (resources::cpu_seconds(), 0.0);
    loop {
        work()?;
        calls += 1.0;
        let seconds = resources::cpu_seconds() - start;
        if seconds > ROUND_SECONDS {
            return Ok(seconds * 1e9 / (cells * calls));
        }
    }
}
