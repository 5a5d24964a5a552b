//! The median of some numbers.

/// Returns the median, or the mean of the two middle values; 0 for no values.
pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let at = |i: usize| values.get(i).copied().unwrap_or_default();
    match values.len() {
        n if n % 2 == 1 => at(n / 2),
        0 => 0.0,
        n => (at(n / 2 - 1) + at(n / 2)) / 2.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians() {
        assert_eq!(median(vec![]), 0.0);
        assert_eq!(median(vec![3.0]), 3.0);
        assert_eq!(median(vec![5.0, 1.0]), 3.0);
        assert_eq!(median(vec![5.0, 1.0, 100.0]), 5.0);
    }
}
