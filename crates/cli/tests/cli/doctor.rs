//! `brickwork doctor` and its peer, or the lack of one.

use std::net::TcpListener;

use brickwork_kernels::{KERNEL_VARIABLE, Kernel};

use super::*;

fn doctor(keys: &Keys, role: &str, file: &str, more: &[&str]) -> Vec<String> {
    let (own, peer) =
        if role == "garbler" { ("garbler.key", &keys.evaluator) } else { ("evaluator.key", &keys.garbler) };
    let fixed = ["doctor", file, "--role", role, "--identity", &keys.file(own), "--peer", peer, "--json"]
        .map(String::from);
    fixed.into_iter().chain(more.iter().map(|s| String::from(*s))).collect()
}

fn begin(arguments: &[String]) -> Child {
    start(&arguments.iter().map(String::as_str).collect::<Vec<_>>())
}

#[test]
fn doctors_meet() {
    let keys = Keys::new();
    let file = example("millionaires.bwp");
    let mut listening =
        begin(&doctor(&keys, "garbler", &file, &["--listen", "127.0.0.1:0", "--timeout", "30"]));
    let connecting = begin(&doctor(
        &keys,
        "evaluator",
        &file,
        &["--connect", &address(&mut listening), "--timeout", "30"],
    ));
    for output in [finish(connecting), finish(listening)] {
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stdout));
        assert!(text(&output.stdout).contains("the peer is there"));
    }
}

#[test]
fn doctors_of_different_programs_say_so() {
    let keys = Keys::new();
    let file = example("millionaires.bwp");
    let mut listening =
        begin(&doctor(&keys, "garbler", &file, &["--listen", "127.0.0.1:0", "--timeout", "30"]));
    let other = ["--connect", &address(&mut listening), "--timeout", "30", "--security", "80"];
    let connecting = begin(&doctor(&keys, "evaluator", &file, &other));
    for output in [finish(connecting), finish(listening)] {
        assert_eq!(output.status.code(), Some(7), "{}", text(&output.stdout));
        assert_eq!(object(&output)["error"]["code"], 7);
    }
}

/// Both use a store, or neither; and it must open.
#[test]
fn doctors_look_at_stores() {
    let keys = Keys::new();
    let file = example("millionaires.bwp");
    let store_key = keys.write("store.key", "5e".repeat(32).as_bytes());
    private(&store_key);
    let store = ["--store", &keys.file("stock"), "--store-key", &store_key].map(str::to_owned);
    let store = store.each_ref().map(String::as_str);
    for (flags, code) in [(&store[..], 0), (&[], 7)] {
        let listen = [&["--listen", "127.0.0.1:0", "--timeout", "30"], &store[..]].concat();
        let mut listening = begin(&doctor(&keys, "garbler", &file, &listen));
        let address = address(&mut listening);
        let connecting = begin(&doctor(
            &keys,
            "evaluator",
            &file,
            &[&["--connect", &address, "--timeout", "30"], flags].concat(),
        ));
        for output in [finish(connecting), finish(listening)] {
            assert_eq!(output.status.code(), Some(code), "{}", text(&output.stdout));
        }
    }
    assert!(!Path::new(&keys.file("stock")).exists(), "it only looks");
    let no_key = ["--store", &keys.file("stock"), "--store-key", &keys.file("nothing")].map(str::to_owned);
    let output = finish(begin(&doctor(&keys, "garbler", &file, &no_key.each_ref().map(String::as_str))));
    assert_eq!(output.status.code(), Some(3), "{}", text(&output.stdout));
}

#[test]
fn nobody_and_a_taken_port_are_code_4() {
    let keys = Keys::new();
    let file = example("millionaires.bwp");
    // Nobody can listen at port 1 without special rights.
    let output =
        finish(begin(&doctor(&keys, "garbler", &file, &["--connect", "127.0.0.1:1", "--timeout", "1"])));
    assert_eq!((output.status.code(), &object(&output)["error"]["code"]), (Some(4), &Value::from(4)));
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let output = finish(begin(&doctor(&keys, "garbler", &file, &["--listen", &address])));
    assert_eq!(output.status.code(), Some(4));
    assert!(object(&output)["error"]["hint"].as_str().unwrap().contains("another program listens"));
}

/// Every kernel of this machine can be asked for, and is used then; another one ends every command at once.
#[test]
fn kernels_are_chosen_by_the_environment() {
    let with_kernel = |arguments: &[&str], kernel: &str| {
        brickwork(arguments).env(KERNEL_VARIABLE, kernel).output().expect("the command starts")
    };
    let available = Kernel::all_available();
    for kernel in &available {
        let output = with_kernel(&["doctor"], kernel.name());
        let line = if *kernel == available[0] { "" } else { "; BRICKWORK_KERNEL asks for it" };
        let stdout = text(&output.stdout);
        assert!(stdout.contains(&format!("{}{line}", kernel.name())), "{stdout}");
    }
    for arguments in [&["doctor", "--json"][..], &["examples", "--json"]] {
        let refused = with_kernel(arguments, "abacus");
        is_error(&refused, 2, "BRICKWORK_KERNEL is \"abacus\"");
        assert!(available.iter().all(|kernel| text(&refused.stdout).contains(kernel.name())));
    }
}
