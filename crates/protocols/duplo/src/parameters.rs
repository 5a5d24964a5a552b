//! The parameters of a session, and the bound on the probability that any check fails.

use std::collections::HashSet;
use std::sync::LazyLock;

use super::instance::{Commitments, CotSender, level};
use super::items::Origin;
use super::request::Request;
use brickwork_base::digest::Digest;
use brickwork_base::label::LABEL_BYTES;
use brickwork_base::{Error, Security, at_most};
use brickwork_circuit::{Circuit, Component, Program};
use brickwork_primitives::authenticator;
use brickwork_primitives::commit::{CommitmentLevel, CommitmentScheme as _};
use brickwork_primitives::cut_and_choose::{
    BatchKind, BatchSpec, BucketRule, Bucketing, Budget, KnownBounds, Upper, alternatives,
};
use brickwork_primitives::ot::CotSender as _;
use brickwork_protocol::stock::{GIVEN_UP_SHARE, STOCK_SHARE};
use brickwork_protocol::{self as session, BatchPromise, Cheater, CheckSpent, ItemKind, Promise};
use brickwork_store::GivenUp;

/// The checks that cost little fail with probability at most 2^-(s + `MARGIN`).
const MARGIN: u32 = 8;

/// The number of combinations in a batched check. A false claim passes each with probability 1/2.
const COMBINATIONS: f64 = 128.0;

/// The search considers no cut with more copies.
const MOST_COPIES: u64 = 1 << 31;

const NO_BUCKETING: Bucketing = Bucketing { slots: 0, bucket: 1, opened: 0 };

pub(super) const KEY_AUTHENTICATORS: &str = "key authenticators";
pub(super) const INPUT_AUTHENTICATORS: &str = "input authenticators";

/// The number of proofs in a run: of all commitments, of all openings and solderings, of inputs and outputs.
/// docs/concepts/security.md bounds the soundness error of a proof.
const PROOFS: f64 = 3.0;

/// The largest number of proofs of a session with stock. It also limits OT extensions and batches of OTs. The
/// log has less than half as many entries, and each entry has at most two proofs and one OT extension or
/// batch.
const STOCK_PROOFS: f64 = (1 << 20) as f64;

/// Returns the number of combinations that bind the OTs of a run to their commitments.
pub(super) fn ot_binding(security: Security) -> usize {
    (security.level() + MARGIN) as usize
}

/// Returns the number of combinations that bind each batch of OTs of a session with stock. It is large enough
/// that all batches and attempts of the session together use no larger part of the budget than a run.
pub(super) fn stock_ot_binding(security: Security) -> usize {
    ot_binding(security) + STOCK_PROOFS.log2() as usize
}

/// Returns the budget with all checks of a session except cut-and-choose.
fn checks(security: Security, proofs: f64, extensions: f64) -> Result<Budget, Error> {
    let level = level(security)?;
    Ok(Budget::new(security)
        .with_check("binding of the commitments", level.binding_log2)
        .with_check("random combinations", (proofs * level.misses).log2() - COMBINATIONS)
        .with_check("binding of the OTs", -(ot_binding(security) as f64))
        .with_check("OT extension", CotSender::CHECK_LOG2 + extensions.log2()))
}

/// Returns the bound of one attempt at a cut-and-choose. It is cached, because it takes long to compute and
/// many programs need the same bound.
pub(super) fn known_bound(kind: BatchKind, bucketing: Bucketing) -> Upper {
    static KNOWN: LazyLock<KnownBounds<(BatchKind, Bucketing)>> = LazyLock::new(KnownBounds::default);
    KNOWN.of((kind, bucketing), |(kind, bucketing)| bucketing.bound(kind.rule()))
}

/// Returns the bound over batches of stock. Each batch counts once, with all its items. The bound includes
/// the given-up steps and all other checks of the session.
pub(super) fn bound_of_origins<'a>(
    origins: impl IntoIterator<Item = &'a Origin>,
    security: Security,
) -> Result<Upper, Error> {
    let mut spent: Upper =
        checks(security, STOCK_PROOFS, STOCK_PROOFS)?.checks().iter().map(|check| check.1).sum();
    let (mut seen, mut given_up) = (HashSet::new(), 0);
    for origin in origins {
        if seen.insert(origin.serial) {
            spent = spent + known_bound(origin.kind, origin.bucketing);
        }
        given_up = given_up.max(origin.given_up.risk);
    }
    Ok(spent + Upper::fixed(given_up))
}

/// Returns the terms of the sum that [`bound_of_origins`] computes.
fn budget_of_origins(origins: &[(String, Origin)], security: Security) -> Result<Vec<CheckSpent>, Error> {
    let mut budget = spent_on_checks(&checks(security, STOCK_PROOFS, STOCK_PROOFS)?);
    let (mut seen, mut given_up) = (HashSet::new(), 0);
    for (name, origin) in origins {
        if seen.insert(origin.serial) {
            budget.extend(spent_on_batch(name, origin.kind, origin.bucketing));
        }
        given_up = given_up.max(origin.given_up.risk);
    }
    if given_up > 0 {
        let bound_log2 = Upper::fixed(given_up).log2();
        budget.push(CheckSpent { check: "steps that were given up".into(), bound_log2 });
    }
    Ok(budget)
}

/// Lists the failure probability of each check of a budget, for a report.
fn spent_on_checks(budget: &Budget) -> Vec<CheckSpent> {
    let spent =
        |(check, bound): &(&str, Upper)| CheckSpent { check: (*check).into(), bound_log2: bound.log2() };
    budget.checks().iter().map(spent).collect()
}

/// Returns the failure probability of a batch's cut-and-choose, for a report; `None` if the batch has no
/// slots.
fn spent_on_batch(name: &str, kind: BatchKind, bucketing: Bucketing) -> Option<CheckSpent> {
    let check = format!("cut-and-choose of {name}");
    (bucketing.slots > 0).then(|| CheckSpent { check, bound_log2: known_bound(kind, bucketing).log2() })
}

/// The fixed checks of a session with stock use a part of 2^-s. Returns the base-2 logarithm of `share` times
/// the remaining probability.
fn stock_share(security: Security, share: f64) -> Result<f64, Error> {
    let checks = checks(security, STOCK_PROOFS, STOCK_PROOFS)?;
    let spent: Upper = checks.checks().iter().map(|check| check.1).sum();
    let rest = 1.0 - (spent.log2() - security.log2()).exp2();
    Ok((rest * share).log2() + security.log2())
}

/// Returns whether another step may begin in an epoch with these given-up steps.
pub(super) fn may_begin(given_up: GivenUp, security: Security) -> Result<bool, Error> {
    Ok(Upper::fixed(given_up.risk) <= Upper::exp2(stock_share(security, GIVEN_UP_SHARE)?))
}

/// Returns the risk of an epoch apart from its batches, in units of 2^-128.
pub(super) fn fixed(security: Security) -> Result<u128, Error> {
    let checks = checks(security, STOCK_PROOFS, STOCK_PROOFS)?;
    Ok(checks.checks().iter().map(|check| check.1).sum::<Upper>().to_fixed())
}

/// Returns the risk of a setup or step that a garbler stops before the challenge, in units of 2^-128. By then
/// it may know that false claims pass, or that a wrong OT offset does not change the sums.
pub(super) fn early_risk(security: Security) -> Result<u128, Error> {
    let combinations = Upper::exp2((PROOFS * level(security)?.misses).log2() - COMBINATIONS);
    Ok((combinations + Upper::exp2(-(stock_ot_binding(security) as f64))).to_fixed())
}

/// Returns the promise of a program from stock: the bound over the batches that it takes from, and the
/// batches that its kept values depend on. Each batch counts completely.
///
/// # Errors
/// [`Error::Stock`] if all these batches together exceed the budget.
pub(super) fn promise_of_origins(
    origins: &[(String, Origin)],
    carried: &[(String, Origin)],
    security: Security,
) -> Result<Promise, Error> {
    let all: Vec<(String, Origin)> = origins.iter().chain(carried).cloned().collect();
    let spent = bound_of_origins(all.iter().map(|(_, origin)| origin), security)?;
    if spent.log2() > security.log2() {
        return Err(Error::Stock(format!(
            "the program would use too many batches, or too many steps were given up: a cheater would \
             succeed with probability up to {}, more than {security}. Make all items for this program in \
             one step of `brickwork preprocess`",
            at_most(spent.log2())
        )));
    }
    let batches =
        origins.iter().map(|(name, origin)| origin.bucketing.batch(item(origin.kind), name.clone()));
    let parameters = Parameters {
        decomposition: String::new(),
        security,
        components: Vec::new(),
        plain: NO_BUCKETING,
        input: NO_BUCKETING,
        ot_binding: stock_ot_binding(security),
        bound_log2: spent.log2(),
    };
    Ok(parameters.promise_of(batches.collect(), budget_of_origins(&all, security)?))
}

/// Returns the kind of item for promises.
fn item(kind: BatchKind) -> ItemKind {
    match kind {
        BatchKind::Component => ItemKind::Component,
        BatchKind::KeyAuthenticator => ItemKind::KeyAuthenticator,
        BatchKind::InputAuthenticator => ItemKind::InputAuthenticator,
    }
}

/// The parameters that both parties must agree on besides the program.
#[derive(Clone, Debug)]
pub struct Parameters {
    /// The name of the program's cut into components. The evaluator makes this cut from its own file. The
    /// empty name means the cut that both parties have.
    pub decomposition: String,
    /// The statistical security.
    pub security: Security,
    /// The cut-and-choose of each component of the program, in order; without slots if the component is not
    /// used.
    pub components: Vec<Bucketing>,
    /// The cut-and-choose of the plain key authenticators.
    pub plain: Bucketing,
    /// The cut-and-choose of the input authenticators.
    pub input: Bucketing,
    /// The number of combinations that bind the OTs to their commitments.
    pub ot_binding: usize,
    /// The base-2 logarithm of the bound for everything together.
    pub bound_log2: f64,
}

impl Parameters {
    /// Returns other cuts of the dominant component that keep the bound: for each bucket size the cut with
    /// the fewest opened copies. The first of these cuts has the fewest copies, opened and chosen together.
    ///
    /// # Errors
    /// [`Error::Resource`] if the program is too large for a session.
    pub fn alternatives(&self, program: &Program) -> Result<Vec<Parameters>, Error> {
        let weight = |(id, bucketing): (usize, &Bucketing)| {
            bucketing.kept() * (1 + program.components()[id].circuit.and_gates() as u64)
        };
        let Some((largest, bucketing)) = self
            .components
            .iter()
            .enumerate()
            .filter(|(_, bucketing)| bucketing.slots > 0)
            .max_by_key(|&(id, bucketing)| weight((id, bucketing)))
        else {
            return Ok(vec![self.clone()]);
        };
        let limit = bucketing.bound(BucketRule::COMPONENT);
        let others = alternatives(BucketRule::COMPONENT, bucketing.slots, limit).into_iter();
        let replaced = others.map(|bucketing| {
            let mut other = self.clone();
            other.components[largest] = bucketing;
            other
        });
        let few = replaced.filter(|other| other.components[largest].copies() <= MOST_COPIES);
        // A cut that exceeds the bound after rounding is left out.
        Ok(few.filter_map(|other| other.bounded(program).ok()).collect())
    }

    /// Returns the bucket size of each component, in order.
    pub(crate) fn bucket_sizes(&self) -> impl Iterator<Item = u32> {
        self.components.iter().map(|bucketing| bucketing.bucket)
    }

    /// Returns the bytes that the evaluator receives and keeps about copies and authenticators: hashes of
    /// labels, delta differences, solderings, openings. `circuits` are the circuits of the components.
    pub fn openings_bytes<'a>(&self, circuits: impl Iterator<Item = &'a Circuit>) -> u64 {
        let pairs = |bucketing: &Bucketing| bucketing.kept() - u64::from(bucketing.slots);
        let of_copies = circuits.zip(&self.components).map(|(circuit, bucketing)| {
            let (inputs, outputs) = (circuit.inputs() as u64, circuit.outputs().len() as u64);
            LABEL_BYTES as u64
                * (pairs(bucketing) * inputs
                    + bucketing.kept() * outputs
                    + u64::from(bucketing.opened) * (inputs + outputs))
        });
        let of_authenticators = [&self.plain, &self.input].into_iter().map(|bucketing| {
            let opened = (LABEL_BYTES + size_of::<u32>()) as u64 * u64::from(bucketing.opened);
            (authenticator::BYTES + size_of::<u32>()) as u64 * bucketing.kept()
                + LABEL_BYTES as u64 * pairs(bucketing)
                + opened
        });
        of_copies.chain(of_authenticators).sum::<u64>() + LABEL_BYTES as u64 * self.input.kept()
    }

    /// Returns the bytes of the tables that are sent for a request with these parameters.
    pub(super) fn table_bytes(&self, request: &Request) -> u64 {
        let of_one = |(component, _): &(Component, usize)| 2 * LABEL_BYTES * component.circuit.and_gates();
        let copies = self.components.iter().map(|bucketing| bucketing.kept());
        request.components.iter().map(|one| of_one(one) as u64).zip(copies).map(|(bytes, n)| bytes * n).sum()
    }

    /// Makes the parameters for a program at `security` bits that are cheapest at the [standard
    /// prices](Prices::STANDARD).
    ///
    /// # Errors
    /// [`Error::Usage`] if no level has this security, [`Error::Resource`] if the program is too large.
    pub fn choose(program: &Program, security: impl Into<Security>) -> Result<Self, Error> {
        Self::choose_at(program, security, &Prices::STANDARD)
    }

    /// Makes the parameters for a program at `security` bits that are cheapest at these prices.
    ///
    /// # Errors
    /// As [`Parameters::choose`].
    pub fn choose_at(
        program: &Program,
        security: impl Into<Security>,
        prices: &Prices,
    ) -> Result<Self, Error> {
        let security = security.into();
        Self::of_request(&Request::of(program), security, checks(security, PROOFS, 2.0)?, prices)
    }

    /// Returns the same parameters for a program in this cut.
    #[must_use]
    pub fn of_decomposition(self, name: &str) -> Self {
        Parameters { decomposition: name.to_owned(), ..self }
    }

    /// Returns the garbler's proposal: B and c of each batch, 4 bytes each. Components come first, in order,
    /// then plain and input authenticators.
    pub(super) fn proposal(&self) -> Vec<u8> {
        let bucketings = self.components.iter().chain([&self.plain, &self.input]);
        bucketings
            .flat_map(|bucketing| [bucketing.bucket, bucketing.opened])
            .flat_map(u32::to_le_bytes)
            .collect()
    }

    /// Returns the number of bytes of a proposal for a program.
    pub fn proposal_bytes(program: &Program) -> usize {
        8 * (program.components().len() + 2)
    }

    /// Decodes proposed parameters and computes their exact bound, which does not depend on the garbler's
    /// prices.
    ///
    /// # Errors
    /// [`Error::Mismatch`] if the parameters are not valid for this program, or exceed 2^-s.
    pub(super) fn proposed(
        program: &Program,
        security: impl Into<Security>,
        proposal: &[u8],
    ) -> Result<Self, Error> {
        let security = security.into();
        let numbers = proposal
            .chunks_exact(4)
            .map(|n| u32::from_le_bytes(n.try_into().expect("4 bytes")))
            .collect::<Vec<_>>();
        let specs = specs(&Request::of(program))?;
        if proposal.len() != Self::proposal_bytes(program) {
            return Err(Error::Mismatch(
                "the proposed cut-and-choose parameters are not for this program".into(),
            ));
        }
        let bucketings: Vec<Bucketing> = specs
            .iter()
            .zip(numbers.chunks(2))
            .map(|(spec, n)| Bucketing { slots: spec.slots, bucket: n[0], opened: n[1] })
            .collect();
        if bucketings.iter().any(|bucketing| bucketing.slots == 0 && *bucketing != NO_BUCKETING) {
            return Err(Error::Mismatch(
                "the garbler proposes cut-and-choose parameters for a component that the program does not \
                 use"
                .into(),
            ));
        }
        // A batch without slots has the bound zero.
        let allocation = checks(security, PROOFS, 2.0)?.check(&specs, &bucketings)?;
        Ok(Self::of_bucketings(security, bucketings, allocation.total.log2()))
    }

    /// Returns the same cuts with their exact bound, for parameters in which some cuts were replaced.
    ///
    /// # Errors
    /// [`Error::Mismatch`] if the parameters are not valid for this program, or exceed 2^-s.
    pub fn bounded(&self, program: &Program) -> Result<Self, Error> {
        Ok(Self::proposed(program, self.security, &self.proposal())?.of_decomposition(&self.decomposition))
    }

    /// Makes the parameters from the cuts of the components, then of plain and of input authenticators.
    pub(super) fn of_bucketings(security: Security, mut bucketings: Vec<Bucketing>, bound_log2: f64) -> Self {
        let (input, plain) =
            (bucketings.pop().unwrap_or(NO_BUCKETING), bucketings.pop().unwrap_or(NO_BUCKETING));
        Parameters {
            decomposition: String::new(),
            security,
            components: bucketings,
            plain,
            input,
            ot_binding: ot_binding(security),
            bound_log2,
        }
    }

    /// Makes the parameters for stock. Its batches take only a part of the budget, because one program may
    /// take from several batches.
    pub(super) fn for_stock(request: &Request, security: Security) -> Result<Self, Error> {
        Ok(Self::for_steps(std::slice::from_ref(request), security)?.remove(0))
    }

    /// Does the same as [`Parameters::for_stock`], for several requests that share one part of the budget. A
    /// session with a share of a promise is filled only once, so its stock may take the whole share.
    pub(super) fn for_steps(requests: &[Request], security: Security) -> Result<Vec<Self>, Error> {
        let checks = checks(security, STOCK_PROOFS, STOCK_PROOFS)?;
        let budget = match security.is_share() {
            true => checks,
            false => {
                checks.with_check("other batches of the stock", stock_share(security, 1.0 - STOCK_SHARE)?)
            }
        };
        Self::of_requests(requests, security, budget, &Prices::STANDARD)
    }

    /// Returns the bound on the probability that a garbler cheats in the batches of a step, in units of
    /// 2^-128.
    pub(super) fn risk(&self) -> u128 {
        let components = self.components.iter().map(|&bucketing| (BatchKind::Component, bucketing));
        let authenticators =
            [(BatchKind::KeyAuthenticator, self.plain), (BatchKind::InputAuthenticator, self.input)];
        let used = components.chain(authenticators).filter(|(_, bucketing)| bucketing.slots > 0);
        used.map(|(kind, bucketing)| known_bound(kind, bucketing)).sum::<Upper>().to_fixed()
    }

    fn of_request(
        request: &Request,
        security: Security,
        budget: Budget,
        prices: &Prices,
    ) -> Result<Self, Error> {
        Ok(Self::of_requests(std::slice::from_ref(request), security, budget, prices)?.remove(0))
    }

    fn of_requests(
        requests: &[Request],
        security: Security,
        budget: Budget,
        prices: &Prices,
    ) -> Result<Vec<Self>, Error> {
        let level = level(security)?;
        let specs = requests.iter().map(specs).collect::<Result<Vec<_>, _>>()?;
        // Batches without slots cost nothing and have no risk.
        let used: Vec<BatchSpec> = specs.iter().flatten().filter(|s| s.slots > 0).copied().collect();
        let costs: Vec<ItemCost> = requests
            .iter()
            .flat_map(|r| {
                let components = r.components.iter().map(|(c, _)| prices.of_component(&c.circuit, &level));
                components.chain([prices.of_plain(&level), prices.of_input(&level)])
            })
            .zip(specs.iter().flatten())
            .filter(|(_, spec)| spec.slots > 0)
            .map(|(cost, _)| cost)
            .collect();
        let allocation = budget.allocate(&used, |batch, bucketing| costs[batch].of(bucketing))?;
        let mut bucketings = allocation.batches.iter().map(|(bucketing, _)| *bucketing);
        let mut bucketing = |spec: &BatchSpec| match spec.slots {
            0 => NO_BUCKETING,
            _ => bucketings.next().expect("each batch in use has a bucketing"),
        };
        let of_request = |specs: &Vec<BatchSpec>| {
            Self::of_bucketings(security, specs.iter().map(&mut bucketing).collect(), allocation.total.log2())
        };
        Ok(specs.iter().map(of_request).collect())
    }

    /// Returns a digest over all parameters except the name of the cut.
    pub fn digest(&self) -> [u8; 32] {
        let mut digest = Digest::of("brickwork 2026-11 duplo parameters");
        digest.number(self.security.bits()).number(self.security.shares());
        digest.length(self.ot_binding).length(self.components.len());
        for bucketing in self.components.iter().chain([&self.plain, &self.input]) {
            digest.number(bucketing.slots).number(bucketing.bucket).number(bucketing.opened);
        }
        digest.done()
    }

    /// Returns the promise of a run with these parameters.
    pub fn promise(&self, program: &Program) -> Promise {
        let components =
            || program.components().iter().map(|component| &*component.name).zip(&self.components);
        let checks = checks(self.security, PROOFS, 2.0)
            .expect("the level was checked when the parameters were chosen");
        let of_components =
            components().filter_map(|(name, &cut)| spent_on_batch(name, BatchKind::Component, cut));
        let of_others = [
            spent_on_batch(KEY_AUTHENTICATORS, BatchKind::KeyAuthenticator, self.plain),
            spent_on_batch(INPUT_AUTHENTICATORS, BatchKind::InputAuthenticator, self.input),
        ];
        let others = of_others.into_iter().flatten();
        let budget = spent_on_checks(&checks).into_iter().chain(of_components).chain(others).collect();
        let batches = components().map(|(name, cut)| cut.batch(ItemKind::Component, name.to_owned()));
        let authenticators = [
            self.plain.batch(ItemKind::KeyAuthenticator, KEY_AUTHENTICATORS),
            self.input.batch(ItemKind::InputAuthenticator, INPUT_AUTHENTICATORS),
        ];
        self.promise_of(batches.chain(authenticators).collect(), budget)
    }

    fn promise_of(&self, batches: Vec<BatchPromise>, budget: Vec<CheckSpent>) -> Promise {
        let level = level(self.security).expect("the level was checked when the parameters were chosen");
        Promise {
            commitments: Some(session::CommitmentPromise {
                scheme: Commitments::NAME.into(),
                code: level.code,
            }),
            batches,
            ..Promise::malicious(
                Cheater::Garbler,
                self.security.bits(),
                self.bound_log2,
                COMPUTATIONAL_BITS,
                budget,
            )
        }
    }
}

/// The cost of an item of a batch, or of one of its gates, in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub struct ItemCost {
    /// The cost of making the item.
    pub made: f64,
    /// The additional cost if the item is opened.
    pub opened: f64,
    /// The additional cost if the item is chosen and used.
    pub chosen: f64,
}

impl ItemCost {
    fn of(&self, bucketing: &Bucketing) -> f64 {
        self.made * bucketing.copies() as f64
            + self.opened * f64::from(bucketing.opened)
            + self.chosen * bucketing.kept() as f64
    }
}

/// Prices in nanoseconds, for the work of both parties together. The cheapest parameters follow from them;
/// the bound is exact for any prices. An opened copy costs work but almost no traffic.
#[derive(Clone, Copy, Debug)]
pub struct Prices {
    /// The price of sending and receiving a byte.
    pub byte: f64,
    /// The price of an AND gate of a copy.
    pub and: ItemCost,
    /// The price of another gate of a copy.
    pub other: ItemCost,
    /// The price of hashing a label for an authenticator.
    pub hash_label: f64,
    /// The price of a commitment to a random value.
    pub commit_random: f64,
    /// The price of a commitment to a chosen value.
    pub commit_chosen: f64,
    /// The price of a claim about commitments.
    pub claim: f64,
}

impl Prices {
    /// Fixed estimates for every machine: the work of gates and hashing, and a link of some 2.5 Gbit/s.
    pub const STANDARD: Prices = Prices {
        byte: 3.0,
        and: ItemCost { made: 12.0, opened: 12.0, chosen: 28.0 },
        hash_label: 75.0,
        ..Prices::FREE
    };

    /// Every price is zero.
    pub const FREE: Prices = Prices {
        byte: 0.0,
        and: ItemCost { made: 0.0, opened: 0.0, chosen: 0.0 },
        other: ItemCost { made: 0.0, opened: 0.0, chosen: 0.0 },
        hash_label: 0.0,
        commit_random: 0.0,
        commit_chosen: 0.0,
        claim: 0.0,
    };

    fn random(&self, level: &CommitmentLevel) -> f64 {
        self.commit_random + self.byte * level.random_bits as f64 / 8.0
    }

    fn chosen(&self, level: &CommitmentLevel) -> f64 {
        self.commit_chosen + self.byte * level.chosen_bits as f64 / 8.0
    }

    /// Returns the price of a label or soldering that is sent and claimed.
    fn received(&self) -> f64 {
        16.0 * self.byte + self.claim
    }

    /// Returns the price of a copy of this component.
    pub fn of_component(&self, circuit: &Circuit, level: &CommitmentLevel) -> ItemCost {
        let (ands, inputs, outputs) =
            (circuit.and_gates() as f64, circuit.inputs() as f64, circuit.outputs().len() as f64);
        let others = circuit.gate_count() as f64 - ands;
        let gates = |of: fn(&ItemCost) -> f64| ands * of(&self.and) + others * of(&self.other);
        ItemCost {
            made: gates(|c| c.made) + (inputs + 1.0) * self.random(level) + outputs * self.chosen(level),
            opened: gates(|c| c.opened) + (inputs + 1.0) * self.received() + outputs * self.claim,
            chosen: gates(|c| c.chosen)
                + 32.0 * self.byte * ands
                + (inputs + outputs + 1.0) * self.received(),
        }
    }

    /// Returns the price of a plain authenticator.
    pub fn of_plain(&self, level: &CommitmentLevel) -> ItemCost {
        let made = self.random(level) + 32.0 * self.byte + 2.0 * self.hash_label;
        ItemCost {
            made,
            opened: self.received() + self.hash_label,
            chosen: self.received() + self.hash_label,
        }
    }

    fn of_input(&self, level: &CommitmentLevel) -> ItemCost {
        let made = self.random(level) + self.chosen(level) + 32.0 * self.byte + 3.0 * self.hash_label;
        ItemCost {
            made,
            opened: self.received() + self.claim + 3.0 * self.hash_label,
            chosen: 2.0 * self.received() + 2.0 * self.hash_label,
        }
    }
}

/// The security kappa = 128 loses 15 bits to the hash calls under one key, one bit to the indicator and one
/// to the colour.
const COMPUTATIONAL_BITS: f64 = 111.0;

/// Returns the batches of a request: components in order, then plain and input authenticators.
fn specs(request: &Request) -> Result<Vec<BatchSpec>, Error> {
    let components = request.components.iter().map(|(_, slots)| (BatchKind::Component, *slots));
    let authenticators = [
        (BatchKind::KeyAuthenticator, request.plain_wires()),
        (BatchKind::InputAuthenticator, request.garbler_wires),
    ];
    components.chain(authenticators).map(|(kind, slots)| spec(kind, slots)).collect()
}

fn spec(kind: BatchKind, slots: usize) -> Result<BatchSpec, Error> {
    let slots = u32::try_from(slots).map_err(|_| {
        Error::Limit(format!(
            "the program has {slots} slots or wires, more than one session can have; split the program"
        ))
    })?;
    Ok(BatchSpec { kind, slots })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The risk of a session apart from its batches, as in docs/concepts/security.md (sections 3, 7 and 11).
    /// The code has length 275 and distance 42. A run has three proofs, a session with stock at most 2^20.
    #[test]
    fn row_28_each_check_has_its_part_of_the_budget() {
        let spent = |proofs, extensions| -> Vec<f64> {
            checks(Security::of(40), proofs, extensions)
                .unwrap()
                .checks()
                .iter()
                .map(|(_, bound)| bound.log2())
                .collect()
        };
        let combinations = |proofs: f64| (proofs * (4.0 * 42.0 + 275.0)).log2() - 128.0;
        for (spent, expected) in [
            (spent(PROOFS, 2.0), [-42.0, combinations(3.0), -48.0, -114.0]),
            (spent(STOCK_PROOFS, STOCK_PROOFS), [-42.0, combinations(1048576.0), -48.0, -95.0]),
        ] {
            assert_eq!(spent.len(), 4);
            assert!(
                spent.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-6),
                "{spent:?}, not {expected:?}"
            );
        }
        assert_eq!([40, 64, 80].map(Security::of).map(ot_binding), [48, 72, 88]);
        assert_eq!([40, 64, 80].map(Security::of).map(stock_ot_binding), [68, 92, 108]);
    }
}
