//! What `brickwork run` hands to the processes that it starts, and how they hear that it has ended.

use std::io::{self, BufRead, Read, Write};

use brickwork::wire::tls::Identity;
use brickwork_kernels::Erasing;
use serde_json::{Value, json};
use zeroize::{Zeroize, Zeroizing};

use crate::failure::{Failure, code};

/// Longest line that a parent sends: a key and an input.
const MAX_LINE_BYTES: u64 = 1 << 30;

/// Reads what the parent sends as the one line of stdin.
pub fn to_child(pem: &str, input: &Value) -> Zeroizing<String> {
    let _erasing = Erasing::begin();
    Zeroizing::new(format!("{}\n", json!({ "identity": pem, "input": input })))
}

/// Reads what [`to_child`] wrote. From now on the end of stdin is the end of the parent, and of this process.
pub fn from_parent() -> Result<(Identity, Value), Failure> {
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
        std::process::exit(code::NETWORK.into());
    });
    let mut value: Value = serde_json::from_str(&line).map_err(|_| broken())?;
    let Some(Value::String(pem)) = value.get_mut("identity") else { return Err(broken()) };
    let identity = Identity::from_pem(pem)?;
    pem.zeroize();
    Ok((identity, value["input"].take()))
}

/// Writes a line; a stream that is gone is no reason to panic.
pub fn write_to(stream: &mut impl Write, text: &str) -> io::Result<()> {
    stream.write_all(text.as_bytes())?;
    stream.flush()
}
