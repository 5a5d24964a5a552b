#![no_main]

#[path = "../targets/altered.rs"]
mod altered;
#[path = "../targets/ledgers.rs"]
mod ledgers;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    ledgers::ledgers(data);
});
