-- How many milliseconds a running clock advances in a second of real time; kept while it is frozen.
-- `offset_ms` is added to real time multiplied by this rate.

ALTER TABLE accounts ADD COLUMN rate_thousandths INTEGER NOT NULL DEFAULT 1000;
ALTER TABLE snapshots ADD COLUMN rate_thousandths INTEGER NOT NULL DEFAULT 1000;
