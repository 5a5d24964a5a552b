//! Writes the folder `examples/`: `cargo xtask examples`, or `cargo run --release -p brickwork --example
//! programs -- FOLDER`.

use std::path::Path;
use std::process::ExitCode;

use brickwork::circuit::library;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [folder] = &arguments[..] else {
        eprintln!("usage: programs FOLDER");
        return ExitCode::from(2);
    };
    match write(Path::new(folder)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("{why}");
            ExitCode::FAILURE
        }
    }
}

/// Writes every example program and its inputs.
fn write(folder: &Path) -> Result<(), String> {
    let save = |name: &str, bytes: &[u8]| {
        let path = folder.join(name);
        println!("{} ({} bytes)", path.display(), bytes.len());
        std::fs::write(&path, bytes).map_err(|e| format!("{}: {e}", path.display()))
    };
    std::fs::create_dir_all(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    for example in library::examples().map_err(|e| e.to_string())? {
        save(&format!("{}.bwp", example.program.name()), &example.program.to_bytes())?;
        for (name, text) in example.input_files() {
            save(name, text.as_bytes())?;
        }
    }
    Ok(())
}
