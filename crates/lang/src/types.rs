//! Types, their compatibility and their layout.

use std::rc::Rc;

use crate::source::SourceSpan;

/// The largest number of bits of a type.
pub const MAX_WIDTH: u64 = 1 << 26;

/// An integer type. Two integer types are the same if all fields are equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IntType {
    /// True for two's complement.
    pub signed: bool,
    /// The number of bits, at least one.
    pub width: u32,
    /// The number of bits after the binary point of the represented number. It matters only for inputs and
    /// outputs.
    pub point: u32,
    /// The number of the typedef; `None` for types of literals, slices, comparisons and products.
    pub typedef: Option<u32>,
}

/// The type of an expression or variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExprType {
    /// The type of an expression with an error that was reported.
    Broken,
    /// A constant without a width of its own.
    Untyped,
    /// No value.
    Void,
    /// An integer.
    Int(IntType),
    /// A struct, by its number.
    Struct(u32),
    /// An array.
    Array(Rc<ArrayType>),
}

/// An array type.
#[derive(Debug, PartialEq, Eq)]
pub struct ArrayType {
    /// The sizes, with the outermost first.
    pub dims: Vec<u32>,
    /// The type of the innermost elements: an integer or a struct.
    pub base: ExprType,
}

/// A field of a struct.
#[derive(Clone, Debug)]
pub struct StructField {
    /// The name.
    pub name: Rc<str>,
    /// The type.
    pub ty: ExprType,
    /// The position of its first bit in the struct.
    pub offset: u32,
}

/// A struct type.
#[derive(Clone, Debug)]
pub struct StructType {
    /// The name.
    pub name: Rc<str>,
    /// The place of the declaration.
    pub span: SourceSpan,
    /// The fields in the order of declaration.
    pub fields: Vec<StructField>,
    /// The number of bits of all fields.
    pub width: u32,
}

/// The compatibility of two types in an assignment or an operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compatible {
    /// The types are compatible.
    Yes,
    /// The types are compatible, but have different names or signs.
    Cast,
    /// The types are not compatible.
    No,
}

/// All structs, and the names of the integer types.
#[derive(Default)]
pub struct Types {
    /// The structs, by number.
    pub structs: Vec<StructType>,
    /// The names of the integer typedefs, by number.
    pub int_names: Vec<Rc<str>>,
}

impl IntType {
    /// Makes a type that has no name.
    pub fn of_compiler(signed: bool, width: u32) -> IntType {
        IntType { signed, width, point: 0, typedef: None }
    }
}

impl ExprType {
    /// Makes an unsigned integer type without a name.
    pub fn uint(width: u32) -> ExprType {
        ExprType::Int(IntType::of_compiler(false, width))
    }

    /// Returns whether the type is an integer or that of an untyped constant.
    pub fn is_number(&self) -> bool {
        matches!(self, ExprType::Untyped | ExprType::Int(_) | ExprType::Broken)
    }

    /// Returns the hint for a value of this type in a place where a number is needed.
    pub fn number_in(&self) -> &'static str {
        match self {
            ExprType::Struct(_) => "take one field of the struct: `s.field`",
            ExprType::Array(_) => "take one element of the array: `a[0]`",
            _ => "call a function that returns a value, not one that is `void`",
        }
    }
}

impl Types {
    /// Returns the number of bits. Untyped constants have no fixed number.
    pub fn width(&self, ty: &ExprType) -> u32 {
        match ty {
            ExprType::Broken | ExprType::Untyped | ExprType::Void => 0,
            ExprType::Int(int) => int.width,
            ExprType::Struct(s) => self.structs[*s as usize].width,
            ExprType::Array(a) => a.dims.iter().fold(self.width(&a.base), |w, d| w.saturating_mul(*d)),
        }
    }

    /// Returns the type of `array[i]`.
    pub fn element(&self, array: &ArrayType) -> ExprType {
        if array.dims.len() == 1 {
            array.base.clone()
        } else {
            ExprType::Array(Rc::new(ArrayType { dims: array.dims[1..].to_vec(), base: array.base.clone() }))
        }
    }

    /// Returns the compatibility of two types in an operator, an assignment, an argument or a `return`.
    pub fn compatible(&self, a: &ExprType, b: &ExprType) -> Compatible {
        match (a, b) {
            (ExprType::Broken, _) | (_, ExprType::Broken) => Compatible::Yes,
            (ExprType::Untyped, ExprType::Untyped | ExprType::Int(_))
            | (ExprType::Int(_), ExprType::Untyped) => Compatible::Yes,
            (ExprType::Int(x), ExprType::Int(y)) if x.width != y.width => Compatible::No,
            (ExprType::Int(x), ExprType::Int(y)) if x == y || x.typedef.is_none() || y.typedef.is_none() => {
                Compatible::Yes
            }
            (ExprType::Int(_), ExprType::Int(_)) => Compatible::Cast,
            (ExprType::Struct(x), ExprType::Struct(y)) if x == y => Compatible::Yes,
            (ExprType::Array(x), ExprType::Array(y)) if x.dims == y.dims => self.compatible(&x.base, &y.base),
            _ => Compatible::No,
        }
    }

    /// Returns an integer type as sources write it.
    pub fn name(&self, int: &IntType) -> String {
        let kind = if int.signed { "int_t" } else { "uint_t" };
        int.typedef
            .map_or_else(|| format!("{kind} {}", int.width), |n| self.int_names[n as usize].to_string())
    }

    /// Returns the type as messages show it.
    pub fn show(&self, ty: &ExprType) -> String {
        match ty {
            ExprType::Broken => "an unknown type".into(),
            ExprType::Untyped => "an untyped constant".into(),
            ExprType::Void => "`void`".into(),
            ExprType::Int(int) => {
                let plain = self.name(&IntType { typedef: None, ..*int });
                match int.typedef {
                    Some(_) => format!("`{}` ({plain})", self.name(int)),
                    None => format!("`{plain}`"),
                }
            }
            ExprType::Struct(s) => format!("struct `{}`", self.structs[*s as usize].name),
            ExprType::Array(a) => {
                let dims: String = a.dims.iter().map(|d| format!("[{d}]")).collect();
                format!("{}{dims}", self.show(&a.base))
            }
        }
    }

    /// Returns the type of a port. Structs list their fields in the order of their wires.
    pub fn port(&self, ty: &ExprType) -> brickwork_circuit::Type {
        use brickwork_circuit::Type as Port;
        match ty {
            &ExprType::Int(IntType { signed, width, point, .. }) if point > 0 => {
                Port::Fixed { width, point, signed }
            }
            ExprType::Int(int) if int.signed => Port::Int(int.width),
            ExprType::Struct(s) => {
                let mut fields: Vec<&StructField> = self.structs[*s as usize].fields.iter().collect();
                fields.sort_by_key(|f| f.offset);
                Port::Struct(fields.into_iter().map(|f| (f.name.to_string(), self.port(&f.ty))).collect())
            }
            ExprType::Array(a) => {
                a.dims.iter().rev().fold(self.port(&a.base), |t, d| Port::Array(Box::new(t), *d))
            }
            _ => Port::Uint(self.width(ty)),
        }
    }
}
