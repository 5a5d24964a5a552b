//! `brickwork-demo-cheat [ATTACK] [--runs N] [--json]` plays attacks of the project's catalogue against the
//! real state machines.
//!
//! It is a separate program, which `brickwork demo-cheat` starts, so that the command that computes on
//! secrets contains no hook for a cheater. Its runs mostly have parameters that are far too small to be
//! secure.
#![forbid(unsafe_code)]

use std::io::Write;
use std::process::ExitCode;

use brickwork::circuit::Party;
use brickwork_adversary::duplo::catalogue;
use brickwork_adversary::{Attack, name, play, who};
use brickwork_harness::Ending;
use serde_json::{Value, json};

const USAGE: &str = "brickwork-demo-cheat [ATTACK] [--runs N] [--json]";

/// The largest number of runs of an attack.
const MAX_RUNS: usize = 1_000_000;

/// The request of the command line.
#[derive(Debug, PartialEq, Eq)]
struct PlayFlags {
    /// The attack's name; without a name, the program lists the attacks.
    attack: Option<String>,
    /// The number of runs.
    runs: usize,
}

impl Default for PlayFlags {
    fn default() -> Self {
        PlayFlags { attack: None, runs: 100 }
    }
}

/// An error: the exit code, which the command also uses, a message and a hint.
type Failure = (u8, String, String);

/// A result: as JSON, and as text for people.
type Report = (Value, String);

fn main() -> ExitCode {
    let (flags, words): (Vec<_>, Vec<_>) = std::env::args().skip(1).partition(|word| word == "--json");
    let json = !flags.is_empty();
    let (code, text) = match arguments(&words).and_then(|arguments| answer(&arguments)) {
        Ok((value, _)) if json => (0, format!("{value}\n")),
        Ok((_, text)) => (0, text),
        Err((code, message, hint)) if json => {
            (code, format!("{}\n", json!({ "error": { "code": code, "message": message, "hint": hint } })))
        }
        Err((code, message, hint)) => {
            // If stderr fails, too, there is no way to report the error.
            let _ = write!(std::io::stderr(), "error: {message}\nhint: {hint}\n");
            (code, String::new())
        }
    };
    let mut stdout = std::io::stdout();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Ok(()) => ExitCode::from(code),
        Err(_) => ExitCode::FAILURE,
    }
}

fn usage(message: String) -> Failure {
    (2, message, format!("usage: {USAGE}"))
}

fn arguments(words: &[String]) -> Result<PlayFlags, Failure> {
    let mut arguments = PlayFlags::default();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let runs = match word.strip_prefix("--runs") {
            Some("") => words.next().map(String::as_str),
            Some(rest) => rest.strip_prefix('='),
            None if word.starts_with('-') || arguments.attack.is_some() => {
                return Err(usage(format!("{word} is not understood")));
            }
            None => {
                arguments.attack = Some(word.clone());
                continue;
            }
        };
        arguments.runs = runs
            .and_then(|runs| runs.parse().ok())
            .filter(|runs| (1..=MAX_RUNS).contains(runs))
            .ok_or_else(|| usage(format!("--runs takes a number from 1 to {MAX_RUNS}")))?;
    }
    Ok(arguments)
}

fn answer(arguments: &PlayFlags) -> Result<Report, Failure> {
    let attacks = catalogue();
    match &arguments.attack {
        None => Ok(list(&attacks)),
        Some(id) => match attacks.iter().find(|attack| attack.id() == *id) {
            Some(attack) => watch(attack, arguments.runs),
            None => {
                let message = format!("there is no attack called {id}");
                Err((2, message, "`brickwork demo-cheat` lists them".into()))
            }
        },
    }
}

fn list(attacks: &[Attack]) -> Report {
    let human = attacks.iter().map(|a| format!("{}\n    {}\n", a.id(), a.story)).collect::<String>();
    let one =
        |a: &Attack| json!({ "attack": a.id(), "row": a.row, "cheater": who(a.cheater), "story": a.story });
    (json!({ "attacks": attacks.iter().map(one).collect::<Vec<_>>() }), human)
}

/// Describes an ending in a sentence.
fn meaning(attack: &Attack, ending: &Ending) -> String {
    let honest = match attack.cheater {
        Some(Party::Garbler) => "evaluator",
        Some(Party::Evaluator) => "garbler",
        None => "party",
    };
    match ending {
        Ending::Caught(cheat) => format!("the {honest} stops: {cheat}"),
        Ending::Refused => format!("the {honest} refuses to begin"),
        Ending::Stopped => format!("the {honest}'s store refuses, and nothing of it is used"),
        Ending::Gone => format!("the {honest} finds the connection closed"),
        Ending::Survived => format!("the {honest} has the right output, and the cheat changed nothing"),
        Ending::Recovered => format!("the {honest} has the right output, and the cheater's input"),
        Ending::Fooled => format!("the {honest} has a wrong output: the cheater won"),
    }
}

fn watch(attack: &Attack, runs: usize) -> Result<Report, Failure> {
    let result = play(attack, runs);
    let times = if runs == 1 { "1 time".to_owned() } else { format!("{runs} times") };
    let mut human = format!("{}\n\nPlayed {times}:\n", attack.story);
    let mut endings = Vec::new();
    for ((ending, _), count) in attack.endings.iter().zip(&result.endings) {
        let (observed, predicted) = (100.0 * count.observed_rate, 100.0 * count.predicted_rate);
        human += &format!("  {observed:6.2} %, predicted {predicted:6.2} %: {}\n", meaning(attack, ending));
        endings.push(json!({
            "ending": name(ending),
            "meaning": meaning(attack, ending),
            "observed": count.observed,
            "observed_rate": count.observed_rate,
            "predicted_rate": count.predicted_rate,
        }));
    }
    if let Some(fault) = &result.fault {
        return Err((
            1,
            format!("this attack did not end as it must: {fault}"),
            "this is a fault of brickwork: please report it, with the command and its whole output".into(),
        ));
    }
    let json = json!({
        "attack": attack.id(),
        "row": attack.row,
        "cheater": who(attack.cheater),
        "story": attack.story,
        "runs": runs,
        "endings": endings,
    });
    Ok((json, human))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<PlayFlags, Failure> {
        arguments(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn command_lines_are_read() {
        let some = |attack: &str, runs| PlayFlags { attack: Some(attack.to_owned()), runs };
        assert_eq!(read("").unwrap(), PlayFlags::default());
        assert_eq!(read("row_05").unwrap(), some("row_05", 100));
        assert_eq!(read("row_05 --runs 3").unwrap(), some("row_05", 3));
        assert_eq!(read("--runs=1000000 row_05").unwrap(), some("row_05", 1_000_000));
        let wrong = ["--runs", "--runs 0", "--runs 1000001", "--runs=", "--runsx", "--magic", "one two", "-"];
        for line in wrong {
            assert_eq!(read(line).unwrap_err().0, 2, "{line}");
        }
    }
}
