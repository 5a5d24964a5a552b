//! The seeds of the fuzz targets, and what fuzzing has found, on the stable compiler.

#[path = "../../../fuzz/targets/files.rs"]
mod files;
#[path = "../../../fuzz/targets/wire.rs"]
mod wire;

/// Gives a target each of its seeds, whole and cut off at many places.
fn replay(name: &str, cuts: usize, least: usize, target: impl Fn(&str, &[u8])) {
    let folder = format!("{}/../../fuzz/seeds/{name}", env!("CARGO_MANIFEST_DIR"));
    let mut count = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let (name, seed) = (path.file_name().unwrap().to_string_lossy(), std::fs::read(&path).unwrap());
        target(&name, &seed);
        (0..cuts.min(seed.len())).for_each(|k| target(&name, &seed[..k * seed.len() / cuts]));
        count += 1;
    }
    assert!(count >= least, "{count} seeds for {name}");
}

#[test]
fn frames() {
    replay("frames", 40, 6, |_, seed| wire::frames(seed));
}

#[test]
fn sessions() {
    // What nobody alters is finished, what does not even have its form is not. (A bit of a commitment that nobody watches may
    // be flipped: then nothing has happened.)
    replay("session", 0, 20, |name, seed| {
        let finished = wire::session(seed);
        let flipped = name.starts_with("flip") || name.starts_with("late");
        assert!(finished == name.starts_with("honest") || flipped, "{name}");
    });
}

#[test]
fn circuits() {
    replay("circuit", 30, 4, |_, seed| files::circuit(seed));
}

#[test]
fn values() {
    replay("value", 30, 10, |_, seed| files::input(seed));
}
