#![no_main]

#[path = "../targets/garbling.rs"]
mod garbling;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    garbling::garbling(data);
});
