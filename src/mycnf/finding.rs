//! What is wrong or surprising in a my.cnf.

use std::fmt;
use std::path::PathBuf;

use crate::error::Problem;

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The server goes on; the file may not say what its author meant.
    Note,
    /// The server reads nothing more of this included file, and goes on.
    RestUnread,
    /// A server started with this file stops.
    Stops,
}

/// Something wrong or surprising at one place of a my.cnf.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// File.
    pub file: PathBuf,
    /// Line, from 1; 0 for the file as a whole.
    pub line: usize,
    /// How bad.
    pub severity: Severity,
    /// What.
    pub kind: FindingKind,
}

/// What is wrong or surprising.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FindingKind {
    /// An option before any `[group]`.
    OptionOutsideGroup,
    /// `[` without `]`.
    BadGroup,
    /// The file begins with a byte order mark, so that its first line is no group line.
    ByteOrderMark,
    /// A zero byte; the rest of the line is not read.
    ZeroByte,
    /// Bytes that are no UTF-8; shown with replacement characters.
    NotUtf8,
    /// A line of more than 4095 bytes: the server cuts it there and takes the rest as another line.
    LongLine,
    /// A line with `=` and nothing before it.
    MissingName,
    /// A name with blanks in it: mostly a forgotten `=`.
    BlankInName {
        /// The name.
        name: String,
    },
    /// A `#` without a blank before it cut the value.
    CutAtHash {
        /// The option.
        name: String,
        /// What was cut off.
        cut: String,
    },
    /// A quote that is not closed stays part of the value.
    UnbalancedQuote {
        /// The option.
        name: String,
    },
    /// `!` with an unknown word: not read.
    UnknownDirective {
        /// The line behind the `!`.
        text: String,
    },
    /// `!include` or `!includedir` without a path.
    MissingPath,
    /// The file is not there; servers pass over it silently.
    MissingInclude {
        /// Path as written.
        path: PathBuf,
    },
    /// The file cannot be read.
    Unreadable {
        /// Path as written.
        path: PathBuf,
        /// Why.
        why: String,
    },
    /// The folder of an `!includedir` cannot be read.
    UnreadableFolder {
        /// Path as written.
        path: PathBuf,
        /// Why.
        why: String,
    },
    /// A file that everybody may write is ignored by servers.
    WorldWritable {
        /// Path as written.
        path: PathBuf,
    },
    /// Includes nested more than 10 deep are not read.
    TooDeep {
        /// Path as written.
        path: PathBuf,
    },
    /// A file of an included folder whose name does not end in `.cnf`.
    NotRead {
        /// Its path.
        path: PathBuf,
    },
    /// A file of an included folder with two dots in its name: read by MariaDB 10.11, passed over by older servers.
    TwoDots {
        /// Its path.
        path: PathBuf,
    },
}

impl FindingKind {
    /// What to do about it.
    fn next(&self) -> &'static str {
        match self {
            Self::OptionOutsideGroup => "put a line [mysqld] before it",
            Self::BadGroup => "close the group name with ]",
            Self::ByteOrderMark => "save the file as UTF-8 without a byte order mark",
            Self::ZeroByte | Self::NotUtf8 => "save the file as plain text",
            Self::LongLine => "shorten the line to at most 4095 bytes",
            Self::MissingName => "write name = value",
            Self::BlankInName { .. } => "put a = between name and value",
            Self::CutAtHash { .. } => {
                "put the value in quotes if # belongs to it, or a blank before # if it is a comment"
            }
            Self::UnbalancedQuote { .. } => "close the quote",
            Self::UnknownDirective { .. } => "servers know !include and !includedir",
            Self::MissingPath => "write a path behind it",
            Self::MissingInclude { .. } | Self::UnreadableFolder { .. } => {
                "correct the path (a relative one starts at the server's working directory) or remove the line"
            }
            Self::Unreadable { .. } => "make the file readable",
            Self::WorldWritable { .. } => "take the write permission from others (chmod o-w)",
            Self::TooDeep { .. } => "does the file include itself?",
            Self::NotRead { .. } => "give it a name that ends in .cnf if it is meant to be read",
            Self::TwoDots { .. } => "use a name with one dot",
        }
    }
}

impl fmt::Display for FindingKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OptionOutsideGroup => f.write_str("an option stands before any [group]"),
            Self::BadGroup => f.write_str("the group name is not closed"),
            Self::ByteOrderMark => {
                f.write_str("the file begins with a byte order mark, which servers do not know")
            }
            Self::ZeroByte => f.write_str("the line has a zero byte; what follows it is not read"),
            Self::NotUtf8 => f.write_str("the file is not UTF-8"),
            Self::LongLine => {
                f.write_str("the line is longer than 4095 bytes; servers take the rest as another option")
            }
            Self::MissingName => f.write_str("there is no name before the ="),
            Self::BlankInName { name } => write!(f, "\"{name}\" is read as one name"),
            Self::CutAtHash { name, cut } => write!(f, "the value of {name} ends before \"{cut}\""),
            Self::UnbalancedQuote { name } => {
                write!(
                    f,
                    "a quote in the value of {name} is not closed and stays part of it"
                )
            }
            Self::UnknownDirective { text } => write!(f, "\"!{text}\" is passed over"),
            Self::MissingPath => f.write_str("an include has no path"),
            Self::MissingInclude { path } => write!(f, "{} is not there", path.display()),
            Self::Unreadable { path, why } => write!(f, "{} cannot be read: {why}", path.display()),
            Self::UnreadableFolder { path, why } => {
                write!(f, "the folder {} cannot be read: {why}", path.display())
            }
            Self::WorldWritable { path } => {
                write!(f, "everybody may write {}, so servers ignore it", path.display())
            }
            Self::TooDeep { path } => write!(f, "{} is included more than 10 files deep", path.display()),
            Self::NotRead { path } => {
                write!(f, "{} is not read: its name does not end in .cnf", path.display())
            }
            Self::TwoDots { path } => {
                write!(
                    f,
                    "{} has two dots in its name; older servers pass over it",
                    path.display()
                )
            }
        }
    }
}

impl Finding {
    /// `file:line`, or the file alone.
    pub fn place(&self) -> String {
        match self.line {
            0 => self.file.display().to_string(),
            line => format!("{}:{line}", self.file.display()),
        }
    }

    /// As a problem to be shown: what, where, what to do next.
    pub fn problem(&self) -> Problem {
        let consequence = match self.severity {
            Severity::Note => "",
            Severity::RestUnread => "; the rest of this file is not read",
            Severity::Stops => "; a server stops at it",
        };
        Problem::new(format!("{}{consequence}", self.kind))
            .at(self.place())
            .next(self.kind.next())
    }
}
