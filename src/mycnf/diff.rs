//! The settings of two my.cnf files side by side.

use std::collections::BTreeSet;

use super::MyCnf;
use crate::units::Bytes;

/// An option that two files set differently.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// The option.
    pub variable: String,
    /// Its value in the first file, as written; none where it is not set.
    pub left: Option<String>,
    /// Its value in the second file, as written; none where it is not set.
    pub right: Option<String>,
}

/// Options that the two files set differently, by name. A bare option counts as `ON`; values that a server takes as
/// equal (`1G` and `1024M`, `on` and `1`) are no difference. `known` as in [`MyCnf::effective`].
pub fn diff(left: &MyCnf, right: &MyCnf, known: impl Fn(&str) -> bool) -> Vec<Difference> {
    let left = left.effective(&known);
    let right = right.effective(&known);
    let names: BTreeSet<&String> = left.keys().chain(right.keys()).collect();
    names
        .into_iter()
        .filter_map(|name| {
            let value = |side: &std::collections::BTreeMap<String, (super::Meaning, &super::Setting)>| {
                side.get(name)
                    .map(|(meaning, _)| meaning.value.clone().unwrap_or_else(|| "ON".to_owned()))
            };
            let (left, right) = (value(&left), value(&right));
            let same = match (&left, &right) {
                (Some(left), Some(right)) => same_value(left, right),
                _ => false,
            };
            (!same).then(|| Difference {
                variable: name.clone(),
                left,
                right,
            })
        })
        .collect()
}

/// Whether servers take both texts as the same value: equal as sizes, numbers, switches or, without case, as words.
pub fn same_value(left: &str, right: &str) -> bool {
    if left.eq_ignore_ascii_case(right) {
        return true;
    }
    if let (Ok(left), Ok(right)) = (left.parse::<Bytes>(), right.parse::<Bytes>()) {
        return left == right;
    }
    if let (Ok(left), Ok(right)) = (left.trim().parse::<f64>(), right.trim().parse::<f64>()) {
        return left == right;
    }
    matches!((switch(left), switch(right)), (Some(left), Some(right)) if left == right)
}

fn switch(text: &str) -> Option<bool> {
    let on = ["on", "true", "1"];
    let off = ["off", "false", "0"];
    if on.iter().any(|word| text.eq_ignore_ascii_case(word)) {
        Some(true)
    } else if off.iter().any(|word| text.eq_ignore_ascii_case(word)) {
        Some(false)
    } else {
        None
    }
}
