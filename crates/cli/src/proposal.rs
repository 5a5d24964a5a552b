//! `brickwork plan --model`: the best protocol among those that are secure against a peer of the model.

use brickwork::duplo::cost::AS_GOOD_AS_FASTEST;
use brickwork::engine::protocols;
use brickwork::engine::request::{Parameters, Protocol, RunRequest};
use brickwork::engine::ways::{Candidate, Protocols, best};
use brickwork::engine::work::Estimate;
use brickwork::session::Model;
use brickwork::{Program, circuit};
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::report::{Report, plural, thousands};

/// Returns the JSON form of a candidate.
fn shown(one: &Candidate) -> Value {
    json!({
        "protocol": one.request.parameters.protocol.name(),
        "way": one.way(),
        "model": one.model.name(),
        "bound_log2": (one.model == Model::Malicious).then_some(one.promise.bound_log2),
        "cost": one.cost,
        "online": {
            "garbler_sent_bytes": one.online().map(|phase| phase.garbler_sent_bytes).sum::<u64>(),
            "evaluator_sent_bytes": one.online().map(|phase| phase.evaluator_sent_bytes).sum::<u64>(),
            "round_trips": one.online().map(|phase| phase.crossings as f64).sum::<f64>() / 2.0,
            "seconds": one.online_seconds(),
        },
        "promise": one.promise,
    })
}

/// Returns the reason for proposing the candidate at this index.
fn reason(model: Model, candidates: &[Candidate], place: usize) -> String {
    let chosen = &candidates[place];
    let others = || candidates.iter().enumerate().filter(|(k, _)| *k != place).map(|(_, other)| other);
    let whom = match model {
        Model::Malicious => "a peer that may cheat",
        Model::SemiHonest => "a peer that follows it",
    };
    let mut text = match others().next() {
        None => return format!("it is the only one that holds against {whom}"),
        Some(_) => format!("of all that hold against {whom} "),
    };
    let (seconds, bytes) = (chosen.cost.seconds(), chosen.cost.bytes());
    let rivals = others().filter(|other| other.cost.seconds() <= AS_GOOD_AS_FASTEST * seconds);
    text += match rivals.collect::<Vec<_>>()[..] {
        [] => "it is predicted to be fastest",
        ref rivals if rivals.iter().all(|other| other.model < chosen.model) => {
            "it holds against most of those that are hardly slower than the fastest"
        }
        ref rivals if rivals.iter().all(|other| other.cost.bytes() >= bytes) => {
            "it sends least of those that are hardly slower than the fastest"
        }
        _ => "it is the best of those that are hardly slower than the fastest",
    };
    let stronger = others().filter(|other| other.model > chosen.model);
    let quickest = stronger.min_by(|a, b| a.cost.seconds().total_cmp(&b.cost.seconds()));
    if let Some(other) = quickest {
        text += &format!(
            "; {}, which holds against a cheater, too, takes {:.1} times as long",
            other.way(),
            other.cost.seconds() / seconds
        );
    }
    text
}

/// Proposes a protocol.
pub fn propose(
    model: Model,
    program: &Program,
    request: &RunRequest<Protocols>,
    estimate: &Estimate,
) -> Result<Report, Failure> {
    let Parameters { security, executions, .. } = &request.parameters;
    if security.is_some() && model == Model::SemiHonest {
        return Err(Failure::usage(
            "--security has no effect with --model semi-honest: who follows the protocol needs no bound",
            "leave --security out, or take --model malicious",
        ));
    }
    let holding = Protocol::ALL.iter().filter(|&&one| protocols::played(one).model() >= model);
    let ways = holding.flat_map(|&one| protocols::ways(one, *security, *executions));
    let candidates = ways.map(|way| {
        let request = RunRequest { parameters: way.clone(), ..request.with(way.protocol) };
        let allowed = protocols::allows(&request);
        allowed.map_err(|error| error.advise("leave it out, or say which --protocol instead of --model"))?;
        Ok(Candidate::of(request, program, estimate)?)
    });
    let candidates = candidates.collect::<Result<Vec<Candidate>, Failure>>()?;
    let place = best(&candidates).ok_or_else(|| Failure::fault("no protocol has a predicted time"))?;
    let reason = reason(model, &candidates, place);
    let repetitions = executions.unwrap_or(1);
    let json = json!({
        "model": model.name(),
        "proposed": candidates[place].way(),
        "reason": reason,
        "candidates": candidates.iter().map(shown).collect::<Vec<Value>>(),
        "executions": repetitions,
        "and_gates": program.and_gates() * u64::from(repetitions),
        "link": estimate.link,
        "machine": estimate.machine,
    });
    let human = text(program.given(), repetitions, model, &candidates, place)
        + &format!("Proposed: --protocol {}: {reason}.\n", candidates[place].way())
        + &candidates[place].promise.to_string();
    Ok(Report::new(json, human))
}

fn text(
    program: &circuit::Program,
    executions: u32,
    model: Model,
    candidates: &[Candidate],
    proposed: usize,
) -> String {
    let mut text = format!(
        "{}: {}, {} AND gates; protocols for --model {} (* is proposed):\n    \
         {:33} {:>17} {:>16} {:>14} {:>11} {:>9} {:>9}\n",
        program.name(),
        plural(executions.into(), "execution"),
        thousands(program.and_gates() * u64::from(executions)),
        model.name(),
        "",
        "holds against",
        "bytes, both ways",
        "of them online",
        "round trips",
        "seconds",
        "online",
    );
    for (k, one) in candidates.iter().enumerate() {
        text += &format!(
            "  {} {:33} {:>17} {:>16} {:>14} {:>11.1} {:>9.3} {:>9.3}\n",
            if k == proposed { '*' } else { ' ' },
            one.way(),
            if one.model == Model::Malicious { "a cheater, too" } else { "its followers" },
            thousands(one.cost.bytes()),
            thousands(one.online_bytes()),
            one.cost.crossings() as f64 / 2.0,
            one.cost.seconds(),
            one.online_seconds(),
        );
    }
    text
}
