#![no_main]

#[path = "../targets/wire.rs"]
mod wire;

libfuzzer_sys::fuzz_target!(|data: &[u8]| wire::frames(data));
