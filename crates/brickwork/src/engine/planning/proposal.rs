//! The best protocol among those that are secure against a kind of peer.

use std::fmt;

use brickwork_duplo::cost::AS_GOOD_AS_FASTEST;
use brickwork_protocol::{Model, Promise};
use brickwork_report::words::{plural, thousands};
use serde::Serialize;

use super::super::protocols;
use super::super::request::{AgreedParameters, Protocol, RunRequest};
use super::super::ways::{Candidate, Protocols, best};
use super::super::work::RunEstimate;
use crate::failure::Error;
use crate::plan::{Cost, Link, Machine};
use crate::program::Program;

/// All protocols that are secure against a kind of peer, and the proposed one.
#[derive(Clone, Debug, Serialize)]
pub struct ProtocolProposal {
    #[serde(skip)]
    name: String,
    model: Model,
    proposed: String,
    reason: String,
    candidates: Vec<Rival>,
    executions: u32,
    and_gates: u64,
    link: Link,
    machine: Machine,
}

/// A protocol with its flags, its predicted cost and its promise.
#[derive(Clone, Debug, Serialize)]
struct Rival {
    protocol: Protocol,
    way: String,
    model: Model,
    bound_log2: Option<f64>,
    cost: Cost,
    online: Online,
    promise: Promise,
}

/// The cost of the phases that need the inputs.
#[derive(Clone, Copy, Debug, Serialize)]
struct Online {
    garbler_sent_bytes: u64,
    evaluator_sent_bytes: u64,
    round_trips: f64,
    seconds: f64,
}

impl From<Candidate> for Rival {
    fn from(one: Candidate) -> Self {
        Rival {
            online: Online {
                garbler_sent_bytes: one.online().map(|phase| phase.garbler_sent_bytes).sum(),
                evaluator_sent_bytes: one.online().map(|phase| phase.evaluator_sent_bytes).sum(),
                round_trips: one.online().map(|phase| phase.crossings as f64).sum::<f64>() / 2.0,
                seconds: one.online_seconds(),
            },
            protocol: one.request.parameters.protocol,
            way: one.way(),
            model: one.model,
            bound_log2: (one.model == Model::Malicious).then_some(one.promise.bound_log2),
            cost: one.cost,
            promise: one.promise,
        }
    }
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
        None => return format!("it is the only protocol that holds against {whom}"),
        Some(_) => format!("of all protocols that hold against {whom} "),
    };
    let (seconds, bytes) = (chosen.cost.seconds(), chosen.cost.bytes());
    let rivals = others().filter(|other| other.cost.seconds() <= AS_GOOD_AS_FASTEST * seconds);
    text += match rivals.collect::<Vec<_>>()[..] {
        [] => "it is predicted to be fastest",
        ref rivals if rivals.iter().all(|other| other.model < chosen.model) => {
            "of all protocols that are hardly slower than the fastest, it holds against the strongest cheater"
        }
        ref rivals if rivals.iter().all(|other| other.cost.bytes() >= bytes) => {
            "of all protocols that are hardly slower than the fastest, it sends the fewest bytes"
        }
        _ => "it is the best of the protocols that are hardly slower than the fastest",
    };
    let stronger = others().filter(|other| other.model > chosen.model);
    let quickest = stronger.min_by(|a, b| a.cost.seconds().total_cmp(&b.cost.seconds()));
    if let Some(other) = quickest {
        text += &format!(
            "; {}, which also holds against a cheater, takes {:.1} times as long",
            other.way(),
            other.cost.seconds() / seconds
        );
    }
    text
}

impl ProtocolProposal {
    /// Proposes a protocol.
    pub(super) fn of(
        model: Model,
        program: &Program,
        request: &RunRequest<Protocols>,
        estimate: &RunEstimate,
    ) -> Result<Self, Error> {
        let AgreedParameters { security, executions, .. } = &request.parameters;
        if security.is_some() && model == Model::SemiHonest {
            return Err(Error::usage(
                "--security has no effect with --model semi-honest: a peer that follows the protocol needs \
                 no bound",
                "leave --security out, or give --model malicious",
            ));
        }
        let holding = Protocol::all().into_iter().filter(|&one| protocols::played(one).model() >= model);
        let ways = holding.flat_map(|one| protocols::ways(one, *security, *executions));
        let candidates = ways.map(|way| {
            let request = RunRequest { parameters: way.clone(), ..request.with(way.protocol) };
            let allowed = protocols::allows(&request);
            allowed.map_err(|error| error.advise("leave it out, or give --protocol instead of --model"))?;
            Candidate::of(request, program, estimate)
        });
        let candidates = candidates.collect::<Result<Vec<Candidate>, Error>>()?;
        let place = best(&candidates).ok_or_else(|| Error::fault("no protocol has a predicted time"))?;
        let repetitions = executions.unwrap_or(1);
        Ok(ProtocolProposal {
            name: program.name().to_owned(),
            model,
            proposed: candidates[place].way(),
            reason: reason(model, &candidates, place),
            candidates: candidates.into_iter().map(Rival::from).collect(),
            executions: repetitions,
            and_gates: program.and_gates() * u64::from(repetitions),
            link: estimate.link,
            machine: estimate.machine.clone(),
        })
    }
}

impl fmt::Display for ProtocolProposal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{}: {}, {} AND gates; protocols for --model {} (* marks the proposal):\n    {:33} {:>17} \
             {:>16} {:>14} {:>11} {:>9} {:>9}",
            self.name,
            plural(self.executions.into(), "execution"),
            thousands(self.and_gates),
            self.model.name(),
            "",
            "holds against",
            "bytes, both ways",
            "of them online",
            "round trips",
            "seconds",
            "online",
        )?;
        for one in &self.candidates {
            writeln!(
                f,
                "  {} {:33} {:>17} {:>16} {:>14} {:>11.1} {:>9.3} {:>9.3}",
                if one.way == self.proposed { '*' } else { ' ' },
                one.way,
                if one.model == Model::Malicious { "a cheater, too" } else { "its followers" },
                thousands(one.cost.bytes()),
                thousands(one.online.garbler_sent_bytes + one.online.evaluator_sent_bytes),
                one.cost.crossings() as f64 / 2.0,
                one.cost.seconds(),
                one.online.seconds,
            )?;
        }
        writeln!(f, "Proposed: --protocol {}: {}.", self.proposed, self.reason)?;
        let proposed = self.candidates.iter().find(|one| one.way == self.proposed);
        proposed.map_or(Ok(()), |one| one.promise.fmt(f))
    }
}
