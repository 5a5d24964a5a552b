//! The points at which tests and the adversary may change a party's state, by
//! [hooks](brickwork_primitives::hooks).

use brickwork_primitives::hooks;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use brickwork_base::Error;
use brickwork_primitives::garbling::TableSink;
use brickwork_store::Ranges;
use zeroize::{Zeroize, Zeroizing};

use crate::Parameters;

/// The hooks of this protocol.
pub type Hooks = hooks::Hooks<Point, Forced>;

/// The settings of a test.
#[derive(Clone, Default)]
pub struct Forced {
    /// Parameters that are not secure, so that cheats often succeed and a test can count them.
    pub parameters: Option<Parameters>,
    /// Replaces the ranges of a log entry.
    pub ranges: Option<Arc<dyn Fn(Ranges) -> Ranges + Send + Sync>>,
}

impl From<Parameters> for Forced {
    fn from(parameters: Parameters) -> Self {
        Forced { parameters: Some(parameters), ..Forced::default() }
    }
}

/// A point of the protocol at which state can be altered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Point {
    /// Garbler: the offset in its OTs, with which it checks the evaluator's labels; one label. The committed
    /// offset is unchanged.
    OtOffset,
    /// Garbler: the OT offset to which it commits; one label. The offset in the OTs is unchanged.
    CommittedOtOffset,
    /// Garbler: its own copy of Δ_ka; one label. The committed shares are unchanged.
    KaOffset,
    /// Evaluator: the seeds of its challenges, so that a test knows them. 16 bytes per batch.
    Challenge,
    /// Garbler: the offsets with which a component's copies are garbled; labels, `[copy]`. The committed
    /// offsets are unchanged.
    GarbledOffsets(usize),
    /// Garbler: the output wires of a component's copies before commitment; labels, `[copy][wire]`.
    CommittedOutputs(usize),
    /// Garbler: tables of a component, before they are hashed and when they are sent. The numbers are the
    /// component, the copy in its batch, and the offset of the bytes in the copy's tables.
    CopyTables(usize, usize, usize),
    /// Garbler: the hashes of a component's tables. 32 bytes per copy.
    TableHashes(usize),
    /// Garbler: the openings of a component's checked copies: offsets, then inputs. Labels.
    Opened(usize),
    /// Garbler: S_c of a component's chosen copies. Labels.
    DeltaDifferences(usize),
    /// Garbler: solderings within a component's buckets. Labels.
    BucketSolderings(usize),
    /// Garbler: the offsets with which the input authenticators are made; labels, none for plain
    /// authenticators. The committed offsets are unchanged.
    InputOffsets,
    /// Garbler: the wires of the input authenticators before commitment; labels.
    InputWires,
    /// Garbler: the wires for which the plain authenticators are hashed; labels. The committed wires are
    /// unchanged.
    PlainHashed,
    /// Garbler: the wires for which the input authenticators are hashed; labels. The committed wires are
    /// unchanged.
    InputHashed,
    /// Garbler: the hashes of the plain authenticators. 32 bytes per authenticator.
    PlainAuthenticators,
    /// Garbler: the hashes of the input authenticators. 32 bytes per authenticator.
    InputAuthenticators,
    /// Garbler: the openings of checked plain authenticators. Labels.
    OpenedPlain,
    /// Garbler: the opened offsets of checked input authenticators. Labels.
    OpenedInput,
    /// Garbler: S_g of the chosen input authenticators. Labels.
    InputDeltaDifferences,
    /// Garbler: solderings within the buckets of plain authenticators. Labels.
    PlainSolderings,
    /// Garbler: solderings within the buckets of input authenticators. Labels.
    InputSolderings,
    /// Garbler: solderings from a batch's outputs to their authenticators; labels, `[copy][wire]`.
    OutputSolderings(usize),
    /// Garbler: solderings from wires of the program to a batch's head inputs; labels, `[slot][wire]`.
    ProgramSolderings(usize),
    /// Garbler: solderings from its private outputs to their authenticators; labels.
    PrivateSolderings,
    /// Garbler: its OT labels before commitment; labels.
    OtLabels,
    /// Garbler: e = f ⊕ σ of each of the evaluator's inputs, a byte each. If e is 1, the opening contains
    /// Δ_ot.
    InputChoices,
    /// Garbler: the labels of its inputs, then the openings V for the evaluator's inputs; labels.
    InputLabels,
    /// Garbler: the wires of the evaluator's outputs before it sends and claims their indicator bits; labels.
    Indicators,
    /// Evaluator: its message about the OTs: a seed, the labels of the combinations, then their bits, a byte
    /// each.
    OtBinding,
    /// Evaluator: its masked input, packed.
    MaskedInput,
    /// Evaluator: the number of output labels of some slots' copies that the authenticators refuse; one
    /// `u64`. With an honest garbler this is 0. A test needs the number, because outputs do not depend on it.
    Refused,
    /// Evaluator: the packed colours of the garbler's outputs, then 32 bytes of hash.
    OutputLabels,
}

/// Returns the ranges that a session continues with, replaced or not.
pub fn ranges(hooks: &Hooks, ranges: Ranges) -> Ranges {
    match hooks.settings().and_then(|forced| forced.ranges.as_ref()) {
        Some(other) => other(ranges),
        None => ranges,
    }
}

/// Returns the parameters of a test.
pub fn parameters(hooks: &Hooks) -> Option<&Parameters> {
    hooks.settings()?.parameters.as_ref()
}

/// Returns data as the hooks alter it.
pub fn altered<'a, T: bytemuck::Pod + Zeroize>(
    hooks: &mut Hooks,
    point: Point,
    data: &'a [T],
) -> Data<'a, T> {
    if !hooks.is_lying() {
        return Data::AsItIs(data);
    }
    let mut data = Zeroizing::new(data.to_vec());
    hooks.alter(point, &mut data);
    Data::Altered(data)
}

/// Returns how many items of a list are made at a time: `step`, or all `count` for a cheater, who alters
/// whole lists.
pub fn step(hooks: &Hooks, step: usize, count: usize) -> usize {
    if hooks.is_lying() { count } else { step }.max(1)
}

/// Passes tables on to a sink, as the hooks alter them.
pub fn tables<S>(hooks: &Hooks, component: usize, copies: &[u32], sink: S) -> Altered<S> {
    let copies = if hooks.is_lying() { copies.iter().map(|&copy| (copy, 0)).collect() } else { Vec::new() };
    Altered { hooks: hooks.clone(), component, copies, sink }
}

/// Data that a hook may have altered.
pub enum Data<'a, T: Zeroize> {
    AsItIs(&'a [T]),
    Altered(Zeroizing<Vec<T>>),
}

impl<T: Zeroize> Deref for Data<'_, T> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        match self {
            Data::AsItIs(data) => data,
            Data::Altered(data) => data,
        }
    }
}

/// A sink that passes on altered tables.
pub struct Altered<S> {
    hooks: Hooks,
    component: usize,
    /// The copies, with the number of bytes of each so far; empty without hooks.
    copies: Vec<(u32, usize)>,
    sink: S,
}

impl<S> Deref for Altered<S> {
    type Target = S;
    fn deref(&self) -> &S {
        &self.sink
    }
}

impl<S> DerefMut for Altered<S> {
    fn deref_mut(&mut self) -> &mut S {
        &mut self.sink
    }
}

impl<S: TableSink> TableSink for Altered<S> {
    fn tables(&mut self, copy: usize, bytes: &[u8]) -> Result<(), Error> {
        let Some((number, done)) = self.copies.get_mut(copy) else { return self.sink.tables(copy, bytes) };
        let mut altered = bytes.to_vec();
        self.hooks.alter(Point::CopyTables(self.component, *number as usize, *done), &mut altered);
        *done += bytes.len();
        self.sink.tables(copy, &altered)
    }

    fn section(&mut self, copies: &[usize], tables: &[&[u8]]) -> Result<(), Error> {
        match self.copies.is_empty() {
            true => self.sink.section(copies, tables),
            false => copies.iter().zip(tables).try_for_each(|(&copy, bytes)| self.tables(copy, bytes)),
        }
    }
}
