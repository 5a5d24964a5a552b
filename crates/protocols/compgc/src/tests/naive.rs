//! A second implementation of both parties, gate by gate, written from docs/protocols/compgc.md and the
//! figures of the papers. Its messages and wire labels must equal those of the real one, bit by bit.

use aes::cipher::{BlockCipherEncrypt, KeyInit};
use brickwork_circuit::Gate;
use brickwork_testing::Replayable as _;
use brickwork_wire::Tag;

use super::*;

/// The hash H for a copy of a component with `ands` AND gates: π(σ(x) ⊕ i) ⊕ σ(x) ⊕ i, with at most 2^15
/// calls under each key.
struct Hash {
    start: u128,
    copy: u64,
    ands: usize,
}

impl Hash {
    fn call(&self, x: u128, i: u128) -> u128 {
        const CALLS: u64 = 1 << 13;
        // A gate makes four hash calls, so a key serves 2^13 gates. At least sixteen copies share a key.
        let gates = (self.ands as u64).clamp(1, CALLS).next_power_of_two();
        let copies = (CALLS / gates).max(16);
        let mut hasher = blake3::Hasher::new_derive_key("brickwork garbling hash keys v1");
        hasher.update(&self.start.to_le_bytes()).update(&(self.copy / copies).to_le_bytes());
        let group: [u8; 16] = hasher.finalize().as_bytes()[..16].try_into().unwrap();
        let mut key = (i / 2 / u128::from(CALLS / copies)).to_le_bytes().into();
        aes::Aes128::new(&group.into()).encrypt_block(&mut key);
        let (high, low) = (x >> 64, x & u128::from(u64::MAX));
        let y = (((high ^ low) << 64) | high) ^ i;
        let mut block = y.to_le_bytes().into();
        aes::Aes128::new(&key).encrypt_block(&mut block);
        u128::from_le_bytes(block.into()) ^ y
    }
}

/// Garbles a copy with half-gates (figure 2 of their paper). Returns its tables and the false labels of its
/// outputs.
fn garble(component: &Component, hash: &Hash, delta: u128, inputs: &[u128]) -> (Vec<u8>, Vec<u128>) {
    let (mut wires, mut tables, mut i) = (inputs.to_vec(), Vec::new(), 0);
    for gate in component.circuit.gates() {
        let label = match gate {
            Gate::Xor(a, b) => wires[a as usize] ^ wires[b as usize],
            Gate::Inv(a) => wires[a as usize] ^ delta,
            Gate::And(a, b) => {
                let (a, b) = (wires[a as usize], wires[b as usize]);
                let [a0, a1, b0, b1] = [(a, i), (a ^ delta, i), (b, i + 1), (b ^ delta, i + 1)]
                    .map(|(label, tweak)| hash.call(label, tweak));
                i += 2;
                let t_g = a0 ^ a1 ^ ((b & 1) * delta);
                let t_e = b0 ^ b1 ^ a;
                tables.extend([t_g, t_e].map(u128::to_le_bytes).as_flattened());
                a0 ^ ((a & 1) * t_g) ^ b0 ^ ((b & 1) * (t_e ^ a))
            }
        };
        wires.push(label);
    }
    (tables, component.circuit.outputs().iter().map(|&wire| wires[wire as usize]).collect())
}

/// Returns the wires of each linked value: of an input port, or of an output port of a slot.
fn values(program: &Program) -> Vec<Vec<usize>> {
    let mut widths = Vec::new();
    for party in [Party::Garbler, Party::Evaluator] {
        widths.extend(program.input_ports(party).iter().map(Port::width));
    }
    for slot in program.slots() {
        widths.extend(program.component(slot.component).outputs.iter().map(Port::width));
    }
    let mut wires = 0..program.wires();
    let values: Vec<Vec<usize>> =
        widths.iter().map(|&width| wires.by_ref().take(width as usize).collect()).collect();
    assert_eq!(wires.next(), None);
    values
}

/// A link: pairs of a wire and an index among the inputs of all slots, and true if they share their labels.
type Pairs = (Vec<[usize; 2]>, bool);

/// Returns the links of a program: single wires with `standard`, blocks of wires with `scmc`.
fn links(program: &Program, linking: Linking) -> Vec<Pairs> {
    let mut value_of = vec![0; program.wires()];
    for (value, wires) in values(program).iter().enumerate() {
        wires.iter().for_each(|&wire| value_of[wire] = value);
    }
    let known = match linking {
        Linking::Scmc => program.input_width(Party::Garbler) + program.input_width(Party::Evaluator),
        _ => program.input_width(Party::Garbler),
    };
    let (mut links, mut place): (Vec<Pairs>, usize) = (Vec::new(), 0);
    for slot in program.slots() {
        let mut wires = slot.inputs.iter().map(|&wire| wire as usize);
        for port in &program.component(slot.component).inputs {
            let mut blocks: Vec<Vec<[usize; 2]>> = Vec::new();
            for wire in wires.by_ref().take(port.width() as usize) {
                let goes_on = |block: &Vec<[usize; 2]>| {
                    let [last, _] = block[block.len() - 1];
                    linking == Linking::Scmc && last + 1 == wire && value_of[last] == value_of[wire]
                };
                match blocks.last_mut() {
                    Some(block) if goes_on(block) => block.push([wire, place]),
                    _ => blocks.push(vec![[wire, place]]),
                }
                place += 1;
            }
            for block in blocks {
                // Only the first link of a value can be free; with `standard`, the first link of a wire.
                let same = |wire: usize| match linking {
                    Linking::Scmc => value_of[wire] == value_of[block[0][0]],
                    _ => wire == block[0][0],
                };
                let is_first = links.iter().all(|(link, _)| !same(link[0][0]));
                let is_free = is_first && block[0][0] < known;
                links.push((block, is_free));
            }
        }
    }
    links
}

/// Packs bits into bytes, the first bit lowest.
fn packed(bits: impl IntoIterator<Item = u128>) -> Vec<u8> {
    let bits: Vec<u128> = bits.into_iter().collect();
    bits.chunks(8).map(|byte| byte.iter().rev().fold(0, |sum, &bit| (sum << 1) | bit as u8)).collect()
}

fn bytes(labels: impl IntoIterator<Item = u128>) -> Vec<u8> {
    labels.into_iter().flat_map(u128::to_le_bytes).collect()
}

/// Returns the garbler's messages after the OTs, and the false labels of all wires. It draws in the same
/// order as the garbler.
fn garbler(
    run: &Inside,
    program: &Program,
    linking: Linking,
    [input, theirs]: [&[bool]; 2],
) -> (Vec<Message>, Vec<u128>) {
    let (mut rng, delta) = (Rng::expand(&run.seed, "test garbler"), run.delta.bits());
    let [garblers, evaluators] = [Party::Garbler, Party::Evaluator].map(|party| program.input_width(party));
    let mut wires = vec![0; program.wires()];
    if linking == Linking::Scmc {
        for value in values(program) {
            let (base, t) = (rng.block(), rng.seed());
            let mut h = Rng::expand(&t, "brickwork compgc block");
            value.into_iter().for_each(|wire| wires[wire] = base ^ h.block());
        }
    } else {
        wires[..garblers].iter_mut().for_each(|wire| *wire = rng.block());
    }
    let links = if linking == Linking::Naive { Vec::new() } else { links(program, linking) };
    let mut inputs = vec![0; program.slots().map(|slot| slot.inputs.len()).sum()];
    for (link, free) in &links {
        let shift = if *free { 0 } else { rng.block() };
        link.iter().for_each(|&[wire, place]| inputs[place] = wires[wire] ^ shift);
    }
    // The labels of the evaluator's inputs: the label of choice 1 where the input bit differs from the
    // choice.
    let chosen: Vec<u128> = (0..evaluators)
        .map(|k| run.ots[k].bits() ^ (u128::from(u8::from(theirs[k]) ^ run.choices[k]) * delta))
        .collect();
    let mut sent = Vec::new();
    let mut garble_all = |wires: &mut Vec<u128>, sent: &mut Vec<Message>| {
        let starts: Vec<u128> = program.components().iter().map(|_| rng.block()).collect();
        let mut order: Vec<usize> = (0..program.slot_count()).collect();
        if linking != Linking::Naive {
            order.sort_by_key(|&slot| program.slot(slot).component);
        }
        let (mut tables, mut corrections) = (Vec::new(), vec![0; wires.len()]);
        for &k in &order {
            let slot = program.slot(k);
            let component = program.component(slot.component);
            let copy = program.slots().take(k).filter(|other| other.component == slot.component).count();
            let hash = Hash {
                start: starts[slot.component.0 as usize],
                copy: copy as u64,
                ands: component.circuit.and_gates(),
            };
            let before: usize = program.slots().take(k).map(|slot| slot.inputs.len()).sum();
            let given: Vec<u128> = match linking {
                Linking::Naive => slot.inputs.iter().map(|&wire| wires[wire as usize]).collect(),
                _ => inputs[before..before + slot.inputs.len()].to_vec(),
            };
            let (own, outputs) = garble(component, &hash, delta, &given);
            tables.extend(own);
            for (wire, label) in (slot.first_output as usize..).zip(outputs) {
                match linking {
                    Linking::Scmc => corrections[wire] = label ^ wires[wire],
                    _ => wires[wire] = label,
                }
            }
        }
        sent.extend([(msg::KEYS, bytes(starts)), (msg::TABLES, tables)]);
        if linking == Linking::Scmc {
            let corrections = corrections.split_off(garblers + evaluators);
            sent.push((msg::CORRECTIONS, bytes(corrections)));
        }
    };
    if linking != Linking::Naive {
        garble_all(&mut wires, &mut sent);
    }
    let active = input.iter().zip(&wires).map(|(&bit, wire)| wire ^ (u128::from(bit) * delta));
    sent.push((msg::INPUT_LABELS, bytes(active.collect::<Vec<_>>())));
    for (wire, &label) in wires[garblers..garblers + evaluators].iter_mut().zip(&chosen) {
        if linking != Linking::Scmc {
            *wire = label;
        }
    }
    if linking == Linking::Scmc {
        let corrections = chosen.iter().zip(&wires[garblers..]).map(|(from, to)| from ^ to);
        sent.push((msg::INPUT_CORRECTIONS, bytes(corrections)));
    }
    let paid = links.iter().filter(|(_, free)| !free);
    sent.push((msg::LINKS, bytes(paid.map(|(link, _)| wires[link[0][0]] ^ inputs[link[0][1]]))));
    if linking == Linking::Naive {
        garble_all(&mut wires, &mut sent);
    }
    let outputs = outputs(program, Party::Evaluator);
    sent.push((msg::DECODING, packed(outputs.iter().map(|&wire| wires[wire] & 1))));
    // Empty messages are not sent.
    let no_slots = program.slot_count() == 0;
    let is_there = |(tag, bytes): &Message| {
        let of_slots = [msg::KEYS, msg::TABLES, msg::CORRECTIONS].contains(tag);
        if of_slots { !no_slots } else { !bytes.is_empty() }
    };
    sent.retain(is_there);
    (sent, wires)
}
fn outputs(program: &Program, party: Party) -> Vec<usize> {
    let own = program.outputs().iter().filter(|output| output.to.includes(party));
    own.flat_map(|output| output.wires.iter().map(|&wire| wire as usize)).collect()
}

/// Returns the bit of every wire.
fn bits(program: &Program, inputs: [&[bool]; 2]) -> Vec<bool> {
    let mut bits = inputs.concat();
    for slot in program.slots() {
        let given: Vec<bool> = slot.inputs.iter().map(|&wire| bits[wire as usize]).collect();
        bits.extend(program.component(slot.component).circuit.evaluate(&given));
    }
    bits
}

#[test]
fn messages_and_labels_are_those_of_a_naive_writing() {
    let mut rng = Rng::replayable("test");
    for linking in Linking::ALL {
        for round in 0..12 {
            let program = match round {
                // A program whose copies need several groups of keys, and which has more copies than are
                // garbled side by side.
                0 => brickwork_circuit::library::millionaires().unwrap().repeat(35).unwrap(),
                _ => random_program(&mut rng),
            };
            let program = Arc::new(program);
            let [a, b] = random_inputs(&program, &mut rng);
            let run = inside(&program, linking, [&a, &b], rng.seed());
            let (expected, falses) = garbler(&run, &program, linking, [&a, &b]);
            let own = |(tag, _): &&Message| (msg::KEYS.0..=msg::COLOURS.0).contains(&tag.0);
            let of = |party: usize| run.sent[party].iter().filter(own).cloned().collect::<Vec<Message>>();
            let tags = |messages: &[Message]| messages.iter().map(|(tag, _)| *tag).collect::<Vec<Tag>>();
            assert_eq!(tags(&of(0)), tags(&expected), "{linking:?}");
            for (message, expected) in of(0).iter().zip(&expected) {
                assert!(message == expected, "{:?} with {linking:?}", message.0);
            }
            // The active label of each wire stands for the wire's bit.
            let bits = bits(&program, [&a, &b]);
            let delta = run.delta.bits();
            for (wire, (&label, &bit)) in falses.iter().zip(&bits).enumerate() {
                assert_eq!(run.falses[wire].bits(), label, "wire {wire} with {linking:?}");
                let active = label ^ (u128::from(bit) * delta);
                assert_eq!(run.actives[wire].bits(), active, "wire {wire} with {linking:?}");
            }
            let differs =
                b.iter().zip(&run.choices).map(|(&bit, &choice)| u128::from(u8::from(bit) ^ choice));
            let told = outputs(&program, Party::Garbler);
            let colours = told.iter().map(|&wire| (falses[wire] ^ (u128::from(bits[wire]) * delta)) & 1);
            let mut expected = vec![(msg::CHOICES, packed(differs)), (msg::COLOURS, packed(colours))];
            expected.retain(|(_, bytes)| !bytes.is_empty());
            assert!(of(1) == expected, "{linking:?}");
        }
    }
}
