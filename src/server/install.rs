//! Where a template's files come from: the server's own installer, or a copy of a user's data directory.

use std::fs::{self, File};
use std::path::Path;

use super::data_dir::{create, tree};
use super::instance::read_log;
use super::strip::is_stripped;
use super::template::TemplateSpec;
use crate::error::{Error, IoContext, Result};
use crate::host::{Output, Spawn, processes_in};

/// Settings that are fixed when a data directory is made.
const GEOMETRY: [&str; 5] = [
    "innodb_page_size",
    "innodb_data_file_path",
    "innodb_undo_tablespaces",
    "innodb_checksum_algorithm",
    "lower_case_table_names",
];

/// Makes an empty data directory whose `root` has no password (it is reached by a private socket only).
pub(super) async fn install(spec: &TemplateSpec<'_>, data: &Path, folder: &Path) -> Result<()> {
    let log = folder.join("install.log");
    let out = File::create(&log).context("cannot write the installer's log", &log)?;
    let again = out
        .try_clone()
        .context("cannot write the installer's log", &log)?;
    let mut data_argument = std::ffi::OsString::from("--datadir=");
    data_argument.push(data);
    let tool = spec.server.install_tool()?;
    let mut spawn = match &tool {
        Some(tool) => Spawn::new(tool).arg("--no-defaults").args([
            "--auth-root-authentication-method=normal",
            "--skip-test-db",
            "--skip-name-resolve",
        ]),
        None => Spawn::new(&spec.server.path)
            .arg("--no-defaults")
            .arg("--initialize-insecure"),
    };
    spawn = spawn.arg(data_argument);
    if let Some(user) = &spec.user.line {
        spawn = spawn.arg(format!("--user={user}"));
    }
    for (name, value) in spec
        .settings
        .iter()
        .filter(|(name, _)| GEOMETRY.contains(&name.as_str()))
    {
        spawn = spawn.arg(format!("--{name}={value}"));
    }
    let mut child = spawn
        .folder(folder)
        .run_as(spec.user.run_as.clone())
        .stdout(Output::File(out))
        .stderr(Output::File(again))
        .start()
        .context(
            "cannot run the installer",
            tool.as_deref().unwrap_or(&spec.server.path),
        )?;
    let exit = child
        .wait(spec.deadline)
        .await
        .context("cannot wait for the installer", &log)?;
    let what = match exit {
        Some(exit) if exit.success() => return Ok(()),
        Some(exit) => exit.to_string(),
        None => format!("no end within {} s", spec.deadline.as_secs_f64()),
    };
    let text = read_log(&log);
    let line = text
        .lines()
        .find(|line| line.contains("ERROR"))
        .unwrap_or_default()
        .trim()
        .to_owned();
    Err(
        Error::host(format!("no empty data directory could be made: {what} {line}"))
            .at(log.display().to_string())
            .next("read that log"),
    )
}

/// Copies a user's data directory, which is only read.
pub(super) fn copy_users_data(source: &Path, data: &Path, spec: &TemplateSpec<'_>) -> Result<()> {
    let place = source.display().to_string();
    if !source.join("ibdata1").is_file() {
        return Err(Error::input("this is no data directory: it holds no ibdata1").at(place));
    }
    // A server's working folder is its data directory.
    if let Some(pid) = processes_in(source).first() {
        return Err(Error::input(format!("process {pid} runs on this data directory"))
            .at(place)
            .next("shut that server down (innodb_fast_shutdown=0), or give a copy of its data"));
    }
    refuse_newer(source, spec)?;
    let failed = "cannot copy the data directory";
    let found = tree(source).context(failed, source)?;
    for folder in &found.folders {
        create(&data.join(folder))?;
    }
    let top = |file: &Path| file.parent() == Some(Path::new(""));
    let stripped = |file: &Path| top(file) && file.to_str().is_some_and(is_stripped);
    // Left out before the first start of the copy: what names a primary must never be read, not even once.
    for (file, _) in found.files.iter().filter(|(file, _)| !stripped(file)) {
        let to = data.join(file);
        fs::copy(source.join(file), &to).context(failed, &to)?;
    }
    Ok(())
}

/// A data directory is one-way: what a newer version wrote an older one must not open.
fn refuse_newer(source: &Path, spec: &TemplateSpec<'_>) -> Result<()> {
    let stamp = ["mariadb_upgrade_info", "mysql_upgrade_info"]
        .iter()
        .find_map(|name| fs::read_to_string(source.join(name)).ok());
    let Some(stamp) = stamp else { return Ok(()) };
    let mut numbers = stamp.split(|c: char| !c.is_ascii_digit()).map(str::parse::<u32>);
    if let (Some(Ok(major)), Some(Ok(minor))) = (numbers.next(), numbers.next())
        && (major, minor) > (spec.server.version.major, spec.server.version.minor)
    {
        return Err(Error::input(format!(
            "the data directory was written by version {}, the server is {}",
            stamp.trim().trim_end_matches('\0'),
            spec.server.version
        ))
        .at(source.display().to_string())
        .next("use a server of at least that version"));
    }
    Ok(())
}
