-- Schema 1. Times are UTC milliseconds. Durations are seconds by a monotonic clock. Order is by number, never by time.
-- Nothing here is ever NaN or infinite: what is not a number is NULL or absent, with a row in `warning` that says so.

CREATE TABLE study (
    id         INTEGER PRIMARY KEY,
    name       TEXT    NOT NULL UNIQUE,
    created_ms INTEGER NOT NULL,
    seed       INTEGER NOT NULL, -- the 64 bits of an unsigned number
    file       TEXT    NOT NULL, -- the study file as resolved, TOML
    identity   TEXT    NOT NULL, -- JSON: [[part, hash], ...]
    frozen     TEXT    NOT NULL  -- JSON
) STRICT;

CREATE TABLE job (
    study      INTEGER NOT NULL REFERENCES study (id),
    number     INTEGER NOT NULL,
    job        TEXT    NOT NULL, -- JSON
    created_ms INTEGER NOT NULL,
    purpose    TEXT    GENERATED ALWAYS AS (json_extract(job, '$.purpose')) VIRTUAL,
    PRIMARY KEY (study, number)
) STRICT;

-- The newest claim on a job; the only table that changes while a study runs.
CREATE TABLE claim (
    study        INTEGER NOT NULL,
    number       INTEGER NOT NULL,
    token        INTEGER NOT NULL,
    worker       TEXT    NOT NULL, -- JSON
    lease_end_ms INTEGER NOT NULL, -- by the database's clock
    PRIMARY KEY (study, number),
    FOREIGN KEY (study, number) REFERENCES job (study, number)
) STRICT;

CREATE TABLE record (
    study        INTEGER NOT NULL,
    number       INTEGER NOT NULL,
    token        INTEGER NOT NULL,
    worker       TEXT    NOT NULL, -- JSON
    outcome      TEXT    NOT NULL, -- JSON
    effective    TEXT,             -- JSON; NULL where nothing ran
    began_ms     INTEGER NOT NULL,
    seconds      REAL    NOT NULL,
    delivered_ms INTEGER NOT NULL,
    status       TEXT    GENERATED ALWAYS AS (json_extract(outcome, '$.outcome')) VIRTUAL,
    PRIMARY KEY (study, number),
    FOREIGN KEY (study, number) REFERENCES job (study, number)
) STRICT;

CREATE TABLE phase (
    study    INTEGER NOT NULL,
    number   INTEGER NOT NULL,
    position INTEGER NOT NULL,
    phase    TEXT    NOT NULL,
    began_ms INTEGER NOT NULL,
    seconds  REAL    NOT NULL,
    PRIMARY KEY (study, number, position),
    FOREIGN KEY (study, number) REFERENCES record (study, number)
) STRICT;

CREATE TABLE warning (
    study    INTEGER NOT NULL,
    number   INTEGER NOT NULL,
    position INTEGER NOT NULL,
    text     TEXT    NOT NULL,
    next     TEXT,
    PRIMARY KEY (study, number, position),
    FOREIGN KEY (study, number) REFERENCES record (study, number)
) STRICT;

-- One compressed blob per series; its first byte is the version of its format.
CREATE TABLE series (
    study    INTEGER NOT NULL,
    number   INTEGER NOT NULL,
    position INTEGER NOT NULL,
    name     TEXT    NOT NULL,
    data     BLOB    NOT NULL,
    PRIMARY KEY (study, number, position),
    FOREIGN KEY (study, number) REFERENCES record (study, number)
) STRICT;

-- Results that came when somebody else held the job: kept, counted for nothing.
CREATE TABLE late (
    study        INTEGER NOT NULL,
    number       INTEGER NOT NULL,
    token        INTEGER NOT NULL,
    worker       TEXT    NOT NULL, -- JSON
    record       TEXT    NOT NULL, -- JSON
    delivered_ms INTEGER NOT NULL,
    PRIMARY KEY (study, number, token),
    FOREIGN KEY (study, number) REFERENCES job (study, number)
) STRICT;

CREATE TABLE event (
    id    INTEGER PRIMARY KEY,
    study INTEGER NOT NULL REFERENCES study (id),
    at_ms INTEGER NOT NULL,
    event TEXT    NOT NULL -- one line of JSON
) STRICT;
CREATE INDEX event_of_study ON event (study, id);

-- For people with a query in mind: metrics and counters as rows.
CREATE VIEW metric AS
SELECT record.study, record.number, each.key AS name,
       json_extract(each.value, '$.value') AS value, json_extract(each.value, '$.standard_error') AS standard_error
FROM record, json_each(record.outcome, '$.metrics') AS each;

CREATE VIEW counter AS
SELECT record.study, record.number, each.key AS name, each.value AS value
FROM record, json_each(record.outcome, '$.counters') AS each;

-- Facts are append-only, also for those who open the file with another program.
CREATE TRIGGER job_stays      BEFORE UPDATE ON job     BEGIN SELECT RAISE(ABORT, 'facts are append-only'); END;
CREATE TRIGGER job_kept       BEFORE DELETE ON job     BEGIN SELECT RAISE(ABORT, 'facts are append-only'); END;
CREATE TRIGGER record_stays   BEFORE UPDATE ON record  BEGIN SELECT RAISE(ABORT, 'facts are append-only'); END;
CREATE TRIGGER record_kept    BEFORE DELETE ON record  BEGIN SELECT RAISE(ABORT, 'facts are append-only'); END;
CREATE TRIGGER phase_stays    BEFORE UPDATE ON phase   BEGIN SELECT RAISE(ABORT, 'facts are append-only'); END;
CREATE TRIGGER phase_kept     BEFORE DELETE ON phase   BEGIN SELECT RAISE(ABORT, 'facts are append-only'); END;
CREATE TRIGGER warning_stays  BEFORE UPDATE ON warning BEGIN SELECT RAISE(ABORT, 'facts are append-only'); END;
CREATE TRIGGER warning_kept   BEFORE DELETE ON warning BEGIN SELECT RAISE(ABORT, 'facts are append-only'); END;
CREATE TRIGGER series_stays   BEFORE UPDATE ON series  BEGIN SELECT RAISE(ABORT, 'facts are append-only'); END;
CREATE TRIGGER series_kept    BEFORE DELETE ON series  BEGIN SELECT RAISE(ABORT, 'facts are append-only'); END;
CREATE TRIGGER late_stays     BEFORE UPDATE ON late    BEGIN SELECT RAISE(ABORT, 'facts are append-only'); END;
CREATE TRIGGER late_kept      BEFORE DELETE ON late    BEGIN SELECT RAISE(ABORT, 'facts are append-only'); END;
CREATE TRIGGER event_stays    BEFORE UPDATE ON event   BEGIN SELECT RAISE(ABORT, 'facts are append-only'); END;
CREATE TRIGGER event_kept     BEFORE DELETE ON event   BEGIN SELECT RAISE(ABORT, 'facts are append-only'); END;
