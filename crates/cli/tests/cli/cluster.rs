//! Tests `cluster` and `worker` with real processes: two coordinators, and the workers of both.
//!
//! Rows are those of the table of attacks (docs/concepts/security.md, section 14).

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::time::{Duration, Instant};

use brickwork::Security;
use brickwork::circuit::Party;
use brickwork::duplo::cost::{script_from_stock, script_of_filling};
use brickwork::jobs::ledger::{JobEntry, PartitionState};
use brickwork::jobs::ledger_file::JobLedger;
use brickwork::jobs::terms::JobTerms;
use brickwork::random::Rng;
use brickwork::wire::tls::PublicKey;
use brickwork_testing::Replayable as _;
use serde_json::json;

use super::*;

/// The folders of both parties of a job.
struct Job {
    keys: Keys,
    /// The inputs, by party, partition and row.
    wealth: [Vec<Vec<u64>>; 2],
    /// The host name that the garbler announces for its workers, if it is not their address.
    advertise: &'static str,
    /// For each party, the key file of its stores.
    store_keys: [&'static str; 2],
}

impl Job {
    /// Makes a job with this number of partitions, and of rows in each.
    fn new(partitions: usize, rows: usize) -> Job {
        let keys = Keys::new();
        keys.write("store.key", "01".repeat(32).as_bytes());
        let number =
            |party: u64, k: usize, row: usize| (k as u64 * 131 + row as u64 * 17 + party * 1000) % 2503;
        let wealth = [0, 1].map(|party| {
            let of = |k: usize| (0..rows).map(|row| number(party, k, row)).collect();
            (0..partitions).map(of).collect::<Vec<Vec<u64>>>()
        });
        for (party, parts) in wealth.iter().enumerate() {
            let folder = keys.file(&format!("parts-{party}"));
            std::fs::create_dir(&folder).unwrap();
            for (k, part) in parts.iter().enumerate() {
                std::fs::write(format!("{folder}/{k:03}.json"), json!(part).to_string()).unwrap();
            }
        }
        Job { keys, wealth, advertise: "", store_keys: ["store.key"; 2] }
    }

    /// Writes a party's configuration. Without an `address`, it lets the garbler's coordinator listen.
    fn configure(&self, party: usize, address: Option<&str>, more: &str) -> String {
        let [role, key, peer] = [
            ["garbler", "garbler.key", &self.keys.evaluator],
            ["evaluator", "evaluator.key", &self.keys.garbler],
        ][party];
        let control = match address {
            Some(address) => format!("connect = \"{address}\""),
            None => "listen = \"127.0.0.1:0\"".into(),
        };
        let text = format!(
            "role = \"{role}\"\nidentity = \"{key}\"\npeer = \"{peer}\"\nprogram = \"{}\"\nlanes = \
             2\nretries = 4\nfolder = \"job-{party}\"\nstore_key = \"{}\"\nsource = \
             \"parts-{party}\"\n{more}\n[control]\n{control}\ntimeout = 20\n[workers]\nthreads = 1\ntimeout \
             = 20\n",
            example("millionaires.bwp"),
            self.store_keys[party]
        );
        let text = match (role, self.advertise) {
            ("garbler", host) if !host.is_empty() => text + &format!("advertise = \"{host}\"\n"),
            _ => text,
        };
        self.keys.write(&format!("{role}.toml"), text.as_bytes())
    }

    /// Starts both coordinators.
    fn start(&self, more: [&str; 2], flags: [&[&str]; 2]) -> [Child; 2] {
        let start = |config: &str, flags: &[&str]| {
            let fixed = ["cluster", "--config", config, "--json"];
            Child::spawn(&mut brickwork(&[&fixed[..], flags].concat()))
        };
        let mut garbler = start(&self.configure(0, None, more[0]), flags[0]);
        let mut lines = BufReader::new(garbler.stderr.take().expect("its stderr"));
        let mut line = String::new();
        let address = loop {
            line.clear();
            assert!(lines.read_line(&mut line).unwrap() > 0, "the garbler's coordinator ended");
            if let Some((_, address)) = line.trim_end().rsplit_once(' ')
                && address.starts_with("127.0.0.1:")
            {
                break address.to_owned();
            }
        };
        std::thread::spawn(move || std::io::copy(&mut lines, &mut std::io::stderr()));
        let evaluator = start(&self.configure(1, Some(&address), more[1]), flags[1]);
        [garbler, evaluator]
    }

    fn run(&self, more: [&str; 2], flags: [&[&str]; 2]) -> [Output; 2] {
        self.start(more, flags).map(finish)
    }

    /// Runs both coordinators, which must end within this many seconds.
    fn within(&self, seconds: u64, more: [&str; 2], flags: [&[&str]; 2]) -> [Output; 2] {
        let mut children = self.start(more, flags);
        let end = Instant::now() + Duration::from_secs(seconds);
        while children.iter_mut().any(|child| child.try_wait().unwrap().is_none()) {
            assert!(Instant::now() < end, "the job does not end");
            std::thread::sleep(Duration::from_millis(20));
        }
        children.map(finish)
    }

    fn result(&self, party: usize, partition: usize) -> Option<Value> {
        let path = self.keys.file(&format!("job-{party}/results/part-{partition:05}.json"));
        let text = std::fs::read_to_string(path).ok()?;
        Some(serde_json::from_str(&text).expect("whole JSON"))
    }

    /// Checks the results of partitions.
    fn check(&self, done: impl IntoIterator<Item = usize>) {
        for k in done {
            let rows = self.wealth[0][k].iter().zip(&self.wealth[1][k]);
            let richer = |(x, y): (&u64, &u64)| json!({ "alice": u8::from(x > y), "bob": u8::from(x < y) });
            let expected: Vec<Value> = rows.map(richer).collect();
            for party in 0..2 {
                assert_eq!(self.result(party, k), Some(json!(expected)), "partition {k} at {party}");
            }
        }
    }

    /// Opens a party's ledger, which no coordinator may have open.
    fn book(&self, party: usize) -> JobLedger {
        let program =
            brickwork::circuit::Program::from_bytes(&std::fs::read(example("millionaires.bwp")).unwrap());
        let identities = [&self.keys.garbler, &self.keys.evaluator]
            .map(|key| key.parse::<PublicKey>().unwrap().to_bytes());
        let terms = JobTerms {
            security: 40,
            lanes: 2,
            retries: 4,
            program: program.unwrap().digest(),
            rows: self.wealth[0].iter().map(|part| part.len() as u32).collect(),
            identities,
        };
        let folder = self.keys.file(&format!("job-{party}/ledger"));
        let party = [Party::Garbler, Party::Evaluator][party];
        JobLedger::open(Path::new(&folder), party, &terms).unwrap().expect("a ledger")
    }

    /// Checks that no store was damaged.
    fn stores_are_sound(&self) {
        for party in 0..2 {
            for lane in 0..2 {
                let store = self.keys.file(&format!("job-{party}/lane-{lane}"));
                if Path::new(&store).exists() {
                    good(&["stock", "verify", &store, "--store-key", &self.keys.file("store.key")]);
                }
            }
        }
    }
}

/// Returns the processes of a coordinator's workers.
#[cfg(target_os = "linux")]
fn workers(coordinator: u32) -> Vec<u32> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let Some(id) = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else { continue };
        let read = |name: &str| std::fs::read_to_string(entry.path().join(name)).unwrap_or_default();
        let parent =
            read("stat").rsplit_once(')').and_then(|(_, rest)| rest.split_whitespace().nth(1)?.parse().ok());
        let is_worker = read("cmdline").split('\0').any(|word| word == "worker");
        if parent == Some(coordinator) && is_worker {
            found.push(id);
        }
    }
    found
}

fn object_of(output: &Output) -> Value {
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let printed = object(output);
    schema::holds_for("cluster", &printed);
    printed
}

#[test]
fn a_job_runs_partition_by_partition() {
    let job = Job::new(5, 3);
    let [garbler, evaluator] = job.run([""; 2], [&[]; 2]).map(|output| object_of(&output));
    for (role, printed) in [("garbler", &garbler), ("evaluator", &evaluator)] {
        assert_eq!((&printed["role"], &printed["partitions"]["done"]), (&json!(role), &json!(5)));
        assert_eq!(printed["security"]["spent"], 2);
        // Two stocks of a promise with six shares were made.
        assert!((printed["security"]["bound_log2"].as_f64().unwrap() + 40.0 + 3f64.log2()).abs() < 1e-6);
    }
    assert_eq!(garbler["job"], evaluator["job"]);
    job.check(0..5);
    job.stores_are_sound();
    // If the job is started again, nothing is left to do.
    let [again, _] = job.run([""; 2], [&[]; 2]).map(|output| object_of(&output));
    assert_eq!((&again["job"], &again["security"]["spent"]), (&garbler["job"], &json!(2)));
}

/// Making stock without running succeeds at either party, and the result gives the number of partitions in
/// stock. If only one party wants to run, it gets the reason why nothing ran. If results are deleted
/// afterwards, their party reports an error.
#[test]
fn a_job_says_what_it_came_to() {
    let job = Job::new(3, 2);
    let fills: &[&str] = &["--only-fill"];
    for round in 0..2 {
        let [garbler, evaluator] = job.run([""; 2], [fills, if round == 0 { fills } else { &[] }]);
        let partitions = &object_of(&garbler)["partitions"];
        assert_eq!((&partitions["open"], &partitions["stocked"]), (&json!(3), &json!(3)));
        match round {
            0 => assert_eq!(&object_of(&evaluator)["partitions"], partitions),
            _ => is_error(&evaluator, 1, "nothing was run"),
        }
    }
    let [_, _] = job.run([""; 2], [&[]; 2]).map(|output| object_of(&output));
    job.check(0..3);
    std::fs::remove_file(job.keys.file("job-1/results/part-00002.json")).unwrap();
    let [garbler, evaluator] = job.run([""; 2], [&[]; 2]);
    object_of(&garbler);
    is_error(&evaluator, 1, "are not in");
    assert_eq!(object(&evaluator)["error"]["stands"]["partitions"]["missing"], json!([2]));
}

#[test]
fn jobs_that_differ_are_refused() {
    let job = Job::new(2, 3);
    let outputs = job.run(["retries = 5".replace("retries = 5", "").as_str(), "security = 64"], [&[]; 2]);
    let codes = outputs.each_ref().map(|output| output.status.code().unwrap());
    assert!(codes.contains(&7) && codes.iter().all(|code| [4, 7].contains(code)), "{codes:?}");
    assert!(job.result(0, 0).is_none() && job.result(1, 0).is_none());
    let no_rows = job.keys.write("none.toml", b"role = \"garbler\"");
    bad(&["cluster", "--config", &no_rows], 3, "none.toml");
}

/// Row 16 of the table of attacks: a worker refuses an address that is not a configured host.
#[test]
fn row_16_workers_are_sent_to_no_other_host() {
    let job = Job { advertise: "127.0.0.2", ..Job::new(2, 3) };
    let [garbler, evaluator] = job.run([""; 2], [&[]; 2]);
    let said = format!("{}{}", text(&evaluator.stdout), text(&evaluator.stderr));
    assert_eq!(evaluator.status.code(), Some(7), "{said}");
    assert!(said.contains("is not in peer_hosts"), "{said}");
    assert!(matches!(garbler.status.code(), Some(4 | 7)), "{}", text(&garbler.stderr));
    assert!(job.result(0, 0).is_none() && job.result(1, 0).is_none());
}

/// Workers of either party are killed while they make stock and run. The results that are not in doubt are
/// right, nothing ran twice, and partitions in doubt run again if both parties request it.
#[cfg(target_os = "linux")]
#[test]
fn workers_may_die() {
    let job = Job::new(8, 40);
    let mut children = job.start([""; 2], [&[]; 2]);
    let begun = Instant::now();
    let mut killed = BTreeSet::new();
    // Workers of both parties are killed, at different times.
    for (party, wait) in [(0, 150), (1, 400), (0, 700)] {
        while begun.elapsed() < Duration::from_millis(wait) {
            std::thread::sleep(Duration::from_millis(5));
        }
        if let Some(process) = workers(children[party].id()).into_iter().find(|id| !killed.contains(id)) {
            killed.insert(process);
            let _ = Command::new("kill").args(["-KILL", &process.to_string()]).status();
        }
    }
    assert!(!killed.is_empty(), "there was no worker to kill");
    let outputs = children.each_mut().map(|child| {
        let status = child.wait().unwrap();
        let mut printed = String::new();
        child.stdout.take().unwrap().read_to_string(&mut printed).unwrap();
        (status.code().unwrap(), printed)
    });
    let printed: Value = serde_json::from_str(&outputs[0].1).expect("JSON");
    let fields = if outputs[0].0 == 0 { &printed } else { &printed["error"]["stands"] };
    let in_doubt: Vec<usize> = fields["partitions"]["in_doubt"]
        .as_array()
        .unwrap()
        .iter()
        .map(|k| k.as_u64().unwrap() as usize)
        .collect();
    assert_eq!(outputs[0].0, outputs[1].0, "{outputs:?}");
    assert_eq!(fields["partitions"]["done"].as_u64().unwrap() as usize, 8 - in_doubt.len());
    job.check((0..8).filter(|k| !in_doubt.contains(k)));
    job.stores_are_sound();
    if !in_doubt.is_empty() {
        let numbers = in_doubt.iter().map(usize::to_string).collect::<Vec<_>>().join(",");
        let rerun: &[&str] = &["--rerun", &numbers];
        // If only one party requests the partition, it does not run again.
        let alone = job.run([""; 2], [rerun, &[]]);
        assert!(alone.iter().all(|output| output.status.code() == Some(1)), "{alone:?}");
        let [both, _] = job.run([""; 2], [rerun; 2]).map(|output| object_of(&output));
        assert_eq!(both["partitions"]["done"], 8);
        job.check(0..8);
    }
}

/// Row 20 of the table of attacks: the coordinators were killed after they had written `Lost`. Their ledgers
/// are equal, with a partition whose lane is lost. Each coordinator must look into its stock although no
/// entry is proposed, or the job would wait for ever.
#[test]
fn row_20_a_job_goes_on_whose_ledgers_are_equal() {
    let job = Job::new(1, 3);
    let fills: &[&str] = &["--only-fill"];
    let [_, _] = job.run([""; 2], [fills; 2]).map(|output| object_of(&output));
    for party in 0..2 {
        let mut book = job.book(party);
        // In both ledgers, lane 0 is lost while it has the partition, although the lane's stock is unused.
        book.append(&[JobEntry::Claim { partition: 0, lane: 0 }, JobEntry::Lost { lane: 0 }]).unwrap();
    }
    let [garbler, _] = job.within(60, [""; 2], [&[]; 2]).map(|output| object_of(&output));
    assert_eq!(garbler["partitions"]["done"], 1);
    assert!(job.book(0).entries().contains(&JobEntry::Free { partition: 0 }));
    job.check([0]);
}

/// Rows 16 and 20 of the table of attacks: coordinators are killed at any time and started again. The job
/// ends in bounded time, each partition is done or in doubt, and the results are right.
#[test]
fn rows_16_and_20_coordinators_may_die() {
    let rng = &mut Rng::replayable("test kills");
    let job = Job::new(12, 60);
    let fills: &[&str] = &["--only-fill"];
    let [_, _] = job.run([""; 2], [fills; 2]).map(|output| object_of(&output));
    for round in 0..5 {
        let mut children = job.start([""; 2], [&[]; 2]);
        std::thread::sleep(Duration::from_millis(50 + rng.below(400)));
        // In turn one coordinator is killed, then the other one, then both.
        let killed = [0..1, 1..2, 0..2][round % 3].clone();
        children[killed].iter_mut().for_each(|child| drop(child.kill()));
        let _ = children.map(finish);
    }
    let outputs = job.within(60, [""; 2], [&[]; 2]);
    let codes = outputs.each_ref().map(|output| output.status.code());
    let state = job.book(0).state().clone();
    let tally = state.tally();
    println!("{tally:?}, {} of {} stocks", state.spent(), state.shares());
    assert_eq!(&state, job.book(1).state());
    assert!(tally.claimed == 0 && (tally.open == 0 || state.spent() == state.shares()), "{tally:?}");
    assert_eq!(codes, [Some(i32::from(tally.done < 12)); 2]);
    let done = (0..).zip(state.partitions()).filter(|(_, stands)| **stands == PartitionState::Done);
    job.check(done.map(|(partition, _)| partition));
    job.stores_are_sound();
}

/// A worker that gets its task from the test. Its terms, attempt and rows are those of this job unless the
/// test changes them.
struct Told<'j> {
    job: &'j Job,
    name: String,
    terms: String,
    attempt: u32,
    rows: [u32; 3],
}

impl Told<'_> {
    /// Returns the worker's first message, and its exit code.
    fn says(&self, task: &str) -> (Value, Option<i32>) {
        let keys = &self.job.keys;
        let program = std::fs::read(example("millionaires.bwp")).unwrap();
        let request = json!({
            "role": "garbler", "identity": keys.file("garbler.key"), "peer": keys.evaluator, "lanes": 2,
            "retries": 4, "rows": self.rows, "folder": keys.file("job-0"),
            "store_key": keys.file("store.key"), "control": {},
        });
        let Told { name, terms, attempt, .. } = self;
        let worker =
            json!({ "request": request, "job": name, "terms": terms, "lane": 0, "attempt": attempt });
        let start = json!({ "worker": worker, "program_bytes": program.len() });
        self.hears(&[format!("{start}\n").as_bytes(), &program, task.as_bytes(), b"\n"].concat())
    }

    /// Returns the first message and the exit code of a worker with this stdin.
    fn hears(&self, stdin: &[u8]) -> (Value, Option<i32>) {
        let mut child = Child::spawn(brickwork(&["worker"]).stdin(Stdio::piped()));
        // A worker that refuses its request does not read its tasks.
        let _ = std::io::Write::write_all(&mut child.stdin.take().unwrap(), stdin);
        let output = finish(child);
        let first = text(&output.stdout).lines().next().map(|line| serde_json::from_str(line).expect("JSON"));
        (first.unwrap_or(Value::Null), output.status.code())
    }

    fn finds(&self, partition: u32, taken: bool) {
        let found = json!({ "found": { "partition": partition, "taken": taken } });
        assert_eq!(self.says(&json!({ "look": { "partition": partition } }).to_string()).0, found);
    }
}

/// Row 16 of the table of attacks: a worker without a peer reads the log. It reports unused stock only if the
/// lane's last attempt was the last user of the store. An invalid task, or a task of another job, ends the
/// worker.
#[test]
fn row_16_a_worker_says_what_a_stock_was_taken_for() {
    let job = Job::new(3, 2);
    let fills: &[&str] = &["--only-fill"];
    let filled = job.run([""; 2], [fills; 2]);
    let name = serde_json::from_slice::<Value>(&filled[0].stdout).unwrap()["job"].clone();
    let ledger = std::fs::read(job.keys.file("job-0/ledger/ledger")).unwrap();
    let terms: String = ledger[41..73].iter().map(|byte| format!("{byte:02x}")).collect();
    let name = name.as_str().unwrap().to_owned();
    let told = || Told { job: &job, name: name.clone(), terms: terms.clone(), attempt: 0, rows: [2; 3] };
    told().finds(0, false);
    Told { attempt: 1, ..told() }.finds(0, true);
    Told { name: "0".repeat(64), ..told() }.finds(0, true);
    for task in ["{\"dance\": {}}", r#"{"fill": {"partitions": 1}}"#] {
        assert_eq!(told().says(task).1, Some(2));
    }
    let look = r#"{"look": {"partition": 0}}"#;
    for start in ["", "{}", "{\"program_bytes\": 1, \"worker\": {\"dance\": 1}}"] {
        assert_eq!(told().hears(start.as_bytes()), (Value::Null, Some(2)), "{start}");
    }
    for other in [Told { rows: [2, 2, 1], ..told() }, Told { terms: "0".repeat(64), ..told() }] {
        assert_eq!(other.says(look), (Value::Null, Some(3)));
    }
    let [_, _] = job.run([""; 2], [&[]; 2]).map(|output| object_of(&output));
    job.check(0..3);
    let ran = (0..3).map(|partition| json!({ "look": { "partition": partition } }).to_string());
    assert!({ ran }.any(|look| Told { attempt: 1, ..told() }.says(&look).0["found"]["taken"] == true));
    // A missing store shows nothing, and looking does not create it.
    let store = job.keys.file("job-0/lane-0");
    std::fs::remove_dir_all(&store).unwrap();
    Told { attempt: 1, ..told() }.finds(0, true);
    assert!(!Path::new(&store).exists());
}

/// Row 16 of the table of attacks: a new job needs a folder without results or stores of another job.
#[test]
fn row_16_a_job_begins_where_nothing_lies() {
    let job = Job::new(2, 2);
    let folder = job.keys.file("job-1/results");
    std::fs::create_dir_all(&folder).unwrap();
    let old = job.keys.write("job-1/results/part-00001.json", b"[]");
    let [garbler, evaluator] = job.run([""; 2], [&[]; 2]);
    let said = format!("{}{}", text(&evaluator.stdout), text(&evaluator.stderr));
    assert!(evaluator.status.code() == Some(2) && said.contains("a result of partition 1"), "{said}");
    assert_ne!(garbler.status.code(), Some(0));
    std::fs::remove_file(old).unwrap();
    let [_, _] = job.run([""; 2], [&[]; 2]).map(|output| object_of(&output));
    std::fs::remove_dir_all(job.keys.file("job-1/ledger")).unwrap();
    let [_, evaluator] = job.run([""; 2], [&[]; 2]);
    let said = format!("{}{}", text(&evaluator.stdout), text(&evaluator.stderr));
    assert!(evaluator.status.code() == Some(6) && said.contains("whose ledger is missing"), "{said}");
}

/// If workers end before they begin, the job ends when its retries are used up, and the coordinator reports
/// why.
#[test]
fn why_workers_end_is_said() {
    let job = Job { store_keys: ["store.key", "none.key"], ..Job::new(2, 2) };
    let outputs = job.run([""; 2], [&[]; 2]);
    for output in &outputs {
        let said = format!("{}{}", text(&output.stdout), text(&output.stderr));
        assert!(output.status.code() == Some(1) && said.contains("has used all the stocks"), "{said}");
    }
    let said = text(&outputs[1].stderr);
    assert!(said.contains("lane 0, attempt 0, ends: ") && said.contains("none.key"), "{said}");
}

/// The bytes and the bound of a plan are those of the lanes, and flags that do not fit are refused.
#[test]
fn jobs_are_planned() {
    let file = example("millionaires.bwp");
    let json = |arguments: &[&str]| {
        let output = run(&[arguments, &["--json"]].concat());
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        object(&output)
    };
    let program = brickwork::Program::load(&file).unwrap();
    for lanes in [1u32, 3] {
        let (workers, rows) = (lanes.to_string(), (lanes * 2 * 3).to_string());
        let asked = ["plan", &file, "--workers", &workers, "--rows", &rows, "--partition-rows", "3"];
        let planned = &json(&asked)["jobs"][0];
        // Each lane fills its share of the stock once, and runs two partitions.
        let shares = lanes + lanes.div_ceil(4);
        let share = Security::shared(40, shares).unwrap();
        let fill = script_of_filling(program.given(), 2 * 3, share).unwrap();
        let run = script_from_stock(&program.given().repeat(3).unwrap(), None, share).unwrap();
        let [fill, run] = [fill, run].map(|script| script.sent_bytes(1).iter().sum::<u64>());
        assert_eq!(planned["bytes"], json!(u64::from(lanes) * (fill + 2 * run)), "{lanes} lanes");
        let bound = (f64::from(lanes) / f64::from(shares)).log2() - 40.0;
        assert_eq!(planned["bound_log2"].as_f64(), Some(bound));
    }
    for (more, why) in [
        (&["--workers", "2"][..], "--rows"),
        (&["--workers", "2", "--rows", "9", "--protocol", "lego"], "does not go with --workers"),
        (&["--workers", "2", "--rows", "99999999999", "--partition-rows", "1"], "partitions"),
        (&["--workers", "2", "--rows", "9", "--spread=-1"], "from 0"),
    ] {
        let output = run(&[&["plan", &file], more].concat());
        assert_eq!(output.status.code(), Some(2), "{more:?}: {}", text(&output.stderr));
        assert!(text(&output.stderr).contains(why), "{more:?}: {}", text(&output.stderr));
    }
}
