//! Making stock with the peer, before the programs that use it are known.

use std::fmt::{self, Write as _};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use brickwork_circuit::Party;
use brickwork_protocol::{PhaseReport, Promise};
use brickwork_store::MAX_WORKERS;
use brickwork_wire::tls::{Identity, PublicKey};
use serde::{Deserialize, Serialize};

use crate::engine::report::phases_text;
use crate::engine::request::{AgreedParameters, Protocol, Resources, RunRequest};
use crate::engine::stocked::{Requested, StockOptions, StockRequest};
use crate::engine::task::{Endpoint, Host};
use crate::engine::ways::Protocols;
use crate::failure::Error;
use crate::files;
use crate::maker::{self, Hired};
use crate::options::{RunOptions, within, wrong};
use crate::party;
use crate::program::Program;
use crate::store::StoreRequest;
use brickwork_report::words::plural;

/// A component of a file, or all of them, and the number of uses.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ComponentCount {
    pub file: PathBuf,
    /// The name of the component; all components of the program if none.
    pub name: Option<String>,
    pub count: u32,
}

/// The form of a list file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct List {
    component: Vec<ComponentCount>,
}

impl FromStr for ComponentCount {
    type Err = Error;

    /// Reads `FILE:NAME=COUNT` or `FILE=COUNT`.
    fn from_str(text: &str) -> Result<Self, Error> {
        let bad = || {
            Error::usage(
                format!("--component {text}: expected FILE:NAME=COUNT or FILE=COUNT"),
                "COUNT is the number of uses of the component, or of runs of the program; `brickwork info \
                 FILE` lists the names",
            )
        };
        let (what, count) = text.rsplit_once('=').ok_or_else(bad)?;
        let count = count.parse().map_err(|_| bad())?;
        // The file's own name may contain a colon.
        match what.rsplit_once(':') {
            Some((file, name)) if !Path::new(what).is_file() && !file.is_empty() => {
                Ok(ComponentCount { file: file.into(), name: Some(name.into()), count })
            }
            _ if what.is_empty() => Err(bad()),
            _ => Ok(ComponentCount { file: what.into(), name: None, count }),
        }
    }
}

impl ComponentCount {
    /// Reads requests in the form of arguments, and those of a list file.
    ///
    /// # Errors
    /// An error of usage if an argument has another form; an error of input if the file is malformed.
    pub fn read(texts: &[String], list: Option<&Path>) -> Result<Vec<Self>, Error> {
        let mut all = texts.iter().map(|text| text.parse()).collect::<Result<Vec<Self>, _>>()?;
        if let Some(path) = list {
            let hint = "a list must have tables [[component]] with file, name and count";
            let List { component: list } = files::toml(path, false, hint)?;
            // Paths in a list are relative to its file.
            let folder = path.parent().unwrap_or(Path::new(""));
            all.extend(list.into_iter().map(|one| ComponentCount { file: folder.join(&one.file), ..one }));
        }
        Ok(all)
    }

    /// Reads the text of a list file, if it is valid.
    #[doc(hidden)]
    pub fn list(text: &str) -> Option<Vec<Self>> {
        toml::from_str(text).map(|list: List| list.component).ok()
    }

    /// Returns the request with its program, which was read from the file.
    pub fn of(self, program: &Program) -> Requested {
        let ComponentCount { file, name, count } = self;
        Requested { file: file.display().to_string(), program: program.given().clone(), name, count }
    }
}

/// A request to make stock with the peer.
#[derive(Clone, Debug)]
pub struct PreprocessRequest {
    /// The role of this party.
    pub role: Party,
    /// The public key of the peer.
    pub peer: PublicKey,
    /// The way to reach the peer.
    pub place: Endpoint,
    pub store: StoreRequest,
    pub components: Vec<Requested>,
    /// The protocol and its options.
    pub wishes: StockOptions,
    pub resources: Resources,
    /// Workers on other machines of this party.
    pub makers: Vec<Hired>,
    /// The addresses of the peer's workers that are on other machines.
    pub worker_at: Vec<String>,
}

impl PreprocessRequest {
    /// Makes the stock. The key of this party is also given in PEM form, because makers need it.
    ///
    /// # Errors
    /// Errors of usage, before the store is opened; those of the store, of the network and of the protocol.
    pub fn run(&self, (identity, pem): (Identity, &str), host: &mut Host) -> Result<StockMade, Error> {
        let PreprocessRequest { role, peer, makers, worker_at, wishes, .. } = self;
        let asked = StockRequest::of(&self.components, wishes)?;
        maker::check(makers, identity.public_key(), *peer)?;
        let workers = wishes.workers.unwrap_or(0) as usize;
        let most = makers.len().max(worker_at.len());
        if most > workers {
            let hint = "raise --workers on both sides";
            return Err(Error::usage(format!("there are {most} makers, but only {workers} workers"), hint));
        }
        let StockOptions { protocol, security, cot, .. } = *wishes;
        let parameters =
            AgreedParameters { security, cot, ..AgreedParameters::new(Protocols::from(protocol)) };
        let request = RunRequest { resources: self.resources, ..RunRequest::new(parameters) };
        let mut party = party::Party::with_request(*role, identity, request);
        party = party.peer(*peer).at(self.place.clone());
        party.store(self.store.open()?);
        if matches!(self.place, Endpoint::Listen(_)) {
            (host.listens)(party.bind()?)?;
        }
        let crew = party::Crew { workers, makers, worker_at, pem };
        let (done, phases) = party.fill(protocol, &asked, &crew, host.watch)?;
        Ok(StockMade {
            role: *role,
            protocol,
            steps: asked.words,
            resumed: done.resumed,
            phases,
            store: self.store.store.display().to_string(),
            workers: wishes.workers,
            promise: asked.promise,
        })
    }
}

/// The stock that was made.
#[derive(Clone, Debug, Serialize)]
pub struct StockMade {
    /// The role of this party.
    pub role: Party,
    pub protocol: Protocol,
    /// The stock in words.
    pub steps: Vec<String>,
    /// The number of steps that an interrupted command had completed.
    pub resumed: u32,
    /// The time and the bytes of each phase.
    pub phases: Vec<PhaseReport>,
    /// The folder of the store.
    pub store: String,
    /// The number of workers, if the request names one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workers: Option<u32>,
    /// The promise of all runs from this stock, if it is known now.
    #[serde(skip)]
    promise: Option<Promise>,
}

impl StockMade {
    /// Returns the text for the user; with `quiet`, without the phases.
    pub fn text(&self, quiet: bool) -> String {
        let mut text = self.steps.iter().map(|step| format!("in stock: {step}\n")).collect::<String>();
        if self.resumed > 0 {
            let steps = plural(self.resumed.into(), "step");
            let _ = writeln!(text, "{steps} of them from a run that was interrupted");
        }
        text += &phases_text(&self.phases, &[], quiet);
        self.promise.iter().fold(text, |text, promise| text + &promise.to_string())
    }
}

impl fmt::Display for StockMade {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text(false))
    }
}

/// The options of `preprocess` by name, as Python's keyword arguments give them.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PreprocessOptions {
    component: Vec<String>,
    list: Option<PathBuf>,
    no_inputs: bool,
    no_ots: bool,
    build: Option<Build>,
    workers: Option<u32>,
    maker: Vec<String>,
    worker_at: Vec<String>,
    #[serde(flatten)]
    shared: RunOptions,
}

/// The number of executions for which programs are built, or only whether they are built.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(untagged)]
enum Build {
    Executions(std::num::NonZeroU32),
    Once(bool),
}

impl PreprocessOptions {
    /// Returns the requests in the form of arguments and of a list file.
    ///
    /// # Errors
    /// As [`ComponentCount::read`].
    pub fn components(&self) -> Result<Vec<ComponentCount>, Error> {
        ComponentCount::read(&self.component, self.list.as_deref())
    }

    /// Returns the file with this party's key.
    ///
    /// # Errors
    /// An error of usage if no file is named.
    pub fn identity(&self) -> Result<&Path, Error> {
        self.shared.key_file()
    }

    /// Returns the request with these options.
    ///
    /// # Errors
    /// An error of usage that names the wrong option.
    pub fn request(&self, role: Party, components: Vec<Requested>) -> Result<PreprocessRequest, Error> {
        let PreprocessOptions { no_inputs, no_ots, shared, .. } = self;
        let store = || Error::usage("store is missing", "name the folder of the store");
        let wishes = StockOptions {
            no_inputs: *no_inputs,
            no_ots: *no_ots,
            build: match self.build {
                Some(Build::Executions(executions)) => Some(executions),
                Some(Build::Once(true)) => Some(std::num::NonZeroU32::MIN),
                Some(Build::Once(false)) | None => None,
            },
            workers: within("workers", self.workers, 2..=MAX_WORKERS)?,
            ..shared.wishes()?
        };
        let makers = self.maker.iter().map(|text| text.parse::<Hired>());
        Ok(PreprocessRequest {
            role,
            peer: shared.peer()?,
            place: shared.place()?,
            store: shared.store().ok_or_else(store)?,
            components,
            wishes,
            resources: shared.resources()?,
            makers: makers.collect::<Result<_, _>>().map_err(|why| wrong("maker", why))?,
            worker_at: self.worker_at.clone(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::from_json;

    /// Unknown options, and options of other commands, are refused by their names.
    #[test]
    fn options_without_effect_are_refused() {
        let wishes = |json: &str| from_json::<PreprocessOptions>(json)?.shared.wishes();
        let good =
            wishes(r#"{ "store": "s", "threads": 2, "protocol": "jimu", "cut": "given", "workers": 2 }"#);
        assert_eq!(good.unwrap().protocol.name(), "jimu");
        // Numbers beside and within the flattened options are read as numbers.
        let options: PreprocessOptions =
            from_json(r#"{ "build": 2, "security": 64, "max_age": 3, "timeout": 5 }"#).unwrap();
        assert!(matches!(options.build, Some(Build::Executions(times)) if times.get() == 2));
        let once: PreprocessOptions = from_json(r#"{ "build": true }"#).unwrap();
        assert!(matches!(once.build, Some(Build::Once(true))));
        for (json, name) in [
            (r#"{ "store": "s", "portion": ["a=1"] }"#, "portion"),
            (r#"{ "store": "s", "linking": "scmc" }"#, "linking"),
            (r#"{ "store": "s", "no_top_up": true }"#, "no_top_up"),
            (r#"{ "store": "s", "executions": 3 }"#, "executions"),
            (r#"{ "protocol": "auto" }"#, "protocol"),
        ] {
            let error = wishes(json).unwrap_err();
            assert!(error.exit_code() == 2 && error.message().contains(name), "{error}");
        }
    }
}
