#![no_main]

#[path = "../targets/circuit.rs"]
mod circuit;

libfuzzer_sys::fuzz_target!(|data: &[u8]| circuit::circuit(data));
