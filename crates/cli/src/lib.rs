//! The `brickwork` command, as a library for its program, its tests and the fuzz targets.
//!
//! Each command has a file; it returns the text to print or a [`Failure`], and only this file writes results
//! to stdout.
#![forbid(unsafe_code)]
// No documentation of this library is made: only the programs of the project use it.
#![allow(missing_docs)]

mod commands;
mod flags;
mod render;
mod serve;

use std::path::PathBuf;

use brickwork::circuit::Party;
use brickwork::system;
use clap::{CommandFactory, FromArgMatches, Subcommand};

use commands::{Cli, Command};
use render::failure::Failure;
use render::log::start_log;
use render::report::Report;
use render::terminal::{print, print_json};
use render::trail::Trail;
use render::versions::Versions;

#[doc(hidden)]
pub use brickwork::engine::machine::keep as keep_constants;
#[doc(hidden)]
pub use flags::parsers;

/// The parts that `brickwork-bench` shares with the command: flags, results, and runs in processes.
#[doc(hidden)]
pub mod parts {
    pub use crate::commands::run::in_processes;
    pub use crate::commands::{Cli, Started};
    pub use crate::execute_with;
    pub use crate::flags::arguments::{
        CutArguments, ExecutionsFlag, LinkArguments, ParameterArguments, ProgramArguments, ProtocolFlags,
        ResourceFlags, security,
    };
    pub use crate::flags::page::PageArguments;
    pub use crate::render::failure::Failure;
    pub use crate::render::outcome::promise_text;
    pub use crate::render::report::Report;

    pub mod programs {
        pub use crate::commands::programs::{circuit, program};
    }
}

/// Runs the command line of `brickwork`. Returns the exit code.
pub fn main() -> u8 {
    execute_with(<Cli>::command(), execute)
}

/// Parses the command line with the definition in `command`, and executes it.
#[doc(hidden)]
pub fn execute_with<C: Subcommand>(
    command: clap::Command,
    execute: impl FnOnce(&Cli<C>, &Trail) -> Result<Report, Failure>,
) -> u8 {
    brickwork_kernels::keep_freed();
    let (cli, name) = match parse(command) {
        Ok(parsed) => parsed,
        Err(e) if e.kind() == clap::error::ErrorKind::DisplayVersion => {
            let (here, json) = (Versions::HERE, json_is_asked());
            let printed = if json { print_json(&here) } else { print(&format!("{here}\n")) };
            return printed.map_or_else(|failure| fail(failure.into(), json), |()| 0);
        }
        Err(e) if !e.use_stderr() => {
            // This prints the text of --help.
            return u8::from(e.print().is_err());
        }
        Err(e) => {
            let json = json_is_asked();
            if json_lines_are_asked() {
                render::terminal::write_json();
            } else if !json && !render::failure::is_special(&e) {
                // clap prints its own message with colours.
                let _ = e.print();
                return render::failure::code::USAGE.exit_code();
            }
            return fail(Failure::from(e), json);
        }
    };
    let rotation = cli.rotate.unwrap_or_default();
    if let Err(failure) = start_log(cli.quiet, cli.log.as_deref(), cli.log_format, rotation) {
        return fail(failure, cli.json);
    }
    let open = |path: &PathBuf| Trail::open(path, rotation, &name);
    let trail = match cli.audit.as_ref().map(open).transpose() {
        Ok(trail) => trail.unwrap_or_else(Trail::none),
        Err(failure) => return fail(failure, cli.json),
    };
    system::keep_memory_private();
    survive_limits_of_files();
    print_no_caught_panic();
    let done = trail.of(|| {
        brickwork::resources::check_kernel()?;
        execute(&cli, &trail)
    });
    match done.and_then(|report| Ok(print(&report.text(cli.json)).map(|()| report.exit)?)) {
        Ok(exit) => exit,
        // The flag `--json` may be among the arguments of another program.
        Err(failure) => fail(failure, json_is_asked()),
    }
}

/// Parses the command line with the definition in `command`. Also returns the name of the subcommand.
fn parse<C: Subcommand>(mut command: clap::Command) -> Result<(Cli<C>, String), clap::Error> {
    let mut matches = command.try_get_matches_from_mut(system::words())?;
    let name = matches.subcommand_name().unwrap_or_default().to_owned();
    let cli = Cli::from_arg_matches_mut(&mut matches).map_err(|error| error.format(&mut command))?;
    Ok((cli, name))
}

/// Returns whether the arguments request JSON on stderr, also in a command line that clap could not read.
fn json_lines_are_asked() -> bool {
    let arguments = system::words();
    arguments.iter().any(|argument| argument == "--log-format=json")
        || arguments.windows(2).any(|pair| pair[0] == "--log-format" && pair[1] == "json")
}

/// Returns whether the arguments request JSON, also in a command line that clap could not read.
fn json_is_asked() -> bool {
    system::words().iter().any(|argument| argument == "--json")
}

/// A damaged index makes the database panic; the store turns this panic into an error. So the panic itself is
/// not printed.
fn print_no_caught_panic() {
    let print = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| match render::terminal::is_json() {
        _ if brickwork::disk::is_caught() => {}
        true => tracing::error!("{panic}"),
        false => print(panic),
    }));
}

/// Makes a file that exceeds `ulimit -f` an error of the write. By default a signal would end the process and
/// leave half a file. An empty handler is enough, and child processes do not inherit it.
fn survive_limits_of_files() {
    #[cfg(unix)]
    {
        let kind = tokio::signal::unix::SignalKind::from_raw(rustix::process::Signal::XFSZ.as_raw());
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build();
        let heard = runtime.and_then(|runtime| runtime.block_on(async { tokio::signal::unix::signal(kind) }));
        if let Err(error) = heard {
            tracing::debug!("the system will end this process if a file becomes too large: {error}");
        }
    }
}

fn execute(cli: &Cli, trail: &Trail) -> Result<Report, Failure> {
    match &cli.command {
        Command::Compile(command) => commands::compile::run(command),
        Command::Assemble(command) => commands::assemble::run(command),
        Command::Examples(command) => commands::examples::run(command),
        Command::Info(command) => commands::info::run(command),
        Command::Keygen(command) => commands::keygen::run(command, cli.quiet),
        Command::Simulate(command) => commands::simulate::run(command),
        Command::Run(command) => commands::run::run(command, cli.quiet, trail),
        Command::Garbler(command) => commands::party::run(Party::Garbler, command, None, (cli.quiet, trail)),
        Command::Evaluator(command) => command.run(cli.quiet, trail),
        Command::Preprocess(command) => commands::preprocess::run(command, cli.quiet, trail),
        Command::Maker(command) => commands::maker::run(command, cli.quiet),
        Command::Session(command) => commands::session::run(command, cli.quiet, trail),
        Command::Serve(command) => serve::run(command, cli.quiet, trail),
        Command::Request(command) => serve::request::run(command),
        Command::Health(command) => serve::health::run(command),
        Command::Cluster(command) => commands::cluster::run(command, cli.quiet),
        Command::Started(process) => process.run(cli.quiet),
        Command::Stock(command) => commands::stock::run(command, trail),
        Command::DemoCheat(command) => Err(commands::demo_cheat::run(command, cli.json)),
        Command::Doctor(command) => commands::doctor::run(command, cli.quiet),
        Command::Plan(command) => commands::plan::run(command, cli.quiet),
        Command::Sql(command) => Err(commands::sql::run(command, cli.flags())),
        Command::Bench(command) => Err(commands::bench::run(command, cli.flags())),
        Command::Garble(command) => command.run(),
        Command::GarbledInputs(command) => command.run(),
        Command::EvaluateGarbled(command) => command.run(),
        Command::DecodeGarbled(command) => command.run(),
        Command::Completions(command) => commands::manual::completions(command, <Cli>::command()),
        Command::Man(command) => commands::manual::manual(command, <Cli>::command()),
    }
}

fn fail(failure: Failure, json: bool) -> u8 {
    let printed = if json { failure.json() } else { failure.human() };
    let code = failure.kind().exit_code();
    render::log::fail(&printed, json, (failure.message(), failure.hint()), code);
    failure.exit_code()
}
