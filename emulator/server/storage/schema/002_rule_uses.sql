-- How often a scenario's rule with `times` has been used, per account.

CREATE TABLE rule_uses (
    account  INTEGER NOT NULL,
    scenario TEXT    NOT NULL,
    section  TEXT    NOT NULL,
    rule     INTEGER NOT NULL,
    uses     INTEGER NOT NULL,
    PRIMARY KEY (account, scenario, section, rule)
) STRICT, WITHOUT ROWID;
