//! Progress bars on stderr, if it is a terminal.

use std::cell::RefCell;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use brickwork::session::Observer;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// The progress of a run, which another thread can read.
#[derive(Debug, Default)]
pub struct Progress(Mutex<(&'static str, u64, u64)>);

thread_local! {
    /// The observer of this thread's work.
    static SEEN: RefCell<Option<Arc<Progress>>> = const { RefCell::new(None) };
}

impl Progress {
    /// Returns the phase, the bytes that have passed, and their expected total.
    pub fn now(&self) -> (&'static str, u64, u64) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls `work`; progress bars that it makes on this thread also report here.
    pub(crate) fn enter<T>(self: &Arc<Self>, work: impl FnOnce() -> T) -> T {
        /// Restores the previous observer, even if `work` is stopped.
        struct Back(Option<Arc<Progress>>);
        impl Drop for Back {
            fn drop(&mut self) {
                SEEN.set(self.0.take());
            }
        }
        let _back = Back(SEEN.replace(Some(self.clone())));
        work()
    }

    fn set(&self, change: impl FnOnce(&mut (&'static str, u64, u64))) {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

/// Returns a function that makes bars, which are hidden with `--quiet`.
pub fn watch(quiet: bool) -> impl Fn(&'static [&'static str]) -> Box<dyn Observer> {
    move |phases| Box::new(Bar::new(phases, quiet))
}

/// Shows the running phase.
pub struct Bar {
    bar: ProgressBar,
    /// The phases of the protocol, in their order.
    phases: &'static [&'static str],
    far: Far,
    seen: Option<Arc<Progress>>,
}

/// The displayed progress of a run. A run alternates between phases, because they share flights. But the
/// displayed progress never goes back.
#[derive(Default)]
struct Far {
    /// The index of the furthest phase so far, counted from 1.
    phase: usize,
    /// Bytes that have passed, and their expected total.
    bytes: (u64, u64),
}

impl Far {
    /// Returns whether this phase comes after all phases so far.
    fn enters(&mut self, phases: &[&str], name: &str) -> bool {
        let place = phases.iter().position(|phase| *phase == name).map_or(0, |place| place + 1);
        let further = place > self.phase;
        self.phase = self.phase.max(place);
        further
    }

    /// Returns the bytes to display. More bytes may pass than were announced, but the display never exceeds
    /// the total.
    fn passes(&mut self, done: u64, total: u64) -> (u64, u64) {
        let (before, all) = self.bytes;
        self.bytes = (before.max(done), all.max(total).max(done));
        self.bytes
    }
}

impl Bar {
    /// Makes a bar for a protocol with these phases, hidden with `--quiet` or if stderr is no terminal.
    pub fn new(phases: &'static [&'static str], quiet: bool) -> Self {
        let target = if quiet { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
        let bar = ProgressBar::with_draw_target(None, target);
        if !bar.is_hidden() {
            bar.enable_steady_tick(Duration::from_millis(200));
        }
        let seen = SEEN.with_borrow(Clone::clone);
        let bar = Bar { bar, phases, far: Far::default(), seen };
        bar.style("{msg:10} {spinner} {elapsed}");
        bar
    }

    fn style(&self, template: &str) {
        // The templates are constants. If one is invalid, the bar has the default style.
        if let Ok(style) = ProgressStyle::with_template(template) {
            self.bar.set_style(style);
        }
    }
}

impl Observer for Bar {
    fn phase(&mut self, name: &'static str) {
        if self.far.enters(self.phases, name) {
            self.bar.set_message(name);
            self.seen.iter().for_each(|seen| seen.set(|far| far.0 = name));
        }
    }

    fn progress(&mut self, done: u64, total: u64) {
        let (done, total) = self.far.passes(done, total);
        if total > 0 && self.bar.length() != Some(total) {
            self.bar.set_length(total);
            // The speed of earlier phases would make the estimate wrong.
            self.bar.reset_eta();
            self.style("{msg:10} {bar:30} {binary_bytes}/{binary_total_bytes}, {eta} left");
        }
        self.bar.set_position(done);
        self.seen.iter().for_each(|seen| seen.set(|far| (far.1, far.2) = (done, total)));
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

#[cfg(test)]
mod tests {
    use brickwork::duplo::Duplo;
    use brickwork::session::Protocol as _;

    use super::*;

    /// The bar gets the progress of a real run, and never goes back.
    #[test]
    fn a_bar_runs_forward_only() {
        let mut bar = Bar::new(Duplo::PHASES, true);
        let mut shown = Vec::new();
        let mut see = |bar: &Bar| shown.push((bar.bar.position(), bar.bar.length(), bar.bar.message()));
        for (phase, steps) in [
            ("setup", &[][..]),
            ("preprocess", &[]),
            ("setup", &[]),
            ("prepare", &[]),
            ("preprocess", &[(10, 40), (20, 40), (30, 40), (25, 30), (40, 40)]),
            ("prepare", &[]),
            ("evaluate", &[]),
            ("build", &[]),
            ("decode", &[]),
        ] {
            bar.phase(phase);
            see(&bar);
            for (done, total) in steps {
                bar.progress(*done, *total);
                see(&bar);
            }
        }
        let order = |message: &str| Duplo::PHASES.iter().position(|phase| *phase == message);
        for pair in shown.windows(2) {
            assert!(pair[0].0 <= pair[1].0 && pair[0].1 <= pair[1].1, "{pair:?}");
            assert!(order(&pair[0].2) <= order(&pair[1].2), "{pair:?}");
        }
        assert_eq!(shown.last(), Some(&(40, Some(40), "decode".to_owned())));
    }
}
