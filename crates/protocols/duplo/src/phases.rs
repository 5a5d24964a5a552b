//! The order of a run, for each role. A whole run, a session whose caller stops between phases, and a step on
//! stock all call the functions here in this order. Each function takes the value that the previous one
//! returned. The numbers are the crossings of a whole run (docs/protocols/duplo.md, "The flights").
//!
//! The three kinds of run send the same messages, but group them into flights differently ([`Flights`]). With
//! [merged](Flights::Merged) flights, the proof of the inputs also covers the solderings:
//!
//! ```text
//!   both at once             the step's digest;   E: f   G: the solderings                 crossing 1
//!   garbler -> evaluator     labels of both inputs, indicator bits                                  2
//!   evaluator -> garbler     seed                                                                   3
//!   garbler -> evaluator     proof of the solderings, the inputs, and other open claims             4
//!   evaluator -> garbler     the garbler's outputs                                                  5
//! ```
//!
//! So the evaluator has its outputs after two round trips, and the garbler half a round trip later. The
//! values in parentheses number the messages of a whole run (docs/protocols/duplo.md, "The flights").
//!
//! The messages of crossing 1 do not wait for each other, and reveal nothing if the peer runs another step.
//! The value f is the input masked with secret choice bits, and solderings are sums of labels of which the
//! other party knows none. The items are not used again, because the session then ends. All messages that
//! need a proof come before the single proof. So only this proof must be awaited before the first output
//! (docs/guides/reactive.md).

use super::Error;
use super::steps::Step;
use brickwork_protocol::stock::Stand;
use brickwork_protocol::{Metered, announce, confirm};

/// The error message if the parties run different steps.
pub(super) const OTHER_STEP: &str = "the two parties run different programs";

/// The way in which messages of build and evaluate are grouped into flights.
pub(super) enum Flights {
    /// The caller may stop after each phase, so `build` ends with the proof of the solderings (8, 9).
    Apart,
    /// A whole run: the evaluator's masked input and the seed for the proof of the solderings share a flight
    /// (8).
    Whole,
    /// A step of an existing session: the masked input (8) and the solderings (7) cross, and one proof covers
    /// the solderings and the inputs (10, 11).
    Merged(Option<Unconfirmed>),
}

/// The way in which the parties check that they run the same step. Each party announces its value at the
/// beginning of the first flight, and compares the peer's value before the second flight.
pub(super) enum Agreement {
    /// The parties compare digests of the step.
    Steps,
    /// The parties have agreed on the step and its items. Each must still confirm that the other party's
    /// store has burned these items.
    Stores(Stand),
}

/// The value that the peer must still send and this party must compare.
pub(super) enum Unconfirmed {
    Step([u8; 32]),
    Stand(Stand),
}

impl Agreement {
    /// Announces this party's value. If OTs are missing, the step needs further messages first, so this party
    /// awaits the peer's value here.
    fn announce(self, run: &mut Metered, step: &Step, lacking: bool) -> Result<Flights, Error> {
        run.program();
        let unconfirmed = match self {
            Agreement::Stores(stand) => Unconfirmed::Stand(stand),
            Agreement::Steps => {
                let digest = step.digest();
                announce(&mut run.channel, &digest)?;
                Unconfirmed::Step(digest)
            }
        };
        if !lacking {
            return Ok(Flights::Merged(Some(unconfirmed)));
        }
        unconfirmed.confirm(run)?;
        Ok(Flights::Merged(None))
    }
}

impl Unconfirmed {
    fn confirm(self, run: &mut Metered) -> Result<(), Error> {
        match self {
            Unconfirmed::Stand(stand) => stand.confirm(run),
            Unconfirmed::Step(digest) => confirm(&mut run.channel, &digest, OTHER_STEP),
        }
    }
}

/// The phases of the garbler.
pub(super) mod garbler {
    use super::super::build::{self, GarblerClaims, GarblerReady, ProgramSolderings};
    use super::super::ots::{self, GarblerRandomCots};
    use super::super::party::GarblerMaterial;
    use super::super::preprocessed::{GarblerCommitted, GarblerOpenings, GarblerPreprocessed};
    use super::super::{Aside, Garbler, Parameters, Request, StepReport, decode, evaluate};
    use super::{Agreement, Error, Flights, Step};
    use brickwork_base::Party;
    use brickwork_base::bits::Bits;
    use brickwork_circuit::Program;
    use brickwork_primitives::commit;

    /// Preprocesses the request, and binds OTs that were just made to their commitments. The first proof of a
    /// session (`first`) also covers the offsets. Returns the items, and the openings that must still be
    /// proven.
    ///
    /// # Errors
    /// [`Error::Peer`] if the evaluator's sums of OTs are wrong, [`Error::Io`] if it goes away.
    pub fn preprocess<C: commit::CommitmentScheme>(
        party: &mut Garbler<C>,
        asked: Option<(&Request, &Parameters)>,
        ots: Option<GarblerRandomCots>,
        first: bool,
    ) -> Result<(GarblerPreprocessed, GarblerOpenings), Error> {
        let committed = GarblerCommitted::to(party, asked, ots)?; // 3
        committed.prove(party, first)?; // 4, 5
        committed.open(party) // 6, 7
    }

    /// Makes OTs if the material has none. Returns the material, and openings that must still be proven.
    pub fn make_lacking_ots<C: commit::CommitmentScheme>(
        party: &mut Garbler<C>,
        mut material: GarblerMaterial,
    ) -> Result<(GarblerMaterial, GarblerOpenings), Error> {
        if material.ots.is_some() {
            return Ok((material, GarblerOpenings::default()));
        }
        let count = material.layout.evaluator_inputs.len();
        let cots = ots::garbler_random_cots(&mut party.run, &mut party.cot, count, party.binding)?;
        let (preprocessed, openings) = preprocess(party, None, Some(cots), false)?;
        material.ots = Some(preprocessed.ots.into_iter().collect());
        Ok((material, openings))
    }

    /// A program whose solderings have been sent.
    pub struct Built {
        ready: GarblerReady,
        /// The solderings, and the openings of the material, until they are proven.
        claimed: Option<(ProgramSolderings<Bits>, GarblerOpenings)>,
        /// True in a whole run: the solderings are proven when the evaluator's masked input has arrived.
        whole: bool,
    }

    impl Built {
        /// Sends the solderings that join the material to the program.
        ///
        /// # Errors
        /// [`Error::Mismatch`] if the peer runs another step, [`Error::Io`] if it goes away.
        pub fn build<C: commit::CommitmentScheme>(
            party: &mut Garbler<C>,
            program: &Program,
            (material, openings): (GarblerMaterial, GarblerOpenings),
            flights: Flights,
        ) -> Result<Self, Error> {
            let (ready, solderings) = build::garbler(party, program, material)?; // 7
            let whole = matches!(flights, Flights::Whole);
            let mut built = Built { ready, claimed: Some((solderings, openings)), whole };
            match flights {
                Flights::Apart => built.prove(party, program)?, // 8, 9
                Flights::Merged(Some(unconfirmed)) => unconfirmed.confirm(&mut party.run)?,
                Flights::Merged(None) | Flights::Whole => {}
            }
            Ok(built)
        }

        /// Sends the labels of both parties' inputs.
        ///
        /// # Errors
        /// [`Error::Peer`] if the evaluator's message is malformed, [`Error::Io`] if it goes away.
        pub fn evaluate<C: commit::CommitmentScheme>(
            mut self,
            party: &mut Garbler<C>,
            program: &Program,
            input: &[bool],
        ) -> Result<Evaluated, Error> {
            party.used = true;
            let masked = evaluate::garbler_receives(party, &self.ready)?; // 8
            if self.whole {
                self.prove(party, program)?; // 8, 9
            }
            // The proof of the inputs also covers claims about the solderings that are not proven yet: E
            // sends no message before its evaluation that depends on the solderings.
            let claims = self.claimed.as_ref();
            let claims = claims.map(|(solderings, openings)| GarblerClaims { program, solderings, openings });
            evaluate::garbler(party, &self.ready, claims.as_ref(), input, &masked)?; // 9, 10, 11
            Ok(Evaluated(self.ready))
        }

        fn prove<C: commit::CommitmentScheme>(
            &mut self,
            party: &mut Garbler<C>,
            program: &Program,
        ) -> Result<(), Error> {
            self.claimed.take().map_or(Ok(()), |(solderings, openings)| {
                build::garbler_proves(party, program, &self.ready, &solderings, &openings)
            })
        }
    }

    /// A program for whose inputs the evaluator has labels.
    pub struct Evaluated(GarblerReady);

    impl Evaluated {
        /// Returns the bits of the garbler's outputs.
        ///
        /// # Errors
        /// [`Error::Peer`] if the evaluator sends wrong labels of the garbler's outputs.
        pub fn decode<C: commit::CommitmentScheme>(
            self,
            party: &mut Garbler<C>,
            program: &Program,
        ) -> Result<Vec<bool>, Error> {
            decode::garbler(party, program, &self.0) // 12
        }
    }

    /// Runs a step on this material, with merged flights.
    ///
    /// # Errors
    /// [`Error::Mismatch`] if the peer runs another step, [`Error::Peer`] if it cheats, [`Error::Io`] if it
    /// goes away, [`Error::Input`] if `input` has the wrong length.
    pub fn step<C: commit::CommitmentScheme>(
        party: &mut Garbler<C>,
        step: &Step,
        agreement: Agreement,
        material: GarblerMaterial,
        input: &[bool],
    ) -> Result<StepReport, Error> {
        step.check_input(Party::Garbler, input)?;
        let program = step.program();
        let promise = material.promise(program, party.security)?;
        let flights = agreement.announce(&mut party.run, step, material.ots.is_none())?;
        let material = make_lacking_ots(party, material)?;
        let built = Built::build(party, program, material, flights)?;
        let outputs = built.evaluate(party, program, input)?.decode(party, program)?;
        Ok(StepReport { outputs, kept: party.stock.kept.last().to_vec(), promise, aside: Aside::default() })
    }
}

/// The phases of the evaluator.
pub(super) mod evaluator {
    use super::super::build::{self, EvaluatorReady, Joined};
    use super::super::ots::{self, EvaluatorRandomCots};
    use super::super::party::{EvaluatorCore, EvaluatorMaterial};
    use super::super::preprocessed::{EvaluatorCommitted, EvaluatorOpenings, EvaluatorPreprocessed};
    use super::super::setup::Alongside;
    use super::super::stock::ProgramMaterial;
    use super::super::{Aside, Evaluator, Parameters, Request, StepReport, decode, evaluate};
    use super::{Agreement, Error, Flights, Step, Unconfirmed};
    use brickwork_base::Party;
    use brickwork_circuit::Program;
    use brickwork_kernels::SecretBlocks;
    use brickwork_primitives::commit::{self, Claimed, Receiver as _};

    /// Receives and checks the request's items, and binds OTs that were just made to their commitments. The
    /// first proof of a session also covers the offsets (`alongside`). Returns the proven offsets, the items,
    /// and the openings. A later proof must cover the items and the openings.
    ///
    /// # Errors
    /// [`Error::Peer`] if the garbler cheats, [`Error::Io`] if it goes away.
    pub fn preprocess<C: commit::CommitmentScheme, A: Alongside>(
        core: &mut EvaluatorCore<C>,
        asked: Option<(&Request, &Parameters)>,
        ots: Option<EvaluatorRandomCots>,
        alongside: A,
    ) -> Result<(A::Proven, Claimed<EvaluatorPreprocessed>, EvaluatorOpenings), Error> {
        let committed = EvaluatorCommitted::to(core, asked, ots)?; // 3
        let (proven, committed) = committed.verify(core, alongside)?; // 4, 5
        let (preprocessed, opened) = committed.open(core)?; // 6, 7
        Ok((proven, preprocessed, opened))
    }

    /// Makes OTs if the material has none. Returns the material, and openings that must still be proven.
    pub fn make_lacking_ots<C: commit::CommitmentScheme>(
        party: &mut Evaluator<C>,
        material: EvaluatorMaterial,
    ) -> Result<(Claimed<EvaluatorMaterial>, EvaluatorOpenings), Error> {
        if material.ots.is_some() {
            return Ok((party.core.receiver.claimed(material), EvaluatorOpenings::default()));
        }
        let EvaluatorCore { run, cot, rng, binding, .. } = &mut party.core;
        let count = material.layout.evaluator_inputs.len();
        let cots = ots::evaluator_random_cots(run, cot, rng, count, *binding)?;
        let ((), preprocessed, opened) = preprocess(&mut party.core, None, Some(cots), ())?;
        let material = preprocessed.map(|preprocessed| ProgramMaterial {
            ots: Some(preprocessed.ots.into_iter().collect()),
            ..material
        });
        Ok((material, opened))
    }

    /// A program before its first input.
    pub enum Built {
        /// The party has sent its masked input; the solderings have not arrived yet.
        Begun(Claimed<EvaluatorMaterial>, EvaluatorOpenings, Option<Unconfirmed>),
        /// The solderings have arrived; they are proven after this party has sent its masked input.
        Received(Claimed<EvaluatorReady>, EvaluatorOpenings),
        Proven(EvaluatorReady),
    }

    impl Built {
        /// Receives the solderings that join the material to the program, unless flights are merged.
        ///
        /// # Errors
        /// [`Error::Peer`] if the garbler cheats, [`Error::Io`] if it goes away.
        pub fn build<C: commit::CommitmentScheme>(
            party: &mut Evaluator<C>,
            program: &Program,
            (material, opened): (Claimed<EvaluatorMaterial>, EvaluatorOpenings),
            flights: Flights,
        ) -> Result<Self, Error> {
            if let Flights::Merged(unconfirmed) = flights {
                return Ok(Built::Begun(material, opened, unconfirmed));
            }
            let ready = build::evaluator(party, material)?; // 7
            if let Flights::Whole = flights {
                return Ok(Built::Received(ready, opened));
            }
            Ok(Built::Proven(build::evaluator_verifies(party, program, ready, opened)?)) // 8, 9
        }

        /// Sends this party's masked input and evaluates every slot.
        ///
        /// # Errors
        /// [`Error::Mismatch`] if the peer runs another step, [`Error::Peer`] if the garbler cheats,
        /// [`Error::Io`] if it goes away.
        pub fn evaluate<C: commit::CommitmentScheme>(
            self,
            party: &mut Evaluator<C>,
            program: &Program,
            input: &[bool],
        ) -> Result<Evaluated, Error> {
            party.used = true;
            let ots = match &self {
                Built::Begun(material, ..) => material.received().ots.as_deref().unwrap_or_default(),
                Built::Received(ready, _) => std::slice::from_ref(&ready.received().ots),
                Built::Proven(ready) => std::slice::from_ref(&ready.ots),
            };
            let masked = evaluate::evaluator_sends(party, ots, input)?; // 8
            let joined = match self {
                Built::Begun(material, opened, unconfirmed) => {
                    party.core.run.channel.flush()?;
                    unconfirmed.map_or(Ok(()), |unconfirmed| unconfirmed.confirm(&mut party.core.run))?;
                    Joined::Claimed(build::evaluator(party, material)?, opened) // 7
                }
                Built::Received(ready, opened) => {
                    Joined::Proven(build::evaluator_verifies(party, program, ready, opened)?) // 8, 9
                }
                Built::Proven(ready) => Joined::Proven(ready),
            };
            let (ready, evaluated) = evaluate::evaluator(party, program, joined, input, masked)?; // 9, 10, 11
            Ok(Evaluated { ready, evaluated, input: SecretBlocks::new(input.to_vec()) })
        }
    }

    /// A program after its evaluation.
    pub struct Evaluated {
        ready: EvaluatorReady,
        evaluated: evaluate::ValidLabels,
        input: SecretBlocks<bool>,
    }

    impl Evaluated {
        /// Returns the bits of the evaluator's outputs, and true if they were recovered.
        ///
        /// # Errors
        /// [`Error::Io`] if the garbler goes away.
        pub fn decode<C: commit::CommitmentScheme>(
            self,
            party: &mut Evaluator<C>,
            program: &Program,
        ) -> Result<(Vec<bool>, bool), Error> {
            decode::evaluator(party, program, &self.ready, &self.evaluated, &self.input) // 12
        }
    }

    /// Runs a step on this material, with merged flights.
    ///
    /// # Errors
    /// [`Error::Mismatch`] if the peer runs another step, [`Error::Peer`] if it cheats, [`Error::Io`] if it
    /// goes away, [`Error::Input`] if `input` has the wrong length.
    pub fn step<C: commit::CommitmentScheme>(
        party: &mut Evaluator<C>,
        step: &Step,
        agreement: Agreement,
        material: EvaluatorMaterial,
        input: &[bool],
    ) -> Result<StepReport, Error> {
        step.check_input(Party::Evaluator, input)?;
        let program = step.program();
        let promise = material.promise(program, party.core.security)?;
        let flights = agreement.announce(&mut party.core.run, step, material.ots.is_none())?;
        let material = make_lacking_ots(party, material)?;
        let built = Built::build(party, program, material, flights)?;
        let (outputs, recovered) = built.evaluate(party, program, input)?.decode(party, program)?;
        Ok(StepReport {
            outputs,
            kept: party.stock.kept.last().to_vec(),
            promise,
            aside: Aside { recovered },
        })
    }
}
