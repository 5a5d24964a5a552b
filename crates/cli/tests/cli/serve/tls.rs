//! Tests requests over TLS, with a certificate that the test makes as the guide says.

use super::*;

/// Returns the command of the guide that makes a certificate and its key.
fn of_the_guide() -> String {
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/guides/serve.md"));
    let page = page.expect("the guide");
    let from = page.find("openssl req").expect("the command");
    page[from..].split("\n```").next().expect("a block").to_owned()
}

/// The command and other clients reach the service over TLS alone, and a new certificate needs no restart.
/// A wrong file, a key that others can read, and a key of another certificate are refused.
#[test]
fn requests_over_tls() {
    let program = entry("richer", "millionaires.bwp", "input = \"5\"\n");
    let tls = "[tls]\ncertificate = \"http.crt\"\nkey = \"http.key\"\n";
    let mut pair = Pair::new([&[tls, &program].concat(), &program]);
    let certify = || {
        let folder = pair.keys.file("");
        let made = Command::new("sh").args(["-c", &of_the_guide()]).current_dir(folder).output();
        let made = made.expect("a shell");
        assert!(made.status.success(), "install openssl: {}", text(&made.stderr));
    };
    certify();
    let [certificate, key, old] = ["http.crt", "http.key", "old.crt"].map(|name| pair.keys.file(name));
    std::fs::copy(&certificate, &old).expect("a copy");
    let garbler = pair.start(0);
    pair.address = garbler.listening.clone();
    let evaluator = pair.start(1);
    let at = garbler.http.to_string();
    let token = pair.keys.file("token");
    let begun = Instant::now();
    let asked = loop {
        let ask = ["request", "richer", "--input", "7", "--at", &at, "--token", &token];
        let asked = run(&[&ask[..], &["--certificate", &certificate, "--json"]].concat());
        if asked.status.success() || begun.elapsed() > Duration::from_secs(60) {
            break object(&asked);
        }
    };
    assert_eq!(asked["outputs"], json!({ "alice": 1, "bob": 0 }), "{asked}");
    assert!(garbler.try_get("health").map_or(true, |got| got.status == 0), "it speaks no plain HTTP");
    let health = |certificate: &str| run(&["health", "--at", &at, "--certificate", certificate]);
    is_error(&run(&["health", "--at", &at, "--json"]), 4, "does not answer");

    certify();
    pair.reload(0, &garbler);
    assert_eq!(health(&certificate).status.code(), Some(0));
    let refused = health(&old);
    assert_eq!(refused.status.code(), Some(4));
    assert!(text(&refused.stderr).contains("another certificate"), "{}", text(&refused.stderr));
    assert_eq!(health(&key).status.code(), Some(3), "a key is no certificate");

    // A wrong configuration changes nothing, and names the file.
    let mode = |mode| std::fs::set_permissions(&key, std::os::unix::fs::PermissionsExt::from_mode(mode));
    let logged = |words: &str| {
        pair.reload(0, &garbler);
        let log = std::fs::read_to_string(pair.log(0)).expect("a log");
        assert!(log.lines().last().is_some_and(|line| line.contains(words)), "{words}: {log}");
        assert_eq!(health(&certificate).status.code(), Some(0));
    };
    mode(0o644).expect("a mode");
    logged("other users can read or change this file");
    mode(0o600).expect("a mode");
    let own = std::fs::read(&certificate).expect("a certificate");
    std::fs::copy(&old, &certificate).expect("a copy");
    pair.reload(0, &garbler);
    let log = std::fs::read_to_string(pair.log(0)).expect("a log");
    assert!(log.contains("is not that of the certificate"), "{log}");
    std::fs::write(&certificate, own).expect("a certificate");
    pair.programs[0] = program.clone();
    pair.reload(0, &garbler);
    let log = std::fs::read_to_string(pair.log(0)).expect("a log");
    assert!(log.contains("[tls] comes or goes"), "{log}");
    evaluator.stop();
}
