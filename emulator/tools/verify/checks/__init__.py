"""Lists the checks of a service and the checks of a recording, in the order in which they run."""

from emulator.tools.verify.checks import (
    creation,
    filters,
    objects,
    pages,
    recorded,
    responses,
)
from emulator.tools.verify.checks.consistency import CHECKS as CONSISTENCY
from emulator.tools.verify.checks.consistency import RETRIEVAL
from emulator.tools.verify.checks.refusals import AUTHENTICATION, BODIES, PARAMETER_CHECKS, ROUTES
from emulator.tools.verify.findings import Check

# These examine the responses to the requests of the other checks.
_OF_RESPONSES = (*objects.CHECKS, *responses.CHECKS)
RECORDED_CHECKS: tuple[Check, ...] = (*recorded.CHECKS, *_OF_RESPONSES)
CHECKS: tuple[Check, ...] = (
    *AUTHENTICATION,
    *creation.CHECKS,
    *PARAMETER_CHECKS,
    *BODIES,
    *ROUTES,
    *RETRIEVAL,
    *pages.CHECKS,
    *filters.CHECKS,
    *CONSISTENCY,
    *_OF_RESPONSES,
)
