//! The time of a job of many workers, by an event simulation. Workers make stock and run partitions with it,
//! over links and on cores that they may share.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use serde::Serialize;

use crate::cost::Cost;

/// The time of one piece of a worker's work, if the worker has a link and a core of its own.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Stretch {
    /// Wall time in seconds.
    pub seconds: f64,
    /// CPU time of both parties in seconds.
    pub cpu_seconds: f64,
    /// Bytes over the link, in both directions.
    pub bytes: u64,
}

impl From<&Cost> for Stretch {
    fn from(cost: &Cost) -> Self {
        Stretch { seconds: cost.seconds(), cpu_seconds: cost.cpu_seconds, bytes: cost.bytes() }
    }
}

/// A job: workers make stock, and run the job's partitions with it.
#[derive(Clone, Copy, Debug)]
pub struct Lanes {
    /// The number of parallel workers, each with a connection of its own.
    pub workers: u32,
    /// The number of partitions of the whole job.
    pub partitions: u32,
    /// The time for the stock of one worker's part.
    pub fill: Stretch,
    /// The time for a partition that runs from stock.
    pub run: Stretch,
    /// A piece of a worker's work, with the time that it takes on a link and a core of its own.
    pub retries: u32,
}

/// The resources that the workers share, and the rate of their failures.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Surroundings {
    /// Bits per second of all connections together, in both directions, if there is a limit.
    pub uplink: Option<f64>,
    /// The cores that all workers of both parties share, if there are fewer than they could use.
    pub cores: Option<f64>,
    /// Failures of one worker per hour, on average.
    pub failures_an_hour: f64,
    /// The variation of times: the standard deviation of the logarithm of a stretch's time.
    pub spread: f64,
}

/// The prediction of a job.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Makespan {
    /// Seconds from the beginning to the last output: half of all jobs take at most this time.
    pub p50_seconds: f64,
    /// The time within which 95 of 100 jobs end.
    pub p95_seconds: f64,
    /// The fraction of jobs that stop because more stocks are lost than may be made again.
    pub stopped: f64,
    /// The average number of partitions in doubt at the end: their worker was lost while they ran.
    pub in_doubt: f64,
}

/// The number of simulated jobs.
const SAMPLES: usize = 199;

impl Lanes {
    /// Returns the times of jobs in these surroundings. The result is the same each time, because the random
    /// numbers are the same.
    pub fn makespan(&self, surroundings: &Surroundings) -> Makespan {
        let mut draws = Draws(0x9e37_79b9_7f4a_7c15);
        let mut all: Vec<Simulated> =
            (0..SAMPLES).map(|_| Simulation::new(self, surroundings, &mut draws).end()).collect();
        all.sort_by(|a, b| a.seconds.total_cmp(&b.seconds));
        let at = |share: f64| all[((SAMPLES - 1) as f64 * share).round() as usize].seconds;
        let mean = |of: fn(&Simulated) -> f64| all.iter().map(of).sum::<f64>() / SAMPLES as f64;
        Makespan {
            p50_seconds: at(0.5),
            p95_seconds: at(0.95),
            stopped: mean(|one| f64::from(u8::from(one.stopped))),
            in_doubt: mean(|one| f64::from(one.in_doubt)),
        }
    }

    /// Returns the number of partitions for which each worker makes stock. All workers take equal parts.
    pub fn part(&self) -> u32 {
        self.partitions.div_ceil(self.workers.max(1))
    }
}

/// A job that has ended.
struct Simulated {
    seconds: f64,
    stopped: bool,
    in_doubt: u32,
}

/// A stretch that a worker is working on.
#[derive(Clone, Copy)]
struct Under {
    fills: bool,
    /// The bits and the CPU seconds that the stretch uses each second, if nothing slows it down.
    rates: [f64; 2],
    /// True if its worker is lost at its end.
    fails: bool,
}

/// A job that is being simulated. If a resource is scarce, all stretches slow down equally. So the ends of
/// stretches are times of a common clock, which slows down with them.
struct Simulation<'s> {
    lanes: &'s Lanes,
    surroundings: &'s Surroundings,
    draws: &'s mut Draws,
    now: f64,
    /// The common clock.
    slow: f64,
    demand: [f64; 2],
    /// For each worker, the time of the common clock when its stretch ends.
    ends: BinaryHeap<Reverse<(Instant, u32)>>,
    under: Vec<Under>,
    /// For each worker, the partitions for which its stock is still enough.
    stocked: Vec<u32>,
    /// Partitions that no worker has begun.
    waiting: u32,
    retries: u32,
    stopped: bool,
    in_doubt: u32,
}

/// A time that can be compared, because no simulated time is NaN.
#[derive(Clone, Copy, PartialEq)]
struct Instant(f64);

impl Eq for Instant {}

impl PartialOrd for Instant {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Instant {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0)
    }
}

impl<'s> Simulation<'s> {
    fn new(lanes: &'s Lanes, surroundings: &'s Surroundings, draws: &'s mut Draws) -> Self {
        let idle = Under { fills: true, rates: [0.0; 2], fails: false };
        let workers = lanes.workers.max(1);
        let mut simulation = Simulation {
            lanes,
            surroundings,
            draws,
            now: 0.0,
            slow: 0.0,
            demand: [0.0; 2],
            ends: BinaryHeap::new(),
            under: vec![idle; workers as usize],
            stocked: vec![0; workers as usize],
            waiting: lanes.partitions,
            retries: lanes.retries,
            stopped: false,
            in_doubt: 0,
        };
        (0..workers.min(lanes.partitions)).for_each(|worker| simulation.begin(worker, true));
        simulation
    }

    /// Returns the speed of all stretches, at most 1.
    fn pace(&self) -> f64 {
        let Surroundings { uplink, cores, .. } = self.surroundings;
        let limits = [uplink, cores].into_iter().zip(self.demand);
        let paces = limits.filter_map(|(limit, demand)| limit.filter(|l| demand > *l).map(|l| l / demand));
        paces.fold(1.0, f64::min)
    }

    fn begin(&mut self, worker: u32, fills: bool) {
        let Stretch { seconds, cpu_seconds, bytes } = if fills { self.lanes.fill } else { self.lanes.run };
        let seconds = (seconds * (self.surroundings.spread * self.draws.normal()).exp()).max(1e-9);
        // A worker fails at a random moment of its stretch.
        let until = self.draws.exponential() * 3600.0 / self.surroundings.failures_an_hour.max(1e-12);
        let fails = until < seconds;
        let under = Under { fills, rates: [8.0 * bytes as f64 / seconds, cpu_seconds / seconds], fails };
        self.demand.iter_mut().zip(under.rates).for_each(|(all, rate)| *all += rate);
        self.under[worker as usize] = under;
        self.ends.push(Reverse((Instant(self.slow + seconds.min(until)), worker)));
    }

    fn end(mut self) -> Simulated {
        while let Some(Reverse((Instant(at), worker))) = self.ends.pop() {
            self.now += (at - self.slow) / self.pace();
            self.slow = at;
            let Under { fills, rates, fails } = self.under[worker as usize];
            self.demand.iter_mut().zip(rates).for_each(|(all, rate)| *all = (*all - rate).max(0.0));
            if fails {
                // A partition that was running is in doubt, and is not run again. The worker's stock is lost.
                self.in_doubt += u32::from(!fills);
                self.stocked[worker as usize] = 0;
                if self.waiting > 0 {
                    match self.retries.checked_sub(1) {
                        Some(left) => {
                            self.retries = left;
                            self.begin(worker, true);
                        }
                        None => self.stopped = true,
                    }
                }
                continue;
            }
            if fills {
                self.stocked[worker as usize] = self.lanes.part();
            }
            let stock = &mut self.stocked[worker as usize];
            if self.waiting > 0 && *stock > 0 {
                *stock -= 1;
                self.waiting -= 1;
                self.begin(worker, false);
            }
        }
        let stopped = self.stopped && self.waiting > 0;
        Simulated { seconds: self.now, stopped, in_doubt: self.in_doubt }
    }
}

/// Pseudorandom numbers that are the same each time (SplitMix64).
struct Draws(u64);

impl Draws {
    /// Returns a number above 0, at most 1.
    fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.0;
        word = (word ^ word >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ word >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^= word >> 31;
        ((word >> 11) + 1) as f64 / (1u64 << 53) as f64
    }

    /// Returns an exponentially distributed number of mean 1.
    fn exponential(&mut self) -> f64 {
        -self.uniform().ln()
    }

    /// Returns a normally distributed number of mean 0 and deviation 1 (Box and Muller).
    fn normal(&mut self) -> f64 {
        (2.0 * self.exponential()).sqrt() * (std::f64::consts::TAU * self.uniform()).cos()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALONE: Surroundings =
        Surroundings { uplink: None, cores: None, failures_an_hour: 0.0, spread: 0.0 };

    fn lanes(workers: u32) -> Lanes {
        let fill = Stretch { seconds: 10.0, cpu_seconds: 8.0, bytes: 1_000_000 };
        let run = Stretch { seconds: 2.0, cpu_seconds: 1.0, bytes: 100_000 };
        Lanes { workers, partitions: 64, fill, run, retries: workers.div_ceil(4) }
    }

    fn seconds(workers: u32, surroundings: Surroundings) -> f64 {
        let makespan = lanes(workers).makespan(&surroundings);
        assert_eq!((makespan.stopped, makespan.in_doubt), (0.0, 0.0));
        makespan.p50_seconds
    }

    /// If equal workers share nothing, the time is a sum: a worker makes its stock, and then runs its part of
    /// the partitions.
    #[test]
    fn what_nothing_holds_up_is_a_sum() {
        for (workers, part) in [(1, 64), (2, 32), (5, 13), (64, 1), (100, 1)] {
            let all = seconds(workers, ALONE);
            assert!((all - (10.0 + 2.0 * f64::from(part))).abs() < 1e-6, "{workers}: {all}");
        }
    }

    /// All pieces of work together never use more of a resource than there is. They use all of it as long as
    /// all workers are busy.
    #[test]
    fn what_is_scarce_is_shared() {
        let cpu = 16.0 * 8.0 + 64.0;
        let of_cores = seconds(16, Surroundings { cores: Some(2.0), ..ALONE });
        assert!((of_cores - cpu / 2.0).abs() < 1e-6, "{of_cores}");
        let bits = 8.0 * (16.0 * 1e6 + 64.0 * 1e5);
        let of_line = seconds(16, Surroundings { uplink: Some(1e6), ..ALONE });
        assert!((of_line - bits / 1e6).abs() < 1e-6, "{of_line}");
        let both = Surroundings { uplink: Some(1e9), cores: Some(1e3), ..ALONE };
        assert_eq!(seconds(16, both), seconds(16, ALONE));
    }

    /// If times vary, the job takes as long as the slowest worker. The stock of a lost worker is made again,
    /// as often as this is allowed.
    #[test]
    fn chance_is_counted() {
        let spread = lanes(16).makespan(&Surroundings { spread: 0.2, ..ALONE });
        assert!(spread.p50_seconds > 18.0 && spread.p95_seconds > spread.p50_seconds, "{spread:?}");
        let lossy = Surroundings { failures_an_hour: 20.0, ..ALONE };
        let lost = lanes(16).makespan(&lossy);
        assert!(lost.in_doubt > 0.1 && lost.p95_seconds > 20.0, "{lost:?}");
        let none = Lanes { retries: 0, ..lanes(16) }.makespan(&lossy);
        assert!(none.stopped > 0.0 && none.stopped > lost.stopped, "{none:?}, {lost:?}");
        assert_eq!(lanes(16).makespan(&lossy), lost, "the same draws");
    }
}
