//! One party's part in a run, as the command, its child processes, services and Python start it.

use std::net::SocketAddr;
use std::path::PathBuf;

use brickwork_circuit::Party;
use brickwork_wire::Channel;
use brickwork_wire::tls::{Identity, Listener, PublicKey};
use serde::{Deserialize, Serialize};

use super::Observe;
use super::recovery::Notes;
use super::request::RunRequest;
use super::run::{self, PartyRun, Route};
use super::ways::{Protocols, RunPart};
use crate::failure::Error;
use crate::program::Program;
use crate::store::StoreRequest;

/// The task of a party: all data of its run except the program, its key and its input.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PartyTask {
    /// The role of the party.
    pub party: Party,
    /// The public key of the peer.
    pub peer: [u8; 32],
    /// The way to reach the peer, unless the caller brings a connection.
    pub place: Option<Endpoint>,
    /// True if a listener that refuses a peer waits for another peer.
    pub keep: bool,
    /// The protocols, the parameters and the resources.
    pub request: RunRequest<Protocols>,
    /// The store, if the request takes items from one.
    pub store: Option<StoreRequest>,
    /// The file for the evaluator's notes about recovery.
    pub recovery_notes: Option<PathBuf>,
}

/// The way to reach the peer.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Endpoint {
    /// This party listens at this address.
    Listen(String),
    /// The peer listens at this address.
    Connect(String),
}

/// The caller of a run, which learns the address of a listener and sees the progress.
pub struct Host<'h> {
    /// Learns the address at which this party listens.
    pub listens: &'h mut dyn FnMut(SocketAddr) -> Result<(), Error>,
    /// Sees the progress.
    pub watch: &'h Observe<'h>,
    /// A connection that the caller made.
    pub line: Option<Channel>,
    /// True if the warning about a weak protocol is logged here. Of two parties in one process, one warns.
    pub warns: bool,
}

impl PartyTask {
    /// Runs the party with its key and the bits of its input.
    ///
    /// # Errors
    /// Errors of usage, before the party listens; those of the meeting and of the protocol.
    pub fn run(
        &self,
        program: &Program,
        (identity, input): (&Identity, &[bool]),
        host: &mut Host,
    ) -> Result<PartyRun, Error> {
        let PartyTask { party, ref request, .. } = *self;
        let executions = request.parameters.executions.unwrap_or(1);
        if program.given().input_width(party).checked_mul(executions as usize) != Some(input.len()) {
            return Err(Error::fault(format!("these {} input bits belong to another program", input.len())));
        }
        // A mistake in the request is reported before the party listens.
        let _ = request.allowed()?;
        let notes = self.recovery_notes.as_deref().map(Notes::open).transpose()?;
        let store = self.store.as_ref().map(StoreRequest::open).transpose()?;
        let peer = PublicKey::from_bytes(self.peer);
        // A caller's connection is not protected by keys, unless the caller names the peer.
        let keys = match host.line.is_some() && self.peer == [0; 32] {
            true => [peer; 2],
            false => [identity.public_key(), peer],
        };
        let part = RunPart { party, request, given: program, keys, warns: host.warns };
        let options = request.resources.options(party);
        let listener;
        let place = match (host.line.take(), &self.place) {
            (Some(line), _) => Route::Line(Some(line)),
            (None, Some(Endpoint::Listen(address))) => {
                listener = Listener::bind(address, identity, peer, &options)?;
                (host.listens)(listener.local_addr()?)?;
                Route::Listener(&listener)
            }
            (None, Some(Endpoint::Connect(address))) => Route::Peer { address, identity, peer, options },
            (None, None) => {
                return Err(Error::usage("there is no connection to the peer", "name an address"));
            }
        };
        let ran = run::run(&part, store, place, self.keep, input, host.watch)?;
        if let Some(notes) = notes {
            // The connection is closed, so the peer can see neither the note nor the time that it takes.
            notes.note(peer, &ran.program, ran.recovered);
        }
        Ok(ran)
    }
}
