//! Tests JustGarble on files: the way from a program to its outputs, and every refusal.

use super::*;

struct Parts {
    keys: Keys,
}

impl Parts {
    fn file(&self, name: &str) -> String {
        self.keys.file(name)
    }

    /// Garbles the millionaires' program with these flags, and evaluates it for 7 and `evaluator`.
    fn of(flags: &[&str], evaluator: &str) -> Self {
        let parts = Parts { keys: Keys::new() };
        let [f, e, d, c, x, y] = ["f", "e", "d", "c", "x", "y"].map(|name| parts.file(name));
        let program = example("millionaires.bwp");
        let files = ["--garbled", &f, "--tokens", &e, "--decoding", &d, "--checking", &c];
        ok(&[&["garble", &program], &files[..], flags].concat());
        ok(&[
            "garbled-inputs",
            &program,
            "--tokens",
            &e,
            "--garbler",
            "7",
            "--evaluator",
            evaluator,
            "-o",
            &x,
        ]);
        ok(&["evaluate-garbled", &f, "--inputs", &x, "-o", &y]);
        parts
    }
}

/// Runs the command only once, because it refuses to write its files a second time.
fn ok(arguments: &[&str]) -> Value {
    let output = run(&[arguments, &["--json"]].concat());
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", text(&output.stdout));
    let printed = object(&output);
    schema::holds(arguments, &printed);
    printed
}

const PAIRS: [&[&str]; 12] = [
    &[],
    &["--scheme", "ga", "--cipher", "a1"],
    &["--scheme", "ga", "--cipher", "a3"],
    &["--scheme", "ga", "--cipher", "aes-256"],
    &["--scheme", "gax", "--cipher", "a2", "--doubling", "d7"],
    &["--scheme", "gax", "--cipher", "sha-1"],
    &["--scheme", "gaxr", "--cipher", "a4", "--doubling", "d3"],
    &["--scheme", "gaxr", "--cipher", "a4"],
    &["--scheme", "half-gates"],
    &["--scheme", "half-gates", "--cipher", "aes-256"],
    &["--scheme", "privacy-free"],
    &["--scheme", "privacy-free", "--cipher", "a4", "--doubling", "d1"],
];

#[test]
fn files_give_what_the_program_gives() {
    let program = example("millionaires.bwp");
    for (flags, evaluator) in PAIRS.iter().zip(["3", "9"].iter().cycle()) {
        let parts = Parts::of(flags, evaluator);
        let plain = ok(&["simulate", &program, "--garbler", "7", "--evaluator", evaluator]);
        let y = parts.file("y");
        for (flag, name, checked) in [("--decoding", "d", false), ("--checking", "c", true)] {
            let by = parts.file(name);
            let (human, json) = good(&["decode-garbled", &y, flag, &by, "--program", &program]);
            assert_eq!(json["outputs"], plain["outputs"], "{flags:?}");
            assert_eq!(json["checked"], checked);
            assert!(human.contains("The evaluator learns"), "{human}");
            let (bits, json) = good(&["decode-garbled", &y, flag, &by]);
            assert_eq!((json["bits"].as_str(), json["outputs"].is_null()), (Some(bits.trim_end()), true));
            assert_eq!(json["bits"], plain["output_bits"]["evaluator"], "{flags:?}");
        }
    }
}

/// Insecure or meaningless combinations of flags are refused before a file is made.
#[test]
fn insecure_schemes_are_refused() {
    let keys = Keys::new();
    let program = example("millionaires.bwp");
    let [f, e, d] = ["f", "e", "d"].map(|name| keys.file(name));
    let files = ["garble", &program, "--garbled", &f, "--tokens", &e];
    let with = |flags: &[&str], words: &str| {
        bad(&[&files[..], &["--decoding", &d], flags].concat(), 2, words);
    };
    for scheme in ["gax", "gaxr"] {
        for cipher in ["a1", "a3"] {
            with(&["--scheme", scheme, "--cipher", cipher], "cancels out");
        }
    }
    for scheme in ["half-gates", "privacy-free"] {
        with(&["--scheme", scheme, "--cipher", "a1"], "cancels out");
        with(&["--scheme", scheme, "--doubling", "d7"], "doubling D1");
    }
    with(&["--scheme", "ga", "--cipher", "a1", "--doubling", "d1"], "does not double");
    let neither = run(&files);
    assert_eq!(neither.status.code(), Some(2), "nobody could decode: {}", text(&neither.stderr));
    assert!([&f, &e, &d].iter().all(|file| !Path::new(file).exists()));
}

/// A scheme without privacy prints a warning with every command, and its other guarantees still hold.
#[test]
fn what_is_not_private_is_said() {
    let program = example("millionaires.bwp");
    for (scheme, is_private) in [("half-gates", true), ("privacy-free", false)] {
        let keys = Keys::new();
        let [f, e, c, x, y] = ["f", "e", "c", "x", "y"].map(|name| keys.file(name));
        let inputs = ["--garbler", "7", "--evaluator", "3", "-o", &x];
        let commands = [
            &["garble", &program, "--garbled", &f, "--tokens", &e, "--checking", &c, "--scheme", scheme][..],
            &[&["garbled-inputs", &program, "--tokens", &e], &inputs[..]].concat(),
            &["evaluate-garbled", &f, "--inputs", &x, "-o", &y],
        ];
        for command in commands {
            let output = run(command);
            assert_eq!(output.status.code(), Some(0), "{command:?}");
            let said = text(&output.stdout).contains("WARNING: this garbling has no privacy");
            assert_eq!(said, !is_private, "{command:?}");
        }
        let again = ["garbled-inputs", &program, "--tokens", &e, "--garbler", "7", "--evaluator", "3", "-o"];
        let json = ok(&[&again[..], &[&keys.file("again")]].concat());
        assert_eq!(json["private"], is_private);
        let (_, inputs) = brickwork::justgarble::files::read_inputs(&std::fs::read(&x).expect("a file"))
            .expect("garbled inputs");
        let shown: u64 = inputs.iter().zip(0..).map(|(token, i)| (*token as u64 & 1) << i).sum();
        assert_eq!(shown == 7 | 3 << 32, !is_private);
        let plain = ok(&["simulate", &program, "--garbler", "7", "--evaluator", "3"]);
        let (_, decoded) = good(&["decode-garbled", &y, "--checking", &c]);
        assert_eq!(decoded["bits"], plain["output_bits"]["evaluator"]);
    }
}

/// Forged outputs are detected with the garbler's checking information, and only with it.
#[test]
fn forged_outputs_are_told() {
    use brickwork::justgarble::files::{read_outputs, write_outputs};
    let parts = Parts::of(&[], "3");
    let [y, d, c] = ["y", "d", "c"].map(|name| parts.file(name));
    let (mark, mut outputs) = read_outputs(&std::fs::read(y).expect("a file")).expect("outputs");
    outputs[0] ^= 1;
    let forged = parts.keys.write("forged", &write_outputs(&mark, &outputs));
    bad(&["decode-garbled", &forged, "--checking", &c], 5, "forged outputs");
    let (_, json) = good(&["decode-garbled", &forged, "--decoding", &d]);
    assert_eq!(json["checked"], false);
    let short = parts.keys.write("short", &write_outputs(&mark, &[]));
    bad(&["decode-garbled", &short, "--checking", &c], 5, "forged outputs");
    bad(&["decode-garbled", &short, "--decoding", &d], 3, "tokens were given");
}

/// Nothing is overwritten, incomplete files are removed, and only the owner can read secrets.
#[test]
fn files_are_kept_and_private() {
    let parts = Parts::of(&[], "3");
    let [f, e, d, c, x] = ["f", "e", "d", "c", "x"].map(|name| parts.file(name));
    let (program, other) = (example("millionaires.bwp"), parts.file("other"));
    bad(&["garble", &program, "--garbled", &other, "--tokens", &e, "--decoding", &d], 1, "cannot write");
    assert!(!Path::new(&other).exists(), "half a garbling is none");
    let values = ["--garbler", "7", "--evaluator", "3", "-o"];
    bad(&[&["garbled-inputs", &program, "--tokens", &e], &values[..], &[&x]].concat(), 1, "cannot write");
    bad(&["evaluate-garbled", &f, "--inputs", &x, "-o", &d], 1, "cannot write");
    #[cfg(unix)]
    {
        assert!([&e, &c, &x, &parts.file("y")].iter().all(|file| mode(file) == 0o600));
        set_mode(&e, 0o644);
        set_mode(&c, 0o640);
        let arguments = [&["garbled-inputs", &program, "--tokens", &e], &values[..], &[&other]].concat();
        bad(&arguments, 3, "other users");
        bad(&["decode-garbled", &parts.file("y"), "--checking", &c], 3, "other users");
    }
}

/// A damaged file of each kind gives an error that names the file, and so do files of two garblings.
#[test]
fn damaged_and_foreign_files_are_refused() {
    let [parts, others] = [Parts::of(&[], "3"), Parts::of(&[], "3")];
    let [f, e, d, c, x, y] = ["f", "e", "d", "c", "x", "y"].map(|name| parts.file(name));
    let (program, out) = (example("millionaires.bwp"), parts.file("out"));
    let values = ["--garbler", "7", "--evaluator", "3", "-o", &out];
    let damaged = parts.file("damaged");
    let uses: [(&str, Vec<&str>); 6] = [
        (&f, vec!["evaluate-garbled", &damaged, "--inputs", &x, "-o", &out]),
        (&e, [&["garbled-inputs", &program, "--tokens", &damaged], &values[..]].concat()),
        (&d, vec!["decode-garbled", &y, "--decoding", &damaged]),
        (&c, vec!["decode-garbled", &y, "--checking", &damaged]),
        (&x, vec!["evaluate-garbled", &f, "--inputs", &damaged, "-o", &out]),
        (&y, vec!["decode-garbled", &damaged, "--decoding", &d]),
    ];
    for (file, arguments) in &uses {
        let whole = std::fs::read(file).expect("a file");
        let mut flipped = whole.clone();
        flipped[whole.len() / 2] ^= 1;
        for content in [&flipped[..], &whole[..whole.len() - 1], &[&whole[..], &[0]].concat(), &[], b"text"] {
            parts.keys.write("damaged", content);
            bad(arguments, 3, "damaged");
        }
        assert!(!Path::new(&out).exists());
    }
    bad(
        &["evaluate-garbled", &f, "--inputs", &others.file("x"), "-o", &out],
        3,
        "come from different garblings",
    );
    bad(&["decode-garbled", &y, "--decoding", &others.file("d")], 3, "come from different garblings");
    bad(&["decode-garbled", &y, "--checking", &others.file("c")], 3, "come from different garblings");
}

/// Another program is refused even if it has the same widths, when values become tokens and when bits become
/// values.
#[test]
fn another_program_is_refused() {
    let keys = Keys::new();
    // The bytes are n, m, q, A, B, G, O. One program computes the AND of two bits, and the other the OR.
    let [program, other] = [8, 14].map(|g| keys.write(&format!("{g}.scd"), &[0x97, 2, 1, 1, 0, 1, g, 3]));
    let widths = |file: &str| {
        let (_, info) = good(&["info", file]);
        ["input_map", "output_map"].map(|ports| info[ports].to_string())
    };
    assert_eq!(widths(&other), widths(&program), "only the digest tells them apart");
    let [f, e, d, c, x, y, out] = ["f", "e", "d", "c", "x", "y", "out"].map(|name| keys.file(name));
    ok(&["garble", &program, "--garbled", &f, "--tokens", &e, "--decoding", &d, "--checking", &c]);
    ok(&["garbled-inputs", &program, "--tokens", &e, "--garbler", "1", "-o", &x]);
    ok(&["evaluate-garbled", &f, "--inputs", &x, "-o", &y]);
    for file in [&other, &example("aes-128.bwp")] {
        let inputs = ["garbled-inputs", file, "--tokens", &e, "--garbler", "1", "-o", &out];
        bad(&inputs, 3, "is not the program that was garbled");
        for (flag, by) in [("--decoding", &d), ("--checking", &c)] {
            let decode = ["decode-garbled", &y, flag, by, "--program"];
            bad(&[&decode[..], &[file]].concat(), 3, "is not the program that was garbled");
            good(&[&decode[..], &[&program]].concat());
        }
    }
    assert!(!Path::new(&out).exists());
    bad(&["decode-garbled", &y, "--decoding", &d, "--map", "in0=garbler"], 2, "--program");
}

/// Programs can be read from SCD files: they can be written, mapped, simulated and garbled. Topological
/// circuits cannot.
#[test]
fn scd_files_are_programs() {
    let keys = Keys::new();
    let (program, scd) = (example("millionaires.bwp"), keys.file("m.scd"));
    good(&["compile", &program, "--emit", "scd", "-o", &scd]);
    let maps = ["--map", "in0-31=garbler", "--map", "in32-63=evaluator"];
    for evaluator in ["3", "9"] {
        let values = ["--garbler", "7", "--evaluator", evaluator];
        let (_, plain) = good(&[&["simulate", &program], &values[..]].concat());
        let (_, json) = good(&[&["simulate", &scd], &maps[..], &values].concat());
        assert_eq!(json["output_bits"]["evaluator"], plain["output_bits"]["evaluator"]);
    }
    let [f, e, d, x, y] = ["f", "e", "d", "x", "y"].map(|name| keys.file(name));
    ok(&[&["garble", &scd, "--garbled", &f, "--tokens", &e, "--decoding", &d], &maps[..]].concat());
    let input = ["--garbler", "9", "--evaluator", "3", "-o", &x];
    ok(&[&["garbled-inputs", &scd, "--tokens", &e], &maps[..], &input].concat());
    ok(&["evaluate-garbled", &f, "--inputs", &x, "-o", &y]);
    let (_, plain) = good(&["simulate", &program, "--garbler", "9", "--evaluator", "3"]);
    assert_eq!(good(&["decode-garbled", &y, "--decoding", &d]).1["bits"], plain["output_bits"]["evaluator"]);
    let decode = ["decode-garbled", &y, "--decoding", &d, "--program", &scd];
    assert_eq!(good(&[&decode[..], &maps].concat()).1["bits"], plain["output_bits"]["evaluator"]);
    bad(&decode, 3, "is not the program that was garbled");
    bad(
        &["simulate", &scd, "--map", "in0-31=garbler", "--garbler", "1"],
        3,
        "no range of --map covers input 32",
    );
    let topological = keys.write("t.scd", &[0x96, 2, 1, 1, 0, 1, 3]);
    bad(&["simulate", &topological, "--garbler", "1"], 3, "holds a topological circuit");
    let damaged = keys.write("d.scd", &[0x97, 2, 1, 1, 0, 3, 8, 3]);
    bad(&["info", &damaged], 3, "no earlier gate drives");
}

/// Protocols refuse garbling schemes other than half-gates, and the error explains why.
#[test]
fn protocols_refuse_other_schemes() {
    let program = example("millionaires.bwp");
    let values = ["--garbler", "7", "--evaluator", "3"];
    for protocol in ["duplo", "semi-honest", "compgc"] {
        let run = [&["run", &program, "--protocol", protocol], &values[..]].concat();
        for scheme in ["ga", "gax", "gaxr"] {
            bad(&[&run[..], &["--scheme", scheme]].concat(), 2, "no protocol is proven secure with it");
        }
        bad(&[&run[..], &["--scheme", "privacy-free"]].concat(), 2, "shows the evaluator every bit");
        bad(&[&run[..], &["--scheme", "yao"]].concat(), 2, "only with half-gates");
    }
    bad(&["plan", &program, "--scheme", "gaxr"], 2, "is only for research");
    let output =
        run(&[&["run", &program, "--protocol", "semi-honest", "--scheme", "half-gates"], &values[..]]
            .concat());
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
}
