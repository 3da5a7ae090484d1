"""The exit codes of the commands, for their help and for the reference page."""

# By command: the meanings of 0, 1 and 2; a command without a meaning of 1 never ends with it.
_MEANINGS = {
    "check": ("no mistake was found", "", "a file has a mistake"),
    "checklist": (
        "--fail-on does not apply",
        "--fail-on applies",
        "an option is wrong, or the emulator cannot be reached",
    ),
    "doctor": ("no problem was found", "something will not work", "there is no emulator"),
    "explore": (
        "no history failed",
        "a history failed",
        "a file or an option is wrong, or the shop or the emulator cannot be reached",
    ),
    "health": ("the server responds", "it does not, or an option is wrong", "an option is unknown"),
    "helper": ("the text is printed", "", "the language is unknown"),
    "openapi": ("the document is printed", "", "an option is wrong"),
    "record": (
        "the script is printed",
        "",
        "no emulator responds, the key is unknown, or there are more than 1,000 steps",
    ),
    "rehearse": (
        "the tests noticed each false answer, and passed with each disturbance",
        "they did not",
        "an option is wrong, or the tests fail without a variant or do not use the emulator",
    ),
    "replay": (
        "each expectation holds",
        "one does not, or the coverage is below --fail-under",
        "a file or an option is wrong, or no emulator responds at --url",
    ),
    "schema": ("the schema is printed", "", "an option is wrong"),
    "serve": ("it was ended by SIGINT or SIGTERM", "", "the emulator cannot start"),
    "summary": ("the tables are printed", "", "a file is not one of the results"),
    "trigger": (
        "each endpoint has accepted the event, or none receives it",
        "an endpoint has not accepted it",
        "an option is wrong, there is no emulator, or it refuses a request",
    ),
    "verify": (
        "no clause drifts, except those of --accept",
        "a clause drifts",
        "an option is wrong, there is no such service, or rate limits left clauses unchecked",
    ),
}
EXIT_CODES = {
    (command, code): meaning
    for command, meanings in _MEANINGS.items()
    for code, meaning in enumerate(meanings)
    if meaning
}


def exit_code_line(command: str) -> str:
    """The exit codes of a command, for its help."""
    codes = [f"{code}: {text}" for (name, code), text in EXIT_CODES.items() if name == command]
    return f"Exit codes: {'; '.join(codes)}."
