//! PCG iterations in both directions at once.

use brickwork_base::Error;
use brickwork_wire::Channel;

use super::{Receiver, Sender};

/// Makes OTs in both directions until this party has `count` random choices left; the peer does the same.
/// Both directions use the same flights. Afterwards, `count` random bits can be drawn without a message.
///
/// # Errors
/// [`Error::Peer`] if the peer cheats, [`Error::Io`] if the connection fails. After an error, every call
/// fails.
pub fn provide(
    channel: &mut Channel,
    sender: &mut Sender,
    receiver: &mut Receiver,
    count: usize,
) -> Result<(), Error> {
    while receiver.left() < count {
        // Each party first sends as receiver, because otherwise both would wait. Otherwise both would wait.
        let macs = receiver.begin(channel, count)?;
        let keys = sender.begin(channel, count)?;
        let offered = sender.offer(channel, keys, |_| {})?;
        let completed = receiver.complete(channel, macs, |_| {})?;
        sender.answer(channel, offered, |_, v| v)?;
        receiver.verify(channel, completed)?;
    }
    Ok(())
}
