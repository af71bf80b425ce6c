//! The start and the end of the fake server, and of the tool that makes its data directory.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::UnixListener;
use tokio::signal::unix::{SignalKind, signal};

use super::log::Log;
use super::options::{IGNORED, defaults, gather};
use super::protocol::serve;
use super::state::State;
use super::variables::{Taken, Variables};
use crate::Fallible;
use crate::expression::{Value, holds};
use crate::world::{Moment, ServerFault, ServerMishap, World};

/// Runs the server; the exit code.
///
/// # Errors
///
/// When the world does not read, or the fake itself fails.
pub(crate) fn run(world: &World, arguments: &[String]) -> Fallible<u8> {
    if arguments
        .iter()
        .any(|argument| argument == "--version" || argument == "-V")
    {
        println!(
            "mariadbd  Ver {} for debian-linux-gnu on x86_64 (Debian 12)",
            world.file.server.version
        );
        return Ok(0);
    }
    let mut variables = Variables::defaults()?;
    variables.put("version", &world.file.server.version);
    let (mut bootstrap, mut help) = (false, false);
    let mut notes = Vec::new();
    let mut failure = None;
    for (name, value) in gather(arguments)? {
        bootstrap |= name == "bootstrap";
        help |= name == "help";
        let loose = name.strip_prefix("loose_");
        let name = loose.unwrap_or(&name);
        if IGNORED.contains(&name) {
            continue;
        }
        match known_as(&mut variables, name, value.as_deref()) {
            Taken::Well(warnings) => notes.extend(warnings.into_iter().map(|text| ("Warning", text))),
            Taken::Badly(..) if loose.is_some() => {
                notes.push(("Warning", format!("unknown variable 'loose-{name}'")));
            }
            Taken::Badly(lines, code) => failure = failure.or(Some((lines, code))),
        }
    }
    let warnings = variables.settle();
    notes.extend(warnings.into_iter().map(|text| ("Warning", text)));
    let log = Log::open(variables.get("log_error"))?;
    log.line(
        "Note",
        &format!(
            "Starting MariaDB {} source revision fake as process {}",
            world.file.server.version,
            std::process::id()
        ),
    );
    for (level, text) in notes {
        log.line(level, &text);
    }
    if let Some((lines, code)) = failure {
        for line in lines {
            log.line("ERROR", &line);
        }
        return Ok(code);
    }
    if help {
        return Ok(0);
    }
    if !Path::new(variables.get("datadir")).is_dir() {
        log.line(
            "ERROR",
            "mariadbd: Can't change dir to the data directory (Errcode: 2 \"No such file or directory\")",
        );
        log.line("ERROR", "Aborting");
        return Ok(1);
    }
    if bootstrap {
        std::io::copy(&mut std::io::stdin(), &mut std::io::sink())?;
        return Ok(0);
    }
    let faults = faults(world, &variables, &defaults(arguments)?)?;
    if let Some(refusal) = faults.iter().find(|fault| fault.happens == ServerMishap::Refuse) {
        for line in &refusal.log {
            log.line("ERROR", line);
        }
        return Ok(refusal.exit);
    }
    for fault in faults
        .iter()
        .filter(|fault| fault.happens == ServerMishap::NotApplied)
    {
        variables.put(&fault.variable, &fault.value);
        for line in &fault.log {
            log.line("Warning", line);
        }
    }
    world.hold(Moment::Start)?;
    std::thread::sleep(Duration::from_secs_f64(world.file.server.start_seconds));
    if faults
        .iter()
        .any(|fault| fault.happens == ServerMishap::HangAtStart)
    {
        loop {
            std::thread::park();
        }
    }
    let state = Arc::new(State::new(&world.file.server, variables, faults, log));
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?
        .block_on(answer_clients(state))
}

/// Takes an option, also in its `skip_` form.
fn known_as(variables: &mut Variables, name: &str, value: Option<&str>) -> Taken {
    let off = name
        .strip_prefix("skip_")
        .filter(|rest| variables.0.contains_key(*rest));
    match off {
        Some(rest) if !variables.0.contains_key(name) => variables.take(rest, Some("0")),
        _ if name == "transaction_isolation" => variables.take("tx_isolation", value),
        _ if name == "character_set_client_handshake" => Taken::Well(Vec::new()),
        _ => variables.take(name, value),
    }
}

/// The faults of the world that apply to this start.
fn faults(world: &World, variables: &Variables, cnf: &str) -> Fallible<Vec<ServerFault>> {
    let mut names = variables.names();
    names.insert("start".to_owned(), Value::Number(world.count("starts")?));
    let mut faults = Vec::new();
    for fault in &world.file.server.fault {
        let reads = fault.reads.as_deref().is_none_or(|part| cnf.contains(part));
        if reads && holds(&fault.when, &names)? {
            faults.push(fault.clone());
        }
    }
    Ok(faults)
}

async fn answer_clients(state: Arc<State>) -> Fallible<u8> {
    let log = &state.log;
    let socket = state.variables().get("socket").to_owned();
    // The real one, too, takes the place of a socket that nobody listens on.
    let _ = std::fs::remove_file(&socket);
    let listener = UnixListener::bind(&socket)?;
    let pid_file = state.variables().get("pid_file").to_owned();
    if !pid_file.is_empty() {
        std::fs::write(state.data().join(&pid_file), format!("{}\n", std::process::id()))?;
    }
    log.line("Note", "mariadbd: ready for connections.");
    log.raw(&format!(
        "Version: '{}'  socket: '{socket}'  port: 0  Debian 12",
        state.version
    ));
    let mut terminate = signal(SignalKind::terminate())?;
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                let (stream, _) = accepted?;
                tokio::spawn(serve(stream, Arc::clone(&state)));
            }
            () = state.shutdown.notified(), if !state.is_deaf() => break,
            _ = terminate.recv(), if !state.is_deaf() => break,
        }
    }
    let _ = std::fs::remove_file(&socket);
    log.line("Note", "mariadbd: Shutdown complete");
    Ok(0)
}

/// Makes a data directory that looks like one; the exit code.
///
/// # Errors
///
/// When it cannot be written.
pub(crate) fn install(arguments: &[String]) -> Fallible<u8> {
    let data = gather(arguments)?
        .into_iter()
        .find(|(name, _)| name == "datadir")
        .and_then(|(_, value)| value)
        .ok_or("no --datadir")?;
    let data = Path::new(&data);
    for folder in ["mysql", "performance_schema", "sys"] {
        std::fs::create_dir_all(data.join(folder))?;
    }
    for (file, kilobytes) in [
        ("ibdata1", 128),
        ("ib_logfile0", 64),
        ("aria_log_control", 1),
        ("mysql/db.frm", 1),
    ] {
        std::fs::write(data.join(file), vec![0_u8; kilobytes * 1024])?;
    }
    println!(
        "Installing MariaDB/MySQL system tables in '{}' ...\nOK",
        data.display()
    );
    Ok(0)
}
