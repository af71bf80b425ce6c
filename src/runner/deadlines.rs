//! How long each part of a trial may take. Every limit is far above what the part needs, so that only what hangs meets it.

use std::time::Duration;

use crate::plan::Length;
use crate::trial::Phase;

/// The limits of a trial. [`Deadlines::default`] is what users get; tests of hanging servers shorten them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Deadlines {
    /// Phase *check*.
    pub check: Duration,
    /// Phase *reset*: a copy of a large data directory from a slow disk.
    pub reset: Duration,
    /// Phase *cool*.
    pub cool: Duration,
    /// Phase *start*, from the fork to the first answer.
    pub start: Duration,
    /// Phase *verify*.
    pub verify: Duration,
    /// Phase *warm-up*, beyond one and a half times its cap.
    pub warm_up: Duration,
    /// Phase *measure*, beyond one and a half times its cap.
    pub measure: Duration,
    /// Phase *collect*.
    pub collect: Duration,
    /// Phase *crash recovery*.
    pub crash_recovery: Duration,
    /// Waiting for the checkpoint age to be level before a crash.
    pub plateau: Duration,
    /// Phase *stop*.
    pub stop: Duration,
    /// One status query under load: a busy server needs milliseconds, a hung one never answers.
    pub answer: Duration,
    /// After this long without a transaction the server is asked whether it lives.
    pub silence: Duration,
    /// With the server idle this long while the load sends nothing, the load itself hangs.
    pub load_hung: Duration,
    /// A server that lost its connections is seen dead within this.
    pub dying: Duration,
    /// Reading the tables into the pool before the load; what is not read by then the load reads.
    pub scan: Duration,
    /// The load ends within this when asked.
    pub load_end: Duration,
}

impl Default for Deadlines {
    fn default() -> Self {
        let seconds = Duration::from_secs;
        Self {
            check: seconds(30),
            reset: seconds(1800),
            cool: seconds(180),
            start: seconds(300),
            verify: seconds(60),
            warm_up: seconds(120),
            measure: seconds(60),
            collect: seconds(60),
            crash_recovery: seconds(1800),
            plateau: seconds(180),
            stop: seconds(120),
            answer: seconds(10),
            silence: seconds(8),
            load_hung: seconds(15),
            dying: seconds(5),
            scan: seconds(30),
            load_end: seconds(15),
        }
    }
}

impl Deadlines {
    /// How long a phase of a trial of this length may take.
    pub fn of(&self, phase: Phase, length: &Length) -> Duration {
        let beyond = |cap: f64, slack: Duration| Duration::from_secs_f64(1.5 * cap) + slack;
        match phase {
            Phase::Check => self.check,
            Phase::Reset => self.reset,
            Phase::Cool => self.cool,
            Phase::Start => self.start,
            Phase::Verify => self.verify,
            Phase::WarmUp => beyond(length.warmup_cap, self.warm_up),
            Phase::Measure => beyond(length.measure_max, self.measure),
            Phase::Collect => self.collect,
            Phase::CrashRecovery => self.crash_recovery,
            Phase::Stop => self.stop,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_depends_on_the_length_of_the_load_grows_with_it() {
        let length = |cap: f64| Length {
            warmup_cap: cap,
            measure_min: cap,
            measure_max: cap,
        };
        let limits = Deadlines::default();
        for phase in Phase::ALL {
            let (short, long) = (limits.of(phase, &length(1.0)), limits.of(phase, &length(100.0)));
            let grows = matches!(phase, Phase::WarmUp | Phase::Measure);
            assert_eq!(long > short, grows, "{phase}");
        }
        assert!(
            limits.of(Phase::WarmUp, &length(0.0)) > limits.scan + limits.answer + limits.dying,
            "the scan alone never ends a warm-up"
        );
    }
}
