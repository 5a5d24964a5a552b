//! Access for the fuzz targets to the code that reads foreign bytes: messages of a peer, and data from a
//! disk. Where possible, the result is written again, so that a target sees whether different bytes are
//! accepted as the same.

use std::sync::Arc;

use zeroize::Zeroizing;

use crate::msg::DECOMPOSITION;
use crate::proposal::{Decompose, Decomposition, MAX_DECOMPOSITION_BYTES};
use crate::{Duplo, Parameters, stored};
use brickwork_base::bits;
use brickwork_base::{Error, Malformed};
use brickwork_circuit::{Component, Party, Program};
use brickwork_primitives::ot::{BASE_OT, base};
use brickwork_session::stock::meeting::compared;
use brickwork_session::{Digests, Greeting, SessionId, Terms};
use brickwork_stock::{State, Verdict};
use brickwork_wire::{Channel, memory_pair, tls};

/// Reads the first bytes on a connection and writes them again; `None` if they are no hello.
pub fn transport_hello(bytes: [u8; 39]) -> Option<[u8; 39]> {
    tls::hello_again(bytes)
}

/// Greets a peer and compares its greeting; returns the identifier of their session.
///
/// # Errors
/// [`Error::Mismatch`] if anything differs that may not.
pub fn greeting(
    channel: &mut Channel,
    role: Party,
    terms: &Terms,
    program: [u8; 32],
) -> Result<SessionId, Error> {
    let greeting = Greeting::send::<Duplo>(
        channel,
        role,
        terms,
        &Digests { stock: false, program, parameters: [0; 32] },
    )?;
    channel.flush()?;
    Ok(greeting.answered(channel)?.session)
}

/// Reads a garbler's proposal; returns it with its exact bound, and written again.
///
/// # Errors
/// [`Error::Mismatch`] if it is not valid for this program, or exceeds 2^-security.
pub fn proposal(program: &Program, security: u32, bytes: &[u8]) -> Result<(Parameters, Vec<u8>), Error> {
    let parameters = Parameters::proposed(program, security, bytes)?;
    let again = parameters.proposal();
    Ok((parameters, again))
}

/// Returns the program in the cut that a garbler proposes, and the message written again.
///
/// # Errors
/// [`Error::Mismatch`] if this party cannot make this cut, or gets a different program;
/// [`Cheat::UnexpectedMessage`](crate::Cheat::UnexpectedMessage) if the message is malformed.
pub fn decomposition(
    given: &Arc<Program>,
    bytes: &[u8],
    decompose: Option<&Decompose>,
) -> Result<(Arc<Program>, Vec<u8>), Error> {
    let (mut peer, mut own) = memory_pair();
    peer.send(DECOMPOSITION, bytes)?;
    peer.flush()?;
    let cut = Decomposition::receive(&mut own)?;
    let program = cut.make(given, decompose)?;
    cut.send(&mut own)?;
    own.flush()?;
    Ok((program, peer.receive_up_to(DECOMPOSITION, 32 + MAX_DECOMPOSITION_BYTES)?))
}

/// Returns all keys of a party after base OTs, with this message of the peer in both directions.
///
/// # Errors
/// [`Error::Peer`] if the message has another length or contains an invalid point or the identity.
pub fn base_ots(send: usize, bytes: &[u8]) -> Result<Vec<[u8; 16]>, Error> {
    let (mut peer, mut own) = memory_pair();
    peer.send(BASE_OT, bytes)?;
    peer.flush()?;
    let begun = base::Begun::send(&mut own, base::Direction::GarblerSends, &[1; 32], &[1], false, 1)?;
    let base::Keys { sent, received } = begun.receive(&mut own, &[2; 32], &[3; 32], send)?;
    Ok(sent.iter().flatten().chain(&received).map(|key| *key.as_bytes()).collect())
}

/// Unpacks this many bits and packs them again; `None` if the length is wrong or unused bits are set.
pub fn bits(bytes: &[u8], count: usize) -> Option<Vec<u8>> {
    Some(bits::pack(bits::unpack(bytes, count).ok()?))
}

/// Compares a log of this party with the peer's report about its logs.
///
/// # Errors
/// [`Malformed::UnexpectedMessage`] if it is malformed.
pub fn standings(state: &State, bytes: &[u8]) -> Result<Vec<Verdict>, Malformed> {
    compared(state, bytes)
}

/// Reads a record of the stock and writes it again. `kind` is 0 for a component, 1 for plain and 2 for input
/// authenticators, 3 for OTs. `header` belongs to the batch, and `items` is the number of items that the
/// index states for the record.
///
/// # Errors
/// [`Error::Stock`] if the header or the record is malformed.
pub fn record(
    party: Party,
    component: &Component,
    kind: u8,
    header: &[u8],
    items: usize,
    bytes: &[u8],
) -> Result<Vec<u8>, Error> {
    stored::again::record(party, component, kind, header, items, bytes)
}

/// Reads a session's secrets from the stock and writes them again.
///
/// # Errors
/// [`Error::Stock`] if they are malformed.
pub fn secrets(party: Party, bytes: &[u8]) -> Result<Zeroizing<Vec<u8>>, Error> {
    stored::again::secrets(party, bytes)
}
