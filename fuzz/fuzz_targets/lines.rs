#![no_main]

#[path = "../targets/lines.rs"]
mod lines;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    lines::lines(data);
});
