//! JustGarble (Bellare, Hoang, Keelveedhi, Rogaway, *Efficient Garbling from a Fixed-Key Blockcipher*, IEEE
//! S&P 2013): garbling as a separate tool. The crate garbles circuits and evaluates garbled circuits. There
//! is no protocol between two parties, no oblivious transfer, and no protection against cheaters.
//!
//! | in the paper | here |
//! | --- | --- |
//! | circuits, ev (section II) | [`NormalCircuit`] |
//! | SCD (section V), a format of programs | [`Scd`], [`NormalCircuit::of_scd`], [`NormalCircuit::to_scd`] |
//! | dual-key ciphers A1 to A4, doublings D1 to D7 (section III, figure 1), those of figure 8 | [`Cipher`],
//! [`Doubling`] |
//! | Ga, GaX, GaXR: Gb, En, Ev, De (figure 3) | [`garble`], [`Encoding`], [`GarbledCircuit`], [`OutputDecoding`] |
//! | F, e, d, X, Y as files | [`files`] |
//! | half-gates and half-gates without privacy (Zahur, Rosulek, Evans 2015), for comparison | [`Method`] |
//!
//! The schemes are for research and comparison. The protocols use other half-gates, with keys that serve only
//! a few calls. Protocols against cheaters also need properties of these half-gates that are not proven for
//! the schemes here.
#![forbid(unsafe_code)]

mod cipher;
mod circuit;
mod draws;
pub mod files;
pub mod library;
mod lockstep;
mod plain;
mod scheme;
#[cfg(test)]
mod tests;

pub use brickwork_circuit::formats::scd::Scd;
pub use cipher::{Cipher, Doubling, DualKeyCipher, Keyed, Length};
pub use circuit::{GateFunction, NormalCircuit, NormalGate};
pub use lockstep::{Evaluator, Garbler, garble};
pub use scheme::{
    Checking, Encoding, GarbledCircuit, GarbledResult, Method, OutputDecoding, PublicCircuit, PublicGate,
    Scheme,
};
