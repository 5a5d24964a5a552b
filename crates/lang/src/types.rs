//! Types, their compatibility and their layout.

use std::rc::Rc;

use crate::source::Span;

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
pub enum Type {
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
    pub base: Type,
}

/// A field of a struct.
#[derive(Clone, Debug)]
pub struct Field {
    /// The name.
    pub name: Rc<str>,
    /// The type.
    pub ty: Type,
    /// The position of its first bit in the struct.
    pub offset: u32,
}

/// A struct type.
#[derive(Clone, Debug)]
pub struct StructType {
    /// The name.
    pub name: Rc<str>,
    /// The place of the declaration.
    pub span: Span,
    /// The fields in the order of declaration.
    pub fields: Vec<Field>,
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

impl Type {
    /// Makes an unsigned integer type without a name.
    pub fn uint(width: u32) -> Type {
        Type::Int(IntType::of_compiler(false, width))
    }

    /// Returns whether the type is an integer or that of an untyped constant.
    pub fn is_number(&self) -> bool {
        matches!(self, Type::Untyped | Type::Int(_) | Type::Broken)
    }

    /// Returns the hint for a value of this type in a place where a number is needed.
    pub fn number_in(&self) -> &'static str {
        match self {
            Type::Struct(_) => "take one field of the struct: `s.field`",
            Type::Array(_) => "take one element of the array: `a[0]`",
            _ => "call a function that returns a value, not one that is `void`",
        }
    }
}

impl Types {
    /// Returns the number of bits. Untyped constants have no fixed number.
    pub fn width(&self, ty: &Type) -> u32 {
        match ty {
            Type::Broken | Type::Untyped | Type::Void => 0,
            Type::Int(int) => int.width,
            Type::Struct(s) => self.structs[*s as usize].width,
            Type::Array(a) => a.dims.iter().fold(self.width(&a.base), |w, d| w.saturating_mul(*d)),
        }
    }

    /// Returns the type of `array[i]`.
    pub fn element(&self, array: &ArrayType) -> Type {
        if array.dims.len() == 1 {
            array.base.clone()
        } else {
            Type::Array(Rc::new(ArrayType { dims: array.dims[1..].to_vec(), base: array.base.clone() }))
        }
    }

    /// Returns the compatibility of two types in an operator, an assignment, an argument or a `return`.
    pub fn compatible(&self, a: &Type, b: &Type) -> Compatible {
        match (a, b) {
            (Type::Broken, _) | (_, Type::Broken) => Compatible::Yes,
            (Type::Untyped, Type::Untyped | Type::Int(_)) | (Type::Int(_), Type::Untyped) => Compatible::Yes,
            (Type::Int(x), Type::Int(y)) if x.width != y.width => Compatible::No,
            (Type::Int(x), Type::Int(y)) if x == y || x.typedef.is_none() || y.typedef.is_none() => {
                Compatible::Yes
            }
            (Type::Int(_), Type::Int(_)) => Compatible::Cast,
            (Type::Struct(x), Type::Struct(y)) if x == y => Compatible::Yes,
            (Type::Array(x), Type::Array(y)) if x.dims == y.dims => self.compatible(&x.base, &y.base),
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
    pub fn show(&self, ty: &Type) -> String {
        match ty {
            Type::Broken => "an unknown type".into(),
            Type::Untyped => "an untyped constant".into(),
            Type::Void => "`void`".into(),
            Type::Int(int) => {
                let plain = self.name(&IntType { typedef: None, ..*int });
                match int.typedef {
                    Some(_) => format!("`{}` ({plain})", self.name(int)),
                    None => format!("`{plain}`"),
                }
            }
            Type::Struct(s) => format!("struct `{}`", self.structs[*s as usize].name),
            Type::Array(a) => {
                let dims: String = a.dims.iter().map(|d| format!("[{d}]")).collect();
                format!("{}{dims}", self.show(&a.base))
            }
        }
    }

    /// Returns the type of a port. Structs list their fields in the order of their wires.
    pub fn port(&self, ty: &Type) -> brickwork_circuit::Type {
        use brickwork_circuit::Type as Port;
        match ty {
            &Type::Int(IntType { signed, width, point, .. }) if point > 0 => {
                Port::Fixed { width, point, signed }
            }
            Type::Int(int) if int.signed => Port::Int(int.width),
            Type::Struct(s) => {
                let mut fields: Vec<&Field> = self.structs[*s as usize].fields.iter().collect();
                fields.sort_by_key(|f| f.offset);
                Port::Struct(fields.into_iter().map(|f| (f.name.to_string(), self.port(&f.ty))).collect())
            }
            Type::Array(a) => {
                a.dims.iter().rev().fold(self.port(&a.base), |t, d| Port::Array(Box::new(t), *d))
            }
            _ => Port::Uint(self.width(ty)),
        }
    }
}
