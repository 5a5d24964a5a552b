//! The costs of the primitives: the messages that a protocol adds to its script, and the kinds of work.

pub mod known;
mod measure;
pub mod work;

use brickwork_base::Party::{self, Evaluator, Garbler};
use brickwork_plan::{SLICES, Script, TOUCH, share};

use crate::commit::CommitmentLevel;
use crate::ot::Cot;
use crate::ot::pcg::PARAMETERS;
use brickwork_store::PAIR_BYTES;
pub use measure::{Primitives, probe};
use work::{COMBINE, COMMIT_CHOSEN, COMMIT_RANDOM, RANDOM_RECEIVER, RANDOM_SENDER, RECEIVE};

/// Bytes of a label, a soldering, a seed, or half an authenticator.
pub const LABEL: u64 = 16;
/// Bytes of a gate of a component in memory: in the circuit and in the schedule.
pub const GATE_BYTES: u64 = 32;
/// The number of commitments, or of extended OTs, in a block.
pub const BLOCK: u64 = 128;
/// The dimension of the code, and the number of base OTs of the extension.
pub const DIMENSION: u64 = 128;
const COMMITMENTS_A_MESSAGE: u64 = 1 << 15;
/// The number of blocks of an OT extension's rows that are sent in one message.
const BLOCKS_OF_ROWS: u64 = crate::ot::CHUNK as u64;

/// Returns the bytes that a party sends in a series of base OTs in which it makes this many choices: a point,
/// and a pair of points for each choice.
pub const fn base_ots(choices: u64) -> u64 {
    32 + 64 * choices
}

/// Adds the messages of one call of the OT extension with `ots` OTs, at least 1. `receiver` is the party that
/// chooses.
pub fn extend(script: &mut Script, receiver: Party, ots: u64) {
    rows(script, receiver, DIMENSION, ots);
}

/// Bytes that the receiver sends in the setup of an OT extension with trees.
pub const TREES: u64 = 32 * (DIMENSION + 1);

/// Adds the messages of one call of correlated OTs with random choices, at least 1, and the receiver's work
/// before it sends them. `receiver` has the choices. OTs that are made ahead ([`Provision`]) have no messages
/// here.
pub fn random(script: &mut Script, cot: Cot, receiver: Party, ots: u64) {
    if cot != Cot::Pcg {
        script.work(receiver, RANDOM_RECEIVER[cot as usize], ots.div_ceil(BLOCK) + 1, 1);
        rows(script, receiver, cot.rows() as u64, ots);
    }
}

/// Adds the sender's work after it has received the messages of [`random`].
pub fn accept_random(script: &mut Script, cot: Cot, sender: Party, ots: u64) {
    if cot != Cot::Pcg {
        script.work(sender, RANDOM_SENDER[cot as usize], ots.div_ceil(BLOCK) + 1, 1);
    }
}

/// The largest number of bytes of the inputs and results of iterations that are in progress in both
/// directions.
pub const PROVISION_BYTES: u64 = 4 * LABEL * PARAMETERS.samples() as u64;

/// Correlated OTs in both directions that are made in advance
/// ([`chosen::provide`](crate::ot::chosen::provide)), and the number that is left.
#[derive(Clone, Copy, Debug)]
pub struct Provision {
    cot: Cot,
    begun: bool,
    left: usize,
}

impl Provision {
    /// Returns a provision without OTs.
    pub fn new(cot: Cot) -> Self {
        Provision { cot, begun: false, left: 0 }
    }

    /// Uses `count` OTs. If too few are left, adds the cost of making more.
    pub fn take(&mut self, script: &mut Script, count: usize) {
        if self.cot != Cot::Pcg {
            return;
        }
        while self.left < count {
            if !self.begun {
                first_of_pcg(script);
            }
            let iterations = PARAMETERS.at_once(self.left, count);
            iterate(script, iterations as u64);
            self.left += PARAMETERS.yields() * iterations;
            self.begun = true;
        }
        self.left -= count;
    }
}

/// Adds the cost of the OTs for the first iterations of both directions.
fn first_of_pcg(script: &mut Script) {
    let (both, ots) = ([Garbler, Evaluator], PARAMETERS.reserve() as u64);
    let messages = both.map(|by| script.post(|script| random(script, Cot::SoftSpoken8, by, ots)));
    for (by, messages) in both.into_iter().zip(messages) {
        script.read(by, messages);
        accept_random(script, Cot::SoftSpoken8, by, ots);
    }
}

/// Adds the cost of this many PCG iterations, which run at once in both directions.
fn iterate(script: &mut Script, iterations: u64) {
    let both = [Garbler, Evaluator];
    let blocks = iterations * PARAMETERS.samples() as u64 / BLOCK;
    let corrections = LABEL * PARAMETERS.corrections() as u64;
    for by in both {
        script.work(by, RANDOM_SENDER[Cot::Pcg as usize], blocks, 1);
    }
    for (payload, completed) in [(corrections, true), (2 * LABEL, false), (DIGEST, false)] {
        let messages = both.map(|by| script.post(|script| script.messages(by, payload, iterations)));
        for (by, messages) in both.into_iter().zip(messages) {
            script.read(by, messages);
            if completed {
                script.work(by, RANDOM_RECEIVER[Cot::Pcg as usize], blocks, 1);
            }
        }
    }
}

/// Adds the messages with this many rows, and those of the check.
fn rows(script: &mut Script, receiver: Party, rows: u64, ots: u64) {
    let blocks = ots.div_ceil(BLOCK) + 1;
    for (blocks, times) in [(BLOCKS_OF_ROWS, blocks / BLOCKS_OF_ROWS), (blocks % BLOCKS_OF_ROWS, 1)] {
        if blocks > 0 {
            script.messages(receiver, rows * 16 * blocks, times);
        }
    }
    script.message(receiver, LABEL * (1 + DIMENSION));
}

/// Bytes of a digest.
pub const DIGEST: u64 = 32;

/// Bytes of a party's intent: its action, its epoch, and the position of its log.
pub const INTENT: u64 = 1 + 2 * DIGEST;

/// Adds the messages by which two stores compare their state, if they share `epochs` unused epochs and gave
/// nothing up. In other cases the parties send slightly more. `greeting` has the bytes of the garbler's first
/// messages and of the evaluator's greeting.
pub fn meet<const G: usize>(script: &mut Script, greeting: ([u64; G], u64), epochs: u64) {
    // The message has the number of epochs. Then each epoch has its identifier, a flag that no other session
    // uses it, the length and the position of its log, and a flag that no entry is open.
    let varint = |number: u64| u64::from(u64::BITS - number.leading_zeros()).div_ceil(7).max(1);
    let standings = varint(epochs) + epochs * (2 * DIGEST + 8 + 2);
    script.phase("setup");
    script.exchange(greeting.0, [greeting.1]);
    // The evaluator answers each message after the garbler has sent its own.
    for party in [Garbler, Evaluator] {
        script.message(party, PAIR_BYTES as u64);
        script.message(party, standings);
    }
    [Garbler, Evaluator].into_iter().for_each(|party| script.message(party, DIGEST));
}

/// Adds the messages in which two parties agree on a program and its items, in the phase `agreement`.
/// Afterwards each party sends a [`DIGEST`] to confirm that it burned the items.
pub fn agree_to_take(script: &mut Script, agreement: &'static str) {
    script.phase(agreement);
    script.exchange([DIGEST], [DIGEST]); // the program
    // The intents name the items and their epoch.
    [Garbler, Evaluator].into_iter().for_each(|party| script.message(party, INTENT));
}

/// Adds the messages in which both parties choose the epoch that they fill.
pub fn agree_to_add(script: &mut Script) {
    [Garbler, Evaluator].into_iter().for_each(|party| script.message(party, INTENT));
}

/// The cost of the garbler's commitments with the split scheme.
#[derive(Clone, Copy, Debug)]
pub struct CommitmentCost {
    /// n, the length of the code.
    n: u64,
}

impl CommitmentCost {
    /// Returns the cost for this level.
    pub fn of(level: &CommitmentLevel) -> Self {
        CommitmentCost { n: level.code[0] as u64 }
    }

    /// Returns the number of correlated OTs of the receiver's setup: one for each coordinate of the code.
    pub fn ots(&self) -> u64 {
        self.n
    }

    /// Adds commitments to `count` random or chosen values.
    pub fn commit(&self, script: &mut Script, count: u64, chosen: bool) {
        let (corrected, work) =
            if chosen { (self.n, &COMMIT_CHOSEN) } else { (self.n - DIMENSION, &COMMIT_RANDOM) };
        let mut messages = |commitments: u64, times: u64| {
            let blocks = commitments.div_ceil(BLOCK);
            let share = 8 * self.n.div_ceil(64);
            script.work(Garbler, &TOUCH, times * commitments * (share + LABEL), 1);
            script.work(Evaluator, &TOUCH, times * commitments * share, 1);
            script.work(Garbler, work, blocks * times * self.n, blocks.div_ceil(16) * times);
            script.messages(Garbler, 16 * corrected * blocks, times);
            script.work(Evaluator, &RECEIVE, blocks * times * self.n, blocks.div_ceil(16) * times);
        };
        let full = count / COMMITMENTS_A_MESSAGE;
        for k in 0..SLICES.min(full) {
            messages(COMMITMENTS_A_MESSAGE, share(full, k, SLICES.min(full)));
        }
        if !count.is_multiple_of(COMMITMENTS_A_MESSAGE) {
            messages(count % COMMITMENTS_A_MESSAGE, 1);
        }
    }

    /// Adds a proof about this many new commitments, claimed bits and claimed values. If a kind of claim is
    /// listed, its work is done even if the program has no such claims.
    pub fn prove(&self, script: &mut Script, new: Option<u64>, bits: Option<u64>, known: Option<u64>) {
        let hidden = u64::from(new.is_some()) + u64::from(bits.is_some());
        (0..hidden).for_each(|_| self.commit(script, BLOCK, false));
        script.message(Evaluator, LABEL);
        let (shares, all) = (self.n, self.n + DIMENSION);
        for (count, rows) in [(new, [all, shares]), (bits, [all, all]), (known, [shares, all])] {
            let blocks = count.unwrap_or(0).div_ceil(BLOCK);
            script.work(Garbler, &COMBINE, blocks * rows[0], blocks.div_ceil(64));
            script.work(Evaluator, &COMBINE, blocks * rows[1], blocks.div_ceil(64));
        }
        script.message(Garbler, LABEL * (hidden * all + u64::from(known.is_some()) * shares));
    }

    /// Adds the work of recomputing commitments: for a proof, each party recomputes all commitments in their
    /// order.
    pub fn again(&self, script: &mut Script, commitments: u64) {
        let blocks = commitments.div_ceil(BLOCK);
        for by in [Garbler, Evaluator] {
            script.work(by, &COMMIT_RANDOM, blocks * self.n, blocks.div_ceil(16));
        }
    }
}
