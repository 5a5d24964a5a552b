//! Sessions in memory: all items for the steps are made at the beginning, and then the steps run one after
//! another. Values that a step keeps stay garbled, so that later steps can use them.
//!
//! A step consists of crossings 7 to 12, after both parties agreed on the step. The masks of its outputs are
//! sent only after its digest; no step opens a kept value. Every call consumes the session, so an error
//! destroys it with everything made under its offsets.

use brickwork_base::{Error, Party};
use brickwork_primitives::ot::Cot;
use brickwork_protocol::steps::{Secret, Step};
use brickwork_protocol::{Digests, Metered, Observer, PhaseReport, Promise, Terms, agree};
use brickwork_wire::Channel;

use crate::components::{Garbled, MadeComponents, Received};
use crate::hooks::Hooks;
use crate::layout::{Forced, Layout};
use crate::leaky::DrawnMasks;
use crate::parameters::{LotBudget, StatisticalLengths, TriplePool};
use crate::report::{Authenticated, promise_of};
use crate::role::Role;
use crate::setup::{self, SessionState};
use crate::shelf::ListPlace;
use crate::stored::{Filling, Request};

/// The number of openings of masks in all steps of a session. Each opening has a hash number of its own, of
/// which a session has 2^40.
const OPENINGS_OF_STEPS: u64 = 1 << 40;

/// The result of a step.
#[derive(Debug)]
pub struct StepReport {
    /// The bits of the outputs that this party learns, in the order of the ports.
    pub outputs: Vec<bool>,
    /// The values that no party learns, in the order of the program's outputs.
    pub kept: Vec<Secret>,
    /// The promise for all steps of the session together.
    pub promise: Promise,
}

/// A session of either party, between two steps.
pub struct Session(Of);

enum Of {
    Garbler(Box<Standing<Garbled>>),
    Evaluator(Box<Standing<Received>>),
}

struct Standing<C> {
    member: SessionState,
    made: MadeComponents<C>,
    cot: Cot,
    pools: Vec<TriplePool>,
    budget: LotBudget,
}

impl Session {
    /// Sets up a session, and makes all items that its steps may take. Masks come from OTs of the kind `cot`.
    ///
    /// # Errors
    /// [`Error::Mismatch`] if the peer wants something else, [`Error::Peer`] if it cheats, [`Error::Io`] if
    /// it goes away. [`Error::Input`] if a gate cannot be masked, [`Error::Usage`] for a security other than
    /// 40, 64 or 80.
    pub fn begin(
        party: Party,
        channel: Channel,
        terms: &Terms,
        cot: Cot,
        request: &Request,
        observer: impl Observer + 'static,
    ) -> Result<Self, Error> {
        Self::begin_with(party, channel, terms, cot, request, Box::new(observer), Hooks::none())
    }

    pub(super) fn begin_with(
        party: Party,
        channel: Channel,
        terms: &Terms,
        cot: Cot,
        request: &Request,
        observer: Box<dyn Observer>,
        hooks: Hooks,
    ) -> Result<Self, Error> {
        let run = Metered::new::<Authenticated>(channel, party, observer);
        Ok(Session(match party {
            Party::Garbler => Of::Garbler(Box::new(begin(run, terms, cot, request, hooks)?)),
            Party::Evaluator => Of::Evaluator(Box::new(begin(run, terms, cot, request, hooks)?)),
        }))
    }

    /// Runs a step, or a program as a step. `input` has this party's input bits. Returns the step's result,
    /// and the session for the next step.
    ///
    /// # Errors
    /// As [`Session::begin`]. [`Error::Mismatch`] if the peer runs another step, [`Error::Stock`] if too few
    /// items are left, [`Error::Input`] if `input` has the wrong length, [`Error::Usage`] if a kept value was
    /// forgotten or belongs to another session.
    pub fn run(self, step: impl Into<Step>, input: &[bool]) -> Result<(StepReport, Self), Error> {
        self.run_step(&step.into(), input)
    }

    fn run_step(self, step: &Step, input: &[bool]) -> Result<(StepReport, Self), Error> {
        match self.0 {
            Of::Garbler(mut standing) => Ok((standing.run(step, input)?, Session(Of::Garbler(standing)))),
            Of::Evaluator(mut standing) => Ok((standing.run(step, input)?, Session(Of::Evaluator(standing)))),
        }
    }

    /// Returns the secrets that the last step kept, in the order of its outputs.
    pub fn kept(&self) -> &[Secret] {
        match &self.0 {
            Of::Garbler(standing) => standing.member.keep.last(),
            Of::Evaluator(standing) => standing.member.keep.last(),
        }
    }

    /// Forgets a kept secret; no step can use it any more.
    pub fn forget(&mut self, secret: &Secret) {
        match &mut self.0 {
            Of::Garbler(standing) => standing.member.keep.forget(secret),
            Of::Evaluator(standing) => standing.member.keep.forget(secret),
        }
    }

    /// Ends the session. Returns the time and the bytes of each phase.
    ///
    /// # Errors
    /// [`Error::Io`] if the peer went away.
    pub fn close(self) -> Result<Vec<PhaseReport>, Error> {
        match self.0 {
            Of::Garbler(standing) => standing.member.close(),
            Of::Evaluator(standing) => standing.member.close(),
        }
    }
}

fn begin<C: Role>(
    run: Metered,
    terms: &Terms,
    cot: Cot,
    request: &Request,
    hooks: Hooks,
) -> Result<Standing<C>, Error> {
    let forced = hooks.settings().copied().unwrap_or_default();
    let level = forced.level_of(terms.security.whole()?)?;
    let steps = request.steps(level, &forced)?;
    let digests = Digests { stock: true, program: Filling::digest_of(&steps, cot), parameters: [0; 32] };
    let mut member = setup::member(run, terms, &digests, level, cot, hooks)?;
    member.run.phase("preprocess");
    let shelf = ListPlace::new(
        C::waiting(level.tag, request.counted(), request.inputs),
        terms.table_memory,
        &mut member.rng,
    )?;
    let mut made = MadeComponents::new(request.named(), request.inputs, shelf);
    let mut room = DrawnMasks::default();
    for step in &steps {
        C::make(&mut member, &step.lot, step.sizes, &mut room, &mut made)?;
    }
    // The evaluator must get the last tables now, because the garbler may begin its first step much later.
    member.run.channel.flush()?;
    let budget = promised(level, &steps, cot, &forced)?;
    let pools = steps.iter().map(|step| step.lot.pool).collect();
    Ok(Standing { member, made, cot, pools, budget })
}

/// Checks that the bound for all steps together is within the requested security, and returns it.
fn promised(
    level: StatisticalLengths,
    steps: &[Filling],
    cot: Cot,
    forced: &Forced,
) -> Result<LotBudget, Error> {
    let budget = LotBudget::of(level, steps.iter().map(|step| step.origin(cot)), OPENINGS_OF_STEPS);
    let small = forced.level.is_some() || forced.pool.is_some();
    match small || budget.log2() <= -f64::from(level.security) {
        true => Ok(budget),
        false => Err(Error::Limit(
            "the request exceeds the security bound of a session; ask for fewer items".into(),
        )),
    }
}

impl<C: Role> Standing<C> {
    fn run(&mut self, step: &Step, input: &[bool]) -> Result<StepReport, Error> {
        let Standing { member, made, cot, pools, budget } = self;
        let layout = Layout::of_step(step)?;
        layout.takes(C::ROLE, input)?;
        step.check_session(Some(&member.id))?;
        member.keep.check(step)?;
        made.suffices(&layout)?;
        member.run.phase("build");
        member.run.program();
        agree(
            &mut member.run.channel,
            &step.digest(),
            "the two parties run different steps of this session",
        )?;
        let (outputs, mut wires) = C::execute(member, &layout, made, input)?;
        member.keep_of(&layout, &mut wires)?;
        let promise = promise_of(&layout, member.level, *cot, budget, pools.iter().copied());
        Ok(StepReport { outputs, kept: member.keep.last().to_vec(), promise })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use brickwork_circuit::library;
    use brickwork_harness::stores::terms;
    use brickwork_protocol::Unobserved;
    use brickwork_wire::memory_pair;

    /// A file with all that waits for programs is as long as predicted, apart from the padding of its lists.
    #[test]
    fn files_are_as_long_as_predicted() {
        let mut request = Request { inputs: 512, ..Request::default() };
        library::millionaires().unwrap().components().iter().for_each(|one| request.add(one, 300));
        let terms = Terms { table_memory: 0, ..terms() };
        let (left, right) = memory_pair();
        let begin = |party, channel| {
            Session::begin(party, channel, &terms, Cot::default(), &request, Unobserved).unwrap()
        };
        let sessions = std::thread::scope(|scope| {
            let garbler = scope.spawn(|| begin(Party::Garbler, left));
            [begin(Party::Evaluator, right), garbler.join().unwrap()]
        });
        for session in sessions {
            let (written, predicted, lists) = match session.0 {
                Of::Garbler(standing) => written(&standing, &request),
                Of::Evaluator(standing) => written(&standing, &request),
            };
            assert!((predicted..predicted + 48 * lists).contains(&written), "{written}, not {predicted}");
        }
    }

    /// Returns the bytes in the file of a session, as they are and as predicted, and the most lists there.
    fn written<C: Role>(standing: &Standing<C>, request: &Request) -> (u64, u64, u64) {
        let Standing { member, made, .. } = standing;
        let predicted = C::waiting(member.level.tag, request.counted(), request.inputs);
        let parts = made.copies.iter().map(Vec::len).sum::<usize>();
        (made.shelf.written(), predicted, 8 * parts as u64)
    }
}
