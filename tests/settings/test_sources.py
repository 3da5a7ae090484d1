"""The sources of settings, their precedence, and their error messages."""

from pathlib import Path

import pytest

from emulator.settings import OPTIONS, Option, Settings, SettingsError, resolve

FILE = """
host: "::"
port: 3
checkout-port: 13
checkout-url: https://file.example.com/pay/
database: file.sqlite
clock: frozen@2026-01-01T00:00:00Z
seed: 30
methods: [file_money]
scenarios: [file.yaml]
test-key: test_from_file
live-key: live_from_file
auto-provision: true
webhook-url: http://file.example.com/hook
webhook-secret: whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIz
allow-http-localhost: yes
allowed-hosts: [file.example.com]
rate-limit: 3/s
no-handset: on
strict: True
log-format: json
"""

VARIABLES = {
    "EMULATOR_HOST": "0.0.0.0",  # noqa: S104 - a value, nothing is bound
    "EMULATOR_PORT": "2",
    "EMULATOR_CHECKOUT_PORT": "12",
    "EMULATOR_CHECKOUT_URL": "https://variable.example.com",
    "EMULATOR_DATABASE": "variable.sqlite",
    "EMULATOR_CLOCK": "frozen",
    "EMULATOR_SEED": "-20",
    "EMULATOR_METHODS": "variable_money, other_money",
    "EMULATOR_SCENARIOS": "variable.yaml,other.yaml",
    "EMULATOR_TEST_KEY": "test_from_variable",
    "EMULATOR_LIVE_KEY": "live_from_variable",
    "EMULATOR_AUTO_PROVISION": "1",
    "EMULATOR_WEBHOOK_URL": "http://variable.example.com/hook",
    "EMULATOR_WEBHOOK_SECRET": "whsec_MTEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIz",
    "EMULATOR_ALLOW_HTTP_LOCALHOST": "true",
    "EMULATOR_ALLOWED_HOSTS": "variable.example.com",
    "EMULATOR_RATE_LIMIT": "2/min",
    "EMULATOR_NO_HANDSET": "YES",
    "EMULATOR_STRICT": "On",
    "EMULATOR_LOG_FORMAT": "json",
}

FLAGS: dict[str, object] = {
    "host": "flag",
    "port": "1",
    "checkout-port": "11",
    "checkout-url": "https://flag.example.com",
    "database": "flag.sqlite",
    "clock": "frozen@2027-01-01",
    "seed": "10",
    "methods": ("flag_money",),
    "scenarios": ("flag,one.yaml", "two.yaml"),
    "test-key": "test_from_flag",
    "live-key": "live_from_flag",
    "auto-provision": True,
    "webhook-url": "http://flag.example.com/hook",
    "webhook-secret": "whsec_MjEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIz",
    "allow-http-localhost": True,
    "allowed-hosts": ("flag.example.com",),
    "rate-limit": "1/s",
    "no-handset": True,
    "strict": True,
    "log-format": "json",
}

FILE_OPTIONS = [option for option in OPTIONS if option.is_file_key]


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "emulator.yaml"
    path.write_text(FILE)
    return str(path)


def test_with_nothing_given_every_setting_has_its_default() -> None:
    assert resolve({}, {}) == Settings()


@pytest.mark.parametrize("option", FILE_OPTIONS, ids=lambda option: option.name)
def test_a_flag_beats_a_variable_beats_the_file_beats_the_default(
    option: Option, file: str
) -> None:
    needed = {"webhook_url": "http://localhost/"} if option.name == "webhook-secret" else {}
    of_file = resolve({"config": file}, {})
    of_variable = resolve({"config": file, **needed}, {option.variable: VARIABLES[option.variable]})
    of_flag = resolve({"config": file, option.name: FLAGS[option.name]}, VARIABLES)
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


def test_names_may_be_repeated_or_separated_by_commas() -> None:
    settings = resolve({"methods": ("cash,card", "cheque")}, {})
    assert settings.methods == ("cash", "card", "cheque")


def test_a_comma_belongs_to_the_path_in_a_flag_and_separates_in_a_variable() -> None:
    assert resolve({"scenarios": ("a,b", "c")}, {}).scenarios == ("a,b", "c")
    assert resolve({}, {"EMULATOR_SCENARIOS": "a, b"}).scenarios == ("a", "b")


@pytest.mark.parametrize("option", OPTIONS, ids=lambda option: option.name)
def test_an_empty_variable_is_not_given(option: Option) -> None:
    assert resolve({}, {option.variable: ""}) == Settings()


@pytest.mark.parametrize("variable", ["EMULATOR_PORT", "EMULATOR_CHECKOUT_PORT"])
def test_a_port_that_kubernetes_sets_for_a_service_is_ignored(variable: str) -> None:
    assert resolve({}, {variable: "tcp://10.0.0.1:80"}) == Settings()


def test_variables_of_others_are_ignored() -> None:
    others = {"EMULATOR_PORT_80_TCP": "tcp://10.0.0.1:80", "EMULATOR_PROT": "1", "PORT": "1"}
    assert resolve({}, others) == Settings()


@pytest.mark.parametrize(
    ("flags", "variables", "message"),
    [
        ({"port": "x"}, {}, "flag --port: found 'x', expected an integer from 0 to 65535"),
        (
            {},
            {"EMULATOR_PORT": "x"},
            "variable EMULATOR_PORT: found 'x', expected an integer from 0 to 65535",
        ),
        (
            {"log_format": "xml"},
            {"EMULATOR_LOG_FORMAT": "json"},
            "flag --log-format: found 'xml', expected text or json",
        ),
        (
            {},
            {"EMULATOR_STRICT": "maybe"},
            "variable EMULATOR_STRICT: found 'maybe', expected true or false",
        ),
        (
            {"host": "a\nb"},
            {},
            "flag --host: found 'a\\nb', expected an IP address or a host name",
        ),
        (
            {"port": "8081"},
            {},
            "flag --port: found the same port for the API and the checkout pages, "
            "expected two ports",
        ),
        (
            {"port": "7"},
            {"EMULATOR_CHECKOUT_PORT": "7"},
            "variable EMULATOR_CHECKOUT_PORT: found the same port for the API and the checkout "
            "pages, expected two ports",
        ),
        (
            {"webhook_secret": "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIz"},
            {},
            "flag --webhook-secret: found a secret without a webhook URL, "
            "expected --webhook-url too",
        ),
        (
            {"methods": ("cash", "cash")},
            {},
            "flag --methods: found a method twice, expected each once",
        ),
    ],
)
def test_a_message_has_the_source_the_value_and_the_expected_values(
    flags: dict[str, object], variables: dict[str, str], message: str
) -> None:
    with pytest.raises(SettingsError) as refusal:
        resolve(flags, variables)
    assert str(refusal.value) == message


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("test-key", "live_sk_very_secret_indeed"),
        ("live-key", "test_sk_very_secret_indeed"),
        ("webhook-secret", "whsec_very_secret_indeed"),
    ],
)
def test_a_message_masks_a_refused_secret(name: str, value: str) -> None:
    with pytest.raises(SettingsError) as refusal:
        resolve({name: value}, {})
    assert "very_secret" not in str(refusal.value)


def test_secrets_stay_out_of_the_representation_of_settings() -> None:
    settings = resolve({"webhook_url": "http://a/", "webhook_secret": FLAGS["webhook-secret"]}, {})
    shown = repr(settings)
    assert "whsec_" not in shown
    assert "_demo_key" not in shown


def test_a_long_value_is_cut_in_the_message() -> None:
    with pytest.raises(SettingsError) as refusal:
        resolve({"clock": "x" * 10_000}, {})
    assert len(str(refusal.value)) < 250
