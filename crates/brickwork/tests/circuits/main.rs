//! Circuits, programs, values and file formats, seen from outside.

mod bwp;
mod formats;
mod models;
mod programs;
mod random;
mod values;
