//! Makes stock before the inputs are known, so that the runs themselves are fast.

use brickwork::{Error, Identity, Inputs, Party, Program, Store, StoreKey};

const RICHER: &str = "#parties 2\n#input 1 uint_t 32\n#input 2 uint_t 32\n#output 1 uint_t 1\n\
                      #output 2 uint_t 1\n\
                      function void main() { output1 = input1 > input2; output2 = output1; }";

/// Makes stock for two runs and uses it.
pub fn main() -> Result<(), Error> {
    let folder = tempfile::tempdir().expect("a folder");
    let program = Program::from_source("richer.wir", RICHER)?;
    let (alice, bob) = (Identity::generate()?.0, Identity::generate()?.0);
    let (to_bob, to_alice) = (alice.public_key(), bob.public_key());
    let key = StoreKey::from_hex(&StoreKey::generate()?)?;
    let mut garbler = Party::garbler(alice).peer(to_alice).listen("127.0.0.1:0");
    garbler.store(Store::open(&folder.path().join("alice"), &key)?);
    let mut evaluator = Party::evaluator(bob).peer(to_bob).connect(garbler.bind()?.to_string());
    evaluator.store(Store::open(&folder.path().join("bob"), &key)?);

    let play = |party: &mut Party, port: &str, wealth: [u32; 2]| -> Result<[bool; 2], Error> {
        party.prepare(&program, 2)?;
        // The stock is used later, and each run has a connection of its own.
        let mut richer = |own| party.run(&program, &Inputs::from((port, own)))?.outputs.get("output");
        Ok([richer(wealth[0])?, richer(wealth[1])?])
    };
    std::thread::scope(|scope| {
        let first = scope.spawn(|| play(&mut garbler, "input1", [5, 9]));
        assert_eq!(play(&mut evaluator, "input2", [7, 8])?, [false, true]);
        first.join().expect("no panic").map(drop)
    })
}
