//! Error messages about TOML and JSON files that contain nothing of the text, because it may hold a secret.

/// Returns the place and the kind of the mistake in a TOML text.
pub fn of_toml(text: &str, why: &toml::de::Error) -> String {
    let before = why.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
    let line = before.matches('\n').count() + 1;
    let column = before.chars().rev().take_while(|c| *c != '\n').count() + 1;
    placed(line, column, why.message())
}

/// Returns the place and the kind of the mistake in a JSON text, without any of the text: it may hold a
/// secret.
pub fn of_json(why: &serde_json::Error) -> String {
    let (text, line, column) = (why.to_string(), why.line(), why.column());
    let place = format!(" at line {line} column {column}");
    placed(line, column, text.strip_suffix(&place).unwrap_or(&text))
}

/// Returns a message with only the end of the parser's message, which names the expected type. The beginning
/// may contain a part of the text.
fn placed(line: usize, column: usize, message: &str) -> String {
    let what = match (message.strip_prefix("missing field "), message.rsplit_once(", expected ")) {
        (Some(name), _) => format!("{name} is missing"),
        (_, Some((_, expected))) if message.starts_with("unknown field ") => {
            format!("an unknown name; expected {expected}")
        }
        (_, Some((_, expected))) if ["invalid ", "unknown "].iter().any(|kind| message.starts_with(kind)) => {
            format!("expected {expected}")
        }
        _ => "the value is malformed, or a name occurs twice".into(),
    };
    format!("line {line}, column {column}: {what}")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// No part of a secret is repeated, wherever it stands in the text.
    #[test]
    fn parsers_repeat_no_text() {
        #[derive(Debug, serde::Deserialize)]
        #[serde(deny_unknown_fields)]
        #[expect(dead_code, reason = "it is only parsed")]
        struct File {
            input: String,
            high: Option<u64>,
            at: Option<std::net::SocketAddr>,
        }
        const SECRET: &str = "4711999";
        for (text, words) in [
            ("input = 4711999", "line 1, column 9: expected a string"),
            (
                "input = \"x\"\n\n  4711999 = 1",
                "line 3, column 3: an unknown name; expected one of `input`, `high`, `at`",
            ),
            (
                "input = \"x\"\n\", expected 4711999\" = 1",
                "line 2, column 1: an unknown name; expected one of `input`",
            ),
            ("input = \"x\"\nhigh = \"4711999\"", "line 2, column 8: expected u64"),
            ("input = \"x\"\nhigh = \", expected 4711999\"", "line 2, column 8: expected u64"),
            ("input = \"x\"\nhigh = -4711999", "line 2, column 8: expected u64"),
            ("input = \"x\"\nat = \"4711999\"", "line 2, column 6: the value is malformed"),
            ("input = 4711999x", "line 1, column"),
            ("input = \"4711999", "line 1, column"),
            ("4711999", "line 1, column"),
            ("input = \"4711999\"\ninput = \"4711999\"", "line 2, column 1: the value is malformed"),
            ("", "`input` is missing"),
        ] {
            let shown = of_toml(text, &toml::from_str::<File>(text).expect_err(text));
            assert!(shown.contains(words) && !shown.contains(SECRET), "{text}: {shown}");
        }
        for (text, words) in [
            (r#"{"input": 4711999}"#, "line 1, column 17: expected a string"),
            (r#"{"input": "x", "4711999": 1}"#, "expected one of `input`, `high`, `at`"),
            (r#"{"input": "x", "high": ", expected 4711999"}"#, "expected u64"),
            (r#"{"input": "4711999"#, "the value is malformed"),
            ("{}", "`input` is missing"),
        ] {
            let shown = of_json(&serde_json::from_str::<File>(text).expect_err(text));
            assert!(shown.contains(words) && !shown.contains(SECRET), "{text}: {shown}");
        }
    }
}
