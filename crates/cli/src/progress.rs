//! Progress bars on stderr, if it is a terminal.

use std::time::Duration;

use brickwork::session::Observer;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Shows the running phase.
pub struct Bar {
    bar: ProgressBar,
}

impl Bar {
    /// A bar, or none if the user wants quiet or stderr is no terminal.
    pub fn new(quiet: bool) -> Self {
        let target = if quiet { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
        let bar = ProgressBar::with_draw_target(None, target);
        if !bar.is_hidden() {
            bar.enable_steady_tick(Duration::from_millis(200));
        }
        Bar { bar }
    }

    fn style(&self, template: &str) {
        // The templates are constants; without a style there is still a bar.
        if let Ok(style) = ProgressStyle::with_template(template) {
            self.bar.set_style(style);
        }
    }
}

impl Observer for Bar {
    fn phase(&mut self, name: &'static str) {
        self.bar.reset();
        self.bar.unset_length();
        self.style("{msg:10} {spinner} {elapsed}");
        self.bar.set_message(name);
    }

    fn progress(&mut self, done: u64, total: u64) {
        if total > 0 && self.bar.length() != Some(total) {
            self.bar.set_length(total);
            // What came before says nothing about the speed.
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
