"""Edits in an answer of Aider: SEARCH/REPLACE blocks and whole files, of the files that Aider says it edited.

Formats: ``aider/coders/editblock_coder.py`` and ``wholefile_coder.py`` at 0.86 (May 2026). Answers with unified diffs
(``udiff``) or patches have no numbers to place them, so their edits are not read.
"""

from collections.abc import Iterator, Sequence

from custody.capture.patch import REPLACE_LINE, SEARCH_LINE, parse_replace_blocks
from custody.capture.tool_use import FileEffect
from custody.capture.typed_field import get_captured_text, get_fields, get_items, get_string
from custody.core.patterns import lazy_pattern
from custody.core.wire.canonical import Json

NAME_LINES_MAX = 3
FENCE = lazy_pattern(r"(`{3,}|<(?:source|code|pre|codeblock|sourcecode)>)[^\s`]*\s*")


def find_fence_end(line: str) -> str | None:
    """Return the line that closes the block that ``line`` opens; None for any other line.

    >>> find_fence_end("```python"), find_fence_end("<source>"), find_fence_end("text")
    ('```', '</source>', None)
    """
    match = FENCE.fullmatch(line)
    return None if match is None else match[1].replace("<", "</")


def list_answer_edits(lines: Sequence[str], applied: Sequence[str]) -> list[dict[str, Json]]:
    """Return the edits in an answer, in order, of the files that Aider says it edited; with forward slashes."""
    files = [_normalize_path(path) for path in applied]
    if any(map(SEARCH_LINE.fullmatch, lines)):
        return list(_list_replacements(lines, files))
    return list(_list_whole_files(lines, files))


def _list_replacements(lines: Sequence[str], files: Sequence[str]) -> Iterator[dict[str, Json]]:
    """Yield the complete SEARCH/REPLACE blocks; their text may contain the marks of other blocks of Markdown."""
    last: str | None = None
    start: int | None = None
    for n, line in enumerate(lines):
        if start is None and SEARCH_LINE.fullmatch(line):
            start = n
            names = _list_names_above(lines, n)
            path = next((path for name in names if (path := _match_applied_file(name, files)) is not None), None)
            # A block without a name is of the last file; one of a file that was not edited is not.
            last = path or (None if any(map(_is_file_name, names)) else last)
        elif start is not None and REPLACE_LINE.fullmatch(line):
            for before, after in parse_replace_blocks(lines[start : n + 1]) if last is not None else ():
                yield {"path": last, "before": before, "after": after}
            start = None


def _list_names_above(lines: Sequence[str], place: int) -> list[str]:
    """Return the lines above a block that may name its file: the nearest, and further ones above a fence."""
    names = []
    for line in reversed(lines[max(0, place - NAME_LINES_MAX) : place]):
        names.append(line)
        if find_fence_end(line) is None:
            break
    return names


def _list_whole_files(lines: Sequence[str], files: Sequence[str]) -> Iterator[dict[str, Json]]:
    start, end = 0, None
    for n, line in enumerate(lines):
        if end is None:
            end, start = find_fence_end(line), n
        elif line.rstrip() == end:
            above = reversed(lines[max(0, start - 2) : start])
            path = next((path for name in above if (path := _match_applied_file(name, files)) is not None), None)
            if path is not None:
                yield {"path": path, "after": "".join(f"{inner}\n" for inner in lines[start + 1 : n])}
            end = None


def _normalize_path(path: str) -> str:
    """Return a path of Windows with forward slashes; others as they are."""
    return path if "/" in path else path.replace("\\", "/")


def _match_applied_file(line: str, applied: Sequence[str]) -> str | None:
    """Return the edited file that a line names: models add marks, or write only the file's name."""
    name = _normalize_path(line.strip().lstrip("#").strip().strip("*").rstrip(":").strip("`").strip())
    if name in applied:
        return name
    ends = [path for path in applied if path.rpartition("/")[2] == name]
    return ends[0] if len(ends) == 1 else None


def _is_file_name(line: str) -> bool:
    name = line.strip()
    return find_fence_end(name) is None and " " not in name and ("." in name or "/" in name)


def list_file_effects(edits: Json) -> Iterator[FileEffect]:
    """Yield the edits of a record; a whole file may have replaced one with unknown text."""
    for edit in map(get_fields, get_items(edits)):
        path, before, after = get_string(edit.get("path")), edit.get("before"), get_captured_text(edit.get("after"))
        if path is None or after is None:
            continue
        old = get_captured_text(before)
        if old is not None and old.content != "":
            yield FileEffect(path, old, after, part=True)
        else:
            yield FileEffect(path, None, after, overwrites=before is None)
