//! The hardness of LPN over F_2 with regular noise: the costs of the known attacks, as base-2 logarithms.
//!
//! The attacker has n samples `b = A·s + e`, with k unknown bits s. The samples form t blocks of β, so n =
//! t·β, and each block of e contains exactly one error. Costs are numbers of operations, as the papers count
//! them; memory is free. Each attack knows n, k and t:
//!
//! * *guess*: draws k samples and hopes that they contain no error. Linear algebra is counted as free. Every
//!   attack that begins with such a guess costs at least this much, even if it shares work between guesses.
//! * *guessing in a part of the columns*: rows have few ones. So some sets of columns contain all ones of as
//!   many rows as the set has columns. Then only these samples must be free of errors. The expected number of
//!   such sets gives a bound on the size of the smallest one. Finding a set is free, and so is linear
//!   algebra.
//! * *pooled Gauss*, *statistical decoding* (and its second form), *Stern and Dumer* (information-set
//!   decoding with collisions of p errors on l positions) and *BJMM* (with representations): Liu, Wang, Yang,
//!   Yu, *The Hardness of LPN over Any Integer Ring and Field for PCG Applications*, EUROCRYPT 2024 (eprint
//!   2022/712), sections on the non-asymptotic costs. Regular noise reveals one parity of each block, so
//!   these attacks have n - t samples of k - t unknown bits.
//! * *algebraic*: Briaud and Øygarden, EUROCRYPT 2023 (eprint 2023/176). The attacker guesses that μ places
//!   in each of f blocks contain no error. Then the attacker solves a Macaulay matrix with block Wiedemann,
//!   at the smallest degree at which the system is expected to be solvable.
//! * *hybrid*: Wang, Wang, Yang, Liu, Yu, Zhang, Wang, ASIACRYPT 2025 (eprint 2025/1284). The attacker
//!   guesses that u places of each block contain no error (u + 1 in f blocks). The attacker tries all
//!   positions of the error in q blocks, and solves quadratic equations for the rest by linearization.
//!
//! The formulas come from the papers' public estimators and descriptions, because not all papers were
//! available. The tests compare the results with published figures.

/// An LPN instance with regular noise, in blocks whose size is a power of two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lpn {
    /// k, the number of unknown bits.
    pub dimension: u64,
    /// t, the number of blocks; each contains one error.
    pub blocks: u64,
    /// β, the number of samples in a block.
    pub block: u64,
    /// The number of ones in a row of the matrix, if it is small: a sample adds up this many bits.
    pub ones: Option<u64>,
}

/// The cost of an attack.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AttackCost {
    /// The name of the attack.
    pub attack: &'static str,
    /// Base-2 logarithm of the operations.
    pub bits: f64,
}

/// The exponent of linear algebra.
const OMEGA: f64 = 2.8;

/// ln Γ(x) for x >= 1, by Stirling's series above 16.
fn ln_gamma(mut x: f64) -> f64 {
    let mut below = 0.0;
    while x < 16.0 {
        below += x.ln();
        x += 1.0;
    }
    let inverse = 1.0 / x;
    let series = inverse * (1.0 / 12.0 - inverse * inverse * (1.0 / 360.0 - inverse * inverse / 1260.0));
    (x - 0.5) * x.ln() - x + 0.5 * (2.0 * std::f64::consts::PI).ln() + series - below
}

/// log2 of the binomial coefficient n over m, or minus infinity if it is 0.
fn choose(n: f64, m: f64) -> f64 {
    match m {
        _ if m < 0.0 || m > n => f64::NEG_INFINITY,
        // For small m, the product is exact; with the series, digits would cancel.
        _ if m <= 64.0 => (0..m as u64).map(|i| ((n - i as f64) / (m - i as f64)).log2()).sum(),
        _ => (ln_gamma(n + 1.0) - ln_gamma(m + 1.0) - ln_gamma(n - m + 1.0)) / std::f64::consts::LN_2,
    }
}

/// log2 of a sum of powers of two.
fn add(terms: &[f64]) -> f64 {
    let most = terms.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    most + terms.iter().map(|term| (term - most).exp2()).sum::<f64>().log2()
}

/// n samples of k unknown bits, with t errors at any positions: exact noise.
#[derive(Clone, Copy)]
struct Exact {
    n: f64,
    k: f64,
    t: f64,
}

impl Exact {
    /// The inverse probability that k random samples contain no error, counted as one operation for each
    /// draw.
    fn guess(self) -> f64 {
        choose(self.n, self.t) - choose(self.n - self.k, self.t)
    }

    fn pooled_gauss(self) -> f64 {
        self.guess() + OMEGA * self.k.min(self.n - self.k).log2()
    }

    /// The cost after `s` of the unknown bits have been guessed.
    fn statistical_decoding(self, s: f64) -> f64 {
        let k = self.k - s;
        let bias = ((self.n - self.t + 1.0) / (self.n - k - self.t)).log2();
        (k + 1.0).log2() + 2.0 + 2.0 * self.t * bias
    }

    /// The cost of Gaussian elimination down to l further rows, as information-set decoders perform it.
    fn elimination(self, l: f64) -> f64 {
        let rows = self.n - self.k - l;
        (rows * (self.n - self.k)).log2() - rows.log2().log2()
    }

    /// The cost if half of the p errors are in each half of k + l positions, and all other errors outside.
    fn stern_with(self, p: f64, l: f64) -> f64 {
        let side = choose(((self.k + l) / 2.0).floor() + 1.0, p / 2.0);
        let work = add(&[self.elimination(l), side + 1.0, 2.0 * side - l + 1.0]) + self.n.log2();
        let success = choose(self.n - self.k - l, self.t - p) + 2.0 * side - choose(self.n, self.t);
        work - success.min(0.0)
    }

    /// The cost for the best p and l. A merge is cheapest if it is as long as the lists that it merges, so l
    /// is near log2 of their length.
    fn stern(self) -> f64 {
        let with = |p: u64| {
            let side = choose((self.k / 2.0).floor() + 1.0, p as f64 / 2.0);
            (0..=(2.0 * side) as u64 + 40)
                .map(|l| self.stern_with(p as f64, l as f64))
                .fold(f64::MAX, f64::min)
        };
        (0..=12).step_by(2).map(with).fold(f64::MAX, f64::min)
    }

    /// The cost of BJMM of depth 3: p2 errors on the lowest level, of which e2 and then e1 cancel.
    fn bjmm_with(self, [p2, e2, e1]: [f64; 3], l: f64) -> f64 {
        let (all, p1) = (self.k + l, 2.0 * (p2 - e2));
        let p = 2.0 * (p1 - e1);
        if p > self.t {
            return f64::MAX;
        }
        let lowest = choose((all / 2.0).floor() + 1.0, p2 / 2.0);
        let good = |p: f64, e: f64| choose(p, e) + choose(all - p, p - e) - choose(all, p);
        let (mu2, mu1) = (good(p2, e2), good(p1, e1));
        let r2 = (mu2 + 4.0 * lowest - choose(all, p1)).clamp(0.0, l - 1.0).floor();
        let r1 = (mu1 + 2.0 * choose(all, p1) - choose(all, p) - r2).clamp(0.0, l - r2 - 1.0).floor();
        let pairs2 = 2.0 * lowest - r2;
        let pairs1 = 2.0 * pairs2 - r1;
        let middle = (mu2 + pairs1).min(choose(all, p1) - r1 - r2);
        let last = 2.0 * middle - l + r1 + r2;
        let found = (mu1 + last).min(choose(all, p) - l);
        let lists = add(&[3.0 + lowest, 2.0 + pairs2, 1.0 + pairs1, 1.0 + last]);
        let work = add(&[self.elimination(l), lists]) + self.n.log2();
        let success = choose(self.n - self.k - l, self.t - p) + l + found - choose(self.n, self.t);
        if success > 0.0 { f64::MAX } else { work - success }
    }

    fn bjmm(self) -> f64 {
        let mut best = f64::MAX;
        for p2 in (2..=8).step_by(2) {
            for (e2, e1) in (0..p2 / 2).flat_map(|e2| (0..=(p2 - e2)).map(move |e1| (e2, e1))) {
                let most = (4.0 * choose((self.k / 2.0).floor(), f64::from(p2) / 2.0)) as u64;
                let costs = (1..most.min(400)).step_by(2);
                let shape = [p2, e2, e1].map(f64::from);
                best = costs.map(|l| self.bjmm_with(shape, l as f64)).fold(best, f64::min);
            }
        }
        best
    }
}

impl Lpn {
    /// Returns n, the number of samples.
    pub fn samples(&self) -> u64 {
        self.blocks * self.block
    }

    /// Returns the instance without the known parity of each block.
    fn exact(&self) -> Exact {
        let t = self.blocks as f64;
        Exact { n: self.samples() as f64 - t, k: self.dimension as f64 - t, t }
    }

    /// Lists the costs of the attacks.
    pub fn attacks(&self) -> Vec<AttackCost> {
        let exact = self.exact();
        let gauss = exact.pooled_gauss();
        [
            ("guess", self.guess()),
            ("guessing in a part of the columns", self.guess_within()),
            ("pooled Gauss", gauss),
            ("statistical decoding", exact.statistical_decoding(0.0)),
            (
                "statistical decoding, second form",
                exact.statistical_decoding(gauss.floor().min(exact.k - 1.0)),
            ),
            ("Stern and Dumer", exact.stern()),
            ("BJMM", exact.bjmm()),
            ("algebraic", self.algebraic()),
            ("hybrid", self.hybrid()),
        ]
        .map(|(attack, bits)| AttackCost { attack, bits })
        .into()
    }

    /// Returns the base-2 logarithm of the cost of the best attack.
    pub fn bits(&self) -> f64 {
        self.attacks().iter().map(|cost| cost.bits).fold(f64::INFINITY, f64::min)
    }

    /// The inverse probability that k - t positions, spread over the blocks as evenly as possible, contain no
    /// error. It allows fractional numbers of positions in a block, which is slightly better for the
    /// attacker.
    fn guess(&self) -> f64 {
        let (t, each) =
            (self.blocks as f64, (self.dimension as f64 - self.blocks as f64) / self.blocks as f64);
        -t * (1.0 - (each / self.block as f64).min(1.0)).log2()
    }

    /// The smallest fraction σ of the columns that may contain all ones of as many rows as columns. Below it,
    /// the expected number of such sets of σk columns is less than one. A row has all its ones within a set
    /// with probability σ^ones, so the number of such rows is binomial.
    fn part(&self) -> f64 {
        let (Some(ones), k) = (self.ones, self.dimension as f64) else { return 1.0 };
        let rows = self.samples() as f64 / k;
        // For each column: log2 of the number of sets, and of the probability that a set contains enough
        // rows.
        let sets = |p: f64| -p * p.log2() - (1.0 - p) * (1.0 - p).log2();
        let divergence = |a: f64, b: f64| a * (a / b).log2() + (1.0 - a) * ((1.0 - a) / (1.0 - b)).log2();
        let exist = |p: f64| sets(p) >= rows * divergence(p / rows, p.powf(ones as f64));
        // With this fraction, every set is expected to contain enough rows.
        let (mut none, mut some) = (0.0, rows.powf(-1.0 / (ones as f64 - 1.0)));
        while some - none > 1e-9 {
            let middle = f64::midpoint(none, some);
            if middle > 0.0 && exist(middle) { some = middle } else { none = middle }
        }
        none
    }

    /// The cost of guessing as many error-free samples as that fraction has columns.
    fn guess_within(&self) -> f64 {
        let each = self.part() * self.dimension as f64 / self.blocks as f64;
        -(self.blocks as f64) * (1.0 - (each / self.block as f64).min(1.0)).log2()
    }

    /// Counts the columns of the Macaulay matrix of this degree, if μ places are known in each of f blocks.
    /// Also counts the columns that would remain if all equations of the degree were independent. The counts
    /// are the sums of the coefficients of (1 + (β-μ-1)·z)^f · (1 + (β-1)·z)^(t-f), without and with the
    /// factor 1 / (1 + z)^(n-k).
    fn macaulay(&self, f: f64, mu: f64, degree: usize) -> [f64; 2] {
        const MOST: usize = 7;
        let (t, beta) = (self.blocks as f64, self.block as f64);
        let equations = (self.samples() - self.dimension) as f64;
        // Coefficients of (1 + a·z)^m; m may be negative.
        let power = |a: f64, m: f64| {
            let mut all = [1.0; MOST];
            for i in 1..MOST {
                all[i] = all[i - 1] * a * (m - (i as f64 - 1.0)) / i as f64;
            }
            all
        };
        let times = |a: [f64; MOST], b: [f64; MOST]| -> [f64; MOST] {
            std::array::from_fn(|i| (0..=i).map(|j| a[j] * b[i - j]).sum())
        };
        let monomials = times(power(beta - mu - 1.0, f), power(beta - 1.0, t - f));
        let left = times(monomials, power(1.0, -equations));
        [monomials, left].map(|series| series[..=degree].iter().sum())
    }

    fn algebraic(&self) -> f64 {
        let (k, beta) = (self.dimension as f64, self.block as f64);
        let mut best = f64::MAX;
        for degree in 2..=6 {
            for mu in 0..self.block - 1 {
                let mu = mu as f64;
                let solved = |f: u64| self.macaulay(f as f64, mu, degree)[1] <= 0.0;
                // Takes the fewest blocks with which the system is solvable at this degree: guessing in more
                // blocks would cost more than it saves.
                let (mut low, mut high) = (0, if mu > 0.0 { self.blocks.min((k / mu) as u64) } else { 0 });
                if !solved(high) {
                    continue;
                }
                while low < high {
                    let middle = u64::midpoint(low, high);
                    if solved(middle) { high = middle } else { low = middle + 1 }
                }
                let f = low as f64;
                let [columns, _] = self.macaulay(f, mu, degree);
                let row = 3.0 * (k + 1.0 - f * mu).max(1.0);
                best = best.min(2.0 * columns.log2() + row.log2() - f * (1.0 - mu / beta).log2());
            }
        }
        best
    }

    /// The cost if u places are known in every block except q, and one more place in f of these blocks.
    fn hybrid_with(&self, [u, q, f]: [f64; 3]) -> f64 {
        let (n, k) = (self.samples() as f64, self.dimension as f64);
        let (t, beta) = (self.blocks as f64, self.block as f64);
        let guessed = -(f * (1.0 - (u + 1.0) / beta).log2() + (t - q - f) * (1.0 - u / beta).log2());
        // The number of remaining unknowns: all, those in the q blocks, and the others.
        let left = k - t - (u + 1.0) * f - (t - f - q) * u;
        let rows = n - k - ((n - k) / (beta - 1.0)).floor() * (beta - u - 2.0);
        let gauss = (rows * (n - k) * (rows + left)).max(1.0).log2();
        if left <= 0.0 {
            return guessed + gauss;
        }
        let tried = (beta - 1.0) * q;
        let others = left - tried;
        let (two, three) = (beta - u - 2.0, beta - u - 3.0);
        let quadratic = (t - f - q) * two * (two + 1.0) / 2.0 + f * two * three / 2.0;
        if others < 0.0 || others > (2.0 * quadratic).sqrt() - 2.0 {
            return f64::MAX;
        }
        let reduce = (others.powi(4) * left * left / 8.0 / (others * others / 2.0).max(2.0).log2()).max(1.0);
        let linear = 1.25 * (2.0 * others * others * tried + others * tried * tried);
        let solve = linear + (2.5 * others).powi(3) / (2.5 * others).max(2.0).log2();
        guessed + add(&[gauss, reduce.log2(), solve.max(1.0).log2() + q * beta.log2()])
    }

    fn hybrid(&self) -> f64 {
        let mut best = f64::MAX;
        for u in 0..self.block - 2 {
            for q in 0..=self.blocks.min(16) {
                // Finds the smallest f with enough quadratic equations by bisection.
                let with = |f: u64| self.hybrid_with([u as f64, q as f64, f as f64]);
                let (mut low, mut high) = (0, self.blocks - q);
                while low < high {
                    let middle = u64::midpoint(low, high);
                    if with(middle) < f64::MAX { high = middle } else { low = middle + 1 }
                }
                best = best.min(with(low));
            }
        }
        best
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use brickwork_base::random::Rng;
    use brickwork_testing::Replayable as _;

    fn regular(dimension: u64, blocks: u64, samples: u64) -> Lpn {
        Lpn { dimension, blocks, block: samples / blocks, ones: None }
    }

    fn cost(lpn: &Lpn, attack: &str) -> f64 {
        lpn.attacks().iter().find(|cost| cost.attack == attack).unwrap().bits
    }

    /// The parameters that emp-ot chose in 2026 against the hybrid attack, which is the best attack on each
    /// of them. They have the most blocks for which the attack costs 2^128, and 2^128.7 for the first.
    #[test]
    fn the_hybrid_attack_costs_what_others_say() {
        for (log_k, t, depth, bits) in
            [(16, 850, 10, 128.7), (17, 1170, 11, 128.2), (18, 1520, 12, 128.1), (19, 1900, 13, 128.2)]
        {
            let lpn = Lpn { dimension: 1 << log_k, blocks: t, block: 1 << depth, ones: Some(10) };
            assert!((cost(&lpn, "hybrid") - bits).abs() < 0.1, "{lpn:?}");
            for AttackCost { attack, bits } in lpn.attacks().into_iter().skip(2) {
                assert!(bits > 128.0 && bits >= cost(&lpn, "hybrid"), "{lpn:?}: {attack} {bits}");
            }
            let more = Lpn { blocks: t * 11 / 10, ..lpn };
            assert!(cost(&more, "hybrid") < 128.0, "{more:?}");
        }
    }

    /// Parameters of Ferret (2020), and those that emp-ot used until the hybrid attack was published.
    #[test]
    fn parameters_of_ferret() {
        let ferret = Lpn { dimension: 589_760, blocks: 1319, block: 1 << 13, ones: Some(10) };
        assert!(ferret.attacks()[2..].iter().all(|cost| cost.bits > 128.0));
        let given_up = Lpn { dimension: 452_000, blocks: 1280, block: 1 << 13, ones: Some(10) };
        assert!(given_up.attacks()[2..].iter().any(|cost| cost.bits < 128.0));
    }

    /// Pooled Gauss against exact noise: the seven parameters of Boyle, Couteau, Gilboa and Ishai (CCS 2018),
    /// with the costs in later comparisons.
    #[test]
    fn pooled_gauss_costs_what_others_say() {
        for (n, k, t, bits) in [
            (1 << 10, 652, 57, 111.0),
            (1 << 12, 1589, 98, 100.0),
            (1 << 14, 3482, 198, 101.0),
            (1 << 16, 7391, 389, 103.0),
            (1 << 18, 15_336, 760, 105.0),
            (1 << 20, 32_771, 1419, 107.0),
            (1 << 22, 67_440, 2735, 108.0),
        ] {
            let exact = Exact { n: f64::from(n), k: f64::from(k), t: f64::from(t) };
            let cost = exact.pooled_gauss();
            assert!(cost >= bits - 0.1 && cost < bits + 1.0, "{n} {k} {t}: {cost}");
            // Collisions reduce the cost, and representations reduce it further.
            assert!(exact.stern() < cost && exact.bjmm() < exact.stern());
        }
    }

    /// For parameters whose best published attack was the algebraic one, our cost is the published cost or up
    /// to five bits less. We use the smallest degree at which all equations would suffice if they were
    /// independent.
    #[test]
    fn the_algebraic_attack_costs_what_others_say() {
        for (n, k, t, bits) in [
            (1 << 20, 32_771, 1419, 102.0),
            (1 << 22, 67_440, 2735, 104.0),
            (1 << 18, 15_336, 1312, 133.0),
            (1 << 20, 32_771, 2467, 131.0),
            (1 << 22, 67_440, 4788, 110.0),
        ] {
            let cost = cost(&regular(k, t, n), "algebraic");
            assert!(cost <= bits && cost > bits - 5.0, "{n} {k} {t}: {cost}");
        }
    }

    #[test]
    fn binomials_are_those_of_whole_numbers() {
        assert!((choose(10.0, 3.0) - 120_f64.log2()).abs() < 1e-12);
        assert_eq!(choose(10.0, 11.0), f64::NEG_INFINITY);
        for (n, m) in [(200_u64, 100_u64), (1000, 65), (100_000, 3000)] {
            let exact: f64 = (0..m).map(|i| ((n - i) as f64).log2() - ((m - i) as f64).log2()).sum();
            assert!((choose(n as f64, m as f64) - exact).abs() < 1e-6, "{n} {m}");
        }
    }

    /// Counts all and the remaining columns for a small system: 3 blocks of 4, 5 unknowns.
    #[test]
    fn macaulay_matrices_are_counted_right() {
        let lpn = Lpn { dimension: 5, blocks: 3, block: 4, ones: None };
        // There are 1 + 9 + 27 monomials, and each of 7 equations removes one monomial of degree 1, and so
        // on.
        let [columns, left] = lpn.macaulay(0.0, 0.0, 2);
        assert_eq!((columns, left), (37.0, 1.0 + (9.0 - 7.0) + (27.0 - 7.0 * 9.0 + 28.0)));
        // One place of one block is known, so 8 variables remain.
        let [columns, _] = lpn.macaulay(1.0, 1.0, 2);
        assert_eq!(columns, 1.0 + 8.0 + (2.0 * 6.0 + 9.0));
    }

    /// The cost of the guess matches its probability, computed for a few blocks.
    #[test]
    fn a_guess_is_right_as_often_as_blocks_allow() {
        let lpn = Lpn { dimension: 4 + 2 * 4, blocks: 4, block: 8, ones: None };
        // The guess takes two of eight places in each of four blocks; three blocks in four have no error
        // there.
        assert!((lpn.guess() - 4.0 * (4.0_f64 / 3.0).log2()).abs() < 1e-12);
    }

    /// If rows have few ones, part of the columns can contain all ones of enough rows. With ten ones in a
    /// row, as other projects use, samples within two thirds of the columns would suffice. The guess would
    /// then cost less than 2^128. Two sets contain as many rows as columns: the best set of the computed
    /// size, and a random set of the size at which every set is expected to.
    #[test]
    fn rows_of_few_ones_lie_within_part_of_the_columns() {
        let with = |ones| Lpn { dimension: 1 << 17, blocks: 1024, block: 1 << 10, ones: Some(ones) };
        for (ones, part, bits) in [(10, 0.6496, 125.1), (12, 0.7155, 138.4)] {
            let lpn = with(ones);
            assert!((lpn.part() - part).abs() < 1e-4, "{}", lpn.part());
            assert!((lpn.guess_within() - bits).abs() < 0.1, "{}", lpn.guess_within());
            assert!(lpn.guess_within() < lpn.guess() && lpn.bits() == lpn.guess_within());
        }
        assert_eq!(Lpn { ones: None, ..with(10) }.part(), 1.0);
        // The test repeatedly removes the column that the fewest rows need, with these rows, until there are
        // as many rows as columns. The remaining set cannot be smaller than the computed part.
        let (k, samples, mut rng) = (1 << 11, 1 << 14, Rng::replayable("test code"));
        let rows: Vec<[usize; 10]> =
            (0..samples).map(|_| std::array::from_fn(|_| rng.below(k) as usize)).collect();
        let mut of_column = vec![Vec::new(); k as usize];
        rows.iter().enumerate().for_each(|(r, row)| row.iter().for_each(|&c| of_column[c].push(r)));
        let (mut alive, mut taken) = (vec![true; rows.len()], vec![false; k as usize]);
        let (mut left, mut columns, mut best) = (rows.len(), k as usize, k as usize);
        while left > 0 {
            let needs = |c: &usize| of_column[*c].iter().filter(|&&r| alive[r]).count();
            let least = (0..k as usize).filter(|&c| !taken[c]).min_by_key(needs).expect("columns are left");
            taken[least] = true;
            columns -= 1;
            for &r in &of_column[least] {
                left -= usize::from(std::mem::take(&mut alive[r]));
            }
            if left >= columns {
                best = columns;
            }
        }
        let (best, part) = (best as f64 / k as f64, with(10).part());
        assert!(best > part && best < part + 0.08, "{best} of {part}");
    }
}
