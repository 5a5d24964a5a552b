//! scratch
use brickwork::{circuit::*, duplo, session::*, wire::memory_pair};
use std::sync::Arc;
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let n: usize = a[2].parse().unwrap();
    let t: usize = a[3].parse().unwrap();
    let p = brickwork::circuit::formats::load(&std::fs::read(&a[1]).unwrap(), "aes").unwrap();
    let p = Arc::new(p.repeat(n).unwrap());
    let job = Job { program: p.clone(), security: 40, threads: t, identities: [[0; 32]; 2] };
    let (x, y) = (vec![true; p.input_width(Party::Garbler)], vec![false; p.input_width(Party::Evaluator)]);
    for _ in 0..3 {
        let (l, r) = memory_pair();
        let (g, e) = std::thread::scope(|s| {
            let h = s.spawn(|| duplo::garbler(l, &job, &x, &mut Unobserved));
            let e = duplo::evaluator(r, &job, &y, &mut Unobserved);
            (h.join().unwrap().unwrap(), e.unwrap())
        });
        assert_eq!(g.outputs, e.outputs);
        let exp = p.simulate(&x, &y);
        assert_eq!(e.outputs, p.output_bits(Party::Evaluator, &exp));
        for ph in &e.phases {
            println!(
                "{:10} {:9.3} ms/exec  G {:10.1} kB  E {:8.1} kB",
                ph.name,
                ph.seconds * 1e3 / n as f64,
                ph.garbler_sent_bytes as f64 / 1e3 / n as f64,
                ph.evaluator_sent_bytes as f64 / 1e3 / n as f64
            );
        }
        let tot: f64 = e.phases[1..].iter().map(|p| p.seconds).sum();
        let by: u64 = e.phases.iter().map(|p| p.garbler_sent_bytes).sum();
        println!(
            "after setup {:.3} ms/exec, {:.3} MB/exec, bound {:.2}",
            tot * 1e3 / n as f64,
            by as f64 / 1e6 / n as f64,
            e.security.bound_log2
        );
        println!("{}", serde_json::to_string(&e.security).unwrap());
    }
    println!("{}", std::fs::read_to_string("/proc/self/status").unwrap().lines().find(|l| l.contains("VmHWM")).unwrap());
}
