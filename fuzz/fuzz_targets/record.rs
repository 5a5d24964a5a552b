#![no_main]

#[path = "../targets/stock.rs"]
mod stock;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    stock::record(data);
});
