//! Seeds of the fuzz targets, on the stable compiler: used by the tests of several crates.
#![allow(dead_code)]

use std::path::{Path, PathBuf};

/// Gives a target each of its seeds, with its name, whole and cut off at so many places.
pub fn replay(name: &str, cuts: usize, least: usize, target: impl Fn(&str, &[u8])) {
    let seeds: Vec<PathBuf> = std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds").join(name))
        .expect("a folder of seeds")
        .map(|entry| entry.expect("a seed").path())
        .collect();
    assert!(seeds.len() >= least, "{} seeds for {name}", seeds.len());
    for path in seeds {
        let (name, seed) = (path.file_name().expect("a name").to_string_lossy(), std::fs::read(&path).expect("a seed"));
        target(&name, &seed);
        (0..cuts.min(seed.len())).for_each(|k| target(&name, &seed[..k * seed.len() / cuts]));
    }
}
