//! The first message of each party contains everything on which both must agree. The session's identifier is
//! derived from both messages.

use brickwork_base::random::Rng;
use brickwork_base::{Error, Party, Security};
use brickwork_wire::Channel;

use crate::protocol::SessionProtocol;
use crate::{PROTOCOL_VERSION, SessionId, Terms, msg};

/// The values that a handshake compares in addition to the terms.
pub struct Digests {
    /// True if the parties use stock.
    pub stock: bool,
    /// Digest of the program, or of the session's purpose if there is no program yet.
    pub program: [u8; 32],
    /// Digest of the garbler's proposal. It is zero if there is no proposal, and in the evaluator's greeting.
    pub parameters: [u8; 32],
}

/// The message if the parties' programs differ.
pub const OTHER_PROGRAM: &str = "the two parties have different programs; compare `brickwork info` on both \
                                 sides (also --executions, --map and --cut)";

/// The message if parties with stock have different purposes; they have no program yet.
const OTHER_PURPOSE: &str = "the peer was started for another purpose (another lane or attempt of a job, \
                             another number of workers, or no job at all); compare the commands of both \
                             sides";

/// Compares digests of the next actions of both parties. Rounds: half of one, because both send at the same
/// time.
///
/// # Errors
/// [`Error::Mismatch`] with `what` if the peer's digest differs.
pub fn agree(channel: &mut Channel, digest: &[u8; 32], what: &str) -> Result<(), Error> {
    announce(channel, digest)?;
    confirm(channel, digest, what)
}

/// Sends a digest of this party's next action, and returns the peer's. Rounds: half of one.
///
/// # Errors
/// [`Error::Io`] if the peer has gone away.
pub(crate) fn exchange(channel: &mut Channel, digest: &[u8; 32]) -> Result<[u8; 32], Error> {
    announce(channel, digest)?;
    received(channel)
}

/// Sends a digest of this party's next action: the first half of [`agree`]. Other messages may follow before
/// the peer's digest has arrived. They must be useless to a peer with another next action.
///
/// # Errors
/// [`Error::Io`] if the peer has gone away.
pub fn announce(channel: &mut Channel, digest: &[u8; 32]) -> Result<(), Error> {
    channel.send(msg::NEXT, digest)
}

/// Receives the digest that the peer [announced](announce): the second half of [`agree`].
///
/// # Errors
/// [`Error::Mismatch`] with `what` if the digests differ.
pub fn confirm(channel: &mut Channel, digest: &[u8; 32], what: &str) -> Result<(), Error> {
    if received(channel)? == *digest { Ok(()) } else { Err(Error::Mismatch(what.into())) }
}

fn received(channel: &mut Channel) -> Result<[u8; 32], Error> {
    let mut theirs = [0; 32];
    channel.receive_into(msg::NEXT, &mut theirs)?;
    Ok(theirs)
}

/// The greeting in its fixed layout of 4 + 4 + 4 + 1 + 1 + 2 + 32 * 4 + 4 bytes.
#[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
struct Hello {
    magic: [u8; 4],
    version: [u8; 4],
    security: [u8; 4],
    role: u8,
    modes: u8,
    protocol: [u8; 2],
    program: [u8; 32],
    parameters: [u8; 32],
    identities: [u8; 32],
    nonce: [u8; 32],
    shares: [u8; 4],
}

/// The bits of `modes`: stock, and post-quantum base OTs.
const STOCK: u8 = 1;
const POST_QUANTUM: u8 = 2;

/// Bytes of a greeting.
pub const GREETING_BYTES: usize = size_of::<Hello>();

/// This party's greeting, after it was sent. The parties must agree on every field, so no attacker can make
/// them use a weaker version or parameter. The garbler's proposal is not compared here: the evaluator
/// computes its security bound instead.
pub struct Greeting {
    role: Party,
    security: Security,
    /// Name of the protocol.
    protocol: &'static str,
    mine: Hello,
}

impl Greeting {
    /// Greets the peer for a run of this protocol.
    ///
    /// # Errors
    /// [`Error::Resource`] if there is no randomness, [`Error::Io`] if the connection fails.
    pub fn send<P: SessionProtocol>(
        channel: &mut Channel,
        role: Party,
        terms: &Terms,
        digests: &Digests,
    ) -> Result<Self, Error> {
        let mut nonce = [0; 32];
        Rng::new("brickwork session nonce")?.fill(&mut nonce);
        let mine = Hello {
            magic: *b"BRWK",
            version: PROTOCOL_VERSION.to_le_bytes(),
            security: terms.security.bits().to_le_bytes(),
            role: role as u8,
            modes: if digests.stock { STOCK } else { 0 } | if terms.post_quantum { POST_QUANTUM } else { 0 },
            protocol: P::CODE,
            program: digests.program,
            parameters: digests.parameters,
            identities: *blake3::hash(&terms.identities.concat()).as_bytes(),
            nonce,
            shares: terms.security.shares().to_le_bytes(),
        };
        channel.send(msg::HELLO, bytemuck::bytes_of(&mine))?;
        Ok(Greeting { role, security: terms.security, protocol: P::NAME, mine })
    }

    /// Returns a digest of this greeting, to which this party binds its messages before the session has an
    /// identifier.
    pub fn digest(&self) -> [u8; 32] {
        digest(&self.mine)
    }

    /// Compares this greeting with the peer's.
    ///
    /// # Errors
    /// [`Error::Mismatch`] that names the difference.
    pub fn answered(self, channel: &mut Channel) -> Result<Answer, Error> {
        let Greeting { role, security, protocol, mine } = self;
        let mut theirs = mine;
        channel.receive_first_into(msg::HELLO, bytemuck::bytes_of_mut(&mut theirs))?;
        let differs = [
            (theirs.magic != mine.magic, "the peer does not run Brickwork".to_string()),
            (
                theirs.version != mine.version,
                format!(
                    "this party has version {PROTOCOL_VERSION} of the protocol, but the peer has version \
                     {}; install the same release on both sides",
                    u32::from_le_bytes(theirs.version)
                ),
            ),
            (
                theirs.protocol != mine.protocol,
                format!(
                    "this party runs {protocol}, but the peer runs another protocol; give the same \
                     --protocol on both sides"
                ),
            ),
            (
                theirs.role == mine.role,
                format!(
                    "both parties were started as {role:?}; start one as the garbler and the other as the \
                     evaluator"
                ),
            ),
            (
                theirs.role > 1 || theirs.modes > (STOCK | POST_QUANTUM),
                "the peer's greeting is malformed".to_string(),
            ),
            (
                (theirs.modes ^ mine.modes) & STOCK != 0,
                match mine.modes & STOCK {
                    STOCK => "this party was started with --store, but the peer without",
                    _ => "the peer was started with --store, but this party without",
                }
                .to_string()
                    + "; give it on both sides or on neither",
            ),
            (
                (theirs.modes ^ mine.modes) & POST_QUANTUM != 0,
                match mine.modes & POST_QUANTUM {
                    POST_QUANTUM => "this party was started with --post-quantum, but the peer without",
                    _ => "the peer was started with --post-quantum, but this party without",
                }
                .to_string()
                    + "; give it on both sides or on neither",
            ),
            (
                theirs.security != mine.security,
                format!(
                    "this party has --security {}, but the peer has --security {}",
                    security.bits(),
                    u32::from_le_bytes(theirs.security)
                ),
            ),
            (
                theirs.shares != mine.shares,
                format!(
                    "this party divides the promise among {} sessions, but the peer among {}",
                    security.shares(),
                    u32::from_le_bytes(theirs.shares)
                ),
            ),
            (
                theirs.program != mine.program,
                match mine.modes & STOCK {
                    STOCK => OTHER_PURPOSE,
                    _ => OTHER_PROGRAM,
                }
                .to_string(),
            ),
            (
                theirs.identities != mine.identities,
                "the peer expects the public keys of other parties; compare the keys on both sides"
                    .to_string(),
            ),
        ];
        if let Some((_, why)) = differs.into_iter().find(|(bad, _)| *bad) {
            return Err(Error::Mismatch(why));
        }
        let (garbler, evaluator) = if role == Party::Garbler { (&mine, &theirs) } else { (&theirs, &mine) };
        let mut hasher = blake3::Hasher::new_derive_key("brickwork 2026-11 session identifier");
        hasher.update(bytemuck::bytes_of(garbler)).update(bytemuck::bytes_of(evaluator));
        Ok(Answer {
            digest: digest(&theirs),
            parameters: theirs.parameters,
            session: *hasher.finalize().as_bytes(),
        })
    }
}

/// The result of both greetings.
pub struct Answer {
    /// Digest of the peer's greeting.
    pub digest: [u8; 32],
    /// The peer's parameters: a garbler sends the digest of its proposal, an evaluator sends zeros.
    pub parameters: [u8; 32],
    /// The session's identifier.
    pub session: SessionId,
}

impl Answer {
    /// Checks that the peer proposes no parameters.
    ///
    /// # Errors
    /// [`Error::Mismatch`] if it does.
    pub fn proposes_nothing(&self) -> Result<(), Error> {
        match self.parameters == [0; 32] {
            true => Ok(()),
            false => Err(Error::Mismatch("the peer's greeting is malformed".into())),
        }
    }
}

fn digest(hello: &Hello) -> [u8; 32] {
    blake3::derive_key("brickwork 2026-11 greeting", bytemuck::bytes_of(hello))
}
