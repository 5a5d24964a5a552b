//! How to multiply by a constant: a chain of shifts, additions and subtractions.

use std::collections::HashMap;
use std::rc::Rc;

/// How to make a multiple of x.
#[derive(Debug)]
pub struct Chain {
    /// The multiple.
    pub factor: u128,
    /// Approximate number of ANDs besides those that grow with the width of x: the sum of the steps' widths.
    bits: u32,
    /// Additions and subtractions.
    steps: u32,
    pub make: Make,
}

/// The last step to a multiple.
#[derive(Debug)]
pub enum Make {
    /// x
    One,
    /// 2^k p
    Shift(Rc<Chain>, u32),
    /// p + x
    PlusOne(Rc<Chain>),
    /// p - x
    MinusOne(Rc<Chain>),
    /// 2^k p + p
    TimesPlus(Rc<Chain>, u32),
    /// 2^k p - p
    TimesMinus(Rc<Chain>, u32),
}

/// Returns the bits of a factor.
pub fn length(m: u128) -> u32 {
    128 - m.leading_zeros()
}

/// Finds and remembers chains.
#[derive(Default)]
pub struct Chains {
    known: HashMap<u128, Rc<Chain>>,
    /// Factors that may still be tried for the chain that is being made.
    budget: u32,
}

/// About every number has a factor of the form 2^k + 1 or 2^k - 1, and each quotient is a new number to look
/// at: without a limit the search would not end in time.
const FACTORS: u32 = 200;

impl Chains {
    /// Returns a short chain for the factor `m`, which is positive.
    pub fn chain(&mut self, m: u128) -> Rc<Chain> {
        if self.known.len() > 100_000 {
            self.known.clear();
        }
        self.budget = FACTORS;
        self.search(m)
    }

    fn search(&mut self, m: u128) -> Rc<Chain> {
        if let Some(chain) = self.known.get(&m) {
            return Rc::clone(chain);
        }
        let chain = Rc::new(self.best(m));
        self.known.insert(m, Rc::clone(&chain));
        chain
    }

    fn best(&mut self, m: u128) -> Chain {
        if m <= 1 {
            return Chain { factor: m, bits: 0, steps: 0, make: Make::One };
        }
        let zeros = m.trailing_zeros();
        if zeros > 0 {
            let p = self.search(m >> zeros);
            return Chain { factor: m, bits: p.bits, steps: p.steps, make: Make::Shift(p, zeros) };
        }
        let mut best: Option<Chain> = None;
        let mut offer = |p: Rc<Chain>, free: u32, shift: u32, make: fn(Rc<Chain>, u32) -> Make| {
            // The lowest bits of an addition of a shifted value are free; those of a subtraction are not.
            let chain = Chain {
                factor: m,
                bits: p.bits + length(m) - free,
                steps: p.steps + 1,
                make: make(p, shift),
            };
            if best.as_ref().is_none_or(|b| chain.cost(32) < b.cost(32)) {
                best = Some(chain);
            }
        };
        // Exact factors 2^k + 1 and 2^k - 1, the long ones first: they halve the work.
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
        // m - 1 and m + 1 have at least one zero at the end.
        offer(self.search(m - 1), 1, 0, |p, _| Make::PlusOne(p));
        if m < 1 << 126 && m > 3 {
            offer(self.search(m + 1), 0, 0, |p, _| Make::MinusOne(p));
        }
        // `offer` was called at least once.
        best.unwrap_or(Chain { factor: m, bits: 0, steps: 0, make: Make::One })
    }
}

impl Chain {
    /// Returns the number of ANDs, roughly, for an x of `width` bits.
    pub fn cost(&self, width: u32) -> u32 {
        self.bits + self.steps * width
    }
}
