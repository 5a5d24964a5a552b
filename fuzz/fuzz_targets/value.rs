#![no_main]

#[path = "../targets/files.rs"]
mod files;

libfuzzer_sys::fuzz_target!(|data: &[u8]| files::input(data));
