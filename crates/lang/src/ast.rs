//! The syntax tree. It represents the text, and not its meaning.

use crate::natural::Natural;
use crate::source::SourceSpan;
use brickwork_circuit::Rule;
use std::rc::Rc;

/// A name and its place in the source.
#[derive(Clone, Debug)]
pub struct Ident {
    /// The name.
    pub name: Rc<str>,
    /// The place of the name.
    pub span: SourceSpan,
}

/// A binary operator other than assignment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum BinaryOp {
    Or,
    Xor,
    And,
    Eq,
    Ne,
    Lt,
    Gt,
    Le,
    Ge,
    Shl,
    Shr,
    Rotl,
    /// `>>>`: arithmetic shift to the right.
    Sar,
    Add,
    Sub,
    Mul,
    Div,
    Rem,
    /// `**`: product of double width.
    WideMul,
    /// `//`: quotient of a dividend of double width.
    WideDiv,
    /// `%%`: remainder of a dividend of double width.
    WideRem,
}

impl BinaryOp {
    /// Returns the operator as it is written.
    pub fn symbol(self) -> &'static str {
        use BinaryOp::*;
        match self {
            Or => "|",
            Xor => "^",
            And => "&",
            Eq => "==",
            Ne => "!=",
            Lt => "<",
            Gt => ">",
            Le => "<=",
            Ge => ">=",
            Shl => "<<",
            Shr => ">>",
            Rotl => "<<>",
            Sar => ">>>",
            Add => "+",
            Sub => "-",
            Mul => "*",
            Div => "/",
            Rem => "%",
            WideMul => "**",
            WideDiv => "//",
            WideRem => "%%",
        }
    }

    /// Returns the precedence; all operators are left-associative.
    pub fn precedence(self) -> u8 {
        use BinaryOp::*;
        match self {
            Or => 1,
            Xor => 2,
            And => 3,
            Eq | Ne => 4,
            Lt | Gt | Le | Ge => 5,
            Shl | Shr | Rotl | Sar => 6,
            Add | Sub => 7,
            Mul | Div | Rem | WideMul | WideDiv | WideRem => 8,
        }
    }
}

/// A prefix operator other than `++` and `--`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnaryOp {
    /// `-`
    Neg,
    /// `~` or `!`, which are the same: bitwise.
    Not,
}

/// An expression.
#[derive(Clone, Debug)]
pub struct Expr {
    /// The kind of expression.
    pub kind: ExprKind,
    /// The place of the expression.
    pub span: SourceSpan,
    /// The height of the expression's tree, as it was parsed.
    pub height: u32,
}

impl Expr {
    /// Makes an expression of this kind.
    pub fn new(kind: ExprKind, span: SourceSpan) -> Expr {
        use ExprKind::*;
        let below = match &kind {
            Ident(_) | Number(_) | Macro(_) | Broken => 0,
            Literal { width: a, .. }
            | Unary(_, a)
            | Step { operand: a, .. }
            | Field(a, _)
            | Convert(_, a) => a.height,
            Binary(_, a, b) | Assign(_, a, b) | Index(a, b) | Bit(a, b) => a.height.max(b.height),
            Choice(parts) => parts.iter().fold(0, |h, part| h.max(part.height)),
            Slice(a, b, c) => a.height.max(b.height).max(c.height),
            Call(f, args) => args.iter().fold(f.height, |h, a| h.max(a.height)),
        };
        Expr { kind, span, height: below + 1 }
    }
}

/// The kind of expression.
#[derive(Clone, Debug)]
pub enum ExprKind {
    /// A name.
    Ident(Rc<str>),
    /// A literal without a width.
    Number(Natural),
    /// A literal with a width: `5#8` (signed) or `5##8`.
    Literal {
        /// The number.
        value: Natural,
        /// True for a signed literal.
        signed: bool,
        /// The width: a number or a name.
        width: Box<Expr>,
    },
    /// Two operands.
    Binary(BinaryOp, Box<Expr>, Box<Expr>),
    /// One operand.
    Unary(UnaryOp, Box<Expr>),
    /// `++` or `--`.
    Step {
        /// True for `++`.
        increment: bool,
        /// True if the operator stands before its operand.
        prefix: bool,
        /// The changed variable.
        operand: Box<Expr>,
    },
    /// `a = b`, or with an operator `a += b`.
    Assign(Option<BinaryOp>, Box<Expr>, Box<Expr>),
    /// `condition ? then : otherwise`
    Choice(Box<[Expr; 3]>),
    /// `uint_t 16(x)`. With the name of a type, it is a [`ExprKind::Call`].
    Convert(TypeName, Box<Expr>),
    /// `a[i]`
    Index(Box<Expr>, Box<Expr>),
    /// `f(x, …)`
    Call(Box<Expr>, Vec<Expr>),
    /// `s.f`
    Field(Box<Expr>, Ident),
    /// `x{i}`
    Bit(Box<Expr>, Box<Expr>),
    /// `x{base:length}`
    Slice(Box<Expr>, Box<Expr>, Box<Expr>),
    /// A `#define`d name, with the expression that replaces it.
    Macro(Rc<Expr>),
    /// A part that could not be parsed, and was reported.
    Broken,
}

/// A type as it is written.
#[derive(Clone, Debug)]
pub enum TypeName {
    /// A name that a `typedef` or a type parameter declares.
    Named(Ident),
    /// `uint_t 8` or `int_t (2*w)`, which needs no `typedef`.
    Int {
        /// True for `int_t`, false for `uint_t`.
        signed: bool,
        /// The width: a number, a name, or an expression in parentheses.
        width: Box<Expr>,
        /// The place of the whole type.
        span: SourceSpan,
    },
}

impl TypeName {
    /// Returns the place of the type.
    pub fn span(&self) -> SourceSpan {
        match self {
            TypeName::Named(name) => name.span,
            TypeName::Int { span, .. } => *span,
        }
    }

    /// Returns the name, if it has one.
    pub fn name(&self) -> Option<&Rc<str>> {
        match self {
            TypeName::Named(name) => Some(&name.name),
            TypeName::Int { .. } => None,
        }
    }
}

/// The initial value of a variable, an element, or an array.
#[derive(Clone, Debug)]
pub enum Init {
    /// A value: one element, or an array where an array is expected.
    Expr(Expr),
    /// `{ … }`
    List(Vec<Init>, SourceSpan),
}

/// One declared variable.
#[derive(Clone, Debug)]
pub struct Declarator {
    /// The variable's name.
    pub name: Ident,
    /// The array dimensions.
    pub dims: Vec<Expr>,
    /// The initial value.
    pub init: Option<Init>,
}

/// `T a, b = 1, c[3];`
#[derive(Clone, Debug)]
pub struct VarDecl {
    /// The type of the variables.
    pub ty: TypeName,
    /// The variables.
    pub vars: Vec<Declarator>,
    /// The place of the whole declaration.
    pub span: SourceSpan,
}

/// A statement.
#[derive(Clone, Debug)]
pub enum Stmt {
    /// `e;`
    Expr(Expr),
    /// An empty statement, `;`.
    Empty,
    /// Declarations.
    Vars(VarDecl),
    /// `{ … }` or `+{ … }+`
    Block(Vec<Stmt>),
    /// `for (init; cond; step) body`
    For {
        /// The loop variables.
        init: VarDecl,
        /// The condition.
        cond: Expr,
        /// The expression after each round.
        step: Expr,
        /// The repeated statement.
        body: Box<Stmt>,
        /// The place of the word `for`.
        span: SourceSpan,
    },
    /// `if (cond) then else otherwise`
    If {
        /// The condition.
        cond: Expr,
        /// The statement for a true condition.
        then: Box<Stmt>,
        /// The statement for a false condition.
        otherwise: Option<Box<Stmt>>,
    },
    /// `return e;` or `return;`
    Return(Option<Expr>, SourceSpan),
}

/// A type with array dimensions.
#[derive(Clone, Debug)]
pub struct TypeRef {
    /// The type of an element.
    pub name: TypeName,
    /// The array dimensions.
    pub dims: Vec<Expr>,
}

/// A request that a pragma makes about a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FunctionPragma {
    /// Calls from `main` are part of `main`.
    Inline,
    /// Calls are slots.
    Component,
    /// The body is replaced by a built-in circuit.
    Builtin(String),
}

/// A parameter.
#[derive(Clone, Debug)]
pub struct Param {
    /// The type of the parameter.
    pub ty: TypeRef,
    /// The name of the parameter.
    pub name: Ident,
}

/// A function.
#[derive(Clone, Debug)]
pub struct Function {
    /// The name of the function.
    pub name: Ident,
    /// The types and sizes that a call chooses, such as `T` and `n` in `f<T, n>(T a[n])`.
    pub generics: Vec<Ident>,
    /// The type that it returns.
    pub ret: TypeRef,
    /// The parameters of the function.
    pub params: Vec<Param>,
    /// The statements.
    pub body: Vec<Stmt>,
    /// The requests of pragmas, with their places.
    pub requests: Vec<(FunctionPragma, SourceSpan)>,
}

/// A list of fields: `T a, b[3];`
#[derive(Clone, Debug)]
pub struct FieldDecl {
    /// The type of the fields.
    pub ty: TypeName,
    /// The fields.
    pub names: Vec<(Ident, Vec<Expr>)>,
}

/// The form of the shares of a value.
#[derive(Clone, Debug)]
pub enum ShareForm {
    /// The XOR of the shares is the value.
    Xor,
    /// The sum of the shares is the value, modulo a power of two.
    Sum,
    /// The sum of the shares is the value, modulo this number.
    Modulo(Box<Expr>),
}

/// An item at the top level of a source.
#[derive(Clone, Debug)]
pub enum Item {
    /// `#define name body`
    Define(Ident, Expr),
    /// `#include "path"`
    Include(Rc<str>, SourceSpan),
    /// `#parties n`
    Parties(u64, SourceSpan),
    /// `#input n T` or `#output n T`
    Io {
        /// True for an input, false for an output.
        input: bool,
        /// The number of the party.
        party: u64,
        /// The place of the party's number.
        party_span: SourceSpan,
        /// The type of the values.
        ty: TypeRef,
        /// The rules for the party's values, from pragmas, with their places.
        rules: Vec<(Rule, SourceSpan)>,
        /// The place of the whole line.
        span: SourceSpan,
    },
    /// `#shared input name T` or `#shared output name T`
    Shared {
        /// True for an input, false for an output.
        input: bool,
        /// The name of the value.
        name: Ident,
        /// The type of the value.
        ty: TypeRef,
        /// The form of the shares: XOR, or a sum.
        form: ShareForm,
        /// The place of the whole line.
        span: SourceSpan,
    },
    /// `typedef int_t W name`
    IntType {
        /// True for `int_t`, false for `uint_t`.
        signed: bool,
        /// The width.
        width: Expr,
        /// The new name.
        name: Ident,
        /// The number of bits after the point, and the place of the pragma for it.
        point: Option<(u64, SourceSpan)>,
    },
    /// `typedef struct_t name { … }`
    StructType {
        /// The new name.
        name: Ident,
        /// The fields.
        fields: Vec<FieldDecl>,
    },
    /// A function.
    Function(Box<Function>),
    /// Variables outside of functions, which have no effect.
    Vars(VarDecl),
}
