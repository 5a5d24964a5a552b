//! Gates are soldered into buckets and to one another, wires are joined to authenticators, and the evaluator
//! gets the labels of the garbler's inputs.

use brickwork_base::{Error, Party};
use brickwork_primitives::ihash::{Code, Hashes, Receiver, Symbols, chosen_bytes};
use zeroize::Zeroizing;

use crate::authenticators::{self, Hashed, Joined};
use crate::buckets::{Checks, HashedWires, Solderings, Wires, permutation_bits, solder};
use crate::gates::Wide;
use crate::layout::Layout;
use crate::msg;
use crate::preprocess::{Checked, Choice, Made};
use crate::setup::{Evaluator, Garbler};

/// Which wires are soldered, in the order of messages: the left ones of all gates in buckets, the right ones,
/// and the outputs of those that are not the first of their bucket.
struct Pairs {
    /// Left and right wires of slots, `[side][gate]`: the wire of the circuit behind the word of negations.
    from: [Vec<usize>; 2],
    /// Gates in buckets.
    gates: Vec<usize>,
    /// Gates that are not the first of their bucket, and the first ones.
    others: Vec<usize>,
    heads: Vec<usize>,
}

impl Pairs {
    fn of(layout: &Layout, choice: &Choice) -> Self {
        let bucket = layout.sizes.gates.bucket as usize;
        let from = [0, 1].map(|side| {
            layout.ands.iter().flat_map(|and| std::iter::repeat_n(1 + and[side], bucket)).collect()
        });
        let (mut others, mut heads) = (Vec::new(), Vec::new());
        for gates in choice.gates.chunks_exact(bucket) {
            others.extend_from_slice(&gates[1..]);
            heads.extend(std::iter::repeat_n(gates[0], bucket - 1));
        }
        Pairs { from, gates: choice.gates.clone(), others, heads }
    }
}

/// Returns how many wires are soldered.
pub(super) fn soldered(layout: &Layout) -> usize {
    let gates = &layout.sizes.gates;
    2 * gates.kept() as usize + gates.slots as usize * (gates.bucket as usize - 1)
}

/// The first gates of buckets.
fn first(layout: &Layout, choice: &Choice) -> Vec<usize> {
    choice.gates.iter().copied().step_by(layout.sizes.gates.bucket as usize).collect()
}

/// The wires that are joined, behind the word of negations, one for each authenticator in a bucket.
fn joined(layout: &Layout) -> Vec<usize> {
    let bucket = layout.sizes.authenticators.bucket as usize;
    layout.authenticated().flat_map(|wire| std::iter::repeat_n(1 + wire, bucket)).collect()
}

/// Permutation messages with these bits, that anybody knows: all symbols are the bit.
fn known(code: &Code, bits: &[u8]) -> Symbols {
    let words: Vec<Vec<u8>> = bits.iter().map(|&bit| vec![bit; code.parameters().l()]).collect();
    Symbols::of_words(code.parameters().l(), words.iter().map(|word| &word[..]))
}

/// A word of zeros.
fn zero(code: &Code) -> Symbols {
    Symbols::zeros(code.parameters().l(), 1)
}

/// All wires of the circuit at the garbler, behind the word of negations.
pub(super) struct Circuit {
    pub labels: Symbols,
    pub permutations: Symbols,
}

/// The same at the evaluator.
pub(super) struct HashedCircuit {
    pub labels: Hashes,
    /// What makes labels of wires those of gates in buckets.
    pub solderings: [Wide; 3],
    /// The hashes of the slots' outputs.
    pub heads: Hashes,
    /// What joins wires to authenticators.
    pub joined: (Hashed, Joined),
    /// Labels of the garbler's inputs, and which of both they are.
    pub inputs: (Wide, Zeroizing<Vec<u8>>),
    /// The permutation bits of the evaluator's outputs.
    pub decoding: Zeroizing<Vec<u8>>,
}

/// Builds the garbler's circuit; `theirs` are the permutation bits of the evaluator's inputs.
pub(super) fn garbler(
    party: &mut Garbler,
    layout: &Layout,
    made: &Made,
    input: &[bool],
    theirs: &[u8],
) -> Result<Circuit, Error> {
    party.run.phase("build");
    let Garbler { run, delta, labels, permutations, points, ots, .. } = party;
    let code = permutations.code();
    let heads = first(layout, &made.choice);
    let own: Vec<usize> = (0..layout.inputs(Party::Evaluator)).collect();
    let outputs = made.gates[2].labels.select(heads.iter().copied()).words();
    let words = [&zero(labels.code()), &made.inputs.labels.words(), &ots.words().select(&own), &outputs];
    let rho = [
        &known(code, &[1]),
        &made.inputs.permutations,
        &known(code, theirs),
        &made.gates[2].permutations.select(&heads),
    ];
    let circuit = Circuit {
        labels: Symbols::join(&words).follow(&layout.steps),
        permutations: Symbols::join(&rho).follow(&layout.steps),
    };

    let pairs = Pairs::of(layout, &made.choice);
    let wires = |numbers: &[usize]| Wires {
        labels: Wide::of(&circuit.labels.select(numbers)),
        permutations: circuit.permutations.select(numbers),
    };
    let gates = |side: usize, numbers: &[usize]| Wires {
        labels: made.gates[side].labels.select(numbers.iter().copied()),
        permutations: made.gates[side].permutations.select(numbers),
    };
    let sides = [
        (wires(&pairs.from[0]), gates(0, &pairs.gates)),
        (wires(&pairs.from[1]), gates(1, &pairs.gates)),
        (gates(2, &pairs.others), gates(2, &pairs.heads)),
    ];
    let opened = sides.map(|(from, to)| {
        let mut sums = from.permutations.clone();
        sums.add(&to.permutations);
        let bits = permutation_bits(code, &points.permutation, &sums);
        solder(&from, &to, &bits, delta.label(0))
    });
    let sums = Symbols::join(&opened.each_ref().map(|opened| &opened.permutations));
    run.channel.send(msg::PERMUTATIONS, &code.pack(&sums))?;
    let mut message = run.channel.message(msg::DIFFERENCES);
    for opened in &opened {
        message.push(opened.differences.bytes())?;
    }
    message.finish()?;

    let (own, follow) = &made.authenticators;
    let places = &made.choice.authenticators;
    let mut sums = circuit.permutations.select(&joined(layout));
    sums.add(&follow.select(places));
    let mut offsets = own.select(places.iter().copied());
    (0..places.len()).for_each(|k| offsets.add(k, delta.label(0), 1));
    run.channel.send(msg::JOINED_PERMUTATIONS, &code.pack(&sums))?;
    run.channel.send(msg::JOINED_OFFSETS, offsets.bytes())?;

    let mut active = made.inputs.labels.clone();
    let flips = permutation_bits(code, &points.permutation, &made.inputs.permutations);
    for (k, (&bit, flip)) in input.iter().zip(&*flips).enumerate() {
        active.add(k, delta.label(0), u8::from(bit) ^ flip);
    }
    run.channel.send(msg::INPUT_LABELS, active.bytes())?;
    let decoded: Vec<usize> = layout.outputs(Party::Evaluator).map(|wire| 1 + wire).collect();
    run.channel.send(msg::DECODING, &code.pack(&circuit.permutations.select(&decoded)))?;
    // The evaluator may have nothing to answer.
    run.channel.flush()?;
    Ok(circuit)
}

/// Permutation messages or their sums, in a message.
fn words(
    channel: &mut brickwork_wire::Channel,
    tag: brickwork_wire::Tag,
    hash: &Receiver,
    count: usize,
) -> Result<Symbols, Error> {
    let packed = channel.receive(tag, chosen_bytes(hash.code().parameters(), count))?;
    Ok(hash.code().unpack(count, &packed))
}

/// Checks the solderings of all sides, which come one after the other. Returns the differences of each.
fn check(
    checks: &Checks,
    sides: [(HashedWires, HashedWires); 3],
    all: &Solderings,
) -> Result<[Wide; 3], Error> {
    let mut next = 0;
    let sides = sides.map(|(from, to)| {
        let here = next..next + to.labels.count();
        next = here.end;
        let opened = Solderings {
            permutations: all.permutations.select(&here.clone().collect::<Vec<_>>()),
            differences: all.differences.select(here),
        };
        checks.solderings(&from, &to, &opened).map(|()| opened.differences)
    });
    let [left, right, outputs] = sides;
    Ok([left?, right?, outputs?])
}

/// Builds the evaluator's circuit; `own` are the permutation bits of its inputs.
pub(super) fn evaluator(
    party: &mut Evaluator,
    layout: &Layout,
    received: &Checked,
    own: &[u8],
) -> Result<HashedCircuit, Error> {
    party.run.phase("build");
    let Evaluator { run, session, labels, permutations, points, .. } = party;
    let bytes = 16 * layout.blocks();
    let wide = |message: Vec<u8>| Wide::from_bytes(layout.blocks(), &message);
    let heads = first(layout, &received.choice);
    let head_labels = received.gates[2].labels.select(&heads);
    let code = permutations.code();
    let known = |bits: &[u8]| permutations.hashes(&known(code, bits));
    let all = [&labels.hashes(&zero(labels.code())), &received.inputs.labels, &received.own, &head_labels];
    let rho = [
        &known(&[1]),
        &received.inputs.permutations,
        &known(own),
        &received.gates[2].permutations.select(&heads),
    ];
    let (all, rho) = (Hashes::join(&all).follow(&layout.steps), Hashes::join(&rho).follow(&layout.steps));

    let pairs = Pairs::of(layout, &received.choice);
    let count = soldered(layout);
    let sums = words(&mut run.channel, msg::PERMUTATIONS, permutations, count)?;
    let differences = wide(run.channel.receive(msg::DIFFERENCES, count * bytes)?);
    let checks = Checks::new(labels, permutations, &points.permutation, &received.offset)?;
    let wires =
        |numbers: &[usize]| HashedWires { labels: all.select(numbers), permutations: rho.select(numbers) };
    let gates = |side: usize, numbers: &[usize]| HashedWires {
        labels: received.gates[side].labels.select(numbers),
        permutations: received.gates[side].permutations.select(numbers),
    };
    let sides = [
        (wires(&pairs.from[0]), gates(0, &pairs.gates)),
        (wires(&pairs.from[1]), gates(1, &pairs.gates)),
        (gates(2, &pairs.others), gates(2, &pairs.heads)),
    ];
    let solderings = check(&checks, sides, &Solderings { permutations: sums, differences })?;

    let places = &received.choice.authenticators;
    let joins = Joined {
        permutations: words(&mut run.channel, msg::JOINED_PERMUTATIONS, permutations, places.len())?,
        offsets: wide(run.channel.receive(msg::JOINED_OFFSETS, places.len() * bytes)?),
    };
    let hashed = Hashed {
        permutations: received.authenticators.permutations.select(places),
        offsets: received.authenticators.offsets.select(places),
    };
    authenticators::Checks { session, labels, permutations, point: &points.permutation }.joined(
        &rho.select(&joined(layout)),
        &received.offset,
        &hashed,
        &joins,
    )?;

    let inputs = wide(run.channel.receive(msg::INPUT_LABELS, layout.inputs(Party::Garbler) * bytes)?);
    let kinds = checks.kinds(&received.inputs.labels, &inputs)?;
    let decoded: Vec<usize> = layout.outputs(Party::Evaluator).map(|wire| 1 + wire).collect();
    let opened = words(&mut run.channel, msg::DECODING, permutations, decoded.len())?;
    let decoding = checks.opened(&rho.select(&decoded), &opened)?;
    Ok(HashedCircuit {
        labels: all,
        solderings,
        heads: head_labels,
        joined: (hashed, joins),
        inputs: (inputs, kinds),
        decoding,
    })
}
