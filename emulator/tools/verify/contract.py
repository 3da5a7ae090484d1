"""The limits that the contract states, independent of the emulator's limits."""

MIN_AMOUNT = 100
CURRENCY = "ETB"
# A real service need not know other methods of the emulator.
METHODS = ("telebirr", "mpesa", "bank_transfer")
MAX_PAIRS = 20
DEFAULT_EXPIRES_IN_S = 1_800
MAX_LIMIT = 100
DEFAULT_LIMIT = 10
# The payment of a designated test number times out.
TIMEOUT_MS = 30_000
# The contract does not show which parameters are required: these are not, in the emulator.
OPTIONAL = ("metadata", "idempotency_key", "expires_in")
