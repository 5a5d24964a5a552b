//! The seeds of the fuzz target, and the findings of fuzzing, on the stable compiler.

#[path = "../../../../fuzz/targets/kernels.rs"]
mod kernels;
#[cfg(not(miri))]
#[path = "../../../../fuzz/targets/replay.rs"]
mod replay;

/// Not under Miri, which takes a thousand times as long: `edges` is for it.
#[cfg(not(miri))]
#[test]
fn all_kernels_compute_the_same() {
    replay::replay("kernels", 30, 27, |_, seed| kernels::kernels(seed));
    replay::corpus("kernels", 1000, kernels::kernels);
}

/// Every loop on nothing and on less than fills a register, beginning at several places in memory: little
/// enough for Miri, but for the trees of hashes, of which it takes minutes for a single one.
#[test]
fn edges() {
    for what in (0..9).filter(|&what| !cfg!(miri) || what != 7) {
        for length in [0, 1, 2, 5] {
            let input: Vec<u8> = [what, length, length % 3, length].into_iter().chain(1..24).collect();
            kernels::kernels(&input);
        }
    }
}
