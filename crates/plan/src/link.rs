//! The link between the parties.

use serde::{Deserialize, Serialize};

/// The link between the parties.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Link {
    /// Bits per second in each direction; if none, the link is as fast as the machine's loopback.
    pub bits_per_second: Option<f64>,
    /// The time of a message and its answer.
    pub rtt_seconds: f64,
    /// The number of connections that carry bulk data in parallel.
    pub lanes: u8,
}

impl Link {
    /// The link between two processes on one machine.
    pub const LOOPBACK: Link = Link { bits_per_second: None, rtt_seconds: 0.0, lanes: 1 };
}
