//! The processes that `brickwork run` starts, one for each party.
//!
//! A child reads its task, the program, its key and its input from stdin. So neither a command line nor a
//! file shows them, and the program is compiled once. The end of stdin shows that the parent has ended. Then
//! the child ends, so that no child outlives its parent.

use std::io::{self, Read, Write};
use std::net::SocketAddr;

use brickwork::Program;
use brickwork::bits::pack;
use brickwork::engine::run::PartyRun;
use brickwork::engine::task::{Host, PartyTask};
use brickwork::wire::tls::Identity;
use brickwork_kernels::{Erasing, SecretBlocks};
use zeroize::Zeroizing;

use crate::commands::party::ChildLine;
use crate::render::failure::{Failure, code};
use crate::render::progress::watch;
use crate::render::report::Report;
use crate::render::terminal::print_json;

/// The name of the command for a child.
pub const COMMAND: &str = "child";

/// The largest message to a child.
const MAX_BYTES: u64 = 8 << 30;

/// Returns the message for a child: its task, the program as [`Program::to_bytes`] writes it, the key in PEM
/// form, and the bits of the input.
pub fn message(
    task: &PartyTask,
    program: &[u8],
    pem: &str,
    input: &[bool],
) -> Result<Zeroizing<Vec<u8>>, Failure> {
    let _erasing = Erasing::begin();
    let bytes = postcard::to_stdvec(&(task, program, pem, input));
    let bytes = Zeroizing::new(bytes.map_err(|e| Failure::fault(format!("cannot encode a task: {e}")))?);
    let mut message = Zeroizing::new(Vec::with_capacity(8 + bytes.len()));
    message.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
    message.extend_from_slice(&bytes);
    Ok(message)
}

/// Writes a message to a child. An error is ignored here: if the child has ended, its own output explains
/// why.
pub fn send(stdin: &mut impl Write, message: &[u8]) {
    let _ = stdin.write_all(message).and_then(|()| stdin.flush());
}

/// Runs the party that the message on stdin describes.
pub fn run(quiet: bool) -> Result<Report, Failure> {
    let broken = || {
        let hint = "call `brickwork garbler`, `brickwork evaluator` or `brickwork run`";
        Failure::usage(format!("only `brickwork run` may call `brickwork {COMMAND}`"), hint)
    };
    let mut length = [0; 8];
    io::stdin().lock().read_exact(&mut length).map_err(|_| broken())?;
    let length = u64::from_le_bytes(length);
    if length > MAX_BYTES {
        return Err(broken());
    }
    let mut bytes = Zeroizing::new(Vec::new());
    io::stdin().lock().take(length).read_to_end(&mut bytes).map_err(|_| broken())?;
    std::thread::spawn(|| {
        let mut rest = [0; 64];
        while matches!(io::stdin().lock().read(&mut rest), Ok(1..)) {}
        std::process::exit(code::NETWORK.exit_code().into());
    });
    let erasing = Erasing::begin();
    let (task, program, pem, input): (PartyTask, &[u8], &str, Vec<bool>) =
        postcard::from_bytes(&bytes).map_err(|_| broken())?;
    let input = SecretBlocks::new(input);
    let (program, identity) = (Program::from_bytes(program)?, Identity::from_pem(pem)?);
    drop((bytes, erasing));
    let mut listens = |address: SocketAddr| print_json(&ChildLine::Listening(address.to_string()));
    let mut host = Host { listens: &mut listens, watch: &watch(quiet), line: None, warns: true };
    let PartyRun { outputs, report, .. } = task.run(&program, (&identity, &input), &mut host)?;
    let said = ChildLine::Done {
        bits: outputs.len(),
        outputs: pack(outputs.iter().map(|bit| u8::from(*bit))),
        report: Box::new(report),
    };
    Report::new(&said, String::new())
}
