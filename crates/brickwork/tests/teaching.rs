//! Runs the teaching examples.

use std::net::TcpListener;

use brickwork::Identity;

#[path = "../examples/both_here.rs"]
mod both_here;
#[path = "../examples/own_transport.rs"]
mod own_transport;
#[path = "../examples/session.rs"]
mod session;
#[path = "../examples/stock_ahead.rs"]
mod stock_ahead;
#[path = "../examples/tables.rs"]
mod tables;
#[path = "../examples/two_processes.rs"]
#[expect(dead_code, reason = "its `main` reads the command line")]
mod two_processes;
#[path = "../examples/websocket.rs"]
mod websocket;

#[test]
fn both_parties_run_here() {
    both_here::main().unwrap();
}

#[test]
fn a_line_of_ones_own_does() {
    own_transport::main().unwrap();
    websocket::main().unwrap();
}

#[test]
fn tables_go_in() {
    tables::main().unwrap();
}

#[test]
fn stock_is_made_ahead() {
    stock_ahead::main().unwrap();
}

#[test]
fn a_step_takes_what_another_one_kept() {
    session::main().unwrap();
}

#[test]
fn two_parties_with_keys_meet() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: String, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    let keys = |name: &str| {
        let (identity, pem) = Identity::generate().unwrap();
        let public = identity.public_key().to_string();
        (file(format!("{name}.key"), &pem), file(format!("{name}.pub"), &public))
    };
    let (alice, bob) = (keys("alice"), keys("bob"));
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let run = |role: &str, own: &str, peer: &str, wealth: &str| {
        let arguments = [role, own, peer, &free, wealth].map(str::to_owned);
        two_processes::run(&arguments).unwrap()
    };
    std::thread::scope(|scope| {
        let garbler = scope.spawn(|| run("garbler", &alice.0, &bob.1, "1250000"));
        assert!(run("evaluator", &bob.0, &alice.1, "1000000"));
        assert!(garbler.join().unwrap());
    });
}
