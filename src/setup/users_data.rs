//! A data directory of the user's as the source of a study's data.

use super::{Frozen, StudySource};
use crate::error::{Error, Result};
use crate::server::contents_key;
use crate::space::Flavor;
use crate::study::Document;

/// Refuses data of a kind of server with which taking them over was never tried: what must not come along (accounts,
/// replication, plugins) is kept elsewhere there.
///
/// # Errors
/// [`Error::Input`] for `[template] from` with MySQL.
pub(super) fn refuse_untried(source: &StudySource, flavor: Flavor) -> Result<()> {
    if source.study.template.is_none() || flavor == Flavor::MariaDb {
        return Ok(());
    }
    Err(Document::new(&source.text, &source.name).problem(
        &["template", "from"],
        "[template] from takes data directories of MariaDB only, and this server is MySQL",
        "leave [template] out: trials then start from data that the load makes itself",
    ))
}

/// What tells the user's data apart from others; as the study began where they are not there any more.
///
/// # Errors
/// A host error where they cannot be looked at.
pub(super) fn data_key(source: &StudySource, frozen: Option<&Frozen>) -> Result<Option<String>> {
    let Some(template) = &source.study.template else {
        return Ok(None);
    };
    let folder = source.path(&template.from);
    let stored = || frozen.and_then(|frozen| frozen.data_key.clone());
    match contents_key(&folder) {
        Ok(key) => Ok(Some(key)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(stored()),
        Err(error) => Err(
            Error::host(format!("the data directory cannot be looked at: {error}"))
                .at(folder.display().to_string()),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::study::Study;

    #[test]
    fn a_data_directory_of_mysql_is_refused_with_its_place() {
        let text = "format = 1\n[study]\nname = \"own\"\n[template]\nfrom = \"/srv/mysql\"\n";
        let source = StudySource {
            study: Study::parse(text, "own.toml").unwrap(),
            text: text.to_owned(),
            name: "own.toml".to_owned(),
            folder: "/".into(),
        };
        refuse_untried(&source, Flavor::MariaDb).unwrap();
        let error = refuse_untried(&source, Flavor::MySql).unwrap_err();
        assert_eq!(error.exit_code(), 2);
        assert!(error.to_string().contains("own.toml:5"), "{error}");
    }
}
