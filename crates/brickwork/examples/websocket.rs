//! Runs over a connection that carries binary frames of WebSocket (RFC 6455, section 5.2), as a browser or a
//! proxy between the parties may require. The HTTP handshake that comes before is left out here.

use std::io::{Error as IoError, Read, Result as IoResult, Write};
use std::net::{TcpListener, TcpStream};

use brickwork::{Error, Identity, Inputs, Party, Program};

/// Sends each write as one binary frame.
struct Sender(TcpStream);

impl Write for Sender {
    fn write(&mut self, bytes: &[u8]) -> IoResult<usize> {
        // A final frame of binary data, with a length of eight bytes and no mask.
        let header = [&[0x82, 127][..], &(bytes.len() as u64).to_be_bytes()].concat();
        self.0.write_all(&[&header[..], bytes].concat()).map(|()| bytes.len())
    }

    fn flush(&mut self) -> IoResult<()> {
        self.0.flush()
    }
}

/// Reads the bytes of such frames; the number counts the bytes that are left in the current frame.
struct Receiver(TcpStream, u64);

impl Read for Receiver {
    fn read(&mut self, to: &mut [u8]) -> IoResult<usize> {
        while self.1 == 0 {
            let mut header = [0; 10];
            self.0.read_exact(&mut header)?;
            if header[..2] != [0x82, 127] {
                return Err(IoError::other("another kind of frame"));
            }
            self.1 = header[2..].iter().fold(0, |length, byte| length << 8 | u64::from(*byte));
        }
        let read = (&mut self.0).take(self.1).read(to)?;
        self.1 -= read as u64;
        Ok(read)
    }
}

/// Returns a party that reaches its peer over this connection.
fn party(make: fn(Identity) -> Party, line: TcpStream) -> Result<Party, Error> {
    let reader = Receiver(line.try_clone().expect("a socket"), 0);
    make(Identity::generate()?.0).over(reader, Sender(line))
}

/// Runs both parties.
pub fn main() -> Result<(), Error> {
    let text = "#parties 2\n#input 1 int_t 16\n#input 2 int_t 16\n#output 2 int_t 16\n\
                function void main() { output2 = input1 + input2; }";
    let program = Program::from_source("sum.wir", text)?;
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let left = TcpStream::connect(listener.local_addr().expect("its address")).expect("a connection");
    let right = listener.accept().expect("a connection").0;
    let (mut garbler, mut evaluator) = (party(Party::garbler, left)?, party(Party::evaluator, right)?);
    let other = program.clone();
    let first = std::thread::spawn(move || garbler.run(&other, &Inputs::from(("input1", 40i16))));
    let run = evaluator.run(&program, &Inputs::from(("input2", -42i16)))?;
    assert_eq!(run.outputs.get::<i16>("output2")?, -2);
    first.join().expect("no panic")?;
    Ok(())
}
