//! Compares programs of components with the machine in the clear, and tests the assembler's messages and the
//! costs.

use std::collections::BTreeMap;

use brickwork_circuit::{Party, Program};
use brickwork_machine::{Assembly, library};
use proptest::prelude::*;

/// Returns the words of each output of a program.
fn simulate(program: &Program, garbler: &[bool], evaluator: &[bool]) -> Vec<Vec<u32>> {
    let outputs = program.simulate(garbler, evaluator);
    outputs.iter().map(|bits| bits.chunks(32).map(word).collect()).collect()
}

fn word(bits: &[bool]) -> u32 {
    bits.iter().rev().fold(0, |word, bit| word << 1 | u32::from(*bit))
}

fn bits(words: &[u32]) -> Vec<bool> {
    words.iter().flat_map(|word| (0..32).map(move |bit| word >> bit & 1 == 1)).collect()
}

/// Checks that the machine in the clear, the public program, and the secret program of either party agree;
/// returns the result.
fn agree(source: &str, garbler: &[u32], evaluator: &[u32]) -> Vec<Vec<u32>> {
    let assembly = Assembly::parse(source).unwrap_or_else(|problem| panic!("{problem} in\n{source}"));
    let expected = assembly.run(garbler, evaluator);
    let words = [bits(garbler), bits(evaluator)];
    let public = assembly.public("program").expect("a program");
    assert_eq!(simulate(&public, &words[0], &words[1]), expected, "public:\n{source}");
    for holder in [Party::Garbler, Party::Evaluator] {
        let secret = assembly.secret(holder).expect("a program");
        let program = assembly.program_input().expect("an input");
        let inputs = [(Party::Garbler, &words[0]), (Party::Evaluator, &words[1])].map(|(party, words)| {
            if party == holder { [&program[..], words].concat() } else { words.clone() }
        });
        assert_eq!(simulate(&secret, &inputs[0], &inputs[1]), expected, "{holder:?}'s secret:\n{source}");
    }
    expected
}

/// A source in which all registers and words are inputs, and all are outputs.
const INTERFACE: &str = "
    .input garbler   g r0..r3
    .input evaluator e r4..r7
    .input garbler   h m0..m7
    .input evaluator f m8..m15
    .output both     registers r0..r7
    .output garbler  memory    m0..m15
    .steps 12
";

#[test]
fn each_instruction_on_edges() {
    const EDGES: [u32; 8] = [0, 1, 2, 31, 33, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff];
    let garbler: Vec<u32> = (0..12).map(|n| EDGES[n % 8]).collect();
    let evaluator: Vec<u32> = (4..16).map(|n| EDGES[n % 8]).collect();
    for name in ["eq", "lt", "lts", "add", "sub", "mul", "and", "or", "xor", "shl", "shr", "sel"] {
        for second in ["r0", "r3", "r6", "r7", "0", "5", "32", "-1", "0x80000000"] {
            let source = format!(
                "{INTERFACE}{name} r1, r6, {second}\n{name} r2, r4, {second}\n{name} r5, r1, {second}"
            );
            agree(&source, &garbler, &evaluator);
        }
    }
    let source = format!(
        "{INTERFACE}load r0, r3\nload r1, 15\nstore r7, r4\nstore r6, 0\nnot r2, r2\nmov r5, r0\nnop"
    );
    let outputs = agree(&source, &garbler, &evaluator);
    // The address in r3 is 31, which is 15 modulo 16. The address in r4 is 33, which is 1 modulo 16.
    assert_eq!(outputs[0], [EDGES[7], EDGES[7], !2, 31, 33, EDGES[7], 0x8000_0000, 0xffff_ffff]);
    assert_eq!(outputs[1][..2], [0x8000_0000, 0xffff_ffff]);
}

#[test]
fn what_a_program_computes_is_what_it_says() {
    let source = "
        .input garbler a r0
        .input evaluator b r1
        .steps 8
        mov r2, 10
        sub r3, r0, r1
        mul r3, r3, r2
        lts r4, r3, 0
        shl r5, r4, 31
        not r6, r5
        .output both p r3
        .output evaluator q r4..r6
    ";
    let below = 30u32.wrapping_neg();
    assert_eq!(agree(source, &[4], &[7]), [vec![below], vec![1, 1 << 31, !(1 << 31)]]);
    // An editor may write a byte order mark before the source.
    assert_eq!(agree(&format!("\u{feff}{source}"), &[7], &[4]), [vec![30], vec![0, 0, u32::MAX]]);
}

#[test]
fn loops_are_unrolled_and_name_their_rounds() {
    let source = "
        .input garbler a m0..m3
        .input evaluator b r0
        .steps 32
        mov r1, 0
        .repeat 2 i
            .repeat 2 j
                load r2, j+2       ; the words 2 and 3, twice
                add r1, r1, r2
            .end
            add r1, r1, i
            .repeat 3
                add r1, r1, r0
            .end
        .end
        .output both sum r1
    ";
    assert_eq!(agree(source, &[1000, 1000, 1, 2], &[100]), [[607]]);
}

/// The peer of the secret program's holder has only the interface, which gives the same program.
#[test]
fn the_interface_is_enough_for_the_peer() {
    let body = "add r0, r0, r1\nmov r2, r0\n";
    let full = format!(".input garbler x r0\n.input evaluator y r1\n.steps 3\n{body}.output both z r2\n");
    let interface = full.replace(body, "");
    let secret = |source: &str| Assembly::parse(source).unwrap().secret(Party::Evaluator).unwrap().digest();
    assert_eq!(secret(&full), secret(&interface));
    assert_ne!(secret(&full), secret(&full.replace(".steps 3", ".steps 4")));
    let none = Assembly::parse(&interface).unwrap().public("p").unwrap_err();
    assert!(none.message.contains("no instruction"), "{none}");
}

#[test]
fn errors_say_where_and_what_to_write() {
    let cases = [
        (".input garbler x r0\nadd r0, r0, r1\n.output both x r0", 2, "reads r1 before", "mov r1, 0"),
        (".input garbler x r0\nsel r1, r0, r0\n.output both x r1", 2, "reads r1 before", "mov r1, 0"),
        (".input garbler x r0\nload r1, 3\n.output both x r1", 2, "reads m3 before", "store REGISTER, 3"),
        (".input garbler x r0\nstore r0, 16\n.output both x r0", 2, "outside of the memory", "0 to 15"),
        (
            ".input garbler x r0\n.repeat 17 i\nstore r0, i\n.end\n.output both x r0",
            3,
            "outside of the memory",
            "0 to 15",
        ),
        (".input garbler x r0\nmov r0, i\n.output both x r0", 2, "calls its round i", ".repeat COUNT i"),
        (
            ".input garbler x r0\nadd r0, 5, r0\n.output both x r0",
            2,
            "\"5\" is not a register",
            "TARGET, REGISTER",
        ),
        (
            ".input garbler x r0\nadd r0, r0\n.output both x r0",
            2,
            "2 operands",
            "add TARGET, REGISTER, OPERAND",
        ),
        (".input garbler x r0\nmov r0, 4294967296\n.output both x r0", 2, "not an operand", "4294967295"),
        (".input garbler x r0\ndiv r0, r0, 2", 2, "no instruction \"div\"", "mul"),
        (".input garbler x r8", 1, "neither registers", "r7"),
        (".input garbler x r7..m0", 1, "neither registers", "m15"),
        (".input garbler x r0\n.input evaluator y r0", 2, "already uses r0", "other registers"),
        (".input garbler x r0\n.input garbler x r1", 2, "two inputs", "rename"),
        (".input garbler x r0\nnop\n.input garbler y r1", 3, "after an instruction", "before the first"),
        (".input carol x r0", 1, "\"carol\" is not a party", "garbler"),
        (".output all x r0", 1, "is not a recipient", "both"),
        (".input garbler x r0\nnop", 2, "the program has no output", ".output"),
        (".input garbler x r0\nnop\n.output both y r1", 3, "reads r1 before", "mov r1, 0"),
        (".repeat 2\nnop", 1, "not closed", ".end"),
        (".end", 1, "no loop is open", ".repeat"),
        (".repeat 0\n.end", 1, "not a number of rounds", "65536"),
        (".repeat 2 r1\n.end", 1, "the name of a register", "such as i"),
        (".repeat 65536\n.repeat 65536\n.end\n.end", 2, "more than 65536 rounds", "use fewer rounds"),
        (".repeat 60000\nnop\nnop\n.end", 2, "more than 65536 instructions", "use fewer rounds"),
        (".steps 5000", 1, "not a number of steps", "1 to 4096"),
        (".steps 5\n.steps 6", 2, "line 1 already gives", "once"),
        (".loop 5", 1, "no directive", ".repeat"),
    ];
    for (source, line, message, hint) in cases {
        let problem = Assembly::parse(source).expect_err(source);
        assert!(problem.line == line && problem.message.contains(message), "{source:?}: {problem:?}");
        assert!(problem.hint.contains(hint), "{source:?}: {problem:?}");
    }
    let nested = ".repeat 1\n".repeat(9);
    assert!(Assembly::parse(&nested).unwrap_err().message.contains("nested"));

    let secret = |source: &str| Assembly::parse(source).unwrap().secret(Party::Garbler).unwrap_err();
    let problem = secret(".input garbler x r0\n.steps 1\nnop\nnop\n.output both x r0");
    assert!(problem.line == 4 && problem.message.contains("beyond the 1 steps of line 2"), "{problem}");
    let problem = secret(".input garbler x r0\nnop\n.output both x r0");
    assert!(problem.hint.contains(".steps N"), "{problem}");
    let problem = secret(".input garbler program r0\n.steps 1\n.output both x r0");
    assert!(problem.line == 1 && problem.hint.contains("another name"), "{problem}");
    let nobody = Assembly::parse("mov r0, 1\n.output both x r0").unwrap().public("p").unwrap_err();
    assert!(nobody.message.contains("neither party gives an input"), "{nobody}");
}

/// The page has the AND gates of each component, and the AND gates and slots of the examples.
#[test]
fn costs_are_those_of_the_page() {
    let page = include_str!("../../../docs/guides/machine.md");
    let rows = |title: &str| -> BTreeMap<String, Vec<u64>> {
        let (_, table) = page.split_once(title).expect("a table");
        let rows = table.trim_start().lines().skip(1).take_while(|line| line.starts_with('|'));
        let cells = rows.map(|row| row.split('|').map(str::trim).collect::<Vec<_>>());
        let number = |cell: &&str| cell.replace(' ', "").parse().ok();
        cells
            .map(|row| (row[1].trim_matches('`').to_owned(), row.iter().filter_map(number).collect()))
            .collect()
    };
    let library = library().expect("the instruction set");
    let measured: BTreeMap<String, Vec<u64>> = library
        .info()
        .components
        .into_iter()
        .map(|c| (c.name, vec![c.and_gates, c.inputs, c.outputs]))
        .collect();
    assert_eq!(rows("| component | AND gates | wires in | wires out |\n"), measured);

    let examples = [
        ("gcd", include_str!("../../../examples/machine/gcd.bwa")),
        ("lookup", include_str!("../../../examples/machine/lookup.bwa")),
        ("score", include_str!("../../../examples/machine/score.bwa")),
        ("tariff", include_str!("../../../examples/machine/tariff.bwa")),
    ];
    let measured: BTreeMap<String, Vec<u64>> = examples
        .into_iter()
        .map(|(name, source)| {
            let assembly = Assembly::parse(source).expect("a program");
            let program = match name {
                "tariff" => assembly.secret(Party::Garbler),
                _ => assembly.public(name),
            };
            let program = program.expect("a program");
            // Every component of the program belongs to the instruction set, with the same digest.
            assert!(
                program.component_digests().iter().all(|d| library.component_digests().contains(d)),
                "{name}"
            );
            (name.to_owned(), vec![program.and_gates(), program.slot_count() as u64])
        })
        .collect();
    assert_eq!(rows("| program | AND gates | slots |\n"), measured);
}

/// Draws an instruction of a random program. All registers and memory are inputs.
fn instruction() -> impl Strategy<Value = String> {
    let names = prop::sample::select(vec![
        "eq", "lt", "lts", "add", "sub", "mul", "and", "or", "xor", "shl", "shr", "sel", "mov", "load",
        "store", "not", "nop",
    ]);
    let second = prop_oneof![
        (0..8u8).prop_map(|register| format!("r{register}")),
        any::<u32>().prop_map(|value| value.to_string()),
    ];
    (names, 0..8u8, 0..8u8, second).prop_map(|(name, target, first, second)| {
        let address = if second.starts_with('r') { second.clone() } else { (first * 2).to_string() };
        match name {
            "nop" => "nop".into(),
            "mov" => format!("mov r{target}, {second}"),
            "not" => format!("not r{target}, r{first}"),
            "load" => format!("load r{target}, {address}"),
            "store" => format!("store r{target}, {address}"),
            _ => format!("{name} r{target}, r{first}, {second}"),
        }
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn random_programs_agree(
        program in prop::collection::vec(instruction(), 1..13),
        garbler in prop::collection::vec(any::<u32>(), 12),
        evaluator in prop::collection::vec(any::<u32>(), 12),
    ) {
        agree(&format!("{INTERFACE}{}", program.join("\n")), &garbler, &evaluator);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn any_text_is_read_or_refused(
        words in prop::collection::vec(prop::sample::select(vec![
            ".input", ".output", ".steps", ".repeat", ".end", "garbler", "evaluator", "both", "r0", "r7",
            "r8", "m0..m15", "m3..m2", "r0..m1", "m99999999999999999999", "add", "mov", "load", "store",
            "sel", "not", "nop", ",", ",,", "i", "i+1", "i+", "i+4294967295", "0", "3", "-1", "-2147483649",
            "0x", "0xff", "+5", "65536", "99999999999", "\n", "\n", "\n", ";", "#", "é", "..", "r", "m",
            "\u{0}",
        ]), 0..40),
        text in any::<String>(),
    ) {
        for source in [words.join(" "), words.concat(), text] {
            if let Err(problem) = Assembly::parse(&source) {
                prop_assert!(problem.line >= 1 && !problem.message.is_empty() && !problem.hint.is_empty());
            }
        }
    }
}
