//! From `--store URL` to a store.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::filesystem;
use super::sqlite::{Patience, SqliteStore};
use super::{Store, StoreError};
use crate::error::{Error, IoContext, Result};

/// Name of the database in a study's folder.
pub const DATABASE: &str = "noctune.db";

/// An opened store, with what a person should know about it.
pub struct Opened {
    /// The store.
    pub store: Arc<dyn Store>,
    /// Where it is, for people.
    pub place: String,
    /// What a person should know, e.g. that the file lies on a network file system.
    pub warnings: Vec<String>,
}

impl fmt::Debug for Opened {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Opened")
            .field("place", &self.place)
            .field("warnings", &self.warnings)
            .finish_non_exhaustive()
    }
}

/// Whether `url` is the database in a study's own folder, so that each folder has a store of its own.
pub fn is_in_study_folder(url: &str) -> bool {
    matches!(url, "sqlite:" | "sqlite://")
}

/// Opens the store of `url` for reading and writing, creating what is missing: `sqlite:` is the database in `study_folder`,
/// `sqlite:/path` (or `sqlite:///path`) another file.
///
/// # Errors
/// [`Error::Input`] for a URL no store of this version takes; otherwise as [`SqliteStore::open`].
pub async fn open(url: &str, study_folder: &Path) -> Result<Opened> {
    let path = sqlite_path(url, study_folder)?;
    let folder = folder_of(&path);
    std::fs::create_dir_all(folder).context("cannot create the folder of the store", folder)?;
    let warnings = filesystem::warning(folder).into_iter().collect();
    let store = SqliteStore::open(&path, Patience::default());
    let store = store.await.map_err(|error| placed(error, &path))?;
    Ok(opened(store, &path, warnings))
}

/// Opens the store of `url` for reading, as `report` and `status` do: creates nothing and keeps no writer waiting.
///
/// # Errors
/// [`Error::Input`] for a URL no store of this version takes and where there is no database yet; otherwise as
/// [`SqliteStore::open_read_only`].
pub async fn open_read_only(url: &str, study_folder: &Path) -> Result<Opened> {
    let path = sqlite_path(url, study_folder)?;
    if !path.exists() {
        return Err(Error::input("there is no study database here")
            .at(path.display().to_string())
            .next("begin a study with `noctune tune`, or point to one with --results or --store"));
    }
    let warnings = filesystem::warning(folder_of(&path)).into_iter().collect();
    let store = SqliteStore::open_read_only(&path, Patience::default());
    let store = store.await.map_err(|error| placed(error, &path))?;
    Ok(opened(store, &path, warnings))
}

fn opened(store: SqliteStore, path: &Path, warnings: Vec<String>) -> Opened {
    Opened {
        store: Arc::new(store),
        place: path.display().to_string(),
        warnings,
    }
}

/// An error with the file, where its words do not name it.
fn placed(error: StoreError, path: &Path) -> Error {
    match error {
        StoreError::TooNew { .. } => Error::from(error).at(path.display().to_string()),
        other => other.into(),
    }
}

fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// The file a URL names.
fn sqlite_path(url: &str, study_folder: &Path) -> Result<PathBuf> {
    let Some(rest) = url.strip_prefix("sqlite:") else {
        return Err(unsupported(url));
    };
    let path = rest.strip_prefix("//").unwrap_or(rest);
    if path.contains('?') {
        return Err(Error::input("a store URL takes no parameters (`?...`)")
            .at(url.to_owned())
            .next("write sqlite:/path/to/file.db"));
    }
    if path == ":memory:" || path.ends_with('/') {
        return Err(Error::input("the store URL names no file")
            .at(url.to_owned())
            .next("write sqlite:/path/to/file.db, or sqlite: for the database in the study's folder"));
    }
    if path.is_empty() {
        Ok(study_folder.join(DATABASE))
    } else {
        Ok(PathBuf::from(path))
    }
}

fn unsupported(url: &str) -> Error {
    // Never the whole URL: it may hold a password.
    let scheme = url.split(':').next().unwrap_or_default();
    let what = match scheme {
        "postgres" | "postgresql" | "mysql" | "mariadb" => {
            format!("a store in {scheme} is not supported by this version")
        }
        _ if url.contains(':') => format!("\"{scheme}:\" is no kind of store"),
        _ => "the store is not a URL".to_owned(),
    };
    Error::input(what).at("--store").next(
        "supported: sqlite: (the database in the study's folder) and sqlite:/path/to/file.db on a local disk",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(url: &str) -> Result<PathBuf> {
        sqlite_path(url, Path::new("results/oltp"))
    }

    #[test]
    fn a_bare_scheme_is_the_database_in_the_study_folder() {
        assert!(is_in_study_folder("sqlite:") && is_in_study_folder("sqlite://"));
        assert!(!is_in_study_folder("sqlite:/var/x.db") && !is_in_study_folder("sqlite:x.db"));
        assert_eq!(path("sqlite:").unwrap(), Path::new("results/oltp/noctune.db"));
        assert_eq!(path("sqlite://").unwrap(), Path::new("results/oltp/noctune.db"));
    }

    #[test]
    fn a_path_is_taken_as_it_is() {
        assert_eq!(path("sqlite:/var/x.db").unwrap(), Path::new("/var/x.db"));
        assert_eq!(path("sqlite:///var/x.db").unwrap(), Path::new("/var/x.db"));
        assert_eq!(path("sqlite:x.db").unwrap(), Path::new("x.db"));
    }

    #[test]
    fn other_databases_are_refused_with_what_is_supported_and_without_the_password() {
        for url in [
            "postgres://me:secret@host/db",
            "mysql://me:secret@host/db",
            "secret",
            "sqlite:x.db?mode=ro",
        ] {
            let error = path(url).unwrap_err();
            assert_eq!(error.exit_code(), 2);
            let text = error.to_string();
            assert!(text.contains("sqlite:"), "{text}");
            assert!(!text.contains("secret"), "{text}");
        }
        assert!(
            path("mysql://h/d")
                .unwrap_err()
                .to_string()
                .contains("not supported by this version")
        );
    }

    #[tokio::test]
    async fn reading_where_nothing_is_creates_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let error = open_read_only("sqlite:", folder.path()).await.unwrap_err();
        assert_eq!(error.exit_code(), 2);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
