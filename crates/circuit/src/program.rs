//! Components and the programs made of them.
//!
//! A program numbers its wires globally: first the garbler's input bits, then the evaluator's, then the
//! output wires of each slot, slot after slot. Every input wire of a slot is soldered to an earlier wire.

use std::collections::HashSet;
use std::sync::{Arc, OnceLock};

use super::port::{check_name, total_width};
use super::{Circuit, MAX_SOLDERINGS, Port, Wire};
use brickwork_base::{Error, Party, stop};

/// The party that learns an output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Recipient {
    /// The garbler alone.
    Garbler,
    /// The evaluator alone.
    Evaluator,
    /// Both parties.
    Both,
    /// Nobody: the output stays garbled, for later steps of the session.
    Nobody,
}

impl Recipient {
    /// Returns whether this party learns the output.
    pub fn includes(self, party: Party) -> bool {
        matches!(
            (self, party),
            (Recipient::Both, _)
                | (Recipient::Garbler, Party::Garbler)
                | (Recipient::Evaluator, Party::Evaluator)
        )
    }
}

/// A named circuit with typed ports: the unit that is garbled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Component {
    /// Name, unique in a program.
    pub name: String,
    /// Input ports, whose total width is the circuit's number of inputs.
    pub inputs: Vec<Port>,
    /// Output ports, whose total width is the circuit's number of outputs.
    pub outputs: Vec<Port>,
    /// The circuit.
    pub circuit: Arc<Circuit>,
}

/// The digest of a component's function, the same in every program.
pub type ComponentDigest = [u8; 32];

/// Index of a component in its program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ComponentId(pub u32);

/// A use of a component in a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot<'p> {
    /// The component.
    pub component: ComponentId,
    /// The global wire soldered to each input wire of the component.
    pub inputs: &'p [Wire],
    /// The global wire of the first output; the other outputs follow.
    pub first_output: Wire,
}

/// An output of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutputPort {
    /// Name and type.
    pub port: Port,
    /// The party that learns it.
    pub to: Recipient,
    /// The global wires of the output.
    pub wires: Vec<Wire>,
}

/// The function that the parties compute, with its components. Every instance is well formed: slots read only
/// earlier wires, so there is no cycle, and every input wire is soldered exactly once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    name: String,
    components: Vec<Component>,
    /// The original circuits of the components, before they are folded.
    given: Vec<Arc<Circuit>>,
    garbler_inputs: Vec<Port>,
    evaluator_inputs: Vec<Port>,
    /// Shared by copies of the program, because the slots of a large program take hundreds of megabytes.
    slots: Arc<SlotLists>,
    outputs: Vec<OutputPort>,
    wires: Wire,
    digests: Digests,
}

/// The slots of a program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct SlotLists {
    components: Vec<ComponentId>,
    /// For each slot the start of its list in `solderings`, and its first output wire.
    offsets: Vec<(u64, Wire)>,
    solderings: Vec<Wire>,
}

/// The digests of a program and of its components, once they are computed.
#[derive(Clone, Debug, Default)]
struct Digests {
    program: OnceLock<[u8; 32]>,
    components: OnceLock<Vec<ComponentDigest>>,
}

impl PartialEq for Digests {
    fn eq(&self, _: &Self) -> bool {
        // The digests follow from the other fields, so they need not be compared.
        true
    }
}

impl Eq for Digests {}

impl Program {
    /// Returns the program's digest: BLAKE3 over its canonical encoding.
    pub fn digest(&self) -> [u8; 32] {
        *self.digests.program.get_or_init(|| self.encoded_digest())
    }

    /// Returns the digests of the components, in order.
    pub fn component_digests(&self) -> &[ComponentDigest] {
        self.digests.components.get_or_init(|| self.components.iter().map(Component::digest).collect())
    }

    /// Returns an error if an output goes to neither party, for file formats without such outputs.
    pub(crate) fn refuse_kept_outputs(&self) -> Result<(), Error> {
        match self.outputs.iter().find(|output| output.to == Recipient::Nobody) {
            Some(kept) => {
                let name = &kept.port.name;
                Err(Error::Input(format!(
                    "output {name} goes to neither party, but this file format needs a \
                     recipient for each output"
                )))
            }
            None => Ok(()),
        }
    }

    /// Returns the name of the program.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the components' original circuits, for `.bwp` files and the digest.
    pub(super) fn given_circuits(&self) -> &[Arc<Circuit>] {
        &self.given
    }

    /// Returns the kinds of component, each [folded](Circuit::folded).
    pub fn components(&self) -> &[Component] {
        &self.components
    }

    /// Returns one component.
    pub fn component(&self, id: ComponentId) -> &Component {
        &self.components[id.0 as usize]
    }

    /// Returns whether an input of a party is drawn at random in each run, such as the mask of a shared
    /// output.
    pub fn draws(&self) -> bool {
        self.garbler_inputs.iter().chain(&self.evaluator_inputs).any(|port| port.drawn.is_some())
    }

    /// Returns a party's input ports.
    pub fn input_ports(&self, party: Party) -> &[Port] {
        match party {
            Party::Garbler => &self.garbler_inputs,
            Party::Evaluator => &self.evaluator_inputs,
        }
    }

    /// Returns the number of a party's input wires.
    pub fn input_width(&self, party: Party) -> usize {
        total_width(self.input_ports(party)) as usize
    }

    /// Returns the outputs that a party learns, in order.
    pub fn outputs_of(&self, party: Party) -> impl Iterator<Item = &OutputPort> {
        self.outputs.iter().filter(move |o| o.to.includes(party))
    }

    /// Returns the ports of the outputs that a party learns, in order.
    pub fn output_ports(&self, party: Party) -> Vec<Port> {
        self.outputs_of(party).map(|o| o.port.clone()).collect()
    }

    /// Returns all outputs, in order.
    pub fn outputs(&self) -> &[OutputPort] {
        &self.outputs
    }

    /// Returns the number of slots.
    pub fn slot_count(&self) -> usize {
        self.slots.components.len()
    }

    /// Returns slot number `index`.
    pub fn slot(&self, index: usize) -> Slot<'_> {
        let SlotLists { components, offsets, solderings } = &*self.slots;
        let (component, (start, first_output)) = (components[index], offsets[index]);
        let width = self.component(component).circuit.inputs();
        Slot { component, inputs: &solderings[start as usize..start as usize + width], first_output }
    }

    /// Returns the slots, in an order in which they can be evaluated.
    pub fn slots(&self) -> impl ExactSizeIterator<Item = Slot<'_>> {
        (0..self.slot_count()).map(|i| self.slot(i))
    }

    /// Returns the number of global wires.
    pub fn wires(&self) -> usize {
        self.wires as usize
    }

    /// Returns the number of slots of each component, by component.
    pub fn slots_by_component(&self) -> Vec<usize> {
        let mut counts = vec![0; self.components.len()];
        for c in &self.slots.components {
            counts[c.0 as usize] += 1;
        }
        counts
    }

    /// Returns the number of AND gates of all slots together.
    pub fn and_gates(&self) -> u64 {
        self.slots.components.iter().map(|c| self.component(*c).circuit.and_gates() as u64).sum()
    }
}

/// Builds a [`Program`].
pub struct ProgramBuilder {
    program: Program,
    component_names: HashSet<String>,
    /// Names of the outputs so far, for each party that learns them, or for none.
    output_names: HashSet<(Option<Party>, String)>,
    /// The number of solderings so far: inputs of slots, and outputs.
    solderings: u64,
}

/// Returns the number of solderings after this many more.
///
/// # Errors
/// [`Error::Limit`] if 32 bits cannot number all solderings.
fn more_solderings(solderings: u64, more: usize) -> Result<u64, Error> {
    let solderings = solderings + more as u64;
    if solderings < MAX_SOLDERINGS {
        Ok(solderings)
    } else {
        Err(Error::Limit(format!("a program may solder fewer than {MAX_SOLDERINGS} wires")))
    }
}

impl ProgramBuilder {
    /// Makes a program with these inputs and no slot.
    ///
    /// # Errors
    /// [`Error::Input`] if the inputs have too many wires, a type has a part without wires or is nested too
    /// deeply, or two ports of a party share a name.
    pub fn new(
        name: impl Into<String>,
        garbler_inputs: Vec<Port>,
        evaluator_inputs: Vec<Port>,
    ) -> Result<Self, Error> {
        let name = name.into();
        check_name(&name).map_err(|why| Error::Input(format!("the name of the program is wrong: {why}")))?;
        for ports in [&garbler_inputs, &evaluator_inputs] {
            check_ports(ports, "input")?;
        }
        let wires = total_width(&garbler_inputs).saturating_add(total_width(&evaluator_inputs));
        let wires = Wire::try_from(wires).ok().filter(|&w| w < super::MAX_WIRES);
        let wires = wires.ok_or_else(|| Error::Input("the inputs have too many wires".into()))?;
        Ok(ProgramBuilder {
            program: Program {
                name,
                components: Vec::new(),
                given: Vec::new(),
                garbler_inputs,
                evaluator_inputs,
                slots: Arc::default(),
                outputs: Vec::new(),
                wires,
                digests: Digests::default(),
            },
            component_names: HashSet::new(),
            output_names: HashSet::new(),
            solderings: 0,
        })
    }

    /// Adds a kind of component, whose circuit is [folded](Circuit::folded). The program's digest is computed
    /// from the original circuit.
    ///
    /// # Errors
    /// [`Error::Input`] if its ports do not fit its circuit, it has no inputs or no outputs, or its name is
    /// taken.
    pub fn component(&mut self, mut component: Component) -> Result<ComponentId, Error> {
        check_name(&component.name).map_err(|why| {
            Error::Input(format!(
                "the name of a component is wrong: \
             {why}"
            ))
        })?;
        check_ports(&component.inputs, "input")?;
        check_ports(&component.outputs, "output")?;
        let (i, o) = (component.circuit.inputs() as u64, component.circuit.outputs().len() as u64);
        if (total_width(&component.inputs), total_width(&component.outputs)) != (i, o) {
            return Err(Error::Input(format!(
                "the ports of component {} do not match its circuit, which has {i} inputs and {o} outputs",
                component.name
            )));
        }
        if i == 0 || o == 0 {
            return Err(Error::Input(format!(
                "component {} needs at least one input and one output",
                component.name
            )));
        }
        if !self.component_names.insert(component.name.clone()) {
            return Err(Error::Input(format!("two components are called {}", component.name)));
        }
        let folded = component.circuit.folded()?;
        self.program.given.push(std::mem::replace(&mut component.circuit, folded));
        self.program.components.push(component);
        Ok(ComponentId(self.program.components.len() as u32 - 1))
    }

    /// Adds a slot; returns the global wire of its first output.
    ///
    /// # Errors
    /// [`Error::Input`] if there is no such component, the number of wires is wrong, or a wire is not driven
    /// yet; [`Error::Limit`] if there are too many solderings.
    pub fn slot(&mut self, component: ComponentId, inputs: &[Wire]) -> Result<Wire, Error> {
        stop::look();
        let p = &mut self.program;
        let kind = p
            .components
            .get(component.0 as usize)
            .ok_or_else(|| Error::Input(format!("there is no component {}", component.0)))?;
        if inputs.len() != kind.circuit.inputs() {
            return Err(Error::Input(format!(
                "slot {}: component {} takes {} wires, not {}",
                p.slots.components.len(),
                kind.name,
                kind.circuit.inputs(),
                inputs.len()
            )));
        }
        if let Some(wire) = inputs.iter().find(|&&w| w >= p.wires) {
            return Err(Error::Input(format!(
                "slot {} reads wire {wire}, which no input and no earlier slot drives",
                p.slots.components.len()
            )));
        }
        self.solderings = more_solderings(self.solderings, inputs.len())?;
        let first = p.wires;
        let next = u64::from(first) + kind.circuit.outputs().len() as u64;
        p.wires = Wire::try_from(next)
            .ok()
            .filter(|&w| w < super::MAX_WIRES)
            .ok_or_else(|| Error::Input("the program has too many wires".into()))?;
        let slots = Arc::make_mut(&mut p.slots);
        slots.components.push(component);
        slots.offsets.push((slots.solderings.len() as u64, first));
        slots.solderings.extend_from_slice(inputs);
        Ok(first)
    }

    /// Takes the slots of a program with the same components and input wires. Both programs share the memory.
    pub(super) fn share_slots(&mut self, of: &Program) -> Result<(), Error> {
        self.solderings = more_solderings(0, of.slots.solderings.len())?;
        self.program.slots = of.slots.clone();
        self.program.wires = of.wires;
        Ok(())
    }

    /// Makes room for this many slots with this many input wires in all, so that lists need not be moved as
    /// they grow.
    pub fn reserve(&mut self, slots: usize, inputs: usize) {
        let lists = Arc::make_mut(&mut self.program.slots);
        lists.components.reserve_exact(slots);
        lists.offsets.reserve_exact(slots);
        lists.solderings.reserve_exact(inputs);
    }

    /// Returns the number of global wires so far; the next slot's outputs start here.
    pub fn wires(&self) -> Wire {
        self.program.wires
    }

    /// Declares an output.
    ///
    /// # Errors
    /// [`Error::Input`] if the width does not fit, a wire does not exist, or a recipient has an output of
    /// that name; [`Error::Limit`] if there are too many solderings.
    pub fn output(&mut self, port: Port, to: Recipient, wires: Vec<Wire>) -> Result<(), Error> {
        port.check()?;
        if port.width() != wires.len() as u64 {
            return Err(Error::Input(format!(
                "output {} has {} bits but {} wires",
                port.name,
                port.width(),
                wires.len()
            )));
        }
        if let Some(wire) = wires.iter().find(|&&w| w >= self.program.wires) {
            return Err(Error::Input(format!(
                "output {} reads wire {wire}, which no input and no slot drives",
                port.name
            )));
        }
        self.solderings = more_solderings(self.solderings, wires.len())?;
        let learns = |learner: &Option<Party>| match learner {
            Some(party) => to.includes(*party),
            None => to == Recipient::Nobody,
        };
        for learner in [Some(Party::Garbler), Some(Party::Evaluator), None].into_iter().filter(learns) {
            if !self.output_names.insert((learner, port.name.clone())) {
                return Err(Error::Input(format!("two outputs of the same party are called {}", port.name)));
            }
        }
        self.program.outputs.push(OutputPort { port, to, wires });
        Ok(())
    }

    /// Returns the finished program.
    ///
    /// # Errors
    /// [`Error::Input`] if it has no output.
    pub fn finish(mut self) -> Result<Program, Error> {
        if self.program.outputs.is_empty() {
            return Err(Error::Input("the program has no output".into()));
        }
        if let Some(SlotLists { components, offsets, solderings }) = Arc::get_mut(&mut self.program.slots) {
            components.shrink_to_fit();
            offsets.shrink_to_fit();
            solderings.shrink_to_fit();
        }
        Ok(self.program)
    }
}

fn check_ports(ports: &[Port], what: &str) -> Result<(), Error> {
    let mut seen = HashSet::new();
    for port in ports {
        port.check()?;
        if !seen.insert(&port.name) {
            return Err(Error::Input(format!("two {what} ports are called {}", port.name)));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Copies of a program, and its repetition for one execution, have the same slots in memory.
    #[test]
    fn copies_share_their_slots() {
        let program = crate::library::millionaires().unwrap();
        for copy in [program.clone(), program.repeat(1).unwrap()] {
            assert!(Arc::ptr_eq(&copy.slots, &program.slots));
            assert_eq!((copy.wires, copy.and_gates()), (program.wires, program.and_gates()));
        }
        let twice = program.repeat(2).unwrap();
        assert_eq!(twice.slot_count(), 2 * program.slot_count());
    }

    #[test]
    fn solderings_have_numbers_of_32_bits() {
        assert_eq!(more_solderings(MAX_SOLDERINGS - 3, 2).unwrap(), MAX_SOLDERINGS - 1);
        assert!(matches!(more_solderings(MAX_SOLDERINGS - 3, 3), Err(Error::Limit(_))));
    }
}
