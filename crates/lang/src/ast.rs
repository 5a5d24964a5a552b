//! The syntax tree. It represents the written text, and nothing about its meaning.

use crate::source::Span;
use brickwork_circuit::Rule;
use std::rc::Rc;

/// A name and its place.
#[derive(Clone, Debug)]
pub struct Ident {
    /// The name.
    pub name: Rc<str>,
    /// Where it is.
    pub span: Span,
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
    /// Returns it as it is written.
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

    /// Returns how tightly it binds; all are left-associative.
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
    /// The kind of item.
    pub kind: ExprKind,
    /// Where it is.
    pub span: Span,
    /// Levels of the tree below and with this node, as it was parsed.
    pub height: u32,
}

impl Expr {
    /// Makes an expression of this kind.
    pub fn new(kind: ExprKind, span: Span) -> Expr {
        use ExprKind::*;
        let below = match &kind {
            Ident(_) | Number(_) | Macro(_) | Broken => 0,
            Literal { width: a, .. } | Unary(_, a) | Step { operand: a, .. } | Field(a, _) => a.height,
            Binary(_, a, b) | Assign(a, b) | Index(a, b) | Bit(a, b) => a.height.max(b.height),
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
    Number(u64),
    /// A literal with a width: `5#8` (signed) or `5##8`.
    Literal {
        /// The number.
        value: u64,
        /// True if the type is signed.
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
        /// True if it adds.
        increment: bool,
        /// True if it stands before its operand.
        prefix: bool,
        /// The variable that it changes.
        operand: Box<Expr>,
    },
    /// Left side, right side.
    Assign(Box<Expr>, Box<Expr>),
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
    /// A `#define`d name that was replaced by its body.
    Macro(Rc<Expr>),
    /// Something that could not be parsed and was reported.
    Broken,
}

/// How a type is named.
#[derive(Clone, Debug)]
pub enum TypeName {
    /// By the name that a `typedef` or a type parameter declares.
    Named(Ident),
    /// `uint_t 8` or `int_t (2*w)`, which needs no `typedef`.
    Int {
        /// `int_t`, not `uint_t`.
        signed: bool,
        /// The width: a number, a name, or anything in parentheses.
        width: Box<Expr>,
        /// All of it.
        span: Span,
    },
}

impl TypeName {
    /// Returns where it is.
    pub fn span(&self) -> Span {
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

/// An initialiser: of one variable, of an element, or of an array.
#[derive(Clone, Debug)]
pub enum Init {
    /// A value: one element, or an array where an array is expected.
    Expr(Expr),
    /// `{ … }`
    List(Vec<Init>, Span),
}

/// One declared variable.
#[derive(Clone, Debug)]
pub struct Declarator {
    /// Its name.
    pub name: Ident,
    /// Its array dimensions.
    pub dims: Vec<Expr>,
    /// Its first value.
    pub init: Option<Init>,
}

/// `T a, b = 1, c[3];`
#[derive(Clone, Debug)]
pub struct VarDecl {
    /// Their type.
    pub ty: TypeName,
    /// The variables.
    pub vars: Vec<Declarator>,
    /// All of it.
    pub span: Span,
}

/// A statement.
#[derive(Clone, Debug)]
pub enum Stmt {
    /// `e;`
    Expr(Expr),
    /// `;`
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
        /// The step after each round.
        step: Expr,
        /// The repeated statement.
        body: Box<Stmt>,
        /// The word `for`.
        span: Span,
    },
    /// `if (cond) then else otherwise`
    If {
        /// The condition.
        cond: Expr,
        /// If it holds.
        then: Box<Stmt>,
        /// If it does not.
        otherwise: Option<Box<Stmt>>,
    },
    /// `return e;` or `return;`
    Return(Option<Expr>, Span),
}

/// A type with array dimensions.
#[derive(Clone, Debug)]
pub struct TypeRef {
    /// The type of an element.
    pub name: TypeName,
    /// Its dimensions.
    pub dims: Vec<Expr>,
}

/// The request of a pragma for a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FunctionPragma {
    /// Calls from `main` are part of `main`.
    Inline,
    /// Calls are components.
    Component,
    /// The body is replaced by a built-in circuit.
    Builtin(String),
}

/// A parameter.
#[derive(Clone, Debug)]
pub struct Param {
    /// Its type.
    pub ty: TypeRef,
    /// Its name.
    pub name: Ident,
}

/// A function.
#[derive(Clone, Debug)]
pub struct Function {
    /// Its name.
    pub name: Ident,
    /// The types and sizes that it is generic in: `T` and `n` of `f<T, n>(T a[n])`.
    pub generics: Vec<Ident>,
    /// The type that it returns.
    pub ret: TypeRef,
    /// Its parameters.
    pub params: Vec<Param>,
    /// Its statements.
    pub body: Vec<Stmt>,
    /// Requests of its pragmas.
    pub requests: Vec<(FunctionPragma, Span)>,
}

/// A field list: `T a, b[3];`
#[derive(Clone, Debug)]
pub struct FieldDecl {
    /// Their type.
    pub ty: TypeName,
    /// The fields.
    pub names: Vec<(Ident, Vec<Expr>)>,
}

/// Something at the top level.
#[derive(Clone, Debug)]
pub enum Item {
    /// `#define name body`
    Define(Ident, Expr),
    /// `#include "path"`
    Include(Rc<str>, Span),
    /// `#parties n`
    Parties(u64, Span),
    /// `#input n T` or `#output n T`
    Io {
        /// Input, not output.
        input: bool,
        /// Number of the party.
        party: u64,
        /// Place of that number.
        party_span: Span,
        /// Its type.
        ty: TypeRef,
        /// The rules that the party's values must keep, from pragmas.
        rules: Vec<(Rule, Span)>,
        /// All of it.
        span: Span,
    },
    /// `typedef int_t W name`
    IntType {
        /// `int_t`, not `uint_t`.
        signed: bool,
        /// The width.
        width: Expr,
        /// The new name.
        name: Ident,
        /// Bits after the point, and the pragma that sets them.
        point: Option<(u64, Span)>,
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
    /// Variables outside of functions, which mean nothing.
    Vars(VarDecl),
}
