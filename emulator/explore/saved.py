"""Writes a failed history and its integration as one file, which `--replay` runs again."""

from dataclasses import replace

from emulator.explore.anomalies import parse_anomaly
from emulator.explore.console import failure_lines
from emulator.explore.exploration import HistoryFailure, capabilities
from emulator.explore.histories import History, build_history
from emulator.explore.integration import INTEGRATION, Integration
from emulator.reporting import Paint
from emulator.scenarios.scenario_file import VERSION


def saved_file(integration: Integration, failure: HistoryFailure) -> str:
    """The text of the file."""
    import yaml

    document = INTEGRATION.write(replace(integration, history=failure.history.name))
    comment = "".join(f"# {line}\n" for line in failure_lines(failure, Paint(is_on=False)))
    document = {"version": VERSION, **document}
    return f"{comment}\n{yaml.safe_dump(document, sort_keys=False, allow_unicode=True)}"


def saved_name(integration: Integration, failure: HistoryFailure) -> str:
    """The name of the file: equal for equal failures."""
    words = (integration.name, failure.verdict.id, failure.history.outcome)
    name = "-".join((*words, *failure.history.name.anomalies))
    return f"{name.replace(' ', '-').replace('.', '-')}.yaml"


def saved_history(integration: Integration) -> History | None:
    """The history of a saved file; None where it does not fit the integration."""
    name = integration.history
    if name is None:
        return None
    anomalies = [parse_anomaly(each) for each in name.anomalies]
    known = [each for each in anomalies if each is not None]
    return build_history(name.outcome, known, capabilities(integration))
