//! The binary linear codes of the commitments: they are systematic, with dimension 128 and minimum distance
//! at least s + 2.
//!
//! All of them come from extended BCH codes. For s = 64 and 80 one code of length 512 is shortened; for s =
//! 40 Construction X3 glues tails to a chain of three codes of length 256, which saves traffic: 147 parity
//! bits a commitment. The distances are lower bounds from the BCH bound; the tests compute them again.

use std::sync::OnceLock;

use brickwork_kernels as kernels;

pub use super::rows::DIMENSION;

/// A systematic binary code: a codeword is the 128 message bits followed by the parity bits.
#[derive(Debug)]
pub struct BinaryCode {
    distance: u32,
    /// For each parity bit, the message bits that it adds up.
    parity: Vec<u128>,
}

impl BinaryCode {
    /// Returns the code for `s` bits of statistical security: `[275, 128, 42]` for 40, `[399, 128, 74]` for
    /// 64, `[429, 128, 84]` for 80. Returns `None` for any other `s`.
    pub fn for_security(s: u32) -> Option<&'static BinaryCode> {
        static S40: OnceLock<BinaryCode> = OnceLock::new();
        static S64: OnceLock<BinaryCode> = OnceLock::new();
        static S80: OnceLock<BinaryCode> = OnceLock::new();
        match s {
            40 => Some(S40.get_or_init(construction_x3)),
            64 => Some(S64.get_or_init(|| shortened_bch(9, 36))),
            80 => Some(S80.get_or_init(|| shortened_bch(9, 41))),
            _ => None,
        }
    }

    /// Returns the length n in bits.
    pub fn length(&self) -> usize {
        DIMENSION + self.parity.len()
    }

    /// Returns the number of parity bits, n - 128.
    pub fn parity_bits(&self) -> usize {
        self.parity.len()
    }

    /// Returns a lower bound on the minimum distance.
    pub fn distance(&self) -> u32 {
        self.distance
    }

    /// Returns the number of 64-bit words of a codeword.
    pub fn words(&self) -> usize {
        self.length().div_ceil(64)
    }

    /// Encodes `blocks * 128` messages at once: `message` and `parity` hold one row of `blocks` 128-bit
    /// blocks for each bit, and bit j of a row belongs to message j. Takes constant time: the choice of the
    /// added rows is public.
    pub fn encode_rows(&self, message: &[u128], parity: &mut [u128], blocks: usize) {
        kernels::parity_rows(&self.parity, message, parity, blocks);
    }
}

/// A polynomial over F_2 or a word of a code: bit i of the vector is the coefficient of x^i.
type Word = Vec<bool>;

fn multiply(a: &[bool], b: &[bool]) -> Word {
    let mut product = vec![false; a.len() + b.len() - 1];
    for (i, _) in a.iter().enumerate().filter(|(_, bit)| **bit) {
        for (j, &bit) in b.iter().enumerate() {
            product[i + j] ^= bit;
        }
    }
    product
}

/// The powers of a primitive element of GF(2^m), in the order of their exponents.
fn powers(m: u32) -> Vec<u32> {
    let primitive = match m {
        8 => 0b1_0001_1101,
        9 => 0b10_0001_0001,
        _ => unreachable!("the codes in this file use no other fields"),
    };
    let mut element = 1u32;
    (0..(1 << m) - 1)
        .map(|_| {
            let current = element;
            element <<= 1;
            if element >> m != 0 {
                element ^= primitive;
            }
            current
        })
        .collect()
}

/// The exponents of the roots of the narrow-sense BCH code that corrects `t` errors: 1 to 2t and their
/// conjugates.
fn roots(m: u32, t: usize) -> Vec<bool> {
    let n = (1usize << m) - 1;
    let mut root = vec![false; n];
    for start in 1..=2 * t {
        let mut e = start;
        while !root[e] {
            root[e] = true;
            e = 2 * e % n;
        }
    }
    root
}

/// The generator polynomial of the code of [`roots`]: the product of (x - alpha^e) over its roots, computed
/// in GF(2^m).
fn generator(m: u32, t: usize) -> Word {
    let alpha = powers(m);
    let n = alpha.len();
    let mut log = vec![0usize; n + 1];
    for (e, &element) in alpha.iter().enumerate() {
        log[element as usize] = e;
    }
    let times = |a: u32, e: usize| if a == 0 { 0 } else { alpha[(log[a as usize] + e) % n] };
    let mut g = vec![1u32];
    for (e, _) in roots(m, t).iter().enumerate().filter(|(_, root)| **root) {
        let mut next = vec![0u32; g.len() + 1];
        for (i, &c) in g.iter().enumerate() {
            next[i + 1] ^= c;
            next[i] ^= times(c, e);
        }
        g = next;
    }
    g.into_iter().map(|c| c == 1).collect()
}

/// The multiples x^0 g, x^1 g, … as words of the extended code of length 2^m.
fn extended_rows(m: u32, g: &[bool], count: usize) -> Vec<Word> {
    let n = (1usize << m) - 1;
    (0..count)
        .map(|shift| {
            let mut monomial = vec![false; shift + 1];
            monomial[shift] = true;
            let mut word = multiply(&monomial, g);
            assert!(word.len() <= n);
            word.resize(n, false);
            let overall = word.iter().filter(|b| **b).count() % 2 == 1;
            word.push(overall);
            word
        })
        .collect()
}

/// Returns the extended BCH code of length 2^m that corrects `t` errors, shortened. The distance is 2t + 2,
/// which shortening does not reduce.
fn shortened_bch(m: u32, t: usize) -> BinaryCode {
    let g = generator(m, t);
    let dimension = (1 << m) - g.len();
    systematic(extended_rows(m, &g, dimension), 2 * t as u32 + 2)
}

/// Construction X3 on the extended BCH codes `[256, 131, 38]` ⊃ `[256, 123, 40]` ⊃ `[256, 115, 44]` with
/// tails `[13, 8, 4]` and `[9, 8, 2]`. The tail adds 4 to the weight of a word outside the middle code, and 2
/// to that of a word of the middle code outside the inner one.
fn construction_x3() -> BinaryCode {
    let (outer, middle, inner) = (generator(8, 18), generator(8, 19), generator(8, 21));
    let mut rows = Vec::new();
    let mut add = |words: Vec<Word>, tail: &dyn Fn(usize) -> Word| {
        for (i, mut word) in words.into_iter().enumerate() {
            word.extend(tail(i));
            rows.push(word);
        }
    };
    add(extended_rows(8, &inner, 256 - inner.len()), &|_| vec![false; 22]);
    add(extended_rows(8, &middle, inner.len() - middle.len()), &|i| {
        [vec![false; 13], parity_tail(i)].concat()
    });
    add(extended_rows(8, &outer, middle.len() - outer.len()), &|i| {
        [hamming_tail(i), vec![false; 9]].concat()
    });
    systematic(rows, 42)
}

/// Row `i` of the generator matrix of the `[9, 8, 2]` code: bit `i` and its parity.
fn parity_tail(i: usize) -> Word {
    (0..9).map(|j| j == i || j == 8).collect()
}

/// Row `i` of the generator matrix of the `[13, 8, 4]` code, an extended Hamming code shortened: the columns
/// of its parity part are distinct words of odd weight at least 3.
fn hamming_tail(i: usize) -> Word {
    const ODD: [u8; 8] = [0b00111, 0b01011, 0b01101, 0b01110, 0b10011, 0b10101, 0b10110, 0b11001];
    (0..13).map(|j| if j < 8 { j == i } else { ODD[i] >> (j - 8) & 1 == 1 }).collect()
}

/// Brings a generator matrix into systematic form. Keeps 128 of its rows, by shortening at the pivots of the
/// other rows, and moves the kept pivots to the front.
fn systematic(mut rows: Vec<Word>, distance: u32) -> BinaryCode {
    let length = rows[0].len();
    let mut pivots: Vec<usize> = Vec::new();
    for column in 0..length {
        let rank = pivots.len();
        let Some(found) = (rank..rows.len()).find(|&r| rows[r][column]) else { continue };
        rows.swap(rank, found);
        let pivot = rows[rank].clone();
        for (r, row) in rows.iter_mut().enumerate() {
            if r != rank && row[column] {
                row.iter_mut().zip(&pivot).for_each(|(a, &b)| *a ^= b);
            }
        }
        pivots.push(column);
    }
    assert_eq!(pivots.len(), rows.len(), "the rows of a generator matrix are linearly independent");
    let parity = (0..length)
        .filter(|column| !pivots.contains(column))
        .map(|column| (0..DIMENSION).fold(0u128, |mask, row| mask | (u128::from(rows[row][column]) << row)))
        .collect();
    BinaryCode { distance, parity }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code_word(code: &BinaryCode, message: u128) -> u32 {
        message.count_ones() + code.parity.iter().map(|m| (m & message).count_ones() % 2).sum::<u32>()
    }

    /// Returns the dimension of the narrow-sense code and its BCH bound: the length of the first run of
    /// consecutive roots, plus one.
    fn bch(m: u32, t: usize) -> (usize, usize) {
        let root = roots(m, t);
        let run = (1..root.len()).take_while(|&e| root[e]).count();
        (root.len() - root.iter().filter(|r| **r).count(), run + 1)
    }

    /// Returns the dimension and the distance bound of the extended code. The overall parity bit raises an
    /// odd bound by one.
    fn extended_distance(m: u32, t: usize) -> (usize, usize) {
        let (k, d) = bch(m, t);
        (k, d + d % 2)
    }

    fn minimum_weight(rows: &[Word]) -> usize {
        (1..1u32 << rows.len())
            .map(|pick| {
                let picked = rows.iter().enumerate().filter(|(i, _)| pick >> i & 1 == 1);
                let sum = picked.fold(vec![false; rows[0].len()], |acc, (_, row)| {
                    acc.iter().zip(row).map(|(a, b)| a ^ b).collect()
                });
                sum.iter().filter(|b| **b).count()
            })
            .min()
            .unwrap()
    }

    #[test]
    fn generators_have_exactly_the_roots_of_their_codes() {
        for (m, t) in [(8, 18), (8, 19), (8, 21), (9, 36), (9, 41)] {
            let (alpha, g, root) = (powers(m), generator(m, t), roots(m, t));
            assert_eq!(g.len() - 1, root.iter().filter(|r| **r).count());
            let n = alpha.len();
            for (e, &is_root) in root.iter().enumerate() {
                let value =
                    g.iter().enumerate().filter(|(_, c)| **c).fold(0, |sum, (i, _)| sum ^ alpha[i * e % n]);
                assert_eq!(value == 0, is_root, "m {m} t {t} exponent {e}");
            }
        }
    }

    /// Each row has even weight and length 2^m. Without its last bit, it is a multiple of the generator.
    #[test]
    fn rows_are_words_of_the_extended_code() {
        for (m, t) in [(8, 18), (8, 19), (8, 21), (9, 36), (9, 41)] {
            let (alpha, g, root) = (powers(m), generator(m, t), roots(m, t));
            let n = alpha.len();
            let rows = extended_rows(m, &g, n + 1 - g.len());
            assert_eq!(rows.len(), n + 1 - g.len());
            for (shift, row) in rows.iter().enumerate() {
                assert_eq!((row.len(), row.iter().filter(|b| **b).count() % 2), (n + 1, 0));
                let at = |e: usize| {
                    row[..n]
                        .iter()
                        .enumerate()
                        .filter(|(_, c)| **c)
                        .fold(0, |sum, (i, _)| sum ^ alpha[i * e % n])
                };
                assert!(
                    root.iter().enumerate().all(|(e, is_root)| !is_root || at(e) == 0),
                    "m {m} t {t} row {shift}"
                );
                assert!(row[..shift].iter().all(|b| !b) && row[shift] == g[0]);
            }
        }
    }

    #[test]
    fn distance_for_40_by_the_bch_bound_and_construction_x3() {
        assert_eq!(extended_distance(8, 18), (131, 38));
        assert_eq!(extended_distance(8, 19), (123, 40));
        assert_eq!(extended_distance(8, 21), (115, 44));
        // The codes are nested: every root of the larger code is a root of the smaller one.
        for (larger, smaller) in [(18, 19), (19, 21)] {
            assert!(roots(8, larger).iter().zip(roots(8, smaller)).all(|(a, b)| !a || b));
        }
        let four = minimum_weight(&(0..8).map(hamming_tail).collect::<Vec<_>>());
        let two = minimum_weight(&(0..8).map(parity_tail).collect::<Vec<_>>());
        assert_eq!((four, two), (4, 2));
        let distance = (38 + four).min(40 + two).min(44);
        let code = BinaryCode::for_security(40).unwrap();
        assert_eq!((code.length(), code.distance()), (275, distance as u32));
        assert!(code.distance() >= 42);
    }

    #[test]
    fn distance_for_64_and_80_by_the_bch_bound() {
        for (s, t, length, dimension) in [(64, 36, 399, 241), (80, 41, 429, 211)] {
            let (k, d) = extended_distance(9, t);
            let code = BinaryCode::for_security(s).unwrap();
            assert_eq!((k, code.length(), code.distance() as usize), (dimension, length, d));
            assert!(code.distance() >= s + 2);
        }
        assert!(BinaryCode::for_security(41).is_none());
    }

    /// The systematic code consists of sums of the matrix's rows, so the systematic form does not change its
    /// distance.
    #[test]
    fn systematic_words_are_sums_of_the_rows() {
        let tailed = |t: usize, count: usize, tail: &dyn Fn(usize) -> Word| -> Vec<Word> {
            extended_rows(8, &generator(8, t), count)
                .into_iter()
                .enumerate()
                .map(|(i, word)| [word, tail(i)].concat())
                .collect()
        };
        let x3 = [
            tailed(21, 115, &|_| vec![false; 22]),
            tailed(19, 8, &|i| [vec![false; 13], parity_tail(i)].concat()),
            tailed(18, 8, &|i| [hamming_tail(i), vec![false; 9]].concat()),
        ];
        let bch = |t: usize, count: usize| extended_rows(9, &generator(9, t), count);
        for (s, n, mut rows) in [(40, 255, x3.concat()), (64, 511, bch(36, 241)), (80, 511, bch(41, 211))] {
            let code = BinaryCode::for_security(s).unwrap();
            // Each row ends at a different position if its overall parity bit is left out. So elimination
            // from the end reduces a word of the code to zero.
            let end = |row: &Word| row[..n].iter().rposition(|bit| *bit).unwrap();
            rows.sort_by_key(|row| std::cmp::Reverse(end(row)));
            assert!(rows.windows(2).all(|pair| end(&pair[0]) > end(&pair[1])));
            for k in 0..DIMENSION {
                // The pivot columns are at the front, one for each row.
                let mut word: Word = (0..rows.len()).map(|column| column == k).collect();
                word.extend(code.parity.iter().map(|mask| mask >> k & 1 == 1));
                assert_eq!(word.len(), rows[0].len());
                for row in &rows {
                    if word[end(row)] {
                        word.iter_mut().zip(row).for_each(|(a, &b)| *a ^= b);
                    }
                }
                assert!(word.iter().all(|bit| !bit), "s {s}: message bit {k}");
            }
        }
    }

    #[test]
    fn no_light_word_among_many() {
        for s in [40, 64, 80] {
            let code = BinaryCode::for_security(s).unwrap();
            let mut lightest = u32::MAX;
            for i in 0..128u32 {
                for j in 0..=i {
                    for k in 0..=j {
                        lightest = lightest.min(code_word(code, 1u128 << i | 1 << j | 1 << k));
                    }
                }
            }
            assert!(lightest >= code.distance(), "s {s}: weight {lightest}");
        }
    }

    #[test]
    fn rows_encode_like_single_words() {
        for s in [40, 64, 80] {
            let code = BinaryCode::for_security(s).unwrap();
            let blocks = 2;
            let message: Vec<u128> = (0..DIMENSION * blocks)
                .map(|i| {
                    u128::from_le_bytes(blake3::hash(&i.to_le_bytes()).as_bytes()[..16].try_into().unwrap())
                })
                .collect();
            let mut parity = vec![0; code.parity_bits() * blocks];
            code.encode_rows(&message, &mut parity, blocks);
            for column in [0usize, 1, 77, 127, 128, 200, 255] {
                let bit = |rows: &[u128], row: usize| rows[row * blocks + column / 128] >> (column % 128) & 1;
                let word = (0..DIMENSION).fold(0u128, |w, r| w | bit(&message, r) << r);
                for (k, mask) in code.parity.iter().enumerate() {
                    assert_eq!(bit(&parity, k), u128::from((word & mask).count_ones() % 2));
                }
            }
        }
    }
}
