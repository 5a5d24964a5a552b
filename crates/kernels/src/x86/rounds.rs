//! AES rounds on eight registers side by side, in assembly.
//!
//! With sixteen registers, eight chains of rounds and eleven round keys do not fit. The compiler keeps the
//! keys in registers instead. It then works on four chains, on two, and on two again, and waits for the AES
//! unit each time. This assembly code loads each round key only for its round, so that all eight chains run
//! in parallel in all rounds.

/// Loads a round key into the register `key`, then applies an instruction to each of the eight registers.
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

/// Applies an instruction with the round key `key` to each of the four registers.
macro_rules! on_four {
    ($instruction:literal, $key:literal) => {
        on_four!(@ $instruction, $key, "{x0}", "{x1}", "{x2}", "{x3}")
    };
    (@ $instruction:literal, $key:literal, $($register:literal),*) => {
        concat!($($instruction, " ", $register, ", ", $register, ", ", $key, "\n"),*)
    };
}

/// Applies an instruction to each of eight registers, two under each of four keys that are 176 bytes apart.
macro_rules! two_under_four {
    (two, $move:literal, $instruction:literal, $round:literal) => {
        concat!(
            two_under_four!(@two $move, $instruction, $round, "0", "{x0}", "{x1}"),
            two_under_four!(@two $move, $instruction, $round, "176", "{x2}", "{x3}"),
            two_under_four!(@two $move, $instruction, $round, "352", "{x4}", "{x5}"),
            two_under_four!(@two $move, $instruction, $round, "528", "{x6}", "{x7}"),
        )
    };
    (three, $move:literal, $instruction:literal, $round:literal) => {
        concat!(
            two_under_four!(@three $move, $instruction, $round, "0", "{x0}", "{x1}"),
            two_under_four!(@three $move, $instruction, $round, "176", "{x2}", "{x3}"),
            two_under_four!(@three $move, $instruction, $round, "352", "{x4}", "{x5}"),
            two_under_four!(@three $move, $instruction, $round, "528", "{x6}", "{x7}"),
        )
    };
    (@two $move:literal, $instruction:literal, $round:literal, $at:literal, $a:literal, $b:literal) => {
        concat!(
            $move, " {key}, [{keys} + (", $at, " + 16 * ", $round, ")]\n",
            $instruction, " ", $a, ", {key}\n",
            $instruction, " ", $b, ", {key}\n",
        )
    };
    (@three $move:literal, $instruction:literal, $round:literal, $at:literal, $a:literal, $b:literal) => {
        concat!(
            $move, " {key}, [{keys} + (", $at, " + 16 * ", $round, ")]\n",
            $instruction, " ", $a, ", ", $a, ", {key}\n",
            $instruction, " ", $b, ", ", $b, ", {key}\n",
        )
    };
}

/// Encrypts the same two registers under four keys. The compiler would finish one register after the other,
/// and keep all expanded round keys in memory meanwhile.
macro_rules! under_four {
    (
        $kind:ident, $registers:ident, $move:literal, $xor:literal, $round:literal, $last:literal, $keys:expr,
        $x:expr
    ) => {{
        let mut x = [$x; 4];
        core::arch::asm!(
            two_under_four!($kind, $move, $xor, "0"),
            two_under_four!($kind, $move, $round, "1"),
            two_under_four!($kind, $move, $round, "2"),
            two_under_four!($kind, $move, $round, "3"),
            two_under_four!($kind, $move, $round, "4"),
            two_under_four!($kind, $move, $round, "5"),
            two_under_four!($kind, $move, $round, "6"),
            two_under_four!($kind, $move, $round, "7"),
            two_under_four!($kind, $move, $round, "8"),
            two_under_four!($kind, $move, $round, "9"),
            two_under_four!($kind, $move, $last, "10"),
            x0 = inout($registers) x[0][0].0, x1 = inout($registers) x[0][1].0,
            x2 = inout($registers) x[1][0].0, x3 = inout($registers) x[1][1].0,
            x4 = inout($registers) x[2][0].0, x5 = inout($registers) x[2][1].0,
            x6 = inout($registers) x[3][0].0, x7 = inout($registers) x[3][1].0,
            // The value does not matter: it only determines the type of the operand, and so the name of the
            // register.
            key = inout($registers) $x[0].0 => _,
            keys = in(reg) $keys.as_ptr(),
            options(pure, readonly, nostack, preserves_flags),
        );
        x
    }};
}

pub(super) use {on_eight, on_four, rounds8, two_under_four, under_four};
