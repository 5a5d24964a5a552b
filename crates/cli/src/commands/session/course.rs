//! The file of a session: its steps, their order, and the values that each step uses and keeps.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use brickwork::circuit::{OutputPort, Party, Port, Program, Recipient, Type};
use brickwork::engine::sessions::SessionNeeds;
use brickwork::protocol::steps::{Secret, Step};
use brickwork::reading;
use serde::Deserialize;

use crate::commands::{files, programs};
use crate::flags::arguments::Protocol;
use crate::render::failure::Failure;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    step: Vec<CourseEntry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CourseEntry {
    pub name: String,
    /// The file of the step's program, relative to the session's file.
    program: PathBuf,
    /// For each input port, named `name`, `garbler.name` or `evaluator.name`, the kept output that is its
    /// value.
    #[serde(default)]
    carry: BTreeMap<String, String>,
    /// The outputs that no party learns. If a later step keeps an output of the same name, it replaces the
    /// earlier value.
    #[serde(default)]
    keep: Vec<String>,
    /// The largest number of runs of the step.
    #[serde(default = "once")]
    pub at_most: u32,
    /// The possible next steps. The first entry that fits and whose step may still run is taken, or else the
    /// next step of the file.
    #[serde(default)]
    next: Vec<NextStep>,
}

fn once() -> u32 {
    1
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NextStep {
    /// An output that both parties learn.
    output: Option<String>,
    /// The value of the output for which the entry fits. An entry without an output always fits.
    is: Option<toml::Value>,
    /// The name of the next step, or `end`.
    step: String,
}

/// The name for the end of the session in `step`.
const END: &str = "end";

/// A step of the session, with its program.
pub struct PlannedStep {
    pub entry: CourseEntry,
    program: Arc<Program>,
    /// For each port that takes a kept value: the party, the port's name, and the name of the value.
    carried: Vec<(Party, String, String)>,
    pub next: Vec<Way>,
}

/// A possible next step.
pub struct Way {
    /// An output that both parties learn, and the bits that it must have. If there is none, the entry always
    /// fits.
    pub when: Option<(String, Vec<bool>)>,
    /// The index of the step; none for the end of the session.
    pub to: Option<usize>,
}

/// Reads a session, or returns an error about it.
pub fn read(path: &Path) -> Result<Vec<PlannedStep>, Failure> {
    let hint = "a session's file has tables [[step]] with name, program and, if needed, carry, keep, \
                at_most and next; `docs/guides/reactive.md` has an example";
    let wrong = |why: String| Failure::input(format!("{}: {why}", path.display()), hint);
    let File { step: entries } = files::toml(path, false, hint)?;
    let names: Vec<String> = entries.iter().map(|entry| entry.name.clone()).collect();
    let place = |name: &str| names.iter().position(|other| other == name);
    if let Some(twice) = names.iter().enumerate().find(|(k, name)| place(name) != Some(*k) || *name == END) {
        return Err(wrong(format!(
            "the name of step {} is used twice, or means the end of the session",
            twice.1
        )));
    }
    let folder = path.parent().unwrap_or(Path::new(""));
    let mut steps = Vec::new();
    for entry in entries {
        let program = programs::circuit(&folder.join(&entry.program), &Default::default())?;
        let of_step = |why: String| wrong(format!("step {}: {why}", entry.name));
        // A step's input may serve several runs, but each run needs masks of its own.
        if program.draws() {
            return Err(of_step("a program with shared outputs cannot be a step; run it alone".into()));
        }
        let program = program.apart()?;
        let carried = entry.carry.iter().map(|(port, kept)| {
            let (party, port) = port_of(&program, port).map_err(of_step)?;
            Ok((party, port, kept.clone()))
        });
        let carried = carried.collect::<Result<Vec<_>, Failure>>()?;
        let next = entry.next.iter().map(|next| next.way(&entry, &program, place).map_err(of_step));
        let next = next.collect::<Result<Vec<_>, Failure>>()?;
        steps.push(PlannedStep { program: Arc::new(program), carried, next, entry });
    }
    if steps.is_empty() {
        return Err(wrong("the session has no step".into()));
    }
    for planned in &steps {
        planned.fits(&steps).map_err(|why| wrong(format!("step {}: {why}", planned.entry.name)))?;
    }
    Ok(steps)
}

impl NextStep {
    /// Resolves an entry's names: the index of the step, and the output of this step's program.
    fn way(
        &self,
        step: &CourseEntry,
        program: &Program,
        place: impl Fn(&str) -> Option<usize>,
    ) -> Result<Way, String> {
        let to = match self.step.as_str() {
            END => None,
            name => Some(place(name).ok_or_else(|| format!("the session has no step {name}"))?),
        };
        let (output, is) = match (&self.output, &self.is) {
            (Some(output), Some(is)) => (output, is),
            (None, None) => return Ok(Way { when: None, to }),
            _ => return Err("a condition needs both fields, output and is".into()),
        };
        let outputs = program.outputs().iter();
        let named: Vec<_> = outputs
            .filter(|o| o.port.name == *output && o.to == Recipient::Both && !step.keep.contains(output))
            .collect();
        let [OutputPort { port, .. }] = named[..] else {
            return Err(format!(
                "{output} must be the name of exactly one output, and both parties must learn this output"
            ));
        };
        // A value can be written in several ways, but its bits are unique.
        let is = reading::constant_bits(is, port)
            .map_err(|why| format!("the value of `is` does not fit output {output}: {why}"))?;
        Ok(Way { when: Some((output.clone(), is)), to })
    }
}

/// Finds the port with this name.
fn port_of(program: &Program, name: &str) -> Result<(Party, String), String> {
    let has = |party: Party, name: &str| program.input_ports(party).iter().any(|port| port.name == name);
    let of = |party| name.strip_prefix(files::role(party)).and_then(|rest| rest.strip_prefix('.'));
    let both = [Party::Garbler, Party::Evaluator];
    if let Some((party, port)) = both.into_iter().find_map(|party| Some((party, of(party)?)))
        && has(party, port)
    {
        return Ok((party, port.into()));
    }
    match both.map(|party| has(party, name)) {
        [true, false] => Ok((Party::Garbler, name.into())),
        [false, true] => Ok((Party::Evaluator, name.into())),
        [true, true] => {
            Err(format!("both parties have an input {name}; write garbler.{name} or evaluator.{name}"))
        }
        [false, false] => Err(format!("the program has no input {name}")),
    }
}

impl PlannedStep {
    /// Checks that each value that a step uses is kept by some step with the same type, and that all kept
    /// outputs exist.
    fn fits(&self, steps: &[PlannedStep]) -> Result<(), String> {
        for kept in &self.entry.keep {
            self.kept_type(kept).ok_or_else(|| format!("the program must have exactly one output {kept}"))?;
        }
        for (party, port, name) in &self.carried {
            let ports = self.program.input_ports(*party);
            let takes = ports.iter().find(|other| other.name == *port).map(|port| port.ty.clone());
            let keepers = steps.iter().filter(|step| step.entry.keep.contains(name));
            let kept: Vec<_> = keepers.map(|step| step.kept_type(name)).collect();
            if kept.is_empty() {
                return Err(format!("no step keeps {name}"));
            }
            if kept.iter().any(|kept| *kept != takes.as_ref()) {
                return Err(format!("the kept value {name} has another type than input {port}"));
            }
        }
        Ok(())
    }

    fn kept_type(&self, name: &str) -> Option<&Type> {
        let mut named = self.program.outputs().iter().filter(|output| output.port.name == name);
        let found = named.next().map(|output| &output.port.ty);
        named.next().is_none().then_some(found).flatten()
    }

    /// Returns the step, with the values that were kept so far.
    pub fn step(&self, kept: &BTreeMap<String, Secret>) -> Result<Step, Failure> {
        let mut carried = Vec::new();
        for (party, port, name) in &self.carried {
            let secret = kept.get(name).ok_or_else(|| {
                Failure::usage(
                    format!(
                        "step {} uses the kept value {name}, but no earlier step has kept it",
                        self.entry.name
                    ),
                    "put a step that keeps this value before it",
                )
            })?;
            carried.push((*party, port.as_str(), secret));
        }
        let keep: Vec<&str> = self.entry.keep.iter().map(String::as_str).collect();
        Ok(Step::new(&self.program, &carried, &keep)?)
    }

    /// Returns the ports for which a party must give an input: all that do not take a kept value.
    pub fn own_ports(&self, party: Party) -> Vec<Port> {
        let carries =
            |port: &&Port| self.carried.iter().any(|(p, name, _)| *p == party && *name == port.name);
        self.program.input_ports(party).iter().filter(|port| !carries(port)).cloned().collect()
    }

    /// Adds the items that this step takes in all its runs.
    pub fn add_needs(&self, needs: &mut SessionNeeds) {
        let width =
            |party: Party| -> usize { self.own_ports(party).iter().map(|port| port.width() as usize).sum() };
        let sealed = |output: &&OutputPort| {
            output.to == Recipient::Garbler || self.entry.keep.contains(&output.port.name)
        };
        let sealed: usize =
            self.program.outputs().iter().filter(sealed).map(|output| output.wires.len()).sum();
        let inputs = [Party::Garbler, Party::Evaluator].map(width);
        needs.add_step(&self.program, inputs, sealed, self.entry.at_most as usize);
    }

    /// Returns the step's program.
    pub fn program(&self) -> &Program {
        &self.program
    }
}

/// Returns a digest of a session, which must be the same at both parties.
pub fn digest(steps: &[PlannedStep], protocol: Protocol, security: u32) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new_derive_key("brickwork 2026-11 session file");
    let mut add = |bytes: &[u8]| _ = hasher.update(&(bytes.len() as u64).to_le_bytes()).update(bytes);
    add(protocol.name().as_bytes());
    add(&security.to_le_bytes());
    for PlannedStep { entry, program, carried, next } in steps {
        add(entry.name.as_bytes());
        add(&program.digest());
        add(&entry.at_most.to_le_bytes());
        let carried: Vec<_> =
            carried.iter().map(|(party, port, kept)| (files::role(*party), port, kept)).collect();
        let next: Vec<_> = next.iter().map(|Way { when, to }| (when, to)).collect();
        add(&postcard::to_stdvec(&(carried, &entry.keep, next)).expect("lists of names and numbers"));
    }
    *hasher.finalize().as_bytes()
}
