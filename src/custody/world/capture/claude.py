"""Claude Code's hook events, as its typings and real transcripts show them.

Formats move: unknown fields and events are passed over, a field of another type than expected counts as absent.
"""

import posixpath
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

from custody.model.digests import whole_hash
from custody.model.errors import InputError
from custody.model.ids import AgentName, CallId, CommitSha, PromptId, SessionId
from custody.model.lines import Lines
from custody.model.paths import RepoPath
from custody.model.views import CallStatus, FileEdit, Prompt, Reading, Session, SourceRead, Text, ToolCall, View
from custody.wire.canonical import text_bytes
from custody.wire.events import Erased, HookEvent
from custody.wire.times import ns_from
from custody.wire.views import text_view

NS_PER_MS = 1_000_000
DURATION_MS_MAX = 30 * 24 * 3600 * 1000
"""A call that claims to have taken longer than a month says nothing about its start."""
SYNTHETIC = "<synthetic>"
"""The model name of messages that no model wrote."""

Fields = Mapping[str, Any]


def views_of(event: HookEvent) -> tuple[View, ...]:
    """The views that one hook event gives; none without a session or for an event that says nothing of its own."""
    read = EVENTS.get(event.event)
    if read is None or event.session is None or not isinstance(event.payload, dict):
        return ()
    return tuple(read(_Seen(event, event.session, event.payload)))


class _Seen:
    """A hook event with what every reader asks of it."""

    def __init__(self, event: HookEvent, session: str, fields: Fields) -> None:
        self.event = event
        self.fields = fields
        self.agent = AgentName(event.agent)
        self.session = SessionId(session)
        self.at_ns = ns_from(event.at)
        self.head = None if event.head is None else CommitSha(event.head)
        self.call = None if event.call is None else CallId(event.call)
        self.tool = _string(fields.get("tool_name")) or ""
        self.input = _object(fields.get("tool_input"))
        self.response = _object(fields.get("tool_response"))

    def path(self, named: object) -> RepoPath | None:
        """A path of the repository; None for one outside it, or that is no path."""
        name, root = _string(named), self.event.worktree
        if name is None or root is None or name[1:2] == ":":
            return None
        whole = self._real(name)
        if not whole.startswith(root.rstrip("/") + "/"):
            return None
        try:
            return RepoPath.of(whole[len(root.rstrip("/")) + 1 :])
        except InputError:
            return None  # it leaves the repository: nothing of ours

    def _real(self, name: str) -> str:
        """The path where it really is, as far as the hook saw: below the agent's folder, links on the way resolved."""
        given, folder = _string(self.fields.get("cwd")), self.event.folder
        if folder is None:
            return posixpath.normpath(name)
        if given is not None and name.startswith(given.rstrip("/") + "/"):
            name = name[len(given.rstrip("/")) + 1 :]
        return posixpath.normpath(posixpath.join(folder, name))


def _session(seen: _Seen) -> Iterator[View]:
    yield Session(
        agent=seen.agent,
        id=seen.session,
        started_ns=seen.at_ns,
        revision=seen.head,
        worktree=seen.event.worktree,
        model=_model(seen.fields.get("model")),
    )


def _session_end(seen: _Seen) -> Iterator[View]:
    yield Session(agent=seen.agent, id=seen.session, started_ns=seen.at_ns, ended_ns=seen.at_ns)


def _model_switch(seen: _Seen) -> Iterator[View]:
    yield Session(agent=seen.agent, id=seen.session, started_ns=seen.at_ns, model=_model(seen.fields.get("to_model")))


def _prompt(seen: _Seen) -> Iterator[View]:
    text = _text(seen.fields.get("prompt"))
    if text is not None:
        yield Prompt(seen.agent, seen.session, PromptId(seen.event.id), seen.at_ns, text)


def _call(status: CallStatus) -> Callable[[_Seen], Iterator[View]]:
    def read(seen: _Seen) -> Iterator[View]:
        if seen.call is None:
            return
        running = status is CallStatus.RUNNING
        duration = seen.fields.get("duration_ms")
        took = 0
        if isinstance(duration, int | float) and 0 <= duration <= DURATION_MS_MAX:
            took = int(duration * NS_PER_MS)
        prompt = _string(seen.fields.get("prompt_id"))
        yield ToolCall(
            agent=seen.agent,
            session=seen.session,
            id=seen.call,
            name=seen.tool,
            started_ns=seen.at_ns if running else seen.at_ns - took,
            ended_ns=None if running else seen.at_ns,
            status=status,
            prompt=None if prompt is None else PromptId(prompt),
            subagent=_string(seen.fields.get("agent_id")),
        )
        if status is CallStatus.OK:
            yield from EDITS.get(seen.tool, _nothing)(seen)
            yield from READS.get(seen.tool, _nothing)(seen)

    return read


def _edit(seen: _Seen) -> Iterator[View]:
    before = _text(seen.response.get("originalFile"))
    yield from _file_edit(
        seen, seen.response.get("filePath") or seen.input.get("file_path"), before, _edited(seen, before)
    )


def _edited(seen: _Seen, before: Text | None) -> Text | None:
    """The file after an edit: the old string replaced in what was there."""
    old = _string(seen.response.get("oldString", seen.input.get("old_string")))
    new = _string(seen.response.get("newString", seen.input.get("new_string")))
    if before is None and old == "":
        return None if new is None else text_view(new)  # an edit of nothing makes the file
    if before is None or before.content is None or old is None or new is None:
        return None
    everywhere = (seen.response.get("replaceAll") or seen.input.get("replace_all")) is True
    return text_view(before.content.replace(old, new, -1 if everywhere else 1))


def _multi_edit(seen: _Seen) -> Iterator[View]:
    before = _text(seen.response.get("originalFile") or seen.response.get("originalFileContents"))
    after = before.content if before is not None else None
    edits = seen.input.get("edits")
    for edit in edits if isinstance(edits, list) else ():
        old, new = _string(_object(edit).get("old_string")), _string(_object(edit).get("new_string"))
        if after is None or old is None or new is None:
            after = None
            break
        after = after.replace(old, new, -1 if _object(edit).get("replace_all") is True else 1)
    yield from _file_edit(seen, seen.input.get("file_path"), before, None if after is None else text_view(after))


def _write(seen: _Seen) -> Iterator[View]:
    named = seen.response.get("filePath") or seen.input.get("file_path")
    after = _text(seen.response.get("content") or seen.input.get("content"))
    yield from _file_edit(seen, named, _text(seen.response.get("originalFile")), after)


def _notebook(seen: _Seen) -> Iterator[View]:
    before, after = _text(seen.response.get("original_file")), _text(seen.response.get("updated_file"))
    yield from _file_edit(seen, seen.input.get("notebook_path"), before, after)


def _file_edit(seen: _Seen, named: object, before: Text | None, after: Text | None) -> Iterator[View]:
    path = seen.path(named)
    if path is None or seen.call is None:
        return
    known = None if after is None else after.content
    yield FileEdit(
        agent=seen.agent,
        session=seen.session,
        id=seen.call,
        path=path,
        at_ns=seen.at_ns,
        call=seen.call,
        revision=seen.head,
        before=before,
        after=after,
        lines=tuple(_lines(seen.response.get("structuredPatch"))),
        hashes=() if known is None else (whole_hash(text_bytes(known)),),
    )


def _lines(patch: object) -> Iterator[Lines]:
    for hunk in patch if isinstance(patch, list) else ():
        first, count = _object(hunk).get("newStart"), _object(hunk).get("newLines")
        if isinstance(first, int) and isinstance(count, int) and first > 0 and count > 0:
            yield Lines(first, first + count - 1)


def _read(seen: _Seen) -> Iterator[View]:
    file = _object(seen.response.get("file"))
    named = _string(file.get("filePath") or seen.input.get("file_path"))
    shown, total = file.get("numLines"), file.get("totalLines")
    reading = Reading.VERBATIM if shown == total or total is None else Reading.EXCERPT
    if named is not None:
        yield _source(seen, 0, named, reading, text=_text(file.get("content")))


def _fetch(seen: _Seen) -> Iterator[View]:
    url = _string(seen.response.get("url") or seen.input.get("url"))
    if url is not None:
        # What comes back is a summary that a model wrote, not the page.
        yield _source(seen, 0, url, Reading.SUMMARISED, text=_text(seen.response.get("result")))


def _search(seen: _Seen) -> Iterator[View]:
    results = seen.response.get("results")
    hits = [
        hit
        for result in (results if isinstance(results, list) else ())
        for hit in _list(_object(result).get("content"))
    ]
    for n, hit in enumerate(hits):
        url = _string(_object(hit).get("url"))
        if url is not None:
            yield _source(seen, n, url, Reading.LISTED, title=_string(_object(hit).get("title")))


def _source(
    seen: _Seen, n: int, locator: str, reading: Reading, *, title: str | None = None, text: Text | None = None
) -> SourceRead:
    return SourceRead(
        agent=seen.agent,
        session=seen.session,
        id=f"{seen.event.id}:{n}",
        locator=_clean(locator),
        reading=reading,
        at_ns=seen.at_ns,
        call=seen.call,
        title=None if title is None else _clean(title),
        text=text,
    )


def _clean(words: str) -> str:
    """Words without the halves of characters and the NULs that no database keeps."""
    return words.encode("utf-8", "replace").decode().replace("\0", "")


def _nothing(_seen: _Seen) -> Iterator[View]:
    yield from ()


EDITS: Mapping[str, Callable[[_Seen], Iterator[View]]] = MappingProxyType(
    {"Edit": _edit, "MultiEdit": _multi_edit, "Write": _write, "NotebookEdit": _notebook}
)
READS: Mapping[str, Callable[[_Seen], Iterator[View]]] = MappingProxyType(
    {"Read": _read, "WebFetch": _fetch, "WebSearch": _search}
)
EVENTS: Mapping[str, Callable[[_Seen], Iterator[View]]] = MappingProxyType(
    {
        "SessionStart": _session,
        "SessionEnd": _session_end,
        "PostModelSwitch": _model_switch,
        "UserPromptSubmit": _prompt,
        "PreToolUse": _call(CallStatus.RUNNING),
        "PostToolUse": _call(CallStatus.OK),
        "PostToolUseFailure": _call(CallStatus.FAILED),
    }
)


def _string(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _object(value: object) -> Fields:
    return value if isinstance(value, dict) else {}


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _text(value: object) -> Text | None:
    """A captured text; one that was erased is known to have been there."""
    if isinstance(value, str):
        return text_view(value)
    erased = _object(value).get("$erased")
    return text_view(Erased(erased)) if isinstance(erased, str) else None


def _model(value: object) -> str | None:
    named = value.get("id") if isinstance(value, dict) else value
    return named if isinstance(named, str) and named != SYNTHETIC else None
