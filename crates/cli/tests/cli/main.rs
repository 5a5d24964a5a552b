//! Tests the command as users run it: as another process, with its exit code, stdout and stderr.

mod child;
#[cfg(target_os = "linux")]
mod clock;
mod cluster;
mod ctrl_c;
mod demo_cheat;
mod doctor;
mod embedded;
mod examples;
mod garble;
mod jimu;
mod machine;
mod makers;
mod manual;
mod offline;
mod page;
mod pages;
mod parties;
mod plans;
mod protocols;
mod refusals;
mod schema;
mod seeds;
mod serve;
mod session;
mod stock;
mod trail;
mod tutorial;
mod values;
mod workers;

use std::io::Read;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;

use brickwork::plan;
use brickwork_kernels::Kernel;
use brickwork_testing::command::{ProjectBinary, example, is_error, object, path, text};
use serde_json::Value;
use tempfile::TempDir;

use child::Child;

/// The command.
const BRICKWORK: ProjectBinary =
    ProjectBinary { path: env!("CARGO_BIN_EXE_brickwork"), caches, name: schema::name_of_output };

/// Returns the command with these arguments.
fn brickwork(arguments: &[&str]) -> Command {
    BRICKWORK.command(arguments)
}

/// Returns a cache folder with constants that are always the same. So predictions and chosen cuts depend
/// neither on the load of the machine nor on the user's own folder.
fn caches() -> &'static Path {
    static FOLDER: OnceLock<&Path> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let folder = Path::new(concat!(env!("CARGO_TARGET_TMPDIR"), "/cache"));
        for kernel in Kernel::all_available() {
            let constants = plan::known(kernel.name(), 2);
            assert!(kernel != Kernel::best() || plan::is_whole(&constants), "a run would measure them again");
            brickwork_cli::keep_constants(folder, &constants).expect("a folder of caches");
        }
        folder
    })
}

fn run(arguments: &[&str]) -> Output {
    BRICKWORK.run(arguments)
}

fn good(arguments: &[&str]) -> (String, Value) {
    BRICKWORK.good(arguments)
}

fn bad(arguments: &[&str], code: i32, words: &str) {
    BRICKWORK.bad(arguments, code, words);
}

/// Returns the batches of a report that are copies of a component.
fn components_of(report: &Value) -> Vec<&Value> {
    let batches = report["promise"]["batches"].as_array().expect("batches");
    batches.iter().filter(|batch| batch["kind"] == "component").collect()
}

/// Starts the command in the background.
fn start(arguments: &[&str]) -> Child {
    Child::spawn(&mut brickwork(arguments))
}

fn finish(child: Child) -> Output {
    child.wait_with_output()
}

/// Returns the address that a listening command prints.
fn address(child: &mut Child) -> String {
    let stderr = child.stderr.as_mut().expect("a pipe");
    let mut said = Vec::new();
    loop {
        let line = line(stderr);
        if let Some(address) = line.strip_prefix("waiting for the peer at ") {
            return address.to_owned();
        }
        assert!(!line.is_empty(), "no address: {said:?}");
        said.push(line);
    }
}

/// A program whose output is given as two shares, one to each party.
const SHARED: &str = "#parties 2
typedef uint_t 8 u8
#input 1 u8
#input 2 u8
#shared output child u8
function void main() { child = input1 + input2; }
";

/// Reads a line byte by byte, so that later lines stay in the pipe. Returns the message of a line of JSON.
fn line(pipe: &mut impl Read) -> String {
    let (mut line, mut byte) = (Vec::new(), [0]);
    while pipe.read(&mut byte).expect("a byte") == 1 && byte != *b"\n" {
        line.push(byte[0]);
    }
    match serde_json::from_slice::<Value>(&line) {
        Ok(object) if object["message"].is_string() => object["message"].as_str().expect("text").to_owned(),
        _ => text(&line),
    }
}

/// A folder with the keys of both parties.
struct Keys {
    folder: TempDir,
    garbler: String,
    evaluator: String,
}

impl Keys {
    fn new() -> Self {
        let folder = TempDir::new().expect("a folder");
        let key = |name: &str| {
            let human = run(&["keygen", "-o", &path(&folder.path().join(name))]);
            text(&human.stdout).trim_end().to_owned()
        };
        let (garbler, evaluator) = (key("garbler.key"), key("evaluator.key"));
        Keys { folder, garbler, evaluator }
    }

    fn file(&self, name: &str) -> String {
        path(&self.folder.path().join(name))
    }

    /// Writes a file that only its owner can read.
    fn write(&self, name: &str, content: &[u8]) -> String {
        let file = self.file(name);
        std::fs::write(&file, content).expect("a file");
        private(&file);
        file
    }
}

/// Returns the signal of Ctrl-C. If the tests run in the background of a script, where SIGINT is ignored, it
/// is SIGTERM.
#[cfg(unix)]
fn interrupt() -> &'static str {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status
        .lines()
        .find_map(|line| u64::from_str_radix(line.strip_prefix("SigIgn:")?.trim(), 16).ok())
        .unwrap_or(0);
    if ignored & 2 == 0 { "INT" } else { "TERM" }
}

fn private(path: &str) {
    set_mode(path, 0o600);
}

/// Sets the permissions of a file, if the system has any.
fn set_mode(path: &str, mode: u32) {
    #[cfg(unix)]
    std::fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(mode)).expect("permissions");
    #[cfg(not(unix))]
    let _ = (path, mode);
}

/// Returns the permissions of a file or a folder.
#[cfg(unix)]
fn mode(path: impl AsRef<Path>) -> u32 {
    use std::os::unix::fs::PermissionsExt;
    std::fs::metadata(path).expect("a file").permissions().mode() & 0o777
}
