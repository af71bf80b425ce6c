//! Paired blocks: one run of each arm in each block, orders balanced over the blocks, one log ratio per block.
//!
//! Source: E. J. Williams (1949), "Experimental designs balanced for the estimation of residual effects of treatments".

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

use super::{Interval, t_critical};

/// The t interval of a ratio from one log ratio per block, on the scale of the ratio: the point is the geometric mean.
/// None with fewer than two blocks or with a value that is not finite.
///
/// ```
/// use noctune::stats::ratio_interval;
///
/// // Transactions per second of the two arms in five blocks: the host got slower, the ratio stayed.
/// let blocks = [(520.0, 400.0), (470.0, 370.0), (455.0, 350.0), (400.0, 300.0), (330.0, 260.0)];
/// let log_ratios = blocks.map(|(best, baseline): (f64, f64)| (best / baseline).ln());
/// let gain = ratio_interval(&log_ratios, 0.95).unwrap();
/// assert!((gain.point - 1.29).abs() < 0.01);
/// assert!(gain.low > 1.25 && gain.high < 1.35, "known to a few percent");
/// assert_eq!(ratio_interval(&log_ratios[..1], 0.95), None);
/// ```
pub fn ratio_interval(log_ratios: &[f64], level: f64) -> Option<Interval> {
    let n = log_ratios.len() as f64;
    if log_ratios.len() < 2 || log_ratios.iter().any(|x| !x.is_finite()) {
        return None;
    }
    let mean = log_ratios.iter().sum::<f64>() / n;
    let variance = log_ratios.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n - 1.0);
    let half = t_critical(level, n - 1.0)? * (variance / n).sqrt();
    Some(Interval {
        point: mean.exp(),
        low: (mean - half).exp(),
        high: (mean + half).exp(),
        level,
    })
}

/// The half width, as a log ratio, that a t interval of `blocks` pairs is expected to have when single runs vary by
/// `cv` (a share). None with fewer than two blocks.
pub fn expected_half_width(cv: f64, blocks: u32, level: f64) -> Option<f64> {
    let n = f64::from(blocks);
    Some(t_critical(level, n - 1.0)? * cv * (2.0 / n).sqrt())
}

/// The order of `arms` arms (as indices) in block `block` (from 0), balanced over blocks and decided by `seed`.
///
/// Two arms alternate (AB, BA, ...); three follow a Williams design: within six blocks each arm stands twice at each
/// place and follows each other arm equally often. More arms rotate cyclically.
pub fn block_order(arms: usize, block: u32, seed: u64) -> Vec<usize> {
    let mut labels: Vec<usize> = (0..arms).collect();
    labels.shuffle(&mut ChaCha8Rng::seed_from_u64(seed));
    let block = block as usize;
    let places: Vec<usize> = if arms == 3 {
        const SQUARES: [[usize; 3]; 6] = [[0, 1, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0], [0, 2, 1], [1, 0, 2]];
        SQUARES[block % 6].to_vec()
    } else {
        (0..arms).map(|place| (place + block) % arms).collect()
    };
    places.into_iter().map(|place| labels[place]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rand::Rng;

    /// A standard normal by Box and Muller.
    fn normal(rng: &mut ChaCha8Rng) -> f64 {
        let (u, v): (f64, f64) = (rng.random_range(1e-12..1.0), rng.random());
        (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos()
    }

    #[test]
    fn five_blocks_at_eight_percent_noise_cover_the_truth_in_95_of_100_nights() {
        let mut rng = ChaCha8Rng::seed_from_u64(5);
        let nights = 4000;
        let truth: f64 = 1.07;
        let covered = (0..nights)
            .filter(|_| {
                let ratios: Vec<f64> = (0..5)
                    .map(|_| {
                        // Drift common to a block cancels within it.
                        let drift = 0.2 * normal(&mut rng);
                        let best = truth.ln() + drift + 0.08 * normal(&mut rng);
                        let base = drift + 0.08 * normal(&mut rng);
                        best - base
                    })
                    .collect();
                let interval = ratio_interval(&ratios, 0.95).unwrap();
                interval.low <= truth && truth <= interval.high
            })
            .count();
        let share = covered as f64 / f64::from(nights);
        assert!((0.93..=0.97).contains(&share), "coverage {share}");
    }

    #[test]
    fn blocks_without_any_variation_give_an_interval_of_no_width() {
        let interval = ratio_interval(&[0.0; 5], 0.95).unwrap();
        assert_eq!((interval.low, interval.point, interval.high), (1.0, 1.0, 1.0));
    }

    #[test]
    fn one_block_has_no_interval() {
        assert_eq!(ratio_interval(&[0.1], 0.95), None);
        assert_eq!(ratio_interval(&[0.1, f64::NAN], 0.95), None);
        assert_eq!(expected_half_width(0.08, 1, 0.95), None);
    }

    #[test]
    fn the_expected_half_width_shrinks_with_blocks() {
        let five = expected_half_width(0.08, 5, 0.95).unwrap();
        assert!((five - 2.776 * 0.08 * (0.4f64).sqrt()).abs() < 1e-3);
        assert!(expected_half_width(0.08, 10, 0.95).unwrap() < five);
    }

    #[test]
    fn three_arms_stand_at_each_place_and_follow_each_other_equally_often() {
        let orders: Vec<_> = (0..6).map(|b| block_order(3, b, 11)).collect();
        for place in 0..3 {
            for arm in 0..3 {
                assert_eq!(orders.iter().filter(|o| o[place] == arm).count(), 2);
            }
        }
        for (first, then) in [(0, 1), (0, 2), (1, 0), (1, 2), (2, 0), (2, 1)] {
            let follows = orders
                .iter()
                .flat_map(|o| o.windows(2))
                .filter(|w| w == &[first, then])
                .count();
            assert_eq!(follows, 2);
        }
    }

    proptest! {
        #[test]
        fn two_arms_alternate(seed: u64, block in 0u32..50) {
            let mut order = block_order(2, block, seed);
            let next = block_order(2, block + 1, seed);
            order.reverse();
            prop_assert_eq!(order, next);
        }

        #[test]
        fn every_order_names_every_arm_once(arms in 1usize..5, block in 0u32..50, seed: u64) {
            let mut order = block_order(arms, block, seed);
            order.sort_unstable();
            prop_assert_eq!(order, (0..arms).collect::<Vec<_>>());
        }
    }
}
