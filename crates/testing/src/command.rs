//! Runs a program as its users do: as another process, with its exit code, stdout and stderr.

use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

use crate::schema;

/// A program of the project, which prints what `docs/reference/cli.schema.json` describes.
pub struct ProjectBinary {
    /// The path of the program.
    pub path: &'static str,
    /// Returns the folder of the program's caches. It is always the same, because a user's own caches would
    /// change predictions.
    pub caches: fn() -> &'static Path,
    /// Returns the name of the program's output in the schema, for these arguments.
    pub name: fn(&[&str]) -> String,
}

impl ProjectBinary {
    /// Returns the call of the program with these arguments.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(self.path);
        command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.env("XDG_CACHE_HOME", (self.caches)());
        command
    }

    /// Runs the program with these arguments to its end.
    ///
    /// # Panics
    /// If the program does not start.
    pub fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().expect("the program starts")
    }

    /// Runs the program twice, for text and for JSON. Both runs must succeed, and print what the schema
    /// describes. Returns the text and the JSON object.
    ///
    /// # Panics
    /// If a run fails, or prints something else.
    pub fn good(&self, arguments: &[&str]) -> (String, Value) {
        let human = self.run(arguments);
        assert_eq!(human.status.code(), Some(0), "{arguments:?}: {}", text(&human.stderr));
        let json = self.run(&[arguments, &["--json"]].concat());
        assert_eq!(json.status.code(), Some(0));
        let json = object(&json);
        schema::holds(schema::of_the_command(), &(self.name)(arguments), &json);
        (text(&human.stdout), json)
    }

    /// Runs the program in both forms. Each run must fail with this code, and its message must contain
    /// `words`.
    ///
    /// # Panics
    /// If a run does not fail in this way.
    pub fn bad(&self, arguments: &[&str], code: i32, words: &str) {
        let human = self.run(arguments);
        let stderr = text(&human.stderr);
        assert_eq!(human.status.code(), Some(code), "{arguments:?}: {stderr}");
        assert!(stderr.contains("error: ") && stderr.contains(words), "{arguments:?}: {stderr}");
        assert!(human.stdout.is_empty(), "{}", text(&human.stdout));
        assert!(!stderr.contains("os error"), "a number of the system in a message: {stderr}");
        is_error(&self.run(&[arguments, &["--json"]].concat()), code, words);
    }
}

/// Asserts that this is an error in its JSON form.
///
/// # Panics
/// If the output is another one.
pub fn is_error(output: &Output, code: i32, words: &str) {
    let printed = object(output);
    let name = if printed["checks"].is_array() { "doctor" } else { "error" };
    schema::holds(schema::of_the_command(), name, &printed);
    let error = &printed["error"];
    assert_eq!(output.status.code(), Some(code), "{error}");
    assert_eq!(error["code"], code);
    let (message, hint) =
        (error["message"].as_str().expect("a message"), error["hint"].as_str().expect("a hint"));
    assert!(message.contains(words), "{error}");
    assert!(!hint.is_empty() && !message.contains(hint) && !hint.contains(message), "{error}");
}

/// Returns the one JSON object on stdout.
///
/// # Panics
/// If there is another text.
pub fn object(output: &Output) -> Value {
    let stdout = text(&output.stdout);
    assert_eq!(stdout.lines().count(), 1, "one line: {stdout} {}", text(&output.stderr));
    serde_json::from_str(&stdout).expect("JSON")
}

/// Returns the text that a process printed.
pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Returns the path of a file of the project's examples.
pub fn example(name: &str) -> String {
    path(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(name))
}

/// Returns a path as an argument.
///
/// # Panics
/// If it is not UTF-8.
pub fn path(path: &Path) -> String {
    path.to_str().expect("a path in UTF-8").to_owned()
}
