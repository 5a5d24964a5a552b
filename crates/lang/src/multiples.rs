//! Multiplication by a constant as a chain of shifts, additions and subtractions.

use std::collections::HashMap;
use std::rc::Rc;

/// A chain that computes a multiple of x.
#[derive(Debug)]
pub struct MultiplesChain {
    /// The factor.
    pub factor: u128,
    /// The approximate number of ANDs, apart from those that grow with the width of x.
    bits: u32,
    /// The number of additions and subtractions.
    steps: u32,
    pub make: Make,
}

/// The last step of a chain, where p is the multiple before it.
#[derive(Debug)]
pub enum Make {
    /// x
    One,
    /// 2^k p
    Shift(Rc<MultiplesChain>, u32),
    /// p + x
    PlusOne(Rc<MultiplesChain>),
    /// p - x
    MinusOne(Rc<MultiplesChain>),
    /// 2^k p + p
    TimesPlus(Rc<MultiplesChain>, u32),
    /// 2^k p - p
    TimesMinus(Rc<MultiplesChain>, u32),
}

/// Returns the bits of a factor.
pub fn length(m: u128) -> u32 {
    128 - m.leading_zeros()
}

/// Finds chains, and remembers them.
#[derive(Default)]
pub struct Chains {
    known: HashMap<u128, Rc<MultiplesChain>>,
    /// The number of factors that may still be tried for the current chain.
    budget: u32,
}

/// The largest number of factors that are tried for one chain. Almost every number has a factor of the form
/// 2^k + 1 or 2^k - 1, and each quotient must be searched in turn, so an unlimited search would take too
/// long.
const FACTORS: u32 = 200;

impl Chains {
    /// Returns a short chain for the positive factor `m`.
    pub fn chain(&mut self, m: u128) -> Rc<MultiplesChain> {
        if self.known.len() > 100_000 {
            self.known.clear();
        }
        self.budget = FACTORS;
        self.search(m)
    }

    fn search(&mut self, m: u128) -> Rc<MultiplesChain> {
        if let Some(chain) = self.known.get(&m) {
            return Rc::clone(chain);
        }
        let chain = Rc::new(self.best(m));
        self.known.insert(m, Rc::clone(&chain));
        chain
    }

    fn best(&mut self, m: u128) -> MultiplesChain {
        if m <= 1 {
            return MultiplesChain { factor: m, bits: 0, steps: 0, make: Make::One };
        }
        let zeros = m.trailing_zeros();
        if zeros > 0 {
            let p = self.search(m >> zeros);
            return MultiplesChain { factor: m, bits: p.bits, steps: p.steps, make: Make::Shift(p, zeros) };
        }
        let mut best: Option<MultiplesChain> = None;
        let mut offer =
            |p: Rc<MultiplesChain>, free: u32, shift: u32, make: fn(Rc<MultiplesChain>, u32) -> Make| {
                // The lowest bits of an addition of a shifted value cost nothing. Those of a subtraction do.
                let chain = MultiplesChain {
                    factor: m,
                    bits: p.bits + length(m) - free,
                    steps: p.steps + 1,
                    make: make(p, shift),
                };
                if best.as_ref().is_none_or(|b| chain.cost(32) < b.cost(32)) {
                    best = Some(chain);
                }
            };
        // Exact factors 2^k + 1 and 2^k - 1 are tried with large k first, because these halve the work.
        for k in (1..length(m)).rev() {
            for (factor, make) in
                [((1u128 << k) + 1, Make::TimesPlus as fn(_, _) -> _), ((1u128 << k) - 1, Make::TimesMinus)]
            {
                if factor > 1 && m.is_multiple_of(factor) && self.budget > 0 {
                    self.budget -= 1;
                    let free = if factor > 1 << k { k } else { 0 };
                    offer(self.search(m / factor), free, k, make);
                }
            }
        }
        // The numbers m - 1 and m + 1 end in at least one zero.
        offer(self.search(m - 1), 1, 0, |p, _| Make::PlusOne(p));
        if m < 1 << 126 && m > 3 {
            offer(self.search(m + 1), 0, 0, |p, _| Make::MinusOne(p));
        }
        // This default is never used, because `offer` was called.
        best.unwrap_or(MultiplesChain { factor: m, bits: 0, steps: 0, make: Make::One })
    }
}

impl MultiplesChain {
    /// Returns the approximate number of ANDs for an x of `width` bits.
    pub fn cost(&self, width: u32) -> u32 {
        self.bits + self.steps * width
    }
}
