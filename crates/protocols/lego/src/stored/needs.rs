//! The items of stock that a program needs, and the steps that make them.

use brickwork_base::digest::Digest;
use brickwork_base::{Error, Party};
use brickwork_circuit::Program;
use brickwork_protocol::stock::PreprocessingStep;
use brickwork_protocol::stock::records::Batches;
use brickwork_store::Serial;

use super::origins::{self, Header};
use crate::layout::Layout;
use crate::parameters::Parameters;

/// The kind of a batch's items: the `kind` of [`Batch`](brickwork_store::Batch).
pub(super) mod kind {
    /// Buckets of AND gates and their wire authenticators.
    pub const GATES: u8 = 0;
    /// Buckets of input authenticators, each with the wire of an input.
    pub const INPUTS: u8 = 1;
    /// OTs, each with the wire of an input.
    pub const OTS: u8 = 2;
    /// A built program.
    pub const PROGRAM: u8 = 3;
}

/// The largest number of AND gates of one step. Both parties keep all data about a step's gates in memory.
const GATES_OF_A_STEP: u64 = 1 << 18;

/// The largest number of inputs of either party in one step.
const INPUTS_OF_A_STEP: u64 = 1 << 16;

/// The share of a preprocessing's budget that gates get, if inputs are requested, too.
const OF_GATES: f64 = 0.75;

/// The items to make before programs are known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// The number of AND gates, one bucket for each.
    pub gates: u64,
    /// The number of inputs of the garbler: one for each bit of its ports, and for each output bit that it
    /// alone learns.
    pub inputs: u64,
    /// The number of OTs: one for each bit of the evaluator's input.
    pub ots: u64,
}

impl std::fmt::Display for Request {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let parts = self.parts().into_iter().filter(|(_, count)| *count > 0);
        let parts: Vec<String> = parts.map(|(name, count)| format!("{count} {name}")).collect();
        f.write_str(&if parts.is_empty() { "nothing".into() } else { parts.join(", ") })
    }
}

impl Request {
    /// Returns the items of a program.
    ///
    /// # Errors
    /// [`Error::Limit`] if the program has too many AND gates.
    pub fn of(program: &Program) -> Result<Self, Error> {
        Ok(Self::of_layout(&Layout::new(program)?))
    }

    pub(super) fn of_layout(layout: &Layout) -> Self {
        let Layout { ands, garbler, evaluator, .. } = *layout;
        Request { gates: ands as u64, inputs: garbler as u64, ots: evaluator as u64 }
    }

    /// Returns this many times the request.
    ///
    /// # Errors
    /// [`Error::Limit`] if a number is too large.
    pub fn times(&self, count: u64) -> Result<Self, Error> {
        let Request { gates, inputs, ots } = *self;
        self.with([gates, inputs, ots].map(|one| one.checked_mul(count)))
    }

    /// Returns the sum of two requests.
    ///
    /// # Errors
    /// As [`Request::times`].
    pub fn and(&self, other: &Self) -> Result<Self, Error> {
        let Request { gates, inputs, ots } = *self;
        self.with([
            gates.checked_add(other.gates),
            inputs.checked_add(other.inputs),
            ots.checked_add(other.ots),
        ])
    }

    fn with(self, parts: [Option<u64>; 3]) -> Result<Self, Error> {
        match parts {
            [Some(gates), Some(inputs), Some(ots)] => Ok(Request { gates, inputs, ots }),
            _ => Err(Error::Limit("the request is too large".into())),
        }
    }

    fn parts(&self) -> [(&'static str, u64); 3] {
        [("AND gates", self.gates), ("inputs", self.inputs), ("OTs", self.ots)]
    }

    /// Returns whether nothing is requested.
    pub fn is_empty(&self) -> bool {
        *self == Request::default()
    }

    /// Returns the bucket size of the first step's gates, and the number of gates that it opens.
    ///
    /// # Errors
    /// As [`Parameters::choose`].
    #[cfg(any(test, feature = "adversary"))]
    pub fn buckets(&self, security: u32) -> Result<[u32; 2], Error> {
        match self.steps(security)?.first() {
            Some(Filling::Items(_, parameters)) => Ok([parameters.gates.bucket, parameters.gates.opened]),
            _ => Err(Error::Usage("the request asks for no gates".into())),
        }
    }

    /// Lists the steps that make the requested items.
    ///
    /// # Errors
    /// [`Error::Usage`] if the security is not offered, [`Error::Limit`] if the request is too large.
    pub(super) fn steps(&self, security: u32) -> Result<Vec<Filling<'static>>, Error> {
        let cut = |all: u64, most: u64| {
            (0..all.div_ceil(most)).map(move |step| most.min(all - step * most)).collect::<Vec<u64>>()
        };
        let gates = cut(self.gates, GATES_OF_A_STEP);
        let (inputs, ots) = (cut(self.inputs, INPUTS_OF_A_STEP), cut(self.ots, INPUTS_OF_A_STEP));
        let (of_gates, of_inputs) = match (gates.is_empty(), inputs.is_empty()) {
            (false, false) => (OF_GATES, 1.0 - OF_GATES),
            _ => (1.0, 1.0),
        };
        let (share, input_share) = (of_gates / gates.len() as f64, of_inputs / inputs.len() as f64);
        let mut steps = Vec::new();
        for gates in gates {
            let parameters = Parameters::of_step((gates, share), (0, 0.0), security)?;
            steps.push(Filling::Items(Request { gates, ..Request::default() }, parameters));
        }
        for k in 0..inputs.len().max(ots.len()) {
            let at = |counts: &[u64]| counts.get(k).copied().unwrap_or(0);
            let request = Request { gates: 0, inputs: at(&inputs), ots: at(&ots) };
            let parameters = Parameters::of_step((0, 0.0), (request.inputs, input_share), security)?;
            steps.push(Filling::Items(request, parameters));
        }
        Ok(steps)
    }

    /// Chooses the items for a program with these needs, oldest first. Returns the number of items from each
    /// batch.
    ///
    /// # Errors
    /// [`Error::Stock`] if there are too few items, or they come from so many batches that the bound is
    /// exceeded, or the needs are empty, because a log entry must take something.
    pub(super) fn choose(&self, there: &Batches, security: u32) -> Result<Vec<(Serial, u32)>, Error> {
        if self.is_empty() {
            return Err(Error::Stock(
                "the program takes nothing from the stock; run it without --store".into(),
            ));
        }
        let missing = self.missing(there);
        if !missing.is_empty() {
            return Err(Error::Stock(format!("the program needs {missing} more than the stock has")));
        }
        let (mut taken, mut all) = (Vec::new(), Vec::new());
        for (kind, count) in [(kind::GATES, self.gates), (kind::INPUTS, self.inputs), (kind::OTS, self.ots)] {
            for left in there.take(kind, &[0; 32], count as usize, &mut taken)? {
                all.extend(Header::decode(&left.batch.header)?.origins);
            }
        }
        origins::promise(&all, there.given_up(), security)?;
        Ok(taken)
    }

    /// Returns the needed items that are not in stock.
    pub(super) fn missing(&self, there: &Batches) -> Request {
        let lacks = |kind: u8, count: u64| count.saturating_sub(there.left(kind) as u64);
        Request {
            gates: lacks(kind::GATES, self.gates),
            inputs: lacks(kind::INPUTS, self.inputs),
            ots: lacks(kind::OTS, self.ots),
        }
    }

    /// Returns the number of programs for which the items in stock are enough.
    pub(super) fn suffices(&self, there: &Batches) -> u64 {
        let of = |kind: u8, count: u64| (there.left(kind) as u64).checked_div(count);
        let parts = [(kind::GATES, self.gates), (kind::INPUTS, self.inputs), (kind::OTS, self.ots)];
        parts.into_iter().filter_map(|(kind, count)| of(kind, count)).min().unwrap_or(0)
    }
}

/// Chooses the oldest stored copy of a built program.
///
/// # Errors
/// [`Error::Stock`] if there is none, or its batches exceed the bound by now.
pub(super) fn choose_built(
    program: &[u8; 32],
    there: &Batches,
    security: u32,
) -> Result<Vec<(Serial, u32)>, Error> {
    let mut taken = Vec::new();
    let from = there.take(kind::PROGRAM, program, 1, &mut taken)?;
    let left = from
        .first()
        .ok_or_else(|| Error::Stock("the stock does not have this program in built form".into()))?;
    origins::promise(&Header::decode(&left.batch.header)?.origins, there.given_up(), security)?;
    Ok(taken)
}

/// A step of preprocessing.
pub enum Filling<'s> {
    /// A step that makes items with these parameters.
    Items(Request, Parameters),
    /// A step that stores a built program, with its digest and its name.
    Program([u8; 32], &'s str),
}

impl Filling<'_> {
    /// Returns the risk of this step, in units of 2^-128.
    pub(super) fn risk(&self) -> u128 {
        match self {
            Filling::Items(_, parameters) => parameters.risk(),
            // The epoch that made the items of a built program already counts their risk.
            Filling::Program(..) => 0,
        }
    }
}

impl PreprocessingStep for Filling<'_> {
    fn request(&self) -> [u8; 32] {
        let mut digest = Digest::of("brickwork 2026-11 lego stock");
        match self {
            Filling::Items(Request { gates, inputs, ots }, _) => {
                digest.number(*gates).number(*inputs).number(*ots).digest(&[0; 32])
            }
            Filling::Program(program, _) => digest.number(0_u64).number(0_u64).number(0_u64).digest(program),
        }
        .done()
    }

    fn parameters(&self) -> [u8; 32] {
        match self {
            Filling::Items(_, parameters) => parameters.digest(),
            Filling::Program(..) => [0; 32],
        }
    }

    fn bytes(&self) -> u64 {
        match self {
            Filling::Items(_, parameters) => parameters.gates.copies() * crate::gates::TABLE_BYTES as u64,
            Filling::Program(..) => 0,
        }
    }

    fn stored_bytes(&self, role: Party) -> u64 {
        match (self, role) {
            (Filling::Items(_, parameters), Party::Evaluator) => {
                parameters.gates.kept() * crate::gates::TABLE_BYTES as u64
            }
            _ => 0,
        }
    }
}

/// The purpose for which items are taken.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ItemUse {
    Run,
    /// The program is built and stored.
    Build,
}

/// A program, and this party's input.
pub struct Execution<'j> {
    pub(crate) layout: &'j Layout<'j>,
    pub(super) purpose: ItemUse,
    pub(crate) input: &'j [bool],
}
