#![no_main]

#[path = "../targets/agreement.rs"]
mod agreement;

libfuzzer_sys::fuzz_target!(|data: &[u8]| agreement::standings(data));
