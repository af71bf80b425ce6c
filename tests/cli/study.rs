//! Study files for the tests: short trials, small spaces.

/// A study file; every part can be replaced.
#[derive(Clone)]
pub(crate) struct Study {
    /// `[server]`
    pub(crate) server: String,
    /// `[hardware]`
    pub(crate) hardware: String,
    /// `[space]` and its tables
    pub(crate) space: String,
    /// `[workload]`
    pub(crate) workload: String,
    /// `[trial]`
    pub(crate) trial: String,
    /// `[strategy]`
    pub(crate) strategy: String,
    /// `[budget]`
    pub(crate) budget: String,
    /// `[confirm]`
    pub(crate) confirm: String,
    /// Anything more.
    pub(crate) more: String,
}

impl Default for Study {
    fn default() -> Self {
        Self {
            server: "binary = \"mariadbd\"".to_owned(),
            hardware: "class = \"probe\"".to_owned(),
            space: "families = [\"io\"]\n[space.knob.innodb_io_capacity]\nmin = 100\nmax = 8000".to_owned(),
            workload: "kind = \"sysbench\"\nscript = \"oltp_read_write\"\nthreads = 2\n\
                       options = { tables = 1, table-size = 1000 }"
                .to_owned(),
            trial: "reset = \"copy\"\ncaches = { drop = \"none\" }\nwarmup = \"1s\"\n\
                    measure = { min = \"1s\", max = \"1s\" }"
                .to_owned(),
            strategy: "preset = \"random\"".to_owned(),
            budget: "time = \"10m\"\ntrials = 24\npatience = false".to_owned(),
            confirm: String::new(),
            more: String::new(),
        }
    }
}

impl Study {
    /// The text of the file.
    pub(crate) fn text(&self) -> String {
        format!(
            "format = 1\n[study]\nname = \"fake\"\nseed = 1\n[server]\n{}\n[hardware]\n{}\n[space]\n{}\n\
             [workload]\n{}\n[trial]\n{}\n[strategy]\n{}\n[budget]\n{}\n[confirm]\n{}\n{}\n",
            self.server,
            self.hardware,
            self.space,
            self.workload,
            self.trial,
            self.strategy,
            self.budget,
            self.confirm,
            self.more
        )
    }
}
