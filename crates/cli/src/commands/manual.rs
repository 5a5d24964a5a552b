//! `brickwork completions` and `brickwork man`: shell completions and manual pages, from the same source as
//! `--help`.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use clap::Args;
use clap_complete::Shell;
use clap_mangen::Man;

use crate::render::failure::Failure;
use crate::render::report::Report;

/// Print a script for a shell that completes the command's flags
///
/// Save it to a file: for bash ~/.local/share/bash-completion/completions/brickwork, for zsh _brickwork in a
/// folder of $fpath, for fish ~/.config/fish/completions/brickwork.fish.
#[derive(Args)]
pub struct Completions {
    /// The shell
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

/// Print the manual page, or write the pages of all commands
///
/// `brickwork man | man -l -` shows it.
#[derive(Args)]
pub struct Manual {
    /// Write the pages of all commands into this folder, such as ~/.local/share/man/man1
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
}

/// Prints completions for a shell; `command` is the whole command.
pub fn completions(arguments: &Completions, mut command: clap::Command) -> Result<Report, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut command, NAME, &mut script);
    let script = text(script)?;
    let fields = BTreeMap::from([("shell", arguments.shell.to_string()), ("script", script.clone())]);
    Report::new(&fields, script)
}

pub fn manual(arguments: &Manual, command: clap::Command) -> Result<Report, Failure> {
    let mut command = command.disable_help_subcommand(true);
    command.build();
    let Some(folder) = &arguments.output else {
        let page = text(page(command)?.1)?;
        return Report::new(&BTreeMap::from([("page", &page)]), page.clone());
    };
    fs::create_dir_all(folder).map_err(|e| Failure::cannot_write(folder, &e))?;
    let mut written = Vec::new();
    for command in with_commands(command) {
        let (name, page) = page(command)?;
        let path = folder.join(name);
        fs::write(&path, page).map_err(|e| Failure::cannot_write(&path, &e))?;
        written.push(path.display().to_string());
    }
    let human = written.iter().map(|path| format!("{path}\n")).collect();
    Report::new(&BTreeMap::from([("written", written)]), human)
}

const NAME: &str = "brickwork";

/// Returns a command with all its subcommands.
fn with_commands(command: clap::Command) -> Vec<clap::Command> {
    let below: Vec<_> = command.get_subcommands().filter(|below| !below.is_hide_set()).cloned().collect();
    std::iter::once(command).chain(below.into_iter().flat_map(with_commands)).collect()
}

/// Returns the name of a command's page, and the page.
fn page(command: clap::Command) -> Result<(String, Vec<u8>), Failure> {
    let man = Man::new(command).source(concat!("brickwork ", env!("CARGO_PKG_VERSION"))).manual("Brickwork");
    let mut page = Vec::new();
    man.render(&mut page).map_err(|e| Failure::fault(format!("a manual page cannot be made: {e}")))?;
    Ok((man.get_filename(), page))
}

fn text(bytes: Vec<u8>) -> Result<String, Failure> {
    String::from_utf8(bytes).map_err(|_| Failure::fault("the help is not text"))
}
