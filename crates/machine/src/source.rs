//! Reads sources line by line and unrolls loops. It refuses reads of cells that were not written, and
//! addresses outside the memory.

use std::ops::Range;

use brickwork_circuit::{Party, Recipient};

use crate::instruction::{ClearMachine, Instruction, MEMORY, Operand, Operation, REGISTERS};
use crate::problem::Problem;

/// Most instructions of a program, and most rounds of all its loops, after unrolling.
pub const MAX_INSTRUCTIONS: usize = 1 << 16;

/// Most steps of a secret program.
pub const MAX_STEPS: u32 = 1 << 12;

/// Most loops around an instruction.
const MAX_NESTING: usize = 8;

/// A parsed source: its inputs, its instructions, and its outputs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assembly {
    pub(crate) inputs: Vec<SourceInput>,
    pub(crate) outputs: Vec<SourceOutput>,
    /// Each instruction with its line.
    pub(crate) instructions: Vec<(Instruction, usize)>,
    /// The number of steps of a secret program, and the line with that number.
    pub(crate) steps: Option<(u32, usize)>,
    /// Number of lines.
    pub(crate) last_line: usize,
}

/// A party's input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SourceInput {
    pub party: Party,
    pub name: String,
    pub place: Cells,
    pub line: usize,
}

/// An output of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SourceOutput {
    pub to: Recipient,
    pub name: String,
    pub place: Cells,
    pub line: usize,
}

/// Adjacent registers or words of memory: numbers of cells, registers before memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cells(Range<usize>);

impl Cells {
    pub fn cells(&self) -> Range<usize> {
        self.0.clone()
    }
}

/// Returns the name of a cell.
fn cell_name(cell: usize) -> String {
    if cell < REGISTERS { format!("r{cell}") } else { format!("m{}", cell - REGISTERS) }
}

impl Assembly {
    /// Reads a source.
    ///
    /// # Errors
    /// The first [`Problem`].
    pub fn parse(text: &str) -> Result<Self, Problem> {
        // Some editors write a byte order mark before a text.
        let text = text.trim_start_matches('\u{feff}');
        let last_line = text.lines().count().max(1);
        let mut all = Assembly {
            inputs: Vec::new(),
            outputs: Vec::new(),
            instructions: Vec::new(),
            steps: None,
            last_line,
        };
        // The bodies of the loops that are still open, with the innermost last. The body of the whole source
        // comes first.
        let mut open: Vec<(Option<Loop>, Vec<Node>)> = vec![(None, Vec::new())];
        for (line, text) in (1..).zip(text.lines()) {
            let line =
                SourceLine { number: line, text: text.split([';', '#']).next().unwrap_or_default().trim() };
            let words: Vec<&str> = line.text.split_whitespace().collect();
            match &words[..] {
                [] => {}
                [".input", rest @ ..] => all.input(line, rest, &open)?,
                [".output", rest @ ..] => all.output(line, rest)?,
                [".steps", rest @ ..] => all.set_steps(line, rest)?,
                [".repeat", rest @ ..] => {
                    if open.len() > MAX_NESTING {
                        return Err(line.problem(
                            format!("more than {MAX_NESTING} loops are nested"),
                            "replace nested loops by one loop with more rounds",
                        ));
                    }
                    open.push((Some(Loop::parse(line, rest)?), Vec::new()));
                }
                [".end"] => match (open.pop(), open.last_mut()) {
                    (Some((Some(head), body)), Some((_, around))) => around.push(Node::Loop(head, body)),
                    _ => return Err(line.problem("no loop is open here", "write `.repeat COUNT` before it")),
                },
                [word, ..] if word.starts_with('.') => {
                    return Err(line.problem(
                        format!("there is no directive {word:?}"),
                        "there are .input, .output, .steps, .repeat and .end",
                    ));
                }
                [word, ..] => {
                    let node = Node::Instruction(Draft::parse(line, word)?);
                    open.last_mut().expect("the list always contains the source itself").1.push(node);
                }
            }
        }
        let (head, body) = open.pop().expect("the list always contains the source itself");
        if let Some(head) = head {
            let why = "this loop is not closed";
            return Err(Problem::new(head.line, why, "write `.end` behind its last instruction"));
        }
        let mut unrolling = Unrolling { names: Vec::new(), rounds: 0, written: [false; REGISTERS + MEMORY] };
        all.inputs.iter().for_each(|input| unrolling.written[input.place.cells()].fill(true));
        unrolling.all(&body, &mut all.instructions)?;
        all.check_outputs(&unrolling.written)?;
        Ok(all)
    }

    /// Runs the program in the clear on the words of both parties' inputs; returns the words of each output.
    ///
    /// # Panics
    /// If a party has fewer words than its inputs take.
    pub fn run(&self, garbler: &[u32], evaluator: &[u32]) -> Vec<Vec<u32>> {
        let mut machine = ClearMachine::default();
        for (party, mut words) in [(Party::Garbler, garbler), (Party::Evaluator, evaluator)] {
            for cell in self.inputs.iter().filter(|i| i.party == party).flat_map(|i| i.place.cells()) {
                *machine.cell(cell) = words[0];
                words = &words[1..];
            }
        }
        self.instructions.iter().for_each(|(instruction, _)| machine.step(*instruction));
        let words = |output: &SourceOutput| output.place.cells().map(|cell| *machine.cell(cell)).collect();
        self.outputs.iter().map(words).collect()
    }

    fn input(
        &mut self,
        line: SourceLine<'_>,
        words: &[&str],
        open: &[(Option<Loop>, Vec<Node>)],
    ) -> Result<(), Problem> {
        let hint = "write `.input garbler NAME r0` or `.input evaluator NAME m0..m7`";
        let [party, name, place] = words else {
            return Err(line.problem("an input has a party, a name and a place", hint));
        };
        let party = match *party {
            "garbler" => Party::Garbler,
            "evaluator" => Party::Evaluator,
            other => return Err(line.problem(format!("{other:?} is not a party"), hint)),
        };
        if open.len() > 1 || !open[0].1.is_empty() {
            return Err(line.problem(
                "this input is declared after an instruction",
                "declare all inputs before the first instruction: inputs are in their places when the \
                 program begins",
            ));
        }
        let (name, place) = (line.name(name)?, line.place(place)?);
        if self.inputs.iter().any(|input| input.party == party && input.name == name) {
            return Err(line.problem(format!("this party has two inputs called {name}"), "rename one"));
        }
        let taken = |cell: &usize| self.inputs.iter().any(|input| input.place.cells().contains(cell));
        if let Some(cell) = place.cells().find(taken) {
            return Err(line.problem(
                format!("another input already uses {}", cell_name(cell)),
                "choose other registers or words of memory",
            ));
        }
        self.inputs.push(SourceInput { party, name, place, line: line.number });
        Ok(())
    }

    fn output(&mut self, line: SourceLine<'_>, words: &[&str]) -> Result<(), Problem> {
        let hint = "write `.output both NAME r0`, or `garbler` or `evaluator` for both";
        let [to, name, place] = words else {
            return Err(line.problem("an output has a recipient, a name and a place", hint));
        };
        let to = match *to {
            "garbler" => Recipient::Garbler,
            "evaluator" => Recipient::Evaluator,
            "both" => Recipient::Both,
            other => return Err(line.problem(format!("{other:?} is not a recipient"), hint)),
        };
        let (name, place) = (line.name(name)?, line.place(place)?);
        if self.outputs.iter().any(|output| output.name == name) {
            return Err(line.problem(format!("two outputs are called {name}"), "rename one"));
        }
        self.outputs.push(SourceOutput { to, name, place, line: line.number });
        Ok(())
    }

    fn set_steps(&mut self, line: SourceLine<'_>, words: &[&str]) -> Result<(), Problem> {
        if let Some((_, first)) = self.steps {
            return Err(line.problem(
                format!("line {first} already gives the number of steps"),
                "give the number of \
                     steps only once",
            ));
        }
        let steps = match words {
            [number] => number.parse().ok().filter(|steps| (1..=MAX_STEPS).contains(steps)),
            _ => None,
        };
        let steps = steps.ok_or_else(|| {
            line.problem(
                "this is not a number of steps",
                format!("write `.steps N`, with N from 1 to {MAX_STEPS}"),
            )
        })?;
        self.steps = Some((steps, line.number));
        Ok(())
    }

    fn check_outputs(&self, written: &[bool; REGISTERS + MEMORY]) -> Result<(), Problem> {
        if self.outputs.is_empty() {
            let hint = "name an output, such as `.output both result r0`";
            return Err(Problem::new(self.last_line, "the program has no output", hint));
        }
        // If a party has no secret program but its peer has, its source contains only the interface.
        if self.instructions.is_empty() && self.steps.is_some() {
            return Ok(());
        }
        for output in &self.outputs {
            if let Some(cell) = output.place.cells().find(|cell| !written[*cell]) {
                return Err(unwritten(output.line, cell));
            }
        }
        Ok(())
    }
}

impl ClearMachine {
    fn cell(&mut self, cell: usize) -> &mut u32 {
        if cell < REGISTERS { &mut self.registers[cell] } else { &mut self.memory[cell - REGISTERS] }
    }
}

fn unwritten(line: usize, cell: usize) -> Problem {
    let name = cell_name(cell);
    let hint = match cell < REGISTERS {
        true => format!("write `mov {name}, 0` before, or name {name} in an `.input`"),
        false => {
            format!("write `store REGISTER, {}` before, or name {name} in an `.input`", cell - REGISTERS)
        }
    };
    Problem::new(line, format!("the program reads {name} before anything was written to it"), hint)
}

/// A line without its comment.
#[derive(Clone, Copy)]
struct SourceLine<'t> {
    number: usize,
    text: &'t str,
}

impl SourceLine<'_> {
    fn problem(self, message: impl Into<String>, hint: impl Into<String>) -> Problem {
        Problem::new(self.number, message, hint)
    }

    /// Reads the name of an input, an output or a loop's round.
    fn name(self, word: &str) -> Result<String, Problem> {
        let letters = |c: char| c.is_ascii_alphanumeric() || c == '_';
        match word.starts_with(|c: char| c.is_ascii_alphabetic()) && word.chars().all(letters) {
            true if word.len() <= 64 => Ok(word.to_owned()),
            _ => Err(self.problem(
                format!("{word:?} is not a name"),
                "a name has up to 64 letters, digits and underscores, and begins with a letter",
            )),
        }
    }

    /// Reads a place: `r0`, `m15`, or a range such as `m0..m7`.
    fn place(self, word: &str) -> Result<Cells, Problem> {
        let cell = |word: &str| {
            register(word).or_else(|| {
                let number = word.strip_prefix('m')?.parse::<usize>().ok()?;
                (number < MEMORY).then_some(REGISTERS + number)
            })
        };
        let (first, last) = word.split_once("..").unwrap_or((word, word));
        match (cell(first), cell(last)) {
            (Some(first), Some(last)) if first <= last && (first < REGISTERS) == (last < REGISTERS) => {
                Ok(Cells(first..last + 1))
            }
            _ => Err(self.problem(
                format!("{word:?} is neither registers nor words of memory"),
                format!(
                    "write r0 to r{}, m0 to m{}, or a range: `m0..m3` means four words",
                    REGISTERS - 1,
                    MEMORY - 1
                ),
            )),
        }
    }
}

/// Returns the number of a register.
fn register(word: &str) -> Option<usize> {
    word.strip_prefix('r')?.parse().ok().filter(|number| *number < REGISTERS)
}

/// The head of a loop.
struct Loop {
    line: usize,
    rounds: usize,
    /// The name of the round's number.
    name: Option<String>,
}

impl Loop {
    fn parse(line: SourceLine<'_>, words: &[&str]) -> Result<Self, Problem> {
        let hint =
            format!("write `.repeat COUNT` or `.repeat COUNT NAME`, with COUNT from 1 to {MAX_INSTRUCTIONS}");
        let (rounds, name) = match words {
            [rounds] => (rounds, None),
            [rounds, name] => (rounds, Some(line.name(name)?)),
            _ => {
                return Err(line.problem(
                    "a loop needs a number of rounds, and may have a name for the \
                 round's number",
                    hint,
                ));
            }
        };
        if name.as_deref().is_some_and(|name| register(name).is_some()) {
            return Err(line.problem(
                "the name of the loop's round is the name of a register",
                "give it another name, such as i",
            ));
        }
        let rounds = rounds.parse().ok().filter(|rounds| (1..=MAX_INSTRUCTIONS).contains(rounds));
        let rounds = rounds.ok_or_else(|| line.problem("this is not a number of rounds", hint))?;
        Ok(Loop { line: line.number, rounds, name })
    }
}

/// The parts of a source.
enum Node {
    Instruction(Draft),
    Loop(Loop, Vec<Node>),
}

/// An instruction whose second operand may name a loop's round.
struct Draft {
    line: usize,
    operation: Operation,
    target: u8,
    first: u8,
    second: Second,
}

enum Second {
    Known(Operand),
    /// The number of a loop's round, from 0, plus a constant.
    Round(String, u32),
}

impl Draft {
    /// Reads an instruction that begins with `word`.
    fn parse(line: SourceLine<'_>, word: &str) -> Result<Self, Problem> {
        use Operation::*;
        let rest = line.text[word.len()..].trim();
        let operands: Vec<&str> =
            if rest.is_empty() { Vec::new() } else { rest.split(',').map(str::trim).collect() };
        let known = Operation::ALL.into_iter().find(|operation| operation.name() == word);
        let (operation, form) = match known {
            None if word == "not" => (Xor, "TARGET, REGISTER"),
            None => {
                let names = Operation::ALL.map(Operation::name).join(", ");
                return Err(line.problem(
                    format!("there is no instruction {word:?}"),
                    format!("there are {names}, not"),
                ));
            }
            Some(Nop) => (Nop, ""),
            Some(operation @ (Mov | Load)) => (operation, "TARGET, OPERAND"),
            Some(Store) => (Store, "REGISTER, ADDRESS"),
            Some(operation) => (operation, "TARGET, REGISTER, OPERAND"),
        };
        let form_of = if operation == Load { "TARGET, ADDRESS" } else { form };
        let hint = format!("write `{}`", format!("{word} {form_of}").trim());
        let register = |name: &str| {
            register(name).map(|number| number as u8).ok_or_else(|| {
                let why = format!("{name:?} is not a register: registers are r0 to r{}", REGISTERS - 1);
                line.problem(why, format!("{hint}, with a value in a register where one is asked for"))
            })
        };
        let zero = Second::Known(Operand::Value(0));
        let (target, first, second) = match (form, &operands[..]) {
            ("", []) => (0, 0, zero),
            ("TARGET, OPERAND", [target, second]) => (register(target)?, 0, Second::parse(line, second)?),
            ("REGISTER, ADDRESS", [first, second]) => (0, register(first)?, Second::parse(line, second)?),
            ("TARGET, REGISTER", [target, first]) => {
                (register(target)?, register(first)?, Second::Known(Operand::Value(u32::MAX)))
            }
            ("TARGET, REGISTER, OPERAND", [target, first, second]) => {
                (register(target)?, register(first)?, Second::parse(line, second)?)
            }
            _ => {
                let why = format!("{word} does not take {} operands", operands.len());
                return Err(line.problem(why, hint));
            }
        };
        Ok(Draft { line: line.number, operation, target, first, second })
    }

    /// Returns the registers that the instruction reads.
    fn reads(&self, second: Operand) -> impl Iterator<Item = u8> {
        use Operation::*;
        let first = (!matches!(self.operation, Nop | Mov | Load)).then_some(self.first);
        let second = match second {
            Operand::Register(register) => Some(register),
            Operand::Value(_) => None,
        };
        let target = (self.operation == Sel).then_some(self.target);
        first.into_iter().chain(second).chain(target)
    }
}

impl Second {
    fn parse(line: SourceLine<'_>, word: &str) -> Result<Self, Problem> {
        if let Some(register) = register(word) {
            return Ok(Second::Known(Operand::Register(register as u8)));
        }
        if let Some(value) = number(word) {
            return Ok(Second::Known(Operand::Value(value)));
        }
        let (name, more) = match word.split_once('+') {
            Some((name, more)) => (name.trim(), number(more.trim())),
            None => (word, Some(0)),
        };
        match (line.name(name), more) {
            (Ok(name), Some(more)) => Ok(Second::Round(name, more)),
            _ => Err(line.problem(
                format!("{word:?} is not an operand"),
                format!(
                    "write r0 to r{}, a number from -2147483648 to 4294967295, or the round of a loop, such \
                     as i or i+1",
                    REGISTERS - 1
                ),
            )),
        }
    }
}

/// Reads a word: decimal, negative or hexadecimal.
fn number(word: &str) -> Option<u32> {
    let digits = |text: &str, radix: u32| {
        text.starts_with(|c: char| c.is_digit(radix)).then(|| u32::from_str_radix(text, radix).ok()).flatten()
    };
    if let Some(hexadecimal) = word.strip_prefix("0x") {
        return digits(hexadecimal, 16);
    }
    match word.strip_prefix('-') {
        Some(positive) => digits(positive, 10).filter(|n| *n <= 1 << 31).map(u32::wrapping_neg),
        None => digits(word, 10),
    }
}

/// The state of the unrolling of loops.
struct Unrolling<'s> {
    /// The names of the enclosing loops' rounds, the innermost last, and the rounds' numbers.
    names: Vec<(&'s str, u32)>,
    /// The number of rounds so far.
    rounds: usize,
    /// The cells that were written.
    written: [bool; REGISTERS + MEMORY],
}

impl<'s> Unrolling<'s> {
    fn all(&mut self, nodes: &'s [Node], into: &mut Vec<(Instruction, usize)>) -> Result<(), Problem> {
        for node in nodes {
            match node {
                Node::Instruction(draft) => {
                    let instruction = self.instruction(draft)?;
                    if into.len() == MAX_INSTRUCTIONS {
                        return Err(Problem::new(
                            draft.line,
                            format!(
                                "with all rounds of loops, the program has more than {MAX_INSTRUCTIONS} \
                                 instructions"
                            ),
                            "use fewer rounds, or split the program into several programs",
                        ));
                    }
                    into.push((instruction, draft.line));
                }
                Node::Loop(head, body) => {
                    for round in 0..head.rounds {
                        self.rounds += 1;
                        if self.rounds > MAX_INSTRUCTIONS {
                            return Err(Problem::new(
                                head.line,
                                format!("all loops together have more than {MAX_INSTRUCTIONS} rounds"),
                                "use fewer rounds, or split the program into several programs",
                            ));
                        }
                        self.names.extend(head.name.as_deref().map(|name| (name, round as u32)));
                        self.all(body, into)?;
                        self.names.truncate(self.names.len() - usize::from(head.name.is_some()));
                    }
                }
            }
        }
        Ok(())
    }

    fn instruction(&mut self, draft: &Draft) -> Result<Instruction, Problem> {
        let second = match &draft.second {
            Second::Known(operand) => *operand,
            Second::Round(name, more) => {
                let round = self.names.iter().rev().find(|(of, _)| of == name).map(|(_, round)| *round);
                let value = round.and_then(|round| round.checked_add(*more)).ok_or_else(|| {
                    Problem::new(
                        draft.line,
                        format!(
                            "no loop around this line calls its round {name}, or the sum has more than \
                             32 bits"
                        ),
                        format!("write a number, a register, or put this line into `.repeat COUNT {name}`"),
                    )
                })?;
                Operand::Value(value)
            }
        };
        if let Some(cell) = draft.reads(second).map(usize::from).find(|cell| !self.written[*cell]) {
            return Err(unwritten(draft.line, cell));
        }
        self.memory(draft, second)?;
        if !matches!(draft.operation, Operation::Nop | Operation::Store) {
            self.written[usize::from(draft.target)] = true;
        }
        let Draft { operation, target, first, .. } = *draft;
        Ok(Instruction { operation, target, first, second })
    }

    /// Checks addresses and marks the words of memory that a store writes. An address in a register is taken
    /// modulo the size of memory; unwritten words there are 0.
    fn memory(&mut self, draft: &Draft, second: Operand) -> Result<(), Problem> {
        let place = match (draft.operation, second) {
            (Operation::Load | Operation::Store, Operand::Value(address)) => {
                let address = usize::try_from(address).ok().filter(|address| *address < MEMORY);
                REGISTERS
                    + address.ok_or_else(|| {
                        let hint =
                            format!("an address must be a number from 0 to {}, or a register", MEMORY - 1);
                        Problem::new(draft.line, "this address is outside of the memory", hint)
                    })?
            }
            (Operation::Store, Operand::Register(_)) => {
                self.written[REGISTERS..].fill(true);
                return Ok(());
            }
            _ => return Ok(()),
        };
        match draft.operation {
            Operation::Load if !self.written[place] => return Err(unwritten(draft.line, place)),
            _ => self.written[place] = true,
        }
        Ok(())
    }
}
