"""The sources of settings, their precedence, and their error messages."""

import json
from pathlib import Path

import pytest

from emulator.domain.user_error import UserError
from emulator.settings import OPTIONS, Option, Settings, resolve, start_warnings
from tests.tables import rows

# Of each option: what the file, a variable and a flag state.
VALUES = {name: given for name, *given in rows(__file__, "values of a file, a variable and a flag")}
FILE_OPTIONS = [option for option in OPTIONS if option.is_file_key]
VARIABLES = {option.variable: VALUES[option.name][1] for option in FILE_OPTIONS}


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "emulator.yaml"
    path.write_text("".join(f"{name}: {value}\n" for name, (value, _, _) in VALUES.items()))
    return str(path)


@pytest.mark.parametrize("option", FILE_OPTIONS, ids=lambda option: option.name)
def test_a_flag_beats_a_variable_beats_the_file_beats_the_default(
    option: Option, file: str
) -> None:
    needed = {"webhook_url": "http://localhost/"} if option.name == "webhook-secret" else {}
    of_file = resolve({"config": file}, {})
    of_variable = resolve({"config": file, **needed}, {option.variable: VARIABLES[option.variable]})
    of_flag = resolve({"config": file, option.name: VALUES[option.name][2]}, VARIABLES)
    values = [
        getattr(settings, option.attribute)
        for settings in (Settings(), of_file, of_variable, of_flag)
    ]
    assert values[0] == option.default != values[1]
    if not option.is_switch and option.name != "log-format":
        assert len({str(value) for value in values}) == 4


@pytest.mark.parametrize(
    "option",
    [option for option in FILE_OPTIONS if option.is_switch],
    ids=lambda option: option.name,
)
def test_a_variable_can_switch_off_what_the_file_switches_on(option: Option, file: str) -> None:
    settings = resolve({"config": file}, {option.variable: "off"})
    assert getattr(settings, option.attribute) is False


def test_the_configuration_file_may_be_named_by_a_variable(file: str) -> None:
    assert resolve({}, {"EMULATOR_CONFIG": file}).port == 3
    assert resolve({}, {"EMULATOR_CONFIG": file}).config == file


def test_flags_are_named_with_dashes_or_as_click_names_them() -> None:
    assert resolve({"checkout-port": "5"}, {}) == resolve({"checkout_port": "5"}, {})


def test_flags_may_be_typed_values_too() -> None:
    settings = resolve(
        {"port": 0, "strict": False, "methods": ["a", "b"]}, {"EMULATOR_STRICT": "1"}
    )
    assert (settings.port, settings.strict, settings.methods) == (0, False, ("a", "b"))


@pytest.mark.parametrize("nothing", [None, ()])
def test_a_flag_with_none_or_no_entries_counts_as_absent(nothing: object) -> None:
    assert resolve({"methods": nothing}, {"EMULATOR_METHODS": "cash"}).methods == ("cash",)


def test_a_flag_that_no_option_has_is_the_programmers_error() -> None:
    with pytest.raises(KeyError, match="prot"):
        resolve({"prot": "1"}, {})


def test_commas_separate_values_except_in_the_path_of_a_flag() -> None:
    methods = resolve({"methods": ("cash,card", "cheque")}, {}).methods
    assert methods == ("cash", "card", "cheque")
    assert resolve({"scenarios": ("a,b", "c")}, {}).scenarios == ("a,b", "c")
    assert resolve({}, {"EMULATOR_SCENARIOS": "a, b"}).scenarios == ("a", "b")


@pytest.mark.parametrize(
    "variables",
    [
        {},
        *({option.variable: ""} for option in OPTIONS),
        {"EMULATOR_PROT": "1", "PORT": "1"},
        # Kubernetes sets these for a service.
        {"EMULATOR_PORT": "tcp://10.0.0.1:80", "EMULATOR_PORT_80_TCP": "tcp://10.0.0.1:80"},
        {"EMULATOR_CHECKOUT_PORT": "tcp://10.0.0.1:80"},
    ],
    ids=str,
)
def test_without_a_variable_of_ours_with_a_value_every_setting_has_its_default(
    variables: dict[str, str],
) -> None:
    assert resolve({}, variables) == Settings()


@pytest.mark.parametrize(("flags", "variables", "message"), rows(__file__, "messages"))
def test_a_message_has_the_source_the_value_and_the_expected_values(
    flags: dict[str, object], variables: dict[str, str], message: str
) -> None:
    with pytest.raises(UserError) as refusal:
        resolve(flags, variables)
    assert str(refusal.value) == message


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("test-key", "live_sk_very_secret_indeed"),
        ("live-key", "test_sk_very_secret_indeed"),
        ("webhook-secret", "x" * 256 + "very_secret"),
        ("webhook-url", "htp://user:very_secret@shop.test/very_secret?token=very_secret"),
        ("webhook-url", "user:very_secret@shop.test/very_secret"),
        ("checkout-url", "http://user:very_secret indeed@shop.test:0"),
        ("port", "live_sk_very_secret_indeed"),
    ],
)
def test_a_message_masks_a_refused_secret(name: str, value: str) -> None:
    with pytest.raises(UserError) as refusal:
        resolve({"webhook-url": "http://shop.test", name: value}, {})
    assert "very_secret" not in str(refusal.value)


ENDS = {
    "{}\n": "ends with a line end",
    " {}": "begins with white space",
    "{}\u00a0": "ends with white space",
    "\ufeff{}": "begins with a control character",
    "'{}'": "is in quotes",
    '"{}"': "is in quotes",
    "“{}”": "is in quotes",
}


@pytest.mark.parametrize(("ends", "reason"), ENDS.items())
@pytest.mark.parametrize("name", ["webhook-secret", "test-key", "live-key"])
def test_a_secret_that_was_copied_with_its_surroundings_is_refused_with_this_reason(
    name: str, ends: str, reason: str, tmp_path: Path
) -> None:
    text = ends.format(VALUES[name][2])
    config = tmp_path / "emulator.yaml"
    config.write_text(json.dumps({name: text}), encoding="utf-8")
    webhooks = {"webhook-url": "http://shop.test", "webhook-format": "hex-header"}
    variable = f"EMULATOR_{name.upper().replace('-', '_')}"
    sources: list[tuple[dict[str, object], dict[str, str]]] = [
        ({name: text}, {}),
        ({}, {variable: text}),
        ({"config": str(config)}, {}),
    ]
    for flags, variables in sources:
        with pytest.raises(UserError) as refusal:
            resolve({**webhooks, **flags}, variables)
        assert str(refusal.value).endswith(f"; the given text {reason}")
        assert text.strip("'\"“”\ufeff \u00a0\n") not in str(refusal.value)


def test_secrets_stay_out_of_the_representation_of_settings() -> None:
    secret = VALUES["webhook-secret"][2]
    shown = repr(resolve({"webhook_url": "http://a/", "webhook_secret": secret}, {}))
    assert "whsec_" not in shown
    assert "_demo_key" not in shown


def test_misspelt_variables_and_unknown_methods_get_a_warning_with_the_nearest_known_one() -> None:
    variables = ("SEDE", "SERVICE_HOST", "PORT_80_TCP", "PORT", "ZZZ", "CONFIG")
    environ = {f"EMULATOR_{name}": "" for name in variables} | {"SEDE": "", "EMULATOR": ""}
    settings = resolve({"methods": "telebir,mpesa,visa"}, {})
    assert list(start_warnings(settings, environ)) == [
        "variable EMULATOR_SEDE is unknown; the nearest option is EMULATOR_SEED",
        "--methods: the method 'telebir' is unknown. Did you mean 'telebirr'?",
        "--methods: the method 'visa' is unknown. The known ones are telebirr, mpesa,"
        " bank_transfer.",
    ]


def test_the_variables_of_kubernetes_get_no_warning_and_set_nothing() -> None:
    environ = {}
    for service in ("EMULATOR", "EMULATOR_CHECKOUT", "EMULATOR_TEST"):
        port = f"{service}_PORT"
        environ |= {
            f"{service}_SERVICE_HOST": "10.0.0.1",
            f"{service}_SERVICE_PORT": "8081",
            f"{service}_SERVICE_PORT_HTTP": "8081",
            port: "tcp://10.0.0.1:8081",
            f"{port}_8081_TCP": "tcp://10.0.0.1:8081",
            **{f"{port}_8081_TCP_{member}": "8081" for member in ("PROTO", "PORT", "ADDR")},
            f"{port}_53_UDP": "udp://10.0.0.1:53",
        }
    settings = resolve({}, environ)
    assert settings == Settings()
    assert list(start_warnings(settings, environ)) == []


def test_all_mistakes_of_flags_variables_and_the_file_are_reported_at_once(tmp_path: Path) -> None:
    config = tmp_path / "config.yaml"
    config.write_text("clock: never\nprot: 1\n")
    flags = {"config": str(config), "methods": "A,B", "watch": True}
    with pytest.raises(UserError) as refusal:
        resolve(flags, {"EMULATOR_PORT": "x", "EMULATOR_SEED": "y"})
    places = [line.split(": ")[0] for line in refusal.value.lines]
    assert places == [
        f"{config}:1:8",
        f"{config}:2:1",
        "variable EMULATOR_PORT",
        "variable EMULATOR_SEED",
        *["flag --methods"] * 2,
    ]
    with pytest.raises(UserError) as refusal:
        resolve({"watch": True, "methods": "A"}, {"EMULATOR_CHECKOUT_PORT": "8080"})
    assert [line.split(": ")[0] for line in refusal.value.lines] == [
        "flag --methods",
        "variable EMULATOR_CHECKOUT_PORT",
        "flag --watch",
    ]
    with pytest.raises(UserError) as refusal:
        resolve({"watch": True, "scenarios": ["\0"]}, {})
    assert [line.split(": ")[0] for line in refusal.value.lines] == ["flag --scenarios"]


@pytest.mark.parametrize(
    ("one", "other"),
    [("ready-file", "clock-file"), ("clock-file", "database"), ("ready-file", "database")],
)
def test_two_files_that_the_program_writes_have_two_paths(
    one: str, other: str, tmp_path: Path
) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "a")
    for path in ("a", "./a", "link", "../" + tmp_path.name + "/a"):
        with pytest.raises(UserError) as refusal:
            resolve({one: str(tmp_path / "a"), other: f"{tmp_path}/{path}"}, {})
        [line] = refusal.value.lines
        assert line.startswith(("flag --ready-file: found", "flag --clock-file: found"))
    assert resolve({one: "a", other: "b"}, {})


def test_a_long_value_is_cut_in_the_message() -> None:
    with pytest.raises(UserError) as refusal:
        resolve({"clock": "x" * 10_000}, {})
    assert len(str(refusal.value)) < 250
