//! The mixing function of BLAKE3 in AVX-512 registers.

use core::arch::asm;

use super::register::X4;

/// Implements [`Vector::mix32`](crate::vector::Vector::mix32) in assembly, because two states fill all 32
/// registers. The compiler orders the steps so that it needs more registers. Moving values to memory and back
/// would then make it 1.5 times as slow.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn mix512<const D: u32, const B: u32>([a, b, c, d]: &mut [[X4; 4]; 4], m: [&X4; 4]) {
    // SAFETY: AVX-512; the code reads only its registers and the four words of `m`.
    unsafe {
        asm!(
            "vpaddd {a0}, {a0}, [{m0}]",
            "vpaddd {a1}, {a1}, [{m1}]",
            "vpaddd {a2}, {a2}, [{m2}]",
            "vpaddd {a3}, {a3}, [{m3}]",
            "vpaddd {a0}, {a0}, {b0}",
            "vpaddd {a1}, {a1}, {b1}",
            "vpaddd {a2}, {a2}, {b2}",
            "vpaddd {a3}, {a3}, {b3}",
            "vpxord {d0}, {d0}, {a0}",
            "vpxord {d1}, {d1}, {a1}",
            "vpxord {d2}, {d2}, {a2}",
            "vpxord {d3}, {d3}, {a3}",
            "vprord {d0}, {d0}, {D}",
            "vprord {d1}, {d1}, {D}",
            "vprord {d2}, {d2}, {D}",
            "vprord {d3}, {d3}, {D}",
            "vpaddd {c0}, {c0}, {d0}",
            "vpaddd {c1}, {c1}, {d1}",
            "vpaddd {c2}, {c2}, {d2}",
            "vpaddd {c3}, {c3}, {d3}",
            "vpxord {b0}, {b0}, {c0}",
            "vpxord {b1}, {b1}, {c1}",
            "vpxord {b2}, {b2}, {c2}",
            "vpxord {b3}, {b3}, {c3}",
            "vprord {b0}, {b0}, {B}",
            "vprord {b1}, {b1}, {B}",
            "vprord {b2}, {b2}, {B}",
            "vprord {b3}, {b3}, {B}",
            a0 = inout(zmm_reg) a[0].0, a1 = inout(zmm_reg) a[1].0,
            a2 = inout(zmm_reg) a[2].0, a3 = inout(zmm_reg) a[3].0,
            b0 = inout(zmm_reg) b[0].0, b1 = inout(zmm_reg) b[1].0,
            b2 = inout(zmm_reg) b[2].0, b3 = inout(zmm_reg) b[3].0,
            c0 = inout(zmm_reg) c[0].0, c1 = inout(zmm_reg) c[1].0,
            c2 = inout(zmm_reg) c[2].0, c3 = inout(zmm_reg) c[3].0,
            d0 = inout(zmm_reg) d[0].0, d1 = inout(zmm_reg) d[1].0,
            d2 = inout(zmm_reg) d[2].0, d3 = inout(zmm_reg) d[3].0,
            m0 = in(reg) m[0], m1 = in(reg) m[1], m2 = in(reg) m[2], m3 = in(reg) m[3],
            D = const D, B = const B,
            options(pure, readonly, nostack, preserves_flags),
        );
    }
}
