//! Which script is run, and what is known about the bundled ones.

use std::path::{Path, PathBuf};

use crate::error::{Error, Problem, Result};

/// Where packages put the bundled scripts.
const FOLDERS: [&str; 2] = ["/usr/share/sysbench", "/usr/local/share/sysbench"];

/// Bundled scripts that only read.
const READ_ONLY: [&str; 4] = [
    "oltp_point_select",
    "oltp_read_only",
    "select_random_points",
    "select_random_ranges",
];

/// Whether a script by this name only reads. A script that is not bundled counts as writing: its debt is then looked at.
pub(super) fn writes(script: &str) -> bool {
    !READ_ONLY.contains(&script)
}

/// Whether `prepare` of this script fills `sbtest1` to `sbtestN` with `table-size` rows each, tables in parallel.
pub(super) fn fills_tables(script: &str) -> bool {
    bundled(script) && script != "bulk_insert"
}

fn bundled(script: &str) -> bool {
    script == "bulk_insert" || script.starts_with("oltp_") || script.starts_with("select_random_")
}

/// The file of a script: a path as it is, a bare name in the folders of the bundled ones.
///
/// # Errors
/// [`Error::Input`] where there is no such file, with the names that there are.
pub(super) fn find(script: &str) -> Result<PathBuf> {
    let file = if script.contains('/') || script.ends_with(".lua") {
        PathBuf::from(script)
    } else {
        let name = format!("{script}.lua");
        FOLDERS
            .iter()
            .map(|folder| Path::new(folder).join(&name))
            .find(|file| file.is_file())
            .unwrap_or_else(|| Path::new(FOLDERS[0]).join(name))
    };
    // An absolute path, since the load runs in the trial's folder.
    file.canonicalize()
        .ok()
        .filter(|file| file.is_file())
        .ok_or_else(|| {
            let problem = Problem::new(format!("there is no sysbench script \"{script}\""))
                .at(file.display().to_string());
            Error::Input(problem.next(hint(script)))
        })
}

fn hint(script: &str) -> String {
    let mut names: Vec<String> = FOLDERS
        .iter()
        .filter_map(|folder| std::fs::read_dir(folder).ok())
        .flatten()
        .filter_map(|entry| entry.ok()?.path().file_stem()?.to_str().map(str::to_owned))
        .filter(|name| bundled(name) && name != "oltp_common")
        .collect();
    names.sort_unstable();
    let near = names
        .iter()
        .map(|name| (strsim::damerau_levenshtein(name, script), name))
        .min()
        .filter(|(distance, _)| *distance <= 4);
    match near {
        Some((_, name)) => format!("did you mean \"{name}\"?"),
        None if names.is_empty() => "install sysbench with its scripts, or give a path".to_owned(),
        None => format!("bundled: {}; or a path to a Lua file", names.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_of_ones_own_counts_as_writing() {
        assert!(!writes("oltp_read_only"));
        assert!(writes("oltp_read_write"));
        assert!(writes("./mine.lua"));
    }

    #[test]
    fn a_missing_script_is_bad_input() {
        assert_eq!(find("./no/such.lua").unwrap_err().exit_code(), 2);
    }
}
