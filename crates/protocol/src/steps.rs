//! Steps of a session: programs that can use values that earlier steps kept. Later inputs and programs may
//! depend on outputs that were decoded before. Outputs that were not decoded stay garbled, and later steps
//! can use them. Both parties derive the same names for steps and secrets, in every protocol.

use std::collections::BTreeMap;
use std::sync::Arc;

use brickwork_base::Error;
use brickwork_base::digest::Digest;
use brickwork_circuit::{OutputPort, Party, Port, Program, Recipient, Type, Wire};
use brickwork_store::{Counter, Range, Ranges};

use crate::SessionId;

/// A value that a step kept: its wires stay garbled, and later steps of the same session can use them. Both
/// parties know its name, and neither can read its value. It cannot be used in another session, or after the
/// end of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Secret {
    session: SessionId,
    number: u64,
    ty: Type,
}

impl Secret {
    /// Names the secret with this number in a session.
    pub fn new(session: &SessionId, number: u64, ty: &Type) -> Self {
        Secret { session: *session, number, ty: ty.clone() }
    }

    /// Returns the number of this secret, which is unique among all sessions that share the same key
    /// material.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Returns the type of the output that was kept.
    pub fn ty(&self) -> &Type {
        &self.ty
    }
}

/// A program as a step of a session.
#[derive(Clone, Debug)]
pub struct Step {
    /// The program as it runs. Ports that carry a secret belong to the garbler, and no party learns kept
    /// outputs.
    program: Arc<Program>,
    /// The secret that each of the garbler's ports carries.
    carried: Vec<Option<Secret>>,
    /// The purpose of the step, if an application records one.
    purpose: Option<[u8; 32]>,
}

impl From<&Arc<Program>> for Step {
    fn from(program: &Arc<Program>) -> Self {
        let carried = vec![None; program.input_ports(Party::Garbler).len()];
        Step { program: program.clone(), carried, purpose: None }
    }
}

impl From<&Step> for Step {
    fn from(step: &Step) -> Self {
        step.clone()
    }
}

impl Step {
    /// Makes a step from `program`. The ports named in `carried`, of either party, take these secrets instead
    /// of an input. The outputs named in `kept` are not decoded.
    ///
    /// # Errors
    /// [`Error::Input`] if a port does not exist, exists more than once, or is named twice, or if a secret
    /// has another type.
    pub fn new(
        program: &Arc<Program>,
        carried: &[(Party, &str, &Secret)],
        kept: &[&str],
    ) -> Result<Self, Error> {
        let mut of_garbler = vec![None; program.input_ports(Party::Garbler).len()];
        let mut of_evaluator = std::collections::BTreeMap::new();
        for &(party, name, secret) in carried {
            let ports = program.input_ports(party);
            let port = position(ports.iter().map(|port| port.name.as_str()), name, "input")?;
            let Port { ty, .. } = &ports[port];
            if *ty != secret.ty {
                let found = &secret.ty;
                return Err(Error::Input(format!(
                    "input {name} has type {ty}, but the secret has type {found}"
                )));
            }
            let before = match party {
                Party::Garbler => of_garbler[port].replace(secret.clone()),
                Party::Evaluator => of_evaluator.insert(port, secret.clone()),
            };
            if before.is_some() {
                return Err(Error::Input(format!("input {name} is given two secrets; give one")));
            }
        }
        let mut keep = std::collections::BTreeSet::new();
        for name in kept {
            let names = program.outputs().iter().map(|output| output.port.name.as_str());
            if !keep.insert(position(names, name, "output")?) {
                return Err(Error::Input(format!("output {name} is kept twice")));
            }
        }
        let program = program.step(&of_evaluator.keys().copied().collect(), &keep)?;
        let carried = of_garbler.into_iter().chain(of_evaluator.into_values().map(Some)).collect();
        Ok(Step { program: Arc::new(program), carried, purpose: None })
    }

    /// Joins independent steps into one, in which they run side by side. The joined step needs only as many
    /// messages as one of them, and one proof before the first output. Its inputs, outputs and kept secrets
    /// are those of the single steps in their order ([`Step::input_width`], [`Step::output_width`]).
    ///
    /// # Errors
    /// [`Error::Input`] if there is no step, or if one has a purpose, because the resulting step has none;
    /// [`Error::Limit`] if they are too large together.
    pub fn beside(steps: &[Step]) -> Result<Self, Error> {
        if steps.iter().any(|step| step.purpose.is_some()) {
            return Err(Error::Input("steps that have a purpose cannot be joined into one step".into()));
        }
        let programs: Vec<&Program> = steps.iter().map(|step| &*step.program).collect();
        let carried = steps.iter().flat_map(|step| step.carried.iter().cloned()).collect();
        Ok(Step { program: Arc::new(Program::beside(&programs)?), carried, purpose: None })
    }

    /// Gives the step a purpose. Both parties must give the same purpose, and the log of the stock records it
    /// ([`Step::entered_as`]).
    #[must_use]
    pub fn for_purpose(self, purpose: [u8; 32]) -> Self {
        Step { purpose: Some(purpose), ..self }
    }

    /// Returns the name of the step in the log of a stock: a digest of its program, the secrets that it uses,
    /// and its purpose.
    pub fn entered_as(&self) -> [u8; 32] {
        self.digest()
    }

    /// Returns the program as it runs: ports that carry a secret come after the garbler's own, and no party
    /// learns kept outputs.
    pub fn program(&self) -> &Arc<Program> {
        &self.program
    }

    /// Returns the ports for which a party must provide an input.
    pub fn input_ports(&self, party: Party) -> Vec<Port> {
        let ports = self.program.input_ports(party).to_vec();
        match party {
            Party::Garbler => {
                let own = ports.into_iter().zip(&self.carried).filter(|(_, carried)| carried.is_none());
                own.map(|(port, _)| port).collect()
            }
            Party::Evaluator => ports,
        }
    }

    /// Returns the number of input bits of a party.
    pub fn input_width(&self, party: Party) -> usize {
        match party {
            Party::Garbler => self.given().count(),
            Party::Evaluator => self.program.input_width(party),
        }
    }

    /// Returns the number of output bits of a party.
    pub fn output_width(&self, party: Party) -> usize {
        self.program.outputs_of(party).map(|output| output.wires.len()).sum()
    }

    /// Checks the length of a party's input.
    ///
    /// # Errors
    /// [`Error::Input`] if the length differs.
    pub fn check_input(&self, party: Party, input: &[bool]) -> Result<(), Error> {
        let width = self.input_width(party);
        if input.len() == width {
            return Ok(());
        }
        Err(Error::Input(format!(
            "the program takes {width} input bits from the {party:?}, not {}",
            input.len()
        )))
    }

    /// Returns a digest of the step, which must be the same at both parties.
    pub fn digest(&self) -> [u8; 32] {
        if self.secrets().next().is_none() && self.purpose.is_none() {
            return self.program.digest();
        }
        let mut digest = Digest::of("brickwork 2026-11 step of a session");
        digest.digest(&self.program.digest());
        digest.number(self.purpose.is_some()).digest(&self.purpose.unwrap_or_default());
        for carried in &self.carried {
            digest.number(carried.is_some());
            digest.number(carried.as_ref().map_or(0, |secret| secret.number));
        }
        digest.done()
    }

    /// Checks that all secrets belong to this session.
    ///
    /// # Errors
    /// [`Error::Usage`] if one does not.
    pub fn check_session(&self, session: Option<&SessionId>) -> Result<(), Error> {
        match self.secrets().all(|secret| Some(&secret.session) == session) {
            true => Ok(()),
            false => Err(Error::Usage(
                "this secret belongs to another session: a kept value can only be used in the session that \
                 kept it"
                    .into(),
            )),
        }
    }

    /// Returns all secrets that the step uses.
    pub fn secrets(&self) -> impl Iterator<Item = &Secret> {
        self.carried.iter().flatten()
    }

    /// Returns the garbler's ports in order: their widths, and the secrets that they carry.
    pub fn garbler_ports(&self) -> impl Iterator<Item = (usize, Option<&Secret>)> {
        let widths = self.program.input_ports(Party::Garbler).iter().map(|port| port.width() as usize);
        widths.zip(self.carried.iter().map(Option::as_ref))
    }

    /// Returns the input wires for which the garbler sends labels.
    pub fn given(&self) -> impl Iterator<Item = Wire> {
        self.wires(false)
    }

    /// Returns the wires that carry secrets.
    pub fn carried(&self) -> impl Iterator<Item = Wire> {
        self.wires(true)
    }

    fn wires(&self, carried: bool) -> impl Iterator<Item = Wire> {
        let ports = self.garbler_ports().scan(0, |next, (width, secret)| {
            let first = *next;
            *next += width as Wire;
            Some((first..*next, secret))
        });
        ports.filter(move |(_, secret)| secret.is_some() == carried).flat_map(|(wires, _)| wires)
    }
}

/// Returns the index of a name that must occur exactly once.
fn position<'a>(names: impl Iterator<Item = &'a str>, name: &str, what: &str) -> Result<usize, Error> {
    let places: Vec<usize> =
        names.enumerate().filter(|(_, other)| *other == name).map(|(place, _)| place).collect();
    match places[..] {
        [place] => Ok(place),
        [] => Err(Error::Input(format!("the program has no {what} {name}"))),
        _ => Err(Error::Input(format!("the program has several {what}s {name}"))),
    }
}

/// Returns the kept outputs of a step, which no party learns.
pub fn kept(program: &Program) -> impl Iterator<Item = &OutputPort> {
    program.outputs().iter().filter(|output| output.to == Recipient::Nobody)
}

/// The counter from which secrets get their numbers. Each log entry has a range of its own. So a secret that
/// one program of an epoch kept has no meaning in another program.
const NUMBERS: Counter = Counter::new("numbers of kept values", 40);

/// The secrets that the steps of a session have kept. For each of them, `W` holds this party's data about its
/// wires.
pub struct KeptSecrets<W> {
    wires: BTreeMap<u64, (Secret, W)>,
    /// The numbers for new secrets; both parties use the same.
    numbers: Range,
    /// The secrets of the last step.
    last: Vec<Secret>,
}

impl<W> Default for KeptSecrets<W> {
    fn default() -> Self {
        let numbers = Ranges::of_setup().take(&NUMBERS).expect("no range was taken before");
        KeptSecrets { wires: BTreeMap::new(), numbers, last: Vec::new() }
    }
}

impl<W> KeptSecrets<W> {
    /// Takes new numbers from the ranges of a log entry.
    ///
    /// # Errors
    /// [`Error::Usage`] if these numbers were taken before.
    pub fn enter(&mut self, ranges: &mut Ranges) -> Result<(), Error> {
        self.numbers = ranges.take(&NUMBERS)?;
        Ok(())
    }

    /// Returns this party's data about a secret's wires.
    ///
    /// # Errors
    /// [`Error::Usage`] if it was forgotten, or its session has ended.
    pub fn wires(&self, secret: &Secret) -> Result<&W, Error> {
        match self.wires.get(&secret.number) {
            Some((kept, wires)) if kept == secret => Ok(wires),
            _ => Err(forgotten()),
        }
    }

    /// Returns this party's data about the wires of the secret with this number. The step that uses it must
    /// have been checked.
    ///
    /// # Errors
    /// As [`KeptSecrets::wires`].
    pub fn of_number(&self, number: u64) -> Result<&W, Error> {
        self.wires.get(&number).map(|(_, wires)| wires).ok_or_else(forgotten)
    }

    /// Checks that all secrets that a step uses exist.
    ///
    /// # Errors
    /// As [`KeptSecrets::wires`].
    pub fn check(&self, step: &Step) -> Result<(), Error> {
        step.secrets().try_for_each(|secret| self.wires(secret).map(drop))
    }

    /// Keeps the outputs of a program that no party learns; `wires` returns this party's data about the wires
    /// of each output.
    ///
    /// # Errors
    /// [`Error::Limit`] if there are no numbers left.
    pub fn keep(
        &mut self,
        session: &SessionId,
        program: &Program,
        mut wires: impl FnMut(&OutputPort) -> W,
    ) -> Result<(), Error> {
        self.last.clear();
        for output in kept(program) {
            let secret = Secret::new(session, self.numbers.draw(1)?, &output.port.ty);
            self.wires.insert(secret.number, (secret.clone(), wires(output)));
            self.last.push(secret);
        }
        Ok(())
    }

    /// Returns whether nothing is kept.
    pub fn is_empty(&self) -> bool {
        self.wires.is_empty()
    }

    /// Returns the secrets that the last step kept, in the order of its outputs.
    pub fn last(&self) -> &[Secret] {
        &self.last
    }

    /// Forgets a secret's wires.
    pub fn forget(&mut self, secret: &Secret) {
        if self.wires(secret).is_ok() {
            self.wires.remove(&secret.number);
        }
    }
}

fn forgotten() -> Error {
    Error::Usage("this secret was forgotten, or its session has ended".into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use brickwork_circuit::ProgramBuilder;

    /// Row 19 of the table of attacks: a step takes and keeps only inputs and outputs of its program, each of
    /// them once, and only secrets of its own session.
    #[test]
    fn row_19_a_step_that_no_program_can_have_is_refused() {
        let port = |name: &str| Port::new(name, Type::Uint(2));
        let mut program = ProgramBuilder::new("p", vec![port("x"), port("s")], vec![port("y")]).unwrap();
        program.output(port("z"), Recipient::Both, vec![0, 1]).unwrap();
        program.output(port("w"), Recipient::Both, vec![4, 5]).unwrap();
        let program = Arc::new(program.finish().unwrap());
        let (session, other) = ([1; 32], [2; 32]);
        let [narrow, wide] = [2, 3].map(|width| Secret::new(&session, 5, &Type::Uint(width)));
        let (x, y) = ((Party::Garbler, "x", &narrow), (Party::Evaluator, "y", &narrow));
        let step = Step::new(&program, &[x, y], &["z"]).unwrap();
        assert_eq!([Party::Garbler, Party::Evaluator].map(|party| step.input_width(party)), [2, 0]);
        assert_eq!(step.input_ports(Party::Garbler), [port("s")]);
        assert_eq!((step.given().count(), step.carried().count()), (2, 4));
        assert!(kept(step.program()).map(|output| &*output.port.name).eq(["z"]));
        for (carried, kept) in [
            (&[(Party::Garbler, "x", &wide)][..], &[][..]),
            (&[x, x], &[]),
            (&[y, y], &[]),
            (&[(Party::Garbler, "y", &narrow)], &[]),
            (&[], &["z", "z"]),
            (&[], &["x"]),
        ] {
            assert!(
                matches!(Step::new(&program, carried, kept), Err(Error::Input(_))),
                "{carried:?} {kept:?}"
            );
        }
        assert!(step.check_session(Some(&session)).is_ok());
        assert!([Some(&other), None].iter().all(|other| step.check_session(*other).is_err()));
        assert!(Step::beside(&[step.clone(), step.clone()]).is_ok());
        assert!(Step::beside(&[step.clone(), step.for_purpose([3; 32])]).is_err());
    }
}
