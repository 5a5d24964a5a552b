//! The garbler's proposal, which the evaluator checks and accepts: the cut of the program into components,
//! and B and c of each batch.
//!
//! ```text
//!   garbler -> evaluator    with its greeting: the digest of the program in the proposed cut,
//!                           the cut's name;  B and c of each batch
//! ```
//!
//! Before that, the parties agree only on the job, whose program both have in the same cut. The evaluator
//! makes the proposed cut from its own file and compares digests. So it evaluates its own function, and
//! checks copies of its own components. It also computes the bound and the required memory itself. The
//! greeting contains a digest of the proposal. So the session's identifier binds the proposal, and with it
//! every message of the session.

use std::sync::Arc;

use super::hooks;
use super::msg::{DECOMPOSITION, PROPOSAL};
use super::{Cheat, Error, Hooks, Parameters};
use brickwork_base::digest::Digest;
use brickwork_circuit::{Party, Program};
use brickwork_primitives::spill;
use brickwork_protocol::{AgreedJob, Answer, Digests, Metered, OTHER_PROGRAM};
use brickwork_wire::Channel;

/// The largest number of bytes of a cut's name.
pub const MAX_DECOMPOSITION_BYTES: usize = 4096;

const DIGEST: usize = 32;

/// The proposal of a garbler.
#[derive(Clone, Debug)]
pub struct Proposal {
    /// The job's program, in the cut that the parameters name.
    pub program: Arc<Program>,
    /// The name of the cut, and B and c of each batch.
    pub parameters: Parameters,
}

/// Makes the cut with this name from the evaluator's own program. The empty name means the cut that both
/// parties have.
pub type Decompose<'a> = dyn Fn(&str) -> Result<Arc<Program>, Error> + 'a;

/// An evaluator's limits for proposals.
#[derive(Clone, Copy, Default)]
pub struct ProposalLimits<'a> {
    /// The largest number of bytes of memory, as `plan` predicts them.
    pub memory_bytes: Option<u64>,
    /// Makes other cuts of the program. Without it only the job's own cut is accepted.
    pub decompose: Option<&'a Decompose<'a>>,
}

impl std::fmt::Debug for ProposalLimits<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Limits")
            .field("memory_bytes", &self.memory_bytes)
            .field("decomposes", &self.decompose.is_some())
            .finish()
    }
}

impl Proposal {
    /// Makes a proposal of the job's program in its own cut.
    pub fn given(job: &AgreedJob, parameters: Parameters) -> Self {
        Proposal { program: job.program.clone(), parameters }
    }

    /// Checks the proposal as the evaluator of this job would. Returns it with its exact bound.
    ///
    /// # Errors
    /// [`Error::Mismatch`] if the proposal is not for this job or exceeds 2^-s, [`Error::Usage`] if the cut's
    /// name is too long.
    pub(super) fn checked(&self, job: &AgreedJob) -> Result<Self, Error> {
        let name = &self.parameters.decomposition;
        if name.len() > MAX_DECOMPOSITION_BYTES {
            return Err(Error::Usage(format!(
                "the name of the cut has {} bytes, too many for a proposal",
                name.len()
            )));
        }
        same_interface(&job.program, &self.program)?;
        let parameters = Parameters::proposed(&self.program, job.security, &self.parameters.proposal())?;
        Ok(Proposal { program: self.program.clone(), parameters: parameters.of_decomposition(name) })
    }

    /// Returns the digests of a job and of this proposal, for the greeting.
    pub(super) fn digests(&self, job: &AgreedJob) -> Digests {
        let parameters = digest(&self.program, &self.parameters);
        Digests { stock: false, program: job.program.digest(), parameters }
    }

    /// Sends the proposal, right after the greeting.
    pub(super) fn send(&self, channel: &mut Channel) -> Result<(), Error> {
        CutMessage::of(&self.program, &self.parameters.decomposition).send(channel)?;
        channel.send(PROPOSAL, &self.parameters.proposal())
    }

    /// Receives the garbler's proposal and checks its bound and its program. Weaker parameters and another
    /// function are refused.
    ///
    /// # Errors
    /// [`Error::Mismatch`] if this evaluator does not accept the proposal.
    pub(super) fn accept(
        run: &mut Metered,
        hooks: &Hooks,
        answer: &Answer,
        job: &AgreedJob,
        limits: &ProposalLimits,
    ) -> Result<Self, Error> {
        let cut = CutMessage::receive(&mut run.channel)?;
        // Work that depends on the program belongs to the phase preprocess.
        run.phase("preprocess");
        let program = cut.make(&job.program, limits.decompose)?;
        run.phase("setup");
        let others = || Error::Mismatch("the two parties have different cut-and-choose parameters".into());
        let proposal = run.channel.receive(PROPOSAL, Parameters::proposal_bytes(&program))?;
        let parameters = match hooks::parameters(hooks) {
            Some(unsafe_ones) if unsafe_ones.proposal() == proposal => unsafe_ones.clone(),
            Some(_) => return Err(others()),
            None => Parameters::proposed(&program, job.security, &proposal)?,
        };
        let parameters = parameters.of_decomposition(&cut.name);
        // The greeting, and with it the session's identifier, contains a digest of the whole proposal.
        if digest(&program, &parameters) != answer.parameters {
            return Err(others());
        }
        let [_, files] = super::memory::files(&program, &parameters);
        spill::check_room(files)?;
        let [_, memory] = super::memory::peaks(&program, &parameters);
        match limits.memory_bytes {
            Some(limit) if memory > limit => Err(Error::Mismatch(format!(
                "the garbler's proposal needs some {memory} bytes of this party's memory, but only {limit} \
                 are free or allowed; use fewer --executions"
            ))),
            _ => Ok(Proposal { program, parameters }),
        }
    }
}

/// The message with the garbler's cut of the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CutMessage {
    /// The digest of the program in this cut.
    digest: [u8; DIGEST],
    /// The name of the cut; empty for the cut that both parties have.
    pub name: String,
}

impl CutMessage {
    /// The message that proposes no other cut.
    pub const NONE: CutMessage = CutMessage { digest: [0; DIGEST], name: String::new() };

    pub fn of(program: &Program, name: &str) -> Self {
        CutMessage { digest: program.digest(), name: name.to_owned() }
    }

    /// Sends the message, right after the greeting.
    pub fn send(&self, channel: &mut Channel) -> Result<(), Error> {
        channel.send(DECOMPOSITION, &[&self.digest[..], self.name.as_bytes()].concat())
    }

    pub fn receive(channel: &mut Channel) -> Result<Self, Error> {
        let bytes = channel.receive_up_to(DECOMPOSITION, DIGEST + MAX_DECOMPOSITION_BYTES)?;
        let (digest, name) = bytes.split_first_chunk().ok_or(Cheat::UnexpectedMessage)?;
        let name = str::from_utf8(name).map_err(|_| Cheat::UnexpectedMessage)?;
        Ok(CutMessage { digest: *digest, name: name.to_owned() })
    }

    /// Returns the evaluator's own program in this cut.
    ///
    /// # Errors
    /// [`Error::Mismatch`] if this party cannot make the cut, or gets a different program than the garbler.
    pub fn make(&self, given: &Arc<Program>, decompose: Option<&Decompose>) -> Result<Arc<Program>, Error> {
        let CutMessage { digest, name } = self;
        let program = match decompose {
            Some(decompose) => decompose(name)?,
            None if name.is_empty() => given.clone(),
            None => {
                return Err(Error::Mismatch(format!(
                    "the garbler proposes the cut {name:?}, but this party accepts only its own cut"
                )));
            }
        };
        if *self != CutMessage::NONE && program.digest() != *digest {
            return Err(Error::Mismatch(match &name[..] {
                "" => OTHER_PROGRAM.into(),
                name => {
                    format!("with the cut {name:?}, this party gets a different program than the garbler")
                }
            }));
        }
        same_interface(given, &program)?;
        Ok(program)
    }
}

/// Returns a digest of the proposal: the program in its cut, the name of the cut, and B and c of each batch.
fn digest(program: &Program, parameters: &Parameters) -> [u8; 32] {
    let mut digest = Digest::of("brickwork 2026-11 duplo proposal");
    digest.digest(&program.digest()).digest(&parameters.digest());
    digest.bytes(parameters.decomposition.as_bytes()).done()
}

/// Checks that a cut program has the same inputs and gives the same outputs to the same parties.
fn same_interface(given: &Program, cut: &Program) -> Result<(), Error> {
    let inputs = |party| given.input_ports(party) == cut.input_ports(party);
    let outputs = |program: &Program| {
        program.outputs().iter().map(|output| (output.port.clone(), output.to)).collect::<Vec<_>>()
    };
    match inputs(Party::Garbler) && inputs(Party::Evaluator) && outputs(given) == outputs(cut) {
        true => Ok(()),
        false => Err(Error::Mismatch("the program in the proposed cut has other inputs or outputs".into())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adversary::harness::{small, toy};
    use brickwork_circuit::{Port, ProgramBuilder, Recipient, Type};
    use brickwork_testing::digest as expected;

    /// The greeting's digest of a proposal is a hash of exactly these bytes.
    #[test]
    fn row_19_a_proposal_is_named_by_bytes_that_are_written_out() {
        let program = toy();
        let parameters = small(&program, [3, 4], [5, 6], [7, 8]).of_decomposition("cut");
        let numbers = |all: &[u64]| all.iter().flat_map(|n| n.to_le_bytes()).collect::<Vec<u8>>();
        let Parameters { plain, input, ot_binding, .. } = &parameters;
        let mut bytes = numbers(&[40, 1, *ot_binding as u64, 2, 2, 3, 4, 2, 3, 4]);
        bytes.extend(numbers(&[plain.slots.into(), 5, 6, input.slots.into(), 7, 8]));
        let of_parameters = expected("brickwork 2026-11 duplo parameters", &[&bytes]);
        assert_eq!(parameters.digest(), of_parameters);
        let fields: [&[u8]; 4] = [&program.digest(), &of_parameters, &numbers(&[3]), b"cut"];
        assert_eq!(digest(&program, &parameters), expected("brickwork 2026-11 duplo proposal", &fields));
        // The program's digest is a hash of the bytes of its file.
        let file = program.to_bytes();
        assert_eq!(
            file[file.len() - 32..],
            expected("brickwork program encoding 1", &[&file[..file.len() - 32]])
        );
    }

    #[test]
    fn row_19_a_cut_has_the_programs_interface() {
        let program = |x: u32, y: u32, to: Recipient| {
            let ports = |name: &str, width: u32| vec![Port::new(name, Type::Uint(width))];
            let mut program = ProgramBuilder::new("p", ports("x", x), ports("y", y)).unwrap();
            program.output(Port::new("z", Type::Uint(1)), to, vec![0]).unwrap();
            program.finish().unwrap()
        };
        let given = program(2, 3, Recipient::Both);
        assert!(same_interface(&given, &program(2, 3, Recipient::Both)).is_ok());
        for other in [
            program(1, 3, Recipient::Both),
            program(2, 4, Recipient::Both),
            program(2, 3, Recipient::Garbler),
        ] {
            assert!(matches!(same_interface(&given, &other), Err(Error::Mismatch(_))));
        }
    }
}
