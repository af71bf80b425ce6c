//! The keys a study file may have, table by table, for "did you mean".

/// Keys of the table at `path` (names joined by dots, without indices of arrays); none where any key goes.
pub(super) fn keys(path: &str) -> &'static [&'static str] {
    match path {
        "" => &[
            "format",
            "study",
            "server",
            "hardware",
            "space",
            "workload",
            "trial",
            "objective",
            "constraint",
            "strategy",
            "candidate",
            "template",
            "budget",
            "confirm",
            "finish",
        ],
        "study" => &["name", "seed"],
        "server" => &["binary", "baseline", "args"],
        "hardware" => &["class", "connections"],
        "space" => &["families", "durability", "allow", "knob", "constraint"],
        "space.constraint" => &["name", "require"],
        "workload" => &["kind", "script", "threads", "options"],
        "trial" => &["reset", "caches", "warmup", "measure", "crash_recovery"],
        "trial.caches" => &["drop"],
        "trial.measure" => &["min", "max"],
        "objective" => &["metric", "goal"],
        "constraint" => &["require"],
        "strategy" => &["preset", "rule_of_thumb"],
        "template" => &["from"],
        "budget" => &["time", "trials", "patience"],
        "budget.patience" => &["gain", "over"],
        "confirm" => &["reserve", "min_gain", "tolerance", "length"],
        "finish" => &["run"],
        _ if path.starts_with("space.knob.") => &[
            "family", "type", "scale", "min", "max", "unit", "default", "source", "when", "writes",
            "special", "values",
        ],
        _ => &[],
    }
}
