//! The items that a program takes from stock, and those that are made for it.

use brickwork_base::Error;
use brickwork_base::digest::Digest;
use brickwork_circuit::{Component, Party, Program};
use brickwork_session::stock::Asked;
use brickwork_session::stock::records::{Batches, Wanted};
use brickwork_stock::Serial;

use super::records::Shape;
use crate::layout::Layout;

/// The kinds of item of a batch.
pub(super) const OTS: u8 = 0;
pub(super) const COPIES: u8 = 1;

/// OTs that are made at a time: 16 MiB of labels.
const OTS_OF_A_STEP: usize = 1 << 20;

/// Bytes of tables or labels that are made at a time, unless a copy has more.
const BYTES_OF_A_STEP: usize = 64 << 20;

/// AND gates that a program from stock has, at most, and one step makes, at most. An epoch has fewer than
/// 2^19 entries, so all its copies have fewer than 2^59 AND gates and keys of the hash. Two of these keys are
/// the same with a probability below 2^-11, and only then would one serve more calls than the promise says.
const MAX_AND_GATES: u64 = 1 << 40;

/// The items that are made ahead of time, for programs that may not be known yet.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Request {
    /// Components, and how many copies of each.
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
    /// Returns the items of a program. One that has neither a slot nor an input of the evaluator takes an OT
    /// all the same, which hides nothing: an entry that takes nothing would burn nothing.
    ///
    /// # Errors
    /// [`Error::Limit`] if it is more than the promise is for.
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
                "a program from stock has at most 2^40 AND gates and 2^32 bits of the evaluator's input; use \
                 fewer --executions, or run it without --store"
                    .into(),
            )),
        }
    }

    /// Adds copies of a component. Two that compute the same are one.
    pub fn add(&mut self, component: &Component, count: usize) {
        let digest = component.digest();
        match self.components.iter_mut().find(|(known, _)| known.digest() == digest) {
            _ if count == 0 => {}
            Some((_, all)) => *all += count,
            None => self.components.push((component.clone(), count)),
        }
    }

    /// Returns the steps in which it is made.
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
    fn wanted(&self) -> Vec<Wanted<'_>> {
        let rest = Wanted { kind: OTS, component: [0; 32], name: "OTs", count: self.ots };
        Wanted::copies(COPIES, &self.components).chain([rest]).collect()
    }

    /// Chooses the items for a program with these needs, oldest first: how many of which batch.
    ///
    /// # Errors
    /// [`Error::Stock`] if there is too little.
    pub(super) fn choose(&self, there: &Batches) -> Result<Vec<(Serial, u32)>, Error> {
        there.choose(&self.wanted())
    }

    /// Returns the missing items, if these exist. If nothing is, it could not be taken all the same, and
    /// others are made.
    pub(super) fn missing(&self, there: Option<&Batches>) -> Self {
        let Some(there) = there else { return self.clone() };
        let lacking = there.lacking(&self.wanted());
        let components = self.components.iter().zip(&lacking).filter(|(_, lacking)| **lacking > 0);
        let missing = Request {
            components: components.map(|((component, _), lacking)| (component.clone(), *lacking)).collect(),
            ots: lacking[self.components.len()],
        };
        if missing == Request::default() { self.clone() } else { missing }
    }

    /// Returns for how many programs the existing items are enough.
    pub(super) fn suffices(&self, there: &Batches) -> u64 {
        there.suffices(&self.wanted())
    }
}

/// A step of preprocessing.
pub(crate) enum Filling {
    Ots(usize),
    Copies { component: Component, count: usize },
}

impl Asked for Filling {
    fn request(&self) -> [u8; 32] {
        let (component, count) = match self {
            Filling::Ots(count) => ([0; 32], *count),
            Filling::Copies { component, count } => (component.digest(), *count),
        };
        Digest::of("brickwork 2026-11 compgc stock").digest(&component).length(count).done()
    }

    /// There is nothing to choose.
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
pub(crate) struct Execution<'j> {
    pub layout: &'j Layout<'j>,
    pub needs: &'j Request,
    pub input: &'j [bool],
}
