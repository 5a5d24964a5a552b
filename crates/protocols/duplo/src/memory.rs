//! Predicts peak memory from the moments when a party holds most: when copies are opened, when authenticators
//! are opened, when the components of the program are soldered together, and when it is evaluated.

use super::Parameters;
use super::instance::level;
use brickwork_circuit::{Component, Party, Program};
use brickwork_plan::PROCESS_BYTES;
use brickwork_primitives::commit::CommittedValues::{Chosen, Random};
use brickwork_primitives::commit::{self, FEW_COLUMNS};
use brickwork_primitives::cost::GATE_BYTES;
use brickwork_primitives::cut_and_choose::Bucketing;
use brickwork_protocol::TABLE_MEMORY;

/// The bytes of a label, a soldering or an offset.
const LABEL: u64 = 16;
/// The bytes of an authenticator's pair of hashes.
const AUTHENTICATOR: u64 = 32;
/// The number of copies whose tables the garbler has in memory: some are being sent while others are being
/// made.
const COPIES_IN_HAND: u64 = 2 * 16 * 2;

/// The bytes of an item in a permutation, in both directions.
const PLACE: u64 = 8;

/// The bytes of the candidate labels from the copies of some slots.
const CANDIDATES: u64 = 16 << 20;

/// Returns the largest number of bytes of openings and solderings that an evaluator keeps in memory if it may
/// keep `table_memory` bytes of tables. If openings and solderings are larger, all of them go to a temporary
/// file.
pub(super) fn openings_memory(table_memory: u64) -> u64 {
    table_memory.saturating_mul(3)
}

/// Returns the bytes of the tables of all chosen copies.
fn tables(program: &Program, parameters: &Parameters) -> u64 {
    let of = |(component, bucketing): (&Component, &Bucketing)| {
        bucketing.kept() * 32 * component.circuit.and_gates() as u64
    };
    program.components().iter().zip(&parameters.components).map(of).sum()
}

/// Returns the bytes of openings that the evaluator receives about copies and authenticators and keeps.
fn openings(program: &Program, parameters: &Parameters) -> u64 {
    parameters.openings_bytes(program.components().iter().map(|component| &*component.circuit))
}

/// Returns the bytes of the temporary files of the garbler and of the evaluator. The garbler writes the
/// corrections of committed values, and the order of chosen authenticators. The evaluator also writes all
/// authenticators in the order of their arrival, and the authenticators of one kind while these are sorted
/// into the order of buckets.
pub fn files(program: &Program, parameters: &Parameters) -> [u64; 2] {
    let &Parameters { plain, input, .. } = parameters;
    let moving = AUTHENTICATOR * (plain.copies() + input.copies())
        + (AUTHENTICATOR + 4) * plain.kept().max(input.kept());
    let (tables, openings) = (tables(program, parameters), openings(program, parameters));
    let corrections = Sizes::of(program, parameters).corrections;
    let beyond = |bytes: u64, room: u64| if bytes > room { bytes } else { 0 };
    let of_openings = if openings > openings_memory(TABLE_MEMORY) { openings + moving } else { 0 };
    let evaluator = beyond(tables, TABLE_MEMORY) + beyond(corrections, TABLE_MEMORY) + of_openings;
    let garbler = kept_values(program, parameters).1 + orders(plain)[1] + orders(input)[1];
    [garbler, evaluator]
}

/// Returns the bytes of the order of a kind's chosen authenticators at the garbler: in memory, and in a file.
fn orders(bucketing: Bucketing) -> [u64; 2] {
    let bytes = 4 * bucketing.kept();
    if bucketing.kept() * LABEL > TABLE_MEMORY { [0, bytes] } else { [bytes, 0] }
}

/// Returns the components that slots need, with their cuts.
fn used<'p>(
    program: &'p Program,
    parameters: &'p Parameters,
) -> impl Iterator<Item = (&'p Component, &'p Bucketing)> {
    program.components().iter().zip(&parameters.components).filter(|(_, bucketing)| bucketing.slots > 0)
}

/// Returns the bytes of committed values that the garbler keeps in memory, and those of its files.
fn kept_values(program: &Program, parameters: &Parameters) -> (u64, u64) {
    let (plain, input) = (parameters.plain, parameters.input);
    let ots = program.input_width(Party::Evaluator) as u64;
    let of_copies = used(program, parameters).flat_map(|(component, bucketing)| {
        let of = |wires: usize| bucketing.copies() * wires as u64;
        let Component { circuit, .. } = component;
        [(of(circuit.inputs()), Random), (bucketing.copies(), Random), (of(circuit.outputs().len()), Chosen)]
    });
    let others = [
        (plain.copies(), Random),
        (input.copies(), Random),
        (input.copies(), Chosen),
        (ots, Chosen),
        (ots, Random),
    ];
    commit::kept_values(commit::values_memory(TABLE_MEMORY), of_copies.chain(others))
}

/// The sizes of a program's batches: numbers of commitments, solderings and items, and bytes.
#[derive(Default)]
struct Sizes {
    /// The commitments to copies, and how many of these are to output wires.
    copies: u64,
    outputs: u64,
    /// The number of slots and of inputs of each component.
    heads: Vec<(u64, u64)>,
    /// The numbers of commitments to the heads of buckets: to copies, and to both kinds of authenticator.
    head_copies: u64,
    head_authenticators: u64,
    /// The solderings in buckets, of the outputs of chosen copies, and of the program.
    buckets: u64,
    joined: u64,
    solderings: u64,
    delta_differences: u64,
    /// The wires of opened copies.
    opened: u64,
    /// The bytes of tables that the garbler has in memory.
    in_hand: u64,
    /// The bytes of the hashes of tables.
    hashes: u64,
    /// The bytes of corrections.
    corrections: u64,
}

impl Sizes {
    fn of(program: &Program, parameters: &Parameters) -> Self {
        let level = level(parameters.security).ok();
        let (random, chosen) =
            level.map_or((0, 0), |level| (level.random_bits as u64, level.chosen_bits as u64));
        let mut sizes = Sizes::default();
        for (component, bucketing) in used(program, parameters) {
            let circuit = &component.circuit;
            let (inputs, outputs, slots) =
                (circuit.inputs() as u64, circuit.outputs().len() as u64, u64::from(bucketing.slots));
            sizes.heads.push((slots, inputs));
            sizes.copies += bucketing.copies() * (inputs + outputs + 1);
            sizes.outputs += bucketing.copies() * outputs;
            sizes.head_copies += slots * (inputs + 1);
            sizes.buckets += (bucketing.kept() - slots) * inputs;
            sizes.joined += bucketing.kept() * outputs;
            sizes.solderings += slots * inputs;
            sizes.delta_differences += bucketing.kept();
            sizes.opened += u64::from(bucketing.opened) * (inputs + outputs + 1);
            sizes.in_hand =
                sizes.in_hand.max(bucketing.kept().min(COPIES_IN_HAND) * 32 * circuit.and_gates() as u64);
            sizes.hashes += 32 * bucketing.copies();
            sizes.corrections += bucketing.copies() * ((inputs + 1) * random + outputs * chosen) / 8;
        }
        let (plain, input) = (parameters.plain, parameters.input);
        sizes.head_authenticators = u64::from(plain.slots) + 2 * u64::from(input.slots);
        let ots = program.input_width(Party::Evaluator) as u64;
        sizes.corrections += (plain.copies() * random + (input.copies() + ots) * (random + chosen)) / 8;
        sizes
    }
}

/// Returns the garbler's memory apart from the program. It is the maximum over these moments: copies and
/// authenticators are opened, outputs are soldered, the components of the program are soldered together,
/// these solderings are proven.
fn garbler(program: &Program, parameters: &Parameters, share: u64) -> u64 {
    let (plain, input) = (parameters.plain, parameters.input);
    let ots = program.input_width(Party::Evaluator) as u64;
    // Values are recomputed in windows; memory holds one window and the data made from it.
    let window = |values: u64| 2 * (LABEL * values).min(TABLE_MEMORY);
    // Committed values stay in memory while there is room.
    let (held, _) = kept_values(program, parameters);
    let (mut made, mut hashed, mut opens, mut solders) = (0, 0, 0, 0);
    let (mut in_hand, mut solderings, mut joined) = (0, 0, 0);
    for (component, bucketing) in used(program, parameters) {
        let circuit = &component.circuit;
        let (inputs, outputs) = (circuit.inputs() as u64, circuit.outputs().len() as u64);
        in_hand = in_hand.max(3 * bucketing.kept().min(COPIES_IN_HAND) * 16 * circuit.and_gates() as u64);
        hashed = hashed.max(32 * bucketing.copies());
        opens = opens.max(window(bucketing.kept() * inputs));
        solders =
            solders.max(window(bucketing.kept() * outputs) + LABEL * u64::from(bucketing.slots) * outputs);
        // The offsets of all copies and of the chosen ones, and the assignment of items.
        made += LABEL * (bucketing.copies() + bucketing.kept()) + PLACE * bucketing.copies();
        solderings += u64::from(bucketing.slots) * inputs;
        joined = joined.max(window(u64::from(bucketing.slots) * inputs));
    }
    // The numbers of the heads, and three bits for each authenticator.
    let heads = |bucketing: Bucketing| {
        12 * u64::from(bucketing.slots) + 3 * bucketing.copies() / 8 + orders(bucketing)[0]
    };
    let opens_authenticators = |bucketing: Bucketing| PLACE * bucketing.copies() + window(bucketing.kept());
    let authenticators = opens_authenticators(plain)
        .max(heads(plain) + opens_authenticators(input))
        .max(heads(plain) + heads(input) + solders);
    let values = LABEL * (u64::from(plain.slots) + 2 * u64::from(input.slots) + ots);
    let weights = LABEL * u64::from(plain.slots.max(input.slots));
    let proves = 4 * (program.wires() as u64 + solderings) + weights;
    let outputs: u64 = program.outputs_of(Party::Evaluator).map(|output| output.wires.len() as u64).sum();
    let evaluates =
        (share + LABEL) * outputs + LABEL * (program.input_width(Party::Garbler) as u64 + 2 * ots);
    let joins = heads(plain) + heads(input) + values + joined.max(proves).max(evaluates);
    // The system does not get back all freed memory: in measurements a quarter stays.
    let most = held + (made + hashed.max(opens).max(authenticators)).max(joins);
    (most * 5 / 4).max(held + made + in_hand)
}

/// Returns the peak memory of the garbler and of the evaluator, in bytes.
pub fn peaks(program: &Program, parameters: &Parameters) -> [u64; 2] {
    let share = level(parameters.security).map_or(0, |level| 8 * level.words as u64);
    let sizes = Sizes::of(program, parameters);
    let (plain, input) = (parameters.plain, parameters.input);
    let ots = program.input_width(Party::Evaluator) as u64;
    let program_bytes =
        program.components().iter().map(|c| c.circuit.gate_count() as u64 * GATE_BYTES).sum::<u64>()
            + 12 * program.wires() as u64
            + 4 * used(program, parameters)
                .map(|(c, bucketing)| u64::from(bucketing.slots) * c.circuit.inputs() as u64)
                .sum::<u64>()
            + 2 * (program.input_width(Party::Garbler) + program.input_width(Party::Evaluator)) as u64;

    let garbler = garbler(program, parameters, share);

    // The corrections and the heads stay in memory until the last claim about them is proven.
    let corrections = sizes.corrections.min(TABLE_MEMORY);
    let head = |items: u64, each: u64| {
        if items * each * share > FEW_COLUMNS as u64 { PLACE * items } else { share * items * each }
    };
    let heads = sizes.heads.iter().map(|&(slots, inputs)| head(slots, inputs)).sum::<u64>()
        + head(plain.slots.into(), 1)
        + 2 * head(input.slots.into(), 1);
    let delta_differences = (LABEL + PLACE) * sizes.delta_differences + LABEL * u64::from(input.slots);
    let kept = delta_differences + ots * (LABEL + 1);
    let claimed = corrections + heads;
    // Tables from a file are in memory while they are checked or evaluated.
    let (tables, in_hand) = match tables(program, parameters) {
        in_file if in_file > TABLE_MEMORY => (0, sizes.in_hand),
        in_memory => (in_memory, 0),
    };
    // While authenticators are sorted into the order of buckets, memory holds all their hashes, and the
    // openings of the chosen ones.
    let (all, in_buckets) =
        (AUTHENTICATOR * (plain.copies() + input.copies()), AUTHENTICATOR * (plain.kept() + input.kept()));
    let gathering =
        (all + AUTHENTICATOR * plain.kept()).max(in_buckets + AUTHENTICATOR * input.copies()) - in_buckets;
    let in_memory = |openings: u64| if openings > openings_memory(TABLE_MEMORY) { 0 } else { openings };
    let (openings, solderings) =
        (in_memory(openings(program, parameters)), in_memory(LABEL * sizes.solderings));
    let [all, gathering] = [all, gathering].map(|hashes| if openings == 0 { 0 } else { hashes });
    let receives = corrections + all + sizes.hashes;
    let opens = gathering + PLACE * plain.copies().max(input.copies());
    let joins = solderings + 4 * (sizes.solderings + program.wires() as u64);
    // Memory first holds the labels of inputs and the commitments to outputs, then the labels of all wires.
    let outputs: u64 = program.outputs_of(Party::Evaluator).map(|output| output.wires.len() as u64).sum();
    let inputs = program.input_width(Party::Garbler) as u64 + 2 * ots;
    let proves = solderings + LABEL * inputs + (share + 3 * PLACE) * outputs + 4 * plain.copies();
    let candidates = 2 * (LABEL * sizes.joined).min(CANDIDATES);
    let evaluates = solderings + LABEL * program.wires() as u64 + candidates.max(2 * LABEL * outputs);
    let before_evaluation = claimed + (in_hand + opens).max(joins).max(proves);
    let evaluator = receives.max(kept + tables + openings + before_evaluation.max(in_hand + evaluates));
    [garbler, evaluator].map(|bytes| PROCESS_BYTES + program_bytes + bytes)
}
