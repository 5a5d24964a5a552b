//! Typed, named bundles of wires.

use serde::{Deserialize, Serialize};

use brickwork_base::Error;
use brickwork_base::random::Rng;
use zeroize::Zeroizing;

/// The largest depth of nested arrays and structs; code that visits a type recurses at most this deep.
pub const MAX_TYPE_DEPTH: usize = 64;

/// The type of a value on wires. Integers are least significant bit first, arrays element 0 first, structs in
/// the order of their fields.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Type {
    /// Unsigned integer of this many bits.
    Uint(u32),
    /// Two's complement integer of this many bits.
    Int(u32),
    /// Fixed-point number: an integer of `width` bits, `point` of which are after the point.
    Fixed {
        /// Bits of the integer.
        width: u32,
        /// Bits after the binary point, at least one.
        point: u32,
        /// True if the integer is in two's complement.
        signed: bool,
    },
    /// This many elements of one type.
    Array(Box<Type>, u32),
    /// Named fields.
    Struct(Vec<(String, Type)>),
}

impl Type {
    /// Returns the number of wires a value takes.
    pub fn width(&self) -> u64 {
        match self {
            Type::Uint(width) | Type::Int(width) | Type::Fixed { width, .. } => u64::from(*width),
            Type::Array(element, n) => element.width().saturating_mul(u64::from(*n)),
            Type::Struct(fields) => fields.iter().fold(0, |sum, (_, t)| sum.saturating_add(t.width())),
        }
    }

    /// Returns whether a value is one number.
    pub fn is_number(&self) -> bool {
        matches!(self, Type::Uint(_) | Type::Int(_) | Type::Fixed { .. })
    }

    /// Checks that every part of a type has wires, so that a value never has more parts than bits.
    fn check(&self, depth: usize) -> Result<(), String> {
        if depth == MAX_TYPE_DEPTH {
            return Err(format!("the type is nested more than {MAX_TYPE_DEPTH} levels deep"));
        }
        match self {
            Type::Uint(0) | Type::Int(0) => Err("the type has an integer of 0 bits".into()),
            Type::Fixed { width, point, .. } if *point == 0 || point > width => {
                Err(format!("the type has a number of {width} bits with {point} bits behind the point"))
            }
            Type::Uint(_) | Type::Int(_) | Type::Fixed { .. } => Ok(()),
            Type::Array(_, 0) => Err("the type has an array without elements".into()),
            Type::Array(element, _) => element.check(depth + 1),
            Type::Struct(fields) if fields.is_empty() => Err("the type has a struct without fields".into()),
            Type::Struct(fields) => {
                let mut seen = std::collections::HashSet::new();
                for (name, ty) in fields {
                    check_name(name)?;
                    if !seen.insert(name) {
                        return Err(format!("the type has a struct with two fields called {name}"));
                    }
                    ty.check(depth + 1)?;
                }
                Ok(())
            }
        }
    }
}

/// Checks that a name has no control characters, because names are printed on terminals.
pub(super) fn check_name(name: &str) -> Result<(), String> {
    if name.is_empty() {
        return Err("the name is empty".into());
    }
    if name.chars().any(char::is_control) {
        return Err(format!("the name {name:?} contains control characters"));
    }
    Ok(())
}

impl std::fmt::Display for Type {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Type::Uint(w) => write!(f, "uint{w}"),
            Type::Int(w) => write!(f, "int{w}"),
            Type::Fixed { width, point, signed } => {
                write!(f, "{}fixed{width}.{point}", if *signed { "" } else { "u" })
            }
            Type::Array(element, n) => write!(f, "{element}[{n}]"),
            Type::Struct(fields) => {
                f.write_str("{")?;
                for (i, (name, ty)) in fields.iter().enumerate() {
                    write!(f, "{}{name}: {ty}", if i == 0 { "" } else { ", " })?;
                }
                f.write_str("}")
            }
        }
    }
}

/// A condition on the rows of a party's table, or on the elements of its list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rule {
    /// The compared field of numbers: a field of an array's rows, or the name of an array of numbers. The
    /// names of the structs around the field may precede it, each with a dot; they must if several fields
    /// have its name.
    pub field: String,
    /// The condition on the field.
    pub order: RowOrder,
}

/// A condition on a field in all rows. For the first two, a field `count` beside the array may give the
/// number of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RowOrder {
    /// No two rows have the same value.
    Unique,
    /// Each row has a larger value than the row before it.
    Ascending,
    /// No row has a smaller value than the row before it.
    Sorted,
    /// The rows are sorted, and a row with the value 0 is an empty row. All fields of an empty row are 0.
    Grouped,
    /// The rows are grouped, and no two rows have the same value, except 0.
    Keyed,
}

impl RowOrder {
    /// All orders.
    pub const ALL: [RowOrder; 5] =
        [RowOrder::Unique, RowOrder::Ascending, RowOrder::Sorted, RowOrder::Grouped, RowOrder::Keyed];

    /// Returns the order's word in a source.
    pub fn word(self) -> &'static str {
        match self {
            RowOrder::Unique => "unique",
            RowOrder::Ascending => "ascending",
            RowOrder::Sorted => "sorted",
            RowOrder::Grouped => "grouped",
            RowOrder::Keyed => "keyed",
        }
    }
}

/// A named value on consecutive wires.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Port {
    /// The name, by which users give values.
    pub name: String,
    /// The type of the value.
    pub ty: Type,
    /// The rules for the values of a party's input.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<Rule>,
    /// For an input that the party's own program draws at random: the bits of the largest value, or of the
    /// largest part if several parts are drawn one after another. Users give no value for such a port.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drawn: Option<Vec<bool>>,
}

impl Port {
    /// Makes a port of this name and type.
    pub fn new(name: impl Into<String>, ty: Type) -> Self {
        Port { name: name.into(), ty, rules: Vec::new(), drawn: None }
    }

    /// Adds a rule for the values of an input.
    #[must_use]
    pub fn with_rule(mut self, rule: Rule) -> Self {
        self.rules.push(rule);
        self
    }

    /// Makes this an input that is drawn at random, up to the value with these bits.
    #[must_use]
    pub fn drawn_up_to(mut self, largest: Vec<bool>) -> Self {
        self.drawn = Some(largest);
        self
    }

    /// Returns random bits for an input that is drawn.
    ///
    /// # Errors
    /// [`Error::Resource`] if the operating system gives no randomness.
    pub fn draw(&self) -> Result<Option<Zeroizing<Vec<bool>>>, Error> {
        let Some(largest) = &self.drawn else { return Ok(None) };
        let mut rng = Rng::new("brickwork drawn inputs")?;
        let mut bytes = Zeroizing::new(vec![0; largest.len().div_ceil(8)]);
        // The list has its final capacity, because a growing list would leave a copy of a mask behind.
        let mut bits = Zeroizing::new(Vec::with_capacity(self.width() as usize + largest.len()));
        while (bits.len() as u64) < self.width() {
            rng.fill(&mut bytes);
            let start = bits.len();
            bits.extend((0..largest.len()).map(|i| bytes[i / 8] >> (i % 8) & 1 == 1));
            if bits[start..].iter().rev().gt(largest.iter().rev()) {
                bits.truncate(start);
            }
        }
        Ok(Some(bits))
    }

    /// Returns a port for one field of this struct, with the rules about that field.
    pub(super) fn of_field(&self, name: &str, ty: &Type) -> Self {
        let rules = self.rules.iter().filter_map(|rule| rule.of_field(&self.ty, name)).collect();
        Port { rules, ..Port::new(name, ty.clone()) }
    }

    /// Returns the number of wires.
    pub fn width(&self) -> u64 {
        self.ty.width()
    }

    /// Checks the type and all names, and that each rule has exactly one field.
    pub(super) fn check(&self) -> Result<(), Error> {
        let fits = |rule: &Rule| match rule.meanings(&self.ty, &self.name) {
            0 => Err(format!("the type has no table with a numeric field {:?}", rule.field)),
            1 => Ok(()),
            _ => Err(format!(
                "several tables of the type have a field {:?}; write the name of the table \
                 before the field",
                rule.field
            )),
        };
        let rules = || self.rules.iter().try_for_each(fits);
        // At least one of four random values is accepted, so drawing ends soon.
        let draws = |largest: &Vec<bool>| {
            let large = largest.iter().rev().take(2).any(|bit| *bit);
            large && self.width().is_multiple_of(largest.len() as u64)
        };
        let drawn = || match self.drawn.as_ref().is_none_or(draws) {
            true => Ok(()),
            false => Err("the largest value that is drawn does not fit its type".to_owned()),
        };
        let typed = check_name(&self.name).and_then(|()| self.ty.check(0));
        let problem = typed.and_then(|()| rules()).and_then(|()| drawn());
        problem.map_err(|why| Error::Input(format!("port {:?}: {why}", self.name)))
    }
}

/// Returns the number of wires of all the ports together.
pub(super) fn total_width(ports: &[Port]) -> u64 {
    ports.iter().fold(0, |sum, p| sum.saturating_add(p.width()))
}
