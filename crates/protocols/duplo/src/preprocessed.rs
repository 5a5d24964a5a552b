//! Makes items that are checked but not yet proven: components, authenticators and OTs that are made together
//! share the same flights.
//!
//! ```text
//!   garbler -> evaluator    commitments to everything, hashes of tables and authenticators
//!   evaluator -> garbler    seed;   garbler -> evaluator    answer: all of these are commitments
//!   evaluator -> garbler    challenges of all batches; sums of labels and bits of the OTs
//!   garbler -> evaluator    after a check of the sums: openings, delta differences, solderings, tables
//! ```
//!
//! A later proof covers the claims of the last message. It may cover other claims, too, such as those about a
//! program's solderings if the items are used at once. The items are [`Claimed`] until then.
//!
//! The first proof comes before the challenges. Otherwise values that are no valid commitments could be
//! opened in two ways after the challenges.

use std::ops::Range;

use super::authenticators::{
    EvaluatorAuthenticators, EvaluatorComponent, GarblerAuthenticators, GarblerComponent,
};
use super::claims::{self, CopyClaims, CopyOpenings, OutputsOf, Solderings, UseOpenings};
use super::input_ots::{EvaluatorInputOts, GarblerInputOts};
use super::items::PreprocessedItems;
use super::ots::{self, EvaluatorRandomCots, GarblerRandomCots};
use super::party::EvaluatorCore;
use super::prepare;
use super::preprocess;
use super::request::Request;
use super::setup::{self, Alongside};
use super::{Error, Garbler, Parameters, challenge};
use brickwork_base::bits::Bits;
use brickwork_primitives::commit::{self, Claimed, Claims, New, Pending, Proof, Receiver, Sender, Shares};
use brickwork_primitives::spill::Spill;

pub(super) type GarblerPreprocessed =
    PreprocessedItems<GarblerComponent, GarblerAuthenticators, GarblerInputOts>;

pub(super) type EvaluatorPreprocessed =
    PreprocessedItems<EvaluatorComponent, EvaluatorAuthenticators, EvaluatorInputOts>;

/// The garbler's items after it has committed to them.
#[derive(Default)]
pub(super) struct GarblerCommitted {
    components: Vec<preprocess::GarblerCopies>,
    authenticators: Option<[prepare::GarblerKeyAuthenticators; 2]>,
    ots: Option<ots::GarblerCommittedOts>,
}

impl GarblerCommitted {
    /// Makes the requested items, and commits to them and to these OTs.
    pub fn to<C: commit::CommitmentScheme>(
        party: &mut Garbler<C>,
        asked: Option<(&Request, &Parameters)>,
        ots: Option<GarblerRandomCots>,
    ) -> Result<Self, Error> {
        let mut committed = GarblerCommitted::default();
        if let Some((request, parameters)) = asked {
            party.run.phase("preprocess");
            party.run.expect(parameters.table_bytes(request));
            committed.components = preprocess::garbler_commits(party, request, parameters)?;
            party.run.phase("prepare");
            committed.authenticators = Some(prepare::garbler_commits(party, parameters)?);
        }
        committed.ots = ots.map(|cots| cots.commit(party)).transpose()?;
        Ok(committed)
    }

    /// Proves that all of these are valid commitments. A session's `first` proof also covers the offsets.
    pub fn prove<C: commit::CommitmentScheme>(
        &self,
        party: &mut Garbler<C>,
        first: bool,
    ) -> Result<(), Error> {
        let Garbler { run, sender, ka, ot, .. } = party;
        let mut new: Vec<New> = Vec::new();
        let mut claims = Claims::new();
        if first {
            new.extend([&*ka, &*ot].map(New::from));
            setup::offset_claims(ka, ot, &mut claims);
        }
        new.extend(self.components.iter().flat_map(|made| made.new_commitments()));
        new.extend(self.authenticators.iter().flatten().flat_map(|made| made.new_commitments()));
        new.extend(self.ots.iter().flat_map(|ots| ots.new_commitments()));
        sender.prove(&mut run.channel, &new, &claims)
    }

    /// Opens the challenged items after E has revealed its sums of OTs.
    pub fn open<C: commit::CommitmentScheme>(
        self,
        party: &mut Garbler<C>,
    ) -> Result<(GarblerPreprocessed, GarblerOpenings), Error> {
        let GarblerCommitted { components, authenticators, ots } = self;
        let mut seeds = Vec::new();
        if authenticators.is_some() {
            for (phase, batches) in [("preprocess", components.len()), ("prepare", 2)] {
                party.run.phase(phase);
                seeds.extend(challenge::receive(&mut party.run.channel, batches)?);
            }
            party.run.exposed()?;
        }
        let (ots, revealed) = ots.map(|ots| ots.receive_revealed(party)).transpose()?.unzip();

        let (of_components, of_authenticators) = seeds.split_at(components.len());
        let (mut preprocessed, mut openings) = (
            PreprocessedItems { components: Vec::new(), input_authenticators: Vec::new(), ots },
            GarblerOpenings { revealed, ..Default::default() },
        );
        let Some(authenticators) = authenticators else { return Ok((preprocessed, openings)) };
        party.run.phase("preprocess");
        let opened = components.into_iter().zip(of_components).map(|(made, seed)| made.open(party, seed));
        let batches = opened.collect::<Result<Vec<_>, Error>>()?;
        party.run.phase("prepare");
        let opened = prepare::garbler_opens(party, authenticators, batches, of_authenticators)?;
        (preprocessed.components, preprocessed.input_authenticators) =
            (opened.components, opened.input_authenticators);
        (openings.copies, openings.authenticators) = (opened.copies, opened.authenticators.into());
        Ok((preprocessed, openings))
    }
}

/// The garbler's openings that are not proven yet.
#[derive(Default)]
pub(super) struct GarblerOpenings {
    copies: Vec<prepare::GarblerOpenedCopies>,
    authenticators: Vec<prepare::GarblerOpenedAuthenticators>,
    revealed: Option<ots::RevealedCombinations>,
}

impl GarblerOpenings {
    /// Adds all claims about the openings, and about the solderings between items that were made together.
    pub fn claims<'a>(
        &'a self,
        [ka, ot]: [&'a Shares; 2],
        components: &'a [GarblerComponent],
        input_authenticators: &'a [GarblerAuthenticators],
        claims: &mut Claims<'a>,
    ) {
        self.revealed.iter().for_each(|revealed| revealed.claims(ot, claims));
        let of_copies = |(made, component): (&'a prepare::GarblerOpenedCopies, &'a GarblerComponent)| {
            let openings = CopyOpenings {
                opened: None,
                delta_differences: None,
                solderings: Solderings { flips: &made.flips, received: None },
                outputs: Solderings { flips: &made.output_flips, received: None },
                chosen: &made.chosen,
                head_inputs: component.batch.inputs.shares(),
            };
            OutputsOf {
                shape: made.copies.shape,
                chosen: &made.chosen,
                claims: made.copies.claim(ka, openings, claims),
            }
        };
        let outputs: Vec<OutputsOf> = self.copies.iter().zip(components).map(of_copies).collect();
        let authenticators = components.iter().take(outputs.len()).map(|component| &component.authenticators);
        let mut heads =
            authenticators.chain(input_authenticators).map(|authenticators| authenticators.wires.shares());
        let mut outputs = outputs.into_iter();
        for made in &self.authenticators {
            let openings = |buckets: &'a Range<usize>| UseOpenings {
                delta_differences: None,
                solderings: None,
                chosen: &made.chosen,
                first: buckets.start * made.authenticators.size,
                heads: heads.next().expect("each use has its heads"),
                outputs: outputs.next(),
            };
            made.authenticators.claim(
                ka,
                None,
                made.authenticators.uses.iter().map(openings).collect(),
                claims,
            );
        }
    }
}

/// The commitments to the evaluator's items. `C` is [`Pending`] or, after the proof, [`Shares`].
pub(super) struct EvaluatorCommitted<C> {
    components: Vec<preprocess::EvaluatorCopies<C>>,
    authenticators: Option<[prepare::EvaluatorKeyAuthenticators<C>; 2]>,
    ots: Option<ots::EvaluatorCommittedOts<C>>,
    /// The place for the openings of all of these items.
    spill: Spill,
}

impl EvaluatorCommitted<Pending> {
    /// Receives the commitments to the requested items, and to these OTs.
    pub fn to<C: commit::CommitmentScheme>(
        core: &mut EvaluatorCore<C>,
        asked: Option<(&Request, &Parameters)>,
        ots: Option<EvaluatorRandomCots>,
    ) -> Result<Self, Error> {
        let (mut components, mut authenticators, mut spill) = (Vec::new(), None, Spill::memory());
        if let Some((request, parameters)) = asked {
            core.run.phase("preprocess");
            core.run.expect(parameters.table_bytes(request));
            let circuits = request.components.iter().map(|(component, _)| &*component.circuit);
            if parameters.openings_bytes(circuits) > core.openings_memory {
                spill = Spill::file(core.receiver.fault())?;
            }
            components = preprocess::evaluator_receives(core, request, parameters)?;
            core.run.phase("prepare");
            authenticators = Some(prepare::evaluator_receives(core, parameters, &spill)?);
        }
        let ots = ots.map(|cots| cots.receive(core)).transpose()?;
        Ok(EvaluatorCommitted { components, authenticators, ots, spill })
    }

    fn pending(&self) -> Vec<&Pending> {
        let components = self.components.iter().flat_map(|received| received.pending());
        let authenticators = self.authenticators.iter().flatten().flat_map(|received| received.pending());
        components.chain(authenticators).chain(self.ots.iter().flat_map(|ots| ots.pending())).collect()
    }

    fn accept(self, proof: &Proof) -> EvaluatorCommitted<Shares> {
        EvaluatorCommitted {
            components: self.components.into_iter().map(|received| received.accept(proof)).collect(),
            authenticators: self
                .authenticators
                .map(|authenticators| authenticators.map(|received| received.accept(proof))),
            ots: self.ots.map(|ots| ots.accept(proof)),
            spill: self.spill,
        }
    }

    /// Checks that all of these are valid commitments. A session's first proof also covers its offsets
    /// (`alongside`).
    pub fn verify<C: commit::CommitmentScheme, A: Alongside>(
        self,
        core: &mut EvaluatorCore<C>,
        alongside: A,
    ) -> Result<(A::Proven, EvaluatorCommitted<Shares>), Error> {
        let mut claims = Claims::new();
        alongside.claims(&mut claims);
        let new = [alongside.pending(), self.pending()].concat();
        let proof = core.receiver.verify(&mut core.run.channel, &new, &claims)?;
        drop(claims);
        Ok((alongside.accept(&proof), self.accept(&proof)))
    }
}

impl EvaluatorCommitted<Shares> {
    /// Challenges the garbler and checks its openings.
    pub fn open<C: commit::CommitmentScheme>(
        self,
        core: &mut EvaluatorCore<C>,
    ) -> Result<(Claimed<EvaluatorPreprocessed>, EvaluatorOpenings), Error> {
        let EvaluatorCommitted { components, authenticators, ots, spill } = self;
        let mut seeds = Vec::new();
        if authenticators.is_some() {
            core.run.expose()?;
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
        let (ots, revealed) = ots.map(|ots| ots.reveal(core)).transpose()?.unzip();

        let (of_components, of_authenticators) = seeds.split_at(components.len());
        let mut preprocessed =
            PreprocessedItems { components: Vec::new(), input_authenticators: Vec::new(), ots };
        let mut all = EvaluatorOpenings { revealed, ..Default::default() };
        let Some(authenticators) = authenticators else {
            return Ok((core.receiver.claimed(preprocessed), all));
        };
        core.run.phase("preprocess");
        let mut batches = Vec::new();
        for (received, seed) in components.into_iter().zip(of_components) {
            let preprocess::EvaluatorOpenedBatch { batch, copies, opened, flips } =
                received.open(core, &spill, seed)?;
            batches.push(batch);
            all.copies.push(EvaluatorOpenedCopies { copies, opened, flips, output_flips: Bits::default() });
        }
        core.run.phase("prepare");
        let opened = prepare::evaluator_opens(core, authenticators, batches, &spill, of_authenticators)?;
        all.copies
            .iter_mut()
            .zip(opened.output_flips)
            .for_each(|(copies, flips)| copies.output_flips = flips);
        (preprocessed.components, preprocessed.input_authenticators) =
            (opened.components, opened.input_authenticators);
        all.authenticators.extend(opened.opened);
        Ok((core.receiver.claimed(preprocessed), all))
    }
}

/// The openings of a component's copies.
struct EvaluatorOpenedCopies {
    copies: CopyClaims,
    opened: claims::OpenedCopies,
    /// The flips of the solderings in buckets, and of the solderings of outputs.
    flips: Bits,
    output_flips: Bits,
}

/// The openings that the evaluator has received and that must still be proven.
#[derive(Default)]
#[must_use = "opened values must be proven"]
pub(super) struct EvaluatorOpenings {
    copies: Vec<EvaluatorOpenedCopies>,
    authenticators: Vec<prepare::EvaluatorOpenedAuthenticators>,
    revealed: Option<ots::RevealedCombinations>,
}

impl EvaluatorOpenings {
    /// Adds all claims about the openings, and about the solderings between items that were made together.
    pub fn claims<'a>(
        &'a self,
        [ka, ot]: [&'a Shares; 2],
        components: &'a [EvaluatorComponent],
        input_authenticators: &'a [EvaluatorAuthenticators],
        claims: &mut Claims<'a>,
    ) {
        self.revealed.iter().for_each(|revealed| revealed.claims(ot, claims));
        let of_copies = |(all, component): (&'a EvaluatorOpenedCopies, &'a EvaluatorComponent)| {
            let (
                EvaluatorOpenedCopies { copies, opened, flips, output_flips },
                EvaluatorComponent { batch, output_solderings, .. },
            ) = (all, component);
            let openings = CopyOpenings {
                opened: Some(opened),
                delta_differences: Some(&batch.delta_differences),
                solderings: Solderings { flips, received: Some(&batch.solderings) },
                outputs: Solderings { flips: output_flips, received: Some(output_solderings) },
                chosen: &batch.copies,
                head_inputs: &batch.inputs,
            };
            OutputsOf {
                shape: copies.shape,
                chosen: &batch.copies,
                claims: copies.claim(ka, openings, claims),
            }
        };
        let outputs: Vec<OutputsOf> = self.copies.iter().zip(components).map(of_copies).collect();
        let authenticators = components.iter().take(outputs.len()).map(|component| &component.authenticators);
        let mut authenticators = authenticators.chain(input_authenticators);
        let mut outputs = outputs.into_iter();
        for made in &self.authenticators {
            let openings = |_: &Range<usize>| {
                let authenticators = authenticators.next().expect("each use has its authenticators");
                UseOpenings {
                    delta_differences: Some(&authenticators.rows.delta_differences),
                    solderings: Some(&authenticators.rows.solderings),
                    chosen: &authenticators.rows.indices,
                    first: 0,
                    heads: &authenticators.wires,
                    outputs: outputs.next(),
                }
            };
            made.authenticators.claim(
                ka,
                Some(&made.values),
                made.authenticators.uses.iter().map(openings).collect(),
                claims,
            );
        }
    }
}
