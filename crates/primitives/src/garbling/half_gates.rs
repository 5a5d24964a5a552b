//! Half-gates (Zahur, Rosulek, Evans 2015): the garbling scheme of `duplo` and `semi-honest`.

use brickwork_kernels::{GateList, HashKeys, Kernel, WalkLabels};

use super::evaluate::evaluate;
use super::garble::garble;
use super::keys::{CALLS_PER_GATE, GarblingKeys, MAX_CALLS};
use super::lanes::Lockstep;
use super::schedule::Schedule;
use super::scheme::{Colours, GarblingScheme, GateBytes, HashUse};
use super::tables::{TableSink, TableSource};
use brickwork_base::Error;
use brickwork_base::label::{Delta, LABEL_BYTES, Label};
use brickwork_base::random::Rng;
use brickwork_circuit::Circuit;

/// The half-gates scheme. A wire is represented by its false label; the true label differs by the offset of
/// the copy, whose lowest bit is 1.
pub struct HalfGates;

impl Lockstep for HalfGates {
    #[inline]
    fn garble_section(
        wires: &mut WalkLabels,
        kernel: Kernel,
        script: &GateList,
        section: usize,
        keys: HashKeys<'_>,
        tables: &mut [&mut [u8]],
    ) {
        wires.garble(kernel, script, section, keys, tables);
    }

    #[inline]
    fn evaluate_section(
        wires: &mut WalkLabels,
        kernel: Kernel,
        script: &GateList,
        section: usize,
        keys: HashKeys<'_>,
        tables: &[&[u8]],
    ) {
        wires.evaluate(kernel, script, section, keys, tables);
    }
}

impl GarblingScheme for HalfGates {
    const NAME: &'static str = "half-gates";
    /// The table of an AND gate is `T_G ‖ T_E`.
    const TABLE_BYTES: GateBytes = GateBytes { and: 2 * LABEL_BYTES, xor: 0, inv: 0 };
    const LABEL_BYTES: usize = LABEL_BYTES;
    const COLOURS: Colours = Colours::Random;
    const PRIVATE: bool = true;
    const HASH: HashUse = HashUse { calls_per_and: CALLS_PER_GATE, calls_per_key: Some(MAX_CALLS) };

    type Offset = Delta;
    type Wire = Label;
    type Active = Label;
    type Schedule = Schedule;
    type Keys = GarblingKeys;

    fn offset(rng: &mut Rng) -> Delta {
        rng.delta()
    }

    fn wire(_: Delta, rng: &mut Rng) -> Label {
        rng.label()
    }

    fn label(offset: Delta, wire: Label, bit: u8) -> Label {
        wire ^ offset.times(bit)
    }

    fn colour(label: Label) -> u8 {
        label.colour()
    }

    fn schedule(circuit: &Circuit) -> Schedule {
        Schedule::new(circuit)
    }

    fn table_bytes(schedule: &Schedule) -> usize {
        schedule.and_gates() * Self::AND_BYTES
    }

    fn keys(start: u128, copies: usize, schedule: &Schedule) -> GarblingKeys {
        GarblingKeys::new(start, copies, schedule.and_gates())
    }

    fn garble(
        schedule: &Schedule,
        keys: &GarblingKeys,
        copies: &[u32],
        offsets: &[Delta],
        inputs: &[Label],
        outputs: &mut [Label],
        sink: &mut impl TableSink,
    ) -> Result<(), Error> {
        garble::<Self>(schedule, keys, copies, offsets, inputs, outputs, sink)
    }

    fn evaluate(
        schedule: &Schedule,
        keys: &GarblingKeys,
        copies: &[u32],
        inputs: &[Label],
        source: &mut impl TableSource,
        outputs: &mut [Label],
    ) -> Result<(), Error> {
        evaluate::<Self>(schedule, keys, copies, inputs, source, outputs)
    }
}
