//! Tests tokens with names, rights and budgets.

use super::*;

const BILLING: &str = "b1111111111111111111111111111111";
const AUDITOR: &str = "a2222222222222222222222222222222";
const NEW: &str = "n3333333333333333333333333333333";

/// Each token gives its rights and has its budget, which a restart does not renew. The trail names the token.
/// SIGHUP replaces the content of a token.
#[test]
fn rights_and_budgets() {
    let program = entry("richer", "millionaires.bwp", "input = \"314159\"\n");
    let other = entry("cipher", "aes-128.bwp", "").replace("low = 2", "low = 0");
    let token =
        |name: &str, more: &str| format!("[[tokens]]\nname = \"{name}\"\nfile = \"{name}\"\n{more}\n");
    let tokens =
        [token("billing", "programs = [\"richer\"]\ntotal = 2\n"), token("auditor", "programs = []\n")];
    let mut pair = Pair::new([&[&*program, &other, &tokens.concat()].concat(), &program]);
    pair.keys.write("billing", BILLING.as_bytes());
    pair.keys.write("auditor", AUDITOR.as_bytes());
    let [mut garbler, evaluator] = pair.both();
    garbler.stocked("richer", 4);
    let ask = |garbler: &Service, token: &str, id: &str| {
        garbler.post(token, &json!({ "program": "richer", "input": 271828, "id": id }).to_string())
    };
    let is = |got: Got, status: u16, words: &str| {
        assert_eq!(got.status, status, "{}", got.body);
        assert!(got.body.contains(words), "{words} in {}", got.body);
    };
    is(ask(&garbler, AUDITOR, "no"), 403, "the token auditor is not for this program");
    let cipher = json!({ "program": "cipher", "input": "0x00112233445566778899aabbccddeeff" });
    is(garbler.post(BILLING, &cipher.to_string()), 403, "the token billing is not for this program");
    let first = ask(&garbler, BILLING, "first");
    assert_eq!(first.status, 200, "{}", first.body);
    let budget = &first.json()["budget"];
    assert_eq!((&budget["program"], &budget["runs"]), (&json!("richer"), &json!(1)));
    assert!(budget["text"].as_str().is_some_and(|text| text.contains("tells something")), "{budget}");
    // The same holder gets the result again, without another run; another holder does not.
    assert_eq!(ask(&garbler, BILLING, "first").json()["outputs"], first.json()["outputs"]);
    is(ask(&garbler, TOKEN, "first"), 409, "another input");
    is(ask(&garbler, NEW, "first"), 401, "the token is missing or wrong");
    assert_eq!(ask(&garbler, BILLING, "second").status, 200);
    is(
        ask(&garbler, BILLING, "third"),
        429,
        "the budget of the token billing is used up: at most 2 runs in all",
    );
    assert_eq!(ask(&garbler, TOKEN, "fourth").status, 200, "another token has a budget of its own");
    garbler.until("metrics", |got| {
        let left = got.metric("brickwork_token_budget_left{token=\"billing\",window=\"total\"}");
        left == Some(0.0) && got.metric("brickwork_tokens_refused_total") == Some(1.0)
    });
    let trail = pair.audited(0);
    let of = |event: &str| trail.iter().filter(|line| line["event"] == event).collect::<Vec<_>>();
    let named = |lines: &[&Value]| lines.iter().map(|line| line["token"].clone()).collect::<Vec<_>>();
    assert_eq!(named(&of("run")), ["billing", "billing", "token"]);
    assert_eq!(named(&of("refusal")), ["auditor", "billing", "token", "billing"]);
    assert_eq!(of("token").len(), 1);
    let log = std::fs::read_to_string(pair.log(0)).expect("a log");
    assert!(log.contains("a request with a wrong token, or with none, was refused"), "{log}");
    for secret in [BILLING, AUDITOR, TOKEN, NEW, "271828"] {
        assert!(!log.contains(secret) && trail.iter().all(|line| !line.to_string().contains(secret)));
    }

    // The budget of a token belongs to its name.
    pair.keys.write("billing", NEW.as_bytes());
    pair.reload(0, &garbler);
    is(ask(&garbler, BILLING, "fifth"), 401, "the token is missing or wrong");
    is(ask(&garbler, NEW, "fifth"), 429, "the token billing");
    assert_eq!(ask(&garbler, NEW, "first").json()["outputs"], first.json()["outputs"]);
    garbler.kill();
    pair.address = garbler.listening.clone();
    let garbler = pair.start(0);
    garbler.connected();
    is(ask(&garbler, NEW, "sixth"), 429, "the token billing");
    evaluator.stop();
    garbler.stop();
}

/// A token for an unknown program, a token that is there twice, and a service without a token are refused.
#[test]
fn wrong_tokens() {
    let pair = Pair::new(["", ""]);
    pair.keys.write("billing", BILLING.as_bytes());
    let good = std::fs::read_to_string(pair.configure(0)).expect("a file");
    let token = |more: &str| format!("[[tokens]]\nname = \"billing\"\nfile = \"billing\"\n{more}\n");
    let (key, store) = (pair.keys.file("store.key"), pair.keys.file("garbler.store"));
    for (text, words) in [
        (good.replace("token = \"token\"\n", ""), "token, or a table [[tokens]], is needed"),
        (
            good.clone() + &token("programs = [\"none\"]"),
            "the token billing is for none, which is no program here",
        ),
        (good.clone() + &token("") + &token(""), "the token billing is there twice"),
        (good.clone() + &token("").replace("file = \"billing\"", "file = \"token\""), "is there twice"),
        (good.clone() + &token("rights = 1"), "an unknown name; expected one of `name`"),
    ] {
        let config = pair.keys.write("wrong.toml", text.as_bytes());
        bad(&["serve", "--config", &config, "--store", &store, "--store-key", &key], 3, words);
    }
}
