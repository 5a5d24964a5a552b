//! `brickwork bench protocol`: both parties, as `brickwork run` runs them.

use brickwork::engine::both::{Both, fastest};
use brickwork::engine::request::RunRequest;
use brickwork_cli::parts::{
    CutArguments, Failure, LinkArguments, ParameterArguments, ProgramArguments, ProtocolFlags, Report,
    ResourceFlags, programs, promise_text,
};
use brickwork_report::words::{bytes, plural, thousands};
use clap::Args;

use crate::runs::{MeasuredRuns, measure};

/// Time both parties, in two processes over TLS, on random inputs
#[derive(Args)]
pub struct BenchProtocolFlags {
    #[command(flatten)]
    program: ProgramArguments,
    #[command(flatten)]
    parameters: ParameterArguments,
    #[command(flatten)]
    resources: ResourceFlags,
    #[command(flatten)]
    link: LinkArguments,
    #[command(flatten)]
    choice: ProtocolFlags,
    #[command(flatten)]
    cut: CutArguments,
    /// Rounds, each with two new processes; the result is the median
    #[arg(long, value_name = "N", default_value_t = 3,
        value_parser = clap::value_parser!(u32).range(1..=1000))]
    rounds: u32,
}

pub fn run(arguments: &BenchProtocolFlags, quiet: bool) -> Result<Report, Failure> {
    let program = programs::program(&arguments.program)?;
    let BenchProtocolFlags { parameters, resources, choice, cut, link, .. } = arguments;
    let request = RunRequest {
        resources: resources.of_request(),
        buckets: choice.buckets,
        cut: cut.cut.clone(),
        line: link.line(),
        ..RunRequest::new(parameters.of_request())
    };
    let (request, _) = fastest(&request, &program, None)?;
    let measured = measure(&Both::of(&program, &request), arguments.rounds, quiet)?;
    let promise = promise_text(&measured.promise, request.parameters.post_quantum);
    Report::new(&measured, text(program.name(), &measured) + &promise)
}

fn text(program: &str, measured: &MeasuredRuns) -> String {
    let mut text = format!(
        "{program}: {}, each checked against simulation; medians of {}, seconds and bytes of one execution\n\
         Cut: {}\n",
        plural(measured.executions.into(), "execution"),
        plural(measured.rounds as u64, "round"),
        measured.cut,
    );
    for phase in &measured.phases {
        text += &format!(
            "  {:10} {:10.3} ms   garbler sent {}, evaluator {}\n",
            phase.name,
            1e3 * phase.seconds,
            bytes(phase.garbler_sent_bytes as u64),
            bytes(phase.evaluator_sent_bytes as u64),
        );
    }
    let predicted = measured.predicted.as_ref();
    let predicted = predicted.map_or(String::new(), |cost| format!(" ({:.3} predicted)", cost.seconds()));
    text += &format!(
        "{:.3} s in all{predicted}, {:.3} s after setup: {} AND gates, {} a second; CPU time of both \
         parties {:.3} s, {:.3} us an AND gate\n",
        measured.seconds,
        measured.seconds_after_setup,
        thousands(measured.and_gates),
        thousands(measured.and_per_second.unwrap_or_default() as u64),
        measured.cpu_seconds,
        measured.cpu_us_per_and.unwrap_or_default(),
    );
    let peak = measured.peak_rss_bytes;
    let [garbler, evaluator] = [peak.garbler, peak.evaluator].map(|peak| bytes(peak.unwrap_or_default()));
    text + &format!("Peak memory: garbler {garbler}, evaluator {evaluator}\n")
}
