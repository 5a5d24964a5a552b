//! The predicted cost of a run, from a script of its messages and work, and the choice of the cheapest
//! parameters.

mod measure;
mod scale;
mod script;
mod stocked;
pub mod work;

use brickwork_base::Error;
use brickwork_circuit::Program;
use brickwork_plan::{self as plan, Link, Machine, TOUCH, WorkKind};
use brickwork_primitives::commit::CommitmentLevel;
use brickwork_primitives::cost::work::*;

use crate::instance::level;
use crate::parameters::{ItemCost, Parameters, Prices};
pub use scale::{SlotCost, SlotScale, scale};
pub use script::script;
pub use stocked::{request, script_from_stock, script_of_filling, scripts_of_workers, stock_parameters};

/// Predicts the cost of a run of `program` with these parameters, between two parties of this machine.
pub fn predict(program: &Program, parameters: &Parameters, machine: &Machine, link: &Link) -> plan::Cost {
    plan::predict(&script(program, parameters), machine, link)
}

/// Returns the prices on a machine and over a link. The cheapest bucketings follow from these prices.
pub fn prices(machine: &Machine, level: &CommitmentLevel, link: &Link) -> Prices {
    let n = level.code[0] as f64;
    let cores = f64::from(machine.threads.max(1));
    let work = |work: &WorkKind, units: f64| 1e9 * machine.seconds(work, units) / cores;
    let byte = link.bits_per_second.map_or(0.0, |rate| 8e9 / rate)
        + 1e9 * (machine.send_seconds_a_byte + machine.receive_seconds_a_byte);
    let garble = |and: &WorkKind| work(and, 1.0) + work(&HASH_TABLE, 1.0);
    let commit = |made: &WorkKind| {
        // Both parties recompute the rows for each of two proofs.
        let again = 4.0 * work(&COMMIT_RANDOM, n);
        let rows = work(made, n) + work(&RECEIVE, n) + again + work(&COMBINE, 2.0 * n + 128.0);
        rows / 128.0 + work(&TOUCH, n / 4.0 + 16.0) + 2.0 * work(&work::KEEP, 1.0)
    };
    let xor = work(&GARBLE_XOR, 1.0);
    Prices {
        byte,
        and: ItemCost {
            made: garble(&GARBLE_AND),
            opened: garble(&GARBLE_AND),
            chosen: garble(&GARBLE_AND) + work(&EVALUATE_AND, 1.0) + work(&TOUCH, 64.0),
        },
        other: ItemCost { made: xor, opened: xor, chosen: xor + work(&EVALUATE_XOR, 1.0) },
        hash_label: work(&HASH_LABEL, 1.0),
        commit_random: commit(&COMMIT_RANDOM),
        commit_chosen: commit(&COMMIT_CHOSEN),
        claim: work(&COMBINE, 2.0 * n + 128.0) / 128.0 + work(&SOLDER, 1.0),
    }
}

/// Chooses parameters for `program` at `security` bits, for two machines like `machine`, and for `link`.
/// Among the [candidates] it takes the one that sends the fewest bytes and whose predicted time is nearly the
/// shortest.
///
/// # Errors
/// As [`Parameters::choose`].
pub fn choose(program: &Program, security: u32, machine: &Machine, link: &Link) -> Result<Parameters, Error> {
    let mut all = candidates(program, security, machine, link)?;
    let costs: Vec<plan::Cost> =
        all.iter().map(|parameters| predict(program, parameters, machine, link)).collect();
    Ok(all.swap_remove(best(&costs).unwrap_or(0)))
}

/// Returns the candidates for [`choose`]: the cheapest bucketing at these prices, and variants with other
/// bucket sizes for the dominant component.
///
/// # Errors
/// As [`Parameters::choose`].
pub fn candidates(
    program: &Program,
    security: u32,
    machine: &Machine,
    link: &Link,
) -> Result<Vec<Parameters>, Error> {
    let first = Parameters::choose_at(program, security, &prices(machine, &level(security)?, link))?;
    let others = first.alternatives(program)?.into_iter();
    let others = others.filter(|other| other.bucket_sizes().ne(first.bucket_sizes())).collect();
    Ok([vec![first], others].concat())
}

/// The predicted time of a chosen candidate may exceed the shortest time by this factor if it sends fewer
/// bytes. Times are estimates, but bytes are exact; and other programs may share the network.
pub const AS_GOOD_AS_FASTEST: f64 = 1.1;

/// Returns the index of the candidate with the fewest bytes among those that are nearly as fast as the
/// fastest.
fn best<'a>(costs: impl IntoIterator<Item = &'a plan::Cost, IntoIter: Clone>) -> Option<usize> {
    let costs = costs.into_iter();
    let fastest = costs.clone().map(plan::Cost::seconds).fold(f64::INFINITY, f64::min);
    let good = costs.enumerate().filter(|(_, cost)| cost.seconds() <= AS_GOOD_AS_FASTEST * fastest);
    good.min_by_key(|(_, cost)| cost.bytes()).map(|(place, _)| place)
}

#[cfg(test)]
mod tests {
    use super::*;
    use brickwork_circuit::{Party, Recipient, library};
    use brickwork_plan::ScriptStep;
    use brickwork_primitives::cut_and_choose::Bucketing;

    /// The table "What a run costs" of `docs/reference/formats.md`, plus the parts that do not depend on the
    /// program, gives every byte that the garbler sends. It is counted in eighths of bytes.
    #[test]
    fn the_table_of_what_a_run_costs_is_exact() {
        for (name, program) in [
            ("millionaires", library::millionaires().unwrap()),
            ("aes", library::aes::aes_128().unwrap()),
            ("256 aes", library::aes::aes_128().unwrap().repeat(256).unwrap()),
            ("cbc-mac", library::aes::cbc_mac(4).unwrap()),
        ] {
            for security in [40, 64, 80] {
                let parameters = Parameters::choose(&program, security).unwrap();
                let sent: u64 = script(&program, &parameters)
                    .steps()
                    .iter()
                    .map(|step| match *step {
                        ScriptStep::Message { from: Party::Garbler, payload, times, .. } => {
                            8 * payload * times
                        }
                        _ => 0,
                    })
                    .sum();
                assert_eq!(sent, table(&program, &parameters), "{name}, s = {security}");
            }
        }
    }

    fn table(program: &Program, parameters: &Parameters) -> u64 {
        let [n, ..] = level(parameters.security).unwrap().code.map(|bits| bits as u64);
        // Commitments are made in blocks of 128. A block is 128 bits here, because everything is in eighths
        // of bytes.
        let random = |count: u64| count.next_multiple_of(128) * (n - 128);
        let chosen = |count: u64| count.next_multiple_of(128) * n;
        let label = 8 * 16;
        let mut bits = 0;
        for (component, bucketing) in program
            .components()
            .iter()
            .zip(&parameters.components)
            .filter(|(_, bucketing)| bucketing.slots > 0)
        {
            let (a, i, o) = (
                component.circuit.and_gates() as u64,
                component.circuit.inputs() as u64,
                component.circuit.outputs().len() as u64,
            );
            let (slots, b, c, l) = (
                u64::from(bucketing.slots),
                u64::from(bucketing.bucket),
                u64::from(bucketing.opened),
                bucketing.copies(),
            );
            bits += slots * a * 2 * label * b;
            bits += random(l) + 2 * label * l + label * c + slots * label * b;
            bits += random(l * i) + i * label * (c + slots * (b - 1) + slots);
            bits += chosen(l * o) + slots * o * label * b;
            bits += label; // start of the keys
        }
        let (p, q) = (parameters.plain, parameters.input);
        let pairs = |bucketing: &Bucketing| u64::from(bucketing.slots) * u64::from(bucketing.bucket - 1);
        bits += random(p.copies()) + label * (2 * p.copies() + u64::from(p.opened) + pairs(&p));
        bits += random(q.copies())
            + chosen(q.copies())
            + label * (2 * q.copies() + u64::from(q.opened) + q.kept() + pairs(&q));
        let (x, y) =
            (program.input_width(Party::Garbler) as u64, program.input_width(Party::Evaluator) as u64);
        let wires = |to: &dyn Fn(Recipient) -> bool| {
            program.outputs().iter().filter(|o| to(o.to)).map(|o| o.wires.len() as u64).sum::<u64>()
        };
        bits += chosen(y + parameters.ot_binding as u64)
            + random(y)
            + label * (x + y)
            + label * wires(&|to| to == Recipient::Garbler);
        bits += wires(&|to| to.includes(Party::Evaluator)).next_multiple_of(8);
        // Constant parts of a run: greeting, proposal, base OTs, both offsets and their delta difference, and
        // three proofs with masks and answers.
        bits += 8 * (148 + 32 + Parameters::proposal_bytes(program) as u64 + 32 + 64 * 128)
            + random(1)
            + chosen(1)
            + label;
        let (values, hidden) = (label * n, label * (n + 128));
        bits + (2 * random(128) + 2 * hidden + values) + values + (random(128) + hidden + values)
    }
}
