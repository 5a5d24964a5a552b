//! The parts of a garbling as separate files.
//!
//! ```text
//! file     = "brickwg" type:u8 version:u8 body digest:[u8; 32]      a digest of all that is before it
//! F  (1)   = method:u8 cipher:u8 doubling:u8 key:u128 inputs gates outputs
//!            (first second opening:u8)^gates wire^outputs row*         a row is as long as a token
//! e  (2)   = mark program inputs (token token)^inputs               for 0, for 1
//! d  (3)   = mark program outputs bit:u8^outputs                    the last bit of the token for 0
//! c  (4)   = mark program outputs (token token)^outputs             by which the garbler checks outputs
//! X  (5)   = mark inputs token^inputs
//! Y  (6)   = mark outputs token^outputs
//! mark     = garbling:[u8; 32] length:u8                            digest of F; bytes of a token, 10 or 16,
//!                                                                   and 128 more where nothing is private
//! program  = [u8; 32]                                               digest of what was garbled
//! ```
//!
//! Numbers are little endian; counts and wires have 4 bytes. The digests detect damage, and show which files
//! belong to the same garbling. The program's digest in e, d and c shows to which program the encoded or
//! decoded values belong. Digests do not prevent forged files. Only [`Checking`] detects forged outputs.

use std::sync::Arc;

use brickwork_base::Error;
use brickwork_base::digest::Digest;
use zeroize::Zeroizing;

use crate::cipher::{Cipher, Doubling, Length};
use crate::circuit::GateFunction;
use crate::scheme::{
    Checking, Encoding, GarbledCircuit, Method, OutputDecoding, PublicCircuit, PublicGate, Scheme,
};

const MAGIC: &[u8; 7] = b"brickwg";
/// The version of the file formats.
pub const VERSION: u8 = 2;
const DIGEST_BYTES: usize = 32;

/// The digest of the garbled program, [`brickwork_circuit::Program::digest`]. Callers compare it when they
/// convert values to tokens and back.
pub type ProgramDigest = [u8; DIGEST_BYTES];

/// The numbers in files of the ciphers without a doubling. A2 has the number 2, A4 the number 4.
const PLAIN: [(u8, Cipher); 4] = [(1, Cipher::A1), (3, Cipher::A3), (5, Cipher::Aes256), (6, Cipher::Sha1)];
const METHODS: [Method; 5] = [Method::Ga, Method::GaX, Method::GaXR, Method::HalfGates, Method::PrivacyFree];

/// In a mark, the length of a token plus this number means that the garbling has no privacy.
const NOT_PRIVATE: u8 = 0x80;
/// A gate's truth table plus this number means that the function is public.
const KNOWN: u8 = 0x10;
/// The inputs of a gate without rows whose tokens are added. The bytes in a file are 1 to 4.
const SUMS: [(bool, bool); 4] = [(true, true), (true, false), (false, true), (false, false)];

fn byte_of(opening: PublicGate) -> u8 {
    match opening {
        PublicGate::Rows => 0,
        PublicGate::Sum { first, second } => {
            SUMS.iter().position(|sum| *sum == (first, second)).map_or(0, |place| place as u8 + 1)
        }
        PublicGate::Known(function) => KNOWN + function.table(),
    }
}

fn opening_of(byte: u8) -> Option<PublicGate> {
    match byte {
        0 => Some(PublicGate::Rows),
        1..=4 => {
            let (first, second) = SUMS[usize::from(byte) - 1];
            Some(PublicGate::Sum { first, second })
        }
        _ => GateFunction::of_table(byte.checked_sub(KNOWN)?).map(PublicGate::Known),
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum FileType {
    Garbled = 1,
    Encoding,
    Decoding,
    Checking,
    Inputs,
    Outputs,
}

impl FileType {
    const ALL: [FileType; 6] = [
        FileType::Garbled,
        FileType::Encoding,
        FileType::Decoding,
        FileType::Checking,
        FileType::Inputs,
        FileType::Outputs,
    ];

    fn name(self) -> &'static str {
        match self {
            FileType::Garbled => "a garbled circuit (F)",
            FileType::Encoding => "the tokens of the inputs (e)",
            FileType::Decoding => "decoding data (d)",
            FileType::Checking => "checking data (c)",
            FileType::Inputs => "garbled inputs (X)",
            FileType::Outputs => "garbled outputs (Y)",
        }
    }
}

/// The part of a file that identifies the garbling to which the file belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    garbling: [u8; DIGEST_BYTES],
    length: Length,
    is_private: bool,
}

impl Mark {
    /// Returns the mark of a garbled circuit.
    pub fn of(garbled: &GarbledCircuit) -> Self {
        let file = write_garbled(garbled);
        let (_, digest) = file.split_at(file.len() - DIGEST_BYTES);
        let garbling = digest.try_into().unwrap_or([0; DIGEST_BYTES]);
        let scheme = garbled.scheme();
        Mark { garbling, length: scheme.cipher().length(), is_private: scheme.method().is_private() }
    }

    /// Returns the digest of the garbled circuit.
    pub fn garbling(&self) -> &[u8; DIGEST_BYTES] {
        &self.garbling
    }

    /// Returns whether the garbling hides inputs from the evaluator. If not, the tokens of inputs reveal
    /// their bits.
    pub fn is_private(&self) -> bool {
        self.is_private
    }

    /// Checks that two files belong to the same garbling.
    ///
    /// # Errors
    /// [`Error::Input`] if they do not.
    pub fn fits(&self, other: &Mark) -> Result<(), Error> {
        match self == other {
            true => Ok(()),
            false => Err(Error::Input("these files come from different garblings".into())),
        }
    }
}

/// Writes F.
pub fn write_garbled(garbled: &GarbledCircuit) -> Vec<u8> {
    let (scheme, shape) = (garbled.scheme(), garbled.shape());
    let length = scheme.cipher().length();
    let bytes =
        31 + 9 * shape.gates().len() + 4 * shape.outputs().len() + length.bytes() * garbled.rows().len();
    let mut file = Writer::new(FileType::Garbled, bytes);
    let (cipher, doubling) = match scheme.cipher() {
        Cipher::A2(doubling) => (2, Some(doubling)),
        Cipher::A4(doubling) => (4, Some(doubling)),
        other => (PLAIN.iter().find(|(_, cipher)| *cipher == other).map_or(0, |(number, _)| *number), None),
    };
    let place = |found: Option<usize>| found.map_or(0, |place| place as u8 + 1);
    file.bytes(&[
        place(METHODS.iter().position(|method| *method == scheme.method())),
        cipher,
        doubling.map_or(0, |doubling| place(Doubling::ALL.iter().position(|d| *d == doubling))),
    ]);
    file.bytes(&garbled.key().to_le_bytes());
    for count in [shape.inputs() as usize, shape.gates().len(), shape.outputs().len()] {
        file.count(count);
    }
    for &(first, second, opening) in shape.gates() {
        file.bytes(&first.to_le_bytes());
        file.bytes(&second.to_le_bytes());
        file.bytes(&[byte_of(opening)]);
    }
    shape.outputs().iter().for_each(|wire| file.bytes(&wire.to_le_bytes()));
    file.tokens(garbled.rows(), length);
    file.done().to_vec()
}

/// Reads F.
///
/// # Errors
/// [`Error::Input`] if the file has another type or is damaged, or the garbled circuit is invalid.
pub fn read_garbled(file: &[u8]) -> Result<GarbledCircuit, Error> {
    let mut file = Reader::new(FileType::Garbled, file)?;
    let [method, cipher, doubling] = file.array()?;
    let at = |number: u8| usize::from(number).checked_sub(1);
    let doubling = match doubling {
        0 => None,
        number => Some(*at(number).and_then(|place| Doubling::ALL.get(place)).ok_or_else(unknown)?),
    };
    let cipher = match (cipher, doubling) {
        (2, Some(doubling)) => Cipher::A2(doubling),
        (4, Some(doubling)) => Cipher::A4(doubling),
        (number, None) => {
            PLAIN.iter().find(|(other, _)| *other == number).map(|(_, cipher)| *cipher).ok_or_else(unknown)?
        }
        _ => return Err(unknown()),
    };
    let method = *at(method).and_then(|place| METHODS.get(place)).ok_or_else(unknown)?;
    let scheme = Scheme::new(method, cipher).map_err(|why| Error::Input(why.to_string()))?;
    let key = u128::from_le_bytes(file.array()?);
    let [inputs, gates, outputs] = [file.number()?, file.number()?, file.number()?];
    file.allow(u64::from(gates) * 9 + u64::from(outputs) * 4)?;
    let mut list = Vec::with_capacity(gates as usize);
    for _ in 0..gates {
        let (first, second) = (file.number()?, file.number()?);
        let [byte] = file.array()?;
        let opening = opening_of(byte).ok_or_else(|| damaged("a gate has a type that does not exist"))?;
        list.push((first, second, opening));
    }
    let outputs = (0..outputs).map(|_| file.number()).collect::<Result<Vec<_>, _>>()?;
    let shape = PublicCircuit::new(method, inputs, list, outputs).map_err(|why| damaged(&why.to_string()))?;
    let rows = file.tokens(shape.rows() as u64, cipher.length())?.to_vec();
    file.end()?;
    GarbledCircuit::new(scheme, key, Arc::new(shape), rows)
}

/// Writes e. This file is the garbler's secret.
pub fn write_encoding(mark: &Mark, program: &ProgramDigest, encoding: &Encoding) -> Zeroizing<Vec<u8>> {
    write_pairs(FileType::Encoding, mark, program, &encoding.0)
}

/// Reads e.
///
/// # Errors
/// [`Error::Input`] if the file has another type or is damaged.
pub fn read_encoding(file: &[u8]) -> Result<(Mark, ProgramDigest, Encoding), Error> {
    read_pairs(FileType::Encoding, file).map(|(mark, program, pairs)| (mark, program, Encoding(pairs)))
}

/// Writes c, with which the garbler checks outputs. This file is the garbler's secret.
pub fn write_checking(mark: &Mark, program: &ProgramDigest, checking: &Checking) -> Zeroizing<Vec<u8>> {
    write_pairs(FileType::Checking, mark, program, &checking.0)
}

/// Reads c.
///
/// # Errors
/// [`Error::Input`] if the file has another type or is damaged.
pub fn read_checking(file: &[u8]) -> Result<(Mark, ProgramDigest, Checking), Error> {
    read_pairs(FileType::Checking, file).map(|(mark, program, pairs)| (mark, program, Checking(pairs)))
}

/// Writes d.
pub fn write_decoding(mark: &Mark, program: &ProgramDigest, decoding: &OutputDecoding) -> Vec<u8> {
    let mut file = Writer::new(FileType::Decoding, 69 + decoding.0.len());
    file.mark(mark);
    file.bytes(program);
    file.count(decoding.0.len());
    file.bytes(&decoding.0);
    file.done().to_vec()
}

/// Reads d.
///
/// # Errors
/// [`Error::Input`] if the file has another type or is damaged.
pub fn read_decoding(file: &[u8]) -> Result<(Mark, ProgramDigest, OutputDecoding), Error> {
    let mut file = Reader::new(FileType::Decoding, file)?;
    let (mark, program) = (file.mark()?, file.array()?);
    let bits = file.number()?;
    let bits = file.take(bits.into())?.to_vec();
    file.end()?;
    match bits.iter().all(|&bit| bit < 2) {
        true => Ok((mark, program, OutputDecoding(bits, mark.length))),
        false => Err(damaged("a bit is neither 0 nor 1")),
    }
}

/// Writes X.
pub fn write_inputs(mark: &Mark, tokens: &[u128]) -> Zeroizing<Vec<u8>> {
    write_tokens(FileType::Inputs, mark, tokens)
}

/// Reads X.
///
/// # Errors
/// [`Error::Input`] if the file has another type or is damaged.
pub fn read_inputs(file: &[u8]) -> Result<(Mark, Zeroizing<Vec<u128>>), Error> {
    read_tokens(FileType::Inputs, file)
}

/// Writes Y.
pub fn write_outputs(mark: &Mark, tokens: &[u128]) -> Zeroizing<Vec<u8>> {
    write_tokens(FileType::Outputs, mark, tokens)
}

/// Reads Y.
///
/// # Errors
/// [`Error::Input`] if the file has another type or is damaged.
pub fn read_outputs(file: &[u8]) -> Result<(Mark, Zeroizing<Vec<u128>>), Error> {
    read_tokens(FileType::Outputs, file)
}

fn write_pairs(
    file_type: FileType,
    mark: &Mark,
    program: &ProgramDigest,
    pairs: &[[u128; 2]],
) -> Zeroizing<Vec<u8>> {
    let mut file = Writer::new(file_type, 69 + 2 * mark.length.bytes() * pairs.len());
    file.mark(mark);
    file.bytes(program);
    file.count(pairs.len());
    file.tokens(pairs.as_flattened(), mark.length);
    file.done()
}

/// The contents of e and c: a mark, a program's digest, and pairs of tokens.
type Pairs = (Mark, ProgramDigest, Zeroizing<Vec<[u128; 2]>>);

fn read_pairs(file_type: FileType, file: &[u8]) -> Result<Pairs, Error> {
    let mut file = Reader::new(file_type, file)?;
    let (mark, program) = (file.mark()?, file.array()?);
    let count = u64::from(file.number()?);
    let tokens = file.tokens(2 * count, mark.length)?;
    file.end()?;
    let pairs: Zeroizing<Vec<[u128; 2]>> = Zeroizing::new(tokens.as_chunks::<2>().0.to_vec());
    // With equal last bits, two tokens could be equal, and d could not distinguish them.
    match pairs.iter().all(|[zero, one]| mark.length.type_of(zero ^ one) == 1) {
        true => Ok((mark, program, pairs)),
        false => Err(damaged("the two tokens of a wire end in the same bit")),
    }
}

fn write_tokens(file_type: FileType, mark: &Mark, tokens: &[u128]) -> Zeroizing<Vec<u8>> {
    let mut file = Writer::new(file_type, 37 + mark.length.bytes() * tokens.len());
    file.mark(mark);
    file.count(tokens.len());
    file.tokens(tokens, mark.length);
    file.done()
}

fn read_tokens(file_type: FileType, file: &[u8]) -> Result<(Mark, Zeroizing<Vec<u128>>), Error> {
    let mut file = Reader::new(file_type, file)?;
    let mark = file.mark()?;
    let count = file.number()?;
    let tokens = file.tokens(count.into(), mark.length)?;
    file.end()?;
    Ok((mark, tokens))
}

fn damaged(why: &str) -> Error {
    Error::Input(format!("the file is damaged: {why}"))
}

fn unknown() -> Error {
    damaged("the file names an unknown scheme, cipher or doubling")
}

/// A file under construction. The buffer is erased when it is dropped.
struct Writer(Zeroizing<Vec<u8>>);

impl Writer {
    /// Allocates memory for the whole file, because growing would leave a copy of secrets behind.
    fn new(file_type: FileType, body: usize) -> Self {
        let mut bytes = Vec::with_capacity(MAGIC.len() + 2 + body + DIGEST_BYTES);
        bytes.extend(MAGIC);
        bytes.extend([file_type as u8, VERSION]);
        Writer(Zeroizing::new(bytes))
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    fn count(&mut self, count: usize) {
        // A circuit has fewer than 2^32 wires.
        self.bytes(&(count as u32).to_le_bytes());
    }

    fn mark(&mut self, mark: &Mark) {
        self.bytes(&mark.garbling);
        let without = if mark.is_private { 0 } else { NOT_PRIVATE };
        self.bytes(&[mark.length.bytes() as u8 | without]);
    }

    fn tokens(&mut self, tokens: &[u128], length: Length) {
        tokens.iter().for_each(|token| self.bytes(&token.to_le_bytes()[16 - length.bytes()..]));
    }

    fn done(mut self) -> Zeroizing<Vec<u8>> {
        let digest = digest(&self.0);
        self.bytes(&digest);
        self.0
    }
}

fn digest(bytes: &[u8]) -> [u8; DIGEST_BYTES] {
    Digest::of("brickwork garbling file 2").bytes(bytes).done()
}

/// The unread part of a file's body.
struct Reader<'f>(&'f [u8]);

impl<'f> Reader<'f> {
    fn new(file_type: FileType, file: &'f [u8]) -> Result<Self, Error> {
        let found = file.strip_prefix(MAGIC).and_then(|rest| rest.split_first_chunk());
        let Some(([found, version], _)) = found else {
            return Err(Error::Input(format!("this file does not contain {}", file_type.name())));
        };
        if *version != VERSION {
            return Err(Error::Input(format!(
                "the file has version {version}, but this release reads files of version {VERSION}"
            )));
        }
        if *found != file_type as u8 {
            let what = FileType::ALL
                .iter()
                .find(|known| **known as u8 == *found)
                .map_or("an unknown part of a garbling", |known| known.name());
            return Err(Error::Input(format!("this file contains {what}, not {}", file_type.name())));
        }
        match file.split_last_chunk() {
            Some((content, end)) if content.len() >= MAGIC.len() + 2 && digest(content) == *end => {
                Ok(Reader(&content[MAGIC.len() + 2..]))
            }
            _ => Err(damaged("the digest at its end does not fit the content")),
        }
    }

    fn take(&mut self, bytes: u64) -> Result<&'f [u8], Error> {
        self.allow(bytes)?;
        let (taken, rest) = self.0.split_at(bytes as usize);
        self.0 = rest;
        Ok(taken)
    }

    /// Checks that the file still has this many bytes. So a short file that claims a large size cannot cause
    /// a large allocation.
    fn allow(&self, bytes: u64) -> Result<(), Error> {
        if bytes <= self.0.len() as u64 { Ok(()) } else { Err(damaged("the file ends too early")) }
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Error> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N as u64)?);
        Ok(array)
    }

    fn number(&mut self) -> Result<u32, Error> {
        self.array().map(u32::from_le_bytes)
    }

    fn mark(&mut self) -> Result<Mark, Error> {
        let garbling = self.array()?;
        let [form] = self.array()?;
        let length = match form & !NOT_PRIVATE {
            10 => Length::Short,
            16 => Length::Long,
            _ => return Err(damaged("a token must have 10 or 16 bytes")),
        };
        Ok(Mark { garbling, length, is_private: form & NOT_PRIVATE == 0 })
    }

    fn tokens(&mut self, count: u64, length: Length) -> Result<Zeroizing<Vec<u128>>, Error> {
        let bytes = self.take(count.saturating_mul(length.bytes() as u64))?;
        let mut tokens = Zeroizing::new(Vec::with_capacity(count as usize));
        for token in bytes.chunks_exact(length.bytes()) {
            let mut whole = Zeroizing::new([0; 16]);
            whole[16 - token.len()..].copy_from_slice(token);
            tokens.push(u128::from_le_bytes(*whole));
        }
        Ok(tokens)
    }

    fn end(&self) -> Result<(), Error> {
        if self.0.is_empty() { Ok(()) } else { Err(damaged("the file continues after its end")) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Adds the digest to a file's content.
    fn sealed(mut content: Vec<u8>) -> Vec<u8> {
        let end = digest(&content);
        content.extend_from_slice(&end);
        content
    }

    /// Row 23 of the table of attacks: a file whose digest is right is refused if its version or its content
    /// is wrong.
    #[test]
    fn row_23_wrong_content_with_a_right_digest_is_refused() {
        let file = |file_type: FileType, content: &[&[u8]]| {
            sealed([&[&MAGIC[..], &[file_type as u8, VERSION]][..], content].concat().concat())
        };
        let (mark, program) = ([&[7; 32][..], &[16]].concat(), [9; 32]);
        let [one, two] = [1u32, 2].map(u32::to_le_bytes);
        let (zero, token) = ([0; 16], |end: u8| [&[end][..], &[0; 15]].concat());

        let decoding = |rest: &[u8]| read_decoding(&file(FileType::Decoding, &[&mark, &program, &two, rest]));
        assert!(decoding(&[0, 1]).is_ok());
        assert!(decoding(&[0, 2]).is_err(), "no bit");
        assert!(decoding(&[0, 1, 0]).is_err(), "a byte behind the end");

        let pairs = |one_token: &[u8], rest: &[u8]| {
            read_encoding(&file(FileType::Encoding, &[&mark, &program, &one, &zero, one_token, rest]))
        };
        assert!(pairs(&token(1), &[]).is_ok());
        assert!(pairs(&token(2), &[]).is_err(), "both tokens end in the same bit");
        assert!(pairs(&token(1), &[0]).is_err(), "a byte behind the end");

        let inputs = |rest: &[u8]| file(FileType::Inputs, &[&mark, &one, &zero, rest]);
        assert!(read_inputs(&inputs(&[])).is_ok());
        assert!(read_inputs(&inputs(&[0])).is_err(), "a byte behind the end");
        let mut other = inputs(&[]);
        other.truncate(other.len() - DIGEST_BYTES);
        other[MAGIC.len() + 1] ^= 1;
        assert!(read_inputs(&sealed(other)).is_err(), "another version");
    }
}
