//! The fake `sysbench`: prepares tables and makes load on the fake server, as fast as the world says.

mod arguments;
mod link;
mod run;
mod shared;

use crate::Fallible;
use crate::world::{Moment, World};
use arguments::Arguments;
use link::Link;

/// Runs the load generator; the exit code.
///
/// # Errors
///
/// When the world does not read, or the fake itself fails.
pub(crate) fn run(world: &World, arguments: &[String]) -> Fallible<u8> {
    if arguments.iter().any(|argument| argument == "--version") {
        println!("sysbench 1.0.20");
        return Ok(0);
    }
    let arguments = Arguments::read(arguments)?;
    println!("sysbench 1.0.20 (using system LuaJIT 2.1.0-beta3)\n");
    match arguments.command.as_str() {
        "prepare" => {
            world.hold(Moment::Prepare)?;
            prepare(&arguments)
        }
        "run" => run::run(world, &arguments),
        _ => Ok(0),
    }
}

/// Makes the tables; the exit code.
fn prepare(arguments: &Arguments) -> Fallible<u8> {
    let Ok(mut link) = Link::open(arguments.socket()?) else {
        return Ok(no_server(arguments));
    };
    let schema = arguments.text("mysql-db", "sbtest");
    for table in 1..=arguments.number("tables", 1)? {
        println!("Creating table 'sbtest{table}'...");
        let rows = arguments.number("table-size", 10_000)?;
        link.run(&format!("CREATE TABLE {schema}.sbtest{table} ROWS {rows}"))?;
    }
    Ok(0)
}

/// What sysbench says when it reaches no server; the exit code.
fn no_server(arguments: &Arguments) -> u8 {
    println!(
        "FATAL: unable to connect to MySQL server on socket '{}', aborting...",
        arguments.text("mysql-socket", "")
    );
    println!("FATAL: error 2002: Can't connect to local server through socket");
    1
}
