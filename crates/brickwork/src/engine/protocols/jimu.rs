//! JIMU in the engine: secure against a cheater. It puts AND gates into buckets, with one global offset, or
//! components, each with an offset of its own. A store may hold gates and components.

use brickwork_base::{Cheat, Error as ProtocolError};
use brickwork_circuit::{Party, Program};
use brickwork_duplo as duplo;
use brickwork_jimu::{self as jimu, Jimu, Lacking, Preprocessed, Stocked, Unit};
use brickwork_protocol::{Model, PhaseReport, Promise, SessionProtocol};
use brickwork_store::Store;

use super::seam::{EngineProtocol, Only, PreparedRun, ReadyParty, says_nothing};
use crate::cut::{Cut, CutChoice};
use crate::engine::request::{BucketChoice, RunRequest};
use crate::engine::stocks::{
    self, FromStock, NextState, OwnStore, ProgramRun, Requested, StockLine, StockOptions, StockRequest,
    Stocks, UngreetedConnection, WantedProgram, next, ran,
};
use crate::engine::work::{PartyWork, RunEstimate, fits_here};
use crate::failure::Error;
use crate::program::{fits, repeated};

/// Returns the unit of cut-and-choose that the user named, if any.
fn said(wish: &CutChoice) -> Option<Unit> {
    match wish {
        CutChoice::Fastest => None,
        CutChoice::Fixed(Cut::Gates) => Some(Unit::Gates),
        CutChoice::Fixed(_) => Some(Unit::Components),
    }
}

/// Returns the unit of cut-and-choose of a run: the named one, or the one that sends fewer bytes.
fn unit(wish: &CutChoice, program: &Program, security: u32) -> Result<Unit, Error> {
    said(wish).map_or_else(|| Ok(jimu::cost::choose(program, security)?), Ok)
}

/// Returns the cut of this unit.
fn cut_of(unit: Unit) -> Cut {
    match unit {
        Unit::Gates => Cut::Gates,
        Unit::Components => Cut::Given,
    }
}

/// Bytes of a gate in a program that is laid out gate by gate.
const BYTES_A_GATE: u64 = 32;

/// Refuses executions that do not fit into memory gate by gate.
fn gates_fit(program: &Program, executions: u32) -> Result<(), Error> {
    let gates = program.slots().map(|slot| program.component(slot.component).circuit.gate_count() as u64);
    fits(program, executions, BYTES_A_GATE * gates.sum::<u64>())
}

impl EngineProtocol for Jimu {
    fn model(&self) -> Model {
        Model::Malicious
    }

    fn checks(&self) -> Vec<Cheat> {
        jimu::Cheat::ALL.iter().map(|&check| check.into()).collect()
    }

    fn online_from(&self) -> &'static str {
        "prepare"
    }

    fn allows(&self, request: &RunRequest) -> Result<(), Error> {
        let parameters = &request.parameters;
        let nothing = [
            (
                parameters.commitments,
                "--commitments",
                "this protocol hashes wires instead of committing to them",
            ),
            (parameters.linking.is_some(), "--linking", "this protocol always solders wires"),
            (
                request.buckets == BucketChoice::Standard,
                "--buckets",
                "the program and the security determine the buckets of this protocol",
            ),
            (
                !matches!(request.cut, CutChoice::Fastest | CutChoice::Fixed(Cut::Given | Cut::Gates)),
                "--cut",
                "this protocol cuts by the components of the file (given) or by AND gates (gates)",
            ),
            (request.resources.lanes > 1, "--lanes", "this protocol uses one connection only"),
            (request.drawn, "--svg", "this protocol has no choice that a figure could show"),
        ];
        says_nothing(Jimu::NAME, &nothing)
    }

    fn only_way(
        &self,
        program: &Program,
        executions: u32,
        request: &RunRequest,
        estimate: &RunEstimate,
    ) -> Result<Option<Only>, Error> {
        if matches!(request.cut, CutChoice::Fastest | CutChoice::Fixed(Cut::Gates)) {
            gates_fit(program, executions)?;
        }
        let program = repeated(program, Some(executions))?;
        let security = request.parameters.security();
        let unit = unit(&request.cut, &program, security)?;
        let (cost, promise) =
            jimu::cost::predict(&program, unit, security, &estimate.machine, &estimate.link)?;
        Ok(Some(Only::new(cost, promise)))
    }

    fn only_way_from_stock(
        &self,
        program: &Program,
        executions: u32,
        request: &RunRequest,
        estimate: &RunEstimate,
    ) -> Result<Option<Only>, Error> {
        let unit = said(&request.cut).unwrap_or(Unit::Gates);
        if unit == Unit::Gates {
            gates_fit(program, executions)?;
        }
        let program = repeated(program, Some(executions))?;
        let security = request.parameters.security();
        let RunEstimate { machine, link, .. } = estimate;
        let cost = jimu::cost::predict_from_stock(&program, unit, 1, security, machine, link)?;
        Ok(Some(Only::new(cost, jimu::stock_promise(&program, unit, security)?)))
    }

    fn stocks(&self) -> Option<&dyn Stocks> {
        Some(self)
    }

    fn program(&self, given: &Program, executions: Option<u32>) -> Result<Program, Error> {
        repeated(given, executions)
    }

    fn ready<'w>(
        &self,
        work: &'w PartyWork<'w>,
        store: Option<Store>,
    ) -> Result<Box<dyn PreparedRun + 'w>, Error> {
        let RunEstimate { machine, link, .. } = RunEstimate::of(work.request)?;
        let (program, security) = (&work.job.program, work.job.security);
        let unit = match (&store, said(&work.request.cut)) {
            (None, _) => unit(&work.request.cut, program, security)?,
            (Some(_), Some(unit)) => unit,
            // So far this party has looked only at its own store. Both parties check again after they have
            // compared their stores.
            (Some(store), None) => {
                let components = Some(Unit::Components);
                match jimu::in_stock(store, work.party, &work.job.terms(), program, components)? {
                    true => Unit::Components,
                    false => Unit::Gates,
                }
            }
        };
        let (cost, _) = jimu::cost::predict(program, unit, security, &machine, &link)?;
        fits_here(&cost, work.party, work.request.resources.max_ram)?;
        // A run from stock has no predicted bytes, because they depend on what remains in the store.
        let predicted = store.is_none().then_some(cost);
        Ok(Box::new(ReadyParty::<Jimu, Unit> {
            work,
            proposal: unit,
            limits: unit,
            cut: cut_of(unit),
            executions: 1,
            predicted,
            recovered: |aside| aside.recovered,
            stock: store,
        }))
    }
}

impl Stocks for Jimu {
    fn has(
        &self,
        (store, party, terms): OwnStore,
        (program, _, cut): WantedProgram,
    ) -> Result<bool, ProtocolError> {
        jimu::in_stock(store, party, terms, program, said(cut))
    }

    fn without_effect(&self, wishes: &StockOptions) -> Vec<(bool, &'static str, &'static str)> {
        let cut = matches!(wishes.cut, Some(Cut::Whole | Cut::Flags { .. }));
        let why = "the stock of this protocol has the file's components (given) or AND gates (gates)";
        vec![(cut, "--cut", why), wishes.build_row()]
    }

    fn asked(&self, requested: &[Requested], wishes: &StockOptions) -> Result<StockRequest, Error> {
        let mut all = jimu::Request::default();
        for duplo::Request { components, ots, .. } in stocks::steps(requested, wishes)? {
            let mut more = jimu::Request { ots: ots.unwrap_or(0) as u64, ..Default::default() };
            for (component, count) in &components {
                match wishes.cut {
                    Some(Cut::Given) => more.add(component, *count as u64),
                    _ => more.gates += (component.circuit.and_gates() * count) as u64,
                }
            }
            all = all.and(&more)?;
        }
        for Requested { program, name, count, .. } in requested.iter().filter(|_| !wishes.no_inputs) {
            let executions = match name {
                None => *count as usize,
                Some(_) => executions_of(program, name.as_deref(), *count),
            };
            let inputs = program.input_width(Party::Garbler) as u64;
            let one = jimu::Request { inputs, ..Default::default() };
            all = all.and(&one.times(executions as u64)?)?;
        }
        match all.is_empty() {
            false => Ok(StockRequest::new(vec![format!("{all} for jimu runs")], all)),
            true => Err(stocks::without_gates()),
        }
    }

    fn open(&self, opening: UngreetedConnection) -> Result<Box<dyn StockLine>, ProtocolError> {
        let UngreetedConnection { party, channel, store, terms, watch, .. } = opening;
        Ok(Box::new(Stocked::open(party, channel, store, terms, watch(Jimu::PHASES))?))
    }
}

/// Returns the largest number of executions of a program for which `count` uses of a component are enough.
fn executions_of(program: &Program, name: Option<&str>, count: u32) -> usize {
    let slots = program.components().iter().zip(program.slots_by_component());
    let named = slots.filter(|(component, _)| name.is_none_or(|name| component.name == name));
    named.map(|(_, slots)| (count as usize).div_ceil(slots.max(1))).max().unwrap_or(0)
}

impl StockLine for Stocked {
    fn make(self: Box<Self>, asked: &StockRequest) -> NextState<Preprocessed> {
        next(self.preprocess(asked.items()?))
    }

    fn run(self: Box<Self>, run: &ProgramRun, input: &[bool], lacking: Lacking) -> NextState<FromStock> {
        ran(Stocked::run(*self, run.program, said(run.cut), input, lacking), |made| made.to_string())
    }

    fn cut(&self, promise: &Promise) -> Option<Cut> {
        Some(cut_of(Unit::of(promise)))
    }

    fn close(self: Box<Self>) -> Result<Vec<PhaseReport>, ProtocolError> {
        Stocked::close(*self)
    }
}
