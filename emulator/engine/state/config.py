"""Defines what the settings determine about the engine."""

from dataclasses import dataclass, field

from emulator.domain.instants import ClockSpec
from emulator.domain.rate_limit import RateLimit


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfiguredEndpoint:
    """The webhook endpoint of the first account; without a secret one is generated."""

    url: str
    secret: str | None = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineConfig:
    """What the settings determine about every account.

    `stamps_business_time` puts the account's clock in `webhook-timestamp`. Only a replay sets it,
    because real time would make each of its runs different.
    """

    first_test_key: str
    first_live_key: str
    seed: int | None
    clock: ClockSpec
    rate_limit: RateLimit | None
    auto_provision: bool
    endpoint: ConfiguredEndpoint | None = None
    stamps_business_time: bool = False
