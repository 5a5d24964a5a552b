//! The operations of the two roles with stock on disk. The trait [`Recorded`] has the operations in which the
//! roles differ; they share all other code.

use std::collections::HashMap;
use std::ops::Range;

use brickwork_base::{Error, Party};
use brickwork_circuit::Circuit;
use brickwork_primitives::garbling::GarblingKeys;
use brickwork_primitives::ot::Cot;
use brickwork_protocol::steps::Secret;
use brickwork_protocol::stock::records::{Batches, Keeper, Records as _, TakenItems};
use brickwork_protocol::stock::{Stand, StockProtocol, StockSession};
use brickwork_protocol::{Digests, Metered, SessionId, Terms};
use brickwork_store::{Batch, Counted, EpochSecrets, EpochState, Ranges, Serial, Writers};

use super::needs::{COPIES, Execution, Filling, MASKS, early_risk, fixed, keeps_promise, may_begin, origins};
use super::records::{BatchItems, CopyKeyRange, Header, Shape, ValueList, of_shares};
use crate::components::{Garbled, MadeComponents, Received};
use crate::hooks::Hooks;
use crate::keep::StepValues;
use crate::layout::Layout;
use crate::leaky::DrawnMasks;
use crate::parameters::{StatisticalLengths, TriplePool};
use crate::report::Authenticated;
use crate::role::Role;
use crate::setup::{self, SessionState};
use crate::shelf::ListPlace;
use crate::words::SPARE;

/// A role whose copies and masks have records in a store.
pub(super) trait Recorded: Role + Send + 'static {
    /// Returns the shape of the records of a copy, for tags of `c` bytes.
    fn shape(circuit: &Circuit, c: usize) -> Shape;
    /// Returns the shape of the records of an input mask.
    fn shape_of_masks() -> Shape;
    fn lists(self) -> Result<Vec<ValueList>, Error>;
    /// Returns the input masks of `made` and their labels, for a store.
    ///
    /// # Errors
    /// [`Error::Resource`] if a file cannot be read.
    fn lists_of_masks(made: &mut MadeComponents<Self>) -> Result<Vec<ValueList>, Error>;
    /// Adds input masks from a store.
    ///
    /// # Errors
    /// [`Error::Resource`] if the disk is full.
    fn take_masks(
        items: &BatchItems,
        which: Range<usize>,
        made: &mut MadeComponents<Self>,
    ) -> Result<(), Error>;
    /// Returns the start of the hash keys of these copies.
    fn start(&self) -> u128;
    fn take(
        items: &BatchItems,
        which: Range<usize>,
        numbered: NumberedCopies,
        shelf: &ListPlace,
    ) -> Result<Self, Error>;
}

/// Some copies: the start of their hash keys, the number of the first copy, and the AND gates of each copy.
pub(super) struct NumberedCopies {
    keys: CopyKeyRange,
    first: u32,
    ands: usize,
}

impl Recorded for Garbled {
    fn shape(circuit: &Circuit, c: usize) -> Shape {
        let (inputs, outputs) = (circuit.inputs(), circuit.outputs().len());
        Shape::of_words([inputs, inputs, inputs, outputs, outputs, outputs]).and_tags(circuit, c, [1, 3])
    }

    fn shape_of_masks() -> Shape {
        Shape::of_words([1; 3])
    }

    fn lists(self) -> Result<Vec<ValueList>, Error> {
        let Garbled { ports, port_labels, outputs, output_labels, labels, macs, .. } = self;
        let mut lists: Vec<ValueList> = of_shares(ports.whole()?).into();
        lists.push(ValueList::Words(port_labels.whole()?));
        lists.extend(of_shares(outputs.whole()?));
        lists.push(ValueList::Words(output_labels.whole()?));
        lists.extend([ValueList::Bytes(labels.whole()?), ValueList::Bytes(macs.whole()?)]);
        Ok(lists)
    }

    fn lists_of_masks(made: &mut MadeComponents<Self>) -> Result<Vec<ValueList>, Error> {
        let count = made.inputs.len();
        let mut lists: Vec<ValueList> = of_shares(made.inputs.gathered(count, 0..count)?).into();
        lists.push(ValueList::Words(made.input_labels.all()?));
        Ok(lists)
    }

    fn take_masks(
        items: &BatchItems,
        which: Range<usize>,
        made: &mut MadeComponents<Self>,
    ) -> Result<(), Error> {
        items.shares(0, &which).each().try_for_each(|share| made.inputs.push(share))?;
        items.list(2, which, 0).iter().try_for_each(|&label| made.input_labels.push(label))
    }

    /// The garbler needs no keys after garbling, so this value is never used.
    fn start(&self) -> u128 {
        0
    }

    fn take(
        items: &BatchItems,
        which: Range<usize>,
        _: NumberedCopies,
        shelf: &ListPlace,
    ) -> Result<Self, Error> {
        Ok(Garbled {
            count: which.len(),
            ports: shelf.keep_shares(items.shares(0, &which))?,
            port_labels: shelf.keep(items.list(2, which.clone(), 0))?,
            outputs: shelf.keep_shares(items.shares(3, &which))?,
            output_labels: shelf.keep(items.list(5, which.clone(), 0))?,
            labels: shelf.keep(items.list(6, which.clone(), SPARE))?,
            macs: shelf.keep(items.list(7, which, SPARE))?,
        })
    }
}

impl Recorded for Received {
    fn shape(circuit: &Circuit, c: usize) -> Shape {
        let (inputs, outputs, ands) = (circuit.inputs(), circuit.outputs().len(), circuit.and_gates());
        Shape::of_words([inputs, inputs, outputs, outputs, 2 * ands, ands]).and_tags(circuit, c, [3])
    }

    fn shape_of_masks() -> Shape {
        Shape::of_words([1; 2])
    }

    fn lists(self) -> Result<Vec<ValueList>, Error> {
        let Received { ports, outputs, tables, words, tags, .. } = self;
        let mut lists: Vec<ValueList> = of_shares(ports.whole()?).into();
        lists.extend(of_shares(outputs.whole()?));
        lists.extend([
            ValueList::Words(tables.whole()?),
            ValueList::Words(words.whole()?),
            ValueList::Bytes(tags.whole()?),
        ]);
        Ok(lists)
    }

    fn lists_of_masks(made: &mut MadeComponents<Self>) -> Result<Vec<ValueList>, Error> {
        let count = made.inputs.len();
        Ok(of_shares(made.inputs.gathered(count, 0..count)?).into())
    }

    fn take_masks(
        items: &BatchItems,
        which: Range<usize>,
        made: &mut MadeComponents<Self>,
    ) -> Result<(), Error> {
        items.shares(0, &which).each().try_for_each(|share| made.inputs.push(share))
    }

    fn start(&self) -> u128 {
        self.keys.start()
    }

    fn take(
        items: &BatchItems,
        which: Range<usize>,
        NumberedCopies { keys: CopyKeyRange { start, copies }, first, ands }: NumberedCopies,
        shelf: &ListPlace,
    ) -> Result<Self, Error> {
        Ok(Received {
            count: which.len(),
            keys: GarblingKeys::new(start, copies as usize, ands),
            first,
            ports: shelf.keep_shares(items.shares(0, &which))?,
            outputs: shelf.keep_shares(items.shares(2, &which))?,
            tables: shelf.keep(items.list(4, which.clone(), 0))?,
            words: shelf.keep(items.list(5, which.clone(), 0))?,
            tags: shelf.keep(items.list(6, which, SPARE))?,
        })
    }
}

/// State that passes from one session of a connection to the next: the kind of OTs in a new session, and the
/// hooks of a cheater.
pub struct ConnectionCarry {
    pub(crate) cot: Cot,
    pub(crate) hooks: Hooks,
}

/// A session of one role, with the state that filling and taking need.
pub(super) struct OnDisk<C: Recorded> {
    member: SessionState,
    /// The kind of OTs that a new session uses.
    wanted: Cot,
    /// The largest number of bytes of data for waiting programs that stay in memory.
    memory: u64,
    /// The items that the current step made.
    made: Option<MadeComponents<C>>,
}

/// The result of a program, and the items that were made for it.
pub struct ProgramOutcome {
    pub(crate) outputs: Vec<bool>,
    /// The kept outputs, in order.
    pub(crate) kept: Vec<Secret>,
    /// The pools that triples came from.
    pub(crate) pools: Vec<TriplePool>,
    pub(crate) cot: Cot,
}

fn level_of(terms: &Terms, hooks: &Hooks) -> Result<StatisticalLengths, Error> {
    hooks.settings().copied().unwrap_or_default().level_of(terms.security.whole()?)
}

/// Reads the items of an entry, and returns them with their pools. At both parties, the slots of a component
/// take its copies in the order of the entry.
fn read<C: Recorded>(
    items: &TakenItems,
    member: &mut SessionState,
    layout: &Layout,
    memory: u64,
) -> Result<(MadeComponents<C>, Vec<TriplePool>), Error> {
    let c = member.level.tag;
    let shelf =
        ListPlace::new(C::waiting(c, layout.counted(), layout.all_inputs()), memory, &mut member.rng)?;
    let mut made = MadeComponents::new(layout.components(), layout.all_inputs(), shelf);
    let mut places: HashMap<[u8; 32], usize> = HashMap::new();
    for (k, component) in
        layout.program.components().iter().enumerate().filter(|(k, _)| layout.kinds[*k] == *k)
    {
        let _ = places.insert(component.digest(), k);
    }
    let (mut headers, mut circuits) = (Vec::new(), layout.circuits());
    let circuits: Vec<&Circuit> = circuits.by_ref().collect();
    items.each(|batch| {
        let header = Header::decode(&batch.batch.header)?;
        if batch.batch.kind == MASKS {
            let masks = batch.assemble::<BatchItems>(&C::shape_of_masks())?;
            // A program without slots and inputs takes one mask, which is no input. It is left out here.
            let here = masks.count().min(layout.all_inputs() - made.inputs.len());
            C::take_masks(&masks, 0..here, &mut made)?;
        } else {
            let another =
                || Error::Stock("a batch belongs to a component that the program does not have".into());
            let place = *places.get(&batch.batch.component).ok_or_else(another)?;
            let (circuit, ranges) = (circuits[place], batch.items().to_vec());
            let taken = batch.assemble::<BatchItems>(&C::shape(circuit, c))?;
            let mut at = 0;
            for (here, keys, first) in ranges.into_iter().flat_map(|items| header.cut(items)) {
                let here = at..at + here.len();
                at = here.end;
                let numbered = NumberedCopies { keys, first, ands: circuit.and_gates() };
                made.copies[place].push(C::take(&taken, here, numbered, &made.shelf)?);
            }
        }
        headers.push(header);
        Ok(())
    })?;
    made.suffices(layout)?;
    Ok((made, origins(headers.iter()).iter().map(|origin| origin.pool).collect()))
}

impl<C: Recorded> OnDisk<C> {
    fn of(member: SessionState, wanted: Cot, terms: &Terms) -> Box<dyn StockSession<Authenticated>> {
        Box::new(OnDisk::<C> { member, wanted, memory: terms.table_memory, made: None })
    }
}

fn on_disk(member: SessionState, wanted: Cot, terms: &Terms) -> Box<dyn StockSession<Authenticated>> {
    match member.run.role {
        Party::Garbler => OnDisk::<Garbled>::of(member, wanted, terms),
        Party::Evaluator => OnDisk::<Received>::of(member, wanted, terms),
    }
}

impl StockProtocol for Authenticated {
    const AGREEMENT: &'static str = "build";
    type Carried = ConnectionCarry;
    type FillStep<'s> = Filling<'s>;
    type Execution<'j> = Execution<'j>;
    type Outcome = ProgramOutcome;
    type Kept = StepValues;

    /// A cheat in a completed lot has passed the comparison, so it has already had its full effect.
    fn counted(_: Party) -> Counted {
        Counted::BrokenOff
    }

    fn setup(
        run: Metered,
        terms: &Terms,
        ConnectionCarry { cot, hooks }: ConnectionCarry,
    ) -> Result<Box<dyn StockSession<Self>>, Error> {
        let level = level_of(terms, &hooks)?;
        let program = blake3::derive_key("brickwork 2026-11 authenticated stock", cot.name().as_bytes());
        let digests = Digests { stock: true, program, parameters: [0; 32] };
        Ok(on_disk(setup::member(run, terms, &digests, level, cot, hooks)?, cot, terms))
    }

    fn restore(
        run: Metered,
        terms: &Terms,
        secrets: &EpochSecrets,
        ConnectionCarry { cot: wanted, hooks }: ConnectionCarry,
    ) -> Result<Box<dyn StockSession<Self>>, Error> {
        Ok(on_disk(SessionState::restored(run, level_of(terms, &hooks)?, secrets, hooks)?, wanted, terms))
    }

    /// This holds however many runs use the epoch, because later masks and triples are independent of earlier
    /// ones. If too many lots were given up, no further lot may begin.
    fn may_begin(state: &EpochState, terms: &Terms) -> Result<bool, Error> {
        Ok(may_begin(state.given_up(), terms.security.whole()?))
    }

    fn fixed(terms: &Terms) -> Result<u128, Error> {
        fixed(terms.security.whole()?)
    }

    fn early_risk(_: Party, _: &Terms) -> Result<u128, Error> {
        Ok(early_risk())
    }

    fn program(job: &Execution) -> [u8; 32] {
        job.step.digest()
    }

    fn needs(job: &Execution) -> String {
        job.needs.to_string()
    }

    fn choose(job: &Execution, there: &Batches, _: &Terms) -> Result<Vec<(Serial, u32)>, Error> {
        let taken = job.needs.choose(there)?;
        job.promise.map_or(Ok(()), |level| keeps_promise(there, level))?;
        Ok(taken)
    }
}

impl<C: Recorded> StockSession<Authenticated> for OnDisk<C> {
    fn secrets(&self) -> EpochSecrets {
        self.member.secrets()
    }

    fn id(&self) -> &SessionId {
        &self.member.id
    }

    fn run(&mut self) -> &mut Metered {
        &mut self.member.run
    }

    fn stays(&self) -> bool {
        !self.member.keep.is_empty()
    }

    fn kept(&mut self) -> Option<&mut StepValues> {
        Some(&mut self.member.keep)
    }

    fn release(self: Box<Self>) -> (Metered, ConnectionCarry) {
        let OnDisk { member: SessionState { run, hooks, .. }, wanted: cot, .. } = *self;
        (run, ConnectionCarry { cot, hooks })
    }

    fn enter(&mut self, mut ranges: Ranges) -> Result<(), Error> {
        self.member.enter(&mut ranges)
    }

    fn risk(&self, step: &Filling) -> u128 {
        step.origin(self.member.cot()).bound(step.level).to_fixed()
    }

    fn fill(&mut self, step: &Filling, _: Writers) -> Result<(), Error> {
        self.member.run.phase("preprocess");
        let mut made = MadeComponents::new(step.request.named(), step.lot.inputs, ListPlace::memory());
        C::make(&mut self.member, &step.lot, step.sizes, &mut DrawnMasks::default(), &mut made)?;
        self.made = Some(made);
        Ok(())
    }

    fn keep(&mut self, step: &Filling, keeper: &mut Keeper) -> Result<(), Error> {
        let mut made =
            self.made.take().ok_or_else(|| Error::Usage("a step must be made before it is kept".into()))?;
        let (c, origin, mut first) = (step.level.tag, step.origin(self.member.cot()), None);
        let mut put = |name: &str, kind, component, parts, items: BatchItems| {
            let serial: Serial = self.member.serials.draw(1)?;
            let header = Header::new(*first.get_or_insert(serial), origin, parts).encode();
            keeper.put(serial, &Batch { kind, name: name.into(), component, header }, items)
        };
        for (k, (component, _)) in step.request.components.iter().enumerate() {
            let (mut items, mut parts) = (BatchItems::new(C::shape(&component.circuit, c)), Vec::new());
            for copies in std::mem::take(&mut made.copies[k]) {
                let count = copies.count();
                parts.push(CopyKeyRange { start: copies.start(), copies: count as u32 });
                items.push(count, copies.lists()?);
            }
            if !parts.is_empty() {
                put(&component.name, COPIES, component.digest(), parts, items)?;
            }
        }
        if step.lot.inputs > 0 {
            let mut items = BatchItems::new(C::shape_of_masks());
            items.push(step.lot.inputs, C::lists_of_masks(&mut made)?);
            put("input masks", MASKS, [0; 32], Vec::new(), items)?;
        }
        Ok(())
    }

    /// Everything that does not depend on the peer is read first. So no party waits for a disk after both
    /// have burned the items.
    fn take(&mut self, items: &TakenItems, job: &Execution, stand: Stand) -> Result<ProgramOutcome, Error> {
        let (mut made, pools) = read::<C>(items, &mut self.member, job.layout, self.memory)?;
        // Solderings and shares depend on the taken items, so no party sends them before both have burned the
        // items.
        stand.confirm(self.run())?;
        let (outputs, mut wires) = C::execute(&mut self.member, job.layout, &mut made, job.input)?;
        self.member.keep_of(job.layout, &mut wires)?;
        let kept = self.member.keep.last().to_vec();
        Ok(ProgramOutcome { outputs, kept, pools, cot: self.member.cot() })
    }
}
