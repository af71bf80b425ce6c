//! Where a template's files come from: the server's own installer, or a copy of a user's data directory.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::data_dir::{create, tree};
use super::data_files::GEOMETRY;
use super::log_file::read_log;
use super::strip::is_stripped;
use super::template::TemplateSpec;
use crate::error::{Error, IoContext, Result};
use crate::host::{Guardian, Output, Spawn, Storage, processes_in};
use crate::space::isolation::reason_to_refuse;
use crate::units::Bytes;

/// How long what the installer left may take to be gone once killed.
const KILL_DEADLINE: Duration = Duration::from_secs(60);

/// Makes an empty data directory whose `root` has no password (it is reached by a private socket only).
/// The installer is a script that starts a server: the guardian watches all of it.
pub(super) async fn install(
    spec: &TemplateSpec<'_>,
    guardian: Option<&Guardian>,
    data: &Path,
    folder: &Path,
    tmp: &Path,
) -> Result<()> {
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
        if let Some(reason) = reason_to_refuse(name, value) {
            return Err(Error::input(format!(
                "{name} = {value} is not given to an installer: {reason}"
            )));
        }
        spawn = spawn.arg(format!("--{name}={value}"));
    }
    let mut child = spawn
        .folder(folder)
        // Its bootstrapping server knows no other place for temporary tables.
        .env("TMPDIR", tmp)
        .run_as(spec.user.run_as.clone())
        .stdout(Output::File(out))
        .stderr(Output::File(again))
        .start()
        .context(
            "cannot run the installer",
            tool.as_deref().unwrap_or(&spec.server.path),
        )?;
    if let Some(guardian) = guardian {
        guardian.watch(child.identity())?;
    }
    let failed = "cannot wait for the installer";
    let exit = child.wait(spec.deadline).await.context(failed, &log)?;
    child.kill(KILL_DEADLINE).await.context(failed, &log)?;
    if let Some(guardian) = guardian {
        guardian.forget(child.identity())?;
    }
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
pub(super) async fn copy_users_data(source: &Path, data: &Path, spec: &TemplateSpec<'_>) -> Result<()> {
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
    let (from, to) = (source.to_owned(), data.to_owned());
    // On a thread of its own, so that the user can stop it.
    tokio::task::spawn_blocking(move || copy_tree(&from, &to))
        .await
        .map_err(|error| Error::internal(format!("copying the data directory ended abnormally: {error}")))?
}

fn copy_tree(source: &Path, data: &Path) -> Result<()> {
    let failed = "cannot copy the data directory";
    let leads_out = links(source).context(failed, source)?;
    if !leads_out.is_empty() {
        let names: Vec<String> = leads_out.iter().map(|path| path.display().to_string()).collect();
        return Err(Error::input(format!(
            "parts of this data directory lie elsewhere, and a private server would write to them there: {}",
            names.join(", ")
        ))
        .at(source.display().to_string())
        .next("give a copy that holds everything: a physical backup restored into one folder, without DATA DIRECTORY tables"));
    }
    let found = tree(source).context(failed, source)?;
    let size = found.files.iter().map(|(_, size)| size).sum();
    enough_space(data, size)?;
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

/// What leads out of a data directory: symbolic links, and `.isl` files, in which InnoDB keeps the path of a table made with
/// DATA DIRECTORY (MariaDB and MySQL manuals).
fn links(root: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut todo = vec![PathBuf::new()];
    while let Some(folder) = todo.pop() {
        for entry in fs::read_dir(root.join(&folder))? {
            let entry = entry?;
            let path = folder.join(entry.file_name());
            let kind = entry.file_type()?;
            if kind.is_dir() {
                todo.push(path);
            } else if kind.is_symlink() || path.extension().is_some_and(|extension| extension == "isl") {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

/// A copy that fills the disk spoils more than this study.
fn enough_space(folder: &Path, size: u64) -> Result<()> {
    let storage = Storage::of(folder).context("cannot look at the disk", folder)?;
    if size <= storage.free.0 {
        return Ok(());
    }
    Err(Error::host(format!(
        "the data directory takes {}, only {} are free on {} ({})",
        Bytes(size).human(),
        storage.free.human(),
        storage.mount_point,
        storage.file_system
    ))
    .at(folder.display().to_string())
    .next("free space, or choose another disk with --results"))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_leads_out_of_a_data_directory_is_found() {
        let scratch = tempfile::tempdir().unwrap();
        fs::create_dir(scratch.path().join("shop")).unwrap();
        fs::write(scratch.path().join("shop/item.ibd"), "").unwrap();
        fs::write(scratch.path().join("shop/order.isl"), "/fast/shop/order.ibd").unwrap();
        std::os::unix::fs::symlink("/fast/log", scratch.path().join("log")).unwrap();
        assert_eq!(
            links(scratch.path()).unwrap(),
            [PathBuf::from("log"), PathBuf::from("shop/order.isl")]
        );
    }

    #[test]
    fn a_copy_that_does_not_fit_is_refused_and_names_the_disk() {
        let scratch = tempfile::tempdir().unwrap();
        enough_space(scratch.path(), 1).unwrap();
        let error = enough_space(scratch.path(), u64::MAX).unwrap_err();
        assert_eq!(error.exit_code(), 3);
        assert!(error.to_string().contains("are free on /"), "{error}");
    }
}
