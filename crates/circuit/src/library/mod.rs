//! Words, ciphers and matrices as circuits, and the example programs made of them.
//!
//! A word is a slice of [`Bit`]s, least significant first. The documentation of each function gives its cost
//! in AND gates; constant inputs make it cheaper.

pub mod aes;
pub mod compgc;
mod examples;
pub mod matrix;
pub mod papers;

use std::sync::Arc;

pub use examples::{Example, examples, millionaires};

use super::{Bit, Builder, Circuit, Component, Port, Type};
use brickwork_base::Error;

/// Returns the bitwise exclusive or; free.
///
/// # Panics
/// If the lengths of the words differ. This holds for all functions on two words in this module.
pub fn xor(b: &mut Builder, x: &[Bit], y: &[Bit]) -> Vec<Bit> {
    same_width(x, y);
    x.iter().zip(y).map(|(&x, &y)| b.xor(x, y)).collect()
}

/// Returns the sum of two words of n bits, modulo 2^n: n - 1 AND gates.
pub fn add(b: &mut Builder, x: &[Bit], y: &[Bit]) -> Vec<Bit> {
    add_with_carry(b, x, y, Bit::ZERO)
}

/// Returns the difference of two words of n bits, modulo 2^n: n - 1 AND gates.
pub fn subtract(b: &mut Builder, x: &[Bit], y: &[Bit]) -> Vec<Bit> {
    let complement: Vec<Bit> = y.iter().map(|&y| !y).collect();
    add_with_carry(b, x, &complement, Bit::ONE)
}

/// `x + y + carry` modulo 2^n.
fn add_with_carry(b: &mut Builder, x: &[Bit], y: &[Bit], mut carry: Bit) -> Vec<Bit> {
    same_width(x, y);
    let mut sum = Vec::with_capacity(x.len());
    for (i, (&x, &y)) in x.iter().zip(y).enumerate() {
        let partial = b.xor(x, y);
        sum.push(b.xor(partial, carry));
        if i + 1 < sum.capacity() {
            carry = majority(b, x, y, carry);
        }
    }
    sum
}

/// Returns whether at least two of the three are true; one AND gate.
fn majority(b: &mut Builder, x: Bit, y: Bit, z: Bit) -> Bit {
    let (xz, yz) = (b.xor(x, z), b.xor(y, z));
    let differ = b.and(xz, yz);
    b.xor(differ, z)
}

/// Returns whether `x < y` as unsigned words of n bits: n AND gates.
pub fn less_than(b: &mut Builder, x: &[Bit], y: &[Bit]) -> Bit {
    same_width(x, y);
    x.iter().zip(y).fold(Bit::ZERO, |borrow, (&x, &y)| majority(b, !x, y, borrow))
}

/// Returns whether two words of n bits are equal: n - 1 AND gates, in a tree.
pub fn equal(b: &mut Builder, x: &[Bit], y: &[Bit]) -> Bit {
    let mut level: Vec<Bit> = xor(b, x, y).into_iter().map(|d| !d).collect();
    while level.len() > 1 {
        level = level.chunks(2).map(|pair| if let [p, q] = *pair { b.and(p, q) } else { pair[0] }).collect();
    }
    level.first().copied().unwrap_or(Bit::ONE)
}

/// Returns `if condition { x } else { y }`: an AND gate a bit.
pub fn select(b: &mut Builder, condition: Bit, x: &[Bit], y: &[Bit]) -> Vec<Bit> {
    same_width(x, y);
    x.iter().zip(y).map(|(&x, &y)| b.mux(condition, x, y)).collect()
}

/// Returns the product of two words of n bits, modulo 2^n: n² - n + 1 AND gates.
pub fn multiply(b: &mut Builder, x: &[Bit], y: &[Bit]) -> Vec<Bit> {
    same_width(x, y);
    let Some((&first, rest)) = y.split_first() else { return Vec::new() };
    let mut product: Vec<Bit> = x.iter().map(|&x| b.and(x, first)).collect();
    for (i, &bit) in (1..).zip(rest) {
        let row: Vec<Bit> = x[..x.len() - i].iter().map(|&x| b.and(x, bit)).collect();
        let high = add(b, &product[i..], &row);
        product.splice(i.., high);
    }
    product
}

fn same_width(x: &[Bit], y: &[Bit]) {
    assert_eq!(x.len(), y.len(), "both words must have the same width");
}

/// Returns a component whose inputs and outputs are given word by word.
///
/// # Errors
/// [`Error::Input`] if an output is constant and there is no input.
pub fn component(
    name: &str,
    inputs: Vec<Port>,
    outputs: Vec<Port>,
    body: impl FnOnce(&mut Builder, &[&[Bit]]) -> Vec<Vec<Bit>>,
) -> Result<Component, Error> {
    let circuit = circuit(&inputs, body)?;
    Ok(Component { name: name.into(), inputs, outputs, circuit: Arc::new(circuit) })
}

fn circuit(
    inputs: &[Port],
    body: impl FnOnce(&mut Builder, &[&[Bit]]) -> Vec<Vec<Bit>>,
) -> Result<Circuit, Error> {
    let mut builder = Builder::new(super::port::total_width(inputs) as u32);
    let bits = builder.all_inputs();
    let mut rest = &bits[..];
    let words: Vec<&[Bit]> = inputs
        .iter()
        .map(|port| {
            rest.split_off(..port.width() as usize).expect(
                "the list has a bit for each wire of the \
             ports",
            )
        })
        .collect();
    let outputs = body(&mut builder, &words).concat();
    builder.finish(&outputs)
}

fn uint(name: &str, width: u32) -> Port {
    Port::new(name, Type::Uint(width))
}
