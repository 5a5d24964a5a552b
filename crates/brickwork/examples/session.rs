//! Runs a session whose second step uses the first step's result: a sum that neither party sees.

use brickwork::{Error, Identity, Inputs, Party, Program, Store, StoreKey};

/// Runs both parties.
pub fn main() -> Result<(), Error> {
    let folder = tempfile::tempdir().expect("a folder");
    let ports = "#parties 2\n#input 1 uint_t 32\n#input 2 uint_t 32\n";
    let text = |body| format!("{ports}#output 1 uint_t 32\nfunction void main() {{ output1 = {body}; }}");
    let sum = Program::from_source("sum.wir", &text("input1 + input2"))?;
    let rest = Program::from_source("rest.wir", &text("input1 - input2"))?;
    let (alice, bob) = (Identity::generate()?.0, Identity::generate()?.0);
    let (to_bob, to_alice) = (alice.public_key(), bob.public_key());
    let key = StoreKey::from_hex(&StoreKey::generate()?)?;
    let mut garbler = Party::garbler(alice).peer(to_alice).listen("127.0.0.1:0");
    garbler.store(Store::open(&folder.path().join("alice"), &key)?);
    let mut evaluator = Party::evaluator(bob).peer(to_bob).connect(garbler.bind()?.to_string());
    evaluator.store(Store::open(&folder.path().join("bob"), &key)?);

    let play = |party: &mut Party, first: Inputs, second: Inputs| -> Result<_, Error> {
        let mut session = party.session()?;
        // The stock is made before the first input, so no cheat while it is made can depend on an input.
        session.prepare(&sum, 1)?;
        session.prepare(&rest, 1)?;
        let kept = session.step(&sum, &first, &[], &["output1"])?.kept;
        let done = session.step(&rest, &second, &[("input1", &kept[0])], &[])?;
        session.close()?;
        Ok(done.outputs)
    };
    std::thread::scope(|scope| {
        let first = scope.spawn(|| play(&mut garbler, ("input1", 40u32).into(), Inputs::new()));
        play(&mut evaluator, ("input2", 2u32).into(), ("input2", 17u32).into())?;
        assert_eq!(first.join().expect("no panic")?.get::<u32>("output1")?, 25);
        Ok(())
    })
}
