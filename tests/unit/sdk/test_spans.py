"""Parents of spans, whatever a program does: nesting, exceptions, ending out of order, other contexts."""

import contextvars
import gc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from custody.sdk import span
from custody.sdk.spans import LATE_MAX, _late, list_open_spans, running
from tests.unit.sdk.conftest import ExportedSpans


def test_a_span_inside_another_has_it_as_parent_and_shares_its_execution(exported: ExportedSpans) -> None:
    with span("outer", kind="agent"), span("inner", kind="llm", model="m-1"):
        pass
    inner, outer = exported.spans
    assert (inner.parent, inner.execution) == (outer.span, outer.execution)
    assert (outer.parent, outer.kind, inner.kind, inner.attributes) == (None, "agent", "llm", {"model": "m-1"})
    assert outer.started_ns <= inner.started_ns <= (inner.ended_ns or 0) <= (outer.ended_ns or 0)
    assert (len(inner.span), len(inner.execution)) == (16, 32)


def test_siblings_share_a_parent_and_roots_have_executions_of_their_own(exported: ExportedSpans) -> None:
    with span("outer"):
        with span("one"):
            pass
        with span("two"):
            pass
    with span("other"):
        pass
    assert exported.parents() == {"one": "outer", "two": "outer", "outer": None, "other": None}
    assert exported.one("other").execution != exported.one("outer").execution


def test_an_exception_passes_through_and_is_named(exported: ExportedSpans) -> None:
    raised = KeyError("mine")
    with pytest.raises(KeyError) as caught, span("fails", attempt=1):
        raise raised
    assert caught.value is raised
    assert (exported.one("fails").status, exported.one("fails").attributes) == (
        "error",
        {"attempt": 1, "error.type": "KeyError"},
    )


def test_a_span_interrupted_from_outside_is_abandoned(exported: ExportedSpans) -> None:
    with pytest.raises(KeyboardInterrupt), span("stopped"):
        raise KeyboardInterrupt
    assert exported.one("stopped").status == "abandoned"


def test_a_span_can_be_marked_as_failed_and_get_attributes(exported: ExportedSpans) -> None:
    with span("says", a=1) as traced:
        traced.set(b=2)
        traced.fail("no answer")
    assert (exported.one("says").status, exported.one("says").attributes) == (
        "error",
        {"a": 1, "b": 2, "error": "no answer"},
    )


def test_any_name_can_be_an_attribute(exported: ExportedSpans) -> None:
    with span("named", name="x", self="y"):
        pass
    assert exported.one("named").attributes == {"name": "x", "self": "y"}


def test_an_object_whose_str_fails_does_no_harm(exported: ExportedSpans) -> None:
    class Broken:
        def __str__(self) -> str:
            raise ZeroDivisionError

    with span("odd", broken=Broken(), items=[1], whole=2**80, not_a_number=float("nan")):
        pass
    attributes = exported.one("odd").attributes
    assert attributes["broken"] == "<Broken that raises ZeroDivisionError>"
    assert attributes["items"] == "[1]"


def test_a_dropped_span_is_closed_as_abandoned(exported: ExportedSpans) -> None:
    def drop() -> None:
        span("dropped").__enter__()

    contextvars.copy_context().run(drop)
    gc.collect()
    assert exported.one("dropped").status == "abandoned"
    assert list_open_spans() == []


def test_nothing_starts_inside_a_dropped_span(exported: ExportedSpans) -> None:
    with span("root"):
        span("dropped").__enter__()
        with span("later"):
            pass
    assert exported.parents() == {"dropped": "root", "later": "root", "root": None}


def test_exiting_twice_or_without_entering_does_nothing(exported: ExportedSpans) -> None:
    traced = span("once")
    traced.__exit__(None, None, None)
    with traced:
        pass
    traced.__exit__(None, None, None)
    assert len(exported.spans) == 1


def test_later_spans_are_not_inside_a_span_that_ended_out_of_order(exported: ExportedSpans) -> None:
    outer, inner = span("outer"), span("inner")
    with span("root"):
        outer.__enter__()
        inner.__enter__()
        outer.__exit__(None, None, None)
        inner.__exit__(None, None, None)
        with span("later"):
            pass
    assert exported.parents() == {"inner": "outer", "outer": "root", "later": "root", "root": None}
    _late.clear()


def test_a_span_ended_in_another_context_does_not_change_it(exported: ExportedSpans) -> None:
    begun = span("begun")
    contextvars.copy_context().run(begun.__enter__)
    with span("here"):
        begun.__exit__(None, None, None)
        with span("inside"):
            pass
    assert exported.parents() == {"begun": None, "inside": "here", "here": None}
    _late.clear()


def test_spans_after_one_that_ended_elsewhere_are_not_inside_it(exported: ExportedSpans) -> None:
    def later() -> None:
        with span("later"):
            pass

    here = contextvars.copy_context()
    traced = span("left elsewhere")
    here.run(traced.__enter__)
    traced.__exit__(None, None, None)
    here.run(later)
    assert exported.parents() == {"left elsewhere": None, "later": None}
    _late.clear()


def test_memory_for_spans_that_ended_out_of_order_is_limited(exported: ExportedSpans) -> None:
    for _ in range(LATE_MAX + 10):
        traced = span("one")
        contextvars.copy_context().run(traced.__enter__)
        traced.__exit__(None, None, None)
    assert len(_late) <= LATE_MAX
    _late.clear()


@given(st.recursive(st.just(()), lambda inner: st.lists(inner, max_size=4).map(tuple), max_leaves=30))
def test_any_tree_of_calls_is_exported_unchanged(tree: tuple[object, ...]) -> None:
    from custody.sdk import configure

    exported, expected = ExportedSpans(), {}
    configure(exporter=exported)

    def walk(node: object, name: str, parent: str | None) -> None:
        expected[name] = parent
        with span(name):
            for number, child in enumerate(node if isinstance(node, tuple) else ()):
                walk(child, f"{name}.{number}", name)

    walk(tree, "root", None)
    assert exported.parents() == expected
    assert running.get() is None
