//! Erasing values in memory.

use brickwork_kernels::erase;

#[test]
fn every_element_is_erased() {
    for length in [0, 1, 3, 64, 1000] {
        let mut secrets = vec![u128::MAX; length];
        erase(&mut secrets);
        assert!(secrets.iter().all(|&x| x == 0));
    }
}
