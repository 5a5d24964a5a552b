//! If another thread asks a run to stop, the run ends, in whatever phase it is, and gives no result.

use std::sync::atomic::{AtomicBool, Ordering};

use brickwork::circuit::Party;
use brickwork::compile::CompileRequest;
use brickwork::control::Control;
use brickwork::engine::both::{Both, fastest};
use brickwork::engine::run::PartyRun;
use brickwork::options::{PlanOptions, RunOptions, from_json};
use brickwork::{Error, ErrorKind, Program, reading};

fn program() -> Program {
    let text = "#parties 2\n#input 1 uint_t 32\n#input 2 uint_t 32\n#output 1 uint_t 1\n\
                function void main() { output1 = input1 < input2; }\n";
    Program::from_source("p.wir", text).unwrap()
}

/// Runs both parties with these options, this many times at once.
fn run(options: &str, times: usize, control: &Control) -> Result<[PartyRun; 2], Error> {
    let options: RunOptions = from_json(options)?;
    let (program, request) = (program(), options.request()?);
    let values = [3, 4].map(|number| format!("{:?}", vec![number; times]));
    let given = values.each_ref().map(|text| Some(text.as_str()));
    control.run(|| {
        let reading = options.reading()?;
        let inputs = reading::bits_of_both(given, program.given(), options.executions(), &reading)?;
        let (request, _) = fastest(&request, &program, None)?;
        Both::of(&program, &request).run(inputs, control)
    })
}

fn is_stopped(error: &Error) -> bool {
    error.kind() == ErrorKind::Network && error.message().contains("stopped")
}

#[test]
fn a_run_that_is_asked_to_stop_early_does_not_begin() {
    let control = Control::default();
    control.ask_to_stop();
    assert!(run(r#"{"executions": 1}"#, 1, &control).is_err_and(|error| is_stopped(&error)));
    control.ended();
    let ran = run(r#"{"executions": 1}"#, 1, &Control::default()).unwrap();
    assert_eq!(ran.map(|ran| ran.outputs), [vec![true], vec![]]);
}

/// Each computation checks for a stop before it begins, so an early stop prevents the result of loading,
/// compiling, measuring and planning.
#[test]
fn everything_that_computes_looks_for_a_stop() {
    let folder = tempfile::tempdir().unwrap();
    let (source, output) = (folder.path().join("p.wir"), folder.path().join("p.bwp"));
    let text = "#parties 2\n#input 1 uint_t 32\n#input 2 uint_t 32\n#output 1 uint_t 1\n\
                function void main() { output1 = input1 < input2; }\n";
    std::fs::write(&source, text).unwrap();
    let compile =
        CompileRequest { file: source.clone(), output: Some(output.clone()), ..CompileRequest::default() };
    let plan = |options: &str| {
        let request = from_json::<PlanOptions>(options)?.request()?;
        request.plan(&Program::load(&source)?, &mut |_| {}).map(drop)
    };
    type Work<'a> = &'a dyn Fn() -> Result<(), Error>;
    let works: [(&str, Work); 4] = [
        ("load", &|| Program::load(&source).map(drop)),
        ("compile", &|| compile.write(&compile.load()?).map(drop)),
        ("calibrate", &|| plan(r#"{"calibrate": true}"#)),
        ("plan", &|| plan("{}")),
    ];
    for (name, work) in works {
        let control = Control::default();
        control.ask_to_stop();
        assert!(control.run(work).is_err_and(|error| is_stopped(&error)), "{name}");
        control.ended();
        assert!(!output.exists(), "{name}");
    }
    assert!(compile.load().and_then(|program| compile.write(&program)).is_ok() && output.exists());
}

/// The options of a plan that exclude each other, or belong to no plan, are named.
#[test]
fn a_wrong_option_of_a_plan_is_named() {
    for (options, named) in [
        (r#"{"bogus": 1}"#, "bogus"),
        (r#"{"store": "stock"}"#, "store"),
        (r#"{"security": 41}"#, "security"),
        (r#"{"uplink": "fast", "workers": [1], "rows": 9}"#, "uplink"),
        (r#"{"workers": [2]}"#, "rows"),
        (r#"{"spread": 0.5}"#, "workers"),
        (r#"{"workers": [5000], "rows": 9}"#, "--workers"),
        (r#"{"workers": [2], "rows": 9, "executions": 3}"#, "--executions"),
        (r#"{"model": "malicious", "protocol": "lego"}"#, "--protocol"),
        (r#"{"model": "malicious", "workers": [2], "rows": 9}"#, "--workers"),
        (r#"{"cut": "whole", "inline": ["f"]}"#, "--inline f"),
        (r#"{"post_quantum": true}"#, "elliptic curve"),
    ] {
        let request = from_json::<PlanOptions>(options).and_then(PlanOptions::request);
        let refused = request.and_then(|request| request.plan(&program(), &mut |_| {}).map(drop));
        let error = refused.expect_err(options);
        let text = format!("{error}");
        assert!(error.kind() == ErrorKind::Usage && text.contains(named), "{options}: {text}");
    }
}

/// In every protocol, a run ends in the phase in which it is asked to stop.
#[test]
fn a_run_stops_in_the_phase_in_which_it_is_asked_to() {
    // The runs are long enough that the test sees most of their phases.
    let protocols = [
        ("duplo", 2_000),
        ("authenticated", 500),
        ("lego", 50),
        ("jimu", 20),
        ("semi-honest", 5_000),
        ("compgc", 5_000),
    ];
    for (protocol, times) in protocols {
        let options = format!(r#"{{"protocol": "{protocol}", "executions": {times}, "threads": 1}}"#);
        let mut stopped = 0;
        for phase in ["setup", "preprocess", "prepare", "build", "evaluate"] {
            let (control, over) = (Control::default(), AtomicBool::new(false));
            let ran = std::thread::scope(|scope| {
                scope.spawn(|| {
                    while control.progress.now().0 != phase && !over.load(Ordering::Relaxed) {
                        std::thread::yield_now();
                    }
                    control.ask_to_stop();
                });
                let ran = run(&options, times, &control);
                over.store(true, Ordering::Relaxed);
                ran
            });
            control.ended();
            // Some protocols lack a phase, and some phases are too short to be seen.
            if let Err(error) = ran {
                assert!(is_stopped(&error), "{protocol}, {phase}: {error}");
                stopped += 1;
            }
        }
        assert!(stopped > 0, "{protocol}");
    }
}

/// Options with a mistake are refused with the name of the option.
#[test]
fn a_wrong_option_is_named() {
    for (options, named) in [
        (r#"{"safety": 40}"#, "there is no option `safety`"),
        (r#"{"security": 41}"#, "security: "),
        (r#"{"protocol": "dulpo"}"#, "protocol: "),
        (r#"{"protocol": "duplo", "accept": ["lego"]}"#, "exclude each other"),
        (r#"{"cut": "inline"}"#, "cut: "),
        (r#"{"max_ram": "4GigaBytes"}"#, "max_ram: "),
        (r#"{"bandwidth": "fast"}"#, "bandwidth: "),
        (r#"{"threads": 0}"#, "threads: "),
        (r#"{"executions": 0}"#, "executions: "),
        (r#"{"scheme": "privacy-free"}"#, "scheme: "),
        (r#"{"timeout": 0}"#, "timeout: "),
        (r#"{"lanes": 0}"#, "lanes: "),
    ] {
        let refused = from_json::<RunOptions>(options).and_then(|options| options.request()).map(drop);
        let error = refused.expect_err(options);
        assert!(error.kind() == ErrorKind::Usage && error.message().contains(named), "{options}: {error}");
    }
    let party = |options: &str| from_json::<RunOptions>(options)?.task(Party::Garbler, false).map(drop);
    assert!(party("{}").is_err_and(|error| error.message().contains("peer")));
}

/// A report keeps all its parts when a child process sends it as JSON.
#[test]
fn a_report_crosses_as_json() {
    let [garbler, _] = run(r#"{"executions": 1}"#, 1, &Control::default()).unwrap();
    assert!(garbler.report.cpu_seconds.is_some_and(|seconds| seconds > 0.0));
    let json = serde_json::to_string(&garbler.report).unwrap();
    let read: brickwork::Report = serde_json::from_str(&json).unwrap();
    assert!(read.cpu_seconds.is_some() && read.peak_rss_bytes.is_some(), "{json}");
    assert_eq!(serde_json::to_string(&read).unwrap(), json);
}
