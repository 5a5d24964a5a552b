//! Rows made from trees, compared with the definition.

use brickwork_kernels::*;

const WITH: Kernel = Kernel::PORTABLE;

fn random(seed: u128, blocks: usize) -> Vec<u128> {
    let mut random = vec![0; blocks];
    Aes128::new(seed).ctr(0, &mut random);
    random
}

fn tiles(blocks: &[u128]) -> Vec<Tile> {
    blocks.as_chunks().0.to_vec()
}

fn rows(blocks: &[u128]) -> Vec<TileRow> {
    blocks.as_chunks().0.to_vec()
}

/// Returns block `block` of a row, counted over all tiles.
fn block(tiles: &[Tile], row: usize, block: usize) -> u128 {
    tiles[block / 4][4 * row + block % 4]
}

/// Rows computed from the streams by the definition, for either party.
struct Expected {
    u: Vec<u128>,
    v: Vec<u128>,
}

fn folded(levels: usize, keys: &[u128], tree: usize, from: u64, blocks: usize) -> Expected {
    let leaves: Vec<Aes128> =
        keys[tree << levels..][..1 << levels].iter().map(|&key| Aes128::new(key)).collect();
    let mut streams = vec![0; blocks << levels];
    ctr_rows_with(WITH, &leaves, from.into(), &mut streams, blocks);
    let sum = |counts: &dyn Fn(usize) -> bool, at: usize| {
        (0..1 << levels).filter(|&y| counts(y)).fold(0, |sum, y| sum ^ streams[y * blocks + at])
    };
    let u = (0..blocks).map(|at| sum(&|_| true, at)).collect();
    let v = (0..levels).flat_map(|b| (0..blocks).map(move |at| (b, at)));
    Expected { u, v: v.map(|(b, at)| sum(&|y| y >> b & 1 == 1, at)).collect() }
}

/// Compares both parties' rows with the definition, for every kernel. The numbers of levels vary, the first
/// tree has corrections or not, and tiles may not fill all registers.
#[test]
fn rows_are_sums_of_streams() {
    for (levels, count) in [(1, 1), (1, 2), (2, 1), (2, 3), (4, 1), (4, 2), (4, 3), (8, 1), (8, 2)] {
        let trees = TILE_ROWS / levels;
        let keys = random(levels as u128, trees << levels);
        let (from, blocks) = ((1 << 40) - 3, 4 * count);
        let expected: Vec<Expected> =
            (0..trees).map(|tree| folded(levels, &keys, tree, from, blocks)).collect();
        let masks: [u128; TILE_ROWS] =
            std::array::from_fn(|row| (0x9e37_79b9_7f4a_7c15_u128 >> (row % 61) & 1).wrapping_neg());
        for kernel in Kernel::all_available() {
            let trees_of = Trees::new(kernel, levels, &keys);
            for first in [0, 1] {
                let given = random(7, blocks);
                let (mut x, mut got) = (rows(&given), tiles(&vec![!0; 512 * count]));
                let mut corrections = vec![[!0; 4]; (trees - first) * count];
                trees_of.receive(kernel, from, &mut x, &mut corrections, &mut got);
                let theirs = rows(&random(9, 4 * corrections.len()));
                let mut sent = tiles(&vec![!0; 512 * count]);
                trees_of.send(kernel, from, &masks, &theirs, &mut sent);
                for (tree, Expected { u, v }) in expected.iter().enumerate() {
                    for at in 0..blocks {
                        let row = at / 4 * (trees - first) + tree;
                        let [own, their] = match tree < first {
                            true => {
                                assert_eq!(x[at / 4][at % 4], u[at]);
                                [0, 0]
                            }
                            false => [&corrections, &theirs].map(|c| c[row - first][at % 4]),
                        };
                        assert_eq!(
                            own,
                            u[at] ^ if first == 0 { given[at] } else { u_of(&expected, at) },
                            "{kernel:?}"
                        );
                        for b in 0..levels {
                            let (row, v) = (levels * tree + b, v[b * blocks + at]);
                            assert_eq!(block(&got, row, at), v, "{kernel:?} {levels}");
                            let masked = (u[at] ^ their) & masks[row];
                            assert_eq!(block(&sent, row, at), v ^ masked, "{kernel:?} {levels}");
                        }
                    }
                }
            }
        }
    }
}

/// Returns the choices of the first tree.
fn u_of(expected: &[Expected], at: usize) -> u128 {
    expected[0].u[at]
}

/// A sender's trees of one level have one leaf each.
#[test]
fn a_leaf_alone_is_a_row() {
    let (keys, count) = (random(3, TILE_ROWS), 3);
    let masks: [u128; TILE_ROWS] = std::array::from_fn(|row| ((row as u128 / 3) & 1).wrapping_neg());
    for kernel in Kernel::all_available() {
        for first in [0, 1] {
            let corrections = rows(&random(5, 4 * (TILE_ROWS - first) * count));
            let mut sent = vec![[!0; 512]; count];
            Trees::new(kernel, 1, &keys).send(kernel, 5, &masks, &corrections, &mut sent);
            for (row, &key) in keys.iter().enumerate() {
                let mut stream = vec![0; 4 * count];
                Aes128::new(key).ctr_with(WITH, 5, &mut stream);
                for (at, r) in stream.into_iter().enumerate() {
                    let c = match row.checked_sub(first) {
                        Some(row) => corrections[at / 4 * (TILE_ROWS - first) + row][at % 4],
                        None => 0,
                    };
                    assert_eq!(block(&sent, row, at), r ^ c & masks[row], "{kernel:?}");
                }
            }
        }
    }
}

#[test]
fn sizes_that_do_not_fit_are_refused() {
    let kernel = Kernel::PORTABLE;
    for (levels, keys) in [(3, 128), (1, 127), (2, 128), (4, 511)] {
        assert!(std::panic::catch_unwind(|| Trees::new(kernel, levels, &vec![0; keys])).is_err());
    }
    let trees = Trees::new(kernel, 4, &[0; 512]);
    for (x, corrections, tiles) in [(1, 30, 1), (1, 33, 1), (2, 32, 1), (1, 0, 1)] {
        let call = || {
            let (mut x, mut c) = (vec![[0; 4]; x], vec![[0; 4]; corrections]);
            trees.receive(kernel, 0, &mut x, &mut c, &mut vec![[0; 512]; tiles]);
        };
        assert!(std::panic::catch_unwind(call).is_err(), "{x} {corrections} {tiles}");
    }
    let alone = Trees::new(kernel, 1, &[0; 128]);
    let received = || alone.receive(kernel, 0, &mut [[0; 4]], &mut [[0; 4]; 128], &mut [[0; 512]]);
    assert!(std::panic::catch_unwind(received).is_err(), "a leaf of each is missing");
}
