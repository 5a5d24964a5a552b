//! Results, errors and progress in text and JSON.

pub mod appended;
pub mod failure;
pub mod log;
pub mod outcome;
pub mod progress;
pub mod report;
pub mod terminal;
pub mod trail;
pub mod versions;
