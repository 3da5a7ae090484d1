-- The request of the contract that caused an event: its `Request-Id`, NULL for other causes.

ALTER TABLE events ADD COLUMN request TEXT;
-- For the trigger, which writes the event of a payment's creation.
ALTER TABLE payments ADD COLUMN request TEXT;

DROP TRIGGER payments_begin;
CREATE TRIGGER payments_begin AFTER INSERT ON payments BEGIN
    INSERT INTO events (position, payment, at, status, request)
    VALUES (NEW.first_event, NEW.position, NEW.created_at, NEW.status, NEW.request);
    INSERT INTO timers (account, due_at, sequence, payment, kind, status, unusual)
    VALUES (NEW.owner >> 1, NEW.expires_at, NEW.expiry_timer, NEW.position, 'expiry', 'expired', 0);
END;
