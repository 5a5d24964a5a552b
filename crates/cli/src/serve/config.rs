//! The configuration of a service: its key, its peer, the programs that it may run, and its limits.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use brickwork::circuit::{Party, Program};
use brickwork::duplo;
use brickwork::program::repeated;
use brickwork::reading;
use brickwork_kernels::{Erasing, SecretBlocks};
use serde::Deserialize;
use tokio_rustls::TlsAcceptor;
use zeroize::Zeroizing;

use super::budget::RunBudget;
use super::place::HttpPlace;
use super::secure;
use crate::commands::{files, programs};
use crate::render::failure::Failure;
use crate::render::report::{bytes, hex, plural};
use crate::render::trail::NamedProgram;
use brickwork::resources;

/// The content of the configuration file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    role: String,
    identity: PathBuf,
    peer: String,
    listen: Option<String>,
    connect: Option<String>,
    http: String,
    token: Option<PathBuf>,
    #[serde(default)]
    tokens: Vec<TokenEntry>,
    tls: Option<TlsEntry>,
    #[serde(default = "forty")]
    security: u32,
    threads: Option<usize>,
    #[serde(default)]
    limits: RequestLimits,
    #[serde(default)]
    program: Vec<Entry>,
}

fn forty() -> u32 {
    40
}

/// Limits on requests by users, by the peer and by connections without a token.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RequestLimits {
    /// The largest number of waiting requests.
    pub waiting: usize,
    /// The largest number of HTTP connections, not counting those of waiting requests. Beyond it, the oldest
    /// connection is closed.
    pub connections: usize,
    /// The average number of HTTP requests per second, counted separately for requests with and without the
    /// token. Bursts of twice as many are allowed.
    pub requests_per_second: u32,
    /// The largest body of a request, in bytes.
    pub request_bytes: usize,
    /// The longest time in seconds that a request waits for the peer, its input, or stock.
    pub wait_seconds: u64,
    /// The time in seconds after which a connection to a silent peer is given up.
    pub stall_seconds: u64,
    /// The longest time in seconds of a run, from the offer on.
    pub run_seconds: u64,
    /// The memory for making the stock of a program, such as 4GiB. The default is the free memory.
    pub memory: Option<String>,
}

impl Default for RequestLimits {
    fn default() -> Self {
        RequestLimits {
            waiting: 64,
            connections: 64,
            requests_per_second: 100,
            request_bytes: 1 << 20,
            wait_seconds: 60,
            stall_seconds: 30,
            run_seconds: 300,
            memory: None,
        }
    }
}

impl RequestLimits {
    pub fn wait(&self) -> Duration {
        Duration::from_secs(self.wait_seconds)
    }

    pub fn run(&self) -> Duration {
        Duration::from_secs(self.run_seconds)
    }

    pub fn stall(&self) -> Duration {
        Duration::from_secs(self.stall_seconds)
    }
}

/// The files of the certificate for requests, and of its private key.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TlsEntry {
    certificate: PathBuf,
    key: PathBuf,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TokenEntry {
    name: String,
    file: PathBuf,
    programs: Option<Vec<String>>,
    total: Option<u64>,
    per_hour: Option<u64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    name: String,
    file: PathBuf,
    input: Option<String>,
    outputs: Option<PathBuf>,
    #[serde(default)]
    low: u64,
    #[serde(default)]
    high: u64,
    total: Option<u64>,
    per_hour: Option<u64>,
}

/// A token, which lets its holder request runs.
pub struct NamedToken {
    pub name: String,
    /// The hash of the token. Hashes are compared, so that the time reveals nothing about the token.
    hash: blake3::Hash,
    /// The names of the programs that the holder may request, if not all.
    programs: Option<Vec<String>>,
    /// The number of runs that the holder may request.
    pub budget: RunBudget,
}

impl NamedToken {
    /// Makes a token without limits, for tests.
    #[cfg(test)]
    pub fn of(name: &str, text: &str) -> Arc<Self> {
        let hash = blake3::hash(text.as_bytes());
        Arc::new(NamedToken { name: name.into(), hash, programs: None, budget: RunBudget::default() })
    }

    /// Returns whether the holder may request this program.
    pub fn allows(&self, allowed: &Allowed) -> bool {
        self.programs.as_ref().is_none_or(|programs| programs.contains(&allowed.name))
    }
}

/// A program that may run.
pub struct Allowed {
    pub name: String,
    pub program: Arc<Program>,
    pub digest: [u8; 32],
    /// This party's standing input, for requests of the peer's users.
    pub input: Option<SecretBlocks<bool>>,
    /// The file for the outputs of runs that no user of this party has requested, one line of JSON for each.
    pub outputs: Option<PathBuf>,
    /// Stock is made when fewer executions than `low` are in stock, until there are `high`.
    pub low: u64,
    pub high: u64,
    /// The number of runs with the peer.
    pub budget: RunBudget,
}

impl Allowed {
    /// Returns the program's name for the audit trail.
    pub fn named(&self) -> NamedProgram {
        NamedProgram { name: self.name.clone(), digest: hex(&self.digest) }
    }
}

/// The way to reach the peer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PeerRoute {
    Listen(String),
    Connect(String),
}

/// The values that cannot change while the service runs.
pub struct Fixed {
    pub party: Party,
    pub identity: PathBuf,
    pub peer: String,
    pub place: PeerRoute,
    pub http: HttpPlace,
    pub security: u32,
    pub threads: Option<usize>,
}

/// The values that may change while the service runs.
pub struct Config {
    pub limits: RequestLimits,
    pub programs: BTreeMap<[u8; 32], Allowed>,
    /// The tokens. Each request for a run must contain one.
    pub tokens: Vec<Arc<NamedToken>>,
    /// TLS for requests, if they use it.
    pub tls: Option<TlsAcceptor>,
}

/// The largest time limit: a week.
const MAX_SECONDS: u64 = 7 * 24 * 3600;

/// The minimum length of a token, in characters.
const TOKEN_CHARACTERS: usize = 32;

const HINT: &str = "docs/guides/serve.md explains each line and has an example";

/// Reads the configuration file, and all files that it names. Paths are relative to it.
pub fn read(path: &Path) -> Result<(Fixed, Config), Failure> {
    let wrong = |why: String| Failure::input(format!("{}: {why}", path.display()), HINT);
    // The text may contain inputs, and parsers do not erase their memory.
    let _erasing = Erasing::begin();
    let file: File = files::toml(path, true, HINT)?;
    let folder = path.parent().unwrap_or(Path::new(""));
    let party = match file.role.as_str() {
        "garbler" => Party::Garbler,
        "evaluator" => Party::Evaluator,
        _ => return Err(wrong("role must be garbler or evaluator".into())),
    };
    let place = match (file.listen, file.connect) {
        (Some(address), None) => PeerRoute::Listen(address),
        (None, Some(address)) => PeerRoute::Connect(address),
        _ => return Err(wrong("give listen with this party's address, or connect with the peer's".into())),
    };
    let http = match file.http.parse().map_err(|why| wrong(format!("http: {why}")))? {
        HttpPlace::Tcp(address) if !address.ip().is_loopback() && file.tls.is_none() => {
            return Err(wrong(format!(
                "http = {address}: without [tls] the service accepts requests only from this machine; use an \
                 address such as 127.0.0.1:8080, or give a certificate in [tls]"
            )));
        }
        HttpPlace::Unix(path) => HttpPlace::Unix(folder.join(path)),
        http => http,
    };
    crate::flags::arguments::security(&file.security.to_string())
        .map_err(|why| wrong(format!("security: {why}")))?;
    let limits = file.limits;
    let counts = [limits.waiting, limits.connections, limits.request_bytes];
    let seconds = [limits.wait_seconds, limits.stall_seconds, limits.run_seconds];
    if counts.contains(&0) || seconds.contains(&0) || limits.requests_per_second == 0 {
        return Err(wrong(
            "a limit of 0 would refuse everything; leave the line out or give a larger number".into(),
        ));
    }
    if seconds.iter().any(|&seconds| seconds > MAX_SECONDS) {
        return Err(wrong(format!("a limit of time may be at most {MAX_SECONDS} seconds")));
    }
    let memory = limits.memory.as_deref().map(crate::flags::arguments::size).transpose();
    let memory = memory.map_err(|why| wrong(format!("memory: {why}")))?.or_else(resources::available_bytes);
    let mut all = BTreeMap::new();
    for entry in file.program {
        let within = |e: Failure| e.within(&path.display().to_string());
        let allowed = allowed(entry, folder, party).map_err(within)?;
        if let Some(memory) = memory {
            fits(&allowed, party, file.security, memory).map_err(within)?;
        }
        if all.values().any(|other: &Allowed| other.name == allowed.name) {
            return Err(wrong(format!("two programs are called {}", allowed.name)));
        }
        if let Some(other) = all.insert(allowed.digest, allowed) {
            return Err(wrong(format!("the program {} is listed twice, under two names", other.name)));
        }
    }
    let only = file.token.map(|file| TokenEntry {
        name: "token".into(),
        file,
        programs: None,
        total: None,
        per_hour: None,
    });
    let mut tokens: Vec<Arc<NamedToken>> = Vec::new();
    for TokenEntry { name, file, programs, total, per_hour } in only.into_iter().chain(file.tokens) {
        let unknown = |name: &&String| !all.values().any(|allowed| allowed.name == **name);
        if let Some(unknown) = programs.iter().flatten().find(unknown) {
            return Err(wrong(format!("the token {name} is for {unknown}, which is no program here")));
        }
        let hash = blake3::hash(token(&folder.join(file))?.as_bytes());
        if tokens.iter().any(|other| other.name == name || other.hash == hash) {
            return Err(wrong(format!("the token {name} is there twice, by its name or its content")));
        }
        tokens.push(Arc::new(NamedToken { name, hash, programs, budget: RunBudget { total, per_hour } }));
    }
    if tokens.is_empty() {
        return Err(wrong("token, or a table [[tokens]], is needed".into()));
    }
    let tls = file.tls.map(|TlsEntry { certificate, key }| {
        secure::acceptor(&folder.join(certificate), &folder.join(key)).map_err(|e| e.within("tls"))
    });
    let peer = match file.peer.strip_prefix('@') {
        Some(name) => format!("@{}", folder.join(name).display()),
        None => file.peer,
    };
    let fixed = Fixed {
        party,
        identity: folder.join(file.identity),
        peer,
        place,
        http,
        security: file.security,
        threads: file.threads,
    };
    Ok((fixed, Config { limits, programs: all, tokens, tls: tls.transpose()? }))
}

/// Checks that a program's stock can be made in this much memory. At most `high` executions are made at a
/// time, and a run needs less memory than making its stock.
fn fits(allowed: &Allowed, party: Party, security: u32, memory: u64) -> Result<(), Failure> {
    let takes = |executions: u32| -> Result<u64, Failure> {
        let program = repeated(&allowed.program, Some(executions))?;
        let parameters = duplo::Parameters::choose(&program, security)?;
        Ok(duplo::memory::peaks(&program, &parameters)[party as usize])
    };
    let high = u32::try_from(allowed.high.max(1)).unwrap_or(u32::MAX);
    let needed = takes(high)?;
    if needed <= memory {
        return Ok(());
    }
    // The loop finds the largest number that fits, by halving.
    let (mut fit, mut too_many) = (0, high);
    while too_many - fit > 1 {
        let middle = fit + (too_many - fit) / 2;
        if takes(middle)? <= memory { fit = middle } else { too_many = middle }
    }
    let hint = match fit {
        0 => "give the service more memory, or cut the program into smaller components".into(),
        _ => format!("high = {fit} fits; or raise memory in [limits]"),
    };
    Err(Failure::input(
        format!(
            "{}: making stock for {} needs some {} of memory, but the service may use only {}",
            allowed.name,
            plural(high.into(), "execution"),
            bytes(needed),
            bytes(memory)
        ),
        &hint,
    ))
}

fn allowed(entry: Entry, folder: &Path, party: Party) -> Result<Allowed, Failure> {
    let program = programs::circuit(&folder.join(&entry.file), &Default::default())?;
    if program.draws() {
        return Err(Failure::input(
            format!("{}: the program has shared outputs, whose masks must be new in each run", entry.name),
            "a service keeps its inputs; run the program with `brickwork garbler` and `brickwork evaluator`",
        ));
    }
    if entry.low > entry.high {
        return Err(Failure::input(
            format!(
                "{}: low is {}, but must not be larger than high, which is {}",
                entry.name, entry.low, entry.high
            ),
            "the service makes stock when less than low is left, until it has high",
        ));
    }
    let input = entry.input.map(|text| {
        let text = match text.strip_prefix('@') {
            Some(name) => format!("@{}", folder.join(name).display()),
            None => text,
        };
        reading::step_bits(
            reading::GivenValue::Text(&text),
            program.input_ports(party),
            party,
            &reading::ReadingOptions { private: true, ..Default::default() },
        )
        .map_err(|e| e.within(&entry.name))
    });
    let outputs = entry.outputs.map(|path| folder.join(path));
    if let Some(path) = &outputs {
        files::append_private(path)?;
    }
    Ok(Allowed {
        digest: program.digest(),
        input: input.transpose()?,
        outputs,
        name: entry.name,
        low: entry.low,
        high: entry.high,
        budget: RunBudget { total: entry.total, per_hour: entry.per_hour },
        program,
    })
}

/// Reads the token, which is a line in a file that only its owner can read.
pub fn token(path: &Path) -> Result<Zeroizing<String>, Failure> {
    let _erasing = Erasing::begin();
    let name = path.display().to_string();
    let hint = "`openssl rand -hex 32 > FILE && chmod 600 FILE` makes one";
    let bytes = files::private_bytes(path, files::MAX_KEY_BYTES).map_err(|e| e.advise(hint))?;
    let token = files::utf8(&bytes, &name, hint)?.trim();
    if token.len() < TOKEN_CHARACTERS || !token.bytes().all(|b| b.is_ascii_graphic()) {
        return Err(Failure::input(
            format!(
                "{name} does not contain a token; a token needs at least {TOKEN_CHARACTERS} printable \
                 characters without spaces"
            ),
            hint,
        ));
    }
    Ok(Zeroizing::new(token.to_owned()))
}

impl Config {
    /// Returns the token with this text.
    pub fn token(&self, text: &[u8]) -> Option<Arc<NamedToken>> {
        let hash = blake3::hash(text);
        self.tokens.iter().find(|token| token.hash == hash).cloned()
    }

    /// Returns the program of a request, given its name or at least eight digits of its digest.
    pub fn named(&self, name: &str) -> Option<&Allowed> {
        let by_name = self.programs.values().find(|allowed| allowed.name == name);
        by_name.or_else(|| {
            let mut fitting = self
                .programs
                .values()
                .filter(|allowed| name.len() >= 8 && hex(&allowed.digest).starts_with(name));
            fitting.next().filter(|_| fitting.next().is_none())
        })
    }
}
