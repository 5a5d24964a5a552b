//! `cargo xtask attacks [--json] [--quick] [--write]`: plays the whole catalogue and says how often each
//! attack ended how.
#![forbid(unsafe_code)]

use std::process::ExitCode;

use brickwork_adversary::{catalogue, play, table};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let Some(unknown) = arguments.iter().find(|a| !["--json", "--quick", "--write"].contains(&a.as_str()))
    {
        eprintln!(
            "attacks: {unknown} is not understood; usage: cargo xtask attacks [--json] [--quick] [--write]"
        );
        return ExitCode::from(2);
    }
    let given = |name: &str| arguments.iter().any(|a| a == name);
    let mut results = Vec::new();
    for attack in catalogue() {
        let trials = if given("--quick") { attack.trials.min(60) } else { attack.trials };
        let result = play(&attack, trials);
        if !given("--json") {
            println!(
                "row {:2} {:28} {}",
                result.row,
                result.variant,
                if result.holds { "holds" } else { "FAILS" }
            );
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
        results.push(result);
    }
    if given("--json") {
        println!("{}", serde_json::to_string_pretty(&results).expect("results can be written"));
    }
    if given("--write")
        && let Err(why) = table::write(&results)
    {
        eprintln!("attacks: {why}");
        return ExitCode::FAILURE;
    }
    if results.iter().all(|r| r.holds) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
