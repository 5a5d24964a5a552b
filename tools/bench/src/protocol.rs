//! `brickwork bench protocol`: both parties, as `brickwork run` runs them.

use brickwork::circuit::{Party, Program, value};
use brickwork::engine::request::RunRequest;
use brickwork::engine::role;
use brickwork::program::repeated;
use brickwork::random::Rng;
use brickwork::reading;
use brickwork_cli::parts::{
    Both, Choice, CutArguments, Failure, LinkArguments, ParameterArguments, ProgramArguments, Report,
    Resources, fastest, programs, promise_text,
};
use brickwork_kernels::{Kernel, Secrets};
use brickwork_report::words::{bytes, plural, thousands};
use clap::Args;
use serde_json::{Value, json};

use crate::median::median;

/// Time both parties, in two processes over TLS, on random inputs
#[derive(Args)]
pub struct Arguments {
    #[command(flatten)]
    program: ProgramArguments,
    #[command(flatten)]
    parameters: ParameterArguments,
    #[command(flatten)]
    resources: Resources,
    #[command(flatten)]
    link: LinkArguments,
    #[command(flatten)]
    choice: Choice,
    #[command(flatten)]
    cut: CutArguments,
    /// Rounds, each with two new processes; the result is the median
    #[arg(long, value_name = "N", default_value_t = 3,
        value_parser = clap::value_parser!(u32).range(1..=1000))]
    rounds: u32,
}

pub fn run(arguments: &Arguments, quiet: bool) -> Result<Report, Failure> {
    let program = programs::program(&arguments.program)?;
    let Arguments { parameters, resources, choice, cut, link, .. } = arguments;
    let request = RunRequest {
        resources: resources.of_request(),
        buckets: choice.buckets,
        cut: cut.cut.clone(),
        line: link.line(),
        ..RunRequest::new(parameters.of_request())
    };
    let (request, _) = fastest(&request, &program, None)?;
    let json = measure(&Both::of(&program, &request), arguments.rounds, quiet)?;
    let promise = serde_json::from_value(json["promise"].clone());
    let promise =
        promise.map_or(String::new(), |promise| promise_text(&promise, request.parameters.post_quantum));
    let human = text(program.given(), &json) + &promise;
    Ok(Report::new(json, human))
}

/// Returns the cost of runs by `both` on random inputs.
pub fn measure(both: &Both, count: u32, quiet: bool) -> Result<Value, Failure> {
    let (program, executions) = (both.program.given(), both.request.parameters.executions);
    let mut rounds = Vec::new();
    for round in 1..=count {
        // A warning is shown only in the first round.
        let ran = Trial::draw(program, executions)?.run(both, quiet || round > 1);
        rounds.push(ran.map_err(|failure| failure.within(&format!("round {round}")))?);
    }
    let and_gates = program.and_gates() * u64::from(executions.unwrap_or(1));
    summary(both, executions.unwrap_or(1), and_gates, &rounds)
}

/// Random inputs of a program, and its outputs without a protocol.
pub struct Trial {
    inputs: [Secrets<bool>; 2],
    /// The values of both parties.
    values: [Value; 2],
    /// The bits of each party's outputs, and their values.
    expected: [Vec<bool>; 2],
    outputs: [Value; 2],
}

impl Trial {
    /// Draws inputs for all executions.
    pub fn draw(program: &Program, executions: Option<u32>) -> Result<Self, Failure> {
        let repeated = repeated(program, executions)?;
        let [x, y] = PARTIES.map(|party| random_bits(&repeated, party));
        let (x, y) = (x?, y?);
        let outputs = repeated.simulate(&x, &y);
        Ok(Trial {
            values: [
                input_value(program, Party::Garbler, executions, &x),
                input_value(program, Party::Evaluator, executions, &y),
            ],
            expected: PARTIES.map(|party| repeated.output_bits(party, &outputs)),
            outputs: PARTIES.map(|party| {
                reading::output_value(program, party, executions, &repeated.output_bits(party, &outputs))
            }),
            inputs: [Secrets::new(x), Secrets::new(y)],
        })
    }

    /// Returns a party's input in the form of an input file.
    pub fn value(&self, party: Party) -> &Value {
        &self.values[party as usize]
    }

    /// Returns a party's expected output.
    pub fn expected_value(&self, party: Party) -> Value {
        self.outputs[party as usize].clone()
    }

    /// Runs both parties on these inputs. Every output must be the same as without a protocol.
    pub fn run(&self, both: &Both, quiet: bool) -> Result<[Value; 2], Failure> {
        let results = both.run(&self.inputs, quiet)?;
        for ((party, expected), result) in PARTIES.into_iter().zip(&self.expected).zip(&results) {
            let role = role(party);
            if result.outputs != *expected {
                let message = format!("the output of the {role} is not that of the simulation");
                return Err(Failure::fault(message));
            }
        }
        Ok(results.map(|ran| json!(ran.report)))
    }
}

pub const PARTIES: [Party; 2] = [Party::Garbler, Party::Evaluator];

fn random_bits(program: &Program, party: Party) -> Result<Vec<bool>, Failure> {
    let mut bytes = vec![0; program.input_width(party)];
    Rng::new("brickwork bench inputs")?.fill(&mut bytes);
    Ok(bytes.iter().map(|byte| byte & 1 == 1).collect())
}

/// Returns the value, or the array of values, of these bits.
fn input_value(program: &Program, party: Party, executions: Option<u32>, bits: &[bool]) -> Value {
    let ports = program.input_ports(party);
    match (executions, program.input_width(party)) {
        (_, 0) => Value::Null,
        (None, _) => value::decode(ports, bits),
        (Some(_), width) => bits.chunks(width).map(|bits| value::decode(ports, bits)).collect(),
    }
}

fn summary(both: &Both, executions: u32, and_gates: u64, rounds: &[[Value; 2]]) -> Result<Value, Failure> {
    let n = f64::from(executions);
    let phase = |round: &[Value; 2], name: &str| -> Value {
        let phases = round[1]["phases"].as_array().map(Vec::as_slice).unwrap_or_default();
        phases.iter().find(|phase| phase["name"] == name).cloned().unwrap_or_default()
    };
    let seconds_of =
        |round: &[Value; 2], name: &str| phase(round, name)["seconds"].as_f64().unwrap_or_default();
    let of_first = rounds[0][1]["phases"].as_array().map(Vec::as_slice).unwrap_or_default();
    let names: Vec<&str> = of_first.iter().filter_map(|phase| phase["name"].as_str()).collect();
    let mut phases = Vec::new();
    for &name in &names {
        let sent = |field: &str| -> Result<Value, Failure> {
            let mut all = rounds.iter().map(|round| phase(round, name)[field].as_u64());
            let first = all
                .next()
                .flatten()
                .ok_or_else(|| Failure::fault(format!("a party reported no phase {name}")))?;
            if all.any(|other| other != Some(first)) {
                return Err(Failure::fault(format!(
                    "the bytes of the phase {name} differ from round to round"
                )));
            }
            Ok(if first % u64::from(executions) == 0 {
                (first / u64::from(executions)).into()
            } else {
                (first as f64 / n).into()
            })
        };
        phases.push(json!({
            "name": name,
            "seconds": median(rounds.iter().map(|round| seconds_of(round, name)).collect()) / n,
            "garbler_sent_bytes": sent("garbler_sent_bytes")?,
            "evaluator_sent_bytes": sent("evaluator_sent_bytes")?,
        }));
    }
    let total = |round: &[Value; 2]| -> f64 { names.iter().map(|name| seconds_of(round, name)).sum() };
    let after_setup = median(rounds.iter().map(|round| total(round) - seconds_of(round, "setup")).collect());
    let cpu = median(
        rounds
            .iter()
            .map(|round| round.iter().filter_map(|party| party["cpu_seconds"].as_f64()).sum())
            .collect(),
    );
    let cut = |round: &[Value; 2]| round[1]["cut"].clone();
    if rounds.iter().any(|round| cut(round) != cut(&rounds[0])) {
        return Err(Failure::other(
            "not every round took the same cut of the program",
            "say which one is to be timed: --cut given, or another one that `brickwork plan` shows",
        ));
    }
    let peak = |party: usize| rounds.iter().filter_map(|round| round[party]["peak_rss_bytes"].as_u64()).max();
    // A program with only XOR gates has no such rate.
    let per_and = |value: f64| if and_gates == 0 { Value::Null } else { json!(value) };
    let cores = std::thread::available_parallelism().map_or(1, |n| n.get());
    let (link, resources) = (both.request.line, both.request.resources);
    Ok(json!({
        "phases": phases,
        "cut": cut(&rounds[0]),
        "executions": executions,
        "rounds": rounds.len(),
        "predicted": rounds[0][0]["predicted"],
        "seconds": median(rounds.iter().map(total).collect()),
        "seconds_after_setup": after_setup,
        "and_gates": and_gates,
        "and_per_second": per_and(and_gates as f64 / after_setup),
        "cpu_us_per_and": per_and(cpu * 1e6 / and_gates as f64),
        "cpu_seconds": cpu,
        "peak_rss_bytes": { "garbler": peak(0), "evaluator": peak(1) },
        "promise": rounds[0][1]["promise"],
        "kernel": Kernel::best().name(),
        "threads": resources.threads.map_or(cores, usize::from),
        "lanes": resources.lanes,
        "link": { "bits_per_second": link.bits_per_second, "rtt_seconds": link.rtt.as_secs_f64() },
    }))
}

fn text(program: &Program, json: &Value) -> String {
    let number = |field: &str| json[field].as_f64().unwrap_or_default();
    let count = |value: &Value| value.as_u64().unwrap_or_default();
    let mut text = format!(
        "{}: {}, each checked against simulation; medians of {}, seconds and bytes of one execution\nCut: \
         {}\n",
        program.name(),
        plural(count(&json["executions"]), "execution"),
        plural(count(&json["rounds"]), "round"),
        json["cut"].as_str().unwrap_or_default(),
    );
    for phase in json["phases"].as_array().map(Vec::as_slice).unwrap_or_default() {
        let number = |field: &str| phase[field].as_f64().unwrap_or_default();
        text += &format!(
            "  {:10} {:10.3} ms   garbler sent {}, evaluator {}\n",
            phase["name"].as_str().unwrap_or_default(),
            1e3 * number("seconds"),
            bytes(number("garbler_sent_bytes") as u64),
            bytes(number("evaluator_sent_bytes") as u64),
        );
    }
    let predicted = json["predicted"]["seconds"].as_f64();
    let predicted = predicted.map_or(String::new(), |seconds| format!(" ({seconds:.3} predicted)"));
    text += &format!(
        "{:.3} s in all{predicted}, {:.3} s after setup: {} AND gates, {} a second; CPU time of both \
         parties {:.3} s, {:.3} us an AND gate\n",
        number("seconds"),
        number("seconds_after_setup"),
        thousands(count(&json["and_gates"])),
        thousands(number("and_per_second") as u64),
        number("cpu_seconds"),
        number("cpu_us_per_and"),
    );
    let peak = &json["peak_rss_bytes"];
    text += &format!(
        "Peak memory: garbler {}, evaluator {}\n",
        bytes(count(&peak["garbler"])),
        bytes(count(&peak["evaluator"]))
    );
    text
}
