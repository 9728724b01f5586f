"""Line ranges as ``git blame -L`` takes them: numbers, patterns, offsets and names of functions.

``A,B`` · ``A,+COUNT`` · ``A,-COUNT`` · ``/PATTERN/,B`` · ``A,/PATTERN/`` · ``:FUNCTION``. ``5,3`` means ``3,5``.
A pattern is searched from the end of the range before it, or from the start of the file with ``^`` before it.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

from msgspec import Struct

from custody.core.errors import InputError
from custody.core.paths import Lines
from custody.core.patterns import lazy_pattern

HINT = "use -L 10,20, -L 10,+5, -L /pattern/,+3 or -L :function"
_NUMBER = r"\d{1,9}"
_PATTERN = r"\^?/(?:\\.|[^/\\])+/"
_SPEC = lazy_pattern(rf"(?P<start>{_NUMBER}|{_PATTERN})?(?:(?P<comma>,)(?P<end>[+-]?{_NUMBER}|{_PATTERN})?)?")
_FUNCTION = lazy_pattern(r"(?P<top>\^)?:(?P<name>.+)")

_ANY_LANGUAGE = r"^[A-Za-z_$]"
_BRACES = (
    r"^\s*(?:(?:export|default|public|private|protected|static|final|abstract|async|pub(?:\([^)]*\))?|unsafe)\s+)*"
)
FUNCTION_LINES: Mapping[str, str] = MappingProxyType(
    {
        "py": r"^\s*(?:class|def|async\s+def)\s",
        "go": r"^\s*(?:func|type)\s",
        "rs": _BRACES + r"(?:fn|struct|enum|trait|impl|mod|union|macro_rules!)\b",
        "rb": r"^\s*(?:class|module|def)\s",
        "php": _BRACES + r"(?:function|class|interface|trait)\s",
        **dict.fromkeys(
            ("js", "jsx", "mjs", "ts", "tsx"),
            _BRACES + r"(?:function\b|class\s|interface\s|const\s+\w+\s*=\s*(?:async\s*)?\(|\w+\s*\([^)]*\)\s*\{)",
        ),
        "java": r"^\s*(?:[\w<>\[\],.?@]+\s+)+\w+\s*(?:\([^;]*$|\{)|^\s*.*\b(?:class|interface|enum|record)\s",
    }
)
"""Patterns of a function's first line by file extension; for others a line that starts with a letter, as in git."""


class LineSpec(Struct, frozen=True):
    """One ``-L`` as the user wrote it, checked for its form."""

    text: str

    def __post_init__(self) -> None:
        match = _SPEC.fullmatch(self.text)
        is_range = match is not None and (match["start"] is not None or match["end"] is not None)
        if not is_range and _FUNCTION.fullmatch(self.text) is None:
            raise InputError(f"invalid line range {self.text}", hint=HINT)


def resolve_line_specs(specs: Iterable[LineSpec], texts: Sequence[str], path: str) -> list[Lines]:
    """Return the lines that each spec names in a file; raises ``InputError`` for a spec without a match."""
    found: list[Lines] = []
    for spec in specs:
        after = found[-1].last if found else 0
        function = _FUNCTION.fullmatch(spec.text)
        if function is not None:
            found.append(_function_lines(function["name"], texts, path, 0 if function["top"] else after))
        else:
            found.append(_range_lines(spec.text, texts, after))
    return found


def _range_lines(text: str, texts: Sequence[str], after: int) -> Lines:
    match = _SPEC.fullmatch(text)
    assert match is not None  # a LineSpec was checked when it was made
    start = 1 if match["start"] is None else _place(match["start"], text, texts, after)
    if match["comma"] is None:
        return Lines(start, start)
    end = match["end"]
    if end is None:
        return _ordered(start, len(texts), text)
    if end.startswith("+"):
        if not int(end):
            raise InputError(f"invalid line range {text}", hint=HINT)
        return _ordered(start, start + int(end) - 1, text)
    if end.startswith("-"):
        return Lines(max(1, start + int(end) + 1), start)
    return _ordered(start, _place(end, text, texts, start), text)


def _place(place: str, text: str, texts: Sequence[str], after: int) -> int:
    if place.isdecimal():
        return int(place)
    is_from_top = place.startswith("^")
    pattern = _compile(place.removeprefix("^")[1:-1].replace("\\/", "/"), text)
    for number in range(1 if is_from_top else after + 1, len(texts) + 1):
        if pattern.search(texts[number - 1]):
            return number
    raise InputError(f"no line matches {place}", hint=HINT)


def _function_lines(name: str, texts: Sequence[str], path: str, after: int) -> Lines:
    begins = re.compile(FUNCTION_LINES.get(path.rpartition(".")[2].lower(), _ANY_LANGUAGE))
    starts = [number for number, line in enumerate(texts, start=1) if begins.search(line)]
    pattern = _compile(name, name)
    for index, start in enumerate(starts):
        if start > after and pattern.search(texts[start - 1]):
            last = starts[index + 1] - 1 if index + 1 < len(starts) else len(texts)
            while last > start and not texts[last - 1].strip():
                last -= 1
            return Lines(start, last)
    raise InputError(f"no function matches '{name}' in {path}", hint=HINT)


def _compile(pattern: str, text: str) -> re.Pattern[str]:
    try:
        return re.compile(pattern)
    except re.error as error:
        raise InputError(f"invalid pattern in {text}: {error}", hint=HINT) from error


def _ordered(first: int, last: int, text: str) -> Lines:
    """Return the lines between two numbers, in either order, as git does."""
    first, last = min(first, last), max(first, last)
    if first < 1:
        raise InputError(f"invalid line range {text}", hint=HINT)
    return Lines(first, last)
