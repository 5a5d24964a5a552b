//! The scripts for making stock, and for runs from stock.

use brickwork_base::{Error, Security};
use brickwork_circuit::{Party, Program, Recipient};
use brickwork_plan::{Script, TOUCH};
use brickwork_primitives::cost::{DIGEST, LABEL, agree_to_add, agree_to_take, meet};
use brickwork_protocol::GREETING_BYTES;

use super::script::{ScriptWriter, used, width, wires};
use crate::instance::level;
use crate::memory;
use crate::parameters::{Parameters, stock_ot_binding};
use crate::request::Request;

use Party::{Evaluator, Garbler};

/// The bytes of the garbler's message after its greeting if it proposes no cut.
const NO_DECOMPOSITION: u64 = 32;

/// Adds the messages before the phases of a run from stock: greetings and the comparison of the stores.
fn begin(writer: &mut ScriptWriter, epochs: u64) {
    let hello = GREETING_BYTES as u64;
    meet(&mut writer.script, ([hello, NO_DECOMPOSITION], hello), epochs);
}

/// Adds a digest that both parties send at the same time.
fn both_say(script: &mut Script) {
    script.exchange([DIGEST], [DIGEST]);
}

/// Returns the request for this many runs of a program, made in one step.
///
/// # Errors
/// [`Error::Limit`] if this is too much for one step.
pub fn request(program: &Program, executions: u64) -> Result<Request, Error> {
    let times = |count: usize| {
        let all = (count as u64).checked_mul(executions);
        all.and_then(|all| usize::try_from(all).ok()).ok_or_else(|| {
            Error::Limit("the request is too large for one step; ask for fewer executions".into())
        })
    };
    let one = Request::of(program);
    let components = one.components.into_iter().map(|(component, slots)| Ok((component, times(slots)?)));
    Ok(Request {
        components: components.collect::<Result<_, Error>>()?,
        garbler_wires: times(one.garbler_wires)?,
        ots: Some(times(program.input_width(Evaluator))?),
    })
}

/// Returns the parameters of the stock for this many runs of a program, made in one step.
///
/// # Errors
/// As [`request`]; [`Error::Usage`] for a security other than 40, 64 or 80.
pub fn stock_parameters(program: &Program, executions: u64, security: Security) -> Result<Parameters, Error> {
    Parameters::for_stock(&request(program, executions)?, security)
}

/// Adds making the items of a step: components, authenticators and OTs. `binding` is the number of masking
/// OTs.
fn make(writer: &mut ScriptWriter, program: &Program, parameters: &Parameters, (own, binding): (u64, u64)) {
    writer.extend(own + binding);
    let copies = writer.commit_copies(program, parameters);
    let authenticators = writer.commit_authenticators(parameters);
    writer.commit(own + binding, true);
    writer.commit(own, false);
    let all = copies + authenticators + 2 * own + binding;
    writer.again(all);
    writer.prove(Some(all), None, None);
    writer.challenge(program, parameters, own + binding, binding);
    let of_copies = writer.open_copies(program, parameters);
    let of_authenticators = writer.open_authenticators(program, parameters);
    writer.again(all);
    writer.prove(None, None, Some(all.max(of_copies + of_authenticators + binding)));
}

/// Returns the scripts of workers, each on its own connection, that together make the stock for this many
/// runs of a program in one step.
///
/// # Errors
/// [`Error::Limit`] if this is too much for one step, [`Error::Usage`] for a security other than 40, 64 or
/// 80, or if a worker has no OTs to make.
pub fn scripts_of_workers(
    program: &Program,
    executions: u64,
    workers: usize,
    security: Security,
) -> Result<Vec<Script>, Error> {
    let shares = request(program, executions)?.shares(workers);
    let parameters = Parameters::for_steps(&shares, security)?;
    let binding = stock_ot_binding(security) as u64;
    let one = |(share, parameters): (&Request, &Parameters)| {
        let own = share.ots.ok_or_else(|| {
            Error::Usage("the request has too few OTs for so many workers; use fewer workers".into())
        })?;
        let mut writer = ScriptWriter::new(&level(security.level())?, 0, true);
        let hello = GREETING_BYTES as u64;
        writer.script.phase("setup");
        writer.script.exchange([hello, size_of::<u32>() as u64], [hello]);
        both_say(&mut writer.script); // step and worker
        make(&mut writer, program, parameters, (own as u64, binding));
        both_say(&mut writer.script); // the items are stored
        writer.beyond(parameters, &["preprocess", "prepare"]);
        let openings = parameters.openings_bytes(program.components().iter().map(|one| &*one.circuit));
        let mut script = writer.script;
        script.memory_bytes = memory::peaks(program, parameters);
        script.disk_bytes = [0, parameters.table_bytes(share) + openings];
        Ok(script)
    };
    shares.iter().zip(&parameters).map(one).collect()
}

/// Returns the script of two parties that meet with empty stores, and make the stock for this many runs of a
/// program in one step.
///
/// # Errors
/// [`Error::Limit`] if this is too much for one step, [`Error::Usage`] for a security other than 40, 64 or
/// 80.
pub fn script_of_filling(program: &Program, executions: u64, security: Security) -> Result<Script, Error> {
    let request = request(program, executions)?;
    let parameters = Parameters::for_stock(&request, security)?;
    let own = request.ots.unwrap_or(0) as u64;
    let binding = stock_ot_binding(security) as u64;
    // All items are written to segments on disk as they are made, so memory for tables is 0.
    let mut writer = ScriptWriter::new(&level(security.level())?, 0, true);
    begin(&mut writer, 0);
    agree_to_add(&mut writer.script);
    writer.setup(&[], None);
    writer.prove(Some(2), Some(1), Some(1));
    both_say(&mut writer.script); // the step begins
    both_say(&mut writer.script); // the parameters
    both_say(&mut writer.script); // the ranges are taken
    make(&mut writer, program, &parameters, (own, binding));
    both_say(&mut writer.script); // the items are stored
    both_say(&mut writer.script); // both parties have stored them
    writer.beyond(&parameters, &["setup", "preprocess", "prepare"]);
    let openings = parameters.openings_bytes(program.components().iter().map(|one| &*one.circuit));
    let mut script = writer.script;
    script.memory_bytes = memory::peaks(program, &parameters);
    script.disk_bytes = [0, parameters.table_bytes(&request) + openings];
    Ok(script)
}

/// Returns the script of a run whose components, authenticators and OTs are in stock. With `epochs`, the
/// parties meet for this run, and their stores share this many unused epochs; without it, their session
/// already exists. Buckets are assumed to be those of stock for this run alone.
///
/// # Errors
/// As [`script_of_filling`].
pub fn script_from_stock(
    program: &Program,
    epochs: Option<u64>,
    security: Security,
) -> Result<Script, Error> {
    let parameters = stock_parameters(program, 1, security)?;
    let (own, private) = (
        width(program, Evaluator),
        wires(program, |to| matches!(to, Recipient::Garbler | Recipient::Nobody)),
    );
    let mut writer = ScriptWriter::new(&level(security.level())?, 0, true);
    writer.spilled = used(program, &parameters).map(|_| true).collect();
    epochs.into_iter().for_each(|epochs| begin(&mut writer, epochs));
    agree_to_take(&mut writer.script, "build");
    // After the burn, the evaluator sends a digest of its log's last entry. The next message does not wait
    // for it.
    writer.script.message(Evaluator, DIGEST);
    let heads =
        used(program, &parameters).map(|(circuit, cut)| u64::from(cut.slots) * circuit.inputs() as u64);
    let heads = heads.sum::<u64>();
    writer.again(heads + 2 * own + width(program, Garbler));
    writer.script.phase("evaluate");
    writer.script.message(Evaluator, own.div_ceil(8));
    writer.script.message(Garbler, DIGEST);
    let solderings = writer.join(program, &parameters, private);
    writer.script.phase("evaluate");
    writer.script.work(Evaluator, &TOUCH, LABEL * program.wires() as u64, 1);
    writer.evaluate(program, &parameters, solderings);
    writer.decode(program, &parameters);
    writer.beyond(&parameters, &["build", "evaluate", "decode"]);
    let mut script = writer.script;
    script.memory_bytes = memory::peaks(program, &parameters);
    Ok(script)
}
