//! Circuits, programs, values and file formats, seen from outside.

mod bwp;
mod programs;
mod random;
mod values;
