//! Each party brings a table, and both parties learn one number about all rows.

use brickwork::{Error, Program, Value, run_local};

/// Computes how much those customers of the garbler have bought that are also customers of the evaluator.
const SPENT: &str = include_str!("spent.wir");

/// Runs both parties.
pub fn main() -> Result<(), Error> {
    let row = |customer: u32, amount: u32| Value::record([("customer", customer), ("amount", amount)]);
    let sales = Value::record([("rows", vec![row(7, 100), row(8, 20), row(11, 3)])]);
    let customers = Value::record([("rows", vec![11u32, 7])]);
    let program = Program::from_source("spent.wir", SPENT)?;
    let [garbler, _] = run_local(&program, ("input1", sales), ("input2", customers))?;
    assert_eq!(garbler.outputs.get::<u32>("output")?, 103);
    Ok(())
}
