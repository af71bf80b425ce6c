//! kill -9 at every moment of a study: it goes on as if nothing had been.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::Child;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::Value;

use crate::bench::{Bench, of_kind, send};
use crate::nights::tuned;
use crate::resume::{ARGUMENTS, SLOPE, reaches, study};
use crate::study::Study;

/// Where a study is when it is killed.
#[derive(Debug, Clone, Copy)]
enum Moment {
    /// The load fills its tables; there is no template yet.
    Filling,
    /// A trial of this purpose is in this phase.
    In(&'static str, &'static str),
    /// The last trial is stored, the final my.cnf not yet handed over.
    HandingOver,
    /// The study is done and the user's command at its end runs.
    Finishing,
}

/// In the order in which a study comes to them.
const MOMENTS: [Moment; 14] = [
    Moment::Filling,
    Moment::In("baseline", "start"),
    Moment::In("baseline", "reset"),
    Moment::In("baseline", "measure"),
    Moment::In("start", "start"),
    Moment::In("explore", "reset"),
    Moment::In("explore", "warm-up"),
    Moment::In("explore", "measure"),
    Moment::In("pair", "start"),
    Moment::In("pair", "reset"),
    Moment::In("pair", "measure"),
    Moment::In("final", "start"),
    Moment::HandingOver,
    Moment::Finishing,
];

/// Larger than what is copied before a kill comes; a file with holes, so that it takes no room.
const HUGE: u64 = 4 << 30;

/// A running study whose fakes wait where the test wants it.
struct Walk<'a> {
    bench: &'a Bench,
    child: Child,
}

impl<'a> Walk<'a> {
    /// A study whose fakes wait at `hold` (see the world file); at nothing where that is empty.
    fn begin(bench: &'a Bench, hold: &str) -> Self {
        bench.world(&format!("holds = [{hold}]\n{SLOPE}"));
        let child = bench.spawn(&ARGUMENTS);
        Self { bench, child }
    }

    fn held_file(&self) -> PathBuf {
        self.bench.bin().join("held")
    }

    /// Looks again and again until there is something; panics when noctune ends before.
    fn until<T>(&mut self, what: &str, mut look: impl FnMut(&Bench) -> Option<T>) -> T {
        let end = Instant::now() + Duration::from_secs(120);
        loop {
            let ended = self.child.try_wait().unwrap();
            if let Some(found) = look(self.bench) {
                return found;
            }
            assert!(
                ended.is_none() && Instant::now() < end,
                "never came to {what}: {ended:?} {}",
                self.bench.errors()
            );
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// The command line of the fake that waits.
    fn held(&mut self) -> String {
        let file = self.held_file();
        self.until("a fake that waits", |_| std::fs::read_to_string(&file).ok())
    }

    fn release(&self) {
        std::fs::remove_file(self.held_file()).unwrap();
    }

    /// Goes on until the server of a trial of this purpose waits in its start; the trial's number.
    fn start_of(&mut self, purpose: &str) -> u64 {
        loop {
            let held = self.held();
            // Servers of the set-up have no trial.
            if let Some((_, rest)) = held.split_once("/trials/") {
                let number: u64 = rest[..6].parse().unwrap();
                let job = self.until("the trial's job", |bench| {
                    of_kind(&bench.output(), "trial-started")
                        .find(|event| event["trial"] == number)
                        .map(|event| event["job"]["purpose"].clone())
                });
                if job == purpose {
                    return number;
                }
            }
            self.release();
        }
    }

    /// From the start of one trial of this purpose to the reset of the next: it copies for seconds.
    fn reset_of(&mut self, purpose: &str) {
        self.start_of(purpose);
        self.bench.world(SLOPE);
        resize_template(self.bench, HUGE);
        self.release();
        assert!(
            reaches(self.bench, &mut self.child, purpose, "reset"),
            "{}",
            self.bench.errors()
        );
    }

    fn reach(&mut self, moment: Moment) {
        match moment {
            Moment::Filling | Moment::Finishing => {
                self.held();
            }
            Moment::In(purpose, "start") => {
                self.start_of(purpose);
            }
            Moment::In(purpose, "reset") => self.reset_of(purpose),
            Moment::In(purpose, phase) => assert!(
                reaches(self.bench, &mut self.child, purpose, phase),
                "no {phase} of {purpose}: {}",
                self.bench.errors()
            ),
            Moment::HandingOver => {
                let last = self.start_of("final");
                // So many that it takes a while to remove them, which comes before the study's end.
                let folder = self.bench.path().join("results/fake/data/many");
                std::fs::create_dir(&folder).unwrap();
                for file in 0..10_000 {
                    std::fs::write(folder.join(file.to_string()), "").unwrap();
                }
                self.release();
                self.until("the end of the last trial", |bench| {
                    of_kind(&bench.output(), "trial-ended")
                        .find(|event| event["trial"] == last)
                        .map(|_| ())
                });
            }
        }
    }

    /// Kills noctune at a moment, and puts the world back; its events.
    fn kill(mut self, moment: Moment) -> Vec<Value> {
        send(&self.child, Signal::KILL);
        let status = self.child.wait().unwrap();
        assert_eq!(
            status.signal(),
            Some(9),
            "it ended before it was killed at {moment:?}"
        );
        assert!(
            self.bench.is_quiet_within(Duration::from_secs(10)),
            "killed at {moment:?}: something still runs"
        );
        // Nobody waits any more.
        let _ = std::fs::remove_file(self.held_file());
        if let Moment::In(_, "reset") = moment {
            resize_template(self.bench, IBDATA);
        }
        self.bench.output()
    }
}

/// The size of the file that [`resize_template`] changes, as the fake makes it.
const IBDATA: u64 = 128 << 10;

/// Makes the template larger than it was, or gives it its size back.
fn resize_template(bench: &Bench, size: u64) {
    let path = bench.path().join("results/fake/template/data/ibdata1");
    let mode = |mode| std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
    mode(0o640);
    std::fs::OpenOptions::new()
        .write(true)
        .open(&path)
        .unwrap()
        .set_len(size)
        .unwrap();
    mode(0o440);
}

/// Purpose and configuration of the jobs, by number, as the trials of these outputs began. What a design keeps of the noise
/// it was made for is left out: it was measured.
fn jobs(events: &[Value]) -> BTreeMap<u64, String> {
    let mut jobs = BTreeMap::new();
    for event in of_kind(events, "trial-started") {
        let (trial, job) = (event["trial"].as_u64().unwrap(), &event["job"]);
        let told = ["purpose", "block", "arm", "configuration"]
            .map(|key| job[key].to_string())
            .join(" ");
        let before = jobs.insert(trial, told.clone());
        assert!(
            before.is_none_or(|before| before == told),
            "trial {trial} is begun again as {told}"
        );
    }
    jobs
}

/// Numbers of the trials that ended, in the order of their ends.
fn ended(events: &[Value]) -> Vec<u64> {
    of_kind(events, "trial-ended")
        .map(|event| event["trial"].as_u64().unwrap())
        .collect()
}

#[test]
fn a_study_killed_at_every_moment_runs_the_same_jobs_once_and_loses_no_finished_trial() {
    let study = Study {
        // A child of the shell, which the kernel alone would let live.
        more: "[finish]\nrun = \"finish; true\"".to_owned(),
        ..study()
    };
    std::thread::scope(|scope| {
        let whole = scope.spawn(|| {
            let bench = Bench::new(SLOPE);
            tuned(&bench, &study)
        });
        let bench = Bench::new(SLOPE);
        bench.write("study.toml", &study.text());
        let mut all = Vec::new();
        for moment in MOMENTS {
            let hold = match moment {
                Moment::Filling => "\"prepare\"",
                Moment::In(_, "start" | "reset") | Moment::HandingOver => "\"start\"",
                Moment::In(..) => "",
                Moment::Finishing => "\"finish\"",
            };
            let mut walk = Walk::begin(&bench, hold);
            walk.reach(moment);
            let events = walk.kill(moment);
            let done = of_kind(&events, "study-ended").count();
            assert_eq!(
                done,
                usize::from(matches!(moment, Moment::Finishing)),
                "{moment:?}"
            );
            for begun in of_kind(&events, "study-started") {
                assert_eq!(
                    begun["ended"],
                    ended(&all).len(),
                    "{moment:?}: a finished trial is lost"
                );
            }
            all.extend(events);
        }
        bench.world(SLOPE);
        let last = bench.run(&ARGUMENTS);
        all.extend(last.events());
        let whole = whole.join().unwrap();
        assert_eq!(last.code, whole.code, "{}", last.text());
        assert_eq!(jobs(&all), jobs(&whole.events()));

        let ends = ended(&all);
        let once: BTreeSet<u64> = ends.iter().copied().collect();
        assert_eq!(ends.len(), once.len(), "a finished trial was run again: {ends:?}");
        assert_eq!(once, jobs(&all).into_keys().collect());
        let report: Value = serde_json::from_str(&bench.run(&["report", "--json"]).stdout).unwrap();
        assert_eq!(report["trials"]["ended"], ends.len(), "{report}");
        assert_eq!(report["trials"]["open"], 0, "{report}");
        assert!(bench.path().join("results/fake/my.cnf").is_file());
    });
}
