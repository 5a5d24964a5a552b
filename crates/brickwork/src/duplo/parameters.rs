//! The parameters of a session: everything that may fail, and how unlikely that is made.

use std::collections::HashSet;

use super::stock::{Origin, Request};
use crate::Error;
use crate::circuit::{Circuit, Program};
use crate::commit::code::Code;
use crate::cut_and_choose::{BatchSpec, Budget, Cut, Kind, Upper};
use crate::ot::extension;
use crate::session::{BatchReport, SecurityReport};

/// Bits by which the checks that cost next to nothing exceed s.
const MARGIN: u32 = 8;

/// Combinations of a batched check; each false claim survives one with probability 1/2.
const COMBINATIONS: f64 = 128.0;

/// The share of the budget that one preprocessing for the stock may spend: a program may draw on four of them.
const STOCK_SHARE: f64 = 0.25;

const NO_CUT: Cut = Cut { slots: 0, bucket: 1, opened: 0 };

pub(super) const KEY_AUTHENTICATORS: &str = "key authenticators";
pub(super) const INPUT_AUTHENTICATORS: &str = "input authenticators";

/// Proofs of a run: of all commitments, of all that is opened and joined, of inputs and outputs. What one lets through is bounded
/// in docs/security.md.
const PROOFS: f64 = 3.0;

/// Proofs of a session with stock, and OT extensions likewise: more than it will ever come to.
const STOCK_PROOFS: f64 = (1 << 20) as f64;

/// OTs that bind Δ_ot to its commitment, in each of the OTs' batches.
pub(super) fn ot_binding(security: u32) -> usize {
    (security + MARGIN) as usize
}

pub(super) fn code(security: u32) -> Result<&'static Code, Error> {
    Code::for_security(security).ok_or_else(|| Error::Usage(format!("a security of {security} bits is not offered; choose 40, 64 or 80")))
}

/// The budget with everything that may fail in a session besides the batches.
fn checks(security: u32, proofs: f64, extensions: f64) -> Result<Budget, Error> {
    let code = code(security)?;
    Ok(Budget::new(security)
        .with_check("binding of the commitments", -f64::from(code.distance()))
        .with_check("random combinations", (proofs * f64::from(4 * code.distance() + code.length() as u32)).log2() - COMBINATIONS)
        .with_check("binding of the OT offset", -(ot_binding(security) as f64))
        .with_check("OT extension", extension::CHECK_LOG2 + extensions.log2()))
}

/// What a program from stock is promised: the bound over the batches that it takes from, with all of each batch counted.
///
/// # Errors
/// [`Error::Stock`] if together they exceed the budget.
pub(super) fn report_of_parts(origins: &[(String, Origin)], security: u32) -> Result<SecurityReport, Error> {
    let mut spent: Upper = checks(security, STOCK_PROOFS, STOCK_PROOFS)?.checks().iter().map(|check| check.1).sum();
    let mut seen = HashSet::new();
    for (_, origin) in origins {
        if seen.insert(origin.serial) {
            spent = spent + origin.cut.bound(origin.kind.rule());
        }
    }
    if spent.log2() > -f64::from(security) {
        return Err(Error::Stock(format!(
            "the program would draw on so many batches that only 2^{:.2} remains of 2^-{security}; preprocess what it needs in one go",
            spent.log2()
        )));
    }
    let mut report = Parameters {
        security,
        components: Vec::new(),
        plain: NO_CUT,
        input: NO_CUT,
        ot_binding: ot_binding(security),
        bound_log2: spent.log2(),
    }
    .report_of(Vec::new());
    for (name, origin) in origins {
        let batch = batch_report(name, &origin.cut);
        match origin.kind {
            Kind::Component => report.components.push(batch),
            Kind::KeyAuthenticator => report.key_authenticators = batch,
            Kind::InputAuthenticator => report.input_authenticators = batch,
        }
    }
    Ok(report)
}

/// What both parties must agree on besides the program.
#[derive(Clone, Debug)]
pub struct Parameters {
    /// s.
    pub security: u32,
    /// Cut-and-choose of each component of the program, in order; without slots where it is not used.
    pub components: Vec<Cut>,
    /// Of the plain key authenticators.
    pub plain: Cut,
    /// Of the self-authenticating ones.
    pub input: Cut,
    /// OTs that bind Δ_ot to its commitment.
    pub ot_binding: usize,
    /// Base-2 logarithm of the bound on everything together.
    pub bound_log2: f64,
}

impl Parameters {
    /// The parameters for a program at `security` bits: those of least estimated time.
    ///
    /// # Errors
    /// [`Error::Usage`] if that security is not offered, [`Error::Resource`] if the program is too large.
    pub fn choose(program: &Program, security: u32) -> Result<Self, Error> {
        Self::of_request(&Request::of(program), security, checks(security, PROOFS, 2.0)?)
    }

    /// The parameters for stock, whose batches leave a share of the budget to others that the same program may use.
    pub(super) fn for_stock(request: &Request, security: u32) -> Result<Self, Error> {
        let checks = checks(security, STOCK_PROOFS, STOCK_PROOFS)?;
        let spent: Upper = checks.checks().iter().map(|check| check.1).sum();
        let rest = 1.0 - (spent.log2() + f64::from(security)).exp2();
        let others = (rest * (1.0 - STOCK_SHARE)).log2() - f64::from(security);
        Self::of_request(request, security, checks.with_check("other batches of the stock", others))
    }

    fn of_request(request: &Request, security: u32, budget: Budget) -> Result<Self, Error> {
        let code = code(security)?;
        let mut specs: Vec<BatchSpec> =
            request.components.iter().map(|(_, slots)| spec(Kind::Component, *slots)).collect::<Result<_, _>>()?;
        specs.push(spec(Kind::KeyAuthenticator, request.plain_wires())?);
        specs.push(spec(Kind::InputAuthenticator, request.garbler_wires)?);
        // Batches without slots cost nothing and bound nothing.
        let used: Vec<BatchSpec> = specs.iter().filter(|s| s.slots > 0).copied().collect();
        let costs: Vec<Cost> = request
            .components
            .iter()
            .map(|(c, _)| Cost::of_component(&c.circuit, code))
            .chain([Cost::of_plain(code), Cost::of_input(code)])
            .zip(&specs)
            .filter(|(_, spec)| spec.slots > 0)
            .map(|(cost, _)| cost)
            .collect();
        let plan = budget.plan(&used, |batch, cut| costs[batch].of(cut))?;
        let mut cuts = plan.batches.iter().map(|(cut, _)| *cut);
        let mut cut = |spec: &BatchSpec| match spec.slots {
            0 => NO_CUT,
            _ => cuts.next().expect("one for each batch in use"),
        };
        let (gadgets, components) = (specs.split_off(specs.len() - 2), specs);
        let components = components.iter().map(&mut cut).collect();
        let (plain, input) = (cut(&gadgets[0]), cut(&gadgets[1]));
        Ok(Parameters { security, components, plain, input, ot_binding: ot_binding(security), bound_log2: plan.total.log2() })
    }

    /// A digest over all of them.
    pub fn digest(&self) -> [u8; 32] {
        let mut hasher = blake3::Hasher::new_derive_key("brickwork 2026-11 duplo parameters");
        hasher.update(&self.security.to_le_bytes()).update(&(self.ot_binding as u64).to_le_bytes());
        hasher.update(&(self.components.len() as u64).to_le_bytes());
        for cut in self.components.iter().chain([&self.plain, &self.input]) {
            for part in [cut.slots, cut.bucket, cut.opened] {
                hasher.update(&part.to_le_bytes());
            }
        }
        *hasher.finalize().as_bytes()
    }

    /// What a run with these parameters promises.
    pub fn report(&self, program: &Program) -> SecurityReport {
        self.report_of(program.components().iter().zip(&self.components).map(|(c, cut)| batch_report(&c.name, cut)).collect())
    }

    fn report_of(&self, components: Vec<BatchReport>) -> SecurityReport {
        let code = Code::for_security(self.security).expect("checked when the parameters were chosen");
        SecurityReport {
            model: "malicious",
            statistical_bits: self.security,
            bound_log2: self.bound_log2,
            computational_bits: COMPUTATIONAL_BITS,
            commitments: "split",
            code: [code.length(), 128, code.distance() as usize],
            components,
            key_authenticators: batch_report(KEY_AUTHENTICATORS, &self.plain),
            input_authenticators: batch_report(INPUT_AUTHENTICATORS, &self.input),
        }
    }
}

fn batch_report(name: &str, cut: &Cut) -> BatchReport {
    BatchReport {
        name: name.into(),
        slots: cut.slots as usize,
        bucket_size: cut.bucket as usize,
        copies: cut.copies() as usize,
        opened: cut.opened as usize,
    }
}

/// Nanoseconds that an item costs: the time of both parties and of a link of some 2.5 Gbit/s. An opened copy costs work but
/// next to no traffic, so fewer and larger buckets are rarely the best choice. These are estimates; whatever they are, the
/// bound is exact.
struct Cost {
    made: f64,
    opened: f64,
    chosen: f64,
}

const BYTE: f64 = 3.0;
const GARBLE_AND_HASH: f64 = 12.0;
const EVALUATE: f64 = 4.0;
const HASH_LABEL: f64 = 75.0;

impl Cost {
    fn of(&self, cut: &Cut) -> f64 {
        self.made * cut.copies() as f64 + self.opened * f64::from(cut.opened) + self.chosen * cut.kept() as f64
    }

    fn commitment(code: &Code, chosen: bool) -> f64 {
        BYTE * (code.length() - if chosen { 0 } else { 128 }) as f64 / 8.0
    }

    fn of_component(circuit: &Circuit, code: &Code) -> Cost {
        let (ands, inputs, outputs) = (circuit.and_gates() as f64, circuit.inputs() as f64, circuit.outputs().len() as f64);
        Cost {
            made: ands * GARBLE_AND_HASH + (inputs + 1.0) * Self::commitment(code, false) + outputs * Self::commitment(code, true),
            opened: ands * GARBLE_AND_HASH + (inputs + 1.0) * 16.0 * BYTE,
            chosen: ands * (32.0 * BYTE + 2.0 * GARBLE_AND_HASH + EVALUATE) + (inputs + outputs + 1.0) * 16.0 * BYTE,
        }
    }

    fn of_plain(code: &Code) -> Cost {
        let made = Self::commitment(code, false) + 32.0 * BYTE + 2.0 * HASH_LABEL;
        Cost { made, opened: 16.0 * BYTE + HASH_LABEL, chosen: 16.0 * BYTE + HASH_LABEL }
    }

    fn of_input(code: &Code) -> Cost {
        let made = Self::commitment(code, false) + Self::commitment(code, true) + 32.0 * BYTE + 3.0 * HASH_LABEL;
        Cost { made, opened: 16.0 * BYTE + 3.0 * HASH_LABEL, chosen: 32.0 * BYTE + 2.0 * HASH_LABEL }
    }
}

/// kappa = 128 less the 15 bits of hash calls under one key, the indicator's and the colour's: design decision 2.
const COMPUTATIONAL_BITS: f64 = 111.0;

fn spec(kind: Kind, slots: usize) -> Result<BatchSpec, Error> {
    let slots = u32::try_from(slots).map_err(|_| Error::Resource(format!("{slots} slots or wires are more than one session can hold")))?;
    Ok(BatchSpec { kind, slots })
}
