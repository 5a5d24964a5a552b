//! Measures whether times depend on secrets: `cargo xtask constant-time [SECONDS]`, where SECONDS is the time
//! for each subject (default 5).
//!
//! Secrets of two classes are timed in random order: a fixed secret and random ones. The results count only
//! if the machine is quiet enough: two functions that leak must be seen to leak, and a function that does not
//! leak must not. Otherwise the program ends with an error.
//!
//! `--quick` is for tests, during which other processes may use the machine. It measures only the loops of
//! the chosen kernel, for a fifth of a second each. A subject that seems to leak is measured again, for
//! longer.
#![forbid(unsafe_code)]

mod authenticated;
mod jimu;
mod lego;
mod subjects;

use std::process::ExitCode;
use std::time::{Duration, Instant};

use brickwork::random::Rng;
use brickwork_kernels::Kernel;
use brickwork_timing::welch::{CERTAIN, Comparison, Times};
use subjects::{Subject, TimedCall};

/// The number of calls that are prepared before they are timed.
const BATCH: usize = 200;

/// The number of first calls, which warm up caches and predictors and are not timed.
const COLD: usize = 50;

fn measure(subject: &mut Subject, time: Duration) -> (usize, Comparison) {
    let mut rng = Rng::new("constant time").expect("the operating system has randomness");
    let (start, mut times, mut count) = (Instant::now(), Times::default(), 0);
    while start.elapsed() < time {
        let calls: Vec<(bool, TimedCall)> = (0..BATCH)
            .map(|_| {
                let class = rng.below(2) == 1;
                (class, (subject.prepare)(class, &mut rng))
            })
            .collect();
        for (k, (class, call)) in calls.into_iter().enumerate() {
            let begin = Instant::now();
            call();
            let taken = begin.elapsed();
            if k >= COLD {
                times.add(class, taken.as_nanos() as f64);
                count += 1;
            }
        }
    }
    (count, times.compare())
}

/// The effort that a measurement takes.
struct Effort {
    time: Duration,
    /// The kernels whose loops are measured.
    kernels: Vec<Kernel>,
    /// If a result is unexpected, the measurement is repeated for this many times as long.
    again: Option<u32>,
}

impl Effort {
    fn of(argument: Option<&str>) -> Option<Effort> {
        if argument == Some("--quick") {
            let time = Duration::from_millis(200);
            return Some(Effort { time, kernels: vec![Kernel::best()], again: Some(10) });
        }
        let seconds = argument.map_or(Ok(5.0), str::parse::<f64>).ok().filter(|&seconds| seconds > 0.0)?;
        let time = Duration::try_from_secs_f64(seconds).ok()?;
        Some(Effort { time, kernels: Kernel::all_available(), again: None })
    }

    /// Measures a subject that should leak, or should not. Returns the times, and whether the subject leaks.
    fn look(&self, subject: &mut Subject, should: bool) -> ((usize, Comparison), bool) {
        let leaks = |result: &(usize, Comparison)| result.1.t.abs() > CERTAIN;
        let mut result = measure(subject, self.time);
        if let (Some(again), true) = (self.again, leaks(&result) != should) {
            result = measure(subject, self.time * again);
        }
        let leaks = leaks(&result);
        (result, leaks)
    }
}

fn report(name: &str, (count, Comparison { t, difference, median }): &(usize, Comparison), verdict: &str) {
    println!("| {name} | {count} | {median:.0} | {difference:+.2} | {t:+.1} | {verdict} |");
}

fn main() -> ExitCode {
    let argument = std::env::args().nth(1);
    let Some(effort) = Effort::of(argument.as_deref()) else {
        eprintln!("usage: constant-time [SECONDS | --quick]");
        return ExitCode::from(2);
    };
    println!("| subject | calls | median, ns | difference, ns | t | |");
    println!("| --- | --- | --- | --- | --- | --- |");
    for mut leaky in [subjects::leaky_comparison(), subjects::leaky_branch()] {
        let (result, seen) = effort.look(&mut leaky, true);
        report(&leaky.name, &result, if seen { "leaks, as it must" } else { "not seen" });
        if !seen {
            eprintln!("the machine is too noisy, or the time too short: a leak was not seen");
            return ExitCode::FAILURE;
        }
    }
    let mut nothing = subjects::nothing();
    let (result, seen) = effort.look(&mut nothing, false);
    report(&nothing.name, &result, if seen { "seen" } else { "nothing, as it must" });
    if seen {
        eprintln!("a difference was seen where there is none");
        return ExitCode::FAILURE;
    }

    let mut all = Vec::new();
    for &kernel in &effort.kernels {
        all.extend([1, 16].into_iter().flat_map(|lanes| subjects::garbling(kernel, lanes)));
    }
    all.extend(subjects::labels());
    all.extend(subjects::protocols());
    all.extend(subjects::keys());
    all.extend(authenticated::subjects());
    all.extend(jimu::subjects());
    all.extend(lego::subjects());
    let mut leaks = 0;
    for subject in &mut all {
        let (result, leak) = effort.look(subject, false);
        leaks += usize::from(leak);
        report(&subject.name, &result, if leak { "LEAKS" } else { "nothing" });
    }
    if leaks > 0 {
        eprintln!("{leaks} of {} subjects take a time that depends on their secrets", all.len());
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}
