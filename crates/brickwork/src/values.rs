//! Values of programs as Rust types: the [`Inputs`] of a party, by the names of its ports, and its
//! [`Outputs`].
//!
//! The type of a port decides how a [`Value`] is written onto its wires and read back. No text form is used
//! in between. Error messages tell where a value does not fit, and never show the value.

use std::fmt;

use brickwork_circuit::{Port, Type, value};
use zeroize::{Zeroize, ZeroizeOnDrop};

use crate::failure::Error;

/// A value for a port of a program. It is erased when it is dropped.
///
/// Integers of up to 128 bits, `bool`, and arrays, slices and vectors of them convert into it.
/// [`Value::record`] makes a value with fields, and [`Value::wide`] makes an integer of any width.
///
/// ```
/// use brickwork::Value;
///
/// let row = Value::record([("key", Value::from(7u32)), ("amount", Value::from(-12i64))]);
/// let table = Value::from(vec![row]);
/// # drop(table);
/// ```
#[derive(Clone, PartialEq, Eq, Zeroize, ZeroizeOnDrop)]
pub struct Value(Form);

#[derive(Clone, PartialEq, Eq, Zeroize, ZeroizeOnDrop)]
enum Form {
    /// A number.
    Number(Number),
    /// The bits of the wires, of any type; wire 0 comes first.
    Bits(Vec<bool>),
    /// The elements of an array.
    List(Vec<Value>),
    /// The fields of a record.
    Record(Vec<(String, Value)>),
    /// The elements of an array of integers, in the form in which they lie in memory.
    Column(Column),
}

/// A number `± magnitude / 2^point`.
#[derive(Clone, Default, PartialEq, Eq, Zeroize, ZeroizeOnDrop)]
struct Number {
    negative: bool,
    /// 64-bit digits, least significant first.
    magnitude: Vec<u64>,
    point: u32,
}

/// Integers of the same width one after another, least significant byte first.
#[derive(Clone, PartialEq, Eq, Zeroize, ZeroizeOnDrop)]
struct Column {
    bytes: Vec<u8>,
    /// Bytes of each element: 1, 2, 4, 8 or 16.
    size: usize,
    signed: bool,
}

impl Value {
    /// Makes a non-negative integer from its bytes, least significant first.
    pub fn wide(bytes: &[u8]) -> Self {
        let digit = |chunk: &[u8]| chunk.iter().rev().fold(0u64, |digit, &byte| digit << 8 | u64::from(byte));
        Value(Form::Number(Number { magnitude: bytes.chunks(8).map(digit).collect(), ..Number::default() }))
    }

    /// Makes a value of any type from the bits of its wires; wire 0 comes first.
    pub fn bits(bits: &[bool]) -> Self {
        Value(Form::Bits(bits.to_vec()))
    }

    /// Makes a record of named fields.
    pub fn record<N: Into<String>, V: Into<Value>>(fields: impl IntoIterator<Item = (N, V)>) -> Self {
        Value(Form::Record(fields.into_iter().map(|(name, value)| (name.into(), value.into())).collect()))
    }

    /// Makes an array of integers from their bytes, least significant first, with `size` bytes each.
    ///
    /// # Errors
    /// An error of usage if the size is not 1, 2, 4, 8 or 16, or does not divide the number of bytes.
    pub fn column(bytes: &[u8], size: usize, signed: bool) -> Result<Self, Error> {
        match [1, 2, 4, 8, 16].contains(&size) && bytes.len().is_multiple_of(size) {
            true => Ok(Value(Form::Column(Column { bytes: bytes.to_vec(), size, signed }))),
            false => Err(wrong(format!(
                "{} bytes cannot be divided into integers of {size} bytes each",
                bytes.len()
            ))),
        }
    }

    fn unsigned(value: u128) -> Self {
        Value(Form::Number(Number {
            magnitude: vec![value as u64, (value >> 64) as u64],
            ..Number::default()
        }))
    }

    fn signed(value: i128) -> Self {
        let mut number = Value::unsigned(value.unsigned_abs());
        if let Form::Number(number) = &mut number.0 {
            number.negative = value < 0;
        }
        number
    }

    /// Appends the bits of this value in the layout of its type.
    ///
    /// # Errors
    /// An error of input if the value does not fit the type. The message names `place`.
    fn write(&self, ty: &Type, place: &str, bits: &mut Vec<bool>) -> Result<(), Error> {
        match (&self.0, ty) {
            (Form::Bits(own), _) if own.len() as u64 == ty.width() => {
                bits.extend_from_slice(own);
                Ok(())
            }
            (Form::Number(number), Type::Uint(_) | Type::Int(_) | Type::Fixed { .. }) => {
                number.write(ty, place, bits)
            }
            (Form::List(elements), Type::Array(element, count)) if elements.len() == *count as usize => {
                elements
                    .iter()
                    .enumerate()
                    .try_for_each(|(k, value)| value.write(element, &format!("{place}[{k}]"), bits))
            }
            (Form::Column(column), Type::Array(element, count)) if column.len() == *count as usize => (0
                ..column.len())
                .try_for_each(|k| column.get(k).write(element, &format!("{place}[{k}]"), bits)),
            (Form::Record(fields), Type::Struct(expected)) => {
                if let Some((extra, _)) =
                    fields.iter().find(|(name, _)| expected.iter().all(|(other, _)| other != name))
                {
                    return Err(misfit(format!("{place}: the type {ty} has no field {extra:?}")));
                }
                expected.iter().try_for_each(|(name, ty)| {
                    let field = fields.iter().find(|(other, _)| other == name);
                    let (_, value) = field
                        .ok_or_else(|| misfit(format!("{place}: the field {name} ({ty}) is missing")))?;
                    value.write(ty, &format!("{place}.{name}"), bits)
                })
            }
            // A table may be given by columns: a record of arrays stands for an array of records.
            (Form::Record(fields), Type::Array(element, count)) => match &**element {
                Type::Struct(_) => (0..*count as usize).try_for_each(|row| {
                    let of_row =
                        fields.iter().map(|(name, column)| Some((name.clone(), column.element(row)?)));
                    let of_row = of_row
                        .collect::<Option<Vec<_>>>()
                        .ok_or_else(|| misfit(format!("{place}: a column has fewer than {count} rows")))?;
                    Value(Form::Record(of_row)).write(element, &format!("{place}[{row}]"), bits)
                }),
                _ => Err(self.refused(ty, place)),
            },
            _ => Err(self.refused(ty, place)),
        }
    }

    /// Returns an element of an array.
    fn element(&self, k: usize) -> Option<Value> {
        match &self.0 {
            Form::List(elements) => elements.get(k).cloned(),
            Form::Column(column) => (k < column.len()).then(|| column.get(k)),
            _ => None,
        }
    }

    fn refused(&self, ty: &Type, place: &str) -> Error {
        let given = match &self.0 {
            Form::Number(_) => "a number".into(),
            Form::Bits(bits) => format!("{} bits", bits.len()),
            Form::List(elements) => format!("an array of {} elements", elements.len()),
            Form::Column(column) => format!("an array of {} elements", column.len()),
            Form::Record(_) => "a record".into(),
        };
        misfit(format!("{place}: expected {ty} ({} bits), but got {given}", ty.width()))
    }

    /// Reads a value of this type from its bits.
    fn read(ty: &Type, bits: &[bool]) -> Self {
        Value(match ty {
            Type::Uint(_) => Form::Number(Number::read(bits, false, 0)),
            Type::Int(_) => Form::Number(Number::read(bits, true, 0)),
            &Type::Fixed { point, signed, .. } => Form::Number(Number::read(bits, signed, point)),
            Type::Array(element, _) => {
                let width = element.width() as usize;
                Form::List(bits.chunks(width).map(|bits| Value::read(element, bits)).collect())
            }
            Type::Struct(fields) => {
                let mut rest = bits;
                let mut next = |(name, ty): &(String, Type)| {
                    let (own, others) = rest.split_at(ty.width() as usize);
                    rest = others;
                    (name.clone(), Value::read(ty, own))
                };
                Form::Record(fields.iter().map(&mut next).collect())
            }
        })
    }
}

/// Returns the 64-bit digits of these bits, least significant first.
fn digits(bits: &[bool]) -> Vec<u64> {
    bits.chunks(64).map(|bits| bits.iter().rev().fold(0, |digit, &bit| digit << 1 | u64::from(bit))).collect()
}

impl Number {
    /// Returns the number of bits up to the highest bit that is set.
    fn bits(&self) -> usize {
        let top = self.magnitude.iter().rposition(|digit| *digit != 0);
        top.map_or(0, |top| 64 * top + 64 - self.magnitude[top].leading_zeros() as usize)
    }

    /// Appends the bits of this number in the layout of a numeric type, least significant bit first.
    fn write(&self, ty: &Type, place: &str, bits: &mut Vec<bool>) -> Result<(), Error> {
        let (width, signed, point) = match *ty {
            Type::Uint(width) => (width, false, 0),
            Type::Fixed { width, point, signed } => (width, signed, point),
            _ => (ty.width() as u32, true, 0),
        };
        let bit = |k: usize| self.magnitude.get(k / 64).is_some_and(|digit| digit >> (k % 64) & 1 == 1);
        let (left, right) = match point.checked_sub(self.point) {
            Some(left) => (left as usize, 0),
            None => (0, (self.point - point) as usize),
        };
        if (0..right).any(bit) {
            let hint = if point == 0 { "a whole number" } else { "a multiple of the type's last bit" };
            return Err(misfit(format!("{place}: expected {hint} for {ty}")));
        }
        let (used, width) = ((self.bits() + left).saturating_sub(right), width as usize);
        let negative = self.negative && self.bits() > 0;
        let is_power = self.magnitude.iter().map(|digit| digit.count_ones()).sum::<u32>() == 1;
        let fits = match (negative, signed) {
            _ if self.bits() == 0 => true,
            (false, false) => used <= width,
            (true, false) => false,
            (false, true) => used < width,
            // A negative number of `width` bits has a magnitude of fewer bits, except -2^(width - 1).
            (true, true) => used < width || used == width && is_power,
        };
        if !fits {
            return Err(misfit(format!("{place}: the number does not fit {ty}")));
        }
        let mut carry = true;
        bits.extend((0..width).map(|k| {
            let own = k >= left && bit(k - left + right);
            if !negative {
                return own;
            }
            let turned = !own ^ carry;
            carry &= !own;
            turned
        }));
        Ok(())
    }

    /// Reads a number from its bits.
    fn read(bits: &[bool], signed: bool, point: u32) -> Self {
        let negative = signed && bits.last().copied().unwrap_or_default();
        let magnitude = match negative {
            false => digits(bits),
            true => {
                // The magnitude of a negative number: all bits are inverted, then one is added.
                let mut carry = true;
                let turned = bits.iter().map(|bit| {
                    let digit = !bit ^ carry;
                    carry &= !*bit;
                    digit
                });
                digits(&turned.collect::<Vec<_>>())
            }
        };
        Number { negative, magnitude, point }
    }

    /// Returns the sign and the magnitude of an integer of at most 128 bits.
    fn integer(&self) -> Result<(bool, u128), Error> {
        if self.point > 0 {
            return Err(wrong("the value is a fixed-point number; read it as f64"));
        }
        if self.bits() > 128 {
            return Err(wrong("the value has more than 128 bits; read it as bits instead"));
        }
        let digit = |k: usize| u128::from(self.magnitude.get(k).copied().unwrap_or_default());
        Ok((self.negative, digit(1) << 64 | digit(0)))
    }
}

impl Column {
    fn len(&self) -> usize {
        self.bytes.len() / self.size
    }

    fn get(&self, k: usize) -> Value {
        let bytes = &self.bytes[k * self.size..][..self.size];
        let value = bytes.iter().rev().fold(0u128, |value, &byte| value << 8 | u128::from(byte));
        let unused = 128 - 8 * self.size as u32;
        match self.signed {
            true => Value::signed((value << unused) as i128 >> unused),
            false => Value::unsigned(value),
        }
    }
}

/// Shows no part of the value, which may be secret.
impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Value(…)")
    }
}

impl From<bool> for Value {
    fn from(bit: bool) -> Self {
        Value::unsigned(bit.into())
    }
}

/// Makes a number for a fixed-point port. The port accepts the number if it can represent it exactly.
///
/// # Panics
/// If it is not finite.
impl From<f64> for Value {
    fn from(value: f64) -> Self {
        assert!(value.is_finite(), "a value must be finite");
        let (bits, negative) = (value.abs().to_bits(), value < 0.0);
        let (fraction, exponent) = (bits & ((1 << 52) - 1), (bits >> 52) as i32);
        let (mantissa, power) = match exponent {
            0 => (fraction, -1074),
            _ => (fraction | 1 << 52, exponent - 1075),
        };
        let number = match u32::try_from(power) {
            Ok(power) => {
                let mut magnitude = vec![0; power as usize / 64];
                let wide = u128::from(mantissa) << (power % 64);
                magnitude.extend([wide as u64, (wide >> 64) as u64]);
                Number { negative, magnitude, point: 0 }
            }
            Err(_) => Number { negative, magnitude: vec![mantissa], point: power.unsigned_abs() },
        };
        Value(Form::Number(number))
    }
}

impl TryFrom<Value> for f64 {
    type Error = Error;

    fn try_from(value: Value) -> Result<Self, Error> {
        let Number { negative, magnitude, point } = value.number()?;
        let digits = magnitude.iter().rev().fold(0.0, |sum, &digit| sum * 2f64.powi(64) + digit as f64);
        let size = digits * 2f64.powi(-(*point as i32));
        Ok(if *negative { -size } else { size })
    }
}

impl<T: Into<Value>> From<Vec<T>> for Value {
    fn from(elements: Vec<T>) -> Self {
        Value(Form::List(elements.into_iter().map(Into::into).collect()))
    }
}

impl<T: Into<Value> + Clone> From<&[T]> for Value {
    fn from(elements: &[T]) -> Self {
        Value(Form::List(elements.iter().cloned().map(Into::into).collect()))
    }
}

impl<T: Into<Value>, const N: usize> From<[T; N]> for Value {
    fn from(elements: [T; N]) -> Self {
        Value(Form::List(elements.into_iter().map(Into::into).collect()))
    }
}

/// Reads a [`Value`] as a Rust type, and refuses a value that does not fit.
impl TryFrom<Value> for bool {
    type Error = Error;

    fn try_from(value: Value) -> Result<Self, Error> {
        match u8::try_from(value)? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(wrong("the value is more than one bit")),
        }
    }
}

macro_rules! integers {
    ($($unsigned:ty, $signed:ty;)*) => {$(
        impl From<$unsigned> for Value {
            fn from(value: $unsigned) -> Self {
                Value::unsigned(value.into())
            }
        }

        impl From<$signed> for Value {
            fn from(value: $signed) -> Self {
                Value::signed(value.into())
            }
        }

        impl TryFrom<Value> for $unsigned {
            type Error = Error;

            fn try_from(value: Value) -> Result<Self, Error> {
                let (negative, magnitude) = value.number()?.integer()?;
                let fits = <$unsigned>::try_from(magnitude).ok().filter(|_| !negative || magnitude == 0);
                fits.ok_or_else(|| wrong(concat!("the value does not fit ", stringify!($unsigned))))
            }
        }

        impl TryFrom<Value> for $signed {
            type Error = Error;

            fn try_from(value: Value) -> Result<Self, Error> {
                let (negative, magnitude) = value.number()?.integer()?;
                let number = match negative {
                    true => 0i128.checked_sub_unsigned(magnitude),
                    false => i128::try_from(magnitude).ok(),
                };
                let fits = number.and_then(|number| <$signed>::try_from(number).ok());
                fits.ok_or_else(|| wrong(concat!("the value does not fit ", stringify!($signed))))
            }
        }
    )*};
}

integers! {
    u8, i8;
    u16, i16;
    u32, i32;
    u64, i64;
    u128, i128;
}

impl Value {
    fn number(&self) -> Result<&Number, Error> {
        match &self.0 {
            Form::Number(number) => Ok(number),
            _ => Err(wrong("the value is not a number")),
        }
    }

    /// Returns the elements of an array.
    ///
    /// # Errors
    /// An error of usage if the value is not an array.
    pub fn elements(&self) -> Result<&[Value], Error> {
        match &self.0 {
            Form::List(elements) => Ok(elements),
            _ => Err(wrong("the value is not an array")),
        }
    }

    /// Returns a field of a record.
    ///
    /// # Errors
    /// An error of usage if there is no such field.
    pub fn field(&self, name: &str) -> Result<&Value, Error> {
        let fields = match &self.0 {
            Form::Record(fields) => &fields[..],
            _ => &[],
        };
        let found = fields.iter().find(|(other, _)| other == name).map(|(_, value)| value);
        found.ok_or_else(|| wrong(format!("the value has no field {name}")))
    }
}

/// The inputs of one party: a value for each of its input ports, by name.
///
/// ```
/// use brickwork::Inputs;
///
/// let inputs = Inputs::new().set("wealth", 1_250_000u32).set("ages", vec![31u8, 64]);
/// # drop(inputs);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Inputs(Vec<(String, Value)>);

impl Inputs {
    /// Makes an empty set of inputs.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the value of the port with this name, and replaces an earlier one.
    pub fn set(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        let name = name.into();
        self.0.retain(|(other, _)| *other != name);
        self.0.push((name, value.into()));
        self
    }

    /// Returns the bits of all these ports, in their order.
    ///
    /// # Errors
    /// An error of input if a port has no value, a value has no port, or a value does not fit its port.
    pub fn encode(&self, ports: &[Port]) -> Result<brickwork_kernels::SecretBlocks<bool>, Error> {
        let given = value::given(ports);
        if let Some((extra, _)) = self.0.iter().find(|(name, _)| given.iter().all(|port| port.name != *name))
        {
            let names: Vec<_> = given.iter().map(|port| &*port.name).collect();
            return Err(misfit(format!(
                "the program has no input {extra:?} of this party; its inputs are: {}",
                names.join(", ")
            )));
        }
        let width: u64 = given.iter().map(Port::width).sum();
        let mut bits = Vec::with_capacity(width as usize);
        for port in &given {
            let value = self.0.iter().find(|(name, _)| *name == port.name);
            let (_, value) = value.ok_or_else(|| {
                misfit(format!("the input {} ({}) is missing; give it a value", port.name, port.ty))
            })?;
            value.write(&port.ty, &port.name, &mut bits)?;
        }
        value::check_rules(&given, &bits)?;
        Ok(brickwork_kernels::SecretBlocks::new(value::with_drawn(ports, bits, 1)?))
    }
}

impl<N: Into<String>, V: Into<Value>> From<(N, V)> for Inputs {
    fn from((name, value): (N, V)) -> Self {
        Inputs::new().set(name, value)
    }
}

/// The outputs of one party, by the name of their ports.
///
/// ```
/// use brickwork::{Program, run_local};
///
/// let text = "#parties 2\n#input 1 uint_t 8\n#input 2 uint_t 8\n#output 1 uint_t 8\n\
///             function void main() { output1 = input1 + input2; }";
/// let program = Program::from_source("add.wir", text)?;
/// let [garbler, evaluator] = run_local(&program, ("input1", 3u8), ("input2", 4u8))?;
/// assert_eq!(garbler.outputs.get::<u8>("output1")?, 7);
/// assert_eq!(evaluator.outputs.names().count(), 0, "only the garbler learns something");
/// # Ok::<(), brickwork::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Outputs(Vec<(String, Value)>);

impl Outputs {
    /// Reads the outputs on these ports.
    ///
    /// # Panics
    /// If the number of bits is not the number of wires.
    pub fn decode(ports: &[Port], mut bits: &[bool]) -> Self {
        let mut next = |port: &Port| {
            let (own, rest) = bits.split_at(port.width() as usize);
            bits = rest;
            (port.name.clone(), Value::read(&port.ty, own))
        };
        let values = ports.iter().map(&mut next).collect();
        assert!(bits.is_empty(), "the caller must give one bit for each wire");
        Outputs(values)
    }

    /// Returns an output as a Rust type.
    ///
    /// # Errors
    /// An error of usage if there is no output of this name, or its value does not fit the type.
    pub fn get<T: TryFrom<Value, Error = Error>>(&self, name: &str) -> Result<T, Error> {
        T::try_from(self.value(name)?.clone())
    }

    /// Returns an output.
    ///
    /// # Errors
    /// An error of usage if there is no output of this name.
    pub fn value(&self, name: &str) -> Result<&Value, Error> {
        let found = self.0.iter().find(|(other, _)| other == name).map(|(_, value)| value);
        found.ok_or_else(|| {
            let names: Vec<_> = self.0.iter().map(|(name, _)| &**name).collect();
            wrong(format!("the program has no output {name:?}; its outputs are: {}", names.join(", ")))
        })
    }

    /// Returns the names of the outputs, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(name, _)| &**name)
    }
}

impl<T: TryFrom<Value, Error = Error>> TryFrom<Value> for Vec<T> {
    type Error = Error;

    fn try_from(value: Value) -> Result<Self, Error> {
        value.elements()?.iter().map(|element| T::try_from(element.clone())).collect()
    }
}

/// Makes an error about a value that was requested as a wrong type.
fn wrong(message: impl Into<String>) -> Error {
    Error::usage(message, "`brickwork info FILE` shows the types of a program's outputs")
}

/// Makes an error about a value that does not fit its port.
fn misfit(message: String) -> Error {
    Error::input(message, "`brickwork info FILE` shows the types of a program's inputs")
}
