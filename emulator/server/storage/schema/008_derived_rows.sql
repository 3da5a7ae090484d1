-- The row of a payment is also the event of its creation, at `first_event`, and while it is pending
-- the timer of its expiry, at `expires_at` and `expiry_timer`. Instants of creation ascend with the
-- positions. So a new payment writes no further row, and fewer indexes.

DROP TRIGGER payments_begin;
DROP INDEX payments_by_creation;
CREATE INDEX payments_by_expiry ON payments (owner >> 1, expires_at, expiry_timer)
    WHERE status = 'pending';
DELETE FROM events WHERE status = 'pending';
DELETE FROM timers WHERE kind = 'expiry';
DROP INDEX timers_by_payment;
CREATE INDEX timers_by_payment ON timers (payment);
DROP INDEX events_by_payment;
CREATE INDEX events_by_payment ON events (payment);
