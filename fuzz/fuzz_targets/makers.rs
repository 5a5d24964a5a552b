#![no_main]

#[path = "../targets/makers.rs"]
mod makers;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    makers::makers(data);
});
