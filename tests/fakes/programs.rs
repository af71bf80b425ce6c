//! Fake `mariadbd`, `mariadb-install-db`, `sysbench` and a user's command `finish` in one program: which one it is, its file
//! name says.
//!
//! Tests put hard links of it under the real names into a folder, with a `world.toml` beside them that says how this
//! world answers (see `world.rs`), and put that folder on `PATH`. Nothing here uses the code under test, so a mistake
//! there is not repeated here.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "they stand for programs that print"
)]

mod expression;
mod mariadbd;
mod sysbench;
mod world;

use std::process::ExitCode;

/// Anything that can go wrong in a fake; its text is printed.
type Fallible<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

fn main() -> ExitCode {
    let result = world::World::load().and_then(|world| {
        let arguments: Vec<String> = std::env::args().skip(1).collect();
        match world.program.as_str() {
            "mariadbd" | "mysqld" => mariadbd::run(&world, &arguments),
            "mariadb-install-db" | "mysql_install_db" => mariadbd::install(&arguments),
            "sysbench" => sysbench::run(&world, &arguments),
            "finish" => world.hold(world::Moment::Finish).map(|()| 0),
            other => Err(format!("no fake of {other}").into()),
        }
    });
    match result {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            eprintln!("fake: {error}");
            ExitCode::from(99)
        }
    }
}
