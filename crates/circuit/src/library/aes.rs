//! AES (FIPS 197) as circuits and as programs of components.
//!
//! A block, a key or a round key is one integer, whose most significant byte is the first byte in the
//! standard; so hexadecimal values read as in the standard's examples.

use super::{circuit, component, uint, xor};
use crate::{Bit, Builder, Component, ComponentId, Port, Program, ProgramBuilder, Recipient, Type, Wire};
use brickwork_base::Error;

/// Assigns equations `z = x ^ y` and `z = x & y`, in order.
macro_rules! straight_line {
    ($b:ident: $($z:ident = $x:ident $op:tt $y:ident),* $(,)?) => {
        $(let $z = straight_line!(@ $b $x $op $y);)*
    };
    (@ $b:ident $x:ident ^ $y:ident) => { $b.xor($x, $y) };
    (@ $b:ident $x:ident & $y:ident) => { $b.and($x, $y) };
}

/// Does SubBytes on one byte: 32 AND gates.
///
/// The circuit is by Boyar and Peralta ("A new combinational logic minimization technique with applications
/// to cryptology", SEA 2010): a linear layer into a tower of fields, the inversion there, a linear layer
/// back. The inversion in GF(2^4) takes 5 AND gates; each of the three products in GF(2^4), one before and
/// two after the inversion, takes 9.
pub fn sub_byte(b: &mut Builder, byte: &[Bit]) -> Vec<Bit> {
    let &[x7, x6, x5, x4, x3, x2, x1, x0] = byte else { panic!("a byte has 8 bits, not {}", byte.len()) };
    // The change of basis, with the sums that the products need.
    straight_line! { b:
        y14 = x3 ^ x5, y13 = x0 ^ x6, y9 = x0 ^ x3, y8 = x0 ^ x5, t0 = x1 ^ x2, y1 = t0 ^ x7, y4 = y1 ^ x3,
        y12 = y13 ^ y14, y2 = y1 ^ x0, y5 = y1 ^ x6, y3 = y5 ^ y8, t1 = x4 ^ y12, y15 = t1 ^ x5,
        y20 = t1 ^ x1, y6 = y15 ^ x7, y10 = y15 ^ t0, y11 = y20 ^ y9, y7 = x7 ^ y11, y17 = y10 ^ y11,
        y19 = y10 ^ y8, y16 = t0 ^ y11, y21 = y13 ^ y16, y18 = x0 ^ y16,
    }
    // The first product, and the other terms of the element of GF(2^4) to invert: t21 to t24.
    straight_line! { b:
        t2 = y12 & y15, t3 = y3 & y6, t4 = t3 ^ t2, t5 = y4 & x7, t6 = t5 ^ t2, t7 = y13 & y16, t8 = y5 & y1,
        t9 = t8 ^ t7, t10 = y2 & y7, t11 = t10 ^ t7, t12 = y9 & y11, t13 = y14 & y17, t14 = t13 ^ t12,
        t15 = y8 & y10, t16 = t15 ^ t12, t17 = t4 ^ t14, t18 = t6 ^ t16, t19 = t9 ^ t14, t20 = t11 ^ t16,
        t21 = t17 ^ y20, t22 = t18 ^ y19, t23 = t19 ^ y21, t24 = t20 ^ y18,
    }
    // The inverse t29, t33, t37, t40, and sums of its bits.
    straight_line! { b:
        t25 = t21 ^ t22, t26 = t21 & t23, t27 = t24 ^ t26, t28 = t25 & t27, t29 = t28 ^ t22, t30 = t23 ^ t24,
        t31 = t22 ^ t26, t32 = t31 & t30, t33 = t32 ^ t24, t34 = t23 ^ t33, t35 = t27 ^ t33, t36 = t24 & t35,
        t37 = t36 ^ t34, t38 = t27 ^ t36, t39 = t29 & t38, t40 = t25 ^ t39, t41 = t40 ^ t37, t42 = t29 ^ t33,
        t43 = t29 ^ t40, t44 = t33 ^ t37, t45 = t42 ^ t41,
    }
    // The two products after the inversion.
    straight_line! { b:
        z0 = t44 & y15, z1 = t37 & y6, z2 = t33 & x7, z3 = t43 & y16, z4 = t40 & y1, z5 = t29 & y7,
        z6 = t42 & y11, z7 = t45 & y17, z8 = t41 & y10, z9 = t44 & y12, z10 = t37 & y3, z11 = t33 & y4,
        z12 = t43 & y13, z13 = t40 & y5, z14 = t29 & y2, z15 = t42 & y9, z16 = t45 & y14, z17 = t41 & y8,
    }
    // The change of basis back, and the affine map. The constant of this map inverts four bits.
    straight_line! { b:
        t46 = z15 ^ z16, t47 = z10 ^ z11, t48 = z5 ^ z13, t49 = z9 ^ z10, t50 = z2 ^ z12, t51 = z2 ^ z5,
        t52 = z7 ^ z8, t53 = z0 ^ z3, t54 = z6 ^ z7, t55 = z16 ^ z17, t56 = z12 ^ t48, t57 = t50 ^ t53,
        t58 = z4 ^ t46, t59 = z3 ^ t54, t60 = t46 ^ t57, t61 = z14 ^ t57, t62 = t52 ^ t58, t63 = t49 ^ t58,
        t64 = z4 ^ t59, t65 = t61 ^ t62, t66 = z1 ^ t63, s0 = t59 ^ t63, s6 = t56 ^ t62, s7 = t48 ^ t60,
        t67 = t64 ^ t65, s3 = t53 ^ t66, s4 = t51 ^ t66, s5 = t47 ^ t65, s1 = t64 ^ s3, s2 = t55 ^ t67,
    }
    vec![!s7, !s6, s5, s4, s3, !s2, !s1, s0]
}

/// Multiplies by x in the field of AES, without AND gates.
pub(super) fn double(b: &mut Builder, byte: &[Bit]) -> Vec<Bit> {
    let top = byte[7];
    (0..8)
        .map(|i| match i {
            0 => top,
            1 | 3 | 4 => b.xor(byte[i - 1], top),
            _ => byte[i - 1],
        })
        .collect()
}

/// Returns the bytes of a word, most significant first.
fn bytes(word: &[Bit]) -> Vec<Vec<Bit>> {
    word.rchunks(8).map(<[Bit]>::to_vec).collect()
}

fn from_bytes(bytes: &[Vec<Bit>]) -> Vec<Bit> {
    bytes.iter().rev().flatten().copied().collect()
}

/// Applies the S-box to each byte of a word or a state: 32 AND gates a byte.
pub(super) fn sub_bytes(b: &mut Builder, word: &[Bit]) -> Vec<Bit> {
    word.chunks(8).flat_map(|byte| sub_byte(b, byte)).collect()
}

fn mix_column(b: &mut Builder, column: &[Vec<Bit>]) -> Vec<Vec<Bit>> {
    let sums: Vec<Vec<Bit>> = (0..4).map(|i| xor(b, &column[i], &column[(i + 1) % 4])).collect();
    let mix = |i: usize| {
        let doubled = double(b, &sums[i]);
        let rest = xor(b, &column[(i + 1) % 4], &sums[(i + 2) % 4]);
        xor(b, &doubled, &rest)
    };
    (0..4).map(mix).collect()
}

/// Does ShiftRows, which needs no gates.
pub(super) fn shift_rows(state: &[Bit]) -> Vec<Bit> {
    let state = bytes(state);
    // Byte 4c + r is in row r and column c; row r moves by r columns.
    from_bytes(&(0..16).map(|i| state[(i + 4 * (i % 4)) % 16].clone()).collect::<Vec<_>>())
}

/// Does MixColumns: no AND gates.
pub(super) fn mix_columns(b: &mut Builder, state: &[Bit]) -> Vec<Bit> {
    from_bytes(&bytes(state).chunks(4).flat_map(|column| mix_column(b, column)).collect::<Vec<_>>())
}

/// Does one round: SubBytes, ShiftRows, MixColumns unless it is the last, AddRoundKey. 512 AND gates.
pub fn round(b: &mut Builder, state: &[Bit], round_key: &[Bit], last: bool) -> Vec<Bit> {
    let shifted = shift_rows(&sub_bytes(b, state));
    let mixed = if last { shifted } else { mix_columns(b, &shifted) };
    xor(b, &mixed, round_key)
}

/// Returns the round keys of a key of 128, 192 or 256 bits: 1280, 1024 or 1664 AND gates.
///
/// # Panics
/// If the key has another length.
pub fn expand_key(b: &mut Builder, key: &[Bit]) -> Vec<Vec<Bit>> {
    let length = key.len() / 32;
    assert!(
        key.len().is_multiple_of(32) && [4, 6, 8].contains(&length),
        "AES keys have 128, 192 or 256 bits"
    );
    let mut words: Vec<Vec<Bit>> = key.rchunks(32).map(<[Bit]>::to_vec).collect();
    let mut constant: Vec<Bit> = (0..8).map(|i| Bit::constant(i == 0)).collect();
    for i in length..4 * (length + 7) {
        let mut word = words[i - 1].clone();
        if i % length == 0 {
            word.rotate_right(8);
            word = sub_bytes(b, &word);
            let top = xor(b, &word[24..], &constant);
            word.splice(24.., top);
            constant = double(b, &constant);
        } else if length > 6 && i % length == 4 {
            word = sub_bytes(b, &word);
        }
        words.push(xor(b, &words[i - length], &word));
    }
    words.chunks(4).map(|words| words.iter().rev().flatten().copied().collect()).collect()
}

/// Encrypts a block under round keys: 512 AND gates for each but the first.
///
/// # Panics
/// If there are fewer than two round keys.
pub fn encrypt(b: &mut Builder, round_keys: &[Vec<Bit>], block: &[Bit]) -> Vec<Bit> {
    let [first, middle @ .., last] = round_keys else { panic!("AES must have at least one round") };
    let mut state = xor(b, block, first);
    for round_key in middle {
        state = round(b, &state, round_key, false);
    }
    round(b, &state, last, true)
}

fn block(name: &str) -> Port {
    uint(name, 128)
}

/// Returns AES-128 with its key schedule as one component: 6400 AND gates.
///
/// # Errors
/// Only if a circuit exceeds its limits.
pub fn aes_128_component() -> Result<Component, Error> {
    component("aes_128", vec![block("key"), block("block")], vec![block("ciphertext")], |b, words| {
        let round_keys = expand_key(b, words[0]);
        vec![encrypt(b, &round_keys, words[1])]
    })
}

/// Returns one AES-128: the garbler's key, the evaluator's block, the ciphertext for both.
///
/// # Errors
/// See [`aes_128_component`].
pub fn aes_128() -> Result<Program, Error> {
    of_one_component("aes-128", aes_128_component()?)
}

/// Returns AES-128 without the key schedule: the garbler gives the eleven round keys. 5120 AND gates.
///
/// # Errors
/// See [`aes_128_component`].
pub fn aes_128_expanded() -> Result<Program, Error> {
    let round_keys = Port::new("round_keys", Type::Array(Box::new(Type::Uint(128)), 11));
    let component = component(
        "aes_128_expanded",
        vec![round_keys, block("block")],
        vec![block("ciphertext")],
        |b, words| {
            let round_keys: Vec<Vec<Bit>> = words[0].chunks(128).map(<[Bit]>::to_vec).collect();
            vec![encrypt(b, &round_keys, words[1])]
        },
    )?;
    of_one_component("aes-128-expanded", component)
}

/// Makes a program of one component, whose first input belongs to the garbler and whose second to the
/// evaluator.
fn of_one_component(name: &str, component: Component) -> Result<Program, Error> {
    let (garbler, evaluator, result) =
        (component.inputs[0].clone(), component.inputs[1].clone(), component.outputs[0].clone());
    let inputs: Vec<Wire> = (0..component.circuit.inputs() as Wire).collect();
    let mut program = ProgramBuilder::new(name, vec![garbler], vec![evaluator])?;
    let id = program.component(component)?;
    let first = program.slot(id, &inputs)?;
    program.output(result, Recipient::Both, (first..first + 128).collect())?;
    program.finish()
}

/// Returns the round keys of an AES-128 key, in the clear; both are bits as on wires.
pub fn round_keys(key: &[bool]) -> Result<Vec<bool>, Error> {
    let schedule = circuit(&[uint("key", key.len() as u32)], |b, words| expand_key(b, words[0]))?;
    Ok(schedule.evaluate(key))
}

/// The length of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeySize {
    /// 128 bits, 10 rounds.
    Aes128,
    /// 192 bits, 12 rounds.
    Aes192,
    /// 256 bits, 14 rounds.
    Aes256,
}

/// Returns AES cut into rounds and steps of the key schedule. The three sizes share components under the same
/// names, so one stock serves all three.
///
/// # Errors
/// See [`aes_128_component`].
pub fn aes_from_rounds(size: KeySize) -> Result<Program, Error> {
    let (name, length) = match size {
        KeySize::Aes128 => ("aes-128-rounds", 4),
        KeySize::Aes192 => ("aes-192-rounds", 6),
        KeySize::Aes256 => ("aes-256-rounds", 8),
    };
    let mut program = ProgramBuilder::new(name, vec![uint("key", 32 * length)], vec![block("block")])?;
    let rounds = length as usize + 6;
    let words = schedule_from_steps(&mut program, length as usize, 4 * (rounds + 1))?;

    let round_key =
        |r: usize| words[4 * r..4 * (r + 1)].iter().rev().flatten().copied().collect::<Vec<Wire>>();
    let in_out = || (vec![block("state"), block("round_key")], vec![block("state")]);
    let add = component("aes_add_round_key", in_out().0, in_out().1, |b, w| vec![xor(b, w[0], w[1])])?;
    let middle = component("aes_round", in_out().0, in_out().1, |b, w| vec![round(b, w[0], w[1], false)])?;
    let last = component("aes_last_round", in_out().0, in_out().1, |b, w| vec![round(b, w[0], w[1], true)])?;
    let (add, middle, last) = (program.component(add)?, program.component(middle)?, program.component(last)?);
    let mut state: Vec<Wire> = (32 * length..32 * length + 128).collect();
    for r in 0..=rounds {
        let id = if r == 0 {
            add
        } else if r == rounds {
            last
        } else {
            middle
        };
        let first = program.slot(id, &[state, round_key(r)].concat())?;
        state = (first..first + 128).collect();
    }
    program.output(block("ciphertext"), Recipient::Both, state)?;
    program.finish()
}

/// Returns the wires of each word of the key schedule, least significant bit first.
fn schedule_from_steps(
    program: &mut ProgramBuilder,
    length: usize,
    count: usize,
) -> Result<Vec<Vec<Wire>>, Error> {
    let mut words: Vec<Vec<Wire>> =
        (0..length as u32).rev().map(|i| (32 * i..32 * (i + 1)).collect()).collect();
    let steps = KeySteps::new(program, length == 6)?;
    let constants = program.slot(steps.constants, &[0])?;
    let (mut round_constant, no_constant): (Vec<Wire>, Vec<Wire>) =
        ((constants..constants + 8).collect(), (constants + 8..constants + 16).collect());
    while words.len() < count {
        let old = words.len() - length;
        let mut last = words[words.len() - 1].clone();
        // The solderings rotate the bytes, without gates.
        last.rotate_right(8);
        round_constant = steps.four(program, &mut words, old, &last, &round_constant)?;
        if words.len() >= count {
            break;
        }
        match steps.pair {
            Some(pair) => {
                let inputs = [&words[old + 5][..], &words[old + 4], &words[words.len() - 1]].concat();
                let first = program.slot(pair, &inputs)?;
                words.extend([(first + 32..first + 64).collect(), (first..first + 32).collect()]);
            }
            None if length == 8 => {
                let last = words[words.len() - 1].clone();
                steps.four(program, &mut words, old + 4, &last, &no_constant)?;
            }
            None => {}
        }
    }
    Ok(words)
}

/// The components of the key schedule.
struct KeySteps {
    constants: ComponentId,
    sub_word: ComponentId,
    four: ComponentId,
    pair: Option<ComponentId>,
}

impl KeySteps {
    fn new(program: &mut ProgramBuilder, pairs: bool) -> Result<Self, Error> {
        // A constant is derived from any input wire.
        let constants = component(
            "aes_constants",
            vec![uint("any", 1)],
            vec![uint("one", 8), uint("zero", 8)],
            |_, _| vec![(0..8).map(|i| Bit::constant(i == 0)).collect(), vec![Bit::ZERO; 8]],
        )?;
        let sub_word = component("aes_sub_word", vec![uint("word", 32)], vec![uint("word", 32)], |b, w| {
            vec![sub_bytes(b, w[0])]
        })?;
        let four = component(
            "aes_key_step",
            vec![block("words"), uint("word", 32), uint("constant", 8)],
            vec![block("words"), uint("constant", 8)],
            |b, w| {
                let mut previous = w[1].to_vec();
                let top = xor(b, &previous[24..], w[2]);
                previous.splice(24.., top);
                vec![chain(b, w[0], previous), double(b, w[2])]
            },
        )?;
        let pair = component(
            "aes_key_pair",
            vec![uint("words", 64), uint("word", 32)],
            vec![uint("words", 64)],
            |b, w| vec![chain(b, w[0], w[1].to_vec())],
        )?;
        Ok(KeySteps {
            constants: program.component(constants)?,
            sub_word: program.component(sub_word)?,
            four: program.component(four)?,
            pair: if pairs { Some(program.component(pair)?) } else { None },
        })
    }

    /// Adds the next four words, computed from the four words from `old` on, the substituted `last` and a
    /// constant; returns the next constant.
    fn four(
        &self,
        program: &mut ProgramBuilder,
        words: &mut Vec<Vec<Wire>>,
        old: usize,
        last: &[Wire],
        constant: &[Wire],
    ) -> Result<Vec<Wire>, Error> {
        let substituted = program.slot(self.sub_word, last)?;
        let mut inputs: Vec<Wire> = words[old..old + 4].iter().rev().flatten().copied().collect();
        inputs.extend(substituted..substituted + 32);
        inputs.extend(constant);
        let first = program.slot(self.four, &inputs)?;
        words.extend((0..4).rev().map(|i| (first + 32 * i..first + 32 * (i + 1)).collect()));
        Ok((first + 128..first + 136).collect())
    }
}

/// Returns for each word its sum with the result for the word after it, from the last word to the first.
pub(super) fn chain(b: &mut Builder, words: &[Bit], mut previous: Vec<Bit>) -> Vec<Bit> {
    let mut new: Vec<Vec<Bit>> = Vec::new();
    for word in words.rchunks(32) {
        previous = xor(b, word, &previous);
        new.push(previous.clone());
    }
    new.iter().rev().flatten().copied().collect()
}

/// Returns CBC-MAC of `blocks` blocks, cut into one AES-128 a block: the garbler's key, the evaluator's
/// message, the tag for both. CBC-MAC is a secure MAC only if all messages have the same length.
///
/// # Errors
/// [`Error::Usage`] if there is no block.
pub fn cbc_mac(blocks: u32) -> Result<Program, Error> {
    if blocks == 0 {
        return Err(Error::Usage("a CBC-MAC needs at least one block".into()));
    }
    let message = Port::new("message", Type::Array(Box::new(Type::Uint(128)), blocks));
    let mut program = ProgramBuilder::new(format!("cbc-mac-{blocks}"), vec![block("key")], vec![message])?;
    let aes = program.component(aes_128_component()?)?;
    // All blocks share one kind of AES component; the XORs between them are free.
    let add = component("xor_128", vec![block("x"), block("y")], vec![block("sum")], |b, w| {
        vec![xor(b, w[0], w[1])]
    })?;
    let add = if blocks > 1 { Some(program.component(add)?) } else { None };
    let key: Vec<Wire> = (0..128).collect();
    let mut chained: Option<Vec<Wire>> = None;
    for i in 1..=blocks {
        let mut input: Vec<Wire> = (128 * i..128 * (i + 1)).collect();
        if let (Some(add), Some(chained)) = (add, chained) {
            let first = program.slot(add, &[chained, input].concat())?;
            input = (first..first + 128).collect();
        }
        let first = program.slot(aes, &[&key[..], &input].concat())?;
        chained = Some((first..first + 128).collect());
    }
    program.output(block("tag"), Recipient::Both, chained.unwrap_or_default())?;
    program.finish()
}
