"""What a finished call of one of Claude Code's tools says: files edited, commits made. Sources are read next door.

Hooks and transcripts give the same input and the same answer of a call, so both are read here, and here only.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from custody.capture.typed_field import Fields, clean, fields, items, string, text
from custody.core.digest import whole_hash
from custody.core.ids import AgentName, CallId, CommitSha, SessionId
from custody.core.lines import Lines
from custody.core.paths import RepoPath
from custody.core.views import (
    CommitLink,
    FileEdit,
    LinkOrigin,
    PullRequestFact,
    Text,
    View,
)
from custody.core.wire.canonical import text_bytes
from custody.core.wire.event_views import text_view

_FULL = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_PULL_URL = re.compile(r"https?://[^/\s]+/([^/\s]+/[^/\s]+)/pull/\d+")
_ENDLESS = "\\ No newline at end of file"
NUMBER_MAX = 2**53


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """A call that ended, with what it was given and what it gave back.

    ``answer`` is what it gave back whatever its shape, ``words`` what the model was shown of it.
    """

    agent: AgentName
    session: SessionId
    call: CallId
    at_ns: int
    tool: str
    input: Fields
    response: Fields
    revision: CommitSha | None = None
    answer: object = None
    words: str = ""
    failed: bool = False
    locate: Callable[[object], RepoPath | None]
    """A path of the repository for a path as written; None for one outside it, or that is no path."""


def edits(done: Done) -> Iterator[FileEdit]:
    """The files that the call changed."""
    yield from EDITS[done.tool](done) if done.tool in EDITS else ()


def git_facts(done: Done, commits: Mapping[str, str | None] = MappingProxyType({})) -> Iterator[View]:
    """The commit that a shell command made and the pull request that it spoke of.

    An abbreviated id is looked up in ``commits``; one that is not there says nothing.
    """
    operation = fields(done.response.get("gitOperation"))
    said = string(fields(operation.get("commit")).get("sha"))
    sha = said if said is None or _FULL.fullmatch(said) else commits.get(said)
    if sha is not None:
        yield CommitLink(done.agent, done.session, CommitSha(sha), LinkOrigin.GIT_OPERATION, done.at_ns)
    request = fields(operation.get("pr"))
    fact = pull_request(done.agent, done.session, done.at_ns, request.get("number"), request.get("url"))
    if fact is not None:
        yield replace(fact, action=clean(string(request.get("action")) or "") or None)


def pull_request(
    agent: AgentName, session: SessionId, at_ns: int, number: object, url: object, repository: object = None
) -> PullRequestFact | None:
    """That a session spoke of a pull request; None where there is no number."""
    if not isinstance(number, int) or isinstance(number, bool) or not 0 < number <= NUMBER_MAX:
        return None
    address = string(url)
    found = None if address is None else _PULL_URL.match(address)
    named = string(repository) or (found[1] if found else None)
    return PullRequestFact(
        agent,
        session,
        number,
        at_ns,
        repository=None if named is None else clean(named),
        url=None if address is None else clean(address),
    )


def abbreviated(response: Fields) -> str | None:
    """The commit that a shell command made, where its id is not whole."""
    sha = string(fields(fields(response.get("gitOperation")).get("commit")).get("sha"))
    return None if sha is None or _FULL.fullmatch(sha) or not re.fullmatch("[0-9a-f]{4,63}", sha) else sha


def edited_path(tool: str, given: Fields, response: Fields) -> str | None:
    """The file that a call of an editing tool names, as written."""
    if tool not in EDITS:
        return None
    return string(response.get("filePath") or given.get("notebook_path") or given.get("file_path"))


# --- edits ------------------------------------------------------------------------------------------------------------


def _edit(done: Done) -> Iterator[FileEdit]:
    before = text(done.response.get("originalFile"))
    old = string(done.response.get("oldString", done.input.get("old_string")))
    new = string(done.response.get("newString", done.input.get("new_string")))
    if before is None and old and new is not None:
        yield from _changed(done, text_view(old), text_view(new), part=True, proposed=_other(done, new, "new_string"))
        return
    if before is None and old == "":
        # An edit of nothing makes the file.
        yield from _changed(done, None, None if new is None else text_view(new))
        return
    after = None if old is None or new is None else _after(done, before, ((old, new, _everywhere(done)),))
    yield from _changed(done, before, after, proposed=_proposed(done, before, after))


def _multi_edit(done: Done) -> Iterator[FileEdit]:
    before = text(done.response.get("originalFile") or done.response.get("originalFileContents"))
    steps = _steps(done.response.get("edits")) or _steps(done.input.get("edits"))
    if before is not None or not steps:
        after = _after(done, before, steps) if steps else None
        yield from _changed(done, before, after, proposed=_all_proposed(done, before, after))
        return
    for n, (old, new, _) in enumerate(steps):
        piece = None if old == "" else text_view(old)
        yield from _changed(done, piece, text_view(new), part=old != "", name=f"{done.call}:{n}" if n else done.call)


def _write(done: Done) -> Iterator[FileEdit]:
    after = text(done.response.get("content") or done.input.get("content"))
    written = string(done.input.get("content"))
    proposed = None
    if done.response.get("userModified") is True and after is not None and written not in (None, after.content):
        proposed = text(written)
    yield from _changed(done, text(done.response.get("originalFile")), after, proposed=proposed)


def _notebook(done: Done) -> Iterator[FileEdit]:
    yield from _changed(done, text(done.response.get("original_file")), text(done.response.get("updated_file")))


def _changed(
    done: Done,
    before: Text | None,
    after: Text | None,
    *,
    part: bool = False,
    proposed: Text | None = None,
    name: str | None = None,
) -> Iterator[FileEdit]:
    path = done.locate(edited_path(done.tool, done.input, done.response))
    if path is None:
        return
    known = None if after is None else after.content
    yield FileEdit(
        agent=done.agent,
        session=done.session,
        id=name or done.call,
        path=path,
        at_ns=done.at_ns,
        call=done.call,
        revision=done.revision,
        before=before,
        after=after,
        lines=tuple(_lines(done.response.get("structuredPatch"))),
        hashes=() if known is None else (whole_hash(text_bytes(known)),),
        part=part,
        proposed=proposed,
    )


Step = tuple[str, str, bool]
"""What to replace, by what, and whether everywhere."""


def _after(done: Done, before: Text | None, steps: Sequence[Step]) -> Text | None:
    """The file after the steps; where a text to be replaced is not there, what the patch makes of it."""
    if before is None or before.content is None:
        return None
    made = before.content
    for old, new, everywhere in steps:
        if old not in made:
            patched = _patched(before.content, done.response.get("structuredPatch"))
            return None if patched is None else text_view(patched)
        made = _replaced(made, old, new, everywhere)
    if any(new == "" for _, new, _ in steps):
        # Claude Code takes the line's end away with a line that it deletes; its patch shows when it did.
        patched = _patched(before.content, done.response.get("structuredPatch"))
        made = made if patched is None else patched
    return text_view(made)


def _replaced(whole: str, old: str, new: str, everywhere: bool) -> str:
    return whole.replace(old, new, -1 if everywhere else 1)


def _proposed(done: Done, before: Text | None, after: Text | None) -> Text | None:
    """The file as the agent's own words would have made it, where a person changed them."""
    if done.response.get("userModified") is not True or before is None or before.content is None or after is None:
        return None
    old, new = string(done.input.get("old_string")), string(done.input.get("new_string"))
    if old is None or new is None or old not in before.content:
        return None
    made = _replaced(before.content, old, new, done.input.get("replace_all") is True)
    return None if made == after.content else text_view(made)


def _all_proposed(done: Done, before: Text | None, after: Text | None) -> Text | None:
    """The file as all of the agent's own edits would have made it, where a person changed some."""
    if done.response.get("userModified") is not True or after is None:
        return None
    made = _after(done, before, _steps(done.input.get("edits")))
    return None if made is None or made.content == after.content else made


def _other(done: Done, applied: str, name: str) -> Text | None:
    """What the agent had written in place of ``applied``, where a person changed it."""
    written = string(done.input.get(name))
    if done.response.get("userModified") is not True or written is None or written == applied:
        return None
    return text_view(written)


def _everywhere(done: Done) -> bool:
    return (done.response.get("replaceAll") or done.input.get("replace_all")) is True


def _steps(said: object) -> list[Step]:
    steps: list[Step] = []
    for edit in map(fields, items(said)):
        old, new = string(edit.get("old_string")), string(edit.get("new_string"))
        if old is None or new is None:
            return []
        steps.append((old, new, edit.get("replace_all") is True))
    return steps


def _patched(before: str, patch: object) -> str | None:
    """``before`` with a structured patch applied; None where its lines are not those of ``before``."""
    old, made, at = before.split("\n"), [], 0
    if not items(patch):
        return None
    for hunk in map(fields, items(patch)):
        start = hunk.get("oldStart")
        lines = [line for line in items(hunk.get("lines")) if isinstance(line, str) and line != _ENDLESS]
        if not isinstance(start, int) or isinstance(start, bool) or not at <= start - 1 <= len(old):
            return None
        made += old[at : start - 1]
        at = start - 1
        for line in lines:
            if line[:1] != "+":
                if at >= len(old) or old[at] != line[1:]:
                    return None
                at += 1
            if line[:1] != "-":
                made.append(line[1:])
    return "\n".join(made + old[at:])


def _lines(patch: object) -> Iterator[Lines]:
    for hunk in map(fields, items(patch)):
        first, count = hunk.get("newStart"), hunk.get("newLines")
        if isinstance(first, int) and isinstance(count, int) and 0 < first < NUMBER_MAX and 0 < count < NUMBER_MAX:
            yield Lines(first, first + count - 1)


EDITS: Mapping[str, Callable[[Done], Iterator[FileEdit]]] = MappingProxyType(
    {"Edit": _edit, "MultiEdit": _multi_edit, "Write": _write, "NotebookEdit": _notebook}
)
