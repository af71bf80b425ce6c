//! Machine classes: the hardware a study tunes for, declared in a file or probed from the host.

use serde::{Deserialize, Serialize};

use super::Value;
use super::expr::Scope;
use crate::units::Bytes;

/// Kind of the storage under the data directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Storage {
    /// A spinning disk: seeks dominate.
    Hdd,
    /// A solid-state disk behind SATA, or a network volume; the careful choice where the kind is unknown.
    #[default]
    Ssd,
    /// A solid-state disk on the bus.
    Nvme,
}

impl Storage {
    /// The word for it in files and expressions.
    pub fn name(self) -> &'static str {
        match self {
            Self::Hdd => "hdd",
            Self::Ssd => "ssd",
            Self::Nvme => "nvme",
        }
    }
}

/// A hardware profile: what bounds and the memory arithmetic are computed from.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct MachineClass {
    /// Its name, e.g. `4-cores-8g-ssd` or `probe`.
    pub name: String,
    /// Processor cores.
    pub cores: u32,
    /// Memory the server may use. Of a probed host: min(cgroup limit, MemTotal, MemAvailable less 10 %).
    pub ram: Bytes,
    /// Disk space for data, redo and binlog beyond what the template takes.
    pub disk_free: Bytes,
    /// What the data lies on.
    pub storage: Storage,
    /// Connections production may open at once, where more than the baseline's `max_connections`.
    pub connections: Option<u32>,
    /// Where the numbers come from.
    pub source: String,
}

impl Scope for MachineClass {
    fn get(&self, name: &str) -> Option<Value> {
        let size = |bytes: Bytes| Value::Int(i64::try_from(bytes.0).unwrap_or(i64::MAX));
        match name {
            "ram" => Some(size(self.ram)),
            "disk_free" => Some(size(self.disk_free)),
            "cores" => Some(Value::Int(i64::from(self.cores))),
            "storage" => Some(Value::from(self.storage.name())),
            "connections" => self.connections.map(|n| Value::Int(i64::from(n))),
            _ => None,
        }
    }
}
