#![no_main]

#[path = "../targets/kernels.rs"]
mod kernels;

libfuzzer_sys::fuzz_target!(|data: &[u8]| kernels::kernels(data));
