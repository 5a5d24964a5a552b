//! Rules of a program for a party's input, which the party checks before the values leave it.
//!
//! For example, a program that joins tables gives wrong sums if a key occurs twice. The party that has the
//! table can check the keys itself, so it need not find the error by a wrong result.

use std::cmp::Ordering;

use super::{RowOrder, Rule, Type};
use brickwork_base::Error;
use brickwork_base::stop::looking;

/// The place of a rule's field among the wires of a value.
struct Column<'t> {
    /// The first wire of row 0.
    start: usize,
    /// The first wire of the field in row 0.
    first: usize,
    /// The number of wires from one row to the next.
    stride: usize,
    rows: usize,
    ty: &'t Type,
    /// The wires of the field `count`, if there is one.
    count: Option<std::ops::Range<usize>>,
}

impl Column<'_> {
    /// Returns the place of the field, if the field is unambiguous.
    fn of<'t>(ty: &'t Type, first: usize, name: &str, field: &str) -> Option<Column<'t>> {
        let mut all = Column::all(ty, first, name, field);
        all.pop().filter(|_| all.is_empty())
    }

    /// Returns all places of fields that the name may mean.
    fn all<'t>(ty: &'t Type, first: usize, name: &str, field: &str) -> Vec<Column<'t>> {
        match ty {
            Type::Array(element, rows) => {
                let (stride, rows) = (element.width() as usize, *rows as usize);
                let found = match &**element {
                    Type::Struct(fields) => place(fields, |of| of == field),
                    element => Some((0, element)).filter(|_| name == field),
                };
                let found = found.filter(|(_, ty)| ty.is_number()).into_iter();
                let column = |(offset, ty)| Column {
                    start: first,
                    first: first + offset,
                    stride,
                    rows,
                    ty,
                    count: None,
                };
                found.map(column).collect()
            }
            Type::Struct(fields) => {
                let mut offset = first;
                let count = place(fields, |of| of == "count").filter(|(_, ty)| matches!(ty, Type::Uint(_)));
                let count = count.map(|(offset, ty)| first + offset..first + offset + ty.width() as usize);
                let mut columns = Vec::new();
                for (name, ty) in fields {
                    columns.extend(Column::all(ty, offset, name, within(field, name)));
                    offset += ty.width() as usize;
                }
                columns.iter_mut().for_each(|column| column.count = column.count.take().or(count.clone()));
                columns
            }
            Type::Uint(_) | Type::Int(_) | Type::Fixed { .. } => Vec::new(),
        }
    }

    fn is_zero(&self, bits: &[bool], row: usize) -> bool {
        bits[self.first + row * self.stride..][..self.ty.width() as usize].iter().all(|bit| !bit)
    }

    fn compare(&self, bits: &[bool], a: usize, b: usize) -> Ordering {
        let [a, b] = [a, b].map(|row| {
            let first = self.first + row * self.stride;
            &bits[first..first + self.ty.width() as usize]
        });
        // The larger of two sign bits belongs to the smaller number, because the sign bit of a negative
        // number is 1.
        let signs = a.last().cmp(&b.last());
        match self.ty {
            Type::Int(_) | Type::Fixed { signed: true, .. } if signs != Ordering::Equal => signs.reverse(),
            _ => a.iter().rev().cmp(b.iter().rev()),
        }
    }
}

/// Returns the name of a field without the name of the struct around it.
fn within<'n>(field: &'n str, outer: &str) -> &'n str {
    field.strip_prefix(outer).and_then(|rest| rest.strip_prefix('.')).unwrap_or(field)
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
    /// Returns the rule for the value of one field of a struct, if this rule for the struct is about a part
    /// of that field.
    pub(super) fn of_field(&self, ty: &Type, name: &str) -> Option<Rule> {
        let Type::Struct(fields) = ty else { return None };
        let (first, of) = place(fields, |field| field == name)?;
        let column = Column::of(ty, 0, name, &self.field)?;
        let is_there = (first..first + of.width() as usize).contains(&column.start);
        is_there.then(|| Rule { field: within(&self.field, name).to_owned(), order: self.order })
    }

    /// Returns whether a value of this type, in a port of this name, has exactly one field for the rule. In
    /// an array of such values the rule is about each of them.
    pub fn fits(&self, ty: &Type, name: &str) -> bool {
        self.meanings(ty, name) == 1
    }

    /// Returns the number of fields that the rule's name may mean.
    pub(super) fn meanings(&self, ty: &Type, name: &str) -> usize {
        let inner = if let Type::Array(one, _) = ty { self.meanings(one, name) } else { 0 };
        Column::all(ty, 0, name, &self.field).len() + inner
    }

    /// Checks a value.
    ///
    /// # Errors
    /// [`Error::Input`] if its rows break the rule. The message has the numbers of rows, counted from 1, but
    /// no value.
    pub(super) fn check(&self, ty: &Type, name: &str, bits: &[bool]) -> Result<(), Error> {
        self.check_at(ty, name, name, bits)
    }

    /// Checks a value of the port `name`; messages call the value `place`.
    fn check_at(&self, ty: &Type, name: &str, place: &str, bits: &[bool]) -> Result<(), Error> {
        let Some(column) = Column::of(ty, 0, name, &self.field) else {
            let Type::Array(one, _) = ty else { return Ok(()) };
            let mut each = looking(bits.chunks(one.width() as usize).enumerate());
            return each.try_for_each(|(k, bits)| self.check_at(one, name, &format!("{place}[{k}]"), bits));
        };
        use RowOrder::{Ascending, Grouped, Keyed, Sorted, Unique};
        let counted = column.count.clone().filter(|_| matches!(self.order, Unique | Ascending));
        let counted = counted.map_or(column.rows, |wires| {
            wires.rev().fold(0usize, |n, wire| n.saturating_mul(2).saturating_add(bits[wire].into()))
        });
        let mut rows: Vec<usize> = (0..counted.min(column.rows)).collect();
        if self.order == Unique {
            rows.sort_by(|a, b| column.compare(bits, *a, *b).then(a.cmp(b)));
        }
        let field = &self.field;
        let refused = |why| Err(Error::Input(format!("{place}: {why} (rows are counted from 1)")));
        if let Some(row) = rows.iter().find(|row| self.hides(&column, bits, **row)) {
            return refused(format!(
                "{field} {} marks an empty row, but another field of this row is not 0; give this row \
                 another {field}, or leave the row out",
                row + 1
            ));
        }
        let pairs = rows.windows(2).map(|pair| [pair[0], pair[1]]);
        let broken = |[a, b]: &[usize; 2]| match column.compare(bits, *a, *b) {
            Ordering::Less => false,
            Ordering::Equal if self.order == Keyed => !column.is_zero(bits, *a),
            Ordering::Equal => matches!(self.order, Unique | Ascending),
            Ordering::Greater => true,
        };
        let Some([a, b]) = pairs.filter(broken).min() else { return Ok(()) };
        let is_same = column.compare(bits, a, b) == Ordering::Equal;
        let (a, b) = (a + 1, b + 1);
        refused(match self.order {
            Ascending => format!(
                "{field} {b} is not larger than {field} {a} before it; the program takes each {field} once, \
                 in ascending order, so sort the rows first"
            ),
            Unique | Keyed if is_same => format!(
                "rows {a} and {b} have the same {field}, but the program takes each {field} once in a \
                 table; leave one of the rows out, or merge both rows"
            ),
            Unique | Sorted | Grouped | Keyed => format!(
                "{field} {b} is smaller than {field} {a} before it; the program takes rows in ascending \
                 order of {field}, so sort them first"
            ),
        })
    }

    /// Returns whether this row is empty by its field, but another field of it is not 0.
    fn hides(&self, column: &Column, bits: &[bool], row: usize) -> bool {
        matches!(self.order, RowOrder::Grouped | RowOrder::Keyed)
            && column.is_zero(bits, row)
            && bits[column.start + row * column.stride..][..column.stride].contains(&true)
    }
}

impl std::fmt::Display for Rule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let field = &self.field;
        match self.order {
            RowOrder::Unique => write!(f, "each {field} once"),
            RowOrder::Ascending => write!(f, "{field} in ascending order, each once"),
            RowOrder::Sorted => write!(f, "{field} in ascending order"),
            RowOrder::Grouped => write!(f, "{field} in ascending order, no row with 0"),
            RowOrder::Keyed => write!(f, "{field} in ascending order, each once, no row with 0"),
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

    /// The rule of a list of numbers has the name of the port, even if the port contains such a list for each
    /// execution.
    #[test]
    fn lists_of_each_execution_are_checked() {
        let list = Type::Array(Box::new(Type::Uint(3)), 2);
        let lists = port(Type::Array(Box::new(list), 2), "t", RowOrder::Ascending);
        let given = |value| encode(std::slice::from_ref(&lists), &value).map_err(|error| error.to_string());
        assert!(given(json!([[1, 2], [3, 5]])).is_ok());
        let why = given(json!([[1, 2], [5, 3]])).unwrap_err();
        assert!(why.contains("t[1]: t 2 is not larger than t 1"), "{why}");
    }

    fn port(ty: Type, field: &str, order: RowOrder) -> Port {
        Port::new("t", ty).with_rule(Rule { field: field.into(), order })
    }

    /// Returns the error about these rows, if the rule is broken.
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
        // The rule of a list of numbers has the name of the field, or of the port.
        let items = Type::Array(Box::new(Type::Uint(8)), 3);
        let list =
            Port::new("t", items.clone()).with_rule(Rule { field: "t".into(), order: RowOrder::Ascending });
        assert!(encode(std::slice::from_ref(&list), &json!([1, 2, 3])).is_ok());
        assert!(encode(&[list], &json!([1, 3, 2])).unwrap_err().to_string().contains("t 3 is not larger"));
        let list = port(Type::Struct(vec![("items".into(), items)]), "items", RowOrder::Unique);
        assert!(encode(&[list], &json!({ "items": [1, 2, 1] })).is_err());
    }

    /// Empty rows may fill a table up, and `count` does not include them.
    #[test]
    fn a_row_with_the_key_0_is_no_row() {
        let rows = |field: &str, order, rows: [(u32, i32); 4]| {
            let port = port(table(Type::Int(8)), field, order);
            let rows: Vec<_> =
                rows.iter().map(|(amount, key)| json!({ "amount": amount, "key": key })).collect();
            encode(&[port], &json!({ "count": 1, "rows": rows })).map(drop).map_err(|e| e.to_string())
        };
        let padded = [(5, -3), (0, 0), (0, 0), (5, 2)];
        let twice = [(5, -3), (0, 0), (5, 2), (5, 2)];
        let hidden = [(5, -3), (5, 0), (0, 0), (5, 2)];
        let unsorted = [(0, 0), (5, -3), (5, 2), (5, 3)];
        use RowOrder::{Grouped, Keyed, Sorted};
        for (order, refused) in
            [(Sorted, [false, false, false]), (Grouped, [false, false, true]), (Keyed, [false, true, true])]
        {
            let found = [padded, twice, hidden].map(|given| rows("rows.key", order, given).is_err());
            assert_eq!(found, refused, "{order:?}");
            let says = rows("key", order, unsorted).unwrap_err();
            assert!(says.contains("key 2 is smaller than key 1"), "{says}");
        }
        let says = rows("key", Keyed, twice).unwrap_err();
        assert!(says.contains("rows 3 and 4 have the same key"), "{says}");
        let says = rows("key", Keyed, hidden).unwrap_err();
        assert!(says.contains("key 2 marks an empty row") && !says.contains('5'), "{says}");
    }

    /// Each table of an input has its own rules, which remain if the table becomes a port of its own or an
    /// element of an array.
    #[test]
    fn rules_follow_their_tables() {
        let both = Type::Struct(vec![("a".into(), table(Type::Uint(8))), ("b".into(), table(Type::Uint(8)))]);
        let port = port(both, "b.key", RowOrder::Keyed)
            .with_rule(Rule { field: "a.rows.amount".into(), order: RowOrder::Sorted });
        port.check().unwrap();
        let rows = |of: [(u32, u32); 4]| {
            let rows: Vec<_> =
                of.iter().map(|(amount, key)| json!({ "amount": amount, "key": key })).collect();
            json!({ "count": 4, "rows": rows })
        };
        let (good, bad) = ([(1, 1), (2, 2), (3, 3), (4, 4)], [(4, 4), (3, 3), (2, 2), (1, 1)]);
        let says = |a, b| {
            let value = json!({ "a": rows(a), "b": rows(b) });
            encode(std::slice::from_ref(&port), &value).map(drop).map_err(|e| e.to_string())
        };
        assert_eq!(says(good, good), Ok(()));
        assert!(says(bad, good).unwrap_err().contains("a.rows.amount 2 is smaller"));
        assert!(says(good, bad).unwrap_err().contains("b.key 2 is smaller"));
        let fields = |name: &str| port.of_field(name, &table(Type::Uint(8))).rules;
        assert_eq!(fields("a"), [Rule { field: "rows.amount".into(), order: RowOrder::Sorted }]);
        assert_eq!(fields("b"), [Rule { field: "key".into(), order: RowOrder::Keyed }]);
        let own = port.of_field("b", &table(Type::Uint(8)));
        let array = Port { ty: Type::Array(Box::new(own.ty.clone()), 2), ..own };
        array.check().unwrap();
        let array = std::slice::from_ref(&array);
        assert!(encode(array, &json!([rows(good), rows(good)])).is_ok());
        let says = encode(array, &json!([rows(good), rows(bad)])).unwrap_err().to_string();
        assert!(says.contains("b[1]: key 2 is smaller than key 1"), "{says}");
    }

    #[test]
    fn a_rule_is_about_a_field_of_numbers() {
        let nested = Type::Struct(vec![("key".into(), table(Type::Uint(8)))]);
        let both = |a: Type, b: Type| Type::Struct(vec![("a".into(), a), ("b".into(), b)]);
        let Type::Struct(fields) = table(Type::Uint(8)) else { unreachable!("a table") };
        let keyed = Type::Struct([vec![("key".into(), Type::Uint(8))], fields].concat());
        for (ty, field, fits) in [
            (table(Type::Uint(8)), "key", true),
            (table(Type::Fixed { width: 8, point: 3, signed: false }), "key", true),
            (table(nested.clone()), "key", false),
            (nested.clone(), "key", true),
            // Two tables have the field, or a struct and its table: `rows.key` names one of them.
            (both(table(Type::Uint(8)), table(Type::Uint(8))), "key", false),
            (both(table(Type::Uint(8)), table(Type::Uint(8))), "b.key", true),
            (Type::Array(Box::new(keyed.clone()), 2), "key", false),
            (Type::Array(Box::new(keyed.clone()), 2), "rows.key", true),
            (keyed, "key", true),
            (table(Type::Uint(8)), "rows", false),
            (table(Type::Uint(8)), "count", false),
            (Type::Uint(8), "t", false),
        ] {
            assert_eq!(port(ty.clone(), field, RowOrder::Unique).check().is_ok(), fits, "{ty} {field}");
        }
    }
}
