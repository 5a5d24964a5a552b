//! Measures the primitives' work by doing a small amount of it.

use std::hint::black_box;
use std::sync::Arc;

use super::work::*;
use crate::authenticator::{AuthenticatorKind, Hasher};
use crate::commit::code::BinaryCode;
use crate::commit::split::{Receiver, Sender, msg};
use crate::commit::{Claims, Lsb, New, Receiver as _, Sender as _};
use crate::cut_and_choose::{BatchChallenge, Bucketing};
use crate::garbling::{GarblingKeys, GarblingScheme as _, HalfGates, Schedule, TableSink, table_hash};
use crate::ot::{Cot, CotReceiver as _, CotSender as _, Direction, Series, base, chosen, extension, pcg};
use crate::solder::{GarblerWire, Soldering};
use brickwork_base::Error;
use brickwork_base::label::{Delta, Label};
use brickwork_base::random::{Rng, Seed};
use brickwork_circuit::library::aes;
use brickwork_circuit::{Circuit, Gate};
use brickwork_plan::{Measure, MeasuredWork, REPEATS, WorkKind, fastest, thread_seconds};
use brickwork_wire::memory_pair;

/// All kinds of work of the primitives.
pub struct Primitives;

impl Measure for Primitives {
    fn kinds(&self) -> &'static [&'static WorkKind] {
        ALL
    }

    fn work(&self, measured: &mut MeasuredWork) -> Result<(), Error> {
        base_ots(measured)?;
        extended_ots(measured)?;
        random_cots(measured)?;
        iterations(measured)?;
        commitments(measured)?;
        garbling(measured)?;
        labels(measured)
    }
}

struct Nowhere;

impl TableSink for Nowhere {
    fn tables(&mut self, _: usize, bytes: &[u8]) -> Result<(), Error> {
        black_box(bytes);
        Ok(())
    }
}

fn rng() -> Result<Rng, Error> {
    Rng::new("brickwork calibration")
}

fn base_ots(measured: &mut MeasuredWork) -> Result<(), Error> {
    const COUNT: usize = 64;
    let mut rng = rng()?;
    let instance = base::Instance::new(&[0; 32], base::Direction::GarblerSends);
    let choices = [1; COUNT];
    let (mut choose, mut offer, mut chosen) = (f64::INFINITY, f64::INFINITY, f64::INFINITY);
    for _ in 0..REPEATS {
        let start = thread_seconds();
        let receiver = base::curve::Receiver::new(&instance, &choices, &mut rng, 1);
        choose = choose.min(thread_seconds() - start);
        let sender = base::curve::Sender::new(&mut rng);
        let point = *sender.message();
        let start = thread_seconds();
        black_box(sender.finish(&instance, &[0; 32], receiver.message(), 1)?);
        offer = offer.min(thread_seconds() - start);
        let start = thread_seconds();
        black_box(receiver.finish(&instance, &[0; 32], &point, 1)?);
        chosen = chosen.min(thread_seconds() - start);
    }
    for (work, seconds) in [(&CHOOSE, choose), (&OFFER, offer), (&CHOSEN, chosen)] {
        measured.set(work, seconds / COUNT as f64);
    }
    Ok(())
}

/// Both parties run in one thread, so each message is sent before it is read.
fn extended_ots(measured: &mut MeasuredWork) -> Result<(), Error> {
    const COUNT: usize = 1 << 14;
    let seed = Seed::from_bytes([1; 16]);
    let series = Series::new(&[0; 32], Direction::GarblerSends);
    let mut sender = extension::Sender::new(&series, rng()?.delta(), &vec![seed.clone(); 128]);
    let mut receiver = extension::Receiver::new(&series, &vec![[seed.clone(), seed]; 128])?;
    let (mut left, mut right) = memory_pair();
    let choices = vec![0; COUNT];
    let blocks = (COUNT / 128) as f64;
    let receives = fastest(blocks, || {
        black_box(receiver.extend(&mut right, &choices)?);
        right.flush()
    })?;
    let sends = fastest(blocks, || {
        black_box(sender.extend(&mut left, COUNT)?);
        Ok(())
    })?;
    measured.set(&EXTEND_RECEIVER, receives);
    measured.set(&EXTEND_SENDER, sends);
    Ok(())
}

fn random_cots(measured: &mut MeasuredWork) -> Result<(), Error> {
    const COUNT: usize = 1 << 14;
    let (mut rng, series) = (rng()?, Series::new(&[0; 32], Direction::GarblerSends));
    let delta = rng.delta();
    let pairs: Vec<[Seed; 2]> = (0..128).map(|_| [rng.seed(), rng.seed()]).collect();
    let bit = |i: usize| (delta.bits() >> i & 1) as usize;
    let seeds: Vec<Seed> = pairs.iter().enumerate().map(|(i, pair)| pair[bit(i)].clone()).collect();
    let (mut left, mut right) = memory_pair();
    let mut labels = vec![Label::ZERO; COUNT];
    let in_blocks = |cot: &Cot| cot.has_trees() && *cot != Cot::Pcg;
    for cot in Cot::ALL.into_iter().filter(in_blocks) {
        let mut receiver = chosen::Receiver::set_up(cot, &mut right, &series, &pairs)?;
        right.flush()?;
        let mut sender = chosen::Sender::set_up(cot, &mut left, &series, delta, &seeds)?;
        let blocks = (COUNT / 128) as f64;
        let receives = fastest(blocks, || {
            receiver.random_bits(&mut right, &mut rng, &mut labels)?;
            right.flush()
        })?;
        let sends = fastest(blocks, || {
            sender.random_bits(&mut left, &mut labels)?;
            black_box(&labels);
            Ok(())
        })?;
        measured.set(RANDOM_RECEIVER[cot as usize], receives);
        measured.set(RANDOM_SENDER[cot as usize], sends);
    }
    Ok(())
}

fn iterations(measured: &mut MeasuredWork) -> Result<(), Error> {
    let (mut rng, series) = (rng()?, Series::new(&[0; 32], Direction::GarblerSends));
    let delta = rng.delta();
    let pairs: Vec<[Seed; 2]> = (0..128).map(|_| [rng.seed(), rng.seed()]).collect();
    let bit = |i: usize| (delta.bits() >> i & 1) as usize;
    let seeds: Vec<Seed> = pairs.iter().enumerate().map(|(i, pair)| pair[bit(i)].clone()).collect();
    let (mut left, mut right) = memory_pair();
    let mut receiver = pcg::Receiver::set_up(&mut right, &series, &pairs)?;
    let mut sender = pcg::Sender::set_up(&mut left, &series, delta, &seeds)?;
    let [mut sends, mut receives] = [f64::INFINITY; 2];
    let mut macs = vec![Label::ZERO; pcg::PARAMETERS.yields()];
    for _ in 0..3 {
        let taken = (receiver.begin(&mut right, macs.len())?, sender.begin(&mut left, macs.len())?);
        let start = thread_seconds();
        let offered = sender.offer(&mut left, taken.1, |_| {})?;
        let grown = thread_seconds();
        let completed = receiver.complete(&mut right, taken.0, |_| {})?;
        let checked = thread_seconds();
        sender.answer(&mut left, offered, |_, v| v)?;
        let answered = thread_seconds();
        receiver.verify(&mut right, completed)?;
        receives = receives.min(checked - grown + thread_seconds() - answered);
        sends = sends.min(grown - start + answered - checked);
        sender.random_bits(&mut left, &mut macs)?;
        receiver.random_bits(&mut right, &mut rng, &mut macs)?;
    }
    let blocks = pcg::PARAMETERS.samples() as f64 / 128.0;
    measured.set(RANDOM_RECEIVER[Cot::Pcg as usize], receives / blocks);
    measured.set(RANDOM_SENDER[Cot::Pcg as usize], sends / blocks);
    Ok(())
}

fn commitments(measured: &mut MeasuredWork) -> Result<(), Error> {
    const COUNT: usize = 1 << 14;
    let code = BinaryCode::for_security(40).ok_or_else(|| Error::Resource("no code".into()))?;
    let n = code.length();
    let seed = |i: usize| Seed::from_bytes((i as u128).to_le_bytes());
    let mut sender = Sender::new(code, &(0..n).map(|i| [seed(i), seed(i)]).collect::<Vec<_>>(), u64::MAX);
    let mut receiver = Receiver::new(code, &(0..n).map(seed).collect::<Vec<_>>(), &vec![0; n], u64::MAX)?;
    let (mut left, mut right) = memory_pair();
    let values = vec![Label::ZERO; COUNT];
    let rows = (COUNT / 128 * n) as f64;
    let random = fastest(rows, || sender.commit_random(&mut left, COUNT, Lsb::Random).map(drop))?;
    let chosen = fastest(rows, || sender.commit(&mut left, &values).map(drop))?;
    left.flush()?;
    let receive = fastest(rows, || receiver.receive_random(&mut right, COUNT, Lsb::Random).map(drop))?;
    measured.set(&COMMIT_RANDOM, random);
    measured.set(&COMMIT_CHOSEN, chosen);
    measured.set(&RECEIVE, receive);

    let committed = sender.commit(&mut left, &values)?;
    // A proof first recomputes the rows of new commitments, and then combines them.
    let together = fastest(1.0, || {
        right.send(msg::SEED, &[7; 16])?;
        right.flush()?;
        sender.prove(&mut left, &[New::from(&committed)], &Claims::new())
    })?;
    let blocks = (COUNT / 128) as f64;
    let combine = (together - rows * random).max(together / 10.0) / (blocks * (n + 128) as f64);
    measured.set(&COMBINE, combine);
    Ok(())
}

/// Bytes of tables that exceed every cache, because a run reads tables from memory.
const COLD_BYTES: usize = 48 << 20;

/// Returns the seconds for garbling and for evaluating one of `copies` copies of a circuit that are processed
/// side by side.
fn garbled(circuit: &Circuit, copies: usize) -> Result<[f64; 2], Error> {
    let mut rng = rng()?;
    let schedule = Schedule::new(circuit);
    let keys = match copies {
        1 => GarblingKeys::streamed(rng.block(), 1, circuit.and_gates()),
        copies => GarblingKeys::new(rng.block(), copies, circuit.and_gates()),
    };
    let numbers: Vec<u32> = (0..copies as u32).collect();
    let deltas: Vec<Delta> = numbers.iter().map(|_| rng.delta()).collect();
    let inputs: Vec<Label> = (0..copies * schedule.inputs()).map(|_| rng.label()).collect();
    let mut outputs = vec![Label::ZERO; copies * schedule.outputs()];
    let groups = (COLD_BYTES / (copies * HalfGates::table_bytes(&schedule)).max(1)).clamp(1, 16);
    let mut tables = vec![vec![vec![0u8; HalfGates::table_bytes(&schedule)]; copies]; groups];
    let made = fastest(copies as f64, || {
        HalfGates::garble(&schedule, &keys, &numbers, &deltas, &inputs, &mut outputs, &mut Nowhere)
    })?;
    let evaluated = fastest((copies * groups) as f64, || {
        tables.iter_mut().try_for_each(|tables| {
            HalfGates::evaluate(&schedule, &keys, &numbers, &inputs, &mut &tables[..], &mut outputs)
        })
    })?;
    Ok([made, evaluated])
}

/// An AES circuit has XORs besides ANDs, so a circuit of XORs alone is measured to separate the two.
fn garbling(measured: &mut MeasuredWork) -> Result<(), Error> {
    let aes = aes::aes_128_component()?.circuit;
    let xors = Arc::new(Circuit::new(256, (0..30_000).map(|k| Gate::Xor(k, k + 131)), vec![30_255])?);
    let ands = aes.and_gates() as f64;
    let others = aes.gate_count() as f64 - ands;
    for (copies, kinds) in [
        (16, [[&GARBLE_AND, &GARBLE_XOR], [&EVALUATE_AND, &EVALUATE_XOR]]),
        (1, [[&GARBLE_AND_ALONE, &GARBLE_XOR_ALONE], [&EVALUATE_AND_ALONE, &EVALUATE_XOR_ALONE]]),
    ] {
        let [of_xors, of_aes] = [garbled(&xors, copies)?, garbled(&aes, copies)?];
        for ([and, xor], [of_xors, of_aes]) in kinds.into_iter().zip([0, 1].map(|k| [of_xors[k], of_aes[k]]))
        {
            let a_xor = of_xors / xors.gate_count() as f64;
            measured.set(xor, a_xor);
            measured.set(and, ((of_aes - others * a_xor) / ands).max(0.0));
        }
    }
    let tables = vec![0u8; 32 * aes.and_gates()];
    let hashes = fastest(ands, || {
        black_box(table_hash(&tables));
        Ok(())
    })?;
    measured.set(&HASH_TABLE, hashes);
    let schedules = fastest(aes.gate_count() as f64, || {
        black_box(Schedule::new(&aes));
        Ok(())
    })?;
    measured.set(&SCHEDULE, schedules);
    Ok(())
}

fn labels(measured: &mut MeasuredWork) -> Result<(), Error> {
    const COUNT: usize = 4096;
    let mut rng = rng()?;
    let hasher = Hasher::new(&[0; 32], AuthenticatorKind::Plain);
    let labels: Vec<Label> = (0..COUNT).map(|_| rng.label()).collect();
    let hash = fastest(COUNT as f64, || {
        black_box(hasher.accepts(COUNT, |i| (Default::default(), i as u64, labels[i])));
        Ok(())
    })?;
    measured.set(&HASH_LABEL, hash);
    let delta = rng.delta();
    let wire = |k: usize| GarblerWire { value: labels[k], delta };
    let solder = fastest(COUNT as f64, || {
        black_box((0..COUNT).map(|k| Soldering::new(labels[k], wire(COUNT - 1 - k))).collect::<Vec<_>>());
        Ok(())
    })?;
    measured.set(&SOLDER, solder);
    let cut = Bucketing { slots: 256, bucket: 15, opened: 256 };
    let draw = fastest(cut.copies() as f64, || {
        black_box(BatchChallenge::draw(&mut rng, &cut));
        Ok(())
    })?;
    measured.set(&DRAW, draw);
    Ok(())
}

/// The number of times that the probe runs. The fastest run counts.
const PROBES: usize = 4;

/// Returns the seconds that one thread needs for a small garbling, half a millisecond of work, as a measure
/// of the machine's speed.
///
/// # Errors
/// [`Error::Resource`] if the system gives no randomness.
pub fn probe() -> Result<f64, Error> {
    const GATES: u32 = 1024;
    const COPIES: usize = 16;
    let gate = |k: u32| if k.is_multiple_of(4) { Gate::And(k, k + 97) } else { Gate::Xor(k + 31, k + 128) };
    let schedule =
        Schedule::new(&Circuit::new(256, (0..GATES).map(gate).collect::<Vec<_>>(), vec![255 + GATES])?);
    let mut rng = rng()?;
    let copies: Vec<u32> = (0..COPIES as u32).collect();
    let keys = GarblingKeys::new(rng.block(), COPIES, schedule.and_gates());
    let deltas: Vec<Delta> = copies.iter().map(|_| rng.delta()).collect();
    let inputs: Vec<Label> = (0..COPIES * schedule.inputs()).map(|_| rng.label()).collect();
    let mut outputs = vec![Label::ZERO; COPIES * schedule.outputs()];
    (0..PROBES).try_fold(f64::INFINITY, |best, _| {
        Ok(best.min(fastest(1.0, || {
            HalfGates::garble(&schedule, &keys, &copies, &deltas, &inputs, &mut outputs, &mut Nowhere)
        })?))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use brickwork_plan::{KNOWN_KERNELS, Machine, measure};

    /// Every kind of work is measured, takes time and has a unique name.
    #[test]
    fn all_work_of_the_primitives_is_measured() {
        let machine = measure(probe, &[&Primitives]).unwrap();
        assert!(machine.is_sound() && machine.has(ALL.iter().copied()), "{machine:?}");
        for (k, work) in ALL.iter().enumerate() {
            assert!(machine.seconds(work, 1.0) > 0.0, "{work:?} takes no time: {machine:?}");
            assert!(ALL[..k].iter().all(|other| other.name != work.name), "{work:?} occurs twice");
            for kernel in KNOWN_KERNELS {
                assert!(
                    Machine::known(kernel, 2).seconds(work, 1.0) > 0.0,
                    "{work:?} is not known with {kernel}"
                );
            }
        }
        assert!(Machine::estimated(probe().unwrap()).is_sound());
    }
}
