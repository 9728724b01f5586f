"""Who is inside whom, whatever a program does: nesting, exceptions, leaving out of turn, other contexts."""

import contextvars
import gc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from custody.sdk import span
from custody.sdk.spans import LATE_MAX, _late, open_spans, running
from tests.unit.sdk.conftest import Kept


def test_a_span_inside_another_has_it_as_parent_and_shares_its_execution(kept: Kept) -> None:
    with span("outer", kind="agent"), span("inner", kind="llm", model="m-1"):
        pass
    inner, outer = kept.spans
    assert (inner.parent, inner.execution) == (outer.span, outer.execution)
    assert (outer.parent, outer.kind, inner.kind, inner.attributes) == (None, "agent", "llm", {"model": "m-1"})
    assert outer.started_ns <= inner.started_ns <= (inner.ended_ns or 0) <= (outer.ended_ns or 0)
    assert (len(inner.span), len(inner.execution)) == (16, 32)


def test_siblings_share_a_parent_and_roots_have_executions_of_their_own(kept: Kept) -> None:
    with span("outer"):
        with span("one"):
            pass
        with span("two"):
            pass
    with span("other"):
        pass
    assert kept.parents() == {"one": "outer", "two": "outer", "outer": None, "other": None}
    assert kept.one("other").execution != kept.one("outer").execution


def test_an_exception_passes_through_and_is_named(kept: Kept) -> None:
    raised = KeyError("mine")
    with pytest.raises(KeyError) as caught, span("fails", attempt=1):
        raise raised
    assert caught.value is raised
    assert (kept.one("fails").status, kept.one("fails").attributes) == (
        "error",
        {"attempt": 1, "error.type": "KeyError"},
    )


def test_what_is_left_from_outside_is_abandoned(kept: Kept) -> None:
    with pytest.raises(KeyboardInterrupt), span("stopped"):
        raise KeyboardInterrupt
    assert kept.one("stopped").status == "abandoned"


def test_a_span_can_say_that_it_failed_and_more_of_itself(kept: Kept) -> None:
    with span("says", a=1) as one:
        one.set(b=2)
        one.fail("no answer")
    assert (kept.one("says").status, kept.one("says").attributes) == ("error", {"a": 1, "b": 2, "error": "no answer"})


def test_any_name_can_be_an_attribute(kept: Kept) -> None:
    with span("named", name="x", self="y"):
        pass
    assert kept.one("named").attributes == {"name": "x", "self": "y"}


def test_an_object_that_cannot_say_what_it_is_does_no_harm(kept: Kept) -> None:
    class Broken:
        def __str__(self) -> str:
            raise ZeroDivisionError

    with span("odd", broken=Broken(), items=[1], whole=2**80, not_a_number=float("nan")):
        pass
    attributes = kept.one("odd").attributes
    assert attributes["broken"] == "<Broken that raises ZeroDivisionError>"
    assert attributes["items"] == "[1]"


def test_a_dropped_span_is_closed_as_abandoned(kept: Kept) -> None:
    def drop() -> None:
        span("dropped").__enter__()

    contextvars.copy_context().run(drop)
    gc.collect()
    assert kept.one("dropped").status == "abandoned"
    assert open_spans() == []


def test_nothing_runs_inside_a_span_that_was_dropped(kept: Kept) -> None:
    with span("root"):
        span("dropped").__enter__()
        with span("later"):
            pass
    assert kept.parents() == {"dropped": "root", "later": "root", "root": None}


def test_leaving_twice_and_leaving_without_entering_are_nothing(kept: Kept) -> None:
    one = span("once")
    one.__exit__(None, None, None)
    with one:
        pass
    one.__exit__(None, None, None)
    assert len(kept.spans) == 1


def test_a_span_that_ends_out_of_turn_holds_nothing_that_comes_later(kept: Kept) -> None:
    outer, inner = span("outer"), span("inner")
    with span("root"):
        outer.__enter__()
        inner.__enter__()
        outer.__exit__(None, None, None)
        inner.__exit__(None, None, None)
        with span("later"):
            pass
    assert kept.parents() == {"inner": "outer", "outer": "root", "later": "root", "root": None}
    _late.clear()


def test_a_span_left_in_another_context_leaves_that_context_alone(kept: Kept) -> None:
    begun = span("begun")
    contextvars.copy_context().run(begun.__enter__)
    with span("here"):
        begun.__exit__(None, None, None)
        with span("inside"):
            pass
    assert kept.parents() == {"begun": None, "inside": "here", "here": None}
    _late.clear()


def test_what_comes_after_a_span_that_was_left_elsewhere_is_not_inside_it(kept: Kept) -> None:
    def later() -> None:
        with span("later"):
            pass

    here = contextvars.copy_context()
    one = span("left elsewhere")
    here.run(one.__enter__)
    one.__exit__(None, None, None)
    here.run(later)
    assert kept.parents() == {"left elsewhere": None, "later": None}
    _late.clear()


def test_memory_of_spans_left_out_of_turn_is_bounded(kept: Kept) -> None:
    for _ in range(LATE_MAX + 10):
        one = span("one")
        contextvars.copy_context().run(one.__enter__)
        one.__exit__(None, None, None)
    assert len(_late) <= LATE_MAX
    _late.clear()


@given(st.recursive(st.just(()), lambda inner: st.lists(inner, max_size=4).map(tuple), max_leaves=30))
def test_any_tree_of_calls_comes_out_as_it_was(tree: tuple[object, ...]) -> None:
    from custody.sdk import configure

    kept, expected = Kept(), {}
    configure(exporter=kept)

    def walk(node: object, name: str, parent: str | None) -> None:
        expected[name] = parent
        with span(name):
            for number, child in enumerate(node if isinstance(node, tuple) else ()):
                walk(child, f"{name}.{number}", name)

    walk(tree, "root", None)
    assert kept.parents() == expected
    assert running.get() is None
