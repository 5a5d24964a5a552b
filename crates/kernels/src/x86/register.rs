//! The register type of the assembly code for BLAKE3.

use core::arch::x86_64::__m512i;

/// Four blocks in an AVX-512 register.
#[derive(Clone, Copy)]
pub(crate) struct X4(pub(super) __m512i);
