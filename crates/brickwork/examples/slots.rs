//! Writes a program of many small slots, to measure the cost of a slot: `cargo run --release --example slots
//! -- 1048576 slots.bwp`.
//!
//! The program has a state of 256 bytes, half of them from each party, which goes through rounds of 256
//! slots. A slot computes the AES S-box of one byte and adds another byte: 16 inputs, 8 outputs, 32 AND
//! gates.

use brickwork::ProtocolError as Error;
use brickwork::circuit::library::{aes, component, xor};
use brickwork::circuit::{Port, Program, ProgramBuilder, Recipient, Type, Wire};

/// The bytes of the state, and also the slots of a round.
const STATE: usize = 256;

fn program(slots: usize) -> Result<Program, Error> {
    let byte = |name: &str| Port::new(name, Type::Uint(8));
    let half = |name: &str| vec![Port::new(name, Type::Array(Box::new(Type::Uint(8)), STATE as u32 / 2))];
    let mix = component("mix", vec![byte("x"), byte("y")], vec![byte("z")], |b, words| {
        let substituted = aes::sub_byte(b, words[0]);
        vec![xor(b, &substituted, words[1])]
    })?;
    let mut program = ProgramBuilder::new(format!("slots-{slots}"), half("x"), half("y"))?;
    let mix = program.component(mix)?;
    let mut state: Vec<Wire> = (0..STATE as Wire).map(|byte| 8 * byte).collect();
    for round in 0..slots.div_ceil(STATE) {
        let before = state.clone();
        for (place, byte) in state.iter_mut().enumerate().take(slots - round * STATE) {
            let bits = |place: usize| before[place]..before[place] + 8;
            // After eight rounds every byte depends on every other.
            let inputs: Vec<Wire> = bits(place).chain(bits(place ^ 1 << (round % 8))).collect();
            *byte = program.slot(mix, &inputs)?;
        }
    }
    let wires = state.iter().flat_map(|&first| first..first + 8).collect();
    program.output(
        Port::new("state", Type::Array(Box::new(Type::Uint(8)), STATE as u32)),
        Recipient::Both,
        wires,
    )?;
    program.finish()
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let (slots, path) = (
        arguments.next().ok_or("how many slots?")?.parse()?,
        arguments.next().ok_or("which file to write?")?,
    );
    std::fs::write(path, program(slots)?.to_bytes())?;
    Ok(())
}
