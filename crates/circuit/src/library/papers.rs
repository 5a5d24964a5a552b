//! Workloads that papers measure, cut into components as in the papers.

use std::sync::Arc;

use super::aes::{self, cbc_mac};
use super::{add, component, less_than, xor};
use crate::{Bit, Builder, Circuit, Component, Gate, Port, Program, ProgramBuilder, Recipient, Type, Wire};
use brickwork_base::Error;
use brickwork_base::random::{Rng, Seed};

fn block(name: &str) -> Port {
    Port::new(name, Type::Uint(128))
}

/// Returns a random program of 2^`n` AND gates in 2^(`n` - `t`) slots of one component of 2^`t` AND gates,
/// 256 inputs and 128 outputs (DUPLO, section 7.1): each gate is XOR or AND, of random wires before it. A
/// slot reads the outputs of the slot before it and 128 random wires of the 256 before these. Both parties
/// bring 128 bits, and both learn the last 128. If no other gate reads a gate, it is added to one of the
/// outputs, so that no gate is dropped. Every call returns the same program.
///
/// # Errors
/// [`Error::Usage`] if `t` is greater than `n`, or `n` than 24.
pub fn random(n: u32, t: u32) -> Result<Program, Error> {
    if t > n || n > 24 {
        return Err(Error::Usage(format!(
            "there is no random program of 2^{n} AND gates with 2^{t} AND gates \
             in each slot"
        )));
    }
    let mut rng = Rng::expand(&Seed::from_bytes([n as u8 ^ 0x5a; 16]), "brickwork random workload");
    let mut below = |wires: u64| rng.below(wires) as Wire;
    let (mut gates, mut ands) = (Vec::new(), 0);
    let mut read = vec![true; 256];
    while ands < 1 << t {
        let wires = 256 + gates.len() as u64;
        let (a, b) = (below(wires), below(wires));
        if a == b {
            continue;
        }
        let and = below(2) == 1;
        ands += u32::from(and);
        gates.push(if and { Gate::And(a, b) } else { Gate::Xor(a, b) });
        (read[a as usize], read[b as usize]) = (true, true);
        read.push(false);
    }
    let wires = 256 + gates.len() as Wire;
    let mut outputs: Vec<Wire> = (wires - 128..wires).collect();
    for (k, wire) in (256..wires - 128).filter(|wire| !read[*wire as usize]).enumerate() {
        gates.push(Gate::Xor(outputs[k % 128], wire));
        outputs[k % 128] = 256 + gates.len() as Wire - 1;
    }
    let circuit = Circuit::new(256, gates, outputs)?;
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

/// Returns the CBC-MAC of [`cbc_mac`], cut into components of `each` blocks.
///
/// # Errors
/// [`Error::Usage`] if `each` is 0 or does not divide `blocks`.
pub fn cbc_mac_in(blocks: u32, each: u32) -> Result<Program, Error> {
    if each == 0 || blocks == 0 || !blocks.is_multiple_of(each) {
        return Err(Error::Usage(format!(
            "there is no CBC-MAC of {blocks} blocks whose components have \
             {each} blocks each"
        )));
    }
    // The component is a CBC-MAC of `each` blocks, to whose first block the result of the previous component
    // is added.
    let whole = cbc_mac(each)?;
    let message = |blocks| Port::new("message", Type::Array(Box::new(Type::Uint(128)), blocks));
    let blocks_each = Component {
        name: format!("cbc_mac_of_{each}"),
        inputs: vec![block("key"), message(each)],
        outputs: vec![block("sum")],
        circuit: Arc::new(whole.flatten()?),
    };
    let mut program = ProgramBuilder::new(
        format!("cbc-mac-{blocks}-by-{each}"),
        vec![block("key")],
        vec![message(blocks)],
    )?;
    let part = program.component(blocks_each)?;
    let add = component("xor_128", vec![block("x"), block("y")], vec![block("sum")], |b, w| {
        vec![xor(b, w[0], w[1])]
    })?;
    let add = if blocks > each { Some(program.component(add)?) } else { None };
    let mut sum: Option<Wire> = None;
    for first in (0..blocks).step_by(each as usize) {
        let mut message: Vec<Wire> = (128 * (first + 1)..128 * (first + 1 + each)).collect();
        if let (Some(add), Some(sum)) = (add, sum) {
            let start = program
                .slot(add, &(sum..sum + 128).chain(message[..128].iter().copied()).collect::<Vec<_>>())?;
            message.splice(..128, start..start + 128);
        }
        sum = Some(program.slot(part, &(0..128).chain(message).collect::<Vec<_>>())?);
    }
    let sum = sum.unwrap_or_default();
    program.output(block("tag"), Recipient::Both, (sum..sum + 128).collect())?;
    program.finish()
}

fn round_keys(name: &str, count: u32) -> Port {
    Port::new(name, Type::Array(Box::new(Type::Uint(128)), count))
}

/// Returns AES-128 as [`aes::aes_128`], in three kinds of components (DUPLO, section 7.1): the key schedule
/// with the initial round, the nine rounds, and the last one.
///
/// # Errors
/// Only if a circuit exceeds its limits.
pub fn aes_in_rounds() -> Result<Program, Error> {
    let in_out = || (vec![block("state"), block("round_key")], vec![block("state")]);
    let first = component(
        "key_expansion_and_initial_round",
        vec![block("key"), block("block")],
        vec![block("state"), round_keys("round_keys", 10)],
        |b, w| {
            let keys = aes::expand_key(b, w[0]);
            vec![xor(b, w[1], &keys[0]), keys[1..].concat()]
        },
    )?;
    let middle = component("round", in_out().0, in_out().1, |b, w| vec![aes::round(b, w[0], w[1], false)])?;
    let last =
        component("final_round", in_out().0, in_out().1, |b, w| vec![aes::round(b, w[0], w[1], true)])?;
    let mut program = ProgramBuilder::new("aes-128-in-three", vec![block("key")], vec![block("block")])?;
    let (first, middle, last) =
        (program.component(first)?, program.component(middle)?, program.component(last)?);
    let start = program.slot(first, &(0..256).collect::<Vec<_>>())?;
    let mut state = start;
    for k in 1..=10 {
        let key = start + 128 * k;
        let inputs: Vec<Wire> = (state..state + 128).chain(key..key + 128).collect();
        state = program.slot(if k == 10 { last } else { middle }, &inputs)?;
    }
    program.output(block("ciphertext"), Recipient::Both, (state..state + 128).collect())?;
    program.finish()
}

/// Returns AES-128 as [`aes::aes_128`], in five kinds of components (DUPLO, section 7.1), one for each
/// function of the algorithm.
///
/// # Errors
/// See [`aes_in_rounds`].
pub fn aes_in_functions() -> Result<Program, Error> {
    let state = || vec![block("state")];
    let mut program = ProgramBuilder::new("aes-128-in-five", vec![block("key")], vec![block("block")])?;
    let expand =
        component("key_expansion", vec![block("key")], vec![round_keys("round_keys", 11)], |b, w| {
            vec![aes::expand_key(b, w[0]).concat()]
        })?;
    let add = component("add_round_key", vec![block("state"), block("round_key")], state(), |b, w| {
        vec![xor(b, w[0], w[1])]
    })?;
    let substitute = component("sub_bytes", state(), state(), |b, w| vec![aes::sub_bytes(b, w[0])])?;
    let shift = component("shift_rows", state(), state(), |_, w| vec![aes::shift_rows(w[0])])?;
    let mix = component("mix_columns", state(), state(), |b, w| vec![aes::mix_columns(b, w[0])])?;
    let (expand, add) = (program.component(expand)?, program.component(add)?);
    let (substitute, shift, mix) =
        (program.component(substitute)?, program.component(shift)?, program.component(mix)?);
    let wires = |first: Wire| first..first + 128;
    let keys = program.slot(expand, &wires(0).collect::<Vec<_>>())?;
    let mut state = program.slot(add, &wires(128).chain(wires(keys)).collect::<Vec<_>>())?;
    for k in 1..=10 {
        let functions = [substitute, shift, mix];
        for &function in &functions[..if k == 10 { 2 } else { 3 }] {
            state = program.slot(function, &wires(state).collect::<Vec<_>>())?;
        }
        state = program.slot(add, &wires(state).chain(wires(keys + 128 * k)).collect::<Vec<_>>())?;
    }
    program.output(block("ciphertext"), Recipient::Both, wires(state).collect())?;
    program.finish()
}

/// Returns AES-128 like [`aes::aes_128_expanded`], cut into its 160 SubBytes and the parts between them,
/// which have no AND gates (JIMU, figure 11).
///
/// # Errors
/// See [`aes_in_rounds`].
pub fn aes_in_sub_bytes() -> Result<Program, Error> {
    let state = || vec![block("state")];
    let both = || vec![block("state"), block("round_key")];
    let byte = |name: &str| vec![Port::new(name, Type::Uint(8))];
    let keys = vec![round_keys("round_keys", 11)];
    let mut program = ProgramBuilder::new("aes-128-in-sub-bytes", keys, vec![block("block")])?;
    let substitute = component("sub_byte", byte("x"), byte("y"), |b, w| vec![aes::sub_byte(b, w[0])])?;
    let first = component("add_round_key", both(), state(), |b, w| vec![xor(b, w[0], w[1])])?;
    let middle = component("shift_mix_add", both(), state(), |b, w| {
        let mixed = aes::mix_columns(b, &aes::shift_rows(w[0]));
        vec![xor(b, &mixed, w[1])]
    })?;
    let last = component("shift_add", both(), state(), |b, w| vec![xor(b, &aes::shift_rows(w[0]), w[1])])?;
    let (substitute, first) = (program.component(substitute)?, program.component(first)?);
    let (middle, last) = (program.component(middle)?, program.component(last)?);
    let key = |k: Wire| 128 * k..128 * (k + 1);
    let mut state = program.slot(first, &key(11).chain(key(0)).collect::<Vec<_>>())?;
    for k in 1..=10 {
        let bytes: Vec<Wire> = (0..16).map(|i| state + 8 * i).collect();
        let mut substituted = Vec::new();
        for byte in bytes {
            let first = program.slot(substitute, &(byte..byte + 8).collect::<Vec<_>>())?;
            substituted.extend(first..first + 8);
        }
        let step = if k == 10 { last } else { middle };
        state = program.slot(step, &substituted.into_iter().chain(key(k)).collect::<Vec<_>>())?;
    }
    program.output(block("ciphertext"), Recipient::Both, (state..state + 128).collect())?;
    program.finish()
}

/// Returns a party's input of bytes.
fn bytes(name: &str, bits: u32) -> Vec<Port> {
    vec![Port::new(name, Type::Array(Box::new(Type::Uint(8)), bits / 8))]
}

/// Makes a program of one component, to which each party gives this many bits, as bytes.
fn of_bits(
    name: &str,
    bits: u32,
    result: u32,
    body: impl FnOnce(&mut Builder, &[Bit], &[Bit]) -> Vec<Bit>,
) -> Result<Program, Error> {
    let (x, y) = (bytes("x", bits), bytes("y", bits));
    let result = Port::new("result", Type::Uint(result));
    let component = component(name, [x.clone(), y.clone()].concat(), vec![result.clone()], |b, w| {
        vec![body(b, w[0], w[1])]
    })?;
    let mut program = ProgramBuilder::new(name, x, y)?;
    let id = program.component(component)?;
    let first = program.slot(id, &(0..2 * bits).collect::<Vec<_>>())?;
    program.output(result.clone(), Recipient::Both, (first..first + result.width() as u32).collect())?;
    program.finish()
}

/// Returns the comparison "less than" of the garbler's number with the evaluator's, of `bits` bits, a
/// multiple of 8, with as many AND gates (JIMU, figure 10).
///
/// # Errors
/// See [`aes_in_rounds`].
pub fn comparison(bits: u32) -> Result<Program, Error> {
    of_bits("comparison", bits, 1, |b, x, y| vec![less_than(b, x, y)])
}

/// Returns the number of differing bits of two words of 2^`log2` bits, `log2` being 3 at least: fewer AND
/// gates than bits (JIMU, figure 10).
///
/// # Errors
/// See [`aes_in_rounds`].
pub fn hamming_distance(log2: u32) -> Result<Program, Error> {
    of_bits("hamming-distance", 1 << log2, log2 + 1, |b, x, y| {
        let mut counts: Vec<Vec<Bit>> = xor(b, x, y).into_iter().map(|bit| vec![bit]).collect();
        while counts.len() > 1 {
            counts = counts
                .chunks(2)
                .map(|pair| {
                    let [one, other] = [&pair[0], &pair[1]].map(|count| [&count[..], &[Bit::ZERO]].concat());
                    add(b, &one, &other)
                })
                .collect();
        }
        counts.concat()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sub_bytes_are_the_same_cipher() {
        let bits = |n: usize, seed: usize| (0..n).map(|i| (i + seed) * i % 7 < 3).collect::<Vec<bool>>();
        let (keys, block) = (bits(11 * 128, 0), bits(128, 5));
        let program = aes_in_sub_bytes().unwrap();
        assert_eq!((program.and_gates(), program.slots_by_component()), (5120, vec![160, 1, 9, 1]));
        assert!(program.components()[1..].iter().all(|between| between.circuit.and_gates() == 0));
        let expected = aes::aes_128_expanded().unwrap().simulate(&keys, &block);
        assert_eq!(program.simulate(&keys, &block), expected);
    }

    #[test]
    fn numbers_and_words_are_compared() {
        let (less, distance) = (comparison(32).unwrap(), hamming_distance(5).unwrap());
        assert_eq!((less.and_gates(), distance.and_gates()), (32, 57));
        assert_eq!(hamming_distance(11).unwrap().and_gates(), 4083);
        let bits = |x: u32| (0..32).map(|i| x >> i & 1 == 1).collect::<Vec<bool>>();
        let number = |bits: &[bool]| bits.iter().rev().fold(0, |n, &bit| 2 * n + u32::from(bit));
        for (x, y) in [(0, 0), (0, u32::MAX), (7, 9), (0x8000_0000, 1), (0xdead_beef, 0xdead_beee)] {
            assert_eq!(less.simulate(&bits(x), &bits(y)), [[x < y]]);
            let found = distance.simulate(&bits(x), &bits(y));
            assert_eq!(number(&found[0]), (x ^ y).count_ones());
        }
    }

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
    fn every_cut_is_the_same_cipher() {
        let bits = |n: usize| (0..n).map(|i| i * i % 7 < 3).collect::<Vec<bool>>();
        let (key, block) = (bits(128), bits(256)[128..].to_vec());
        let expected = aes::aes_128().unwrap().simulate(&key, &block);
        for (program, kinds) in
            [(aes_in_rounds().unwrap(), vec![1, 9, 1]), (aes_in_functions().unwrap(), vec![1, 11, 10, 10, 9])]
        {
            assert_eq!((program.and_gates(), program.slots_by_component()), (6400, kinds));
            assert_eq!(program.simulate(&key, &block), expected);
        }
        assert_eq!(aes_in_functions().unwrap().components()[3].circuit.gate_count(), 0);
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
