//! Sessions that make all their items at the start. The items stay in memory, and the steps use the items one
//! after another.

use brickwork_authenticated::{self as authenticated, Authenticated};
use brickwork_base::Error as ProtocolError;
use brickwork_circuit::{Component, Party, Program};
use brickwork_duplo::{self as duplo, Duplo, Evaluator, Garbler};
use brickwork_primitives::ot::Cot;
use brickwork_protocol::steps::Step;
use brickwork_protocol::stock;
use brickwork_protocol::{PhaseReport, SessionProtocol as _, Terms};
use brickwork_wire::Channel;

use super::Observe;

/// The items that the steps of a session use.
#[derive(Default)]
pub struct SessionNeeds {
    components: Vec<(Component, usize)>,
    /// Input bits of the garbler and of the evaluator.
    inputs: [usize; 2],
    /// Number of output bits that the evaluator does not learn.
    sealed: usize,
}

impl SessionNeeds {
    /// Adds the items of a program that runs this many times, whatever values it keeps.
    pub fn add(&mut self, program: &Program, times: usize) {
        let outputs = program.outputs().iter().map(|output| output.wires.len()).sum();
        let inputs = [Party::Garbler, Party::Evaluator].map(|party| program.input_width(party));
        self.add_step(program, inputs, outputs, times);
    }

    /// Adds the items of a step that runs this many times, with its numbers of input bits and of output bits
    /// that the evaluator does not learn.
    pub fn add_step(&mut self, program: &Program, inputs: [usize; 2], sealed: usize, times: usize) {
        for (component, slots) in program.components().iter().zip(program.slots_by_component()) {
            let digest = component.digest();
            match self.components.iter_mut().find(|(known, _)| known.digest() == digest) {
                _ if slots * times == 0 => {}
                Some((_, sum)) => *sum += slots * times,
                None => self.components.push((component.clone(), slots * times)),
            }
        }
        self.inputs.iter_mut().zip(inputs).for_each(|(sum, bits)| *sum += bits * times);
        self.sealed += sealed * times;
    }
}

/// The result of a step.
type FromStock = stock::FromStock<String>;

/// A party between two steps. After an error the session is over.
pub trait Steps: Send {
    /// Runs a step on the input bits of this party.
    ///
    /// # Errors
    /// Those of the protocol.
    fn step(
        self: Box<Self>,
        step: &Step,
        input: &[bool],
    ) -> Result<(FromStock, Box<dyn Steps>), ProtocolError>;

    /// Ends the session in agreement with the peer. Returns the time and the bytes of each phase.
    ///
    /// # Errors
    /// If the peer went away.
    fn close(self: Box<Self>) -> Result<Vec<PhaseReport>, ProtocolError>;
}

/// Begins a session: makes all items with the peer.
pub type Begin = fn(Party, Channel, &Terms, SessionNeeds, &Observe) -> Result<Box<dyn Steps>, ProtocolError>;

/// Begins a session of DUPLO.
pub(super) fn duplo(
    party: Party,
    channel: Channel,
    terms: &Terms,
    needs: SessionNeeds,
    watch: &Observe,
) -> Result<Box<dyn Steps>, ProtocolError> {
    let SessionNeeds { components, inputs: [garblers, evaluators], sealed } = needs;
    let ots = Some(evaluators).filter(|&ots| ots > 0);
    let request = duplo::Request { components, garbler_wires: garblers + sealed, ots };
    let observer = watch(Duplo::PHASES);
    Ok(match party {
        Party::Garbler => Box::new(Garbler::setup(channel, terms, observer)?.fill(&request)?),
        Party::Evaluator => Box::new(Evaluator::setup(channel, terms, observer)?.fill(&request)?),
    })
}

/// Begins a session of authenticated masks.
pub(super) fn authenticated(
    party: Party,
    channel: Channel,
    terms: &Terms,
    needs: SessionNeeds,
    watch: &Observe,
) -> Result<Box<dyn Steps>, ProtocolError> {
    let SessionNeeds { components, inputs, .. } = needs;
    let request = authenticated::Request { components, inputs: inputs.iter().sum() };
    let observer = watch(Authenticated::PHASES);
    let session = authenticated::Session::begin(party, channel, terms, Cot::default(), &request, observer)?;
    Ok(Box::new(session))
}

/// Implements [`Steps`] for a party of a protocol. The evaluator's knowledge of a cheat depends on its input,
/// so no result of a step contains this knowledge.
macro_rules! steps {
    ($party:ty) => {
        impl Steps for $party {
            fn step(
                self: Box<Self>,
                step: &Step,
                input: &[bool],
            ) -> Result<(FromStock, Box<dyn Steps>), ProtocolError> {
                let (done, session) = (*self).run(step, input)?;
                let (outputs, kept, promise) = (done.outputs, done.kept, done.promise);
                let done = FromStock { outputs, kept, recovered: false, promise, made: None };
                Ok((done, Box::new(session)))
            }

            fn close(self: Box<Self>) -> Result<Vec<PhaseReport>, ProtocolError> {
                (*self).close()
            }
        }
    };
}

steps!(Garbler);
steps!(Evaluator);
steps!(authenticated::Session);
