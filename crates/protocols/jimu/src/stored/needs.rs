//! What a program takes from stock, and what is made for it.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use brickwork_base::digest::Digest;
use brickwork_base::{Error, Party};
use brickwork_circuit::Program;
use brickwork_session::stock::Asked;
use brickwork_session::stock::records::Batches;
use brickwork_stock::Serial;

use super::origins::{Cut, Header, Origin, report};
use crate::layout::{Kind, Layout, Supply};
use crate::parameters::{Level, Sizes};

/// What the items of a batch are: the `kind` of [`Batch`](brickwork_stock::Batch).
pub(super) mod kind {
    /// Buckets of AND gates.
    pub const GATES: u8 = 0;
    /// Wires of the garbler's inputs.
    pub const INPUTS: u8 = 1;
    /// OTs, whose labels are hashed.
    pub const OTS: u8 = 2;
}

/// AND gates that are made in one step, at most: both parties hold all that they know of them in memory.
const GATES_OF_A_STEP: u64 = 1 << 16;

/// Inputs of either party that are made in one step, at most.
const INPUTS_OF_A_STEP: u64 = 1 << 16;

/// AND gates that one preprocessing has room for at any level, sixteen steps of them
/// ([`Level::of_stock`]); for somewhat more at some.
const ROOM: u64 = 16 << 16;

/// The share of the budget that one preprocessing may spend: a program may draw on four of them.
const STOCK_SHARE: f64 = 0.25;

/// More of anything is not asked for at once.
const MOST: u64 = 1 << 32;

/// What is made ahead of time, for programs that may not be known yet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// AND gates, in buckets.
    pub gates: u64,
    /// Wires of the garbler: one for each bit of its inputs.
    pub inputs: u64,
    /// OTs: one for each bit of the evaluator's input.
    pub ots: u64,
}

impl std::fmt::Display for Request {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let parts = self.parts().into_iter().filter(|(.., count)| *count > 0);
        let parts: Vec<String> = parts.map(|(_, name, count)| format!("{count} {name}")).collect();
        f.write_str(&if parts.is_empty() { "nothing".into() } else { parts.join(", ") })
    }
}

impl Request {
    /// Returns what a program takes. One that takes nothing takes an OT all the same, which hides nothing: an
    /// entry that takes nothing would burn nothing.
    ///
    /// # Errors
    /// [`Error::Limit`] if it is more than can be asked for.
    pub fn of(program: &Program) -> Result<Self, Error> {
        let request = Request {
            gates: program.and_gates(),
            inputs: program.input_width(Party::Garbler) as u64,
            ots: program.input_width(Party::Evaluator) as u64,
        };
        let ticket = u64::from(request.is_empty());
        Request { ots: request.ots + ticket, ..request }.times(1)
    }

    pub(crate) fn of_layout(layout: &Layout) -> Self {
        let [gates, inputs] = [layout.slots.len(), layout.inputs(Party::Garbler)];
        let ots = match gates + inputs + layout.ots {
            0 => 1,
            _ => layout.ots,
        };
        let [gates, inputs, ots] = [gates, inputs, ots].map(|count| count as u64);
        Request { gates, inputs, ots }
    }

    /// Returns so many times as much.
    ///
    /// # Errors
    /// [`Error::Limit`] if that is more than can be asked for.
    pub fn times(&self, count: u64) -> Result<Self, Error> {
        let Request { gates, inputs, ots } = *self;
        Self::with([gates, inputs, ots].map(|one| one.checked_mul(count)))
    }

    /// Returns this and another one.
    ///
    /// # Errors
    /// As [`Request::times`].
    pub fn and(&self, other: &Self) -> Result<Self, Error> {
        Self::with([
            self.gates.checked_add(other.gates),
            self.inputs.checked_add(other.inputs),
            self.ots.checked_add(other.ots),
        ])
    }

    fn with(parts: [Option<u64>; 3]) -> Result<Self, Error> {
        match parts.map(|part| part.filter(|&count| count <= MOST)) {
            [Some(gates), Some(inputs), Some(ots)] => Ok(Request { gates, inputs, ots }),
            _ => Err(Error::Limit("more than 2^32 gates, inputs or OTs are asked for at once".into())),
        }
    }

    fn parts(&self) -> [(u8, &'static str, u64); 3] {
        [
            (kind::GATES, "AND gates", self.gates),
            (kind::INPUTS, "inputs", self.inputs),
            (kind::OTS, "OTs", self.ots),
        ]
    }

    /// Returns whether nothing is asked for.
    pub fn is_empty(&self) -> bool {
        *self == Request::default()
    }

    /// Lists the steps in which it is made. Each step of gates has as much of the share of one preprocessing.
    ///
    /// # Errors
    /// [`Error::Usage`] if that security is not offered, [`Error::Limit`] if there is too much of it for one
    /// preprocessing.
    pub(crate) fn steps(&self, security: u32) -> Result<Vec<Filling>, Error> {
        let level = Level::of_stock(security)?;
        let cut = |all: u64, most: u64| {
            (0..all.div_ceil(most)).map(move |step| most.min(all - step * most)).collect::<Vec<u64>>()
        };
        let gates = cut(self.gates, GATES_OF_A_STEP);
        let (inputs, ots) = (cut(self.inputs, INPUTS_OF_A_STEP), cut(self.ots, INPUTS_OF_A_STEP));
        let share = STOCK_SHARE / gates.len().max(1) as f64;
        let of_gates = gates.iter().map(|&gates| Request { gates, ..Request::default() });
        let at = |counts: &[u64], k: usize| counts.get(k).copied().unwrap_or(0);
        let of_inputs = (0..inputs.len().max(ots.len())).map(|k| Request {
            gates: 0,
            inputs: at(&inputs, k),
            ots: at(&ots, k),
        });
        // Most of them are alike.
        let mut known: HashMap<u64, Sizes> = HashMap::new();
        let mut steps = Vec::new();
        for request in of_gates.chain(of_inputs) {
            let sizes = match known.entry(request.gates) {
                Entry::Occupied(known) => known.get().clone(),
                Entry::Vacant(place) => {
                    let sizes = Sizes::of_step(level, request.gates as u32, share);
                    place.insert(sizes.map_err(|error| self.too_much(error, security))?).clone()
                }
            };
            steps.push(Filling { request, sizes });
        }
        Ok(steps)
    }

    /// Says what to do where a step finds no room in its part of the budget.
    fn too_much(&self, error: Error, security: u32) -> Error {
        match error {
            Error::Limit(_) => Error::Limit(format!(
                "{self} are more than one preprocessing has room for in its share of 2^-{security}; for \
                 {ROOM} AND gates there is: make it in several goes, of which a program may draw on four"
            )),
            other => other,
        }
    }

    /// Chooses what a program that takes this is given, oldest first: how many of which batch.
    ///
    /// # Errors
    /// [`Error::Stock`] if there is too little, or it comes out of so many batches that the bound is
    /// exceeded.
    pub(super) fn choose(&self, there: &Batches, security: u32) -> Result<Vec<(Serial, u32)>, Error> {
        let missing = self.missing(there);
        if !missing.is_empty() {
            return Err(Error::Stock(format!("the program needs {missing} more than there is")));
        }
        let (mut taken, mut all) = (Vec::new(), Vec::new());
        for (kind, _, count) in self.parts() {
            for left in there.take(kind, &[0; 32], count as usize, &mut taken)? {
                let cut = Header::decode(&left.batch.header)?.cut;
                all.extend(cut.map(|cut| Origin { serial: left.serial, cut }));
            }
        }
        report(&all, there.given_up(), security)?;
        Ok(taken)
    }

    /// Returns what is lacking where this is there.
    pub(super) fn missing(&self, there: &Batches) -> Request {
        let lacks = |kind: u8, count: u64| count.saturating_sub(there.left(kind) as u64);
        Request {
            gates: lacks(kind::GATES, self.gates),
            inputs: lacks(kind::INPUTS, self.inputs),
            ots: lacks(kind::OTS, self.ots),
        }
    }

    /// Returns how often what is there suffices for this.
    pub(super) fn suffices(&self, there: &Batches) -> u64 {
        let of = |(kind, _, count): (u8, _, u64)| (there.left(kind) as u64).checked_div(count);
        self.parts().into_iter().filter_map(of).min().unwrap_or(0)
    }
}

/// A step of preprocessing: what is made, and how it is cut.
pub(crate) struct Filling {
    pub request: Request,
    pub sizes: Sizes,
}

impl Filling {
    /// Returns what is made and hashed for it.
    pub fn supply(&self) -> Supply<'static> {
        let Request { inputs, ots, .. } = self.request;
        let kinds = self.sizes.copies.iter().map(|_| Kind::Gate).collect();
        // A step has 2^16 at most.
        Supply { sizes: self.sizes.clone(), kinds, inputs: inputs as usize, slot_wires: 0, ots: ots as usize }
    }

    /// Returns its cut-and-choose, if it makes gates.
    pub fn cut(&self) -> Option<Cut> {
        self.sizes.copies.first().copied().map(Cut)
    }

    /// Returns what it may leak, in units of 2^-128.
    pub(super) fn risk(&self) -> u128 {
        self.cut().map_or(0, |cut| cut.bound(&self.sizes.level).to_fixed())
    }
}

impl Asked for Filling {
    fn request(&self) -> [u8; 32] {
        let Request { gates, inputs, ots } = self.request;
        Digest::of("brickwork 2026-11 jimu stock").number(gates).number(inputs).number(ots).done()
    }

    fn parameters(&self) -> [u8; 32] {
        let mut digest = Digest::of("brickwork 2026-11 jimu stock parameters");
        digest.number(self.sizes.level.security).length(self.sizes.copies.len());
        for cut in &self.sizes.copies {
            digest.number(cut.slots).number(cut.bucket).number(cut.opened);
        }
        digest.done()
    }

    fn bytes(&self) -> u64 {
        let label = self.sizes.level.labels.l() as u64;
        self.sizes.copies.iter().map(|cut| cut.copies() * 3 * label).sum()
    }
}

/// A program, and this party's input.
pub(super) struct Execution<'j> {
    pub layout: &'j Layout<'j>,
    pub input: &'j [bool],
}
