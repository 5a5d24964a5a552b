//! The time of work on the machine that is known, in seconds and for each of its kernels. It is for work that
//! several semi-honest protocols do and measure under names of their own.

/// A label of a wire, drawn, moved or carried to a slot.
pub const WIRE: [f64; 4] = [1.34e-9, 1.33e-9, 1.34e-9, 1.32e-9];
/// A slot, at one party, independent of its circuit.
pub const SLOT: [f64; 4] = [7.58e-7, 7.05e-7, 6.86e-7, 3.44e-6];
/// A setup beyond its work and its messages: greetings and base OTs.
pub const SETUP: [f64; 4] = [2.00e-2, 2.47e-2, 2.31e-2, 2.48e-2];
/// Decoding beyond its messages.
pub const DECODE: [f64; 4] = [1.30e-5, 1.15e-5, 1.33e-5, 1.32e-5];
