//! Texts from users: values, tables, lists of components, keys.
//!
//! The fuzz targets use this module, and so do the tests, with the seeds.
#![allow(dead_code)]

use brickwork::circuit::{Port, Type, value};
use brickwork::disk::StoreKey;
use brickwork::reading;
use brickwork::wire::tls::{Identity, PublicKey};
use brickwork_cli::parsers;

/// Reads a value or a table, as the first byte selects.
pub fn value(data: &[u8]) {
    match text(data) {
        Some((false, text)) => json(text),
        Some((true, text)) => table(text),
        None => {}
    }
}

/// Reads a list or a key, as the first byte selects.
pub fn list(data: &[u8]) {
    match text(data) {
        Some((false, text)) => components(text),
        Some((true, text)) => keys(text),
        None => {}
    }
}

/// Returns a text, and which of two kinds it belongs to.
fn text(data: &[u8]) -> Option<(bool, &str)> {
    let (what, text) = data.split_first()?;
    Some((what & 1 == 1, std::str::from_utf8(text).ok()?))
}

/// Ports of every kind of type.
fn ports() -> [Vec<Port>; 3] {
    let field = |name: &str, ty| (name.to_string(), ty);
    let record =
        Type::Struct(vec![field("a", Type::Int(9)), field("b", Type::Array(Box::new(Type::Uint(3)), 4))]);
    [
        vec![Port::new("x", Type::Uint(64))],
        vec![Port::new("x", Type::Int(130)), Port::new("y", Type::Array(Box::new(record), 2))],
        Vec::new(),
    ]
}

/// A value as a user writes it, for ports of several types: an accepted value has the same meaning after it
/// was written out.
fn json(text: &str) {
    let Ok(parsed) = value::parse(text) else { return };
    for ports in ports() {
        let _ = value::encode_executions(&ports, 2, &parsed);
        let Ok(bits) = value::encode(&ports, &parsed) else { continue };
        assert_eq!(bits.len() as u64, ports.iter().map(Port::width).sum::<u64>());
        let shown = value::decode(&ports, &bits);
        assert_eq!(value::encode(&ports, &shown).expect("an output is an input"), bits);
        let reparsed = value::parse(&shown.to_string()).expect("what is shown is understood");
        assert_eq!(value::encode(&ports, &reparsed).expect("what is shown fits"), bits);
    }
}

/// A table in any text, for rows of several types: it has the bits of its rows, or is refused.
fn table(text: &str) {
    let field = |name: &str, ty| (name.to_string(), ty);
    let person = Type::Struct(vec![field("id", Type::Uint(16)), field("balance", Type::Int(12))]);
    let nested = Type::Struct(vec![
        field("axis", Type::Array(Box::new(Type::Uint(8)), 2)),
        field("of", person.clone()),
    ]);
    for row in [Type::Uint(9), person, nested] {
        let Ok((bits, count)) = reading::table_up_to(text, &row, 3) else { continue };
        assert!(count <= 3);
        let port = [Port::new("input", Type::Array(Box::new(row), 3))];
        let encoded = value::encode(&port, &bits).expect("a table is a value");
        assert_eq!(encoded.len() as u64, port[0].width());
    }
}

/// A list of components, and one of them as an argument.
fn components(text: &str) {
    for (file, name, count) in parsers::list(text).unwrap_or_default() {
        // An argument can express the same as a list, unless a name contains a separator.
        let argument =
            name.as_ref().map_or(format!("{file}={count}"), |name| format!("{file}:{name}={count}"));
        let plain = |text: &str| !text.is_empty() && !text.contains([':', '=']);
        if plain(&file) && name.as_deref().is_none_or(plain) {
            assert_eq!(parsers::argument(&argument), Some((file, name, count)));
        }
    }
    parsers::argument(text);
}

/// Private keys, public keys, store keys.
fn keys(text: &str) {
    if let Ok(identity) = Identity::from_pem(text) {
        let public = identity.public_key();
        assert_eq!(public.to_string().parse::<PublicKey>().expect("what is shown is understood"), public);
    }
    if let Ok(public) = text.parse::<PublicKey>() {
        assert_eq!(public.to_string().parse::<PublicKey>().expect("what is shown is understood"), public);
    }
    let digits = text.trim();
    assert_eq!(
        StoreKey::from_hex(text).is_ok(),
        digits.len() == 64 && digits.bytes().all(|b| b.is_ascii_hexdigit())
    );
}
