//! A line of small bars.

/// Bars from low to high.
const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// The newest `width` values as bars between zero and the largest of them; a blank where a value is not finite.
/// Zero is always the lowest bar, so that a stall is seen as one.
pub fn sparkline(values: &[f64], width: usize) -> String {
    let newest = &values[values.len().saturating_sub(width)..];
    let top = newest
        .iter()
        .copied()
        .filter(|x| x.is_finite())
        .fold(0.0, f64::max);
    newest
        .iter()
        .map(|value| {
            if !value.is_finite() {
                return ' ';
            }
            let share = if top > 0.0 {
                (value / top).clamp(0.0, 1.0)
            } else {
                0.0
            };
            // In 0..=7: the share is in [0, 1].
            BARS[(share * (BARS.len() - 1) as f64).round() as usize]
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn zero_is_the_lowest_bar_and_the_largest_value_the_highest() {
        assert_eq!(sparkline(&[0.0, 50.0, 100.0], 10), "▁▅█");
        assert_eq!(sparkline(&[0.0, 0.0], 10), "▁▁");
    }

    #[test]
    fn only_the_newest_values_are_shown_and_a_missing_one_is_a_blank() {
        assert_eq!(sparkline(&[900.0, 1.0, f64::NAN, 1.0], 3), "█ █");
        assert_eq!(sparkline(&[1.0], 0), "");
    }

    proptest! {
        #[test]
        fn any_values_give_one_character_each(values in proptest::collection::vec(any::<f64>(), 0..50), width in 0..40_usize) {
            prop_assert_eq!(sparkline(&values, width).chars().count(), values.len().min(width));
        }
    }
}
