//! Tests the pages of `--report`.

use super::*;

/// Asserts that the page contains exactly these numbers of the record.
fn has(html: &str, record: &Value, fields: &[&str]) {
    let mut open: Vec<&Value> = fields.iter().map(|field| &record[field]).collect();
    let mut seen = 0;
    while let Some(value) = open.pop() {
        match value {
            Value::Number(number) => {
                assert!(html.contains(&format!("<data value=\"{number}\">")), "{number} is not on the page");
                seen += 1;
            }
            Value::Array(all) => open.extend(all),
            Value::Object(fields) => open.extend(fields.values()),
            _ => {}
        }
    }
    assert!(seen > 0, "{fields:?}");
}

fn written(path: &str) -> String {
    let html = std::fs::read_to_string(path).expect("a page");
    assert!(html.starts_with("<!DOCTYPE html>") && html.ends_with("</html>\n"));
    for word in ["<script", "http:", "https:", "recovered"] {
        assert!(!html.contains(word), "{word}: {html}");
    }
    html
}

#[test]
fn runs_and_plans_have_pages() {
    let folder = TempDir::new().expect("a folder");
    let (file, page) = (example("millionaires.bwp"), path(&folder.path().join("page.html")));
    let values = ["--garbler", "918273645", "--evaluator", "918273644"];
    for protocol in ["duplo", "semi-honest", "compgc", "lego", "jimu", "authenticated"] {
        let flags = ["--protocol", protocol, "--report", &page, "--json"];
        let record = object(&run(&[&["run", &file], &values[..], &flags].concat()));
        let html = written(&page);
        has(&html, &record, &["phases", "predicted", "promise", "and_gates"]);
        assert!(html.contains("Timeline") && html.contains("Solderings"), "{protocol}");
        // A page never contains inputs, and here no outputs were requested.
        assert!(!html.contains("91827364") && !html.contains("Outputs"), "{protocol}");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = std::fs::metadata(&page).expect("a page").permissions().mode();
            assert_eq!(mode & 0o777, 0o600, "{protocol}");
        }
    }
    let flags = ["--report", &page, "--report-outputs"];
    assert_eq!(run(&[&["run", &file], &values[..], &flags].concat()).status.code(), Some(0));
    assert!(written(&page).contains("<h2>Outputs</h2>"));

    let (_, record) = good(&["plan", &example("aes-128.bwp"), "--protocol", "duplo", "--report", &page]);
    let html = written(&page);
    has(&html, &record, &["phases", "promise", "alternatives", "machine", "link", "seconds"]);
    assert!(html.contains("Other choices"), "{html}");
    let (_, record) = good(&["plan", &file, "--model", "malicious", "--report", &page]);
    has(&written(&page), &record, &["candidates", "machine"]);
}

/// A party's result is on its page. If the garbler chose a cut, the page shows the program in this cut.
#[test]
fn parties_have_pages() {
    let keys = Keys::new();
    let file = example("millionaires.bwp");
    let pages = ["garbler.html", "evaluator.html"].map(|name| keys.file(name));
    let side = |own: usize, place: [&str; 2]| {
        let role = ["garbler", "evaluator"][own];
        let identity = keys.file(&format!("{role}.key"));
        let peer = [&keys.evaluator, &keys.garbler][own];
        let fixed = ["--json", "--timeout", "60", "--identity", &identity, "--peer", peer, "--cut", "whole"];
        start(&[&[role, &file, "--input", "7", "--report", &pages[own]], &place[..], &fixed].concat())
    };
    let mut garbler = side(0, ["--listen", "127.0.0.1:0"]);
    let address = address(&mut garbler);
    let evaluator = side(1, ["--connect", &address]);
    for ((output, page), role) in
        [finish(garbler), finish(evaluator)].iter().zip(&pages).zip(["garbler", "evaluator"])
    {
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        let html = written(page);
        has(&html, &object(output), &["phases", "predicted", "promise", "cpu_seconds", "peak_rss_bytes"]);
        assert!(
            html.contains(&format!("recorded by the {role}")) && html.contains(&format!("the {role} waits"))
        );
    }
}

/// If a page cannot be written, this is reported before the work. A failed command leaves no page.
#[test]
fn a_page_that_cannot_be_written_is_an_error_at_once() {
    let folder = TempDir::new().expect("a folder");
    let file = example("millionaires.bwp");
    let nowhere = path(&folder.path().join("no/such/page.html"));
    bad(&["run", &file, "--garbler", "1", "--evaluator", "2", "--report", &nowhere], 1, "page.html");
    bad(&["plan", &file, "--report", &nowhere], 1, "page.html");
    bad(&["run", &file, "--garbler", "1", "--evaluator", "2", "--report-outputs"], 2, "--report");
    let page = path(&folder.path().join("page.html"));
    bad(&["run", &file, "--garbler", "\"x\"", "--evaluator", "2", "--report", &page], 3, "");
    assert_eq!(std::fs::read_dir(folder.path()).expect("a folder").count(), 0);
}
