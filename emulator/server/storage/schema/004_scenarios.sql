-- What an account says of scenarios and faults, what was done to its payments by hand, and the
-- states that it can go back to.
--
-- Positions are as in 001: owner * 2^40 + ordinal.

CREATE TABLE scenarios (
    account INTEGER NOT NULL,
    name    TEXT    NOT NULL,
    number  INTEGER NOT NULL,   -- the order in which they were put: the newest is the strongest
    source  TEXT    NOT NULL,   -- the file, YAML or JSON
    PRIMARY KEY (account, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE scenario_switches (
    account    INTEGER NOT NULL,
    name       TEXT    NOT NULL,
    is_enabled INTEGER NOT NULL,
    PRIMARY KEY (account, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE faults (
    account INTEGER NOT NULL,
    number  INTEGER NOT NULL,
    id      TEXT    NOT NULL,
    source  TEXT    NOT NULL,   -- the rule, JSON
    PRIMARY KEY (account, number)
) STRICT, WITHOUT ROWID;

-- How many there ever were, so that no id is given twice.
CREATE TABLE faults_made (
    account INTEGER PRIMARY KEY,
    count   INTEGER NOT NULL
) STRICT;

CREATE TABLE payment_scenarios (
    payment  INTEGER PRIMARY KEY,
    scenario TEXT NOT NULL
) STRICT;

-- How many requests a fault rule with `nth`, `every` or `chance` has seen.
CREATE TABLE request_counts (
    owner    INTEGER NOT NULL,
    scenario TEXT    NOT NULL,
    rule     INTEGER NOT NULL,
    count    INTEGER NOT NULL,
    PRIMARY KEY (owner, scenario, rule)
) STRICT, WITHOUT ROWID;

-- What was done to payments other than by the contract: what a recording is made of. A creation
-- is in `payments`, and what happened by itself is in `events` alone.
CREATE TABLE actions (
    position INTEGER PRIMARY KEY,
    at       INTEGER NOT NULL,
    verb     TEXT    NOT NULL,   -- pay, answer, cancel, transition
    payment  INTEGER NOT NULL,
    event    INTEGER NOT NULL,   -- the first that it made, or the one that came next
    detail   TEXT    NOT NULL    -- JSON
) STRICT;

ALTER TABLE deliveries ADD COLUMN oddity TEXT;   -- what a scenario did to it, JSON

CREATE TABLE snapshots (
    number        INTEGER PRIMARY KEY,   -- the order in which they were made
    account       INTEGER NOT NULL,
    name          TEXT    NOT NULL,
    created_at    INTEGER NOT NULL,      -- by the account's clock, which goes back to there
    is_frozen     INTEGER NOT NULL,
    test_payments INTEGER NOT NULL,      -- how many there were
    live_payments INTEGER NOT NULL,
    state         BLOB    NOT NULL,      -- its rows, and what memory alone knows
    UNIQUE (account, name)
) STRICT;
