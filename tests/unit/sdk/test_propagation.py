"""The running span across processes, in every form, and what is done with a parent that nobody can follow."""

import os
import re
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from custody.sdk import continued, current_traceparent, span, to_environment, to_headers, to_meta, to_rpc
from custody.sdk.propagation import pair_of, read_parent
from tests.builders.drawn import json_values
from tests.unit.sdk.conftest import Kept

FORMS = {
    "headers": to_headers,
    "environment": lambda: to_environment({}),
    "meta": to_meta,
    "rpc": to_rpc,
}


@pytest.mark.parametrize("form", FORMS)
def test_whoever_gets_it_goes_on_where_the_sender_was(form: str, kept: Kept) -> None:
    make: Any = FORMS[form]
    with span("here"):
        carrier = make()
    with continued(carrier), span("there"):
        pass
    assert kept.parents() == {"here": None, "there": "here"}
    assert kept.one("there").execution == kept.one("here").execution


def test_outside_any_span_nothing_is_added() -> None:
    assert current_traceparent() is None
    assert (to_headers(), to_meta({"a": 1}), to_rpc({"id": 2}), to_environment({"A": "b"})) == (
        {}, {"a": 1}, {"id": 2}, {"A": "b"},
    )  # fmt: skip


def test_it_is_written_as_w3c_writes_it(kept: Kept) -> None:
    with span("here"):
        said = to_meta({"name": "t", "_meta": {"progressToken": 1}})
    assert said["_meta"]["progressToken"] == 1
    assert re.fullmatch(r"00-[0-9a-f]{32}-[0-9a-f]{16}-01", said["_meta"]["traceparent"])


@pytest.mark.parametrize(
    "said",
    ["cap1", "00-" + "0" * 32 + "-" + "1" * 16 + "-01", "ff-" + "1" * 32 + "-" + "1" * 16 + "-01", "00-X", "é" * 500],
)
def test_a_parent_that_cannot_be_followed_becomes_a_link(said: str, kept: Kept) -> None:
    with continued({"parent_trace_id": said}), span("there"), span("inside"):
        pass
    there = kept.one("there")
    assert (there.parent, there.links) == (None, ((None, said[:200]),))
    assert kept.one("inside").links == ()


def test_names_of_headers_are_read_whatever_their_case() -> None:
    assert read_parent({"TraceParent": "x"}) == "x"


@given(st.dictionaries(st.text(), json_values) | st.builds(dict, _meta=json_values, traceparent=json_values))
def test_no_carrier_does_harm(carrier: dict[str, Any]) -> None:
    with continued(carrier):
        pass


@given(st.text())
def test_no_text_does_harm(said: str) -> None:
    assert pair_of(said) is None or re.match(r"\s*[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}", said)


def test_a_program_that_is_started_inside_a_span_belongs_to_it(kept: Kept) -> None:
    code = "from custody.sdk import span, current_traceparent\nwith span('x'): print(current_traceparent())"
    with span("starts it") as outer:
        environment = to_environment()
        done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    execution = f"{outer.pair[0]:032x}"
    assert done.stdout.split("-")[1] == execution
    assert environment["PATH"] == os.environ["PATH"]
