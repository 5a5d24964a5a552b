//! From commitments to checked pieces: components, gadgets and OTs that are made together go through the same
//! flights.
//!
//! ```text
//!   garbler -> evaluator    commitments to everything, hashes of tables and gadgets
//!   evaluator -> garbler    seed;   garbler -> evaluator    answer: all of these are commitments
//!   evaluator -> garbler    challenges of all batches; sums of labels and bits of the OTs
//!   garbler -> evaluator    after a look at all of these: openings, links, solderings, tables
//! ```
//!
//! What the last message claims is settled by a proof that its receiver may put other claims into: of a
//! program's solderings, where it is used at once. The pieces are [`Claimed`] until then.
//!
//! The first proof comes before the challenges: items whose words are no commitments could be read in two
//! ways after them.

use std::ops::Range;

use super::gadgets::{EvaluatorComponent, EvaluatorGadgets, GarblerComponent, GarblerGadgets};
use super::ots::{self, EvaluatorDrawn, EvaluatorOts, GarblerDrawn, GarblerOts};
use super::prepare;
use super::preprocess;
use super::sessions::EvaluatorCore;
use super::setup::{self, PendingOffsets};
use super::stock::{Pieces, Request};
use super::unproven::{self, Copies, CopiesTold, OutputsOf, UseTold};
use super::{Error, Evaluator, Garbler, Parameters, challenge};
use brickwork_base::bits::Bits;
use brickwork_primitives::commit::{Claimed, Claims, Committer, Holder, New, Pending, Proof, Shares};
use brickwork_primitives::scratch::Depot;
use brickwork_primitives::solder::Solderings;

/// Pieces that were made together: components, the pool for the garbler's wires, OTs.
pub(super) struct Supply<B, G, O> {
    pub components: Vec<B>,
    pub pools: Vec<G>,
    pub ots: Option<O>,
}

impl<B: Pieces, G: Pieces, O: Pieces> Supply<B, G, O> {
    /// For a stock.
    ///
    /// # Errors
    /// As [`Pieces::gathered`].
    pub fn gathered(self) -> Result<Self, Error> {
        Ok(Supply {
            components: self.components.into_iter().map(Pieces::gathered).collect::<Result<_, _>>()?,
            pools: self.pools.into_iter().map(Pieces::gathered).collect::<Result<_, _>>()?,
            ots: self.ots.map(Pieces::gathered).transpose()?,
        })
    }
}

/// The garbler's pieces.
pub(super) type GarblerSupply = Supply<GarblerComponent, GarblerGadgets, GarblerOts>;

/// The evaluator's pieces.
pub(super) type EvaluatorSupply = Supply<EvaluatorComponent, EvaluatorGadgets, EvaluatorOts>;

/// What the garbler has committed to.
#[derive(Default)]
pub(super) struct GarblerCommitted {
    components: Vec<preprocess::GarblerMade>,
    gadgets: Option<[prepare::GarblerMade; 2]>,
    ots: Option<ots::GarblerCommitted>,
}

impl GarblerCommitted {
    /// Makes and commits to everything that is asked for.
    pub fn to_all(
        party: &mut Garbler,
        request: &Request,
        parameters: &Parameters,
        ots: Option<GarblerDrawn>,
    ) -> Result<Self, Error> {
        party.run.phase("preprocess");
        party.run.expect(parameters.table_bytes(request));
        let components = preprocess::garbler_commits(party, request, parameters)?;
        party.run.phase("prepare");
        let gadgets = Some(prepare::garbler_commits(party, parameters)?);
        let ots = ots.map(|drawn| drawn.commit(party)).transpose()?;
        Ok(GarblerCommitted { components, gadgets, ots })
    }

    /// Commits to OTs alone.
    pub fn to_ots(party: &mut Garbler, ots: GarblerDrawn) -> Result<Self, Error> {
        Ok(GarblerCommitted { ots: Some(ots.commit(party)?), ..Self::default() })
    }

    /// Proves that all of these are commitments; in a session's `first` proof the offsets, too.
    pub fn prove(&self, party: &mut Garbler, first: bool) -> Result<(), Error> {
        let Garbler { run, committer, ka, ot, .. } = party;
        let mut new: Vec<New> = Vec::new();
        let mut claims = Claims::new();
        if first {
            new.extend([&*ka, &*ot].map(New::from));
            setup::offset_claims(ka, ot, &mut claims);
        }
        new.extend(self.components.iter().flat_map(|made| made.new_commitments()));
        new.extend(self.gadgets.iter().flatten().flat_map(|made| made.new_commitments()));
        new.extend(self.ots.iter().flat_map(|ots| ots.new_commitments()));
        committer.prove(&mut run.channel, &new, &claims)
    }

    /// Opens what E asks for, when it has shown what it must.
    pub fn open(self, party: &mut Garbler) -> Result<(GarblerSupply, GarblerTold), Error> {
        let GarblerCommitted { components, gadgets, ots } = self;
        let mut seeds = Vec::new();
        if gadgets.is_some() {
            for (phase, batches) in [("preprocess", components.len()), ("prepare", 2)] {
                party.run.phase(phase);
                seeds.extend(challenge::receive(&mut party.run.channel, batches)?);
            }
        }
        let (ots, shown) = ots.map(|ots| ots.shown(party)).transpose()?.unzip();

        let (of_components, of_gadgets) = seeds.split_at(components.len());
        let (mut supply, mut told) = (
            Supply { components: Vec::new(), pools: Vec::new(), ots },
            GarblerTold { shown, ..Default::default() },
        );
        let Some(gadgets) = gadgets else { return Ok((supply, told)) };
        party.run.phase("preprocess");
        let opened = components.into_iter().zip(of_components).map(|(made, seed)| made.open(party, seed));
        let batches = opened.collect::<Result<Vec<_>, Error>>()?;
        party.run.phase("prepare");
        let opened = prepare::garbler_opens(party, gadgets, batches, of_gadgets)?;
        (supply.components, supply.pools) = (opened.components, opened.pools);
        (told.copies, told.gadgets) = (opened.copies, opened.gadgets.into());
        Ok((supply, told))
    }
}

/// What the garbler has told and not proven yet.
#[derive(Default)]
pub(super) struct GarblerTold {
    copies: Vec<prepare::GarblerOpenedCopies>,
    gadgets: Vec<prepare::GarblerOpenedGadgets>,
    shown: Option<ots::Shown>,
}

impl GarblerTold {
    /// All claims: about what was opened, and about the pieces that were made with it, which stand first
    /// here.
    pub fn claims<'a>(
        &'a self,
        [ka, ot]: [&'a Shares; 2],
        components: &'a [GarblerComponent],
        pools: &'a [GarblerGadgets],
        claims: &mut Claims<'a>,
    ) {
        self.shown.iter().for_each(|shown| shown.claims(ot, claims));
        let of_copies = |(made, component): (&'a prepare::GarblerOpenedCopies, &'a GarblerComponent)| {
            let told = CopiesTold {
                opened: None,
                links: None,
                solderings: Solderings { flips: &made.flips, told: None },
                outputs: Solderings { flips: &made.output_flips, told: None },
                chosen: &made.chosen,
                head_inputs: component.batch.inputs.shares(),
            };
            OutputsOf {
                shape: made.copies.shape,
                chosen: &made.chosen,
                claims: made.copies.claim(ka, told, claims),
            }
        };
        let outputs: Vec<OutputsOf> = self.copies.iter().zip(components).map(of_copies).collect();
        let authenticators = components.iter().take(outputs.len()).map(|component| &component.authenticators);
        let mut heads = authenticators.chain(pools).map(|gadgets| gadgets.wires.shares());
        let mut outputs = outputs.into_iter();
        for made in &self.gadgets {
            let told = |buckets: &'a Range<usize>| UseTold {
                links: None,
                solderings: None,
                chosen: &made.chosen,
                first: buckets.start * made.gadgets.size,
                heads: heads.next().expect("gadgets of each use"),
                outputs: outputs.next(),
            };
            made.gadgets.claim(ka, None, made.gadgets.uses.iter().map(told).collect(), claims);
        }
    }
}

/// What the evaluator has commitments to, `C` is [`Pending`] or, after the proof, [`Shares`].
pub(super) struct EvaluatorCommitted<C> {
    components: Vec<preprocess::EvaluatorReceived<C>>,
    gadgets: Option<[prepare::EvaluatorReceived<C>; 2]>,
    ots: Option<ots::EvaluatorCommitted<C>>,
    /// Where goes what is told of all of these.
    depot: Depot,
}

impl EvaluatorCommitted<Pending> {
    /// Nothing, where the offsets alone are to be proven.
    pub fn to_nothing() -> Self {
        EvaluatorCommitted { components: Vec::new(), gadgets: None, ots: None, depot: Depot::memory() }
    }

    /// Receives commitments to everything that is asked for.
    pub fn to_all(
        core: &mut EvaluatorCore,
        request: &Request,
        parameters: &Parameters,
        ots: Option<EvaluatorDrawn>,
    ) -> Result<Self, Error> {
        core.run.phase("preprocess");
        core.run.expect(parameters.table_bytes(request));
        let circuits = request.components.iter().map(|(component, _)| &*component.circuit);
        let depot = match parameters.told_bytes(circuits) > core.told_memory {
            true => Depot::file(core.holder.fault())?,
            false => Depot::memory(),
        };
        let components = preprocess::evaluator_receives(core, request, parameters)?;
        core.run.phase("prepare");
        let gadgets = Some(prepare::evaluator_receives(core, parameters, &depot)?);
        let ots = ots.map(|drawn| drawn.receive(core)).transpose()?;
        Ok(EvaluatorCommitted { components, gadgets, ots, depot })
    }

    /// Receives commitments to OTs alone.
    pub fn to_ots(core: &mut EvaluatorCore, ots: EvaluatorDrawn) -> Result<Self, Error> {
        Ok(EvaluatorCommitted { ots: Some(ots.receive(core)?), ..Self::to_nothing() })
    }

    fn pending(&self) -> Vec<&Pending> {
        let components = self.components.iter().flat_map(|received| received.pending());
        let gadgets = self.gadgets.iter().flatten().flat_map(|received| received.pending());
        components.chain(gadgets).chain(self.ots.iter().flat_map(|ots| ots.pending())).collect()
    }

    fn accept(self, proof: &Proof) -> EvaluatorCommitted<Shares> {
        EvaluatorCommitted {
            components: self.components.into_iter().map(|received| received.accept(proof)).collect(),
            gadgets: self.gadgets.map(|gadgets| gadgets.map(|received| received.accept(proof))),
            ots: self.ots.map(|ots| ots.accept(proof)),
            depot: self.depot,
        }
    }

    /// Checks that all of these are commitments.
    pub fn verify(self, core: &mut EvaluatorCore) -> Result<EvaluatorCommitted<Shares>, Error> {
        let proof = core.holder.verify(&mut core.run.channel, &self.pending(), &Claims::new())?;
        Ok(self.accept(&proof))
    }

    /// Checks that all of these and the session's offsets are commitments: its first proof.
    pub fn verify_first<'o>(
        self,
        mut core: EvaluatorCore<'o>,
        offsets: PendingOffsets,
    ) -> Result<(Evaluator<'o>, EvaluatorCommitted<Shares>), Error> {
        let mut claims = Claims::new();
        offsets.claims(&mut claims);
        let new = [&offsets.pending()[..], &self.pending()].concat();
        let proof = core.holder.verify(&mut core.run.channel, &new, &claims)?;
        drop(claims);
        Ok((offsets.accept(core, &proof), self.accept(&proof)))
    }
}

impl EvaluatorCommitted<Shares> {
    /// Challenges the garbler and checks what it opens.
    pub fn open(
        self,
        core: &mut EvaluatorCore,
    ) -> Result<(Claimed<EvaluatorSupply>, EvaluatorOpened), Error> {
        let EvaluatorCommitted { components, gadgets, ots, depot } = self;
        let mut seeds = Vec::new();
        if gadgets.is_some() {
            for (phase, batches) in [("preprocess", components.len()), ("prepare", 2)] {
                core.run.phase(phase);
                seeds.extend(challenge::draw(
                    &mut core.run.channel,
                    &mut core.rng,
                    &mut core.hooks,
                    batches,
                )?);
            }
        }
        let (ots, shown) = ots.map(|ots| ots.show(core)).transpose()?.unzip();

        let (of_components, of_gadgets) = seeds.split_at(components.len());
        let mut supply = Supply { components: Vec::new(), pools: Vec::new(), ots };
        let mut all = EvaluatorOpened { shown, ..Default::default() };
        let Some(gadgets) = gadgets else { return Ok((core.holder.claimed(supply), all)) };
        core.run.phase("preprocess");
        let mut batches = Vec::new();
        for (received, seed) in components.into_iter().zip(of_components) {
            let preprocess::EvaluatorOpened { batch, copies, opened, flips } =
                received.open(core, &depot, seed)?;
            batches.push(batch);
            all.copies.push(CopiesOpened { copies, opened, flips, output_flips: Bits::default() });
        }
        core.run.phase("prepare");
        let opened = prepare::evaluator_opens(core, gadgets, batches, &depot, of_gadgets)?;
        all.copies
            .iter_mut()
            .zip(opened.output_flips)
            .for_each(|(copies, flips)| copies.output_flips = flips);
        (supply.components, supply.pools) = (opened.components, opened.pools);
        all.gadgets.extend(opened.opened);
        Ok((core.holder.claimed(supply), all))
    }
}

/// What was opened of a component's copies.
struct CopiesOpened {
    copies: Copies,
    opened: unproven::Opened,
    /// Of the solderings in buckets, and of those of outputs.
    flips: Bits,
    output_flips: Bits,
}

/// What was opened to the evaluator, and is not proven yet.
#[derive(Default)]
#[must_use = "what was opened must be proven"]
pub(super) struct EvaluatorOpened {
    copies: Vec<CopiesOpened>,
    gadgets: Vec<prepare::EvaluatorOpenedGadgets>,
    shown: Option<ots::Shown>,
}

impl EvaluatorOpened {
    /// All claims; about what was opened, and about the pieces that were made with it, which stand first
    /// here.
    pub fn claims<'a>(
        &'a self,
        [ka, ot]: [&'a Shares; 2],
        components: &'a [EvaluatorComponent],
        pools: &'a [EvaluatorGadgets],
        claims: &mut Claims<'a>,
    ) {
        self.shown.iter().for_each(|shown| shown.claims(ot, claims));
        let of_copies = |(all, component): (&'a CopiesOpened, &'a EvaluatorComponent)| {
            let (
                CopiesOpened { copies, opened, flips, output_flips },
                EvaluatorComponent { batch, output_solderings, .. },
            ) = (all, component);
            let told = CopiesTold {
                opened: Some(opened),
                links: Some(&batch.links),
                solderings: Solderings { flips, told: Some(&batch.solderings) },
                outputs: Solderings { flips: output_flips, told: Some(output_solderings) },
                chosen: &batch.copies,
                head_inputs: &batch.inputs,
            };
            OutputsOf { shape: copies.shape, chosen: &batch.copies, claims: copies.claim(ka, told, claims) }
        };
        let outputs: Vec<OutputsOf> = self.copies.iter().zip(components).map(of_copies).collect();
        let authenticators = components.iter().take(outputs.len()).map(|component| &component.authenticators);
        let mut gadgets = authenticators.chain(pools);
        let mut outputs = outputs.into_iter();
        for made in &self.gadgets {
            let told = |_: &Range<usize>| {
                let gadgets = gadgets.next().expect("gadgets of each use");
                UseTold {
                    links: Some(&gadgets.rows.links),
                    solderings: Some(&gadgets.rows.solderings),
                    chosen: &gadgets.rows.indices,
                    first: 0,
                    heads: &gadgets.wires,
                    outputs: outputs.next(),
                }
            };
            made.gadgets.claim(ka, Some(&made.values), made.gadgets.uses.iter().map(told).collect(), claims);
        }
    }
}
