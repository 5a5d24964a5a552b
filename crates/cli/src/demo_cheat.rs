//! `brickwork demo-cheat`: attacks from the project's catalogue, played here between the real state machines.
//!
//! This is the only file of the command that knows the adversary. What it plays has parameters of its own,
//! mostly far too small to be safe; they exist as values of the adversary's types alone, which no other
//! command takes or makes.

use brickwork::circuit::Party;
use brickwork::duplo::adversary::harness::Ending;
use brickwork_adversary::{Attack, catalogue, name, play, who};
use serde_json::json;

use crate::failure::Failure;
use crate::report::{Report, plural};

/// Watch a cheater: list attacks on the protocol, or play one many times and see how it ends
///
/// The attacks are played between two threads of this process, on a small program, with the protocol's real
/// code and parameters that are small enough for luck to be seen. Nothing leaves the machine. It tells when an
/// evaluator recovers a cheating garbler's input, which no other command shows: it can depend on the
/// evaluator's input, so who reacts to it gives a bit of that away. Here both parties are yours.
#[derive(clap::Args)]
pub struct Arguments {
    /// Which attack, as the list names it; without one they are listed.
    attack: Option<String>,
    /// How often it is played.
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    runs: u32,
}

pub fn run(arguments: &Arguments) -> Result<Report, Failure> {
    let attacks = catalogue();
    match &arguments.attack {
        None => Ok(list(&attacks)),
        Some(wanted) => match attacks.iter().find(|attack| attack.id() == *wanted) {
            Some(attack) => watch(attack, arguments.runs as usize),
            None => Err(Failure::usage(
                format!("there is no attack called {wanted}"),
                "`brickwork demo-cheat` lists them",
            )),
        },
    }
}

fn list(attacks: &[Attack]) -> Report {
    let human = attacks.iter().map(|a| format!("{}\n    {}\n", a.id(), a.story)).collect::<String>();
    let one =
        |a: &Attack| json!({ "attack": a.id(), "row": a.row, "cheater": who(a.cheater), "story": a.story });
    Report::new(json!({ "attacks": attacks.iter().map(one).collect::<Vec<_>>() }), human)
}

/// What an ending means, in a sentence.
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
    let mut human = format!("{}\n\nPlayed {}:\n", attack.story, plural(runs as u64, "time"));
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
        return Err(Failure::fault(format!("this attack did not end as it must: {fault}")));
    }
    let json = json!({
        "attack": attack.id(),
        "row": attack.row,
        "cheater": who(attack.cheater),
        "story": attack.story,
        "runs": runs,
        "endings": endings,
    });
    Ok(Report::new(json, human))
}
