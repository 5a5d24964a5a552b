//! The components of the instruction set, and the program that lists them.

use std::sync::OnceLock;

use brickwork_circuit::{
    Bit, Builder, Component, Error, Party, Port, Program, ProgramBuilder, Recipient, Type, Wire,
};
use brickwork_lang::{CompileOptions, NoFiles, compile};

/// The source of all components but [`CONSTANTS`].
const SOURCE: &str = include_str!("isa.wir");

/// The component that makes a 0 and a 1, from which immediate values are wired.
pub(crate) const CONSTANTS: &str = "constants";

/// The component that executes any instruction.
pub(crate) const STEP: &str = "step";

/// Input wires of each party in [`library`]: a word of input for every four uses of an instruction.
const INPUT_WIRES: u32 = 8;

/// Returns all components; every program uses these, so stock of them serves any program.
pub(crate) fn components() -> &'static [Component] {
    static COMPONENTS: OnceLock<Vec<Component>> = OnceLock::new();
    COMPONENTS.get_or_init(|| {
        let compiled = compile("isa.wir", SOURCE, &NoFiles, &CompileOptions::default());
        let program =
            compiled.expect("the source of the instruction set is part of this crate and compiles").program;
        let circuit = Builder::new(1).finish(&[Bit::ZERO, Bit::ONE]).expect(
            "a circuit of two constants and \
             an input is valid",
        );
        let constants = Component {
            name: CONSTANTS.into(),
            inputs: vec![Port::new("any", Type::Uint(1))],
            outputs: vec![Port::new("zero", Type::Uint(1)), Port::new("one", Type::Uint(1))],
            circuit: circuit.into(),
        };
        std::iter::once(constants).chain(program.components().iter().cloned()).collect()
    })
}

/// Returns the component of this name.
pub(crate) fn component(name: &str) -> &'static Component {
    components().iter().find(|c| c.name == name).expect("the instruction set has a component of this name")
}

/// Returns the instruction set as a program with one slot of each component. The program is not meant to be
/// run: it lists the components for stock, and shows the cost of each instruction. Each party has 8 bits of
/// input in the program.
///
/// # Errors
/// Any error of the builder of programs; none is known to occur.
pub fn library() -> Result<Program, Error> {
    let ports = |party| match party {
        Party::Garbler => vec![Port::new("garbler", Type::Uint(INPUT_WIRES))],
        Party::Evaluator => vec![Port::new("evaluator", Type::Uint(INPUT_WIRES))],
    };
    let mut program = ProgramBuilder::new("isa", ports(Party::Garbler), ports(Party::Evaluator))?;
    for component in components() {
        let id = program.component(component.clone())?;
        let inputs: Vec<Wire> =
            (0..component.circuit.inputs() as Wire).map(|w| w % (2 * INPUT_WIRES)).collect();
        let first = program.slot(id, &inputs)?;
        let width = component.circuit.outputs().len() as u32;
        let port = Port::new(&*component.name, Type::Uint(width));
        program.output(port, Recipient::Evaluator, (first..first + width).collect())?;
    }
    program.finish()
}
