//! A connection between two parties with stock, for each protocol that keeps stock. Stock is made over it,
//! and programs run on it one after another.

use std::sync::Arc;

use brickwork_circuit::Program;
use brickwork_protocol::PhaseReport;
use brickwork_protocol::steps::Step;
use brickwork_protocol::stock::{Lacking, Preprocessed};
use brickwork_wire::Channel;

use crate::cut::CutChoice;
use crate::engine::protocols::{self, played, says_nothing};
use crate::engine::request::Protocol;
pub use crate::engine::stocks::{FromStock, Requested, StockOptions, StockRequest, UngreetedConnection};
use crate::engine::stocks::{ProgramRun, StockLine, Stocks};
use crate::failure::Error;
use crate::program::repeated;

impl StockOptions {
    /// Refuses flags that have no effect in the protocol.
    ///
    /// # Errors
    /// A mistake of usage that names the flag; an error of usage if the protocol keeps no stock.
    pub fn check(&self) -> Result<(), Error> {
        let (played, stocks) = (played(self.protocol), stocks(self.protocol)?);
        let mut rows = stocks.without_effect(self);
        rows.push((
            self.security.is_some() && !stocks.has_levels(),
            "--security",
            "this protocol opens and checks nothing, so it has no bound 2^-S",
        ));
        rows.push((self.cot.is_some() && !played.has_cots(), "--cot", protocols::ONE_COT));
        rows.push((
            self.workers.is_some() && stocks.of_workers().is_none(),
            "--workers",
            "this protocol makes stock over one connection",
        ));
        says_nothing(self.protocol.name(), &rows)
    }
}

/// Returns the stock of a protocol.
///
/// # Errors
/// An error of usage if the protocol keeps no stock.
fn stocks(protocol: Protocol) -> Result<&'static dyn Stocks, Error> {
    let none = || {
        Error::usage(format!("{protocol} keeps no stock"), "take --protocol duplo, or leave the store out")
    };
    played(protocol).stocks().ok_or_else(none)
}

impl StockRequest {
    /// Returns the stock for these requests and options.
    ///
    /// # Errors
    /// As [`StockOptions::check`]; also if a file or a component does not exist, or too much stock is
    /// requested.
    pub fn of(requested: &[Requested], wishes: &StockOptions) -> Result<Self, Error> {
        wishes.check()?;
        if requested.is_empty() {
            let hint = "give --component FILE:NAME=COUNT, or a --list of them";
            return Err(Error::usage("the request names no component", hint));
        }
        if requested.iter().any(|requested| requested.count == 0) {
            let hint = "give how often each component will be used";
            return Err(Error::usage("a count must be at least 1", hint));
        }
        stocks(wishes.protocol)?.asked(requested, wishes)
    }
}

/// A connection between two parties with stock. After an error it cannot be used any more.
pub struct Stocked {
    protocol: Protocol,
    line: Box<dyn StockLine>,
}

/// The program of a run from stock.
pub enum StockedProgram<'a> {
    /// A step of a reactive session, which uses or keeps values of wires.
    Step(&'a Step),
    /// A program, with its number of executions.
    Program(&'a Arc<Program>, Option<u32>),
}

impl Stocked {
    /// Greets the peer and compares both stores.
    ///
    /// # Errors
    /// Those of the protocol; an error of usage if it keeps no stock.
    pub fn open(protocol: Protocol, opening: UngreetedConnection) -> Result<Self, Error> {
        protocols::warn(protocol);
        Ok(Stocked { protocol, line: stocks(protocol)?.open(opening)? })
    }

    /// Greets a peer with which this number of workers will make stock, and compares both stores.
    ///
    /// # Errors
    /// Those of the protocol; an error of usage if it has no workers.
    pub fn open_for_workers(
        protocol: Protocol,
        workers: usize,
        opening: UngreetedConnection,
    ) -> Result<Self, Error> {
        protocols::warn(protocol);
        let none = || {
            Error::usage(format!("stock of {protocol} is made over one connection"), "leave --workers out")
        };
        let open = stocks(protocol)?.of_workers().ok_or_else(none)?;
        Ok(Stocked { protocol, line: open(workers, opening)? })
    }

    /// Makes this stock with the peer, by one worker for each of these connections, and by makers of this
    /// party on the connections to them. Returns the time and the bytes of each phase, also by worker.
    ///
    /// # Errors
    /// Those of the protocol; an error of usage if it has no workers.
    pub fn make_by(
        self,
        asked: &StockRequest,
        workers: Vec<Channel>,
        makers: Vec<Channel>,
    ) -> Result<(Preprocessed, Vec<Vec<PhaseReport>>, Self), Error> {
        let ((done, phases), line) = self.line.make_by(asked, workers, makers)?;
        Ok((done, phases, Stocked { line, ..self }))
    }

    /// Makes this stock with the peer.
    ///
    /// # Errors
    /// Those of the protocol; an error of usage if the request is for another protocol.
    pub fn make(self, asked: &StockRequest) -> Result<(Preprocessed, Self), Error> {
        let (done, line) = self.line.make(asked)?;
        Ok((done, Stocked { line, ..self }))
    }

    /// Runs a program on stock. `input` has the bits of this party's inputs.
    ///
    /// # Errors
    /// Those of the protocol; an error of usage if the protocol has no steps that keep values.
    pub fn run(
        self,
        job: &StockedProgram,
        input: &[bool],
        lacking: Lacking,
    ) -> Result<(FromStock, Self), Error> {
        let played = played(self.protocol);
        let (done, line) = match job {
            StockedProgram::Step(step) if played.sessions().is_some() => {
                self.line.step(step, input, lacking)?
            }
            StockedProgram::Step(_) => {
                return Err(Error::usage(
                    format!("a session of {} carries nothing on, and keeps nothing", self.protocol),
                    "give --protocol duplo, or let both parties learn the intermediate values",
                ));
            }
            StockedProgram::Program(program, times) => {
                let program = &Arc::new(played.program(program, *times)?);
                let run = ProgramRun { program, executions: times.unwrap_or(1), cut: &CutChoice::Fastest };
                self.line.run(&run, input, lacking)?
            }
        };
        Ok((done, Stocked { line, ..self }))
    }

    /// Closes the connection. Returns the time and the bytes of each phase.
    ///
    /// # Errors
    /// If the peer went away.
    pub fn close(self) -> Result<Vec<PhaseReport>, Error> {
        Ok(self.line.close()?)
    }
}

impl StockedProgram<'_> {
    /// Returns the number of executions.
    pub(crate) fn executions(&self) -> u32 {
        match self {
            StockedProgram::Step(_) => 1,
            StockedProgram::Program(_, times) => times.unwrap_or(1),
        }
    }

    /// Returns the step; a program with all its executions is one step.
    pub(crate) fn step(&self) -> Result<Step, Error> {
        Ok(match self {
            StockedProgram::Step(step) => (*step).clone(),
            StockedProgram::Program(program, times) => (&Arc::new(repeated(program, *times)?)).into(),
        })
    }
}
