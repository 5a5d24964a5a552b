//! The protocols by which a party can run a program (`ways`): one that was named, or several of which the
//! fastest is taken.
//!
//! A [`RunPart`] is a party's part before it has met its peer. [`RunPart::ways`] orders its protocols by the
//! times that the planner predicts for this machine, connection and stock. The run takes the first protocol
//! in the garbler's order that the evaluator accepts.

use std::str::FromStr;

use brickwork_circuit::Party;
use brickwork_duplo::cost::AS_GOOD_AS_FASTEST;
use brickwork_protocol::{Model, Promise};
use brickwork_report::words::seconds;
use brickwork_store::Store;
use brickwork_wire::tls::PublicKey;
use serde::{Deserialize, Serialize};

use super::meeting::{Offer, Sheet};
use super::protocols::{self, Only};
use super::request::{AgreedParameters, Protocol, RunRequest};
use super::work::{PartyWork, RunEstimate, fits_here};
use crate::failure::Error;
use crate::plan::{Cost, PhaseCost};
use crate::program::Program;
use crate::resources;

/// The protocols that a party accepts. The parties run a protocol that both accept. Of several they take the
/// one that the garbler predicts to be fastest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Protocols(Vec<Protocol>);

impl Protocols {
    /// Returns all protocols that hold against a cheater.
    pub fn auto() -> Self {
        let holds = |protocol: &Protocol| protocols::played(*protocol).model() == Model::Malicious;
        Protocols(Protocol::all().into_iter().filter(holds).collect())
    }

    /// Returns these protocols, or, if the list is empty, all that are secure against a cheater.
    pub fn of(protocols: impl IntoIterator<Item = Protocol>) -> Self {
        let named: Vec<Protocol> = protocols.into_iter().collect();
        if named.is_empty() { Protocols::auto() } else { Protocols(named) }
    }

    /// Returns the protocol, if it is the only one.
    pub fn only(&self) -> Option<Protocol> {
        match self.0[..] {
            [only] => Some(only),
            _ => None,
        }
    }

    /// Returns the protocols in the order in which users see them.
    pub fn iter(&self) -> impl Iterator<Item = Protocol> {
        self.0.iter().copied()
    }
}

impl FromStr for Protocols {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        if name == "auto" { Ok(Protocols::auto()) } else { name.parse::<Protocol>().map(Protocols::from) }
    }
}

impl From<Protocol> for Protocols {
    fn from(protocol: Protocol) -> Self {
        Protocols(vec![protocol])
    }
}

/// A party's part in a run, before it has met its peer.
pub struct RunPart<'a> {
    /// The role.
    pub party: Party,
    /// The request, which may leave the protocol open.
    pub request: &'a RunRequest<Protocols>,
    /// The program as it is in the file.
    pub given: &'a Program,
    /// This party's key and its peer's key.
    pub keys: [PublicKey; 2],
    /// True if this party's user is warned about guarantees that a protocol lacks.
    pub warns: bool,
}

/// A protocol with flags that can run a program, with its predicted costs and its promise.
pub struct Candidate {
    pub request: RunRequest,
    pub model: Model,
    pub cost: Cost,
    pub promise: Promise,
}

impl Candidate {
    /// Prices a run by this request.
    ///
    /// # Errors
    /// If the protocol cannot run the program.
    pub fn of(request: RunRequest, program: &Program, estimate: &RunEstimate) -> Result<Self, Error> {
        let protocol = protocols::played(request.parameters.protocol);
        let Only { cost, promise, .. } = protocol.priced(program, &request, estimate)?;
        Ok(Candidate { model: protocol.model(), cost, promise, request })
    }

    /// Returns the protocol with the flags that both parties must give alike.
    pub fn way(&self) -> String {
        self.request.parameters.way()
    }

    /// Returns the phases that need the inputs.
    pub fn online(&self) -> impl Iterator<Item = &PhaseCost> {
        let first = protocols::played(self.request.parameters.protocol).online_from();
        self.cost.phases.iter().skip_while(move |phase| phase.name != first)
    }

    /// Returns the predicted seconds of these phases.
    pub fn online_seconds(&self) -> f64 {
        self.online().map(|phase| phase.seconds).sum()
    }
}

/// Returns the index of the best candidate. It looks at the fastest one and all that are hardly slower. Among
/// these it takes the one that is secure against the strongest adversary, and then the one that sends the
/// fewest bytes.
pub fn best(candidates: &[Candidate]) -> Option<usize> {
    let fastest = candidates.iter().map(|one| one.cost.seconds()).fold(f64::INFINITY, f64::min);
    let good = |one: &Candidate| one.cost.seconds() <= AS_GOOD_AS_FASTEST * fastest;
    let places = (0..candidates.len()).filter(|&k| good(&candidates[k]));
    places.min_by_key(|&k| (std::cmp::Reverse(candidates[k].model), candidates[k].cost.bytes()))
}

/// The protocols by which a party can run, with all parameters; the party prefers the first.
pub struct Ways {
    pub requests: Vec<RunRequest>,
    /// The reason for the first protocol, if there was a choice.
    pub reason: Option<String>,
}

impl Ways {
    /// Returns the same protocols with the one at this index first.
    pub fn led_by(&self, way: usize) -> Ways {
        let mut requests = self.requests.clone();
        requests[..=way].rotate_right(1);
        Ways { requests, reason: self.reason.clone() }
    }

    /// Returns the sheet with these protocols. A garbler may have a proposal for the first protocol. If the
    /// sheet is `open`, the garbler may still change the proposal.
    ///
    /// # Errors
    /// If the program cannot be executed that often.
    pub fn sheet(&self, part: &RunPart, proposal: Option<Offer>, open: bool) -> Result<Sheet, Error> {
        // The OTs for masks have a field of their own in the sheet, because either party may leave this
        // choice to the other.
        let way = |request: &RunRequest| AgreedParameters { cot: None, ..request.parameters.clone() }.way();
        let mut masks = None;
        for request in &self.requests {
            let protocol = protocols::played(request.parameters.protocol);
            masks = masks.or(protocol.masks(part.given, request)?);
        }
        let ways = self.requests.iter().map(way).collect();
        Ok(Sheet::of(part.party, part.given, part.request, (ways, masks), proposal, open))
    }
}

impl RunRequest<Protocols> {
    /// Returns a request for each accepted protocol in which the flags have an effect.
    ///
    /// # Errors
    /// A mistake of usage if there is no such protocol.
    pub fn allowed(&self) -> Result<Vec<RunRequest>, Error> {
        let all = &self.parameters.protocol;
        let (mut requests, mut refused) = (Vec::new(), None);
        for request in all.iter().map(|protocol| self.with(protocol)) {
            let has_stock = protocols::played(request.parameters.protocol).stocks().is_some();
            match protocols::allows(&request) {
                Ok(()) if all.only().is_some() || !self.stored || has_stock => requests.push(request),
                Ok(()) => {}
                Err(error) => refused = refused.or(Some(error)),
            }
        }
        match requests.is_empty() {
            true => Err(refused.unwrap_or_else(|| {
                Error::usage(
                    "none of the accepted protocols can use stock",
                    "leave --store out, or accept other protocols",
                )
            })),
            false => Ok(requests),
        }
    }

    /// Returns the accepted protocols for a run on a store. If the store has stock for these parties, only
    /// the protocols that made it remain. Otherwise the [protocol of new stock](Protocol::OF_NEW_STOCK) comes
    /// first, so that a store does not get stock of two protocols.
    ///
    /// # Errors
    /// As [`RunRequest::allowed`]; an error of the stock if the store cannot be read.
    pub fn from_stock(&self, store: Option<&Store>, identities: &[[u8; 32]; 2]) -> Result<Ways, Error> {
        let mut requests = self.allowed()?;
        if requests.len() == 1 {
            return Ok(Ways { requests, reason: None });
        }
        let made = store.map_or(Ok(Vec::new()), |store| made_by(store, identities))?;
        let has = |request: &RunRequest| made.contains(&request.parameters.protocol);
        let makes_new = |request: &RunRequest| request.parameters.protocol == Protocol::OF_NEW_STOCK;
        let mut reason = None;
        if requests.iter().any(has) {
            requests.retain(has);
            reason = Some("the store has stock of this protocol".into());
        } else if let Some(place) = requests.iter().position(makes_new) {
            requests[..=place].rotate_right(1);
            reason = Some("this protocol makes new stock unless the user names another one".into());
        }
        Ok(Ways { requests, reason })
    }
}

impl RunPart<'_> {
    /// Returns the protocols by which this party can run. A garbler orders them as [`RunPart::predicted`]
    /// does; an evaluator follows the garbler's order.
    ///
    /// # Errors
    /// A mistake of usage if no protocol allows the flags; the error of the last protocol if none can run the
    /// program; an error of the stock if the store cannot be read.
    pub fn ways(&self, store: Option<&Store>) -> Result<Ways, Error> {
        match self.party {
            Party::Garbler => self.predicted(store),
            Party::Evaluator => self.possible(store),
        }
    }

    /// Returns the protocols by which this party can run, ordered by their predicted time. Protocols that
    /// need more memory than there is come last.
    ///
    /// # Errors
    /// As [`RunPart::ways`].
    pub fn predicted(&self, store: Option<&Store>) -> Result<Ways, Error> {
        let possible = self.possible(store)?;
        if possible.requests.len() == 1 || possible.reason.is_some() {
            return Ok(possible);
        }
        let mut estimate = RunEstimate::of(self.request)?;
        let (mut candidates, mut failed) = (Vec::new(), None);
        // DUPLO is first in the list and searches for cuts. It is priced last, so that its search stops when
        // another protocol is faster.
        for request in possible.requests.into_iter().rev() {
            match Candidate::of(request, self.given, &estimate) {
                Ok(candidate) => {
                    estimate.rival = estimate.rival.min(candidate.cost.seconds());
                    candidates.push(candidate);
                }
                Err(error) => failed = Some(error),
            }
        }
        let memory = self.request.resources.max_ram.or_else(resources::available_bytes);
        let mut sorted = Vec::new();
        while let Some(place) = best(&candidates) {
            let candidate = candidates.remove(place);
            sorted.push((fits_here(&candidate.cost, self.party, memory).is_err(), candidate));
        }
        sorted.sort_by_key(|&(is_large, _)| is_large);
        match (sorted.is_empty(), failed) {
            (true, Some(error)) => Err(error),
            _ => Ok(Ways {
                reason: Some(reason(&sorted)),
                requests: sorted.into_iter().map(|(_, candidate)| candidate.request).collect(),
            }),
        }
    }

    /// Returns the protocols by which this party can run, without predictions.
    fn possible(&self, store: Option<&Store>) -> Result<Ways, Error> {
        match self.request.stored {
            true => self.request.from_stock(store, &self.identities()),
            false => Ok(Ways { requests: self.request.allowed()?, reason: None }),
        }
    }

    /// Returns the keys of the garbler and of the evaluator.
    fn identities(&self) -> [[u8; 32]; 2] {
        ordered(self.party, self.keys)
    }

    /// Makes the part of this party in a run by this protocol.
    ///
    /// # Errors
    /// If the program cannot be executed that often.
    pub fn work<'w>(&'w self, request: &'w RunRequest) -> Result<PartyWork<'w>, Error> {
        let protocol = protocols::played(request.parameters.protocol);
        let computed = protocol.program(self.given.given(), request.parameters.executions)?;
        let (stocks, identities) = (protocol.stocks(), self.identities());
        Ok(PartyWork::new(self.party, request, self.given, computed, stocks, identities))
    }
}

/// Explains the choice of the first candidate. Each flag is true if the candidate needs more memory than is
/// free.
fn reason(sorted: &[(bool, Candidate)]) -> String {
    let Some(((_, chosen), others)) = sorted.split_first() else { return String::new() };
    let least = chosen.cost.seconds();
    let text = format!("predicted to take {}", seconds(least));
    let Some((is_large, next)) = others.first() else { return text };
    let (name, next) = (next.request.parameters.protocol, next.cost.seconds());
    match next < least {
        true if *is_large => format!("{text}; {name} would be faster, but needs more memory than is free"),
        true => format!("{text}, hardly longer than {name}, and sends fewer bytes"),
        false => format!("{text}; {name} would take {}", seconds(next)),
    }
}

/// Returns the garbler's and the evaluator's key, given a party's own key and its peer's key.
pub fn ordered(party: Party, [own, peer]: [PublicKey; 2]) -> [[u8; 32]; 2] {
    let keys = match party {
        Party::Garbler => [own, peer],
        Party::Evaluator => [peer, own],
    };
    keys.map(PublicKey::to_bytes)
}

/// Returns the protocols whose stock a store holds for this garbler and this evaluator.
fn made_by(store: &Store, identities: &[[u8; 32]; 2]) -> Result<Vec<Protocol>, Error> {
    let mut made = Vec::new();
    for (id, epoch) in store.epochs()? {
        if epoch.identities == *identities && store.state(&id)?.burned().is_none() {
            made.extend(epoch.protocol.parse::<Protocol>());
        }
    }
    Ok(made)
}
