//! The promise of a run: its security bound, and the parameters that give it.
//!
//! Every protocol makes a [`Promise`], and all code that shows one (the command, pages, Python) reads this
//! type. A field that a protocol does not use is empty, and is left out of the JSON form.

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::at_most;

/// The kind of peer against which a protocol is secure, the weaker one first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Model {
    /// A peer that follows the protocol.
    SemiHonest,
    /// A peer that may do anything.
    Malicious,
}

impl Model {
    /// Returns the name for users and reports.
    pub const fn name(self) -> &'static str {
        match self {
            Model::SemiHonest => "semi-honest",
            Model::Malicious => "malicious",
        }
    }
}

/// The cheater whose success the bound limits. Against the other party a protocol has its computational
/// security.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cheater {
    /// The garbler.
    Garbler,
    /// Either party.
    #[default]
    Either,
}

/// The promise of a run, with its parameters. Its text says in sentences what holds, and against whom.
///
/// ```
/// use brickwork_base::promise::{Model, Promise};
///
/// let promise = Promise::semi_honest(111.0, "the peer must follow the protocol");
/// assert_eq!((promise.model, promise.statistical_bits), (Model::SemiHonest, 0));
/// assert!(!promise.to_string().is_empty());
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Promise {
    /// The kind of peer against which it is secure. A malicious peer may still abort, so that nobody else
    /// gets an output.
    pub model: Model,
    /// The requested statistical security s; 0 for protocols without security against a cheater.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub statistical_bits: u32,
    /// The cheater whose success the bound limits; `either` for protocols without security against a cheater.
    #[serde(default, skip_serializing_if = "is_either")]
    pub cheater: Cheater,
    /// Base-2 logarithm of the probability that a cheater succeeds, for all checks of the run together. The
    /// logarithm is 0, which means certainty, for protocols without security against a cheater.
    #[serde(default, skip_serializing_if = "is_certain")]
    pub bound_log2: f64,
    /// The bound for all programs together that use the same part of a stock. The bound may exceed -s if much
    /// was made in that part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub epoch_bound_log2: Option<f64>,
    /// The computational security in bits: kappa minus the loss by all uses in this run.
    pub computational_bits: f64,
    /// The remaining probability of each check; the bound of the run is their sum.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub budget: Vec<CheckSpent>,
    /// A warning that the command line shows before a run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warning: Option<Cow<'static, str>>,
    /// The commitments to labels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commitments: Option<CommitmentPromise>,
    /// The cut-and-choose of each kind of item; for a program from stock, of each batch that the program
    /// uses.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub batches: Vec<BatchPromise>,
    /// The triples that authenticate AND gates.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub triples: Option<TriplesPromise>,
    /// The way in which components are linked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub linking: Option<LinkingPromise>,
}

/// A commitment scheme.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommitmentPromise {
    /// The name of the scheme.
    pub scheme: Cow<'static, str>,
    /// The scheme's code: length, dimension, distance.
    pub code: [usize; 3],
}

/// Cut-and-choose of one kind of item.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BatchPromise {
    /// The kind of the items.
    pub kind: ItemKind,
    /// The name of the component, or of the kind.
    pub name: Cow<'static, str>,
    /// The number of buckets: slots of a program, or wires.
    pub slots: u64,
    /// B, the number of items in a bucket.
    pub bucket_size: u64,
    /// L, the number of items that were made.
    pub copies: u64,
    /// c, the number of items that were opened and checked.
    pub opened: u64,
}

/// The kind of items of a cut-and-choose.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ItemKind {
    /// Copies of a component.
    Component,
    /// Single AND gates.
    Gate,
    /// Authenticators that accept the two labels of a wire between slots.
    KeyAuthenticator,
    /// Authenticators that accept the two labels of a wire between AND gates.
    WireAuthenticator,
    /// Authenticators that accept the two labels of an input wire.
    InputAuthenticator,
}

/// Triples for AND gates, made from leaky AND triples.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TriplesPromise {
    /// The number of triples that the program uses: one per AND gate.
    pub used: u64,
    /// The number of leaky ANDs from which they are made.
    pub leaky_ands: u64,
    /// The number of leaky ANDs in the smallest bucket.
    pub bucket_size: u64,
    /// The correlated OTs of the masks, by their name for users.
    pub cot: Cow<'static, str>,
    /// Base-2 logarithm of the cost of the best known attack on the LPN instance of the OTs, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lpn_bits: Option<f64>,
}

/// The way in which components are linked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkingPromise {
    /// The name of this way.
    pub name: Cow<'static, str>,
    /// The part that is garbled ahead of time, in words.
    pub garbled: Cow<'static, str>,
}

/// The probability that a cheater passes one check.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CheckSpent {
    /// The check, in words.
    pub check: String,
    /// The base-2 logarithm of the bound on a cheater's success in this check.
    pub bound_log2: f64,
}

impl Promise {
    /// Makes the promise of a run with a bound against a cheater, without batches.
    pub fn malicious(
        cheater: Cheater,
        statistical_bits: u32,
        bound_log2: f64,
        computational_bits: f64,
        budget: Vec<CheckSpent>,
    ) -> Self {
        Promise {
            cheater,
            statistical_bits,
            bound_log2,
            budget,
            ..Promise::of(Model::Malicious, computational_bits)
        }
    }

    /// Makes the promise of a run against a peer that follows the protocol.
    pub fn semi_honest(computational_bits: f64, warning: &'static str) -> Self {
        Promise { warning: Some(warning.into()), ..Promise::of(Model::SemiHonest, computational_bits) }
    }

    fn of(model: Model, computational_bits: f64) -> Self {
        Promise {
            model,
            cheater: Cheater::Either,
            statistical_bits: 0,
            bound_log2: 0.0,
            epoch_bound_log2: None,
            computational_bits,
            budget: Vec::new(),
            warning: None,
            commitments: None,
            batches: Vec::new(),
            triples: None,
            linking: None,
        }
    }

    /// Returns the batches of this kind.
    pub fn of_kind(&self, kind: ItemKind) -> impl Iterator<Item = &BatchPromise> {
        self.batches.iter().filter(move |batch| batch.kind == kind)
    }
}

impl fmt::Display for Promise {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let computational = self.computational_bits;
        match self.model {
            Model::SemiHonest => writeln!(
                f,
                "Security: SEMI-HONEST ONLY. Nothing is promised if the peer departs from the protocol: it \
                 could learn this party's input, or choose what this party learns. Against a peer that \
                 follows it: {computational:.0}-bit computational security"
            )?,
            Model::Malicious => writeln!(
                f,
                "Security: malicious; {} succeeds with probability at most {} (asked for: 2^-{}); \
                 {computational:.0}-bit computational security",
                match self.cheater {
                    Cheater::Garbler => "a cheating garbler",
                    Cheater::Either => "a cheater",
                },
                at_most(self.bound_log2),
                self.statistical_bits,
            )?,
        }
        if let Some(bound) = self.epoch_bound_log2 {
            writeln!(
                f,
                "  for all programs that use this part of the stock, together: at most {}",
                at_most(bound)
            )?;
        }
        if let Some(CommitmentPromise { scheme, code: [length, dimension, distance] }) = &self.commitments {
            writeln!(f, "  commitments: {scheme}, code [{length}, {dimension}, {distance}]")?;
        }
        for BatchPromise { name, slots, bucket_size, copies, opened, .. } in &self.batches {
            let s = if *slots == 1 { "" } else { "s" };
            writeln!(
                f,
                "  {name}: {slots} bucket{s} of {bucket_size}, {copies} copies, {opened} of them opened"
            )?;
        }
        if let Some(TriplesPromise { used, leaky_ands, bucket_size, cot, lpn_bits }) = &self.triples {
            write!(
                f,
                "  triples: {used} of {leaky_ands} leaky ANDs, in buckets of {bucket_size}; OTs: {cot}"
            )?;
            match lpn_bits {
                Some(bits) => writeln!(f, ", LPN with {bits:.0}-bit security by known attacks")?,
                None => writeln!(f)?,
            }
        }
        match &self.linking {
            Some(LinkingPromise { name, garbled }) => writeln!(f, "  linking: {name}; {garbled}"),
            None => Ok(()),
        }
    }
}

fn is_either(cheater: &Cheater) -> bool {
    *cheater == Cheater::Either
}

fn is_zero(bits: &u32) -> bool {
    *bits == 0
}

fn is_certain(bound_log2: &f64) -> bool {
    *bound_log2 == 0.0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A semi-honest promise has no bound, and its text mentions none.
    #[test]
    fn nothing_is_promised_against_a_cheater() {
        let promise = Promise::semi_honest(111.0, "careful");
        let text = promise.to_string();
        assert!(text.contains("SEMI-HONEST ONLY") && text.contains("111-bit") && !text.contains("2^-"));
    }

    /// Displayed bounds are rounded up, and every parameter has a line.
    #[test]
    fn parameters_are_said() {
        let batch = BatchPromise {
            kind: ItemKind::Component,
            name: "add".into(),
            slots: 1,
            bucket_size: 7,
            copies: 30,
            opened: 23,
        };
        let triples = TriplesPromise {
            used: 3,
            leaky_ands: 9,
            bucket_size: 3,
            cot: "pcg".into(),
            lpn_bits: Some(130.2),
        };
        let promise = Promise {
            epoch_bound_log2: Some(-39.5),
            commitments: Some(CommitmentPromise { scheme: "split".into(), code: [275, 128, 42] }),
            batches: vec![batch],
            triples: Some(triples),
            ..Promise::malicious(Cheater::Garbler, 40, -40.128, 111.0, Vec::new())
        };
        let lines = [
            "Security: malicious; a cheating garbler succeeds with probability at most 2^-40.12 (asked for: \
             2^-40); 111-bit computational security",
            "  for all programs that use this part of the stock, together: at most 2^-39.50",
            "  commitments: split, code [275, 128, 42]",
            "  add: 1 bucket of 7, 30 copies, 23 of them opened",
            "  triples: 3 of 9 leaky ANDs, in buckets of 3; OTs: pcg, LPN with 130-bit security by known \
             attacks",
        ];
        assert!(promise.to_string().lines().eq(lines), "{promise}");
        assert_eq!(promise.of_kind(ItemKind::Gate).count(), 0);
    }
}
