use super::story::Story;
use super::*;
use crate::night::{Event, Listener};
use crate::plan::{Job, Length, Purpose};
use crate::space::Configuration;
use crate::stats::Interval;
use crate::trial::{Phase, Second};

fn interval(point: f64, low: f64, high: f64) -> Interval {
    Interval {
        point,
        low,
        high,
        level: 0.95,
    }
}

fn job(purpose: Purpose) -> Job {
    Job {
        purpose,
        configuration: Configuration::new(),
        length: Length {
            warmup_cap: 10.0,
            measure_min: 10.0,
            measure_max: 20.0,
        },
        why: "expected improvement\n\u{1b}[2J".to_owned(),
        model: None,
        host: None,
        forgives: 0,
    }
}

fn second(tps: f64) -> Event {
    let second = Second {
        at: 1.0,
        length: 1.0,
        tps,
        errors: 0.0,
        reconnects: 0.0,
        p95_ms: None,
    };
    Event::Second { trial: 1, second }
}

/// A short night: a measured trial, a refused one, an end.
pub(super) fn night() -> Vec<Event> {
    vec![
        Event::StudyStarted {
            study: "quick".to_owned(),
            resumed: false,
            ended: 0,
            spent_seconds: 0.0,
            budget_seconds: 900.0,
            max_trials: None,
            metric: "tps".to_owned(),
        },
        Event::TrialStarted {
            trial: 1,
            job: job(Purpose::Baseline),
            left_seconds: 890.0,
        },
        Event::PhaseStarted {
            trial: 1,
            phase: Phase::Reset,
            deadline_seconds: 60.0,
        },
        Event::PhaseEnded {
            trial: 1,
            phase: Phase::Reset,
            seconds: 0.7,
            note: None,
        },
        Event::PhaseStarted {
            trial: 1,
            phase: Phase::Measure,
            deadline_seconds: 60.0,
        },
        second(100.0),
        second(200.0),
        Event::PhaseEnded {
            trial: 1,
            phase: Phase::Measure,
            seconds: 20.0,
            note: None,
        },
        Event::TrialEnded {
            trial: 1,
            outcome: "measured".to_owned(),
            value: Some(512.3),
            reason: None,
            seconds: 31.0,
        },
        Event::Standing {
            best_trial: 1,
            best: 512.3,
            ratio: Some(interval(1.8, 1.55, 2.09)),
        },
        Event::TrialStarted {
            trial: 2,
            job: job(Purpose::Explore),
            left_seconds: 840.0,
        },
        Event::TrialEnded {
            trial: 2,
            outcome: "refused".to_owned(),
            value: None,
            reason: Some("the pool is larger than the memory".to_owned()),
            seconds: 29.0,
        },
        Event::Warning {
            text: "swap is on".to_owned(),
            next: Some("swapoff -a".to_owned()),
        },
        Event::StudyEnded {
            verdict: "× 1.80".to_owned(),
            details: Vec::new(),
            my_cnf: Some("results/quick/my.cnf".to_owned()),
        },
    ]
}

fn shown<L: Listener>(view: L, written: impl FnOnce(L) -> Vec<u8>) -> String {
    for event in night() {
        view.on(&event);
    }
    String::from_utf8(written(view)).unwrap()
}

#[test]
fn plain_lines_tell_each_trial_with_its_phases() {
    let text = shown(Plain::new(Lines::new(Vec::new())), Plain::into_inner);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(
        lines,
        [
            "study quick begins: 15 min",
            "trial 1 baseline: expected improvement  [2J (0 trials, 0.0 s of 15 min, about 15 min left)",
            "trial 1 baseline: 512 tps, 31 s (reset 0.7 s, measure 20 s)",
            "believed best: trial 1, 512 tps, × 1.80 (1.55 to 2.09) against the baseline, not confirmed",
            "trial 2 explore: expected improvement  [2J (1 trial, 31 s of 15 min, about 14 min left)",
            "trial 2 explore: refused: the pool is larger than the memory, 29 s",
            "warning: swap is on; next: swapoff -a",
            "study ended: × 1.80; my.cnf: results/quick/my.cnf",
        ]
    );
}

#[test]
fn a_verbose_view_tells_each_phase_as_it_ends_with_what_was_done() {
    let text = shown(Plain::verbose(Lines::new(Vec::new())), Plain::into_inner);
    assert!(text.contains("\ntrial 1 · reset: 0.7 s\n"), "{text}");
    let plain = shown(Plain::new(Lines::new(Vec::new())), Plain::into_inner);
    let phases = text.lines().filter(|line| line.contains(" · ")).count();
    assert_eq!(text.lines().count(), plain.lines().count() + phases);
}

#[test]
fn the_log_tells_the_end_with_its_details() {
    let log = Plain::log(Lines::new(Vec::new()));
    log.on(&Event::StudyEnded {
        verdict: "keep the baseline".to_owned(),
        details: vec![
            "compared was trial 7".to_owned(),
            "the disk\nlimits it".to_owned(),
        ],
        my_cnf: None,
    });
    let text = String::from_utf8(log.into_inner()).unwrap();
    assert_eq!(
        text,
        "study ended: keep the baseline\n  compared was trial 7\n  the disk limits it\n"
    );
}

#[test]
fn json_lines_hold_every_event_as_one_object() {
    let text = shown(JsonLines::new(Lines::new(Vec::new())), JsonLines::into_inner);
    let events: Vec<serde_json::Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(events.len(), night().len());
    assert_eq!(events[0]["event"], "study-started");
    assert_eq!(events[1]["job"]["purpose"], "baseline");
    assert_eq!(events[5]["second"]["tps"], 100.0);
}

#[test]
fn the_back_end_of_the_reset_is_told_once_and_again_where_it_changes_but_not_of_a_reset_that_failed() {
    let mut story = Story::default();
    let mut lines = Vec::new();
    for (note, next) in [
        ("reflink of 9 MiB, 1 MiB written", Phase::Cool),
        ("reflink of 9 MiB, 2 MiB written", Phase::Cool),
        ("the phase reset did not end within 1800 s", Phase::Stop),
        ("copy of 9 MiB, 9 MiB written", Phase::Cool),
    ] {
        for event in [
            Event::PhaseEnded {
                trial: 1,
                phase: Phase::Reset,
                seconds: 0.7,
                note: Some(note.to_owned()),
            },
            Event::PhaseStarted {
                trial: 1,
                phase: next,
                deadline_seconds: 60.0,
            },
        ] {
            lines.extend(story.on(&event).into_iter().map(|told| told.text));
        }
    }
    assert_eq!(
        lines,
        [
            "the data are restored by reflink of 9 MiB, 1 MiB written",
            "the data are restored by copy of 9 MiB, 9 MiB written",
        ]
    );
}

#[test]
fn a_quiet_night_shows_warnings_only() {
    let text = shown(Quiet::new(Lines::new(Vec::new())), Quiet::into_inner);
    assert_eq!(text, "warning: swap is on; next: swapoff -a\n");
}

#[test]
fn the_trial_line_shows_phase_and_load() {
    let mut story = Story::default();
    for event in &night()[..7] {
        story.on(event);
    }
    assert_eq!(story.trial_line(), "trial 1 baseline · measure · 200 tps ▅█");
    assert_eq!(
        story.study_line(10.0),
        "0 trials, 10 s of 15 min, about 15 min left"
    );
}

#[test]
fn numbers_that_are_not_finite_are_never_shown() {
    let mut story = Story::default();
    for event in [
        Event::TrialStarted {
            trial: 1,
            job: job(Purpose::Explore),
            left_seconds: f64::NAN,
        },
        second(f64::INFINITY),
        Event::Standing {
            best_trial: 1,
            best: f64::NAN,
            ratio: Some(interval(f64::NAN, f64::NAN, f64::NAN)),
        },
    ] {
        story.on(&event);
    }
    let all = format!(
        "{} {} {}",
        story.trial_line(),
        story.study_line(f64::NAN),
        story.standing_line()
    );
    assert!(!all.contains("NaN") && !all.contains("inf"), "{all}");
}

#[test]
fn a_writer_that_fails_does_not_stop_the_night() {
    struct Gone;
    impl std::io::Write for Gone {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(std::io::ErrorKind::BrokenPipe.into())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Err(std::io::ErrorKind::BrokenPipe.into())
        }
    }
    let plain = Plain::new(Lines::new(Gone));
    for event in night() {
        plain.on(&event);
    }
}
