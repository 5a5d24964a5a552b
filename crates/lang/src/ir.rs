//! The program after names and types are resolved. It is the input of the generator.

use std::rc::Rc;

use brickwork_circuit::{Port, Rule};

use crate::ast::{BinaryOp, FunctionPragma};
use crate::graph::GraphBit;
use crate::natural::Natural;
use crate::source::SourceSpan;
use crate::types::{ExprType, Types};

/// An expression.
#[derive(Debug)]
pub struct Ex {
    /// The kind of expression.
    pub kind: ExKind,
    /// The type of the value.
    pub ty: ExprType,
    /// The place in the source.
    pub span: SourceSpan,
}

/// The kind of expression.
#[derive(Debug)]
pub enum ExKind {
    /// A literal of this many bits.
    Const {
        /// The value.
        value: Natural,
        /// The number of bits.
        width: u32,
    },
    /// The value of a variable or of a part of it.
    Read(VariablePart),
    /// A part of a value.
    Part(Box<Ex>, Vec<PartStep>),
    /// An assignment to a place. The value of the expression is the new content.
    Assign(VariablePart, Box<Ex>),
    /// `x++` or `x--`, which changes the place. The value of the expression is the old content.
    Step {
        /// The changed place.
        place: VariablePart,
        /// True for `++`.
        increment: bool,
    },
    /// An operator on two numbers (or, for `==` and `!=`, on two values of any kind).
    Binary {
        /// The operator.
        op: BinaryOp,
        /// True if the operation is signed.
        signed: bool,
        /// The width to which operands are brought. If no width is given, it is the larger of the operands'
        /// widths.
        width: Option<u32>,
        /// The operands.
        operands: Box<(Ex, Ex)>,
    },
    /// A double-width operator: `**`, `//` or `%%`. Operands keep their widths.
    Wide {
        /// The operator.
        op: BinaryOp,
        /// True if the operation is signed.
        signed: bool,
        /// The operands.
        operands: Box<(Ex, Ex)>,
    },
    /// If the first value, which is the condition, holds, the second value; otherwise the third value.
    Choice(Box<[Ex; 3]>),
    /// A number, brought to the width of this expression's type.
    Convert(Box<Ex>),
    /// Two's complement at the operand's own width.
    Neg(Box<Ex>),
    /// All bits inverted.
    Not(Box<Ex>),
    /// `<<`, `>>`, `<<>` or `>>>`.
    Shift {
        /// The operator.
        op: BinaryOp,
        /// True if the width of the left operand is kept, because it is a variable.
        keep: bool,
        /// True if the amount may depend on a parameter of the function. Then the result has the width that
        /// it has for a secret amount, also where the amount is known.
        open: bool,
        /// The value and the amount.
        operands: Box<(Ex, Ex)>,
    },
    /// A call, whose arguments are brought to the widths of the parameters.
    Call {
        /// The number of the function.
        function: usize,
        /// The arguments.
        args: Vec<Ex>,
    },
    /// An expression with an error that was reported.
    Broken,
}

/// A variable or a part of one.
#[derive(Debug)]
pub struct VariablePart {
    /// The number of the variable.
    pub var: u32,
    /// The steps from the variable to the part.
    pub parts: Vec<PartStep>,
    /// The place in the source.
    pub span: SourceSpan,
}

/// The step from a value to a part of it.
#[derive(Debug)]
pub enum PartStep {
    /// A field of a struct.
    Field {
        /// The position of its first bit.
        offset: u32,
        /// The number of bits.
        width: u32,
    },
    /// An element of an array.
    Index {
        /// The index.
        index: Ex,
        /// The number of elements.
        count: u32,
        /// The number of bits of an element.
        width: u32,
    },
    /// Wires of an integer.
    Wires {
        /// The position of the first wire.
        base: Ex,
        /// The number of wires.
        width: u32,
        /// The place of the selection in the source.
        span: SourceSpan,
    },
    /// The whole value, after a prefix `++` or `--` has changed it. Only places have this part.
    Step {
        /// True for `++`.
        increment: bool,
    },
}

/// A statement.
#[derive(Debug)]
pub enum St {
    /// An expression that is executed for its effect.
    Expr(Ex),
    /// A declaration. The variable is zero at first, and then takes the initial values in sequence.
    Declare {
        /// The number of the variable.
        var: u32,
        /// The initial values, and the width to which each is brought.
        init: Vec<(Ex, u32)>,
    },
    /// Several statements.
    Block(Vec<St>),
    /// A loop, to be unrolled.
    For {
        /// The declarations in its head.
        init: Vec<St>,
        /// The condition.
        cond: Ex,
        /// The expression after each round.
        step: Ex,
        /// The repeated statement.
        body: Box<St>,
        /// The place of the word `for`.
        span: SourceSpan,
    },
    /// An `if`.
    If {
        /// The condition.
        cond: Ex,
        /// The statement for a true condition.
        then: Box<St>,
        /// The statement for a false condition.
        otherwise: Option<Box<St>>,
    },
    /// A `return`, with its value and its place.
    Return(Option<Ex>, SourceSpan),
}

/// A function. Its parameters are its first variables.
#[derive(Debug)]
pub struct Func {
    /// The name. An instance of a generic function is called `name.types.sizes`.
    pub name: Rc<str>,
    /// The place of the name.
    pub span: SourceSpan,
    /// The names and types of the parameters.
    pub params: Vec<(Rc<str>, ExprType)>,
    /// The type that it returns.
    pub ret: ExprType,
    /// The number of bits of each variable.
    pub vars: Vec<u32>,
    /// The statements. Every path ends with a `return`, unless the function is `void`. A function with an
    /// empty body returns zeros.
    pub body: Vec<St>,
    /// The called functions, each once, with the place of a call.
    pub calls: Vec<(usize, SourceSpan)>,
    /// The requests of pragmas.
    pub requests: Vec<(FunctionPragma, SourceSpan)>,
}

impl Func {
    /// Returns the name in the source.
    pub fn base_name(&self) -> &str {
        self.name.split('.').next().unwrap_or_default()
    }
}

/// An input or output of a party.
#[derive(Debug)]
pub struct Io {
    /// The number of the party, 1 or 2.
    pub party: u32,
    /// The type.
    pub ty: ExprType,
    /// The rules for the party's values.
    pub rules: Vec<Rule>,
    /// The variable of `main` for it.
    pub var: u32,
}

/// A value that the parties hold as shares: an input, or an output that leaves as shares.
#[derive(Debug)]
pub struct Shared {
    /// True for an input.
    pub input: bool,
    /// The name.
    pub name: Rc<str>,
    /// The type.
    pub ty: ExprType,
    /// The form of the shares.
    pub sharing: Sharing,
    /// The variable of `main` for it.
    pub var: u32,
}

/// The form of shares.
#[derive(Debug)]
pub enum Sharing {
    /// The XOR of the shares is the value.
    Xor,
    /// Their sum is the value, modulo a power of two.
    Sum,
    /// Their sum is the value, modulo the number with these bits, of which the highest is set.
    Modulo(Vec<GraphBit>),
}

impl Shared {
    /// Returns the port for a party's share of an input, or for its mask of an output.
    pub fn input_port(&self, types: &Types) -> Port {
        let port = Port::new(self.name.to_string(), types.port(&self.ty));
        if self.input {
            return port;
        }
        let width = types.width(&self.ty) as usize;
        let largest = match &self.sharing {
            Sharing::Xor | Sharing::Sum => vec![true; width],
            // The modulus may be odd or even, but is not 0. So the bits below its lowest set bit become ones.
            Sharing::Modulo(m) => {
                let lowest = m.iter().take_while(|bit| **bit == GraphBit::ZERO).count();
                (0..width).map(|i| i < lowest || i > lowest && m[i] == GraphBit::ONE).collect()
            }
        };
        Port { name: format!("{}_mask", self.name), ..port }.drawn_up_to(largest)
    }
}

/// A whole program.
pub struct Module {
    /// The types.
    pub types: Types,
    /// The functions, including `main`.
    pub functions: Vec<Func>,
    /// The number of `main`.
    pub main: usize,
    /// The inputs, by party.
    pub inputs: Vec<Io>,
    /// The outputs, by party.
    pub outputs: Vec<Io>,
    /// The values that are shared between the parties.
    pub shared: Vec<Shared>,
}

impl Module {
    /// Returns the input ports of a party: its own input, and one port for each shared value.
    pub fn input_ports(&self, party: u32) -> Vec<Port> {
        let own = self.inputs.iter().filter(|io| io.party == party);
        let own = own.map(|io| Port {
            rules: io.rules.clone(),
            ..Port::new(format!("input{party}"), self.types.port(&io.ty))
        });
        own.chain(self.shared.iter().map(|shared| shared.input_port(&self.types))).collect()
    }

    /// Returns the output ports of both parties, each with the party's number.
    pub fn output_ports(&self) -> Vec<(u32, Port)> {
        let of = |party| {
            let own = self.outputs.iter().filter(move |io| io.party == party);
            let own = own.map(move |io| (format!("output{party}"), &io.ty));
            let shares = self.shared.iter().filter(|shared| !shared.input);
            own.chain(shares.map(|shared| (shared.name.to_string(), &shared.ty)))
                .map(move |(name, ty)| (party, Port::new(name, self.types.port(ty))))
        };
        [1, 2].into_iter().flat_map(of).collect()
    }
}
