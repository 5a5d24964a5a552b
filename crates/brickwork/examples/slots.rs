//! Writes a program of many small slots, to measure the cost of a slot: `cargo run --release --example slots
//! -- 1048576 slots.bwp [adder]`.
//!
//! The program has a state of 256 words, half of them from each party, which goes through rounds of 256
//! slots. Words are bytes, and a slot computes the AES S-box of one byte and adds another byte: 16 inputs, 8
//! outputs, 32 AND gates. With `adder`, words have 32 bits, and a slot adds two words: 64 inputs, 32 outputs,
//! 31 AND gates.

use brickwork::ProtocolError as Error;
use brickwork::circuit::library::{add, aes, component, xor};
use brickwork::circuit::{Port, Program, ProgramBuilder, Recipient, Type, Wire};

/// The words of the state, and also the slots of a round.
const STATE: usize = 256;

fn program(slots: usize, adds: bool) -> Result<Program, Error> {
    let bits = if adds { 32 } else { 8 };
    let word = |name: &str| Port::new(name, Type::Uint(bits));
    let words =
        |name: &str, count: usize| Port::new(name, Type::Array(Box::new(Type::Uint(bits)), count as u32));
    let half = |name: &str| vec![words(name, STATE / 2)];
    let mix = component("mix", vec![word("x"), word("y")], vec![word("z")], |b, words| match adds {
        true => vec![add(b, words[0], words[1])],
        false => {
            let substituted = aes::sub_byte(b, words[0]);
            vec![xor(b, &substituted, words[1])]
        }
    })?;
    let mut program = ProgramBuilder::new(format!("slots-{slots}"), half("x"), half("y"))?;
    let mix = program.component(mix)?;
    let mut state: Vec<Wire> = (0..STATE as Wire).map(|word| bits * word).collect();
    for round in 0..slots.div_ceil(STATE) {
        let before = state.clone();
        for (place, word) in state.iter_mut().enumerate().take(slots - round * STATE) {
            let wires = |place: usize| before[place]..before[place] + bits;
            // After eight rounds every word depends on every other.
            let inputs: Vec<Wire> = wires(place).chain(wires(place ^ 1 << (round % 8))).collect();
            *word = program.slot(mix, &inputs)?;
        }
    }
    let wires = state.iter().flat_map(|&first| first..first + bits).collect();
    program.output(words("state", STATE), Recipient::Both, wires)?;
    program.finish()
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let (slots, path) = (
        arguments.next().ok_or("how many slots?")?.parse()?,
        arguments.next().ok_or("which file to write?")?,
    );
    let adds = arguments.next().is_some_and(|word| word == "adder");
    std::fs::write(path, program(slots, adds)?.to_bytes())?;
    Ok(())
}
