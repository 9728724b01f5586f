"""The strongest file wins, per rule, and every value names its origin."""

import tempfile
from collections.abc import Mapping
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from custody.config import EffectiveRules
from custody.core.errors import InputError
from custody.core.wire.canonical import digest_rule_tables
from custody.trust.rules import TrustRules
from custody.workspace.rules_in_force import resolve_rules_in_force
from custody.workspace.wiring import import_rule_tables
from tests.builders.rules import home_with, reader, toml

PLACES = ("document", "pyproject.toml", "custody.toml", "user")
DOCUMENTS = {
    "trust.ema_alpha": (".ai-git/config.yaml", "trust: {{ema_alpha: {}}}", "trust.ema_alpha"),
    "trust.recovery_rate": (".ai-git/config.yaml", "trust: {{recovery_rate: {}}}", "trust.recovery_rate"),
    "dedupe.tests_score_max": ("config/thresholds.yaml", "testCap: {}", "testCap"),
    "dedupe.contain_min": ("config/thresholds.yaml", "contain_min: {}", "contain_min"),
}
SHARES = st.integers(1, 99).map(lambda n: n / 100)


def effective(files: Mapping[str, str], users: str | None = None, **variables: str) -> EffectiveRules:
    with tempfile.TemporaryDirectory() as home:
        return resolve_rules_in_force(reader(files), home_with(Path(home), users) | variables)[0]


@given(st.sampled_from(sorted(DOCUMENTS)), st.dictionaries(st.sampled_from(PLACES), SHARES))
def test_the_strongest_place_wins_and_is_named(rule: str, places: dict[str, float]) -> None:
    path, form, key = DOCUMENTS[rule]
    files = {
        name: text
        for place, name, text in (
            ("document", path, form.format(places.get("document"))),
            ("pyproject.toml", "pyproject.toml", toml({rule: places.get("pyproject.toml")}, "tool.custody.")),
            ("custody.toml", "custody.toml", toml({rule: places.get("custody.toml")})),
        )
        if place in places
    }
    made = effective(files, toml({rule: places["user"]}) if "user" in places else None)
    (setting,) = (setting for setting in made.settings if setting.rule.name == rule)
    origins = {
        "document": f"{path}: {key}",
        "pyproject.toml": f"pyproject.toml: tool.custody.{rule}",
        "custody.toml": f"custody.toml: {rule}",
        "user": f"~/config/custody/config.toml: {rule}",
    }
    strongest = max(places, key=PLACES.index, default=None)
    assert setting.value == (import_rule_tables().rules[rule].default if strongest is None else places[strongest])
    assert [str(origin) for origin in setting.origins] == ["default" if strongest is None else origins[strongest]]
    others = [other for other in made.settings if other is not setting]
    assert all(other.value == other.rule.default for other in others)
    assert {str(origin) for other in others for origin in other.origins} == {"default"}


@given(st.sets(st.sampled_from(("pyproject.toml", "custody.toml", "high", "medium", "user"))))
def test_variables_set_single_entries_over_the_repository_and_under_the_user(places: set[str]) -> None:
    rule = "trust.tier_score_min"
    lists = {"pyproject.toml": [0.0, 0.1, 0.1, 0.1, 0.1], "custody.toml": [0.0, 0.2, 0.2, 0.9, 0.9]}
    files = {
        name: toml({rule: lists[name]}, "tool.custody." if name == "pyproject.toml" else "")
        for name in lists
        if name in places
    }
    variables = {"high": "0.75", "medium": "0.5"}
    named = {f"ANSIBEL_TRUST_THRESHOLD_{tier.upper()}": value for tier, value in variables.items() if tier in places}
    users = toml({rule: [0, 0, 0, 0, 1]}) if "user" in places else None
    expected = [0.0, 0.2, 0.4, 0.6, 0.8]
    origins = ["default"]
    for name in ("pyproject.toml", "custody.toml"):
        if name in places:
            expected, origins = list(lists[name]), [f"{name}: {'tool.custody.' if 'py' in name else ''}{rule}"]
    for tier, entry in (("high", 3), ("medium", 2)):
        if tier in places:
            expected[entry] = float(variables[tier])
            origins.insert(0, f"ANSIBEL_TRUST_THRESHOLD_{tier.upper()} (entry {entry + 1})")
    if "user" in places:
        expected, origins = [0, 0, 0, 0, 1], [f"~/config/custody/config.toml: {rule}"]
    if expected != sorted(expected):
        with pytest.raises(InputError, match="'trust.tier_score_min' falls from"):
            effective(files, users, **named)
        return
    made = effective(files, users, **named)
    (setting,) = (setting for setting in made.settings if setting.rule.name == rule)
    assert setting.value == tuple(expected)
    assert [str(origin) for origin in setting.origins] == origins
    assert made.of(TrustRules).tier_score_min == tuple(expected)


TUNED = st.fixed_dictionaries(
    {},
    optional={
        "trust.ema_alpha": SHARES,
        "trust.decay_half_life_days": st.integers(1, 1_000) | st.floats(0.5, 1_000),
        "trust.profile": st.sampled_from(("cautious", "document")),
        "trust.tier_score_min": st.lists(SHARES, min_size=4, max_size=4).map(lambda scores: [0, *sorted(scores)]),
        "attribute.points.commit_link": st.integers(0, 1_000),
        "attribute.near_lines_max": st.integers(0, 100),
        "dedupe.mask_numbers": st.booleans(),
        "dedupe.channel_patterns.docs": st.lists(st.sampled_from(("docs/**", 'odd "é" \\ name', "**/*.md"))),
        "dedupe.weights.tests_intent_sim": SHARES,
    },
)


@given(TUNED, st.randoms(use_true_random=False))
def test_equal_values_have_equal_digests_wherever_they_are_set(values: dict[str, object], chance: Random) -> None:
    shuffled = dict(chance.sample(list(values.items()), len(values)))
    made = [
        effective({"custody.toml": toml(values)}),
        effective({"custody.toml": toml(shuffled)}),
        effective({"pyproject.toml": toml(shuffled, "tool.custody.")}),
        effective({}, toml(shuffled)),
        effective({"custody.toml": toml(dict(list(values.items())[::2]))}, toml(dict(list(values.items())[1::2]))),
    ]
    assert len({digest_rule_tables(one.tables) for one in made}) == 1
    for table in import_rule_tables():
        assert len({digest_rule_tables({table: one.tables[table]}) for one in made}) == 1
    for setting in made[0].settings:
        if setting.rule.name in values:
            wanted = values[setting.rule.name]
            assert setting.value == (tuple(wanted) if isinstance(wanted, list) else wanted)


def test_the_layout_of_a_file_does_not_count() -> None:
    dotted = "trust.ema_alpha = 0.2\nattribute.points.commit_link = 41\ntrust.decay_half_life_days = 7\n"
    as_tables = (
        "# a note\n[attribute.points]\ncommit_link = 41\n\n[trust]\ndecay_half_life_days = 7.0\nema_alpha=2e-1\n"
    )
    inline = "attribute = {points = {commit_link = 41}}\ntrust = {ema_alpha = 0.20, decay_half_life_days = 7}\n"
    digests = {digest_rule_tables(effective({"custody.toml": text}).tables) for text in (dotted, as_tables, inline)}
    assert len(digests) == 1
    assert digests != {digest_rule_tables(effective({}).tables)}


def test_a_value_equal_to_its_default_keeps_the_place_where_it_was_set_and_the_digest() -> None:
    made = effective({"custody.toml": "trust.ema_alpha = 0.3"})
    (setting,) = (setting for setting in made.settings if setting.rule.name == "trust.ema_alpha")
    assert str(setting.origins[0]) == "custody.toml: trust.ema_alpha"
    assert digest_rule_tables(made.tables) == digest_rule_tables(effective({}).tables)


def test_every_rule_can_be_set_in_a_file_to_what_it_is() -> None:
    every = {
        name: rule.default
        for table in import_rule_tables()
        for name, rule in import_rule_tables().rules_of(table).items()
    }
    made = effective({"custody.toml": toml(every)})
    assert {str(setting.origins[0]) for setting in made.settings} == {f"custody.toml: {name}" for name in every}
    assert made.tables == effective({}).tables


def test_relations_are_checked_after_all_places_have_spoken() -> None:
    """A weaker file may be invalid by itself if a stronger file corrects it."""
    files = {"custody.toml": "trust.approve_lines_max = 400"}
    with pytest.raises(InputError, match="set by custody.toml: trust.approve_lines_max"):
        effective(files)
    smaller = effective(files, "trust.tier_lines_max = [0, 10, 50, 200, 300]")
    assert smaller.of(TrustRules).approve_lines_max == 400
