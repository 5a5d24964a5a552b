//! A protocol that is no part of this library is registered, and then runs, plans and options take it by its
//! name. The toy protects nothing: the evaluator sends its input to the garbler, which computes.

use std::thread;

use brickwork::circuit::{self, Party};
use brickwork::cut::Cut;
use brickwork::disk::Store;
use brickwork::engine::Observe;
use brickwork::engine::meeting::{Offer, Sheet};
use brickwork::engine::protocols::{EngineProtocol, Only, PreparedRun, RunResult, played, register};
use brickwork::engine::request::RunRequest;
use brickwork::engine::work::{PartyWork, RunEstimate};
use brickwork::options::{RunOptions, from_json};
use brickwork::plan::{Cost, PartyBytes, PhaseCost};
use brickwork::protocol::{Model, PhaseReport, Promise};
use brickwork::wire::tls::Met;
use brickwork::wire::{Channel, Tag};
use brickwork::{
    Error, ErrorKind, Identity, Inputs, LinkSpeed, Party as Participant, Plan, Program, Protocol,
    ProtocolError,
};

const NAME: &str = "in-the-clear";
const WARNING: &str = "--protocol in-the-clear protects nothing";
const BITS: Tag = Tag(40);

struct Toy;

/// Returns the bytes of so many bits, of which each takes a byte, with the length and the tag of the message.
fn sent(bits: usize) -> u64 {
    8 + bits as u64
}

fn promise() -> Promise {
    Promise::semi_honest(0.0, WARNING)
}

impl EngineProtocol for Toy {
    fn model(&self) -> Model {
        Model::SemiHonest
    }

    fn warning(&self) -> Option<&'static str> {
        Some(WARNING)
    }

    fn online_from(&self) -> &'static str {
        "all"
    }

    fn allows(&self, _: &RunRequest) -> Result<(), Error> {
        Ok(())
    }

    fn only_way(
        &self,
        program: &circuit::Program,
        _: u32,
        _: &RunRequest,
        _: &RunEstimate,
    ) -> Result<Option<Only>, Error> {
        let outputs = program.outputs_of(Party::Evaluator).map(|output| output.wires.len()).sum();
        let phase = PhaseCost {
            name: "all".into(),
            seconds: 1e-3,
            garbler_sent_bytes: sent(outputs),
            evaluator_sent_bytes: sent(program.input_width(Party::Evaluator)),
            crossings: 2,
        };
        let (memory_bytes, disk_bytes) = (PartyBytes::default(), PartyBytes::default());
        let cost = Cost { phases: vec![phase], cpu_seconds: 1e-3, memory_bytes, disk_bytes };
        Ok(Some(Only::new(cost, promise())))
    }

    fn program(&self, given: &circuit::Program, executions: Option<u32>) -> Result<circuit::Program, Error> {
        brickwork::program::repeated(given, executions)
    }

    fn ready<'w>(
        &self,
        work: &'w PartyWork<'w>,
        _: Option<Store>,
    ) -> Result<Box<dyn PreparedRun + 'w>, Error> {
        Ok(Box::new(ReadyToy(work)))
    }
}

struct ReadyToy<'w>(&'w PartyWork<'w>);

impl PreparedRun for ReadyToy<'_> {
    fn offer(&self) -> Option<Offer> {
        None
    }

    fn compare(&self, own: &Sheet, met: &mut Met) -> Result<String, ProtocolError> {
        self.0.compare(own, met, Some(&self.0.job.program), None)
    }

    fn run(
        &mut self,
        mut channel: Channel,
        input: &[bool],
        watch: &Observe,
    ) -> Result<RunResult, ProtocolError> {
        let (program, mut observer) = (&self.0.job.program, watch(&["all"]));
        observer.phase("all");
        let bytes = |bits: &[bool]| bits.iter().map(|bit| u8::from(*bit)).collect::<Vec<_>>();
        let bits = |bytes: Vec<u8>| bytes.iter().map(|byte| *byte == 1).collect::<Vec<_>>();
        let outputs = match self.0.party {
            Party::Evaluator => {
                channel.send(BITS, &bytes(input))?;
                channel.flush()?;
                let width = program.outputs_of(Party::Evaluator).map(|output| output.wires.len()).sum();
                let mut outputs = vec![0; width];
                channel.receive_into(BITS, &mut outputs)?;
                bits(outputs)
            }
            Party::Garbler => {
                let mut theirs = vec![0; program.input_width(Party::Evaluator)];
                channel.receive_into(BITS, &mut theirs)?;
                let theirs = bits(theirs);
                let all = program.simulate(input, &theirs);
                channel.send(BITS, &bytes(&program.output_bits(Party::Evaluator, &all)))?;
                channel.flush()?;
                program.output_bits(Party::Garbler, &all)
            }
        };
        let phase = PhaseReport {
            name: "all".into(),
            seconds: 0.0,
            garbler_sent_bytes: 0,
            evaluator_sent_bytes: 0,
            spans: Vec::new(),
        };
        Ok(RunResult {
            outputs,
            phases: vec![phase],
            promise: promise(),
            predicted: None,
            cut: Cut::Given,
            and_gates: program.and_gates(),
            recovered: false,
            made: None,
        })
    }
}

fn party(make: fn(Identity) -> Participant, toy: Protocol) -> (Participant, brickwork::PublicKey) {
    let identity = Identity::generate().unwrap().0;
    let public = identity.public_key();
    let mut party = make(identity);
    party.protocol(toy);
    (party, public)
}

#[test]
fn a_registered_protocol_is_taken_by_its_name() {
    let options = r#"{"protocol": "in-the-clear"}"#;
    let request = || from_json::<RunOptions>(options)?.request();
    assert!(request().is_err_and(|error| error.kind() == ErrorKind::Usage), "nobody has registered it");
    let toy = register(NAME, &Toy).unwrap();
    assert_eq!(request().unwrap().parameters.protocol.only(), Some(toy));
    assert_eq!((NAME.parse(), Protocol::all().last()), (Ok(toy), Some(&toy)));
    assert_eq!(played(toy).warning(), Some(WARNING));
    for taken in [NAME, "duplo"] {
        let again = register(taken, &Toy);
        assert!(again.is_err_and(|error| error.message().contains(taken)), "{taken}");
    }

    let text = "#parties 2\n#input 1 uint_t 8\n#input 2 uint_t 8\n#output 1 uint_t 8\n#output 2 uint_t 8\n\
                function void main() { output1 = input1 + input2; output2 = input1 - input2; }";
    let program = Program::from_source("both.wir", text).unwrap();
    let (garbler, to_garbler) = party(Participant::garbler, toy);
    let (evaluator, to_evaluator) = party(Participant::evaluator, toy);
    let mut garbler = garbler.peer(to_evaluator).listen("127.0.0.1:0");
    let mut evaluator = evaluator.peer(to_garbler).connect(garbler.bind().unwrap().to_string());
    let other = program.clone();
    let first = thread::spawn(move || garbler.run(&other, &Inputs::from(("input1", 9u8))));
    let second = evaluator.run(&program, &Inputs::from(("input2", 4u8))).unwrap();
    let first = first.join().unwrap().unwrap();
    assert_eq!(first.outputs.get::<u8>("output1").unwrap(), 13);
    assert_eq!(second.outputs.get::<u8>("output2").unwrap(), 5);
    assert_eq!((first.report.protocol, second.report.protocol.name()), (toy, NAME));

    let plans = Plan::of(&program, LinkSpeed::default(), [toy]).unwrap();
    assert_eq!(plans[0].round_trips, 1.0);
}
