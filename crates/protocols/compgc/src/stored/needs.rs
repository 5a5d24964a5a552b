//! The items that a program takes from stock, and the steps that make missing items.

use brickwork_base::Error;
use brickwork_base::digest::Digest;
use brickwork_circuit::{Component, Party, Program};
use brickwork_protocol::stock::PreprocessingStep;
use brickwork_protocol::stock::records::{Batches, WantedItems};
use brickwork_store::Serial;

use super::records::Shape;
use crate::layout::Layout;

/// The kinds of item of a batch.
pub(super) const OTS: u8 = 0;
pub(super) const COPIES: u8 = 1;

/// The OTs of one step of preprocessing, at most: 16 MiB of labels.
const OTS_OF_A_STEP: usize = 1 << 20;

/// The bytes of tables or labels of one step of preprocessing, unless a single copy has more.
const BYTES_OF_A_STEP: usize = 64 << 20;

/// The largest number of AND gates of a program from stock, and of one step of preprocessing. An epoch has
/// fewer than 2^19 entries, so its copies have fewer than 2^59 AND gates and hash keys. Two of the keys are
/// equal with a probability below 2^-11, and only then does a key serve more calls than the promise counts.
const MAX_AND_GATES: u64 = 1 << 40;

/// The items to make in advance. The programs that will take them may not be known yet.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Request {
    /// Components, with the number of copies of each.
    pub components: Vec<(Component, usize)>,
    /// OTs: one for each bit of the evaluator's input.
    pub ots: usize,
}

impl std::fmt::Display for Request {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let components = self.components.iter().map(|(component, count)| (*count, component.name.as_str()));
        let parts = components.chain([(self.ots, "OTs")]).filter(|(count, _)| *count > 0);
        let parts: Vec<String> = parts.map(|(count, name)| format!("{count} {name}")).collect();
        f.write_str(&if parts.is_empty() { "nothing".into() } else { parts.join(", ") })
    }
}

impl Request {
    /// Returns the items of a program. A program that needs no copy and no OT takes one OT nevertheless,
    /// which hides nothing: an entry of the log must burn at least one item.
    ///
    /// # Errors
    /// [`Error::Limit`] if the program needs more than the promise covers.
    pub fn of(program: &Program) -> Result<Self, Error> {
        let mut request = Request { components: Vec::new(), ots: program.input_width(Party::Evaluator) };
        for (component, slots) in program.components().iter().zip(program.slots_by_component()) {
            request.add(component, slots);
        }
        if request.components.is_empty() {
            request.ots = request.ots.max(1);
        }
        match program.and_gates() <= MAX_AND_GATES && request.ots <= u32::MAX as usize {
            true => Ok(request),
            false => Err(Error::Limit(
                "a program from stock may have at most 2^40 AND gates and 2^32 bits of the evaluator's \
                 input; use fewer --executions, or leave out --store"
                    .into(),
            )),
        }
    }

    /// Adds copies of a component. Components with the same digest share one count.
    pub fn add(&mut self, component: &Component, count: usize) {
        let digest = component.digest();
        match self.components.iter_mut().find(|(known, _)| known.digest() == digest) {
            _ if count == 0 => {}
            Some((_, all)) => *all += count,
            None => self.components.push((component.clone(), count)),
        }
    }

    /// Splits the request into the steps that make it.
    pub(super) fn steps(&self) -> Vec<Filling> {
        let mut steps = Vec::new();
        for (component, count) in &self.components {
            let Shape { inputs, outputs, tables } = Shape::of(&component.circuit);
            let bytes = tables.max(size_of::<u128>() * (inputs + outputs)).max(1);
            let at_once = (BYTES_OF_A_STEP / bytes).clamp(1, OTS_OF_A_STEP);
            let parts = (0..*count).step_by(at_once).map(|first| at_once.min(count - first));
            steps.extend(parts.map(|count| Filling::Copies { component: component.clone(), count }));
        }
        let ots = (0..self.ots).step_by(OTS_OF_A_STEP);
        steps.extend(ots.map(|first| Filling::Ots(OTS_OF_A_STEP.min(self.ots - first))));
        steps
    }

    /// Lists the requested items: the components in order, then the OTs.
    fn wanted(&self) -> Vec<WantedItems<'_>> {
        let rest = WantedItems { kind: OTS, component: [0; 32], name: "OTs", count: self.ots };
        WantedItems::copies(COPIES, &self.components).chain([rest]).collect()
    }

    /// Chooses items for this request, oldest first: pairs of a batch and the number of items to take from
    /// it.
    ///
    /// # Errors
    /// [`Error::Stock`] if there are too few items.
    pub(super) fn choose(&self, there: &Batches) -> Result<Vec<(Serial, u32)>, Error> {
        there.choose(&self.wanted())
    }

    /// Returns the missing items, if these exist. If no item is missing but the items could not be taken, all
    /// items are made once more.
    pub(super) fn missing(&self, there: &Batches) -> Self {
        let lacking = there.lacking(&self.wanted());
        let components = self.components.iter().zip(&lacking).filter(|(_, lacking)| **lacking > 0);
        let missing = Request {
            components: components.map(|((component, _), lacking)| (component.clone(), *lacking)).collect(),
            ots: lacking[self.components.len()],
        };
        if missing == Request::default() { self.clone() } else { missing }
    }

    /// Returns the number of programs for which the items are enough.
    pub(super) fn suffices(&self, there: &Batches) -> u64 {
        there.suffices(&self.wanted())
    }
}

/// A step of preprocessing.
pub enum Filling {
    Ots(usize),
    Copies { component: Component, count: usize },
}

impl PreprocessingStep for Filling {
    fn request(&self) -> [u8; 32] {
        let (component, count) = match self {
            Filling::Ots(count) => ([0; 32], *count),
            Filling::Copies { component, count } => (component.digest(), *count),
        };
        Digest::of("brickwork 2026-11 compgc stock").digest(&component).length(count).done()
    }

    /// This protocol has no parameters to choose.
    fn parameters(&self) -> [u8; 32] {
        [0; 32]
    }

    fn bytes(&self) -> u64 {
        match self {
            Filling::Ots(_) => 0,
            Filling::Copies { component, count } => (Shape::of(&component.circuit).tables * count) as u64,
        }
    }
}

/// The needs of a program, and this party's input.
pub struct Execution<'j> {
    pub(crate) layout: &'j Layout<'j>,
    pub(crate) needs: &'j Request,
    pub(crate) input: &'j [bool],
}
