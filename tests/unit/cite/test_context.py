"""The context of many sources: within its budget, deterministic, with a stable beginning."""

import random
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from custody.cite.compression import Level
from custody.cite.context import (
    HEAD,
    Attention,
    Context,
    ContextRequest,
    build_source_context,
    rank_context_sources,
    tokens_of,
)
from custody.cite.model import ResearchSource
from custody.cite.rules import CiteRules
from custody.cite.source_texts import ContextCandidate
from custody.core.errors import InputError, RulesError

LONG = "The cache stores answers for later. " * 20 + "Mackerel swim north. Prices rose by 4 percent in 2024."


def one(n: int, text: str | None = LONG, *, at: int | None = None, uses: int = 0, title: str = "") -> ContextCandidate:
    source = ResearchSource(title=title or f"Title {n}", url=f"https://example.org/{n}", source_id=f"S{n}")
    return ContextCandidate(source=source, text=text, accesses=(n if at is None else at,), uses=uses)


candidates = st.lists(
    st.tuples(st.none() | st.text(max_size=400), st.integers(0, 5), st.lists(st.integers(0, 20), max_size=4)),
    max_size=12,
).map(
    lambda found: [
        ContextCandidate(
            source=ResearchSource(title=f"Title {n}", source_id=f"S{n}"), text=text, accesses=tuple(at), uses=uses
        )
        for n, (text, uses, at) in enumerate(found, start=1)
    ]
)
objectives = st.lists(st.sampled_from(["stores answers", "mackerel", "", "鲭鱼价格", "a\nb"]), max_size=2).map(tuple)
budgets = st.integers(0, 3000)
COUNTS: dict[str, Callable[[str], int] | None] = {
    "bytes": None,
    "words": lambda text: len(text.split()),
    "whole costs more than its parts": lambda text: len(text) ** 2 // 50,
    "every text costs something": lambda text: 7 + len(text) // 4,
}


def built(found: list[ContextCandidate], asked: ContextRequest) -> Context | None:
    """Return the context, or None if the budget is below its frame."""
    try:
        return build_source_context(found, asked)
    except InputError as error:
        if "tokens is too small" not in error.message:
            raise
        return None


# Conformance: 003-100
@given(candidates, budgets, objectives, st.sampled_from(sorted(COUNTS)))
def test_the_budget_is_never_exceeded_however_tokens_are_counted(
    found: list[ContextCandidate], budget: int, wanted: tuple[str, ...], name: str
) -> None:
    count = COUNTS[name]
    asked = ContextRequest(budget=budget, attention=Attention(objectives=wanted), count=count)
    made = built(found, asked)
    if made is not None:
        assert made.tokens == (count or tokens_of)(made.text) <= budget
        assert sorted((*made.levels, *made.left_out)) == sorted(each.source_id for each in found)
        assert ("did not fit" in made.text) == bool(made.left_out)


@given(candidates, budgets, objectives, st.randoms(use_true_random=False))
def test_the_same_sources_in_any_order_give_the_same_bytes(
    found: list[ContextCandidate], budget: int, wanted: tuple[str, ...], chance: random.Random
) -> None:
    asked = ContextRequest(budget=budget, attention=Attention(objectives=wanted))
    shuffled = list(found)
    chance.shuffle(shuffled)
    assert built(found, asked) == built(shuffled, asked)


# Conformance: 003-100
@given(candidates, budgets, st.none() | st.text(max_size=400), objectives)
def test_a_later_source_changes_no_earlier_line_while_levels_stay(
    found: list[ContextCandidate], budget: int, text: str | None, wanted: tuple[str, ...]
) -> None:
    asked = ContextRequest(budget=budget, attention=Attention(objectives=wanted))
    before = built(found, asked)
    after = built([*found, one(len(found) + 1, text, at=99)], asked)
    if before is None or after is None or before.left_out or after.left_out:
        return
    same = 0
    for source_id, level in before.levels.items():
        if after.levels[source_id] is not level:
            break
        same += 1
    kept = [before.levels[f"S{n}"] for n in range(1, same + 1)]
    prefix = build_source_context(
        found[:same], ContextRequest(budget=10**6, held={f"S{n + 1}": level for n, level in enumerate(kept)})
    )
    assert before.text.startswith(prefix.text)
    assert after.text.startswith(prefix.text)


@given(candidates, st.integers(400, 3000), st.none() | st.text(max_size=100))
def test_previous_levels_stay_while_they_fit(found: list[ContextCandidate], budget: int, text: str | None) -> None:
    before = build_source_context(found, ContextRequest(budget=budget))
    after = build_source_context([*found, one(len(found) + 1, text)], ContextRequest(budget=budget, held=before.levels))
    assert after.tokens <= budget
    if before.left_out or not found:
        return
    ids_only = tokens_of(before.text) + len(f"S{len(found) + 1}\n")
    if ids_only <= budget:
        assert after.text.startswith(before.text)


# Conformance: 003-046
def test_the_highest_ranked_are_shown_in_full() -> None:
    rules = CiteRules(recent_sources=2)
    found = [one(n) for n in range(1, 7)]
    made = build_source_context(found, ContextRequest(rules=rules, budget=20_000))
    assert made.levels == {"S1": 1, "S2": 1, "S3": 1, "S4": 1, "S5": 0, "S6": 0}
    asked = ContextRequest(rules=rules, budget=20_000, attention=Attention(weights={"S1": 50.0, "S6": 0.0}))
    assert [source_id for source_id, level in build_source_context(found, asked).levels.items() if level == 0] == [
        "S1",
        "S5",
    ]


@pytest.mark.parametrize(
    ("budget", "levels"), [(4000, "0000"), (2000, "1100"), (600, "1111"), (500, "2211"), (190, "3332"), (90, "3333")]
)
def test_with_a_smaller_budget_the_lowest_lose_their_levels_first(budget: int, levels: str) -> None:
    made = build_source_context([one(n) for n in range(1, 5)], ContextRequest(budget=budget))
    assert "".join(str(int(level)) for level in made.levels.values()) == levels


def test_if_not_all_ids_fit_the_lowest_are_left_out_and_counted() -> None:
    found = [one(n) for n in range(1, 41)]
    made = build_source_context(found, ContextRequest(budget=len(HEAD) + len("38 more sources did not fit.\n") + 9))
    assert made.text == f"{HEAD}S39\nS40\n38 more sources did not fit.\n"
    assert made.left_out == tuple(f"S{n}" for n in range(1, 39))


def test_a_budget_below_the_frame_is_an_error_with_the_minimum() -> None:
    with pytest.raises(InputError, match="a budget of 10 tokens is too small") as refused:
        build_source_context([one(1)], ContextRequest(budget=10))
    assert refused.value.hint is not None and "needs" in refused.value.hint


def test_without_sources_the_context_is_empty() -> None:
    made = build_source_context([], ContextRequest())
    assert (made.text, made.tokens, dict(made.levels)) == (HEAD, len(HEAD), {})


def test_a_source_without_text_is_listed_and_named() -> None:
    made = build_source_context([one(1, None), one(2)], ContextRequest())
    assert made.levels == {"S1": Level.LISTED, "S2": Level.FULL}
    assert made.without_text == ("S1",)


def test_a_text_that_is_too_long_is_shown_by_its_key_sentences() -> None:
    made = build_source_context([one(1)], ContextRequest(rules=CiteRules(full_tokens_max=100)))
    assert made.levels == {"S1": Level.KEY}


def test_objectives_come_last_so_that_a_new_one_changes_nothing_before() -> None:
    found = [one(1), one(2)]
    plain = build_source_context(found, ContextRequest())
    aimed = build_source_context(found, ContextRequest(attention=Attention(objectives=("compare\n caches", " "))))
    assert aimed.text == plain.text + "Objectives:\n- compare caches\n"


def test_duplicate_ids_are_an_error() -> None:
    with pytest.raises(InputError, match="two sources have the same id"):
        build_source_context([one(1), one(1)], ContextRequest())


# Conformance: 003-052
@pytest.mark.parametrize(
    ("better", "attention"),
    [
        (one(1, "Mackerel swim north.", at=1), Attention(objectives=("where do mackerel swim",))),
        (one(1, title="On mackerel", at=1), Attention(objectives=("mackerel",))),
        (one(1, at=9), Attention()),
        (one(1, at=2, uses=3), Attention()),
        (one(1, at=1), Attention(weights={"S1": 3.0})),
    ],
    ids=["mentions the objective", "its title does", "was accessed last", "something rests on it", "has more weight"],
)
def test_what_raises_the_rank_of_a_source(better: ContextCandidate, attention: Attention) -> None:
    others = [one(n, "Nothing of the kind.", at=2) for n in range(2, 5)]
    assert rank_context_sources([*others, better], attention)[0].source_id == "S1"


def test_the_later_source_wins_a_tie() -> None:
    ranked = rank_context_sources([replace(one(n), accesses=()) for n in (1, 2, 10)], Attention())
    assert [each.source_id for each in ranked] == ["S10", "S2", "S1"]
    assert {each.parts["objective"] for each in ranked} == {0.0}, "without objectives none fits"


@pytest.mark.parametrize("weights", [{"S1": -1.0}, {"S1": float("nan")}, {"x": 1.0}])
def test_an_invalid_weight_is_an_error(weights: dict[str, float]) -> None:
    with pytest.raises(InputError):
        Attention(weights=weights)


@pytest.mark.parametrize(
    "fields",
    [
        {"context_tokens": -1},
        {"recent_sources": -1},
        {"full_tokens_max": -1},
        {"brief_sentences": 0},
        {"context_bytes_each": 0.0},
        {"context_bytes_each": 17.0},
    ],
)
def test_invalid_rules_are_named(fields: dict[str, Any]) -> None:
    with pytest.raises(RulesError, match=f"cite.{next(iter(fields))}"):
        CiteRules(**fields)


@given(st.text(max_size=200), st.sampled_from([1.0, 2.5, 4.0]))
def test_bytes_bound_tokens(text: str, bytes_per_token: float) -> None:
    assert tokens_of(text) == len(text.encode())
    assert tokens_of(text, bytes_per_token) <= tokens_of(text)
    half = len(text) // 2
    assert tokens_of(text) == tokens_of(text[:half]) + tokens_of(text[half:])
