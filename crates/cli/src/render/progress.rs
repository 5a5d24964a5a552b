//! Progress bars on stderr, if it is a terminal.

use std::time::Duration;

use brickwork::control::Furthest;
use brickwork::protocol::Observer;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::render::terminal;

/// Returns a function that makes bars, which are hidden with `--quiet`.
pub fn watch(quiet: bool) -> impl Fn(&'static [&'static str]) -> Box<dyn Observer> {
    move |phases| Box::new(Bar::new(phases, quiet))
}

/// Shows the running phase.
pub struct Bar {
    bar: ProgressBar,
    furthest: Furthest,
}

impl Bar {
    /// Makes a bar for a protocol with these phases, hidden with `--quiet`, or if stderr is no
    /// terminal or gets JSON.
    pub fn new(phases: &'static [&'static str], quiet: bool) -> Self {
        let target = if quiet || terminal::is_json() {
            ProgressDrawTarget::hidden()
        } else {
            ProgressDrawTarget::stderr()
        };
        let bar = ProgressBar::with_draw_target(None, target);
        if !bar.is_hidden() {
            bar.enable_steady_tick(Duration::from_millis(200));
        }
        let bar = Bar { bar, furthest: Furthest::new(phases) };
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
        if self.furthest.enters(name) {
            self.bar.set_message(name);
        }
    }

    fn progress(&mut self, done: u64, total: u64) {
        let (done, total) = self.furthest.passes(done, total);
        if total > 0 && self.bar.length() != Some(total) {
            self.bar.set_length(total);
            // The speed of earlier phases would make the estimate wrong.
            self.bar.reset_eta();
            self.style("{msg:10} {bar:30} {binary_bytes}/{binary_total_bytes}, {eta} left");
        }
        self.bar.set_position(done);
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
    use brickwork::protocol::SessionProtocol as _;

    use super::*;

    /// A bar shows the progress of a real run, and never goes back.
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
