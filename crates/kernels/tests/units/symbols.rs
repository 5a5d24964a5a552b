//! Words of symbols, added and multiplied: every kernel is compared with a computation symbol by symbol.

use brickwork_kernels::*;
use proptest::prelude::*;

/// The number of symbols in a block.
const BLOCK: usize = 16;

fn image(factor: Factor, byte: u8) -> u8 {
    (0..8).fold(0, |image, j| if byte >> j & 1 == 1 { image ^ factor.0[j] } else { image })
}

fn random(seed: u128, blocks: usize) -> Vec<u128> {
    let mut data = vec![0; blocks];
    Aes128::new(seed).ctr(0, &mut data);
    data
}

fn bytes(blocks: &[u128]) -> Vec<u8> {
    blocks.iter().flat_map(|block| block.to_le_bytes()).collect()
}

/// Returns random words of this many symbols, with zeros after the last symbol of each.
fn words(seed: u128, symbols: usize, count: usize) -> Vec<u128> {
    let blocks = symbols.div_ceil(BLOCK);
    let mut all = bytes(&random(seed, blocks * count));
    if blocks > 0 {
        all.chunks_exact_mut(BLOCK * blocks).for_each(|word| word[symbols..].fill(0));
    }
    all.as_chunks().0.iter().map(|block| u128::from_le_bytes(*block)).collect()
}

fn factors(seed: u128) -> impl Fn(usize, usize) -> Factor {
    let random = random(seed ^ 1, 64);
    move |i, j| Factor(((random[(i * 7 + j) % 64] >> (i % 8 * 8)) as u64).to_le_bytes())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn products_are_those_of_the_definition(
        inputs in 1usize..70, outputs in 1usize..70, count in 0usize..200, seed: u128,
    ) {
        let (of, words) = (factors(seed), words(seed, inputs, count));
        let matrix = Matrix::new(outputs, inputs, &of);
        prop_assert_eq!((matrix.inputs(), matrix.outputs()), (inputs, outputs));
        let [from, to] = [inputs, outputs].map(|symbols| symbols.div_ceil(BLOCK));
        let before = random(seed ^ 2, to * count);
        let mut expected = bytes(&before);
        let pairs = bytes(&words);
        let pairs = pairs.chunks_exact(BLOCK * from).zip(expected.chunks_exact_mut(BLOCK * to));
        for (word, sum) in pairs {
            for (i, sum) in sum[..outputs].iter_mut().enumerate() {
                *sum ^= (0..inputs).fold(0, |all, j| all ^ image(of(i, j), word[j]));
            }
        }
        for kernel in Kernel::all_available() {
            let mut sums = before.clone();
            add_products_with(kernel, &matrix, &words, &mut sums);
            prop_assert_eq!(bytes(&sums), expected.clone(), "{:?}", kernel);
        }
    }

    #[test]
    fn products_of_rows_are_those_of_their_words(
        inputs in 1usize..70, outputs in 1usize..70, registers in 0usize..4, seed: u128,
    ) {
        let row_blocks = ROW_BLOCKS * registers;
        let matrix = Matrix::new(outputs, inputs, factors(seed));
        let (rows, before) = (random(seed, inputs * row_blocks), random(seed ^ 2, outputs * row_blocks));
        let of_rows = |rows: &[u128], symbols: usize| {
            let mut words = vec![0; symbols.div_ceil(BLOCK) * BLOCK * row_blocks];
            if registers > 0 {
                words_of_rows(rows, row_blocks, &mut words);
            }
            words
        };
        let mut expected = of_rows(&before, outputs);
        add_products(&matrix, &of_rows(&rows, inputs), &mut expected);
        for kernel in Kernel::all_available() {
            let mut sums = before.clone();
            add_row_products_with(kernel, &matrix, &rows, &mut sums, row_blocks);
            prop_assert!(of_rows(&sums, outputs) == expected, "{:?}", kernel);
        }
    }

    #[test]
    fn symbols_are_picked(inputs in 1usize..120, outputs in 1usize..70, count in 0usize..40, seed: u128) {
        let (words, numbers) = (words(seed, inputs, count), bytes(&random(seed ^ 3, 5)));
        let picks = Picks::new(outputs, inputs, |i| numbers[i]);
        let [from, to] = [inputs, outputs].map(|symbols| symbols.div_ceil(BLOCK));
        let before = random(seed ^ 2, to * count);
        let mut expected = bytes(&before);
        let pairs = bytes(&words);
        let pairs = pairs.chunks_exact(BLOCK * from).zip(expected.chunks_exact_mut(BLOCK * to));
        for (word, sum) in pairs {
            for (i, sum) in sum[..outputs].iter_mut().enumerate() {
                *sum ^= if usize::from(numbers[i]) < inputs { word[usize::from(numbers[i])] } else { 0 };
            }
        }
        for kernel in Kernel::all_available() {
            let mut sums = before.clone();
            add_picked_with(kernel, &picks, &words, &mut sums);
            prop_assert_eq!(bytes(&sums), expected.clone(), "{:?}", kernel);
        }
    }

    #[test]
    fn words_are_the_columns_of_rows(
        symbols in 1usize..110, row_blocks in 1usize..12, less in 0usize..40, seed: u128,
    ) {
        let rows = random(seed, symbols * row_blocks);
        let count = (BLOCK * row_blocks).saturating_sub(less);
        let (all, blocks) = (bytes(&rows), symbols.div_ceil(BLOCK));
        for kernel in Kernel::all_available() {
            let mut words = vec![u128::MAX; blocks * count];
            words_of_rows_with(kernel, &rows, row_blocks, &mut words);
            for (t, word) in bytes(&words).chunks_exact(BLOCK * blocks).enumerate() {
                let expected = |i: usize| if i < symbols { all[BLOCK * row_blocks * i + t] } else { 0 };
                let are_right = word.iter().enumerate().all(|(i, &byte)| byte == expected(i));
                prop_assert!(are_right, "{:?}", kernel);
            }
        }
    }

    #[test]
    fn chunks_are_scaled_and_added(
        sums in 0usize..6, chunk in 1usize..5, blocks in 0usize..200, seed: u128,
    ) {
        let (of, chunk) = (factors(seed), 4 * chunk);
        let scale = SymbolFactors::new(|c| of(usize::from(c), 3));
        let data = random(seed, blocks);
        let coefficients: Vec<Vec<u8>> = (0..sums)
            .map(|v| bytes(&random(seed ^ (v as u128 + 9), blocks))[..blocks.div_ceil(chunk)].to_vec())
            .collect();
        let before = random(seed ^ 5, sums * chunk);
        let mut expected = bytes(&before);
        for (v, sum) in expected.chunks_exact_mut(BLOCK * chunk).enumerate() {
            for (k, &byte) in bytes(&data).iter().enumerate() {
                let (c, place) = (k / (BLOCK * chunk), k % (BLOCK * chunk));
                sum[place] ^= image(of(coefficients[v][c].into(), 3), byte);
            }
        }
        for kernel in Kernel::all_available() {
            let mut sums = before.clone();
            add_scaled_with(kernel, &scale, &coefficients, &data, chunk, &mut sums);
            prop_assert_eq!(bytes(&sums), expected.clone(), "{:?}", kernel);
        }
    }
}

#[test]
fn sizes_that_do_not_fit_are_refused() {
    let matrix = Matrix::new(20, 3, |_, _| Factor::default());
    for (words, sums) in [(2, 3), (1, 1), (0, 2)] {
        let call = || add_products(&matrix, &vec![0; words], &mut vec![0; sums]);
        assert!(std::panic::catch_unwind(call).is_err(), "{words} {sums}");
    }
    for (rows, sums, row_blocks) in [(12, 80, 3), (12, 76, 4), (8, 80, 4)] {
        let call = || add_row_products(&matrix, &vec![0; rows], &mut vec![0; sums], row_blocks);
        assert!(std::panic::catch_unwind(call).is_err(), "{rows} {sums} {row_blocks}");
    }
    for (rows, row_blocks, words) in [(5, 2, 1), (34, 2, 3), (2, 2, 33), (0, 0, 1)] {
        let call = || words_of_rows(&vec![0; rows], row_blocks, &mut vec![0; words]);
        assert!(std::panic::catch_unwind(call).is_err(), "{rows} {row_blocks} {words}");
    }
    let scale = SymbolFactors::new(|_| Factor::default());
    for (lists, data, chunk, sums) in [(1, 4, 4, 8), (2, 9, 4, 4), (1, 4, 3, 3), (1, 4, 0, 0)] {
        let call = || add_scaled(&scale, &[vec![0; lists]], &vec![0; data], chunk, &mut vec![0; sums]);
        assert!(std::panic::catch_unwind(call).is_err(), "{lists} {data} {chunk} {sums}");
    }
}
