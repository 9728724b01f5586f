"""Reports for tests: a passing one, and strategies to generate others."""

from hypothesis import strategies as st

from custody.cite.convert import Conversion
from custody.cite.document import LabelIndex, MarkerForm
from custody.cite.subject import AuditSubject

PASSING = b"""# Prices of mackerel

The price rose by 12% in 2024 [1]. Catches fell to 3,000 tonnes, says the agency [2].

Boats were smaller than before [1, 2].

## Sources

1. Fishery statistics <https://example.org/statistics>
2. Annual review <https://example.org/review>
"""


def cited(data: bytes, *, linked: bool = True) -> list[str]:
    """Return the sources of a report's markers, in the order of the text; an unlisted source as its marker."""
    subject = AuditSubject.of(data)
    names = LabelIndex(subject.listing.entries)
    found = []
    for marker in subject.markers:
        if marker.form is MarkerForm.LINKED and not linked:
            continue
        for label in marker.labels:
            entry = names.find(label)
            found.append("?" + str(label) if entry is None else entry.url or entry.title)
    return found


def listed(data: bytes) -> list[str]:
    """Return the URLs, else the titles, that a report lists."""
    return [entry.url or entry.title for entry in AuditSubject.of(data).listing.entries]


def untouched(before: bytes, converted: Conversion) -> bool:
    """Return whether the new text is the old one with exactly these changes, in order and without overlap."""
    made, at = [], 0
    for change in converted.changes:
        if change.start < at:
            return False
        made += [before[at : change.start], change.new]
        at = change.end
    return b"".join([*made, before[at:]]) == converted.text


LISTS = ("numbered", "brackets", "glued", "ids", "footnotes", "chinese", "definitions", "table")
_WORDS = (
    "Prices rose by 12% in 2024",
    "Catches fell to 3,000 tonnes",
    "捕捞量下降了12%",
    "Boats are smaller than before",
)
_BESIDE = (
    "",
    "`x[1]`",
    "$a[1]$",
    "[see [1] there](https://example.org/a[1])",
    '<b title="[1]">bold</b>',
    "https://example.org/q?a[1]=2",
    "the interval [0, 1]",
    "the year [2024]",
)
_BLOCKS = (
    "```\ncode [1] [^1]\n```",
    "    indented [1]",
    "> quoted words of 2020",
    "| a | b |\n|---|---|\n| x | y |",
    "<div>\n[1]\n</div>",
    "### A part of it",
    "$$\na[1]\n$$",
)


def list_of(kind: str, count: int) -> str:
    """Return a list of this many sources, in one of the usual forms."""
    rows = [(n, f"Source *number* {n}", f"https://example.org/page/{n}") for n in range(1, count + 1)]
    made = {
        "numbered": "## Sources\n\n" + "\n".join(f"{n}. {title} <{url}>" for n, title, url in rows),
        "brackets": "### References\n\n" + "\n\n".join(f"[{n}] {title} {url}" for n, title, url in rows),
        "glued": "**References:**\n" + "\n".join(f"[{n}] {url} - {title}" for n, title, url in rows),
        "ids": "## Sources\n\n" + "\n".join(f"- [S{n}] {title} ({url})" for n, title, url in rows),
        "footnotes": "\n".join(f"[^{n}]: {title} <{url}>" for n, title, url in rows),
        "chinese": "参考文献：\n" + "\n".join(f"[{n}] {title}，{url}" for n, title, url in rows),
        "definitions": "\n".join(f'[{n}]: {url} "{title}"' for n, title, url in rows),
        "table": "## Bibliography\n\n| # | Title | Link |\n|---|---|---|\n"
        + "\n".join(f"| {n} | {title} | {url} |" for n, title, url in rows),
    }
    return made[kind]


def marker_for(kind: str, form: int, numbers: list[int]) -> str:
    """Return a marker for these sources in a form that fits the list."""
    if kind == "footnotes":
        return "".join(f"[^{n}]" for n in numbers)
    sign = "S" if kind == "ids" else ""
    first = numbers[0]
    return (
        "".join(f"[{sign}{n}]" for n in numbers),
        f"[{', '.join(f'{sign}{n}' for n in numbers)}]",
        f"【{first}】",
        f"[cite: {first}]",
        f"【{first}†L2】",
        f"[{sign}{min(numbers)}-{sign}{max(numbers)}]",
    )[form % 6]


@st.composite
def a_report(draw: st.DrawFn) -> bytes:
    """Return a report with up to six sources, cited or not, in any form, among code, links, HTML and tables."""
    kind = draw(st.sampled_from(LISTS))
    count = draw(st.integers(1, 6))
    blocks = []
    for _ in range(draw(st.integers(1, 5))):
        if draw(st.integers(0, 3)) == 0:
            blocks.append(draw(st.sampled_from(_BLOCKS)))
            continue
        numbers = draw(st.lists(st.integers(1, count + draw(st.sampled_from((0, 0, 0, 30)))), min_size=1, max_size=3))
        marker = marker_for(kind, draw(st.integers(0, 5)), numbers)
        # Where [1] is the name of a link, the text around it cannot be a link.
        beside = [words for words in _BESIDE if kind != "definitions" or not words.startswith("[see")]
        said = f"{draw(st.sampled_from(_WORDS))} {marker}. {draw(st.sampled_from(beside))}"
        blocks.append(said.rstrip())
    text = "# Report\n\n" + "\n\n".join([*blocks, list_of(kind, count)])
    text += draw(st.sampled_from(("", "\n", "\n\n---\n\nWritten by a program.\n")))
    return text.replace("\n", draw(st.sampled_from(("\n", "\n", "\r\n")))).encode()
