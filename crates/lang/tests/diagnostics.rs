//! Tests programs that must be refused, with the error and its place. In the sources, «…» marks the place.

mod common;

use std::collections::HashMap;

use brickwork_lang::{CompileOptions, Diagnostics, NoFiles, Resolver, Severity};
use common::*;

const HEAD: &str = "#parties 2 typedef uint_t 1 u1 typedef uint_t 4 u4 typedef uint_t 8 u8 typedef int_t 8 \
                    s8 typedef uint_t 16 u16 typedef struct_t P { u8 a; u4 b; } #input 1 u8 #input 2 u8 \
                    #output 1 u8\n";

/// An error far to the right is shown with a part of its line. A warning there does not stop the compiler.
#[test]
fn lines_may_be_long() {
    let head = HEAD.trim_end();
    for filler in [" ", "\t", "/* é */"] {
        for bytes in [1000, 4000, 5000, 70_000, 300_000] {
            let far = filler.repeat(bytes / filler.len());
            let bad = format!("{head} function void main() {{ {far} output1 = unheard_of; }}");
            let good =
                format!("{head} function void main() {{ {far} s8 z = input1; output1 = input2; }} {far}");
            let errors = refuse(&bad);
            for (all, code, word) in [
                (&errors, errors.list()[0].code, "unheard_of"),
                (&build(&good).warnings, "type::cast", "s8 z = input1"),
            ] {
                let found = all.list().iter().find(|d| d.code == code).expect("it is said");
                for colour in [false, true] {
                    let shown = all.render(colour);
                    assert!(shown.contains(code) && shown.contains(word), "{bytes}: {shown}");
                    let hint = found.hint.split(' ').next().expect("a word");
                    assert!(shown.contains(hint), "{bytes}: {shown}");
                    assert!(bytes < 5000 || shown.len() < 2000, "{bytes}: {}", shown.len());
                }
            }
        }
    }
}

/// Removes the marks, and returns the source and the marked bytes.
fn marked(source: &str) -> (String, std::ops::Range<usize>) {
    let start = source.find('«').expect("a mark");
    let rest = source.replacen('«', "", 1);
    let end = rest.find('»').expect("an end mark");
    (rest.replacen('»', "", 1), start..end)
}

fn expect(code: &str, source: &str) {
    let (source, place) = marked(source);
    says(code, &source, place, &refuse(&source));
}

/// Checks a warning of a program that compiles.
fn warn(code: &str, source: &str) {
    let (source, place) = marked(source);
    says(code, &source, place, &build(&source).warnings);
}

/// Returns the code of the first error, without the warnings.
fn first_error(all: &Diagnostics) -> &'static str {
    all.list().iter().find(|d| d.severity == Severity::Error).expect("an error").code
}

fn says(code: &str, source: &str, place: std::ops::Range<usize>, all: &Diagnostics) {
    let found =
        all.list().iter().any(|d| d.code == code && (d.span.start as usize..d.span.end as usize) == place);
    assert!(found, "{code} at {:?} of\n{source}\nbut:\n{}", &source[place], all.render(false));
    // Every diagnostic has a line and a column in the source.
    for record in all.records() {
        assert!(record.line >= 1 && record.column >= 1 && !record.message.is_empty());
    }
}

fn main_with(body: &str) -> String {
    format!("{HEAD}function void main() {{ u8 x = input1; u8 y = input2; {body} }}")
}

fn top_with(items: &str) -> String {
    format!("{HEAD}{items} function void main() {{ output1 = input1; }}")
}

fn in_main(code: &str, body: &str) {
    expect(code, &main_with(body));
}

fn at_top(code: &str, items: &str) {
    expect(code, &top_with(items));
}

#[test]
fn syntax() {
    in_main("syntax", "output1 = x «&&» y;");
    in_main("syntax", "output1 = x «||» y;");
    in_main("syntax", "output1 + «+=» 1;");
    in_main("syntax", "output1 = x -- «1»;");
    in_main("syntax", "output1 = x{0:4}«{»1};");
    in_main("syntax", "x{1}+«+»;");
    in_main("syntax", "output1 = x «}»");
    in_main("syntax", "output1 = x; «//» a comment");
    in_main("syntax", "for («;» x < 1; x++) ;");
    in_main("syntax::while", "«while» (x < 9) x++;");
    in_main("syntax::while", "«do» { x++; } while (x < 9);");
    in_main("syntax::switch", "«switch» (x) { }");
    in_main("syntax::break", "for (u8 i = 0; i < 9; i++) { «break»; }");
    in_main("syntax::typedef", "«struct» P p;");
    in_main("syntax::typedef", "«unsigned» int z = 5;");
    in_main("syntax::fraction", "output1 = «2.5»;");
    at_top("syntax::typedef", "«struct_t Q» { u8 a; };");
    at_top("syntax::typedef", "«uint_t» 9 u9;");
    at_top("syntax::function", "«int twice»(int a) { return a + a; }");
    in_main("syntax::number", "output1 = «0x»;");
    in_main("syntax::number", "output1 = «0b12»;");
    in_main("syntax::number", "output1 = «0X1f»;");
    in_main("syntax::number", &format!("output1 = «0x1{}»;", "0".repeat(1 << 14)));
    in_main("syntax", "output1 = x < y ? x«;»");
    in_main("syntax", "x **«=» y;");
    in_main("width::overflow", "output1 = x{0:«9223372036854775808»};");
    in_main("assign::twice", "u8 a[2]; «a[x++]» += 1;");
    in_main("assign::twice", "«++x» += 1;");
    in_main("assign::target", "«x + y» -= 1;");
    in_main("operator::mismatch", "output1 = «1##1 ? x : 3##4»;");
    in_main("condition::type", "output1 = «x» ? x : y;");
    in_main("convert::type", "u8 a[2]; output1 = «u8(a)»;");
    in_main("convert::type", "output1 = uint_t 8(«P(x)»);");
    in_main("call::count", "output1 = «u8(x, y)»;");
    at_top("syntax::define", "#define «twice»(a) a + a");
    in_main("syntax::character", "output1 = x «@» y;");
    in_main("syntax::comment", "output1 = x; } «/*» no end");
    at_top("syntax", "typedef uint_t 4 z«;»");
    at_top("syntax::return", "function u8 f() { return 1; «u8» x; }");
    at_top("syntax::return", "function u8 f(u8 a) { if (a == 1) { return 1; «a» = 2; } return a; }");
    at_top("syntax::string", "#include «\"a/b\"»");
    expect("syntax::first", "«typedefs x;» function void main() {}");
    expect("syntax::unclosed", &format!("{HEAD}function void main() {{ {{ output1 = input1; «»"));
}

/// Code in the style of other languages gets a special hint, and other mistakes get a hint with the right
/// form.
#[test]
fn hints_of_the_parser() {
    let hint = |source: &str| refuse(source).records()[0].hint.clone();
    for (body, start) in [
        ("output1 = ;", "write a value here"),
        ("output1 = x", "put `;` at the end"),
        ("output1 = x && y;", "there is no `&&`"),
        ("x **= y;", "these operators change the width"),
        ("u4 z = x;", "types are never converted implicitly; `u4(…)` takes the lowest bits"),
        ("u4 z; x = z;", "types are never converted implicitly; `u8(…)` widens the value"),
        ("u4 z; x = x + z;", "types are never converted implicitly; `u8(…)` widens the narrow side"),
        ("output1 = x -- 1;", "`++` and `--` read as one token"),
        ("output1 = x#4;", "a width can follow only a literal"),
        ("if (1) ; ; else x = y;", "`else` follows its `if`"),
        ("for (i = 0; i < 8; i++) ;", "write `TYPE name = 1;`; the head of a loop"),
        ("u8 a[2] = 1;", "nest lists as the array's dimensions are"),
        (
            "while (x < y) x++;",
            "write `for (uint_t 32 i = 0; i < 100; i++) if (x < y) { … }`, with a number of rounds",
        ),
        ("do { x++; } while (x < y);", "write `for (uint_t 32 i = 0; i < 100; i++) if (…) { … }`"),
        ("switch (x) { case 1: ; }", "write `if (x == 1) { … } else if (x == 2)"),
        (
            "for (u8 i = 0; i < 9; i++) { if (x == i) break; }",
            "put the loop into a function that may `return`",
        ),
        ("for (u8 i = 0; i < 9; i++) { continue; }", "put what follows in the loop into `if"),
        ("struct P p;", "write `P p;`"),
        ("unsigned int z = 5;", "write `uint_t 32 z = …;`"),
        ("unsigned char z = 5;", "write `uint_t 8 z = …;`"),
        ("long long z = 5;", "write `int_t 64 z = …;`"),
        ("const u8 z = 5;", "write `u8 z = …;`"),
        ("int z = 5;", "no type is built in; declare it: `typedef int_t 32 int`"),
        ("uint8_t z = 5;", "no type is built in; declare it: `typedef uint_t 8 uint8_t`"),
        ("float z = 5;", "all numbers are whole numbers; `#include \"fixed.wir\"`"),
        (
            "output1 = 2.5;",
            "`#include \"fixed.wir\"` computes with fixed-point numbers; 2.5 with 16 bits behind the point \
             is `163840#32`",
        ),
        (
            "output1 = 99999.25;",
            "`#include \"fixed.wir\"` computes with fixed-point numbers; 99999.25 with 32 bits",
        ),
        ("// it's x\n", "comments are written `/* … */`: `/* it's x */`"),
        ("output1 = x; // half of it\n", "comments are written `/* … */`: `/* half of it */`"),
        ("output1 = max(x, y);", "write `#include \"integers.wir\"` at the top"),
        ("output1 = fixed_multiply(x, y);", "write `#include \"fixed.wir\"` at the top"),
        ("output1 = nothing(x, y);", "define it, `function TYPE nothing(…)"),
        ("output1 = x; if (x == y) return;", "put what follows into `else { … }`, or into a function"),
    ] {
        assert!(hint(&main_with(body)).starts_with(start), "{body}: {}", hint(&main_with(body)));
    }
    for (item, start) in [
        ("// a comment\n", "comments are written `/* … */`: `/* a comment */`"),
        ("typedef uint_t 9 u9 // nine bits\n", "comments are written `/* … */`: `/* nine bits */`"),
        ("struct_t Q { u8 a; }", "write `typedef struct_t Q { … }`, without a `;`"),
        ("struct Q { u8 a; };", "write `typedef struct_t Q { … }`, without a `;`"),
        ("typedef struct Q { u8 a; } Q;", "write `typedef struct_t Q { … }`, without a `;`"),
        ("typedef unsigned int word;", "write `typedef uint_t 32 word`"),
        ("typedef short word;", "write `typedef int_t 16 word`"),
        ("uint_t 9 u9;", "write `typedef uint_t 9 u9`; variables belong inside functions"),
        ("u8 twice(u8 a) { return a + a; }", "write `function u8 twice(u8 a) { … }`"),
        ("int main() { }", "write `function void main()`"),
        (
            "#define twice(a) a + a",
            "write a function, which takes values of any type: `function T twice<T>(T a)",
        ),
        ("# define K 3", "directives are `#define`"),
        ("#define K 3;", "remove it: neither directives"),
        ("}", "remove it: every block is closed already"),
        ("function u8 f(u8 a) { } return a; }", "statements belong into a function"),
        ("typedef uint_t 8", "write `typedef uint_t 32 NAME`"),
        ("function f(u8 a) { return a; }", "write `function TYPE name("),
    ] {
        assert!(hint(&top_with(item)).starts_with(start), "{item}: {}", hint(&top_with(item)));
    }
}

#[test]
fn includes_and_definitions() {
    at_top("include::missing", "«#include \"nothing.wir\"»");
    at_top("define::typedef", "#define z 5 typedef uint_t 4 «z»");
    at_top("define::type", "#define z 5 #input 2 «z»");
    at_top("define::name", "#define z 5 function u8 «z»(u8 a) { return a; }");
}

#[test]
fn types_and_ports() {
    at_top("name::redefined", "typedef uint_t 4 «u8»");
    at_top("name::redefined", "typedef int_t 8 «u8»");
    at_top("name::redefined", "typedef struct_t «u8» { u4 a; }");
    at_top("name::redefined", "function u8 «u4»(u8 a) { return a; }");
    at_top("name::redefined", "function u8 f() { return 1; } function u8 «f»() { return 1; }");
    at_top("type::unknown", "#output 2 «foo»");
    at_top("type::unknown", "typedef struct_t Q { «foo» a; }");
    at_top("type::field", "typedef struct_t Q { u8 a; u4 «a»; }");
    at_top("type::recursive", "typedef struct_t «Q» { Q a; }");
    at_top("type::recursive", "typedef struct_t Q { R a[2]; } typedef struct_t «R» { Q a[3]; }");
    at_top("width::positive", "typedef uint_t «0» z");
    at_top("width::overflow", "typedef uint_t «5/0» z");
    at_top("width::constant", "#define n foo typedef uint_t «n» z");
    at_top("type::unknown", "function «foo» f() { }");
    at_top("function::void", "function void[«3»] f() { }");
    at_top("type::unknown", "function u8 f(«foo» a) { return 1; }");
    at_top("variable::redefined", "function u8 f(u8 a, u8 «a») { return 1; }");
    at_top("io::twice", "«#input 1 u8»");
    at_top("io::party", "#input «3» u8");
    expect(
        "io::parties",
        "«»typedef uint_t 8 u8 #input 1 u8 #output 1 u8 function void main() { output1 = input1; }",
    );
    expect(
        "io::parties",
        "«#parties 3» typedef uint_t 8 u8 #input 1 u8 #output 1 u8 function void main() { output1 = input1; \
         }",
    );
    expect("io::parties", "«#parties 0» function void main() { }");
    expect("main::missing", "«»#parties 2 typedef uint_t 8 u8 #input 1 u8");
    expect("main::return", "#parties 2 typedef uint_t 8 u8 function u8 «main»() { return 1; }");
    expect("main::parameters", "#parties 2 typedef uint_t 8 u8 function void «main»(u8 a) { }");
    expect("program", "#parties 2 typedef uint_t 8 u8 #input 1 u8 function void «main»() { }");
}

#[test]
fn names_in_bodies() {
    in_main("variable::undefined", "output1 = «nothing»;");
    in_main("type::unknown", "«nothing» z;");
    in_main("variable::redefined", "u8 «x»;");
    in_main("variable::redefined", "{ u8 «input1»; }");
    at_top("variable::undefined", "function u8 f() { return «input1»; }");
    in_main("variable::undefined", "{ u8 z; } output1 = «z»;");
    in_main("variable::undefined", "u8 z = «z»;");
    in_main("call::undefined", "output1 = «nothing»(x);");
    at_top("call::count", "function u8 f(u8 a) { return a; } function u8 g() { return «f(1, 2)»; }");
    at_top("call::argument", "function u8 f(u4 a) { return 1; } function u8 g(u8 a) { return f(«a»); }");
    at_top("call::main", "function void f() { «main()»; }");
    at_top("function::recursion", "function u8 f(u8 a) { return «f(a)»; }");
    at_top(
        "function::recursion",
        "function u8 f(u8 a) { return g(a); } function u8 g(u8 a) { return «f(a)»; }",
    );
}

#[test]
fn types_in_bodies() {
    in_main("init::type", "u4 z = «x»;");
    in_main("init::count", "u8 z[3] = «{1, 2}»;");
    in_main("init::shape", "u8 z[2][1] = {«1», {2}};");
    in_main("init::shape", "u8 a[2] = «x»;");
    in_main("init::type", "u8 r[3]; u8 z[2][2] = {{1, 2}, «r»};");
    in_main("init::type", "u16 r[2]; u8 z[2][2] = {{1, 2}, «r»};");
    in_main("init::mixed", "u4 w[2]; u8 z[2][2] = {{x, y}, «w»};");
    in_main("init::type", "P z = «5»;");
    in_main("init::mixed", "u4 w; u8 z[2] = {x, «w»};");
    in_main("assign::type", "u4 z; z = «x»;");
    in_main("operator::mismatch", "u4 z; output1 = «x + z»;");
    in_main("operator::type", "P z; output1 = x + «z»;");
    in_main("operator::type", "u8 z[2]; output1 = «z» < x;");
    in_main("wide::untyped", "u16 z = «x ** 3»;");
    in_main("wide::width", "u16 z = «x ** input1{0:4}»;");
    in_main("wide::width", "output1 = «x // y»;");
    in_main("unary::untyped", "output1 = «~5»;");
    in_main("unary::type", "P z; z = «-z»;");
    in_main("unary::type", "P z; «z++»;");
    in_main("assign::constant", "«5» = x;");
    in_main("assign::constant", "«5»++;");
    in_main("assign::target", "«x + y» = x;");
    at_top("assign::target", "function u8 f() { return 1; } function void g() { «f()» = 1; }");
    in_main("step::slice", "«++x{0}»;");
    in_main("shift::type", "P z; output1 = «z» << 2;");
    in_main("wires::operand", "P z; output1 = «z{0:2}»;");
    in_main("wires::base", "P z; output1{0} = x{«z»};");
    in_main("width::positive", "output1 = x{0:«0»};");
    in_main("width::constant", "output1 = x{0:«y»};");
    in_main("width::constant", "u8 z[«x»];");
    in_main("width::positive", "u8 z[«0»];");
    in_main("width::positive", "output1 = 5##«0»;");
    in_main("index::array", "output1 = «x[0]»;");
    in_main("index::type", "u8 z[2]; P p; output1 = z[«p»];");
    in_main("field::struct", "output1 = «x.a»;");
    in_main("field::unknown", "P z; output1 = z.«c»;");
    in_main("condition::type", "if («x») output1 = 1;");
    in_main("condition::type", "for (u8 i = 0; «i»; i++) output1 = 1;");
    at_top("function::return", "function u8 «f»() { u8 x; }");
    at_top("function::return", "function u8 f() { return «1##4»; }");
    at_top("function::return", "function u8 f() { «return;» }");
    at_top("function::return", "function void f() { return «1»; }");
    in_main("function::return", "{ return «x»; }");
    at_top("function::return", "function u8 «f»(u8 a) { if (a == 1) return 2; }");
    at_top("function::return", "function u8 «f»(u8 a) { for (u8 i = 0; i < 3; i++) return a; }");
    at_top("function::return", "function u8 f(u8 a) { if (a == 1) return «1##4»; return a; }");
}

#[test]
fn what_must_be_known() {
    in_main("known::return", "if (x == y) «return;»");
    in_main("known::wires", "output1{0} = x{«y»};");
    in_main("known::loop", "for (u8 i = 0; «i < y»; i++) output1 = 1;");
    in_main("known::negative", "u8 z[2]; output1 = z[«-1#8»];");
    in_main("index::range", "u8 z[2]; output1 = z[«2»];");
    in_main("wires::range", "output1{0:4} = «x{6:4}»;");
    in_main("wires::range", "output1 = x; «output1{8}» = 1;");
    in_main("limit::unroll", "«for» (u4 i = 0; 1; i++) ;");
    in_main("shift::amount", "output1 = (x + y) << «4294967296»;");
    in_main("shift::amount", "uint_t 32 s; s{0:8} = x; s{24:8} = y; output1 = (x + y) << «s»;");
    in_main("loop::endless", "«for» (u4 i = 0; i <= 15; i++) ;");
    in_main("loop::endless", "«for» (u8 i = 7; i >= 0; i--) ;");
    in_main("loop::endless", "«for» (s8 i = 0; 127 >= i; i++) ;");
}

#[test]
fn builtins_and_options() {
    at_top("builtin::unknown", "/*@ builtin nothing */ function u8 «f»(u8 a) { return a; }");
    at_top("builtin::signature", "/*@ builtin aes_sbox */ function u8 «f»(u16 a) { return a{0:8}; }");
    at_top("pragma::unknown", "«/*@ nothing */» function u8 f(u8 a) { return a; }");
    at_top("pragma::unknown", "«/*@ point */» typedef int_t 8 price");
    at_top("pragma::unknown", "«/*@ inline */» typedef int_t 8 price");
    at_top("pragma::unknown", "«/*@ point 3 */» typedef struct_t PRICES { uint_t 8 price; }");
    at_top("pragma::point", "«/*@ point 9 */» typedef int_t 8 price");
    at_top("pragma::point", "«/*@ point 0 */» typedef int_t 8 price");
    at_top("name::redefined", "typedef int_t 8 price /*@ point 4 */ typedef int_t 8 «price»");
    let rows = "typedef struct_t R { u8 key; P p; } typedef struct_t T { u4 count; R rows[3]; u8 list[2]; } ";
    for field in ["key", "list"] {
        build(&top_with(&format!("{rows} /*@ unique {field} */ #input 2 T")).replacen("#input 2 u8", "", 1));
    }
    for (code, pragmas) in [
        ("pragma::field", "«/*@ unique p */»"),
        ("pragma::field", "«/*@ ascending rows */»"),
        ("pragma::unknown", "«/*@ unique */»"),
        ("pragma::unknown", "«/*@ component */»"),
        ("pragma::unknown", "/*@ unique key */ «/*@ ascending key */»"),
        ("pragma::field", "/*@ keyed rows.key */ «/*@ sorted list.key */»"),
    ] {
        expect(code, &top_with(&format!("{rows} {pragmas} #input 2 T")).replacen("#input 2 u8", "", 1));
    }
    let source = format!("{HEAD}function void main() {{ output1 = input1; }}");
    for options in [options(&["nothing"], &[]), options(&[], &["nothing"])] {
        assert_eq!(first_error(&build_with(&source, &options).unwrap_err()), "options::function");
    }
}

#[test]
fn several_errors_in_one_run() {
    let errors = refuse(&format!("{HEAD}function void main() {{ u8 z = a; u4 w = input1; output1 = b; }}"));
    assert_eq!(errors.list().iter().filter(|d| d.severity == Severity::Error).count(), 3);
    let errors = refuse(&format!(
        "{HEAD}function void main() {{ u8 = 3; output1 = 1 +; output1 = 2; }} typedef uint_t function u8 f( \
         {{ }}"
    ));
    assert!(errors.list().len() >= 3, "{}", errors.render(false));
}

#[test]
fn warnings() {
    for (code, body) in [
        ("constant::truncated", "output1 = «300»;"),
        ("constant::truncated", "output1 = «300##8»;"),
        ("constant::minus", "output1 = «-5»;"),
        ("constant::sign", "s8 z = 1; if (z < «200») output1 = x;"),
        ("constant::wraps", "output1 = «3 * 3»;"),
        ("expression::order", "output1 = «x++» + x;"),
        ("index::signed", "u8 z[2]; s8 i = 0; output1 = z[«i»];"),
        ("pragma::place", "«/*@ inline */» output1 = x;"),
        ("shift::sign", "s8 z; output1 = «z >> 3»;"),
        ("shift::sign", "s8 z; output1 = «(z + 1) >> y{0:3}»;"),
        ("type::cast", "s8 z = «x»;"),
        ("type::cast", "s8 z; output1 = «x + z»;"),
    ] {
        warn(code, &main_with(body));
    }
    warn("variable::global", &top_with("«u8 z;»"));
    let unused = "#parties 2 #input 1 uint_t 8 #output 1 uint_t 8 «#output 2 uint_t 8» function void main() \
                  { output1 = input1; }";
    warn("output::unassigned", unused);
    let unread = "#parties 2 #input 1 uint_t 8 «#input 2 uint_t 8» #output 1 uint_t 8 function void main() \
                  { output1 = input1; }";
    warn("input::unused", unread);
    for read in ["uint_t 8 x = input2;", "input2++;", "if (input2{0}) output1 = 1;"] {
        let (source, _) = marked(&unread.replace("output1 = input1;", &format!("output1 = input1; {read}")));
        assert!(build(&source).warnings.is_empty(), "{read}: {}", build(&source).warnings.render(false));
    }
    // A party without inputs needs no `#input` line.
    let alone = "#parties 2 #input 1 uint_t 8 #output 2 uint_t 8 function void main() { output2 = ~input1; }";
    assert!(build(alone).warnings.is_empty());
    for assigned in
        ["output2 = 1;", "output2{0} = 1;", "if (input1{0}) output2++;", "uint_t 8 x = output2 = 5;"]
    {
        let (source, _) =
            marked(&unused.replace("output1 = input1;", &format!("output1 = input1; {assigned}")));
        assert!(build(&source).warnings.is_empty(), "{assigned}: {}", build(&source).warnings.render(false));
    }
}

/// The warning of `>>` contains the corrected line, and that line causes no warning.
#[test]
fn shifts_of_signed_numbers_say_what_to_write() {
    for (written, keeps, zeros) in [
        ("z >> 3", "z >>> 3", "z{0:8} >> 3"),
        ("p[1]  >>\n y{0:3}", "p[1] >>> y{0:3}", "p[1]{0:8} >> y{0:3}"),
        ("(z + 1) >> 3", "(z + 1) >>> 3", "(z + 1){0:8} >> 3"),
    ] {
        let with = |e: &str| {
            let body = format!("s8 z; z{{0:8}} = x; s8 p[2] = {{z, z}}; s8 r = {e};");
            build(&main_with(&format!("{body} output1{{0:8}} = r; output1{{0}} = r{{0}} ^ y{{0}};")))
        };
        let (old, kept, logical) = (with(written), with(keeps), with(zeros));
        let record = &old.warnings.records()[0];
        assert_eq!((record.code.as_str(), old.warnings.list().len()), ("shift::sign", 1));
        let shown = if zeros.starts_with('(') { "(…){0:8} >> 3" } else { zeros };
        assert!(record.hint.contains(&format!("`{keeps}`")), "{record:?}");
        assert!(record.hint.contains(&format!("`{shown}`")), "{record:?}");
        for x in [0, 1, 100, 127, 128, 200, 255u128] {
            assert_eq!(run(&old.program, x, 3), run(&logical.program, x, 3), "{written} of {x}");
            let differ = run(&old.program, x, 3) != run(&kept.program, x, 3);
            assert_eq!(differ, (x as i8 + i8::from(written.contains('+'))) < 0, "{written} of {x}");
        }
        for quiet in [kept, logical] {
            assert!(quiet.warnings.is_empty(), "{}", quiet.warnings.render(false));
        }
    }
    let unsigned = build(&main_with("output1 = x >> 3;"));
    assert!(unsigned.warnings.is_empty(), "{}", unsigned.warnings.render(false));
}

/// If a loop never runs or never ends because of its counter's width, the diagnostic names the width that is
/// needed.
#[test]
fn counters_that_are_too_narrow() {
    let about = |source: &str, code: &str| {
        let all = match build_with(&main_with(&format!("output1 = x; {source}")), &CompileOptions::default())
        {
            Ok(compiled) => compiled.warnings,
            Err(errors) => errors,
        };
        let found = all.records().into_iter().find(|r| r.code == code);
        found.unwrap_or_else(|| panic!("no {code}: {}", all.render(false)))
    };
    for (source, reason, hint) in [
        ("for (u4 i = 0; i < 16; i++) ;", "16 is 0 in the 4 bits of the counter", "uint_t 5 i"),
        ("for (u8 i = 0; i < 256; i++) ;", "256 is 0 in the 8 bits of the counter", "uint_t 9 i"),
        ("for (u8 i = 0; i != 512; i++) ;", "512 is 0 in the 8 bits of the counter", "uint_t 10 i"),
        ("for (u4 i = 0; i < 16##4; i++) ;", "16 is 0 in the 4 bits of the counter", "uint_t 5 i"),
        ("for (s8 i = 0; i < 200; i++) ;", "", ""),
        ("for (u8 i = 7; i < 0; i--) ;", "a `uint_t 8` is never below 0", "check the condition"),
    ] {
        if reason.is_empty() {
            assert_eq!(about(source, "constant::sign").severity, Severity::Warning);
            continue;
        }
        let record = about(source, "loop::never");
        assert_eq!(record.message, "this loop runs zero times");
        assert!(record.related[0].label.contains(reason) && record.hint.contains(hint), "{record:?}");
    }
    for (source, reason, hint) in [
        ("for (u4 i = 0; i <= 15; i++) ;", "never above 15, and counts from there on to 0", "uint_t 5 i"),
        (
            "for (u8 i = 9; i >= 0; i--) ;",
            "never below 0, and counts from there down to 255",
            "`for (uint_t 8 i = … + 1; i > 0; i--)`, and write `i - 1`",
        ),
        (
            "for (s8 i = 9; i >= -128#8; i--) ;",
            "never below -128, and counts from there down to 127",
            "int_t 9 i",
        ),
        ("for (s8 i = 0; i <= 127; i++) ;", "never above 127, and counts from there on to -128", "int_t 9 i"),
    ] {
        let record = about(source, "loop::endless");
        assert_eq!((record.message.as_str(), record.severity), ("this loop never ends", Severity::Error));
        assert!(record.related[0].label.contains(reason) && record.hint.contains(hint), "{record:?}");
    }
    // The code in the compiler's own hint causes no warning.
    let downwards = "u8 a[10]; for (uint_t 8 i = 9 + 1; i > 0; i--) a[i - 1] = x; output1 = a[0] ^ a[9] ^ y;";
    let compiled = build(&main_with(downwards));
    assert!(compiled.warnings.is_empty(), "{}", compiled.warnings.render(false));
    assert_eq!(run(&compiled.program, 77, 5), 5);
    // Correct code gets no warning. Examples are loops that are empty by their bounds, loops that a `return`
    // ends, and counters that are just wide enough.
    let quiet = "function u8 f(u8 a) { for (u8 i = 0; i <= 255; i++) if (i == 9) return a; return 0; }
        function void main() { u8 n = 0; for (u8 i = 0; i < n; i++) output1 = 1; for (u4 i = 0; i < 15; i++) \
                 output1 = f(input1);
        for (u8 i = 9; i > 0; i--) output1 = f(input1 ^ input2); for (u8 i = 5; i < 5; i++) ; }";
    let warnings = build(&format!("{HEAD}{quiet}")).warnings;
    assert!(warnings.is_empty(), "{}", warnings.render(false));
}

#[test]
fn generic_functions() {
    const MAX: &str = "function T big<T>(T a, T b) { if (a < b) return b; return a; } function T first<T, \
                       n>(T a[n]) { return a[0]; }
        function uint_t w both<w>(uint_t w a, uint_t w b) { return a & b; }";
    let with = |body: &str| {
        format!("{HEAD}{MAX} function void main() {{ u8 x = input1; u8 y = input2; s8 s; {body} }}")
    };
    expect("generic::mixed", &with("output1 = big(x, «s»);"));
    expect("generic::mixed", &with("u4 z; output1 = big(x, «z»);"));
    expect("generic::mixed", &with("u4 z; output1 = both(x, «z»);"));
    expect("generic::unknown", &with("output1 = «big(3, 4)»;"));
    expect("call::argument", &with("P p; output1 = both(x, «p»);"));
    expect("call::count", &with("output1 = «big(x)»;"));
    expect("generic::unknown", &with("output1 = «first(x)»;"));
    at_top("generic::unused", "function u8 f<«T»>(u8 a) { return a; }");
    at_top("generic::redefined", "function T f<T, «T»>(T a) { return a; }");
    at_top("generic::redefined", "function T f<T, «a»>(T a) { return a; }");
    at_top("name::redefined", "function T f<T>(T a) { return a; } function u8 «f»(u8 a) { return a; }");
    at_top("syntax", "function T f<T«(»T a) { return a; }");
    // An error in the body names the call for which the function was made.
    let errors = refuse(&with("P p; P q; p = big(p, q); output1 = p.a;"));
    let record = errors.records().into_iter().find(|r| r.code == "operator::type").unwrap();
    assert!(record.related.iter().any(|r| r.label == "called here, with T = P"), "{record:?}");
    // A generic function that calls itself with other sizes is refused.
    let endless = "function u8 f<w>(uint_t w a) { uint_t (w+1) b; b{0:w} = a; return f(b); }";
    let errors = refuse(&format!("{HEAD}{endless} function void main() {{ output1 = f(input1); }}"));
    assert_eq!(first_error(&errors), "limit::functions");
}

#[test]
fn warnings_can_be_errors() {
    let source = main_with("output1 = 300;");
    assert_eq!(build(&source).warnings.list().len(), 1);
    let options = CompileOptions { warnings_as_errors: true, ..CompileOptions::default() };
    assert!(build_with(&source, &options).unwrap_err().has_errors());
}

#[test]
fn a_place_has_file_line_column_text_and_hint() {
    let files: HashMap<String, String> =
        [("part.wir".to_string(), "function u8 f(u8 a)\n{\n  return a + 5##4;\n}\n".to_string())].into();
    let source = format!("{HEAD}#include \"part.wir\"\nfunction void main() {{ output1 = f(input1); }}");
    let errors = build_files("root.wir", &source, &files, &CompileOptions::default()).unwrap_err();
    let record = &errors.records()[0];
    assert_eq!(
        (record.file.as_str(), record.line, record.column, record.end_column),
        ("part.wir", 3, 10, 18)
    );
    assert_eq!(record.text, "  return a + 5##4;");
    assert!(record.hint.starts_with("types are never converted implicitly"), "{record:?}");
    assert!(errors.to_string().starts_with("part.wir:3:10: error:"), "{errors}");
    let shown = errors.render(false);
    assert!(shown.contains("part.wir") && shown.contains("return a + 5##4"), "{shown}");
    let json = serde_json::to_value(errors.records()).unwrap();
    assert_eq!(json[0]["severity"], "error");
    assert_eq!(json[0]["line"], 3);
    assert_eq!(json[0]["hint"], record.hint.as_str());
}

#[test]
fn includes_are_read_once_and_nest() {
    let files: HashMap<String, String> = [
        ("a.wir".to_string(), "#include \"b.wir\" function u8 f(u8 a) { return g(a); }".to_string()),
        ("b.wir".to_string(), "#include \"a.wir\" function u8 g(u8 a) { return a; }".to_string()),
        ("empty.wir".to_string(), String::new()),
    ]
    .into();
    let source = |name: &str| {
        format!(
            "{HEAD}#include \"{name}\" #include \"{name}\" function void main() {{ output1 = f(input1); }}"
        )
    };
    let compiled = build_files("root.wir", &source("a.wir"), &files, &CompileOptions::default()).unwrap();
    assert!(compiled.warnings.list().iter().any(|d| d.code == "include::twice"));
    assert!(build_files("root.wir", &source("empty.wir"), &files, &CompileOptions::default()).is_err());
}

/// An included file may be missing, or may not be a source.
#[test]
fn included_files_that_are_no_sources() {
    struct Odd;
    impl Resolver for Odd {
        fn resolve(&self, path: &str) -> Result<Option<Vec<u8>>, String> {
            match path {
                "empty.wir" => Ok(Some(b"/* nothing */".to_vec())),
                "binary.wir" => Ok(Some(vec![0xff, 0xfe])),
                "large.wir" => Ok(Some(vec![b' '; (64 << 20) + 1])),
                "closed.wir" => Err("permission denied".into()),
                part => Ok(part.strip_prefix("part").map(|n| format!("#define c{n} 1").into_bytes())),
            }
        }
    }
    let code = |items: &str| {
        build_files("root.wir", &top_with(items), &Odd, &CompileOptions::default()).unwrap_err().list()[0]
            .code
    };
    for (file, expected) in [
        ("empty.wir", "include::empty"),
        ("binary.wir", "include::read"),
        ("closed.wir", "include::read"),
        ("large.wir", "include::size"),
        ("gone.wir", "include::missing"),
    ] {
        assert_eq!(code(&format!("#include \"{file}\"")), expected, "{file}");
    }
    let many: String = (0..1001).map(|i| format!("#include \"part{i}\" ")).collect();
    assert_eq!(code(&many), "include::files");
}

/// No source may crash the compiler.
#[test]
fn deep_nesting_is_refused() {
    let body = |e: String| format!("{HEAD}function void main() {{ {e} }}");
    let n = 200_000;
    for source in [
        body(format!("output1 = {}input1{};", "(".repeat(n), ")".repeat(n))),
        body(format!("output1 = {}input1;", "-".repeat(n))),
        body(format!("output1 = input1{};", " + 1".repeat(n))),
        body(format!("output1 = input1{};", "[0]".repeat(n))),
        body("{".repeat(n)),
        body("if (1) ".repeat(n) + ";"),
        body(format!("output1 = {}1;", "output1 = ".repeat(n))),
        body(format!("u8 z[1] = {}", "{".repeat(n))),
        body(format!("output1 = {}input1{};", "(1+".repeat(2000), ")+1".repeat(2000))),
    ] {
        refuse(&source);
    }
    // Each definition doubles the size of the expression.
    let doubling: String = (1..100).map(|i| format!("#define A{i} A{}+A{} ", i - 1, i - 1)).collect();
    refuse(&format!("#define A0 1 {doubling}{}", body("output1 = A99;".into())));
    let chain: String = (1..50_000).map(|i| format!("#define A{i} A{} ", i - 1)).collect();
    refuse(&format!("#define A0 1 {chain}{}", body("output1 = A49999;".into())));
    // Programs within the limits compile.
    build(&body(format!("output1 = {}input1{};", "(".repeat(500), ")".repeat(500))));
    build(&body(format!("output1 = input1{};", " + 1".repeat(2000))));
}

#[test]
fn too_much_work_is_refused() {
    let wide = "#parties 2 typedef uint_t 1000000 a typedef uint_t 2000000 b #input 1 a #input 2 a #output \
                1 b function void main() { output1 = input1 ** input2; }";
    let limited = CompileOptions { max_gates: 1 << 22, max_steps: 1 << 20, ..CompileOptions::default() };
    let code = |source: &str| first_error(&build_with(source, &limited).unwrap_err());
    assert_eq!(code(wide), "limit::gates");
    assert_eq!(code(&wide.replace("**", "/").replace("output1 = ", "output1{0:1000000} = ")), "limit::gates");
    let nested = "for (u8 i = 0; i < 200; i++) for (u8 j = 0; j < 200; j++) for (u8 k = 0; k < 200; k++) \
                  output1 = input1;";
    assert_eq!(code(&format!("{HEAD}function void main() {{ {nested} }}")), "limit::steps");
    let mut calls = String::from("function u8 f0(u8 a, u8 b) { return a * b; }");
    // Each level has other arguments, so no result is shared.
    (1..60).for_each(|i| {
        calls += &format!(
            "function u8 f{i}(u8 a, u8 b) {{ return f{0}(a * b + {i}##8, b) ^ f{0}(b, a * a + {i}##8); }}",
            i - 1
        );
    });
    assert_eq!(
        code(&format!("{HEAD}{calls} function void main() {{ output1 = f59(input1, 3); }}")),
        "limit::gates"
    );
    let chain: String =
        (1..300).map(|i| format!("function u8 f{i}(u8 a) {{ return f{}(a + 1); }}", i - 1)).collect();
    let chain = format!(
        "{HEAD}function u8 f0(u8 a) {{ return a; }} {chain} function void main() {{ output1 = f299(input1); \
         }}"
    );
    assert_eq!(first_error(&build_with(&chain, &options(&["*"], &[])).unwrap_err()), "limit::depth");
    let size = |ty: &str| refuse(&format!("{HEAD}typedef struct_t Q {{ {ty} }} function void main() {{ }}"));
    assert_eq!(first_error(&size("u8 a[4294967296];")), "type::size");
    assert_eq!(first_error(&size("u8 a[65536][65536][65536][65536];")), "type::size");
}

/// Random damage to a program never causes a panic, and an error is reported if it does not compile.
#[test]
fn damaged_programs_do_not_crash() {
    let pieces = [
        "{",
        "}",
        "}+",
        "+{",
        "(",
        ")",
        "[",
        "]",
        ";",
        ",",
        ":",
        "#",
        "##",
        "5",
        "0",
        "x",
        "u8",
        "P",
        "f",
        "=",
        "++",
        "--",
        "-",
        "~",
        "**",
        "//",
        "%%",
        "<<",
        ">>",
        "<<>",
        ">>>",
        "*",
        "/",
        "if",
        "else",
        "for",
        "return",
        "function",
        "typedef",
        "struct_t",
        "int_t",
        "#define",
        "#input",
        "#parties",
        ".",
        ".a",
        "\"",
        "/*",
        "*/",
        "é",
        "input1",
        "99999999999999999999",
        "main",
        "void",
        " ",
    ];
    let base = format!(
        "{HEAD}#define K 3+1\nfunction P f(u8 x, u8 y[2]) {{ P p; p.a = x ** y[0] / 3##16; if (x{{0}}) {{ \
         p.b = x{{K:2+2}}; }} else p.a++; return p; }}
        function void main() {{ u8 a[2] = {{input1, 4}}; for (u8 i = 0; i < K; i++) {{ a[i{{0}}] = f(a[0], \
         a).a << 2; }} output1 = -a[1] <<> 3; }}"
    );
    let mut state = 1u64;
    let mut random = |n: usize| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) as usize % n
    };
    let limited = CompileOptions {
        unroll_limit: 1000,
        max_steps: 20_000,
        max_gates: 1 << 18,
        ..CompileOptions::default()
    };
    let mut compiled = 0;
    for _ in 0..4000 {
        let mut source: Vec<char> = base.chars().collect();
        for _ in 0..1 + random(4) {
            let (at, length) = (random(source.len()), random(8));
            let end = (at + length).min(source.len());
            let piece: Vec<char> =
                if random(3) == 0 { Vec::new() } else { pieces[random(pieces.len())].chars().collect() };
            source.splice(at..end, piece);
        }
        let source: String = source.into_iter().collect();
        let check = |d: Diagnostics| {
            assert!(d.has_errors(), "{source}");
            assert!(d.list().iter().all(|d| d.code != "compiler"), "the compiler panicked on\n{source}");
            d.render(false);
        };
        match build_files("damaged.wir", &source, &NoFiles, &limited) {
            Ok(_) => compiled += 1,
            Err(d) => check(d),
        }
    }
    assert!(compiled > 0);
}
