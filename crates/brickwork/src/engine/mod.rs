//! The engine decides everything between a request and a protocol's run. Commands, services and Python use
//! it.
//!
//! A [`request::RunRequest`] names the protocol and the resources of a run. [`work::PartyWork`] is a party's
//! part in the run, with its program. The protocol, found in [`protocols`], makes a party
//! [ready](protocols::PreparedRun). The parties compare their [`meeting::Sheet`]s, and the run gives a
//! [`protocols::RunResult`].

pub mod both;
pub mod cuts;
pub mod link;
pub mod machine;
pub mod meeting;
pub mod planning;
pub mod protocols;
pub mod recovery;
pub mod report;
pub mod request;
pub mod run;
pub mod sessions;
pub mod stocked;
pub mod stocks;
pub mod task;
pub mod ways;
pub mod work;

use brickwork_circuit::Party;
use brickwork_protocol::Observer;

/// Makes an observer of a run with these phases.
pub type Observe<'w> = dyn Fn(&'static [&'static str]) -> Box<dyn Observer> + 'w;

/// Returns the name of a role.
pub fn role(party: Party) -> &'static str {
    match party {
        Party::Garbler => "garbler",
        Party::Evaluator => "evaluator",
    }
}

/// Writes bytes as hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
