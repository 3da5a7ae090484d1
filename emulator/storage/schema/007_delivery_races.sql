-- How the attempts of a delivery are made, by a rule of a scenario.

ALTER TABLE deliveries ADD COLUMN is_concurrent INTEGER NOT NULL DEFAULT 0;  -- with its copies
ALTER TABLE deliveries ADD COLUMN timeout_ms INTEGER;   -- real time; NULL: the usual time-out
