//! Rows are those of the table of attacks (docs/concepts/security.md, section 14).

use brickwork_testing::Replayable as _;
use std::sync::Arc;

use super::origin::RowOrigin;
use super::*;
use crate::commit::CommittedValues::{Chosen, Random};
use crate::commit::combine::{COMBINE_BLOCKS, combine_known};
use crate::commit::row::each_chunk;
use crate::commit::rows::{BLOCK, CHUNK, CHUNK_BLOCKS, CHUNKS_IN_HAND, clear_behind_the_last};
use crate::commit::tests::{Script, cheat, two_ways};
use crate::commit::{
    Cheat, Claims, Column, CommitmentRow, Committed, DIMENSION, EachClaim, Lsb, New, Receiver as _,
    Selection, Sender as _, Shares, kept_values,
};
use crate::spill::{Spill, SpillFile};
use brickwork_base::label::Label;
use brickwork_base::random::{Rng, SEED_BYTES, Seed};
use brickwork_wire::{Tag, Tamper, memory_pair};

/// Returns both parties, with the seeds that ideal OTs would give them.
fn deal(s: u32) -> (Sender, Receiver) {
    let code = BinaryCode::for_security(s).unwrap();
    let mut rng = Rng::replayable("test dealer");
    let pairs: Vec<[Seed; 2]> = (0..code.length()).map(|_| [rng.seed(), rng.seed()]).collect();
    let watch: Vec<u8> = (0..code.length()).map(|_| rng.below(2) as u8).collect();
    let chosen: Vec<Seed> = pairs.iter().zip(&watch).map(|(p, &w)| p[w as usize].clone()).collect();
    (Sender::new(code, &pairs, u64::MAX), Receiver::new(code, &chosen, &watch, u64::MAX).unwrap())
}

/// The receiver distinguishes a lie about a value from a lie about a bit. If both are wrong, the value is
/// reported.
#[test]
fn row_11_a_value_and_a_bit_that_are_wrong() {
    let (sender, receiver) = deal(40);
    let script = Script { lie: Some((17, 2)), lie_bit: Some(33), ..Script::new(40, 100) };
    assert_eq!(cheat(&script.with(sender, receiver)), Some(Cheat::Opening));
}

/// A correction with one wrong bit is noticed if the receiver watches the second share of this coordinate, so
/// with probability 1/2.
#[test]
fn row_03_non_codewords_are_caught_unless_the_watch_bits_are_guessed() {
    for weight in [1usize, 2, 3] {
        let trials = 96;
        let mut caught = 0;
        for trial in 0..trials {
            let mut first = true;
            let tamper: Tamper = Box::new(move |tag, bytes| {
                if tag == msg::CORRECTIONS && first {
                    first = false;
                    for w in 0..weight {
                        // In this test, a coordinate's row is one block of 16 bytes. This line flips the bit
                        // of the first commitment.
                        bytes[16 * (5 + (7 * w + trial) % 140)] ^= 1;
                    }
                }
            });
            match cheat(&Script { tamper: Some(tamper), ..Script::new(40, 100) }.against::<Split>()) {
                // If the check of new commitments and the check of claims both fail, the error names the
                // commitment.
                Some(Cheat::Commitment) => caught += 1,
                None => {}
                other => panic!("{other:?}"),
            }
        }
        let expected = trials as f64 * (1.0 - 0.5f64.powi(weight as i32));
        let sigma = (trials as f64 * 0.5f64.powi(weight as i32) * (1.0 - 0.5f64.powi(weight as i32))).sqrt();
        assert!(
            (caught as f64 - expected).abs() <= 4.5 * sigma,
            "weight {weight}: detected {caught} of \
            {trials}"
        );
    }
}

#[test]
fn row_03_answers_are_checked_on_every_coordinate_and_value() {
    let words = BinaryCode::for_security(40).unwrap().length() * 3 + 2 * DIMENSION;
    for word in [0, 1, 127, 128, 200, 402, 403, 404, 530, 531, 805, 806, 1000, words - 1] {
        let tamper: Tamper = Box::new(move |tag, bytes| {
            if tag == msg::ANSWER {
                assert_eq!(bytes.len(), 16 * words);
                bytes[16 * word + 3] ^= 4;
            }
        });
        assert!(
            cheat(&Script { tamper: Some(tamper), ..Script::new(40, 50) }.against::<Split>()).is_some(),
            "word {word}"
        );
    }
}

/// Row 27 of the table of attacks: a proof masks everything about hidden values. Two proofs over the same
/// commitments give unrelated answers, and neither is the unmasked combination.
#[test]
fn row_27_hidden_values_are_combined_under_fresh_masks() {
    let (mut sender, mut receiver) = deal(40);
    let (mut left, mut right) = memory_pair();
    std::thread::scope(|scope| {
        let answers = scope.spawn(move || {
            let made = sender.commit(&mut left, &[Label::from_bits(0); 64]).unwrap();
            let seen = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
            let keep = seen.clone();
            left.set_tamper(Box::new(move |tag, bytes| {
                if tag == msg::ANSWER {
                    keep.lock().unwrap().push(bytes.clone());
                }
            }));
            for _ in 0..2 {
                sender.prove(&mut left, &[New::from(&made)], &Claims::new()).unwrap();
            }
            seen.lock().unwrap().clone()
        });
        let got = receiver.receive(&mut right, 64).unwrap();
        for _ in 0..2 {
            receiver.verify(&mut right, &[&got], &Claims::new()).unwrap();
        }
        let answers = answers.join().unwrap();
        // All committed values are 0, so unmasked combinations would be 0.
        let combined = |answer: &[u8]| answer[..16 * DIMENSION].to_vec();
        assert!(combined(&answers[0]).iter().any(|b| *b != 0));
        assert_ne!(combined(&answers[0]), combined(&answers[1]));
    });
}

/// Checks the exact bytes of commitments and proofs: at s = 40, a random commitment has 147 bits of
/// corrections, and a chosen one has 275.
#[test]
fn traffic_is_what_the_documentation_says() {
    let (mut sender, mut receiver) = deal(40);
    let (mut left, mut right) = memory_pair();
    std::thread::scope(|scope| {
        let sent = scope.spawn(move || {
            let mut counts = Vec::new();
            let mut made = Vec::new();
            for count in [128usize, 1280, 1281] {
                made.push(sender.commit_random(&mut left, count, Lsb::Random).unwrap());
                counts.push(left.sent_bytes());
                made.push(sender.commit(&mut left, &vec![Label::ZERO; count]).unwrap());
                counts.push(left.sent_bytes());
            }
            sender.prove(&mut left, &made.iter().map(New::from).collect::<Vec<_>>(), &Claims::new()).unwrap();
            counts.push(left.sent_bytes());
            counts
        });
        let mut got = Vec::new();
        for count in [128, 1280, 1281] {
            got.push(receiver.receive_random(&mut right, count, Lsb::Random).unwrap());
            got.push(receiver.receive(&mut right, count).unwrap());
        }
        receiver.verify(&mut right, &got.iter().collect::<Vec<_>>(), &Claims::new()).unwrap();
        let sent = sent.join().unwrap();
        let mut expected = 0u64;
        for (i, blocks) in [1u64, 10, 11].into_iter().enumerate() {
            expected += 5 + blocks * 147 * 16;
            assert_eq!(sent[2 * i], expected);
            expected += 5 + blocks * 275 * 16;
            assert_eq!(sent[2 * i + 1], expected);
        }
        assert_eq!(sent[6], expected + 5 + 147 * 16 + 5 + (128 + 275) * 16);
    });
}

/// Selected columns equal the columns that single claims read, at both parties and however the shares are
/// stored.
#[test]
fn parts_are_the_columns() {
    let (mut sender, mut receiver) = deal(40);
    let (mut left, mut right) = memory_pair();
    let mut rng = Rng::replayable("test parts");
    for (count, lsb) in [
        (300, Lsb::Random),
        (CHUNK + 1, Lsb::One),
        (3 * CHUNK - 5, Lsb::Random),
        (CHUNKS_IN_HAND * CHUNK + 200, Lsb::Zero),
    ] {
        let values: Vec<Label> = (0..count).map(|_| rng.label()).collect();
        let made = [
            sender.commit_random(&mut left, count, lsb).unwrap(),
            sender.commit(&mut left, &values).unwrap(),
        ];
        left.flush().unwrap();
        let got = [
            receiver.receive_random(&mut right, count, lsb).unwrap(),
            receiver.receive(&mut right, count).unwrap(),
        ];
        let mut order: Vec<usize> = (0..count).collect();
        (1..count).rev().for_each(|i| order.swap(i, rng.below(i as u64 + 1) as usize));
        let lists = [&order[..7], &order[7..200], &[], &order[count - 20..]];
        let expected = |shares: &Shares, i: usize| {
            let mut sum = Column::default();
            shares.add(i, &mut sum);
            sum
        };
        for shares in made.iter().map(|made| &made.shares).chain(got.iter().map(|got| got.shares())) {
            assert_eq!((shares.len(), shares.recipe().is_some()), (count, count > CHUNK));
            for (part, list) in shares.select_each(&lists).iter().zip(lists) {
                assert!(part.len() == list.len() && part.recipe().is_none());
                assert!(list.iter().enumerate().all(|(k, &i)| expected(part, k) == expected(shares, i)));
            }
            assert!((0..9).all(|k| expected(&shares.slice(11..20), k) == expected(shares, 11 + k)));
        }
        for (part, list) in made[1].select_each(&lists).iter().zip(lists) {
            assert!(list.iter().zip(&part.values).all(|(&i, value)| *value == values[i]));
        }
    }
}

/// Selected commitments may lie in distant chunks, and in more chunks than are computed at a time.
#[test]
fn parts_are_taken_from_chunks_that_lie_apart() {
    let (mut sender, _) = deal(40);
    let (mut left, _right) = memory_pair();
    let made = sender.commit_random(&mut left, 20 * CHUNK + 5, Lsb::Random).unwrap();
    // One commitment of each chunk except the second.
    let list: Vec<usize> =
        (0..=20).rev().filter(|&chunk| chunk != 1).map(|chunk| chunk * CHUNK + chunk % 5).collect();
    let part = made.select(list.iter().copied());
    let column = |shares: &Shares, i: usize| {
        let mut sum = Column::default();
        shares.add(i, &mut sum);
        sum
    };
    assert!(list.iter().enumerate().all(|(k, &i)| column(&part.shares, k) == column(&made.shares, i)));
}

/// Corrections in memory use up the budget. When it is used up, all messages of a row go to a file.
#[test]
fn corrections_are_kept_in_memory_or_in_a_file() {
    const COUNT: usize = CHUNKS_IN_HAND * CHUNK + 1;
    let bytes = 16 * 147 * COUNT.div_ceil(BLOCK) as u64;
    let (mut sender, mut receiver) = deal(40);
    receiver.keep_in_memory(bytes);
    let (mut left, mut right) = memory_pair();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let made = [(), ()].map(|()| sender.commit_random(&mut left, COUNT, Lsb::Random).unwrap());
            sender.prove(&mut left, &made.each_ref().map(New::from), &Claims::new())
        });
        let held = receiver.receive_random(&mut right, COUNT, Lsb::Random).unwrap();
        let nothing_left = receiver.budget().take(1).is_none();
        let filed = receiver.receive_random(&mut right, COUNT, Lsb::Random).unwrap();
        receiver.verify(&mut right, &[&held, &filed], &Claims::new()).unwrap();
        assert!(nothing_left);
        filed.shares().lose_file();
        drop(held);
        assert!(receiver.budget().take(bytes).is_some());
    });
}

/// Each row has a number of its own, even an empty one, so that a proof covers exactly its own rows.
#[test]
fn row_03_every_row_has_a_number_of_its_own() {
    let (mut sender, mut receiver) = deal(40);
    let (mut left, mut right) = memory_pair();
    let mut numbers = Vec::new();
    for _ in 0..3 {
        sender.commit_random(&mut left, 1, Lsb::Random).unwrap();
        left.flush().unwrap();
        numbers.push(receiver.receive_random(&mut right, 1, Lsb::Random).unwrap().name());
        numbers.push(receiver.no_commitments().name());
    }
    assert!((1..numbers.len()).all(|k| !numbers[..k].contains(&numbers[k])), "{numbers:?}");
}

#[test]
#[should_panic(expected = "no place occurs twice")]
fn no_commitment_is_taken_twice() {
    let (mut sender, _) = deal(40);
    let (mut left, _right) = memory_pair();
    let made = sender.commit_random(&mut left, CHUNK + 1, Lsb::Random).unwrap();
    made.select_each(&[&[4, 5], &[4]]);
}

#[test]
fn claims_that_follow_their_commitments_come_to_the_sums_of_columns() {
    for (s, count) in [(40, 3), (40, 129), (64, 300), (40, CHUNK + 7), (80, 2 * CHUNK + 776)] {
        let (mut sender, mut receiver) = deal(s);
        let (mut left, mut right) = memory_pair();
        let n = BinaryCode::for_security(s).unwrap().length();
        let heads: Vec<usize> = (0..count).step_by(7).collect();
        let part: fn(usize) -> u8 = |k| u8::from(k % 7 != 0);
        let flip: fn(usize) -> u8 = |k| (k * k % 5 % 2) as u8;
        std::thread::scope(|scope| {
            let committer = scope.spawn(|| {
                let mut random = |count: usize| sender.commit_random(&mut left, count, Lsb::Random).unwrap();
                let (wires, offsets, ka) = (random(count), random(count), random(1));
                let head_wires = wires.select(heads.iter().copied());
                let of = |made: &Committed, k: usize, part: u8| made.values[k].times(part);
                let value = |k: usize| {
                    of(&wires, k, part(k))
                        ^ of(&offsets, k, flip(k))
                        ^ of(&ka, 0, flip(k))
                        ^ of(&head_wires, k % heads.len(), 1)
                };
                let values: Vec<Label> = (0..count).map(value).collect();
                left.send(Tag(200), bytemuck::cast_slice(&values)).unwrap();
                let shares = [&wires.shares, &offsets.shares, &head_wires.shares, &ka.shares];
                let combined = two_ways(shares, &values, Label::from_bits(5), part, flip)
                    .map(|claims| combine_known(77, n, false, &claims).shares.clone());
                assert!(combined[0] == combined[1], "{count} at {s}");
                let claims = two_ways(shares, &values, Label::from_bits(5), part, flip);
                left.send(Tag(201), &[]).unwrap();
                for claims in &claims {
                    // The claims of the first group are wrong. The receiver must refuse them in both forms.
                    sender.prove(&mut left, &[], claims).unwrap();
                }
            });
            let mut random = |count: usize| receiver.receive_random(&mut right, count, Lsb::Random).unwrap();
            let (wires, offsets, ka) = (random(count), random(count), random(1));
            let head_wires = wires.shares().select(heads.iter().copied());
            let mut values = vec![Label::ZERO; count];
            right.receive_into(Tag(200), bytemuck::cast_slice_mut(&mut values)).unwrap();
            let shares = [wires.shares(), offsets.shares(), &head_wires, ka.shares()];
            let claims = two_ways(shares, &values, Label::from_bits(5), part, flip);
            let [sums, each] = [&claims[0], &claims[1]].map(|claims| combine_known(77, n, true, claims));
            assert!(sums.shares == each.shares && sums.values == each.values, "{count} at {s}");
            right.receive(Tag(201), 0).unwrap();
            for claims in &claims {
                assert!(matches!(receiver.verify(&mut right, &[], claims), Err(Error::Peer(cheat))
                        if cheat == Cheat::Opening));
            }
            committer.join().unwrap();
        });
    }
}

#[test]
fn row_11_claims_that_follow_their_commitments() {
    const COUNT: usize = 2 * CHUNK + 5;
    let lies = [None, Some(0), Some(1), Some(127), Some(CHUNK), Some(COUNT - 1)];
    for (lie, in_memory) in lies.into_iter().flat_map(|lie| [(lie, 0), (lie, u64::MAX)]) {
        let (mut sender, mut receiver) = deal(40);
        receiver.keep_in_memory(in_memory);
        let (mut left, mut right) = memory_pair();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let made = sender.commit_random(&mut left, COUNT, Lsb::Random).unwrap();
                left.send(Tag(200), bytemuck::cast_slice(&made.values)).unwrap();
                let mut claims = Claims::new();
                claims.each(EachClaim::new(COUNT, 1).with(&made.shares, |_, _| 1));
                sender.prove(&mut left, &[], &claims).unwrap();
            });
            let got = receiver.receive_random(&mut right, COUNT, Lsb::Random).unwrap();
            let mut values = vec![Label::ZERO; COUNT];
            right.receive_into(Tag(200), bytemuck::cast_slice_mut(&mut values)).unwrap();
            lie.iter().for_each(|&k| values[k] ^= Label::from_bits(1 << 99));
            let mut claims = Claims::new();
            claims.each(
                EachClaim::new(COUNT, 1).are(|k, _, value| value[0] = values[k]).with(got.shares(), |_, _| 1),
            );
            let verdict = receiver.verify(&mut right, &[], &claims);
            assert_eq!(verdict.is_ok(), lie.is_none(), "{lie:?}");
        });
    }
}

/// The number of claims or commitments that one task combines.
const TASK: usize = COMBINE_BLOCKS * BLOCK;

/// Each single wrong claim is detected, among enough claims for several tasks and in both forms: added
/// columns, and claims in the order of commitments.
#[test]
fn row_11_each_of_many_claims() {
    const COUNT: usize = TASK + CHUNK + 5;
    let lies = [None, Some(BLOCK), Some(CHUNK), Some(TASK - 1), Some(TASK), Some(COUNT - 1)];
    for (lie, follow) in lies.into_iter().flat_map(|lie| [(lie, false), (lie, true)]) {
        let (mut sender, mut receiver) = deal(40);
        let (mut left, mut right) = memory_pair();
        let claimed = |shares: &Shares, values: &[Label], prove: &mut dyn FnMut(&Claims)| {
            let columns = shares.slice(0..COUNT);
            let mut claims = Claims::new();
            if follow {
                claims.each(
                    EachClaim::new(COUNT, 1).are(|k, _, value| value[0] = values[k]).with(shares, |_, _| 1),
                );
            } else {
                claims.known(COUNT, |k, sum| {
                    columns.add(k, sum);
                    values[k]
                });
            }
            prove(&claims);
        };
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let made = sender.commit_random(&mut left, COUNT, Lsb::Random).unwrap();
                left.send(Tag(200), bytemuck::cast_slice(&made.values)).unwrap();
                claimed(&made.shares, &made.values, &mut |claims| {
                    sender.prove(&mut left, &[], claims).unwrap()
                });
            });
            let got = receiver.receive_random(&mut right, COUNT, Lsb::Random).unwrap();
            let mut values = vec![Label::ZERO; COUNT];
            right.receive_into(Tag(200), bytemuck::cast_slice_mut(&mut values)).unwrap();
            lie.iter().for_each(|&k| values[k] ^= Label::from_bits(1 << 99));
            claimed(got.shares(), &values, &mut |claims| {
                let verdict = receiver.verify(&mut right, &[], claims);
                assert_eq!(verdict.is_ok(), lie.is_none(), "{lie:?} {follow}");
            });
        });
    }
}

#[test]
fn row_03_each_of_many_commitments() {
    const COUNT: usize = TASK + CHUNK + 5;
    for bad in [BLOCK, CHUNK, TASK - 1, TASK, COUNT - 1] {
        let (mut sender, mut receiver) = deal(40);
        let (mut left, mut right) = memory_pair();
        let mut first = true;
        left.set_tamper(Box::new(move |tag, bytes| {
            if tag == msg::CORRECTIONS && std::mem::take(&mut first) {
                // Flips all coordinates of one commitment; a chunk has 147 rows of blocks a chunk.
                let (chunk, block, bit) = (bad / CHUNK, bad % CHUNK / BLOCK, bad % BLOCK);
                let blocks = (COUNT.div_ceil(BLOCK) - chunk * CHUNK_BLOCKS).min(CHUNK_BLOCKS);
                let words = (0..147).map(|row| 147 * CHUNK_BLOCKS * chunk + row * blocks + block);
                words.for_each(|word| bytes[16 * word + bit / 8] ^= 1 << (bit % 8));
            }
        }));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let made = sender.commit_random(&mut left, COUNT, Lsb::Random).unwrap();
                sender.prove(&mut left, &[New::from(&made)], &Claims::new()).unwrap();
            });
            let got = receiver.receive_random(&mut right, COUNT, Lsb::Random).unwrap();
            let verdict = receiver.verify(&mut right, &[&got], &Claims::new());
            assert!(matches!(verdict, Err(Error::Peer(cheat)) if cheat == Cheat::Commitment), "{bad}");
        });
    }
}

/// If corrections cannot be read, the verification fails without an accusation.
#[test]
fn a_lost_file_ends_the_proof_and_accuses_nobody() {
    let (mut sender, mut receiver) = deal(40);
    receiver.keep_in_memory(0);
    let (mut left, mut right) = memory_pair();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let made = sender.commit_random(&mut left, CHUNK + 1, Lsb::Random).unwrap();
            sender.prove(&mut left, &[New::from(&made)], &Claims::new()).unwrap();
        });
        let got = receiver.receive_random(&mut right, CHUNK + 1, Lsb::Random).unwrap();
        got.shares().lose_file();
        assert!(matches!(receiver.verify(&mut right, &[&got], &Claims::new()), Err(Error::Resource(_))));
    });
}

/// If values of claims cannot be read, the verification fails without an accusation.
#[test]
fn lost_values_end_the_proof_and_accuse_nobody() {
    for lost in [false, true] {
        let (mut sender, mut receiver) = deal(40);
        let (mut left, mut right) = memory_pair();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let made = sender.commit_random(&mut left, CHUNK + 1, Lsb::Random).unwrap();
                left.send(Tag(200), bytemuck::cast_slice(&made.values)).unwrap();
                let mut claims = Claims::new();
                claims.each(EachClaim::new(CHUNK + 1, 1).with(&made.shares, |_, _| 1));
                claims.opened(&made);
                sender.prove(&mut left, &[], &claims).unwrap();
            });
            let got = receiver.receive_random(&mut right, CHUNK + 1, Lsb::Random).unwrap();
            let spill = Spill::file(receiver.fault()).unwrap();
            let received = spill
                .fill(CHUNK + 1, |received: &mut [Label]| {
                    right.receive_into(Tag(200), bytemuck::cast_slice_mut(received))
                })
                .unwrap();
            let values = received.read(0..received.len()).unwrap().to_vec();
            assert!(!lost || received.lose());
            let mut claims = Claims::new();
            let followed = EachClaim::new(CHUNK + 1, 1)
                .are(|k, _, value| value.copy_from_slice(&received.read_or_note(k..k + 1)));
            claims.each(followed.with(got.shares(), |_, _| 1));
            claims.known(CHUNK + 1, |k, sum| {
                got.shares().add(k, sum);
                values[k]
            });
            let verdict = receiver.verify(&mut right, &[], &claims);
            assert!(if lost { matches!(verdict, Err(Error::Resource(_))) } else { verdict.is_ok() });
        });
    }
}

/// A sender that cannot read its claimed values does not answer, because a wrong answer would look like
/// cheating.
#[test]
fn nothing_is_proven_from_lost_values() {
    for lost in [false, true] {
        let (mut sender, _) = deal(40);
        let (mut left, mut right) = memory_pair();
        let made = sender.commit_random(&mut left, 3, Lsb::Random).unwrap();
        let values = Spill::file(sender.fault()).unwrap().put(made.values.clone()).unwrap();
        assert!(!lost || values.lose());
        let mut claims = Claims::new();
        claims.bits(3, |k, sum| {
            made.shares.add(k, sum);
            values.read_or_note(k..k + 1)[0]
        });
        right.send(msg::SEED, &[1; SEED_BYTES]).unwrap();
        right.flush().unwrap();
        let proof = sender.prove(&mut left, &[], &claims);
        assert!(if lost { matches!(proof, Err(Error::Resource(_))) } else { proof.is_ok() });
    }
}

/// Row 16 of the table of attacks: without a range, or with a used one, a party commits to nothing and sends
/// nothing. Both parties reach the end of a range at the same time.
#[test]
fn row_16_nothing_is_committed_to_behind_the_end_of_a_range() {
    let (mut sender, mut receiver) = deal(40);
    let (mut left, mut right) = memory_pair();
    let all_but_two = || {
        let mut blocks = of_setup();
        blocks.draw((1 << 40) - 2).unwrap();
        blocks
    };
    sender.set_blocks(all_but_two());
    receiver.set_blocks(all_but_two());
    sender.commit_random(&mut left, BLOCK + 1, Lsb::Random).unwrap();
    left.flush().unwrap();
    receiver.receive_random(&mut right, BLOCK + 1, Lsb::Random).unwrap();
    let sent = left.sent_bytes();
    for entered in [false, true] {
        if entered {
            sender.set_blocks(BLOCKS.none());
            receiver.set_blocks(BLOCKS.none());
        }
        let refused = [
            sender.commit_random(&mut left, 1, Lsb::Random).map(drop),
            sender.commit(&mut left, &[Label::ZERO]).map(drop),
            sender.row(&mut left, 1, Lsb::One).map(drop),
            sender.begin_row(1).map(drop),
            receiver.receive_random(&mut right, 1, Lsb::Random).map(drop),
            receiver.receive(&mut right, 1).map(drop),
        ];
        assert!(refused.iter().all(|result| matches!(result, Err(Error::Limit(_)))), "{refused:?}");
    }
    assert_eq!(left.sent_bytes(), sent);
}

fn origin(row: &CommitmentRow) -> &RowOrigin {
    row.origin().and_then(|origin| origin.as_any().downcast_ref()).expect("the values are recomputed")
}

/// Makes two senders with the same seeds. The second keeps at most `memory` bytes of values.
fn twins(s: u32, memory: u64) -> [Sender; 2] {
    let code = BinaryCode::for_security(s).unwrap();
    let mut rng = Rng::replayable("test dealer");
    let pairs: Vec<[Seed; 2]> = (0..code.length()).map(|_| [rng.seed(), rng.seed()]).collect();
    [u64::MAX, memory].map(|memory| Sender::new(code, &pairs, memory))
}

/// A row has the same values and shares as commitments in memory, for any selection.
fn assert_same(row: &CommitmentRow, made: &Committed) {
    let count = made.values.len();
    let columns = |shares: &Shares| {
        if shares.is_empty() { Vec::new() } else { shares.slice(0..shares.len()).words().to_vec() }
    };
    assert_eq!(row.len(), count);
    assert!(*row.values().unwrap() == made.values);
    assert!(columns(row.shares()) == columns(&made.shares));
    for places in [0..count, 0..1, count / 3..count / 2, count - 1..count] {
        let mut values = vec![Label::ZERO; places.len()];
        row.fill(places.start, &mut values).unwrap();
        assert!(values == made.values[places.clone()], "{places:?} of {count}");
    }
    for each in [1, 3] {
        let items = count / each;
        // Selects every fourth item in a scattered order. `kept` is one more than a multiple of 7, so
        // multiplying by 7 permutes the items.
        let kept = (items / 4).max(1) / 7 * 7 + 1;
        let chosen: Vec<u32> =
            (0..kept).map(|k| (k * 7 % kept * 4) as u32).filter(|&item| (item as usize) < items).collect();
        let expected: Vec<Label> = chosen
            .iter()
            .flat_map(|&item| made.values[item as usize * each..(item as usize + 1) * each].to_vec())
            .collect();
        let picked = row.pick(&Arc::new(Selection::new(chosen.clone(), each)));
        assert!(*picked.values().unwrap() == expected);
        let some = expected.len() / 3..expected.len() / 2;
        let mut values = vec![Label::ZERO; some.len()];
        picked.fill(some.start, &mut values).unwrap();
        assert!(values == expected[some]);
        let gathered = picked.gathered().unwrap();
        assert!(gathered.held() == expected);
        let places = chosen.iter().flat_map(|&item| item as usize * each..(item as usize + 1) * each);
        assert!(columns(gathered.shares()) == columns(&made.shares.select(places)));

        let mut places = vec![None; items + 1];
        chosen.iter().enumerate().for_each(|(k, &item)| places[item as usize] = Some(k));
        let mut values = vec![Label::ZERO; expected.len()];
        row.scatter(each, |item| places[item], &mut values).unwrap();
        assert!(values == expected);
    }
}

#[test]
fn values_made_again_are_those_that_were_committed_to() {
    for (s, count) in
        [(40, 1), (40, CHUNK), (40, CHUNK + 1), (80, 2 * CHUNK + 130), (40, (CHUNK * CHUNKS_IN_HAND) + 777)]
    {
        for memory in [u64::MAX, 0] {
            let [mut plain, mut sender] = twins(s, memory);
            let [(mut left, _right), (mut other, _other)] = [memory_pair(), memory_pair()];
            for lsb in [Lsb::Random, Lsb::Zero, Lsb::One] {
                let made = plain.commit_random(&mut left, count, lsb).unwrap();
                assert_same(&sender.row(&mut other, count, lsb).unwrap(), &made);
            }
            let values: Vec<Label> = (0..count as u128).map(|k| Label::from_bits(k * k * k + 5)).collect();
            let made = plain.commit(&mut left, &values).unwrap();
            let mut row = sender.begin_row(count).unwrap();
            values.chunks(1000).for_each(|values| sender.push(&mut other, &mut row, values).unwrap());
            assert_same(&sender.finish(row), &made);
            assert_eq!((left.sent_bytes(), sender.next_row()), (other.sent_bytes(), plain.next_row()));
        }
    }
}

/// If the file of corrections is lost, the sender reports this before it proves anything about the row.
#[test]
fn lost_corrections_are_an_error() {
    let [_, mut sender] = twins(40, 0);
    let (mut left, mut right) = memory_pair();
    let mut row = sender.begin_row(CHUNK + 1).unwrap();
    sender.push(&mut left, &mut row, &vec![Label::from_bits(9); CHUNK + 1]).unwrap();
    let row = sender.finish(row);
    let file = origin(&row).corrections.as_ref().unwrap();
    let rows = [(1, Chosen), (CHUNK as u64 + 1, Random), (CHUNK as u64 + 1, Chosen)];
    assert_eq!(kept_values(0, rows), (0, file.bytes()), "a file is as long as predicted");
    file.lose();
    assert!(matches!(row.values(), Err(Error::Resource(_))));
    right.send(msg::SEED, &[1; 16]).unwrap();
    right.flush().unwrap();
    let proof = sender.prove(&mut left, &[New::from(&row)], &Claims::new());
    assert!(matches!(proof, Err(Error::Resource(_))), "nothing is answered");
}

/// A file that lost only its end causes the same error, because a message needs all its chunks.
#[test]
fn corrections_lost_further_on_are_an_error() {
    let [_, mut sender] = twins(40, 0);
    let (mut left, _right) = memory_pair();
    let mut row = sender.begin_row((CHUNK * CHUNKS_IN_HAND) + 1).unwrap();
    sender.push(&mut left, &mut row, &vec![Label::from_bits(9); (CHUNK * CHUNKS_IN_HAND) + 1]).unwrap();
    let row = sender.finish(row);
    // The file contains only the first message of corrections.
    let whole = origin(&row);
    let (file, mut bytes) = (SpillFile::new().unwrap(), vec![0; RowOrigin::offset(CHUNKS_IN_HAND) as usize]);
    whole.corrections.as_ref().unwrap().read(&mut bytes, 0).unwrap();
    file.write(&bytes, 0).unwrap();
    let (recipe, second, fault) = (whole.recipe.clone(), whole.second.clone(), whole.fault.clone());
    let short = RowOrigin { recipe, second, corrections: Some(file), fault };
    assert!(each_chunk(whole, |_| true, |_, _| {}).is_ok());
    assert!(matches!(each_chunk(&short, |_| true, |_, _| {}), Err(Error::Resource(_))));
}

/// An item may cross the end of a chunk.
#[test]
fn items_are_scattered_across_chunks() {
    let [mut plain, mut sender] = twins(40, 0);
    let [(mut left, _right), (mut other, _other)] = [memory_pair(), memory_pair()];
    let (items, each) = (683, 3);
    assert_eq!(items * each, CHUNK + 1);
    let made = plain.commit_random(&mut left, items * each, Lsb::Random).unwrap();
    let row = sender.row(&mut other, items * each, Lsb::Random).unwrap();
    let mut values = vec![Label::ZERO; items * each];
    row.scatter(each, |item| Some(items - 1 - item), &mut values).unwrap();
    assert!(values.chunks(each).eq(made.values.chunks(each).rev()));
}

/// Values in memory use up the budget. When it is used up, values are recomputed.
#[test]
fn held_values_take_their_part_of_the_budget() {
    const COUNT: usize = CHUNK + 1;
    let [_, mut sender] = twins(40, 16 * COUNT as u64);
    let (mut left, _right) = memory_pair();
    let held = |rows: [CommitmentRow; 2]| rows.map(|row| row.origin().is_none());
    let random = [(), ()].map(|()| sender.row(&mut left, COUNT, Lsb::Random).unwrap());
    assert_eq!(held(random), [true, false]);
    let chosen = [(), ()].map(|()| {
        let mut row = sender.begin_row(COUNT).unwrap();
        sender.push(&mut left, &mut row, &vec![Label::from_bits(9); COUNT]).unwrap();
        sender.finish(row)
    });
    assert_eq!(held(chosen), [true, false]);
}

#[test]
fn every_form_of_shares_has_the_same_rows() {
    let [_, mut sender] = twins(40, 0);
    let (mut left, _right) = memory_pair();
    let count = 2 * CHUNK + 300;
    let shares = sender.row(&mut left, count, Lsb::Random).unwrap().into_shares();
    let recipe = shares.recipe().unwrap();
    let all = Arc::new(Selection::new((0..count as u32).collect(), 1));
    for chunk in 0..3 {
        let rows = |shares: &Shares| {
            let mut rows = vec![0; 275 * recipe.blocks(chunk)];
            shares.rows(chunk, &mut rows);
            // The bits after the last commitment are arbitrary.
            clear_behind_the_last(count, chunk, &mut rows);
            rows
        };
        assert!(
            [shares.same().gathered(), shares.in_place(&all)]
                .iter()
                .all(|other| rows(other) == rows(&shares)),
            "{chunk}"
        );
    }
}

type List<'a> = (&'a Shares, Box<dyn Fn(usize, &mut [u128]) + Sync>);

/// Commitments picked from a row have the same weighted sum as columns, alone and together with the whole
/// row.
#[test]
fn picked_commitments_are_weighted_where_they_lie() {
    let [mut sender, _] = twins(40, 0);
    let (mut left, _right) = memory_pair();
    let row = sender.row(&mut left, 9 * CHUNK + 100, Lsb::Random).unwrap();
    let weigh = |factor: u128| {
        move |first: usize, sums: &mut [u128]| {
            sums.iter_mut().zip(first as u128..).for_each(|(sum, k)| *sum ^= (k + 1).wrapping_mul(factor));
        }
    };
    let sums = |lists: &[List]| {
        let mut sums = vec![0; 275];
        Shares::weighted(lists, &mut sums);
        sums
    };
    // There are enough single commitments that several tasks compute their weights.
    for (each, count) in [(1, 17_000), (5, 700)] {
        let items = (0..count).map(|k| k * 3 % count).collect();
        let picked = row.shares().in_place(&Arc::new(Selection::new(items, each)));
        let (columns, all) = (picked.same().gathered(), row.shares().same().gathered());
        // The three weights of a commitment have bits in common.
        let (first, second, third) =
            (0x1234_5678_9abc_def1 << 50, 0x9e37_79b9_7f4a_7c15 << 45, 0xffff_0001 << 64);
        let where_they_lie: Vec<u128> = sums(&[
            (row.shares(), Box::new(weigh(first))),
            (&picked, Box::new(weigh(second))),
            (&picked, Box::new(weigh(third))),
        ]);
        let apart = sums(&[
            (&all, Box::new(weigh(first))),
            (&columns, Box::new(weigh(second))),
            (&columns, Box::new(weigh(third))),
        ]);
        assert!(where_they_lie == apart && where_they_lie.iter().any(|&sum| sum != 0));
        // A single commitment equals the one in the columns.
        let column = |shares: &Shares, k: usize| {
            let mut sum = Column::default();
            shares.add(k, &mut sum);
            sum
        };
        assert!((0..columns.len()).step_by(97).all(|k| column(&picked, k) == column(&columns, k)));
    }
}

/// Recomputed values and shares equal the original ones at any position.
#[test]
fn commitments_made_again_are_the_same() {
    for s in [40, 80] {
        let code = BinaryCode::for_security(s).unwrap();
        let mut rng = Rng::replayable("test dealer");
        let pairs: Vec<[Seed; 2]> = (0..code.length()).map(|_| [rng.seed(), rng.seed()]).collect();
        let mut sender = Sender::new(code, &pairs, u64::MAX);
        let mut blocks = of_setup();
        blocks.draw(3 << 30).unwrap();
        sender.set_blocks(blocks);
        let (mut left, _right) = memory_pair();
        for count in [1, 128, 129, 7000] {
            let all = 0..count as u64;
            let some: Vec<u64> = (0..count).map(|_| rng.below(count as u64)).collect();
            for numbers in [all.clone().collect(), all.rev().step_by(97).collect(), some, Vec::new()] {
                let places = || numbers.iter().map(|&number| number as usize);
                let picked = |made: &Shares| -> Vec<u64> {
                    let (all, words) = (made.select(0..count), code.words());
                    places().flat_map(|i| all.words()[i * words..(i + 1) * words].to_vec()).collect()
                };
                for lsb in [Lsb::Random, Lsb::Zero, Lsb::One] {
                    let row = sender.next_row();
                    let made = sender.commit_random(&mut left, count, lsb).unwrap();
                    let again = sender.again(row, lsb, &numbers);
                    assert!(places().map(|i| made.values[i]).eq(again.values.iter().copied()), "{lsb:?}");
                    assert_eq!(picked(&made.shares), again.shares.words());
                }
                let row = sender.next_row();
                let made = sender.commit(&mut left, &vec![Label::from_bits(5); count]).unwrap();
                assert_eq!(picked(&made.shares), sender.shares_again(row, &numbers).words());
            }
        }
    }
}
