//! Tests the JSON form of values.

use brickwork::circuit::{Port, Type, value};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::random;

fn one(ty: Type) -> Vec<Port> {
    vec![Port::new("v", ty)]
}

fn bits(ty: &Type, text: &str) -> Result<String, String> {
    let value = value::parse(text).map_err(|e| e.to_string())?;
    let bits = value::encode(&one(ty.clone()), &value).map_err(|e| e.to_string())?;
    Ok(bits.iter().map(|&b| if b { '1' } else { '0' }).collect())
}

proptest! {
    #[test]
    fn outputs_are_inputs(ports in random::ports(0..4), seed: u64) {
        let width = ports.iter().map(|p| p.width() as usize).sum();
        let bits = random::bits(width, seed);
        let value = value::decode(&ports, &bits);
        prop_assert_eq!(value::encode(&ports, &value).unwrap(), &bits[..]);
        // The value is still the same after it was written as text and read again.
        let value = value::parse(&value.to_string()).unwrap();
        prop_assert_eq!(value::encode(&ports, &value).unwrap(), &bits[..]);
        if width > 0 {
            let raw: String = bits.iter().map(|&b| if b { '1' } else { '0' }).collect();
            let raw = value::parse(&format!("bits:{raw}")).unwrap();
            prop_assert_eq!(value::encode(&ports, &raw).unwrap(), bits);
        }
    }

    #[test]
    fn integers_are_what_rust_says(x: u128, width in 1u32..=128) {
        let x = x >> (128 - width);
        let digit = |x: u128, i: u64| if x >> i & 1 == 1 { '1' } else { '0' };
        let binary = |x: u128| (0..width).map(|i| digit(x, i.into())).collect::<String>();
        let unsigned = Type::Uint(width);
        for text in [format!("{x}"), format!("\"{x}\""), format!("\u{feff}{x:#x}"), format!("\"{x:#X}\"")] {
            prop_assert_eq!(bits(&unsigned, &text).unwrap(), binary(x));
        }
        let signed = (x as i128) << (128 - width) >> (128 - width);
        prop_assert_eq!(bits(&Type::Int(width), &format!("{signed}")).unwrap(), binary(x));
        prop_assert_eq!(bits(&Type::Int(width), &format!("{x:#x}")).unwrap(), binary(x));
        if width < 128 {
            let (over, under) = (1u128 << width, -(1i128 << (width - 1)) - 1);
            for (ty, text) in [
                (&unsigned, format!("{}", over + x)),
                (&unsigned, format!("{:#x}", over + x)),
                (&Type::Int(width), format!("{under}")),
                (&Type::Int(width), format!("{}", over / 2)),
            ] {
                let message = bits(ty, &text).unwrap_err();
                prop_assert!(message.contains("does not fit"));
            }
        }
    }
}

#[test]
fn notations() {
    let byte = Type::Uint(8);
    assert_eq!(bits(&byte, "6").unwrap(), "01100000");
    assert_eq!(bits(&byte, " 0x06\n").unwrap(), "01100000");
    assert_eq!(bits(&byte, "bits:01100000").unwrap(), "01100000");
    assert_eq!(bits(&Type::Int(4), "-8").unwrap(), "0001");
    assert_eq!(bits(&Type::Int(4), "-0x1").unwrap(), "1111");
    assert_eq!(bits(&Type::Int(1), "-1").unwrap(), "1");
    let pair =
        Type::Struct(vec![("b".into(), Type::Uint(2)), ("a".into(), Type::Array(Box::new(Type::Int(2)), 2))]);
    assert_eq!(bits(&pair, r#"{"a": [1, "-0x2"], "b": "0x2"}"#).unwrap(), "011001");
    assert_eq!(bits(&pair, r#"{"a": "bits:1001", "b": 2}"#).unwrap(), "011001");
    assert_eq!(value::decode(&one(Type::Uint(54)), &[true; 54]), json!("0x3fffffffffffff"));
    assert_eq!(value::decode(&one(Type::Uint(54)), &[false; 54]), json!("0x00000000000000"));
    assert_eq!(value::decode(&one(Type::Uint(53)), &[true; 53]).to_string(), "9007199254740991");
    assert_eq!(value::decode(&one(Type::Int(53)), &[true; 53]).to_string(), "-1");
    assert!(value::encode(&[], &Value::Null).unwrap().is_empty());
}

#[test]
fn messages_name_the_place_and_what_is_expected() {
    let byte = Type::Uint(8);
    let pair =
        Type::Struct(vec![("x".into(), byte.clone()), ("y".into(), Type::Array(Box::new(Type::Int(4)), 2))]);
    for (ty, text, expected) in [
        (&byte, "256", "v (uint8): the number does not fit; expected 0 to 255"),
        (&byte, "-1", "v (uint8): a negative number does not fit an unsigned integer"),
        (&byte, "1.5", "expected an integer"),
        (&byte, "1e2", "expected an integer"),
        (&byte, "\"\"", "expected an integer"),
        (&byte, "0x", "expected an integer"),
        (&byte, "\"12 \"", "expected an integer"),
        (&byte, "--5", "not JSON"),
        (&byte, "true", "not true or false"),
        (&byte, "[1]", "not an array"),
        (&byte, "bits:0101", "expected 8 wire bits after \"bits:\", wire 0 first, not 4"),
        (&byte, "bits:0101010x", "must be 0 or 1"),
        (&pair, "7", "expected an object with the names of the fields, not a number"),
        (&pair, r#"{"x": 1}"#, "y (int4[2]) is missing"),
        (&pair, r#"{"x": 1, "y": [1, 2], "z": 3}"#, "has a field that the program does not know"),
        (&pair, r#"{"x": 1, "y": [1]}"#, "v.y (int4[2]): expected 2 elements, not 1"),
        (&pair, r#"{"x": 1, "y": [1, 8]}"#, "v.y[1] (int4): the number does not fit; expected -8 to 7"),
        (&Type::Uint(100), "-1", "v (uint100): a negative number"),
        (&Type::Int(100), "0x1ffffffffffffffffffffffffff", "expected -2^99 to 2^99 - 1"),
        (&byte, "{\"secret", "not JSON"),
        (&pair, r#"{"x": 1, "y": [1, 2], "x": 3}"#, "contains the same name twice (line 1, column"),
        (&pair, r#"[[{"x": -1.5e3, "x": 3}]]"#, "contains the same name twice"),
    ] {
        let message = bits(ty, text).unwrap_err();
        assert!(message.contains(expected), "{text}: {message:?} should say {expected:?}");
        assert!(!message.contains("secret"));
    }
    let ports = [Port::new("a", byte.clone()), Port::new("b", byte)];
    for (value, expected) in [
        (json!(1), "the value: expected an object with the inputs a, b, not a number"),
        (json!(null), "expected an object with the inputs a, b, not nothing"),
        (json!({"a": 1}), "b (uint8) is missing"),
        (json!({"a": 1, "b": 999}), "b (uint8): the number does not fit"),
    ] {
        let message = value::encode(&ports, &value).unwrap_err().to_string();
        assert!(message.contains(expected), "{message:?} should say {expected:?}");
    }
    assert!(value::encode(&[], &json!(1)).unwrap_err().to_string().contains("no input"));
    let message = value::encode_executions(&ports, 2, &json!([{"a": 1, "b": 2}, {"a": 1, "b": 256}]))
        .unwrap_err()
        .to_string();
    assert!(message.contains("execution 1: b (uint8)"), "{message}");
    assert!(
        value::encode_executions(&ports, 3, &json!([1]))
            .unwrap_err()
            .to_string()
            .contains("array of 3 values")
    );
}

fn fixed(width: u32, point: u32, signed: bool) -> Type {
    Type::Fixed { width, point, signed }
}

#[test]
fn numbers_of_fixed_point() {
    let price = fixed(16, 8, true);
    for (text, written) in [
        ("2.5", "2.5"),
        ("-2.50", "-2.5"),
        ("\"7\"", "7"),
        (".25", "0.25"),
        ("\"-128\"", "-128"),
        ("127.99609375", "127.99609375"),
        ("-0.0", "0"),
        // Callers can give the integer that the wires hold instead of the number.
        ("0x280", "2.5"),
        ("\"-0x280\"", "-2.5"),
    ] {
        let text = if text.starts_with('.') { format!("\"{text}\"") } else { text.to_owned() };
        let bits = bits(&price, &text).unwrap();
        let bits: Vec<bool> = bits.bytes().map(|bit| bit == b'1').collect();
        assert_eq!(value::decode(&one(price.clone()), &bits).to_string(), written, "{text}");
    }
    // A number of more than 53 bits is written as a string, because JSON parsers may round numbers.
    let wide = fixed(64, 63, false);
    assert_eq!(value::decode(&one(wide.clone()), &[true; 64]), json!(ALL_ONES));
    for (ty, text, expected) in [
        (&price, "0.1", "v (fixed16.8): the type cannot hold this number exactly; give --rounding"),
        (&price, "0.001953125", "cannot hold this number exactly"),
        (&price, "128", "the number does not fit; expected -2^7 to less than 2^7"),
        (&price, "-128.00390625", "the number does not fit"),
        (&fixed(8, 8, true), "0.5", "expected -2^-1 to less than 2^-1"),
        (&fixed(8, 8, false), "-0.5", "expected 0 to less than 2^0"),
        (&price, "1e2", "expected a decimal, such as 2.5"),
        (&price, "\"1,5\"", "expected a decimal"),
        (&price, "\".\"", "expected a decimal"),
        (&price, "0x10000", "the number does not fit"),
        (&price, "true", "expected a number, such as 2.5, not true or false"),
    ] {
        let message = bits(ty, text).unwrap_err();
        assert!(message.contains(expected), "{text}: {message:?} should say {expected:?}");
    }
    assert!(bits(&price, &"9".repeat(20_000_000)).unwrap_err().contains("does not fit"));
    assert!(
        bits(&price, &format!("0.{}", "9".repeat(20_000_000)))
            .unwrap_err()
            .contains("cannot hold this number exactly")
    );
    for (point, width) in [(0, 8), (9, 8)] {
        let ports = one(fixed(width, point, false));
        assert!(brickwork::circuit::ProgramBuilder::new("p", ports, vec![]).is_err());
    }
}

/// The decimal form of 2 - 2^-63, with all digits.
const ALL_ONES: &str = "1.999999999999999999891579782751449556599254719913005828857421875";

#[test]
fn the_nearest_number_of_fixed_point() {
    let price = fixed(16, 8, true);
    for (text, integer) in [
        ("0.1", 26),
        ("-0.1", -26),
        // Numbers halfway between two values are rounded up, also below zero.
        ("0.001953125", 1),
        ("-0.001953125", 0),
        ("-0.0058593750", -1),
        ("-0.00585937500000000000000000000000000000001", -2),
        ("0.00000000000000000000000000000000000000001", 0),
        ("127.997", 32767),
        ("5", 1280),
    ] {
        let bits: String = (0..16).map(|bit| if integer >> bit & 1 == 1 { '1' } else { '0' }).collect();
        assert_eq!(value::nearest(text, &price), Some(format!("bits:{bits}")), "{text}");
    }
    // The cases are a number that is too large after rounding, texts that are not decimals, and a type
    // without a binary point.
    for (text, ty) in [("127.999", &price), ("0x10", &price), ("", &price), ("1", &Type::Int(8))] {
        assert_eq!(value::nearest(text, ty), None, "{text}");
    }
}

#[test]
fn wide_integers() {
    let width = 300_000;
    let ty = Type::Uint(width);
    let set = random::bits(width as usize, 9);
    let hex = value::decode(&one(ty.clone()), &set);
    assert_eq!(value::encode(&one(ty.clone()), &hex).unwrap(), set);
    // In decimal, 10^90000 and 10^90000 + 1 differ only in bit 0.
    let even = bits(&ty, &format!("1{}", "0".repeat(90_000))).unwrap();
    let odd = bits(&ty, &format!("1{}1", "0".repeat(89_999))).unwrap();
    assert_eq!(odd.strip_prefix('1'), even.strip_prefix('0'));
    assert_eq!(even.find('1'), Some(90_000));
    // A number with too many digits is refused before it is converted.
    assert!(bits(&Type::Uint(64), &"9".repeat(20_000_000)).unwrap_err().contains("does not fit"));
}
