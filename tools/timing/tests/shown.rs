//! Logs, errors and `Debug` show no secret.

use std::collections::HashSet;
use std::io::Write;
use std::net::TcpListener;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use brickwork::circuit::Party;
use brickwork::commit::Committed;
use brickwork::disk::{Chain, EpochSecrets, Forward};
use brickwork::label::{Delta, Label};
use brickwork::ot::base::SeriesKeys;
use brickwork::random::{Rng, SEED_BYTES, Seed};
use brickwork::wire::tls::{EndpointOptions, Identity, Listener, connect};
use brickwork_kernels::Aes128;
use brickwork_timing::{SharedSecrets, evaluator_input, garbler_input, known, play};

/// The destination of the log.
#[derive(Clone, Default)]
struct Buffer(Arc<Mutex<Vec<u8>>>);

impl Write for Buffer {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Returns the possible spellings of 16 bytes.
fn spellings(secret: u128) -> Vec<String> {
    let bytes = secret.to_le_bytes();
    let hex = |bytes: &mut dyn Iterator<Item = u8>| bytes.map(|b| format!("{b:02x}")).collect::<String>();
    // A part of a secret is enough to be recognised, because a list may be broken into lines.
    vec![
        hex(&mut bytes.into_iter().take(8)),
        hex(&mut bytes.into_iter().rev().take(8)),
        format!("{secret}"),
        format!("{}", secret as u64),
        format!("{}", (secret >> 64) as u64),
        format!("{}, {}, {}, {}, {}", bytes[0], bytes[1], bytes[2], bytes[3], bytes[4]),
    ]
}

/// Returns a secret that a text contains. The words of the text are looked up, because there are many
/// secrets.
fn shows(text: &str, secrets: &HashSet<String>) -> Option<String> {
    let text = text.to_lowercase();
    let words = text.split(|c: char| !c.is_ascii_alphanumeric()).flat_map(|word| {
        let word = word.strip_prefix("0x").unwrap_or(word);
        let parts = (0..word.len().saturating_sub(15)).map(|at| &word[at..at + 16]);
        std::iter::once(word).chain(parts).map(String::from)
    });
    let numbers: Vec<&str> =
        text.split([',', ' ', '[', ']', '(', ')']).filter(|part| !part.is_empty()).collect();
    let lists = numbers.windows(5).map(|five| five.join(", "));
    words.chain(lists).find(|piece| secrets.contains(piece))
}

fn all_spellings(secrets: impl IntoIterator<Item = u128>) -> HashSet<String> {
    secrets.into_iter().flat_map(spellings).collect()
}

/// A whole run over the network at the most detailed level of the log.
#[test]
fn a_run_at_trace_level_shows_no_secret() {
    let buffer = Buffer::default();
    let writer = buffer.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_writer(move || writer.clone())
        .finish();
    tracing::subscriber::set_global_default(subscriber).unwrap();

    let [(garbler, garbler_secret), (evaluator, evaluator_secret)] =
        [Identity::generate().unwrap(), Identity::generate().unwrap()];
    let options = |party| EndpointOptions { party, lanes: 2, timeout: Duration::from_secs(60) };
    let listener =
        Listener::bind("127.0.0.1:0", &garbler, evaluator.public_key(), &options(Party::Garbler)).unwrap();
    let address = listener.local_addr().unwrap().to_string();
    // A stranger connects, which causes a warning.
    drop(std::net::TcpStream::connect(&address).unwrap());
    let ends = std::thread::scope(|scope| {
        let accepted = scope.spawn(|| listener.accept().unwrap());
        let connected =
            connect(&address, &evaluator, garbler.public_key(), &options(Party::Evaluator)).unwrap();
        (accepted.join().unwrap(), connected)
    });
    let secrets = SharedSecrets::default();
    let reports = play(ends, &secrets);
    // A party whose peer never connects ends with an error.
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let patience = EndpointOptions { timeout: Duration::from_millis(200), ..options(Party::Evaluator) };
    let error = connect(&nobody, &evaluator, garbler.public_key(), &patience)
        .err()
        .expect("no program listens at this address");

    let log = String::from_utf8(buffer.0.lock().unwrap().clone()).unwrap();
    assert!(log.contains("the peer connected"), "nothing was logged: {log}");
    let mut secret_texts = all_spellings(known(&secrets).into_keys());
    assert!(secret_texts.len() > 50_000, "{}", secret_texts.len());
    for pem in [&garbler_secret, &evaluator_secret] {
        secret_texts.extend(pem.lines().filter(|line| !line.starts_with('-')).map(str::to_lowercase));
    }
    for bits in [
        garbler_input().to_vec(),
        evaluator_input().to_vec(),
        reports[0].outputs.clone(),
        reports[1].outputs.clone(),
    ] {
        for bits in bits.windows(16) {
            secret_texts.insert(bits.iter().map(|&bit| char::from(b'0' + u8::from(bit))).collect());
        }
        secret_texts.extend(
            bits.windows(5).map(|five| five.iter().map(bool::to_string).collect::<Vec<_>>().join(", ")),
        );
    }
    for text in
        [log, format!("{reports:?}"), format!("{error} {error:?}"), format!("{garbler:?} {evaluator:?}")]
    {
        assert_eq!(shows(&text, &secret_texts), None, "in: {text}");
    }
}

#[test]
fn what_is_shown_is_found() {
    let secret = 0x8123_4567_89ab_cdef_1122_3344_5566_7788_u128;
    let secrets = all_spellings([secret]);
    let bytes = secret.to_le_bytes();
    for text in [
        format!("{secret:x}"),
        format!("label={secret:#034X};"),
        format!("{secret}"),
        format!("{bytes:?}"),
        format!("{bytes:x?}").replace([',', ' '], ""),
    ] {
        assert!(shows(&text, &secrets).is_some(), "{text}");
    }
    assert!(shows("in 12 of 1234567 copies, 0, 1, 2, 3", &secrets).is_none());
}

/// `Debug` of a secret type prints none of its bytes.
#[test]
fn secrets_have_no_debug_output() {
    let secret = 0xfedc_ba98_7654_3210_0f1e_2d3c_4b5a_6979_u128;
    let seed = || Seed::from_bytes(secret.to_le_bytes());
    let texts = [
        format!("{:?}", Label::from_bits(secret)),
        format!("{:?}", Delta::new(secret)),
        format!("{:?}", seed()),
        format!("{:?}", SeriesKeys { sent: vec![[seed(), seed()]], received: vec![seed()] }),
        format!("{:?}", Aes128::new(secret)),
        format!("{:?}", Rng::expand(&seed(), "test")),
        format!("{:?}", vec![Label::from_bits(secret); 3]),
        format!("{:?}", Identity::generate().unwrap().0),
        format!("{:?}", Forward::of_setup(vec![secret; 3])),
        format!("{:?}", Chain::of(&[secret.to_le_bytes(); 2].concat().try_into().unwrap())),
        format!("{:?}", EpochSecrets::fixed(&secret.to_le_bytes())),
    ];
    let secrets = all_spellings([secret]);
    for text in texts {
        assert_eq!(shows(&text, &secrets), None, "{text}");
        assert!(text.len() < 200, "{text}");
    }
    assert_eq!(SEED_BYTES, 16);
    // These types must not implement `Debug`, which the compiler checks.
    static_assertions_no_debug();
}

/// This compiles only if none of these types implements `Debug`: otherwise the call below is ambiguous.
fn static_assertions_no_debug() {
    trait Ambiguous<A> {
        fn check() {}
    }
    impl<T: ?Sized> Ambiguous<()> for T {}
    struct HasDebug;
    impl<T: ?Sized + std::fmt::Debug> Ambiguous<HasDebug> for T {}
    <Committed as Ambiguous<_>>::check();
    <brickwork::commit::Shares as Ambiguous<_>>::check();
    <brickwork::commit::split::Sender as Ambiguous<_>>::check();
    <brickwork::commit::split::Receiver as Ambiguous<_>>::check();
    <brickwork::ot::extension::Sender as Ambiguous<_>>::check();
    <brickwork::ot::extension::Receiver as Ambiguous<_>>::check();
    <brickwork::ot::softspoken::Sender<4> as Ambiguous<_>>::check();
    <brickwork::ot::softspoken::Receiver<4> as Ambiguous<_>>::check();
    <brickwork::ot::pcg::Sender as Ambiguous<_>>::check();
    <brickwork::ot::pcg::Receiver as Ambiguous<_>>::check();
    <brickwork::ot::base::curve::Sender as Ambiguous<_>>::check();
    <brickwork::ot::base::curve::Receiver as Ambiguous<_>>::check();
    <brickwork::ot::base::lattice::Receiver as Ambiguous<_>>::check();
    <brickwork::solder::GarblerWire as Ambiguous<_>>::check();
    <brickwork_kernels::WalkLabels as Ambiguous<_>>::check();
}
