//! Rules that a party's own values must keep, as the program says: they are checked before the values leave
//! the party.
//!
//! A program that joins tables, for example, gives wrong sums if a key is there twice. The party that has the
//! table can see that by itself, so it need not find it out from a wrong result.

use std::cmp::Ordering;

use super::{RowOrder, Rule, Type};
use brickwork_base::Error;

/// The place of the values that a rule is about.
struct Column<'t> {
    /// The first wire of row 0.
    first: usize,
    /// Wires from a row to the next one.
    stride: usize,
    rows: usize,
    ty: &'t Type,
    /// The wires of the number of rows, if there is one.
    count: Option<std::ops::Range<usize>>,
}

impl Column<'_> {
    fn of<'t>(ty: &'t Type, first: usize, name: &str, field: &str) -> Option<Column<'t>> {
        match ty {
            Type::Array(element, rows) => {
                let (stride, rows) = (element.width() as usize, *rows as usize);
                let (offset, ty) = match &**element {
                    Type::Struct(fields) => place(fields, |of| of == field)?,
                    element => (0, Some(element).filter(|_| name == field)?),
                };
                ty.is_number().then_some(Column { first: first + offset, stride, rows, ty, count: None })
            }
            Type::Struct(fields) => {
                let mut offset = first;
                fields.iter().find_map(|(name, ty)| {
                    let found = Column::of(ty, offset, name, field);
                    offset += ty.width() as usize;
                    let count =
                        place(fields, |of| of == "count").filter(|(_, ty)| matches!(ty, Type::Uint(_)));
                    let wires =
                        |(offset, ty): (usize, &Type)| first + offset..first + offset + ty.width() as usize;
                    found.map(|found| Column { count: found.count.clone().or(count.map(wires)), ..found })
                })
            }
            Type::Uint(_) | Type::Int(_) | Type::Fixed { .. } => None,
        }
    }

    fn compare(&self, bits: &[bool], a: usize, b: usize) -> Ordering {
        let [a, b] = [a, b].map(|row| {
            let first = self.first + row * self.stride;
            &bits[first..first + self.ty.width() as usize]
        });
        // The sign of a negative number is 1.
        let signs = a.last().cmp(&b.last());
        match self.ty {
            Type::Int(_) | Type::Fixed { signed: true, .. } if signs != Ordering::Equal => signs.reverse(),
            _ => a.iter().rev().cmp(b.iter().rev()),
        }
    }
}

/// Returns the field of this name and its first wire.
fn place(fields: &[(String, Type)], is: impl Fn(&str) -> bool) -> Option<(usize, &Type)> {
    let mut first = 0;
    fields.iter().find_map(|(name, ty)| {
        let offset = first;
        first += ty.width() as usize;
        is(name).then_some((offset, ty))
    })
}

impl Rule {
    /// Returns whether a value of this type, in a port of this name, has a field that the rule can be about.
    pub fn fits(&self, ty: &Type, name: &str) -> bool {
        Column::of(ty, 0, name, &self.field).is_some()
    }

    /// Checks a value.
    ///
    /// # Errors
    /// [`Error::Input`] if two of its rows break the rule. The message has their numbers, counted from 1, and
    /// no value.
    pub(super) fn check(&self, ty: &Type, name: &str, bits: &[bool]) -> Result<(), Error> {
        let Some(column) = Column::of(ty, 0, name, &self.field) else { return Ok(()) };
        let counted = column.count.clone().map_or(column.rows, |wires| {
            wires.rev().fold(0usize, |n, wire| n.saturating_mul(2).saturating_add(bits[wire].into()))
        });
        let mut rows: Vec<usize> = (0..counted.min(column.rows)).collect();
        if self.order == RowOrder::Unique {
            rows.sort_by(|a, b| column.compare(bits, *a, *b).then(a.cmp(b)));
        }
        let pairs = rows.windows(2).map(|pair| [pair[0], pair[1]]);
        let broken = |[a, b]: &[usize; 2]| column.compare(bits, *a, *b) != Ordering::Less;
        let Some([a, b]) = pairs.filter(broken).min() else { return Ok(()) };
        let (a, b, field) = (a + 1, b + 1, &self.field);
        Err(Error::Input(match self.order {
            RowOrder::Unique => format!(
                "{name}: rows {a} and {b} have the same {field}, and the program takes each one once in a \
                 table; leave one of the rows out, or make one row of both"
            ),
            RowOrder::Ascending => format!(
                "{name}: {field} {b} is not larger than {field} {a}, and the program takes them in ascending \
                 order, each one once; sort them first"
            ),
        }))
    }
}

impl std::fmt::Display for Rule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.order {
            RowOrder::Unique => write!(f, "each {} once", self.field),
            RowOrder::Ascending => write!(f, "{} in ascending order, each once", self.field),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Port;
    use crate::value::{encode, encode_executions};
    use serde_json::json;

    fn table(key: Type) -> Type {
        let row = Type::Struct(vec![("amount".into(), Type::Uint(3)), ("key".into(), key)]);
        let rows = Type::Array(Box::new(row), 4);
        Type::Struct(vec![("count".into(), Type::Uint(3)), ("rows".into(), rows)])
    }

    fn port(ty: Type, field: &str, order: RowOrder) -> Port {
        Port::new("t", ty).with_rule(Rule { field: field.into(), order })
    }

    /// Returns the rows that an error names.
    fn broken(port: &Port, count: u32, keys: [i32; 4]) -> Option<String> {
        let rows: Vec<_> = keys.iter().map(|key| json!({ "amount": 5, "key": key })).collect();
        let value = json!({ "count": count, "rows": rows });
        let found = encode(std::slice::from_ref(port), &value).map_err(|e| e.to_string());
        let twice = json!([value, value]);
        let executions = encode_executions(std::slice::from_ref(port), 2, &twice);
        assert_eq!(found.is_ok(), executions.is_ok());
        found.err()
    }

    #[test]
    fn rows_are_named_and_values_are_not() {
        let unique = port(table(Type::Uint(8)), "key", RowOrder::Unique);
        assert_eq!(broken(&unique, 4, [7, 255, 0, 1]), None);
        // Rows beyond the count do not matter.
        assert_eq!(broken(&unique, 2, [7, 1, 0, 0]), None);
        assert_eq!(broken(&unique, 0, [0; 4]), None);
        let message = broken(&unique, 4, [77, 9, 77, 9]).unwrap();
        assert!(
            message.contains("t: rows 1 and 3 have the same key") && !message.contains("77"),
            "{message}"
        );
        assert!(broken(&unique, 7, [1, 2, 3, 3]).unwrap().contains("rows 3 and 4"));
        for key in [Type::Int(8), Type::Fixed { width: 8, point: 1, signed: true }] {
            let ascending = port(table(key), "key", RowOrder::Ascending);
            assert_eq!(broken(&ascending, 4, [-64, -1, 0, 63]), None);
            assert_eq!(broken(&ascending, 1, [5, 0, 0, 0]), None);
            let message = broken(&ascending, 4, [-1, -64, 0, 1]).unwrap();
            assert!(message.contains("key 2 is not larger than key 1"), "{message}");
            let message = broken(&ascending, 3, [1, 2, 2, 0]).unwrap();
            assert!(message.contains("key 3 is not larger than key 2"), "{message}");
        }
        // A list of numbers has the name of its field, or of its port.
        let items = Type::Array(Box::new(Type::Uint(8)), 3);
        let list =
            Port::new("t", items.clone()).with_rule(Rule { field: "t".into(), order: RowOrder::Ascending });
        assert!(encode(std::slice::from_ref(&list), &json!([1, 2, 3])).is_ok());
        assert!(encode(&[list], &json!([1, 3, 2])).unwrap_err().to_string().contains("t 3 is not larger"));
        let list = port(Type::Struct(vec![("items".into(), items)]), "items", RowOrder::Unique);
        assert!(encode(&[list], &json!({ "items": [1, 2, 1] })).is_err());
    }

    #[test]
    fn a_rule_is_about_a_field_of_numbers() {
        let nested = Type::Struct(vec![("key".into(), table(Type::Uint(8)))]);
        for (ty, field, fits) in [
            (table(Type::Uint(8)), "key", true),
            (table(Type::Fixed { width: 8, point: 3, signed: false }), "key", true),
            (table(nested.clone()), "key", false),
            (nested, "key", true),
            (table(Type::Uint(8)), "rows", false),
            (table(Type::Uint(8)), "count", false),
            (Type::Uint(8), "t", false),
        ] {
            assert_eq!(port(ty.clone(), field, RowOrder::Unique).check().is_ok(), fits, "{ty} {field}");
        }
    }
}
