//! The parameters of a session, and what everything together lets through (sections 6.1 to 6.3).
//!
//! The paper gives each of three things 2^-40 by itself: the two hashes and the cut-and-choose. Its two
//! hashes of figure 7 together already exceed 2^-40 ([`FIGURE_7`]), so that these are for comparison; a
//! [`Level`] has sizes for all of a session.

use brickwork_base::Error;
use brickwork_primitives::cut_and_choose::{Bucketing, Detection, Rule, Upper, fewest_copies};
use brickwork_primitives::ihash::Parameters;
use brickwork_primitives::ot::extension;
use serde::Serialize;

/// Bytes by which a label is a whole number of blocks.
const BLOCK: usize = 16;

/// Symbols of a compressed label.
pub const COMPRESSED: usize = 16;

/// Bits that a label must hide: 128, and the colour of the offset, which is known to be 1.
pub const HIDDEN: u32 = 129;

/// Bits by which what the hashes let through stays below 2^-s. Labels need more: each bad copy that is
/// evaluated is another chance, because an output that is not hashed is passed over ([`Level::compared`]).
const LABEL_MARGIN: u32 = 6;
const PERMUTATION_MARGIN: u32 = 4;
/// Likewise for each check of codewords and of openings.
const CHECK_MARGIN: u32 = 8;

/// What a block of a word costs the parties, who keep it, move it and multiply it, as if so many bits were sent.
const BLOCK_BITS: usize = 96;

/// Draws of random words of a session, each with a check of its own: of the setup and of the items.
const DRAWS: u64 = 2;

/// Lists of openings of a session, of labels and of permutation messages, that are checked apart: of opened
/// items, solderings, joins to authenticators, inputs.
const OPENINGS: [u64; 2] = [4, 2];

/// What the cut-and-choose is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Unit {
    /// Single AND gates, all under one offset. Of an opened one the evaluator sees one of its four rows, of which
    /// two at least are wrong if it is bad.
    Gates,
    /// The program's components, each copy under an offset of its own, so that an opened one is opened
    /// completely. Components without AND gates are computed without garbling.
    Components,
}

impl Unit {
    /// Both.
    pub const ALL: [Unit; 2] = [Unit::Gates, Unit::Components];

    /// Returns what is noticed of a bad copy that is opened, and how many ruin a bucket.
    pub fn rule(self) -> Rule {
        match self {
            Unit::Gates => GATES,
            Unit::Components => COMPONENTS,
        }
    }

    /// Returns its name.
    pub fn name(self) -> &'static str {
        match self {
            Unit::Gates => "gates",
            Unit::Components => "components",
        }
    }
}

/// Gates under the session's offset: an opened one shows one of its four rows, of which two at least are wrong
/// if it is bad, and one good gate is enough for a bucket.
pub const GATES: Rule = Rule { detection: Detection::Half, majority: false };

/// Copies of components, and input authenticators: an opened one is opened completely.
pub const COMPONENTS: Rule = Rule::COMPONENT;

/// The hashes of a level of security.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Level {
    /// s.
    pub security: u32,
    /// Of labels.
    pub labels: Parameters,
    /// Of permutation messages.
    pub permutations: Parameters,
}

/// The paper's figure 7: k = 88 and k = 127. For comparison: together the hashes are weaker than 2^-40.
pub const FIGURE_7: [Level; 2] = [
    Level { security: 40, labels: Parameters::LABELS_88, permutations: Parameters::PERMUTATIONS },
    Level { security: 40, labels: Parameters::LABELS_127, permutations: Parameters::PERMUTATIONS },
];

impl Level {
    /// Returns the level of 40, 64 or 80 bits.
    ///
    /// # Errors
    /// [`Error::Usage`] for any other.
    pub fn of(security: u32) -> Result<Self, Error> {
        let sizes = match security {
            40 => [(102, 48, 8, 31), (50, 32, 6, 31)],
            64 => [(130, 64, 8, 47), (75, 48, 7, 47)],
            80 => [(157, 64, 8, 47), (88, 48, 7, 47)],
            _ => {
                return Err(Error::Usage(format!(
                    "a security of {security} bits is not offered; choose 40, 64 or 80"
                )));
            }
        };
        let [labels, permutations] =
            sizes.map(|(n, l, bits, w)| Parameters::new(n, l, bits, w).expect("sizes that make sense"));
        Ok(Level { security, labels, permutations })
    }

    /// Returns the security that the hashes' checks are to have.
    pub fn hashes(&self) -> u32 {
        self.security + CHECK_MARGIN
    }

    /// Returns the number of blocks of a label: parts of the offset, and series of OTs.
    pub fn blocks(&self) -> usize {
        self.labels.l() / BLOCK
    }

    /// Returns the hashes that [`Level::of`] has, from the solver: of those that bind, the cheapest, labels of
    /// whole blocks.
    ///
    /// # Errors
    /// [`Error::Usage`] if there are none.
    pub fn solved(security: u32) -> Result<Self, Error> {
        let limit = |margin: u32| Upper::limit(-f64::from(security + margin));
        let labels = Parameters::cheapest(limit(LABEL_MARGIN), HIDDEN, COMPRESSED + 1, |parameters| {
            let whole = parameters.bits() == 8 && parameters.l().is_multiple_of(BLOCK);
            if whole { label_bits(parameters) } else { usize::MAX }
        });
        let permutations = Parameters::cheapest(limit(PERMUTATION_MARGIN), 1, 1, permutation_bits);
        match labels.zip(permutations) {
            Some((labels, permutations)) if label_bits(&labels) < usize::MAX => {
                Ok(Level { security, labels, permutations })
            }
            _ => Err(Error::Usage(format!("no hashes bind to {security} bits"))),
        }
    }

    /// Returns an upper bound of what a garbler achieves by bad copies that are compared with a hash: an output
    /// of a bad copy that is not hashed is passed over, unless it passes for one of the two labels of its wire.
    ///
    /// A copy counts if all its outputs are labels, so the wrong ones of a copy are one chance. With detection d
    /// and opened share f, `t` bad copies survive with probability `(1 − d·f)^t` at most, and `t·(1 − x)^t <
    /// 1/(e·x)`: on average fewer than `1/(e·d·f)` bad copies are compared, each with both labels.
    fn compared(&self, rule: Rule, bucketing: &Bucketing) -> Upper {
        match bucketing.slots {
            0 => Upper::ZERO,
            _ => {
                let copies = compared(rule, bucketing);
                self.labels.binding() * (copies + copies)
            }
        }
    }

    /// Returns an upper bound of what a garbler achieves with copies of this bucketing.
    pub fn of_copies(&self, rule: Rule, bucketing: &Bucketing) -> Upper {
        match (bucketing.slots, bucketing.opened) {
            (0, _) => Upper::ZERO,
            (_, 0) => Upper::ONE,
            (_, opened) => {
                let bound = bucketing.bound(rule) + self.compared(rule, bucketing) + one_row(rule, opened);
                bound.min(Upper::ONE)
            }
        }
    }

    /// Returns an upper bound of what a garbler achieves with input authenticators of this bucketing. A bad one
    /// is passed over, unless what follows from its offset passes for what was hashed.
    pub fn of_authenticators(&self, bucketing: &Bucketing) -> Upper {
        match (bucketing.slots, bucketing.opened) {
            (0, _) => Upper::ZERO,
            (_, 0) => Upper::ONE,
            _ => {
                let read = self.permutations.binding() * compared(COMPONENTS, bucketing);
                (bucketing.bound(COMPONENTS) + read).min(Upper::ONE)
            }
        }
    }

    /// Returns an upper bound of each thing that may fail in a session besides what is cut and chosen.
    pub fn checks(&self) -> Vec<(&'static str, Upper)> {
        let Level { labels, permutations, .. } = self;
        let both = |of: &dyn Fn(&Parameters) -> Upper| of(labels) + of(permutations);
        let draw = both(&|hash| hash.check(hash.masks(self.hashes())));
        let of = |hash: &Parameters, lists: u64| {
            Upper::integer(lists) * hash.opening(hash.openings(self.hashes()))
        };
        let ots = Upper::exp2(-(checking_ots(self.security) as f64));
        // The extension checks each series three times: OTs of keys, of those that check the offset, of inputs.
        let calls = 3 * self.blocks() as u64;
        vec![
            ("binding of the hashes", both(&Parameters::binding)),
            ("symbols that are no codewords", Upper::integer(DRAWS) * draw),
            ("openings of hashed words", of(labels, OPENINGS[0]) + of(permutations, OPENINGS[1])),
            ("the offset of the OTs", ots),
            ("choices of OTs that differ", Upper::integer(DRAWS) * ots),
            ("OT extension", Upper::integer(calls) * Upper::exp2(extension::CHECK_LOG2)),
            ("more watched symbols", Upper::exp2(-127.0)),
        ]
    }

    /// Returns the copies that must be opened at least, where so many are kept: an offset of colour 0 must be
    /// noticed, and a sixteenth of all is opened, so that few bad copies are compared.
    fn least_opened(&self, rule: Rule, kept: u64) -> u32 {
        let share = u32::try_from(kept.div_ceil(15)).unwrap_or(u32::MAX);
        share.max(match rule.detection {
            Detection::Full => 1,
            // log2(4/3) is more than 0.4: five gates for two bits.
            Detection::Half => (5 * (self.security + CHECK_MARGIN)).div_ceil(2),
        })
    }

    /// Returns the bucketing of fewest copies for so many slots with which bad copies achieve 2^`log2` at most.
    ///
    /// # Errors
    /// [`Error::Limit`] if there is none.
    pub fn bucketing(&self, rule: Rule, slots: u32, log2: f64) -> Result<Bucketing, Error> {
        let limit = Upper::limit(log2);
        // What comparing takes depends, a little, on the share that is opened.
        (1..=32)
            .filter_map(|part| {
                let rest = Upper::limit(log2 + (1.0 - f64::from(part) / 33.0).log2());
                let bucketing = fewest_copies(rule, slots, rest)?;
                // More opened copies never help the garbler.
                let least = self.least_opened(rule, bucketing.kept());
                Some(Bucketing { opened: bucketing.opened.max(least), ..bucketing })
            })
            .find(|bucketing| self.of_copies(rule, bucketing) <= limit)
            .ok_or_else(|| Error::Limit(format!("{slots} buckets cannot be had within 2^-{}", self.security)))
    }
}

/// How many bad items are compared with a hash on average, at most, before one is noticed in an opened one:
/// less than `1/(e·d·f)`, which is less than 1/2 of `1/f` for d = 1, less than `1/f` for d = 1/2.
fn compared(rule: Rule, bucketing: &Bucketing) -> Upper {
    let share = Upper::ratio(bucketing.copies(), u64::from(bucketing.opened));
    match rule.detection {
        Detection::Full => share.halved(),
        Detection::Half => share,
    }
}

/// OTs by which the offset of all of them is checked, and combinations by which the choices are.
pub fn checking_ots(security: u32) -> usize {
    (security + CHECK_MARGIN) as usize
}

/// What a session makes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// The hashes.
    pub level: Level,
    /// What copies are of.
    pub unit: Unit,
    /// Copies of each kind: of the AND gate, or of the components that have AND gates.
    pub copies: Vec<Bucketing>,
    /// Input authenticators.
    pub authenticators: Bucketing,
}

/// Nothing is made.
const NONE: Bucketing = Bucketing { slots: 0, bucket: 1, opened: 0 };

/// More items of a kind are not made in one session.
const MOST: u64 = (u32::MAX / 8) as u64;

impl Sizes {
    /// Returns the sizes for so many slots of each kind and so many wires with authenticators, which are the
    /// inputs and the outputs of the garbler.
    ///
    /// # Errors
    /// [`Error::Usage`] for a security that is not offered, [`Error::Limit`] if no buckets stay below 2^-s.
    pub fn choose(security: u32, unit: Unit, slots: &[u32], wires: u32) -> Result<Self, Error> {
        let level = Level::of(security)?;
        let s = f64::from(security);
        // Three quarters of what may be let through are for the copies.
        let share = -s + (0.75 / slots.len().max(1) as f64).log2();
        let of_kind = |slots: &u32| match slots {
            0 => Ok(NONE),
            &slots => level.bucketing(unit.rule(), slots, share),
        };
        let copies = slots.iter().map(of_kind).collect::<Result<Vec<_>, Error>>()?;
        let authenticators = match wires {
            0 => NONE,
            wires => {
                let found = fewest_copies(COMPONENTS, wires, Upper::limit(-s - 4.0)).ok_or_else(|| {
                    Error::Limit(format!("{wires} inputs and outputs of the garbler are too many"))
                })?;
                // A quarter is opened, so that few bad ones are compared.
                let least = u32::try_from(found.kept().div_ceil(3)).unwrap_or(u32::MAX);
                Bucketing { opened: found.opened.max(least), ..found }
            }
        };
        let sizes = Sizes { level, unit, copies, authenticators };
        let all = sizes.copies.iter().chain([&sizes.authenticators]);
        if all.map(Bucketing::copies).max().is_some_and(|copies| copies > MOST) {
            return Err(Error::Limit(
                "the program has more AND gates or components than one session makes; cut it".into(),
            ));
        }
        if sizes.bound() > Upper::exp2(-s) {
            return Err(Error::Limit(format!("this program cannot be had within 2^-{security}")));
        }
        Ok(sizes)
    }

    /// Returns an upper bound of each thing by which a cheater of either side may succeed: the garbler by the
    /// hashes, by bad copies, by bad authenticators, by another offset of the OTs; the evaluator by choices
    /// that differ, by more watched symbols, by the check of the OT extension.
    pub fn parts(&self) -> Vec<(&'static str, Upper)> {
        let rule = self.unit.rule();
        let copies = self.copies.iter().map(|bucketing| self.level.of_copies(rule, bucketing)).sum();
        let mut parts = vec![
            (if self.unit == Unit::Gates { "bad gates" } else { "bad copies of components" }, copies),
            ("bad input authenticators", self.level.of_authenticators(&self.authenticators)),
        ];
        parts.extend(self.level.checks());
        parts
    }

    /// Returns an upper bound of what a cheater of either side achieves, by all of [`Sizes::parts`].
    pub fn bound(&self) -> Upper {
        self.parts().into_iter().map(|(_, part)| part).sum::<Upper>().min(Upper::ONE)
    }
}

/// With which probability gates survive whose offset has colour 0, if `opened` of them are opened: each has a
/// wrong row.
fn one_row(rule: Rule, opened: u32) -> Upper {
    match rule.detection {
        Detection::Full => Upper::ZERO,
        Detection::Half => (0..opened).fold(Upper::ONE, |product, _| product * Upper::ratio(3, 4)),
    }
}

/// Bits that labels take for a gate: three corrections, a chosen output, two rows, three openings; and what
/// three words take.
fn label_bits(parameters: &Parameters) -> usize {
    let opened = parameters.hidden_bits() as usize;
    3 * (parameters.correction_bits()
        + parameters.l() * parameters.bits() as usize
        + opened
        + words(parameters))
}

/// Bits that permutation messages take for a gate: three corrections and three openings; and what three words
/// take.
fn permutation_bits(parameters: &Parameters) -> usize {
    3 * (parameters.correction_bits() + parameters.hidden_bits() as usize + words(parameters))
}

/// What a word takes besides what is sent.
fn words(parameters: &Parameters) -> usize {
    BLOCK_BITS * parameters.l().div_ceil(BLOCK)
}
