//! `brickwork cluster`: the coordinator of a job of many lanes. docs/guides/clusters.md explains how two
//! organisations set one up.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use brickwork::jobs::JobRequest;
use clap::Args;

use crate::commands::{files, programs};
use crate::render::failure::Failure;
use crate::render::report::Report;
use crate::render::terminal::announce;

/// Run a program over the tables of two parties, partition by partition, in many lanes; this is one party's
/// coordinator
#[derive(Args)]
pub struct ClusterFlags {
    /// The job from this party's view: the party, its peer, its partitions and its workers
    #[arg(long, value_name = "FILE")]
    config: PathBuf,
    /// Partitions in doubt that are to run again; the other party must name the same. The peer may already
    /// have the result of such a partition: running it again with the same input tells it nothing new, and
    /// with another input it does
    #[arg(long, value_name = "N,N", value_delimiter = ',')]
    rerun: Vec<u32>,
    /// Make the stocks of the lanes and run nothing; a later start continues with them. The garbler's choice
    /// decides
    #[arg(long)]
    only_fill: bool,
}

const HINT: &str =
    "docs/guides/clusters.md describes the lines of this file; examples/cluster has a pair of such files";

/// Coordinates a job to its end.
pub fn run(arguments: &ClusterFlags, quiet: bool) -> Result<Report, Failure> {
    let path = &arguments.config;
    let request: JobRequest = files::toml(path, false, HINT)?;
    let request = request.within(path.parent().unwrap_or(Path::new("")));
    let name = path.display().to_string();
    let Some(file) = &request.program else {
        return Err(Failure::input(format!("{name}: program is missing"), HINT));
    };
    let program = programs::circuit(file, &Default::default())?;
    let request = request.for_processes(&program).map_err(|error| error.within(&name))?;
    let mut listens = |address: SocketAddr| {
        announce(address, quiet);
        Ok(())
    };
    let choice = (&arguments.rerun[..], arguments.only_fill);
    Report::of(&request.coordinate_processes(&program, choice, &mut listens)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The two example files can be read and fit each other.
    #[test]
    fn the_examples_are_two_sides_of_one_job() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/cluster");
        let [alice, bob] = ["alice.toml", "bob.toml"].map(|name| {
            let text = std::fs::read_to_string(folder.join(name)).expect("the file");
            toml::from_str::<JobRequest>(&text).unwrap_or_else(|e| panic!("{name}: {e}"))
        });
        use brickwork::circuit::Party;
        assert_eq!([alice.role, bob.role], [Party::Garbler, Party::Evaluator]);
        assert_eq!((alice.lanes, alice.retries, alice.security), (bob.lanes, bob.retries, bob.security));
        assert_eq!(alice.program, bob.program);
        assert!(folder.join(alice.program.unwrap()).is_file());
        assert!(alice.control.listen.is_some() && bob.control.connect.is_some());
    }
}
