//! The meaning of a program, after names and types are resolved: input of the generator.

use std::rc::Rc;

use brickwork_circuit::Rule;

use crate::ast::{BinaryOp, FunctionPragma};
use crate::source::Span;
use crate::types::{Type, Types};

/// An expression.
#[derive(Debug)]
pub struct Ex {
    /// The kind of statement.
    pub kind: ExKind,
    /// Its type.
    pub ty: Type,
    /// Where it is.
    pub span: Span,
}

/// The kind of expression.
#[derive(Debug)]
pub enum ExKind {
    /// A literal of this many bits.
    Const {
        /// Its value.
        value: u64,
        /// Its bits.
        width: u32,
    },
    /// The value of a variable or of a part of it.
    Read(Place),
    /// A part of a value.
    Part(Box<Ex>, Vec<Part>),
    /// Writes to a place; its value is the new content.
    Assign(Place, Box<Ex>),
    /// `x++` or `x--`: changes the place; its value is the old content.
    Step {
        /// The changed variable.
        place: Place,
        /// True if it adds.
        increment: bool,
    },
    /// An operator on two numbers (or, for `==` and `!=`, on two values of any kind).
    Binary {
        /// The operator.
        op: BinaryOp,
        /// True if the operation is signed.
        signed: bool,
        /// Operands are brought to this width; without one, to the larger of the two.
        width: Option<u32>,
        /// Operands.
        operands: Box<(Ex, Ex)>,
    },
    /// A double-width operator: `**`, `//` or `%%`. Operands keep their widths.
    Wide {
        /// The operator.
        op: BinaryOp,
        /// True if the operation is signed.
        signed: bool,
        /// Operands.
        operands: Box<(Ex, Ex)>,
    },
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
        /// True if the amount may depend on a parameter of the function: then the width of the result is
        /// always the one for an unknown amount.
        open: bool,
        /// Value and amount.
        operands: Box<(Ex, Ex)>,
    },
    /// A call; arguments are brought to the widths of the parameters.
    Call {
        /// Number of the function.
        function: usize,
        /// Arguments.
        args: Vec<Ex>,
    },
    /// Something that was reported.
    Broken,
}

/// A variable or a part of one.
#[derive(Debug)]
pub struct Place {
    /// Number of the variable.
    pub var: u32,
    /// How to get from there to the part.
    pub parts: Vec<Part>,
    /// Where it is.
    pub span: Span,
}

/// From a value to a part of it.
#[derive(Debug)]
pub enum Part {
    /// A field.
    Field {
        /// First bit.
        offset: u32,
        /// Bits.
        width: u32,
    },
    /// An element.
    Index {
        /// The function.
        index: Ex,
        /// How many there are.
        count: u32,
        /// Bits of one.
        width: u32,
    },
    /// Wires of an integer.
    Wires {
        /// The first.
        base: Ex,
        /// How many.
        width: u32,
        /// Where the selection is.
        span: Span,
    },
    /// All of it, after `++` or `--` before it has changed it. Only places have this part.
    Step {
        /// True if it adds.
        increment: bool,
    },
}

/// A statement.
#[derive(Debug)]
pub enum St {
    /// For its effect.
    Expr(Ex),
    /// A variable begins, as zeros, and then takes the values, one after another from its first bit.
    Declare {
        /// The output.
        var: u32,
        /// Values of elements or of arrays of them, and the width that each is brought to.
        init: Vec<(Ex, u32)>,
    },
    /// Several.
    Block(Vec<St>),
    /// A loop, to be unrolled.
    For {
        /// Declarations.
        init: Vec<St>,
        /// Condition.
        cond: Ex,
        /// After each round.
        step: Ex,
        /// Repeated.
        body: Box<St>,
        /// The word `for`.
        span: Span,
    },
    /// A choice.
    If {
        /// Condition.
        cond: Ex,
        /// If it holds.
        then: Box<St>,
        /// If not.
        otherwise: Option<Box<St>>,
    },
    /// The function ends, with this value.
    Return(Option<Ex>, Span),
}

/// A function. Its parameters are its first variables.
#[derive(Debug)]
pub struct Func {
    /// Name; if it was made of a generic one, `name.types.sizes`.
    pub name: Rc<str>,
    /// Where the name is.
    pub span: Span,
    /// Names and types of the parameters.
    pub params: Vec<(Rc<str>, Type)>,
    /// The type that it returns.
    pub ret: Type,
    /// Bits of its variables, by number.
    pub vars: Vec<u32>,
    /// The statements. Every way through it ends with a `return`, unless it is `void`, or empty: then it
    /// returns zeros.
    pub body: Vec<St>,
    /// The functions it calls, each once, and where.
    pub calls: Vec<(usize, Span)>,
    /// Requests of pragmas.
    pub requests: Vec<(FunctionPragma, Span)>,
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
    /// 1 or 2.
    pub party: u32,
    /// Type.
    pub ty: Type,
    /// The rules that the party's values must keep.
    pub rules: Vec<Rule>,
    /// The variable of `main` that holds it.
    pub var: u32,
}

/// A whole program.
pub struct Module {
    /// Types.
    pub types: Types,
    /// Functions, `main` among them.
    pub functions: Vec<Func>,
    /// Number of `main`.
    pub main: usize,
    /// Inputs by party.
    pub inputs: Vec<Io>,
    /// Outputs by party.
    pub outputs: Vec<Io>,
}
