//! A view on a thread of its own: a terminal that was stopped (Ctrl-S) or a pipe that nobody reads blocks whoever writes to
//! it, and that must never be the thread that keeps deadlines, renews claims and listens to the user's stop.

use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use super::last_words;
use crate::night::{Event, Listener};

/// How long the end waits for a view that has not shown everything yet.
const PATIENCE: Duration = Duration::from_secs(5);

/// Hands events to a view in order, without ever waiting for it. What it has not shown yet is kept: the events of a night
/// are a few megabytes. When this is dropped the view has some seconds to catch up; then what it did not show is counted and
/// told.
#[derive(Debug)]
pub struct Behind {
    queue: Option<Sender<Event>>,
    /// Hung up by the thread when the view has shown everything and is gone.
    ended: Mutex<Receiver<()>>,
    waiting: Arc<AtomicUsize>,
    patience: Duration,
}

impl Behind {
    /// Starts the thread for `view`.
    ///
    /// # Errors
    /// The system gives no thread.
    pub fn new(view: Arc<dyn Listener>) -> io::Result<Self> {
        Self::with_patience(view, PATIENCE)
    }

    fn with_patience(view: Arc<dyn Listener>, patience: Duration) -> io::Result<Self> {
        let (queue, events) = mpsc::channel::<Event>();
        let (alive, ended) = mpsc::channel::<()>();
        let waiting = Arc::new(AtomicUsize::new(0));
        let left = Arc::clone(&waiting);
        thread::Builder::new().name("view".to_owned()).spawn(move || {
            for event in events {
                view.on(&event);
                left.fetch_sub(1, Ordering::Relaxed);
            }
            drop(view);
            drop(alive);
        })?;
        Ok(Self {
            queue: Some(queue),
            ended: Mutex::new(ended),
            waiting,
            patience,
        })
    }
}

impl Listener for Behind {
    fn on(&self, event: &Event) {
        let Some(queue) = &self.queue else { return };
        self.waiting.fetch_add(1, Ordering::Relaxed);
        // A view that panicked shows nothing more; the night goes on.
        let _ = queue.send(event.clone());
    }
}

impl Drop for Behind {
    fn drop(&mut self) {
        self.queue = None;
        let ended = self.ended.get_mut().unwrap_or_else(PoisonError::into_inner);
        let in_time = ended.recv_timeout(self.patience) != Err(RecvTimeoutError::Timeout);
        let left = self.waiting.load(Ordering::Relaxed);
        if !in_time && left > 0 {
            last_words(&format!(
                "warning: {left} event(s) were not shown, since nobody read them; next: look into noctune.log of the study's \
                 folder"
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::MutexGuard;
    use std::time::Instant;

    use super::*;

    /// A view that stands still while the gate is held.
    #[derive(Clone, Default)]
    struct Gated(Arc<(Mutex<()>, Mutex<Vec<String>>)>);

    impl Gated {
        fn close(&self) -> MutexGuard<'_, ()> {
            self.0.0.lock().unwrap()
        }
        fn shown(&self) -> Vec<String> {
            self.0.1.lock().unwrap().clone()
        }
    }

    impl Listener for Gated {
        fn on(&self, event: &Event) {
            let _open = self.close();
            if let Event::Preparing { what } = event {
                self.0.1.lock().unwrap().push(what.clone());
            }
        }
    }

    fn event(number: usize) -> Event {
        Event::Preparing {
            what: number.to_string(),
        }
    }

    #[test]
    fn a_view_that_stands_still_holds_up_nobody_and_shows_everything_in_order_when_it_goes_on() {
        let view = Gated::default();
        let behind = Behind::with_patience(Arc::new(view.clone()), Duration::from_secs(60)).unwrap();
        let gate = view.close();
        for number in 0..10_000 {
            behind.on(&event(number));
        }
        assert_eq!(view.shown(), [""; 0]);
        drop(gate);
        drop(behind);
        let all: Vec<String> = (0..10_000).map(|number| number.to_string()).collect();
        assert_eq!(view.shown(), all);
    }

    #[test]
    fn the_end_waits_for_a_view_that_stands_still_for_a_limited_time() {
        let view = Gated::default();
        let behind = Behind::with_patience(Arc::new(view.clone()), Duration::from_millis(50)).unwrap();
        let gate = view.close();
        behind.on(&event(1));
        let began = Instant::now();
        drop(behind);
        assert!(began.elapsed() < Duration::from_secs(30));
        drop(gate);
    }
}
