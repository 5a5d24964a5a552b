//! The components that were made, and their assignment to the slots of programs.

use std::ops::Range;

use brickwork_base::Error;
use brickwork_base::label::Label;
use brickwork_base::stop::looking;
use brickwork_circuit::Circuit;
use brickwork_primitives::garbling::{GarblingKeys, Schedule};

use crate::layout::Layout;
use crate::share::Share;
use crate::shelf::{ListPlace, Paged, Shelved, ShelvedShares};

/// Copies of one component, at either party. Lists have the order `[copy][wire]` or `[copy][gate]`.
pub(super) trait CopiesOf {
    fn count(&self) -> usize;
    /// Returns the masks of the output wires.
    fn outputs(&self) -> &ShelvedShares;
}

/// The garbler's part of some copies.
pub(super) struct Garbled {
    pub count: usize,
    pub ports: ShelvedShares,
    /// The labels of masked value 0 of the ports.
    pub port_labels: Shelved<Label>,
    pub outputs: ShelvedShares,
    pub output_labels: Shelved<Label>,
    /// The labels of the outputs of AND gates, c bytes each, and spare bytes at the end.
    pub labels: Shelved<u8>,
    /// The MACs M_a, M_b and M_μ of each AND gate.
    pub macs: Shelved<u8>,
}

/// The evaluator's part of some copies, after all checks that are possible before they are evaluated.
pub(super) struct Received {
    pub count: usize,
    /// The keys of the hash, and the first copy's number under these keys.
    pub keys: GarblingKeys,
    pub first: u32,
    pub ports: ShelvedShares,
    pub outputs: ShelvedShares,
    /// The rows W0 and W1 of each AND gate.
    pub tables: Shelved<Label>,
    /// The row W2 of each AND gate.
    pub words: Shelved<Label>,
    /// The keys C_a, C_b and C_μ of each AND gate, c bytes each, and spare bytes at the end.
    pub tags: Shelved<u8>,
}

impl CopiesOf for Garbled {
    fn count(&self) -> usize {
        self.count
    }

    fn outputs(&self) -> &ShelvedShares {
        &self.outputs
    }
}

impl CopiesOf for Received {
    fn count(&self) -> usize {
        self.count
    }

    fn outputs(&self) -> &ShelvedShares {
        &self.outputs
    }
}

/// The material that programs run on.
pub(super) struct MadeComponents<C> {
    /// The place for the data of copies that wait for their program.
    pub shelf: ListPlace,
    /// The masks of the programs' inputs.
    pub inputs: Paged<Share>,
    /// At the garbler: the labels of masked value 0 of the inputs.
    pub input_labels: Paged<Label>,
    /// The copies of each component, in the order in which slots take them. Components that compute the same
    /// function share the list of the first of them.
    pub copies: Vec<Vec<C>>,
    /// The evaluation order of each component.
    pub schedules: Vec<Schedule>,
    digests: Vec<[u8; 32]>,
    /// For each component: the list of copies that is used now, and the number of its copies that are used.
    used: Vec<(usize, usize)>,
    inputs_used: usize,
}

impl<C: CopiesOf> MadeComponents<C> {
    /// Makes empty lists, with room for this many inputs.
    pub fn new<'c>(
        components: impl Iterator<Item = (&'c Circuit, [u8; 32])>,
        inputs: usize,
        shelf: ListPlace,
    ) -> Self {
        let (circuits, digests): (Vec<&Circuit>, Vec<[u8; 32]>) = components.unzip();
        MadeComponents {
            inputs: shelf.paged(inputs),
            input_labels: shelf.paged(inputs),
            shelf,
            copies: circuits.iter().map(|_| Vec::new()).collect(),
            schedules: circuits.iter().map(|circuit| Schedule::new(circuit)).collect(),
            used: vec![(0, 0); digests.len()],
            digests,
            inputs_used: 0,
        }
    }

    /// Returns the index of the component with this digest.
    fn place(&self, digest: &[u8; 32]) -> Option<usize> {
        self.digests.iter().position(|other| other == digest)
    }

    /// Returns how many copies of a component are left.
    fn left(&self, place: usize) -> usize {
        let (list, copies) = self.used[place];
        self.copies[place][list..].iter().map(C::count).sum::<usize>() - copies
    }

    /// Checks that enough copies and inputs are left for a program.
    ///
    /// # Errors
    /// [`Error::Stock`] that names the missing items.
    pub fn suffices(&self, layout: &Layout) -> Result<(), Error> {
        let lacks = |wanted: usize, name: &str, left: usize| match wanted > left {
            true => {
                Err(Error::Stock(format!("the program needs {wanted} {name}, but the session has {left}")))
            }
            false => Ok(()),
        };
        for (k, component) in layout.program.components().iter().enumerate() {
            let left = self.place(&layout.digests[k]).map_or(0, |place| self.left(place));
            lacks(layout.copies[k], &component.name, left)?;
        }
        lacks(layout.all_inputs(), "input masks", self.inputs.len() - self.inputs_used)
    }

    /// Takes the items of a program. Returns the assignment of copies to slots, and the number of the first
    /// input.
    ///
    /// # Errors
    /// As [`MadeComponents::suffices`].
    pub fn take(&mut self, layout: &Layout) -> Result<(Vec<Wave>, usize), Error> {
        self.suffices(layout)?;
        let waves = self.waves(layout);
        let first = self.inputs_used;
        self.inputs_used += layout.all_inputs();
        Ok((waves, first))
    }

    /// Returns the copies that a wave takes.
    pub fn of(&self, wave: &Wave) -> &C {
        &self.copies[wave.component][wave.made]
    }

    pub fn schedule(&self, wave: &Wave) -> &Schedule {
        &self.schedules[wave.component]
    }

    /// Assigns copies to all slots, in order: a slot joins the last wave if possible, or begins a new one.
    fn waves(&mut self, layout: &Layout) -> Vec<Wave> {
        let mut waves: Vec<Wave> = Vec::new();
        let places: Vec<Option<usize>> = layout.digests.iter().map(|digest| self.place(digest)).collect();
        let mut first_of_wave = 0;
        for (k, slot) in looking(layout.program.slots().enumerate()) {
            let component =
                places[slot.component.0 as usize].expect("the session has enough copies of each component");
            let (made, copy) = &mut self.used[component];
            while *copy == self.copies[component][*made].count() {
                (*made, *copy) = (*made + 1, 0);
            }
            let joins = waves.last().is_some_and(|wave| {
                let alike = wave.component == component && wave.made == *made && wave.copies.end == *copy;
                alike
                    && wave.slots.len() < SIDE_BY_SIDE
                    && slot.inputs.iter().all(|&wire| wire < first_of_wave)
            });
            match waves.last_mut().filter(|_| joins) {
                Some(wave) => (wave.slots.end, wave.copies.end) = (k + 1, *copy + 1),
                None => {
                    first_of_wave = slot.first_output;
                    let (slots, copies) = (k..k + 1, *copy..*copy + 1);
                    waves.push(Wave { slots, component, made: *made, copies });
                }
            }
            *copy += 1;
        }
        waves
    }
}

/// Consecutive slots that are evaluated side by side. They take copies of one component that were made
/// together, and none of them reads an output of another.
#[derive(Clone, Debug)]
pub(super) struct Wave {
    pub slots: Range<usize>,
    pub component: usize,
    /// The index among the component's lists of copies.
    pub made: usize,
    pub copies: Range<usize>,
}

impl Wave {
    /// Returns the range of the data of this wave's copies, in a list with `count` values per copy.
    pub fn each(&self, count: usize) -> Range<usize> {
        self.copies.start * count..self.copies.end * count
    }
}

/// The largest number of slots that are evaluated side by side.
const SIDE_BY_SIDE: usize = brickwork_primitives::garbling::masked::SIDE_BY_SIDE;
