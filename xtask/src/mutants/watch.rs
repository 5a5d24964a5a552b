//! Tells whether a running test still makes progress on a busy machine.

use std::time::{Duration, Instant};

/// The time between two looks at a running test.
pub const TICK: Duration = Duration::from_millis(10);
/// The limit of a test's work: this many ticks, or this many times its usual ticks.
const WORK: (u64, u64) = (1000, 10);
/// The limit of a pause in which no thread works: this many ticks, or this many times the usual pause.
const PAUSE: (u64, u64) = (300, 3);
/// If the time between two looks is longer, the machine was held up, and with it the tests.
const HELD_UP: Duration = Duration::from_secs(2);
/// A test may be slowed down by this much without reaching its own time limits, which are 60 s.
const SLOWED_DOWN: Duration = Duration::from_secs(50);

/// The cost of tests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TestCost {
    /// Ticks of CPU time, and ticks in which all threads slept.
    pub ticks: u64,
    /// Ticks of the longest pause.
    pub pause: u64,
}

impl std::iter::Sum for TestCost {
    fn sum<I: Iterator<Item = TestCost>>(costs: I) -> TestCost {
        costs.fold(TestCost::default(), |a, b| TestCost {
            ticks: a.ticks + b.ticks,
            pause: a.pause.max(b.pause),
        })
    }
}

/// A process under observation. Only its own work and sleep count, not the time in which other processes have
/// the processor.
pub struct WatchedProcess {
    process: u32,
    start: Instant,
    look: Instant,
    /// CPU time in ticks.
    worked: u64,
    slept: u64,
    pause: u64,
    longest: u64,
    disturbed: bool,
}

impl WatchedProcess {
    /// Begins to watch.
    pub fn new(process: u32) -> Self {
        let now = Instant::now();
        WatchedProcess {
            process,
            start: now,
            look: now,
            worked: 0,
            slept: 0,
            pause: 0,
            longest: 0,
            disturbed: false,
        }
    }

    /// Looks at the process; returns whether it has worked or paused for far too long, compared with its
    /// usual cost.
    pub fn hangs(&mut self, usual: TestCost) -> bool {
        self.disturbed |= self.look.elapsed() > HELD_UP;
        self.look = Instant::now();
        let Some(activity) = Activity::of(self.process) else { return false };
        self.disturbed |= activity.stopped;
        if activity.asleep && activity.worked == self.worked {
            self.slept += 1;
            self.pause += 1;
            self.longest = self.longest.max(self.pause);
        } else {
            self.pause = 0;
        }
        self.worked = activity.worked;
        self.worked + self.slept > WORK.0.max(usual.ticks.saturating_mul(WORK.1))
            || self.pause > PAUSE.0.max(usual.pause.saturating_mul(PAUSE.1))
    }

    /// Looks at the process without a decision.
    pub fn look(&mut self) {
        let _ = self.hangs(TestCost { ticks: u64::MAX, pause: u64::MAX });
    }

    /// Returns the ticks of CPU time at the last look.
    pub fn worked(&self) -> u64 {
        self.worked
    }

    /// Returns the cost of the process so far.
    pub fn cost(&self) -> TestCost {
        TestCost { ticks: (self.worked + self.slept).max(1), pause: self.longest }
    }

    /// Returns whether the machine may have caused a failure: the process was stopped, or had to wait long
    /// for a processor.
    pub fn disturbed(&self) -> bool {
        self.disturbed || self.start.elapsed() > TICK * self.cost().ticks as u32 + SLOWED_DOWN
    }
}

/// The current activity of a process.
struct Activity {
    /// The CPU time so far, in ticks.
    worked: u64,
    /// True if every thread sleeps.
    asleep: bool,
    /// True if the process is stopped.
    stopped: bool,
}

impl Activity {
    /// Reads the activity from Linux. On other systems every process counts as asleep, so that every look
    /// adds a tick.
    fn of(process: u32) -> Option<Activity> {
        if !cfg!(target_os = "linux") {
            return Some(Activity { worked: 0, asleep: true, stopped: false });
        }
        let about = |stat: String| -> Option<(String, u64)> {
            // The name before these fields is in brackets, and may contain any character.
            let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
            let time = |field: usize| fields.get(field)?.parse::<u64>().ok();
            Some(((*fields.first()?).to_owned(), time(11)? + time(12)?))
        };
        let folder = format!("/proc/{process}");
        // The kernel counts hundredths of a second, which are ticks here.
        let (_, worked) = about(std::fs::read_to_string(format!("{folder}/stat")).ok()?)?;
        let threads = std::fs::read_dir(format!("{folder}/task")).ok()?.flatten();
        let states = threads.filter_map(|t| about(std::fs::read_to_string(t.path().join("stat")).ok()?));
        let states: Vec<String> = states.map(|(state, _)| state).collect();
        let all = |letter: &str| !states.is_empty() && states.iter().all(|state| state == letter);
        Some(Activity { worked, asleep: all("S"), stopped: states.iter().any(|s| s == "T") })
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use std::process::{Child, Command};

    fn watched(script: &str, usual: TestCost) -> (Option<TestCost>, TestCost) {
        let mut child: Child = Command::new("sh").args(["-c", script]).spawn().expect("a shell");
        let mut watch = WatchedProcess::new(child.id());
        let hung = loop {
            if watch.hangs(usual) {
                child.kill().expect("it runs");
                child.wait().expect("it ends");
                break Some(watch.cost());
            }
            if child.try_wait().expect("it can be waited for").is_some() {
                break None;
            }
            std::thread::sleep(TICK);
        };
        (hung, watch.cost())
    }

    #[test]
    fn who_sleeps_for_ever_hangs() {
        let (hung, cost) = watched("exec sleep 0.3", TestCost::default());
        assert!(hung.is_none() && cost.pause > 0, "{cost:?}");
        let (hung, cost) = watched("exec sleep 1000", TestCost::default());
        assert!(hung.is_some() && cost.pause > PAUSE.0, "{cost:?}");
    }
}
