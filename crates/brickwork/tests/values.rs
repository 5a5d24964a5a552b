//! Inputs and outputs as Rust types have the same bits as their JSON forms. A value that does not fit is
//! refused by its name, and the message does not show it.

use brickwork::circuit::{Party, Port, Type, value};
use brickwork::reading::{self, GivenValue, ReadingOptions};
use brickwork::{ErrorKind, Inputs, Outputs, Program, Value};
use proptest::prelude::*;
use serde_json::json;

fn port(name: &str, ty: Type) -> Port {
    Port::new(name, ty)
}

fn row() -> Type {
    Type::Struct(vec![("key".into(), Type::Uint(17)), ("amount".into(), Type::Int(40))])
}

fn encoded(ports: &[Port], inputs: &Inputs) -> Result<Vec<bool>, String> {
    inputs.encode(ports).map(|bits| bits.to_vec()).map_err(|error| error.to_string())
}

proptest! {
    /// Integers of all widths: the same bits as in JSON, or refused as there, and read back as they were.
    #[test]
    fn integers_are_those_of_json(
        number in any::<i128>(), shift in 0..128u32, width in 1..130u32, signed: bool,
    ) {
        let number = number >> shift;
        let ty = if signed { Type::Int(width) } else { Type::Uint(width) };
        let ports = [port("x", ty)];
        let expected = value::encode(&ports, &json!(number.to_string())).map_err(|_| ());
        let bits = encoded(&ports, &Inputs::from(("x", number)));
        prop_assert_eq!(bits.clone().map_err(|_| ()), expected);
        if let Ok(bits) = bits {
            prop_assert_eq!(Outputs::decode(&ports, &bits).get::<i128>("x").unwrap(), number);
        }
    }

    /// A table is the same whether it comes as records, as columns, or as columns of bytes.
    #[test]
    fn tables_are_those_of_json(
        rows in proptest::collection::vec((0..1u32 << 17, -1i64 << 39..1i64 << 39), 1..9),
    ) {
        let ports = [port("rows", Type::Array(Box::new(row()), rows.len() as u32))];
        let row = |(key, amount): &(u32, i64)| json!({ "key": key, "amount": amount });
        let json = json!(rows.iter().map(row).collect::<Vec<_>>());
        let expected = value::encode(&ports, &json).unwrap();
        let records = rows.iter().map(|&(key, amount)| {
            Value::record([("amount", Value::from(amount)), ("key", Value::from(key))])
        });
        let keys: Vec<u32> = rows.iter().map(|row| row.0).collect();
        let amounts: Vec<i64> = rows.iter().map(|row| row.1).collect();
        let bytes = amounts.iter().flat_map(|amount| amount.to_le_bytes()).collect::<Vec<u8>>();
        let columns = [("key", Value::from(keys)), ("amount", Value::column(&bytes, 8, true).unwrap())];
        for value in [Value::from(records.collect::<Vec<_>>()), Value::record(columns)] {
            prop_assert_eq!(encoded(&ports, &Inputs::from(("rows", value))).unwrap(), expected.clone());
        }
        let outputs = Outputs::decode(&ports, &expected);
        let read = outputs.value("rows").unwrap().elements().unwrap();
        for (row, &(key, amount)) in read.iter().zip(&rows) {
            prop_assert_eq!(u32::try_from(row.field("key").unwrap().clone()).unwrap(), key);
            prop_assert_eq!(i64::try_from(row.field("amount").unwrap().clone()).unwrap(), amount);
        }
    }
}

/// Wide integers, single bits and raw bits go in and out.
#[test]
fn other_forms_go_in_and_out() {
    let ports = [port("wide", Type::Uint(256)), port("bit", Type::Uint(1)), port("raw", row())];
    let bytes: [u8; 32] = std::array::from_fn(|k| k as u8 + 1);
    let raw: Vec<bool> = (0..57).map(|k| k % 3 == 0).collect();
    let inputs =
        Inputs::new().set("wide", Value::wide(&bytes)).set("bit", true).set("raw", Value::bits(&raw));
    let bits = encoded(&ports, &inputs).unwrap();
    let wide = (0..256).map(|k| bytes[k / 8] >> (k % 8) & 1 == 1);
    assert!(bits.iter().copied().eq(wide.chain([true]).chain(raw)));
    let outputs = Outputs::decode(&ports, &bits);
    assert!(outputs.get::<bool>("bit").unwrap() && outputs.names().eq(["wide", "bit", "raw"]));
    let [wide, missing] = [outputs.get::<u128>("wide").err(), outputs.get::<u8>("missing").err()];
    assert!(wide.is_some_and(|error| error.kind() == ErrorKind::Usage));
    assert!(missing.is_some_and(|error| error.message().contains("wide, bit, raw")));
}

/// A value that does not fit is refused with its place and its type, and never repeated.
#[test]
fn misfits_are_named() {
    let ports = [port("rows", Type::Array(Box::new(row()), 2)), port("limit", Type::Uint(8))];
    let rows = |key: u32| vec![Value::record([("key", Value::from(key)), ("amount", Value::from(1u8))]); 2];
    let good = Inputs::new().set("rows", rows(1)).set("limit", 2u8);
    assert!(encoded(&ports, &good).is_ok());
    for (inputs, place) in [
        (good.clone().set("limit", 424_242u32), "limit: the number does not fit uint8"),
        (good.clone().set("limit", -1i32), "limit: the number does not fit uint8"),
        (good.clone().set("rows", rows(424_242)), "rows[0].key: the number does not fit uint17"),
        (good.clone().set("rows", vec![1u8]), "rows: expected"),
        (good.clone().set("rows", Value::record([("key", vec![1u8, 2])])), "rows[0]: the field amount"),
        (good.clone().set("rows", Value::record([("keys", vec![1u8, 2])])), "rows[0]: the type"),
        (good.clone().set("more", 1u8), "no input \"more\" of this party; its inputs are: rows, limit"),
        (Inputs::from(("limit", 1u8)), "the input rows"),
    ] {
        let why = encoded(&ports, &inputs).unwrap_err();
        assert!(why.contains(place) && !why.contains("424"), "{why}");
        assert!(!format!("{inputs:?}").contains("424"));
    }
    assert!(Value::column(&[0; 7], 2, false).is_err() && Value::column(&[0; 6], 3, false).is_err());
}

/// A table must keep the rules of its port in every form: as JSON, as the bits of its wires, in a step of a
/// session, and as values of Rust.
#[test]
fn every_form_of_a_value_keeps_the_rules_of_its_port() {
    let program = Program::from_source(
        "keys.wir",
        "#parties 2\ntypedef uint_t 8 u8\ntypedef struct_t row { u8 key; }\n\
         typedef struct_t rows { row at[2]; }\n\
         /*@ sorted at.key */ #input 1 rows\n#input 2 u8\n#output 1 u8\n\
         function void main() { output1 = input1.at[0].key + input2; }",
    )
    .unwrap();
    let reading = ReadingOptions::default();
    for (keys, is_good) in [([3u8, 4], true), ([4, 3], false)] {
        let given: Vec<bool> =
            keys.iter().flat_map(|key| (0..8).map(move |bit| key >> bit & 1 == 1)).collect();
        let table = json!({ "at": keys.map(|key| json!({ "key": key })) });
        let (text, ports) = (table.to_string(), program.inputs(Party::Garbler));
        for (form, given) in [("JSON", GivenValue::Text(&text)), ("bits", GivenValue::Bits(&given))] {
            let one = reading::bits(given, program.given(), Party::Garbler, None, &reading).map(drop);
            let both = [given, GivenValue::Text("5")];
            let both = reading::bits_of_both(both, program.given(), None, &reading).map(drop);
            let step = reading::step_bits(given, ports, Party::Garbler, &reading).map(drop);
            for read in [one, both, step] {
                assert_eq!(read.is_ok(), is_good, "{form}: {keys:?}");
                assert!(read.err().is_none_or(|error| error.message().contains("key")), "{form}");
            }
        }
        let rows = keys.map(|key| Value::record([("key", key)]));
        let inputs = Inputs::new().set("input1", Value::record([("at", rows)]));
        assert_eq!(inputs.encode(ports).is_ok(), is_good, "Rust: {keys:?}");
    }
    let twice: Vec<bool> =
        [3u8, 4, 4, 3].iter().flat_map(|key| (0..8).map(move |bit| key >> bit & 1 == 1)).collect();
    let read = reading::bits(GivenValue::Bits(&twice), program.given(), Party::Garbler, Some(2), &reading);
    assert!(read.is_err(), "the second execution");
}

/// The mask of a shared output is drawn in every form of a value, and no form can give it.
#[test]
fn nobody_gives_a_mask() {
    let program = Program::from_source(
        "shared.wir",
        "#parties 2\ntypedef struct_t pair { uint_t 8 x; }\n#input 1 pair\n#input 2 pair\n\
         #shared output child uint_t 8\n\
         function void main() { child = input1.x + input2.x; }",
    )
    .unwrap();
    let (garbler, reading) = (Party::Garbler, ReadingOptions::default());
    let five: Vec<bool> = (0..8).map(|bit| 5 >> bit & 1 == 1).collect();
    for given in [GivenValue::Text("{\"x\": 5}"), GivenValue::Bits(&five), GivenValue::Text("bits:10100000")]
    {
        let read = || reading::bits(given, program.given(), garbler, None, &reading).unwrap().to_vec();
        let reads: Vec<Vec<bool>> = (0..40).map(|_| read()).collect();
        assert!(reads.iter().all(|bits| bits.len() == 16 && bits[..8] == five));
        assert!(reads.iter().any(|bits| bits[8..] != reads[0][8..]));
    }
    let (zeros, text) = ([false; 16], format!("bits:{}", "0".repeat(16)));
    for given in [GivenValue::Bits(&zeros), GivenValue::Text(&text)] {
        assert!(reading::bits(given, program.given(), garbler, None, &reading).is_err());
    }
    let ports = serde_json::to_string(&program.ports()).unwrap();
    assert!(ports.contains("input1") && !ports.contains("mask"), "{ports}");
    let apart = program.given().apart().unwrap();
    assert!(apart.draws() && apart.input_ports(garbler).len() == 2);
}
