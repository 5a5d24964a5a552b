//! A party's run, from the meeting to the outputs.

use brickwork_base::Error as ProtocolError;
use brickwork_primitives::ot::Cot;
use brickwork_wire::tls::{self, Identity, Listener, Met, Options, PublicKey};
use brickwork_wire::{Channel, Tag};

use super::Watch;
use super::meeting::Sheet;
use super::protocols::{Done, Ready};
use super::work::Work;
use crate::failure::Error;
use crate::resources::cpu_seconds;

/// The message with the sheet of a party, on a connection whose greeting has none.
const SHEET: Tag = Tag(6);

/// The longest sheet on such a connection.
const MAX_SHEET_BYTES: usize = 1 << 16;

/// The way in which a party reaches its peer.
pub enum Place<'p> {
    /// It listens here.
    Listener(&'p Listener),
    /// The peer listens at this address.
    Peer {
        /// The address.
        address: &'p str,
        /// This party's key.
        identity: &'p Identity,
        /// The peer's key.
        peer: PublicKey,
        /// Number of connections and timeout.
        options: Options,
    },
    /// A connection that the caller made; it is gone after one use.
    Line(Option<Channel>),
}

impl Place<'_> {
    /// Meets the peer, and compares the sheets. Returns the connection, and the OTs of masks if the parties
    /// had to agree on them.
    fn meet(
        &mut self,
        work: &Work,
        ready: &dyn Ready,
        sheet: &Sheet,
        keep: bool,
    ) -> Result<(Channel, Option<Cot>), Error> {
        let mut met = match self {
            Place::Listener(listener) => return for_the_peer(work, ready, sheet, listener, keep),
            Place::Peer { address, identity, peer, options } => {
                tls::meet(address, identity, *peer, options, &sheet.encoded())?
            }
            Place::Line(line) => {
                let mut channel = line.take().ok_or_else(|| Error::fault("the line was used before"))?;
                channel.send(SHEET, &sheet.encoded())?;
                channel.flush()?;
                let theirs = channel.receive_up_to(SHEET, MAX_SHEET_BYTES)?;
                Met { channel, sheet: theirs, visits: false }
            }
        };
        let cot = work.agree_to_run(sheet, &mut met)?;
        Ok((met.channel, cot))
    }
}

/// Waits for the peer, and answers its visits. With `keep`, a peer that does not fit is told why, and the
/// party goes on waiting. This is safe because no run has begun and nothing that depends on a secret was
/// sent.
fn for_the_peer(
    work: &Work,
    ready: &dyn Ready,
    sheet: &Sheet,
    listener: &Listener,
    keep: bool,
) -> Result<(Channel, Option<Cot>), Error> {
    let encoded = sheet.encoded();
    loop {
        let agreed = listener.meet(&encoded, None).and_then(|mut met| match met.visits {
            true => {
                match ready.compare(sheet, &mut met) {
                    Ok(same) => tracing::info!("the peer has compared: {same}"),
                    Err(e) => tracing::warn!("the peer has compared: {e}"),
                }
                Ok(None)
            }
            false => work.agree_to_run(sheet, &mut met).map(|cot| Some((met.channel, cot))),
        });
        match agreed {
            Ok(Some(agreed)) => return Ok(agreed),
            Ok(None) => {}
            Err(e @ (ProtocolError::Mismatch(_) | ProtocolError::Io(_))) if keep => say_refused(&e),
            Err(e) => return Err(e.into()),
        }
    }
}

fn say_refused(why: &ProtocolError) {
    tracing::warn!("refused the peer: {why}; waiting for it to come again");
}

/// Runs a party that is ready. It meets the peer, compares what both are about to do, and runs the protocol
/// on its input. With `keep`, a listener waits for another peer if one does not fit. Returns the result, and
/// the seconds of CPU that it took.
///
/// # Errors
/// Those of the meeting and of the protocol.
pub fn run(
    work: &Work,
    ready: &mut dyn Ready,
    sheet: &Sheet,
    mut place: Place,
    keep: bool,
    input: &[bool],
    watch: &Watch,
) -> Result<(Done, f64), Error> {
    loop {
        let (channel, cot) = place.meet(work, ready, sheet, keep)?;
        if let Some(cot) = cot {
            ready.settle(cot)?;
        }
        let before = cpu_seconds();
        match ready.run(channel, input, watch) {
            // This party agreed and the peer did not, or the stores are no pair. Both see this before they
            // take or burn anything. Any other error of a store concerns this party's store as well.
            Err(e @ (ProtocolError::Refused(_) | ProtocolError::Strangers(_))) if keep => say_refused(&e),
            result => return Ok((result?, cpu_seconds() - before)),
        }
    }
}
