"""Lines come one at a time, and a line over the limit costs no memory."""

import os
from pathlib import Path

import pytest

from custody.capture import line_reader as lines
from custody.capture.line_reader import FileLine, find_first_time, list_transcript_files, read_jsonl_lines


def test_lines_are_counted_from_one_and_lose_their_ends(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"a\n\nb")
    assert list(read_jsonl_lines(tmp_path / "f")) == [
        FileLine(1, b"a", 2, True),
        FileLine(2, b"", 1, True),
        FileLine(3, b"b", 1, False),
    ]


def test_a_line_over_the_limit_is_skipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "LINE_BYTES_MAX", 10)
    monkeypatch.setattr(lines, "CHUNK_BYTES", 4)
    (tmp_path / "f").write_bytes(b"123456789\n" + b"x" * 25 + b"\nb\n" + b"y" * 30)
    assert [(line.data, line.size, line.whole) for line in read_jsonl_lines(tmp_path / "f")] == [
        (b"123456789", 10, True),
        (b"", 26, True),
        (b"b", 2, True),
        (b"", 30, False),
    ]


def test_files_are_found_at_any_depth_and_those_changed_last_come_last(tmp_path: Path) -> None:
    for at, name in ((3, "a.jsonl"), (1, "p/q/b.jsonl"), (2, "p/c.jsonl"), (0, "p/d.txt")):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
        os.utime(tmp_path / name, (at, at))
    (tmp_path / "link.jsonl").symlink_to(tmp_path / "a.jsonl")
    os.mkfifo(tmp_path / "pipe.jsonl")
    assert [path.name for path in list_transcript_files(tmp_path, ".jsonl")] == ["b.jsonl", "c.jsonl", "a.jsonl"]


def test_the_first_time_comes_from_the_lines_and_never_from_the_file_if_they_have_one(tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    cases = {
        b'{}\n{"timestamp": "2026-01-31T12:00:00.5Z"}\n{"timestamp": "2026-01-30T12:00:00Z"}': "2026-01-31T12:00:00.5Z",
        b'{"creationDate": 1769860800250}': "2026-01-31T12:00:00.25Z",
        b'{\n  "startTime": "2026-01-31T13:00:00+01:00"\n}': "2026-01-31T12:00:00Z",
        b'{"timestamp": "2026-99-31T12:00:00Z", "createdAt": "2026-01-31T12:00:00Z"}': "2026-01-31T12:00:00Z",
        b'{"text": "\\"timestamp\\": \\"2020-01-31T12:00:00Z\\""}': "1970-01-01T00:00:07Z",
    }
    for data, expected in cases.items():
        path.write_bytes(data)
        os.utime(path, (7, 7))
        assert find_first_time(path) == expected, data
