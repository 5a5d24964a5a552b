//! Nanoseconds per correlated OT, each party by itself, one thread: random bits, of every way to make them,
//! in one run; the best of many calls, of CPU time, as other programs may run beside it. And milliseconds of
//! a setup, without its base OTs.
//!
//! `cargo bench --bench cot`, of one way `cargo bench --bench cot -- 'SoftSpokenOT 4'`, with another kernel
//! `BRICKWORK_KERNEL=aes-ni cargo bench --bench cot`.

use brickwork::label::{Delta, Label};
use brickwork::ot::{CotReceiver, CotSender, Direction, Series, extension, softspoken};
use brickwork::plan::thread_seconds;
use brickwork::random::{Rng, Seed};
use brickwork::wire::memory_pair;
use brickwork_kernels::Kernel;

/// OTs of a call: rows of 1 KiB a chunk, and labels that do not fit into the caches of a core.
const COUNT: usize = 1 << 18;
const CALLS: usize = 12;

fn measure<S: CotSender, R: CotReceiver>(name: &str) -> Result<(), brickwork::Error> {
    let mut wanted = std::env::args().skip(1).filter(|argument| !argument.starts_with("--")).peekable();
    if wanted.peek().is_some() && !wanted.any(|wanted| wanted == name) {
        return Ok(());
    }
    let mut rng = Rng::new("brickwork benchmark of correlated OTs")?;
    let delta: Delta = rng.delta();
    let pairs: Vec<[Seed; 2]> = (0..128).map(|_| [rng.seed(), rng.seed()]).collect();
    let choice = |i: usize| (delta.bits() >> i & 1) as usize;
    let seeds: Vec<Seed> = pairs.iter().enumerate().map(|(i, pair)| pair[choice(i)].clone()).collect();
    let series = Series::new(&[0; 32], Direction::GarblerSends);
    let (mut left, mut right) = memory_pair();

    let now = thread_seconds();
    let mut receiver = R::set_up(&mut right, &series, &pairs)?;
    let grown = thread_seconds() - now;
    let now = thread_seconds();
    let mut sender = S::set_up(&mut left, &series, delta, &seeds)?;
    let completed = thread_seconds() - now;

    let (before, mut receives, mut sends) = (right.sent_bytes(), f64::MAX, f64::MAX);
    let (mut macs, mut keys) = (vec![Label::ZERO; COUNT], vec![Label::ZERO; COUNT]);
    for _ in 0..CALLS {
        let now = thread_seconds();
        receiver.random_bits(&mut right, &mut rng, &mut macs)?;
        receives = receives.min(thread_seconds() - now);
        let now = thread_seconds();
        sender.random_bits(&mut left, &mut keys)?;
        sends = sends.min(thread_seconds() - now);
        std::hint::black_box((&macs, &keys));
    }
    let per_ot = |seconds: f64| seconds * 1e9 / COUNT as f64;
    let bytes = (right.sent_bytes() - before) as f64 / (CALLS * COUNT) as f64;
    println!(
        "{name:16} {bytes:6.3} bytes  receiver {:6.2} ns  sender {:6.2} ns  setup {:5.2} and {:5.2} ms",
        per_ot(receives),
        per_ot(sends),
        grown * 1e3,
        completed * 1e3,
    );
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("{:?}", Kernel::chosen()?);
    for _ in 0..2 {
        measure::<extension::Sender, extension::Receiver>("IKNP")?;
        measure::<softspoken::Sender<2>, softspoken::Receiver<2>>("SoftSpokenOT 2")?;
        measure::<softspoken::Sender<4>, softspoken::Receiver<4>>("SoftSpokenOT 4")?;
        measure::<softspoken::Sender<8>, softspoken::Receiver<8>>("SoftSpokenOT 8")?;
    }
    Ok(())
}
