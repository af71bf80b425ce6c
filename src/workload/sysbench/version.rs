//! Which sysbench is there: asked for its version, with a limit.

use std::io::{self, Read as _};
use std::time::Duration;

use super::output;
use crate::error::{Error, Result};
use crate::host::{Output, Spawn};

/// A version line comes at once, even from a slow disk.
const LIMIT: Duration = Duration::from_secs(20);

/// Makes sure that `program` is a sysbench that Noctune knows.
///
/// # Errors
/// Host errors: it cannot be run, gives no answer, or another one.
pub(super) async fn check(program: &str) -> Result<()> {
    check_within(program, LIMIT).await
}

async fn check_within(program: &str, limit: Duration) -> Result<()> {
    let answer = ask(program, limit).await.map_err(|error| {
        Error::host(format!("sysbench cannot be run: {error}"))
            .at(program)
            .next("install it (`apt-get install sysbench`), or run `make tune`, which does")
    })?;
    let Some(text) = answer else {
        return Err(Error::host(format!(
            "`{program} --version` gives no answer within {} s",
            limit.as_secs_f64()
        ))
        .at(program)
        .next("run that command by hand; NOCTUNE_SYSBENCH names another sysbench"));
    };
    let text = text.trim();
    match text.strip_prefix("sysbench ").and_then(output::version) {
        Some((1, 0 | 1, _)) => Ok(()),
        _ => Err(Error::host(format!(
            "`{program} --version` says \"{text}\", which is not sysbench 1.0 or 1.1"
        ))
        .next("install sysbench 1.0 or 1.1")),
    }
}

/// What it prints, none where it does not end in time; it is gone then.
async fn ask(program: &str, limit: Duration) -> io::Result<Option<String>> {
    let mut child = Spawn::new(program)
        .arg("--version")
        .stdout(Output::Pipe)
        .start()?;
    let printed = child.take_stdout();
    if child.wait(limit).await?.is_none() {
        return Ok(None);
    }
    // What it left behind could keep the pipe open. A version line is far below a pipe's size, so it is complete.
    child.kill(limit).await?;
    let mut bytes = Vec::new();
    if let Some(mut printed) = printed {
        printed.read_to_end(&mut bytes)?;
    }
    Ok(Some(String::from_utf8_lossy(&bytes).into_owned()))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn program(folder: &std::path::Path, text: &str) -> String {
        let file = folder.join("sysbench");
        std::fs::write(&file, text).unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
        file.display().to_string()
    }

    #[tokio::test]
    async fn a_sysbench_that_does_not_answer_is_told_and_ended() {
        let scratch = tempfile::tempdir().unwrap();
        let pid = scratch.path().join("pid");
        let hung = program(
            scratch.path(),
            &format!("#!/bin/sh\necho $$ > {}\nexec sleep 600\n", pid.display()),
        );
        let error = check_within(&hung, Duration::from_secs(1)).await.unwrap_err();
        assert_eq!(error.exit_code(), 3);
        assert!(error.to_string().contains("no answer within 1 s"), "{error}");
        let pid = std::fs::read_to_string(pid).unwrap();
        assert!(!std::path::Path::new("/proc").join(pid.trim()).exists());
    }

    #[tokio::test]
    async fn what_is_no_sysbench_is_told_with_its_words() {
        let scratch = tempfile::tempdir().unwrap();
        check(&program(scratch.path(), "#!/bin/sh\necho sysbench 1.0.20\n"))
            .await
            .unwrap();
        let began = std::time::Instant::now();
        check(&program(
            scratch.path(),
            "#!/bin/sh\nsleep 600 &\necho sysbench 1.1.0\n",
        ))
        .await
        .unwrap();
        assert!(
            began.elapsed() < Duration::from_secs(60),
            "what is left behind is ended"
        );
        let error = check(&program(scratch.path(), "#!/bin/sh\necho sysbench 2.0\n"))
            .await
            .unwrap_err();
        assert!(error.to_string().contains("sysbench 2.0"), "{error}");
    }
}
