//! `cargo xtask attacks [--json] [--quick] [--write] [PROTOCOL]` plays the catalogue, of all protocols or of
//! one, and prints the frequency of each ending.
#![forbid(unsafe_code)]

use std::process::ExitCode;

use brickwork_adversary::family::ProtocolPage;
use brickwork_adversary::{Result, authenticated, catalogue, jimu, lego, play, table};

/// The protocols that have a catalogue.
const PROTOCOLS: [&str; 4] = ["duplo", "authenticated", "jimu", "lego"];

fn page(protocol: &str) -> Option<ProtocolPage> {
    match protocol {
        "authenticated" => Some(authenticated::page()),
        "jimu" => Some(jimu::page()),
        "lego" => Some(lego::page()),
        _ => None,
    }
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let is_known = |a: &String| ["--json", "--quick", "--write"].contains(&a.as_str());
    let is_protocol = |a: &String| PROTOCOLS.contains(&a.as_str());
    if let Some(unknown) = arguments.iter().find(|a| !is_known(a) && !is_protocol(a)) {
        let usage = format!("cargo xtask attacks [--json] [--quick] [--write] [{}]", PROTOCOLS.join("|"));
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
    for protocol in PROTOCOLS.into_iter().filter(|name| given(name) || !arguments.iter().any(is_protocol)) {
        let page = page(protocol);
        let results: Vec<Result> = match &page {
            Some(page) => page.attacks.iter().map(|a| printed(a.played(runs(a.trials)))).collect(),
            None => catalogue().iter().map(|a| printed(play(a, runs(a.trials)))).collect(),
        };
        if given("--write") {
            let written = page.map_or_else(|| table::write(&results), |page| page.write(&results));
            if let Err(why) = written {
                eprintln!("attacks: {why}");
                failed = true;
            }
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
