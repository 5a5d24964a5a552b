//! Components that were made, and the order in which a program's slots take them.

use std::ops::Range;

use brickwork_base::Error;
use brickwork_base::label::Label;
use brickwork_base::stop::looking;
use brickwork_circuit::Circuit;
use brickwork_primitives::garbling::{GarblingKeys, Schedule};

use crate::layout::Layout;
use crate::secrets::Secrets;
use crate::share::Shares;
use crate::shelf::Shelved;

/// Copies of one component, of either party. Lists are `[copy][wire]` and `[copy][gate]`.
pub(super) trait Copies {
    /// Returns how many there are.
    fn count(&self) -> usize;
    /// Returns the masks of their output wires.
    fn outputs(&self) -> &Shares;
}

/// Copies that the garbler has made.
pub(super) struct Garbled {
    pub count: usize,
    pub ports: Shares,
    /// Labels of the masked value 0.
    pub port_labels: Secrets<Label>,
    pub outputs: Shares,
    pub output_labels: Secrets<Label>,
    /// Labels of the outputs of AND gates: c bytes each, and spare ones behind them.
    pub labels: Shelved<u8>,
    /// For each AND gate M_a, M_b and M_μ.
    pub macs: Shelved<u8>,
}

/// Copies that the evaluator has received, and checked as far as it can be before they are evaluated.
pub(super) struct Received {
    pub count: usize,
    /// The keys of the hash, and the number under them of the first copy.
    pub keys: GarblingKeys,
    pub first: u32,
    pub ports: Shares,
    pub outputs: Shares,
    /// For each AND gate W0 and W1.
    pub tables: Shelved<Label>,
    /// W2.
    pub words: Shelved<Label>,
    /// C_a, C_b and C_μ: c bytes each, and spare ones behind them.
    pub tags: Shelved<u8>,
}

impl Copies for Garbled {
    fn count(&self) -> usize {
        self.count
    }

    fn outputs(&self) -> &Shares {
        &self.outputs
    }
}

impl Copies for Received {
    fn count(&self) -> usize {
        self.count
    }

    fn outputs(&self) -> &Shares {
        &self.outputs
    }
}

/// The material that a program runs on.
pub(super) struct Made<C> {
    /// Masks of the program's inputs.
    pub inputs: Shares,
    /// Labels of the masked value 0 of the program's inputs, at the garbler.
    pub input_labels: Secrets<Label>,
    /// The copies of each component, in the order in which slots take them; components that compute the same
    /// share those of the first one.
    pub copies: Vec<Vec<C>>,
    /// The evaluation order of each component.
    pub schedules: Vec<Schedule>,
    /// The digest of each component.
    digests: Vec<[u8; 32]>,
    /// For each component the list of copies in use, and the number of used ones.
    used: Vec<(usize, usize)>,
    /// How many inputs are used.
    inputs_used: usize,
}

impl<C: Copies> Made<C> {
    /// Makes empty lists with room for this many inputs.
    pub fn new<'c>(components: impl Iterator<Item = (&'c Circuit, [u8; 32])>, inputs: usize) -> Self {
        let (circuits, digests): (Vec<&Circuit>, Vec<[u8; 32]>) = components.unzip();
        Made {
            inputs: Shares::with_capacity(inputs),
            input_labels: Secrets::with_capacity(inputs),
            copies: circuits.iter().map(|_| Vec::new()).collect(),
            schedules: circuits.iter().map(|circuit| Schedule::new(circuit)).collect(),
            used: vec![(0, 0); digests.len()],
            digests,
            inputs_used: 0,
        }
    }

    /// Returns the place among these components of one of this name.
    fn place(&self, digest: &[u8; 32]) -> Option<usize> {
        self.digests.iter().position(|other| other == digest)
    }

    /// Returns how many copies of a component are left.
    fn left(&self, place: usize) -> usize {
        let (list, copies) = self.used[place];
        self.copies[place][list..].iter().map(C::count).sum::<usize>() - copies
    }

    /// Refuses a program for which there is not enough left.
    ///
    /// # Errors
    /// [`Error::Stock`] that names the missing items.
    pub fn suffices(&self, layout: &Layout) -> Result<(), Error> {
        let lacks = |wanted: usize, name: &str, left: usize| match wanted > left {
            true => Err(Error::Stock(format!("the program needs {wanted} {name}, and there are {left}"))),
            false => Ok(()),
        };
        for (k, component) in layout.program.components().iter().enumerate() {
            let left = self.place(&layout.digests[k]).map_or(0, |place| self.left(place));
            lacks(layout.copies[k], &component.name, left)?;
        }
        lacks(layout.all_inputs(), "input masks", self.inputs.len() - self.inputs_used)
    }

    /// Takes the items of a program: the assignment of copies to slots, and the first of its inputs.
    ///
    /// # Errors
    /// As [`Made::suffices`].
    pub fn take(&mut self, layout: &Layout) -> Result<(Vec<Wave>, usize), Error> {
        self.suffices(layout)?;
        let waves = self.waves(layout);
        let first = self.inputs_used;
        self.inputs_used += layout.all_inputs();
        Ok((waves, first))
    }

    /// Returns the copies that a wave is of.
    pub fn of(&self, wave: &Wave) -> &C {
        &self.copies[wave.component][wave.made]
    }

    /// Returns the schedule of a wave's component.
    pub fn schedule(&self, wave: &Wave) -> &Schedule {
        &self.schedules[wave.component]
    }

    /// Adds slots to waves, or begins new waves: slots take the copies of a component one after another.
    fn waves(&mut self, layout: &Layout) -> Vec<Wave> {
        let mut waves: Vec<Wave> = Vec::new();
        let places: Vec<Option<usize>> = layout.digests.iter().map(|digest| self.place(digest)).collect();
        let mut first_of_wave = 0;
        for (k, slot) in looking(layout.program.slots().enumerate()) {
            let component = places[slot.component.0 as usize].expect("there is enough of each component");
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

/// Consecutive slots whose copies belong to the same component and were made together; none of them needs an
/// output of another. They go side by side.
#[derive(Clone, Debug)]
pub(super) struct Wave {
    pub slots: Range<usize>,
    pub component: usize,
    /// The place among the component's lists of copies.
    pub made: usize,
    pub copies: Range<usize>,
}

impl Wave {
    /// Returns the range of its copies' data in a list with `count` values per copy.
    pub fn each(&self, count: usize) -> Range<usize> {
        self.copies.start * count..self.copies.end * count
    }
}

/// Slots that go side by side, at most.
const SIDE_BY_SIDE: usize = brickwork_primitives::garbling::masked::SIDE_BY_SIDE;
