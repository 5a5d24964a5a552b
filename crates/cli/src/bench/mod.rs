//! `brickwork bench`: how fast it is here.

mod cuts;
mod garbling;
mod papers;
mod protocol;
mod scale;
mod stock;

use clap::{Args, Subcommand};

use crate::failure::Failure;
use crate::report::Report;

/// Measure how fast it is on this machine
#[derive(Args)]
pub struct Arguments {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    Garbling(garbling::Arguments),
    Protocol(protocol::Arguments),
    Stock(stock::Arguments),
    Papers(papers::Arguments),
    Scale(scale::Arguments),
    Cuts(cuts::Arguments),
}

pub fn run(arguments: &Arguments, quiet: bool) -> Result<Report, Failure> {
    match &arguments.what {
        What::Garbling(arguments) => garbling::run(arguments),
        What::Protocol(arguments) => protocol::run(arguments, quiet),
        What::Stock(arguments) => stock::run(arguments),
        What::Papers(arguments) => papers::run(arguments, quiet),
        What::Scale(arguments) => scale::run(arguments),
        What::Cuts(arguments) => cuts::run(arguments, quiet),
    }
}

/// The middle value, or the mean of the two in the middle; of nothing 0.
fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let at = |i: usize| values.get(i).copied().unwrap_or_default();
    match values.len() {
        n if n % 2 == 1 => at(n / 2),
        0 => 0.0,
        n => (at(n / 2 - 1) + at(n / 2)) / 2.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians() {
        assert_eq!(median(vec![]), 0.0);
        assert_eq!(median(vec![3.0]), 3.0);
        assert_eq!(median(vec![5.0, 1.0]), 3.0);
        assert_eq!(median(vec![5.0, 1.0, 100.0]), 5.0);
    }
}
