//! The sender of commitments: the party that commits.

use std::sync::Arc;

use brickwork_kernels as kernels;
use kernels::Aes128;
use serde::{Deserialize, Serialize};
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

use super::again::Streams;
use super::origin::RowOrigin;
use super::source::{Recipe, ShareSource};
use super::{BLOCKS, code, malformed, msg, of_setup};
use crate::Labels;
use crate::commit::Lsb;
use crate::commit::claims::Claims;
use crate::commit::code::BinaryCode;
use crate::commit::combine::{Group, combine, combine_known};
use crate::commit::row::{CommitmentRow, Committed, New};
use crate::commit::rows::{
    BLOCK, CHUNK, CHUNK_BLOCKS, CHUNKS_IN_HAND, DIMENSION, RowShares, rows_to_values, values_to_rows,
};
use crate::commit::scheme;
use crate::commit::shares::Shares;
use crate::ot::CotSender;
use crate::spill::{Fault, HeldBudget, MemoryBudget, SpillFile};
use brickwork_base::Error;
use brickwork_base::label::Label;
use brickwork_base::pool;
use brickwork_base::random::{SEED_BYTES, Seed};
use brickwork_store::{Range, Ranges};
use brickwork_wire::Channel;

/// The sender of commitments.
pub struct Sender {
    code: &'static BinaryCode,
    /// Both seeds of each pair, which a store needs.
    pairs: Vec<[Seed; 2]>,
    first: Arc<ShareSource>,
    second: Arc<Vec<Aes128>>,
    blocks: Range,
    budget: MemoryBudget,
    fault: Arc<Fault>,
}

/// The state that a stock keeps of a [`Sender`].
#[derive(Clone, Serialize, Deserialize, Zeroize, ZeroizeOnDrop)]
pub struct SenderState {
    pairs: Vec<[[u8; SEED_BYTES]; 2]>,
}

/// A row of commitments that is still being filled.
pub struct Committing {
    recipe: Recipe,
    /// Values that do not fill a message yet, and wait for more.
    waiting: Labels,
    corrections: Vec<u128>,
    sent: usize,
    storage: Storage,
}

enum Storage {
    Memory(Labels, Option<HeldBudget>),
    File(SpillFile),
}

/// The number of commitments whose corrections are sent in one message.
const MESSAGE: usize = CHUNK * CHUNKS_IN_HAND;

impl Sender {
    #[cfg(test)]
    pub(super) fn set_blocks(&mut self, blocks: Range) {
        self.blocks = blocks.of(&BLOCKS);
    }

    /// Makes a sender from pairs of seeds, one pair for each coordinate of `code`. The receiver knows one
    /// seed of each pair.
    ///
    /// # Panics
    /// If the number of pairs is not the length of the code.
    pub fn new(code: &'static BinaryCode, seeds: &[[Seed; 2]], memory: u64) -> Self {
        assert_eq!(seeds.len(), code.length(), "each coordinate must have one pair of seeds");
        let side = |side: usize| seeds.iter().map(|pair| Aes128::new(pair[side].bits())).collect();
        let first = Arc::new(ShareSource { seeds: side(0), watch: vec![0; seeds.len()] });
        Sender {
            code,
            pairs: seeds.to_vec(),
            first,
            second: Arc::new(side(1)),
            blocks: of_setup(),
            budget: MemoryBudget::new(memory),
            fault: Arc::default(),
        }
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
        Ok(Committed { values, shares: Shares::of_recipe(Arc::new(recipe)) })
    }

    /// Computes and sends message `m` of a row's corrections, and keeps the corrections in `corrections`. If
    /// there is a `target`, it has the values to commit to. Writes the committed values into `values`.
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
        let values: Vec<Option<&mut [Label]>> = match values {
            Some(values) => values.chunks_mut(CHUNK).map(Some).collect(),
            None => (0..count.div_ceil(CHUNK)).map(|_| None).collect(),
        };
        let chunks = corrections.chunks_mut(corrected * CHUNK_BLOCKS).zip(values).collect();
        pool::map(chunks, <[Vec<u128>; 2]>::default, |rows, c, (corrections, values)| {
            let target = target.map(|target| &target[c * CHUNK..target.len().min((c + 1) * CHUNK)]);
            self.commit_chunk(recipe, first + c, target, rows, values, corrections);
            rows.iter_mut().for_each(|r| r.zeroize());
        });
        channel.send(msg::CORRECTIONS, bytemuck::cast_slice(corrections))
    }

    /// Computes the values and corrections of a chunk.
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
        // `second` becomes the sum of both shares. Its message part becomes the value, and the corrections
        // are the differences between the sum and the codeword.
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

    fn send_waiting(&self, channel: &mut Channel, row: &mut Committing) -> Result<(), Error> {
        let Committing { recipe, waiting, corrections, sent, storage } = row;
        let message = *sent / MESSAGE;
        self.send_message(channel, recipe, message, Some(waiting), None, corrections)?;
        match storage {
            Storage::Memory(values, _) => values.extend_from_slice(waiting),
            Storage::File(file) => {
                let first = message * CHUNKS_IN_HAND;
                for (c, corrections) in corrections.chunks(self.code.length() * CHUNK_BLOCKS).enumerate() {
                    let message = &corrections[..DIMENSION * recipe.blocks(first + c)];
                    file.write(bytemuck::cast_slice(message), RowOrigin::offset(first + c))?;
                }
            }
        }
        *sent += waiting.len();
        waiting.zeroize();
        Ok(())
    }

    fn made(&self, recipe: Recipe, corrections: Option<SpillFile>) -> CommitmentRow {
        let recipe = Arc::new(recipe);
        let shares = Shares::of_recipe(recipe.clone());
        let origin =
            RowOrigin { recipe, second: self.second.clone(), corrections, fault: self.fault.clone() };
        CommitmentRow::made_again(Arc::new(origin), shares)
    }

    fn streams(&self) -> Streams<'_> {
        Streams { first: &self.first, second: &self.second }
    }
}

impl scheme::Sender for Sender {
    type State = SenderState;
    type Committing = Committing;

    fn set_up(
        channel: &mut Channel,
        cot: &mut impl CotSender,
        security: u32,
        memory: u64,
    ) -> Result<Self, Error> {
        let code = code(security)?;
        let watched = Zeroizing::new(cot.extend(channel, code.length())?);
        Ok(Sender::new(code, &cot.keys(&watched)?, memory))
    }

    fn restored(state: &SenderState, security: u32, memory: u64) -> Result<Self, Error> {
        let code = code(security)?;
        if state.pairs.len() != code.length() {
            return Err(malformed());
        }
        let pairs: Vec<[Seed; 2]> = state.pairs.iter().map(|pair| pair.map(Seed::from_bytes)).collect();
        // The session used these seeds before, so the sender can draw nothing until it enters a range.
        Ok(Sender { blocks: BLOCKS.none(), ..Sender::new(code, &pairs, memory) })
    }

    fn state(&self) -> SenderState {
        let pair = |pair: &[Seed; 2]| pair.each_ref().map(|seed| *seed.as_bytes());
        SenderState { pairs: self.pairs.iter().map(pair).collect() }
    }

    fn enter(&mut self, ranges: &mut Ranges) -> Result<(), Error> {
        self.blocks = ranges.take(&BLOCKS)?;
        Ok(())
    }

    fn next_row(&self) -> u64 {
        self.blocks.next()
    }

    fn fault(&self) -> &Arc<Fault> {
        &self.fault
    }

    fn commit_random(&mut self, channel: &mut Channel, count: usize, lsb: Lsb) -> Result<Committed, Error> {
        self.commit_rows(channel, count, lsb, None)
    }

    fn commit(&mut self, channel: &mut Channel, values: &[Label]) -> Result<Committed, Error> {
        self.commit_rows(channel, values.len(), Lsb::Random, Some(values))
    }

    fn row(&mut self, channel: &mut Channel, count: usize, lsb: Lsb) -> Result<CommitmentRow, Error> {
        let held = self.budget.take((16 * count) as u64);
        if count <= CHUNK || held.is_some() {
            return Ok(CommitmentRow::held_in(held, self.commit_rows(channel, count, lsb, None)?));
        }
        let recipe = self.next_recipe(count, lsb)?;
        let mut corrections = Vec::new();
        for m in 0..count.div_ceil(MESSAGE) {
            self.send_message(channel, &recipe, m, None, None, &mut corrections)?;
        }
        Ok(self.made(recipe, None))
    }

    fn begin_row(&mut self, count: usize) -> Result<Committing, Error> {
        let held = self.budget.take((16 * count) as u64);
        let storage = match count <= CHUNK || held.is_some() {
            true => Storage::Memory(Labels::new(Vec::with_capacity(count)), held),
            false => Storage::File(SpillFile::new()?),
        };
        let waiting = Labels::new(Vec::with_capacity(count.min(MESSAGE)));
        Ok(Committing {
            recipe: self.next_recipe(count, Lsb::Random)?,
            waiting,
            corrections: Vec::new(),
            sent: 0,
            storage,
        })
    }

    fn push(
        &mut self,
        channel: &mut Channel,
        row: &mut Committing,
        mut values: &[Label],
    ) -> Result<(), Error> {
        while !values.is_empty() {
            let (here, behind) = values.split_at(values.len().min(MESSAGE - row.waiting.len()));
            row.waiting.extend_from_slice(here);
            values = behind;
            if row.waiting.len() == MESSAGE || row.sent + row.waiting.len() == row.recipe.count {
                self.send_waiting(channel, row)?;
            }
        }
        Ok(())
    }

    fn finish(&self, row: Committing) -> CommitmentRow {
        let Committing { recipe, sent, storage, .. } = row;
        assert_eq!(sent, recipe.count, "each commitment must have a value");
        match storage {
            Storage::Memory(mut values, held) => {
                let (values, shares) = (std::mem::take(&mut *values), Shares::of_recipe(Arc::new(recipe)));
                CommitmentRow::held_in(held, Committed { values, shares })
            }
            Storage::File(file) => self.made(recipe, Some(file)),
        }
    }

    fn again(&self, row: u64, lsb: Lsb, numbers: &[u64]) -> Committed {
        let (values, shares) = self.streams().made_again(row, lsb, numbers, true);
        Committed { values: values.to_vec(), shares }
    }

    fn shares_again(&self, row: u64, numbers: &[u64]) -> Shares {
        self.streams().made_again(row, Lsb::Random, numbers, false).1
    }

    fn prove(&mut self, channel: &mut Channel, new: &[New], claims: &Claims) -> Result<(), Error> {
        let mut masks = Vec::new();
        for (wanted, lsb) in [(!new.is_empty(), Lsb::Random), (!claims.bits.is_empty(), Lsb::Zero)] {
            masks.push(if wanted { Some(self.commit_random(channel, BLOCK, lsb)?) } else { None });
        }
        let seed = u128::from_le_bytes(channel.receive(msg::SEED, SEED_BYTES)?.try_into().expect("16 bytes"));
        let consistency: Vec<Group> = new.iter().map(Group::new).collect();
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
