"""Effects of a finished call of one of Claude Code's tools: sources read, files edited, commits made.

Hooks and transcripts report the same input and result of a call, so this module reads both.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType

from msgspec.structs import replace

from custody.capture.command_facts import NUMBER_MAX, make_pull_request_fact
from custody.capture.source_use import (
    MCP,
    SourceReader,
    list_command_url_uses,
    list_file_uses,
    list_grep_uses,
    list_opened_sources,
    list_web_search_uses,
    page_source_use,
    parse_http_status,
)
from custody.capture.tool_use import FileEffect, ShellRun, SourceUse, ToolOutput, ToolUse
from custody.capture.typed_field import (
    Fields,
    get_captured_text,
    get_fields,
    get_full_sha,
    get_int,
    get_items,
    get_string,
)
from custody.core.paths import Lines
from custody.core.patterns import lazy_pattern
from custody.core.views import Reading, Text
from custody.core.wire.event_views import text_view_from_field

# Sources that a call opened, listed or tried to open.


MCP_INPUT = ("url", "urls", "uri", "query")
"""Input fields that are stored for tools without a reader."""


def select_source_input(tool: str, arguments: Fields) -> Fields | None:
    """Return the part of a call's input that shows its sources; None if no part does."""
    if tool == "Bash":
        return {"command": arguments.get("command")}
    if tool in READS:
        return arguments
    fields = {name: arguments[name] for name in MCP_INPUT if name in arguments} if tool.startswith(MCP) else {}
    return fields or None


def _extract_read_source(use: ToolUse) -> Iterator[SourceUse]:
    file = get_fields(use.response.get("file"))
    shown, total = file.get("numLines"), file.get("totalLines")
    whole = all(use.input.get(name) is None for name in ("offset", "limit", "pages"))
    if isinstance(shown, int) and isinstance(total, int):
        whole = shown >= total
    path = get_string(file.get("filePath") or use.input.get("file_path"))
    yield from list_file_uses(path, get_captured_text(file.get("content")), whole=whole, failed=use.failed)


def _extract_fetch_source(use: ToolUse) -> Iterator[SourceUse]:
    url, code = get_string(use.response.get("url") or use.input.get("url")), get_int(use.response.get("code"))
    if code is None:
        code = parse_http_status(_join_tool_errors(use)) if use.failed else None
    if url is not None:
        # The result is a summary that a model wrote, not the page.
        content = get_captured_text(use.response.get("result")) or get_captured_text(use.result or None)
        yield page_source_use(url, Reading.SUMMARISED, content, code=code, failed=use.failed)


def _extract_search_sources(use: ToolUse) -> Iterator[SourceUse | None]:
    # A subagent's own file has no structured results, only the text that its model was shown.
    hits = [
        hit for result in get_items(use.response.get("results")) for hit in get_items(get_fields(result).get("content"))
    ]
    yield from list_web_search_uses([get_fields(hit) for hit in hits], use.result, failed=use.failed)


def _extract_grep_sources(use: ToolUse) -> Iterator[SourceUse | None]:
    printed, names = get_string(use.response.get("content")) or "", get_items(use.response.get("filenames"))
    yield from list_grep_uses(printed, get_string(use.input.get("path")), names, failed=use.failed)


def _extract_bash_sources(use: ToolUse) -> Iterator[SourceUse]:
    printed, stopped = get_string(use.response.get("stdout")) or "", use.response.get("interrupted") is True
    command = get_string(use.input.get("command"))
    yield from list_command_url_uses(command, printed, failed=use.failed, error=_join_tool_errors(use), stopped=stopped)


def _join_tool_errors(use: ToolUse) -> str:
    return f"{use.result}\n{get_string(use.response.get('stderr')) or ''}"


READS: Mapping[str, SourceReader] = MappingProxyType(
    {
        "Read": _extract_read_source,
        "WebFetch": _extract_fetch_source,
        "WebSearch": _extract_search_sources,
        "Grep": _extract_grep_sources,
        "Bash": _extract_bash_sources,
    }
)


_ENDLESS = "\\ No newline at end of file"


def add_effects(use: ToolUse) -> ToolUse:
    """Return the call with the sources that it opened, the files that it changed, and what it did in git."""
    opened = list_opened_sources(use, READS, is_server_tool=use.tool.startswith(MCP), error=_join_tool_errors(use))
    use = replace(use, opened=tuple(opened), ran=read_shell_run(use))
    if use.failed:
        return use
    operation = get_fields(use.response.get("gitOperation"))
    sha = get_string(get_fields(operation.get("commit")).get("sha"))
    request = {name: get_fields(operation.get("pr")).get(name) for name in ("number", "url", "action")}
    return replace(
        use,
        changes=tuple(EDITS[use.tool](use)) if use.tool in EDITS else (),
        from_text=False,
        commits=() if sha is None else (sha,),
        pull_request=make_pull_request_fact(use.agent, use.session, use.at_ns, request),
    )


RAN = ("Exit code ", "Error: Exit code ")
"""Prefixes of the output of a command that ran and failed; any other failed command did not run."""
_CODE = lazy_pattern(r"(?:Error: )?Exit code (\d{1,9})")
_BACKGROUND = "Command running in background"


def read_shell_run(use: ToolUse) -> ShellRun | None:
    """Return the command that a call ran; None for any other call."""
    if use.tool != "Bash":
        return None
    printed = [get_string(use.response.get(name)) or "" for name in ("stdout", "stderr")]
    text = use.result or "\n".join(filter(None, printed))
    behind = use.input.get("run_in_background") is True or "backgroundTaskId" in use.response
    running = behind or use.response.get("interrupted") is True or text.startswith(_BACKGROUND)
    code = _CODE.match(text) if use.failed else None
    ended = int(code[1]) if code else None
    refused = use.failed and code is None
    output = ToolOutput(text, 0 if not use.failed and not running else ended, running, refused)
    return ShellRun(get_string(use.input.get("command")), output)


def find_short_commit(response: Fields) -> str | None:
    """Return the commit that a shell command made, if its id is abbreviated."""
    sha = get_string(get_fields(get_fields(response.get("gitOperation")).get("commit")).get("sha"))
    return None if sha is None or get_full_sha(sha) or not re.fullmatch("[0-9a-f]{4,63}", sha) else sha


def find_edited_path(tool: str, arguments: Fields, response: Fields) -> str | None:
    """Return the file that a call of an editing tool names, as written; None for other tools."""
    if tool not in EDITS:
        return None
    return get_string(response.get("filePath") or arguments.get("notebook_path") or arguments.get("file_path"))


# --- edits ------------------------------------------------------------------------------------------------------------


def _extract_edit_effect(use: ToolUse) -> Iterator[FileEffect]:
    before = get_captured_text(use.response.get("originalFile"))
    old = get_string(use.response.get("oldString", use.input.get("old_string")))
    new = get_string(use.response.get("newString", use.input.get("new_string")))
    if before is None and old and new is not None:
        yield from _make_file_effect(
            use,
            text_view_from_field(old),
            text_view_from_field(new),
            part=True,
            proposed=_find_proposed_fragment(use, new, "new_string"),
        )
        return
    if before is None and old == "":
        # An edit that replaces nothing creates the file.
        yield from _make_file_effect(use, None, None if new is None else text_view_from_field(new))
        return
    after = None if old is None or new is None else _apply_edit_steps(use, before, ((old, new, _is_replace_all(use)),))
    yield from _make_file_effect(use, before, after, proposed=_find_proposed_edit(use, before, after))


def _extract_multi_edit_effects(use: ToolUse) -> Iterator[FileEffect]:
    before = get_captured_text(use.response.get("originalFile") or use.response.get("originalFileContents"))
    steps = _parse_edit_steps(use.response.get("edits")) or _parse_edit_steps(use.input.get("edits"))
    if before is not None or not steps:
        after = _apply_edit_steps(use, before, steps) if steps else None
        yield from _make_file_effect(use, before, after, proposed=_find_proposed_multi_edit(use, before, after))
        return
    for old, new, _ in steps:
        piece = None if old == "" else text_view_from_field(old)
        yield from _make_file_effect(use, piece, text_view_from_field(new), part=old != "")


def _extract_write_effect(use: ToolUse) -> Iterator[FileEffect]:
    after = get_captured_text(use.response.get("content") or use.input.get("content"))
    written = get_string(use.input.get("content"))
    proposed = None
    if use.response.get("userModified") is True and after is not None and written not in (None, after.content):
        proposed = get_captured_text(written)
    yield from _make_file_effect(use, get_captured_text(use.response.get("originalFile")), after, proposed=proposed)


def _extract_notebook_effect(use: ToolUse) -> Iterator[FileEffect]:
    yield from _make_file_effect(
        use, get_captured_text(use.response.get("original_file")), get_captured_text(use.response.get("updated_file"))
    )


def _make_file_effect(
    use: ToolUse, before: Text | None, after: Text | None, *, part: bool = False, proposed: Text | None = None
) -> Iterator[FileEffect]:
    path = find_edited_path(use.tool, use.input, use.response)
    if path is not None:
        lines = tuple(_parse_patch_line_ranges(use.response.get("structuredPatch")))
        yield FileEffect(path, before, after, part=part, lines=lines, proposed=proposed)


Step = tuple[str, str, bool]
"""The old text, the new text, and whether every occurrence is replaced."""


def _apply_edit_steps(use: ToolUse, before: Text | None, steps: Sequence[Step]) -> Text | None:
    """Return the file after the steps; if an old text is missing, the file after the structured patch."""
    if before is None or before.content is None:
        return None
    text = before.content
    for old, new, everywhere in steps:
        if old not in text:
            patched = _apply_structured_patch(before.content, use.response.get("structuredPatch"))
            return None if patched is None else text_view_from_field(patched)
        text = _replace_edit_text(text, old, new, everywhere)
    if any(new == "" for _, new, _ in steps):
        # Claude Code removes the line end with a deleted line; its patch shows when it did.
        patched = _apply_structured_patch(before.content, use.response.get("structuredPatch"))
        text = text if patched is None else patched
    return text_view_from_field(text)


def _replace_edit_text(whole: str, old: str, new: str, everywhere: bool) -> str:
    return whole.replace(old, new, -1 if everywhere else 1)


def _find_proposed_edit(use: ToolUse, before: Text | None, after: Text | None) -> Text | None:
    """Return the file as the agent's own edit would have made it, if a person changed the edit."""
    if use.response.get("userModified") is not True or before is None or before.content is None or after is None:
        return None
    old, new = get_string(use.input.get("old_string")), get_string(use.input.get("new_string"))
    if old is None or new is None or old not in before.content:
        return None
    text = _replace_edit_text(before.content, old, new, use.input.get("replace_all") is True)
    return None if text == after.content else text_view_from_field(text)


def _find_proposed_multi_edit(use: ToolUse, before: Text | None, after: Text | None) -> Text | None:
    """Return the file as all of the agent's own edits would have made it, if a person changed some."""
    if use.response.get("userModified") is not True or after is None:
        return None
    proposed = _apply_edit_steps(use, before, _parse_edit_steps(use.input.get("edits")))
    return None if proposed is None or proposed.content == after.content else proposed


def _find_proposed_fragment(use: ToolUse, applied: str, name: str) -> Text | None:
    """Return the agent's own text for ``applied``, if a person changed it."""
    written = get_string(use.input.get(name))
    if use.response.get("userModified") is not True or written is None or written == applied:
        return None
    return text_view_from_field(written)


def _is_replace_all(use: ToolUse) -> bool:
    return (use.response.get("replaceAll") or use.input.get("replace_all")) is True


def _parse_edit_steps(value: object) -> list[Step]:
    steps: list[Step] = []
    for edit in map(get_fields, get_items(value)):
        old, new = get_string(edit.get("old_string")), get_string(edit.get("new_string"))
        if old is None or new is None:
            return []
        steps.append((old, new, edit.get("replace_all") is True))
    return steps


def _apply_structured_patch(before: str, patch: object) -> str | None:
    """Return ``before`` with a structured patch applied; None if the patch does not fit."""
    old, new, at = before.split("\n"), [], 0
    if not get_items(patch):
        return None
    for hunk in map(get_fields, get_items(patch)):
        start = hunk.get("oldStart")
        lines = [line for line in get_items(hunk.get("lines")) if isinstance(line, str) and line != _ENDLESS]
        if not isinstance(start, int) or isinstance(start, bool) or not at <= start - 1 <= len(old):
            return None
        new += old[at : start - 1]
        at = start - 1
        for line in lines:
            if line[:1] != "+":
                if at >= len(old) or old[at] != line[1:]:
                    return None
                at += 1
            if line[:1] != "-":
                new.append(line[1:])
    return "\n".join(new + old[at:])


def _parse_patch_line_ranges(patch: object) -> Iterator[Lines]:
    for hunk in map(get_fields, get_items(patch)):
        first, count = hunk.get("newStart"), hunk.get("newLines")
        if isinstance(first, int) and isinstance(count, int) and 0 < first < NUMBER_MAX and 0 < count < NUMBER_MAX:
            yield Lines(first, first + count - 1)


EDITS: Mapping[str, Callable[[ToolUse], Iterator[FileEffect]]] = MappingProxyType(
    {
        "Edit": _extract_edit_effect,
        "MultiEdit": _extract_multi_edit_effects,
        "Write": _extract_write_effect,
        "NotebookEdit": _extract_notebook_effect,
    }
)
