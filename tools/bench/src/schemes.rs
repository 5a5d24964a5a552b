//! `brickwork bench garbling --scheme …`: the schemes of JustGarble, as in its figures 1, 8 and 9.

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use brickwork::justgarble::{
    Cipher, Evaluator, GarbledCircuit, Garbler, Method, NormalCircuit, PublicCircuit, PublicGate, Scheme,
    library,
};
use brickwork::random::Rng;
use brickwork_cli::parts::{Failure, Report, programs};
use brickwork_kernels::Kernel;
use brickwork_report::words::{plural, thousands};
use serde_json::{Value, json};

use crate::garbling::BenchGarblingFlags;
use crate::measured::{Figure, GarblingTimes, aes_ns, time};
use crate::runs::median;
use crate::table::{Form, TableColumn, table};

/// A circuit of the paper.
#[derive(Clone, Copy)]
pub enum OfPaper {
    /// AES-128 in the paper's form.
    Aes,
    /// Modular exponentiation of numbers with this many bits.
    Mexp(usize),
    /// The edit distance of strings with this many bits.
    Edt(u32),
}

impl OfPaper {
    /// Returns the circuit of this name, for clap.
    pub fn parse(name: &str) -> Result<Self, String> {
        let number = |prefix: &str| name.strip_prefix(prefix).and_then(|rest| rest.parse::<u32>().ok());
        match (name, number("mexp-"), number("edt-")) {
            ("aes", ..) => Ok(OfPaper::Aes),
            (_, Some(bits @ 10..=64), _) => Ok(OfPaper::Mexp(bits as usize)),
            (_, _, Some(bits @ 1..=255)) => Ok(OfPaper::Edt(bits)),
            _ => Err("a circuit of the paper is aes, mexp-10 to mexp-64 or edt-1 to edt-255".into()),
        }
    }

    fn name(self) -> String {
        match self {
            OfPaper::Aes => "AES-128 in the paper's shape".into(),
            OfPaper::Mexp(bits) => format!("MEXP-{bits}"),
            OfPaper::Edt(bits) => format!("EDT-{bits}"),
        }
    }

    fn circuit(self) -> Result<NormalCircuit, brickwork::ProtocolError> {
        match self {
            OfPaper::Aes => library::aes(),
            OfPaper::Mexp(bits) => library::modular_exponentiation(bits),
            OfPaper::Edt(bits) => library::edit_distance(bits),
        }
    }
}

/// The values of `--scheme`.
#[derive(Clone, Copy, PartialEq)]
pub enum SchemeFlag {
    /// The half-gates of the protocols, for which no circuit of the paper is measured.
    OfProtocols,
    /// The schemes of figures 1 and 8, and half-gates with and without privacy.
    Figures,
    /// One scheme of JustGarble.
    One(Scheme),
}

impl SchemeFlag {
    /// Returns the scheme of this name, for clap.
    pub fn parse(name: &str) -> Result<Self, String> {
        match name {
            "half-gates" => Ok(SchemeFlag::OfProtocols),
            "figures" => Ok(SchemeFlag::Figures),
            _ => Scheme::named(name).map(SchemeFlag::One).map_err(|why| why.to_string()),
        }
    }
}

/// The schemes of the paper's figures, by their names.
const FIGURES: [&str; 16] = [
    "ga-a1",
    "ga-a2",
    "ga-a3",
    "ga-a4",
    "gax-a2",
    "gax-a4",
    "gaxr-a2",
    "gaxr-a4",
    "half-gates-a2",
    "privacy-free-a2",
    "ga-aes-256",
    "gax-aes-256",
    "gaxr-aes-256",
    "ga-sha-1",
    "gax-sha-1",
    "gaxr-sha-1",
];

/// The largest size of rows that are kept in memory.
const MOST_ROW_BYTES: u64 = 8 << 30;

/// Measures garbling and evaluating with schemes of JustGarble.
pub fn run(arguments: &BenchGarblingFlags) -> Result<Report, Failure> {
    let start = Instant::now();
    let mut schemes = Vec::new();
    for &name in &arguments.scheme {
        match name {
            SchemeFlag::One(scheme) => schemes.push(scheme),
            SchemeFlag::Figures => {
                for name in FIGURES {
                    schemes.push(Scheme::named(name)?);
                }
            }
            SchemeFlag::OfProtocols => {
                return Err(Failure::usage(
                    "half-gates, those of the protocols, are measured by themselves and on a component; \
                     those that go with other schemes and --circuit are half-gates-a2",
                    "take half-gates-a2, or leave --circuit and other schemes out",
                ));
            }
        }
    }
    let (name, circuit) = circuit(arguments)?;
    let (kernel, copies, rounds) = (arguments.kernel().name(), arguments.copies, arguments.rounds);
    let taken = schemes.into_iter().map(|scheme| measure(arguments, scheme, &circuit));
    let taken = taken.collect::<Result<Vec<_>, _>>()?;
    let human = format!(
        "{name}: {} gates, {} of them XORs; {} side by side, kernel {kernel}, one thread; CPU time in \
         nanoseconds a gate, median of {}\n\n{}",
        thousands(circuit.gates().len() as u64),
        thousands(circuit.xor_gates() as u64),
        plural(copies.into(), "copy"),
        plural(rounds.into(), "round"),
        table(&COLUMNS, &taken),
    );
    let json = json!({
        "circuit": name,
        "gates": circuit.gates().len(),
        "xor_gates": circuit.xor_gates(),
        "kernel": kernel,
        "copies": copies,
        "rounds": rounds,
        "schemes": taken,
        "seconds": start.elapsed().as_secs_f64(),
    });
    Report::new(&json, human)
}

/// Returns the circuit to measure, with its name: a program as one circuit, or one of the paper.
fn circuit(arguments: &BenchGarblingFlags) -> Result<(String, NormalCircuit), Failure> {
    match &arguments.file {
        None => {
            let of_paper = arguments.circuit.unwrap_or(OfPaper::Aes);
            Ok((of_paper.name(), of_paper.circuit()?))
        }
        Some(file) => {
            let program = programs::circuit(file, &Default::default())?;
            Ok((program.name().into(), NormalCircuit::of(&program.flatten()?)?))
        }
    }
}

const COLUMNS: [TableColumn; 9] = [
    ("scheme", "/scheme", Form::Word),
    ("garble", "/garble/ns_per_gate", Form::Scaled(1.0, 2)),
    ("AES alone", "/garble/aes_ns_per_gate", Form::Scaled(1.0, 2)),
    ("ratio", "/garble/ratio_to_aes", Form::Scaled(1.0, 2)),
    ("evaluate", "/evaluate/ns_per_gate", Form::Scaled(1.0, 2)),
    ("AES alone", "/evaluate/aes_ns_per_gate", Form::Scaled(1.0, 2)),
    ("ratio", "/evaluate/ratio_to_aes", Form::Scaled(1.0, 2)),
    ("XORs alone", "/xors_ns_per_gate", Form::Scaled(1.0, 2)),
    ("table bytes a gate", "/row_bytes_per_gate", Form::Scaled(1.0, 2)),
];

/// Returns the AES calls for a gate with rows: at the garbler, including those that draw tokens, and at the
/// evaluator.
fn calls(method: Method) -> [usize; 2] {
    match method {
        Method::Ga => [6, 1],
        Method::GaX => [5, 1],
        Method::GaXR => [4, 1],
        Method::HalfGates => [4, 2],
        Method::PrivacyFree => [2, 1],
    }
}

/// Returns the time of a scheme on a circuit, per gate of a copy.
fn measure(
    arguments: &BenchGarblingFlags,
    scheme: Scheme,
    circuit: &NormalCircuit,
) -> Result<Value, Failure> {
    let (copies, kernel) = (arguments.copies as usize, arguments.kernel());
    let shape = PublicCircuit::of(scheme.method(), circuit);
    let row_bytes = shape.rows() as u64 * 16 * u64::from(arguments.copies);
    if row_bytes > MOST_ROW_BYTES {
        let why =
            format!("the rows of {} would take {row_bytes} bytes", plural(arguments.copies.into(), "copy"));
        return Err(Failure::usage(why, "choose fewer --copies, or a smaller circuit"));
    }
    let cells = (circuit.gates().len() * copies) as f64;
    let with_rows = shape.rows() / scheme.method().rows() * copies;
    let mut garbler = Garbler::with_kernel(kernel, scheme, circuit)?;
    let mut garblings = garbler.garble(copies);
    let mut evaluator = Evaluator::with_kernel(kernel, &garblings[0].garbled)?;
    let mut free = Free::new(kernel, scheme, &shape, copies)?;
    let input: Vec<bool> = (0..circuit.inputs()).map(|i| i % 3 == 1).collect();
    let expected = circuit.evaluate(&input);
    let [mut garble, mut evaluate] = [(); 2].map(|()| GarblingTimes::default());
    let mut frees = Vec::new();
    for _ in 0..arguments.rounds {
        // The same number of calls at a time as garbling makes.
        let call = aes_ns(kernel, calls(scheme.method())[0] * with_rows)?;
        let [of_garbler, of_evaluator] =
            calls(scheme.method()).map(|calls| (calls * with_rows) as f64 * call / cells);
        garble.add(
            of_garbler,
            time(cells, || {
                garbler.garble_again(&mut garblings);
                Ok(())
            })?,
        );
        let tokens = garblings.iter().map(|g| g.encoding.encode(&input)).collect::<Result<Vec<_>, _>>()?;
        let inputs: Vec<&[u128]> = tokens.iter().map(|tokens| &tokens[..]).collect();
        let garbled: Vec<&GarbledCircuit> = garblings.iter().map(|garbling| &garbling.garbled).collect();
        let mut outputs = Vec::new();
        evaluate.add(
            of_evaluator,
            time(cells, || {
                outputs = evaluator.evaluate(&garbled, &inputs)?;
                Ok(())
            })?,
        );
        for (garbling, outputs) in garblings.iter().zip(&outputs) {
            if garbling.decoding.decode(outputs)? != expected {
                return Err(Failure::fault("an evaluated circuit gave other outputs than the circuit"));
            }
        }
        if let Some(free) = &mut free {
            frees.push(free.time(cells)?);
        }
    }
    // Only the time of AES-128 calls alone is known.
    let has_aes = !matches!(scheme.cipher(), Cipher::Aes256 | Cipher::Sha1);
    let figure = |figure: Figure| {
        json!({
            "ns_per_gate": figure.ns,
            "aes_ns_per_gate": has_aes.then_some(figure.aes),
            "ratio_to_aes": has_aes.then_some(figure.ratio),
        })
    };
    let bytes = (shape.rows() * scheme.cipher().length().bytes()) as f64;
    Ok(json!({
        "scheme": scheme.to_string(),
        "garble": figure(garble.medians()),
        "evaluate": figure(evaluate.medians()),
        "xors_ns_per_gate": free.is_some().then(|| median(frees)),
        "row_bytes_per_gate": bytes / circuit.gates().len() as f64,
    }))
}

/// A circuit with only the gates without rows. The results of gates with rows are inputs of it. The time for
/// setting as many inputs is subtracted: it is measured on at most [`MOST_SET`] inputs.
struct Free {
    /// Each circuit comes with the factor by which its time counts.
    walks: [(Evaluator, GarbledCircuit, f64); 2],
    tokens: Vec<u128>,
    copies: usize,
}

/// A circuit cannot have more inputs that nothing reads.
const MOST_SET: u32 = 1 << 20;

impl Free {
    fn new(
        kernel: Kernel,
        scheme: Scheme,
        shape: &PublicCircuit,
        copies: usize,
    ) -> Result<Option<Self>, Failure> {
        let is_free = |opening: &PublicGate| matches!(opening, PublicGate::Sum { .. });
        let sums = shape.gates().iter().filter(|(.., opening)| is_free(opening)).count();
        if sums == 0 {
            return Ok(None);
        }
        let inputs = shape.inputs() + (shape.gates().len() - sums) as u32;
        // The inputs come first, with the results of gates with rows. The sums follow.
        let (mut places, mut next) = ((0..shape.inputs()).collect::<Vec<u32>>(), [shape.inputs(), inputs]);
        let mut gates = Vec::with_capacity(sums);
        for (first, second, opening) in shape.gates() {
            let at = usize::from(is_free(opening));
            if at == 1 {
                let (a, b) = (places[*first as usize], places[*second as usize]);
                gates.push((a.min(b), a.max(b), *opening));
            }
            places.push(next[at]);
            next[at] += 1;
        }
        let last = inputs + sums as u32 - 1;
        let walk = |inputs: u32, gates: Vec<(u32, u32, PublicGate)>, output: u32| -> Result<_, Failure> {
            let shape = Arc::new(PublicCircuit::new(scheme.method(), inputs, gates, vec![output])?);
            let garbled = GarbledCircuit::new(scheme, 1, shape, Vec::new())?;
            Ok((Evaluator::with_kernel(kernel, &garbled)?, garbled))
        };
        let set = inputs.min(MOST_SET);
        let ((sums, of_sums), (nothing, of_nothing)) =
            (walk(inputs, gates, last)?, walk(set, Vec::new(), 0)?);
        let mut rng = Rng::new("brickwork bench")?;
        Ok(Some(Free {
            walks: [(sums, of_sums, 1.0), (nothing, of_nothing, f64::from(inputs) / f64::from(set))],
            tokens: (0..inputs).map(|_| rng.block()).collect(),
            copies,
        }))
    }

    fn time(&mut self, cells: f64) -> Result<f64, Failure> {
        let (tokens, copies) = (&self.tokens[..], self.copies);
        let mut of = |k: usize| -> Result<f64, Failure> {
            let (evaluator, garbled, factor) = &mut self.walks[k];
            let set = &tokens[..garbled.shape().inputs() as usize];
            let (garbled, inputs) = (vec![&*garbled; copies], vec![set; copies]);
            let ns = time(cells, || {
                evaluator.evaluate(&garbled, &inputs).map(|outputs| drop(black_box(outputs)))
            })?;
            Ok(ns * *factor)
        };
        Ok((of(0)? - of(1)?).max(0.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// This also works if a circuit has more gates with rows than a circuit may have unread inputs, as
    /// MEXP-64 does.
    #[test]
    fn gates_without_rows_are_measured_alone_in_large_circuits() {
        let scheme = Scheme::named("gax-a2").unwrap();
        let gate = (0, 1, PublicGate::Sum { first: true, second: true });
        let inputs = MOST_SET + 2;
        let shape = PublicCircuit::new(scheme.method(), inputs, vec![gate], vec![inputs]).unwrap();
        let free = Free::new(Kernel::best(), scheme, &shape, 1).unwrap().expect("a gate without rows");
        let [_, (_, nothing, factor)] = &free.walks;
        assert_eq!((free.tokens.len(), nothing.shape().inputs()), (inputs as usize, MOST_SET));
        assert_eq!(*factor, f64::from(inputs) / f64::from(MOST_SET));
    }
}
