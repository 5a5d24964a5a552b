//! A limit on the number of events in a time span, and a count of the events beyond it.

use std::time::{Duration, Instant};

/// A limit of events per time span, for log lines that another party can cause. A span begins with its first
/// event.
#[derive(Debug)]
pub struct Quota {
    most: u32,
    span: Duration,
    /// The time when the current span began, if there is one.
    begun: Option<Instant>,
    taken: u32,
    left_out: u64,
}

impl Quota {
    /// Makes a quota of `most` events in each `span`.
    pub fn new(most: u32, span: Duration) -> Self {
        Quota { most, span, begun: None, taken: 0, left_out: 0 }
    }

    fn is_over(&self, now: Instant) -> bool {
        self.begun.is_some_and(|begun| now.saturating_duration_since(begun) >= self.span)
    }

    /// Returns whether one more event is allowed at this time. An event that is not allowed is counted.
    pub fn takes(&mut self, now: Instant) -> bool {
        if self.begun.is_none() || self.left_out == 0 && self.is_over(now) {
            (self.begun, self.taken) = (Some(now), 0);
        }
        let passes = self.taken < self.most;
        match passes {
            true => self.taken += 1,
            false => self.left_out += 1,
        }
        passes
    }

    /// Returns the number of events that were not allowed in the span that has ended at this time, if there
    /// were any. The next span can begin after this.
    pub fn left_out(&mut self, now: Instant) -> Option<u64> {
        if !self.is_over(now) || self.left_out == 0 {
            return None;
        }
        self.begun = None;
        Some(std::mem::take(&mut self.left_out))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_pass_is_counted() {
        let (span, start) = (Duration::from_secs(60), Instant::now());
        let mut quota = Quota::new(2, span);
        let passed = (0..1000).filter(|i| quota.takes(start + Duration::from_millis(*i))).count();
        assert_eq!(passed, 2);
        assert_eq!(quota.left_out(start + span / 2), None, "the span is not over");
        assert_eq!(quota.left_out(start + span), Some(998));
        assert_eq!(quota.left_out(start + span), None, "the count is reported once");
        assert!(quota.takes(start + span) && quota.takes(start + span) && !quota.takes(start + span));
        // Nobody has requested the count yet, so no new span begins.
        assert!(!quota.takes(start + 3 * span));
        assert_eq!(quota.left_out(start + 3 * span), Some(2));
        assert!(quota.takes(start + 3 * span));
        // A span in which all events were allowed ends by itself.
        assert!(quota.takes(start + 3 * span) && quota.takes(start + 5 * span));
    }
}
