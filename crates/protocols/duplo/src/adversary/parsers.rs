//! Doors to what reads the bytes of others, for the fuzz targets: what a peer says, and what a disk gives
//! back. Where it can be, what was read is written again, so that a target sees whether anything else passes
//! for it.

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

/// Returns the first bytes on a connection, read and written again; `None` if they are no hello.
pub fn transport_hello(bytes: [u8; 39]) -> Option<[u8; 39]> {
    tls::hello_again(bytes)
}

/// Greets a peer and compares its greeting: the identifier of the session that both have then.
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

/// Returns what a garbler proposes, with its exact bound, and written again.
///
/// # Errors
/// [`Error::Mismatch`] if it is none for this program, or exceeds 2^-security.
pub fn proposal(program: &Program, security: u32, bytes: &[u8]) -> Result<(Parameters, Vec<u8>), Error> {
    let parameters = Parameters::proposed(program, security, bytes)?;
    let again = parameters.proposal();
    Ok((parameters, again))
}

/// Returns the program in the cut that a garbler proposes, and the message written again.
///
/// # Errors
/// [`Error::Mismatch`] if this party does not make this cut, or not as the peer says;
/// [`Cheat::UnexpectedMessage`](crate::Cheat::UnexpectedMessage) if it is malformed.
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

/// Returns all keys that a party has after base OTs, in `send` of which the peer has chosen, and in one of
/// which it has.
///
/// # Errors
/// [`Error::Peer`] if the peer's message has another length or holds what is no point or the identity.
pub fn base_ots(send: usize, bytes: &[u8]) -> Result<Vec<[u8; 16]>, Error> {
    let (mut peer, mut own) = memory_pair();
    peer.send(BASE_OT, bytes)?;
    peer.flush()?;
    let begun = base::Begun::send(&mut own, base::Direction::GarblerSends, &[1; 32], &[1], false, 1)?;
    let base::Keys { sent, received } = begun.receive(&mut own, &[2; 32], &[3; 32], send)?;
    Ok(sent.iter().flatten().chain(&received).map(|key| *key.as_bytes()).collect())
}

/// Returns so many packed bits, packed again; `None` if they are not as many or others are set.
pub fn bits(bytes: &[u8], count: usize) -> Option<Vec<u8>> {
    Some(bits::pack(bits::unpack(bytes, count).ok()?))
}

/// Returns how a log of this party goes together with what a peer says of its own logs.
///
/// # Errors
/// [`Malformed::UnexpectedMessage`] if it is malformed.
pub fn standings(state: &State, bytes: &[u8]) -> Result<Vec<Verdict>, Malformed> {
    compared(state, bytes)
}

/// Returns a record of the stock, read and written again. `kind` is 0 for a component, 1 for plain and 2 for
/// input authenticators, 3 for OTs. `header` is that of the batch, and `items` the number that the index says
/// the record holds.
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

/// Returns a session's secrets as the stock keeps them, read and written again.
///
/// # Errors
/// [`Error::Stock`] if they are malformed.
pub fn secrets(party: Party, bytes: &[u8]) -> Result<Zeroizing<Vec<u8>>, Error> {
    stored::again::secrets(party, bytes)
}
