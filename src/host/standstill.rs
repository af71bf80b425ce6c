//! Whether processes still do something.

use std::time::{Duration, Instant};

use super::identity::{Stat, all_pids};

/// CPU time below which processes stand still, seconds; a server at rest uses less than this in ten minutes.
const LEAST: f64 = 0.5;
/// How often they are looked at while they may stand still.
const LOOKS: u32 = 100;

/// Ends once these processes, with all of their groups, have used no CPU to speak of for `limit`: they hang, or wait for
/// something that does. What waits for a slow disk still uses some.
pub async fn standstill(pids: &[i32], limit: Duration) {
    let groups: Vec<i32> = pids
        .iter()
        .filter_map(|pid| Some(Stat::of(*pid)?.group))
        .collect();
    let mut used = cpu_seconds(&groups);
    let mut since = Instant::now();
    while since.elapsed() < limit {
        tokio::time::sleep(limit / LOOKS).await;
        let now = cpu_seconds(&groups);
        // Less than before: a member has ended, which is something done, too.
        if (now - used).abs() >= LEAST {
            (used, since) = (now, Instant::now());
        }
    }
}

/// CPU time used by the members of these groups, seconds.
fn cpu_seconds(groups: &[i32]) -> f64 {
    let ticks: u64 = all_pids()
        .into_iter()
        .filter_map(Stat::of)
        .filter(|stat| groups.contains(&stat.group))
        .map(|stat| stat.cpu_ticks)
        .sum();
    ticks as f64 / rustix::param::clock_ticks_per_second() as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::Spawn;

    #[tokio::test]
    async fn processes_that_use_no_cpu_stand_still_and_a_group_with_a_busy_member_does_not() {
        let shell = |command: &str| Spawn::new("/bin/sh").args(["-c", command]).start().unwrap();
        let idle = [shell("sleep 600"), shell("sleep 600")];
        let pids = [idle[0].pid(), idle[1].pid()];
        let limit = Duration::from_secs(3);
        tokio::time::timeout(Duration::from_secs(60), standstill(&pids, limit))
            .await
            .unwrap();
        let busy = shell("(while :; do :; done) & sleep 600");
        let pids = [idle[0].pid(), busy.pid()];
        let ended = tokio::time::timeout(2 * limit, standstill(&pids, limit)).await;
        assert!(ended.is_err(), "a busy group was taken for one that stands still");
    }
}
