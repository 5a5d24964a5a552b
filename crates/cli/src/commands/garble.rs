//! `brickwork garble`, `garbled-inputs`, `evaluate-garbled` and `decode-garbled`: JustGarble on files.

use std::convert::Infallible;
use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use brickwork::circuit::{Party, Program};
use brickwork::justgarble::files::{self as formats, Mark, ProgramDigest};
use brickwork::justgarble::{Cipher, Doubling, GarbledResult, Method, NormalCircuit, Scheme, garble};
use brickwork_kernels::Erasing;
use clap::{ArgGroup, Args, ValueEnum};
use serde::Serialize;

use crate::commands::files::{MAX_VALUE_BYTES, private_bytes, read_all};
use crate::commands::programs;
use crate::commands::simulate::BothInputs;
use crate::flags::arguments::{Map, ProgramArguments};
use crate::render::failure::{Failure, code};
use crate::render::outcome::ShownValues;
use crate::render::report::{Report, bit_string, bytes, hex, plural};
use brickwork::program::MAX_PROGRAM_BYTES;

/// Flags that only protocols have. These flags are refused with an own hint, because clap would give none.
#[derive(Args)]
struct OfProtocols {
    #[arg(long = "security", hide = true, value_name = "S", value_parser = no_security)]
    _security: Option<Infallible>,
    #[arg(long = "protocol", hide = true, value_name = "NAME", value_parser = no_protocol)]
    _protocol: Option<Infallible>,
    #[arg(long = "store", hide = true, value_name = "DIR", value_parser = no_store)]
    _store: Option<Infallible>,
}

fn no_security(_: &str) -> Result<Infallible, String> {
    Err("nobody checks a garbling on files, so it has no bound 2^-S; if the peer may cheat, use `brickwork \
         run`, or `garbler` and `evaluator`, with --protocol duplo"
        .into())
}

fn no_protocol(name: &str) -> Result<Infallible, String> {
    Err(format!(
        "a garbling on files is not a protocol of two parties; use `brickwork run --protocol {name}`, or \
         `garbler` and `evaluator`"
    ))
}

fn no_store(_: &str) -> Result<Infallible, String> {
    Err("a garbling has its own files, but a store has the stock of a protocol; use `brickwork preprocess`, \
         and `garbler` and `evaluator` with --store"
        .into())
}

/// Garble a program into files with JustGarble: for research, without a second party, and not secure against
/// a garbler or evaluator that cheats
#[derive(Args)]
#[command(group = ArgGroup::new("decoded").required(true).multiple(true).args(["decoding", "checking"]))]
pub struct GarbleCommand {
    #[command(flatten)]
    program: ProgramArguments,
    /// The file to write the garbled circuit F to; no file is ever overwritten
    #[arg(long, value_name = "FILE")]
    garbled: PathBuf,
    /// The file to write the tokens of the inputs e to: a secret
    #[arg(long, value_name = "FILE")]
    tokens: PathBuf,
    /// The file to write the decoding information d to; without it nobody learns anything of the outputs
    #[arg(long, value_name = "FILE")]
    decoding: Option<PathBuf>,
    /// The file to write the information to that distinguishes evaluated outputs from forged ones: a secret
    #[arg(long, value_name = "FILE")]
    checking: Option<PathBuf>,
    /// How gates are garbled: in four rows (ga), with free XOR (gax), also with one row less (gaxr), in two
    /// rows (half-gates); or in one row without privacy (privacy-free), where the evaluator sees every input
    #[arg(long, value_name = "NAME", default_value = "gaxr")]
    scheme: SchemeName,
    /// The dual-key cipher that masks the rows
    #[arg(long, value_name = "NAME", default_value = "a2")]
    cipher: CipherName,
    /// How a2 and a4 double a token; the default is d1
    #[arg(long, value_name = "NAME")]
    doubling: Option<DoublingName>,
    #[command(flatten)]
    _of_protocols: OfProtocols,
}

#[derive(Clone, Copy, ValueEnum)]
enum SchemeName {
    Ga,
    Gax,
    Gaxr,
    HalfGates,
    PrivacyFree,
}

#[derive(Clone, Copy, ValueEnum)]
enum CipherName {
    A1,
    A2,
    A3,
    A4,
    #[value(name = "aes-256")]
    Aes256,
    #[value(name = "sha-1")]
    Sha1,
}

#[derive(Clone, Copy, ValueEnum)]
enum DoublingName {
    D1,
    D2,
    D3,
    D4,
    D5,
    D6,
    D7,
}

impl GarbleCommand {
    fn scheme(&self) -> Result<Scheme, Failure> {
        let method = match self.scheme {
            SchemeName::Ga => Method::Ga,
            SchemeName::Gax => Method::GaX,
            SchemeName::Gaxr => Method::GaXR,
            SchemeName::HalfGates => Method::HalfGates,
            SchemeName::PrivacyFree => Method::PrivacyFree,
        };
        let doubling = match self.doubling.unwrap_or(DoublingName::D1) {
            DoublingName::D1 => Doubling::D1,
            DoublingName::D2 => Doubling::D2,
            DoublingName::D3 => Doubling::D3,
            DoublingName::D4 => Doubling::D4,
            DoublingName::D5 => Doubling::D5,
            DoublingName::D6 => Doubling::D6,
            DoublingName::D7 => Doubling::D7,
        };
        let cipher = match self.cipher {
            CipherName::A1 => Cipher::A1,
            CipherName::A2 => return Ok(Scheme::new(method, Cipher::A2(doubling))?),
            CipherName::A3 => Cipher::A3,
            CipherName::A4 => return Ok(Scheme::new(method, Cipher::A4(doubling))?),
            CipherName::Aes256 => Cipher::Aes256,
            CipherName::Sha1 => Cipher::Sha1,
        };
        match self.doubling {
            None => Ok(Scheme::new(method, cipher)?),
            Some(_) => Err(Failure::usage(
                "--doubling is only for the ciphers a2 and a4; the given cipher does not double",
                "leave --doubling out, or give --cipher a2 or a4",
            )),
        }
    }

    pub fn run(&self) -> Result<Report, Failure> {
        let _erasing = Erasing::begin();
        let scheme = self.scheme()?;
        let program = programs::program(&self.program)?.given().clone();
        let (circuit, digest) = (circuit(&program)?, program.digest());
        let GarbledResult { garbled, encoding, decoding, checking } = garble(scheme, &circuit)?;
        let mark = Mark::of(&garbled);
        let mut written = Written::default();
        let f = formats::write_garbled(&garbled);
        written.public(&self.garbled, &f)?;
        written.private(&self.tokens, &formats::write_encoding(&mark, &digest, &encoding))?;
        if let Some(path) = &self.decoding {
            written.public(path, &formats::write_decoding(&mark, &digest, &decoding))?;
        }
        if let Some(path) = &self.checking {
            written.private(path, &formats::write_checking(&mark, &digest, &checking))?;
        }
        let fields = GarbleFields {
            garbling: hex(mark.garbling()),
            gates: circuit.gates().len(),
            xor_gates: circuit.xor_gates(),
            rows: garbled.rows().len(),
            token_bytes: scheme.cipher().length().bytes(),
            garbled_bytes: f.len(),
            private: mark.is_private(),
            written: written.keep(),
        };
        let human = format!(
            "{}, {} of them XORs, in {}, {} in all\nOnly for research: this garbling does not hold against \
             a cheater. Keep {} and the file of --checking from the evaluator.\n{}",
            plural(circuit.gates().len() as u64, "gate"),
            circuit.xor_gates(),
            plural(garbled.rows().len() as u64, "row"),
            bytes(f.len() as u64),
            self.tokens.display(),
            privacy(&mark),
        );
        Report::new(&fields, human)
    }
}

/// The JSON fields of `brickwork garble`.
#[derive(Serialize)]
struct GarbleFields {
    garbling: String,
    gates: usize,
    xor_gates: usize,
    rows: usize,
    token_bytes: usize,
    garbled_bytes: usize,
    private: bool,
    written: Vec<String>,
}

/// The warning if nothing is hidden.
fn privacy(mark: &Mark) -> &'static str {
    match mark.is_private() {
        true => "",
        false => {
            "WARNING: this garbling has no privacy: a garbled input IS the input, and the evaluator sees \
             every bit of the inputs, the outputs and all wires between. Of the three properties, neither \
             prv nor obv holds, only aut: if --checking accepts outputs, they were evaluated.\n"
        }
    }
}

/// Returns the program as one circuit in the paper's form.
fn circuit(program: &Program) -> Result<NormalCircuit, Failure> {
    Ok(NormalCircuit::of(&program.flatten()?)?)
}

/// Choose the tokens that represent an input: e and the input give the garbled inputs X
#[derive(Args)]
pub struct TokensCommand {
    #[command(flatten)]
    program: ProgramArguments,
    /// The tokens of the inputs e
    #[arg(long, value_name = "FILE")]
    tokens: PathBuf,
    /// The file to write the garbled inputs X to; no file is ever overwritten
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    #[command(flatten)]
    values: BothInputs,
    #[command(flatten)]
    _of_protocols: OfProtocols,
}

impl TokensCommand {
    pub fn run(&self) -> Result<Report, Failure> {
        let _erasing = Erasing::begin();
        let program = programs::program(&self.program)?.given().clone();
        let (mark, digest, encoding) = private(&self.tokens, formats::read_encoding)?;
        is_of(&program, &digest, &self.program.file)?;
        let [garbler, evaluator] = self.values.bits(&program, None)?;
        // All memory is reserved at once, because a growing vector would leave copies behind.
        let mut all = zeroize::Zeroizing::new(Vec::with_capacity(garbler.len() + evaluator.len()));
        all.extend_from_slice(&garbler);
        all.extend_from_slice(&evaluator);
        let tokens = encoding.encode(&all).map_err(|e| Failure::from(e).advise(HINT))?;
        let mut written = Written::default();
        written.private(&self.output, &formats::write_inputs(&mark, &tokens))?;
        tokens_report("input", &mark, tokens.len(), written)
    }
}

/// Evaluate a garbled circuit: F and the garbled inputs X give the garbled outputs Y
#[derive(Args)]
pub struct EvaluateCommand {
    /// The garbled circuit F
    garbled: PathBuf,
    /// The garbled inputs X
    #[arg(long, value_name = "FILE")]
    inputs: PathBuf,
    /// The file to write the garbled outputs Y to; no file is ever overwritten
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    #[command(flatten)]
    _of_protocols: OfProtocols,
}

impl EvaluateCommand {
    pub fn run(&self) -> Result<Report, Failure> {
        let _erasing = Erasing::begin();
        let garbled = read(&self.garbled, MAX_PROGRAM_BYTES, formats::read_garbled)?;
        let (of_inputs, inputs) = read(&self.inputs, MAX_VALUE_BYTES, formats::read_inputs)?;
        let mark = Mark::of(&garbled);
        mark.fits(&of_inputs).map_err(strangers)?;
        let outputs = garbled.evaluate(&inputs).map_err(|e| Failure::from(e).advise(HINT))?;
        let mut written = Written::default();
        written.private(&self.output, &formats::write_outputs(&mark, &outputs))?;
        tokens_report("output", &mark, outputs.len(), written)
    }
}

/// Decode garbled outputs with d, or check with the garbler's information that they were evaluated and not
/// forged
#[derive(Args)]
#[command(group = ArgGroup::new("by").required(true).args(["decoding", "checking"]))]
pub struct Decode {
    /// The garbled outputs Y
    outputs: PathBuf,
    /// Decode with d; forged outputs decode, too
    #[arg(long, value_name = "FILE")]
    decoding: Option<PathBuf>,
    /// Decode with the information that detects forged outputs
    #[arg(long, value_name = "FILE")]
    checking: Option<PathBuf>,
    /// The program that was garbled, for showing values; without it only the bits are printed
    #[arg(long, value_name = "FILE")]
    program: Option<PathBuf>,
    #[command(flatten)]
    map: Map,
    #[command(flatten)]
    _of_protocols: OfProtocols,
}

impl Decode {
    pub fn run(&self) -> Result<Report, Failure> {
        let _erasing = Erasing::begin();
        let (mark, outputs) = read(&self.outputs, MAX_VALUE_BYTES, formats::read_outputs)?;
        let (digest, bits) = match (&self.decoding, &self.checking) {
            (Some(path), _) => {
                let (of_decoding, digest, decoding) = read(path, MAX_VALUE_BYTES, formats::read_decoding)?;
                mark.fits(&of_decoding).map_err(strangers)?;
                (digest, decoding.decode(&outputs).map_err(|e| Failure::from(e).advise(HINT))?)
            }
            (None, Some(path)) => {
                let (of_checking, digest, checking) = private(path, formats::read_checking)?;
                mark.fits(&of_checking).map_err(strangers)?;
                // If a file was damaged in transit, an earlier check has refused it.
                let bits = checking.decode(&outputs).map_err(|e| {
                    let hint = "these outputs do not come from an evaluation of this garbled circuit: do \
                         not use them";
                    Failure::new(code::PEER, format!("forged outputs: {e}"), hint)
                })?;
                (digest, bits)
            }
            (None, None) => return Err(Failure::fault("give --decoding or --checking")),
        };
        let values = match &self.program {
            Some(path) => {
                let program = programs::circuit(path, &self.map.parties())?;
                is_of(&program, &digest, path)?;
                Some(typed(&program, &bits)?)
            }
            None if self.map.entries.is_empty() => None,
            None => {
                return Err(Failure::usage(
                    "--map needs --program, because it is about the circuit of that file",
                    "give --program, too",
                ));
            }
        };
        let human = match &values {
            None => format!("{}\n", bit_string(&bits)),
            Some(values) => values.to_string(),
        };
        let fields = DecodedFields {
            garbling: hex(mark.garbling()),
            bits: bit_string(&bits),
            checked: self.checking.is_some(),
            outputs: values,
        };
        Report::new(&fields, human)
    }
}

/// The JSON fields of the decoded outputs.
#[derive(Serialize)]
struct DecodedFields {
    garbling: String,
    bits: String,
    checked: bool,
    outputs: Option<ShownValues>,
}

/// Refuses a program other than the garbled one, even if it has the same widths.
fn is_of(program: &Program, garbled: &ProgramDigest, path: &Path) -> Result<(), Failure> {
    match program.digest() == *garbled {
        true => Ok(()),
        false => Err(Failure::input(
            format!("{} is not the program that was garbled", path.display()),
            "give the same file and the same --map as for `brickwork garble`",
        )),
    }
}

/// Returns the values of each party's outputs.
fn typed(program: &Program, bits: &[bool]) -> Result<ShownValues, Failure> {
    let widths: Vec<usize> = program.outputs().iter().map(|output| output.wires.len()).collect();
    if widths.iter().sum::<usize>() != bits.len() {
        return Err(Failure::input(
            format!(
                "the garbled outputs have {} bits, but the outputs of the program have another number",
                bits.len()
            ),
            HINT,
        ));
    }
    let mut rest = bits;
    let outputs: Vec<Vec<bool>> = widths
        .into_iter()
        .map(|width| {
            let (own, later) = rest.split_at(width);
            rest = later;
            own.to_vec()
        })
        .collect();
    let [garbler, evaluator] =
        [Party::Garbler, Party::Evaluator].map(|party| program.output_bits(party, &outputs));
    let bits = [(Party::Garbler, &garbler[..]), (Party::Evaluator, &evaluator[..])];
    Ok(ShownValues::of(program, None, &bits))
}

const HINT: &str = "check that this is the right file, and that it is complete";

fn strangers(error: brickwork::ProtocolError) -> Failure {
    Failure::from(error)
        .advise("give the files of one `brickwork garble`, and files that were made from them")
}

/// Reads a file with this reader.
fn read<T>(
    path: &Path,
    most: u64,
    reader: impl Fn(&[u8]) -> Result<T, brickwork::ProtocolError>,
) -> Result<T, Failure> {
    read_with(path, read_all(File::open(path), most, &path.display().to_string())?, reader)
}

fn read_with<T>(
    path: &Path,
    bytes: zeroize::Zeroizing<Vec<u8>>,
    reader: impl Fn(&[u8]) -> Result<T, brickwork::ProtocolError>,
) -> Result<T, Failure> {
    reader(&bytes).map_err(|e| Failure::from(e).within(&path.display().to_string()).advise(HINT))
}

/// Does the same as [`read`] for a file that only its owner may read.
fn private<T>(
    path: &Path,
    reader: impl Fn(&[u8]) -> Result<T, brickwork::ProtocolError>,
) -> Result<T, Failure> {
    read_with(path, private_bytes(path, MAX_VALUE_BYTES)?, reader)
}

/// The JSON fields of a file of tokens that was written.
#[derive(Serialize)]
struct TokensFields {
    garbling: String,
    tokens: usize,
    private: bool,
    written: Vec<String>,
}

fn tokens_report(what: &str, mark: &Mark, tokens: usize, written: Written) -> Result<Report, Failure> {
    let names = written.keep();
    let what = plural(tokens as u64, &format!("garbled {what}"));
    let human = format!("{what} in {}\n{}", names.join(", "), privacy(mark));
    let (garbling, private) = (hex(mark.garbling()), mark.is_private());
    Report::new(&TokensFields { garbling, tokens, private, written: names }, human)
}

/// The files that were created. They are removed again unless all of them are complete.
#[derive(Default)]
struct Written(Vec<PathBuf>);

impl Written {
    fn public(&mut self, path: &Path, content: &[u8]) -> Result<(), Failure> {
        self.write(path, content, 0o644)
    }

    /// Creates a file that only its owner can read.
    fn private(&mut self, path: &Path, content: &[u8]) -> Result<(), Failure> {
        self.write(path, content, 0o600)
    }

    fn write(&mut self, path: &Path, content: &[u8], mode: u32) -> Result<(), Failure> {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, mode);
        #[cfg(not(unix))]
        let _ = mode;
        let mut file = options.open(path).map_err(|e| {
            let failure = Failure::cannot_write(path, &e);
            match e.kind() {
                ErrorKind::AlreadyExists => {
                    failure.advise("choose another name; `brickwork garble` never overwrites a file")
                }
                _ => failure,
            }
        })?;
        self.0.push(path.to_owned());
        file.write_all(content).and_then(|()| file.sync_all()).map_err(|e| Failure::cannot_write(path, &e))
    }

    /// Keeps the files, and returns their names.
    fn keep(mut self) -> Vec<String> {
        std::mem::take(&mut self.0).iter().map(|path| path.display().to_string()).collect()
    }
}

impl Drop for Written {
    fn drop(&mut self) {
        for path in &self.0 {
            // Removing may fail; the file is useless without the others, so no message is necessary.
            let _ = fs::remove_file(path);
        }
    }
}
