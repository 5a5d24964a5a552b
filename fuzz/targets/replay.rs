//! Seeds of the fuzz targets and the corpora that fuzzing made of them, on the stable compiler: used by the
//! tests of several crates.
#![allow(dead_code)]

use std::path::{Path, PathBuf};

/// Gives a target each of its seeds, with its name: the whole seed, and the seed cut off at this many places.
pub fn replay(name: &str, cuts: usize, least: usize, mut target: impl FnMut(&str, &[u8])) {
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

/// Gives a target all inputs that fuzzing has kept, if there are any. Then gives the target this many inputs
/// that are changed from the kept ones and the seeds. They are the same in each call.
pub fn corpus(name: &str, mutations: usize, target: impl Fn(&[u8])) {
    let mut inputs = kept(name);
    inputs.iter().for_each(|input| target(input));
    replay(name, 0, 0, |_, seed| inputs.push(seed.to_vec()));
    inputs.sort();
    let mut draw = Draw(0x9e37_79b9_7f4a_7c15);
    for _ in 0..mutations {
        let shown = Shown(draw.mutated(&inputs));
        target(&shown.0);
    }
}

/// Reads the inputs that fuzzing has kept for a target.
fn kept(name: &str) -> Vec<Vec<u8>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpora").join(name);
    let packed = if path.exists() { std::fs::read(&path).expect("a corpus") } else { Vec::new() };
    let (mut rest, mut inputs) = (&packed[..], Vec::new());
    while let Some((length, after)) = rest.split_first_chunk() {
        let (input, after) = after.split_at(u32::from_le_bytes(*length) as usize);
        inputs.push(input.to_vec());
        rest = after;
    }
    assert!(rest.is_empty(), "the corpus of {name} ends in the middle");
    inputs
}

/// An input that is shown if the target panics.
struct Shown(Vec<u8>);

impl Drop for Shown {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("the input: {}", self.0.iter().map(|byte| format!("{byte:02x}")).collect::<String>());
        }
    }
}

/// Draws numbers, which are the same in each run (SplitMix64).
struct Draw(u64);

impl Draw {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound.max(1) as u64) as usize
    }

    /// Takes one of these inputs and changes it at one to four places, as fuzzers do.
    fn mutated(&mut self, inputs: &[Vec<u8>]) -> Vec<u8> {
        let mut input = inputs[self.below(inputs.len())].clone();
        for _ in 0..=self.below(4) {
            let at = self.below(input.len());
            let end = (at + 1 + self.below(8)).min(input.len());
            match self.below(8) {
                _ if input.is_empty() => input.push(self.next() as u8),
                0 | 1 => input[at] ^= 1 << self.below(8),
                2 => input[at] = self.next() as u8,
                3 => input[at] = [0, 0xff, 0x7f, 0x80][self.below(4)],
                4 => input.insert(at, self.next() as u8),
                5 => drop(input.drain(at..end)),
                6 => input.extend_from_within(at..end),
                _ => {
                    let other = &inputs[self.below(inputs.len())];
                    input.truncate(at);
                    input.extend_from_slice(&other[at.min(other.len())..]);
                }
            }
        }
        input
    }
}
