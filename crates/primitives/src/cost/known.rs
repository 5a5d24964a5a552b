//! Measured times of work that several semi-honest protocols measure under names of their own: seconds, for
//! each kernel of the reference machine.

/// A label of a wire that is drawn, moved or soldered to a slot.
pub const WIRE: [f64; 4] = [1.34e-9, 1.33e-9, 1.34e-9, 1.32e-9];
/// The work for a slot at one party that does not depend on its circuit.
pub const SLOT: [f64; 4] = [7.58e-7, 7.05e-7, 6.86e-7, 3.44e-6];
/// A setup without its messages and without the work that is measured by itself: greetings and base OTs.
pub const SETUP: [f64; 4] = [2.00e-2, 2.47e-2, 2.31e-2, 2.48e-2];
/// Decoding without its messages.
pub const DECODE: [f64; 4] = [1.30e-5, 1.15e-5, 1.33e-5, 1.32e-5];
