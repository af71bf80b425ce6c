//! What strace recorded, as far as it matters here.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

/// The system calls to be recorded.
pub(crate) const TRACED: &str = "trace=open,openat,creat,connect,bind,socket,rename,renameat,renameat2,unlink,unlinkat,\
     rmdir,mkdir,mkdirat,link,linkat,symlink,symlinkat,mknod,mknodat,truncate,ftruncate,chmod,fchmod,fchmodat,chown,lchown,\
     fchown,fchownat,utimensat,chdir,fchdir,chroot,mount,clone,clone3,fork,vfork";

/// A system call that reaches out or changes a file. Paths are absolute.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Call {
    /// To an address.
    Connect(String),
    /// To an address.
    Bind(String),
    /// A socket that could speak TCP.
    TcpSocket,
    /// A path opened for writing, made, renamed, removed or otherwise changed.
    Write(String),
    /// A folder that a process works in from now on.
    Chdir(String),
}

/// The calls of a record of `strace -f -y`: `PID NAME(ARGUMENTS) = RESULT`, unfinished ones included. The traced program
/// began in the folder `start`.
pub(crate) fn calls(text: &str, start: &str) -> Vec<Call> {
    let mut reading = Reading {
        start: start.into(),
        folders: BTreeMap::new(),
        forking: None,
        seen: Vec::new(),
    };
    for line in text.lines() {
        if let Some((pid, call)) = line.split_once(char::is_whitespace) {
            reading.line(pid, call.trim_start());
        }
    }
    reading.seen
}

struct Reading<'a> {
    start: PathBuf,
    /// Working folders by process.
    folders: BTreeMap<&'a str, PathBuf>,
    /// Who forks right now.
    forking: Option<&'a str>,
    seen: Vec<Call>,
}

impl<'a> Reading<'a> {
    fn line(&mut self, pid: &'a str, call: &'a str) {
        if !self.folders.contains_key(pid) {
            // A child may be seen before its parent's call returns.
            let parent = self.forking.and_then(|parent| self.folders.get(parent));
            self.folders
                .insert(pid, parent.cloned().unwrap_or_else(|| self.start.clone()));
        }
        let resumed = call.strip_prefix("<... ").and_then(|rest| rest.split_once(' '));
        let (name, arguments) = match (resumed, call.split_once('(')) {
            (Some((name, _)), _) => (name, ""),
            (None, Some(parts)) => parts,
            (None, None) => return,
        };
        match name {
            "clone" | "clone3" | "fork" | "vfork" => self.fork(pid, call),
            _ if resumed.is_some() => {}
            "connect" => self.seen.push(Call::Connect(arguments.to_owned())),
            "bind" => self.seen.push(Call::Bind(arguments.to_owned())),
            "socket" => {
                if arguments.starts_with("AF_INET") && arguments.contains("SOCK_STREAM") {
                    self.seen.push(Call::TcpSocket);
                }
            }
            "chdir" | "fchdir" if !call.contains(") = -1") => {
                if let Some(path) = self.paths(pid, arguments).pop() {
                    self.seen.push(Call::Chdir(path.clone()));
                    self.folders.insert(pid, path.into());
                }
            }
            "chdir" | "fchdir" => {}
            "open" | "openat"
                if !["O_WRONLY", "O_RDWR", "O_CREAT"]
                    .iter()
                    .any(|flag| arguments.contains(flag)) => {}
            // What exists already is not made.
            _ if call.contains("EEXIST") => {}
            // Where a link leads is not changed by making it.
            "symlink" | "symlinkat" => self
                .seen
                .extend(self.paths(pid, arguments).pop().map(Call::Write)),
            _ => {
                let paths = self.paths(pid, arguments);
                self.seen.extend(paths.into_iter().map(Call::Write));
            }
        }
    }

    fn fork(&mut self, pid: &'a str, call: &'a str) {
        let child = call.rsplit_once(" = ").map(|(_, child)| child.trim());
        match child.filter(|child| child.bytes().all(|b| b.is_ascii_digit())) {
            Some(child) => {
                if let Some(folder) = self.folders.get(pid).cloned() {
                    self.folders.entry(child).or_insert(folder);
                }
            }
            None => self.forking = Some(pid),
        }
    }

    /// The paths in a call's arguments, absolute, each once: texts in quotes, relative to the descriptor before them or to
    /// the working folder; where there are none, the descriptor's own path.
    fn paths(&self, pid: &str, arguments: &str) -> Vec<String> {
        let parts: Vec<&str> = arguments.split('"').collect();
        if parts.len() < 2 {
            return descriptor(arguments)
                .filter(|path| path.starts_with('/'))
                .map(|path| vec![path.to_owned()])
                .unwrap_or_default();
        }
        let mut seen = BTreeSet::new();
        let mut paths = Vec::new();
        for pair in parts.chunks(2).filter(|pair| pair.len() == 2) {
            let base = pair[0]
                .ends_with(">, ")
                .then(|| descriptor(pair[0]))
                .flatten()
                .map_or_else(|| self.folders[pid].clone(), PathBuf::from);
            let path = plain(&base.join(pair[1]));
            if seen.insert(path.clone()) {
                paths.push(path);
            }
        }
        paths
    }
}

/// The last path in angle brackets, as `-y` writes it behind a descriptor.
fn descriptor(text: &str) -> Option<&str> {
    let (before, _) = text.rsplit_once('>')?;
    before.rsplit_once('<').map(|(_, path)| path)
}

/// A path without `.` and `..`.
fn plain(path: &Path) -> String {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                plain.pop();
            }
            Component::CurDir => {}
            part => plain.push(part),
        }
    }
    plain.display().to_string()
}

#[test]
fn a_record_is_read_as_it_is_written() {
    let text = "\
77 openat(AT_FDCWD</srv>, \"/etc/passwd\", O_RDONLY|O_CLOEXEC) = 3</etc/passwd>
77 openat(AT_FDCWD</srv>, \"/srv/prod-bin.000001\", O_RDWR|O_CREAT, 0640 <unfinished ...>
78 socket(AF_INET, SOCK_STREAM|SOCK_CLOEXEC, IPPROTO_TCP) = 5
78 socket(AF_INET, SOCK_DGRAM, IPPROTO_IP) = 5
78 connect(5, {sa_family=AF_INET, sin_port=htons(3306)}, 16) = 0
77 <... openat resumed>) = 7</srv/prod-bin.000001>
";
    assert_eq!(
        calls(text, "/srv"),
        [
            Call::Write("/srv/prod-bin.000001".into()),
            Call::TcpSocket,
            Call::Connect("5, {sa_family=AF_INET, sin_port=htons(3306)}, 16) = 0".into()),
        ]
    );
}

#[test]
fn relative_paths_are_those_of_the_process_that_used_them() {
    let text = "\
77 unlink(\"a\") = 0
77 clone(child_stack=NULL, flags=SIGCHLD <unfinished ...>
78 chdir(\"data\") = 0
78 unlink(\"b\") = 0
77 <... clone resumed>) = 78
77 rename(\"c\", \"../d\") = 0
78 vfork() = 79
79 mkdir(\"e\", 0700) = 0
79 rmdir(\"/gone\") = 0
79 symlink(\"/etc/passwd\", \"f\") = 0
79 unlinkat(5</var/lib/mysql>, \"g\", 0) = 0
79 fchmod(6</var/lib/h>, 0777) = 0
79 chdir(\"/nowhere\") = -1 ENOENT (No such file or directory)
79 mkdir(\"i\", 0700) = -1 EEXIST (File exists)
";
    let write = |path: &str| Call::Write(path.to_owned());
    assert_eq!(
        calls(text, "/srv"),
        [
            write("/srv/a"),
            Call::Chdir("/srv/data".into()),
            write("/srv/data/b"),
            write("/srv/c"),
            write("/d"),
            write("/srv/data/e"),
            write("/gone"),
            write("/srv/data/f"),
            write("/var/lib/mysql/g"),
            write("/var/lib/h"),
        ]
    );
}
