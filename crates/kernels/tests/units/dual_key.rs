//! Compares all kernels with the portable one, copy by copy, and tests that invalid scripts are refused.

use proptest::prelude::*;

use brickwork_kernels::*;

/// Returns the doublings that are defined for tokens of this many bits.
fn doublings(bits: u32) -> Vec<Doubling> {
    let keep = u128::MAX << (128 - bits);
    let carry = |test, value| Carry { test, value, keep };
    let mut all = vec![
        Doubling::None,
        Doubling::Left(carry(1 << 63 | 1 << 127, 1 << 64 | 0x87 << (128 - bits))),
        Doubling::Right(carry(1 << 64 | 1, 1 << 63 | 1 << 127)),
    ];
    if bits == 128 {
        all.push(Doubling::HalvesRight);
    }
    all
}

const STYLES: [Style; 5] = [Style::Ga, Style::GaX, Style::GaXR, Style::HalfGates, Style::PrivacyFree];

/// Returns whether the loops support this combination.
fn go_together(style: Style, doubling: Doubling) -> bool {
    match style {
        Style::Ga => true,
        Style::GaX | Style::GaXR => doubling != Doubling::None,
        Style::HalfGates | Style::PrivacyFree => matches!(doubling, Doubling::Left(_)),
    }
}

/// Makes a list of gates over `inputs` slots after [`ONE`]. Each layer has these numbers of XORs and AND
/// gates, which read slots from earlier layers.
fn script(inputs: u32, layers: &[(u8, u8)], pick: &mut impl FnMut() -> u32) -> GateList {
    let mut builder = GateListBuilder::new(inputs as usize + 1);
    let (mut written, mut gate) = (inputs + 1, 0);
    for &(xors, ands) in layers {
        let before = written;
        for _ in 0..xors {
            builder.xor(pick() % before, pick() % before, written);
            written += 1;
        }
        let ands: Vec<And> = (0..u32::from(ands).min(LAYER as u32).min(SECTION as u32 - gate))
            .map(|k| And {
                a: 1 + pick() % (before - 1),
                b: pick() % before,
                out: written + k,
                gate: gate + k,
            })
            .collect();
        gate = (gate + ands.len() as u32) % SECTION as u32;
        written += ands.len() as u32;
        builder.layer(&ands);
    }
    builder.finish()
}

/// Functions that every style supports: those that are not linear.
const FUNCTIONS: [u8; 8] = [1, 2, 4, 7, 8, 11, 13, 14];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn kernels_agree(
        layers in prop::collection::vec((0u8..9, 0u8..=LAYER as u8), 1..12),
        seed: u128,
        any_function: bool,
    ) {
        let stream = Aes128::new(seed);
        let mut counter = 0;
        let mut block = || {
            let mut block = [counter];
            counter += 1;
            stream.encrypt(&mut block);
            block[0]
        };
        let script = script(5, &layers, &mut || block() as u32);
        let gates = script.and_gates();
        let tweaks: Vec<u128> = (0..gates).map(|_| block() % (1 << 32)).collect();
        let of_any: Vec<u8> = (0..gates).map(|_| block() as u8 % 16).collect();
        let not_linear: Vec<u8> = of_any.iter().map(|f| FUNCTIONS[usize::from(f % 8)]).collect();
        let keys: Vec<[u128; 2]> = (0..4).map(|_| [block(), block()]).collect();
        let tokens: Vec<u128> = (0..4 * 12).map(|_| block()).collect();
        for (bits, style) in [80, 128].into_iter().flat_map(|bits| STYLES.map(|style| (bits, style))) {
            let linear_too = any_function && !matches!(style, Style::HalfGates | Style::PrivacyFree);
            let functions = if linear_too { &of_any } else { &not_linear };
            let walked = LoopGates { script: &script, tweaks: &tweaks, functions };
            for doubling in doublings(bits).into_iter().filter(|&doubling| go_together(style, doubling)) {
                let cipher = DualKey { doubling, bits };
                let of = |kernel| walks(kernel, style, cipher, walked, &keys, &tokens);
                let expected = of(Kernel::PORTABLE);
                for kernel in Kernel::all_available() {
                    prop_assert_eq!(&of(kernel), &expected, "{:?} {:?} {:?}", kernel, style, cipher);
                }
            }
        }
    }
}

/// Garbles four copies and evaluates them. Returns the rows, and the tokens of all slots.
fn walks(
    kernel: Kernel,
    style: Style,
    cipher: DualKey,
    gates: LoopGates<'_>,
    keys: &[[u128; 2]],
    tokens: &[u128],
) -> Vec<(Vec<u128>, Vec<u128>)> {
    let slots = gates.script.slots() as u32;
    let mut garbler = Tokens::of_garbler(kernel, style, cipher, gates.script);
    let mut evaluator = Tokens::of_evaluator(kernel, style, cipher, gates.script);
    let mut made = Vec::new();
    // Tests one copy less than there are lanes, if there are several lanes.
    for (copies, tokens) in
        keys.chunks(garbler.lanes().max(2) - 1).zip(tokens.chunks(12 * (garbler.lanes().max(2) - 1)))
    {
        let of = |lane: usize| if lane < copies.len() { lane } else { 0 };
        let token = |lane: usize, slot: usize, bit: usize| {
            let offset = tokens[12 * of(lane) + 2] & cipher.token() | cipher.last();
            // Without privacy, the last bits of the offset and of the tokens for 0 are 0.
            let last = if style == Style::PrivacyFree { cipher.last() } else { 0 };
            match slot {
                0 => offset ^ last,
                _ => tokens[12 * of(lane) + 2 * slot - bit] & cipher.token() & !last,
            }
        };
        garbler.set(ONE, 6, token);
        let keys: Vec<CopyKeys> = copies
            .iter()
            .map(|&[permutation, tokens]| CopyKeys {
                permutation: Aes128::new(permutation),
                tokens: Aes128::new(tokens),
            })
            .collect();
        let mut rows = vec![vec![0; style.rows() * gates.script.and_gates()]; copies.len()];
        garbler.garble(gates, &keys, &mut rows.iter_mut().map(|rows| &mut rows[..]).collect::<Vec<_>>());
        evaluator.set(ONE, 6, |lane, slot, _| if slot == 0 { 0 } else { token(lane, slot, 0) });
        let permutations: Vec<&Aes128> = keys.iter().map(|keys| &keys.permutation).collect();
        evaluator.evaluate(gates, &permutations, &rows.iter().map(|rows| &rows[..]).collect::<Vec<_>>());
        for (lane, rows) in rows.into_iter().enumerate() {
            let of_garbler = (0..slots).map(|slot| garbler.get(slot, lane, style.tokens() - 1));
            let of_evaluator = (0..slots).map(|slot| evaluator.get(slot, lane, 0));
            made.push((rows, of_garbler.chain(of_evaluator).collect()));
        }
    }
    made
}

/// The preconditions of the loops are checked before a walk begins.
#[test]
fn walks_that_do_not_fit_are_refused() {
    let mut next = 0;
    let mut pick = || {
        next += 1;
        next
    };
    let (one, other) = (script(5, &[(0, 2)], &mut pick), script(7, &[(0, 2)], &mut pick));
    let cipher = DualKey { doubling: doublings(128)[1], bits: 128 };
    let good = LoopGates { script: &one, tweaks: &[6, 7], functions: &[8, 14] };
    let keys = || CopyKeys { permutation: Aes128::new(1), tokens: Aes128::new(2) };
    let garble = |gates: LoopGates<'_>, copies: usize, rows: &[usize]| {
        let rows = rows.to_vec();
        std::panic::catch_unwind(move || {
            let mut tokens = Tokens::of_garbler(Kernel::PORTABLE, Style::GaXR, cipher, &script_of(5));
            let keys: Vec<CopyKeys> = (0..copies).map(|_| keys()).collect();
            let mut rows: Vec<Vec<u128>> = rows.iter().map(|&length| vec![0; length]).collect();
            tokens.garble(gates, &keys, &mut rows.iter_mut().map(|rows| &mut rows[..]).collect::<Vec<_>>());
        })
        .is_ok()
    };
    assert!(garble(good, 1, &[6]));
    assert!(!garble(LoopGates { script: &other, ..good }, 1, &[6]), "another script");
    assert!(!garble(LoopGates { tweaks: &[6], ..good }, 1, &[6]), "a tweak is missing");
    assert!(!garble(LoopGates { functions: &[8], ..good }, 1, &[6]), "a function is missing");
    assert!(!garble(good, 1, &[5]), "a row is missing");
    assert!(!garble(good, 1, &[6, 6]), "rows of a copy that is not there");
    assert!(!garble(good, 0, &[]), "no copy");
    assert!(!garble(good, 2, &[6, 6]), "more copies than lanes");
}

/// Makes two AND gates over this many slots.
fn script_of(inputs: u32) -> GateList {
    script(inputs, &[(0, 2)], &mut || 3)
}

#[test]
fn ciphers_that_are_none_are_refused() {
    let script = script_of(5);
    let made = |style, doubling, bits| {
        let script = &script;
        std::panic::catch_unwind(move || {
            let mut tokens = Tokens::of_garbler(Kernel::PORTABLE, style, DualKey { doubling, bits }, script);
            let keys = [CopyKeys { permutation: Aes128::new(1), tokens: Aes128::new(2) }];
            let mut rows = vec![0; 2 * style.rows()];
            let gates = LoopGates { script, tweaks: &[6, 7], functions: &[8, 14] };
            tokens.garble(gates, &keys, &mut [&mut rows]);
        })
        .is_ok()
    };
    for style in STYLES {
        for bits in [80, 128] {
            for doubling in doublings(bits) {
                assert_eq!(
                    made(style, doubling, bits),
                    go_together(style, doubling),
                    "{style:?} {doubling:?}"
                );
            }
        }
        assert!(!made(style, doublings(128)[1], 127));
        assert!(!made(style, Doubling::HalvesRight, 80), "80-bit tokens need carries between the halves");
    }
}
