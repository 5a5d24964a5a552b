//! The parts of a garbling as files. Reading gives the written parts, and damaged files are refused.

use super::*;
use crate::files::*;

/// Reads one type of file.
type Judge = fn(&[u8]) -> Result<(), Error>;

const JUDGES: [Judge; 6] = [
    |bytes| read_garbled(bytes).map(drop),
    |bytes| read_encoding(bytes).map(drop),
    |bytes| read_decoding(bytes).map(drop),
    |bytes| read_checking(bytes).map(drop),
    |bytes| read_inputs(bytes).map(drop),
    |bytes| read_outputs(bytes).map(drop),
];

const PROGRAM: ProgramDigest = [7; 32];

/// Returns the six files of a garbling, with gates with and without rows.
fn written(scheme: Scheme) -> [Vec<u8>; 6] {
    let gates = vec![(0, 1, GateFunction::AND), (1, 2, GateFunction::XOR), (3, 4, GateFunction::OR)];
    let circuit = NormalCircuit::normalised(3, gates, &[5, 4]).unwrap();
    let GarbledResult { garbled, encoding, decoding, checking } = garble(scheme, &circuit).unwrap();
    let mark = Mark::of(&garbled);
    let inputs = encoding.encode(&[true, true, false]).unwrap();
    let outputs = garbled.evaluate(&inputs).unwrap();
    assert_eq!(read_garbled(&write_garbled(&garbled)).unwrap(), garbled);
    [
        write_garbled(&garbled),
        write_encoding(&mark, &PROGRAM, &encoding).to_vec(),
        write_decoding(&mark, &PROGRAM, &decoding),
        write_checking(&mark, &PROGRAM, &checking).to_vec(),
        write_inputs(&mark, &inputs).to_vec(),
        write_outputs(&mark, &outputs).to_vec(),
    ]
}

#[test]
fn files_hold_what_was_garbled() {
    for scheme in schemes() {
        let [f, e, d, c, x, y] = written(scheme);
        let garbled = read_garbled(&f).unwrap();
        let (mark, of_e, encoding) = read_encoding(&e).unwrap();
        assert_eq!((garbled.scheme(), mark), (scheme, Mark::of(&garbled)));
        assert_eq!(mark.is_private(), scheme.method() != Method::PrivacyFree);
        let (of_inputs, inputs) = read_inputs(&x).unwrap();
        assert_eq!(*encoding.encode(&[true, true, false]).unwrap(), *inputs);
        let (of_outputs, outputs) = read_outputs(&y).unwrap();
        assert_eq!(*garbled.evaluate(&inputs).unwrap(), *outputs);
        let (of_decoding, of_d, decoding) = read_decoding(&d).unwrap();
        let (of_checking, of_c, checking) = read_checking(&c).unwrap();
        assert_eq!([of_e, of_d, of_c], [PROGRAM; 3]);
        for other in [of_inputs, of_outputs, of_decoding, of_checking] {
            mark.fits(&other).unwrap();
        }
        assert_eq!(decoding.decode(&outputs).unwrap(), [true, true], "{scheme:?}");
        assert_eq!(checking.decode(&outputs).unwrap(), [true, true], "{scheme:?}");
        let token = scheme.cipher().length().bytes();
        let head = 9 + 32 + 33 + 4;
        assert_eq!([e.len(), x.len()], [head + 32 + 6 * token, head + 3 * token]);
        let outputs = garbled.shape().outputs().len();
        assert_eq!(
            [d.len(), c.len(), y.len()],
            [32 + outputs, 32 + 2 * outputs * token, outputs * token].map(|n| head + n)
        );
        let parts =
            3 + 16 + 12 + 9 * garbled.shape().gates().len() + 4 * outputs + garbled.rows().len() * token;
        assert_eq!(f.len(), 9 + 32 + parts);
    }
}

/// A file with a flipped bit, without its end, with an additional byte or of another type is refused.
#[test]
fn damaged_files_are_refused() {
    for (method, cipher) in [
        (Method::GaXR, Cipher::A2(Doubling::D1)),
        (Method::GaXR, Cipher::A4(Doubling::D7)),
        (Method::HalfGates, Cipher::A2(Doubling::D1)),
        (Method::PrivacyFree, Cipher::A4(Doubling::D1)),
    ] {
        let files = written(Scheme::new(method, cipher).unwrap());
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
                assert!(error.contains("this file contains"), "{kind} {other}: {error}");
            }
        }
    }
}

/// An attacker can correct the digest of a changed file. Then the result is an error or a valid file, but no
/// panic and no large allocation.
#[test]
fn files_with_a_mended_digest_do_no_harm() {
    let cipher = Cipher::A4(Doubling::D1);
    let of = |method| written(Scheme::new(method, cipher).unwrap()).into_iter().enumerate();
    for (kind, file) in [Method::GaXR, Method::HalfGates, Method::PrivacyFree].into_iter().flat_map(of) {
        for at in 9..file.len() - 32 {
            for byte in [0, 1, 2, 4, 5, 7, 10, 0x16, 0x18, 0x20, 0x7f, 0x8a, 0xff] {
                let mut other = file[..file.len() - 32].to_vec();
                other[at] = byte;
                let digest =
                    brickwork_base::digest::Digest::of("brickwork garbling file 2").bytes(&other).done();
                other.extend(digest);
                if JUDGES[kind](&other).is_ok() && kind == 0 {
                    let garbled = read_garbled(&other).unwrap();
                    let _ = garbled.evaluate(&vec![0; garbled.shape().inputs().min(1 << 10) as usize]);
                }
            }
        }
    }
}

/// Each garbling method accepts only its own public parts of gates, and refuses those of other methods.
#[test]
fn gates_of_other_schemes_are_refused() {
    let cipher = Cipher::A2(Doubling::D1);
    for (method, own) in [
        (Method::Ga, &[0][..]),
        (Method::GaX, &[0, 1]),
        (Method::GaXR, &[0, 1]),
        (Method::HalfGates, &[0, 1, 2, 3, 4]),
        (Method::PrivacyFree, &[16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31]),
    ] {
        let [file, ..] = written(Scheme::new(method, cipher).unwrap());
        // The position of the first gate's opening, after its two wires.
        let at = 9 + 3 + 16 + 12 + 8;
        for byte in 0..=255 {
            let mut other = file[..file.len() - 32].to_vec();
            other[at] = byte;
            other
                .extend(brickwork_base::digest::Digest::of("brickwork garbling file 2").bytes(&other).done());
            let refused =
                read_garbled(&other).is_err_and(|e| e.to_string().contains("a gate has a type that"));
            assert_eq!(refused, !own.contains(&byte), "{method:?} {byte}");
        }
    }
}

#[test]
fn files_of_other_garblings_are_told_apart() {
    for scheme in schemes() {
        let marks = |files: &[Vec<u8>; 6]| -> [Mark; 6] {
            let [f, e, d, c, x, y] = files;
            [
                Mark::of(&read_garbled(f).unwrap()),
                read_encoding(e).unwrap().0,
                read_decoding(d).unwrap().0,
                read_checking(c).unwrap().0,
                read_inputs(x).unwrap().0,
                read_outputs(y).unwrap().0,
            ]
        };
        let [one, two] = [written(scheme), written(scheme)].map(|files| marks(&files));
        for (i, a) in one.iter().enumerate() {
            for (j, b) in two.iter().enumerate() {
                assert!(a.fits(b).is_err() && a.fits(&one[j]).is_ok(), "{scheme:?} {i} {j}");
            }
        }
    }
}

/// Row 25 of the table of attacks: a garbled circuit with an additional byte after its end is refused,
/// although the digest of the file is right.
#[test]
fn row_25_bytes_behind_a_garbled_circuit_are_refused() {
    for scheme in schemes() {
        let [file, ..] = written(scheme);
        let longer = [&file[..file.len() - 32], &[0]].concat();
        let digest = brickwork_base::digest::Digest::of("brickwork garbling file 2").bytes(&longer).done();
        let read = read_garbled(&[&longer[..], &digest].concat());
        assert!(
            read.is_err_and(|why| why.to_string().contains("the file continues after its end")),
            "{scheme:?}"
        );
    }
}
