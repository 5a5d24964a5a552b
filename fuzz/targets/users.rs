//! What users write: tables, lists of components, keys.
//!
//! Used by the fuzz targets and, with the seeds, by the tests.
#![allow(dead_code)]

use brickwork::circuit::{Port, Type, value};
use brickwork::stock::StoreKey;
use brickwork::wire::tls::{Identity, PublicKey};
use brickwork_cli::parsers;

/// A table of any text, for rows of several types: it has the bits of as many rows, or is refused.
pub fn table(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let field = |name: &str, ty| (name.to_string(), ty);
    let person = Type::Struct(vec![field("id", Type::Uint(16)), field("balance", Type::Int(12))]);
    let nested = Type::Struct(vec![field("axis", Type::Array(Box::new(Type::Uint(8)), 2)), field("of", person.clone())]);
    for row in [Type::Uint(9), person, nested] {
        let Some((bits, count)) = parsers::table(text, &row, 3) else { continue };
        assert!(count <= 3);
        let port = [Port::new("input", Type::Array(Box::new(row), 3))];
        let encoded = value::encode(&port, &bits).expect("a table is a value");
        assert_eq!(encoded.len() as u64, port[0].width());
    }
}

/// A list of components, and one of them as an argument.
pub fn list(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    for (file, name, count) in parsers::list(text).unwrap_or_default() {
        // What a list says can also be said by an argument, unless it holds what separates its parts.
        let argument = name.as_ref().map_or(format!("{file}={count}"), |name| format!("{file}:{name}={count}"));
        let plain = |text: &str| !text.is_empty() && !text.contains([':', '=']);
        if plain(&file) && name.as_deref().is_none_or(plain) {
            assert_eq!(parsers::argument(&argument), Some((file, name, count)));
        }
    }
    parsers::argument(text);
}

/// Private keys, public keys, store keys.
pub fn keys(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    if let Ok(identity) = Identity::from_pem(text) {
        let public = identity.public_key();
        assert_eq!(public.to_string().parse::<PublicKey>().expect("what is shown is understood"), public);
    }
    if let Ok(public) = text.parse::<PublicKey>() {
        assert_eq!(public.to_string().parse::<PublicKey>().expect("what is shown is understood"), public);
    }
    let digits = text.trim();
    assert_eq!(StoreKey::from_hex(text).is_ok(), digits.len() == 64 && digits.bytes().all(|b| b.is_ascii_hexdigit()));
}
