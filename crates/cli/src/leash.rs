//! The connection between `brickwork run` and the processes that it starts: they receive their secrets by it,
//! and notice its end.

use std::io::{self, BufRead, Read, Write};

use brickwork::wire::tls::Identity;
use brickwork_kernels::{Erasing, Secrets};
use serde_json::{Value, json};
use zeroize::Zeroizing;

use crate::failure::{Failure, code};
use crate::report::bit_string;

/// Longest line that a parent sends: a key and an input.
const MAX_LINE_BYTES: u64 = 1 << 30;

/// Returns the only line that the parent writes to stdin: the key, and the bits of the input.
pub fn to_child(pem: &str, input: &[bool]) -> Zeroizing<String> {
    let _erasing = Erasing::begin();
    Zeroizing::new(format!("{}\n", json!({ "identity": pem, "input": bit_string(input) })))
}

/// Reads what [`to_child`] wrote. After that, the end of stdin means that the parent has ended, and it ends
/// this process.
pub fn from_parent() -> Result<(Identity, Secrets<bool>), Failure> {
    let broken = || {
        Failure::usage(
            "--leash is for `brickwork run` alone",
            "leave it out, and give --input and --identity",
        )
    };
    let mut line = Zeroizing::new(String::new());
    io::stdin().lock().take(MAX_LINE_BYTES).read_line(&mut line).map_err(|_| broken())?;
    std::thread::spawn(|| {
        let mut rest = [0; 64];
        while matches!(io::stdin().lock().read(&mut rest), Ok(1..)) {}
        std::process::exit(code::NETWORK.exit_code().into());
    });
    let _erasing = Erasing::begin();
    let value: Value = serde_json::from_str(&line).map_err(|_| broken())?;
    let (Some(pem), Some(input)) = (value["identity"].as_str(), value["input"].as_str()) else {
        return Err(broken());
    };
    if input.bytes().any(|bit| !matches!(bit, b'0' | b'1')) {
        return Err(broken());
    }
    Ok((Identity::from_pem(pem)?, input.bytes().map(|bit| bit == b'1').collect()))
}

/// Writes a line; a closed stream is no reason to panic.
pub fn write_to(stream: &mut impl Write, text: &str) -> io::Result<()> {
    stream.write_all(text.as_bytes())?;
    stream.flush()
}
