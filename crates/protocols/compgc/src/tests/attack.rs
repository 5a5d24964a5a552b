//! The break of single communication, multiple connections as it is printed, and a test that it is not here.

use super::*;
use crate::linking::block;
use brickwork_testing::Replayable as _;

/// Garbled inputs of the printed scheme: blocks with a base each and one T for all of them.
fn printed(blocks: &[Vec<bool>], rng: &mut Rng) -> (Delta, Vec<Vec<Label>>) {
    let (delta, t) = (rng.delta(), rng.seed());
    let active = |bits: &Vec<bool>| {
        let falses = block(rng.label(), &t, bits.len());
        falses.iter().zip(bits).map(|(&label, &bit)| label ^ delta.times(bit.into())).collect()
    };
    (delta, blocks.iter().map(active).collect())
}

/// Returns the sums that an evaluator can compute from the active labels of two blocks: of each pair of wires
/// that of four.
fn sums<'a>(one: &'a [Label], other: &'a [Label]) -> impl Iterator<Item = Label> + 'a {
    let wires = one.len().min(other.len());
    (0..wires).flat_map(move |i| (0..i).map(move |j| one[i] ^ one[j] ^ other[i] ^ other[j]))
}

/// The most frequent value that is not zero.
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

/// `A ⊕ H(T ⊕ i)` of two wires in two blocks: all four A and H cancel, and the rest is a multiple of R. An
/// evaluator that only looks has R in half of the pairs, and with it both labels of every wire: it can
/// evaluate every component on inputs of its choice, and tell the bits of others apart.
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
    // With R the evaluator sees which wires of a block have the same bit as the other block's.
    for (k, (a, b)) in blocks[0].iter().zip(&blocks[1]).enumerate() {
        let same = active[0][k] ^ active[1][k] == active[0][0] ^ active[1][0];
        assert_eq!(same, (a ^ b) == (blocks[0][0] ^ blocks[1][0]));
    }
}

/// Makes a program in which one value has three readers, several values go into one component, and blocks
/// have the same width: it breaks the printed scheme.
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

/// The same sums over all labels that the evaluator has of a run of the repaired scheme, with one T for each
/// linked value. Blocks of one value carry the same bits and give 0. All others give something random, never
/// the offset, and nothing twice by which it could be found. It is the blocks of all slots' inputs and all
/// wires that are looked at.
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
        // A value that is read twice makes pairs of blocks agree with a third one: the most frequent value
        // occurs as often as there are such pairs, and is random.
        let (found, _) = guess(blocks.iter().copied()).expect("most sums are not zero");
        assert_ne!(found, inside.delta.label());
        // The blocks are blocks: a link is one label, and the inputs are the wires plus this label.
        for link in &layout.links {
            let shift = inside.falses[link.from as usize] ^ inside.false_inputs[link.to];
            for k in 0..link.wires {
                assert!(inside.falses[link.from as usize + k] ^ inside.false_inputs[link.to + k] == shift);
            }
        }
    }
}
