//! Tests that no secret that a service has read stays in its memory as text.
#![cfg(target_os = "linux")]

use std::fs::File;
use std::io::Write;
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::Path;

use brickwork_cli::parsers;
use brickwork_kernels::LargePages;

/// The allocator of the command.
#[global_allocator]
static MEMORY: LargePages = LargePages::new();

/// A pattern that gives the number if one is added to each of its digits. The number itself is nowhere in
/// this program.
const NEARLY: &[u8] = b"2030481542";

fn digits() -> impl Iterator<Item = u8> {
    NEARLY.iter().map(|digit| digit + 1)
}

/// Returns how often the number is in the writable memory of this process, except for the stack of this
/// thread, which later calls overwrite.
fn found() -> usize {
    let memory = File::open("/proc/self/mem").expect("this process's memory");
    let maps = std::fs::read_to_string("/proc/self/maps").expect("a list");
    let mut count = 0;
    let here = &raw const count as u64;
    for line in maps.lines().filter(|line| line.contains(" rw")) {
        let (range, _) = line.split_once(' ').expect("a range");
        let (start, end) = range.split_once('-').expect("two ends");
        let number = |text| u64::from_str_radix(text, 16).expect("an address");
        let range = number(start)..number(end);
        let mut bytes = vec![0; (range.end - range.start) as usize];
        // If the memory was released in the meantime, reading it fails.
        if !range.contains(&here) && memory.read_exact_at(&mut bytes, range.start).is_ok() {
            count += bytes.windows(NEARLY.len()).filter(|at| at.iter().copied().eq(digits())).count();
        }
        bytes.fill(0);
    }
    count
}

/// Writes a file that only its owner can read, with the number in place of each `#`.
fn write(path: &Path, text: &str) {
    let mut file = File::create(path).expect("a file");
    file.set_permissions(PermissionsExt::from_mode(0o600)).expect("permissions");
    for byte in text.bytes() {
        match byte {
            b'#' => digits().try_for_each(|digit| file.write_all(&[digit])),
            other => file.write_all(&[other]),
        }
        .expect("a byte");
    }
}

/// Standing inputs are erased, whether they are in the configuration, in JSON or in a table, and whether they
/// are valid or not.
#[test]
fn inputs_do_not_stay_as_text() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = |name: &str| folder.path().join(name);
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/millionaires.bwp");
    std::fs::copy(program, file("richer.bwp")).expect("a copy");
    write(&file("token"), &"t".repeat(32));
    write(&file("value.json"), "#");
    write(&file("value.csv"), "v\n#\n");
    write(&file("wrong.json"), "[{\"#\": \"#\"");
    for (input, is_right) in [
        ("\"#\"", true),
        ("\"@value.json\"", true),
        ("#", false),
        ("\"#", false),
        ("\"#0\"", false),
        ("\"[#, #]\"", false),
        ("\"@value.csv\"", false),
        ("\"@wrong.json\"", false),
        ("\"#\"\n# = 1", false),
    ] {
        let config = file("serve.toml");
        write(
            &config,
            &format!(
                "role = \"evaluator\"\nidentity = \"key\"\npeer = \"@peer\"\nconnect = \"peer:7000\"\nhttp \
                 = \"127.0.0.1:0\"\ntoken = \"token\"\n[[program]]\nname = \"richer\"\nfile = \
                 \"richer.bwp\"\ninput = {input}\n"
            ),
        );
        let wrong = parsers::service(&config);
        assert_eq!(wrong.is_none(), is_right, "{input}: {wrong:?}");
        assert_eq!(found(), 0, "{input}");
    }
    // First the test shows that it can find the number.
    let text: String = digits().map(char::from).collect();
    assert!(found() > 0 && text.len() == NEARLY.len());
}
