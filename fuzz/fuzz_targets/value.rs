#![no_main]

#[path = "../targets/users.rs"]
mod users;

libfuzzer_sys::fuzz_target!(|data: &[u8]| users::value(data));
