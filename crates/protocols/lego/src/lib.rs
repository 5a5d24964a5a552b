//! LEGO (Nielsen and Orlandi 2009; TinyLEGO of Frederiksen, Jakobsen, Nielsen and Trifiletti 2015, as
//! Nielsen, Schneider and Trifiletti implemented it in 2017): secure against a malicious party, from single
//! AND gates that are garbled, checked and put into buckets before anybody knows what they will compute.
//!
//! All wires have one offset Δ, so XOR and INV are free also between buckets. An opened gate is shown at one
//! row only, and a bucket holds wire authenticators besides gates, of which all together decide by majority.
//! docs/lego.md has the argument. The functions [`garbler`] and [`evaluator`] are the whole protocol, and
//! beside their calls stand the crossings of the link:
//!
//! ```text
//!   1      both    hello; parameters; base OTs, in which the garbler chooses by the bits of Δ
//!   2      E -> G  OT extension: watch bits of the commitments, OTs of random choices
//!   3      G -> E  commitments to Δ, gates, authenticators, OTs, inputs and outputs; tables; hashes
//!   4, 5           proof: all of these are commitments, Δ ends in 1
//!   6      E -> G  challenge; sums of the OTs
//!   7      G -> E  openings, solderings in buckets and of the program
//!   8      E -> G  its masked input; seed
//!   9      G -> E  answer: all of 7 is true; labels of inputs, σ of outputs
//!   10, 11         proof: these are right
//!   12     E -> G  colours and hash of the garbler's outputs
//! ```
#![forbid(unsafe_code)]

mod build;
mod cheat;
mod claims;
pub mod cost;
mod decode;
mod drawn;
mod evaluate;
mod gates;
mod hooks;
mod inputs;
mod layout;
pub mod mixed;
pub mod msg;
mod parameters;
mod preprocess;
mod report;
mod setup;
#[cfg(test)]
mod tests;

use brickwork_base::random::{SEED_BYTES, Seed};
use brickwork_base::{Error, Party};
use brickwork_circuit::Program;
use brickwork_primitives::commit::{Claims, New, Receiver as _, Sender as _};
use brickwork_session::{Job, Metered, Observer, PhaseReport, Protocol};
use brickwork_wire::Channel;

pub use cheat::Cheat;
pub use cost::sent_bytes;
use evaluate::Joined;
use hooks::{Hooks, Point};
use layout::Layout;
pub use parameters::Parameters;
pub use report::{Aside, BatchReport, COMPUTATIONAL_BITS, Lego, SecurityReport};
use setup::{Begun, offset_claim};

/// A party's result. Its outputs are ordered port after port, and its proposal are the parameters.
pub type Report = brickwork_session::Report<Lego>;

impl Protocol for Lego {
    const NAME: &'static str = "lego";
    const CODE: [u8; 2] = *b"LG";
    const PHASES: &'static [&'static str] =
        &["setup", "preprocess", "prepare", "build", "evaluate", "decode"];
    type Security = SecurityReport;
    type Proposal = Parameters;
    type Limits<'a> = ();
    type Aside = Aside;

    fn garbler(
        channel: Channel,
        job: &Job,
        proposal: &Parameters,
        input: &[bool],
        observer: Box<dyn Observer>,
    ) -> Result<Report, Error> {
        let layout = Layout::new(&job.program)?;
        let (ands, wires) = (layout.ands as u64, layout.garbler as u64);
        let checked = Parameters::proposed(ands, wires, job.security, &proposal.proposal())?;
        garbler_with(channel, job, &checked, input, observer, Hooks::default())
    }

    fn evaluator(
        channel: Channel,
        job: &Job,
        (): &(),
        input: &[bool],
        observer: Box<dyn Observer>,
    ) -> Result<Report, Error> {
        evaluator_with(channel, job, input, observer, None, Hooks::default())
    }
}

/// The parameters for a program with the fewest bytes.
///
/// # Errors
/// [`Error::Usage`] if that security is not offered, [`Error::Limit`] if there is too much of it.
pub fn parameters(program: &Program, security: u32) -> Result<Parameters, Error> {
    let layout = Layout::new(program)?;
    Parameters::choose(layout.ands as u64, layout.garbler as u64, security)
}

/// Runs the protocol as the garbler, who proposes [`parameters`]. `input` holds the bits of its input ports.
///
/// # Errors
/// [`Error::Mismatch`] if the peer wants something else, [`Error::Peer`] if it cheats, [`Error::Io`] if it
/// goes away, [`Error::Input`] if `input` has the wrong length.
pub fn garbler(
    channel: Channel,
    job: &Job,
    input: &[bool],
    observer: impl Observer + 'static,
) -> Result<Report, Error> {
    Lego::garbler(channel, job, &parameters(&job.program, job.security)?, input, Box::new(observer))
}

/// Runs the protocol as the evaluator, who accepts whatever parameters keep the bound. Everything as for
/// [`garbler`].
///
/// # Errors
/// As [`garbler`].
pub fn evaluator(
    channel: Channel,
    job: &Job,
    input: &[bool],
    observer: impl Observer + 'static,
) -> Result<Report, Error> {
    Lego::evaluator(channel, job, &(), input, Box::new(observer))
}

fn garbler_with(
    channel: Channel,
    job: &Job,
    parameters: &Parameters,
    input: &[bool],
    observer: Box<dyn Observer>,
    hooks: Hooks,
) -> Result<Report, Error> {
    let layout = Layout::new(&job.program)?;
    layout.takes(Party::Garbler, input)?;
    let run = Metered::new::<Lego>(channel, Party::Garbler, observer);
    let mut party = setup::garbler(run, job, &layout, parameters, hooks)?; // 1, 2, 3
    let outputs = party.pool.clone().enter(|| {
        let party = &mut party;
        let input = layout.masked(input, &mut party.rng);
        let gates = preprocess::garbler_commits(party, parameters)?; // 3
        let inputs = inputs::garbler_commits(party, &layout, parameters)?; // 3
        garbler_proves(party, &gates, &inputs)?; // 4, 5
        let inputs = inputs.gathered();

        let seeds = receive_challenge(party)?; // 6
        let revealed = inputs::garbler_checks(party, &inputs, parameters.ot_binding)?; // 6
        let (buckets, of_gates) = preprocess::garbler_opens(party, gates, parameters, &seeds)?; // 7
        let (heads, of_inputs) = inputs::garbler_opens(party, &inputs, parameters, &seeds[2], revealed)?; // 7
        let of_program = build::garbler(party, &layout, &buckets, &inputs)?; // 7
        let masked = evaluate::garbler_receives(party, &layout)?; // 8
        let setup::Garbler { run, sender, offset, .. } = &mut *party;
        let mut claims = Claims::new();
        of_gates.claim(&offset.shares, None, &mut claims);
        inputs.claim(&offset.shares, &of_inputs, &mut claims);
        let joints = [&inputs.inputs.shares, &inputs.outputs.shares];
        of_program.claim(&layout, &offset.shares, &of_gates, joints, None, &mut claims);
        run.phase("build");
        sender.prove(&mut run.channel, &[], &claims)?; // 8, 9
        drop(claims);
        evaluate::garbler(party, &layout, &inputs, &heads, &input, &masked)?; // 9, 10, 11
        decode::garbler(party, &layout, &inputs, &input) // 12
    })?;
    Ok(report(outputs, party.run.finish()?, parameters.clone(), false))
}

fn evaluator_with(
    channel: Channel,
    job: &Job,
    input: &[bool],
    observer: Box<dyn Observer>,
    unsafe_ones: Option<&Parameters>,
    hooks: Hooks,
) -> Result<Report, Error> {
    let layout = Layout::new(&job.program)?;
    layout.takes(Party::Evaluator, input)?;
    let run = Metered::new::<Lego>(channel, Party::Evaluator, observer);
    let Begun { mut party, offset, parameters } = setup::evaluator(run, job, &layout, unsafe_ones, hooks)?; // 1, 2, 3
    let (outputs, recovered) = party.pool.clone().enter(|| {
        let (party, parameters) = (&mut party, &parameters);
        let gates = preprocess::evaluator_receives(party, parameters)?; // 3
        let inputs = inputs::evaluator_receives(party, &layout, parameters)?; // 3
        let proof = {
            let setup::Evaluator { run, receiver, .. } = &mut *party;
            let mut claims = Claims::new();
            offset_claim(&mut claims, offset.shares(), || brickwork_base::label::Label::from_bits(1));
            let new: Vec<_> =
                std::iter::once(&offset).chain(gates.pending()).chain(inputs.pending()).collect();
            receiver.verify(&mut run.channel, &new, &claims)? // 4, 5
        };
        let (offset, inputs) = (offset.accept(&proof), inputs.accept(&proof));

        let seeds = draw_challenge(party)?; // 6
        let revealed = inputs::evaluator_reveals(party, &inputs.ots, parameters.ot_binding)?; // 6
        let of_gates = preprocess::evaluator_opens(party, gates, &proof, parameters, &seeds)?; // 7
        let of_inputs = inputs::evaluator_opens(party, &inputs, parameters, &seeds[2], revealed)?; // 7
        let (of_program, solderings) = build::evaluator(party, &layout)?; // 7
        evaluate::evaluator_sends(party, input)?; // 8
        let proof = {
            let setup::Evaluator { run, receiver, .. } = &mut *party;
            let mut claims = Claims::new();
            let gates = &of_gates.claims;
            claims.about(&of_gates.told, |told, claims| gates.claim(&offset, Some(told), claims));
            inputs.claim(&offset, &of_inputs, &mut claims);
            claims.about(&solderings, |told, claims| {
                let joints = [&inputs.inputs, &inputs.outputs];
                of_program.claim(&layout, &offset, gates, joints, Some(told), claims);
            });
            run.phase("build");
            receiver.verify(&mut run.channel, &[], &claims)? // 8, 9
        };
        let joined = Joined {
            buckets: of_gates.proven(party, &proof),
            inputs: inputs.proven(party, of_inputs, &proof),
            solderings: solderings.proven(&proof),
        };
        let evaluated = evaluate::evaluator(party, &layout, &joined, &inputs, &offset, input)?; // 9, 10, 11
        decode::evaluator(party, &layout, &joined, evaluated, input) // 12
    })?;
    Ok(report(outputs, party.run.finish()?, parameters, recovered))
}

/// The first proof, of all commitments.
fn garbler_proves(
    party: &mut setup::Garbler,
    gates: &preprocess::GarblerGates,
    inputs: &inputs::GarblerInputs,
) -> Result<(), Error> {
    let setup::Garbler { run, sender, offset, .. } = party;
    let mut claims = Claims::new();
    offset_claim(&mut claims, &offset.shares, || offset.values[0]);
    let new: Vec<New> = std::iter::once(New::from(&*offset))
        .chain(gates.new_commitments())
        .chain(inputs.new_commitments())
        .collect();
    sender.prove(&mut run.channel, &new, &claims)
}

/// The evaluator draws its challenges: everything that they are about is fixed.
fn draw_challenge(party: &mut setup::Evaluator) -> Result<Vec<Seed>, Error> {
    let setup::Evaluator { run, rng, hooks, .. } = party;
    run.phase("preprocess");
    let mut seeds = [0; BATCHES * SEED_BYTES];
    rng.fill(&mut seeds);
    hooks.alter(Point::Challenge, &mut seeds);
    run.channel.send(msg::CHALLENGE, &seeds)?;
    Ok(split(&seeds))
}

/// The garbler receives them.
fn receive_challenge(party: &mut setup::Garbler) -> Result<Vec<Seed>, Error> {
    party.run.phase("preprocess");
    Ok(split(&party.run.channel.receive(msg::CHALLENGE, BATCHES * SEED_BYTES)?))
}

/// Gates, wire authenticators, input authenticators.
const BATCHES: usize = 3;

fn split(seeds: &[u8]) -> Vec<Seed> {
    seeds.chunks_exact(SEED_BYTES).map(|seed| Seed::from_bytes(seed.try_into().expect("16 bytes"))).collect()
}

/// Reports a run.
fn report(outputs: Vec<bool>, phases: Vec<PhaseReport>, parameters: Parameters, recovered: bool) -> Report {
    Report {
        outputs,
        phases,
        security: parameters.report(),
        proposal: parameters,
        aside: Aside { recovered },
    }
}
