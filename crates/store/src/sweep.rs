//! The treatment of segment files when a store is opened.

use std::collections::{HashMap, HashSet};

use super::batches::{BatchRow, Use, serial_of, use_of};
use super::folder::{failed, move_aside};
use super::index::BATCHES;
use super::log::{EpochId, EpochState, Serial, number_of};
use super::segment::IndexedSegment;
use super::store::Store;
use brickwork_base::Error;

impl Store {
    /// Removes the segments that no program will use any more, according to the log. Moves unknown files
    /// aside. Segments of an interrupted process are kept until their step is given up, because this index
    /// may be an older copy in which the step is not complete.
    pub(super) fn sweep(&self) -> Result<(), Error> {
        let (mut states, mut rows) = (HashMap::new(), Vec::new());
        let (mut useful, mut useless) = (HashSet::new(), HashSet::new());
        for (id, _) in self.epochs()? {
            let state = self.state(&id)?;
            for (key, row) in self.between(BATCHES, &id, None)? {
                let BatchRow { segment, .. } = self.open_row(BATCHES, &key, &row)?;
                let path = IndexedSegment::path(&self.segments(), &segment.id);
                match use_of(&state, serial_of(&key), &segment) {
                    Use::Programs => useful.insert(path),
                    Use::Nobody => useless.insert(path),
                    Use::Nothing => {
                        rows.push((BATCHES, key, None));
                        useless.insert(path)
                    }
                };
            }
            states.insert(id, state);
        }
        if !rows.is_empty() {
            self.write(&rows)?;
        }
        let segments = self.segments();
        for file in std::fs::read_dir(&segments).map_err(failed(&segments))? {
            let path = file.map_err(failed(&segments))?.path();
            if useful.contains(&path) {
                continue;
            }
            let fate = match useless.contains(&path) {
                true => Fate::Useless,
                false => IndexedSegment::named(&path, &self.shared.key)
                    .map_or(Fate::Unknown, |(id, serial)| {
                        states.get(&id).map_or(Fate::Unknown, |state| fate_of(state, id, serial))
                    }),
            };
            match fate {
                Fate::Useless => self.remove(&path)?,
                Fate::Open(id) => self.shared.leftovers().push((id, path)),
                Fate::Unknown => move_aside(&self.shared.disk, &self.shared.directory, &path)?,
            }
        }
        Ok(())
    }
}

/// The treatment of a segment that the index does not name.
enum Fate {
    /// The segment is removed: the log shows that no program will use it.
    Useless,
    /// The segment is kept: it belongs to the current step of this epoch.
    Open(EpochId),
    Unknown,
}

fn fate_of(state: &EpochState, id: EpochId, serial: Serial) -> Fate {
    if state.burned().is_some() {
        return Fate::Useless;
    }
    match number_of(serial) {
        _ if state.is_open(serial) => Fate::Open(id),
        // The log has not begun the step of this segment, so the index is older than the segment.
        number if number > state.shared() => Fate::Unknown,
        // The batch is complete, and this file is not its segment.
        _ if state.is_made(serial) => Fate::Unknown,
        _ => Fate::Useless,
    }
}
