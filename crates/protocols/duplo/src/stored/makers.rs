//! Makers of DUPLO's stock: workers in separate processes, each of which makes a share of a step.

use serde::{Deserialize, Serialize};

use super::side::Filling;
use crate::hooks::Hooks;
use crate::parameters::Parameters;
use crate::report::Duplo;
use crate::request::Request;
use brickwork_base::pool::Pool;
use brickwork_base::{Error, Security};
use brickwork_circuit::{Component, Party, Port, Program, ProgramBuilder, Recipient, Type, Wire};
use brickwork_primitives::cut_and_choose::Bucketing;
use brickwork_protocol::stock::makers;
use brickwork_protocol::{Metered, SessionProtocol as _, Unobserved};
use brickwork_wire::Channel;

/// A share of a step as it is sent. Each component is encoded as a program with one slot.
#[derive(Serialize, Deserialize)]
struct Told {
    components: Vec<(Vec<u8>, u64)>,
    garbler_wires: u64,
    ots: Option<u64>,
    security: Security,
    cuts: Vec<Bucketing>,
    bound_log2: f64,
}

fn malformed() -> Error {
    Error::Mismatch(
        "the coordinator runs another release than this maker; install the same release for both".into(),
    )
}

/// Returns the program with one slot of a component.
fn program_of(component: &Component) -> Result<Program, Error> {
    let mut program = ProgramBuilder::new("share", component.inputs.clone(), Vec::new())?;
    let inputs: Vec<Wire> = (0..component.circuit.inputs() as Wire).collect();
    let id = program.component(component.clone())?;
    let first = program.slot(id, &inputs)?;
    program.output(Port::new("first", Type::Uint(1)), Recipient::Both, vec![first])?;
    program.finish()
}

impl Filling<'_> {
    /// Encodes the share for a maker.
    pub(super) fn told(&self) -> Result<Vec<u8>, Error> {
        let Filling { request: Request { components, garbler_wires, ots }, parameters } = self;
        let component = |(component, slots): &(Component, usize)| {
            Ok::<_, Error>((program_of(component)?.to_bytes(), *slots as u64))
        };
        let told = Told {
            components: components.iter().map(component).collect::<Result<_, _>>()?,
            garbler_wires: *garbler_wires as u64,
            ots: ots.map(|ots| ots as u64),
            security: parameters.security,
            cuts: parameters
                .components
                .iter()
                .chain([&parameters.plain, &parameters.input])
                .copied()
                .collect(),
            bound_log2: parameters.bound_log2,
        };
        postcard::to_stdvec(&told).map_err(|_| malformed())
    }
}

/// Decodes the message of [`Filling::told`]. The coordinator compares the digests of both.
fn read(bytes: &[u8]) -> Result<(Request, Parameters), Error> {
    let told: Told = postcard::from_bytes(bytes).map_err(|_| malformed())?;
    let number = |number: u64| usize::try_from(number).map_err(|_| malformed());
    let component = |(bytes, slots): &(Vec<u8>, u64)| {
        let program = Program::from_bytes(bytes)?;
        Ok::<_, Error>((program.components().first().ok_or_else(malformed)?.clone(), number(*slots)?))
    };
    let request = Request {
        components: told.components.iter().map(component).collect::<Result<_, _>>()?,
        garbler_wires: number(told.garbler_wires)?,
        ots: told.ots.map(number).transpose()?,
    };
    Ok((request, Parameters::of_bucketings(told.security, told.cuts, told.bound_log2)))
}

/// A worker of this party in a process of its own. Its coordinator tells it how to meet the peer. It has no
/// store.
pub struct Maker(makers::HomeMaker);

impl Maker {
    /// Receives its task from the coordinator on a connection within the party.
    ///
    /// # Errors
    /// [`Error::Io`] if the coordinator has gone away, or sends another message; [`Error::Mismatch`] if the
    /// coordinator makes stock of another protocol.
    pub fn hear(channel: Channel) -> Result<Self, Error> {
        let maker = makers::HomeMaker::hear(channel)?;
        if maker.meeting().protocol != Duplo::NAME {
            let other = format!(
                "makers can make stock for the protocol duplo only, but the coordinator makes stock for {}",
                maker.meeting().protocol
            );
            return Err(maker.gives_up(Error::Mismatch(other)));
        }
        Ok(Maker(maker))
    }

    /// Returns this party's role.
    pub fn role(&self) -> Party {
        self.0.meeting().role
    }

    /// Tells the coordinator that there is no connection with the peer. Returns the error to report.
    pub fn gives_up(self, why: Error) -> Error {
        self.0.gives_up(why)
    }

    /// Meets the peer's worker, and makes shares of steps on `threads` threads until the coordinator has no
    /// more. Returns the number of shares that it made.
    ///
    /// # Errors
    /// [`Error::Peer`] if the peer cheats; the coordinator has then burned the epoch, or burns it when it is
    /// back. [`Error::Io`] if the peer or the coordinator goes away, [`Error::Mismatch`] if the peer has
    /// another purpose.
    pub fn works(self, peer: Channel, threads: usize) -> Result<u32, Error> {
        self.works_with(peer, threads, Hooks::none())
    }

    pub(in super::super) fn works_with(
        self,
        peer: Channel,
        threads: usize,
        hooks: Hooks,
    ) -> Result<u32, Error> {
        let (role, terms) = (self.role(), self.0.meeting().terms(threads));
        Pool::entered_or_new(threads)?.enter(|| {
            let run = Metered::new::<Duplo>(peer, role, Box::new(Unobserved));
            self.0.works::<Duplo, _>((run, hooks), &terms, read, |owned: &(Request, Parameters)| Filling {
                request: &owned.0,
                parameters: &owned.1,
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adversary::harness::pair;
    use brickwork_protocol::stock::PreprocessingStep as _;

    /// A maker decodes its coordinator's message, and refuses a truncated one.
    #[test]
    fn a_share_is_read_as_it_was_written() {
        let component = pair();
        let request = Request { components: vec![(component, 5)], garbler_wires: 3, ots: Some(2) };
        let parameters = Parameters::for_stock(&request, Security::of(40)).unwrap();
        let filling = Filling { request: &request, parameters: &parameters };
        let bytes = filling.encoded().unwrap();
        let (request, parameters) = read(&bytes).unwrap();
        let again = Filling { request: &request, parameters: &parameters };
        assert_eq!((again.request(), again.parameters()), (filling.request(), filling.parameters()));
        assert_eq!(request.components[0].0.name, filling.request.components[0].0.name);
        assert!((0..bytes.len()).step_by(7).all(|end| read(&bytes[..end]).is_err()));
    }
}
