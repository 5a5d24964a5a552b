//! Tables: each party brings rows, and both learn a number about all of them.

use brickwork::{Error, Program, Value, run_local};

/// The sum of what the garbler's customers have bought who are the evaluator's customers, too.
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
