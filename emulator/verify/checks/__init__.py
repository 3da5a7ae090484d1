"""Every check there is, in the order in which a run makes them."""

from emulator.verify.checks.answers import CHECKS as ANSWERS
from emulator.verify.checks.authentication import CHECKS as AUTHENTICATION
from emulator.verify.checks.bodies import CHECKS as BODIES
from emulator.verify.checks.consistency import CHECKS as CONSISTENCY
from emulator.verify.checks.creating import CHECKS as CREATING
from emulator.verify.checks.filtering import CHECKS as FILTERING
from emulator.verify.checks.idempotency import CHECKS as IDEMPOTENCY
from emulator.verify.checks.listing import CHECKS as LISTING
from emulator.verify.checks.objects import CHECKS as OBJECTS
from emulator.verify.checks.parameters import CHECKS as PARAMETERS
from emulator.verify.checks.retrieving import CHECKS as RETRIEVING
from emulator.verify.checks.routes import CHECKS as ROUTES
from emulator.verify.findings import Check

CHECKS: tuple[Check, ...] = (
    *AUTHENTICATION,
    *CREATING,
    *IDEMPOTENCY,
    *PARAMETERS,
    *BODIES,
    *ROUTES,
    *RETRIEVING,
    *LISTING,
    *FILTERING,
    *CONSISTENCY,
    # These look at what the others were answered.
    *OBJECTS,
    *ANSWERS,
)
