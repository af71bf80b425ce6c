//! Durations as study files write them: `90s`, `5m`, `8h`.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// A duration, written as `90s`, `5m`, `8h`, `1h 30m`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(pub Duration);

impl Time {
    /// `n` seconds.
    pub const fn seconds(n: u64) -> Self {
        Self(Duration::from_secs(n))
    }

    /// In seconds.
    pub fn as_secs_f64(self) -> f64 {
        self.0.as_secs_f64()
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", humantime::format_duration(self.0))
    }
}

impl Serialize for Time {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl de::Visitor<'_> for Visitor {
            type Value = Time;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a duration with its unit, as in \"90s\", \"5m\" or \"8h\"")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Time, E> {
                parse(text).map(Time).map_err(E::custom)
            }
        }
        deserializer.deserialize_str(Visitor)
    }
}

/// Parses a duration; the message says how to write it.
pub(super) fn parse(text: &str) -> Result<Duration, String> {
    humantime::parse_duration(text).map_err(|error| {
        format!("\"{text}\" is no duration ({error}): write it with its unit, as in 90s, 5m or 8h")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_written_reads_back_equal(seconds in 0u64..10_000_000) {
            let time = Time::seconds(seconds);
            prop_assert_eq!(parse(&time.to_string()).unwrap(), time.0);
        }
    }

    #[test]
    fn a_bare_number_has_no_unit_and_is_refused() {
        assert!(parse("90").unwrap_err().contains("90s"));
    }
}
