//! A program as a value. It is compiled once and keeps its source, so that it can be cut into other
//! components.
//!
//! A [`Program`] holds everything that another process needs, including the files that its source includes.
//! Only [`Program::load`] and [`Program::load_with`] need a path.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use brickwork_base::stop::look;
use brickwork_base::{Error as ProtocolError, Party};
use brickwork_circuit::formats::{self, FileKind, InputMap};
use brickwork_circuit::{self as circuit, Component, Port, Slot, library};
use brickwork_lang::{CompileOptions, Diagnostics, Directory, Resolver, Severity};
use serde::{Deserialize, Serialize};

use crate::cut::Cut;
use crate::failure::Error;
use crate::resources;
use crate::traced::Traced;
use crate::values::{Inputs, Outputs};

/// Largest program file.
pub const MAX_PROGRAM_BYTES: u64 = 4 << 30;

/// The bytes that are read before the next check whether to stop.
const PIECE: u64 = 16 << 20;

/// Memory that a gate takes while a program is compiled, in bytes.
const BYTES_A_GATE: u64 = 64;

/// The largest number of gates of a function, or of a program in one piece.
const MAX_GATES: u64 = 1 << 28;

/// Bytes that a wire or a soldering of a repeated program takes, including the protocol's own data about it.
const BYTES_A_WIRE: u64 = 16;

/// Bytes that a slot takes, including the protocol's own data about it.
const BYTES_A_SLOT: u64 = 96;

/// The options of the compiler. Both parties must use the same.
///
/// ```
/// use brickwork::SourceOptions;
///
/// let options = SourceOptions { inline: ["*".to_owned()].into(), ..SourceOptions::default() };
/// assert!(options != SourceOptions::default(), "one component instead of many");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SourceOptions {
    /// Functions whose calls from `main` are computed as part of it; `*` stands for all.
    pub inline: BTreeSet<String>,
    /// Functions that are components also where other functions call them.
    pub component: BTreeSet<String>,
    /// Functions that a built-in circuit replaces.
    pub builtins: BTreeMap<String, String>,
    /// True if the first function of the source is the AES S-box, as in old programs.
    pub aes: bool,
    /// True if the fields of structs lie on the wires in reverse order, as in files of the old compiler.
    pub reverse_structs: bool,
    /// True if warnings are errors.
    pub warnings_as_errors: bool,
}

impl SourceOptions {
    fn of_compiler(&self, max_gates: Option<u64>) -> CompileOptions {
        let most = CompileOptions::default().max_gates;
        CompileOptions {
            inline: self.inline.clone(),
            component: self.component.clone(),
            builtins: self.builtins.clone(),
            aes: self.aes,
            reverse_structs: self.reverse_structs,
            warnings_as_errors: self.warnings_as_errors,
            max_gates: max_gates.unwrap_or(most).min(most),
            ..CompileOptions::default()
        }
    }
}

/// A source, with all files that it includes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Source {
    /// The name for messages.
    name: String,
    text: String,
    /// Included files by the names that the source uses.
    files: HashMap<String, String>,
    options: SourceOptions,
}

/// A program: components, their solderings, and the inputs and outputs of both parties.
///
/// ```
/// use brickwork::{Inputs, Program};
///
/// let program = Program::from_source(
///     "richer.wir",
///     "#parties 2\n#input 1 uint_t 32\n#input 2 uint_t 32\n#output 1 uint_t 1\n#output 2 uint_t 1\n\
///      function void main() { output1 = input1 > input2; output2 = output1; }",
/// )?;
/// let learned = program.simulate(&Inputs::from(("input1", 5u32)), &Inputs::from(("input2", 3u32)))?;
/// assert!(learned[0].get::<bool>("output")?);
/// # Ok::<(), brickwork::Error>(())
/// ```
#[derive(Clone)]
pub struct Program {
    given: Arc<circuit::Program>,
    source: Option<Arc<Source>>,
    warnings: Option<Arc<Diagnostics>>,
}

impl fmt::Debug for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Program").field("name", &self.name()).field("and_gates", &self.and_gates()).finish()
    }
}

/// Records each file that a source includes.
struct Recorder<'r> {
    files: &'r dyn Resolver,
    seen: Mutex<HashMap<String, String>>,
}

impl Resolver for Recorder<'_> {
    fn resolve(&self, name: &str) -> Result<Option<Vec<u8>>, String> {
        let found = self.files.resolve(name)?;
        if let Some(text) = found.as_deref().and_then(|bytes| std::str::from_utf8(bytes).ok()) {
            let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
            seen.insert(name.to_owned(), text.to_owned());
        }
        Ok(found)
    }
}

impl Program {
    /// Loads a file: a `.wir` source, or a program in the format `.bwp`, Bristol, SCD or `.GC_duplo`. It
    /// finds the format by the content. A program in Python, `FILE.py` or `FILE.py:NAME`, is traced by
    /// `python3`.
    ///
    /// # Errors
    /// An error of input if the file cannot be read or is malformed.
    pub fn load(path: impl AsRef<Path>) -> Result<Self, Error> {
        Self::load_with(path.as_ref(), &InputMap::new(), &SourceOptions::default())
    }

    /// Loads a file. A source is compiled with these options. `map` assigns the inputs of a Bristol or SCD
    /// circuit to the parties.
    ///
    /// # Errors
    /// As [`Program::load`].
    pub fn load_with(path: &Path, map: &InputMap, options: &SourceOptions) -> Result<Self, Error> {
        match Traced::named(path) {
            Some(traced) => Self::read(&traced.path(), traced.source()?.into_bytes(), map, options),
            None => Self::read(path, read_all(path)?, map, options),
        }
    }

    /// Makes a program from the bytes of a file. `path` need not exist, but the source's included files are
    /// searched beside it.
    ///
    /// # Errors
    /// As [`Program::load`], except that `path` itself is not read.
    pub fn read(path: &Path, bytes: Vec<u8>, map: &InputMap, options: &SourceOptions) -> Result<Self, Error> {
        let is_source = match formats::kind(&bytes) {
            Some(kind) => kind == FileKind::Wir,
            None => path.extension().is_some_and(|extension| extension == "wir"),
        };
        let shown = path.display().to_string();
        if is_source && map.is_empty() {
            let folder = Directory(path.parent().map(Path::to_path_buf).unwrap_or_default());
            return Self::compile(&shown, bytes, &folder, options);
        }
        let name = path.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
        let program = match formats::kind(&bytes) {
            Some(FileKind::CompGc) if map.is_empty() => {
                formats::compgc::read(&bytes, |name| component_beside(path, name))
            }
            _ => formats::load_mapped(&bytes, &name, map),
        };
        let hint = match map.is_empty() {
            true => "check that this is the right file, and that it is complete",
            false => {
                "--map is for the inputs of a Bristol circuit or ranges of inputs of an SCD circuit; \
                 `brickwork info FILE` without --map lists them. Leave --map out for other files"
            }
        };
        program.map(Program::from).map_err(|e| Error::input(e.to_string(), hint))
    }

    /// Compiles a source that includes no files. Messages show `name`.
    ///
    /// # Errors
    /// An error of input with the first error of the source; [`Error::diagnostics`] returns all of them.
    pub fn from_source(name: &str, text: &str) -> Result<Self, Error> {
        Self::compile(name, text.into(), &HashMap::new(), &SourceOptions::default())
    }

    /// Compiles a source, which may include files.
    ///
    /// # Errors
    /// As [`Program::from_source`].
    pub fn compile(
        name: &str,
        text: Vec<u8>,
        files: &dyn Resolver,
        options: &SourceOptions,
    ) -> Result<Self, Error> {
        let text = String::from_utf8(text)
            .map_err(|_| Error::input(format!("{name} is not a text file"), "a source must be UTF-8 text"))?;
        let recorder = Recorder { files, seen: Mutex::default() };
        let compiled = brickwork_lang::compile(name, &text, &recorder, &options.of_compiler(None));
        let files = recorder.seen.into_inner().unwrap_or_else(PoisonError::into_inner);
        let compiled = compiled.map_err(errors_of_source)?;
        let source = Source { name: name.into(), text, files, options: options.clone() };
        Ok(Program {
            given: Arc::new(compiled.program),
            source: Some(Arc::new(source)),
            warnings: Some(Arc::new(compiled.warnings)),
        })
    }

    /// Returns the name.
    pub fn name(&self) -> &str {
        self.given.name()
    }

    /// Returns the digest of one execution, by which two parties compare their programs.
    pub fn digest(&self) -> [u8; 32] {
        self.given.digest()
    }

    /// Returns the input ports of a party.
    pub fn inputs(&self, party: Party) -> &[Port] {
        self.given.input_ports(party)
    }

    /// Returns the output ports of a party.
    pub fn outputs(&self, party: Party) -> Vec<Port> {
        self.given.output_ports(party)
    }

    /// Returns the number of AND gates of all slots together.
    pub fn and_gates(&self) -> u64 {
        self.given.and_gates()
    }

    /// Computes the function without cryptography. Returns the outputs of the garbler and of the evaluator.
    ///
    /// # Errors
    /// An error of input if a value is missing or does not fit.
    pub fn simulate(&self, garbler: &Inputs, evaluator: &Inputs) -> Result<[Outputs; 2], Error> {
        let both = [Party::Garbler, Party::Evaluator];
        let garbler = garbler.encode(self.inputs(both[0]))?;
        let evaluator = evaluator.encode(self.inputs(both[1]))?;
        let bits = self.given.simulate(&garbler, &evaluator);
        Ok(both.map(|party| Outputs::decode(&self.outputs(party), &self.given.output_bits(party, &bits))))
    }

    /// Returns the warnings of the compiler, if the program has a source.
    pub fn warnings(&self) -> Option<&Diagnostics> {
        self.warnings.as_deref()
    }

    /// Returns the program with the cut of its file.
    #[doc(hidden)]
    pub fn given(&self) -> &Arc<circuit::Program> {
        &self.given
    }

    /// Returns the digest of the source, if there is one.
    #[doc(hidden)]
    pub fn source_digest(&self) -> Option<[u8; 32]> {
        self.source.as_ref().map(|source| *blake3::hash(source.text.as_bytes()).as_bytes())
    }

    /// Returns the length of the source with all included files, or 0 without a source.
    #[doc(hidden)]
    pub fn source_bytes(&self) -> usize {
        self.source
            .as_ref()
            .map_or(0, |source| source.text.len() + source.files.values().map(String::len).sum::<usize>())
    }

    /// Returns whether the program has a source, so that it can be cut by its functions.
    #[doc(hidden)]
    pub fn has_source(&self) -> bool {
        self.source.is_some()
    }

    /// Returns the functions of the source that can be inlined or made components.
    #[doc(hidden)]
    pub fn functions(&self) -> Vec<String> {
        self.source.as_ref().map_or(Vec::new(), |source| {
            let Source { name, text, files, options } = &**source;
            brickwork_lang::functions(name, text, files, &options.of_compiler(None))
        })
    }

    /// Returns the number of gates of all slots of the given program.
    #[doc(hidden)]
    pub fn gates(&self) -> u64 {
        let of = |slot: Slot| self.given.component(slot.component).circuit.gate_count() as u64;
        self.given.slots().map(of).sum()
    }

    /// Returns the program in this cut. No component may have more than `max_gates` gates.
    ///
    /// # Errors
    /// An error of input if the program cannot be cut like this.
    #[doc(hidden)]
    pub fn cut(&self, cut: &Cut, max_gates: u64) -> Result<circuit::Program, Error> {
        match cut {
            Cut::Given => Ok((*self.given).clone()),
            Cut::Gates => Err(Error::input(
                "only --protocol jimu can cut a program into single AND gates",
                "choose another --cut",
            )),
            Cut::Whole => {
                let gates = self.gates();
                if gates > max_gates {
                    return Err(Error::input(
                        format!("one piece would have {gates} gates, but only {max_gates} are allowed"),
                        "choose another --cut",
                    ));
                }
                Ok(self.given.whole()?)
            }
            Cut::Flags { inline, component } => {
                let Some(source) = &self.source else {
                    return Err(Error::input(
                        format!(
                            "{} is already compiled, so it allows only --cut given and --cut whole, not \
                             {cut}",
                            self.name()
                        ),
                        "give the source on both sides, or --cut given",
                    ));
                };
                let Source { name, text, files, options } = &**source;
                let options =
                    SourceOptions { inline: inline.clone(), component: component.clone(), ..options.clone() };
                brickwork_lang::compile(name, text, files, &options.of_compiler(Some(max_gates)))
                    .map(|compiled| compiled.program)
                    .map_err(errors_of_source)
            }
        }
    }

    /// Writes the program in a form that another process of the same version can read.
    #[doc(hidden)]
    pub fn to_bytes(&self) -> Vec<u8> {
        let parts = (self.given.to_bytes(), self.source.as_deref());
        postcard::to_stdvec(&parts).expect("bytes and texts have an encoding")
    }

    /// Reads the bytes that [`Program::to_bytes`] wrote.
    ///
    /// # Errors
    /// An error of input if the bytes are not valid.
    #[doc(hidden)]
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        let malformed = || Error::fault("a program that another process sent is malformed");
        let (given, source): (Vec<u8>, Option<Source>) =
            postcard::from_bytes(bytes).map_err(|_| malformed())?;
        let given = Arc::new(circuit::Program::from_bytes(&given)?);
        Ok(Program { given, source: source.map(Arc::new), warnings: None })
    }
}

impl From<circuit::Program> for Program {
    fn from(program: circuit::Program) -> Self {
        Program { given: Arc::new(program), source: None, warnings: None }
    }
}

/// Returns the largest number of gates that one component can have with this memory.
pub fn gates_within(memory: Option<u64>) -> u64 {
    memory.map_or(MAX_GATES, |memory| (memory / BYTES_A_GATE).min(MAX_GATES))
}

/// Returns the program for this number of executions: `program` itself, or its repetition.
///
/// # Errors
/// An error of usage if the executions do not fit into memory.
pub fn repeated(program: &circuit::Program, executions: Option<u32>) -> Result<circuit::Program, Error> {
    match executions {
        Some(n) => {
            fits(program, n, bytes_an_execution(program))?;
            Ok(program.repeat(n as usize)?)
        }
        None => Ok(program.clone()),
    }
}

/// Returns the bytes that one execution takes in a repeated program, before the protocol begins.
fn bytes_an_execution(program: &circuit::Program) -> u64 {
    let inputs = program.slots().map(|slot| slot.inputs.len() as u64).sum::<u64>();
    let outputs = program.outputs().iter().map(|output| output.wires.len() as u64).sum::<u64>();
    BYTES_A_WIRE * (program.wires() as u64 + inputs + outputs) + BYTES_A_SLOT * program.slot_count() as u64
}

/// Refuses executions that are held in memory together, at this many bytes each, and do not fit into the
/// memory of this machine.
pub fn fits(program: &circuit::Program, executions: u32, bytes_an_execution: u64) -> Result<(), Error> {
    let needed = bytes_an_execution.saturating_mul(executions.into());
    match resources::available_bytes() {
        Some(free) if free < needed => Err(Error::usage(
            format!(
                "{executions} executions of {} at once need some {} MiB of memory, but only {} MiB are free",
                program.name(),
                needed >> 20,
                free >> 20
            ),
            "ask for fewer --executions, and run more often",
        )),
        _ => Ok(()),
    }
}

/// Reads a program file.
fn read_all(path: &Path) -> Result<Vec<u8>, Error> {
    let name = path.display().to_string();
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| {
        let mut file = file.take(MAX_PROGRAM_BYTES + 1);
        while file.by_ref().take(PIECE).read_to_end(&mut bytes)? > 0 {
            look();
        }
        Ok(())
    });
    read.map_err(|e| Error::cannot_read(&name, &e))?;
    match bytes.len() as u64 > MAX_PROGRAM_BYTES {
        true => Err(Error::input(
            format!("{name} is longer than {MAX_PROGRAM_BYTES} bytes"),
            "check that this is the right file",
        )),
        false => Ok(bytes),
    }
}

/// Returns the component of this name that a CompGC function uses. It comes from a `.bwp` or Bristol file of
/// this name in the folder of the function, as one component, or else from the library.
fn component_beside(function: &Path, name: &str) -> Result<Component, ProtocolError> {
    if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric() || "_-".contains(c)) {
        return Err(ProtocolError::Input(format!(
            "{name:?} is not the name of a component; use letters, digits, _ and -"
        )));
    }
    for path in ["bwp", "txt"].map(|kind| function.with_file_name(format!("{name}.{kind}"))) {
        if !path.exists() {
            continue;
        }
        let shown = path.display().to_string();
        let bytes = read_all(&path).map_err(|error| ProtocolError::Input(error.message().into()))?;
        // A component cannot be another CompGC function, because the functions could refer to each other
        // without end.
        if formats::kind(&bytes) == Some(FileKind::CompGc) {
            return Err(ProtocolError::Input(format!(
                "{shown}: the file of a component must be a circuit, not a function"
            )));
        }
        return formats::load_component(&bytes, &shown);
    }
    library::compgc::component_named(name).map_err(|e| {
        ProtocolError::Input(format!(
            "{e}: the library does not have it, and the folder of the function has neither {name}.bwp nor \
             {name}.txt"
        ))
    })
}

/// Makes an error from the first error of a source.
fn errors_of_source(diagnostics: Diagnostics) -> Error {
    let records = diagnostics.records();
    let errors = records.iter().filter(|record| record.severity == Severity::Error);
    let (first, more) = (errors.clone().next(), errors.count().saturating_sub(1));
    let message =
        first.map_or_else(String::new, |e| format!("{}:{}:{}: {}", e.file, e.line, e.column, e.message));
    let more = match more {
        0 => String::new(),
        1 => " (and 1 further error)".into(),
        more => format!(" (and {more} further errors)"),
    };
    let hint = first.map_or_else(String::new, |e| e.hint.clone());
    Error::source(message + &more, hint, diagnostics)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_bounds_the_gates() {
        assert_eq!(gates_within(None), MAX_GATES);
        assert_eq!(gates_within(Some(6400)), 100);
        assert_eq!(gates_within(Some(u64::MAX)), MAX_GATES);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn executions_that_do_not_fit_are_not_laid_out() {
        let program = library::millionaires().expect("a program");
        assert!(fits(&program, u32::MAX, 0).is_ok() && fits(&program, 1, 1000).is_ok());
        let error = fits(&program, 3, u64::MAX).expect_err("that is more than there is");
        assert!(error.message().starts_with("3 executions of millionaires at once"), "{error:?}");
        assert!(repeated(&program, Some(u32::MAX)).is_err());
        assert_eq!(repeated(&program, Some(1000)).expect("it fits").and_gates(), 1000 * program.and_gates());
    }

    /// A program that was sent to another process can still be cut, even if its source includes files.
    #[test]
    fn programs_travel_with_their_sources() {
        let files: HashMap<_, _> = [("half.wir".into(), "typedef uint_t 8 byte\n".to_owned())].into();
        let text = "#include \"half.wir\"\n#parties 2\n#input 1 byte\n#input 2 byte\n#output 1 byte\n\
                    function byte twice(byte x) { return x * x; }\n\
                    function void main() { output1 = twice(input1) + twice(input2); }";
        let program = Program::compile("twice.wir", text.into(), &files, &SourceOptions::default());
        let program = program.expect("a program");
        let other = Program::from_bytes(&program.to_bytes()).expect("the same program");
        assert_eq!((other.digest(), other.source_digest()), (program.digest(), program.source_digest()));
        let inlined = Cut::of_flags(["*".to_owned()].into(), BTreeSet::new());
        let cut = |program: &Program| program.cut(&inlined, MAX_GATES).expect("a cut").digest();
        assert!(cut(&program) == cut(&other) && cut(&other) != program.digest());
        assert!(Program::from_bytes(&program.to_bytes()[1..]).is_err());
    }
}
