//! The parameters of a run, or of a step that fills a stock, and the probabilities that their checks fail.

use std::sync::LazyLock;

use crate::hooks::Bucketings;
use crate::instance::{Commitments, CotSender, level};
use crate::mixed::Mixed;
use brickwork_base::Error;
use brickwork_base::digest::Digest;
use brickwork_base::label::LABEL_BYTES;
use brickwork_primitives::commit::{CommitmentLevel, CommitmentScheme as _};
use brickwork_primitives::cut_and_choose::{
    Allocation, BatchKind, BatchSpec, BucketRule, Bucketing, Budget, KnownBounds, Upper,
    cheapest as cheapest_bucketing,
};
use brickwork_primitives::ot::CotSender as _;
use brickwork_protocol::stock::STOCK_SHARE;
use brickwork_protocol::{self as session, Cheater, CheckSpent, ItemKind, Promise};

/// A run has this many more binding OTs than s.
const MARGIN: u32 = 8;

/// The number of combinations of a proof. In each of them, a false claim goes unnoticed with probability 1/2.
const COMBINATIONS: f64 = 128.0;

/// The number of proofs in a run: of all commitments, of all opened and soldered items, and of inputs and
/// outputs.
const PROOFS: f64 = 3.0;

/// The number of calls of the OT extension in a run: for the watch bits, and for the evaluator's inputs.
const EXTENSIONS: f64 = 2.0;

/// The largest number of proofs in a session with stock, and also of OT extensions and of batches of OTs. The
/// log of a session has less than half as many entries. An entry has at most two proofs, one extension and
/// one batch.
const STOCK_PROOFS: f64 = (1 << 20) as f64;

/// The share that the gates' buckets get of 2^-s, after the fixed checks.
const OF_GATES: f64 = 0.75;

/// The largest α and β that are tried.
const MOST: u32 = 24;

/// A number of input authenticators whose cost is negligible for the evaluator in any program.
const FEW_INPUTS: u64 = 1 << 13;

/// The factor by which a proposal may exceed the number of input authenticators that the evaluator would
/// choose.
const MORE_INPUTS: u64 = 4;

/// Bytes of a proposal: B and c for gates, wire authenticators and input authenticators, 4 bytes each.
pub(super) const PROPOSAL_BYTES: usize = 24;

/// The parameters on which both parties must agree, in addition to the program, and values derived from them.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameters {
    /// s, the statistical security.
    pub security: u32,
    /// The cut of the AND gates, without slots if there are no gates.
    pub gates: Bucketing,
    /// The cut of the wire authenticators, which are in the same buckets as the gates.
    pub authenticators: Bucketing,
    /// The cut of the input authenticators, for the garbler's inputs and the masks of its own outputs.
    pub inputs: Bucketing,
    /// The number of OTs of random choices that bind the other OTs to their commitments.
    pub ot_binding: usize,
    /// The base-2 logarithm of the bound on all failures together; in a step that fills a stock, of the bound
    /// on its cuts only.
    pub bound_log2: f64,
}

/// Returns the number of OTs of random choices that bind the others in a run.
fn ot_binding(security: u32) -> usize {
    (security + MARGIN) as usize
}

/// Returns the number of OTs of random choices that bind each batch of OTs in a session with stock. However
/// many batches and attempts there are, the binding OTs use no more of the budget than in a run.
pub(super) fn stock_ot_binding(security: u32) -> usize {
    ot_binding(security) + STOCK_PROOFS.log2() as usize
}

/// Returns the budget with all checks besides the cut-and-choose.
fn checks(security: u32, proofs: f64, extensions: f64) -> Result<Budget, Error> {
    let level = level(security)?;
    Ok(Budget::new(security)
        .with_check("binding of the commitments", level.binding_log2)
        .with_check("random combinations", (proofs * level.misses).log2() - COMBINATIONS)
        .with_check("binding of the OTs", -(ot_binding(security) as f64))
        .with_check("OT extension", CotSender::CHECK_LOG2 + extensions.log2()))
}

pub(super) fn stock_checks(security: u32) -> Result<Budget, Error> {
    checks(security, STOCK_PROOFS, STOCK_PROOFS)
}

/// Returns the part of 2^-s that the checks in a budget leave.
fn rest(checks: &Budget, security: u32) -> Result<f64, Error> {
    let spent: f64 = checks.checks().iter().map(|check| check.1.log2().exp2()).sum();
    let rest = f64::from(security).exp2().recip() - spent;
    match rest > 0.0 {
        true => Ok(rest),
        false => Err(Error::Usage(format!(
            "these commitments cannot reach a bound of 2^-{security}; choose a lower --security"
        ))),
    }
}

/// Returns the remaining probability of the checks of a budget.
pub(super) fn spent_on_checks(budget: &Budget) -> Vec<CheckSpent> {
    let spent =
        |(check, bound): &(&str, Upper)| CheckSpent { check: (*check).into(), bound_log2: bound.log2() };
    budget.checks().iter().map(spent).collect()
}

/// Returns the base-2 logarithm of this share of 2^-s, after the fixed checks of a session with stock.
pub(super) fn stock_share(security: u32, share: f64) -> Result<f64, Error> {
    let spent: Upper = stock_checks(security)?.checks().iter().map(|check| check.1).sum();
    let rest = 1.0 - (spent.log2() + f64::from(security)).exp2();
    Ok((rest * share).log2() - f64::from(security))
}

/// Returns a garbler's gain from each setup or step that it breaks off before the challenge, in units of
/// 2^-128. Before the challenge, the garbler may see that its false claims pass the combinations, or that the
/// sums do not show another offset of its OTs.
pub(super) fn early_risk(security: u32) -> Result<u128, Error> {
    let combinations = Upper::exp2((PROOFS * level(security)?.misses).log2() - COMBINATIONS);
    Ok((combinations + Upper::exp2(-(stock_ot_binding(security) as f64))).to_fixed())
}

/// Returns the probability that counts as 0 at a security level, because it is too small to change a sum.
pub(super) fn floor(security: u32) -> f64 {
    f64::from(security + 12).exp2().recip()
}

/// Returns the bound of one attempt at a cut of gates and wire authenticators. The bound is cached, because
/// computing it is slow and many programs use the same cut.
pub(super) fn bound_of_gates(mixed: &Mixed, security: u32) -> Upper {
    static KNOWN: LazyLock<KnownBounds<(Mixed, u32)>> = LazyLock::new(KnownBounds::default);
    KNOWN.of((*mixed, security), |(mixed, security)| Upper::exp2(mixed.bound(floor(*security)).log2()))
}

/// Returns the bound of one attempt at a cut of input authenticators.
pub(super) fn bound_of_inputs(cut: &Bucketing) -> Upper {
    static KNOWN: LazyLock<KnownBounds<Bucketing>> = LazyLock::new(KnownBounds::default);
    KNOWN.of(*cut, |cut| cut.bound(BucketRule::INPUT_AUTHENTICATOR))
}

/// The cut without items.
pub(super) const NOTHING: Bucketing = Bucketing { slots: 0, bucket: 1, opened: 0 };

impl Parameters {
    /// Chooses the parameters with the fewest bytes for this many AND gates and input wires of the garbler.
    ///
    /// # Errors
    /// [`Error::Usage`] if the security is not offered, [`Error::Limit`] if the program is too large.
    pub fn choose(ands: u64, wires: u64, security: u32) -> Result<Self, Error> {
        let ands = slots(ands)?;
        let (checks, inputs) = (
            checks(security, PROOFS, EXTENSIONS)?,
            BatchSpec { kind: BatchKind::InputAuthenticator, slots: slots(wires)? },
        );
        let rest = rest(&checks, security)?;
        let mixed = match ands {
            0 => None,
            _ => Some(cheapest(ands, rest * OF_GATES, security).ok_or_else(|| no_cut(ands, security))?),
        };
        let with_gates = with_gates(checks, mixed, security)?;
        let allocation = with_gates.allocate(&[inputs], |_, cut| cut.copies() as f64)?;
        Ok(Self::of(security, mixed, allocation))
    }

    /// Makes parameters of the cuts of a test, which may be insecure.
    ///
    /// # Errors
    /// [`Error::Limit`] if the program is too large.
    pub(super) fn of_bucketings(
        ands: u64,
        wires: u64,
        security: u32,
        cuts: &Bucketings,
    ) -> Result<Self, Error> {
        let of = |slots: u32, [bucket, opened]: [u32; 2]| match slots {
            0 => NOTHING,
            _ => Bucketing { slots, bucket, opened },
        };
        let (ands, wires) = (slots(ands)?, slots(wires)?);
        Ok(Parameters {
            security,
            gates: of(ands, cuts.gates),
            authenticators: of(ands, cuts.authenticators),
            inputs: of(wires, cuts.inputs),
            ot_binding: ot_binding(security),
            bound_log2: 0.0,
        })
    }

    /// Chooses the parameters with the fewest bytes for a step that makes this many gates and inputs. Each
    /// kind has a part of the [share](STOCK_SHARE) of one preprocessing.
    ///
    /// # Errors
    /// As [`Parameters::choose`].
    pub(super) fn of_step(
        (ands, of_gates): (u64, f64),
        (wires, of_inputs): (u64, f64),
        security: u32,
    ) -> Result<Self, Error> {
        let (ands, wires) = (slots(ands)?, slots(wires)?);
        let (mut gates, mut authenticators, mut inputs) = (NOTHING, NOTHING, NOTHING);
        let mut bound = Upper::ZERO;
        if ands > 0 {
            let limit = stock_share(security, STOCK_SHARE * of_gates)?.exp2();
            let mixed = cheapest(ands, limit, security).ok_or_else(|| no_cut(ands, security))?;
            (gates, authenticators) = (mixed.gates, mixed.authenticators);
            bound = bound + bound_of_gates(&mixed, security);
        }
        if wires > 0 {
            let limit = Upper::limit(stock_share(security, STOCK_SHARE * of_inputs)?);
            let rule = BucketRule::INPUT_AUTHENTICATOR;
            inputs = cheapest_bucketing(rule, wires, limit, |cut| cut.copies() as f64)
                .ok_or_else(|| no_cut(wires, security))?;
            bound = bound + bound_of_inputs(&inputs);
        }
        let ot_binding = stock_ot_binding(security);
        Ok(Parameters { security, gates, authenticators, inputs, ot_binding, bound_log2: bound.log2() })
    }

    /// Returns the cut of gates and wire authenticators, or `None` without gates.
    pub(super) fn mixed(&self) -> Option<Mixed> {
        let Parameters { gates, authenticators, .. } = *self;
        (gates.slots > 0).then_some(Mixed { gates, authenticators })
    }

    /// Returns the bound on a cheating garbler's success in these cuts, in units of 2^-128.
    pub(super) fn risk(&self) -> u128 {
        self.bound_of_cuts().iter().map(|(_, bound)| *bound).sum::<Upper>().to_fixed()
    }

    /// Returns the bounds of these cuts, with their names.
    fn bound_of_cuts(&self) -> Vec<(&'static str, Upper)> {
        let gates = self.mixed().map(|mixed| (GATES_CHECK, bound_of_gates(&mixed, self.security)));
        let inputs = (self.inputs.slots > 0).then(|| (INPUTS_CHECK, bound_of_inputs(&self.inputs)));
        gates.into_iter().chain(inputs).collect()
    }

    pub(super) fn digest(&self) -> [u8; 32] {
        let mut digest = Digest::of("brickwork 2026-11 lego parameters");
        digest.number(self.security).length(self.ot_binding);
        for cut in [self.gates, self.authenticators, self.inputs] {
            digest.number(cut.slots).number(cut.bucket).number(cut.opened);
        }
        digest.done()
    }

    /// Returns the garbler's proposal as it is sent.
    pub(super) fn proposal(&self) -> [u8; PROPOSAL_BYTES] {
        let mut bytes = [0; PROPOSAL_BYTES];
        let cuts = [self.gates, self.authenticators, self.inputs];
        let numbers = cuts.iter().flat_map(|cut| [cut.bucket, cut.opened]);
        bytes.chunks_exact_mut(4).zip(numbers).for_each(|(b, n)| b.copy_from_slice(&n.to_le_bytes()));
        bytes
    }

    /// Reads the garbler's proposal, and computes its exact bound.
    ///
    /// # Errors
    /// [`Error::Mismatch`] if the bound exceeds 2^-s, or an honest garbler would not propose this.
    pub(super) fn proposed(ands: u64, wires: u64, security: u32, proposal: &[u8]) -> Result<Self, Error> {
        let numbers: Vec<u32> =
            proposal.chunks_exact(4).map(|n| u32::from_le_bytes(n.try_into().expect("4 bytes"))).collect();
        let [b, c, alpha, d, size, opened] = numbers[..] else {
            return Err(Error::Mismatch("the proposal is malformed".into()));
        };
        let (ands, wires) = (slots(ands)?, slots(wires)?);
        let gates = Bucketing { slots: ands, bucket: b, opened: c };
        let authenticators = Bucketing { slots: ands, bucket: alpha, opened: d };
        let mixed = match ands {
            0 if gates == NOTHING && authenticators == NOTHING => None,
            _ => Some(Mixed { gates, authenticators }),
        };
        let spec = BatchSpec { kind: BatchKind::InputAuthenticator, slots: wires };
        let inputs = Bucketing { slots: wires, bucket: size, opened };
        let checks = checks(security, PROOFS, EXTENSIONS)?;
        let of_gates = mixed.is_none_or(|mixed| mixed.is_sensible() && is_modest(&mixed));
        if !of_gates || !are_modest(&inputs, rest(&checks, security)?) {
            return Err(Error::Mismatch(
                "the proposed cut-and-choose parameters are not for this program".into(),
            ));
        }
        let allocation = with_gates(checks, mixed, security)?.check(&[spec], &[inputs])?;
        Ok(Self::of(security, mixed, allocation))
    }

    fn of(security: u32, mixed: Option<Mixed>, allocation: Allocation) -> Self {
        let Mixed { gates, authenticators } =
            mixed.unwrap_or(Mixed { gates: NOTHING, authenticators: NOTHING });
        Parameters {
            security,
            gates,
            authenticators,
            inputs: allocation.batches[0].0,
            ot_binding: ot_binding(security),
            bound_log2: allocation.total.log2(),
        }
    }

    /// Returns the promise of a run with these parameters.
    pub fn promise(&self) -> Promise {
        let budget =
            checks(self.security, PROOFS, EXTENSIONS).expect("Parameters have one of the offered levels");
        let cuts = self.bound_of_cuts();
        let spent =
            cuts.into_iter().map(|(name, bound)| CheckSpent { check: name.into(), bound_log2: bound.log2() });
        let budget = spent_on_checks(&budget).into_iter().chain(spent).collect();
        let mut promise = empty_promise(self.security, self.bound_log2, budget);
        if let Some(mixed) = self.mixed() {
            add_gates(&mut promise, &mixed);
        }
        if self.inputs.slots > 0 {
            add_inputs(&mut promise, &self.inputs);
        }
        promise
    }
}

pub(super) const GATES_CHECK: &str = "cut-and-choose of AND gates and wire authenticators";

pub(super) const INPUTS_CHECK: &str = "cut-and-choose of input authenticators";

pub(super) fn empty_promise(security: u32, bound_log2: f64, budget: Vec<CheckSpent>) -> Promise {
    let level = level(security).expect("parameters have one of the offered levels");
    Promise {
        commitments: Some(session::CommitmentPromise { scheme: Commitments::NAME.into(), code: level.code }),
        ..Promise::malicious(
            Cheater::Garbler,
            security,
            bound_log2,
            crate::report::COMPUTATIONAL_BITS,
            budget,
        )
    }
}

pub(super) fn add_gates(promise: &mut Promise, mixed: &Mixed) {
    promise.batches.push(mixed.gates.batch(ItemKind::Gate, "AND gates"));
    promise.batches.push(mixed.authenticators.batch(ItemKind::WireAuthenticator, "wire authenticators"));
}

pub(super) fn add_inputs(promise: &mut Promise, cut: &Bucketing) {
    promise.batches.push(cut.batch(ItemKind::InputAuthenticator, "input authenticators"));
}

fn no_cut(slots: u32, security: u32) -> Error {
    Error::Limit(format!(
        "no cut-and-choose of {slots} buckets reaches a bound of 2^-{security}; choose a lower --security"
    ))
}

fn slots(count: u64) -> Result<u32, Error> {
    u32::try_from(count).ok().filter(|&count| count <= 1 << 24).ok_or_else(|| {
        Error::Limit(format!(
            "the request has {count} AND gates or inputs, but at most {} are possible at once",
            1 << 24
        ))
    })
}

/// Returns the budget after the bound of the gates' buckets is added.
fn with_gates(budget: Budget, mixed: Option<Mixed>, security: u32) -> Result<Budget, Error> {
    Ok(match mixed {
        Some(mixed) => budget.with_check("buckets of gates", bound_of_gates(&mixed, security).log2()),
        None => budget,
    })
}

/// Returns the bytes that all items of a cut need.
fn bytes(mixed: &Mixed, level: &CommitmentLevel) -> f64 {
    let label = LABEL_BYTES as f64;
    let (random, chosen) = (level.random_bits as f64 / 8.0, level.chosen_bits as f64 / 8.0);
    let Mixed { gates, authenticators } = mixed;
    let made = gates.copies() as f64 * (2.0 * random + chosen + 2.0 * label)
        + authenticators.copies() as f64 * (random + 2.0 * label);
    let opened = 2.0 * label * f64::from(gates.opened) + label * f64::from(authenticators.opened);
    let joined = (3 * (gates.kept() - u64::from(gates.slots)) + authenticators.kept()) as f64 * label;
    made + opened + joined
}

/// Returns the cut with the fewest bytes whose bound is at most `limit`.
fn cheapest(slots: u32, limit: f64, security: u32) -> Option<Mixed> {
    let (level, floor) = (level(security).ok()?, floor(security));
    let mut best: Option<(f64, Mixed)> = None;
    for beta in 1..=MOST {
        let mut improved = false;
        for alpha in 1..=MOST {
            // With an even number of items in a bucket, one item would be wasted.
            if (alpha + beta).is_multiple_of(2) {
                continue;
            }
            let cut = |gates: u32, authenticators: u32| Mixed {
                gates: Bucketing { slots, bucket: beta, opened: gates },
                authenticators: Bucketing { slots, bucket: alpha, opened: authenticators },
            };
            let closed = bytes(&cut(0, 0), &level);
            if best.is_some_and(|(cost, _)| closed >= cost) {
                break;
            }
            for ratio in RATIOS {
                let cut = |opened: u32| cut(opened, (f64::from(opened) * ratio).ceil() as u32);
                let cost = |opened: u32| bytes(&cut(opened), &level);
                let dear = |opened: u32| best.is_some_and(|(best, _)| cost(opened) >= best);
                // The largest number of opened items with which this cut would be better than the best one so
                // far.
                let most = match least(most_opened(slots), dear) {
                    Some(0) => continue,
                    Some(opened) => opened - 1,
                    None => most_opened(slots),
                };
                if let Some(opened) = least(most, |opened| cut(opened).seems_within(limit, floor)) {
                    best = Some((cost(opened), cut(opened)));
                    improved = true;
                }
            }
        }
        if best.is_some() && !improved {
            break;
        }
    }
    // The search tested only a few numbers of bad items. The result is now checked for all of them.
    let (_, mut mixed) = best?;
    while mixed.bound(floor) > limit {
        let more = |opened: u32| opened + opened / 64 + 1;
        mixed.gates.opened = more(mixed.gates.opened);
        mixed.authenticators.opened = more(mixed.authenticators.opened);
        if !is_modest(&mixed) {
            return None;
        }
    }
    is_modest(&mixed).then_some(mixed)
}

/// Returns whether an honest garbler may propose this cut. A larger cut is secure, too, but with it the peer
/// could make the evaluator use any amount of memory and time.
fn is_modest(mixed: &Mixed) -> bool {
    let Mixed { gates, authenticators } = mixed;
    let most = most_opened(gates.slots).saturating_mul(2);
    gates.bucket.max(authenticators.bucket) <= MOST
        && gates.opened <= most
        && authenticators.opened <= most.saturating_mul(2)
}

/// Returns whether an honest garbler may propose this cut of input authenticators, if the checks leave the
/// probability `rest`. Gates leave at least a fixed part of it ([`OF_GATES`]). From this part, the evaluator
/// computes a cut of its own; an honest garbler's cut is no larger.
fn are_modest(inputs: &Bucketing, rest: f64) -> bool {
    let own = || {
        let limit = Upper::limit((rest * (1.0 - OF_GATES)).log2());
        cheapest_bucketing(BucketRule::INPUT_AUTHENTICATOR, inputs.slots, limit, |cut| cut.copies() as f64)
    };
    inputs.copies() <= FEW_INPUTS
        || own().is_some_and(|own| inputs.copies() <= own.copies().saturating_mul(MORE_INPUTS))
}

/// The ratios of opened authenticators to opened gates that the search tries.
const RATIOS: [f64; 5] = [1.0, 0.5, 0.75, 1.5, 2.0];

fn most_opened(slots: u32) -> u32 {
    slots.saturating_mul(4).saturating_add(400)
}

/// Returns the smallest number of opened items, up to `most`, for which `passes` returns true, or a number
/// that is larger by at most a 512th. With more opened items, `passes` returns true, too.
fn least(most: u32, passes: impl Fn(u32) -> bool) -> Option<u32> {
    if !passes(most) {
        return None;
    }
    let (mut few, mut enough) = (0, most);
    while enough - few > enough / 512 {
        let middle = few + (enough - few) / 2;
        if passes(middle) {
            enough = middle;
        } else if few == middle {
            break;
        } else {
            few = middle;
        }
    }
    Some(enough)
}
