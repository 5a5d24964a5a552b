use std::collections::{HashMap, HashSet};
use std::thread;

use num_bigint::BigUint;
use num_rational::BigRational;

use super::combine::Coefficients;
use super::*;
use crate::cut_and_choose::Upper;
use brickwork_base::Error;
use brickwork_testing::Replayable as _;
use brickwork_wire::{Channel, memory_pair};

const SECURITY: u32 = 40;

/// Both keys of OTs, and for each OT the key that these choices select.
fn dealt(choices: &[u8], rng: &mut Rng) -> (Vec<[Seed; 2]>, Vec<Seed>) {
    let pairs: Vec<[Seed; 2]> = choices.iter().map(|_| [rng.seed(), rng.seed()]).collect();
    let chosen = pairs.iter().zip(choices).map(|(pair, &choice)| pair[usize::from(choice)].clone()).collect();
    (pairs, chosen)
}

struct Ends {
    sender: (Sender, Channel),
    receiver: (Receiver, Channel),
}

fn ends(parameters: &HashParameters, choices: Vec<u8>, security: u32) -> Ends {
    let (mut left, mut right) = memory_pair();
    let (pairs, chosen) = dealt(&choices, &mut Rng::replayable("test dealer"));
    thread::scope(|scope| {
        let receiver = scope.spawn(move || {
            let watch = WatchedSymbols::of(choices);
            (Receiver::set_up(&mut right, parameters, watch, &chosen, security).unwrap(), right)
        });
        let sender = (Sender::set_up(&mut left, parameters, pairs, security).unwrap(), left);
        Ends { sender, receiver: receiver.join().unwrap() }
    })
}

fn some_watch(parameters: &HashParameters) -> Vec<u8> {
    WatchedSymbols::draw(parameters, &mut Rng::replayable("test watch")).choices().to_vec()
}

fn all_watches(parameters: &HashParameters) -> Vec<Vec<u8>> {
    (0_u32..1 << parameters.n())
        .filter(|set| set.count_ones() as usize == parameters.w())
        .map(|set| (0..parameters.n()).map(|i| (set >> i & 1) as u8).collect())
        .collect()
}

/// Hashes random words and proves the hashes.
fn sent(sender: &mut Sender, channel: &mut Channel, count: usize) -> Result<Words, Error> {
    let half = count / 3;
    let [first, second] = [half, count - half].map(|count| sender.random(channel, count));
    let (first, second, masks) = (first?, second?, sender.masks(channel)?);
    let seed = asked(channel)?;
    sender.prove(channel, &seed, &[&first, &second], masks)?;
    let words = Words::join(&[&first, &second]);
    channel.flush()?;
    Ok(words)
}

/// Receives the hashes of random words and checks them.
fn received(receiver: &mut Receiver, channel: &mut Channel, count: usize) -> Result<Hashes, Error> {
    let half = count / 3;
    let [first, second] = [half, count - half].map(|count| receiver.random(channel, count));
    let (first, second, masks) = (first?, second?, receiver.masks(channel)?);
    let seed = ask(channel)?;
    let hashes = receiver.verify(channel, &seed, vec![first, second], masks)?;
    Ok(Hashes::join(&hashes.iter().collect::<Vec<_>>()))
}

impl Ends {
    fn random(&mut self, count: usize) -> (Words, Hashes) {
        let Ends { sender: (sender, left), receiver: (receiver, right) } = self;
        thread::scope(|scope| {
            let hashes = scope.spawn(|| received(receiver, right, count).unwrap());
            (sent(sender, left, count).unwrap(), hashes.join().unwrap())
        })
    }

    fn chosen(&mut self, words: &Words) -> Hashes {
        let (mut differences, mut hashes) = self.random(words.count());
        differences.add(words);
        let Ends { sender: (sender, left), receiver: (receiver, right) } = self;
        thread::scope(|scope| {
            let hashed = scope.spawn(|| receiver.hashes(&receiver.chosen(right, words.count()).unwrap()));
            sender.chosen(left, &differences).unwrap();
            left.flush().unwrap();
            hashes.add(&hashed.join().unwrap());
        });
        hashes
    }

    fn passes(&self, hashes: &Hashes, words: &Words) -> Vec<bool> {
        self.receiver.0.differences(hashes, words).iter().map(|&differ| differ == 0).collect()
    }
}

fn small() -> HashParameters {
    HashParameters::new(6, 3, 3, 2).unwrap()
}

fn random_words(parameters: &HashParameters, count: usize, rng: &mut Rng) -> Words {
    let mut words = Words::random(parameters.l(), count, rng);
    for k in 0..count {
        words.symbols_mut(k).iter_mut().for_each(|symbol| *symbol &= parameters.field().mask());
    }
    words
}

fn words_of(all: &[Vec<u8>]) -> Words {
    let mut words = Words::zeros(all[0].len(), all.len());
    all.iter().enumerate().for_each(|(k, symbols)| words.symbols_mut(k).copy_from_slice(symbols));
    words
}

/// Returns the value at `at` of the polynomial through these points.
fn interpolated(field: Field, values: &[(u8, u8)], at: u8) -> u8 {
    values.iter().fold(0, |sum, &(x, value)| {
        let others = values.iter().filter(|&&(y, _)| y != x);
        let factor =
            others.fold(1, |product, &(y, _)| field.mul(product, field.mul(at ^ y, field.inverse(x ^ y))));
        sum ^ field.mul(factor, value)
    })
}

#[test]
fn hashes_are_of_the_words_and_add_up() {
    let mut rng = Rng::replayable("test words");
    let every =
        [small(), HashParameters::LABELS_88, HashParameters::LABELS_127, HashParameters::PERMUTATIONS];
    for parameters in every {
        let mut ends = ends(&parameters, some_watch(&parameters), SECURITY);
        for count in [0, 1, 15, 16, 17, 64, 65, 200, 600, 8192] {
            let (words, hashes) = ends.random(count);
            assert_eq!((words.count(), words.symbols(), hashes.count()), (count, parameters.l(), count));
            assert!(ends.passes(&hashes, &words).iter().all(|&passes| passes));
            let more = random_words(&parameters, count, &mut rng);
            let chosen = ends.chosen(&more);
            assert!(ends.passes(&chosen, &more).iter().all(|&passes| passes));
            let (mut sums, mut of_sums) = (words.clone(), hashes.clone());
            sums.add(&more);
            of_sums.add(&chosen);
            assert!(ends.passes(&of_sums, &sums).iter().all(|&passes| passes));
            let order = || (0..count).rev().step_by(2);
            assert!(
                ends.passes(&of_sums.select(order()), &sums.select(order())).iter().all(|&passes| passes)
            );
            assert!(ends.receiver.0.hashes(&words).words().data() == hashes.words().data());
            if parameters != small() && count > 0 {
                let other = random_words(&parameters, count, &mut rng);
                assert!(ends.passes(&of_sums, &other).iter().all(|&passes| !passes));
            }
        }
    }
}

#[test]
fn random_words_are_fresh_and_full() {
    let parameters = HashParameters::PERMUTATIONS;
    let mut ends = ends(&parameters, some_watch(&parameters), SECURITY);
    let (first, second) = (ends.random(100).0, ends.random(100).0);
    for t in 0..100 {
        assert!((0..100).all(|u| first.word(t) != second.word(u)));
        assert!((0..t).all(|u| first.word(t) != first.word(u)));
    }
    // Among 4000 symbols, each of the 64 values occurs.
    let symbols: HashSet<u8> =
        (0..100).flat_map(|t| [first.symbols_of(t), second.symbols_of(t)].concat()).collect();
    assert_eq!(symbols.len(), 64);
}

/// Section 4.3, lemma 4.3: for every set of ℓ − 1 symbols, there is another word whose codeword agrees there
/// with that of the hashed word. The fraction of the watched sets for which this word fits the hash is
/// exactly that in the bound.
#[test]
fn row_11_another_word_passes_as_often_as_the_bound_says() {
    let parameters = small();
    let field = parameters.field();
    let watches = all_watches(&parameters);
    assert_eq!(watches.len(), 15);
    let mut passed: HashMap<Vec<u8>, u32> = HashMap::new();
    for watch in watches {
        let mut ends = ends(&parameters, watch, 2);
        let (words, hashes) = ends.random(1);
        for agree in 0_u8..1 << parameters.n() {
            if agree.count_ones() as usize != parameters.l() - 1 {
                continue;
            }
            let places: Vec<u8> = (0..parameters.n() as u8).filter(|i| agree >> i & 1 == 1).collect();
            let zeros: Vec<(u8, u8)> = places.iter().map(|&i| (i, 0)).chain([(7, 5)]).collect();
            let difference: Vec<u8> = (0..3).map(|at| interpolated(field, &zeros, at)).collect();
            assert!(difference.iter().any(|&symbol| symbol != 0));
            let mut other = words.clone();
            other.add(&words_of(&[difference]));
            *passed.entry(places).or_default() += u32::from(ends.passes(&hashes, &other)[0]);
        }
    }
    assert_eq!(passed.len(), 15);
    assert!(passed.values().all(|&passed| passed == 1), "{passed:?}");
    assert!((parameters.binding().log2() + 15_f64.log2()).abs() < 1e-8);
}

/// If one of several words is not a codeword, their combination is a codeword as often as
/// `HashParameters::check` allows.
#[test]
fn row_03_a_combination_hides_what_is_no_codeword_as_often_as_counted() {
    let parameters = HashParameters::new(12, 5, 4, 3).unwrap();
    let (code, mut rng) = (SymbolCode::new(&parameters), Rng::replayable("test"));
    let (trials, count) = (6000, 130);
    let mut hidden = 0;
    for trial in 0..trials {
        let mut words = code.encode(&random_words(&parameters, count, &mut rng));
        // Each trial changes another word by another error, so all chunks and lanes of the sum are tested.
        words.symbols_mut(trial % count)[trial % 12] ^= 1 + (trial % 15) as u8;
        let mut combined = code.encode(&random_words(&parameters, 1, &mut rng));
        Coefficients::expand(&rng.seed(), code.field(), 1).combine(&words, &mut combined, None);
        let again = code.encode(&words_of(&[combined.symbols_of(0)[..parameters.l()].to_vec()]));
        hidden += u32::from(again.data() == combined.data());
    }
    // A combination is a codeword with probability 1/16 + 15/256 = 31/256. The binomial count has mean 726.6
    // and standard deviation 25.3, so the tolerance is about five deviations.
    let expected = f64::from(trials as u32) * (31.0 / 256.0);
    assert!((f64::from(hidden) - expected).abs() < 125.0, "{hidden} instead of {expected}");
}

/// Sends the corrections of 33 words, of 67 words and of the masks, changed by a hook. Returns the receiver's
/// result.
fn corrected(
    parameters: &HashParameters,
    watch: Vec<u8>,
    alter: fn(usize, &mut Vec<u8>),
) -> Result<Hashes, Error> {
    let Ends { sender: (mut sender, mut left), receiver: (mut receiver, mut right) } =
        ends(parameters, watch, SECURITY);
    let mut nth = 0;
    left.set_tamper(Box::new(move |tag, bytes| {
        if tag == msg::CORRECTIONS {
            alter(nth, bytes);
            nth += 1;
        }
    }));
    thread::scope(|scope| {
        let end = scope.spawn(move || received(&mut receiver, &mut right, 100));
        // The sender fails when the receiver has already closed the connection.
        let _ = sent(&mut sender, &mut left, 100);
        drop(left);
        end.join().unwrap()
    })
}

#[test]
fn row_03_symbols_of_no_codeword_are_caught_where_they_are_watched() {
    let parameters = HashParameters::LABELS_88;
    // In word 7, all 54 parity symbols of 86 symbols are wrong. Some of them are watched, except with
    // probability 2^-40.
    let refused = corrected(&parameters, some_watch(&parameters), |nth, bytes| {
        bytes[7 * 54..8 * 54].iter_mut().for_each(|symbol| *symbol ^= u8::from(nth == 0));
    });
    assert!(refused.is_err_and(|error| error.is_cheat(Cheat::Codeword)));
    // A single wrong symbol is noticed only if it is watched.
    for (last, caught) in [(1, true), (0, false)] {
        let mut watch = vec![0; 86];
        watch[..20].fill(1);
        watch[85] = last;
        watch[84] = 1 - last;
        let end = corrected(&parameters, watch, |nth, bytes| {
            if nth == 1 {
                bytes[66 * 54 + 53] ^= 0x80;
            }
        });
        assert_eq!(end.is_err_and(|error| error.is_cheat(Cheat::Codeword)), caught);
    }
}

/// A wrong symbol that is not watched changes nothing: the other symbols determine the hashed word.
#[test]
fn what_survives_is_bound_by_the_other_symbols() {
    let parameters = HashParameters::PERMUTATIONS;
    let mut watch = vec![0; 44];
    watch[..19].fill(1);
    // Changes the last symbol of each word: six bits of 144.
    let hashes = corrected(&parameters, watch, |_, bytes| {
        bytes.chunks_exact_mut(18).for_each(|word| word[17] ^= 0x5c);
    });
    assert_eq!(hashes.unwrap().count(), 100);
}

/// Draws words that the owner of all seeds can read, with corrections that a hook changes. Returns the
/// sender's words, the values that the receiver reads with all seeds and with other seeds, and the expected
/// values.
fn read(
    parameters: &HashParameters,
    watch: Vec<u8>,
    count: usize,
    alter: fn(usize, &mut Vec<u8>),
) -> (Words, Result<[Vec<u8>; 2], Error>, Vec<u8>) {
    read_from(parameters, watch, count, &[], alter)
}

/// Does the same as [`read`], with a sender that uses other seeds for the symbols of `other_streams` than it
/// gave the receiver.
fn read_from(
    parameters: &HashParameters,
    watch: Vec<u8>,
    count: usize,
    other_streams: &[usize],
    alter: fn(usize, &mut Vec<u8>),
) -> (Words, Result<[Vec<u8>; 2], Error>, Vec<u8>) {
    let Ends { sender: (mut sender, mut left), receiver: (mut receiver, mut right) } =
        ends(parameters, watch, SECURITY);
    let (all, others) = (sender.seeds().to_vec(), receiver.state().1.to_vec());
    if !other_streams.is_empty() {
        let (mut seeds, mut rng) = (all.clone(), Rng::replayable("test other streams"));
        other_streams.iter().for_each(|&symbol| seeds[symbol] = rng.seed());
        sender = Sender::restored(parameters, seeds, SECURITY).unwrap();
        sender.enter(&mut brickwork_store::Ranges::of_setup(), &WORDS).unwrap();
    }
    let point = receiver.code().seeded_evaluation(&Rng::replayable("test points").seed(), 1);
    let mut nth = 0;
    left.set_tamper(Box::new(move |tag, bytes| {
        if tag == msg::CORRECTIONS {
            alter(nth, bytes);
            nth += 1;
        }
    }));
    let values = |words: &Words| (0..words.count()).map(|k| words.symbols_of(k)[0]).collect::<Vec<u8>>();
    let hidden = point.clone();
    thread::scope(|scope| {
        let end = scope.spawn(move || {
            let pending = receiver.readable(&mut right, count)?;
            let seed = ask(&mut right)?;
            let (hashes, readable) = receiver.verify_readable(&mut right, &seed, pending)?;
            assert_eq!((hashes.count(), readable.count()), (count, count));
            let others = (0..all.len()).map(|i| others[i % others.len()].clone()).collect();
            Ok([all, others].map(|seeds| values(&readable.read(&receiver, &seeds, &hidden))))
        });
        let (words, masks) = (sender.random(&mut left, count).unwrap(), sender.masks(&mut left).unwrap());
        let expected = values(&sender.code().at(&point, &words));
        if let Ok(seed) = asked(&mut left) {
            let _ = sender.prove(&mut left, &seed, &[&words], masks).and_then(|()| left.flush());
        }
        drop(left);
        (words, end.join().unwrap(), expected)
    })
}

/// A party that knows the seeds of all symbols reads the words at points that are never sent; a party with
/// other seeds reads nothing.
#[test]
fn who_knows_all_seeds_reads_what_is_hidden() {
    let in_use = [(49, 31, 6, 30), (75, 48, 7, 47), (102, 48, 8, 31)];
    let in_use = in_use.map(|(n, l, bits, w)| HashParameters::new(n, l, bits, w).unwrap());
    for parameters in in_use {
        for count in [1, 16, 700] {
            let (_, end, expected) = read(&parameters, some_watch(&parameters), count, |_, _| {});
            let [found, others] = end.unwrap();
            assert_eq!(found, expected);
            let alike = others.iter().zip(&expected).filter(|(a, b)| a == b).count();
            assert!(count < 700 || alike < 60, "{alike}");
        }
    }
}

/// The sender's unwatched symbols are wrong, so that its symbols are not a codeword. With all seeds, the
/// receiver finds these symbols, and reads the hashed word from the others, even if only one unwatched symbol
/// is left. If a wrong symbol is watched, the hashes are refused.
#[test]
fn row_09_what_is_hashed_wrongly_where_nobody_watches_is_read_right() {
    let parameters = HashParameters::new(49, 31, 6, 30).unwrap();
    // The receiver watches the first 30 symbols, or the last 30.
    let (mut first, mut last) = (vec![0; 49], vec![0; 49]);
    first[..30].fill(1);
    last[19..].fill(1);
    let all: fn(usize, &mut Vec<u8>) = |_, bytes| {
        for start in (0..8 * bytes.len() - 107).step_by(108) {
            (0..18).map(|k| start + 6 * k).for_each(|bit| bytes[bit / 8] ^= 1 << (bit % 8));
        }
    };
    let some: fn(usize, &mut Vec<u8>) = |nth, bytes| {
        if nth == 0 {
            for start in (0..8 * bytes.len() - 107).step_by(108) {
                (3..17).map(|k| start + 6 * k).for_each(|bit| bytes[bit / 8] ^= 1 << (bit % 8));
            }
        }
    };
    for alter in [all, some] {
        let (_, end, expected) = read(&parameters, first.clone(), 40, alter);
        assert_eq!(end.unwrap()[0], expected);
        let (_, end, _) = read(&parameters, last.clone(), 40, alter);
        assert!(end.is_err_and(|error| error.is_cheat(Cheat::Codeword)));
    }
}

/// A sender may have hashed words with other streams for unwatched symbols, even for symbols of the word
/// itself, and still answer correctly. With all seeds, the receiver finds these symbols by all combinations
/// together, and reads the words from the symbols that agree, even if only one of them is unwatched.
#[test]
fn row_09_symbols_that_disagree_with_the_answer_are_read_by_nobody() {
    let parameters = HashParameters::new(49, 31, 6, 30).unwrap();
    let mut watch = vec![0; 49];
    watch[..29].fill(1);
    watch[40] = 1;
    let unwatched: Vec<usize> = (0..49).filter(|&symbol| watch[symbol] == 0).collect();
    for agrees in [48, 29, 31] {
        let others: Vec<usize> = unwatched.iter().copied().filter(|&symbol| symbol != agrees).collect();
        // A single combination would miss one of the 18 wrong symbols in one run of four.
        for _ in 0..40 {
            let (_, end, expected) = read_from(&parameters, watch.clone(), 40, &others, |_, _| {});
            assert_eq!(end.unwrap()[0], expected, "{agrees}");
        }
    }
    // Only the first unwatched symbol of the word is wrong. A reader that ignored this disagreement would use
    // the wrong symbol first.
    let (_, end, expected) = read_from(&parameters, watch.clone(), 40, &[29], |_, _| {});
    assert_eq!(end.unwrap()[0], expected);
    // A wrong symbol that is watched leads to a refusal.
    let (_, end, _) = read_from(&parameters, watch, 40, &[3], |_, _| {});
    assert!(end.is_err_and(|error| error.is_cheat(Cheat::Codeword)));
}

#[test]
fn row_02_whoever_takes_too_many_seeds_is_found_out() {
    let parameters = HashParameters::PERMUTATIONS;
    let mut choices = some_watch(&parameters);
    let unwatched = choices.iter().position(|&choice| choice == 0).unwrap();
    choices[unwatched] = 1;
    let (pairs, chosen) = dealt(&choices, &mut Rng::replayable("test dealer"));
    let mut guess = [0; 16];
    Rng::replayable("test guess").fill(&mut guess);
    let (mut left, mut right) = memory_pair();
    thread::scope(|scope| {
        // An honest receiver stops here, because a share is missing. The receiver of this test continues and
        // guesses the secret.
        let receiver = scope.spawn(move || {
            let own = right.receive(msg::SHARES, 16 * 44 + 32).map(|_| ());
            right.send(msg::SECRET, &guess).unwrap();
            right.flush().unwrap();
            own
        });
        let refused = Sender::set_up(&mut left, &parameters, pairs, SECURITY).map(|_| ());
        assert!(refused.is_err_and(|error| error.is_cheat(Cheat::Watched)));
        receiver.join().unwrap().unwrap();
    });
    let (mut left, mut right) = memory_pair();
    let (pairs, _) = dealt(&choices, &mut Rng::replayable("test dealer"));
    thread::scope(|scope| {
        scope.spawn(move || Sender::set_up(&mut left, &parameters, pairs, SECURITY).map(|_| ()));
        let refused =
            Receiver::set_up(&mut right, &parameters, WatchedSymbols::of(choices), &chosen, SECURITY);
        assert!(refused.map(|_| ()).is_err_and(|error| error.is_cheat(Cheat::Shares)));
        drop(right);
    });
}

/// Wrong shares are noticed if they are used. The receiver then sends nothing that depends on which shares
/// were wrong.
#[test]
fn row_12_shares_of_another_secret_are_refused_before_an_answer() {
    let parameters = HashParameters::PERMUTATIONS;
    for (wrong, caught) in [(0, false), (43, true)] {
        let mut watch = vec![0; 44];
        watch[..19].fill(1);
        let (pairs, chosen) = dealt(&watch, &mut Rng::replayable("test dealer"));
        let (mut left, mut right) = memory_pair();
        left.set_tamper(Box::new(move |tag, bytes| {
            if tag == msg::SHARES {
                bytes[16 * wrong] ^= 1;
            }
        }));
        thread::scope(|scope| {
            let sender =
                scope.spawn(move || Sender::set_up(&mut left, &parameters, pairs, SECURITY).map(|_| ()));
            let end = Receiver::set_up(&mut right, &parameters, WatchedSymbols::of(watch), &chosen, SECURITY);
            assert_eq!(end.map(|_| ()).is_err_and(|error| error.is_cheat(Cheat::Shares)), caught);
            assert_eq!(right.sent_bytes() == 0, caught);
            drop(right);
            assert_eq!(sender.join().unwrap().is_err(), caught);
        });
    }
}

#[test]
fn as_many_symbols_are_watched_as_said_and_each_as_often() {
    let parameters = HashParameters::PERMUTATIONS;
    let mut rng = Rng::replayable("test");
    let mut counts = vec![0_i64; 44];
    for _ in 0..4400 {
        let watch = WatchedSymbols::draw(&parameters, &mut rng);
        assert_eq!(watch.choices().iter().filter(|&&choice| choice == 1).count(), 19);
        counts.iter_mut().zip(watch.choices()).for_each(|(count, &choice)| *count += i64::from(choice));
    }
    // The mean is 1900 and the standard deviation 33.
    assert!(counts.iter().all(|count| (count - 1900).abs() < 200), "{counts:?}");
}

/// The values at ℓ − w points that are never sent all occur equally often, whatever the watched symbols are.
#[test]
fn values_that_are_never_sent_are_uniform_whatever_is_watched() {
    let parameters = HashParameters::new(5, 3, 3, 1).unwrap();
    let code = SymbolCode::new(&parameters);
    assert_eq!(code.unsent(), [5, 6, 7]);
    let all: Vec<[u8; 3]> = (0_u16..512).map(|k| [k & 7, k >> 3 & 7, k >> 6].map(|x| x as u8)).collect();
    let words = words_of(&all.iter().map(|word| word.to_vec()).collect::<Vec<_>>());
    let sent = code.encode(&words);
    for points in [[5, 6], [7, 5], [6, 7]] {
        let hidden = code.at(&code.evaluation(&points), &words);
        for watched in 0..5 {
            let mut seen: HashMap<[u8; 3], u32> = HashMap::new();
            for t in 0..512 {
                let [first, second] = *hidden.symbols_of(t) else { panic!("two values") };
                let key = [sent.symbols_of(t)[watched], first, second];
                *seen.entry(key).or_default() += 1;
            }
            assert_eq!((seen.len(), seen.values().all(|&count| count == 1)), (512, true));
        }
    }
}

/// In the protocol, a label is compressed to its values at sixteen points that are never sent. For every
/// watched set, the compression keeps all hidden bits, up to 128. This holds even if all symbols of the first
/// blocks are watched. By lemma 6.1 a random matrix loses 8 of them with probability 1/255 where ℓ − w is 16.
#[test]
fn sixteen_points_that_are_never_sent_keep_all_that_is_hidden() {
    let mut rng = Rng::replayable("test");
    let in_use = [(102, 48, 8, 31), (130, 64, 8, 47), (157, 64, 8, 47)];
    let in_use = in_use.map(|(n, l, bits, w)| HashParameters::new(n, l, bits, w).unwrap());
    for parameters in [HashParameters::LABELS_88, HashParameters::LABELS_127].into_iter().chain(in_use) {
        let code = SymbolCode::new(&parameters);
        let (n, l) = (parameters.n(), parameters.l());
        let points = code.seeded_evaluation(&rng.seed(), 16);
        let unit = |i: usize| (0..l).map(|j| u8::from(i == j)).collect::<Vec<u8>>();
        let units = words_of(&(0..l).map(unit).collect::<Vec<_>>());
        let (sent, compressed) = (code.encode(&units), code.at(&points, &units));
        let row = |words: &Words, i: usize| (0..l).map(|j| words.symbols_of(j)[i]).collect::<Vec<u8>>();
        let first: Vec<u8> = (0..n).map(|i| u8::from(i < parameters.w())).collect();
        let drawn = (0..20).map(|_| WatchedSymbols::draw(&parameters, &mut rng)).collect::<Vec<_>>();
        for watch in drawn.into_iter().chain([WatchedSymbols::of(first)]) {
            let watched = (0..parameters.n()).filter(|&i| watch.choices()[i] == 1).map(|i| row(&sent, i));
            let rows: Vec<Vec<u8>> = watched.chain((0..16).map(|i| row(&compressed, i))).collect();
            assert_eq!(rank(code.field(), rows), l.min(parameters.w() + 16));
        }
    }
}

fn rank(field: Field, mut rows: Vec<Vec<u8>>) -> usize {
    let mut rank = 0;
    for column in 0..rows[0].len() {
        let Some(pivot) = (rank..rows.len()).find(|&i| rows[i][column] != 0) else { continue };
        rows.swap(rank, pivot);
        let by = field.inverse(rows[rank][column]);
        let pivot: Vec<u8> = rows[rank].iter().map(|&x| field.mul(x, by)).collect();
        for row in &mut rows[rank + 1..] {
            let by = row[column];
            row.iter_mut().zip(&pivot).for_each(|(x, &p)| *x ^= field.mul(by, p));
        }
        rank += 1;
    }
    rank
}

#[test]
#[should_panic]
fn a_point_that_is_sent_hides_nothing() {
    SymbolCode::new(&small()).evaluation(&[5]);
}

/// Returns the parity of all bits of a word, which is the permutation bit in the paper (section 5.1, step 1).
fn printed_bit(word: &[u8]) -> u32 {
    word.iter().map(|symbol| symbol.count_ones()).sum::<u32>() & 1
}

/// Returns one word that fits the symbols of a receiver that watches w = ℓ − 1 of them. All other such words
/// differ from it by multiples of the polynomial that is 0 at the watched points.
fn guess(field: Field, watched: &[(u8, u8)], spare: u8) -> Vec<u8> {
    let values: Vec<(u8, u8)> = watched.iter().copied().chain([(spare, 0)]).collect();
    (0..20).map(|at| interpolated(field, &values, at)).collect()
}

/// Repair (i): for about one of 64 watched sets, the paper's permutation bit follows from the watched
/// symbols. A cheating receiver chooses such a set and reads every permutation bit. With such a set, it
/// guesses the bit that this project uses, at a point that is never sent, with probability 1/2 only.
#[test]
fn the_printed_permutation_bit_is_read_and_ours_is_not() {
    let parameters = HashParameters::PERMUTATIONS;
    let (field, code, mut rng) = (parameters.field(), SymbolCode::new(&parameters), Rng::replayable("test"));
    // The paper's bit follows from the watched symbols if the polynomial that is 0 at these points has the
    // sum 0 over the word's points.
    let sum = |watch: &[u8]| {
        (0..20_u8).fold(0, |sum, at| {
            let places = (0..44_u8).filter(|&j| watch[usize::from(j)] == 1);
            sum ^ places.fold(1, |product, j| field.mul(product, at ^ j))
        })
    };
    let trials = 12_800;
    let bad: Vec<Vec<u8>> = (0..trials)
        .map(|_| WatchedSymbols::draw(&parameters, &mut rng).choices().to_vec())
        .filter(|watch| sum(watch) == 0)
        .collect();
    // The mean is 200 and the standard deviation 14.
    assert!(bad.len().abs_diff(trials / 64) < 85, "{} of {trials}", bad.len());

    let words = random_words(&parameters, 400, &mut rng);
    let sent = code.encode(&words);
    let hidden = code.at(&code.evaluation(&[63]), &words);
    let read = |watch: &[u8]| {
        let places: Vec<u8> = (0..44).filter(|&i| watch[usize::from(i)] == 1).collect();
        let spare = (0..44).find(|i| !places.contains(i)).unwrap();
        let (mut printed, mut ours) = (0, 0);
        for t in 0..400 {
            let watched: Vec<(u8, u8)> =
                places.iter().map(|&i| (i, sent.symbols_of(t)[usize::from(i)])).collect();
            let guess = guess(field, &watched, spare);
            printed += u32::from(printed_bit(&guess) == printed_bit(words.symbols_of(t)));
            let values: Vec<(u8, u8)> = (0..20).zip(guess.iter().copied()).collect();
            ours += u32::from(interpolated(field, &values, 63) & 1 == hidden.symbols_of(t)[0] & 1);
        }
        (printed, ours)
    };
    for watch in &bad[..3] {
        let (printed, ours) = read(watch);
        assert_eq!(printed, 400, "the receiver reads every bit that the paper defines");
        // The mean is 200 and the standard deviation 10.
        assert!(ours.abs_diff(200) < 60, "{ours} of 400");
    }
    let good = (0..).map(|_| some_watch(&parameters)).find(|watch| sum(watch) != 0).unwrap();
    assert!(read(&good).0.abs_diff(200) < 60);
}

#[test]
fn what_is_sent_is_as_long_as_said() {
    for parameters in
        [small(), HashParameters::LABELS_88, HashParameters::LABELS_127, HashParameters::PERMUTATIONS]
    {
        let mut ends = ends(&parameters, some_watch(&parameters), SECURITY);
        let before = (ends.sender.1.sent_bytes(), ends.receiver.1.sent_bytes());
        assert_eq!(before, (5 + 16 * parameters.n() as u64 + 32, 5 + 16));
        ends.random(77);
        let header = 5;
        let masks = parameters.masks(SECURITY);
        // The receiver gets the corrections of two lists and of the masks, and the combinations.
        for count in [77, 9000] {
            let before = (ends.sender.1.sent_bytes(), ends.receiver.1.sent_bytes());
            ends.random(count);
            let lists = [count / 3, count - count / 3, masks];
            let corrections: Vec<usize> =
                lists.into_iter().flat_map(|count| correction_bytes(&parameters, count)).collect();
            assert_eq!(corrections.len(), if count == 77 { 3 } else { 6 });
            let expected = corrections.iter().sum::<usize>() + answer_bytes(&parameters, SECURITY);
            let messages = corrections.len() + 1;
            assert_eq!(ends.sender.1.sent_bytes() - before.0, (messages * header + expected) as u64);
            assert_eq!(ends.receiver.1.sent_bytes() - before.1, header as u64 + 16);
        }
    }
    assert_eq!(HashParameters::LABELS_88.correction_bits(), 54 * 8);
    assert_eq!(HashParameters::LABELS_127.correction_bits(), 40 * 8);
    assert_eq!(HashParameters::PERMUTATIONS.correction_bits(), 24 * 6);
}

/// Opens words by values at points that are never sent: the receiver completes the words and detects wrong
/// values.
struct Opening {
    ends: Ends,
    unsent: Unsent,
    words: Words,
    hashes: Hashes,
}

impl Opening {
    fn new(parameters: &HashParameters, watch: Vec<u8>, count: usize, rng: &mut Rng) -> Self {
        let mut ends = ends(parameters, watch, SECURITY);
        let (words, hashes) = ends.random(count);
        let unsent = ends.sender.0.code().seeded_evaluation(&rng.seed(), parameters.l() - parameters.w());
        Opening { ends, unsent, words, hashes }
    }

    /// Opens all words, and proves the openings with `proven`. Returns whether the receiver accepts, and the
    /// words that it completed.
    fn run(&mut self, proven: &Words, alter: impl FnMut(&mut Vec<u8>) + Send + 'static) -> (bool, Words) {
        let Opening {
            ends: Ends { sender: (sender, left), receiver: (receiver, right) },
            unsent,
            words,
            hashes,
        } = self;
        let mut alter = alter;
        left.set_tamper(Box::new(move |tag, bytes| {
            if tag == msg::OPENED {
                alter(bytes);
            }
        }));
        thread::scope(|scope| {
            let end = scope.spawn(|| {
                let values = receiver.opened(right, hashes.count()).unwrap();
                let seed = ask(right).unwrap();
                let (half, count) = (hashes.count() / 2, hashes.count());
                let [first, second] =
                    [0..half, half..count].map(|r| (hashes.range(r.clone()), values.range(r)));
                let mut opened = receiver.openings(&seed, unsent);
                [first, second].iter().for_each(|(hashes, values)| opened.add(hashes, values));
                (opened.are_right(right).unwrap(), receiver.completion(unsent).words(hashes, &values))
            });
            sender.open(left, unsent, words).unwrap();
            let seed = asked(left).unwrap();
            let (half, count) = (words.count() / 2, words.count());
            let mut openings = sender.openings(&seed);
            [0..half, half..count].into_iter().for_each(|range| openings.add(&proven.range(range)));
            openings.send(left).unwrap();
            left.flush().unwrap();
            end.join().unwrap()
        })
    }
}

#[test]
fn opened_words_are_made_of_what_is_watched_and_what_is_not() {
    let mut rng = Rng::replayable("test openings");
    let labels = HashParameters::new(102, 48, 8, 31).unwrap();
    for parameters in [labels, HashParameters::PERMUTATIONS, HashParameters::LABELS_88] {
        for count in [1, 2, 70, 500] {
            let mut opening = Opening::new(&parameters, some_watch(&parameters), count, &mut rng);
            let before = opening.ends.sender.1.sent_bytes();
            let words = opening.words.clone();
            let (right, made) = opening.run(&words, |_| {});
            assert!(right && made.data() == words.data());
            let expected = opened_bytes(&parameters, count) + openings_bytes(&parameters, SECURITY);
            assert_eq!(opening.ends.sender.1.sent_bytes() - before, 10 + expected as u64);
            // The receiver refuses a wrong value, and combinations of words other than the opened ones.
            assert!(!opening.run(&words, |bytes| *bytes.last_mut().unwrap() ^= 1).0);
            let mut others = words.clone();
            others.symbols_mut(count - 1)[0] ^= 1;
            assert!(!opening.run(&others, |_| {}).0);
            assert!(opening.run(&words, |_| {}).0);
        }
    }
}

/// The view of a word is the same whether it is made from the word or from its opening: the values come
/// first, then the hash.
#[test]
fn what_is_seen_of_words_are_their_values_and_their_hashes() {
    let mut rng = Rng::replayable("test sight");
    // The values end within a block, or at the end of one.
    let lengths = [(102, 48, 8, 31), (60, 40, 8, 24), (6, 3, 3, 2)];
    let lengths = lengths.map(|(n, l, bits, w)| HashParameters::new(n, l, bits, w).unwrap());
    for parameters in lengths.into_iter().chain([HashParameters::PERMUTATIONS, HashParameters::LABELS_88]) {
        let receiver = ends(&parameters, some_watch(&parameters), SECURITY).receiver.0;
        let hidden = parameters.l() - parameters.w();
        let unsent = receiver.code().seeded_evaluation(&rng.seed(), hidden);
        let sight = receiver.sight(&unsent);
        for count in [0, 1, 7, 90] {
            let words = random_words(&parameters, count, &mut rng);
            let (values, hashes) = (receiver.code().at(&unsent, &words), receiver.hashes(&words));
            let seen = sight.of(&words);
            for k in 0..count {
                let (of_values, of_hash) = seen.symbols_of(k).split_at(hidden);
                assert_eq!(of_values, values.symbols_of(k));
                assert_eq!(of_hash, hashes.words().symbols_of(k));
                assert!(sight.hashes(&hashes).symbols_of(k)[..hidden].iter().all(|&symbol| symbol == 0));
            }
            let halves = [0..count / 2, count / 2..count];
            let parts = halves.map(|half| (values.range(half.clone()), hashes.range(half)));
            let joined = |step| sight.join(parts.iter().map(|(values, hashes)| (values, hashes)), step);
            assert!(joined(1).data() == seen.data());
            let even = |half: std::ops::Range<usize>| half.step_by(2);
            let evens: Vec<usize> = even(0..count / 2).chain(even(count / 2..count)).collect();
            assert!(joined(2).data() == seen.select(evens.into_iter()).data());
            let mut sums = sight.hashes(&hashes);
            sums.add(&seen);
            let watched = sight.watched();
            assert!((0..count).all(|k| sums.word(k).iter().zip(&watched).all(|(sum, ones)| sum & ones == 0)));
        }
    }
}

/// A sender that opens another word succeeds if the two words agree in all watched symbols, because its
/// messages are then those for the right word. If the sender opens a wrong value and answers honestly, it is
/// detected unless the errors cancel in all combinations.
#[test]
fn row_11_a_wrong_opening_passes_as_often_as_the_bound_says() {
    let (parameters, mut rng) = (small(), Rng::replayable("test openings"));
    let field = parameters.field();
    let mut passed = 0;
    for watch in all_watches(&parameters) {
        // Another word, which agrees in the symbols 1 and 4 of its codeword.
        let zeros = [(1, 0), (4, 0), (7, 5)];
        let difference: Vec<u8> = (0..3).map(|at| interpolated(field, &zeros, at)).collect();
        let mut opening = Opening::new(&parameters, watch, 1, &mut rng);
        let [mut other, words] = [(); 2].map(|()| opening.words.clone());
        other.add(&words_of(&[difference]));
        opening.words = other.clone();
        passed += u32::from(opening.run(&other, |_| {}).0);
        opening.words = words;
    }
    assert_eq!(passed, 1);
    // In the field of 8 elements, each of 20 combinations misses an error with probability at most 15/64.
    assert_eq!(parameters.openings(SECURITY), 20);
    assert!((parameters.opening(20).log2() + 40.0).abs() < 1e-6);
    let code = SymbolCode::new(&parameters);
    let (trials, mut missed) = (4000, 0);
    for trial in 0..trials {
        let mut errors = Words::zeros(1, 200);
        errors.symbols_mut(trial % 200)[0] = 1 + (trial % 7) as u8;
        let mut sum = Words::zeros(1, 1);
        Coefficients::expand(&rng.seed(), code.field(), 1).combine(&errors, &mut sum, None);
        missed += u32::from(sum.symbols_of(0)[0] == 0);
    }
    // The mean is 937.5 and the standard deviation 27.
    assert!(missed.abs_diff(937) < 140, "{missed}");
}

/// The watched symbols are in the order of the points, and the hash of a known word has the same order.
#[test]
fn hashes_are_the_watched_symbols_in_order() {
    let mut rng = Rng::replayable("test");
    for parameters in [small(), HashParameters::PERMUTATIONS, HashParameters::LABELS_127] {
        let watch = some_watch(&parameters);
        let mut ends = ends(&parameters, watch.clone(), SECURITY);
        let chosen = random_words(&parameters, 9, &mut rng);
        let (random, hashes) = ends.random(9);
        for (words, hashes) in [(random, hashes), (chosen.clone(), ends.receiver.0.hashes(&chosen))] {
            let sent = ends.sender.0.code().encode(&words);
            for t in 0..9 {
                let watched: Vec<u8> =
                    (0..parameters.n()).filter(|&i| watch[i] == 1).map(|i| sent.symbols_of(t)[i]).collect();
                assert_eq!(hashes.words().symbols_of(t), watched);
            }
        }
    }
}

fn binomial(n: u64, k: u64) -> BigUint {
    (0..k).fold(BigUint::from(1_u8), |product, i| product * (n - i) / (i + 1))
}

/// The parameters of figure 7 and lemma 6.1, computed independently.
#[test]
fn the_papers_parameters_bind_and_hide_as_printed() {
    for (parameters, log2, hidden) in [
        (HashParameters::LABELS_88, -40.2376, 88),
        (HashParameters::LABELS_127, -40.2627, 128),
        (HashParameters::PERMUTATIONS, -40.3576, 6),
    ] {
        let exact = BigRational::new(
            binomial(parameters.l() as u64 - 1, parameters.w() as u64).into(),
            binomial(parameters.n() as u64, parameters.w() as u64).into(),
        );
        let bits = exact.denom().bits() as f64 - exact.numer().bits() as f64;
        let binding = parameters.binding();
        assert!((binding.log2() + bits).abs() < 1.5);
        assert!((binding.log2() - log2).abs() < 1e-4, "{} is {}", log2, binding.log2());
        assert_eq!(parameters.hidden_bits(), hidden);
    }
    assert!(HashParameters::LABELS_127.check(HashParameters::LABELS_127.masks(40)).log2() <= -40.0);
    assert_eq!((HashParameters::LABELS_127.masks(40), HashParameters::PERMUTATIONS.masks(40)), (19, 17));
}

#[test]
fn parameters_that_make_no_sense_are_none() {
    for (n, l, bits, w) in
        [(8, 3, 3, 2), (3, 3, 3, 2), (6, 3, 3, 3), (6, 3, 3, 0), (6, 3, 9, 2), (6, 3, 1, 2)]
    {
        assert_eq!(HashParameters::new(n, l, bits, w), None, "{n} {l} {bits} {w}");
    }
    assert!(HashParameters::new(7, 3, 3, 2).is_some());
}

/// Compares the solver with an exhaustive search, for fields of at most 16 elements.
#[test]
fn the_cheapest_parameters_are_those_of_an_exhaustive_search() {
    let costs: [fn(&HashParameters) -> usize; 2] =
        [|p| p.correction_bits(), |p| p.n() * p.l() + 3 * p.correction_bits()];
    for (limit, hidden, cost) in
        [(8, 3, costs[0]), (8, 3, costs[1]), (6, 8, costs[0]), (6, 8, costs[1]), (10, 1, costs[0])]
    {
        let limit = Upper::limit(-f64::from(limit));
        let every = (2..=8_u32).flat_map(|bits| (2..1_usize << bits.min(5)).map(move |n| (bits, n)));
        let every = every.flat_map(|(bits, n)| (1..n).map(move |l| (bits, n, l)));
        let every = every.flat_map(|(bits, n, l)| (1..l).map(move |w| (bits, n, l, w)));
        let least = every
            .filter_map(|(bits, n, l, w)| HashParameters::new(n, l, bits, w))
            .filter(|p| p.binding() <= limit && p.hidden_bits() >= hidden)
            .map(|p| cost(&p))
            .min();
        let found = HashParameters::cheapest(limit, hidden, 1, cost).unwrap();
        assert!(found.binding() <= limit && found.hidden_bits() >= hidden);
        assert!(least.is_some_and(|least| cost(&found) <= least), "{found:?}");
    }
    assert_eq!(HashParameters::cheapest(Upper::limit(-4000.0), 1, 1, |p| p.n()), None);
}

/// A task that is asked to stop returns before it has processed all words.
#[test]
fn what_computes_with_words_looks_whether_to_stop() {
    let parameters = HashParameters::new(40, 20, 6, 19).unwrap();
    let mut rng = Rng::replayable("test stop");
    let (code, words) = (SymbolCode::new(&parameters), Words::zeros(20, 3));
    let point = code.seeded_evaluation(&rng.seed(), 1);
    let Ends { receiver: (receiver, _), .. } = ends(&parameters, some_watch(&parameters), SECURITY);
    let hashes = receiver.hashes(&words);
    let completion = receiver.completion(&point);
    let values = code.at(&point, &words);
    let stop = brickwork_base::stop::Stop::new();
    stop.ask();
    let ends: [(&str, &dyn Fn()); 10] = [
        ("values", &|| drop(code.at(&point, &words))),
        ("codewords", &|| drop(code.encode(&words))),
        ("hashes", &|| drop(receiver.hashes(&words))),
        ("opened words", &|| drop(completion.words(&hashes, &values))),
        ("comparisons", &|| drop(hashes.is(None))),
        ("combinations", &|| {
            let mut coefficients = Coefficients::expand(&Seed::from_bytes([1; 16]), code.field(), 0);
            coefficients.combine(&words, &mut Words::zeros(20, 0), None);
        }),
        ("some words", &|| drop(words.select([1, 2].into_iter()))),
        ("sums of pairs", &|| drop(words.pair_sums(&[1], &words, &[0]))),
        ("sums", &|| drop(words.follow(&[WordStep::Given(0), WordStep::Sum(0, 0)]))),
        ("packed words", &|| drop(code.pack(&words))),
    ];
    for (name, work) in ends {
        assert!(stop.run(work).is_err(), "{name}");
    }
}
