//! The link between the parties.

use serde::{Deserialize, Serialize};

/// The link between the parties.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Link {
    /// In each direction; none is as fast as the machine's own loopback.
    pub bits_per_second: Option<f64>,
    /// Of a message there and back.
    pub rtt_seconds: f64,
    /// Connections that carry bulk data in parallel.
    pub lanes: u8,
}

impl Link {
    /// Two processes of one machine.
    pub const LOOPBACK: Link = Link { bits_per_second: None, rtt_seconds: 0.0, lanes: 1 };
}
