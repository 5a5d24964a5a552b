//! Components that were made, and the order in which a program's slots take them.

use std::ops::Range;

use brickwork_base::label::Label;
use brickwork_base::stop::{look, looking};
use brickwork_circuit::Circuit;
use brickwork_primitives::garbling::{GarblingKeys, Schedule};

use crate::kept::Kept;
use crate::layout::Layout;
use crate::share::Shares;
use brickwork_kernels::Secrets;

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
    pub labels: Kept<u8>,
    /// Of each AND gate M_a, M_b and M_μ, likewise.
    pub macs: Kept<u8>,
}

/// Copies that the evaluator has received, and checked as far as it can be before they are evaluated.
pub(super) struct Received {
    pub count: usize,
    /// The keys of the hash, and the number under them of the first copy.
    pub keys: GarblingKeys,
    pub first: u32,
    pub ports: Shares,
    pub outputs: Shares,
    /// Of each AND gate W0 and W1.
    pub tables: Kept<Label>,
    /// W2.
    pub words: Kept<Label>,
    /// C_a, C_b and C_μ: c bytes each, and spare ones behind them.
    pub tags: Kept<u8>,
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

/// What a program is run on.
pub(super) struct Made<C> {
    /// Masks of the program's inputs.
    pub inputs: Shares,
    /// Labels of the masked value 0 of the program's inputs, at the garbler.
    pub input_labels: Secrets<Label>,
    /// Of each component its copies, in the order in which slots take them; of those that compute the same,
    /// of the first one.
    pub copies: Vec<Vec<C>>,
    /// Of each component how it is walked through.
    pub schedules: Vec<Schedule>,
}

impl<C: Copies> Made<C> {
    /// Makes lists of nothing yet, with room for so many inputs.
    pub fn new<'c>(components: impl Iterator<Item = &'c Circuit> + Clone, inputs: usize) -> Self {
        Made {
            inputs: Shares::with_capacity(inputs),
            input_labels: Secrets::with_capacity(inputs),
            copies: components.clone().map(|_| Vec::new()).collect(),
            schedules: components.map(Schedule::new).collect(),
        }
    }

    /// Returns the copies that a wave is of.
    pub fn of(&self, wave: &Wave) -> &C {
        &self.copies[wave.component][wave.made]
    }

    /// Returns the schedule of a wave's component.
    pub fn schedule(&self, wave: &Wave) -> &Schedule {
        &self.schedules[wave.component]
    }

    /// Returns the masks of the program's wires.
    pub fn masks(&self, layout: &Layout, waves: &[Wave]) -> Shares {
        let mut masks = Shares::with_capacity(layout.program.wires());
        masks.extend(self.inputs.all());
        for wave in waves {
            look();
            masks.extend(self.of(wave).outputs().some(wave.each(self.schedule(wave).outputs())));
        }
        masks
    }
}

/// Slots that follow each other and take copies of the same component that were made together; none of them
/// has what another one gives. They go side by side.
#[derive(Clone, Debug)]
pub(super) struct Wave {
    pub slots: Range<usize>,
    pub component: usize,
    /// Which of the component's lists of copies.
    pub made: usize,
    pub copies: Range<usize>,
}

impl Wave {
    /// Returns where what belongs to its copies is, in lists that have so much for each.
    pub fn each(&self, count: usize) -> Range<usize> {
        self.copies.start * count..self.copies.end * count
    }
}

/// Slots that go side by side, at most.
const SIDE_BY_SIDE: usize = brickwork_primitives::garbling::masked::SIDE_BY_SIDE;

/// Returns the slots of a program in waves. `counts` says of each component how many copies there are in each
/// of its lists.
pub(super) fn waves(layout: &Layout, counts: &[Vec<usize>]) -> Vec<Wave> {
    let mut waves: Vec<Wave> = Vec::new();
    // Of each component the list that is being used, and how many of it are.
    let mut used = vec![(0, 0); counts.len()];
    let mut first_of_wave = 0;
    for (k, slot) in looking(layout.program.slots().enumerate()) {
        let component = layout.kinds[slot.component.0 as usize];
        let (made, copy) = &mut used[component];
        while *copy == counts[component][*made] {
            (*made, *copy) = (*made + 1, 0);
        }
        let joins = waves.last().is_some_and(|wave| {
            let alike = wave.component == component && wave.made == *made && wave.copies.end == *copy;
            alike && wave.slots.len() < SIDE_BY_SIDE && slot.inputs.iter().all(|&wire| wire < first_of_wave)
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
