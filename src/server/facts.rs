//! What a server says of its own variables: asked once per build from a bare private start, then cached.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::client::{Client, ClientError, TextRow};
use super::detect::ServerBinary;
use super::template::{Source, Template, TemplateSpec};
use super::user::ServerUser;
use crate::error::{Error, IoContext, Result};
use crate::host::{Guardian, Storage};
use crate::space::{Flavor, ServerFacts, VariableFacts, VariableKind};

/// Limit for each of installing, starting, asking and ending.
const DEADLINE: Duration = Duration::from_secs(120);

/// The facts of a server, from the user's cache folder where they are known. The cache is never a reason to fail. Some
/// defaults depend on the file system (innodb_log_file_buffering: MariaDB manual, "InnoDB system variables"), so the server is
/// asked in `place`, a folder on the one that matters; where that cannot be written, in the system's temporary folder.
///
/// # Errors
/// Host errors when the server cannot be started on an empty data directory or does not tell.
pub async fn server_facts(
    server: &ServerBinary,
    place: &Path,
    guardian: Option<&Guardian>,
) -> Result<ServerFacts> {
    let file_system = Storage::of(place).map_or_else(|_| "unknown".to_owned(), |storage| storage.file_system);
    let cache =
        cache_folder().map(|folder| folder.join(format!("facts-1-{}-{file_system}.json", server.build_id)));
    if let Some(facts) = cache.as_deref().and_then(from_cache) {
        return Ok(facts);
    }
    let facts = ask_bare_server(server, place, guardian).await?;
    if let Some(cache) = cache {
        // The next command asks again.
        let _ = into_cache(&cache, &facts);
    }
    Ok(facts)
}

/// `$XDG_CACHE_HOME/noctune`, else `~/.cache/noctune` (XDG base directory specification).
fn cache_folder() -> Option<PathBuf> {
    let absolute = |name: &str| {
        std::env::var_os(name)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
    };
    let base = absolute("XDG_CACHE_HOME").or_else(|| absolute("HOME").map(|home| home.join(".cache")))?;
    Some(base.join("noctune"))
}

fn from_cache(file: &Path) -> Option<ServerFacts> {
    serde_json::from_slice(&fs::read(file).ok()?).ok()
}

fn into_cache(file: &Path, facts: &ServerFacts) -> std::io::Result<()> {
    let folder = file.parent().unwrap_or(Path::new("/"));
    fs::create_dir_all(folder)?;
    let mut new = tempfile::NamedTempFile::new_in(folder)?;
    serde_json::to_writer(&mut new, facts)?;
    new.flush()?;
    new.persist(file)?;
    Ok(())
}

async fn ask_bare_server(
    server: &ServerBinary,
    place: &Path,
    guardian: Option<&Guardian>,
) -> Result<ServerFacts> {
    let scratch = scratch(place, "noctune-facts-")?;
    if let Some(guardian) = guardian {
        guardian.will_remove(scratch.path())?;
    }
    let user = ServerUser::choose(scratch.path());
    // MySQL has a binary log by default, and its settings are to be those of a bare start.
    let settings: BTreeMap<String, String> = match server.flavor {
        Flavor::MySql => BTreeMap::from([("log_bin".to_owned(), "ON".to_owned())]),
        Flavor::MariaDb => BTreeMap::new(),
    };
    let spec = TemplateSpec {
        server,
        folder: scratch.path(),
        key: "facts",
        source: Source::Empty,
        settings: &settings,
        user: &user,
        deadline: DEADLINE,
    };
    let mut facts = None;
    Template::open_or_make(&spec, guardian, async |socket| {
        let read = read_facts(server, socket).await;
        facts = Some(read.map_err(|error| {
            Error::host(format!("the server does not tell its variables: {error}"))
                .at(server.path.display().to_string())
        })?);
        Ok(())
    })
    .await?;
    facts.ok_or_else(|| Error::internal("the bare server was not asked"))
}

/// A folder for a server that is asked and ended, in `place` or else in the system's temporary folder; removed when dropped.
///
/// # Errors
/// A host error when neither can be written.
pub fn scratch(place: &Path, prefix: &str) -> Result<tempfile::TempDir> {
    let mut builder = tempfile::Builder::new();
    builder
        .prefix(prefix)
        .permissions(std::os::unix::fs::PermissionsExt::from_mode(0o755));
    let parent = std::env::temp_dir();
    builder
        .tempdir_in(place)
        .or_else(|_| builder.tempdir_in(&parent))
        .context("cannot make a scratch folder", &parent)
}

async fn read_facts(server: &ServerBinary, socket: &Path) -> Result<ServerFacts, ClientError> {
    let mut client = Client::connect(socket, DEADLINE).await?;
    let variables = match server.flavor {
        Flavor::MariaDb => mariadb(&client.rows(MARIADB).await?),
        Flavor::MySql => {
            let running = client.global_variables().await?;
            let described = match client.rows(MYSQL_METADATA).await {
                Ok(rows) => rows,
                // MySQL 8.0 has no types, only limits.
                Err(_) => client.rows(MYSQL_INFO).await?,
            };
            mysql(running, &described)
        }
    };
    let version_text = client
        .rows("SELECT VERSION()")
        .await?
        .into_iter()
        .flatten()
        .flatten()
        .next();
    client.close().await;
    Ok(ServerFacts {
        flavor: server.flavor,
        version: (server.version.major, server.version.minor, server.version.patch),
        version_text: version_text.unwrap_or_else(|| server.version.to_string()),
        variables,
    })
}

/// MariaDB manual, "Information Schema SYSTEM_VARIABLES Table".
const MARIADB: &str = "SELECT VARIABLE_NAME, GLOBAL_VALUE, DEFAULT_VALUE, VARIABLE_TYPE, NUMERIC_MIN_VALUE, \
    NUMERIC_MAX_VALUE, NUMERIC_BLOCK_SIZE, ENUM_VALUE_LIST, READ_ONLY, VARIABLE_SCOPE \
    FROM information_schema.SYSTEM_VARIABLES WHERE GLOBAL_VALUE IS NOT NULL";
/// MySQL manual, "Performance Schema variables_metadata Table" (9.x).
const MYSQL_METADATA: &str =
    "SELECT VARIABLE_NAME, DATA_TYPE, MIN_VALUE, MAX_VALUE FROM performance_schema.variables_metadata";
/// MySQL manual, "Performance Schema variables_info Table" (8.x).
const MYSQL_INFO: &str =
    "SELECT VARIABLE_NAME, '', MIN_VALUE, MAX_VALUE FROM performance_schema.variables_info";

fn mariadb(rows: &[TextRow]) -> BTreeMap<String, VariableFacts> {
    rows.iter()
        .filter_map(|row| {
            let text = |index: usize| row.get(index).cloned().flatten();
            let name = text(0)?.to_ascii_lowercase();
            let read_only = text(8).as_deref() == Some("YES");
            let number = |index: usize| text(index).and_then(|value| value.parse::<f64>().ok());
            Some((
                name,
                VariableFacts {
                    value: text(1)?,
                    default: text(2),
                    kind: kind(&text(3).unwrap_or_default()),
                    min: number(4),
                    max: number(5),
                    block: text(6)
                        .and_then(|value| value.parse().ok())
                        .filter(|block| *block > 1),
                    enum_values: text(7)
                        .map(|list| list.split(',').map(str::to_owned).collect())
                        .unwrap_or_default(),
                    read_only,
                    dynamic: !read_only && text(9).as_deref() != Some("SESSION ONLY"),
                },
            ))
        })
        .collect()
}

fn mysql(running: BTreeMap<String, String>, described: &[TextRow]) -> BTreeMap<String, VariableFacts> {
    let described: BTreeMap<String, &TextRow> = described
        .iter()
        .filter_map(|row| Some((row.first()?.as_ref()?.to_ascii_lowercase(), row)))
        .collect();
    running
        .into_iter()
        .map(|(name, value)| {
            let text = |index: usize| {
                described
                    .get(&name)
                    .and_then(|row| row.get(index).cloned().flatten())
            };
            let number = |index: usize| text(index).and_then(|value| value.parse::<f64>().ok());
            let (min, max) = (number(2), number(3));
            // Variables without limits are told with 0 and 0.
            let limited = min.zip(max).is_some_and(|(min, max)| max > min);
            let kind = match text(1).filter(|kind| !kind.is_empty()) {
                Some(told) => kind(&told),
                None if limited => VariableKind::Int,
                None if ["ON", "OFF"].contains(&value.as_str()) => VariableKind::Bool,
                None => VariableKind::Text,
            };
            let facts = VariableFacts {
                default: Some(value.clone()),
                value,
                kind,
                min: min.filter(|_| limited),
                max: max.filter(|_| limited),
                block: None,
                enum_values: Vec::new(),
                read_only: false,
                dynamic: false,
            };
            (name, facts)
        })
        .collect()
}

/// A type as MariaDB (`BIGINT UNSIGNED`) or MySQL (`Integer`) names it.
fn kind(told: &str) -> VariableKind {
    let told = told.to_ascii_lowercase();
    if told.contains("int") {
        VariableKind::Int
    } else if told == "double" || told == "numeric" {
        VariableKind::Float
    } else if told == "boolean" {
        VariableKind::Bool
    } else if told.starts_with("enum") {
        VariableKind::Enum
    } else if told == "set" || told == "flagset" {
        VariableKind::Set
    } else {
        VariableKind::Text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(columns: &[&str]) -> TextRow {
        columns
            .iter()
            .map(|text| (*text != "NULL").then(|| (*text).to_owned()))
            .collect()
    }

    #[test]
    fn a_mariadb_row_tells_type_limits_block_and_whether_it_is_dynamic() {
        let facts = mariadb(&[
            row(&[
                "INNODB_IO_CAPACITY",
                "200",
                "200",
                "BIGINT UNSIGNED",
                "100",
                "18446744073709551615",
                "0",
                "NULL",
                "NO",
                "GLOBAL",
            ]),
            row(&[
                "INNODB_FLUSH_METHOD",
                "O_DIRECT",
                "O_DIRECT",
                "ENUM",
                "NULL",
                "NULL",
                "NULL",
                "fsync,O_DSYNC",
                "YES",
                "GLOBAL",
            ]),
        ]);
        let capacity = &facts["innodb_io_capacity"];
        assert_eq!(
            (capacity.kind, capacity.min, capacity.block),
            (VariableKind::Int, Some(100.0), None)
        );
        assert!(capacity.dynamic && !capacity.read_only);
        let method = &facts["innodb_flush_method"];
        assert_eq!(method.enum_values, ["fsync", "O_DSYNC"]);
        assert!(method.read_only && !method.dynamic);
    }

    #[test]
    fn mysql_without_types_still_tells_numbers_from_switches() {
        let running = BTreeMap::from(
            [("a", "5"), ("b", "ON"), ("c", "x")].map(|(name, value)| (name.to_owned(), value.to_owned())),
        );
        let facts = mysql(running, &[row(&["a", "", "1", "64"]), row(&["b", "", "0", "0"])]);
        assert_eq!((facts["a"].kind, facts["a"].max), (VariableKind::Int, Some(64.0)));
        assert_eq!((facts["b"].kind, facts["b"].max), (VariableKind::Bool, None));
        assert_eq!(facts["c"].kind, VariableKind::Text);
    }

    #[test]
    fn a_broken_cache_is_no_answer_and_a_written_one_is_read_back() {
        let scratch = tempfile::tempdir().unwrap();
        let file = scratch.path().join("deep/facts.json");
        assert_eq!(from_cache(&file), None);
        let facts = ServerFacts {
            version_text: "10.11.6-MariaDB".into(),
            ..ServerFacts::default()
        };
        into_cache(&file, &facts).unwrap();
        assert_eq!(from_cache(&file), Some(facts));
        fs::write(&file, "{").unwrap();
        assert_eq!(from_cache(&file), None);
    }
}
