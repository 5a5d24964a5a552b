//! Sessions whose last messages are timed.

use std::sync::{Arc, Mutex};
use std::time::Instant;

use brickwork::ProtocolError as Error;
use brickwork::circuit::{Party, Program};
use brickwork::protocol::AgreedJob;
use brickwork::random::Rng;
use brickwork::wire::{Channel, memory_pair};

/// Plays an honest session, or the cheat of this number. Returns the time at the garbler, in nanoseconds, and
/// whether the evaluator recovered.
pub type TimedPlay = dyn Fn(Option<usize>, &mut Rng) -> (f64, bool);

/// Sessions of one protocol.
pub struct TimedSessions {
    pub about: String,
    /// The cheats that make the evaluator recover.
    pub cheats: Vec<&'static str>,
    pub play: Box<TimedPlay>,
}

/// Runs both parties on random inputs. Returns the time from the garbler's last message until the garbler
/// ends, in nanoseconds, and the evaluator's result.
pub fn timed(
    program: &Arc<Program>,
    rng: &mut Rng,
    garbler: impl FnOnce(Channel, &AgreedJob, &[bool]) -> Result<(), Error> + Send,
    evaluator: impl FnOnce(Channel, &AgreedJob, &[bool]) -> Result<bool, Error>,
) -> (f64, bool) {
    let job = AgreedJob::new(program.clone(), 40, [[1; 32], [2; 32]]);
    let [x, y] = [Party::Garbler, Party::Evaluator]
        .map(|party| (0..program.input_width(party)).map(|_| rng.below(2) == 1).collect::<Vec<bool>>());
    let (mut left, right) = memory_pair();
    let last = Arc::new(Mutex::new(Instant::now()));
    let sent = last.clone();
    left.set_tamper(Box::new(move |_, _| *sent.lock().expect("no panic") = Instant::now()));
    let (taken, recovered) = std::thread::scope(|scope| {
        let job = &job;
        let garbled = scope.spawn(move || {
            let end = garbler(left, job, &x);
            let taken = last.lock().expect("no panic").elapsed();
            end.map(|()| taken)
        });
        let recovered = evaluator(right, job, &y);
        (garbled.join().expect("no panic").expect("a run"), recovered.expect("a run"))
    });
    (taken.as_nanos() as f64, recovered)
}
