//! `brickwork maker`: a worker of `brickwork preprocess --workers` on another machine of the same party; also
//! the call to it.
//!
//! Both communicate over TLS with pinned keys, as with a peer: the maker has its own key, and knows its
//! party's key. The party's own key is sent over this connection, because the maker needs it to connect to
//! the peer. So the key is not stored on a second disk. Before that, both compare their versions.

use std::io::Write as _;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use brickwork::ProtocolError as Error;
use brickwork::circuit::Party;
use brickwork::duplo;
use brickwork::session::PROTOCOL_VERSION;
use brickwork::wire::tls::{self, Identity, Listener, Met, PublicKey};
use brickwork::wire::{Channel, Tag};
use brickwork_kernels::Erasing;
use clap::Args;
use serde::{Deserialize, Serialize};
use serde_json::json;
use zeroize::{Zeroize, Zeroizing};

use crate::arguments::Resources;
use crate::failure::Failure;
use crate::files;
use crate::report::{Report, plural};

/// A coordinator's first message: a [`Call`].
const CALL: Tag = Tag(1);

/// The largest number of bytes of a [`Call`].
const MAX_CALL_BYTES: usize = 1 << 14;

/// The time for which a connection within the party may always be silent, even if `--timeout` is shorter.
/// Giving up a connection burns a part of the store.
const SILENCE: Duration = Duration::from_secs(60);

/// Make a worker's share of `brickwork preprocess --workers` on another machine of the same party, which has
/// the store; ends after one such command
#[derive(Args)]
pub struct Arguments {
    /// Wait for this party's `brickwork preprocess --maker` at this address of this machine; port 0 lets the
    /// system choose
    #[arg(long, value_name = "HOST:PORT")]
    listen: String,
    /// This maker's own private key, made by `brickwork keygen`; not the party's
    #[arg(long, value_name = "KEYFILE")]
    identity: PathBuf,
    /// The public key of the party that it works for, or @file: connections with other keys are refused
    #[arg(long, value_name = "PUBKEY")]
    party: String,
    /// If the party listens for its peer: also listen for the peer's worker at this address, which the peer
    /// gives as --worker-at
    #[arg(long, value_name = "HOST:PORT")]
    peer_listen: Option<String>,
    #[command(flatten)]
    resources: Resources,
}

/// A maker of this party, and its address.
#[derive(Clone)]
pub struct Hired {
    address: String,
    key: PublicKey,
}

/// Reads `HOST:PORT=PUBKEY`; the key may be `@FILE`.
pub fn hired(text: &str) -> Result<Hired, String> {
    let (address, key) = text.split_once('=').ok_or("expected HOST:PORT=PUBKEY, or HOST:PORT=@FILE")?;
    let key = files::public_key(key).map_err(|failure| failure.message().to_owned())?;
    Ok(Hired { address: address.into(), key })
}

/// Refuses a maker that is named twice, has the party's own key, or has the peer's key.
pub fn check(makers: &[Hired], own: PublicKey, peer: PublicKey) -> Result<(), Failure> {
    let hint = "each maker has a key of its own, which its `brickwork keygen` printed";
    for (k, Hired { address, key }) in makers.iter().enumerate() {
        let why = match () {
            () if *key == peer => "has the peer's key: it would be told this party's secrets",
            () if *key == own => "has this party's own key",
            () if makers[..k].iter().any(|other| other.key == *key || other.address == *address) => {
                "is named twice, by its address or its key"
            }
            () => continue,
        };
        return Err(Failure::usage(format!("--maker {address}: it {why}"), hint));
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
    timeout: u32,
    /// The address of the peer's worker; `None` if the peer connects.
    connect: Option<String>,
}

impl Drop for Call {
    fn drop(&mut self) {
        self.pem.zeroize();
    }
}

/// Reads a call and writes it again, for the fuzz targets; `None` if it is malformed.
pub fn call_again(bytes: &[u8]) -> Option<Vec<u8>> {
    serde_json::to_vec(&serde_json::from_slice::<Call>(bytes).ok()?).ok()
}

/// Returns the data that both ends exchange first.
fn sheet() -> Vec<u8> {
    format!("brickwork maker {PROTOCOL_VERSION} {}", env!("CARGO_PKG_VERSION")).into_bytes()
}

/// Checks that both ends have the same release, and that the caller is a coordinator.
fn same(met: &Met) -> Result<(), Error> {
    match met.sheet == sheet() && !met.visits {
        true => Ok(()),
        false => Err(Error::Mismatch(
            "a maker and its `brickwork preprocess --maker` need the same release, and each is called by the \
             other alone"
                .into(),
        )),
    }
}

/// The coordinator that calls its makers, and the work.
pub struct Caller<'c> {
    pub identity: &'c Identity,
    pub pem: &'c str,
    pub peer: PublicKey,
    pub role: Party,
    pub resources: &'c Resources,
}

impl Caller<'_> {
    /// Calls a maker. The maker immediately connects to the peer's worker, or waits for it.
    ///
    /// # Errors
    /// If the maker cannot be reached, or has another key or another release. Nothing secret has been sent
    /// then.
    pub fn call(&self, maker: &Hired, connect: Option<String>) -> Result<Channel, Failure> {
        let Caller { identity, pem, peer, role, resources } = *self;
        let options = tls::Options { party: Party::Garbler, lanes: 1, timeout: resources.timeout() };
        let place = format!("the maker at {}", maker.address);
        let called = || -> Result<Channel, Error> {
            let mut met = tls::meet(&maker.address, identity, maker.key, &options, &sheet())?;
            same(&met)?;
            met.channel.set_timeout(resources.timeout().max(SILENCE));
            let (lanes, timeout) = (resources.lanes, resources.timeout);
            let _erasing = Erasing::begin();
            let call = Call { pem: pem.to_owned(), peer: peer.to_bytes(), role, lanes, timeout, connect };
            let call = serde_json::to_vec(&call).map_err(|error| Error::Usage(error.to_string()))?;
            met.channel.send(CALL, &Zeroizing::new(call))?;
            met.channel.flush()?;
            Ok(met.channel)
        };
        called().map_err(|error| Failure::from(error).within(&place))
    }
}

/// Waits for the coordinator. A caller with another release is refused with this reason.
fn coordinator(listener: &Listener) -> Result<Channel, Error> {
    loop {
        match listener.meet(&sheet(), None).and_then(|met| same(&met).map(|()| met.channel)) {
            Err(why @ (Error::Mismatch(_) | Error::Io(_))) => tracing::warn!("refused the party: {why}"),
            called => return called,
        }
    }
}

/// Connects to the peer's worker or waits for it, as the coordinator's call demands.
fn peer(call: &Call, peer_listen: Option<&str>) -> Result<Channel, Error> {
    let identity = Identity::from_pem(&call.pem)?;
    let timeout = Duration::from_secs(call.timeout.into());
    let options = tls::Options { party: call.role, lanes: call.lanes, timeout };
    let peer = PublicKey::from_bytes(call.peer);
    match (&call.connect, peer_listen) {
        (Some(address), _) => tls::connect(address, &identity, peer, &options),
        (None, None) => Err(Error::Usage(
            "this party listens for its peer, and the maker was started without --peer-listen".into(),
        )),
        (None, Some(address)) => {
            let listener = Listener::bind(address, &identity, peer, &options)?;
            let until = Instant::now() + timeout;
            loop {
                let mut met = listener.meet(&[], Some(until))?;
                if !met.visits {
                    return Ok(met.channel);
                }
                met.channel.refuse("this side makes stock, and compares nothing")?;
            }
        }
    }
}

pub fn run(arguments: &Arguments, quiet: bool) -> Result<Report, Failure> {
    let Arguments { listen, identity, party, peer_listen, resources } = arguments;
    let (identity, party) = (files::identity(identity)?, files::public_key(party)?);
    if identity.public_key() == party {
        let hint = "`brickwork keygen` makes a key for this maker; the party sends its own key when it \
                    connects";
        return Err(Failure::usage("--identity is the party's own key", hint));
    }
    let options = tls::Options { party: Party::Evaluator, lanes: 1, timeout: resources.timeout() };
    let listener = crate::party::listen(listen, &identity, party, &options, quiet)?;
    let mut channel = coordinator(&listener)?;
    if !quiet {
        // If stderr is closed, this message is lost, and the maker continues.
        let _ = writeln!(std::io::stderr(), "called by the party");
    }
    channel.set_timeout(resources.timeout().max(SILENCE));
    let met = {
        let _erasing = Erasing::begin();
        let strange = || Error::Mismatch("the party's call is not for making stock".into());
        let call = channel.receive_up_to(CALL, MAX_CALL_BYTES).map_err(|error| match error {
            Error::Peer(_) => strange(),
            other => other,
        })?;
        let call: Call = serde_json::from_slice(&Zeroizing::new(call)).map_err(|_| strange())?;
        peer(&call, peer_listen.as_deref())
    };
    let maker = duplo::Maker::hear(channel)?;
    let role = files::role(maker.role());
    let made = match met {
        Ok(peer) => maker.works(peer, resources.threads())?,
        Err(error) => return Err(maker.gives_up(error).into()),
    };
    let human = format!("made {} of steps for the {role}\n", plural(made.into(), "share"));
    Ok(Report::new(json!({ "role": role, "shares": made }), human))
}
