//! Steps of a session: decoded outputs, kept outputs, and the effect of a cheat on later steps.

use brickwork_testing::Replayable as _;
use std::sync::Arc;

use super::harness::*;
use super::sessions::{both, both_with, over};
use crate::hooks::{Hooks, Point};
use crate::{Cheat, Request, Secret, Step, StepReport};
use brickwork_base::Error;
use brickwork_base::random::Rng;
use brickwork_circuit::{Component, Party, Port, Program, ProgramBuilder, Recipient, Type};
use brickwork_wire::{Crossings, counting_pair};

const PARTIES: [Party; 2] = [Party::Garbler, Party::Evaluator];

/// The bits of each port.
const WIDTH: u32 = 2;

fn port(name: &str) -> Port {
    Port::new(name, Type::Uint(WIDTH))
}

/// Returns two components of different shapes.
fn components() -> [Component; 2] {
    let cross = component("cross", 4, |b, w| {
        let and = b.and(w[0], w[3]);
        vec![b.xor(and, w[1]), b.and(w[1], w[2]), b.xor(w[0], w[2])]
    });
    [pair(), cross]
}

/// A step of a random session, and its expected results.
struct Planned {
    program: Arc<Program>,
    /// The ports that take kept values, each with an index into the list of all kept values.
    carried: Vec<(Party, String, usize)>,
    kept: Vec<String>,
    inputs: [Vec<bool>; 2],
    outputs: [Vec<bool>; 2],
    /// True if `run` plays the step at once, not phase by phase.
    at_once: bool,
}

impl Planned {
    /// Draws a step that may use earlier kept values. Appends the values that it keeps to `kept`.
    fn draw(kept: &mut Vec<Vec<bool>>, rng: &mut Rng) -> Planned {
        let mut carried = Vec::new();
        // For each party: its ports, the values of its input bits, and the values of the bits of all its
        // ports, with kept values.
        let mut sides = Vec::new();
        for (party, letter) in PARTIES.into_iter().zip(["x", "y"]) {
            let (mut ports, mut own, mut all) = (Vec::new(), Vec::new(), Vec::new());
            for k in 0..1 + rng.below(3) {
                let name = format!("{letter}{k}");
                ports.push(port(&name));
                if !kept.is_empty() && rng.below(2) == 1 {
                    let which = rng.below(kept.len() as u64) as usize;
                    all.extend_from_slice(&kept[which]);
                    carried.push((party, name, which));
                } else {
                    let bits: Vec<bool> = (0..WIDTH).map(|_| rng.below(2) == 1).collect();
                    own.extend_from_slice(&bits);
                    all.extend(bits);
                }
            }
            sides.push((ports, own, all));
        }
        let [(xs, x, all_x), (ys, y, all_y)] = sides.try_into().expect("two sides");
        let mut program = ProgramBuilder::new("step", xs, ys).unwrap();
        let ids = components().map(|component| (component.clone(), program.component(component).unwrap()));
        for _ in 0..rng.below(4) {
            let (component, id) = &ids[rng.below(2) as usize];
            let from = |_| rng.below(u64::from(program.wires())) as u32;
            let inputs: Vec<u32> = (0..component.circuit.inputs()).map(from).collect();
            program.slot(*id, &inputs).unwrap();
        }
        let (mut names, mut places) = (Vec::new(), Vec::new());
        for k in 0..1 + rng.below(4) {
            let wires = (0..WIDTH).map(|_| rng.below(u64::from(program.wires())) as u32).collect();
            let to = [Recipient::Garbler, Recipient::Evaluator, Recipient::Both][rng.below(3) as usize];
            let name = format!("z{k}");
            program.output(port(&name), to, wires).unwrap();
            // The first step keeps a value, because a session without kept values forgets a recovered offset.
            if rng.below(2) == 1 || kept.is_empty() && k == 0 {
                names.push(name);
                places.push(k as usize);
            }
        }
        let program = Arc::new(program.finish().unwrap());
        let values = program.simulate(&all_x, &all_y);
        let outputs = PARTIES.map(|party| {
            let learned =
                |place: &usize| !places.contains(place) && program.outputs()[*place].to.includes(party);
            (0..values.len()).filter(learned).flat_map(|place| values[place].clone()).collect()
        });
        kept.extend(places.iter().map(|&place| values[place].clone()));
        Planned { program, carried, kept: names, inputs: [x, y], outputs, at_once: rng.below(2) == 1 }
    }

    fn step(&self, secrets: &[Secret]) -> Result<Step, Error> {
        let carried: Vec<_> = self
            .carried
            .iter()
            .map(|(party, name, which)| (*party, name.as_str(), &secrets[*which]))
            .collect();
        Step::new(&self.program, &carried, &self.kept.iter().map(String::as_str).collect::<Vec<_>>())
    }
}

/// Draws the steps of a session, and the request for all their items.
fn planned(steps: usize, rng: &mut Rng) -> (Vec<Planned>, Request) {
    let mut kept = Vec::new();
    let planned: Vec<Planned> = (0..steps).map(|_| Planned::draw(&mut kept, rng)).collect();
    let request = requested(&planned);
    (planned, request)
}

/// Returns all items that these steps need.
fn requested<'p>(planned: impl IntoIterator<Item = &'p Planned>) -> Request {
    let mut request =
        Request { components: components().map(|c| (c, 1)).into(), garbler_wires: 1, ots: Some(1) };
    for Planned { program, kept, inputs: [x, y], .. } in planned {
        let slots = program.slots_by_component();
        request.components.iter_mut().zip(slots).for_each(|((_, all), slots)| *all += slots);
        let private = program.outputs().iter().filter(|o| o.to == Recipient::Garbler).count();
        request.garbler_wires += x.len() + WIDTH as usize * (private + kept.len());
        *request.ots.as_mut().unwrap() += y.len();
    }
    request
}

/// Plays all steps as one party. `play` plays a step at once or phase by phase.
fn played<S>(
    mut session: S,
    planned: &[Planned],
    party: Party,
    play: impl Fn(S, bool, &Step, &[bool]) -> Result<(Vec<bool>, Vec<Secret>, S), Error>,
) -> Result<Vec<Vec<bool>>, Error> {
    let (mut secrets, mut outputs) = (Vec::new(), Vec::new());
    for one in planned {
        let (step, input) = (one.step(&secrets)?, &one.inputs[party as usize]);
        let (bits, kept, next) = play(session, one.at_once, &step, input)?;
        secrets.extend(kept);
        outputs.push(bits);
        session = next;
    }
    Ok(outputs)
}

/// Returns the outputs of a step that was played at once, and the session.
fn outputs_of<S>((report, session): (StepReport, S)) -> (Vec<bool>, S) {
    (report.outputs, session)
}

fn garbles(session: crate::Garbler, planned: &[Planned]) -> Result<Vec<Vec<bool>>, Error> {
    played(session, planned, Party::Garbler, |session, at_once, step, input| {
        let (outputs, session) = match at_once {
            true => outputs_of(session.run(step, input)?),
            false => session.build(step)?.evaluate(input)?.decode()?,
        };
        Ok((outputs, session.kept().to_vec(), session))
    })
}

/// Plays all steps as the evaluator. Returns the outputs, and for each step if Δ_ka was known.
fn evaluates(session: crate::Evaluator, planned: &[Planned]) -> Result<(Vec<Vec<bool>>, Vec<bool>), Error> {
    let known = std::cell::RefCell::new(Vec::new());
    let outputs = played(session, planned, Party::Evaluator, |session, at_once, step, input| {
        let (outputs, recovered, session) = match at_once {
            true => {
                let (StepReport { outputs, aside, .. }, session) = session.run(step, input)?;
                (outputs, aside.recovered, session)
            }
            false => session.build(step)?.evaluate(input)?.decode()?,
        };
        known.borrow_mut().push(recovered);
        Ok((outputs, session.kept().to_vec(), session))
    })?;
    Ok((outputs, known.into_inner()))
}

fn expected(planned: &[Planned], party: Party) -> Vec<Vec<bool>> {
    planned.iter().map(|one| one.outputs[party as usize].clone()).collect()
}

/// Each step gives the plaintext's outputs, for any recipients of outputs, and for values that are kept and
/// used, once or several times, by ports of either party.
#[test]
fn steps_give_what_they_give_in_the_clear() {
    let mut rng = Rng::replayable("test steps");
    for _ in 0..6 {
        let (planned, request) = planned(8, &mut rng);
        let (garbled, evaluated) = both(
            |session| garbles(session.fill(&request)?, &planned),
            |session| evaluates(session.fill(&request)?, &planned),
        );
        let (evaluated, known) = evaluated.unwrap();
        assert_eq!([garbled.unwrap(), evaluated], PARTIES.map(|party| expected(&planned, party)));
        assert!(!known.contains(&true));
    }
}

/// A garbler whose copies give two valid labels reveals Δ_ka in any step that uses these copies. All outputs
/// of this step and of later ones are right for both parties, and so are kept values.
#[test]
fn row_14_recovery_lasts_through_the_steps() {
    let mut rng = Rng::replayable("test steps");
    let (mut late, mut early) = (0, 0);
    for _ in 0..8 {
        let (planned, request) = planned(6, &mut rng);
        // In one bucket of each component, one copy gives the label of the opposite bit on its first output.
        let copies = [0, 1].map(|id| {
            let bucketing = stock_bucketing(&request, id);
            let slot = rng.below(u64::from(bucketing.slots)) as usize;
            chosen(bucketing)[slot * bucketing.bucket as usize]
        });
        let [pairs, crosses] = copies;
        let lie = move |point: Point, bytes: &mut [u8]| match point {
            Point::CommittedOutputs(0) => flip(2 * pairs, 0)(bytes),
            Point::CommittedOutputs(1) => flip(3 * crosses, 0)(bytes),
            _ => {}
        };
        let knows = |point: Point, seeds: &mut [u8]| {
            if point == Point::Challenge {
                seeds.fill(SEED);
            }
        };
        let (garbled, evaluated) = both_with(
            [Hooks::lying(lie), Hooks::lying(knows)],
            |session| garbles(session.fill(&request)?, &planned),
            |session| evaluates(session.fill(&request)?, &planned),
        );
        let (evaluated, known) = evaluated.unwrap();
        assert_eq!([garbled.unwrap(), evaluated], PARTIES.map(|party| expected(&planned, party)));
        // Once Δ_ka is known, it stays known.
        assert!(known.is_sorted(), "{known:?}");
        late += usize::from(known.last() == Some(&true) && !known[0]);
        early += usize::from(known[0]);
    }
    assert!(late > 0 && late + early > 2, "{late} {early}");
}

/// A step is refused before anything is sent if its secret belongs to another session, has another type, was
/// forgotten, or is for a port that does not exist.
#[test]
fn row_16_secrets_are_of_one_session() {
    let program = wires(2, 1, &[(Recipient::Both, vec![0, 2]), (Recipient::Garbler, vec![1])]);
    let step = Step::new(&program, &[], &["z0"]).unwrap();
    let request = Request { components: Vec::new(), garbler_wires: 9, ots: Some(3) };
    let kept = || {
        let (garbled, evaluated) = both(
            |session| {
                let (_, session) =
                    session.fill(&request)?.build(&step)?.evaluate(&[true, false])?.decode()?;
                Ok((session.kept().to_vec(), session))
            },
            |session| {
                let (.., session) = session.fill(&request)?.build(&step)?.evaluate(&[true])?.decode()?;
                Ok((session.kept().to_vec(), session))
            },
        );
        (garbled.unwrap(), evaluated.unwrap())
    };
    let ((mine, mut garbler), (theirs, evaluator)) = kept();
    assert_eq!((mine.len(), &mine), (1, &theirs));
    let secret = &mine[0];
    assert_eq!(secret.ty(), &Type::Uint(2));
    let named = |carried: &[(Party, &str, &Secret)], kept: &[&str]| match Step::new(&program, carried, kept) {
        Err(Error::Input(why)) => why,
        other => panic!("{other:?}"),
    };
    assert_eq!(named(&[(Party::Garbler, "w", secret)], &[]), "the program has no input w");
    assert_eq!(named(&[], &["z2"]), "the program has no output z2");
    assert_eq!(named(&[], &["z1", "z1"]), "output z1 is kept twice");
    let twice = [(Party::Garbler, "x", secret), (Party::Garbler, "x", secret)];
    assert_eq!(named(&twice, &[]), "input x is given two secrets; give one");
    assert!(named(&[(Party::Evaluator, "y", secret)], &[]).starts_with("input y has type "));

    let on = Step::new(&program, &[(Party::Garbler, "x", secret)], &[]).unwrap();
    assert_eq!(PARTIES.map(|party| on.input_width(party)), [0, 1]);
    let (_, (_, other)) = kept();
    assert!(matches!(other.build(&on).map(drop), Err(Error::Usage(_))));
    garbler.forget(secret);
    assert!(matches!(garbler.build(&on).map(drop), Err(Error::Usage(_))));
    // The other party only found the connection closed.
    assert!(matches!(evaluator.build(&on).map(drop), Err(Error::Io(_))));
}

/// Parties that want to use different kept values do not begin the step.
#[test]
fn row_19_both_parties_carry_on_the_same() {
    let program = wires(2, 1, &[(Recipient::Both, vec![0, 2]), (Recipient::Garbler, vec![0, 1])]);
    let (first, request) = (
        Step::new(&program, &[], &["z0", "z1"]).unwrap(),
        Request { components: Vec::new(), garbler_wires: 19, ots: Some(3) },
    );
    let next = |secret: &Secret| Step::new(&program, &[(Party::Garbler, "x", secret)], &[]);
    let (garbled, evaluated) = both(
        |session| {
            let (_, session) = session.fill(&request)?.build(&first)?.evaluate(&[true, false])?.decode()?;
            let step = next(&session.kept()[0])?;
            session.build(&step).map(drop)
        },
        |session| {
            let (.., session) = session.fill(&request)?.build(&first)?.evaluate(&[true])?.decode()?;
            let step = next(&session.kept()[1])?;
            session.build(&step).map(drop)
        },
    );
    assert!(matches!(garbled, Err(Error::Mismatch(_))), "{garbled:?}");
    assert!(matches!(evaluated, Err(Error::Mismatch(_))), "{evaluated:?}");
}

/// A lie in a later step is detected like one in the first step: about solderings of kept values, labels,
/// indicator bits or outputs.
#[test]
fn rows_10_13_and_15_lies_in_a_later_step() {
    let mut program = ProgramBuilder::new("two", vec![port("x")], vec![port("y")]).unwrap();
    let id = program.component(pair()).unwrap();
    let first = program.slot(id, &[0, 2]).unwrap();
    program.output(port("g"), Recipient::Garbler, vec![first, 1]).unwrap();
    program.output(port("e"), Recipient::Evaluator, vec![first + 1, 3]).unwrap();
    program.output(port("kept"), Recipient::Both, vec![first, first + 1]).unwrap();
    let program = Arc::new(program.finish().unwrap());
    let request = Request { components: vec![(pair(), 2)], garbler_wires: 10, ots: Some(4) };
    let keeps = Step::new(&program, &[], &["kept"]).unwrap();
    let lies = [
        (Party::Garbler, Point::ProgramSolderings(0), Cheat::Opening),
        (Party::Garbler, Point::PrivateSolderings, Cheat::Opening),
        (Party::Garbler, Point::InputChoices, Cheat::Opening),
        (Party::Garbler, Point::Indicators, Cheat::Indicator),
        (Party::Evaluator, Point::OutputLabels, Cheat::ForgedOutput),
    ];
    for (cheater, point, cheat) in lies {
        for (in_step, at_once) in [(0, false), (1, false), (0, true), (1, true)] {
            let mut seen = 0;
            let lie = move |at: Point, bytes: &mut [u8]| {
                if at == point {
                    bytes[0] ^= u8::from(seen == in_step);
                    seen += 1;
                }
            };
            let hooks = |party| match party == cheater {
                true => Hooks::lying(lie),
                false => Hooks::none(),
            };
            let carries = |secret: &Secret| Step::new(&program, &[(Party::Garbler, "x", secret)], &["kept"]);
            let reached = std::sync::atomic::AtomicUsize::new(0);
            let step = |kept: &[Secret]| {
                reached.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                carries(&kept[0])
            };
            let (garbled, evaluated) = both_with(
                PARTIES.map(hooks),
                |session| {
                    let (session, input) = (session.fill(&request)?, [true, false]);
                    let (_, session) = match at_once {
                        true => outputs_of(session.run(&keeps, &input)?),
                        false => session.build(&keeps)?.evaluate(&input)?.decode()?,
                    };
                    let next = step(session.kept())?;
                    match at_once {
                        true => session.run(&next, &[]).map(drop),
                        false => session.build(&next)?.evaluate(&[])?.decode().map(drop),
                    }
                },
                |session| {
                    let (session, input) = (session.fill(&request)?, [true, true]);
                    let session = match at_once {
                        true => session.run(&keeps, &input)?.1,
                        false => session.build(&keeps)?.evaluate(&input)?.decode()?.2,
                    };
                    let next = step(session.kept())?;
                    match at_once {
                        true => session.run(&next, &[false, true]).map(drop),
                        false => session.build(&next)?.evaluate(&[false, true])?.decode().map(drop),
                    }
                },
            );
            let caught = if cheater == Party::Garbler { evaluated } else { garbled };
            let Err(Error::Peer(found)) = caught else { panic!("{point:?} in step {in_step}: {caught:?}") };
            assert_eq!(found, cheat, "{point:?} in step {in_step}");
            // Only a party that cheats when the first step is decoded reaches the second step, alone.
            let parties = reached.into_inner();
            assert!(if in_step == 0 { parties < 2 } else { parties == 2 }, "{point:?}: {parties}");
        }
    }
}

/// A further step takes two round trips until the evaluator knows its outputs, and half a round trip more for
/// the garbler. Phase by phase it takes four and a half round trips.
#[test]
fn a_further_step_takes_two_round_trips() {
    let mut program = ProgramBuilder::new("two", vec![port("x")], vec![port("y")]).unwrap();
    let id = program.component(pair()).unwrap();
    let first = program.slot(id, &[0, 2]).unwrap();
    program.output(port("z"), Recipient::Both, vec![first, 1]).unwrap();
    let program = Arc::new(program.finish().unwrap());
    let request = Request { components: vec![(pair(), 3)], garbler_wires: 6, ots: Some(6) };
    let (left, right, [at_garbler, at_evaluator]) = counting_pair();
    let begin = std::sync::Barrier::new(2);
    // Both parties have ended the previous run, and no message is in transit.
    let fresh = |crossings: &Crossings| {
        begin.wait();
        crossings.reset();
        begin.wait();
    };
    let (x, y) = ([true, false], [true, true]);
    let (garbled, evaluated) = over(
        (left, right),
        [Hooks::none(), Hooks::none()],
        |session| {
            let (_, session) = session.fill(&request)?.run(&program, &x)?;
            fresh(&at_garbler);
            let (outputs, session) = outputs_of(session.run(&program, &x)?);
            let at_once = at_garbler.get();
            fresh(&at_garbler);
            let (again, _) = session.build(&program)?.evaluate(&x)?.decode()?;
            Ok((outputs, again, [at_once, at_garbler.get()]))
        },
        |session| {
            let (_, session) = session.fill(&request)?.run(&program, &y)?;
            fresh(&at_evaluator);
            let (outputs, session) = outputs_of(session.run(&program, &y)?);
            let at_once = at_evaluator.get();
            fresh(&at_evaluator);
            let (again, ..) = session.build(&program)?.evaluate(&y)?.decode()?;
            Ok((outputs, again, [at_once, at_evaluator.get()]))
        },
    );
    let expected = program.output_bits(Party::Garbler, &program.simulate(&x, &y));
    assert_eq!(garbled.unwrap(), (expected.clone(), expected.clone(), [5, 9]));
    assert_eq!(evaluated.unwrap(), (expected.clone(), expected, [4, 8]));
}

/// Parties that run different steps notice it before an input's label is sent, without an additional round
/// trip. A party that announces a step and runs a different one is refused.
#[test]
fn row_19_both_parties_run_the_same() {
    let [one, other] = [[0, 1], [1, 0]].map(|z| wires(2, 1, &[(Recipient::Both, z.to_vec())]));
    let request = Request { components: Vec::new(), garbler_wires: 2, ots: None };
    for ots in [None, Some(1)] {
        let request = Request { ots, ..request.clone() };
        let (garbled, evaluated) = both(
            |session| session.fill(&request)?.run(&one, &[true, false]).map(drop),
            |session| session.fill(&request)?.run(&other, &[true]).map(drop),
        );
        assert!(matches!(garbled, Err(Error::Mismatch(_))), "{garbled:?}");
        assert!(matches!(evaluated, Err(Error::Mismatch(_))), "{evaluated:?}");
    }
}

/// Missing items, or an input of a wrong length, are the caller's mistake: nothing is sent.
#[test]
fn row_19_a_step_that_cannot_run_sends_nothing() {
    let program = wires(2, 1, &[(Recipient::Both, vec![0, 2])]);
    let request = Request { components: Vec::new(), garbler_wires: 2, ots: Some(1) };
    for (x, wires) in [(&[true][..], 2), (&[true, false], 1)] {
        let request = Request { garbler_wires: wires, ..request.clone() };
        let (garbled, evaluated) = both(
            |session| session.fill(&request)?.run(&program, x).map(drop),
            |session| {
                let session = session.fill(&request)?;
                // The evaluator gets no byte of the step before the connection is closed.
                Ok(agree_with_nobody(session))
            },
        );
        let refused = garbled.unwrap_err();
        assert!(matches!((&refused, wires), (Error::Input(_), 2) | (Error::Stock(_), 1)), "{refused:?}");
        assert!(matches!(evaluated.unwrap(), Err(Error::Io(_))));
    }
}

/// Waits for the first byte of a step.
fn agree_with_nobody(mut session: crate::Evaluator) -> Result<(), Error> {
    brickwork_protocol::confirm(&mut session.core.run.channel, &[0; 32], "")
}

/// Steps side by side, in the messages of one step, give the same results as steps one after another, for any
/// kept values and recipients.
#[test]
fn steps_side_by_side_give_what_they_give_one_after_another() {
    let mut rng = Rng::replayable("test steps");
    for _ in 0..4 {
        // The first steps keep values. The second group of steps may use them, and runs at once.
        let mut kept = Vec::new();
        let first: Vec<Planned> = (0..2)
            .map(|_| {
                let mut by_this = Vec::new();
                let planned = Planned::draw(&mut by_this, &mut rng);
                kept.extend(by_this);
                planned
            })
            .collect();
        let second: Vec<Planned> = (0..3).map(|_| Planned::draw(&mut kept.clone(), &mut rng)).collect();
        let groups = [first, second];
        let request = requested(groups.iter().flatten());
        let beside = |planned: &[Planned], secrets: &[Secret]| {
            let steps: Result<Vec<Step>, Error> = planned.iter().map(|one| one.step(secrets)).collect();
            Step::beside(&steps?)
        };
        let given = |planned: &[Planned], party: Party| {
            planned.iter().flat_map(|one| one.inputs[party as usize].clone()).collect::<Vec<bool>>()
        };
        let learned = |party: Party| groups.each_ref().map(|planned| expected(planned, party).concat());
        let (garbled, evaluated) = both(
            |session| {
                let (mut session, mut outputs) = (session.fill(&request)?, Vec::new());
                for planned in &groups {
                    let step = beside(planned, session.kept())?;
                    let (bits, next) = outputs_of(session.run(&step, &given(planned, Party::Garbler))?);
                    assert_eq!(bits.len(), step.output_width(Party::Garbler));
                    outputs.push(bits);
                    session = next;
                }
                Ok(outputs)
            },
            |session| {
                let (mut session, mut outputs) = (session.fill(&request)?, Vec::new());
                for planned in &groups {
                    let step = beside(planned, session.kept())?;
                    let (bits, next) = outputs_of(session.run(&step, &given(planned, Party::Evaluator))?);
                    assert_eq!(bits.len(), step.output_width(Party::Evaluator));
                    outputs.push(bits);
                    session = next;
                }
                Ok(outputs)
            },
        );
        assert_eq!([garbled.unwrap(), evaluated.unwrap()], PARTIES.map(|party| learned(party).to_vec()));
    }
}

/// With steps side by side, all steps are proven before any party has an output. So a party that lies in one
/// step to see the result of the other gets neither.
#[test]
fn row_17_a_lie_in_one_of_two_steps_side_by_side_ends_both() {
    use std::sync::atomic::{AtomicUsize, Ordering};
    let mut program = ProgramBuilder::new("two", vec![port("x")], vec![port("y")]).unwrap();
    let id = program.component(pair()).unwrap();
    let first = program.slot(id, &[0, 2]).unwrap();
    program.output(port("z"), Recipient::Both, vec![first, 1]).unwrap();
    let one = Arc::new(program.finish().unwrap());
    let other = wires(2, 1, &[(Recipient::Both, vec![0, 2])]);
    let request = Request { components: vec![(pair(), 2)], garbler_wires: 8, ots: Some(6) };
    let beside = || Step::beside(&[Step::from(&one), Step::from(&other)]);
    let of_purpose = Step::beside(&[Step::from(&one).for_purpose([1; 32]), Step::from(&other)]);
    assert!(matches!(of_purpose, Err(Error::Input(_))));
    let (x, y) = ([true, false, false, true], [true, true, false]);
    let lies = [None, Some(Point::ProgramSolderings(0)), Some(Point::InputChoices), Some(Point::Indicators)];
    for lies_at in lies {
        let told = Arc::new(AtomicUsize::new(0));
        let counts = told.clone();
        // The first bytes belong to the first step.
        let lie = move |at: Point, bytes: &mut [u8]| {
            if Some(at) == lies_at {
                bytes[0] ^= 1;
            }
        };
        let watch = move |at: Point, _: &mut [u8]| {
            counts.fetch_add(usize::from(at == Point::OutputLabels), Ordering::Relaxed);
        };
        let (garbled, evaluated) = both_with(
            [Hooks::lying(lie), Hooks::lying(watch)],
            |session| Ok(outputs_of(session.fill(&request)?.run(&beside()?, &x)?).0),
            |session| Ok(outputs_of(session.fill(&request)?.run(&beside()?, &y)?).0),
        );
        let told = told.load(Ordering::Relaxed);
        match lies_at {
            None => assert_eq!((garbled.unwrap(), told), (evaluated.unwrap(), 1)),
            Some(point) => {
                assert!(matches!(evaluated, Err(Error::Peer(_))), "{point:?}: {evaluated:?}");
                assert!(garbled.is_err(), "{point:?}: {garbled:?}");
                assert_eq!(told, 0, "{point:?}");
            }
        }
    }
}
