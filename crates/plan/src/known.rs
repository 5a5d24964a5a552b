//! What was measured once, for machines that were not measured: a row for each kernel.

use super::machine::KINDS;
use brickwork_duplo::Duplo;
use brickwork_session::Protocol;

/// The constants of a machine with two cores (AMD Zen 4, 2.6 GHz), as [`Machine::measure`] found them there:
/// `brickwork plan FILE --calibrate --json` prints those of any machine.
///
/// [`Machine::measure`]: super::Machine::measure
pub(super) struct Known {
    pub kernel: &'static str,
    /// In the order of the kinds of work.
    pub seconds: [f64; KINDS],
    pub beyond: [f64; Duplo::PHASES.len()],
    pub probe_seconds: f64,
    pub message_seconds: f64,
    pub send_seconds_a_byte: f64,
    pub receive_seconds_a_byte: f64,
}

impl Known {
    /// Those of a kernel, or of the one that is most like it.
    pub fn of(kernel: &str) -> &'static Known {
        KNOWN.iter().find(|known| known.kernel == kernel).unwrap_or(&KNOWN[LIKE_OTHERS])
    }
}

/// Kernels that are not in the table work with one AES block at a time, as this one does.
const LIKE_OTHERS: usize = 2;

const KNOWN: [Known; 4] = [
    Known {
        kernel: "vaes-avx512",
        seconds: [
            4.08e-5, 3.46e-5, 9.50e-5, 1.28e-8, 1.94e-8, 7.49e-10, 3.25e-10, 2.09e-9, 8.90e-10, 7.33e-9,
            3.78e-9, 3.06e-10, 5.88e-9, 3.05e-10, 5.98e-9, 1.34e-8, 3.04e-9, 1.85e-9, 2.33e-4, 8.80e-8,
            2.45e-10, 1.39e-10, 8.94e-11,
        ],
        beyond: [1.71e-2, 3.55e-3, 1.09e-3, 9.61e-4, 6.81e-4, 1.48e-4],
        probe_seconds: 2.69e-5,
        message_seconds: 8.41e-6,
        send_seconds_a_byte: 2.71e-10,
        receive_seconds_a_byte: 7.34e-10,
    },
    Known {
        kernel: "vaes-avx2",
        seconds: [
            3.94e-5, 3.32e-5, 9.18e-5, 1.71e-8, 2.84e-8, 7.26e-10, 6.56e-10, 2.00e-9, 8.92e-10, 6.28e-9,
            4.60e-9, 3.01e-10, 9.47e-9, 3.01e-10, 4.98e-9, 2.66e-8, 2.28e-9, 1.42e-9, 2.33e-4, 8.23e-8,
            2.13e-10, 1.28e-10, 8.33e-11,
        ],
        beyond: [2.15e-2, 6.07e-3, 1.56e-3, 9.65e-4, 9.59e-4, 1.08e-4],
        probe_seconds: 3.15e-5,
        message_seconds: 9.46e-6,
        send_seconds_a_byte: 2.72e-10,
        receive_seconds_a_byte: 4.26e-10,
    },
    Known {
        kernel: "aes-ni",
        seconds: [
            3.94e-5, 3.34e-5, 9.20e-5, 2.09e-8, 3.22e-8, 7.31e-10, 8.33e-10, 2.11e-9, 8.72e-10, 6.17e-9,
            1.27e-8, 4.61e-10, 1.08e-8, 4.61e-10, 4.97e-9, 2.70e-8, 2.27e-9, 1.41e-9, 2.33e-4, 8.50e-8,
            2.22e-10, 1.26e-10, 9.05e-11,
        ],
        beyond: [1.66e-2, 7.54e-3, 1.41e-3, 1.07e-3, 1.05e-3, 1.53e-4],
        probe_seconds: 5.64e-5,
        message_seconds: 9.46e-6,
        send_seconds_a_byte: 2.46e-10,
        receive_seconds_a_byte: 7.12e-10,
    },
    Known {
        kernel: "portable",
        seconds: [
            3.93e-5, 3.35e-5, 9.21e-5, 2.38e-7, 2.51e-7, 7.94e-10, 1.37e-8, 1.98e-9, 8.76e-10, 6.18e-9,
            4.00e-7, 4.65e-10, 2.16e-7, 4.65e-10, 4.97e-9, 2.19e-7, 2.28e-9, 1.42e-9, 2.32e-4, 8.37e-8,
            1.98e-10, 1.31e-10, 9.05e-11,
        ],
        beyond: [1.22e-1, 0.0, 1.65e-2, 6.29e-3, 3.90e-3, 3.82e-4],
        probe_seconds: 1.62e-3,
        message_seconds: 8.41e-6,
        send_seconds_a_byte: 2.42e-10,
        receive_seconds_a_byte: 7.40e-10,
    },
];
