//! Iterations with small trees: the results of honest parties, and attacks.

use brickwork_base::Error;
use brickwork_base::label::Delta;
use brickwork_testing::Replayable as _;
use brickwork_wire::{Channel, Tamper, memory_pair};

use super::*;
use crate::ot::cot::{CotReceiver as _, CotSender as _, Series};
use crate::ot::{self, BASE_OTS, Direction, softspoken};

/// Parameters so small that the tests can try every path. They are insecure.
const SMALL: PcgParameters = PcgParameters { depth: 4, trees: 48, dimension: 64 };

/// Both parties of a series that has made its first OTs.
struct Ends {
    sender: Sender,
    receiver: Receiver,
    left: Channel,
    right: Channel,
    delta: Delta,
}

fn ends(rng: &mut Rng, parameters: PcgParameters) -> Ends {
    let delta = rng.delta();
    let pairs: Vec<[Seed; 2]> = (0..BASE_OTS).map(|_| [rng.seed(), rng.seed()]).collect();
    let choice = |i: usize| (delta.bits() >> i & 1) as usize;
    let seeds: Vec<Seed> = pairs.iter().enumerate().map(|(i, pair)| pair[choice(i)].clone()).collect();
    let series = Series::new(&[3; 32], Direction::GarblerSends);
    let (mut left, mut right) = memory_pair();
    let receiver = softspoken::Receiver::set_up(&mut right, &series, &pairs).unwrap();
    let sender = softspoken::Sender::set_up(&mut left, &series, delta, &seeds).unwrap();
    let (sender, receiver) =
        (Sender::over(sender, parameters), Receiver::over(receiver, parameters).unwrap());
    Ends { sender, receiver, left, right, delta }
}

/// Functions by which a cheating sender alters its corrections, and V, with its knowledge of the iteration.
type Offers<'a> = &'a mut dyn FnMut(&mut [u128]);
type Answers<'a> = &'a mut dyn FnMut(&Elements, u128) -> u128;

impl Ends {
    /// Runs enough iterations for `count` OTs, with both parties in this thread. Each message is sent before
    /// the other party reads it.
    fn round(
        &mut self,
        count: usize,
        offers: Offers,
        challenges: &mut dyn FnMut(&mut [u128; 2]),
        answers: Answers,
    ) -> Result<(), Error> {
        let Ends { sender, receiver, left, right, .. } = self;
        let macs = receiver.begin(right, count)?;
        let keys = sender.begin(left, count)?;
        let offered = sender.offer(left, keys, offers)?;
        let completed = receiver.complete(right, macs, challenges)?;
        sender.answer(left, offered, answers)?;
        receiver.verify(right, completed)
    }

    fn honest_round(&mut self, count: usize) {
        self.round(count, &mut |_| {}, &mut |_| {}, &mut |_, v| v).unwrap();
    }

    fn draw(&mut self, count: usize) -> [Vec<Label>; 2] {
        let (mut keys, mut macs) = (vec![Label::ZERO; count], vec![Label::ZERO; count]);
        self.sender.random_bits(&mut self.left, &mut keys).unwrap();
        self.receiver.random_bits(&mut self.right, &mut Rng::replayable("none"), &mut macs).unwrap();
        [keys, macs]
    }
}

fn refused(result: Result<(), Error>) -> bool {
    match result {
        Err(Error::Peer(cheat)) => {
            assert!(cheat == Cheat::PcgTrees, "{cheat:?}");
            true
        }
        Ok(()) => false,
        Err(other) => panic!("{other}"),
    }
}

/// Checks rounds of one and of several iterations: M = K ⊕ r·Δ, K ends in 0, M ends in r, no label occurs
/// twice, and the numbers of OTs match the parameters.
#[test]
fn iterations_give_what_was_said() {
    let mut ends = ends(&mut Rng::replayable("test"), PcgParameters { depth: 6, ..SMALL });
    let yields = ends.sender.iterations.parameters.yields();
    assert_eq!(ends.sender.iterations.parameters.reserve() + yields, 48 << 6);
    ends.honest_round(1);
    assert_eq!(ends.receiver.left(), yields);
    ends.honest_round(100 * yields);
    // Requests more OTs than iterations can run at once.
    let more = 1 + yields / ends.sender.iterations.parameters.reserve();
    assert!(more > 2);
    assert_eq!(ends.receiver.left(), (1 + more) * yields);
    ends.honest_round(ends.receiver.left() + 1);
    let count = ends.receiver.left();
    assert_eq!(count, (2 + more) * yields);
    let [keys, macs] = ends.draw(count);
    assert_eq!(ends.receiver.left(), 0);
    let mut seen = std::collections::HashSet::new();
    for (key, mac) in keys.iter().zip(&macs) {
        assert!(key.colour() == 0 && *mac == *key ^ ends.delta.times(mac.colour()));
        assert!(seen.insert(key.bits()), "a key occurs twice");
    }
    let ones = macs.iter().filter(|mac| mac.colour() == 1).count();
    assert!(ones.abs_diff(count / 2) < 5 * count.isqrt());
}

/// Runs both directions at once over one connection, with the parameters of honest runs.
#[test]
fn both_directions_are_made_at_once() {
    let (left, right) = memory_pair();
    let mut rng = Rng::replayable("test dealer");
    let deals = [0; 2].map(|_| {
        let pairs: Vec<[Seed; 2]> = (0..BASE_OTS).map(|_| [rng.seed(), rng.seed()]).collect();
        (rng.delta(), pairs)
    });
    let party = |mut channel: Channel, role: Direction| {
        let (own, other) = (&deals[role as usize], &deals[role.other() as usize]);
        let bit = |i: usize| (own.0.bits() >> i & 1) as usize;
        let seeds: Vec<Seed> = own.1.iter().enumerate().map(|(i, pair)| pair[bit(i)].clone()).collect();
        let (mine, theirs) = (Series::new(&[3; 32], role), Series::new(&[3; 32], role.other()));
        let mut receiver = Receiver::set_up(&mut channel, &theirs, &other.1).unwrap();
        let mut sender = Sender::set_up(&mut channel, &mine, own.0, &seeds).unwrap();
        let count = PARAMETERS.yields() + 1000;
        provide(&mut channel, &mut sender, &mut receiver, count).unwrap();
        let before = (channel.sent_bytes(), channel.received_bytes());
        let (mut keys, mut macs) = (vec![Label::ZERO; count], vec![Label::ZERO; count]);
        sender.random_bits(&mut channel, &mut keys).unwrap();
        receiver.random_bits(&mut channel, &mut Rng::replayable("none"), &mut macs).unwrap();
        assert_eq!((channel.sent_bytes(), channel.received_bytes()), before, "no message is left");
        (own.0, keys, macs)
    };
    let [(g, g_keys, g_macs), (e, e_keys, e_macs)] = std::thread::scope(|scope| {
        let other = scope.spawn(|| party(right, Direction::EvaluatorSends));
        let one = party(left, Direction::GarblerSends);
        [one, other.join().unwrap()]
    });
    for (delta, keys, macs) in [(g, g_keys, e_macs), (e, e_keys, g_macs)] {
        assert!(keys.iter().zip(&macs).all(|(key, mac)| *mac == *key ^ delta.times(mac.colour())));
    }
}

/// Returns the leaves that a receiver with this path computes from these corrections, without the offset in
/// the unknown leaf. The leaves equal the sender's leaves if nothing was altered.
fn view(
    ends: &Ends,
    keys: &Keys,
    levels: &[Label],
    corrections: &[u128],
    tree: usize,
    path: usize,
) -> Vec<u128> {
    let PcgParameters { depth, .. } = ends.sender.iterations.parameters;
    let known: Vec<u128> = (0..depth)
        .map(|level| {
            let choice = (path >> level & 1) as u8 ^ 1;
            let mac = levels[level] ^ ends.delta.times(choice);
            mac.bits() ^ if level == 0 { 0 } else { corrections[tree * (depth - 1) + level - 1] }
        })
        .collect();
    let mut leaves = vec![0; 1 << depth];
    brickwork_kernels::complete_tree(Kernel::best(), &keys.trees[tree], path, &known, &mut leaves);
    leaves[path] ^= ends.delta.bits();
    leaves
}

/// A sender that changes the correction of a level guesses the path. It passes exactly if the receiver's path
/// gives the guessed errors. On any level, two paths give the same errors: they differ only in the last bit,
/// so their unknown leaves are adjacent.
#[test]
fn row_02_a_sender_is_found_out_unless_it_names_the_path() {
    let depth = SMALL.depth;
    for level in 1..depth {
        let (mut passed, mut expected, trials) = (0, 0.0, 160);
        for trial in 0..trials {
            let mut rng = Rng::replayable("test");
            for _ in 0..trial {
                let _ = rng.seed();
            }
            let mut ends = ends(&mut rng, SMALL);
            let (tree, named) = (trial % SMALL.trees, trial * 7 % (1 << depth));
            // The test has all the knowledge of the sender.
            let macs = ends.receiver.begin(&mut ends.right, 1).unwrap();
            let reserve = ends.sender.begin(&mut ends.left, 1).unwrap();
            let levels = reserve[0][SMALL.dimension + tree * depth..][..depth].to_vec();
            let true_path = receiver::path(&macs[0][SMALL.dimension + tree * depth..][..depth]);
            let lie = 4 << (trial % 100);
            let (mut honest, mut altered) = (Vec::new(), Vec::new());
            let offered = ends
                .sender
                .offer(&mut ends.left, reserve, |corrections| {
                    honest = corrections.to_vec();
                    corrections[tree * (depth - 1) + level - 1] ^= lie;
                    altered = corrections.to_vec();
                })
                .unwrap();
            let completed = ends.receiver.complete(&mut ends.right, macs, |_| {}).unwrap();
            let keys = &offered[0].keys;
            let seen = |corrections: &[u128], path| view(&ends, keys, &levels, corrections, tree, path);
            let (true_leaves, views): (_, Vec<Vec<u128>>) =
                (seen(&honest, named), (0..1 << depth).map(|path| seen(&altered, path)).collect());
            let alike = views.iter().filter(|view| **view == views[named]).count();
            assert_eq!(alike, 2);
            assert!(views[named] == views[named ^ 1 << (depth - 1)]);
            let passes = views[true_path] == views[named];
            let difference: Vec<u128> =
                true_leaves.iter().zip(&views[named]).map(|(own, named)| own ^ named).collect();
            ends.sender
                .answer(&mut ends.left, offered, |elements, v| {
                    v ^ product(&[product(&difference, &elements.leaves)], &[elements.trees[tree]])
                })
                .unwrap();
            let result = ends.receiver.verify(&mut ends.right, completed);
            assert_eq!(!refused(result), passes, "level {level}, path {true_path}, guessed path {named}");
            passed += usize::from(passes);
            expected += alike as f64 / f64::from(1 << depth);
        }
        let sigma = expected.sqrt();
        assert!(
            (passed as f64 - expected).abs() <= 4.5 * sigma,
            "level {level}: {passed} passed, not \
            {expected}"
        );
    }
}

/// An altered message without a matching answer is detected, for corrections of any level and for the proof.
/// The OTs of the iteration are erased, and both parties refuse all further calls.
#[test]
fn row_02_altered_messages_are_found_out_and_end_the_series() {
    let words = SMALL.depth - 1;
    for place in [0, 1, words - 1, words, 17 * words + 1, SMALL.corrections() - 1] {
        for bit in [0, 1, 64, 127] {
            let mut ends = ends(&mut Rng::replayable("test"), SMALL);
            let altered = ends.round(1, &mut |words| words[place] ^= 1 << bit, &mut |_| {}, &mut |_, v| v);
            if place % words == words - 1 && bit == 0 {
                // The receiver overwrites the last bits of leaves, so this change of a last bit has no
                // effect.
                altered.unwrap();
                let [keys, macs] = ends.draw(ends.receiver.left());
                let holds = |(key, mac): (&Label, &Label)| *mac == *key ^ ends.delta.times(mac.colour());
                assert!(keys.iter().zip(&macs).all(holds));
                continue;
            }
            assert!(refused(altered), "{place} {bit}");
            assert_eq!((ends.receiver.left(), ends.receiver.iterations.reserve.len()), (0, 0));
            let mut labels = [Label::ZERO; 5];
            let again = ends.receiver.random_bits(&mut ends.right, &mut Rng::replayable("none"), &mut labels);
            assert!(refused(again));
        }
    }
    let mut ends = ends(&mut Rng::replayable("test"), SMALL);
    assert!(refused(ends.round(1, &mut |_| {}, &mut |_| {}, &mut |_, v| v ^ 1 << 127)));
}

#[test]
fn row_02_the_second_of_several_iterations_is_checked_too() {
    for bad in 0..2 {
        let mut ends = ends(&mut Rng::replayable("test"), PcgParameters { depth: 6, ..SMALL });
        ends.honest_round(1);
        let (mut k, yields) = (0, ends.sender.iterations.parameters.yields());
        let mut alter = |words: &mut [u128]| {
            if k == bad {
                words[3] ^= 1 << 50;
            }
            k += 1;
        };
        let result = ends.round(2 * yields + 1, &mut alter, &mut |_| {}, &mut |_, v| v);
        assert!(refused(result));
        assert!(k >= 2, "several were made");
    }
}

/// If a receiver answers with another x', its W differs from the sender's V by the difference times Δ. The
/// receiver would have to know Δ to compute the expected hash, so its own check fails.
#[test]
fn row_02_a_receiver_that_lies_about_its_errors_learns_a_hash_of_the_offset() {
    let mut ends = ends(&mut Rng::replayable("test"), SMALL);
    let [mut proof, mut named] = [0; 2];
    let mut lie = |challenge: &mut [u128; 2]| challenge[1] ^= 1 << 77;
    let mut answer = |_: &Elements, v: u128| {
        proof = v;
        v
    };
    assert!(refused(ends.round(1, &mut |_| {}, &mut lie, &mut answer)));
    // The run is repeated with a sender that corrects V for the lie, which requires the offset.
    let mut ends = another();
    let delta = ends.delta;
    let mut take_back = |_: &Elements, v: u128| {
        named = v ^ product(&[1 << 77], &[delta.bits()]);
        named
    };
    ends.round(1, &mut |_| {}, &mut lie, &mut take_back).unwrap();
    assert_ne!(proof, named);
}

fn another() -> Ends {
    ends(&mut Rng::replayable("test"), SMALL)
}

/// A receiver whose first OTs are inconsistent is detected before the sender sends anything.
#[test]
fn row_02_inconsistent_first_ots_are_found_out_before_a_tree_is_sent() {
    let mut ends = ends(&mut Rng::replayable("test"), SMALL);
    let tamper: Tamper = Box::new(|tag, bytes| {
        if tag == softspoken::msg::CHECK {
            bytes[16 * 5 + 3] ^= 1;
        }
    });
    ends.right.set_tamper(tamper);
    let _ = ends.receiver.begin(&mut ends.right, 1).unwrap();
    let before = ends.left.sent_bytes();
    let Err(Error::Peer(cheat)) = ends.sender.begin(&mut ends.left, 1).map(|_| ()) else {
        panic!("it is refused")
    };
    assert!(cheat == ot::Cheat::OtExtension);
    assert_eq!(ends.left.sent_bytes(), before);
    let mut labels = [Label::ZERO; 5];
    assert!(refused(ends.sender.random_bits(&mut ends.left, &mut labels)));
}

#[test]
fn row_18_malformed_messages_are_refused() {
    for cut in [msg::CORRECTIONS, msg::CHALLENGE, msg::PROOF] {
        let mut ends = ends(&mut Rng::replayable("test"), SMALL);
        let tamper = move || -> Tamper {
            Box::new(move |tag, bytes| {
                if tag == cut {
                    let _ = bytes.pop();
                }
            })
        };
        ends.left.set_tamper(tamper());
        ends.right.set_tamper(tamper());
        let result = ends.round(1, &mut |_| {}, &mut |_| {}, &mut |_, v| v);
        assert!(matches!(result, Err(Error::Peer(_))), "{cut:?}");
    }
}

/// A party that enters another range forgets all OTs of the previous one, and begins with a first iteration
/// again.
#[test]
fn row_16_nothing_of_an_entry_is_left_in_the_next_one() {
    let mut ends = ends(&mut Rng::replayable("test"), SMALL);
    ends.honest_round(1);
    let series = Series::new(&[3; 32], Direction::GarblerSends);
    let (sent, got) = (ends.sender.keys_behind(), ends.receiver.keys_behind());
    ends.sender = Sender::over(softspoken::Sender::restored(&series, ends.delta, sent).unwrap(), SMALL);
    ends.receiver = Receiver::over(softspoken::Receiver::restored(&series, got).unwrap(), SMALL).unwrap();
    ends.sender.enter(&mut brickwork_store::Ranges::lent(1).unwrap()).unwrap();
    ends.receiver.enter(&mut brickwork_store::Ranges::lent(1).unwrap()).unwrap();
    assert_eq!(
        (ends.receiver.left(), ends.receiver.iterations.reserve.len(), ends.sender.iterations.reserve.len()),
        (0, 0, 0)
    );
    ends.honest_round(1);
    let [keys, macs] = ends.draw(10);
    assert!(keys.iter().zip(&macs).all(|(key, mac)| *mac == *key ^ ends.delta.times(mac.colour())));
}

#[test]
fn easy_instances_are_refused() {
    PARAMETERS.checked(lpn_bits()).unwrap();
    assert!(lpn_bits() >= LEAST_BITS);
    let easy = PcgParameters { dimension: 1 << 16, ..PARAMETERS };
    let refused = easy.checked(easy.lpn().bits());
    assert!(matches!(refused, Err(Error::Usage(why)) if why.contains("LPN")));
}
