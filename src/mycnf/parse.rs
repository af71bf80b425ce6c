//! Reads a my.cnf with everything it includes, as a server does.
//!
//! Source: MariaDB and MySQL manuals, "Using option files"; behaviour checked with `my_print_defaults` 10.11.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::finding::{Finding, FindingKind, Severity};
use super::line::{self, Assignment, Line};
use super::{Dialect, Meaning, Setting};

/// Includes may be nested this deep.
const MAX_DEPTH: usize = 10;
/// Bytes of a line that a server reads at once; the rest counts as another line.
const LINE_BYTES: usize = 4095;

/// Where files come from; relative paths start at the server's working directory, not at the including file.
pub trait Files {
    /// The content of a file.
    ///
    /// # Errors
    /// Why it is not read, as a server would decide.
    fn read(&self, path: &Path) -> Result<Vec<u8>, Unread>;

    /// The names of the entries of a folder, in any order.
    ///
    /// # Errors
    /// Why it is not read.
    fn list(&self, folder: &Path) -> Result<Vec<String>, Unread>;
}

/// Why a file is not read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unread {
    /// It is not there.
    Missing,
    /// Everybody may write it: servers ignore such a file.
    WorldWritable,
    /// Anything else, in the system's words.
    Failed(String),
}

/// A my.cnf with everything it includes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MyCnf {
    /// Every option line in the order the server meets it, those it does not read included.
    pub settings: Vec<Setting>,
    /// What is wrong or surprising.
    pub findings: Vec<Finding>,
}

impl MyCnf {
    /// What is in force: for each option the last setting in file order over all groups that are read. `known` tells
    /// which options the server has (see [`Setting::meaning`]); limits (`maximum-`) are left out.
    pub fn effective(&self, known: impl Fn(&str) -> bool) -> BTreeMap<String, (Meaning, &Setting)> {
        let mut effective = BTreeMap::new();
        for setting in self.settings.iter().filter(|setting| setting.read) {
            let meaning = setting.meaning(&known);
            if !meaning.maximum {
                effective.insert(meaning.variable.clone(), (meaning, setting));
            }
        }
        effective
    }

    /// Settings in groups the server does not read.
    pub fn unread(&self) -> impl Iterator<Item = &Setting> {
        self.settings.iter().filter(|setting| !setting.read)
    }

    /// Whether a server started with this file stops.
    pub fn stops_a_server(&self) -> bool {
        self.findings
            .iter()
            .any(|finding| finding.severity == Severity::Stops)
    }
}

/// Reads `path` and everything it includes for the server `dialect`. Goes on after what would stop a server, so that
/// every problem is found at once.
pub fn parse(files: &dyn Files, path: &Path, dialect: Dialect) -> MyCnf {
    let mut walk = Walk::new(Some(files), dialect);
    match files.read(path) {
        Ok(content) => walk.file(path, &content, 0),
        Err(why) => {
            let kind = match why {
                Unread::Missing => FindingKind::MissingInclude {
                    path: path.to_owned(),
                },
                Unread::WorldWritable => FindingKind::WorldWritable {
                    path: path.to_owned(),
                },
                Unread::Failed(why) => FindingKind::Unreadable {
                    path: path.to_owned(),
                    why,
                },
            };
            // A world-writable file stops no server, but everything in it is ignored: never measure such a baseline.
            walk.find(path, 0, Severity::Stops, kind);
        }
    }
    walk.read
}

/// Reads a text as the content of `name` for the server `dialect`; what it includes counts as missing.
///
/// ```
/// use std::path::Path;
///
/// use noctune::mycnf::{Dialect, parse_text};
///
/// let text = b"[mysqld]\ninnodb-io-capacity = 400   # disks\n[client]\nport = 3307\n[mariadb]\ninnodb_io_capacity=800\n";
/// let server = Dialect::MariaDb { major: 10, minor: 11 };
/// let read = parse_text(Path::new("my.cnf"), text, server);
///
/// // Of all groups the server reads the last line counts, whatever its spelling.
/// let effective = read.effective(|option| option == "innodb_io_capacity");
/// let (meaning, setting) = &effective["innodb_io_capacity"];
/// assert_eq!(meaning.value.as_deref(), Some("800"));
/// assert_eq!(setting.place(), "my.cnf:6");
/// assert_eq!(read.unread().count(), 1, "the port is for clients");
/// ```
pub fn parse_text(name: &Path, text: &[u8], dialect: Dialect) -> MyCnf {
    let mut walk = Walk::new(None, dialect);
    walk.file(name, text, 0);
    walk.read
}

struct Walk<'a> {
    files: Option<&'a dyn Files>,
    groups: Vec<String>,
    read: MyCnf,
}

impl<'a> Walk<'a> {
    fn new(files: Option<&'a dyn Files>, dialect: Dialect) -> Self {
        Self {
            files,
            groups: dialect.groups(),
            read: MyCnf::default(),
        }
    }

    fn find(&mut self, file: &Path, line: usize, severity: Severity, kind: FindingKind) {
        self.read.findings.push(Finding {
            file: file.to_owned(),
            line,
            severity,
            kind,
        });
    }

    fn file(&mut self, path: &Path, content: &[u8], depth: usize) {
        // Inside an included file the server gives up that file only.
        let severity = if depth == 0 {
            Severity::Stops
        } else {
            Severity::RestUnread
        };
        let content = match content.strip_prefix(b"\xef\xbb\xbf") {
            Some(rest) => {
                self.find(path, 1, severity, FindingKind::ByteOrderMark);
                if depth > 0 {
                    return;
                }
                rest
            }
            None => content,
        };
        if std::str::from_utf8(content).is_err() {
            self.find(path, 0, Severity::Note, FindingKind::NotUtf8);
        }
        let mut group: Option<String> = None;
        for (index, raw) in content.split(|byte| *byte == b'\n').enumerate() {
            let number = index + 1;
            if raw.len() > LINE_BYTES {
                self.find(path, number, Severity::Note, FindingKind::LongLine);
            }
            for part in raw.chunks(LINE_BYTES) {
                let part = match part.iter().position(|byte| *byte == 0) {
                    Some(end) => {
                        self.find(path, number, Severity::Note, FindingKind::ZeroByte);
                        &part[..end]
                    }
                    None => part,
                };
                let text = String::from_utf8_lossy(part);
                let stop = self.line(path, number, &text, depth, &mut group);
                if let Some(kind) = stop {
                    self.find(path, number, severity, kind);
                    if depth > 0 {
                        return;
                    }
                }
            }
        }
    }

    /// Reads one line; gives what makes a server give up the file.
    fn line(
        &mut self,
        path: &Path,
        number: usize,
        text: &str,
        depth: usize,
        group: &mut Option<String>,
    ) -> Option<FindingKind> {
        match line::read(text) {
            Line::Empty => None,
            Line::Group(name) => {
                *group = Some(name);
                None
            }
            Line::BadGroup => Some(FindingKind::BadGroup),
            Line::UnknownDirective(text) => {
                self.find(
                    path,
                    number,
                    Severity::Note,
                    FindingKind::UnknownDirective { text },
                );
                None
            }
            Line::Include(target) | Line::IncludeFolder(target) if target.is_empty() => {
                Some(FindingKind::MissingPath)
            }
            Line::Include(target) => {
                self.include(path, number, Path::new(&target), depth);
                None
            }
            Line::IncludeFolder(target) => self.include_folder(path, number, Path::new(&target), depth),
            Line::Assignment(assignment) => match group {
                Some(group) => {
                    self.assignment(path, number, assignment, group);
                    None
                }
                None => Some(FindingKind::OptionOutsideGroup),
            },
        }
    }

    fn assignment(&mut self, path: &Path, number: usize, assignment: Assignment, group: &str) {
        let Assignment {
            name: written,
            value,
            cut,
            unbalanced,
        } = assignment;
        let name = written.replace('-', "_").to_ascii_lowercase();
        let read = self.groups.iter().any(|known| known.eq_ignore_ascii_case(group));
        if name.is_empty() {
            let severity = if read { Severity::Stops } else { Severity::Note };
            self.find(path, number, severity, FindingKind::MissingName);
            return;
        }
        if name.contains(char::is_whitespace) {
            let name = written.clone();
            self.find(path, number, Severity::Note, FindingKind::BlankInName { name });
        }
        if let Some(cut) = cut {
            let name = name.clone();
            self.find(path, number, Severity::Note, FindingKind::CutAtHash { name, cut });
        }
        if unbalanced {
            let name = name.clone();
            self.find(
                path,
                number,
                Severity::Note,
                FindingKind::UnbalancedQuote { name },
            );
        }
        self.read.settings.push(Setting {
            name,
            written,
            value,
            file: path.to_owned(),
            line: number,
            group: group.to_owned(),
            read,
        });
    }

    fn include(&mut self, from: &Path, number: usize, target: &Path, depth: usize) {
        let path = || target.to_owned();
        if depth >= MAX_DEPTH {
            self.find(
                from,
                number,
                Severity::Note,
                FindingKind::TooDeep { path: path() },
            );
            return;
        }
        let content = match self.files {
            Some(files) => files.read(target),
            None => Err(Unread::Missing),
        };
        let kind = match content {
            Ok(content) => return self.file(target, &content, depth + 1),
            Err(Unread::Missing) => FindingKind::MissingInclude { path: path() },
            Err(Unread::WorldWritable) => FindingKind::WorldWritable { path: path() },
            Err(Unread::Failed(why)) => FindingKind::Unreadable { path: path(), why },
        };
        self.find(from, number, Severity::Note, kind);
    }

    /// Every file of the folder whose name ends in `.cnf`, in the order of the names' bytes.
    fn include_folder(
        &mut self,
        from: &Path,
        number: usize,
        folder: &Path,
        depth: usize,
    ) -> Option<FindingKind> {
        if depth >= MAX_DEPTH {
            let path = folder.to_owned();
            self.find(from, number, Severity::Note, FindingKind::TooDeep { path });
            return None;
        }
        let names = match self.files {
            Some(files) => files.list(folder),
            None => Err(Unread::Missing),
        };
        let mut names = match names {
            Ok(names) => names,
            Err(why) => {
                let why = match why {
                    Unread::Missing => "it is not there".to_owned(),
                    Unread::WorldWritable => "everybody may write it".to_owned(),
                    Unread::Failed(why) => why,
                };
                let path = folder.to_owned();
                return Some(FindingKind::UnreadableFolder { path, why });
            }
        };
        names.sort();
        for name in names {
            let path: PathBuf = folder.join(&name);
            if !name.ends_with(".cnf") {
                self.find(from, number, Severity::Note, FindingKind::NotRead { path });
                continue;
            }
            if name.trim_start_matches('.').matches('.').count() > 1 {
                let path = path.clone();
                self.find(from, number, Severity::Note, FindingKind::TwoDots { path });
            }
            self.include(from, number, &path, depth);
        }
        None
    }
}
