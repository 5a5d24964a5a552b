//! Loops over lists of words of authenticated masks. A secret bit or colour decides whether a word is added.

use std::hint::black_box;

use brickwork::authenticated::adversary::{add_chosen, add_where, add_where_coloured};
use brickwork::label::Label;
use brickwork::random::Rng;

use crate::subjects::{Subject, TimedCall, bits, secret, subject};

/// The words of a list.
const COUNT: usize = 512;

fn random(rng: &mut Rng) -> Vec<Label> {
    (0..COUNT).map(|_| rng.label()).collect()
}

/// Makes both subjects: the secret is the bits of shares of masks, or an offset word.
pub fn subjects() -> Vec<Subject> {
    let by_bits = |class: bool, rng: &mut Rng| -> TimedCall<'static> {
        let (mut sums, words, word) = (random(rng), random(rng), rng.label());
        let bits = bits(class, COUNT, rng);
        Box::new(move || {
            add_chosen(black_box(&mut sums), &words, &bits);
            add_where(black_box(&mut sums), word, &bits);
        })
    };
    let by_colours = |class: bool, rng: &mut Rng| -> TimedCall<'static> {
        let (mut sums, word) = (random(rng), Label::from_bits(secret(class, rng)));
        let coloured: Vec<Label> = (0..COUNT).map(|_| Label::from_bits(secret(class, rng))).collect();
        Box::new(move || add_where_coloured(black_box(&mut sums), word, &coloured))
    };
    vec![
        subject("authenticated masks: sums by bits", by_bits),
        subject("authenticated masks: the offset, by colours", by_colours),
    ]
}
