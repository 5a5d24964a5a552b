//! `cargo xtask attacks [--json] [--quick] [--write] [PROTOCOL]` plays the catalogue, of all protocols or of
//! one, and prints the frequency of each ending.
#![forbid(unsafe_code)]

use std::process::ExitCode;

use brickwork_adversary::{Result, pages, play};

fn main() -> ExitCode {
    let pages = pages();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let is_known = |a: &String| ["--json", "--quick", "--write"].contains(&a.as_str());
    let is_protocol = |a: &String| pages.iter().any(|page| page.protocol == a);
    if let Some(unknown) = arguments.iter().find(|a| !is_known(a) && !is_protocol(a)) {
        let protocols: Vec<&str> = pages.iter().map(|page| page.protocol).collect();
        let usage = format!("cargo xtask attacks [--json] [--quick] [--write] [{}]", protocols.join("|"));
        eprintln!("attacks: {unknown} is not understood; usage: {usage}");
        return ExitCode::from(2);
    }
    let given = |name: &str| arguments.iter().any(|a| a == name);
    let runs = |trials: usize| if given("--quick") { trials.min(60) } else { trials };
    let printed = |result: Result| {
        if !given("--json") {
            tell(&result);
        }
        result
    };
    let (mut all, mut failed) = (Vec::new(), false);
    for page in pages.iter().filter(|page| given(page.protocol) || !arguments.iter().any(is_protocol)) {
        let results = page.attacks.iter().map(|attack| printed(play(attack, runs(attack.trials))));
        let results: Vec<Result> = results.collect();
        if given("--write")
            && let Err(why) = page.write(&results)
        {
            eprintln!("attacks: {why}");
            failed = true;
        }
        all.extend(results);
    }
    if given("--json") {
        println!("{}", serde_json::to_string_pretty(&all).expect("results can be written"));
    }
    if !failed && all.iter().all(|r| r.holds) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Prints the frequencies of an attack's endings.
fn tell(result: &Result) {
    let Result { protocol, row, variant, trials, .. } = result;
    println!("{protocol:13} row {row:2} {variant:28} {}", if result.holds { "holds" } else { "FAILS" });
    for count in &result.endings {
        let (observed, predicted) = (count.observed_rate, count.predicted_rate);
        println!(
            "       {:18} {:6} of {trials}: {observed:.4}, predicted {predicted:.4}",
            count.ending, count.observed
        );
    }
    if let Some(fault) = &result.fault {
        println!("       {fault}");
    }
}
