//! `noctune init`: a commented study file for this host and server.

use std::path::{Path, PathBuf};

use super::{Global, output};
use crate::error::{Error, IoContext as _, Result};
use crate::server::ServerBinary;
use crate::setup::write_atomically;
use crate::space::embedded;
use crate::strategy;

/// Where a my.cnf lies by default, in the order servers look (MariaDB and MySQL manuals, "Option files").
const USUAL: [&str; 3] = ["/etc/my.cnf", "/etc/mysql/my.cnf", "/usr/etc/my.cnf"];

/// Writes `study.toml` into `dir`.
pub(super) async fn run(global: &Global, dir: &Path, server: Option<&str>, force: bool) -> Result<u8> {
    let path = dir.join("study.toml");
    if path.exists() && !force {
        return Err(Error::input("there is a study file already")
            .at(path.display().to_string())
            .next("pass --force to replace it, or name another folder"));
    }
    let binary = find(server).await?;
    std::fs::create_dir_all(dir).context("cannot make the folder", dir)?;
    let baseline = USUAL.iter().map(PathBuf::from).find(|path| path.is_file());
    write_atomically(&path, &text(&binary, baseline.as_deref()))?;
    if global.json {
        output::print_json(
            &serde_json::json!({ "format": 1, "study": path, "server": binary.banner, "baseline": baseline }),
        )?;
    } else {
        output::print(&format!(
            "wrote {}\nnext: read it, then `noctune check {0}` and `noctune tune {0}`",
            path.display()
        ))?;
    }
    Ok(0)
}

async fn find(server: Option<&str>) -> Result<ServerBinary> {
    match server {
        Some(name) => ServerBinary::find(name).await,
        None => match ServerBinary::find("mariadbd").await {
            Ok(binary) => Ok(binary),
            Err(error) => ServerBinary::find("mysqld").await.map_err(|_| error),
        },
    }
}

fn quoted(path: &Path) -> String {
    toml::Value::String(path.display().to_string()).to_string()
}

fn text(binary: &ServerBinary, baseline: Option<&Path>) -> String {
    let server = quoted(&binary.path);
    let banner = &binary.banner;
    let baseline = match baseline {
        Some(path) => format!(
            "baseline = {}    # the my.cnf to beat, read as this server reads it",
            quoted(path)
        ),
        None => {
            "# baseline = \"/etc/mysql/my.cnf\"    # the my.cnf to beat; without it: the server's defaults"
                .to_owned()
        }
    };
    let presets = strategy::names().join(", ");
    let classes = embedded::machine_class_names().join(", ");
    let families = embedded::family_names().join(", ");
    format!(
        r#"# A study of noctune. `noctune check study.toml` shows what it will do; `noctune tune study.toml` does it.
format = 1

[study]
name = "study"                # its folder below --results
seed = 1                      # same seed, same proposals

[server]
binary = {server}    # {banner}
{baseline}

[hardware]
class = "probe"               # this host; or one of: {classes}; or a file
# connections = 300           # what the memory arithmetic must bear, where more than the baseline's max_connections

[space]
# all families: {families}; or files of your own
families = ["memory", "redo", "io", "session", "threads", "contention"]
durability = "keep"           # never less safe than the baseline; full, data, os-1s, crash-1s or explore

# [space.knob.innodb_io_capacity]    # narrow, widen, fix or add a knob
# max = 4000

# [[space.constraint]]
# name = "leave room"
# require = "innodb_buffer_pool_size <= 0.7 * ram"

[workload]
kind = "sysbench"
script = "oltp_read_write"    # a bundled name, or a path to a Lua script
threads = 16
options = {{ tables = 8, table-size = 250000, rand-type = "uniform" }}

[trial]
reset = "auto"                # auto, reflink or copy
caches = {{ drop = "files" }}   # files: the trial's own; all: the host's (root); none
warmup = "auto"               # until the throughput is steady
measure = {{ min = "20s", max = "60s" }}

[[objective]]
metric = "tps"                # transactions per second, write debt counted
goal = "maximize"

# [[constraint]]
# require = "p95_ms <= 1.1 * baseline.p95_ms"

[strategy]
preset = "bayes"              # {presets}; or a file
rule_of_thumb = true          # measure the expert's first guess before the search

[budget]
time = "8h"

[confirm]
reserve = 0.25                # share of the budget kept for the confirmation
min_gain = 0.01               # the smallest gain worth reporting

[finish]
run = ""                      # a command at the end; NOCTUNE_VERDICT and NOCTUNE_FOLDER tell it what came of the night
"#
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::Version;
    use crate::space::Flavor;
    use crate::study::Study;

    #[test]
    fn what_init_writes_is_a_study_that_reads_back_with_the_defaults() {
        let binary = ServerBinary {
            path: PathBuf::from("/usr/sbin/mariadbd"),
            flavor: Flavor::MariaDb,
            version: Version {
                major: 10,
                minor: 11,
                patch: 19,
            },
            banner: "10.11.19-MariaDB for debian-linux-gnu".to_owned(),
            build_id: "0".to_owned(),
        };
        for baseline in [None, Some(Path::new("/etc/mysql/my.cnf"))] {
            let study = Study::parse(&text(&binary, baseline), "study.toml").unwrap();
            assert_eq!(
                study.server.baseline.as_deref(),
                baseline.map(|path| path.to_str().unwrap())
            );
            assert_eq!(study.workload, Study::default().workload);
            assert_eq!(study.space, Study::default().space);
        }
    }
}
