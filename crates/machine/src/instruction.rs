//! Instructions, and a machine that executes them in the clear.

/// Number of registers.
pub const REGISTERS: usize = 8;

/// Number of words in memory.
pub const MEMORY: usize = 16;

/// Bits of a word.
pub const WORD: usize = 32;

/// The operation of an instruction. The numbers are those of `isa.wir`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Operation {
    /// Does nothing.
    Nop,
    /// Writes a register to memory.
    Store,
    /// 1 if two words are equal, otherwise 0.
    Eq,
    /// 1 if the first operand is less, both unsigned.
    Lt,
    /// Copies a word.
    Mov,
    /// Copies a word if the last bit of the first operand is 1.
    Sel,
    /// Reads memory.
    Load,
    /// 1 if the first operand is less, both signed.
    Lts,
    /// Sum modulo 2^32.
    Add,
    /// Difference modulo 2^32.
    Sub,
    /// Product modulo 2^32.
    Mul,
    /// Conjunction, bit by bit.
    And,
    /// Disjunction, bit by bit.
    Or,
    /// Exclusive or, bit by bit.
    Xor,
    /// Shift to the left by the last five bits of the second operand.
    Shl,
    /// Shift to the right by the last five bits of the second operand. Zeros are shifted in.
    Shr,
}

impl Operation {
    /// All operations, in the order of their numbers.
    pub const ALL: [Operation; 16] = {
        use Operation::*;
        [Nop, Store, Eq, Lt, Mov, Sel, Load, Lts, Add, Sub, Mul, And, Or, Xor, Shl, Shr]
    };

    /// Returns the name in sources, which is also the name of the operation's component.
    pub fn name(self) -> &'static str {
        const NAMES: [&str; 16] = [
            "nop", "store", "eq", "lt", "mov", "sel", "load", "lts", "add", "sub", "mul", "and", "or", "xor",
            "shl", "shr",
        ];
        NAMES[self as usize]
    }
}

/// The second operand of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operand {
    /// The word in this register.
    Register(u8),
    /// This word itself.
    Value(u32),
}

/// One instruction: `target` becomes the result of the operation on the registers `first` and `second`. A
/// `store` writes `first` to the address `second`; unused fields are 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Instruction {
    /// The operation of the instruction.
    pub operation: Operation,
    /// The register of the result.
    pub target: u8,
    /// The register of its first operand.
    pub first: u8,
    /// The second operand of the instruction; an address for `load` and `store`.
    pub second: Operand,
}

/// The fields of an instruction in a secret program's input, and their widths in bits.
pub(crate) const FIELDS: [(&str, u32); 5] =
    [("operation", 4), ("target", 3), ("first", 3), ("immediate", 1), ("second", WORD as u32)];

impl Instruction {
    /// The instruction that does nothing.
    pub const NOP: Instruction =
        Instruction { operation: Operation::Nop, target: 0, first: 0, second: Operand::Value(0) };

    /// Returns the bits of the instruction in a secret program's input: [`FIELDS`], least significant first.
    pub(crate) fn bits(self) -> impl Iterator<Item = bool> {
        let (immediate, second) = match self.second {
            Operand::Register(register) => (0, u32::from(register)),
            Operand::Value(value) => (1, value),
        };
        let values = [self.operation as u32, self.target.into(), self.first.into(), immediate, second];
        let fields = FIELDS.into_iter().zip(values);
        fields.flat_map(|((_, width), value)| (0..width).map(move |bit| value >> bit & 1 == 1))
    }
}

/// A machine that executes programs in the clear. It computes a program's results for tests and for readers.
/// Registers and memory are 0 at first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClearMachine {
    /// The registers.
    pub registers: [u32; REGISTERS],
    /// The words of memory.
    pub memory: [u32; MEMORY],
}

impl ClearMachine {
    /// Executes one instruction.
    pub fn step(&mut self, instruction: Instruction) {
        let a = self.registers[usize::from(instruction.first)];
        let b = match instruction.second {
            Operand::Register(register) => self.registers[usize::from(register)],
            Operand::Value(value) => value,
        };
        let address = b as usize % MEMORY;
        let result = match instruction.operation {
            Operation::Nop => return,
            Operation::Store => {
                self.memory[address] = a;
                return;
            }
            Operation::Sel if a & 1 == 0 => return,
            Operation::Mov | Operation::Sel => b,
            Operation::Load => self.memory[address],
            Operation::Eq => u32::from(a == b),
            Operation::Lt => u32::from(a < b),
            Operation::Lts => u32::from(a.cast_signed() < b.cast_signed()),
            Operation::Add => a.wrapping_add(b),
            Operation::Sub => a.wrapping_sub(b),
            Operation::Mul => a.wrapping_mul(b),
            Operation::And => a & b,
            Operation::Or => a | b,
            Operation::Xor => a ^ b,
            Operation::Shl => a.wrapping_shl(b),
            Operation::Shr => a.wrapping_shr(b),
        };
        self.registers[usize::from(instruction.target)] = result;
    }
}
