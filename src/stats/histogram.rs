//! A log-linear histogram of durations in microseconds.
//!
//! Below 64 µs each microsecond has a bucket; above, each power of two is divided into 64 equal buckets, so a bucket is
//! at most 1/64 of its value wide and a quantile read from its middle is off by at most 0.8 %. The layout is fixed, so
//! histograms of threads, seconds and runs add and subtract bucket by bucket: percentiles of a window come from the
//! merged histogram, never from averaged percentiles. Same idea as Gil Tene's HdrHistogram; the sysbench wrapper writes
//! this very layout.

use serde::{Deserialize, Serialize};

/// Buckets per power of two.
const SUB_BUCKETS: u64 = 64;
/// log2 of [`SUB_BUCKETS`].
const SUB_BITS: u32 = 6;

/// Counts of durations per bucket; trailing empty buckets are not kept.
///
/// ```
/// use noctune::stats::Histogram;
///
/// // A percentile of a window comes from all of its events, never from an average of percentiles per second.
/// let (mut quiet, mut stalled) = (Histogram::default(), Histogram::default());
/// (0..990).for_each(|_| quiet.record(5_000));
/// (0..10).for_each(|_| stalled.record(800_000));
/// let mut window = quiet.clone();
/// window.merge(&stalled);
/// assert_eq!(window.total(), 1000);
/// let p99 = window.quantile_ms(0.99).unwrap();
/// assert!((p99 - 5.0).abs() < 0.1, "buckets are about 1 % wide: {p99}");
/// assert!(window.max_ms().unwrap() > 790.0);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Histogram {
    counts: Vec<u64>,
}

impl Histogram {
    /// Number of buckets; the last one begins at 127 × 2^30 µs (about 38 hours) and takes everything above.
    pub const BUCKETS: usize = 2048;

    /// A histogram from one count per bucket, in order. Counts beyond [`Self::BUCKETS`] go into the last bucket.
    pub fn from_counts(counts: impl IntoIterator<Item = u64>) -> Self {
        let mut histogram = Self::default();
        for (index, count) in counts.into_iter().enumerate() {
            if count > 0 {
                histogram.add(index.min(Self::BUCKETS - 1), count);
            }
        }
        histogram
    }

    /// Counts one duration in microseconds.
    pub fn record(&mut self, microseconds: u64) {
        self.add(Self::bucket(microseconds), 1);
    }

    /// The bucket of a duration in microseconds.
    pub fn bucket(microseconds: u64) -> usize {
        if microseconds < SUB_BUCKETS {
            // Fits: below 64.
            return microseconds as usize;
        }
        let shift = 63 - microseconds.leading_zeros() - SUB_BITS;
        let index = u64::from(shift) * SUB_BUCKETS + (microseconds >> shift);
        usize::try_from(index).map_or(Self::BUCKETS - 1, |index| index.min(Self::BUCKETS - 1))
    }

    /// Lower and upper end of a bucket in microseconds (lower included, upper not).
    pub fn bounds(bucket: usize) -> (u64, u64) {
        let bucket = bucket.min(Self::BUCKETS - 1) as u64;
        if bucket < 2 * SUB_BUCKETS {
            return (bucket, bucket + 1);
        }
        let shift = bucket / SUB_BUCKETS - 1;
        let sub = bucket - shift * SUB_BUCKETS;
        (sub << shift, (sub + 1) << shift)
    }

    /// Adds another histogram's counts.
    pub fn merge(&mut self, other: &Self) {
        for (bucket, count) in other.counts.iter().enumerate() {
            if *count > 0 {
                self.add(bucket, *count);
            }
        }
    }

    /// What was counted since `earlier`, a former state of the same histogram. A bucket that shrank (a torn read) counts
    /// as unchanged.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self::from_counts(self.counts.iter().enumerate().map(|(bucket, count)| {
            count.saturating_sub(earlier.counts.get(bucket).copied().unwrap_or_default())
        }))
    }

    /// Number of durations counted.
    pub fn total(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// The `q` quantile (0 to 1) in milliseconds, the middle of the bucket in which it lies (nearest-rank definition);
    /// none where nothing was counted or `q` is out of range.
    pub fn quantile_ms(&self, q: f64) -> Option<f64> {
        let total = self.total();
        if total == 0 || !(0.0..=1.0).contains(&q) {
            return None;
        }
        let rank = ((q * total as f64).ceil() as u64).clamp(1, total);
        let mut seen = 0;
        for (bucket, count) in self.counts.iter().enumerate() {
            seen += count;
            if seen >= rank {
                return Some(middle_us(bucket) / 1000.0);
            }
        }
        None
    }

    /// The longest duration in milliseconds, within the width of its bucket; none where nothing was counted.
    pub fn max_ms(&self) -> Option<f64> {
        self.quantile_ms(1.0)
    }

    /// The mean in milliseconds, from the buckets' middles; none where nothing was counted.
    pub fn mean_ms(&self) -> Option<f64> {
        let total = self.total();
        if total == 0 {
            return None;
        }
        let sum: f64 = self
            .counts
            .iter()
            .enumerate()
            .map(|(bucket, count)| middle_us(bucket) * *count as f64)
            .sum();
        Some(sum / total as f64 / 1000.0)
    }

    fn add(&mut self, bucket: usize, count: u64) {
        if self.counts.len() <= bucket {
            self.counts.resize(bucket + 1, 0);
        }
        self.counts[bucket] += count;
    }
}

/// Middle of a bucket in microseconds.
fn middle_us(bucket: usize) -> f64 {
    let (low, high) = Histogram::bounds(bucket);
    (low as f64 + high as f64) / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_empty_histogram_has_no_quantile() {
        let histogram = Histogram::default();
        assert_eq!(histogram.quantile_ms(0.95), None);
        assert_eq!(histogram.max_ms(), None);
        assert_eq!(histogram.mean_ms(), None);
    }

    #[test]
    fn percentiles_of_a_window_are_those_of_all_its_events_not_an_average() {
        // One second of 900 quick events and one of 100 slow ones: the averaged p95 would be 50.5 ms.
        let mut quick = Histogram::default();
        let mut slow = Histogram::default();
        (0..960).for_each(|_| quick.record(1_000));
        (0..40).for_each(|_| slow.record(100_000));
        quick.merge(&slow);
        assert!((quick.quantile_ms(0.95).unwrap() - 1.0).abs() < 0.02);
        assert!((quick.quantile_ms(0.97).unwrap() - 100.0).abs() < 1.6);
    }

    #[test]
    fn a_duration_beyond_the_range_goes_into_the_last_bucket() {
        assert_eq!(Histogram::bucket(u64::MAX), Histogram::BUCKETS - 1);
    }

    proptest! {
        #[test]
        fn a_duration_lies_in_its_bucket_and_the_bucket_is_narrow(us in 0u64..(1 << 36)) {
            let (low, high) = Histogram::bounds(Histogram::bucket(us));
            prop_assert!(low <= us && us < high);
            prop_assert!(high - low <= (low / 64).max(1));
        }

        #[test]
        fn buckets_are_in_the_order_of_durations(a in 0u64..(1 << 37), b in 0u64..(1 << 37)) {
            prop_assert_eq!(a <= b || Histogram::bucket(a) >= Histogram::bucket(b), true);
        }

        #[test]
        fn quantiles_are_within_two_percent_of_the_exact_ones(
            mut us in prop::collection::vec(50u64..10_000_000, 1..200),
            q in 0.0f64..=1.0,
        ) {
            let mut histogram = Histogram::default();
            us.iter().for_each(|us| histogram.record(*us));
            us.sort_unstable();
            let rank = ((q * us.len() as f64).ceil() as usize).clamp(1, us.len());
            let exact = us[rank - 1] as f64 / 1000.0;
            let read = histogram.quantile_ms(q).unwrap();
            prop_assert!((read - exact).abs() <= 0.02 * exact, "{} for {}", read, exact);
        }

        #[test]
        fn what_was_merged_can_be_taken_out_again(
            a in prop::collection::vec(0u64..100_000, 0..50),
            b in prop::collection::vec(0u64..100_000, 0..50),
        ) {
            let mut first = Histogram::default();
            a.iter().for_each(|us| first.record(*us));
            let mut second = Histogram::default();
            b.iter().for_each(|us| second.record(*us));
            let mut both = first.clone();
            both.merge(&second);
            prop_assert_eq!(both.total(), (a.len() + b.len()) as u64);
            prop_assert_eq!(both.since(&first), second);
        }
    }
}
