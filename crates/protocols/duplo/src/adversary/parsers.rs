//! Gives fuzz targets access to the code that reads foreign bytes: messages of a peer, and data from a disk.
//! Where possible, the parsed value is encoded again, so that a target sees if different bytes are read as
//! the same value.

use std::sync::Arc;

use zeroize::Zeroizing;

use crate::msg::DECOMPOSITION;
use crate::proposal::{CutMessage, Decompose, MAX_DECOMPOSITION_BYTES};
use crate::{Duplo, Parameters, stored};
use brickwork_base::bits;
use brickwork_base::{Error, Malformed};
use brickwork_circuit::{Component, Party, Program};
use brickwork_primitives::ot::{BASE_OT, base};
use brickwork_protocol::stock::meeting::compared;
use brickwork_protocol::{Digests, Greeting, SessionId, Terms};
use brickwork_store::{EpochState, EpochVerdict};
use brickwork_wire::{Channel, memory_pair, tls};

/// Reads the first bytes of a connection and encodes them again. Returns `None` if they are no transport
/// hello.
pub fn transport_hello(bytes: [u8; 39]) -> Option<[u8; 39]> {
    tls::hello_again(bytes)
}

/// Greets a peer and compares its greeting. Returns the identifier of the session.
///
/// # Errors
/// [`Error::Mismatch`] if the greetings differ in anything that must be equal.
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

/// Reads a garbler's proposal. Returns it, and encodes it again.
///
/// # Errors
/// [`Error::Mismatch`] if the proposal is not valid for this program, or its exact bound exceeds 2^-security.
pub fn proposal(program: &Program, security: u32, bytes: &[u8]) -> Result<(Parameters, Vec<u8>), Error> {
    let parameters = Parameters::proposed(program, security, bytes)?;
    let again = parameters.proposal();
    Ok((parameters, again))
}

/// Returns the program in the cut that a garbler proposes, and the message encoded again.
///
/// # Errors
/// [`Error::Mismatch`] if this party cannot make this cut, or its cut gives another program;
/// [`Cheat::UnexpectedMessage`](crate::Cheat::UnexpectedMessage) if the message is malformed.
pub fn decomposition(
    given: &Arc<Program>,
    bytes: &[u8],
    decompose: Option<&Decompose>,
) -> Result<(Arc<Program>, Vec<u8>), Error> {
    let (mut peer, mut own) = memory_pair();
    peer.send(DECOMPOSITION, bytes)?;
    peer.flush()?;
    let cut = CutMessage::receive(&mut own)?;
    let program = cut.make(given, decompose)?;
    cut.send(&mut own)?;
    own.flush()?;
    Ok((program, peer.receive_up_to(DECOMPOSITION, 32 + MAX_DECOMPOSITION_BYTES)?))
}

/// Runs base OTs with `bytes` as the peer's message in both directions. Returns all keys of a party.
///
/// # Errors
/// [`Error::Peer`] if the message has a wrong length or contains an invalid point or the identity.
pub fn base_ots(send: usize, bytes: &[u8]) -> Result<Vec<[u8; 16]>, Error> {
    let (mut peer, mut own) = memory_pair();
    peer.send(BASE_OT, bytes)?;
    peer.flush()?;
    let begun = base::BegunSeries::send(&mut own, base::Direction::GarblerSends, &[1; 32], &[1], false, 1)?;
    let base::SeriesKeys { sent, received } = begun.receive(&mut own, &[2; 32], &[3; 32], send)?;
    Ok(sent.iter().flatten().chain(&received).map(|key| *key.as_bytes()).collect())
}

/// Unpacks `count` bits and packs them again. Returns `None` if the length is wrong or unused bits are set.
pub fn bits(bytes: &[u8], count: usize) -> Option<Vec<u8>> {
    Some(bits::pack(bits::unpack(bytes, count).ok()?))
}

/// Compares a log of this party with the peer's message about its logs.
///
/// # Errors
/// [`Malformed::UnexpectedMessage`] if the message is malformed.
pub fn standings(state: &EpochState, bytes: &[u8]) -> Result<Vec<EpochVerdict>, Malformed> {
    compared(state, bytes)
}

/// Reads a record of the stock and encodes it again. `kind` is 0 for a component, 1 for plain and 2 for input
/// authenticators, 3 for OTs. `header` is the batch's header, and `items` the number of items of the record.
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

/// Reads a session's secrets from the stock and encodes them again.
///
/// # Errors
/// [`Error::Stock`] if they are malformed.
pub fn secrets(party: Party, bytes: &[u8]) -> Result<Zeroizing<Vec<u8>>, Error> {
    stored::again::secrets(party, bytes)
}
