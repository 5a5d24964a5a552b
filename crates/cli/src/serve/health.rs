//! `brickwork health`: asks a service on this machine whether it lives, or whether it would serve requests.

use std::fmt;

use clap::Args;
use hyper::Method;
use serde::{Deserialize, Serialize};

use super::place::HttpPlace;
use super::request::{CertificateFlag, ask};
use crate::render::failure::Failure;
use crate::render::report::Report;

/// Ask a service on this machine whether it is up; the exit code tells, also where there is no shell
#[derive(Args)]
pub struct HealthFlags {
    /// Where the service takes requests: an address, or unix:PATH
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:8080")]
    at: HttpPlace,
    #[command(flatten)]
    known: CertificateFlag,
    /// Ask whether it would serve requests now: the peer, the stock, the budget and the disk
    #[arg(long)]
    ready: bool,
}

/// The state of a service.
#[derive(Serialize, Deserialize)]
struct Health {
    status: String,
    #[serde(default)]
    reasons: Vec<Reason>,
}

#[derive(Serialize, Deserialize)]
struct Reason {
    cause: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    program: Option<String>,
    text: String,
}

impl fmt::Display for Health {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.status)
    }
}

/// Asks a service for its state. A service that is not ready is an error.
pub fn run(arguments: &HealthFlags) -> Result<Report, Failure> {
    let path = if arguments.ready { "/ready" } else { "/health" };
    let (status, answer) = ask((&arguments.at, &arguments.known), Method::GET, path, None, String::new())?;
    let other = |_| Failure::other("the answer is not that of `brickwork serve`", "is --at the right place?");
    let health: Health = serde_json::from_value(answer).map_err(other)?;
    if status == 200 {
        return Report::of(&health);
    }
    let texts: Vec<&str> = health.reasons.iter().map(|reason| &*reason.text).collect();
    let error = format!("the service is {}: {}", health.status, texts.join("; "));
    Err(Failure::other(error, "docs/guides/operations.md says what to do for each reason"))
}
