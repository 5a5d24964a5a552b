//! Tests circuits, programs, values and file formats through the public interface.

mod bwp;
mod formats;
mod library;
mod models;
mod programs;
mod random;
mod scd;
mod values;
