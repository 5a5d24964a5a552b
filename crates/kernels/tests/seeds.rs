//! The seeds of the fuzz target, and what fuzzing has found, on the stable compiler.

#[path = "../../../fuzz/targets/kernels.rs"]
mod kernels;
#[path = "../../../fuzz/targets/replay.rs"]
mod replay;

/// Under Miri, which takes a thousand times as long, only the seeds themselves.
#[test]
fn all_kernels_compute_the_same() {
    let cuts = if cfg!(miri) { 0 } else { 30 };
    replay::replay("kernels", cuts, 27, |_, seed| kernels::kernels(seed));
    if !cfg!(miri) {
        replay::corpus("kernels", kernels::kernels);
    }
}
