//! `brickwork stock`: the contents of a store.

use std::collections::BTreeMap;
use std::path::PathBuf;

use brickwork::StoreRequest;
use brickwork::damage::Verified;
use brickwork::inventory::StoreContents;
use brickwork::upkeep::{BurnedEpochs, ForgivenAttempts};
use brickwork::wire::tls::PublicKey;
use clap::{Args, Subcommand};

use crate::commands::{files, programs};
use crate::flags::arguments::Map;
use crate::flags::store::KeyArguments;
use crate::render::failure::Failure;
use crate::render::report::Report;
use crate::render::trail::{EventKind, EventOutcome, Trail, TrailEvent};

/// List, check and repair a store
#[derive(Args)]
pub struct StockFlags {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Show the contents, their age, and for how many executions of programs they are enough
    Ls(Ls),
    /// Read everything and name the parts that were altered or are missing
    Verify(Verify),
    /// Make stock unusable for good, for instance after a machine was restored from an old copy
    ///
    /// The peer is told when the stores next meet, and burns its part as well.
    Burn(Burn),
    /// Allow a peer to make stock again that has made too many failed attempts
    ///
    /// Stock that is begun with a peer and not completed, or burned because a check failed, is counted as
    /// failed attempts. When their sum reaches the promise of a run, nothing more is begun until this command
    /// resets it. Find out the reason first: a peer that cheats looks like a connection that breaks. Both
    /// sides count, each for itself.
    Forgive(Forgive),
    /// Write the contents and the history as JSON, without secrets; both parties' reports can be compared
    ExportReport(ExportReport),
}

/// The store.
#[derive(Args)]
struct Place {
    /// The folder of the store
    #[arg(value_name = "DIR", required_unless_present = "store")]
    directory: Option<PathBuf>,
    /// The same as DIR
    #[arg(long, value_name = "DIR", conflicts_with = "directory")]
    store: Option<PathBuf>,
    #[command(flatten)]
    key: KeyArguments,
}

impl Place {
    fn request(&self) -> StoreRequest {
        self.key.of(self.directory.clone().or_else(|| self.store.clone()).unwrap_or_default())
    }
}

#[derive(Args)]
struct Ls {
    #[command(flatten)]
    place: Place,
    /// Show for how many executions of this program the stock is enough
    #[arg(long = "program", value_name = "FILE")]
    programs: Vec<PathBuf>,
    #[command(flatten)]
    map: Map,
}

#[derive(Args)]
struct Verify {
    #[command(flatten)]
    place: Place,
    /// Repair a damaged index, and give up the items that cannot be read, so that programs can use the rest.
    /// If you have a good copy of a damaged file, restore it instead
    #[arg(long)]
    repair: bool,
}

// These two flags are one group, so that the error for a missing choice names both.
#[derive(Args)]
#[command(group = clap::ArgGroup::new("what").args(["epoch", "all"]).required(true))]
struct Burn {
    #[command(flatten)]
    place: Place,
    /// The part to burn: the beginning of its identifier, as `ls` shows it
    #[arg(long, value_name = "ID")]
    epoch: Option<String>,
    /// Burn everything that the store holds
    #[arg(long)]
    all: bool,
}

// These two flags are one group, as in `burn`.
#[derive(Args)]
#[command(group = clap::ArgGroup::new("whom").args(["peer", "all"]).required(true))]
struct Forgive {
    #[command(flatten)]
    place: Place,
    /// The peer's public key
    #[arg(long, value_name = "KEY")]
    peer: Option<PublicKey>,
    /// All peers
    #[arg(long)]
    all: bool,
}

#[derive(Args)]
struct ExportReport {
    #[command(flatten)]
    place: Place,
    /// The file to write; the default is stdout
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// Runs a subcommand.
pub fn run(arguments: &StockFlags, trail: &Trail) -> Result<Report, Failure> {
    match &arguments.command {
        Command::Ls(Ls { place, programs, map }) => {
            let load =
                |path: &PathBuf| Ok((path.display().to_string(), programs::load(path, &map.parties())?));
            let programs = programs.iter().map(load).collect::<Result<Vec<_>, Failure>>()?;
            Report::of(&StoreContents::list(&place.request(), &programs)?)
        }
        Command::Verify(Verify { place, repair }) => Report::of(&Verified::read(&place.request(), *repair)?),
        Command::Burn(Burn { place, epoch, .. }) => {
            let burned = BurnedEpochs::burn(&place.request(), epoch.as_deref())?;
            for epoch in &burned.burned {
                let (epoch, reason) = (Some(epoch.clone()), Some("burned by its user".into()));
                trail.note(TrailEvent {
                    epoch,
                    reason,
                    ..TrailEvent::new(EventKind::Burn, EventOutcome::Done)
                });
            }
            Report::of(&burned)
        }
        Command::Forgive(Forgive { place, peer, .. }) => {
            let forgiven = ForgivenAttempts::forgive(&place.request(), *peer)?;
            trail.note(TrailEvent::new(EventKind::Forgiveness, EventOutcome::Done));
            Report::of(&forgiven)
        }
        Command::ExportReport(ExportReport { place, output }) => {
            let Report { json, .. } = Report::of(&StoreContents::report(&place.request())?)?;
            let text = format!("{json:#}");
            let Some(path) = output else { return Report::new(&json, text + "\n") };
            files::write_whole(path, text.as_bytes())?;
            let name = path.display().to_string();
            Report::new(&BTreeMap::from([("report", &name)]), format!("The report is in {name}.\n"))
        }
    }
}
