//! The CPU time and memory that this process has used, the memory that is free, and the kernel of its CPU.

use brickwork_kernels::Kernel;

use crate::failure::Error;

/// Returns the CPU time of all threads of this process, including those that have ended.
#[cfg(unix)]
pub fn cpu_seconds() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

/// Returns the CPU time of the calling thread.
#[cfg(unix)]
pub fn thread_cpu_seconds() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

/// Returns the time since the first call, because the system does not tell the CPU time.
#[cfg(not(unix))]
pub fn thread_cpu_seconds() -> f64 {
    cpu_seconds()
}

/// Returns the time since the first call, because the system does not tell the CPU time.
#[cfg(not(unix))]
pub fn cpu_seconds() -> f64 {
    use std::sync::OnceLock;
    use std::time::Instant;
    static START: OnceLock<Instant> = OnceLock::new();
    START.get_or_init(Instant::now).elapsed().as_secs_f64()
}

/// Returns the largest amount of memory that this process has held, if the system tells it.
pub fn peak_rss_bytes() -> Option<u64> {
    kilobytes(&std::fs::read_to_string("/proc/self/status").ok()?, "VmHWM:")
}

/// Returns the memory that is free for a new process, if the system tells it.
pub fn available_bytes() -> Option<u64> {
    kilobytes(&std::fs::read_to_string("/proc/meminfo").ok()?, "MemAvailable:")
}

/// Returns a field in kilobytes from one of Linux's memory files, whose lines have the form `Name: 123 kB`.
pub fn kilobytes(text: &str, field: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(field))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

/// Refuses a kernel that the environment names and this machine does not have.
///
/// # Errors
/// An error of usage that lists the kernels of this machine.
#[doc(hidden)]
pub fn check_kernel() -> Result<(), Error> {
    Kernel::chosen().map(drop).map_err(|refused| {
        Error::usage(
            refused.to_string(),
            "leave the variable unset for the fastest kernel, or set it to one of these names",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_read() {
        let text = "VmPeak:\t  99 kB\nVmHWM:\t   1234 kB\nThreads:\t2\n";
        assert_eq!(kilobytes(text, "VmHWM:"), Some(1234 << 10));
        assert_eq!(kilobytes(text, "Threads:"), None);
        assert_eq!(kilobytes(text, "VmSwap:"), None);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn this_process_uses_something() {
        let block = vec![1u8; 64 << 20];
        let start = cpu_seconds();
        let mut sum = 0u64;
        while cpu_seconds() - start < 0.01 {
            sum += block.iter().step_by(4096).map(|&b| u64::from(b)).sum::<u64>();
        }
        assert!(sum > 0 && peak_rss_bytes().unwrap() > 64 << 20);
    }
}
