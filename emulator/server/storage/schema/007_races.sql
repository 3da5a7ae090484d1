-- How the attempts of a delivery are made, by a rule of a scenario.

ALTER TABLE deliveries ADD COLUMN is_concurrent INTEGER NOT NULL DEFAULT 0;  -- with its copies
ALTER TABLE deliveries ADD COLUMN timeout_ms INTEGER;   -- real time; NULL: the usual time-out

-- When the page of a completed payment redirects, where a rule of a scenario says it.
CREATE TABLE redirects (
    payment INTEGER PRIMARY KEY,
    moment  TEXT    NOT NULL,
    until   INTEGER NOT NULL    -- the last instant of its wait, in real time
) STRICT;
