//! What strace recorded, as far as it matters here.

use std::collections::BTreeSet;

/// A system call that reaches out or changes a file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Call {
    /// To an address.
    Connect(String),
    /// To an address.
    Bind(String),
    /// A socket that could speak TCP.
    TcpSocket,
    /// A path opened for writing, made, renamed or removed.
    Write(String),
}

/// Calls that change a file, by opening it or at once.
const CHANGES: [&str; 13] = [
    "open",
    "openat",
    "creat",
    "rename",
    "renameat",
    "renameat2",
    "unlink",
    "unlinkat",
    "mkdir",
    "mkdirat",
    "link",
    "linkat",
    "truncate",
];

/// The calls of a record of `strace -f`: `PID NAME(ARGUMENTS) = RESULT`, unfinished ones included.
pub(crate) fn calls(text: &str) -> Vec<Call> {
    let mut seen = Vec::new();
    for line in text.lines() {
        let Some((_, call)) = line.split_once(char::is_whitespace) else {
            continue;
        };
        let Some((name, arguments)) = call.trim_start().split_once('(') else {
            continue;
        };
        match name {
            "connect" => seen.push(Call::Connect(arguments.to_owned())),
            "bind" => seen.push(Call::Bind(arguments.to_owned())),
            "socket" => {
                let inet = arguments.starts_with("AF_INET");
                if inet && arguments.contains("SOCK_STREAM") {
                    seen.push(Call::TcpSocket);
                }
            }
            "open" | "openat"
                if !["O_WRONLY", "O_RDWR", "O_CREAT"]
                    .iter()
                    .any(|flag| arguments.contains(flag)) => {}
            // What exists already is not made.
            _ if CHANGES.contains(&name) && !call.contains("EEXIST") => {
                seen.extend(quoted(arguments).into_iter().map(Call::Write));
            }
            _ => {}
        }
    }
    seen
}

/// The texts in quotes.
fn quoted(arguments: &str) -> BTreeSet<String> {
    arguments
        .split('"')
        .skip(1)
        .step_by(2)
        .map(str::to_owned)
        .collect()
}

#[test]
fn a_record_is_read_as_it_is_written() {
    let text = "\
77 openat(AT_FDCWD, \"/etc/passwd\", O_RDONLY|O_CLOEXEC) = 3
77 openat(AT_FDCWD, \"/srv/prod-bin.000001\", O_RDWR|O_CREAT, 0640 <unfinished ...>
78 socket(AF_INET, SOCK_STREAM|SOCK_CLOEXEC, IPPROTO_TCP) = 5
78 socket(AF_INET, SOCK_DGRAM, IPPROTO_IP) = 5
78 connect(5, {sa_family=AF_INET, sin_port=htons(3306)}, 16) = 0
79 rename(\"a\", \"b\") = 0
79 <... openat resumed>) = 7
";
    assert_eq!(
        calls(text),
        [
            Call::Write("/srv/prod-bin.000001".into()),
            Call::TcpSocket,
            Call::Connect("5, {sa_family=AF_INET, sin_port=htons(3306)}, 16) = 0".into()),
            Call::Write("a".into()),
            Call::Write("b".into()),
        ]
    );
}
