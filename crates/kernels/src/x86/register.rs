//! The register that the mixing in assembly takes.

use core::arch::x86_64::__m512i;

/// Four blocks in an AVX-512 register.
#[derive(Clone, Copy)]
pub(crate) struct X4(pub(super) __m512i);
