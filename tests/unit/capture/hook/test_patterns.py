"""Every pattern takes linear time and runs whenever it would match; the held-out half stays unread."""

import json
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.redaction_growth import adversarial, seeds
from custody.capture.hook.patterns import RULES, SecretPattern
from custody.capture.hook.redact import RedactionError, redact_text
from custody.capture.hook.secret_scan import clear_secret_cache, has_possible_secret

ROOT = Path(__file__).parents[4]
# By name: whether mypy knows these parts of re depends on the other checked files.
CONSTANTS: Any = import_module("re._constants")
PARSER: Any = import_module("re._parser")
ENDLESS = CONSTANTS.MAXREPEAT
SEEDS = 3
CALLS_SLACK = 400
"""Calls for any text, however short; the texts are long enough for all passes of redaction."""


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_nothing_must_follow_an_unbounded_repetition(rule: SecretPattern) -> None:
    (whole, *fallback) = _branches(PARSER.parse(rule.pattern))
    if fallback:
        return  # a text that fails after its beginning is covered by the other half
    endless = False
    for operation, argument in whole:
        is_repeat = operation is CONSTANTS.MAX_REPEAT
        assert not endless or (is_repeat and argument[0] == 0)
        endless = endless or (is_repeat and argument[1] is ENDLESS)


def _branches(parsed: Any) -> list[list[Any]]:
    items = list(parsed)
    if len(items) == 1 and items[0][0] is CONSTANTS.BRANCH:
        return [list(branch) for branch in items[0][1][1]]
    return [items]


@given(st.data(), st.sampled_from(RULES), st.sampled_from(["", " ", "\n", '"', "\\n", "=", "é", "\t"]))
def test_the_scan_finds_whatever_a_rule_redacts(data: st.DataObject, rule: SecretPattern, before: str) -> None:
    text = before + data.draw(st.from_regex(rule.pattern))
    if redact_text(text)[1]:
        assert has_possible_secret(json.dumps({"a": text}).encode())
        assert has_possible_secret(json.dumps({"a": text}, ensure_ascii=False).encode())


@pytest.mark.parametrize("character", ["\U00020000", "\u0160", "\u0080", "\U0001f600", "Å"])
def test_the_scan_finds_a_value_with_characters_outside_ascii(character: str) -> None:
    text = f"pass:01{character}0"
    assert redact_text(text)[1]
    assert has_possible_secret(json.dumps({"a": text}, ensure_ascii=False).encode())


@pytest.mark.parametrize("tail", ["", "a", "A1b2C3d4E5f6G7h8I9j0", '="', ": ", "\\", " -p "])
def test_twice_the_text_is_at_most_twice_the_work(tail: str) -> None:
    for seed in _some(tail):
        for once, twice in zip(adversarial(seed, 10_000), adversarial(seed, 20_000), strict=True):
            _calls(twice)  # patterns are compiled on first use
            assert _calls(twice) <= 2 * _calls(once) + CALLS_SLACK, seed


def _some(tail: str) -> Iterator[str]:
    ending = [seed for seed in seeds() if seed.endswith(tail)]
    yield from ending[:: max(1, len(ending) // SEEDS)]


def _calls(text: str) -> int:
    """Return the number of function calls to scan and redact ``text``; the same on every machine."""
    count = 0

    def called(frame: FrameType, event: str, argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    clear_secret_cache()
    sys.setprofile(called)
    try:
        has_possible_secret(text.encode())
        redact_text(text)
    except RedactionError:
        pass  # it never reaches a fixed point; that must be detected in few steps
    finally:
        sys.setprofile(None)
    return count


def test_only_the_figures_read_the_unseen_half() -> None:
    word = "redaction" + "_unseen"
    folders = [ROOT / "src", ROOT / "tests", ROOT / "bench"]
    files = [file for folder in folders for file in folder.rglob("*.py") if word not in file.parent.parts]
    naming = {str(file.relative_to(ROOT)) for file in files if word in file.read_text(encoding="utf-8")}
    assert naming == {"bench/redaction.py"}


@pytest.mark.parametrize("character", ["\x1b", "\x01", "\x7f", "é", "🙂"])
def test_an_escaped_character_inside_a_value_does_not_hide_it(character: str) -> None:
    text = f"pass:01{character}0"
    assert redact_text(text)[1]
    assert has_possible_secret(json.dumps({"a": text}).encode())
