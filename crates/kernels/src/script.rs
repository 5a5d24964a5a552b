//! A circuit as the garbling loops take it.

use std::ops::{BitXor, Range};

/// AND gates in a piece: 16 KiB of tables for each copy.
pub const PIECE: usize = 512;

/// Most AND gates in a batch.
pub const BATCH: usize = 16;

/// The slot that stands for the constant one: in it the garbler has Δ and the evaluator zero, so that INV is
/// an XOR with it. No step writes it.
pub const ONE: u32 = 0;

/// `out = a ⊕ b`, on slots.
#[derive(Clone, Copy)]
pub(crate) struct Xor {
    pub a: u32,
    pub b: u32,
    pub out: u32,
}

/// `out = a ∧ b`, on slots.
#[derive(Clone, Copy, Debug)]
pub struct And {
    /// First operand.
    pub a: u32,
    /// Second operand.
    pub b: u32,
    /// Where the result goes.
    pub out: u32,
    /// The number of the gate in its piece.
    pub gate: u32,
}

/// Where a batch ends in the lists of steps.
#[derive(Clone, Copy)]
struct Ends {
    xors: usize,
    ands: usize,
}

/// XORs one after the other, then AND gates that do not depend on each other.
pub(crate) struct Batch<'a> {
    pub xors: &'a [Xor],
    pub ands: &'a [And],
}

/// The steps of a circuit whose wires have been given *slots*: batches of XORs and independent AND gates, the
/// batches in pieces of [`PIECE`] AND gates.
///
/// The loops rely on this: every slot in the lists is below `slots`, and every gate of a piece below the
/// number of AND gates of that piece.
pub struct Script {
    xors: Vec<Xor>,
    ands: Vec<And>,
    batches: Vec<Ends>,
    /// The number of batches up to the end of each piece.
    pieces: Vec<usize>,
    slots: usize,
}

impl Script {
    /// Number of slots.
    pub fn slots(&self) -> usize {
        self.slots
    }

    /// Number of AND gates.
    pub fn and_gates(&self) -> usize {
        self.ands.len()
    }

    /// Number of pieces, at least 1. Each but the last has [`PIECE`] AND gates.
    pub fn pieces(&self) -> usize {
        self.pieces.len()
    }

    /// The AND gates of a piece.
    pub fn piece_gates(&self, piece: usize) -> Range<usize> {
        piece * PIECE..self.ands.len().min((piece + 1) * PIECE)
    }

    /// The AND gates of a piece in the order of its batches.
    pub(crate) fn piece_ands(&self, piece: usize) -> &[And] {
        &self.ands[self.piece_gates(piece)]
    }

    /// Walks through a piece with values of any kind, one in each of the `slots`. An XOR adds them; `and` is
    /// given the number of the AND gate in the circuit and its operands, and says its result.
    ///
    /// # Panics
    /// If there are fewer values than slots.
    pub fn walk<W: Copy + BitXor<Output = W>>(
        &self,
        piece: usize,
        slots: &mut [W],
        mut and: impl FnMut(usize, W, W) -> W,
    ) {
        let first = self.piece_gates(piece).start;
        for Batch { xors, ands } in self.batches(piece) {
            for &Xor { a, b, out } in xors {
                slots[out as usize] = slots[a as usize] ^ slots[b as usize];
            }
            for &And { a, b, out, gate } in ands {
                slots[out as usize] = and(first + gate as usize, slots[a as usize], slots[b as usize]);
            }
        }
    }

    pub(crate) fn batches(&self, piece: usize) -> impl Iterator<Item = Batch<'_>> {
        let first = if piece == 0 { 0 } else { self.pieces[piece - 1] };
        let mut start = if first == 0 { Ends { xors: 0, ands: 0 } } else { self.batches[first - 1] };
        self.batches[first..self.pieces[piece]].iter().map(move |end| {
            let batch =
                Batch { xors: &self.xors[start.xors..end.xors], ands: &self.ands[start.ands..end.ands] };
            start = *end;
            batch
        })
    }
}

/// Puts a [`Script`] together.
pub struct ScriptBuilder {
    script: Script,
    /// Which gates of the present piece have been added.
    seen: [bool; PIECE],
}

impl ScriptBuilder {
    /// An empty script over slots `0..slots`, the first of which is [`ONE`]; steps may use more.
    pub fn new(slots: usize) -> Self {
        let script = Script {
            xors: Vec::new(),
            ands: Vec::new(),
            batches: Vec::new(),
            pieces: Vec::new(),
            slots: slots.max(1),
        };
        ScriptBuilder { script, seen: [false; PIECE] }
    }

    fn use_slots(&mut self, a: u32, b: u32, out: u32) {
        assert!(out != ONE, "a step writes the constant");
        self.script.slots = self.script.slots.max(a.max(b).max(out) as usize + 1);
    }

    /// Adds an XOR to the next batch.
    ///
    /// # Panics
    /// If it writes [`ONE`].
    pub fn xor(&mut self, a: u32, b: u32, out: u32) {
        self.use_slots(a, b, out);
        self.script.xors.push(Xor { a, b, out });
    }

    /// Ends a batch with these AND gates, of which none reads what another one writes.
    ///
    /// # Panics
    /// If that does not hold, they are more than [`BATCH`], a gate has been added already or would overfill
    /// the piece.
    pub fn batch(&mut self, ands: &[And]) {
        assert!(ands.len() <= BATCH, "{} AND gates in a batch", ands.len());
        for (i, and) in ands.iter().enumerate() {
            self.use_slots(and.a, and.b, and.out);
            let before = &ands[..i];
            assert!(
                before.iter().all(|g| g.out != and.a && g.out != and.b),
                "AND gates of a batch depend on each other"
            );
            assert!(
                !std::mem::replace(&mut self.seen[and.gate as usize], true),
                "AND gate {} of a piece twice",
                and.gate
            );
        }
        let script = &mut self.script;
        script.ands.extend_from_slice(ands);
        script.batches.push(Ends { xors: script.xors.len(), ands: script.ands.len() });
        assert!(script.ands.len() <= (script.pieces.len() + 1) * PIECE, "a batch belongs to one piece");
        if script.ands.len() == (script.pieces.len() + 1) * PIECE {
            script.pieces.push(script.batches.len());
            self.seen = [false; PIECE];
        }
    }

    /// The script.
    ///
    /// # Panics
    /// If the gates of the last piece are not numbered without a gap.
    pub fn finish(mut self) -> Script {
        let in_last = self.script.ands.len() % PIECE;
        assert!(self.seen[..in_last].iter().all(|&s| s), "the AND gates of the last piece have gaps");
        if self.script.batches.last().map_or(0, |end| end.xors) < self.script.xors.len() {
            self.batch(&[]);
        }
        if self.script.pieces.last().is_none_or(|&end| end < self.script.batches.len()) {
            self.script.pieces.push(self.script.batches.len());
        }
        self.script
    }
}
