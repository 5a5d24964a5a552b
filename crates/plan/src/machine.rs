//! What work costs on this machine, measured by doing a little of each.

use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use brickwork_kernels::Kernel;
use serde::{Deserialize, Serialize};

use super::known::Known;
use super::script::Work;
use super::{Link, predict};
use crate::{Error, wire::Channel};
use brickwork_base::label::{Delta, Label};
use brickwork_base::place::{read_at, write_at};
use brickwork_base::random::{Rng, Seed};
use brickwork_circuit::library::aes;
use brickwork_circuit::{Circuit, Gate, Party, Program};
use brickwork_duplo::{self as duplo, Combinations, Cost, Duplo, Parameters, Prices, Proposal};
use brickwork_primitives::authenticator::{AuthenticatorKind, Hasher};
use brickwork_primitives::commit::code::Code;
use brickwork_primitives::commit::split::{Receiver, Sender, msg};
use brickwork_primitives::commit::{Claims, Lsb, New, Receiver as _, Sender as _};
use brickwork_primitives::cut_and_choose::{Bucketing, Challenge};
use brickwork_primitives::garbling::{GarblingKeys, HalfGates, Schedule, Scheme as _, TableSink, table_hash};
use brickwork_primitives::ot::base;
use brickwork_primitives::solder::{GarblerWire, Soldering};
use brickwork_session::{Job, PhaseReport, Protocol, TABLE_MEMORY, Unobserved};
use brickwork_wire::tls::{self, Identity, Listener};
use brickwork_wire::{Tag, memory_pair};

pub(super) const KINDS: usize = Work::Touch as usize + 1;

/// The constants of a machine.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Machine {
    /// Which kernel they are of.
    kernel: String,
    /// Seconds of one thread for a unit of each kind of work.
    seconds: Vec<f64>,
    /// Seconds of each phase beyond the work and the messages in it.
    beyond: Vec<f64>,
    /// Seconds of one thread for a little garbling, by which machines with the same kernel are compared.
    probe_seconds: f64,
    /// Threads of each party; both share the cores.
    pub threads: u32,
    /// From sending a short message to its being read, over loopback.
    pub message_seconds: f64,
    /// For a byte over loopback, TLS included.
    pub send_seconds_a_byte: f64,
    /// Likewise at the receiving end.
    pub receive_seconds_a_byte: f64,
}

/// Each measurement is repeated and the fastest counts: everything else that the machine does only slows it
/// down.
const REPEATS: usize = 5;

/// Cores that measure at the same time, at most.
const MEASURED_AT_ONCE: u32 = 8;

fn fastest(units: f64, mut work: impl FnMut() -> Result<(), Error>) -> Result<f64, Error> {
    let mut best = f64::INFINITY;
    for _ in 0..REPEATS {
        let start = thread_seconds();
        work()?;
        best = best.min(thread_seconds() - start);
    }
    Ok(best / units)
}

/// CPU time of this thread: what others do meanwhile on the same cores does not count.
#[cfg(unix)]
fn thread_seconds() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

/// Where the system does not say: the time since the first call.
#[cfg(not(unix))]
fn thread_seconds() -> f64 {
    use std::sync::OnceLock;
    static START: OnceLock<Instant> = OnceLock::new();
    START.get_or_init(Instant::now).elapsed().as_secs_f64()
}

/// Keeps nothing.
struct Nowhere;

impl TableSink for Nowhere {
    fn tables(&mut self, _: usize, bytes: &[u8]) -> Result<(), Error> {
        black_box(bytes);
        Ok(())
    }
}

impl Machine {
    /// Seconds of one thread for so much work.
    pub(super) fn seconds(&self, work: Work, units: f64) -> f64 {
        self.seconds.get(work as usize).copied().unwrap_or_default() * units
    }

    /// Seconds that a phase takes beyond the work and the messages in it.
    pub(super) fn beyond(&self, phase: &str) -> f64 {
        self.beyond.get(Duplo::phase_order(phase)).copied().unwrap_or_default()
    }

    /// The kernel that these are the constants of.
    pub fn kernel(&self) -> &str {
        &self.kernel
    }

    /// This machine with fewer threads, where fewer are wanted.
    #[must_use]
    pub fn with_threads(self, wanted: Option<u16>) -> Self {
        Machine { threads: wanted.map_or(self.threads, |threads| self.threads.min(threads.into())), ..self }
    }

    /// What things cost here and over this link: from this the cheapest buckets follow.
    pub fn prices(&self, code_length: usize, link: &Link) -> Prices {
        let n = code_length as f64;
        let cores = f64::from(self.threads.max(1));
        let work = |work: Work, units: f64| 1e9 * self.seconds(work, units) / cores;
        let byte = link.bits_per_second.map_or(0.0, |rate| 8e9 / rate)
            + 1e9 * (self.send_seconds_a_byte + self.receive_seconds_a_byte);
        let garble = |and: Work| work(and, 1.0) + work(Work::HashTable, 1.0);
        let commit = |made: Work| {
            // Both parties make them again for each of two proofs.
            let again = 4.0 * work(Work::CommitRandom, n);
            let rows = work(made, n) + work(Work::Receive, n) + again + work(Work::Combine, 2.0 * n + 128.0);
            rows / 128.0 + work(Work::Touch, n / 4.0 + 16.0) + 2.0 * work(Work::Keep, 1.0)
        };
        let xor = work(Work::GarbleXor, 1.0);
        Prices {
            byte,
            and: Cost {
                made: garble(Work::GarbleAnd),
                opened: garble(Work::GarbleAnd),
                chosen: garble(Work::GarbleAnd) + work(Work::EvaluateAnd, 1.0) + work(Work::Touch, 64.0),
            },
            other: Cost { made: xor, opened: xor, chosen: xor + work(Work::EvaluateXor, 1.0) },
            hash_label: work(Work::HashLabel, 1.0),
            commit_random: commit(Work::CommitRandom),
            commit_chosen: commit(Work::CommitChosen),
            claim: work(Work::Combine, 2.0 * n + 128.0) / 128.0 + work(Work::Solder, 1.0),
        }
    }

    /// A machine on which work takes no time: for bytes and rounds alone.
    pub fn free() -> Self {
        Machine {
            kernel: Kernel::best().name().into(),
            seconds: vec![0.0; KINDS],
            beyond: vec![0.0; Duplo::PHASES.len()],
            probe_seconds: 0.0,
            threads: 1,
            message_seconds: 0.0,
            send_seconds_a_byte: 0.0,
            receive_seconds_a_byte: 0.0,
        }
    }

    /// Whether the constants are those of this version's kinds of work and of this process's kernel, and
    /// sensible: they may come from a file.
    pub fn is_sound(&self) -> bool {
        let sensible = |&seconds: &f64| seconds.is_finite() && (0.0..1.0).contains(&seconds);
        let rest =
            [self.probe_seconds, self.message_seconds, self.send_seconds_a_byte, self.receive_seconds_a_byte];
        let all = self.seconds.iter().chain(&self.beyond);
        self.kernel == Kernel::best().name()
            && self.seconds.len() == KINDS
            && self.beyond.len() == Duplo::PHASES.len()
            && all.chain(&rest).all(sensible)
            && (1..=1024).contains(&self.threads)
    }

    /// This machine by a table of what was measured on others, scaled by a probe of a few milliseconds: good
    /// enough to compare cuts and buckets by.
    ///
    /// # Errors
    /// [`Error::Resource`] if randomness is missing.
    pub fn estimated() -> Result<Self, Error> {
        let threads = std::thread::available_parallelism().map_or(1, |n| n.get().min(1024) as u32);
        let known = Machine::known(Kernel::best().name(), threads);
        let factor = probe()? / known.probe_seconds;
        Ok(known.scaled(factor))
    }

    /// A machine with so many threads that is like the one on which this kernel was measured once; one of
    /// another name is taken for AES-NI.
    pub fn known(kernel: &str, threads: u32) -> Self {
        let known = Known::of(kernel);
        Machine {
            kernel: kernel.into(),
            seconds: known.seconds.to_vec(),
            beyond: known.beyond.to_vec(),
            probe_seconds: known.probe_seconds,
            threads,
            message_seconds: known.message_seconds,
            send_seconds_a_byte: known.send_seconds_a_byte,
            receive_seconds_a_byte: known.receive_seconds_a_byte,
        }
    }

    /// A machine that takes so many times as long for everything.
    fn scaled(mut self, factor: f64) -> Self {
        let factor = factor.clamp(1.0 / MOST_SCALED, MOST_SCALED);
        let rest =
            [&mut self.message_seconds, &mut self.send_seconds_a_byte, &mut self.receive_seconds_a_byte];
        let all = self.seconds.iter_mut().chain(&mut self.beyond).chain(rest);
        all.for_each(|seconds| *seconds *= factor);
        self.probe_seconds *= factor;
        self
    }

    /// Measures this machine; takes a second or two.
    ///
    /// # Errors
    /// [`Error::Resource`] if threads or randomness are missing, [`Error::Io`] if loopback connections are.
    pub fn measure() -> Result<Self, Error> {
        let threads = std::thread::available_parallelism().map_or(1, |n| n.get().min(1024) as u32);
        let mut machine = Machine { threads, ..Machine::free() };
        // All cores work while each measures: so they do in a run, and share what is between them and the
        // memory.
        let cores = threads.min(MEASURED_AT_ONCE);
        let all = std::thread::scope(|scope| {
            let workers: Vec<_> = (0..cores).map(|_| scope.spawn(Machine::measure_core)).collect();
            let joined = workers.into_iter().map(|worker| {
                worker.join().unwrap_or_else(|_| Err(Error::Resource("a thread failed".into())))
            });
            joined.collect::<Result<Vec<Machine>, Error>>()
        })?;
        for (kind, seconds) in machine.seconds.iter_mut().enumerate() {
            *seconds = all.iter().map(|one| one.seconds[kind]).sum::<f64>() / f64::from(cores);
        }
        machine.probe_seconds = probe()?;
        machine.measure_memory()?;
        machine.measure_loopback()?;
        machine.measure_run()?;
        Ok(machine)
    }

    /// The kinds of work, by one thread.
    fn measure_core() -> Result<Self, Error> {
        let one = rayon::ThreadPoolBuilder::new().num_threads(1).build();
        let one = one.map_err(|error| Error::Resource(format!("no threads: {error}")))?;
        let mut machine = Machine::free();
        one.install(|| {
            machine.measure_base_ots()?;
            machine.measure_commitments()?;
            machine.measure_garbling()?;
            machine.measure_labels()?;
            machine.measure_preparations()?;
            Ok(machine)
        })
    }

    fn set(&mut self, work: Work, seconds: f64) {
        self.seconds[work as usize] = seconds;
    }

    fn measure_base_ots(&mut self) -> Result<(), Error> {
        const COUNT: usize = 64;
        let mut rng = Rng::new("brickwork calibration")?;
        let instance = base::Instance::new(&[0; 32], base::Direction::GarblerSends);
        let choices = [1; COUNT];
        let (mut choose, mut offer, mut chosen) = (f64::INFINITY, f64::INFINITY, f64::INFINITY);
        for _ in 0..REPEATS {
            let start = thread_seconds();
            let receiver = base::Receiver::new(&instance, &choices, &mut rng, 1);
            choose = choose.min(thread_seconds() - start);
            let sender = base::Sender::new(&mut rng);
            let point = *sender.message();
            let start = thread_seconds();
            black_box(sender.finish(&instance, &[0; 32], receiver.message(), 1)?);
            offer = offer.min(thread_seconds() - start);
            let start = thread_seconds();
            black_box(receiver.finish(&instance, &[0; 32], &point, 1)?);
            chosen = chosen.min(thread_seconds() - start);
        }
        for (work, seconds) in [(Work::Choose, choose), (Work::Offer, offer), (Work::Chosen, chosen)] {
            self.set(work, seconds / COUNT as f64);
        }
        Ok(())
    }

    /// Both ends in one thread: what a message needs is there before it is asked for.
    fn measure_commitments(&mut self) -> Result<(), Error> {
        const COUNT: usize = 1 << 14;
        let code = Code::for_security(40).ok_or_else(|| Error::Resource("no code".into()))?;
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
        self.set(Work::CommitRandom, random);
        self.set(Work::CommitChosen, chosen);
        self.set(Work::Receive, receive);

        let committed = sender.commit(&mut left, &values)?;
        // Values go to their places; shares stay where they are.
        let backwards: Vec<usize> = (0..COUNT).rev().collect();
        let keep = fastest(COUNT as f64, || {
            black_box(backwards.iter().map(|&place| values[place]).collect::<Vec<Label>>());
            Ok(())
        })?;
        let moved = committed.select_each(&[&backwards]).swap_remove(0);
        const SUMS: usize = 48;
        let combinations = Combinations::expand(&Seed::from_bytes([7; 16]), COUNT - SUMS, SUMS);
        let combine_ots = fastest((COUNT * SUMS) as f64, || {
            black_box((combinations.labels(&values), combinations.shares(&moved.shares)));
            Ok(())
        })?;
        self.set(Work::CombineOt, combine_ots);
        // The rows of new commitments are made again before they are combined.
        let together = fastest(1.0, || {
            right.send(msg::SEED, &[7; 16])?;
            right.flush()?;
            sender.prove(&mut left, &[New::from(&committed)], &Claims::new())
        })?;
        let blocks = (COUNT / 128) as f64;
        let combine = (together - rows * random).max(together / 10.0) / (blocks * (n + 128) as f64);
        self.set(Work::Combine, combine);
        self.set(Work::Keep, keep);
        Ok(())
    }

    /// An AES circuit has XORs for each AND; a circuit of XORs alone tells their part.
    fn measure_garbling(&mut self) -> Result<(), Error> {
        const COPIES: usize = 16;
        const COLD_BYTES: usize = 48 << 20;
        let aes = aes::aes_128_component()?.circuit;
        let xors = Arc::new(Circuit::new(256, (0..30_000).map(|k| Gate::Xor(k, k + 131)), vec![30_255])?);
        let mut rng = Rng::new("brickwork calibration")?;
        let mut measured = Vec::new();
        for circuit in [&xors, &aes] {
            let schedule = Schedule::new(circuit);
            let copies: Vec<u32> = (0..COPIES as u32).collect();
            let keys = GarblingKeys::new(rng.block(), COPIES, circuit.and_gates());
            let deltas: Vec<Delta> = copies.iter().map(|_| rng.delta()).collect();
            let inputs: Vec<Label> = (0..COPIES * schedule.inputs()).map(|_| rng.label()).collect();
            let mut outputs = vec![Label::ZERO; COPIES * schedule.outputs()];
            // As many as no cache holds: in a run they come from memory.
            let groups = (COLD_BYTES / (COPIES * HalfGates::table_bytes(&schedule)).max(1)).clamp(1, COPIES);
            let mut tables = vec![vec![vec![0u8; HalfGates::table_bytes(&schedule)]; COPIES]; groups];
            let made = fastest(COPIES as f64, || {
                HalfGates::garble(&schedule, &keys, &copies, &deltas, &inputs, &mut outputs, &mut Nowhere)
            })?;
            let evaluated = fastest((COPIES * groups) as f64, || {
                tables.iter_mut().try_for_each(|tables| {
                    HalfGates::evaluate(&schedule, &keys, &copies, &inputs, &mut &tables[..], &mut outputs)
                })
            })?;
            measured.push([made, evaluated]);
        }
        let ands = aes.and_gates() as f64;
        let others = aes.gate_count() as f64 - ands;
        for (k, [and, xor]) in [[Work::GarbleAnd, Work::GarbleXor], [Work::EvaluateAnd, Work::EvaluateXor]]
            .into_iter()
            .enumerate()
        {
            let a_xor = measured[0][k] / xors.gate_count() as f64;
            self.set(xor, a_xor);
            self.set(and, ((measured[1][k] - others * a_xor) / ands).max(0.0));
        }
        let tables = vec![0u8; 32 * aes.and_gates()];
        self.set(
            Work::HashTable,
            fastest(ands, || {
                black_box(table_hash(&tables));
                Ok(())
            })?,
        );
        let gates = aes.gate_count() as f64;
        let inputs = vec![false; aes.inputs()];
        self.set(
            Work::Simulate,
            fastest(gates, || {
                black_box(aes.evaluate(&inputs));
                Ok(())
            })?,
        );
        Ok(())
    }

    fn measure_labels(&mut self) -> Result<(), Error> {
        const COUNT: usize = 4096;
        let mut rng = Rng::new("brickwork calibration")?;
        let hasher = Hasher::new(&[0; 32], AuthenticatorKind::Plain);
        let labels: Vec<Label> = (0..COUNT).map(|_| rng.label()).collect();
        let hash = fastest(COUNT as f64, || {
            black_box(hasher.accepts(COUNT, |i| (Default::default(), i as u64, labels[i])));
            Ok(())
        })?;
        self.set(Work::HashLabel, hash);
        let delta = rng.delta();
        let wire = |k: usize| GarblerWire { value: labels[k], delta };
        let solder = fastest(COUNT as f64, || {
            black_box((0..COUNT).map(|k| Soldering::new(labels[k], wire(COUNT - 1 - k))).collect::<Vec<_>>());
            Ok(())
        })?;
        self.set(Work::Solder, solder);
        let cut = Bucketing { slots: 256, bucket: 15, opened: 256 };
        let draw = fastest(cut.copies() as f64, || {
            black_box(Challenge::draw(&mut rng, &cut));
            Ok(())
        })?;
        self.set(Work::Draw, draw);
        Ok(())
    }

    /// What a run does once for its parameters and for each component.
    fn measure_preparations(&mut self) -> Result<(), Error> {
        let program = aes::aes_128()?;
        let parameters = Parameters::choose(&program, 40)?;
        let bound = fastest(1.0, || {
            black_box(parameters.bounded(&program)?);
            Ok(())
        })?;
        self.set(Work::Bound, bound);
        let circuit = &program.components()[0].circuit;
        let schedule = fastest(circuit.gate_count() as f64, || {
            black_box(Schedule::new(circuit));
            Ok(())
        })?;
        self.set(Work::Schedule, schedule);
        Ok(())
    }

    /// One thread at a time has new memory or writes tables. Where there is no room for a file, none is
    /// counted.
    fn measure_memory(&mut self) -> Result<(), Error> {
        const FRESH: usize = 48 << 20;
        let touch = fastest(FRESH as f64, || {
            black_box(vec![1u8; FRESH]);
            Ok(())
        })?;
        self.set(Work::Touch, touch);
        let Ok(file) = tempfile::tempfile() else { return Ok(()) };
        let mut bytes = vec![1u8; FRESH];
        let mut pieces = |of: usize, access: &dyn Fn(&mut [u8], u64) -> std::io::Result<()>| {
            let start = thread_seconds();
            let good =
                bytes.chunks_mut(of).enumerate().all(|(k, piece)| access(piece, (k * of) as u64).is_ok());
            if good { (thread_seconds() - start) / FRESH as f64 } else { 0.0 }
        };
        // Once: then the file is there.
        let spill = pieces(1 << 20, &|piece, at| write_at(&file, piece, at));
        let read_back = pieces(16 << 10, &|piece, at| read_at(&file, piece, at));
        self.set(Work::Spill, spill);
        self.set(Work::ReadBack, read_back);
        Ok(())
    }

    /// What each phase of a small run takes beyond the sum of its parts: threads that start, memory in small
    /// pages, parties that wait for a core.
    fn measure_run(&mut self) -> Result<(), Error> {
        let program = Arc::new(aes::aes_128()?);
        let parameters = Parameters::choose(&program, 40)?;
        let expected = predict(&program, &parameters, self, &Link::LOOPBACK);
        let mut least = vec![f64::INFINITY; Duplo::PHASES.len()];
        for _ in 0..REPEATS {
            for phase in a_run(&program, &parameters, self.threads as usize)? {
                let parts =
                    expected.phases.iter().find(|of| of.name == phase.name).map_or(0.0, |of| of.seconds);
                let beyond = &mut least[Duplo::phase_order(phase.name)];
                *beyond = beyond.min((phase.seconds - parts).max(0.0));
            }
        }
        // These are times by the clock, which another's work makes longer; they are like those of the table.
        let known = Machine::known(&self.kernel, self.threads);
        let factor = self.probe_seconds / known.probe_seconds;
        let usual = known.scaled(factor).beyond.into_iter().map(|seconds| MOST_BUSY * seconds);
        self.beyond = least.into_iter().zip(usual).map(|(seconds, most)| seconds.min(most)).collect();
        Ok(())
    }

    /// A channel over loopback to a thread that answers.
    fn measure_loopback(&mut self) -> Result<(), Error> {
        const PING: Tag = Tag(200);
        const BULK: Tag = Tag(201);
        const PINGS: usize = 100;
        const BYTES: usize = 16 << 20;
        let [(ours, _), (theirs, _)] = [Identity::generate()?, Identity::generate()?];
        let options = |party| tls::Options { party, lanes: 1, timeout: Duration::from_secs(10) };
        let listener = Listener::bind("127.0.0.1:0", &ours, theirs.public_key(), &options(Party::Garbler))?;
        let address = listener.local_addr()?.to_string();
        let answer = |mut channel: Channel| -> Result<f64, Error> {
            let (mut bulk, mut best) = (vec![0; BYTES], f64::INFINITY);
            for _ in 0..REPEATS {
                for _ in 0..PINGS {
                    channel.receive(PING, 16)?;
                    channel.send(PING, &[0; 16])?;
                    channel.flush()?;
                }
                let start = thread_seconds();
                channel.receive_into(BULK, &mut bulk)?;
                best = best.min((thread_seconds() - start) / BYTES as f64);
                channel.send(PING, &[0; 16])?;
                channel.flush()?;
            }
            Ok(best)
        };
        std::thread::scope(|scope| {
            let peer = scope.spawn(|| {
                answer(tls::connect(&address, &theirs, ours.public_key(), &options(Party::Evaluator))?)
            });
            let mut channel = listener.accept()?;
            let (mut ping, mut bulk) = (f64::INFINITY, f64::INFINITY);
            let bytes = vec![0; BYTES];
            for _ in 0..REPEATS {
                // The middle one: on a busy machine some wait for a core.
                let mut pings = Vec::with_capacity(PINGS);
                for _ in 0..PINGS {
                    let start = Instant::now();
                    channel.send(PING, &[0; 16])?;
                    channel.receive(PING, 16)?;
                    pings.push(start.elapsed().as_secs_f64() / 2.0);
                }
                pings.sort_by(f64::total_cmp);
                ping = ping.min(pings[PINGS / 2]);
                let start = thread_seconds();
                channel.send(BULK, &bytes)?;
                channel.flush()?;
                bulk = bulk.min((thread_seconds() - start) / BYTES as f64);
                channel.receive(PING, 16)?;
            }
            let received = peer.join().map_err(|_| Error::Resource("a thread failed".into()))??;
            self.message_seconds = ping;
            (self.send_seconds_a_byte, self.receive_seconds_a_byte) = (bulk, received);
            Ok(())
        })
    }
}

/// Seconds of one thread for a little garbling.
fn probe() -> Result<f64, Error> {
    const GATES: u32 = 1024;
    const COPIES: usize = 16;
    let gate = |k: u32| if k.is_multiple_of(4) { Gate::And(k, k + 97) } else { Gate::Xor(k + 31, k + 128) };
    let schedule =
        Schedule::new(&Circuit::new(256, (0..GATES).map(gate).collect::<Vec<_>>(), vec![255 + GATES])?);
    let mut rng = Rng::new("brickwork calibration")?;
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

/// Times that the probe is measured, of which the fastest counts.
const PROBES: usize = 4;

/// What a phase takes besides its work is at most so many times what the table says: more is another's work.
const MOST_BUSY: f64 = 3.0;

/// No machine differs from one with the same kernel by more.
const MOST_SCALED: f64 = 16.0;

/// The phases of one run of both parties over loopback, on inputs of zeros, as the evaluator saw them.
fn a_run(program: &Arc<Program>, parameters: &Parameters, threads: usize) -> Result<Vec<PhaseReport>, Error> {
    let keys = [Identity::generate()?.0, Identity::generate()?.0];
    let [ours, theirs] = [keys[0].public_key(), keys[1].public_key()];
    let identities = [ours.to_bytes(), theirs.to_bytes()];
    let job = Job { program: program.clone(), security: 40, threads, table_memory: TABLE_MEMORY, identities };
    let options = |party| tls::Options { party, lanes: 1, timeout: Duration::from_secs(10) };
    let zeros = |party| vec![false; program.input_width(party)];
    let listener = Listener::bind("127.0.0.1:0", &keys[0], theirs, &options(Party::Garbler))?;
    let address = listener.local_addr()?.to_string();
    std::thread::scope(|scope| {
        let evaluator = scope.spawn(|| {
            let channel = tls::connect(&address, &keys[1], ours, &options(Party::Evaluator))?;
            duplo::evaluator(channel, &job, &zeros(Party::Evaluator), &mut Unobserved)
        });
        let proposal = Proposal::given(&job, parameters.clone());
        duplo::garbler_proposing(
            listener.accept()?,
            &job,
            &proposal,
            &zeros(Party::Garbler),
            &mut Unobserved,
        )?;
        Ok(evaluator.join().map_err(|_| Error::Resource("a thread failed".into()))??.phases)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_is_measured() {
        let machine = Machine::measure().unwrap();
        assert!(machine.is_sound(), "{machine:?}");
        assert!(machine.seconds.iter().filter(|&&seconds| seconds > 0.0).count() >= KINDS - 4, "{machine:?}");
        assert!(!Machine { seconds: vec![0.0; 3], ..machine.clone() }.is_sound());
        assert!(!Machine { message_seconds: f64::NAN, ..machine.clone() }.is_sound());
        assert!(!Machine { threads: 0, ..machine.clone() }.is_sound());
        assert!(!Machine { kernel: "another".into(), ..machine }.is_sound());
    }

    /// What takes no measurement is a sound machine, too, and a slower one is slower in everything.
    #[test]
    fn a_machine_is_estimated() {
        let machine = Machine::estimated().unwrap();
        assert!(machine.is_sound(), "{machine:?}");
        for kernel in Kernel::all_available() {
            let known = Machine::known(kernel.name(), 2);
            let slower = known.clone().scaled(2.0);
            let both = |machine: &Machine| {
                let rest =
                    [machine.message_seconds, machine.send_seconds_a_byte, machine.receive_seconds_a_byte];
                [&machine.seconds[..], &machine.beyond, &rest].concat()
            };
            assert!(both(&known).iter().zip(both(&slower)).all(|(one, two)| 2.0 * one == two), "{kernel:?}");
            assert!(known.seconds.iter().all(|&seconds| seconds > 0.0), "{kernel:?}");
            assert_eq!(known.clone().scaled(1e9).probe_seconds, MOST_SCALED * known.probe_seconds);
        }
    }
}
