//! A series as one compressed, versioned blob.
//!
//! Layout: one byte of version (1), the number of samples as u32 little-endian, then a zlib stream (its checksum finds damage) of
//! the times, a validity bitmap (bit `i % 8` of byte `i / 8`), and the valid values. Numbers are the bits of an f64, each
//! XORed with the one before and stored by byte plane (all lowest bytes first): slow changes become runs of zeros. Lossless.

use std::io::{Read, Write};

use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;

use crate::trial::Series;

/// Version of the layout above.
const VERSION: u8 = 1;
/// Bytes before the compressed part.
const HEADER: usize = 5;
/// More samples than any trial has (thirty years of seconds); guards against memory asked for by a damaged header.
const MOST_SAMPLES: u32 = 1 << 30;

/// The blob of a series. A value that is not finite counts as missing; samples without a finite time, and the longer end of
/// unequal columns, are left out.
pub(super) fn encode(series: &Series) -> Vec<u8> {
    let samples: Vec<(f64, Option<f64>)> = series
        .at
        .iter()
        .copied()
        .zip(series.values.iter().map(|value| value.filter(|v| v.is_finite())))
        .filter(|(at, _)| at.is_finite())
        .take(MOST_SAMPLES as usize)
        .collect();
    let mut plain = planes(samples.iter().map(|(at, _)| *at));
    let mut valid = vec![0u8; samples.len().div_ceil(8)];
    for (i, (_, value)) in samples.iter().enumerate() {
        if value.is_some() {
            valid[i / 8] |= 1 << (i % 8);
        }
    }
    plain.extend_from_slice(&valid);
    plain.extend(planes(samples.iter().filter_map(|(_, value)| *value)));

    let mut blob = vec![VERSION];
    blob.extend_from_slice(&(samples.len() as u32).to_le_bytes());
    let mut encoder = ZlibEncoder::new(blob, Compression::default());
    let written = encoder.write_all(&plain).and_then(|()| encoder.finish());
    #[expect(clippy::expect_used, reason = "writing to a Vec never fails")]
    written.expect("a Vec takes every byte")
}

/// The series of a blob; an error says in words what is wrong with it.
pub(super) fn decode(name: &str, blob: &[u8]) -> Result<Series, String> {
    let (&version, rest) = blob.split_first().ok_or("the blob is empty")?;
    if version != VERSION {
        return Err(format!(
            "the blob has format {version}, this version knows {VERSION}: use a newer noctune"
        ));
    }
    let (count, stream) = rest
        .split_first_chunk::<4>()
        .ok_or_else(|| format!("the blob is shorter than its header of {HEADER} bytes"))?;
    let count = u32::from_le_bytes(*count);
    if count > MOST_SAMPLES {
        return Err(format!("the blob claims {count} samples"));
    }
    let count = count as usize;
    let bitmap = count.div_ceil(8);
    let most = (16 * count + bitmap) as u64;
    let mut plain = Vec::new();
    ZlibDecoder::new(stream)
        .take(most + 1)
        .read_to_end(&mut plain)
        .map_err(|error| format!("the blob is damaged: {error}"))?;
    let (at, rest) = plain.split_at_checked(8 * count).ok_or("the blob ends early")?;
    let (valid, values) = rest.split_at_checked(bitmap).ok_or("the blob ends early")?;
    let is_valid = |i: usize| valid[i / 8] & (1 << (i % 8)) != 0;
    let valid_count = (0..count).filter(|i| is_valid(*i)).count();
    if values.len() != 8 * valid_count {
        return Err(format!(
            "the blob holds {} bytes of values, {} were promised",
            values.len(),
            8 * valid_count
        ));
    }
    let mut present = numbers(values).into_iter();
    Ok(Series {
        name: name.to_owned(),
        at: numbers(at),
        values: (0..count)
            .map(|i| if is_valid(i) { present.next() } else { None })
            .collect(),
    })
}

/// Numbers as byte planes of their XORed bits.
fn planes(numbers: impl Iterator<Item = f64>) -> Vec<u8> {
    let mut before = 0u64;
    let words: Vec<[u8; 8]> = numbers
        .map(|x| {
            let bits = x.to_bits();
            let changed = bits ^ before;
            before = bits;
            changed.to_le_bytes()
        })
        .collect();
    (0..8)
        .flat_map(|plane| words.iter().map(move |word| word[plane]))
        .collect()
}

/// The inverse of [`planes`].
fn numbers(planes: &[u8]) -> Vec<f64> {
    let count = planes.len() / 8;
    let mut bits = 0u64;
    (0..count)
        .map(|i| {
            let word: [u8; 8] = std::array::from_fn(|plane| planes[plane * count + i]);
            bits ^= u64::from_le_bytes(word);
            f64::from_bits(bits)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn series(samples: &[(f64, Option<f64>)]) -> Series {
        Series {
            name: "tps".to_owned(),
            at: samples.iter().map(|(at, _)| *at).collect(),
            values: samples.iter().map(|(_, value)| *value).collect(),
        }
    }

    /// All finite numbers, from the smallest to the largest.
    fn finite() -> impl Strategy<Value = f64> {
        any::<f64>().prop_filter("finite", |x| x.is_finite())
    }

    proptest! {
        #[test]
        fn every_finite_series_survives_to_the_last_bit(
            samples in prop::collection::vec((finite(), prop::option::of(finite())), 0..100)
        ) {
            let before = series(&samples);
            let after = decode("tps", &encode(&before)).unwrap();
            prop_assert_eq!(&after, &before);
            let bits = |s: &Series| s.values.iter().map(|v| v.map(f64::to_bits)).collect::<Vec<_>>();
            prop_assert_eq!(bits(&after), bits(&before));
        }

        #[test]
        fn a_damaged_blob_is_an_error_or_harmless_but_never_a_panic(
            samples in prop::collection::vec((finite(), prop::option::of(finite())), 1..20),
            at in any::<prop::sample::Index>(),
            byte in any::<u8>(),
        ) {
            let mut blob = encode(&series(&samples));
            let at = at.index(blob.len());
            blob[at] = byte;
            let _ = decode("tps", &blob);
        }
    }

    #[test]
    fn what_is_not_a_number_becomes_missing() {
        let before = series(&[
            (1.0, Some(f64::NAN)),
            (2.0, Some(f64::INFINITY)),
            (f64::NAN, Some(1.0)),
            (3.0, Some(5.0)),
        ]);
        let after = decode("tps", &encode(&before)).unwrap();
        assert_eq!(after, series(&[(1.0, None), (2.0, None), (3.0, Some(5.0))]));
    }

    #[test]
    fn a_blob_of_a_later_format_is_refused_by_name() {
        let mut blob = encode(&series(&[(1.0, Some(2.0))]));
        blob[0] = 9;
        let error = decode("tps", &blob).unwrap_err();
        assert!(error.contains("format 9"), "{error}");
    }

    #[test]
    fn a_blob_cut_short_is_an_error() {
        let blob = encode(&series(&[(1.0, Some(2.0)), (2.0, None), (3.0, Some(7.5))]));
        for end in 0..blob.len() {
            assert!(decode("tps", &blob[..end]).is_err(), "cut at {end}");
        }
    }

    #[test]
    fn an_hour_of_steady_samples_is_much_smaller_than_its_numbers() {
        let samples: Vec<_> = (1..=3600)
            .map(|s| (f64::from(s), Some(800.0 + f64::from(s % 7))))
            .collect();
        assert!(encode(&series(&samples)).len() < 3600 * 16 / 4);
    }
}
