//! Compares hashes, key derivations and ciphers with published vectors, and counts their AND gates.

use std::sync::Arc;

use brickwork::circuit::Program;
use brickwork::protocol::{AgreedJob, Unobserved};
use brickwork::wire::memory_pair;

use num_bigint::BigUint;

use super::common::simulate_bits;
use super::{build, random};

fn bytes(hex: &str) -> Vec<u8> {
    super::hex(hex).into_iter().map(|byte| byte as u8).collect()
}

fn bits(bytes: &[u8]) -> Vec<bool> {
    bytes.iter().flat_map(|byte| (0..8).map(move |i| byte >> i & 1 == 1)).collect()
}

/// Compiles a program of a library: `a` is the garbler's bytes, `b` the evaluator's, and `out` the garbler's
/// output.
fn program(library: &str, [a, b, out]: [usize; 3], body: &str) -> Program {
    let source = format!(
        "#parties 2 #include \"{library}.wir\"
        #input 1 uint_t 8[{a}] #input 2 uint_t 8[{b}] #output 1 uint_t 8[{out}]
        function void main() {{
            uint_t 8 a[{a}] = input1; uint_t 8 b[{b}] = input2; uint_t 8 out[{out}]; {body} output1 = out;
        }}"
    );
    let compiled = build(&source);
    assert_eq!(compiled.warnings.render(false), "", "{library}");
    compiled.program
}

/// Checks that a program gives these bytes, with this number of AND gates.
fn expect(library: &str, [a, b]: [&[u8]; 2], want: &str, body: &str, ands: u64) {
    let want = bytes(want);
    let program = program(library, [a.len(), b.len(), want.len()], body);
    assert_eq!(simulate_bits(&program, &bits(a), &bits(b))[0], bits(&want), "{library}: {body}");
    assert_eq!(program.and_gates(), ands, "{library}: {body}");
}

/// Joins the inputs of both parties to one array `all`.
fn joined(n: usize, m: usize) -> String {
    format!(
        "uint_t 8 all[{}]; for (uint_t 32 i = 0; i < {n}; i++) all[i] = a[i];
        for (uint_t 32 i = 0; i < {m}; i++) all[{n} + i] = b[i];",
        n + m
    )
}

/// Runs a program between two parties, and returns the garbler's output.
fn between_two_parties(program: Program, [a, b]: [Vec<bool>; 2]) -> Vec<bool> {
    let job = AgreedJob::new(Arc::new(program), 40, [[1; 32], [2; 32]]);
    let (left, right) = memory_pair();
    std::thread::scope(|scope| {
        let garbler = scope.spawn(|| brickwork::duplo::garbler(left, &job, &a, Unobserved));
        brickwork::duplo::evaluator(right, &job, &b, Unobserved).unwrap();
        garbler.join().unwrap().unwrap().outputs
    })
}

/// No compression has more AND gates than the smallest published circuits, which have 22 573 and 57 947.
#[test]
fn compressions() {
    for (bits, words, ands) in [(256, 32, 22_392), (512, 64, 57_736)] {
        let program = build(&format!(
            "#parties 2 #include \"sha{bits}.wir\" #input 1 uint_t {words}[8] #input 2 uint_t {words}[16]
            #output 1 uint_t {words}[8]
            function void main() {{ output1 = sha{bits}_block(input1, input2); }}"
        ));
        assert_eq!(program.program.and_gates(), ands);
    }
}

/// The vectors are the examples of FIPS 180-4 and FIPS 202 that NIST publishes, and RFC 7693, appendix B.
#[test]
fn hashes_of_messages() {
    let abc: [&[u8]; 2] = [b"a", b"bc"];
    let hash = |name: &str| format!("{} out = {name}(all);", joined(1, 2));
    let short = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    expect("sha256", abc, short, &hash("sha256"), 22_104);
    let short = "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a\
                 2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f";
    expect("sha512", abc, short, &hash("sha512"), 57_161);
    let short = "3a985da74fe225b2045c172d6bd390bd855f086e3e9d525b46bfe24511431532";
    expect("sha3", abc, short, &hash("sha3_256"), 38_400);
    let short = "508c5e8c327c14e2e1a72ba34eeb452f37458b209ed63a294d999b4c86675982";
    expect("blake2s", abc, short, &hash("blake2s"), 14_168);
    let two = b"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
    let hash = |name: &str| format!("{} out = {name}(all);", joined(20, 36));
    let digest = "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1";
    expect("sha256", [&two[..20], &two[20..]], digest, &hash("sha256"), 40_368);
    let digest = "41c0dba2a9d6240849100376a8235e2c82e1b9998a999e21db32dd97496d3376";
    expect("sha3", [&two[..20], &two[20..]], digest, &hash("sha3_256"), 38_400);
    let two =
        b"abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlmnopqrsm\
                nopqrstnopqrstu";
    let digest = "8e959b75dae313da8cf4f72814fc143f8f7779c6eb9f7fa17299aeadb6889018\
                  501d289e4900f7e4331b99dec4b5433ac7d329eeb6dd26545e96e55b874be909";
    let body = format!("{} out = sha512(all);", joined(100, 12));
    expect("sha512", [&two[..100], &two[100..]], digest, &body, 103_440);
}

/// A message that leaves one byte too few for the padding in its last block needs one more block. A message
/// that is one byte shorter does not.
#[test]
fn hashes_at_the_ends_of_blocks() {
    use aws_lc_rs::digest::{SHA3_256, SHA256, SHA512, digest};
    for (library, name, algorithm, block, padding) in [
        ("sha256", "sha256", &SHA256, 64, 9),
        ("sha512", "sha512", &SHA512, 128, 17),
        ("sha3", "sha3_256", &SHA3_256, 136, 1),
    ] {
        for length in [block - padding, block - padding + 1, block] {
            let message: Vec<u8> = (0..length as u8).collect();
            let expected = digest(algorithm, &message);
            let body = format!("out = {name}(a); out[0] ^= b[0] ^ b[0];");
            let program = program(library, [length, 1, expected.as_ref().len()], &body);
            let got = simulate_bits(&program, &bits(&message), &bits(&[0])).concat();
            assert_eq!(got, bits(expected.as_ref()), "{name} of {length} bytes");
        }
    }
}

/// The vectors are test cases 2 and 6 of RFC 4231. A key of more than a block is hashed first.
#[test]
fn hmac() {
    let (key, data): (&[u8], &[u8]) = (b"Jefe", b"what do ya want for nothing?");
    let tag = "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843";
    expect("hmac", [key, data], tag, "out = hmac_sha256(a, b);", 89_016);
    let tag = "164b7a7bfcf819e2e395fbe73b56e0a387bd64222e831fd610270cd7ea250554\
               9758bf75c05a994a6d034f65f8f0e6fdcaeab1a34d4a6b4b636e070a38bce737";
    expect("hmac", [key, data], tag, "out = hmac_sha512(a, b);", 229_816);
    let (key, data) = ([0xaa; 131], b"Test Using Larger Than Block-Size Key - Hash Key First");
    let tag = "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54";
    expect("hmac", [&key, data], tag, "out = hmac_sha256(a, b);", 156_468);
    let tag = "80b24263c7c1a3ebb71493c1dd7be8b49b46d1f41b4aeec1121b013783f8f352\
               6b56d037e05f2598bd0fd2215d6a1e5295e64f73f63f0aec8b915a985d786598";
    expect("hmac", [&key, data], tag, "out = hmac_sha512(a, b);", 345_852);
}

/// The vectors are test case 1 of RFC 5869, and those of RFC 7914, section 11, with one round.
#[test]
fn keys_from_keys_and_passwords() {
    let (ikm, salt): (&[u8], Vec<u8>) = (&[0x0b; 22], (0..13).collect());
    let okm = "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865";
    let body = "uint_t 8 info[10]; for (uint_t 8 i = 0; i < 10; i++) info[i] = 0xf0 + i;
        out = hkdf_sha256(b, a, info, out);";
    expect("hmac", [ikm, &salt], okm, body, 219_504);
    let key = "55ac046e56e3089fec1691c22544b605f94185216dde0465e68b9d57c20dacbc";
    let body = "uint_t 1 rounds[1]; out = pbkdf2_sha256(a, b, rounds);";
    expect("hmac", [b"passwd", b"salt"], key, body, 89_292);
}

/// More rounds and SHA-512 are compared with the library that the tests use.
#[test]
fn passwords_with_rounds() {
    use aws_lc_rs::pbkdf2::{PBKDF2_HMAC_SHA256, PBKDF2_HMAC_SHA512, derive};
    for (algorithm, name, size, ands) in
        [(PBKDF2_HMAC_SHA256, "256", 32, 178_860), (PBKDF2_HMAC_SHA512, "512", 64, 460_196)]
    {
        let mut key = vec![0; size];
        derive(algorithm, 3.try_into().unwrap(), b"NaCl", b"Password", &mut key);
        let body = format!("uint_t 1 rounds[3]; out = pbkdf2_sha{name}(a, b, rounds);");
        let program = program("hmac", [8, 4, size], &body);
        assert_eq!(simulate_bits(&program, &bits(b"Password"), &bits(b"NaCl")).concat(), bits(&key));
        assert_eq!(program.and_gates(), ands);
    }
}

/// The vector is RFC 8439, section 2.4.2.
#[test]
fn chacha20() {
    let key: Vec<u8> = (0..32).collect();
    let text =
        b"Ladies and Gentlemen of the class of '99: If I could offer you only one tip for the future, sunscr\
                 een would be it.";
    let cipher = "6e2e359a2568f98041ba0728dd0d6981e97e7aec1d4360c20a27afccfd9fae0bf91b65c55247\
                  33ab8f593dabcd62b3571639d624e65152ab8f530c359f0861d807ca0dbf500d6a6156a38e08\
                  8a22b65e52bc514d16ccf806818ce91ab77937365af90bbf74a35be6b40b8eedf2785e42874d";
    let body = "uint_t 8 nonce[12]; nonce[7] = 0x4a; out = chacha20(a, 1, nonce, b);";
    let first = [&key, &text[..64]];
    let got = between_two_parties(program("chacha20", [32, 64, 64], body), first.map(bits));
    assert_eq!(got, bits(&bytes(&cipher[..128])));
    expect("chacha20", [&key, text], cipher, body, 2 * 10_416);
}

/// The vectors are FIPS 197, appendix C.3, RFC 4493, section 4, and RFC 3394, section 4.1.
#[test]
fn aes_of_256_bits_and_modes() {
    let key: Vec<u8> = (0..32).collect();
    let block = bytes("00112233445566778899aabbccddeeff");
    let body = "aes256_key k; k.bytes = a; aes_block p; p.bytes = b;
        aes_block c = aes256_encrypt(aes256_expand(k), p); out = c.bytes;";
    expect("aes256", [&key, &block], "8ea2b7ca516745bfeafc49904b496089", body, 8_832);
    let (mac, text) = (
        bytes("2b7e151628aed2a6abf7158809cf4f3c"),
        bytes("6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e5130c81c46a35ce411"),
    );
    let body = "aes_block k; k.bytes = a; aes_block tag = cmac(aes_expand(k), b); out = tag.bytes;";
    let (keys, rounds) = (1_280, 5_120);
    expect("aes_modes", [&mac, &text[..16]], "070a16b46b4d4144f79bdd9dd04a287c", body, keys + 2 * rounds);
    expect("aes_modes", [&mac, &text], "dfa66747de9ae63030ca32611497c827", body, keys + 4 * rounds);
    let body = "aes_block k; k.bytes = a; out = key_wrap(aes_expand(k), b);";
    let wrapped = "1fa68b0a8112b447aef34bd8fb5a7b829d3e862371d2cfe5";
    expect("aes_modes", [&key[..16], &block], wrapped, body, keys + 12 * rounds);
    // The key wrap refuses a key whose length is not a multiple of 8 bytes, because the remaining bytes would
    // not be encrypted.
    super::common::refuse(
        "#parties 2 #include \"aes_modes.wir\"
        #input 1 aes_block #input 2 uint_t 8[12] #output 1 uint_t 8[20]
        function void main() { output1 = key_wrap(aes_expand(input1), input2); }",
    );
}

/// Checks sums, differences and products at the ends of the range and of random numbers, modulo four primes.
#[test]
fn arithmetic_modulo_primes() {
    let one = BigUint::from(1u8);
    let order = BigUint::parse_bytes(b"14551231950b75fc4402da1732fc9bebf", 16).unwrap();
    let mut state = 71;
    for (name, width, c, ands) in [
        ("SECP256K1_FIELD", 256, BigUint::from(0x1_0000_03d1u64), [767, 511, 56_387]),
        ("SECP256K1_ORDER", 256, order, [767, 511, 72_400]),
        ("CURVE25519_FIELD", 255, BigUint::from(19u8), [764, 509, 55_498]),
        ("P521_FIELD", 521, one.clone(), [1_562, 1_041, 172_744]),
    ] {
        let m = (&one << width) - &c;
        let mut number = || {
            let words: Vec<u32> = (0..17).map(|_| random(&mut state) as u32).collect();
            BigUint::new(words) % &m
        };
        let zero = BigUint::default();
        let mut cases = vec![(zero.clone(), zero), (&m - &one, &m - &one), (one.clone(), &m - &one)];
        cases.extend((0..12).map(|_| (number(), number())));
        for (operation, ands) in ["add", "subtract", "multiply"].into_iter().zip(ands) {
            let program = build(&format!(
                "#parties 2 #include \"prime.wir\" #input 1 uint_t {width} #input 2 uint_t {width}
                #output 1 uint_t {width}
                function void main() {{ output1 = prime_{operation}(input1, input2, {name}); }}"
            ))
            .program;
            assert_eq!(program.and_gates(), ands, "{operation} modulo {name}");
            for (a, b) in &cases {
                let wires = |n: &BigUint| (0..width).map(|i| n.bit(i)).collect::<Vec<_>>();
                let expected = match operation {
                    "add" => (a + b) % &m,
                    "subtract" => (a + &m - b) % &m,
                    _ => a * b % &m,
                };
                let got = simulate_bits(&program, &wires(a), &wires(b)).concat();
                assert_eq!(got, wires(&expected), "{operation} of {a} and {b} modulo {name}");
            }
        }
    }
}

/// The vectors are the first ones of BIP 32, and of SLIP-0010 for ed25519: the chain m/0' of one seed. The
/// seed and the child are shared between the parties, and the shares are not all below the order.
#[test]
fn keys_of_wallets() {
    let order = "fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141";
    let program = build(&format!(
        "#parties 2 #include \"bip32.wir\" #shared input seed uint_t 8[16]
        #shared output key uint_t 256 modulo 0x{order} #shared output chain uint_t 8[32]
        function void main() {{
            bip32_key child = bip32_child(bip32_master(seed), 0); key = child.key; chain = child.chain;
        }}"
    ))
    .program;
    assert_eq!(program.and_gates(), 351_006);
    let seed: Vec<u8> = (0..16).collect();
    let share: Vec<u8> = seed.iter().map(|byte| byte ^ 0x5a).collect();
    let number = |hex: &str| BigUint::parse_bytes(hex.as_bytes(), 16).unwrap();
    let own = |seed: &[u8], mask: u8| bits(&[seed, &[mask; 32], &[mask / 3; 32]].concat());
    let [a, b] = simulate_bits(&program, &own(&share, 0xff), &own(&[0x5a; 16], 9));
    let value = |bits: &[bool]| {
        let set = (0..256).filter(|i| bits[*i as usize]).map(|i| BigUint::from(1u8) << i);
        set.fold(BigUint::default(), |sum, bit| sum + bit)
    };
    let child = number("edb2e14f9ee77d26dd93b4ecede8d16ed408ce149b6cd80b0715a2d911a0afea");
    assert_eq!((value(&a) + value(&b)) % number(order), child);
    let chain: Vec<bool> = a[256..].iter().zip(&b[256..]).map(|(a, b)| a ^ b).collect();
    let expected = "47fdacbd0f1097043b78c63c20c34ef4ed9a111d980047ad16282c7ae6236141";
    assert_eq!(chain, bits(&bytes(expected)));
    let key = "68e0fe46dfb67e368c75379acec591dad19df3cde26e63b93a8e704f1dade7a3\
               8b59aa11380b624e81507a27fedda59fea6d0b779a778918a2fd3590e16e9c69";
    let body = "bip32_key child = bip32_hash(slip10_master(all), 0);
        uint_t 8 child_key[32] = bip32_bytes(child.key);
        for (uint_t 8 i = 0; i < 32; i++) { out[i] = child_key[i]; out[32 + i] = child.chain[i]; }";
    let body = format!("{} {body}", joined(8, 8));
    expect("bip32", [&seed[..8], &seed[8..]], key, &body, 346_416);
}
