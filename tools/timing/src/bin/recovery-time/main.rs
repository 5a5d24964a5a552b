//! Measures whether a garbler can tell from the time that the evaluator has recovered its input: `cargo xtask
//! recovery-time [duplo|lego] [RUNS]`.
//!
//! Honest sessions and sessions with valid labels of both bits take turns in random order. The garbler can
//! measure the time from its last message to the evaluator's last message. Two tests compare the times of the
//! two kinds of session, Welch's and a rank test. The garbler knows the challenge in advance, so the
//! evaluator never detects the cheat.
#![forbid(unsafe_code)]

mod duplo;
mod lego;
mod session;

use std::process::ExitCode;
use std::sync::Arc;

use brickwork::circuit::library;
use brickwork::random::Rng;
use brickwork_timing::welch::{CERTAIN, Comparison, Times};
use session::TimedSessions;

/// The number of first runs, which warm up caches and are not timed.
const COLD: usize = 10;

/// Plays this many sessions of each kind. Returns true unless the times certainly differ.
fn compare(TimedSessions { about, cheats, play }: &TimedSessions, runs: usize, rng: &mut Rng) -> bool {
    let mut times: Vec<Times> = cheats.iter().map(|_| Times::default()).collect();
    let all = runs * (1 + cheats.len()) / 2;
    for run in 0..COLD + all {
        let cheat = (rng.below(1 + cheats.len() as u64) as usize).checked_sub(1);
        let (taken, recovered) = play(cheat, rng);
        assert_eq!(cheat.is_some(), recovered, "the cheat is seen, and nothing else is");
        if run < COLD {
            continue;
        }
        let of = times.iter_mut().enumerate().filter(|(k, _)| cheat.is_none_or(|cheat| cheat == *k));
        of.for_each(|(_, times)| times.add(cheat.is_some(), taken));
    }
    println!("{all} sessions of {about}; from the garbler's last message to the evaluator's:");
    let mut alike = true;
    for (cheat, times) in cheats.iter().zip(&times) {
        let Comparison { t, difference, median } = times.compare();
        println!(
            "  {cheat}: median {:.1} us without recovery, {:.1} us with it",
            times.median(false) / 1e3,
            times.median(true) / 1e3
        );
        println!(
            "  Welch's t {t:+.1} at a difference of {:+.1} us of {:.1} us; ranks {:+.1} standard deviations",
            difference / 1e3,
            median / 1e3,
            times.rank_test()
        );
        if t.abs() > CERTAIN {
            eprintln!("the times differ for certain");
            alike = false;
        }
    }
    alike
}

fn main() -> ExitCode {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    let protocol = match arguments.first().map(String::as_str) {
        Some("duplo" | "lego") => Some(arguments.remove(0)),
        _ => None,
    };
    let runs = match &arguments[..] {
        [] => Some(1000),
        [runs] => runs.parse::<usize>().ok().filter(|&runs| runs >= 20),
        _ => None,
    };
    let Some(runs) = runs else {
        eprintln!("usage: recovery-time [duplo|lego] [RUNS], at least 20");
        return ExitCode::from(2);
    };
    let mut rng = Rng::new("recovery time").expect("the operating system has randomness");
    let program = Arc::new(library::aes::aes_128().expect("the circuit"));
    let wanted = |name: &str| protocol.as_deref().is_none_or(|wanted| wanted == name);
    let sessions = [("duplo", duplo::session(&program)), ("lego", lego::session(&program))];
    let sessions = sessions.iter().filter(|(name, _)| wanted(name));
    let alike = sessions.fold(true, |alike, (_, session)| compare(session, runs, &mut rng) && alike);
    if alike { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
