//! Processes that are killed at the end of the test that started them.

use std::ops::{Deref, DerefMut};
use std::process::{Command, Output};

/// A process that is killed and awaited when it is dropped, so a failing test leaves no process.
pub struct Child(Option<std::process::Child>);

impl Child {
    /// Starts a process.
    pub fn spawn(command: &mut Command) -> Child {
        Child(Some(command.spawn().expect("the command starts")))
    }

    /// Waits for the end, and returns the output.
    pub fn wait_with_output(mut self) -> Output {
        let child = self.0.take().expect("only here is it taken");
        child.wait_with_output().expect("the command ends")
    }
}

impl Deref for Child {
    type Target = std::process::Child;

    fn deref(&self) -> &std::process::Child {
        self.0.as_ref().expect("it is taken where this ends")
    }
}

impl DerefMut for Child {
    fn deref_mut(&mut self) -> &mut std::process::Child {
        self.0.as_mut().expect("it is taken where this ends")
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        if let Some(mut child) = self.0.take() {
            // The process may have ended by itself.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
