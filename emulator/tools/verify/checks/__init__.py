"""Lists every check, in the order in which a run executes them."""

from emulator.tools.verify.checks import (
    creation,
    customer,
    filters,
    objects,
    pages,
    responses,
    webhooks,
)
from emulator.tools.verify.checks.consistency import CHECKS as CONSISTENCY
from emulator.tools.verify.checks.consistency import RETRIEVAL
from emulator.tools.verify.checks.refusals import AUTHENTICATION, BODIES, PARAMETERS, ROUTES
from emulator.tools.verify.findings import Check

CHECKS: tuple[Check, ...] = (
    *AUTHENTICATION,
    *creation.CHECKS,
    *PARAMETERS,
    *BODIES,
    *ROUTES,
    *RETRIEVAL,
    *pages.CHECKS,
    *filters.CHECKS,
    *CONSISTENCY,
    *customer.CHECKS,
    *webhooks.CHECKS,
    # These examine the responses to the requests of the other checks.
    *objects.CHECKS,
    *responses.CHECKS,
)
