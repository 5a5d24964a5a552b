//! Components with authenticated masks, **malicious**: it holds against a party that cheats. Each component
//! is garbled once, and its masks are authenticated to both parties, so no copy is opened as a check. The
//! protocol follows Katz, Ranellucci, Rosulek and Wang (CRYPTO 2018). In addition, components are made before
//! the program is known, and are soldered into it. docs/protocols/authenticated.md has the argument.
//!
//! Each party has one offset. Only AND gates are garbled; XOR and negation are free. Both parties may have
//! inputs and outputs.
//!
//! ```text
//!        both    hello; base OTs each way, in which each party chooses by the bits of its offset
//!    1   both    OT extension: masks
//!    2   both    ciphertexts of leaky ANDs
//!    3   both    a bit of each leaky AND
//!    4   E -> G  a masked digest of the words of leaky ANDs, which must be equal
//!    5   G -> E  the answer; a coin
//!    6   E -> G  its answer and coin; openings for triples
//!    7   G -> E  openings for triples; tables; solderings; masks of the evaluator's inputs
//!    8   E -> G  masks of the garbler's inputs; masked inputs
//!    9   G -> E  labels of all inputs
//!   10   E -> G  masked values of all wires that have a mask, and a hash of their labels
//!   11   G -> E  the digest that shows all gates to be AND; masks of the evaluator's outputs
//!   12   E -> G  masks of the garbler's outputs
//! ```
//!
//! The functions [`garbler`] and [`evaluator`] are the whole protocol. The numbers beside their calls are
//! these crossings.
#![forbid(unsafe_code)]

#[cfg(any(test, feature = "adversary"))]
pub mod adversary;
mod buckets;
mod build;
mod cheat;
mod components;
pub mod cost;
mod decode;
mod equality;
mod evaluate;
mod hash;
mod hooks;
mod incoming;
mod keep;
mod layout;
mod leaky;
pub mod msg;
mod openings;
mod pads;
pub mod parameters;
mod preprocess;
mod report;
mod role;
mod secrets;
mod sessions;
mod setup;
mod share;
mod shelf;
mod stored;
#[cfg(test)]
mod tests;
mod walk;
mod words;

use brickwork_base::{Error, Party};
use brickwork_primitives::ot::Cot;
use brickwork_protocol::{AgreedJob, Digests, Metered, Observer, SessionProtocol};
use brickwork_wire::{Channel, Departures};

pub use cheat::Cheat;
use components::{Garbled, Received};
pub use cost::sent_bytes;
use hooks::Hooks;
use layout::{Layout, MakingPlan};
use report::report;
pub use report::{Authenticated, Report};
use role::Role as _;
pub use sessions::{Session, StepReport};
use setup::SessionState;
pub use stored::{FromStock, Lacking, Preprocessed, Request, Stocked, in_stock, stock_promise};

impl SessionProtocol for Authenticated {
    const NAME: &'static str = "authenticated";
    const CODE: [u8; 2] = *b"AU";
    const PHASES: &'static [&'static str] = &["setup", "preprocess", "build", "evaluate", "decode"];
    const DEPARTURES: [Departures; 2] = [
        Departures { input: &[msg::INPUT_LABELS], outputs: &[msg::OUTPUT_MASKS] },
        Departures { input: &[msg::MASKED_INPUTS], outputs: &[msg::OUTPUT_MASKS] },
    ];
    type Proposal = Cot;
    type Limits<'a> = Cot;
    type Aside = ();

    fn garbler(
        channel: Channel,
        job: &AgreedJob,
        &cot: &Cot,
        input: &[bool],
        observer: Box<dyn Observer>,
    ) -> Result<Report, Error> {
        garbler(channel, job, cot, input, observer)
    }

    fn evaluator(
        channel: Channel,
        job: &AgreedJob,
        &cot: &Cot,
        input: &[bool],
        observer: Box<dyn Observer>,
    ) -> Result<Report, Error> {
        evaluator(channel, job, cot, input, observer)
    }
}

/// Runs the protocol as the garbler. `input` holds the bits of its input ports. `cot` is the kind of OTs that
/// the masks come from; both parties must choose the same.
///
/// # Errors
/// [`Error::Mismatch`] if the peer runs something else, [`Error::Peer`] if it cheats, [`Error::Io`] if it
/// goes away. [`Error::Input`] if `input` has the wrong length or a gate cannot be masked. [`Error::Usage`]
/// for a security other than 40, 64 or 80.
pub fn garbler(
    channel: Channel,
    job: &AgreedJob,
    cot: Cot,
    input: &[bool],
    observer: impl Observer + 'static,
) -> Result<Report, Error> {
    garbler_with(channel, job, cot, input, Box::new(observer), Hooks::none())
}

fn garbler_with(
    channel: Channel,
    job: &AgreedJob,
    cot: Cot,
    input: &[bool],
    observer: Box<dyn Observer>,
    hooks: Hooks,
) -> Result<Report, Error> {
    let layout = Layout::new(&job.program)?;
    layout.takes(Party::Garbler, input)?;
    let making =
        MakingPlan::forced(&layout, job.security, cot, &hooks.settings().copied().unwrap_or_default())?;
    let run = Metered::new::<Authenticated>(channel, Party::Garbler, observer);
    let mut member = set_up(run, job, &making, hooks)?;
    let mut made = role::all(&mut member, &layout, &making, job.table_memory)?; // 1 to 7
    let (outputs, _) = Garbled::execute(&mut member, &layout, &mut made, input)?; // 7 to 12
    Ok(report(outputs, member.close()?, &layout, &making))
}

/// Runs the protocol as the evaluator, otherwise like [`garbler`].
///
/// # Errors
/// As [`garbler`].
pub fn evaluator(
    channel: Channel,
    job: &AgreedJob,
    cot: Cot,
    input: &[bool],
    observer: impl Observer + 'static,
) -> Result<Report, Error> {
    evaluator_with(channel, job, cot, input, Box::new(observer), Hooks::none())
}

fn evaluator_with(
    channel: Channel,
    job: &AgreedJob,
    cot: Cot,
    input: &[bool],
    observer: Box<dyn Observer>,
    hooks: Hooks,
) -> Result<Report, Error> {
    let layout = Layout::new(&job.program)?;
    layout.takes(Party::Evaluator, input)?;
    let making =
        MakingPlan::forced(&layout, job.security, cot, &hooks.settings().copied().unwrap_or_default())?;
    let run = Metered::new::<Authenticated>(channel, Party::Evaluator, observer);
    let mut member = set_up(run, job, &making, hooks)?;
    let mut made = role::all(&mut member, &layout, &making, job.table_memory)?; // 1 to 7
    let (outputs, _) = Received::execute(&mut member, &layout, &mut made, input)?; // 7 to 12
    Ok(report(outputs, member.close()?, &layout, &making))
}

fn set_up(run: Metered, job: &AgreedJob, making: &MakingPlan, hooks: Hooks) -> Result<SessionState, Error> {
    let digests = Digests { stock: false, program: making.digest(&job.program), parameters: [0; 32] };
    setup::member(run, &job.terms(), &digests, making.level, making.cot, hooks)
}
