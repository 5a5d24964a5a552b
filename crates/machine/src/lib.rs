//! The garbled machine: an instruction set whose instructions are components in stock, so that a program can
//! be chosen after preprocessing.
//!
//! [`Assembly::parse`] reads a source. [`Assembly::public`] makes a program in which each instruction is a
//! slot of its component, and [`Assembly::secret`] a program that executes the instructions in one party's
//! input. All programs take their components from one [`library`].
//!
//! ```
//! use brickwork_machine::Assembly;
//!
//! let assembly = Assembly::parse("
//!     .input garbler   x r0
//!     .input evaluator y r1
//!     lt   r2, r0, r1
//!     sel  r0, r2, r1         ; the larger one
//!     .output both larger r0
//! ")?;
//! assert_eq!(assembly.run(&[3], &[5]), [[5]]);
//! assert_eq!(assembly.public("larger")?.and_gates(), 64);
//! # Ok::<(), brickwork_machine::Problem>(())
//! ```
#![forbid(unsafe_code)]

mod assemble;
mod instruction;
mod library;
mod problem;
mod source;

pub use instruction::{ClearMachine, Instruction, MEMORY, Operand, Operation, REGISTERS};
pub use library::library;
pub use problem::Problem;
pub use source::{Assembly, MAX_INSTRUCTIONS, MAX_STEPS};
