"""Explores a shop at random: `python -m tests.tools.explore.zoo.drawing FILE FORM SEED SECONDS`.

The command `explore` draws random histories only after all pairs of anomalies, which takes minutes.
Here they follow all histories with one anomaly, so that each seed runs others. The results are in
`drawn.json`.
"""

import asyncio
import sys
from pathlib import Path

from emulator.cli.explore import _Run, _settings
from emulator.cli.explore_session import ExploreOptions
from emulator.scenarios.webhook_form_file import load_webhook_form
from emulator.server.app.server import collect_rarely
from emulator.tools.explore.exploration import Limits
from emulator.tools.explore.integration_file import read_integration

RESULTS = "drawn.json"


def main() -> int:
    file, form, seed, seconds = sys.argv[1:]
    settings = _settings(None, {"port": "0", "checkout_port": "0"})
    options = ExploreOptions(
        url=None,
        key=settings.test_key,
        secret=None,
        form=load_webhook_form(form),
        settings=settings,
        limits=Limits(
            depth=1, seed=int(seed), max_failures=1, max_time_ms=int(seconds) * 1_000, draws=True
        ),
        save=Path("explore"),
        json=Path(RESULTS),
        junit=None,
        report=None,
    )
    collect_rarely()
    return asyncio.run(_Run(options, Path(file), read_integration(Path(file))).run())


if __name__ == "__main__":
    sys.exit(main())
