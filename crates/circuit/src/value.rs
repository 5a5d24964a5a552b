//! Values in JSON, as users write them, and as bits on wires.
//!
//! An integer is a number or a string, decimal or `0x…`; JSON arrays and objects give arrays and structs. A
//! number of fixed point is a decimal that its type represents exactly, such as `2.5`; `0x…` gives its bits
//! as an integer. `"bits:0110…"` gives the raw wire bits of any value, wire 0 first. Negative numbers are for
//! signed types only; hexadecimal without a sign gives the bits of a signed type, so that every output is a
//! valid input. A party with one port gives a bare value, a party with several ports an object by port name,
//! a party without ports [`Value::Null`].
//!
//! Errors name the expected value and its place, but never repeat the given value, which may be secret.

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use super::{Party, Port, Program, Recipient, Type};
use brickwork_base::Error;
use brickwork_base::stop::{look, looking};
use zeroize::Zeroizing;

/// Integers of at most this many bits are written as JSON numbers, which readers of JSON keep exactly.
const NUMBER_BITS: usize = 53;

/// The prefix of wire bits.
const BITS: &str = "bits:";

/// Parses a value from a command line or a file: JSON, or a bare `0x…` or `bits:…`.
///
/// # Errors
/// [`Error::Input`] if the text has neither form.
pub fn parse(text: &str) -> Result<Value, Error> {
    // Some editors write a byte order mark before a text.
    let text = text.trim_start_matches('\u{feff}').trim();
    let unsigned = text.strip_prefix('-').unwrap_or(text);
    if unsigned.starts_with("0x") || unsigned.starts_with("0X") || text.starts_with(BITS) {
        return Ok(Value::String(text.to_owned()));
    }
    serde_json::from_str(text).map(|Distinct(value)| value).map_err(|e| {
        if e.to_string().starts_with(SAME_NAME) {
            return Error::Input(format!(
                "the value is ambiguous: {SAME_NAME} (line {}, column {})",
                e.line(),
                e.column()
            ));
        }
        // The parser's own message could repeat a part of the value.
        let at =
            if e.line() > 0 { format!(" (line {}, column {})", e.line(), e.column()) } else { String::new() };
        Error::Input(format!(
            "the value is not JSON{at}; give a number, \"0x…\", \"bits:…\", an array, or an object with the \
             names of the inputs"
        ))
    })
}

const SAME_NAME: &str = "an object contains the same name twice";

/// Any JSON in which no object has a name twice; [`Value`] would silently keep the last value of the name. A
/// stop request ends the parsing.
struct Distinct(Value);

impl<'de> Deserialize<'de> for Distinct {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Reader).map(Distinct)
    }
}

struct Reader;

/// `serde_json` gives the digits of a long or fractional number as an object with this field.
const NUMBER: &str = "$serde_json::private::Number";

impl<'de> Visitor<'de> for Reader {
    type Value = Value;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, given: bool) -> Result<Value, E> {
        Ok(given.into())
    }

    fn visit_u64<E>(self, number: u64) -> Result<Value, E> {
        Ok(number.into())
    }

    fn visit_i64<E>(self, number: i64) -> Result<Value, E> {
        Ok(number.into())
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(text.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Value, A::Error> {
        let mut read = Vec::new();
        for _ in looking(0..usize::MAX) {
            match elements.next_element()? {
                Some(Distinct(element)) => read.push(element),
                None => break,
            }
        }
        Ok(Value::Array(read))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Value, A::Error> {
        look();
        let mut read = Map::new();
        while let Some(name) = fields.next_key::<String>()? {
            if name == NUMBER {
                let digits: String = fields.next_value()?;
                // No message shows this error, so the value is not repeated.
                return digits.parse().map(Value::Number).map_err(serde::de::Error::custom);
            }
            if read.contains_key(&name) {
                return Err(serde::de::Error::custom(SAME_NAME));
            }
            let Distinct(value) = fields.next_value()?;
            read.insert(name, value);
        }
        Ok(Value::Object(read))
    }
}

/// Returns the bits of a party's input.
///
/// # Errors
/// [`Error::Input`] if the value does not fit the ports, or breaks a [rule](super::Rule) of one; the message
/// names the position and the expected value.
pub fn encode(ports: &[Port], value: &Value) -> Result<Vec<bool>, Error> {
    let (own, mut bits) = (given(ports), Vec::new());
    encode_ports(&own, value, None, &mut bits)?;
    check_rules(&own, &bits)?;
    with_drawn(ports, bits, 1)
}

/// Returns the ports whose values a party gives: all but those that are drawn.
pub fn given(ports: &[Port]) -> Vec<Port> {
    ports.iter().filter(|port| port.drawn.is_none()).cloned().collect()
}

/// Returns the bits of all ports, for some executions: those of the given ports, and new random bits for each
/// port that is drawn, in each execution.
///
/// # Errors
/// [`Error::Resource`] if the operating system gives no randomness.
///
/// # Panics
/// Panics if the bits are fewer than those of the given ports.
pub fn with_drawn(ports: &[Port], own: Vec<bool>, executions: usize) -> Result<Vec<bool>, Error> {
    if ports.iter().all(|port| port.drawn.is_none()) {
        return Ok(own);
    }
    let own = Zeroizing::new(own);
    let mut rest = &own[..];
    let mut bits = Vec::with_capacity(super::port::total_width(ports) as usize * executions);
    for port in looking((0..executions).flat_map(|_| ports)) {
        match port.draw()? {
            Some(drawn) => bits.extend_from_slice(&drawn),
            None => {
                let (next, others) = rest.split_at(port.width() as usize);
                bits.extend_from_slice(next);
                rest = others;
            }
        }
    }
    Ok(bits)
}

/// Checks the rules of the ports for the values in these bits, for one execution or several.
///
/// # Errors
/// [`Error::Input`] if a value breaks a [rule](super::Rule) of its port.
pub fn check_rules(ports: &[Port], bits: &[bool]) -> Result<(), Error> {
    if ports.iter().all(|port| port.rules.is_empty()) {
        return Ok(());
    }
    for mut bits in looking(bits.chunks(super::port::total_width(ports) as usize)) {
        for port in ports {
            let (own, rest) = bits.split_at(port.width() as usize);
            bits = rest;
            port.rules.iter().try_for_each(|rule| rule.check(&port.ty, &port.name, own))?;
        }
    }
    Ok(())
}

/// Returns the bits of a party's input to `executions` evaluations, for the program of [`Program::repeat`]:
/// the value is an array with one value for each evaluation, or the wire bits of all values.
///
/// # Errors
/// [`Error::Input`] as [`encode`], and if the array has another length.
pub fn encode_executions(ports: &[Port], executions: usize, value: &Value) -> Result<Vec<bool>, Error> {
    let (own, mut bits) = (given(ports), Vec::new());
    if own.is_empty() && value.is_null() {
        return with_drawn(ports, bits, executions);
    }
    let values = match value {
        Value::Array(values) if values.len() == executions => values,
        Value::String(text) if text.starts_with(BITS) && !own.is_empty() => {
            let width = super::port::total_width(&own) * executions as u64;
            raw_bits(text, width, None, &Place::Top(None), &mut bits)?;
            check_rules(&own, &bits)?;
            return with_drawn(ports, bits, executions);
        }
        Value::Array(values) => {
            return Err(Error::Input(format!(
                "expected an array of {executions} values, one for each execution; the array has {}",
                values.len()
            )));
        }
        other => {
            let given = kind(other);
            return Err(Error::Input(format!(
                "expected an array of {executions} values, one for each execution, not {given}"
            )));
        }
    };
    for (index, value) in looking(values.iter().enumerate()) {
        encode_ports(&own, value, Some(index), &mut bits)?;
    }
    check_rules(&own, &bits)?;
    with_drawn(ports, bits, executions)
}

/// Appends wire bits to a text as digits, wire 0 first: the text after `bits:` in a value.
pub fn write_bits(bits: &[bool], text: &mut String) {
    text.extend(bits.iter().map(|&bit| if bit { '1' } else { '0' }));
}

/// Returns the value of `bits` on these ports: bare for one port, an object for several.
///
/// # Panics
/// If there is not one bit for each wire.
pub fn decode(ports: &[Port], mut bits: &[bool]) -> Value {
    let value = match ports {
        [] => Value::Null,
        [port] => decode_type(&port.ty, &mut bits),
        _ => Value::Object(ports.iter().map(|p| (p.name.clone(), decode_type(&p.ty, &mut bits))).collect()),
    };
    assert!(bits.is_empty(), "the caller must give one bit for each wire");
    value
}

/// Returns the values of a party's output bits of `program.repeat(executions)`: an array with a value for
/// each execution.
///
/// # Panics
/// If there is not one bit for each wire.
pub fn decode_executions(program: &Program, executions: usize, party: Party, bits: &[bool]) -> Value {
    let ports = program.output_ports(party);
    if ports.is_empty() {
        return Value::Null;
    }
    // The repeated program has a port for each set of recipients, and in the port a group of bits for each
    // execution.
    let mut widths = [0; 3];
    for output in program.outputs_of(party) {
        widths[output.to.group()] += output.wires.len();
    }
    let total: usize = widths.iter().sum();
    assert_eq!(bits.len(), executions * total, "the caller must give one bit for each wire");
    let mut starts = [0; 3];
    for group in 1..3 {
        starts[group] = starts[group - 1] + executions * widths[group - 1];
    }
    let decode_one = |execution: usize| {
        let mut next: [usize; 3] = std::array::from_fn(|g| starts[g] + execution * widths[g]);
        let mut own = Vec::with_capacity(total);
        for output in program.outputs_of(party) {
            let start = &mut next[output.to.group()];
            own.extend_from_slice(&bits[*start..*start + output.wires.len()]);
            *start += output.wires.len();
        }
        decode(&ports, &own)
    };
    Value::Array(looking(0..executions).map(decode_one).collect())
}

impl Recipient {
    /// Returns the position among the outputs of a repeated program.
    pub(super) fn group(self) -> usize {
        match self {
            Recipient::Garbler => 0,
            Recipient::Evaluator => 1,
            Recipient::Both => 2,
            Recipient::Nobody => 3,
        }
    }
}

/// A place in a value, for error messages.
#[derive(Clone, Copy)]
enum Place<'a> {
    Top(Option<usize>),
    Name(&'a Place<'a>, &'a str),
    Index(&'a Place<'a>, usize),
}

impl std::fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Place::Top(None) => f.write_str("the value"),
            Place::Top(Some(execution)) => write!(f, "the value of execution {execution}"),
            Place::Name(Place::Top(None), name) => f.write_str(name),
            Place::Name(Place::Top(Some(execution)), name) => write!(f, "execution {execution}: {name}"),
            Place::Name(outer, name) => write!(f, "{outer}.{name}"),
            Place::Index(outer, index) => write!(f, "{outer}[{index}]"),
        }
    }
}

impl Place<'_> {
    fn fail<T>(&self, ty: Option<&Type>, expected: impl std::fmt::Display) -> Result<T, Error> {
        let ty = ty.map(|t| format!(" ({})", shortened(t))).unwrap_or_default();
        Err(Error::Input(format!("{self}{ty}: {expected}")))
    }
}

/// Returns the type as a short text for an error message. The fields of a struct are left out, because there
/// may be a million.
fn shortened(ty: &Type) -> String {
    let text = ty.to_string();
    match text.char_indices().nth(80) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "nothing",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

fn encode_ports(
    ports: &[Port],
    value: &Value,
    execution: Option<usize>,
    bits: &mut Vec<bool>,
) -> Result<(), Error> {
    let top = Place::Top(execution);
    match (ports, value) {
        (_, Value::String(text)) if ports.len() > 1 && text.starts_with(BITS) => {
            raw_bits(text, super::port::total_width(ports), None, &top, bits)
        }
        ([], Value::Null) => Ok(()),
        ([], Value::Object(fields)) if fields.is_empty() => Ok(()),
        ([], _) => top.fail(None, "the program takes no input from this party; leave the input out"),
        ([port], _) => encode_type(&port.ty, value, &Place::Name(&top, &port.name), bits),
        (_, Value::Object(fields)) => {
            encode_fields(ports.iter().map(|p| (&*p.name, &p.ty)), fields, None, &top, bits)
        }
        (_, other) => {
            let names: Vec<_> = ports.iter().take(10).map(|p| &*p.name).collect();
            let more = if ports.len() > 10 { ", …" } else { "" };
            top.fail(
                None,
                format!("expected an object with the inputs {}{more}, not {}", names.join(", "), kind(other)),
            )
        }
    }
}

fn encode_fields<'a>(
    expected: impl Iterator<Item = (&'a str, &'a Type)>,
    given: &Map<String, Value>,
    ty: Option<&Type>,
    place: &Place<'_>,
    bits: &mut Vec<bool>,
) -> Result<(), Error> {
    let mut names = std::collections::HashSet::new();
    for (name, field) in expected {
        let Some(value) = given.get(name) else {
            return place.fail(ty, format!("{name} ({}) is missing", shortened(field)));
        };
        names.insert(name);
        encode_type(field, value, &Place::Name(place, name), bits)?;
    }
    match given.keys().all(|name| names.contains(name.as_str())) {
        true => Ok(()),
        false => place.fail(ty, "an object has a field that the program does not know"),
    }
}

fn encode_type(ty: &Type, value: &Value, place: &Place<'_>, bits: &mut Vec<bool>) -> Result<(), Error> {
    if let Value::String(text) = value
        && text.starts_with(BITS)
    {
        return raw_bits(text, ty.width(), Some(ty), place, bits);
    }
    match (ty, value) {
        (Type::Uint(width), Value::Number(number)) => {
            integer(number.as_str(), *width, false, ty, place, bits)
        }
        (Type::Int(width), Value::Number(number)) => integer(number.as_str(), *width, true, ty, place, bits),
        (Type::Uint(width), Value::String(text)) => integer(text, *width, false, ty, place, bits),
        (Type::Int(width), Value::String(text)) => integer(text, *width, true, ty, place, bits),
        (Type::Fixed { width, point, signed }, Value::Number(_) | Value::String(_)) => {
            let text = match value {
                Value::Number(number) => number.as_str(),
                other => other.as_str().unwrap_or_default(),
            };
            if is_hex(text) {
                return integer(text, *width, *signed, ty, place, bits);
            }
            match fixed(text, *width, *point, *signed, false) {
                Ok(number) => bits.extend(number),
                Err(why) => return place.fail(Some(ty), why),
            }
            Ok(())
        }
        (Type::Array(element, n), Value::Array(values)) => {
            if values.len() as u64 != u64::from(*n) {
                return place.fail(Some(ty), format!("expected {n} elements, not {}", values.len()));
            }
            looking(values.iter().enumerate())
                .try_for_each(|(i, value)| encode_type(element, value, &Place::Index(place, i), bits))
        }
        (Type::Struct(fields), Value::Object(given)) => {
            encode_fields(fields.iter().map(|(n, t)| (&**n, t)), given, Some(ty), place, bits)
        }
        (Type::Fixed { .. }, other) => {
            place.fail(Some(ty), format!("expected a number, such as 2.5, not {}", kind(other)))
        }
        (Type::Uint(_), other) => {
            place.fail(Some(ty), format!("expected a number, \"0x…\" or \"bits:…\", not {}", kind(other)))
        }
        (Type::Int(_), other) => place
            .fail(Some(ty), format!("expected a number, \"-…\", \"0x…\" or \"bits:…\", not {}", kind(other))),
        (Type::Array(_, n), other) => {
            place.fail(Some(ty), format!("expected an array of {n} elements, not {}", kind(other)))
        }
        (Type::Struct(_), other) => place
            .fail(Some(ty), format!("expected an object with the names of the fields, not {}", kind(other))),
    }
}

fn raw_bits(
    text: &str,
    width: u64,
    ty: Option<&Type>,
    place: &Place<'_>,
    bits: &mut Vec<bool>,
) -> Result<(), Error> {
    let digits = text.strip_prefix(BITS).unwrap_or(text).as_bytes();
    if digits.len() as u64 != width {
        return place.fail(
            ty,
            format!("expected {width} wire bits after \"bits:\", wire 0 first, not {}", digits.len()),
        );
    }
    bits.reserve(digits.len());
    for digits in looking(digits.chunks(1 << 12)) {
        if digits.iter().any(|d| !matches!(d, b'0' | b'1')) {
            return place.fail(ty, "wire bits must be 0 or 1");
        }
        bits.extend(digits.iter().map(|d| *d == b'1'));
    }
    Ok(())
}

/// Appends an integer's bits, least significant bit first.
fn integer(
    text: &str,
    width: u32,
    signed: bool,
    ty: &Type,
    place: &Place<'_>,
    bits: &mut Vec<bool>,
) -> Result<(), Error> {
    let (negative, magnitude) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    if negative && !signed {
        return place.fail(Some(ty), "a negative number does not fit an unsigned integer");
    }
    let hex = magnitude.strip_prefix("0x").or_else(|| magnitude.strip_prefix("0X"));
    let limbs = match hex {
        Some(digits) => from_hex(digits, width),
        None => from_decimal(magnitude, width),
    };
    let mut limbs = match limbs {
        Ok(limbs) => limbs,
        Err(Digits::Invalid) => {
            return place
                .fail(Some(ty), "expected an integer, decimal or \"0x…\" (no fraction, no exponent)");
        }
        Err(Digits::TooLarge) => Vec::new(),
    };
    let fits = match hex.is_some() && !negative {
        true => bit_length(&limbs) <= u64::from(width),
        false => fits(&limbs, width, signed, negative),
    };
    if !fits || limbs.is_empty() {
        let range = match (signed, width) {
            (false, 1..=64) => format!("0 to {}", u64::MAX >> (64 - width)),
            (true, 1..=64) => format!("-{} to {}", 1u64 << (width - 1), (1u64 << (width - 1)) - 1),
            (false, _) => format!("0 to 2^{width} - 1"),
            (true, _) => format!("-2^{0} to 2^{0} - 1", width - 1),
        };
        return place.fail(Some(ty), format!("the number does not fit; expected {range}"));
    }
    bits.extend(bits_of(&mut limbs, width, negative));
    Ok(())
}

/// Returns whether a number of this magnitude fits an integer of this width and sign.
fn fits(limbs: &[u64], width: u32, signed: bool, negative: bool) -> bool {
    let (used, width) = (bit_length(limbs), u64::from(width));
    let is_power = || limbs.iter().map(|limb| limb.count_ones()).sum::<u32>() == 1;
    // The only magnitude with exactly `width` bits that fits a signed type is that of -2^(width-1).
    used + u64::from(signed) <= width || (negative && signed && used == width && is_power())
}

/// Returns the bits of a number of this magnitude, least significant bit first.
fn bits_of(limbs: &mut Vec<u64>, width: u32, negative: bool) -> impl Iterator<Item = bool> {
    limbs.resize((width as usize).div_ceil(64).max(limbs.len()), 0);
    if negative {
        let mut carry = true;
        for limb in &mut *limbs {
            (*limb, carry) = (!*limb).overflowing_add(u64::from(carry));
        }
    }
    (0..width as usize).map(|i| limbs[i / 64] >> (i % 64) & 1 == 1)
}

fn is_hex(text: &str) -> bool {
    let magnitude = text.strip_prefix('-').unwrap_or(text);
    magnitude.starts_with("0x") || magnitude.starts_with("0X")
}

/// Returns the number of a fixed-point type that is nearest to a decimal, as its wire bits. Of two equally
/// near numbers it returns the larger; it returns nothing if the type has no fixed point, the text is no
/// decimal, or the number does not fit.
pub fn nearest(text: &str, ty: &Type) -> Option<String> {
    let &Type::Fixed { width, point, signed } = ty else { return None };
    let bits = fixed(text, width, point, signed, true).ok()?;
    let mut written = BITS.to_owned();
    write_bits(&bits, &mut written);
    Some(written)
}

/// The largest number of digits after the point.
const MAX_FRACTION: usize = 10_000;

/// Returns the bits of a decimal as a number of fixed point: exactly, or rounded to the nearest.
fn fixed(text: &str, width: u32, point: u32, signed: bool, rounds: bool) -> Result<Vec<bool>, String> {
    let (negative, magnitude) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let (whole, fraction) = magnitude.split_once('.').unwrap_or((magnitude, ""));
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if !is_number(whole) || !is_number(fraction) || (whole.is_empty() && fraction.is_empty()) {
        return Err("expected a decimal, such as 2.5 (no exponent), or \"0x…\"".into());
    }
    let fraction = fraction.trim_end_matches('0');
    let between = || {
        "the type cannot hold this number exactly; give --rounding to take the nearest number \
         that it can hold"
            .to_owned()
    };
    if fraction.len() > if rounds { MAX_FRACTION } else { point as usize } {
        return Err(between());
    }
    let too_large = || {
        let whole = i64::from(width) - i64::from(point) - i64::from(signed);
        let least = if signed { format!("-2^{whole}") } else { "0".into() };
        format!("the number does not fit; expected {least} to less than 2^{whole}")
    };
    // A digit has fewer than 4 bits.
    let digits = from_decimal(&format!("0{whole}{fraction}"), width + 4 * fraction.len() as u32);
    let Ok(mut limbs) = digits else { return Err(too_large()) };
    // The integer is 2^(point + 1) times the number, so its lowest bit is the first one that rounding
    // removes.
    let doubled = point as usize + 1;
    limbs.splice(0..0, std::iter::repeat_n(0, doubled / 64));
    multiply_add(&mut limbs, 1 << (doubled % 64), 0);
    let mut rest = false;
    for digits in fraction.as_bytes().chunks(DIGITS) {
        rest |= divide(&mut limbs, 10u64.pow(digits.len() as u32)) != 0;
    }
    let is_odd = limbs[0] & 1 == 1;
    if (rest || is_odd) && !rounds {
        return Err(between());
    }
    divide(&mut limbs, 2);
    // Of two equally near numbers, the larger is taken. So a half is rounded away from zero for a positive
    // number, and towards zero for a negative one.
    if is_odd && (!negative || rest) {
        multiply_add(&mut limbs, 1, 1);
    }
    let negative = negative && limbs.iter().any(|limb| *limb != 0);
    if !fits(&limbs, width, signed, negative) || (negative && !signed) {
        return Err(too_large());
    }
    Ok(bits_of(&mut limbs, width, negative).collect())
}

/// Decimal digits, and powers of 5, that 64 bits hold.
const DIGITS: usize = 19;
const FIVES: usize = 27;

fn multiply_add(limbs: &mut Vec<u64>, by: u64, add: u64) {
    let mut carry = u128::from(add);
    for limb in &mut *limbs {
        let wide = u128::from(*limb) * u128::from(by) + carry;
        *limb = wide as u64;
        carry = wide >> 64;
    }
    if carry != 0 {
        limbs.push(carry as u64);
    }
}

/// Divides; returns the remainder.
fn divide(limbs: &mut [u64], by: u64) -> u64 {
    limbs.iter_mut().rev().fold(0, |rest, limb| {
        let wide = u128::from(rest) << 64 | u128::from(*limb);
        *limb = (wide / u128::from(by)) as u64;
        (wide % u128::from(by)) as u64
    })
}

fn bit_length(limbs: &[u64]) -> u64 {
    match limbs.iter().rposition(|l| *l != 0) {
        Some(top) => top as u64 * 64 + u64::from(64 - limbs[top].leading_zeros()),
        None => 0,
    }
}

/// The reasons why a text does not give an integer of the width.
enum Digits {
    Invalid,
    TooLarge,
}

fn from_hex(digits: &str, width: u32) -> Result<Vec<u64>, Digits> {
    if digits.is_empty() || !digits.bytes().all(|d| d.is_ascii_hexdigit()) {
        return Err(Digits::Invalid);
    }
    let digits = digits.trim_start_matches('0').as_bytes();
    if digits.len() as u64 > u64::from(width).div_ceil(4) {
        return Err(Digits::TooLarge);
    }
    let nibble = |d: u8| u64::from((d as char).to_digit(16).expect("checked above"));
    let limbs: Vec<u64> =
        digits.rchunks(16).map(|chunk| chunk.iter().fold(0, |limb, &d| limb << 4 | nibble(d))).collect();
    Ok(if limbs.is_empty() { vec![0] } else { limbs })
}

fn from_decimal(digits: &str, width: u32) -> Result<Vec<u64>, Digits> {
    if digits.is_empty() || !digits.bytes().all(|d| d.is_ascii_digit()) {
        return Err(Digits::Invalid);
    }
    let digits = digits.trim_start_matches('0').as_bytes();
    // A digit has more than 3 bits; without this bound, refusing a long number would take quadratic time.
    if digits.len() as u64 > u64::from(width) / 3 + 2 {
        return Err(Digits::TooLarge);
    }
    let mut limbs = vec![0u64];
    let (head, tail) = digits.split_at(digits.len() % DIGITS);
    for chunk in std::iter::once(head).chain(tail.chunks(DIGITS)) {
        let (scale, value) = chunk.iter().fold((1, 0), |(s, v), &d| (s * 10, v * 10 + u64::from(d - b'0')));
        multiply_add(&mut limbs, scale, value);
    }
    Ok(limbs)
}

fn decode_type(ty: &Type, bits: &mut &[bool]) -> Value {
    match ty {
        Type::Uint(w) | Type::Int(w) => {
            let (own, rest) = bits.split_at(*w as usize);
            *bits = rest;
            decode_integer(own, matches!(ty, Type::Int(_)))
        }
        Type::Fixed { width, point, signed } => {
            let (own, rest) = bits.split_at(*width as usize);
            *bits = rest;
            decode_fixed(own, *point as usize, *signed)
        }
        Type::Array(element, n) => Value::Array((0..*n).map(|_| decode_type(element, bits)).collect()),
        Type::Struct(fields) => {
            Value::Object(fields.iter().map(|(name, ty)| (name.clone(), decode_type(ty, bits))).collect())
        }
    }
}

fn decode_integer(bits: &[bool], signed: bool) -> Value {
    let word = |bits: &[bool]| bits.iter().rev().fold(0u64, |word, &b| word << 1 | u64::from(b));
    if bits.len() > NUMBER_BITS {
        let digits =
            bits.chunks(4).rev().map(|nibble| char::from_digit(word(nibble) as u32, 16).expect("four bits"));
        return Value::String("0x".chars().chain(digits).collect());
    }
    let value = word(bits);
    Value::Number(match bits.last() {
        Some(true) if signed => Number::from(value as i64 - (1i64 << bits.len())),
        _ => Number::from(value),
    })
}

/// Writes a number of fixed point exactly: it has at most as many digits after the point as bits after the
/// binary point.
fn decode_fixed(bits: &[bool], point: usize, signed: bool) -> Value {
    let negative = signed && bits.last() == Some(&true);
    let mut limbs: Vec<u64> = bits
        .chunks(64)
        .map(|chunk| chunk.iter().rev().fold(0, |limb, &bit| limb << 1 | u64::from(bit != negative)))
        .collect();
    if negative {
        multiply_add(&mut limbs, 1, 1);
    }
    // n / 2^point is n * 5^point / 10^point.
    for done in (0..point).step_by(FIVES) {
        multiply_add(&mut limbs, 5u64.pow(FIVES.min(point - done) as u32), 0);
    }
    let mut groups = Vec::new();
    while limbs.iter().any(|limb| *limb != 0) || DIGITS * groups.len() <= point {
        groups.push(format!("{:019}", divide(&mut limbs, 10u64.pow(DIGITS as u32))));
    }
    let digits: String = groups.into_iter().rev().collect();
    let (whole, fraction) = digits.split_at(digits.len() - point);
    let (whole, fraction) = (whole.trim_start_matches('0'), fraction.trim_end_matches('0'));
    let text = format!(
        "{}{}{}{fraction}",
        if negative { "-" } else { "" },
        if whole.is_empty() { "0" } else { whole },
        if fraction.is_empty() { "" } else { "." },
    );
    match text.parse() {
        Ok(number) if bits.len() <= NUMBER_BITS => Value::Number(number),
        _ => Value::String(text),
    }
}
