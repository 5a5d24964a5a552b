#![no_main]

#[path = "../targets/altered.rs"]
mod altered;
#[path = "../targets/relatives.rs"]
mod relatives;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    relatives::relatives(data);
});
