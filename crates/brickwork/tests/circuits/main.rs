//! Circuits, programs, values and file formats, seen from outside.

mod bwp;
mod formats;
mod library;
mod models;
mod programs;
mod random;
mod scd;
mod values;
