//! `brickwork plan`: the cost of a run, without running it.

use std::fs;
use std::io::Write as _;
use std::path::PathBuf;
use std::time::Instant;

use brickwork::circuit::Party;
use brickwork::cut::{Cut as Named, CutChoice};
use brickwork::cut_and_choose::Bucketing;
use brickwork::duplo;
use brickwork::engine::cuts::{self, Cuts, Decomposition, Pricing};
use brickwork::engine::machine;
use brickwork::engine::protocols::{self, Only};
use brickwork::engine::request::{Protocol, Resources, RunRequest};
use brickwork::engine::ways::{Protocols, RunPart, Ways};
use brickwork::engine::work::Estimate;
use brickwork::plan::{Cost, Machine};
use brickwork::program::gates_within;
use brickwork::resources;
use brickwork::session::Model;
use brickwork::wire::tls::PublicKey;
use brickwork::{Program, circuit};
use brickwork_report::chart;
use clap::Args;
use serde_json::{Value, json};

use crate::arguments::CutArguments;
use crate::arguments::{Buckets, Choice, LinkArguments, ParameterArguments, ProgramArguments, model};
use crate::cluster::predicted::{self, JobArguments};
use crate::failure::Failure;
use crate::outcome::protocol_text;
use crate::page::PageArguments;
use crate::programs;
use crate::proposal::propose;
use crate::report::{Report, bytes, plural, thousands};
use crate::source::{self, SourceFlags};

/// Predict bytes, time and memory of a run
#[derive(Args)]
pub struct Arguments {
    #[command(flatten)]
    pub program: ProgramArguments,
    #[command(flatten)]
    source: SourceFlags,
    #[command(flatten)]
    parameters: ParameterArguments,
    #[command(flatten)]
    link: LinkArguments,
    /// Connections that carry bulk data in parallel
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=64))]
    lanes: u8,
    /// Threads of each party; all cores by default
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
    #[command(flatten)]
    choice: Choice,
    #[command(flatten)]
    cut: CutArguments,
    /// Compare all protocols that are secure against such a peer, and propose one: semi-honest for a peer
    /// that follows the protocol, malicious for one that may cheat
    #[arg(
        long,
        value_name = "MODEL",
        value_parser = model,
        conflicts_with_all = ["protocol", "linking", "cot", "commitments", "stocked", "svg", "workers"]
    )]
    model: Option<Model>,
    /// Predict a run that takes everything that it can from a store
    #[arg(long)]
    stocked: bool,
    /// Measure this machine again, instead of using earlier measurements
    #[arg(long)]
    calibrate: bool,
    /// Also draw a chart of time by the size of components and of buckets, into this file
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    #[command(flatten)]
    job: JobArguments,
    #[command(flatten)]
    page: PageArguments,
}

/// A choice of buckets for the dominant component, and its cost.
struct Alternative {
    component: String,
    cut: Bucketing,
    chosen: bool,
    cost: Cost,
}

pub fn run(arguments: &Arguments, quiet: bool) -> Result<Report, Failure> {
    let page = arguments.page.open()?;
    // Cuts are made from the source without the flags `--inline` and `--component`.
    let program = program_of(arguments)?;
    if arguments.program.loaded.is_none() {
        program.warnings().into_iter().for_each(source::warn);
    }
    let wish = match (arguments.source.cut(), &arguments.cut.cut) {
        (Named::Given, wish) => wish.clone(),
        (flags, CutChoice::Fastest) => CutChoice::Fixed(flags),
        (flags, _) => {
            let both = format!("--cut and {} both say how to cut the program", flags.flags());
            return Err(Failure::usage(both, "leave one of them out"));
        }
    };
    if arguments.parameters.post_quantum {
        return Err(Failure::usage(
            "what is predicted rests on base OTs from an elliptic curve",
            "leave --post-quantum out; a run with it sends some 0.6 MB more, and takes a few milliseconds \
             longer",
        ));
    }
    let request = RunRequest {
        resources: Resources { lanes: arguments.lanes, threads: arguments.threads, ..Resources::default() },
        buckets: arguments.choice.buckets,
        cut: wish,
        line: arguments.link.line(),
        stored: arguments.stocked,
        drawn: arguments.svg.is_some(),
        ..RunRequest::new(arguments.parameters.of_request())
    };
    if arguments.model.is_none() {
        let _ = request.allowed()?;
    }
    let machine = measured(arguments.calibrate, quiet)?.with_threads(arguments.threads);
    let link = arguments.link.line().with_lanes(arguments.lanes);
    let estimate = Estimate { machine, link, rival: f64::INFINITY };
    if !arguments.job.workers.is_empty() {
        return lanes(arguments, &program, &request, &estimate, page.is_some());
    }
    let report = match arguments.model {
        Some(model) => propose(model, &program, &request, &estimate)?,
        None => {
            let part = RunPart {
                party: Party::Garbler,
                request: &request,
                given: &program,
                keys: [PublicKey::from_bytes([0; 32]); 2],
                warns: false,
            };
            let Ways { requests, reason } = part.ways(None)?;
            let request = requests.first().ok_or_else(|| Failure::fault("no protocol is left"))?;
            let mut report = planned(arguments, &program, request, estimate)?;
            report.json["protocol"] = request.parameters.protocol.name().into();
            report.human.insert_str(0, &protocol_text(request.parameters.protocol, reason.as_deref()));
            report.json["protocol_reason"] = reason.into();
            report
        }
    };
    if let Some(page) = page {
        page.write(&report.json, Some(programs::in_cut(&program, &report.json["cut"])));
    }
    Ok(report)
}

/// Returns the constants of this machine. If they must be measured first, prints this on stderr.
fn measured(again: bool, quiet: bool) -> Result<Machine, Failure> {
    let say = |text: &str| {
        if !quiet {
            // If stderr is closed, the text is lost, and the measurement continues.
            let _ = writeln!(std::io::stderr(), "{text}");
        }
    };
    let mut start = None;
    let machine = machine::measured(again, || {
        say("measuring this machine …");
        start = Some(Instant::now());
    })?;
    if let Some(start) = start {
        say(&format!("measured in {:.1} s", start.elapsed().as_secs_f64()));
    }
    Ok(machine)
}

/// Returns the program of a plan without a cut.
pub fn program_of(arguments: &Arguments) -> Result<Program, Failure> {
    programs::read(&arguments.program, &arguments.source.options_without_cut())
}

/// Returns the cost of jobs of many lanes, which run DUPLO from stock.
fn lanes(
    arguments: &Arguments,
    program: &Program,
    request: &RunRequest<Protocols>,
    estimate: &Estimate,
    page: bool,
) -> Result<Report, Failure> {
    let named = request.parameters.protocol.only().filter(|named| *named != Protocol::Duplo);
    let none = [
        (
            named.is_some(),
            named.map_or(String::new(), |name| format!("--protocol {name}")),
            "lanes run duplo from stock",
        ),
        (arguments.parameters.executions.executions.is_some(), "--executions".into(), "say --rows"),
        (arguments.svg.is_some(), "--svg".into(), "there is no choice of buckets to draw"),
        (page, "--report".into(), "a page is of one run"),
    ];
    if let Some((_, flag, why)) = none.iter().find(|(given, ..)| *given) {
        return Err(Failure::usage(
            format!("{flag} does not go with --workers: {why}"),
            "leave one of them out",
        ));
    }
    let program = match &request.cut {
        CutChoice::Fixed(cut) => program.cut(cut, gates_within(None))?,
        CutChoice::Fastest => (**program.given()).clone(),
    };
    predicted::predicted(&arguments.job, &program, arguments.parameters.security(), estimate)
}

/// Returns the cost of a run with these flags.
fn planned(
    arguments: &Arguments,
    program: &Program,
    request: &RunRequest,
    estimate: Estimate,
) -> Result<Report, Failure> {
    let (given, wish) = (&**program.given(), &request.cut);
    let executions = arguments.parameters.executions.executions;
    let protocol = protocols::played(request.parameters.protocol);
    let repetitions = executions.unwrap_or(1);
    if arguments.stocked {
        let only = protocol.only_way_from_stock(given, repetitions, request, &estimate)?;
        let only = only.ok_or_else(|| {
            let name = request.parameters.protocol.name();
            Failure::usage(
                format!(
                    "--stocked has no effect with --protocol {name}: what a run takes depends on what is in \
                     stock"
                ),
                "leave --stocked out, or take --protocol semi-honest, compgc, lego, jimu or \
                 authenticated",
            )
        })?;
        return Ok(of_the_only_way(given, repetitions, &only, &estimate));
    }
    if let Some(only) = protocol.only_way(given, repetitions, request, &estimate)? {
        return Ok(of_the_only_way(given, repetitions, &only, &estimate));
    }
    let Estimate { machine, link, rival } = estimate;
    let pricing = Pricing {
        executions,
        security: arguments.parameters.security(),
        buckets: arguments.choice.buckets,
        machine: &machine,
        link: &link,
        rival,
    };
    let cuts = cuts::with(wish, program, &pricing, resources::available_bytes())?;
    let chosen = &cuts.tried[cuts.chosen];
    let (repeated, cost) = (&chosen.program, &chosen.cost);
    let options = options(chosen, &pricing)?;
    let alternatives: Vec<Value> = options.iter().map(Alternative::json).collect();
    let mut json = json!({
        "cut": chosen.cut.to_string(),
        "cut_reason": cuts.reason(),
        "buckets_reason": buckets_reason(&options, arguments.choice.buckets),
        "cot_reason": null,
        "promise": chosen.parameters.promise(repeated),
        "alternatives": alternatives,
        "decompositions": cuts_json(&cuts),
        "executions": executions.unwrap_or(1),
        "and_gates": repeated.and_gates(),
        "link": link,
        "machine": machine,
    });
    if let (Some(json), Value::Object(cost)) = (json.as_object_mut(), json!(cost)) {
        json.extend(cost);
    }
    if let Some(path) = &arguments.svg {
        fs::write(path, chart::document(&brickwork_report::charts_of_plan(&json)))
            .map_err(|e| Failure::cannot_write(path, &e))?;
    }
    let mut human = text(given, executions.unwrap_or(1), repeated.and_gates(), cost, &options);
    if let Some(reason) = buckets_reason(&options, arguments.choice.buckets) {
        human += &format!("  * is not the fastest of these: {reason}.\n");
    }
    human += &cuts_text(&cuts);
    Ok(Report::new(json, human))
}

/// Returns the cost of a run in a protocol without choices.
fn of_the_only_way(
    program: &circuit::Program,
    executions: u32,
    Only { cost, promise, cot_reason }: &Only,
    Estimate { machine, link, .. }: &Estimate,
) -> Report {
    let and_gates = program.and_gates() * u64::from(executions);
    let mut json = json!({
        "cut": Named::Given.to_string(),
        "cut_reason": null,
        "buckets_reason": null,
        "cot_reason": cot_reason,
        "promise": promise,
        "alternatives": [],
        "decompositions": [],
        "executions": executions,
        "and_gates": and_gates,
        "link": link,
        "machine": machine,
    });
    if let (Some(json), Value::Object(cost)) = (json.as_object_mut(), json!(cost)) {
        json.extend(cost);
    }
    let mut human = text(program, executions, and_gates, cost, &[]) + &promise.to_string();
    if let (Some(reason), Some(cot)) = (cot_reason, promise.triples.as_ref().map(|triples| &triples.cot)) {
        human += &format!("  {cot} for the masks: {reason}; --cot takes another.\n");
    }
    Report::new(json, human)
}

/// Returns the buckets among which a run chooses for the dominant component, by size; none if it has no
/// choice. Their seconds do not include the time for making the cut, which does not depend on the buckets.
fn options(chosen: &Decomposition, pricing: &Pricing) -> Result<Vec<Alternative>, Failure> {
    let Decomposition { program, parameters, .. } = chosen;
    let &Pricing { security, buckets, machine, link, .. } = pricing;
    let candidates = buckets.candidates(program, security, machine, link)?;
    // The candidates differ only in the dominant component. The chosen parameters may be among them.
    let differs =
        |id: usize| candidates.windows(2).any(|pair| pair[0].components[id] != pair[1].components[id]);
    let Some(id) = (0..parameters.components.len()).find(|&id| differs(id)) else { return Ok(Vec::new()) };
    let own = parameters.components[id];
    let others = candidates.iter().filter(|other| other.components[id].bucket != own.bucket);
    let mut options: Vec<Alternative> = others
        .chain([parameters])
        .map(|other| Alternative {
            component: program.components()[id].name.clone(),
            cut: other.components[id],
            chosen: other.components[id] == own,
            cost: duplo::cost::predict(program, other, machine, link),
        })
        .collect();
    options.sort_by_key(|option| option.cut.bucket);
    Ok(options)
}

/// Returns why the chosen buckets are not the fastest, if they are not.
fn buckets_reason(options: &[Alternative], wish: Buckets) -> Option<String> {
    let least = options.iter().map(|option| option.cost.seconds()).fold(f64::INFINITY, f64::min);
    let chosen = options.iter().find(|option| option.chosen)?;
    (chosen.cost.seconds() > least).then(|| match wish {
        Buckets::Standard => "--buckets says standard".into(),
        Buckets::Fastest => format!(
            "of those that take at most {:.0} % longer than the fastest, it sends least",
            100.0 * (duplo::cost::AS_GOOD_AS_FASTEST - 1.0)
        ),
    })
}

impl Alternative {
    fn json(&self) -> Value {
        json!({
            "component": self.component,
            "bucket_size": self.cut.bucket,
            "opened": self.cut.opened,
            "copies": self.cut.copies(),
            "chosen": self.chosen,
            "seconds": self.cost.seconds(),
            "bytes": self.cost.bytes(),
            "memory_bytes": { "garbler": self.cost.garbler_memory_bytes,
                "evaluator": self.cost.evaluator_memory_bytes },
        })
    }
}

fn text(
    program: &circuit::Program,
    executions: u32,
    and_gates: u64,
    cost: &Cost,
    options: &[Alternative],
) -> String {
    let mut text = format!(
        "{}: {}, {} AND gates\n",
        program.name(),
        plural(executions.into(), "execution"),
        thousands(and_gates)
    );
    for phase in &cost.phases {
        text += &format!(
            "  {:10} {:8.3} s   garbler sends {}, evaluator {}; {:.1} round trips\n",
            phase.name,
            phase.seconds,
            bytes(phase.garbler_sent_bytes),
            bytes(phase.evaluator_sent_bytes),
            phase.crossings as f64 / 2.0
        );
    }
    text += &format!(
        "About {:.3} s in all; exactly {} and {:.1} round trips; memory about {} for the garbler and {} for \
         the evaluator; {}\n",
        cost.seconds(),
        bytes(cost.bytes()),
        cost.crossings() as f64 / 2.0,
        bytes(cost.garbler_memory_bytes),
        bytes(cost.evaluator_memory_bytes),
        match cost.disk_bytes {
            0 => "nothing on disk".into(),
            file => format!("a temporary file of {} at the evaluator", bytes(file)),
        }
    );
    let Some(first) = options.first() else { return text };
    text += &format!(
        "Buckets of {} with the same bound (* is what a run uses):\n     B    opened    copies       \
             bytes   seconds\n",
        first.component
    );
    let slowest = options.iter().map(|option| option.cost.seconds()).fold(0.0, f64::max);
    for option in options {
        let length = (40.0 * option.cost.seconds() / slowest).round() as usize;
        text += &format!(
            "  {} {:>2} {:>9} {:>9} {:>11} {:>9.3}  {}\n",
            if option.chosen { '*' } else { ' ' },
            option.cut.bucket,
            option.cut.opened,
            option.cut.copies(),
            bytes(option.cost.bytes()),
            option.cost.seconds(),
            "#".repeat(length)
        );
    }
    text
}

/// Formats the cuts of the program, sorted by the size of their components.
fn cuts_text(cuts: &Cuts) -> String {
    let [_, _, ..] = cuts.tried[..] else { return String::new() };
    let seconds = |cut: &Decomposition| cut.cost.seconds();
    let fastest = cuts.tried.iter().map(seconds).fold(f64::INFINITY, f64::min);
    let slowest = cuts.tried.iter().map(seconds).fold(0.0, f64::max);
    let mut text = String::from(
        "Cuts of the program (* is what a run uses; --cut takes another):\n    components    slots  ANDs a \
         slot       bytes   seconds\n",
    );
    for (k, cut) in cuts.tried.iter().enumerate() {
        let length = (30.0 * seconds(cut) / slowest).round() as usize;
        let remark = if seconds(cut) == fastest { "   fastest" } else { "" };
        text += &format!(
            "  {} {:>10} {:>8} {:>12.1} {:>11} {:>9.3}  {:30} {}{remark}\n",
            if k == cuts.chosen { '*' } else { ' ' },
            cut.components,
            cut.slots,
            cut.ands_a_slot,
            bytes(cut.cost.bytes()),
            seconds(cut),
            "#".repeat(length),
            cut.cut,
        );
    }
    if let Some(reason) = cuts.reason() {
        text += &format!("  * is not the fastest of these: {reason}.\n");
    }
    if !cuts.complete {
        text += "There are more cuts than were tried.\n";
    }
    text
}

fn decomposition_json(cut: &Decomposition) -> Value {
    json!({
        "cut": cut.cut.to_string(),
        "flags": cut.cut.flags(),
        "given": cut.is_given(),
        "components": cut.components,
        "slots": cut.slots,
        "and_gates_a_slot": cut.ands_a_slot,
        "seconds": cut.cost.seconds(),
        "bytes": cut.cost.bytes(),
        "memory_bytes": { "garbler": cut.cost.garbler_memory_bytes,
            "evaluator": cut.cost.evaluator_memory_bytes },
    })
}

fn cuts_json(cuts: &Cuts) -> Value {
    let one = |(k, cut): (usize, &Decomposition)| {
        let mut json = decomposition_json(cut);
        json["chosen"] = (k == cuts.chosen).into();
        json
    };
    cuts.tried.iter().enumerate().map(one).collect()
}
