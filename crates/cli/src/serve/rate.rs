//! Limits on the rate of events.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// A limit that allows a number of events per second, and bursts of twice as many.
pub struct RateLimit(Mutex<(f64, Instant)>);

impl RateLimit {
    pub fn new() -> Self {
        RateLimit(Mutex::new((f64::INFINITY, Instant::now())))
    }

    /// Returns whether an event is allowed now, and counts it if it is.
    pub fn takes(&self, a_second: u32) -> bool {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (left, last) = *state;
        let left = (left + last.elapsed().as_secs_f64() * f64::from(a_second)).min(2.0 * f64::from(a_second));
        let passes = left >= 1.0;
        *state = (if passes { left - 1.0 } else { left }, Instant::now());
        passes
    }

    /// Waits until an event is allowed.
    pub fn wait(&self, a_second: u32) {
        while !self.takes(a_second) {
            std::thread::sleep(Duration::from_secs(1) / a_second);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_passes_and_a_flood_does_not() {
        let rate = RateLimit::new();
        let passed = (0..1000).filter(|_| rate.takes(10)).count();
        assert!((20..40).contains(&passed), "{passed}");
    }

    #[test]
    fn who_waits_passes_in_the_end() {
        let (rate, begun) = (RateLimit::new(), Instant::now());
        (0..300).for_each(|_| rate.wait(1000));
        assert!(begun.elapsed() < Duration::from_secs(30));
        // After a burst of twice the rate, each event must wait.
        (0..2000).for_each(|_| rate.wait(1000));
        assert!(begun.elapsed() >= Duration::from_millis(250));
    }
}
