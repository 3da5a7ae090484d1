"""Lists every check, in the order in which a run executes them."""

from emulator.verify.checks.consistency import CHECKS as CONSISTENCY
from emulator.verify.checks.consistency import RETRIEVAL
from emulator.verify.checks.creation import CHECKS as CREATION
from emulator.verify.checks.filters import CHECKS as FILTERS
from emulator.verify.checks.idempotency import CHECKS as IDEMPOTENCY
from emulator.verify.checks.objects import CHECKS as OBJECTS
from emulator.verify.checks.pages import CHECKS as PAGES
from emulator.verify.checks.refusals import AUTHENTICATION, BODIES, PARAMETERS, ROUTES
from emulator.verify.checks.responses import CHECKS as RESPONSES
from emulator.verify.findings import Check

CHECKS: tuple[Check, ...] = (
    *AUTHENTICATION,
    *CREATION,
    *IDEMPOTENCY,
    *PARAMETERS,
    *BODIES,
    *ROUTES,
    *RETRIEVAL,
    *PAGES,
    *FILTERS,
    *CONSISTENCY,
    # These examine the responses to the requests of the other checks.
    *OBJECTS,
    *RESPONSES,
)
