"""A patch as ``git apply`` reads it: any bytes in lines and names, with or without a line end at the end of a file."""

from collections.abc import Iterator, Sequence

from msgspec import Struct

from custody.core.paths import RepoPath
from custody.core.patterns import lazy_pattern

CONTEXT_LINES = 3
NO_NEWLINE = b"\\ No newline at end of file\n"

_PLAIN = lazy_pattern(rb"[^\x00-\x1f\x7f-\xff\"\\]*")
_ESCAPES = {7: b"a", 8: b"b", 9: b"t", 10: b"n", 11: b"v", 12: b"f", 13: b"r", 34: b'"', 92: b"\\"}

KeptPair = tuple[int, int]


class FileSide(Struct, frozen=True):
    """A file on one side of a patch."""

    path: RepoPath
    content: bytes
    mode: int = 0o100644


class FilePatch(Struct, frozen=True):
    """A file before and after the patch; None where it does not exist. ``pairs`` are the lines that stay."""

    old: FileSide | None
    new: FileSide | None
    pairs: Sequence[KeptPair] = ()

    @property
    def removed(self) -> int:
        """How many lines the patch removes."""
        return 0 if self.old is None else len(split_raw_lines(self.old.content)) - len(self.pairs)

    @property
    def added(self) -> int:
        """How many lines the patch adds."""
        return 0 if self.new is None else len(split_raw_lines(self.new.content)) - len(self.pairs)


def split_raw_lines(content: bytes) -> list[bytes]:
    r"""Return the lines of a file with their line ends; only ``\n`` ends a line, as in git.

    >>> split_raw_lines(b"a\r\nb\rc")
    [b'a\r\n', b'b\rc']
    """
    lines = content.split(b"\n")
    last = lines.pop()
    return [line + b"\n" for line in lines] + ([last] if last else [])


def render_patch(files: Sequence[FilePatch]) -> bytes:
    """Return the patch of these files."""
    return b"".join(piece for file in files for piece in render_file_patch(file))


def render_file_patch(file: FilePatch) -> Iterator[bytes]:
    """Yield the patch of one file; nothing if it does not change."""
    old, new = file.old, file.new
    assert old is not None or new is not None, "a file exists on one side"
    if old is not None and new is not None and (old.path, old.content, old.mode) == (new.path, new.content, new.mode):
        return
    before, after = (old or new), (new or old)
    assert before is not None and after is not None, "the caller passes at least one side"
    names = quote_patch_path(b"a/", before.path), quote_patch_path(b"b/", after.path)
    yield b"diff --git %s %s\n" % names
    yield from _render_modes(file)
    lines = split_raw_lines(old.content) if old else [], split_raw_lines(new.content) if new else []
    hunks = list(_group_hunks(file.pairs, len(lines[0]), len(lines[1])))
    if not hunks:
        return
    yield b"--- %s\n" % (_end_name(names[0]) if old else b"/dev/null")
    yield b"+++ %s\n" % (_end_name(names[1]) if new else b"/dev/null")
    for hunk in hunks:
        yield from _render_hunk(hunk, *lines)


def _end_name(name: bytes) -> bytes:
    """Return a name as git ends it: with a tab if it has a space, since dates may follow names."""
    return name + b"\t" if b" " in name and not name.startswith(b'"') else name


def _render_modes(file: FilePatch) -> Iterator[bytes]:
    old, new = file.old, file.new
    if old is None and new is not None:
        yield b"new file mode %06o\n" % new.mode
    elif new is None and old is not None:
        yield b"deleted file mode %06o\n" % old.mode
    elif old is not None and new is not None:
        if old.mode != new.mode:
            yield b"old mode %06o\nnew mode %06o\n" % (old.mode, new.mode)
        if old.path != new.path:
            yield b"rename from %s\n" % quote_patch_path(b"", old.path)
            yield b"rename to %s\n" % quote_patch_path(b"", new.path)


def quote_patch_path(prefix: bytes, path: RepoPath) -> bytes:
    r"""Return a path as git writes it in patches: in quotes with escapes if it has unusual bytes.

    >>> quote_patch_path(b"a/", RepoPath(b"plain name.py")), quote_patch_path(b"b/", RepoPath(b"t\tab\xff"))
    (b'a/plain name.py', b'"b/t\\tab\\377"')
    """
    raw = prefix + path.raw
    if _PLAIN.fullmatch(raw):
        return raw
    return b'"%s"' % b"".join(map(_quote_byte, raw))


def _quote_byte(byte: int) -> bytes:
    if byte in _ESCAPES:
        return b"\\" + _ESCAPES[byte]
    return bytes((byte,)) if 32 <= byte < 127 else b"\\%03o" % byte


class _Hunk(Struct, frozen=True):
    old: range
    new: range
    pairs: Sequence[KeptPair]


def _group_hunks(pairs: Sequence[KeptPair], old_count: int, new_count: int) -> Iterator[_Hunk]:
    """Yield the changed ranges with their context; those that share context are one hunk."""
    changes: list[tuple[range, range]] = []
    old, new = 0, 0
    for i, j in (*pairs, (old_count, new_count)):
        if i > old or j > new:
            near = changes and old - changes[-1][0].stop <= 2 * CONTEXT_LINES
            first = (changes[-1][0].start, changes[-1][1].start) if near else (old, new)
            if near:
                changes.pop()
            changes.append((range(first[0], i), range(first[1], j)))
        old, new = i + 1, j + 1
    at = 0
    for old_range, new_range in changes:
        above = min(CONTEXT_LINES, old_range.start, new_range.start)
        below = min(CONTEXT_LINES, old_count - old_range.stop, new_count - new_range.stop)
        whole = range(old_range.start - above, old_range.stop + below)
        while at < len(pairs) and pairs[at][0] < whole.start:
            at += 1
        end = at
        while end < len(pairs) and pairs[end][0] < whole.stop:
            end += 1
        yield _Hunk(whole, range(new_range.start - above, new_range.stop + below), pairs[at:end])


def _render_hunk(hunk: _Hunk, old: Sequence[bytes], new: Sequence[bytes]) -> Iterator[bytes]:
    yield b"@@ -%s +%s @@\n" % (_format_range(hunk.old), _format_range(hunk.new))
    i, j = hunk.old.start, hunk.new.start
    for kept_old, kept_new in (*hunk.pairs, (hunk.old.stop, hunk.new.stop)):
        for line in old[i:kept_old]:
            yield _render_line(b"-", line)
        for line in new[j:kept_new]:
            yield _render_line(b"+", line)
        if kept_old < hunk.old.stop:
            yield _render_line(b" ", old[kept_old])
        i, j = kept_old + 1, kept_new + 1


def _format_range(lines: range) -> bytes:
    count = len(lines)
    first = lines.start + (1 if count else 0)
    return b"%d" % first if count == 1 else b"%d,%d" % (first, count)


def _render_line(mark: bytes, line: bytes) -> bytes:
    return mark + line if line.endswith(b"\n") else b"%s%s\n%s" % (mark, line, NO_NEWLINE)
