"""The next call: valid probabilities, learned from all sessions and from this one, explained by the graph."""

import math
import random
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from custody.graph import prediction
from custody.graph.calls import CallPlace, SequenceCall
from custody.graph.prediction import PARTS, Grams, NextModel, SessionState, fit_call_mixture
from tests.unit.graph.builders import SEQUENCE, a_graph


def calls(*names: str, inside: str = "t", node: str = "turn") -> list[SequenceCall]:
    return [SequenceCall(name, f"s:{name}", CallPlace(inside, node)) for name in names]


def a_model(*sessions: Sequence[SequenceCall]) -> NextModel:
    model = NextModel()
    model.fit(sessions)
    return model


def after(model: NextModel, *calls: SequenceCall) -> SessionState:
    session = SessionState()
    for call in calls:
        model.add_call(session, call)
    return session


drawn_calls = st.builds(
    lambda name, inside, node, failed, file, message: SequenceCall(
        name, f"tool:{name}", CallPlace(inside, node), failed, file, message
    ),
    st.sampled_from("abcd"),
    st.sampled_from("xy"),
    st.sampled_from(["turn", "agent:r"]),
    st.booleans(),
    st.none() | st.sampled_from(["f", "g"]),
    st.none() | st.sampled_from(["1", "2"]),
)
drawn_sessions = st.lists(st.lists(drawn_calls, max_size=12), max_size=6)


@given(drawn_sessions, st.lists(drawn_calls, max_size=12))
def test_chances_are_positive_and_sum_to_less_than_1(past: list[list[SequenceCall]], now: list[SequenceCall]) -> None:
    model, session = a_model(*past), SessionState()
    for call in now:
        suggested = model.suggest(session, call.place, limit=99)
        assert all(suggestion.chance > 0 for suggestion in suggested)
        assert sum(suggestion.chance for suggestion in suggested) < 1
        ranks = [(-suggestion.chance, suggestion.name) for suggestion in suggested]
        assert ranks == sorted(ranks)
        chances = {suggestion.name: suggestion.chance for suggestion in suggested}
        chance = model.chance(session, call)
        assert chance == pytest.approx(chances.get(call.name, chance))
        assert model.add_call(session, call) == pytest.approx(chance)


@given(drawn_sessions)
def test_the_same_past_gives_the_same_suggestions(past: list[list[SequenceCall]]) -> None:
    first, other = a_model(*past), a_model(*past)
    assert first.suggest(SessionState(), limit=99) == other.suggest(SessionState(), limit=99)


def test_an_empty_model_suggests_nothing_and_leaves_room_for_anything() -> None:
    model = NextModel()
    assert model.suggest(SessionState()) == []
    assert model.chance(SessionState(), calls("a")[0]) == 1.0


def test_a_habit_of_three_steps_is_learned_where_one_step_does_not_show_it() -> None:
    """After ``b`` comes ``c`` or ``e``, depending on the call before it: the last call alone is not enough."""
    model = a_model(*[calls("a", "b", "c", "d", "b", "e")] * 8)
    assert model.suggest(after(model, *calls("a", "b")))[0].name == "c"
    assert model.suggest(after(model, *calls("d", "b")))[0].name == "e"


def test_siblings_count_even_when_another_agent_calls_in_between() -> None:
    mixed = [*calls("a"), *calls("x", inside="s", node="agent:r"), *calls("b"), *calls("y", inside="s", node="agent:r")]
    model = a_model(*[mixed] * 8)
    session = after(model, *mixed[:2])
    assert model.suggest(session, CallPlace("t", "turn"))[0].name == "b"


def test_a_failure_changes_the_next_call() -> None:
    passed = [SequenceCall("test", "tool:test", CallPlace("t", "turn")), *calls("commit")]
    broken = [SequenceCall("test", "tool:test", CallPlace("t", "turn"), failed=True), *calls("edit")]
    model = a_model(*[passed, broken] * 10)
    assert model.suggest(after(model, passed[0]))[0].name == "commit"
    assert model.suggest(after(model, broken[0]))[0].name == "edit"


def test_a_session_has_habits_of_its_own() -> None:
    model = a_model(*[calls("a", "b")] * 3)
    before = model.suggest(SessionState(), limit=99)
    session = after(model, *calls("z", "q", "z", "q", "z", "q", "z"))
    assert "q" not in {suggestion.name for suggestion in before}
    (best, *_) = model.suggest(session)
    assert best.name == "q"
    assert dict(best.parts)["follower"] == 1.0


def test_older_calls_count_for_less_in_the_session() -> None:
    session = SessionState()
    for call in calls("a", "b"):
        session.add_call(call)
    assert session.often["a"] / session.often["b"] == pytest.approx(0.95)


def test_a_long_session_does_not_overflow() -> None:
    session = SessionState()
    for call in calls(*["a", "b"] * 10_000):
        session.add_call(call)
    assert math.isfinite(session.often_total)
    assert session.often["a"] / session.often["b"] == pytest.approx(0.95)


def test_the_mixture_is_fitted_on_the_middle_range() -> None:
    """In each half another context is right; only the range decides which one counts."""
    chance = random.Random(3)
    ruled = [calls(*(chance.choice("abcd") for _ in range(6))) for _ in range(30)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(prediction, "fit_call_mixture", lambda rows, active: fit_call_mixture(rows, active, 0))
        model = a_model(*ruled)
    assert {round(weight, 9) for weights in model._mixtures.values() for weight in weights if weight} == {
        0.25,
        0.2,
        round(1 / 6, 9),
    }
    fitted_model = a_model(*ruled)
    assert model._mixtures != fitted_model._mixtures
    for weights in fitted_model._mixtures.values():
        assert sum(weights) == pytest.approx(1)


@given(st.lists(st.lists(st.floats(0.01, 1), min_size=3, max_size=3), min_size=1, max_size=20), st.integers(1, 10))
def test_more_rounds_never_make_the_data_less_likely(rows: list[list[float]], rounds: int) -> None:
    there = (True, True, True)

    def likelihood(weights: list[float]) -> float:
        prior = sum(math.log(weight) for weight in weights)
        return prior + sum(math.log(sum(w * part for w, part in zip(weights, row, strict=True))) for row in rows)

    assert (
        likelihood(fit_call_mixture(rows, there, rounds + 1))
        >= likelihood(fit_call_mixture(rows, there, rounds)) - 1e-9
    )


def test_probabilities_are_calibrated() -> None:
    """Of all calls predicted with about this probability, about this share occurs."""
    chance = random.Random(11)
    follows = {"a": "aab", "b": "abcd", "c": "cccd", "d": "abcd"}

    def walk(length: int) -> list[SequenceCall]:
        names = ["a"]
        while len(names) < length:
            names.append(chance.choice(follows[names[-1]]))
        return calls(*names)

    model = a_model(*(walk(40) for _ in range(40)))
    predicted, hits, total = 0.0, 0, 0
    for session_calls in (walk(40) for _ in range(40)):
        session = SessionState()
        for call in session_calls:
            (best,) = model.suggest(session, call.place, 1)
            predicted, hits, total = predicted + best.chance, hits + (best.name == call.name), total + 1
            model.add_call(session, call)
    assert predicted / total == pytest.approx(hits / total, abs=0.04)


def test_the_graph_explains_a_suggestion() -> None:
    engine = a_graph(("s:a", "s:b", SEQUENCE, 2))
    model = a_model(*[calls("a", "b")] * 4)
    session = after(model, *calls("a"))
    best = engine.suggest_next(model, session)[0]
    assert (best.name, best.node) == ("b", "s:b")
    assert [(edge.start, edge.count, bool(edge.evidence)) for edge in best.edges] == [("s:a", 2, True)]
    assert [part for part, _ in best.parts] == list(PARTS)


@given(st.lists(st.tuples(st.lists(st.sampled_from("ab"), max_size=4), st.sampled_from("abc")), max_size=20))
def test_counted_probabilities_of_all_calls_and_one_unknown_sum_to_1(observations: list[tuple[list[str], str]]) -> None:
    grams, places = Grams(3), {name: place for place, name in enumerate("abc")}
    for context, call in observations:
        grams.add(context, call)
    for context, _ in observations:
        chances = grams.chances(context, places)
        unknown = grams.chance(context, "never seen", 3)
        assert sum(chances) + unknown == pytest.approx(1)
        assert chances == pytest.approx([grams.chance(context, name, 3) for name in places])
