//! The rounds of AES on eight registers side by side, in assembly.
//!
//! Where there are sixteen registers, eight chains of rounds and eleven round keys do not fit. The compiler puts
//! keys first and works on four chains, then on two and on two, each time waiting for itself. Here each round key
//! is loaded for its round alone, and all eight chains are in flight in all rounds.

/// A round key into the register `key`, then one instruction on each of the eight registers.
macro_rules! on_eight {
    (two, $move:literal, $instruction:literal, $at:literal) => {
        on_eight!(@ $move, $instruction, $at, "{x0}", "{x1}", "{x2}", "{x3}", "{x4}", "{x5}", "{x6}", "{x7}")
    };
    (three, $move:literal, $instruction:literal, $at:literal) => {
        on_eight!(@ $move, $instruction, $at, "{x0}, {x0}", "{x1}, {x1}", "{x2}, {x2}", "{x3}, {x3}",
            "{x4}, {x4}", "{x5}, {x5}", "{x6}, {x6}", "{x7}, {x7}")
    };
    (@ $move:literal, $instruction:literal, $at:literal, $($registers:literal),*) => {
        concat!($move, " {key}, [{keys} + ", $at, "]\n", $($instruction, " ", $registers, ", {key}\n"),*)
    };
}

macro_rules! rounds8 {
    ($kind:ident, $registers:ident, $move:literal, $round:literal, $last:literal,
        [$($at:literal),*], $end:literal, $keys:expr, $x:expr) => {
        core::arch::asm!(
            $(on_eight!($kind, $move, $round, $at),)*
            on_eight!($kind, $move, $last, $end),
            x0 = inout($registers) $x[0].0, x1 = inout($registers) $x[1].0,
            x2 = inout($registers) $x[2].0, x3 = inout($registers) $x[3].0,
            x4 = inout($registers) $x[4].0, x5 = inout($registers) $x[5].0,
            x6 = inout($registers) $x[6].0, x7 = inout($registers) $x[7].0,
            key = out($registers) _,
            keys = in(reg) $keys.as_ptr(),
            options(pure, readonly, nostack, preserves_flags),
        )
    };
}

/// One instruction with the round key `key` on each of the four registers.
macro_rules! on_four {
    ($instruction:literal, $key:literal) => {
        on_four!(@ $instruction, $key, "{x0}", "{x1}", "{x2}", "{x3}")
    };
    (@ $instruction:literal, $key:literal, $($register:literal),*) => {
        concat!($($instruction, " ", $register, ", ", $register, ", ", $key, "\n"),*)
    };
}

pub(super) use {on_eight, on_four, rounds8};
