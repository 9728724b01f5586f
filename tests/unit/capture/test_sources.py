"""Sources of captured calls, and how each was read."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from custody.capture import hook_views, read_jsonl_lines
from custody.capture.agents.claude.transcript import READER
from custody.capture.source_use import CommandOutcome, find_command_urls
from custody.capture.transcripts import TranscriptLine
from custody.core.views import Reading, SourceAccess, View
from custody.core.wire.canonical import Json, parse_json_bytes
from custody.core.wire.event import event_from_json
from tests.builders.transcripts import Transcript, a_transcript

PAGE = "https://example.org/a"
Told = tuple[str, Reading, int | None, bool, str | None]


def by_hook(tool: str, given: dict[str, Any], response: Any, error: str | None = None) -> list[Told]:
    event = "PostToolUse" if error is None else "PostToolUseFailure"
    payload = {"hook_event_name": event, "tool_name": tool, "tool_input": given, "cwd": "/w"}
    payload |= {"tool_response": response} if error is None else {"error": error}
    said = {"custody": 1, "kind": "hook", "agent": "claude-code", "event": event, "id": "e", "call": "c"}
    return told(hook_views(parsed({**said, "at": "2026-01-31T12:00:00Z", "session": "s", "payload": payload})))


def by_transcript(session: Transcript, folder: Path) -> list[Told]:
    reader = READER
    found: list[View] = []
    session.put(folder)
    for file in reader.files(folder):
        for line in reader.read(file, read_jsonl_lines(file), {}):
            if isinstance(line, TranscriptLine):
                said = {"custody": 1, "kind": "transcript", "id": line.id, "agent": "claude-code"}
                whole = {**said, "session": line.session, "at": line.at, "payload": line.payload, "calls": line.calls}
                event = event_from_json(parsed(whole))
                found += reader.views(event)  # type: ignore[arg-type]
    return told(tuple(found))


def parsed(said: dict[str, Any]) -> Json:
    return parse_json_bytes(json.dumps(said).encode())


def told(views: tuple[View, ...]) -> list[Told]:
    reads = [view for view in views if isinstance(view, SourceAccess)]
    assert len({one.id for one in reads}) == len(reads), "each reading of a call has an id of its own"
    return [(one.locator, one.reading, one.code, one.failed, one.title) for one in reads]


def a_file(**more: Any) -> dict[str, Any]:
    return {"file": {"filePath": "/w/a.md", "content": "a", "numLines": 3, "startLine": 1, "totalLines": 3, **more}}


HITS = {"query": "q", "results": ["words", {"tool_use_id": "x", "content": [{"title": "A", "url": PAGE}]}, "more"]}
GREPPED = {"mode": "content", "filenames": [], "content": "src/a.py:12:def a():\nsrc/a.py-13-  pass\nsrc/b.py:1:x\n"}
BLOCKS = [
    {
        "type": "text",
        "text": "Title: A\nURL: https://example.org/a\nDescription: x\n\nTitle: B\nURL: https://b.example\n",
    }
]
OK = {"stdout": "the page", "stderr": "", "interrupted": False}

CASES: dict[str, tuple[str, dict[str, Any], Any, list[Told]]] = {
    "a whole file": ("Read", {}, a_file(), [("/w/a.md", Reading.VERBATIM, None, False, None)]),
    "part of a file": ("Read", {}, a_file(totalLines=9), [("/w/a.md", Reading.EXCERPT, None, False, None)]),
    "pages of a document": (
        "Read",
        {"file_path": "/w/a.pdf", "pages": "1-3"},
        {"type": "parts", "file": {"filePath": "/w/a.pdf"}},
        [("/w/a.pdf", Reading.EXCERPT, None, False, None)],
    ),
    "a page that a model summed up": (
        "WebFetch",
        {"url": PAGE},
        {"code": 200, "result": "short", "url": PAGE},
        [(PAGE, Reading.SUMMARISED, 200, False, None)],
    ),
    "a page that is not there": (
        "WebFetch",
        {"url": PAGE},
        {"code": 404, "result": "no such page", "url": PAGE},
        [(PAGE, Reading.ATTEMPTED, 404, True, None)],
    ),
    "a page that is elsewhere": (
        "WebFetch",
        {"url": PAGE},
        {"code": 302, "result": "REDIRECT DETECTED", "url": PAGE},
        [(PAGE, Reading.ATTEMPTED, 302, True, None)],
    ),
    "hits of a search": ("WebSearch", {"query": "q"}, HITS, [(PAGE, Reading.LISTED, None, False, "A")]),
    "lines that were searched for": (
        "Grep",
        {"pattern": "a", "output_mode": "content"},
        GREPPED,
        [("src/a.py", Reading.EXCERPT, None, False, None), ("src/b.py", Reading.EXCERPT, None, False, None)],
    ),
    "lines of one file": (
        "Grep",
        {"pattern": "a", "path": "/w/src/a.py", "output_mode": "content"},
        {"mode": "content", "filenames": [], "content": "12:def a():\n13-  pass:3:\n"},
        [("/w/src/a.py", Reading.EXCERPT, None, False, None)],
    ),
    "files that were searched for": (
        "Grep",
        {"pattern": "a"},
        {"mode": "files_with_matches", "filenames": ["src/a.py"], "numFiles": 1},
        [("src/a.py", Reading.LISTED, None, False, None)],
    ),
    "a server's tool that opens pages": (
        "mcp__fetch__fetch",
        {"url": PAGE},
        [{"type": "text", "text": "words of it"}],
        [(PAGE, Reading.EXCERPT, None, False, None)],
    ),
    "a server's tool that opens several": (
        "mcp__tavily__tavily-extract",
        {"urls": [PAGE, "https://b.example/"]},
        {"content": [{"type": "text", "text": "words"}]},
        [(PAGE, Reading.EXCERPT, None, False, None), ("https://b.example/", Reading.EXCERPT, None, False, None)],
    ),
    "a server's tool that does who knows what": (
        "mcp__shots__screenshot",
        {"url": PAGE},
        [{"type": "text", "text": "done"}],
        [(PAGE, Reading.ATTEMPTED, None, False, None)],
    ),
    "a server's search": (
        "mcp__brave__brave_web_search",
        {"query": "q"},
        BLOCKS,
        [(PAGE, Reading.LISTED, None, False, "A"), ("https://b.example", Reading.LISTED, None, False, "B")],
    ),
    "a server's search in JSON": (
        "mcp__s__search",
        {"query": "q"},
        '{"results": [{"title": "A", "url": "https://example.org/a"}]}',
        [(PAGE, Reading.LISTED, None, False, "A")],
    ),
    "a command that prints the page or fails": (
        "Bash",
        {"command": f"curl -fsSL {PAGE}"},
        OK,
        [(PAGE, Reading.VERBATIM, None, False, None)],
    ),
    "a page longer than what is shown of it": (
        "Bash",
        {"command": f"wget -qO- {PAGE}"},
        {**OK, "stdout": "x" * 30_000},
        [(PAGE, Reading.EXCERPT, None, False, None)],
    ),
    "a command that ends well whatever comes": (
        "Bash",
        {"command": f"curl -s {PAGE} | head"},
        OK,
        [(PAGE, Reading.ATTEMPTED, None, False, None)],
    ),
    "a command that was stopped": (
        "Bash",
        {"command": f"curl -f {PAGE}"},
        {**OK, "interrupted": True},
        [(PAGE, Reading.ATTEMPTED, None, False, None)],
    ),
    "a tool of the host": (
        "Bash",
        {"command": "gh issue view 12"},
        OK,
        [("https://github.com/", Reading.ATTEMPTED, None, False, None)],
    ),
    "a tool that reads nothing": ("TodoWrite", {"url": PAGE}, {"url": PAGE}, []),
}


@pytest.mark.parametrize(("tool", "given_", "response", "expected"), CASES.values(), ids=CASES)
def test_how_a_call_read_its_sources(
    tool: str, given_: dict[str, Any], response: Any, expected: list[Told], tmp_path: Path
) -> None:
    assert by_hook(tool, given_, response) == expected
    shown = response if isinstance(response, str) else "words"
    session = a_transcript("s1", "/w").call(tool, given_, response, shown)
    assert by_transcript(session, tmp_path) == expected, "a transcript tells the same"


@pytest.mark.parametrize(
    ("tool", "given_", "words", "code"),
    [
        ("Read", {"file_path": PAGE}, "File does not exist.", None),
        ("WebFetch", {"url": PAGE}, "Request failed with status code 404", 404),
        ("mcp__fetch__fetch", {"url": PAGE}, "Failed to fetch - status code 503", 503),
        ("Bash", {"command": f"curl -f {PAGE}"}, "Exit code 22\ncurl: (22) The requested URL returned error: 404", 404),
    ],
)
def test_a_call_that_failed_is_an_attempt(
    tool: str, given_: dict[str, Any], words: str, code: int | None, tmp_path: Path
) -> None:
    expected = [(PAGE, Reading.ATTEMPTED, code, True, None)]
    assert by_hook(tool, given_, None, words) == expected
    assert by_transcript(a_transcript("s1", "/w").call(tool, given_, None, words, failed=True), tmp_path) == expected


@pytest.mark.parametrize("tool", ["WebSearch", "Grep"])
def test_a_search_that_failed_lists_nothing(tool: str) -> None:
    assert by_hook(tool, {"query": "q"}, None, "broken") == []


def test_a_subagents_own_file_has_only_text(tmp_path: Path) -> None:
    words = (
        'Web search results for query: "q"\n\nLinks: [{"title":"A","url":"https://example.org/a"}]\n\nNo links found.'
    )
    session = a_transcript("s1", "/w")
    session.call("WebSearch", {"query": "q"}, None, words, structured=False)
    session.call("WebFetch", {"url": PAGE}, None, "a summary", structured=False)
    session.call("Read", {"file_path": "/w/a.md", "limit": 3}, None, "1 a", structured=False)
    session.call("Read", {"file_path": "/w/gone"}, None, "<tool_use_error>File does not exist.</tool_use_error>")
    assert by_transcript(session, tmp_path) == [
        (PAGE, Reading.LISTED, None, False, "A"),
        (PAGE, Reading.SUMMARISED, None, False, None),
        ("/w/a.md", Reading.EXCERPT, None, False, None),
        ("/w/gone", Reading.ATTEMPTED, None, True, None),
    ]


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        (f"curl -fsSL {PAGE}", [(PAGE, CommandOutcome.KNOWN)]),
        (f"curl --fail -H 'Accept: x' {PAGE}", [(PAGE, CommandOutcome.KNOWN)]),
        (f"wget -q -O - {PAGE}", [(PAGE, CommandOutcome.KNOWN)]),
        (f"wget {PAGE}", [(PAGE, CommandOutcome.UNKNOWN)]),
        (f"curl -f -o page.html {PAGE}", [(PAGE, CommandOutcome.UNKNOWN)]),
        (f"curl -f {PAGE} > page.html", [(PAGE, CommandOutcome.UNKNOWN)]),
        (f"curl -f {PAGE} || true", [(PAGE, CommandOutcome.UNKNOWN)]),
        (f"cd x && curl -f {PAGE}", [(PAGE, CommandOutcome.UNKNOWN)]),
        (
            f"curl -f {PAGE} https://b.example",
            [(PAGE, CommandOutcome.UNKNOWN), ("https://b.example", CommandOutcome.UNKNOWN)],
        ),
        (f"python - <<'E'\nget('{PAGE}')\nE\n", [(PAGE, CommandOutcome.UNKNOWN)]),
        (f"git clone {PAGE}", [(PAGE, CommandOutcome.UNKNOWN)]),
        (f"for i in 1 2; do curl {PAGE}; done", [(PAGE, CommandOutcome.UNKNOWN)]),
        (f"git commit -m 'see {PAGE}'", []),
        (f"cat > report.md <<'E'\n[1] {PAGE}\nE\n", []),
        (f"echo {PAGE} >> report.md", []),
        (f"gh pr create --body 'see {PAGE}'", []),
        ('curl -f "$URL"', []),
    ],
)
def test_urls_that_a_command_opens(command: str, expected: list[tuple[str, CommandOutcome]]) -> None:
    assert list(find_command_urls(command)) == expected


@given(st.text(alphabet="curlgh-f '\"$()|&;<>\nhttps://a.b/ ", max_size=80))
def test_any_command_gives_an_answer(command: str) -> None:
    urls = [url for url, _ in find_command_urls(command)]
    assert len(urls) == len(set(urls))
