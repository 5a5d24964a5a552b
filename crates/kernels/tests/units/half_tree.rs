//! Correlated trees, and the local linear code that multiplies their results.

use brickwork_kernels::{Aes128, Kernel, add_encoded, complete_tree, grow_tree, sum_where};

/// Returns a generator of numbers that look random.
fn numbers() -> impl FnMut() -> u128 {
    let mut state = 1u128;
    move || {
        state = state.wrapping_mul(0x2d99_787f_926d_4693_2da9_42f9_b2a5_3d5d).wrapping_add(0x9e37_79b9);
        state ^ state >> 61
    }
}

/// Returns all levels of a tree, computed by the definition.
fn levels(key: &Aes128, first: [u128; 2], depth: usize) -> Vec<Vec<u128>> {
    let sigma = |v: u128| ((v >> 64) ^ v & u128::from(u64::MAX)) << 64 | v >> 64;
    let h = |x: u128| {
        let mut block = [sigma(x)];
        key.encrypt_with(Kernel::PORTABLE, &mut block);
        block[0] ^ sigma(x)
    };
    let mut levels = vec![first.to_vec()];
    while levels.len() < depth {
        let nodes = levels.last().unwrap();
        let left: Vec<u128> = nodes.iter().map(|&x| h(x)).collect();
        let right = nodes.iter().zip(&left).map(|(x, left)| x ^ left);
        levels.push(left.iter().copied().chain(right).collect());
    }
    levels
}

/// Both parties' trees follow the definition for every kernel, depth and path. All leaves of the two parties
/// are equal except one, which differs by the offset.
#[test]
fn trees_are_those_of_the_definition() {
    let mut next = numbers();
    for depth in 1..=9 {
        let (key, root, delta) = (Aes128::new(next()), next(), next() | 1);
        let levels = levels(&key, [root, root ^ delta], depth);
        let leaves = levels.last().unwrap();
        assert!(levels.iter().all(|nodes| nodes.iter().fold(0, |sum, node| sum ^ node) == delta));
        for kernel in Kernel::all_available() {
            let (mut grown, mut lefts) = (vec![0; 1 << depth], vec![0; depth]);
            grow_tree(kernel, &key, [root, root ^ delta], &mut grown, &mut lefts);
            assert!(grown.iter().zip(leaves).all(|(grown, leaf)| *grown == leaf & !1), "{kernel:?} {depth}");
            for (nodes, left) in levels.iter().zip(&lefts) {
                assert_eq!(nodes[..nodes.len() / 2].iter().fold(0, |sum, node| sum ^ node), *left);
            }
            for path in (0..1 << depth).step_by(if depth > 6 { 37 } else { 1 }) {
                let known: Vec<u128> =
                    (0..depth).map(|k| lefts[k] ^ (delta * (path as u128 >> k & 1 ^ 1))).collect();
                let mut completed = vec![!0; 1 << depth];
                complete_tree(kernel, &key, path, &known, &mut completed);
                for (place, (completed, grown)) in completed.iter().zip(&grown).enumerate() {
                    let expected = if place == path { grown ^ delta } else { *grown };
                    assert_eq!(*completed, expected, "{kernel:?} {depth} {path} {place}");
                }
            }
        }
    }
}

#[test]
fn sums_are_of_the_values_whose_words_end_in_1() {
    let mut next = numbers();
    for count in [0, 1, 3, 4, 31, 64, 129] {
        let words: Vec<u128> = (0..count).map(|_| next()).collect();
        let values: Vec<u128> = (0..count).map(|_| next()).collect();
        let chosen = words.iter().zip(&values).filter(|(word, _)| *word & 1 == 1);
        let expected = chosen.fold(0, |sum, (_, value)| sum ^ value);
        for kernel in Kernel::all_available() {
            assert_eq!(sum_where(kernel, &words, &values), expected, "{kernel:?} {count}");
        }
    }
}

/// Compares with the definition, row by row. The rows do not depend on how they are split into calls.
#[test]
fn words_are_sums_of_ten_of_the_message() {
    let mut next = numbers();
    let key = Aes128::new(next());
    for bits in [0, 1, 6, 12] {
        let message: Vec<u128> = (0..1 << bits).map(|_| next()).collect();
        let before: Vec<u128> = (0..100).map(|_| next()).collect();
        let expected: Vec<u128> = before
            .iter()
            .enumerate()
            .map(|(row, word)| {
                let mut places = [2 * (7 + row as u128), 2 * (7 + row as u128) + 1];
                key.encrypt_with(Kernel::PORTABLE, &mut places);
                let halves = places.map(|block| [block as u64, (block >> 64) as u64]).concat();
                let all = halves.iter().flat_map(|half| [0, 21, 42].map(|bit| half >> bit));
                all.fold(*word, |sum, place| sum ^ message[place as usize % message.len()])
            })
            .collect();
        for kernel in Kernel::all_available() {
            let mut words = before.clone();
            let (one, other) = words.split_at_mut(41);
            add_encoded(kernel, &key, 7, &message, one);
            add_encoded(kernel, &key, 48, &message, other);
            assert_eq!(words, expected, "{kernel:?} {bits}");
        }
    }
}
