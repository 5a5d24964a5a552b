//! The `.wir` compiler: source text becomes a [`brickwork::circuit::Program`] of components.
#![forbid(unsafe_code)]
