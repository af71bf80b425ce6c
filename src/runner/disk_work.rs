//! Copying and writing back in a thread of its own, that ends when its trial does.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::journal::Failure;

/// The work on the disk that is under way. A future that is dropped (deadline, stop) does not end a thread, so the thread
/// is told to stop and waited for.
#[derive(Debug, Default)]
pub(super) struct DiskWork {
    under_way: Option<(Arc<AtomicBool>, JoinHandle<()>)>,
}

impl DiskWork {
    /// Runs `work` off the runtime's thread. It gets a question to ask often: whether to stop.
    pub(super) async fn run<T: Send + 'static>(
        &mut self,
        work: impl FnOnce(&dyn Fn() -> bool) -> T + Send + 'static,
    ) -> Result<T, Failure> {
        self.end().await;
        let stop = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&stop);
        let (sender, receiver) = oneshot::channel();
        let thread = tokio::task::spawn_blocking(move || {
            // Nobody receives it when the phase was cut short.
            let _ = sender.send(work(&|| flag.load(Ordering::Relaxed)));
        });
        self.under_way = Some((stop, thread));
        receiver
            .await
            .map_err(|_| Failure::host("work on the disk ended abnormally"))
    }

    /// Tells what is under way to stop, and waits until it has.
    pub(super) async fn end(&mut self) {
        if let Some((stop, thread)) = &mut self.under_way {
            stop.store(true, Ordering::Relaxed);
            // A panic was reported where its result was waited for.
            let _ = thread.await;
            self.under_way = None;
        }
    }
}

impl Drop for DiskWork {
    fn drop(&mut self) {
        if let Some((stop, _)) = &self.under_way {
            stop.store(true, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test]
    async fn work_whose_phase_was_cut_short_is_stopped_and_waited_for() {
        let ended = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&ended);
        let mut disk = DiskWork::default();
        let work = disk.run(move |stopped| {
            while !stopped() {
                std::thread::sleep(Duration::from_millis(1));
            }
            std::thread::sleep(Duration::from_millis(50));
            told.store(true, Ordering::Relaxed);
        });
        assert!(
            tokio::time::timeout(Duration::from_millis(20), work)
                .await
                .is_err()
        );
        assert!(!ended.load(Ordering::Relaxed));
        disk.end().await;
        assert!(ended.load(Ordering::Relaxed), "it was not waited for");
        assert_eq!(disk.run(|_| 7).await, Ok(7));
    }
}
