//! Plans: the predicted cost of a run, of all protocols for a kind of peer, or of a job of many lanes.

mod job;
mod proposal;

use std::fmt;
use std::path::PathBuf;
use std::time::Instant;

use brickwork_circuit::Party;
use brickwork_duplo::{self as duplo, cost::AS_GOOD_AS_FASTEST};
use brickwork_primitives::cut_and_choose::Bucketing;
use brickwork_protocol::{Model, Promise};
use brickwork_report::words::{bytes, plural, thousands};
use brickwork_wire::tls::PublicKey;
use serde::Serialize;

use super::cuts::{self, PricedCut, Pricing};
use super::machine;
use super::protocols::{self, Only};
use super::request::{BucketChoice, Protocol, RunRequest};
use super::ways::{Protocols, RunPart, Ways};
use super::work::RunEstimate;
use crate::cut::Cut;
use crate::failure::Error;
use crate::page::{self, Page};
use crate::plan::{Cost, Link, Machine, PartyBytes};
use crate::program::Program;
use crate::resources;

pub use job::{JobPlan, LanesRequest};
pub use proposal::ProtocolProposal;

/// A request for a plan.
#[derive(Clone, Debug)]
pub struct PlanRequest {
    /// The run that is planned. If it is `stored`, it takes everything that it can from a store.
    pub run: RunRequest<Protocols>,
    /// The kind of peer against which all protocols are compared; `None` to plan one run.
    pub model: Option<Model>,
    /// The job of many lanes that is planned instead of one run.
    pub job: Option<LanesRequest>,
    /// True to measure this machine again.
    pub calibrate: bool,
    /// The file for a chart of time by the size of components and of buckets.
    pub svg: Option<PathBuf>,
    /// The file for a page about the plan.
    pub report: Option<PathBuf>,
}

/// The result of a request for a plan.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub enum PlanResult {
    /// The plan of one run.
    Run(Box<RunPlan>),
    /// All protocols for a kind of peer, and the proposed one.
    Proposal(ProtocolProposal),
    /// The plan of a job of many lanes.
    Job(JobPlan),
}

/// The predicted cost of a run, and the choices that it has.
#[derive(Clone, Debug, Serialize)]
pub struct RunPlan {
    #[serde(skip)]
    name: String,
    protocol: Protocol,
    protocol_reason: Option<String>,
    cut: Cut,
    cut_reason: Option<String>,
    buckets_reason: Option<String>,
    cot_reason: Option<String>,
    promise: Promise,
    alternatives: Vec<Alternative>,
    decompositions: Vec<CutPlan>,
    /// False if there are more cuts than were tried.
    #[serde(skip)]
    complete: bool,
    executions: u32,
    and_gates: u64,
    link: Link,
    machine: Machine,
    #[serde(flatten)]
    cost: Cost,
}

/// A choice of buckets for the dominant component, and its cost.
#[derive(Clone, Debug, Serialize)]
struct Alternative {
    component: String,
    bucket_size: u32,
    opened: u32,
    copies: u64,
    chosen: bool,
    seconds: f64,
    bytes: u64,
    memory_bytes: PartyBytes,
}

/// A cut of the program, and its cost.
#[derive(Clone, Debug, Serialize)]
struct CutPlan {
    cut: Cut,
    flags: String,
    given: bool,
    components: usize,
    slots: usize,
    and_gates_a_slot: f64,
    seconds: f64,
    bytes: u64,
    memory_bytes: PartyBytes,
    chosen: bool,
}

impl PlanRequest {
    /// Makes a request to plan this run, and nothing else.
    pub fn new(run: RunRequest<Protocols>) -> Self {
        PlanRequest { run, model: None, job: None, calibrate: false, svg: None, report: None }
    }

    /// Makes the plan for a program. If this machine must be measured first, `say` gets a message about it.
    ///
    /// # Errors
    /// An error of usage if options exclude each other, or if no protocol can run the program with these
    /// options. An error of the machine if a file cannot be written.
    pub fn plan(&self, program: &Program, say: &mut dyn FnMut(&str)) -> Result<PlanResult, Error> {
        let page = self.report.as_deref().map(|path| Page::begin(path, false)).transpose()?;
        self.check()?;
        let mut run = self.run.clone();
        run.drawn = self.svg.is_some();
        let estimate = RunEstimate {
            machine: measured(self.calibrate, say)?.with_threads(run.resources.threads),
            link: run.line.with_lanes(run.resources.lanes),
            rival: f64::INFINITY,
        };
        let planned = match (self.model, &self.job) {
            (Some(model), _) => PlanResult::Proposal(ProtocolProposal::of(model, program, &run, &estimate)?),
            (None, Some(job)) => PlanResult::Job(job.plan(program, &run, &estimate)?),
            (None, None) => PlanResult::Run(Box::new(RunPlan::of(program, &run, estimate)?)),
        };
        if let Some(path) = &self.svg {
            std::fs::write(path, page::chart(&planned)?).map_err(|e| Error::cannot_write(path, &e))?;
        }
        if let Some(page) = page {
            page.write(&planned, Some(program));
        }
        Ok(planned)
    }

    /// Refuses options that exclude each other.
    fn check(&self) -> Result<(), Error> {
        let parameters = &self.run.parameters;
        if parameters.post_quantum {
            return Err(Error::usage(
                "the prediction assumes base OTs from an elliptic curve",
                "leave --post-quantum out; a run with this flag sends some 0.6 MB more, and takes a few \
                 milliseconds longer",
            ));
        }
        let named = parameters.protocol != Protocols::auto();
        let excluded = if self.model.is_some() {
            [
                ("--protocol", named),
                ("--linking", parameters.linking.is_some()),
                ("--cot", parameters.cot.is_some()),
                ("--commitments", parameters.commitments),
                ("--stocked", self.run.stored),
                ("--svg", self.svg.is_some()),
                ("--workers", self.job.is_some()),
            ]
            .into_iter()
            .find_map(|(flag, given)| given.then_some((flag, "--model", "all protocols are compared")))
        } else if self.job.is_some() {
            [
                ("--protocol", named && parameters.protocol.only() != Some(Protocol::DUPLO), FROM_STOCK),
                ("--executions", parameters.executions.is_some(), "say --rows"),
                (
                    "--svg",
                    self.svg.is_some(),
                    "a job of lanes has no choice of buckets that a figure could show",
                ),
                ("--report", self.report.is_some(), "a page shows one run, not a job of lanes"),
            ]
            .into_iter()
            .find_map(|(flag, given, why)| given.then_some((flag, "--workers", why)))
        } else {
            None
        };
        match excluded {
            Some((flag, other, why)) => Err(Error::usage(
                format!("{flag} does not go with {other}: {why}"),
                "leave one of the two flags out",
            )),
            None if self.model.is_none() => self.run.allowed().map(drop),
            None => Ok(()),
        }
    }
}

/// The reason why other protocols than DUPLO do not run in lanes.
const FROM_STOCK: &str = "lanes always run duplo from stock";

/// Returns the constants of this machine. If they must be measured first, says so.
fn measured(again: bool, say: &mut dyn FnMut(&str)) -> Result<Machine, Error> {
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

impl RunPlan {
    /// Plans a run by the protocol that the garbler would take.
    fn of(program: &Program, run: &RunRequest<Protocols>, estimate: RunEstimate) -> Result<Self, Error> {
        let keys = [PublicKey::from_bytes([0; 32]); 2];
        let part = RunPart { party: Party::Garbler, request: run, given: program, keys, warns: false };
        let Ways { requests, reason } = part.ways(None)?;
        let request = requests.first().ok_or_else(|| Error::fault("the flags exclude all protocols"))?;
        let plan = RunPlan::by(program, request, estimate)?;
        Ok(RunPlan { protocol: request.parameters.protocol, protocol_reason: reason, ..plan })
    }

    /// Plans a run by the protocol of the request.
    fn by(program: &Program, request: &RunRequest, estimate: RunEstimate) -> Result<Self, Error> {
        let given = &**program.given();
        let (name, executions) = (request.parameters.protocol, request.parameters.executions);
        let (protocol, repetitions) = (protocols::played(name), executions.unwrap_or(1));
        let only = match request.stored {
            true => Some(protocol.only_way_from_stock(given, repetitions, request, &estimate)?.ok_or_else(
                || {
                    Error::usage(
                        format!(
                            "--stocked has no effect with --protocol {name}: the cost of its runs depends \
                             on the stock"
                        ),
                        "leave --stocked out, or give --protocol semi-honest, compgc, lego, jimu or \
                         authenticated",
                    )
                },
            )?),
            false => protocol.only_way(given, repetitions, request, &estimate)?,
        };
        let RunEstimate { machine, link, rival } = estimate;
        let plan = |promise, cost, and_gates, machine| RunPlan {
            name: given.name().to_owned(),
            protocol: name,
            protocol_reason: None,
            cut: Cut::Given,
            cut_reason: None,
            buckets_reason: None,
            cot_reason: None,
            promise,
            alternatives: Vec::new(),
            decompositions: Vec::new(),
            complete: true,
            executions: repetitions,
            and_gates,
            link,
            machine,
            cost,
        };
        if let Some(Only { cost, promise, cot_reason }) = only {
            let and_gates = given.and_gates() * u64::from(repetitions);
            return Ok(RunPlan { cot_reason, ..plan(promise, cost, and_gates, machine) });
        }
        let pricing = Pricing {
            executions,
            security: request.parameters.security(),
            buckets: request.buckets,
            machine: &machine,
            link: &link,
            rival,
        };
        let cuts = cuts::with(&request.cut, program, &pricing, resources::available_bytes())?;
        let chosen = &cuts.tried[cuts.chosen];
        let alternatives = alternatives(chosen, &pricing)?;
        let (promise, cost) = (chosen.parameters.promise(&chosen.program), chosen.cost.clone());
        let and_gates = chosen.program.and_gates();
        Ok(RunPlan {
            cut: chosen.cut.clone(),
            cut_reason: cuts.reason(),
            buckets_reason: buckets_reason(&alternatives, request.buckets),
            alternatives,
            decompositions: cuts
                .tried
                .iter()
                .enumerate()
                .map(|(k, cut)| CutPlan::of(cut, k == cuts.chosen))
                .collect(),
            complete: cuts.complete,
            ..plan(promise, cost, and_gates, machine.clone())
        })
    }
}

/// Returns the buckets among which a run chooses for the dominant component, by size; none if it has no
/// choice. Their seconds do not include the time for making the cut, which does not depend on the buckets.
fn alternatives(chosen: &PricedCut, pricing: &Pricing) -> Result<Vec<Alternative>, Error> {
    let PricedCut { program, parameters, .. } = chosen;
    let &Pricing { security, buckets, machine, link, .. } = pricing;
    let candidates = buckets.candidates(program, security, machine, link)?;
    // The candidates differ only in the buckets of the dominant component. The chosen parameters may be among
    // them.
    let differs =
        |id: usize| candidates.windows(2).any(|pair| pair[0].components[id] != pair[1].components[id]);
    let Some(id) = (0..parameters.components.len()).find(|&id| differs(id)) else { return Ok(Vec::new()) };
    let own = parameters.components[id];
    let others = candidates.iter().filter(|other| other.components[id].bucket != own.bucket);
    let component = &program.components()[id].name;
    let mut all: Vec<Alternative> = others
        .chain([parameters])
        .map(|other| {
            let cost = duplo::cost::predict(program, other, machine, link);
            Alternative::of(component, other.components[id], other.components[id] == own, &cost)
        })
        .collect();
    all.sort_by_key(|one| one.bucket_size);
    Ok(all)
}

/// Returns why the chosen buckets are not the fastest, if they are not.
fn buckets_reason(alternatives: &[Alternative], wish: BucketChoice) -> Option<String> {
    let least = alternatives.iter().map(|one| one.seconds).fold(f64::INFINITY, f64::min);
    let chosen = alternatives.iter().find(|one| one.chosen)?;
    (chosen.seconds > least).then(|| match wish {
        BucketChoice::Standard => "the user asked for --buckets standard".into(),
        BucketChoice::Fastest => format!(
            "these buckets send the fewest bytes of all that take at most {:.0} % longer than the fastest",
            100.0 * (AS_GOOD_AS_FASTEST - 1.0)
        ),
    })
}

impl Alternative {
    fn of(component: &str, cut: Bucketing, chosen: bool, cost: &Cost) -> Self {
        Alternative {
            component: component.to_owned(),
            bucket_size: cut.bucket,
            opened: cut.opened,
            copies: cut.copies(),
            chosen,
            seconds: cost.seconds(),
            bytes: cost.bytes(),
            memory_bytes: cost.memory_bytes,
        }
    }
}

impl CutPlan {
    fn of(cut: &PricedCut, chosen: bool) -> Self {
        CutPlan {
            cut: cut.cut.clone(),
            flags: cut.cut.flags(),
            given: cut.is_given(),
            components: cut.components,
            slots: cut.slots,
            and_gates_a_slot: cut.ands_a_slot,
            seconds: cut.cost.seconds(),
            bytes: cut.cost.bytes(),
            memory_bytes: cut.cost.memory_bytes,
            chosen,
        }
    }
}

impl fmt::Display for PlanResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PlanResult::Run(plan) => plan.fmt(f),
            PlanResult::Proposal(proposal) => proposal.fmt(f),
            PlanResult::Job(plan) => plan.fmt(f),
        }
    }
}

impl fmt::Display for RunPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(reason) = &self.protocol_reason {
            writeln!(f, "Protocol: {} ({reason})", self.protocol)?;
        }
        self.fmt_cost(f)?;
        if self.decompositions.is_empty() {
            write!(f, "{}", self.promise)?;
            let cot = self.promise.triples.as_ref().map(|triples| &triples.cot);
            if let (Some(reason), Some(cot)) = (&self.cot_reason, cot) {
                writeln!(f, "  {cot} for the masks: {reason}; --cot takes another.")?;
            }
            return Ok(());
        }
        self.fmt_alternatives(f)?;
        self.fmt_cuts(f)
    }
}

impl RunPlan {
    fn fmt_cost(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (executions, and_gates) =
            (plural(self.executions.into(), "execution"), thousands(self.and_gates));
        writeln!(f, "{}: {executions}, {and_gates} AND gates", self.name)?;
        let cost = &self.cost;
        for phase in &cost.phases {
            writeln!(
                f,
                "  {:10} {:8.3} s   garbler sends {}, evaluator {}; {:.1} round trips",
                phase.name,
                phase.seconds,
                bytes(phase.garbler_sent_bytes),
                bytes(phase.evaluator_sent_bytes),
                phase.crossings as f64 / 2.0
            )?;
        }
        writeln!(
            f,
            "About {:.3} s in all; exactly {} and {:.1} round trips; memory about {} for the garbler and {} \
             for the evaluator; {}",
            cost.seconds(),
            bytes(cost.bytes()),
            cost.crossings() as f64 / 2.0,
            bytes(cost.memory_bytes.garbler),
            bytes(cost.memory_bytes.evaluator),
            match cost.disk_bytes {
                PartyBytes { garbler: 0, evaluator: 0 } => "nothing on disk".into(),
                PartyBytes { garbler, evaluator } =>
                    format!("temporary files {} / {}", bytes(garbler), bytes(evaluator)),
            }
        )
    }

    fn fmt_alternatives(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(first) = self.alternatives.first() else { return Ok(()) };
        writeln!(
            f,
            "Buckets of {} with the same bound (* marks those of a run):\n     B    opened    copies       \
             bytes   seconds",
            first.component
        )?;
        let slowest = self.alternatives.iter().map(|one| one.seconds).fold(0.0, f64::max);
        for one in &self.alternatives {
            writeln!(
                f,
                "  {} {:>2} {:>9} {:>9} {:>11} {:>9.3}  {}",
                if one.chosen { '*' } else { ' ' },
                one.bucket_size,
                one.opened,
                one.copies,
                bytes(one.bytes),
                one.seconds,
                "#".repeat((40.0 * one.seconds / slowest).round() as usize)
            )?;
        }
        match &self.buckets_reason {
            Some(reason) => writeln!(f, "  * is not the fastest of these: {reason}."),
            None => Ok(()),
        }
    }

    /// Writes the cuts of the program, sorted by the size of their components.
    fn fmt_cuts(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [_, _, ..] = self.decompositions[..] else { return Ok(()) };
        let seconds = || self.decompositions.iter().map(|cut| cut.seconds);
        let (fastest, slowest) = (seconds().fold(f64::INFINITY, f64::min), seconds().fold(0.0, f64::max));
        writeln!(
            f,
            "Cuts of the program (* marks the cut of a run; --cut chooses another):\n    components    \
             slots  ANDs a slot       bytes   seconds"
        )?;
        for cut in &self.decompositions {
            writeln!(
                f,
                "  {} {:>10} {:>8} {:>12.1} {:>11} {:>9.3}  {:30} {}{}",
                if cut.chosen { '*' } else { ' ' },
                cut.components,
                cut.slots,
                cut.and_gates_a_slot,
                bytes(cut.bytes),
                cut.seconds,
                "#".repeat((30.0 * cut.seconds / slowest).round() as usize),
                cut.cut,
                if cut.seconds == fastest { "   fastest" } else { "" }
            )?;
        }
        if let Some(reason) = &self.cut_reason {
            writeln!(f, "  * is not the fastest of these: {reason}.")?;
        }
        match self.complete {
            true => Ok(()),
            false => f.write_str("The program has more cuts than the planner tried.\n"),
        }
    }
}
