#![no_main]

#[path = "../targets/store.rs"]
mod store;

use std::panic::{set_hook, take_hook};
use std::sync::Once;

/// The database panics over some damage, which the store expects and turns into an error. Other panics are
/// findings.
fn let_the_database_panic() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let count = take_hook();
        set_hook(Box::new(move |panic| {
            if !panic.location().is_some_and(|at| at.file().contains("/redb-")) {
                count(panic);
            }
        }));
    });
}

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let_the_database_panic();
    store::store(data);
});
