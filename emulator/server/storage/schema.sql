-- The tables of accounts, payments, webhooks and scenarios.
--
-- An owner is an account in a mode: account number * 2, plus 1 for live.
-- A position is owner * 2^40 + ordinal: an owner's rows lie together, in the order of creation,
-- and every page of them is a range of one index. Instants of creation ascend with the positions.

CREATE TABLE accounts (
    number        INTEGER PRIMARY KEY,
    id            TEXT    NOT NULL UNIQUE,
    name          TEXT    NOT NULL,
    test_key      TEXT    NOT NULL UNIQUE,
    live_key      TEXT    NOT NULL UNIQUE,
    seed          TEXT,              -- decimal; NULL: random
    test_stream   BLOB    NOT NULL,
    live_stream   BLOB    NOT NULL,
    initial_clock TEXT    NOT NULL,
    vary          TEXT,              -- the variants; NULL: those of `serve --vary`
    frozen_at     INTEGER,           -- ms; NULL while the clock runs
    offset_ms     INTEGER NOT NULL,  -- added to real time, multiplied by the rate, while it runs
    rate_thousandths INTEGER NOT NULL DEFAULT 1000  -- ms of a running clock in a second of real time
) STRICT;

-- The row of a payment is also the event of its creation, at `first_event`, and while it is pending
-- the timer of its expiry, at `expires_at` and `expiry_timer`. So a new payment writes one row.
CREATE TABLE payments (
    position     INTEGER PRIMARY KEY,
    owner        INTEGER NOT NULL,
    id           TEXT    NOT NULL,
    amount_minor INTEGER NOT NULL,
    methods      TEXT    NOT NULL,
    terms        TEXT    NOT NULL,   -- JSON: what the merchant requested, never changed
    created_at   INTEGER NOT NULL,
    expires_at   INTEGER NOT NULL,   -- a later one after a return to `pending`
    first_event  INTEGER NOT NULL,   -- the position of the event of its creation
    expiry_timer INTEGER NOT NULL,   -- the sequence of the timer that expires it
    status       TEXT    NOT NULL,
    method       TEXT,
    reason       TEXT,
    completed_at INTEGER,
    phone        TEXT,               -- normalised
    bank         TEXT,
    first_lifetime_ms INTEGER,       -- NULL while `expires_at` is that of the creation
    idempotency_key TEXT,            -- NULL also when its retention has passed and it was reused
    fingerprint  BLOB,               -- of the parameters that the key was used with
    request      TEXT                -- the `Request-Id` of its creation
) STRICT;

CREATE UNIQUE INDEX payments_by_id ON payments (id);
CREATE INDEX payments_by_status ON payments (status);
CREATE UNIQUE INDEX payments_by_idempotency_key ON payments (owner, idempotency_key)
    WHERE idempotency_key IS NOT NULL;
CREATE INDEX payments_by_method ON payments (method) WHERE method IS NOT NULL;
CREATE INDEX payments_by_method_and_status ON payments (method, status) WHERE method IS NOT NULL;

-- Of each payment all events but the first. A row of the type `return` is no event: the payment is
-- pending again. With a reason it is a failed attempt to pay that was not the last.
CREATE TABLE events (
    position     INTEGER PRIMARY KEY,
    payment      INTEGER NOT NULL,
    at           INTEGER NOT NULL,
    type         TEXT    NOT NULL,
    status       TEXT    NOT NULL,   -- of the payment, then
    method       TEXT,
    reason       TEXT,
    completed_at INTEGER,
    request      TEXT                -- the `Request-Id` of its cause; NULL for another cause
) STRICT;

-- All scheduled changes but expiries.
CREATE TABLE timers (
    account  INTEGER NOT NULL,
    due_at   INTEGER NOT NULL,
    sequence INTEGER NOT NULL,
    payment  INTEGER NOT NULL,
    kind     TEXT    NOT NULL,
    status   TEXT    NOT NULL,
    reason   TEXT,
    unusual  INTEGER NOT NULL,
    PRIMARY KEY (account, due_at, sequence)
) STRICT, WITHOUT ROWID;

-- How often a scenario's rule with `times` has been used.
CREATE TABLE rule_uses (
    account  INTEGER NOT NULL,
    scenario TEXT    NOT NULL,
    section  TEXT    NOT NULL,
    rule     INTEGER NOT NULL,
    uses     INTEGER NOT NULL,
    PRIMARY KEY (account, scenario, section, rule)
) STRICT, WITHOUT ROWID;

CREATE TABLE endpoints (
    position         INTEGER PRIMARY KEY,
    id               TEXT    NOT NULL,
    url              TEXT    NOT NULL,
    events           TEXT    NOT NULL,   -- types, comma-separated
    secret           TEXT    NOT NULL,
    profile          TEXT    NOT NULL,
    is_enabled       INTEGER NOT NULL,
    old_secret       TEXT,               -- signs, too, until old_secret_until
    old_secret_until INTEGER NOT NULL,
    form             TEXT,               -- as JSON; NULL: Standard Webhooks
    is_deleted       INTEGER NOT NULL DEFAULT 0  -- stored as long as its deliveries
) STRICT;

CREATE TABLE deliveries (
    position      INTEGER PRIMARY KEY,
    endpoint      INTEGER NOT NULL,
    event         INTEGER,               -- NULL: a ping
    payment       INTEGER,               -- whose event it is
    created_at    INTEGER NOT NULL,
    state         TEXT    NOT NULL,
    attempts      INTEGER NOT NULL,      -- that the schedule has made
    due_at        INTEGER,               -- of the next one; NULL: there is none
    sequence      INTEGER NOT NULL,      -- its place in the order of creation, timers included
    is_held       INTEGER NOT NULL,      -- waits for the payment's next event
    tamper        TEXT,
    fault         TEXT,                  -- the webhook fault of a scenario, JSON
    is_concurrent INTEGER NOT NULL DEFAULT 0,  -- with its copies
    timeout_ms    INTEGER,               -- real time; NULL: the usual time-out
    last_status   INTEGER,               -- of the last attempt, as in attempts: failures are
    last_error    TEXT                   -- counted without reading these; NULL before the first
) STRICT;

CREATE INDEX deliveries_due ON deliveries (endpoint, due_at, sequence) WHERE due_at IS NOT NULL;
CREATE INDEX deliveries_by_payment ON deliveries (payment);
-- For the counts of the dashboard; an endpoint's position begins with its owner.
CREATE INDEX deliveries_by_result ON deliveries (endpoint, state, last_status, last_error);

-- The body of a request is not stored: the event and `tamper` produce the same bytes again.
CREATE TABLE attempts (
    delivery         INTEGER NOT NULL,
    number           INTEGER NOT NULL,
    at               INTEGER NOT NULL,
    trigger          TEXT    NOT NULL,   -- why it was made: schedule, resend or ping
    tamper           TEXT,
    url              TEXT    NOT NULL,
    request_headers  TEXT    NOT NULL,   -- JSON: pairs of name and value
    status           INTEGER,            -- NULL: no response
    response_headers TEXT,               -- JSON, as above
    response_body    TEXT,
    error            TEXT,
    cause            TEXT,               -- of the error, as far as it is known
    duration_ms      REAL    NOT NULL,
    PRIMARY KEY (delivery, number)
) STRICT, WITHOUT ROWID;

CREATE TABLE scenarios (
    account INTEGER NOT NULL,
    name    TEXT    NOT NULL,
    number  INTEGER NOT NULL,   -- the order in which they were put; the newest takes precedence
    source  TEXT    NOT NULL,   -- the file, YAML or JSON
    PRIMARY KEY (account, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE scenario_switches (
    account    INTEGER NOT NULL,
    name       TEXT    NOT NULL,
    is_enabled INTEGER NOT NULL,
    PRIMARY KEY (account, name)
) STRICT, WITHOUT ROWID;

-- When a scenario was enabled, or a fault added, by the account's clock. The source '' is the start
-- of the account.
CREATE TABLE scenario_starts (
    account INTEGER NOT NULL,
    source  TEXT    NOT NULL,
    at      INTEGER NOT NULL,
    PRIMARY KEY (account, source)
) STRICT, WITHOUT ROWID;

CREATE TABLE faults (
    account INTEGER NOT NULL,
    number  INTEGER NOT NULL,
    id      TEXT    NOT NULL,
    source  TEXT    NOT NULL,   -- the rule, JSON
    PRIMARY KEY (account, number)
) STRICT, WITHOUT ROWID;

-- The number of all faults ever made, so that no id is used twice.
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

-- What the customer and the control API did to payments, for recordings. A creation is in
-- `payments`; what happened without an action is in `events` alone.
CREATE TABLE actions (
    position INTEGER PRIMARY KEY,
    at       INTEGER NOT NULL,
    payment  INTEGER NOT NULL,
    event    INTEGER NOT NULL,   -- the first that it caused, or the next one
    detail   TEXT    NOT NULL    -- JSON
) STRICT;

CREATE TABLE snapshots (
    number        INTEGER PRIMARY KEY,   -- the order in which they were made
    account       INTEGER NOT NULL,
    name          TEXT    NOT NULL,
    created_at    INTEGER NOT NULL,      -- by the account's clock, which goes back to it
    is_frozen     INTEGER NOT NULL,
    test_payments INTEGER NOT NULL,      -- how many there were
    live_payments INTEGER NOT NULL,
    state         BLOB    NOT NULL,      -- the account's rows, and its state in memory
    rate_thousandths INTEGER NOT NULL DEFAULT 1000,
    UNIQUE (account, name)
) STRICT;

-- How often the customer may try to pay, from a failed attempt on that was not the last.
CREATE TABLE attempt_limits (
    payment  INTEGER PRIMARY KEY,
    attempts INTEGER NOT NULL
) STRICT;

-- When the page of a completed payment redirects, where a rule of a scenario determines it.
CREATE TABLE redirects (
    payment INTEGER PRIMARY KEY,
    moment  TEXT    NOT NULL,
    until   INTEGER NOT NULL    -- the last instant of its wait, in real time
) STRICT;

CREATE INDEX payments_by_expiry ON payments (owner >> 1, expires_at, expiry_timer)
    WHERE status = 'pending';
CREATE INDEX timers_by_payment ON timers (payment);
CREATE INDEX events_by_payment ON events (payment);
CREATE INDEX actions_by_payment ON actions (payment);
