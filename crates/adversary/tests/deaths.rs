//! If a test kills a party on purpose, the panic is not printed. All other panics are.

use std::panic::{AssertUnwindSafe, catch_unwind, set_hook};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use brickwork::circuit::Party;
use brickwork::wire::Tag;
use brickwork_harness::stores::{SeenMessages, Stores, dying};

const LAST: Tag = Tag(7);

#[test]
fn deaths_that_are_meant_are_quiet_and_others_are_not() {
    let told = Arc::<AtomicUsize>::default();
    let tells = told.clone();
    set_hook(Box::new(move |_| {
        tells.fetch_add(1, Ordering::Relaxed);
    }));
    let stores = Stores::empty();
    let played = |count: usize, panics: bool| {
        let lines = dying(Party::Garbler, LAST, count, &[], &SeenMessages::default());
        stores.meet(lines, [(), ()], |party, _, mut channel, ()| {
            assert!(!panics, "this is not meant");
            if party == Party::Evaluator {
                return channel.receive(LAST, 1).and_then(|_| channel.receive(LAST, 1)).map(drop);
            }
            for word in [b"a", b"b"] {
                channel.send(LAST, word)?;
                channel.flush()?;
            }
            Ok(())
        })
    };
    assert!(played(3, false).iter().all(Result::is_ok));
    for count in [1, 2] {
        let [garbler, evaluator] = played(count, false);
        assert!(garbler.is_err_and(|why| why.to_string().ends_with("it died")));
        assert!(matches!(evaluator, Err(brickwork::ProtocolError::Io(_))));
    }
    assert_eq!(told.load(Ordering::Relaxed), 0, "a death that is meant is told of");
    assert!(catch_unwind(AssertUnwindSafe(|| played(3, true))).is_err(), "a panic is taken for a death");
    assert_eq!(told.load(Ordering::Relaxed), 2);
}
