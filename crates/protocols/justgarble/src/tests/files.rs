//! The parts of a garbling as files: what is read is what was written, and what is damaged is refused.

use super::*;
use crate::files::*;

/// A reader of one kind of file, as it judges bytes.
type Judge = fn(&[u8]) -> Result<(), Error>;

const JUDGES: [Judge; 6] = [
    |bytes| read_garbled(bytes).map(drop),
    |bytes| read_encoding(bytes).map(drop),
    |bytes| read_decoding(bytes).map(drop),
    |bytes| read_checking(bytes).map(drop),
    |bytes| read_inputs(bytes).map(drop),
    |bytes| read_outputs(bytes).map(drop),
];

/// The files of a garbling of a circuit with gates that are free and gates that are not.
fn written(scheme: Scheme) -> [Vec<u8>; 6] {
    let gates = vec![(0, 1, Function::AND), (1, 2, Function::XOR), (3, 4, Function::OR)];
    let circuit = Circuit::normalised(3, gates, &[5, 4]).unwrap();
    let Garbling { garbled, encoding, decoding, checking } = garble(scheme, &circuit).unwrap();
    let mark = Mark::of(&garbled);
    let inputs = encoding.encode(&[true, true, false]).unwrap();
    let outputs = garbled.evaluate(&inputs).unwrap();
    assert_eq!(read_garbled(&write_garbled(&garbled)).unwrap(), garbled);
    [
        write_garbled(&garbled),
        write_encoding(&mark, &encoding).to_vec(),
        write_decoding(&mark, &decoding),
        write_checking(&mark, &checking).to_vec(),
        write_inputs(&mark, &inputs).to_vec(),
        write_outputs(&mark, &outputs).to_vec(),
    ]
}

/// All of it through files, for every scheme, with each count of bytes as the formats have it.
#[test]
fn files_hold_what_was_garbled() {
    for scheme in schemes() {
        let [f, e, d, c, x, y] = written(scheme);
        let garbled = read_garbled(&f).unwrap();
        let (mark, encoding) = read_encoding(&e).unwrap();
        assert_eq!((garbled.scheme, mark), (scheme, Mark::of(&garbled)));
        let (of_inputs, inputs) = read_inputs(&x).unwrap();
        assert_eq!(*encoding.encode(&[true, true, false]).unwrap(), *inputs);
        let (of_outputs, outputs) = read_outputs(&y).unwrap();
        assert_eq!(*garbled.evaluate(&inputs).unwrap(), *outputs);
        let (of_decoding, decoding) = read_decoding(&d).unwrap();
        let (of_checking, checking) = read_checking(&c).unwrap();
        for other in [of_inputs, of_outputs, of_decoding, of_checking] {
            mark.fits(&other).unwrap();
        }
        assert_eq!(decoding.decode(&outputs).unwrap(), [true, true], "{scheme:?}");
        assert_eq!(checking.decode(&outputs).unwrap(), [true, true], "{scheme:?}");
        let token = scheme.cipher().length().bytes();
        let head = 9 + 32 + 33 + 4;
        assert_eq!([e.len(), x.len()], [head + 6 * token, head + 3 * token]);
        let outputs = garbled.outputs.len();
        assert_eq!(
            [d.len(), c.len(), y.len()],
            [outputs, 2 * outputs * token, outputs * token].map(|n| head + n)
        );
        let parts = 3 + 16 + 12 + 9 * garbled.gates.len() + 4 * outputs + garbled.rows.len() * token;
        assert_eq!(f.len(), 9 + 32 + parts);
    }
}

/// Any flipped bit, any cut, any byte more and any other kind ends in an error.
#[test]
fn damaged_files_are_refused() {
    for cipher in [Cipher::A2(Doubling::D1), Cipher::A4(Doubling::D7)] {
        let files = written(Scheme::new(Method::GaXR, cipher).unwrap());
        for (kind, file) in files.iter().enumerate() {
            JUDGES[kind](file).unwrap();
            for bit in 0..8 * file.len() {
                let mut flipped = file.clone();
                flipped[bit / 8] ^= 1 << (bit % 8);
                assert!(matches!(JUDGES[kind](&flipped), Err(Error::Input(_))), "{kind} {bit}");
            }
            for length in 0..file.len() {
                assert!(JUDGES[kind](&file[..length]).is_err(), "{kind} {length}");
            }
            assert!(JUDGES[kind](&[&file[..], &[0]].concat()).is_err());
            for (other, judge) in JUDGES.iter().enumerate().filter(|(other, _)| *other != kind) {
                let error = judge(file).unwrap_err().to_string();
                assert!(error.contains("this file holds"), "{kind} {other}: {error}");
            }
        }
    }
}

/// Somebody who mends the digest, too, gets an error or a file, never a panic nor memory beyond the file's.
#[test]
fn files_with_a_mended_digest_do_no_harm() {
    let files = written(Scheme::new(Method::GaXR, Cipher::A4(Doubling::D1)).unwrap());
    for (kind, file) in files.iter().enumerate() {
        for at in 9..file.len() - 32 {
            for byte in [0, 1, 2, 7, 10, 0x7f, 0xff] {
                let mut other = file[..file.len() - 32].to_vec();
                other[at] = byte;
                let digest =
                    brickwork_base::digest::Digest::of("brickwork garbling file 1").bytes(&other).done();
                other.extend(digest);
                if JUDGES[kind](&other).is_ok() && kind == 0 {
                    let garbled = read_garbled(&other).unwrap();
                    let _ = garbled.evaluate(&vec![0; garbled.inputs.min(1 << 10) as usize]);
                }
            }
        }
    }
}

/// Files of two garblings do not go together.
#[test]
fn files_of_other_garblings_are_told_apart() {
    let scheme = Scheme::new(Method::Ga, Cipher::A1).unwrap();
    let [one, two] = [written(scheme), written(scheme)];
    let marks = [&one, &two].map(|files| read_encoding(&files[1]).unwrap().0);
    assert!(marks[0].fits(&marks[1]).is_err() && marks[0].fits(&marks[0]).is_ok());
}
