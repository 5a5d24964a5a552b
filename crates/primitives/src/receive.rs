//! Messages of known length that hold labels or other plain values.

use bytemuck::Pod;

use crate::scratch::{Depot, Spool};
use crate::solder::Soldering;
use brickwork_base::Error;
use brickwork_base::bits::Bits;
use brickwork_base::label::Label;
use brickwork_wire::{Channel, Tag};

/// Receives `count` labels, 16 bytes each.
///
/// # Errors
/// As [`Channel::receive_into`].
pub fn labels(channel: &mut Channel, tag: Tag, count: usize) -> Result<Vec<Label>, Error> {
    let mut labels = vec![Label::ZERO; count];
    channel.receive_into(tag, bytemuck::cast_slice_mut(&mut labels))?;
    Ok(labels)
}

/// Receives one label.
///
/// # Errors
/// As [`Channel::receive_into`].
pub fn label(channel: &mut Channel, tag: Tag) -> Result<Label, Error> {
    Ok(labels(channel, tag, 1)?[0])
}

/// Receives `count` values into a depot.
///
/// # Errors
/// As [`Channel::receive_into`]; [`Error::Resource`] if there is no room.
pub fn values<T: Pod>(
    channel: &mut Channel,
    depot: &Depot,
    tag: Tag,
    count: usize,
) -> Result<Spool<T>, Error> {
    depot.fill(count, |values| channel.receive_into(tag, bytemuck::cast_slice_mut(values)))
}

/// Receives `count` solderings into a depot. Returns which of them flip, too.
///
/// # Errors
/// As [`values`].
pub fn solderings(
    channel: &mut Channel,
    depot: &Depot,
    tag: Tag,
    count: usize,
) -> Result<(Spool<Soldering>, Bits), Error> {
    let (mut flips, mut received) = (Bits::zeros(count), 0);
    let solderings = depot.fill(count, |solderings: &mut [Soldering]| {
        channel.receive_into(tag, bytemuck::cast_slice_mut(solderings))?;
        (received..).zip(&*solderings).for_each(|(k, soldering)| flips.add(k, soldering.flip()));
        received += solderings.len();
        Ok(())
    })?;
    Ok((solderings, flips))
}
