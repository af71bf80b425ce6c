//! The load itself.

use std::io::Write;
use std::time::{Duration, Instant};

use rand::SeedableRng;
use rand::distr::{Distribution, Uniform};

use super::arguments::Arguments;
use super::link::Link;
use super::no_server;
use super::shared::Shared;
use crate::Fallible;
use crate::expression::{Names, Value, holds, number};
use crate::world::{LoadFault, LoadMishap, World};

/// How often the load reports to the server and to its reader.
const TICK: Duration = Duration::from_millis(50);

/// Makes load until it is told to stop or its time is up; the exit code.
pub(super) fn run(world: &World, arguments: &Arguments) -> Fallible<u8> {
    let Ok(mut link) = Link::open(arguments.socket()?) else {
        return Ok(no_server(arguments));
    };
    let mut names = link.variables()?;
    let run = world.count("runs")?;
    let threads = arguments.number("threads", 1)?.max(1);
    names.insert("run".to_owned(), Value::Number(run));
    #[expect(clippy::cast_precision_loss, reason = "small")]
    names.insert("threads".to_owned(), Value::Number(threads as f64));
    let luck = luck(world, run)?;
    let fault = fault(world, &names)?;
    println!("Running the test with following options:\nNumber of threads: {threads}\n");
    println!("Initializing worker threads...\n");
    if let Some(fault) = fault.filter(|fault| fault.happens == LoadMishap::Fatal && fault.after == 0.0) {
        return Ok(fatal(fault));
    }
    println!("Threads started!\n");
    let seconds = arguments.number("time", 10)?;
    let end = Duration::from_secs(if seconds == 0 { u64::MAX / 2 } else { seconds });
    let began = Instant::now();
    let mut book = Book::default();
    let mut shared = Shared::open(threads)?;
    let mut said = false;
    while began.elapsed() < end {
        if let Some(shared) = &shared
            && shared.is_stopped()?
        {
            break;
        }
        std::thread::sleep(TICK);
        let now = began.elapsed().as_secs_f64();
        if let Some(fault) = fault.filter(|fault| now >= fault.after) {
            match fault.happens {
                LoadMishap::Fatal => return Ok(fatal(fault)),
                LoadMishap::Hang => loop {
                    std::thread::park();
                },
                LoadMishap::Silent => continue,
                LoadMishap::Says => {
                    if !said {
                        println!("{}", fault.lines.join("\n"));
                    }
                    said = true;
                }
                LoadMishap::WrongTotals | LoadMishap::DecimalCommas => {}
            }
        }
        names.insert("second".to_owned(), Value::Number(now));
        let tps = number(&world.file.load.tps, &names)?.max(0.0) * luck;
        let latency_ms = number(&world.file.load.latency_ms, &names)?;
        let done = book.advance(tps, now);
        if let Some(shared) = &mut shared {
            // One in ten takes half as long again.
            shared.count(done - done / 10, microseconds(latency_ms))?;
            shared.count(done / 10, microseconds(latency_ms * 1.5))?;
        }
        if link.run(&format!("DO fake_load({done})")).is_err() {
            println!(
                "FATAL: mysql_stmt_execute() returned error 2013 (Lost connection to server during query) for query 'COMMIT'"
            );
            println!(
                "FATAL: `thread_run' function failed: oltp_common.lua:458: SQL error, errno = 2013, state = 'HY000'"
            );
            return Ok(1);
        }
        std::io::stdout().flush()?;
    }
    book.print(began.elapsed().as_secs_f64(), fault.map(|fault| fault.happens));
    Ok(0)
}

fn fatal(fault: &LoadFault) -> u8 {
    for line in &fault.lines {
        println!("{line}");
    }
    fault.exit
}

fn microseconds(milliseconds: f64) -> u64 {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a duration in its range"
    )]
    {
        (milliseconds.max(0.0) * 1000.0) as u64
    }
}

/// What has been done so far.
#[derive(Default)]
struct Book {
    transactions: u64,
    carry: f64,
    last: f64,
}

impl Book {
    /// Whole transactions done since the last time.
    fn advance(&mut self, tps: f64, now: f64) -> u64 {
        self.carry += tps * (now - self.last);
        self.last = now;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "small and positive"
        )]
        let done = self.carry as u64;
        #[expect(clippy::cast_precision_loss, reason = "small")]
        let whole = done as f64;
        self.carry -= whole;
        self.transactions += done;
        done
    }

    fn print(&self, seconds: f64, mishap: Option<LoadMishap>) {
        let transactions = match mishap {
            Some(LoadMishap::WrongTotals) => self.transactions * 3 / 2,
            _ => self.transactions,
        };
        #[expect(clippy::cast_precision_loss, reason = "small")]
        let tps = transactions as f64 / seconds;
        let text = format!(
            "SQL statistics:\n    queries performed:\n        read:                            {}\n        write:                           {}\n        \
             other:                           {}\n        total:                           {}\n    transactions:                        {transactions} ({tps:.2} per sec.)\n    \
             queries:                             {} ({:.2} per sec.)\n    ignored errors:                      0      (0.00 per sec.)\n    \
             reconnects:                          0      (0.00 per sec.)\n\nGeneral statistics:\n    total time:                          {seconds:.4}s\n    \
             total number of events:              {transactions}\n",
            transactions * 14,
            transactions * 4,
            transactions * 2,
            transactions * 20,
            transactions * 20,
            tps * 20.0,
        );
        println!(
            "{}",
            if mishap == Some(LoadMishap::DecimalCommas) {
                text.replace('.', ",")
            } else {
                text
            }
        );
    }
}

/// The factor of this run's noise.
fn luck(world: &World, run: f64) -> Fallible<f64> {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a small count"
    )]
    let mut random = rand_chacha::ChaCha8Rng::seed_from_u64(world.file.load.seed ^ ((run as u64) << 32));
    // Twelve uniform numbers less six are as good as normal here.
    let sum: f64 = Uniform::new(0.0, 1.0)?.sample_iter(&mut random).take(12).sum();
    Ok((world.file.load.noise * (sum - 6.0)).exp())
}

fn fault<'a>(world: &'a World, names: &Names) -> Fallible<Option<&'a LoadFault>> {
    for fault in &world.file.load.fault {
        if holds(&fault.when, names)? {
            return Ok(Some(fault));
        }
    }
    Ok(None)
}
