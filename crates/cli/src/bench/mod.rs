//! `brickwork bench`: measurements on this machine.

mod cluster;
mod compare;
mod cuts;
mod each;
mod garbling;
mod jimu;
mod measured;
mod median;
mod papers;
mod protocol;
mod scale;
mod schemes;
mod stock;

use clap::{Args, Subcommand};

use crate::failure::Failure;
use crate::report::Report;

/// Measure the speed of this machine
#[derive(Args)]
pub struct Arguments {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    Garbling(garbling::Arguments),
    Protocol(protocol::Arguments),
    Compare(compare::Arguments),
    Stock(stock::Arguments),
    Papers(papers::Arguments),
    Jimu(jimu::Arguments),
    Scale(scale::Arguments),
    Cuts(cuts::Arguments),
    Cluster(cluster::Arguments),
}

impl Arguments {
    /// Returns whether the parties run as separate processes.
    pub fn starts_processes(&self) -> bool {
        match self.what {
            What::Protocol(_) | What::Compare(_) | What::Papers(_) | What::Jimu(_) | What::Cuts(_) => true,
            What::Cluster(_) => true,
            What::Garbling(_) | What::Stock(_) | What::Scale(_) => false,
        }
    }
}

pub fn run(arguments: &Arguments, quiet: bool) -> Result<Report, Failure> {
    match &arguments.what {
        What::Garbling(arguments) => garbling::run(arguments),
        What::Protocol(arguments) => protocol::run(arguments, quiet),
        What::Compare(arguments) => compare::run(arguments, quiet),
        What::Stock(arguments) => stock::run(arguments),
        What::Papers(arguments) => papers::run(arguments, quiet),
        What::Jimu(arguments) => jimu::run(arguments, quiet),
        What::Scale(arguments) => scale::run(arguments),
        What::Cuts(arguments) => cuts::run(arguments, quiet),
        What::Cluster(arguments) => cluster::run(arguments, quiet),
    }
}
