//! The costs of work on this machine. They are measured once and kept, or estimated, which takes no time.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use brickwork_kernels::Kernel;

use crate::failure::Error;
use crate::plan::{self, Machine};

/// Largest file with the constants of a machine.
const MAX_MACHINE_BYTES: u64 = 1 << 16;

/// Returns the constants that a run goes by: those that were measured, if they were; or else an estimate, for
/// which nobody waits.
pub fn at_hand() -> Result<Machine, Error> {
    match kept() {
        Some(machine) => Ok(machine),
        None => Ok(plan::estimated()?),
    }
}

/// Returns the constants of this machine: measured once for each version and kernel, and kept in the user's
/// folder of caches. `again` measures in any case, which takes a few seconds; `measuring` is called before.
///
/// # Errors
/// As [`plan::measured`].
pub fn measured(again: bool, measuring: impl FnOnce()) -> Result<Machine, Error> {
    if !again && let Some(machine) = kept() {
        return Ok(machine);
    }
    measuring();
    let machine = plan::measured()?;
    // Later calls of this process use the same constants, also if no file can keep them.
    *MEASURED.lock().unwrap_or_else(PoisonError::into_inner) = Some(machine.clone());
    if let Some(folder) = caches() {
        // A cache that cannot be written is no cache.
        let _ = keep(&folder, &machine);
    }
    Ok(machine)
}

/// The constants that this process has measured.
static MEASURED: Mutex<Option<Machine>> = Mutex::new(None);

/// Returns what was measured before, by this process or another one.
pub fn kept() -> Option<Machine> {
    if let Some(machine) = &*MEASURED.lock().unwrap_or_else(PoisonError::into_inner) {
        return Some(machine.clone());
    }
    let path = caches()?.join(file_name(Kernel::best().name()));
    let short = fs::metadata(&path).is_ok_and(|data| data.is_file() && data.len() <= MAX_MACHINE_BYTES);
    let machine: Machine = serde_json::from_slice(&fs::read(&path).ok().filter(|_| short)?).ok()?;
    plan::is_whole(&machine).then_some(machine)
}

/// Writes the constants to where commands with this folder of caches look for them.
///
/// # Errors
/// The system's, if it does not let this user write there.
pub fn keep(caches: &Path, machine: &Machine) -> std::io::Result<()> {
    let path = caches.join(file_name(machine.kernel()));
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let whole = path.with_extension(format!("{}.new", std::process::id()));
    fs::write(&whole, serde_json::to_vec(machine)?)?;
    fs::rename(whole, path)
}

/// Version of the file. Constants have names in it, so that each protocol brings its own.
const FORMAT: u32 = 1;

/// The user's folder of caches.
fn caches() -> Option<PathBuf> {
    let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    variable("XDG_CACHE_HOME").or_else(|| variable("LOCALAPPDATA")).or_else(|| {
        variable("HOME")
            .map(|home| home.join(if cfg!(target_os = "macos") { "Library/Caches" } else { ".cache" }))
    })
}

/// In a folder of caches, the constants of this kernel here: named after all that makes a machine another
/// one.
fn file_name(kernel: &str) -> PathBuf {
    let mut hash = blake3::Hasher::new();
    let cores = std::thread::available_parallelism().map_or(1, |n| n.get());
    let processor = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = processor.lines().find(|line| line.starts_with("model name")).unwrap_or_default();
    hash.update(model.as_bytes()).update(&(cores as u64).to_le_bytes());
    let version = env!("CARGO_PKG_VERSION");
    let name = format!("machine-{version}-{FORMAT}-{kernel}-{}.json", &hash.finalize().to_hex()[..16]);
    Path::new("brickwork").join(name)
}
