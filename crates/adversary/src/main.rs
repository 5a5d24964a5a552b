//! `cargo xtask attacks [--json] [--quick] [--write] [duplo|jimu|lego]`: plays the catalogue, of all
//! protocols or of one, and says how often each attack ended how.
#![forbid(unsafe_code)]

use std::process::ExitCode;

use brickwork_adversary::{Result, catalogue, jimu, lego, play, table};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let known = ["--json", "--quick", "--write", "duplo", "jimu", "lego"];
    if let Some(unknown) = arguments.iter().find(|a| !known.contains(&a.as_str())) {
        eprintln!(
            "attacks: {unknown} is not understood; usage: cargo xtask attacks [--json] [--quick] [--write] \
             [duplo|jimu|lego]"
        );
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
    let any = ["duplo", "jimu", "lego"].iter().any(|protocol| given(protocol));
    let wanted = |protocol: &str| given(protocol) || !any;
    let (mut of_duplo, mut of_jimu, mut of_lego) = (Vec::new(), Vec::new(), Vec::new());
    if wanted("duplo") {
        of_duplo.extend(catalogue().iter().map(|attack| printed(play(attack, runs(attack.trials)))));
    }
    if wanted("jimu") {
        of_jimu.extend(jimu::catalogue().iter().map(|attack| printed(attack.played(runs(attack.trials)))));
    }
    if wanted("lego") {
        of_lego.extend(lego::catalogue().iter().map(|attack| printed(attack.played(runs(attack.trials)))));
    }
    let results = || of_duplo.iter().chain(&of_jimu).chain(&of_lego);
    if given("--json") {
        println!(
            "{}",
            serde_json::to_string_pretty(&results().collect::<Vec<_>>()).expect("results can be written")
        );
    }
    let write = || {
        let of = |protocol: &str| given("--write") && wanted(protocol);
        if of("duplo") {
            table::write(&of_duplo)?;
        }
        if of("jimu") {
            jimu::page().write(&of_jimu)?;
        }
        if of("lego") {
            lego::page().write(&of_lego)?;
        }
        Ok::<_, String>(())
    };
    if let Err(why) = write() {
        eprintln!("attacks: {why}");
        return ExitCode::FAILURE;
    }
    if results().all(|r| r.holds) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Prints how often an attack ended how.
fn tell(result: &Result) {
    let Result { protocol, row, variant, trials, .. } = result;
    println!("{protocol:5} row {row:2} {variant:28} {}", if result.holds { "holds" } else { "FAILS" });
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
