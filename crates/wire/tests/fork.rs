//! Row 26 of the table of attacks (docs/concepts/security.md, section 14): a connection in a forked process
//! cannot be used. This test has a file of its own because it marks the whole process as a fork.

use std::time::Duration;

use brickwork_base::{Party, process};
use brickwork_wire::tls::{self, EndpointOptions, Identity, Listener};
use brickwork_wire::{Channel, Tag};

/// In a fork, a connection neither decrypts earlier bytes nor writes any. It only returns an error that names
/// the fork.
#[test]
fn row_26_a_fork_neither_reads_nor_writes() {
    let keys = [(); 2].map(|()| Identity::generate().unwrap().0);
    let options = |party| EndpointOptions { party, lanes: 1, timeout: Duration::from_secs(10) };
    let listener =
        Listener::bind("127.0.0.1:0", &keys[0], keys[1].public_key(), &options(Party::Garbler)).unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let [mut here, mut there] = std::thread::scope(|scope| {
        let here = scope.spawn(|| listener.accept().unwrap());
        let there =
            tls::connect(&address, &keys[1], keys[0].public_key(), &options(Party::Evaluator)).unwrap();
        [here.join().unwrap(), there]
    });
    let send = |channel: &mut Channel| channel.send(Tag(100), &[7; 1000]).and_then(|()| channel.flush());
    // Two messages share one record, so the second is decrypted with the first.
    there.send(Tag(100), &[1]).and_then(|()| there.send(Tag(100), &[2])).unwrap();
    there.flush().unwrap();
    assert_eq!(here.receive(Tag(100), 1).unwrap(), [1]);
    process::forked();
    for error in [here.receive(Tag(100), 1).map(drop).unwrap_err(), send(&mut here).unwrap_err()] {
        assert!(error.to_string().contains("belongs to the parent process"), "{error}");
    }
}
