//! Programs made from other programs.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::{
    Circuit, Component, ComponentId, Gate, MAX_SOLDERINGS, Party, Port, Program, ProgramBuilder, Recipient,
    Type, Wire,
};
use brickwork_base::Error;
use brickwork_base::stop::looking;

impl Program {
    /// Returns `executions` independent evaluations as one program. A party with inputs has one port
    /// `executions`, an array with a struct of its ports for each evaluation; for each set of recipients with
    /// outputs there is such a port, called `garbler_executions`, `evaluator_executions`, `executions` (both
    /// parties) and `kept_executions` (nobody), in this order.
    ///
    /// # Errors
    /// [`Error::Input`] if `executions` is 0, [`Error::Limit`] if the program becomes too large.
    pub fn repeat(&self, executions: usize) -> Result<Program, Error> {
        let count = self.count_of(executions)?;
        let repeated = |name: &str, ports: Vec<Port>| {
            let fields = ports.into_iter().map(|p| (p.name, p.ty)).collect();
            Port::new(name, Type::Array(Box::new(Type::Struct(fields)), count))
        };
        let inputs = |party: Party| match self.input_ports(party) {
            [] => Vec::new(),
            ports => vec![repeated("executions", ports.to_vec())],
        };
        let mut program = ProgramBuilder::new(self.name(), inputs(Party::Garbler), inputs(Party::Evaluator))?;
        let ids =
            self.components().iter().map(|c| program.component(c.clone())).collect::<Result<Vec<_>, _>>()?;

        let (garbler, evaluator) =
            (self.input_width(Party::Garbler) as u64, self.input_width(Party::Evaluator) as u64);
        let (inputs, inner) = (garbler + evaluator, self.wires() as u64 - garbler - evaluator);
        let n = u64::from(count);
        // The number fits into a wire's type, because all wires are below MAX_WIRES, as checked above.
        let moved = |wire: Wire, execution: u64| {
            let wire = u64::from(wire);
            let moved = if wire < garbler {
                execution * garbler + wire
            } else if wire < inputs {
                n * garbler + execution * evaluator + wire - garbler
            } else {
                n * inputs + execution * inner + wire - inputs
            };
            moved as Wire
        };
        self.place_slots(&mut program, &ids, n, moved)?;
        for (to, name) in [
            (Recipient::Garbler, "garbler_executions"),
            (Recipient::Evaluator, "evaluator_executions"),
            (Recipient::Both, "executions"),
            (Recipient::Nobody, "kept_executions"),
        ] {
            let group: Vec<_> = self.outputs().iter().filter(|o| o.to == to).collect();
            if !group.is_empty() {
                let port = repeated(name, group.iter().map(|o| o.port.clone()).collect());
                let wires =
                    (0..n).flat_map(|e| group.iter().flat_map(move |o| o.wires.iter().map(move |&w| (w, e))));
                program.output(port, to, wires.map(|(w, e)| moved(w, e)).collect())?;
            }
        }
        program.finish()
    }

    /// Returns `executions` evaluations as one program in which the party `held` has its input once, wired to
    /// all evaluations. Every port of the other party, and every output, becomes an array with an element for
    /// each evaluation.
    ///
    /// # Errors
    /// As [`Program::repeat`].
    pub fn repeat_holding(&self, executions: usize, held: Party) -> Result<Program, Error> {
        let count = self.count_of(executions)?;
        let n = u64::from(count);
        let repeated =
            |port: &Port| Port { ty: Type::Array(Box::new(port.ty.clone()), count), ..port.clone() };
        // Inputs that are drawn are never shared, because each evaluation needs new ones.
        let holds = |port: &Port, party: Party| party == held && port.drawn.is_none();
        let inputs = |party: Party| {
            let port = |port: &Port| if holds(port, party) { port.clone() } else { repeated(port) };
            self.input_ports(party).iter().map(port).collect()
        };
        let mut program = ProgramBuilder::new(self.name(), inputs(Party::Garbler), inputs(Party::Evaluator))?;
        let ids =
            self.components().iter().map(|c| program.component(c.clone())).collect::<Result<Vec<_>, _>>()?;
        // For each input wire, its place in the first evaluation, and its distance from one evaluation to the
        // next.
        let mut places: Vec<(u64, u64)> = Vec::new();
        let mut first = 0;
        for party in [Party::Garbler, Party::Evaluator] {
            for port in self.input_ports(party) {
                let held = holds(port, party);
                let (width, step) = (port.width(), if held { 0 } else { port.width() });
                places.extend((0..width).map(|wire| (first + wire, step)));
                first += if held { width } else { n * width };
            }
        }
        let (inputs, inner) = (places.len() as u64, self.wires() as u64 - places.len() as u64);
        // The number fits, because the program is no larger than separate executions.
        let moved = |wire: Wire, execution: u64| match places.get(wire as usize) {
            Some((first, step)) => (first + execution * step) as Wire,
            None => (first + execution * inner + u64::from(wire) - inputs) as Wire,
        };
        self.place_slots(&mut program, &ids, n, moved)?;
        for output in self.outputs() {
            let wires = (0..n).flat_map(|execution| output.wires.iter().map(move |&wire| (wire, execution)));
            let wires = wires.map(|(wire, execution)| moved(wire, execution)).collect();
            program.output(repeated(&output.port), output.to, wires)?;
        }
        program.finish()
    }

    /// Returns the number of executions in 32 bits, if one program can hold so many.
    fn count_of(&self, executions: usize) -> Result<u32, Error> {
        let count = u32::try_from(executions).ok().filter(|&n| n > 0);
        let count =
            count.ok_or_else(|| Error::Input(format!("a program cannot be executed {executions} times")))?;
        let wires = (self.wires() as u64).saturating_mul(u64::from(count));
        let to_outputs = self.outputs().iter().map(|o| o.wires.len() as u64).sum::<u64>();
        let solderings = self.slots().map(|s| s.inputs.len() as u64).sum::<u64>() + to_outputs;
        if wires >= u64::from(super::MAX_WIRES)
            || solderings.saturating_mul(u64::from(count)) >= MAX_SOLDERINGS
        {
            return Err(Error::Limit(format!(
                "{executions} executions of {} do not fit into one program; ask for fewer executions",
                self.name()
            )));
        }
        Ok(count)
    }

    /// Adds the slots of this many executions, one after another; `moved` gives the wire of an execution.
    fn place_slots(
        &self,
        program: &mut ProgramBuilder,
        ids: &[ComponentId],
        executions: u64,
        moved: impl Fn(Wire, u64) -> Wire,
    ) -> Result<(), Error> {
        if executions == 1 {
            return program.share_slots(self);
        }
        let inner = self.slots().map(|slot| slot.inputs.len()).sum::<usize>();
        program.reserve(executions as usize * self.slot_count(), executions as usize * inner);
        let mut solderings = Vec::new();
        for execution in 0..executions {
            for slot in self.slots() {
                solderings.clear();
                solderings.extend(slot.inputs.iter().map(|&wire| moved(wire, execution)));
                program.slot(ids[slot.component.0 as usize], &solderings)?;
            }
        }
        Ok(())
    }

    /// Returns these programs side by side as one program: no wire leads from one to another. Port `x` of the
    /// first program becomes `1.x`, of the second `2.x` and so on; ports and outputs keep their order.
    /// Programs share equal components.
    ///
    /// # Errors
    /// [`Error::Input`] if there is no program, or they have too many wires together; [`Error::Limit`] if
    /// there are too many solderings.
    pub fn beside(programs: &[&Program]) -> Result<Program, Error> {
        let numbered =
            |number: usize, port: &Port| Port { name: format!("{number}.{}", port.name), ..port.clone() };
        let ports = |party: Party| {
            let of = |(number, program): (usize, &&Program)| {
                program.input_ports(party).iter().map(|port| numbered(number, port)).collect::<Vec<_>>()
            };
            (1..).zip(programs).flat_map(of).collect::<Vec<_>>()
        };
        let names: Vec<&str> = programs.iter().map(|program| program.name()).collect();
        let mut all = ProgramBuilder::new(names.join(", "), ports(Party::Garbler), ports(Party::Evaluator))?;
        let mut known = std::collections::HashMap::new();
        let mut firsts = [0, programs.iter().map(|program| program.input_width(Party::Garbler)).sum()];
        for (number, program) in (1..).zip(programs) {
            // The new first wire of each party's inputs, and then of each slot's outputs.
            let mut places: Vec<Wire> = Vec::with_capacity(program.wires());
            for (first, party) in firsts.iter_mut().zip([Party::Garbler, Party::Evaluator]) {
                let width = program.input_width(party);
                places.extend((*first..*first + width).map(|wire| wire as Wire));
                *first += width;
            }
            let mut ids = Vec::new();
            for (component, digest) in program.components().iter().zip(program.component_digests()) {
                let id = match known.get(digest) {
                    Some(&id) => id,
                    None => {
                        let name = format!("{number}.{}", component.name);
                        let id = all.component(Component { name, ..component.clone() })?;
                        known.insert(*digest, id);
                        id
                    }
                };
                ids.push(id);
            }
            for slot in program.slots() {
                let inputs: Vec<Wire> = slot.inputs.iter().map(|&wire| places[wire as usize]).collect();
                let first = all.slot(ids[slot.component.0 as usize], &inputs)?;
                let outputs = program.component(slot.component).circuit.outputs().len() as Wire;
                places.extend(first..first + outputs);
            }
            for output in program.outputs() {
                let wires = output.wires.iter().map(|&wire| places[wire as usize]).collect();
                all.output(numbered(number, &output.port), output.to, wires)?;
            }
        }
        all.finish()
    }

    /// Returns the program as a step of a session. An input from an earlier step is an input of the garbler
    /// that nobody knows, so the evaluator's ports at `carried` are moved behind the garbler's ports. The
    /// outputs at `kept` go to nobody.
    ///
    /// # Errors
    /// [`Error::Input`] if a port that is moved has the name of one of the garbler's, or two kept outputs
    /// share a name.
    pub fn step(&self, carried: &BTreeSet<usize>, kept: &BTreeSet<usize>) -> Result<Program, Error> {
        let evaluator = self.input_ports(Party::Evaluator);
        let (moved, own): (Vec<_>, Vec<_>) = (0..evaluator.len()).partition(|port| carried.contains(port));
        let ports = |which: &[usize]| which.iter().map(|&port| evaluator[port].clone()).collect::<Vec<_>>();
        let theirs = [self.input_ports(Party::Garbler), &ports(&moved)].concat();
        let mut program = ProgramBuilder::new(self.name(), theirs, ports(&own))?;

        // The new numbers of the wires of the evaluator's ports.
        let garbler = self.input_width(Party::Garbler);
        let inputs = garbler + self.input_width(Party::Evaluator);
        let firsts: Vec<usize> = evaluator
            .iter()
            .scan(garbler, |next, port| {
                *next += port.width() as usize;
                Some(*next - port.width() as usize)
            })
            .collect();
        let mut places: Vec<Wire> = (0..inputs as Wire).collect();
        let order = moved.iter().chain(&own);
        let old = order.flat_map(|&port| firsts[port]..firsts[port] + evaluator[port].width() as usize);
        old.zip(garbler as Wire..).for_each(|(old, new)| places[old] = new);
        let place = |&wire: &Wire| places.get(wire as usize).copied().unwrap_or(wire);

        for component in self.components() {
            program.component(component.clone())?;
        }
        for slot in self.slots() {
            program.slot(slot.component, &slot.inputs.iter().map(place).collect::<Vec<_>>())?;
        }
        for (number, output) in self.outputs().iter().enumerate() {
            let to = if kept.contains(&number) { Recipient::Nobody } else { output.to };
            program.output(output.port.clone(), to, output.wires.iter().map(place).collect())?;
        }
        program.finish()
    }

    /// Returns the program with the fields of structs as ports, wherever a struct is the only input of a
    /// party or the only output of a set of recipients. No wire moves.
    ///
    /// # Errors
    /// [`Error::Input`] if outputs of one party then share a name.
    pub fn apart(&self) -> Result<Program, Error> {
        let fields = |port: &Port| match &port.ty {
            // A mask is drawn as a whole, so its struct is not split.
            Type::Struct(fields) if port.drawn.is_none() => {
                fields.iter().map(|(name, ty)| port.of_field(name, ty)).collect()
            }
            _ => vec![port.clone()],
        };
        let inputs = |party| match self.input_ports(party) {
            [port] => fields(port),
            ports => ports.to_vec(),
        };
        let mut program = ProgramBuilder::new(self.name(), inputs(Party::Garbler), inputs(Party::Evaluator))?;
        for component in self.components() {
            program.component(component.clone())?;
        }
        for slot in self.slots() {
            program.slot(slot.component, slot.inputs)?;
        }
        for output in self.outputs() {
            let alone = self.outputs().iter().filter(|other| other.to == output.to).count() == 1;
            let ports = if alone { fields(&output.port) } else { vec![output.port.clone()] };
            let mut wires = &output.wires[..];
            for port in ports {
                let (own, rest) = wires.split_at(port.width() as usize);
                wires = rest;
                program.output(port, output.to, own.to_vec())?;
            }
        }
        program.finish()
    }

    /// Returns the whole program as one circuit: the garbler's input wires, then the evaluator's; the wires
    /// of all outputs in order.
    ///
    /// # Errors
    /// [`Error::Input`] if that is more than a circuit can have.
    pub fn flatten(&self) -> Result<Circuit, Error> {
        let inputs = (self.input_width(Party::Garbler) + self.input_width(Party::Evaluator)) as u32;
        let gate_count: u64 =
            self.slots().map(|s| self.component(s.component).circuit.gate_count() as u64).sum();
        if gate_count + u64::from(inputs) >= u64::from(super::MAX_WIRES) {
            return Err(Error::Input(format!("{} has too many gates to become one circuit", self.name())));
        }
        let mut global: Vec<Wire> = (0..inputs).collect();
        let mut gates = Vec::with_capacity(gate_count as usize);
        let mut local: Vec<Wire> = Vec::new();
        for slot in self.slots() {
            let circuit = &self.component(slot.component).circuit;
            local.clear();
            local.extend(slot.inputs.iter().map(|&w| global[w as usize]));
            for gate in looking(circuit.gates()) {
                local.push(inputs + gates.len() as u32);
                gates.push(match gate {
                    Gate::Xor(a, b) => Gate::Xor(local[a as usize], local[b as usize]),
                    Gate::And(a, b) => Gate::And(local[a as usize], local[b as usize]),
                    Gate::Inv(a) => Gate::Inv(local[a as usize]),
                });
            }
            global.extend(circuit.outputs().iter().map(|&w| local[w as usize]));
        }
        let outputs =
            self.outputs().iter().flat_map(|o| o.wires.iter().map(|&w| global[w as usize])).collect();
        Circuit::new(inputs, gates, outputs)
    }

    /// Returns the same computation as one component in one slot, without constants and dead gates.
    ///
    /// # Errors
    /// As [`Program::flatten`].
    pub fn whole(&self) -> Result<Program, Error> {
        let [x, y] = [Party::Garbler, Party::Evaluator].map(|party| self.input_ports(party));
        let of = |prefix: &str, port: &Port| Port::new(format!("{prefix}_{}", port.name), port.ty.clone());
        let inputs =
            x.iter().map(|port| of("garbler", port)).chain(y.iter().map(|port| of("evaluator", port)));
        let outputs = self.outputs().iter().map(|output| output.port.clone());
        let mut program = ProgramBuilder::new(self.name(), x.to_vec(), y.to_vec())?;
        let circuit = Arc::new(self.flatten()?);
        let id = program.component(Component {
            name: self.name().into(),
            inputs: inputs.collect(),
            outputs: outputs.collect(),
            circuit,
        })?;
        let wires: Vec<Wire> = (0..program.wires()).collect();
        let mut next = program.slot(id, &wires)?;
        for output in self.outputs() {
            let width = output.wires.len() as Wire;
            program.output(output.port.clone(), output.to, (next..next + width).collect())?;
            next += width;
        }
        program.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A program with two ports for each party, and outputs for all sets of recipients.
    fn program() -> Program {
        let port = |name: &str, width| Port::new(name, Type::Uint(width));
        let garbler = vec![port("a", 1), port("b", 2)];
        let mut program = ProgramBuilder::new("p", garbler, vec![port("c", 2), port("d", 1)]).unwrap();
        let circuit = Circuit::new(3, vec![Gate::And(0, 1), Gate::Xor(3, 2)], vec![4, 3]).unwrap();
        let component = Component {
            name: "and-xor".into(),
            inputs: vec![port("in", 3)],
            outputs: vec![port("out", 2)],
            circuit: Arc::new(circuit),
        };
        let id = program.component(component).unwrap();
        let first = program.slot(id, &[0, 3, 5]).unwrap();
        let second = program.slot(id, &[first, 4, 2]).unwrap();
        program.output(port("x", 2), Recipient::Garbler, vec![second, 4]).unwrap();
        program.output(port("y", 2), Recipient::Evaluator, vec![second + 1, 1]).unwrap();
        program.output(port("z", 1), Recipient::Both, vec![first + 1]).unwrap();
        program.finish().unwrap()
    }

    fn bits(number: usize, count: usize) -> Vec<bool> {
        (0..count).map(|bit| number >> bit & 1 == 1).collect()
    }

    /// A shared input exists once, and its wires lead into every evaluation.
    #[test]
    fn an_input_may_be_held_over_all_executions() {
        let one = program();
        let widths =
            |party| one.input_ports(party).iter().map(|port| port.width() as usize).collect::<Vec<_>>();
        for held in [Party::Garbler, Party::Evaluator] {
            let all = one.repeat_holding(3, held).unwrap();
            let other = match held {
                Party::Garbler => Party::Evaluator,
                Party::Evaluator => Party::Garbler,
            };
            assert_eq!(all.input_ports(held), one.input_ports(held));
            assert_eq!((all.input_width(other), all.and_gates()), (9, 3 * one.and_gates()));
            for number in 0..1 << 6 {
                let (own, others) = (bits(number & 7, 3), [number >> 3, number % 5, 7 - number % 8]);
                let given: Vec<bool> = widths(other)
                    .iter()
                    .scan(0, |at, width| {
                        let port = others.map(|value| bits(value >> *at, *width)).concat();
                        *at += width;
                        Some(port)
                    })
                    .flatten()
                    .collect();
                let simulate = |program: &Program, others: &[bool]| match held {
                    Party::Garbler => program.simulate(&own, others),
                    Party::Evaluator => program.simulate(others, &own),
                };
                let each = others.map(|value| simulate(&one, &bits(value, 3)));
                let outputs = 0..one.outputs().len();
                let of_all =
                    outputs.map(|output| each.iter().flat_map(|bits| bits[output].clone()).collect());
                assert_eq!(simulate(&all, &given), of_all.collect::<Vec<Vec<bool>>>());
            }
        }
        assert!(one.repeat_holding(0, Party::Garbler).is_err());
        assert!(one.repeat_holding(1 << 30, Party::Garbler).is_err());
    }

    /// Programs side by side compute the same as each alone, and share components.
    #[test]
    fn programs_side_by_side_compute_the_same() {
        let (one, empty) = (program(), Program::beside(&[]));
        assert!(matches!(empty, Err(Error::Input(_))), "{empty:?}");
        let other = one.step(&BTreeSet::from([0]), &BTreeSet::from([1])).unwrap();
        let all = Program::beside(&[&one, &other, &one]).unwrap();
        assert_eq!((all.components().len(), all.slot_count()), (1, 6));
        assert_eq!((all.and_gates(), all.wires()), (3 * one.and_gates(), 3 * one.wires()));
        let names = |party| all.input_ports(party).iter().map(|port| port.name.as_str()).collect::<Vec<_>>();
        assert_eq!(names(Party::Garbler), ["1.a", "1.b", "2.a", "2.b", "2.c", "3.a", "3.b"]);
        assert_eq!(names(Party::Evaluator), ["1.c", "1.d", "2.d", "3.c", "3.d"]);
        for number in 0..1 << 6 {
            let inputs = [number, number ^ 0b101101, 63 - number].map(|number| bits(number, 6));
            // The garbler's ports of the second program have five bits together.
            let split = [3, 5, 3];
            let (x, y): (Vec<_>, Vec<_>) = inputs
                .iter()
                .zip(split)
                .map(|(bits, at)| bits.split_at(at))
                .map(|(x, y)| (x.to_vec(), y.to_vec()))
                .unzip();
            let each =
                [&one, &other, &one].into_iter().zip(x.iter().zip(&y)).map(|(p, (x, y))| p.simulate(x, y));
            assert_eq!(all.simulate(&x.concat(), &y.concat()), each.flatten().collect::<Vec<_>>());
        }
        let recipients: Vec<Recipient> = all.outputs().iter().map(|output| output.to).collect();
        let expected =
            [&one, &other, &one].map(|p| p.outputs().iter().map(|output| output.to).collect::<Vec<_>>());
        assert_eq!(recipients, expected.concat());
    }

    /// If ports of the evaluator move to the garbler, the function stays the same; nobody learns a kept
    /// output.
    #[test]
    fn a_step_computes_the_same() {
        let program = program();
        for ports in 0..4usize {
            let carried: BTreeSet<usize> = (0..2).filter(|port| ports >> port & 1 == 1).collect();
            let step = program.step(&carried, &BTreeSet::from([0, 2])).unwrap();
            assert_eq!(
                step.outputs().iter().map(|output| output.to).collect::<Vec<_>>(),
                [Recipient::Nobody, Recipient::Evaluator, Recipient::Nobody]
            );
            for input in 0..64 {
                let (x, y) = (bits(input, 3), bits(input >> 3, 3));
                let of = |port: usize| if port == 0 { y[..2].to_vec() } else { y[2..].to_vec() };
                let [mut theirs, mut own] = [x.clone(), Vec::new()];
                for port in 0..2 {
                    if carried.contains(&port) { &mut theirs } else { &mut own }.extend(of(port));
                }
                assert_eq!(step.simulate(&theirs, &own), program.simulate(&x, &y), "{ports} {input}");
            }
        }
        // The garbler already has a port of this name.
        let same = |name: &str| vec![Port::new(name, Type::Uint(1))];
        let mut clash = ProgramBuilder::new("p", same("a"), same("a")).unwrap();
        clash.output(Port::new("z", Type::Uint(1)), Recipient::Both, vec![0]).unwrap();
        assert!(clash.finish().unwrap().step(&BTreeSet::from([0]), &BTreeSet::new()).is_err());
    }

    /// Fields of a single struct become ports at the positions of their wires; other ports stay unchanged.
    #[test]
    fn fields_come_apart() {
        let two = Type::Struct(vec![("p".into(), Type::Uint(1)), ("q".into(), Type::Uint(2))]);
        let evaluator = vec![Port::new("y", two.clone()), Port::new("w", Type::Uint(1))];
        let mut program = ProgramBuilder::new("s", vec![Port::new("x", two.clone())], evaluator).unwrap();
        program.output(Port::new("g", two.clone()), Recipient::Garbler, vec![6, 0, 3]).unwrap();
        program.output(Port::new("e", two.clone()), Recipient::Evaluator, vec![1, 2, 4]).unwrap();
        program.output(Port::new("f", Type::Uint(1)), Recipient::Evaluator, vec![5]).unwrap();
        let (program, apart) = (program.finish().unwrap(), |program: &Program| program.apart().unwrap());
        let named = |ports: &[Port]| ports.iter().map(|port| port.name.clone()).collect::<Vec<_>>();
        assert_eq!(named(apart(&program).input_ports(Party::Garbler)), ["p", "q"]);
        assert_eq!(named(apart(&program).input_ports(Party::Evaluator)), ["y", "w"]);
        assert_eq!(named(&apart(&program).output_ports(Party::Garbler)), ["p", "q"]);
        assert_eq!(named(&apart(&program).output_ports(Party::Evaluator)), ["e", "f"]);
        for input in 0..128 {
            let (x, y) = (bits(input, 3), bits(input >> 3, 4));
            assert_eq!(apart(&program).simulate(&x, &y).concat(), program.simulate(&x, &y).concat());
        }
    }
}
