//! Workloads that the papers measure, cut as they cut them.

use std::sync::Arc;

use super::aes::cbc_mac;
use super::{component, xor};
use crate::Error;
use crate::circuit::{Circuit, Component, Gate, Port, Program, ProgramBuilder, Recipient, Type, Wire};
use crate::random::{Rng, Seed};

fn block(name: &str) -> Port {
    Port::new(name, Type::Uint(128))
}

/// A random program of 2^`n` AND gates in 2^(`n` - `t`) slots of one component of 2^`t` AND gates, 256 inputs and 128 outputs
/// (DUPLO, section 7.1): each gate is XOR or AND, of random wires before it. A slot reads the outputs of the slot before it and
/// 128 random wires of the 256 before these. Both parties bring 128 bits, and both learn the last 128. The same in every call.
///
/// # Errors
/// [`Error::Usage`] if `t` is greater than `n`, or `n` than 24.
pub fn random(n: u32, t: u32) -> Result<Program, Error> {
    if t > n || n > 24 {
        return Err(Error::Usage(format!("no random program of 2^{n} AND gates, 2^{t} a slot")));
    }
    let mut rng = Rng::expand(&Seed::from_bytes([n as u8 ^ 0x5a; 16]), "brickwork random workload");
    let mut below = |wires: u64| rng.below(wires) as Wire;
    let (mut gates, mut ands) = (Vec::new(), 0);
    while ands < 1 << t {
        let wires = 256 + gates.len() as u64;
        let (a, b) = (below(wires), below(wires));
        let and = below(2) == 1;
        ands += u32::from(and);
        gates.push(if and { Gate::And(a, b) } else { Gate::Xor(a, b) });
    }
    let wires = 256 + gates.len() as Wire;
    let circuit = Circuit::new(256, gates, (wires - 128..wires).collect())?;
    let random = Component {
        name: format!("random_{t}"),
        inputs: vec![block("x"), block("y")],
        outputs: vec![block("z")],
        circuit: Arc::new(circuit),
    };
    let mut program = ProgramBuilder::new(format!("random-{n}-{t}"), vec![block("x")], vec![block("y")])?;
    let random = program.component(random)?;
    let mut last = 128;
    for _ in 0..1 << (n - t) {
        let far = last.min(256);
        let others = (0..128).map(|_| last - far + below(u64::from(far)));
        let inputs: Vec<Wire> = (last..last + 128).chain(others).collect();
        last = program.slot(random, &inputs)?;
    }
    program.output(block("z"), Recipient::Both, (last..last + 128).collect())?;
    program.finish()
}

/// [`cbc_mac`] of `blocks` blocks, cut into components of `each` blocks.
///
/// # Errors
/// [`Error::Usage`] if `each` is 0 or does not divide `blocks`.
pub fn cbc_mac_in(blocks: u32, each: u32) -> Result<Program, Error> {
    if each == 0 || blocks == 0 || !blocks.is_multiple_of(each) {
        return Err(Error::Usage(format!("no CBC-MAC of {blocks} blocks in components of {each}")));
    }
    // A CBC-MAC of so many blocks, whose first block comes with the sum so far.
    let whole = cbc_mac(each)?;
    let message = |blocks| Port::new("message", Type::Array(Box::new(Type::Uint(128)), blocks));
    let blocks_each = Component {
        name: format!("cbc_mac_of_{each}"),
        inputs: vec![block("key"), message(each)],
        outputs: vec![block("sum")],
        circuit: Arc::new(whole.flatten()?),
    };
    let mut program = ProgramBuilder::new(format!("cbc-mac-{blocks}-by-{each}"), vec![block("key")], vec![message(blocks)])?;
    let part = program.component(blocks_each)?;
    let add = component("xor_128", vec![block("x"), block("y")], vec![block("sum")], |b, w| vec![xor(b, w[0], w[1])])?;
    let add = if blocks > each { Some(program.component(add)?) } else { None };
    let mut sum: Option<Wire> = None;
    for first in (0..blocks).step_by(each as usize) {
        let mut message: Vec<Wire> = (128 * (first + 1)..128 * (first + 1 + each)).collect();
        if let (Some(add), Some(sum)) = (add, sum) {
            let start = program.slot(add, &(sum..sum + 128).chain(message[..128].iter().copied()).collect::<Vec<_>>())?;
            message.splice(..128, start..start + 128);
        }
        sum = Some(program.slot(part, &(0..128).chain(message).collect::<Vec<_>>())?);
    }
    let sum = sum.unwrap_or_default();
    program.output(block("tag"), Recipient::Both, (sum..sum + 128).collect())?;
    program.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_programs_have_the_size_that_was_asked_for() {
        for (n, t) in [(0, 0), (6, 0), (6, 3), (10, 10)] {
            let program = random(n, t).unwrap();
            assert_eq!((program.and_gates(), program.slot_count()), (1 << n, 1 << (n - t)));
            assert_eq!(program.digest(), random(n, t).unwrap().digest());
        }
        assert!(random(3, 4).is_err() && random(25, 0).is_err());
    }

    #[test]
    fn every_cut_is_the_same_mac() {
        let bits = |n: usize| (0..n).map(|i| i * i % 7 < 3).collect::<Vec<bool>>();
        let (key, message) = (bits(128), bits(4 * 128));
        let expected = cbc_mac(4).unwrap().simulate(&key, &message);
        for each in [1, 2, 4] {
            let program = cbc_mac_in(4, each).unwrap();
            assert_eq!((program.and_gates(), program.simulate(&key, &message)), (4 * 6400, expected.clone()));
        }
        assert!(cbc_mac_in(4, 3).is_err() && cbc_mac_in(4, 0).is_err() && cbc_mac_in(0, 1).is_err());
    }
}
