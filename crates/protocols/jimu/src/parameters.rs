//! The parameters of a session, and the bound on everything that may fail (sections 6.1 to 6.3).
//!
//! The paper allows a probability of 2^-40 for each of three parts: the two hashes and the cut-and-choose.
//! The paper's two hashes of figure 7 together already exceed 2^-40 ([`FIGURE_7`]), so they are only for
//! comparison. A [`HashLevel`] has sizes for a whole session.

use brickwork_base::Error;
use brickwork_base::stop::look;
use brickwork_primitives::cut_and_choose::{BucketRule, Bucketing, Detection, Upper, fewest_copies};
use brickwork_primitives::ihash::HashParameters;
use brickwork_primitives::ot::extension;
use brickwork_protocol::{ItemKind, Promise};
use serde::Serialize;

/// The length of a label is a multiple of this.
const BLOCK: usize = 16;

/// The number of symbols of a compressed label.
pub const COMPRESSED: usize = 16;

/// The number of bits that a label must hide: 128, and one for the colour of the offset, which is public.
pub const HIDDEN: u32 = 129;

/// The error of a hash is below 2^-s by this many bits. Labels need more, because an output that does not
/// match a hash is skipped. So each evaluated bad copy gives the garbler another chance
/// ([`HashLevel::compared`]).
const LABEL_MARGIN: u32 = 6;
const PERMUTATION_MARGIN: u32 = 4;
/// The error of each check of codewords or openings is below 2^-s by this many bits.
const CHECK_MARGIN: u32 = 8;

/// The probability of an undetected offset of colour 0 is below the allowed error of copies by this many
/// bits.
const ROW_MARGIN: f64 = 4.0;

/// The base-2 logarithm of the largest number of setups and log entries of a session with stock. Each of them
/// draws words, opens words and makes OTs, in at most as many lists as a run does.
const STOCK_USES: u32 = 19;

/// The cost of keeping, moving and multiplying a block of a word, converted to sent bits.
const BLOCK_BITS: usize = 96;

/// The number of times that a session draws random words, for labels and for permutation messages. Each draw
/// has its own check. Labels are drawn in the setup and for the items. Permutation messages are drawn for the
/// items, for reading with Δ, and for the sums of both.
const DRAWS: [u64; 2] = [2, 3];

/// The name of the check that a hash binds the garbler to one word.
const BINDING: &str = "binding of the hashes";

/// The number of lists of OTs in a session whose choices are checked separately: those of the setup and those
/// of the inputs.
const LISTS_OF_OTS: u64 = 2;

/// The number of lists of openings in a session that are checked separately, of labels and of permutation
/// messages: opened items, solderings, inputs.
const OPENINGS: [u64; 2] = [3, 2];

/// The kind of item of the cut-and-choose.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Unit {
    /// Single AND gates, all with one offset. The evaluator sees one of the four rows of an opened gate; at
    /// least two rows of a bad gate are wrong.
    Gates,
    /// The program's components. Each copy has its own offset, so an opened copy is opened completely.
    /// Components without AND gates are computed without garbling.
    Components,
}

impl Unit {
    /// Both units.
    pub const ALL: [Unit; 2] = [Unit::Gates, Unit::Components];

    /// Returns the unit of a promise's batches.
    pub fn of(promise: &Promise) -> Self {
        match promise.of_kind(ItemKind::Gate).next() {
            Some(_) => Unit::Gates,
            None => Unit::Components,
        }
    }

    /// Returns the rule of this unit: the probability that an opened bad copy is detected, and the number of
    /// bad copies that ruin a bucket.
    pub fn rule(self) -> BucketRule {
        match self {
            Unit::Gates => GATES,
            Unit::Components => COMPONENTS,
        }
    }

    /// Returns the name of the unit, as users see it.
    pub fn name(self) -> &'static str {
        match self {
            Unit::Gates => "gates",
            Unit::Components => "components",
        }
    }

    /// Returns a description of the bad items that the cut-and-choose must find.
    pub fn bad(self) -> &'static str {
        match self {
            Unit::Gates => "bad gates",
            Unit::Components => "bad copies of components",
        }
    }
}

/// Gates with the session's offset: an opened gate shows one of its four rows. A bad gate has at least two
/// wrong rows, and one good gate is enough for a bucket.
pub const GATES: BucketRule = BucketRule { detection: Detection::Half, majority: false };

/// Copies of components: an opened copy is opened completely.
pub const COMPONENTS: BucketRule = BucketRule::COMPONENT;

/// The hashes of a level of security.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HashLevel {
    /// s, the statistical security.
    pub security: u32,
    /// The base-2 logarithm of the number of times that a session draws words, opens words and makes OTs: 0
    /// for one run.
    pub uses: u32,
    /// The code of labels.
    pub labels: HashParameters,
    /// The code of permutation messages.
    pub permutations: HashParameters,
}

/// The paper's figure 7: k = 88 and k = 127. These levels are only for comparison, because the two hashes
/// together exceed 2^-40.
pub const FIGURE_7: [HashLevel; 2] = [
    HashLevel {
        security: 40,
        uses: 0,
        labels: HashParameters::LABELS_88,
        permutations: HashParameters::PERMUTATIONS,
    },
    HashLevel {
        security: 40,
        uses: 0,
        labels: HashParameters::LABELS_127,
        permutations: HashParameters::PERMUTATIONS,
    },
];

impl HashLevel {
    /// Returns the level of 40, 64 or 80 bits.
    ///
    /// # Errors
    /// [`Error::Usage`] for any other number of bits.
    pub fn of(security: u32) -> Result<Self, Error> {
        let sizes = match security {
            40 => [(102, 48, 8, 31), (49, 31, 6, 30)],
            64 => [(130, 64, 8, 47), (75, 48, 7, 47)],
            80 => [(157, 64, 8, 47), (88, 48, 7, 47)],
            _ => {
                return Err(Error::Usage(format!(
                    "a security of {security} bits is not offered; choose 40, 64 or 80"
                )));
            }
        };
        let [labels, permutations] =
            sizes.map(|(n, l, bits, w)| HashParameters::new(n, l, bits, w).expect("valid sizes"));
        Ok(HashLevel { security, uses: 0, labels, permutations })
    }

    /// Returns the level of a session with stock, whose log has at most 2^19 entries. Each step of a
    /// preprocessing has a part of the budget, and comparing labels uses as much of each part as in a whole
    /// run. So codewords of labels must be longer than in a run. Otherwise stock costs no more than a run: a
    /// million gates are made in 16 steps.
    ///
    /// # Errors
    /// As [`HashLevel::of`].
    pub fn of_stock(security: u32) -> Result<Self, Error> {
        let level = Self::of(security)?;
        let n = match security {
            40 => 119,
            64 => 144,
            _ => 175,
        };
        let labels = HashParameters::new(n, level.labels.l(), level.labels.bits(), level.labels.w());
        Ok(HashLevel { uses: STOCK_USES, labels: labels.expect("valid sizes"), ..level })
    }

    /// Returns the security that the checks of hashes and of OTs need, in bits. The more uses a session has,
    /// the more bits each check needs, so that all of them together take the same part of the budget.
    pub fn hashes(&self) -> u32 {
        self.security + CHECK_MARGIN + self.uses
    }

    /// Returns the number of OTs that check the offset, and of combinations that check the choices.
    pub fn checking_ots(&self) -> usize {
        self.hashes() as usize
    }

    /// Returns a party's gain from each setup or step that it breaks off before the challenge, in units of
    /// 2^-128. The party may see that the combinations do not show its lie, and continue only then. The
    /// combinations are drawn after everything else was fixed. A guess of the symbols that the other party
    /// watches is not included: only the other party notices whether the guess is right.
    pub(super) fn early_risk(&self) -> u128 {
        let checks = self.checks().into_iter().filter(|(check, _)| *check != BINDING);
        let all: Upper = checks.map(|(_, bound)| bound).sum();
        (all * Upper::exp2(-f64::from(self.uses))).to_fixed()
    }

    /// Returns the number of blocks of a label, which is also the number of series of OTs.
    pub fn blocks(&self) -> usize {
        self.labels.l() / BLOCK
    }

    /// Searches for the hashes of [`HashLevel::of`]: the cheapest ones that bind, with labels of whole
    /// blocks.
    ///
    /// # Errors
    /// [`Error::Usage`] if no hashes reach `security`.
    pub fn solved(security: u32) -> Result<Self, Error> {
        let limit = |margin: u32| Upper::limit(-f64::from(security + margin));
        let labels = HashParameters::cheapest(limit(LABEL_MARGIN), HIDDEN, COMPRESSED + 1, |parameters| {
            let whole = parameters.bits() == 8 && parameters.l().is_multiple_of(BLOCK);
            if whole { label_bits(parameters) } else { usize::MAX }
        });
        let permutations = HashParameters::cheapest(limit(PERMUTATION_MARGIN), 1, 1, permutation_bits);
        match labels.zip(permutations) {
            Some((labels, permutations)) if label_bits(&labels) < usize::MAX => {
                Ok(HashLevel { security, uses: 0, labels, permutations })
            }
            _ => Err(Error::Usage(format!("no code makes the hashes binding to {security} bits"))),
        }
    }

    /// Returns an upper bound on a garbler's success with bad copies whose outputs are compared with a hash.
    /// An output of a bad copy that matches neither of the two labels of its wire is skipped. It may equal a
    /// label by chance.
    ///
    /// A copy is used only if all its outputs are labels, so all wrong outputs of a copy together are one
    /// chance. If an opened bad copy is detected with probability d, and the fraction f is opened, `t` bad
    /// copies survive with probability at most `(1 − d·f)^t`. Also, `t·(1 − x)^t < 1/(e·x)`. So on average
    /// fewer than `1/(e·d·f)` bad copies are compared, each with both labels of a wire.
    fn compared(&self, rule: BucketRule, bucketing: &Bucketing) -> Upper {
        match bucketing.slots {
            0 => Upper::ZERO,
            _ => {
                let copies = compared(rule, bucketing);
                self.labels.binding() * (copies + copies)
            }
        }
    }

    /// Returns an upper bound on a garbler's success with copies of this bucketing.
    pub fn of_copies(&self, rule: BucketRule, bucketing: &Bucketing) -> Upper {
        match (bucketing.slots, bucketing.opened) {
            (0, _) => Upper::ZERO,
            (_, 0) => Upper::ONE,
            (_, opened) => {
                let bound = bucketing.bound(rule) + self.compared(rule, bucketing) + one_row(rule, opened);
                bound.min(Upper::ONE)
            }
        }
    }

    /// Returns an upper bound for each failure in a session outside the cut-and-choose.
    pub fn checks(&self) -> Vec<(&'static str, Upper)> {
        let HashLevel { labels, permutations, .. } = self;
        let both = |of: &dyn Fn(&HashParameters) -> Upper| of(labels) + of(permutations);
        let draws =
            |hash: &HashParameters, draws: u64| Upper::integer(draws) * hash.check(hash.masks(self.hashes()));
        let of = |hash: &HashParameters, lists: u64| {
            Upper::integer(lists) * hash.opening(hash.openings(self.hashes()))
        };
        let ots = Upper::exp2(-(self.checking_ots() as f64));
        let uses = Upper::exp2(f64::from(self.uses));
        // Each series has two calls of the OT extension with a check: for the OTs of keys and of the offset
        // check, and for the OTs of inputs.
        let calls = 2 * self.blocks() as u64;
        vec![
            (BINDING, both(&HashParameters::binding)),
            (
                "symbols that are no codewords",
                uses * (draws(labels, DRAWS[0]) + draws(permutations, DRAWS[1])),
            ),
            ("openings of hashed words", uses * (of(labels, OPENINGS[0]) + of(permutations, OPENINGS[1]))),
            ("the offset of the OTs", ots),
            ("choices of OTs that differ", Upper::integer(LISTS_OF_OTS) * uses * ots),
            ("OT extension", Upper::integer(calls) * uses * Upper::exp2(extension::CHECK_LOG2)),
            ("more watched symbols", Upper::exp2(-127.0)),
        ]
    }

    /// Returns the smallest number of copies that must be opened if `kept` are kept, so that an offset of
    /// colour 0 stays undetected with probability at most 2^`log2`. At least a sixteenth of all copies is
    /// opened, so that few bad copies are compared with hashes.
    fn least_opened(&self, rule: BucketRule, kept: u64, log2: f64) -> u32 {
        let share = u32::try_from(kept.div_ceil(15)).unwrap_or(u32::MAX);
        let bits = (self.security + CHECK_MARGIN).max((ROW_MARGIN - log2).ceil() as u32);
        share.max(match rule.detection {
            Detection::Full => 1,
            // log2(4/3) is more than 0.4, so five gates are enough for two bits.
            Detection::Half => (5 * bits).div_ceil(2),
        })
    }

    /// Returns the bucketing with the fewest items for this many slots and an error of at most 2^`log2`. It
    /// also works for errors so small that `compared` requires more opened items.
    fn within(&self, rule: BucketRule, slots: u32, log2: f64) -> Result<Bucketing, Error> {
        const PARTS: u32 = 8;
        let limit = Upper::limit(log2);
        let of_part = |part: u32| {
            look();
            let rest = log2 + (f64::from(part) / f64::from(PARTS)).log2();
            let found = fewest_copies(rule, slots, Upper::limit(rest))?;
            let least = self.least_opened(rule, found.kept(), log2).max(found.opened);
            let buckets = Bucketing { opened: least, ..found }.bound(rule) + one_row(rule, least);
            // At most three times as many items are opened as are kept. Opening more never helps the garbler.
            let opened = (0..=3 * PARTS).map(|eighths| {
                let share = found.kept() * u64::from(eighths) / u64::from(PARTS);
                least.max(u32::try_from(share).unwrap_or(u32::MAX))
            });
            let mut cuts = opened.map(|opened| Bucketing { opened, ..found });
            cuts.find(|cut| buckets + self.compared(rule, cut) <= limit)
        };
        let found = (1..PARTS).filter_map(of_part).min_by_key(Bucketing::copies);
        found.ok_or_else(|| {
            Error::Limit(format!(
                "no cut-and-choose of {slots} buckets has a bound of 2^-{} \
                 or less; use fewer gates or a lower --security",
                self.security
            ))
        })
    }

    /// Returns the base-2 logarithm of this share of the probability that the checks leave of 2^-s.
    pub(super) fn share(&self, share: f64) -> f64 {
        let s = f64::from(self.security);
        let spent: Upper = self.checks().into_iter().map(|(_, part)| part).sum();
        ((1.0 - (spent.log2() + s).exp2()) * share).log2() - s
    }

    /// Returns the bucketing with the fewest copies for this many slots and an error of at most 2^`log2`.
    ///
    /// # Errors
    /// [`Error::Limit`] if no bucketing has so small an error.
    pub fn bucketing(&self, rule: BucketRule, slots: u32, log2: f64) -> Result<Bucketing, Error> {
        let limit = Upper::limit(log2);
        // The error by comparisons depends slightly on the opened fraction.
        (1..=32)
            .filter_map(|part| {
                look();
                let rest = Upper::limit(log2 + (1.0 - f64::from(part) / 33.0).log2());
                let bucketing = fewest_copies(rule, slots, rest)?;
                // Opening more copies never helps the garbler.
                let least = self.least_opened(rule, bucketing.kept(), log2);
                Some(Bucketing { opened: bucketing.opened.max(least), ..bucketing })
            })
            .find(|bucketing| self.of_copies(rule, bucketing) <= limit)
            .ok_or_else(|| {
                Error::Limit(format!(
                    "no cut-and-choose of {slots} buckets has a bound of 2^-{} \
                 or less; use fewer gates or a lower --security",
                    self.security
                ))
            })
    }
}

/// Returns an upper bound on the average number of bad items that are compared with a hash without an opened
/// bad item being detected. The value is less than `1/(e·d·f)`, which is below `1/2` of `1/f` for d = 1, and
/// below `1/f` for d = 1/2.
fn compared(rule: BucketRule, bucketing: &Bucketing) -> Upper {
    let share = Upper::ratio(bucketing.copies(), u64::from(bucketing.opened));
    match rule.detection {
        Detection::Full => share.halved(),
        Detection::Half => share,
    }
}

/// The numbers of items that a session makes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// The hashes' sizes and security.
    pub level: HashLevel,
    /// The unit of the cut-and-choose.
    pub unit: Unit,
    /// Copies of each kind: of the AND gate, or of the components that have AND gates.
    pub copies: Vec<Bucketing>,
}

pub(super) const NONE: Bucketing = Bucketing { slots: 0, bucket: 1, opened: 0 };

/// The largest number of items of a kind in one session.
const MOST: u64 = (u32::MAX / 8) as u64;

impl Sizes {
    /// Returns the sizes of a step that makes `slots` buckets of one kind, or none. The step has this share
    /// of the probability that the checks leave of 2^-s.
    ///
    /// # Errors
    /// As [`Sizes::choose`].
    pub(super) fn of_step(level: HashLevel, unit: Unit, slots: u32, share: f64) -> Result<Self, Error> {
        let copies = match slots {
            0 => Vec::new(),
            slots => vec![level.within(unit.rule(), slots, level.share(share))?],
        };
        Ok(Sizes { level, unit, copies })
    }

    /// Returns the sizes for this many slots of each kind.
    ///
    /// # Errors
    /// [`Error::Usage`] for a security that is not offered, [`Error::Limit`] if no buckets stay below 2^-s.
    pub fn choose(security: u32, unit: Unit, slots: &[u32]) -> Result<Self, Error> {
        let level = HashLevel::of(security)?;
        let s = f64::from(security);
        // The copies get what the other checks leave of the budget, in equal parts for each kind.
        let others = level.checks().into_iter().map(|(_, part)| part).sum::<Upper>();
        let left = 1.0 - (others.log2() + s).exp2();
        if left <= 0.0 {
            return Err(Error::Limit(format!(
                "no parameters for this program have a bound of 2^-{security} or less; use a smaller \
                 program or a lower --security"
            )));
        }
        // The share is slightly less than this, because sums are rounded up.
        let share = -s + (left * (1.0 - 1e-6) / slots.len().max(1) as f64).log2();
        let of_kind = |slots: &u32| match slots {
            0 => Ok(NONE),
            &slots => level.bucketing(unit.rule(), slots, share),
        };
        let copies = slots.iter().map(of_kind).collect::<Result<Vec<_>, Error>>()?;
        let sizes = Sizes { level, unit, copies };
        if sizes.copies.iter().map(Bucketing::copies).max().is_some_and(|copies| copies > MOST) {
            return Err(Error::Limit(
                "the program has more AND gates or components than one session can make; split it into \
                 several programs"
                    .into(),
            ));
        }
        if sizes.bound() > Upper::exp2(-s) {
            return Err(Error::Limit(format!(
                "no parameters for this program have a bound of 2^-{security} or less; use a smaller \
                 program or a lower --security"
            )));
        }
        Ok(sizes)
    }

    /// Returns an upper bound on each way in which a cheating party may succeed. A garbler can cheat with the
    /// hashes, bad copies, or another offset of the OTs. An evaluator can cheat with different choices, more
    /// watched symbols, or in the OT extension.
    pub fn parts(&self) -> Vec<(&'static str, Upper)> {
        let rule = self.unit.rule();
        let copies = self.copies.iter().map(|bucketing| self.level.of_copies(rule, bucketing)).sum();
        let mut parts = vec![(self.unit.bad(), copies)];
        parts.extend(self.level.checks());
        parts
    }

    /// Returns an upper bound on the success of a cheating party, by all of [`Sizes::parts`] together.
    pub fn bound(&self) -> Upper {
        self.parts().into_iter().map(|(_, part)| part).sum::<Upper>().min(Upper::ONE)
    }
}

/// Returns the probability that gates with an offset of colour 0 stay undetected if `opened` of them are
/// opened. Each such gate has a wrong row.
fn one_row(rule: BucketRule, opened: u32) -> Upper {
    match rule.detection {
        Detection::Full => Upper::ZERO,
        Detection::Half => (0..opened).fold(Upper::ONE, |product, _| product * Upper::ratio(3, 4)),
    }
}

/// Returns the bits that labels cost for a gate: three corrections, a chosen output, two rows and three
/// openings, plus the cost of three words.
fn label_bits(parameters: &HashParameters) -> usize {
    let opened = parameters.hidden_bits() as usize;
    3 * (parameters.correction_bits()
        + parameters.l() * parameters.bits() as usize
        + opened
        + words(parameters))
}

/// Returns the bits that permutation messages cost for a gate: three corrections and three openings, plus the
/// cost of three words.
fn permutation_bits(parameters: &HashParameters) -> usize {
    3 * (parameters.correction_bits() + parameters.hidden_bits() as usize + words(parameters))
}

/// Returns what a word costs in addition to its sent bits.
fn words(parameters: &HashParameters) -> usize {
    BLOCK_BITS * parameters.l().div_ceil(BLOCK)
}

#[cfg(test)]
mod tests {
    use brickwork_base::random::Rng;
    use brickwork_primitives::cut_and_choose::{BatchChallenge, alternatives};
    use brickwork_protocol::stock::STOCK_SHARE;
    use brickwork_testing::Replayable as _;
    use num_bigint::{BigInt, BigUint};
    use num_rational::BigRational;

    use super::*;

    #[test]
    fn the_levels_are_what_the_solver_finds() {
        for security in [40, 64, 80] {
            assert_eq!(HashLevel::of(security).unwrap(), HashLevel::solved(security).unwrap());
        }
        assert!(matches!(HashLevel::of(41), Err(Error::Usage(_))));
    }

    #[test]
    fn labels_hide_all_of_a_compressed_label_and_enough_points_are_never_sent() {
        let levels = [40, 64, 80].map(|s| [HashLevel::of(s).unwrap(), HashLevel::of_stock(s).unwrap()]);
        for HashLevel { labels, permutations, .. } in levels.into_iter().flatten() {
            assert!(labels.hidden_bits() >= HIDDEN && labels.l() % BLOCK == 0);
            // Returns the number of points at which words can be opened, including those of the compression.
            let unsent = |hash: HashParameters| (1 << hash.bits()) - hash.n();
            assert!(unsent(labels) >= labels.l() - labels.w() && labels.l() - labels.w() > COMPRESSED);
            assert!(unsent(permutations) >= permutations.l() - permutations.w());
            assert!(permutations.hidden_bits() >= 1);
        }
        // Figure 7 and repair (vi): 88 bits minus the offset's colour, and 128 minus the colour, which is the
        // paper's 127.
        assert_eq!(FIGURE_7.map(|level| level.labels.hidden_bits() - 1), [87, 127]);
    }

    #[test]
    fn the_hashes_of_figure_7_exceed_the_budget_together() {
        for HashLevel { labels, permutations, .. } in FIGURE_7 {
            assert!(labels.binding().log2() < -40.0 && permutations.binding().log2() < -40.0);
            let both = labels.binding() + permutations.binding();
            assert!(both.log2() > -39.4, "{}", both.log2());
            let level = HashLevel { security: 40, uses: 0, labels, permutations };
            let checks: Upper = level.checks().into_iter().map(|(_, bound)| bound).sum();
            assert!(checks.log2() > -40.0);
        }
    }

    /// Printed values of section 7 and of figure 11: N, B, T and the rule. The last value is the smallest
    /// total number of copies with these buckets whose bound is at most 2^-40. From 32 AES circuits on,
    /// figure 11 of the paper prints numbers in thousands.
    const PRINTED: [(u32, u32, u64, BucketRule, u64); 12] = [
        (6800, 5, 39_535, GATES, 39_539),
        (18_175, 5, 97_593, GATES, 97_593),
        (10_000, 5, 55_973, GATES, 55_973),
        (4087, 5, 25_432, GATES, 25_453),
        (5440, 5, 33_643, GATES, 32_504),
        (174_080, 4, 763_000, GATES, 758_197),
        (348_160, 4, 1_470_000, GATES, 1_466_076),
        (696_320, 4, 2_871_000, GATES, 2_872_501),
        (160, 7, 1401, COMPONENTS, 1401),
        (5120, 5, 28_222, COMPONENTS, 28_222),
        (10_240, 5, 54_200, COMPONENTS, 54_200),
        (20_480, 4, 100_410, COMPONENTS, 100_410),
    ];

    /// Compares section 6.3 with the exact bound: seven of the printed numbers are the smallest possible. Two
    /// are slightly too small (2^-39.97 at worst, and one of those in thousands). The others are larger than
    /// necessary.
    #[test]
    fn section_6_3_as_printed() {
        for (slots, bucket, copies, rule, fewest) in PRINTED {
            let opened = (copies - u64::from(slots) * u64::from(bucket)) as u32;
            let bound = Bucketing { slots, bucket, opened }.bound(rule).log2();
            assert!(bound < if copies < fewest { -39.89 } else { -40.0 }, "{slots}: {bound}");
            let found = alternatives(rule, slots, Upper::limit(-40.0));
            let found = found.into_iter().find(|found| found.bucket == bucket).map(|found| found.copies());
            assert_eq!(found, Some(fewest));
        }
    }

    /// A step of stock, with all its comparisons, stays within its share of the budget at any level. The test
    /// takes a single step, and one of sixteen steps of any size.
    #[test]
    fn steps_of_stock_stay_within_their_shares() {
        for security in [40, 64, 80] {
            let level = HashLevel::of_stock(security).unwrap();
            let checks: Upper = level.checks().into_iter().map(|(_, part)| part).sum();
            assert!(checks <= Upper::exp2(-f64::from(security) - 2.0), "{}", checks.log2());
            for (slots, steps) in [(1, 1), (300, 1), (1, 16), (65_536, 16)] {
                let part = STOCK_SHARE / f64::from(steps);
                for unit in Unit::ALL {
                    let sizes = Sizes::of_step(level, unit, slots, part).unwrap();
                    let share = Upper::exp2(level.share(part));
                    assert!(level.of_copies(unit.rule(), &sizes.copies[0]) <= share, "{sizes:?}");
                }
            }
        }
    }

    /// The codewords for stock are as short as possible. In one of sixteen steps, comparisons must fit into
    /// four fifths of the step's share if a quarter of the gates is opened. All other sizes of the hashes are
    /// the same as in a run.
    #[test]
    fn codewords_of_a_stock_are_as_long_as_sixteen_steps_take() {
        for security in [40, 64, 80] {
            let (level, of_run) = (HashLevel::of_stock(security).unwrap(), HashLevel::of(security).unwrap());
            let longer =
                |hash: &HashParameters, n: usize| HashParameters::new(n, hash.l(), hash.bits(), hash.w());
            assert_eq!(longer(&of_run.labels, level.labels.n()), Some(level.labels));
            assert_eq!(of_run.permutations, level.permutations);
            let gates = Bucketing { slots: 65_536, bucket: 3, opened: 65_536 };
            let suffices = |level: &HashLevel| {
                level.compared(GATES, &gates) <= Upper::exp2(level.share(0.8 * STOCK_SHARE / 16.0))
            };
            assert!(suffices(&level), "{level:?}");
            let labels = longer(&level.labels, level.labels.n() - 1).unwrap();
            assert!(!suffices(&HashLevel { labels, ..level }), "{level:?}");
        }
    }

    const SLOTS: [&[u32]; 6] = [&[], &[1], &[6800], &[10_000, 1], &[700_000], &[160, 40, 3]];

    /// Row 18 of the table of attacks: a program that is too large for one session is refused in every cut.
    #[test]
    fn row_18_more_copies_than_a_session_makes_are_refused() {
        for unit in Unit::ALL {
            let refused = Sizes::choose(40, unit, &[MOST as u32]).err().unwrap().to_string();
            assert!(refused.contains("than one session can make"), "{refused}");
        }
    }

    /// The bound includes copies, hashes and OTs.
    #[test]
    fn everything_together_stays_within_the_budget() {
        for (security, unit) in [40, 64, 80].into_iter().flat_map(|s| Unit::ALL.map(|unit| (s, unit))) {
            for slots in SLOTS {
                let sizes = Sizes::choose(security, unit, slots).unwrap();
                let bound = sizes.bound().log2();
                assert!(bound <= -f64::from(security), "{sizes:?}: {bound}");
                // The bound must grow if any part of the parameters becomes weaker.
                let fewer = |amount: Bucketing| Bucketing { bucket: amount.bucket.max(2) - 1, ..amount };
                for kind in (0..slots.len()).filter(|&kind| slots[kind] > 100) {
                    let mut others = sizes.clone();
                    others.copies[kind] = fewer(others.copies[kind]);
                    assert!(others.bound().log2() > bound);
                }
            }
        }
    }

    /// Returns C(n, k) for k = 0, …, most.
    fn binomials(n: u64, most: u64) -> Vec<BigUint> {
        let next = |last: &mut BigUint, k: u64| {
            let this = last.clone();
            *last = &*last * n.saturating_sub(k) / (k + 1);
            Some(this)
        };
        (0..=most).scan(BigUint::from(1_u8), next).collect()
    }

    /// Returns the success of the best number of bad items up to `most`: the formula of the paper, without
    /// rounding.
    fn best_attack(cut: &Bucketing, half: bool, most: u64) -> BigRational {
        let (kept, bucket) = (cut.kept(), u64::from(cut.bucket));
        let in_buckets = binomials(kept, most);
        let others = binomials(kept - bucket, most);
        let opened = binomials(cut.opened.into(), most);
        let all = binomials(cut.copies(), most);
        // The number of ways to put `i` bad items into buckets so that one bucket is all bad. A way with
        // several such buckets is counted for each.
        let wins = |i: u64| match i.checked_sub(bucket) {
            None => BigUint::ZERO,
            Some(rest) => (&others[rest as usize] * cut.slots).min(in_buckets[i as usize].clone()),
        };
        let success = |t: u64| {
            let unnoticed = |j: u64| match (j, half) {
                (0, _) => BigUint::from(1_u8) << t,
                (_, false) => BigUint::ZERO,
                (j, true) => &opened[j as usize] << (t - j),
            };
            let sum: BigUint = (0..=t.min(cut.opened.into())).map(|j| wins(t - j) * unnoticed(j)).sum();
            // There are hundreds of terms, so only their sum is reduced.
            BigRational::new_raw(sum.into(), (&all[t as usize] << t).into())
        };
        (1..=most.min(cut.copies())).map(success).max().expect("at least one number of bad items").reduced()
    }

    /// 2^log2.
    fn power(log2: i64) -> BigRational {
        let one = BigRational::from_integer(1.into());
        let power = BigRational::from_integer(BigInt::from(1) << log2.unsigned_abs());
        if log2 < 0 { one / power } else { power }
    }

    fn log2(x: &BigRational) -> f64 {
        let bits = |n: &BigInt| {
            let shift = n.bits().saturating_sub(60);
            let high: u64 = (n >> shift).try_into().unwrap();
            (high as f64).log2() + shift as f64
        };
        bits(x.numer()) - bits(x.denom())
    }

    /// Recomputes everything that `Sizes::bound` adds up, from the numbers alone and in exact arithmetic.
    fn recomputed(security: i64, unit: Unit, hashes: [[u64; 4]; 2], sizes: &Sizes) -> f64 {
        let of = |a: u64, b: u64| BigRational::new(a.into(), b.into());
        let binding = hashes.map(|[n, l, _, w]| {
            let (few, all) = (binomials(l - 1, w), binomials(n, w));
            BigRational::new(few[w as usize].clone().into(), all[w as usize].clone().into())
        });
        let [labels, messages] = &binding;
        // A session draws labels twice and messages twice; the sums with the messages for reading are a third
        // list. Their combinations have this error for all sets of symbols. There are three lists of opened
        // labels and two of messages. Each of their combinations has an error of 2·2^-σ.
        let bits = security + 8;
        let checks = hashes.into_iter().zip([[2, 3], [3, 2]]).map(|([n, _, sigma, _], [draws, lists])| {
            let [n, each] = [n as i64, sigma as i64 - 1];
            let masks = (n + 1 + bits + each - 1) / each;
            let openings = (bits + each - 1) / each;
            power(n - each * masks) * of(draws, 1) + power(-each * openings) * of(lists, 1)
        });
        let mut sum = checks.fold(labels + messages, |sum, check| sum + check);
        for copies in sizes.copies.iter().filter(|copies| copies.slots > 0) {
            // Each evaluated bad copy gives two comparisons. On average, fewer than 1/f bad copies are
            // compared for gates, and half as many for components.
            let half = unit == Unit::Gates;
            sum += labels * of(if half { 2 } else { 1 } * copies.copies(), copies.opened.into());
            if half {
                sum += of(3, 4).pow(copies.opened.try_into().unwrap());
            }
            sum += best_attack(copies, half, 300);
        }
        // These terms are for the check of the offset, two checks of choices, and two extensions of each
        // series.
        let series = hashes[0][1] / 16;
        sum += power(-bits) * of(3, 1) + power(-115) * of(2 * series, 1) + power(-127);
        log2(&sum)
    }

    #[test]
    fn the_bound_of_a_run_is_what_exact_arithmetic_gives() {
        for (security, hashes) in [
            (40, [[102, 48, 8, 31], [49, 31, 6, 30]]),
            (64, [[130, 64, 8, 47], [75, 48, 7, 47]]),
            (80, [[157, 64, 8, 47], [88, 48, 7, 47]]),
        ] {
            for unit in Unit::ALL {
                for slots in [&[][..], &[1], &[30], &[6400], &[160, 40, 3]] {
                    let sizes = Sizes::choose(security, unit, slots).unwrap();
                    let exact = recomputed(security.into(), unit, hashes, &sizes);
                    let told = sizes.bound().log2();
                    assert!((told - exact).abs() < 1e-6, "{security} {slots:?}: {told} {exact}");
                    assert!(exact <= -f64::from(security), "{security} {slots:?}: {exact}");
                }
            }
        }
    }

    /// The error of copies stays below its share, and exceeds that of the cut-and-choose alone only slightly.
    #[test]
    fn copies_stay_within_their_share() {
        for security in [40, 64, 80] {
            let (level, log2) = (HashLevel::of(security).unwrap(), -f64::from(security));
            for (slots, rule) in [(1, GATES), (6800, GATES), (1, COMPONENTS), (5120, COMPONENTS)] {
                let bucketing = level.bucketing(rule, slots, log2).unwrap();
                assert!(level.of_copies(rule, &bucketing).log2() <= log2);
                let alone = fewest_copies(rule, slots, Upper::limit(log2)).unwrap();
                let more = alone.copies() / 8 + u64::from(level.least_opened(rule, alone.kept(), log2));
                assert!(bucketing.copies() <= alone.copies() + more, "{bucketing:?} {alone:?}");
            }
        }
        let none = Bucketing { slots: 10, bucket: 5, opened: 0 };
        assert_eq!(HashLevel::of(40).unwrap().of_copies(GATES, &none), Upper::ONE);
    }

    /// Simulates the game of section 6.3: gates are opened or put into buckets at random. An opened bad gate
    /// is detected with probability 1/2, and a bucket of bad gates wins. A cheater wins at most as often as
    /// the bound, and nearly as often.
    #[test]
    fn cheaters_win_as_often_as_the_bound_says() {
        let (bucketing, trials) = (Bucketing { slots: 4, bucket: 2, opened: 8 }, 40_000);
        let mut rng = Rng::replayable("test cut-and-choose");
        let best = (2..=8)
            .map(|bad| {
                let wins = (0..trials).filter(|_| wins(&bucketing, bad, &mut rng)).count();
                wins as f64 / f64::from(trials)
            })
            .fold(0.0, f64::max);
        let bound = bucketing.bound(GATES).log2().exp2();
        // The union bound over four buckets counts an outcome with two bad buckets twice.
        assert!(best < bound + 0.01 && best > 0.75 * bound, "{best} {bound}");
    }

    fn wins(bucketing: &Bucketing, bad: u32, rng: &mut Rng) -> bool {
        let challenge = BatchChallenge::draw(rng, bucketing);
        let noticed = challenge
            .opened()
            .iter()
            .filter(|&&gate| gate < bad)
            .fold(false, |any, _| any | (rng.below(2) == 0));
        !noticed && challenge.buckets().any(|gates| gates.iter().all(|&gate| gate < bad))
    }

    /// In this range, the bound exceeds `1/(e·x)` by at most a hundredth, and is never below the exact value.
    #[test]
    fn bad_gates_that_are_compared_are_counted() {
        for (detected, opened) in [(0.5, 0.14), (1.0, 0.14), (0.5, 0.9), (1.0, 0.99), (0.5, 0.001)] {
            let x: f64 = detected * opened;
            let most = (1..100_000).map(|t| f64::from(t) * (1.0 - x).powi(t)).fold(0.0, f64::max);
            let counted = if detected == 1.0 { 0.5 / opened } else { 1.0 / opened };
            assert!(most <= counted, "{detected} {opened}: {most} {counted}");
        }
    }
}
