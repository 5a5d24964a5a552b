//! Products of square matrices, cut into blocks.

use super::{add, component, multiply};
use crate::{Bit, Port, Program, ProgramBuilder, Recipient, Type, Wire};
use brickwork_base::Error;

fn matrix(name: &str, size: u32, width: u32) -> Port {
    Port::new(name, Type::Array(Box::new(Type::Array(Box::new(Type::Uint(width)), size)), size))
}

/// Returns the product of the garbler's and the evaluator's matrix of `size` × `size` integers modulo
/// 2^`width`, for both. It is cut into products of blocks of `block` × `block` integers and sums of such
/// blocks.
///
/// With any block, there are `size`³ products of width² - width + 1 AND gates and `size`³ - `size`² sums of
/// width - 1: 4 186 368 for 16 × 16 integers of 32 bits.
///
/// # Errors
/// [`Error::Usage`] if `block` does not divide `size`, or a number is 0 or beyond 1024.
pub fn product(size: u32, width: u32, block: u32) -> Result<Program, Error> {
    if [size, width, block].iter().any(|n| !(1..=1024).contains(n)) || !size.is_multiple_of(block) {
        return Err(Error::Usage(format!(
            "there is no product of matrices of {size} x {size} integers of {width} bits in blocks of \
             {block} x {block}"
        )));
    }
    let mut program = ProgramBuilder::new(
        format!("matrix-product-{size}x{size}"),
        vec![matrix("a", size, width)],
        vec![matrix("b", size, width)],
    )?;
    let ports =
        || (vec![matrix("a", block, width), matrix("b", block, width)], vec![matrix("c", block, width)]);
    let (n, w) = (block as usize, width as usize);
    let multiply_blocks = component("block_product", ports().0, ports().1, |builder, words| {
        let element =
            |matrix: &'_ [Bit], i: usize, j: usize| matrix[(i * n + j) * w..(i * n + j + 1) * w].to_vec();
        let mut result = Vec::with_capacity(n * n);
        for (i, j) in (0..n * n).map(|e| (e / n, e % n)) {
            let mut sum: Option<Vec<Bit>> = None;
            for k in 0..n {
                let term = multiply(builder, &element(words[0], i, k), &element(words[1], k, j));
                sum = Some(match sum {
                    Some(sum) => add(builder, &sum, &term),
                    None => term,
                });
            }
            result.extend(sum);
        }
        result
    })?;
    let add_blocks = component("block_sum", ports().0, ports().1, |builder, words| {
        words[0].chunks(w).zip(words[1].chunks(w)).map(|(x, y)| add(builder, x, y)).collect()
    })?;
    let multiply_blocks = program.component(multiply_blocks)?;
    let add_blocks = if block < size { Some(program.component(add_blocks)?) } else { None };

    let blocks = size / block;
    let cells = block * block * width;
    let matrix_wires = size * size * width;
    // The wires of block (r, c) of a matrix whose rows have consecutive wires.
    let wires_of = |start: Wire, r: u32, c: u32| {
        (0..block).flat_map(move |i| {
            let first = start + ((r * block + i) * size + c * block) * width;
            first..first + block * width
        })
    };
    let mut result = vec![0; matrix_wires as usize];
    for (r, c) in (0..blocks * blocks).map(|e| (e / blocks, e % blocks)) {
        let mut sum: Option<Wire> = None;
        for k in 0..blocks {
            let inputs: Vec<Wire> = wires_of(0, r, k).chain(wires_of(matrix_wires, k, c)).collect();
            let term = program.slot(multiply_blocks, &inputs)?;
            sum = Some(match (sum, add_blocks) {
                (Some(sum), Some(add_blocks)) => {
                    let inputs: Vec<Wire> = (sum..sum + cells).chain(term..term + cells).collect();
                    program.slot(add_blocks, &inputs)?
                }
                _ => term,
            });
        }
        for (place, wire) in wires_of(0, r, c).zip(sum.into_iter().flat_map(|first| first..first + cells)) {
            result[place as usize] = wire;
        }
    }
    program.output(matrix("product", size, width), Recipient::Both, result)?;
    program.finish()
}
