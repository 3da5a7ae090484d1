"""What `serve` imports before it responds."""

from pathlib import Path

from tests.cli.invocation import imported_modules

# The directory does not exist, so that the start ends at its last step, the database.
ENDS = ("serve", "--port", "0", "--checkout-port", "0", "--database", "/no/such/directory/file")
SCENARIO = "version: 1\nname: of-the-user\noutcomes: []\n"


def test_a_start_imports_no_pages_no_control_api_no_tools_and_no_yaml() -> None:
    modules = imported_modules(*ENDS)
    assert modules.isdisjoint({"yaml", "jinja2", "httpx"})
    packages = {name.rpartition(".")[0] for name in modules if name.startswith("emulator.")}
    assert packages == {
        *("emulator", "emulator.cli", "emulator.domain", "emulator.http", "emulator.scenarios"),
        *("emulator.server", "emulator.server.api", "emulator.server.app"),
        *("emulator.server.engine", "emulator.server.engine.accounts"),
        *("emulator.server.engine.delivery", "emulator.server.engine.payments"),
        *("emulator.server.engine.state", "emulator.server.openapi", "emulator.server.storage"),
        "emulator.settings",
    }
    format_modules = {name for name in modules if name.startswith("emulator.scenarios.")}
    assert format_modules == {
        f"emulator.scenarios.{each}" for each in ("entries", "rules", "values")
    }


def test_a_start_with_a_scenario_file_reads_it_before_it_serves(tmp_path: Path) -> None:
    file = tmp_path / "scenario.yaml"
    file.write_text(SCENARIO)
    assert "emulator.scenarios.loader" in imported_modules(*ENDS, "--scenarios", str(file))
