//! A stopped task ends soon, however much memory it has. With the command's allocator, a list of secrets is
//! normally erased when it is dropped. While a task is stopped, their pages return to the system instead.
#![cfg(all(target_os = "linux", not(miri)))]

use std::alloc::Layout;
use std::fs::{read_to_string, write};
use std::sync::Mutex;

use brickwork_kernels::{Erasing, LargePages, SecretBlocks};

#[global_allocator]
static ALLOCATOR: LargePages = LargePages::new();

/// One test runs at a time, because all tests observe the memory of the process.
static ALONE: Mutex<()> = Mutex::new(());

/// Returns the maximum of the process' physical memory since [`forget`], in bytes.
fn most() -> usize {
    let status = read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    1024 * line.trim_end_matches("kB").trim().parse::<usize>().unwrap()
}

fn forget() {
    write("/proc/self/clear_refs", "5").unwrap();
}

fn is_mapped(address: usize) -> bool {
    read_to_string("/proc/self/maps").unwrap().lines().any(|line| {
        let (begin, rest) = line.split_once('-').unwrap();
        let (end, _) = rest.split_once(' ').unwrap();
        let number = |digits| usize::from_str_radix(digits, 16).unwrap();
        (number(begin)..number(end)).contains(&address)
    })
}

/// Returns how many bytes of a block of this size, which is a mapping of the allocator, are not zero.
fn left_in_a_block(bytes: usize) -> usize {
    let layout = Layout::from_size_align(bytes, 16).unwrap();
    // SAFETY: the size is not 0. A fresh mapping is zero, and a reused one has been written, so every byte
    // may be read. The block is freed once with its layout.
    unsafe {
        let block = std::alloc::alloc(layout);
        assert!(!block.is_null());
        let left = (0..bytes).filter(|i| block.add(*i).read_volatile() != 0).count();
        std::alloc::dealloc(block, layout);
        left
    }
}

#[test]
fn pages_that_nobody_touched_are_not_made_to_be_erased() {
    let _alone = ALONE.lock().unwrap();
    const BYTES: usize = 1 << 30;
    let untouched = SecretBlocks::<u128>::zeros(BYTES / 16);
    forget();
    let before = most();
    let stopping = Erasing::begin();
    drop(untouched);
    drop(stopping);
    assert!(most() - before < BYTES / 16, "{} bytes were made", most() - before);
}

#[test]
fn nothing_is_left_of_secrets_whatever_ends_them() {
    let _alone = ALONE.lock().unwrap();
    // Block sizes that the allocator keeps for reuse, and a size that it does not keep.
    for bytes in [1 << 20, 2 << 20, 16 << 20, 40 << 20] {
        for (stopped, left) in [(false, bytes), (true, bytes), (false, bytes / 3), (true, 0), (false, 0)] {
            let ends = || {
                let mut secrets = SecretBlocks::<u8>::zeros(bytes);
                secrets.fill(0xa5);
                secrets.truncate(left);
                let at = secrets.as_ptr().addr();
                let stopping = stopped.then(Erasing::begin);
                drop(secrets);
                let gone = !is_mapped(at);
                drop(stopping);
                assert_eq!(left_in_a_block(bytes), 0, "{left} of {bytes} bytes, stopped: {stopped}");
                gone || !stopped
            };
            // Another thread that starts meanwhile may get a block at the same address, so the test tries
            // several times. A block that the allocator kept would be found in every attempt.
            assert!((0..9).any(|_| ends()), "{bytes} bytes have not gone back");
        }
    }
}
