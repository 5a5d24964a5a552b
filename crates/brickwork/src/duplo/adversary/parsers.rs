//! Doors to what reads the bytes of others, for the fuzz targets: what a peer says before anything is agreed on, and what a
//! disk gives back. Where it can be, what was read is written again, so that a target sees whether anything else passes
//! for it.

use zeroize::Zeroizing;

use crate::circuit::{Component, Party, Program};
use crate::duplo::{Parameters, stored};
use crate::session::{Digests, Greeting, SessionId, Terms};
use crate::stock::{State, Verdict};
use crate::wire::{Channel, tls};
use crate::{Cheat, Error};

/// The first bytes on a connection, read and written again; `None` if they are no hello.
pub fn transport_hello(bytes: [u8; 39]) -> Option<[u8; 39]> {
    tls::hello_again(bytes)
}

/// Greets a peer and compares its greeting: the identifier of the session that both have then.
///
/// # Errors
/// [`Error::Mismatch`] if anything differs that may not.
pub fn greeting(channel: &mut Channel, role: Party, terms: &Terms, program: [u8; 32]) -> Result<SessionId, Error> {
    let greeting = Greeting::send(channel, role, terms, &Digests { program, parameters: [0; 32] })?;
    channel.flush()?;
    Ok(greeting.answered(channel)?.session)
}

/// What a garbler proposes, with its exact bound, and written again.
///
/// # Errors
/// [`Error::Mismatch`] if it is none for this program, or exceeds 2^-security.
pub fn proposal(program: &Program, security: u32, bytes: &[u8]) -> Result<(Parameters, Vec<u8>), Error> {
    let parameters = Parameters::proposed(program, security, bytes)?;
    let again = parameters.proposal();
    Ok((parameters, again))
}

/// How a log of this party goes together with what a peer says of its own logs.
///
/// # Errors
/// [`Cheat::UnexpectedMessage`] if it is malformed.
pub fn standings(state: &State, bytes: &[u8]) -> Result<Vec<Verdict>, Cheat> {
    stored::compared(state, bytes)
}

/// A record of the stock, read and written again. `kind` is 0 for a component, 1 for plain and 2 for input authenticators, 3
/// for OTs; `header` is that of the batch, and `items` what the index says that the record holds.
///
/// # Errors
/// [`Error::Stock`] if the header or the record is malformed.
pub fn record(party: Party, component: &Component, kind: u8, header: &[u8], items: usize, bytes: &[u8]) -> Result<Vec<u8>, Error> {
    stored::again::record(party, component, kind, header, items, bytes)
}

/// A session's secrets as the stock keeps them, read and written again.
///
/// # Errors
/// [`Error::Stock`] if they are malformed.
pub fn secrets(party: Party, bytes: &[u8]) -> Result<Zeroizing<Vec<u8>>, Error> {
    stored::again::secrets(party, bytes)
}
