//! The items that a program takes from stock, and the steps that make them.

use brickwork_base::at_most;
use brickwork_base::digest::Digest;
use brickwork_base::{Error, Party};
use brickwork_circuit::{Circuit, Component, Program};
use brickwork_primitives::cut_and_choose::Upper;
use brickwork_primitives::ot::{Cot, pcg};
use brickwork_protocol::Promise;
use brickwork_protocol::steps::Step;
use brickwork_protocol::stock::PreprocessingStep;
use brickwork_protocol::stock::records::{Batches, WantedItems};
use brickwork_store::{GivenUp, Serial};

use super::records::Header;
use crate::components::{Garbled, Received};
use crate::layout::{Forced, Layout, Lot, add_inputs, can_be_masked, lots};
use crate::parameters::{LotBudget, LotOrigin, SIZES, Sizes, StatisticalLengths};
use crate::report::promise_of;
use crate::role::Role as _;

/// The kind of a batch's items.
pub(super) const COPIES: u8 = 0;
pub(super) const MASKS: u8 = 1;

/// A pool of a lot leaks with a probability of at most 2^-s divided by 2 to this power. If 64 lots are given
/// up, they use three fourths of 2^-s, together with the other guesses in these lots.
const ATTEMPTS_LOG2: f64 = 8.0;

/// The part of 2^-s that the given-up lots of an epoch may use before no further lot begins in it. If they
/// used more, programs could soon not use new stock.
const GIVEN_UP_SHARE: f64 = 0.75;

/// The openings of masks in all programs of an epoch: 2^19 entries of the log. A program has fewer than 2^32
/// inputs and outputs, so it has at most 2^13 openings.
const OPENINGS_OF_PROGRAMS: u64 = 1 << 32;

/// The items to make in advance. The programs that will take them may not be known yet.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Request {
    /// Components, with the number of copies of each.
    pub components: Vec<(Component, usize)>,
    /// The number of masks: one for each input bit of either party.
    pub inputs: usize,
}

impl std::fmt::Display for Request {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let components = self.components.iter().map(|(component, count)| (*count, component.name.as_str()));
        let parts = components.chain([(self.inputs, "input masks")]).filter(|(count, _)| *count > 0);
        let parts: Vec<String> = parts.map(|(count, name)| format!("{count} {name}")).collect();
        f.write_str(&if parts.is_empty() { "nothing".into() } else { parts.join(", ") })
    }
}

impl Request {
    /// Returns the items of a program.
    ///
    /// # Errors
    /// [`Error::Input`] if a gate cannot be masked, [`Error::Limit`] if the program is too large.
    pub fn of(program: &Program) -> Result<Self, Error> {
        let layout = Layout::new(program)?;
        Self::of_layout(&layout)
    }

    /// Returns the items of a program, as [`Request::of`]. A program without slots and inputs takes one mask
    /// nevertheless, which hides nothing: an entry of the log must burn at least one item.
    pub(crate) fn of_layout(layout: &Layout) -> Result<Self, Error> {
        let components = layout.program.components().iter().zip(&layout.copies);
        let components = components.filter(|(_, copies)| **copies > 0);
        let components: Vec<_> = components.map(|(component, copies)| (component.clone(), *copies)).collect();
        let inputs = layout.all_inputs().max(components.is_empty().into());
        let most = components.iter().map(|(_, copies)| *copies).chain([inputs]).max().unwrap_or(0);
        match u32::try_from(most) {
            Ok(_) => Ok(Request { components, inputs }),
            Err(_) => Err(Error::Limit(
                "a program from stock must have fewer than 2^32 input bits and copies of each component; \
                 use fewer --executions"
                    .into(),
            )),
        }
    }

    /// Returns the circuits and digests of the components.
    pub(crate) fn named(&self) -> impl Iterator<Item = (&Circuit, [u8; 32])> {
        self.components.iter().map(|(component, _)| (&*component.circuit, component.digest()))
    }

    /// Returns the circuit and the number of copies of each component.
    pub(crate) fn counted(&self) -> impl Iterator<Item = (&Circuit, usize)> + Clone {
        self.components.iter().map(|(component, copies)| (&*component.circuit, *copies))
    }

    /// Adds copies of a component. Components with the same digest share one count.
    pub fn add(&mut self, component: &Component, count: usize) {
        let digest = component.digest();
        match self.components.iter_mut().find(|(known, _)| known.digest() == digest) {
            _ if count == 0 => {}
            Some((_, all)) => *all += count,
            None => self.components.push((component.clone(), count)),
        }
    }

    /// Returns whether nothing is requested.
    pub fn is_empty(&self) -> bool {
        self.inputs == 0 && self.components.iter().all(|(_, count)| *count == 0)
    }

    /// Splits the request into the steps that make it: lots, each with its own pool.
    ///
    /// # Errors
    /// [`Error::Input`] if a component has a gate that cannot be masked.
    pub(crate) fn steps(
        &self,
        level: StatisticalLengths,
        forced: &Forced,
    ) -> Result<Vec<Filling<'_>>, Error> {
        self.components.iter().try_for_each(|(component, _)| can_be_masked(component))?;
        let sizes = forced.sizes.unwrap_or(SIZES);
        let mut all = lots(self.counted(), sizes);
        add_inputs(&mut all, self.inputs);
        all.retain(|lot| lot.inputs > 0 || !lot.parts.is_empty());
        for lot in &mut all {
            lot.pool = forced.pool(lot.ands, f64::from(level.security) + ATTEMPTS_LOG2);
        }
        Ok(all.into_iter().map(|lot| Filling { request: self, lot, sizes, level }).collect())
    }

    /// Lists the requested items: the components in order, then the input masks.
    fn wanted(&self) -> Vec<WantedItems<'_>> {
        let rest = WantedItems { kind: MASKS, component: [0; 32], name: "input masks", count: self.inputs };
        WantedItems::copies(COPIES, &self.components).chain([rest]).collect()
    }

    /// Chooses items for this request, oldest first: pairs of a batch and the number of items to take from
    /// it.
    ///
    /// # Errors
    /// [`Error::Stock`] if there are too few items.
    pub(super) fn choose(&self, there: &Batches) -> Result<Vec<(Serial, u32)>, Error> {
        there.choose(&self.wanted())
    }

    /// Returns the missing items, if these exist. If no item is missing but the items could not be taken, all
    /// items are made once more.
    pub(super) fn missing(&self, there: &Batches) -> Self {
        let lacking = there.lacking(&self.wanted());
        let components = self.components.iter().zip(&lacking).filter(|(_, lacking)| **lacking > 0);
        let missing = Request {
            components: components.map(|((component, _), lacking)| (component.clone(), *lacking)).collect(),
            inputs: lacking[self.components.len()],
        };
        if missing.is_empty() { self.clone() } else { missing }
    }

    /// Returns the number of programs for which the items are enough.
    pub(super) fn suffices(&self, there: &Batches) -> u64 {
        there.suffices(&self.wanted())
    }
}

/// Returns the origins of all lots from which these batches come, each lot once.
pub(super) fn origins<'h>(headers: impl Iterator<Item = &'h Header>) -> Vec<LotOrigin> {
    let mut known = std::collections::BTreeMap::new();
    headers.for_each(|header| _ = known.insert(header.step, header.origin));
    known.into_values().collect()
}

/// Returns the bound on a cheater's success with all stock of an epoch, in all programs that use it. There is
/// one bound for all programs, because a detected cheat ends all of them.
///
/// # Errors
/// [`Error::Stock`] if a header is malformed.
pub(super) fn budget(there: &Batches, level: StatisticalLengths) -> Result<LotBudget, Error> {
    let headers = there.made().map(|left| Header::decode(&left.batch.header));
    let headers = headers.collect::<Result<Vec<_>, _>>()?;
    let budget = LotBudget::of(level, origins(headers.iter()), OPENINGS_OF_PROGRAMS);
    Ok(budget.and_given_up(there.given_up().risk))
}

/// Checks that an epoch keeps its promise with another program.
///
/// # Errors
/// [`Error::Stock`] if a cheater would succeed with probability above 2^-s in this epoch.
pub(super) fn keeps_promise(there: &Batches, level: StatisticalLengths) -> Result<(), Error> {
    let (spent, security) = (budget(there, level)?.log2(), level.security);
    if spent <= -f64::from(security) {
        return Ok(());
    }
    Err(Error::Stock(format!(
        "so many steps of this part of the stock were given up that a cheater would succeed with \
         probability up to {}, more than 2^-{security}; burn this part (`brickwork stock burn`) and make \
         new stock",
        at_most(spent)
    )))
}

/// Returns whether another lot may begin in an epoch with these given-up lots.
pub(super) fn may_begin(given_up: GivenUp, security: u32) -> bool {
    Upper::fixed(given_up.risk) <= Upper::exp2(-f64::from(security) + GIVEN_UP_SHARE.log2())
}

/// Returns the risk of an epoch without any lots, in units of 2^-128.
///
/// # Errors
/// [`Error::Usage`] for a security other than 40, 64 or 80.
pub(super) fn fixed(security: u32) -> Result<u128, Error> {
    let budget = LotBudget::of(StatisticalLengths::of(security)?, [], OPENINGS_OF_PROGRAMS);
    Ok(Upper::exp2(budget.log2()).to_fixed())
}

/// Returns the risk if a peer interrupts a setup or a lot before the comparison, in units of 2^-128: at most
/// that of one iteration of a PCG in each direction.
pub(super) fn early_risk() -> u128 {
    Upper::exp2(1.0 + pcg::check_log2()).to_fixed()
}

/// A step of preprocessing: a lot of a request.
pub struct Filling<'r> {
    pub(crate) request: &'r Request,
    pub(crate) lot: Lot,
    pub(crate) sizes: Sizes,
    pub(crate) level: StatisticalLengths,
}

impl Filling<'_> {
    /// Returns a digest of these steps and their kind of OTs.
    pub fn digest_of(steps: &[Filling], cot: Cot) -> [u8; 32] {
        let mut digest = Digest::of("brickwork 2026-11 session with authenticated masks");
        digest.length(cot as usize).length(steps.len());
        for step in steps {
            digest.digest(&PreprocessingStep::request(step)).digest(&step.parameters());
        }
        digest.done()
    }

    /// Returns the figures of this lot for a bound, if its masks come from these OTs.
    pub fn origin(&self, cot: Cot) -> LotOrigin {
        self.lot.origin(self.sizes, cot)
    }
}

impl PreprocessingStep for Filling<'_> {
    fn request(&self) -> [u8; 32] {
        let mut digest = Digest::of("brickwork 2026-11 authenticated stock");
        digest.length(self.request.components.len());
        for (component, _) in &self.request.components {
            digest.digest(&component.digest());
        }
        self.lot.add_to(&mut digest);
        digest.done()
    }

    fn parameters(&self) -> [u8; 32] {
        let mut digest = Digest::of("brickwork 2026-11 authenticated stock parameters");
        let Sizes { lot, part, portion } = self.sizes;
        digest.number(self.level.security).number(self.level.compared).length(self.level.tag);
        digest.length(lot).length(part).length(portion);
        digest.done()
    }

    fn bytes(&self) -> u64 {
        32 * self.lot.ands as u64
    }

    fn stored_bytes(&self, role: Party) -> u64 {
        let circuit = |component: usize| &*self.request.components[component].0.circuit;
        let copies = self.lot.parts.iter().map(|part| (circuit(part.component), part.copies));
        match role {
            Party::Garbler => Garbled::waiting(self.level.tag, copies, self.lot.inputs),
            Party::Evaluator => Received::waiting(self.level.tag, copies, self.lot.inputs),
        }
    }
}

/// A program, its items, and this party's input.
pub struct Execution<'j> {
    pub(crate) step: &'j Step,
    pub(crate) layout: &'j Layout<'j>,
    pub(crate) needs: &'j Request,
    pub(crate) input: &'j [bool],
    /// Checks the promise of an epoch. A cheater in a test that uses other lengths skips this.
    pub(crate) promise: Option<StatisticalLengths>,
}

/// Returns the promise of a program if all its items were made by one preprocessing for it.
///
/// # Errors
/// As [`Request::steps`].
pub(super) fn promise(
    layout: &Layout,
    needs: &Request,
    level: StatisticalLengths,
    cot: Cot,
) -> Result<Promise, Error> {
    let steps = needs.steps(level, &Forced::default())?;
    let origins: Vec<LotOrigin> = steps.iter().map(|step| step.origin(cot)).collect();
    let budget = LotBudget::of(level, origins.iter().copied(), OPENINGS_OF_PROGRAMS);
    Ok(promise_of(layout, level, cot, &budget, origins.iter().map(|origin| origin.pool)))
}
