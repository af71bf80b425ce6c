//! Files of machine classes.

use serde::Deserialize;

use super::super::{MachineClass, Storage};
use super::strict::read_strict;
use crate::error::{Error, Result};
use crate::units::Bytes;

/// All keys of a machine class file, for suggestions.
pub const HARDWARE_KEYS: &[&str] = &[
    "format",
    "name",
    "cores",
    "ram",
    "disk_free",
    "storage",
    "connections",
    "source",
];

#[derive(Deserialize)]
struct HardwareFile {
    format: u32,
    name: String,
    cores: u32,
    ram: toml::Value,
    disk_free: toml::Value,
    storage: Storage,
    connections: Option<u32>,
    #[serde(default)]
    source: String,
}

/// Reads `text`, the contents of the machine class file `name`. Sizes need a unit: `2000` could be anything.
///
/// ```
/// use noctune::space::file::parse_hardware;
/// use noctune::units::Bytes;
///
/// let text = r#"
///     format = 1
///     name = "small"
///     cores = 2
///     ram = "4G"
///     disk_free = "40G"
///     storage = "ssd"
/// "#;
/// assert_eq!(parse_hardware(text, "small.toml").unwrap().ram, Bytes::gib(4));
/// ```
///
/// # Errors
/// As [`read_strict`]; a size without a unit; no cores; another format.
pub fn parse_hardware(text: &str, name: &str) -> Result<MachineClass> {
    let file: HardwareFile = read_strict(text, name, HARDWARE_KEYS)?;
    if file.format != 1 {
        return Err(Error::input(format!("format {} is not known here", file.format))
            .at(name)
            .next("write format = 1, or use a newer noctune"));
    }
    if file.cores == 0 {
        return Err(Error::input("a machine class has at least one core").at(name));
    }
    Ok(MachineClass {
        name: file.name,
        cores: file.cores,
        ram: size(&file.ram, "ram", name)?,
        disk_free: size(&file.disk_free, "disk_free", name)?,
        storage: file.storage,
        connections: file.connections,
        source: file.source,
    })
}

fn size(value: &toml::Value, key: &str, file: &str) -> Result<Bytes> {
    let text = match value {
        toml::Value::String(text) => text.trim().to_owned(),
        other => other.to_string(),
    };
    if !text.is_empty() && text.chars().all(|c| c.is_ascii_digit()) {
        return Err(Error::input(format!("{key} = {text} has no unit"))
            .at(file)
            .next(format!(
                "write \"{text}M\" for mebibytes, \"{text}G\" for gibibytes"
            )));
    }
    text.parse()
        .map_err(|error| Error::input(format!("{key}: {error}")).at(file))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_without_a_unit_is_refused_with_the_spelling_that_works() {
        for ram in ["2000", "\"2000\""] {
            let text = format!(
                "format = 1\nname = \"small\"\ncores = 1\nram = {ram}\ndisk_free = \"1G\"\nstorage = \"ssd\"\n"
            );
            let told = parse_hardware(&text, "small.toml").unwrap_err().to_string();
            assert!(
                told.contains("ram = 2000 has no unit") && told.contains("\"2000M\" for mebibytes"),
                "{told}"
            );
            assert_eq!(
                parse_hardware(&text.replace(ram, "\"2000M\""), "small.toml")
                    .unwrap()
                    .ram,
                Bytes::mib(2000)
            );
        }
    }
}
