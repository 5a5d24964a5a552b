//! No secret is left in freed memory.
//!
//! This test's allocator keeps the contents of every freed block. The tests play whole runs, while hooks
//! record the secrets. Then the tests search the blocks for these secrets. Bytes that were sent are public.
//! If `BRICKWORK_BACKTRACE` is set, a failing test reports the code that freed the block.
//!
//! These tests cannot see registers, the stack, and memory that the operating system swaps out.

use std::alloc::{GlobalAlloc, Layout, System};
use std::backtrace::Backtrace;
use std::cell::Cell;
use std::collections::{BTreeMap, HashMap};
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use brickwork::circuit::library;
use brickwork::wire::{Channel, Stream, memory_pair};
use brickwork_timing::{
    SharedSecrets, evaluator_input, garbler_input, known, play, play_by_makers, play_from_stock,
};

/// The system's allocator, which returns zeroed blocks and keeps the contents of freed ones.
struct Remembering;

#[global_allocator]
static ALLOCATOR: Remembering = Remembering;

static WATCHING: AtomicBool = AtomicBool::new(false);
static FREED: Mutex<Freed> = Mutex::new(Freed { bytes: Vec::new(), blocks: Vec::new() });

thread_local! {
    /// True while this thread records a block, so that its own allocations are not recorded.
    static BUSY: Cell<bool> = const { Cell::new(false) };
}

/// The contents of freed blocks, one after the other.
struct Freed {
    bytes: Vec<u8>,
    /// The start and the length of each block among these bytes, and the code that freed it.
    blocks: Vec<(usize, usize, Option<Backtrace>)>,
}

/// Shorter blocks cannot contain a label.
const SHORTEST: usize = 16;

// SAFETY: memory comes from and returns to the system's allocator, with the caller's layouts. `realloc` is
// the default one: it allocates a new block, copies, and frees the old one through `dealloc`.
unsafe impl GlobalAlloc for Remembering {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // The block is zeroed, so that each of its bytes may be read when it is freed. SAFETY: guaranteed by
        // the caller.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        if WATCHING.load(Ordering::Relaxed) && layout.size() >= SHORTEST && !BUSY.replace(true) {
            // SAFETY: the caller owns the block until it is freed below, and all of it has been written.
            remember(unsafe { std::slice::from_raw_parts(block, layout.size()) });
            BUSY.set(false);
        }
        // SAFETY: guaranteed by the caller.
        unsafe { System.dealloc(block, layout) }
    }
}

fn remember(block: &[u8]) {
    if block.iter().all(|&b| b == 0) {
        return;
    }
    let mut freed = FREED.lock().unwrap();
    let at = freed.bytes.len();
    freed.bytes.extend_from_slice(block);
    let who = std::env::var_os("BRICKWORK_BACKTRACE").map(|_| Backtrace::force_capture());
    freed.blocks.push((at, block.len(), who));
}

/// While a value of this type exists, no other test of this file runs. The memory of another test, for
/// example of the values that it searches for, would be attributed to this run.
struct Alone(#[expect(dead_code, reason = "held, not read")] MutexGuard<'static, ()>);

fn alone() -> Alone {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    Alone(ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner))
}

fn freed_by(_: &Alone, run: impl FnOnce()) -> Freed {
    WATCHING.store(true, Ordering::SeqCst);
    run();
    WATCHING.store(false, Ordering::SeqCst);
    std::mem::replace(&mut FREED.lock().unwrap(), Freed { bytes: Vec::new(), blocks: Vec::new() })
}

/// The name of a secret, the length of its block, and the code that freed that block.
type Found = (&'static str, usize, String);

impl Freed {
    /// Returns the secrets that occur in freed blocks, at most one for each block.
    fn find(&self, secrets: &HashMap<u128, &'static str>) -> Vec<Found> {
        let mut likely = vec![false; 1 << 16];
        secrets.keys().for_each(|&secret| likely[usize::from(secret as u16)] = true);
        let mut found = Vec::new();
        for (at, length, who) in &self.blocks {
            let block = &self.bytes[*at..at + length];
            let here = block.windows(16).find_map(|window| {
                let window = u128::from_le_bytes(window.try_into().expect("16 bytes"));
                if likely[usize::from(window as u16)] { secrets.get(&window) } else { None }
            });
            found.extend(
                here.map(|name| (*name, *length, who.as_ref().map(|w| w.to_string()).unwrap_or_default())),
            );
        }
        found
    }
}

impl Freed {
    /// Returns the freed blocks that contain these bytes.
    fn find_bytes<'a>(&'a self, name: &'static str, bytes: &'a [u8]) -> impl Iterator<Item = Found> + 'a {
        let holds = move |block: &[u8]| block.windows(bytes.len()).any(|window| window == bytes);
        let blocks = self.blocks.iter().filter(move |(at, length, _)| holds(&self.bytes[*at..at + length]));
        blocks.map(move |(_, length, who)| {
            (name, *length, who.as_ref().map(|w| w.to_string()).unwrap_or_default())
        })
    }
}

/// Returns the frames of a backtrace that belong to this project.
fn ours(backtrace: &str) -> String {
    backtrace.lines().filter(|line| line.contains("brickwork")).take(6).collect::<Vec<_>>().join("\n")
}

#[test]
fn what_is_freed_holds_no_secret() {
    nothing_remains_of(|secrets| drop(play(memory_pair(), secrets)));
}

/// Plays sessions that are restored from a store, with recomputed records and rows.
#[test]
fn what_is_freed_by_runs_from_stock_holds_no_secret() {
    nothing_remains_of(|secrets| drop(play_from_stock(memory_pair, secrets)));
}

/// Checks the memory of makers, which have the epoch's secrets, and of coordinators, which receive the
/// records. In this test the connections within a party are sockets.
#[test]
fn what_is_freed_by_makers_holds_no_secret() {
    let home = || {
        let (left, right) = UnixStream::pair().expect("a pair of sockets");
        [left, right].map(|end| Channel::new(vec![Box::new(Line(end))])).into()
    };
    nothing_remains_of(|secrets| play_by_makers(memory_pair, home, secrets));
}

/// One end of a pair of sockets, as a connection. The sent bytes are in no memory of this process, except in
/// the buffers of both ends.
struct Line(UnixStream);

impl Read for Line {
    fn read(&mut self, bytes: &mut [u8]) -> std::io::Result<usize> {
        self.0.read(bytes)
    }
}

impl Write for Line {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.0.flush()
    }
}

impl Stream for Line {}

fn nothing_remains_of(play: impl Fn(&SharedSecrets)) {
    let alone = alone();
    let secrets = SharedSecrets::default();
    let freed = freed_by(&alone, || play(&secrets));
    let secrets = known(&secrets);
    assert!(secrets.len() > 10_000, "{} secrets are known", secrets.len());
    assert!(freed.bytes.len() > 1_000_000, "{} bytes were freed", freed.bytes.len());
    let mut found = freed.find(&secrets);
    // A party's input, one byte for each bit. Half of it is enough to recognise it.
    for (name, input) in
        [("the garbler's input", garbler_input()), ("the evaluator's input", evaluator_input())]
    {
        for half in input.chunks(32) {
            let half: Vec<u8> = half.iter().map(|&bit| u8::from(bit)).collect();
            found.extend(freed.find_bytes(name, &half));
        }
    }
    let mut report = BTreeMap::<(&str, usize), (usize, String)>::new();
    for (name, length, who) in found {
        report.entry((name, length)).or_insert((0, who)).0 += 1;
    }
    for ((name, length), (times, who)) in &report {
        eprintln!("{times} x {name} in a freed block of {length} bytes\n{}", ours(who));
    }
    assert!(report.is_empty(), "secrets remain in freed memory");
}

/// Recovery computes in the clear in every run. The program has a single component, so that the component's
/// inputs are the parties' inputs.
#[test]
fn a_computation_in_the_clear_leaves_no_input() {
    let alone = alone();
    let inputs = [garbler_input(), evaluator_input()];
    let [x, y] = [&inputs[0][..32], &inputs[1][..32]];
    for program in [library::millionaires().unwrap(), library::millionaires().unwrap().whole().unwrap()] {
        let freed = freed_by(&alone, || drop(program.simulate(x, y)));
        for input in [x, y] {
            let bytes: Vec<u8> = input.iter().map(|&bit| u8::from(bit)).collect();
            assert_eq!(freed.find_bytes("an input", &bytes).count(), 0, "{} slots", program.slot_count());
        }
    }
}

/// A test of the search itself: it finds a label at any position of a vector that was not erased.
#[test]
fn what_is_not_erased_is_found() {
    let alone = alone();
    let secret = 0x0123_4567_89ab_cdef_1122_3344_5566_7788_u128;
    let secrets = HashMap::from([(secret, "a label")]);
    for place in [0, 1, 7, 16, 83] {
        let freed = freed_by(&alone, || {
            let mut block = vec![0xa5u8; 99];
            block[place..place + 16].copy_from_slice(&secret.to_le_bytes());
            drop(std::hint::black_box(block));
        });
        assert_eq!(freed.find(&secrets).len(), 1, "at {place}");
    }
    // A list that grows leaves a copy behind.
    let freed = freed_by(&alone, || {
        let mut block = vec![secret];
        block.extend(std::hint::black_box([1; 8]));
        block.fill(0);
        drop(std::hint::black_box(block));
    });
    assert_eq!(freed.find(&secrets).len(), 1);
    let freed = freed_by(&alone, || drop(std::hint::black_box(vec![secret ^ 1; 8])));
    assert_eq!(freed.find(&secrets).len(), 0);
    let input = garbler_input().to_vec();
    let bytes: Vec<u8> = input[32..].iter().map(|&bit| u8::from(bit)).collect();
    let freed = freed_by(&alone, || drop(std::hint::black_box(input)));
    assert_eq!(freed.find_bytes("an input", &bytes).count(), 1);
}
