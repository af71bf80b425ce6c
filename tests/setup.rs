//! Set-up on a host whose Rust is too old, with programs that only pretend to be there.

#![expect(clippy::unwrap_used, reason = "what cannot be set up fails the test")]

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Programs that set-up looks for and does not run.
const PRESENT: [&str; 6] = ["mariadbd", "sysbench", "cc", "make", "pkg-config", "strace"];
/// Programs that set-up runs.
const TOOLS: [&str; 13] = [
    "bash", "sh", "sed", "sort", "head", "mktemp", "rm", "env", "id", "dirname", "mkdir", "chmod", "cat",
];

/// Gets the installer of a new Rust: it puts a cargo into the place where rustup puts it.
const CURL: &str = r#"#!/bin/sh
while [ "$1" != -o ]; do shift; done
cat >"$2" <<'INSTALLER'
mkdir -p "$CARGO_HOME/bin"
printf '#!/bin/sh\necho "cargo 99.0.0"\n' >"$CARGO_HOME/bin/cargo"
chmod 755 "$CARGO_HOME/bin/cargo"
INSTALLER
"#;

struct Host {
    folder: tempfile::TempDir,
}

impl Host {
    fn with_an_old_rust() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let host = Self { folder };
        std::fs::create_dir(host.bin()).unwrap();
        for name in PRESENT {
            host.program(name, "#!/bin/sh\n");
        }
        host.program("cargo", "#!/bin/sh\necho 'cargo 1.63.0'\n");
        host.program("curl", CURL);
        for name in TOOLS {
            let real = ["/usr/bin", "/bin"].map(|folder| Path::new(folder).join(name));
            let real = real.iter().find(|path| path.exists()).unwrap();
            symlink(real, host.bin().join(name)).unwrap();
        }
        host
    }

    fn bin(&self) -> PathBuf {
        self.folder.path().join("bin")
    }

    fn cargo_home(&self) -> PathBuf {
        self.folder.path().join("cargo")
    }

    fn program(&self, name: &str, text: &str) {
        let path = self.bin().join(name);
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn bash(&self, path: &str, script: &str) -> Output {
        Command::new(self.bin().join("bash"))
            .args(["-euc", script])
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .env_clear()
            .env("PATH", path)
            .env("HOME", self.folder.path())
            .env("CARGO_HOME", self.cargo_home())
            .output()
            .unwrap()
    }
}

#[test]
fn a_rust_that_is_too_old_is_replaced_by_one_that_the_recipes_find() {
    let host = Host::with_an_old_rust();
    let (bin, own) = (host.bin(), host.cargo_home().join("bin"));
    let plain = bin.display().to_string();
    for path in [plain.clone(), format!("{plain}:{}", own.display())] {
        // A missing folder is no error: the first run has none.
        let _ = std::fs::remove_dir_all(host.cargo_home());
        let set_up = host.bash(&path, "scripts/setup.sh");
        let told = String::from_utf8_lossy(&set_up.stdout);
        assert!(
            set_up.status.success(),
            "{told}{}",
            String::from_utf8_lossy(&set_up.stderr)
        );
        assert!(told.contains("cargo 99.0.0 is installed"), "{told}");
        let found = host.bash(&path, ". scripts/env.sh; cargo --version");
        assert_eq!(
            String::from_utf8_lossy(&found.stdout).trim(),
            "cargo 99.0.0",
            "PATH={path}"
        );
        let again = host.bash(&path, "scripts/setup.sh");
        assert!(
            String::from_utf8_lossy(&again.stdout).contains("cargo 99.0.0 is there"),
            "{again:?}"
        );
    }
}
