//! Measures the nanoseconds of CPU time for each correlated OT of random bits, for every scheme, with each
//! party in a thread of its own. The best of many calls counts, because other programs may run at the same
//! time. The bytes are those of both directions, without the first call. The setup is measured in
//! milliseconds, without its base OTs.
//!
//! `cargo bench --bench cot` measures all schemes, and `cargo bench --bench cot -- 'SoftSpokenOT 4'` only
//! this one. `BRICKWORK_KERNEL=aes-ni cargo bench --bench cot` takes another kernel.

use brickwork::label::{Delta, Label};
use brickwork::ot::{CotReceiver, CotSender, Direction, Series, extension, pcg, softspoken};
use brickwork::plan::thread_seconds;
use brickwork::random::{Rng, Seed};
use brickwork::wire::memory_pair;
use brickwork_kernels::Kernel;

/// The OTs of a call: each chunk then has rows of 1 KiB, and the labels do not fit into the caches of a core.
const COUNT: usize = 1 << 18;
const CALLS: usize = 12;

fn measure<S: CotSender, R: CotReceiver>(name: &str, count: usize) -> Result<(), brickwork::ProtocolError> {
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
    let per_ot = |seconds: f64| seconds * 1e9 / count as f64;
    let receives = move || {
        let now = thread_seconds();
        let mut receiver = R::set_up(&mut right, &series, &pairs)?;
        let (grown, mut best) = (thread_seconds() - now, f64::MAX);
        let mut macs = vec![Label::ZERO; count];
        let mut before = 0;
        for call in 0..=CALLS {
            let now = thread_seconds();
            receiver.random_bits(&mut right, &mut rng, &mut macs)?;
            best = best.min(thread_seconds() - now);
            std::hint::black_box(&macs);
            if call == 0 {
                before = right.sent_bytes() + right.received_bytes();
            }
        }
        let bytes = right.sent_bytes() + right.received_bytes() - before;
        Ok::<_, brickwork::ProtocolError>((grown, best, bytes as f64 / (CALLS * count) as f64))
    };
    let mut sends = move || {
        let now = thread_seconds();
        let mut sender = S::set_up(&mut left, &series, delta, &seeds)?;
        let (completed, mut best) = (thread_seconds() - now, f64::MAX);
        let mut keys = vec![Label::ZERO; count];
        for _ in 0..=CALLS {
            let now = thread_seconds();
            sender.random_bits(&mut left, &mut keys)?;
            best = best.min(thread_seconds() - now);
            std::hint::black_box(&keys);
        }
        Ok::<_, brickwork::ProtocolError>((completed, best))
    };
    let (sent, received) = std::thread::scope(|scope| {
        let received = scope.spawn(receives);
        (sends(), received.join().expect("it ends"))
    });
    let ((completed, sends), (grown, receives, bytes)) = (sent?, received?);
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
        measure::<extension::Sender, extension::Receiver>("IKNP", COUNT)?;
        measure::<softspoken::Sender<2>, softspoken::Receiver<2>>("SoftSpokenOT 2", COUNT)?;
        measure::<softspoken::Sender<4>, softspoken::Receiver<4>>("SoftSpokenOT 4", COUNT)?;
        measure::<softspoken::Sender<8>, softspoken::Receiver<8>>("SoftSpokenOT 8", COUNT)?;
        // A call makes exactly the OTs of one iteration of the PCG.
        measure::<pcg::Sender, pcg::Receiver>("PCG", pcg::PARAMETERS.yields())?;
    }
    Ok(())
}
