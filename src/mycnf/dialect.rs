//! Which groups of a my.cnf a server reads.

/// The server a my.cnf is read for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// MariaDB of this series, e.g. 10 and 11.
    MariaDb {
        /// First number of the version.
        major: u32,
        /// Second number of the version.
        minor: u32,
    },
    /// MySQL of this series, e.g. 8 and 0.
    MySql {
        /// First number of the version.
        major: u32,
        /// Second number of the version.
        minor: u32,
    },
}

impl Dialect {
    /// The groups this server reads, lower case. Which of them stands first or is more specific does not matter: the
    /// last occurrence in file order wins.
    ///
    /// Source: `--help --verbose` of MariaDB 10.5, 10.11, 11.8 and MySQL 9.7; MariaDB reads `[mariadbd]` since 10.4.
    pub fn groups(self) -> Vec<String> {
        match self {
            Self::MariaDb { major, minor } => {
                let mut groups = vec![
                    "mysqld".to_owned(),
                    "server".to_owned(),
                    format!("mysqld-{major}.{minor}"),
                    "mariadb".to_owned(),
                    format!("mariadb-{major}.{minor}"),
                ];
                if (major, minor) >= (10, 4) {
                    groups.push("mariadbd".to_owned());
                    groups.push(format!("mariadbd-{major}.{minor}"));
                }
                groups.push("client-server".to_owned());
                groups.push("galera".to_owned());
                groups
            }
            Self::MySql { major, minor } => {
                vec![
                    "mysqld".to_owned(),
                    "server".to_owned(),
                    format!("mysqld-{major}.{minor}"),
                ]
            }
        }
    }
}
