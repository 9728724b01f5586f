"""Rules have one canonical form: equal rules have equal digests, others do not."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace

import pytest

from custody.attribution.rules import AttributeRules
from custody.core.wire.canonical import dump, encode_rules, parse, rule_value, rules_digest, rules_values
from custody.trust.rules import TrustRules

RULES = TrustRules()


@dataclass(frozen=True)
class WeightRules:
    weights: Mapping[str, float]


def test_a_whole_number_is_written_alike_whether_it_is_counted_or_measured() -> None:
    measured, counted = replace(RULES, decay_half_life_days=30.0), replace(RULES, decay_half_life_days=30)
    assert rules_digest({"trust": measured}) == rules_digest({"trust": counted})
    assert encode_rules({"trust": replace(RULES, start_score=-0.0)}) == encode_rules(
        {"trust": replace(RULES, start_score=0.0)}
    )


def test_the_order_of_keys_does_not_count() -> None:
    weights = {"b": 2.0, "a": 1.0}
    backwards = dict(sorted(weights.items()))
    assert list(backwards) != list(weights)
    assert rules_digest({"small": WeightRules(backwards)}) == rules_digest({"small": WeightRules(weights)})
    attribute = AttributeRules()
    assert rules_digest({"trust": RULES, "attribute": attribute}) == rules_digest(
        {"attribute": attribute, "trust": RULES}
    )


def test_every_rule_counts() -> None:
    assert rules_digest({"trust": replace(RULES, audit_share=0.06)}) != rules_digest({"trust": RULES})
    assert rules_digest({"other": RULES}) != rules_digest({"trust": RULES})
    assert set(rules_values(RULES)) == set(RULES.__dataclass_fields__)


def test_the_bytes_are_canonical_json() -> None:
    data = encode_rules({"trust": RULES})
    assert dump(parse(data)) == data


@dataclass(frozen=True)
class SmallRules:
    words: tuple[str, ...] = ("é",)
    half_life_days: float = 30.0
    is_masked: bool = True


def test_the_bytes_and_the_digest_by_hand() -> None:
    data = b'{"small":{"half_life_days":30,"is_masked":true,"words":["\xc3\xa9"]}}'
    assert encode_rules({"small": SmallRules()}) == data
    assert rules_digest({"small": SmallRules()}) == hashlib.sha256(data).digest()


def test_what_is_no_rule_is_refused() -> None:
    with pytest.raises(TypeError, match="a rule cannot be a NoneType"):
        rule_value(None)
