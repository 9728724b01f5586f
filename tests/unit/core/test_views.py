"""Views are immutable values; None means not captured."""

from typing import get_args

import pytest
from msgspec import Struct

from custody.core.ids import AgentName, CallId, SessionId, digest_from_bytes
from custody.core.paths import RepoPath
from custody.core.views import CallStatus, FileEdit, Text, ToolCall, View
from tests.builders.table import table


def test_what_was_not_captured_of_an_edit_is_none_and_not_empty() -> None:
    edit = FileEdit(AgentName("robot"), SessionId("s1"), "1", RepoPath(b"a.py"), 0)
    assert (edit.call, edit.revision, edit.before, edit.after) == (None, None, None, None)
    assert (edit.lines, edit.hashes) == ((), ())


def test_a_call_is_running_until_its_end_was_seen() -> None:
    call = ToolCall(AgentName("robot"), SessionId("s1"), CallId("c1"), "Edit", 0)
    assert (call.status, call.ended_ns) == (CallStatus.RUNNING, None)


def test_an_erased_text_differs_from_an_empty_one() -> None:
    digest = digest_from_bytes(b"")
    assert Text(digest, None) != Text(digest, "")


@table("view", get_args(View))
def test_no_view_can_be_changed(view: type[Struct]) -> None:
    name = view.__struct_fields__[0]
    made = view(**dict.fromkeys(view.__struct_fields__))
    with pytest.raises(AttributeError):
        setattr(made, name, "other")
