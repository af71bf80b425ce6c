//! The host: processes, caches, limits, and what can be known of it.

mod caches;
mod cgroup;
mod child;
mod guardian;
mod identity;
mod kernel_log;
mod memory;
mod others;
mod probe;
mod process;
mod run_as;
mod sampler;
mod standstill;
mod storage;
mod supervisor;

pub use caches::{DiskCounters, drop_all, evict_tree, wait_disk_idle};
pub use cgroup::{Cgroup, Limits};
pub use child::{Child, Exit};
pub use guardian::{Guardian, end_leftovers};
pub(crate) use identity::processes_in;
pub use identity::{Identity, boot_id};
pub use kernel_log::killed_for_memory;
pub use memory::MemoryProbe;
pub use others::{CpuTicks, OtherLoad, OtherServer, other_load};
pub use probe::{Fingerprint, cores};
pub use process::{Output, Spawn, open_files_limit};
pub use run_as::RunAs;
pub use sampler::{HostSample, Swapping};
pub use standstill::standstill;
pub use storage::{Storage, existing};
pub use supervisor::supervise;
