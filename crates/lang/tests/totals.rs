//! Compares the AND counts of whole programs with those of the compiler of 2017, and checks the table in
//! `docs/project/compiler.md`.

mod common;

use brickwork_lang::{Directory, compile, std_library};
use common::*;

/// A program, and the AND count of the old compiler; none if the old compiler does not have the program.
struct Total {
    name: String,
    reference: u64,
    source: String,
}

fn total(name: impl Into<String>, reference: u64, source: impl Into<String>) -> Total {
    Total { name: name.into(), reference, source: source.into() }
}

/// Returns operators on two numbers of 32 bits, or of 64 and 32.
fn operators() -> Vec<Total> {
    let one = |name: &str, left: &str, right: &str, out: &str, reference| {
        let source = format!(
            "#parties 2 typedef uint_t 1 u1 typedef uint_t 32 u32 typedef uint_t 64 u64 typedef int_t 32 \
             s32 typedef int_t 64 s64
            #input 1 {left} #input 2 {right} #output 1 {out} function void main() {{ {left} x = input1; \
             {right} y = input2; output1 = {name}; }}"
        );
        let sign = if left.starts_with('s') { ", signed" } else { "" };
        total(format!("`{name}`{sign}"), reference, source)
    };
    let mut list: Vec<Total> = [
        ("x + y", 31),
        ("x - y", 31),
        ("-x", 31),
        ("x & y", 32),
        ("x * y", 993),
        ("x / y", 1056),
        ("x % y", 1121),
        ("x * 7", 437),
        ("x / 3", 964),
    ]
    .map(|(e, n)| one(e, "u32", "u32", "u32", n))
    .into();
    list.extend([("x / y", 1247), ("x % y", 1312)].map(|(e, n)| one(e, "s32", "s32", "s32", n)));
    list.extend([("x < y", 32), ("x == y", 31)].map(|(e, n)| one(e, "u32", "u32", "u1", n)));
    list.extend([one("x ** y", "u32", "u32", "u64", 2016), one("x ** y", "s32", "s32", "s64", 2016)]);
    list.extend([("x // y", 1089), ("x %% y", 1154)].map(|(e, n)| one(e, "u64", "u32", "u32", n)));
    list.extend([("x // y", 1344), ("x %% y", 1409)].map(|(e, n)| one(e, "s64", "s32", "s32", n)));
    list
}

fn product(n: u64) -> Total {
    let source = format!(
        "#parties 2 typedef uint_t {n} a typedef uint_t 2*{n} b #input 1 a #input 2 a #output 1 b
        function void main() {{ output1 = input1 ** input2; }}"
    );
    total(format!("full product, {n} bits"), 2 * n * n - n, source)
}

fn matrix(n: u64, w: u64) -> Total {
    let source = format!(
        "#parties 2 typedef uint_t {w} int typedef uint_t 8 small typedef struct_t M {{ int m[{n}][{n}]; }} \
         #input 1 M #input 2 M #output 1 M
        function void main() {{ for (small i = 0; i < {n}; i++) for (small j = 0; j < {n}; j++) for (small k \
         = 0; k < {n}; k++)
        output1.m[i][j] = output1.m[i][j] + input1.m[i][k] * input2.m[k][j]; }}"
    );
    total(format!("matrix product {n}×{n}, {w} bits"), n * n * n * w * w, source)
}

/// Returns two components of a larger product: a product of a row and a column, and a sum of blocks.
fn block(n: u64) -> [Total; 2] {
    let head = format!(
        "#parties 2 typedef uint_t 32 int typedef uint_t 8 small typedef struct_t M {{ int m[{n}][{n}]; }} \
         #input 1 M #input 2 M #output 1 M"
    );
    let call = "function void main() { output1 = f(input1, input2); }";
    let times = "for (small k = 0; k < N; k++) c.m[i][j] = c.m[i][j] + a.m[i][k] * b.m[k][j];"
        .replace('N', &n.to_string());
    let function = |inner: &str| {
        format!(
            "{head} function M f(M a, M b) {{ M c; for (small i = 0; i < {n}; i++) for (small j = 0; j < \
             {n}; j++) {{ {inner} }} return c; }} {call}"
        )
    };
    [
        total(format!("component: block product {n}×{n}"), n * n * n * 1024, function(&times)),
        total(
            format!("component: sum of blocks {n}×{n}"),
            n * n * 31,
            function("c.m[i][j] = a.m[i][j] + b.m[i][j];"),
        ),
    ]
}

/// Returns the Hamming distance: words of 32 bits are counted by halves and added up in `w` bits.
fn hamming(bits: u64, w: u64, reference: u64) -> Total {
    let words = bits / 32;
    let source = format!(
        "#parties 2 typedef uint_t {bits} string typedef uint_t 32 word typedef uint_t 6 count typedef \
         uint_t {w} sum typedef uint_t 16 index
        #input 1 string #input 2 string #output 1 sum
        function count ones(word d) {{
            count c[32];
            for (index i = 0; i < 32; i++) c[i]{{0}} = d{{i}};
            for (index n = 16; 0 < n; n = n >> 1) for (index i = 0; i < n; i++) c[i] = c[2 * i] + c[2 * i + \
         1];
            return c[0];
        }}
        function sum more(sum s, word a, word b) {{ sum t; t{{0:6}} = ones(a ^ b); return s + t; }}
        function void main() {{
            sum s;
            for (index i = 0; i < {words}; i++) s = more(s, input1{{i * 32:32}}, input2{{i * 32:32}});
            output1 = s;
        }}"
    );
    total(format!("Hamming distance, {bits} bits"), reference, source)
}

const LCS: &str = "#parties 2 typedef uint_t 8 letter typedef uint_t 4 length typedef uint_t 5 index \
                   typedef struct_t word { letter l[12]; }
    #input 1 word #input 2 word #output 1 length
    function void main() {
        length t[13][13];
        for (index i = 0; i < 12; i++) for (index j = 0; j < 12; j++) {
            length best = t[i][j + 1];
            if (best < t[i + 1][j]) best = t[i + 1][j];
            if (input1.l[i] == input2.l[j]) best = t[i][j] + 1;
            t[i + 1][j + 1] = best;
        }
        output1 = t[12][12];
    }";

const MIL: &str = "#parties 2 typedef uint_t 12 wealth typedef uint_t 2 winner #input 1 wealth #input 2 \
                   wealth #output 1 winner #output 2 winner
    function void main() {
        if (input1 > input2) output1 = 1; else { if (input1 < input2) output1 = 2; else output1 = 3; }
        output2 = output1;
    }";

fn rsa(n: u64) -> Total {
    let source = format!(
        "#parties 2 typedef uint_t {n} num typedef uint_t 2*{n} wide typedef struct_t key {{ num e; num m; \
         }}
        #input 1 key #input 2 num #output 1 num
        function num times(num a, num b, num m) {{ wide n; n{{0:{n}}} = m; wide r = (a ** b) % n; return \
         r{{0:{n}}}; }}
        function void main() {{
            num base = input2; num power = 1;
            for (num i = 0; i < {n}; i++) {{
                num next = times(power, base, input1.m);
                if (input1.e{{i}}) power = next;
                base = times(base, base, input1.m);
            }}
            output1 = power;
        }}"
    );
    total(
        format!("modular power, {n} bits"),
        2 * n * (2 * n * n - n + (2 * n) * (2 * n) + 6 * n + 1 - n / 2) + n * n,
        source,
    )
}

fn std(name: &str) -> &'static str {
    std_library().iter().find(|f| f.name == name).unwrap().text
}

fn aes_component(name: &str, reference: u64, call: &str) -> Total {
    let source = format!(
        "#parties 2 #include \"aes128.wir\" #input 1 aes_block #input 2 aes_block #output 1 aes_keys
        /*@ component */ function aes_keys f(aes_block a) {{ aes_keys k; {call} return k; }}
        function void main() {{ output1 = f(input1); }}"
    );
    total(name, reference, source)
}

fn totals() -> Vec<Total> {
    let mut list = operators();
    list.extend([
        total("AES-128 with key schedule", 6400, std("aes128_encrypt.wir")),
        aes_component("component: AES key schedule", 1280, "k = aes_expand(a);"),
        aes_component("component: AES SubBytes", 512, "k.round[0] = aes_sub_shift(a);"),
        total("CBC-MAC with AES-128, 4 blocks", 25_600, std("cbc_mac.wir")),
    ]);
    list.extend([256, 1024, 4096].map(product));
    list.push(matrix(2, 2));
    list.extend([5, 8, 16].map(|n| matrix(n, 32)));
    list.extend(block(4));
    list.extend([hamming(32, 6, 107), hamming(96, 7, 339), hamming(65_536, 17, 251_904)]);
    list.extend([
        total("longest common subsequence, 12 letters of 8 bits", 3262, LCS),
        total("millionaires, 12 bits", 29, MIL),
    ]);
    list.push(rsa(64));
    list
}

fn thousands(n: u64) -> String {
    let digits = n.to_string();
    let groups: Vec<&str> =
        digits.as_bytes().rchunks(3).rev().map(|g| std::str::from_utf8(g).unwrap()).collect();
    groups.join(" ")
}

#[test]
fn totals_meet_the_reference_and_the_page_says_so() {
    let page = include_str!("../../../docs/project/compiler.md");
    let mut wrong = String::new();
    for Total { name, reference, source } in totals() {
        // The program is compiled in one piece and counts each component once for each slot, like the old
        // compiler.
        let compiled = compile("total.wir", &source, &Directory(".".into()), &options(&[], &[]));
        let ands = compiled.unwrap_or_else(|e| panic!("{name}: {}", e.render(false))).program.and_gates();
        assert!(ands <= reference, "{name}: {ands} ANDs, {reference} by the reference");
        let row = format!("| {name} | {} | {} |", thousands(reference), thousands(ands));
        if !page.contains(&row) {
            wrong += &format!("{row}\n");
        }
    }
    assert!(wrong.is_empty(), "docs/project/compiler.md lacks:\n{wrong}");
}

/// The programs of the table compute the right functions.
#[test]
fn the_programs_of_the_table_are_right() {
    let mut state = 5u64;
    let mut random = |bits: u32| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        u128::from(state) >> (64 - bits)
    };
    let (near, mil, lcs, power) =
        (build(&hamming(96, 7, 0).source), build(MIL), build(LCS), build(&rsa(16).source));
    for _ in 0..20 {
        let (x, y) = (random(48) << 48 | random(48), random(48) << 48 | random(48));
        assert_eq!(run(&near.program, x, y), u128::from((x ^ y).count_ones()));
        let (x, y) = (random(12), random(12));
        assert_eq!(
            run(&mil.program, x, y),
            if x > y {
                1
            } else if x < y {
                2
            } else {
                3
            }
        );
        assert_eq!(run(&mil.program, x, x), 3);
        let words: [Vec<u128>; 2] = [0, 1].map(|_| (0..12).map(|_| random(2)).collect());
        let mut t = [[0u128; 13]; 13];
        for (i, a) in words[0].iter().enumerate() {
            for (j, b) in words[1].iter().enumerate() {
                t[i + 1][j + 1] = if a == b { t[i][j] + 1 } else { t[i][j + 1].max(t[i + 1][j]) };
            }
        }
        let [a, b] = words.map(|w| w.iter().rev().fold(0, |n, l| n << 8 | l));
        assert_eq!(run(&lcs.program, a, b), t[12][12]);
        let (e, m, base) = (random(16), random(15) + 2, random(16));
        let want = (0..16).rev().fold(1, |p, i| p * p % m * if e >> i & 1 == 1 { base } else { 1 } % m);
        assert_eq!(run(&power.program, e | m << 16, base), if e == 0 { 1 } else { want });
    }
}
