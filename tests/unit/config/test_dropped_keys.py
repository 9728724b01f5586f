"""A key of a former rule gives a warning and has no effect; an unknown key is still an error."""

from pathlib import Path

import pytest

from custody.config import EffectiveRules, RuleTables, load_rule_files
from custody.core.errors import InputError
from custody.workspace.dropped_rules import DROPPED
from custody.workspace.wiring import import_rule_tables, import_wired_name
from tests.builders.rules import Files, home_with, reader

INVENTED = {
    "dedupe.invented": "custody.dupes.rules:PATTERN_BYTES_MAX",
    "dedupe.weights.invented_sim": "custody.dupes.rules:PATTERN_BYTES_MAX",
    "trust.invented_max": "custody.trust.rules:TIERS",
    "trust.invented_parts.one": "custody.trust.rules:TIERS",
}
TABLES = RuleTables(import_rule_tables().classes, INVENTED)


def loaded(files: Files, environment: dict[str, str] | None = None) -> EffectiveRules:
    return load_rule_files(TABLES, reader(files), environment or {})[0]


def warnings(files: Files, environment: dict[str, str] | None = None) -> list[str]:
    return [str(key) for key in loaded(files, environment).ignored]


def test_the_warning_names_key_file_and_constant() -> None:
    (warning,) = warnings({"custody.toml": "trust.invented_max = 7"})
    assert warning == (
        "trust.invented_max in custody.toml has no effect: no longer settable"
        " (constant TIERS in custody/trust/rules.py)"
    )


def test_a_key_whose_value_nothing_uses_is_called_unused() -> None:
    made, _ = load_rule_files(
        RuleTables(import_rule_tables().classes, {"graph.invented": ""}),
        reader({"custody.toml": "graph.invented = 1"}),
        {},
    )
    assert [str(key) for key in made.ignored] == ["graph.invented in custody.toml has no effect: no longer used"]


def test_every_file_may_hold_one(tmp_path: Path) -> None:
    files = {
        "config/thresholds.yaml": "invented: 1\n",
        "pyproject.toml": "[tool.custody]\ndedupe.invented = 2",
        "custody.toml": "[dedupe]\ninvented = 3",
    }
    places = [
        warning.partition(" has no effect")[0] for warning in warnings(files, home_with(tmp_path, "dedupe.invented=4"))
    ]
    assert places == [
        "invented in config/thresholds.yaml",
        "tool.custody.dedupe.invented in pyproject.toml",
        "dedupe.invented in custody.toml",
        "dedupe.invented in ~/config/custody/config.toml",
    ]


def test_values_of_any_type_and_whole_tables_have_no_effect() -> None:
    text = "[trust.invented_max]\nlow = 1\n[dedupe]\ninvented = [1, 'x']\n[dedupe.weights]\ninvented_sim = true\n"
    made = loaded({"custody.toml": text})
    assert [str(key.origin) for key in made.ignored] == [
        "custody.toml: trust.invented_max",
        "custody.toml: dedupe.invented",
        "custody.toml: dedupe.weights.invented_sim",
    ]
    assert all(setting.value == setting.rule.default for setting in made.settings)


def test_other_keys_of_the_file_count_and_are_the_only_ones_counted() -> None:
    made, sources = load_rule_files(
        TABLES, reader({"custody.toml": "trust.invented_max = 1\ntrust.ema_alpha = 0.4"}), {}
    )
    assert [setting.rule.name for setting in made.settings if setting.value != setting.rule.default] == [
        "trust.ema_alpha"
    ]
    assert [(source.name, source.rules) for source in sources if source.state == "read"] == [("custody.toml", 1)]


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("trust.invented_maxx = 1", "trust.invented_maxx"),
        ("trust.invented_parts.two = 1", "trust.invented_parts.two"),
        ("dedupe.weights.invented = 1", "dedupe.weights.invented"),
    ],
)
def test_an_unknown_key_is_refused_and_never_sent_to_a_dropped_one(text: str, key: str) -> None:
    with pytest.raises(InputError, match=f"unknown rule '{key}' in 'custody.toml'") as refused:
        loaded({"custody.toml": text})
    assert "invented" not in (refused.value.hint or "")


def test_dropped_rules_are_not_rules_and_their_constants_are_there() -> None:
    rules = import_rule_tables().rules
    assert not [name for name in DROPPED if name in rules or any(rule.startswith(f"{name}.") for rule in rules)]
    assert list(DROPPED) == sorted(DROPPED)
    assert all(import_wired_name(constant) is not None for constant in DROPPED.values() if constant)
    assert all(name.partition(".")[0] in import_rule_tables() for name in DROPPED)
