#![no_main]

#[path = "../targets/wir.rs"]
mod wir;

libfuzzer_sys::fuzz_target!(|data: &[u8]| wir::wir(data));
