//! Tests commands that need no peer.

use std::io::Write;
use std::process::Stdio;

use super::*;

#[test]
fn keygen_writes_a_private_file_and_never_overwrites() {
    let keys = Keys::new();
    let file = keys.file("garbler.key");
    let pem = std::fs::read_to_string(&file).unwrap();
    assert!(pem.starts_with("-----BEGIN PRIVATE KEY-----\n"));
    assert!(keys.garbler.starts_with("brickwork1:") && keys.garbler.len() == 75, "{}", keys.garbler);
    assert_ne!(keys.garbler, keys.evaluator);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    }
    bad(&["keygen", "-o", &file], 1, "cannot write");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), pem);
    bad(&["keygen", "-o", &keys.file("no/such/folder")], 1, "cannot write");
    let json = object(&run(&["keygen", "-o", &keys.file("third.key"), "--json"]));
    assert!(json["public_key"].as_str().unwrap().starts_with("brickwork1:"));
    assert_eq!(json["identity"], keys.file("third.key"));
}

#[test]
fn info_shows_ports_components_and_wires() {
    let (short, _) = good(&["info", &example("millionaires.bwp")]);
    let (human, json) = good(&["info", &example("millionaires.bwp"), "--wires"]);
    assert!(!short.contains("wires 32-63") && short.contains("--wires"), "{short}");
    assert!(human.starts_with(short.split("\n--wires").next().unwrap()), "{human}");
    // A type is printed completely, however long it is.
    let keys = Keys::new();
    let fields: String = (0..40).map(|k| format!(" byte field_{k};")).collect();
    let source = format!(
        "#parties 2\ntypedef uint_t 8 byte\ntypedef struct_t wide {{{fields} }}\n#input 1 wide\n#input 2 \
         byte\n#output 1 byte\nfunction void main() {{ output1 = input1.field_39 + input2; }}\n"
    );
    let (wide, _) = good(&["info", &keys.write("wide.wir", source.as_bytes())]);
    assert!(wide.contains("field_0") && wide.contains("field_39") && !wide.contains('…'), "{wide}");
    for words in [
        "wealth: uint32, 32 bits",
        "wires 32-63: evaluator's wealth",
        "64 AND gates in 1 slot",
        "compare: 1 slot",
    ] {
        assert!(human.contains(words), "{words}: {human}");
    }
    assert_eq!(json["name"], "millionaires");
    assert_eq!(json["and_gates"], 64);
    assert_eq!(json["garbler_inputs"][0]["width"], 32);
    assert_eq!(json["evaluator_inputs"][0]["type"], "uint32");
    assert_eq!(json["outputs"][0]["to"], "both");
    assert_eq!(json["components"][0]["slots"], 1);
    assert_eq!(json["input_map"][1]["first_wire"], 32);
    assert_eq!(json["digest"].as_str().unwrap().len(), 64);
}

/// A circuit that gives `in0` XOR `in2` to both parties and ignores `in1`.
const THREE_INPUTS: &[u8] = b"1 4\n3 1 1 1\n1 1\n\n2 1 0 2 3 XOR\n";

/// A file is written completely or not at all, never over the command's own source, and never under the name
/// "-".
#[test]
#[cfg(unix)]
fn outputs_are_whole_files_of_their_own() {
    let keys = Keys::new();
    let folder = keys.folder.path();
    let program = keys.write("p.bwp", &std::fs::read(example("aes-128.bwp")).unwrap());
    let source = keys.write("p.bwa", &std::fs::read(example("machine/gcd.bwa")).unwrap());
    let again = path(&folder.join(".").join("p.bwp"));
    std::os::unix::fs::symlink(&program, folder.join("link.bwp")).unwrap();
    std::fs::hard_link(&program, folder.join("hard.bwp")).unwrap();
    for output in [&again, &keys.file("link.bwp"), &keys.file("hard.bwp")] {
        bad(
            &["compile", &program, "--emit", "bristol", "-o", output],
            2,
            "overwritten by its own conversion",
        );
    }
    std::fs::hard_link(&source, folder.join("hard.bwa")).unwrap();
    bad(&["assemble", &source, "-o", &keys.file("hard.bwa")], 2, "overwritten by its program");
    bad(&["compile", &program, "--emit", "bristol", "-o", "-"], 2, "- names no file");
    bad(&["keygen", "-o", "-"], 2, "- names no file");

    // The new file exceeds the limit, so the old one stays.
    let output = keys.write("p.txt", b"before");
    let script = "ulimit -f 8; exec \"$0\" compile \"$1\" --emit bristol -o \"$2\"";
    let mut shell = Command::new("sh");
    shell.args(["-c", script, env!("CARGO_BIN_EXE_brickwork"), &program, &output]);
    let limited = shell.output().expect("a shell");
    assert_eq!(limited.status.code(), Some(1), "{limited:?}");
    assert!(text(&limited.stderr).contains("the file would become too large"), "{limited:?}");
    assert_eq!(std::fs::read(&output).unwrap(), b"before");
    let left = std::fs::read_dir(folder)
        .unwrap()
        .filter(|entry| entry.as_ref().unwrap().file_name().to_string_lossy().starts_with(".tmp"));
    assert_eq!(left.count(), 0);

    // If the output is a link, its target is written and keeps its permissions. A device stays a device.
    private(&output);
    std::os::unix::fs::symlink(&output, folder.join("link.txt")).unwrap();
    good(&["compile", &program, "--emit", "bristol", "-o", &keys.file("link.txt")]);
    assert!(std::fs::symlink_metadata(folder.join("link.txt")).unwrap().is_symlink());
    let data = std::fs::metadata(&output).unwrap();
    let mode = std::os::unix::fs::PermissionsExt::mode(&data.permissions());
    assert!(data.len() > 100_000 && mode & 0o777 == 0o600, "{mode:o}");
    good(&["compile", &program, "--emit", "bristol", "-o", "/dev/null"]);
    assert!(!std::fs::metadata("/dev/null").unwrap().is_file());
}

/// A plan's own time and memory do not grow with the number of executions, and too many executions are
/// refused.
#[test]
fn plans_of_many_executions() {
    let most = u32::MAX.to_string();
    let file = example("millionaires.bwp");
    let plan =
        |executions: &str| good(&["plan", &file, "--protocol", "semi-honest", "--executions", executions]).1;
    let [all, half] = [most.as_str(), "2147483648"].map(plan);
    assert_eq!(all["executions"], u32::MAX);
    let bytes = |json: &Value| {
        let of = |phase: &Value| {
            let sent = |by: &str| phase[by].as_u64().expect("a number");
            sent("garbler_sent_bytes") + sent("evaluator_sent_bytes")
        };
        json["phases"].as_array().expect("phases").iter().map(of).sum::<u64>() as f64
    };
    let ratio = bytes(&all) / bytes(&half);
    assert!((ratio - 2.0).abs() < 1e-4, "{ratio}");
    for protocol in ["duplo", "compgc", "lego", "jimu", "authenticated"] {
        let command = ["plan", &example("aes-128.bwp"), "--protocol", protocol, "--executions", &most];
        bad(&command, 2, "4294967295 executions of ");
    }
}

#[test]
fn bristol_inputs_are_mapped() {
    let keys = Keys::new();
    let file = keys.write("three.txt", THREE_INPUTS);
    let fixed = [
        "simulate",
        &file,
        "--map",
        "in2=evaluator",
        "--garbler",
        "1",
        "--evaluator",
        "{\"in1\": 0, \"in2\": 1}",
    ];
    assert_eq!(good(&fixed).1["outputs"]["garbler"], 0);
    bad(&["simulate", &file, "--map", "in9=garbler", "--garbler", "1", "--evaluator", "1"], 3, "in9");
    bad(&["simulate", &example("millionaires.bwp"), "--map", "in2=garbler"], 3, "--map");
    bad(&["info", &file, "--map", "in2=nobody"], 2, "in2=garbler");
}

#[test]
fn simulate_takes_values_in_every_form() {
    let file = example("millionaires.bwp");
    let (alice, bob) = (format!("@{}", example("alice.json")), format!("@{}", example("bob.json")));
    let (human, json) = good(&["simulate", &file, "--garbler", &alice, "--evaluator", &bob]);
    assert!(human.contains("The garbler learns {\"alice\":1,\"bob\":0}"), "{human}");
    assert_eq!(json["outputs"]["evaluator"], serde_json::json!({ "alice": 1, "bob": 0 }));
    assert_eq!(json["output_bits"]["garbler"], "10");

    let bits = format!("bits:{}", "1".repeat(32));
    let json = object(&run(&["simulate", &file, "--garbler", "0x10", "--evaluator", &bits, "--json"]));
    assert_eq!(json["output_bits"]["garbler"], "01");

    let (_, json) =
        good(&["simulate", &file, "--executions", "3", "--garbler", "[1,2,3]", "--evaluator", "[3,2,1]"]);
    let expected =
        serde_json::json!([{ "alice": 0, "bob": 1 }, { "alice": 0, "bob": 0 }, { "alice": 1, "bob": 0 }]);
    assert_eq!(json["outputs"]["garbler"], expected);

    let mut child = Child::spawn(
        brickwork(&["simulate", &file, "--garbler", "-", "--evaluator", "5", "--json"]).stdin(Stdio::piped()),
    );
    child.stdin.take().unwrap().write_all(b" 6\n").unwrap();
    assert_eq!(object(&finish(child))["output_bits"]["garbler"], "10");
}

const LARGER: &str = "
    #parties 2
    typedef uint_t 8 byte
    #input 1 byte
    #input 2 byte
    #output 1 byte
    function byte larger(byte a, byte b) { byte m = a; if (a < b) m = b; return m; }
    function void main() { output1 = larger(input1, input2); }
";

/// Circuit formats do not contain which party learns an output, so the command prints this with the digest of
/// the written file.
#[test]
fn a_conversion_says_which_outputs_are_shown_to_both() {
    let keys = Keys::new();
    let source = keys.write(
        "private.wir",
        b"#parties 2 typedef uint_t 8 u8 #input 1 u8 #input 2 u8 #output 1 u8 #output 2 u8\n\
          function void main() { output1 = input1 ^ input2; output2 = input1 & input2; }",
    );
    for (format, file) in [("bristol", keys.file("private.txt")), ("scd", keys.file("private.scd"))] {
        let arguments = ["compile", &source, "--emit", format, "-o", &file];
        let said = String::from_utf8(run(&arguments).stdout).unwrap();
        assert!(said.contains("output1, output2 to both parties"), "{said}");
        let (_, json) = good(&arguments);
        assert_eq!(json["digest"], good(&["info", &file]).1["digest"], "{format}");
        assert!(json["outputs"].as_array().unwrap().iter().all(|output| output["to"] == "both"), "{json}");
    }
    let said = run(&["compile", &source, "-o", &keys.file("private.bwp")]).stdout;
    assert!(!String::from_utf8(said).unwrap().contains("to both parties"));
}

#[test]
fn sources_are_compiled_and_converted() {
    let keys = Keys::new();
    let source = keys.write("larger.wir", LARGER.as_bytes());
    let (_, json) = good(&["compile", &source]);
    assert_eq!((&json["and_gates"], &json["output"]), (&16.into(), &keys.file("larger.bwp").into()));
    let circuit = keys.file("larger.txt");
    good(&["compile", &keys.file("larger.bwp"), "--emit", "bristol", "-o", &circuit]);
    good(&["compile", &source, "--emit", "gc-duplo", "--output", &keys.file("larger.GC_duplo")]);
    for file in [&source, &keys.file("larger.bwp"), &circuit, &keys.file("larger.GC_duplo")] {
        let json = object(&run(&["simulate", file, "--garbler", "17", "--evaluator", "200", "--json"]));
        assert_eq!(json["output_bits"]["garbler"], "00010011", "{file}");
    }
    let inlined = good(&["compile", &source, "--inline", "larger", "-o", &keys.file("inlined.bwp")]).1;
    assert_ne!(inlined["digest"], json["digest"]);
    bad(&["compile", &keys.file("larger.bwp")], 2, "overwritten");
    // A compiled program in one piece keeps its types and names. Other cuts need the source.
    let (compiled, whole) = (keys.file("larger.bwp"), keys.file("whole.bwp"));
    let in_one = good(&["compile", &compiled, "--cut", "whole", "-o", &whole]).1;
    assert_eq!((&in_one["slots"], &in_one["components"][0]["slots"]), (&1.into(), &1.into()));
    for field in ["and_gates", "garbler_inputs", "evaluator_inputs", "outputs"] {
        assert_eq!(in_one[field], json[field], "{field}");
    }
    let said = object(&run(&["simulate", &whole, "--garbler", "17", "--evaluator", "200", "--json"]));
    assert_eq!(said["output_bits"]["garbler"], "00010011");
    let listed = good(&["compile", &source, "--cut", "inline:larger", "-o", &whole]).1;
    assert_eq!(listed["digest"], inlined["digest"]);
    bad(&["compile", &compiled, "--cut", "inline:larger", "-o", &whole], 3, "already compiled");
    bad(&["compile", &compiled, "--cut", "gates", "-o", &whole], 3, "only --protocol jimu");
    bad(&["compile", &compiled, "--cut", "thin", "-o", &whole], 2, "a cut must be fastest, given, whole");
    bad(&["compile", &source, "-o", &keys.file("no/such/folder")], 1, "cannot write");
    bad(&["simulate", &source, "--map", "in2=garbler", "--garbler", "1", "--evaluator", "1"], 3, "--map");
}

#[test]
fn compile_describes_its_program_to_machines() {
    let keys = Keys::new();
    let source = "
        #parties 2
        typedef uint_t 8 byte
        typedef int_t 4 small
        typedef struct_t both { small s; byte b[2]; }
        #input 1 both
        #input 2 byte
        #output 1 byte
        #output 2 both
        function byte add(byte a, byte b) { return a + b; }
        function void main() {
            output1 = add(add(input1.b[0], input2), input1.b[1]) * input2 + 300;
            output2.s = -1;
            output2.b[1] = input2;
        }
    ";
    let json = good(&["compile", &keys.write("two.wir", source.as_bytes())]).1;
    let components = json["components"].as_array().unwrap();
    let add = components.iter().find(|c| c["name"] == "add").unwrap();
    for (key, value) in [("slots", 2), ("and_gates", 7), ("and_depth", 7), ("inputs", 16), ("outputs", 8)] {
        assert_eq!(add[key], value, "{key}: {add}");
    }
    assert_eq!(add["wires"].as_u64().unwrap(), add["gates"].as_u64().unwrap() + 16);
    assert_eq!(add["input_ports"][1], serde_json::json!({ "name": "b", "type": "uint8", "width": 8 }));
    let sum = |key: &str| {
        components.iter().map(|c| c[key].as_u64().unwrap() * c["slots"].as_u64().unwrap()).sum::<u64>()
    };
    assert_eq!(
        (json["slots"].as_u64().unwrap() as usize, &json["and_gates"]),
        (3 + components.len() - 2, &sum("and_gates").into())
    );
    assert_eq!(json["wires"].as_u64().unwrap(), 20 + 8 + sum("outputs"));
    assert!(json["and_depth"].as_u64().unwrap() >= 14, "{json}");
    // The output of `--wires` must show the wire of each bit.
    assert_eq!(json["garbler_inputs"][0]["width"], 20);
    let wires = |map: &str| -> Vec<(String, u64, u64)> {
        let text = |r: &serde_json::Value| {
            format!("{} {}", r["party"].as_str().unwrap(), r["value"].as_str().unwrap())
        };
        let ranges = json[map].as_array().unwrap().iter();
        ranges.map(|r| (text(r), r["first_wire"].as_u64().unwrap(), r["wires"].as_u64().unwrap())).collect()
    };
    let inputs = wires("input_map");
    assert_eq!(inputs[0], ("garbler input1.s".into(), 0, 4));
    assert_eq!(inputs[1], ("garbler input1.b[0..2]".into(), 4, 16));
    assert_eq!(inputs[2], ("evaluator input2".into(), 20, 8));
    assert!(
        wires("output_map").contains(&("evaluator output2.b[0..2]".into(), 20, 8)),
        "the second half of b is input2: {json}"
    );
    // The warnings must have their positions.
    let warning = |code: &str| {
        json["warnings"].as_array().unwrap().iter().find(|w| w["code"] == code).cloned().unwrap()
    };
    assert_eq!(warning("constant::truncated")["line"], 12);
    let minus = warning("constant::minus");
    assert_eq!((&minus["line"], &minus["severity"]), (&13.into(), &"warning".into()), "{minus}");
    let output = run(&["compile", &keys.file("two.wir"), "--warnings-as-errors", "--json"]);
    is_error(&output, 3, "two.wir:12:");
    assert_eq!(object(&output)["error"]["diagnostics"][0]["code"], "constant::truncated");
}

#[test]
fn errors_in_a_source_point_into_it() {
    let keys = Keys::new();
    let source = keys.write("wrong.wir", LARGER.replace("m = b", "m = c").as_bytes());
    for command in ["compile", "info"] {
        let human = run(&[command, &source]);
        let stderr = text(&human.stderr);
        assert_eq!(human.status.code(), Some(3));
        assert!(stderr.contains("if (a < b) m = c") && stderr.contains("error: "), "{stderr}");
        let output = run(&[command, &source, "--json"]);
        is_error(&output, 3, "wrong.wir:7:");
        let diagnostic = &object(&output)["error"]["diagnostics"][0];
        assert_eq!(
            (&diagnostic["line"], &diagnostic["severity"]),
            (&7.into(), &"error".into()),
            "{diagnostic}"
        );
    }
    let source = keys.write("value.wir", LARGER.replace("larger(input1, input2)", "").as_bytes());
    assert!(text(&run(&["compile", &source]).stderr).contains("help: write a value here"));
    let output = run(&["compile", &source, "--json"]);
    is_error(&output, 3, "expected an expression, found `;`");
    let error = &object(&output)["error"];
    assert!(error["hint"].as_str().unwrap().starts_with("write a value here"), "{error}");
    assert_eq!(error["hint"], error["diagnostics"][0]["hint"]);
    bad(&["info", &keys.write("empty.wir", b"")], 3, "empty.wir");
    bad(&["info", &keys.write("binary.wir", &[0xff, 0xfe])], 3, "not a text file");
}

#[test]
fn bad_inputs_and_files_are_code_3() {
    let keys = Keys::new();
    let file = example("millionaires.bwp");
    let bytes = std::fs::read(&file).unwrap();
    let simulate = |garbler: &str, words: &str| {
        bad(&["simulate", &file, "--garbler", garbler, "--evaluator", "1"], 3, words)
    };
    simulate("4294967296", "does not fit");
    simulate("-1", "negative");
    simulate("{", "not JSON");
    simulate("[1]", "expected a number");
    simulate("@no-such-file", "cannot read no-such-file");
    simulate(&format!("@{}", keys.write("binary", &[0xff, 0xfe])), "not a text file");
    bad(
        &["simulate", &file, "--executions", "2", "--garbler", "[1]", "--evaluator", "[1,2]"],
        3,
        "array of 2",
    );
    bad(&["info", "no-such-file"], 3, "cannot read");
    bad(&["info", &keys.file("")], 3, "cannot read");
    bad(&["info", &keys.write("truncated.bwp", &bytes[..bytes.len() / 2])], 3, "truncated");
    bad(&["info", &keys.write("empty.bwp", b"")], 3, "empty.bwp");
    let mut flipped = bytes.clone();
    flipped[20] ^= 1;
    bad(&["info", &keys.write("flipped.bwp", &flipped)], 3, "damaged");
}

/// Messages must not repeat a secret input, because they may be written to a log.
#[test]
fn messages_do_not_repeat_inputs() {
    for secret in
        ["90071992547409931234", "\"hunter2\"", "{\"hunter2\": 1}", "[90071992547409931234]", "hunter2"]
    {
        let output =
            run(&["simulate", &example("millionaires.bwp"), "--garbler", secret, "--evaluator", "1"]);
        let all = text(&output.stderr) + &text(&output.stdout);
        assert_eq!(output.status.code(), Some(3), "{all}");
        assert!(!all.contains("hunter2") && !all.contains("9007199"), "{all}");
    }
}

#[test]
fn wrong_usage_is_code_2() {
    let file = example("millionaires.bwp");
    bad(&["simulate", &file, "--garbler", "1"], 2, "needs an input of the evaluator");
    bad(&["simulate", &file, "--garbler", "-", "--evaluator", "-"], 2, "stdin");
    bad(&["simulate", &file, "--executions", "0"], 2, "executions");
    let many = run(&["plan", &file, "--executions", "4000000000", "--json"]);
    is_error(&many, 2, "4000000000 executions of millionaires ");
    assert!(object(&many)["error"]["hint"].as_str().unwrap().contains("fewer --executions"));
    bad(&["info"], 2, "FILE");
    bad(&["info", &file, "--no-such-flag"], 2, "--no-such-flag");
    bad(&["no-such-command"], 2, "no-such-command");
    let nothing = run(&["--json"]);
    is_error(&nothing, 2, "command");
    bad(&["run", &file, "--commitments", "vole"], 2, "not implemented yet");
    let help = text(&run(&["--help"]).stdout);
    assert!(help.contains("simulate") && !help.contains("max-ram"), "{help}");
}

#[test]
fn the_doctor_names_every_problem() {
    let keys = Keys::new();
    let file = example("millionaires.bwp");
    let some = ["doctor", &file, "--role", "garbler", "--input", "5"];
    let (human, json) =
        good(&[&some[..], &["--identity", &keys.file("garbler.key"), "--peer", &keys.evaluator]].concat());
    for name in ["identity", "peer", "program", "input", "kernel", "parameters", "memory"] {
        assert!(human.contains(&format!("ok           {name}: ")), "{human}");
    }
    // The checks of the store and of the connection were not requested.
    let checks = json["checks"].as_array().unwrap();
    let open: Vec<_> =
        checks.iter().filter(|check| check["ok"] != true).map(|check| &check["name"]).collect();
    assert_eq!(open, ["store", "connection"]);

    let open = keys.file("evaluator.key");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        std::fs::set_permissions(&open, std::fs::Permissions::from_mode(0o644)).unwrap();
    }
    let output = run(&["doctor", "no-such-file", "--identity", &open, "--peer", "nonsense", "--json"]);
    let json = object(&output);
    let failed: Vec<_> = json["checks"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|c| c["ok"] == false)
        .map(|c| c["name"].clone())
        .collect();
    assert_eq!(failed, ["identity", "peer", "program"]);
    assert_eq!(output.status.code(), Some(3));
    assert_eq!(json["error"]["code"], 3);
    assert!(json["error"]["hint"].as_str().unwrap().contains("chmod"));
}
