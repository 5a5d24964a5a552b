//! Chooses the component for each call: the function with secret parameters, or a variant for known
//! arguments.

use std::collections::HashMap;

use brickwork_base::stop::looking;
use brickwork_circuit::{Port, Type};

use super::live::Liveness;
use crate::diagnostic::Sink;
use crate::generate::{ExecutionData, Trace, specialise};
use crate::graph::{GraphBit, Template};

/// A function for which some parameter bits are known.
pub struct Variant {
    pub function: usize,
    /// The name of the variant's component.
    pub name: String,
    /// The known bits; `None` for a secret bit.
    pub pattern: Vec<Option<bool>>,
    pub template: Template,
}

/// The component of each call.
pub struct CallComponents {
    pub variants: Vec<Variant>,
    /// For each call that uses a variant, the index of the variant.
    chosen: HashMap<usize, usize>,
}

/// The largest number of variants of a function that are tried.
const MAX_VARIANTS: usize = 16;
/// The largest function, in gates, for which variants are tried.
const MAX_GATES: usize = 1 << 22;

/// Returns the approximate number of copies that cut-and-choose needs for each of `n` slots. It is larger for
/// fewer slots.
pub(super) fn copies(n: u64) -> u64 {
    match n {
        0..=7 => 11,
        8..=63 => 7,
        64..=511 => 6,
        512..=20_000 => 5,
        _ => 4,
    }
}

/// A variant is added beside the common component only if it saves at least one part in this many of the
/// function's cost.
const WORTH: u64 = 8;

fn cost(template: &Template, slots: u64) -> u64 {
    let one = 2 * template.ands() as u64 + u64::from(template.inputs) + template.outputs.len() as u64;
    slots * copies(slots) * one
}

impl CallComponents {
    /// Chooses a variant if it saves more than it costs that fewer slots then share the common component.
    pub fn choose(cx: &ExecutionData<'_>, trace: &Trace, live: &Liveness, sink: &mut Sink) -> CallComponents {
        let mut kinds = CallComponents { variants: Vec::new(), chosen: HashMap::new() };
        let mut slots: HashMap<usize, u64> = HashMap::new();
        let mut patterns: HashMap<(usize, Vec<Option<bool>>), Vec<usize>> = HashMap::new();
        for &call in looking(&live.calls) {
            let function = trace.calls[call].function as usize;
            *slots.entry(function).or_default() += 1;
            let args = trace.args(call);
            if args.iter().any(|b| b.known().is_some()) {
                patterns.entry((function, args.iter().map(|b| b.known()).collect())).or_default().push(call);
            }
        }
        // The patterns with the most calls come first; equal ones keep the order of the program.
        let mut patterns: Vec<_> = patterns.into_iter().collect();
        patterns.sort_by_key(|(_, calls)| (std::cmp::Reverse(calls.len()), calls[0]));
        let mut tried: HashMap<usize, usize> = HashMap::new();
        for ((function, pattern), calls) in patterns {
            let tried = tried.entry(function).or_default();
            let Some(generic) = &cx.templates[function] else { continue };
            if *tried >= MAX_VARIANTS || generic.gates() > MAX_GATES {
                continue;
            }
            *tried += 1;
            let Some(template) = specialise(cx, function, &pattern, sink) else { continue };
            let (all, own) = (slots[&function], calls.len() as u64);
            let (before, after) = (cost(generic, all), cost(generic, all - own) + cost(&template, own));
            // A variant beside the common component must save enough and be much smaller. A variant that
            // replaces the common component must only be cheaper.
            let worth = after < before - before / WORTH && 2 * cost(&template, own) < cost(generic, own);
            if worth || (all == own && after < before) {
                slots.insert(function, all - own);
                let number = kinds.variants.len();
                kinds.chosen.extend(calls.into_iter().map(|call| (call, number)));
                kinds.variants.push(Variant { function, name: String::new(), pattern, template });
            }
        }
        kinds.name(cx, &slots);
        kinds
    }

    /// Names the variants. A variant that replaces its function has the function's name, and others are
    /// numbered in the order of the program.
    fn name(&mut self, cx: &ExecutionData<'_>, slots: &HashMap<usize, u64>) {
        let mut first: Vec<usize> = vec![usize::MAX; self.variants.len()];
        self.chosen.iter().for_each(|(call, variant)| first[*variant] = first[*variant].min(*call));
        let mut order: Vec<usize> = (0..self.variants.len()).collect();
        order.sort_by_key(|variant| first[*variant]);
        let mut taken: HashMap<usize, usize> = HashMap::new();
        for variant in order {
            let Variant { function, name, .. } = &mut self.variants[variant];
            let number = taken.entry(*function).or_default();
            *number += 1;
            let plain = &cx.module.functions[*function].name;
            // The function itself is no longer used, so its first variant gets its name.
            *name = match (*number, slots.get(function)) {
                (1, Some(0)) => plain.to_string(),
                (number, Some(0)) => format!("{plain}.{}", number - 1),
                (number, _) => format!("{plain}.{number}"),
            };
        }
    }

    /// Returns the variant of a call.
    pub fn variant(&self, call: usize) -> Option<usize> {
        self.chosen.get(&call).copied()
    }

    /// Returns the input bits of the call's component.
    pub fn args<'t>(&self, call: usize, trace: &'t Trace) -> impl Iterator<Item = GraphBit> + 't {
        let skip = self.variant(call).is_some();
        trace.args(call).iter().copied().filter(move |b| !skip || b.known().is_none())
    }
}

impl Variant {
    /// Returns the input ports of the variant: the parameters without their known bits.
    pub fn ports(&self, cx: &ExecutionData<'_>) -> Vec<Port> {
        let mut ports = Vec::new();
        let mut rest = &self.pattern[..];
        for (name, ty) in &cx.module.functions[self.function].params {
            let (own, others) = rest.split_at(cx.module.types.width(ty) as usize);
            rest = others;
            match own.iter().filter(|b| b.is_none()).count() {
                0 => {}
                n if n == own.len() => ports.push(Port::new(&**name, cx.module.types.port(ty))),
                n => ports.push(Port::new(&**name, Type::Uint(n as u32))),
            }
        }
        ports
    }
}
