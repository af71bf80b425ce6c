//! Whether the host is free for measuring; one that is busy only for the moment is waited for.

use std::time::Duration;

use tokio::time::{Instant, sleep};

use crate::error::{Error, Problem, Result};
use crate::host::{OtherLoad, other_load};
use crate::night::{Event, Events};

/// Foreign use of the CPU or of a disk above this share makes a host unfit for measuring (trial: "Other people's hosts").
const BUSY: f64 = 0.2;
/// How long the host is looked at.
const LOOK: Duration = Duration::from_millis(1500);
/// How long after a look that saw others the next one begins.
const PAUSE: Duration = Duration::from_secs(3);
/// How often a host is looked at where nobody waits until it is free.
const LOOKS: u32 = 3;
/// A host that is busy for this long is refused: a compiler has ended by then, another load has not.
const PATIENCE: Duration = Duration::from_secs(60);

/// Refuses a host where another database server runs or another load is busy, unless the user knows. Others that are busy
/// are waited for up to a minute, and that is told.
///
/// # Errors
/// [`Error::Host`] with what was seen.
pub async fn check_host(shared: bool, events: &Events) -> Result<Option<String>> {
    free_host(shared, events, || other_load(&[], LOOK)).await
}

/// [`check_host`] by means of `look`.
async fn free_host<F>(shared: bool, events: &Events, look: impl Fn() -> F) -> Result<Option<String>>
where
    F: Future<Output = OtherLoad>,
{
    let began = Instant::now();
    let mut others = look().await;
    if others.disk_share > BUSY {
        // What was written a moment ago, by our last run perhaps, reaches the disk now; only what lasts is a load.
        others = look().await;
    }
    let mut told = false;
    loop {
        let Some(seen) = seen(&others) else {
            return Ok(None);
        };
        if shared {
            return Ok(Some(seen));
        }
        // A server stays.
        if !others.servers.is_empty() || began.elapsed() >= PATIENCE {
            return Err(Error::Host(Problem::new(seen).next(
                "measure on a free host; or pass --shared-host and believe pairs only, not single trials",
            )));
        }
        if !told {
            events.send(&Event::Preparing {
                what: format!(
                    "waiting up to {} s for a free host: {seen}",
                    PATIENCE.saturating_sub(began.elapsed()).as_secs()
                ),
            });
            told = true;
        }
        sleep(PAUSE).await;
        others = look().await;
    }
}

/// What others do on this host, without waiting until it is free.
#[derive(Debug, Clone, PartialEq)]
pub struct Neighbours {
    /// What was seen last.
    pub others: OtherLoad,
    /// What of it makes the host unfit for measuring; none where it is free.
    pub unfit: Option<String>,
    /// How many looks saw the like.
    pub looks: u32,
}

/// Looks at the host until a look finds it free, [`LOOKS`] times at most: what ends by itself is no reason against a host.
pub async fn neighbours() -> Neighbours {
    neighbours_by(|| other_load(&[], LOOK)).await
}

/// [`neighbours`] by means of `look`.
async fn neighbours_by<F>(look: impl Fn() -> F) -> Neighbours
where
    F: Future<Output = OtherLoad>,
{
    let mut looks = 1;
    loop {
        let others = look().await;
        let unfit = seen(&others);
        if unfit.is_none() || !others.servers.is_empty() || looks >= LOOKS {
            return Neighbours { others, unfit, looks };
        }
        sleep(PAUSE).await;
        looks += 1;
    }
}

/// What others do that makes the host unfit for measuring.
fn seen(others: &OtherLoad) -> Option<String> {
    let servers: Vec<String> = others
        .servers
        .iter()
        .map(|server| {
            format!(
                "{} (process {}, {:.2} cores)",
                server.name, server.pid, server.cores_used
            )
        })
        .collect();
    if !servers.is_empty() {
        Some(format!(
            "another database server runs on this host: {}",
            servers.join(", ")
        ))
    } else if others.cpu_share > BUSY {
        Some(format!(
            "other programs use {:.0} % of this host's CPU",
            100.0 * others.cpu_share
        ))
    } else if others.disk_share > BUSY {
        Some(format!(
            "other programs keep a disk of this host busy {:.0} % of the time",
            100.0 * others.disk_share
        ))
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;
    use crate::host::OtherServer;
    use crate::night::Listener;

    #[derive(Default)]
    struct Told(Mutex<Vec<Event>>);

    impl Listener for Told {
        fn on(&self, event: &Event) {
            self.0.lock().unwrap().push(event.clone());
        }
    }

    fn load(cpu_share: f64, disk_share: f64) -> OtherLoad {
        OtherLoad {
            servers: Vec::new(),
            cpu_share,
            disk_share,
        }
    }

    /// What comes of a host whose looks see `looks`, the last of them for ever; what was told, and how long it took.
    async fn checked(shared: bool, looks: Vec<OtherLoad>) -> (Result<Option<String>>, Vec<Event>, Duration) {
        let told = Arc::new(Told::default());
        let events = Events::new(vec![told.clone()]);
        let began = Instant::now();
        let next = Mutex::new(0);
        let answer = free_host(shared, &events, || look(&next, &looks)).await;
        let told = told.0.lock().unwrap().clone();
        (answer, told, began.elapsed())
    }

    /// The next of `looks`, the last of them for ever.
    async fn look(next: &Mutex<usize>, looks: &[OtherLoad]) -> OtherLoad {
        sleep(LOOK).await;
        let mut next = next.lock().unwrap();
        *next += 1;
        looks[(*next - 1).min(looks.len() - 1)].clone()
    }

    #[tokio::test(start_paused = true)]
    async fn who_does_not_wait_for_a_free_host_looks_again_before_calling_it_busy() {
        for (looks, unfit, count) in [
            (vec![load(0.1, 0.0)], false, 1),
            (vec![load(0.9, 0.0), load(0.1, 0.0)], false, 2),
            (vec![load(0.0, 0.9), load(0.3, 0.0), load(0.1, 0.1)], false, 3),
            (vec![load(0.0, 0.9)], true, LOOKS),
        ] {
            let next = Mutex::new(0);
            let seen = neighbours_by(|| look(&next, &looks)).await;
            assert_eq!((seen.unfit.is_some(), seen.looks), (unfit, count), "{looks:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_free_host_is_neither_waited_for_nor_spoken_of() {
        let (answer, told, took) = checked(false, vec![load(0.2, 0.2)]).await;
        assert_eq!((answer.unwrap(), told.len(), took), (None, 0, LOOK));
    }

    #[tokio::test(start_paused = true)]
    async fn a_host_that_is_busy_for_the_moment_is_waited_for_and_that_is_told_once() {
        let looks = vec![load(0.9, 0.0), load(0.21, 0.0), load(0.1, 0.0)];
        let (answer, told, took) = checked(false, looks).await;
        assert_eq!((answer.unwrap(), took), (None, 3 * LOOK + 2 * PAUSE));
        let [Event::Preparing { what }] = told.as_slice() else {
            panic!("told {told:?}");
        };
        assert!(
            what.contains("58 s") && what.contains("90 % of this host's CPU"),
            "{what}"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn a_host_that_stays_busy_is_refused_after_a_minute_with_what_keeps_it_busy() {
        let (answer, told, took) = checked(false, vec![load(0.9, 0.0), load(0.5, 0.0)]).await;
        let error = answer.unwrap_err();
        assert_eq!(error.exit_code(), 3);
        let text = error.to_string();
        assert!(text.contains("other programs use 50 %"), "{text}");
        assert!(format!("{error:?}").contains("--shared-host"), "{error:?}");
        assert_eq!(told.len(), 1);
        assert!(took >= PATIENCE && took < PATIENCE + PAUSE + LOOK, "{took:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_disk_that_works_off_what_was_written_before_is_looked_at_again_before_a_word_is_said() {
        let (answer, told, took) = checked(false, vec![load(0.0, 0.9), load(0.0, 0.0)]).await;
        assert_eq!((answer.unwrap(), told.len(), took), (None, 0, 2 * LOOK));
    }

    #[tokio::test(start_paused = true)]
    async fn a_database_server_is_not_waited_for() {
        let server = OtherLoad {
            servers: vec![OtherServer {
                pid: 7,
                name: "mariadbd".to_owned(),
                cores_used: 0.0,
            }],
            ..load(0.9, 0.0)
        };
        let (answer, told, took) = checked(false, vec![server]).await;
        let text = answer.unwrap_err().to_string();
        assert!(text.contains("mariadbd (process 7"), "{text}");
        assert_eq!((told.len(), took), (0, LOOK));
    }

    #[tokio::test(start_paused = true)]
    async fn a_shared_host_is_not_waited_for() {
        let (answer, told, took) = checked(true, vec![load(0.9, 0.0)]).await;
        let seen = answer.unwrap().unwrap();
        assert!(seen.contains("90 %"), "{seen}");
        assert_eq!((told.len(), took), (0, LOOK));
    }
}
