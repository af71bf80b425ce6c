//! The memory arithmetic: what a server with given settings may take, item by item, before it is started.
//!
//! Global buffers + per-connection buffers × connections + allowances for joins, temporary tables, thread stacks, the
//! performance schema and the page cache. Connections are max(`max_connections` of the baseline, those of the machine
//! class), never the benchmark's threads: the recommendation has to hold in production.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::Value;
use super::hardware::MachineClass;
use super::server_facts::switch;
use crate::units::Bytes;

/// One connection in this many is taken to hold a temporary table of the largest size at once.
pub(super) const TEMPORARY_TABLE_SHARE: u64 = 16;
/// The buffer pool's own bookkeeping (block descriptors, hash tables) as one in this many of its bytes: about 3 %.
pub(super) const POOL_BOOKKEEPING: u64 = 32;
/// One in this many bytes of RAM is left to the page cache (binlog, redo, temporary files, binaries).
pub(super) const PAGE_CACHE_SHARE: u64 = 16;
/// The performance schema at its default sizes: a fixed part, and a part for each connection. Estimates.
pub(super) const PERFORMANCE_SCHEMA: (Bytes, Bytes) = (Bytes::mib(96), Bytes::kib(512));

/// One line of the bill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Item {
    /// What takes the memory.
    pub label: String,
    /// How it comes about, e.g. `151 × 2.43 MiB`; empty for a plain setting.
    pub arithmetic: String,
    /// How much.
    pub bytes: Bytes,
}

/// What a server may take, item by item, against what the machine class has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryBill {
    /// The items; those of zero bytes are left out.
    pub items: Vec<Item>,
    /// Their sum.
    pub total: Bytes,
    /// What there is.
    pub limit: Bytes,
}

/// Global buffers with their variables.
const GLOBAL: [(&str, &str); 5] = [
    ("InnoDB buffer pool", "innodb_buffer_pool_size"),
    ("InnoDB log buffer", "innodb_log_buffer_size"),
    ("MyISAM key buffer", "key_buffer_size"),
    ("Aria page cache", "aria_pagecache_buffer_size"),
    ("query cache", "query_cache_size"),
];

/// Buffers that every connection may hold.
const SESSION: [&str; 4] = [
    "sort_buffer_size",
    "read_buffer_size",
    "read_rnd_buffer_size",
    "net_buffer_length",
];

impl MemoryBill {
    /// The bill of a server with the effective settings `variable`, on `class`; `baseline_connections` is the baseline's
    /// `max_connections`. Settings that are not there cost nothing.
    pub fn of(
        variable: impl Fn(&str) -> Option<Value>,
        baseline_connections: Option<u64>,
        class: &MachineClass,
    ) -> Self {
        let size = |name: &str| -> u64 {
            match variable(name) {
                Some(Value::Int(n)) => u64::try_from(n).unwrap_or(0),
                Some(other) => other.as_f64().map_or(0, |x| x as u64),
                None => 0,
            }
        };
        let on = |name: &str| variable(name).is_some_and(|v| switch(&v.to_string()) == Some(true));
        let connections = baseline_connections
            .unwrap_or(0)
            .max(u64::from(class.connections.unwrap_or(0)))
            .max(size("max_connections"));
        let mut items = Vec::new();
        let mut add = |label: &str, arithmetic: String, bytes: u64| {
            if bytes > 0 {
                items.push(Item {
                    label: label.to_owned(),
                    arithmetic,
                    bytes: Bytes(bytes),
                });
            }
        };
        for (label, name) in GLOBAL {
            // The query cache takes its memory only where it is on.
            let counts = name != "query_cache_size"
                || variable("query_cache_type")
                    .is_none_or(|v| !matches!(v.to_string().as_str(), "OFF" | "0"));
            add(label, String::new(), if counts { size(name) } else { 0 });
            if name == "innodb_buffer_pool_size" {
                add(
                    "its bookkeeping",
                    format!("1/{POOL_BOOKKEEPING} of it"),
                    size(name) / POOL_BOOKKEEPING,
                );
            }
        }
        let each = |n: u64, bytes: u64| (format!("{n} × {}", Bytes(bytes).human()), n.saturating_mul(bytes));
        let mut session = SESSION
            .iter()
            .fold(0u64, |sum, name| sum.saturating_add(size(name)));
        if on("log_bin") {
            session = session.saturating_add(size("binlog_cache_size"));
        }
        let (arithmetic, bytes) = each(connections, session);
        add("session buffers", arithmetic, bytes);
        let (arithmetic, bytes) = each(connections, size("join_buffer_size"));
        add("a join of each connection", arithmetic, bytes);
        let (arithmetic, bytes) = each(
            connections.div_ceil(TEMPORARY_TABLE_SHARE),
            size("tmp_table_size").min(size("max_heap_table_size")),
        );
        add("temporary tables, 1 connection in 16", arithmetic, bytes);
        let (arithmetic, bytes) = each(connections, size("thread_stack"));
        add("thread stacks", arithmetic, bytes);
        if on("performance_schema") {
            let (fixed, per) = PERFORMANCE_SCHEMA;
            let bytes = fixed.0.saturating_add(connections.saturating_mul(per.0));
            add(
                "performance schema",
                format!("{} + {connections} × {}", fixed.human(), per.human()),
                bytes,
            );
        }
        add(
            "left to the page cache",
            format!("1/{PAGE_CACHE_SHARE} of RAM"),
            class.ram.0 / PAGE_CACHE_SHARE,
        );
        let total = items
            .iter()
            .fold(0u64, |sum, item| sum.saturating_add(item.bytes.0));
        Self {
            items,
            total: Bytes(total),
            limit: class.ram,
        }
    }

    /// Whether it fits.
    pub fn fits(&self) -> bool {
        self.total <= self.limit
    }

    /// The sentence for a bill that does not fit, with the sum.
    pub fn too_much(&self, what: &str) -> String {
        format!(
            "{what} may take {} of memory, the machine class has {}\n{self}",
            self.total.human(),
            self.limit.human()
        )
    }
}

impl fmt::Display for MemoryBill {
    /// An aligned table with the sum, the limit, and what is left or missing.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let label = |item: &Item| {
            if item.arithmetic.is_empty() {
                item.label.clone()
            } else {
                format!("{} ({})", item.label, item.arithmetic)
            }
        };
        let width = self
            .items
            .iter()
            .map(|item| label(item).chars().count())
            .chain([26])
            .max()
            .unwrap_or(0);
        for item in &self.items {
            writeln!(f, "{:<width$}  {:>12}", label(item), item.bytes.human())?;
        }
        writeln!(f, "{:<width$}  {:>12}", "together", self.total.human())?;
        writeln!(
            f,
            "{:<width$}  {:>12}",
            "memory of the machine class",
            self.limit.human()
        )?;
        let (word, gap) = if self.fits() {
            ("left", self.limit.0 - self.total.0)
        } else {
            ("missing", self.total.0 - self.limit.0)
        };
        write!(f, "{word:<width$}  {:>12}", Bytes(gap).human())
    }
}
