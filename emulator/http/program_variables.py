"""The environment variables by which a program finds its emulator, and the key and the secret."""

COMMAND = "PAYMENTS_EMULATOR_COMMAND"
URL = "PAYMENTS_EMULATOR_URL"
TEST_KEY = "PAYMENTS_EMULATOR_TEST_KEY"
WEBHOOK_SECRET = "PAYMENTS_EMULATOR_WEBHOOK_SECRET"  # noqa: S105 - a name


def program_variables(url: str, test_key: str, webhook_secret: str) -> dict[str, str]:
    """The variables of a program that a command starts beside an emulator."""
    return {URL: url, TEST_KEY: test_key, WEBHOOK_SECRET: webhook_secret}
