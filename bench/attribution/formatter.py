"""A small formatter that knows which line comes from which: quotes, long calls wrapped, short ones joined, indents.

``python -m bench.attribution.formatter FILE`` formats a file, for stories in which an agent runs a formatter.
"""

import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from bench.attribution.truth import EITHER, PERSON, Line, Page, Who, page_of

WIDTH = 79
QUOTED = re.compile(r"'([^'\"\\]*)'")
CALL = re.compile(r"^(?P<indent> *)(?P<head>[^#]*?\w[(\[{])(?P<inside>.*)(?P<tail>[)\]}][,:;]?)$")
OPENS, CLOSES = "([{", ")]}"


def formatted(page: Page, width: int = WIDTH) -> Page:
    """Use double quotes everywhere, and wrap every line over ``width`` at its last bracket if possible."""
    return page.with_lines(out for line in page.lines for out in wrapped(requoted(line), width))


def requoted(line: Line) -> Line:
    """Return the line with double quotes, unless that changes its meaning."""
    return Line(QUOTED.sub(r'"\1"', line.text), line.who) if '"' not in line.text else line


def wrapped(line: Line, width: int) -> Iterator[Line]:
    """Yield the line, or its parts with each argument on its own line."""
    found = CALL.match(line.text)
    parts = arguments(found["inside"]) if found and len(line.text) > width else []
    if found is None or len(parts) < 1 or not _matches(found["head"], found["tail"]):
        yield line
        return
    indent = found["indent"]
    yield Line(f"{indent}{found['head']}", line.who)
    for part in parts:
        yield Line(f"{indent}    {part},", line.who)
    yield Line(f"{indent}{found['tail']}", line.who)


def _matches(head: str, tail: str) -> bool:
    return OPENS.index(head[-1]) == CLOSES.index(tail[0])


def arguments(inside: str) -> list[str]:
    """Return the arguments between top-level commas; an empty list if brackets or quotes do not match.

    >>> arguments('a, f(b, c), "x, y"')
    ['a', 'f(b, c)', '"x, y"']
    >>> arguments('a), f(b')
    []
    """
    parts, depth, quote = [""], 0, ""
    for character in inside:
        if quote:
            quote = "" if character == quote else quote
        elif character in "\"'":
            quote = character
        elif character in OPENS:
            depth += 1
        elif character in CLOSES:
            depth -= 1
        if depth < 0:
            return []
        if character == "," and not depth and not quote:
            parts.append("")
        else:
            parts[-1] += character
    sound = not depth and not quote and " for " not in inside
    return [part.strip() for part in parts if part.strip()] if sound else []


def joined(page: Page, width: int = WIDTH) -> Page:
    """Join every call that :func:`wrapped` splits, if it fits on one line."""
    lines, made = list(page.lines), []
    while lines:
        count = _opened(lines)
        text = _one_line(lines[:count]) if count else ""
        if count and len(text) <= width:
            made.append(Line(text, _author(lines[:count])))
            lines = lines[count:]
        else:
            made.append(lines.pop(0))
    return page.with_lines(made)


def _opened(lines: Sequence[Line]) -> int:
    """Return the number of lines of the split call at the front; 0 without one."""
    head = lines[0].text
    if not head or head[-1] not in OPENS:
        return 0
    indent = head[: len(head) - len(head.lstrip())]
    for at, line in enumerate(lines[1:], 1):
        if line.text.startswith(indent + CLOSES[OPENS.index(head[-1])]):
            return at + 1
        if not line.text.startswith(f"{indent}    ") or not line.text.endswith(","):
            return 0
    return 0


def _one_line(lines: Sequence[Line]) -> str:
    inside = " ".join(line.text.strip() for line in lines[1:-1]).removesuffix(",")
    return f"{lines[0].text}{inside}{lines[-1].text.strip()}"


def _author(lines: Sequence[Line]) -> Who:
    authors = {line.who for line in lines}
    return authors.pop() if len(authors) == 1 else EITHER


def two_spaces(page: Page) -> Page:
    """Replace indents of four by indents of two."""
    return page.with_lines(Line(_halved(line.text), line.who) for line in page.lines)


def _halved(text: str) -> str:
    indent = len(text) - len(text.lstrip(" "))
    return " " * (indent // 2) + text[indent:]


def indented(page: Page, first: int, last: int, by: int = 4) -> Page:
    """Indent the lines from ``first`` to before ``last``, counted from 0."""
    return page.with_lines(
        Line(" " * by + line.text, line.who) if first <= at < last and line.text else line
        for at, line in enumerate(page.lines)
    )


def tabs(page: Page) -> Page:
    """Replace indents of four spaces by tabs."""
    return page.with_lines(Line(_tabbed(line.text), line.who) for line in page.lines)


def _tabbed(text: str) -> str:
    indent = len(text) - len(text.lstrip(" "))
    return "\t" * (indent // 4) + " " * (indent % 4) + text[indent:]


def main() -> None:
    """Format the file in the arguments."""
    path = Path(sys.argv[1])
    path.write_text(formatted(page_of(path.read_text(encoding="utf-8"), PERSON)).text, encoding="utf-8")


if __name__ == "__main__":
    main()
