//! The items of stock that a program needs, and the steps that make them.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use brickwork_base::digest::Digest;
use brickwork_base::{Error, Party};
use brickwork_circuit::{Component, Program};
use brickwork_protocol::Promise;
use brickwork_protocol::stock::records::{Batches, WantedItems};
use brickwork_protocol::stock::{PreprocessingStep, STOCK_SHARE};
use brickwork_store::{MAX_RECORD_BYTES, Serial};

use super::origins::{BatchCut, Origin, is_sensible, promise, shown};
use crate::components::table_bytes;
use crate::layout::{CopyKind, Layout, Supply};
use crate::parameters::{HashLevel, Sizes, Unit};

/// The kind of a batch's items: the `kind` of [`Batch`](brickwork_store::Batch).
pub(super) mod kind {
    /// Buckets of AND gates.
    pub const GATES: u8 = 0;
    /// Wires of the garbler's inputs.
    pub const INPUTS: u8 = 1;
    /// OTs, whose labels are hashed.
    pub const OTS: u8 = 2;
    /// Buckets of copies of a component.
    pub const COPIES: u8 = 3;
}

/// The largest number of AND gates of one step. Both parties keep all data about a step's gates in memory.
const GATES_OF_A_STEP: u64 = 1 << 16;

/// The largest number of inputs of either party in one step.
const INPUTS_OF_A_STEP: u64 = 1 << 16;

/// The number of copies of a component that a bucket needs, by assumption and including opened ones. The
/// second constant is the largest size of the data about all copies of a step, unless a single bucket is
/// larger. Both parties keep this data in memory.
const COPIES_OF_A_BUCKET: u64 = 10;
const BYTES_OF_A_STEP: u64 = 256 << 20;

/// The number of AND gates that one preprocessing can make at every level: sixteen steps of them
/// ([`HashLevel::of_stock`]).
const ROOM: u64 = 16 << 16;

const MOST_STEPS: u64 = 1 << 10;

/// The largest number of items of a kind in a request.
const MOST: u64 = 1 << 32;

/// The items to make before programs are known.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Request {
    /// The number of AND gates, one bucket for each.
    pub gates: u64,
    /// Components with AND gates, each with the number of its buckets.
    pub components: Vec<(Component, u64)>,
    /// The number of input wires of the garbler: one for each bit of its inputs.
    pub inputs: u64,
    /// The number of OTs: one for each bit of the evaluator's inputs.
    pub ots: u64,
}

impl std::fmt::Display for Request {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let components = self.components.iter().map(|(component, count)| (component.name.as_str(), *count));
        let parts = std::iter::once(("AND gates", self.gates)).chain(components);
        let parts = parts.chain([("inputs", self.inputs), ("OTs", self.ots)]).filter(|(_, count)| *count > 0);
        let parts: Vec<String> = parts.map(|(name, count)| format!("{count} {name}")).collect();
        f.write_str(&if parts.is_empty() { "nothing".into() } else { parts.join(", ") })
    }
}

impl Request {
    /// Returns the items of a program with this unit. Components without AND gates are not garbled. A program
    /// that needs no items requests one OT. This OT hides nothing, but a log entry without items would burn
    /// nothing.
    ///
    /// # Errors
    /// [`Error::Limit`] if the request is too large.
    pub fn of(program: &Program, unit: Unit) -> Result<Self, Error> {
        let slots = program.slots_by_component();
        let [inputs, ots] = [Party::Garbler, Party::Evaluator].map(|party| program.input_width(party) as u64);
        let mut request = Request { inputs, ots, ..Request::default() };
        match unit {
            Unit::Gates => request.gates = program.and_gates(),
            Unit::Components => program
                .components()
                .iter()
                .zip(slots)
                .for_each(|(component, slots)| request.add(component, slots as u64)),
        }
        request.ots += u64::from(request.is_empty());
        request.times(1)
    }

    pub(crate) fn of_layout(layout: &Layout) -> Self {
        let mut request = Request {
            gates: 0,
            components: Vec::new(),
            inputs: layout.inputs(Party::Garbler) as u64,
            ots: layout.ots as u64,
        };
        for (kind, slots) in layout.kinds.iter().zip(layout.slots_by_kind()) {
            match kind {
                CopyKind::Gate => request.gates += slots as u64,
                CopyKind::Component(component) => request.add(component, slots as u64),
            }
        }
        request.ots += u64::from(request.is_empty());
        request
    }

    /// Adds buckets of a component; components without AND gates are ignored. Two components that compute the
    /// same function share their buckets.
    pub fn add(&mut self, component: &Component, count: u64) {
        if count == 0 || component.circuit.and_gates() == 0 {
            return;
        }
        match self.components.iter_mut().find(|(known, _)| are_alike(known, component)) {
            Some((_, all)) => *all = all.saturating_add(count),
            None => self.components.push((component.clone(), count)),
        }
    }

    /// Returns this many times the request.
    ///
    /// # Errors
    /// [`Error::Limit`] if the result is too large.
    pub fn times(&self, count: u64) -> Result<Self, Error> {
        let mut all = self.clone();
        all.counts().for_each(|one| *one = one.saturating_mul(count));
        all.sensible()
    }

    /// Returns the sum of two requests.
    ///
    /// # Errors
    /// As [`Request::times`].
    pub fn and(&self, other: &Self) -> Result<Self, Error> {
        let mut all = self.clone();
        let [gates, inputs, ots] = [other.gates, other.inputs, other.ots];
        all.gates = all.gates.saturating_add(gates);
        all.inputs = all.inputs.saturating_add(inputs);
        all.ots = all.ots.saturating_add(ots);
        other.components.iter().for_each(|(component, count)| all.add(component, *count));
        all.sensible()
    }

    fn counts(&mut self) -> impl Iterator<Item = &mut u64> {
        let Request { gates, components, inputs, ots } = self;
        components.iter_mut().map(|(_, count)| count).chain([gates, inputs, ots])
    }

    fn sensible(mut self) -> Result<Self, Error> {
        let few = self.counts().all(|count| *count <= MOST);
        let much = || {
            Error::Limit(
                "the request has more than 2^32 gates, components, inputs or OTs; ask for fewer at a time"
                    .into(),
            )
        };
        if few { Ok(self) } else { Err(much()) }
    }

    /// Returns whether nothing is requested.
    pub fn is_empty(&self) -> bool {
        let components = self.components.iter().all(|(_, count)| *count == 0);
        components && [self.gates, self.inputs, self.ots] == [0; 3]
    }

    /// Lists the requested items.
    fn wanted(&self) -> Vec<WantedItems<'_>> {
        let plain = |kind: u8, name, count: u64| WantedItems {
            kind,
            component: [0; 32],
            name,
            count: count as usize,
        };
        let components = self.components.iter().map(|(component, count)| WantedItems {
            kind: kind::COPIES,
            component: component.digest(),
            name: &component.name,
            count: *count as usize,
        });
        let gates = plain(kind::GATES, "AND gates", self.gates);
        let rest = [plain(kind::INPUTS, "inputs", self.inputs), plain(kind::OTS, "OTs", self.ots)];
        std::iter::once(gates).chain(components).chain(rest).collect()
    }

    /// Lists the steps that make the request. Each makes some gates, some buckets of a component, or some
    /// inputs. Each step with a cut-and-choose gets an equal part of one preprocessing's budget.
    ///
    /// # Errors
    /// [`Error::Usage`] if the security is not offered, [`Error::Limit`] if one preprocessing cannot make
    /// that many items.
    pub(crate) fn steps(&self, security: u32) -> Result<Vec<Filling>, Error> {
        let level = HashLevel::of_stock(security)?;
        let of_component =
            |(component, count): &(Component, u64)| count.div_ceil(buckets_of_a_step(component, &level));
        let components = self.components.iter().map(of_component).fold(0, u64::saturating_add);
        if components.saturating_add(self.gates.div_ceil(GATES_OF_A_STEP)) > MOST_STEPS {
            return Err(self.no_room(security));
        }
        let of_gates = cut(self.gates, GATES_OF_A_STEP).into_iter();
        let mut requests: Vec<Request> =
            of_gates.map(|gates| Request { gates, ..Request::default() }).collect();
        for (component, count) in &self.components {
            let parts = cut(*count, buckets_of_a_step(component, &level)).into_iter();
            let of = |count| Request { components: vec![(component.clone(), count)], ..Request::default() };
            requests.extend(parts.map(of));
        }
        let share = STOCK_SHARE / requests.len().max(1) as f64;
        let (inputs, ots) = (cut(self.inputs, INPUTS_OF_A_STEP), cut(self.ots, INPUTS_OF_A_STEP));
        let at = |counts: &[u64], k: usize| counts.get(k).copied().unwrap_or(0);
        let of_inputs = (0..inputs.len().max(ots.len())).map(|k| Request {
            inputs: at(&inputs, k),
            ots: at(&ots, k),
            ..Request::default()
        });
        requests.extend(of_inputs);
        // Most steps are equal, so their sizes are computed once.
        let mut known: HashMap<(Unit, u64), Sizes> = HashMap::new();
        let mut steps = Vec::new();
        for request in requests {
            let (unit, slots) = request.buckets();
            let sizes = match known.entry((unit, slots)) {
                Entry::Occupied(known) => known.get().clone(),
                Entry::Vacant(place) => {
                    let sizes = Sizes::of_step(level, unit, slots as u32, share);
                    let sizes = sizes.map_err(|error| match error {
                        Error::Limit(_) => self.no_room(security),
                        other => other,
                    });
                    place.insert(sizes?).clone()
                }
            };
            steps.push(Filling { request, sizes }.sensible()?);
        }
        Ok(steps)
    }

    /// Returns the unit and the number of buckets of a step that makes this request.
    fn buckets(&self) -> (Unit, u64) {
        match self.components.first() {
            Some((_, count)) => (Unit::Components, *count),
            None => (Unit::Gates, self.gates),
        }
    }

    /// Returns an error with a hint, for steps that do not fit into the budget.
    fn no_room(&self, security: u32) -> Error {
        Error::Limit(format!(
            "{self} are too many for the share of 2^-{security} that one `brickwork preprocess` may use. It \
             can make {ROOM} AND gates or a hundred steps of components, so make the rest in further calls; \
             a program may use the stock of four calls"
        ))
    }

    /// Chooses the items for a program with these needs, oldest first. Returns the number of items that it
    /// takes from each batch.
    ///
    /// # Errors
    /// [`Error::Stock`] if there are too few items, or they come from so many batches that the bound is
    /// exceeded.
    pub(super) fn choose(
        &self,
        there: &Batches,
        unit: Unit,
        security: u32,
    ) -> Result<Vec<(Serial, u32)>, Error> {
        let missing = self.missing(there);
        if !missing.is_empty() {
            return Err(Error::Stock(format!("the program needs {missing} more than the stock has")));
        }
        let (mut taken, mut all) = (Vec::new(), Vec::new());
        for WantedItems { kind, component, count, .. } in self.wanted() {
            for left in there.take(kind, &component, count, &mut taken)? {
                all.extend(Origin::of(left.serial, &left.batch)?);
            }
        }
        promise(&all, unit, there.given_up(), security)?;
        Ok(taken)
    }

    /// Returns the items that must be made if the stock has these batches.
    pub(super) fn missing(&self, there: &Batches) -> Request {
        let mut missing = self.clone();
        // The numbers are in the order of the needs.
        let lacking = there.lacking(&self.wanted());
        let Request { gates, components, inputs, ots } = &mut missing;
        let counts = std::iter::once(gates).chain(components.iter_mut().map(|(_, count)| count));
        counts.chain([inputs, ots]).zip(lacking).for_each(|(count, lacks)| *count = lacks as u64);
        missing.components.retain(|(_, count)| *count > 0);
        missing
    }

    /// Returns the number of programs for which these batches are enough.
    pub(super) fn suffices(&self, there: &Batches) -> u64 {
        there.suffices(&self.wanted())
    }

    /// Returns the promise of a program if a preprocessing for this program makes all its items.
    ///
    /// # Errors
    /// As [`Request::steps`].
    pub(super) fn promise(&self, unit: Unit, security: u32) -> Result<Promise, Error> {
        let steps = self.steps(security)?;
        let cuts = steps.iter().filter_map(|step| step.cut().map(|cut| (step.name(), cut)));
        let of = |(serial, (name, cut)): (Serial, (&str, BatchCut))| Origin {
            serial,
            name: shown(cut.unit, name),
            cut,
        };
        let origins: Vec<Origin> = (0..).zip(cuts).map(of).collect();
        promise(&origins, unit, Default::default(), security)
    }
}

/// Returns whether two components compute the same function. Computing a digest reads a whole circuit, so
/// digests are compared last.
fn are_alike(one: &Component, other: &Component) -> bool {
    let ports = |component: &Component| -> Vec<u64> {
        let Component { inputs, outputs, .. } = component;
        inputs.iter().chain(outputs).map(|port| port.width()).collect()
    };
    let sizes = |component: &Component| {
        let circuit = &component.circuit;
        [circuit.inputs(), circuit.outputs().len(), circuit.gate_count(), circuit.and_gates()]
    };
    sizes(one) == sizes(other)
        && ports(one) == ports(other)
        && (Arc::ptr_eq(&one.circuit, &other.circuit) || one.digest() == other.digest())
}

/// Splits a number into parts of at most `most`.
fn cut(all: u64, most: u64) -> Vec<u64> {
    (0..all.div_ceil(most)).map(|step| most.min(all - step * most)).collect()
}

fn buckets_of_a_step(component: &Component, level: &HashLevel) -> u64 {
    let each = COPIES_OF_A_BUCKET * copy_bytes(component, level);
    (BYTES_OF_A_STEP / each.max(1)).clamp(1, GATES_OF_A_STEP)
}

/// Returns the approximate size of a party's data about a copy: its tables, and the words of its wires.
fn copy_bytes(component: &Component, level: &HashLevel) -> u64 {
    let circuit = &component.circuit;
    let wires = circuit.inputs() + circuit.outputs().len();
    (table_bytes(circuit, level.blocks()) + wires * (level.labels.l() + level.permutations.l())) as u64
}

/// A step of preprocessing: the items to make, and their cut-and-choose.
pub struct Filling {
    pub(crate) request: Request,
    pub(crate) sizes: Sizes,
}

impl Filling {
    /// Returns an error if buckets are too large for a record. The margin is one half, because the size of a
    /// copy is an estimate. It also returns an error for a cut that could not be read again.
    fn sensible(self) -> Result<Self, Error> {
        let level = &self.sizes.level;
        let each = self.component().map_or(0, |component| copy_bytes(component, level));
        let bucket = self.sizes.copies.first().map_or(0, |cut| u64::from(cut.bucket));
        if !self.sizes.copies.iter().all(is_sensible) {
            return Err(Error::Limit(format!(
                "{} need a cut-and-choose that is too large for a store; ask for fewer at a time",
                self.request
            )));
        }
        match each.saturating_mul(bucket) <= MAX_RECORD_BYTES as u64 / 2 {
            true => Ok(self),
            false => Err(Error::Limit(format!(
                "component {} is too large for a store; cut it into smaller components, or into AND gates",
                self.name()
            ))),
        }
    }

    /// Returns the component whose copies the step makes, if it makes copies.
    pub fn component(&self) -> Option<&Component> {
        self.request.components.first().map(|(component, _)| component)
    }

    /// Returns the name of the items in the buckets.
    pub fn name(&self) -> &str {
        self.component().map_or("AND gates", |component| &component.name)
    }

    /// Returns the numbers of items that this step makes and hashes.
    pub(crate) fn supply(&self) -> Supply<'_> {
        let of = self.component().map_or(CopyKind::Gate, CopyKind::Component);
        // A step has at most 2^16 inputs and 2^16 OTs.
        let (inputs, ots) = (self.request.inputs as usize, self.request.ots as usize);
        let slot_wires = match self.component() {
            Some(_) => self.request.buckets().1 as usize * of.outputs(),
            None => 0,
        };
        let kinds = self.sizes.copies.iter().map(|_| of).collect();
        Supply { sizes: self.sizes.clone(), kinds, inputs, slot_wires, ots }
    }

    /// Returns the cut-and-choose of this step, if it makes buckets.
    pub(crate) fn cut(&self) -> Option<BatchCut> {
        let bucketing = self.sizes.copies.first().copied();
        bucketing.map(|bucketing| BatchCut { unit: self.sizes.unit, bucketing })
    }

    /// Returns the number of bytes that the evaluator receives for a copy.
    fn bytes_of_a_copy(&self) -> u64 {
        let level = &self.sizes.level;
        match self.component() {
            None => 3 * level.labels.l() as u64,
            Some(component) => copy_bytes(component, level),
        }
    }

    /// Returns the step's risk, in units of 2^-128.
    pub(super) fn risk(&self) -> u128 {
        self.cut().map_or(0, |cut| cut.bound(&self.sizes.level).to_fixed())
    }
}

impl PreprocessingStep for Filling {
    fn request(&self) -> [u8; 32] {
        let Request { gates, components, inputs, ots } = &self.request;
        let mut digest = Digest::of("brickwork 2026-11 jimu stock");
        digest.number(*gates).number(*inputs).number(*ots);
        for (component, count) in components {
            digest.digest(&component.digest()).number(*count);
        }
        digest.done()
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
        self.sizes.copies.iter().map(|cut| cut.copies() * self.bytes_of_a_copy()).sum()
    }

    fn stored_bytes(&self, role: Party) -> u64 {
        match role {
            Party::Garbler => 0,
            Party::Evaluator => self.sizes.copies.iter().map(|cut| cut.kept() * self.bytes_of_a_copy()).sum(),
        }
    }
}

/// A program, and this party's input.
pub struct Execution<'j> {
    pub(crate) layout: &'j Layout<'j>,
    pub(crate) input: &'j [bool],
}

impl Execution<'_> {
    /// Returns a digest of the program with its unit.
    pub fn digest(&self) -> [u8; 32] {
        let program = self.layout.program.digest();
        match self.layout.unit() {
            Unit::Gates => program,
            Unit::Components => Digest::of("brickwork 2026-11 jimu by components").digest(&program).done(),
        }
    }
}
