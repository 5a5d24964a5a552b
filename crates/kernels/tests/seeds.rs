//! The seeds of the fuzz target, and what fuzzing has found, on the stable compiler.

#[path = "../../../fuzz/targets/kernels.rs"]
mod kernels;
#[path = "../../../fuzz/targets/replay.rs"]
mod replay;

#[test]
fn all_kernels_compute_the_same() {
    replay::replay("kernels", 30, 21, |_, seed| kernels::kernels(seed));
}
