//! Tests a service against a peer that has the right key and sends wrong messages on the lines.

use super::*;
use brickwork::circuit::Party;
use brickwork::disk::{Account, Relation, Store, StoreKey};
use brickwork::duplo::{Request, Stocked};
use brickwork::protocol::{Observer, TABLE_MEMORY, Terms, Unobserved};
use brickwork::wire::tls::{self, EndpointOptions, Identity, Listener, PublicKey};
use brickwork::wire::{Channel, Tag};

const SERVE: Tag = Tag(120);

/// The three lines to an honest service, at a hostile peer.
struct Hostile {
    work: Stocked,
    fill: Stocked,
    ask: Channel,
}

/// The hostile peer's role, keys and store.
struct Means {
    party: Party,
    identity: Identity,
    peer: PublicKey,
    store: Store,
    terms: Terms,
}

impl Means {
    fn of(pair: &Pair, party: Party) -> Means {
        let role = party as usize;
        let name = ["garbler", "evaluator"][role];
        let key = std::fs::read_to_string(pair.keys.file(&format!("{name}.key"))).expect("a key");
        let keys =
            [&pair.keys.garbler, &pair.keys.evaluator].map(|key| key.parse::<PublicKey>().expect("a key"));
        let store_key = StoreKey::from_hex(&"01".repeat(32)).expect("a key");
        Means {
            party,
            identity: Identity::from_pem(&key).expect("a key"),
            peer: keys[1 - role],
            store: Store::open(pair.keys.file(&format!("{name}.store")).as_ref(), &store_key)
                .expect("a store"),
            terms: Terms {
                security: 40.into(),
                threads: 1,
                table_memory: TABLE_MEMORY,
                identities: keys.map(PublicKey::to_bytes),
                post_quantum: false,
            },
        }
    }

    fn account(&self) -> Account {
        let relation = Relation { role: self.party, identities: self.terms.identities };
        Account { relation, protocol: "duplo".into(), security: self.terms.security }
    }

    fn options(&self) -> EndpointOptions {
        EndpointOptions { party: self.party, lanes: 1, timeout: Duration::from_secs(60) }
    }

    fn listener(&self) -> Listener {
        Listener::bind("127.0.0.1:0", &self.identity, self.peer, &self.options()).expect("a door")
    }

    fn stocked(&self, channel: Channel) -> Stocked {
        self.watched(channel, Unobserved)
    }

    fn watched(&self, channel: Channel, observer: impl Observer + 'static) -> Stocked {
        Stocked::open(self.party, channel, &self.store, &self.terms, observer).expect("a session")
    }

    fn hostile(&self, channels: Vec<Channel>) -> Hostile {
        let [work, fill, ask] = <[Channel; 3]>::try_from(channels).ok().expect("three lines");
        Hostile { work: self.stocked(work), fill: self.stocked(fill), ask }
    }

    /// Connects as an evaluator to a listening garbler.
    fn connect(&self, address: &str) -> Hostile {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("a clock");
        let meeting = format!("{:032x}", now.as_nanos());
        let line = |line: &str| {
            let sheet = json!({ "serve": 1, "line": line, "meeting": meeting }).to_string();
            let met = tls::meet(address, &self.identity, self.peer, &self.options(), sheet.as_bytes());
            met.expect("a line").channel
        };
        self.hostile(["work", "fill", "ask"].map(line).into())
    }

    /// Accepts an evaluator that connects to this garbler.
    fn accept(&self, listener: &Listener) -> Hostile {
        let sheet = json!({ "serve": 1, "line": "", "meeting": "" }).to_string();
        let line = |_| listener.meet(sheet.as_bytes(), None).expect("a line").channel;
        self.hostile([0, 1, 2].map(line).into())
    }
}

fn say(channel: &mut Channel, message: &Value) {
    channel.send(SERVE, message.to_string().as_bytes()).and_then(|()| channel.flush()).expect("a line");
}

/// Returns the service's next message, without the empty ones that it sends regularly. Returns none if the
/// service has closed the line.
fn hear(channel: &mut Channel) -> Option<Value> {
    loop {
        let said: Value = serde_json::from_slice(&channel.receive_up_to(SERVE, 4096).ok()?).expect("JSON");
        if said != json!("idle") {
            return Some(said);
        }
    }
}

fn richer_program() -> brickwork::circuit::Program {
    let bytes = std::fs::read(example("millionaires.bwp")).expect("an example");
    brickwork::circuit::Program::from_bytes(&bytes).expect("a program")
}

/// Reads messages up to the garbler's next request for a run. If the garbler wants to compare the stores
/// again, this does so.
fn asked(mut work: Stocked) -> Stocked {
    loop {
        match hear(work.channel()).expect("a request") {
            said if said == json!("renew") => work = work.renew().expect("the same stock"),
            said => {
                assert!(said["run"].is_object(), "{said}");
                return work;
            }
        }
    }
}

/// Makes two services with stock, and stops one of them.
fn stocked(programs: [&str; 2], limits: &str, down: usize) -> (Pair, Service) {
    let mut pair = Pair::new(programs);
    pair.limits[1 - down] = limits.into();
    let both = pair.both();
    both.iter().for_each(|service| service.stocked("richer", 6));
    let [garbler, evaluator] = both;
    let (stays, goes) = if down == 0 { (evaluator, garbler) } else { (garbler, evaluator) };
    goes.stop();
    stays.until("ready", |got| got.status == 503);
    (pair, stays)
}

/// The evaluator's answer decides neither the status nor the text that the garbler's user gets. An invalid
/// answer ends the lines, and the user's request waits on.
#[test]
fn an_evaluator_that_answers_as_it_likes() {
    let program = entry("richer", "millionaires.bwp", "");
    let (pair, garbler) = stocked([&program, &program], "", 1);
    let means = Means::of(&pair, Party::Evaluator);
    let address = garbler.listening.clone().expect("it listens");
    let answered = |answers: &[Value]| {
        std::thread::scope(|scope| {
            let asks = scope.spawn(|| garbler.run(&json!({ "program": "richer", "input": 4 })));
            for answer in answers {
                let Hostile { work, fill, ask } = means.connect(&address);
                let mut work = asked(work);
                say(work.channel(), answer);
                // An invalid answer ends the lines; after a valid refusal the garbler sends nothing more.
                if !answer["no"].is_string() && answer["no"]["spent_for_now"].is_null() {
                    assert_eq!(hear(work.channel()), None, "{answer}");
                    assert!(!asks.is_finished(), "{answer}");
                    drop((work, fill, ask));
                    garbler.until("ready", |got| got.status == 503);
                    continue;
                }
                let got = asks.join().unwrap();
                drop((work, fill, ask));
                garbler.until("ready", |got| got.status == 503);
                return got;
            }
            panic!("no answer")
        })
    };
    let liar =
        |status: u16| json!({ "status": status, "error": "\u{1b}[2J", "hint": "", "retry_after": null });
    let got = answered(&[
        json!({ "no": liar(200) }),
        json!({ "no": liar(0) }),
        json!({ "no": null }),
        json!({ "count": 1 }),
        json!("x".repeat(4000)),
        json!({ "no": "not_allowed" }),
    ]);
    assert_eq!(got.status, 403, "{}", got.body);
    assert_eq!(got.json()["error"], json!("the peer refuses: the program is not allowed"));
    let got = answered(&[json!({ "no": { "spent_for_now": u64::MAX } })]);
    assert_eq!((got.status, got.json()["retry_after"].clone()), (429, json!(3600)), "{}", got.body);
    // Nothing ran, and no run was counted.
    assert_eq!(garbler.runs_ever("richer"), 0);
    garbler.stop();
}

/// If an evaluator agrees to a run and then goes away or stalls, the run fails and counts. Other requests do
/// not wait longer than allowed, and the service can be stopped in time.
#[test]
fn an_evaluator_that_breaks_off_or_stalls() {
    let program = entry("richer", "millionaires.bwp", "");
    let (pair, garbler) = stocked([&program, &program], "wait_seconds = 1\nrun_seconds = 2", 1);
    let means = Means::of(&pair, Party::Evaluator);
    let address = garbler.listening.clone().expect("it listens");
    let body = json!({ "program": "richer", "input": 4 });
    for (stalls, words) in
        [(false, "the run failed"), (true, "the run took longer than the configuration allows")]
    {
        let Hostile { work, fill, ask } = means.connect(&address);
        garbler.until("ready", |got| got.status == 200);
        std::thread::scope(|scope| {
            let asks = scope.spawn(|| garbler.run(&body));
            let mut work = asked(work);
            say(work.channel(), &json!("yes"));
            let held = stalls.then_some(work);
            if stalls {
                let got = garbler.run(&body);
                assert_eq!(got.status, 504, "{}", got.body);
            }
            let got = asks.join().unwrap();
            assert_eq!(got.status, 502, "{}", got.body);
            assert!(got.body.contains(words), "{}", got.body);
            drop((held, fill, ask));
        });
        garbler.until("ready", |got| got.status == 503);
    }
    assert_eq!(garbler.runs_ever("richer"), 2);
    // If a run stalls, the service stops at the latest when the run must end.
    let Hostile { work, fill, ask } = means.connect(&address);
    garbler.until("ready", |got| got.status == 200);
    std::thread::scope(|scope| {
        let asks = scope.spawn(|| garbler.run(&body));
        let mut work = asked(work);
        say(work.channel(), &json!("yes"));
        garbler.signal(rustix::process::Signal::TERM);
        assert_eq!(asks.join().unwrap().status, 502);
        drop((work, fill, ask));
    });
    garbler.stop();
}

/// A garbler can make the evaluator run and make only what its configuration allows: the listed programs,
/// stock up to `high`, and runs within the budget, which a new connection does not renew. A request's input
/// is used only for this request.
#[test]
fn a_garbler_that_asks_for_too_much() {
    let program = entry("richer", "millionaires.bwp", "");
    let limited = program.clone() + "input = \"5\"\ntotal = 3\n";
    let mut pair = Pair::new([&program, &limited]);
    let means = Means::of(&pair, Party::Garbler);
    let listener = means.listener();
    pair.address = Some(listener.local_addr().expect("an address").to_string());
    let evaluator = pair.start(1);
    let program = richer_program();
    let digest: String = program.digest().iter().map(|byte| format!("{byte:02x}")).collect();
    let other = "ab".repeat(32);
    let Hostile { mut work, mut fill, mut ask } = means.accept(&listener);

    say(fill.channel(), &json!({ "fill": { "digest": other, "count": 5 } }));
    assert_eq!(hear(fill.channel()), Some(json!({ "no": "not_allowed" })));
    // However much stock the peer asks for, the service makes only as much as `high` allows.
    say(fill.channel(), &json!({ "fill": { "digest": digest, "count": u64::MAX } }));
    assert_eq!(hear(fill.channel()), Some(json!({ "count": 6 })));
    let mut fill = fill.preprocess(&steps_of(&program, 6)).and_then(|(_, fill)| fill.renew()).expect("stock");
    say(fill.channel(), &json!({ "fill": { "digest": digest, "count": 1 } }));
    assert_eq!(hear(fill.channel()), Some(json!({ "count": 0 })));
    say(work.channel(), &json!("renew"));
    work = work.renew().expect("the same stock");

    let run = |digest: &str, id: &str, theirs: bool| {
        let run = json!({ "digest": digest, "id": id, "theirs": theirs });
        json!({ "run": run })
    };
    for (asked, answer) in [
        (run(&other, "=a", false), json!({ "no": "not_allowed" })),
        // No user of the evaluator has requested this run.
        (run(&digest, "evaluator#1", true), json!({ "no": "no_input" })),
    ] {
        say(work.channel(), &asked);
        assert_eq!(hear(work.channel()), Some(answer), "{asked}");
    }
    drop((work, fill, ask));
    // Each agreement counts, even if a party then breaks off the run. At the limit the evaluator agrees to no
    // further run, over all connections together.
    for round in 0..5 {
        evaluator.until("ready", |got| got.status == 503);
        let Hostile { mut work, fill, ask } = means.accept(&listener);
        say(work.channel(), &run(&digest, "=a", false));
        let answer = if round < 3 { json!("yes") } else { json!({ "no": "spent" }) };
        assert_eq!(hear(work.channel()), Some(answer), "round {round}");
        drop((work, fill, ask));
    }
    assert_eq!(evaluator.runs_ever("richer"), 3);
    // An invalid message ends the lines, and has no other effect.
    for noise in [
        json!({ "run": { "digest": digest } }),
        run("ab", "=a", false),
        run(&digest, &"a".repeat(200), false),
    ] {
        evaluator.until("ready", |got| got.status == 503);
        let Hostile { mut work, fill, ask: line } = means.accept(&listener);
        ask = line;
        say(work.channel(), &noise);
        assert_eq!(hear(work.channel()), None, "{noise}");
        assert_eq!(hear(&mut ask), None, "the lines stand and fall together");
        drop((work, fill));
    }
    assert_eq!(evaluator.get("health").status, 200);
    evaluator.stop();
}

/// If an evaluator announces too many runs, or runs that are not allowed, it is refused, and the garbler's
/// memory does not grow.
#[test]
fn an_evaluator_that_announces_too_much() {
    let program = entry("richer", "millionaires.bwp", "");
    let (pair, garbler) = stocked([&program, &program], "", 1);
    let means = Means::of(&pair, Party::Evaluator);
    let Hostile { work, fill, mut ask } = means.connect(&garbler.listening.clone().expect("it listens"));
    let program = richer_program();
    let digest: String = program.digest().iter().map(|byte| format!("{byte:02x}")).collect();
    let announce = |ask: &mut Channel, digest: &str, id: &str| {
        say(ask, &json!({ "ask": { "digest": digest, "id": id } }));
    };
    announce(&mut ask, &"ab".repeat(32), "=a");
    assert_eq!(hear(&mut ask), Some(json!({ "no": "not_allowed" })));
    (0..400).for_each(|n| announce(&mut ask, &digest, &format!("={n}")));
    let answers: Vec<Value> = (0..400).map(|_| hear(&mut ask).expect("an answer")).collect();
    assert!(answers.iter().all(|answer| *answer == json!("yes") || *answer == json!({ "no": "full" })));
    assert!(answers.contains(&json!({ "no": "full" })), "at most 256 at a time");
    drop((work, fill, ask));
    garbler.stop();
}

/// Closes the connection when a step begins to send its tables. At that time the garbler knows the challenge.
struct Dies;

impl Observer for Dies {
    fn phase(&mut self, _: &'static str) {}

    fn progress(&mut self, done: u64, _: u64) {
        assert_eq!(done, 0, "it dies here");
    }
}

/// Returns the same steps as the service makes for this number of executions.
fn steps_of(program: &brickwork::circuit::Program, count: usize) -> Vec<Request> {
    let one = Request::of(program);
    let none = || Request { components: Vec::new(), garbler_wires: 0, ots: None };
    let parts = one.components.iter().map(|(component, slots)| (component.clone(), count * slots));
    let mut steps: Vec<Request> = parts.map(|part| Request { components: vec![part], ..none() }).collect();
    let ots = Some(count * program.input_width(Party::Evaluator));
    steps.push(Request { garbler_wires: count * one.garbler_wires, ots, ..none() });
    steps
}

/// A garbler breaks off every step to get another challenge, and each challenge counts as an attempt. If few
/// attempts are left, it must wait for the next one, even after a restart of the service. If none is left, it
/// gets no challenge until the user forgives the attempts, which needs no restart.
#[test]
fn a_garbler_that_breaks_off_until_it_likes_the_challenge() {
    let program = entry("richer", "millionaires.bwp", "");
    let mut pair = Pair::new([&program, &program]);
    let means = Means::of(&pair, Party::Garbler);
    let listener = means.listener();
    pair.address = Some(listener.local_addr().expect("an address").to_string());
    let program = richer_program();
    let digest: String = program.digest().iter().map(|byte| format!("{byte:02x}")).collect();
    let all = brickwork::Security::of(40).units();
    // Counts attempts up to this percentage of the limit, while no service has the store open.
    let attempts = |hundredths: u128| {
        let evaluators = Means::of(&pair, Party::Evaluator);
        let account = evaluators.account();
        let more = all / 100 * hundredths - evaluators.store.vain(&account).expect("a sum");
        evaluators.store.attempt(&account, more).expect("an attempt");
    };
    let meet = || {
        let sheet = json!({ "serve": 1, "line": "", "meeting": "" }).to_string();
        let mut lines =
            [0; 3].map(|_| listener.meet(sheet.as_bytes(), None).expect("a line").channel).into_iter();
        let mut next = || lines.next().expect("three lines");
        Hostile { work: means.stocked(next()), fill: means.watched(next(), Dies), ask: next() }
    };
    let ask = |fill: &mut Stocked| {
        say(fill.channel(), &json!({ "fill": { "digest": digest, "count": 6 } }));
        hear(fill.channel()).expect("an answer")
    };
    attempts(40);
    let evaluator = pair.start(1);
    for _ in 0..3 {
        let Hostile { work, mut fill, ask: asks } = meet();
        assert_eq!(ask(&mut fill), json!({ "count": 6 }));
        let filled = std::thread::spawn({
            let steps = steps_of(&program, 6);
            move || fill.preprocess(&steps).map(drop)
        });
        assert!(!matches!(filled.join(), Ok(Ok(()))), "it is broken off");
        drop((work, asks));
        // The garbler counts no attempt, because an evaluator learns nothing by going away.
        assert_eq!(means.store.accounts().unwrap(), []);
    }
    evaluator.stop();
    let (store, key) = (pair.keys.file("evaluator.store"), pair.keys.file("store.key"));
    let place = ["--store", &*store, "--store-key", &*key];
    let vain = || {
        let (_, listed) = good(&[&["stock", "ls"], &place[..]].concat());
        listed["vain"][0]["bound_log2"].as_f64().map(|bound| (bound + 40.0).exp2())
    };
    assert!(vain().is_some_and(|vain| (0.409..0.45).contains(&vain)), "three of some 250: {:?}", vain());

    attempts(75);
    for _ in 0..2 {
        let evaluator = pair.start(1);
        let mut lines = meet();
        assert_eq!(ask(&mut lines.fill), json!({ "count": 0 }), "the next one is minutes away");
        evaluator.stop();
    }

    attempts(100);
    let evaluator = pair.start(1);
    let mut lines = meet();
    assert_eq!(ask(&mut lines.fill), json!({ "no": "vain" }));
    evaluator.until("ready", |got| {
        let reason = &got.json()["reason"];
        got.status == 503 && reason.as_str().is_some_and(|reason| reason.contains("makes no more stock"))
    });
    let file = example("millionaires.bwp");
    let doctor = run(&[&["doctor", &file, "--json"], &place[..]].concat());
    let checks = object(&doctor)["checks"].clone();
    let check = checks.as_array().expect("a list").iter().find(|check| check["name"] == "attempts");
    assert_eq!(check.expect("a check")["ok"], json!(false), "{checks}");
    let forgiven = run(&[&["stock", "forgive"], &place[..], &["--all"]].concat());
    assert_eq!(forgiven.status.code(), Some(0), "{}", text(&forgiven.stderr));
    assert_eq!(vain(), None);
    assert!(!evaluator.get("ready").body.contains("\"attempts\""));
    assert_eq!(ask(&mut lines.fill), json!({ "count": 6 }));
    drop(lines);
    evaluator.stop();
    assert!(pair.audited(1).iter().any(|line| line["event"] == "forgiveness"));
}

/// If the peer fails a check, the service ends with an error. After a restart it does not connect to the peer
/// until its user forgives the peer.
#[test]
fn a_peer_that_cheats_is_not_met_again() {
    let program = entry("richer", "millionaires.bwp", "");
    let mut pair = Pair::new([&program, &program]);
    let means = Means::of(&pair, Party::Garbler);
    let listener = means.listener();
    pair.address = Some(listener.local_addr().expect("an address").to_string());
    let mut evaluator = pair.start(1);
    let mut met = means.accept(&listener);
    met.work.channel().send(Tag(121), b"{}").and_then(|()| met.work.channel().flush()).expect("a line");
    let output = finish(evaluator.child.take().expect("it runs"));
    assert_eq!(output.status.code(), Some(5), "{}", text(&output.stderr));
    let said = object(&output);
    assert!(said["error"]["message"].as_str().is_some_and(|why| why.contains("cheated")), "{said}");

    let evaluator = pair.start(1);
    assert!(
        listener.meet(b"", Some(Instant::now() + Duration::from_secs(2))).is_err(),
        "it does not connect"
    );
    assert_eq!(evaluator.get("ready").json()["reasons"][0]["cause"], "accused");
    let [store, key] = ["evaluator.store", "store.key"].map(|name| pair.keys.file(name));
    let place = ["--store", &store, "--store-key", &key];
    let listed = run(&[&["stock", "ls"], &place[..]].concat());
    assert!(text(&listed.stdout).contains("cheated"), "{}", text(&listed.stdout));
    let forgiven = run(&[&["stock", "forgive"], &place[..], &["--all"]].concat());
    assert_eq!(forgiven.status.code(), Some(0), "{}", text(&forgiven.stderr));
    drop(means.accept(&listener));
    evaluator.stop();
}

/// If the peer fails a check on one line, the run on another line ends.
#[test]
fn a_run_ends_where_the_peer_cheats_elsewhere() {
    let program = entry("richer", "millionaires.bwp", "");
    let (pair, mut garbler) = stocked([&program, &program], "run_seconds = 40", 1);
    let means = Means::of(&pair, Party::Evaluator);
    let Hostile { work, fill, mut ask } = means.connect(&garbler.listening.clone().expect("it listens"));
    garbler.until("ready", |got| got.status == 200);
    std::thread::scope(|scope| {
        let asks = scope.spawn(|| garbler.run(&json!({ "program": "richer", "input": 4 })));
        let mut work = asked(work);
        say(work.channel(), &json!("yes"));
        ask.send(Tag(121), b"{}").and_then(|()| ask.flush()).expect("a line");
        let got = asks.join().unwrap();
        assert_eq!(got.status, 502, "{}", got.body);
        assert!(got.body.contains("the peer cheated on another connection"), "{}", got.body);
        // The peer has sent signs of life the whole time.
        drop((work, fill));
    });
    let output = finish(garbler.child.take().expect("it runs"));
    assert_eq!(output.status.code(), Some(5), "{}", text(&output.stderr));
}

/// Asks a service to stop when the tables of a step begin to pass, and continues a little later.
struct Asks(Option<rustix::process::Pid>);

impl Observer for Asks {
    fn phase(&mut self, _: &'static str) {}

    fn progress(&mut self, done: u64, _: u64) {
        if let Some(service) = self.0.take_if(|_| done > 0) {
            rustix::process::kill_process(service, rustix::process::Signal::TERM).expect("a signal");
            std::thread::sleep(Duration::from_secs(1));
        }
    }
}

/// A service that is asked to stop completes the current step and begins no other. Neither party counts a
/// failed attempt for a step.
#[test]
fn a_service_goes_down_between_two_steps() {
    let program = entry("richer", "millionaires.bwp", "");
    let mut pair = Pair::new([&program, &program]);
    let means = Means::of(&pair, Party::Garbler);
    let listener = means.listener();
    pair.address = Some(listener.local_addr().expect("an address").to_string());
    let mut evaluator = pair.start(1);
    let child = evaluator.child.take().expect("it runs");
    let pid = rustix::process::Pid::from_raw(child.id() as i32).expect("a process");
    let program = richer_program();
    let digest: String = program.digest().iter().map(|byte| format!("{byte:02x}")).collect();
    let sheet = json!({ "serve": 1, "line": "", "meeting": "" }).to_string();
    let mut lines =
        [0; 3].map(|_| listener.meet(sheet.as_bytes(), None).expect("a line").channel).into_iter();
    let mut next = || lines.next().expect("three lines");
    let (work, mut fill, ask) = (means.stocked(next()), means.watched(next(), Asks(Some(pid))), next());
    say(fill.channel(), &json!({ "fill": { "digest": digest, "count": 6 } }));
    assert_eq!(hear(fill.channel()), Some(json!({ "count": 6 })));
    let steps = steps_of(&program, 6);
    assert_eq!(steps.len(), 2);
    let filled = fill.preprocess(&steps).map(drop);
    // The peer is told that no more stock is made.
    assert!(matches!(filled, Err(brickwork::ProtocolError::Stock(_))), "{filled:?}");
    let output = finish(child);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    drop((work, ask));
    assert_eq!(means.store.accounts().unwrap(), []);
    let (store, key) = (pair.keys.file("evaluator.store"), pair.keys.file("store.key"));
    let (_, listed) = good(&["stock", "ls", "--store", &store, "--store-key", &key]);
    // Only the setup counts as a failed attempt, with a very small risk.
    let vain = listed["vain"].as_array().expect("a list");
    let is_small = |vain: &serde_json::Value| vain["bound_log2"].as_f64().is_some_and(|log2| log2 < -64.0);
    assert!(!vain.is_empty() && vain.iter().all(is_small), "{listed}");
}
