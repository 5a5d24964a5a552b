//! LEGO in the engine: secure against a cheater. It garbles AND gates that fit any program.

use brickwork_base::Error as ProtocolError;
use brickwork_circuit::{Party, Program};
use brickwork_lego::{self as lego, Lego, Stocked};
use brickwork_session::Observer;
use brickwork_session::{Model, Protocol, Terms};
use brickwork_stock::Store;
use brickwork_wire::Channel;

use super::seam::{Member, Only, Played, Ready, Take, Taken, says_nothing};
use crate::cut::{Cut, CutChoice};
use crate::engine::request::{Buckets, RunRequest};
use crate::engine::stocks::{Stocks, stocks};
use crate::engine::work::{Estimate, Work, fits_here};
use crate::failure::Error;
use crate::program::repeated;

impl Played for Lego {
    fn model(&self) -> Model {
        Model::Malicious
    }

    fn online_from(&self) -> &'static str {
        "evaluate"
    }

    fn allows(&self, request: &RunRequest) -> Result<(), Error> {
        let nothing = [
            (request.parameters.linking.is_some(), "--linking", "it solders wires that are committed to"),
            (
                request.buckets == Buckets::Standard,
                "--buckets",
                "its buckets are those with the fewest bytes",
            ),
            (
                !matches!(request.cut, CutChoice::Fastest | CutChoice::Fixed(Cut::Given)),
                "--cut",
                "every AND gate is garbled by itself, in whatever component it lies",
            ),
            (request.resources.lanes > 1, "--lanes", "it sends over one connection"),
            (request.drawn, "--svg", "there is nothing to choose"),
        ];
        says_nothing(Lego::NAME, &nothing)
    }

    fn only_way(
        &self,
        program: &Program,
        executions: u32,
        request: &RunRequest,
        estimate: &Estimate,
    ) -> Result<Option<Only>, Error> {
        let program = repeated(program, Some(executions))?;
        let parameters = lego::parameters(&program, request.parameters.security())?;
        let cost = lego::cost::predict(&program, &parameters, &estimate.machine, &estimate.link)?;
        Ok(Some(Only::new(cost, parameters.promise())))
    }

    fn only_way_from_stock(
        &self,
        program: &Program,
        executions: u32,
        request: &RunRequest,
        estimate: &Estimate,
    ) -> Result<Option<Only>, Error> {
        let program = repeated(program, Some(executions))?;
        let security = request.parameters.security();
        let Estimate { machine, link, .. } = estimate;
        let stock = lego::cost::Stock::Gates { epochs: 1 };
        let cost = lego::cost::predict_from_stock(&program, stock, security, machine, link)?;
        Ok(Some(Only::new(cost, lego::stock_promise(&program, security)?)))
    }

    fn stocks(&self) -> Option<&dyn Stocks> {
        Some(self)
    }

    fn program(&self, given: &Program, executions: Option<u32>) -> Result<Program, Error> {
        repeated(given, executions)
    }

    fn ready<'w>(&self, work: &'w Work<'w>, store: Option<Store>) -> Result<Box<dyn Ready + 'w>, Error> {
        let Estimate { machine, link, .. } = Estimate::of(work.request)?;
        let parameters = lego::parameters(&work.job.program, work.job.security)?;
        let cost = lego::cost::predict(&work.job.program, &parameters, &machine, &link)?;
        fits_here(&cost, work.party, work.request.resources.max_ram)?;
        // A run from stock has no predicted bytes, because they depend on what remains in the store.
        let predicted = store.is_none().then_some(cost);
        Ok(Box::new(Member::<Lego, ()> {
            work,
            proposal: parameters,
            limits: (),
            cut: Cut::Given,
            executions: 1,
            predicted,
            recovered: |aside| aside.recovered,
            stock: store.map(|store| (store, take as Take)),
        }))
    }
}

stocks!(Lego, lego, levels: true);

/// Runs a program on stock.
fn take(
    work: &Work,
    store: &Store,
    channel: Channel,
    input: &[bool],
    observer: Box<dyn Observer>,
) -> Result<Taken, ProtocolError> {
    let line = Stocked::open(work.party, channel, store, &work.job.terms(), observer)?;
    let (done, line) = line.run(&work.job.program, input, work.request.lacking)?;
    Ok(Taken {
        outputs: done.outputs,
        phases: line.close()?,
        promise: done.promise,
        recovered: done.recovered,
        made: done.made.map(|made| made.to_string()),
        cut: None,
    })
}
