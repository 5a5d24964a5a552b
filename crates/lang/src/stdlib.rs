//! The standard library: `.wir` files that ship with the compiler and that `#include` finds.

/// A file of the standard library.
#[derive(Clone, Copy, Debug)]
pub struct StdFile {
    /// The name to include it by.
    pub name: &'static str,
    /// What is in it.
    pub text: &'static str,
    /// What it is for, in a line.
    pub summary: &'static str,
    /// If it is a program that runs by itself: values of the garbler and the evaluator, as JSON.
    pub example: Option<(&'static str, &'static str)>,
}

macro_rules! library {
    ($name:literal, $summary:literal) => {
        StdFile { name: concat!($name, ".wir"), text: include_str!(concat!("../std/", $name, ".wir")), summary: $summary, example: None }
    };
}

macro_rules! program {
    ($name:literal, $summary:literal) => {
        StdFile {
            example: Some((
                include_str!(concat!("../std/", $name, ".garbler.json")),
                include_str!(concat!("../std/", $name, ".evaluator.json")),
            )),
            ..library!($name, $summary)
        }
    };
}

const FILES: &[StdFile] = &[
    library!("integers", "Integers of 32 bits: minimum, maximum, absolute value, distance, bit count, division"),
    program!("millionaires", "Who is richer"),
    library!("sha256", "SHA-256 (FIPS 180-4), a round a component"),
    program!("sha256_shares", "SHA-256 of a block that is shared between the parties"),
    library!("aes128", "AES-128 (FIPS 197), a round a component"),
    program!("aes128_encrypt", "AES-128 with the garbler's key on the evaluator's block"),
    program!("cbc_mac", "CBC-MAC with AES-128 of a message of four blocks"),
    program!("hamming", "In how many of 128 bits two codes differ"),
    program!("edit_distance", "Levenshtein distance of two words of eight letters"),
    program!("sort", "Sixteen numbers of two parties in order"),
    program!("vickrey", "Second-price auction of eight sealed bids"),
    program!("intersection", "How many numbers two sorted lists of eight have in common"),
    program!("matrix", "The product of two matrices of 4 by 4 numbers"),
    program!("satellites", "Whether two satellites come closer than a limit"),
];

/// All files of the standard library.
pub fn std_library() -> &'static [StdFile] {
    FILES
}

pub(crate) fn find(name: &str) -> Option<&'static str> {
    FILES.iter().find(|f| f.name == name).map(|f| f.text)
}
