"""The running span across processes, in every form, and parents in an unknown format."""

import os
import re
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from custody.sdk import continued, current_traceparent, span, to_environment, to_headers, to_meta, to_rpc
from custody.sdk.propagation import parse_traceparent, read_carrier_parent
from tests.builders.drawn import json_values
from tests.unit.sdk.conftest import ExportedSpans

FORMS = {
    "headers": to_headers,
    "environment": lambda: to_environment({}),
    "meta": to_meta,
    "rpc": to_rpc,
}


@pytest.mark.parametrize("form", FORMS)
def test_the_receiver_continues_the_span_of_the_sender(form: str, exported: ExportedSpans) -> None:
    make: Any = FORMS[form]
    with span("here"):
        carrier = make()
    with continued(carrier), span("there"):
        pass
    assert exported.parents() == {"here": None, "there": "here"}
    assert exported.one("there").execution == exported.one("here").execution


def test_outside_any_span_nothing_is_added() -> None:
    assert current_traceparent() is None
    assert (to_headers(), to_meta({"a": 1}), to_rpc({"id": 2}), to_environment({"A": "b"})) == (
        {}, {"a": 1}, {"id": 2}, {"A": "b"},
    )  # fmt: skip


def test_it_is_written_as_w3c_writes_it(exported: ExportedSpans) -> None:
    with span("here"):
        params = to_meta({"name": "t", "_meta": {"progressToken": 1}})
    assert params["_meta"]["progressToken"] == 1
    assert re.fullmatch(r"00-[0-9a-f]{32}-[0-9a-f]{16}-01", params["_meta"]["traceparent"])


@pytest.mark.parametrize(
    "parent",
    ["cap1", "00-" + "0" * 32 + "-" + "1" * 16 + "-01", "ff-" + "1" * 32 + "-" + "1" * 16 + "-01", "00-X", "é" * 500],
)
def test_a_parent_that_cannot_be_followed_becomes_a_link(parent: str, exported: ExportedSpans) -> None:
    with continued({"parent_trace_id": parent}), span("there"), span("inside"):
        pass
    there = exported.one("there")
    assert (there.parent, there.links) == (None, ((None, parent[:200]),))
    assert exported.one("inside").links == ()


def test_names_of_headers_are_case_insensitive() -> None:
    assert read_carrier_parent({"TraceParent": "x"}) == "x"


@given(st.dictionaries(st.text(), json_values) | st.builds(dict, _meta=json_values, traceparent=json_values))
def test_no_carrier_does_harm(carrier: dict[str, Any]) -> None:
    with continued(carrier):
        pass


@given(st.text())
def test_no_text_does_harm(text: str) -> None:
    assert parse_traceparent(text) is None or re.match(r"\s*[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}", text)


def test_a_program_that_is_started_inside_a_span_belongs_to_it(exported: ExportedSpans) -> None:
    code = "from custody.sdk import span, current_traceparent\nwith span('x'): print(current_traceparent())"
    with span("starts it") as outer:
        environment = to_environment()
        done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    execution = f"{outer.pair[0]:032x}"
    assert done.stdout.split("-")[1] == execution
    assert environment["PATH"] == os.environ["PATH"]
