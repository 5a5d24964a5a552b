//! Makers: workers of `brickwork preprocess --workers` on other machines of the same party. This module also
//! calls makers.
//!
//! Both communicate over TLS with pinned keys, as with a peer: the maker has its own key, and knows its
//! party's key. The party's own key is sent over this connection, because the maker needs it to connect to
//! the peer. So the key is not stored on a second disk. Before the key is sent, both compare their versions.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::{Duration, Instant};

use brickwork_base::Error as ProtocolError;
use brickwork_circuit::Party;
use brickwork_duplo as duplo;
use brickwork_kernels::Erasing;
use brickwork_protocol::PROTOCOL_VERSION;
use brickwork_report::words::plural;
use brickwork_wire::tls::{self, Identity, Listener, Met, PublicKey};
use brickwork_wire::{Channel, Tag};
use serde::{Deserialize, Serialize};
use zeroize::{Zeroize, Zeroizing};

use crate::engine::request::Resources;
use crate::engine::role;
use crate::failure::Error;
use crate::files;

/// A coordinator's first message: a [`Call`].
const CALL: Tag = Tag(1);

/// The largest number of bytes of a [`Call`].
const MAX_CALL_BYTES: usize = 1 << 14;

/// The time for which a connection within the party may always be silent, even if `--timeout` is shorter.
/// Giving up a connection burns a part of the store.
const SILENCE: Duration = Duration::from_secs(60);

/// A maker of this party, and its address.
#[derive(Clone, Debug)]
pub struct Hired {
    address: String,
    key: PublicKey,
}

impl FromStr for Hired {
    type Err = String;

    /// Reads `HOST:PORT=PUBKEY`; the key may be `@FILE`.
    fn from_str(text: &str) -> Result<Self, String> {
        let (address, key) = text.split_once('=').ok_or("expected HOST:PORT=PUBKEY, or HOST:PORT=@FILE")?;
        let key = files::public_key(key).map_err(|error| error.message().to_owned())?;
        Ok(Hired { address: address.into(), key })
    }
}

/// Refuses a maker that is named twice, has the party's own key, or has the peer's key.
pub(crate) fn check(makers: &[Hired], own: PublicKey, peer: PublicKey) -> Result<(), Error> {
    let hint = "each maker needs its own key; `brickwork keygen` on the maker's machine prints it";
    for (k, Hired { address, key }) in makers.iter().enumerate() {
        let why = match () {
            () if *key == peer => "has the peer's key, but a maker receives this party's secrets",
            () if *key == own => "has this party's own key",
            () if makers[..k].iter().any(|other| other.key == *key || other.address == *address) => {
                "is named twice, by its address or by its key"
            }
            () => continue,
        };
        return Err(Error::usage(format!("--maker {address}: it {why}"), hint));
    }
    Ok(())
}

/// The content of a coordinator's call.
#[derive(Serialize, Deserialize)]
struct Call {
    /// The party's private key.
    pem: String,
    peer: [u8; 32],
    role: Party,
    lanes: u8,
    timeout: u64,
    /// The address of the peer's worker; `None` if the peer connects.
    connect: Option<String>,
}

impl Drop for Call {
    fn drop(&mut self) {
        self.pem.zeroize();
    }
}

/// Reads a call and writes it again, for the fuzz targets; `None` if it is malformed.
#[doc(hidden)]
pub fn call_again(bytes: &[u8]) -> Option<Vec<u8>> {
    serde_json::to_vec(&serde_json::from_slice::<Call>(bytes).ok()?).ok()
}

/// Returns the data that both ends exchange first.
fn sheet() -> Vec<u8> {
    format!("brickwork maker {PROTOCOL_VERSION} {}", env!("CARGO_PKG_VERSION")).into_bytes()
}

/// Checks that both ends have the same release, and that the caller is a coordinator.
fn same(met: &Met) -> Result<(), ProtocolError> {
    match met.sheet == sheet() && !met.visits {
        true => Ok(()),
        false => Err(ProtocolError::Mismatch(
            "a maker and its `brickwork preprocess --maker` need the same release and must call each other"
                .into(),
        )),
    }
}

/// The data with which a coordinator calls its makers, and the work that they do.
pub(crate) struct Caller<'c> {
    pub identity: &'c Identity,
    pub pem: &'c str,
    pub peer: PublicKey,
    pub role: Party,
    pub resources: Resources,
}

impl Caller<'_> {
    /// Calls a maker. The maker immediately connects to the peer's worker, or waits for it.
    ///
    /// # Errors
    /// If the maker cannot be reached, or has another key or another release. Before such an error, nothing
    /// secret has been sent.
    pub fn call(&self, maker: &Hired, connect: Option<String>) -> Result<Channel, Error> {
        let Caller { identity, pem, peer, role, resources: Resources { lanes, timeout, .. } } = *self;
        let options = tls::EndpointOptions { party: Party::Garbler, lanes: 1, timeout };
        let place = format!("the maker at {}", maker.address);
        let called = || -> Result<Channel, ProtocolError> {
            let mut met = tls::meet(&maker.address, identity, maker.key, &options, &sheet())?;
            same(&met)?;
            met.channel.set_timeout(timeout.max(SILENCE));
            let _erasing = Erasing::begin();
            let (pem, peer, timeout) = (pem.to_owned(), peer.to_bytes(), timeout.as_secs());
            let call = Call { pem, peer, role, lanes, timeout, connect };
            let call = serde_json::to_vec(&call).map_err(|error| ProtocolError::Usage(error.to_string()))?;
            met.channel.send(CALL, &Zeroizing::new(call))?;
            met.channel.flush()?;
            Ok(met.channel)
        };
        called().map_err(|error| Error::from(error).within(&place))
    }
}

/// Waits for the coordinator. A caller with another release is refused with this reason.
fn coordinator(listener: &Listener) -> Result<Channel, ProtocolError> {
    loop {
        match listener.meet(&sheet(), None).and_then(|met| same(&met).map(|()| met.channel)) {
            Err(why @ (ProtocolError::Mismatch(_) | ProtocolError::Io(_))) => {
                tracing::warn!("refused the party: {why}")
            }
            called => return called,
        }
    }
}

/// Connects to the peer's worker or waits for it, as the coordinator's call demands.
fn peer(call: &Call, peer_listen: Option<&str>) -> Result<Channel, ProtocolError> {
    let identity = Identity::from_pem(&call.pem)?;
    let timeout = Duration::from_secs(call.timeout);
    let options = tls::EndpointOptions { party: call.role, lanes: call.lanes, timeout };
    let peer = PublicKey::from_bytes(call.peer);
    match (&call.connect, peer_listen) {
        (Some(address), _) => tls::connect(address, &identity, peer, &options),
        (None, None) => Err(ProtocolError::Usage(
            "this party listens for its peer, but the maker was started without --peer-listen".into(),
        )),
        (None, Some(address)) => {
            let listener = Listener::bind(address, &identity, peer, &options)?;
            next_of(&listener, timeout)
        }
    }
}

/// Waits this long for the connection of a worker of the peer's. Visitors are refused.
pub(crate) fn next_of(listener: &Listener, timeout: Duration) -> Result<Channel, ProtocolError> {
    let until = Instant::now() + timeout;
    loop {
        let mut met = listener.meet(&[], Some(until))?;
        if !met.visits {
            return Ok(met.channel);
        }
        met.channel.refuse("this party only makes stock, and does not compare runs")?;
    }
}

/// A request to work as a maker.
#[derive(Clone, Debug)]
pub struct MakerRequest {
    /// The address at which the party's coordinator calls.
    pub listen: String,
    /// The file with the key of this maker, which is not the party's.
    pub identity: PathBuf,
    /// The public key of the party.
    pub party: PublicKey,
    /// The address at which the peer's worker connects, if the party listens for its peer.
    pub peer_listen: Option<String>,
    pub resources: Resources,
}

/// The work of a maker.
#[derive(Clone, Debug, Serialize)]
pub struct SharesMade {
    /// The role of the party.
    pub role: Party,
    /// The number of shares of steps.
    pub shares: u32,
}

impl MakerRequest {
    /// Waits for the coordinator of this party, and makes the shares of one filling. `listens` learns the
    /// address, and `called` that the coordinator has called.
    ///
    /// # Errors
    /// An error of usage if the key is the party's own; those of the network and of the protocol.
    pub fn run(
        &self,
        listens: &mut dyn FnMut(SocketAddr) -> Result<(), Error>,
        called: &mut dyn FnMut(),
    ) -> Result<SharesMade, Error> {
        let MakerRequest { listen, party, peer_listen, resources, .. } = self;
        let identity = files::identity(&self.identity)?;
        if identity.public_key() == *party {
            let hint = "`brickwork keygen` makes a key for this maker; the party sends its own key when it \
                        connects";
            return Err(Error::usage("--identity is the key of the party; give the maker its own key", hint));
        }
        let options = tls::EndpointOptions { party: Party::Evaluator, lanes: 1, timeout: resources.timeout };
        let listener = Listener::bind(listen, &identity, *party, &options)?;
        listens(listener.local_addr()?)?;
        let mut channel = coordinator(&listener)?;
        called();
        channel.set_timeout(resources.timeout.max(SILENCE));
        let met = {
            let _erasing = Erasing::begin();
            let strange = || {
                ProtocolError::Mismatch("the party's message does not ask this maker to make stock".into())
            };
            let call = channel.receive_up_to(CALL, MAX_CALL_BYTES).map_err(|error| match error {
                ProtocolError::Peer(_) => strange(),
                other => other,
            })?;
            let call: Call = serde_json::from_slice(&Zeroizing::new(call)).map_err(|_| strange())?;
            peer(&call, peer_listen.as_deref())
        };
        let maker = duplo::Maker::hear(channel)?;
        let role = maker.role();
        match met {
            Ok(peer) => Ok(SharesMade { role, shares: maker.works(peer, resources.threads())? }),
            Err(error) => Err(maker.gives_up(error).into()),
        }
    }
}

impl fmt::Display for SharesMade {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "made {} of steps for the {}", plural(self.shares.into(), "share"), role(self.role))
    }
}
