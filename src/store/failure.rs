//! What a store's failure means to the user.

use super::StoreError;
use crate::error::{Error, Problem};
use crate::strategy::TrialNumber;

impl From<StoreError> for Error {
    fn from(error: StoreError) -> Self {
        let problem = Problem::new(error.to_string());
        match error {
            StoreError::StudyExists(_) => Self::Input(
                problem.next("give the study another name in [study] name, or resume it with `noctune tune`"),
            ),
            StoreError::NoSuchStudy(_) => {
                Self::Input(problem.next("check the name and --store; `noctune tune` creates a study"))
            }
            StoreError::TooNew { .. } => {
                Self::Input(problem.next("install a newer noctune, or use another --results folder"))
            }
            StoreError::Locked { .. } => Self::Host(problem.next(
                "end the program that keeps it (`fuser FILE` names it), then run the same command again",
            )),
            StoreError::Corrupt { .. } => Self::Host(
                problem
                    .next("restore the database from a copy, or begin a study in another --results folder"),
            ),
            StoreError::Database { .. } => Self::Host(
                problem.next("check space and permissions of the folder, then run the same command again"),
            ),
        }
    }
}

/// The failure of an operation on a job that is not there.
pub(super) fn no_such_job(number: TrialNumber) -> StoreError {
    StoreError::Corrupt {
        what: format!("job {number}"),
        text: "the store holds no job of that number".to_owned(),
    }
}

/// The failure of claiming a job with a knob that is not a number: a defect of the caller, which must not be stored.
pub(super) fn job_not_finite() -> StoreError {
    StoreError::Corrupt {
        what: "the configuration of a new job".to_owned(),
        text: "a knob has a value that is not a finite number".to_owned(),
    }
}
