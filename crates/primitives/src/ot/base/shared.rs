//! The parts that both constructions of base OTs share: the oracles' prefixes, the derivation of keys, and
//! threads.

use blake3::Hasher;
use brickwork_base::random::{SEED_BYTES, Seed};
use zeroize::Zeroize;

use crate::ot::Direction;

/// The prefix of one series: every hash of the series begins with its 32 bytes.
#[derive(Clone)]
pub struct Instance(pub(super) [u8; 32]);

impl Instance {
    /// Returns the prefix of the series in this direction, for a receiver whose greeting has this digest.
    pub fn new(receivers_greeting: &[u8; 32], direction: Direction) -> Self {
        let mut hasher = Hasher::new_derive_key("brickwork 2026-11 base OT instance");
        hasher.update(receivers_greeting).update(&[direction as u8]);
        Instance(*hasher.finalize().as_bytes())
    }

    /// Returns the transcript of all messages of both parties, in a fixed order.
    pub(super) fn transcript(&self, session: &[u8; 32], sent: &[&[u8]]) -> Transcript {
        let mut hasher = Hasher::new_derive_key("brickwork 2026-11 base OT transcript");
        hasher.update(session).update(&self.0);
        for message in sent {
            hasher.update(message);
        }
        Transcript(*hasher.finalize().as_bytes())
    }
}

/// A hash of the session, of the series' prefix and of all messages.
pub(super) struct Transcript([u8; 32]);

impl Transcript {
    /// Returns `KDF` of a secret that both parties know.
    pub(super) fn seed(&self, index: usize, slot: u8, shared: &[u8]) -> Seed {
        let mut hasher = Hasher::new_derive_key("brickwork 2026-11 base OT key");
        hasher.update(&self.0).update(&(index as u64).to_le_bytes()).update(&[slot]).update(shared);
        let mut seed = [0; SEED_BYTES];
        hasher.finalize_xof().fill(&mut seed);
        hasher.zeroize();
        Seed::from_bytes(seed)
    }
}

/// Calls `work` for each item with its index, on at most `threads` threads. Returns the first error.
pub(super) fn in_parallel<T: Send, E: Send>(
    items: &mut [T],
    threads: usize,
    work: impl Fn(usize, &mut T) -> Result<(), E> + Sync,
) -> Result<(), E> {
    let chunk = items.len().div_ceil(threads.max(1)).max(1);
    let run = |(part, items): (usize, &mut [T])| {
        items.iter_mut().enumerate().try_for_each(|(i, item)| work(part * chunk + i, item))
    };
    std::thread::scope(|scope| {
        let mut parts = items.chunks_mut(chunk).enumerate();
        let first = parts.next();
        let workers: Vec<_> = parts.map(|part| scope.spawn(move || run(part))).collect();
        let first = first.map_or(Ok(()), run);
        workers
            .into_iter()
            .map(|worker| worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .fold(first, Result::and)
    })
}

#[cfg(test)]
mod tests {
    use super::in_parallel;

    #[test]
    fn an_error_in_a_worker_reaches_the_caller() {
        for threads in [0, 1, 2, 7, 100] {
            let mut items = [0_usize; 20];
            let mut write = |fails: usize| {
                in_parallel(&mut items, threads, |i, item| {
                    *item = i;
                    if i == fails { Err(i) } else { Ok(()) }
                })
            };
            assert_eq!(write(13), Err(13));
            assert_eq!(write(20), Ok(()));
            assert!(items.iter().enumerate().all(|(i, &item)| i == item));
        }
    }
}
