//! `brickwork request`: sends a request to a service on this machine.

use std::path::{Path, PathBuf};

use brickwork_kernels::Erasing;
use clap::Args;
use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper::header::{AUTHORIZATION, HOST};
use hyper::{Method, Request};
use hyper_util::rt::TokioIo;
use serde::Serialize;
use serde_json::Value;

use super::config;
use super::place::HttpPlace;
use super::secure::KnownService;
use crate::commands::files;
use crate::render::failure::{Failure, code};
use crate::render::report::Report;
use brickwork::system;

/// Ask a service on this machine for a run
#[derive(Args)]
pub struct RequestFlags {
    /// The program: its name in the service's configuration, or the first digits of its digest
    program: String,
    /// This party's input: JSON, @FILE, or - for stdin
    #[arg(long, value_name = "VALUE")]
    input: Option<String>,
    /// Joins this request with the one of the same id at the peer's service
    #[arg(long, value_name = "TEXT")]
    id: Option<String>,
    /// Where the service takes requests: an address, or unix:PATH
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:8080")]
    at: HttpPlace,
    #[command(flatten)]
    known: CertificateFlag,
    /// The file with the service's token
    #[arg(long, value_name = "FILE")]
    token: PathBuf,
}

#[derive(Args)]
pub struct CertificateFlag {
    /// The service's certificate, if it takes requests over TLS
    #[arg(long, value_name = "FILE")]
    certificate: Option<PathBuf>,
}

impl CertificateFlag {
    fn read(&self) -> Result<Option<KnownService>, Failure> {
        self.certificate.as_deref().map(KnownService::read).transpose()
    }
}

pub fn run(arguments: &RequestFlags) -> Result<Report, Failure> {
    let token = config::token(&arguments.token)?;
    let input = match &arguments.input {
        Some(text) => value(text)?,
        None => Value::Null,
    };
    let asked = Asked { program: &arguments.program, id: arguments.id.as_deref(), input };
    let body = serde_json::to_string(&asked).map_err(|e| Failure::fault(e.to_string()))?;
    let (status, answer) = ask((&arguments.at, &arguments.known), Method::POST, "/run", Some(&token), body)?;
    if status == 200 {
        return Report::new(&answer, format!("{}\n", answer["outputs"]));
    }
    let text = |key: &str| answer[key].as_str().unwrap_or("the service gave no reason").to_owned();
    let mut hint = text("hint");
    if let Some(seconds) = answer["retry_after"].as_u64() {
        hint += &format!("; ask again in {seconds} s");
    }
    // The first statuses are errors of the user; the others may disappear without a change.
    Err(match status {
        400 | 404 | 413 => Failure::input(text("error"), hint),
        401 | 403 | 405 | 409 => Failure::usage(text("error"), hint),
        _ => Failure::other(text("error"), hint),
    })
}

/// A request for a run.
#[derive(Serialize)]
struct Asked<'a> {
    program: &'a str,
    id: Option<&'a str>,
    input: Value,
}

/// Sends a request to the service at this place. Returns the status and the JSON of the answer.
pub fn ask(
    (at, known): (&HttpPlace, &CertificateFlag),
    method: Method,
    path: &str,
    token: Option<&str>,
    body: String,
) -> Result<(u16, Value), Failure> {
    let unreachable = |why: String| {
        Failure::new(
            code::NETWORK,
            format!("the service at {at} does not answer: {}", system::translated(&why)),
            "check that `brickwork serve` runs; --at must be the http of its configuration, and \
             --certificate its certificate, if it has one",
        )
    };
    let known = known.read()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|e| unreachable(e.to_string()))?;
    let host = match at {
        HttpPlace::Tcp(address) => address.to_string(),
        HttpPlace::Unix(_) => "localhost".into(),
    };
    let answered = runtime.block_on(async {
        let stream = at.connect().await.map_err(|e| e.to_string())?;
        let stream = match &known {
            Some(known) => known.connect(stream).await?,
            None => stream,
        };
        let (mut sender, connection) =
            hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.map_err(|e| e.to_string())?;
        tokio::spawn(connection);
        let mut request = Request::builder().method(method).uri(path).header(HOST, host);
        if let Some(token) = token {
            request = request.header(AUTHORIZATION, format!("Bearer {token}"));
        }
        let request = request.body(Full::new(Bytes::from(body))).map_err(|e| e.to_string())?;
        let response = sender.send_request(request).await.map_err(|e| e.to_string())?;
        let status = response.status().as_u16();
        let bytes = response.into_body().collect().await.map_err(|e| e.to_string())?.to_bytes();
        Ok((status, bytes))
    });
    let (status, bytes) = answered.map_err(unreachable)?;
    let answer = serde_json::from_slice(&bytes)
        .map_err(|_| unreachable("the answer is not JSON; another service may use this address".into()))?;
    Ok((status, answer))
}

/// Reads a value that is given inline, in a file or on stdin.
fn value(text: &str) -> Result<Value, Failure> {
    let _erasing = Erasing::begin();
    let path = match text.strip_prefix('@') {
        Some(path) => Path::new(path),
        None if text == "-" => Path::new("-"),
        None => return Ok(brickwork::circuit::value::parse(text)?),
    };
    let bytes = files::value_bytes(path, false)?;
    let name = path.display().to_string();
    let text = files::utf8(&bytes, &name, "a value must be JSON text")?;
    brickwork::circuit::value::parse(text).map_err(|e| Failure::from(e).within(&name))
}
