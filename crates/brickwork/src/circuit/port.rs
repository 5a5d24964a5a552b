//! Typed, named bundles of wires.

use serde::{Deserialize, Serialize};

/// The type of a value on wires. Integers are least significant bit first, arrays element 0 first, structs in the
/// order of their fields.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Type {
    /// Unsigned integer of this many bits.
    Uint(u32),
    /// Two's complement integer of this many bits.
    Int(u32),
    /// This many elements of one type.
    Array(Box<Type>, u32),
    /// Named fields.
    Struct(Vec<(String, Type)>),
}

impl Type {
    /// Number of wires a value takes.
    pub fn width(&self) -> u64 {
        match self {
            Type::Uint(w) | Type::Int(w) => u64::from(*w),
            Type::Array(element, n) => element.width().saturating_mul(u64::from(*n)),
            Type::Struct(fields) => fields.iter().fold(0, |sum, (_, t)| sum.saturating_add(t.width())),
        }
    }
}

/// A named value on consecutive wires.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Port {
    /// The name users give values by.
    pub name: String,
    /// What the wires mean.
    pub ty: Type,
}

impl Port {
    /// A port of this name and type.
    pub fn new(name: impl Into<String>, ty: Type) -> Self {
        Port { name: name.into(), ty }
    }

    /// Number of wires.
    pub fn width(&self) -> u64 {
        self.ty.width()
    }
}
