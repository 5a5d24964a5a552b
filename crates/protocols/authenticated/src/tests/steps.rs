//! Steps of a session: later steps can use kept values, at either party, in memory and from stock.

use super::*;
use crate::hooks::Point;
use crate::layout::Forced;
use crate::parameters::TriplePool;
use brickwork_harness::stores::{BOTH, terms};
use brickwork_protocol::steps::{Secret, Step};
use brickwork_store::{Store, StoreKey};
use brickwork_testing::Replayable as _;

/// Makes a program with two ports of three bits for each party, two slots, and four outputs of three bits:
/// `k` and `o` for both parties, `g` for the garbler, `e` for the evaluator.
fn some_program(rng: &mut Rng) -> Arc<Program> {
    let ports = |names: [&str; 2]| names.map(|name| Port::new(name, Type::Uint(3))).to_vec();
    let mut program = ProgramBuilder::new("step", ports(["x", "s"]), ports(["y", "t"])).unwrap();
    let component = random_component(rng, "c", 5, 4);
    let component = program.component(component).unwrap();
    for _ in 0..2 {
        let wires = u64::from(program.wires());
        let from: Vec<u32> = (0..5).map(|_| rng.below(wires) as u32).collect();
        program.slot(component, &from).unwrap();
    }
    let wires = u64::from(program.wires());
    for (name, to) in [
        ("k", Recipient::Both),
        ("o", Recipient::Both),
        ("g", Recipient::Garbler),
        ("e", Recipient::Evaluator),
    ] {
        let from = (0..3).map(|_| rng.below(wires) as u32).collect();
        program.output(Port::new(name, Type::Uint(3)), to, from).unwrap();
    }
    Arc::new(program.finish().unwrap())
}

/// A step of a script. Its kept inputs are indices into the list of all values kept earlier.
struct Planned {
    program: Arc<Program>,
    carried: Vec<(Party, &'static str, usize)>,
    keeps: Vec<&'static str>,
    inputs: [Vec<bool>; 2],
    /// The outputs that each party must learn.
    expected: [Vec<bool>; 2],
}

impl Planned {
    fn step(&self, kept: &[Secret]) -> Step {
        let carried: Vec<_> =
            self.carried.iter().map(|&(party, port, place)| (party, port, &kept[place])).collect();
        Step::new(&self.program, &carried, &self.keeps).unwrap()
    }
}

/// Makes steps of random programs, each of which may use any values kept before it.
fn script(rng: &mut Rng, steps: usize) -> Vec<Planned> {
    let mut kept: Vec<Vec<bool>> = Vec::new();
    let mut script = Vec::new();
    for number in 0..steps {
        let program = some_program(rng);
        let mut carried = Vec::new();
        for (party, ports) in [(Party::Garbler, ["x", "s"]), (Party::Evaluator, ["y", "t"])] {
            for port in ports {
                if !kept.is_empty() && rng.below(2) == 0 {
                    carried.push((party, port, rng.below(kept.len() as u64) as usize));
                }
            }
        }
        let keeps: Vec<&str> =
            ["k", "o", "g", "e"].into_iter().filter(|_| number == 0 || rng.below(2) == 0).collect();
        // The plain computation gets all inputs, with the kept values.
        let mut bits = |party: Party, port: &str| -> (bool, Vec<bool>) {
            match carried.iter().find(|(by, name, _)| *by == party && *name == port) {
                Some(&(.., place)) => (true, kept[place].clone()),
                None => (false, (0..3).map(|_| rng.below(2) == 1).collect()),
            }
        };
        let all = [(Party::Garbler, ["x", "s"]), (Party::Evaluator, ["y", "t"])]
            .map(|(party, ports)| ports.map(|port| bits(party, port)));
        let in_clear = all.clone().map(|ports| ports.map(|(_, bits)| bits).concat());
        let inputs = all.map(|ports| {
            ports.into_iter().filter(|(carried, _)| !carried).flat_map(|(_, bits)| bits).collect()
        });
        let clear = program.simulate(&in_clear[0], &in_clear[1]);
        let mut expected = [Vec::new(), Vec::new()];
        for (output, value) in program.outputs().iter().zip(&clear) {
            if keeps.contains(&output.port.name.as_str()) {
                kept.push(value.to_vec());
                continue;
            }
            for party in BOTH.into_iter().filter(|party| output.to.includes(*party)) {
                expected[party as usize].extend_from_slice(value);
            }
        }
        script.push(Planned { program, carried, keeps, inputs, expected });
    }
    script
}

/// Returns all items that a script needs.
fn request(script: &[Planned]) -> Request {
    let mut request = Request::default();
    for planned in script {
        request.add(&planned.program.components()[0], 2);
        request.inputs += planned.inputs.iter().map(Vec::len).sum::<usize>();
    }
    request
}

/// Plays a script as one party, with these hooks. Returns the kept values.
fn play(
    party: Party,
    channel: Channel,
    script: &[Planned],
    hooks: Hooks,
) -> Result<(Vec<Secret>, Session), Error> {
    let request = request(script);
    let small = hooks.settings().is_some();
    let mut session =
        Session::begin_with(party, channel, &terms(), Cot::default(), &request, Box::new(Unobserved), hooks)?;
    let mut kept = Vec::new();
    for planned in script {
        let (given, next) = session.run(planned.step(&kept), &planned.inputs[party as usize])?;
        assert_eq!(given.outputs, planned.expected[party as usize], "{party:?}");
        assert!(small || given.promise.bound_log2 <= -40.0);
        assert_eq!((given.kept.len(), next.kept()), (planned.keeps.len(), &given.kept[..]));
        kept.extend(given.kept);
        session = next;
    }
    Ok((kept, session))
}

/// Runs both parties, each at its end of a connection.
fn both<T: Send>(one: impl Fn(Party, Channel) -> T + Sync) -> [T; 2] {
    let (left, right) = memory_pair();
    std::thread::scope(|scope| {
        let garbler = scope.spawn(|| one(Party::Garbler, left));
        let evaluator = one(Party::Evaluator, right);
        [garbler.join().expect("no panic"), evaluator]
    })
}

#[test]
fn steps_give_what_they_give_in_the_clear() {
    let mut rng = Rng::replayable("test steps");
    for _ in 0..4 {
        let script = script(&mut rng, 6);
        let kept = both(|party, channel| {
            let (kept, session) = play(party, channel, &script, Hooks::none()).unwrap();
            let phases = session.close().unwrap();
            assert_eq!(phases.iter().filter(|phase| phase.name == "preprocess").count(), 1);
            kept
        });
        assert_eq!(kept[0], kept[1], "both have the same names");
    }
}

/// The steps run from stock, with one connection for all steps. Kept values are lost with the connection.
#[test]
fn steps_from_stock_give_what_they_give_in_the_clear() {
    let (mut rng, folder) = (Rng::replayable("test steps"), tempfile::tempdir().unwrap());
    let script = script(&mut rng, 5);
    let stores = BOTH.map(|party| {
        let key = StoreKey::from_bytes([7; 32]);
        Store::open(&folder.path().join(format!("{party:?}")), &key).unwrap()
    });
    let open = |party: Party, channel| {
        let store = &stores[party as usize];
        Stocked::open(party, channel, store, &terms(), Cot::default(), Unobserved).unwrap()
    };
    let kept = both(|party, channel| {
        let (_, mut line) = open(party, channel).preprocess(&request(&script)).unwrap();
        let mut kept = Vec::new();
        for planned in &script {
            let input = &planned.inputs[party as usize];
            let (given, next) = line.run(planned.step(&kept), input, Lacking::Refuse).unwrap();
            assert_eq!(given.outputs, planned.expected[party as usize], "{party:?}");
            kept.extend(given.kept);
            line = next;
        }
        line.close().unwrap();
        kept
    });
    let again = &script.iter().rfind(|planned| !planned.carried.is_empty()).unwrap();
    let refused = both(|party, channel| {
        let input = &again.inputs[party as usize];
        open(party, channel).run(again.step(&kept[0]), input, Lacking::Make).map(drop)
    });
    assert!(refused.iter().all(|result| matches!(result, Err(Error::Usage(_)))), "{refused:?}");
}

/// Steps are refused if they use a value that does not exist, was forgotten, belongs to another session, or
/// is not the value that the peer uses.
#[test]
fn what_no_step_can_have_is_refused() {
    let mut rng = Rng::replayable("test steps");
    let scripts = [script(&mut rng, 2), script(&mut rng, 2)];
    let program = some_program(&mut rng);
    let other = both(|party, channel| play(party, channel, &scripts[1], Hooks::none()).unwrap().0);
    let attempt = |which: &(dyn Fn(Party, &[Secret], &mut Session) -> Step + Sync)| {
        both(|party, channel| {
            let (kept, mut session) = play(party, channel, &scripts[0], Hooks::none()).unwrap();
            let step = which(party, &kept, &mut session);
            let input = vec![false; step.input_width(party)];
            session.run(step, &input).map(drop)
        })
    };
    let carries = |secret: &Secret| Step::new(&program, &[(Party::Garbler, "x", secret)], &[]).unwrap();
    // The copies of this component are used up, or were never made.
    let lacking = attempt(&|_, kept, _| carries(&kept[0]));
    assert!(lacking.iter().all(|result| matches!(result, Err(Error::Stock(why)) if why.contains("2 c"))));
    let foreign = attempt(&|_, _, _| carries(&other[0][0]));
    assert!(foreign.iter().all(|result| matches!(result, Err(Error::Usage(why)) if why.contains("session"))));
    let forgotten = attempt(&|_, kept, session| {
        session.forget(&kept[0]);
        carries(&kept[0])
    });
    let says = |why: &str| why.contains("forgotten");
    assert!(forgotten.iter().all(|result| matches!(result, Err(Error::Usage(why)) if says(why))));
    // A step without slots reveals a kept value. Parties that name different values do not continue.
    let ports = |name: &str| vec![Port::new(name, Type::Uint(3))];
    let mut shows = ProgramBuilder::new("shows", ports("x"), vec![]).unwrap();
    shows.output(Port::new("z", Type::Uint(3)), Recipient::Both, vec![0, 1, 2]).unwrap();
    let shows = Arc::new(shows.finish().unwrap());
    let show = |secret: &Secret| Step::new(&shows, &[(Party::Garbler, "x", secret)], &[]).unwrap();
    assert!(attempt(&|_, kept, _| show(&kept[1])).iter().all(Result::is_ok));
    let different = attempt(&|party, kept, _| show(&kept[party as usize]));
    assert!(different.iter().all(|result| matches!(result, Err(Error::Mismatch(_)))), "{different:?}");
    let longer = both(|party, channel| {
        let (kept, session) = play(party, channel, &scripts[0], Hooks::none()).unwrap();
        session.run(show(&kept[1]), &[true]).map(drop)
    });
    assert!(longer.iter().all(|result| matches!(result, Err(Error::Input(_)))), "{longer:?}");
}

/// Lies of a later step about kept wires are detected like any others.
#[test]
fn lies_about_what_was_kept_are_seen() {
    let mut rng = Rng::replayable("test steps");
    for (cheater, point, check) in [
        (Party::Garbler, Point::Solderings, Cheat::Soldering),
        (Party::Evaluator, Point::Report, Cheat::Labels),
    ] {
        // Chooses a script whose second step uses a kept value.
        let script = loop {
            let script = script(&mut rng, 2);
            if !script[1].carried.is_empty() {
                break script;
            }
        };
        let pool = Some(TriplePool { size: 2, bucket: 3 });
        let ends = both(|party, channel| {
            let mut steps = 0;
            let alter = move |at: Point, bytes: &mut [u8]| {
                if at == point && party == cheater {
                    steps += 1;
                    bytes[0] ^= u8::from(steps == 2);
                }
            };
            let forced = Forced { pool, looks_away: party == cheater, ..Forced::default() };
            play(party, channel, &script, Hooks::lying(alter).with(forced)).map(drop)
        });
        let honest = &ends[1 - cheater as usize];
        assert!(honest.as_ref().is_err_and(|error| error.is_cheat(check)), "{point:?}: {honest:?}");
        assert!(matches!(ends[cheater as usize], Err(Error::Io(_))), "{point:?}: the cheater learns nothing");
    }
}
