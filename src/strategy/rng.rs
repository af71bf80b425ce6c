//! Random numbers that depend on nothing but the study's seed, how far it is, and what they are for.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use sha2::{Digest, Sha256};

use super::Search;

/// The generator for `purpose` at this state of the search: the same search gives the same numbers on any machine.
/// `asked` counts the proposals already made within the same call.
pub(super) fn generator(search: &Search<'_>, asked: usize, purpose: &str) -> ChaCha8Rng {
    let count = search.observations.len() + search.pending.len() + asked;
    let mut hasher = Sha256::new();
    hasher.update(search.seed.to_le_bytes());
    hasher.update((count as u64).to_le_bytes());
    hasher.update(purpose.as_bytes());
    ChaCha8Rng::from_seed(hasher.finalize().into())
}

/// A 32-bit seed for `purpose` that stays the same for the whole study.
pub(super) fn study_seed(seed: u64, purpose: &str) -> u32 {
    let mut hasher = Sha256::new();
    hasher.update(seed.to_le_bytes());
    hasher.update(purpose.as_bytes());
    let digest = hasher.finalize();
    u32::from_le_bytes([digest[0], digest[1], digest[2], digest[3]])
}

/// A standard normal number (Box and Muller).
pub(super) fn normal(rng: &mut impl Rng) -> f64 {
    let radius = (-2.0 * (1.0 - rng.random::<f64>()).ln()).sqrt();
    radius * (std::f64::consts::TAU * rng.random::<f64>()).cos()
}
