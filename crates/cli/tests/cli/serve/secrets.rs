//! Tests that a service shows no secret, and accepts no secret file that other users can read or change.

use super::*;

/// A standing input that only the evaluator may see.
const SECRET: &str = "4711999";

/// No page, log or error repeats a part of a file with secrets, whatever mistake the file has.
#[test]
fn no_page_and_no_log_repeats_a_file() {
    let entry = |more: &str| entry("richer", "millionaires.bwp", more);
    let pair = Pair::new(["", &entry("input = \"500\"\n")]);
    let mut evaluator = pair.start(1);
    let good = std::fs::read_to_string(pair.keys.file("evaluator.toml")).expect("a file");
    let inputs = [
        ("a.json", format!("{{\"{SECRET}\": 1}}")),
        ("b.json", format!("[{SECRET}")),
        ("c.json", format!("{SECRET}{SECRET}{SECRET}")),
        ("d.json", format!("\"{SECRET}x\"")),
        ("e.csv", format!("{SECRET}\n1\n")),
        ("f.csv", format!("v\n1\n{SECRET},{SECRET}\n\"{SECRET}")),
    ];
    let mut wrong: Vec<(String, String)> = vec![
        (good.replace("\"500\"", SECRET), "line 15, column 9: expected a string".into()),
        (good.replace("\"500\"", &format!("\"{SECRET}")), "line 15, column".into()),
        (good.replace("\"500\"", &format!("\"[{SECRET}\"")), "the value is not JSON".into()),
        (good.replace("input = ", &format!("{SECRET} = ")), "expected one of `name`".into()),
        (good.replace("threads = 1", &format!("threads = \"{SECRET}\"")), "expected usize".into()),
        (
            good.replace("127.0.0.1:0\"\ntoken", &format!("{SECRET}\"\ntoken")),
            "expected an address such as".into(),
        ),
        (good.replace("role = \"evaluator\"", &format!("role = \"{SECRET}\"")), "role must be".into()),
        (good.replace("\"token\"", "\"short\""), "does not contain a token".into()),
    ];
    pair.keys.write("short", SECRET.as_bytes());
    for (name, content) in &inputs {
        pair.keys.write(name, content.as_bytes());
        wrong.push((
            good.replace("\"500\"", &format!("\"@{name}\"")),
            "richer: input of the evaluator".into(),
        ));
    }
    for (text, words) in &wrong {
        assert_ne!(*text, good, "{words}");
        let config = pair.keys.write("evaluator.toml", text.as_bytes());
        let before = pair.readings(1);
        evaluator.signal(rustix::process::Signal::HUP);
        pair.until_read_again(1, before);
        let (key, store) = (pair.keys.file("store.key"), pair.keys.file("other.store"));
        let refused = run(&["serve", "--config", &config, "--store", &store, "--store-key", &key, "--json"]);
        is_error(&refused, 3, words);
        let said = text_of(&refused);
        assert!(!said.contains(SECRET), "{said}");
    }
    for page in ["", "metrics", "ready"] {
        let page = evaluator.get(page).body;
        assert!(!page.contains(SECRET), "{page}");
    }
    assert!(evaluator.get("").body.contains("the service could not read the configuration again"));
    evaluator.signal(rustix::process::Signal::TERM);
    let output = finish(evaluator.child.take().expect("it runs"));
    let log = std::fs::read_to_string(pair.log(1)).expect("a log");
    assert_eq!(log.matches("stays as it was").count(), wrong.len(), "{log}");
    assert!(!log.contains(SECRET) && !text_of(&output).contains(SECRET), "{log}");
}

fn text_of(output: &Output) -> String {
    format!("{}{}", text(&output.stdout), text(&output.stderr))
}

/// A file with secrets is refused, at the start and at SIGHUP, if other users can read or change it, or if it
/// belongs to another user.
#[test]
fn files_of_others_are_refused() {
    let entry = entry("sum", "millionaires.bwp", "input = \"@wealth.json\"\noutputs = \"seen\"\n");
    let pair = Pair::new(["", &entry]);
    pair.keys.write("wealth.json", b"500");
    pair.keys.write("seen", b"");
    let (config, store) = (pair.configure(1), pair.keys.file("some.store"));
    // If nothing else is wrong, a service ends because the store's key does not exist.
    let refused = |name: &str, words: &str| {
        let key = if name == "store.key" { pair.keys.file(name) } else { "nowhere".into() };
        let arguments = ["serve", "--config", &config, "--store", &store, "--store-key", &key];
        bad(&arguments, 3, &format!("{name}: {words}"));
    };
    let evaluator = pair.start(1);
    let stays = |file: &str, words: &str| {
        let before = pair.readings(1);
        evaluator.signal(rustix::process::Signal::HUP);
        pair.until_read_again(1, before);
        let log = std::fs::read_to_string(pair.log(1)).expect("a log");
        let last = log.lines().rfind(|line| line.contains("stays as it was")).expect(file);
        assert!(last.contains(words) && last.contains(file), "{last}");
    };
    for name in ["evaluator.toml", "wealth.json", "seen", "token", "evaluator.key", "store.key"] {
        let file = pair.keys.file(name);
        let is_read_again = !name.ends_with(".key");
        for mode in [0o644, 0o666, 0o640, 0o602, 0o610] {
            set_mode(&file, mode);
            refused(name, "other users can read or change");
        }
        if is_read_again {
            stays(name, "other users can read or change");
        }
        private(&file);
        // Only root can change the owner of a file.
        if rustix::process::geteuid().is_root() {
            std::os::unix::fs::chown(&file, Some(4711), None).expect("it is root's");
            refused(name, "this file, which contains a secret, belongs to another user");
            if is_read_again {
                stays(name, "belongs to another user");
            }
            std::os::unix::fs::chown(&file, Some(0), None).expect("it is root's");
        }
    }
    // With their old permissions, all files are accepted.
    let before = pair.readings(1);
    evaluator.signal(rustix::process::Signal::HUP);
    pair.until_read_again(1, before);
    let log = std::fs::read_to_string(pair.log(1)).expect("a log");
    assert!(log.lines().last().expect("a line").contains("again: programs"), "{log}");
    evaluator.stop();
}

/// Only the user of a service can read the files and folders that it makes, whatever the umask is.
#[test]
fn what_it_makes_is_private() {
    let program = entry("richer", "millionaires.bwp", "");
    let stands = entry("richer", "millionaires.bwp", "input = \"500\"\noutputs = \"seen\"");
    let mut pair = Pair::new([&program, &stands]);
    let [garbler, evaluator] = pair.both();
    garbler.stocked("richer", 2);
    assert_eq!(garbler.run(&json!({ "program": "richer", "input": 700 })).status, 200);
    evaluator.stop();
    garbler.stop();
    let mut files = vec![pair.log(0).into(), pair.log(1).into(), pair.keys.file("seen").into()];
    let mut folders = ["garbler.store", "evaluator.store"].map(|name| pair.keys.file(name).into()).to_vec();
    let mut next = 0;
    while next < folders.len() {
        let folder: &std::path::PathBuf = &folders[next];
        for entry in std::fs::read_dir(folder).expect("a folder") {
            let entry = entry.expect("an entry").path();
            if entry.is_dir() { folders.push(entry) } else { files.push(entry) }
        }
        next += 1;
    }
    assert!(files.len() > 8 && folders.len() > 3, "{files:?}, {folders:?}");
    files.iter().for_each(|file| assert_eq!(mode(file), 0o600, "{}", file.display()));
    folders.iter().for_each(|folder| assert_eq!(mode(folder), 0o700, "{}", folder.display()));
}
