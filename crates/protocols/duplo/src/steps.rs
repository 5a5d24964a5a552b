//! Steps of a session (sections 5.3 and 6 of the paper): later inputs, and what is computed next, may depend on
//! what was decoded before, and what was not decoded stays garbled and flows on.
//!
//! An output that a step keeps is soldered to input authenticators of its own, as one that only the garbler
//! learns; but neither its colour nor its indicator bit ever leaves a party. In a later step it is an input of
//! the garbler's in all but two things: the evaluator has its label already, and nobody knows its bit. So all
//! that holds of the garbler's inputs holds of it: the label lies at the head of a bucket, solderings from there
//! are proven, and whoever learns Δ_ka recovers the bit from the self-authenticating labels. That is why recovery
//! needs no memory of the steps that led here.

use std::ops::Range;
use std::sync::Arc;

use super::Error;
use super::stock::{Items, garbler_wires};
use brickwork_base::digest::Digest;
use brickwork_base::label::{Label, Labels};
use brickwork_circuit::{OutputPort, Party, Port, Program, Recipient, Type, Wire};
use brickwork_session::SessionId;

/// Wires that a step kept: they stay garbled, and later steps of the same session carry them on. Both parties
/// have this name for them, and neither can read them. It is of no use in another session, nor after the end of
/// its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Secret {
    session: SessionId,
    number: u64,
    ty: Type,
}

impl Secret {
    /// Returns the type of the output that was kept.
    pub fn ty(&self) -> &Type {
        &self.ty
    }
}

/// A program as a step of a session.
#[derive(Clone, Debug)]
pub struct Step {
    /// Ports that carry a secret on are the garbler's, and kept outputs are nobody's.
    program: Arc<Program>,
    /// What each of the garbler's ports carries on.
    carried: Vec<Option<Secret>>,
}

impl From<&Arc<Program>> for Step {
    fn from(program: &Arc<Program>) -> Self {
        let carried = vec![None; program.input_ports(Party::Garbler).len()];
        Step { program: program.clone(), carried }
    }
}

impl From<&Step> for Step {
    fn from(step: &Step) -> Self {
        step.clone()
    }
}

impl Step {
    /// Joins `program` to what earlier steps kept: the ports named in `carried`, of either party, take these
    /// secrets instead of an input, and the outputs named in `kept` are decoded for nobody.
    ///
    /// # Errors
    /// [`Error::Input`] if there is no such port or more than one, it is named twice, or the secret is of
    /// another type.
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
                    "input {name} is of type {ty}, the secret of type {found}"
                )));
            }
            let before = match party {
                Party::Garbler => of_garbler[port].replace(secret.clone()),
                Party::Evaluator => of_evaluator.insert(port, secret.clone()),
            };
            if before.is_some() {
                return Err(Error::Input(format!("input {name} takes two secrets")));
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
        Ok(Step { program: Arc::new(program), carried })
    }

    /// Returns the program as it runs: ports that carry a secret on are behind the garbler's own, and kept
    /// outputs are nobody's.
    pub fn program(&self) -> &Arc<Program> {
        &self.program
    }

    /// Returns the number of bits that a party gives.
    pub fn input_width(&self, party: Party) -> usize {
        match party {
            Party::Garbler => self.given().count(),
            Party::Evaluator => self.program.input_width(party),
        }
    }

    /// Returns the number of input authenticators that it takes from the stock.
    pub(super) fn garbler_wires(&self) -> usize {
        garbler_wires(&self.program) - self.carried().count()
    }

    /// Checks the length of a party's input.
    ///
    /// # Errors
    /// [`Error::Input`] if it is another one.
    pub(super) fn check_input(&self, party: Party, input: &[bool]) -> Result<(), Error> {
        let width = self.input_width(party);
        if input.len() == width {
            return Ok(());
        }
        Err(Error::Input(format!("the {party:?} gives {width} input bits here, not {}", input.len())))
    }

    /// Names the step; both parties must mean the same.
    pub(super) fn digest(&self) -> [u8; 32] {
        if self.secrets().next().is_none() {
            return self.program.digest();
        }
        let mut digest = Digest::of("brickwork 2026-11 duplo step");
        digest.digest(&self.program.digest());
        for carried in &self.carried {
            digest.number(carried.is_some());
            digest.number(carried.as_ref().map_or(0, |secret| secret.number));
        }
        digest.done()
    }

    /// Checks that all secrets are of this session.
    ///
    /// # Errors
    /// [`Error::Usage`] if one is not.
    pub(super) fn check_session(&self, session: Option<&SessionId>) -> Result<(), Error> {
        match self.secrets().all(|secret| Some(&secret.session) == session) {
            true => Ok(()),
            false => Err(Error::Usage(
                "a secret of another session cannot be used: what is not decoded ends with its session"
                    .into(),
            )),
        }
    }

    /// Returns all that is carried on.
    pub(super) fn secrets(&self) -> impl Iterator<Item = &Secret> {
        self.carried.iter().flatten()
    }

    /// Returns the garbler's ports in order: their widths, and what they carry on.
    pub(super) fn garbler_ports(&self) -> impl Iterator<Item = (usize, Option<&Secret>)> {
        let widths = self.program.input_ports(Party::Garbler).iter().map(|port| port.width() as usize);
        widths.zip(self.carried.iter().map(Option::as_ref))
    }

    /// Returns the wires that the garbler gives labels for.
    pub(super) fn given(&self) -> impl Iterator<Item = Wire> {
        self.wires(false)
    }

    /// Returns the wires that are carried on.
    pub(super) fn carried(&self) -> impl Iterator<Item = Wire> {
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

/// Finds the one place of a name.
fn position<'a>(names: impl Iterator<Item = &'a str>, name: &str, what: &str) -> Result<usize, Error> {
    let places: Vec<usize> =
        names.enumerate().filter(|(_, other)| *other == name).map(|(place, _)| place).collect();
    match places[..] {
        [place] => Ok(place),
        [] => Err(Error::Input(format!("the program has no {what} {name}"))),
        _ => Err(Error::Input(format!("the program has several {what}s {name}"))),
    }
}

/// Wires that were kept, at one party: their authenticators, and at the evaluator their labels.
struct Wires<A> {
    authenticators: Vec<A>,
    labels: Labels,
}

/// What the steps of a session have kept, at one party.
pub(super) struct Kept<A> {
    wires: std::collections::BTreeMap<u64, Wires<A>>,
    /// Numbers are given once, alike at both parties.
    next: u64,
    /// Of the last step.
    last: Vec<Secret>,
}

impl<A> Default for Kept<A> {
    fn default() -> Self {
        Kept { wires: std::collections::BTreeMap::new(), next: 0, last: Vec::new() }
    }
}

impl<A: Items> Kept<A> {
    /// Returns the authenticators of a secret's wires.
    ///
    /// # Errors
    /// [`Error::Usage`] if it was forgotten.
    pub fn authenticators(&self, secret: &Secret) -> Result<impl Iterator<Item = A>, Error> {
        let wires = &self.known(secret)?.authenticators;
        Ok(wires.iter().map(|some| some.slice(0..some.len())))
    }

    /// Returns the labels of all that a step carries on, in the order of its wires: at the evaluator.
    ///
    /// # Errors
    /// [`Error::Usage`] if something was forgotten.
    pub fn labels(&self, step: &Step) -> Result<Labels, Error> {
        // Room for all at once: what grows leaves copies behind.
        let mut labels = Labels::new(Vec::with_capacity(step.carried().count()));
        for secret in step.secrets() {
            labels.extend_from_slice(&self.known(secret)?.labels);
        }
        Ok(labels)
    }

    /// Checks that nothing was forgotten that a step carries on.
    ///
    /// # Errors
    /// [`Error::Usage`] if it was.
    pub fn check(&self, step: &Step) -> Result<(), Error> {
        step.secrets().try_for_each(|secret| self.known(secret).map(drop))
    }

    fn known(&self, secret: &Secret) -> Result<&Wires<A>, Error> {
        self.wires.get(&secret.number).ok_or_else(|| Error::Usage("the secret was forgotten".into()))
    }

    /// Whether nothing is kept.
    pub fn is_empty(&self) -> bool {
        self.wires.is_empty()
    }

    /// Returns what the last step kept, in the order of its outputs.
    pub fn last(&self) -> &[Secret] {
        &self.last
    }

    /// Forgets a secret's wires.
    pub fn forget(&mut self, secret: &Secret) {
        self.wires.remove(&secret.number);
    }

    /// Keeps the outputs of a program that nobody learns. Their authenticators are the last ones of `pools`;
    /// `labels` are those of their wires, at the evaluator.
    pub fn keep(&mut self, session: &SessionId, program: &Program, pools: &[A], labels: &[Label]) {
        let kept = |output: &&OutputPort| output.to == Recipient::Nobody;
        let total: usize = program.outputs().iter().filter(kept).map(|output| output.wires.len()).sum();
        let mut first = pools.iter().map(A::len).sum::<usize>() - total;
        let mut labels = labels;
        self.last.clear();
        for output in program.outputs().iter().filter(kept) {
            let width = output.wires.len();
            let (own, rest) = labels.split_at(width.min(labels.len()));
            labels = rest;
            let wires = Wires {
                authenticators: sliced(pools, first..first + width),
                labels: Labels::new(own.to_vec()),
            };
            first += width;
            self.wires.insert(self.next, wires);
            self.last.push(Secret { session: *session, number: self.next, ty: output.port.ty.clone() });
            self.next += 1;
        }
    }
}

/// Returns some of the items of several pools, counted pool after pool.
fn sliced<A: Items>(pools: &[A], items: Range<usize>) -> Vec<A> {
    let mut first = 0;
    let of_pool = |pool: &A| {
        let here = items.start.max(first)..items.end.min(first + pool.len());
        let slice = (here.start < here.end).then(|| pool.slice(here.start - first..here.end - first));
        first += pool.len();
        slice
    };
    pools.iter().filter_map(of_pool).collect()
}
