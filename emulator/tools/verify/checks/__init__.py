"""Lists every check, in the order in which a run executes them."""

from emulator.tools.verify.checks.consistency import CHECKS as CONSISTENCY
from emulator.tools.verify.checks.consistency import RETRIEVAL
from emulator.tools.verify.checks.creation import CHECKS as CREATION
from emulator.tools.verify.checks.filters import CHECKS as FILTERS
from emulator.tools.verify.checks.idempotency import CHECKS as IDEMPOTENCY
from emulator.tools.verify.checks.objects import CHECKS as OBJECTS
from emulator.tools.verify.checks.pages import CHECKS as PAGES
from emulator.tools.verify.checks.refusals import AUTHENTICATION, BODIES, PARAMETERS, ROUTES
from emulator.tools.verify.checks.responses import CHECKS as RESPONSES
from emulator.tools.verify.findings import Check

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
