//! The attack on "single communication, multiple connections" as the paper prints it, and a test that the
//! attack fails against this implementation.

use super::*;
use crate::linking::block;
use brickwork_testing::Replayable as _;

/// Returns the labels of inputs by the printed scheme: each block has its own base, and all blocks share one
/// T.
fn printed(blocks: &[Vec<bool>], rng: &mut Rng) -> (Delta, Vec<Vec<Label>>) {
    let (delta, t) = (rng.delta(), rng.seed());
    let active = |bits: &Vec<bool>| {
        let falses = block(rng.label(), &t, bits.len());
        falses.iter().zip(bits).map(|(&label, &bit)| label ^ delta.times(bit.into())).collect()
    };
    (delta, blocks.iter().map(active).collect())
}

/// Returns the sums that an evaluator can compute from the active labels of two blocks: for each pair of
/// wires, the XOR of its four labels.
fn sums<'a>(one: &'a [Label], other: &'a [Label]) -> impl Iterator<Item = Label> + 'a {
    let wires = one.len().min(other.len());
    (0..wires).flat_map(move |i| (0..i).map(move |j| one[i] ^ one[j] ^ other[i] ^ other[j]))
}

/// Returns the most frequent nonzero sum of all pairs of blocks, and how often it occurs.
fn guess<'a>(blocks: impl IntoIterator<Item = &'a [Label]>) -> Option<(Label, usize)> {
    let blocks: Vec<&[Label]> = blocks.into_iter().collect();
    let mut counts = std::collections::HashMap::new();
    for (k, one) in blocks.iter().enumerate() {
        for other in &blocks[..k] {
            sums(one, other)
                .filter(|sum| *sum != Label::ZERO)
                .for_each(|sum| *counts.entry(sum.bits()).or_insert(0) += 1);
        }
    }
    counts.into_iter().max_by_key(|&(_, count)| count).map(|(bits, count)| (Label::from_bits(bits), count))
}

/// In the sum of `A ⊕ H(T ⊕ i)` over two wires of two blocks, all A and H cancel, and a multiple of R
/// remains. For half of the pairs, an evaluator that follows the protocol gets R itself, and with R both
/// labels of every wire. It can then evaluate every component on inputs of its choice, and compare secret
/// bits.
#[test]
fn the_printed_scheme_gives_the_offset_away() {
    let mut rng = Rng::replayable("test");
    let blocks: Vec<Vec<bool>> = (0..2).map(|_| (0..32).map(|_| rng.below(2) == 1).collect()).collect();
    let (delta, active) = printed(&blocks, &mut rng);
    let all: Vec<Label> = sums(&active[0], &active[1]).collect();
    assert!(all.iter().all(|sum| [Label::ZERO, delta.label()].contains(sum)));
    let hits = all.iter().filter(|&&sum| sum == delta.label()).count();
    assert!((all.len() / 4..3 * all.len() / 4).contains(&hits), "{hits} of {}", all.len());
    let (found, _) = guess(active.iter().map(Vec::as_slice)).expect("a block is not constant");
    assert_eq!(found, delta.label());
    // With R the evaluator sees where the bits of one block equal those of the other block.
    for (k, (a, b)) in blocks[0].iter().zip(&blocks[1]).enumerate() {
        let same = active[0][k] ^ active[1][k] == active[0][0] ^ active[1][0];
        assert_eq!(same, (a ^ b) == (blocks[0][0] ^ blocks[1][0]));
    }
}

/// Makes a program for which the printed scheme is insecure: one value has three readers, several values
/// enter one component, and all blocks have the same width.
fn chained(rng: &mut Rng) -> Program {
    let word = |name: &str| Port::new(name, Type::Uint(16));
    let mut program =
        ProgramBuilder::new("chained", vec![word("x0"), word("x1")], vec![word("y0"), word("y1")]).unwrap();
    let id = program.component(component("c", &[16, 16], &[16, 16], 300, rng)).unwrap();
    let from = |wires: [u32; 2]| wires.into_iter().flat_map(|w| w..w + 16).collect::<Vec<u32>>();
    let a = program.slot(id, &from([0, 32])).unwrap();
    let b = program.slot(id, &from([a, 16])).unwrap();
    let c = program.slot(id, &from([a, b])).unwrap();
    let d = program.slot(id, &from([a + 16, b + 16])).unwrap();
    let e = program.slot(id, &from([c, d])).unwrap();
    program.output(word("z"), Recipient::Evaluator, (e..e + 16).collect()).unwrap();
    program.finish().unwrap()
}

/// Computes the same sums over all labels that the evaluator has after a run of the repaired scheme, in which
/// each linked value has its own T. Blocks of one value carry the same bits, so their sums are 0. All other
/// sums are random and none is the offset. The test covers all inputs of slots and all wires.
#[test]
fn the_repaired_scheme_does_not() {
    let mut rng = Rng::replayable("test");
    let program = Arc::new(chained(&mut rng));
    for _ in 0..3 {
        let [a, b] = random_inputs(&program, &mut rng);
        let inside = inside(&program, Linking::Scmc, [&a, &b], rng.seed());
        let layout = Layout::new(&program, Linking::Scmc).unwrap();
        let ports = inside.active_inputs.chunks(16).chain(inside.actives.chunks(16));
        let blocks: Vec<&[Label]> = ports.collect();
        for (k, one) in blocks.iter().enumerate() {
            for other in &blocks[..k] {
                assert!(sums(one, other).all(|sum| sum != inside.delta.label()));
            }
        }
        // If a value is read twice, both blocks give the same sums with every third block. So the most
        // frequent sum occurs several times, but it is random.
        let (found, _) = guess(blocks.iter().copied()).expect("most sums are not zero");
        assert_ne!(found, inside.delta.label());
        // A link is one label for its whole block: each input label of the block is a wire label plus this
        // label.
        for link in &layout.links {
            let shift = inside.falses[link.from as usize] ^ inside.false_inputs[link.to];
            for k in 0..link.wires {
                assert!(inside.falses[link.from as usize + k] ^ inside.false_inputs[link.to + k] == shift);
            }
        }
    }
}
