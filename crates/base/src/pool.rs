//! The threads that compute for a party. A party's own thread communicates with the peer and waits. This
//! thread gives long computations to a pool, which may serve several parties. So no thread of a pool ever
//! waits for a peer, a disk or a clock, and a pool of one thread can serve many sessions.
//!
//! A thread [enters](Pool::enter) a pool, like an asynchronous runtime: then all its calls of [`compute`] run
//! in that pool. A session that starts within a pool runs on that pool.
//!
//! Threads of a pool check between two tasks whether the thread for which they work was asked to stop
//! ([`crate::stop`]).

use std::cell::RefCell;
use std::sync::{Arc, Mutex};

use rayon::{Scope, ThreadPool, ThreadPoolBuilder};

use crate::{Error, stop};

thread_local! {
    /// The pool that this thread has entered. Threads of a pool have entered no pool.
    static ENTERED: RefCell<Option<Pool>> = const { RefCell::new(None) };
}

/// Threads that compute. Clones share the same threads.
#[derive(Clone, Debug)]
pub struct Pool(Arc<ThreadPool>);

impl From<Arc<ThreadPool>> for Pool {
    fn from(threads: Arc<ThreadPool>) -> Self {
        Pool(threads)
    }
}

impl Pool {
    /// Makes a pool with this number of threads, at least one.
    ///
    /// # Errors
    /// [`Error::Resource`] if the system has no threads.
    pub fn new(threads: usize) -> Result<Self, Error> {
        let build = || ThreadPoolBuilder::new().num_threads(threads.max(1)).build();
        // Rayon builds the state that its threads share on the stack and moves it to the heap. Padding bytes
        // between its fields move with it, and could contain the caller's secrets. So a new thread with an
        // empty stack builds it.
        let pool = std::thread::scope(|scope| scope.spawn(build).join()).expect(
            "building a thread pool \
             does not panic",
        );
        Ok(Pool(Arc::new(pool.map_err(|error| {
            Error::Resource(format!(
                "the operating system started no \
             threads: {error}"
            ))
        })?)))
    }

    /// Returns the pool that this thread has entered, or else a new one with this number of threads.
    ///
    /// # Errors
    /// As [`Pool::new`].
    pub fn entered_or_new(threads: usize) -> Result<Self, Error> {
        Pool::entered().map_or_else(|| Pool::new(threads), Ok)
    }

    /// Returns the pool that this thread has entered, for passing it to another thread.
    pub fn entered() -> Option<Pool> {
        ENTERED.with_borrow(Clone::clone)
    }

    /// Calls `work` on this thread; its computations run on the pool's threads.
    pub fn enter<T>(&self, work: impl FnOnce() -> T) -> T {
        /// Restores the pool that was entered before, also when `work` panics.
        struct Back(Option<Pool>);
        impl Drop for Back {
            fn drop(&mut self) {
                ENTERED.set(self.0.take());
            }
        }
        let _back = Back(ENTERED.replace(Some(self.clone())));
        work()
    }
}

/// Calls `work` on the pool that this thread has entered, and waits for it. `work` may wait only for threads
/// of the pool. On a thread of a pool, or without a pool, `work` is called directly.
pub fn compute<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    stop::look();
    let Some(pool) = Pool::entered() else { return work() };
    let (mut work, mut made) = (Some(stop::carried(work)), None);
    install(&pool, &mut || made = work.take().map(|work| work()));
    made.expect("`work` was called")
}

/// Calls `work` on the pool's threads, and waits for it. Rayon's generic code is instantiated only for this
/// closure; otherwise it would be a fifth of the compile time of a protocol.
fn install(pool: &Pool, work: &mut (dyn FnMut() + Send)) {
    pool.0.install(work);
}

/// Calls `work` for each of the tasks, with the task's number and a workspace that consecutive tasks share.
/// Returns the results in the order of the tasks. A thread that has entered a pool works together with all
/// threads of the pool except one, because most of this work is shorter than waking a thread.
pub fn map<T: Send, R, U: Send>(
    tasks: Vec<T>,
    room_of: impl Fn() -> R + Send + Sync,
    work: impl Fn(&mut R, usize, T) -> U + Send + Sync,
) -> Vec<U> {
    let helpers = threads().min(tasks.len()).saturating_sub(1);
    let mut made: Vec<Option<U>> = tasks.iter().map(|_| None).collect();
    let left = Mutex::new(tasks.into_iter().zip(&mut made).enumerate());
    let next = || left.lock().expect("no thread panicked while it held the lock").next();
    with_helpers(helpers, &|| {
        let mut room = None;
        while let Some((i, (task, made))) = next() {
            stop::look();
            *made = Some(work(room.get_or_insert_with(&room_of), i, task));
        }
    });
    made.into_iter().map(|made| made.expect("the pool has run each task")).collect()
}

/// Calls `work` on this thread and on `helpers` others, and waits for all. A thread of a pool uses other
/// threads of that pool, and does other work of the pool while it waits.
fn with_helpers(helpers: usize, work: &(dyn Fn() + Sync)) {
    fn all<'scope>(scope: &Scope<'scope>, helpers: usize, work: &'scope (dyn Fn() + Sync)) {
        (0..helpers).for_each(|_| scope.spawn(|_| work()));
        work();
    }
    let carried = stop::carry();
    let work = || carried.enter(work);
    match Pool::entered() {
        _ if helpers == 0 => work(),
        Some(pool) => pool.0.in_place_scope(|scope| all(scope, helpers, &work)),
        None => rayon::scope(|scope| all(scope, helpers, &work)),
    }
}

/// Sums up the results of `count` tasks: `work` adds the result of a task to a sum, which begins as `zero`,
/// and `add` joins two sums in any order. The tasks run on the same threads as [`map`].
pub fn sum<A: Send>(
    count: usize,
    zero: impl Fn() -> A + Send + Sync,
    work: impl Fn(A, usize) -> A + Send + Sync,
    add: impl Fn(A, A) -> A + Send + Sync,
) -> A {
    let runs = threads().min(count).max(1);
    let work = |sum: A, i: usize| {
        stop::look();
        work(sum, i)
    };
    let run = |k: usize| (k * count / runs..(k + 1) * count / runs).fold(zero(), &work);
    let sums = map((0..runs).collect(), || (), |(), _, k| run(k));
    sums.into_iter().reduce(add).expect("the caller gives at least one run")
}

/// Returns the number of threads for [`compute`].
pub fn threads() -> usize {
    Pool::entered().map_or_else(rayon::current_num_threads, |pool| pool.0.current_num_threads())
}

/// Calls `work` on this thread, which may communicate and wait. Work that it spawns is computed meanwhile,
/// and is complete when this returns.
pub fn scope<'scope, T>(work: impl FnOnce(&Scope<'scope>) -> T) -> T {
    match Pool::entered() {
        Some(pool) => pool.0.in_place_scope(work),
        None => rayon::in_place_scope(work),
    }
}

/// Calls `here` on this thread, which may communicate and wait, while `work` is computed. Returns both
/// results.
///
/// # Panics
/// If one of them panics.
pub fn beside<H, W: Send>(here: impl FnOnce() -> H, work: impl FnOnce() -> W + Send) -> (H, W) {
    let (mut here, mut said) = (Some(here), None);
    let (mut work, mut made) = (Some(stop::carried(work)), None);
    both(&mut || said = here.take().map(|here| here()), &mut || made = work.take().map(|work| work()));
    // A scope ends when all spawned work is complete.
    (said.expect("`here` was called"), made.expect("`work` was called"))
}

/// Calls `here` on this thread while `work` is computed, like [`beside`].
fn both(here: &mut dyn FnMut(), work: &mut (dyn FnMut() + Send)) {
    scope(|scope| {
        scope.spawn(|_| work());
        here();
    });
}

#[cfg(test)]
mod tests {
    use std::thread::current;

    use super::*;

    fn here() -> Option<usize> {
        rayon::current_thread_index()
    }

    /// Computations run in the pool that was entered, and so do those of an inner session. The thread that
    /// entered it communicates, and afterwards the previous state is restored.
    #[test]
    fn computing_leaves_the_thread_and_talking_stays() {
        let (one, three) = (Pool::new(1).unwrap(), Pool::new(3).unwrap());
        let me = current().id();
        one.enter(|| {
            assert_eq!((threads(), here(), compute(here)), (1, None, Some(0)));
            three.enter(|| {
                assert_eq!((threads(), here()), (3, None));
                assert_eq!(compute(|| (threads(), compute(|| current().id()) == current().id())), (3, true));
            });
            assert_eq!(threads(), 1);
            let (talks, computes) = beside(|| (current().id(), here()), here);
            assert_eq!((talks, computes), ((me, None), Some(0)));
            assert_eq!(Pool::entered_or_new(7).unwrap().0.current_num_threads(), 1);
        });
        assert_eq!(Pool::entered_or_new(2).unwrap().0.current_num_threads(), 2);
        assert!(Pool::entered().is_none());
    }

    /// With a pool of one thread, the thread that communicates can wait for the one that computes. If
    /// communication had to come first, the test would block forever.
    #[test]
    fn one_thread_computes_while_another_talks() {
        let (tell, told) = std::sync::mpsc::channel();
        let pool = Pool::new(1).unwrap();
        let (heard, ()) = pool.enter(|| beside(|| told.recv(), || tell.send(7).unwrap()));
        assert_eq!(heard, Ok(7));
    }

    /// A single task stays on its thread, and so do all tasks if there is one thread; several are
    /// distributed. All ways give the same results.
    #[test]
    fn little_work_is_not_handed_over() {
        let alone = Pool::new(1).unwrap().enter(|| map(vec![(); 3], || (), |_, i, ()| (here(), i)));
        assert_eq!(alone, [(None, 0), (None, 1), (None, 2)]);
        Pool::new(2).unwrap().enter(|| {
            let places = |tasks: usize| map(vec![2; tasks], || 1, |room, i, task| (here(), *room * task * i));
            assert_eq!(places(1), [(None, 0)]);
            let many = places(9);
            assert!(many.iter().enumerate().all(|(i, &(_, made))| made == 2 * i));
            // Two tasks wait for each other, so two threads must run them.
            let meet = std::sync::Barrier::new(2);
            let both = map(vec![(); 2], || (), |_, _, ()| _ = meet.wait());
            assert_eq!(both.len(), 2);
            let squares = |count| sum(count, || 0, |sum, i| sum + i * i, |a, b| a + b);
            assert_eq!([0, 1, 2, 100].map(squares), [0, 0, 1, 328_350]);
        });
    }

    /// If a stop is requested while very many tasks wait, only the tasks run that have begun already: in a
    /// pool, on its threads, and without a pool.
    #[test]
    fn what_is_asked_to_stop_begins_no_other_task() {
        const MANY: usize = 1 << 40;
        let (two, stop) = (Pool::new(2).unwrap(), stop::Stop::new());
        type Work<'w> = &'w (dyn Fn(usize) + Sync);
        let sums = |work: Work| sum(MANY, || (), |(), i| work(i), |(), ()| ());
        let ways: [&(dyn Fn(Work) + Sync); 4] = [
            &|work| two.enter(|| sums(work)),
            &|work| two.enter(|| compute(|| sums(work))),
            &|work| _ = two.enter(|| beside(|| (), || sums(work))),
            &|work| {
                let tasks = vec![(); 1 << 20];
                // One thread of a pool distributes the tasks to other threads, which have entered no stop by
                // themselves.
                two.enter(|| compute(|| map(tasks, || (), |(), i, ()| work(i))));
            },
        ];
        for way in ways {
            let stop = stop::Stop::new();
            let ended = stop.run(|| {
                way(&|_| {
                    stop.ask();
                })
            });
            assert_eq!(ended, Err(stop::Stopped));
        }
        // A stop that was requested before prevents the first task.
        stop.ask();
        assert_eq!(stop.run(|| two.enter(|| sums(&|_| unreachable!("none begins")))), Err(stop::Stopped));
        assert_eq!(two.enter(|| compute(|| 3)), 3);
    }

    #[test]
    fn a_panic_leaves_the_pool() {
        let pool = Pool::new(1).unwrap();
        let panics = std::panic::AssertUnwindSafe(|| pool.enter(|| panic!("as a test wants it")));
        let panicked = std::panic::catch_unwind(panics);
        assert!(panicked.is_err() && Pool::entered().is_none());
    }
}
