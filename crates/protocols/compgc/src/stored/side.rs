//! The operations of the two roles with stock on disk. The trait [`Role`] has the operations in which the
//! roles differ; they share all other code.

use std::collections::{HashMap, VecDeque};
use std::rc::Rc;

use super::needs::{COPIES, Execution, Filling, OTS};
use super::records::{EvaluatorCopies, GarblerCopies, Shape, values};
use crate::layout::{LANES, Layout};
use crate::preprocess::{Copy, Garbled, Received, side_by_side};
use crate::report::CompGc;
use crate::setup::{self, UsedSchedules};
use crate::{msg, online};
use brickwork_base::Error;
use brickwork_circuit::{Circuit, Component};
use brickwork_kernels::SecretBlocks;
use brickwork_primitives::Labels;
use brickwork_primitives::garbling::Schedule;
use brickwork_primitives::ot::extension;
use brickwork_protocol::PlainSession;
use brickwork_protocol::stock::Stand;
use brickwork_protocol::stock::ots::{EvaluatorOts, GarblerOts, OtEnd};
use brickwork_protocol::stock::plain::{Plain, PlainRole};
use brickwork_protocol::stock::records::{Batches, Keeper, Records, TakenItems};
use brickwork_store::{Batch, Serial};

/// The copy that a slot uses: one of those that the program takes from a batch.
pub struct TakenCopy<P> {
    copy: Copy,
    /// This party's data about all these copies.
    batch: Rc<P>,
    /// The place of the copy among them.
    place: usize,
}

/// A party's part of the OTs, and its operations with them and with copies.
pub trait Role: OtEnd {
    type Copies: Records<Context<'static> = Shape> + Send;

    /// Garbles copies, which get the numbers from 0 on; returns the start of their keys.
    fn garble(
        session: &mut PlainSession<Self, UsedSchedules>,
        circuit: &Circuit,
        count: usize,
    ) -> Result<(u128, Self::Copies), Error>;
    /// Runs a program. `taken` has the copy of each slot, in the order of the slots.
    fn execute(
        session: &mut PlainSession<Self, UsedSchedules>,
        job: &Execution,
        ots: Vec<Self::Ots>,
        copies: Vec<TakenCopy<Self::Copies>>,
    ) -> Result<Vec<bool>, Error>;
}

impl Role for extension::Sender {
    type Copies = GarblerCopies;

    fn garble(
        session: &mut PlainSession<Self, UsedSchedules>,
        circuit: &Circuit,
        count: usize,
    ) -> Result<(u128, GarblerCopies), Error> {
        let (schedule, shape, delta) = (Schedule::new(circuit), Shape::of(circuit), session.delta());
        let start = session.rng.block();
        session.run.channel.send(msg::KEYS, bytemuck::bytes_of(&start))?;
        let inputs: Labels = (0..count * shape.inputs).map(|_| session.rng.label()).collect();
        let mut outputs = Labels::zeros(count * shape.outputs);
        let mut tables = session.run.channel.message(msg::TABLES);
        for first in (0..count).step_by(LANES) {
            let copies = first..count.min(first + LANES);
            let numbers: Vec<u32> = copies.clone().map(|copy| copy as u32).collect();
            let given = &inputs[copies.start * shape.inputs..copies.end * shape.inputs];
            let made = &mut outputs[copies.start * shape.outputs..copies.end * shape.outputs];
            let made = side_by_side(&schedule, start, &numbers, &delta, given, made)?;
            made.iter().try_for_each(|bytes| tables.push(bytes))?;
        }
        tables.finish()?;
        session.run.progress((count * shape.tables) as u64);
        Ok((start, GarblerCopies { shape, count, inputs, outputs }))
    }

    fn execute(
        session: &mut PlainSession<Self, UsedSchedules>,
        job: &Execution,
        ots: Vec<GarblerOts>,
        copies: Vec<TakenCopy<GarblerCopies>>,
    ) -> Result<Vec<bool>, Error> {
        let layout = job.layout;
        // An input wire that no slot reads gets no label from a copy, so all input wires of the garbler first
        // get a fresh label.
        let mut wires = Labels::zeros(layout.program.wires());
        wires[..layout.garbler_inputs()].iter_mut().for_each(|label| *label = session.rng.label());
        let mut inputs = Labels::with_capacity(layout.slot_inputs());
        for (slot, TakenCopy { batch, place, .. }) in copies.iter().enumerate() {
            let copy = *place..place + 1;
            inputs.extend_from_slice(&batch.inputs[values(&copy, batch.shape.inputs)]);
            let outputs = &batch.outputs[values(&copy, batch.shape.outputs)];
            wires[layout.slot_outputs(slot)].copy_from_slice(outputs);
        }
        let ots = SecretBlocks::new(ots.iter().map(|some| &some.0[..]).collect::<Vec<_>>().concat());
        for link in layout.links.iter().filter(|link| link.free) {
            let from = link.from as usize;
            wires[from..from + link.wires].copy_from_slice(&inputs[link.to..link.to + link.wires]);
        }
        online::garbler(session, layout, Garbled { ots, wires, inputs }, job.input)
    }
}

impl Role for extension::Receiver {
    type Copies = EvaluatorCopies;

    fn garble(
        session: &mut PlainSession<Self, UsedSchedules>,
        circuit: &Circuit,
        count: usize,
    ) -> Result<(u128, EvaluatorCopies), Error> {
        let shape = Shape::of(circuit);
        let mut start = 0;
        session.run.channel.receive_into(msg::KEYS, bytemuck::bytes_of_mut(&mut start))?;
        let tables = session.run.channel.receive(msg::TABLES, count * shape.tables)?;
        session.run.progress(tables.len() as u64);
        Ok((start, EvaluatorCopies { shape, count, tables }))
    }

    fn execute(
        session: &mut PlainSession<Self, UsedSchedules>,
        job: &Execution,
        ots: Vec<EvaluatorOts>,
        taken: Vec<TakenCopy<EvaluatorCopies>>,
    ) -> Result<Vec<bool>, Error> {
        let layout = job.layout;
        session.program = setup::schedules(layout);
        let mut tables = vec![0; layout.table_bytes()];
        for (slot, TakenCopy { batch, place, .. }) in taken.iter().enumerate() {
            let copy = &batch.tables[values(&(*place..place + 1), batch.shape.tables)];
            tables[layout.tables[slot].clone()].copy_from_slice(copy);
        }
        let choices =
            SecretBlocks::new(ots.iter().map(|some| &some.choices[..]).collect::<Vec<_>>().concat());
        let mut labels =
            SecretBlocks::new(ots.iter().map(|some| &some.labels[..]).collect::<Vec<_>>().concat());
        // A program without slots and inputs takes one OT, which is no input. It is left out here.
        labels.truncate(layout.evaluator_inputs());
        let copies = taken.iter().map(|taken| taken.copy).collect();
        let received = Received { choices, ots: labels, copies, tables, corrections: Vec::new() };
        online::evaluator(session, layout, received, job.input)
    }
}

/// The result of a step.
pub enum Made<C: Role> {
    Ots(C::Ots),
    Copies(u128, C::Copies),
}

/// The items that a program runs on.
struct Material<C: Role> {
    /// The OTs, batch by batch.
    ots: Vec<C::Ots>,
    /// The copy of each slot.
    copies: Vec<TakenCopy<C::Copies>>,
}

/// Reads the items of an entry: the OTs, and a copy for each slot. At both parties, the slots of a component
/// take copies in the order of the entry.
fn read<C: Role>(items: &TakenItems, layout: &Layout) -> Result<Material<C>, Error> {
    let components = layout.program.components().iter();
    let shapes: HashMap<[u8; 32], Shape> =
        components.map(|component| (component.digest(), Shape::of(&component.circuit))).collect();
    let mut ots = Vec::new();
    let mut copies: HashMap<[u8; 32], VecDeque<TakenCopy<C::Copies>>> = HashMap::new();
    items.each(|batch| {
        let Batch { kind, component, header, .. } = batch.batch;
        if *kind == OTS {
            ots.push(batch.assemble(&())?);
            return Ok(());
        }
        let malformed = || Error::Stock("a stored batch of components is malformed".into());
        let start = u128::from_le_bytes(header[..].try_into().map_err(|_| malformed())?);
        let shape = *shapes.get(component).ok_or_else(malformed)?;
        let numbers = batch.items().iter().cloned().flatten().map(u32::try_from);
        let numbers = numbers.collect::<Result<Vec<u32>, _>>().map_err(|_| malformed())?;
        let all = Rc::new(batch.assemble::<C::Copies>(&shape)?);
        let each = numbers.into_iter().enumerate().map(|(place, number)| TakenCopy {
            copy: Copy { start, number },
            batch: all.clone(),
            place,
        });
        copies.entry(*component).or_default().extend(each);
        Ok(())
    })?;
    let mut next = |component: &Component| copies.get_mut(&component.digest())?.pop_front();
    let slots = (0..layout.program.slot_count()).map(|slot| next(layout.component(slot).1));
    let slots: Option<Vec<_>> = slots.collect();
    let slots = slots.ok_or_else(|| Error::Stock("a stored batch lacks a copy of a component".into()))?;
    Ok(Material { ots, copies: slots })
}

impl Plain for CompGc {
    type FillStep = Filling;
    type Execution<'j> = Execution<'j>;
    type Program = UsedSchedules;

    fn program(job: &Execution) -> [u8; 32] {
        setup::digest(job.layout)
    }

    fn needs(job: &Execution) -> String {
        job.needs.to_string()
    }

    fn choose(job: &Execution, batches: &Batches) -> Result<Vec<(Serial, u32)>, Error> {
        job.needs.choose(batches)
    }
}

impl<C: Role> PlainRole<C> for CompGc {
    type Made = Made<C>;

    fn make(session: &mut PlainSession<C, UsedSchedules>, step: &Filling) -> Result<Made<C>, Error> {
        session.run.phase("preprocess");
        Ok(match step {
            Filling::Ots(count) => {
                Made::Ots(session.cot.draw(&mut session.run.channel, &mut session.rng, *count)?)
            }
            Filling::Copies { component, count } => {
                let (start, copies) = C::garble(session, &component.circuit, *count)?;
                Made::Copies(start, copies)
            }
        })
    }

    fn keep(step: &Filling, made: Made<C>, serial: Serial, keeper: &mut Keeper) -> Result<(), Error> {
        match (step, made) {
            (Filling::Ots(_), Made::Ots(ots)) => {
                let batch = Batch { kind: OTS, name: "OTs".into(), component: [0; 32], header: Vec::new() };
                keeper.put(serial, &batch, ots)
            }
            (Filling::Copies { component, .. }, Made::Copies(start, copies)) => {
                let batch = Batch {
                    kind: COPIES,
                    name: component.name.clone(),
                    component: component.digest(),
                    header: start.to_le_bytes().to_vec(),
                };
                keeper.put(serial, &batch, copies)
            }
            _ => Err(Error::Usage("the step made other items than its request asks for".into())),
        }
    }

    /// Everything that does not depend on the peer is read first. So no party waits for a disk after both
    /// have burned the items.
    fn take(
        session: &mut PlainSession<C, UsedSchedules>,
        items: &TakenItems,
        job: &Execution,
        stand: Stand,
    ) -> Result<Vec<bool>, Error> {
        let Material { ots, copies } = read::<C>(items, job.layout)?;
        stand.confirm(&mut session.run)?;
        C::execute(session, job, ots, copies)
    }
}
