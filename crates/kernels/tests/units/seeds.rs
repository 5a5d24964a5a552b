//! Runs the fuzz target on its seeds and on the findings of fuzzing, with the stable compiler.

#[path = "../../../../fuzz/targets/kernels.rs"]
mod kernels;
#[cfg(not(miri))]
#[path = "../../../../fuzz/targets/replay.rs"]
mod replay;

/// Not under Miri, which takes a thousand times as long; `edges` is the test for Miri.
#[cfg(not(miri))]
#[test]
fn all_kernels_compute_the_same() {
    replay::replay("kernels", 30, 27, |_, seed| kernels::kernels(seed));
    replay::corpus("kernels", 1000, kernels::kernels);
}

/// Runs every loop on empty data and on less than a register, at several alignments. This is short enough for
/// Miri, except for a tree of hashes, which takes minutes.
#[test]
fn edges() {
    for what in (0..9).filter(|&what| !cfg!(miri) || what != 7) {
        for length in [0, 1, 2, 5] {
            let input: Vec<u8> = [what, length, length % 3, length].into_iter().chain(1..24).collect();
            kernels::kernels(&input);
        }
    }
}
