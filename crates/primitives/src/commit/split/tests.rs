use super::super::ideal;
use super::combine::COMBINE_BLOCKS;
use super::*;
use crate::commit::{Claimed, Column, Each, Receiver as _, Sender as _};
use crate::spill::Spill;
use brickwork_wire::{Tag, Tamper, memory_pair};

/// Seeds as ideal OTs would deal them.
fn deal(s: u32) -> (Sender, Receiver) {
    let code = Code::for_security(s).unwrap();
    let mut rng = Rng::replayable("test dealer");
    let pairs: Vec<[Seed; 2]> = (0..code.length()).map(|_| [rng.seed(), rng.seed()]).collect();
    let watch: Vec<u8> = (0..code.length()).map(|_| rng.below(2) as u8).collect();
    let chosen: Vec<Seed> = pairs.iter().zip(&watch).map(|(p, &w)| p[w as usize].clone()).collect();
    (Sender::new(code, &pairs, u64::MAX), Receiver::new(code, &chosen, &watch, u64::MAX).unwrap())
}

/// What a script of commitments and claims comes to: the same script runs against the split scheme and the
/// ideal one.
struct Script {
    security: u32,
    /// Sizes of the rows: random, ending in 0, ending in 1, chosen.
    random: [usize; 3],
    chosen: Vec<Label>,
    /// Changes to what the sender claims: (claim, bits to flip).
    lie: Option<(usize, u128)>,
    lie_bit: Option<usize>,
    tamper: Option<Tamper>,
}

impl Script {
    fn new(security: u32, size: usize) -> Self {
        let mut rng = Rng::replayable("test script");
        Script {
            security,
            random: [size, size / 2, size / 3 + 1],
            chosen: (0..size).map(|_| rng.label()).collect(),
            lie: None,
            lie_bit: None,
            tamper: None,
        }
    }

    /// Against the split scheme, and against the ideal one where nobody alters messages: both come to the
    /// same.
    fn run(self) -> Result<Vec<Label>, Error> {
        let (sender, receiver) = deal(self.security);
        if self.tamper.is_none() {
            let ideal = ideal::Sender(Rng::replayable("test ideal"));
            let plain = Script { chosen: self.chosen.clone(), tamper: None, ..self };
            let (split, ideal) = (self.with(sender, receiver), plain.with(ideal, ideal::Receiver::default()));
            assert_eq!(cheat(&split), cheat(&ideal));
            return split;
        }
        self.with(sender, receiver)
    }

    fn with(
        self,
        mut sender: impl crate::commit::Sender + Send,
        mut receiver: impl crate::commit::Receiver,
    ) -> Result<Vec<Label>, Error> {
        let (mut left, mut right) = memory_pair();
        if let Some(tamper) = self.tamper {
            left.set_tamper(tamper);
        }
        let (random, chosen) = (self.random, &self.chosen);
        let count = chosen.len().min(random[2]);
        std::thread::scope(|scope| {
            let sending = scope.spawn(move || -> Result<Vec<Label>, Error> {
                let rows = [Lsb::Random, Lsb::Zero, Lsb::One].into_iter().zip(random);
                let mut made = rows
                    .map(|(lsb, n)| sender.commit_random(&mut left, n, lsb))
                    .collect::<Result<Vec<_>, _>>()?;
                made.push(sender.commit(&mut left, chosen)?);
                // Claims: chosen[i] + random[0][i] + one[i], as a value and by its lowest bit.
                let sum = |i: usize| made[3].values[i] ^ made[0].values[i] ^ made[2].values[i];
                let values: Vec<Label> = (0..count).map(sum).collect();
                let mut received = values.clone();
                if let Some((at, flip)) = self.lie {
                    received[at] ^= Label::from_bits(flip);
                }
                let mut bits: Vec<u8> = values.iter().map(|v| v.colour()).collect();
                if let Some(at) = self.lie_bit {
                    bits[at] ^= 1;
                }
                left.send(Tag(200), bytemuck::cast_slice(&received))?;
                left.send(Tag(201), &bits)?;
                let mut claims = Claims::new();
                let add = |i: usize, sum: &mut Column| {
                    made[3].shares.add(i, sum);
                    made[0].shares.add(i, sum);
                    made[2].shares.add_if(1, i, sum);
                    values[i]
                };
                claims.known(count, add);
                claims.bits(count, add);
                sender.prove(&mut left, &made.iter().map(New::from).collect::<Vec<_>>(), &claims)?;
                assert!(made[1].values.iter().all(|v| v.colour() == 0));
                assert!(made[2].values.iter().all(|v| v.colour() == 1));
                assert_eq!(made[3].values, *chosen);
                drop(claims);
                Ok(values)
            });
            let verdict = (|| -> Result<Vec<Label>, Error> {
                let rows = [Lsb::Random, Lsb::Zero, Lsb::One].into_iter().zip(random);
                let mut got = rows
                    .map(|(lsb, n)| receiver.receive_random(&mut right, n, lsb))
                    .collect::<Result<Vec<_>, _>>()?;
                got.push(receiver.receive(&mut right, chosen.len())?);
                let mut received = vec![Label::ZERO; count];
                right.receive_into(Tag(200), bytemuck::cast_slice_mut(&mut received))?;
                let bits = right.receive(Tag(201), count)?;
                let add = |i: usize, sum: &mut Column| {
                    got[3].shares().add(i, sum);
                    got[0].shares().add(i, sum);
                    got[2].shares().add_if(1, i, sum);
                };
                let mut claims = Claims::new();
                claims.known(count, |i, sum| {
                    add(i, sum);
                    received[i]
                });
                claims.bits(count, |i, sum| {
                    add(i, sum);
                    Label::ZERO.with_colour(bits[i])
                });
                receiver.verify(&mut right, &got.iter().collect::<Vec<_>>(), &claims)?;
                drop(claims);
                Ok(received)
            })();
            drop(right);
            let committed = sending.join().unwrap();
            // The ideal scheme: what is claimed is accepted iff it is what was committed.
            if let (Ok(committed), Ok(received)) = (&committed, &verdict) {
                assert_eq!(committed, received, "a lie was accepted");
            }
            verdict
        })
    }
}

fn cheat(result: &Result<Vec<Label>, Error>) -> Option<Cheat> {
    match result {
        Ok(_) => None,
        Err(Error::Peer(cheat)) => Some(Cheat::of(*cheat).expect("a check of commitments")),
        Err(other) => panic!("{other}"),
    }
}

#[test]
fn honest_openings_are_accepted_at_every_size_and_level() {
    for s in [40, 64, 80] {
        for size in [1, 2, 127, 128, 129, 300, 2100] {
            Script::new(s, size).run().unwrap();
        }
    }
    Script::new(40, CHUNKS_IN_HAND * CHUNK + 77).run().unwrap();
}

#[test]
fn row_11_wrong_decommitment() {
    for flip in [1, 2, 1 << 127, u128::MAX] {
        let script = Script { lie: Some((17, flip)), ..Script::new(40, 100) };
        assert_eq!(cheat(&script.run()), Some(Cheat::Opening));
    }
}

/// What is said of a lie about a value and about a bit: the value says more.
#[test]
fn row_11_a_value_and_a_bit_that_are_wrong() {
    let (sender, receiver) = deal(40);
    let script = Script { lie: Some((17, 2)), lie_bit: Some(33), ..Script::new(40, 100) };
    assert_eq!(cheat(&script.with(sender, receiver)), Some(Cheat::Opening));
}

#[test]
fn row_07_wrong_indicator_bit() {
    for at in [0, 33] {
        assert_eq!(
            cheat(&Script { lie_bit: Some(at), ..Script::new(40, 100) }.run()),
            Some(Cheat::Indicator)
        );
    }
}

/// A correction of weight 1 is seen if the receiver watches the second share of that coordinate: half the
/// time.
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
                        // Row of a coordinate: one block of 16 bytes here; the first commitment's bit.
                        bytes[16 * (5 + (7 * w + trial) % 140)] ^= 1;
                    }
                }
            });
            match cheat(&Script { tamper: Some(tamper), ..Script::new(40, 100) }.run()) {
                // Where both checks fail the first one speaks.
                Some(Cheat::Commitment) => caught += 1,
                None => {}
                other => panic!("{other:?}"),
            }
        }
        let expected = trials as f64 * (1.0 - 0.5f64.powi(weight as i32));
        let sigma = (trials as f64 * 0.5f64.powi(weight as i32) * (1.0 - 0.5f64.powi(weight as i32))).sqrt();
        assert!((caught as f64 - expected).abs() <= 4.5 * sigma, "weight {weight}: {caught} of {trials}");
    }
}

#[test]
fn row_03_answers_are_checked_on_every_coordinate_and_value() {
    let words = Code::for_security(40).unwrap().length() * 3 + 2 * DIMENSION;
    for word in [0, 1, 127, 128, 200, 402, 403, 404, 530, 531, 805, 806, 1000, words - 1] {
        let tamper: Tamper = Box::new(move |tag, bytes| {
            if tag == msg::ANSWER {
                assert_eq!(bytes.len(), 16 * words);
                bytes[16 * word + 3] ^= 4;
            }
        });
        assert!(
            cheat(&Script { tamper: Some(tamper), ..Script::new(40, 50) }.run()).is_some(),
            "word {word}"
        );
    }
}

/// Row 27: what a proof tells about hidden values is masked. Two proofs over the same commitments give
/// unrelated answers, and an answer never is the combination itself.
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
        // All committed values are 0, so unmasked combinations would be 0 too.
        let combined = |answer: &[u8]| answer[..16 * DIMENSION].to_vec();
        assert!(combined(&answers[0]).iter().any(|b| *b != 0));
        assert_ne!(combined(&answers[0]), combined(&answers[1]));
    });
}

/// Bytes of commitments and proofs, exactly: 147 bits of correction a random commitment at s = 40, 275 a
/// chosen one.
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

/// Columns taken apart are those that single claims see, at either side and in whatever form they are kept.
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

/// Chunks of which something is wanted may lie apart, and be more than are made at a time.
#[test]
fn parts_are_taken_from_chunks_that_lie_apart() {
    let (mut sender, _) = deal(40);
    let (mut left, _right) = memory_pair();
    let made = sender.commit_random(&mut left, 20 * CHUNK + 5, Lsb::Random).unwrap();
    // Something of every chunk but the second.
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

/// Corrections in memory take their part of the budget; those for which nothing is left lie in a file, all
/// messages of them.
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
        let nothing_left = receiver.budget.take(1).is_none();
        let filed = receiver.receive_random(&mut right, COUNT, Lsb::Random).unwrap();
        receiver.verify(&mut right, &[&held, &filed], &Claims::new()).unwrap();
        assert!(nothing_left);
        filed.shares().lose_file();
        drop(held);
        assert!(receiver.budget.take(bytes).is_some());
    });
}

/// A row and one of which there is nothing are told apart from all others, so that a proof is about those
/// that were part of it.
#[test]
fn row_03_every_row_has_a_number_of_its_own() {
    let (mut sender, mut receiver) = deal(40);
    let (mut left, mut right) = memory_pair();
    let mut numbers = Vec::new();
    for _ in 0..3 {
        sender.commit_random(&mut left, 1, Lsb::Random).unwrap();
        left.flush().unwrap();
        numbers.push(receiver.receive_random(&mut right, 1, Lsb::Random).unwrap().name);
        numbers.push(receiver.no_commitments().name);
    }
    assert!((1..numbers.len()).all(|k| !numbers[..k].contains(&numbers[k])), "{numbers:?}");
}

/// What was told is had for the proof of the claims about it, from the receiver to whom it was told: not for
/// a proof before or after that, of other claims, or of another receiver's; and no receiver verifies what is
/// another's.
#[test]
fn a_proof_proves_what_it_covers_and_nothing_else() {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    let refused = |misuse: &mut dyn FnMut()| catch_unwind(AssertUnwindSafe(misuse)).is_err();
    let (mut left, mut right) = memory_pair();
    let mut sender = ideal::Sender(Rng::replayable("test values"));
    let [mut receiver, mut another] = [ideal::Receiver::default(), ideal::Receiver::default()];
    let committed = [(), ()].map(|()| sender.commit_random(&mut left, 1, Lsb::Random).unwrap());
    left.flush().unwrap();
    let value = committed[0].values[0];
    let shares = receiver.receive_random(&mut right, 1, Lsb::Random).unwrap();
    let others = another.receive_random(&mut right, 1, Lsb::Random).unwrap();
    let received = [(); 4].map(|()| receiver.claimed(value));
    // Named like the first one, but for the receiver.
    let foreign = another.claimed(value);
    let about =
        |of: &[&Claimed<Label>], new: &[&Pending], receiver: &mut ideal::Receiver, right: &mut Channel| {
            let mut claims = Claims::new();
            for claimed in of {
                claims.about(claimed, |value, claims| {
                    claims.known(1, |k, sum| {
                        shares.shares().add(k, sum);
                        *value
                    });
                });
            }
            receiver.verify(right, new, &claims)
        };
    let before = about(&[&received[0]], &[], &mut receiver, &mut right).unwrap();
    let proof = about(&[&received[1], &received[2]], &[&shares], &mut receiver, &mut right).unwrap();
    let theirs = about(&[&foreign], &[&others], &mut another, &mut right).unwrap();
    assert!(refused(&mut || drop(about(&[&foreign], &[], &mut receiver, &mut right))));
    assert!(refused(&mut || drop(about(&[], &[&others], &mut receiver, &mut right))));

    let [first, second, third, never] = received;
    assert_eq!(second.proven(&proof), value);
    for (claimed, wrong) in
        [(first, &proof), (third, &before), (never, &before), (receiver.claimed(value), &theirs)]
    {
        // What more rests on it changes nothing.
        let mut claimed = Some(claimed.map(|value| (value, "more")));
        assert!(refused(&mut || _ = claimed.take().unwrap().proven(wrong)));
    }
    for (pending, wrong) in [(shares, &before), (others, &proof)] {
        let mut pending = Some(pending);
        assert!(refused(&mut || drop(pending.take().unwrap().accept(wrong))));
    }
}

#[test]
#[should_panic(expected = "no place comes twice")]
fn no_commitment_is_taken_twice() {
    let (mut sender, _) = deal(40);
    let (mut left, _right) = memory_pair();
    let made = sender.commit_random(&mut left, CHUNK + 1, Lsb::Random).unwrap();
    made.select_each(&[&[4, 5], &[4]]);
}

/// A sum of commitments for each of `count` claims, in two ways: columns added up, and commitments as they
/// were made. The first of `heads` are part of many claims.
fn two_ways<'a>(
    [wires, offsets, heads, ka]: [&'a Shares; 4],
    values: &'a [Label],
    part: fn(usize) -> u8,
    flip: fn(usize) -> u8,
) -> [Claims<'a>; 2] {
    let [mut sums, mut each] = [Claims::new(), Claims::new()];
    let count = values.len();
    // So that the others are not the first group.
    for claims in [&mut sums, &mut each] {
        claims.known(3, |_, sum| {
            ka.add(0, sum);
            Label::from_bits(5)
        });
    }
    sums.known(count, move |k, sum| {
        wires.add_if(part(k), k, sum);
        offsets.add_if(flip(k), k, sum);
        ka.add_if(flip(k), 0, sum);
        heads.add(k % heads.len(), sum);
        values[k]
    });
    // The values of even claims with them, those of odd ones in an order of their own.
    let even = move |item: usize, wires: std::ops::Range<usize>, received: &mut [Label]| {
        let all = 3 * item + wires.start..3 * item + wires.end;
        received
            .iter_mut()
            .zip(all)
            .filter(|(_, k)| k.is_multiple_of(2))
            .for_each(|(received, k)| *received = values[k]);
    };
    let group = each.each(
        Each::new(count / 3, 3)
            .are(even)
            .with(wires, move |item, wire| part(3 * item + wire))
            .with(offsets, move |item, wire| flip(3 * item + wire))
            .with_one(ka, move |item, wire| flip(3 * item + wire)),
    );
    let odd = count / 2;
    each.values(odd, move |weights, first, received, of| {
        for (j, (received, of)) in (first..).zip(received.iter_mut().zip(of)) {
            let k = 2 * (odd - 1 - j) + 1;
            (*received, *of) = (values[k], weights.of(group, k));
        }
    });
    each.weighted(heads, move |weights, first, sums| {
        for (sum, head) in sums.iter_mut().zip(first..) {
            // Some one by one, some in a row.
            for k in (head..count).step_by(heads.len()) {
                *sum ^= if k % 3 == 0 {
                    weights.of(group, k)
                } else {
                    weights.from(group, k - k % 3).nth(k % 3).unwrap()
                };
            }
        }
    });
    [sums, each]
}

#[test]
fn claims_that_follow_their_commitments_come_to_the_sums_of_columns() {
    for (s, count) in [(40, 3), (40, 129), (64, 300), (40, CHUNK + 7), (80, 2 * CHUNK + 776)] {
        let (mut sender, mut receiver) = deal(s);
        let (mut left, mut right) = memory_pair();
        let n = Code::for_security(s).unwrap().length();
        let heads: Vec<usize> = (0..count).step_by(7).collect();
        let part: fn(usize) -> u8 = |k| u8::from(k % 7 != 0);
        let flip: fn(usize) -> u8 = |k| (k * k % 5 % 2) as u8;
        std::thread::scope(|scope| {
            let sending = scope.spawn(|| {
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
                let combined = two_ways(shares, &values, part, flip)
                    .map(|claims| combine_known(77, n, false, &claims).shares.clone());
                assert!(combined[0] == combined[1], "{count} at {s}");
                let claims = two_ways(shares, &values, part, flip);
                left.send(Tag(201), &[]).unwrap();
                for claims in &claims {
                    // The three first claims are wrong: both ways say so.
                    sender.prove(&mut left, &[], claims).unwrap();
                }
            });
            let mut random = |count: usize| receiver.receive_random(&mut right, count, Lsb::Random).unwrap();
            let (wires, offsets, ka) = (random(count), random(count), random(1));
            let head_wires = wires.shares().select(heads.iter().copied());
            let mut values = vec![Label::ZERO; count];
            right.receive_into(Tag(200), bytemuck::cast_slice_mut(&mut values)).unwrap();
            let shares = [wires.shares(), offsets.shares(), &head_wires, ka.shares()];
            let claims = two_ways(shares, &values, part, flip);
            let [sums, each] = [&claims[0], &claims[1]].map(|claims| combine_known(77, n, true, claims));
            assert!(sums.shares == each.shares && sums.values == each.values, "{count} at {s}");
            right.receive(Tag(201), 0).unwrap();
            for claims in &claims {
                assert!(
                    matches!(receiver.verify(&mut right, &[], claims), Err(Error::Peer(cheat)) if cheat == Cheat::Opening)
                );
            }
            sending.join().unwrap();
        });
    }
}

/// Every claim and every commitment of a row counts.
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
                claims.each(Each::new(COUNT, 1).with(&made.shares, |_, _| 1));
                sender.prove(&mut left, &[], &claims).unwrap();
            });
            let got = receiver.receive_random(&mut right, COUNT, Lsb::Random).unwrap();
            let mut values = vec![Label::ZERO; COUNT];
            right.receive_into(Tag(200), bytemuck::cast_slice_mut(&mut values)).unwrap();
            lie.iter().for_each(|&k| values[k] ^= Label::from_bits(1 << 99));
            let mut claims = Claims::new();
            claims.each(
                Each::new(COUNT, 1).are(|k, _, value| value[0] = values[k]).with(got.shares(), |_, _| 1),
            );
            let verdict = receiver.verify(&mut right, &[], &claims);
            assert_eq!(verdict.is_ok(), lie.is_none(), "{lie:?}");
        });
    }
}

/// Claims or commitments that one task combines.
const TASK: usize = COMBINE_BLOCKS * BLOCK;

/// Each of so many claims counts that there are several tasks, whether columns are added up or the claims
/// follow their commitments.
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
                claims
                    .each(Each::new(COUNT, 1).are(|k, _, value| value[0] = values[k]).with(shares, |_, _| 1));
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

/// Each of so many commitments is checked that there are several tasks.
#[test]
fn row_03_each_of_many_commitments() {
    const COUNT: usize = TASK + CHUNK + 5;
    for bad in [BLOCK, CHUNK, TASK - 1, TASK, COUNT - 1] {
        let (mut sender, mut receiver) = deal(40);
        let (mut left, mut right) = memory_pair();
        let mut first = true;
        left.set_tamper(Box::new(move |tag, bytes| {
            if tag == msg::CORRECTIONS && std::mem::take(&mut first) {
                // All coordinates of one commitment: 147 rows of blocks a chunk.
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

/// Claims follow each other item after item, wherever some of them begin and end.
#[test]
fn claims_are_counted_item_after_item() {
    for wires in [1, 2, 3, 128, CHUNK + 1] {
        let each = Each::new(4 * CHUNK, wires);
        for claims in [0..1, 5..7, 0..CHUNK, CHUNK..CHUNK + 1, CHUNK..2 * CHUNK, 3 * CHUNK..3 * CHUNK + 776] {
            let expected = || claims.clone().map(|k| (k / wires, k % wires));
            assert!(each.places(claims.clone()).eq(expected()), "{wires} {claims:?}");
            let runs =
                each.runs(claims.clone()).flat_map(|(item, wires)| wires.map(move |wire| (item, wire)));
            assert!(runs.eq(expected()), "{wires} {claims:?}");
        }
    }
}

/// Corrections that cannot be read are nobody's cheating, and nothing is accepted.
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

/// Nor are values of claims.
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
                claims.each(Each::new(CHUNK + 1, 1).with(&made.shares, |_, _| 1));
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
            let followed = Each::new(CHUNK + 1, 1)
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

/// A sender that cannot read what it claims does not answer: the receiver would take it for a cheater.
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

/// Row 16: who has entered no range, or one that is used up, commits to nothing and sends nothing; both parties
/// come to the end at once.
#[test]
fn row_16_nothing_is_committed_to_behind_the_end_of_a_range() {
    let (mut sender, mut receiver) = deal(40);
    let (mut left, mut right) = memory_pair();
    let all_but_two = || {
        let mut blocks = Ranges::of_setup().take(&BLOCKS).unwrap();
        blocks.draw((1 << 40) - 2).unwrap();
        blocks
    };
    sender.enter(all_but_two());
    receiver.enter(all_but_two());
    sender.commit_random(&mut left, BLOCK + 1, Lsb::Random).unwrap();
    left.flush().unwrap();
    receiver.receive_random(&mut right, BLOCK + 1, Lsb::Random).unwrap();
    let sent = left.sent_bytes();
    for entered in [false, true] {
        if entered {
            sender.enter(BLOCKS.none());
            receiver.enter(BLOCKS.none());
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
