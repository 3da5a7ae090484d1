-- Who is told of events, what is on its way to them, and how each attempt ended.
--
-- Positions are as in 001: owner * 2^40 + ordinal.

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
    is_deleted       INTEGER NOT NULL DEFAULT 0  -- kept, because its deliveries are
) STRICT;

CREATE TABLE deliveries (
    position   INTEGER PRIMARY KEY,
    endpoint   INTEGER NOT NULL,
    event      INTEGER,                  -- NULL: a ping
    payment    INTEGER,                  -- whose event it is
    created_at INTEGER NOT NULL,
    state      TEXT    NOT NULL,
    attempts   INTEGER NOT NULL,         -- that the schedule has made
    due_at     INTEGER,                  -- of the next one; NULL: there is none
    sequence   INTEGER NOT NULL,         -- its place in the order of creation, timers included
    is_held    INTEGER NOT NULL,         -- waits for the payment's next event
    tamper     TEXT
) STRICT;

CREATE INDEX deliveries_due ON deliveries (endpoint, due_at, sequence) WHERE due_at IS NOT NULL;
CREATE INDEX deliveries_by_payment ON deliveries (payment);

-- The body of a request is not kept: the event and `tamper` make the same bytes again.
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
    cause            TEXT,               -- of the error, as far as can be guessed
    duration_ms      REAL    NOT NULL,
    PRIMARY KEY (delivery, number)
) STRICT, WITHOUT ROWID;
