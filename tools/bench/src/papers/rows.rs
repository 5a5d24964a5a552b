//! The rows: the program, the number of executions, the network, and the paper's measurements.

use std::time::Duration;

use brickwork::circuit::Program;
use brickwork::circuit::library::{aes, matrix, papers};
use brickwork::engine::request::{BucketChoice, LinkSpeed};
use brickwork_cli::parts::ResourceFlags;
use clap::ValueEnum;

/// A table or figure of the paper.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum PaperTable {
    /// Random programs of 2^n AND gates, cut into slots of 2^t
    Figure1,
    /// AES-128 and CBC-MAC-16, cut in several ways
    Figure2,
    /// Products of 16 x 16 matrices in blocks (figure 3 of the paper shows the same)
    Table1,
    /// AES-128, CBC-MAC-16 and the matrix product, on two networks
    Table2,
    /// Long CBC-MACs
    Table3,
    /// Bytes of AES-128
    Table4,
    /// Not in the paper: the predictions of `plan` beside measured runs, over loopback and both networks
    Plan,
    /// Not in the paper: up to 10^8 AND gates over loopback, for `bench scale`
    Scale,
}

/// The program of a row.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Workload {
    Random {
        n: u32,
        t: u32,
    },
    Aes,
    /// AES-128 in 3 or 5 kinds of components.
    AesIn(u32),
    CbcMac {
        blocks: u32,
        each: u32,
    },
    Matrix {
        block: u32,
    },
}

impl Workload {
    pub fn name(self) -> String {
        match self {
            Workload::Random { n, t } => format!("random 2^{n} in 2^{t}"),
            Workload::Aes => "AES-128".into(),
            Workload::AesIn(kinds) => format!("AES-128 in {kinds}"),
            Workload::CbcMac { blocks, each } => format!("CBC-MAC-{blocks} by {each}"),
            Workload::Matrix { block } => format!("Mat-Mul in {block}x{block}"),
        }
    }

    /// Returns the number of AND gates of one execution, known before the program is made.
    pub fn and_gates(self) -> u64 {
        match self {
            Workload::Random { n, .. } => 1 << n,
            Workload::Aes | Workload::AesIn(_) => 6400,
            Workload::CbcMac { blocks, .. } => 6400 * u64::from(blocks),
            Workload::Matrix { .. } => 4_186_368,
        }
    }

    pub fn program(self) -> Result<Program, brickwork::ProtocolError> {
        match self {
            Workload::Random { n, t } => papers::random(n, t),
            Workload::Aes => aes::aes_128(),
            Workload::AesIn(3) => papers::aes_in_rounds(),
            Workload::AesIn(_) => papers::aes_in_functions(),
            Workload::CbcMac { blocks, each } => papers::cbc_mac_in(blocks, each),
            Workload::Matrix { block } => matrix::product(16, 32, block),
        }
    }
}

/// Two processes on this machine.
const LOOPBACK: LinkSpeed = LinkSpeed { bits_per_second: None, rtt: Duration::ZERO };

/// The networks that the paper simulates.
const LAN: LinkSpeed = LinkSpeed { bits_per_second: Some(1_000_000_000), rtt: Duration::from_micros(20) };
const WAN: LinkSpeed = LinkSpeed { bits_per_second: Some(200_000_000), rtt: Duration::from_millis(96) };

/// A row of a table. It has the paper's milliseconds of an execution: before its inputs are known, and after
/// that.
#[derive(Clone, Copy)]
pub struct PaperRow {
    pub table: PaperTable,
    pub workload: Workload,
    pub executions: u32,
    pub link: LinkSpeed,
    pub paper: Option<[f64; 2]>,
}

/// If `paper` has only one number, this number is the whole time.
pub const WHOLE: f64 = 0.0;

pub fn rows() -> Vec<PaperRow> {
    let mut rows = Vec::new();
    let mut row = |table, workload, executions, link, paper| {
        rows.push(PaperRow { table, workload, executions, link, paper })
    };
    for n in (10..=20).step_by(2) {
        for t in (0..=n).step_by(2) {
            row(PaperTable::Figure1, Workload::Random { n, t }, 1, LAN, None);
        }
    }
    for executions in [1, 32, 128] {
        for workload in [Workload::Aes, Workload::AesIn(3), Workload::AesIn(5)] {
            row(PaperTable::Figure2, workload, executions, LAN, None);
        }
        for each in [1, 2, 4, 8, 16] {
            row(PaperTable::Figure2, Workload::CbcMac { blocks: 16, each }, executions, LAN, None);
        }
    }
    for (k, executions) in [1, 32, 128].into_iter().enumerate() {
        let paper = [
            (2, [11_160.0, 7_815.0, 7_554.0]),
            (4, [14_847.0, 7_539.0, 6_622.0]),
            (8, [52_334.0, 9_615.0, 7_324.0]),
        ];
        for (block, times) in paper.into_iter().chain([(16, [351_002.0, 11_338.0, 9_298.0])]) {
            row(PaperTable::Table1, Workload::Matrix { block }, executions, LAN, Some([times[k], WHOLE]));
        }
    }
    let (cbc, product) = (Workload::CbcMac { blocks: 16, each: 1 }, Workload::Matrix { block: 2 });
    let lan = [
        (Workload::Aes, [[371.0, 8.62], [47.03, 0.65], [27.77, 0.41], [17.58, 0.30]]),
        (cbc, [[828.83, 41.94], [313.18, 3.72], [224.54, 2.49], [188.30, 1.61]]),
        (product, [[10_837.0, 118.0], [7_455.0, 83.73], [6_563.0, 58.65], [f64::NAN; 2]]),
    ];
    let wan = [
        (Workload::Aes, [[7_391.0, 585.0], [347.0, 19.37], [148.0, 5.55], [74.03, 1.53]]),
        (cbc, [[10_340.0, 620.0], [1_526.21, 23.62], [1_012.23, 8.85], [748.93, 3.83]]),
        (product, [[52_631.0, 744.0], [32_615.0, 135.0], [28_001.0, 101.0], [f64::NAN; 2]]),
    ];
    for (link, paper) in [(LAN, lan), (WAN, wan)] {
        for (workload, times) in paper {
            for (executions, times) in [1, 32, 128, 1024].into_iter().zip(times) {
                let paper = Some(times).filter(|times| !times[0].is_nan());
                row(PaperTable::Table2, workload, executions, link, paper);
            }
        }
    }
    let blocks = [32, 64, 128, 256, 1024];
    let lan = [[1_211.0, 68.29], [1_877.0, 104.0], [2_991.0, 196.0], [5_072.0, 274.0], [14_167.0, 1_003.0]];
    let wan =
        [[12_269.0, 656.0], [15_039.0, 698.0], [19_089.0, 793.0], [27_093.0, 910.0], [81_883.0, 1_733.0]];
    for (link, paper) in [(LAN, lan), (WAN, wan)] {
        for (blocks, times) in blocks.into_iter().zip(paper) {
            row(PaperTable::Table3, Workload::CbcMac { blocks, each: 1 }, 1, link, Some(times));
        }
    }
    let several = [1, 32, 128, 1024].map(|executions| (Workload::Aes, executions));
    for link in [LOOPBACK, LAN, WAN] {
        for (workload, executions) in several.into_iter().chain([(cbc, 1), (product, 1)]) {
            row(PaperTable::Plan, workload, executions, link, None);
        }
    }
    for (t, programs) in [
        (6, &[(10, 1), (14, 1), (17, 1), (20, 1)][..]),
        (10, &[(14, 1), (17, 1), (20, 1), (23, 1), (24, 6)]),
        (16, &[(17, 1), (20, 1), (23, 1), (24, 6)]),
    ] {
        for &(n, executions) in programs {
            row(PaperTable::Scale, Workload::Random { n, t }, executions, LOOPBACK, None);
        }
    }
    for executions in [1, 16, 128, 1024, 4096, 15_625] {
        row(PaperTable::Scale, Workload::Aes, executions, LOOPBACK, None);
    }
    rows
}

/// Megabytes to the evaluator before the inputs are known, and kilobytes after that, for one AES: DUPLO,
/// table 4.
pub const BYTES: [(u32, [f64; 2]); 4] =
    [(1, [12.94, 19.36]), (32, [2.60, 18.97]), (128, [1.96, 18.96]), (1024, [1.59, 18.96])];

impl PaperRow {
    /// Returns a name for people.
    pub fn name(&self) -> String {
        let (table, link) = (table_name(self.table), self.link_name());
        format!("{table}: {}, N = {}, {link}", self.workload.name(), self.executions)
    }

    pub fn link_name(&self) -> &'static str {
        match self.link {
            LAN => "LAN",
            WAN => "WAN",
            _ => "loopback",
        }
    }

    /// Returns the key by which a row with this number of rounds is found in the file of results.
    pub fn key(&self, rounds: u32, resources: &ResourceFlags, buckets: BucketChoice) -> String {
        let threads = resources.threads.map_or("all".into(), |threads| threads.to_string());
        let buckets = if buckets == BucketChoice::Standard { "standard" } else { "fastest" };
        format!(
            "{}, {}, N = {}, {}, {rounds} rounds, {threads} threads, {} lanes, --buckets={buckets}",
            env!("CARGO_PKG_VERSION"),
            self.workload.name(),
            self.executions,
            self.link_name(),
            resources.lanes,
        )
    }
}

pub fn table_name(table: PaperTable) -> String {
    table.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_workloads_have_the_gates_that_are_said() {
        let mut seen: Vec<Workload> = Vec::new();
        for row in rows() {
            if row.workload.and_gates() < 1 << 14 && !seen.contains(&row.workload) {
                seen.push(row.workload);
                let gates = row.workload.program().unwrap().and_gates();
                assert_eq!(gates, row.workload.and_gates(), "{}", row.workload.name());
            }
        }
        assert_eq!(seen.len(), 16);
    }
}
