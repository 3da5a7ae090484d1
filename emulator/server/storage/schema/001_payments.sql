-- Accounts, their payments, what happened to them and what is going to.
--
-- An owner is an account in a mode: account number * 2, plus 1 for live.
-- A position is owner * 2^40 + ordinal: an owner's rows lie together, in the order of creation,
-- and every page of them is a range of one index.

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
    frozen_at     INTEGER,           -- ms; NULL while the clock flows
    offset_ms     INTEGER NOT NULL   -- ahead of real time, while it flows
) STRICT;

CREATE TABLE payments (
    position     INTEGER PRIMARY KEY,
    owner        INTEGER NOT NULL,
    id           TEXT    NOT NULL,
    amount_minor INTEGER NOT NULL,
    methods      TEXT    NOT NULL,
    terms        TEXT    NOT NULL,   -- JSON: what the merchant asked for, never changed
    created_at   INTEGER NOT NULL,
    expires_at   INTEGER NOT NULL,
    first_event  INTEGER NOT NULL,   -- the position of the event of its creation
    expiry_timer INTEGER NOT NULL,   -- the sequence of the timer that expires it
    status       TEXT    NOT NULL,
    method       TEXT,
    reason       TEXT,
    completed_at INTEGER,
    phone        TEXT,               -- normalised
    bank         TEXT,
    idempotency_key TEXT,            -- NULL also when its retention has passed and it was reused
    fingerprint  BLOB                -- of the parameters that the key was used with
) STRICT;

-- A new payment writes the first four of these, the first three at their end: ids begin with
-- a count.
CREATE UNIQUE INDEX payments_by_id ON payments (id);
CREATE INDEX payments_by_creation ON payments (owner, created_at);
CREATE INDEX payments_by_status ON payments (status);
CREATE UNIQUE INDEX payments_by_idempotency_key ON payments (owner, idempotency_key)
    WHERE idempotency_key IS NOT NULL;
CREATE INDEX payments_by_method ON payments (method) WHERE method IS NOT NULL;
CREATE INDEX payments_by_method_and_status ON payments (method, status) WHERE method IS NOT NULL;

CREATE TABLE events (
    position     INTEGER PRIMARY KEY,
    payment      INTEGER NOT NULL,
    at           INTEGER NOT NULL,
    status       TEXT    NOT NULL,
    method       TEXT,
    reason       TEXT,
    completed_at INTEGER
) STRICT;

-- The first is found through payments.first_event, and costs a new payment no index.
CREATE INDEX events_by_payment ON events (payment) WHERE status <> 'pending';

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

-- Expiries are found through payments.expiry_timer; these are few.
CREATE INDEX timers_by_payment ON timers (payment) WHERE kind <> 'expiry';

-- A payment cannot be written without the event of its creation and the timer of its expiry;
-- and one statement costs less than three.
CREATE TRIGGER payments_begin AFTER INSERT ON payments BEGIN
    INSERT INTO events (position, payment, at, status)
    VALUES (NEW.first_event, NEW.position, NEW.created_at, NEW.status);
    INSERT INTO timers (account, due_at, sequence, payment, kind, status, unusual)
    VALUES (NEW.owner >> 1, NEW.expires_at, NEW.expiry_timer, NEW.position, 'expiry', 'expired', 0);
END;
