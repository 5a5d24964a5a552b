#![no_main]

#[path = "../targets/altered.rs"]
mod altered;
#[path = "../targets/session.rs"]
mod session;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    session::session(data);
});
