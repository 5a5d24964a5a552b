//! Tests `brickwork doctor`, with and without a peer.

use std::net::TcpListener;

use brickwork_kernels::{KERNEL_VARIABLE, Kernel};

use super::parties::MAXIMUM;
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
        let checks = object(&output)["checks"].clone();
        let connection = checks.as_array().unwrap().iter().find(|check| check["name"] == "connection");
        assert!(connection.unwrap()["detail"].as_str().unwrap().contains("the peer answers"), "{checks}");
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

/// Either both parties use a store or neither does, and the store can be opened.
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
    // Only a privileged process can listen at port 1, so nobody does.
    let output =
        finish(begin(&doctor(&keys, "garbler", &file, &["--connect", "127.0.0.1:1", "--timeout", "1"])));
    assert_eq!((output.status.code(), &object(&output)["error"]["code"]), (Some(4), &Value::from(4)));
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let output = finish(begin(&doctor(&keys, "garbler", &file, &["--listen", &address])));
    assert_eq!(output.status.code(), Some(4));
    assert!(object(&output)["error"]["hint"].as_str().unwrap().contains("another program already listens"));
}

/// Each kernel of this machine can be chosen with the environment variable, and is then used. Any other name
/// ends every command at once.
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
/// Returns the result of a check: whether it succeeded, and its text.
fn finding(output: &Output, name: &str) -> (Option<bool>, String) {
    let checks = object(output)["checks"].clone();
    let check = checks.as_array().unwrap().iter().find(|check| check["name"] == name);
    let check = check.unwrap_or_else(|| panic!("{name}: {checks}"));
    (
        check["ok"].as_bool(),
        format!("{} {}", check["detail"].as_str().unwrap(), check["hint"].as_str().unwrap()),
    )
}

/// A check that was not requested does not fail, and its text names exactly the missing flags.
#[test]
fn what_is_missing_is_named_and_no_failure() {
    let keys = Keys::new();
    let file = example("millionaires.bwp");
    let output = run(&["doctor", "--json"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stdout));
    for (name, hint) in [
        ("identity", "give --identity KEYFILE"),
        ("peer", "give --peer PUBKEY"),
        ("program", "give FILE"),
        ("parameters", "give FILE, --role"),
        ("connection", "give --listen or --connect HOST:PORT"),
    ] {
        let (ok, words) = finding(&output, name);
        assert!(ok.is_none() && words == format!("not checked {hint}"), "{words}");
    }
    let some = ["doctor", &file, "--identity", &keys.file("garbler.key"), "--listen", "127.0.0.1:0"];
    // A check that was requested and cannot be made fails. For example, an address where nobody listens is
    // reported.
    let output = run(&[&some[..], &["--json"]].concat());
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stdout));
    let asked = |flag: &str, lacks: &str| {
        (Some(false), format!("{flag} asks for this check, but it could not be made give {lacks}"))
    };
    assert_eq!(finding(&output, "connection"), asked("--listen", "--role, --peer"));
    let human = text(&run(&some).stdout);
    assert!(human.contains("FAILED       connection: --listen asks for this check"), "{human}");
    for (flags, name, expected) in [
        (["--connect", "127.0.0.1:1"], "connection", asked("--connect", "--role, --identity, --peer")),
        (["--input", "5"], "input", asked("--input", "--role")),
    ] {
        let output = run(&[&["doctor", &file, "--json"], &flags[..]].concat());
        assert_eq!((output.status.code(), finding(&output, name)), (Some(2), expected));
    }
    let store = run(&["doctor", &file, "--json", "--store", &keys.file("nothing")]);
    assert!(store.status.code() != Some(0) && finding(&store, "stock").0 == Some(false));
    // A requested check with a wrong value still fails.
    let output = run(&["doctor", &file, "--role", "garbler", "--peer", "nonsense", "--json"]);
    assert_eq!((output.status.code(), finding(&output, "peer").0), (Some(2), Some(false)));
}

/// An input that does not fit the program is reported.
#[test]
fn an_input_is_held_against_the_program() {
    let file = example("millionaires.bwp");
    let check = |more: &[&str]| run(&[&["doctor", &file, "--role", "garbler", "--json"], more].concat());
    let good = check(&["--input", "5"]);
    assert_eq!((good.status.code(), finding(&good, "input").0), (Some(0), Some(true)));
    assert!(!text(&good.stdout).contains("\"5\""));
    for (more, words) in [
        (&["--input", "-5"][..], "negative"),
        (&["--input", "[1, 2]"], ""),
        (&["--input", "[1, 2]", "--executions", "3"], "3"),
        (&["--input", "@no-such-file"], "cannot read"),
    ] {
        let output = check(more);
        let (ok, said) = finding(&output, "input");
        assert!(output.status.code() == Some(3) && ok == Some(false) && said.contains(words), "{said}");
    }
}

/// Each side has its own file and flags. Both doctors report the same, and a run succeeds exactly if they
/// find no problem.
#[test]
fn cuts_flags_and_files_are_compared() {
    let keys = Keys::new();
    let source = keys.write("a.wir", MAXIMUM.as_bytes());
    // The folder differs, because a program has the name of its file.
    std::fs::create_dir(keys.file("other")).unwrap();
    let other = keys.write("other/a.wir", format!("{MAXIMUM}\n").as_bytes());
    let compiled = keys.file("a.bwp");
    good(&["compile", &source, "-o", &compiled, "--quiet"]);
    type Side<'a> = (&'a str, &'a [&'a str]);
    let meet = |command: [&str; 2], sides: [Side; 2]| {
        let one = |role: &'static str, command: &str, (file, flags): Side, place: &[&str]| {
            let mut arguments = doctor(
                &keys,
                role,
                file,
                &[&["--timeout", "30", "--input", "9", "--protocol", "duplo"], flags, place].concat(),
            );
            if command == "run" {
                arguments.splice(0..4, [role.to_owned(), file.to_owned()]);
            }
            begin(&arguments)
        };
        let mut listening = one("garbler", command[0], sides[0], &["--listen", "127.0.0.1:0"]);
        let address = address(&mut listening);
        let connecting = finish(one("evaluator", command[1], sides[1], &["--connect", &address]));
        (listening, connecting)
    };
    let none: &[&str] = &[];
    for (sides, why) in [
        ([(&*source, none), (&*source, none)], None),
        ([(&compiled, none), (&source, none)], None),
        ([(&source, &["--cut", "given"][..]), (&compiled, none)], None),
        ([(&source, &["--cut", "inline:*"]), (&source, &["--cut", "inline:*"])], None),
        // The garbler can cut its source, and the evaluator cannot cut a compiled program.
        ([(&source, none), (&compiled, none)], Some("compiled program does not allow")),
        ([(&source, &["--cut", "inline:*"]), (&compiled, none)], Some("already compiled, so it allows only")),
        ([(&source, none), (&other, none)], Some("the two sources compile to the same program")),
        ([(&source, none), (&source, &["--cut", "given"])], Some("only --cut given")),
        ([(&source, &["--cut", "whole"]), (&source, &["--cut", "given"])], Some("wants --cut given")),
        ([(&source, &["--security", "64"]), (&source, none)], Some("--security 64")),
        ([(&source, none), (&source, &["--max-ram", "1MiB"])], Some("memory")),
    ] {
        let (listening, connecting) = meet(["doctor", "doctor"], sides);
        for output in [connecting, finish(listening)] {
            let (ok, said) = finding(&output, "connection");
            match why {
                None => assert_eq!((ok, output.status.code()), (Some(true), Some(0)), "{said}"),
                Some(why) => assert!(ok == Some(false) && said.contains(why), "{sides:?}: {said}"),
            }
        }
        if why.is_none() {
            let (listening, connecting) = meet(["run", "run"], sides);
            for output in [connecting, finish(listening)] {
                assert_eq!(output.status.code(), Some(0), "{sides:?} {}", text(&output.stdout));
            }
        }
    }
    // A doctor visits a waiting garbler, and then a run uses the same flags.
    let flags = ["--cut", "inline:square"];
    let (mut garbler, visit) = meet(["run", "doctor"], [(&source, &flags), (&source, none)]);
    assert_eq!(visit.status.code(), Some(0), "{}", text(&visit.stdout));
    assert!(garbler.try_wait().unwrap().is_none(), "it waits on");
}

/// The stock is compared with the needs of a run, at one party and between two, and nothing is changed.
#[test]
fn stores_are_compared_and_left_alone() {
    let keys = Keys::new();
    let file = example("millionaires.bwp");
    let key = keys.write("store.key", "5e".repeat(32).as_bytes());
    private(&key);
    let make = |names: [&str; 2]| {
        let side = |role: &'static str, peer: &String, store: &str, place: [&str; 2]| {
            let count = format!("{file}=2");
            let [own, store] = [format!("{role}.key"), store.to_owned()].map(|name| keys.file(&name));
            start(&[
                "preprocess",
                "--role",
                role,
                "--identity",
                &own,
                "--peer",
                peer,
                "--store",
                &store,
                "--store-key",
                &key,
                "--component",
                &count,
                place[0],
                place[1],
                "--timeout",
                "60",
            ])
        };
        let mut garbler = side("garbler", &keys.evaluator, names[0], ["--listen", "127.0.0.1:0"]);
        let address = address(&mut garbler);
        let evaluator = side("evaluator", &keys.garbler, names[1], ["--connect", &address]);
        for output in [finish(garbler), finish(evaluator)] {
            assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        }
    };
    make(["g", "e"]);
    make(["other-g", "other-e"]);
    let with = |role: &str, store: &str, more: &[&str]| {
        let store = keys.file(store);
        let flags = ["--store", &store, "--store-key", &key, "--timeout", "60"];
        begin(&doctor(&keys, role, &file, &[&flags[..], more].concat()))
    };
    let held = || {
        ["g", "e", "other-g", "other-e"].map(|store| {
            let (_, mut json) = good(&["stock", "ls", &keys.file(store), "--store-key", &key]);
            json["epochs"]
                .as_array_mut()
                .unwrap()
                .iter_mut()
                .for_each(|epoch| epoch["age_seconds"] = 0.into());
            json
        })
    };
    let before = held();
    // One party compares the needs of a run with its own stock.
    for (more, code, words) in [
        (&["--executions", "2"][..], 0, "the stock has all items for this run"),
        (&["--executions", "50"], 0, "has 2 executions of it for --security 40"),
        (&["--executions", "50", "--no-top-up"], 6, "has 2 executions"),
        (&["--security", "64", "--no-top-up"], 6, "and stock for --security 40"),
    ] {
        let output = finish(with("garbler", "g", more));
        assert_eq!(output.status.code(), Some(code), "{}", text(&output.stdout));
        assert!(finding(&output, "stock").1.contains(words), "{}", text(&output.stdout));
    }
    let output = finish(with("garbler", "typo", &["--no-top-up"]));
    assert_eq!((output.status.code(), finding(&output, "store").0), (Some(6), Some(false)));
    assert!(!Path::new(&keys.file("typo")).exists());
    // Both parties compare their stores.
    for (stores, more, ok, words) in [
        (["g", "e"], &["--no-top-up", "--executions", "2"][..], true, "1 part with the same log"),
        (["g", "other-e"], &[], false, "pair of stores "),
        (["g", "typo"], &[], false, "pair of stores "),
    ] {
        let mut listening = with("garbler", stores[0], &[more, &["--listen", "127.0.0.1:0"]].concat());
        let address = address(&mut listening);
        let connecting = with("evaluator", stores[1], &[more, &["--connect", &address]].concat());
        for output in [finish(connecting), finish(listening)] {
            let (good, said) = finding(&output, "connection");
            assert!(good == Some(ok) && said.contains(words), "{stores:?}: {}", text(&output.stdout));
            assert_eq!(output.status.code(), Some(if ok { 0 } else { 6 }));
        }
    }
    assert_eq!(held(), before, "looking changes nothing");
    assert!(!Path::new(&keys.file("typo")).exists());
}
