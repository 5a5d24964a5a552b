//! Properties that every scheme must have: each test runs against all schemes through one function.

use brickwork_testing::Replayable as _;
use std::sync::Arc;
use std::thread;

use super::ideal::Ideal;
use super::rows::{BLOCK, CHUNK, CHUNKS_IN_HAND};
use super::split::Split;
use super::*;
use crate::ot::ideal as ots;
use brickwork_base::Error;
use brickwork_base::label::Label;
use brickwork_base::random::Rng;
use brickwork_store::Ranges;
use brickwork_wire::{Channel, Tag, Tamper, memory_pair};

/// Sets up both parties of a scheme with ideal OTs. Each party keeps at most `memory` bytes of values or
/// corrections in memory.
fn begin<S: CommitmentScheme>(security: u32, memory: u64) -> (S::Sender, S::Receiver) {
    let (mut left, mut right) = memory_pair();
    let (mut sender, mut receiver) = ots::deal();
    thread::scope(|scope| {
        let receiver = scope.spawn(move || {
            let mut rng = Rng::replayable("test receiver");
            S::Receiver::set_up(&mut right, &mut receiver, &mut rng, security, memory).unwrap()
        });
        let committer = S::Sender::set_up(&mut left, &mut sender, security, memory).unwrap();
        (committer, receiver.join().unwrap())
    })
}

/// A script of commitments and claims that runs against every scheme.
pub(super) struct Script {
    pub security: u32,
    /// The sizes of the rows: random, ending in 0, ending in 1, chosen.
    pub random: [usize; 3],
    pub chosen: Vec<Label>,
    /// A lie of the sender: the number of the claim, and the bits to flip in it.
    pub lie: Option<(usize, u128)>,
    pub lie_bit: Option<usize>,
    pub tamper: Option<Tamper>,
}

impl Script {
    pub(super) fn new(security: u32, size: usize) -> Self {
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

    /// Runs the script against both schemes, and checks that the results agree.
    fn run(self) -> Result<Vec<Label>, Error> {
        let again = Script { chosen: self.chosen.clone(), tamper: None, ..self };
        let (split, ideal) = (self.against::<Split>(), again.against::<Ideal>());
        assert_eq!(cheat(&split), cheat(&ideal));
        split
    }

    pub(super) fn against<S: CommitmentScheme>(self) -> Result<Vec<Label>, Error> {
        let (sender, receiver) = begin::<S>(self.security, u64::MAX);
        self.with(sender, receiver)
    }

    pub(super) fn with(
        self,
        mut sender: impl Sender,
        mut receiver: impl Receiver,
    ) -> Result<Vec<Label>, Error> {
        let (mut left, mut right) = memory_pair();
        if let Some(tamper) = self.tamper {
            left.set_tamper(tamper);
        }
        let (random, chosen) = (self.random, &self.chosen);
        let count = chosen.len().min(random[2]);
        std::thread::scope(|scope| {
            let committer = scope.spawn(move || -> Result<Vec<Label>, Error> {
                let rows = [Lsb::Random, Lsb::Zero, Lsb::One].into_iter().zip(random);
                let mut made = rows
                    .map(|(lsb, n)| sender.commit_random(&mut left, n, lsb))
                    .collect::<Result<Vec<_>, _>>()?;
                made.push(sender.commit(&mut left, chosen)?);
                // Claim i says that chosen[i] + random[0][i] + one[i] has this value, or this lowest bit.
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
            let committed = committer.join().unwrap();
            // In the ideal scheme, a claim is accepted exactly if it is true.
            if let (Ok(committed), Ok(received)) = (&committed, &verdict) {
                assert_eq!(committed, received, "a lie was accepted");
            }
            verdict
        })
    }
}

pub(super) fn cheat(result: &Result<Vec<Label>, Error>) -> Option<Cheat> {
    match result {
        Ok(_) => None,
        Err(Error::Peer(cheat)) => Some(Cheat::of(*cheat).expect("a cheat with commitments")),
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

#[test]
fn row_07_wrong_indicator_bit() {
    for at in [0, 33] {
        assert_eq!(
            cheat(&Script { lie_bit: Some(at), ..Script::new(40, 100) }.run()),
            Some(Cheat::Indicator)
        );
    }
}

/// Claims are numbered item after item, wherever a range begins or ends.
#[test]
fn claims_are_counted_item_after_item() {
    for wires in [1, 2, 3, 128, CHUNK + 1] {
        let each = EachClaim::new(4 * CHUNK, wires);
        for claims in [0..1, 5..7, 0..CHUNK, CHUNK..CHUNK + 1, CHUNK..2 * CHUNK, 3 * CHUNK..3 * CHUNK + 776] {
            let expected = || claims.clone().map(|k| (k / wires, k % wires));
            assert!(each.places(claims.clone()).eq(expected()), "{wires} {claims:?}");
            let runs =
                each.runs(claims.clone()).flat_map(|(item, wires)| wires.map(move |wire| (item, wire)));
            assert!(runs.eq(expected()), "{wires} {claims:?}");
        }
    }
}

/// Lists the same claims in two ways; each of `values` is the value of a sum of commitments. The first result
/// uses [`Claims::known`], which adds up each sum by itself. The second result uses [`Claims::each`], which
/// adds up in the order of the commitments. Each commitment of `heads` is part of many sums.
pub(super) fn two_ways<'a>(
    [wires, offsets, heads, ka]: [&'a Shares; 4],
    values: &'a [Label],
    first: Label,
    part: fn(usize) -> u8,
    flip: fn(usize) -> u8,
) -> [Claims<'a>; 2] {
    let [mut sums, mut each] = [Claims::new(), Claims::new()];
    let count = values.len();
    // Another group comes first, so that the following group does not have number 0.
    for claims in [&mut sums, &mut each] {
        claims.known(3, move |_, sum| {
            ka.add(0, sum);
            first
        });
    }
    sums.known(count, move |k, sum| {
        wires.add_if(part(k), k, sum);
        offsets.add_if(flip(k), k, sum);
        ka.add_if(flip(k), 0, sum);
        heads.add(k % heads.len(), sum);
        values[k]
    });
    // The values of even claims are given with the claims, those of odd claims later and in another order.
    let even = move |item: usize, wires: std::ops::Range<usize>, received: &mut [Label]| {
        let all = 3 * item + wires.start..3 * item + wires.end;
        received
            .iter_mut()
            .zip(all)
            .filter(|(_, k)| k.is_multiple_of(2))
            .for_each(|(received, k)| *received = values[k]);
    };
    let group = each.each(
        EachClaim::new(count / 3, 3)
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
            // `weigh` uses both ways to read the weights.
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

/// An opened value can be read with one proof only: that of the claims about it, by the receiver that got the
/// opening. Any other proof is refused: an earlier or later one, one of other claims, or one of another
/// receiver. No receiver verifies values that another receiver got.
#[test]
fn a_proof_proves_what_it_covers_and_nothing_else() {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    let refused = |misuse: &mut dyn FnMut()| catch_unwind(AssertUnwindSafe(misuse)).is_err();
    let (mut left, mut right) = memory_pair();
    let [(mut sender, mut receiver), (mut others_sender, mut another)] =
        [(); 2].map(|()| begin::<Ideal>(40, u64::MAX));
    let committed = [&mut sender, &mut others_sender]
        .map(|sender| sender.commit_random(&mut left, 1, Lsb::Random).unwrap());
    left.flush().unwrap();
    let value = committed[0].values[0];
    let shares = receiver.receive_random(&mut right, 1, Lsb::Random).unwrap();
    let others = another.receive_random(&mut right, 1, Lsb::Random).unwrap();
    let received = [(); 4].map(|()| receiver.claimed(value));
    // This name has the same number as the first one, but belongs to another receiver.
    let foreign = another.claimed(value);
    let about = |of: &[&Claimed<Label>],
                 new: &[&Pending],
                 receiver: &mut <Ideal as CommitmentScheme>::Receiver,
                 right: &mut Channel| {
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
        // Further values that depend on the opening change nothing.
        let mut claimed = Some(claimed.map(|value| (value, "more")));
        assert!(refused(&mut || _ = claimed.take().unwrap().proven(wrong)));
    }
    for (pending, wrong) in [(shares, &before), (others, &proof)] {
        let mut pending = Some(pending);
        assert!(refused(&mut || drop(pending.take().unwrap().accept(wrong))));
    }
}

/// Claims in the order of commitments, with weighted commitments and values in another order, are accepted if
/// they are true. Each wrong claim is detected.
fn claims_that_follow<S: CommitmentScheme>(count: usize, lies: &[usize]) {
    let (mut sender, mut receiver) = begin::<S>(40, 0);
    let (mut left, mut right) = memory_pair();
    let heads: Vec<usize> = (0..count).step_by(7).collect();
    let part: fn(usize) -> u8 = |k| u8::from(k % 7 != 0);
    let flip: fn(usize) -> u8 = |k| (k * k % 5 % 2) as u8;
    let lies: Vec<Option<usize>> = lies.iter().copied().map(Some).chain([None]).collect();
    thread::scope(|scope| {
        let (heads, rounds) = (&heads, lies.len());
        let committer = scope.spawn(move || {
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
            left.send(Tag(200), bytemuck::cast_slice(&ka.values)).unwrap();
            left.flush().unwrap();
            let shares = [&wires.shares, &offsets.shares, &head_wires.shares, &ka.shares];
            for _ in 0..rounds {
                for claims in &two_ways(shares, &values, ka.values[0], part, flip) {
                    sender.prove(&mut left, &[], claims).unwrap();
                }
            }
        });
        let mut random = |count: usize| receiver.receive_random(&mut right, count, Lsb::Random).unwrap();
        let (wires, offsets, ka) = (random(count), random(count), random(1));
        let head_wires = wires.shares().select(heads.iter().copied());
        let (mut values, mut first) = (vec![Label::ZERO; count], [Label::ZERO]);
        right.receive_into(Tag(200), bytemuck::cast_slice_mut(&mut values)).unwrap();
        right.receive_into(Tag(200), bytemuck::cast_slice_mut(&mut first)).unwrap();
        let shares = [wires.shares(), offsets.shares(), &head_wires, ka.shares()];
        for lie in lies {
            let mut received = values.clone();
            lie.iter().for_each(|&k| received[k] ^= Label::from_bits(1 << 70));
            for claims in &two_ways(shares, &received, first[0], part, flip) {
                match receiver.verify(&mut right, &[], claims) {
                    Ok(_) => assert_eq!(lie, None, "{}", S::NAME),
                    Err(Error::Peer(cheat)) => {
                        assert!(lie.is_some() && cheat == Cheat::Opening, "{}: {lie:?}", S::NAME);
                    }
                    Err(other) => panic!("{other}"),
                }
            }
        }
        committer.join().unwrap();
    });
}

#[test]
fn row_11_every_claim_that_follows_its_commitments_counts() {
    for (count, lies) in [(3, &[0, 1, 2][..]), (129, &[0, 7, 127, 128]), (CHUNK + 7, &[1, 700, CHUNK + 6])] {
        claims_that_follow::<Split>(count, lies);
        claims_that_follow::<Ideal>(count, lies);
    }
}

fn words(shares: &Shares) -> Vec<u64> {
    if shares.is_empty() { Vec::new() } else { shares.slice(0..shares.len()).words().to_vec() }
}

/// Checks the values that a sender computes again.
type MadeAgain<S> = Box<dyn Fn(&<S as CommitmentScheme>::Sender)>;

/// A row contains the same commitments as single messages at the same place in the stream. The values of a
/// row can be read in any way, and recomputed from the state that a stock keeps.
fn rows_are_made_again<S: CommitmentScheme>(count: usize, memory: u64) {
    let (mut sender, mut receiver) = begin::<S>(40, memory);
    let (mut left, mut right) = memory_pair();
    let mut rng = Rng::replayable("test rows");
    let numbers: Vec<u64> = (0..count.min(300)).map(|_| rng.below(count as u64)).collect();
    let places: Vec<usize> = numbers.iter().map(|&number| number as usize).collect();
    let some = |shares: &Shares| -> Vec<u64> {
        places.iter().flat_map(|&k| words(&shares.slice(k..k + 1))).collect()
    };
    let mut keep: Vec<MadeAgain<S>> = Vec::new();
    for _ in 0..2 {
        for lsb in [Lsb::Random, Lsb::Zero, Lsb::One] {
            let first = sender.next_row();
            let row = sender.row(&mut left, count, lsb).unwrap();
            let values = row.values().unwrap();
            assert!(lsb == Lsb::Random || values.iter().all(|v| (v.colour() == 1) == (lsb == Lsb::One)));
            let mut filled = vec![Label::ZERO; count - count / 3];
            row.fill(count / 3, &mut filled).unwrap();
            assert!(filled == values[count / 3..]);
            let picked =
                row.pick(&Arc::new(Selection::new(vec![count as u32 - 1, 0], 1))).gathered().unwrap();
            assert!(picked.held() == [values[count - 1], values[0]]);
            let (numbers, shares) = (numbers.clone(), some(row.shares()));
            let values: Vec<Label> = places.iter().map(|&k| values[k]).collect();
            keep.push(Box::new(move |sender| {
                let again = sender.again(first, lsb, &numbers);
                assert!(again.values == values && words(&again.shares) == shares, "{} {lsb:?}", S::NAME);
            }));
            left.flush().unwrap();
            let got = receiver.receive_random(&mut right, count, lsb).unwrap();
            agree::<S>((&mut sender, &mut left), (&mut receiver, &mut right), &row, &got);
        }
        let values: Vec<Label> = (0..count).map(|_| rng.label()).collect();
        let first = sender.next_row();
        let mut row = sender.begin_row(count).unwrap();
        values.chunks(1000).for_each(|values| sender.push(&mut left, &mut row, values).unwrap());
        let row = sender.finish(row);
        assert!(*row.values().unwrap() == values);
        let (numbers, shares) = (numbers.clone(), some(row.shares()));
        keep.push(Box::new(move |sender| {
            assert!(words(&sender.shares_again(first, &numbers)) == shares, "{}", S::NAME);
        }));
        left.flush().unwrap();
        let got = receiver.receive(&mut right, count).unwrap();
        agree::<S>((&mut sender, &mut left), (&mut receiver, &mut right), &row, &got);
    }
    keep.iter().for_each(|made_again| made_again(&sender));
    // Restores both parties from a stock, and commits in another range.
    let [state, receivers] =
        [postcard::to_stdvec(&sender.state()).unwrap(), postcard::to_stdvec(&receiver.state()).unwrap()];
    let mut sender = S::Sender::restored(&postcard::from_bytes(&state).unwrap(), 40, memory).unwrap();
    let mut receiver = S::Receiver::restored(&postcard::from_bytes(&receivers).unwrap(), 40, memory).unwrap();
    keep.iter().for_each(|made_again| made_again(&sender));
    assert!(matches!(sender.commit(&mut left, &[Label::ZERO]), Err(Error::Limit(_))), "{}", S::NAME);
    assert!(matches!(receiver.receive(&mut right, 1), Err(Error::Limit(_))), "{}", S::NAME);
    sender.enter(&mut Ranges::of_setup()).unwrap();
    receiver.enter(&mut Ranges::of_setup()).unwrap();
    let row = sender.row(&mut left, count, Lsb::Random).unwrap();
    left.flush().unwrap();
    let got = receiver.receive_random(&mut right, count, Lsb::Random).unwrap();
    agree::<S>((&mut sender, &mut left), (&mut receiver, &mut right), &row, &got);
}

/// The received commitments open to the sender's values and to no other values.
fn agree<S: CommitmentScheme>(
    (sender, left): (&mut S::Sender, &mut Channel),
    (receiver, right): (&mut S::Receiver, &mut Channel),
    row: &CommitmentRow,
    got: &Pending,
) {
    let values = row.values().unwrap();
    assert_eq!(got.shares().len(), values.len());
    for lie in [false, true] {
        let mut received = values.to_vec();
        if lie {
            received[values.len() / 2] ^= Label::from_bits(4);
        }
        let claim = |shares: &Shares, values: &[Label], prove: &mut dyn FnMut(&Claims)| {
            let mut claims = Claims::new();
            let each = EachClaim::new(values.len(), 1).are(|k, _, value| value[0] = values[k]);
            claims.each(each.with(shares, |_, _| 1));
            prove(&claims);
        };
        thread::scope(|scope| {
            scope.spawn(|| {
                claim(row.shares(), &values, &mut |claims| {
                    sender.prove(left, &[New::from(row)], claims).unwrap();
                });
            });
            claim(got.shares(), &received, &mut |claims| {
                assert_eq!(receiver.verify(right, &[got], claims).is_err(), lie, "{}", S::NAME);
            });
        });
    }
}

#[test]
fn rows_are_the_same_from_wherever_they_are_had() {
    for (count, memory) in [(1, u64::MAX), (BLOCK + 1, 0), (CHUNK + 1, u64::MAX), (2 * CHUNK + 130, 0)] {
        rows_are_made_again::<Split>(count, memory);
        rows_are_made_again::<Ideal>(count, memory);
    }
}

#[test]
fn row_25_a_state_of_another_level_is_refused() {
    let (sender, receiver) = begin::<Split>(40, 0);
    assert!(matches!(split::Sender::restored(&sender.state(), 64, 0), Err(Error::Stock(_))));
    assert!(matches!(split::Receiver::restored(&receiver.state(), 64, 0), Err(Error::Stock(_))));
    assert!(matches!(split::Sender::restored(&sender.state(), 50, 0), Err(Error::Usage(_))));
    let level = Split::level(40).unwrap();
    assert_eq!((level.ots, level.random_bits, level.chosen_bits, level.words), (275, 147, 275, 5));
    assert_eq!(Split::level(50), None);
}
