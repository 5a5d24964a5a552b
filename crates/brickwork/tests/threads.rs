//! Tests on which thread each work is done. A party's own thread communicates, waits, and makes files
//! durable. The threads of the caller's pool compute, and no other thread does.

use std::io::{self, Read, Write};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Once};

use brickwork::authenticated;
use brickwork::circuit::library::aes;
use brickwork::circuit::{Party, Program};
use brickwork::compgc::{self, Linking};
use brickwork::disk::{DiskChange, Faults, Store, StoreKey};
use brickwork::duplo::{self, Evaluator, Garbler, Request};
use brickwork::jimu;
use brickwork::lego;
use brickwork::ot::Cot;
use brickwork::pool::Pool;
use brickwork::protocol::{AgreedJob, TABLE_MEMORY, Terms, Unobserved};
use brickwork::semi_honest;
use brickwork::wire::{Channel, Stream};

/// A stream that only a party's own thread may use.
struct Watched {
    to: Sender<Vec<u8>>,
    from: Receiver<Vec<u8>>,
    current: io::Cursor<Vec<u8>>,
}

fn not_in_a_pool(what: &str) {
    assert_eq!(rayon::current_thread_index(), None, "{what} on a thread of a pool");
}

impl Read for Watched {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        not_in_a_pool("receiving");
        if self.current.position() as usize == self.current.get_ref().len() {
            let Ok(bytes) = self.from.recv() else { return Ok(0) };
            self.current = io::Cursor::new(bytes);
        }
        self.current.read(buffer)
    }
}

impl Write for Watched {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        not_in_a_pool("sending");
        self.to.send(buffer.to_vec()).map_err(|_| io::Error::from(io::ErrorKind::BrokenPipe))?;
        Ok(buffer.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        not_in_a_pool("flushing");
        Ok(())
    }
}

impl Stream for Watched {}

fn watched_pair() -> [Channel; 2] {
    let ((to_right, from_left), (to_left, from_right)) = (channel(), channel());
    [(to_right, from_right), (to_left, from_left)]
        .map(|(to, from)| Channel::new(vec![Box::new(Watched { to, from, current: io::Cursor::default() })]))
}

/// A disk that only a party's own thread may wait for.
#[derive(Debug)]
struct WatchedDisk;

impl Faults for WatchedDisk {
    fn before(&self, change: DiskChange) -> Result<(), (usize, io::Error)> {
        if change == DiskChange::Sync {
            not_in_a_pool("making a file durable");
        }
        Ok(())
    }
}

/// Makes the global thread pool of this process fail to start, so that any work on it fails.
fn no_pool_but_the_given_one() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let none = |_| Err(io::Error::other("as this test wants it"));
        assert!(rayon::ThreadPoolBuilder::new().spawn_handler(none).build_global().is_err());
    });
    assert!(std::panic::catch_unwind(rayon::current_num_threads).is_err(), "there is a pool for all");
}

/// Runs both parties side by side, without a pool.
fn both<T: Send>(party: impl Fn(Party, Channel) -> T + Sync) -> [T; 2] {
    no_pool_but_the_given_one();
    let [left, right] = watched_pair();
    std::thread::scope(|scope| {
        let garbler = scope.spawn(|| party(Party::Garbler, left));
        let evaluator = party(Party::Evaluator, right);
        [garbler.join().unwrap(), evaluator]
    })
}

fn one_thread() -> Arc<rayon::ThreadPool> {
    Arc::new(rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap())
}

/// Runs both parties in one pool of a single thread. A party that waited for the other on this thread would
/// wait forever.
fn within_one_thread<T: Send>(party: impl Fn(Party, Channel) -> T + Sync) -> [T; 2] {
    let pool = Pool::from(one_thread());
    both(|role, channel| pool.enter(|| party(role, channel)))
}

fn job(program: &Arc<Program>, table_memory: u64) -> AgreedJob {
    AgreedJob {
        program: program.clone(),
        security: 40,
        threads: 2,
        table_memory,
        identities: [[1; 32], [2; 32]],
        post_quantum: false,
    }
}

fn bits(program: &Program, party: Party) -> Vec<bool> {
    (0..program.input_width(party)).map(|k| k % 3 == 1).collect()
}

/// The expected outputs of each party.
fn expected(program: &Program) -> [Vec<bool>; 2] {
    let clear = program.simulate(&bits(program, Party::Garbler), &bits(program, Party::Evaluator));
    [Party::Garbler, Party::Evaluator].map(|party| program.output_bits(party, &clear))
}

/// DUPLO runs with tables, corrections and openings in memory, and with all of them in files.
#[test]
fn duplo_talks_on_its_own_thread() {
    let program = Arc::new(aes::aes_128().unwrap().repeat(2).unwrap());
    for table_memory in [TABLE_MEMORY, 1] {
        let job = job(&program, table_memory);
        let outputs = within_one_thread(|party, channel| match party {
            Party::Garbler => duplo::garbler(channel, &job, &bits(&program, party), Unobserved).unwrap(),
            Party::Evaluator => duplo::evaluator(channel, &job, &bits(&program, party), Unobserved).unwrap(),
        });
        assert_eq!(outputs.map(|report| report.outputs), expected(&program));
    }
}

/// A session holds the pool in which it began, and releases it at its end.
#[test]
fn duplo_talks_on_its_own_thread_from_stock_in_memory() {
    let program = Arc::new(aes::aes_128().unwrap());
    let terms = job(&program, TABLE_MEMORY).terms();
    let request = Request::of(&program);
    let outputs = both(|party, channel| {
        let (input, threads) = (bits(&program, party), one_thread());
        let held = Arc::downgrade(&threads);
        let pool = Pool::from(threads);
        let outputs = match party {
            Party::Garbler => {
                let session = pool.enter(|| Garbler::setup(channel, &terms, Unobserved)).unwrap();
                drop(pool);
                assert!(held.upgrade().is_some(), "the session has another pool");
                let built = session.fill(&request).unwrap().build(&program).unwrap();
                let (outputs, session) = built.evaluate(&input).unwrap().decode().unwrap();
                session.close().map(|_| outputs)
            }
            Party::Evaluator => {
                let session = pool.enter(|| Evaluator::setup(channel, &terms, Unobserved)).unwrap();
                drop(pool);
                assert!(held.upgrade().is_some(), "the session has another pool");
                let built = session.fill(&request).unwrap().build(&program).unwrap();
                let (outputs, _, session) = built.evaluate(&input).unwrap().decode().unwrap();
                session.close().map(|_| outputs)
            }
        };
        assert!(held.upgrade().is_none());
        outputs.unwrap()
    });
    assert_eq!(outputs, expected(&program));
}

fn store(folder: &std::path::Path, party: Party) -> Store {
    let key = StoreKey::from_bytes([7; 32]);
    Store::open_with(&folder.join(format!("{party:?}")), &key, Arc::new(WatchedDisk)).unwrap()
}

#[test]
fn duplo_talks_on_its_own_thread_from_stock_on_disk() {
    let program = Arc::new(aes::aes_128().unwrap());
    let (terms, folder): (Terms, _) = (job(&program, TABLE_MEMORY).terms(), tempfile::tempdir().unwrap());
    let open = |party, channel, store: &Store| {
        duplo::Stocked::open(party, channel, store, &terms, Unobserved).unwrap()
    };
    let request = Request { ots: Some(program.input_width(Party::Evaluator)), ..Request::of(&program) };
    within_one_thread(|party, channel| {
        let session = open(party, channel, &store(folder.path(), party));
        session.preprocess(std::slice::from_ref(&request)).unwrap().1.close().unwrap();
    });
    let outputs = within_one_thread(|party, channel| {
        let session = open(party, channel, &store(folder.path(), party));
        let input = bits(&program, party);
        let (done, session) = session.run(&program, &input, duplo::Lacking::Refuse).unwrap();
        session.close().map(|_| done.outputs).unwrap()
    });
    assert_eq!(outputs, expected(&program));
}

#[test]
fn the_other_protocols_talk_on_their_own_thread() {
    let program = Arc::new(aes::aes_128().unwrap());
    let job = job(&program, TABLE_MEMORY);
    // Calls the garbler and the evaluator of every protocol. The parameters of these functions differ after
    // channel, job and input.
    macro_rules! runs {
        ($($protocol:ident $given:tt)*) => {
            $(runs!(@ $protocol $given);)*
        };
        (@ $protocol:ident ($($given:expr),*)) => {
            let outputs = within_one_thread(|party, channel| {
                let input = bits(&program, party);
                let run = match party {
                    Party::Garbler => $protocol::garbler(channel, &job, $($given,)* &input, Unobserved),
                    Party::Evaluator => $protocol::evaluator(channel, &job, $($given,)* &input, Unobserved),
                };
                run.unwrap().outputs
            });
            assert_eq!(outputs, expected(&program), "{}", stringify!($protocol));
        };
    }
    runs! { authenticated(Cot::default()) compgc(Linking::Scmc) lego() semi_honest(1) }
    runs! { jimu(jimu::Unit::Gates) jimu(jimu::Unit::Components) }
    let folder = tempfile::tempdir().unwrap();
    let open = |party, channel, store: &Store| {
        semi_honest::Stocked::open(party, channel, store, &job.terms(), Unobserved).unwrap()
    };
    within_one_thread(|party, channel| {
        let session = open(party, channel, &store(folder.path(), party));
        session.preprocess(1000).unwrap().1.close().unwrap();
    });
    let outputs = within_one_thread(|party, channel| {
        let session = open(party, channel, &store(folder.path(), party));
        let (input, lacking) = (bits(&program, party), semi_honest::Lacking::Refuse);
        let (done, session) = session.run(&program, 1, &input, lacking).unwrap();
        session.close().map(|_| done.outputs).unwrap()
    });
    assert_eq!(outputs, expected(&program));
}
