//! What is fixed when a data directory is made, and `innodb_data_file_path`: the files of the system tablespace, with names and sizes. Pure.
//!
//! Production's may lie anywhere, even on raw devices; a private server has files of the same names and sizes, in its own
//! data directory.

use std::collections::BTreeSet;

use crate::units::Bytes;

/// The setting.
pub const DATA_FILE_PATH: &str = "innodb_data_file_path";

/// Settings that are fixed when a data directory is made.
pub const GEOMETRY: [&str; 5] = [
    "innodb_page_size",
    DATA_FILE_PATH,
    "innodb_undo_tablespaces",
    "innodb_checksum_algorithm",
    "lower_case_table_names",
];

/// A value with every file moved into the data directory.
///
/// # Errors
/// Why there is no such value: a raw device, a name that is none, an unknown form.
pub fn own_data_files(value: &str) -> Result<String, String> {
    let mut names = BTreeSet::new();
    let mut own = Vec::new();
    for part in value.split(';').map(str::trim).filter(|part| !part.is_empty()) {
        let (path, layout) = part
            .split_once(':')
            .ok_or_else(|| format!("\"{part}\" has no size"))?;
        let layout = layout.trim().to_ascii_lowercase();
        if layout.ends_with("raw") {
            return Err(format!(
                "{path} is a raw device, which a private server must never open"
            ));
        }
        if size(&layout).is_none() {
            return Err(format!("\"{part}\" is no name with a size"));
        }
        let name = path.trim().rsplit('/').next().unwrap_or_default();
        let plain = name
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.'));
        if name.trim_matches('.').is_empty() || !plain {
            return Err(format!("\"{path}\" is no name of a file"));
        }
        if !names.insert(name) {
            return Err(format!("two files are called {name}"));
        }
        own.push(format!("{name}:{layout}"));
    }
    if own.is_empty() {
        return Err("it names no file".to_owned());
    }
    Ok(own.join(";"))
}

/// What the files take together when they are made.
pub fn data_files_size(value: &str) -> Bytes {
    let sizes = value
        .split(';')
        .filter_map(|part| size(&part.split_once(':')?.1.trim().to_ascii_lowercase()));
    Bytes(sizes.fold(0u64, |sum, size| sum.saturating_add(size.0)))
}

/// The size in `SIZE[:autoextend[:max:SIZE]]`, in lower case; none for another form.
fn size(layout: &str) -> Option<Bytes> {
    let parts: Vec<&str> = layout.split(':').collect();
    match parts.as_slice() {
        [size] | [size, "autoextend"] => size.parse().ok(),
        [size, "autoextend", "max", most] => {
            most.parse::<Bytes>().ok()?;
            size.parse().ok()
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_is_moved_into_the_data_directory_with_its_size() {
        for (value, own) in [
            ("ibdata1:12M:autoextend", "ibdata1:12m:autoextend"),
            ("/fast/ibdata1:10G", "ibdata1:10g"),
            (
                "../a/ibdata1:50M;/srv/b/ibdata2:50M:autoextend:max:500M",
                "ibdata1:50m;ibdata2:50m:autoextend:max:500m",
            ),
        ] {
            assert_eq!(own_data_files(value).unwrap(), own);
        }
        assert_eq!(
            data_files_size("/a/x:10M;/b/y:2G:autoextend").0,
            (10 << 20) + (2 << 30)
        );
    }

    #[test]
    fn raw_devices_and_what_is_no_file_are_refused() {
        for value in [
            "/dev/sdb1:3Gnewraw",
            "/dev/sdb1:3Graw",
            "..:10M",
            "/srv/:10M",
            "ibdata1",
            "ibdata1:10M:autoextend:min:1M",
            "/a/ibdata1:1M;/b/ibdata1:1M",
            "",
        ] {
            assert!(own_data_files(value).is_err(), "{value}");
        }
    }
}
