//! LEGO (Nielsen and Orlandi 2009), as in TinyLEGO (Frederiksen, Jakobsen, Nielsen and Trifiletti 2015;
//! implemented by Nielsen, Schneider and Trifiletti in 2017). LEGO is secure against a malicious party.
//! Single AND gates are garbled, checked and put into buckets before the program is known.
//!
//! All wires have the same offset Δ, so XOR and INV are free, even between buckets. An opened gate is checked
//! at one row only. A bucket contains gates and wire authenticators, which decide together by majority. The
//! functions [`garbler`] and [`evaluator`] contain a whole run. The numbers in the comments of these
//! functions are those of the crossings of the link:
//!
//! ```text
//!   1      both    hello; parameters; base OTs, in which the garbler chooses by the bits of Δ
//!   2      E -> G  OT extension: watch bits of the commitments, OTs of random choices
//!   3      G -> E  commitments to Δ, gates, authenticators, OTs, inputs and outputs; tables; hashes
//!   4, 5           proof: all of these are commitments, Δ ends in 1
//!   6      E -> G  challenge; sums of the OTs
//!   7      G -> E  openings, solderings in buckets;  solderings of the program
//!   8      E -> G  its masked input; seed
//!   9      G -> E  answer: all of 7 is true; labels of inputs, σ of outputs
//!   10, 11         proof: these are right
//!   12     E -> G  colours and hash of the garbler's outputs
//! ```
//!
//! The three phases can run at different times, with their results on disk ([`Stocked`]). Gates, inputs and
//! OTs (1 to 7) do not depend on a program, and solderings (7) do not depend on inputs. The other crossings
//! (8 to 12) are in `online`.
#![forbid(unsafe_code)]

#[cfg(any(test, feature = "adversary"))]
pub mod adversary;
mod assignment;
mod build;
mod cheat;
mod claims;
pub mod cost;
mod decode;
mod evaluate;
mod gates;
mod hooks;
mod inputs;
mod instance;
mod layout;
pub mod mixed;
pub mod msg;
mod online;
mod ots;
mod parameters;
mod preprocess;
mod report;
mod setup;
mod stored;
#[cfg(test)]
mod tests;
#[cfg(any(test, feature = "adversary"))]
pub mod timed;
mod vote;
mod walk;

use brickwork_base::random::{SEED_BYTES, Seed};
use brickwork_base::{Error, Party};
use brickwork_circuit::Program;
use brickwork_primitives::commit::{self, Claims, New, Receiver as _, Sender as _};
use brickwork_protocol::{AgreedJob, Metered, Observer, PhaseReport, SessionProtocol};
use brickwork_wire::{Channel, Departures};

use build::CommittedWires;
pub use cheat::Cheat;
pub use cost::sent_bytes;
use evaluate::GarblerReady;
use hooks::{Hooks, Point};
use instance::Commitments;
use layout::Layout;
pub use parameters::Parameters;
pub use report::{Aside, COMPUTATIONAL_BITS, Lego};
use setup::{Begun, For};
pub use stored::{FromStock, Lacking, Preprocessed, Request, Stocked, in_stock, stock_promise};
use walk::{Joined, Ordered};

/// A party's result. The outputs are in the order of the ports, and the proposal contains the parameters.
pub type Report = brickwork_protocol::Report<Lego>;

impl SessionProtocol for Lego {
    const NAME: &'static str = "lego";
    const CODE: [u8; 2] = *b"LG";
    const PHASES: &'static [&'static str] =
        &["setup", "preprocess", "prepare", "build", "evaluate", "decode"];
    const DEPARTURES: [Departures; 2] = [
        Departures { input: &[msg::INPUT_LABELS], outputs: &[msg::INPUT_LABELS] },
        Departures { input: &[msg::MASKED_INPUT], outputs: &[msg::OUTPUT_LABELS] },
    ];
    type Proposal = Parameters;
    type Limits<'a> = ();
    type Aside = Aside;

    fn garbler(
        channel: Channel,
        job: &AgreedJob,
        proposal: &Parameters,
        input: &[bool],
        observer: Box<dyn Observer>,
    ) -> Result<Report, Error> {
        let layout = Layout::new(&job.program)?;
        let (ands, wires) = (layout.ands as u64, layout.garbler as u64);
        let checked = Parameters::proposed(ands, wires, job.security, &proposal.proposal())?;
        garbler_with(channel, job, &checked, input, observer, Hooks::none())
    }

    fn evaluator(
        channel: Channel,
        job: &AgreedJob,
        (): &(),
        input: &[bool],
        observer: Box<dyn Observer>,
    ) -> Result<Report, Error> {
        evaluator_with(channel, job, input, observer, Hooks::none())
    }
}

/// Chooses the parameters with which a program sends the fewest bytes.
///
/// # Errors
/// [`Error::Usage`] if the security is not offered, [`Error::Limit`] if the program is too large.
pub fn parameters(program: &Program, security: u32) -> Result<Parameters, Error> {
    let layout = Layout::new(program)?;
    Parameters::choose(layout.ands as u64, layout.garbler as u64, security)
}

/// Runs the protocol as the garbler, which proposes [`parameters`]. `input` contains the bits of the
/// garbler's input ports.
///
/// # Errors
/// [`Error::Mismatch`] if the peer requests something else, [`Error::Peer`] if it cheats, [`Error::Io`] if
/// the connection ends, [`Error::Input`] if `input` has the wrong length.
pub fn garbler(
    channel: Channel,
    job: &AgreedJob,
    input: &[bool],
    observer: impl Observer + 'static,
) -> Result<Report, Error> {
    Lego::garbler(channel, job, &parameters(&job.program, job.security)?, input, Box::new(observer))
}

/// Runs the protocol as the evaluator, which accepts all parameters that keep the bound. All other parameters
/// are as for [`garbler`].
///
/// # Errors
/// As [`garbler`].
pub fn evaluator(
    channel: Channel,
    job: &AgreedJob,
    input: &[bool],
    observer: impl Observer + 'static,
) -> Result<Report, Error> {
    Lego::evaluator(channel, job, &(), input, Box::new(observer))
}

fn garbler_with(
    channel: Channel,
    job: &AgreedJob,
    parameters: &Parameters,
    input: &[bool],
    observer: Box<dyn Observer>,
    hooks: Hooks,
) -> Result<Report, Error> {
    let layout = Layout::new(&job.program)?;
    layout.takes(Party::Garbler, input)?;
    let run = Metered::new::<Lego>(channel, Party::Garbler, observer);
    let purpose = For::Run(&layout, Some(parameters));
    let (mut party, ots) = setup::garbler::<Commitments>(run, &job.terms(), purpose, hooks)?; // 1, 2, 3
    let outputs = party.pool.clone().enter(|| {
        let party = &mut party;
        let input = layout.masked(input, &mut party.rng);
        let gates = preprocess::garbler_commits(party, parameters)?; // 3
        let authenticators = inputs::garbler_commits(party, parameters)?; // 3
        let ots = ots.commit(party)?; // 3
        let outputs = build::garbler_commits(party, &layout)?; // 3
        let made = gates.new_commitments().into_iter().chain(authenticators.new_commitments());
        let made = made.chain(ots.new_commitments()).chain([New::from(&outputs)]);
        party.proves_new(made, true)?; // 4, 5
        let authenticators = authenticators.gathered();

        let seeds = receive_challenge(party)?; // 6
        let (ots, revealed) = ots.checks_revealed(party)?; // 6
        let (heads, of_gates) = preprocess::garbler_opens(party, gates, parameters, &seeds)?; // 7
        let (inputs, of_inputs) = inputs::garbler_opens(party, &authenticators, parameters, &seeds[2])?; // 7
        let of_program = build::garbler(party, &layout, &heads, [&inputs.wires, &ots.wires], &outputs)?; // 7
        let masked = evaluate::garbler_receives(party, &layout)?; // 8
        let setup::Garbler { run, sender, offset, .. } = &mut *party;
        let mut claims = Claims::new();
        let wires = CommittedWires {
            heads: heads.shares(),
            inputs: [&inputs.wires.shares, &ots.wires.shares],
            outputs: &outputs.shares,
        };
        of_gates.claim(&offset.shares, heads.shares(), None, &mut claims);
        authenticators.claim(&offset.shares, &of_inputs, &mut claims);
        revealed.claims(&offset.shares, &mut claims);
        of_program.claim(&layout, &offset.shares, wires, None, &mut claims);
        run.phase("build");
        sender.prove(&mut run.channel, &[], &claims)?; // 8, 9
        drop(claims);
        let ready = GarblerReady { heads: inputs.heads, ots, outputs };
        online::garbler(party, &layout, &ready, None, (&input, &masked)) // 9, 10, 11, 12
    })?;
    Ok(report(outputs, party.run.finish()?, parameters.clone(), false))
}

fn evaluator_with(
    channel: Channel,
    job: &AgreedJob,
    input: &[bool],
    observer: Box<dyn Observer>,
    hooks: Hooks,
) -> Result<Report, Error> {
    let layout = Layout::new(&job.program)?;
    layout.takes(Party::Evaluator, input)?;
    let run = Metered::new::<Lego>(channel, Party::Evaluator, observer);
    let purpose = For::Run(&layout, None);
    let Begun { mut party, offset, ots, proposed } =
        setup::evaluator::<Commitments>(run, &job.terms(), purpose, hooks)?; // 1, 2, 3
    let parameters = proposed.ok_or_else(|| Error::Usage("each run has parameters".into()))?;
    let (outputs, recovered) = party.pool.clone().enter(|| {
        let (party, parameters) = (&mut party, &parameters);
        let gates = preprocess::evaluator_receives(party, parameters)?; // 3
        let authenticators = inputs::evaluator_receives(party, parameters)?; // 3
        let ots = ots.receive(party)?; // 3
        let outputs = build::evaluator_receives(party, &layout)?; // 3
        let proof = {
            let made = gates.pending().into_iter().chain(authenticators.pending());
            party.verifies_new(made.chain(ots.pending()).chain([&outputs]), Some(&offset))? // 4, 5
        };
        let (offset, outputs) = (offset.accept(&proof), outputs.accept(&proof));
        let (authenticators, ots) = (authenticators.accept(&proof), ots.accept(&proof));

        let seeds = draw_challenge(party)?; // 6
        let (ots, revealed) = ots.reveal(party)?; // 6
        let of_gates = preprocess::evaluator_opens(party, gates, &proof, parameters, &seeds)?; // 7
        let of_inputs = inputs::evaluator_opens(party, &authenticators, parameters, &seeds[2])?; // 7
        let (of_program, solderings) = build::evaluator(party, &layout)?; // 7
        evaluate::evaluator_sends(party, &ots, input)?; // 8
        let inputs = authenticators.wires();
        let proof = {
            let setup::Evaluator { run, receiver, .. } = &mut *party;
            let mut claims = Claims::new();
            let wires = CommittedWires {
                heads: of_gates.heads.each_ref(),
                inputs: [&inputs, &ots.wires],
                outputs: &outputs,
            };
            of_gates.claim(&offset, &mut claims);
            authenticators.claim(&offset, &of_inputs, &mut claims);
            revealed.claims(&offset, &mut claims);
            claims.about(&solderings, |received, claims| {
                of_program.claim(&layout, &offset, wires, Some(received), claims);
            });
            run.phase("build");
            receiver.verify(&mut run.channel, &[], &claims)? // 8, 9
        };
        let joined = Joined {
            gates: vec![of_gates.proven(&party.session, &proof)?],
            inputs: vec![authenticators.proven(&party.session, of_inputs, &proof)],
            solderings: solderings.proven(&proof),
        };
        let mut ordered = Ordered::new(&layout, joined);
        let received = evaluate::evaluator_receives(party, &layout)?; // 9
        let with = (&mut ordered, &ots, &outputs);
        online::evaluator(party, &layout, with, &offset, received, input) // 10, 11, 12
    })?;
    Ok(report(outputs, party.run.finish()?, parameters, recovered))
}

/// Draws the evaluator's challenges. The caller must have received everything to which the challenges refer.
fn draw_challenge<C: commit::CommitmentScheme>(party: &mut setup::Evaluator<C>) -> Result<Vec<Seed>, Error> {
    let setup::Evaluator { run, rng, hooks, .. } = party;
    run.phase("preprocess");
    let mut seeds = [0; BATCHES * SEED_BYTES];
    rng.fill(&mut seeds);
    hooks.alter(Point::Challenge, &mut seeds);
    run.expose()?;
    run.channel.send(msg::CHALLENGE, &seeds)?;
    Ok(split(&seeds))
}

fn receive_challenge<C: commit::CommitmentScheme>(party: &mut setup::Garbler<C>) -> Result<Vec<Seed>, Error> {
    party.run.phase("preprocess");
    let seeds = party.run.channel.receive(msg::CHALLENGE, BATCHES * SEED_BYTES)?;
    party.run.exposed()?;
    Ok(split(&seeds))
}

/// The number of challenges: for gates, wire authenticators and input authenticators.
const BATCHES: usize = 3;

fn split(seeds: &[u8]) -> Vec<Seed> {
    seeds.chunks_exact(SEED_BYTES).map(|seed| Seed::from_bytes(seed.try_into().expect("16 bytes"))).collect()
}

fn report(outputs: Vec<bool>, phases: Vec<PhaseReport>, parameters: Parameters, recovered: bool) -> Report {
    Report {
        outputs,
        phases,
        promise: parameters.promise(),
        proposal: parameters,
        aside: Aside { recovered },
    }
}
