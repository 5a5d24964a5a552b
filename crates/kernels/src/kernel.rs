//! The choice of a kernel at run time.

use std::ffi::OsString;
use std::sync::OnceLock;

use crate::portable::Portable;
use crate::vector::VectorLoop;

/// The environment variable that selects the kernel, for tests and measurements. Every kernel computes the
/// same bits.
pub const KERNEL_VARIABLE: &str = "BRICKWORK_KERNEL";

/// [`KERNEL_VARIABLE`] contains the name of a kernel that is unknown, or that this machine cannot execute.
#[derive(Clone, Debug)]
pub struct NoSuchKernel(OsString);

impl std::fmt::Display for NoSuchKernel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names: Vec<&str> = Kernel::all_available().into_iter().map(Kernel::name).collect();
        let (wanted, names) = (self.0.display(), names.join(", "));
        write!(
            f,
            "{KERNEL_VARIABLE} is {wanted:?}, but this machine does not have this kernel; it has {names}"
        )
    }
}

impl std::error::Error for NoSuchKernel {}

/// An implementation of all inner loops.
///
/// A value of this type proves that the machine can execute the kernel, because only a check of the machine's
/// features returns one.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Kernel(Implementation);

#[derive(Clone, Copy, PartialEq, Eq)]
enum Implementation {
    #[cfg(target_arch = "x86_64")]
    Vaes512,
    #[cfg(target_arch = "x86_64")]
    Vaes256,
    #[cfg(target_arch = "x86_64")]
    AesNi,
    #[cfg(target_arch = "aarch64")]
    Neon,
    Portable,
}

impl Kernel {
    /// The kernel that works on every machine. The other kernels are tested against it.
    pub const PORTABLE: Kernel = Kernel(Implementation::Portable);

    /// Returns the kernel to use: the fastest of this machine, or the one that [`KERNEL_VARIABLE`] names.
    ///
    /// # Panics
    /// If [`Kernel::chosen`] is an error. A program should call `chosen` first, and refuse to start with its
    /// message.
    pub fn best() -> Kernel {
        Self::chosen().unwrap_or_else(|refused| panic!("{refused}"))
    }

    /// Returns the same kernel as [`Kernel::best`], or an error. The variable is read once in a process.
    ///
    /// # Errors
    /// [`NoSuchKernel`] if this machine cannot execute the named one. An unknown name does not lead to
    /// another kernel, because the user asked for this one.
    pub fn chosen() -> Result<Kernel, NoSuchKernel> {
        static CHOSEN: OnceLock<Result<Kernel, NoSuchKernel>> = OnceLock::new();
        CHOSEN.get_or_init(|| Self::of_name(std::env::var_os(KERNEL_VARIABLE))).clone()
    }

    /// Returns the kernel with this name, or the fastest if there is no name.
    fn of_name(name: Option<OsString>) -> Result<Kernel, NoSuchKernel> {
        let available = Self::all_available();
        match name {
            None => Ok(available[0]),
            Some(name) => {
                available.into_iter().find(|kernel| name == kernel.name()).ok_or(NoSuchKernel(name))
            }
        }
    }

    /// Returns the kernel of this name, if this machine has it.
    pub fn named(name: &str) -> Option<Kernel> {
        Self::all_available().into_iter().find(|kernel| kernel.name() == name)
    }

    /// Returns every kernel that this machine can execute, the fastest first and the portable one last.
    pub fn all_available() -> Vec<Kernel> {
        let mut kernels = Vec::new();
        #[cfg(target_arch = "x86_64")]
        {
            use crate::x86::{has_aes_ni, has_vaes256, has_vaes512};
            let known = [
                (has_vaes512(), Implementation::Vaes512),
                (has_vaes256(), Implementation::Vaes256),
                (has_aes_ni(), Implementation::AesNi),
            ];
            kernels.extend(known.into_iter().filter(|k| k.0).map(|k| Kernel(k.1)));
        }
        #[cfg(target_arch = "aarch64")]
        if crate::aarch64::has_neon() {
            kernels.push(Kernel(Implementation::Neon));
        }
        kernels.push(Self::PORTABLE);
        kernels
    }

    /// Returns the kernel for a few blocks at a time. It belongs to the same family and has one block in a
    /// register, because filling wide registers costs more than it saves.
    pub fn for_few_blocks(self) -> Kernel {
        match self.0 {
            #[cfg(target_arch = "x86_64")]
            Implementation::Vaes512 | Implementation::Vaes256 if crate::x86::has_aes_ni() => {
                Kernel(Implementation::AesNi)
            }
            _ => self,
        }
    }

    /// Returns the kernel for a single copy of a circuit. It belongs to the same family. Its registers are so
    /// narrow that the independent gates of a layer fill several of them and keep the AES unit busy.
    pub(crate) fn for_one_copy(self) -> Kernel {
        match self.0 {
            #[cfg(target_arch = "x86_64")]
            Implementation::Vaes512 if crate::x86::has_vaes256() => Kernel(Implementation::Vaes256),
            _ => self,
        }
    }

    /// Returns the largest useful number of copies side by side, one of [`LANES`](crate::LANES). With narrow
    /// registers, more copies would exceed the first-level cache and bring nothing.
    pub fn most_copies(self) -> usize {
        if self.is_wide() { 16 } else { 8 }
    }

    /// Returns the name of the kernel, as users see it.
    pub fn name(self) -> &'static str {
        match self.0 {
            #[cfg(target_arch = "x86_64")]
            Implementation::Vaes512 => "vaes-avx512",
            #[cfg(target_arch = "x86_64")]
            Implementation::Vaes256 => "vaes-avx2",
            #[cfg(target_arch = "x86_64")]
            Implementation::AesNi => "aes-ni",
            #[cfg(target_arch = "aarch64")]
            Implementation::Neon => "neon-aes",
            Implementation::Portable => "portable",
        }
    }

    /// Returns whether hashing inputs side by side is faster than the blake3 crate, which hashes one long
    /// input at a time in assembly. Hashing side by side is faster with many wide registers.
    pub fn is_wide(self) -> bool {
        #[cfg(target_arch = "x86_64")]
        return matches!(self.0, Implementation::Vaes512);
        #[cfg(not(target_arch = "x86_64"))]
        false
    }

    /// Runs `task` with this kernel's vectors.
    #[inline]
    pub(crate) fn run<T: VectorLoop>(self, task: T) -> T::Output {
        match self.0 {
            // SAFETY: `all_available` makes this kernel only after `has_vaes512`, which tests the features of
            // `vaes512`.
            #[cfg(target_arch = "x86_64")]
            Implementation::Vaes512 => unsafe { crate::x86::vaes512(task) },
            // SAFETY: the same, with `has_vaes256`.
            #[cfg(target_arch = "x86_64")]
            Implementation::Vaes256 => unsafe { crate::x86::vaes256(task) },
            // SAFETY: the same, with `has_aes_ni`.
            #[cfg(target_arch = "x86_64")]
            Implementation::AesNi => unsafe { crate::x86::aes_ni(task) },
            // SAFETY: the same, with `has_neon`.
            #[cfg(target_arch = "aarch64")]
            Implementation::Neon => unsafe { crate::aarch64::neon(task) },
            // SAFETY: the portable vectors need no feature of the machine.
            Implementation::Portable => unsafe { task.run::<Portable>() },
        }
    }
}

impl std::fmt::Debug for Kernel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}
