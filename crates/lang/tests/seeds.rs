//! Runs the fuzz targets on their seeds and on earlier findings, with the stable compiler.

#[path = "../../../fuzz/targets/replay.rs"]
mod replay;
#[path = "../../../fuzz/targets/wir.rs"]
mod wir;

/// Compiles every seed, and every seed that is cut off after one of its words. Broken sources must be refused
/// without a crash.
#[test]
fn seeds_pass_the_lexer_the_parser_and_the_compiler() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/seeds/wir");
    let mut count = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let seed = std::fs::read(entry.unwrap().path()).unwrap();
        wir::wir(&seed);
        (0..seed.len()).filter(|at| seed[*at] == b' ').step_by(7).for_each(|cut| wir::wir(&seed[..cut]));
        count += 1;
    }
    assert!(count >= 10);
    replay::corpus("wir", 3000, wir::wir);
}
