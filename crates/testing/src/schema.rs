//! Checks the output of `--json` against `docs/reference/cli.schema.json`.

use std::sync::OnceLock;

use serde_json::Value;

/// Returns the schema of the command's output.
///
/// # Panics
/// If the schema does not exist or is no JSON.
pub fn of_the_command() -> &'static Value {
    static SCHEMA: OnceLock<Value> = OnceLock::new();
    SCHEMA.get_or_init(|| {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/cli.schema.json");
        serde_json::from_str(&std::fs::read_to_string(path).expect("a page")).expect("the schema is JSON")
    })
}

/// Asserts that the output of a command agrees with the schema.
///
/// # Panics
/// If it does not agree.
pub fn holds(schema: &Value, name: &str, printed: &Value) {
    let part = &schema["$defs"][name];
    assert!(part.is_object(), "docs/reference/cli.schema.json does not know {name}");
    if let Err(why) = check(schema, part, printed, name) {
        panic!("docs/reference/cli.schema.json, and with it docs/reference/json.md, says otherwise: {why}");
    }
}

/// Checks a value. It supports only the part of JSON Schema that the file uses; `all` has the definitions,
/// and `at` is the place of the value.
///
/// # Errors
/// The place that does not fit, and the reason.
///
/// # Panics
/// If the schema has a keyword beyond that part, because the keyword would not be checked.
pub fn check(all: &Value, schema: &Value, value: &Value, at: &str) -> Result<(), String> {
    let fail = |why: String| Err(format!("{at}: {why}"));
    for (keyword, says) in schema.as_object().expect("a schema is an object") {
        match (keyword.as_str(), value) {
            ("$ref", _) => {
                let name =
                    says.as_str().and_then(|path| path.strip_prefix("#/$defs/")).expect("a definition");
                check(all, all["$defs"].get(name).expect(name), value, at)?;
            }
            ("anyOf", _) => {
                let tried =
                    says.as_array().expect("schemas").iter().map(|schema| check(all, schema, value, at));
                let failures: Vec<String> = tried.clone().filter_map(Result::err).collect();
                if failures.len() == tried.count() {
                    return fail(format!("none of these: {}", failures.join("; ")));
                }
            }
            ("type", _) => {
                let is = |ty: &Value| match ty.as_str().expect("a type") {
                    "null" => value.is_null(),
                    "boolean" => value.is_boolean(),
                    "integer" => value.is_u64() || value.is_i64(),
                    "number" => value.is_number(),
                    "string" => value.is_string(),
                    "array" => value.is_array(),
                    "object" => value.is_object(),
                    other => panic!("{other} is no type"),
                };
                if !says.as_array().map_or_else(|| is(says), |types| types.iter().any(is)) {
                    return fail(format!("{value} is not of type {says}"));
                }
            }
            ("enum", _) => {
                if !says.as_array().expect("values").contains(value) {
                    return fail(format!("{value} is none of {says}"));
                }
            }
            ("required", Value::Object(fields)) => {
                let mut names = says.as_array().expect("names").iter().filter_map(Value::as_str);
                if let Some(name) = names.find(|name| !fields.contains_key(*name)) {
                    return fail(format!("{name} is missing"));
                }
            }
            ("properties", Value::Object(fields)) => {
                assert_eq!(schema["additionalProperties"], false, "{at}: it would let others through");
                for (name, value) in fields {
                    match says.get(name) {
                        Some(schema) => check(all, schema, value, &format!("{at}.{name}"))?,
                        None => return fail(format!("there is a field {name}, which is not described")),
                    }
                }
            }
            ("items", Value::Array(values)) => {
                for (index, value) in values.iter().enumerate() {
                    check(all, says, value, &format!("{at}[{index}]"))?;
                }
            }
            // The remaining fields of an object, whose names are not described, have one type.
            ("additionalProperties", Value::Object(fields)) if says.is_object() => {
                assert!(schema.get("properties").is_none(), "{at}: some are described, and others not");
                for (name, value) in fields {
                    check(all, says, value, &format!("{at}.{name}"))?;
                }
            }
            // Descriptions are for people.
            ("description", _) => {}
            // These keywords are checked under `properties`, or under `type` for values of other types.
            ("additionalProperties" | "required" | "properties" | "items", _) => {}
            (other, _) => panic!("the keyword {other} is not checked"),
        }
    }
    Ok(())
}
