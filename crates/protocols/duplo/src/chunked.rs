//! Makes and sends the garbler's long lists chunk by chunk.

use std::ops::Range;

use super::hooks::{self, Hooks, Point};
use brickwork_base::Error;
use brickwork_base::pool;
use brickwork_protocol::Metered;
use brickwork_wire::Tag;

/// The number of items of a chunk, for lists whose items are made one by one.
pub(super) const IN_HAND: usize = 1 << 16;

/// The number of items that one task of the thread pool makes.
pub(super) const ITEMS_A_TASK: usize = 1 << 12;

/// Calls `make` for each index in `places`, in parallel. Returns the results in order.
pub(super) fn each_of<T: Send>(places: Range<usize>, make: impl Fn(usize) -> T + Sync + Send) -> Vec<T> {
    let tasks: Vec<Range<usize>> = (places.start..places.end)
        .step_by(ITEMS_A_TASK)
        .map(|first| first..places.end.min(first + ITEMS_A_TASK))
        .collect();
    let made = pool::map(tasks, || (), |_, _, task| task.map(&make).collect::<Vec<T>>());
    made.into_iter().flatten().collect()
}

/// Sends a list as one message. `make` makes the items of a range of units, for at most `step` of the `count`
/// units at a time; `sent` is called with the items that were sent.
pub(super) fn send_list<T: bytemuck::Pod + Send>(
    run: &mut Metered,
    hooks: &mut Hooks,
    (point, tag): (Point, Tag),
    count: usize,
    step: usize,
    mut make: impl FnMut(Range<usize>) -> Result<Vec<T>, Error>,
    mut sent: impl FnMut(&[T]),
) -> Result<(), Error> {
    let step = hooks::step(hooks, step, count);
    let mut message = run.channel.message(tag);
    for first in (0..count.max(1)).step_by(step) {
        let mut chunk = make(first..count.min(first + step))?;
        hooks.alter(point, &mut chunk);
        sent(&chunk);
        message.push(bytemuck::cast_slice(&chunk))?;
    }
    message.finish()
}
