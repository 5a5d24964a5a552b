//! Both directions at once.

use brickwork_base::Error;
use brickwork_wire::Channel;

use super::{Receiver, Sender};

/// Makes OTs both ways until this party has `count` choices left: the peer does the same. Both directions
/// send at once. Then this many random bits exist without a message.
///
/// # Errors
/// [`Error::Peer`] if the peer cheats, [`Error::Io`] if the connection fails; then no call succeeds any more.
pub fn provide(
    channel: &mut Channel,
    sender: &mut Sender,
    receiver: &mut Receiver,
    count: usize,
) -> Result<(), Error> {
    while receiver.left() < count {
        // The receivers' messages come first, or both would wait.
        let macs = receiver.begin(channel, count)?;
        let keys = sender.begin(channel, count)?;
        let offered = sender.offer(channel, keys, |_| {})?;
        let completed = receiver.complete(channel, macs, |_| {})?;
        sender.answer(channel, offered, |_, v| v)?;
        receiver.verify(channel, completed)?;
    }
    Ok(())
}
