//! The options of a run by name, as Python's keyword arguments give them. The names are those of the flags.

mod doctor;
mod plan;

use std::collections::BTreeMap;
use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::time::Duration;

use brickwork_circuit::Party;
use brickwork_protocol::stock::Lacking;
use brickwork_wire::tls;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::StoreRequest;
use crate::cut::CutChoice;
use crate::engine::link;
use crate::engine::request::{self, AgreedParameters, LinkSpeed, Protocol, Resources, RunRequest};
use crate::engine::stocked::StockOptions;
use crate::engine::task::{Endpoint, PartyTask};
use crate::engine::ways::Protocols;
use crate::failure::Error;
use crate::files;
use crate::party::check_stocked_session;
use crate::reading::{DecimalScale, ReadingOptions};

pub use plan::PlanOptions;

/// The options of a run. Each that is missing has the default of its flag.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RunOptions {
    protocol: Option<String>,
    accept: Vec<String>,
    linking: Option<String>,
    cot: Option<String>,
    scheme: Option<String>,
    commitments: Option<String>,
    security: Option<u32>,
    post_quantum: bool,
    executions: Option<u32>,
    threads: Option<u16>,
    lanes: Option<u8>,
    max_ram: Option<String>,
    timeout: Option<u32>,
    bandwidth: Option<String>,
    rtt: Option<String>,
    buckets: Option<String>,
    cut: Option<String>,
    store: Option<PathBuf>,
    store_key: Option<PathBuf>,
    no_top_up: bool,
    max_age: Option<u32>,
    /// The file for the evaluator's notes about recovery.
    pub recovery_notes: Option<PathBuf>,
    scale: BTreeMap<String, u8>,
    ignore_extra_columns: bool,
    rounding: bool,
    peer: Option<String>,
    identity: Option<PathBuf>,
    listen: Option<String>,
    connect: Option<String>,
    keep: bool,
}

/// Reads options from a JSON object. Its fields are the options.
///
/// # Errors
/// An error of usage that names an unknown option, or the mistake in a value.
pub fn from_json<T: DeserializeOwned>(json: &str) -> Result<T, Error> {
    serde_json::from_str(json).map_err(|error| {
        let text = error.to_string();
        // The line and column are of no use to a caller who wrote no text.
        let text = text.rsplit_once(" at line ").map_or(&text[..], |(text, _)| text);
        let text = text.replace("unknown field", "there is no option");
        Error::usage(text, "`brickwork COMMAND --help` describes the options of these names")
    })
}

/// Reads the text of an option, if it is given.
fn read<T, E: Display>(
    option: &str,
    text: Option<&String>,
    of: impl Fn(&str) -> Result<T, E>,
) -> Result<Option<T>, Error> {
    let read = |text: &String| of(text).map_err(|why| wrong(option, why));
    text.map(read).transpose()
}

pub(crate) fn wrong(option: &str, why: impl Display) -> Error {
    Error::usage(format!("{option}: {why}"), format!("`brickwork run --help` describes --{option}"))
}

/// Refuses an option that was given and has no effect here.
fn refuse(place: &str, given: &[(&str, bool)]) -> Result<(), Error> {
    match given.iter().find(|(_, given)| *given) {
        Some((name, _)) => Err(Error::usage(format!("{place} has no option {name}"), "leave it out")),
        None => Ok(()),
    }
}

/// Refuses a number that is out of range.
pub(crate) fn within<T: PartialOrd + Display + Copy>(
    option: &str,
    number: Option<T>,
    range: std::ops::RangeInclusive<T>,
) -> Result<Option<T>, Error> {
    match number {
        Some(number) if !range.contains(&number) => {
            Err(wrong(option, format!("{number} is not in {} to {}", range.start(), range.end())))
        }
        number => Ok(number),
    }
}

impl RunOptions {
    /// Returns the request of a party with these options.
    ///
    /// # Errors
    /// An error of usage that names the wrong option.
    pub fn request(&self) -> Result<RunRequest<Protocols>, Error> {
        let store = self.store();
        Ok(RunRequest {
            resources: self.resources()?,
            buckets: read("buckets", self.buckets.as_ref(), request::buckets)?.unwrap_or_default(),
            cut: read("cut", self.cut.as_ref(), str::parse)?.unwrap_or(CutChoice::Fastest),
            line: LinkSpeed {
                bits_per_second: read("bandwidth", self.bandwidth.as_ref(), link::bits_per_second)?,
                rtt: read("rtt", self.rtt.as_ref(), link::time)?.unwrap_or_default(),
            },
            stored: store.is_some(),
            lacking: store.as_ref().map_or(Lacking::Make, StoreRequest::lacking),
            notes_recovery: self.recovery_notes.is_some(),
            ..RunRequest::new(self.parameters()?)
        })
    }

    fn parameters(&self) -> Result<AgreedParameters<Protocols>, Error> {
        read("scheme", self.scheme.as_ref(), request::scheme)?;
        if let Some(security) = self.security {
            let security = security.to_string();
            request::security(&security).map_err(|why| wrong("security", format!("{security}: {why}")))?;
        }
        Ok(AgreedParameters {
            linking: read("linking", self.linking.as_ref(), request::linking)?,
            cot: read("cot", self.cot.as_ref(), request::cot)?,
            commitments: read("commitments", self.commitments.as_ref(), request::commitments)?.is_some(),
            security: self.security,
            post_quantum: self.post_quantum,
            executions: within("executions", self.executions, 1..=u32::MAX)?,
            ..AgreedParameters::new(self.protocols()?)
        })
    }

    /// Returns the protocols that these options accept.
    fn protocols(&self) -> Result<Protocols, Error> {
        let accepted = self.accept.iter().map(|name| name.parse::<Protocol>());
        let accepted = accepted.collect::<Result<Vec<_>, _>>().map_err(|why| wrong("accept", why))?;
        match (&self.protocol, accepted.is_empty()) {
            (Some(_), false) => Err(Error::usage(
                "protocol and accept exclude each other",
                "name one protocol, or those among which the run may choose",
            )),
            (Some(name), true) => name.parse().map_err(|why| wrong("protocol", why)),
            (None, _) => Ok(Protocols::of(accepted)),
        }
    }

    /// Returns the resources of this party.
    ///
    /// # Errors
    /// As [`RunOptions::request`].
    pub fn resources(&self) -> Result<Resources, Error> {
        let default = Resources::default();
        let timeout = within("timeout", self.timeout, 1..=86_400)?;
        Ok(Resources {
            threads: within("threads", self.threads, 1..=1024)?,
            lanes: within("lanes", self.lanes, 1..=tls::MAX_LANES)?.unwrap_or(default.lanes),
            max_ram: read("max_ram", self.max_ram.as_ref(), request::size)?,
            timeout: timeout.map_or(default.timeout, |seconds| Duration::from_secs(seconds.into())),
        })
    }

    /// Returns the store, if one is named.
    pub fn store(&self) -> Option<StoreRequest> {
        let RunOptions { store, store_key, no_top_up, max_age, .. } = self;
        let named = StoreRequest::new(store.as_ref()?);
        let max_age = max_age.unwrap_or(named.max_age);
        Some(StoreRequest { store_key: store_key.clone(), no_top_up: *no_top_up, max_age, ..named })
    }

    /// Returns the options for making stock.
    ///
    /// # Errors
    /// An error of usage if an option has no effect there; as [`RunOptions::request`].
    pub(crate) fn wishes(&self) -> Result<StockOptions, Error> {
        refuse(
            "making stock",
            &[
                ("accept", !self.accept.is_empty()),
                ("linking", self.linking.is_some()),
                ("commitments", self.commitments.is_some()),
                ("post_quantum", self.post_quantum),
                ("executions", self.executions.is_some()),
                ("bandwidth", self.bandwidth.is_some()),
                ("rtt", self.rtt.is_some()),
                ("buckets", self.buckets.is_some()),
                ("no_top_up", self.no_top_up),
                ("recovery_notes", self.recovery_notes.is_some()),
                ("scale", !self.scale.is_empty()),
                ("ignore_extra_columns", self.ignore_extra_columns),
                ("rounding", self.rounding),
                ("keep", self.keep),
            ],
        )?;
        let named = read("protocol", self.protocol.as_ref(), str::parse)?;
        let AgreedParameters { security, cot, .. } =
            RunOptions { protocol: None, ..self.clone() }.parameters()?;
        let cut = read("cut", self.cut.as_ref(), str::parse)?;
        Ok(StockOptions { security, cot, cut, ..StockOptions::new(named.unwrap_or(Protocol::OF_NEW_STOCK)) })
    }

    /// Returns the number of executions.
    pub fn executions(&self) -> Option<u32> {
        self.executions
    }

    /// Returns the way in which values are read.
    ///
    /// # Errors
    /// An error of usage if a scale has too many digits.
    pub fn reading(&self) -> Result<ReadingOptions, Error> {
        let scales =
            self.scale.iter().map(|(name, digits)| format!("{name}={digits}").parse::<DecimalScale>());
        let scales = scales.collect::<Result<_, _>>().map_err(|why| wrong("scale", why))?;
        let RunOptions { ignore_extra_columns, rounding, .. } = *self;
        Ok(ReadingOptions { scales, ignore_extra_columns, rounding, private: false })
    }

    /// Returns the key of this party, from its file.
    ///
    /// # Errors
    /// An error of usage if there is no file; an error of input if it cannot be read.
    pub fn identity(&self) -> Result<tls::Identity, Error> {
        files::identity(self.key_file()?)
    }

    /// Returns the file with the key of this party.
    pub(crate) fn key_file(&self) -> Result<&Path, Error> {
        let none = || Error::usage("identity is missing", "`keygen` makes a key");
        self.identity.as_deref().ok_or_else(none)
    }

    /// Returns the public key of the peer.
    ///
    /// # Errors
    /// An error of usage if it is missing or malformed.
    pub fn peer(&self) -> Result<tls::PublicKey, Error> {
        let none = || Error::usage("peer is missing", "give the key that the other party's `keygen` printed");
        files::public_key(self.peer.as_deref().ok_or_else(none)?)
    }

    /// Returns the way to reach the peer.
    ///
    /// # Errors
    /// An error of usage unless there is exactly one.
    pub fn place(&self) -> Result<Endpoint, Error> {
        match (&self.listen, &self.connect) {
            (Some(address), None) => Ok(Endpoint::Listen(address.clone())),
            (None, Some(address)) => Ok(Endpoint::Connect(address.clone())),
            _ => {
                Err(Error::usage("a party listens or connects", "give one of listen and connect, HOST:PORT"))
            }
        }
    }

    /// Returns whether a file with this party's key is named.
    pub fn has_identity(&self) -> bool {
        self.identity.is_some()
    }

    /// Returns whether this party listens.
    pub fn listens(&self) -> bool {
        self.listen.is_some()
    }

    /// Returns the request of a session.
    ///
    /// # Errors
    /// An error of usage if an option has no effect in sessions; as [`RunOptions::request`].
    pub fn session_request(&self) -> Result<RunRequest<Protocols>, Error> {
        let given = [
            ("linking", self.linking.is_some()),
            ("cot", self.cot.is_some()),
            ("scheme", self.scheme.is_some()),
            ("commitments", self.commitments.is_some()),
            ("executions", self.executions.is_some()),
            ("bandwidth", self.bandwidth.is_some()),
            ("rtt", self.rtt.is_some()),
            ("buckets", self.buckets.is_some()),
            ("cut", self.cut.is_some()),
            ("recovery_notes", self.recovery_notes.is_some()),
            ("keep", self.keep),
        ];
        refuse("a session", &given)?;
        let request = self.request()?;
        if request.stored {
            check_stocked_session(&request)?;
        }
        Ok(request)
    }

    /// Returns the task of a party with these options. Over a connection of the caller's, neither an address
    /// nor the key of the peer is needed.
    ///
    /// # Errors
    /// An error of usage that names the wrong option.
    pub fn task(&self, party: Party, has_line: bool) -> Result<PartyTask, Error> {
        let peer = match has_line && self.peer.is_none() && self.store.is_none() {
            true => [0; 32],
            false => self.peer()?.to_bytes(),
        };
        let place = if has_line { None } else { Some(self.place()?) };
        let recovery_notes = self.recovery_notes.clone();
        Ok(PartyTask {
            party,
            peer,
            place,
            keep: self.keep,
            request: self.request()?,
            store: self.store(),
            recovery_notes,
        })
    }
}
