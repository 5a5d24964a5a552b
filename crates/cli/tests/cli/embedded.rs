//! The command within another process: what another thread asked to stop ends, whatever it does.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use brickwork_cli::embedded::{self, Answer, Line};
use zeroize::Zeroizing;

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|&word| word.to_owned()).collect()
}

fn is_stopped(answer: Answer, what: &str) {
    let error = answer.map(drop).expect_err(what);
    assert!(error["message"].as_str().is_some_and(|message| message.contains("stopped")), "{what}: {error}");
    assert_eq!(error["code"], 4, "{what}");
}

/// Where the program is that compares two numbers.
fn program(folder: &Path) -> String {
    let path = folder.join("p.wir");
    let text = "#parties 2\n#input 1 uint_t 32\n#input 2 uint_t 32\n#output 1 uint_t 1\n\
                function void main() { output1 = input1 < input2; }\n";
    std::fs::write(&path, text).unwrap();
    path.display().to_string()
}

/// What computes looks before it begins, so who asks first gets no result: of compiling, simulating,
/// measuring the machine, planning, and of a run.
#[test]
fn everything_that_computes_looks() {
    let folder = tempfile::tempdir().unwrap();
    let program = program(folder.path());
    let output = folder.path().join("p.bwp").display().to_string();
    let values = || [Some(Zeroizing::new("3".to_owned())), Some(Zeroizing::new("4".to_owned()))];
    type Call<'a> = &'a dyn Fn(&Line) -> Answer;
    let calls: [(&str, Call); 6] = [
        ("compile", &|line| embedded::call(&words(&["compile", &program, "-o", &output]), line)),
        ("simulate", &|line| embedded::simulate(&words(&["simulate", &program]), values(), line)),
        ("calibrate", &|line| embedded::call(&words(&["plan", "--calibrate", &program]), line)),
        ("plan", &|line| embedded::call(&words(&["plan", &program]), line)),
        ("ports", &|line| embedded::ports(&words(&["info", &program]), line)),
        ("run", &|line| embedded::run_both(&words(&["run", &program]), values(), line)),
    ];
    for (what, call) in calls {
        let line = Line::default();
        line.ask_to_stop();
        is_stopped(call(&line), what);
        line.ended();
        assert!(!Path::new(&output).exists(), "{what}");
    }
    let line = Line::default();
    assert!(embedded::simulate(&words(&["simulate", &program]), values(), &line).is_ok(), "it is fine");
}

/// In every protocol a run ends in the phase in which it is asked to, and gives no result.
#[test]
fn a_run_stops_in_the_phase_in_which_it_is_asked_to() {
    // Long enough that somebody who looks sees most phases.
    let protocols = [
        ("duplo", 2_000),
        ("authenticated", 500),
        ("lego", 50),
        ("jimu", 20),
        ("semi-honest", 5_000),
        ("compgc", 5_000),
    ];
    let folder = tempfile::tempdir().unwrap();
    let program = program(folder.path());
    for (protocol, times) in protocols {
        let value = |number: u32| Some(Zeroizing::new(format!("{:?}", vec![number; times])));
        let mut stopped = 0;
        for phase in ["setup", "preprocess", "prepare", "build", "evaluate"] {
            let (line, over) = (Line::default(), AtomicBool::new(false));
            let answer = std::thread::scope(|scope| {
                scope.spawn(|| {
                    while line.progress.now().0 != phase && !over.load(Ordering::Relaxed) {
                        std::thread::yield_now();
                    }
                    line.ask_to_stop();
                });
                let times = format!("--executions={times}");
                let call = ["run", &program, "--protocol", protocol, &times, "--threads", "1"];
                let answer = embedded::run_both(&words(&call), [value(3), value(4)], &line);
                over.store(true, Ordering::Relaxed);
                answer
            });
            line.ended();
            // Not every protocol has every phase, and some are over before anybody looks.
            if answer.is_err() {
                is_stopped(answer, &format!("{protocol}, {phase}"));
                stopped += 1;
            }
        }
        assert!(stopped > 0, "{protocol}");
    }
}
