//! Hooks by which tests and the adversary alter a party's state before the party uses it, so that the rest of
//! the run is consistent with the lie. A normal build has none of them.

#[cfg(any(test, feature = "adversary"))]
pub use cheating::{Hooks, StateHook, TableHook};
#[cfg(not(any(test, feature = "adversary")))]
pub(super) use honest::Hooks;

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

#[cfg(not(any(test, feature = "adversary")))]
mod honest {
    use std::borrow::Cow;

    use super::Point;
    use crate::Parameters;
    use brickwork_circuit::Party;
    use brickwork_primitives::ot::base::SeriesKeys;
    use brickwork_store::Ranges;

    /// The hooks of a normal build, which alter nothing.
    pub struct Hooks;

    impl Hooks {
        pub fn none() -> Self {
            Hooks
        }

        #[inline(always)]
        pub fn parameters(&self) -> Option<&Parameters> {
            None
        }

        #[inline(always)]
        pub fn dealt(&self, _: Party, _: usize, _: &[u8]) -> Option<SeriesKeys> {
            None
        }

        #[inline(always)]
        pub fn ranges(&mut self, ranges: Ranges) -> Ranges {
            ranges
        }

        /// Returns how many items of a list are made at a time: `step`.
        #[inline(always)]
        pub fn step(&self, step: usize, _: usize) -> usize {
            step.max(1)
        }

        #[inline(always)]
        pub fn alter<T>(&mut self, _: Point, _: &mut [T]) {}

        #[inline(always)]
        pub fn altered<'a, T: Clone>(&mut self, _: Point, data: &'a [T]) -> Cow<'a, [T]> {
            Cow::Borrowed(data)
        }

        #[inline(always)]
        pub fn tables<S>(&self, _: usize, _: &[u32], sink: S) -> S {
            sink
        }
    }
}

#[cfg(any(test, feature = "adversary"))]
mod cheating {
    use std::ops::{Deref, DerefMut};

    use zeroize::{Zeroize, Zeroizing};

    use super::Point;
    use crate::Parameters;
    use brickwork_base::Error;
    use brickwork_circuit::Party;
    use brickwork_harness::dealt;
    use brickwork_primitives::garbling::TableSink;
    use brickwork_primitives::ot::base::SeriesKeys;
    use brickwork_store::Ranges;

    /// Alters the bytes of a party's state at a point.
    pub type StateHook = Box<dyn FnMut(Point, &mut [u8]) + Send + Sync>;

    /// Alters tables as they are garbled. The arguments are the component, the copy's number in its batch,
    /// the offset of the bytes, and the bytes.
    pub type TableHook = Box<dyn Fn(usize, usize, usize, &mut [u8]) + Send + Sync>;

    /// Replaces the ranges of a log entry.
    pub type RangesHook = Box<dyn FnMut(Ranges) -> Ranges + Send + Sync>;

    /// The lies of a cheater, and the settings of a test.
    #[derive(Default)]
    pub struct Hooks {
        /// Alters the bytes of a party's state at a point.
        pub alter: Option<StateHook>,
        /// Alters tables before they are hashed and when they are sent.
        pub tables: Option<TableHook>,
        /// Parameters that are not secure, so that cheats often succeed and a test can count them.
        pub parameters: Option<Parameters>,
        /// A seed that gives both parties the keys of base OTs, which saves time in thousands of runs.
        pub dealer: Option<[u8; 32]>,
        /// Replaces the ranges of a log entry.
        pub ranges: Option<RangesHook>,
    }

    impl Hooks {
        pub(crate) fn none() -> Self {
            Hooks::default()
        }

        /// Returns the ranges that a session continues with, replaced or not.
        pub(crate) fn ranges(&mut self, ranges: Ranges) -> Ranges {
            match &mut self.ranges {
                Some(other) => other(ranges),
                None => ranges,
            }
        }

        pub(crate) fn parameters(&self) -> Option<&Parameters> {
            self.parameters.as_ref()
        }

        /// Returns the keys of the OTs that `role` sends, and of those that it receives, if there is a
        /// dealer.
        pub(crate) fn dealt(&self, role: Party, send: usize, choices: &[u8]) -> Option<SeriesKeys> {
            Some(dealt(self.dealer.as_ref()?, role, send, choices))
        }

        pub(crate) fn altered<'a, T: bytemuck::Pod + Zeroize>(
            &mut self,
            point: Point,
            data: &'a [T],
        ) -> Data<'a, T> {
            if self.alter.is_none() {
                return Data::AsItIs(data);
            }
            let mut data = Zeroizing::new(data.to_vec());
            self.alter(point, &mut data);
            Data::Altered(data)
        }

        /// Returns how many items of a list are made at a time: `step`, or all `count` for a cheater, who
        /// alters whole lists.
        pub(crate) fn step(&self, step: usize, count: usize) -> usize {
            if self.alter.is_some() { count } else { step }.max(1)
        }

        pub(crate) fn alter<T: bytemuck::Pod>(&mut self, point: Point, data: &mut [T]) {
            if let Some(alter) = &mut self.alter {
                alter(point, bytemuck::cast_slice_mut(data));
            }
        }

        pub(crate) fn tables<S>(&self, component: usize, copies: &[u32], sink: S) -> Altered<'_, S> {
            Altered {
                hook: self.tables.as_ref(),
                component,
                copies: copies.to_vec(),
                offsets: vec![0; copies.len()],
                sink,
            }
        }
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
    pub struct Altered<'a, S> {
        hook: Option<&'a TableHook>,
        component: usize,
        copies: Vec<u32>,
        offsets: Vec<usize>,
        sink: S,
    }

    impl<S> Deref for Altered<'_, S> {
        type Target = S;
        fn deref(&self) -> &S {
            &self.sink
        }
    }

    impl<S> DerefMut for Altered<'_, S> {
        fn deref_mut(&mut self) -> &mut S {
            &mut self.sink
        }
    }

    impl<S: TableSink> TableSink for Altered<'_, S> {
        fn tables(&mut self, copy: usize, bytes: &[u8]) -> Result<(), Error> {
            let Some(hook) = self.hook else { return self.sink.tables(copy, bytes) };
            let mut altered = bytes.to_vec();
            hook(self.component, self.copies[copy] as usize, self.offsets[copy], &mut altered);
            self.offsets[copy] += bytes.len();
            self.sink.tables(copy, &altered)
        }

        fn section(&mut self, copies: &[usize], tables: &[&[u8]]) -> Result<(), Error> {
            match self.hook {
                Some(_) => copies.iter().zip(tables).try_for_each(|(&copy, bytes)| self.tables(copy, bytes)),
                None => self.sink.section(copies, tables),
            }
        }
    }
}
