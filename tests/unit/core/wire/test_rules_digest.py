"""Rules have one canonical form: equal rules have equal digests, different rules different ones."""

import hashlib
from collections.abc import Mapping

import pytest
from msgspec import Struct
from msgspec.structs import replace

from custody.attribution.rules import AttributeRules
from custody.core.wire.canonical import (
    digest_rule_tables,
    dump_canonical_json,
    encode_rule_tables,
    parse_json_bytes,
    rule_value_to_json,
    rules_to_json,
)
from custody.trust.rules import TrustRules

RULES = TrustRules()


class WeightRules(Struct, frozen=True):
    weights: Mapping[str, float]


def test_a_whole_number_is_written_alike_whether_it_is_counted_or_measured() -> None:
    measured, counted = replace(RULES, decay_half_life_days=30.0), replace(RULES, decay_half_life_days=30)
    assert digest_rule_tables({"trust": measured}) == digest_rule_tables({"trust": counted})
    assert encode_rule_tables({"trust": replace(RULES, start_score=-0.0)}) == encode_rule_tables(
        {"trust": replace(RULES, start_score=0.0)}
    )


def test_the_order_of_keys_does_not_count() -> None:
    weights = {"b": 2.0, "a": 1.0}
    backwards = dict(sorted(weights.items()))
    assert list(backwards) != list(weights)
    assert digest_rule_tables({"small": WeightRules(backwards)}) == digest_rule_tables({"small": WeightRules(weights)})
    attribute = AttributeRules()
    assert digest_rule_tables({"trust": RULES, "attribute": attribute}) == digest_rule_tables(
        {"attribute": attribute, "trust": RULES}
    )


def test_every_rule_counts() -> None:
    assert digest_rule_tables({"trust": replace(RULES, audit_share=0.06)}) != digest_rule_tables({"trust": RULES})
    assert digest_rule_tables({"other": RULES}) != digest_rule_tables({"trust": RULES})
    assert set(rules_to_json(RULES)) == set(RULES.__struct_fields__)


def test_the_bytes_are_canonical_json() -> None:
    data = encode_rule_tables({"trust": RULES})
    assert dump_canonical_json(parse_json_bytes(data)) == data


class SmallRules(Struct, frozen=True):
    words: tuple[str, ...] = ("é",)
    half_life_days: float = 30.0
    is_masked: bool = True


def test_the_bytes_and_the_digest_by_hand() -> None:
    data = b'{"small":{"half_life_days":30,"is_masked":true,"words":["\xc3\xa9"]}}'
    assert encode_rule_tables({"small": SmallRules()}) == data
    assert digest_rule_tables({"small": SmallRules()}) == hashlib.sha256(data).digest()


def test_an_unknown_rule_is_refused() -> None:
    with pytest.raises(TypeError, match="a rule cannot be a NoneType"):
        rule_value_to_json(None)
