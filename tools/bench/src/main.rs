//! `brickwork-bench`, which `brickwork bench` starts: measurements on this machine.
#![forbid(unsafe_code)]

mod cluster;
mod compare;
mod cuts;
mod each;
mod garbling;
mod jimu;
mod measured;
mod papers;
mod protocol;
mod runs;
mod scale;
mod schemes;
mod stock;
mod table;

use std::process::ExitCode;

use brickwork_cli::parts::{Cli, Failure, Report, Started, execute_with};
use clap::{CommandFactory, Subcommand};

/// The allocator of the command, so that measured code takes the same time.
#[global_allocator]
static ALLOCATOR: brickwork_kernels::LargePages = brickwork_kernels::LargePages::new();

#[derive(Subcommand)]
enum Command {
    Garbling(garbling::BenchGarblingFlags),
    Protocol(protocol::BenchProtocolFlags),
    Compare(compare::BenchCompareFlags),
    Stock(stock::BenchStockFlags),
    Papers(papers::BenchPapersFlags),
    Jimu(jimu::BenchJimuFlags),
    Scale(scale::BenchScaleFlags),
    Cuts(cuts::BenchCutsFlags),
    Cluster(cluster::BenchClusterFlags),
    /// A measured process of a run or a job.
    #[command(flatten)]
    Started(Started),
}

fn main() -> ExitCode {
    let about =
        "Measure protocols, stock and inner loops on this machine, and reproduce the tables of papers";
    let command = <Cli<Command>>::command().bin_name("brickwork bench").about(about).long_about(about);
    execute_with(command.mut_subcommand("worker", |worker| worker.hide(true)), |cli, _| execute(cli)).into()
}

fn execute(cli: &Cli<Command>) -> Result<Report, Failure> {
    match &cli.command {
        Command::Garbling(arguments) => garbling::run(arguments),
        Command::Protocol(arguments) => protocol::run(arguments, cli.quiet),
        Command::Compare(arguments) => compare::run(arguments, cli.quiet),
        Command::Stock(arguments) => stock::run(arguments),
        Command::Papers(arguments) => papers::run(arguments, cli.quiet),
        Command::Jimu(arguments) => jimu::run(arguments, cli.quiet),
        Command::Scale(arguments) => scale::run(arguments),
        Command::Cuts(arguments) => cuts::run(arguments, cli.quiet),
        Command::Cluster(arguments) => cluster::run(arguments, cli.quiet),
        Command::Started(process) => process.run(cli.quiet),
    }
}
