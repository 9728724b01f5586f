"""The blame endpoint of document 000."""

from typing import Any

import pytest

from tests.builders.service import AT, Asked, a_prompt, a_trace

COMMIT, PARENT = "b" * 40, "a" * 40
LATER = "2026-01-31T12:10:00Z"


def question(*segments: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"project_id": "default", "file_path": "src/a.py", "blame_data": list(segments), **fields}


def segment(first: int = 1, last: int = 3, **fields: Any) -> dict[str, Any]:
    return {
        "start_line": first,
        "end_line": last,
        "commit_sha": COMMIT,
        "parent_sha": PARENT,
        "content_hash": "sha256:0123456789abcdef",
        "timestamp": LATER,
        **fields,
    }


def filled(made: Asked) -> None:
    made.send("traces", a_trace())
    made.send("commit-links", {"commit_sha": COMMIT, "trace_ids": ["t1"], "committed_at": LATER})


# Conformance: 000-094
def test_a_linked_trace_on_the_parent_wrote_the_lines(either: Asked) -> None:
    filled(either)

    answer = either.send("blame", question(segment()))

    assert answer.status_code == 200
    (found,) = answer.json()["attributions"]
    assert (found["start_line"], found["end_line"], found["trace_id"]) == (1, 3, "t1")
    assert (found["tier"], found["confidence"], found["grade"]) == (3, 0.95, "claimed")
    assert found["signals"] == ["commit_link", "revision_parent", "range_match", "timestamp_match"]
    assert (found["model_id"], found["conversation_url"]) == ("m/1", "https://x.example/1")


# Conformance: 000-097
def test_adjacent_blocks_with_the_same_trace_and_tier_are_joined(service: Asked) -> None:
    filled(service)

    found = service.send("blame", question(segment(4, 5), segment(1, 3), segment(40, 41, commit_sha="c" * 40))).json()

    assert [(one["start_line"], one["end_line"], one["trace_id"]) for one in found["attributions"]] == [
        (1, 5, "t1"),
        (40, 41, None),
    ]
    assert found["attributions"][1]["reason"]


def test_nothing_is_known_of_another_file(service: Asked) -> None:
    filled(service)

    (found,) = service.send("blame", question(segment(), file_path="src/b.py")).json()["attributions"]
    assert found["trace_id"] is None and found["tier"] is None and found["confidence"] == 0


def test_what_was_asked_needs_its_scope_and_is_noted(service: Asked) -> None:
    filled(service)
    service.send("evidence", a_prompt(agent="robot", session="https://x.example/1", text="write it"))

    (found,) = service.send("blame", question(segment()), token="read").json()["attributions"]
    assert found["conversation_content"] is None and service.keeper.reads == []
    (found,) = service.send("blame", question(segment())).json()["attributions"]
    assert found["conversation_content"] == "write it"
    assert service.keeper.reads == [("t-all", "conversation robot t1")]


def test_another_project_is_refused(service: Asked) -> None:
    assert service.send("blame", question(segment(), project_id="other")).status_code == 403
    assert service.send("blame", {"file_path": "a", "blame_data": []}).json() == {"file_path": "a", "attributions": []}


@pytest.mark.parametrize(
    "spoilt",
    [
        {"start_line": 3, "end_line": 1},
        {"start_line": 0},
        {"commit_sha": "b"},
        {"content_hash": "short"},
        {"timestamp": "yesterday"},
        {"timestamp": 1e300},
        {"timestamp": True},
    ],
)
def test_lines_that_make_no_sense_are_refused(service: Asked, spoilt: dict[str, Any]) -> None:
    assert service.send("blame", question(segment(**spoilt))).status_code == 422


@pytest.mark.parametrize("path", ["../a", "/etc/passwd", "a\0b", ""])
def test_paths_that_lead_nowhere_are_refused(service: Asked, path: str) -> None:
    assert service.send("blame", question(segment(), file_path=path)).status_code == 422


@pytest.mark.parametrize("timestamp", [LATER, AT, 1_769_861_400, 1_769_861_400.5, None])
def test_timestamps_in_each_spelling(service: Asked, timestamp: object) -> None:
    assert service.send("blame", question(segment(timestamp=timestamp))).status_code == 200
