//! Brickwork: two parties who do not trust each other compute a function of their private inputs, and neither
//! learns more than its own output, even if the other one cheats.
//!
//! # A first run
//!
//! ```
//! use brickwork::{Program, run_local};
//!
//! // Two 32-bit fortunes; both learn whether the garbler has more.
//! let program = Program::from_source(
//!     "richer.wir",
//!     "#parties 2\n#input 1 uint_t 32\n#input 2 uint_t 32\n#output 1 uint_t 1\n#output 2 uint_t 1\n\
//!      function void main() { output1 = input1 > input2; output2 = output1; }",
//! )?;
//! let [garbler, evaluator] = run_local(&program, ("input1", 1_250_000u32), ("input2", 1_000_000u32))?;
//! assert!(garbler.outputs.get::<bool>("output")? && evaluator.outputs.get::<bool>("output")?);
//! println!("{}", garbler.report.promise);
//! # Ok::<(), brickwork::Error>(())
//! ```
//!
//! # Where to begin
//!
//! The folder `examples` of this crate has a short program for each of these tasks:
//!
//! | task | item | example |
//! | --- | --- | --- |
//! | Run both parties in one process. | [`run_local`] | `both_here` |
//! | Run each party in a process of its own, with keys. | [`Party`], [`Identity`] | `two_processes` |
//! | Take tables as inputs. | [`Inputs`], [`Outputs`] | `tables` |
//! | Make stock before the program runs. | [`Store`], [`Party::store`] | `stock_ahead` |
//! | Let a later step depend on an earlier one. | [`Session`] | `session` |
//! | Bring a connection of your own. | [`Party::over`] | `own_transport` |
//!
//! [`Plan`] predicts a run, and [`Report`] describes one that has ended.
//!
//! # How a run works
//!
//! The *garbler* encrypts circuits, and the *evaluator* computes on the encrypted circuits without learning
//! the values. A cheating garbler would garble another function. Therefore it garbles many copies of
//! *components*: the evaluator opens and checks some of them and puts the others into *buckets*. A bucket is
//! correct if at least one of its copies is correct. Then the buckets are *soldered* together into a program.
//!
//! | step | module |
//! | --- | --- |
//! | A function becomes a [`Program`](circuit::Program): components, slots, solderings. | [`circuit`] |
//! | Copies of a component are garbled side by side. | [`garbling`] |
//! | The garbler commits to every label at a component's border; differences are opened later. | [`commit`] |
//! | How many copies, how many opened, how sure that is. | [`cut_and_choose`] |
//! | Which labels are valid, and what gives a cheater's input away. | [`authenticator`] |
//! | A label of one wire becomes a label of another. | [`solder`] |
//! | The evaluator's input bits choose labels, unseen. | [`ot`] |
//! | **The whole protocol, phase by phase.** | [`duplo`] |
//! | What the parties agree on and what a run reports. | [`protocol`] |
//! | What a run will cost. | [`plan`] |
//! | Frames, TLS, lanes. | [`wire`] |
//!
//! # Errors
//!
//! Every mistake of a peer, a file or a user is an [`Error`]. Each check of the protocol that a peer can fail
//! has its own variant of [`Cheat`]. A party that detects a cheat sends nothing more and closes the
//! connection.
#![forbid(unsafe_code)]

/// True if this build has the feature `adversary`, with hooks that let a test cheat. Released commands are
/// built without it.
pub const HAS_HOOKS: bool = brickwork_primitives::hooks::HAVE_EFFECT;

/// The crates behind this library: protocols, primitives, connections, stores. They serve research and the
/// project's own programs, and may change in any release.
pub mod unstable {
    pub use brickwork_authenticated as authenticated;
    #[doc(hidden)]
    pub use brickwork_base::quota;
    pub use brickwork_base::{
        Cheat, Error as ProtocolError, Malformed, Security, at_most, bits, error, label, pool, private,
        process, random, stop,
    };
    pub use brickwork_circuit as circuit;
    pub use brickwork_compgc as compgc;
    pub use brickwork_duplo as duplo;
    pub use brickwork_jimu as jimu;
    pub use brickwork_justgarble as justgarble;
    pub use brickwork_lego as lego;
    pub use brickwork_primitives::{authenticator, commit, cut_and_choose, garbling, ihash, ot, solder};
    pub use brickwork_protocol as protocol;
    pub use brickwork_semi_honest as semi_honest;
    pub use brickwork_store as disk;
    pub use brickwork_wire as wire;
}

#[doc(hidden)]
pub use unstable::*;

#[doc(hidden)]
pub mod checks;
#[doc(hidden)]
pub mod compile;
#[doc(hidden)]
pub mod control;
pub mod cut;
#[doc(hidden)]
pub mod damage;
#[doc(hidden)]
pub mod description;
#[doc(hidden)]
pub mod doctor;
#[doc(hidden)]
pub mod engine;
#[doc(hidden)]
pub mod examples;
mod failure;
#[doc(hidden)]
pub mod files;
#[doc(hidden)]
pub mod inventory;
pub mod jobs;
#[doc(hidden)]
pub mod keygen;
#[doc(hidden)]
pub mod maker;
#[doc(hidden)]
pub mod options;
#[doc(hidden)]
pub mod page;
#[doc(hidden)]
pub mod parse_errors;
mod party;
mod prediction;
#[doc(hidden)]
pub mod preprocess;
pub mod program;
#[doc(hidden)]
pub mod reading;
pub mod resources;
mod steps;
mod store;
pub mod system;
mod traced;
#[doc(hidden)]
pub mod upkeep;
mod values;

pub use brickwork_protocol::Promise;
pub use brickwork_wire::tls::{Identity, PublicKey};
pub use disk::{Store, StoreKey};
pub use engine::report::Report;
pub use engine::request::{LinkSpeed, Protocol};
pub use failure::{Error, ErrorKind};
pub use party::{Party, Run, run_local};
pub use prediction::Plan;
pub use program::{Program, SourceOptions};
pub use steps::{KeptValue, Session, StepRun};
pub use store::StoreRequest;
pub use values::{Inputs, Outputs, Value};

/// Predicts the cost of a run: the constants of the machine and the network, the predicted time, and each
/// kind of work in this workspace. Each protocol has its own cost script, such as [`duplo::cost`].
pub mod plan {
    use super::ProtocolError as Error;
    use brickwork_authenticated::Authenticated;
    use brickwork_compgc::CompGc;
    use brickwork_duplo::Duplo;
    use brickwork_jimu::Jimu;
    use brickwork_lego::Lego;
    pub use brickwork_plan::*;
    use brickwork_primitives::cost::{Primitives, probe};
    pub use brickwork_primitives::spill::check_room as check_temporary_files;
    use brickwork_semi_honest::SemiHonest;

    /// The crates whose kinds of work are measured on a machine. The registry cannot list them, because its
    /// protocols use this module.
    const PARTS: [&dyn Measure; 7] =
        [&Primitives, &Duplo, &Authenticated, &SemiHonest, &CompGc, &Jimu, &Lego];

    /// Measures this machine, for all protocols; takes a few seconds.
    ///
    /// # Errors
    /// [`Error::Resource`] if threads or randomness are missing, [`Error::Io`] if loopback connections are.
    pub fn measured() -> Result<Machine, Error> {
        measure(probe, &PARTS)
    }

    /// Estimates this machine by scaling the constants of another machine. A probe of a few milliseconds
    /// gives the scale. This is good enough to compare cuts and buckets.
    ///
    /// # Errors
    /// [`Error::Resource`] if randomness is missing.
    pub fn estimated() -> Result<Machine, Error> {
        Ok(Machine::estimated(probe()?))
    }

    /// Returns the constants of a reference machine with this kernel. It has a constant for each kind of
    /// work. Tests use it because it needs no measurement.
    pub fn known(kernel: &str, threads: u32) -> Machine {
        let machine = Machine::known(kernel, threads);
        let mut seconds = MeasuredWork::default();
        for work in PARTS.iter().flat_map(|part| part.kinds()) {
            seconds.set(work, machine.usual_seconds(work));
        }
        machine.with(seconds)
    }

    /// Returns whether a machine has all constants with sensible values. A file may lack some.
    pub fn is_whole(machine: &Machine) -> bool {
        machine.is_sound() && PARTS.iter().all(|part| machine.has(part.kinds().iter().copied()))
    }
}
