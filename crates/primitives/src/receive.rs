//! Receives labels and other plain values. The caller knows their number.

use bytemuck::Pod;

use crate::solder::Soldering;
use crate::spill::{Spill, SpilledVec};
use brickwork_base::Error;
use brickwork_base::bits::Bits;
use brickwork_base::label::Label;
use brickwork_wire::{Channel, Tag};

/// Receives `count` labels of 16 bytes.
///
/// # Errors
/// As [`Channel::receive_into`].
pub fn labels(channel: &mut Channel, tag: Tag, count: usize) -> Result<Vec<Label>, Error> {
    let mut labels = bytemuck::zeroed_vec::<Label>(count);
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

/// Receives `count` values into a spill.
///
/// # Errors
/// As [`Channel::receive_into`], and [`Error::Resource`] if a temporary file cannot be written.
pub fn values<T: Pod>(
    channel: &mut Channel,
    spill: &Spill,
    tag: Tag,
    count: usize,
) -> Result<SpilledVec<T>, Error> {
    spill.fill(count, |values| channel.receive_into(tag, bytemuck::cast_slice_mut(values)))
}

/// Receives `count` solderings into a spill. Returns also, for each soldering, its flip bit s.
///
/// # Errors
/// As [`values`].
pub fn solderings(
    channel: &mut Channel,
    spill: &Spill,
    tag: Tag,
    count: usize,
) -> Result<(SpilledVec<Soldering>, Bits), Error> {
    let (mut flips, mut received) = (Bits::zeros(count), 0);
    let solderings = spill.fill(count, |solderings: &mut [Soldering]| {
        channel.receive_into(tag, bytemuck::cast_slice_mut(solderings))?;
        (received..).zip(&*solderings).for_each(|(k, soldering)| flips.add(k, soldering.flip()));
        received += solderings.len();
        Ok(())
    })?;
    Ok((solderings, flips))
}
