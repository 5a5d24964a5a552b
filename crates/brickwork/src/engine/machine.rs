//! The costs of work on this machine. They are measured once and stored, or estimated within milliseconds.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use brickwork_kernels::Kernel;

use crate::failure::Error;
use crate::plan::{self, Machine};

/// The largest file of constants that is read.
const MAX_MACHINE_BYTES: u64 = 1 << 16;

/// Returns the constants that a run uses: those that were measured, or else an estimate, so that no run waits
/// for a measurement.
pub fn at_hand() -> Result<Machine, Error> {
    match kept() {
        Some(machine) => Ok(machine),
        None => {
            let mut estimated = ESTIMATED.lock().unwrap_or_else(PoisonError::into_inner);
            Ok(match &*estimated {
                Some(machine) => machine.clone(),
                None => estimated.insert(plan::estimated()?).clone(),
            })
        }
    }
}

/// The estimate, made once in a process because it takes milliseconds.
static ESTIMATED: Mutex<Option<Machine>> = Mutex::new(None);

/// Returns the measured constants of this machine. They are measured once for each version and kernel, and
/// kept in the user's cache folder. `again` repeats the measurement, which takes a few seconds. `measuring`
/// is called before a measurement.
///
/// # Errors
/// As [`plan::measured`].
pub fn measured(again: bool, measuring: impl FnOnce()) -> Result<Machine, Error> {
    if !again && let Some(machine) = kept() {
        return Ok(machine);
    }
    measuring();
    let machine = plan::measured()?;
    // Later calls in this process use the same constants, even if no file can be written.
    *MEASURED.lock().unwrap_or_else(PoisonError::into_inner) = Some(machine.clone());
    if let Some(folder) = caches() {
        // If the cache cannot be written, a later process measures again.
        let _ = keep(&folder, &machine);
    }
    Ok(machine)
}

/// The constants that this process measured.
static MEASURED: Mutex<Option<Machine>> = Mutex::new(None);

/// Returns the constants that this process or an earlier one measured.
pub fn kept() -> Option<Machine> {
    if let Some(machine) = &*MEASURED.lock().unwrap_or_else(PoisonError::into_inner) {
        return Some(machine.clone());
    }
    let path = caches()?.join(file_name(Kernel::best().name()));
    let short = fs::metadata(&path).is_ok_and(|data| data.is_file() && data.len() <= MAX_MACHINE_BYTES);
    let machine: Machine = serde_json::from_slice(&fs::read(&path).ok().filter(|_| short)?).ok()?;
    plan::is_whole(&machine).then_some(machine)
}

/// Writes the constants where commands with this cache folder look for them.
///
/// # Errors
/// The system's error, if this user may not write there.
pub fn keep(caches: &Path, machine: &Machine) -> std::io::Result<()> {
    let path = caches.join(file_name(machine.kernel()));
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let whole = path.with_extension(format!("{}.new", std::process::id()));
    fs::write(&whole, serde_json::to_vec(machine)?)?;
    fs::rename(whole, path)
}

/// The version of the file's format. A new kind of work needs no new version, because the file holds each
/// constant with its name.
const FORMAT: u32 = 1;

/// Returns the user's cache folder.
fn caches() -> Option<PathBuf> {
    let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    variable("XDG_CACHE_HOME").or_else(|| variable("LOCALAPPDATA")).or_else(|| {
        variable("HOME")
            .map(|home| home.join(if cfg!(target_os = "macos") { "Library/Caches" } else { ".cache" }))
    })
}

/// Returns the name of the file with the constants of this kernel here. Everything on which the constants
/// depend is part of the name.
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
