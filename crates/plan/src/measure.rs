//! Measures the cost of work on this machine, by doing a small amount of each kind of work.

use std::borrow::Cow;
use std::hint::black_box;
use std::time::{Duration, Instant};

use crate::cost::predict;
use crate::link::Link;
use crate::machine::{Machine, threads_here};
use crate::script::Script;
use crate::work::{MeasuredWork, READ_BACK, SPILL, TOUCH, WorkKind};
use brickwork_base::place::{read_at, write_at};
use brickwork_base::{Error, Party, stop};
use brickwork_wire::tls::{self, Identity, Listener};
use brickwork_wire::{Channel, Tag};

/// A protocol, or a building block of protocols, that measures its own kinds of work.
pub trait Measure: Sync {
    /// Returns all kinds of work that this part measures.
    fn kinds(&self) -> &'static [&'static WorkKind];

    /// Measures the kinds of work that need one party only, on one thread, while the other cores do the same.
    /// [`Measure::runs`] measures the other kinds.
    ///
    /// # Errors
    /// [`Error::Resource`] if randomness is missing.
    fn work(&self, measured: &mut MeasuredWork) -> Result<(), Error>;

    /// Measures the kinds of work that need both parties, by small runs on a machine whose other constants
    /// are known.
    ///
    /// # Errors
    /// [`Error::Resource`] if threads or randomness are missing, [`Error::Io`] if loopback connections are.
    fn runs(&self, _machine: &Machine, _measured: &mut MeasuredWork) -> Result<(), Error> {
        Ok(())
    }
}

/// The number of times that a measurement is repeated. The fastest one counts, because other programs can
/// only make it slower.
pub const REPEATS: usize = 5;

/// The largest number of cores that measure at the same time.
const MEASURED_AT_ONCE: u32 = 8;

/// The limit for the time by which a phase exceeds its work, as a multiple of the usual value. A longer time
/// means that other programs were running.
const MOST_BUSY: f64 = 3.0;

/// Returns the CPU seconds of this thread for each of `units` of work: the minimum of several repetitions.
///
/// # Errors
/// Those of `work`.
pub fn fastest(units: f64, mut work: impl FnMut() -> Result<(), Error>) -> Result<f64, Error> {
    let mut best = f64::INFINITY;
    for _ in 0..REPEATS {
        stop::look();
        let start = thread_seconds();
        work()?;
        best = best.min(thread_seconds() - start);
    }
    Ok(best / units)
}

/// Returns the CPU time of this thread, which other programs on the same cores do not change.
#[cfg(unix)]
pub fn thread_seconds() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

/// Returns the time since the first call, because the system does not tell the CPU time.
#[cfg(not(unix))]
pub fn thread_seconds() -> f64 {
    use std::sync::OnceLock;
    static START: OnceLock<Instant> = OnceLock::new();
    START.get_or_init(Instant::now).elapsed().as_secs_f64()
}

/// Measures this machine, which takes a second or two. `probe` garbles a small circuit and returns the
/// seconds of one thread. It measures the kinds of work of memory, of files and of all `parts`.
///
/// # Errors
/// [`Error::Resource`] if threads or randomness are missing, [`Error::Io`] if loopback connections fail.
pub fn measure(probe: impl FnOnce() -> Result<f64, Error>, parts: &[&dyn Measure]) -> Result<Machine, Error> {
    // All cores measure at the same time. In a run, the cores also work at the same time, and share caches
    // and memory bandwidth.
    let cores = threads_here().min(MEASURED_AT_ONCE);
    let all = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..cores).map(|_| scope.spawn(stop::carried(|| one_core(parts)))).collect();
        let joined = workers.into_iter().map(|worker| {
            stop::joined(worker.join()).unwrap_or_else(|_| Err(Error::Resource("a thread failed".into())))
        });
        joined.collect::<Result<Vec<MeasuredWork>, Error>>()
    })?;
    let mut seconds = MeasuredWork::mean(&all);
    let probe_seconds = probe()?;
    memory(&mut seconds)?;
    let mut machine = Machine::measured(probe_seconds, seconds, loopback()?);
    for part in parts {
        let mut measured = MeasuredWork::default();
        part.runs(&machine, &mut measured)?;
        machine = machine.with(measured);
    }
    Ok(machine)
}

/// Measures the kinds of work of all parts, with one thread.
fn one_core(parts: &[&dyn Measure]) -> Result<MeasuredWork, Error> {
    let one = rayon::ThreadPoolBuilder::new().num_threads(1).build();
    let one =
        one.map_err(|error| Error::Resource(format!("the operating system started no threads: {error}")))?;
    one.install(stop::carried(|| {
        let mut measured = MeasuredWork::default();
        parts.iter().try_for_each(|part| part.work(&mut measured))?;
        Ok(measured)
    }))
}

/// Measures memory and temporary files, which only one thread at a time uses in a run. If there is no room
/// for a file, the work on files is not measured.
fn memory(measured: &mut MeasuredWork) -> Result<(), Error> {
    const FRESH: usize = 48 << 20;
    let touch = fastest(FRESH as f64, || {
        black_box(vec![1u8; FRESH]);
        Ok(())
    })?;
    measured.set(&TOUCH, touch);
    measured.set(&SPILL, 0.0);
    measured.set(&READ_BACK, 0.0);
    let Ok(file) = tempfile::tempfile() else { return Ok(()) };
    let mut bytes = vec![1u8; FRESH];
    let mut chunks = |of: usize, access: &dyn Fn(&mut [u8], u64) -> std::io::Result<()>| {
        let start = thread_seconds();
        let good = bytes.chunks_mut(of).enumerate().all(|(k, chunk)| access(chunk, (k * of) as u64).is_ok());
        if good { (thread_seconds() - start) / FRESH as f64 } else { 0.0 }
    };
    // Writing is measured only once, because then the file exists.
    measured.set(&SPILL, chunks(1 << 20, &|chunk, at| write_at(&file, chunk, at)));
    measured.set(&READ_BACK, chunks(16 << 10, &|chunk, at| read_at(&file, chunk, at)));
    Ok(())
}

/// Returns the seconds of a message to a thread that answers, and of a byte for its sender and for its
/// receiver.
fn loopback() -> Result<[f64; 3], Error> {
    const PING: Tag = Tag(200);
    const BULK: Tag = Tag(201);
    const PINGS: usize = 100;
    const BYTES: usize = 16 << 20;
    let answer = |mut channel: Channel, _| -> Result<f64, Error> {
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
    let ask = |mut channel: Channel, _| -> Result<[f64; 2], Error> {
        let (mut ping, mut bulk) = (f64::INFINITY, f64::INFINITY);
        let bytes = vec![0; BYTES];
        for _ in 0..REPEATS {
            // The median counts, because on a busy machine some messages wait for a core.
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
        Ok([ping, bulk])
    };
    let ([ping, sent], received) = over_loopback(ask, answer)?;
    Ok([ping, sent, received])
}

/// Runs both parties over TLS on loopback, with the garbler in this thread. Each party gets its end of the
/// connection and both public keys.
///
/// # Errors
/// [`Error::Io`] without loopback connections, and those of the parties.
pub fn over_loopback<G, E: Send>(
    garbler: impl FnOnce(Channel, [[u8; 32]; 2]) -> Result<G, Error>,
    evaluator: impl FnOnce(Channel, [[u8; 32]; 2]) -> Result<E, Error> + Send,
) -> Result<(G, E), Error> {
    let keys = [Identity::generate()?.0, Identity::generate()?.0];
    let [ours, theirs] = [keys[0].public_key(), keys[1].public_key()];
    let identities = [ours.to_bytes(), theirs.to_bytes()];
    let options = |party| tls::EndpointOptions { party, lanes: 1, timeout: Duration::from_secs(10) };
    let listener = Listener::bind("127.0.0.1:0", &keys[0], theirs, &options(Party::Garbler))?;
    let address = listener.local_addr()?.to_string();
    std::thread::scope(|scope| {
        let evaluator = scope.spawn(stop::carried(|| {
            evaluator(tls::connect(&address, &keys[1], ours, &options(Party::Evaluator))?, identities)
        }));
        let garbler = listener.accept().and_then(|channel| garbler(channel, identities));
        let evaluator =
            stop::joined(evaluator.join()).map_err(|_| Error::Resource("a thread failed".into()))?;
        Ok((garbler?, evaluator?))
    })
}

/// Measures how much longer each phase of a small run takes than its work and messages. The reasons are
/// starting threads, memory in small pages, and waiting for a core. For each phase of the script, in order,
/// `kinds` has the kind of work whose time per unit is set. The function `run` executes the script, and
/// returns the name and the seconds of each phase.
///
/// # Errors
/// Those of `run`.
pub fn beyond(
    machine: &Machine,
    script: &Script,
    kinds: &[&'static WorkKind],
    measured: &mut MeasuredWork,
    mut run: impl FnMut() -> Result<Vec<(Cow<'static, str>, f64)>, Error>,
) -> Result<(), Error> {
    let mut nothing = MeasuredWork::default();
    kinds.iter().for_each(|work| nothing.set(work, 0.0));
    let expected = predict(script, &machine.clone().with(nothing), &Link::LOOPBACK);
    let mut least = vec![f64::INFINITY; kinds.len()];
    for _ in 0..REPEATS {
        for (name, seconds) in run()? {
            let parts = expected.phases.iter().find(|of| of.name == name).map_or(0.0, |of| of.seconds);
            if let Some(place) = script.phases().iter().position(|phase| *phase == name) {
                least[place] = least[place].min((seconds - parts).max(0.0));
            }
        }
    }
    // Other programs make these wall-clock times longer, so the times of the reference machine are a limit
    // for them.
    for (work, least) in kinds.iter().zip(least) {
        let unit = least / script.units_beyond(work).max(1.0);
        measured.set(work, unit.min(MOST_BUSY * machine.usual_seconds(work)));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    static WORK: WorkKind = WorkKind { name: "test.work", known: [1e-9; 4] };
    static BEYOND: WorkKind = WorkKind { name: "test.beyond", known: [1e-3; 4] };

    static KINDS: &[&WorkKind] = &[&WORK, &BEYOND];

    struct Part;

    impl Measure for Part {
        fn kinds(&self) -> &'static [&'static WorkKind] {
            KINDS
        }

        fn work(&self, measured: &mut MeasuredWork) -> Result<(), Error> {
            measured.set(&WORK, 2e-9);
            Ok(())
        }

        fn runs(&self, machine: &Machine, measured: &mut MeasuredWork) -> Result<(), Error> {
            assert!(machine.has([&WORK, &TOUCH, &SPILL, &READ_BACK]));
            let mut script = Script::new(&["all", "none"]);
            script.phase("all");
            script.work(Party::Evaluator, &WORK, 1_000_000, 1);
            script.beyond(&BEYOND, 1);
            let run = || Ok(vec![("all".into(), 2.5e-3), ("unknown".into(), 1.0)]);
            beyond(machine, &script, &[&BEYOND], measured, run)
        }
    }

    /// All kinds of work of a part are measured. The time of a run that its work and messages do not explain
    /// is measured, too.
    #[test]
    fn a_machine_is_measured() {
        let machine = measure(|| Ok(2e-3), &[&Part]).unwrap();
        assert!(machine.is_sound() && machine.has(Part.kinds().iter().copied()), "{machine:?}");
        assert_eq!(machine.seconds(&WORK, 1.0), 2e-9);
        let left = machine.seconds(&BEYOND, 1.0);
        assert!((left - 0.5e-3).abs() < 1e-9, "{left}");
        assert!(machine.message_seconds > 0.0 && machine.seconds(&TOUCH, 1.0) > 0.0);
    }
}
