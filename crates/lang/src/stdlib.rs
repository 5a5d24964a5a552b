//! The standard library: `.wir` files that ship with the compiler and can be included.

use crate::ast::Item;

/// A file of the standard library.
#[derive(Clone, Copy, Debug)]
pub struct StdFile {
    /// The name for `#include`.
    pub name: &'static str,
    /// The text of the file.
    pub text: &'static str,
    /// The purpose of the file, in one line.
    pub summary: &'static str,
    /// The example inputs, if the file is a complete program.
    pub example: Option<ExampleInputs>,
}

/// Example inputs of a program.
#[derive(Clone, Copy, Debug)]
pub struct ExampleInputs {
    /// The garbler's input.
    pub garbler: Sample,
    /// The evaluator's input.
    pub evaluator: Sample,
    /// The tables that the inputs use.
    pub tables: &'static [Sample],
}

/// A file with an input: JSON or a CSV table, as its ending tells.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    /// The name of the file.
    pub name: &'static str,
    /// The text of the file.
    pub text: &'static str,
}

macro_rules! library {
    ($name:literal, $summary:literal) => {
        StdFile {
            name: concat!($name, ".wir"),
            text: include_str!(concat!("../std/", $name, ".wir")),
            summary: $summary,
            example: None,
        }
    };
}

macro_rules! sample {
    ($name:literal, $rest:literal) => {
        Sample { name: concat!($name, $rest), text: include_str!(concat!("../std/", $name, $rest)) }
    };
}

/// Makes an entry for a program with an input of each party and the tables that these use.
macro_rules! program {
    ($name:literal, $summary:literal) => {
        program!($name, $summary, ".garbler.json", ".evaluator.json")
    };
    ($name:literal, $summary:literal, $garbler:literal, $evaluator:literal $(, $table:literal)*) => {
        StdFile {
            example: Some(ExampleInputs {
                garbler: sample!($name, $garbler),
                evaluator: sample!($name, $evaluator),
                tables: &[$(sample!($name, $table)),*],
            }),
            ..library!($name, $summary)
        }
    };
}

const FILES: &[StdFile] = &[
    library!(
        "integers",
        "Integers of any width: minimum, maximum, absolute value, distance, bit count, division, sorting"
    ),
    program!("millionaires", "The richer of two people"),
    library!("sha256", "SHA-256 (FIPS 180-4), with a component for each round"),
    library!("sha512", "SHA-512 (FIPS 180-4), with a component for each round"),
    library!("hmac", "HMAC, HKDF and PBKDF2 with SHA-256 and SHA-512 (RFC 2104, 5869, 8018)"),
    library!("bip32", "Hardened keys of wallets: BIP 32 for secp256k1, SLIP-0010 for ed25519"),
    library!("sha3", "SHA3-256 (FIPS 202), with a component for each round"),
    library!("blake2s", "BLAKE2s (RFC 7693), with a component for each mixing"),
    library!("chacha20", "ChaCha20 (RFC 8439), with a component for each quarter round"),
    program!("sha256_shares", "SHA-256 of a block that is shared between the parties"),
    library!("aes128", "AES-128 (FIPS 197), with a component for each round"),
    library!("aes256", "AES-256 (FIPS 197), with a component for each round"),
    library!("aes_modes", "CMAC (RFC 4493) and key wrap (RFC 3394) with AES-128"),
    program!("aes128_encrypt", "AES-128 with the garbler's key on the evaluator's block"),
    program!("cbc_mac", "CBC-MAC with AES-128 of a message of four blocks"),
    library!("des", "DES and Triple DES (FIPS 46-3), with a component for each round"),
    program!("des_encrypt", "DES with the garbler's key on the evaluator's block"),
    library!("modular", "Products and powers modulo a number of 64 bits"),
    library!("prime", "Arithmetic modulo primes such as those of secp256k1, curve25519 and P-521"),
    program!("modexp", "A power with the garbler's exponent, modulo a number of 64 bits"),
    program!("hamming", "The number of bits in which two codes of 128 bits differ"),
    program!("edit_distance", "Levenshtein distance of two words of eight letters"),
    program!("sort", "Sixteen numbers of two parties in order"),
    program!("vickrey", "Second-price auction of eight sealed bids"),
    program!("auction", "Auction of eight sealed bids, with ties"),
    program!("intersection", "The number of common elements of two sorted lists of eight"),
    program!(
        "join",
        "Join of two tables of up to 16 rows on a key, with sums",
        ".garbler.csv",
        ".evaluator.csv"
    ),
    program!(
        "accounts",
        "Customers of two banks with more than a limit together",
        ".garbler.csv",
        ".evaluator.csv"
    ),
    program!("salaries", "Mean salaries of two companies, by level", ".garbler.csv", ".evaluator.csv"),
    program!("credit", "Credit score by a secret scorecard", ".garbler.json", ".evaluator.json", ".card.csv"),
    program!(
        "benchmarking",
        "Ranks and quartiles of a company among up to 32",
        ".garbler.csv",
        ".evaluator.json"
    ),
    program!("matrix", "The product of two matrices of 4 by 4 numbers"),
    program!("satellites", "A check whether two satellites come closer than a limit"),
    library!("statistics", "Mean, variance and regression of integers"),
    program!(
        "mean_variance",
        "Mean and variance of up to 64 values of two parties",
        ".garbler.csv",
        ".evaluator.csv"
    ),
    program!(
        "regression",
        "A line through 24 points, x of one party and y of the other",
        ".garbler.csv",
        ".evaluator.csv"
    ),
    library!(
        "fixed",
        "Fixed-point numbers of any width: products, quotients, rounding; of 16 bits: sums of products, ReLU"
    ),
    library!("float", "Floating-point numbers of IEEE 754 with 32 and 64 bits, rounded to the nearest"),
    program!("order", "The cost of an order, in fixed-point numbers, and a check against a budget"),
    program!(
        "neural",
        "A layer of a neural network: 16 inputs, 8 neurons, ReLU",
        ".garbler.csv",
        ".evaluator.csv"
    ),
];

/// Returns all files of the standard library.
pub fn std_library() -> &'static [StdFile] {
    FILES
}

/// Returns the library file that declares this function, as `#include` names it.
pub(crate) fn declaring(function: &str) -> Option<&'static str> {
    let libraries = FILES.iter().filter(|file| file.example.is_none());
    let declares = |file: &&StdFile| {
        let items = crate::parser::parse(0, file.text, &mut crate::Sink::default());
        items.iter().any(|item| matches!(item, Item::Function(f) if &*f.name.name == function))
    };
    libraries.filter(declares).map(|file| file.name).next()
}

pub(crate) fn find(name: &str) -> Option<&'static str> {
    FILES.iter().find(|f| f.name == name).map(|f| f.text)
}
