//! Units: sizes in bytes as the servers write them, and moments in time.
//!
//! Source: MariaDB and MySQL manuals, "Program options": a whole number with one suffix letter K, M, G, T, P or E,
//! powers of 1024.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A size in bytes. Displayed as the servers write it: the largest suffix that divides it (`128M`, `1536M`, `1000`).
///
/// ```
/// use noctune::units::Bytes;
///
/// let pool: Bytes = "1536M".parse().unwrap();
/// assert_eq!((pool.to_string(), pool.human()), ("1536M".to_owned(), "1.50 GiB".to_owned()));
///
/// // Servers take whole numbers only; the message has the spelling that works.
/// let refused = "1.5G".parse::<Bytes>().unwrap_err();
/// assert!(refused.to_string().contains("1536M"), "{refused}");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Bytes(pub u64);

/// The suffix letters of a size with the power of two each one stands for.
const SUFFIXES: [(char, u32); 6] = [('E', 60), ('P', 50), ('T', 40), ('G', 30), ('M', 20), ('K', 10)];

impl Bytes {
    /// `n` kibibytes.
    pub const fn kib(n: u64) -> Self {
        Self(n << 10)
    }

    /// `n` mebibytes.
    pub const fn mib(n: u64) -> Self {
        Self(n << 20)
    }

    /// `n` gibibytes.
    pub const fn gib(n: u64) -> Self {
        Self(n << 30)
    }

    /// For people: two significant decimals with a binary unit (`1.50 GiB`). Never for a my.cnf.
    pub fn human(self) -> String {
        let value = self.0 as f64;
        for (suffix, shift) in SUFFIXES {
            let unit = (1u64 << shift) as f64;
            if value >= unit {
                return format!("{:.2} {suffix}iB", value / unit);
            }
        }
        format!("{} B", self.0)
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 != 0 {
            for (suffix, shift) in SUFFIXES {
                if self.0 & ((1u64 << shift) - 1) == 0 {
                    return write!(f, "{}{suffix}", self.0 >> shift);
                }
            }
        }
        write!(f, "{}", self.0)
    }
}

/// Why a text is no size; the message names the spelling that would work where there is one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ParseBytesError {
    /// Neither digits nor digits and a suffix.
    #[error("\"{0}\" is not a size: write a whole number with one of K, M, G, T behind it, as in 64M")]
    NotASize(String),
    /// A fraction, as in `1.5G`; servers refuse it.
    #[error("\"{0}\" has a fraction, which servers refuse: write it in the next smaller unit{1}")]
    Fraction(String, String),
    /// More than 2^64-1.
    #[error("\"{0}\" is larger than any server takes (2^64-1 bytes)")]
    TooLarge(String),
}

impl FromStr for Bytes {
    type Err = ParseBytesError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let trimmed = text.trim();
        let not_a_size = || ParseBytesError::NotASize(text.to_owned());
        let (digits, shift) = match trimmed.chars().last() {
            Some(last) if last.is_ascii_alphabetic() => {
                let upper = last.to_ascii_uppercase();
                let shift = SUFFIXES
                    .iter()
                    .find(|(s, _)| *s == upper)
                    .map(|(_, shift)| *shift)
                    .ok_or_else(not_a_size)?;
                (&trimmed[..trimmed.len() - 1], shift)
            }
            Some(_) => (trimmed, 0),
            None => return Err(not_a_size()),
        };
        if let Some((whole, fraction)) = digits.split_once('.')
            && !whole.is_empty()
            && whole.chars().chain(fraction.chars()).all(|c| c.is_ascii_digit())
        {
            let suggestion = digits
                .parse::<f64>()
                .ok()
                .filter(|_| shift >= 10)
                .map(|value| (value * 1024.0).round() as u64)
                .map(|n| format!(", {}", Bytes(n << (shift - 10))))
                .unwrap_or_default();
            return Err(ParseBytesError::Fraction(text.to_owned(), suggestion));
        }
        if digits.is_empty() || !digits.chars().all(|c| c.is_ascii_digit()) {
            return Err(not_a_size());
        }
        let too_large = || ParseBytesError::TooLarge(text.to_owned());
        let number: u64 = digits.parse().map_err(|_| too_large())?;
        number.checked_mul(1u64 << shift).map(Self).ok_or_else(too_large)
    }
}

/// A moment in UTC, milliseconds since 1970-01-01. Never used for durations: those come from a monotonic clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct UtcMillis(pub i64);

impl fmt::Display for UtcMillis {
    /// RFC 3339 with the zone marked, e.g. `2024-03-31T01:59:30.000Z`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let time =
            u64::try_from(self.0).map(|ms| std::time::UNIX_EPOCH + std::time::Duration::from_millis(ms));
        match time {
            Ok(time) => write!(f, "{}", humantime::format_rfc3339_millis(time)),
            Err(_) => write!(f, "{} ms before 1970", self.0.unsigned_abs()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_size_is_written_with_the_largest_suffix_that_divides_it() {
        assert_eq!(Bytes::mib(1536).to_string(), "1536M");
        assert_eq!(Bytes::gib(2).to_string(), "2G");
        assert_eq!(Bytes(1000).to_string(), "1000");
        assert_eq!(Bytes(0).to_string(), "0");
    }

    #[test]
    fn a_fraction_is_refused_with_the_spelling_that_works() {
        let error = "1.5G".parse::<Bytes>().unwrap_err().to_string();
        assert!(error.contains("1536M"), "{error}");
    }

    #[test]
    fn what_servers_refuse_is_refused() {
        for text in [
            "",
            "G",
            "50%",
            "-1",
            "0x20",
            "4_000",
            "512 M",
            "64MB",
            "1e9x",
            "99999999999999999999",
        ] {
            assert!(text.parse::<Bytes>().is_err(), "{text}");
        }
    }

    #[test]
    fn moments_are_written_in_utc_with_the_zone() {
        assert_eq!(UtcMillis(0).to_string(), "1970-01-01T00:00:00.000Z");
    }

    proptest! {
        #[test]
        fn a_size_survives_being_written_and_read(n in any::<u64>()) {
            prop_assert_eq!(Bytes(n).to_string().parse::<Bytes>(), Ok(Bytes(n)));
        }
    }
}
