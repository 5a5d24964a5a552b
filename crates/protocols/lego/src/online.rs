//! The part of a run that remains after gates, inputs and OTs are made: solderings, which depend on the
//! program, and evaluation, which depends on the inputs.
//!
//! ```text
//!   crossing                   from gates in stock                          from a built program
//!   1  both at once            E: f   G: commitments to outputs, solderings  E: f
//!   2  garbler -> evaluator    labels of both inputs, σ of the outputs       the same
//!   3  evaluator -> garbler    seed                                          the same
//!   4  garbler -> evaluator    proof of solderings and inputs                proof of the inputs
//!   5  evaluator -> garbler    the garbler's outputs                         the same
//! ```
//!
//! Building a program needs solderings and a proof of their own, but no input. Afterwards, E has everything
//! for the evaluation except the labels of inputs, and G needs only the wires of inputs and outputs.
//!
//! A peer whose log differs learns nothing from f and the solderings: f is the input masked with secret
//! choice bits, and solderings are sums of labels that the other party does not know. Used items are never
//! used again. All other messages come after the peer's confirmation that it has burned the items, and before
//! the single proof. So the parties wait only for this proof before they learn the first output.

use std::ops::Range;

use crate::build::{self, CommittedWires, ProgramClaims};
use crate::decode;
use crate::evaluate::{self, GarblerReady, ReceivedLabels};
use crate::inputs::{GarblerInputs, InputBuckets};
use crate::layout::Layout;
use crate::ots::{EvaluatorOts, GarblerOts};
use crate::preprocess::{AndBuckets, GarblerHeads};
use crate::setup::{Evaluator, Garbler};
use crate::walk::{Joined, Ordered};
use brickwork_base::Error;
use brickwork_primitives::commit::{self, Claims, New, Receiver as _, Sender as _, Shares};
use brickwork_protocol::Metered;
use brickwork_protocol::stock::Stand;

/// Sends the messages that wait, and receives the position of the peer's log, which must equal this party's
/// position.
fn hear(run: &mut Metered, stand: Stand) -> Result<(), Error> {
    run.phase("build");
    run.channel.flush()?;
    stand.confirm(run)
}

/// The garbler's material for a program from stock.
pub(super) struct GarblerMaterial {
    pub gates: GarblerHeads,
    pub inputs: GarblerInputs,
    pub ots: GarblerOts,
}

/// The claims about a program's solderings, which are not proven yet.
pub(super) struct SolderingClaims<'a> {
    wires: CommittedWires<'a>,
    program: &'a ProgramClaims,
}

/// Sends the labels of the inputs and proves them, and also the solderings if they are not proven yet. Learns
/// the outputs. `input` has the bits of the garbler's ports and of its masks; `masked` is f.
pub(super) fn garbler<C: commit::CommitmentScheme>(
    party: &mut Garbler<C>,
    layout: &Layout,
    ready: &GarblerReady,
    solderings: Option<&SolderingClaims>,
    (input, masked): (&[bool], &[u8]),
) -> Result<Vec<bool>, Error> {
    let given = evaluate::garbler_gives(party, layout, ready, input, masked)?;
    let Garbler { run, sender, offset, .. } = &mut *party;
    let (mut claims, mut new) = (Claims::new(), Vec::new());
    if let Some(SolderingClaims { wires, program }) = solderings {
        new.push(New::from(&ready.outputs));
        program.claim(layout, &offset.shares, *wires, None, &mut claims);
    }
    given.claim(&offset.shares, ready, &mut claims);
    sender.prove(&mut run.channel, &new, &claims)?;
    drop(claims);
    decode::garbler(party, layout, &ready.outputs, input)
}

/// Runs a program on gates from stock.
pub(super) fn garbler_from_gates<C: commit::CommitmentScheme>(
    party: &mut Garbler<C>,
    layout: &Layout,
    material: GarblerMaterial,
    stand: Stand,
    input: &[bool],
) -> Result<Vec<bool>, Error> {
    let input = layout.masked(input, &mut party.rng);
    let GarblerMaterial { gates, inputs: GarblerInputs { heads, wires: inputs, .. }, ots } = material;
    let outputs = build::garbler_commits(party, layout)?;
    let program = build::garbler(party, layout, &gates, [&inputs, &ots.wires], &outputs)?;
    hear(&mut party.run, stand)?;
    let masked = evaluate::garbler_receives(party, layout)?;
    let ready = GarblerReady { heads, ots, outputs };
    let wires = CommittedWires {
        heads: gates.shares(),
        inputs: [&inputs.shares, &ready.ots.wires.shares],
        outputs: &ready.outputs.shares,
    };
    let solderings = SolderingClaims { wires, program: &program };
    garbler(party, layout, &ready, Some(&solderings), (&input, &masked))
}

pub(super) fn garbler_from_built<C: commit::CommitmentScheme>(
    party: &mut Garbler<C>,
    layout: &Layout,
    ready: &GarblerReady,
    stand: Stand,
    input: &[bool],
) -> Result<Vec<bool>, Error> {
    let input = layout.masked(input, &mut party.rng);
    hear(&mut party.run, stand)?;
    let masked = evaluate::garbler_receives(party, layout)?;
    garbler(party, layout, ready, None, (&input, &masked))
}

/// Builds a program with gates from stock.
pub(super) fn garbler_builds<C: commit::CommitmentScheme>(
    party: &mut Garbler<C>,
    layout: &Layout,
    material: GarblerMaterial,
    stand: Stand,
) -> Result<GarblerReady, Error> {
    let GarblerMaterial { gates, inputs: GarblerInputs { heads, wires: inputs, .. }, ots } = material;
    let outputs = build::garbler_commits(party, layout)?;
    let program = build::garbler(party, layout, &gates, [&inputs, &ots.wires], &outputs)?;
    hear(&mut party.run, stand)?;
    let Garbler { run, sender, offset, .. } = party;
    let wires = CommittedWires {
        heads: gates.shares(),
        inputs: [&inputs.shares, &ots.wires.shares],
        outputs: &outputs.shares,
    };
    let mut claims = Claims::new();
    program.claim(layout, &offset.shares, wires, None, &mut claims);
    sender.prove(&mut run.channel, &[New::from(&outputs)], &claims)?;
    drop(claims);
    // The commitments are stored as they are, even if they were recomputed before.
    let mut outputs = outputs;
    outputs.shares = std::mem::take(&mut outputs.shares).gathered();
    Ok(GarblerReady { heads, ots, outputs })
}

/// The evaluator's material for a program from stock.
pub(super) struct EvaluatorMaterial {
    /// The commitments to the inputs and outputs of heads.
    pub heads: [Shares; 2],
    pub gates: Vec<AndBuckets>,
    /// The commitments to the wires of the garbler's inputs.
    pub wires: Shares,
    pub inputs: Vec<InputBuckets>,
    pub ots: EvaluatorOts,
}

/// The evaluator's state of a program for which only the inputs are missing.
pub(super) struct EvaluatorReady {
    pub joined: Joined,
    pub ots: EvaluatorOts,
    /// The commitments to the wires of the outputs.
    pub outputs: Shares,
}

/// Checks the labels of the inputs, and evaluates a program whose solderings are proven. Returns the outputs,
/// and whether they were recovered.
pub(super) fn evaluator<C: commit::CommitmentScheme>(
    party: &mut Evaluator<C>,
    layout: &Layout,
    (ordered, ots, outputs): (&mut Ordered, &EvaluatorOts, &Shares),
    offset: &Shares,
    received: ReceivedLabels,
    input: &[bool],
) -> Result<(Vec<bool>, bool), Error> {
    let proof = {
        let Evaluator { run, receiver, .. } = &mut *party;
        let mut claims = Claims::new();
        received.claim(offset, ots, outputs, input, &mut claims);
        receiver.verify(&mut run.channel, &[], &claims)?
    };
    let evaluated = evaluate::evaluator(party, layout, ordered, ots, received.proven(&proof))?;
    decode::evaluator(party, layout, ordered, evaluated, input)
}

pub(super) fn evaluator_from_built<C: commit::CommitmentScheme>(
    party: &mut Evaluator<C>,
    layout: &Layout,
    ready: EvaluatorReady,
    offset: &Shares,
    stand: Stand,
    input: &[bool],
) -> Result<(Vec<bool>, bool), Error> {
    let EvaluatorReady { joined, ots, outputs } = ready;
    let mut ordered = Ordered::new(layout, joined);
    evaluate::evaluator_sends(party, &ots, input)?;
    hear(&mut party.run, stand)?;
    let received = evaluate::evaluator_receives(party, layout)?;
    evaluator(party, layout, (&mut ordered, &ots, &outputs), offset, received, input)
}

/// Runs a program on gates from stock.
pub(super) fn evaluator_from_gates<C: commit::CommitmentScheme>(
    party: &mut Evaluator<C>,
    layout: &Layout,
    material: EvaluatorMaterial,
    offset: &Shares,
    stand: Stand,
    input: &[bool],
) -> Result<(Vec<bool>, bool), Error> {
    let EvaluatorMaterial { heads, gates, wires, inputs, ots } = material;
    evaluate::evaluator_sends(party, &ots, input)?;
    hear(&mut party.run, stand)?;
    let outputs = build::evaluator_receives(party, layout)?;
    let (program, solderings) = build::evaluator(party, layout)?;
    let received = evaluate::evaluator_receives(party, layout)?;
    let proof = {
        let Evaluator { run, receiver, .. } = &mut *party;
        let mut claims = Claims::new();
        let wires = CommittedWires {
            heads: heads.each_ref(),
            inputs: [&wires, &ots.wires],
            outputs: outputs.shares(),
        };
        claims.about(&solderings, |received, claims| {
            program.claim(layout, offset, wires, Some(received), claims);
        });
        received.claim(offset, &ots, outputs.shares(), input, &mut claims);
        receiver.verify(&mut run.channel, &[&outputs], &claims)?
    };
    let mut ordered = Ordered::new(layout, Joined { gates, inputs, solderings: solderings.proven(&proof) });
    let evaluated = evaluate::evaluator(party, layout, &mut ordered, &ots, received.proven(&proof))?;
    decode::evaluator(party, layout, &ordered, evaluated, input)
}

/// Builds a program with gates from stock.
pub(super) fn evaluator_builds<C: commit::CommitmentScheme>(
    party: &mut Evaluator<C>,
    layout: &Layout,
    material: EvaluatorMaterial,
    offset: &Shares,
    stand: Stand,
) -> Result<EvaluatorReady, Error> {
    let EvaluatorMaterial { heads, gates, wires, inputs, ots } = material;
    hear(&mut party.run, stand)?;
    let outputs = build::evaluator_receives(party, layout)?;
    let (program, solderings) = build::evaluator(party, layout)?;
    let proof = {
        let Evaluator { run, receiver, .. } = &mut *party;
        let mut claims = Claims::new();
        let wires = CommittedWires {
            heads: heads.each_ref(),
            inputs: [&wires, &ots.wires],
            outputs: outputs.shares(),
        };
        claims.about(&solderings, |received, claims| {
            program.claim(layout, offset, wires, Some(received), claims);
        });
        receiver.verify(&mut run.channel, &[&outputs], &claims)?
    };
    let joined = Joined { gates, inputs, solderings: solderings.proven(&proof) };
    Ok(EvaluatorReady { joined, ots, outputs: outputs.accept(&proof).gathered() })
}

/// The evaluator's material from many batches, in one list for each kind.
impl EvaluatorMaterial {
    /// Returns an empty material.
    pub fn none() -> Self {
        EvaluatorMaterial {
            heads: [Shares::default(), Shares::default()],
            gates: Vec::new(),
            wires: Shares::default(),
            inputs: Vec::new(),
            ots: EvaluatorOts::none(),
        }
    }
}

/// Returns the indices of the values of some items, with `each` values per item.
pub(super) fn values(items: &Range<usize>, each: usize) -> Range<usize> {
    items.start * each..items.end * each
}
