//! Makes components: random masks on all wires, triples for their AND gates, and tables. None of this depends
//! on how a program connects the components.

use brickwork_base::Error;
use brickwork_base::bits::{pack, unpack};
use brickwork_base::label::{LABEL_BYTES, Label};
use brickwork_base::stop::look;
use brickwork_primitives::garbling::masked::{self, Numbered, carry};
use brickwork_primitives::garbling::{GarblingKeys, Schedule};

use crate::buckets::{STRIP, Triples, strips};
use crate::components::{Garbled, MadeComponents, Received};
use crate::hash::HashNumber;
use crate::hooks::Point;
use crate::layout::{ComponentPart, Lot};
use crate::leaky::DrawnMasks;
use crate::msg;
use crate::openings::{Opening, Shown};
use crate::parameters::Sizes;
use crate::secrets::SecretBlocks;
use crate::setup::SessionState;
use crate::share::{MaskShares, OffsetOwner, ShareList, ShareView};
use crate::shelf::ListPlace;
use crate::words::{
    SPARE, add, add_chosen, add_crosswise, add_in_turn, add_where, add_where_coloured, colours, pack_words,
    put_word,
};

/// The fresh masks of a lot, taken one after another.
#[derive(Clone)]
pub(super) struct Fresh<'a> {
    views: Vec<ShareView<'a>>,
    /// The first view that has masks left, and the number of its masks that are used.
    at: (usize, usize),
}

impl<'a> Fresh<'a> {
    fn of(triples: &'a Triples) -> Self {
        Fresh { views: triples.others().collect(), at: (0, 0) }
    }

    /// Takes masks from this view only.
    pub fn new(view: ShareView<'a>) -> Self {
        Fresh { views: vec![view], at: (0, 0) }
    }

    /// Takes the next masks.
    fn take(&mut self, mut count: usize) -> MaskShares {
        let mut taken = MaskShares::with_capacity(count);
        while count > 0 {
            look();
            let (view, used) = (self.views[self.at.0], self.at.1);
            let here = count.min(view.len() - used);
            taken.extend(view.some(used..used + here));
            self.at = if used + here == view.len() { (self.at.0 + 1, 0) } else { (self.at.0, used + here) };
            count -= here;
        }
        taken
    }
}

/// A part of a lot between the two openings: one party has opened its values, and the other has not. Lists
/// have the order `[copy][gate]`.
pub(super) struct Half<'b> {
    part: &'b ComponentPart,
    ports: MaskShares,
    outputs: MaskShares,
    /// The masks of the operands of AND gates, two for each gate.
    operands: MaskShares,
    /// The fresh masks of the results of AND gates.
    results: MaskShares,
    /// The masks x of the gates' triples.
    x: MaskShares,
}

/// The masks with which AND gates are garbled, known after the openings: the masks of both operands, and μ.
/// In place of a key, there is the word that, added to the peer's MAC, gives the mask times the offset: A at
/// the garbler, C at the evaluator.
pub(super) struct GateMasks {
    operands: MaskShares,
    mu: MaskShares,
}

impl<'b> Half<'b> {
    /// Takes fresh masks for the ports and AND gates of a part, and computes the masks of its other wires.
    pub fn new(
        own: &OffsetOwner,
        schedule: &Schedule,
        part: &'b ComponentPart,
        fresh: &mut Fresh<'_>,
        triples: &Triples,
    ) -> Half<'b> {
        let (copies, count) = (part.copies, part.ands.len());
        let (ports, results) = (fresh.take(copies * schedule.inputs()), fresh.take(count));
        let mut operands = MaskShares::zeros(2 * count);
        let mut outputs = MaskShares::zeros(copies * schedule.outputs());
        let one = own.one();
        let (to, out) = (&mut operands.keys, &mut outputs.keys);
        carry(schedule, one.key, &ports.keys, &results.keys, to, out, copies);
        let (to, out) = (&mut operands.macs, &mut outputs.macs);
        carry(schedule, one.mac, &ports.macs, &results.macs, to, out, copies);
        let mut x = MaskShares::with_capacity(count);
        ShareList::BOTH.into_iter().for_each(|list| triples.x(part.ands.clone(), list, x.list_mut(list)));
        Half { part, ports, outputs, operands, results, x }
    }

    /// Makes this party's message that opens masks for the triples.
    fn shown(&self, member: &SessionState, triples: &Triples, place: HashNumber) -> Shown {
        let count = (triples.layers().saturating_sub(1) + 2) * self.part.ands.len();
        member.shown(Opening::TRIPLES, place, count, &|each| self.opened(triples, ShareList::Macs, each))
    }

    /// Receives and checks the peer's message that opens masks for the triples. `own` are this party's
    /// shares. Returns the values of the masks.
    fn seen(
        &self,
        member: &mut SessionState,
        triples: &Triples,
        place: HashNumber,
        own: &[u8],
    ) -> Result<SecretBlocks<u8>, Error> {
        member.see(Opening::TRIPLES, place, &|each| self.opened(triples, ShareList::Keys, each), own)
    }

    /// Visits the masks to open: first the differences that join leaky ANDs to triples, then for each gate
    /// the differences between its operands and its triple.
    pub fn opened(&self, triples: &Triples, list: ShareList, each: &mut dyn FnMut(&[Label])) {
        let ComponentPart { ands, .. } = self.part;
        triples.differences(ands.clone(), list, each);
        let (mut room, mut y) = (SecretBlocks::with_capacity(2 * STRIP), SecretBlocks::with_capacity(STRIP));
        for strip in strips(0..ands.len()) {
            room.clear();
            room.extend_from_slice(&self.operands.list(list)[2 * strip.start..2 * strip.end]);
            y.clear();
            triples.y(ands.start + strip.start..ands.start + strip.end, list, &mut y);
            add_in_turn(&mut room, &self.x.list(list)[strip], &y);
            each(&room);
        }
    }

    /// Computes μ = λ_a·λ_b + λ_c of each gate from its triple and the opened values.
    pub fn multiplied(&mut self, own: &OffsetOwner, triples: &Triples, values: &[u8]) -> GateMasks {
        let (count, buckets) = (self.part.ands.len(), &self.part.ands);
        let (joins, differences) = values.split_at(values.len() - 2 * count);
        let both = || differences.as_chunks::<2>().0.iter();
        let e: SecretBlocks<u8> = both().map(|[e, _]| *e).collect();
        let f: SecretBlocks<u8> = both().map(|[_, f]| *f).collect();
        let ef: SecretBlocks<u8> = both().map(|[e, f]| e & f).collect();
        let (mut mu, mut y) = (MaskShares::with_capacity(count), SecretBlocks::with_capacity(STRIP));
        for list in ShareList::BOTH {
            let to = mu.list_mut(list);
            for strip in strips(0..count) {
                let here = buckets.start + strip.start..buckets.start + strip.end;
                let joins = |layer: usize| &joins[(layer - 1) * count..][strip.clone()];
                triples.z(here.clone(), joins, list, to);
                y.clear();
                triples.y(here, list, &mut y);
                let to = &mut to[strip.clone()];
                add_chosen(to, &y, &e[strip.clone()]);
                add_chosen(to, &self.x.list(list)[strip.clone()], &f[strip.clone()]);
                add(to, &self.results.list(list)[strip]);
            }
        }
        own.add_public(&mut mu, 0..count, &ef);
        let mut operands = std::mem::take(&mut self.operands);
        add_where_coloured(&mut operands.keys, own.delta.label(), &operands.macs);
        add_where_coloured(&mut mu.keys, own.delta.label(), &mu.macs);
        GateMasks { operands, mu }
    }
}

/// Returns the lower `c` bytes of three words of each gate: of both operands and of μ.
pub(super) fn three_tags(c: usize, operands: &[Label], mu: &[Label]) -> SecretBlocks<u8> {
    let mut tags = SecretBlocks::zeros(3 * c * mu.len() + SPARE);
    for (k, (operands, mu)) in operands.as_chunks::<2>().0.iter().zip(mu).enumerate() {
        [operands[0], operands[1], *mu].into_iter().enumerate().for_each(|(n, word)| {
            put_word(&mut tags, c, 3 * k + n, word);
        });
    }
    tags
}

/// Makes the garbler's part of a lot. `room` is the memory of the previous lot's masks.
///
/// # Errors
/// [`Error::Peer`] if the peer cheats, [`Error::Io`] if the connection fails, [`Error::Resource`] if memory
/// or disk is full.
pub(super) fn garble(
    member: &mut SessionState,
    lot: &Lot,
    sizes: Sizes,
    room: &mut DrawnMasks,
    made: &mut MadeComponents<Garbled>,
) -> Result<(), Error> {
    let triples = Triples::make(member, lot.pool, lot.draws(sizes), std::mem::take(room))?;
    // The first fresh masks of a lot are for inputs.
    let mut fresh = Fresh::of(&triples);
    fresh.take(lot.inputs).each().try_for_each(|share| made.inputs.push(share))?;
    (0..lot.inputs).try_for_each(|_| made.input_labels.push(member.rng.label().with_colour(0)))?;
    for part in &lot.parts {
        look();
        let schedule = &made.schedules[part.component];
        let mut half = Half::new(&member.own, schedule, part, &mut fresh, &triples);
        let place = member.place()?;
        let shown = half.shown(member, &triples, place);
        let values = half.seen(member, &triples, place, &shown.bits)?;
        member.show(Opening::TRIPLES, &shown)?;
        let masks = half.multiplied(&member.own, &triples, &values);
        made.copies[part.component].push(send_tables(member, schedule, half, masks, &made.shelf)?);
    }
    *room = triples.room();
    Ok(())
}

/// Garbles the copies of a part, and sends two rows and a bit of each AND gate.
fn send_tables(
    member: &mut SessionState,
    schedule: &Schedule,
    half: Half<'_>,
    masks: GateMasks,
    shelf: &ListPlace,
) -> Result<Garbled, Error> {
    let Half { part: &ComponentPart { copies: count, ref ands, .. }, ports, outputs, .. } = half;
    let GateMasks { operands, mut mu } = masks;
    member.hooks.alter(Point::Products, &mut mu.keys);
    // The start is drawn after the evaluator's openings are checked, so the openings cannot depend on the
    // hash.
    let start = member.rng.block();
    let port_labels: SecretBlocks<Label> =
        (0..ports.len()).map(|_| member.rng.label().with_colour(0)).collect();
    let mut output_labels = SecretBlocks::zeros(outputs.len());
    let mut rows = SecretBlocks::zeros(2 * ands.len());
    let mut results = std::mem::take(&mut mu.keys);
    let keys = GarblingKeys::new(start, count, schedule.and_gates());
    let copies = Numbered { keys: &keys, first: 0, count };
    masked::garble(
        schedule,
        copies,
        member.own.delta,
        &port_labels,
        &mut results,
        &mut rows,
        &mut output_labels,
    );
    add_crosswise(&mut rows, &operands.keys);
    let mut bits: Vec<u8> = colours(&results).collect();
    results.iter_mut().for_each(|label| *label = label.with_colour(0));
    member.hooks.alter(Point::Rows, &mut rows);
    member.hooks.alter(Point::Colours, &mut bits);
    let mut message = member.run.channel.message(msg::TABLES);
    message.push(&start.to_le_bytes())?;
    message.push(bytemuck::cast_slice(&rows))?;
    message.finish()?;
    member.run.channel.send(msg::COLOURS, &pack(bits))?;
    member.run.progress((2 * LABEL_BYTES * ands.len()) as u64);
    let c = member.level.tag;
    let mut labels = SecretBlocks::zeros(c * results.len() + SPARE);
    pack_words(&mut labels, c, results.iter());
    let labels = shelf.keep(labels)?;
    let macs = shelf.keep(three_tags(c, &operands.macs, &mu.macs))?;
    let (ports, outputs) = (shelf.keep_shares(ports)?, shelf.keep_shares(outputs)?);
    let (port_labels, output_labels) = (shelf.keep(port_labels)?, shelf.keep(output_labels)?);
    Ok(Garbled { count, ports, port_labels, outputs, output_labels, labels, macs })
}

/// Makes the evaluator's part of a lot. The evaluator sends its openings of all parts before it receives any
/// tables. So all parts of a lot together need two crossings. The words of most parts are computed twice,
/// because keeping them for all parts would need much memory.
///
/// # Errors
/// As [`garble`].
pub(super) fn receive(
    member: &mut SessionState,
    lot: &Lot,
    sizes: Sizes,
    room: &mut DrawnMasks,
    made: &mut MadeComponents<Received>,
) -> Result<(), Error> {
    let triples = Triples::make(member, lot.pool, lot.draws(sizes), std::mem::take(room))?;
    let mut fresh = Fresh::of(&triples);
    fresh.take(lot.inputs).each().try_for_each(|share| made.inputs.push(share))?;
    let mut opened = Vec::with_capacity(lot.parts.len());
    for (k, part) in lot.parts.iter().enumerate() {
        look();
        let before = fresh.clone();
        let half = Half::new(&member.own, &made.schedules[part.component], part, &mut fresh, &triples);
        let place = member.place()?;
        let shown = half.shown(member, &triples, place);
        member.show(Opening::TRIPLES, &shown)?;
        // The garbler makes the tables of this part while the evaluator opens the masks of the next part.
        member.run.channel.flush()?;
        opened.push((place, shown.bits, if k < KEPT_PARTS { Ok(half) } else { Err(before) }));
    }
    for (part, (place, own, half)) in lot.parts.iter().zip(opened) {
        look();
        let schedule = &made.schedules[part.component];
        let again = |mut fresh| Half::new(&member.own, schedule, part, &mut fresh, &triples);
        let mut half = half.unwrap_or_else(again);
        let values = half.seen(member, &triples, place, &own)?;
        let masks = half.multiplied(&member.own, &triples, &values);
        made.copies[part.component].push(receive_tables(member, schedule, half, masks, &made.shelf)?);
    }
    *room = triples.room();
    Ok(())
}

/// The number of parts of a lot whose words the evaluator keeps between its openings and the tables.
const KEPT_PARTS: usize = 2;

/// Receives the tables of a part, and adds the evaluator's words to them.
fn receive_tables(
    member: &mut SessionState,
    schedule: &Schedule,
    half: Half<'_>,
    masks: GateMasks,
    shelf: &ListPlace,
) -> Result<Received, Error> {
    let Half { part: &ComponentPart { copies: count, ref ands, .. }, ports, outputs, .. } = half;
    let GateMasks { operands, mut mu } = masks;
    let mut message = vec![0u128; 1 + 2 * ands.len()];
    member.run.channel.receive_into(msg::TABLES, bytemuck::cast_slice_mut(&mut message))?;
    let keys = GarblingKeys::new(message[0], count, schedule.and_gates());
    let mut tables = SecretBlocks::new(bytemuck::cast_slice::<_, Label>(&message[1..]).to_vec());
    add_crosswise(&mut tables, &operands.macs);
    let colours = member.run.channel.receive(msg::COLOURS, ands.len().div_ceil(8))?;
    let colours = unpack(&colours, ands.len())?;
    let tags = shelf.keep(three_tags(member.level.tag, &operands.keys, &mu.keys))?;
    let mut words = std::mem::take(&mut mu.macs);
    add_where(&mut words, Label::from_bits(1), &colours);
    let (tables, words) = (shelf.keep(tables)?, shelf.keep(words)?);
    let (ports, outputs) = (shelf.keep_shares(ports)?, shelf.keep_shares(outputs)?);
    member.run.progress((2 * LABEL_BYTES * ands.len()) as u64);
    Ok(Received { count, keys, first: 0, ports, outputs, tables, words, tags })
}
