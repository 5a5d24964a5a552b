//! Measures compile time and memory of large programs: `cargo run --release -p brickwork-lang --example
//! compile_times [NAME]`. The memory is the peak of the process so far, so measure one program alone by its
//! NAME.

use std::time::Instant;

use brickwork_lang::{CompileOptions, NoFiles, compile};

fn matrix(n: u32, function: &str, call: &str) -> String {
    format!(
        "#parties 2 #define N {n} typedef uint_t 32 int typedef uint_t 8 small typedef struct_t matrix {{ \
         int m[N][N]; }} typedef struct_t row {{ int m[N]; }}
        #input 1 matrix #input 2 matrix #output 1 matrix
        {function}
        function void main() {{
            for (small i = 0; i < N; i++) for (small j = 0; j < N; j++) {{ {call} }}
        }}"
    )
}

fn programs() -> Vec<(&'static str, String)> {
    let sum = "int sum = 0; for (small k = 0; k < N; k++) sum = sum + input1.m[i][k] * input2.m[k][j]; \
               output1.m[i][j] = sum;";
    let dot = "function int dot(row a, row b) { int sum = 0; for (small k = 0; k < N; k++) sum = sum + \
               a.m[k] * b.m[k]; return sum; }";
    let call = "row a, b; a.m = input1.m[i]; for (small k = 0; k < N; k++) b.m[k] = input2.m[k][j]; \
                output1.m[i][j] = dot(a, b);";
    let wide = |n: u32| {
        format!(
            "#parties 2 typedef uint_t {n} a typedef uint_t 2*{n} b #input 1 a #input 2 a #output 1 b \
             function void main() {{ output1 = input1 ** input2; }}"
        )
    };
    let million = "#parties 2 typedef uint_t 32 int #input 1 int #input 2 int #output 1 int
        function int step(int a, int b) { return a + (b ^ a); }
        function void main() { int x = input1; for (int i = 0; i < 1000000; i++) x = step(x, input2); \
                   output1 = x; }";
    vec![
        ("matrix-flat", matrix(16, "", sum)),
        ("matrix-flat-32", matrix(32, "", sum)),
        ("matrix-cut", matrix(16, dot, call)),
        ("product-1024", wide(1024)),
        ("product-4096", wide(4096)),
        ("million-calls", million.into()),
    ]
}

/// Returns the peak memory of this process, which only Linux tells.
fn peak_mebibytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.split_whitespace().next()?.parse::<u64>().ok().map(|kib| kib / 1024)
}

fn main() {
    let wanted = std::env::args().nth(1);
    for (name, source) in
        programs().into_iter().filter(|(name, _)| wanted.as_deref().is_none_or(|w| w == *name))
    {
        let start = Instant::now();
        match compile(name, &source, &NoFiles, &CompileOptions::default()) {
            Ok(compiled) => {
                let p = compiled.program;
                let gates: u64 = p.components().iter().map(|c| c.circuit.gate_count() as u64).sum();
                let seconds = start.elapsed().as_secs_f64();
                println!(
                    "{name}: {seconds:.2} s, {} ANDs, {} slots of {} components, {gates} gates made, {:.1} \
                     M gates/s, {} MiB",
                    p.and_gates(),
                    p.slot_count(),
                    p.components().len(),
                    gates as f64 / seconds / 1e6,
                    peak_mebibytes().map_or("?".into(), |m| m.to_string())
                );
            }
            Err(e) => println!("{}", e.render(false)),
        }
    }
}
