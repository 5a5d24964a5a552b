//! Seeds of the fuzz targets and the corpora that fuzzing made of them, on the stable compiler: used by the
//! tests of several crates.
#![allow(dead_code)]

use std::path::{Path, PathBuf};

/// Gives a target each of its seeds, with its name, whole and cut off at so many places.
pub fn replay(name: &str, cuts: usize, least: usize, target: impl Fn(&str, &[u8])) {
    let seeds: Vec<PathBuf> =
        std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds").join(name))
            .expect("a folder of seeds")
            .map(|entry| entry.expect("a seed").path())
            .collect();
    assert!(seeds.len() >= least, "{} seeds for {name}", seeds.len());
    for path in seeds {
        let (name, seed) =
            (path.file_name().expect("a name").to_string_lossy(), std::fs::read(&path).expect("a seed"));
        target(&name, &seed);
        (0..cuts.min(seed.len())).for_each(|k| target(&name, &seed[..k * seed.len() / cuts]));
    }
}

/// Gives a target all inputs that fuzzing has kept.
pub fn corpus(name: &str, target: impl Fn(&[u8])) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpora").join(name);
    let packed = std::fs::read(&path).expect("a corpus");
    let (mut rest, mut count) = (&packed[..], 0);
    while let Some((length, after)) = rest.split_first_chunk() {
        let (input, after) = after.split_at(u32::from_le_bytes(*length) as usize);
        target(input);
        (rest, count) = (after, count + 1);
    }
    assert!(rest.is_empty() && count > 0, "{count} inputs for {name}, and {} bytes", rest.len());
}
