//! The commitments of Frederiksen, Jakobsen, Nielsen, Trifiletti: "On the Complexity of Additively
//! Homomorphic UC Commitments" (TCC 2016-A, FJNT16).
//!
//! A codeword of the committed value is split into two shares, v = v0 + v1. Both come from seeds, one pair
//! for each coordinate of the code; of each pair the receiver got one by oblivious transfer, its *watch bit*
//! w_i says which. It thus watches one share of each coordinate, and the sender does not know which one. To
//! lie about a value the sender must change a share in at least d coordinates and guesses every watch bit
//! with probability 1/2.
//!
//! ```text
//!   random value:    the first 128 coordinates are what the seeds give;  parity coordinates are corrected: n - 128 bits
//!   chosen value:    all coordinates are corrected: n bits
//!   proof:  sender -> receiver   masks (128 fresh commitments for each hidden part)
//!           receiver -> sender   seed
//!           sender -> receiver   for each part: the combined shares v0 (n x 128 bits); hidden parts also the values
//! ```
//!
//! A proof combines with 128 random linear functions at once: the bits of a coordinate, over all claims, are
//! blocks of GF(2^128) and each block is multiplied by its own random element. That hash is F_2-linear, so it
//! commutes with the code. A false statement survives it with probability 2^-128.
//!
//! If the check of the combinations were missing, the sender could "commit" to words off the code and later
//! open them in several ways; if it combined values that the receiver does not know without a mask, the
//! receiver would learn relations of hidden labels, among them an offset.

use std::sync::Arc;

use brickwork_kernels as kernels;
use kernels::Aes128;
use rayon::prelude::*;
use subtle::{Choice, ConstantTimeEq};
use zeroize::{Zeroize, Zeroizing};

use super::Cheat;
use super::code::{Code, DIMENSION};
use super::shares::{BLOCK, CHUNK, CHUNK_BLOCKS, CHUNKS_IN_HAND, Corrections, Recipe, Source};
use super::{Claims, Committed, Lsb, Names, New, Pending, Proof, Shares};
use crate::spill::{Budget, Fault};
use brickwork_base::Error;
use brickwork_base::label::Label;
use brickwork_base::random::{Rng, SEED_BYTES, Seed};
use brickwork_stock::{Counter, Range, Ranges};
use brickwork_wire::Channel;

use combine::{Group, combine, combine_known};
pub use row::{Origin, Row};

/// The messages of this scheme.
pub mod msg {
    use brickwork_wire::Tag;

    /// Corrections of new commitments, sender to receiver.
    pub const CORRECTIONS: Tag = Tag(32);
    /// Seed of a proof's combinations, receiver to sender.
    pub const SEED: Tag = Tag(33);
    /// Combined shares and values, sender to receiver.
    pub const ANSWER: Tag = Tag(34);
}

/// The counter of blocks of 128 commitments: seeds that are used for several entries of a log draw those of each
/// from its own range.
pub const BLOCKS: Counter = Counter::new("blocks of commitments", 40);

/// The committing party: the garbler.
pub struct Sender {
    code: &'static Code,
    /// What the keys are made of, for a store.
    pairs: Vec<[Seed; 2]>,
    first: Arc<Source>,
    second: Arc<Vec<Aes128>>,
    blocks: Range,
    /// Memory for values.
    budget: Budget,
    fault: Arc<Fault>,
}

/// The party that holds the other to its word: the evaluator.
pub struct Receiver {
    code: &'static Code,
    /// What the keys are made of, for a store.
    chosen: Vec<Seed>,
    source: Arc<Source>,
    blocks: Range,
    names: Names,
    challenge: Rng,
    /// Memory for corrections.
    budget: Budget,
    fault: Arc<Fault>,
}

impl Sender {
    /// From the seeds that base OTs gave the sender, a pair for each coordinate of `code`. It holds at most
    /// `memory` bytes of values at a time; others are made again, and what gives those of its choice lies in
    /// temporary files.
    pub fn new(code: &'static Code, seeds: &[[Seed; 2]], memory: u64) -> Self {
        assert_eq!(seeds.len(), code.length(), "one pair of seeds for each coordinate");
        let side = |side: usize| seeds.iter().map(|pair| Aes128::new(pair[side].bits())).collect();
        let first = Arc::new(Source { seeds: side(0), watch: vec![0; seeds.len()] });
        Sender {
            code,
            pairs: seeds.to_vec(),
            first,
            second: Arc::new(side(1)),
            blocks: Ranges::of_setup().take(&BLOCKS).expect("nothing is taken"),
            budget: Budget::new(memory),
            fault: Arc::default(),
        }
    }

    /// What [`Sender::new`] was given.
    pub fn seeds(&self) -> &[[Seed; 2]] {
        &self.pairs
    }

    /// Goes on with this range of [`BLOCKS`]; the receiver does the same.
    pub fn enter(&mut self, blocks: Range) {
        self.blocks = blocks.of(&BLOCKS);
    }

    /// What is noted that could not be read before a proof.
    pub fn fault(&self) -> &Arc<Fault> {
        &self.fault
    }

    fn next_recipe(&mut self, count: usize, lsb: Lsb) -> Result<Recipe, Error> {
        let start = self.blocks.draw(count.div_ceil(BLOCK) as u64)?;
        Ok(Recipe { source: self.first.clone(), start, count, lsb, corrections: None })
    }

    fn commit_rows(
        &mut self,
        channel: &mut Channel,
        count: usize,
        lsb: Lsb,
        chosen: Option<&[Label]>,
    ) -> Result<Committed, Error> {
        let recipe = self.next_recipe(count, lsb)?;
        let (mut values, mut corrections) = (vec![Label::ZERO; count], Vec::new());
        for (m, values) in values.chunks_mut(CHUNK * CHUNKS_IN_HAND).enumerate() {
            let chosen = chosen.map(|chosen| &chosen[m * CHUNK * CHUNKS_IN_HAND..][..values.len()]);
            self.send_message(channel, &recipe, m, chosen, Some(values), &mut corrections)?;
        }
        Ok(Committed { values, shares: Shares::of_recipe(recipe) })
    }

    /// Sends message `m` of the corrections of a row, which stand in `corrections` then; `values` become
    /// those of the commitments: what the seeds give, or the target's.
    fn send_message(
        &self,
        channel: &mut Channel,
        recipe: &Recipe,
        m: usize,
        target: Option<&[Label]>,
        values: Option<&mut [Label]>,
        corrections: &mut Vec<u128>,
    ) -> Result<(), Error> {
        let corrected = self.code.parity_bits() + if target.is_some() { DIMENSION } else { 0 };
        let first = m * CHUNKS_IN_HAND;
        let count = (recipe.count - first * CHUNK).min(CHUNK * CHUNKS_IN_HAND);
        corrections.resize(corrected * count.div_ceil(BLOCK), 0);
        let mut values: Vec<Option<&mut [Label]>> = match values {
            Some(values) => values.chunks_mut(CHUNK).map(Some).collect(),
            None => (0..count.div_ceil(CHUNK)).map(|_| None).collect(),
        };
        corrections
            .par_chunks_mut(corrected * CHUNK_BLOCKS)
            .zip(values.par_iter_mut())
            .enumerate()
            .for_each_init(<[Vec<u128>; 2]>::default, |rows, (c, (corrections, values))| {
                let target = target.map(|target| &target[c * CHUNK..target.len().min((c + 1) * CHUNK)]);
                self.commit_chunk(recipe, first + c, target, rows, values.as_deref_mut(), corrections);
                rows.iter_mut().for_each(|r| r.zeroize());
            });
        channel.send(msg::CORRECTIONS, bytemuck::cast_slice(corrections))
    }

    /// Values and corrections of a chunk.
    fn commit_chunk(
        &self,
        recipe: &Recipe,
        chunk: usize,
        target: Option<&[Label]>,
        [first, second]: &mut [Vec<u128>; 2],
        values: Option<&mut [Label]>,
        corrections: &mut [u128],
    ) {
        let blocks = recipe.blocks(chunk);
        recipe.rows(chunk, first);
        second.resize(first.len(), 0);
        kernels::ctr_rows(
            &self.second,
            u128::from(recipe.start) + (chunk * CHUNK_BLOCKS) as u128,
            second,
            blocks,
        );
        match recipe.lsb {
            Lsb::Random => {}
            Lsb::Zero => second[..blocks].fill(0),
            Lsb::One => second[..blocks].fill(u128::MAX),
        }
        // `second` becomes the sum of the shares, then what is missing to the codeword.
        second.iter_mut().zip(&*first).for_each(|(b, a)| *b ^= a);
        let (message, tail) = second.split_at_mut(DIMENSION * blocks);
        let fix = match target {
            None => corrections,
            Some(target) => {
                let (fix_message, fix_parity) = corrections.split_at_mut(DIMENSION * blocks);
                let target = Zeroizing::new(values_to_rows(target, blocks));
                for ((fix, have), &want) in fix_message.iter_mut().zip(message.iter_mut()).zip(&*target) {
                    *fix = *have ^ want;
                    *have = want;
                }
                fix_parity
            }
        };
        self.code.encode_rows(message, fix, blocks);
        fix.iter_mut().zip(&*tail).for_each(|(f, t)| *f ^= t);
        if let Some(values) = values {
            rows_to_values(message, values, blocks);
        }
    }
}

impl super::Sender for Sender {
    fn commit_random(&mut self, channel: &mut Channel, count: usize, lsb: Lsb) -> Result<Committed, Error> {
        self.commit_rows(channel, count, lsb, None)
    }

    fn commit(&mut self, channel: &mut Channel, values: &[Label]) -> Result<Committed, Error> {
        self.commit_rows(channel, values.len(), Lsb::Random, Some(values))
    }

    fn prove(&mut self, channel: &mut Channel, new: &[New], claims: &Claims) -> Result<(), Error> {
        let mut masks = Vec::new();
        for (wanted, lsb) in [(!new.is_empty(), Lsb::Random), (!claims.bits.is_empty(), Lsb::Zero)] {
            masks.push(if wanted { Some(self.commit_random(channel, BLOCK, lsb)?) } else { None });
        }
        let seed = u128::from_le_bytes(channel.receive(msg::SEED, SEED_BYTES)?.try_into().expect("16 bytes"));
        let consistency: Vec<Group> =
            new.iter().map(|new| Group::New(new.shares, Some(new.values))).collect();
        let bits: Vec<Group> =
            claims.bits.iter().map(|(count, claim)| Group::Claims(*count, claim)).collect();
        let n = self.code.length();
        let mut answer: Vec<u128> = Vec::new();
        for (part, (groups, mask)) in [(&consistency, &masks[0]), (&bits, &masks[1])].into_iter().enumerate()
        {
            if let Some(mask) = mask {
                let mut sums = combine(seed, part, n, true, groups);
                sums.add_mask(&mask.shares, Some(&mask.values));
                answer.extend_from_slice(&sums.values);
                answer.extend_from_slice(&sums.shares);
            }
        }
        if !claims.known.is_empty() {
            answer.extend_from_slice(&combine_known(seed, n, false, claims).shares);
        }
        self.fault.check()?;
        channel.send(msg::ANSWER, bytemuck::cast_slice(&answer))?;
        channel.flush()
    }
}

impl Receiver {
    /// From the seeds that base OTs gave the receiver and its choices among each pair, its watch bits (0 or
    /// 1). It keeps at most `memory` bytes of corrections at a time, and others in temporary files.
    ///
    /// # Errors
    /// [`Error::Resource`] if the operating system has no randomness for the challenges.
    pub fn new(code: &'static Code, seeds: &[Seed], watch_bits: &[u8], memory: u64) -> Result<Self, Error> {
        assert_eq!(
            (seeds.len(), watch_bits.len()),
            (code.length(), code.length()),
            "one seed and one bit for each coordinate"
        );
        Ok(Receiver {
            code,
            chosen: seeds.to_vec(),
            source: Arc::new(Source {
                seeds: seeds.iter().map(|seed| Aes128::new(seed.bits())).collect(),
                watch: watch_bits.iter().map(|&bit| u128::from(bit & 1).wrapping_neg()).collect(),
            }),
            blocks: Ranges::of_setup().take(&BLOCKS).expect("nothing is taken"),
            names: Names::default(),
            challenge: Rng::new("brickwork commitment challenge")?,
            budget: Budget::new(memory),
            fault: Arc::default(),
        })
    }

    /// Keeps at most so many bytes of corrections in memory from now on.
    #[cfg(test)]
    pub fn keep_in_memory(&mut self, bytes: u64) {
        self.budget = Budget::new(bytes);
    }

    /// Where to note what could not be read while claims are combined: then nobody is accused.
    pub fn fault(&self) -> &Arc<Fault> {
        &self.fault
    }

    /// What [`Receiver::new`] was given: the seeds, and the watch bits.
    pub fn seeds(&self) -> (&[Seed], Zeroizing<Vec<u8>>) {
        (&self.chosen, Zeroizing::new(self.source.watch.iter().map(|&mask| mask as u8 & 1).collect()))
    }

    /// Goes on with this range of [`BLOCKS`]; the sender does the same.
    pub fn enter(&mut self, blocks: Range) {
        self.blocks = blocks.of(&BLOCKS);
    }

    /// No commitments, where a step may need some.
    pub fn no_commitments(&mut self) -> Pending {
        self.names.pending(Shares::default())
    }

    fn receive_rows(
        &mut self,
        channel: &mut Channel,
        count: usize,
        lsb: Lsb,
        chosen: bool,
    ) -> Result<Pending, Error> {
        let corrected = self.code.length() - if chosen { 0 } else { DIMENSION };
        let start = self.blocks.draw(count.div_ceil(BLOCK) as u64)?;
        let receive = |message: &mut [u8]| channel.receive_into(msg::CORRECTIONS, message);
        let corrections =
            Corrections::receive(corrected, count.div_ceil(BLOCK), &self.budget, &self.fault, receive)?;
        let recipe =
            Recipe { source: self.source.clone(), start, count, lsb, corrections: Some(corrections) };
        Ok(self.names.pending(Shares::of_recipe(recipe)))
    }

    /// Whether the sender's combined shares and the values' codeword agree with the shares that were watched.
    fn agrees(&self, mine: &[u128], theirs: &[u128], values: &[u128]) -> Choice {
        let mut codeword = values.to_vec();
        codeword.resize(self.code.length(), 0);
        let (message, parity) = codeword.split_at_mut(DIMENSION);
        self.code.encode_rows(message, parity, 1);
        let difference = mine.iter().zip(theirs).zip(&codeword).zip(&self.source.watch);
        difference.fold(0u128, |bad, (((m, t), c), w)| bad | (m ^ t ^ (c & w))).ct_eq(&0)
    }
}

impl super::Receiver for Receiver {
    fn receive_random(&mut self, channel: &mut Channel, count: usize, lsb: Lsb) -> Result<Pending, Error> {
        self.receive_rows(channel, count, lsb, false)
    }

    fn receive(&mut self, channel: &mut Channel, count: usize) -> Result<Pending, Error> {
        self.receive_rows(channel, count, Lsb::Random, true)
    }

    fn verify(&mut self, channel: &mut Channel, new: &[&Pending], claims: &Claims) -> Result<Proof, Error> {
        let mut masks = Vec::new();
        for (wanted, lsb) in [(!new.is_empty(), Lsb::Random), (!claims.bits.is_empty(), Lsb::Zero)] {
            masks.push(if wanted { Some(self.receive_random(channel, BLOCK, lsb)?) } else { None });
        }
        let seed = self.challenge.seed();
        channel.send(msg::SEED, seed.as_bytes())?;
        let seed = u128::from_le_bytes(*seed.as_bytes());
        let n = self.code.length();
        let hidden = masks.iter().flatten().count();
        let known = usize::from(!claims.known.is_empty());
        // Combining does not wait for the answer.
        let consistency: Vec<Group> = new.iter().map(|p| Group::New(&p.shares, None)).collect();
        let bits: Vec<Group> =
            claims.bits.iter().map(|(count, claim)| Group::Claims(*count, claim)).collect();
        channel.flush()?;
        let mut parts = Vec::new();
        for (part, (groups, mask)) in [(&consistency, &masks[0]), (&bits, &masks[1])].into_iter().enumerate()
        {
            if let Some(mask) = mask {
                let mut sums = combine(seed, part, n, part == 1, groups);
                sums.add_mask(&mask.shares, None);
                parts.push((part, sums));
            }
        }
        if known == 1 {
            parts.push((2, combine_known(seed, n, true, claims)));
        }
        let mut answer = vec![0u128; hidden * (DIMENSION + n) + known * n];
        channel.receive_into(msg::ANSWER, bytemuck::cast_slice_mut(&mut answer))?;
        let mut rest = &answer[..];
        let mut cheat = None;
        for (part, sums) in parts {
            let values = if part == 2 { &sums.values[..] } else { split(&mut rest, DIMENSION) };
            let shares = split(&mut rest, n);
            // The mask's lowest bits are 0, so those of the combined values follow from the claimed bits
            // alone.
            let bits_agree = if part == 1 { values[0].ct_eq(&sums.values[0]) } else { Choice::from(1) };
            if !bool::from(bits_agree & self.agrees(&sums.shares, shares, values)) {
                // A lie about a value is often one about a bit, too: the value says more.
                cheat = match part {
                    0 => Some(Cheat::Commitment),
                    1 => cheat.or(Some(Cheat::Indicator)),
                    _ => cheat.filter(|c| *c == Cheat::Commitment).or(Some(Cheat::Opening)),
                };
            }
        }
        // Before anybody is accused.
        self.fault.check()?;
        if let Some(cheat) = cheat {
            return Err(cheat.into());
        }
        Ok(self.names.proof(new, claims))
    }

    fn names(&mut self) -> &mut Names {
        &mut self.names
    }
}

fn split<'a>(rest: &mut &'a [u128], at: usize) -> &'a [u128] {
    let (head, tail) = rest.split_at(at);
    *rest = tail;
    head
}

/// Bits of up to `blocks * 128` values as 128 rows of `blocks` blocks.
fn values_to_rows(values: &[Label], blocks: usize) -> Vec<u128> {
    let mut rows = vec![0u128; DIMENSION * blocks];
    let mut block = vec![Label::ZERO; BLOCK];
    let mut block_rows = [0u128; DIMENSION];
    for (b, values) in values.chunks(BLOCK).enumerate() {
        block.fill(Label::ZERO);
        block[..values.len()].copy_from_slice(values);
        kernels::transpose_back(bytemuck::cast_slice(&block), DIMENSION / 64, &mut block_rows);
        for (r, &row) in block_rows.iter().enumerate() {
            rows[r * blocks + b] = row;
        }
    }
    block.zeroize();
    block_rows.zeroize();
    rows
}

fn rows_to_values(rows: &[u128], values: &mut [Label], blocks: usize) {
    let mut all = vec![0u64; 2 * BLOCK * blocks];
    kernels::transpose(rows, blocks, &mut all);
    let labels: &[u64] = &all[..2 * values.len()];
    values
        .iter_mut()
        .zip(labels.chunks(2))
        .for_each(|(v, w)| *v = Label::from_bits(u128::from(w[0]) | u128::from(w[1]) << 64));
    all.zeroize();
}

mod again;
mod combine;
mod row;
#[cfg(test)]
mod tests;
