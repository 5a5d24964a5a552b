//! `brickwork plan`: what a run will cost, without running it.

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

use brickwork::circuit::Program;
use brickwork::cut_and_choose::Cut;
use brickwork::duplo;
use brickwork::plan::{self, Cost, Link, Machine};
use clap::Args;
use serde_json::{Value, json};

use crate::arguments::{Choice, LinkArguments, Parameters, ProgramArguments};
use crate::failure::Failure;
use crate::report::{Report, bytes, plural, thousands};
use crate::{files, machine};

/// Predict bytes, time and memory of a run
#[derive(Args)]
pub struct Arguments {
    #[command(flatten)]
    program: ProgramArguments,
    #[command(flatten)]
    parameters: Parameters,
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
    /// Measure this machine again, instead of taking what was measured before
    #[arg(long)]
    calibrate: bool,
    /// Also draw time against the size of the buckets, into this file
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
}

/// A choice of the buckets of the component that dominates, and what it costs.
struct Alternative {
    component: String,
    cut: Cut,
    chosen: bool,
    cost: Cost,
}

pub fn run(arguments: &Arguments, quiet: bool) -> Result<Report, Failure> {
    let program = files::program(&arguments.program)?;
    let executions = arguments.parameters.executions.executions;
    let repeated = files::repeated(&program, executions)?;
    let machine = machine::constants(arguments.calibrate, quiet)?.with_threads(arguments.threads);
    let link = arguments.link.link().with_lanes(arguments.lanes);
    let parameters = arguments.choice.choose(&repeated, arguments.parameters.security, &machine, &link)?;
    let cost = plan::predict(&repeated, &parameters, &machine, &link);
    let options = options(&repeated, &parameters, &machine, &link)?;
    if let Some(path) = &arguments.svg {
        fs::write(path, svg(&options)).map_err(|e| Failure::other(format!("cannot write {}: {e}", path.display())))?;
    }
    let alternatives: Vec<Value> = options.iter().map(Alternative::json).collect();
    let mut json = json!({
        "choice": parameters.report(&repeated),
        "alternatives": alternatives,
        "executions": executions.unwrap_or(1),
        "and_gates": repeated.and_gates(),
        "link": link,
        "machine": machine,
    });
    if let (Some(json), Value::Object(cost)) = (json.as_object_mut(), cost_json(&cost)) {
        json.extend(cost);
    }
    let human = text(&program, executions.unwrap_or(1), &repeated, &cost, &options);
    Ok(Report::new(json, human))
}

/// What is predicted, in the form in which runs report it too.
pub fn cost_json(cost: &Cost) -> Value {
    json!({
        "phases": cost.phases,
        "seconds": cost.seconds(),
        "round_trips": cost.crossings() as f64 / 2.0,
        "memory_bytes": { "garbler": cost.garbler_memory_bytes, "evaluator": cost.evaluator_memory_bytes },
        "disk_bytes": cost.disk_bytes,
    })
}

fn options(program: &Program, parameters: &duplo::Parameters, machine: &Machine, link: &Link) -> Result<Vec<Alternative>, Failure> {
    let alternatives = plan::alternatives(program, parameters)?;
    // They differ in one component only, which the run's own cut may be among.
    let differs = |id: usize| alternatives.windows(2).any(|pair| pair[0].components[id] != pair[1].components[id]);
    let Some(id) = (0..parameters.components.len()).find(|&id| differs(id)) else { return Ok(Vec::new()) };
    let own = parameters.components[id];
    let others = alternatives.iter().filter(|other| other.components[id].bucket != own.bucket);
    let mut options: Vec<Alternative> = others
        .chain([parameters])
        .map(|other| Alternative {
            component: program.components()[id].name.clone(),
            cut: other.components[id],
            chosen: other.components[id] == own,
            cost: plan::predict(program, other, machine, link),
        })
        .collect();
    options.sort_by_key(|option| option.cut.bucket);
    Ok(options)
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
            "memory_bytes": { "garbler": self.cost.garbler_memory_bytes, "evaluator": self.cost.evaluator_memory_bytes },
        })
    }
}

fn text(program: &Program, executions: u32, repeated: &Program, cost: &Cost, options: &[Alternative]) -> String {
    let mut text =
        format!("{}: {}, {} AND gates\n", program.name(), plural(executions.into(), "execution"), thousands(repeated.and_gates()));
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
        "About {:.3} s in all; exactly {} and {:.1} round trips; memory about {} for the garbler and {} for the evaluator; nothing on disk\n",
        cost.seconds(),
        bytes(cost.bytes()),
        cost.crossings() as f64 / 2.0,
        bytes(cost.garbler_memory_bytes),
        bytes(cost.evaluator_memory_bytes)
    );
    let Some(first) = options.first() else { return text };
    text += &format!(
        "Buckets of {} with the same bound (* is what a run uses):\n     B    opened    copies       bytes   seconds\n",
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

/// Time against the size of the buckets.
fn svg(options: &[Alternative]) -> String {
    const WIDTH: f64 = 640.0;
    const HEIGHT: f64 = 400.0;
    const MARGIN: f64 = 60.0;
    let largest = options.iter().map(|option| f64::from(option.cut.bucket)).fold(1.0, f64::max);
    let slowest = options.iter().map(|option| option.cost.seconds()).fold(1e-9, f64::max);
    let place = |option: &Alternative| {
        let x = MARGIN + (WIDTH - 2.0 * MARGIN) * f64::from(option.cut.bucket) / largest;
        let y = HEIGHT - MARGIN - (HEIGHT - 2.0 * MARGIN) * option.cost.seconds() / slowest;
        (x, y)
    };
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" font-family=\"sans-serif\" font-size=\"13\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n\
         <path d=\"M{MARGIN} {MARGIN}V{0}H{1}\" fill=\"none\" stroke=\"black\"/>\n\
         <text x=\"{2}\" y=\"{3}\" text-anchor=\"middle\">B: copies in a bucket</text>\n\
         <text x=\"{MARGIN}\" y=\"{4}\" text-anchor=\"middle\">seconds</text>\n",
        HEIGHT - MARGIN,
        WIDTH - MARGIN,
        WIDTH / 2.0,
        HEIGHT - 15.0,
        MARGIN - 20.0
    );
    let points: Vec<String> = options.iter().map(place).map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
    // Writing to a string does not fail.
    let _ = writeln!(svg, "<polyline points=\"{}\" fill=\"none\" stroke=\"steelblue\" stroke-width=\"2\"/>", points.join(" "));
    for option in options {
        let (x, y) = place(option);
        let (radius, colour) = if option.chosen { (6, "crimson") } else { (4, "steelblue") };
        let _ = writeln!(
            svg,
            "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius}\" fill=\"{colour}\"><title>B = {}, {} opened: {:.3} s, {} bytes</title></circle>\n\
             <text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
            option.cut.bucket,
            option.cut.opened,
            option.cost.seconds(),
            option.cost.bytes(),
            HEIGHT - MARGIN + 18.0,
            option.cut.bucket,
        );
    }
    svg + "</svg>\n"
}
