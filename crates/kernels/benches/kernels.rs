//! Measures the loops of the kernels in nanoseconds for a block of 128 bits. It uses one thread and buffers
//! in the cache, and takes the best of many runs.

use std::time::{Duration, Instant};

use brickwork_kernels::{
    Aes128, Kernel, SUBTREE_BYTES, Subtree, Trees, ctr_rows_with, hash_accumulate_with, hash_to_columns,
    keyed_hashes_with, parity_rows_with, subtree_values_with, transpose_back_with, transpose_with,
    words_for_rows,
};

/// Returns the shortest of many runs, in nanoseconds per block.
fn best(blocks: usize, mut run: impl FnMut()) -> f64 {
    let (start, mut best) = (Instant::now(), Duration::MAX);
    while start.elapsed() < Duration::from_millis(200) {
        let now = Instant::now();
        (0..10).for_each(|_| run());
        best = best.min(now.elapsed());
    }
    best.as_nanos() as f64 / (10 * blocks) as f64
}

/// Measures the loops of OT extensions. One block is one OT, which is one label.
fn extended(kernel: Kernel) {
    const TILES: usize = 16;
    let (mut x, mut tiles) = (vec![[0; 4]; TILES], vec![[0; 512]; TILES]);
    for levels in [1, 2, 4, 8] {
        let keys: Vec<u128> = (0..(128 / levels) << levels).map(|key| key as u128).collect();
        let trees = Trees::new(kernel, levels, &keys);
        let mut corrections = vec![[0; 4]; TILES * trees.count()];
        let rows = best(512 * TILES, || trees.receive(kernel, 0, &mut x, &mut corrections, &mut tiles));
        println!("  an OT's rows, {levels} levels      {rows:7.3}");
    }
    let (mut acc, chis) = ([[0; 2]; 128], vec![[5; 4]; TILES]);
    let columns = best(512 * TILES, || hash_to_columns(kernel, &mut acc, &chis, None, &mut tiles));
    println!("  rows hashed and transposed  {columns:7.3}");
}

fn main() {
    const ROWS: usize = 429;
    const BLOCKS: usize = 8;
    for kernel in Kernel::all_available() {
        println!("{}, ns per block:", kernel.name());
        let key = Aes128::with_kernel(kernel, 1);
        let mut blocks = vec![0u128; 1024];
        println!("  counter mode, 1024 blocks   {:7.3}", best(1024, || key.ctr_with(kernel, 0, &mut blocks)));
        println!(
            "  encryption, 1024 blocks     {:7.3}",
            best(1024, || key.encrypt_with(kernel, &mut blocks))
        );
        let (raw, mut keys) = ((0..ROWS as u128).collect::<Vec<_>>(), Vec::new());
        println!(
            "  key schedule, a key         {:7.3}",
            best(ROWS, || Aes128::expand_many(kernel, &raw, &mut keys))
        );
        let mut rows = vec![0u128; ROWS * BLOCKS];
        let all = ROWS * BLOCKS;
        println!(
            "  429 keys, 8 blocks each     {:7.3}",
            best(all, || ctr_rows_with(kernel, &keys, 0, &mut rows, BLOCKS))
        );
        let mut columns = vec![0u64; 128 * BLOCKS * words_for_rows(ROWS)];
        println!(
            "  429 rows to columns         {:7.3}",
            best(all, || transpose_with(kernel, &rows, BLOCKS, &mut columns))
        );
        let few = &columns[..128 * words_for_rows(ROWS)];
        println!(
            "  128 columns to rows         {:7.3}",
            best(ROWS, || transpose_back_with(kernel, few, words_for_rows(ROWS), &mut rows[..ROWS]))
        );
        let masks: Vec<u128> =
            raw[..147].iter().map(|x| (x + 1) * 0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835).collect();
        let (message, parity) = rows.split_at_mut(128 * BLOCKS);
        let parity = &mut parity[..147 * BLOCKS];
        println!(
            "  147 sums of 128 rows        {:7.3}",
            best(147 * BLOCKS, || parity_rows_with(kernel, &masks, message, parity, BLOCKS))
        );
        let mut acc = vec![[0u128; 2]; ROWS];
        println!(
            "  universal hash              {:7.3}",
            best(ROWS, || hash_accumulate_with(kernel, &mut acc, &rows[..ROWS], 5))
        );
        let messages = vec![[7u128; 2]; 1024];
        println!(
            "  BLAKE3, 32 keyed bytes      {:7.3}",
            best(1024, || keyed_hashes_with(kernel, &[9; 32], &messages, &mut blocks))
        );
        let (inputs, mut values) = ([[5u8; SUBTREE_BYTES]; 16], [[0; 32]; 16]);
        let subtrees =
            std::array::from_fn::<_, 16, _>(|i| Subtree { bytes: &inputs[i], first_chunk: 16 * i as u64 });
        let block = best(16 * SUBTREE_BYTES / 16, || subtree_values_with(kernel, &subtrees, &mut values));
        println!("  BLAKE3, 16 inputs of 16 KiB {block:7.3}");
        extended(kernel);
        std::hint::black_box((&blocks, &columns, &acc, &values));
    }
    let crate_short = best(1, || {
        std::hint::black_box(blake3::keyed_hash(&[9; 32], &[7; 32]));
    });
    let input = [5u8; SUBTREE_BYTES];
    let crate_long = best(SUBTREE_BYTES / 16, || {
        std::hint::black_box(blake3::hash(&input));
    });
    println!("the blake3 crate: 32 keyed bytes {crate_short:.3}, a block of 16 KiB {crate_long:.3}");
}
