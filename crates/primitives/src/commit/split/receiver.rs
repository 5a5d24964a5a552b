//! The receiver of commitments: the party that verifies openings.

use std::sync::Arc;

use brickwork_kernels::Aes128;
use serde::{Deserialize, Serialize};
use subtle::{Choice, ConstantTimeEq};
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

use super::source::{Corrections, Recipe, ShareSource};
use super::{BLOCKS, code, malformed, msg, of_setup};
use crate::commit::claims::Claims;
use crate::commit::code::BinaryCode;
use crate::commit::combine::{Group, combine, combine_known};
use crate::commit::proof::{Claimed, Names, Pending, Proof};
use crate::commit::rows::{BLOCK, DIMENSION};
use crate::commit::scheme;
use crate::commit::shares::Shares;
use crate::commit::{Cheat, Lsb};
use crate::ot::CotReceiver;
use crate::spill::{Fault, MemoryBudget};
use brickwork_base::Error;
use brickwork_base::random::{Rng, SEED_BYTES, Seed};
use brickwork_store::{Range, Ranges};
use brickwork_wire::Channel;

/// The receiver of commitments.
pub struct Receiver {
    code: &'static BinaryCode,
    /// The received seeds, which a store needs.
    chosen: Vec<Seed>,
    source: Arc<ShareSource>,
    blocks: Range,
    names: Names,
    challenge: Rng,
    budget: MemoryBudget,
    fault: Arc<Fault>,
}

/// The state that a stock keeps of a [`Receiver`].
#[derive(Clone, Serialize, Deserialize, Zeroize, ZeroizeOnDrop)]
pub struct ReceiverState {
    seeds: Vec<[u8; SEED_BYTES]>,
    watch_bits: Vec<u8>,
}

impl Receiver {
    #[cfg(test)]
    pub(super) fn set_blocks(&mut self, blocks: Range) {
        self.blocks = blocks.of(&BLOCKS);
    }

    /// Makes a receiver from its seeds, one for each coordinate of `code`, and its watch bits (0 or 1): its
    /// choice in each pair.
    ///
    /// # Errors
    /// [`Error::Resource`] if the operating system has no randomness for the challenges.
    ///
    /// # Panics
    /// If the number of seeds or bits is not the length of the code.
    pub fn new(
        code: &'static BinaryCode,
        seeds: &[Seed],
        watch_bits: &[u8],
        memory: u64,
    ) -> Result<Self, Error> {
        assert_eq!(
            (seeds.len(), watch_bits.len()),
            (code.length(), code.length()),
            "each coordinate must have one seed and one bit"
        );
        Ok(Receiver {
            code,
            chosen: seeds.to_vec(),
            source: Arc::new(ShareSource {
                seeds: seeds.iter().map(|seed| Aes128::new(seed.bits())).collect(),
                watch: watch_bits.iter().map(|&bit| u128::from(bit & 1).wrapping_neg()).collect(),
            }),
            blocks: of_setup(),
            names: Names::default(),
            challenge: Rng::new("brickwork commitment challenge")?,
            budget: MemoryBudget::new(memory),
            fault: Arc::default(),
        })
    }

    #[cfg(test)]
    pub(super) fn budget(&self) -> &MemoryBudget {
        &self.budget
    }

    /// Limits the bytes of corrections that are kept in memory from now on.
    #[cfg(test)]
    pub(super) fn keep_in_memory(&mut self, bytes: u64) {
        self.budget = MemoryBudget::new(bytes);
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
        Ok(self.names.pending(Shares::of_recipe(Arc::new(recipe))))
    }

    /// Returns whether the sender's combined shares, and the codeword of its combined values, agree with the
    /// watched shares.
    fn agrees(&self, mine: &[u128], theirs: &[u128], values: &[u128]) -> Choice {
        let mut codeword = values.to_vec();
        codeword.resize(self.code.length(), 0);
        let (message, parity) = codeword.split_at_mut(DIMENSION);
        self.code.encode_rows(message, parity, 1);
        let difference = mine.iter().zip(theirs).zip(&codeword).zip(&self.source.watch);
        difference.fold(0u128, |bad, (((m, t), c), w)| bad | (m ^ t ^ (c & w))).ct_eq(&0)
    }
}

impl scheme::Receiver for Receiver {
    type State = ReceiverState;

    fn set_up(
        channel: &mut Channel,
        cot: &mut impl CotReceiver,
        rng: &mut Rng,
        security: u32,
        memory: u64,
    ) -> Result<Self, Error> {
        let code = code(security)?;
        let (watch_bits, watched) = cot.random(channel, rng, code.length())?;
        Receiver::new(code, &cot.keys(&Zeroizing::new(watched))?, &watch_bits, memory)
    }

    fn restored(state: &ReceiverState, security: u32, memory: u64) -> Result<Self, Error> {
        let code = code(security)?;
        if [state.seeds.len(), state.watch_bits.len()] != [code.length(); 2] {
            return Err(malformed());
        }
        let seeds: Vec<Seed> = state.seeds.iter().map(|&bytes| Seed::from_bytes(bytes)).collect();
        let new = Receiver::new(code, &seeds, &state.watch_bits, memory)?;
        Ok(Receiver { blocks: BLOCKS.none(), ..new })
    }

    fn state(&self) -> ReceiverState {
        ReceiverState {
            seeds: self.chosen.iter().map(|seed| *seed.as_bytes()).collect(),
            watch_bits: self.source.watch.iter().map(|&mask| mask as u8 & 1).collect(),
        }
    }

    fn enter(&mut self, ranges: &mut Ranges) -> Result<(), Error> {
        self.blocks = ranges.take(&BLOCKS)?;
        Ok(())
    }

    fn fault(&self) -> &Arc<Fault> {
        &self.fault
    }

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
        // The receiver computes the combinations before it waits for the answer.
        let consistency: Vec<Group> = new.iter().map(|pending| Group::New(pending.shares(), None)).collect();
        let bits: Vec<Group> =
            claims.bits.iter().map(|(count, claim)| Group::Claims(*count, claim)).collect();
        channel.flush()?;
        let mut parts = Vec::new();
        for (part, (groups, mask)) in [(&consistency, &masks[0]), (&bits, &masks[1])].into_iter().enumerate()
        {
            if let Some(mask) = mask {
                let mut sums = combine(seed, part, n, part == 1, groups);
                sums.add_mask(mask.shares(), None);
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
            // The lowest bits of the masks are 0, so the claimed bits determine the lowest bits of the
            // combined values.
            let bits_agree = if part == 1 { values[0].ct_eq(&sums.values[0]) } else { Choice::from(1) };
            if !bool::from(bits_agree & self.agrees(&sums.shares, shares, values)) {
                // One lie often makes a value and a bit wrong. The report then names the value, which tells
                // more.
                cheat = match part {
                    0 => Some(Cheat::Commitment),
                    1 => cheat.or(Some(Cheat::Indicator)),
                    _ => cheat.filter(|c| *c == Cheat::Commitment).or(Some(Cheat::Opening)),
                };
            }
        }
        // A read error takes precedence over an accusation.
        self.fault.check()?;
        if let Some(cheat) = cheat {
            return Err(cheat.into());
        }
        Ok(self.names.proof(new, claims.names()))
    }

    fn no_commitments(&mut self) -> Pending {
        self.names.pending(Shares::default())
    }

    fn claimed<T>(&mut self, received: T) -> Claimed<T> {
        self.names.claimed(received)
    }
}

fn split<'a>(rest: &mut &'a [u128], at: usize) -> &'a [u128] {
    let (head, tail) = rest.split_at(at);
    *rest = tail;
    head
}
