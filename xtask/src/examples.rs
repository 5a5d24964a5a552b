//! Writes `examples/`.

use std::path::Path;

use brickwork::circuit::library;

/// Writes every example program and its inputs.
pub fn write(folder: &Path) -> Result<(), String> {
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
