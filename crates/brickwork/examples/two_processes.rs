//! Runs one party of two that have keys: start it twice, on one machine or on two.
//!
//! The commands are `two_processes garbler ALICE.key BOB.pub 0.0.0.0:7000 1250000` and `two_processes
//! evaluator BOB.key ALICE.pub alice.example:7000 1000000`. `brickwork keygen` makes the keys.

use std::fs::read_to_string;

use brickwork::{Identity, Inputs, Party, Program};

const RICHER: &str = "#parties 2\n#input 1 uint_t 32\n#input 2 uint_t 32\n#output 1 uint_t 1\n\
                      #output 2 uint_t 1\n\
                      function void main() { output1 = input1 > input2; output2 = output1; }";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let richer = run(&std::env::args().skip(1).collect::<Vec<String>>())?;
    println!("the garbler has more: {richer}");
    Ok(())
}

/// Runs the party that the arguments describe. Returns whether the garbler has more.
pub fn run(arguments: &[String]) -> Result<bool, Box<dyn std::error::Error>> {
    let [role, own, peer, address, wealth] = arguments else {
        return Err("garbler|evaluator KEYFILE PEER.pub HOST:PORT WEALTH".into());
    };
    let (identity, peer) =
        (Identity::from_pem(&read_to_string(own)?)?, read_to_string(peer)?.trim().parse()?);
    let (mut party, input) = match role == "garbler" {
        true => (Party::garbler(identity).peer(peer).listen(address), "input1"),
        false => (Party::evaluator(identity).peer(peer).connect(address), "input2"),
    };
    let program = Program::from_source("richer.wir", RICHER)?;
    let run = party.run(&program, &Inputs::from((input, wealth.parse::<u32>()?)))?;
    print!("{}", run.report.promise);
    Ok(run.outputs.get("output")?)
}
