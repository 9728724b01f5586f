"""What a finished call of one of Claude Code's tools says: files edited, commits made.

Hooks and transcripts give the same input and the same answer of a call, so both are read here, and here only.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType

from msgspec.structs import replace

from custody.capture.command_facts import NUMBER_MAX, pull_request
from custody.capture.source_use import (
    MCP,
    code_in,
    command_uses,
    file_use,
    match_uses,
    page_use,
    search_uses,
    server_uses,
    shown_text,
)
from custody.capture.tool_use import FileEffect, SourceUse, ToolUse
from custody.capture.typed_field import Fields, fields, full_sha, get_int, get_string, items, text
from custody.core.paths import Lines
from custody.core.views import Reading, Text
from custody.core.wire.event_views import text_view

# Which sources a call of one of Claude Code's tools opened, listed or tried to open, and how each was read.
# Hooks and transcripts give the same input and the same answer of a call, so both are read here, and here only.


MCP_INPUT = ("url", "urls", "uri", "query")
"""What is kept of the input of tools that we know nothing else of."""


def opened(use: ToolUse) -> Iterator[SourceUse | None]:
    """The sources that the call opened, listed or tried to open."""
    read = READS.get(use.tool)
    if read is not None:
        yield from read(use)
    elif use.tool.startswith(MCP):
        shown = shown_text(use.answer, use.words)
        yield from server_uses(use.tool, use.input, shown, failed=use.failed, error=_error(use))


def input_needed(tool: str, given: Fields) -> Fields | None:
    """As much of a call's input as ``opened`` asks for; None where it asks for nothing."""
    if tool == "Bash":
        return {"command": given.get("command")}
    if tool in READS:
        return given
    asked = {name: given[name] for name in MCP_INPUT if name in given} if tool.startswith(MCP) else {}
    return asked or None


def _read(use: ToolUse) -> Iterator[SourceUse]:
    file = fields(use.response.get("file"))
    shown, total = file.get("numLines"), file.get("totalLines")
    whole = all(use.input.get(name) is None for name in ("offset", "limit", "pages"))
    if isinstance(shown, int) and isinstance(total, int):
        whole = shown >= total
    path = get_string(file.get("filePath") or use.input.get("file_path"))
    yield from file_use(path, text(file.get("content")), whole=whole, failed=use.failed)


def _fetch(use: ToolUse) -> Iterator[SourceUse]:
    url, code = get_string(use.response.get("url") or use.input.get("url")), get_int(use.response.get("code"))
    if code is None:
        code = code_in(_error(use)) if use.failed else None
    if url is not None:
        # What comes back is a summary that a model wrote, not the page.
        content = text(use.response.get("result")) or text(use.words or None)
        yield page_use(url, Reading.SUMMARISED, content, code=code, failed=use.failed)


def _search(use: ToolUse) -> Iterator[SourceUse | None]:
    # A subagent's own file has no structured answers, only what its model was shown.
    hits = [hit for result in items(use.response.get("results")) for hit in items(fields(result).get("content"))]
    yield from search_uses([fields(hit) for hit in hits], use.words, failed=use.failed)


def _grep(use: ToolUse) -> Iterator[SourceUse | None]:
    printed, names = get_string(use.response.get("content")) or "", items(use.response.get("filenames"))
    yield from match_uses(printed, get_string(use.input.get("path")), names, failed=use.failed)


def _bash(use: ToolUse) -> Iterator[SourceUse]:
    printed, stopped = get_string(use.response.get("stdout")) or "", use.response.get("interrupted") is True
    command = get_string(use.input.get("command"))
    yield from command_uses(command, printed, failed=use.failed, error=_error(use), stopped=stopped)


def _error(use: ToolUse) -> str:
    return f"{use.words}\n{get_string(use.response.get('stderr')) or ''}"


READS: Mapping[str, Callable[[ToolUse], Iterator[SourceUse | None]]] = MappingProxyType(
    {"Read": _read, "WebFetch": _fetch, "WebSearch": _search, "Grep": _grep, "Bash": _bash}
)


_ENDLESS = "\\ No newline at end of file"


def add_effects(use: ToolUse) -> ToolUse:
    """The call with the sources that it opened, the files that it changed, and what it did in git."""
    use = replace(use, opened=tuple(opened(use)))
    if use.failed:
        return use
    operation = fields(use.response.get("gitOperation"))
    sha = get_string(fields(operation.get("commit")).get("sha"))
    request = {name: fields(operation.get("pr")).get(name) for name in ("number", "url", "action")}
    return replace(
        use,
        changes=tuple(EDITS[use.tool](use)) if use.tool in EDITS else (),
        from_text=False,
        commits=() if sha is None else (sha,),
        pull_request=pull_request(use.agent, use.session, use.at_ns, request),
    )


def find_short_commit(response: Fields) -> str | None:
    """The commit that a shell command made, where its id is not whole."""
    sha = get_string(fields(fields(response.get("gitOperation")).get("commit")).get("sha"))
    return None if sha is None or full_sha(sha) or not re.fullmatch("[0-9a-f]{4,63}", sha) else sha


def edited_path(tool: str, given: Fields, response: Fields) -> str | None:
    """The file that a call of an editing tool names, as written."""
    if tool not in EDITS:
        return None
    return get_string(response.get("filePath") or given.get("notebook_path") or given.get("file_path"))


# --- edits ------------------------------------------------------------------------------------------------------------


def _edit(use: ToolUse) -> Iterator[FileEffect]:
    before = text(use.response.get("originalFile"))
    old = get_string(use.response.get("oldString", use.input.get("old_string")))
    new = get_string(use.response.get("newString", use.input.get("new_string")))
    if before is None and old and new is not None:
        yield from _changed(use, text_view(old), text_view(new), part=True, proposed=_other(use, new, "new_string"))
        return
    if before is None and old == "":
        # An edit of nothing makes the file.
        yield from _changed(use, None, None if new is None else text_view(new))
        return
    after = None if old is None or new is None else _after(use, before, ((old, new, _everywhere(use)),))
    yield from _changed(use, before, after, proposed=_proposed(use, before, after))


def _multi_edit(use: ToolUse) -> Iterator[FileEffect]:
    before = text(use.response.get("originalFile") or use.response.get("originalFileContents"))
    steps = _steps(use.response.get("edits")) or _steps(use.input.get("edits"))
    if before is not None or not steps:
        after = _after(use, before, steps) if steps else None
        yield from _changed(use, before, after, proposed=_all_proposed(use, before, after))
        return
    for old, new, _ in steps:
        piece = None if old == "" else text_view(old)
        yield from _changed(use, piece, text_view(new), part=old != "")


def _write(use: ToolUse) -> Iterator[FileEffect]:
    after = text(use.response.get("content") or use.input.get("content"))
    written = get_string(use.input.get("content"))
    proposed = None
    if use.response.get("userModified") is True and after is not None and written not in (None, after.content):
        proposed = text(written)
    yield from _changed(use, text(use.response.get("originalFile")), after, proposed=proposed)


def _notebook(use: ToolUse) -> Iterator[FileEffect]:
    yield from _changed(use, text(use.response.get("original_file")), text(use.response.get("updated_file")))


def _changed(
    use: ToolUse, before: Text | None, after: Text | None, *, part: bool = False, proposed: Text | None = None
) -> Iterator[FileEffect]:
    path = edited_path(use.tool, use.input, use.response)
    if path is not None:
        lines = tuple(_lines(use.response.get("structuredPatch")))
        yield FileEffect(path, before, after, part=part, lines=lines, proposed=proposed)


Step = tuple[str, str, bool]
"""What to replace, by what, and whether everywhere."""


def _after(use: ToolUse, before: Text | None, steps: Sequence[Step]) -> Text | None:
    """The file after the steps; where a text to be replaced is not there, what the patch makes of it."""
    if before is None or before.content is None:
        return None
    made = before.content
    for old, new, everywhere in steps:
        if old not in made:
            patched = _patched(before.content, use.response.get("structuredPatch"))
            return None if patched is None else text_view(patched)
        made = _replaced(made, old, new, everywhere)
    if any(new == "" for _, new, _ in steps):
        # Claude Code takes the line's end away with a line that it deletes; its patch shows when it did.
        patched = _patched(before.content, use.response.get("structuredPatch"))
        made = made if patched is None else patched
    return text_view(made)


def _replaced(whole: str, old: str, new: str, everywhere: bool) -> str:
    return whole.replace(old, new, -1 if everywhere else 1)


def _proposed(use: ToolUse, before: Text | None, after: Text | None) -> Text | None:
    """The file as the agent's own words would have made it, where a person changed them."""
    if use.response.get("userModified") is not True or before is None or before.content is None or after is None:
        return None
    old, new = get_string(use.input.get("old_string")), get_string(use.input.get("new_string"))
    if old is None or new is None or old not in before.content:
        return None
    made = _replaced(before.content, old, new, use.input.get("replace_all") is True)
    return None if made == after.content else text_view(made)


def _all_proposed(use: ToolUse, before: Text | None, after: Text | None) -> Text | None:
    """The file as all of the agent's own edits would have made it, where a person changed some."""
    if use.response.get("userModified") is not True or after is None:
        return None
    made = _after(use, before, _steps(use.input.get("edits")))
    return None if made is None or made.content == after.content else made


def _other(use: ToolUse, applied: str, name: str) -> Text | None:
    """What the agent had written in place of ``applied``, where a person changed it."""
    written = get_string(use.input.get(name))
    if use.response.get("userModified") is not True or written is None or written == applied:
        return None
    return text_view(written)


def _everywhere(use: ToolUse) -> bool:
    return (use.response.get("replaceAll") or use.input.get("replace_all")) is True


def _steps(said: object) -> list[Step]:
    steps: list[Step] = []
    for edit in map(fields, items(said)):
        old, new = get_string(edit.get("old_string")), get_string(edit.get("new_string"))
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


EDITS: Mapping[str, Callable[[ToolUse], Iterator[FileEffect]]] = MappingProxyType(
    {"Edit": _edit, "MultiEdit": _multi_edit, "Write": _write, "NotebookEdit": _notebook}
)
