//! Runs over a connection of the caller's, which can be anything that reads and writes. Here it is a pair of
//! Unix sockets.

/// Runs both parties.
#[cfg(unix)]
pub fn main() -> Result<(), brickwork::Error> {
    use brickwork::{Identity, Inputs, Party, Program, Protocol};
    use std::os::unix::net::UnixStream;

    let text = "#parties 2\n#input 1 int_t 16\n#input 2 int_t 16\n#output 2 int_t 16\n\
                function void main() { output2 = input1 + input2; }";
    let program = Program::from_source("sum.wir", text)?;
    let (left, right) = UnixStream::pair().expect("two sockets");
    let party = |make: fn(Identity) -> Party, line: UnixStream| -> Result<Party, brickwork::Error> {
        let mut party = make(Identity::generate()?.0).over(line.try_clone().expect("a socket"), line)?;
        party.protocol(Protocol::AUTHENTICATED);
        Ok(party)
    };
    let (mut garbler, mut evaluator) = (party(Party::garbler, left)?, party(Party::evaluator, right)?);
    let other = program.clone();
    let first = std::thread::spawn(move || garbler.run(&other, &Inputs::from(("input1", 40i16))));
    let run = evaluator.run(&program, &Inputs::from(("input2", -42i16)))?;
    assert_eq!(run.outputs.get::<i16>("output2")?, -2);
    // The program has no output for the garbler.
    assert_eq!(first.join().expect("no panic")?.outputs.names().count(), 0);
    Ok(())
}

/// Systems without Unix sockets have no such connection, so this example does nothing there.
#[cfg(not(unix))]
fn main() {}
