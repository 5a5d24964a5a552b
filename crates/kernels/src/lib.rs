//! The vectorised inner loops of Brickwork. The only crate of the project with `unsafe` code.
